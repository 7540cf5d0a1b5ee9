//! Segments: when an epoch is complete, each shard's tables become one bundle and one catalog file;
//! of an epoch of more tables than memory should hold, several.
//!
//! Both are uploaded under the hash of their content before the snapshot names them; a run that
//! dies here leaves only objects that nobody names.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use limn_formats::{Held, Room};
use limn_lake::Ignored;
use limn_segment::{
    Block, CatalogEntry, IndexStore, SegmentEntry, SegmentSettings, Shard, TableBlocks,
    TableContent, TableKey, TableRecord, TextHash, build_segment,
};
use serde::{Deserialize, Serialize};
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Exchange;

use crate::changes::Epoch;
use crate::embed::EmbeddedTable;
use crate::epoch_end::{at_epoch_end, came_with};
use crate::error::PipelineError;
use crate::kept::KeptVectors;
use crate::narrate::awaiting::AwaitingTable;
use crate::position::Position;
use crate::progress::{Phase, Progress};
use crate::published::{failures_of, passed_over};
use crate::report::Failure;
use crate::weight;
use crate::wire::{Wire, WireRow};

/// Tables of one shard in one epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShardBatch {
    shard: u32,
    tables: Vec<EmbeddedTable>,
}

/// What one shard adds to the next snapshot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShardResult {
    /// The epoch it belongs to.
    pub epoch: Epoch,
    /// The new segment, if any table has blocks.
    pub segment: Option<Wire<SegmentEntry>>,
    /// The new catalog file, if any row was written.
    pub catalog: Option<Wire<CatalogEntry>>,
    /// Tables whose catalog rows were written.
    pub written: Vec<String>,
    /// Hashes of the segment's texts.
    pub texts: Vec<TextHash>,
    /// Blocks that are no longer live, and whose they are.
    pub replaced: Vec<(String, Position)>,
    /// Tables by what happened to them: (name, what).
    pub outcomes: Vec<(String, Outcome)>,
    /// What could not be read.
    pub failures: Vec<Failure>,
    /// Those of them that stand in no row that was written.
    pub unwritten: Vec<Failure>,
    /// How many tables await a narration.
    pub awaiting: usize,
    /// Sensitive columns whose values the index holds: (table, what they hold).
    pub exposed: Vec<(String, Vec<String>)>,
    /// Files of tables that hold none, or of no table.
    pub passed_over: Vec<(String, Ignored)>,
}

/// What comes of a shard's batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Written {
    /// What it adds to the next snapshot.
    Shard(Box<ShardResult>),
    /// A table of it that awaits a narration.
    Awaits(Box<AwaitingTable>),
}

/// What happened to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// New in the index.
    Added,
    /// Described anew.
    Changed,
    /// Removed.
    Removed,
    /// Not indexed, or kept at its last good version.
    Failed,
    /// Removed, and never readable.
    Forgotten,
}

/// The tables of an epoch that wait to be written, by shard.
#[derive(Default)]
struct ShardBuffers {
    shards: BTreeMap<u32, Waiting>,
    held: u64,
}

#[derive(Default)]
struct Waiting {
    tables: Vec<EmbeddedTable>,
    held: u64,
}

impl ShardBuffers {
    fn add(&mut self, shard: u32, mut table: EmbeddedTable, room: &Room) {
        let row = table.row.as_ref();
        // A row that says that there is no table stays until the end of the epoch: what it held
        // would be held for good.
        table.held = match row.is_some_and(|row| row.0.removed) {
            true => Held::default(),
            false => {
                let row = row.map_or(0, |row| weight::of_row(&row.0));
                room.hold(
                    row + weight::of_blocks(&table.blocks.0) + weight::of_values(&table.values.0),
                )
            }
        };
        let waiting = self.shards.entry(shard).or_default();
        waiting.held += table.held.bytes();
        self.held += table.held.bytes();
        waiting.tables.push(table);
    }

    /// Where more than `most` bytes wait, the tables of the shard that has most. Rows that say that
    /// there is no table wait for the end of the epoch: among rows of one name their order counts.
    fn overflow(&mut self, most: u64) -> Option<ShardBatch> {
        if self.held <= most {
            return None;
        }
        let (shard, waiting) = self.shards.iter_mut().max_by_key(|(_, it)| it.held)?;
        let is_table = |it: &mut EmbeddedTable| it.row.as_ref().is_none_or(|row| !row.0.removed);
        let tables: Vec<EmbeddedTable> = waiting.tables.extract_if(.., is_table).collect();
        let leaving: u64 = tables.iter().map(|table| table.held.bytes()).sum();
        waiting.held -= leaving;
        self.held -= leaving;
        (!tables.is_empty()).then_some(ShardBatch {
            shard: *shard,
            tables,
        })
    }

    fn end(self) -> impl Iterator<Item = ShardBatch> {
        let shards = self.shards.into_iter();
        let shards = shards.filter(|(_, waiting)| !waiting.tables.is_empty());
        shards.map(|(shard, waiting)| ShardBatch {
            shard,
            tables: waiting.tables,
        })
    }
}

