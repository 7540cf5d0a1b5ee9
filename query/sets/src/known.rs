//! The joins that the index's join graph has.

use std::collections::BTreeSet;
use std::sync::Arc;

use limn_joins::Evidence;
use limn_retrieval::JoinGraphs;
use limn_segment::{JoinRecord, TableKey};
use limn_store::one_line;

use crate::join::{Basis, Cardinality, ColumnOf, Join};

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

    /// Any other than what is declared would confirm a guess of values.
    fn is_shown(&self, edge: &JoinRecord) -> bool {
        self.shows_values || edge.evidence == Evidence::Declared
    }

    /// Whether a graph has compared two tables by their values, and whoever asks may know it: what
    /// joins them, if anything, is an edge of it.
    #[must_use]
    pub fn has_compared(&self, one: &ColumnOf, other: &ColumnOf) -> bool {
        let is_there = || self.graphs.of_lake(&one.lake).is_some();
        self.shows_values && one.lake == other.lake && is_there()
    }

    /// What is said of a join by values that a graph has compared and has not taken for one: two
    /// columns of counts share values, too.
    pub(crate) fn doubt(&self, join: &Join) -> Option<String> {
        let (left, right) = (&join.left, &join.right);
        let is_doubtful = join.basis == Basis::Values && self.has_compared(left, right);
        is_doubtful.then(|| {
            let line = format!(
                "{}.{} = {}.{} by values that both have, which may be chance: the join graph has no such join",
                left.table, left.column, right.table, right.column
            );
            one_line(&line)
        })
    }

    /// Whether two tables are copies of each other, or nearly.
    pub(crate) fn are_copies(&self, one: &TableKey, other: &TableKey) -> bool {
        let graph = self.graphs.of_lake(&one.lake);
        let graph = graph.filter(|_| one.lake == other.lake && self.shows_values);
        graph.is_some_and(|it| it.are_copies(&one.name, &other.name, &|_| true))
    }

    /// The join of two tables.
    pub(crate) fn join(&self, one: &TableKey, other: &TableKey) -> Option<Join> {
        let edge = self.graphs.join(one, other, &|edge| self.is_shown(edge))?;
        Join::of_edge(edge, &one.lake, self.shows_values)
    }

    /// Tables that join two or more of these, at most so many a lake, and only those that are
    /// seen.
    pub(crate) fn between(
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

impl Join {
    /// `None` of an edge without columns.
    fn of_edge(edge: &JoinRecord, lake: &str, shows_values: bool) -> Option<Join> {
        let column = |table: &str, column: &str| ColumnOf {
            table: table.to_owned(),
            lake: lake.to_owned(),
            column: column.to_owned(),
        };
        let mut pairs = edge.left_columns.iter().zip(&edge.right_columns);
        let (left, right) = pairs.next()?;
        Some(Join {
            left: column(&edge.left, left),
            right: column(&edge.right, right),
            more: pairs.map(|(a, b)| [a.clone(), b.clone()]).collect(),
            cardinality: match edge.cardinality {
                limn_joins::Cardinality::OneToOne => Cardinality::OneToOne,
                limn_joins::Cardinality::ManyToOne => Cardinality::ManyToOne,
                limn_joins::Cardinality::OneToMany | limn_joins::Cardinality::ManyToMany => {
                    Cardinality::ManyToMany
                }
            },
            containment: shows_values.then_some(f64::from(edge.containment_low)),
            evidence: match edge.evidence {
                Evidence::Declared => "a file declares it".to_owned(),
                Evidence::Names => "names agree".to_owned(),
                other => format!(
                    "{} agree: at least {:.0} % of the values of the left column are in the right one",
                    other.name(),
                    100.0 * edge.containment_low
                ),
            },
            basis: Basis::Graph,
            weight: f64::from(edge.score),
        })
    }
}
