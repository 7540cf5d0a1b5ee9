//! The few Protocol Buffers messages of an ORC file that a summary needs (ORC specification v1,
//! "File Tail", "Stripe Footer"), read field by field. Fields that are not known are skipped.

use std::collections::HashMap;

use crate::documented;

/// A message's fields, in the order in which they stand.
pub(super) struct Fields<'a>(&'a [u8]);

/// A field's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// A number of fixed length, which no field that is read has.
    Fixed,
}

/// A message breaks off or is none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken;

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Fields(message)
    }

    fn varint(&mut self) -> Result<u64, Broken> {
        let mut number = 0u64;
        for (i, byte) in self.0.iter().take(10).enumerate() {
            number |= u64::from(byte & 0x7f)
                .checked_shl(7 * i as u32)
                .unwrap_or(0);
            if byte & 0x80 == 0 {
                self.0 = &self.0[i + 1..];
                return Ok(number);
            }
        }
        Err(Broken)
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], Broken> {
        let length = usize::try_from(length).map_err(|_| Broken)?;
        let bytes = self.0.get(..length).ok_or(Broken)?;
        self.0 = &self.0[length..];
        Ok(bytes)
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), Broken> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Number(self.varint()?),
            1 => {
                self.take(8)?;
                Value::Fixed
            }
            2 => {
                let length = self.varint()?;
                Value::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Value::Fixed
            }
            _ => return Err(Broken),
        };
        Ok((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Value<'a> {
    pub(super) fn number(self) -> Result<u64, Broken> {
        match self {
            Value::Number(number) => Ok(number),
            _ => Err(Broken),
        }
    }

    /// A number that was written with its sign in the lowest bit.
    pub(super) fn signed(self) -> Result<i64, Broken> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    pub(super) fn bytes(self) -> Result<&'a [u8], Broken> {
        match self {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(Broken),
        }
    }

    pub(super) fn text(self) -> Result<String, Broken> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    /// The numbers of a repeated field, packed or one: at most `most`.
    pub(super) fn numbers(self, most: usize) -> Result<Vec<u64>, Broken> {
        match self {
            Value::Number(number) => Ok(vec![number]),
            Value::Bytes(bytes) => {
                let mut fields = Fields(bytes);
                let mut numbers = Vec::new();
                while !fields.0.is_empty() {
                    if numbers.len() >= most {
                        return Err(Broken);
                    }
                    numbers.push(fields.varint()?);
                }
                Ok(numbers)
            }
            Value::Fixed => Err(Broken),
        }
    }
}

/// How a file ends.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PostScript {
    pub(super) footer: u64,
    pub(super) compression: u64,
    pub(super) block: Option<u64>,
}

impl PostScript {
    pub(super) fn parse(message: &[u8]) -> Result<Self, Broken> {
        let mut found = PostScript::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => found.footer = value.number()?,
                (2, value) => found.compression = value.number()?,
                (3, value) => found.block = Some(value.number()?),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Rows that are stored together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StripeInfo {
    pub(super) offset: u64,
    pub(super) index: u64,
    pub(super) data: u64,
    pub(super) footer: u64,
    pub(super) rows: u64,
}

/// A column, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TypeInfo {
    pub(super) kind: u64,
    pub(super) parts: Vec<u64>,
    pub(super) names: Vec<String>,
    pub(super) precision: u64,
    pub(super) scale: u64,
    /// What describes it in its writer's metadata.
    pub(super) said: HashMap<String, String>,
    /// What Iceberg's writers say of it.
    pub(super) iceberg: OfIceberg,
}

/// The attributes that Iceberg's writers give a type (Iceberg's specification, "ORC").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OfIceberg {
    /// The field's id.
    pub(super) id: Option<i32>,
    /// Of whole numbers: that they are times of a day, in microseconds.
    pub(super) is_time: bool,
    /// Of timestamps: that they are in nanoseconds, not microseconds.
    pub(super) is_nanoseconds: bool,
}

/// What the writer counted of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Statistics {
    /// Values that are not null.
    pub(super) values: Option<u64>,
    pub(super) integers: (Option<i64>, Option<i64>),
    pub(super) texts: (Option<String>, Option<String>),
}

#[derive(Debug, Default)]
pub(super) struct Footer {
    pub(super) stripes: Vec<StripeInfo>,
    pub(super) types: Vec<TypeInfo>,
    pub(super) rows: u64,
    pub(super) statistics: Vec<Statistics>,
    pub(super) is_encrypted: bool,
    /// What describes the file in its writer's metadata.
    pub(super) said: HashMap<String, String>,
}

