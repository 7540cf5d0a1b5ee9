//! Held back: published tables that a run leaves alone, because a part of them was not listed.
//!
//! Nothing counts as removed that could not be looked for: a folder that cannot be listed, a
//! container that cannot be opened, a file that is too young for `--older-than`. Their tables stay
//! as they are, but for one thing: where a run has other settings than the tables were made with,
//! its settings reach no file of theirs. Such tables are *restated* from their rows. Values that
//! the settings withhold leave the index at once, and the files are known by no version any more,
//! so that they are read anew when they are listed again ([decision
//! 29](../../../docs/decisions/029-held-back.md)).

use std::collections::HashSet;

use limn_formats::Held;
use limn_formats::member::is_remark;
use limn_lake::Group;
use limn_lake::assemble::merge_files;
use limn_profile::{FileSummary, Redact, TableSummary};
use limn_segment::{FileRecord, SinceSample, TableRecord};

use crate::changes::GroupId;
use crate::documents::{fill_row, now_ms};
use crate::draft::{Before, TableDraft};
use crate::error::PipelineError;
use crate::position::Position;
use crate::published::{Published, failures_of, is_searchable};
use crate::sketches::{keep, kept};
use crate::values::DraftValues;
use crate::wire::{Wire, WireRow};

/// Published groups that a run leaves alone, with the paths and names of their tables.
#[derive(Default)]
pub struct HeldBack {
    groups: HashSet<GroupId>,
    paths: HashSet<String>,
    names: HashSet<String>,
}

impl HeldBack {
    /// What must stay as it is because these paths, or what lies below them, could not be listed.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn of(published: &Published, unlisted: &[String]) -> Result<Self, PipelineError> {
        let unlisted: HashSet<&str> = unlisted.iter().map(String::as_str).collect();
        let is_unlisted = |path: &str| {
            let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
            folders.chain(["", path]).any(|it| unlisted.contains(it))
        };
        let mut held = Self::default();
        if unlisted.is_empty() {
            return Ok(held);
        }
        for group in published.groups() {
            let tables = published.tables(group)?;
            let paths = || {
                tables.iter().flat_map(|table| {
                    let files = table.files.iter().map(|file| file.path.as_str());
                    files.chain(table.contexts.iter().map(|context| context.source.as_str()))
                })
            };
            // Remarks on a container are found by listing it.
            if !paths().all(is_remark) && paths().any(is_unlisted) {
                held.groups.insert(group);
                held.paths.extend(paths().map(str::to_owned));
                held.names
                    .extend(tables.iter().map(|table| table.name.clone()));
            }
        }
        Ok(held)
    }

    /// Whether a group of the lake may have to do with what is held back.
    pub fn concerns(&self, group: &Group) -> bool {
        if self.groups.is_empty() {
            return false;
        }
        self.groups.contains(&GroupId::from(group.key))
            || self.names.contains(group.name.as_str())
            || group.files.iter().any(|file| {
                self.paths.contains(&file.object.path)
                    || self.names.contains(file.table_name.as_str())
            })
    }

    /// Whether a published group is held back.
    pub fn has(&self, group: GroupId) -> bool {
        self.groups.contains(&group)
    }

    /// Keeps these groups as well, for the sake of one that they have to do with.
    pub fn keep(&mut self, groups: impl IntoIterator<Item = GroupId>) {
        self.groups.extend(groups);
    }

    /// The groups, in an order that depends on nothing else.
    pub fn into_groups(self) -> Vec<GroupId> {
        let mut groups: Vec<GroupId> = self.groups.into_iter().collect();
        groups.sort_unstable();
        groups
    }
}

/// A published table without the values that are withheld, of files of no version; `None` where
/// limn cannot read any more what it wrote of the files, so that nobody can say what is to be
/// withheld.
pub fn restated(group: GroupId, published: &TableRecord, redact: Redact) -> Option<TableDraft> {
    let mut row = TableRecord {
        indexed_ms: now_ms(),
        // Anyone who guesses the values that are withheld now could find by it that these are they.
        content: None,
        ..published.clone()
    };
    // The texts are made of the files that there are now.
    row.files
        .retain(|file| file.since_sample != Some(SinceSample::Went));
    let mut summaries: Vec<(String, FileSummary)> = Vec::new();
    for file in &mut row.files {
        if let Some(mut summary) = kept(file).ok()? {
            summary.redact(redact);
            keep(file, &summary);
            summaries.push((file.path.clone(), summary));
        }
        *file = without_version(std::mem::take(file));
    }
    let parts: Vec<(&str, &FileSummary)> = summaries
        .iter()
        .map(|(path, summary)| (path.as_str(), summary))
        .collect();
    let paths: Vec<&str> = row.files_now().map(|file| file.path.as_str()).collect();
    let mut summary = merge_files(&parts, &paths).map(TableSummary::without_hashes);
    if let Some(summary) = &mut summary {
        summary.redact(redact);
        fill_row(&mut row, summary);
    } else if published.blocks > 0 {
        return None;
    }
    Some(TableDraft {
        group,
        summary,
        // Among them may be what is withheld now.
        values: Wire(DraftValues::none()),
        replaces: Position::of(published),
        before: Some(Before::of(published, false)),
        known: is_searchable(published),
        failures: failures_of(published),
        published_in: None,
        held: Held::default(),
        row: Some(WireRow(row)),
    })
}

/// The same of a file that is known by no version: the next run that lists it reads it.
fn without_version(file: FileRecord) -> FileRecord {
    FileRecord {
        path: file.path,
        rows: file.rows,
        summary: file.summary,
        sketches: file.sketches,
        error: file.error,
        no_table: file.no_table,
        beside: file.beside,
        alone: file.alone,
        declared: file.declared,
        ..FileRecord::default()
    }
}
