//! `.xls` (MS-XLS): one stream of records in a compound file, of Excel 97 to 2003 (BIFF8) and of Excel 5 and 95
//! (BIFF5), which has letters of one byte and no common texts.
//!
//! A record has its type and its length in front. What is longer than a record goes on in those that follow it
//! ([`Body`]). First comes what all sheets share, with the place in the stream at which each sheet starts.

use std::collections::HashMap;

use bytes::Bytes;
use encoding_rs::{BIG5, EUC_KR, Encoding, GBK, MACINTOSH, SHIFT_JIS, WINDOWS_1252};

use super::biff::{Fields, Shown, Strings, Styles, packed_number, short};
use super::cells::Cells;
use super::{MOST_SHEETS, Sheet, damaged, too_many_sheets};
use crate::Failure;
use crate::error::FileErrorKind;

const BEGIN: u16 = 0x0809;
const END: u16 = 0x000a;
const CONTINUE: u16 = 0x003c;

/// How texts are written.
#[derive(Clone, Copy)]
enum Letters {
    /// Of two bytes each, or only the lower ones.
    Wide,
    /// In an encoding of the file.
    Page(&'static Encoding),
}

pub(super) struct Xls {
    stream: Bytes,
    sheets: Vec<(Sheet, usize)>,
    strings: Strings,
    styles: Styles,
    letters: Letters,
}

impl Xls {
    /// Whether a file that is no compound file is such a stream nevertheless; also those before Excel 5, which
    /// cannot be read.
    pub(super) fn is_one(bytes: &[u8]) -> bool {
        let [9, version, length, 0, ..] = bytes else {
            return false;
        };
        matches!(version, 0 | 2 | 4 | 8) && (4..=16).contains(length)
    }

    /// # Errors
    /// It is damaged, has a password or too many texts, or is older than Excel 5.
    pub(super) fn open(stream: Bytes, most: u64) -> Result<Xls, Failure> {
        let mut records = Records::of(&stream, 0)?;
        let mut book = Xls {
            stream: Bytes::new(),
            sheets: Vec::new(),
            strings: Strings::of_at_most(most),
            styles: Styles::default(),
            letters: Letters::Wide,
        };
        book.letters = match records.advance()? {
            Some((BEGIN, mut body)) => match body.short()? {
                0x0600 => Letters::Wide,
                0x0500 => Letters::Page(WINDOWS_1252),
                _ => return Err(too_old()),
            },
            Some((0x0009 | 0x0209 | 0x0409, _)) => return Err(too_old()),
            _ => return Err(damaged("workbook does not begin as one")),
        };
        let (mut own, mut formats) = (HashMap::new(), Vec::new());
        loop {
            let (kind, mut body) = records.advance()?.ok_or_else(early)?;
            match kind {
                END => break,
                0x002f => return Err(super::locked()),
                0x0022 => book.styles.is_1904 = body.short()? & 1 != 0,
                0x0042 => {
                    if let Letters::Page(page) = &mut book.letters {
                        *page = encoding(body.short()?);
                    }
                }
                0x041e => {
                    let number = body.short()?;
                    let code = book.letters.format(&mut body)?;
                    own.insert(number, Shown::of_code(&code));
                }
                0x00e0 => {
                    body.short()?;
                    formats.push(body.short()?);
                }
                0x0085 if book.sheets.len() == MOST_SHEETS => return Err(too_many_sheets()),
                0x0085 => book.sheets.push(book.letters.sheet(&mut body)?),
                0x00fc => {
                    body.long()?;
                    let count = body.long()?;
                    for _ in 0..count {
                        // Some programs count too many.
                        if body.is_at_end() {
                            break;
                        }
                        let text = book.letters.text(&mut body)?;
                        book.strings.push(&text)?;
                    }
                }
                _ => {}
            }
        }
        let shown = |number: u16| {
            let own = own.get(&number).copied();
            own.unwrap_or_else(|| Shown::of_number(number))
        };
        book.styles.shown = formats.into_iter().map(shown).collect();
        let mut places: Vec<usize> = book.sheets.iter().map(|(_, place)| *place).collect();
        places.sort_unstable();
        if places.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(damaged("workbook has two sheets in one place"));
        }
        book.stream = stream;
        Ok(book)
    }

    pub(super) fn sheets(&self) -> Vec<Sheet> {
        self.sheets.iter().map(|(sheet, _)| sheet.clone()).collect()
    }

