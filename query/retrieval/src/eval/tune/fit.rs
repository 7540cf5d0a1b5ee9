//! Weights that fit questions, and what they are worth for questions that they never saw.
//!
//! The fit begins with limn's own weights ([`Weights::LEARNED`]) and tries the values of a grid,
//! one weight after the other, as long as one finds more. What counts are whole numbers, questions
//! that find a table first, among five, and all their tables among five, so that every machine fits
//! the same weights; of those that find as much, the earlier ones stay.
//!
//! What they are worth is measured by halves: the questions are drawn into two, weights fitted on
//! either half are judged on the other, and that several times. So each question has been judged as
//! often as there were draws, each time by weights that had not seen it. The standard error is that
//! of the mean over the questions.
//!
//! Noise can gain, too, where some tables are asked for more often than others and weights favour
//! those. So questions also have to find their own tables more often than those of other questions.

use crate::eval::bootstrap::SplitMix;
use crate::learned::{Features, Weights};

use super::{Gain, Measures};

/// The values that each weight may take. Limn's own are among them.
const GRID: [f32; 9] = [0.0, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.8];
/// Rounds over all weights at most.
const ROUNDS: usize = 4;
/// A weight is changed for one point more in so many questions, and for one at least; a question
/// has three.
const QUESTIONS_A_POINT: usize = 200;
/// A mean is clear that is so many standard errors above 0. By one, up to a fifth of sets of noise
/// would be taken for a gain; by two, up to a twentieth (docs/ranking.md).
pub(super) const CLEAR: f64 = 2.0;
/// The first tables of an answer, among which a person looks.
const FIRST: usize = 5;

/// A question with its candidates.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub(super) candidates: Vec<Candidate>,
    /// How many tables it needs.
    pub(super) needed: usize,
    /// Whether it finds a table of another question first, by limn's own weights: what chance does.
    pub(super) finds_another: bool,
}

/// A candidate of a question.
#[derive(Debug, Clone, Default)]
pub(super) struct Candidate {
    /// Its number among the tables of the index.
    pub(super) table: u32,
    /// What the formula says of it.
    pub(super) score: f32,
    pub(super) features: Features,
    /// Its place among those that the question names, which come first whatever they score.
    pub(super) named: Option<usize>,
    /// Which of the needed tables it is, by their places: with copies there may be several, and of
    /// two lakes there may be two of one name.
    pub(super) needed: Box<[usize]>,
}

/// What a question finds: 1 or 0 of each.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Found {
    first: u8,
    among_five: u8,
    all_among_five: u8,
}

impl Found {
    fn shares(self) -> [u8; 3] {
        [self.first, self.among_five, self.all_among_five]
    }
}

impl Asked {
    /// Whether a table that it needs comes first by limn's own weights.
    pub(super) fn finds_first(&self) -> bool {
        self.found(&Weights::LEARNED, &mut Vec::new()).first > 0
    }

    fn found(&self, weights: &Weights, scores: &mut Vec<f32>) -> Found {
        scores.clear();
        let score = |it: &Candidate| weights.score(it.score, &it.features);
        scores.extend(self.candidates.iter().map(score));
        let (mut first, mut among_five) = (0, Vec::<usize>::new());
        for (at, one) in self.candidates.iter().enumerate() {
            if one.needed.is_empty() {
                continue;
            }
            let others = self.candidates.iter().zip(scores.iter());
            let before = others.filter(|(it, score)| match (it.named, one.named) {
                (Some(it), Some(one)) => it < one,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => {
                    let by_score = scores[at].total_cmp(score);
                    by_score.then(it.table.cmp(&one.table)).is_lt()
                }
            });
            let place = before.count();
            first |= u8::from(place == 0);
            if place < FIRST {
                among_five.extend(&one.needed);
            }
        }
        among_five.sort_unstable();
        among_five.dedup();
        Found {
            first,
            among_five: u8::from(!among_five.is_empty()),
            all_among_five: u8::from(!among_five.is_empty() && among_five.len() >= self.needed),
        }
    }
}

