//! Which blocks of a segment are no longer live: a roaring bitmap in an object of its own.
//!
//! Segments are immutable; removing or replacing a table writes a new bitmap and names it in the
//! next snapshot. The file is the portable roaring serialisation, named by its content hash.

use bytes::Bytes;
use roaring::RoaringBitmap;

use crate::error::SegmentError;

/// Deleted blocks of one segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deletes(pub RoaringBitmap);

impl Deletes {
    /// Nothing deleted.
    #[must_use]
    pub fn none() -> Deletes {
        Deletes::default()
    }

    /// Whether the block is deleted.
    #[must_use]
    pub fn contains(&self, block: u32) -> bool {
        self.0.contains(block)
    }

    /// Whether nothing is deleted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of deleted blocks.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Deletes `blocks` blocks from `first` on: a whole table.
    pub fn delete_table(&mut self, first: u32, blocks: u32) {
        self.0.insert_range(first..first.saturating_add(blocks));
    }

    /// The file's bytes (portable roaring format, run-length compressed).
    pub fn to_bytes(&self) -> Result<Bytes, SegmentError> {
        let mut bitmap = self.0.clone();
        bitmap.optimize();
        let mut out = Vec::with_capacity(bitmap.serialized_size());
        bitmap
            .serialize_into(&mut out)
            .map_err(|e| SegmentError::io("delete bitmap", e))?;
        Ok(out.into())
    }

    /// Reads a file's bytes; `object` names it in errors, `blocks` is the segment's block count.
    pub fn from_bytes(object: &str, bytes: &[u8], blocks: u32) -> Result<Deletes, SegmentError> {
        let bitmap = RoaringBitmap::deserialize_from(bytes)
            .map_err(|e| SegmentError::damaged(object, format!("it is no roaring bitmap ({e})")))?;
        if bitmap.max().is_some_and(|max| max >= blocks) {
            return Err(SegmentError::damaged(
                object,
                format!("it deletes blocks beyond the segment's {blocks}"),
            ));
        }
        Ok(Deletes(bitmap))
    }
}

/// Deleted blocks of one segment as a bit each: a search that looks at all vectors asks for nearly
/// every block, and a look into the compressed bitmap takes as long as the vector's score.
pub(crate) struct DeadBlocks {
    bits: Vec<u64>,
}

impl DeadBlocks {
    pub(crate) fn of(deletes: &Deletes) -> DeadBlocks {
        let words = deletes.0.max().map_or(0, |last| last as usize / 64 + 1);
        let mut bits = vec![0u64; words];
        for block in &deletes.0 {
            if let Some(word) = bits.get_mut(block as usize / 64) {
                *word |= 1 << (block % 64);
            }
        }
        DeadBlocks { bits }
    }

    pub(crate) fn contains(&self, block: u32) -> bool {
        let word = self.bits.get(block as usize / 64);
        word.is_some_and(|word| word >> (block % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn round_trip_and_bounds() {
        let mut deletes = Deletes::none();
        deletes.delete_table(5, 10);
        deletes.delete_table(100, 1);
        assert_eq!(deletes.count(), 11);
        let bytes = deletes.to_bytes().unwrap();
        assert_eq!(Deletes::from_bytes("d", &bytes, 101).unwrap(), deletes);
        assert!(Deletes::from_bytes("d", &bytes, 100).is_err());
        for end in 0..bytes.len() {
            assert!(Deletes::from_bytes("d", &bytes[..end], 101).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn bits_are_the_bitmap(blocks in proptest::collection::btree_set(0u32..500, 0..40)) {
            let bitmap = Deletes(blocks.iter().copied().collect());
            let bits = DeadBlocks::of(&bitmap);
            for block in 0..600 {
                proptest::prop_assert_eq!(bits.contains(block), bitmap.contains(block));
            }
        }

        #[test]
        fn hostile_bytes_are_errors_not_panics(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = Deletes::from_bytes("d", &bytes, 1000);
        }
    }
}
