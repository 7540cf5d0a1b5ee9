//! JSON lines: one object a line. Columns come in the order of their first appearance; objects and
//! lists inside an object are columns by their path, in the place of their key ([`row`]).
//!
//! Near relatives are read too: one array of objects, an object that wraps one ([`wrapped`]), and,
//! within the budget, objects that stand one after another over several lines each. Of an array
//! beyond the budget the beginning is read. Where the first object is a GeoJSON feature, all are
//! read as features ([`feature`]). A schema, settings and other documents hold no rows
//! ([`document`]). A line, or an element, that is no JSON object is counted, and left out; where
//! most are, the file is refused. Beside a table of its name, one object that wraps no rows is no
//! table but about that one. `NaN` and `Infinity`, which JSON does not have, are nulls ([`bare`]).

pub(crate) mod artifact;
mod bare;
pub(super) mod batches;
mod columns;
mod document;
mod feature;
pub(crate) mod holds;
mod list;
mod outline;
mod plain;
mod regular;
mod row;
mod wrapped;

use limn_profile::FileSummary;
use limn_profile::text::counted;
use limn_store::Store;
use limn_store::one_line;
use memchr::memchr;
use serde::de::IgnoredAny;

use self::artifact::Artifact;
pub(super) use self::bare::as_null;
use self::columns::Columns;
use self::document::Document;
use self::feature::FeatureSeed;
use self::outline::{Elements, Step, are_lists};
use self::regular::Form;
use self::row::RowSeed;
pub(super) use self::wrapped::may_wrap;
use self::wrapped::{BEGINNING, List, Shape};
use super::input::{self, Fetched, Input, Piece};
use super::{Failure, MAX_COLUMNS, ReadOptions, parse, sniff};
use crate::data_file::DataFile;
use crate::declaration::Declaration;
use crate::error::FileErrorKind;
use crate::json::holds::{Holds, SIDECAR_BYTES, holds};

/// Letters of a list's path that a note quotes.
const PATH_CHARS: usize = 120;
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
    let mut fetched = input::fetch(store, file, &options).await?;
    let wraps = may_wrap(&file.object.path);
    if fetched.is_of_ranges() && wrapped::may_be_list(sniff::without_bom(fetched.first())) {
        let most = options.scan_budget.max(BEGINNING as u64);
        let beginning = input::fetch_beginning(store, file, most).await?;
        if wrapped::beginning(sniff::without_bom(beginning.first()), wraps) != Shape::Objects {
            fetched = beginning;
        }
    }
    let sample_path = file.sample_path.clone();
    let path = file.object.path.clone();
    let may = May {
        describe: may_describe,
        wrap: wraps,
        be_document: wraps && Declaration::reading_of(file.declared.as_ref()).is_empty(),
        be_alone: file.is_alone,
    };
    parse(move || {
        let paths = (path.as_str(), sample_path.as_str());
        read(fetched, paths, may, &options)
    })
    .await
}

/// What a file may be, as its name and place and what is declared of it say.
#[derive(Clone, Copy)]
struct May {
    /// About the table beside it.
    describe: bool,
    /// An object around its rows.
    wrap: bool,
    /// A document without rows.
    be_document: bool,
    /// The only one of its kind.
    be_alone: bool,
}

fn read(
    fetched: Fetched,
    (path, sample_path): (&str, &str),
    may: May,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let input = fetched.into_text("JSON", sample_path, options)?;
    let text = sniff::without_bom(&input.pieces[0].bytes);
    if may.describe && input.is_whole() && holds(text) == Holds::One {
        let cause = "it describes the table beside it and holds no rows";
        return Err(Failure::new(FileErrorKind::NoTable, cause));
    }
    if Artifact::of(path, text).is_some() {
        let cause = "a program wrote it about tables (dbt, OpenLineage), and it holds no rows";
        return Err(Failure::new(FileErrorKind::NoTable, cause));
    }
    let may_be_document = may.be_document && input.is_whole();
    if let Some(document) = may_be_document.then(|| Document::of(text)).flatten() {
        return Err(Failure::new(FileErrorKind::NoTable, document.cause()));
    }
    if may.be_alone && may_be_document && document::is_one_object(text) {
        let cause = "it is one object, and no other file is like it: a document, and no rows";
        return Err(Failure::new(FileErrorKind::NoTable, cause));
    }
    let taken = || Columns::new(sample_path, options);
    scanned(&input, may.wrap, &taken)?.finish(&input)
}

/// Reads all pieces into columns that `taken` makes: anew where the text turns out to be written in
/// another way.
fn scanned(input: &Input, wraps: bool, taken: &dyn Fn() -> Columns) -> Result<Scan, Failure> {
    let whole = input.is_whole();
    let text = sniff::without_bom(&input.pieces[0].bytes);
    let shape = match whole {
        true => wrapped::whole(text, wraps),
        false => wrapped::beginning(text, wraps),
    };
    let mut scan = Scan::new(taken(), whole);
    match shape {
        Shape::Nothing => return Err(no_rows()),
        Shape::List(list) => scan.list(text, list)?,
        Shape::Keyed(rows) => scan.keyed(&rows)?,
        Shape::Objects => {
            scan.lines(input)?;
            if whole && scan.bad * 2 > scan.columns.rows() {
                // Perhaps each object takes several lines.
                scan = of_values(text, taken)?.unwrap_or(scan);
            }
        }
    }
    Ok(scan)
}

