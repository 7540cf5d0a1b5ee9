//! Assembling: when every file of a group has been read, its tables and what they replace.
//!
//! A table whose members are those of its published row is left alone, so one changed file in a
//! directory of a thousand lone tables describes one table. A file that cannot be read takes part
//! with its last good version, so it neither removes rows nor rearranges its neighbours.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use limn_formats::{Held, Room};
use limn_lake::assemble::merge_files;
use limn_lake::evolution::{Shapes, arrange};
use limn_lake::{Contexts, Group, TableName, content};
use limn_profile::{FileSummary, Redact, TableSummary, file_id};
use limn_segment::{FileRecord, TableRecord};
use limn_store::Store;
use serde::{Deserialize, Serialize};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::Operator;

use crate::changes::{Epoch, GroupId, MemberId};
use crate::documents::{catalog_row, first_notes, now_ms};
use crate::held_back::restated;
use crate::job::Job;
use crate::narrate::awaiting::Awaiting;
use crate::parts::{GroupRead, Parts};
use crate::pending::Pending;
use crate::plan::{GroupPlan, forgetful_group, members};
use crate::published::{Published, REGISTERED, group_of, is_forgotten, is_searchable, members_of};
use crate::read::{Part, ReadDone};
use crate::report::Failure;
use crate::resample::{kept_sample, sampled_summaries};
use crate::select::{Work, route};
use crate::sketches::{keep, kept};
use crate::values::DraftValues;
use crate::weight;
use crate::wire::{Wire, WireRow};

/// Where a published table's blocks are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The segment's path in the index.
    pub segment: String,
    /// Its first block.
    pub first_block: u32,
    /// Its number of blocks.
    pub blocks: u32,
}

impl Position {
    /// Where a row says that its table's blocks are.
    pub fn of(record: &TableRecord) -> Option<Self> {
        (record.blocks > 0).then(|| Self {
            segment: record.segment.clone(),
            first_block: record.first_block,
            blocks: record.blocks,
        })
    }
}

/// A table of a changed group, before it is put into words.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableDraft {
    /// The group whose work it came of.
    pub group: GroupId,
    /// The catalog row to write, as far as it is known without words; `removed` makes it a
    /// tombstone. Without one there are only failures to report.
    pub row: Option<WireRow>,
    /// What the files hold; `None` where nothing is to be said of it.
    pub summary: Option<TableSummary>,
    /// Hashes of its values.
    pub values: Wire<DraftValues>,
    /// The blocks it had until now, if they are to go.
    pub replaces: Option<Position>,
    /// Its words until now.
    pub before: Option<Before>,
    /// Whether the index had the table.
    pub known: bool,
    /// What could not be read of it.
    pub failures: Vec<Failure>,
    /// The memory that it takes in this process.
    #[serde(skip)]
    pub held: Held,
}

/// The words of a table's published row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Before {
    /// Its columns' names and narrations.
    pub columns: Vec<(String, Option<String>)>,
    /// Whether it awaited a narration.
    pub awaits_narration: bool,
    /// Whether it was made from the same members: only its words may differ.
    pub is_current: bool,
}

impl Before {
    /// The words of a published row.
    pub fn of(record: &TableRecord, is_current: bool) -> Self {
        let columns = record.columns.iter();
        Self {
            columns: columns
                .map(|column| (column.name.clone(), column.narration.clone()))
                .collect(),
            awaits_narration: record.awaits_narration,
            is_current,
        }
    }
}

impl TableDraft {
    /// The names of the columns that are to be put into words.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        let columns = self.summary.iter().flat_map(|summary| &summary.columns);
        columns.map(|column| column.name.as_str())
    }
}

/// The parts of a group that have to be read.
pub fn parts_of(plan: &GroupPlan) -> impl Iterator<Item = Part> + '_ {
    let files = (0..plan.group.files.len()).map(|index| Part::File(index as u32));
    let sidecars = plan
        .group
        .contexts
        .iter()
        .enumerate()
        .filter_map(|(index, context)| {
            let is_read = context.source.object().is_some();
            is_read.then_some(Part::Context(index as u32))
        });
    files.chain(sidecars)
}

