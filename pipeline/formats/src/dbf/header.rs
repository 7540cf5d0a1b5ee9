//! The head of a dBase table: which columns its records have, and where (dBase III and IV, FoxPro
//! and Visual FoxPro).
//!
//! After the dBase file structure that Borland and Microsoft document: 32 bytes, then 32 for each
//! column, then 0x0d. What it claims is checked against the file before anything is read by it.

use std::ops::Range;

use super::encoding::Texts;
use crate::Failure;
use crate::error::FileErrorKind;
use crate::ranged::Ranged;
use crate::sniff;

/// The longest head that two bytes can claim.
const LONGEST: u64 = 1 << 16;
/// Bytes before the columns, and of each.
const START: usize = 32;
const FIELD: usize = 32;
/// Ends the columns.
const END: u8 = 0x0d;
/// Of a column that no program shows.
const IS_SYSTEM: u8 = 1;
const MAY_BE_NULL: u8 = 2;

/// How a column's bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `C`: text.
    Text,
    /// `N` and `F`: a number as text, whole or not.
    Number { is_whole: bool, width: usize },
    /// `D`: a day, `YYYYMMDD`.
    Day,
    /// `L`: `T`, `F` and the like.
    Truth,
    /// `I`: 32 bits.
    Int,
    /// `B` of eight bytes: a float.
    Double,
    /// `Y`: ten-thousandths.
    Currency,
    /// `T` and `@`: a Julian day and milliseconds.
    Moment,
    /// Memos, which are in another file, and kinds that are not read: always null.
    Unread,
}

impl Kind {
    fn of(letter: u8, length: usize, decimals: u8) -> Kind {
        match (letter, length) {
            (b'C', _) => Kind::Text,
            (b'N' | b'F', _) => Kind::Number {
                is_whole: letter == b'N' && decimals == 0,
                width: length,
            },
            (b'D', 8) => Kind::Day,
            (b'L', 1) => Kind::Truth,
            (b'I', 4) => Kind::Int,
            (b'B', 8) => Kind::Double,
            (b'Y', 8) => Kind::Currency,
            (b'T' | b'@', 8) => Kind::Moment,
            _ => Kind::Unread,
        }
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Where its bytes are in a record.
    pub(super) range: Range<usize>,
    /// The bit that says that it is null, where it has one.
    pub(super) null_bit: Option<usize>,
}

/// What the head says.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) fields: Vec<Field>,
    /// Where the bits are that say what is null.
    pub(super) null_bits: Option<Range<usize>>,
    /// Bytes before the records, and of each.
    pub(super) start: u64,
    pub(super) record: usize,
    /// Records that are there.
    pub(super) records: u64,
    /// How texts are written.
    pub(super) texts: Texts,
    /// What a person should know.
    pub(super) notes: Vec<String>,
}

/// A column as it stands in the head.
struct Described<'a> {
    name: &'a [u8],
    letter: u8,
    length: usize,
    decimals: u8,
    flags: u8,
}

impl Table {
    /// Reads a table's head; `encoding` is what its `.cpg` or a person says of it.
    ///
    /// # Errors
    /// The store's; another format; a head that contradicts itself; kinds of tables that are not
    /// read.
    pub(super) fn open(object: &Ranged, encoding: Option<&str>) -> Result<Table, Failure> {
        let size = object.size();
        if size == 0 {
            return Err(Failure::new(FileErrorKind::Empty, "the file has no bytes"));
        }
        let head = object.get(0..size.min(LONGEST))?;
        let number = |at: usize, length: usize| {
            let bytes = head.get(at..at + length).unwrap_or_default();
            bytes
                .iter()
                .rev()
                .fold(0u64, |all, byte| all << 8 | u64::from(*byte))
        };
        let version = number(0, 1) as u8;
        let (start, record) = (number(8, 2), number(10, 2) as usize);
        if head.len() < START || !is_version(version) {
            return Err(sniff::not_its_format(&head, "dBase"));
        }
        let described = usize::try_from(start)
            .ok()
            .and_then(|start| head.get(START..start));
        let Some(described) = described.and_then(described_in) else {
            return Err(match version & 7 {
                4 => unread("it is a table of dBase 7"),
                2 => unread("it is a table of dBase II"),
                _ => sniff::not_its_format(&head, "dBase"),
            });
        };
        if number(15, 1) == 1 {
            return Err(unread("it is encrypted"));
        }
        let texts = Texts::of(encoding, number(29, 1) as u8);
        let mut table = Table {
            fields: Vec::new(),
            null_bits: None,
            start,
            record,
            records: 0,
            texts,
            notes: Vec::new(),
        };
        table.place(&described)?;
        let there = size.saturating_sub(start) / record as u64;
        let claimed = number(4, 4);
        table.records = claimed.min(there);
        if claimed > there {
            let note = format!("it is cut off: {there} of {claimed} records are there");
            table.notes.push(note);
        }
        Ok(table)
    }

