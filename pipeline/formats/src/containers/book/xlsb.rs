//! `.xlsb` (MS-XLSB): an archive like `.xlsx`, whose parts are binary records.
//!
//! The records are walked here and not by calamine: it takes the memory that a record claims before it reads it,
//! and panics at records that are too short. A record has its type and its length in front, seven bits a byte.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use quick_xml::events::Event;

use super::super::zip::Parts;
use super::biff::{Fields, Shown, Strings, Styles, packed_number, short, wide};
use super::cells::Cells;
use super::{MOST_SHEETS, Sheet, damaged, no_spreadsheet, too_many_sheets};
use crate::Failure;

const WORKBOOK: &str = "xl/workbook.bin";
const RELATIONS: &str = "xl/_rels/workbook.bin.rels";
const STRINGS: &str = "xl/sharedStrings.bin";
const STYLES: &str = "xl/styles.bin";

pub(super) struct Xlsb {
    parts: Parts,
    sheets: Vec<(Sheet, String)>,
    strings: Strings,
    styles: Styles,
}

impl Xlsb {
    pub(super) fn is_one(parts: &Parts) -> bool {
        parts.has(WORKBOOK)
    }

    /// # Errors
    /// It is damaged, or has too many texts.
    pub(super) fn open(parts: Parts, most: u64) -> Result<Xlsb, Failure> {
        let relations = relations(&parts)?;
        let (sheets, is_1904) = workbook(&parts, &relations)?;
        let mut styles = styles(&parts)?;
        styles.is_1904 = is_1904;
        let strings = strings(&parts, most)?;
        Ok(Xlsb {
            parts,
            sheets,
            strings,
            styles,
        })
    }

    pub(super) fn sheets(&self) -> Vec<Sheet> {
        self.sheets.iter().map(|(sheet, _)| sheet.clone()).collect()
    }

