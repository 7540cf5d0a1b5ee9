//! The graph as a process keeps it: the tables that the dataflow was fed, the edges that came of
//! them, and where these are stored.
//!
//! It lives as long as its dataflow, and begins with the rows that a writer knows of its lake; from
//! then on what is new of the catalog is read. The edges that are stored are never read: equal ones
//! have equal files.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use limn_joins::{Edge, Place, Table, TableId};
use limn_segment::{
    HeldRows, HeldValue, IndexStore, JoinRecord, JoinsEntry, SegmentError, Shard, Snapshot,
    TableKey, TableRecord,
};

use crate::error::PipelineError;
use crate::graph::looked_up::{LookedUp, Looking, segment_hash};
use crate::graph::size::GraphSize;
use crate::graph::updates::{EdgeUpdate, MemberUpdate, TableUpdate};
use crate::sketches::{JoinColumns, SketchedColumns, graph_table};

/// What is kept of a table's row.
#[derive(Debug)]
pub struct GraphRow {
    /// None of a tombstone.
    table: Option<Arc<Table>>,
    /// The names of its columns.
    columns: Box<[Box<str>]>,
    /// Which segment has the lists of its values, by [`segment_hash`].
    segment: u64,
    /// What distinguishes these lists from those of other contents.
    lists: u64,
}

impl GraphRow {
    /// That of a row, of whose columns this was kept.
    pub fn of(row: &TableRecord, columns: &JoinColumns) -> Self {
        let table = (!row.removed).then(|| graph_table(row, columns));
        let table = table.and_then(|table| {
            let report =
                |error| tracing::warn!(table = row.name, %error, "it takes no part in joins");
            table.map_err(report).ok()
        });
        Self {
            table: table.map(Arc::new),
            columns: columns.names(),
            segment: segment_hash(&row.segment),
            lists: match &row.content {
                Some(content) => xxhash_rust::xxh3::xxh3_64(content.as_bytes()),
                None => segment_hash(&row.segment) ^ u64::from(row.first_block),
            },
        }
    }
}

impl HeldValue for GraphRow {
    const COLUMNS: Option<&'static [&'static str]> = SketchedColumns::COLUMNS;

    type With = ();

    fn of_row(row: TableRecord, _: &()) -> Self {
        Self::of(&row, &JoinColumns::of(&row).0)
    }
}

/// A table that the dataflow was fed.
#[derive(Debug)]
struct Fed {
    key: TableKey,
    table: Arc<Table>,
    lists: u64,
}

/// A table whose row is another now, and what was kept of the one before.
pub type ChangedRow = (TableKey, Option<Arc<GraphRow>>);

/// The join graph of one lake.
pub struct Graph {
    lake: String,
    held: HeldRows<GraphRow>,
    /// The tables that the dataflow was fed; none before it was fed any.
    fed: Option<HashMap<TableId, Fed>>,
    edges: BTreeSet<Edge>,
    /// Tables that went, or have columns of other names, since edges were taken in last.
    changed: HashMap<TableId, TableKey>,
    /// Where edges differ from what is stored; all of them until they were stored once.
    unstored: Option<BTreeSet<Shard>>,
    files: BTreeMap<Shard, JoinsEntry>,
    looked_up: LookedUp,
    /// Tables that were fed or went, or whose lists of values are others, since values were looked
    /// up last.
    to_look_up: HashSet<TableId>,
}

impl Graph {
    /// The graph of the lake at `lake`, of whose rows these are known.
    pub fn of(lake: &str, known: Option<HeldRows<GraphRow>>) -> Self {
        Self {
            lake: lake.to_owned(),
            held: known.unwrap_or_else(|| HeldRows::keeping(Some(lake))),
            fed: None,
            edges: BTreeSet::new(),
            changed: HashMap::new(),
            unstored: None,
            files: BTreeMap::new(),
            looked_up: LookedUp::default(),
            to_look_up: HashSet::new(),
        }
    }

    /// How large it is.
    pub fn size(&self) -> GraphSize {
        GraphSize::of(self.held.live().map(|(_, row)| row.columns.len()))
    }

