//! The scan: the rows of a table as Arrow record batches, whole, typed, in one order, pinned to the
//! versions of its files that the index knows.
//!
//! Several files are one relation: columns are united by name as
//! [`limn_profile::TableSummary::merge`] unites them, a column that a file lacks is null in its
//! rows, partition keys are columns. Types are those of [`schema`]. A cell that does not fit its
//! column's type is null and counted; no row is lost for it. A file that is damaged costs its own
//! rows, and one line of the [`Report`]; a file that is not the one that was indexed ends the scan
//! ([`ScanError::Changed`], [`ScanError::Missing`]).
//!
//! Memory: a few batches and what one file's reader holds; what is fetched ahead of its turn is
//! bounded by [`ReadOptions::room`], for all scans that share it. A scan that is dropped reads
//! nothing more.

mod conform;
mod cut;
mod filter;
mod run;
mod schema;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::{FieldRef, SchemaRef};
use limn_formats::ReadOptions;
use limn_profile::{FilePart, FileSummary};
use limn_store::Store;
use thiserror::Error;

pub use self::filter::Filter;
pub use self::run::Rows;
use self::schema::Columns;
use crate::assemble::partitions;
use crate::layout::TableFile;
use crate::settled::settle;
use limn_profile::text::counted;

/// The name of the column that says which file a row is of: its path in the lake.
pub const FILE_COLUMN: &str = "_file";
/// The name of the column that says which row of its file a row is, from 0 on.
pub const ROW_COLUMN: &str = "_row";

/// A table whose rows can be read: its files, as the index knows them.
#[derive(Clone)]
pub struct TableRows(Arc<Inner>);

struct Inner {
    store: Store,
    files: Vec<(TableFile, FileSummary)>,
    columns: Columns,
    options: ReadOptions,
}

/// What is wanted of a table's rows.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Columns by their places in [`TableRows::schema`], in the order in which they are wanted;
    /// none for all.
    pub columns: Option<Vec<usize>>,
    /// Rows that do not pass all of them are left out. Files, row groups and pages are left out
    /// unread where their bounds say so.
    pub filters: Vec<Filter>,
    /// No more rows than this.
    pub limit: Option<u64>,
    /// Adds [`FILE_COLUMN`] and [`ROW_COLUMN`].
    pub row_ids: bool,
    /// Which part of the table is read.
    pub part: Part,
}

/// One of several parts that together are the table, in its order. Each is a run of whole files, or
/// of row groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which one, from 0 on.
    pub number: u32,
    /// How many there are.
    pub of: u32,
}

impl Default for Part {
    fn default() -> Self {
        Part { number: 0, of: 1 }
    }
}

/// Why a scan ended before its end.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ScanError {
    /// A file is not as it was indexed.
    #[error("{path} has changed since it was indexed; bring the index up to date: limn index")]
    Changed {
        /// Its path in the lake.
        path: String,
    },
    /// A file no longer exists.
    #[error(
        "{path} is missing: it was there when it was indexed; bring the index up to date: limn index"
    )]
    Missing {
        /// Its path in the lake.
        path: String,
    },
    /// The store did not answer.
    #[error("{path}: {cause}")]
    Store {
        /// The file's path in the lake.
        path: String,
        /// What the store said.
        cause: String,
    },
}

/// What a scan met, complete once its stream has ended.
#[derive(Debug, Default)]
pub struct Report {
    rows: AtomicU64,
    files_passed_over: AtomicU64,
    notes: Mutex<Notes>,
}

/// Damaged files that have a line each.
const NAMED: usize = 20;

#[derive(Debug, Default)]
struct Notes {
    damaged: Vec<String>,
    /// Damaged files beyond those.
    more: u64,
    /// Cells that did not fit, by column.
    misfits: Vec<(String, u64)>,
}

impl Report {
    /// Rows that readers gave, before filters: of Parquet without those that a filter's columns
    /// left out before others were read.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Files that were not read, since no row of theirs can pass the filters.
    pub fn files_passed_over(&self) -> u64 {
        self.files_passed_over.load(Ordering::Relaxed)
    }

