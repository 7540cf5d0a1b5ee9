//! How the values of two columns overlap, from their profiles: what joins are found by.
//!
//! A [`ValueSet`] is a column's distinct values as hashes of their [join
//! keys](crate::values::join_key), so that it compares values as a join would. Below 128 distinct
//! values all are there and every figure is exact. Beyond, there are the hashes below a threshold,
//! of *all* values below it: a KMV synopsis (Beyer, Haas, Reinwald, Sismanis & Gemulla 2007). Below
//! the lower one of two thresholds both columns are known completely, and as hashes are uniform,
//! that part is a uniform sample of the union, of each column, and of what they share (the θ-sketch
//! of Dasgupta, Lang, Rhodes & Thaler 2016).
//!
//! # Error bounds
//! A share that is seen in n sampled values ([`Share::sampled`]) has a standard error of √(p (1 −
//! p) / n), at most 1 / (2 √n), and the interval [`Share::low`] to [`Share::high`] (Wilson 1927)
//! holds the true share in about 95 of 100 cases. How large n is, of columns with a and b distinct
//! values:
//!
//! | share | n | standard error at most |
//! |---|---|---|
//! | Jaccard | at least 127 | 4.4 % |
//! | a contained in b, a ≥ b | 127 | 4.4 % |
//! | a contained in b, a < b | about 127 a / b | 4.4 % √(b / a): 14 % for a tenth of b |
//!
//! No overlap is ever seen where there is none (but for equal hashes of 64 bits). A small column in
//! a much larger one may have no sampled value at all: the share is then 0 and its interval 0 to 1.
//! In tables of more than 512 columns fewer values are kept, and n is smaller in proportion.
//!
//! Of files that were read in part, all of it is said of the rows that were looked at.

use serde::{Deserialize, Serialize};

use crate::profile::ColumnProfile;
use crate::values::Frequent;

/// Standard errors of the intervals: 95 % of a normal distribution.
const DEVIATIONS: f64 = 1.96;

/// The distinct values of a column, as far as they are known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ValueSet {
    // Ascending, distinct; all that are less than `below`.
    hashes: Vec<u64>,
    // None: these are all.
    below: Option<u64>,
    distinct: u64,
    exact: bool,
}

/// A share between 0 and 1, counted or estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// The share, or the best estimate of it.
    pub value: f64,
    /// Where the true share begins, with 95 % confidence for both ends together.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
    /// How many values it was seen in.
    pub sampled: usize,
}

/// How two columns' values overlap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// Shared values as a share of the values of both: |A ∩ B| / |A ∪ B|.
    pub jaccard: Share,
    /// The share of the first column's values that the second has: |A ∩ B| / |A|.
    pub first_in_second: Share,
    /// The share of the second column's values that the first has.
    pub second_in_first: Share,
    /// How many values they share.
    pub intersection: f64,
    /// Whether all of it is exact: both columns were looked at completely and have few values.
    pub exact: bool,
}

impl ColumnProfile {
    /// The column's distinct values as far as they are known, to be compared with another column's.
    pub fn value_set(&self) -> ValueSet {
        ValueSet::of(&self.frequent, self.distinct(), self.exact)
    }
}

impl ValueSet {
    /// The values of a column of `distinct` distinct ones; `exact` says whether every value was
    /// looked at.
    pub fn of(frequent: &Frequent, distinct: u64, exact: bool) -> ValueSet {
        let mut hashes: Vec<u64> = frequent.hashes().collect();
        let kept = hashes.len();
        hashes.dedup();
        if frequent.is_complete() {
            return ValueSet {
                distinct: hashes.len() as u64,
                hashes,
                below: None,
                exact,
            };
        }
        if frequent.is_withheld() {
            // Nothing is known of which values there are.
            return ValueSet {
                hashes,
                below: Some(0),
                distinct,
                exact: false,
            };
        }
        // Several spellings may have one key.
        let keys = hashes.len() as f64 / kept.max(1) as f64;
        // The last one is there because it is the last one: counting it would favour this column.
        let below = hashes.pop();
        ValueSet {
            hashes,
            below,
            distinct: (distinct as f64 * keys).round() as u64,
            exact: false,
        }
    }

    /// How many values the column has, by join keys: exact if all are known, otherwise with the
    /// relative standard error [`ColumnProfile::distinct_error`].
    pub fn distinct(&self) -> f64 {
        self.distinct as f64
    }

    /// The hashes (xxh3-64) of the values' join keys, ascending and distinct: of all values if
    /// [`ValueSet::is_complete`], otherwise of a uniform sample, the lowest ones.
    pub fn hashes(&self) -> &[u64] {
        &self.hashes
    }

    /// Whether all values that were looked at are known.
    pub fn is_complete(&self) -> bool {
        self.below.is_none()
    }

