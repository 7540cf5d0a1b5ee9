//! Tables that a run has published and that await a narration: what is needed to describe them
//! again.
//!
//! [`Published`](crate::published::Published) is the index as it was when the run began. A table
//! that the run itself published has another row, and blocks in another segment: both go with it,
//! to the process that asks a model for its columns.

use std::collections::BTreeSet;

use limn_segment::SegmentEntry;
use serde::{Deserialize, Serialize};

use super::{ContextId, context_of};
use crate::changes::GroupId;
use crate::wire::{Wire, WireRow};

/// A published table that awaits a narration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AwaitingTable {
    /// The group whose work it came of.
    pub group: GroupId,
    /// Its name.
    pub name: String,
    /// Its columns' names in order.
    pub columns: Vec<String>,
    /// The row that this run published; none for a table that is as it was before, in a run of one
    /// process, which knows its row.
    pub row: Option<WireRow>,
    /// The segment of its blocks, if this run made it.
    pub segment: Option<Wire<SegmentEntry>>,
}

/// The processes of a run that ask a model, each for the contexts that fall to it: so every column
/// of a context is asked for once, whatever tables have it.
#[derive(Clone, Debug, Default)]
pub struct Askers(Vec<usize>);

impl Askers {
    /// These processes, by their numbers.
    pub fn of(processes: BTreeSet<usize>) -> Self {
        Self(processes.into_iter().collect())
    }

    /// Whether no process asks.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The worker that a table goes to while it awaits narrations: the first one of the process
    /// that asks for its columns. Each process has so many workers.
    pub fn worker(&self, table: &AwaitingTable, workers: usize) -> u64 {
        let ContextId(context) = context_of(&table.columns);
        let nth = context % self.0.len().max(1) as u128;
        self.0.get(nth as usize).map_or(0, |it| it * workers) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_one_schema_go_to_one_of_the_processes_that_ask() {
        let table = |columns: &[String], name: &str| AwaitingTable {
            group: GroupId(u128::from(name == "other")),
            name: name.to_owned(),
            columns: columns.to_vec(),
            row: None,
            segment: None,
        };
        let askers = Askers::of([1, 4].into());
        let schemas: Vec<Vec<String>> = (0..64).map(|it| vec![format!("c{it}")]).collect();
        let of = |name| {
            let workers = schemas.iter().map(|it| askers.worker(&table(it, name), 3));
            workers.collect::<Vec<u64>>()
        };
        let workers = of("one");
        assert_eq!(
            workers.iter().copied().collect::<BTreeSet<_>>(),
            [3, 12].into()
        );
        assert_eq!(of("other"), workers);
    }
}
