//! Lines of several cells above a table: `Station:,BER`, a title with a comma in it, a comment, years over quarters.
//!
//! They have fewer cells than the header, which has one for every column. That alone would also be said of R's files, whose
//! header lacks the name of the first column, and of headers that leave names out. So the row below must differ from the
//! values as a header does, in every column: in doubt nothing is above.

use super::{PREAMBLE, counts_up, is_written_value, is_year, like, repeats};
use crate::data_type::DataType;
use crate::formats::infer::{classify, is_marker, is_null};

/// A header below other lines.
pub(super) struct Below {
    /// Its row.
    pub(super) at: usize,
    /// What the line above it says of its columns: `2020` over `q1` and `q2`.
    pub(super) groups: Option<Vec<String>>,
}

impl Below {
    /// The cells of the header, each with its group.
    pub(super) fn names(&self, header: &[String]) -> Vec<String> {
        let group = |i| self.groups.as_ref().and_then(|groups| groups.get(i));
        let name = |(i, name): (usize, &String)| match group(i) {
            Some(group) if !group.is_empty() => format!("{group} {name}"),
            _ => name.clone(),
        };
        header.iter().enumerate().map(name).collect()
    }
}

/// The header of a table of `width` columns, if it is surely not the first row.
pub(super) fn find(rows: &[Vec<String>], width: usize) -> Option<Below> {
    let columns = in_use(rows, width);
    if columns.len() < 2 {
        return None;
    }
    let is_above = |row: &&Vec<String>| is_comment(row) || filled(row) < columns.len();
    let at = rows.iter().take_while(is_above).count();
    if at == 0 || at > PREAMBLE {
        return None;
    }
    let (above, table) = rows.split_at(at);
    let (header, values) = table.split_first()?;
    if !is_even(values, width) {
        return None;
    }
    let typed = typed_below(header, values, &columns)?;
    // One cell less than the header: a header itself, perhaps, that lacks a name.
    let lacks_one = above.first().map(|row| filled(row) + 1) == Some(columns.len());
    let is_clear = typed.len() > 1 || typed.first() == columns.first();
    let (last, others) = above.split_last()?;
    let groups = groups(last, header.len());
    // Several cells: a header behind a `#`, perhaps, or one that leaves names out.
    let may_be_header = groups.is_none() && filled(last) > 1 && !is_named(last);
    if typed.is_empty() || (may_be_header || at == 1 && lacks_one) && !is_clear {
        return None;
    }
    let is_told = |row: &Vec<String>| is_comment(row) || is_line(row);
    if !others.iter().all(is_told) || groups.is_none() && !(is_told(last) && is_distinct(header)) {
        return None;
    }
    Some(Below { at, groups })
}

fn filled(row: &[String]) -> usize {
    row.iter().filter(|cell| !cell.is_empty()).count()
}

fn is_comment(row: &[String]) -> bool {
    row.first().is_some_and(|cell| cell.starts_with('#'))
}

/// Columns that have a cell in any row of the usual width.
fn in_use(rows: &[Vec<String>], width: usize) -> Vec<usize> {
    let of_width = || rows.iter().filter(|row| row.len() == width);
    (0..width)
        .filter(|i| of_width().any(|row| row.get(*i).is_some_and(|cell| !cell.is_empty())))
        .collect()
}

/// Whether nearly all rows, and two at least, have the width.
fn is_even(rows: &[Vec<String>], width: usize) -> bool {
    let last = rows.iter().rposition(|row| filled(row) > 1);
    let rows = &rows[..last.map_or(0, |last| last + 1)];
    let of_width = rows.iter().filter(|row| row.len() == width).count();
    of_width > 1 && of_width * 10 >= rows.len() * 9
}

/// A name and its values: `Station:,BER`.
fn is_named(row: &[String]) -> bool {
    row.first().is_some_and(|cell| cell.ends_with(':'))
}

/// A title, or a name and its values: no cell is left out before the last one.
fn is_line(row: &[String]) -> bool {
    let filled = filled(row);
    filled < 2 || is_named(row) || row.iter().take(filled).all(|cell| !cell.is_empty())
}

/// What a line says of the columns below: each of its cells is of all columns up to the next one, and one at least
/// is of several. The first column belongs to none.
fn groups(row: &[String], width: usize) -> Option<Vec<String>> {
    let is_headless = row.first().is_some_and(String::is_empty);
    if !is_headless || row.len() > width || filled(row) < 2 {
        return None;
    }
    let mut groups: Vec<String> = Vec::with_capacity(width);
    for i in 0..width {
        let group = match row.get(i) {
            Some(cell) if !cell.is_empty() => cell.clone(),
            _ => groups.last().cloned().unwrap_or_default(),
        };
        groups.push(group);
    }
    let is_shared = groups
        .windows(2)
        .any(|pair| !pair[0].is_empty() && pair[0] == pair[1]);
    is_shared.then_some(groups)
}

fn is_distinct(header: &[String]) -> bool {
    let mut names: Vec<&String> = header.iter().filter(|name| !name.is_empty()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    names.len() == count
}

/// Whether a cell is a unit rather than a name: `[hPa]`, `(m/s)`.
pub(super) fn is_bracketed(cell: &str) -> bool {
    let inner = |open, close| cell.strip_prefix(open)?.strip_suffix(close);
    inner('[', ']')
        .or_else(|| inner('(', ')'))
        .is_some_and(|inner| classify(inner) == DataType::Text)
}

/// The columns whose values have a type that the header's cell does not have; none if any cell is missing, or may as well be
/// one of the values.
fn typed_below(header: &[String], values: &[Vec<String>], columns: &[usize]) -> Option<Vec<usize>> {
    let is_counting = counts_up(header);
    let mut typed = Vec::new();
    for &i in columns {
        let name = header.get(i).filter(|name| !name.is_empty())?;
        if is_null(name) || is_marker(name) || is_bracketed(name) {
            return None;
        }
        let cells: Vec<&str> = values
            .iter()
            .filter_map(|row| row.get(i).map(String::as_str))
            .filter(|cell| !is_null(cell) && !is_marker(cell))
            .collect();
        let most = |test: &dyn Fn(&str) -> bool| {
            let fitting = cells.iter().filter(|cell| test(cell)).count();
            fitting > 0 && fitting * 5 >= cells.len() * 4
        };
        let is_number = |cell: &str| like(&DataType::Float, &classify(cell));
        match classify(name) {
            DataType::Text if is_written_value(name) => return None,
            DataType::Text if most(&|cell| classify(cell) != DataType::Text) => typed.push(i),
            DataType::Text if repeats(name, &cells) => return None,
            DataType::Text => {}
            // Days over numbers.
            DataType::Date | DataType::Timestamp if most(&is_number) => typed.push(i),
            DataType::Integer if is_counting && is_year(name) && most(&|cell| !is_year(cell)) => {
                typed.push(i);
            }
            _ => return None,
        }
    }
    Some(typed)
}
