//! Totals: what the parts of a run in each process come to.

use serde::{Deserialize, Serialize};

use crate::narrate::outcome::Outcome;
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
    /// Seconds since its round began.
    pub total: f64,
    /// Seconds of all processors that it had; 0 where the system does not say.
    pub busy: f64,
    /// Seconds spent listing, without the wait for what others have listed.
    pub list: f64,
    /// Seconds spent planning.
    pub plan: f64,
    /// Seconds spent reading, summed over concurrent reads.
    pub read: f64,
    /// Seconds spent embedding, summed over threads.
    pub embed: f64,
    /// Seconds from the first to the last batch embedded.
    pub embed_span: f64,
    /// Seconds spent building and writing segments, summed over concurrent writes.
    pub write: f64,
    /// Seconds spent publishing, which the leader does.
    pub publish: f64,
    /// Seconds that the language model was busy.
    pub narrate: f64,
    /// What came of asking it.
    pub narrated: Outcome,
}

impl Totals {
    /// Logs where the time of this process went, summed over concurrent tasks.
    pub fn log(&self) {
        tracing::info!(
            total = self.total,
            busy = self.busy,
            list = self.list,
            plan = self.plan,
            read = self.read,
            embed = self.embed,
            write = self.write,
            publish = self.publish,
            narrate = self.narrate,
            files = self.files_read,
            blocks = self.embedded_blocks,
            "seconds of this process"
        );
    }

    /// Adds what another process did at the same time: the time since the begin stays this one's.
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
        self.busy += other.busy;
        self.list += other.list;
        self.plan += other.plan;
        self.read += other.read;
        self.embed += other.embed;
        // Their clocks have no common begin; they embed at the same time, more or less.
        self.embed_span = self.embed_span.max(other.embed_span);
        self.write += other.write;
        self.publish += other.publish;
        self.narrate += other.narrate;
        self.narrated.add(other.narrated);
    }
}
