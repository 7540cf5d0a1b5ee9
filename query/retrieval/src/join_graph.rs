//! The join graph for readers: a table's partners, and the way between two tables.
//!
//! A reader sees the edges whose tables he may both see, and no way that leads by another one.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use limn_joins::{Cardinality, EdgeKind, Evidence};
use limn_segment::JoinRecord;
use serde::Serialize;

use crate::copies::is_aside;

/// Two keys that share so much of their values are the same ones.
const SAME: f32 = 0.9;

/// Which edges a reader may see.
pub type Sees<'a> = &'a dyn Fn(&JoinRecord) -> bool;

/// The edges between the tables of a lake.
#[derive(Debug, Default)]
pub struct JoinGraph {
    /// The edges of each file.
    pub(crate) files: Vec<JoinFile>,
    /// The edges of each table, by file and place there.
    of: HashMap<String, Vec<(usize, usize)>>,
}

/// The edges of a file, which several graphs may share.
pub(crate) type JoinFile = Arc<[JoinRecord]>;

/// Which way a join refers, seen from one of its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The table refers to its partner: many of its rows may go with one of the partner's.
    RefersTo,
    /// The partner refers to it.
    ReferredBy,
    /// Neither: values repeat on both sides, or it is no join.
    Neither,
}

/// What another table of the same columns is to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alike {
    /// It has the same rows, or nearly.
    Copy,
    /// It has all rows of the table, and more.
    Whole,
    /// It has some of the table's rows, and no others.
    Part,
}

/// An edge, seen from one of its tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Partner {
    /// The table that it is seen from.
    pub table: String,
    /// The other one.
    pub partner: String,
    /// What kind of edge it is. Of a subset, the part is the table where `direction` is
    /// [`Direction::RefersTo`].
    pub kind: EdgeKind,
    /// The table's columns, of joins.
    pub columns: Vec<String>,
    /// The partner's, in the same order.
    pub partner_columns: Vec<String>,
    /// Which way it refers.
    pub direction: Direction,
    /// How many of the table's rows go with how many of the partner's; none but of joins.
    pub cardinality: Option<Cardinality>,
    /// How sure it is, 0 to 1.
    pub score: f32,
    /// The share of the referring side's distinct values that the other side has: as it was seen, …
    pub containment: f32,
    /// … and at least, with 97.5 % confidence.
    pub containment_low: f32,
    /// The shared values as a share of those of both.
    pub jaccard: f32,
    /// Why it is there.
    pub evidence: Evidence,
}

impl JoinGraph {
    /// The graph of these edges.
    #[must_use]
    pub fn of(edges: Vec<JoinRecord>) -> JoinGraph {
        JoinGraph::of_files(vec![edges.into()])
    }

    /// The graph of the edges of these files.
    pub(crate) fn of_files(files: Vec<JoinFile>) -> JoinGraph {
        let mut of: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
        for (file, edges) in files.iter().enumerate() {
            for (at, edge) in edges.iter().enumerate() {
                for table in BTreeSet::from([&edge.left, &edge.right]) {
                    of.entry(table.clone()).or_default().push((file, at));
                }
            }
        }
        JoinGraph { files, of }
    }

    /// The edges of a table that are seen, with their other ends.
    pub(crate) fn edges_of<'a, 'b>(
        &'a self,
        table: &'b str,
        sees: Sees<'b>,
    ) -> impl Iterator<Item = (&'a JoinRecord, &'a str)> + use<'a, 'b> {
        let edges = self.of.get(table).into_iter().flatten();
        let edges = edges.filter_map(|(file, at)| self.files.get(*file)?.get(*at));
        edges
            .filter(move |edge| sees(edge))
            .map(move |edge| (edge, other_end(edge, table)))
    }

    /// The surest of a table's edges, so many at most; of one kind, if it is said. Of equally sure
    /// ones those to tables that are kept aside, as backups are, come last.
    #[must_use]
    pub fn partners(
        &self,
        table: &str,
        kind: Option<EdgeKind>,
        most: usize,
        sees: Sees<'_>,
    ) -> Vec<Partner> {
        let edges = self.edges_of(table, sees);
        let fits = |it: &(&JoinRecord, &str)| kind.is_none_or(|kind| it.0.kind == kind);
        let mut edges: Vec<(&JoinRecord, &str)> = edges.filter(fits).collect();
        edges.sort_by(|(a, to), (b, other)| {
            let place = |name| (is_aside(name), name);
            let (one, two) = (place(*to), place(*other));
            let names = || (one, own_columns(a, table)).cmp(&(two, own_columns(b, table)));
            b.score.total_cmp(&a.score).then_with(names)
        });
        let edges = edges.into_iter().take(most);
        edges.map(|(edge, _)| seen_from(edge, table)).collect()
    }

