//! The types a column can have, and how two of them widen into one.
//!
//! Types describe a table to a reader (`integer`, `date`), they do not drive a query engine, so
//! there are few of them. Widening is the join of a semilattice (associative, commutative,
//! idempotent, with [`DataType::Unknown`] below and [`DataType::Text`] above everything), which is
//! what lets the types of ten thousand files be merged in any order.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What kind of values a column holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DataType {
    /// No value has been seen: the column is empty or all null. The identity of
    /// [`DataType::widen`].
    #[default]
    Unknown,
    /// `true` and `false`.
    Boolean,
    /// Whole numbers.
    Integer,
    /// Numbers with a fraction or an exponent, decimals included.
    Float,
    /// Calendar days.
    Date,
    /// Days with a time.
    Timestamp,
    /// Anything that reads as text.
    Text,
    /// Bytes that are no text. Their values are not profiled.
    Binary,
    /// A type of the file format that is none of the above, by its name there (`list`, `struct`,
    /// `time`, …).
    Other(String),
}

impl DataType {
    /// The narrowest type that holds the values of both: integer + float → float,
    /// date + timestamp → timestamp, [`DataType::Unknown`] + x → x, otherwise text.
    #[must_use]
    pub fn widen(&self, other: &DataType) -> DataType {
        use DataType::{Date, Float, Integer, Text, Timestamp, Unknown};
        match (self, other) {
            (a, b) if a == b => a.clone(),
            (Unknown, x) | (x, Unknown) => x.clone(),
            (Integer, Float) | (Float, Integer) => Float,
            (Date, Timestamp) | (Timestamp, Date) => Timestamp,
            _ => Text,
        }
    }

    /// Widens in place; cheap when nothing changes.
    #[inline]
    pub fn widen_with(&mut self, other: &DataType) {
        if self != other && *other != DataType::Unknown {
            *self = self.widen(other);
        }
    }

    /// The word a reader sees (`integer`, `timestamp`, …).
    pub fn label(&self) -> &str {
        match self {
            DataType::Unknown => "unknown",
            DataType::Boolean => "boolean",
            DataType::Integer => "integer",
            DataType::Float => "float",
            DataType::Date => "date",
            DataType::Timestamp => "timestamp",
            DataType::Text => "text",
            DataType::Binary => "binary",
            DataType::Other(name) => name,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

impl FromStr for DataType {
    type Err = std::convert::Infallible;

    /// The inverse of [`DataType::label`]; an unknown label is [`DataType::Other`].
    fn from_str(label: &str) -> Result<Self, Self::Err> {
        Ok(match label {
            "unknown" => DataType::Unknown,
            "boolean" => DataType::Boolean,
            "integer" => DataType::Integer,
            "float" => DataType::Float,
            "date" => DataType::Date,
            "timestamp" => DataType::Timestamp,
            "text" => DataType::Text,
            "binary" => DataType::Binary,
            other => DataType::Other(other.to_owned()),
        })
    }
}

impl Serialize for DataType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

impl<'de> Deserialize<'de> for DataType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let label = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        match label.parse() {
            Ok(data_type) => Ok(data_type),
            Err(never) => match never {},
        }
    }
}
