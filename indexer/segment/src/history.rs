//! The history of one table: at which of the snapshots that still exist its row came, changed or
//! went.
//!
//! A table's rows are all in the catalog files of its shard, and two snapshots share most of them.
//! So each file is read once, whatever number of snapshots names it, and of each only this table's
//! rows are decoded and kept; the row that holds in a snapshot is then chosen from them in memory.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use crate::catalog::TableRecord;
use crate::diff::TableChanges;
use crate::error::SegmentError;
use crate::index_store::{IndexStore, READS_IN_FLIGHT};
use crate::snapshot::{CatalogEntry, Snapshot};
use crate::table::{Shard, TableKey};

/// Snapshots read ahead.
const SNAPSHOTS_IN_FLIGHT: usize = 4;

/// Tables that went in one snapshot, of which each may be one that another name was given.
const REMOVED_LOOKED_AT: usize = 64;

/// What became of one table.
#[derive(Clone, Debug)]
pub struct TableHistory {
    /// What happened, newest first.
    pub events: Vec<TableEvent>,
    /// Number of the oldest snapshot that was looked at.
    pub oldest: u64,
    /// When it was made, milliseconds since 1970.
    pub oldest_ms: i64,
    /// Whether the table was there in it.
    pub was_there: bool,
    /// Why no older one was.
    pub end: HistoryEnd,
}

/// Why a history goes no further back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryEnd {
    /// It begins with the index's first snapshot.
    Beginning,
    /// As many snapshots were looked at as were asked for.
    Limit,
    /// Older snapshots do not exist any more.
    Collected,
    /// The next older snapshot cannot be read; what is wrong.
    Unreadable(String),
}

/// A snapshot in which a table's row is another than in the one before.
#[derive(Clone, Debug)]
pub struct TableEvent {
    /// Number of the snapshot.
    pub snapshot: u64,
    /// When it was made, milliseconds since 1970.
    pub created_ms: i64,
    /// Number of the snapshot before it that still exists; `None` for the index's first.
    pub previous: Option<u64>,
    /// The row before; `None` if the table was not there: it appeared.
    pub before: Option<Arc<TableRecord>>,
    /// The row since; `None` if the table is not there: it vanished.
    pub after: Option<Arc<TableRecord>>,
}

impl TableEvent {
    /// How the table differs. Nothing does where it was only described anew.
    #[must_use]
    pub fn changes(&self) -> TableChanges {
        let rows = |row: &Option<Arc<TableRecord>>| row.as_deref().cloned().into_iter().collect();
        TableChanges::between(rows(&self.before), rows(&self.after))
    }
}

/// A snapshot that was looked at.
struct Seen {
    number: u64,
    created_ms: i64,
    parent: Option<String>,
    row: Option<Arc<TableRecord>>,
}

/// The rows of a table, by the path of the catalog file that they are in.
type Known = HashMap<String, Vec<Arc<TableRecord>>>;

