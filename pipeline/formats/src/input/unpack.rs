//! Compressed text, unpacked: as much of it as would be read of the text itself, in the same
//! places.
//!
//! Only its beginning can be unpacked, so all that was fetched is unpacked from there, twice where
//! the text is longer than the budget: once to learn how long it is, once to keep the ranges.
//! Memory is bounded by the budget and the window of the compression, time by [`MOST_BUDGETS`] and
//! [`MOST_TIMES`].

use std::cell::Cell;
use std::io::{self, BufRead, ErrorKind, Read};

use bytes::Bytes;
use limn_store::one_line;

use super::{Fetched, Input, Piece, budget, ranges};
use crate::compression::Compression;
use crate::error::FileErrorKind;
use crate::{Failure, ReadOptions};

/// Text is unpacked up to this many budgets; what follows is not looked at.
const MOST_BUDGETS: u64 = 64;
/// Text that is so many times as long as what it was unpacked from is a trap, if it is long. (Gzip
/// of a single letter, over and over, comes to 1,030; tables to 3 to 20, dull ones to 200.)
const MOST_TIMES: u64 = 1000;
/// Long, in bytes.
const LONG: u64 = 16 << 20;
/// Windows of zstd: up to 2^26 bytes.
const ZSTD_WINDOW: u32 = 26;
/// Memory that xz may take, in KiB: enough for its highest level.
const XZ_MEMORY: u32 = 80 << 10;
/// Text that is unpacked at a time.
const CHUNK: usize = 64 << 10;

/// Unpacks a file of which the beginning, or all, is here in one piece.
///
/// # Errors
/// Damaged data, or that of a trap.
pub(super) fn unpack(
    compression: Compression,
    file: &Fetched,
    sample_path: &str,
    options: &ReadOptions,
) -> Result<Input, Failure> {
    let packed = Packed {
        compression,
        bytes: &file.pieces[0].bytes,
        whole: file.pieces[0].to_end,
    };
    let budget = budget(options);
    let mut beginning = Vec::new();
    let text = packed.read(budget, |offset, chunk| {
        let room = budget.saturating_sub(offset).min(chunk.len() as u64) as usize;
        beginning.extend_from_slice(&chunk[..room]);
    })?;
    if text.length == 0 {
        return Err(Failure::new(
            FileErrorKind::Empty,
            "it is compressed, and there is nothing in it",
        ));
    }
    let pieces = if text.length <= budget {
        vec![Piece {
            offset: 0,
            bytes: beginning.into(),
            to_end: text.is_all,
        }]
    } else {
        drop(beginning);
        packed.pieces(&text, budget, ranges(text.length, options, sample_path))?
    };
    let size = if text.is_all {
        text.length as f64
    } else {
        text.length as f64 * file.size as f64 / text.unpacked_from.max(1) as f64
    };
    let read: u64 = pieces.iter().map(|piece| piece.bytes.len() as u64).sum();
    let about = if text.is_all { "" } else { "about " };
    Ok(Input {
        pieces,
        size,
        share_read: format!("{read} of {about}{size:.0} bytes read, as unpacked"),
        notes: Vec::new(),
        encoding: None,
    })
}

struct Packed<'a> {
    compression: Compression,
    bytes: &'a [u8],
    /// Whether these are all of the file's.
    whole: bool,
}

/// How much text there is.
struct Extent {
    /// Bytes of text.
    length: u64,
    /// Compressed bytes that it comes from.
    unpacked_from: u64,
    /// Whether it is all of the file's.
    is_all: bool,
}

impl Packed<'_> {
    /// Visits the text with its offsets, up to the most that is looked at.
    fn read(&self, budget: u64, mut visit: impl FnMut(u64, &[u8])) -> Result<Extent, Failure> {
        let most = budget.saturating_mul(MOST_BUDGETS);
        let taken = Cell::new(0);
        let counted = Counted {
            rest: self.bytes,
            taken: &taken,
        };
        let mut reader = self
            .compression
            .reader(counted)
            .map_err(|error| self.damaged(0, &error))?;
        let mut chunk = vec![0; CHUNK];
        let mut length = 0;
        let is_all = loop {
            match reader.read(&mut chunk) {
                Ok(0) => break self.whole,
                Ok(read) => {
                    visit(length, &chunk[..read]);
                    length += read as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // What was fetched ends within a block. Some decoders take that for other damage.
                Err(_) if !self.whole && length > 0 => break false,
                Err(error) => return Err(self.damaged(length, &error)),
            }
            if length > LONG && length / taken.get().max(1) > MOST_TIMES {
                return Err(self.trap());
            }
            if length >= most {
                break false;
            }
        };
        Ok(Extent {
            length,
            unpacked_from: taken.get(),
            is_all,
        })
    }

    /// The ranges of the text.
    fn pieces(
        &self,
        text: &Extent,
        budget: u64,
        ranges: Vec<std::ops::Range<u64>>,
    ) -> Result<Vec<Piece>, Failure> {
        let mut kept: Vec<Vec<u8>> = ranges.iter().map(|_| Vec::new()).collect();
        let mut first = 0;
        self.read(budget, |offset, chunk| {
            let end = offset + chunk.len() as u64;
            while ranges.get(first).is_some_and(|range| range.end <= offset) {
                first += 1;
            }
            for (range, bytes) in ranges.iter().zip(&mut kept).skip(first) {
                if range.start >= end {
                    break;
                }
                let from = range.start.max(offset) - offset;
                let to = range.end.min(end) - offset;
                bytes.extend_from_slice(&chunk[from as usize..to as usize]);
            }
        })?;
        let pieces = ranges.iter().zip(kept).map(|(range, bytes)| Piece {
            offset: range.start,
            bytes: Bytes::from(bytes),
            to_end: text.is_all && range.end == text.length,
        });
        Ok(pieces.collect())
    }

    fn damaged(&self, length: u64, error: &io::Error) -> Failure {
        // Not which compression: a zip archive's member is a gzip file only to this reader.
        let cause = if error.kind() == ErrorKind::UnexpectedEof {
            format!("its packed data ends early, after {length} bytes of text")
        } else {
            let error = one_line(&error.to_string());
            format!("its packed data is damaged after {length} bytes of text ({error})")
        };
        Failure::new(FileErrorKind::Corrupt, cause)
            .with_remedy("write or copy the file again from its source")
    }

    fn trap(&self) -> Failure {
        Failure::new(
            FileErrorKind::Unsupported,
            format!("its packed data unpacks to more than {MOST_TIMES} times its size"),
        )
        .with_remedy("if it is a table nevertheless, lay it there unpacked")
    }
}

/// Compressed bytes, and how many of them a decoder has taken.
struct Counted<'a> {
    rest: &'a [u8],
    taken: &'a Cell<u64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(into)?;
        self.taken.set(self.taken.get() + read as u64);
        Ok(read)
    }
}

impl BufRead for Counted<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.rest)
    }

    fn consume(&mut self, bytes: usize) {
        self.rest.consume(bytes);
        self.taken.set(self.taken.get() + bytes as u64);
    }
}

impl Compression {
    /// What unpacks these bytes, with bounded memory.
    pub(crate) fn reader<'a>(self, bytes: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(bytes)),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(bytes)?;
                decoder.window_log_max(ZSTD_WINDOW)?;
                Box::new(decoder)
            }
            Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(bytes)),
            Compression::Xz => {
                Box::new(lzma_rust2::XzReader::new_mem_limit(bytes, true, XZ_MEMORY))
            }
        })
    }
}
