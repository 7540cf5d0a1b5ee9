//! The assembler: makes the tables of a group, and says what they replace.
//!
//! A table whose members are those of its published row is left alone, so one changed file in a
//! directory of a thousand lone tables describes one table. A file that cannot be read takes part
//! with its last good version, so it neither removes rows nor rearranges its neighbours.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use limn_formats::{Held, Room};
use limn_lake::assemble::merge_files;
use limn_lake::evolution::{Shapes, arrange};
use limn_lake::{Contexts, Group, TableName, content};
use limn_profile::{FileSummary, Redact, TableSummary, file_id};
use limn_segment::{ContextRecord, FileRecord, TableRecord};
use limn_store::Store;

use crate::changes::{GroupId, MemberId};
use crate::documents::{catalog_row, first_notes, now_ms};
use crate::draft::{Before, TableDraft};
use crate::error::PipelineError;
use crate::held_back::restated;
use crate::narrate::awaiting::AwaitingTable;
use crate::parts::{GroupRead, Parts};
use crate::pending::Pending;
use crate::plan::{GroupPlan, members, tombstone_group};
use crate::position::Position;
use crate::published::{Published, REGISTERED, group_of, is_forgotten, is_searchable, members_of};
use crate::report::Failure;
use crate::resample::{kept_sample, sampled_summaries};
use crate::select::Work;
use crate::sketches::{keep, kept};
use crate::values::DraftValues;
use crate::weight;
use crate::wire::{Wire, WireRow};

/// Makes tables of groups; shared by the workers of a process.
pub struct Assembler {
    /// The lake.
    pub lake: Store,
    /// What is published.
    pub published: Arc<Published>,
    /// Fingerprint of the settings that texts are made with.
    pub settings: MemberId,
    /// Whether the run has a language model.
    pub narrates: bool,
    /// Share of rows that have to change before a table's rows are drawn anew; 0 where the
    /// published tables were made with other settings.
    pub resample_threshold: f64,
    /// Registered contexts that the run takes away.
    pub forget: Contexts,
    /// Whose values are kept out of the index.
    pub redact: Redact,
    /// Hashes of values of a file, at most; 0: values are not looked up.
    pub values: u32,
    /// Where tables are counted from here on.
    pub room: Room,
}

