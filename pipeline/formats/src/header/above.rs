//! Lines of several cells above a table: `Station:,BER`, a title with a comma in it, a comment,
//! years over quarters.
//!
//! They have fewer cells than the header, which has one for every column. That alone would also be
//! said of R's files, whose header lacks the name of the first column, and of headers that leave
//! names out. So the row below must differ from the values as a header does, in every column: in
//! doubt nothing is above.

use limn_profile::DataType;
use limn_profile::infer::{classify, is_marker, is_null, number};

use super::{PREAMBLE, counts_up, is_number, is_value, is_written_value, is_year, repeats};
use crate::MAX_COLUMNS;
use crate::names::NAME_CHARS;

/// A header below other lines.
pub(super) struct Below {
    /// Its row, the second one where it has two.
    pub(super) at: usize,
    pub(super) names: Vec<String>,
    /// The names are of two lines: `2020` over `q1` and `q2`.
    pub(super) is_joined: bool,
}

/// The header of a table of `width` columns, if it is surely not the first row.
pub(super) fn find(rows: &[Vec<String>], width: usize) -> Option<Below> {
    let columns = in_use(rows, width);
    if columns.len() < 2 {
        return None;
    }
    below_groups(rows, width, &columns).or_else(|| below_lines(rows, width, &columns))
}

/// A header below titles, comments, names and values.
fn below_lines(rows: &[Vec<String>], width: usize, columns: &[usize]) -> Option<Below> {
    let is_above = |row: &&Vec<String>| is_comment(row) || filled(row) < columns.len();
    let at = rows.iter().take_while(is_above).count();
    if at == 0 || at > PREAMBLE {
        return None;
    }
    let (above, table) = rows.split_at(at);
    let (header, values) = table.split_first()?;
    let is_prose = |row: &Vec<String>| is_prose(row);
    if !is_even(values, width) || !above.iter().all(is_prose) || !is_distinct(header) {
        return None;
    }
    let typed = typed_below(header, values, columns)?;
    let lacks_one = at == 1 && lacks_one(&above[0], columns);
    // Several cells: a header behind a `#`, perhaps, or one that leaves names out.
    let last = above.last()?;
    let may_be_header = filled(last) > 1 && !is_named(last);
    if typed.is_empty() || (may_be_header || lacks_one) && !is_clear(&typed, columns) {
        return None;
    }
    Some(Below {
        at,
        names: header.clone(),
        is_joined: false,
    })
}

/// A header of two lines, perhaps below titles: groups over the names of their columns.
fn below_groups(rows: &[Vec<String>], width: usize, columns: &[usize]) -> Option<Below> {
    let is_above = |row: &Vec<String>| is_prose(row) && filled(row) < columns.len();
    let mut places = (1..rows.len().min(PREAMBLE + 1))
        .take_while(|at| rows[..at - 1].iter().all(is_above))
        .filter(|at| is_even(&rows[at + 1..], width));
    places.find_map(|at| {
        let groups = groups(&rows[at - 1], &rows[at], width)?;
        Some(Below {
            at,
            names: grouped(groups, &rows[at - 1..], columns)?,
            is_joined: true,
        })
    })
}

/// The names of the columns with their groups. Columns of no group are named in either line:
/// spreadsheets with merged cells name them in the upper one.
fn grouped(groups: Vec<String>, rows: &[Vec<String>], columns: &[usize]) -> Option<Vec<String>> {
    let [upper, lower, values @ ..] = rows else {
        return None;
    };
    let is_below = |i: &usize| !cell(lower, *i).is_empty();
    let name = |i| cell(if is_below(&i) { lower } else { upper }, i).to_owned();
    let names: Vec<String> = (0..groups.len()).map(name).collect();
    let mut typed = typed_below(&names, values, columns)?;
    typed.retain(is_below);
    if typed.is_empty() || lacks_one(upper, columns) && !is_clear(&typed, columns) {
        return None;
    }
    // A row of values would say what it is of, as the others do.
    let mut left_out = columns.iter().filter(|i| !is_below(i)).peekable();
    if left_out.peek().is_some() && !left_out.any(|i| is_filled(values, *i)) {
        return None;
    }
    let join = |(name, group): (String, String)| match &group[..] {
        "" => name,
        _ => format!("{group} {name}"),
    };
    let names: Vec<String> = names.into_iter().zip(groups).map(join).collect();
    is_distinct(&names).then_some(names)
}

/// One cell less than the header: a header itself, perhaps, that lacks a name.
fn lacks_one(above: &[String], columns: &[usize]) -> bool {
    filled(above) + 1 == columns.len()
}

/// Whether two columns say that this is their header, or the one of which a name may be missing.
fn is_clear(typed: &[usize], columns: &[usize]) -> bool {
    typed.len() > 1 || typed.first() == columns.first()
}

/// Whether nearly all rows have a cell in the column.
fn is_filled(rows: &[Vec<String>], column: usize) -> bool {
    let filled = rows.iter().filter(|row| !cell(row, column).is_empty());
    filled.count() * 5 >= rows.len() * 4
}

fn cell(row: &[String], i: usize) -> &str {
    row.get(i).map_or("", String::as_str)
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

/// A comment, a title, or a name and its values: no cell is left out before the last one.
fn is_prose(row: &[String]) -> bool {
    let filled = filled(row);
    let is_line = filled < 2 || row.iter().take(filled).all(|cell| !cell.is_empty());
    is_comment(row) || is_named(row) || is_line
}

/// The groups of the names in `lower`: each cell of `upper` is of all columns up to the next one,
/// and one at least is of several. The first column belongs to none, nor do those that only `upper`
/// names.
fn groups(upper: &[String], lower: &[String], width: usize) -> Option<Vec<String>> {
    if upper.len() > width || width > MAX_COLUMNS || filled(upper) < 2 {
        return None;
    }
    let mut groups: Vec<String> = Vec::with_capacity(width);
    for i in 0..width {
        let group = match (cell(upper, i), cell(lower, i)) {
            ("", _) => groups.last().cloned().unwrap_or_default(),
            (_, "") => String::new(),
            // It stands over many columns.
            (group, _) => group.chars().take(NAME_CHARS).collect(),
        };
        groups.push(group);
    }
    let is_headless = groups.first().is_some_and(String::is_empty);
    let is_shared = |i: usize| !groups[i].is_empty() && groups[i - 1] == groups[i];
    (is_headless && (1..width).any(is_shared)).then_some(groups)
}

/// Whether the numbers among the names are the same rising ones in every group: 2020, 2021, 2020,
/// 2021.
fn counts_again(names: &[String]) -> bool {
    let numbers: Vec<f64> = names.iter().filter_map(|name| number(name)).collect();
    let mut others = numbers.iter().skip(1);
    let again = others.position(|number| numbers.first() == Some(number));
    let (run, rest) = numbers.split_at(again.map_or(numbers.len(), |again| again + 1));
    let is_rising = run.windows(2).all(|pair| pair[0] < pair[1]);
    !rest.is_empty() && run.len() > 1 && is_rising && rest.chunks(run.len()).all(|it| it == run)
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

/// The columns whose values have a type that the header's cell does not have; none if any cell is
/// missing, or may as well be one of the values.
fn typed_below(header: &[String], values: &[Vec<String>], columns: &[usize]) -> Option<Vec<usize>> {
    let is_counting = counts_up(header) || counts_again(header);
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
        match classify(name) {
            DataType::Text if is_written_value(name) => return None,
            DataType::Text if most(&is_value) => typed.push(i),
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
