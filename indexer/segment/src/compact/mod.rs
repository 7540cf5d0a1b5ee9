//! Compaction: small segments and catalog files become few, and what is no longer live leaves.
//!
//! Every epoch adds a segment and a catalog file to each shard it touches; a table that changes
//! leaves deleted blocks and a superseded row behind. [`plan`] says what is worth merging
//! (`policy.rs`), a merge writes one catalog file (`rows.rs`) and one segment (`segments.rs`), and
//! all merges are published in one snapshot.
//!
//! **Guarantees.** The tables of the snapshot, their rows and blocks are the same before and after,
//! but for where the blocks are; so are all answers, as long as vectors are searched exactly. A
//! merged segment has the bytes that building it anew would give. What other writers publish
//! meanwhile stays: when the race is lost, the merges are applied to the newest snapshot, with the
//! deletes that came since, or, where another compaction was faster, made again. A compaction that
//! is interrupted leaves orphans to `limn gc`.
//!
//! **Non-guarantees.** A merge holds its inputs' rows, texts and vectors and the terms of their
//! blocks in memory: one merge at a time, of [`Policy::max_size`] entries at most, or of one larger
//! file that was written so.

mod merge;
mod policy;
mod rows;
mod segments;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

pub use policy::{Merge, Policy, plan};

use crate::catalog::segment_of;
use crate::compact::merge::{Log, LogFile, Merged, replace};
use crate::deletes::Deletes;
use crate::error::{PublishError, SegmentError};
use crate::index_store::IndexStore;
use crate::snapshot::{CatalogEntry, DeletesEntry, SegmentEntry, Snapshot};
use crate::table::Shard;

/// Times that publishing is tried before a compaction gives way to other writers.
const ATTEMPTS: usize = 10;

/// How far a compaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactStep {
    /// So many bytes are to be merged; given again where another compaction was faster.
    Planned {
        /// Bytes of all inputs.
        bytes: u64,
    },
    /// A merge is done.
    Merged {
        /// Bytes of its inputs.
        bytes: u64,
    },
}

/// What a compaction did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compacted {
    /// Number of the snapshot that it published.
    pub snapshot: u64,
    /// The merges.
    pub merges: Vec<Merge>,
    /// The snapshot before…
    pub before: IndexSize,
    /// …and after.
    pub after: IndexSize,
}

/// How much a snapshot names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IndexSize {
    /// Segments.
    pub segments: usize,
    /// Catalog files.
    pub catalog_files: usize,
    /// Rows of the catalog files, superseded ones included.
    pub rows: u64,
    /// Blocks, deleted ones included.
    pub blocks: u64,
    /// Deleted blocks.
    pub deleted_blocks: u64,
    /// Bytes of segments and catalog files.
    pub bytes: u64,
}

impl IndexSize {
    /// The size of a snapshot.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let blocks = snapshot.segments.iter().map(|it| u64::from(it.blocks));
        let blocks = blocks.fold(0, u64::saturating_add);
        let rows = snapshot.catalog.iter().map(|it| it.rows);
        Self {
            segments: snapshot.segments.len(),
            catalog_files: snapshot.catalog.len(),
            rows: rows.fold(0, u64::saturating_add),
            blocks,
            deleted_blocks: blocks.saturating_sub(snapshot.live_blocks()),
            bytes: snapshot.bytes(),
        }
    }
}

/// The merges of one shard, and the log that they were made of.
struct ShardMerges {
    /// Paths of the shard's catalog files.
    log: Vec<String>,
    merged: Vec<Merged>,
}

impl IndexStore {
    /// What a compaction would merge now, and the newest snapshot, which is to be merged.
    ///
    /// # Errors
    /// Those of [`IndexStore::require_newest`]; a damaged catalog file.
    pub async fn plan_compaction(
        &self,
        policy: &Policy,
    ) -> Result<(Snapshot, Vec<Merge>), SegmentError> {
        let mut snapshot = self.require_newest().await?;
        self.pair(&mut snapshot).await?;
        let merges = plan(&snapshot, policy);
        Ok((snapshot, merges))
    }

