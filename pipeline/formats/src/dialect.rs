//! How a delimited text file is written: its delimiter and its quoting. What the first rows then
//! say about the columns is the business of [`super::header`].
//!
//! Every candidate dialect parses the first rows; the one that cuts most of the text into rows of
//! equal width wins, and more so if the first row has that width too. (The idea is that of
//! consistency measures such as van den Burg et al., "Wrangling messy CSV files by detecting row
//! and type patterns", 2019, without the type score.)

use std::collections::BTreeMap;
use std::path::Path;

use csv::ByteRecord;
pub(crate) use limn_profile::Quoting;
use limn_profile::TextReading;
use limn_profile::text::counted;

use super::header::{self, Doubt};
use super::rows::Rows;
use super::{Failure, MAX_COLUMNS};
use crate::error::FileErrorKind;
use limn_profile::{DeclaredReading, HeaderLine};

/// How much of the beginning is looked at.
pub(crate) const HEAD: usize = 256 << 10;
/// Rows looked at.
const ROWS: usize = 200;

/// A text of no more bytes may be too little to show how it is cut.
const SMALL: usize = 4 << 10;

/// Rows that make a table below other lines.
const FEWEST: usize = 3;

/// What cuts the text into cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    pub(crate) quoting: Quoting,
}

impl Dialect {
    /// The one that a file was read in.
    pub(crate) fn of(reading: &TextReading) -> Dialect {
        Dialect {
            // Written by `Plan::reading`, so one byte.
            delimiter: u8::try_from(reading.delimiter).unwrap_or(b','),
            quoting: reading.quoting,
        }
    }

    /// A reader of `text` in this dialect that yields every row, whatever its width.
    pub(crate) fn reader<'a>(&self, text: &'a [u8]) -> csv::Reader<&'a [u8]> {
        csv::ReaderBuilder::new()
            .delimiter(self.delimiter)
            .quoting(self.quoting != Quoting::Off)
            .double_quote(self.quoting == Quoting::Doubled)
            .escape((self.quoting == Quoting::Backslash).then_some(b'\\'))
            .has_headers(false)
            .flexible(true)
            .from_reader(text)
    }

    /// Where quotes are letters.
    pub(crate) fn without_quotes(self) -> Dialect {
        Dialect {
            quoting: Quoting::Off,
            ..self
        }
    }
}

/// A file's dialect and its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) dialect: Dialect,
    /// Bytes before the first row (Excel's `sep=;` line).
    pub(crate) start: usize,
    /// Rows before the first row of data: title lines and the header.
    pub(crate) skip: usize,
    /// Unique column names.
    pub(crate) columns: Vec<String>,
    /// The header's cells as they are written; none if it may be a row of data.
    pub(crate) header: Vec<String>,
    /// Whether the names are those of a row that may as well be one of data.
    pub(crate) is_presumed: bool,
    /// What the last of the rows above, or the first of data, is, if it may be the other.
    pub(crate) doubt: Option<Doubt>,
    /// What a reader of the catalog should know about how the file was understood.
    pub(crate) notes: Vec<String>,
}

impl Plan {
    /// What of it is kept.
    pub(crate) fn reading(&self) -> TextReading {
        TextReading {
            delimiter: char::from(self.dialect.delimiter),
            quoting: self.dialect.quoting,
            start: self.start as u64,
            skip: self.skip as u64,
            has_header: !self.header.is_empty(),
            end: None,
            encoding: None,
            is_rewritten: false,
            first: None,
        }
    }
}

