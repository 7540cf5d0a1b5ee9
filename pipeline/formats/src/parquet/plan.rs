//! What is read of a Parquet file whose values do not all fit the budget: slices of rows, spread
//! over the file, and columns in groups that fit memory. Pure functions of the footer, the seed and
//! the sample path.

use std::ops::Range;

use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use crate::input;

/// Slices that a profile is spread over, if it can be.
const SLICES: u64 = 8;
/// What decoding one column may hold at a time: a page, a dictionary, their values.
const COLUMN_MEMORY: u64 = 3 << 20;
/// Most writers' largest page.
const USUAL_PAGE: u64 = 1 << 20;
/// Rows decoded at a time, at most.
const BATCH_ROWS: u64 = 8192;
/// So many rows between wanted ones are decoded, too: to skip a few takes longer.
const NEAR: u64 = 32;
/// Bytes of values decoded at a time, about.
const BATCH_BYTES: u64 = 4 << 20;
/// Rows decoded at a time where each may be a copy of a long value of the dictionary.
const COPIED_ROWS: u64 = 64;

/// A column of the table: its place in the schema and the leaf columns below it.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) root: usize,
    pub(super) leaves: Range<usize>,
    /// Whether there are lists or maps in it: a row may have any number of values.
    pub(super) repeated: bool,
    /// Whether decoding copies a dictionary's value to each row that has it.
    pub(super) copied: bool,
}

impl Column {
    /// The byte ranges of its chunks in a row group.
    pub(super) fn chunks(&self, group: &RowGroupMetaData) -> impl Iterator<Item = Range<u64>> {
        self.leaves.clone().map(|leaf| {
            let (start, length) = group.column(leaf).byte_range();
            start..start + length
        })
    }

    fn packed(&self, group: &RowGroupMetaData) -> u64 {
        self.leaves
            .clone()
            .map(|leaf| group.column(leaf).compressed_size().max(0) as u64)
            .sum()
    }

    fn unpacked(&self, group: &RowGroupMetaData) -> u64 {
        self.leaves
            .clone()
            .map(|leaf| group.column(leaf).uncompressed_size().max(0) as u64)
            .sum()
    }
}

/// Bytes of these columns in the file.
pub(super) fn packed(metadata: &ParquetMetaData, columns: &[Column]) -> u64 {
    let of_group = |group| {
        columns
            .iter()
            .map(|column| column.packed(group))
            .sum::<u64>()
    };
    metadata.row_groups().iter().map(of_group).sum()
}

/// Rows of one row group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    pub(super) group: usize,
    /// Within the row group.
    pub(super) rows: Range<u64>,
}

/// Slices of about `budget` bytes and at most `cells` values together.
///
/// Each lies in another stratum of the row groups, in a row group that a hash draws. It begins with
/// the row group, or with a page index anywhere in it.
pub(super) fn slices(
    metadata: &ParquetMetaData,
    columns: &[Column],
    limits: Limits,
    page_index: bool,
    seed: u64,
    sample_path: &str,
) -> Vec<Slice> {
    let groups: Vec<usize> = (0..metadata.num_row_groups())
        .filter(|&i| metadata.row_group(i).num_rows() > 0)
        .collect();
    let rows: u64 = groups
        .iter()
        .map(|&i| metadata.row_group(i).num_rows() as u64)
        .sum();
    if rows == 0 || columns.is_empty() {
        return Vec::new();
    }
    let bytes = packed(metadata, columns).max(1);
    let by_bytes = (u128::from(limits.bytes) * u128::from(rows) / u128::from(bytes)) as u64;
    let wanted = by_bytes.min(limits.cells / columns.len() as u64).max(1);
    // However few its rows, a slice costs a page of each column.
    let page_bytes = groups
        .iter()
        .map(|&i| page_bytes(metadata, i, columns))
        .sum::<u64>()
        / groups.len() as u64;
    let affordable = (limits.bytes / page_bytes.max(1)).clamp(1, SLICES);
    let count = affordable.min(groups.len() as u64).min(wanted);
    let length = wanted / count;
    (0..count)
        .map(|i| {
            let edge = |i: u64| (i * groups.len() as u64 / count) as usize;
            let stratum = &groups[edge(i)..edge(i + 1)];
            let group =
                stratum[(input::draw(seed, sample_path, 2 * i) % stratum.len() as u64) as usize];
            let in_group = metadata.row_group(group).num_rows() as u64;
            let length = length.min(in_group);
            let start = if page_index {
                input::draw(seed, sample_path, 2 * i + 1) % (in_group - length + 1)
            } else {
                0
            };
            Slice {
                group,
                rows: start..start + length,
            }
        })
        .collect()
}

