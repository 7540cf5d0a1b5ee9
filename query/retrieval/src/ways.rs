//! The way of joins from one table to another, and what is said of it.

use std::collections::HashMap;

use limn_joins::{Cardinality, EdgeKind};
use limn_segment::JoinRecord;

use crate::copies::is_aside;
use crate::join_graph::{JoinGraph, Partner, Sees, seen_from};

/// Joins between two tables that a way has, at most.
pub const MOST_HOPS: usize = 4;
/// What a way counts that goes to a key and back from it, or by columns that repeat on both sides:
/// two tables that refer to the same thing have no more to do with each other than that, and where
/// it is a list of codes, nothing.
const BY_A_SHARED_VALUE: f64 = 0.5;
/// What a way counts for each join after its first: a join of two tables is what they mean, if any.
const FURTHER: f64 = 0.8;

impl JoinGraph {
    /// The surest way of joins from one table to another, of [`MOST_HOPS`] at most: that of the
    /// greatest product of scores, where a way from a key back by the same key, and a join of
    /// columns that repeat on both sides, count half, and each join after the first a fifth less.
    /// `None` where there is none; empty from a table to itself.
    #[must_use]
    pub fn path(&self, from: &str, to: &str, sees: Sees<'_>) -> Option<Vec<Partner>> {
        let start = HashMap::from([(Place::start(from), Step::default())]);
        // Of each number of hops the surest way to each place, where no shorter one is as sure.
        let mut hops: Vec<HashMap<Place<'_>, Step<'_>>> = vec![start];
        for _ in 0..MOST_HOPS {
            let next = self.next_hop(&hops, sees);
            hops.push(next);
        }
        let reached = hops.iter().enumerate().flat_map(|(hop, places)| {
            let there = places.iter().filter(|(place, _)| place.table == to);
            there.map(move |(place, step)| (hop, *place, step))
        });
        let (last, mut at, _) = reached.max_by(|(a, place, one), (b, other, two)| {
            let fewer = b.cmp(a);
            let by_score = one.score.total_cmp(&two.score);
            by_score.then(fewer).then(other.cmp(place))
        })?;
        let mut way = Vec::new();
        for hop in (1..=last).rev() {
            let (edge, before) = hops[hop].get(&at)?.by?;
            way.push(seen_from(edge, before.table));
            at = before;
        }
        way.reverse();
        Some(way)
    }

    /// The places that one join more leads to, and is the surest way to.
    fn next_hop<'a>(
        &'a self,
        hops: &[HashMap<Place<'a>, Step<'a>>],
        sees: Sees<'_>,
    ) -> HashMap<Place<'a>, Step<'a>> {
        let mut next: HashMap<Place<'_>, Step<'_>> = HashMap::new();
        for (before, step) in hops.last().into_iter().flatten() {
            let joins = self.edges_of(before.table, sees);
            for (edge, table) in joins.filter(|it| it.0.kind == EdgeKind::Join) {
                let place = Place::by(edge, table);
                let repeats = edge.cardinality == Cardinality::ManyToMany;
                let shares = || step.by.is_some_and(|(last, _)| share_a_key(last, edge));
                let worth = match repeats || shares() {
                    true => BY_A_SHARED_VALUE,
                    false => 1.0,
                };
                let further = if step.by.is_some() { FURTHER } else { 1.0 };
                let found = Step {
                    score: step.score * f64::from(edge.score) * worth * further,
                    by: Some((edge, *before)),
                };
                let is_known = |hop: &HashMap<Place<'_>, Step<'_>>| {
                    hop.get(&place).is_some_and(|it| it.score >= found.score)
                };
                let is_surer = next.get(&place).is_none_or(|it| found.is_surer(it));
                if is_surer && !hops.iter().any(is_known) && !has_been_at(hops, *before, table) {
                    next.insert(place, found);
                }
            }
        }
        next
    }
}

/// Whether the way to a place of the last hop leads by a table: no way goes back to one.
fn has_been_at(hops: &[HashMap<Place<'_>, Step<'_>>], last: Place<'_>, table: &str) -> bool {
    let mut at = Some(last);
    hops.iter().rev().any(|hop| {
        let place = at;
        at = place
            .and_then(|it| hop.get(&it)?.by)
            .map(|(_, before)| before);
        place.is_some_and(|it| it.table == table)
    })
}

