//! How two tables join: by which columns, how well, and what is known of it.

use std::sync::Arc;

use limn_segment::TableKey;
use serde::Serialize;

/// How many rows of one side a row of the other finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Cardinality {
    /// Both columns are unique.
    #[serde(rename = "1:1")]
    OneToOne,
    /// The right column is unique: it is referred to.
    #[serde(rename = "n:1")]
    ManyToOne,
    /// Neither is unique: rows multiply.
    #[serde(rename = "n:m")]
    ManyToMany,
    /// Nothing is known of the columns' values.
    #[serde(rename = "unknown")]
    Unknown,
}

impl Cardinality {
    /// As it is written: `n:1`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Cardinality::OneToOne => "1:1",
            Cardinality::ManyToOne => "n:1",
            Cardinality::ManyToMany => "n:m",
            Cardinality::Unknown => "unknown",
        }
    }
}

/// A column by its table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnOf {
    /// The table's name.
    pub table: String,
    /// The URL of its lake.
    pub lake: String,
    /// The column's name.
    pub column: String,
}

impl ColumnOf {
    /// Whether it is a column of this table.
    pub(crate) fn is_of(&self, table: &TableKey) -> bool {
        self.table == table.name && self.lake == table.lake
    }
}

/// What says that two tables join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The index's join graph.
    Graph,
    /// Values that two columns have in common.
    Values,
    /// Nothing but names.
    Names,
}

/// How two tables join: the left column refers to the right one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Join {
    /// The column that refers.
    pub left: ColumnOf,
    /// The column that is referred to.
    pub right: ColumnOf,
    /// The other columns of a key of several, left and right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<[String; 2]>,
    /// Rows of the left side to rows of the right.
    pub cardinality: Cardinality,
    /// The share of the left column's values that the right one has, about; `None` where values are
    /// not known.
    pub containment: Option<f64>,
    /// Why they are thought to join, in words.
    pub evidence: String,
    /// What says so.
    #[serde(skip)]
    pub basis: Basis,
    /// How well they join, 0 to 1.
    #[serde(rename = "score")]
    pub weight: f64,
}

/// Two of some tables, by their places, and how they join.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The place of one of them.
    pub first: usize,
    /// That of the other, behind it.
    pub second: usize,
    /// The best pair of their columns.
    pub join: Arc<Join>,
}