    /// Merges what the policy says, and publishes it. `None` if there is nothing to merge.
    ///
    /// # Errors
    /// Store errors; what is merged is damaged; [`PublishError::Lost`] if other writers were faster
    /// again and again. The index is as they left it then.
    pub async fn compact(
        &self,
        policy: &Policy,
        step: &(dyn Fn(CompactStep) + Sync),
    ) -> Result<Option<Compacted>, PublishError> {
        let mut lost = None;
        let mut attempts = 0;
        loop {
            let (base, merges) = self.plan_compaction(policy).await?;
            if merges.is_empty() {
                return Ok(None);
            }
            let shards = self.carry_out(&base, &merges, step).await?;
            let mut newest = base;
            loop {
                if let (Some(error), true) = (lost.take(), attempts >= ATTEMPTS) {
                    return Err(error);
                }
                let Some((next, applied)) = self.apply(&shards, &newest).await? else {
                    break;
                };
                match self.publish(&next).await {
                    Ok(()) => {
                        return Ok(Some(Compacted {
                            snapshot: next.number,
                            merges: applied,
                            before: IndexSize::of(&newest),
                            after: IndexSize::of(&next),
                        }));
                    }
                    Err(error @ PublishError::Lost { .. }) => lost = Some(error),
                    Err(error) => return Err(error),
                }
                attempts += 1;
                let before = std::mem::replace(&mut newest, self.require_newest().await?);
                if is_applied(&applied, &before, &next, &newest) {
                    // Published, but another writer went on from it before it was seen to be the
                    // newest.
                    return Ok(Some(Compacted {
                        snapshot: newest.number,
                        merges: applied,
                        before: IndexSize::of(&next),
                        after: IndexSize::of(&newest),
                    }));
                }
            }
        }
    }

    /// Carries out merges, one at a time.
    async fn carry_out(
        &self,
        base: &Snapshot,
        merges: &[Merge],
        step: &(dyn Fn(CompactStep) + Sync),
    ) -> Result<BTreeMap<Shard, ShardMerges>, SegmentError> {
        let sizes: Vec<u64> = merges.iter().map(|merge| bytes_of(base, merge)).collect();
        step(CompactStep::Planned {
            bytes: sizes.iter().copied().fold(0, u64::saturating_add),
        });
        let mut shards: BTreeMap<Shard, ShardMerges> = BTreeMap::new();
        let mut log: Option<(Shard, Log)> = None;
        for (merge, bytes) in merges.iter().zip(sizes) {
            let (_, log) = match &mut log {
                Some(log) if log.0 == merge.shard => log,
                other => other.insert((merge.shard, Log::of(base, merge))),
            };
            let shard = shards.entry(merge.shard).or_insert_with(|| ShardMerges {
                log: log.files.iter().map(|it| it.entry.path.clone()).collect(),
                merged: Vec::new(),
            });
            shard.merged.push(self.merge(base, log, merge).await?);
            step(CompactStep::Merged { bytes });
        }
        Ok(shards)
    }

    /// The snapshot after `newest` with the merges that fit it, and which these are; `None` if none
    /// does.
    ///
    /// They fit where the files of the shard are those that they were made of, with others after
    /// them (see `rows.rs`), and none of these has its rows in a segment that was merged.
    async fn apply(
        &self,
        shards: &BTreeMap<Shard, ShardMerges>,
        newest: &Snapshot,
    ) -> Result<Option<(Snapshot, Vec<Merge>)>, SegmentError> {
        let mut next = newest.next();
        let mut applied = Vec::new();
        for (shard, merges) in shards {
            let log = newest.catalog.iter().filter(|it| it.shard == *shard);
            let log: Vec<&CatalogEntry> = log.collect();
            let known = log.iter().map(|it| &it.path).take(merges.log.len());
            if !known.eq(&merges.log) || self.are_reused(merges, &log[merges.log.len()..]).await? {
                continue;
            }
            let mut places = 0..merges.log.len();
            let mut files: Vec<LogFile> = std::mem::take(&mut next.catalog)
                .into_iter()
                .map(|entry| LogFile {
                    place: (entry.shard == *shard).then(|| places.next()).flatten(),
                    entry,
                })
                .collect();
            for merged in &merges.merged {
                replace(&mut files, &merged.merge, merged.catalog.as_ref());
                self.replace_segments(&mut next, merged).await?;
                applied.push(merged.merge.clone());
            }
            next.catalog = files.into_iter().map(|file| file.entry).collect();
        }
        if applied.is_empty() {
            return Ok(None);
        }
        // What files of older writers had to be read for is recorded from now on.
        self.pair(&mut next).await?;
        Ok(Some((next, applied)))
    }

