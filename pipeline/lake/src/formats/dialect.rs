//! How a delimited text file is written: its delimiter and its quoting. What the first rows then say
//! about the columns is the business of [`super::header`].
//!
//! Every candidate dialect parses the first rows; the one that cuts most of the text into rows of
//! equal width wins, and more so if the first row has that width too. (The idea is that of
//! consistency measures such as van den Burg et al., "Wrangling messy CSV files by detecting row and
//! type patterns", 2019, without the type score.)

use std::collections::BTreeMap;
use std::path::Path;

use csv::ByteRecord;

use super::header;
use super::{Failure, MAX_COLUMNS};
use crate::error::FileErrorKind;

/// How much of the beginning is looked at.
pub(crate) const HEAD: usize = 256 << 10;
/// Rows looked at.
const ROWS: usize = 200;

/// Rows that make a table below other lines.
const FEWEST: usize = 3;

/// How double quotes are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoting {
    /// `"a ""quoted"" cell"` (RFC 4180).
    Doubled,
    /// `"a \"quoted\" cell"` (MySQL, Spark).
    Backslash,
    /// A quote is a letter like any other (many TSV files).
    Off,
}

/// What cuts the text into cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    pub(crate) delimiter: u8,
    pub(crate) quoting: Quoting,
}

impl Dialect {
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
    /// What a reader of the catalog should know about how the file was understood.
    pub(crate) notes: Vec<String>,
}

