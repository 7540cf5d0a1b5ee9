//! Tuning: weights of the ranking for one index, fitted to questions whose tables are known.
//!
//! They help or they do not, which questions say that they never saw (`fit.rs`). What is kept of
//! them is [`Tuned`](crate::Tuned).

mod fit;
mod questions;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};

pub use questions::{LeftOut, TuningQuestions};

use super::features::{MOST, WANTED};
use super::in_parallel;
use crate::answer::{Query, RankedTable};
use crate::error::RetrievalError;
use crate::learned::Weights;
use crate::searcher::{Candidates, Searcher};
use fit::{Asked, CLEAR, Candidate, Judged, fit, judge};

/// Fewer questions are too few: one is then 2 points of a hundred and more, and a standard error 3
/// and more.
pub const LEAST_QUESTIONS: usize = 50;
/// More questions are not taken: a question's candidates take about 2 KiB.
pub const MOST_QUESTIONS: usize = 10_000;

/// How to tune.
#[derive(Debug, Clone)]
pub struct TuningOptions {
    /// How often the questions are drawn into halves, at least 1.
    pub splits: usize,
    /// What the draws begin with.
    pub seed: u64,
    /// Questions asked at once.
    pub threads: usize,
    /// Counts the questions that have been asked, for whoever watches.
    pub progress: Arc<AtomicUsize>,
}

/// Shares of questions, fractions of 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// Of those that find a table first.
    pub hit_at_1: f64,
    /// Of those that find one among the first five.
    pub hit_at_5: f64,
    /// Of those that find all their tables there.
    pub full_at_5: f64,
}

impl Measures {
    fn of([hit_at_1, hit_at_5, full_at_5]: [f64; 3]) -> Measures {
        Measures {
            hit_at_1,
            hit_at_5,
            full_at_5,
        }
    }
}

/// What changes by other weights: differences of shares, and their standard errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// The means over the questions.
    pub mean: Measures,
    /// The standard errors of these.
    pub standard_error: Measures,
}

impl Gain {
    fn of(measures: [(f64, f64); 3]) -> Gain {
        Gain {
            mean: Measures::of(measures.map(|it| it.0)),
            standard_error: Measures::of(measures.map(|it| it.1)),
        }
    }

    /// Whether more questions find a table first, by more than two standard errors, and not fewer
    /// find one, or all of theirs, among five, by more than one.
    #[must_use]
    pub fn is_worth_keeping(&self) -> bool {
        let Gain {
            mean,
            standard_error: error,
        } = self;
        mean.hit_at_1 > CLEAR * error.hit_at_1
            && mean.hit_at_5 >= -error.hit_at_5
            && mean.full_at_5 >= -error.full_at_5
    }
}

/// What tuning found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tuning {
    /// The number of questions that took part.
    pub questions: usize,
    /// What did not.
    pub left_out: LeftOut,
    /// What is found by limn's own weights.
    pub own: Measures,
    /// What is found by weights that were fitted on other questions.
    pub held_out: Measures,
    /// The differences of these two.
    pub gain: Gain,
    /// The share of questions that find a table of another question first, by limn's own weights.
    pub chance: f64,
    /// Whether clearly more of them find their own, by weights that were fitted on others: else
    /// they say nothing of which tables answer.
    pub finds: bool,
    /// The weights that fit all questions.
    pub weights: Weights,
    /// Whether they are worth keeping: they differ from limn's own, questions find their tables,
    /// and the gain is clear ([`Gain::is_worth_keeping`]).
    pub helps: bool,
}

