//! Counting the values of one column as they stream by.

use std::collections::{BinaryHeap, HashMap};

use xxhash_rust::xxh3::xxh3_64;

use super::hyperloglog::HyperLogLog;
use super::join_key::join_hash;
use super::once::Once;
use super::{
    Counted, FREQUENT_KEPT, Frequent, HashedKeys, Place, VALUE_CHARS, ValueLimits, by_count,
};
use crate::text::prefix;

/// Counts the values of one column as they stream by. Bounded memory; no allocation for a value
/// it still remembers, and in the long run none at all (buffers are used again).
#[derive(Debug)]
pub(crate) struct ValueCounter {
    limit: usize,
    pub(super) entries: HashMap<u64, Entry, HashedKeys>,
    // Places of the lowest, the greatest on top.
    lowest: BinaryHeap<Place>,
    // Once there are `limit` values or more.
    overflow: Option<Overflow>,
    pub(super) texts: Texts,
    // Of all values in their order.
    digest: u64,
    seen: u64,
}

/// What a column of more values than can be remembered needs besides.
#[derive(Debug)]
struct Overflow {
    // All values.
    registers: HyperLogLog,
    // Values of weight 1 that are not among the lowest and have no entry; some have got one since.
    once: Once,
    // How many values have a weight > 0, with an entry or without.
    weighted: usize,
}

/// Kept small: a long column's values pass through a table of these.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    // The hash of its join key.
    join: u64,
    // Occurrences since this entry was made: exact for the lowest, else a lower bound.
    count: u64,
    // Misra-Gries counter; decides what is forgotten, not what is reported.
    weight: u32,
    text: Option<TextAt>,
}

/// Where a text is; never 0, so that having none takes no room.
type TextAt = std::num::NonZeroU32;

/// The texts of the values that are remembered; their buffers are used again.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) all: Vec<String>,
    free: Vec<TextAt>,
}

impl Texts {
    fn keep(&mut self, value: &str) -> Option<TextAt> {
        let at = self.free.pop().or_else(|| {
            self.all.push(String::new());
            TextAt::new(self.all.len() as u32)
        })?;
        self.all
            .get_mut(at.get() as usize - 1)?
            .push_str(prefix(value, VALUE_CHARS));
        Some(at)
    }

    fn get(&self, at: TextAt) -> Option<&str> {
        self.all.get(at.get() as usize - 1).map(String::as_str)
    }

    /// Empties the text for another value, and keeps its buffer.
    fn free(&mut self, at: Option<TextAt>) {
        if let Some(at) = at
            && let Some(text) = self.all.get_mut(at.get() as usize - 1)
        {
            text.clear();
            self.free.push(at);
        }
    }

    fn take(&mut self, at: Option<TextAt>) -> String {
        let text = at.and_then(|at| self.all.get_mut(at.get() as usize - 1));
        text.map(std::mem::take).unwrap_or_default()
    }
}

impl ValueCounter {
    pub(crate) fn new(limits: ValueLimits) -> Self {
        ValueCounter {
            limit: usize::from(limits.kept),
            entries: HashMap::default(),
            lowest: BinaryHeap::new(),
            overflow: None,
            texts: Texts::default(),
            digest: 0,
            seen: 0,
        }
    }

    /// A hash of all values in their order; 0 without any.
    pub(crate) fn digest(&self) -> u64 {
        self.digest
    }

    /// Counts one occurrence. Returns whether the value is new (or was forgotten).
    #[inline]
    pub(crate) fn add(&mut self, value: &str) -> bool {
        let hash = xxh3_64(value.as_bytes());
        self.seen += 1;
        self.digest = self.digest.wrapping_add(placed(hash, self.seen));
        if let Some(entry) = self.entries.get_mut(&hash) {
            entry.count += 1;
            if let Some(overflow) = &mut self.overflow {
                overflow.weighted += usize::from(entry.weight == 0);
                entry.weight = entry.weight.saturating_add(1);
            }
            return false;
        }
        let place = (join_hash(value, hash), hash);
        if self.overflow.is_some() {
            self.add_beyond(place, value)
        } else {
            self.remember(place, 1, 0, value);
            self.lowest.push(place);
            if self.lowest.len() == self.limit {
                self.overflow();
            }
            true
        }
    }