/// Finds out how `text` is written. `complete` says that it is the whole file, not its beginning.
///
/// # Errors
/// Nothing but blank lines; too many columns.
pub(crate) fn detect(text: &[u8], complete: bool, path: &str) -> Result<Plan, Failure> {
    let (declared, start) = separator_line(text);
    let text = &text[start..];
    let head = &text[..text.len().min(HEAD)];
    let complete = complete && head.len() == text.len();
    let extension = Path::new(path)
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default();
    let tabs = extension.eq_ignore_ascii_case("tsv") || extension.eq_ignore_ascii_case("tab");

    let mut best = (
        f64::MIN,
        Dialect {
            delimiter: b',',
            quoting: Quoting::Doubled,
        },
    );
    for delimiter in DELIMITERS {
        if declared.is_some_and(|declared| declared != delimiter) {
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
    plan(best.1, start, head, complete)
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
) -> Result<Plan, Failure> {
    let head = &text[..text.len().min(HEAD)];
    let complete = complete && head.len() == text.len();
    let rows = first_rows(&dialect, head, complete);
    let is_blank = |row: &Vec<String>| row.iter().all(|cell| cell.trim().is_empty());
    if rows.is_empty() || (complete && rows.len() < ROWS && rows.iter().all(is_blank)) {
        return Err(Failure::new(
            FileErrorKind::Empty,
            "it has no text but blank lines",
        ));
    }
    let header = header::understand(&rows, header::is_first_parted(head));
    if header.columns.len() > MAX_COLUMNS {
        return Err(Failure::too_many_columns(header.columns.len()));
    }
    Ok(Plan {
        dialect,
        start,
        skip: header.skip,
        columns: header.columns,
        header: header.cells,
        notes: header.notes,
    })
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
    // Quotes that open cells but seldom close any are letters, though two of them may by chance make
    // a cell over two lines.
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
}

impl Shape {
    fn of(dialect: &Dialect, head: &[u8], complete: bool) -> Shape {
        let mut rows: Vec<(usize, bool, u64)> = Vec::with_capacity(ROWS);
        let mut uncut = Vec::with_capacity(ROWS);
        let mut total = each_row(dialect, head, complete, |record, bytes| {
            let last_empty =
                record.len() > 1 && record.iter().next_back().is_some_and(<[u8]>::is_empty);
            rows.push((record.len(), last_empty, bytes));
            // What another delimiter cuts may be the header.
            uncut.push(!record.iter().flatten().any(|it| DELIMITERS.contains(it)));
        });
        // Lines of one cell above and below a table say nothing of how it is cut.
        let is_line = |i: &usize| rows[*i].0 == 1 && uncut[*i];
        let mut above = (0..rows.len().min(header::PREAMBLE))
            .take_while(is_line)
            .count();
        let below = (above..rows.len()).rev().take_while(is_line).count();
        // Nor do shorter ones, above rows that are all of one width.
        let table = rows.len() - below;
        let most = usual(rows[above..table].iter().map(|row| row.0));
        let is_short = |i: &usize| rows[*i].0 < most && uncut[*i];
        let short = (0..table.min(header::PREAMBLE))
            .take_while(is_short)
            .count();
        let is_even = rows[short..table].iter().all(|row| row.0 == most);
        if is_even && table - short >= FEWEST {
            above = above.max(short);
        }
        let inner = above..table;
        if inner.len() > 1 && usual(rows[inner.clone()].iter().map(|row| row.0)) > 2 {
            let left_out = rows[..above].iter().chain(&rows[inner.end..]);
            total -= left_out.map(|row| row.2).sum::<u64>();
            rows = rows[inner].to_vec();
        }
        let width = usual(rows.iter().map(|(width, ..)| *width));
        let is_usual = |(length, last_empty, _): &&(usize, bool, u64)| {
            *length == width || (*last_empty && *length == width + 1)
        };
        let usual_bytes: u64 = rows.iter().filter(is_usual).map(|(.., bytes)| bytes).sum();
        Shape {
            even: usual_bytes as f64 / total.max(1) as f64,
            width,
            first_agrees: rows.first().as_ref().is_some_and(is_usual),
            first: rows.first().map_or(0, |(width, ..)| *width),
        }
    }

    /// Higher is likelier. A delimiter that hardly ever occurs gives one even column, which must not
    /// win over several less even ones.
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
        if !self.first_agrees && self.even < 0.9 {
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

/// Visits the first rows with their lengths in bytes; returns the bytes they cover. The last row of a
/// head that ends before the file does is not visited, but counted: where a quote that is never closed
/// swallows the rest, that is most of the head.
fn each_row(
    dialect: &Dialect,
    head: &[u8],
    complete: bool,
    mut visit: impl FnMut(&ByteRecord, u64),
) -> u64 {
    let mut reader = dialect.reader(head);
    let mut record = ByteRecord::new();
    let mut end = 0;
    let mut rows = 0;
    while rows < ROWS && reader.read_byte_record(&mut record).unwrap_or(false) {
        let start = end;
        end = reader.position().byte();
        if !complete && end >= head.len() as u64 && rows > 0 {
            break;
        }
        rows += 1;
        visit(&record, end - start);
    }
    end
}

/// The first rows as text.
pub(crate) fn first_rows(dialect: &Dialect, head: &[u8], complete: bool) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    each_row(dialect, head, complete, |record, _| {
        rows.push(
            record
                .iter()
                .map(|cell| String::from_utf8_lossy(cell).trim().to_owned())
                .collect(),
        );
    });
    rows
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn plan(text: &str) -> Plan {
        detect(text.as_bytes(), true, "x.csv").unwrap()
    }

    fn is(text: &str, delimiter: char, quoting: Quoting, columns: &[&str]) {
        let plan = plan(text);
        assert_eq!(plan.dialect.delimiter as char, delimiter, "{text}");
        assert_eq!(plan.dialect.quoting, quoting, "{text}");
        assert_eq!(plan.columns, columns, "{text}");
    }

    #[test]
    fn delimiters() {
        is(
            "id,name\n1,a\n2,b\n",
            ',',
            Quoting::Doubled,
            &["id", "name"],
        );
        is(
            "id\tname\n1\ta, b\n2\tc\n",
            '\t',
            Quoting::Doubled,
            &["id", "name"],
        );
        is(
            "id|name\n1|a\n2|b\n",
            '|',
            Quoting::Doubled,
            &["id", "name"],
        );
        // Decimal commas are even too, but not in the header.
        is(
            "id;price;tax\n1;2,5;0,5\n2;3,5;0,7\n",
            ';',
            Quoting::Doubled,
            &["id", "price", "tax"],
        );
        is("sep=;\na;b\n1,5;2\n", ';', Quoting::Doubled, &["a", "b"]);
        is(
            "name\nAnna\nBen; the other\n",
            ',',
            Quoting::Doubled,
            &["name"],
        );
        is(
            "remark\nyes, and no\nno\nwell, well, well\nmaybe\n",
            ',',
            Quoting::Doubled,
            &["remark"],
        );
        is("a\tb\n", '\t', Quoting::Doubled, &["a", "b"]);
    }

    #[test]
    fn quotings() {
        is(
            "a,b\n1,\"x, \"\"y\"\"\"\n2,z\n",
            ',',
            Quoting::Doubled,
            &["a", "b"],
        );
        is(
            "a,b\n1,\"x, \\\"y\\\", z\"\n2,\"q\"\n",
            ',',
            Quoting::Backslash,
            &["a", "b"],
        );
        is(
            "path,b\n\"C:\\dir\\\",1\n\"D:\\\",2\n",
            ',',
            Quoting::Doubled,
            &["path", "b"],
        );
        let stray: String = (0..50).map(|i| format!("{i}\t\"tis {i}\tz\n")).collect();
        is(
            &format!("id\ttext\tc\n{stray}"),
            '\t',
            Quoting::Off,
            &["id", "text", "c"],
        );
        // Commas in every quoted cell must not count as more columns.
        let names: String = (0..9).map(|i| format!("\"Doe, J{i}\",{i}\n")).collect();
        is(
            &format!("\"name, first\",n\n{names}"),
            ',',
            Quoting::Doubled,
            &["name, first", "n"],
        );
    }

    #[test]
    fn a_head_cut_within_a_row_is_no_evidence() {
        let text = "a,b\n1,2\n3,4\n5";
        let plan = detect(text.as_bytes(), false, "x.csv").unwrap();
        assert_eq!((plan.dialect.delimiter, plan.columns.len()), (b',', 2));
    }

    #[test]
    fn blank_files_are_empty() {
        for text in ["\n\n", "\r\n", "  \n", ",,\n,,\n"] {
            let result = detect(text.as_bytes(), true, "x.csv");
            assert!(
                matches!(
                    result,
                    Err(Failure::Content {
                        kind: FileErrorKind::Empty,
                        ..
                    })
                ),
                "{text:?}"
            );
        }
    }

    #[test]
    fn too_many_columns_are_refused() {
        let text = "a,".repeat(MAX_COLUMNS - 1) + "a\n";
        assert_eq!(plan(&text).columns.len(), MAX_COLUMNS);
        let text = "a,".repeat(MAX_COLUMNS) + "a\n";
        let result = detect(text.as_bytes(), true, "x.csv");
        assert!(matches!(
            result,
            Err(Failure::Content {
                kind: FileErrorKind::Unsupported,
                ..
            })
        ));
    }
}
