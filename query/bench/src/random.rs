//! Draws that depend on a seed and a place alone, so that a run can go on in the middle: the hash
//! of a counter (xxh3) under a key. Not for secrets.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// A sequence of draws.
pub(crate) struct Draws {
    key: u64,
    count: u64,
}

impl Draws {
    /// The sequence of a place: of a seed, a round, a statement.
    pub(crate) fn of(place: &[u64]) -> Draws {
        let bytes: Vec<u8> = place.iter().flat_map(|part| part.to_le_bytes()).collect();
        Draws {
            key: xxh3_64(&bytes),
            count: 0,
        }
    }

    fn next(&mut self) -> u64 {
        self.count += 1;
        xxh3_64_with_seed(&self.count.to_le_bytes(), self.key)
    }

    /// A number below `n`, by multiplication (bias below n/2^64); 0 of none.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }

    /// True in this share of draws.
    pub(crate) fn chance(&mut self, share: f64) -> bool {
        ((self.next() >> 11) as f64) < share * (1u64 << 53) as f64
    }

    /// One of several.
    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }

    /// Puts the first `n` in a drawn order, and drops the others.
    pub(crate) fn keep<T>(&mut self, n: usize, of: &mut Vec<T>) {
        let n = n.min(of.len());
        for at in 0..n {
            let other = at + self.below(of.len() - at);
            of.swap(at, other);
        }
        of.truncate(n);
    }

    /// Distinct numbers below `n`, in order.
    pub(crate) fn distinct(&mut self, count: usize, n: usize) -> Vec<usize> {
        let mut drawn: Vec<usize> = Vec::new();
        // Floyd's method: each number is drawn once at most.
        for last in n.saturating_sub(count)..n {
            let candidate = self.below(last + 1);
            drawn.push(match drawn.contains(&candidate) {
                true => last,
                false => candidate,
            });
        }
        drawn.sort_unstable();
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_their_place() {
        let drawn = |place: &[u64]| {
            let mut draws = Draws::of(place);
            [draws.below(1_000), draws.below(1_000), draws.below(1_000)]
        };
        assert_eq!(drawn(&[1, 2]), drawn(&[1, 2]));
        assert_ne!(drawn(&[1, 2]), drawn(&[2, 1]));
        // What an older limn has begun, a newer one must be able to finish.
        assert_eq!(drawn(&[0]), [166, 168, 785]);
    }

    #[test]
    fn shares_hold_and_nothing_is_drawn_twice() {
        let mut draws = Draws::of(&[7]);
        let hits = (0..10_000).filter(|_| draws.chance(0.2)).count();
        assert!((1_850..2_150).contains(&hits), "{hits}");
        for n in [0, 1, 5, 10, 100] {
            let mut drawn = draws.distinct(10, n);
            assert_eq!(drawn.len(), n.min(10));
            drawn.dedup();
            assert_eq!(drawn.len(), n.min(10));
            assert!(drawn.iter().all(|it| *it < n));
        }
        let mut kept: Vec<usize> = (0..20).collect();
        draws.keep(20, &mut kept);
        assert_ne!(kept, (0..20).collect::<Vec<_>>());
        kept.sort_unstable();
        assert_eq!(kept, (0..20).collect::<Vec<_>>());
    }
}
