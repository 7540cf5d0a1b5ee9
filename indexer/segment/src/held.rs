//! The rows that hold: each table's row in a snapshot's catalog, followed from one snapshot to the
//! next at the cost of what is new.
//!
//! The catalog is a log, and of a table's rows the last one holds (but see [`TableRecord`]'s
//! groups). A snapshot keeps most files of the one before: only the others are read. Compaction
//! puts one file in the place of several, and its rows hold as theirs did; so what is known stays
//! comparable by the place that its file has in the newest log.
//!
//! What is kept of a row is the follower's choice ([`HeldValue`]): a writer needs all of it, a
//! query node a few numbers, and reads the whole row of one table when somebody asks
//! ([`HeldRows::file_of`], [`IndexStore::row`]).

mod log;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use tokio::sync::Semaphore;

pub(crate) use self::log::Log;
use self::log::LogFile;
use crate::catalog::{TableRecord, holds_after};
use crate::catalog_read::visit_catalog;
use crate::error::SegmentError;
use crate::index_store::IndexStore;
use crate::snapshot::{CatalogEntry, Snapshot};
use crate::table::TableKey;

/// Files read at a time: an index of many small ones is as far away as any other.
const FILES_IN_FLIGHT: usize = 32;
/// KiB of catalog files and of what is kept of their rows that are in memory at a time while they
/// are read; one larger file may be.
const KIB_IN_FLIGHT: u32 = 32 << 10;
/// Rows that wait to be taken in, where there were none before.
const TAKEN_IN: usize = 4_096;
/// About what is kept of a row takes until it is taken in, in bytes, where that is little.
const ROW_IN_FLIGHT: u64 = 256;

/// What is kept of a table's row: the row itself ([`TableRecord`]), or something small.
pub trait HeldValue: Send + Sync + 'static {
    /// Columns of the catalog that it is made of, by their Parquet paths: `"rows"`, or
    /// `"columns.list.element.name"` of a nested one, or `"columns"` for all below it. Only these
    /// and those that decide which row holds are decoded; `None` stands for all.
    const COLUMNS: Option<&'static [&'static str]>;

    /// What rows are taken in with, where they need anything besides: `()` otherwise.
    type With: Clone + Default + Send + Sync + 'static;

    /// What is kept of a row. It may be a tombstone ([`TableRecord::removed`]); the
    /// columns that were not asked for are empty, but for `lake`, `name`, `removed` and `group`.
    fn of_row(row: TableRecord, with: &Self::With) -> Self;
}

impl HeldValue for TableRecord {
    const COLUMNS: Option<&'static [&'static str]> = None;
    type With = ();

    fn of_row(row: TableRecord, _: &()) -> Self {
        row
    }
}

/// Columns that say which row holds.
const KEY_COLUMNS: [&str; 4] = ["lake", "name", "removed", "group"];

type IsSuch = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Which tables' rows are kept.
#[derive(Clone, Default)]
pub(crate) struct Kept {
    /// Those of this lake; of all, if none is given.
    lake: Option<String>,
    /// Those with such names, if given.
    is_such: Option<IsSuch>,
}

impl Kept {
    /// Those of one lake, or of all.
    pub(crate) fn of(lake: Option<&str>) -> Kept {
        Kept {
            lake: lake.map(str::to_owned),
            is_such: None,
        }
    }

    fn has(&self, row: &TableRecord) -> bool {
        self.lake.as_ref().is_none_or(|lake| *lake == row.lake)
            && self
                .is_such
                .as_ref()
                .is_none_or(|is_such| is_such(&row.name))
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept")
            .field("lake", &self.lake)
            .finish_non_exhaustive()
    }
}

/// Rows that hold, wherever they are kept.
pub(crate) trait Rows<T> {
    /// A table's.
    fn held(&self, table: &TableKey) -> Option<HeldRow<T>>;

    /// The tables whose rows are of such files.
    fn of_files(&self, is_such: &(dyn Fn(u32) -> bool + Sync)) -> Vec<TableKey>;

    /// Whether so many changed rows have to be taken in before there are more.
    fn is_much(&self, changed: usize) -> bool;

    /// Takes in what holds now of tables; `None` where there is no row any more.
    fn take_in(
        &mut self,
        changed: BTreeMap<TableKey, Option<HeldRow<T>>>,
    ) -> Result<(), SegmentError>;
}

