//! What the graph consists of.

use serde::{Deserialize, Serialize};

use crate::id::{Place, TableId};

/// A share between 0 and 1 in millionths, so that edges can be compared and sorted.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Millionths(u32);

impl Millionths {
    /// All.
    pub const ONE: Millionths = Millionths(1_000_000);

    /// So many millionths, at most all.
    #[must_use]
    pub const fn new(millionths: u32) -> Millionths {
        Millionths(if millionths > 1_000_000 {
            1_000_000
        } else {
            millionths
        })
    }

    /// A share; what is no number is 0.
    #[must_use]
    pub fn of(share: f64) -> Millionths {
        Millionths((share.clamp(0.0, 1.0) * 1e6).round() as u32)
    }

    /// So many millionths.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }

    /// As a share.
    #[must_use]
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

/// What two tables have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeKind {
    /// Rows of one go with rows of the other, where columns have equal values.
    Join,
    /// The same columns in any order, and nearly the same values.
    Copy,
    /// The same columns; all rows of the left one are in the right one, which has more.
    Subset,
    /// The same columns, other rows.
    Union,
}

/// How many rows of the left table go with one of the right, and the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cardinality {
    /// At most one with at most one.
    #[serde(rename = "1:1")]
    OneToOne,
    /// At most one on the left with any number on the right. (Edges run the other way; who looks
    /// from the right sees this.)
    #[serde(rename = "1:n")]
    OneToMany,
    /// Any number on the left with at most one on the right.
    #[serde(rename = "n:1")]
    ManyToOne,
    /// Any number with any number.
    #[serde(rename = "n:m")]
    ManyToMany,
}

impl EdgeKind {
    /// All kinds.
    pub const ALL: [EdgeKind; 4] = [Self::Join, Self::Copy, Self::Subset, Self::Union];

    /// Its name, as JSON has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            EdgeKind::Join => "join",
            EdgeKind::Copy => "copy",
            EdgeKind::Subset => "subset",
            EdgeKind::Union => "union",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<EdgeKind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Cardinality {
    const ALL: [Cardinality; 4] = [
        Self::OneToOne,
        Self::OneToMany,
        Self::ManyToOne,
        Self::ManyToMany,
    ];

    /// Its name, as JSON has it: `n:1`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Cardinality::OneToOne => "1:1",
            Cardinality::OneToMany => "1:n",
            Cardinality::ManyToOne => "n:1",
            Cardinality::ManyToMany => "n:m",
        }
    }

    /// The cardinality of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Cardinality> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The same, seen from the other table.
    #[must_use]
    pub fn reversed(self) -> Cardinality {
        match self {
            Cardinality::OneToMany => Cardinality::ManyToOne,
            Cardinality::ManyToOne => Cardinality::OneToMany,
            same => same,
        }
    }
}

/// Why there is an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// A file declares it.
    Declared,
    /// Values, and names that agree.
    #[serde(rename = "values and names")]
    ValuesAndNames,
    /// Values alone.
    Values,
    /// Names that agree, between columns whose values any sequence has.
    Names,
}

impl Evidence {
    const ALL: [Evidence; 4] = [
        Self::Declared,
        Self::ValuesAndNames,
        Self::Values,
        Self::Names,
    ];

    /// Its name, as JSON has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Evidence::Declared => "declared",
            Evidence::ValuesAndNames => "values and names",
            Evidence::Values => "values",
            Evidence::Names => "names",
        }
    }

    /// The evidence of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Evidence> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

/// An edge of the graph, from the table that refers (the smaller one, the first by number) to the
/// other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Edge {
    /// The table that refers to the other, is part of it, or comes before it.
    pub left: TableId,
    /// The other.
    pub right: TableId,
    /// What kind of edge it is.
    pub kind: EdgeKind,
    /// How sure it is; declared ones are.
    pub score: Millionths,
    /// The columns of the left table, of joins.
    pub left_columns: Vec<Place>,
    /// Those of the right one, in the same order.
    pub right_columns: Vec<Place>,
    /// How many rows go with how many; of joins.
    pub cardinality: Cardinality,
    /// The share of the left columns' distinct values that the right ones have: as it was seen, …
    pub containment: Millionths,
    /// … and at least, with 97.5 % confidence.
    pub containment_low: Millionths,
    /// The shared values as a share of those of both.
    pub jaccard: Millionths,
    /// Why it is there.
    pub evidence: Evidence,
}
