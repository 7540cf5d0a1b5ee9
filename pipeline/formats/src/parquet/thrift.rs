//! The Thrift structures of a Parquet file, walked before the decoder sees them.
//!
//! The decoder (parquet 59.3) trusts what it reads: it goes by a field's number and not by its
//! declared kind, recurses once for each level of the schema, and reserves memory for as many row
//! groups and children as a list claims. A hostile footer of a few bytes could so overflow the
//! stack or exhaust memory, and neither can be caught. This walk recurses over nothing that the
//! file says, takes the structures that the decoder reads by number only in their declared kinds,
//! bounds every list by the bytes that are left, and refuses what it does not understand: what
//! passes, the decoder reads the same way.
//!
//! Thrift's compact protocol: apache/thrift, doc/specs/thrift-compact-protocol.md. The structures:
//! apache/parquet-format, parquet.thrift.

mod structures;

use self::structures::{
    CHILDREN, FILE_META_DATA, Field, Of, PAGE_HEADER, ROW_GROUP, SCHEMA_ELEMENT,
};
use Of::{Binary, Bool, Byte, Double, Integer, List, RowGroups, Schema, Struct};

/// Schema elements, columns and groups, of a footer; memory is reserved for all that it claims.
const MAX_ELEMENTS: u64 = 1 << 20;
/// Row groups of a footer: the decoder numbers them so.
const MAX_ROW_GROUPS: u64 = i16::MAX as u64;

/// Why a structure is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The bytes end within it.
    Cut,
    /// It is no Thrift, or not of this structure.
    Malformed,
}

type Walked<T> = Result<T, Refusal>;

/// The depth of a footer's deepest schema element.
pub(super) fn footer_depth(footer: &[u8]) -> Walked<usize> {
    let mut walk = Walk {
        rest: footer,
        deepest: 0,
    };
    walk.structure(FILE_META_DATA, &mut |_, _| ())?;
    Ok(walk.deepest)
}

/// The fields of a page's header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Bytes once unpacked.
    pub(super) unpacked: u64,
    pub(super) is_dictionary: bool,
}

/// Reads the page header that `bytes` begin with.
pub(super) fn page(bytes: &[u8]) -> Walked<Page> {
    let mut walk = Walk {
        rest: bytes,
        deepest: 0,
    };
    let (mut kind, mut unpacked, mut fields) = (None, None, Vec::new());
    walk.structure(PAGE_HEADER, &mut |field, value| match field {
        // The decoder takes these numbers as 32 bits, whatever was written.
        1 => kind = Some(value as i32),
        2 => unpacked = u64::try_from(value as i32).ok(),
        field => fields.push(field),
    })?;
    // The decoder takes for granted that the type's own header follows.
    let complete = match kind.ok_or(Refusal::Malformed)? {
        DATA_PAGE => fields.contains(&5),
        DICTIONARY_PAGE => fields.contains(&7),
        DATA_PAGE_V2 => fields.contains(&8),
        _ => true,
    };
    if !complete {
        return Err(Refusal::Malformed);
    }
    Ok(Page {
        unpacked: unpacked.ok_or(Refusal::Malformed)?,
        is_dictionary: kind == Some(DICTIONARY_PAGE),
    })
}

const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
const DATA_PAGE_V2: i32 = 3;

const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
const STRUCT: u8 = 12;
const UUID: u8 = 13;

struct Walk<'a> {
    rest: &'a [u8],
    deepest: usize,
}

