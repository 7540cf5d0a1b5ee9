//! The distinct values of a column with their counts: exact while few, bounded sketches beyond.
//!
//! Three sketches, over the values' xxh3-64 hashes:
//!
//! - **The lowest hashes** (bottom-k; Beyer et al. 2007, "KMV"): the `limit` values of lowest hash,
//!   with counts. A value among the final lowest has been among the lowest since it was first seen,
//!   so its count is exact, in every file and in every union. While fewer than `limit` values exist
//!   these are all of them: the exact case is no case of its own. Union is associative and
//!   commutative. Beyond the exact case they are a uniform sample of the distinct values: of how
//!   often they repeat, of what they look like ([`crate::patterns`]), and, as the same values are
//!   drawn in every column, of how two columns overlap ([`crate::value_set`]). So that they are
//!   drawn alike where a join finds them equal, they are ordered by the hash of their [join
//!   key](crate::values::join_key).
//! - **The number of distinct values** ([`HyperLogLog`]), beyond the exact case. Union is
//!   associative and commutative.
//! - **The frequent ones** (Misra & Gries 1982, evicting half at a time like Anderson et al. 2017):
//!   most frequent values beyond the lowest hashes, with counts that are lower bounds. Their union
//!   is a sum over all files, in path order where it must forget, hence a function of the set of
//!   files (design, section 6).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

use crate::text::prefix;

mod counter;
mod hyperloglog;
mod join_key;
mod json;
mod once;
mod sketch;

pub(crate) use counter::ValueCounter;
pub use counter::first_placed;
pub use hyperloglog::HyperLogLog;
pub use join_key::join_key;
pub use sketch::SketchError;

/// Distinct values below which counts are exact and complete.
pub const EXACT_BELOW: u16 = 128;
/// Frequent values kept of a column with more distinct values than that.
const FREQUENT_KEPT: usize = 32;
/// Stored values are cut at this many characters (their identity is the hash of the whole).
pub const VALUE_CHARS: usize = 200;
/// Candidates a merge holds before it forgets the rarest half.
const MERGE_CANDIDATES: usize = 8192;

/// How much a column may remember.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueLimits {
    kept: u16,
}

impl Default for ValueLimits {
    fn default() -> Self {
        ValueLimits { kept: EXACT_BELOW }
    }
}

impl ValueLimits {
    /// Limits that bound the memory of all columns together: [`EXACT_BELOW`] values a column up to
    /// 512 columns, fewer in wider tables, never below 16.
    pub fn for_columns(columns: usize) -> Self {
        let share = 65_536 / columns.max(1);
        ValueLimits {
            kept: share.clamp(16, usize::from(EXACT_BELOW)) as u16,
        }
    }
}

/// Where a value stands among others: the hash of its join key, then its own hash. Nearly always
/// they are the same.
type Place = (u64, u64);

/// A value and how often it occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counted {
    place: Place,
    count: u64,
    // At most VALUE_CHARS characters.
    value: String,
}

impl Counted {
    fn is_cut(&self) -> bool {
        xxh3_64(self.value.as_bytes()) != self.hash()
    }

    fn hash(&self) -> u64 {
        self.place.1
    }
}

/// Distinct values of a column and their counts, mergeable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequent {
    limit: u16,
    // The values of lowest hash, by place; complete if fewer than `limit`.
    lowest: Vec<Counted>,
    // Frequent values that are not in `lowest`, most frequent first; empty if `lowest` is complete.
    beyond: Vec<Counted>,
    // All values; none if `lowest` is complete, or if this comes of a catalog from before there
    // were any.
    registers: Option<HyperLogLog>,
    // What is left where values are not to be kept; then all of the above is empty.
    withheld: Option<Withheld>,
}

/// What is known of values that are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct Withheld {
    /// Distinct values, or a number that there are at least.
    #[serde(rename = "d")]
    distinct: u64,
    #[serde(rename = "e")]
    exact: bool,
    /// Whether one may occur twice.
    #[serde(rename = "r")]
    repeats: bool,
}

impl Default for Frequent {
    fn default() -> Self {
        Frequent {
            limit: EXACT_BELOW,
            lowest: Vec::new(),
            beyond: Vec::new(),
            registers: None,
            withheld: None,
        }
    }
}

impl Frequent {
    /// A column of one value (a partition key's).
    pub(crate) fn constant(value: &str, count: u64) -> Self {
        let lowest = if count == 0 {
            Vec::new()
        } else {
            vec![counted(value, count)]
        };
        Frequent {
            lowest,
            ..Frequent::default()
        }
    }

    /// Values that are not kept: only how many distinct ones there are, and whether one may occur
    /// twice.
    pub(crate) fn withheld(distinct: u64, exact: bool, repeats: bool) -> Self {
        Frequent {
            withheld: Some(Withheld {
                distinct,
                exact,
                repeats,
            }),
            ..Frequent::default()
        }
    }

