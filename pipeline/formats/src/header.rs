//! Which of a delimited file's first rows is the header, and what the columns are called.
//!
//! Files are taken to begin with a header unless the evidence says otherwise: in a file without one
//! the first row is like the rest (numbers over numbers, e-mail addresses over e-mail addresses),
//! and numbers seldom name a column.

use limn_profile::{DataType, NO_HEADER, privacy};
use std::collections::BTreeMap;

use super::Failure;
use super::dialect::usual;
use super::names;
use crate::error::FileErrorKind;
use limn_profile::infer::{classify, is_null, number};
use limn_profile::notation::Evidence;
use limn_profile::patterns::detect;
use limn_profile::text::counted;

use self::below::Second;

mod above;
mod below;

const JOINED: &str = "the names of the columns are of two lines, joined";

/// How many lines of title or remarks may stand before the header.
pub(super) const PREAMBLE: usize = 10;

/// What the first rows say.
pub(crate) struct Header {
    /// Rows before the first row of data.
    pub(crate) skip: usize,
    /// Unique column names.
    pub(crate) columns: Vec<String>,
    /// The header's cells as they are written; none if it may be a row of data.
    pub(crate) cells: Vec<String>,
    /// Whether the names are those of a row that may as well be one of data.
    pub(crate) is_presumed: bool,
    /// What the row is that may be the header as well as the first row of data, if it may be both.
    pub(crate) doubt: Option<Doubt>,
    /// What a reader of the catalog should know.
    pub(crate) notes: Vec<String>,
}

/// A row of which nothing says for sure whether it is the header or one of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// It is taken for the header.
    Header,
    /// It is taken for data.
    Data,
}

/// Whether a blank line parts the first line of a text from the others, which have none between
/// them. Titles stand so; a line with quotes may not be whole.
pub(crate) fn is_first_parted(text: &[u8]) -> bool {
    let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
    let mut lines = text.trim_ascii().split(|byte| *byte == b'\n');
    let is_whole = lines.next().is_some_and(|line| !line.contains(&b'"'));
    let is_parted = lines.next().is_some_and(|line| is_blank(&line));
    let mut others = lines.skip_while(is_blank).take(3);
    is_whole && is_parted && others.all(|line| !is_blank(&line))
}

/// Reads the first rows of a file, of which there is at least one. `is_parted` says that there is a
/// blank line below the first.
pub(crate) fn understand(rows: &[Vec<String>], is_parted: bool) -> Header {
    let width = table_width(rows);
    let certain = above::find(rows, width);
    let (at, has_row_names) = match &certain {
        Some(certain) => (certain.at, false),
        None => place(rows, width, is_parted),
    };
    let mut notes = notes_above(at, certain.as_ref().is_some_and(|it| it.is_joined));
    let verdict = match has_row_names || certain.is_some() {
        true => Verdict::Surely,
        false => is_header(&rows[at..]),
    };
    let doubt = match verdict {
        Verdict::Presumably => Some(Doubt::Header),
        Verdict::No if may_be_names(&rows[at]) => Some(Doubt::Data),
        _ => None,
    };
    // Of row names only the shape of the rows counts, but for types below the names.
    let is_presumed = match has_row_names {
        true => is_header(&below_no_name(rows)) != Verdict::Surely,
        false => verdict == Verdict::Presumably,
    };
    let mut raw: Vec<String> = Vec::new();
    if has_row_names {
        raw.push(String::new());
        notes.push("the first column has no name in the header".to_owned());
    }
    let has_header = verdict != Verdict::No;
    if let Some(certain) = certain {
        raw.extend(certain.names);
    } else if has_header {
        raw.extend(rows[at].iter().cloned());
    } else {
        raw.resize(rows[at].len(), String::new());
        notes.push(format!("{NO_HEADER}: columns are named by their place"));
    }
    // Where most rows are wider than the header, the rest of their cells are columns too.
    let usual_rows = rows.iter().skip(1).filter(|row| row.len() == width).count();
    if raw.len() < width && usual_rows * 2 > rows.len() - 1 {
        raw.resize(width, String::new());
    }
    drop_empty_end(&mut raw, &rows[at..]);
    let mut skip = at + usize::from(has_header);
    let is_sure = verdict == Verdict::Surely && !has_row_names;
    if is_sure && let Some(second) = below::second(&raw, &rows[skip..]) {
        skip += 1;
        match second {
            Second::Names(names) => {
                raw = names;
                notes.push(JOINED.to_owned());
            }
            Second::Remarks(said) => notes.push(format!(
                "1 row between the header and the values left out: {}",
                limn_store::one_line(&said)
            )),
        }
    }
    Header {
        skip,
        columns: names::unique(raw),
        cells: match is_sure {
            true => rows[at].clone(),
            false => Vec::new(),
        },
        is_presumed,
        doubt,
        notes,
    }
}

