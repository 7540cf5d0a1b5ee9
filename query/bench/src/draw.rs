//! Statements, drawn over a sample. The shares are those of PNEUMA's authors: half aggregate; of
//! those a fifth by groups, of which four fifths have HAVING, and half of the others a second
//! value; of the rest a fifth is in an order. Equalities are those of one row.

use crate::random::Draws;
use crate::sample::{ColumnKind, Sample};
use crate::statement::{Aggregate, Function, Order, Predicate, Select, Side, Statement, Test};

const AGGREGATES: f64 = 0.5;
const GROUPS: f64 = 0.2;
const HAVING: f64 = 0.8;
const SECOND_VALUE: f64 = 0.5;
const ORDERED: f64 = 0.2;
const LIMITS: [usize; 2] = [3, 5];
/// Of statements by groups or in an order, those without a predicate, and those with one.
const NO_PREDICATE: f64 = 0.1;
const ONE_PREDICATE: f64 = 0.45;

/// A statement, or none where the sample has no column for what was drawn.
pub(crate) fn statement(sample: &Sample, draws: &mut Draws) -> Option<Statement> {
    let select = match draws.chance(AGGREGATES) {
        true => aggregates(sample, draws).or_else(|| rows(sample, draws)),
        false => rows(sample, draws),
    }?;
    let may_have_none = match &select {
        Select::Rows { order, .. } => order.is_some(),
        Select::Groups { .. } => true,
        Select::Values { .. } => false,
    };
    let wanted = match may_have_none {
        true if draws.chance(NO_PREDICATE) => 0,
        true if draws.chance(ONE_PREDICATE / (1.0 - NO_PREDICATE)) => 1,
        true => 2,
        false => 1 + draws.below(2),
    };
    let predicates = predicates(sample, &select, wanted, draws);
    let is_whole = wanted == 0 || !predicates.is_empty();
    is_whole.then_some(Statement { select, predicates })
}

fn aggregates(sample: &Sample, draws: &mut Draws) -> Option<Select> {
    let numbers = sample.places(ColumnKind::Number);
    let value = |at: usize, draws: &mut Draws| {
        let function = *draws.one(&Function::ALL)?;
        let column = sample.name(at);
        Some(Aggregate { function, column })
    };
    let at = *draws.one(&numbers)?;
    let first = value(at, draws)?;
    let texts = sample.places(ColumnKind::Text);
    if let (true, Some(by)) = (draws.chance(GROUPS), draws.one(&texts)) {
        let values = sample.numbers(at);
        let having = match draws.chance(HAVING) {
            true => Some((side(draws), draws.one(&values)?.to_string())),
            false => None,
        };
        return Some(Select::Groups {
            by: sample.name(*by),
            value: first,
            having,
        });
    }
    let second = match draws.chance(SECOND_VALUE) {
        true => value(*draws.one(&numbers)?, draws).filter(|it| *it != first),
        false => None,
    };
    Some(Select::Values { first, second })
}

fn rows(sample: &Sample, draws: &mut Draws) -> Option<Select> {
    let mut columns: Vec<usize> = (0..sample.columns.len()).collect();
    let wanted = 1 + draws.below(2);
    draws.keep(wanted, &mut columns);
    let numbers = sample.places(ColumnKind::Number);
    let order = match (draws.chance(ORDERED), draws.one(&numbers)) {
        (true, Some(by)) => Some(Order {
            column: sample.name(*by),
            descends: draws.chance(0.5),
            limit: *draws.one(&LIMITS)?,
        }),
        _ => None,
    };
    let columns: Vec<String> = columns.into_iter().map(|at| sample.name(at)).collect();
    (!columns.is_empty()).then_some(Select::Rows { columns, order })
}

/// So many predicates on columns that are not selected, or fewer where there are no more.
fn predicates(
    sample: &Sample,
    select: &Select,
    wanted: usize,
    draws: &mut Draws,
) -> Vec<Predicate> {
    let row = draws.below(sample.rows.len());
    let selected = select.columns();
    let is_free = |at: &usize| !selected.contains(&sample.columns[*at].name.as_str());
    let has_value = |at: &usize| match sample.columns[*at].kind {
        ColumnKind::Other => false,
        _ => sample.value(row, *at).is_some(),
    };
    let mut free: Vec<usize> = (0..sample.columns.len()).filter(is_free).collect();
    free.retain(has_value);
    draws.keep(wanted, &mut free);
    let predicates = free.into_iter().filter_map(|at| {
        let own = sample.value(row, at)?.to_owned();
        let test = match sample.columns[at].kind {
            ColumnKind::Number => number(own, &sample.numbers(at), draws),
            _ => Test::IsText(own),
        };
        let column = sample.name(at);
        Some(Predicate { column, test })
    });
    predicates.collect()
}

