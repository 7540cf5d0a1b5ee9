//! Two tables and their candidate columns to edges.
//!
//! A column f refers to a key k as far as f's values are among k's and f's name says so. Values
//! count by the middle of the containment and its lower bound (Wilson 1927, of
//! [`limn_profile::value_set`]), less where few are shared: one shared value of three is chance
//! more often than ten. `score = 1 − (1 − V v)(1 − N n)` with v and n between 0 and 1.

use crate::bands::MANY;
use crate::edge::{Cardinality, Edge, EdgeKind, Evidence, Millionths};
use crate::id::{ColumnId, Place};
use crate::relation::relation;
use crate::table::{Column, Kind, Reference, Role, Table};
use limn_profile::Overlap;

/// What values alone are worth.
const VALUES: f64 = 0.8;
/// What names alone are worth.
const NAMES: f64 = 0.5;
/// Names that are not even this alike say nothing of sequences.
const NAMES_AGREE: f64 = 0.7;
/// What names say of sequences in tables of another database.
const FAR: f64 = 0.6;
/// The share of a key's values, at least, that a column in another database has, which is called by
/// an abbreviation.
const ABBREVIATED: f64 = 0.5;
/// Shared values that are worth 1 − 1/e.
const CONVINCING: f64 = 3.0;
/// The share of the referring column's values, at least, that the key has.
const CONTAINED: f64 = 0.5;
/// Joins that are surer than this are edges.
const SURE: f64 = 0.5;
/// Joins of a pair of tables, at most.
const MOST_JOINS: usize = 3;
/// How much surer a join is than one that repeats on both sides.
const MANY_TO_MANY: f64 = 0.7;

/// Columns of two tables that have met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Compared {
    /// Of the one table.
    pub one: Place,
    /// Of the other.
    pub other: Place,
    /// Values that the one looked up and the other's lists have.
    pub one_in_other: u16,
    /// The same the other way round.
    pub other_in_one: u16,
}

/// The edges between two tables, `one` the lower by number, of columns that have met. A table joins
/// itself only by what it declares.
#[must_use]
pub fn compare(one: &Table, other: &Table, columns: &[Compared]) -> Vec<Edge> {
    let mut edges = declared(one, other);
    if one.id == other.id {
        return edges;
    }
    edges.extend(declared(other, one));
    if let Some(edge) = relation(one, other) {
        edges.push(edge);
        return edges;
    }
    let mut joins: Vec<Edge> = columns
        .iter()
        .filter(|it| it.one != ColumnId::WHOLE)
        .filter_map(|met| {
            join(
                (one, one.column(met.one)?),
                (other, other.column(met.other)?),
                met,
            )
        })
        .collect();
    // Of equals the first columns: keys come first in most tables.
    joins.sort_by(|a, b| b.score.cmp(&a.score).then_with(|| a.cmp(b)));
    for join in joins {
        let is_new = |edge: &Edge| edge.left != join.left || edge.left_columns != join.left_columns;
        let back = |edge: &Edge| edge.left == join.left || edge.right_columns != join.left_columns;
        if edges.iter().filter(|it| it.kind == EdgeKind::Join).count() < MOST_JOINS
            && edges.iter().all(|it| is_new(it) && back(it))
        {
            edges.push(join);
        }
    }
    edges
}

/// The keys of `to` that `from` declares.
fn declared(from: &Table, to: &Table) -> Vec<Edge> {
    let references = from.references.iter().filter(|it| it.table == to.id);
    references
        .filter_map(|it| declared_edge(from, to, it))
        .collect()
}

/// `None` where the columns that are referred to are not there.
fn declared_edge(from: &Table, to: &Table, reference: &Reference) -> Option<Edge> {
    let columns: Vec<Place> = match reference.to.as_slice() {
        [] => to.primary.clone(),
        names => names
            .iter()
            .map(|it| to.place(*it))
            .collect::<Option<_>>()?,
    };
    if columns.is_empty() || columns.len() != reference.columns.len() {
        return None;
    }
    let pairs = reference.columns.iter().zip(&columns);
    let mut seen =
        pairs.filter_map(|(left, right)| Some((from.column(*left)?, to.column(*right)?)));
    let first = seen.next();
    let overlap = first.map(|(left, right)| left.values.overlap(&right.values));
    let is_unique = reference.columns.len() == 1 && first.is_some_and(|it| it.0.is_unique);
    let share = |of: fn(&Overlap) -> f64| Millionths::of(overlap.as_ref().map_or(0.0, of));
    Some(Edge {
        left: from.id,
        right: to.id,
        kind: EdgeKind::Join,
        score: Millionths::ONE,
        left_columns: reference.columns.clone(),
        right_columns: columns,
        cardinality: match is_unique {
            true => Cardinality::OneToOne,
            false => Cardinality::ManyToOne,
        },
        containment: share(|it| it.first_in_second.value),
        containment_low: share(|it| it.first_in_second.low),
        jaccard: share(|it| it.jaccard.value),
        evidence: Evidence::Declared,
    })
}