    /// # Errors
    /// The sheet is damaged.
    pub(super) fn read(&self, index: usize, cells: &mut Cells) -> Result<(), Failure> {
        let path = self.sheets.get(index).map(|(_, path)| path.as_str());
        let mut records = Records::of(&self.parts, path.unwrap_or_default())?;
        let records = records
            .as_mut()
            .ok_or_else(|| damaged("sheet is missing"))?;
        let (mut row, mut is_within) = (0, false);
        while let Some(kind) = records.advance()? {
            let mut fields = Fields(&records.record);
            match kind {
                0x91 => is_within = true,
                0x92 => return Ok(()),
                _ if !is_within => {}
                0x00 => row = fields.long()?,
                0x02..=0x0b | 0x3e => {
                    let column = fields.long()?;
                    let style = fields.long()? & 0x00ff_ffff;
                    let text = match kind {
                        0x02 => self.styles.text(style, packed_number(fields.long()?)),
                        0x05 | 0x09 => self.styles.text(style, fields.float()?),
                        0x04 | 0x0a => (fields.byte()? != 0).to_string(),
                        0x06 | 0x08 => wide_text(&mut fields)?,
                        0x07 => self.strings.get(fields.long()?)?.to_owned(),
                        0x3e => {
                            fields.byte()?;
                            wide_text(&mut fields)?
                        }
                        // Errors.
                        _ => continue,
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

/// The parts that the workbook names: whether each is a sheet of cells, and its path.
fn relations(parts: &Parts) -> Result<HashMap<String, (bool, String)>, Failure> {
    let mut found = HashMap::new();
    let Some(reader) = parts.reader(RELATIONS)? else {
        return Ok(found);
    };
    let mut reader = quick_xml::Reader::from_reader(reader);
    let mut buffer = Vec::new();
    loop {
        let event = reader.read_event_into(&mut buffer);
        match event.map_err(|error| no_spreadsheet(&error))? {
            Event::Start(element) | Event::Empty(element)
                if element.local_name().into_inner() == "Relationship" =>
            {
                let (mut id, mut is_sheet, mut target) = (String::new(), false, String::new());
                for attribute in element.attributes() {
                    let attribute = attribute.map_err(|error| no_spreadsheet(&error))?;
                    let value = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0);
                    let value = value.map_err(|error| no_spreadsheet(&error))?;
                    match attribute.key.local_name().into_inner() {
                        "Id" => id = value.into_owned(),
                        "Type" => is_sheet = value.ends_with("/worksheet"),
                        "Target" => target = value.into_owned(),
                        _ => {}
                    }
                }
                let path = match target.strip_prefix('/') {
                    Some(path) => path.to_owned(),
                    None => format!("xl/{target}"),
                };
                found.insert(id, (is_sheet, path));
            }
            Event::Eof => return Ok(found),
            _ => {}
        }
        buffer.clear();
    }
}

type Named = (Vec<(Sheet, String)>, bool);

fn workbook(parts: &Parts, relations: &HashMap<String, (bool, String)>) -> Result<Named, Failure> {
    let mut records = Records::of(parts, WORKBOOK)?;
    let records = records
        .as_mut()
        .ok_or_else(|| damaged("workbook is missing"))?;
    let (mut sheets, mut is_1904) = (Vec::new(), false);
    while let Some(kind) = records.advance()? {
        let mut fields = Fields(&records.record);
        match kind {
            0x99 => is_1904 = fields.byte()? & 1 != 0,
            0x9c => {
                let state = fields.long()?;
                fields.long()?;
                let relation = nullable_text(&mut fields)?;
                let name = wide_text(&mut fields)?;
                let (is_table, path) = match relation {
                    // A sheet of macros.
                    None => (false, String::new()),
                    Some(id) => {
                        let named = relations.get(&id).cloned();
                        named.ok_or_else(|| damaged("workbook names sheets that are not there"))?
                    }
                };
                let is_hidden = state != 0;
                let sheet = Sheet {
                    name,
                    is_table,
                    is_hidden,
                };
                if sheets.len() == MOST_SHEETS {
                    return Err(too_many_sheets());
                }
                sheets.push((sheet, path));
            }
            0x90 => break,
            _ => {}
        }
    }
    Ok((sheets, is_1904))
}

fn styles(parts: &Parts) -> Result<Styles, Failure> {
    let mut styles = Styles::default();
    let mut records = Records::of(parts, STYLES)?;
    let Some(records) = records.as_mut() else {
        return Ok(styles);
    };
    let mut own: HashMap<u16, Shown> = HashMap::new();
    let mut is_within = false;
    while let Some(kind) = records.advance()? {
        let mut fields = Fields(&records.record);
        match kind {
            0x2c => {
                let number = fields.short()?;
                own.insert(number, Shown::of_code(&wide_text(&mut fields)?));
            }
            0x269 => is_within = true,
            0x26a => is_within = false,
            0x2f if is_within => {
                fields.short()?;
                let number = fields.short()?;
                let shown = own.get(&number).copied();
                styles
                    .shown
                    .push(shown.unwrap_or_else(|| Shown::of_number(number)));
            }
            _ => {}
        }
    }
    Ok(styles)
}

fn strings(parts: &Parts, most: u64) -> Result<Strings, Failure> {
    let mut strings = Strings::of_at_most(most);
    let mut records = Records::of(parts, STRINGS)?;
    let Some(records) = records.as_mut() else {
        return Ok(strings);
    };
    while let Some(kind) = records.advance()? {
        if kind == 0x13 {
            let mut fields = Fields(&records.record);
            fields.byte()?;
            strings.push(&wide_text(&mut fields)?)?;
        }
    }
    Ok(strings)
}

fn wide_text(fields: &mut Fields<'_>) -> Result<String, Failure> {
    let letters = fields.long()? as usize;
    let length = letters.checked_mul(2).ok_or_else(short)?;
    Ok(wide(fields.take(length)?))
}

fn nullable_text(fields: &mut Fields<'_>) -> Result<Option<String>, Failure> {
    let mut ahead = *fields;
    if ahead.long()? == u32::MAX {
        *fields = ahead;
        return Ok(None);
    }
    wide_text(fields).map(Some)
}

/// The records of a part, each in the place of the one before.
struct Records<'a> {
    reader: Box<dyn BufRead + 'a>,
    record: Vec<u8>,
}

impl<'a> Records<'a> {
    fn of(parts: &'a Parts, path: &str) -> Result<Option<Records<'a>>, Failure> {
        let reader = parts.reader(path)?;
        Ok(reader.map(|reader| Records {
            reader,
            record: Vec::new(),
        }))
    }

    /// The next record's type; `None` at the end.
    fn advance(&mut self) -> Result<Option<u64>, Failure> {
        let Some(kind) = self.number(2)? else {
            return Ok(None);
        };
        let length = self.number(4)?.ok_or_else(early)?;
        self.record.clear();
        // Memory is taken for what is there, whatever is claimed.
        let read = (&mut self.reader)
            .take(length)
            .read_to_end(&mut self.record);
        let read = read.map_err(|error| no_spreadsheet(&error))?;
        if read as u64 != length {
            return Err(early());
        }
        Ok(Some(kind))
    }

    fn number(&mut self, most: u32) -> Result<Option<u64>, Failure> {
        let mut number = 0;
        for at in 0..most {
            let mut byte = [0];
            let read = self.reader.read(&mut byte);
            if read.map_err(|error| no_spreadsheet(&error))? == 0 {
                return if at == 0 { Ok(None) } else { Err(early()) };
            }
            number |= u64::from(byte[0] & 0x7f) << (7 * at);
            if byte[0] & 0x80 == 0 {
                break;
            }
        }
        Ok(Some(number))
    }
}

fn early() -> Failure {
    damaged("records end early")
}