    /// # Errors
    /// The sheet is damaged.
    pub(super) fn read(&self, index: usize, cells: &mut Cells) -> Result<(), Failure> {
        let place = self.sheets.get(index).map(|(_, place)| *place);
        let missing = || damaged("sheet is missing");
        let place = place.ok_or_else(missing)?;
        // One that does not end there would be read again and again, once for each sheet before.
        let places = self.sheets.iter().map(|(_, place)| *place);
        let next = places.filter(|other| *other > place).min();
        let end = next.unwrap_or(usize::MAX).min(self.stream.len());
        let stream = self.stream.slice(..end);
        let mut records = Records::of(&stream, place)?;
        match records.advance()? {
            Some((BEGIN, mut body)) => {
                body.short()?;
                if body.short()? != 0x0010 {
                    return Err(damaged("workbook takes something else for a sheet"));
                }
            }
            _ => return Err(missing()),
        }
        // Charts within the sheet begin and end, too.
        let mut depth = 1u64;
        // The cell whose text a record says that is still to come.
        let mut formula = None;
        while let Some((kind, mut body)) = records.advance()? {
            match kind {
                BEGIN => depth += 1,
                END => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                _ if depth > 1 => {}
                0x00bd => {
                    let (row, first) = (body.short()?, body.short()?);
                    let mut column = u32::from(first);
                    while body.left() >= 6 {
                        let (style, number) = (body.short()?, packed_number(body.long()?));
                        let text = self.styles.text(u32::from(style), number);
                        if !cells.add(u32::from(row), column, &text)? {
                            return Ok(());
                        }
                        column += 1;
                    }
                }
                0x0207 => {
                    let text = self.letters.text(&mut body)?;
                    if let Some((row, column)) = formula.take()
                        && !cells.add(row, column, &text)?
                    {
                        return Ok(());
                    }
                }
                0x0203 | 0x027e | 0x00fd | 0x0204 | 0x00d6 | 0x0205 | 0x0006 => {
                    let (row, column) = (u32::from(body.short()?), u32::from(body.short()?));
                    let style = u32::from(body.short()?);
                    formula = None;
                    let text = match kind {
                        0x0203 => self.styles.text(style, body.float()?),
                        0x027e => self.styles.text(style, packed_number(body.long()?)),
                        0x00fd => self.strings.get(body.long()?)?.to_owned(),
                        0x0204 | 0x00d6 => self.letters.text(&mut body)?,
                        0x0205 => match body.array()? {
                            [value, 0] => (value != 0).to_string(),
                            // An error.
                            _ => continue,
                        },
                        _ => match result(body.array()?) {
                            Saved::Number(number) => self.styles.text(style, number),
                            Saved::Truth(is_true) => is_true.to_string(),
                            Saved::Nothing => continue,
                            Saved::TextToCome => {
                                formula = Some((row, column));
                                continue;
                            }
                        },
                    };
                    if !cells.add(row, column, &text)? {
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        Err(damaged("sheet ends early"))
    }
}

/// A formula's last result.
enum Saved {
    Number(f64),
    Truth(bool),
    /// In a record that follows.
    TextToCome,
    /// An error, or no text.
    Nothing,
}

/// MS-XLS 2.5.133.
fn result(value: [u8; 8]) -> Saved {
    match value {
        [0, .., 0xff, 0xff] => Saved::TextToCome,
        [1, _, truth, .., 0xff, 0xff] => Saved::Truth(truth != 0),
        [.., 0xff, 0xff] => Saved::Nothing,
        _ => Saved::Number(f64::from_le_bytes(value)),
    }
}

fn too_old() -> Failure {
    let cause = "it is an .xls file from before Excel 5";
    Failure::new(FileErrorKind::Unsupported, cause)
        .with_remedy("save it as .xlsx with a spreadsheet program")
}

fn early() -> Failure {
    damaged("records end early")
}

/// By the number of a code page.
fn encoding(page: u16) -> &'static Encoding {
    match page {
        932 => SHIFT_JIS,
        936 => GBK,
        949 => EUC_KR,
        950 => BIG5,
        10000 | 32768 => MACINTOSH,
        page => {
            let label = format!("windows-{page}");
            Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252)
        }
    }
}

impl Letters {
    /// The text of a cell, or one that cells share.
    fn text(self, body: &mut Body<'_>) -> Result<String, Failure> {
        let count = usize::from(body.short()?);
        match self {
            Letters::Wide => body.marked(count),
            Letters::Page(page) => body.bytes(count, page),
        }
    }

    /// How numbers are shown, as it is written.
    fn format(self, body: &mut Body<'_>) -> Result<String, Failure> {
        match self {
            Letters::Wide => self.text(body),
            Letters::Page(page) => {
                let count = usize::from(body.byte()?);
                body.bytes(count, page)
            }
        }
    }

    /// A sheet, and where it starts.
    fn sheet(self, body: &mut Body<'_>) -> Result<(Sheet, usize), Failure> {
        let place = body.long()? as usize;
        let is_hidden = body.byte()? & 3 != 0;
        let is_table = body.byte()? == 0;
        let count = usize::from(body.byte()?);
        let name = match self {
            Letters::Wide => body.marked(count)?,
            Letters::Page(page) => body.bytes(count, page)?,
        };
        let sheet = Sheet {
            name,
            is_table,
            is_hidden,
        };
        Ok((sheet, place))
    }
}

/// Records of a stream, one after another.
struct Records<'a>(&'a [u8]);

impl<'a> Records<'a> {
    fn of(stream: &'a [u8], at: usize) -> Result<Records<'a>, Failure> {
        stream.get(at..).map(Records).ok_or_else(early)
    }

    /// The next record's type and what it holds; `None` at the end.
    fn advance(&mut self) -> Result<Option<(u16, Body<'a>)>, Failure> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let (kind, record, after) = split(self.0).ok_or_else(early)?;
        self.0 = after;
        let record = Fields(record);
        Ok(Some((kind, Body { record, after })))
    }
}

/// The first record's type, what it holds, and what follows.
fn split(stream: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let ([kind, more_kind, length, more_length], rest) = stream.split_first_chunk()?;
    let length = usize::from(u16::from_le_bytes([*length, *more_length]));
    let (record, after) = rest.split_at_checked(length)?;
    Some((u16::from_le_bytes([*kind, *more_kind]), record, after))
}

/// What a record holds, with those that continue it.
struct Body<'a> {
    record: Fields<'a>,
    after: &'a [u8],
}

impl<'a> Body<'a> {
    /// What is left of the record itself.
    fn left(&self) -> usize {
        self.record.0.len()
    }