    /// The tables that are copies of a table, or nearly, those that it is a part of, and its parts;
    /// of tables with the same columns, those that are kept aside are parts of the others.
    pub(crate) fn alike<'a>(
        &'a self,
        table: &'a str,
    ) -> impl Iterator<Item = (&'a str, Alike)> + use<'a> {
        let edges = self.edges_of(table, &|_| true);
        edges.filter_map(move |(edge, other)| {
            let alike = match edge.kind {
                EdgeKind::Copy => Alike::Copy,
                EdgeKind::Subset if edge.left == table => Alike::Whole,
                EdgeKind::Subset => Alike::Part,
                // A backup of a table whose keys are row numbers, which tell no rows apart.
                EdgeKind::Union => match (is_aside(table), is_aside(other)) {
                    (true, false) => Alike::Whole,
                    (false, true) => Alike::Part,
                    _ => return None,
                },
                EdgeKind::Join => return None,
            };
            Some((other, alike))
        })
    }

    /// The surest join of two tables; of equals the first by names.
    #[must_use]
    pub fn join(&self, one: &str, other: &str, sees: Sees<'_>) -> Option<&JoinRecord> {
        let count = |table: &str| self.of.get(table).map_or(0, Vec::len);
        let (few, many) = match count(one) <= count(other) {
            true => (one, other),
            false => (other, one),
        };
        let edges = self.edges_of(few, sees);
        let joins = edges.filter(|(edge, end)| *end == many && edge.kind == EdgeKind::Join);
        joins.map(|(edge, _)| edge).max_by(|a, b| by_sureness(a, b))
    }

    /// The surest join of each two of these tables that join, by their places, the lower one first.
    pub(crate) fn among<'a>(
        &'a self,
        tables: &[(usize, &str)],
        sees: Sees<'_>,
    ) -> HashMap<(usize, usize), &'a JoinRecord> {
        let place_of: HashMap<&str, usize> = tables.iter().map(|(at, name)| (*name, *at)).collect();
        let mut found: HashMap<(usize, usize), &JoinRecord> = HashMap::new();
        for (at, name) in tables {
            for (edge, end) in self.edges_of(name, sees) {
                // Each edge is met at both its ends.
                let Some(other) = place_of.get(end).filter(|it| at < *it) else {
                    continue;
                };
                if edge.kind != EdgeKind::Join {
                    continue;
                }
                let best = found.entry((*at, *other)).or_insert(edge);
                if by_sureness(best, edge).is_lt() {
                    *best = edge;
                }
            }
        }
        found
    }

    /// Tables that fit and join two or more of these tables, none of them itself: at most so many,
    /// first those that join the first of them.
    #[must_use]
    pub fn between(
        &self,
        tables: &[&str],
        most: usize,
        sees: Sees<'_>,
        fits: &dyn Fn(&str) -> bool,
    ) -> Vec<&str> {
        let mut found: BTreeMap<&str, Vec<(usize, f32)>> = BTreeMap::new();
        for (rank, table) in tables.iter().enumerate() {
            for (edge, other) in self.edges_of(table, sees) {
                if edge.kind != EdgeKind::Join || tables.contains(&other) {
                    continue;
                }
                let ends = found.entry(other).or_default();
                match ends.last_mut() {
                    Some(last) if last.0 == rank => last.1 = last.1.max(edge.score),
                    _ => ends.push((rank, edge.score)),
                }
            }
        }
        // What ranks tenth is worth half of what ranks first.
        let worth = |ends: &Vec<(usize, f32)>| {
            let mut worth: Vec<f32> = ends
                .iter()
                .map(|(rank, score)| score / (1.0 + *rank as f32 / 10.0))
                .collect();
            worth.sort_by(|a, b| b.total_cmp(a));
            worth.iter().take(2).sum::<f32>()
        };
        let several = found.into_iter().filter(|(_, ends)| ends.len() > 1);
        let mut several: Vec<(f32, &str)> = several.map(|(it, ends)| (worth(&ends), it)).collect();
        several.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let names = several.into_iter().map(|(_, name)| name);
        names.filter(|name| fits(name)).take(most).collect()
    }
}

/// Less sure joins before surer ones; of equals the first by names is the surest.
fn by_sureness(a: &JoinRecord, b: &JoinRecord) -> Ordering {
    let by_names = || (&b.left, &b.left_columns).cmp(&(&a.left, &a.left_columns));
    a.score.total_cmp(&b.score).then_with(by_names)
}

