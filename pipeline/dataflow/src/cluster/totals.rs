//! Totals: what the parts of a run in each process come to.

use serde::{Deserialize, Serialize};

use crate::narrate::asking::Outcome;
use crate::report::{ByteTotals, RequestTotals};

/// What one process did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Data files read.
    pub files_read: u64,
    /// Requests to the stores.
    pub requests: RequestTotals,
    /// Bytes from and to the stores.
    pub bytes: ByteTotals,
    /// Blocks embedded anew.
    pub embedded_blocks: u64,
    /// Tokens of those.
    pub embedded_tokens: u64,
    /// Seconds spent reading, summed over concurrent reads.
    pub read: f64,
    /// Seconds spent embedding, summed over threads.
    pub embed: f64,
    /// Seconds from the first to the last batch embedded.
    pub embed_span: f64,
    /// Seconds spent building and writing segments, summed over concurrent writes.
    pub write: f64,
    /// Seconds that the language model was busy.
    pub narrate: f64,
    /// What came of asking it.
    pub narrated: Outcome,
}

impl Totals {
    /// Logs where the time of this process went, summed over concurrent tasks.
    pub fn log(&self) {
        tracing::info!(
            read = self.read,
            embed = self.embed,
            write = self.write,
            narrate = self.narrate,
            files = self.files_read,
            blocks = self.embedded_blocks,
            "seconds of this process"
        );
    }

    /// Adds what another process did at the same time.
    pub fn add(&mut self, other: Self) {
        self.files_read += other.files_read;
        self.requests.list += other.requests.list;
        self.requests.get += other.requests.get;
        self.requests.put += other.requests.put;
        self.requests.head += other.requests.head;
        self.bytes.read += other.bytes.read;
        self.bytes.written += other.bytes.written;
        self.embedded_blocks += other.embedded_blocks;
        self.embedded_tokens += other.embedded_tokens;
        self.read += other.read;
        self.embed += other.embed;
        // Their clocks have no common begin; they embed at the same time, more or less.
        self.embed_span = self.embed_span.max(other.embed_span);
        self.write += other.write;
        self.narrate += other.narrate;
        self.narrated.add(other.narrated);
    }
}