/// Fits the weights of the ranking to questions, and measures what they are worth.
///
/// Computes on `options.threads` threads.
///
/// # Errors
/// Fewer than [`LEAST_QUESTIONS`] of the questions can take part, or one table answers all of them;
/// the first search that fails.
pub fn tune(
    searcher: &Searcher,
    questions: &TuningQuestions,
    options: &TuningOptions,
) -> Result<Tuning, RetrievalError> {
    let (mut settled, mut left_out) = questions.settled();
    let all = settled.len();
    let names = searcher.names();
    settled.retain(|(_, tables)| tables.iter().any(|table| names.contains(table)));
    left_out.not_in_index = all - settled.len();
    left_out.above_most = settled.len().saturating_sub(MOST_QUESTIONS);
    settled.truncate(MOST_QUESTIONS);
    if settled.len() < LEAST_QUESTIONS {
        return Err(too_few(settled.len(), left_out));
    }
    if let Some(table) = only_table(&names, &settled) {
        return Err(RetrievalError::Tuning {
            reason: format!(
                "all {} questions have one table right, '{table}': whatever favours it would be taken for what \
                 helps; add questions that other tables answer, limn bench make makes some",
                settled.len()
            ),
        });
    }
    let asked = in_parallel(settled.len(), options.threads, |at| {
        let (question, tables) = &settled[at];
        let (_, others) = &settled[(at + settled.len() / 2) % settled.len()];
        let asked = ask(searcher, question, tables, others)?;
        options.progress.fetch_add(1, Ordering::Relaxed);
        Ok(asked)
    })?;
    let Judged {
        own,
        held_out,
        gain,
        chance,
        finds,
    } = judge(&asked, options.splits.max(1), options.seed);
    let weights = fit(&asked.iter().collect::<Vec<_>>());
    Ok(Tuning {
        questions: asked.len(),
        left_out,
        own,
        held_out,
        gain,
        chance,
        finds,
        weights,
        helps: weights != Weights::LEARNED && finds && gain.is_worth_keeping(),
    })
}

/// The table that answers all questions, if it is one.
fn only_table<'a>(names: &HashSet<&str>, questions: &[(&str, Vec<&'a str>)]) -> Option<&'a str> {
    let tables = questions.iter().flat_map(|(_, tables)| tables);
    let mut tables = tables.copied().filter(|it| names.contains(it));
    let first = tables.next()?;
    tables.all(|it| it == first).then_some(first)
}

fn too_few(usable: usize, left_out: LeftOut) -> RetrievalError {
    let reasons = [
        (
            left_out.all_contradicting,
            "contradict themselves: their tables are said to be right, and wrong or none as well",
        ),
        (
            left_out.without_tables - left_out.all_contradicting,
            "name no table that is right",
        ),
        (left_out.not_in_index, "name tables that the index lacks"),
    ];
    let more = if usable > 0 { " more" } else { "" };
    let others = reasons.iter().filter(|(count, _)| *count > 0);
    let others: Vec<String> = others
        .map(|(count, why)| format!("{count}{more} {why}"))
        .collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(" ({})", others.join(", ")),
    };
    let reason = match usable {
        0 => format!("there is no question to learn from{others}"),
        1 => format!("one question{others} is too few"),
        _ => format!(
            "{usable} questions{others} are too few: what helps these by chance would be taken for what helps"
        ),
    };
    RetrievalError::Tuning {
        reason: format!("{reason}; give {LEAST_QUESTIONS} or more, limn bench make makes some"),
    }
}

/// The candidates of a question, as the formula alone finds them. `others` are the tables of
/// another question.
fn ask(
    searcher: &Searcher,
    question: &str,
    tables: &[&str],
    others: &[&str],
) -> Result<Asked, RetrievalError> {
    let query = Query {
        k: WANTED,
        weights: Some(Weights::FORMULA),
        ..Query::new(question)
    };
    let Candidates { ranking, .. } = searcher.candidates(&query, MOST)?;
    let asked_for = |tables: &[&str]| {
        let ranked = ranking.tables.iter().enumerate();
        let candidate = |(place, it): (usize, &RankedTable)| {
            let names = std::iter::once(&it.key.name).chain(&it.copies);
            let needed = names.filter_map(|name| tables.iter().position(|it| it == name));
            Candidate {
                table: it.table,
                score: it.score,
                features: it.features,
                named: it.is_named.then_some(place),
                needed: needed.collect(),
            }
        };
        Asked {
            candidates: ranked.map(candidate).collect(),
            needed: tables.len(),
            finds_another: false,
        }
    };
    Ok(Asked {
        finds_another: asked_for(others).finds_first(),
        ..asked_for(tables)
    })
}