    /// Goes on to the catalog of `snapshot`. Gives the tables whose rows are others now, with those
    /// of before, for [`updates`](Self::updates).
    ///
    /// # Errors
    /// Those of [`HeldRows::advance`]; nothing has changed then.
    pub async fn advance(
        &mut self,
        index: &IndexStore,
        snapshot: &Snapshot,
    ) -> Result<Vec<ChangedRow>, SegmentError> {
        self.held.advance(index, snapshot).await
    }

    /// The tables that come and go with these rows; at first all of them come.
    pub fn updates(&mut self, changed: Vec<ChangedRow>) -> Vec<TableUpdate> {
        let mut fed = match self.fed.take() {
            Some(fed) => fed,
            None => return self.all(),
        };
        let mut updates = Vec::new();
        let mut new = Vec::new();
        for (key, before) in changed {
            let id = TableId::of(&key.lake, &key.name);
            let now = self.held.get(&key);
            let names = |row: Option<&GraphRow>| row.map(|row| row.columns.clone());
            let are_renamed = names(before.as_deref()) != names(now.map(Arc::as_ref));
            let lists = now.map_or(0, |row| row.lists);
            let now = now.and_then(|row| row.table.clone());
            let was = fed.get_mut(&id).filter(|it| it.key == key);
            if was.is_some() && (are_renamed || now.is_none()) {
                self.changed.insert(id, key.clone());
            }
            if was.as_ref().map(|it| (&it.table, it.lists)) != now.as_ref().map(|it| (it, lists)) {
                self.to_look_up.insert(id);
            }
            let is_fed = was.is_some();
            if let Some(was) = was
                && now.as_ref() == Some(&was.table)
            {
                was.lists = lists;
                continue;
            }
            if is_fed {
                updates.extend(fed.remove(&id).map(|it| (it.table, -1)));
            }
            new.extend(now.map(|table| Fed { key, table, lists }));
        }
        updates.extend(feed(&mut fed, new.into_iter()));
        self.fed = Some(fed);
        updates
    }

    /// Looks up what the tables that [`updates`](Self::updates) gave have to do with others. Gives
    /// the columns that come to bands by it, and leave them.
    ///
    /// # Errors
    /// Store errors, and damaged segments.
    pub async fn look_up(
        &mut self,
        index: &IndexStore,
        snapshot: &Snapshot,
    ) -> Result<Vec<MemberUpdate>, PipelineError> {
        let changed = std::mem::take(&mut self.to_look_up);
        if changed.is_empty() {
            return Ok(Vec::new());
        }
        let fed = self.fed.as_ref().into_iter().flatten();
        let all = fed.filter_map(|(_, fed)| {
            let row = self.held.get_live(&fed.key)?;
            Some(Looking {
                key: &fed.key,
                table: &fed.table,
                columns: &row.columns,
                segment: row.segment,
            })
        });
        let looked_up = &mut self.looked_up;
        looked_up
            .advance(index, snapshot, &self.lake, all, &changed)
            .await
    }

    fn all(&mut self) -> Vec<TableUpdate> {
        let mut fed = HashMap::new();
        let live = self.held.live().filter_map(|(key, row)| {
            let (key, table) = (key.clone(), row.table.clone()?);
            let lists = row.lists;
            Some(Fed { key, table, lists })
        });
        let updates = feed(&mut fed, live);
        self.to_look_up = fed.keys().copied().collect();
        self.fed = Some(fed);
        updates
    }

    fn key(&self, table: TableId) -> Option<&TableKey> {
        Some(&self.fed.as_ref()?.get(&table)?.key)
    }

    /// Takes in the edges that came and went.
    pub fn take_in(&mut self, updates: Vec<EdgeUpdate>, shards: u32) {
        let mut sums: BTreeMap<Edge, isize> = BTreeMap::new();
        for (edge, diff) in updates {
            *sums.entry(edge).or_default() += diff;
        }
        let changed = std::mem::take(&mut self.changed);
        if let Some(unstored) = &mut self.unstored {
            let is_of = |edge: &&Edge| {
                changed.contains_key(&edge.left) || changed.contains_key(&edge.right)
            };
            let renamed = self.edges.iter().filter(is_of).map(|edge| edge.left);
            let came_or_went = sums.iter().filter(|it| *it.1 != 0).map(|it| it.0.left);
            let lefts = renamed.chain(came_or_went);
            let fed = self.fed.as_ref();
            let key = |left: TableId| Some(&fed?.get(&left)?.key);
            let lefts = lefts.filter_map(|left| key(left).or(changed.get(&left)));
            unstored.extend(lefts.map(|left| left.shard(shards)));
        }
        for (edge, diff) in sums.into_iter().filter(|it| it.1 != 0) {
            match diff > 0 {
                true => self.edges.insert(edge),
                false => self.edges.remove(&edge),
            };
        }
    }

