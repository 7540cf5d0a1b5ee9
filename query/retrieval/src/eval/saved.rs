//! Runs kept and compared: what every question found, one JSON object a line.
//!
//! A saved ranking is that of the largest k; smaller cut-offs are its beginnings, on both sides of
//! a comparison.

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use super::bootstrap::{Interval, paired_bootstrap};
use super::{EvalQuestion, without_place};
use crate::error::RetrievalError;

/// What one question found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedQuestion {
    /// The question.
    pub question: String,
    /// The names of the tables that answer it.
    pub gold: Vec<String>,
    /// How many tables were asked for.
    pub k: usize,
    /// The names of the tables found, best first.
    pub ranked: Vec<String>,
}

/// How a run differs from a saved one: this run's share less the saved one's, as fractions of 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Differences by k.
    pub k: BTreeMap<usize, Differences>,
    /// The difference of the mean reciprocal ranks.
    pub mrr: Interval,
}

/// Differences at one k.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Differences {
    /// Of the questions with at least one gold table.
    pub hit: Interval,
    /// Of the questions with all of them.
    pub full: Interval,
}

/// The lines of a saved run.
pub fn write_saved(run: &[SavedQuestion]) -> Result<String, serde_json::Error> {
    let mut text = String::new();
    for question in run {
        text += &serde_json::to_string(question)?;
        text.push('\n');
    }
    Ok(text)
}

/// Reads a saved run; `file` names it in errors.
///
/// # Errors
/// The first line that cannot be read, by its number.
pub fn read_saved(text: &str, file: &str) -> Result<Vec<SavedQuestion>, RetrievalError> {
    let lines = text.lines().enumerate();
    let filled = lines.filter(|(_, line)| !line.trim().is_empty());
    filled
        .map(|(at, line)| {
            serde_json::from_str(line).map_err(|error| RetrievalError::Saved {
                file: file.to_owned(),
                line: at + 1,
                reason: without_place(&error),
            })
        })
        .collect()
}

/// Compares this run with a saved one at the cut-offs `cuts`.
///
/// # Errors
/// Where the runs are not over the same questions with the same gold tables, in the same order, or
/// the saved one was not asked for enough tables.
pub fn compare(
    now: &[SavedQuestion],
    saved: &[SavedQuestion],
    cuts: &[usize],
    file: &str,
) -> Result<Comparison, RetrievalError> {
    let wrong = |line: usize, reason: &str| {
        Err(RetrievalError::Saved {
            file: file.to_owned(),
            line,
            reason: reason.to_owned(),
        })
    };
    let largest = cuts.iter().copied().max().unwrap_or(0);
    for (at, (now, saved)) in now.iter().zip(saved).enumerate() {
        if now.question != saved.question || now.gold != saved.gold {
            return wrong(
                at + 1,
                "it is another question than this run's, or has other tables",
            );
        }
        if saved.k < largest {
            let reason = format!("only {} tables were asked for, not {largest}", saved.k);
            return wrong(at + 1, &reason);
        }
    }
    if now.len() != saved.len() {
        let reason = format!(
            "it holds {} questions and this run {}",
            saved.len(),
            now.len()
        );
        return wrong(now.len().min(saved.len()) + 1, &reason);
    }
    let difference = |measure: &dyn Fn(&SavedQuestion) -> f64| -> Vec<f64> {
        let pairs = now.iter().zip(saved);
        pairs
            .map(|(now, saved)| measure(now) - measure(saved))
            .collect()
    };
    let mut measures = vec![difference(&|question| {
        reciprocal_rank(
            &question.gold,
            &question.ranked[..largest.min(question.ranked.len())],
        )
    })];
    for &k in cuts {
        measures.push(difference(&|question| of_one(question, k).0));
        measures.push(difference(&|question| of_one(question, k).1));
    }
    let intervals = paired_bootstrap(&measures);
    let by_k = cuts.iter().zip(intervals[1..].chunks_exact(2));
    Ok(Comparison {
        k: by_k
            .map(|(&k, pair)| {
                let differences = Differences {
                    hit: pair[0],
                    full: pair[1],
                };
                (k, differences)
            })
            .collect(),
        mrr: intervals[0],
    })
}

/// Hit and full of one question at k, 0 or 1.
fn of_one(question: &SavedQuestion, k: usize) -> (f64, f64) {
    let found = &question.ranked[..k.min(question.ranked.len())];
    let gold: HashSet<&String> = question.gold.iter().collect();
    let right = gold.iter().filter(|name| found.contains(name)).count();
    (
        f64::from(u8::from(right > 0)),
        f64::from(u8::from(right == gold.len())),
    )
}

/// 1 over the rank of the first gold table; 0 where there is none.
pub(super) fn reciprocal_rank(gold: &[String], found: &[String]) -> f64 {
    let rank = found.iter().position(|name| gold.contains(name));
    rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64)
}

/// What a run may be saved as.
pub(super) fn saved(
    questions: &[EvalQuestion],
    k: usize,
    found: Vec<Vec<String>>,
) -> Vec<SavedQuestion> {
    let pairs = questions.iter().zip(found);
    let answerable = pairs.filter(|(question, _)| question.is_answerable());
    answerable
        .map(|(question, ranked)| SavedQuestion {
            question: question.question.clone(),
            gold: question.tables.clone(),
            k,
            ranked,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn line(question: &str, gold: &[&str], ranked: &[&str]) -> SavedQuestion {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        SavedQuestion {
            question: question.into(),
            gold: owned(gold),
            k: 3,
            ranked: owned(ranked),
        }
    }

    #[test]
    fn differences_are_those_of_the_measures() {
        let before = [
            line("a", &["x"], &["y", "x"]),
            line("b", &["u", "v"], &["u", "w"]),
        ];
        let after = [
            line("a", &["x"], &["x", "y"]),
            line("b", &["u", "v"], &["w", "u", "v"]),
        ];
        let compared = compare(&after, &before, &[1, 3], "saved").unwrap();
        assert_eq!(compared.k[&1].hit.mean, 0.0);
        assert_eq!(compared.k[&1].full.mean, 0.5);
        assert_eq!(compared.k[&3].hit.mean, 0.0);
        assert_eq!(compared.k[&3].full.mean, 0.5);
        assert_eq!(compared.mrr.mean, (0.5 - 0.5) / 2.0);
        assert!(compared.k[&3].full.low >= 0.0 && compared.k[&3].full.high <= 1.0);
    }

    #[test]
    fn a_run_reads_back_and_other_questions_are_refused() {
        let run = [line("a", &["x"], &["y"]), line("b", &["x"], &[])];
        let text = write_saved(&run).unwrap();
        assert_eq!(read_saved(&text, "saved").unwrap(), run);
        let broken = read_saved(&format!("{text}\nno\n"), "saved").unwrap_err();
        assert!(
            broken.to_string().starts_with("saved, line 4: "),
            "{broken}"
        );
        let refused = |now: &[SavedQuestion], cuts: &[usize]| {
            compare(now, &run, cuts, "saved").unwrap_err().to_string()
        };
        let other = [run[0].clone(), line("c", &["x"], &[])];
        assert!(refused(&other, &[1]).contains("line 2: it is another question"));
        assert!(refused(&run[..1], &[1]).contains("line 2: it holds 2 questions and this run 1"));
        assert!(refused(&run, &[1, 5]).contains("only 3 tables were asked for, not 5"));
    }
}