/// Makes tables of groups; shared by the workers of a process.
pub struct Assembler {
    /// The lake.
    pub lake: Store,
    /// What is published.
    pub published: Arc<Published>,
    /// What this run has published and is to describe again.
    pub awaiting: Arc<Awaiting>,
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

/// Joins groups with their reads and emits what becomes of their tables.
pub fn assemble_tables<'scope>(
    work: Stream<'scope, Epoch, Vec<Work>>,
    reads: Stream<'scope, Epoch, Vec<ReadDone>>,
    job: Arc<Job>,
) -> Stream<'scope, Epoch, Vec<TableDraft>> {
    work.binary::<_, CapacityContainerBuilder<Vec<TableDraft>>, _, _, _, _>(
        reads,
        // `select work` has already sent each group to its worker.
        Pipeline,
        Exchange::new(|read: &ReadDone| route(read.group)),
        "assemble tables",
        move |_capability, _info| {
            let mut pending: HashMap<(Epoch, GroupId), (Capability<Epoch>, Pending)> =
                HashMap::new();
            move |work, reads, output| {
                let port = output.output_index();
                let mut touched = Vec::new();
                work.for_each_stamp(|capability, containers| {
                    let Some(capability) = capability.retain_least(port) else {
                        return;
                    };
                    let epoch = *capability.time();
                    for item in containers.flat_map(|container| container.drain(..)) {
                        match item {
                            Work::Remove(group) => {
                                let tables = made(&job, |it| it.remove(group));
                                output.session(&capability).give_iterator(tables);
                            }
                            Work::Restate(group) => {
                                let tables = made(&job, |it| it.restate(group));
                                output.session(&capability).give_iterator(tables);
                            }
                            Work::Narrate { group, published } => {
                                let tables = made(&job, |it| it.narrate(group, &published));
                                output.session(&capability).give_iterator(tables);
                            }
                            Work::Describe(plan) => {
                                let key = (epoch, plan.0.id);
                                let entry = pending
                                    .entry(key)
                                    .or_insert_with(|| (capability.clone(), Pending::default()));
                                entry.1.expect(plan.0);
                                touched.push(key);
                            }
                        }
                    }
                });
                reads.for_each_stamp(|capability, containers| {
                    let Some(capability) = capability.retain_least(port) else {
                        return;
                    };
                    let epoch = *capability.time();
                    for read in containers.flat_map(|container| container.drain(..)) {
                        let key = (epoch, read.group);
                        let entry = pending
                            .entry(key)
                            .or_insert_with(|| (capability.clone(), Pending::default()));
                        entry.1.insert(read.part, read.result.0);
                        touched.push(key);
                    }
                });
                for key in touched {
                    if pending
                        .get(&key)
                        .is_some_and(|(_, group)| group.is_complete())
                        && let Some((capability, group)) = pending.remove(&key)
                        && let Some((plan, parts)) = group.complete()
                    {
                        let tables = made(&job, |it| it.describe(&plan, parts));
                        output.session(&capability).give_iterator(tables);
                    }
                }
            }
        },
    )
}

/// The tables that the assembler makes, counted.
fn made(
    job: &Job,
    make: impl FnOnce(&Assembler) -> Vec<TableDraft>,
) -> impl Iterator<Item = TableDraft> {
    let stages = job.stages_or_end();
    let tables = stages.as_ref().map(|stages| make(&stages.assembler));
    tables.into_iter().flatten().map(move |mut table| {
        let is_gone = table.row.as_ref().is_some_and(|row| row.0.removed);
        if let Some(stages) = stages.as_ref().filter(|_| !is_gone) {
            table.held = stages.assembler.room.hold(weight::of_draft(&table));
        }
        table
    })
}

impl Assembler {
    /// The tables of a group that is gone.
    fn remove(&self, group: GroupId) -> Vec<TableDraft> {
        let tables = self.published.tables(group);
        let mut gone: Vec<TableDraft> = tables
            .iter()
            .map(|record| self.tombstone(group, record))
            .collect();
        let forgetful = self.published.gone_with(&self.forget);
        let forgetful = forgetful
            .iter()
            .find(|record| forgetful_group(record) == group);
        gone.extend(forgetful.map(|record| self.tombstone(group, record)));
        gone
    }

    /// The tables of a group that await a narration, from their published rows alone.
    fn narrate(&self, group: GroupId, published: &[GroupId]) -> Vec<TableDraft> {
        let (mut drafts, redact) = (Vec::new(), self.redact);
        if let Some(awaiting) = self.awaiting.take(group) {
            let unchanged = awaiting.unchanged.iter();
            let unchanged = unchanged.filter_map(|name| self.published.table(name));
            drafts
                .extend(unchanged.filter_map(|row| again(group, TableRecord::clone(&row), redact)));
            let rows = awaiting.rows.into_iter();
            drafts.extend(rows.filter_map(|row| again(group, row, redact)));
        } else {
            let rows = published.iter().flat_map(|id| self.published.tables(*id));
            let rows = rows.filter(|row| row.awaits_narration);
            drafts.extend(rows.filter_map(|row| again(group, TableRecord::clone(&row), redact)));
        }
        drafts
    }

