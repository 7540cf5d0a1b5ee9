//! The joins that the index's join graphs have, as far as whoever asks may know them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use limn_joins::Evidence;
use limn_segment::{JoinRecord, TableKey};

use crate::copies::is_aside;
use crate::join_graphs::JoinGraphs;

/// What the index's join graphs say, as far as whoever asks may know it.
#[derive(Clone, Debug, Default)]
pub struct KnownJoins {
    graphs: Arc<JoinGraphs>,
    shows_values: bool,
}

impl KnownJoins {
    /// What these graphs say; to whoever may not see values, only what no value shows.
    #[must_use]
    pub fn new(graphs: Arc<JoinGraphs>, shows_values: bool) -> KnownJoins {
        KnownJoins {
            graphs,
            shows_values,
        }
    }

    /// Whether values may be known.
    #[must_use]
    pub fn shows_values(&self) -> bool {
        self.shows_values
    }

    /// Any other than what is declared would confirm a guess of values.
    fn is_shown(&self, edge: &JoinRecord) -> bool {
        self.shows_values || edge.evidence == Evidence::Declared
    }

    /// Whether a graph has compared the tables of two lakes by their values, and whoever asks may
    /// know it: what joins two of them, if anything, is an edge of it.
    #[must_use]
    pub fn has_compared(&self, lake: &str, other: &str) -> bool {
        self.shows_values && lake == other && self.graphs.of_lake(lake).is_some()
    }

    /// Whether two tables are copies of each other, or nearly; so is a part of a table that is kept
    /// aside, as backups are.
    #[must_use]
    pub fn are_copies(&self, one: &TableKey, other: &TableKey) -> bool {
        let graph = self.graphs.of_lake(&one.lake);
        let graph = graph.filter(|_| one.lake == other.lake && self.shows_values);
        let is_backup = || is_aside(&one.name) != is_aside(&other.name);
        graph.is_some_and(|it| {
            it.are_copies(&one.name, &other.name, &|_| true)
                || is_backup() && it.has_part(&one.name, &other.name)
        })
    }

    /// The surest join of two tables.
    #[must_use]
    pub fn join(&self, one: &TableKey, other: &TableKey) -> Option<&JoinRecord> {
        self.graphs.join(one, other, &|edge| self.is_shown(edge))
    }

    /// The surest join of each two of these tables that join, by their places, the lower one first.
    #[must_use]
    pub fn among(&self, tables: &[&TableKey]) -> HashMap<(usize, usize), &JoinRecord> {
        let lakes: BTreeSet<&str> = tables.iter().map(|it| it.lake.as_str()).collect();
        let of_lake = |lake: &str| {
            let placed = tables.iter().enumerate();
            let placed = placed.filter(|(_, it)| it.lake == lake);
            let placed: Vec<(usize, &str)> =
                placed.map(|(at, it)| (at, it.name.as_str())).collect();
            let graph = self.graphs.of_lake(lake);
            graph.map(|it| it.among(&placed, &|edge| self.is_shown(edge)))
        };
        lakes.into_iter().filter_map(of_lake).flatten().collect()
    }

    /// Tables that join two or more of these, at most so many a lake, and only those that are seen.
    #[must_use]
    pub fn between(
        &self,
        tables: &[TableKey],
        most: usize,
        sees: impl Fn(&TableKey) -> bool,
    ) -> Vec<TableKey> {
        let lakes: BTreeSet<&str> = tables.iter().map(|it| it.lake.as_str()).collect();
        let of_lake = |lake: &str| {
            let key = |name: &str| TableKey {
                lake: lake.to_owned(),
                name: name.to_owned(),
            };
            let names = tables.iter().filter(|it| it.lake == lake);
            let names: Vec<&str> = names.map(|it| it.name.as_str()).collect();
            let is_seen = |name: &str| names.contains(&name) || sees(&key(name));
            let fits = |edge: &JoinRecord| {
                self.is_shown(edge) && is_seen(&edge.left) && is_seen(&edge.right)
            };
            let graph = self.graphs.of_lake(lake);
            let found = graph.map(|it| it.between(&names, most, &fits));
            let keys = found.into_iter().flatten().map(|name| key(&name));
            keys.collect::<Vec<_>>()
        };
        lakes.into_iter().flat_map(of_lake).collect()
    }
}
