//! One merge: its inputs are read, its catalog file and its segment are written, nothing is
//! published.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use futures::{StreamExt, TryStreamExt, stream};

use crate::builder::SegmentSettings;
use crate::catalog::TableRecord;
use crate::compact::policy::Merge;
use crate::compact::rows::{KEY_COLUMNS, Kept, KeyRow, kept};
use crate::compact::segments::{LiveTable, Source, merge_segments};
use crate::deletes::Deletes;
use crate::error::SegmentError;
use crate::index_store::{IndexStore, READS_IN_FLIGHT};
use crate::reader::SegmentReader;
use crate::snapshot::{CatalogEntry, SegmentEntry, Snapshot};

/// A merge whose objects are written.
pub(crate) struct Merged {
    /// What was merged.
    pub(crate) merge: Merge,
    /// The merged catalog file; `None` if no row was left to write.
    pub(crate) catalog: Option<CatalogEntry>,
    /// The merged segment; `None` if no block is live.
    pub(crate) segment: Option<SegmentEntry>,
    /// The segments that it was made of, as they were.
    pub(crate) sources: Vec<MergedSource>,
}

/// A segment that was merged.
pub(crate) struct MergedSource {
    /// As the snapshot named it: once, or several times with other blocks deleted.
    pub(crate) entries: Vec<SegmentEntry>,
    pub(crate) moved: Vec<Moved>,
}

/// A table's blocks, all of which were live, and where they are now.
pub(crate) struct Moved {
    pub(crate) from: u32,
    pub(crate) blocks: u32,
    pub(crate) to: u32,
}

/// A catalog file of a list in which merges replace some.
#[derive(Clone, Debug)]
pub(crate) struct LogFile {
    /// Its place among the catalog files of the shard that merges were planned for; `None` if it is
    /// none of these.
    pub(crate) place: Option<usize>,
    pub(crate) entry: CatalogEntry,
}

impl LogFile {
    fn is_input(&self, merge: &Merge) -> bool {
        self.place
            .is_some_and(|place| merge.places.contains(&place))
    }
}

/// The catalog files of a shard as merges replace them, and what of their rows says which one
/// holds.
pub(crate) struct Log {
    pub(crate) files: Vec<LogFile>,
    /// By path: files of one path have the same rows.
    keys: HashMap<String, Vec<KeyRow>>,
}

impl Log {
    /// The files of a snapshot that are of the merge's shard.
    pub(crate) fn of(snapshot: &Snapshot, merge: &Merge) -> Log {
        let entries = snapshot.catalog.iter();
        let entries = entries.filter(|entry| entry.shard == merge.shard);
        let files = entries.enumerate().map(|(place, entry)| LogFile {
            place: Some(place),
            entry: entry.clone(),
        });
        Log {
            files: files.collect(),
            keys: HashMap::new(),
        }
    }
}

/// Replaces the files of a merge in a list: what they became is at the place of the last of them.
pub(crate) fn replace(files: &mut Vec<LogFile>, merge: &Merge, merged: Option<&CatalogEntry>) {
    let last = files.iter().rposition(|file| file.is_input(merge));
    *files = std::mem::take(files)
        .into_iter()
        .enumerate()
        .filter_map(|(at, file)| match file.is_input(merge) {
            false => Some(file),
            true if Some(at) == last => merged.map(|entry| LogFile {
                place: None,
                entry: entry.clone(),
            }),
            true => None,
        })
        .collect();
}

impl IndexStore {
    /// Carries out a merge of files that `base` names, in a shard whose log may have been merged
    /// further than `base` has it.
    pub(crate) async fn merge(
        &self,
        base: &Snapshot,
        log: &mut Log,
        merge: &Merge,
    ) -> Result<Merged, SegmentError> {
        let inputs: HashSet<usize> = (0..log.files.len())
            .filter(|at| log.files[*at].is_input(merge))
            .collect();
        let (mut rows, tables) = self.kept_rows(log, &inputs, merge).await?;
        let mut sources = Vec::new();
        let mut segments = Vec::new();
        for path in merge.sources() {
            let entries = base.segments.iter().filter(|entry| entry.path == path);
            let entries: Vec<SegmentEntry> = entries.cloned().collect();
            let first = entries.first().ok_or_else(|| {
                SegmentError::damaged(self.store.object_url(path), "the snapshot does not name it")
            })?;
            sources.push(Source {
                reader: SegmentReader::open(&self.store, first).await?,
                deletes: self.deleted_in_all(&entries).await?,
            });
            segments.push(MergedSource {
                entries,
                moved: Vec::new(),
            });
        }
        let settings = SegmentSettings::new(base.dimensions, merge.shard).unique();
        let built = tokio::task::spawn_blocking(move || {
            let built = merge_segments(&sources, &tables, &settings)?;
            Ok::<_, SegmentError>((built, tables))
        });
        let died = |_| SegmentError::damaged(self.store.url(), "merging its segments panicked");
        let (built, tables) = built.await.map_err(died)??;

        let mut segment = None;
        if let Some(built) = built {
            for (table, (_, to, blocks)) in tables.iter().zip(&built.tables) {
                segments[table.source].moved.push(Moved {
                    from: table.first_block,
                    blocks: *blocks,
                    to: *to,
                });
            }
            let live = rows.iter_mut().filter(|row| row.blocks > 0);
            for (row, (_, first, _)) in live.zip(&built.tables) {
                row.segment.clone_from(&built.entry.path);
                row.first_block = *first;
            }
            segment = Some(self.put_segment(&built).await?);
        }
        let catalog = if rows.is_empty() {
            None
        } else {
            Some(self.put_catalog(merge.shard, &rows).await?)
        };
        let keys: Vec<KeyRow> = rows.iter().map(KeyRow::of).collect();
        replace(&mut log.files, merge, catalog.as_ref());
        log.keys.extend(
            catalog
                .iter()
                .map(|entry| (entry.path.clone(), keys.clone())),
        );
        Ok(Merged {
            merge: merge.clone(),
            catalog,
            segment,
            sources: segments,
        })
    }