/// What a number has to be, within the sampled range: `own` is the row's, `values` all of the
/// column, in order, each once.
fn number(own: String, values: &[&str], draws: &mut Draws) -> Test {
    let [first @ .., _] = values else {
        return Test::IsNumber(own);
    };
    if first.is_empty() {
        return Test::IsNumber(own);
    }
    match draws.below(4) {
        0 => Test::IsNumber(own),
        // Not below the least, nor above the greatest.
        1 => Test::Side(Side::Below, values[1 + draws.below(first.len())].to_owned()),
        2 => Test::Side(Side::Above, values[draws.below(first.len())].to_owned()),
        _ => {
            let ends = draws.distinct(2, values.len());
            Test::Between(values[ends[0]].to_owned(), values[ends[1]].to_owned())
        }
    }
}

fn side(draws: &mut Draws) -> Side {
    match draws.chance(0.5) {
        true => Side::Below,
        false => Side::Above,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sample::tests::{LAKES, sample};

    fn drawn(of: &Sample, count: u64) -> Vec<Option<Statement>> {
        let places = 0..count;
        let draw = |at| statement(of, &mut Draws::of(&[3, at]));
        places.map(draw).collect()
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let lakes = sample(&LAKES);
        assert_eq!(drawn(&lakes, 50), drawn(&lakes, 50));
        let other = statement(&lakes, &mut Draws::of(&[4, 0]));
        assert_ne!(drawn(&lakes, 1)[0], other);
    }

    #[test]
    fn shares_are_those_of_the_paper() {
        let statements = drawn(&sample(&LAKES), 10_000);
        let share = |of: &dyn Fn(&Statement) -> bool| {
            let counted = statements.iter().flatten().filter(|it| of(it)).count();
            (counted as f64 / 100.0).round() as usize
        };
        let is_rows = |it: &Statement| matches!(it.select, Select::Rows { .. });
        assert!((48..=52).contains(&share(&is_rows)));
        let is_ordered = |it: &Statement| matches!(it.select, Select::Rows { order: Some(_), .. });
        assert!((9..=11).contains(&share(&is_ordered)));
        let has_groups = |it: &Statement| matches!(it.select, Select::Groups { .. });
        assert!((9..=11).contains(&share(&has_groups)));
        let has_having = |it: &Statement| {
            matches!(
                it.select,
                Select::Groups {
                    having: Some(_),
                    ..
                }
            )
        };
        assert!((7..=9).contains(&share(&has_having)));
        let has_none = |it: &Statement| it.predicates.is_empty();
        assert!((1..=3).contains(&share(&has_none)));
    }

    #[test]
    fn equalities_are_of_one_row_and_on_columns_that_are_not_selected() {
        let lakes = sample(&LAKES);
        let mut compared = 0;
        for statement in drawn(&lakes, 2_000).into_iter().flatten() {
            let selected = statement.select.columns();
            let mut equal: Vec<(usize, &str)> = Vec::new();
            for Predicate { column, test } in &statement.predicates {
                assert!(!selected.contains(&column.as_str()), "{statement:?}");
                if let Test::IsText(value) | Test::IsNumber(value) = test {
                    let at = lakes.columns.iter().position(|it| it.name == *column);
                    equal.push((at.unwrap(), value));
                }
            }
            let has_all = |row: usize| {
                let mut all = equal.iter();
                all.all(|(at, value)| lakes.value(row, *at) == Some(*value))
            };
            assert!((0..lakes.rows.len()).any(has_all), "{statement:?}");
            compared += usize::from(equal.len() == 2);
        }
        assert!(compared > 100, "{compared}");
    }

    #[test]
    fn a_sample_without_columns_to_compare_gives_nothing_or_an_order() {
        let one: [(&str, ColumnKind, &[&str]); 1] = [("a", ColumnKind::Number, &["1", "2"])];
        for statement in drawn(&sample(&one), 200).into_iter().flatten() {
            assert!(statement.predicates.is_empty());
            assert!(matches!(
                statement.select,
                Select::Rows { order: Some(_), .. }
            ));
        }
        let other: [(&str, ColumnKind, &[&str]); 1] = [("day", ColumnKind::Other, &["x"])];
        assert!(drawn(&sample(&other), 50).iter().all(Option::is_none));
        assert!(drawn(&sample(&[]), 50).iter().all(Option::is_none));
    }
}
