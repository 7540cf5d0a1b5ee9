//! Verifying an index: every checksum, every reference, and counts that match the catalog.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use limn_store::StoreErrorKind;
use serde::Serialize;
use thiserror::Error;

use crate::catalog::TableRecord;
use crate::deletes::Deletes;
use crate::error::SegmentError;
use crate::index_store::IndexStore;
use crate::reader::SegmentReader;
use crate::snapshot::{SegmentEntry, Snapshot};
use crate::table::TextHash;
use crate::tables::SegmentTables;

/// What was verified of a snapshot, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Number of the snapshot.
    pub snapshot: u64,
    /// Segments read, byte for byte.
    pub segments: usize,
    /// Catalog files read.
    pub catalog_files: usize,
    /// Tables in the catalog, without tombstones.
    pub tables: usize,
    /// Live blocks.
    pub blocks: u64,
    /// Bytes that the snapshot names.
    pub bytes: u64,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// Something that is wrong with an index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The object or table.
    pub object: String,
    /// What is wrong and what to do.
    pub error: String,
}

/// What is kept of a segment that could be read: no open file, and no copy of a remote one.
struct Segment {
    /// In the order of their blocks.
    tables: Arc<SegmentTables>,
    blocks: u32,
    deletes: Deletes,
    /// How many live blocks the catalog's tables have in it.
    catalogued: u64,
}

impl IndexStore {
    /// Reads everything that a snapshot names and checks that it fits together. `done` is called
    /// with the bytes of each object that was read.
    ///
    /// # Errors
    /// The store refuses to read. What is damaged or missing is no error but a [`Problem`].
    pub async fn verify(
        &self,
        snapshot: &Snapshot,
        done: &(dyn Fn(u64) + Sync),
    ) -> Result<Verified, SegmentError> {
        let mut verified = Verified {
            snapshot: snapshot.number,
            segments: snapshot.segments.len(),
            catalog_files: snapshot.catalog.len(),
            blocks: snapshot.live_blocks(),
            bytes: snapshot.bytes(),
            ..Verified::default()
        };
        let mut segments = HashMap::new();
        for entry in &snapshot.segments {
            match self.verify_segment(entry).await {
                Ok(segment) => {
                    segments.insert(entry.path.as_str(), segment);
                }
                Err(error) => verified.take_in(self.store.object_url(&entry.path), error)?,
            }
            done(entry.bytes);
        }
        let mut tables: BTreeMap<_, TableRecord> = BTreeMap::new();
        let mut is_whole = true;
        for entry in &snapshot.catalog {
            if let Err(error) = self.catalog(entry).await {
                is_whole = false;
                verified.take_in(self.store.object_url(&entry.path), error)?;
            }
            done(entry.bytes);
        }
        for entry in snapshot.join_files() {
            if let Err(error) = self.joins_of(entry).await {
                verified.take_in(self.store.object_url(&entry.path), error)?;
            }
            done(entry.bytes);
        }
        if is_whole {
            let live = self.tables(snapshot, None).await?;
            tables.extend(live.into_iter().map(|table| (table.key(), table)));
        }
        verified.tables = tables.len();
        for table in tables.values() {
            if let Err(error) = check_table(table, snapshot, &mut segments) {
                verified.problems.push(Problem {
                    object: format!("table {} of {}", table.name, table.lake),
                    error: format!("{error}; index the lake again into a new place"),
                });
            }
        }
        // Blocks of no table would be found and lead nowhere.
        let mut strays: Vec<Problem> = Vec::new();
        for (path, segment) in segments.iter().filter(|_| is_whole) {
            let live = u64::from(segment.blocks) - u64::from(segment.deletes.count());
            if live != segment.catalogued {
                strays.push(Problem {
                    object: self.store.object_url(path),
                    error: format!(
                        "it has {live} live blocks and the catalog's tables have {} in it; index the lake again into a new place",
                        segment.catalogued
                    ),
                });
            }
        }
        strays.sort();
        verified.problems.extend(strays);
        Ok(verified)
    }

    /// Reads a segment whole: checksums of all bytes, all texts against their hashes, deleted
    /// blocks.
    async fn verify_segment(&self, entry: &SegmentEntry) -> Result<Segment, SegmentError> {
        let reader = SegmentReader::open(&self.store, entry).await?;
        let checked = Arc::clone(&reader);
        let check = tokio::task::spawn_blocking(move || check_segment(&checked));
        check.await.map_err(|_| {
            SegmentError::damaged(self.store.object_url(&entry.path), "reading it panicked")
        })??;
        Ok(Segment {
            deletes: self.deletes(entry).await?,
            tables: reader.shared_tables(),
            blocks: reader.block_count(),
            catalogued: 0,
        })
    }
}

fn check_segment(reader: &SegmentReader) -> Result<(), SegmentError> {
    reader.verify_bytes()?;
    for block in 0..reader.block_count() {
        if TextHash::of(&reader.text(block)?) != reader.text_hash(block)? {
            return Err(SegmentError::damaged(
                reader.path(),
                format!("the text of block {block} does not have its hash"),
            ));
        }
    }
    Ok(())
}

/// How a table's blocks differ from what the catalog says.
#[derive(Debug, Error)]
enum Misplaced {
    /// They are in a segment that the snapshot lacks.
    #[error("its blocks are in {0}, which the snapshot does not name")]
    Unnamed(String),
    /// The segment has something else there.
    #[error("{segment} does not have it at block {first}")]
    NotThere { segment: String, first: u32 },
    /// They are deleted.
    #[error("block {block} of {segment} is its and deleted")]
    Deleted { segment: String, block: u32 },
}

/// Whether a table's blocks are where the catalog says, live, and the table's own.
fn check_table(
    table: &TableRecord,
    snapshot: &Snapshot,
    segments: &mut HashMap<&str, Segment>,
) -> Result<(), Misplaced> {
    if table.blocks == 0 {
        return Ok(());
    }
    let Some(segment) = segments.get_mut(table.segment.as_str()) else {
        // One that is damaged is reported already.
        let is_named = snapshot.segments.iter().any(|it| it.path == table.segment);
        return if is_named {
            Ok(())
        } else {
            Err(Misplaced::Unnamed(table.segment.clone()))
        };
    };
    let first = table.first_block;
    let there = segment.tables.of_block(first) as usize;
    let there = segment.tables.get(there);
    let is_there = there.is_some_and(|it| {
        it.key == table.key() && it.first_block == first && it.blocks == table.blocks
    });
    if !is_there {
        let segment = table.segment.clone();
        return Err(Misplaced::NotThere { segment, first });
    }
    let mut blocks = first..first.saturating_add(table.blocks);
    if let Some(block) = blocks.find(|block| segment.deletes.contains(*block)) {
        let segment = table.segment.clone();
        return Err(Misplaced::Deleted { segment, block });
    }
    segment.catalogued += u64::from(table.blocks);
    Ok(())
}

impl Verified {
    /// Keeps what is wrong with an object; other errors end the verification.
    fn take_in(&mut self, object: String, error: SegmentError) -> Result<(), SegmentError> {
        let is_missing = matches!(
            &error,
            SegmentError::Store(error) if error.kind() == StoreErrorKind::NotFound
        );
        if !is_missing && !error.is_damage() {
            return Err(error);
        }
        self.problems.push(Problem {
            object,
            error: error.to_string(),
        });
        Ok(())
    }
}
