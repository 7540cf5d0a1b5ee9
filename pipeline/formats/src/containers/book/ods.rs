//! `.ods` (OpenDocument 1.3): an archive whose sheets are all in one XML document; or `.fods`, that document alone.
//!
//! The document is walked once when the file is opened: for the sheets' names, where each begins, and whether it
//! has a cell. A sheet is read from there on. Cells and rows that are said to be repeated become as many as the
//! budget has room for, and empty ones none. A cell has its value written plainly beside the text that is shown.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};

use bytes::Bytes;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use super::super::zip::Parts;
use super::cells::Cells;
use super::{MOST_SHEETS, Sheet, damaged, no_spreadsheet, too_many_sheets};
use crate::Failure;
use crate::error::FileErrorKind;

mod cell;

use self::cell::Cell;

const CONTENT: &str = "content.xml";
const MANIFEST: &str = "META-INF/manifest.xml";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Said in every OpenDocument's first element.
const NAMESPACE: &[u8] = b"urn:oasis:names:tc:opendocument:xmlns:office:1.0";
/// Where it is looked for.
const LOOK: usize = 16 << 10;
/// Elements within elements: programs write about twenty.
const DEEPEST: usize = 256;

pub(super) struct Ods {
    document: Document,
    sheets: Vec<Found>,
}

/// A sheet as the walk found it.
struct Found {
    sheet: Sheet,
    /// Where its element begins.
    at: u64,
    is_empty: bool,
}

enum Document {
    Packed(Parts),
    Flat(Bytes),
}

impl Document {
    /// A part, to be read from its beginning.
    fn reader(&self, part: &str) -> Result<Option<Box<dyn BufRead + '_>>, Failure> {
        let reader: Option<Box<dyn BufRead + '_>> = match self {
            Document::Packed(parts) => parts.reader(part)?,
            Document::Flat(bytes) if part == CONTENT => Some(Box::new(&bytes[..])),
            Document::Flat(_) => None,
        };
        let Some(mut reader) = reader else {
            return Ok(None);
        };
        // The walk does not count it.
        let begun = reader.fill_buf().map_err(|error| no_spreadsheet(&error))?;
        if begun.starts_with(BYTE_ORDER_MARK) {
            reader.consume(BYTE_ORDER_MARK.len());
        }
        Ok(Some(reader))
    }
}

impl Ods {
    pub(super) fn is_one(parts: &Parts) -> bool {
        parts.has(CONTENT) || parts.has(MANIFEST)
    }

    /// Whether a file is an OpenDocument that is not packed.
    pub(super) fn is_flat(bytes: &[u8]) -> bool {
        let begun = &bytes[..bytes.len().min(LOOK)];
        let text = begun.strip_prefix(BYTE_ORDER_MARK).unwrap_or(begun);
        text.trim_ascii_start().starts_with(b"<")
            && begun.windows(NAMESPACE.len()).any(|it| it == NAMESPACE)
    }

    /// # Errors
    /// It is damaged, has a password, or is no spreadsheet.
    pub(super) fn packed(parts: Parts) -> Result<Ods, Failure> {
        let document = Document::Packed(parts);
        if let Some(reader) = document.reader(MANIFEST)? {
            let (mut walk, mut buffer) = (Walk::of(reader), Vec::new());
            loop {
                match walk.advance(&mut buffer)? {
                    Event::Start(element) if is(&element, "encryption-data") => {
                        return Err(super::locked());
                    }
                    Event::Eof => break,
                    _ => {}
                }
            }
        }
        Ods::of(document)
    }

    /// # Errors
    /// It is damaged, or is no spreadsheet.
    pub(super) fn flat(bytes: Bytes) -> Result<Ods, Failure> {
        Ods::of(Document::Flat(bytes))
    }

    fn of(document: Document) -> Result<Ods, Failure> {
        let sheets = sheets(&document)?;
        Ok(Ods { document, sheets })
    }

    pub(super) fn sheets(&self) -> Vec<Sheet> {
        self.sheets
            .iter()
            .map(|found| found.sheet.clone())
            .collect()
    }

    pub(super) fn is_empty(&self, index: usize) -> bool {
        self.sheets.get(index).is_none_or(|found| found.is_empty)
    }

