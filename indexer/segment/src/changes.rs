//! What changed between two snapshots, for somebody who may see some of the tables.
//!
//! Two snapshots share most of their catalog files, and only tables with a row in a file that they
//! do not share can differ. Of these files the keys are looked through first (`file_keys.rs`), and
//! what may not be seen ends there. Of the rows that are left a digest is made and remembered, a
//! batch at a time; only those that do differ are read whole and compared ([`TableChanges`]). So
//! the cost follows what changed and may be seen, not the size of the catalog, and comparing one
//! snapshot with many earlier ones reads each row once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use xxhash_rust::xxh3::Xxh3Default;

use crate::catalog::{TableRecord, holds_after};
use crate::catalog_read::visit_rows;
use crate::diff::TableChanges;
use crate::error::SegmentError;
use crate::file_keys::{CatalogReads, FileKeys, KeptKeys, KeyRow};
use crate::index_store::IndexStore;
use crate::snapshot::{CatalogEntry, Snapshot};
use crate::table::{KeyRef, Shard, TableKey};

/// Bytes of keys that are kept.
const KEPT: usize = 64 << 20;
/// Catalog files read at a time for one comparison.
const FILES_IN_FLIGHT: usize = 8;

/// What of a row says whether it differs from another of its table.
const COMPARED: [&str; 14] = [
    "lake",
    "name",
    "rows",
    "columns.list.element.name",
    "columns.list.element.data_type",
    "files.list.element.path",
    "files.list.element.etag",
    "files.list.element.version",
    "files.list.element.size",
    "files.list.element.modified_ms",
    "files.list.element.since_sample",
    "files.list.element.no_table",
    "contexts.list.element.text",
    "error",
];
/// What says, beside that, which column another is under a new name.
const VALUES: [&str; 5] = [
    "columns.list.element.null_share",
    "columns.list.element.distinct",
    "columns.list.element.min",
    "columns.list.element.max",
    "columns.list.element.frequent",
];

/// Which tables a comparison is about.
pub struct Within<'a> {
    /// The paths in a lake, of this URL, at or below which all of them lie; an empty path is the
    /// whole lake. What lies elsewhere costs nothing.
    pub paths: &'a (dyn Fn(&str) -> Vec<String> + Sync),
    /// Whether a table at these paths is one of them.
    pub allows: &'a (dyn Fn(&TableKey) -> bool + Sync),
}

impl std::fmt::Debug for Within<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Within")
    }
}

/// Compares snapshots of an index; those who share one share what it remembers, and the memory that
/// it may use.
#[derive(Debug)]
pub struct ChangeReader {
    reads: CatalogReads,
    keys: KeptKeys,
}

/// A row of a file.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place<'a> {
    path: &'a str,
    row: u64,
}

/// The rows of one table that hold in the older and in the newer snapshot.
type Pair<'a> = (Option<Place<'a>>, Option<Place<'a>>);

/// What was made of rows of a file, with their numbers.
type Made<T> = (Arc<FileKeys>, Vec<(u64, T)>);

/// The keys of files, by path.
type Files = HashMap<String, Arc<FileKeys>>;

impl ChangeReader {
    /// For an index.
    #[must_use]
    pub fn new(index: IndexStore) -> ChangeReader {
        ChangeReader {
            reads: CatalogReads::new(index),
            keys: KeptKeys::new(KEPT),
        }
    }

    /// What differs between `newer` and the first of some older snapshots, given by number, that
    /// differs from it: a compaction, or words that came later, are no news. Where none does, the
    /// first of them. Damaged ones are passed over. `None` if there is none at all.
    ///
    /// # Errors
    /// Those of [`IndexStore::snapshot_or_nothing`], where all are damaged, and of
    /// [`IndexStore::catalog`].
    pub async fn since_last(
        &self,
        older: &[u64],
        newer: &Snapshot,
        within: &Within<'_>,
    ) -> Result<Option<(Snapshot, TableChanges)>, SegmentError> {
        let (mut first, mut damage) = (None, None);
        for number in older {
            let from = match self.reads.index().snapshot_or_nothing(*number).await {
                Err(error) if error.is_damage() => {
                    damage.get_or_insert(error);
                    continue;
                }
                read => read?,
            };
            let changes = self.between(&from, newer, within).await?;
            if !changes.is_empty() {
                return Ok(Some((from, changes)));
            }
            first.get_or_insert((from, changes));
        }
        // Naming a damaged one alone is an error.
        match (first, damage) {
            (None, Some(damage)) => Err(damage),
            (first, _) => Ok(first),
        }
    }

