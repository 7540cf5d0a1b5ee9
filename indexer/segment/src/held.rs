//! The rows that hold: what a snapshot's catalog says of each table, followed from one snapshot to the
//! next at the cost of what is new.
//!
//! The catalog is a log, and of a table's rows the last one holds (but see [`TableRecord`]'s groups). A
//! snapshot keeps most files of the one before: only the others are read. Compaction puts one file in
//! the place of several, and its rows hold as theirs did; so what is known stays comparable by the
//! place that its file has in the newest log.
//!
//! What is kept of a row is the follower's choice ([`HeldValue`]): a writer needs all of it, a query node a
//! few numbers, and reads the whole row of one table when somebody asks ([`HeldRows::file_of`],
//! [`IndexStore::row`]).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::Semaphore;

use crate::catalog::{TableRecord, holds_after};
use crate::catalog_read::visit_catalog;
use crate::error::SegmentError;
use crate::index_store::{IndexStore, READS_IN_FLIGHT};
use crate::snapshot::{CatalogEntry, Snapshot};
use crate::table::TableKey;

/// KiB of catalog files that are in memory at a time while they are read; one larger file may be.
const KIB_IN_FLIGHT: u32 = 32 << 10;

/// What is kept of a table's row: the row itself ([`TableRecord`]), or something small.
pub trait HeldValue: Send + Sync + 'static {
    /// Columns of the catalog that it is made of, by their Parquet paths: `"rows"`, or
    /// `"columns.list.element.name"` of a nested one, or `"columns"` for all below it. Only these and
    /// those that tell which row holds are decoded; `None` stands for all.
    const COLUMNS: Option<&'static [&'static str]>;

    /// What is kept of a row. It may say that its table is gone ([`TableRecord::removed`]); the columns that were not asked for are
    /// empty, but for `lake`, `name`, `removed` and `group`.
    fn of_row(row: TableRecord) -> Self;
}

impl HeldValue for TableRecord {
    const COLUMNS: Option<&'static [&'static str]> = None;

    fn of_row(row: TableRecord) -> Self {
        row
    }
}

/// Columns that say which row holds.
const KEY_COLUMNS: [&str; 4] = ["lake", "name", "removed", "group"];

/// A file of the log: its path, and which it is of how many of this path. Files of the same content have the
/// same one; where their number changes nobody can tell which is gone, and all are read again.
type FileId = (String, u32, u32);

/// What is kept of a row, and the file that it was read from.
#[derive(Debug)]
struct HeldRow<T> {
    value: Arc<T>,
    file: u32,
    removed: bool,
    /// xxh3-128 of the row's group.
    group: u128,
}

// Not derived: what is shared need not be `Clone`.
impl<T> Clone for HeldRow<T> {
    fn clone(&self) -> Self {
        HeldRow {
            value: Arc::clone(&self.value),
            ..*self
        }
    }
}

impl<T: HeldValue> HeldRow<T> {
    fn new(row: TableRecord, file: u32) -> HeldRow<T> {
        HeldRow {
            file,
            removed: row.removed,
            group: xxhash_rust::xxh3::xxh3_128(row.group.as_bytes()),
            value: Arc::new(T::of_row(row)),
        }
    }
}

impl<T> HeldRow<T> {
    fn stand(&self) -> (bool, u128) {
        (self.removed, self.group)
    }
}

/// The rows that hold in a snapshot, of one lake or all; those that say that a table is gone with them.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # use limn_segment::*;
/// # let index = IndexStore::new(limn_store::Store::in_memory());
/// # let row = TableRecord { lake: "s3://lake".into(), name: "t".into(), rows: Some(7), ..TableRecord::default() };
/// # let mut snapshot = Snapshot::first("m", 3, 1);
/// # snapshot.catalog.push(index.put_catalog(Shard(0), &[row]).await?);
/// struct Rows(Option<u64>);
/// impl HeldValue for Rows {
///     const COLUMNS: Option<&'static [&'static str]> = Some(&["rows"]);
///     fn of_row(row: TableRecord) -> Self {
///         Rows(row.rows)
///     }
/// }
/// let mut held: HeldRows<Rows> = HeldRows::keeping(None);
/// held.advance(&index, &snapshot).await?;
/// for (table, rows) in held.live() {
///     assert_eq!((table.name.as_str(), rows.0), ("t", Some(7)));
///     if let Some(file) = held.file_of(table) {
///         assert!(index.row(file, table).await?.is_some_and(|row| row.sample.is_empty()));
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct HeldRows<T = TableRecord> {
    lake: Option<String>,
    /// The number that each file of the log has here.
    files: HashMap<FileId, u32>,
    /// The files by their numbers.
    entries: HashMap<u32, CatalogEntry>,
    next_file: u32,
    rows: BTreeMap<TableKey, HeldRow<T>>,
}