/// What tables may take that wait for the end of their epoch.
pub struct BufferLimits {
    /// Where tables are counted, from their assembly to their segment.
    pub room: Room,
    /// Bytes of tables that may wait on one worker.
    pub most_buffered: u64,
}

/// Which worker writes a shard. Shards are spread over the processes before the workers of one:
/// two shards of two processes with two workers each are written by both processes.
#[derive(Clone, Copy, Debug)]
pub struct ShardWorkers {
    processes: u64,
    workers_each: u64,
}

impl ShardWorkers {
    /// Those of so many workers, of which each process has so many.
    pub fn of(workers: usize, workers_each: usize) -> Self {
        let workers_each = workers_each.max(1);
        Self {
            processes: (workers / workers_each).max(1) as u64,
            workers_each: workers_each as u64,
        }
    }

    /// The number of the worker that writes a shard, among all.
    fn worker(self, shard: Shard) -> u64 {
        let shard = u64::from(shard.0);
        let (process, turn) = (shard % self.processes, shard / self.processes);
        process * self.workers_each + turn % self.workers_each
    }
}

/// Collects an epoch's tables by shard and lets go of them when the epoch is complete; of so many
/// that they take too much memory until then, in parts.
pub fn batch_by_shard<'scope>(
    tables: Stream<'scope, Epoch, Vec<EmbeddedTable>>,
    lake: String,
    (shards, workers): (u32, ShardWorkers),
    limits: BufferLimits,
) -> Stream<'scope, Epoch, Vec<(Epoch, ShardBatch)>> {
    let shard_of = move |table: &EmbeddedTable| {
        let name = match (&table.row, &table.awaits, table.failures.first()) {
            (Some(row), ..) => row.0.name.clone(),
            (None, Some(awaits), _) => awaits.name.clone(),
            (None, None, Some(failure)) => failure.table.clone(),
            (None, None, None) => String::new(),
        };
        TableKey {
            lake: lake.clone(),
            name,
        }
        .shard(shards)
    };
    let route = shard_of.clone();
    at_epoch_end(
        tables,
        Exchange::new(move |table: &EmbeddedTable| workers.worker(route(table))),
        "batch by shard",
        came_with,
        move |epoch, waiting: &mut ShardBuffers, table| {
            waiting.add(shard_of(&table).0, table, &limits.room);
            let full = || waiting.overflow(limits.most_buffered);
            std::iter::from_fn(full)
                .map(|batch| (epoch, batch))
                .collect::<Vec<_>>()
        },
        |epoch, waiting| waiting.end().map(move |batch| (epoch, batch)),
    )
}

/// Builds and uploads bundles; shared by the workers of a process.
pub struct SegmentWriter {
    index: IndexStore,
    dimensions: usize,
    kept: Arc<KeptVectors>,
    progress: Arc<Progress>,
}

impl SegmentWriter {
    /// A writer into `index`.
    pub fn new(
        index: IndexStore,
        dimensions: usize,
        kept: Arc<KeptVectors>,
        progress: Arc<Progress>,
    ) -> Self {
        Self {
            index,
            dimensions,
            kept,
            progress,
        }
    }

    /// Writes one shard's batch.
    ///
    /// # Errors
    /// The index cannot be written.
    pub async fn write(
        &self,
        epoch: Epoch,
        batch: ShardBatch,
    ) -> Result<Vec<Written>, PipelineError> {
        let start = Instant::now();
        let mut result = ShardResult {
            epoch,
            ..ShardResult::default()
        };
        let mut rows: Vec<TableRecord> = Vec::new();
        let mut tables: Vec<TableBlocks> = Vec::new();
        let mut awaiting: Vec<AwaitingTable> = Vec::new();
        let shard = Shard(batch.shard);
        let _held: Vec<Held> = batch.tables.iter().map(|it| it.held.clone()).collect();
        for mut table in batch.tables {
            awaiting.extend(table.awaits.take());
            let (row, blocks) = result.take_in(table);
            rows.extend(row);
            tables.extend(blocks);
        }
        if !tables.is_empty() {
            self.write_segment(shard, tables, &mut rows, &mut result)
                .await?;
        }
        result.awaiting = awaiting.len();
        for table in &mut awaiting {
            let row = rows
                .iter()
                .find(|row| row.name == table.name && !row.removed);
            if let Some(row) = row {
                table.row = Some(WireRow(row.clone()));
                table.segment.clone_from(&result.segment);
            }
        }
        if !rows.is_empty() {
            // Rows of one name: the tombstone comes first, so that what is remembered of its
            // files holds.
            rows.sort_by(|a, b| {
                let a = (&a.name, a.is_passed_over(), &a.group);
                a.cmp(&(&b.name, b.is_passed_over(), &b.group))
            });
            result.catalog = Some(Wire(self.index.put_catalog(shard, &rows).await?));
        }
        self.progress.spend(Phase::Write, start);
        let awaiting = awaiting.into_iter().map(|it| Written::Awaits(Box::new(it)));
        let shard = Written::Shard(Box::new(result));
        Ok(std::iter::once(shard).chain(awaiting).collect())
    }