    /// Finds out where columns are in a record.
    fn place(&mut self, described: &[Described<'_>]) -> Result<(), Failure> {
        // Texts of FoxPro and Clipper may be longer than a byte says.
        let long = |it: &Described<'_>| match it.letter {
            b'C' => it.length + (usize::from(it.decimals) << 8),
            _ => it.length,
        };
        let sum =
            |length: &dyn Fn(&Described<'_>) -> usize| described.iter().map(length).sum::<usize>();
        let is_long = sum(&|it| it.length) + 1 != self.record && sum(&long) + 1 == self.record;
        let (mut at, mut bit, mut unread) = (1, 0, Vec::new());
        for it in described {
            let length = if is_long { long(it) } else { it.length };
            let range = at..at + length;
            at = range.end;
            let name = self.texts.decode(it.name).into_owned();
            if it.letter == b'0' {
                self.null_bits = Some(range);
                continue;
            }
            if it.flags & IS_SYSTEM != 0 {
                continue;
            }
            // Of a text of any length one bit says whether it fills its place.
            bit += usize::from(matches!(it.letter, b'V' | b'Q'));
            let kind = Kind::of(it.letter, length, it.decimals);
            if kind == Kind::Unread {
                unread.push(name.clone());
            }
            let null_bit = (it.flags & MAY_BE_NULL != 0).then_some(bit);
            bit += usize::from(null_bit.is_some());
            self.fields.push(Field {
                name,
                kind,
                range,
                null_bit,
            });
        }
        if at > self.record || self.record < 2 {
            let cause = format!(
                "its columns take {at} bytes of a record, which has {}",
                self.record
            );
            return Err(Failure::new(FileErrorKind::Corrupt, cause));
        }
        if self.fields.is_empty() {
            return Err(Failure::new(FileErrorKind::Empty, "it has no column"));
        }
        if !unread.is_empty() {
            let names: String = unread.join(", ").chars().take(QUOTED).collect();
            let note =
                format!("memos and values of kinds that limn does not know are null: {names}");
            self.notes.push(note);
        }
        Ok(())
    }
}

/// Letters of column names that a note quotes.
const QUOTED: usize = 120;

fn unread(cause: &str) -> Failure {
    Failure::new(FileErrorKind::Unsupported, cause)
        .with_remedy("save it as dBase III or IV, or as CSV")
}

fn is_version(version: u8) -> bool {
    (2..=5).contains(&(version & 7)) || matches!(version, 0x30..=0x32)
}

/// The columns of a head; `None` where it is none.
fn described_in(mut head: &[u8]) -> Option<Vec<Described<'_>>> {
    let mut described = Vec::new();
    while head.first().is_some_and(|byte| *byte != END) {
        let (field, rest) = head.split_at_checked(FIELD)?;
        head = rest;
        let name = field.split(|byte| *byte == 0).next()?;
        let (name, letter) = (name.get(..11).unwrap_or(name), *field.get(11)?);
        let is_kind = letter.is_ascii_alphabetic() || b"0@+".contains(&letter);
        if name.is_empty() || name.iter().any(u8::is_ascii_control) || !is_kind {
            return None;
        }
        described.push(Described {
            name,
            letter: letter.to_ascii_uppercase(),
            length: usize::from(*field.get(16)?),
            decimals: *field.get(17)?,
            flags: *field.get(18)?,
        });
    }
    (!described.is_empty()).then_some(described)
}
