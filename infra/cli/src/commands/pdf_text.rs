//! `limn pdf-text`: the text of a PDF on standard input, for the process that started it
//! ([`limn_formats::Confined`]).
//!
//! The library that reads PDFs does what the PDF says, and may do so for ever; so the process
//! limits itself first ([`limits`]).
//!
//! The text has a line for each line of the page. Where a line leaves a gap, as between the columns
//! of a table, it has a tab: so descriptions of columns are found in it
//! ([`limn_lake::contexts::column_descriptions`]).

use std::io::{Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use limn_lake::contexts::{MOST_PDF, MOST_PDF_TEXT, PdfRefusal};
use pdf_extract::{Document, Error, MediaBox, OutputDev, OutputError, Transform, output_doc_page};

use super::limits;

/// Processor time that it may take, in seconds.
const SECONDS: u64 = 20;
/// Pages that are looked at. The output depends on the document alone, and on no clock.
const PAGES: usize = 500;

/// Gaps in a line from which on there is a space, and a tab, in widths of an em.
const SPACE: f64 = 0.15;
const TAB: f64 = 1.0;
/// A line's letters stand at most this far above or below the one before, in ems.
const SAME_LINE: f64 = 0.5;
/// Lines further apart than this are of different paragraphs.
const PARAGRAPH: f64 = 2.0;

/// Reads a PDF and writes its text; the exit code says why there is none.
pub fn run() -> ExitCode {
    if let Err(unlimited) = limits::limit(SECONDS) {
        return unlimited;
    }
    match text() {
        Ok(text) => match std::io::stdout().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(refusal) => ExitCode::from(refusal.exit_code()),
    }
}

fn text() -> Result<String, PdfRefusal> {
    // Pages that the library gives up are left out: nobody reads what it says to that.
    std::panic::set_hook(Box::new(|_| {}));
    let mut pdf = Vec::new();
    let read = std::io::stdin().take(MOST_PDF + 1).read_to_end(&mut pdf);
    if read.is_err() || pdf.len() as u64 > MOST_PDF {
        return Err(PdfRefusal::Broken);
    }
    let document = catch_unwind(|| open(&pdf)).unwrap_or(Err(PdfRefusal::Broken))?;
    let mut lines = Lines::default();
    let (mut pages, mut failed) = (0, 0);
    let numbers = catch_unwind(AssertUnwindSafe(|| document.get_pages()));
    for number in numbers.unwrap_or_default().into_keys().take(PAGES) {
        if lines.is_full() {
            break;
        }
        pages += 1;
        let page = || output_doc_page(&document, &mut lines, number);
        let outcome = catch_unwind(AssertUnwindSafe(page));
        failed += usize::from(!matches!(outcome, Ok(Ok(()))));
    }
    let text = lines.text.trim();
    if !text.is_empty() {
        let most = usize::try_from(MOST_PDF_TEXT).unwrap_or(usize::MAX);
        return Ok(text[..text.floor_char_boundary(most)].to_owned());
    }
    match pages > failed {
        true => Err(PdfRefusal::NoText),
        false => Err(PdfRefusal::Broken),
    }
}

fn open(pdf: &[u8]) -> Result<Document, PdfRefusal> {
    let refusal = |error: Error| match error {
        Error::InvalidPassword | Error::Decryption(_) => PdfRefusal::Locked,
        _ => PdfRefusal::Broken,
    };
    let mut document = Document::load_mem(pdf).map_err(refusal)?;
    if document.is_encrypted() {
        // Many are locked with the empty password: anybody may read them.
        document.decrypt("").map_err(|_| PdfRefusal::Locked)?;
    }
    Ok(document)
}

/// Pages as lines of text, in the order in which their letters are drawn.
#[derive(Default)]
struct Lines {
    text: String,
    /// Where the last letter stands and ends, if it is on this page.
    last: Option<(f64, f64)>,
    /// Whether a word is begun: within words letters follow one another.
    is_new_word: bool,
}

impl Lines {
    fn is_full(&self) -> bool {
        self.text.len() as u64 >= MOST_PDF_TEXT
    }

    /// Puts a separator in the place of any white space that the line ends with.
    fn separate(&mut self, separator: &str) {
        let line = self.text.trim_end_matches([' ', '\t']).len();
        self.text.truncate(line);
        if !self.text.is_empty() {
            self.text.push_str(separator);
        }
    }
}

impl OutputDev for Lines {
    fn begin_page(
        &mut self,
        _number: u32,
        _media: &MediaBox,
        _art: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        self.last = None;
        self.separate("\n\n");
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        place: &Transform,
        width: f64,
        spacing: f64,
        font_size: f64,
        letters: &str,
    ) -> Result<(), OutputError> {
        if self.is_full() {
            // As an error, which ends the page.
            return Err(OutputError::FormatError(std::fmt::Error));
        }
        let (x, y) = (place.m31, place.m32);
        let em = font_size.abs() * place.m21.hypot(place.m22);
        if let (true, Some((end, line))) = (self.is_new_word, self.last) {
            let (gap, step) = (x - end, (y - line).abs());
            if step > em * PARAGRAPH {
                self.separate("\n\n");
            } else if step > em * SAME_LINE {
                self.separate("\n");
            } else if gap > em * TAB || gap < -em {
                self.separate("\t");
            } else if gap > em * SPACE && !self.text.ends_with([' ', '\t', '\n']) {
                self.text.push(' ');
            }
        }
        for letter in letters.chars() {
            match letter {
                '\u{a0}' => self.text.push(' '),
                _ if letter.is_control() => {}
                _ => self.text.push(letter),
            }
        }
        self.is_new_word = false;
        let wide = font_size.abs() * place.m11.hypot(place.m12);
        self.last = Some((x + width * wide + spacing, y));
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.is_new_word = true;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}