    /// Builds and uploads the segment of these tables, and says in their rows where they are.
    async fn write_segment(
        &self,
        shard: Shard,
        tables: Vec<TableBlocks>,
        rows: &mut [TableRecord],
        result: &mut ShardResult,
    ) -> Result<(), PipelineError> {
        let texts: Vec<TextHash> = tables
            .iter()
            .flat_map(|table| table.blocks.iter().map(Block::text_hash))
            .collect();
        let settings = SegmentSettings::new(self.dimensions, shard).unique();
        let built = tokio::task::spawn_blocking(move || build_segment(tables, &settings))
            .await
            .map_err(|_| PipelineError::TaskDied {
                stage: "build segment",
            })??;
        let positions: HashMap<&str, (u32, u32)> = built
            .tables
            .iter()
            .map(|(key, first, blocks)| (key.name.as_str(), (*first, *blocks)))
            .collect();
        for row in rows {
            if let Some((first, blocks)) = positions.get(row.name.as_str()).filter(|_| !row.removed)
            {
                row.segment.clone_from(&built.entry.path);
                (row.first_block, row.blocks) = (*first, *blocks);
            }
        }
        result.segment = Some(Wire(self.index.put_segment(&built).await?));
        self.kept.forget(texts.iter().copied());
        result.texts = texts;
        Ok(())
    }
}

impl ShardResult {
    /// Takes in what there is to say of a table, and gives the row that is to be written, and its
    /// blocks.
    fn take_in(&mut self, table: EmbeddedTable) -> (Option<TableRecord>, Option<TableBlocks>) {
        self.outcomes.extend(outcome(&table));
        let written = table.row.as_ref().map(|row| failures_of(&row.0));
        let is_unwritten =
            |it: &&Failure| written.as_ref().is_none_or(|written| !written.contains(it));
        let unwritten = table.failures.iter().filter(is_unwritten);
        self.unwritten.extend(unwritten.cloned());
        self.failures.extend(table.failures);
        let Some(WireRow(mut row)) = table.row else {
            return (None, None);
        };
        let replaces = table.replaces.into_iter();
        self.replaced
            .extend(replaces.map(|position| (row.name.clone(), position)));
        self.written.push(row.name.clone());
        // A row that was published before has blocks elsewhere, and they are replaced.
        row.segment.clear();
        (row.first_block, row.blocks) = (0, 0);
        let blocks = (!table.blocks.0.is_empty()).then(|| TableBlocks {
            table: TableKey {
                lake: row.lake.clone(),
                name: row.name.clone(),
            },
            location: row.location.clone(),
            blocks: table.blocks.0,
            content: table_content(&row),
            values: table.values.0,
        });
        self.exposed.extend(exposed(&row));
        let found = passed_over(&row);
        if found.count() > 0 {
            self.passed_over.push((row.name.clone(), found));
        }
        (Some(row), blocks)
    }
}

/// What happened to a table, if anything did, and its name.
fn outcome(table: &EmbeddedTable) -> Option<(String, Outcome)> {
    let Some(WireRow(row)) = &table.row else {
        let failure = table.failures.first()?;
        return Some((failure.table.clone(), Outcome::Failed));
    };
    let outcome = match (row.removed, table.known) {
        (true, true) => Outcome::Removed,
        (true, false) => Outcome::Forgotten,
        _ if row.error.is_some() => Outcome::Failed,
        (false, true) => Outcome::Changed,
        (false, false) => Outcome::Added,
    };
    Some((row.name.clone(), outcome))
}

/// What a table's copies have in common with it.
fn table_content(row: &TableRecord) -> Option<TableContent> {
    let hash = u128::from_str_radix(row.content.as_deref()?, 16).ok()?;
    let newest = row.files_now().map(|file| file.modified_ms).max();
    Some(TableContent {
        hash,
        modified_ms: newest.unwrap_or_default(),
    })
}

/// What the sensitive columns of a described table hold, where their values are in the index.
fn exposed(row: &TableRecord) -> Option<(String, Vec<String>)> {
    let open = row.columns.iter().filter(|column| !column.withheld);
    let kinds: Vec<String> = open.filter_map(|column| column.sensitive.clone()).collect();
    (!row.removed && !kinds.is_empty()).then(|| (row.name.clone(), kinds))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn writers(shards: u32, workers: usize, workers_each: usize) -> Vec<u64> {
        let spread = ShardWorkers::of(workers, workers_each);
        (0..shards).map(|it| spread.worker(Shard(it))).collect()
    }

    #[test]
    fn shards_are_spread_over_processes_first() {
        assert_eq!(writers(2, 4, 2), [0, 2]);
        assert_eq!(writers(4, 4, 2), [0, 2, 1, 3]);
        assert_eq!(writers(3, 2, 2), [0, 1, 0]);
        assert_eq!(writers(3, 3, 1), [0, 1, 2]);
        let all: BTreeSet<u64> = writers(12, 12, 4).into_iter().collect();
        assert_eq!(all.len(), 12);
    }
}
