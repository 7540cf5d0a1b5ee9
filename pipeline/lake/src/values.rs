//! The distinct values of a column with their counts: exact while few, a bounded sketch beyond.
//!
//! Two sketches in one, over the values' xxh3-64 hashes:
//!
//! - **The lowest hashes** (bottom-k; Bar-Yossef et al. 2002, "KMV"): the `limit` values of lowest
//!   hash, with counts. A value among the final lowest has been among the lowest since it was first
//!   seen, so its count is exact, in every file and in every union. While fewer than `limit` values
//!   exist these are all of them: the exact case is no case of its own. Union is associative and
//!   commutative, it estimates the number of distinct values, and two columns' lowest hashes
//!   estimate their overlap.
//! - **The frequent ones** (Misra & Gries 1982, evicting half at a time like Anderson et al. 2017):
//!   most frequent values beyond the lowest hashes, with counts that are lower bounds. Their union
//!   is a sum over all files, in path order where it must forget, hence a function of the set of
//!   files (design, section 6).

use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::xxh3_64;

use crate::sample::prefix;

mod json;

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

/// A value and how often it occurs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Counted {
    hash: u64,
    count: u64,
    // At most VALUE_CHARS characters.
    value: String,
}

impl Counted {
    fn is_cut(&self) -> bool {
        xxh3_64(self.value.as_bytes()) != self.hash
    }
}

/// Distinct values of a column and their counts, mergeable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequent {
    limit: u16,
    // The values of lowest hash, by hash; complete if fewer than `limit`.
    lowest: Vec<Counted>,
    // Frequent values that are not in `lowest`, most frequent first; empty if `lowest` is complete.
    beyond: Vec<Counted>,
}

impl Default for Frequent {
    fn default() -> Self {
        Frequent {
            limit: EXACT_BELOW,
            lowest: Vec::new(),
            beyond: Vec::new(),
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

    /// Whether every distinct value that was counted is here, with its exact count.
    pub fn is_complete(&self) -> bool {
        self.lowest.len() < usize::from(self.limit)
    }

    /// How many distinct values were counted: exact if [`Frequent::is_complete`], otherwise
    /// the KMV estimate (k − 1) / (k-th lowest hash as a fraction), standard error about 1/√k.
    pub fn distinct(&self) -> u64 {
        match self.lowest.last() {
            Some(last) if !self.is_complete() => {
                let k = self.lowest.len() as f64;
                let fraction = (last.hash as f64 + 1.0) / 2f64.powi(64);
                (((k - 1.0) / fraction).round() as u64).max(self.lowest.len() as u64)
            }
            _ => self.lowest.len() as u64,
        }
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

    /// Whether no value was counted.
    pub fn is_empty(&self) -> bool {
        self.lowest.is_empty()
    }

    /// Hashes (xxh3-64) of the values of lowest hash, ascending: a sketch of the value set.
    pub fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        self.lowest.iter().map(|c| c.hash)
    }

    /// The values of several disjoint sets of rows together. The lowest hashes (so everything,
    /// while exact) do not depend on order or grouping; the others are summed over all parts, and
    /// depend on the parts' order only beyond 8192 candidates: give parts in path order.
    pub fn merge<'a>(parts: impl IntoIterator<Item = &'a Frequent>) -> Frequent {
        let mut parts = parts.into_iter().peekable();
        let mut limit = parts.peek().map_or(EXACT_BELOW, |part| part.limit);
        let mut sums: HashMap<u64, (u64, &str), HashedKeys> = HashMap::default();
        for part in parts {
            limit = limit.min(part.limit);
            for c in part.lowest.iter().chain(&part.beyond) {
                sums.entry(c.hash).or_insert((0, &c.value)).0 += c.count;
            }
            if sums.len() > MERGE_CANDIDATES {
                let (lowest, mut beyond) = split(std::mem::take(&mut sums), limit);
                beyond.truncate(MERGE_CANDIDATES / 2);
                sums.extend(
                    lowest
                        .into_iter()
                        .chain(beyond)
                        .map(|(hash, count, value)| (hash, (count, value))),
                );
            }
        }
        let (lowest, mut beyond) = split(sums, limit);
        beyond.retain(|(_, count, _)| *count > 1);
        beyond.truncate(FREQUENT_KEPT);
        let own = |(hash, count, value): (u64, u64, &str)| Counted {
            hash,
            count,
            value: value.to_owned(),
        };
        Frequent {
            limit,
            lowest: lowest.into_iter().map(own).collect(),
            beyond: beyond.into_iter().map(own).collect(),
        }
    }
}

type Sums<'a> = HashMap<u64, (u64, &'a str), HashedKeys>;
type Summed<'a> = Vec<(u64, u64, &'a str)>;

/// The `limit` sums of lowest hash, by hash, and the others, most frequent first.
fn split(sums: Sums<'_>, limit: u16) -> (Summed<'_>, Summed<'_>) {
    let mut lowest: Summed<'_> = sums
        .into_iter()
        .map(|(hash, (count, value))| (hash, count, value))
        .collect();
    lowest.sort_unstable_by_key(|(hash, ..)| *hash);
    let mut beyond = lowest.split_off(lowest.len().min(usize::from(limit)));
    beyond.sort_unstable_by_key(|(hash, count, _)| (std::cmp::Reverse(*count), *hash));
    (lowest, beyond)
}