/// An empty list is no mistake.
fn no_rows() -> Failure {
    Failure::new(FileErrorKind::NoTable, Document::EmptyPage.cause())
}

fn no_object() -> Failure {
    Failure::new(FileErrorKind::Empty, "it holds no object")
}

fn lists() -> Failure {
    Failure::new(
        FileErrorKind::NotItsFormat,
        "its lines are arrays, and a row has to be an object",
    )
    .with_remedy("write one JSON object a line, or the rows as CSV")
}

fn breaks_off(why: &str) -> Failure {
    let cause = format!("it begins as a JSON array but breaks off: {why}");
    Failure::new(FileErrorKind::Corrupt, cause)
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

/// A line without what stands around it; records of a text sequence begin with a sign of their own
/// (RFC 8142).
fn line_of(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    line.strip_prefix(b"\x1e").map_or(line, <[u8]>::trim_ascii)
}

/// The note that says which list a wrapper's rows are.
fn taken_from(path: &str) -> String {
    let shown: String = one_line(path).chars().take(PATH_CHARS).collect();
    format!("its rows are the objects of the list {shown}; what else the file holds is not read")
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
    /// Whether objects are features, once the first was seen.
    are_features: Option<bool>,
    /// The keys of the list that the rows are taken from.
    taken_from: Option<String>,
    /// How the elements of a list are rows.
    form: Form,
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
            are_features: None,
            taken_from: None,
            form: Form::Objects,
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
            let line = line_of(&bytes[start..end]);
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

    /// Takes an element of a list, which should be a row.
    fn element(
        &mut self,
        text: &[u8],
        row: u64,
        place: impl Fn() -> String,
    ) -> Result<(), Failure> {
        match self.form.object(text) {
            regular::Element::AsItIs => self.object(text, row, place),
            regular::Element::Object(object) => self.object(&object, row, place),
            regular::Element::Names => Ok(()),
        }
    }

    /// Takes the objects of one that has them by their keys.
    fn keyed(&mut self, rows: &[Vec<u8>]) -> Result<(), Failure> {
        for (at, row) in rows.iter().enumerate() {
            self.object(row, at as u64, || format!("member {}", at + 1))?;
        }
        Ok(())
    }

    /// Takes one value, which should be an object.
    fn object(&mut self, text: &[u8], row: u64, place: impl Fn() -> String) -> Result<(), Failure> {
        if self.are_features.is_none() && text.starts_with(b"{") {
            self.are_features = Some(feature::is_one(text));
        }
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
                // The parser's words for a value that is no object quote it, which may be
                // somebody's own.
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
        match self.are_features {
            Some(true) => FeatureSeed(&mut self.columns).read(&mut deserializer)?,
            _ => RowSeed(&mut self.columns).read(&mut deserializer)?,
        }
        deserializer.end()
    }

    /// The line, if it could be read as a plain one. Where none have been, few are tried.
    fn plain<'a>(&mut self, text: &'a [u8]) -> Option<&'a str> {
        let is_vain = self.in_vain >= TRIED && !self.columns.rows().is_multiple_of(TRIED);
        if is_vain || self.are_features == Some(true) {
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

    /// The objects of a list, to its end, or to the end of what is here of it.
    fn list(&mut self, text: &[u8], list: List) -> Result<(), Failure> {
        let (mut elements, mut at, mut number) = (Elements::default(), list.start, 0u64);
        let is_top = list.path.is_none();
        (self.taken_from, self.form) = (list.path, list.form);
        loop {
            match elements.step(text, at) {
                Step::Element(range) => {
                    at = range.end;
                    number += 1;
                    let row = self.columns.rows();
                    let element = text.get(range).unwrap_or_default();
                    self.element(element, row, || format!("element {number}"))?;
                }
                Step::Cut if !self.whole => break,
                Step::Cut => return Err(breaks_off("its end is missing")),
                Step::Broken if is_top && are_lists(text) => return Err(lists()),
                Step::Broken => return Err(breaks_off(&format!("at byte {at}"))),
                Step::End(end) => {
                    let rest = text.get(end..).unwrap_or_default().trim_ascii_start();
                    match (is_top, rest.first()) {
                        (true, None) if number == 0 && self.whole => return Err(no_rows()),
                        (true, Some(b'[')) => return Err(lists()),
                        (true, Some(_)) if self.whole => {
                            return Err(breaks_off(&format!("more follows at byte {end}")));
                        }
                        _ => break,
                    }
                }
            }
        }
        self.line_bytes = at as u64;
        Ok(())
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
                no_object()
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
        notes.extend(self.taken_from.as_deref().map(taken_from));
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