/// How many cells the rows of the table have: what stands above them may have others.
fn table_width(rows: &[Vec<String>]) -> usize {
    match rows {
        [_, rest @ ..] if !rest.is_empty() => usual(rest.iter().map(Vec::len)),
        _ => rows.first().map_or(0, Vec::len),
    }
}

fn filled(row: &[String]) -> usize {
    row.iter().filter(|cell| !cell.is_empty()).count()
}

/// What a reader should know of the lines above the header in row `at`.
fn notes_above(at: usize, is_joined: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let skipped = at - usize::from(is_joined);
    if skipped > 0 {
        let lines = counted(skipped as u64, "line");
        notes.push(format!("{lines} before the header skipped"));
    }
    if is_joined {
        notes.push(JOINED.to_owned());
    }
    notes
}

/// The row that may be the header, below the lines of a title; and whether it has no name for the
/// first column, which names rows.
fn place(rows: &[Vec<String>], width: usize, is_parted: bool) -> (usize, bool) {
    let first_width = rows.first().map_or(0, Vec::len);
    let first_filled = rows.first().map_or(0, |row| filled(row));
    let blank = rows.iter().skip(1).take_while(|row| filled(row) == 0);
    let blank = blank.count();
    if first_width == width
        && (is_parted || blank > 0)
        && is_header(rows) != Verdict::Surely
        && is_header(&rows[1 + blank..]) == Verdict::Surely
    {
        // A title that is cut into as many cells as the table has columns: `Sales, 2024`.
        return (1 + blank, false);
    }
    let is_narrow = first_width < width || first_filled <= 1 && width > 2;
    if !is_narrow || !is_even(rows, width) {
        return (0, false);
    }
    if let Some(at) = below_title(rows, width) {
        return (at, false);
    }
    let ends_empty =
        |row: &Vec<String>| row.len() < width || row.last().is_some_and(String::is_empty);
    let is_one_short = first_width + 1 == width;
    (0, is_one_short && !rows.iter().skip(1).all(ends_empty))
}

/// Whether nearly all rows have as many cells. Lines of one cell above and below do not make a
/// table uneven.
fn is_even(rows: &[Vec<String>], width: usize) -> bool {
    let is_line = |row: &&Vec<String>| row.len() < width && filled(row) <= 1;
    let above = rows.iter().take(PREAMBLE).take_while(is_line).count();
    let below = rows[above..].iter().rev().take_while(is_line).count();
    let inner = &rows[above..rows.len() - below];
    let alike = inner.iter().skip(1).filter(|row| row.len() == width);
    alike.count() * 10 >= inner.len().saturating_sub(1) * 9
}

/// The header below lines of one cell (padded with empty ones, perhaps): above a wider table they
/// are its title.
fn below_title(rows: &[Vec<String>], width: usize) -> Option<usize> {
    let first = rows.first()?;
    let is_title = filled(first) * 3 <= width;
    let mut upper = rows.iter().take(PREAMBLE + 1);
    let at = upper.position(|row| row.len() == width && filled(row) > 1)?;
    let is_below = match is_header(&rows[at..]) {
        Verdict::Surely => is_title || first.len() == 1,
        // One cell over two columns may also be R's file of one column and row names.
        Verdict::Presumably => is_title && width > 2 && first.len() < width,
        Verdict::No => false,
    };
    is_below.then_some(at)
}

/// Whether a row that is like the others may be a header all the same: nothing but words, and
/// nobody's.
fn may_be_names(row: &[String]) -> bool {
    let mut filled = row.iter().filter(|cell| !cell.is_empty()).peekable();
    let is_word = |cell: &String| !is_value(cell) && !privacy::is_personal(cell);
    filled.peek().is_some() && filled.all(is_word)
}