fn by_count(c: &Counted) -> (std::cmp::Reverse<u64>, u64) {
    (std::cmp::Reverse(c.count), c.hash)
}

fn counted(value: &str, count: u64) -> Counted {
    Counted {
        hash: xxh3_64(value.as_bytes()),
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

/// Counts the values of one column as they stream by. Bounded memory; no allocation for a value
/// it still remembers, and in the long run none at all (buffers are used again).
#[derive(Debug)]
pub(crate) struct ValueCounter {
    limit: usize,
    entries: HashMap<u64, Entry, HashedKeys>,
    // Hashes of the lowest, the greatest on top.
    lowest: BinaryHeap<u64>,
    // Entries with weight > 0, once there are `limit` values or more.
    weighted: usize,
    spare: Vec<String>,
}

#[derive(Debug)]
struct Entry {
    // Empty for a value that was seen once and whose hash is not among the lowest.
    value: String,
    // Occurrences since this entry was made: exact for the lowest hashes, else a lower bound.
    count: u64,
    // Misra-Gries counter; decides what is forgotten, not what is reported.
    weight: u64,
}

impl ValueCounter {
    pub(crate) fn new(limits: ValueLimits) -> Self {
        ValueCounter {
            limit: usize::from(limits.kept),
            entries: HashMap::default(),
            lowest: BinaryHeap::new(),
            weighted: 0,
            spare: Vec::new(),
        }
    }

    /// Counts one occurrence. Returns whether the value is new (or was forgotten).
    pub(crate) fn add(&mut self, value: &str) -> bool {
        let hash = xxh3_64(value.as_bytes());
        let overflowed = self.lowest.len() >= self.limit;
        if let Some(entry) = self.entries.get_mut(&hash) {
            entry.count += 1;
            if overflowed {
                self.weighted += usize::from(entry.weight == 0);
                entry.weight += 1;
                if entry.value.is_empty() {
                    entry.value = copy(&mut self.spare, value);
                }
            }
            return false;
        }
        // Most values of a long column are seen once: their text waits for the second time.
        let is_low = !overflowed || self.lowest.peek().is_some_and(|greatest| hash < *greatest);
        let text = if is_low {
            copy(&mut self.spare, value)
        } else {
            String::new()
        };
        self.entries.insert(
            hash,
            Entry {
                value: text,
                count: 1,
                weight: u64::from(overflowed),
            },
        );
        if overflowed {
            self.weighted += 1;
            if is_low {
                self.lowest.push(hash);
                if let Some(out) = self.lowest.pop() {
                    self.forget_if_idle(out);
                }
            }
            if self.weighted > 2 * self.limit {
                self.evict();
            }
        } else {
            self.lowest.push(hash);
            if self.lowest.len() == self.limit {
                for entry in self.entries.values_mut() {
                    entry.weight = entry.count;
                }
                self.weighted = self.entries.len();
            }
        }
        true
    }

    fn forget_if_idle(&mut self, hash: u64) {
        if self
            .entries
            .get(&hash)
            .is_some_and(|entry| entry.weight == 0)
            && let Some(entry) = self.entries.remove(&hash)
        {
            recycle(&mut self.spare, entry.value);
        }
    }

    /// Subtracts the weight of the `limit`-th heaviest from all: at least half of the weights
    /// become zero, and those entries are forgotten unless their hash is among the lowest.
    fn evict(&mut self) {
        let mut weights: Vec<u64> = self
            .entries
            .values()
            .map(|e| e.weight)
            .filter(|w| *w > 0)
            .collect();
        let (_, cut, _) = weights.select_nth_unstable_by(self.limit, |a, b| b.cmp(a));
        let cut = *cut;
        let greatest = self.lowest.peek().copied().unwrap_or(0);
        let mut weighted = 0;
        let spare = &mut self.spare;
        self.entries.retain(|hash, entry| {
            entry.weight = entry.weight.saturating_sub(cut);
            weighted += usize::from(entry.weight > 0);
            let stays = entry.weight > 0 || *hash <= greatest;
            if !stays {
                recycle(spare, std::mem::take(&mut entry.value));
            }
            stays
        });
        self.weighted = weighted;
    }

    pub(crate) fn finish(self) -> Frequent {
        let limit = self.limit;
        let greatest = self.lowest.peek().copied().unwrap_or(u64::MAX);
        let counts = self.entries.into_iter();
        let all = counts.map(|(hash, entry)| Counted {
            hash,
            count: entry.count,
            value: entry.value,
        });
        let (mut lowest, mut beyond): (Vec<_>, Vec<_>) = all.partition(|c| c.hash <= greatest);
        lowest.sort_unstable_by_key(|c| c.hash);
        beyond.retain(|c| c.count > 1);
        beyond.sort_unstable_by_key(by_count);
        beyond.truncate(FREQUENT_KEPT);
        Frequent {
            limit: limit as u16,
            lowest,
            beyond,
        }
    }
}

fn copy(spare: &mut Vec<String>, value: &str) -> String {
    let mut text = spare.pop().unwrap_or_default();
    text.push_str(prefix(value, VALUE_CHARS));
    text
}

fn recycle(spare: &mut Vec<String>, mut text: String) {
    if text.capacity() > 0 {
        text.clear();
        spare.push(text);
    }
}

#[cfg(test)]
mod tests;