/// Finds out how `text` is written, as far as it is not declared. `complete` says that it is the
/// whole file, not its beginning.
///
/// # Errors
/// Nothing but blank lines; too many columns; a declared header that is not there.
pub(crate) fn detect(
    text: &[u8],
    complete: bool,
    path: &str,
    declared: &DeclaredReading,
) -> Result<Plan, Failure> {
    let (named, start) = separator_line(text);
    let text = &text[start..];
    let head = &text[..text.len().min(HEAD)];
    let complete = complete && head.len() == text.len();
    let extension = Path::new(path)
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    if let Some(delimiter) = declared.delimiter {
        let (quoting, _) = quoting(delimiter, head, complete);
        return plan(
            Dialect { delimiter, quoting },
            start,
            head,
            complete,
            declared,
        );
    }
    let tabs = extension.eq_ignore_ascii_case("tsv") || extension.eq_ignore_ascii_case("tab");

    let mut best = (
        f64::MIN,
        Dialect {
            delimiter: b',',
            quoting: Quoting::Doubled,
        },
    );
    for delimiter in DELIMITERS {
        if named.is_some_and(|named| named != delimiter) {
            continue;
        }
        let (quoting, shape) = quoting(delimiter, head, complete);
        let mut score = shape.score();
        // Ties go to what the extension says.
        if delimiter == if tabs { b'\t' } else { b',' } {
            score += 0.05;
        }
        if score > best.0 {
            best = (score, Dialect { delimiter, quoting });
        }
    }
    plan(best.1, start, head, complete, declared)
}

/// The other plans by which a small text that is here as a whole may be read as well: a delimiter
/// cuts all its lines into the same number of cells, too. Where people declare the delimiter there
/// is none.
pub(crate) fn others(
    text: &[u8],
    complete: bool,
    chosen: &Dialect,
    declared: &DeclaredReading,
) -> Vec<Plan> {
    let (named, start) = separator_line(text);
    let is_said = named.is_some() || declared.delimiter.is_some();
    if !complete || text.len() > SMALL || is_said {
        return Vec::new();
    }
    let delimiters = DELIMITERS.into_iter();
    let others = delimiters.filter(|it| *it != chosen.delimiter && text.contains(it));
    let plans = others.filter_map(|delimiter| {
        let (quoting, shape) = quoting(delimiter, text, true);
        let is_even = shape.width > 1 && shape.first_agrees && shape.even >= 1.0;
        let dialect = Dialect { delimiter, quoting };
        is_even
            .then(|| plan(dialect, start, text, true, declared).ok())
            .flatten()
    });
    plans.collect()
}