/// The header where it is declared which row it is, or that none is.
pub(crate) fn declared(rows: &[Vec<String>], at: Option<usize>) -> Header {
    let skip = at.map_or(0, |at| at + 1);
    let cells = at.and_then(|at| rows.get(at)).cloned().unwrap_or_default();
    let below = rows.get(skip..).unwrap_or_default();
    let width = usual(below.iter().map(Vec::len));
    let mut names = cells.clone();
    let mut notes = Vec::new();
    let ends_empty =
        |row: &Vec<String>| row.len() < width || row.last().is_some_and(String::is_empty);
    if names.len() + 1 == width && at.is_some() && !below.iter().all(ends_empty) {
        // R names no column of row names.
        names.insert(0, String::new());
        notes.push("the first column has no name in the header".to_owned());
    }
    if names.len() < width {
        names.resize(width, String::new());
    }
    drop_empty_end(&mut names, below);
    Header {
        skip,
        columns: names::unique(names),
        cells,
        is_presumed: false,
        doubt: None,
        notes,
    }
}

impl Header {
    /// A row that may be the header is it for sure where a name stands in it that people declare.
    pub(crate) fn with_names(
        mut self,
        rows: &[Vec<String>],
        types: &BTreeMap<String, DataType>,
    ) -> Header {
        let are_declared = |names: &[String]| names.iter().any(|name| types.contains_key(name));
        if self.doubt.is_some() && are_declared(&self.columns) {
            (self.doubt, self.is_presumed) = (None, false);
            return self;
        }
        let first = rows
            .get(self.skip)
            .filter(|_| self.doubt == Some(Doubt::Data));
        match first {
            Some(first) if are_declared(&names::unique(first)) => declared(rows, Some(self.skip)),
            _ => self,
        }
    }
}

/// The row that begins in a line, counted from 1 on; each begins behind blank lines at its start.
pub(crate) fn row_of_line(head: &[u8], starts: &[usize], line: u32) -> Option<usize> {
    let is_end = |at: usize| match head.get(at) {
        Some(b'\r') => head.get(at + 1) != Some(&b'\n'),
        byte => byte == Some(&b'\n'),
    };
    let (mut at, mut number) = (0, 1);
    starts.iter().position(|start| {
        let rest = head.get(*start..).unwrap_or_default();
        let blank = rest.iter().take_while(|it| matches!(it, b'\r' | b'\n'));
        let begin = start + blank.count();
        number += (at..begin).filter(|at| is_end(*at)).count();
        at = begin;
        number == line as usize
    })
}

/// What is wrong where the header is declared to be in a line, and is not.
pub(crate) fn not_in_line(line: u32) -> Failure {
    let cause = format!("line {line}, which is declared to be its header, is blank or not there");
    let failure = Failure::new(FileErrorKind::NotItsFormat, cause);
    failure.with_remedy("write the number of its header's line, or none, in .limn.yaml")
}

/// A delimiter at the end of every line makes no column.
fn drop_empty_end(names: &mut Vec<String>, rows: &[Vec<String>]) {
    while names.len() > 1
        && names.last().is_some_and(|name| name.is_empty())
        && rows
            .iter()
            .all(|row| row.get(names.len() - 1).is_none_or(String::is_empty))
    {
        names.pop();
    }
}

/// The rows, of which the first has no name for the first column.
fn below_no_name(rows: &[Vec<String>]) -> Vec<Vec<String>> {
    let mut rows = rows.to_vec();
    if let Some(first) = rows.first_mut() {
        first.insert(0, String::new());
    }
    rows
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Surely,
    Presumably,
    No,
}

