//! From one file's bytes to its [`FileSummary`]: Parquet, Arrow, Avro, ORC, delimited and plain text, JSON lines.
//!
//! [`summarise_file`] is the one door. Bytes are fetched on the caller's runtime; parsing runs on a
//! blocking thread, so no operator or request waits behind it, and a parser that panics costs its
//! own file only: it becomes a [`FileError`] like any other (design, invariant 6).
//!
//! What is read is bounded by [`ReadOptions::scan_budget`]: files within it are read whole, of
//! larger ones ranges, row groups, batches or stripes that a stable hash chooses, so the same file is
//! read in the same places on any machine and on any number of workers. Peak memory stays below about
//! eight budgets: an Arrow file within the budget, its dictionaries (three) and one column (three) are the
//! most.

mod arrow_ipc;
mod avro;
pub(crate) mod batches;
mod codec;
mod containers;
mod dialect;
mod documented;
pub(crate) mod fitting;
mod footer;
mod header;
pub mod infer;
mod input;
mod json;
pub(crate) mod names;
mod orc;
mod parquet;
mod plain;
mod ranged;
pub(crate) mod render;
mod rows;
mod scanned;
mod sniff;
mod text;
mod typed;
mod windows;

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use limn_store::{Store, StoreError, one_line};

pub use self::containers::open_container;
pub use self::containers::sqlite::view::{VIEW_ARGUMENT, answer_view};
pub(crate) use self::scanned::rows;
use crate::confined::Confined;
use crate::error::{FileError, FileErrorKind};
use crate::layout::DataFile;
use crate::member;
use crate::object::Format;
use crate::reading::{Declaration, DeclaredReading, HeaderLine};
use crate::room::Room;
use crate::summary::FileSummary;

/// More columns than this are no table anyone searches for, and a profile of each would not fit the
/// memory a file may use.
const MAX_COLUMNS: usize = 16_384;

/// How much of each file is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Rows that a file's sample holds (the paper's r). Default 5.
    pub sample_rows: usize,
    /// Bytes read of one file for its profile and its sample. Default 16 MiB. Rows drawn from a
    /// Parquet file may cost more: see [`summarise_file`].
    pub scan_budget: u64,
    /// What rows and ranges are drawn with. Default 0.
    pub seed: u64,
    /// Room for what is read, shared by all who read at once. Default: any.
    pub room: Room,
    /// Reads views of databases; without one they are refused. Default none.
    pub confined: Option<Confined>,
    /// What people say of the file that is read: it is taken from each [`DataFile`].
    pub declared: Option<Arc<Declaration>>,
}

impl ReadOptions {
    /// Those for a file.
    pub(crate) fn of(&self, file: &DataFile) -> ReadOptions {
        ReadOptions {
            declared: file.declared.clone(),
            ..self.clone()
        }
    }

    /// Those for text that was made of a sheet's cells: its delimiter and encoding are known, and it begins with the header
    /// that people declare, below the line that names the delimiter.
    fn of_cells(&self) -> ReadOptions {
        let of_text = |declared: &Arc<Declaration>| {
            let mut declared = Declaration::clone(declared);
            declared.reading.delimiter = None;
            declared.reading.encoding = None;
            if let Some(HeaderLine::At(line)) = &mut declared.reading.header {
                *line = 2;
            }
            Arc::new(declared)
        };
        ReadOptions {
            declared: self.declared.as_ref().map(of_text),
            ..self.clone()
        }
    }

    /// How people say that the file is read.
    pub(crate) fn declared(&self) -> &DeclaredReading {
        Declaration::reading_of(self.declared.as_ref())
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            sample_rows: 5,
            scan_budget: 16 << 20,
            seed: 0,
            room: Room::default(),
            confined: None,
            declared: None,
        }
    }
}

