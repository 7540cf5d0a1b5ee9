//! Small binary pieces of the format: LEB128 numbers, length-prefixed text, bounded decompression.
//!
//! A reader here trusts nothing: every count and length is checked against what is left, and
//! decompression grows with the bytes that really come out, up to a limit the caller derives.

use std::cell::RefCell;
use std::io::Read;

use crate::format_error::FormatError;

/// Appends a number, seven bits a byte, low bits first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a length and the text.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_number(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Reads what the functions above wrote.
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    pub(crate) fn bytes(&mut self, length: usize) -> Result<&'a [u8], FormatError> {
        let (head, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(FormatError::BeyondEnd)?;
        self.rest = rest;
        Ok(head)
    }

    pub(crate) fn number(&mut self) -> Result<u64, FormatError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.bytes(1)?[0];
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(FormatError::TooLarge)
    }

    pub(crate) fn number_u32(&mut self) -> Result<u32, FormatError> {
        u32::try_from(self.number()?).map_err(FormatError::from)
    }

    pub(crate) fn text(&mut self) -> Result<&'a str, FormatError> {
        let length = usize::try_from(self.number()?)?;
        std::str::from_utf8(self.bytes(length)?).map_err(|_| FormatError::NotUtf8)
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn end(&self) -> Result<(), FormatError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(FormatError::LeftOver(self.rest.len()))
        }
    }
}

/// Compresses a whole section or frame.
pub(crate) fn compress(bytes: &[u8], level: i32) -> Result<Vec<u8>, FormatError> {
    Ok(zstd::bulk::compress(bytes, level)?)
}

/// Decompresses at most `limit` bytes; more is an error.
pub(crate) fn decompress(bytes: &[u8], limit: usize) -> Result<Vec<u8>, FormatError> {
    let decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
    let mut out = Vec::new();
    decoder.take(limit as u64 + 1).read_to_end(&mut out)?;
    if out.len() > limit {
        return Err(FormatError::Decompressed(limit));
    }
    Ok(out)
}

thread_local! {
    /// A decompressor is dear to make (its window), and frames are small.
    static FRAMES: RefCell<Option<zstd::bulk::Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decompresses a frame of exactly `length` bytes; the caller has bounded that.
pub(crate) fn decompress_frame(bytes: &[u8], length: usize) -> Result<Vec<u8>, FormatError> {
    let mut decompressor = match FRAMES.take() {
        Some(decompressor) => decompressor,
        None => zstd::bulk::Decompressor::new()?,
    };
    let result = decompressor.decompress(bytes, length);
    FRAMES.set(Some(decompressor));
    let out = result?;
    if out.len() != length {
        let found = out.len();
        return Err(FormatError::FrameLength {
            found,
            expected: length,
        });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn bombs_are_refused() {
        let bomb = compress(&vec![0u8; 10 << 20], 19).unwrap();
        assert!(bomb.len() < 2000);
        assert!(decompress(&bomb, 1 << 20).is_err());
        assert_eq!(decompress(&bomb, 10 << 20).unwrap().len(), 10 << 20);
    }

    proptest::proptest! {
        #[test]
        fn numbers_round_trip(values: Vec<u64>) {
            let mut out = Vec::new();
            for &v in &values {
                put_number(&mut out, v);
            }
            let mut cursor = Cursor::new(&out);
            for &v in &values {
                proptest::prop_assert_eq!(cursor.number().unwrap(), v);
            }
            proptest::prop_assert!(cursor.end().is_ok());
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes: Vec<u8>) {
            let mut cursor = Cursor::new(&bytes);
            while cursor.number().is_ok() && cursor.text().is_ok() {}
            let _ = decompress(&bytes, 1000);
            let _ = decompress_frame(&bytes, 1000);
        }
    }
}
