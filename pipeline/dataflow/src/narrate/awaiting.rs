//! Tables that this run has published and that await a narration: what is needed to describe them
//! again.
//!
//! [`Published`](crate::published::Published) is the index as it was when the run began. A table
//! that the run itself published has another row, other blocks to delete and other file summaries;
//! they are held here, for such tables only and until they are described.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use limn_segment::{SegmentEntry, TableRecord};
use serde::{Deserialize, Serialize};

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
    /// The row that this run published; none for a table that is as it was before and that the
    /// process that asks the model knows.
    pub row: Option<WireRow>,
    /// The segment of its blocks, if this run made it.
    pub segment: Option<Wire<SegmentEntry>>,
}

/// The tables of one group that await a narration.
#[derive(Debug, Default)]
pub struct AwaitingGroup {
    /// Rows that this run published, or that another process knows.
    pub rows: Vec<TableRecord>,
    /// Names of tables that are as they were before the run.
    pub unchanged: Vec<String>,
}

impl AwaitingGroup {
    /// How many tables there are.
    pub fn tables(&self) -> usize {
        self.rows.len() + self.unchanged.len()
    }
}

/// Groups that await narrations, and the segments of their blocks; shared by the workers of a
/// process.
#[derive(Debug, Default)]
pub struct Awaiting {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    groups: HashMap<GroupId, AwaitingGroup>,
    segments: HashMap<String, SegmentEntry>,
}

impl Awaiting {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Keeps a table until its group is [taken](Self::take).
    pub fn add(&self, table: AwaitingTable) {
        self.with(|state| {
            if let Some(Wire(segment)) = table.segment {
                state.segments.insert(segment.path.clone(), segment);
            }
            let group = state.groups.entry(table.group).or_default();
            match table.row {
                Some(WireRow(row)) => group.rows.push(row),
                None => group.unchanged.push(table.name),
            }
        });
    }

    /// How many tables of a group await a narration.
    pub fn tables(&self, group: GroupId) -> usize {
        self.with(|state| state.groups.get(&group).map_or(0, AwaitingGroup::tables))
    }

    /// A group's tables, which are described now.
    pub fn take(&self, group: GroupId) -> Option<AwaitingGroup> {
        self.with(|state| state.groups.remove(&group))
    }

    /// A segment that this run made, with blocks of tables that await a narration.
    pub fn segment(&self, path: &str) -> Option<SegmentEntry> {
        self.with(|state| state.segments.get(path).cloned())
    }
}
