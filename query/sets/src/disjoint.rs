//! Joins that meet in a column of a table and leave no row together.
//!
//! `customers.segment` and `trucks.status` both refer to a list of codes: by the two joins, rows go
//! together that have the same code, and there are none.

use std::sync::Arc;

use limn_profile::Overlap;
use limn_store::one_line;

use crate::columns::{Column, TableColumns};
use crate::join::{ColumnOf, Join};

/// The share of their values that two columns may have in common, at most, where it is not known
/// that they have none: with 128 values of each it is 3 %.
const NONE: f64 = 0.05;

/// The less sure one of two joins that meet in a column, and whose other columns share no value.
pub(crate) fn weaker<'a>(
    joins: &'a [Arc<Join>],
    tables: &[Arc<TableColumns>],
) -> Option<&'a Arc<Join>> {
    let pairs = (0..joins.len()).flat_map(|b| (0..b).map(move |a| (&joins[a], &joins[b])));
    let empty = pairs.filter(|(one, other)| are_empty(one, other, tables));
    let weaker = empty.map(|(one, other)| match other.weight > one.weight {
        true => one,
        false => other,
    });
    weaker.min_by(|a, b| a.weight.total_cmp(&b.weight))
}

/// What is said of a join that was left out.
pub(crate) fn warning(join: &Join) -> String {
    let (left, right) = (&join.left, &join.right);
    one_line(&format!(
        "{}.{} = {}.{} was left out: beside another join by the same column it leaves no row",
        left.table, left.column, right.table, right.column
    ))
}

/// Whether two joins have a column in common, by which their other columns would be equal, and
/// these share no value. Of keys of several columns nothing is known together, and columns that
/// join by their names alone may share none.
fn are_empty(one: &Join, other: &Join, tables: &[Arc<TableColumns>]) -> bool {
    let by_values = |it: &Join| it.more.is_empty() && it.containment.is_some_and(|it| it > 0.0);
    if !by_values(one) || !by_values(other) {
        return false;
    }
    let ends = |join: &'_ Join| {
        [
            (join.left.clone(), join.right.clone()),
            (join.right.clone(), join.left.clone()),
        ]
    };
    let pairs = ends(one)
        .into_iter()
        .flat_map(|a| ends(other).map(|b| (a.clone(), b)));
    let met = pairs.filter(|((shared, _), (same, _))| shared == same);
    met.into_iter().any(|((_, a), (_, b))| {
        let columns = column(&a, tables).zip(column(&b, tables));
        let values = columns.and_then(|(a, b)| a.values.as_ref().zip(b.values.as_ref()));
        values.is_some_and(|(a, b)| shares_none(&a.overlap(b)))
    })
}

fn shares_none(overlap: &Overlap) -> bool {
    let most = overlap
        .first_in_second
        .high
        .max(overlap.second_in_first.high);
    overlap.intersection <= 0.0 && (overlap.exact || most < NONE)
}

fn column<'a>(of: &ColumnOf, tables: &'a [Arc<TableColumns>]) -> Option<&'a Column> {
    let table = tables.iter().find(|it| of.is_of(&it.table))?;
    table.columns.iter().find(|it| it.name == of.column)
}
