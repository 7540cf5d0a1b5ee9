//! What a report says of tables that are published already.

use std::collections::BTreeSet;

use limn_lake::Ignored;
use serde::{Deserialize, Serialize};

use super::state::Published;
use crate::graph::size::GraphSize;
use crate::report::Failure;

/// What is to be said of the tables that are published, of this share of a lake or of all.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Standing {
    /// Tables that can be found.
    pub tables: u64,
    /// What could not be read, by table.
    pub failures: Vec<Failure>,
    /// Files that hold no table, by the name of their row.
    pub passed_over: Vec<(String, Ignored)>,
    /// The names of tables that await a narration, whoever can give it.
    pub awaiting: Vec<String>,
    /// The names for which contexts are registered, of tables present or removed.
    pub registered: BTreeSet<String>,
    /// How large the join graph is.
    pub size: GraphSize,
}

impl Standing {
    /// Adds that of another share.
    pub fn add(&mut self, other: Standing) {
        self.tables += other.tables;
        self.failures.extend(other.failures);
        self.passed_over.extend(other.passed_over);
        self.awaiting.extend(other.awaiting);
        self.registered.extend(other.registered);
        self.size.add(other.size);
    }
}

impl Published {
    /// What is to be said of the tables of this share.
    pub fn standing(&self) -> Standing {
        let state = self.state();
        let mut standing = Standing {
            registered: state.registered.keys().map(ToString::to_string).collect(),
            size: state.graph_size(),
            ..Standing::default()
        };
        for row in state.groups.values().flatten() {
            standing.tables += u64::from(row.is_searchable);
            if row.awaits_narration {
                standing.awaiting.push(row.name.to_string());
            }
            let Some(more) = &row.more else {
                continue;
            };
            standing.failures.extend(more.failures.iter().cloned());
            if more.passed_over.count() > 0 {
                let passed_over = (row.name.to_string(), more.passed_over.clone());
                standing.passed_over.push(passed_over);
            }
        }
        standing
    }
}