// Not derived: that would ask for it of what is kept.
impl<T> Default for HeldRows<T> {
    fn default() -> Self {
        HeldRows {
            lake: None,
            files: HashMap::new(),
            entries: HashMap::new(),
            next_file: 0,
            rows: BTreeMap::new(),
        }
    }
}

/// A table's rows while the log is read.
struct Folding<T> {
    now: Option<HeldRow<T>>,
    /// The row that is known, with its place in the log, until the reading comes to it.
    ahead: Option<(usize, HeldRow<T>)>,
}

impl<T> Folding<T> {
    fn take_in(&mut self, next: HeldRow<T>) {
        if holds_after(next.stand(), self.now.as_ref().map(HeldRow::stand)) {
            self.now = Some(next);
        }
    }

    /// Takes in the known row if it stands before `place`.
    fn pass(&mut self, place: usize) {
        if let Some((_, known)) = self.ahead.take_if(|(at, _)| *at < place) {
            self.take_in(known);
        }
    }
}

impl HeldRows {
    /// No rows yet, of the lake at `lake` or of all; whole rows are kept.
    #[must_use]
    pub fn of(lake: Option<&str>) -> Self {
        Self::keeping(lake)
    }

    /// The rows themselves.
    pub(crate) fn into_rows(self) -> Vec<TableRecord> {
        let rows = self.rows.into_values();
        rows.map(|held| Arc::unwrap_or_clone(held.value)).collect()
    }
}

impl<T: HeldValue> HeldRows<T> {
    /// As [`HeldRows::of`], keeping of each row what `T` does.
    #[must_use]
    pub fn keeping(lake: Option<&str>) -> Self {
        Self {
            lake: lake.map(str::to_owned),
            ..Self::default()
        }
    }

