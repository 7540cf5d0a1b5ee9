//! Uniform row samples that merge: a bottom-r sample by a stable hash of each row's place.
//!
//! Every row of a table has a pseudo-random [`Priority`], a stable hash of (seed, the file's path
//! relative to its table, row number). A file keeps its r rows of lowest priority, a table the r
//! lowest among its files': a uniform sample without replacement, mergeable in any order, and the
//! same on any number of workers (design, section 6). No ETag and no time goes into the hash, so a
//! copy or a renamed table draws the same rows.

use std::collections::BinaryHeap;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::text::truncate;

/// Cells in a sample are cut at this many characters.
pub const CELL_CHARS: usize = 500;

/// A row's pseudo-random rank: the lowest are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Priority(pub u64);

/// Priorities of one file's rows: two 64-bit keys from one xxh3-128 of (seed, path), then a
/// two-round mix with the row number (the finaliser of splitmix64, Steele et al. 2014), about a
/// nanosecond a row.
#[derive(Clone, Copy, Debug)]
struct Priorities {
    first: u64,
    second: u64,
}

impl Priorities {
    fn new(seed: u64, sample_path: &str) -> Self {
        let key = xxh3_128_with_seed(sample_path.as_bytes(), seed);
        Priorities {
            first: (key >> 64) as u64,
            second: key as u64,
        }
    }

    #[inline]
    fn of(self, row_number: u64) -> Priority {
        let x = mix(row_number
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(self.first));
        Priority(mix(x ^ self.second))
    }
}

#[inline]
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Keeps the r rows of lowest priority of a file that is read from front to back.
#[derive(Debug)]
pub struct RowSampler {
    priorities: Priorities,
    limit: usize,
    // The worst kept row is on top.
    kept: BinaryHeap<SampledRow>,
}

impl RowSampler {
    /// A sampler of up to `r` rows of the file at `sample_path` (see `DataFile::sample_path`).
    pub fn new(seed: u64, sample_path: &str, r: usize) -> Self {
        RowSampler {
            priorities: Priorities::new(seed, sample_path),
            limit: r,
            kept: BinaryHeap::with_capacity(r + 1),
        }
    }

    /// A row's priority.
    pub fn priority(&self, row_number: u64) -> Priority {
        self.priorities.of(row_number)
    }

    /// The row's priority if the row belongs to the sample of the rows seen so far; `None` for
    /// nearly every row of a long file, so that its cells need not be copied.
    #[inline]
    pub fn wants(&self, row_number: u64) -> Option<Priority> {
        let priority = self.priorities.of(row_number);
        if self.kept.len() < self.limit {
            return (self.limit > 0).then_some(priority);
        }
        let worst = self.kept.peek()?;
        ((priority, row_number) < (worst.priority, worst.row)).then_some(priority)
    }

    /// Takes a row that [`RowSampler::wants`]; the row it displaces is dropped. Cells longer than
    /// [`CELL_CHARS`] are cut.
    pub fn keep(&mut self, priority: Priority, row_number: u64, mut values: Vec<Option<String>>) {
        for value in values.iter_mut().flatten() {
            truncate(value, CELL_CHARS);
        }
        self.kept.push(SampledRow {
            priority,
            row: row_number,
            values,
        });
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    /// The sample: rows by ascending priority.
    pub fn finish(self) -> RowSample {
        RowSample {
            limit: self.limit as u32,
            rows: self.kept.into_sorted_vec(),
        }
    }
}

/// The numbers, ascending, of the `r` rows of lowest priority among `rows` rows: what a
/// [`RowSampler`] keeps after reading them all. For formats that can fetch single rows.
pub fn draw(seed: u64, sample_path: &str, rows: u64, r: usize) -> Vec<u64> {
    draw_from(seed, sample_path, std::iter::once(0..rows), r)
}

/// As [`draw`], of rows in ranges that do not overlap: of the parts of a file that are read.
pub fn draw_from(
    seed: u64,
    sample_path: &str,
    ranges: impl IntoIterator<Item = Range<u64>>,
    r: usize,
) -> Vec<u64> {
    if r == 0 {
        return Vec::new();
    }
    let priorities = Priorities::new(seed, sample_path);
    let mut kept: BinaryHeap<(Priority, u64)> = BinaryHeap::with_capacity(r + 1);
    let mut worst = Priority(u64::MAX);
    for row in ranges.into_iter().flatten() {
        let priority = priorities.of(row);
        if priority > worst && kept.len() >= r {
            continue;
        }
        kept.push((priority, row));
        if kept.len() > r {
            kept.pop();
        }
        worst = kept
            .peek()
            .map_or(Priority(u64::MAX), |(priority, _)| *priority);
    }
    let mut numbers: Vec<u64> = kept.into_iter().map(|(_, row)| row).collect();
    numbers.sort_unstable();
    numbers
}

/// One sampled row: its values in the order of the file's (or table's) columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampledRow {
    /// The row's rank.
    pub priority: Priority,
    /// Row number in its file, from 0 (for a file read in parts: the row's byte offset). A row that
    /// may be a header as well as one of data counts in any case.
    pub row: u64,
    /// The cells; `None` is null.
    pub values: Vec<Option<String>>,
}

/// Written as `[priority, row, [cells]]`.
impl Serialize for SampledRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.priority, self.row, &self.values).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SampledRow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (priority, row, values) = Deserialize::deserialize(deserializer)?;
        Ok(SampledRow {
            priority,
            row,
            values,
        })
    }
}

/// The rows of lowest priority of a file or a table, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowSample {
    /// How many rows were asked for (r).
    #[serde(rename = "r")]
    pub limit: u32,
    /// At most `limit` rows by ascending priority.
    #[serde(rename = "s", default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<SampledRow>,
}

impl RowSample {
    /// Takes in a row of the same rows that is not among them.
    pub fn add(&mut self, row: SampledRow) {
        self.rows.push(row);
        keep_lowest(&mut self.rows, self.limit);
    }

    /// The sample of the union of disjoint row sets, given the sample of each. Associative and
    /// commutative. Where limits differ (a setting was changed between runs) the lowest holds, as
    /// more rows would not be uniform.
    pub fn merge(samples: impl IntoIterator<Item = RowSample>) -> RowSample {
        let mut limit = None::<u32>;
        let mut rows = Vec::new();
        for sample in samples {
            let smaller = limit.map_or(sample.limit, |limit| limit.min(sample.limit));
            limit = Some(smaller);
            rows.extend(sample.rows);
            // Keep memory at a few samples' worth, whatever the number of files.
            if rows.len() > 8 * smaller as usize + 64 {
                keep_lowest(&mut rows, smaller);
            }
        }
        let limit = limit.unwrap_or(0);
        keep_lowest(&mut rows, limit);
        RowSample { limit, rows }
    }
}

fn keep_lowest(rows: &mut Vec<SampledRow>, limit: u32) {
    rows.sort_unstable();
    rows.truncate(limit as usize);
}

#[cfg(test)]
mod tests;
