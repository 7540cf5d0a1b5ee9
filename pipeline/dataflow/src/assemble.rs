//! Assembling: when every file of a group has been read, its tables, their texts, and what they
//! replace.
//!
//! A table whose members are those of its published row is left alone, so one changed file in a
//! directory of a thousand lone tables describes one table. A table none of whose files can be read
//! any more keeps its last good version.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use limn_lake::{
    AssembledTable, ContextText, FileError, FileSummary, Fingerprint, TableName, assemble,
};
use limn_segment::{ContextRecord, FileRecord, TableRecord};
use limn_store::Store;
use limn_summary::{TextBlock, TokenCounter};
use serde::{Deserialize, Serialize};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::Operator;

use crate::changes::{Epoch, GroupId};
use crate::documents::{catalog_row, describe};
use crate::options::Narrate;
use crate::plan::GroupPlan;
use crate::progress::Progress;
use crate::published::{Published, REGISTERED, members_of};
use crate::read::{Part, ReadDone, ReadResult};
use crate::report::Failure;
use crate::select::{Work, route};
use crate::wire::Wire;

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
    fn of(record: &TableRecord) -> Option<Self> {
        (record.blocks > 0).then(|| Self {
            segment: record.segment.clone(),
            first_block: record.first_block,
            blocks: record.blocks,
        })
    }
}

/// What becomes of one table in an epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TableChange {
    /// The catalog row to write; `removed` makes it a tombstone.
    pub row: Option<Wire<TableRecord>>,
    /// The texts of the table.
    pub blocks: Wire<Vec<TextBlock>>,
    /// The blocks it had until now.
    pub replaces: Option<Position>,
    /// Whether the index had the table.
    pub known: bool,
    /// What could not be read of it.
    pub failures: Vec<Failure>,
}

impl TableChange {
    /// The table's name, for routing and messages.
    pub fn name(&self) -> &str {
        match (&self.row, self.failures.first()) {
            (Some(row), _) => &row.0.name,
            (None, Some(failure)) => &failure.table,
            (None, None) => "",
        }
    }
}

/// A group whose parts are coming in.
#[derive(Default)]
struct Pending {
    plan: Option<GroupPlan>,
    parts: BTreeMap<Part, Result<ReadResult, FileError>>,
}

impl Pending {
    fn is_complete(&self) -> bool {
        self.plan
            .as_ref()
            .is_some_and(|plan| self.parts.len() == parts_of(plan).count())
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
            matches!(context.source, ContextText::Sidecar { .. })
                .then_some(Part::Context(index as u32))
        });
    files.chain(sidecars)
}

/// Makes tables of groups; shared by the workers of a process.
pub struct Assembler {
    /// The lake.
    pub lake: Store,
    /// What is published.
    pub published: Arc<Published>,
    /// The embedder's window.
    pub counter: Arc<dyn TokenCounter + Send + Sync>,
    /// Narration mode.
    pub narrate: Narrate,
    /// Whether settings changed, so that every table is described anew.
    pub anew: bool,
    /// Counters for people.
    pub progress: Arc<Progress>,
}

/// Joins groups with their reads and emits what becomes of their tables.
pub fn assemble_tables<'scope>(
    work: Stream<'scope, Epoch, Vec<Work>>,
    reads: Stream<'scope, Epoch, Vec<ReadDone>>,
    assembler: Arc<Assembler>,
) -> Stream<'scope, Epoch, Vec<TableChange>> {
    work.binary::<_, CapacityContainerBuilder<Vec<TableChange>>, _, _, _, _>(
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
                            Work::Remove(group) => output
                                .session(&capability)
                                .give_iterator(assembler.remove(group).into_iter()),
                            Work::Describe(plan) => {
                                let key = (epoch, plan.0.id);
                                let entry = pending
                                    .entry(key)
                                    .or_insert_with(|| (capability.clone(), Pending::default()));
                                entry.1.plan = Some(plan.0);
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
                        entry.1.parts.insert(read.part, read.result.0);
                        touched.push(key);
                    }
                });
                for key in touched {
                    if pending
                        .get(&key)
                        .is_some_and(|(_, group)| group.is_complete())
                        && let Some((
                            capability,
                            Pending {
                                plan: Some(plan),
                                parts,
                            },
                        )) = pending.remove(&key)
                    {
                        output
                            .session(&capability)
                            .give_iterator(assembler.describe(&plan, parts).into_iter());
                    }
                }
            }
        },
    )
}

impl Assembler {
    /// The tables of a group that is gone.
    fn remove(&self, group: GroupId) -> Vec<TableChange> {
        self.published
            .tables(group)
            .iter()
            .map(|record| self.tombstone(record))
            .collect()
    }

    fn tombstone(&self, record: &TableRecord) -> TableChange {
        let row = TableRecord {
            lake: record.lake.clone(),
            name: record.name.clone(),
            group: record.group.clone(),
            removed: true,
            contexts: record
                .contexts
                .iter()
                .filter(|context| context.source == REGISTERED)
                .cloned()
                .collect(),
            indexed_ms: now_ms(),
            ..TableRecord::default()
        };
        TableChange {
            row: Some(Wire(row)),
            blocks: Wire(Vec::new()),
            replaces: Position::of(record),
            known: record.error.is_none(),
            failures: Vec::new(),
        }
    }