    /// What is kept of the rows, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.rows.values().map(|held| &held.value)
    }

    /// The tables that there are, in the order of their keys, and what is kept of them.
    pub fn live(&self) -> impl Iterator<Item = (&TableKey, &Arc<T>)> {
        let live = self.rows.iter().filter(|(_, held)| !held.removed);
        live.map(|(table, held)| (table, &held.value))
    }

    /// What is kept of a table's row, which may say that it is gone.
    #[must_use]
    pub fn get(&self, table: &TableKey) -> Option<&Arc<T>> {
        self.rows.get(table).map(|held| &held.value)
    }

    /// What is kept of a table that there is.
    #[must_use]
    pub fn get_live(&self, table: &TableKey) -> Option<&Arc<T>> {
        let held = self.rows.get(table).filter(|held| !held.removed)?;
        Some(&held.value)
    }

    /// The file of the catalog that holds a table's row, for [`IndexStore::row`].
    #[must_use]
    pub fn file_of(&self, table: &TableKey) -> Option<&CatalogEntry> {
        self.entries.get(&self.rows.get(table)?.file)
    }

    /// Goes on to `snapshot`: reads the files that it names and the one before did not. Gives the tables
    /// whose rows are others now, or are of other files, with the rows that held before.
    ///
    /// # Errors
    /// Those of [`IndexStore::catalog`]; the rows are as they were then.
    pub async fn advance(
        &mut self,
        index: &IndexStore,
        snapshot: &Snapshot,
    ) -> Result<Vec<(TableKey, Option<Arc<T>>)>, SegmentError> {
        let log = self.log(snapshot);
        let places: HashMap<u32, usize> =
            (0..).zip(&log).map(|(place, it)| (it.1, place)).collect();
        let known: HashSet<u32> = self.files.values().copied().collect();
        let mut folding: BTreeMap<TableKey, Folding<T>> = BTreeMap::new();
        if !known.iter().all(|file| places.contains_key(file)) {
            let gone = |held: &HeldRow<T>| !places.contains_key(&held.file);
            let gone = self.rows.iter().filter(|(_, held)| gone(held));
            let nothing = || Folding {
                now: None,
                ahead: None,
            };
            folding.extend(gone.map(|(key, _)| (key.clone(), nothing())));
        }
        let new = (0..)
            .zip(&log)
            .filter(|(_, (_, file, _))| !known.contains(file));
        let new: Vec<(usize, u32, CatalogEntry)> = new
            .map(|(place, (_, file, entry))| (place, *file, (*entry).clone()))
            .collect();
        let (room, lake) = (Semaphore::new(KIB_IN_FLIGHT as usize), self.lake.as_deref());
        let room = &room;
        let mut read = stream::iter(new)
            .map(|(place, file, entry)| async move {
                let kib = u32::try_from(entry.bytes >> 10).unwrap_or(u32::MAX);
                // It is never closed. Who waits is served in order, the order in which the files are wanted.
                let _permit = room.acquire_many(kib.min(KIB_IN_FLIGHT)).await;
                let rows = read_file(index, &entry, file, lake).await?;
                Ok::<_, SegmentError>((place, rows))
            })
            .buffered(READS_IN_FLIGHT);
        while let Some((place, rows)) = read.try_next().await? {
            for (key, row) in rows {
                let ahead = || {
                    let held = self.rows.get(&key)?;
                    Some((*places.get(&held.file)?, held.clone()))
                };
                let ahead = ahead();
                let table = folding.entry(key).or_insert(Folding { now: None, ahead });
                table.pass(place);
                table.take_in(row);
            }
        }
        drop(read);
        self.next_file = log
            .iter()
            .map(|it| it.1 + 1)
            .max()
            .unwrap_or(0)
            .max(self.next_file);
        let entries = log.iter().map(|(_, file, entry)| (*file, (*entry).clone()));
        self.entries = entries.collect();
        self.files = log.into_iter().map(|(id, file, _)| (id, file)).collect();
        let mut changed = Vec::with_capacity(folding.len());
        for (key, mut table) in folding {
            table.pass(usize::MAX);
            let before = match table.now {
                Some(held) => self.rows.insert(key.clone(), held),
                None => self.rows.remove(&key),
            };
            changed.push((key, before.map(|held| held.value)));
        }
        Ok(changed)
    }

    /// The files of a snapshot's catalog in order, with the numbers that they have or get here.
    fn log<'a>(&self, snapshot: &'a Snapshot) -> Vec<(FileId, u32, &'a CatalogEntry)> {
        let mut times: HashMap<&str, (u32, u32)> = HashMap::new();
        for entry in &snapshot.catalog {
            times.entry(entry.path.as_str()).or_default().1 += 1;
        }
        let mut next = self.next_file;
        let mut log = Vec::with_capacity(snapshot.catalog.len());
        for entry in &snapshot.catalog {
            let (time, of) = times.entry(entry.path.as_str()).or_default();
            let id = (entry.path.clone(), *time, *of);
            *time += 1;
            let file = self.files.get(&id).copied().unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            log.push((id, file, entry));
        }
        log
    }
}

/// What is kept of a file's rows, of one lake or all, in their order.
async fn read_file<T: HeldValue>(
    index: &IndexStore,
    entry: &CatalogEntry,
    file: u32,
    lake: Option<&str>,
) -> Result<Vec<(TableKey, HeldRow<T>)>, SegmentError> {
    let (count, lake) = (entry.rows, lake.map(str::to_owned));
    let decode = move |object: &str, bytes| {
        let columns = T::COLUMNS.map(|columns| [&KEY_COLUMNS, columns].concat());
        let mut rows = Vec::new();
        visit_catalog(object, bytes, count, columns.as_deref(), &mut |row| {
            if lake.as_ref().is_none_or(|lake| *lake == row.lake) {
                rows.push((row.key(), HeldRow::new(row, file)));
            }
        })?;
        Ok(rows)
    };
    index.decoded(entry, decode).await
}
