//! JSON lines: one object a line. Columns come in the order of their first appearance; objects and lists inside an object are
//! columns by their path, in the place of their key ([`row`]).
//!
//! Within the budget two near relatives are read too: one array of objects, and objects that stand
//! one after another over several lines each. A line that is no JSON object is counted, and left
//! out; where most are, the file is refused. Beside a table of its name, one object is no table but about that one.
//! `NaN` and `Infinity`, which JSON does not have, are nulls ([`bare`]).

pub(crate) mod artifact;
mod bare;
pub(super) mod batches;
mod columns;
pub(crate) mod holds;
mod list;
mod plain;
mod row;

use limn_profile::FileSummary;
use limn_profile::text::counted;
use limn_store::Store;
use limn_store::one_line;
use memchr::memchr;
use serde::de::IgnoredAny;

use self::artifact::Artifact;
pub(super) use self::bare::as_null;
use self::columns::Columns;
use self::row::{ArraySeed, RowSeed};
use super::input::{self, Fetched, Input, Piece};
use super::{Failure, MAX_COLUMNS, ReadOptions, parse, sniff};
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::json::holds::{Holds, SIDECAR_BYTES, holds};

/// After so many lines that are not plain, one in so many is tried.
const TRIED: u64 = 32;

pub(super) async fn summarise(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    // What is longer is not read as a description.
    let may_describe = file.is_beside && file.object.size <= SIDECAR_BYTES;
    let mut options = options.clone();
    if may_describe {
        options.scan_budget = options.scan_budget.max(SIDECAR_BYTES);
    }
    let fetched = input::fetch(store, file, &options).await?;
    let sample_path = file.sample_path.clone();
    let path = file.object.path.clone();
    parse(move || read(fetched, (&path, &sample_path), may_describe, &options)).await
}

fn read(
    fetched: Fetched,
    (path, sample_path): (&str, &str),
    may_describe: bool,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let input = fetched.into_text("JSON", sample_path, options)?;
    let text = sniff::without_bom(&input.pieces[0].bytes);
    if may_describe && input.is_whole() && holds(text) == Holds::One {
        let cause = "it describes the table beside it and holds no rows";
        return Err(Failure::new(FileErrorKind::NoTable, cause));
    }
    if Artifact::of(path, text).is_some() {
        let cause = "a program wrote it about tables (dbt, OpenLineage), and it holds no rows";
        return Err(Failure::new(FileErrorKind::NoTable, cause));
    }
    let taken = || Columns::new(sample_path, options);
    scanned(&input, &taken)?.finish(&input)
}

/// Reads all pieces into columns that `taken` makes: anew where the text turns out to be written in another way.
fn scanned(input: &Input, taken: &dyn Fn() -> Columns) -> Result<Scan, Failure> {
    let whole = input.is_whole();
    let text = sniff::without_bom(&input.pieces[0].bytes);
    let mut scan = Scan::new(taken(), whole);
    if text.trim_ascii_start().first() == Some(&b'[') {
        if !whole && are_lists(text) {
            return Err(lists());
        }
        if !whole {
            return Err(Failure::new(
                FileErrorKind::Unsupported,
                format!(
                    "it is one JSON array of {}, more than is read at once",
                    input.size_in_words()
                ),
            )
            .with_remedy("write it as JSON lines, one object a line"));
        }
        if let Err(failure) = scan.array(text) {
            let text = as_null(text).ok_or(failure)?;
            scan = Scan::new(taken(), whole);
            scan.array(&text)?;
        }
    } else {
        scan.lines(input)?;
        if whole && scan.bad * 2 > scan.columns.rows() {
            // Perhaps each object takes several lines.
            scan = of_values(text, taken)?.unwrap_or(scan);
        }
    }
    Ok(scan)
}

/// Whether another array follows the first one.
fn are_lists(text: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
    let is_first_whole = values.next().is_some_and(|value| value.is_ok());
    let rest = text.get(values.byte_offset()..).unwrap_or_default();
    is_first_whole && rest.trim_ascii_start().first() == Some(&b'[')
}

fn lists() -> Failure {
    Failure::new(
        FileErrorKind::NotItsFormat,
        "its lines are arrays, and a row has to be an object",
    )
    .with_remedy("write one JSON object a line, or the rows as CSV")
}

/// The whole text as objects one after another, if it is that.
fn of_values(text: &[u8], taken: &dyn Fn() -> Columns) -> Result<Option<Scan>, Failure> {
    let mut scan = Scan::new(taken(), true);
    if scan.values(text)? {
        return Ok(Some(scan));
    }
    let Some(text) = as_null(text) else {
        return Ok(None);
    };
    scan = Scan::new(taken(), true);
    Ok(scan.values(&text)?.then_some(scan))
}

/// One pass over the file's pieces.
struct Scan {
    columns: Columns,
    whole: bool,
    /// Bytes of the lines that were read.
    line_bytes: u64,
    /// Lines (or values) that are no objects.
    bad: u64,
    /// What is wrong with the first of them.
    first_bad: Option<String>,
    /// Lines since the last plain one.
    in_vain: u64,
}

impl Scan {
    fn new(columns: Columns, whole: bool) -> Scan {
        Scan {
            columns,
            whole,
            line_bytes: 0,
            bad: 0,
            first_bad: None,
            in_vain: 0,
        }
    }

    fn lines(&mut self, input: &Input) -> Result<(), Failure> {
        for (i, piece) in input.pieces.iter().enumerate() {
            self.piece(piece, i == 0)?;
        }
        Ok(())
    }