impl IndexStore {
    /// What became of a table up to `newest`, over that snapshot and those before it that still
    /// exist, `snapshots` of them at most. Where only its blocks moved (a compaction), nothing
    /// happened.
    ///
    /// One listing, one read a snapshot, and one of each catalog file of the table's shard that one
    /// of them names.
    ///
    /// # Errors
    /// Store errors, and `newest`'s catalog being unreadable; where an older snapshot is damaged or
    /// missing the history ends ([`TableHistory::end`]).
    pub async fn history(
        &self,
        newest: &Snapshot,
        table: &TableKey,
        snapshots: usize,
    ) -> Result<TableHistory, SegmentError> {
        let mut known = Known::new();
        let mut last = Seen::of(self.row_in(newest, table, &mut known).await?, newest);
        let mut events = Vec::new();
        let older = self.snapshots().await?.into_iter();
        let older = older.filter(|it| it.number < newest.number);
        let older: Vec<u64> = older.map(|it| it.number).collect();
        let looked_at: Vec<u64> = older
            .iter()
            .copied()
            .take(snapshots.saturating_sub(1))
            .collect();
        let mut reads = stream::iter(looked_at)
            .map(|number| self.snapshot(number))
            .buffered(SNAPSHOTS_IN_FLIGHT);
        let mut end = None;
        while let Some(read) = reads.next().await {
            let before = async {
                let snapshot = read?;
                let row = self.row_in(&snapshot, table, &mut known).await?;
                Ok::<_, SegmentError>((snapshot.writer.clone(), Seen::of(row, &snapshot)))
            };
            let (writer, before) = match before.await {
                Ok(before) => before,
                Err(error) => {
                    end = Some(HistoryEnd::at(error)?);
                    break;
                }
            };
            // Collection leaves no gaps, so what is beyond one, or is not what the next was built
            // on, was left by a writer that lost a race for a number which was free again.
            let is_built_on = last.parent.as_ref().is_none_or(|it| *it == writer);
            if !before.is_just_before(&last) || !is_built_on {
                end = Some(HistoryEnd::Collected);
                break;
            }
            events.extend(last.since(Some(&before)));
            last = before;
        }
        drop(reads);
        let is_first = last.number == 1;
        let end = end.unwrap_or(match older.iter().any(|number| *number < last.number) {
            true => HistoryEnd::Limit,
            false if is_first => HistoryEnd::Beginning,
            false => HistoryEnd::Collected,
        });
        if is_first {
            events.extend(last.since(None));
        }
        Ok(TableHistory {
            events,
            oldest: last.number,
            oldest_ms: last.created_ms,
            was_there: last.row.is_some(),
            end,
        })
    }

    /// What a table was before the snapshot in which it appeared under its name: the table of
    /// another name that went there and had the same files, and the snapshot in which it still was.
    /// Only tables that are `seen` are looked at, and of many that went at once
    /// [`REMOVED_LOOKED_AT`], those first whose names end alike. `None` also where the files of
    /// before are damaged or missing.
    ///
    /// Two reads, one of each catalog file that the snapshot added, and one of each older one of
    /// the shards of tables that went.
    ///
    /// # Errors
    /// Store errors that may pass.
    pub async fn before_renaming(
        &self,
        event: &TableEvent,
        seen: impl Fn(&TableKey) -> bool,
    ) -> Result<Option<(Snapshot, TableKey)>, SegmentError> {
        match self.find_before_renaming(event, seen).await {
            Err(error) => HistoryEnd::at(error).map(|_| None),
            found => found,
        }
    }

    async fn find_before_renaming(
        &self,
        event: &TableEvent,
        seen: impl Fn(&TableKey) -> bool,
    ) -> Result<Option<(Snapshot, TableKey)>, SegmentError> {
        let (None, Some(after), Some(previous)) = (&event.before, &event.after, event.previous)
        else {
            return Ok(None);
        };
        let now = self.snapshot(event.snapshot).await?;
        let before = self.snapshot(previous).await?;
        let known: HashSet<&str> = before.catalog.iter().map(|it| it.path.as_str()).collect();
        let is_new = |entry: &&CatalogEntry| !known.contains(entry.path.as_str());
        let mut removed = Vec::new();
        for entry in now.catalog.iter().filter(is_new) {
            let columns = &["lake", "name", "removed"];
            let rows = self.catalog_columns(entry, columns).await?.into_iter();
            let went = rows.filter(|row| row.removed && row.lake == after.lake);
            removed.extend(went.map(|row| row.key()).filter(&seen));
        }
        let last_part = |name: &str| name.rsplit('/').next().map(str::to_owned);
        let wanted = last_part(&after.name);
        removed.sort_by_cached_key(|key| (last_part(&key.name) != wanted, key.clone()));
        removed.truncate(REMOVED_LOOKED_AT);
        let rows = self.rows_in(&before, removed).await?;
        let changes = TableChanges::between(rows, vec![TableRecord::clone(after)]);
        let renamed = changes.renamed.into_iter().next();
        Ok(renamed.map(|it| {
            let old = TableKey {
                lake: it.lake,
                name: it.from,
            };
            (before, old)
        }))
    }

