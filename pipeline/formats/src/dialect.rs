//! How a delimited text file is written: its delimiter and its quoting. What the first rows then
//! say about the columns is the business of [`super::header`].
//!
//! Every candidate dialect parses the first rows; the one that cuts most of the text into rows of
//! equal width wins, and more so if the first row has that width too. (The idea is that of
//! consistency measures such as van den Burg et al., "Wrangling messy CSV files by detecting row
//! and type patterns", 2019, without the type score.)

mod shape;

pub(crate) use limn_profile::Quoting;
use limn_profile::TextReading;
use limn_profile::text::counted;

use super::header::{self, Doubt};
use super::{Failure, MAX_COLUMNS};
use crate::error::FileErrorKind;
use crate::member::extension;
use limn_profile::{DeclaredReading, HeaderLine};

use shape::{Cut, DELIMITERS, ROWS, Shape, above_blank, as_text, each_row};
pub(crate) use shape::{first_rows, is_below_blank, usual};

/// How much of the beginning is looked at.
pub(crate) const HEAD: usize = 256 << 10;

/// A text of no more bytes may be too little to show how it is cut.
const SMALL: usize = 4 << 10;

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
    let extension = extension(path).unwrap_or_default();
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

#[cfg(test)]
mod tests;