    /// # Errors
    /// The sheet is damaged.
    pub(super) fn read(&self, index: usize, cells: &mut Cells) -> Result<(), Failure> {
        let missing = || damaged("sheet is missing");
        let found = self.sheets.get(index).ok_or_else(missing)?;
        let mut reader = self.document.reader(CONTENT)?.ok_or_else(missing)?;
        let before = io::copy(&mut (&mut reader).take(found.at), &mut io::sink());
        before.map_err(|error| no_spreadsheet(&error))?;
        let (mut walk, mut buffer) = (Walk::of(reader), Vec::new());
        match walk.advance(&mut buffer)? {
            Event::Start(element) if is(&element, "table") => {}
            _ => return Err(missing()),
        }
        walk.table(&mut buffer, cells)
    }
}

/// The sheets of a document.
fn sheets(document: &Document) -> Result<Vec<Found>, Failure> {
    let reader = document.reader(CONTENT)?;
    let reader = reader.ok_or_else(|| damaged("content is missing"))?;
    let (mut walk, mut buffer) = (Walk::of(reader), Vec::new());
    let mut sheets = Vec::new();
    // Styles of tables that are not shown, and the style at hand.
    let (mut hidden, mut style) = (HashSet::new(), None);
    let mut body = None;
    loop {
        let at = walk.reader.buffer_position();
        let event = walk.advance(&mut buffer)?;
        let sheet = match &event {
            Event::Start(element) if is(element, "style") => {
                style = attribute(element, "name")?;
                continue;
            }
            Event::Start(element) if is(element, "table-properties") => {
                if attribute(element, "display")?.as_deref() == Some("false") {
                    hidden.extend(style.take());
                }
                continue;
            }
            Event::Start(element) if is(element, "spreadsheet") => {
                body = Some(walk.depth);
                continue;
            }
            Event::Start(element) if is(element, "table") && body == Some(walk.depth - 1) => {
                let name = attribute(element, "name")?.unwrap_or_default();
                let style = attribute(element, "style-name")?;
                Sheet {
                    is_table: !is_cache(&name),
                    is_hidden: style.is_some_and(|style| hidden.contains(&style)),
                    name,
                }
            }
            Event::Eof if body.is_some() => return Ok(sheets),
            Event::Eof => {
                let cause = "it is named as a spreadsheet but is another OpenDocument";
                let failure = Failure::new(FileErrorKind::NotItsFormat, cause);
                return Err(failure.with_remedy("give it the extension of its content"));
            }
            _ => continue,
        };
        let depth = walk.depth;
        let mut probe = Cells::probe();
        // A sheet with a cell where none can be is told when it is read.
        let is_empty = walk.table(&mut buffer, &mut probe).is_ok() && probe.is_empty();
        walk.leave(depth, &mut buffer)?;
        let found = Found {
            sheet,
            at,
            is_empty,
        };
        if sheets.len() == MOST_SHEETS {
            return Err(too_many_sheets());
        }
        sheets.push(found);
    }
}

/// Whether this is what a program keeps of another file that cells refer to: `'file:///a.ods'#$Sheet1`.
fn is_cache(name: &str) -> bool {
    name.starts_with('\'') && name.contains("'#$")
}

fn is(element: &BytesStart<'_>, name: &str) -> bool {
    element.local_name().into_inner() == name
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>, Failure> {
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| no_spreadsheet(&error))?;
        if attribute.key.local_name().into_inner() == name {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| no_spreadsheet(&error))?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}

/// How many times a row or a cell is there.
fn repeats(element: &BytesStart<'_>, name: &str) -> Result<u32, Failure> {
    let Some(text) = attribute(element, name)? else {
        return Ok(1);
    };
    let number: u64 = text
        .trim()
        .parse()
        .map_err(|_| damaged("rows or cells are repeated no number of times"))?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX).max(1))
}

/// A walk over a document, or over an element of it.
struct Walk<'a> {
    reader: Reader<Box<dyn BufRead + 'a>>,
    /// Elements that are open.
    depth: usize,
}

impl<'a> Walk<'a> {
    fn of(reader: Box<dyn BufRead + 'a>) -> Walk<'a> {
        let mut reader = Reader::from_reader(reader);
        reader.config_mut().expand_empty_elements = true;
        Walk { reader, depth: 0 }
    }

    fn advance<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Event<'b>, Failure> {
        buffer.clear();
        let event = self.reader.read_event_into(buffer);
        let event = event.map_err(|error| no_spreadsheet(&error))?;
        match event {
            Event::Start(_) if self.depth == DEEPEST => {
                return Err(damaged("elements are nested too deeply"));
            }
            Event::Start(_) => self.depth += 1,
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            Event::Eof if self.depth > 0 => return Err(damaged("content ends early")),
            _ => {}
        }
        Ok(event)
    }

