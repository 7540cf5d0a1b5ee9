//! Bytes that were made of a segment and can be made again: in a temporary file without a name,
//! mapped, so that the system may take their memory back and bring them again, as it may with the
//! segment's own bytes.
//!
//! What a reader keeps for its lifetime grows with the index. Kept on the heap it would have to fit
//! into memory; in a file what is asked for often stays there, and the rest is where the segments
//! are. (Where `TMPDIR` lies in memory, it is memory, too: give a node one on a disk.)

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::Range;

use tantivy::directory::OwnedBytes;

use crate::map::map_for_passes;

/// Less than this stays on the heap: a file and a map cost more than they free.
const SMALL: usize = 64 << 10;

/// A file under way.
pub(crate) struct Spill(BufWriter<File>);

impl Spill {
    pub(crate) fn new() -> io::Result<Spill> {
        let file = tempfile::tempfile()?;
        Ok(Spill(BufWriter::with_capacity(SMALL, file)))
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// What was added, mapped.
    pub(crate) fn finish(self) -> io::Result<OwnedBytes> {
        let file = self.0.into_inner().map_err(|e| e.into_error())?;
        if file.metadata()?.len() == 0 {
            return Ok(OwnedBytes::empty());
        }
        map_for_passes(&file)
    }
}

/// Bytes that may lie in a file.
pub type Spilled = OwnedBytes;

/// The bytes in a file, if they are not few; on the heap (and with a warning) where no file can be
/// had.
#[must_use]
pub fn spilled(bytes: Vec<u8>) -> Spilled {
    if bytes.len() < SMALL {
        return OwnedBytes::new(bytes);
    }
    let mapped = Spill::new().and_then(|mut spill| {
        spill.add(&bytes)?;
        spill.finish()
    });
    mapped.unwrap_or_else(|error| {
        tracing::warn!(%error, "no temporary file can be written (see TMPDIR): more memory is used");
        OwnedBytes::new(bytes)
    })
}

/// Whole numbers that may lie in a file, as [`spilled`] bytes do.
pub struct Numbers(Spilled);

impl std::fmt::Debug for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Numbers").field(&self.len()).finish()
    }
}

impl Numbers {
    /// Numbers that are kept like this.
    #[must_use]
    pub fn of(numbers: &[u32]) -> Numbers {
        Numbers(spilled(
            numbers.iter().flat_map(|n| n.to_le_bytes()).collect(),
        ))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len() / 4
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn get(&self, at: usize) -> Option<u32> {
        let bytes = self.0.get(at * 4..at * 4 + 4)?;
        bytes.try_into().ok().map(u32::from_le_bytes)
    }

    /// As indexing a slice, with its panic.
    #[must_use]
    pub fn at(&self, at: usize) -> u32 {
        let bytes = &self.0[at * 4..at * 4 + 4];
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    /// As those of a slice of this range, with its panic.
    pub fn iter(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = u32> + Clone {
        let bytes = self.0[range.start * 4..range.end * 4].chunks_exact(4);
        bytes.map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// The first place whose number is not below `least`, in rising numbers.
    pub(crate) fn first_from(&self, least: u32) -> usize {
        self.partition_point(|number| number < least)
    }

    /// The first place from which on no number is such, where all before it are: as that of a
    /// slice.
    pub fn partition_point(&self, is_such: impl Fn(u32) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if is_such(self.at(middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn numbers_are_found_as_in_a_slice() {
        let numbers: Vec<u32> = (0..50_000).map(|n| n * 3 / 2).collect();
        let kept = Numbers::of(&numbers);
        assert_eq!(kept.len(), numbers.len());
        assert_eq!(kept.iter(0..kept.len()).collect::<Vec<_>>(), numbers);
        for least in (0..80_000).step_by(37) {
            let at = numbers.partition_point(|n| *n < least);
            assert_eq!(kept.first_from(least), at);
            assert_eq!(kept.get(at), numbers.get(at).copied());
        }
    }

    #[test]
    fn bytes_are_what_they_were() {
        for size in [0, 1, SMALL - 1, SMALL, 3 * SMALL + 7] {
            let bytes: Vec<u8> = (0..size).map(|i| (i * 31 % 251) as u8).collect();
            assert_eq!(spilled(bytes.clone()).as_slice(), bytes);
            let mut spill = Spill::new().unwrap();
            bytes.chunks(1000).for_each(|part| spill.add(part).unwrap());
            assert_eq!(spill.finish().unwrap().as_slice(), bytes);
        }
    }
}
