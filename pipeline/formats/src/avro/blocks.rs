//! Where the blocks of an Avro file are (Avro specification 1.12, "Object Container Files"): after
//! the header one behind another, each followed by the file's marker, at which a file can be
//! entered anywhere.

use bytes::Bytes;
use limn_store::one_line;

use super::corrupt;
use super::walk::long;
use crate::Failure;
use crate::codec::Codec;
use crate::error::FileErrorKind;

pub(super) const MAGIC: &[u8] = b"Obj\x01";
/// Bytes of the marker.
const MARKER: usize = 16;
/// Pairs in a header's metadata.
const MAX_PAIRS: u64 = 10_000;

/// What a file's header says.
#[derive(Debug)]
pub(super) struct Header {
    /// The schema as JSON.
    pub(super) schema: Bytes,
    pub(super) packing: Packing,
    marker: [u8; MARKER],
    /// Where the first block begins.
    pub(super) end: u64,
}

/// How blocks are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Packed(Codec),
    /// With a checksum at the end.
    Snappy,
}

/// Why a header was not read.
pub(super) enum Unread {
    /// It does not end within the bytes at hand.
    Cut,
    Failed(Failure),
}

/// Reads the header that a file begins with.
pub(super) fn header(beginning: &Bytes) -> Result<Header, Unread> {
    let mut cursor = Cursor {
        bytes: beginning,
        at: MAGIC.len(),
    };
    let broken = || Unread::Failed(corrupt("its header is broken"));
    let (mut schema, mut packing, mut pairs) = (None, Packing::Plain, 0);
    loop {
        let mut count = cursor.long(broken)?;
        if count == 0 {
            break;
        }
        if count < 0 {
            cursor.long(broken)?;
            count = count.checked_neg().ok_or_else(broken)?;
        }
        for _ in 0..count {
            pairs += 1;
            if pairs > MAX_PAIRS {
                return Err(broken());
            }
            let key = cursor.bytes(broken)?;
            let value = cursor.bytes(broken)?;
            match key.as_ref() {
                b"avro.schema" => schema = Some(value),
                b"avro.codec" => packing = packed(&value).map_err(Unread::Failed)?,
                _ => {}
            }
        }
    }
    let marker = beginning.get(cursor.at..cursor.at + MARKER);
    let marker = marker.and_then(<[u8]>::first_chunk).ok_or(Unread::Cut)?;
    Ok(Header {
        schema: schema.ok_or_else(|| Unread::Failed(corrupt("its header has no schema")))?,
        packing,
        marker: *marker,
        end: (cursor.at + MARKER) as u64,
    })
}

fn packed(name: &[u8]) -> Result<Packing, Failure> {
    Ok(match name {
        b"" | b"null" => Packing::Plain,
        b"deflate" => Packing::Packed(Codec::Deflate),
        b"snappy" => Packing::Snappy,
        b"zstandard" => Packing::Packed(Codec::Zstd),
        other => {
            let name = one_line(&String::from_utf8_lossy(other));
            return Err(Failure::new(
                FileErrorKind::Unsupported,
                format!("its blocks are packed with {name}"),
            )
            .with_remedy("write it with the codec deflate, snappy or zstandard"));
        }
    })
}

struct Cursor<'a> {
    bytes: &'a Bytes,
    at: usize,
}

impl Cursor<'_> {
    fn long(&mut self, broken: impl Fn() -> Unread) -> Result<i64, Unread> {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        match long(rest) {
            Some((number, length)) => {
                self.at += length;
                Ok(number)
            }
            None if rest.len() < 10 => Err(Unread::Cut),
            None => Err(broken()),
        }
    }

    fn bytes(&mut self, broken: impl Fn() -> Unread) -> Result<Bytes, Unread> {
        let length = usize::try_from(self.long(&broken)?).map_err(|_| broken())?;
        let end = self.at.checked_add(length).ok_or_else(broken)?;
        if end > self.bytes.len() {
            return Err(Unread::Cut);
        }
        let bytes = self.bytes.slice(self.at..end);
        self.at = end;
        Ok(bytes)
    }
}

/// A block: where it begins, its rows, and its content, if all of it is at hand.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) offset: u64,
    pub(super) rows: u64,
    /// Where its content begins, and its length in bytes.
    pub(super) content: u64,
    pub(super) length: u64,
    /// None where it is not at hand.
    pub(super) bytes: Option<Bytes>,
}

impl Block {
    /// Bytes of the file that the block takes.
    pub(super) fn size(&self) -> u64 {
        self.content - self.offset + self.length + MARKER as u64
    }
}

impl Header {
    /// The blocks of `piece`, which stands at `offset` of a file of `size` bytes: from the first
    /// marker in it on, or from its beginning if a block begins there. The last may be cut off by
    /// the piece's end.
    pub(super) fn blocks(
        &self,
        piece: &Bytes,
        offset: u64,
        size: u64,
        begins: bool,
    ) -> Result<Vec<Block>, Failure> {
        let mut blocks = Vec::new();
        let mut at = if begins {
            0
        } else {
            match find(piece, &self.marker) {
                Some(place) => place + MARKER,
                None => return Ok(blocks),
            }
        };
        while at < piece.len() {
            let rest = &piece[at..];
            let to_end = offset + piece.len() as u64 == size;
            let header = long(rest).and_then(|(rows, first)| {
                let (length, second) = long(&rest[first..])?;
                Some((rows, length, first + second))
            });
            let Some((rows, length, header)) = header else {
                // Two numbers take at most twenty bytes.
                if rest.len() >= 20 || to_end {
                    return Err(wrong(to_end && rest.len() < 20, offset + at as u64));
                }
                break;
            };
            let (Ok(rows), Ok(length)) = (u64::try_from(rows), u64::try_from(length)) else {
                return Err(wrong(false, offset + at as u64));
            };
            let content = offset + (at + header) as u64;
            let end = content
                .checked_add(length)
                .and_then(|end| end.checked_add(MARKER as u64));
            let Some(end) = end.filter(|end| *end <= size) else {
                return Err(wrong(true, offset + at as u64));
            };
            let mut block = Block {
                offset: offset + at as u64,
                rows,
                content,
                length,
                bytes: None,
            };
            if end > offset + piece.len() as u64 {
                blocks.push(block);
                break;
            }
            let (from, to) = (at + header, at + header + length as usize);
            if piece[to..to + MARKER] != self.marker {
                return Err(wrong(false, block.offset));
            }
            block.bytes = Some(piece.slice(from..to));
            blocks.push(block);
            at = to + MARKER;
        }
        Ok(blocks)
    }
}

fn wrong(is_cut: bool, at: u64) -> Failure {
    corrupt(if is_cut {
        format!("the block at byte {at} does not end within the file: it is cut off")
    } else {
        format!("the block at byte {at} is broken")
    })
}

fn find(bytes: &[u8], marker: &[u8; MARKER]) -> Option<usize> {
    bytes.windows(MARKER).position(|window| window == marker)
}