/// Brings rows from the log that was last seen to this one: reads the files that are new.
pub(crate) async fn follow<T: HeldValue, R: Rows<T> + Send + Sync>(
    index: &IndexStore,
    before: &Log,
    log: &[LogFile<'_>],
    (kept, with): (&Kept, &T::With),
    rows: &mut R,
) -> Result<(), SegmentError> {
    let places: HashMap<u32, usize> = (0..)
        .zip(log)
        .map(|(place, file)| (file.number, place))
        .collect();
    let known = before.numbers();
    let mut folding: BTreeMap<TableKey, Folding<T>> = BTreeMap::new();
    if !known.iter().all(|file| places.contains_key(file)) {
        let nothing = || Folding {
            now: None,
            ahead: None,
        };
        let dropped = rows.of_files(&|file| !places.contains_key(&file));
        folding.extend(dropped.into_iter().map(|key| (key, nothing())));
    }
    let new = (0..)
        .zip(log)
        .filter(|(_, file)| !known.contains(&file.number));
    let new: Vec<(usize, u32, CatalogEntry)> = new
        .map(|(place, file)| (place, file.number, file.entry.clone()))
        .collect();
    let room = Semaphore::new(KIB_IN_FLIGHT as usize);
    let room = &room;
    let mut read = stream::iter(new)
        .map(|(place, file, entry)| async move {
            let bytes = entry
                .bytes
                .saturating_add(entry.rows.saturating_mul(ROW_IN_FLIGHT));
            let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX);
            // It is never closed. Waiters are served in order, the order in which the files are
            // wanted.
            let permit = room.acquire_many(kib.min(KIB_IN_FLIGHT)).await;
            let rows = read_file(index, &entry, file, (kept, with)).await?;
            Ok::<_, SegmentError>((place, rows, permit))
        })
        .buffered(FILES_IN_FLIGHT);
    while let Some((place, read, permit)) = read.try_next().await? {
        for (key, row) in read {
            let ahead = || {
                let held = rows.held(&key)?;
                Some((*places.get(&held.file)?, held))
            };
            let ahead = ahead();
            let table = folding.entry(key).or_insert(Folding { now: None, ahead });
            table.pass(place);
            table.take_in(row);
        }
        drop(permit);
        // A row that stands further down the log must wait for what comes before it.
        let is_ahead = |table: &Folding<T>| table.ahead.is_some();
        if rows.is_much(folding.len()) && !folding.values().any(is_ahead) {
            let folded = std::mem::take(&mut folding).into_iter();
            rows.take_in(folded.map(|(key, table)| (key, table.now)).collect())?;
        }
    }
    drop(read);
    let folded = folding.into_iter().map(|(key, mut table)| {
        table.pass(usize::MAX);
        (key, table.now)
    });
    rows.take_in(folded.collect())
}

/// What is kept of a row, and the file that it was read from.
#[derive(Debug)]
pub(crate) struct HeldRow<T> {
    pub(crate) value: Arc<T>,
    pub(crate) file: u32,
    pub(crate) removed: bool,
    /// xxh3-128 of the row's group.
    pub(crate) group: u128,
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
    fn new(row: TableRecord, file: u32, with: &T::With) -> HeldRow<T> {
        HeldRow {
            file,
            removed: row.removed,
            group: xxhash_rust::xxh3::xxh3_128(row.group.as_bytes()),
            value: Arc::new(T::of_row(row, with)),
        }
    }
}

impl<T> HeldRow<T> {
    fn removed_and_group(&self) -> (bool, u128) {
        (self.removed, self.group)
    }
}

/// The rows that hold in a snapshot, of one lake or all; with tombstones among
/// them.
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
///     type With = ();
///     fn of_row(row: TableRecord, _: &()) -> Self {
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
pub struct HeldRows<T: HeldValue = TableRecord> {
    kept: Kept,
    with: T::With,
    log: Log,
    rows: BTreeMap<TableKey, HeldRow<T>>,
}

