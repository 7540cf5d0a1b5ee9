//! The rows of plain text: as of delimited text, of which lines that no delimiter cuts are written
//! anew first.

use limn_profile::{DeclaredReading, TextReading};

use super::cut::Cutter;
use super::shape::{self, Shape};
use super::{PROSE, line, no_table, plan};
use crate::batches::{Sink, Stop};
use crate::input::Fetched;
use crate::text::batches::Delimited;
use crate::windows::Windows;
use crate::{Failure, dialect, sniff};

/// Reads a text that is here as a whole, and whose lines are written anew.
pub(crate) fn whole(
    fetched: Fetched,
    rows: Delimited<'_>,
    (reading, declared): (&TextReading, &DeclaredReading),
    sink: &mut Sink,
) -> Result<(), Stop> {
    let mut input = fetched.into_whole_text("plain text")?;
    plan(&mut input, declared)?;
    let text = &input.pieces[0].bytes;
    let start = usize::try_from(reading.start).unwrap_or(usize::MAX);
    rows.whole(text.get(start..).unwrap_or_default(), sink)
}

/// Reads such a text from window to window.
pub(crate) fn windows(
    mut windows: Windows,
    mut rows: Delimited<'_>,
    sink: &mut Sink,
) -> Result<(), Stop> {
    windows.advance(0)?;
    let (mut lines, mut passed) = {
        let (text, is_all) = windows.text();
        let lines = Lines::of(text, is_all)?;
        let start = lines.start;
        (lines, start)
    };
    let mut written = Vec::new();
    loop {
        sink.check()?;
        windows.advance(passed)?;
        let (text, is_all) = windows.text();
        passed = lines.write(text, is_all, &mut written);
        let read = rows.window(&written, is_all, sink)?;
        written.drain(..read);
        if is_all {
            return rows.end(sink);
        }
    }
}

/// How the lines of a text are written anew.
struct Lines {
    cutter: Cutter,
    /// Where the table begins, in bytes.
    start: usize,
    end: u8,
    is_first: bool,
}

impl Lines {
    fn of(beginning: &[u8], is_all: bool) -> Result<Lines, Failure> {
        let text = sniff::without_bom(beginning);
        let head = &text[..text.len().min(dialect::HEAD)];
        let mark = beginning.len() - text.len();
        match shape::find(text, is_all) {
            Some(Shape::Lines { cutter, start }) => Ok(Lines {
                cutter,
                start: mark + start,
                end: line::end_of(head.get(start..).unwrap_or_default()),
                is_first: true,
            }),
            _ => Err(other_text()),
        }
    }

    /// Writes the lines that a text holds whole; how many bytes those are.
    fn write(&mut self, text: &[u8], is_all: bool, out: &mut Vec<u8>) -> usize {
        let mut passed = 0;
        for line in text.split_inclusive(|byte| *byte == self.end) {
            if !line.ends_with(&[self.end]) && !is_all {
                break;
            }
            passed += line.len();
            let letters = String::from_utf8_lossy(line);
            let letters = line::trimmed(&letters);
            if self.cutter.write(letters, self.is_first, out) {
                self.is_first &= letters.is_empty();
                out.push(b'\n');
            }
        }
        passed
    }
}

fn other_text() -> Failure {
    no_table(PROSE)
}
