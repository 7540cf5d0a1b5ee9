//! A cascade: a cheap score decides the clear rows of a filter, the model the others.
//!
//! The score is the likeness of the sentence and the row (cosine of an embedder). A tenth of the
//! inputs is drawn with replacement, with weights of the score's square root mixed with equal ones
//! (SUPG, VLDB 2020, section 4; LOTUS, 2024, section 4.1), and judged by the model. From the sample
//! come two thresholds: what scores below the lower one is rejected, what scores as the upper one
//! or above is accepted. Both are the boldest whose recall and precision meet their targets by the
//! bound mean ± σ/√s · √(2 ln 1/δ), δ shared out over all thresholds that are tried. σ is not
//! trusted below that of a share seen with one hit and one miss more: ten hits of ten are no proof.

use super::error::SemanticError;
use super::filter::{Judging, Verdict};
use super::question::sentence;
use crate::plan::{Cascade, SemFilter};

/// One in so many inputs is drawn, and at least so many.
const ONE_IN: usize = 10;
const LEAST: usize = 100;
/// Thresholds that are tried, at most.
const TRIED: usize = 16;
/// The part of the weights that is equal for all inputs.
const EQUAL: f64 = 0.1;
/// How sure the targets are met, unless said.
const CONFIDENCE: f64 = 0.8;

/// An input of the sample.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    pub(super) score: f64,
    /// Its probability of being drawn, each time.
    pub(super) weight: f64,
    /// What the model says.
    pub(super) keeps: bool,
}

/// Scores between which the model is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Thresholds {
    pub(super) reject_below: f64,
    pub(super) accept_from: f64,
}

pub(super) async fn judge(
    judging: &Judging<'_>,
    filter: &SemFilter,
    targets: &Cascade,
    notes: &mut Vec<String>,
) -> Result<Vec<Option<Verdict>>, SemanticError> {
    let count = judging.distinct.firsts.len();
    let size = (count / ONE_IN).max(LEAST);
    let all: Vec<usize> = (0..count).collect();
    if count < 2 * size {
        notes.push(format!(
            "{count} inputs are too few for a cascade: the model judged all"
        ));
        return judging.judge(&all).await;
    }
    let scores = scores(judging, filter).await?;
    let weights = weights(&scores);
    let drawn = draw(&weights, size, judging.asker.seed());
    let mut inputs = drawn.clone();
    inputs.sort_unstable();
    inputs.dedup();
    let mut verdicts: Vec<Option<Option<Verdict>>> = vec![None; count];
    for (input, verdict) in inputs.iter().zip(judging.judge(&inputs).await?) {
        verdicts[*input] = Some(verdict);
    }
    let sample = drawn.into_iter().filter_map(|input| {
        let keeps = verdicts[input]??.keeps;
        Some(Drawn {
            score: scores[input],
            weight: weights[input],
            keeps,
        })
    });
    let thresholds = thresholds(&sample.collect::<Vec<_>>(), &scores, targets);
    let (mut accepted, mut rejected) = (0, 0);
    for (input, verdict) in verdicts
        .iter_mut()
        .enumerate()
        .filter(|(_, it)| it.is_none())
    {
        let keeps = scores[input] >= thresholds.accept_from;
        if keeps || scores[input] < thresholds.reject_below {
            *verdict = Some(Some(Verdict { keeps, sure: None }));
            accepted += usize::from(keeps);
            rejected += usize::from(!keeps);
        }
    }
    let middle: Vec<usize> = all
        .into_iter()
        .filter(|it| verdicts[*it].is_none())
        .collect();
    for (input, verdict) in middle.iter().zip(judging.judge(&middle).await?) {
        verdicts[*input] = Some(verdict);
    }
    notes.push(format!(
        "of {count} inputs, {accepted} were accepted and {rejected} rejected by likeness, and the \
         model judged {}",
        count - accepted - rejected
    ));
    Ok(verdicts.into_iter().map(Option::flatten).collect())
}

/// How like each input is to the sentence: 0 for the least like, 1 for the most.
async fn scores(judging: &Judging<'_>, filter: &SemFilter) -> Result<Vec<f64>, SemanticError> {
    let sentence = vec![sentence(&filter.instruction)];
    let sentence = judging.asker.embed("a cascade", sentence).await?;
    let rows = judging.distinct.firsts.iter();
    let rows: Vec<String> = rows.map(|row| judging.texts.plain(*row)).collect();
    let vectors = judging.asker.embed("a cascade", rows).await?;
    let likeness = |vector: &Vec<f32>| f64::from(dot(vector, &sentence[0]));
    let likenesses: Vec<f64> = vectors.iter().map(likeness).collect();
    let least = likenesses.iter().copied().fold(f64::INFINITY, f64::min);
    let most = likenesses.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = (most - least).max(1e-9);
    Ok(likenesses.iter().map(|it| (it - least) / width).collect())
}

pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The probability of each input of being drawn.
pub(super) fn weights(scores: &[f64]) -> Vec<f64> {
    let roots: Vec<f64> = scores.iter().map(|it| it.max(0.0).sqrt()).collect();
    let sum: f64 = roots.iter().sum();
    let equal = 1.0 / scores.len() as f64;
    let by_score = |root: &f64| if sum > 0.0 { root / sum } else { equal };
    let mixed = roots
        .iter()
        .map(|root| (1.0 - EQUAL) * by_score(root) + EQUAL * equal);
    mixed.collect()
}

/// Draws inputs with replacement.
pub(super) fn draw(weights: &[f64], size: usize, seed: u64) -> Vec<usize> {
    let mut ends = Vec::with_capacity(weights.len());
    let mut sum = 0.0;
    for weight in weights {
        sum += weight;
        ends.push(sum);
    }
    let mut random = SplitMix::new(seed);
    let one = |_| {
        let at = random.share() * sum;
        ends.partition_point(|end| *end <= at)
            .min(weights.len() - 1)
    };
    (0..size).map(one).collect()
}

/// The boldest thresholds that meet the targets.
pub(super) fn thresholds(sample: &[Drawn], scores: &[f64], targets: &Cascade) -> Thresholds {
    let mut sorted = scores.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut tried: Vec<f64> = sample.iter().map(|it| it.score).collect();
    tried.sort_by(f64::total_cmp);
    tried.dedup();
    let step = tried.len().div_ceil(TRIED).max(1);
    let tried: Vec<f64> = tried.into_iter().step_by(step).collect();
    let doubt = 1.0 - targets.confidence.unwrap_or(CONFIDENCE);
    // Half of the doubt for each target, and of recall's half for what is lost and what is found.
    let each = doubt / 2.0 / tried.len().max(1) as f64;
    let above = |threshold: f64| sorted.len() - sorted.partition_point(|it| *it < threshold);
    let share = |is_above: bool, threshold: f64, doubt: f64| {
        let part = sample
            .iter()
            .filter(|it| (it.score >= threshold) == is_above);
        Share::of(part, doubt)
    };
    let accept_from = tried
        .iter()
        .copied()
        .find(|&threshold| share(true, threshold, each).least >= targets.precision);
    let reject_below = tried.iter().rev().copied().find(|&threshold| {
        let inputs = above(threshold);
        let found = share(true, threshold, each / 2.0).least * inputs as f64;
        let lost = share(false, threshold, each / 2.0).most * (sorted.len() - inputs) as f64;
        // What is below the lowest threshold is never rejected.
        found > 0.0 && found / (found + lost) >= targets.recall
    });
    let accept_from = accept_from.unwrap_or(f64::INFINITY);
    Thresholds {
        reject_below: reject_below.unwrap_or(f64::NEG_INFINITY).min(accept_from),
        accept_from,
    }
}

/// Between which bounds the share of inputs that the model keeps lies, in a part of all inputs.
struct Share {
    least: f64,
    most: f64,
}

impl Share {
    /// Each input of the sample counts as many as it stands for: the inverse of its weight.
    fn of<'a>(sample: impl Iterator<Item = &'a Drawn>, doubt: f64) -> Share {
        let part: Vec<&Drawn> = sample.collect();
        if part.is_empty() {
            return Share {
                least: 0.0,
                most: 1.0,
            };
        }
        let count = part.len() as f64;
        let all: f64 = part.iter().map(|it| 1.0 / it.weight).sum();
        // Their mean is one.
        let stands_for = |it: &Drawn| count / (it.weight * all);
        let kept = |it: &Drawn| if it.keeps { stands_for(it) } else { 0.0 };
        let mean = part.iter().map(|it| kept(it)).sum::<f64>() / count;
        // Of a ratio of two sums: the deviation from the mean that each input stands for.
        let away = |it: &Drawn| stands_for(it) * (f64::from(u8::from(it.keeps)) - mean);
        let variance = part.iter().map(|it| away(it).powi(2)).sum::<f64>() / count;
        let hits = part.iter().filter(|it| it.keeps).count() as f64;
        let doubted = (hits + 1.0) / (count + 2.0);
        let squares = part.iter().map(|it| stands_for(it).powi(2)).sum::<f64>() / count;
        let least_variance = squares * doubted * (1.0 - doubted);
        let width =
            (variance.max(least_variance) / count).sqrt() * (2.0 * (1.0 / doubt).ln()).sqrt();
        Share {
            least: (mean - width).max(0.0),
            most: (mean + width).min(1.0),
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub(super) struct SplitMix(u64);

impl SplitMix {
    pub(super) fn new(seed: u64) -> SplitMix {
        SplitMix(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `end`, which is at least 1.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}