    /// What differs between two snapshots.
    ///
    /// # Errors
    /// Those of [`IndexStore::catalog`].
    pub async fn between(
        &self,
        older: &Snapshot,
        newer: &Snapshot,
        within: &Within<'_>,
    ) -> Result<TableChanges, SegmentError> {
        let (apart, mut shared) = apart(older, newer);
        let mut files = Files::new();
        self.read_keys(apart, &mut files).await?;
        let touched = touched(&files, within);
        if touched.is_empty() {
            return Ok(TableChanges::default());
        }
        // What held before may stand in a file that both have.
        let shards: HashSet<Shard> = touched.iter().map(|it| it.shard(newer.shards)).collect();
        shared.retain(|it| shards.contains(&it.shard));
        self.read_keys(shared, &mut files).await?;
        let before = holding(&files, older, &touched);
        let after = holding(&files, newer, &touched);
        let pairs = before.into_iter().zip(after);
        let mut pairs: Vec<Pair<'_>> = pairs.filter(|(before, after)| before != after).collect();
        let both = pairs
            .iter()
            .filter_map(|(before, after)| before.zip(*after));
        let both = both.flat_map(|(before, after)| [before, after]);
        let unknown = wanted(&files, both.filter(|it| it.digest(&files).is_none()));
        let made = self.read(unknown, COMPARED.to_vec(), |row| digest_of(&row));
        for (keys, made) in made.await? {
            keys.remember(made);
        }
        pairs.retain(|(before, after)| match before.zip(*after) {
            Some((before, after)) => before.digest(&files) != after.digest(&files),
            None => true,
        });
        self.changes(&files, &pairs).await
    }

    /// Adds the keys of files to those that are there.
    async fn read_keys(
        &self,
        entries: Vec<CatalogEntry>,
        files: &mut Files,
    ) -> Result<(), SegmentError> {
        let mut read = stream::iter(entries)
            .map(|entry| async move {
                let keys = self.keys.of(&self.reads, &entry).await?;
                Ok::<_, SegmentError>((entry.path, keys))
            })
            .buffer_unordered(FILES_IN_FLIGHT);
        while let Some((path, keys)) = read.try_next().await? {
            files.insert(path, keys);
        }
        Ok(())
    }

    /// How the rows of pairs differ.
    async fn changes(
        &self,
        files: &Files,
        pairs: &[Pair<'_>],
    ) -> Result<TableChanges, SegmentError> {
        // Of a table that came or went nothing is given that its values say.
        let lone = |(before, after): &&Pair<'_>| before.is_some() != after.is_some();
        let mut read: HashMap<(String, u64), TableRecord> = HashMap::new();
        for is_lone in [true, false] {
            let these = pairs.iter().filter(|pair| lone(pair) == is_lone);
            let places = these.flat_map(|(before, after)| before.iter().chain(after).copied());
            let columns = match is_lone {
                true => COMPARED.to_vec(),
                false => [&COMPARED[..], &VALUES].concat(),
            };
            for (keys, rows) in self.read(wanted(files, places), columns, |row| row).await? {
                let path = &keys.entry.path;
                read.extend(rows.into_iter().map(|(at, row)| ((path.clone(), at), row)));
            }
        }
        let mut take = |place: &Option<Place<'_>>| {
            let place = place.as_ref()?;
            read.remove(&(place.path.to_owned(), place.row))
        };
        let older: Vec<TableRecord> = pairs.iter().filter_map(|(it, _)| take(it)).collect();
        let newer: Vec<TableRecord> = pairs.iter().filter_map(|(_, it)| take(it)).collect();
        let compare = move || TableChanges::between(older, newer);
        let compared = tokio::task::spawn_blocking(compare).await;
        compared.map_err(|_| {
            let index = self.reads.index().store.url();
            SegmentError::damaged(index, "comparing its tables panicked")
        })
    }

    /// What `make` makes of rows, by file, with the rows' numbers.
    async fn read<T: Send + 'static>(
        &self,
        wanted: Vec<(Arc<FileKeys>, Vec<u64>)>,
        columns: Vec<&'static str>,
        make: fn(TableRecord) -> T,
    ) -> Result<Vec<Made<T>>, SegmentError> {
        let columns = Arc::new(columns);
        stream::iter(wanted)
            .map(|(keys, rows)| {
                let columns = Arc::clone(&columns);
                async move {
                    let decode = move |object: &str, bytes| {
                        let mut made = Vec::with_capacity(rows.len());
                        visit_rows(object, bytes, &rows, Some(&columns), &mut |row| {
                            made.push(make(row));
                        })?;
                        Ok(rows.into_iter().zip(made).collect())
                    };
                    let made = self.reads.decoded(&keys.entry, decode).await?;
                    Ok((keys, made))
                }
            })
            .buffer_unordered(FILES_IN_FLIGHT)
            .try_collect()
            .await
    }
}

impl Place<'_> {
    /// What stands for the row's content, where that is known.
    fn digest(&self, files: &Files) -> Option<u128> {
        files.get(self.path)?.digest(self.row)
    }
}

/// Rows by the files that they are in.
fn wanted<'a>(
    files: &Files,
    rows: impl Iterator<Item = Place<'a>>,
) -> Vec<(Arc<FileKeys>, Vec<u64>)> {
    let mut wanted: HashMap<&str, BTreeSet<u64>> = HashMap::new();
    for place in rows {
        wanted.entry(place.path).or_default().insert(place.row);
    }
    let wanted = wanted.into_iter();
    wanted
        .filter_map(|(path, rows)| Some((Arc::clone(files.get(path)?), rows.into_iter().collect())))
        .collect()
}