impl Footer {
    /// Reads a footer of at most `most` stripes and types, whose types have as many parts together,
    /// and names.
    pub(super) fn parse(message: &[u8], most: usize) -> Result<Self, Broken> {
        let mut found = Footer::default();
        let mut left = 2 * most;
        for field in Fields::of(message) {
            match field? {
                (3, value) => found.stripes.push(StripeInfo::parse(value.bytes()?)?),
                (4, value) => {
                    let of = TypeInfo::parse(value.bytes()?, left)?;
                    left = left.saturating_sub(of.parts.len() + of.names.len());
                    found.types.push(of);
                }
                (5, value) => take_said(value.bytes()?, &mut found.said)?,
                (6, value) => found.rows = value.number()?,
                (7, value) => found.statistics.push(Statistics::parse(value.bytes()?)?),
                (10, _) => found.is_encrypted = true,
                _ => {}
            }
            let longest = found.stripes.len().max(found.types.len());
            if longest.max(found.statistics.len()) > most {
                return Err(Broken);
            }
        }
        Ok(found)
    }
}

/// A pair of a key and a text.
fn pair(message: &[u8]) -> Result<(&[u8], &[u8]), Broken> {
    let (mut key, mut text) = (&b""[..], &b""[..]);
    for field in Fields::of(message) {
        match field? {
            (1, value) => key = value.bytes()?,
            (2, value) => text = value.bytes()?,
            _ => {}
        }
    }
    Ok((key, text))
}

impl OfIceberg {
    /// Takes an attribute, if it is one of these.
    fn take(&mut self, attribute: &[u8]) -> Result<(), Broken> {
        match pair(attribute)? {
            (b"iceberg.id", id) => {
                self.id = std::str::from_utf8(id).ok().and_then(|id| id.parse().ok());
            }
            (b"iceberg.long-type", kind) => self.is_time = kind == b"TIME",
            (b"iceberg.timestamp-unit", unit) => self.is_nanoseconds = unit == b"NANOS",
            _ => {}
        }
        Ok(())
    }
}

/// Takes a pair of a key and a text, if the key is one of descriptions; others are for programs.
fn take_said(message: &[u8], said: &mut HashMap<String, String>) -> Result<(), Broken> {
    let (key, text) = pair(message)?;
    // The first of equal ones holds, so that there are no more than there are keys.
    if let Some(key) = documented::key_of(key) {
        said.entry(key.to_owned())
            .or_insert_with(|| String::from_utf8_lossy(text).into_owned());
    }
    Ok(())
}

impl StripeInfo {
    fn parse(message: &[u8]) -> Result<Self, Broken> {
        let mut found = StripeInfo::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => found.offset = value.number()?,
                (2, value) => found.index = value.number()?,
                (3, value) => found.data = value.number()?,
                (4, value) => found.footer = value.number()?,
                (5, value) => found.rows = value.number()?,
                _ => {}
            }
        }
        Ok(found)
    }
}

impl TypeInfo {
    /// Reads a type of at most `most` parts and names together.
    fn parse(message: &[u8], most: usize) -> Result<Self, Broken> {
        let mut found = TypeInfo::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => found.kind = value.number()?,
                (2, value) => found.parts.extend(value.numbers(most)?),
                (3, value) => found.names.push(value.text()?),
                (5, value) => found.precision = value.number()?,
                (6, value) => found.scale = value.number()?,
                (7, value) => {
                    let attribute = value.bytes()?;
                    take_said(attribute, &mut found.said)?;
                    found.iceberg.take(attribute)?;
                }
                _ => {}
            }
            if found.parts.len() + found.names.len() > most {
                return Err(Broken);
            }
        }
        Ok(found)
    }
}