    /// Blocks that are deleted in all of these, which name one segment.
    pub(crate) async fn deleted_in_all(
        &self,
        entries: &[SegmentEntry],
    ) -> Result<Deletes, SegmentError> {
        let mut all: Option<Deletes> = None;
        for entry in entries {
            let deletes = self.deletes(entry).await?;
            all = Some(match all {
                Some(all) => Deletes(all.0 & deletes.0),
                None => deletes,
            });
        }
        Ok(all.unwrap_or_else(Deletes::none))
    }

    /// The rows of the merged file in the order of tables, and those of them that have blocks.
    async fn kept_rows(
        &self,
        log: &mut Log,
        inputs: &HashSet<usize>,
        merge: &Merge,
    ) -> Result<(Vec<TableRecord>, Vec<LiveTable>), SegmentError> {
        let mut files = self.read_log(log, inputs).await?;
        let keys: Vec<Vec<KeyRow>> = log
            .files
            .iter()
            .enumerate()
            .map(|(at, file)| match files.get(&at) {
                Some(rows) => rows.iter().map(KeyRow::of).collect(),
                None => log.keys.get(&file.entry.path).cloned().unwrap_or_default(),
            })
            .collect();
        let kept = tokio::task::spawn_blocking({
            let inputs = inputs.clone();
            move || kept(&keys, &inputs)
        });
        let died = |_| SegmentError::damaged(self.store.url(), "reading its catalog panicked");
        let kept = kept.await.map_err(died)?;
        let sources = merge.sources();
        let mut rows = Vec::with_capacity(kept.len());
        let mut tables = Vec::new();
        for row in kept {
            let row = match row {
                Kept::Tombstone { key, group } => TableRecord {
                    lake: key.lake,
                    name: key.name,
                    group,
                    removed: true,
                    ..TableRecord::default()
                },
                Kept::Row(at) => {
                    if let Entry::Vacant(file) = files.entry(at.file) {
                        // Rare: a tombstone has to be written again.
                        file.insert(self.catalog(&log.files[at.file].entry).await?);
                    }
                    let taken = files
                        .get_mut(&at.file)
                        .and_then(|rows| rows.get_mut(at.row));
                    taken.map(std::mem::take).unwrap_or_default()
                }
            };
            if row.blocks > 0 {
                tables.push(self.live_table(&row, &sources, merge)?);
            }
            rows.push(row);
        }
        Ok((rows, tables))
    }

    /// The rows of the files of a log that are merged, by their places. Of the others the keys come
    /// into the log.
    async fn read_log(
        &self,
        log: &mut Log,
        inputs: &HashSet<usize>,
    ) -> Result<HashMap<usize, Vec<TableRecord>>, SegmentError> {
        let (read, skimmed): (Vec<usize>, Vec<usize>) =
            (0..log.files.len()).partition(|at| inputs.contains(at));
        let skimmed: Vec<CatalogEntry> = skimmed
            .into_iter()
            .map(|at| log.files[at].entry.clone())
            .filter(|entry| !log.keys.contains_key(&entry.path))
            .collect();
        let mut skimmed = stream::iter(skimmed)
            .map(|entry| async move {
                let rows = self.catalog_columns(&entry, &KEY_COLUMNS).await?;
                let keys: Vec<KeyRow> = rows.iter().map(KeyRow::of).collect();
                Ok::<_, SegmentError>((entry.path, keys))
            })
            .buffered(READS_IN_FLIGHT);
        while let Some((path, keys)) = skimmed.try_next().await? {
            log.keys.insert(path, keys);
        }
        let read: Vec<(usize, CatalogEntry)> = read
            .into_iter()
            .map(|at| (at, log.files[at].entry.clone()))
            .collect();
        stream::iter(read)
            .map(
                |(at, entry)| async move { Ok::<_, SegmentError>((at, self.catalog(&entry).await?)) },
            )
            .buffered(READS_IN_FLIGHT)
            .try_collect()
            .await
    }

    /// Where a row's blocks are among the segments of the merged files.
    fn live_table(
        &self,
        row: &TableRecord,
        sources: &[&str],
        merge: &Merge,
    ) -> Result<LiveTable, SegmentError> {
        let source = sources.iter().position(|path| *path == row.segment);
        let source = source.ok_or_else(|| {
            let detail = format!(
                "its row of {} points into {}, which is not the segment of a merged file",
                row.key(),
                row.segment
            );
            SegmentError::damaged(self.store.object_url(&merge.catalog[0]), detail)
        })?;
        Ok(LiveTable {
            key: row.key(),
            source,
            first_block: row.first_block,
            blocks: row.blocks,
        })
    }
}
