//! What the process apart does (`limn read-book`): it opens a book with calamine and answers with
//! the sheets that have cells.
//!
//! An answer is a line, which lists the sheets, and their texts, each packed. What a library does
//! with a damaged or hostile book costs the process, whose memory and time are limited; a panic
//! over one sheet costs that sheet.

use std::any::Any;
use std::io::{BufRead, Cursor, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use calamine::{
    Ods, OdsError, Reader, SheetType, SheetVisible, Sheets, Xls, XlsError, Xlsb, XlsbError, Xlsx,
    XlsxError,
};
use serde::{Deserialize, Serialize};
use zip::ZipArchive;

use super::super::sqlite::view::Refused;
use super::cells::{Cells, Written};
use super::flat::{another_document, is_flat, packed};
use super::{MOST_ANSWER, MOST_SHEETS, damaged, locked, no_spreadsheet, too_many_sheets};
use crate::Failure;

/// The command that the program is called with.
pub const BOOK_ARGUMENT: &str = "read-book";

/// How compound files begin, in which `.xls` and locked books are kept.
const COMPOUND: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// The longest request, in bytes.
const MOST_REQUEST: u64 = 1 << 10;
/// How hard texts are packed: hardly.
const LEVEL: i32 = 1;

type File = Cursor<Bytes>;

/// What is wanted of a book: a line before its bytes.
#[derive(Serialize, Deserialize)]
pub(super) struct Request {
    /// The book's length in bytes.
    pub(super) bytes: usize,
    /// The place of the one sheet that is wanted, if not all are.
    pub(super) only: Option<u64>,
    /// Bytes of text that a sheet is at most.
    pub(super) most: u64,
}

/// What is said of a sheet that has cells.
#[derive(Serialize, Deserialize)]
pub(super) struct Sheet {
    pub(super) name: String,
    /// Its place among the book's sheets.
    pub(super) index: u64,
    pub(super) is_hidden: bool,
    pub(super) text: Result<Text, Refused>,
}

/// Where a sheet's text is among the texts of the answer.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Text {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it has all of the sheet's cells.
    pub(super) is_whole: bool,
    /// Of the first rows with cells their numbers, from 0 on, and where in the text they begin, in
    /// bytes.
    begins: Vec<(u32, u64)>,
}

impl Text {
    /// Where a sheet's row begins in the text, counted from 1 on; none where it has no cells.
    pub(super) fn begin_of(&self, row: u32) -> Option<usize> {
        let found = self.begins.iter().find(|(number, _)| number + 1 == row);
        found.and_then(|(_, begin)| usize::try_from(*begin).ok())
    }
}

/// Whether a file is a book by its first bytes.
pub(super) fn is_book(bytes: &[u8]) -> bool {
    bytes.starts_with(COMPOUND) || is_archive(bytes) || is_flat(bytes)
}

/// Text may begin with these two letters.
fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

/// The program's work: a request and a book to an answer. `None` if these are not what was given.
pub fn answer_book(mut input: impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let request = input
        .by_ref()
        .take(MOST_REQUEST)
        .read_until(b'\n', &mut line);
    let request: Request = request
        .ok()
        .and_then(|_| serde_json::from_slice(&line).ok())?;
    // As much at once: a vector that grows takes twice that.
    let mut book = vec![0; request.bytes];
    input.read_exact(&mut book).ok()?;
    let mut texts = Vec::new();
    let sheets = sheets(book.into(), &request, &mut texts).map_err(Refused::of);
    let mut answer = serde_json::to_vec(&sheets).ok()?;
    answer.push(b'\n');
    answer.append(&mut texts);
    Some(answer)
}

fn sheets(book: Bytes, request: &Request, texts: &mut Vec<u8>) -> Result<Vec<Sheet>, Failure> {
    let mut book = whole(|| open(book))?;
    let listed = book.sheets_metadata().to_vec();
    if listed.len() > MOST_SHEETS {
        return Err(too_many_sheets());
    }
    let mut sheets = Vec::new();
    for (index, sheet) in (0..).zip(listed) {
        let is_wanted = request.only.is_none_or(|only| only == index);
        // Others are charts, macros and dialogs, and what is kept of another file that cells refer
        // to.
        if !is_wanted || sheet.typ != SheetType::WorkSheet || is_cache(&sheet.name) {
            continue;
        }
        let start = texts.len();
        let text = whole(|| {
            let mut cells = Cells::of_at_most(request.most);
            read(&mut book, &sheet.name, &mut cells)?;
            write(cells, texts)
        });
        if matches!(text, Ok(None)) {
            continue;
        }
        let end = texts.len();
        let text = text.map(|written| Text {
            start,
            end,
            is_whole: written.as_ref().is_some_and(|it| it.is_whole),
            begins: written.map(|it| it.begins).unwrap_or_default(),
        });
        sheets.push(Sheet {
            index,
            is_hidden: sheet.visible != SheetVisible::Visible,
            name: sheet.name,
            text: text.map_err(Refused::of),
        });
    }
    Ok(sheets)
}

