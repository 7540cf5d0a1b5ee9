//! Reading: every file of a changed group becomes a file summary, once.
//!
//! A file that the catalog knows in this very version is summarised from there, by the process that
//! has its group; the others are spread over all workers by path. A read takes permits for the
//! bytes it will hold before it starts, so the lake data in memory is bounded whatever the lake's
//! size, and only so many reads go on at once: each has a thread and a socket or an open file. An
//! unreadable file is a value here, not an error: it costs only itself.

mod task;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use limn_formats::member::{SEPARATOR, refusal};
use limn_formats::{
    FileError, Fingerprint, Format, Held, ObjectRecord, ReadOptions, SIDECAR_BYTES, summarise_file,
};
use limn_lake::TableFile;
use limn_lake::contexts::{ContextPart, SharedKind, SharedText, is_pdf, read_shared, read_sidecar};
use limn_profile::FileSummary;
use limn_store::Store;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use self::task::read_result;
pub use self::task::{Part, ReadDone, ReadResult, ReadSource, ReadTask, Unread, WantedParts};
use crate::error::PipelineError;
use crate::progress::{Phase, Progress};
use crate::published::{KnownFile, Published};
use crate::weight;
use crate::wire::Wire;

/// Bytes per permit of the memory budget.
const PERMIT_BYTES: u64 = 64 << 10;
/// Bytes that a hash of a value takes while it is collected, and that the value took.
const HASH_BYTES: u64 = 8;
const VALUE_BYTES: u64 = 8;
/// Reads at once. Each blocks a thread of the runtime's pool (512) that waits for others of it.
const READS_AT_ONCE: usize = 64;
/// Files read ahead of the dataflow whose results are kept for it.
const PROBES_KEPT: usize = 4096;

/// Bytes of texts about several tables that are held, about, and how many texts and errors, until
/// others are asked for. Two of the largest that are read (a manifest and a catalog of dbt) have
/// room: each table needs a part of both.
const SHARED_BYTES: usize = 192 << 20;
const SHARED_KEPT: usize = 4096;

/// Columns from which on a file is a wide one.
pub const WIDE: usize = 4096;

/// A text about several tables, or why there is none, the same for every table.
type SharedCell = Arc<OnceCell<Result<SharedText, FileError>>>;

