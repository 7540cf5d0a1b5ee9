//! How a dialect cuts the first rows of a text, and how evenly.

use std::collections::BTreeMap;

use csv::ByteRecord;

use super::Dialect;
use crate::header;
use crate::rows::Rows;

/// Rows looked at.
pub(super) const ROWS: usize = 200;

/// Rows that make a table below other lines.
const FEWEST: usize = 3;

pub(super) const DELIMITERS: [u8; 4] = *b",\t;|";

/// How a dialect cuts a row.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    pub(super) width: usize,
    pub(super) ends_empty: bool,
    /// No delimiter of any kind is in its cells: what another one cuts may be the header.
    pub(super) is_uncut: bool,
    /// It is cut as a sentence or a number would be.
    pub(super) is_loose: bool,
    pub(super) below_blank: bool,
    pub(super) bytes: u64,
}

impl Cut {
    pub(super) fn of(record: &ByteRecord, line: &Line<'_>, delimiter: u8) -> Cut {
        let last = record.iter().next_back();
        Cut {
            width: record.len(),
            ends_empty: record.len() > 1 && last.is_some_and(<[u8]>::is_empty),
            is_uncut: !record.iter().flatten().any(|it| DELIMITERS.contains(it)),
            is_loose: is_loose(line.text, delimiter),
            below_blank: line.below_blank,
            bytes: line.text.len() as u64,
        }
    }
}

/// Whether the delimiter stands in a row as it would within a value, too: `yes, and no`, `0,5`.
fn is_loose(row: &[u8], delimiter: u8) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit();
    matches!(delimiter, b',' | b';')
        && row.windows(3).any(|it| {
            it[1] == delimiter
                && (it[2] == b' ' || delimiter == b',' && is_digit(it[0]) && is_digit(it[2]))
        })
}

/// How many lines of one cell stand above a blank line and a table.
pub(super) fn above_blank(rows: &[Cut]) -> Option<usize> {
    let below = rows.iter().skip(1).position(|row| row.below_blank)? + 1;
    let (above, table) = rows.split_at(below);
    let [header, first, ..] = table else {
        return None;
    };
    let is_title = above.iter().all(|row| row.width == 1);
    let is_one = is_title && below <= header::PREAMBLE && header.width > 1 && !first.below_blank;
    is_one.then_some(below)
}

/// How evenly a dialect cuts the head into rows.
pub(super) struct Shape {
    /// The share of the head's bytes in rows of the usual width.
    pub(super) even: f64,
    /// The usual width.
    pub(super) width: usize,
    /// Whether the first row has it.
    pub(super) first_agrees: bool,
    /// The first row's width.
    pub(super) first: usize,
    /// Whether most rows of the usual width are cut as values with a delimiter in them would be.
    pub(super) is_loose: bool,
}

impl Shape {
    pub(super) fn of(dialect: &Dialect, head: &[u8], complete: bool) -> Shape {
        let mut rows: Vec<Cut> = Vec::with_capacity(ROWS);
        let mut total = each_row(dialect, head, complete, |record, line| {
            rows.push(Cut::of(record, line, dialect.delimiter));
        });
        // Lines of one cell above and below a table say nothing of how it is cut.
        let is_line = |row: &&Cut| row.width == 1 && row.is_uncut;
        let top = &rows[..rows.len().min(header::PREAMBLE)];
        let mut above = top.iter().take_while(is_line).count();
        let below = rows[above..].iter().rev().take_while(is_line).count();
        // Nor do shorter ones, above rows that are all of one width.
        let table = rows.len() - below;
        let most = usual(rows[above..table].iter().map(|row| row.width));
        let is_short = |row: &&Cut| row.width < most && row.is_uncut;
        let short = top[..table.min(top.len())]
            .iter()
            .take_while(is_short)
            .count();
        let is_even = rows[short..table].iter().all(|row| row.width == most);
        if is_even && table - short >= FEWEST {
            above = above.max(short);
        }
        let inner = above..table;
        // A line above two columns may also be the header of one whose values have the delimiter in
        // them.
        let is_title = || {
            above_blank(&rows) == Some(above)
                || header::understand(
                    &first_rows(dialect, head, complete),
                    header::is_first_parted(head),
                )
                .skip
                    > above
        };
        let width = usual(rows[inner.clone()].iter().map(|row| row.width));
        if inner.len() > 1 && (width > 2 || width == 2 && above > 0 && is_title()) {
            let left_out = rows[..above].iter().chain(&rows[inner.end..]);
            total -= left_out.map(|row| row.bytes).sum::<u64>();
            rows = rows[inner].to_vec();
        }
        let width = usual(rows.iter().map(|row| row.width));
        let is_usual =
            |row: &&Cut| row.width == width || (row.ends_empty && row.width == width + 1);
        let usual_rows = || rows.iter().filter(is_usual);
        Shape {
            even: usual_rows().map(|row| row.bytes).sum::<u64>() as f64 / total.max(1) as f64,
            width,
            first_agrees: rows.first().as_ref().is_some_and(is_usual),
            first: rows.first().map_or(0, |row| row.width),
            is_loose: usual_rows().filter(|row| row.is_loose).count() * 2 > usual_rows().count(),
        }
    }

