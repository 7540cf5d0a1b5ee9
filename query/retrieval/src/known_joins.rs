//! The joins that the index's join graphs have, as far as whoever asks may know them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use limn_joins::Evidence;
use limn_segment::{JoinRecord, TableKey};

use crate::join_graph::Alike;
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

    /// The tables of its lake that are copies of a table, or nearly, those that it is a part of,
    /// and its parts.
    pub fn alike<'a>(&'a self, table: &'a TableKey) -> impl Iterator<Item = (&'a str, Alike)> {
        let graph = self.graphs.of_lake(&table.lake);
        let graph = graph.filter(|_| self.shows_values);
        graph.into_iter().flat_map(|it| it.alike(&table.name))
    }

    /// The names of the tables of its lake that a table is a copy or a part of, or nearly.
    pub(crate) fn wholes_of<'a>(&'a self, table: &'a TableKey) -> impl Iterator<Item = &'a str> {
        let alike = self.alike(table);
        let wholes = alike.filter(|(_, alike)| *alike != Alike::Part);
        wholes.map(|(other, _)| other)
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
            let is_shown = |edge: &JoinRecord| self.is_shown(edge);
            let graph = self.graphs.of_lake(lake);
            let found =
                graph.map(|it| it.between(&names, most, &is_shown, &|name| sees(&key(name))));
            let keys = found.into_iter().flatten().map(key);
            keys.collect::<Vec<_>>()
        };
        lakes.into_iter().flat_map(of_lake).collect()
    }
}