/// Reads what limn keeps of a file: its columns with their types and profiles, its row count and a
/// row sample. The result is a function of the file's content, its `sample_path` and the options.
///
/// Requests: files within the budget one ranged read; above it text and Avro files sixteen, the others
/// one for the footer and a few for the values (an Arrow stream one for each of its first 512 batches).
/// The rows drawn from a Parquet file with no page index cost up to their whole column chunks, read in
/// windows, whatever the budget.
///
/// Must be called on a tokio runtime.
///
/// # Errors
/// A [`FileError`] that names the object, the cause and the remedy: the store failed, or the content
/// is not of the format that the file's name promises, or broken.
pub async fn summarise_file(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, FileError> {
    if file.is_stray() {
        let cause = "it lies among a table's files of another format";
        return Err(Failure::new(FileErrorKind::NoTable, cause).about(&file.object.path));
    }
    if let Some(refusal) = member::refusal(&file.object) {
        return Err(refusal);
    }
    let options = &options.of(file);
    let read = async {
        let mut summary = match containers::enter(store, file, options).await? {
            Some((view, member)) => by_format(&view, &member, options).await?,
            None => by_format(store, file, options).await?,
        };
        if !file.format.is_text() && file.format != Format::Sheet {
            summary.declare_types(&options.declared().types);
        }
        Ok(summary)
    };
    // Parsing panics are caught at the blocking thread; this is for whatever runs here.
    let outcome = AssertUnwindSafe(read)
        .catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(Failure::panicked(panic.as_ref())));
    outcome.map_err(|failure| failure.about(&file.object.path))
}

async fn by_format(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    match file.format {
        Format::Parquet => parquet::summarise(store, file, options).await,
        Format::Csv => text::summarise(store, file, options).await,
        Format::Text => plain::summarise(store, file, options).await,
        Format::JsonLines => json::summarise(store, file, options).await,
        Format::Arrow => arrow_ipc::summarise(store, file, options).await,
        Format::Avro => avro::summarise(store, file, options).await,
        Format::Orc => orc::summarise(store, file, options).await,
        Format::Sqlite => containers::sqlite::summarise(store, file, options).await,
        Format::Sheet => containers::book::summarise(store, file, options).await,
        Format::Archive => Err(containers::not_there()),
    }
}

/// Runs a parser on a blocking thread.
async fn parse<T: Send + 'static>(
    parser: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(parser).await {
        Ok(result) => result,
        Err(error) => Err(match error.try_into_panic() {
            Ok(panic) => Failure::panicked(panic.as_ref()),
            Err(_) => Failure::new(FileErrorKind::Unreachable, "the runtime is shutting down"),
        }),
    }
}

/// A [`FileError`] that does not know its object yet.
#[derive(Debug)]
pub(crate) enum Failure {
    Content {
        kind: FileErrorKind,
        cause: String,
        remedy: Option<String>,
    },
    Store(StoreError),
}

impl Failure {
    fn new(kind: FileErrorKind, cause: impl Into<String>) -> Self {
        Failure::Content {
            kind,
            cause: cause.into(),
            remedy: None,
        }
    }

    fn with_remedy(self, advice: impl Into<String>) -> Self {
        match self {
            Failure::Content { kind, cause, .. } => Failure::Content {
                kind,
                cause,
                remedy: Some(advice.into()),
            },
            Failure::Store(_) => self,
        }
    }

    /// What is wrong, in one line.
    fn cause(&self) -> String {
        match self {
            Failure::Content { cause, .. } => cause.clone(),
            Failure::Store(error) => one_line(&error.to_string()),
        }
    }

    fn panicked(panic: &(dyn Any + Send)) -> Self {
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        Failure::new(
            FileErrorKind::Panicked,
            format!("the reader panicked: {}", one_line(message)),
        )
        .with_remedy(
            "write the file again from its source; if that does not help, report this as a bug",
        )
    }

    fn too_many_columns(count: usize) -> Self {
        Failure::new(
            FileErrorKind::Unsupported,
            format!("it has {count} columns, more than {MAX_COLUMNS}"),
        )
        .with_remedy("store it with a row per value, or in several files")
    }

    pub(crate) fn about(self, path: &str) -> FileError {
        match self {
            Failure::Store(error) => FileError::from_store(path, &error),
            Failure::Content {
                kind,
                cause,
                remedy,
            } => {
                let error = FileError::new(path, kind, cause);
                match remedy {
                    Some(remedy) => error.with_remedy(remedy),
                    None => error,
                }
            }
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Store(error)
    }
}

/// `count` things in words: "1 row", "3 rows".
pub(crate) fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[cfg(test)]
mod tests;
