//! Repairing a catalog: files that are damaged or gone are left out of the next snapshot, and so is
//! what only they could explain.
//!
//! A lost file takes rows with it, and nobody knows which. What they had replaced or removed must
//! not come back, and what they had described leads nowhere. So in each shard that lost a file
//!
//! - a row of another file holds on only if its blocks are live: else a lost row came after it. The
//!   contexts that were registered for its table stay, in a tombstone;
//! - blocks of no row are deleted;
//! - the rows that are left are written anew, so that who follows the index from snapshot to
//!   snapshot has the same rows as who begins here.
//!
//! To a run the lost tables are tables that it has never seen, and it reads them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use futures::{StreamExt, TryStreamExt, stream};

use crate::catalog::{REGISTERED, TableRecord};
use crate::catalog_read::visit_catalog;
use crate::error::{PublishError, SegmentError};
use crate::index_store::{CATALOG, IndexStore, READS_IN_FLIGHT};
use crate::reader::SegmentReader;
use crate::snapshot::{CatalogEntry, SegmentEntry, Snapshot};
use crate::table::{Shard, TableKey};
use crate::verify::Problem;

/// How often the catalog is repaired while other writers publish faster.
const ATTEMPTS: usize = 8;

/// What came of repairing a catalog.
#[derive(Debug)]
pub struct Repaired {
    /// The newest snapshot, all of whose catalog files can be read.
    pub snapshot: Snapshot,
    /// The files that it leaves out, and what is wrong with them; none where nothing was damaged.
    pub left_out: Vec<Problem>,
    /// The tables that could be found until now, and that no row describes any more.
    pub lost: BTreeSet<TableKey>,
}

impl IndexStore {
    /// Publishes a snapshot without the catalog files of the newest that are damaged or not there,
    /// if there are any, nor what they alone described. A run over their lakes reads it again.
    ///
    /// # Errors
    /// Store errors that may pass; a newer format; a damaged segment of the same shard;
    /// [`PublishError::Lost`] if other writers were faster again and again.
    pub async fn repair_catalog(&self) -> Result<Repaired, PublishError> {
        let mut attempts = ATTEMPTS;
        loop {
            attempts -= 1;
            let newest = self.require_newest().await?;
            let left_out = self.damaged_catalog_files(&newest).await?;
            if left_out.is_empty() {
                return Ok(Repaired {
                    snapshot: newest,
                    left_out: Vec::new(),
                    lost: BTreeSet::new(),
                });
            }
            let paths = left_out.iter().map(|(path, _)| path.as_str()).collect();
            let (snapshot, lost) = self.without(&newest, &paths).await?;
            let left_out = left_out.into_iter().map(|(_, problem)| problem).collect();
            match self.publish(&snapshot).await {
                Err(PublishError::Lost { .. }) if attempts > 0 => {}
                published => {
                    return published.map(|()| Repaired {
                        snapshot,
                        left_out,
                        lost,
                    });
                }
            }
        }
    }

    /// The catalog files of a snapshot that cannot be read and never will be, by their paths, and
    /// why.
    ///
    /// # Errors
    /// Store errors that may pass; a newer format.
    pub async fn damaged_catalog_files(
        &self,
        snapshot: &Snapshot,
    ) -> Result<Vec<(String, Problem)>, SegmentError> {
        let read = async |entry: CatalogEntry| {
            let rows = entry.rows;
            let decode =
                move |object: &str, bytes| visit_catalog(object, bytes, rows, None, &mut |_| ());
            let read = self.decoded(&entry, decode).await;
            match read.as_ref().err().and_then(Problem::of_catalog) {
                Some(problem) => Ok(Some((entry.path, problem))),
                None => read.map(|()| None),
            }
        };
        let files = stream::iter(snapshot.catalog.clone()).map(read);
        let read: Vec<_> = files.buffered(READS_IN_FLIGHT).try_collect().await?;
        Ok(read.into_iter().flatten().collect())
    }

