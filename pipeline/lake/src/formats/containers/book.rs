//! Spreadsheet files (`.xlsx`, `.xlsm`): each sheet with rows is a member, `book.xlsx//2024`, hidden ones too.
//!
//! The file is a zip archive, which is unpacked once to nowhere before anything else sees it: so that what it
//! unpacks to is known, whatever it claims. Cells are read one by one, and never as the rectangle between the
//! first and the last: two cells may be billions apart. They become a delimited text that is read as any other
//! is: with titles above, header, remarks below, notations. Formulas are not evaluated, their last results are
//! read. A merged cell's value stands in its first cell. Percentages are fractions.

use std::io::Cursor;

use calamine::{DataRef, Reader, SheetType, SheetVisible, Xlsx, XlsxError};
use limn_store::Store;

use super::{Members, damaged, most_unpacked, not_there, too_long, zip};
use crate::error::FileErrorKind;
use crate::formats::input::Fetched;
use crate::formats::ranged::Ranged;
use crate::formats::{Failure, ReadOptions, one_line, parse, text};
use crate::layout::DataFile;
use crate::member::MemberPlace;
use crate::summary::FileSummary;

/// Sheets of a file that are listed.
const MOST_SHEETS: usize = 200;
/// Budgets of text that a sheet's cells are, at most.
const TEXT_BUDGETS: u64 = 2;
/// Rows in which a title may stand.
const TITLE_ROWS: u64 = 10;
/// What a cell takes beside its text.
const CELL: u64 = 40;

type Book = Xlsx<Cursor<bytes::Bytes>>;

/// Lists the sheets that have rows.
///
/// # Errors
/// The store's; no such file, a damaged one, one that is too large or has a password.
pub(super) fn list(
    ranged: &Ranged,
    options: &ReadOptions,
    members: &mut Members,
) -> Result<(), Failure> {
    let mut book = open(ranged, options)?;
    let sheets = book.sheets_metadata().to_vec();
    if sheets.len() > MOST_SHEETS {
        let cause = format!("it has {} sheets, more than {MOST_SHEETS}", sheets.len());
        let remedy = "lay its sheets there as several files";
        return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(remedy));
    }
    for (index, sheet) in sheets.iter().enumerate() {
        if sheet.typ != SheetType::WorkSheet {
            continue;
        }
        match has_cells(&mut book, &sheet.name) {
            Ok(false) => {}
            Ok(true) => {
                if let Some(name) = members.wants_part(&sheet.name) {
                    members.add(name, ranged.size(), MemberPlace::Sheet(index as u64));
                }
            }
            Err(error) => members.refuse(sheet.name.clone(), failure(&error)),
        }
    }
    Ok(())
}

fn has_cells(book: &mut Book, sheet: &str) -> Result<bool, XlsxError> {
    let mut reader = book.worksheet_cells_reader(sheet)?;
    while let Some(cell) = reader.next_cell()? {
        if *cell.get_value() != DataRef::Empty {
            return Ok(true);
        }
    }
    Ok(false)
}

fn open(ranged: &Ranged, options: &ReadOptions) -> Result<Book, Failure> {
    let most = most_unpacked(options);
    let size = ranged.size();
    if size > most {
        return Err(too_long(size, most));
    }
    let bytes = ranged.get(0..size)?;
    if bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        let cause = "it is protected by a password, or of an older kind than its name says";
        let failure = Failure::new(FileErrorKind::Unsupported, cause);
        return Err(failure.with_remedy("save it as .xlsx without a password"));
    }
    zip::measure(ranged, &bytes, most)?;
    Xlsx::new(Cursor::new(bytes)).map_err(|error| failure(&error))
}

fn failure(error: &XlsxError) -> Failure {
    let error: String = one_line(&error.to_string()).chars().take(200).collect();
    damaged(format!("content is no spreadsheet's ({error})"))
        .with_remedy("save it again with a spreadsheet program")
}

/// Reads a sheet.
pub(in crate::formats) async fn summarise(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let (container, place) = super::part(file)?;
    let ranged = Ranged::new(store.clone(), &container, tokio::runtime::Handle::current());
    let sample_path = file.sample_path().to_owned();
    let options = options.clone();
    let MemberPlace::Sheet(index) = place else {
        return Err(not_there());
    };
    parse(move || {
        let mut book = open(&ranged, &options)?;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let sheet = book.sheets_metadata().get(index).cloned();
        let sheet = sheet.ok_or_else(not_there)?;
        let most = options.scan_budget.max(4 << 10) * TEXT_BUDGETS;
        let cells = Cells::read(&mut book, &sheet.name, most).map_err(|it| failure(&it))?;
        drop(book);
        let (text, is_whole) = cells.into_text(most);
        let made = Fetched::made(text, is_whole);
        let mut summary = text::read(made, "sheet.csv", &sample_path, &options)?;
        if sheet.visible != SheetVisible::Visible {
            summary.notes.push("it is a hidden sheet".to_owned());
        }
        Ok(summary)
    })
    .await
}

/// A sheet's cells that are not empty, by row and column.
struct Cells {
    cells: Vec<(u32, u32, String)>,
    is_whole: bool,
}

impl Cells {
    fn read(book: &mut Book, sheet: &str, most: u64) -> Result<Cells, XlsxError> {
        let mut reader = book.worksheet_cells_reader(sheet)?;
        let (mut cells, mut taken, mut is_whole) = (Vec::new(), 0, true);
        while let Some(cell) = reader.next_cell()? {
            let (row, column) = cell.get_position();
            let Some(text) = text_of(cell.get_value()) else {
                continue;
            };
            taken += text.len() as u64 + CELL;
            if taken > most.saturating_mul(2) {
                is_whole = false;
                break;
            }
            cells.push((row, column, text));
        }
        cells.sort_by_key(|(row, column, _)| (*row, *column));
        cells.dedup_by_key(|(row, column, _)| (*row, *column));
        Ok(Cells { cells, is_whole })
    }

    /// The rows as delimited text, and whether all of them are there.
    fn into_text(self, most: u64) -> (Vec<u8>, bool) {
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
fn text_of(value: &DataRef<'_>) -> Option<String> {
    let text = match value {
        DataRef::Int(number) => number.to_string(),
        DataRef::Float(number) => number_of(*number),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => {
            text.clone()
        }
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::Bool(is_true) => is_true.to_string(),
        DataRef::DateTime(time) if time.is_duration() => number_of(time.as_f64()),
        DataRef::DateTime(time) => {
            let (year, month, day, hour, minute, second, _) = time.to_ymd_hms_milli();
            let clock = format!("{hour:02}:{minute:02}:{second:02}");
            let date = format!("{year:04}-{month:02}-{day:02}");
            match (time.as_f64() < 1.0, (hour, minute, second) == (0, 0, 0)) {
                (true, _) => clock,
                (false, true) => date,
                (false, false) => format!("{date} {clock}"),
            }
        }
        DataRef::Error(_) | DataRef::Empty => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// Fifteen digits, as spreadsheet programs show: 0.3 and not 0.30000000000000004.
fn number_of(number: f64) -> String {
    let rounded = format!("{number:.14e}").parse().unwrap_or(number);
    rounded.to_string()
}