/// Reads files within a memory budget; shared by the workers of a process.
pub struct Reader {
    store: Store,
    published: Arc<Published>,
    options: ReadOptions,
    progress: Arc<Progress>,
    memory: Arc<Semaphore>,
    permits: u32,
    at_once: Arc<Semaphore>,
    probed: Mutex<HashMap<Fingerprint, Result<FileSummary, FileError>>>,
    shared: Mutex<HashMap<Fingerprint, SharedCell>>,
    files_read: AtomicU64,
    /// The widest file read from the lake so far.
    widest: Mutex<Option<(usize, String)>>,
    /// Spreadsheets and databases of which a part was read.
    holders_read: Mutex<HashSet<String>>,
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
            at_once: Arc::new(Semaphore::new(READS_AT_ONCE)),
            probed: Mutex::default(),
            shared: Mutex::default(),
            files_read: AtomicU64::new(0),
            widest: Mutex::default(),
            holders_read: Mutex::default(),
        }
    }

    /// How files are read.
    pub fn options(&self) -> &ReadOptions {
        &self.options
    }

    /// Data files read from the lake so far; of a spreadsheet or a database one, whatever was read
    /// of it.
    pub fn files_read(&self) -> u64 {
        self.files_read.load(Ordering::Relaxed)
    }

    /// Counters of the job.
    pub(crate) fn progress(&self) -> &Progress {
        &self.progress
    }

    /// The widest file read so far, if one is very wide, and how many columns it has.
    pub fn widest(&self) -> Option<(usize, String)> {
        let widest = self.widest.lock().unwrap_or_else(PoisonError::into_inner);
        widest.clone().filter(|(columns, _)| *columns >= WIDE)
    }

    fn note_width(&self, path: &str, columns: usize) {
        let mut widest = self.widest.lock().unwrap_or_else(PoisonError::into_inner);
        let known = widest.as_ref().map_or(0, |(columns, _)| *columns);
        let is_first = || {
            widest
                .as_ref()
                .is_none_or(|(_, first)| path < first.as_str())
        };
        if columns > known || columns == known && is_first() {
            *widest = Some((columns, path.to_owned()));
        }
    }

    /// Looks a part up in what is published: what comes of it, if it is known. This process has to
    /// have its group.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn look_up(
        &self,
        task: &ReadTask,
    ) -> Result<Option<Result<ReadResult, Unread>>, PipelineError> {
        Ok(match &task.source.0 {
            _ if task.is_probed => None,
            ReadSource::Data(file) => {
                let known = self.published.file(file.content_fingerprint())?;
                if known.is_some() {
                    self.count_for_people(file);
                }
                known.map(|known| match known {
                    // Wide files are counted when they come.
                    KnownFile::Summary(summary) if summary.columns.len() >= WIDE => {
                        Ok(ReadResult::Summary(summary))
                    }
                    KnownFile::Summary(_) => Ok(ReadResult::AsPublished),
                    KnownFile::NoTable => Ok(ReadResult::NoTable),
                    KnownFile::Unread(error) => Err(Unread {
                        error,
                        settled: true,
                    }),
                })
            }
            ReadSource::Sidecar(object, version) => {
                let known = self.published.context(&object.path, *version)?;
                known.map(|known| Ok(ReadResult::Text(ContextPart::of_table(known))))
            }
            ReadSource::Shared {
                object,
                wanted: WantedParts::One { table, version, .. },
                ..
            } => {
                let known = self
                    .published
                    .part(table.as_str(), &object.path, *version)?;
                known.map(|known| Ok(ReadResult::Text(known)))
            }
            ReadSource::Shared { .. } => None,
        })
    }

    /// Carries out one read.
    ///
    /// # Errors
    /// Only when the job is being shut down; whatever is wrong with the file is in the result.
    pub async fn read(&self, task: ReadTask) -> Result<Vec<ReadDone>, PipelineError> {
        let result = match &task.source.0 {
            ReadSource::Data(file) => self.file(file).await?,
            ReadSource::Sidecar(object, _) => {
                let _permits = self.reserve_text(object, SIDECAR_BYTES).await?;
                read_sidecar(&self.store, object, self.options.confined.as_ref())
                    .await
                    .map(|text| ReadResult::Text(ContextPart::of_table(text)))
                    .map_err(|error| Unread::from(&error))
            }
            ReadSource::Shared {
                object,
                kind,
                wanted,
            } => self.parts(object, *kind, wanted).await?,
        };
        Ok(vec![self.done(&task, result)])
    }

    /// What came of a part, counted.
    pub fn done(&self, task: &ReadTask, result: Result<ReadResult, Unread>) -> ReadDone {
        let held = match &result {
            Ok(ReadResult::Summary(summary)) => {
                self.options.room.hold(weight::of_table_to_be(summary))
            }
            _ => Held::default(),
        };
        ReadDone {
            group: task.group,
            owner: task.owner,
            part: task.part,
            result: Wire(result),
            held,
        }
    }

    fn count_for_people(&self, file: &TableFile) {
        if !file.format.is_log() {
            Progress::add(&self.progress.files_read, 1);
        }
    }

    /// Whether a file was read ahead of the dataflow.
    pub fn is_probed(&self, file: &TableFile) -> bool {
        let probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        !probed.is_empty() && probed.contains_key(&file.content_fingerprint())
    }

    /// Reads a file ahead of the dataflow, which is spared the read then.
    pub async fn probe(&self, file: &TableFile) -> Option<FileSummary> {
        let result = self.summarise(file).await.ok()?;
        let summary = result.as_ref().ok().cloned();
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        if probed.len() < PROBES_KEPT {
            probed.insert(file.content_fingerprint(), result);
        }
        summary
    }

    async fn file(&self, file: &TableFile) -> Result<Result<ReadResult, Unread>, PipelineError> {
        let content = file.content_fingerprint();
        let probed = {
            let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
            probed.remove(&content)
        };
        let result = match probed {
            Some(probed) => read_result(probed),
            None => match refusal(&file.object).filter(|_| !file.data_file().is_stray()) {
                // Its container was read to find it out.
                Some(error) => read_result(Err(error)),
                None => read_result(self.summarise(file).await?),
            },
        };
        self.count_for_people(file);
        Ok(result)
    }

    /// A text about several tables, ahead of the dataflow; `None` if it cannot be read.
    pub async fn look_at(&self, object: &ObjectRecord, kind: SharedKind) -> Option<SharedText> {
        self.shared(object, kind).await.ok()?.ok()
    }

    /// What is wanted of a text about several tables.
    async fn parts(
        &self,
        object: &ObjectRecord,
        kind: SharedKind,
        wanted: &WantedParts,
    ) -> Result<Result<ReadResult, Unread>, PipelineError> {
        let text = self.shared(object, kind).await?;
        Ok(text.map(|text| match wanted {
            WantedParts::One { about, .. } => ReadResult::Text(text.part(about)),
            WantedParts::Of(paths) => {
                ReadResult::Shared(text.of_tables(paths.iter().map(String::as_str)))
            }
        }))
    }

    /// A text about several tables: read and cut up once.
    async fn shared(
        &self,
        object: &ObjectRecord,
        kind: SharedKind,
    ) -> Result<Result<SharedText, Unread>, PipelineError> {
        let cell = self.shared_cell(object.fingerprint());
        let read = match cell.get() {
            Some(read) => read,
            None => {
                let _permits = self.reserve_text(object, kind.most_bytes()).await?;
                let read = cell.get_or_try_init(|| async {
                    let confined = self.options.confined.as_ref();
                    match read_shared(&self.store, object, kind, confined).await {
                        Err(error) if error.is_retryable() => Err(error),
                        settled => Ok(settled),
                    }
                });
                match read.await {
                    Ok(read) => read,
                    Err(error) => return Ok(Err(Unread::from(&error))),
                }
            }
        };
        Ok(read.as_ref().cloned().map_err(Unread::from))
    }

    fn shared_cell(&self, version: Fingerprint) -> SharedCell {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cell) = shared.get(&version) {
            return Arc::clone(cell);
        }
        let held = |cell: &SharedCell| match cell.get() {
            Some(Ok(text)) => text.held(),
            _ => 0,
        };
        if shared.len() >= SHARED_KEPT || shared.values().map(held).sum::<usize>() > SHARED_BYTES {
            shared.clear();
        }
        Arc::clone(shared.entry(version).or_default())
    }

    async fn summarise(
        &self,
        file: &TableFile,
    ) -> Result<Result<FileSummary, FileError>, PipelineError> {
        let data = file.data_file();
        let held = data.held(self.options.scan_budget);
        // No file has more values than it has room for.
        let values = u64::from(self.options.values.most).min(held / VALUE_BYTES);
        let _permits = self.reserve(held + HASH_BYTES * values).await?;
        // After the wait for a permit: all files of an epoch ask for one at once, while nothing is
        // held yet.
        self.options.room.free().await;
        let start = Instant::now();
        let mut summary = summarise_file(&self.store, &data, &self.options).await;
        self.count(file);
        if let Ok(summary) = &mut summary {
            summary.size = file.object.size;
            self.note_width(&file.object.path, summary.columns.len());
        }
        self.progress.spend(Phase::Read, start);
        Ok(summary)
    }

    fn count(&self, file: &TableFile) {
        if file.format.is_log() {
            return;
        }
        let holder = match file.format {
            Format::Sheet | Format::Sqlite => file.object.path.rsplit_once(SEPARATOR),
            _ => None,
        };
        let holders = || {
            self.holders_read
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if holder.is_none_or(|(holder, _)| holders().insert(holder.to_owned())) {
            self.files_read.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until a text may be read, of which at most so many bytes are. PDFs, of which one is
    /// read at a time, keep nothing else from its turn meanwhile.
    async fn reserve_text(
        &self,
        object: &ObjectRecord,
        most: u64,
    ) -> Result<Option<[OwnedSemaphorePermit; 2]>, PipelineError> {
        match is_pdf(&object.path) {
            true => Ok(None),
            false => self.reserve(object.size.min(most)).await.map(Some),
        }
    }

    /// Waits until a read of `bytes` may start.
    async fn reserve(&self, bytes: u64) -> Result<[OwnedSemaphorePermit; 2], PipelineError> {
        let permits = u32::try_from(bytes / PERMIT_BYTES + 1)
            .unwrap_or(u32::MAX)
            .min(self.permits);
        let closed = |_| PipelineError::Dataflow("the read budget was closed".into());
        let memory = Arc::clone(&self.memory).acquire_many_owned(permits);
        let memory = memory.await.map_err(closed)?;
        let slot = Arc::clone(&self.at_once).acquire_owned();
        Ok([memory, slot.await.map_err(closed)?])
    }
}