/// Whether several rows of two tables refer to one of a third, by the same columns of it.
fn share_a_key(one: &JoinRecord, other: &JoinRecord) -> bool {
    let refers = |it: &JoinRecord| it.cardinality == Cardinality::ManyToOne;
    refers(one)
        && refers(other)
        && one.left != other.left
        && one.right == other.right
        && one.right_columns == other.right_columns
}

/// A table, and the key of it by which several rows of the table before refer to it: what goes on
/// from there by the same key counts less.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place<'a> {
    table: &'a str,
    key: Option<&'a [String]>,
}

impl<'a> Place<'a> {
    fn start(table: &'a str) -> Place<'a> {
        Place { table, key: None }
    }

    /// Where a join leads to.
    fn by(edge: &'a JoinRecord, table: &'a str) -> Place<'a> {
        let refers = edge.cardinality == Cardinality::ManyToOne && edge.right == table;
        let key = refers.then_some(edge.right_columns.as_slice());
        Place { table, key }
    }
}

/// How a place is reached.
#[derive(Clone, Copy)]
struct Step<'a> {
    score: f64,
    /// The last join, and the place before it.
    by: Option<(&'a JoinRecord, Place<'a>)>,
}

impl Default for Step<'_> {
    fn default() -> Self {
        Step {
            score: 1.0,
            by: None,
        }
    }
}

impl<'a> Step<'a> {
    /// Of ways that are as sure those by tables that are not kept aside; then the first by names.
    fn is_surer(&self, other: &Step<'a>) -> bool {
        let by_score = self.score.total_cmp(&other.score);
        by_score
            .then_with(|| other.names().cmp(&self.names()))
            .is_gt()
    }

    fn names(&self) -> Option<(bool, Place<'a>, &'a [String])> {
        let (edge, before) = self.by?;
        Some((is_aside(before.table), before, &edge.left_columns))
    }
}

