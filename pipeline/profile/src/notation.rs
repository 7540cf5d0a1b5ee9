//! How the numbers and dates of a text column are written, where that is not the plain way.
//!
//! Text files carry `1.234,56 €`, `12 %`, `(3)` and `31/12/2020`. One cell cannot say whether
//! `1,234` is a little more than one or more than a thousand, and whether `1/2/2020` is in January:
//! the column can. While a column is read for the first time, [`Evidence`] keeps the readings that
//! fit every value. The column is read again in the likeliest, and profiled as the plain numbers
//! and ISO dates that its values stand for (decision 19); and so in any other that fits, so that a
//! table can choose from what all its files show (decision 38).

use std::fmt;

use serde::{Deserialize, Serialize};

mod dates;
mod evidence;
mod numbers;

pub use dates::{DateNotation, DateOrder};
pub use evidence::{Decided, Evidence, Readings, decide, of_value};
pub use numbers::{NumberNotation, NumberStyle};

/// How a column's values are written in its file. Its profile is of the plain values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notation {
    /// Numbers, profiled as `-1234.5`.
    Number(NumberNotation),
    /// Dates, with or without times, profiled as `2020-12-31` and `2020-12-31 23:59:00`.
    Date(DateNotation),
}

/// How numbers and dates are declared to be written; values decide what is not declared.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub struct Conventions {
    /// The order of day, month and year where all are numbers: one of the first three.
    pub date_order: Option<DateOrder>,
    /// The decimal mark: `,` or `.`.
    pub decimal: Option<char>,
}

/// What decided between readings that a column's values may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// The column's values fit no other reading; of a table those of any file of it.
    #[default]
    Values,
    /// The file's other columns, or its delimiter.
    File,
    /// Nothing: this reading is the usual one.
    Custom,
    /// A declaration ([`Conventions`]).
    Declared,
}

impl Proof {
    fn suffix(self) -> &'static str {
        match self {
            Proof::Values => "",
            Proof::File => " (as the rest of the file suggests)",
            Proof::Custom => " (presumed: no value decides)",
            Proof::Declared => " (as declared)",
        }
    }
}

impl Notation {
    /// Writes the plain form of `value` into `plain`. Returns whether `value` is written in this
    /// notation.
    pub fn plain(&self, value: &str, plain: &mut String) -> bool {
        plain.clear();
        match self {
            Notation::Number(number) => number.plain(value, plain),
            Notation::Date(date) => date.plain(value, plain),
        }
    }
}

impl fmt::Display for Notation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notation::Number(number) => number.fmt(f),
            Notation::Date(date) => date.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
