//! A walk over Avro's bytes without their values: where each row ends, and what it takes in memory.
//!
//! The decoder believes what it reads: a few bytes may claim a list of two billion nulls, or a null
//! that takes as many bytes as a record of a thousand fields. So every row is walked before it is
//! decoded.

use super::schema::{Node, Schema};

/// Why a row has no end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Stopped {
    /// Its bytes are none of its types.
    Broken,
    /// It takes more memory than it may.
    TooMuch,
}

/// Rows that are walked one after another.
pub(super) struct Walk<'a> {
    schema: &'a Schema,
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    pub(super) fn new(schema: &'a Schema, bytes: &'a [u8]) -> Self {
        Walk {
            schema,
            bytes,
            at: 0,
        }
    }

    /// Where the next row begins.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Walks over a row; returns what it takes in memory, at most `most` bytes.
    pub(super) fn row(&mut self, most: u64) -> Result<u64, Stopped> {
        let schema = self.schema;
        let mut left = most;
        for column in &schema.columns {
            self.value(*column, &mut left)?;
        }
        Ok(most - left)
    }

    fn value(&mut self, node: usize, left: &mut u64) -> Result<(), Stopped> {
        let schema = self.schema;
        let spend = |left: &mut u64, bytes: u64| {
            *left = left.checked_sub(bytes).ok_or(Stopped::TooMuch)?;
            Ok(())
        };
        match &schema.nodes[node] {
            Node::Null => spend(left, 1),
            Node::Boolean => {
                self.skip(1)?;
                spend(left, 1)
            }
            Node::Int | Node::Long => {
                self.long()?;
                spend(left, 8)
            }
            Node::Enum(symbols) => {
                let symbol = u64::try_from(self.long()?).map_err(|_| Stopped::Broken)?;
                if symbol >= *symbols {
                    return Err(Stopped::Broken);
                }
                spend(left, 4)
            }
            Node::Float => {
                self.skip(4)?;
                spend(left, 4)
            }
            Node::Double => {
                self.skip(8)?;
                spend(left, 8)
            }
            Node::Fixed(size) => {
                self.skip(*size)?;
                spend(left, *size + 1)
            }
            Node::Bytes | Node::String => {
                let length = self.length()?;
                self.skip(length)?;
                // A decimal is no text, and may be longer in memory.
                spend(left, length + 32)
            }
            Node::Record(fields) => {
                spend(left, 1)?;
                fields.iter().try_for_each(|field| self.value(*field, left))
            }
            Node::Array(items) => {
                spend(left, 4)?;
                self.items(left, |walk, left| walk.value(*items, left))
            }
            Node::Map(values) => {
                spend(left, 4)?;
                self.items(left, |walk, left| {
                    let length = walk.length()?;
                    walk.skip(length)?;
                    spend(left, length + 4)?;
                    walk.value(*values, left)
                })
            }
            Node::Union(branches) => {
                let branch = usize::try_from(self.long()?).map_err(|_| Stopped::Broken)?;
                let branch = *branches.get(branch).ok_or(Stopped::Broken)?;
                spend(left, 8)?;
                if schema.nodes[branch] == Node::Null {
                    // The value that is not there has its place in memory.
                    return spend(left, schema.null_costs[node]);
                }
                self.value(branch, left)
            }
        }
    }

    /// Blocks of items, up to an empty one.
    fn items(
        &mut self,
        left: &mut u64,
        mut item: impl FnMut(&mut Self, &mut u64) -> Result<(), Stopped>,
    ) -> Result<(), Stopped> {
        loop {
            let mut count = self.long()?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                // The block's length in bytes.
                self.length()?;
                count = count.checked_neg().ok_or(Stopped::Broken)?;
            }
            for _ in 0..count {
                *left = left.checked_sub(1).ok_or(Stopped::TooMuch)?;
                item(self, left)?;
            }
        }
    }

    fn skip(&mut self, bytes: u64) -> Result<(), Stopped> {
        let bytes = usize::try_from(bytes).map_err(|_| Stopped::Broken)?;
        let end = self.at.checked_add(bytes).ok_or(Stopped::Broken)?;
        if end > self.bytes.len() {
            return Err(Stopped::Broken);
        }
        self.at = end;
        Ok(())
    }

    fn length(&mut self) -> Result<u64, Stopped> {
        u64::try_from(self.long()?).map_err(|_| Stopped::Broken)
    }

    fn long(&mut self) -> Result<i64, Stopped> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let (number, length) = long(rest).ok_or(Stopped::Broken)?;
        self.at += length;
        Ok(number)
    }
}

