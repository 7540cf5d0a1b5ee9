//! The bytes of a text file that are read: all of it up to the scan budget, above it ranges spread
//! over the file (design, section 6); then made plain: unpacked ([`unpack`]) and UTF-8
//! ([`encoding`]).
//!
//! The ranges are a function of the seed, the file's sample path and its size, so a copied or
//! renamed table is read in the same places. The file is cut into as many equal strata as there are
//! ranges and one range is drawn in each; the first starts at byte 0, where the header is. Of a
//! compressed file they are ranges of its text, the same as if it lay there unpacked.

mod encoding;
mod unpack;

pub(super) use encoding::utf16;

use std::ops::Range;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use limn_profile::text::counted;
use limn_store::Store;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use self::encoding::Encoding;
use super::{Failure, ReadOptions, sniff};
use crate::compression::Compression;
use crate::data_file::DataFile;
use crate::error::FileErrorKind;

/// A budget is spent in this many ranges.
const PIECES: u64 = 16;
/// Below this a range says too little.
const SMALLEST_PIECE: u64 = 1024;
/// Ranges under way at a time.
const CONCURRENT: usize = 4;

/// A contiguous range of the file's text.
pub(crate) struct Piece {
    /// Where in the text it starts.
    pub(crate) offset: u64,
    pub(crate) bytes: Bytes,
    /// Whether it reaches the text's end, so that its last line is whole.
    pub(crate) to_end: bool,
}

/// What was fetched of a file.
pub(crate) struct Input {
    /// In file order, without overlap; the first starts at byte 0.
    pub(crate) pieces: Vec<Piece>,
    /// The text's size in bytes; an estimate where it is compressed, or in another encoding than
    /// UTF-8, and not all of it was read.
    size: f64,
    /// What is noted of a file of which only a part was read.
    share_read: String,
    /// What a reader of the catalog should know of the text: its encoding.
    pub(crate) notes: Vec<String>,
    /// The encoding that it was in, by its name in the Encoding Standard; none of UTF-8.
    pub(crate) encoding: Option<&'static str>,
}

impl Input {
    /// Whether every byte of the file is here.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(&self.pieces[..], [piece] if piece.offset == 0 && piece.to_end)
    }

    /// The error of a row that does not end within the first range.
    pub(crate) fn endless_row(&self) -> Failure {
        let length = counted(self.pieces[0].bytes.len() as u64, "byte");
        Failure::new(
            FileErrorKind::Unsupported,
            format!("its first row is longer than the {length} read at a time"),
        )
        .with_remedy("check the file's line ends and quotes, or raise the scan budget")
    }

    /// The row count of the whole file, if all its rows are as long as the `rows` that take
    /// `bytes`, and the note that says what was read.
    pub(crate) fn extrapolate(&self, rows: u64, bytes: u64) -> (u64, String) {
        let share = self.size / bytes.max(1) as f64;
        (
            (rows as f64 * share).round() as u64,
            self.share_read.clone(),
        )
    }

    /// Leaves out all but the beginning.
    pub(crate) fn keep_beginning(&mut self) {
        self.pieces.truncate(1);
        let read = self.pieces.first().map_or(0, |piece| piece.bytes.len());
        self.share_read = format!(
            "{read} of about {:.0} bytes read, at the beginning: further on it is another text",
            self.size
        );
        // Rows are reckoned for what was read alone.
        self.size = read as f64;
    }

    /// Puts other texts in the place of the pieces, in which they stand for all of them.
    pub(crate) fn rewrite(&mut self, texts: Vec<Vec<u8>>) {
        let (mut before, mut after) = (0, 0);
        for (piece, text) in self.pieces.iter_mut().zip(texts) {
            before += piece.bytes.len();
            after += text.len();
            piece.bytes = Bytes::from(text);
        }
        self.size *= after.max(1) as f64 / before.max(1) as f64;
    }

    /// Leaves out the sign (Ctrl-Z) with which programs of DOS end a text.
    fn leave_out_end_mark(&mut self) {
        if let Some(last) = self.pieces.last_mut().filter(|piece| piece.to_end) {
            while let [text @ .., 0x1a] = last.bytes.trim_ascii_end() {
                last.bytes.truncate(text.len());
            }
        }
    }
}

/// A file's bytes as the store has them.
pub(crate) struct Fetched {
    pieces: Vec<Piece>,
    size: u64,
}

