//! Spreadsheet files (`.xlsx`, `.xlsm`, `.xlsb`, `.xls`, `.ods`, `.fods`): each sheet with rows is a member,
//! `book.xlsx//2024`, hidden ones too.
//!
//! Which of the formats a file has is told by its content. An archive is unpacked once to nowhere before anything
//! else sees it: so that what it unpacks to is known, whatever it claims. The cells ([`cells`]) become a text that
//! is read as any delimited text is. Formulas are not evaluated, their last results are read. A merged cell's value
//! is in its first cell. Percentages are fractions. Delimited text that has a spreadsheet's name is read, too.

mod biff;
mod cells;
mod ods;
mod ole;
mod plain;
mod xls;
mod xlsb;
mod xlsx;

use bytes::Bytes;
use limn_profile::FileSummary;
use limn_store::Store;
use limn_store::one_line;

use self::cells::Cells;
use self::ods::Ods;
use self::ole::Compound;
use self::plain::Plain;
use self::xls::Xls;
use self::xlsb::Xlsb;
use self::xlsx::Xlsx;
use super::{COPY_FILE, Members, most_unpacked, not_there, too_long, zip};
use crate::batches::{Sink, Stop};
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

/// What a file says of a sheet.
#[derive(Clone)]
struct Sheet {
    name: String,
    /// Whether it has cells: others are charts, macros and dialogs.
    is_table: bool,
    is_hidden: bool,
}

enum Book {
    Xlsx(Box<Xlsx>),
    Xlsb(Xlsb),
    Xls(Xls),
    Ods(Ods),
    Plain(Plain),
}

impl Book {
    fn open(ranged: &Ranged, options: &ReadOptions) -> Result<Book, Failure> {
        let most = most_unpacked(options);
        let size = ranged.size();
        if size == 0 {
            return Err(Failure::new(FileErrorKind::Empty, "the file has no bytes"));
        }
        if size > most {
            return Err(too_long(size, most));
        }
        let bytes = ranged.get(0..size)?;
        if bytes.starts_with(ole::MAGIC) {
            let stream = workbook(&bytes)?;
            drop(bytes);
            return Ok(Book::Xls(Xls::open(stream, most)?));
        }
        // Text may begin with these two letters.
        if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
            let parts = zip::measure(ranged, &bytes, most).map_err(of_a_file)?;
            if Xlsb::is_one(&parts) {
                return Ok(Book::Xlsb(Xlsb::open(parts, most)?));
            }
            if Ods::is_one(&parts) {
                return Ok(Book::Ods(Ods::packed(parts)?));
            }
            return Ok(Book::Xlsx(Box::new(Xlsx::open(bytes)?)));
        }
        if Xls::is_one(&bytes) {
            return Ok(Book::Xls(Xls::open(bytes, most)?));
        }
        if Ods::is_flat(&bytes) {
            return Ok(Book::Ods(Ods::flat(bytes)?));
        }
        Ok(Book::Plain(Plain::open(&bytes, options)?))
    }

    fn sheets(&self) -> Vec<Sheet> {
        match self {
            Book::Xlsx(book) => book.sheets(),
            Book::Xlsb(book) => book.sheets(),
            Book::Xls(book) => book.sheets(),
            Book::Ods(book) => book.sheets(),
            Book::Plain(_) => vec![Plain::sheet()],
        }
    }

    /// Whether a sheet has no cells.
    fn is_empty(&mut self, index: usize, sheet: &Sheet) -> Result<bool, Failure> {
        match self {
            Book::Ods(book) => return Ok(book.is_empty(index)),
            Book::Plain(_) => return Ok(false),
            Book::Xlsx(_) | Book::Xlsb(_) | Book::Xls(_) => {}
        }
        let mut probe = Cells::probe();
        self.read(index, sheet, &mut probe)?;
        Ok(probe.is_empty())
    }

    fn read(&mut self, index: usize, sheet: &Sheet, cells: &mut Cells) -> Result<(), Failure> {
        match self {
            Book::Xlsx(book) => book.read(&sheet.name, cells),
            Book::Xlsb(book) => book.read(index, cells),
            Book::Xls(book) => book.read(index, cells),
            Book::Ods(book) => book.read(index, cells),
            // It has no cells: its text is taken as it is.
            Book::Plain(_) => Ok(()),
        }
    }
}

