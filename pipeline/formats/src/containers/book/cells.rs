//! A sheet's cells, and the delimited text that they become: it is read as any other is, with
//! titles above, header, remarks below and notations.
//!
//! Cells are taken one by one, and never as the rectangle between the first and the last: two cells
//! may be billions apart. A row's cells are kept as text; what stands before the first and after
//! the last is written at the end, when the sheet's outermost columns are known.

use std::borrow::Cow;
use std::io::{self, Write};

use calamine::{Data, DataType, ExcelDateTime, Range};

use super::damaged;
use crate::Failure;

/// Says which delimiter it is, whatever the cells hold.
pub(super) const SEPARATOR_LINE: &[u8] = b"sep=,\n";
/// Rows of which it is known where their text begins: people may declare one of them to be the
/// header.
const NUMBERED_ROWS: usize = 1000;
/// Rows in which a title may stand.
const TITLE_ROWS: usize = 10;
/// The columns of the widest sheet that a program makes.
const MOST_COLUMNS: u32 = 1 << 14;
/// More rows than any program's sheets have.
const MOST_ROWS: u32 = 1 << 24;
/// The day after 31 December 9999.
const END_OF_DAYS: f64 = 2_958_466.0;
/// What cells show that have no value: signs of errors, which OpenDocument writes as texts.
const ERRORS: [&str; 7] = [
    "#N/A", "#DIV/0!", "#REF!", "#NAME?", "#VALUE!", "#NUM!", "#NULL!",
];

/// A sheet's cells that are not empty.
pub(super) struct Cells {
    text: Vec<u8>,
    rows: Vec<Row>,
    most: u64,
    is_whole: bool,
}

/// What was written of a sheet.
pub(super) struct Written {
    /// Whether all of its cells are there.
    pub(super) is_whole: bool,
    /// Of the first rows with cells their numbers, from 0 on, and where in the text they begin, in
    /// bytes.
    pub(super) begins: Vec<(u32, u64)>,
}

/// Cells of one row, from left to right.
struct Row {
    number: u32,
    first: u32,
    last: u32,
    /// Whether it has no other cell than the first.
    is_single: bool,
    start: usize,
    end: usize,
}