    /// The rows of some tables in a snapshot, in any order; one read of each file of their shards.
    async fn rows_in(
        &self,
        snapshot: &Snapshot,
        tables: Vec<TableKey>,
    ) -> Result<Vec<TableRecord>, SegmentError> {
        let mut by_shard: HashMap<Shard, HashSet<TableKey>> = HashMap::new();
        for table in tables {
            let shard = table.shard(snapshot.shards);
            by_shard.entry(shard).or_default().insert(table);
        }
        let mut now: HashMap<TableKey, TableRecord> = HashMap::new();
        for entry in &snapshot.catalog {
            let Some(tables) = by_shard.get(&entry.shard) else {
                continue;
            };
            for row in self.rows_of(entry, tables.clone()).await? {
                if row.holds_after(now.get(&row.key())) {
                    now.insert(row.key(), row);
                }
            }
        }
        Ok(now.into_values().filter(|row| !row.removed).collect())
    }

    /// A table's row in a snapshot; reads the files that are not known yet.
    async fn row_in(
        &self,
        snapshot: &Snapshot,
        table: &TableKey,
        known: &mut Known,
    ) -> Result<Option<Arc<TableRecord>>, SegmentError> {
        let shard = table.shard(snapshot.shards);
        let log = || snapshot.catalog.iter().filter(|it| it.shard == shard);
        let mut wanted = HashSet::new();
        let missing = log().filter(|it| !known.contains_key(&it.path) && wanted.insert(&it.path));
        let missing: Vec<_> = missing.cloned().collect();
        let mut reads = stream::iter(missing)
            .map(|entry| async move {
                let rows = self.rows_of(&entry, [table.clone()].into()).await?;
                Ok::<_, SegmentError>((entry.path, rows))
            })
            .buffer_unordered(READS_IN_FLIGHT);
        while let Some((path, rows)) = reads.try_next().await? {
            known.insert(path, rows.into_iter().map(Arc::new).collect());
        }
        let mut now: Option<&Arc<TableRecord>> = None;
        for row in log().filter_map(|it| known.get(&it.path)).flatten() {
            if row.holds_after(now.map(Arc::as_ref)) {
                now = Some(row);
            }
        }
        Ok(now.filter(|row| !row.removed).cloned())
    }
}

impl Seen {
    fn of(row: Option<Arc<TableRecord>>, snapshot: &Snapshot) -> Seen {
        Seen {
            number: snapshot.number,
            created_ms: snapshot.created_ms,
            parent: snapshot.parent.clone(),
            row,
        }
    }

    fn is_just_before(&self, later: &Seen) -> bool {
        self.number.checked_add(1) == Some(later.number)
    }

    /// What happened in this snapshot, after the one before.
    fn since(&self, before: Option<&Seen>) -> Option<TableEvent> {
        let row = before.and_then(|it| it.row.as_ref());
        let is_same = match (row, &self.row) {
            (None, None) => true,
            // The files that compaction has not touched give the very row.
            (Some(before), Some(after)) => {
                Arc::ptr_eq(before, after) || after.is_same_but_for_place(before)
            }
            _ => false,
        };
        (!is_same).then(|| TableEvent {
            snapshot: self.number,
            created_ms: self.created_ms,
            previous: before.map(|it| it.number),
            before: row.cloned(),
            after: self.row.clone(),
        })
    }
}

impl HistoryEnd {
    /// Why an older snapshot could not be looked at; what may be otherwise next time is an error.
    fn at(error: SegmentError) -> Result<HistoryEnd, SegmentError> {
        let is_collected =
            error.is_absence() || matches!(error, SegmentError::NoSuchSnapshot { .. });
        if is_collected {
            return Ok(HistoryEnd::Collected);
        }
        let is_final = error.is_damage() || matches!(error, SegmentError::NewerFormat { .. });
        if is_final {
            return Ok(HistoryEnd::Unreadable(error.to_string()));
        }
        Err(error)
    }
}