/// The files that one of two snapshots names and the other does not (or another number of times),
/// and those that both do.
fn apart(older: &Snapshot, newer: &Snapshot) -> (Vec<CatalogEntry>, Vec<CatalogEntry>) {
    let mut times: HashMap<&str, (&CatalogEntry, i64)> = HashMap::new();
    for (entries, by) in [(&older.catalog, -1), (&newer.catalog, 1)] {
        for entry in entries {
            times.entry(&entry.path).or_insert((entry, 0)).1 += by;
        }
    }
    let (shared, apart): (Vec<_>, Vec<_>) = times.into_values().partition(|(_, times)| *times == 0);
    let entries = |them: Vec<(&CatalogEntry, i64)>| {
        let entries = them.into_iter().map(|(entry, _)| entry.clone());
        entries.collect()
    };
    (entries(apart), entries(shared))
}

/// The tables that have a row in one of the files and are asked about; as copies, sorted, each
/// once.
fn touched(files: &Files, within: &Within<'_>) -> Vec<TableKey> {
    let (mut allowed, mut touched) = (HashMap::new(), Vec::new());
    let mut key = TableKey {
        lake: String::new(),
        name: String::new(),
    };
    for keys in files.values() {
        for lake in keys.lakes() {
            let paths = allowed
                .entry(lake.as_str())
                .or_insert_with(|| (within.paths)(lake));
            for row in paths.iter().flat_map(|path| keys.under(lake, path)) {
                keys.key(row).write_to(&mut key);
                if (within.allows)(&key) {
                    touched.push(keys.key(row));
                }
            }
        }
    }
    touched.sort_unstable();
    touched.dedup();
    touched.into_iter().map(KeyRef::to_key).collect()
}

/// The rows of tables that hold in a snapshot; `None` of those that it does not have.
fn holding<'a>(
    files: &'a Files,
    snapshot: &Snapshot,
    tables: &[TableKey],
) -> Vec<Option<Place<'a>>> {
    let mut now: Vec<Option<(&FileKeys, &KeyRow)>> = vec![None; tables.len()];
    let removed_and_group = |row: &KeyRow| (row.removed, row.group);
    let mut take_in = |at: usize, keys: &'a FileKeys, row: &'a KeyRow| {
        let before = now[at].map(|(_, row)| removed_and_group(row));
        if holds_after(removed_and_group(row), before) {
            now[at] = Some((keys, row));
        }
    };
    for keys in snapshot.catalog.iter().filter_map(|it| files.get(&it.path)) {
        // The fewer of both are looked up among the others.
        if tables.len() < keys.rows().len() {
            for (at, table) in tables.iter().enumerate() {
                let rows = keys.of(table.borrowed()).iter();
                rows.for_each(|row| take_in(at, keys, row));
            }
        } else {
            for row in keys.rows() {
                let found = tables.binary_search_by(|it| it.borrowed().cmp(&keys.key(row)));
                if let Ok(at) = found {
                    take_in(at, keys, row);
                }
            }
        }
    }
    let place = |(keys, row): (&'a FileKeys, &'a KeyRow)| {
        (!row.removed).then_some(Place {
            path: &keys.entry.path,
            row: row.row,
        })
    };
    now.into_iter().map(|now| now.and_then(place)).collect()
}

/// What stands for all of a row that a comparison looks at before it looks at values: tables of
/// equal digests do not differ.
fn digest_of(row: &TableRecord) -> u128 {
    let mut hasher = Xxh3Default::new();
    let text = |hasher: &mut Xxh3Default, text: Option<&str>| {
        hasher.update(
            &text
                .map_or(u64::MAX, |text| text.len() as u64)
                .to_le_bytes(),
        );
        hasher.update(text.unwrap_or_default().as_bytes());
    };
    let number = |hasher: &mut Xxh3Default, number: u64| hasher.update(&number.to_le_bytes());
    number(&mut hasher, u64::from(row.rows.is_some()));
    number(&mut hasher, row.rows.unwrap_or_default());
    number(&mut hasher, u64::from(row.error.is_some()));
    number(&mut hasher, row.columns.len() as u64);
    for column in &row.columns {
        text(&mut hasher, Some(&column.name));
        text(&mut hasher, Some(&column.data_type));
    }
    for file in row.files_now() {
        text(&mut hasher, Some(&file.path));
        text(&mut hasher, file.etag.as_deref());
        text(&mut hasher, file.version.as_deref());
        number(&mut hasher, file.size);
        number(&mut hasher, file.modified_ms as u64);
    }
    for context in &row.contexts {
        text(&mut hasher, Some(&context.text));
    }
    hasher.digest128()
}

#[cfg(test)]
mod tests;
