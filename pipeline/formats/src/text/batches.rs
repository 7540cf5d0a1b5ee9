//! The rows of delimited text, read as its first reading decided ([`TextReading`]).

use std::borrow::Cow;

use csv::ByteRecord;
use limn_profile::TextReading;

use super::{is_blank, repeats};
use crate::batches::{Sink, Stop, Texts, Wanted};
use crate::dialect::Dialect;
use crate::footer;
use crate::rows::Rows;
use crate::windows::Windows;
use limn_profile::infer::Nulls;

/// After so many rows it is asked whether any are still wanted: none may be given of blank ones and
/// repeated headers.
const CHECKED: u64 = 4096;

/// Rows of one file while they are read.
pub(crate) struct Delimited<'a> {
    dialect: Dialect,
    /// How many columns the file has, and which are wanted.
    columns: usize,
    wanted: &'a [usize],
    /// Rows above the table that are still to come.
    skip: u64,
    has_header: bool,
    header: Vec<Vec<u8>>,
    /// Bytes up to the table's end, where that is known; otherwise it is looked for at the text's.
    left: Option<u64>,
    looks_for_end: bool,
    nulls: Nulls<'a>,
    texts: Texts,
}

impl<'a> Delimited<'a> {
    /// Rows of a file with so many columns and these signs for missing values; whether the table's
    /// end is to be looked for.
    pub(crate) fn new(
        reading: &TextReading,
        columns: usize,
        wanted: &'a Wanted,
        (nulls, looks_for_end): (Nulls<'a>, bool),
    ) -> Delimited<'a> {
        Delimited {
            dialect: Dialect::of(reading),
            columns,
            wanted: &wanted.columns,
            skip: reading.skip,
            has_header: reading.has_header,
            header: Vec::new(),
            left: reading.end,
            looks_for_end: looks_for_end && reading.end.is_none(),
            nulls,
            texts: Texts::new(wanted),
        }
    }

    /// Reads a text from window to window; the first one begins `start` bytes before the first row.
    pub(crate) fn read(
        mut self,
        mut windows: Windows,
        start: u64,
        sink: &mut Sink,
    ) -> Result<(), Stop> {
        let mut passed = 0;
        let mut before = start;
        loop {
            sink.check()?;
            windows.advance(passed)?;
            let (text, is_all) = windows.text();
            if before > 0 {
                passed = usize::try_from(before)
                    .unwrap_or(usize::MAX)
                    .min(text.len());
                before -= passed as u64;
                if is_all && passed == text.len() {
                    break;
                }
                continue;
            }
            passed = self.window(text, is_all, sink)?;
            if is_all {
                break;
            }
        }
        self.end(sink)
    }

    /// Reads all of a text that begins with the first row.
    pub(crate) fn whole(mut self, text: &[u8], sink: &mut Sink) -> Result<(), Stop> {
        self.window(text, true, sink)?;
        self.end(sink)
    }

    /// Gives the last rows.
    pub(crate) fn end(mut self, sink: &mut Sink) -> Result<(), Stop> {
        sink.give(self.texts.take()?)
    }

    /// Takes the rows that a window holds whole; how many bytes those are.
    pub(crate) fn window(
        &mut self,
        text: &[u8],
        is_all: bool,
        sink: &mut Sink,
    ) -> Result<usize, Stop> {
        let mut rows = Rows::new(self.dialect, text, is_all);
        let (mut row, mut next) = (ByteRecord::new(), ByteRecord::new());
        let (mut from, mut seen) = (0, 0u64);
        let mut more = rows.read(&mut row);
        // What may stand around the end is looked at together, as it was in the first reading.
        let kept = if is_all || !self.looks_for_end {
            0
        } else {
            footer::TAIL
        };
        let most = text.len().saturating_sub(kept);
        while more {
            seen += 1;
            if seen.is_multiple_of(CHECKED) {
                sink.check()?;
            }
            let to = rows.byte();
            more = rows.read(&mut next);
            // One that the window may have cut off is read once more.
            if !more && !is_all || to > most {
                break;
            }
            if self.skip == 0 && is_all && self.looks_for_end {
                self.looks_for_end = false;
                let found = footer::find(&self.dialect, self.columns, &text[from..], None);
                self.left = found.map(|footer| (from + footer.start) as u64);
            }
            if self.skip > 0 {
                self.above(&row);
            } else if self.left.is_some_and(|left| from as u64 >= left) {
                return Ok(text.len());
            } else if self.row(&row) {
                sink.give(self.texts.take()?)?;
            }
            from = to;
            std::mem::swap(&mut row, &mut next);
        }
        Ok(from)
    }

    /// Passes over a row above the table.
    fn above(&mut self, row: &ByteRecord) {
        self.skip -= 1;
        if self.skip == 0 && self.has_header {
            let cells = row.iter().map(|cell| cell.trim_ascii().to_vec());
            self.header = cells.collect();
        }
    }

    /// Takes a row; whether there are enough for a batch.
    fn row(&mut self, row: &ByteRecord) -> bool {
        if is_blank(row, self.columns) || repeats(row, self.header.iter().map(Vec::as_slice)) {
            return false;
        }
        for (place, column) in self.wanted.iter().enumerate() {
            let cell = row.get(*column).unwrap_or_default().trim_ascii();
            match std::str::from_utf8(cell) {
                Ok(text) => self
                    .texts
                    .cell(place, (!self.nulls.has(text)).then_some(text)),
                Err(_) => {
                    let text: Cow<'_, str> = String::from_utf8_lossy(cell);
                    self.texts.cell(place, Some(&text));
                }
            }
        }
        self.texts.end_row()
    }
}
