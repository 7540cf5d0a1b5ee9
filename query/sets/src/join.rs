//! How two tables join: by which columns, how well, and what is known of it.

use std::sync::Arc;

use limn_joins::Evidence;
use limn_retrieval::KnownJoins;
use limn_segment::{JoinRecord, TableKey};
use limn_store::one_line;
use serde::Serialize;

use crate::columns::TableColumns;

/// Rows that a join leaves out are worth a warning where they are more than such a share.
const LEFT_OUT: f64 = 0.05;
/// Standard errors of estimated counts that are allowed for.
const ERRORS: f64 = 3.0;

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

impl Join {
    /// What is said of a join by values that a graph has compared and has not taken for one: two
    /// columns of counts share values, too.
    pub(crate) fn doubt(&self, joins: &KnownJoins) -> Option<String> {
        let (left, right) = (&self.left, &self.right);
        let has_compared = joins.has_compared(&left.lake, &right.lake);
        (self.basis == Basis::Values && has_compared).then(|| {
            let share = (100.0 * self.containment.unwrap_or_default()).floor();
            let values = match share < 1.0 {
                true => "values that both have".to_owned(),
                false => format!("at least {share} % of the values of the first"),
            };
            let line = format!(
                "{}.{} = {}.{} by {values}, which may be chance: the join graph has no such join",
                left.table, left.column, right.table, right.column
            );
            one_line(&line)
        })
    }

    /// What is said of a list of codes of several kinds, of which a row finds those of all kinds.
    pub(crate) fn of_all_kinds(&self, tables: &[Arc<TableColumns>]) -> Option<String> {
        if self.cardinality != Cardinality::ManyToMany || !self.more.is_empty() {
            return None;
        }
        let table = |of: &ColumnOf| tables.iter().find(|it| of.is_of(&it.table));
        let kind = |of: &ColumnOf, other: &ColumnOf| {
            let mut others = table(other)?.columns.iter();
            let other = others.find(|it| it.name == other.column)?;
            let kind = table(of)?.kind_of_codes(&of.column, other)?;
            let line = format!(
                "{0}.{1} may be a list of codes of several kinds: a condition on {0}.{2} takes those of one, and limn cells lists its values",
                of.table, of.column, kind.name
            );
            Some(one_line(&line))
        };
        kind(&self.right, &self.left).or_else(|| kind(&self.left, &self.right))
    }

    /// What is said of rows that it leaves out: a key has more values than the column of the other
    /// side, whatever these are.
    pub(crate) fn left_out(&self, tables: &[Arc<TableColumns>]) -> Vec<String> {
        // The least and the most that there may be.
        let distinct = |of: &ColumnOf| {
            let table = tables.iter().find(|it| of.is_of(&it.table))?;
            let column = table.columns.iter().find(|it| it.name == of.column)?;
            let off = ERRORS * column.distinct_error?;
            let count = column.distinct as f64;
            (count > 0.0 && off < 1.0).then_some((count * (1.0 - off), count * (1.0 + off)))
        };
        let line = |key: &ColumnOf, other: &ColumnOf| {
            let share = 1.0 - distinct(other)?.1 / distinct(key)?.0;
            (share > LEFT_OUT).then(|| {
                let line = format!(
                    "at least {} % of the rows of {} have none in {}: this join leaves them out, LEFT JOIN keeps them",
                    (100.0 * share).floor(), key.table, other.table
                );
                one_line(&line)
            })
        };
        // Without values nothing is said of how many there are.
        if self.containment.is_none() || !self.more.is_empty() {
            return Vec::new();
        }
        let lines = match self.cardinality {
            Cardinality::ManyToOne => vec![line(&self.right, &self.left)],
            Cardinality::OneToOne => {
                vec![line(&self.right, &self.left), line(&self.left, &self.right)]
            }
            Cardinality::ManyToMany | Cardinality::Unknown => Vec::new(),
        };
        lines.into_iter().flatten().collect()
    }

    /// `None` of an edge without columns.
    pub(crate) fn of_edge(edge: &JoinRecord, lake: &str, shows_values: bool) -> Option<Join> {
        let column = |table: &str, column: &str| ColumnOf {
            table: table.to_owned(),
            lake: lake.to_owned(),
            column: column.to_owned(),
        };
        let mut pairs = edge.left_columns.iter().zip(&edge.right_columns);
        let (left, right) = pairs.next()?;
        Some(Join {
            left: column(&edge.left, left),
            right: column(&edge.right, right),
            more: pairs.map(|(a, b)| [a.clone(), b.clone()]).collect(),
            cardinality: match edge.cardinality {
                limn_joins::Cardinality::OneToOne => Cardinality::OneToOne,
                limn_joins::Cardinality::ManyToOne => Cardinality::ManyToOne,
                limn_joins::Cardinality::OneToMany | limn_joins::Cardinality::ManyToMany => {
                    Cardinality::ManyToMany
                }
            },
            containment: shows_values.then_some(f64::from(edge.containment_low)),
            evidence: match edge.evidence {
                Evidence::Declared => "a file declares it".to_owned(),
                Evidence::Names => "names agree".to_owned(),
                other => format!(
                    "{} agree: at least {} % of the values of the left column are in the right one",
                    other.name(),
                    (100.0 * edge.containment_low).floor()
                ),
            },
            basis: Basis::Graph,
            weight: f64::from(edge.score),
        })
    }
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
