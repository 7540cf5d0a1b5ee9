//! A row between the header and the values that is of neither: units, descriptions of the columns,
//! or names below those of groups of columns.

use limn_profile::DataType;
use limn_profile::infer::{classify, is_marker, is_null};
use limn_profile::notation::Evidence;

use super::above::is_bracketed;
use super::is_written_value;

/// Rows of values that must follow.
const FEWEST: usize = 3;
/// Letters of such a row that a note quotes.
const QUOTED: usize = 120;

/// What stands below a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Second {
    /// More names: `q1` and `q2` below `2020` and `2020`.
    Names(Vec<String>),
    /// What is no name and no value.
    Remarks(String),
}

/// What the first of the rows below a header says, if it is no row of values: in every column that
/// holds nothing but numbers or dates otherwise it has none. It says two things there at least, or
/// it is of units in brackets, or it is of nothing: its first cell is empty, as no other row's is.
pub(super) fn second(header: &[String], rows: &[Vec<String>]) -> Option<Second> {
    let (second, rows) = rows.split_first()?;
    // Shorter ones may be remarks below the table.
    let values = rows.iter().filter(|row| row.len() >= header.len());
    let values: Vec<&[String]> = values.map(Vec::as_slice).collect();
    if second.len() < header.len() || values.len() < FEWEST || !is_odd(second, &values) {
        return None;
    }
    // The header once more: it may come again and again.
    if second == header {
        return None;
    }
    let is_name = |name: &String| !name.is_empty() && !is_marker(name);
    let is_shared = header
        .windows(2)
        .any(|pair| !pair[0].is_empty() && pair[0] == pair[1]);
    let same = header.iter().zip(second);
    let is_repeated = same
        .filter(|(name, cell)| name == cell && is_name(name))
        .count()
        > 1;
    if is_shared || is_repeated {
        let names = header.iter().zip(second);
        return Some(Second::Names(
            names.map(|(name, cell)| joined(name, cell)).collect(),
        ));
    }
    let said: Vec<&str> = filled(second).collect();
    Some(Second::Remarks(
        said.join(", ").chars().take(QUOTED).collect(),
    ))
}

fn filled(row: &[String]) -> impl Iterator<Item = &str> {
    row.iter()
        .map(String::as_str)
        .filter(|cell| !cell.is_empty())
}

fn is_odd(second: &[String], values: &[&[String]]) -> bool {
    let is_of_units = filled(second).count() > 1
        && filled(second).all(|cell| is_bracketed(cell) || is_marker(cell));
    let mut odd: Vec<&str> = Vec::new();
    for (i, cell) in second.iter().enumerate() {
        if !is_typed(values, i) {
            continue;
        }
        if classify(cell) != DataType::Text || is_written_value(cell) {
            return false;
        }
        // A value that is missing, or an error of a spreadsheet.
        if !(is_null(cell) || is_marker(cell) || cell.starts_with('#')) {
            odd.push(cell);
        }
    }
    let is_first_filled = |row: &[String]| row.first().is_some_and(|cell| !cell.is_empty());
    let is_of_nothing = !is_first_filled(second)
        && values.iter().all(|row| is_first_filled(row))
        && filled(second).filter(|cell| !is_marker(cell)).count() == odd.len();
    odd.sort_unstable();
    odd.dedup();
    odd.len() > 1 || (is_of_units || is_of_nothing) && !odd.is_empty()
}

/// A name with the one below it.
fn joined(name: &str, below: &str) -> String {
    match (name, below) {
        (name, "") => name.to_owned(),
        (name, below) if name == below || is_marker(below) => name.to_owned(),
        ("", below) => below.to_owned(),
        (name, below) if is_marker(name) => below.to_owned(),
        _ => format!("{name} {below}"),
    }
}

/// Whether a column holds two values at least, and nothing but numbers or nothing but dates, plain
/// or in one notation.
fn is_typed(values: &[&[String]], column: usize) -> bool {
    let mut data_type = DataType::Unknown;
    let (mut written, mut is_written) = (Evidence::default(), true);
    let mut count = 0;
    let cells = values.iter().filter_map(|row| row.get(column));
    for cell in cells.filter(|cell| !is_null(cell) && !is_marker(cell)) {
        data_type.widen_with(&classify(cell));
        is_written = is_written && written.take(cell);
        count += 1;
    }
    count > 1 && (is_written || !matches!(data_type, DataType::Text | DataType::Boolean))
}
