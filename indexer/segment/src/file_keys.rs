//! Which tables a catalog file has rows of: all that has to be read of a file before it is known
//! whether anything else in it matters to somebody who may see few tables.
//!
//! The files never change, so that what was read of one is kept, up to a bound, and read once
//! however many ask for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;

use bytes::Bytes;
use tokio::sync::{OnceCell, Semaphore};

use crate::catalog_read::visit_catalog;
use crate::error::SegmentError;
use crate::index_store::IndexStore;
use crate::snapshot::CatalogEntry;
use crate::table::KeyRef;

/// Columns that say whose a row is, and whether it holds.
const COLUMNS: [&str; 4] = ["lake", "name", "removed", "group"];
/// About what a row takes beside its name, in bytes.
const ROW_BYTES: usize = 128;
/// KiB of catalog files that are in memory at a time; one larger file may be.
const KIB_IN_FLIGHT: u32 = 32 << 10;

/// Reads catalog files within limits that all who use it share.
#[derive(Debug)]
pub(crate) struct CatalogReads {
    index: IndexStore,
    room: Semaphore,
    decoding: Semaphore,
}

impl CatalogReads {
    pub(crate) fn new(index: IndexStore) -> CatalogReads {
        // The other half is for questions.
        let half = available_parallelism().map_or(1, |it| it.get().div_ceil(2));
        CatalogReads {
            index,
            room: Semaphore::new(KIB_IN_FLIGHT as usize),
            decoding: Semaphore::new(half),
        }
    }

    pub(crate) fn index(&self) -> &IndexStore {
        &self.index
    }

    /// As [`IndexStore::decoded`], when there is room and a processor for it.
    pub(crate) async fn decoded<T: Send + 'static>(
        &self,
        entry: &CatalogEntry,
        decode: impl FnOnce(&str, Bytes) -> Result<T, SegmentError> + Send + 'static,
    ) -> Result<T, SegmentError> {
        let kib = u32::try_from(entry.bytes >> 10).unwrap_or(u32::MAX);
        // Neither is ever closed.
        let _room = self.room.acquire_many(kib.min(KIB_IN_FLIGHT)).await;
        let bytes = self.index.get_by_hash(&entry.path).await?;
        let _turn = self.decoding.acquire().await;
        self.index.decode(entry, bytes, decode).await
    }
}

/// The keys of a catalog file's rows, in the order of lake, name and row.
#[derive(Debug)]
pub(crate) struct FileKeys {
    pub(crate) entry: CatalogEntry,
    lakes: Vec<String>,
    rows: Vec<KeyRow>,
    digests: Mutex<HashMap<u64, u128>>,
}

/// A row's key, and what says whether the row holds.
#[derive(Debug)]
pub(crate) struct KeyRow {
    lake: u32,
    name: Box<str>,
    /// Its number in the file.
    pub(crate) row: u64,
    pub(crate) removed: bool,
    /// xxh3-128 of the row's group.
    pub(crate) group: u128,
}

impl FileKeys {
    async fn read(reads: &CatalogReads, entry: &CatalogEntry) -> Result<FileKeys, SegmentError> {
        let count = entry.rows;
        let (lakes, rows) = reads
            .decoded(entry, move |object, bytes| {
                let (mut numbers, mut rows) = (HashMap::new(), Vec::new());
                visit_catalog(object, bytes, count, Some(&COLUMNS), &mut |row| {
                    let next = numbers.len() as u32;
                    rows.push(KeyRow {
                        lake: *numbers.entry(row.lake).or_insert(next),
                        name: row.name.into(),
                        row: rows.len() as u64,
                        removed: row.removed,
                        group: xxhash_rust::xxh3::xxh3_128(row.group.as_bytes()),
                    });
                })?;
                let mut lakes: Vec<(String, u32)> = numbers.into_iter().collect();
                lakes.sort_unstable();
                let mut places = vec![0; lakes.len()];
                for (place, (_, number)) in (0..).zip(&lakes) {
                    places[*number as usize] = place;
                }
                for row in &mut rows {
                    row.lake = places[row.lake as usize];
                }
                rows.sort_unstable_by(|a, b| {
                    (a.lake, &a.name, a.row).cmp(&(b.lake, &b.name, b.row))
                });
                let lakes = lakes.into_iter().map(|(lake, _)| lake);
                Ok((lakes.collect(), rows))
            })
            .await?;
        Ok(FileKeys {
            entry: entry.clone(),
            lakes,
            rows,
            digests: Mutex::default(),
        })
    }