    /// The tables of a group that settings cannot reach.
    fn restate(&self, group: GroupId) -> Vec<TableDraft> {
        let tables = self.published.tables(group);
        let restated = tables.iter().map(|record| {
            restated(group, record, self.redact).unwrap_or_else(|| self.tombstone(group, record))
        });
        restated.collect()
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
        }
    }

    /// The tables of a group whose parts are all there.
    fn describe(&self, plan: &GroupPlan, parts: Parts) -> Vec<TableDraft> {
        let groups = plan.takes_over.iter().chain([&plan.id]);
        let published: Vec<Arc<TableRecord>> = groups
            .flat_map(|group| self.published.tables(*group))
            .collect();
        let mut old: BTreeMap<&str, &TableRecord> = published
            .iter()
            .map(|record| (record.name.as_str(), record.as_ref()))
            .collect();
        let read = GroupRead::of(&plan.group, parts, &self.published, self.redact);
        let mut shapes = Shapes::default();
        for (path, summary) in read.summaries(&plan.group) {
            shapes.add(path, summary);
        }
        let groups = arrange(plan.group.clone(), &shapes);
        let mut changes: Vec<TableDraft> = groups
            .iter()
            .filter_map(|group| self.table(plan, group, &read, old.remove(group.name.as_str())))
            .collect();
        let gone = old.into_values();
        changes.extend(gone.map(|record| self.tombstone(plan.id, record)));
        changes
    }

    /// What becomes of one table; `None` when it is as published.
    fn table(
        &self,
        plan: &GroupPlan,
        group: &Group,
        read: &GroupRead,
        old: Option<&TableRecord>,
    ) -> Option<TableDraft> {
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
        };
        if old.is_some_and(|old| group_of(old) == Some(plan.id) && read.is_torn(group, old)) {
            return Some(draft(None));
        }
        let ids = members(group, self.settings);
        let mut files = read.file_records(group, &ids);
        let contexts = read.context_records(group, &ids, &self.published);
        let paths: Vec<&str> = group
            .files
            .iter()
            .map(|it| it.object.path.as_str())
            .collect();
        // A log alone is a table only if it names no file.
        let known = (!read.has_only_log(group)).then(|| read.summaries(group));
        let mut summary = known.and_then(|known| merge_files(&known, &paths));
        let is_passed_over = read.is_passed_over(group);
        if summary.is_none() && !is_passed_over {
            let (last, of_last) = self.last_good(plan, &group.name, &paths);
            summary = last;
            files.extend(of_last);
        }
        let holder = |file| self.holder(group, &files, file);
        let values = summary
            .as_mut()
            .map(|it| DraftValues::taken(it, self.values, holder));
        let mut values = values.unwrap_or_else(DraftValues::none);
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
        let mut row = catalog_row(&self.lake, group, summary.as_ref(), files, contexts);
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
        row.removed = is_passed_over;
        if read.missing(group).is_none() {
            row.content = content(group, &read.summaries(group)).map(|hash| hash.to_string());
        }
        if !is_passed_over && !read.is_current(group) {
            row.error = failures.first().map(|failure| failure.error.clone());
        }
        let is_current = old.is_some_and(|old| members_of(old).eq(members_of(&row)));
        let awaits = self.narrates && old.is_some_and(|old| old.awaits_narration);
        if is_current && !awaits {
            return (!failures.is_empty()).then(|| draft(None));
        }
        if is_passed_over {
            // The row remembers the files' versions, so that they need not be looked at again.
            let row = (!row.files.is_empty()).then_some(row);
            return Some(TableDraft {
                replaces: old.filter(|_| row.is_some()).and_then(Position::of),
                ..draft(row)
            });
        }
        let Some(summary) = summary else {
            // Nothing is known of its content. The row remembers the error, so that the next run
            // need not read the same bytes again, unless that may help or would hide a good
            // version.
            let remember = !row.files.is_empty() && old.is_none_or(|old| old.blocks == 0);
            return Some(draft(remember.then_some(row)));
        };
        Some(TableDraft {
            summary: Some(summary),
            values: Wire(values),
            replaces: old.and_then(Position::of),
            before: old.map(|old| Before::of(old, is_current)),
            ..draft(Some(row))
        })
    }

    /// Where the hashes of a file's values are published, and what the file is called there.
    fn holder(&self, group: &Group, files: &[FileRecord], id: u64) -> Option<(Position, u64)> {
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
        let path = listed.map_or_else(last, |it| Some(it.object.path.as_str()))?;
        let content = listed.map(|it| it.content_fingerprint());
        let found = self.published.holder(content, path);
        if found.is_none() {
            tracing::warn!(
                table = group.name.as_str(),
                file = path,
                "values of a file that was read before are not found in the index: columns are not found by them until it is read again"
            );
        }
        let (position, path) = found?;
        Some((position, file_id(&path)))
    }

    /// The last good version of a table whose files have other names now, and its files.
    fn last_good(
        &self,
        plan: &GroupPlan,
        name: &TableName,
        paths: &[&str],
    ) -> (Option<TableSummary>, Vec<FileRecord>) {
        let name = name.as_str();
        let is_of_others = plan.names_of_others.iter().any(|it| it == name);
        let last = self.published.table(name).filter(|_| !is_of_others);
        let last = last_good_files(last.as_deref(), self.redact);
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
        (
            merge_files(&parts, paths),
            last.iter().map(record).collect(),
        )
    }
}

/// The files of a table's last good version.
fn last_good_files(table: Option<&TableRecord>, redact: Redact) -> Vec<(&FileRecord, FileSummary)> {
    let files = table.into_iter().flat_map(|table| &table.files);
    files
        .filter_map(|file| {
            let mut summary = kept(file).ok()??;
            summary.redact(redact);
            Some((file, summary))
        })
        .collect()
}

/// A published table as a draft: the same table, which may be described in other words now. A row
/// without a summary of a file has nothing to put into words.
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
        row: Some(WireRow(row)),
    })
}

#[cfg(test)]
mod tests;
