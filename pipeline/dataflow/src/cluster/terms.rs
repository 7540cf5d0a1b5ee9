//! Terms: what the leader has decided. Every process works by them.

use limn_lake::Filters;
use serde::{Deserialize, Serialize};

use crate::settings::IndexSettings;
use crate::share::Assignment;

/// What a run is, the same in all its processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Terms {
    /// The lake's URL.
    pub lake: String,
    /// The index's URL.
    pub index: String,
    /// An object that the leader has put into an index on a disk: whose path may be another folder
    /// on another machine.
    pub mark: Option<String>,
    /// The snapshot that the run goes on from; none for a new index.
    pub snapshot: Option<u64>,
    /// What texts and vectors are made with.
    pub settings: IndexSettings,
    /// Which objects of the lake count.
    pub filters: Filters,
    /// How columns are described, by the leader's options.
    pub narrate: String,
    /// Whether the leader has a language model for this lake.
    pub narrates: bool,
    /// Shards of the index.
    pub shards: u32,
    /// The share of rows that have to change before a table's rows are drawn anew.
    pub resample_threshold: f64,
    /// Timely workers in each process.
    pub workers: usize,
    /// Some of what lies in the root of a lake on a disk: another folder may be there on another
    /// machine, or none.
    pub root_entries: Vec<String>,
    /// A hash of the contexts that the run registers and takes away.
    pub contexts: String,
    /// Which process plans which part of the lake.
    pub assignment: Assignment,
}
