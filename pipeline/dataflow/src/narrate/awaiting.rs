//! Tables that a run has published and that await a narration: what is needed to describe them
//! again.
//!
//! [`Published`](crate::published::Published) is the index as it was when the run began. A table
//! that the run itself published has another row, and blocks in another segment: both go with it.

use limn_segment::SegmentEntry;
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

/// A group whose tables await nothing more, with these tables.
#[derive(Debug)]
pub struct Answered {
    /// The group.
    pub group: GroupId,
    /// Its tables that awaited a narration.
    pub tables: Vec<AwaitingTable>,
}