    /// Stores what is not stored yet; `before` are the files that the index has. The files of the
    /// whole graph.
    ///
    /// # Errors
    /// Store errors.
    pub async fn store(
        &mut self,
        index: &IndexStore,
        before: &[JoinsEntry],
        shards: u32,
    ) -> Result<Vec<JoinsEntry>, SegmentError> {
        // Another writer may have replaced a file, and its garbage may have been collected.
        if let Some(unstored) = &mut self.unstored {
            let lost = self.files.values().filter(|it| !before.contains(it));
            unstored.extend(lost.map(|it| it.shard));
        }
        let mut of_shards: BTreeMap<Shard, Vec<JoinRecord>> = BTreeMap::new();
        for edge in &self.edges {
            let (Some(left), Some(right)) = (self.key(edge.left), self.key(edge.right)) else {
                continue;
            };
            let shard = left.shard(shards);
            let is_stored = |unstored: &BTreeSet<Shard>| !unstored.contains(&shard);
            if !self.unstored.as_ref().is_some_and(is_stored) {
                let records = of_shards.entry(shard).or_default();
                records.extend(self.record(edge, left, right));
            }
        }
        let touched = self.unstored.take();
        let is_touched = |shard: &Shard| touched.as_ref().is_none_or(|it| it.contains(shard));
        self.files.retain(|shard, _| !is_touched(shard));
        for (shard, mut records) in of_shards {
            // Names are in an order of their own.
            records.sort_by(|a, b| {
                let key = |it: &JoinRecord| (it.left.clone(), it.right.clone(), it.kind);
                key(a).cmp(&key(b)).then(b.score.total_cmp(&a.score))
            });
            let before = before.iter().find(|it| it.shard == shard);
            let entry = index.put_joins(&self.lake, shard, records, before).await;
            self.files.insert(shard, entry?);
        }
        self.unstored = Some(BTreeSet::new());
        Ok(self.files.values().cloned().collect())
    }

    fn record(&self, edge: &Edge, left: &TableKey, right: &TableKey) -> Option<JoinRecord> {
        let names = |table: &TableKey, places: &[Place]| -> Option<Vec<String>> {
            let columns = &self.held.get(table)?.columns;
            let names = places
                .iter()
                .map(|it| columns.get(usize::from(it.0)).map(|it| it.to_string()));
            names.collect()
        };
        Some(JoinRecord {
            kind: edge.kind,
            left: left.name.clone(),
            left_columns: names(left, &edge.left_columns)?,
            right: right.name.clone(),
            right_columns: names(right, &edge.right_columns)?,
            cardinality: edge.cardinality,
            score: edge.score.share() as f32,
            containment: edge.containment.share() as f32,
            containment_low: edge.containment_low.share() as f32,
            jaccard: edge.jaccard.share() as f32,
            evidence: edge.evidence,
        })
    }
}

/// Notes these tables as fed. Of two that have one number the first is.
fn feed(fed: &mut HashMap<TableId, Fed>, new: impl Iterator<Item = Fed>) -> Vec<TableUpdate> {
    let mut updates = Vec::new();
    for it in new {
        match fed.entry(it.table.id) {
            // One of 2⁴⁸, in one folder with equal beginnings of their names.
            Entry::Occupied(other) => {
                let (table, other) = (&it.key.name, &other.get().key);
                tracing::warn!(table, %other, "it takes no part in joins: its number is another's");
            }
            Entry::Vacant(free) => updates.push((Arc::clone(&free.insert(it).table), 1)),
        }
    }
    updates
}