impl Assembler {
    /// What becomes of the tables of a group for which nothing is read.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn at_once(&self, work: Work) -> Result<Vec<TableDraft>, PipelineError> {
        let tables = match work {
            // Its files are read first.
            Work::Describe(_) => Vec::new(),
            Work::Remove(group) => self.remove(group)?,
            Work::Restate(group) => self.restate(group)?,
            Work::Narrate { group, published } => self.narrate(group, &published)?,
            Work::Answered(table) => self.answered(*table)?.into_iter().collect(),
        };
        Ok(self.counted(tables))
    }

    /// The tables of a group whose parts are all there.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn of_parts(&self, group: Pending) -> Result<Vec<TableDraft>, PipelineError> {
        let complete = group.complete();
        let tables = complete.map(|(plan, parts)| self.describe(&plan, parts));
        Ok(self.counted(tables.transpose()?.unwrap_or_default()))
    }

    /// Tables, counted.
    fn counted(&self, mut tables: Vec<TableDraft>) -> Vec<TableDraft> {
        for table in &mut tables {
            let is_removed = table.row.as_ref().is_some_and(|row| row.0.removed);
            if !is_removed {
                table.held = self.room.hold(weight::of_draft(table));
            }
        }
        tables
    }

    /// The tombstones of a group that was removed.
    fn remove(&self, group: GroupId) -> Result<Vec<TableDraft>, PipelineError> {
        let tables = self.published.tables(group)?;
        let mut removed: Vec<TableDraft> = tables
            .iter()
            .map(|record| self.tombstone(group, record))
            .collect();
        let rewritten = self.published.tombstones_with(&self.forget)?;
        let rewritten = rewritten
            .iter()
            .find(|record| tombstone_group(record) == group);
        removed.extend(rewritten.map(|record| self.tombstone(group, record)));
        Ok(removed)
    }

    /// The tables of these groups that await a narration, from their published rows alone.
    fn narrate(
        &self,
        group: GroupId,
        published: &[GroupId],
    ) -> Result<Vec<TableDraft>, PipelineError> {
        let mut tables = Vec::new();
        for row in published.iter().flat_map(|id| self.published.rows(*id)) {
            if row.awaits_narration
                && let Some(row) = self.published.table(&row.name)?
            {
                tables.extend(again(group, row, self.redact));
            }
        }
        Ok(tables)
    }

    /// A table whose narrations have come, likewise.
    fn answered(&self, table: AwaitingTable) -> Result<Option<TableDraft>, PipelineError> {
        let row = match table.row {
            Some(WireRow(row)) => row,
            None => match self.published.table(&table.name)? {
                Some(row) => row,
                None => return Ok(None),
            },
        };
        let again = again(table.group, row, self.redact);
        Ok(again.map(|draft| TableDraft {
            published_in: table.segment,
            ..draft
        }))
    }

    /// The tables of a group that settings cannot reach.
    fn restate(&self, group: GroupId) -> Result<Vec<TableDraft>, PipelineError> {
        let tables = self.published.tables(group)?;
        let restated = tables.iter().map(|record| {
            restated(group, record, self.redact).unwrap_or_else(|| self.tombstone(group, record))
        });
        Ok(restated.collect())
    }

    fn tombstone(&self, group: GroupId, record: &TableRecord) -> TableDraft {
        let row = TableRecord {
            lake: record.lake.clone(),
            name: record.name.clone(),
            group: record.group.clone(),
            removed: true,
            contexts: record
                .contexts
                .iter()
                .filter(|context| {
                    context.source == REGISTERED && !is_forgotten(record, context, &self.forget)
                })
                .cloned()
                .collect(),
            indexed_ms: now_ms(),
            ..TableRecord::default()
        };
        TableDraft {
            group,
            row: Some(WireRow(row)),
            summary: None,
            values: Wire(DraftValues::none()),
            replaces: Position::of(record),
            before: None,
            known: is_searchable(record),
            failures: Vec::new(),
            held: Held::default(),
            published_in: None,
        }
    }

    /// The tables of a group with these parts.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub fn describe(
        &self,
        plan: &GroupPlan,
        parts: Parts,
    ) -> Result<Vec<TableDraft>, PipelineError> {
        let mut published: Vec<TableRecord> = Vec::new();
        for group in plan.takes_over.iter().chain([&plan.id]) {
            published.extend(self.published.tables(*group)?);
        }
        let mut old: BTreeMap<&str, &TableRecord> = published
            .iter()
            .map(|record| (record.name.as_str(), record))
            .collect();
        let read = GroupRead::of(&plan.group, parts, &self.published, self.redact)?;
        let mut shapes = Shapes::default();
        for (path, summary) in read.summaries(&plan.group) {
            shapes.add(path, summary);
        }
        let groups = arrange(plan.group.clone(), &shapes);
        let mut changes: Vec<TableDraft> = Vec::new();
        for group in &groups {
            let old = old.remove(group.name.as_str());
            changes.extend(self.table(plan, group, &read, old)?);
        }
        let removed = old.into_values();
        changes.extend(removed.map(|record| self.tombstone(plan.id, record)));
        Ok(changes)
    }

    /// What becomes of one table; `None` when it is as published.
    fn table(
        &self,
        plan: &GroupPlan,
        group: &Group,
        read: &GroupRead,
        old: Option<&TableRecord>,
    ) -> Result<Option<TableDraft>, PipelineError> {
        let failures = read.failures(group);
        let draft = |row: Option<TableRecord>| TableDraft {
            group: plan.id,
            row: row.map(WireRow),
            summary: None,
            values: Wire(DraftValues::none()),
            replaces: None,
            before: None,
            known: old.is_some_and(is_searchable),
            failures: failures.clone(),
            held: Held::default(),
            published_in: None,
        };
        if old.is_some_and(|old| group_of(old) == Some(plan.id) && read.is_torn(group, old)) {
            return Ok(Some(draft(None)));
        }
        let ids = members(group, self.settings);
        let mut files = read.file_records(group, &ids);
        let contexts = read.context_records(group, &ids, &self.published)?;
        let mut summary = self.summary(plan, group, read, &mut files)?;
        let holder = |file| self.holder(group, &files, file);
        let values = summary
            .as_mut()
            .map(|it| DraftValues::taken(it, self.values, holder));
        let mut values = values.transpose()?.unwrap_or_else(DraftValues::none);
        let mut now = None;
        if let (Some(old), Some(whole), true) = (old, &summary, failures.is_empty())
            && let Some(kept) = kept_sample(old, &mut files, whole, self.resample_threshold)
        {
            now = summary.replace(kept);
        }
        for summary in [&mut summary, &mut now].into_iter().flatten() {
            summary.redact(self.redact);
        }
        if let Some(whole) = now.as_ref().or(summary.as_ref()) {
            values.withhold(whole);
        }
        let summaries = (summary.as_ref(), now);
        let row = self.row(group, read, summaries, files, contexts, &failures);
        let is_current = old.is_some_and(|old| members_of(old).eq(members_of(&row)));
        let awaits = self.narrates && old.is_some_and(|old| old.awaits_narration);
        if is_current && !awaits {
            return Ok((!failures.is_empty()).then(|| draft(None)));
        }
        if row.removed {
            // The row remembers the files' versions, so that they need not be looked at again.
            let row = (!row.files.is_empty()).then_some(row);
            return Ok(Some(TableDraft {
                replaces: old.filter(|_| row.is_some()).and_then(Position::of),
                ..draft(row)
            }));
        }
        let Some(summary) = summary else {
            // Nothing is known of its content. The row remembers the error, so that the next run
            // need not read the same bytes again, unless that may help or would hide a good
            // version.
            let remember = !row.files.is_empty() && old.is_none_or(|old| old.blocks == 0);
            return Ok(Some(draft(remember.then_some(row))));
        };
        Ok(Some(TableDraft {
            summary: Some(summary),
            values: Wire(values),
            replaces: old.and_then(Position::of),
            before: old.map(|old| Before::of(old, is_current)),
            ..draft(Some(row))
        }))
    }

    /// What is known of a table. Where nothing of it can be read, it is the last good version,
    /// whose files come to its `files`.
    fn summary(
        &self,
        plan: &GroupPlan,
        group: &Group,
        read: &GroupRead,
        files: &mut Vec<FileRecord>,
    ) -> Result<Option<TableSummary>, PipelineError> {
        let paths: Vec<&str> = group
            .files
            .iter()
            .map(|it| it.object.path.as_str())
            .collect();
        // A log alone is a table only if it names no file.
        let known = (!read.has_only_log(group)).then(|| read.summaries(group));
        let summary = known.and_then(|known| merge_files(&known, &paths));
        if summary.is_some() || read.is_passed_over(group) {
            return Ok(summary);
        }
        let (last, of_last) = self.last_good(plan, &group.name, &paths)?;
        files.extend(of_last);
        Ok(last)
    }

    /// The row of a table, by the summary that it is described by, and by that of its files where
    /// its sample is the one of before.
    fn row(
        &self,
        group: &Group,
        read: &GroupRead,
        (summary, now): (Option<&TableSummary>, Option<TableSummary>),
        files: Vec<FileRecord>,
        contexts: Vec<ContextRecord>,
        failures: &[Failure],
    ) -> TableRecord {
        let mut row = catalog_row(&self.lake, group, summary, files, contexts);
        if let Some(format) = read.shown_format(group) {
            row.format = format;
        }
        if let Some(now) = now {
            (row.rows, row.rows_exact) = (Some(now.rows), now.rows_exact);
            row.notes = first_notes(&now.notes);
        }
        if let Some(note) = read.missing(group).filter(|_| row.rows.is_some()) {
            row.notes.insert(0, note);
        }
        row.removed = read.is_passed_over(group);
        if read.missing(group).is_none() {
            row.content = content(group, &read.summaries(group)).map(|hash| hash.to_string());
        }
        if !row.removed && !read.is_current(group) {
            row.error = failures.first().map(|failure| failure.error.clone());
        }
        row
    }

    /// Where the hashes of a file's values are published, and what the file is called there.
    fn holder(
        &self,
        group: &Group,
        files: &[FileRecord],
        id: u64,
    ) -> Result<Option<(Position, u64)>, PipelineError> {
        let mut listed = group.files.iter();
        let listed = listed.find(|it| file_id(&it.object.path) == id);
        // Others are of a table whose files have other names now.
        let last = || {
            Some(
                files
                    .iter()
                    .find(|it| file_id(&it.path) == id)?
                    .path
                    .as_str(),
            )
        };
        let Some(path) = listed.map_or_else(last, |it| Some(it.object.path.as_str())) else {
            return Ok(None);
        };
        let content = listed.map(|it| it.content_fingerprint());
        let found = self.published.holder(content, path)?;
        if found.is_none() {
            tracing::warn!(
                table = group.name.as_str(),
                file = path,
                "values of a file that was read before are not found in the index: columns are not found by them until it is read again"
            );
        }
        Ok(found.map(|(position, path)| (position, file_id(&path))))
    }

    /// The last good version of a table whose files have other names now, and its files.
    fn last_good(
        &self,
        plan: &GroupPlan,
        name: &TableName,
        paths: &[&str],
    ) -> Result<(Option<TableSummary>, Vec<FileRecord>), PipelineError> {
        let name = name.as_str();
        let is_of_others = plan.names_of_others.iter().any(|it| it == name);
        let last = self.published.table(name)?.filter(|_| !is_of_others);
        let last = last_good_files(last.as_ref(), self.redact);
        let parts: Vec<(&str, &FileSummary)> = last
            .iter()
            .map(|(record, summary)| (record.path.as_str(), summary))
            .collect();
        let record = |(record, summary): &(&FileRecord, FileSummary)| {
            let mut file = FileRecord {
                path: record.path.clone(),
                rows: record.rows,
                ..FileRecord::default()
            };
            keep(&mut file, summary);
            file
        };
        let files = last.iter().map(record).collect();
        // Dates and partitions come from the paths of all files that describe it, removed ones too.
        let places: BTreeSet<&str> = paths
            .iter()
            .copied()
            .chain(parts.iter().map(|it| it.0))
            .collect();
        let places: Vec<&str> = places.into_iter().collect();
        Ok((merge_files(&parts, &places), files))
    }
}

