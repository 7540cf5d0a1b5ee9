//! The candidates of many questions, judged once: what a threshold is fitted on.

use std::collections::HashSet;

use futures::future::join_all;

use super::{EvalOptions, EvalQuestion, in_parallel};
use crate::answer::Query;
use crate::error::RetrievalError;
use crate::judge::{Calibration, Judge, Judged, Word, calibrate};
use crate::searcher::Searcher;

/// The k for which candidates are ranked and judged.
const K: usize = 5;
/// Questions that may be left out because a call of the model failed: one in this many.
const LEFT_OUT: usize = 20;

/// Judges the first candidates of every question and fits the judge's threshold. Questions with a
/// candidate that could not be judged are left out: five in a hundred at most.
///
/// # Errors
/// Where a search fails, the model gives no probabilities, or it fails too often.
pub fn calibrate_judge(
    searcher: &Searcher,
    questions: &[EvalQuestion],
    options: &EvalOptions,
    judge: &Judge,
    date: String,
) -> Result<Calibration, RetrievalError> {
    let depth = judge.depth(K);
    let judged = in_parallel(questions.len(), options.threads, |at| {
        let query = Query {
            text: questions[at].question.clone(),
            k: K,
            judge: None,
            ..options.query.clone()
        };
        let judged = read(searcher, &query, &questions[at], depth, judge);
        options.asked();
        judged
    })?;
    let mut whole = Vec::with_capacity(judged.len());
    let mut failures = Vec::new();
    for judged in judged {
        match judged {
            Ok(judged) => whole.push(judged),
            Err(failure) => failures.push(failure),
        }
    }
    if let Some(first) = failures.first()
        && failures.len() * LEFT_OUT > questions.len()
    {
        return Err(RetrievalError::Uncalibrated {
            model: judge.model().id().to_string(),
            reason: format!(
                "{} of {} questions could not be judged, the first because {first}",
                failures.len(),
                questions.len()
            ),
        });
    }
    Ok(calibrate(judge.model().id(), &whole, depth, date)?)
}

/// A question's candidates judged; inside, why the model failed.
fn read(
    searcher: &Searcher,
    query: &Query,
    question: &EvalQuestion,
    depth: usize,
    judge: &Judge,
) -> Result<Result<Judged, String>, RetrievalError> {
    let candidates = searcher.candidate_texts(query, depth)?;
    let reading = candidates
        .iter()
        .map(|(_, text)| judge.read(&query.text, text));
    let words = judge.runtime().block_on(join_all(reading));
    let gold: HashSet<&String> = question.tables.iter().collect();
    let mut judged = Vec::with_capacity(candidates.len());
    for ((names, _), words) in candidates.iter().zip(words) {
        let mut highest = f32::NEG_INFINITY;
        match words {
            Err(error) => return Ok(Err(error.to_string())),
            Ok(words) => {
                for word in words.into_iter().flatten() {
                    match word {
                        Word::Odds(odds) => highest = highest.max(odds),
                        Word::Said(_) => {
                            return Ok(Err("the model gives no probabilities".to_owned()));
                        }
                    }
                }
            }
        }
        // A table without a text is never rejected.
        let odds = if highest.is_finite() {
            highest
        } else {
            f32::MAX
        };
        judged.push((names.iter().any(|name| gold.contains(name)), odds));
    }
    Ok(Ok(Judged {
        gold: gold.len(),
        candidates: judged,
    }))
}
