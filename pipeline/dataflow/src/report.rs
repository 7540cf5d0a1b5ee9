//! What a run did: the object that `limn index --json` prints (a contract, see `docs/cli.md`).

use limn_formats::FileError;
use serde::{Deserialize, Serialize};

/// The outcome of one `limn index` run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// The newest snapshot after the run.
    pub snapshot: u64,
    /// Tables by what happened to them.
    pub tables: TableCounts,
    /// Objects of the lake.
    pub objects: ObjectCounts,
    /// Requests to the lake's and the index's stores.
    pub requests: RequestTotals,
    /// Bytes from and to the lake's and the index's stores.
    pub bytes: ByteTotals,
    /// Work of the models.
    pub model: ModelTotals,
    /// Where the time went. `total` is wall time; the others are summed over concurrent tasks.
    pub seconds: Seconds,
    /// Tables and objects that could not be indexed: first those that are new, then those that an
    /// earlier run has reported in the same words.
    pub failures: Vec<Failure>,
    /// How many of them, the last ones, an earlier run has reported.
    #[serde(default)]
    pub failed_before: u64,
    /// What the compaction at the end of the run merged; `None` if there was nothing to merge.
    #[serde(default)]
    pub compacted: Option<CompactedTotals>,
    /// Whether the run was stopped before its end.
    pub stopped: bool,
    /// Remarks that are no failures: contexts without a table, for example.
    pub notes: Vec<String>,
}

impl Report {
    /// The failures that no earlier run has reported.
    pub fn new_failures(&self) -> &[Failure] {
        let before = usize::try_from(self.failed_before).unwrap_or(usize::MAX);
        let new = self.failures.len().saturating_sub(before);
        &self.failures[..new]
    }
}

/// Tables by what happened to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableCounts {
    /// New in the index.
    pub added: u64,
    /// Described anew because the lake changed.
    pub changed: u64,
    /// Removed from the lake.
    pub removed: u64,
    /// As they were.
    pub unchanged: u64,
    /// Not indexed, or kept at their last good version.
    pub failed: u64,
}

/// Objects of the lake.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ObjectCounts {
    /// Named by the listing.
    pub listed: u64,
    /// Data objects read.
    pub read: u64,
    /// Left out by filters and `.limnignore` files.
    #[serde(default)]
    pub filtered: u64,
    /// Hidden or being written, as their names say.
    #[serde(default)]
    pub hidden: u64,
    /// Others that are no data, by extension, the most frequent first. Given where the whole lake
    /// was listed, as is `hidden`.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
}

/// Objects of one extension that are no data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// In lower case and without its dot; `""` for objects that have none.
    pub extension: String,
    /// How many.
    pub objects: u64,
    /// The first of them by path, five at most.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// Requests by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestTotals {
    /// List requests (a page each where the store counts them).
    pub list: u64,
    /// Reads.
    pub get: u64,
    /// Writes.
    pub put: u64,
    /// Metadata requests.
    pub head: u64,
}

/// Bytes moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteTotals {
    /// Read from the stores.
    pub read: u64,
    /// Written to the stores.
    pub written: u64,
}

/// Work of the models.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct ModelTotals {
    /// Columns narrated by a language model.
    pub narrated_columns: u64,
    /// Columns for which the language model failed, or was not asked because it failed every time.
    pub failed_columns: u64,
    /// Tokens read by the language model.
    pub prompt_tokens: u64,
    /// Tokens written by the language model.
    pub generated_tokens: u64,
    /// Blocks embedded anew; reused vectors are not counted.
    pub embedded_blocks: u64,
    /// Tokens of those blocks.
    pub embedded_tokens: u64,
}

/// What a compaction merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactedTotals {
    /// Segments that were merged away, less those that were made of them.
    pub segments: u64,
    /// Catalog files that were merged away, less those that were made of them.
    pub catalog_files: u64,
    /// Deleted blocks that left.
    pub deleted_blocks: u64,
}

/// Where the time went, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Wall time of the run.
    pub total: f64,
    /// Processor time of all processes; 0 where the system does not say.
    #[serde(default)]
    pub busy: f64,
    /// Listing, summed over processes.
    #[serde(default)]
    pub list: f64,
    /// Planning, summed over processes.
    #[serde(default)]
    pub plan: f64,
    /// Reading and summarising files, summed over concurrent reads.
    pub read: f64,
    /// Narrating, summed over devices.
    pub narrate: f64,
    /// Embedding, summed over device threads.
    pub embed: f64,
    /// Wall time from the first to the last embedding batch.
    pub embed_span: f64,
    /// Building and writing segments, summed over concurrent writes.
    pub write: f64,
    /// Publishing snapshots, with the join graph.
    #[serde(default)]
    pub publish: f64,
}

/// A table or object that could not be indexed. It costs only itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Failure {
    /// The table it would have been.
    pub table: String,
    /// The object at fault.
    pub object: String,
    /// What is wrong and what to do, in one line.
    pub error: String,
}

/// Of an object that is not known to be of a table.
impl From<&FileError> for Failure {
    fn from(error: &FileError) -> Self {
        Failure {
            table: String::new(),
            object: error.object.clone(),
            error: error.to_string(),
        }
    }
}
