//! Text that has a spreadsheet's name: many programs call what they export `.xls`, since Excel
//! opens it.
//!
//! Delimited text is read as that. Pages and the like are recognised and reported, in one line.

use bytes::Bytes;
use limn_profile::FileSummary;

use crate::compression::Compression;
use crate::error::FileErrorKind;
use crate::input::Fetched;
use crate::{Failure, ReadOptions, dialect, sniff, text};

/// What its one table is called.
pub(super) const NAME: &str = "text";
/// How much of the beginning is looked at.
const LOOK: usize = 64 << 10;

const SAVE: &str = "open it with a spreadsheet program, and save it as .xlsx";
const RENAME: &str = "give it the extension of its content";

pub(super) struct Plain {
    bytes: Bytes,
}

impl Plain {
    /// # Errors
    /// It is no delimited text of two columns at least.
    pub(super) fn open(bytes: &Bytes, options: &ReadOptions) -> Result<Plain, Failure> {
        if let [9, 0 | 2 | 4 | 8, 4..=16, 0, ..] = bytes[..] {
            let cause = "it is an .xls file from before Excel 5";
            let failure = Failure::new(FileErrorKind::Unsupported, cause);
            return Err(failure.with_remedy(SAVE));
        }
        let beginning = bytes.slice(..bytes.len().min(LOOK));
        if let Some((is, remedy)) = other(&beginning) {
            return Err(named_so(is).with_remedy(remedy));
        }
        let is_whole = beginning.len() == bytes.len();
        let begun = Fetched::beginning(beginning, bytes.len() as u64);
        let input = begun.into_text("a spreadsheet", "", options)?;
        let text = sniff::without_bom(&input.pieces[0].bytes);
        let plan = dialect::detect(text, is_whole, "", options.declared())?;
        if plan.columns.len() < 2 {
            return Err(named_so("text without columns").with_remedy(RENAME));
        }
        Ok(Plain {
            bytes: bytes.clone(),
        })
    }

    /// All of its text.
    ///
    /// # Errors
    /// It is no longer text.
    pub(super) fn into_text(self, options: &ReadOptions) -> Result<(Vec<u8>, bool), Failure> {
        let size = self.bytes.len() as u64;
        let all = Fetched::beginning(self.bytes, size);
        let input = all.into_text("a spreadsheet", "", options)?;
        Ok((input.pieces[0].bytes.to_vec(), true))
    }

    /// # Errors
    /// It is no table.
    pub(super) fn read(
        self,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Result<FileSummary, Failure> {
        let size = self.bytes.len() as u64;
        let most = options.scan_budget.max(4 << 10) * super::TEXT_BUDGETS;
        let read = usize::try_from(size.min(most)).unwrap_or(usize::MAX);
        let begun = Fetched::beginning(self.bytes.slice(..read), size);
        let mut summary = text::read(begun, "sheet.csv", sample_path, options)?;
        let note = "it is delimited text with a spreadsheet's name";
        summary.notes.push(note.to_owned());
        Ok(summary)
    }
}

/// What a file is that is neither a spreadsheet nor delimited text, and what to do.
fn other(beginning: &[u8]) -> Option<(&'static str, &'static str)> {
    let text = sniff::without_bom(beginning).trim_ascii_start();
    let has = |words: &[u8]| text.windows(words.len()).any(|it| it == words);
    if let [b'<', b'!' | b'?' | b'a'..=b'z' | b'A'..=b'Z', ..] = text {
        return Some(match has(b"urn:schemas-microsoft-com:office:spreadsheet") {
            true => ("an XML spreadsheet of Excel 2003", SAVE),
            false => ("an HTML or XML page", SAVE),
        });
    }
    if Compression::of_content(text).is_some() {
        return Some(("a compressed file", RENAME));
    }
    let others: [(&[u8], _, _); 5] = [
        (b"MIME-Version:", "a web archive", SAVE),
        (b"ID;P", "a SYLK file", SAVE),
        (b"{\\rtf", "an RTF document", RENAME),
        (b"{\"", "JSON", RENAME),
        (b"[{", "JSON", RENAME),
    ];
    let mut others = others.into_iter();
    let found = others.find(|(begins, ..)| text.starts_with(begins));
    found.map(|(_, is, remedy)| (is, remedy))
}

fn named_so(is: &str) -> Failure {
    let cause = format!("it is named as a spreadsheet but is {is}");
    Failure::new(FileErrorKind::NotItsFormat, cause)
}
