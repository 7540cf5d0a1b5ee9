//! An answer in words: its value, its row, how many rows there are, why there are none; and what
//! ties where it was cut.

use std::collections::HashSet;

use limn_sql::Tie;
use limn_store::one_line;
use serde_json::{Number, Value};

use crate::plan::Column;
use crate::run::Done;

/// Rows that a sentence lists.
const LISTED: usize = 10;
/// Letters of a condition that a sentence has.
const CONDITION: usize = 300;

/// The rows in words: the value, the values of one column or row, or how many rows there are.
pub(crate) fn sentence(columns: &[Column], rows: &[Vec<Value>], done: &Done) -> String {
    let count = done.rows.num_rows();
    let said = match (columns, rows) {
        (_, []) => return no_rows(done),
        ([column], [row]) => format!("{}: {}", one_line(&column.name), shown(column, &row[0])),
        (columns, [row]) => {
            let pairs = columns.iter().zip(row);
            let pairs =
                pairs.map(|(it, value)| format!("{}: {}", one_line(&it.name), shown(it, value)));
            pairs.collect::<Vec<_>>().join(", ")
        }
        ([column], rows) if is_said(1, count) => {
            let listed: Vec<String> = rows.iter().map(|row| shown(column, &row[0])).collect();
            format!("{}: {}", one_line(&column.name), listed.join(", "))
        }
        (columns, _) => {
            let names: Vec<String> = columns.iter().map(|it| one_line(&it.name)).collect();
            format!("{count} rows of {}", names.join(", "))
        }
    };
    match &done.tie {
        Some(tie) => format!(
            "{said} ({} of {} that tie for place {})",
            tie.kept,
            tied(tie),
            tie.place
        ),
        None => said,
    }
}

/// Whether a sentence has all of so many columns and rows: the values of one column, where they are
/// few.
#[must_use]
pub fn is_said(columns: usize, rows: usize) -> bool {
    columns == 1 && rows <= LISTED || rows == 0
}

/// That there are no rows, and of what.
fn no_rows(done: &Done) -> String {
    let tables: Vec<String> = done.tables.iter().map(|(name, _)| one_line(name)).collect();
    let condition = done.condition.as_deref().map(|it| {
        let letters: String = it.chars().take(CONDITION).collect();
        one_line(&letters)
    });
    match (tables.is_empty(), condition) {
        (true, _) => "No rows".to_owned(),
        (false, None) => format!("No rows: nothing is in {}", tables.join(", ")),
        (false, Some(condition)) => {
            format!("No rows: nothing in {} has {condition}", tables.join(", "))
        }
    }
}

/// What a person should know of rows that tie where they were cut. `values` are the first of them.
pub(crate) fn tie_note(tie: &Tie, columns: &[Column], values: &[Vec<Value>]) -> String {
    let differs = |at: &usize| values.iter().any(|row| row[*at] != values[0][*at]);
    let at = (0..columns.len()).find(differs).unwrap_or(0);
    let named = values.iter().filter_map(|row| row.get(at));
    let is_more = tie.is_more || tie.count > values.len();
    let mut known = HashSet::new();
    let named = named.map(|it| shown(&columns[at], it));
    let mut named: Vec<String> = named.filter(|it| known.insert(it.clone())).collect();
    if is_more {
        named.push("…".to_owned());
    }
    let (tied, place, kept) = (tied(tie), tie.place, tie.kept);
    let names = named.join(", ");
    format!("{tied} tie for place {place}: {names}; the answer shows {kept}")
}

fn tied(tie: &Tie) -> String {
    let least = if tie.is_more { "at least " } else { "" };
    format!("{least}{} rows", tie.count)
}

/// A value as people read it: a float with twelve digits that count, which hides that it is made of
/// binary parts.
#[must_use]
pub fn shown(column: &Column, value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => one_line(text),
        Value::Number(number) if column.data_type == "float" => figure(number),
        other => one_line(&other.to_string()),
    }
}

fn figure(number: &Number) -> String {
    let rounded = number
        .as_f64()
        .and_then(|it| format!("{it:.11e}").parse().ok());
    let rounded = rounded.and_then(Number::from_f64);
    rounded.unwrap_or_else(|| number.clone()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_twelve_digits_and_other_values_all_of_theirs() {
        let of = |data_type: &str, json: &str| {
            let column = Column {
                name: "x".to_owned(),
                data_type: data_type.to_owned(),
            };
            let value: Value = serde_json::from_str(json).unwrap_or_default();
            shown(&column, &value)
        };
        for (written, read) in [
            ("0.30000000000000004", "0.3"),
            ("2.675", "2.675"),
            ("1.0", "1.0"),
            ("-0.1", "-0.1"),
            ("123456789.12345678", "123456789.123"),
            ("1e300", "1e+300"),
            ("1.0000000000000002e-7", "1e-7"),
            ("null", "none"),
            ("\"NaN\"", "NaN"),
        ] {
            assert_eq!(of("float", written), read, "{written}");
        }
        assert_eq!(of("integer", "9007199254740993"), "9007199254740993");
        assert_eq!(
            of("decimal", "\"0.30000000000000004\""),
            "0.30000000000000004"
        );
    }
}
