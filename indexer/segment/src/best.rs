//! The best of a stream of scores.

use std::cmp::Ordering;

/// The best n of a stream of scores: gathers up to twice as many, then cuts to n, so a score costs
/// one comparison once the floor has risen.
pub(crate) struct Best {
    pub(crate) n: usize,
    kept: Vec<(u32, f32)>,
    /// Scores below cannot be among the best any more.
    pub(crate) floor: f32,
}

/// Better first; ties by block, so that the cut is one whatever the order of arrival.
fn better(a: &(u32, f32), b: &(u32, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

impl Best {
    /// Of `n`; scores below `least` do not matter.
    pub(crate) fn new(n: usize, least: f32) -> Best {
        Best {
            n,
            kept: Vec::with_capacity(2 * n.min(1024)),
            floor: least,
        }
    }

    pub(crate) fn offer(&mut self, score: f32, block: u32, live: impl Fn(u32) -> bool) {
        // Equal scores go on: from the graph, rows come in any order.
        if score < self.floor || score.is_nan() || !live(block) {
            return;
        }
        self.kept.push((block, score));
        if self.kept.len() >= 2 * self.n {
            self.settle();
        }
    }

    /// Lets go of what is not among the best any more.
    pub(crate) fn settle(&mut self) {
        if self.kept.len() >= self.n {
            self.kept.select_nth_unstable_by(self.n - 1, better);
            self.kept.truncate(self.n);
            self.floor = self.kept[self.n - 1].1;
        }
    }

    pub(crate) fn sorted(mut self) -> Vec<(u32, f32)> {
        self.kept.sort_unstable_by(better);
        self.kept.truncate(self.n);
        self.kept
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    proptest::proptest! {
        #[test]
        fn best_is_a_stable_sort(scores in proptest::collection::vec(-3i8..3, 0..60), n in 1usize..10) {
            let mut best = Best::new(n, f32::NEG_INFINITY);
            for (block, score) in scores.iter().enumerate().rev() {
                best.offer(f32::from(*score), block as u32, |b| b % 5 != 4);
            }
            let mut expected: Vec<(u32, f32)> = (0u32..)
                .zip(&scores)
                .filter(|(b, _)| b % 5 != 4)
                .map(|(b, s)| (b, f32::from(*s)))
                .collect();
            expected.sort_by(|a, b| b.1.total_cmp(&a.1));
            expected.truncate(n);
            proptest::prop_assert_eq!(best.sorted(), expected);
        }
    }
}
