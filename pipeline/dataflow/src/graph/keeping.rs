//! The graph as a process keeps it: the tables that the dataflow was fed, the edges that came of
//! them, and where these are stored.
//!
//! It lives as long as its dataflow. Begun anew it reads what it needs of the whole catalog, once;
//! from then on what is new of it. The edges that are stored are never read: equal ones have equal
//! files.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use limn_joins::{Edge, Place, Table, TableId};
use limn_segment::{
    HeldRows, HeldValue, IndexStore, JoinRecord, JoinsEntry, SegmentError, Shard, Snapshot,
    TableKey, TableRecord,
};

use crate::graph::{EdgeUpdate, TableUpdate};
use crate::sketches::{SketchedColumns, graph_table};

/// What is kept of a table's row.
#[derive(Debug)]
struct HeldTable {
    /// None of a row that says that its table is gone.
    table: Option<Arc<Table>>,
    /// The names of its columns.
    columns: Box<[String]>,
}

impl HeldValue for HeldTable {
    const COLUMNS: Option<&'static [&'static str]> = SketchedColumns::COLUMNS;

    fn of_row(row: TableRecord) -> Self {
        let table = (!row.removed).then(|| graph_table(&row));
        let table = table.and_then(|table| {
            let report =
                |error| tracing::warn!(table = row.name, %error, "it takes no part in joins");
            table.map_err(report).ok()
        });
        Self {
            table: table.map(Arc::new),
            columns: row.columns.into_iter().map(|column| column.name).collect(),
        }
    }
}

/// The join graph of one lake.
pub struct Graph {
    lake: String,
    held: HeldRows<HeldTable>,
    /// The tables that the dataflow was fed.
    fed: HashMap<TableId, TableKey>,
    edges: BTreeSet<Edge>,
    /// Tables that went, or have columns of other names, since edges were taken in last.
    changed: HashMap<TableId, TableKey>,
    /// Where edges differ from what is stored; all of them until they were stored once.
    unstored: Option<BTreeSet<Shard>>,
    files: BTreeMap<Shard, JoinsEntry>,
    is_given_up: bool,
}

impl Graph {
    /// The graph of the lake at `lake`, of which nothing is known yet.
    pub fn of(lake: &str) -> Self {
        Self {
            lake: lake.to_owned(),
            held: HeldRows::keeping(Some(lake)),
            fed: HashMap::new(),
            edges: BTreeSet::new(),
            changed: HashMap::new(),
            unstored: None,
            files: BTreeMap::new(),
            is_given_up: false,
        }
    }

    /// From here on it is kept of this process's rounds no more: what came since is not in the dataflow.
    pub fn give_up(&mut self) {
        *self = Self {
            is_given_up: true,
            ..Self::of(&self.lake)
        };
    }

    /// Whether it was given up.
    pub fn is_given_up(&self) -> bool {
        self.is_given_up
    }

    /// How many columns the tables have that take part.
    pub fn columns(&self) -> usize {
        let tables = self.fed.values().filter_map(|key| self.held.get(key));
        tables.map(|row| row.columns.len()).sum()
    }

    /// Goes on to `snapshot`: the tables that come and go since the last one.
    ///
    /// # Errors
    /// Those of [`HeldRows::advance`]; nothing has changed then.
    pub async fn advance(
        &mut self,
        index: &IndexStore,
        snapshot: &Snapshot,
    ) -> Result<Vec<TableUpdate>, SegmentError> {
        let changed = self.held.advance(index, snapshot).await?;
        let mut updates = Vec::new();
        let mut new = Vec::new();
        for (key, before) in changed {
            let now = self.held.get(&key);
            let columns = |row: Option<&HeldTable>| row.map(|row| row.columns.clone());
            let are_renamed = columns(before.as_deref()) != columns(now.map(Arc::as_ref));
            let before = before.and_then(|row| row.table.clone());
            let now = now.and_then(|row| row.table.clone());
            if let Some(before) = before.as_ref().filter(|_| are_renamed || now.is_none()) {
                self.changed.insert(before.id, key.clone());
            }
            if before == now {
                continue;
            }
            let was_fed = before.filter(|table| self.fed.get(&table.id) == Some(&key));
            if let Some(before) = was_fed {
                self.fed.remove(&before.id);
                updates.push((before, -1));
            }
            new.extend(now.map(|now| (key, now)));
        }
        for (key, now) in new {
            if let Some(other) = self.fed.get(&now.id) {
                // One of 2⁴⁸, in one folder with equal beginnings of their names.
                tracing::warn!(table = key.name, %other, "it takes no part in joins: its number is another's");
                continue;
            }
            self.fed.insert(now.id, key);
            updates.push((now, 1));
        }
        Ok(updates)
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
            let lefts = lefts.filter_map(|left| self.fed.get(&left).or(changed.get(&left)));
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
        // Another writer may have replaced a file, and its garbage may be gone.
        if let Some(unstored) = &mut self.unstored {
            let lost = self.files.values().filter(|it| !before.contains(it));
            unstored.extend(lost.map(|it| it.shard));
        }
        let mut of_shards: BTreeMap<Shard, Vec<JoinRecord>> = BTreeMap::new();
        for edge in &self.edges {
            let (Some(left), Some(right)) = (self.fed.get(&edge.left), self.fed.get(&edge.right))
            else {
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
            let entry = index.put_joins(&self.lake, shard, &records, before).await;
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
                .map(|it| columns.get(usize::from(it.0)).cloned());
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
