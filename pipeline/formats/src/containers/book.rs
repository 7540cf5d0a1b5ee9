//! Spreadsheet files (`.xlsx`, `.xlsm`, `.xlsb`, `.xls`, `.ods`, `.fods`): each sheet with rows is
//! a member, `book.xlsx//2024`, hidden ones too.
//!
//! A library reads them (calamine), in a process of its own with limits ([`answer`],
//! [`crate::Confined`]): none bounds what a damaged or hostile book makes it do. The process opens
//! a book once, and answers with all sheets; the answer is kept while they are read
//! ([`super::kept`]). The cells ([`cells`]) become a text that is read as any delimited text is.
//! Formulas are not evaluated, their last results are read. A merged cell's value is in its first
//! cell. Percentages are fractions. A file's content decides which of the formats it has;
//! delimited text that has a spreadsheet's name is read, too.

pub mod answer;
mod cells;
mod flat;
mod plain;
mod prose;

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use limn_profile::FileSummary;
use limn_store::{Store, one_line};
use tokio::runtime::Handle;
use xxhash_rust::xxh3::xxh3_128;

use self::answer::{BOOK_ARGUMENT, Request, Sheet, is_book};
use self::cells::SEPARATOR_LINE;
use self::plain::Plain;
use self::prose::is_prose;
use super::kept::{Key, Part, Version};
use super::sqlite::view::Refused;
use super::{COPY_FILE, Members, most_unpacked, not_there, too_long};
use crate::batches::{Sink, Stop};
use crate::confined::Ended;
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::input::Fetched;
use crate::member::MemberPlace;
use crate::ranged::Ranged;
use crate::text::batches::Delimited;
use crate::{Failure, ReadOptions, parse, text};
use limn_profile::{DeclaredReading, HeaderLine};

/// Sheets of a file that are listed.
const MOST_SHEETS: usize = 200;
/// Budgets of text that a sheet's cells are, at most.
const TEXT_BUDGETS: u64 = 2;
/// Bytes of text that a sheet's cells are where all its rows are read.
const MOST_TEXT: u64 = 256 << 20;
/// Bytes of an answer, packed as its texts are.
const MOST_ANSWER: u64 = 256 << 20;

const SAVE_SHEETS: &str = "save its sheets as files: CSV or Parquet";

/// What the process says of a book.
pub(super) struct Book {
    sheets: Vec<Sheet>,
    texts: Bytes,
    /// Bytes of the answer, which stay in memory.
    pub(super) size: u64,
}

enum Opened {
    Book(Arc<Book>),
    Plain(Plain),
}

impl Book {
    fn of(answer: Vec<u8>) -> Result<Book, Failure> {
        let answer = Bytes::from(answer);
        let end = memchr::memchr(b'\n', &answer).ok_or_else(|| failed("it said nothing"))?;
        let sheets: Result<Vec<Sheet>, Refused> =
            serde_json::from_slice(&answer[..end]).map_err(|error| failed(&error.to_string()))?;
        Ok(Book {
            sheets: sheets.map_err(Refused::failure)?,
            texts: answer.slice(end + 1..),
            size: answer.len() as u64,
        })
    }

    /// The sheet at a place.
    fn sheet(&self, place: u64) -> Result<&Sheet, Failure> {
        let sheet = self.sheets.iter().find(|sheet| sheet.index == place);
        sheet.ok_or_else(not_there)
    }

    /// The cells of a sheet as delimited text, from the row on that people declare to be its
    /// header; and whether they are all.
    fn text(&self, sheet: &Sheet, declared: &DeclaredReading) -> Result<(Vec<u8>, bool), Failure> {
        let place = sheet.text.as_ref().map_err(|it| it.clone().failure())?;
        let packed = self.texts.get(place.start..place.end);
        let packed = packed.ok_or_else(|| failed("its answer is cut off"))?;
        let mut text = Vec::new();
        let unpacked = zstd::Decoder::new(packed)
            // One row more than the most may be there.
            .and_then(|packed| packed.take(2 * MOST_TEXT).read_to_end(&mut text));
        unpacked.map_err(|error| failed(&error.to_string()))?;
        if let Some(HeaderLine::At(row)) = declared.header {
            let begin = place.begin_of(row).filter(|begin| *begin <= text.len());
            let begin = begin.ok_or_else(|| no_such_row(row))?;
            text.drain(SEPARATOR_LINE.len()..begin);
        }
        Ok((text, place.is_whole))
    }
}