    /// Goes on to the record that continues this one.
    fn advance(&mut self) -> Result<(), Failure> {
        match split(self.after) {
            Some((CONTINUE, record, after)) => {
                *self = Body {
                    record: Fields(record),
                    after,
                };
                Ok(())
            }
            _ => Err(short()),
        }
    }

    fn is_at_end(&self) -> bool {
        self.left() == 0 && !matches!(split(self.after), Some((CONTINUE, ..)))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        if self.left() >= N {
            return self.record.array();
        }
        let mut array = [0; N];
        for byte in &mut array {
            while self.left() == 0 {
                self.advance()?;
            }
            *byte = self.record.byte()?;
        }
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, Failure> {
        Ok(self.array::<1>()?[0])
    }

    fn short(&mut self) -> Result<u16, Failure> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    fn long(&mut self) -> Result<u32, Failure> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    fn float(&mut self) -> Result<f64, Failure> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    fn skip(&mut self, mut count: u64) -> Result<(), Failure> {
        while count > 0 {
            if self.left() == 0 {
                self.advance()?;
            }
            let here = usize::try_from(count).unwrap_or(usize::MAX);
            let here = here.min(self.left());
            self.record.take(here)?;
            count -= here as u64;
        }
        Ok(())
    }

    /// Letters in an encoding.
    fn bytes(&mut self, count: usize, encoding: &'static Encoding) -> Result<String, Failure> {
        let mut bytes = Vec::new();
        while bytes.len() < count {
            if self.left() == 0 {
                self.advance()?;
            }
            let here = self.left().min(count - bytes.len());
            bytes.extend_from_slice(self.record.take(here)?);
        }
        Ok(encoding.decode_without_bom_handling(&bytes).0.into_owned())
    }

    /// Letters after a mark that says how wide they are, and whether fonts and readings follow (MS-XLS 2.5.293).
    /// Where they go on in another record, it begins with such a mark, too.
    fn marked(&mut self, count: usize) -> Result<String, Failure> {
        let mark = self.byte()?;
        let fonts = match mark & 8 {
            0 => 0,
            _ => u64::from(self.short()?),
        };
        let readings = match mark & 4 {
            0 => 0,
            _ => u64::from(self.long()?),
        };
        let mut is_wide = mark & 1 != 0;
        let mut letters: Vec<u16> = Vec::new();
        while letters.len() < count {
            if self.left() == 0 {
                self.advance()?;
                is_wide = self.record.byte()? & 1 != 0;
                continue;
            }
            let width = if is_wide { 2 } else { 1 };
            let here = (count - letters.len()).min(self.left() / width);
            if here == 0 {
                return Err(short());
            }
            let bytes = self.record.take(here * width)?;
            match is_wide {
                true => {
                    let pairs = bytes.as_chunks::<2>().0.iter();
                    letters.extend(pairs.map(|it| u16::from_le_bytes(*it)));
                }
                false => letters.extend(bytes.iter().map(|it| u16::from(*it))),
            }
        }
        self.skip(4 * fonts + readings)?;
        Ok(String::from_utf16_lossy(&letters))
    }
}
