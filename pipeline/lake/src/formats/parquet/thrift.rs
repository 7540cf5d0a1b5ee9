//! How deep a footer's schema nests, found without recursion: the decoder recurses once a level, so a
//! hostile footer of a few kilobytes could overflow its stack, which no panic handler survives.
//!
//! This walks the Thrift compact protocol (apache/thrift, doc/specs/thrift-compact-protocol.md) just as far
//! as the list of schema elements, field 2 of `FileMetaData` in parquet.thrift; an element's field 5 is
//! the number of its children, which follow it.

/// The depth of the deepest schema element; none where the footer is not understood, which is for the
/// decoder to complain about.
pub(super) fn schema_depth(footer: &[u8]) -> Option<usize> {
    let mut walk = Walk(footer);
    let mut id = 0;
    while let Some((field, kind)) = walk.field(&mut id)? {
        if field == 2 && kind == LIST {
            return walk.schema();
        }
        walk.skip(kind)?;
    }
    None
}

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

struct Walk<'a>(&'a [u8]);

impl Walk<'_> {
    fn schema(&mut self) -> Option<usize> {
        let (elements, kind) = self.list()?;
        if kind != STRUCT {
            return None;
        }
        // Children still to come, for each open group.
        let mut open: Vec<u64> = Vec::new();
        let mut deepest = 0;
        for _ in 0..elements {
            let mut children = 0;
            let mut id = 0;
            while let Some((field, kind)) = self.field(&mut id)? {
                if field == 5 && kind == I32 {
                    children = self.varint()? >> 1;
                } else {
                    self.skip(kind)?;
                }
            }
            open.push(children);
            deepest = deepest.max(open.len());
            while open.last() == Some(&0) {
                open.pop();
                if let Some(siblings) = open.last_mut() {
                    *siblings -= 1;
                }
            }
        }
        Some(deepest)
    }

    /// A field's number and type; the outer none is the end of the bytes, the inner that of the struct.
    #[expect(
        clippy::option_option,
        reason = "the end of the bytes is not the end of the struct"
    )]
    fn field(&mut self, id: &mut i64) -> Option<Option<(i64, u8)>> {
        let head = self.byte()?;
        if head == 0 {
            return Some(None);
        }
        *id = match head >> 4 {
            0 => {
                let zigzag = self.varint()?;
                (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)
            }
            delta => id.checked_add(i64::from(delta))?,
        };
        Some(Some((*id, head & 0x0f)))
    }

    fn list(&mut self) -> Option<(u64, u8)> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.varint()?,
            length => u64::from(length),
        };
        Some((length, head & 0x0f))
    }

    /// Skips a value. What is inside it waits on a stack of its own.
    fn skip(&mut self, kind: u8) -> Option<()> {
        enum Todo {
            Value(u8),
            Values(u64, u8),
            Pairs(u64, u8, u8),
            Fields(i64),
        }
        let mut stack = vec![Todo::Value(kind)];
        while let Some(todo) = stack.pop() {
            match todo {
                Todo::Values(0, _) | Todo::Pairs(0, ..) => {}
                Todo::Values(n, kind) => {
                    stack.push(Todo::Values(n - 1, kind));
                    // In a list, unlike in a struct, a boolean takes a byte.
                    stack.push(Todo::Value(if matches!(kind, TRUE | FALSE) {
                        BYTE
                    } else {
                        kind
                    }));
                }
                Todo::Pairs(n, key, value) => {
                    stack.push(Todo::Pairs(n - 1, key, value));
                    stack.push(Todo::Values(1, value));
                    stack.push(Todo::Values(1, key));
                }
                Todo::Fields(mut id) => {
                    if let Some((_, kind)) = self.field(&mut id)? {
                        stack.push(Todo::Fields(id));
                        stack.push(Todo::Value(kind));
                    }
                }
                Todo::Value(kind) => match kind {
                    TRUE | FALSE => {}
                    BYTE => drop(self.byte()?),
                    I16 | I32 | I64 => drop(self.varint()?),
                    DOUBLE => self.take(8)?,
                    BINARY => {
                        let length = self.varint()?;
                        self.take(length)?;
                    }
                    LIST | SET => {
                        let (length, kind) = self.list()?;
                        stack.push(Todo::Values(length, kind));
                    }
                    MAP => {
                        let length = self.varint()?;
                        if length > 0 {
                            let kinds = self.byte()?;
                            stack.push(Todo::Pairs(length, kinds >> 4, kinds & 0x0f));
                        }
                    }
                    STRUCT => stack.push(Todo::Fields(0)),
                    _ => return None,
                },
            }
        }
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, length: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(length).ok()?..)?;
        Some(())
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

/// A file of `depth` groups, each the only child of the one before: small, and deadly.
#[cfg(test)]
pub(in crate::formats) fn deep_file(depth: usize) -> Vec<u8> {
    let mut footer = vec![0x15, 0x02, 0x19, 0xfc];
    let mut length = depth;
    while length >= 0x80 {
        footer.push(length as u8 | 0x80);
        length >>= 7;
    }
    footer.push(length as u8);
    for i in 0..depth {
        // repetition_type: required; name: "a"; num_children: 1 (the last: type INT32 before, none).
        if i + 1 < depth {
            footer.extend([0x35, 0x00, 0x18, 0x01, b'a', 0x15, 0x02, 0x00]);
        } else {
            footer.extend([0x15, 0x02, 0x25, 0x00, 0x18, 0x01, b'a', 0x00]);
        }
    }
    // num_rows: 0, row_groups: none
    footer.extend([0x16, 0x00, 0x19, 0x0c, 0x00]);
    let mut file = b"PAR1".to_vec();
    let length = footer.len() as u32;
    file.extend(footer);
    file.extend(length.to_le_bytes());
    file.extend(b"PAR1");
    file
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn depths_are_counted() {
        let file = deep_file(40);
        assert_eq!(schema_depth(&file[4..]), Some(40));
        // A group of two, then a column beside it.
        let flat = [
            0x15, 0x02, 0x19, 0x4c, // four elements
            0x48, 0x01, b'r', 0x15, 0x04, 0x00, // r: two children
            0x48, 0x01, b'g', 0x15, 0x02, 0x00, // g: one
            0x48, 0x01, b'x', 0x00, 0x48, 0x01, b'y', 0x00,
        ];
        assert_eq!(schema_depth(&flat), Some(3));
    }

    proptest! {
        #[test]
        fn anything_goes(footer in prop::collection::vec(any::<u8>(), 0..500)) {
            schema_depth(&footer);
        }
    }
}
