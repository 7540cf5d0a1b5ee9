//! Counters of a running job, for progress bars and for the report's seconds.
//!
//! They are for people: nothing in the dataflow depends on them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// What a running job has done so far. Cheap to read from another thread at any time.
#[derive(Debug, Default)]
pub struct Progress {
    /// Objects seen by the listing.
    pub objects_listed: AtomicU64,
    /// Data files that have to be read, as far as known.
    pub files_wanted: AtomicU64,
    /// Data files read.
    pub files_read: AtomicU64,
    /// Tables whose documents are made.
    pub tables_described: AtomicU64,
    /// Blocks that go into vectors.
    pub blocks_wanted: AtomicU64,
    /// Blocks whose vectors are there.
    pub blocks_embedded: AtomicU64,
    /// Blocks that were embedded anew (not reused).
    pub blocks_embedded_anew: AtomicU64,
    /// Columns that a language model is asked to narrate in this run; 0 until they are known.
    pub columns_wanted: AtomicU64,
    /// Of those, for how many the model was asked; 0 while it loads.
    pub columns_asked: AtomicU64,
    /// Of those, how many are narrated.
    pub columns_narrated: AtomicU64,
    /// Epochs planned.
    pub epochs_planned: AtomicU64,
    /// Epochs published (or found empty).
    pub epochs_done: AtomicU64,
    /// Spent in each phase.
    nanos: [AtomicU64; Phase::COUNT],
}

/// What time is counted of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// Listing the lake, with what is in its containers and logs.
    List,
    /// Planning the epochs.
    Plan,
    /// Reading and summarising files.
    Read,
    /// Building and writing segments.
    Write,
    /// Publishing snapshots, with the join graph.
    Publish,
}

impl Phase {
    const COUNT: usize = Phase::Publish as usize + 1;
}

impl Progress {
    pub(crate) fn add(counter: &AtomicU64, n: usize) {
        counter.fetch_add(n as u64, Ordering::Relaxed);
    }

    /// Adds time spent in a phase since it was `begun`.
    pub(crate) fn spend(&self, phase: Phase, begun: Instant) {
        let nanos = begun.elapsed().as_nanos() as u64;
        self.nanos[phase as usize].fetch_add(nanos, Ordering::Relaxed);
    }

    /// Seconds spent in a phase, summed over concurrent tasks.
    pub(crate) fn seconds(&self, phase: Phase) -> f64 {
        self.nanos[phase as usize].load(Ordering::Relaxed) as f64 / 1e9
    }
}
