//! The rows of JSON as batches of texts: cells by the path of their keys, lists as JSON.

use std::borrow::Cow;

use arrow::array::RecordBatch;

use super::columns::Columns;
use super::outline::{Elements, Step};
use super::wrapped::{self, Shape};
use super::{Scan, breaks_off, line_of, scanned};
use crate::batches::{Sink, Stop, Texts, Wanted};
use crate::error::FileErrorKind;
use crate::input::Fetched;
use crate::windows::Windows;
use crate::{Failure, ReadOptions, names, sniff};

/// Takes rows, and makes batches of them.
pub(super) struct RowsTo {
    texts: Texts,
    names: Vec<String>,
    /// Of each place in the columns, the place among those wanted.
    wanted: Vec<Option<usize>>,
    full: Vec<RecordBatch>,
    failure: Option<Failure>,
}

impl RowsTo {
    fn new(wanted: &Wanted) -> RowsTo {
        RowsTo::at(wanted, Vec::new())
    }

    /// Where it is known which of the first places in the columns are wanted.
    fn at(wanted: &Wanted, places: Vec<Option<usize>>) -> RowsTo {
        RowsTo {
            texts: Texts::new(wanted),
            names: wanted.names.clone(),
            wanted: places,
            full: Vec::new(),
            failure: None,
        }
    }

    /// The first wanted column that nothing in the file is called.
    fn unfound(&self) -> Option<&str> {
        let mut names = self.names.iter().enumerate();
        let unfound = names.find(|(at, _)| !self.wanted.contains(&Some(*at)));
        unfound.map(|(_, name)| name.as_str())
    }

    /// Takes the row that has been read.
    pub(super) fn row(&mut self, columns: &Columns, text: &str) {
        for place in self.wanted.len()..columns.places() {
            let name = names::tidy(columns.path(place));
            let wanted = self.names.iter().position(|wanted| *wanted == name);
            // Of two with one name the first.
            self.wanted
                .push(wanted.filter(|it| !self.wanted.contains(&Some(*it))));
        }
        let mut cells: Vec<Option<Cow<'_, str>>> = vec![None; columns.places()];
        columns.cells(text, &mut cells);
        let mut row: Vec<Option<&str>> = vec![None; self.texts.width()];
        for (cell, wanted) in cells.iter().zip(&self.wanted) {
            if let Some(wanted) = wanted {
                row[*wanted] = cell.as_deref();
            }
        }
        for (place, cell) in row.into_iter().enumerate() {
            self.texts.cell(place, cell);
        }
        if self.texts.end_row() {
            self.end_batch();
        }
    }

    fn end_batch(&mut self) {
        match self.texts.take() {
            Ok(batch) => self.full.push(batch),
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// The batches that are full; all rows where there will be no more.
    pub(super) fn batches(&mut self, is_end: bool) -> Result<Vec<RecordBatch>, Failure> {
        if is_end {
            self.end_batch();
        }
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(std::mem::take(&mut self.full)),
        }
    }
}

/// Reads a text that is here as a whole.
pub(crate) fn whole(
    (fetched, wraps): (Fetched, bool),
    wanted: &Wanted,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let input = fetched.into_whole_text("JSON")?;
    let mut scan = scanned(&input, wraps, &|| {
        Columns::to_rows(options, RowsTo::new(wanted))
    })?;
    // Names may have been made up, where two paths are written alike, or withheld. The summary has
    // the columns in this order.
    let places = scan.columns.places_of(&wanted.columns);
    if scan.columns.rows_to().is_some_and(|it| it.wanted != places) {
        sink.check()?;
        drop(scan);
        let rows_to = || RowsTo::at(wanted, places.clone());
        scan = scanned(&input, wraps, &|| Columns::to_rows(options, rows_to()))?;
    }
    for batch in scan.columns.batches(true)? {
        sink.give(batch)?;
    }
    Ok(())
}

/// Reads lines, or the elements of a list, from window to window.
pub(crate) fn lines(
    (mut windows, wraps): (Windows, bool),
    wanted: &Wanted,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let mut scan = Scan::new(Columns::to_rows(options, RowsTo::new(wanted)), true);
    windows.advance(0)?;
    let (text, _) = windows.text();
    let begins = text.len() - sniff::without_bom(text).len();
    match wrapped::beginning(text.get(begins..).unwrap_or_default(), wraps) {
        Shape::List(list) => {
            scan.form = list.form;
            elements(windows, begins + list.start, &mut scan, sink)?;
        }
        Shape::Keyed(_) | Shape::Nothing | Shape::Objects => {
            each_line(windows, begins, &mut scan, sink)?
        }
    }
    let unfound = scan.columns.rows_to().and_then(RowsTo::unfound);
    unfound.map_or(Ok(()), |name| Err(not_found(name).into()))
}

/// Reads lines from byte `begins` of the first window on.
fn each_line(
    mut windows: Windows,
    begins: usize,
    scan: &mut Scan,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let mut passed = begins;
    loop {
        sink.check()?;
        windows.advance(passed)?;
        let (text, is_all) = windows.text();
        let end = match is_all {
            true => text.len(),
            false => memchr::memrchr(b'\n', text).map_or(0, |at| at + 1),
        };
        for line in text[..end].split(|byte| *byte == b'\n') {
            let line = line_of(line);
            if !line.is_empty() {
                let row = scan.columns.rows();
                scan.object(line, row, || "a line".to_owned())?;
            }
        }
        for batch in scan.columns.batches(is_all)? {
            sink.give(batch)?;
        }
        if is_all {
            return Ok(());
        }
        passed = end;
    }
}

/// Reads the elements of a list that begins at byte `start` of the first window.
fn elements(
    mut windows: Windows,
    start: usize,
    scan: &mut Scan,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let (mut passed, mut elements) = (start, Elements::default());
    loop {
        sink.check()?;
        windows.advance(passed)?;
        let (text, is_all) = windows.text();
        passed = 0;
        let is_end = loop {
            match elements.step(text, passed) {
                Step::Element(range) => {
                    passed = range.end;
                    let row = scan.columns.rows();
                    let element = text.get(range).unwrap_or_default();
                    scan.element(element, row, || "an element".to_owned())?;
                }
                Step::End(_) => break true,
                Step::Cut if !is_all => break false,
                Step::Cut | Step::Broken => {
                    for batch in scan.columns.batches(true)? {
                        sink.give(batch)?;
                    }
                    return Err(breaks_off("further on").into());
                }
            }
        };
        for batch in scan.columns.batches(is_end)? {
            sink.give(batch)?;
        }
        if is_end {
            return Ok(());
        }
    }
}

/// What a column is whose name the file does not have: one that was made up, or withheld. Of a file
/// that is read from window to window it is not known which one is meant.
fn not_found(name: &str) -> Failure {
    let cause = format!("its values of '{name}' are left out, since nothing in it has that name");
    Failure::new(FileErrorKind::Unsupported, cause)
        .with_remedy("write the file with different keys, or in several files")
}
