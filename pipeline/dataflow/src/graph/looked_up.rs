//! Which large keys have the values of small columns: looked up in the lists of values that
//! segments have ([decision 53](../../../../docs/decisions/053-values.md)), by value.
//!
//! Of a key of very many values a sketch has none of a small column's. So each column looks up a
//! few of its own ([`limn_joins::lookups`]), and where a large key's list has one, both come to the
//! band of that value. What is looked up is a function of the tables and their lists. When tables
//! change, their own values are looked up in all segments, and all values in the segments that
//! their keys are in: segments that hold neither are not read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};
use limn_joins::{ColumnId, Member, Part, Place, Table, TableId, look_up_band};
use limn_segment::{
    IndexStore, KeyRef, SegmentEntry, SegmentError, SegmentReader, Snapshot, TableKey,
};

use crate::error::PipelineError;
use crate::graph::updates::MemberUpdate;

/// Segments that are read at a time.
const SEGMENTS_IN_FLIGHT: usize = 4;

/// A value, by its hash, and a column that looks it up or has it.
type Looked = (u64, ColumnId);

/// A table as far as look-ups go.
pub struct Looking<'a> {
    /// Its name.
    pub key: &'a TableKey,
    /// What is known of it.
    pub table: &'a Table,
    /// The names of its columns.
    pub columns: &'a [Box<str>],
    /// Which segment has the lists of its values, by [`segment_hash`].
    pub segment: u64,
}

/// What columns look up, and which large keys have it. Both are in ascending order.
#[derive(Debug, Default)]
pub struct LookedUp {
    looking: Vec<Looked>,
    holding: Vec<Looked>,
    /// What the dataflow was fed.
    fed: Vec<(u64, Member)>,
}

/// A table's large keys by their names.
struct Keys {
    id: TableId,
    /// Whether it is new, so that all values are looked up in it.
    is_new: bool,
    columns: HashMap<String, Place>,
}

/// What is looked up in a segment.
struct Asked {
    lake: String,
    entry: SegmentEntry,
    tables: HashMap<String, Keys>,
    /// In ascending order.
    hashes: Arc<[u64]>,
    /// Those that are new, in ascending order.
    new: Arc<[u64]>,
}

/// A segment by the hash of its path; 0 is none.
pub fn segment_hash(path: &str) -> u64 {
    match path {
        "" => 0,
        path => xxhash_rust::xxh3::xxh3_64(path.as_bytes()),
    }
}

impl LookedUp {
    /// Goes on to `all` tables that `snapshot` has of a lake, of which these have `changed`, or
    /// their lists have, since it was called last. Gives the members that come to bands and leave
    /// them.
    ///
    /// # Errors
    /// Store errors, and damaged segments.
    pub async fn advance<'a>(
        &mut self,
        index: &IndexStore,
        snapshot: &Snapshot,
        lake: &str,
        all: impl Iterator<Item = Looking<'a>>,
        changed: &HashSet<TableId>,
    ) -> Result<Vec<MemberUpdate>, PipelineError> {
        let known = hashes(&self.looking);
        let is_kept = |it: &Looked| !changed.contains(&it.1.table());
        self.looking.retain(is_kept);
        self.holding.retain(is_kept);
        let mut segments: BTreeMap<u64, HashMap<String, Keys>> = BTreeMap::new();
        for it in all {
            let is_new = changed.contains(&it.table.id);
            if is_new {
                self.looking.extend(looking(it.table));
            }
            if let Some(keys) = Keys::of(&it, is_new) {
                let tables = segments.entry(it.segment).or_default();
                tables.insert(it.key.name.clone(), keys);
            }
        }
        self.looking.sort_unstable();
        self.looking.shrink_to_fit();
        let hashes = hashes(&self.looking);
        let is_new = |hash: &&u64| known.binary_search(hash).is_err();
        let new: Arc<[u64]> = hashes.iter().filter(is_new).copied().collect();
        let hashes: Arc<[u64]> = hashes.into();
        let entries = snapshot.segments.iter().filter_map(|entry| {
            let tables = segments.remove(&segment_hash(&entry.path))?;
            let asks_all = tables.values().any(|it| it.is_new);
            Some(Asked {
                lake: lake.to_owned(),
                entry: entry.clone(),
                tables,
                hashes: Arc::clone(if asks_all { &hashes } else { &new }),
                new: Arc::clone(&new),
            })
        });
        let asked: Vec<Asked> = entries.filter(|it| !it.hashes.is_empty()).collect();
        let mut found = stream::iter(asked)
            .map(|asked| asked.look_up(index))
            .buffer_unordered(SEGMENTS_IN_FLIGHT);
        while let Some(found) = found.try_next().await? {
            self.holding.extend(found);
        }
        drop(found);
        self.holding
            .retain(|it| hashes.binary_search(&it.0).is_ok());
        self.holding.sort_unstable();
        self.holding.dedup();
        self.holding.shrink_to_fit();
        Ok(self.feed())
    }

    /// The members of bands under which a key is and columns of other tables are, as they differ
    /// from what was fed.
    fn feed(&mut self) -> Vec<MemberUpdate> {
        let mut now: Vec<(u64, Member)> = Vec::new();
        let mut looking = self.looking.as_slice();
        for keys in self.holding.chunk_by(|a, b| a.0 == b.0) {
            let hash = keys[0].0;
            looking = &looking[looking.partition_point(|it| it.0 < hash)..];
            let looks = &looking[..looking.partition_point(|it| it.0 == hash)];
            // Most values of a key are looked up by itself alone.
            let table = keys[0].1.table();
            if looks.iter().chain(keys).all(|it| it.1.table() == table) {
                continue;
            }
            let member = |part| move |it: &Looked| (hash, Member { column: it.1, part });
            now.extend(looks.iter().map(member(Part::Looks)));
            now.extend(keys.iter().map(member(Part::Holds)));
        }
        now.sort_unstable();
        let update = |diff: isize| {
            move |(hash, member): &(u64, Member)| ((look_up_band(*hash), *member), diff)
        };
        let only_in = |these: &[(u64, Member)], others: &[(u64, Member)], diff| {
            let only = these.iter().filter(|it| others.binary_search(it).is_err());
            only.map(update(diff)).collect::<Vec<_>>()
        };
        let mut updates = only_in(&self.fed, &now, -1);
        updates.extend(only_in(&now, &self.fed, 1));
        now.shrink_to_fit();
        self.fed = now;
        updates
    }
}