fn index_of(place: &MemberPlace) -> Result<u64, Failure> {
    match place {
        MemberPlace::Sheet(index) => Ok(*index),
        _ => Err(not_there()),
    }
}

/// Bytes of a sheet's text that are looked at for its summary.
fn most_text(options: &ReadOptions) -> u64 {
    options.scan_budget.max(4 << 10) * TEXT_BUDGETS
}

/// Opens a file, on a thread outside the runtime: all sheets of it for their summaries, or all rows
/// of one.
///
/// # Errors
/// The store's; a damaged file, one that is too large, has a password, or asks too much.
fn open(ranged: &Ranged, rows_of: Option<u64>, options: &ReadOptions) -> Result<Opened, Failure> {
    let (size, most) = (ranged.size(), most_unpacked(options));
    if size == 0 {
        return Err(Failure::new(FileErrorKind::Empty, "the file has no bytes"));
    }
    if size > most {
        return Err(too_long(size, most));
    }
    // An answer for summaries does for the rows of a sheet that it has all of.
    let known = |version: &Version| {
        let (version, part) = (version.clone(), Part::Sheets(most_text(options)));
        let book = options.containers.book(&Key { version, part })?;
        let is_whole = |index| {
            let sheet = book.sheet(index).ok().map(|sheet| &sheet.text);
            matches!(sheet, Some(Ok(text)) if text.is_whole)
        };
        rows_of.is_none_or(is_whole).then_some(Opened::Book(book))
    };
    let stored = Version::of(ranged);
    if let Some(book) = stored.as_ref().and_then(known) {
        return Ok(book);
    }
    let bytes = ranged.get(0..size)?;
    if !is_book(&bytes) {
        return Ok(Opened::Plain(Plain::open(&bytes, options)?));
    }
    let version = stored.unwrap_or_else(|| Version::Content(xxh3_128(&bytes)));
    // A reader that waited for its turn may find that another sheet's reader has opened the book.
    let _turn = match &options.confined {
        Some(confined) => Handle::current().block_on(confined.turn()),
        None => None,
    };
    if let Some(book) = known(&version) {
        return Ok(book);
    }
    let most = match rows_of {
        Some(_) => MOST_TEXT,
        None => most_text(options),
    };
    let request = Request {
        bytes: bytes.len(),
        only: rows_of,
        most,
    };
    let book = Arc::new(Book::of(ask(&request, &bytes, options)?)?);
    if rows_of.is_none() {
        let part = Part::Sheets(most);
        let key = Key { version, part };
        options.containers.keep_book(key, &book, &options.room);
    }
    Ok(Opened::Book(book))
}

/// What the process apart says.
fn ask(request: &Request, book: &Bytes, options: &ReadOptions) -> Result<Vec<u8>, Failure> {
    let mut line = serde_json::to_vec(request).map_err(|error| failed(&error.to_string()))?;
    line.push(b'\n');
    if let Some(work) = options.containers.here() {
        return work(&[&line, &book[..]].concat()).ok_or_else(|| failed("it said nothing"));
    }
    let Some(confined) = &options.confined else {
        let cause =
            "it is a spreadsheet, which only the limn command reads, in a process of its own";
        return Err(unsupported(cause));
    };
    let inputs: [&[u8]; 2] = [&line, book];
    let answer = confined.run(BOOK_ARGUMENT, &inputs, MOST_ANSWER);
    Handle::current()
        .block_on(answer)
        .map_err(|ended| match ended {
            Ended::AtLimits => {
                unsupported("reading it takes more memory or time than a spreadsheet may")
            }
            Ended::NoLimits => {
                unsupported("this system does not limit what reading a spreadsheet may take")
            }
            Ended::Code(code) => failed(&format!("it was ended (exit code {code})")),
            Ended::TooLong(seconds) => failed(&format!("it took {seconds} seconds")),
            Ended::Lost(cause) => failed(&cause),
        })
}

fn no_such_row(row: u32) -> Failure {
    let cause = format!("row {row}, which is declared to be its header, has no cells");
    Failure::new(FileErrorKind::NotItsFormat, cause)
        .with_remedy("write the number of its header's row, or none, in .limn.yaml")
}