    pub(crate) fn lakes(&self) -> &[String] {
        &self.lakes
    }

    pub(crate) fn key<'a>(&'a self, row: &'a KeyRow) -> KeyRef<'a> {
        KeyRef {
            lake: &self.lakes[row.lake as usize],
            name: &row.name,
        }
    }

    /// The rows of a lake whose names are `path` or lie below it, found by halving; all of the
    /// lake's for an empty one.
    pub(crate) fn under(&self, lake: &str, path: &str) -> impl Iterator<Item = &KeyRow> {
        let number = self.lakes.binary_search_by(|it| it.as_str().cmp(lake));
        let number = number.unwrap_or(self.lakes.len()) as u32;
        let path = path.trim_matches('/');
        let from = |name: &str| {
            self.rows
                .partition_point(|row| (row.lake, &*row.name) < (number, name))
        };
        let end = self.rows.partition_point(|row| row.lake <= number);
        let (own, below) = match path {
            "" => (0..0, from("")..end),
            // What lies below begins with the path and a slash, and '0' is the sign after the
            // slash.
            path => (
                from(path)..from(&format!("{path}\0")),
                from(&format!("{path}/"))..from(&format!("{path}0")),
            ),
        };
        self.rows[own].iter().chain(&self.rows[below])
    }

    /// The rows of a table, in their order.
    pub(crate) fn of(&self, table: KeyRef<'_>) -> &[KeyRow] {
        let from = self.rows.partition_point(|row| self.key(row) < table);
        let length = self.rows[from..].partition_point(|row| self.key(row) == table);
        &self.rows[from..from + length]
    }

    /// All rows, in the order of their keys.
    pub(crate) fn rows(&self) -> &[KeyRow] {
        &self.rows
    }

    /// What stands for a row's content, where that was worked out before.
    pub(crate) fn digest(&self, row: u64) -> Option<u128> {
        let digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        digests.get(&row).copied()
    }

    pub(crate) fn remember(&self, of_rows: impl IntoIterator<Item = (u64, u128)>) {
        let mut digests = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        digests.extend(of_rows);
    }

    fn bytes(&self) -> usize {
        let names: usize = self.rows.iter().map(|row| row.name.len()).sum();
        names + self.rows.len() * ROW_BYTES
    }
}

/// The keys of the catalog files that were asked for lately.
#[derive(Debug)]
pub(crate) struct KeptKeys {
    most: usize,
    kept: Mutex<Kept>,
}

type Reading = Arc<OnceCell<Arc<FileKeys>>>;

#[derive(Debug, Default)]
struct Kept {
    /// By path: when the file was last asked for, and its keys.
    files: HashMap<String, (u64, Reading)>,
    clock: u64,
}

impl KeptKeys {
    /// Keeps about so many bytes.
    pub(crate) fn new(most: usize) -> KeptKeys {
        KeptKeys {
            most,
            kept: Mutex::default(),
        }
    }

    /// The keys of a file. Of those who ask at the same time one reads it.
    pub(crate) async fn of(
        &self,
        reads: &CatalogReads,
        entry: &CatalogEntry,
    ) -> Result<Arc<FileKeys>, SegmentError> {
        let reading = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.clock += 1;
            let now = kept.clock;
            let file = kept.files.entry(entry.path.clone()).or_default();
            file.0 = now;
            Arc::clone(&file.1)
        };
        if let Some(keys) = reading.get() {
            return Ok(Arc::clone(keys));
        }
        let read = || async { FileKeys::read(reads, entry).await.map(Arc::new) };
        let keys = Arc::clone(reading.get_or_try_init(read).await?);
        self.make_room();
        Ok(keys)
    }

    /// Forgets what was asked for longest ago, until the rest fits; what was asked for last stays.
    fn make_room(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let size = |reading: &Reading| reading.get().map_or(0, |keys| keys.bytes());
        let mut sizes: Vec<(u64, String, usize)> = kept
            .files
            .iter()
            .map(|(path, (asked, reading))| (*asked, path.clone(), size(reading)))
            .collect();
        let mut bytes: usize = sizes.iter().map(|(_, _, bytes)| bytes).sum();
        if bytes <= self.most {
            return;
        }
        sizes.sort_unstable();
        sizes.pop();
        for (_, path, size) in sizes {
            if bytes <= self.most {
                break;
            }
            kept.files.remove(&path);
            bytes -= size;
        }
    }
}