/// A number in Avro's variable length, and its length.
pub(super) fn long(bytes: &[u8]) -> Option<(i64, usize)> {
    let mut number = 0u64;
    for (i, byte) in bytes.iter().take(10).enumerate() {
        if i == 9 && *byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some(((number >> 1) as i64 ^ -((number & 1) as i64), i + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn schema(kind: &str) -> Schema {
        let json =
            format!(r#"{{"type":"record","name":"r","fields":[{{"name":"x","type":{kind}}}]}}"#);
        Schema::parse(json.as_bytes()).unwrap()
    }

    #[test]
    fn numbers_of_variable_length() {
        assert_eq!(long(&[0]), Some((0, 1)));
        assert_eq!(long(&[1, 7]), Some((-1, 1)));
        assert_eq!(long(&[0x80, 0x01]), Some((64, 2)));
        let least = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(long(&least), Some((i64::MIN, 10)));
        assert_eq!(long(&[0xff; 10]), None);
        assert_eq!(long(&[0x80]), None);
        assert_eq!(long(&[]), None);
    }

    #[test]
    fn rows_end_where_their_values_do() {
        let schema = schema(r#"{"type":"array","items":["null","string"]}"#);
        // Two items, a null and "ab", and the end; then no items.
        let mut walk = Walk::new(&schema, &[4, 0, 2, 4, b'a', b'b', 0, 0]);
        walk.row(1000).unwrap();
        assert_eq!(walk.at(), 7);
        walk.row(1000).unwrap();
        assert_eq!(walk.at(), 8);
        assert_eq!(walk.row(1000), Err(Stopped::Broken));
        // With the block's length.
        let mut walk = Walk::new(&schema, &[3, 10, 0, 2, 4, b'a', b'b', 0]);
        walk.row(1000).unwrap();
        assert_eq!(walk.at(), 8);
    }

    #[test]
    fn lists_that_claim_too_much_are_too_much() {
        let nulls = schema(r#"{"type":"array","items":"null"}"#);
        let two_billion = [0xfe, 0xff, 0xff, 0xff, 0x0f, 0];
        assert_eq!(
            Walk::new(&nulls, &two_billion).row(1 << 20),
            Err(Stopped::TooMuch)
        );
        let wide =
            schema(r#"{"type":"array","items":["null",{"type":"fixed","name":"f","size":60000}]}"#);
        let hundred_nulls = [&[0xc8, 0x01][..], &[0; 100], &[0]].concat();
        assert_eq!(
            Walk::new(&wide, &hundred_nulls).row(1 << 20),
            Err(Stopped::TooMuch)
        );
        assert!(Walk::new(&wide, &hundred_nulls).row(1 << 23).is_ok());
    }

    #[test]
    fn values_that_are_none_are_broken() {
        for (kind, bytes) in [
            (r#""string""#, &[3u8][..]),
            (r#""string""#, &[8, b'a']),
            (r#"["null","int"]"#, &[4, 0]),
            (r#"["null","int"]"#, &[1, 0]),
            (r#"{"type":"enum","name":"e","symbols":["a"]}"#, &[2]),
            (r#""double""#, &[0, 0]),
        ] {
            assert_eq!(
                Walk::new(&schema(kind), bytes).row(1000),
                Err(Stopped::Broken),
                "{kind}"
            );
        }
    }
}