/// Whether the first of `rows` is a header of the others.
fn is_header(rows: &[Vec<String>]) -> Verdict {
    let Some((first, rest)) = rows.split_first() else {
        return Verdict::No;
    };
    if rest.is_empty() {
        if first.iter().any(|cell| privacy::is_personal(cell)) {
            return Verdict::No;
        }
        let mut named = first.iter().filter(|cell| !cell.is_empty()).peekable();
        let only_values = named.peek().is_some() && named.all(|cell| is_value(cell));
        return if only_values {
            Verdict::No
        } else {
            Verdict::Presumably
        };
    }
    let counting = counts_up(first);
    // Rows that repeat several names are more lines of the header, wherever they stand.
    let is_more_header = |row: &[String]| {
        first
            .iter()
            .zip(row)
            .filter(|(name, cell)| name == cell && !name.is_empty())
            .count()
            > 1
    };
    let rest: Vec<&Vec<String>> = rest.iter().filter(|row| !is_more_header(row)).collect();
    let mut votes = 0;
    for (i, name) in first.iter().enumerate() {
        let values: Vec<&str> = rest
            .iter()
            .filter_map(|row| row.get(i).map(String::as_str))
            .filter(|value| !is_null(value))
            .collect();
        if name.is_empty() {
            continue;
        }
        let class = classify(name);
        // One such cell decides for the row.
        if class == DataType::Text && is_one_of(name, &values) {
            return Verdict::No;
        }
        if values.is_empty() {
            continue;
        }
        let share = |test: &dyn Fn(&str) -> bool| {
            values.iter().filter(|value| test(value)).count() as f64 / values.len() as f64
        };
        votes += if class == DataType::Text {
            if is_written(name) && share(&|value| is_written_alike(name, value)) >= 0.8 {
                -1
            } else if share(&is_value) >= 0.8 {
                2
            } else if repeats(name, &values) {
                -1
            } else {
                0
            }
        } else if share(&|value| like(&class, &classify(value))) >= 0.8 {
            // Years, and 1, 2, 3, do name columns.
            if counting || is_year(name) { 0 } else { -1 }
        } else if share(&|value| classify(value) == DataType::Text) >= 0.8 {
            1
        } else {
            0
        };
    }
    match votes {
        1.. => Verdict::Surely,
        0 => Verdict::Presumably,
        _ => Verdict::No,
    }
}

/// Whether a text has a form that no name has, as an e-mail address does, and the values below have
/// it, too. What people are known by is a value above all but numbers: over those it may name
/// columns.
fn is_one_of(name: &str, values: &[&str]) -> bool {
    let Some(form) = detect(name) else {
        return false;
    };
    let most = |test: &dyn Fn(&str) -> bool| {
        values.iter().filter(|value| test(value)).count() * 5 >= values.len() * 4
    };
    let is_alike = |value: &str| detect(value).is_some_and(|it| it.name == form.name);
    !values.is_empty() && most(&is_alike)
        || privacy::is_personal(name) && (values.is_empty() || !most(&is_value))
}

/// Whether a name is one of the column's usual values. The next two rows do not count: they may be
/// more lines of the header, and those repeat names too.
fn repeats(name: &str, values: &[&str]) -> bool {
    name.chars().any(char::is_alphanumeric)
        && values
            .iter()
            .skip(2)
            .filter(|value| **value == name)
            .count()
            > 1
}

fn like(a: &DataType, b: &DataType) -> bool {
    a == b
        || matches!(
            (a, b),
            (DataType::Integer, DataType::Float) | (DataType::Float, DataType::Integer)
        )
}

/// Whether a cell is a number or a date in any notation.
fn is_value(cell: &str) -> bool {
    classify(cell) != DataType::Text || is_written(cell)
}

/// Whether a cell is a number in any notation. A zero fits them all, and no date.
fn is_number(cell: &str) -> bool {
    like(&DataType::Float, &classify(cell)) || is_written_alike(cell, "0")
}

fn is_written(cell: &str) -> bool {
    Evidence::default().take(cell)
}

/// Whether two cells are numbers or dates in the same notation: `1,5` and `12,25`.
fn is_written_alike(a: &str, b: &str) -> bool {
    let mut evidence = Evidence::default();
    evidence.take(a) && evidence.take(b)
}

/// Whether a cell that is no plain number or date may be one all the same: `$1,000`,
/// `31. 12. 2020`, `007`.
fn is_written_value(cell: &str) -> bool {
    let has_digit = cell.bytes().any(|byte| byte.is_ascii_digit());
    has_digit && !cell.contains(char::is_alphabetic) || is_written(cell)
}

fn is_year(name: &str) -> bool {
    name.len() == 4 && number(name).is_some_and(|year| (1500.0..=2100.0).contains(&year))
}

/// Whether the numbers among the names count up by one: 0, 1, 2 (as pandas names columns).
fn counts_up(names: &[String]) -> bool {
    let numbers: Vec<f64> = names.iter().filter_map(|name| number(name)).collect();
    numbers.len() > 1 && numbers.windows(2).all(|pair| pair[1] - pair[0] == 1.0)
}

#[cfg(test)]
mod tests;