    /// Counts one occurrence of a value that has no entry, where not all of them have.
    #[inline]
    fn add_beyond(&mut self, place: Place, value: &str) -> bool {
        let Some(overflow) = &mut self.overflow else {
            return false;
        };
        let (_, hash) = place;
        let is_low = self.lowest.peek().is_some_and(|greatest| place < *greatest);
        // Most values of a long column are seen once: their entry waits for the second time.
        if !is_low && !overflow.once.add(hash) {
            self.remember(place, 2, 2, value);
            return false;
        }
        overflow.registers.add(hash);
        overflow.weighted += 1;
        let is_crowded = overflow.weighted > 2 * self.limit;
        if is_low {
            self.remember(place, 1, 1, value);
            self.lowest.push(place);
            if let Some((_, out)) = self.lowest.pop() {
                self.forget_if_idle(out);
            }
        }
        if is_crowded {
            self.evict();
        }
        true
    }

    fn remember(&mut self, (join, hash): Place, count: u64, weight: u32, value: &str) {
        let text = self.texts.keep(value);
        self.entries.insert(
            hash,
            Entry {
                join,
                count,
                weight,
                text,
            },
        );
    }

    /// From now on there are more values than can be remembered.
    fn overflow(&mut self) {
        let mut registers = HyperLogLog::for_kept(self.limit);
        for (hash, entry) in &mut self.entries {
            registers.add(*hash);
            entry.weight = u32::try_from(entry.count).unwrap_or(u32::MAX);
        }
        self.overflow = Some(Overflow {
            registers,
            once: Once::for_most(2 * self.limit + 1),
            weighted: self.entries.len(),
        });
    }

    fn forget_if_idle(&mut self, hash: u64) {
        if self
            .entries
            .get(&hash)
            .is_some_and(|entry| entry.weight == 0)
            && let Some(entry) = self.entries.remove(&hash)
        {
            self.texts.free(entry.text);
        }
    }

    /// Subtracts the weight of the `limit`-th heaviest from all: at least half of the weights
    /// become zero, and those entries are forgotten unless they are among the lowest.
    fn evict(&mut self) {
        let Some(overflow) = &mut self.overflow else {
            return;
        };
        overflow.once.clear();
        let is_heavy = |entry: &&Entry| entry.weight > 1;
        let heavy = self.entries.values().filter(is_heavy).count();
        // Nearly always few of so many values have been seen again.
        let cut = if heavy <= self.limit {
            1
        } else {
            let heavy = self.entries.values().filter(is_heavy);
            let mut weights: Vec<u32> = heavy.map(|entry| entry.weight).collect();
            *weights
                .select_nth_unstable_by(self.limit, |a, b| b.cmp(a))
                .1
        };
        let greatest = self.lowest.peek().copied().unwrap_or_default();
        let mut weighted = 0;
        let texts = &mut self.texts;
        self.entries.retain(|hash, entry| {
            entry.weight = entry.weight.saturating_sub(cut);
            weighted += usize::from(entry.weight > 0);
            let stays = entry.weight > 0 || (entry.join, *hash) <= greatest;
            if !stays {
                texts.free(entry.text);
            }
            stays
        });
        overflow.weighted = weighted;
    }

    /// The values that are remembered, in no particular order, as far as they are kept.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &str> {
        let entries = self.entries.values();
        entries.filter_map(|entry| self.texts.get(entry.text?))
    }

    /// Whether there were more values than can be remembered.
    pub(crate) fn is_beyond(&self) -> bool {
        self.overflow.is_some()
    }

    pub(crate) fn finish(mut self) -> Frequent {
        let greatest = self.lowest.peek().copied().unwrap_or((u64::MAX, u64::MAX));
        let counts = self.entries.into_iter();
        let all = counts.map(|(hash, entry)| Counted {
            place: (entry.join, hash),
            count: entry.count,
            value: self.texts.take(entry.text),
        });
        let (mut lowest, mut beyond): (Vec<_>, Vec<_>) = all.partition(|c| c.place <= greatest);
        lowest.sort_unstable_by_key(|c| c.place);
        beyond.retain(|c| c.count > 1);
        beyond.sort_unstable_by_key(by_count);
        beyond.truncate(FREQUENT_KEPT);
        Frequent {
            limit: self.limit as u16,
            lowest,
            beyond,
            registers: self.overflow.map(|overflow| overflow.registers),
            withheld: None,
        }
    }
}

/// What a value adds to the digest of a column where it stands before all that were counted, of
/// which the first is number 1.
pub fn first_placed(value: &str) -> u64 {
    placed(xxh3_64(value.as_bytes()), 0)
}

/// What the hash of a value adds to the digest of a column where it is the n-th value: the
/// finaliser of splitmix64, so that other values, or the same in another order, sum to something
/// else.
fn placed(hash: u64, n: u64) -> u64 {
    let x = hash ^ n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests;
