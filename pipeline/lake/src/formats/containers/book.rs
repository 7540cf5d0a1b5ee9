//! Spreadsheet files (`.xlsx`, `.xlsm`, `.xlsb`): each sheet with rows is a member, `book.xlsx//2024`, hidden ones
//! too.
//!
//! The file is a zip archive, which is unpacked once to nowhere before anything else sees it: so that what it
//! unpacks to is known, whatever it claims. Which of the formats it has is told by its content. Its cells
//! ([`cells`]) become a text that is read as any delimited text is. Formulas are not evaluated, their last results
//! are read. A merged cell's value stands in its first cell. Percentages are fractions.

mod biff;
mod cells;
mod xlsb;
mod xlsx;

use limn_store::Store;

use self::cells::Cells;
use self::xlsb::Xlsb;
use self::xlsx::Xlsx;
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
}

impl Book {
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
        let parts = zip::measure(ranged, &bytes, most)?;
        if Xlsb::is_one(&parts) {
            return Ok(Book::Xlsb(Xlsb::open(parts, most)?));
        }
        Ok(Book::Xlsx(Box::new(Xlsx::open(bytes)?)))
    }

    fn sheets(&self) -> Vec<Sheet> {
        match self {
            Book::Xlsx(book) => book.sheets(),
            Book::Xlsb(book) => book.sheets(),
        }
    }

    fn read(&mut self, index: usize, sheet: &Sheet, cells: &mut Cells) -> Result<(), Failure> {
        match self {
            Book::Xlsx(book) => book.read(&sheet.name, cells),
            Book::Xlsb(book) => book.read(index, cells),
        }
    }
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
        let cause = format!("it has {} sheets, more than {MOST_SHEETS}", sheets.len());
        let remedy = "lay its sheets there as several files";
        return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(remedy));
    }
    for (index, sheet) in sheets.iter().enumerate() {
        if !sheet.is_table {
            continue;
        }
        let mut probe = Cells::probe();
        match book.read(index, sheet, &mut probe) {
            Ok(()) if probe.is_empty() => {}
            Ok(()) => {
                if let Some(name) = members.wants_part(&sheet.name) {
                    members.add(name, ranged.size(), MemberPlace::Sheet(index as u64));
                }
            }
            Err(failure) => {
                if let Some(name) = members.wants_part(&sheet.name) {
                    members.refuse(name, failure);
                }
            }
        }
    }
    Ok(())
}

fn no_spreadsheet(error: &dyn std::error::Error) -> Failure {
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
        let mut book = Book::open(&ranged, &options)?;
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        let sheet = book.sheets().get(index).cloned();
        let sheet = sheet.ok_or_else(not_there)?;
        let most = options.scan_budget.max(4 << 10) * TEXT_BUDGETS;
        let mut cells = Cells::of_at_most(most);
        book.read(index, &sheet, &mut cells)?;
        drop(book);
        let (text, is_whole) = cells.into_text(most);
        let made = Fetched::made(text, is_whole);
        let mut summary = text::read(made, "sheet.csv", &sample_path, &options)?;
        if sheet.is_hidden {
            summary.notes.push("it is a hidden sheet".to_owned());
        }
        Ok(summary)
    })
    .await
}