impl Cells {
    /// Cells that become a text of about `most` bytes.
    pub(super) fn of_at_most(most: u64) -> Cells {
        Cells {
            text: Vec::new(),
            rows: Vec::new(),
            most,
            is_whole: true,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether all of the sheet's cells are there.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Adds a cell, unless it is blank; says whether more are wanted.
    ///
    /// # Errors
    /// It lies where no sheet has cells.
    pub(super) fn add(
        &mut self,
        (row, column): (u32, u32),
        value: &impl DataType,
    ) -> Result<bool, Failure> {
        let Some(value) = text_of(value).filter(|text| !text.trim().is_empty()) else {
            return Ok(true);
        };
        if column >= MOST_COLUMNS || row >= MOST_ROWS {
            return Err(damaged("cells lie outside of what a sheet can have")
                .with_remedy("save it again with a spreadsheet program"));
        }
        let taken = self.text.len() + value.len() + self.rows.len() * size_of::<Row>();
        if taken as u64 > self.most {
            self.is_whole = false;
            // The row is not all there.
            self.rows.pop();
            return Ok(false);
        }
        match self.rows.last_mut() {
            Some(last) if last.number == row && last.last < column => {
                commas(column - last.last, &mut self.text);
                last.last = column;
                last.is_single = false;
            }
            _ => self.rows.push(Row {
                number: row,
                first: column,
                last: column,
                is_single: true,
                start: self.text.len(),
                end: 0,
            }),
        }
        write_cell(&value, &mut self.text);
        if let Some(last) = self.rows.last_mut() {
            last.end = self.text.len();
        }
        Ok(true)
    }

    /// Adds a rectangle of cells.
    ///
    /// # Errors
    /// As [`Cells::add`].
    pub(super) fn add_range(&mut self, range: &Range<Data>) -> Result<(), Failure> {
        let (top, left) = range.start().unwrap_or_default();
        for (row, column, value) in range.used_cells() {
            let number =
                |from: u32, at: usize| from.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
            if !self.add((number(top, row), number(left, column)), value)? {
                break;
            }
        }
        Ok(())
    }

    /// Writes the rows as delimited text of about the most bytes.
    ///
    /// # Errors
    /// The writer's.
    pub(super) fn write(mut self, to: &mut impl Write) -> io::Result<Written> {
        // Files have them in order, as a rule; of cells that are there twice one counts.
        self.rows.sort_by_key(|row| (row.number, row.first));
        let first = self.rows.iter().map(|row| row.first).min().unwrap_or(0);
        let last = self.rows.iter().map(|row| row.last).max().unwrap_or(0);
        to.write_all(SEPARATOR_LINE)?;
        let mut written = 0;
        let mut begins = Vec::new();
        let (mut line, mut above, mut is_title) = (Vec::new(), None, true);
        for (index, parts) in self.rows.chunk_by(|a, b| a.number == b.number).enumerate() {
            if written > self.most {
                return Ok(Written {
                    is_whole: false,
                    begins,
                });
            }
            line.clear();
            let number = parts[0].number;
            if above.is_some_and(|above| above + 1 < number) {
                line.push(b'\n');
            }
            above = Some(number);
            // A line of its own above a table is no row with empty cells.
            is_title &= index < TITLE_ROWS && parts.len() == 1;
            is_title &= parts[0].is_single && parts[0].first == first;
            let mut at = first;
            for (place, part) in parts.iter().enumerate() {
                if place > 0 && part.first <= at {
                    continue;
                }
                commas(part.first - at, &mut line);
                line.extend_from_slice(&self.text[part.start..part.end]);
                at = part.last;
            }
            if !is_title {
                commas(last - at, &mut line);
            }
            line.push(b'\n');
            if index < NUMBERED_ROWS {
                let blank = u64::from(line.starts_with(b"\n"));
                begins.push((number, SEPARATOR_LINE.len() as u64 + written + blank));
            }
            written += line.len() as u64;
            to.write_all(&line)?;
        }
        Ok(Written {
            is_whole: self.is_whole,
            begins,
        })
    }
}

fn commas(count: u32, text: &mut Vec<u8>) {
    text.extend(std::iter::repeat_n(b',', count as usize));
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

/// A cell as a person would write it into a delimited file; `None` if there is nothing in it, or an
/// error.
fn text_of<T: DataType>(value: &T) -> Option<Cow<'_, str>> {
    if let Some(text) = value.get_string() {
        let is_error = ERRORS.contains(&text) || text.starts_with("Err:");
        return (!is_error).then_some(Cow::Borrowed(text));
    }
    if let Some(text) = value.get_datetime_iso() {
        return Some(moment(text).into());
    }
    if let Some(text) = value.get_duration_iso() {
        return Some(days(text).map_or(Cow::Borrowed(text), |days| length(days).into()));
    }
    let text = match (value.get_float(), value.get_int(), value.get_bool()) {
        (Some(number), ..) => number_of(number),
        (_, Some(number), _) => number.to_string(),
        (.., Some(is_true)) => is_true.to_string(),
        _ => match value.get_datetime()? {
            time if time.is_duration() => number_of(time.as_f64()),
            time => time_of(&time),
        },
    };
    Some(text.into())
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
fn number_of(number: f64) -> String {
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    rounded.to_string()
}

/// A day (`2024-01-02`), or one with a time (`2024-01-02T12:30:00.000Z`), as other spreadsheets'
/// are written.
fn moment(text: &str) -> String {
    let Some((day, time)) = text.split_once('T') else {
        return text.to_owned();
    };
    let time = time.strip_suffix('Z').unwrap_or(time);
    let time = match time.split_once('.') {
        Some((seconds, share)) if share.bytes().all(|it| it == b'0') => seconds,
        _ => time,
    };
    match time {
        "00:00:00" => day.to_owned(),
        time => format!("{day} {time}"),
    }
}

/// A time of day, or a longer time as a number of days.
fn length(days: f64) -> String {
    match (0.0..1.0).contains(&days) {
        true => {
            let kind = calamine::ExcelDateTimeType::DateTime;
            time_of(&ExcelDateTime::new(days, kind, false))
        }
        false => number_of(days),
    }
}

/// A length of time (`PT12H30M5.5S`) in days; `None` if it has months or years, or is none.
fn days(text: &str) -> Option<f64> {
    let text = text.trim();
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text),
    };
    let mut rest = text.strip_prefix('P')?;
    let (mut seconds, mut is_time) = (0.0, false);
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix('T') {
            (rest, is_time) = (time, true);
            continue;
        }
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let mut after = rest[end..].chars();
        seconds += number
            * match (after.next()?, is_time) {
                ('D', false) => 86400.0,
                ('H', true) => 3600.0,
                ('M', true) => 60.0,
                ('S', true) => 1.0,
                _ => return None,
            };
        rest = after.as_str();
    }
    Some(sign * seconds / 86400.0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn lengths_of_time() {
        for (text, expected) in [
            ("PT12H00M00S", Some(0.5)),
            ("PT36H", Some(1.5)),
            ("P1DT6H", Some(1.25)),
            ("-PT6H", Some(-0.25)),
            ("PT864.0S", Some(0.01)),
            ("P1Y", None),
            ("P1M", None),
            ("PT1X", None),
            ("PTH", None),
            ("PT1", None),
            ("12:00", None),
        ] {
            assert_eq!(days(text), expected, "{text}");
        }
        let shown = |text: &str| {
            text_of(&Data::DurationIso(text.into()))
                .unwrap()
                .into_owned()
        };
        assert_eq!(shown("PT12H30M15S"), "12:30:15");
        assert_eq!(shown("PT36H"), "1.5");
        assert_eq!(shown("P1Y"), "P1Y");
    }

    #[test]
    fn moments() {
        for (text, expected) in [
            ("2024-01-02", "2024-01-02"),
            ("2024-01-02T00:00:00", "2024-01-02"),
            ("2024-01-02T00:00:00.000Z", "2024-01-02"),
            ("2024-01-02T12:30:00.000Z", "2024-01-02 12:30:00"),
            ("2024-01-02T12:30:00.25", "2024-01-02 12:30:00.25"),
        ] {
            assert_eq!(moment(text), expected);
        }
    }

    fn of(cells: &[(u32, u32, &str)], most: u64) -> (String, bool) {
        let mut taken = Cells::of_at_most(most);
        for (row, column, text) in cells {
            if !taken
                .add((*row, *column), &Data::String((*text).into()))
                .unwrap()
            {
                break;
            }
        }
        let mut text = Vec::new();
        let is_whole = taken.write(&mut text).unwrap().is_whole;
        (String::from_utf8(text).unwrap(), is_whole)
    }

    #[test]
    fn rows_are_written_between_the_outermost_columns() {
        let cells = [
            (0, 1, "title"),
            (2, 2, "a, b"),
            (2, 4, "c"),
            (3, 1, "x"),
            (3, 2, " "),
        ];
        let expected = "sep=,\ntitle\n\n,\"a, b\",,c\nx,,,\n";
        assert_eq!(of(&cells, 1000), (expected.into(), true));
        // In whatever order, and of two in one place only one.
        let cells = [
            (2, 1, "d"),
            (1, 0, "a"),
            (1, 1, "b"),
            (2, 0, "c"),
            (1, 1, "again"),
        ];
        assert_eq!(of(&cells, 1000), ("sep=,\na,b\nc,d\n".into(), true));
        assert_eq!(of(&[], 1000), ("sep=,\n".into(), true));
    }

    #[test]
    fn a_long_sheet_is_cut_behind_a_row() {
        let cells: Vec<(u32, u32, &str)> = (0..100)
            .flat_map(|row| [(row, 0, "ab"), (row, 1, "cd")])
            .collect();
        let (text, is_whole) = of(&cells, 1000);
        assert!(
            !is_whole && text.len() < 1000 && text.ends_with("\nab,cd\n"),
            "{text}"
        );
        // Two cells at the ends of the widest rows: commas between them are not written without
        // end.
        let wide: Vec<(u32, u32, &str)> =
            (0..100).map(|row| (row, (row % 2) * 16_383, "a")).collect();
        let (text, is_whole) = of(&wide, 50_000);
        assert!(!is_whole && text.len() < 100_000, "{}", text.len());
        let mut cells = Cells::of_at_most(1000);
        assert!(cells.add((0, 1 << 14), &Data::Int(1)).is_err());
        assert!(cells.add((1 << 24, 0), &Data::Int(1)).is_err());
    }

    #[test]
    fn signs_of_errors_are_no_values() {
        for text in ["#N/A", "#DIV/0!", "Err:502", " "] {
            let mut cells = Cells::of_at_most(1000);
            assert!(cells.add((0, 0), &Data::String(text.into())).unwrap());
            assert!(cells.is_empty(), "{text}");
        }
    }
}