    /// Shared values as a share of the values of both; 0 where there are none.
    pub fn jaccard(&self, other: &ValueSet) -> Share {
        self.overlap(other).jaccard
    }

    /// The share of this column's values that `other` has, 1 for a foreign key and what it refers
    /// to; 0 without values.
    pub fn contained_in(&self, other: &ValueSet) -> Share {
        self.overlap(other).first_in_second
    }

    /// All that is known of how the columns overlap.
    pub fn overlap(&self, other: &ValueSet) -> Overlap {
        let below = match (self.below, other.below) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let known = |set: &ValueSet| match below {
            Some(below) => set.hashes.partition_point(|hash| *hash < below),
            None => set.hashes.len(),
        };
        let (ours, theirs) = (known(self), known(other));
        let shared = shared(&self.hashes, &other.hashes, below);
        let is_complete = below.is_none();
        // All values of a small column may lie below the threshold of a larger one.
        let all_of = |set: &ValueSet, known| set.is_complete() && known == set.hashes.len();
        let first_in_second = Share::of(shared, ours, all_of(self, ours));
        let second_in_first = Share::of(shared, theirs, all_of(other, theirs));
        // The column that the sample is a larger part of shows better how many values it stands
        // for.
        let intersection = if is_complete {
            shared as f64
        } else if ours >= theirs {
            first_in_second.value * self.distinct()
        } else {
            second_in_first.value * other.distinct()
        };
        Overlap {
            jaccard: Share::of(shared, ours + theirs - shared, is_complete),
            first_in_second,
            second_in_first,
            intersection: intersection.min(self.distinct()).min(other.distinct()),
            exact: is_complete && self.exact && other.exact,
        }
    }
}

impl ValueSet {
    /// How the columns overlap where `looked_up` of this one's values, all or a uniform sample,
    /// were looked up in the other, which has `held` of them.
    pub fn overlap_by_lookups(&self, other: &ValueSet, held: usize, looked_up: usize) -> Overlap {
        let is_all = self.is_complete() && looked_up == self.hashes.len();
        let first_in_second = Share::of(held, looked_up, is_all);
        let (ours, theirs) = (self.distinct(), other.distinct());
        let shared = |share: f64| (share * ours).min(theirs);
        let of = |share: &dyn Fn(f64) -> f64| Share {
            value: share(shared(first_in_second.value)),
            low: share(shared(first_in_second.low)),
            high: share(shared(first_in_second.high)),
            sampled: looked_up,
        };
        Overlap {
            jaccard: of(&|shared| shared / (ours + theirs - shared).max(1.0)),
            first_in_second,
            second_in_first: of(&|shared| shared / theirs.max(1.0)),
            intersection: shared(first_in_second.value),
            exact: false,
        }
    }
}

/// How many hashes two ascending lists share, below a threshold.
fn shared(mut a: &[u64], mut b: &[u64], below: Option<u64>) -> usize {
    let mut shared = 0;
    while let ([x, more_a @ ..], [y, more_b @ ..]) = (a, b) {
        if below.is_some_and(|below| *x >= below || *y >= below) {
            break;
        }
        shared += usize::from(x == y);
        (a, b) = (
            if x <= y { more_a } else { a },
            if y <= x { more_b } else { b },
        );
    }
    shared
}

impl Share {
    /// `some` of `all` values: of all there are, or of a sample.
    fn of(some: usize, all: usize, is_all: bool) -> Share {
        if is_all {
            let value = some as f64 / all.max(1) as f64;
            return Share {
                value,
                low: value,
                high: value,
                sampled: all,
            };
        }
        if all == 0 {
            return Share {
                value: 0.0,
                low: 0.0,
                high: 1.0,
                sampled: 0,
            };
        }
        let (n, z) = (all as f64, DEVIATIONS);
        let value = some as f64 / n;
        // Wilson 1927.
        let middle = (value + z * z / (2.0 * n)) / (1.0 + z * z / n);
        let reach =
            z / (1.0 + z * z / n) * (value * (1.0 - value) / n + z * z / (4.0 * n * n)).sqrt();
        Share {
            value,
            // Rounding must not shut the share itself out.
            low: (middle - reach).clamp(0.0, value),
            high: (middle + reach).clamp(value, 1.0),
            sampled: all,
        }
    }

    /// The standard error that a share of this size has in a sample of this size; meaningless where
    /// the share was counted.
    pub fn standard_error(&self) -> f64 {
        (self.value * (1.0 - self.value) / self.sampled.max(1) as f64).sqrt()
    }

    /// Whether the share was counted, of the values that were looked at, and not estimated. Whether
    /// all were looked at is said by [`Overlap::exact`].
    pub fn is_exact(&self) -> bool {
        self.low >= self.high
    }
}

#[cfg(test)]
mod tests;