/// Reads `file` within the budget. Of what is named as compressed only the beginning: it can be
/// unpacked from there only.
///
/// # Errors
/// The store's; an empty file; a file that no longer has the size it was listed with.
pub(crate) async fn fetch(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<Fetched, Failure> {
    let size = file.object.size;
    if size == 0 {
        return Err(Failure::new(FileErrorKind::Empty, "the file has no bytes"));
    }
    let path = file.object.path.as_str();
    let ranges = match Compression::of_path(path) {
        Some(_) => std::iter::once(0..size.min(budget(options))).collect(),
        None => ranges(size, options, &file.sample_path),
    };
    let pieces = stream::iter(ranges)
        .map(|range| async move {
            let etag = file.object.etag.as_deref();
            let bytes = store.get_range_of(path, etag, range.clone()).await?;
            if bytes.len() as u64 != range.end - range.start {
                return Err(Failure::new(
                    FileErrorKind::Corrupt,
                    format!(
                        "it was listed with {size} bytes and now has fewer: it is being rewritten"
                    ),
                ));
            }
            Ok(Piece {
                offset: range.start,
                bytes,
                to_end: range.end == size,
            })
        })
        .buffered(CONCURRENT)
        .try_collect()
        .await?;
    Ok(Fetched { pieces, size })
}

/// Reads the beginning of a file: at most so many bytes.
///
/// # Errors
/// As [`fetch`].
pub(crate) async fn fetch_beginning(
    store: &Store,
    file: &DataFile,
    most: u64,
) -> Result<Fetched, Failure> {
    let (path, etag) = (file.object.path.as_str(), file.object.etag.as_deref());
    let size = file.object.size;
    let bytes = store.get_range_of(path, etag, 0..size.min(most)).await?;
    Ok(Fetched::beginning(bytes, size))
}

/// Reads all of a file, whatever the budget: one that was read whole when it was indexed.
///
/// # Errors
/// As [`fetch`].
pub(crate) async fn fetch_whole(store: &Store, file: &DataFile) -> Result<Fetched, Failure> {
    fetch(store, file, &unbounded()).await
}

/// A budget that every file is within.
fn unbounded() -> ReadOptions {
    ReadOptions {
        scan_budget: u64::MAX,
        ..ReadOptions::default()
    }
}

impl Fetched {
    /// The text of a file that is here as a whole, in one piece.
    ///
    /// # Errors
    /// As [`Fetched::into_text`]; it is not all here.
    pub(crate) fn into_whole_text(self, what: &str) -> Result<Input, Failure> {
        let input = self.into_text(what, "", &unbounded())?;
        match input.is_whole() {
            true => Ok(input),
            false => {
                let cause = "it was read whole when it was indexed, and cannot be now";
                Err(Failure::new(FileErrorKind::Corrupt, cause))
            }
        }
    }

    /// Text that was made of something else; `is_whole` says that nothing is missing at its end.
    pub(crate) fn made(text: Vec<u8>, is_whole: bool) -> Fetched {
        Fetched {
            size: text.len() as u64,
            pieces: vec![Piece {
                offset: 0,
                bytes: text.into(),
                to_end: is_whole,
            }],
        }
    }

    /// Ranges of a file of `size` bytes.
    #[cfg(test)]
    pub(crate) fn cut(ranges: impl Iterator<Item = (Range<u64>, Vec<u8>)>, size: u64) -> Fetched {
        let piece = |(range, bytes): (Range<u64>, Vec<u8>)| Piece {
            offset: range.start,
            bytes: bytes.into(),
            to_end: range.end == size,
        };
        Fetched {
            pieces: ranges.map(piece).collect(),
            size,
        }
    }

    /// The beginning of a file of `size` bytes, or all of it.
    pub(crate) fn beginning(bytes: Bytes, size: u64) -> Fetched {
        Fetched {
            size,
            pieces: vec![Piece {
                offset: 0,
                to_end: bytes.len() as u64 == size,
                bytes,
            }],
        }
    }

    /// Whether it is of a longer file that is not compressed: ranges that are spread over it.
    pub(crate) fn is_of_ranges(&self) -> bool {
        self.pieces.len() > 1 && Compression::of_content(self.first()).is_none()
    }

    /// The bytes with which the file begins.
    pub(crate) fn first(&self) -> &[u8] {
        self.pieces.first().map_or(&[], |piece| &piece.bytes)
    }

    /// Unpacks what is compressed, makes sure that this is text, and makes it UTF-8. `what` names
    /// the format ("CSV").
    ///
    /// # Errors
    /// Damaged or boundless compressed data; another format's content.
    pub(crate) fn into_text(
        self,
        what: &str,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Result<Input, Failure> {
        let compression = Compression::of_content(&self.pieces[0].bytes);
        let mut input = match compression {
            // A file that is not named so was read in ranges, of which only the first can be
            // unpacked.
            Some(compression) if self.pieces.len() == 1 => {
                unpack::unpack(compression, &self, sample_path, options)?
            }
            _ => self.plain(),
        };
        let declared = options.declared().encoding.as_deref();
        let text = declared
            .and_then(Encoding::declared)
            .unwrap_or_else(|| Encoding::of(&input.pieces));
        if !text.is_wide() {
            input.leave_out_end_mark();
        }
        sniff::is_text(&input.pieces[0].bytes, what, text.is_wide())?;
        text.make_utf8(&mut input);
        Ok(input)
    }

    fn plain(self) -> Input {
        let read: u64 = self.pieces.iter().map(|it| it.bytes.len() as u64).sum();
        Input {
            pieces: self.pieces,
            size: self.size as f64,
            share_read: format!("{read} of {} bytes read", self.size),
            notes: Vec::new(),
            encoding: None,
        }
    }
}

/// Bytes read of a file.
fn budget(options: &ReadOptions) -> u64 {
    options.scan_budget.max(SMALLEST_PIECE)
}

/// The ranges to read of a file of `size` bytes.
pub(crate) fn ranges(size: u64, options: &ReadOptions, sample_path: &str) -> Vec<Range<u64>> {
    let budget = budget(options);
    if size <= budget {
        return std::iter::once(0..size).collect();
    }
    let length = (budget / PIECES).max(SMALLEST_PIECE);
    let count = (budget / length).max(1);
    // 128 bits: the product of a size and a stratum's number may pass 64.
    let edge = |i: u64| (u128::from(size) * u128::from(i) / u128::from(count)) as u64;
    (0..count)
        .map(|i| {
            let (low, high) = (edge(i), edge(i + 1));
            // size > budget ≥ count · length, so a stratum is at least as long as a range.
            let slack = (high - low).saturating_sub(length);
            let start = if i == 0 {
                0
            } else {
                low + draw(options.seed, sample_path, i) % (slack + 1)
            };
            start..(start + length).min(size)
        })
        .collect()
}

/// A stable pseudo-random number for choice `i` about a file.
pub(crate) fn draw(seed: u64, sample_path: &str, i: u64) -> u64 {
    let mut key = Vec::with_capacity(sample_path.len() + 8);
    key.extend_from_slice(sample_path.as_bytes());
    key.extend_from_slice(&i.to_le_bytes());
    xxh3_64_with_seed(&key, seed)
}

/// At most `most` of `count` places, spread over all of them; which ones, a hash draws.
pub(super) fn spread(count: usize, most: usize, seed: u64, sample_path: &str) -> Vec<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let edge = |i: usize| i * count / most;
    let place = |i: usize| {
        let (low, high) = (edge(i), edge(i + 1));
        let drawn = draw(seed, sample_path, i as u64) % (high - low) as u64;
        low + drawn as usize
    };
    (0..most).map(place).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    fn options(scan_budget: u64, seed: u64) -> ReadOptions {
        ReadOptions {
            scan_budget,
            seed,
            ..ReadOptions::default()
        }
    }

    #[test]
    fn a_file_within_the_budget_is_one_range() {
        assert_eq!(ranges(100, &options(1 << 20, 0), ""), vec![0..100]);
        assert_eq!(ranges(1 << 20, &options(1 << 20, 0), ""), vec![0..1 << 20]);
    }

    #[test]
    fn the_seed_and_the_path_move_the_ranges() {
        let at = |seed, path| ranges(1 << 40, &options(1 << 20, seed), path);
        assert_eq!(at(1, "a"), at(1, "a"));
        assert_ne!(at(1, "a"), at(2, "a"));
        assert_ne!(at(1, "a"), at(1, "b"));
    }

    proptest! {
        #[test]
        fn ranges_are_spread_ordered_and_within_the_budget(size in 1u64..u64::MAX, budget in 0u64..1 << 40, seed: u64) {
            let options = options(budget, seed);
            let ranges = ranges(size, &options, "part-7.csv");
            prop_assert_eq!(ranges[0].start, 0);
            prop_assert!(ranges.len() <= PIECES as usize);
            prop_assert!(ranges.iter().all(|r| r.start < r.end && r.end <= size));
            prop_assert!(ranges.windows(2).all(|w| w[0].end <= w[1].start));
            prop_assert!(ranges.iter().map(|r| r.end - r.start).sum::<u64>() <= budget.max(SMALLEST_PIECE));
        }
    }
}