fn points(asked: &[&Asked], weights: &Weights, scores: &mut Vec<f32>) -> usize {
    let shares = asked
        .iter()
        .flat_map(|it| it.found(weights, scores).shares());
    shares.map(usize::from).sum()
}

/// The weights by which most of these questions find their tables.
pub(super) fn fit(asked: &[&Asked]) -> Weights {
    let scores = &mut Vec::new();
    let mut weights = Weights::LEARNED;
    let mut most = points(asked, &weights, scores);
    let least = (asked.len() / QUESTIONS_A_POINT).max(1);
    for _ in 0..ROUNDS {
        let before = weights;
        for at in 0..Weights::COUNT {
            for value in GRID {
                let tried = weights.with(at, value);
                let found = points(asked, &tried, scores);
                if found >= most + least {
                    (most, weights) = (found, tried);
                }
            }
        }
        if weights == before {
            break;
        }
    }
    weights
}

/// What weights that never saw a question are worth, and what limn's own are.
pub(super) struct Judged {
    pub(super) own: Measures,
    pub(super) held_out: Measures,
    pub(super) gain: Gain,
    /// Of the questions, those that find a table of another question first.
    pub(super) chance: f64,
    /// Whether clearly more of them find their own, by weights that never saw them.
    pub(super) finds: bool,
}

/// Fits on halves and judges on the others, so many times.
pub(super) fn judge(asked: &[Asked], splits: usize, seed: u64) -> Judged {
    let scores = &mut Vec::new();
    let own: Vec<Found> = asked
        .iter()
        .map(|it| it.found(&Weights::LEARNED, scores))
        .collect();
    let mut held_out = vec![[0_u32; 3]; asked.len()];
    let mut random = SplitMix(seed);
    for _ in 0..splits {
        let drawn = shuffled(asked.len(), &mut random);
        let (one, other) = drawn.split_at(asked.len() / 2);
        for (seen, unseen) in [(one, other), (other, one)] {
            let seen: Vec<&Asked> = seen.iter().map(|at| &asked[*at]).collect();
            let weights = fit(&seen);
            for at in unseen {
                let found = asked[*at].found(&weights, scores);
                for (sum, found) in held_out[*at].iter_mut().zip(found.shares()) {
                    *sum += u32::from(found);
                }
            }
        }
    }
    let of_own = |at: usize| own.iter().map(move |it| f64::from(it.shares()[at]));
    let of_held_out = |at: usize| {
        held_out
            .iter()
            .map(move |it| f64::from(it[at]) / splits as f64)
    };
    let gains = |at: usize| {
        let pairs = of_held_out(at).zip(of_own(at));
        mean_and_error(pairs.map(|(held_out, own)| held_out - own).collect())
    };
    let chances = || asked.iter().map(|it| f64::from(u8::from(it.finds_another)));
    let over = of_held_out(0).zip(chances());
    let (over, error) = mean_and_error(over.map(|(found, chance)| found - chance).collect());
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / asked.len() as f64;
    Judged {
        own: Measures::of([0, 1, 2].map(|at| mean(&mut of_own(at)))),
        held_out: Measures::of([0, 1, 2].map(|at| mean(&mut of_held_out(at)))),
        gain: Gain::of([0, 1, 2].map(gains)),
        chance: mean(&mut chances()),
        finds: over > CLEAR * error,
    }
}

/// The numbers below this, in an order that is drawn.
fn shuffled(count: usize, random: &mut SplitMix) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    for at in (1..count).rev() {
        numbers.swap(at, random.below(at + 1));
    }
    numbers
}

/// The mean and its standard error; 0 of nothing.
fn mean_and_error(values: Vec<f64>) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|it| (it - mean) * (it - mean)).sum();
    (mean, (squares / (count - 1.0).max(1.0) / count).sqrt())
}

#[cfg(test)]
mod tests;
