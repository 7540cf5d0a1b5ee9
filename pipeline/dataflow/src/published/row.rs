//! What a process keeps in memory of a row of the catalog: what it looks at in every run, in few
//! bytes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limn_formats::member::split;
use limn_lake::Ignored;
use limn_lake::layout::describes_beside;
use limn_lake::reach::{is_within, parent};
use limn_segment::{FileRecord, HeldValue, REGISTERED, TableRecord};

use super::catalog_rows::{
    content_of, failures_of, group_of, is_searchable, members_of, passed_over,
};
use super::whole_rows::{Whole, WholeRows};
use crate::changes::{GroupId, MemberId};
use crate::error::PipelineError;
use crate::report::Failure;
use crate::scope::Part;
use crate::share::Share;
use crate::sketches::JoinColumns;

/// What is kept in memory of a row.
#[derive(Debug)]
pub struct Row {
    /// The table's name.
    pub name: Box<str>,
    /// Its group, if it names one.
    pub group: Option<GroupId>,
    /// Whether there is no table; there may be files that are passed over.
    pub removed: bool,
    /// Whether it can be found.
    pub is_searchable: bool,
    /// Whether a column awaits a narration.
    pub awaits_narration: bool,
    /// Whether it is a table of this share, or files of it that are passed over.
    pub(super) is_known: bool,
    /// Whether it is of this share.
    pub(super) is_ours: bool,
    /// Whether it has registered contexts.
    pub(super) is_registered: bool,
    /// Whether any of its files is in a container.
    pub(super) is_contained: bool,
    /// The folder that all of its files are below, if its name does not say so.
    folder: Option<Box<str>>,
    /// Whether they all lie directly in it.
    is_flat: bool,
    /// What stands for its files and contexts.
    pub(super) members: Box<[MemberId]>,
    /// Its files in order.
    pub(super) files: Box<[FileKeys]>,
    /// Its contexts in order.
    pub(super) contexts: Box<[ContextKeys]>,
    /// What few rows have.
    pub(super) more: Option<Box<More>>,
    /// How many columns it has.
    pub(super) columns: usize,
    whole: Mutex<Whole>,
}

/// What a file is found by.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileKeys {
    /// A hash of its very version.
    pub(super) content: u64,
    /// One of its path, if it has a summary; else 0.
    pub(super) path: u64,
}

/// What a context beside the data is found by.
#[derive(Clone, Copy, Debug)]
pub(super) struct ContextKeys {
    /// A hash of its path; 0 of one that is registered.
    pub(super) source: u64,
    /// Whether it has a text.
    pub(super) has_text: bool,
}

/// What few rows have.
#[derive(Debug, Default)]
pub(super) struct More {
    /// What could not be read.
    pub(super) failures: Vec<Failure>,
    /// Files that hold no table.
    pub(super) passed_over: Ignored,
    /// The folder of the table's log.
    pub(super) log: Option<String>,
    /// Objects that programs wrote about tables of other folders.
    pub(super) describing: Vec<String>,
}

/// What rows are taken in with.
#[derive(Clone, Debug, Default)]
pub struct TakenIn {
    pub(super) rows: Arc<WholeRows>,
    pub(super) share: Share,
}

/// A short hash of a path, which is not 0.
pub(super) fn hash_of(path: &str) -> u64 {
    xxhash_rust::xxh3::xxh3_64(path.as_bytes()).max(1)
}

impl HeldValue for Row {
    const COLUMNS: Option<&'static [&'static str]> = None;
    type With = TakenIn;

    fn of_row(row: TableRecord, with: &TakenIn) -> Self {
        let contexts = row.contexts.iter().map(|it| ContextKeys {
            source: match it.source == REGISTERED {
                true => 0,
                false => hash_of(&it.source),
            },
            has_text: !it.text.is_empty(),
        });
        let files = row.files.iter().map(|it| FileKeys {
            content: content_of(it).0 as u64,
            path: it.summary.as_ref().map_or(0, |_| hash_of(&it.path)),
        });
        let is_ours = with.share.has_row(&row);
        let folder = folder_of(&row);
        Self {
            name: row.name.as_str().into(),
            group: group_of(&row),
            removed: row.removed,
            is_searchable: is_searchable(&row),
            awaits_narration: row.awaits_narration,
            is_known: (!row.removed || row.is_passed_over()) && is_ours,
            is_ours,
            is_registered: row.contexts.iter().any(|it| it.source == REGISTERED),
            is_contained: row.files.iter().any(|it| split(&it.path).is_some()),
            folder: (folder != parent(&row.name)).then(|| folder.into()),
            is_flat: !row.files.is_empty() && row.files.iter().all(|it| parent(&it.path) == folder),
            members: members_of(&row).collect(),
            files: files.collect(),
            contexts: contexts.collect(),
            more: More::of(&row).map(Box::new),
            columns: row.columns.len(),
            whole: Mutex::new(with.rows.keep(row, !with.share.is_partial())),
        }
    }
}

impl Row {
    fn stored(&self) -> MutexGuard<'_, Whole> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The whole row, as far as a writer goes on from it.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn whole(&self) -> Result<TableRecord, PipelineError> {
        self.stored().read()
    }

    /// The row without its files.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn head(&self) -> Result<TableRecord, PipelineError> {
        self.stored().head()
    }

    /// One of its files.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn file(&self, file: usize) -> Result<Option<FileRecord>, PipelineError> {
        self.stored().file(file)
    }

    /// The row without its files, and what joins are found by in it.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn joins(&self) -> Result<(TableRecord, JoinColumns), PipelineError> {
        self.stored().joins()
    }

    /// Keeps the whole row among these from now on.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn move_to(&self, rows: &Arc<WholeRows>) -> Result<(), PipelineError> {
        let mut whole = self.stored();
        *whole = whole.copy_to(rows)?;
        Ok(())
    }

    /// Whether all of its files lie in a part of the lake.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn is_within(&self, part: &Part) -> Result<bool, PipelineError> {
        let folder = self.folder.as_deref().unwrap_or(parent(&self.name));
        if part.has_path(folder) {
            return Ok(true);
        }
        // Files below it may lie in several folders of the part.
        if self.is_flat || !part.is_below(folder) {
            return Ok(false);
        }
        Ok(self.whole()?.files.iter().all(|it| part.has_path(&it.path)))
    }
}

impl More {
    fn of(row: &TableRecord) -> Option<Self> {
        let mut files = row.files_now();
        let log = files.find(|file| row.is_log(&file.path));
        let of_table = row.contexts.iter().map(|it| &it.source);
        // Others are files that hold no table.
        let passed_over_files = row.files.iter().filter(|file| file.no_table);
        let paths = of_table.chain(passed_over_files.map(|it| &it.path));
        let more = Self {
            failures: failures_of(row),
            passed_over: passed_over(row),
            log: log.map(|log| parent(&log.path).to_owned()),
            describing: paths.filter(|it| describes_beside(it)).cloned().collect(),
        };
        let is_any = !more.failures.is_empty()
            || more.passed_over.count() > 0
            || more.log.is_some()
            || !more.describing.is_empty();
        is_any.then_some(more)
    }
}

/// The deepest folder that all files of a row are below.
fn folder_of(row: &TableRecord) -> &str {
    let mut folders = row.files.iter().map(|it| parent(&it.path));
    let first = folders.next().unwrap_or_default();
    folders.fold(first, |mut common, folder| {
        while !is_within(folder, common) {
            common = parent(common);
        }
        common
    })
}