/// The files of a table's last good version.
fn last_good_files(table: Option<&TableRecord>, redact: Redact) -> Vec<(&FileRecord, FileSummary)> {
    let files = table.into_iter().flat_map(TableRecord::files_now);
    files
        .filter_map(|file| {
            let mut summary = kept(file).ok()??.with_published_hashes();
            summary.redact(redact);
            Some((file, summary))
        })
        .collect()
}

/// A published table as a draft: the same table, which may be described differently now. A row
/// without a summary of a file has nothing to describe.
fn again(group: GroupId, row: TableRecord, redact: Redact) -> Option<TableDraft> {
    let summaries = sampled_summaries(&row);
    let parts: Vec<(&str, &FileSummary)> = summaries
        .iter()
        .map(|(path, summary)| (*path, summary))
        .collect();
    let paths: Vec<&str> = row.files_now().map(|file| file.path.as_str()).collect();
    let mut summary = merge_files(&parts, &paths)?.without_hashes();
    summary.redact(redact);
    Some(TableDraft {
        group,
        summary: Some(summary),
        values: Wire(DraftValues::as_published(Position::of(&row))),
        replaces: Position::of(&row),
        before: Some(Before::of(&row, true)),
        known: is_searchable(&row),
        failures: Vec::new(),
        held: Held::default(),
        published_in: None,
        row: Some(WireRow(row)),
    })
}

#[cfg(test)]
mod tests;
