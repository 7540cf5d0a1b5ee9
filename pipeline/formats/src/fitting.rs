//! Texts as values of a type: what a scan parses, and what is counted of columns whose types people
//! declare.

use chrono::DateTime;
use limn_profile::{DataType, Notation, infer};

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Writes the plain form that a cell has in a column of this declared type into `plain`; whether it
/// has one. In a column with a notation it has to be written in that.
pub(crate) fn fit(
    cell: &str,
    data_type: &DataType,
    notation: Option<&Notation>,
    plain: &mut String,
) -> bool {
    let mut written = String::new();
    let cell = match notation {
        Some(notation) if !notation.plain(cell, &mut written) => return false,
        Some(_) => &written,
        None => cell,
    };
    plain.clear();
    let fitting = match data_type {
        DataType::Boolean => boolean(cell).map(|it| it.to_string()),
        DataType::Integer => integer(cell)
            .map(i128::from)
            .or_else(|| large(cell))
            .map(|it| it.to_string()),
        DataType::Float => match infer::number(cell) {
            Some(_) => Some(cell.trim_ascii().to_owned()),
            None => float(cell).map(|it| it.to_string()),
        },
        DataType::Date => infer::instant(cell)
            .and_then(DateTime::from_timestamp_micros)
            .map(|it| it.date_naive().to_string()),
        DataType::Timestamp => infer::instant(cell).map(|_| cell.trim_ascii().to_owned()),
        _ => Some(cell.to_owned()),
    };
    fitting.is_some_and(|fitting| {
        plain.push_str(&fitting);
        true
    })
}

/// A cell without white space around it and a plus before it.
fn bare(cell: &str) -> &str {
    let cell = cell.trim_ascii();
    cell.strip_prefix('+').unwrap_or(cell)
}

/// A whole number.
pub fn integer(cell: &str) -> Option<i64> {
    let bytes = cell.as_bytes();
    // The most are short: no sign but a minus, and few digits.
    let (is_negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if !digits.is_empty() && digits.len() <= 18 && digits.iter().all(u8::is_ascii_digit) {
        let value = digits
            .iter()
            .fold(0i64, |all, digit| all * 10 + i64::from(digit - b'0'));
        return Some(if is_negative { -value } else { value });
    }
    let cell = bare(cell);
    cell.parse().ok().or_else(|| {
        // A whole number that another file's notation made a fraction.
        let number = infer::number(cell)?;
        (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
    })
}

/// A whole number of up to 38 digits.
pub fn large(cell: &str) -> Option<i128> {
    let cell = bare(cell);
    (cell.len() <= 39).then(|| cell.parse().ok())?
}

/// A number, also with zeros before it.
pub fn float(cell: &str) -> Option<f64> {
    infer::number(cell).or_else(|| integer(cell).map(|whole| whole as f64))
}

/// A truth value.
pub fn boolean(cell: &str) -> Option<bool> {
    let is = |word: &&str| cell.trim_ascii().eq_ignore_ascii_case(word);
    if ["true", "t", "yes", "y", "1"].iter().any(is) {
        return Some(true);
    }
    ["false", "f", "no", "n", "0"]
        .iter()
        .any(is)
        .then_some(false)
}

/// A day, in days since 1970.
pub fn day(cell: &str) -> Option<i32> {
    let instant = infer::instant(cell)?;
    i32::try_from(instant.div_euclid(DAY)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_fit_their_declared_types_or_do_not() {
        let fits = |cell: &str, data_type: &DataType| {
            let mut plain = String::new();
            fit(cell, data_type, None, &mut plain).then_some(plain)
        };
        for (cell, data_type, plain) in [
            ("007", DataType::Integer, Some("7")),
            ("+3.0", DataType::Integer, Some("3")),
            ("3.5", DataType::Integer, None),
            (
                "99999999999999999999",
                DataType::Integer,
                Some("99999999999999999999"),
            ),
            ("007", DataType::Float, Some("7")),
            ("1e3", DataType::Float, Some("1e3")),
            ("x", DataType::Float, None),
            ("2024-02-29 10:00", DataType::Date, Some("2024-02-29")),
            ("2024-02-30", DataType::Date, None),
            ("2024-02-29", DataType::Timestamp, Some("2024-02-29")),
            ("Yes", DataType::Boolean, Some("true")),
            ("0", DataType::Boolean, Some("false")),
            ("2", DataType::Boolean, None),
            ("007", DataType::Text, Some("007")),
        ] {
            assert_eq!(
                fits(cell, &data_type).as_deref(),
                plain,
                "{cell} {data_type}"
            );
        }
    }
}
