//! Which rows of a file are live: all but those that its table's log has deleted.

use std::ops::Range;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::filter;
use arrow::error::ArrowError;
use roaring::RoaringTreemap;

/// The live rows of a file, by their numbers in it.
pub(crate) struct LiveRows {
    deleted: Option<RoaringTreemap>,
    rows: u64,
}

impl LiveRows {
    /// Those of a file's rows that are not deleted.
    pub(crate) fn new(rows: u64, deleted: Option<RoaringTreemap>) -> LiveRows {
        // Numbers beyond the last row delete nothing.
        let deleted = deleted.map(|mut deleted| {
            deleted.remove_range(rows..);
            deleted
        });
        LiveRows {
            deleted: deleted.filter(|it| !it.is_empty()),
            rows,
        }
    }

    /// Whether all rows are.
    pub(crate) fn are_all(&self) -> bool {
        self.deleted.is_none()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.rows - self.deleted.as_ref().map_or(0, RoaringTreemap::len)
    }

    /// The number behind the last row's.
    pub(crate) fn end(&self) -> u64 {
        self.rows
    }

    /// Whether a row is.
    pub(crate) fn has(&self, row: u64) -> bool {
        !self.deleted.as_ref().is_some_and(|it| it.contains(row))
    }

    /// The live ones of some rows, ascending.
    pub(crate) fn among(&self, all: Range<u64>) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        let mut at = all.start;
        let deleted = self.deleted.iter().flat_map(|deleted| {
            let mut deleted = deleted.iter();
            deleted.advance_to(all.start);
            deleted.take_while(|row| *row < all.end)
        });
        for row in deleted {
            if row > at {
                ranges.push(at..row);
            }
            at = row + 1;
        }
        if at < all.end {
            ranges.push(at..all.end);
        }
        ranges
    }

    /// Which of some rows are; none where all of them are.
    pub(crate) fn mask(&self, rows: impl Iterator<Item = u64>) -> Option<BooleanArray> {
        let deleted = self.deleted.as_ref()?;
        let live = rows.map(|row| Some(!deleted.contains(row)));
        let live: BooleanArray = live.collect();
        (live.false_count() > 0).then_some(live)
    }
}

/// The live ones of decoded values.
///
/// # Errors
/// None in practice: both are of the same rows.
pub(crate) fn living(
    values: &ArrayRef,
    mask: Option<&BooleanArray>,
) -> Result<ArrayRef, ArrowError> {
    match mask {
        Some(mask) => filter(values, mask),
        None => Ok(values.clone()),
    }
}
