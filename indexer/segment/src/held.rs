//! The rows that hold: what a snapshot's catalog says of each table, followed from one snapshot to the
//! next at the cost of what is new.
//!
//! The catalog is a log, and of a table's rows the last one holds (but see [`TableRecord`]'s groups). A
//! snapshot keeps most files of the one before: only the others are read. Compaction puts one file in
//! the place of several, and its rows hold as theirs did; so what is known stays comparable by the
//! place that its file has in the newest log.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use crate::catalog::TableRecord;
use crate::error::SegmentError;
use crate::index_store::{IndexStore, READS_IN_FLIGHT};
use crate::snapshot::{CatalogEntry, Snapshot};
use crate::table::TableKey;

/// A file of the log: its path, and which it is of how many of this path. Files of the same content have the
/// same one; where their number changes nobody can tell which is gone, and all are read again.
type FileId = (String, u32, u32);

/// A row, and the file that it was read from.
#[derive(Clone, Debug)]
struct HeldRow {
    row: Arc<TableRecord>,
    file: u32,
}

/// The rows that hold in a snapshot, of one lake or all; those that say that a table is gone with them.
#[derive(Debug, Default)]
pub struct HeldRows {
    lake: Option<String>,
    /// The number that each file of the log has here.
    files: HashMap<FileId, u32>,
    next_file: u32,
    rows: BTreeMap<TableKey, HeldRow>,
}

/// A table's rows while the log is read.
struct Folding {
    now: Option<HeldRow>,
    /// The row that is known, with its place in the log, until the reading comes to it.
    ahead: Option<(usize, HeldRow)>,
}

impl Folding {
    fn take_in(&mut self, next: HeldRow) {
        let before = self.now.as_ref().map(|before| before.row.as_ref());
        if next.row.holds_after(before) {
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
    /// No rows yet, of the lake at `lake` or of all.
    #[must_use]
    pub fn of(lake: Option<&str>) -> Self {
        Self {
            lake: lake.map(str::to_owned),
            ..Self::default()
        }
    }

    /// The rows, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<TableRecord>> {
        self.rows.values().map(|held| &held.row)
    }

    /// The rows themselves.
    pub(crate) fn into_rows(self) -> Vec<TableRecord> {
        let rows = self.rows.into_values();
        rows.map(|held| Arc::unwrap_or_clone(held.row)).collect()
    }

    /// The row of a table.
    #[must_use]
    pub fn get(&self, table: &TableKey) -> Option<&Arc<TableRecord>> {
        self.rows.get(table).map(|held| &held.row)
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
    ) -> Result<Vec<(TableKey, Option<Arc<TableRecord>>)>, SegmentError> {
        let log = self.log(snapshot);
        let places: HashMap<u32, usize> =
            (0..).zip(&log).map(|(place, it)| (it.1, place)).collect();
        let known: HashSet<u32> = self.files.values().copied().collect();
        let mut folding: BTreeMap<TableKey, Folding> = BTreeMap::new();
        if !known.iter().all(|file| places.contains_key(file)) {
            let gone = |held: &HeldRow| !places.contains_key(&held.file);
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
        let mut read = stream::iter(new)
            .map(|(place, file, entry)| async move {
                let rows = index.catalog(&entry).await?;
                Ok::<_, SegmentError>((place, file, rows))
            })
            .buffered(READS_IN_FLIGHT);
        while let Some((place, file, rows)) = read.try_next().await? {
            for row in rows {
                if self.lake.as_ref().is_some_and(|lake| *lake != row.lake) {
                    continue;
                }
                let key = row.key();
                let ahead = || {
                    let held = self.rows.get(&key)?;
                    Some((*places.get(&held.file)?, held.clone()))
                };
                let table = folding.entry(key.clone()).or_insert_with(|| Folding {
                    now: None,
                    ahead: ahead(),
                });
                table.pass(place);
                table.take_in(HeldRow {
                    row: Arc::new(row),
                    file,
                });
            }
        }
        drop(read);
        self.next_file = log
            .iter()
            .map(|it| it.1 + 1)
            .max()
            .unwrap_or(0)
            .max(self.next_file);
        self.files = log.into_iter().map(|(id, file, _)| (id, file)).collect();
        let mut changed = Vec::with_capacity(folding.len());
        for (key, mut table) in folding {
            table.pass(usize::MAX);
            let before = match table.now {
                Some(held) => self.rows.insert(key.clone(), held),
                None => self.rows.remove(&key),
            };
            changed.push((key, before.map(|held| held.row)));
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
