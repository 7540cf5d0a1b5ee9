//! The paired bootstrap: how far a difference between two runs over the same questions can be
//! trusted.
//!
//! Questions are drawn with replacement, each with what both runs made of it; the 2.5 and 97.5
//! percentiles of the resampled means bound the 95 % interval (Efron and Tibshirani 1993, chapter
//! 13). Pairing takes out what makes a question hard for both. The seed is fixed: equal runs, equal
//! intervals.

use serde::{Deserialize, Serialize};

/// Resamples drawn.
pub const RESAMPLES: usize = 10_000;
const SEED: u64 = 0x6c69_6d6e;

/// A mean, mostly of differences, and its 95 % interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean over the questions.
    pub mean: f64,
    /// The 2.5 percentile of the resampled means.
    pub low: f64,
    /// The 97.5 percentile.
    pub high: f64,
}

impl Interval {
    /// Whether the interval lies on one side of 0.
    pub fn is_clear(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// The intervals of several measures' means, mostly of differences, a measure's in a row, one for
/// each question. All measures are resampled by the same draws. Zeros where there is no question.
pub fn paired_bootstrap(measures: &[Vec<f64>]) -> Vec<Interval> {
    let questions = measures.first().map_or(0, Vec::len);
    let mut random = SplitMix(SEED);
    let mut means = vec![Vec::with_capacity(RESAMPLES); measures.len()];
    let mut sums = vec![0.0; measures.len()];
    for _ in 0..RESAMPLES {
        sums.fill(0.0);
        for _ in 0..questions {
            let drawn = random.below(questions);
            for (sum, differences) in sums.iter_mut().zip(measures) {
                *sum += differences[drawn];
            }
        }
        for (means, sum) in means.iter_mut().zip(&sums) {
            means.push(sum / questions.max(1) as f64);
        }
    }
    let intervals = measures.iter().zip(&mut means).map(|(differences, means)| {
        means.sort_unstable_by(f64::total_cmp);
        Interval {
            mean: differences.iter().sum::<f64>() / questions.max(1) as f64 + 0.0,
            low: percentile(means, 0.025),
            high: percentile(means, 0.975),
        }
    });
    intervals.collect()
}

/// The nearest-rank percentile of sorted values; 0 of none.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted
        .get(rank.clamp(1, sorted.len().max(1)) - 1)
        .copied()
        .unwrap_or(0.0)
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, by multiplication (bias below n/2^64).
    pub(super) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_that_of_the_normal_law_where_it_should_be() {
        // 400 differences, +1 for a third, −1 for a sixth, else 0: mean 1/6, standard error
        // sqrt((1/2 − 1/36)/402) = 0.0343.
        let differences: Vec<f64> = (0..402)
            .map(|at| [1.0, 0.0, 0.0, 1.0, -1.0, 0.0][at % 6])
            .collect();
        let interval = paired_bootstrap(&[differences])[0];
        assert!((interval.mean - 1.0 / 6.0).abs() < 1e-12);
        assert!((interval.low - (1.0 / 6.0 - 1.96 * 0.0343)).abs() < 0.006);
        assert!((interval.high - (1.0 / 6.0 + 1.96 * 0.0343)).abs() < 0.006);
        assert!(interval.is_clear());
    }

    #[test]
    fn equal_runs_have_no_difference_and_equal_runs_equal_intervals() {
        let zeros = vec![0.0; 50];
        let noise: Vec<f64> = (0..50).map(|at| f64::from(at % 3) - 1.0).collect();
        let intervals = paired_bootstrap(&[zeros.clone(), noise.clone()]);
        assert_eq!((intervals[0].low, intervals[0].high), (0.0, 0.0));
        assert!(!intervals[0].is_clear() && !intervals[1].is_clear());
        assert!(intervals[1].low < 0.0 && intervals[1].high > 0.0);
        assert_eq!(intervals, paired_bootstrap(&[zeros, noise]));
        assert_eq!(paired_bootstrap(&[Vec::new()])[0].mean, 0.0);
    }

    #[test]
    fn draws_are_even() {
        let mut random = SplitMix(1);
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7)] += 1;
        }
        assert!(
            counts.iter().all(|&count| (9_500..10_500).contains(&count)),
            "{counts:?}"
        );
    }
}
