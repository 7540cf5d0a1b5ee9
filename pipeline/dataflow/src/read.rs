//! Reading: every file of a changed group becomes a file summary, once.
//!
//! Files are spread over workers by path. A file that the catalog knows in this very version is
//! summarised from there. A read takes permits for the bytes it will hold before it starts, so the
//! lake data in memory is bounded whatever the lake's size. An unreadable file is a value here, not
//! an error: it costs only itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use limn_lake::contexts::read_sidecar;
use limn_lake::{DataFile, FileError, FileSummary, ObjectRecord, ReadOptions, summarise_file};
use limn_store::Store;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use crate::changes::GroupId;
use crate::error::PipelineError;
use crate::progress::Progress;
use crate::published::Published;
use crate::wire::Wire;

/// Bytes per permit of the memory budget.
const PERMIT_BYTES: u64 = 64 << 10;

/// Which part of a group a read is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    /// The file at this index of the group's files.
    File(u32),
    /// The context at this index of the group's contexts.
    Context(u32),
}

/// A read to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadTask {
    /// The group that waits for it.
    pub group: GroupId,
    /// The part of the group.
    pub part: Part,
    /// What is read.
    pub source: Wire<ReadSource>,
}

/// What is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ReadSource {
    /// A data file.
    Data(DataFile),
    /// A context beside a table.
    Sidecar(ObjectRecord),
}

impl ReadTask {
    /// The exchange key: reads are spread by path.
    pub fn route(&self) -> u64 {
        let path = match &self.source.0 {
            ReadSource::Data(file) => &file.object.path,
            ReadSource::Sidecar(object) => &object.path,
        };
        xxhash_rust::xxh3::xxh3_64(path.as_bytes())
    }
}

/// A read that is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadDone {
    /// The group that waits for it.
    pub group: GroupId,
    /// The part of the group.
    pub part: Part,
    /// What came of it.
    pub result: Wire<Result<ReadResult, FileError>>,
}

/// What a read gives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ReadResult {
    /// The summary of a data file.
    Summary(FileSummary),
    /// The text of a sidecar.
    Text(String),
}

/// Reads files within a memory budget; shared by the workers of a process.
pub struct Reader {
    store: Store,
    published: Arc<Published>,
    options: ReadOptions,
    progress: Arc<Progress>,
    memory: Arc<Semaphore>,
    permits: u32,
    files_read: AtomicU64,
}

impl Reader {
    /// A reader that holds at most about `memory` bytes of lake data at once.
    pub fn new(
        store: Store,
        published: Arc<Published>,
        options: ReadOptions,
        memory: u64,
        progress: Arc<Progress>,
    ) -> Self {
        let permits = u32::try_from((memory / PERMIT_BYTES).max(1)).unwrap_or(u32::MAX >> 4);
        Self {
            store,
            published,
            options,
            progress,
            memory: Arc::new(Semaphore::new(permits as usize)),
            permits,
            files_read: AtomicU64::new(0),
        }
    }

    /// Data files read from the lake so far.
    pub fn files_read(&self) -> u64 {
        self.files_read.load(Ordering::Relaxed)
    }

    /// Carries out one read.
    ///
    /// # Errors
    /// Only when the job is being shut down; whatever is wrong with the file is in the result.
    pub async fn read(&self, task: ReadTask) -> Result<Vec<ReadDone>, PipelineError> {
        let ReadTask {
            group,
            part,
            source,
        } = task;
        let result = match &source.0 {
            ReadSource::Data(file) => self.summarise(file).await,
            ReadSource::Sidecar(object) => {
                let _permits = self.reserve(object.size).await?;
                read_sidecar(&self.store, object)
                    .await
                    .map(ReadResult::Text)
            }
        };
        Ok(vec![ReadDone {
            group,
            part,
            result: Wire(result),
        }])
    }

    async fn summarise(&self, file: &DataFile) -> Result<ReadResult, FileError> {
        if let Some(known) = self.published.summary(file.content_fingerprint()) {
            Progress::add(&self.progress.files_read, 1);
            return Ok(ReadResult::Summary(known));
        }
        // A closed semaphore means the job ends; the summary is then of no use, but still correct.
        let _permits = self
            .reserve(file.object.size.min(2 * self.options.scan_budget))
            .await
            .ok();
        let start = Instant::now();
        let summary = summarise_file(&self.store, file, &self.options).await;
        self.files_read.fetch_add(1, Ordering::Relaxed);
        self.progress.add_read_time(start.elapsed());
        Progress::add(&self.progress.files_read, 1);
        summary.map(ReadResult::Summary)
    }

    async fn reserve(
        &self,
        bytes: u64,
    ) -> Result<tokio::sync::OwnedSemaphorePermit, PipelineError> {
        let permits = u32::try_from(bytes / PERMIT_BYTES + 1)
            .unwrap_or(u32::MAX)
            .min(self.permits);
        Arc::clone(&self.memory)
            .acquire_many_owned(permits)
            .await
            .map_err(|_| PipelineError::Dataflow("the read budget was closed".into()))
    }
}