impl Walk<'_> {
    /// Walks a structure; `note` receives its own fields, and the value of those that are integers.
    fn structure(&mut self, fields: &[Field], note: &mut dyn FnMut(i16, i64)) -> Walked<()> {
        let mut id = 0;
        while let Some(kind) = self.field(&mut id)? {
            match fields.iter().find(|(known, _)| *known == id) {
                Some((_, Integer)) => {
                    if !matches!(kind, I16 | I32 | I64) {
                        return Err(Refusal::Malformed);
                    }
                    note(id, self.integer()?);
                }
                Some((_, of)) => {
                    note(id, 0);
                    self.value(of, kind)?;
                }
                None => self.skip(kind)?,
            }
        }
        Ok(())
    }

    /// Walks a value of this declared kind. The recursion is over the structures above, not over
    /// the file.
    fn value(&mut self, of: &Of, kind: u8) -> Walked<()> {
        match (of, kind) {
            (Bool, TRUE | FALSE) => Ok(()),
            (Byte, BYTE) => self.take(1),
            (Integer, I16 | I32 | I64) => self.integer().map(drop),
            (Double, DOUBLE) => self.take(8),
            (Binary, BINARY) => self.binary(),
            (Struct(fields), STRUCT) => self.structure(fields, &mut |_, _| ()),
            (List(of), LIST | SET) => {
                let (length, kind) = self.list()?;
                (0..length).try_for_each(|_| self.value(of, kind))
            }
            (RowGroups, LIST | SET) => {
                let (length, kind) = self.list()?;
                if length > MAX_ROW_GROUPS {
                    return Err(Refusal::Malformed);
                }
                (0..length).try_for_each(|_| self.value(&Struct(ROW_GROUP), kind))
            }
            (Schema, LIST | SET) => self.schema(),
            _ => Err(Refusal::Malformed),
        }
    }

    fn schema(&mut self) -> Walked<()> {
        let (elements, kind) = self.list()?;
        if elements > MAX_ELEMENTS || (elements > 0 && kind != STRUCT) {
            return Err(Refusal::Malformed);
        }
        // Children still to come: of each open group, and of all.
        let mut open: Vec<u64> = Vec::new();
        let mut awaited = 0u64;
        for i in 0..elements {
            let mut children = Ok(0);
            self.structure(SCHEMA_ELEMENT, &mut |field, value| {
                if field == CHILDREN {
                    children = u64::try_from(value as i32);
                }
            })?;
            let children = children.map_err(|_| Refusal::Malformed)?;
            awaited = awaited.saturating_sub(1) + children;
            if awaited > elements - i - 1 {
                return Err(Refusal::Malformed);
            }
            open.push(children);
            self.deepest = self.deepest.max(open.len());
            while open.last() == Some(&0) {
                open.pop();
                if let Some(siblings) = open.last_mut() {
                    *siblings -= 1;
                }
            }
        }
        Ok(())
    }

    /// The next field's kind, its number in `id`; none at the structure's end.
    fn field(&mut self, id: &mut i16) -> Walked<Option<u8>> {
        let head = self.byte()?;
        let kind = head & 0x0f;
        if kind == 0 {
            return Ok(None);
        }
        let next = match head >> 4 {
            0 => i16::try_from(self.integer()?).ok(),
            delta => id.checked_add(i16::from(delta)),
        };
        *id = next.ok_or(Refusal::Malformed)?;
        Ok(Some(kind))
    }

    /// A list's length and its elements' kind. An element takes a byte at least.
    fn list(&mut self) -> Walked<(u64, u8)> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            length => u64::from(length),
        };
        if length > self.rest.len() as u64 {
            return Err(Refusal::Cut);
        }
        Ok((length, head & 0x0f))
    }

    /// Skips a value. What is inside it waits on a stack of its own.
    fn skip(&mut self, kind: u8) -> Walked<()> {
        enum Todo {
            Value(u8),
            Elements(u64, u8),
            Pairs(u64, u8, u8),
            Fields,
        }
        // The decoder takes no byte for a boolean in a list, against the specification; no
        // structure of Parquet has such a list where the decoder skips.
        let element = |kind| match kind {
            TRUE | FALSE => Err(Refusal::Malformed),
            kind => Ok(Todo::Value(kind)),
        };
        let mut stack = vec![Todo::Value(kind)];
        while let Some(todo) = stack.pop() {
            match todo {
                Todo::Elements(0, _) | Todo::Pairs(0, ..) => {}
                Todo::Elements(n, kind) => {
                    stack.push(Todo::Elements(n - 1, kind));
                    stack.push(element(kind)?);
                }
                Todo::Pairs(n, key, value) => {
                    stack.push(Todo::Pairs(n - 1, key, value));
                    stack.push(element(value)?);
                    stack.push(element(key)?);
                }
                Todo::Fields => {
                    if let Some(kind) = self.field(&mut 0)? {
                        stack.push(Todo::Fields);
                        stack.push(Todo::Value(kind));
                    }
                }
                Todo::Value(kind) => match kind {
                    TRUE | FALSE => {}
                    BYTE => self.take(1)?,
                    I16 | I32 | I64 => drop(self.varint()?),
                    DOUBLE => self.take(8)?,
                    BINARY => self.binary()?,
                    LIST | SET => {
                        let (length, kind) = self.list()?;
                        stack.push(Todo::Elements(length, kind));
                    }
                    MAP => {
                        let length = self.varint()?;
                        if length > self.rest.len() as u64 {
                            return Err(Refusal::Cut);
                        }
                        if length > 0 {
                            let kinds = self.byte()?;
                            stack.push(Todo::Pairs(length, kinds >> 4, kinds & 0x0f));
                        }
                    }
                    STRUCT => stack.push(Todo::Fields),
                    UUID => self.take(16)?,
                    _ => return Err(Refusal::Malformed),
                },
            }
        }
        Ok(())
    }

    fn byte(&mut self) -> Walked<u8> {
        let (first, rest) = self.rest.split_first().ok_or(Refusal::Cut)?;
        self.rest = rest;
        Ok(*first)
    }

    fn take(&mut self, length: u64) -> Walked<()> {
        let rest = usize::try_from(length)
            .ok()
            .and_then(|n| self.rest.get(n..));
        self.rest = rest.ok_or(Refusal::Cut)?;
        Ok(())
    }

    fn binary(&mut self) -> Walked<()> {
        let length = self.varint()?;
        self.take(length)
    }

    /// A number in zigzag order: 0, -1, 1, -2, …
    fn integer(&mut self) -> Walked<i64> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    fn varint(&mut self) -> Walked<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Refusal::Malformed)
    }
}