pub(crate) fn own_columns<'a>(edge: &'a JoinRecord, table: &str) -> &'a [String] {
    match edge.left == table {
        true => &edge.left_columns,
        false => &edge.right_columns,
    }
}

fn other_end<'a>(edge: &'a JoinRecord, table: &str) -> &'a str {
    match edge.left == table {
        true => &edge.right,
        false => &edge.left,
    }
}

pub(crate) fn seen_from(edge: &JoinRecord, table: &str) -> Partner {
    let is_left = edge.left == table;
    let is_join = edge.kind == EdgeKind::Join;
    let refers = match (edge.kind, edge.cardinality) {
        (EdgeKind::Join, Cardinality::ManyToMany) => false,
        // Two keys with the same values: neither is there before the other.
        (EdgeKind::Join, Cardinality::OneToOne) => {
            edge.evidence == Evidence::Declared || edge.jaccard < SAME
        }
        (kind, _) => matches!(kind, EdgeKind::Join | EdgeKind::Subset),
    };
    let (here, there) = match is_left {
        true => (&edge.left_columns, &edge.right_columns),
        false => (&edge.right_columns, &edge.left_columns),
    };
    let cardinality = match is_left {
        true => edge.cardinality,
        false => edge.cardinality.reversed(),
    };
    Partner {
        table: table.to_owned(),
        partner: other_end(edge, table).to_owned(),
        kind: edge.kind,
        columns: here.clone(),
        partner_columns: there.clone(),
        direction: match (refers, is_left) {
            (false, _) => Direction::Neither,
            (true, true) => Direction::RefersTo,
            (true, false) => Direction::ReferredBy,
        },
        cardinality: is_join.then_some(cardinality),
        score: edge.score,
        containment: edge.containment,
        containment_low: edge.containment_low,
        jaccard: edge.jaccard,
        evidence: edge.evidence,
    }
}

/// Edges for tests.
#[cfg(test)]
pub(crate) mod drafts {
    use limn_joins::{Cardinality, EdgeKind, Evidence};
    use limn_segment::JoinRecord;

    /// A join of a table to another's `id`, by what its column is called.
    pub(crate) fn edge(left: &str, right: &str, score: f32) -> JoinRecord {
        JoinRecord {
            kind: EdgeKind::Join,
            left: left.to_owned(),
            left_columns: vec![format!("{right}_id")],
            right: right.to_owned(),
            right_columns: vec!["id".to_owned()],
            cardinality: Cardinality::ManyToOne,
            score,
            containment: 1.0,
            containment_low: 0.9,
            jaccard: 0.5,
            evidence: Evidence::Names,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::drafts::edge;
    use super::*;

    #[test]
    fn tables_between_others_are_found() {
        let edges = vec![
            edge("play", "song", 0.9),
            edge("play", "singer", 0.9),
            edge("play", "show", 0.6),
            edge("cover", "song", 0.7),
            edge("cover", "singer", 0.7),
            edge("singer", "song", 0.5),
            edge("label", "singer", 1.0),
        ];
        let graph = JoinGraph::of(edges);
        let all: Sees<'_> = &|_| true;
        let between = |most, fits| graph.between(&["song", "singer"], most, all, fits);
        assert_eq!(between(5, &|_| true), ["play", "cover"]);
        assert_eq!(between(1, &|_| true), ["play"]);
        assert_eq!(between(1, &|name: &str| name != "play"), ["cover"]);
        let sees = |edge: &JoinRecord| edge.left != "play";
        assert_eq!(
            graph.between(&["song", "show"], 5, &sees, &|_| true),
            [""; 0]
        );
        let join = graph.join("singer", "play", &|_| true).unwrap();
        assert_eq!(join.left, "play");
        assert_eq!(graph.join("singer", "play", &sees), None);
        assert_eq!(graph.join("show", "label", &|_| true), None);
    }

    #[test]
    fn an_edge_is_seen_from_both_sides() {
        let graph = JoinGraph::of(vec![edge("orders", "customers", 0.8)]);
        let [here] = graph
            .partners("orders", None, 10, &|_| true)
            .try_into()
            .unwrap();
        assert_eq!(
            (here.direction, here.columns),
            (Direction::RefersTo, vec!["customers_id".into()])
        );
        let [there] = graph
            .partners("customers", None, 10, &|_| true)
            .try_into()
            .unwrap();
        assert_eq!(there.direction, Direction::ReferredBy);
        assert_eq!(there.cardinality, Some(Cardinality::OneToMany));
        assert_eq!(
            (there.columns, there.partner_columns),
            (vec!["id".to_owned()], vec!["customers_id".to_owned()])
        );
    }
}