    /// Whether newer catalog files point into segments that were merged: a writer may have
    /// described the same tables in the same words again, which gives the same segment.
    async fn are_reused(
        &self,
        merges: &ShardMerges,
        newer: &[&CatalogEntry],
    ) -> Result<bool, SegmentError> {
        for entry in newer {
            let segment = match &entry.segment {
                Some(segment) => Some(segment.clone()),
                None => self.segment_of_file(entry).await?,
            };
            let mut sources = merges.merged.iter().flat_map(|it| it.merge.sources());
            if segment.is_some_and(|segment| sources.any(|path| path == segment)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Puts a merged segment at the place of the last of its sources. What was deleted in these
    /// since they were merged is deleted in it; without a live block it is left out.
    async fn replace_segments(
        &self,
        next: &mut Snapshot,
        merged: &Merged,
    ) -> Result<(), SegmentError> {
        let mut deletes = Deletes::none();
        let paths = merged.merge.sources();
        for (source, path) in merged.sources.iter().zip(&paths) {
            let now = next.segments.iter().filter(|it| it.path == *path);
            let now: Vec<SegmentEntry> = now.cloned().collect();
            let of = |entries: &[SegmentEntry]| -> Vec<Option<DeletesEntry>> {
                entries.iter().map(|it| it.deletes.clone()).collect()
            };
            if of(&now) == of(&source.entries) {
                continue;
            }
            let deleted = self.deleted_in_all(&now).await?;
            for moved in &source.moved {
                for block in 0..moved.blocks {
                    // One that left has no live block any more.
                    if now.is_empty() || deleted.contains(moved.from + block) {
                        deletes.0.insert(moved.to + block);
                    }
                }
            }
        }
        let is_source = |path: &str| paths.contains(&path);
        let last = next.segments.iter().rposition(|it| is_source(&it.path));
        let place = last.map_or(next.segments.len(), |last| {
            let before = next.segments[..last].iter();
            before.filter(|it| !is_source(&it.path)).count()
        });
        next.segments.retain(|it| !is_source(&it.path));
        if let Some(entry) = &merged.segment
            && deletes.count() < entry.blocks
        {
            let mut entry = entry.clone();
            entry.deletes = self.put_deletes(&deletes).await?;
            next.segments.insert(place, entry);
        }
        Ok(())
    }

    /// The segment that the rows of a catalog file point into, by reading them.
    async fn segment_of_file(&self, entry: &CatalogEntry) -> Result<Option<String>, SegmentError> {
        let rows = self.catalog_columns(entry, &["segment", "blocks"]).await?;
        let segment = segment_of(&rows).map_err(|(one, other)| {
            SegmentError::damaged(
                self.store.object_url(&entry.path),
                format!("its rows point into {one} and {other}"),
            )
        })?;
        Ok(segment.map(str::to_owned))
    }

    /// Fills in the segments of catalog files whose writer did not record them, by reading the
    /// files. Where every segment is some file's, there is nothing to find.
    async fn pair(&self, snapshot: &mut Snapshot) -> Result<(), SegmentError> {
        let recorded: BTreeSet<&str> = snapshot
            .catalog
            .iter()
            .filter_map(|entry| entry.segment.as_deref())
            .collect();
        let unrecorded: BTreeSet<Shard> = snapshot
            .segments
            .iter()
            .filter(|segment| !recorded.contains(segment.path.as_str()))
            .map(|segment| segment.shard)
            .collect();
        for entry in &mut snapshot.catalog {
            if entry.segment.is_some() || !unrecorded.contains(&entry.shard) {
                continue;
            }
            entry.segment = self.segment_of_file(entry).await?;
        }
        Ok(())
    }
}

/// Whether a snapshot has the merges in it that made `next` of `before`: the files of their shards
/// are those of `next`, with others after them. Where those of `before` are that too, nobody can
/// know.
fn is_applied(merges: &[Merge], before: &Snapshot, next: &Snapshot, snapshot: &Snapshot) -> bool {
    let shards: BTreeSet<Shard> = merges.iter().map(|merge| merge.shard).collect();
    let has_merges = |snapshot: &Snapshot, shard: Shard| {
        let mut log = snapshot.catalog.iter().filter(|it| it.shard == shard);
        let mut wanted = next.catalog.iter().filter(|it| it.shard == shard);
        wanted.all(|wanted| log.next().is_some_and(|it| it.path == wanted.path))
    };
    shards
        .into_iter()
        .all(|shard| has_merges(snapshot, shard) && !has_merges(before, shard))
}

/// Bytes of the inputs of a merge.
fn bytes_of(snapshot: &Snapshot, merge: &Merge) -> u64 {
    let log = snapshot.catalog.iter().filter(|it| it.shard == merge.shard);
    let catalog = log.enumerate();
    let catalog = catalog.filter_map(|(at, it)| merge.places.contains(&at).then_some(it));
    let segments = snapshot.segments.iter();
    let segments = segments.filter(|it| merge.segments.contains(&it.path));
    let bytes = catalog
        .map(|it| it.bytes)
        .chain(segments.map(|it| it.bytes));
    bytes.fold(0, u64::saturating_add)
}