/// What a page of each column takes together, about.
fn page_bytes(metadata: &ParquetMetaData, group: usize, columns: &[Column]) -> u64 {
    let index = metadata.offset_index().and_then(|index| index.get(group));
    let pages = |leaf: usize| {
        index
            .and_then(|index| index.get(leaf))
            .map_or(1, |leaf| leaf.page_locations().len())
    };
    let leaves = columns.iter().flat_map(|column| column.leaves.clone());
    let chunk = |leaf| {
        metadata
            .row_group(group)
            .column(leaf)
            .compressed_size()
            .max(0) as u64
    };
    leaves
        .map(|leaf| (chunk(leaf) / pages(leaf).max(1) as u64).min(USUAL_PAGE))
        .sum()
}

/// How much is read for profiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) bytes: u64,
    pub(super) cells: u64,
}

/// Cuts columns into runs that can be decoded side by side within `memory` bytes. A repeated column
/// is a run of its own, since its rows are not skipped as others are ([`whole_pages`]).
pub(super) fn column_groups<'a>(
    columns: &'a [Column],
    group: &RowGroupMetaData,
    memory: u64,
) -> Vec<&'a [Column]> {
    let mut runs = Vec::new();
    let (mut start, mut held) = (0, 0);
    for (i, column) in columns.iter().enumerate() {
        let most = COLUMN_MEMORY * column.leaves.len() as u64;
        let needs = column.unpacked(group).max(column.packed(group)).min(most);
        let alone = i > start && (column.repeated || columns[start].repeated);
        if alone || (held + needs > memory && i > start) {
            runs.push(&columns[start..i]);
            (start, held) = (i, 0);
        }
        held += needs;
    }
    if start < columns.len() {
        runs.push(&columns[start..]);
    }
    runs
}

/// How many rows of these columns to decode at a time.
pub(super) fn batch_rows(columns: &[Column], group: &RowGroupMetaData) -> usize {
    let bytes: u64 = columns.iter().map(|column| column.unpacked(group)).sum();
    let width = bytes / (group.num_rows().max(1) as u64) + columns.len() as u64;
    let most = if columns.iter().any(|column| column.copied) {
        COPIED_ROWS
    } else {
        BATCH_ROWS
    };
    (BATCH_BYTES / width.max(1)).clamp(1, most) as usize
}

/// Row ranges widened such that no page of a repeated column is entered or left between two of its
/// rows.
///
/// Within such a page the decoder skips rows by their repetition levels, and where a broken file
/// has too few of them it never ends (parquet 59.3, `GenericColumnReader::skip_records`; reading
/// has the check that skipping lacks). Whole pages are safe to skip with a page index (checked when
/// it was read); without one everything up to the last wanted row is read.
pub(super) fn whole_pages(
    metadata: &ParquetMetaData,
    group: usize,
    column: &Column,
    ranges: &[Range<u64>],
) -> Vec<Range<u64>> {
    let rows = metadata.row_group(group).num_rows() as u64;
    let index = metadata.offset_index().and_then(|index| index.get(group));
    let pages: Option<Vec<Vec<u64>>> = column
        .leaves
        .clone()
        .map(|leaf| {
            let pages = index?.get(leaf)?.page_locations();
            Some(
                pages
                    .iter()
                    .map(|page| page.first_row_index.max(0) as u64)
                    .collect(),
            )
        })
        .collect();
    let Some(pages) = pages else {
        return ranges.last().map(|last| 0..last.end).into_iter().collect();
    };
    let mut widened: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        let mut range = range.clone();
        // The leaves' pages begin at different rows: widen until all agree.
        loop {
            let before = range.clone();
            for firsts in &pages {
                let first = firsts.partition_point(|first| *first <= range.start);
                range.start = first.checked_sub(1).map_or(0, |page| firsts[page]);
                let next = firsts.partition_point(|first| *first < range.end);
                range.end = firsts.get(next).copied().unwrap_or(rows);
            }
            if range == before {
                break;
            }
        }
        match widened.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => widened.push(range),
        }
    }
    widened
}

