//! A sheet's cells, and the delimited text that they become: it is read as any other is, with titles above,
//! header, remarks below and notations.
//!
//! Cells are taken one by one, and never as the rectangle between the first and the last: two cells may be
//! billions apart. What they take of memory is counted while they come.

use calamine::{DataRef, ExcelDateTime, ExcelDateTimeType};

use super::damaged;
use crate::Failure;

/// Rows in which a title may stand.
const TITLE_ROWS: u64 = 10;
/// What a cell takes beside its text.
const CELL: u64 = 40;
/// The columns of the widest sheet that a program makes.
const MOST_COLUMNS: u32 = 1 << 14;
/// More rows than any program's sheets have.
const MOST_ROWS: u32 = 1 << 24;
/// The day after 31 December 9999.
const END_OF_DAYS: f64 = 2_958_466.0;

/// A sheet's cells that are not empty, by row and column.
pub(super) struct Cells {
    cells: Vec<(u32, u32, String)>,
    taken: u64,
    most: u64,
    is_whole: bool,
}

impl Cells {
    /// Cells that become a text of about `most` bytes.
    pub(super) fn of_at_most(most: u64) -> Cells {
        Cells {
            cells: Vec::new(),
            taken: 0,
            most: most.saturating_mul(2),
            is_whole: true,
        }
    }

    /// Is full with the first cell: tells whether there is one.
    pub(super) fn probe() -> Cells {
        Cells::of_at_most(0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.is_whole && self.cells.is_empty()
    }

    /// Adds a cell, unless it is blank; says whether more are wanted.
    ///
    /// # Errors
    /// It lies where no sheet has cells.
    pub(super) fn add(&mut self, row: u32, column: u32, text: &str) -> Result<bool, Failure> {
        if text.trim().is_empty() {
            return Ok(true);
        }
        if column >= MOST_COLUMNS || row >= MOST_ROWS {
            return Err(damaged("cells lie outside of what a sheet can have")
                .with_remedy("save it again with a spreadsheet program"));
        }
        self.taken += text.len() as u64 + CELL;
        if self.taken > self.most {
            self.is_whole = false;
            return Ok(false);
        }
        self.cells.push((row, column, text.to_owned()));
        Ok(true)
    }

    /// Adds the cells of a row, the last one, so many times below it; says whether more are wanted.
    ///
    /// # Errors
    /// As [`Cells::add`].
    pub(super) fn repeat_row(&mut self, row: u32, times: u32) -> Result<bool, Failure> {
        if times == 0 {
            return Ok(true);
        }
        let end = self.cells.len();
        let others = self.cells.iter().rposition(|(at, ..)| *at != row);
        let start = others.map_or(0, |last| last + 1);
        if start == end {
            return Ok(true);
        }
        for below in (row.saturating_add(1)..).take(times as usize) {
            for place in start..end {
                let (_, column, text) = &self.cells[place];
                let (column, text) = (*column, text.clone());
                if !self.add(below, column, &text)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Leaves out what is above a sheet's row, counted from 1 on; whether that row has cells.
    pub(super) fn begin_at(&mut self, row: u32) -> bool {
        self.cells.retain(|(at, ..)| *at + 1 >= row);
        self.cells.iter().any(|(at, ..)| *at + 1 == row)
    }

    /// The rows as delimited text of about `most` bytes, and whether all of them are there.
    pub(super) fn into_text(mut self, most: u64) -> (Vec<u8>, bool) {
        self.cells.sort_by_key(|(row, column, _)| (*row, *column));
        self.cells.dedup_by_key(|(row, column, _)| (*row, *column));
        let columns = || self.cells.iter().map(|(_, column, _)| *column);
        let first = columns().min().unwrap_or(0);
        let last = columns().max().unwrap_or(0);
        // Says which delimiter it is, whatever the cells hold.
        let mut text = b"sep=,\n".to_vec();
        let (mut number, mut above) = (0, None);
        let mut is_title = true;
        for row in self.cells.chunk_by(|a, b| a.0 == b.0) {
            if text.len() as u64 > most {
                return (text, false);
            }
            if above.is_some_and(|above| above + 1 < row[0].0) {
                text.push(b'\n');
            }
            above = Some(row[0].0);
            number += 1;
            // A line of its own above a table is no row with empty cells.
            is_title &= number <= TITLE_ROWS && row.len() == 1 && row[0].1 == first;
            let mut at = first;
            for (_, column, cell) in row {
                text.extend(std::iter::repeat_n(b',', (column - at) as usize));
                at = *column;
                write_cell(cell, &mut text);
            }
            if !is_title {
                text.extend(std::iter::repeat_n(b',', (last - at) as usize));
            }
            text.push(b'\n');
        }
        (text, self.is_whole)
    }
}

fn write_cell(cell: &str, text: &mut Vec<u8>) {
    let is_plain = !cell.contains([',', '"', '\n', '\r', ';', '\t', '|']);
    if is_plain {
        text.extend_from_slice(cell.as_bytes());
        return;
    }
    text.push(b'"');
    text.extend_from_slice(cell.replace('"', "\"\"").as_bytes());
    text.push(b'"');
}

/// A cell as a person would write it into a delimited file; `None` if there is nothing in it, or an error.
pub(super) fn text_of(value: &DataRef<'_>) -> Option<String> {
    Some(match value {
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number_of(*number),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
            text.clone()
        }
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(is_true) => is_true.to_string(),
        DataRef::DateTime(time) if time.is_duration() => number_of(time.as_f64()),
        DataRef::DateTime(time) => time_of(time),
        DataRef::Error(_) | DataRef::Empty => return None,
    })
}

/// A day's number and the share of it that has passed.
pub(super) fn serial(days: f64, is_1904: bool) -> String {
    let kind = ExcelDateTimeType::DateTime;
    time_of(&ExcelDateTime::new(days, kind, is_1904))
}

fn time_of(time: &ExcelDateTime) -> String {
    let days = time.as_f64();
    if !(0.0..END_OF_DAYS).contains(&days) {
        return number_of(days);
    }
    let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
    let clock = format!("{hour:02}:{minute:02}:{second:02}");
    let date = format!("{year:04}-{month:02}-{day:02}");
    match (days < 1.0, (hour, minute, second) == (0, 0, 0)) {
        (true, _) => clock,
        (false, true) => date,
        (false, false) => format!("{date} {clock}"),
    }
}

/// Fifteen digits, as spreadsheet programs show: 0.3 and not 0.30000000000000004.
pub(super) fn number_of(number: f64) -> String {
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    rounded.to_string()
}