    /// Higher is likelier. A delimiter that hardly ever occurs gives one even column, which must
    /// not win over several less even ones.
    pub(super) fn score(&self) -> f64 {
        // What cuts the first row cuts the file, be it badly.
        let floor = match self.first {
            0 | 1 => 0.1,
            _ => 0.55,
        };
        if self.width <= 1 {
            return if self.first > 1 { floor } else { 0.5 };
        }
        let agrees = if self.first_agrees { 0.3 } else { 0.0 };
        // Below one name: R's names of rows, or one column of sentences or decimal commas.
        let is_one_column = self.first == 1 && self.width == 2 && self.is_loose;
        if is_one_column || !self.first_agrees && self.even < 0.9 {
            return floor;
        }
        (self.even * (1.0 + 0.1 * self.width.min(10) as f64) + agrees).max(floor)
    }
}

/// The most frequent width; of equally frequent ones the first row's, then the largest.
pub(crate) fn usual(widths: impl Iterator<Item = usize>) -> usize {
    let mut first = None;
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for width in widths {
        first.get_or_insert(width);
        *counts.entry(width).or_default() += 1;
    }
    counts
        .into_iter()
        .max_by_key(|(width, count)| (*count, Some(*width) == first, *width))
        .map_or(0, |(width, _)| width)
}

/// A row as it is written, with what ends it.
pub(super) struct Line<'a> {
    pub(super) start: usize,
    pub(super) text: &'a [u8],
    pub(super) below_blank: bool,
}

/// Visits the first rows; returns the bytes they cover. The last row of a head that ends before the
/// file does is not visited, but counted: where a quote that is never closed swallows the rest,
/// that is most of the head.
pub(super) fn each_row(
    dialect: &Dialect,
    head: &[u8],
    complete: bool,
    mut visit: impl FnMut(&ByteRecord, &Line<'_>),
) -> u64 {
    let mut reader = Rows::new(*dialect, head, complete);
    let mut record = ByteRecord::new();
    let mut end = 0;
    let mut rows = 0;
    while rows < ROWS && reader.read(&mut record) {
        let start = end;
        end = reader.byte();
        if !complete && end >= head.len() && rows > 0 {
            break;
        }
        rows += 1;
        let line = Line {
            start,
            text: &head[start..end],
            below_blank: is_below_blank(head, start),
        };
        visit(&record, &line);
    }
    end as u64
}

/// Whether a blank line stands above the row that is read from byte `start` on.
pub(crate) fn is_below_blank(text: &[u8], start: usize) -> bool {
    let (above, row) = text.split_at(start.min(text.len()));
    // The reader takes the second half of a line's end with the next row.
    let row = match above.last() {
        Some(b'\r') => row.strip_prefix(b"\n").unwrap_or(row),
        _ => row,
    };
    matches!(row.first(), Some(b'\n' | b'\r'))
}

/// The first rows as text.
pub(crate) fn first_rows(dialect: &Dialect, head: &[u8], complete: bool) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    each_row(dialect, head, complete, |record, _| {
        rows.push(as_text(record));
    });
    rows
}

pub(super) fn as_text(record: &ByteRecord) -> Vec<String> {
    let text = |cell| String::from_utf8_lossy(cell).trim().to_owned();
    record.iter().map(text).collect()
}
