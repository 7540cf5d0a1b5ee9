//! Which rows of a Parquet file are live: all but those that its table's log has deleted.

use std::ops::Range;

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::filter;
use arrow::error::ArrowError;
use parquet::file::metadata::ParquetMetaData;
use roaring::RoaringTreemap;

/// The live rows of a file.
pub(super) struct Live {
    deleted: Option<RoaringTreemap>,
    /// The first row of each row group, and how many rows there are.
    first_rows: Vec<u64>,
    rows: u64,
}

impl Live {
    /// Those of the rows that a footer promises that are not deleted.
    pub(super) fn new(metadata: &ParquetMetaData, deleted: Option<RoaringTreemap>) -> Live {
        let (mut first_rows, mut rows) = (Vec::new(), 0);
        for group in metadata.row_groups() {
            first_rows.push(rows);
            rows += group.num_rows() as u64;
        }
        // Numbers beyond the last row delete nothing.
        let deleted = deleted.map(|mut deleted| {
            deleted.remove_range(rows..);
            deleted
        });
        Live {
            deleted: deleted.filter(|it| !it.is_empty()),
            first_rows,
            rows,
        }
    }

    /// Whether all rows are.
    pub(super) fn are_all(&self) -> bool {
        self.deleted.is_none()
    }

    /// How many there are.
    pub(super) fn rows(&self) -> u64 {
        self.rows - self.deleted.as_ref().map_or(0, RoaringTreemap::len)
    }

    /// The number of a row group's first row.
    pub(super) fn first_row(&self, group: usize) -> u64 {
        self.first_rows[group]
    }

    /// The live rows of the file, ascending.
    pub(super) fn ranges(&self) -> Vec<Range<u64>> {
        self.among(0..self.rows)
    }

    /// Those of a row group, counted from its first row on.
    pub(super) fn in_group(&self, group: usize) -> Vec<Range<u64>> {
        let first = self.first_rows[group];
        let end = self.first_rows.get(group + 1).copied().unwrap_or(self.rows);
        let mut ranges = self.among(first..end);
        for range in &mut ranges {
            *range = range.start - first..range.end - first;
        }
        ranges
    }

    fn among(&self, all: Range<u64>) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        let mut at = all.start;
        let deleted = self.deleted.iter().flat_map(|deleted| {
            let mut deleted = deleted.iter();
            deleted.advance_to(all.start);
            deleted.take_while(|row| *row < all.end)
        });
        for gone in deleted {
            if gone > at {
                ranges.push(at..gone);
            }
            at = gone + 1;
        }
        if at < all.end {
            ranges.push(at..all.end);
        }
        ranges
    }

    /// Which of some rows of a group that were decoded one after another are live; none where all
    /// are.
    pub(super) fn mask(
        &self,
        group: usize,
        decoded: impl Iterator<Item = u64>,
    ) -> Option<BooleanArray> {
        let deleted = self.deleted.as_ref()?;
        let first = self.first_rows[group];
        let live = decoded.map(|row| Some(!deleted.contains(first + row)));
        let live: BooleanArray = live.collect();
        (live.false_count() > 0).then_some(live)
    }
}

/// The live ones of decoded values.
///
/// # Errors
/// None in practice: both are of the same rows.
pub(super) fn living(
    values: &ArrayRef,
    mask: Option<&BooleanArray>,
) -> Result<ArrayRef, ArrowError> {
    match mask {
        Some(mask) => filter(values, mask),
        None => Ok(values.clone()),
    }
}