// Not derived: that would ask for it of what is kept.
impl<T: HeldValue> fmt::Debug for HeldRows<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldRows")
            .field("kept", &self.kept)
            .field("rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}

impl<T: HeldValue> Default for HeldRows<T> {
    fn default() -> Self {
        HeldRows {
            kept: Kept::default(),
            with: T::With::default(),
            log: Log::default(),
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
        if holds_after(
            next.removed_and_group(),
            self.now.as_ref().map(HeldRow::removed_and_group),
        ) {
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
            kept: Kept::of(lake),
            ..Self::default()
        }
    }

    /// As [`keeping`](Self::keeping); rows are taken in with this.
    #[must_use]
    pub fn with(mut self, with: T::With) -> Self {
        self.with = with;
        self
    }

    /// As [`keeping`](Self::keeping), and only of tables with such names.
    #[must_use]
    pub fn only(mut self, is_such: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.kept.is_such = Some(Arc::new(is_such));
        self
    }

    /// Rows of the same log of which something else is kept, which `keep` makes of what is kept
    /// here.
    ///
    /// # Errors
    /// The first of `keep`.
    pub fn map<U: HeldValue, E>(
        &self,
        keep: impl Fn(&T) -> Result<U, E>,
    ) -> Result<HeldRows<U>, E> {
        let rows = self.rows.iter().map(|(key, held)| {
            let row = HeldRow {
                value: Arc::new(keep(&held.value)?),
                file: held.file,
                removed: held.removed,
                group: held.group,
            };
            Ok((key.clone(), row))
        });
        Ok(HeldRows {
            kept: self.kept.clone(),
            with: U::With::default(),
            log: self.log.clone(),
            rows: rows.collect::<Result<_, E>>()?,
        })
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

    /// What is kept of a table's row, which may be a tombstone.
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
        self.log.entry(self.rows.get(table)?.file)
    }

    /// Goes on to `snapshot`: reads the files that it names and the one before did not. Gives the
    /// tables whose rows are others now, or are of other files, with the rows that held before.
    ///
    /// # Errors
    /// Those of [`IndexStore::catalog`]; the rows are as they were then.
    pub async fn advance(
        &mut self,
        index: &IndexStore,
        snapshot: &Snapshot,
    ) -> Result<Vec<(TableKey, Option<Arc<T>>)>, SegmentError> {
        let log = self.log.of(snapshot);
        let is_first = self.rows.is_empty();
        let mut rows = Changing {
            rows: &mut self.rows,
            changed: Vec::new(),
            is_first,
        };
        let kept = (&self.kept, &self.with);
        let followed = follow::<T, _>(index, &self.log, &log, kept, &mut rows).await;
        let mut changed = rows.changed;
        if is_first {
            if followed.is_err() {
                self.rows.clear();
            }
            changed = self.rows.keys().map(|it| (it.clone(), None)).collect();
        }
        followed?;
        self.log.go_on(log);
        Ok(changed)
    }
}

/// Rows in a map, and what held before of those that changed.
struct Changing<'a, T> {
    rows: &'a mut BTreeMap<TableKey, HeldRow<T>>,
    changed: Vec<(TableKey, Option<Arc<T>>)>,
    /// Whether there were none before.
    is_first: bool,
}

impl<T> Rows<T> for Changing<'_, T> {
    fn held(&self, table: &TableKey) -> Option<HeldRow<T>> {
        self.rows.get(table).cloned()
    }

    fn of_files(&self, is_such: &(dyn Fn(u32) -> bool + Sync)) -> Vec<TableKey> {
        let such = self.rows.iter().filter(|(_, held)| is_such(held.file));
        such.map(|(key, _)| key.clone()).collect()
    }

    fn is_much(&self, changed: usize) -> bool {
        // All at once, or (after an error) nothing: where there was nothing before, that is easy.
        self.is_first && changed >= TAKEN_IN
    }

    fn take_in(
        &mut self,
        changed: BTreeMap<TableKey, Option<HeldRow<T>>>,
    ) -> Result<(), SegmentError> {
        for (key, now) in changed {
            let before = match now {
                Some(held) => self.rows.insert(key.clone(), held),
                None => self.rows.remove(&key),
            };
            // At first all have.
            if !self.is_first {
                self.changed.push((key, before.map(|held| held.value)));
            }
        }
        Ok(())
    }
}

/// The rows that are kept in the order of a file.
async fn read_file<T: HeldValue>(
    index: &IndexStore,
    entry: &CatalogEntry,
    file: u32,
    (kept, with): (&Kept, &T::With),
) -> Result<Vec<(TableKey, HeldRow<T>)>, SegmentError> {
    let (count, kept, with) = (entry.rows, kept.clone(), with.clone());
    let decode = move |object: &str, bytes| {
        let columns = T::COLUMNS.map(|columns| [&KEY_COLUMNS, columns].concat());
        let mut rows = Vec::new();
        visit_catalog(object, bytes, count, columns.as_deref(), &mut |row| {
            if kept.has(&row) {
                rows.push((row.key(), HeldRow::new(row, file, &with)));
            }
        })?;
        Ok(rows)
    };
    index.decoded(entry, decode).await
}
