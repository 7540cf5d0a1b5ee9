//! Tables of the same columns: copies, subsets and unions.

use limn_profile::Overlap;

use crate::edge::{Cardinality, Edge, EdgeKind, Evidence, Millionths};
use crate::table::{Column, Kind, Table};

/// A copy has at least this share of the other's rows.
const AS_MANY: f64 = 0.9;
/// The mean Jaccard similarity of the columns of copies.
const NEARLY_EQUAL: f64 = 0.85;
/// The mean share of a subset's values that the other table has.
const WITHIN: f64 = 0.97;
/// Two tables of fewer columns are no union of one: `id, name` is anybody's.
const WIDE: usize = 3;
/// Values that all columns of a copy have together, at least.
const ENOUGH: f64 = 6.0;
/// Of a copy so many rows are other ones, at most, as a share of all.
const EDITED: f64 = 0.06;

/// What two tables of the same columns are to each other; `None` of other tables, or where it
/// cannot be said.
pub(crate) fn relation(one: &Table, other: &Table) -> Option<Edge> {
    if one.schema != other.schema || one.names.len() != other.names.len() || one.columns.is_empty()
    {
        return None;
    }
    let (small, large) = match one.rows <= other.rows {
        true => (one, other),
        false => (other, one),
    };
    let pairs = matched(small, large)?;
    let overlaps: Vec<Overlap> = pairs
        .iter()
        .map(|(a, b)| a.values.overlap(&b.values))
        .collect();
    let mean = |of: fn(&Overlap) -> f64| {
        overlaps.iter().map(of).sum::<f64>() / overlaps.len().max(1) as f64
    };
    let jaccard = mean(|it| it.jaccard.value);
    let within = mean(|it| it.first_in_second.value);
    let values: f64 = pairs.iter().map(|(a, _)| a.values.distinct()).sum();
    let rows = small.rows as f64 / large.rows.max(1) as f64;
    let telling = telling(small, &pairs, &overlaps);
    let has_rows = || match telling {
        Some(share) => share >= NEARLY_EQUAL,
        None => edited(small, large, &pairs) <= EDITED,
    };
    let is_alike = rows >= AS_MANY && jaccard >= NEARLY_EQUAL && values >= ENOUGH;
    let kind = if is_alike && has_rows() {
        EdgeKind::Copy
    } else if rows < 1.0 && within >= WITHIN && telling.is_some_and(|it| it >= WITHIN) {
        EdgeKind::Subset
    } else if small.names.len() >= WIDE && telling.is_none_or(|it| it < NEARLY_EQUAL) {
        EdgeKind::Union
    } else {
        return None;
    };
    let (left, right) = match kind {
        EdgeKind::Subset => (small, large),
        _ => (one, other),
    };
    let low = overlaps
        .iter()
        .map(|it| it.first_in_second.low)
        .sum::<f64>();
    Some(Edge {
        left: left.id,
        right: right.id,
        kind,
        score: Millionths::of(match kind {
            EdgeKind::Copy => jaccard,
            EdgeKind::Subset => within,
            // Other rows are what makes it one.
            _ => 1.0 - telling.unwrap_or(0.5) / 2.0,
        }),
        left_columns: Vec::new(),
        right_columns: Vec::new(),
        cardinality: Cardinality::ManyToMany,
        containment: Millionths::of(within),
        containment_low: Millionths::of(low / overlaps.len().max(1) as f64),
        jaccard: Millionths::of(jaccard),
        evidence: Evidence::ValuesAndNames,
    })
}

/// The columns of two tables by their names; `None` where they hold other kinds of values, or one
/// of them values and the other none.
fn matched<'a>(one: &'a Table, other: &'a Table) -> Option<Vec<(&'a Column, &'a Column)>> {
    let sorted = |table: &'a Table| {
        let mut columns: Vec<&Column> = table.columns.iter().collect();
        columns.sort_by(|a, b| a.name.cmp(&b.name));
        columns
    };
    let (ours, theirs) = (sorted(one), sorted(other));
    let is_number = |kind| matches!(kind, Kind::Whole | Kind::Fraction);
    let fits = |(a, b): (&&Column, &&Column)| {
        a.name.is_same(&b.name) && (a.kind == b.kind || is_number(a.kind) && is_number(b.kind))
    };
    let fit = ours.len() == theirs.len() && ours.iter().zip(&theirs).all(fits);
    fit.then(|| ours.into_iter().zip(theirs).collect())
}

/// How much of the column that tells the rows of the small table apart best, and is no sequence,
/// the other table has: that is about the share of its rows; `None` without such a column.
fn telling(small: &Table, pairs: &[(&Column, &Column)], overlaps: &[Overlap]) -> Option<f64> {
    let columns = pairs.iter().zip(overlaps);
    let telling = columns.filter(|((column, _), _)| column.tells_apart(small.rows));
    let best = telling
        .max_by(|((a, _), _), ((b, _), _)| a.values.distinct().total_cmp(&b.values.distinct()));
    best.map(|(_, overlap)| overlap.first_in_second.value)
}

/// How many cells, as a share of the rows, differ at least between tables of which no column tells
/// the rows apart: any halves of such a table have the same values, but not each as often.
fn edited(small: &Table, large: &Table, pairs: &[(&Column, &Column)]) -> f64 {
    let more = large.rows - small.rows;
    let known = pairs
        .iter()
        .filter(|(a, b)| !a.counts.is_empty() && !b.counts.is_empty());
    let differ: u64 = known
        .map(|(a, b)| apart(&a.counts, &b.counts).saturating_sub(more) / 2)
        .sum();
    differ as f64 / large.rows.max(1) as f64
}

/// The sum of the differences between how often values occur.
fn apart(one: &[(u64, u64)], other: &[(u64, u64)]) -> u64 {
    let count = |counts: &[(u64, u64)], value: u64| {
        let at = counts.binary_search_by_key(&value, |it| it.0);
        at.ok().and_then(|at| counts.get(at)).map_or(0, |it| it.1)
    };
    let ours = one
        .iter()
        .map(|(value, times)| times.abs_diff(count(other, *value)));
    let theirs = other.iter().filter(|(value, _)| count(one, *value) == 0);
    ours.sum::<u64>() + theirs.map(|(_, times)| times).sum::<u64>()
}
