//! What single lines and cells of plain text look like.

use limn_profile::DataType;
use limn_profile::infer::{classify, is_null};

/// Letters of a value that is a number, date, time or code.
const LONGEST_VALUE: usize = 40;

/// The byte that ends lines.
pub(super) fn end_of(text: &[u8]) -> u8 {
    let is_old_mac = !text.contains(&b'\n') && text.contains(&b'\r');
    if is_old_mac { b'\r' } else { b'\n' }
}

/// A line without what ends it and blanks there.
pub(super) fn trimmed(line: &str) -> &str {
    line.trim_end_matches(|c: char| c.is_ascii_whitespace())
}

/// Whether a cell is what columns of a table have and prose seldom has: a number, a date, a time or
/// a code, in whatever notation. `None` for a cell that says nothing.
pub(super) fn is_value(cell: &str) -> Option<bool> {
    let cell = cell.trim();
    if is_null(cell) || matches!(cell, "-" | "--" | "." | "*" | "?") {
        return None;
    }
    // The number of an item in a list, or the end of a sentence.
    if cell.ends_with(['.', ',', ';', ':']) || (cell.ends_with(')') && !cell.starts_with('(')) {
        return Some(false);
    }
    let class = classify(cell);
    if class != DataType::Text {
        return Some(true);
    }
    let has_digit = cell.bytes().any(|byte| byte.is_ascii_digit());
    let is_numeric = |c: char| c.is_ascii_digit() || "+-.,:/%()$€£¥'’".contains(c);
    let is_code = |c: char| c.is_ascii_digit() || c.is_ascii_uppercase() || "-_/.".contains(c);
    let is_one = cell.len() <= LONGEST_VALUE
        && has_digit
        && (cell.chars().all(is_numeric) || cell.chars().all(is_code));
    Some(is_one)
}

/// What a column's cells are, as far as is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Column {
    pub(super) rows: usize,
    filled: usize,
    values: usize,
    nulls: usize,
    words: usize,
    texts: usize,
    broken: usize,
}

impl Column {
    pub(super) fn take(&mut self, cell: &str) {
        self.rows += 1;
        let cell = cell.trim();
        self.filled += usize::from(!cell.is_empty());
        match is_value(cell) {
            None => self.nulls += 1,
            Some(true) => self.values += 1,
            Some(false) => {
                self.texts += 1;
                self.words += cell.split_whitespace().count();
                self.broken += usize::from(cell.ends_with(['.', ',', ';', ':', '{', '(', '\\']));
            }
        }
    }

    /// Whether nearly all that is in it are values.
    pub(super) fn is_typed(&self) -> bool {
        self.values > 0 && self.values * 10 >= (self.rows - self.nulls) * 9
    }

    /// Words of a cell that is no value, on average.
    pub(super) fn words(&self) -> f64 {
        self.words as f64 / self.texts.max(1) as f64
    }

    /// Whether at least half of it is filled.
    pub(super) fn is_filled(&self) -> bool {
        self.filled * 2 >= self.rows
    }

    /// Whether cells end as sentences, clauses and code do.
    pub(super) fn is_broken(&self) -> bool {
        self.broken * 5 > self.texts
    }
}

/// The columns of rows of equal width.
pub(super) fn columns<'a, Row>(width: usize, rows: impl IntoIterator<Item = Row>) -> Vec<Column>
where
    Row: IntoIterator<Item = &'a str>,
{
    let mut columns = vec![Column::default(); width];
    for row in rows {
        for (column, cell) in columns.iter_mut().zip(row) {
            column.take(cell);
        }
    }
    columns
}

/// Whether a line is drawn between others: `-----`, `---  ----`, `+---+---+`, `|:--|--:|`,
/// `===  ===`.
pub(super) fn is_rule(line: &str) -> bool {
    let strokes = line.chars().filter(|c| is_stroke(*c)).count();
    strokes >= 3
        && line
            .chars()
            .all(|c| is_stroke(c) || is_bar(c) || matches!(c, ' ' | ':' | '+') || is_corner(c))
}

pub(super) fn is_stroke(c: char) -> bool {
    matches!(c, '-' | '=' | '─' | '━' | '═' | '╌' | '┄')
}

/// What stands between cells of a drawn table.
pub(super) fn is_bar(c: char) -> bool {
    matches!(c, '|' | '│' | '┃' | '║' | '┆')
}

/// Where lines of a drawn table meet.
pub(super) fn is_corner(c: char) -> bool {
    c == '+' || ('\u{250c}'..='\u{254b}').contains(&c) || ('\u{2552}'..='\u{2570}').contains(&c)
}

/// Whether a program says here how many rows there are: `(3 rows)`, `(1 row affected)`,
/// `2 rows in set (0.00 sec)`, `14 rows selected.`.
pub(in super::super) fn is_count_of_rows(line: &str) -> bool {
    let line = line.trim();
    let inside = line
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let is_said = || {
        let said = [" in set", " selected", " affected", " returned", " fetched"];
        said.iter().any(|it| line.contains(it))
    };
    let Some(text) = inside.or_else(|| is_said().then_some(line)) else {
        return false;
    };
    let mut words = text.split(' ');
    let count = words.next().unwrap_or_default();
    count.bytes().all(|byte| byte.is_ascii_digit())
        && !count.is_empty()
        && matches!(words.next(), Some("row" | "rows" | "row(s)"))
}