fn unsupported(cause: &str) -> Failure {
    Failure::new(FileErrorKind::Unsupported, cause).with_remedy(SAVE_SHEETS)
}

/// The process failed, and not the book: the next run tries again.
fn failed(cause: &str) -> Failure {
    let cause = format!(
        "the process that reads spreadsheets failed: {}",
        one_line(cause)
    );
    Failure::new(FileErrorKind::Panicked, cause)
        .with_remedy(format!("run again; if that does not help, {SAVE_SHEETS}"))
}

/// Reads the rows of a sheet, on a thread outside the runtime.
pub(crate) fn rows(
    store: &Store,
    file: &DataFile,
    rows: Delimited<'_>,
    start: u64,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let (container, place) = super::part(file)?;
    let ranged = Ranged::new(store.clone(), &container, Handle::current());
    let index = index_of(&place)?;
    let (text, is_whole) = match open(&ranged, Some(index), options)? {
        Opened::Plain(plain) => plain.into_text(options)?,
        Opened::Book(book) => book.text(book.sheet(index)?, options.declared())?,
    };
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    rows.whole(text.get(start..).unwrap_or_default(), sink)?;
    if !is_whole {
        let cause =
            format!("its cells are more than {MOST_TEXT} bytes of text: the rest is not read");
        return Err(Failure::new(FileErrorKind::Unsupported, cause).into());
    }
    Ok(())
}

fn locked() -> Failure {
    Failure::new(FileErrorKind::Unsupported, "it is protected by a password")
        .with_remedy("save it without a password")
}

/// Lists the sheets that have rows.
///
/// # Errors
/// The store's; no such file, a damaged one, one that is too large or has a password.
pub(super) fn list(
    ranged: &Ranged,
    options: &ReadOptions,
    members: &mut Members,
) -> Result<(), Failure> {
    let size = ranged.size();
    let book = match open(ranged, None, options)? {
        Opened::Book(book) => book,
        Opened::Plain(_) => {
            members.add(plain::NAME.to_owned(), size, MemberPlace::Sheet(0));
            return Ok(());
        }
    };
    for sheet in &book.sheets {
        let Some(name) = members.wants_part(&sheet.name) else {
            continue;
        };
        match &sheet.text {
            Ok(_) => members.add(name, size, MemberPlace::Sheet(sheet.index)),
            Err(refused) => members.refuse(name, size, refused.clone().failure()),
        }
    }
    Ok(())
}

fn too_many_sheets() -> Failure {
    let cause = format!("it has more than {MOST_SHEETS} sheets");
    let remedy = "lay its sheets there as several files";
    Failure::new(FileErrorKind::Unsupported, cause).with_remedy(remedy)
}

fn damaged(what: impl std::fmt::Display) -> Failure {
    super::damaged(what).with_remedy(COPY_FILE)
}

fn no_spreadsheet(error: &dyn std::error::Error) -> Failure {
    let error: String = one_line(&error.to_string()).chars().take(200).collect();
    damaged(format!("content is no spreadsheet's ({error})"))
        .with_remedy("save it again with a spreadsheet program")
}

/// Reads a sheet.
pub(crate) async fn summarise(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let (container, place) = super::part(file)?;
    let ranged = Ranged::new(store.clone(), &container, Handle::current());
    let sample_path = file.sample_path.clone();
    let options = options.clone();
    parse(move || {
        let book = match open(&ranged, None, &options)? {
            Opened::Plain(plain) => return plain.read(&sample_path, &options),
            Opened::Book(book) => book,
        };
        let sheet = book.sheet(index_of(&place)?)?;
        let (text, is_whole) = book.text(sheet, options.declared())?;
        let cells = text.strip_prefix(SEPARATOR_LINE).unwrap_or(&text);
        // Whoever declares how a sheet is read says that it is a table.
        if is_whole && options.declared().is_empty() && is_prose(cells) {
            let cause = "it is a sheet of one cell, or of sentences below one another";
            return Err(Failure::new(FileErrorKind::NoTable, cause));
        }
        let made = Fetched::made(text, is_whole);
        let options = options.of_cells();
        let mut summary = text::read(made, "sheet.csv", &sample_path, &options)?;
        if sheet.is_hidden {
            summary.notes.push("it is a hidden sheet".to_owned());
        }
        Ok(summary)
    })
    .await
}