    /// Reads the lines that a piece holds whole.
    fn piece(&mut self, piece: &Piece, first: bool) -> Result<(), Failure> {
        let bytes = &piece.bytes[..];
        let mut start = if first {
            bytes.len() - sniff::without_bom(bytes).len()
        } else {
            match memchr(b'\n', bytes) {
                Some(i) => i + 1,
                None => return Ok(()),
            }
        };
        let mut number = 0;
        while start < bytes.len() {
            let end = match memchr(b'\n', &bytes[start..]) {
                Some(length) => start + length + 1,
                None if piece.to_end => bytes.len(),
                None => break,
            };
            number += 1;
            let line = bytes[start..end].trim_ascii();
            if !line.is_empty() {
                let row = if self.whole {
                    self.columns.rows()
                } else {
                    piece.offset + start as u64
                };
                self.object(line, row, || {
                    if first {
                        format!("line {number}")
                    } else {
                        "a line".to_owned()
                    }
                })?;
            }
            self.line_bytes += (end - start) as u64;
            start = end;
        }
        Ok(())
    }

    /// Takes one value, which should be an object.
    fn object(&mut self, text: &[u8], row: u64, place: impl Fn() -> String) -> Result<(), Failure> {
        if let Some(line) = self.plain(text) {
            self.columns.commit_parts(row, line);
            return self.check();
        }
        let mut parsed = self.row(text);
        if parsed.is_err()
            && let Some(text) = as_null(text)
        {
            parsed = self.row(&text);
        }
        match parsed {
            Ok(()) => self.columns.commit(row),
            Err(error) => {
                self.bad += 1;
                // The parser's words for a value that is no object quote it, which may be somebody's own.
                let cause = || match error.is_data() {
                    true => "it is no object".to_owned(),
                    false => error.to_string(),
                };
                self.first_bad
                    .get_or_insert_with(|| format!("{}: {}", place(), cause()));
            }
        }
        self.check()
    }

    /// Reads one object as a row that is not taken yet.
    fn row(&mut self, text: &[u8]) -> Result<(), serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        RowSeed(&mut self.columns).read(&mut deserializer)?;
        deserializer.end()
    }

    /// The line, if it could be read as a plain one. Where none have been, few are tried.
    fn plain<'a>(&mut self, text: &'a [u8]) -> Option<&'a str> {
        if self.in_vain >= TRIED && !self.columns.rows().is_multiple_of(TRIED) {
            return None;
        }
        self.columns.begin();
        let line = std::str::from_utf8(text)
            .ok()
            .filter(|line| plain::read(&mut self.columns, line).is_some());
        self.in_vain = line.map_or(self.in_vain + 1, |_| 0);
        line
    }

    /// Objects one after another, with any white space between and within them. Whether there was
    /// nothing else.
    fn values(&mut self, text: &[u8]) -> Result<bool, Failure> {
        let mut values = serde_json::Deserializer::from_slice(text).into_iter::<IgnoredAny>();
        let mut start = 0;
        while let Some(value) = values.next() {
            let end = values.byte_offset();
            if value.is_err() {
                return Ok(false);
            }
            let row = self.columns.rows();
            self.object(text[start..end].trim_ascii(), row, || {
                format!("value {}", row + 1)
            })?;
            start = end;
        }
        Ok(self.bad == 0)
    }

    /// One array of objects.
    fn array(&mut self, text: &[u8]) -> Result<(), Failure> {
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let others = ArraySeed(&mut self.columns)
            .read(&mut deserializer)
            .and_then(|others| deserializer.end().map(|()| others));
        self.check()?;
        match others {
            Ok(others) => {
                self.bad += others;
                self.first_bad =
                    (others > 0).then(|| "an element of the array is no object".to_owned());
                Ok(())
            }
            Err(_) if are_lists(text) => Err(lists()),
            Err(error) => Err(Failure::new(
                FileErrorKind::Corrupt,
                format!(
                    "it begins as a JSON array but breaks off: {}",
                    one_line(&error.to_string())
                ),
            )),
        }
    }

    fn check(&self) -> Result<(), Failure> {
        if self.columns.len() > MAX_COLUMNS {
            return Err(Failure::new(
                FileErrorKind::Unsupported,
                format!("its objects have more than {MAX_COLUMNS} different keys"),
            )
            .with_remedy(
                "if the keys are data, write them as values: {\"key\": …, \"value\": …}",
            ));
        }
        Ok(())
    }

    fn finish(self, input: &Input) -> Result<FileSummary, Failure> {
        let rows = self.columns.rows();
        if rows + self.bad == 0 {
            return Err(if self.whole {
                Failure::new(FileErrorKind::Empty, "it holds no object")
            } else {
                input.endless_row()
            });
        }
        if self.bad > rows {
            let detail = self.first_bad.unwrap_or_default();
            return Err(Failure::new(
                FileErrorKind::NotItsFormat,
                format!(
                    "no JSON object in {} of {} ({})",
                    self.bad,
                    counted(rows + self.bad, "line"),
                    one_line(&detail)
                ),
            )
            .with_remedy("write one JSON object a line"));
        }
        let mut notes = input.notes.clone();
        if let Some(first) = self.first_bad {
            notes.push(format!(
                "{} left out without a JSON object: {}",
                counted(self.bad, "line"),
                one_line(&first)
            ));
        }
        let mut estimate = rows;
        if !self.whole {
            let (all, note) = input.extrapolate(rows, self.line_bytes);
            estimate = all;
            notes.push(note);
        }
        notes.extend(self.columns.note());
        let (columns, sample) = self.columns.finish(self.whole);
        if columns.is_empty() {
            let cause = "none of its objects has a field";
            return Err(Failure::new(FileErrorKind::Empty, cause));
        }
        Ok(FileSummary {
            columns,
            rows: estimate,
            rows_exact: self.whole,
            sample,
            approximate: !self.whole,
            notes,
            ..FileSummary::default()
        })
    }
}