/// A Parquet file that has this footer and nothing else.
#[cfg(test)]
pub(crate) fn file_of(footer: &[u8]) -> Vec<u8> {
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", footer, &length, b"PAR1"].concat()
}

/// A footer whose schema has `depth` groups, each the only child of the one before. `schema` is the
/// head of the list's field, `children` that of each element's number of children.
#[cfg(test)]
pub(crate) fn deep_footer(depth: usize, schema: &[u8], children: u8) -> Vec<u8> {
    let mut footer = vec![0x15, 0x02];
    footer.extend(schema);
    footer.push(0xfc);
    footer.extend(varint_of(depth as u64));
    for i in 0..depth {
        // repetition_type: required; name: "a"; num_children: 1 (the last: type INT32 before,
        // none).
        if i + 1 < depth {
            footer.extend([0x35, 0x00, 0x18, 0x01, b'a', children, 0x02, 0x00]);
        } else {
            footer.extend([0x15, 0x02, 0x25, 0x00, 0x18, 0x01, b'a', 0x00]);
        }
    }
    // num_rows: 0, row_groups: none
    footer.extend([0x16, 0x00, 0x19, 0x0c, 0x00]);
    footer
}

#[cfg(test)]
pub(crate) fn varint_of(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use parquet::file::metadata::ParquetMetaDataReader;
    use proptest::prelude::*;

    #[test]
    fn depths_are_counted() {
        assert_eq!(footer_depth(&deep_footer(40, &[0x19], 0x15)), Ok(40));
        // A group of two, then a column beside it.
        let flat = [
            0x15, 0x02, 0x19, 0x4c, // four elements
            0x48, 0x01, b'r', 0x15, 0x04, 0x00, // r: two children
            0x48, 0x01, b'g', 0x15, 0x02, 0x00, // g: one
            0x48, 0x01, b'x', 0x00, 0x48, 0x01, b'y', 0x00, 0x00,
        ];
        assert_eq!(footer_depth(&flat), Ok(3));
        assert_eq!(footer_depth(&flat[..20]), Err(Refusal::Cut));
    }

    #[test]
    fn disguised_schemas_are_seen() {
        // As a set, and with the number of children as another integer: the decoder reads both.
        for footer in [
            deep_footer(40, &[0x1a], 0x15),
            deep_footer(40, &[0x19], 0x16),
            // Behind an unknown field of sixteen bytes.
            deep_footer(
                40,
                &[[0xfd].as_slice(), &[0; 16], &[0x09, 0x04]].concat(),
                0x15,
            ),
        ] {
            assert_eq!(footer_depth(&footer), Ok(40));
            assert!(ParquetMetaDataReader::decode_metadata(&footer).is_ok());
        }
        // The version as bytes: the decoder would read a number, and something else from there on.
        let mut footer = deep_footer(40, &[0x19], 0x15);
        footer[0] = 0x18;
        assert_eq!(footer_depth(&footer), Err(Refusal::Malformed));
    }

    #[test]
    fn claims_beyond_the_bytes_are_refused() {
        let huge = varint_of(i32::MAX as u64);
        let row_groups = [
            &[
                0x15, 0x02, 0x19, 0x1c, 0x48, 0x01, b'a', 0x00, 0x16, 0x00, 0x19, 0xfc,
            ],
            huge.as_slice(),
            &[0x00],
        ];
        assert_eq!(footer_depth(&row_groups.concat()), Err(Refusal::Cut));
        let children = varint_of(2 * i32::MAX as u64);
        let schema = [
            &[0x15, 0x02, 0x19, 0x1c, 0x48, 0x01, b'a', 0x15],
            children.as_slice(),
            &[0x00, 0x00],
        ];
        assert_eq!(footer_depth(&schema.concat()), Err(Refusal::Malformed));
    }

    #[test]
    fn page_headers_have_their_size() {
        let sized = |unpacked| Page {
            unpacked,
            is_dictionary: false,
        };
        // type 0, unpacked 300 (zigzag 600), packed 100
        let header = [
            0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0xc8, 0x01, 0x2c, 0x00, 0x00,
        ];
        assert_eq!(page(&header), Ok(sized(300)));
        // A data page with no header of a data page.
        let bare = [0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0xc8, 0x01, 0x00];
        assert_eq!(page(&bare), Err(Refusal::Malformed));
        // The same with the fields' numbers written out.
        let long = [
            0x05, 0x02, 0x00, 0x05, 0x04, 0xd8, 0x04, 0x15, 0xc8, 0x01, 0x2c, 0x00, 0x00,
        ];
        assert_eq!(page(&long), Ok(sized(300)));
        let dictionary = [0x15, 0x04, 0x15, 0x02, 0x15, 0x02, 0x4c, 0x00, 0x00];
        assert_eq!(
            page(&dictionary).unwrap(),
            Page {
                unpacked: 1,
                is_dictionary: true
            }
        );
        assert_eq!(page(&header[..5]), Err(Refusal::Cut));
        assert_eq!(page(&[]), Err(Refusal::Cut));
        // Less than no bytes, and no size at all.
        assert_eq!(
            page(&[0x15, 0x00, 0x15, 0x01, 0x3c, 0x00, 0x00]),
            Err(Refusal::Malformed)
        );
        assert_eq!(
            page(&[0x15, 0x00, 0x4c, 0x00, 0x00]),
            Err(Refusal::Malformed)
        );
    }

    proptest! {
        #[test]
        fn anything_goes(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            let _ = footer_depth(&bytes);
            let _ = page(&bytes);
        }
    }
}