/// Appends a sheet's text, packed; `None` if there is none.
fn write(cells: Cells, texts: &mut Vec<u8>) -> Result<Option<Written>, Failure> {
    if cells.is_empty() && cells.is_whole() {
        return Ok(None);
    }
    if texts.len() as u64 > MOST_ANSWER / 2 {
        let cause = "the sheets before it take all the room that a book has";
        return Err(super::unsupported(cause));
    }
    let mut packer = zstd::Encoder::new(texts, LEVEL).map_err(|error| no_spreadsheet(&error))?;
    let written = cells.write(&mut packer);
    let written = written.map_err(|error| no_spreadsheet(&error))?;
    packer.finish().map_err(|error| no_spreadsheet(&error))?;
    Ok(Some(written))
}

/// Does what a library may panic over.
fn whole<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|panic| Err(gave_up(panic.as_ref())))
}

fn gave_up(panic: &(dyn Any + Send)) -> Failure {
    let cause = Failure::panicked(panic).cause();
    damaged(format!("content is no spreadsheet's ({cause})"))
        .with_remedy("save it again with a spreadsheet program")
}

/// Whether this is what a program keeps of another file that cells refer to:
/// `'file:///a.ods'#$Sheet1`.
fn is_cache(name: &str) -> bool {
    name.starts_with('\'') && name.contains("'#$")
}

fn open(book: Bytes) -> Result<Sheets<File>, Failure> {
    let file = || Cursor::new(book.clone());
    if book.starts_with(COMPOUND) {
        return match Xls::new(file()) {
            Ok(book) => Ok(Sheets::Xls(book)),
            Err(XlsError::Password) => Err(locked()),
            // Newer books are kept so, too, where they have a password.
            Err(error) => match Xlsx::new(file()) {
                Err(XlsxError::Password) => Err(locked()),
                _ => Err(no_spreadsheet(&error)),
            },
        };
    }
    if !is_archive(&book) {
        return document(packed(&book)?);
    }
    let mut archive = ZipArchive::new(file()).map_err(|error| no_spreadsheet(&error))?;
    let has = |name| archive.index_for_name(name).is_some();
    if has("xl/workbook.bin") {
        return match Xlsb::new(file()) {
            Ok(book) => Ok(Sheets::Xlsb(book)),
            Err(XlsbError::Password) => Err(locked()),
            Err(error) => Err(no_spreadsheet(&error)),
        };
    }
    if has("content.xml") || has("META-INF/manifest.xml") {
        let kind = part(&mut archive, "mimetype").unwrap_or_default();
        let kind = kind.strip_prefix(b"application/vnd.oasis.opendocument.");
        if kind.is_some_and(|kind| !kind.starts_with(b"spreadsheet")) {
            return Err(another_document());
        }
        return match Ods::new(file()) {
            // White space between cells, or a part that few programs leave out.
            Err(OdsError::Mismatch { .. } | OdsError::FileNotFound(_)) => {
                let content = part(&mut archive, "content.xml")?;
                document(packed(&content)?)
            }
            opened => of_document(opened),
        };
    }
    match Xlsx::new(file()) {
        Ok(book) => Ok(Sheets::Xlsx(book)),
        Err(error) => Err(no_spreadsheet(&error)),
    }
}

fn part(archive: &mut ZipArchive<File>, name: &str) -> Result<Vec<u8>, Failure> {
    let mut content = Vec::new();
    let mut part = archive
        .by_name(name)
        .map_err(|error| no_spreadsheet(&error))?;
    part.read_to_end(&mut content)
        .map_err(|error| no_spreadsheet(&error))?;
    Ok(content)
}

fn document(archive: Bytes) -> Result<Sheets<File>, Failure> {
    of_document(Ods::new(Cursor::new(archive)))
}

fn of_document(opened: Result<Ods<File>, OdsError>) -> Result<Sheets<File>, Failure> {
    match opened {
        Ok(book) => Ok(Sheets::Ods(book)),
        Err(OdsError::Password) => Err(locked()),
        Err(error) => Err(no_spreadsheet(&error)),
    }
}

/// Reads a sheet's cells, one by one where the library lets us.
fn read(book: &mut Sheets<File>, sheet: &str, cells: &mut Cells) -> Result<(), Failure> {
    match book {
        Sheets::Xlsx(book) => {
            let reader = book.worksheet_cells_reader(sheet);
            let mut reader = reader.map_err(|error| no_spreadsheet(&error))?;
            while let Some(cell) = reader.next_cell().map_err(|error| no_spreadsheet(&error))? {
                if !cells.add(cell.get_position(), cell.get_value())? {
                    break;
                }
            }
            Ok(())
        }
        Sheets::Xlsb(book) => {
            let reader = book.worksheet_cells_reader(sheet);
            let mut reader = reader.map_err(|error| no_spreadsheet(&error))?;
            while let Some(cell) = reader.next_cell().map_err(|error| no_spreadsheet(&error))? {
                if !cells.add(cell.get_position(), cell.get_value())? {
                    break;
                }
            }
            Ok(())
        }
        Sheets::Xls(_) | Sheets::Ods(_) => {
            let range = book.worksheet_range(sheet);
            cells.add_range(&range.map_err(|error| no_spreadsheet(&error))?)
        }
    }
}