impl Book {
    /// The sheet at a place.
    fn sheet(&self, place: &MemberPlace) -> Result<Sheet, Failure> {
        let sheet = self.sheets().get(index_of(place)?).cloned();
        sheet.ok_or_else(not_there)
    }

    /// The cells of a sheet as delimited text of about so many bytes at most, from the row on that people declare to be its
    /// header; and whether they are all.
    fn into_text(
        mut self,
        place: &MemberPlace,
        most: u64,
        declared: &DeclaredReading,
    ) -> Result<(Vec<u8>, bool), Failure> {
        let sheet = self.sheet(place)?;
        let mut cells = Cells::of_at_most(most);
        self.read(index_of(place)?, &sheet, &mut cells)?;
        drop(self);
        if let Some(HeaderLine::At(row)) = declared.header
            && !cells.begin_at(row)
        {
            let cause = format!("row {row}, which is declared to be its header, has no cells");
            let failure = Failure::new(FileErrorKind::NotItsFormat, cause);
            return Err(
                failure.with_remedy("write the number of its header's row, or none, in .limn.yaml")
            );
        }
        Ok(cells.into_text(most))
    }
}

fn index_of(place: &MemberPlace) -> Result<usize, Failure> {
    match place {
        MemberPlace::Sheet(index) => Ok(usize::try_from(*index).unwrap_or(usize::MAX)),
        _ => Err(not_there()),
    }
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
    let ranged = Ranged::new(store.clone(), &container, tokio::runtime::Handle::current());
    let (text, is_whole) = match Book::open(&ranged, options)? {
        Book::Plain(plain) => plain.into_text(options)?,
        book => book.into_text(&place, MOST_TEXT, options.declared())?,
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

/// The stream of a compound file that is a workbook's.
fn workbook(bytes: &[u8]) -> Result<Bytes, Failure> {
    let file = Compound::open(bytes)?;
    for name in ["Workbook", "Book"] {
        if let Some(stream) = file.stream(name)? {
            return Ok(stream.into());
        }
    }
    if file.has("EncryptedPackage") {
        return Err(locked());
    }
    let others = [
        ("WordDocument", "a Word document"),
        ("PowerPoint Document", "a PowerPoint presentation"),
    ];
    for (name, is) in others {
        if file.has(name) {
            let cause = format!("it is named as a spreadsheet but is {is}");
            let failure = Failure::new(FileErrorKind::NotItsFormat, cause);
            return Err(failure.with_remedy("give it the extension of its content"));
        }
    }
    Err(damaged("compound file has no workbook"))
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
    let mut book = Book::open(ranged, options)?;
    let sheets = book.sheets();
    if sheets.len() > MOST_SHEETS {
        return Err(too_many_sheets());
    }
    for (index, sheet) in sheets.iter().enumerate() {
        if !sheet.is_table {
            continue;
        }
        match book.is_empty(index, sheet) {
            Ok(true) => {}
            Ok(false) => {
                if let Some(name) = members.wants_part(&sheet.name) {
                    members.add(name, ranged.size(), MemberPlace::Sheet(index as u64));
                }
            }
            Err(failure) => {
                if let Some(name) = members.wants_part(&sheet.name) {
                    members.refuse(name, ranged.size(), failure);
                }
            }
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

/// What is said of a damaged archive, where a spreadsheet is one inside.
fn of_a_file(failure: Failure) -> Failure {
    match failure {
        Failure::Content {
            kind: FileErrorKind::Corrupt,
            ..
        } => failure.with_remedy(COPY_FILE),
        _ => failure,
    }
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
    let ranged = Ranged::new(store.clone(), &container, tokio::runtime::Handle::current());
    let sample_path = file.sample_path.clone();
    let options = options.clone();
    parse(move || {
        let book = Book::open(&ranged, &options)?;
        if let Book::Plain(plain) = book {
            return plain.read(&sample_path, &options);
        }
        let sheet = book.sheet(&place)?;
        let most = options.scan_budget.max(4 << 10) * TEXT_BUDGETS;
        let (text, is_whole) = book.into_text(&place, most, options.declared())?;
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