    /// Takes out the values that a test finds, and returns how often they were counted. What is
    /// left is of the other values.
    pub(crate) fn drop_values(&mut self, is_dropped: impl Fn(&str) -> bool) -> u64 {
        let is_complete = self.is_complete();
        let mut dropped = 0u64;
        for values in [&mut self.lowest, &mut self.beyond] {
            values.retain(|c| {
                let is_kept = !is_dropped(&c.value);
                dropped = dropped.saturating_add(if is_kept { 0 } else { c.count });
                is_kept
            });
        }
        if dropped > 0 && !is_complete {
            // Still a sample: the lowest of those that are left.
            self.limit = self.lowest.len() as u16;
        }
        dropped
    }

    /// Whether the values are withheld ([`crate::privacy`]).
    pub fn is_withheld(&self) -> bool {
        self.withheld.is_some()
    }

    /// Whether every distinct value that was counted is here, with its exact count.
    pub fn is_complete(&self) -> bool {
        self.withheld.is_none() && self.lowest.len() < usize::from(self.limit)
    }

    /// Whether [`Frequent::distinct`] is a count, of the values that were looked at.
    pub fn distinct_exact(&self) -> bool {
        self.withheld
            .map_or(self.is_complete(), |known| known.exact)
    }

    /// How many distinct values were counted: exact if [`Frequent::is_complete`], otherwise an
    /// estimate, with the relative standard error [`Frequent::distinct_error`].
    pub fn distinct(&self) -> u64 {
        if let Some(known) = self.withheld {
            return known.distinct;
        }
        if self.is_complete() {
            return self.lowest.len() as u64;
        }
        let estimate = match (&self.registers, self.lowest.last()) {
            (Some(registers), _) => registers.estimate(),
            // KMV: (k − 1) / (k-th lowest hash as a fraction).
            (None, Some(last)) => {
                let fraction = (last.place.0 as f64 + 1.0) / 2f64.powi(64);
                (self.lowest.len() as f64 - 1.0) / fraction
            }
            (None, None) => 0.0,
        };
        (estimate.round() as u64).max(self.len() as u64)
    }

    /// The relative standard error of [`Frequent::distinct`]: 0 if [`Frequent::is_complete`],
    /// otherwise that of a [`HyperLogLog`], 3.25 % (in tables of more than 512 columns up to 9.2
    /// %).
    pub fn distinct_error(&self) -> f64 {
        match &self.registers {
            _ if self.distinct_exact() => 0.0,
            Some(registers) => registers.standard_error(),
            // Beyer et al. 2007.
            None => 1.0 / (self.lowest.len().max(3) as f64 - 2.0).sqrt(),
        }
    }

    /// Whether no value is known to occur twice. If [`Frequent::is_complete`], none does. Otherwise
    /// the values of lowest hash are a uniform sample of the distinct ones with exact counts: that
    /// a share p of all distinct values repeats stays unseen with probability (1 − p)^limit, so
    /// with 95 % confidence less than 2.3 % do.
    pub fn never_repeats(&self) -> bool {
        if let Some(known) = self.withheld {
            return !known.repeats;
        }
        self.lowest.iter().chain(&self.beyond).all(|c| c.count <= 1)
    }

    /// The values of lowest hash with their exact counts, in an order that depends on nothing but
    /// the values: all values if [`Frequent::is_complete`], otherwise a uniform sample of the
    /// distinct ones.
    pub fn sample(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.lowest.iter().map(|c| (c.value.as_str(), c.count))
    }

    /// The `n` most frequent values known, most frequent first, equal counts in an order that
    /// depends on nothing but the values. Beyond the exact range a value that is rare in every file
    /// may be missing, and counts of values outside the lowest hashes are lower bounds.
    pub fn top(&self, n: usize) -> Vec<(&str, u64)> {
        let mut all: Vec<&Counted> = self.lowest.iter().chain(&self.beyond).collect();
        all.sort_unstable_by_key(|c| by_count(c));
        all.truncate(n);
        all.into_iter()
            .map(|c| (c.value.as_str(), c.count))
            .collect()
    }

    /// How many values [`Frequent::top`] can give at most.
    pub fn len(&self) -> usize {
        self.lowest.len() + self.beyond.len()
    }

    /// About how many bytes of memory the values take.
    pub(crate) fn held(&self) -> u64 {
        let values = self.lowest.iter().chain(&self.beyond);
        let values: usize = values
            .map(|it| size_of::<Counted>() + it.value.len() + 16)
            .sum();
        values as u64 + self.registers.as_ref().map_or(0, |_| 1 << 10)
    }

    /// Whether no value was counted.
    pub fn is_empty(&self) -> bool {
        self.lowest.is_empty() && self.withheld.is_none()
    }