    /// One line a damaged file: what is wrong with it, and what to do. Of a great many the first,
    /// and how many more there are.
    pub fn damaged(&self) -> Vec<String> {
        let notes = self.notes();
        let mut lines = notes.damaged.clone();
        if notes.more > 0 {
            let files = counted(notes.more, "more file");
            lines.push(format!("{files} could not be read to the end, too"));
        }
        lines
    }

    fn damage(&self, line: String) {
        let mut notes = self.notes();
        match notes.damaged.len() < NAMED {
            true => notes.damaged.push(line),
            false => notes.more += 1,
        }
    }

    /// Columns of which cells did not fit the type, and how many cells; they were read as null.
    pub fn misfits(&self) -> Vec<(String, u64)> {
        self.notes().misfits.clone()
    }

    fn notes(&self) -> std::sync::MutexGuard<'_, Notes> {
        // A panic elsewhere leaves nothing half-done here.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn misfit(&self, column: &str, cells: u64) {
        if cells == 0 {
            return;
        }
        let mut notes = self.notes();
        match notes.misfits.iter_mut().find(|(name, _)| name == column) {
            Some((_, count)) => *count += cells,
            None => notes.misfits.push((column.to_owned(), cells)),
        }
    }
}

/// Decides what files by themselves leave open of how they are read, as
/// [`crate::assemble::merge_files`] does.
pub(crate) fn settle_all(files: &mut [(TableFile, FileSummary)]) {
    let parts = files.iter().map(|(file, summary)| FilePart {
        path: &file.object.path,
        summary,
        partition: &[],
    });
    let parts: Vec<FilePart<'_>> = parts.collect();
    let settled = settle(&parts).into_iter().map(|it| match it {
        Cow::Owned(settled) => Some(settled),
        Cow::Borrowed(_) => None,
    });
    let settled: Vec<Option<FileSummary>> = settled.collect();
    for ((_, summary), settled) in files.iter_mut().zip(settled) {
        if let Some(settled) = settled {
            *summary = settled;
        }
    }
}

impl TableRows {
    /// The rows of these files of a lake, which the index says are one table. Which rows these are
    /// does not depend on `options`: of them [`ReadOptions::room`] bounds what is fetched ahead,
    /// and [`ReadOptions::confined`] reads views.
    pub fn new(
        store: Store,
        mut files: Vec<(TableFile, FileSummary)>,
        options: ReadOptions,
    ) -> Self {
        files.sort_by(|(a, _), (b, _)| a.object.path.cmp(&b.object.path));
        for (file, summary) in &mut files {
            file.format = file.format.found(summary);
        }
        let parts: Vec<(&str, &FileSummary)> = files
            .iter()
            .map(|(file, summary)| (file.object.path.as_str(), summary))
            .collect();
        let paths: Vec<&str> = parts.iter().map(|(path, _)| *path).collect();
        let constants = partitions(&parts, &paths);
        settle_all(&mut files);
        let columns = Columns::of(&files, &constants);
        TableRows(Arc::new(Inner {
            store,
            files,
            columns,
            options,
        }))
    }

    /// The columns with their types, in the order of [`limn_profile::TableSummary::columns`]; every
    /// column may be null. Names are unique: one that repeats has a number behind it.
    pub fn schema(&self) -> SchemaRef {
        self.0.columns.schema.clone()
    }

    /// A column's name and type.
    pub fn field(&self, column: usize) -> Option<&FieldRef> {
        self.0.columns.schema.fields().get(column)
    }

    /// How many files with rows there are.
    pub fn files(&self) -> usize {
        let files = self.0.files.iter();
        files.filter(|(file, _)| !file.format.is_log()).count()
    }

    /// How many bytes its files have.
    pub fn bytes(&self) -> u64 {
        self.0.files.iter().map(|(file, _)| file.object.size).sum()
    }

    /// Reads rows. Must be called on a tokio runtime.
    pub fn scan(&self, request: Request) -> Rows {
        run::start(self.clone(), request)
    }
}
