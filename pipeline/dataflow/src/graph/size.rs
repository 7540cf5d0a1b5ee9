//! How large a lake is for the join graph, and how large it may be.

use serde::{Deserialize, Serialize};

/// How large a lake is, as far as joins go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphSize {
    /// Its tables.
    pub tables: u64,
    /// Their columns.
    pub columns: u64,
}

impl GraphSize {
    /// The size of tables of so many columns each.
    pub fn of(tables: impl Iterator<Item = usize>) -> Self {
        tables.fold(Self::default(), |sum, columns| Self {
            tables: sum.tables + 1,
            columns: sum.columns + columns as u64,
        })
    }

    /// The size without that of these.
    pub fn without(self, these: Self) -> Self {
        Self {
            tables: self.tables.saturating_sub(these.tables),
            columns: self.columns.saturating_sub(these.columns),
        }
    }

    /// Adds other tables.
    pub fn add(&mut self, other: Self) {
        self.tables += other.tables;
        self.columns += other.columns;
    }
}

/// Columns that a lake may have for each table that it may have.
const COLUMNS_A_TABLE: u64 = 10;

/// How large a lake may be whose joins are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostTables(pub u64);

impl MostTables {
    /// Whether a lake of this size is not too large.
    pub fn allows(self, size: GraphSize) -> bool {
        size.tables <= self.0 && size.columns <= self.0.saturating_mul(COLUMNS_A_TABLE)
    }

    /// What is said of a lake that is too large.
    pub fn note(self, size: GraphSize) -> String {
        format!(
            "what joins is not looked for: the lake has at least {} tables of {} columns, and {} are allowed, with {COLUMNS_A_TABLE} columns each; --join-tables N raises that, at about 6 KB of memory a column",
            size.tables, size.columns, self.0
        )
    }
}