    /// Hashes (xxh3-64) of the [join keys](crate::values::join_key) of the values of lowest hash,
    /// ascending, with repeats where several spellings have one key: a sketch of the value set.
    pub fn hashes(&self) -> impl ExactSizeIterator<Item = u64> {
        self.lowest.iter().map(|c| c.place.0)
    }

    /// The values of several disjoint sets of rows together. The lowest hashes (so everything,
    /// while exact) and the number of distinct values do not depend on order or grouping; the
    /// others are summed over all parts, and depend on the parts' order only beyond 8192
    /// candidates: give parts in path order.
    pub fn merge<'a>(parts: impl IntoIterator<Item = &'a Frequent>) -> Frequent {
        let parts: Vec<&Frequent> = parts.into_iter().collect();
        if parts.iter().any(|part| part.is_withheld()) {
            return merged_withheld(&parts);
        }
        let limits = parts.iter().map(|part| part.limit);
        let limit = limits.min().unwrap_or(EXACT_BELOW);
        let mut sums: Sums<'_> = HashMap::default();
        for part in &parts {
            for c in part.lowest.iter().chain(&part.beyond) {
                let sum = &mut sums.entry(c.hash()).or_insert((0, c)).0;
                // Counts of a damaged catalog may be any.
                *sum = sum.saturating_add(c.count);
            }
            if sums.len() > MERGE_CANDIDATES {
                let (lowest, mut beyond) = split(std::mem::take(&mut sums), limit);
                beyond.truncate(MERGE_CANDIDATES / 2);
                let kept = lowest.into_iter().chain(beyond);
                sums.extend(kept.map(|(count, value)| (value.hash(), (count, value))));
            }
        }
        let (lowest, mut beyond) = split(sums, limit);
        beyond.retain(|(count, _)| *count > 1);
        beyond.truncate(FREQUENT_KEPT);
        let own = |(count, value): (u64, &Counted)| Counted {
            count,
            ..value.clone()
        };
        let registers = if lowest.len() < usize::from(limit) {
            None
        } else {
            merged_registers(&parts, limit)
        };
        Frequent {
            limit,
            lowest: lowest.into_iter().map(own).collect(),
            beyond: beyond.into_iter().map(own).collect(),
            registers,
            withheld: None,
        }
    }
}

/// Where some values are withheld nothing is known of which ones parts share: there are at least as
/// many as in the part that has most, and one of them may be in two parts.
fn merged_withheld(parts: &[&Frequent]) -> Frequent {
    let parts = parts.iter().filter(|part| !part.is_empty());
    let is_one = parts.clone().count() == 1;
    let distinct = parts.clone().map(|part| part.distinct()).max();
    let exact = is_one && parts.clone().all(|part| part.distinct_exact());
    let repeats = !is_one || !parts.clone().all(|part| part.never_repeats());
    Frequent::withheld(distinct.unwrap_or(0), exact, repeats)
}

/// The registers of all parts; none where a part that is not complete has none.
fn merged_registers(parts: &[&Frequent], limit: u16) -> Option<HyperLogLog> {
    let mut merged = HyperLogLog::for_kept(usize::from(limit));
    for part in parts {
        match &part.registers {
            Some(registers) => merged.merge(registers),
            None if part.is_complete() => {
                part.lowest.iter().for_each(|c| merged.add(c.hash()));
            }
            None => return None,
        }
    }
    Some(merged)
}

type Sums<'a> = HashMap<u64, (u64, &'a Counted), HashedKeys>;
type Summed<'a> = Vec<(u64, &'a Counted)>;

/// The `limit` sums of lowest hash, by hash, and the others, most frequent first.
fn split(sums: Sums<'_>, limit: u16) -> (Summed<'_>, Summed<'_>) {
    let mut lowest: Summed<'_> = sums.into_values().collect();
    lowest.sort_unstable_by_key(|(_, value)| value.place);
    let mut beyond = lowest.split_off(lowest.len().min(usize::from(limit)));
    beyond.sort_unstable_by_key(|(count, value)| (std::cmp::Reverse(*count), value.hash()));
    (lowest, beyond)
}

fn by_count(c: &Counted) -> (std::cmp::Reverse<u64>, u64) {
    (std::cmp::Reverse(c.count), c.hash())
}

fn counted(value: &str, count: u64) -> Counted {
    let hash = xxh3_64(value.as_bytes());
    Counted {
        place: (join_key::join_hash(value, hash), hash),
        count,
        value: prefix(value, VALUE_CHARS).to_owned(),
    }
}

/// Keys that are hashes already.
type HashedKeys = BuildHasherDefault<HashedKey>;

#[derive(Default)]
struct HashedKey(u64);

impl Hasher for HashedKey {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        debug_assert!(false, "keys are u64");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests;
