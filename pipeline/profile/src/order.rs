//! In which order values of a type are compared.

use std::cmp::Ordering;

use crate::data_type::DataType;
use crate::infer;

/// The three orders values are compared in. A column's minimum and maximum mean something only
/// within one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By value.
    Number,
    /// By instant.
    Instant,
    /// By UTF-8 bytes.
    Text,
}

impl DataType {
    /// Whether values are ordered as numbers or instants rather than as text.
    pub fn order(&self) -> Order {
        match self {
            DataType::Integer | DataType::Float => Order::Number,
            DataType::Date | DataType::Timestamp => Order::Instant,
            _ => Order::Text,
        }
    }

    /// Compares two values of this type: numbers by value, dates and timestamps by instant,
    /// everything else (and whatever cannot be parsed) by its UTF-8 bytes.
    pub fn compare(&self, a: &str, b: &str) -> Ordering {
        let by_value = match self.order() {
            Order::Number => match (a.parse::<i128>(), b.parse::<i128>()) {
                (Ok(x), Ok(y)) => Some(x.cmp(&y)),
                _ => infer::number(a)
                    .zip(infer::number(b))
                    .map(|(x, y)| x.total_cmp(&y)),
            },
            Order::Instant => infer::instant(a)
                .zip(infer::instant(b))
                .map(|(x, y)| x.cmp(&y)),
            Order::Text => None,
        };
        // Equal numbers with different spellings ("1" and "1.0") still need one order.
        by_value.unwrap_or(Ordering::Equal).then_with(|| a.cmp(b))
    }
}