/// What the first rows of a text in a known dialect say; it starts at byte `start` of its file.
///
/// # Errors
/// As [`detect`].
pub(crate) fn plan(
    dialect: Dialect,
    start: usize,
    text: &[u8],
    complete: bool,
    declared: &DeclaredReading,
) -> Result<Plan, Failure> {
    let head = &text[..text.len().min(HEAD)];
    let complete = complete && head.len() == text.len();
    let (mut rows, mut cuts, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    each_row(&dialect, head, complete, |record, line| {
        rows.push(as_text(record));
        cuts.push(Cut::of(record, line, dialect.delimiter));
        starts.push(line.start);
    });
    let is_blank = |row: &Vec<String>| row.iter().all(|cell| cell.trim().is_empty());
    if rows.is_empty() || (complete && rows.len() < ROWS && rows.iter().all(is_blank)) {
        return Err(Failure::new(
            FileErrorKind::Empty,
            "it has no text but blank lines",
        ));
    }
    let header = match declared.header {
        Some(HeaderLine::None) => header::declared(&rows, None),
        Some(HeaderLine::At(line)) => {
            // The line that names the delimiter is one, too.
            let of_head = line.saturating_sub(u32::from(start > 0));
            let at = header::row_of_line(head, &starts, of_head)
                .ok_or_else(|| header::not_in_line(line))?;
            header::declared(&rows, Some(at))
        }
        None => found_header(&rows, &cuts, head).with_names(&rows, &declared.types),
    };
    if header.columns.len() > MAX_COLUMNS {
        return Err(Failure::too_many_columns(header.columns.len()));
    }
    Ok(Plan {
        dialect,
        start,
        skip: header.skip,
        columns: header.columns,
        header: header.cells,
        is_presumed: header.is_presumed,
        doubt: header.doubt,
        notes: header.notes,
    })
}

/// The header that the first rows of a head have.
fn found_header(rows: &[Vec<String>], cuts: &[Cut], head: &[u8]) -> header::Header {
    let mut header = header::understand(rows, header::is_first_parted(head));
    // A blank line shows a title where the rows alone do not.
    if let Some(above) = above_blank(cuts)
        && header.skip <= above
        && header.cells.is_empty()
    {
        header = header::understand(&rows[above..], false);
        header.skip += above;
        let lines = counted(above as u64, "line");
        let note = format!("{lines} before the header skipped");
        header.notes.insert(0, note);
    }
    header
}

const DELIMITERS: [u8; 4] = *b",\t;|";

/// Excel's first line `sep=;` names the delimiter; and where the text goes on.
fn separator_line(text: &[u8]) -> (Option<u8>, usize) {
    if let Some([delimiter, rest @ ..]) = text.strip_prefix(b"sep=")
        && DELIMITERS.contains(delimiter)
        && let Some(after) = rest.strip_prefix(b"\r\n").or(rest.strip_prefix(b"\n"))
    {
        return (Some(*delimiter), text.len() - after.len());
    }
    (None, 0)
}

/// The quoting that cuts the head most evenly with this delimiter. What departs from the standard
/// must be clearly better.
fn quoting(delimiter: u8, head: &[u8], complete: bool) -> (Quoting, Shape) {
    let shape = |quoting| Shape::of(&Dialect { delimiter, quoting }, head, complete);
    let mut best = (Quoting::Doubled, shape(Quoting::Doubled));
    if !head.contains(&b'"') {
        return best;
    }
    // Quotes that open cells but seldom close any are letters, though two of them may by chance
    // make a cell over two lines.
    let edge =
        |byte: Option<&u8>| byte.is_none_or(|b| *b == delimiter || matches!(b, b'\r' | b'\n'));
    let (mut opening, mut closing) = (0, 0);
    for (i, _) in head.iter().enumerate().filter(|(_, byte)| **byte == b'"') {
        opening += usize::from(i == 0 || edge(head.get(i - 1)));
        closing += usize::from(edge(head.get(i + 1)));
    }
    let off = if opening > 2 * closing + 1 { 0.3 } else { 0.0 };
    let mut highest = best.1.even + 0.2;
    // `\"` inside a cell is an escape; before a delimiter or at a line's end, where a cell may just
    // end in a backslash, it says nothing.
    let (mut inside, mut at_end) = (0, 0);
    for triple in head.windows(3).filter(|triple| triple.starts_with(b"\\\"")) {
        if triple[2] == delimiter || matches!(triple[2], b'\r' | b'\n') {
            at_end += 1;
        } else {
            inside += 1;
        }
    }
    let backslash = if inside > at_end { 0.25 } else { 0.0 };
    for (candidate, bonus) in [(Quoting::Backslash, backslash), (Quoting::Off, off)] {
        if candidate == Quoting::Backslash && inside == 0 {
            continue;
        }
        let shape = shape(candidate);
        if shape.even + bonus > highest {
            highest = shape.even + bonus;
            best = (candidate, shape);
        }
    }
    best
}

/// How a dialect cuts a row.
#[derive(Clone, Copy)]
struct Cut {
    width: usize,
    ends_empty: bool,
    /// No delimiter of any kind is in its cells: what another one cuts may be the header.
    is_uncut: bool,
    /// It is cut as a sentence or a number would be.
    is_loose: bool,
    below_blank: bool,
    bytes: u64,
}

impl Cut {
    fn of(record: &ByteRecord, line: &Line<'_>, delimiter: u8) -> Cut {
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
fn above_blank(rows: &[Cut]) -> Option<usize> {
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
struct Shape {
    /// The share of the head's bytes in rows of the usual width.
    even: f64,
    /// The usual width.
    width: usize,
    /// Whether the first row has it.
    first_agrees: bool,
    /// The first row's width.
    first: usize,
    /// Whether most rows of the usual width are cut as values with a delimiter in them would be.
    is_loose: bool,
}

impl Shape {
    fn of(dialect: &Dialect, head: &[u8], complete: bool) -> Shape {
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
    fn score(&self) -> f64 {
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
struct Line<'a> {
    start: usize,
    text: &'a [u8],
    below_blank: bool,
}

/// Visits the first rows; returns the bytes they cover. The last row of a head that ends before the
/// file does is not visited, but counted: where a quote that is never closed swallows the rest,
/// that is most of the head.
fn each_row(
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

fn as_text(record: &ByteRecord) -> Vec<String> {
    let text = |cell| String::from_utf8_lossy(cell).trim().to_owned();
    record.iter().map(text).collect()
}

#[cfg(test)]
mod tests;