    /// The tables of a group whose parts are all there.
    fn describe(
        &self,
        plan: &GroupPlan,
        mut parts: BTreeMap<Part, Result<ReadResult, FileError>>,
    ) -> Vec<TableChange> {
        let group = &plan.group;
        let members = group.fingerprints();
        let mut failures = Vec::new();
        let contexts = read_contexts(plan, &members, &mut parts, &mut failures);
        let summaries: Vec<Result<FileSummary, FileError>> = parts
            .into_values()
            .filter_map(|part| match part {
                Ok(ReadResult::Summary(summary)) => Some(Ok(summary)),
                Ok(ReadResult::Text(_)) => None,
                Err(error) => Some(Err(error)),
            })
            .collect();

        let mut gone: BTreeMap<&str, &TableRecord> = self
            .published
            .tables(plan.id)
            .iter()
            .map(|record| (record.name.as_str(), record))
            .collect();
        let mut changes: Vec<TableChange> = failures
            .into_iter()
            .map(|failure| TableChange {
                row: None,
                blocks: Wire(Vec::new()),
                replaces: None,
                known: true,
                failures: vec![failure],
            })
            .collect();
        for table in assemble(group, &summaries) {
            let old = gone.remove(table.name.as_str());
            let whole = table.name == group.name;
            let contexts = contexts
                .iter()
                .filter(|(about, _)| whole || *about == table.name);
            let contexts = contexts.map(|(_, context)| context.clone()).collect();
            let files = file_records(plan, &members, &table, &summaries);
            changes.extend(self.table(plan, &table, files, contexts, old));
        }
        changes.extend(gone.into_values().map(|record| self.tombstone(record)));
        changes
    }

    /// What becomes of one table; `None` when it is as published.
    fn table(
        &self,
        plan: &GroupPlan,
        table: &AssembledTable,
        files: Vec<FileRecord>,
        contexts: Vec<ContextRecord>,
        old: Option<&TableRecord>,
    ) -> Option<TableChange> {
        let failures: Vec<Failure> = table
            .failed
            .iter()
            .map(|(index, error)| Failure {
                table: table.name.to_string(),
                object: plan.group.files[*index].object.path.clone(),
                error: error.to_string(),
            })
            .collect();
        let row = catalog_row(
            &self.lake,
            table,
            files,
            contexts,
            &format!("{:032x}", plan.id),
            now_ms(),
        );
        let Some(summary) = &table.summary else {
            return Some(self.unreadable(row, failures, old));
        };
        if let Some(old) = old
            && !self.anew
            && members_of(old).eq(members_of(&row))
        {
            return None;
        }
        let blocks = describe(
            table,
            summary,
            &row.contexts,
            self.counter.as_ref(),
            self.narrate,
        );
        Progress::add(&self.progress.tables_described, 1);
        Some(TableChange {
            row: Some(Wire(row)),
            blocks: Wire(blocks),
            replaces: old.and_then(Position::of),
            known: old.is_some(),
            failures,
        })
    }

    /// A table of which nothing can be read. It keeps its last good version if it had one; else its
    /// row remembers the error, so that the next run need not read the same bytes again.
    fn unreadable(
        &self,
        mut row: TableRecord,
        failures: Vec<Failure>,
        old: Option<&TableRecord>,
    ) -> TableChange {
        let had_blocks = old.is_some_and(|old| old.blocks > 0);
        let settled = !row.files.is_empty() && !had_blocks;
        row.error = failures.first().map(|failure| failure.error.clone());
        TableChange {
            row: settled.then_some(Wire(row)),
            blocks: Wire(Vec::new()),
            replaces: None,
            known: had_blocks,
            failures,
        }
    }
}

/// The contexts of a group with the tables they name; sidecars that cannot be read become failures.
fn read_contexts(
    plan: &GroupPlan,
    members: &[Fingerprint],
    parts: &mut BTreeMap<Part, Result<ReadResult, FileError>>,
    failures: &mut Vec<Failure>,
) -> Vec<(TableName, ContextRecord)> {
    let mut contexts = Vec::new();
    let members = members.iter().skip(plan.group.files.len());
    for ((index, context), member) in plan.group.contexts.iter().enumerate().zip(members) {
        let (source, text) = match &context.source {
            ContextText::Registered { text } => (REGISTERED.to_owned(), text.clone()),
            ContextText::Sidecar { object } => match parts.remove(&Part::Context(index as u32)) {
                Some(Ok(ReadResult::Text(text))) => (object.path.clone(), text),
                Some(Err(error)) => {
                    failures.push(Failure {
                        table: context.table.to_string(),
                        object: object.path.clone(),
                        error: error.to_string(),
                    });
                    continue;
                }
                Some(Ok(ReadResult::Summary(_))) | None => continue,
            },
        };
        contexts.push((
            context.table.clone(),
            ContextRecord {
                source,
                text,
                fingerprint: member.to_string(),
            },
        ));
    }
    contexts
}

/// The catalog's file entries of a table. A file whose failure may pass is left out, so that the
/// next run tries it again.
fn file_records(
    plan: &GroupPlan,
    members: &[Fingerprint],
    table: &AssembledTable,
    summaries: &[Result<FileSummary, FileError>],
) -> Vec<FileRecord> {
    let mut indexes: Vec<usize> = table
        .files
        .iter()
        .copied()
        .chain(table.failed.iter().map(|(index, _)| *index))
        .collect();
    indexes.sort_unstable();
    indexes.dedup();
    indexes
        .into_iter()
        .filter_map(|index| {
            let file = plan.group.files.get(index)?;
            let (rows, summary, error) = match summaries.get(index)? {
                Ok(summary) => (Some(summary.rows), summary.to_json().ok(), None),
                Err(error) if error.is_retryable() => return None,
                Err(error) => (None, None, Some(error.to_string())),
            };
            Some(FileRecord {
                path: file.object.path.clone(),
                etag: file.object.etag.clone(),
                version: file.object.version.clone(),
                size: file.object.size,
                modified_ms: file.object.modified_ms,
                fingerprint: members.get(index)?.to_string(),
                rows,
                summary,
                error,
            })
        })
        .collect()
}

fn now_ms() -> i64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        })
}