/// The hashes of an ascending list.
fn hashes(looked: &[Looked]) -> Vec<u64> {
    let mut hashes: Vec<u64> = looked.iter().map(|it| it.0).collect();
    hashes.dedup();
    hashes
}

/// What the columns of a table look up.
fn looking(table: &Table) -> impl Iterator<Item = Looked> + '_ {
    table.columns.iter().flat_map(|column| {
        let id = table.id.column(column.place);
        column.lookups.iter().map(move |hash| (*hash, id))
    })
}

impl Keys {
    /// Those of a table; `None` where it has none.
    fn of(it: &Looking<'_>, is_new: bool) -> Option<Keys> {
        let keys = it.table.columns.iter().filter(|it| it.is_large_key());
        let named = keys.filter_map(|key| {
            let name = it.columns.get(usize::from(key.place.0))?;
            Some((name.to_string(), key.place))
        });
        let columns: HashMap<String, Place> = named.collect();
        (!columns.is_empty()).then_some(Keys {
            id: it.table.id,
            is_new,
            columns,
        })
    }
}

impl Asked {
    /// Which of the keys hold what is asked.
    async fn look_up(self, index: &IndexStore) -> Result<Vec<Looked>, PipelineError> {
        let reader = SegmentReader::open(&index.store, &self.entry).await?;
        let found = tokio::task::spawn_blocking(move || self.look_up_in(&reader)).await;
        let died = |_| PipelineError::TaskDied {
            stage: "join graph",
        };
        Ok(found.map_err(died)??)
    }

    fn look_up_in(&self, reader: &SegmentReader) -> Result<Vec<Looked>, SegmentError> {
        let mut held: Vec<(u32, u32, u64)> = Vec::new();
        let keys_of = |key: KeyRef<'_>| {
            let is_ours = key.lake == self.lake;
            is_ours.then(|| self.tables.get(key.name)).flatten()
        };
        let tables: Vec<Option<&Keys>> = reader.tables().iter().map(|it| keys_of(it.key)).collect();
        let of_table = |number: u32| *tables.get(number as usize)?;
        reader.holding_values(&self.hashes, &mut |hash, table, column| {
            let is_asked = |keys: &Keys| keys.is_new || self.new.binary_search(&hash).is_ok();
            if of_table(table).is_some_and(is_asked) {
                held.push((table, column, hash));
            }
        })?;
        held.sort_unstable();
        let mut found = Vec::new();
        for of_column in held.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (table, column, _) = of_column[0];
            let (Some(keys), Some(name)) = (of_table(table), reader.value_column(table, column)?)
            else {
                continue;
            };
            if let Some(place) = keys.columns.get(&name) {
                let id = keys.id.column(*place);
                found.extend(of_column.iter().map(|it| (it.2, id)));
            }
        }
        Ok(found)
    }
}