    /// The snapshot after `newest` without the files at these paths, and the tables that it lacks.
    async fn without(
        &self,
        newest: &Snapshot,
        paths: &HashSet<&str>,
    ) -> Result<(Snapshot, BTreeSet<TableKey>), SegmentError> {
        let is_lost = |entry: &CatalogEntry| paths.contains(entry.path.as_str());
        let files = newest.catalog.iter().filter(|entry| is_lost(entry));
        let shards: BTreeSet<Shard> = files.map(|entry| entry.shard).collect();
        let mut next = newest.next();
        next.catalog.retain(|entry| !shards.contains(&entry.shard));
        let mut lost = BTreeSet::new();
        for shard in shards {
            let mut rest = newest.clone();
            let mut files = rest.catalog;
            files.retain(|entry| entry.shard == shard && !is_lost(entry));
            rest.catalog = files;
            let rows = self.tables_with_removed(&rest, None).await?;
            let rows = rows.into_iter().map(|row| (row.key(), row)).collect();
            let live = self
                .delete_unexplained(&mut next, shard, &rows, &mut lost)
                .await?;
            let mut files: BTreeMap<String, Vec<TableRecord>> = BTreeMap::new();
            for (key, row) in rows {
                let holds = live.contains(&key) || row.blocks == 0 && !lost.contains(&key);
                let Some(row) = (if holds { Some(row) } else { registered(row) }) else {
                    continue;
                };
                // A file has rows of one segment.
                let segment = if row.blocks > 0 { &row.segment } else { "" };
                files.entry(segment.to_owned()).or_default().push(row);
            }
            for rows in files.values() {
                next.catalog.push(self.put_catalog(shard, rows).await?);
            }
        }
        // Edges of tables that are no more: the next run makes the graph anew.
        next.joins
            .retain(|lake, _| lost.iter().all(|table| table.lake != *lake));
        Ok((next, lost))
    }

    /// Deletes the live blocks of a shard's segments that none of `rows` is of, and adds their
    /// tables to `lost`. Gives the tables whose rows have live blocks.
    async fn delete_unexplained(
        &self,
        next: &mut Snapshot,
        shard: Shard,
        rows: &BTreeMap<TableKey, TableRecord>,
        lost: &mut BTreeSet<TableKey>,
    ) -> Result<HashSet<TableKey>, SegmentError> {
        let mut live = HashSet::new();
        let mut segments: Vec<SegmentEntry> = Vec::with_capacity(next.segments.len());
        for mut entry in std::mem::take(&mut next.segments) {
            if entry.shard != shard {
                segments.push(entry);
                continue;
            }
            let mut deletes = self.deletes(&entry).await?;
            let before = deletes.count();
            let reader = SegmentReader::open(&self.store, &entry).await?;
            for table in reader.shared_tables().iter() {
                let (first, blocks) = (table.first_block, table.blocks);
                let deleted = deletes.0.range_cardinality(first..first + blocks);
                if deleted == u64::from(blocks) {
                    continue;
                }
                let key = table.key.to_key();
                let is_its = |row: &TableRecord| {
                    row.segment == entry.path && (row.first_block, row.blocks) == (first, blocks)
                };
                if deleted == 0 && rows.get(&key).is_some_and(is_its) {
                    live.insert(key);
                } else {
                    deletes.delete_table(first, blocks);
                    lost.insert(key);
                }
            }
            if deletes.count() > before {
                entry.deletes = self.put_deletes(&deletes).await?;
            }
            if deletes.count() < entry.blocks {
                segments.push(entry);
            }
        }
        next.segments = segments;
        Ok(live)
    }
}

impl Problem {
    /// That a catalog file is damaged or not there, if this is why it cannot be read.
    #[must_use]
    pub fn of_catalog(error: &SegmentError) -> Option<Problem> {
        let (object, error) = match error {
            SegmentError::DamagedCatalog { object, detail } => (object.clone(), detail.clone()),
            SegmentError::Store(error)
                if error.is_not_found() && error.object().contains(CATALOG) =>
            {
                (error.object().to_owned(), "it is not there".to_owned())
            }
            _ => return None,
        };
        Some(Problem { object, error })
    }
}

/// What stays of a row after which another came that is lost: a tombstone with the contexts that
/// were registered for its table, if there are any.
fn registered(row: TableRecord) -> Option<TableRecord> {
    let mut contexts = row.contexts;
    contexts.retain(|context| context.source == REGISTERED);
    (!contexts.is_empty()).then(|| TableRecord {
        lake: row.lake,
        name: row.name,
        group: row.group,
        removed: true,
        contexts,
        indexed_ms: row.indexed_ms,
        ..TableRecord::default()
    })
}
