//! Counters of a running job, for progress bars and for the report's seconds.
//!
//! They are for people: nothing in the dataflow depends on them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

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
    read_nanos: AtomicU64,
    write_nanos: AtomicU64,
}

impl Progress {
    pub(crate) fn add(counter: &AtomicU64, n: usize) {
        counter.fetch_add(n as u64, Ordering::Relaxed);
    }

    /// Adds time spent reading one file (summed over concurrent reads).
    pub(crate) fn add_read_time(&self, spent: Duration) {
        self.read_nanos
            .fetch_add(spent.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Adds time spent building and writing one segment (summed over concurrent writes).
    pub(crate) fn add_write_time(&self, spent: Duration) {
        self.write_nanos
            .fetch_add(spent.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Seconds spent reading, summed over concurrent reads.
    pub fn read_seconds(&self) -> f64 {
        self.read_nanos.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Seconds spent building and writing segments, summed over concurrent writes.
    pub fn write_seconds(&self) -> f64 {
        self.write_nanos.load(Ordering::Relaxed) as f64 / 1e9
    }
}