/// How columns of two tables join, if they do: the surer way round.
fn join(
    (one, a): (&Table, &Column),
    (other, b): (&Table, &Column),
    met: &Compared,
) -> Option<Edge> {
    let there = refers(one, a, other, b, met.one_in_other);
    let back = refers(other, b, one, a, met.other_in_one);
    match (there, back) {
        (Some(there), Some(back)) if back.score > there.score => Some(back),
        (Some(there), _) => Some(there),
        (None, Some(back)) => Some(back),
        (None, None) => many_to_many(one, a, other, b),
    }
}

fn may_compare(a: Kind, b: Kind) -> bool {
    let joins = |kind| matches!(kind, Kind::Whole | Kind::Text);
    a == b || joins(a) && joins(b)
}

/// How the values of `a` and of the key `b` overlap: by their sketches, or, where these cover fewer
/// of `a`'s than it looked up, by how many of those `b`'s lists have. Lists may lack values (of
/// files with few, and in samples), so that what is not in them says nothing. That a range which is
/// all but full has a number is chance, unless `names_agree`.
fn overlap(a: &Column, b: &Column, held: u16, names_agree: bool) -> Overlap {
    let (held, looked_up) = (usize::from(held), a.lookups.len());
    let sketched = a.values.overlap(&b.values);
    let covers_more = sketched.first_in_second.sampled >= looked_up;
    let is_contained = held as f64 >= CONTAINED * looked_up as f64;
    match covers_more || !is_contained || b.is_dense && !names_agree {
        true => sketched,
        false => a.values.overlap_by_lookups(&b.values, held, looked_up),
    }
}

/// The edge by which `a` refers to the key `b`, if it is sure enough; `b`'s lists have `held` of
/// the values that `a` looked up.
fn refers(one: &Table, a: &Column, other: &Table, b: &Column, held: u16) -> Option<Edge> {
    if b.role != Role::Key || a.role == Role::Neither || !may_compare(a.kind, b.kind) {
        return None;
    }
    let names = a.name.refers_to(&b.name, &other.name).share();
    let overlap = overlap(a, b, held, names >= NAMES_AGREE);
    let contained = overlap.first_in_second;
    let shared = contained.value * contained.sampled as f64;
    let is_known = contained.sampled > 0;
    if is_known && contained.value < CONTAINED {
        return None;
    }
    let is_sequence = a.is_sequence || b.is_sequence || a.kind != b.kind;
    let (score, evidence) = if is_sequence {
        let is_far = one.database != other.database;
        let uses_little = overlap.second_in_first.value < ABBREVIATED;
        let is_count = a.kind == Kind::Whole && a.name.is_count() && !b.name.is_count();
        if names < NAMES_AGREE
            || is_count
            || is_far && !b.name.is_key_of(&other.name)
            || is_far && uses_little && a.name.is_short_for(&b.name, &other.name)
        {
            return None;
        }
        let unseen = if is_known { contained.value } else { CONTAINED };
        let near = if is_far { FAR } else { 1.0 };
        (names * unseen * near, Evidence::Names)
    } else {
        let strength = 1.0 - (-shared / CONVINCING).exp();
        let values = strength * (contained.value + contained.low) / 2.0;
        let score = 1.0 - (1.0 - VALUES * values) * (1.0 - NAMES * names);
        match names >= NAMES_AGREE {
            true => (score, Evidence::ValuesAndNames),
            false => (score, Evidence::Values),
        }
    };
    let cardinality = match (a.is_unique, b.is_unique) {
        (true, true) => Cardinality::OneToOne,
        (false, true) => Cardinality::ManyToOne,
        (_, false) => Cardinality::ManyToMany,
    };
    edge(one, a, other, b, &overlap, (score, cardinality, evidence))
}

/// The edge between columns of one name that both repeat.
fn many_to_many(one: &Table, a: &Column, other: &Table, b: &Column) -> Option<Edge> {
    let repeats =
        |it: &Column| it.role == Role::Repeats && !it.is_sequence && !it.name.is_generic();
    if !repeats(a) || !repeats(b) || a.kind != b.kind || !a.name.is_same(&b.name) {
        return None;
    }
    let overlap = a.values.overlap(&b.values);
    let (there, back) = (overlap.first_in_second, overlap.second_in_first);
    if a.values.distinct().min(b.values.distinct()) < MANY {
        return None;
    }
    let score = MANY_TO_MANY * there.low.max(back.low);
    let as_is = (score, Cardinality::ManyToMany, Evidence::ValuesAndNames);
    match back.value > there.value {
        false => edge(one, a, other, b, &overlap, as_is),
        true => edge(other, b, one, a, &b.values.overlap(&a.values), as_is),
    }
}

fn edge(
    one: &Table,
    a: &Column,
    other: &Table,
    b: &Column,
    overlap: &Overlap,
    (score, cardinality, evidence): (f64, Cardinality, Evidence),
) -> Option<Edge> {
    let contained = overlap.first_in_second;
    (score > SURE).then(|| Edge {
        left: one.id,
        right: other.id,
        kind: EdgeKind::Join,
        score: Millionths::of(score.min(0.999)),
        left_columns: vec![a.place],
        right_columns: vec![b.place],
        cardinality,
        containment: Millionths::of(contained.value),
        containment_low: Millionths::of(contained.low),
        jaccard: Millionths::of(overlap.jaccard.value),
        evidence,
    })
}
