//! Which rows of a Parquet file are live, by its row groups.

use std::ops::Range;

use arrow::array::BooleanArray;
use parquet::file::metadata::ParquetMetaData;
use roaring::RoaringTreemap;

use crate::live::LiveRows;

/// The live rows of a file.
pub(super) struct Live {
    live: LiveRows,
    /// The first row of each row group.
    first_rows: Vec<u64>,
}

impl Live {
    /// Those of the rows that a footer promises that are not deleted.
    pub(super) fn new(metadata: &ParquetMetaData, deleted: Option<RoaringTreemap>) -> Live {
        let (mut first_rows, mut rows) = (Vec::new(), 0);
        for group in metadata.row_groups() {
            first_rows.push(rows);
            rows += group.num_rows() as u64;
        }
        Live {
            live: LiveRows::new(rows, deleted),
            first_rows,
        }
    }

    /// Whether all rows are.
    pub(super) fn are_all(&self) -> bool {
        self.live.are_all()
    }

    /// How many there are.
    pub(super) fn rows(&self) -> u64 {
        self.live.count()
    }

    /// The number of a row group's first row.
    pub(super) fn first_row(&self, group: usize) -> u64 {
        self.first_rows[group]
    }

    /// The live rows of the file, ascending.
    pub(super) fn ranges(&self) -> Vec<Range<u64>> {
        self.live.among(0..self.live.end())
    }

    /// Those of a row group, counted from its first row on.
    pub(super) fn in_group(&self, group: usize) -> Vec<Range<u64>> {
        let first = self.first_rows[group];
        let end = self.first_rows.get(group + 1).copied();
        let mut ranges = self.live.among(first..end.unwrap_or(self.live.end()));
        for range in &mut ranges {
            *range = range.start - first..range.end - first;
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
        let first = self.first_rows[group];
        self.live.mask(decoded.map(|row| first + row))
    }
}
