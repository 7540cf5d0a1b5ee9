//! The join graph for readers: a table's partners, and the way between two tables.
//!
//! It is made of the edges that a reader may see: one whose tables are not both visible is not
//! there, nor is a way that leads by a table that is not.

use std::collections::{BTreeSet, HashMap};

use limn_joins::{Cardinality, EdgeKind, Evidence};
use limn_segment::JoinRecord;
use serde::Serialize;

/// Joins between two tables that a way has, at most.
pub const MOST_HOPS: usize = 4;

/// The edges of a lake between tables that a reader may see.
#[derive(Debug, Default)]
pub struct JoinGraph {
    edges: Vec<JoinRecord>,
    /// The edges of each table, by their places.
    of: HashMap<String, Vec<usize>>,
}

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
    /// The graph of these edges, of those between tables that `is_visible`.
    pub fn of(edges: Vec<JoinRecord>, is_visible: impl Fn(&str) -> bool) -> JoinGraph {
        let mut graph = JoinGraph::default();
        for edge in edges {
            if !is_visible(&edge.left) || !is_visible(&edge.right) {
                continue;
            }
            let at = graph.edges.len();
            for table in BTreeSet::from([&edge.left, &edge.right]) {
                graph.of.entry(table.clone()).or_default().push(at);
            }
            graph.edges.push(edge);
        }
        graph
    }

    /// A table's edges, the surest first.
    #[must_use]
    pub fn partners(&self, table: &str) -> Vec<Partner> {
        let edges = self.of.get(table).into_iter().flatten();
        let edges = edges.filter_map(|at| self.edges.get(*at));
        let mut partners: Vec<Partner> = edges.map(|edge| seen_from(edge, table)).collect();
        partners.sort_by(|a, b| {
            let names = || (&a.partner, &a.columns).cmp(&(&b.partner, &b.columns));
            b.score.total_cmp(&a.score).then_with(names)
        });
        partners
    }

    /// The surest way of joins from one table to another, of [`MOST_HOPS`] at most: that of the
    /// greatest product of scores. `None` where there is none; empty from a table to itself.
    #[must_use]
    pub fn path(&self, from: &str, to: &str) -> Option<Vec<Partner>> {
        if from == to {
            return Some(Vec::new());
        }
        // Of each table that can be reached in so many hops, the surest way there.
        let mut reached: HashMap<String, (f64, Vec<Partner>)> = HashMap::new();
        let mut last = vec![(from.to_owned(), 1.0, Vec::new())];
        for _ in 0..MOST_HOPS {
            let mut next: HashMap<String, (f64, Vec<Partner>)> = HashMap::new();
            for (table, score, way) in &last {
                for partner in self.partners(table) {
                    let score = score * f64::from(partner.score);
                    let is_known = |known: &HashMap<String, (f64, Vec<Partner>)>| {
                        known.get(&partner.partner).is_some_and(|it| it.0 >= score)
                    };
                    let is_join = partner.kind == EdgeKind::Join && partner.partner != from;
                    if is_join && !is_known(&reached) && !is_known(&next) {
                        let mut way: Vec<Partner> = way.clone();
                        let table = partner.partner.clone();
                        way.push(partner);
                        next.insert(table, (score, way));
                    }
                }
            }
            last = next
                .iter()
                .map(|(table, (score, way))| (table.clone(), *score, way.clone()))
                .collect();
            // Of equal ways the first by name.
            last.sort_by(|a, b| a.0.cmp(&b.0));
            reached.extend(next);
        }
        reached.remove(to).map(|(_, way)| way)
    }
}

fn seen_from(edge: &JoinRecord, table: &str) -> Partner {
    let is_left = edge.left == table;
    let is_join = edge.kind == EdgeKind::Join;
    let refers = match edge.kind {
        EdgeKind::Join => edge.cardinality != Cardinality::ManyToMany,
        kind => kind == EdgeKind::Subset,
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
        partner: if is_left {
            edge.right.clone()
        } else {
            edge.left.clone()
        },
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn edge(left: &str, right: &str, score: f32) -> JoinRecord {
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

    fn way(graph: &JoinGraph, from: &str, to: &str) -> Option<Vec<String>> {
        let way = graph.path(from, to)?;
        Some(way.into_iter().map(|it| it.partner).collect())
    }

    #[test]
    fn the_surest_way_is_found_and_none_is_longer_than_four() {
        // A cycle, a way that is longer and surer, and a chain.
        let edges = || {
            let mut edges = vec![
                edge("a", "b", 0.6),
                edge("a", "c", 0.9),
                edge("c", "b", 0.9),
                edge("b", "a", 0.5),
                edge("a", "a", 1.0),
            ];
            let chain = ["b", "d", "e", "f", "g"];
            edges.extend(chain.windows(2).map(|it| edge(it[1], it[0], 0.9)));
            edges
        };
        let graph = JoinGraph::of(edges(), |_| true);
        let names = |names: &[&str]| Some(names.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(way(&graph, "a", "b"), names(&["c", "b"]));
        assert_eq!(way(&graph, "a", "e"), names(&["c", "b", "d", "e"]));
        // The surer way to b would be too long.
        assert_eq!(way(&graph, "a", "f"), names(&["b", "d", "e", "f"]));
        assert_eq!(way(&graph, "a", "g"), None);
        assert_eq!(way(&graph, "a", "a"), names(&[]));
        assert_eq!(way(&graph, "a", "nowhere"), None);
        let unseen = JoinGraph::of(edges(), |table| table != "d");
        assert_eq!(way(&unseen, "a", "e"), None);
        assert!(unseen.partners("b").iter().all(|it| it.partner != "d"));
    }

    #[test]
    fn an_edge_is_seen_from_both_sides() {
        let graph = JoinGraph::of(vec![edge("orders", "customers", 0.8)], |_| true);
        let [here] = graph.partners("orders").try_into().unwrap();
        assert_eq!(
            (here.direction, here.columns),
            (Direction::RefersTo, vec!["customers_id".into()])
        );
        let [there] = graph.partners("customers").try_into().unwrap();
        assert_eq!(there.direction, Direction::ReferredBy);
        assert_eq!(there.cardinality, Some(Cardinality::OneToMany));
        assert_eq!(
            (there.columns, there.partner_columns),
            (vec!["id".to_owned()], vec!["customers_id".to_owned()])
        );
    }
}