/// The rows that are in both of two lists of ranges, each ascending and disjoint.
pub(super) fn both(a: &[Range<u64>], b: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut common: Vec<Range<u64>> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let range = x.start.max(y.start)..x.end.min(y.end);
        match common.last_mut() {
            Some(last) if !range.is_empty() && last.end == range.start => last.end = range.end,
            _ if !range.is_empty() => common.push(range),
            _ => {}
        }
        match x.end <= y.end {
            true => i += 1,
            false => j += 1,
        }
    }
    common
}

/// Rows by their places among the rows of `ranges`: which they are. Runs with fewer than [`NEAR`]
/// rows between them are one, with these rows.
pub(super) fn among(ranges: &[Range<u64>], places: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut rows: Vec<Range<u64>> = Vec::new();
    let (mut at, mut before) = (0, 0);
    for place in places {
        let mut from = place.start;
        while let Some(range) = ranges.get(at).filter(|_| from < place.end) {
            let length = range.end - range.start;
            if from < before + length {
                let to = place.end.min(before + length);
                let run = range.start + from - before..range.start + to - before;
                match rows.last_mut() {
                    Some(last) if run.start < last.end + NEAR && last.end >= range.start => {
                        last.end = run.end;
                    }
                    _ => rows.push(run),
                }
                from = to;
            }
            if from >= before + length {
                before += length;
                at += 1;
            }
        }
    }
    rows
}

/// The first `most` rows of ranges, ascending and disjoint.
pub(super) fn first(mut ranges: Vec<Range<u64>>, most: u64) -> Vec<Range<u64>> {
    let mut left = most;
    for range in &mut ranges {
        range.end = range.end.min(range.start.saturating_add(left));
        left -= range.end - range.start;
    }
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// The bytes of the pages that selected rows of a group are in, and of dictionaries; none without a
/// page index.
pub(super) fn page_ranges(
    metadata: &ParquetMetaData,
    group: usize,
    columns: &[Column],
    selection: &RowSelection,
) -> Option<Vec<Range<u64>>> {
    let pages = metadata.offset_index()?.get(group)?;
    let row_group = metadata.row_group(group);
    let mut ranges = Vec::new();
    for leaf in columns.iter().flat_map(|column| column.leaves.clone()) {
        let Some(pages) = pages.get(leaf) else {
            continue;
        };
        let start = row_group.column(leaf).byte_range().0;
        if let Some(first) = pages.page_locations().first() {
            // What stands before the first page is the dictionary.
            ranges.push(start..(first.offset.max(0) as u64).max(start));
        }
        ranges.extend(selection.scan_ranges(pages.page_locations()));
    }
    Some(ranges)
}

/// A selection of these row ranges, ascending and disjoint, of a row group of `rows` rows.
pub(super) fn selection(ranges: &[Range<u64>], rows: u64) -> RowSelection {
    let mut selectors = Vec::with_capacity(2 * ranges.len() + 1);
    let mut at = 0;
    for range in ranges {
        if range.start > at {
            selectors.push(RowSelector::skip((range.start - at) as usize));
        }
        selectors.push(RowSelector::select((range.end - range.start) as usize));
        at = range.end;
    }
    if at < rows {
        selectors.push(RowSelector::skip((rows - at) as usize));
    }
    selectors.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_among_rows_are_rows() {
        let ranges = [100..110, 200..300, 400..500];
        for (places, rows) in [
            (vec![], vec![]),
            (vec![(3, 5)], vec![(103, 105)]),
            (
                vec![(8, 12), (60, 61)],
                vec![(108, 110), (200, 202), (250, 251)],
            ),
            // Near ones are one run, but not over rows that are not among the ranges.
            (
                vec![(12, 13), (20, 21), (109, 111)],
                vec![(202, 211), (299, 300), (400, 401)],
            ),
            (vec![(0, 210)], vec![(100, 110), (200, 300), (400, 500)]),
        ] {
            let places: Vec<Range<u64>> = places.into_iter().map(|(a, b)| a..b).collect();
            let found = among(&ranges, &places);
            let found: Vec<(u64, u64)> = found.into_iter().map(|it| (it.start, it.end)).collect();
            assert_eq!(found, rows, "{places:?}");
        }
    }

    #[test]
    fn selections_skip_what_is_between() {
        let selection = selection(&[2..4, 7..8], 10);
        let runs: Vec<(bool, usize)> = selection
            .iter()
            .map(|run| (run.skip, run.row_count))
            .collect();
        assert_eq!(
            runs,
            [(true, 2), (false, 2), (true, 3), (false, 1), (true, 2)]
        );
    }
}