    /// Goes on behind the element that made the walk so deep.
    fn leave(&mut self, depth: usize, buffer: &mut Vec<u8>) -> Result<(), Failure> {
        while self.depth >= depth {
            self.advance(buffer)?;
        }
        Ok(())
    }

    /// The cells of the table that was entered, until no more are wanted.
    fn table(&mut self, buffer: &mut Vec<u8>, cells: &mut Cells) -> Result<(), Failure> {
        enum Part {
            Rows,
            Row(u32),
            Cell(Cell),
            Covered(u32),
            Other,
        }
        let outer = self.depth;
        let (mut row, mut rows, mut column) = (0u32, 1u32, 0u32);
        while self.depth >= outer {
            let part = match self.advance(buffer)? {
                Event::Start(element) => match element.local_name().into_inner() {
                    "table-rows" | "table-header-rows" | "table-row-group" => Part::Rows,
                    "table-row" => Part::Row(repeats(&element, "number-rows-repeated")?),
                    "table-cell" => Part::Cell(Cell::of(&element)?),
                    "covered-table-cell" => {
                        Part::Covered(repeats(&element, "number-columns-repeated")?)
                    }
                    _ => Part::Other,
                },
                Event::End(element) if element.local_name().into_inner() == "table-row" => {
                    if !cells.repeat_row(row, rows.saturating_sub(1))? {
                        return Ok(());
                    }
                    row = row.saturating_add(rows);
                    continue;
                }
                _ => continue,
            };
            let depth = self.depth;
            match part {
                Part::Rows => {}
                Part::Row(repeated) => (rows, column) = (repeated, 0),
                Part::Cell(mut cell) => {
                    self.cell(depth, buffer, &mut cell)?;
                    let text = cell.text();
                    // There are none of what is blank, however many.
                    let times = if text.trim().is_empty() {
                        0
                    } else {
                        cell.repeated
                    };
                    for i in 0..times {
                        if !cells.add(row, column.saturating_add(i), &text)? {
                            return Ok(());
                        }
                    }
                    column = column.saturating_add(cell.repeated);
                }
                Part::Covered(repeated) => {
                    column = column.saturating_add(repeated);
                    self.leave(depth, buffer)?;
                }
                // Charts, remarks and tables within tables.
                Part::Other => self.leave(depth, buffer)?,
            }
        }
        Ok(())
    }

    /// The text that is shown in the cell that was entered.
    fn cell(&mut self, outer: usize, buffer: &mut Vec<u8>, cell: &mut Cell) -> Result<(), Failure> {
        while self.depth >= outer {
            let is_within = self.depth > outer;
            let is_other = match self.advance(buffer)? {
                Event::Start(element) if !is_within => match is(&element, "p") {
                    true => {
                        cell.shown.begin();
                        false
                    }
                    false => true,
                },
                Event::Start(element) => !cell.shown.element(&element)?,
                Event::Text(text) if is_within => {
                    cell.shown.push(&text);
                    false
                }
                Event::CData(text) if is_within => {
                    cell.shown.push(&text);
                    false
                }
                Event::GeneralRef(named) if is_within => {
                    cell.shown.push(letter(&named)?.encode_utf8(&mut [0; 4]));
                    false
                }
                _ => false,
            };
            if is_other {
                let depth = self.depth;
                self.leave(depth, buffer)?;
            }
        }
        Ok(())
    }
}

/// The letter that `&name;` means: entities that a document defines are not followed.
fn letter(named: &BytesRef<'_>) -> Result<char, Failure> {
    let number = named.resolve_char_ref();
    if let Some(letter) = number.map_err(|error| no_spreadsheet(&error))? {
        return Ok(letter);
    }
    match &**named {
        "lt" => Ok('<'),
        "gt" => Ok('>'),
        "amp" => Ok('&'),
        "apos" => Ok('\''),
        "quot" => Ok('"'),
        _ => Err(damaged("content has entities of its own")),
    }
}