impl Statistics {
    fn parse(message: &[u8]) -> Result<Self, Broken> {
        let mut found = Statistics::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => found.values = Some(value.number()?),
                (2, value) => {
                    for field in Fields::of(value.bytes()?) {
                        match field? {
                            (1, value) => found.integers.0 = Some(value.signed()?),
                            (2, value) => found.integers.1 = Some(value.signed()?),
                            _ => {}
                        }
                    }
                }
                (4, value) => {
                    for field in Fields::of(value.bytes()?) {
                        match field? {
                            (1, value) => found.texts.0 = Some(value.text()?),
                            (2, value) => found.texts.1 = Some(value.text()?),
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Bytes of one kind of one column in a stripe.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamInfo {
    pub(super) kind: u64,
    pub(super) column: u64,
    pub(super) length: u64,
}

/// How a column is encoded in a stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Encoding {
    pub(super) kind: u64,
    pub(super) dictionary: u64,
}

#[derive(Debug, Default)]
pub(super) struct StripeFooter {
    pub(super) streams: Vec<StreamInfo>,
    pub(super) encodings: Vec<Encoding>,
    pub(super) zone: Option<String>,
}

impl StripeFooter {
    /// Reads a stripe's footer of at most `most` streams and columns.
    pub(super) fn parse(message: &[u8], most: usize) -> Result<Self, Broken> {
        let mut found = StripeFooter::default();
        for field in Fields::of(message) {
            match field? {
                (1, value) => {
                    let mut stream = StreamInfo::default();
                    for field in Fields::of(value.bytes()?) {
                        match field? {
                            (1, value) => stream.kind = value.number()?,
                            (2, value) => stream.column = value.number()?,
                            (3, value) => stream.length = value.number()?,
                            _ => {}
                        }
                    }
                    found.streams.push(stream);
                }
                (2, value) => {
                    let mut encoding = Encoding::default();
                    for field in Fields::of(value.bytes()?) {
                        match field? {
                            (1, value) => encoding.kind = value.number()?,
                            (2, value) => encoding.dictionary = value.number()?,
                            _ => {}
                        }
                    }
                    found.encodings.push(encoding);
                }
                (3, value) => found.zone = Some(value.text()?),
                _ => {}
            }
            if found.streams.len().max(found.encodings.len()) > most {
                return Err(Broken);
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_fields_are_taken_and_others_skipped() {
        // Fields 1 (300), 9 (fixed, 4 bytes), 2 (5), 8000 ("ORC").
        let message = [
            0x08, 0xac, 0x02, 0x4d, 1, 2, 3, 4, 0x10, 0x05, 0x82, 0xf4, 0x03, 0x03, b'O', b'R',
            b'C',
        ];
        let expected = PostScript {
            footer: 300,
            compression: 5,
            ..PostScript::default()
        };
        assert_eq!(PostScript::parse(&message), Ok(expected));
        assert_eq!(PostScript::parse(&message[..2]), Err(Broken));
        assert_eq!(
            PostScript::parse(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f]),
            Err(Broken)
        );
    }

    #[test]
    fn repeated_numbers_are_packed_or_not() {
        let one_by_one = TypeInfo::parse(&[0x08, 12, 0x10, 1, 0x10, 2], 2).unwrap();
        let packed = TypeInfo::parse(&[0x08, 12, 0x12, 2, 1, 2], 2).unwrap();
        assert_eq!(one_by_one, packed);
        assert_eq!(packed.parts, [1, 2]);
    }

    #[test]
    fn parts_and_names_are_not_taken_in_any_number() {
        let parts = [&[0x12, 100][..], &[1; 100]].concat();
        let names = [0x1a, 0].repeat(100);
        for of in [&parts, &names] {
            assert_eq!(TypeInfo::parse(of, 99), Err(Broken));
            assert!(TypeInfo::parse(of, 100).is_ok());
            // In a footer those of all types count together.
            let length = [of.len() as u8 | 0x80, (of.len() >> 7) as u8];
            let footer = [&[0x22], &length[..], &of[..]].concat();
            assert!(Footer::parse(&footer, 50).is_ok());
            assert!(Footer::parse(&footer, 49).is_err());
            assert!(Footer::parse(&footer.repeat(2), 50).is_err());
        }
    }

    #[test]
    fn descriptions_are_taken_of_what_writers_say() {
        let pair = |key: &str, text: &str| {
            let mut pair = vec![0x0a, key.len() as u8];
            pair.extend(key.as_bytes());
            pair.extend([0x12, text.len() as u8]);
            pair.extend(text.as_bytes());
            pair
        };
        let within = |tag: u8, inner: &[u8]| [&[tag, inner.len() as u8], inner].concat();
        let all = [
            within(0x2a, &pair("writer", "x")),
            within(0x2a, &pair("Description", "Orders of the shop")),
            within(0x2a, &pair("DESCRIPTION", "later")),
            within(
                0x22,
                &[&[0x08, 3][..], &within(0x3a, &pair("doc", "The number"))].concat(),
            ),
        ];
        let footer = Footer::parse(&all.concat(), 10).unwrap();
        assert_eq!(footer.said["description"], "Orders of the shop");
        assert_eq!(footer.said.len(), 1);
        assert_eq!(footer.types[0].said["doc"], "The number");
    }

    proptest! {
        #[test]
        fn anything_goes(message in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = PostScript::parse(&message);
            let _ = Footer::parse(&message, 10);
            let _ = StripeFooter::parse(&message, 10);
        }
    }
}