/// What there is to say of a way between two tables, or of there being none; names are as `shown`
/// makes them.
pub fn notes_of_way(
    way: Option<&[Partner]>,
    from: &str,
    to: &str,
    shown: impl Fn(&str) -> String,
) -> Vec<String> {
    let steps = match way {
        None => {
            return vec![format!(
                "no way of {MOST_HOPS} joins or fewer leads from '{}' to '{}'",
                shown(from),
                shown(to)
            )];
        }
        Some([]) => return vec![format!("'{}' is not joined with itself", shown(to))],
        Some(steps) => steps,
    };
    let before = std::iter::once(None).chain(steps.iter().map(Some));
    let noted = before.zip(steps).filter_map(|(before, step)| {
        let (table, partner) = (shown(&step.table), shown(&step.partner));
        let shared = before.filter(|it| {
            it.cardinality == Some(Cardinality::ManyToOne) && it.partner_columns == step.columns
        });
        match (step.cardinality?, shared) {
            (Cardinality::OneToMany, Some(before)) => Some(format!(
                "'{}' and '{partner}' have no more in common than {} of '{table}': each row of one is put beside every row of the other with the same one, and where they have none in common, nothing is left",
                shown(&before.table),
                shown(&step.columns.join(", "))
            )),
            (Cardinality::OneToMany | Cardinality::ManyToMany, _) => Some(format!(
                "rows multiply: several of '{partner}' may go with one of '{table}'"
            )),
            (Cardinality::OneToOne | Cardinality::ManyToOne, _) => None,
        }
    });
    noted.collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::join_graph::drafts::edge;

    fn way(graph: &JoinGraph, from: &str, to: &str) -> Option<Vec<String>> {
        let way = graph.path(from, to, &|_| true)?;
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
                edge("b", "a", 0.3),
                edge("a", "a", 1.0),
            ];
            let chain = ["b", "d", "e", "f", "g"];
            edges.extend(chain.windows(2).map(|it| edge(it[1], it[0], 0.9)));
            edges
        };
        let graph = JoinGraph::of(edges());
        let names = |names: &[&str]| Some(names.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(way(&graph, "a", "b"), names(&["c", "b"]));
        assert_eq!(way(&graph, "a", "e"), names(&["c", "b", "d", "e"]));
        // The surer way to b would be too long.
        assert_eq!(way(&graph, "a", "f"), names(&["b", "d", "e", "f"]));
        assert_eq!(way(&graph, "a", "g"), None);
        assert_eq!(way(&graph, "a", "a"), names(&[]));
        assert_eq!(way(&graph, "a", "nowhere"), None);
        let sees = |edge: &JoinRecord| edge.left != "d" && edge.right != "d";
        assert_eq!(graph.path("a", "e", &sees), None);
        let edges = vec![
            edge("staff", "backup/towns", 0.9),
            edge("staff", "towns", 0.9),
            edge("towns", "regions", 0.9),
            edge("backup/towns", "regions", 0.9),
        ];
        let kept_aside = JoinGraph::of(edges);
        let partners = kept_aside.partners("staff", None, 10, &|_| true);
        let partners: Vec<&str> = partners.iter().map(|it| it.partner.as_str()).collect();
        assert_eq!(partners, ["towns", "backup/towns"]);
        assert_eq!(
            way(&kept_aside, "staff", "regions"),
            names(&["towns", "regions"])
        );
        let partners = graph.partners("b", None, 10, &sees);
        assert!(partners.iter().all(|it| it.partner != "d"));
    }

    #[test]
    fn a_way_by_a_list_of_codes_is_the_last_resort() {
        let refers = |left: &str, column: &str, right: &str, score: f32| JoinRecord {
            left_columns: vec![column.to_owned()],
            right_columns: vec!["id".to_owned()],
            ..edge(left, right, score)
        };
        let by_codes = vec![
            refers("trucks", "status", "codes", 0.9),
            refers("customers", "segment", "codes", 0.9),
        ];
        let graph = JoinGraph::of(by_codes.clone());
        assert_eq!(
            way(&graph, "trucks", "customers"),
            Some(vec!["codes".to_owned(), "customers".to_owned()])
        );
        let steps = graph.path("trucks", "customers", &|_| true);
        let [said] = notes_of_way(steps.as_deref(), "trucks", "customers", str::to_owned)
            .try_into()
            .unwrap();
        assert!(
            said.starts_with("'trucks' and 'customers' have no more in common than id of 'codes'")
        );
        // To go by a third table and back to the codes makes nothing surer.
        let mut more = by_codes.clone();
        more.push(refers("codes", "kind", "kinds", 1.0));
        let expected = ["codes", "customers"].map(str::to_owned).to_vec();
        let graph = JoinGraph::of(more);
        assert_eq!(way(&graph, "trucks", "customers"), Some(expected));
        // Longer, and each of its joins is less sure, but it means something.
        let mut edges = by_codes;
        edges.push(refers("stops", "truck", "trucks", 0.8));
        edges.push(refers("stops", "order", "orders", 0.8));
        edges.push(refers("orders", "customer", "customers", 0.8));
        let graph = JoinGraph::of(edges);
        let expected = ["stops", "orders", "customers"].map(str::to_owned).to_vec();
        assert_eq!(way(&graph, "trucks", "customers"), Some(expected));
        let steps = graph.path("trucks", "customers", &|_| true);
        let notes = notes_of_way(steps.as_deref(), "trucks", "customers", str::to_owned);
        assert_eq!(
            notes,
            ["rows multiply: several of 'stops' may go with one of 'trucks'"]
        );
        // The surest way is the same from both ends, though its middle is nearer by a way that is
        // worth less then.
        let graph = JoinGraph::of(vec![
            refers("regions", "capital", "cities", 0.9),
            refers("countries", "region", "regions", 0.9),
            refers("cities", "country", "countries", 0.9),
            refers("customers", "city", "cities", 0.9),
        ]);
        let there = ["countries", "cities", "customers"].map(str::to_owned);
        assert_eq!(way(&graph, "regions", "customers"), Some(there.to_vec()));
        let back = ["cities", "countries", "regions"].map(str::to_owned);
        assert_eq!(way(&graph, "customers", "regions"), Some(back.to_vec()));
        assert_eq!(
            notes_of_way(Some(&[]), "a", "a", str::to_owned),
            ["'a' is not joined with itself"]
        );
    }
}
