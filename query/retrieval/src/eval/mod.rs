//! How often questions find their tables: hit, recall, full, MRR, and how fast.
//!
//! The measures are those of the command's contract: over the first k distinct tables, *hit* is the
//! share of questions with at least one gold table, *recall* the mean share of gold tables found,
//! *full* the share with all of them. Each k is a search of its own. MRR is the mean of 1/rank of
//! the first gold table at the largest k, 0 where there is none. A table that is listed as a copy
//! of one found is found. They are over the questions that name tables; of those whose `tables` are
//! `[]`, which none answers, and of all others, the answers' grades are counted.
//!
//! Latency and questions per second are taken over one pass with one search a question, at k = 5
//! where that is asked for, else the largest k; texts are not read. The clock includes the
//! embedding of the question unless [`EvalOptions::vectors_given`], and the judge where there is
//! one; a table that is a candidate at several k is judged once.

mod asking;
mod bootstrap;
mod explain;
mod features;
mod grades;
mod judged;
mod kinds;
mod saved;
mod tune;

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde::{Deserialize, Deserializer, Serialize};

use crate::answer::{Mode, Query};
use crate::error::RetrievalError;
use crate::searcher::Searcher;

use asking::Asking;
use bootstrap::percentile;
pub use bootstrap::{Interval, paired_bootstrap};
pub use explain::{Explanation, Standing, explain};
pub use features::{CandidateFeatures, QuestionFeatures, Traits, features};
use grades::GradedAnswer;
pub use grades::{Graded, Grades};
pub use judged::calibrate_judge;
pub use kinds::{IntervalShares, KindShares};
pub use saved::{Comparison, Differences, SavedQuestion, compare, read_saved, write_saved};
use saved::{reciprocal_rank, saved};
pub use tune::{
    Gain, LeftOut, Measures as TuningMeasures, Tuning, TuningOptions, TuningQuestions, tune,
};

/// The k at which speed is measured, where it is asked for.
const TIMED_K: usize = 5;

/// A question whose tables are known.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EvalQuestion {
    /// The question.
    pub question: String,
    /// The names of the tables that answer it; none does where it is empty.
    pub tables: Vec<String>,
    /// Which kind of question it is, if the file says so in a text.
    #[serde(default, deserialize_with = "text_or_none")]
    pub kind: Option<String>,
}

/// A text; anything else is none: a file may mean something of its own by a field.
fn text_or_none<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    Ok(match serde_json::Value::deserialize(value)? {
        serde_json::Value::String(text) => Some(text),
        _ => None,
    })
}

impl EvalQuestion {
    /// Whether a table answers it.
    #[must_use]
    pub fn is_answerable(&self) -> bool {
        !self.tables.is_empty()
    }
}

/// Whether a line is feedback that says of a table that it is not the one: no question whose tables
/// are known.
fn is_said_wrong(line: &str) -> bool {
    let line: Result<serde_json::Value, _> = serde_json::from_str(line);
    line.is_ok_and(|line| line["verdict"] == "wrong")
}

/// How a line of a questions file is written.
const QUESTION_LINE: &str = r#"{"question": TEXT, "tables": [NAME, …]}"#;

/// Reads a questions file: one JSON object a line with `question` and `tables`, other fields
/// ignored, empty lines skipped, and so is feedback that a table is wrong. `file` names it in
/// errors.
///
/// # Errors
/// The first line that cannot be read, by its number.
pub fn read_questions(text: &str, file: &str) -> Result<Vec<EvalQuestion>, RetrievalError> {
    let mut questions = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line_text = line.trim_start_matches('\u{feff}').trim();
        if line_text.is_empty() {
            continue;
        }
        let wrong = |reason: String| RetrievalError::Questions {
            file: file.to_owned(),
            line: at + 1,
            reason,
            format: QUESTION_LINE,
        };
        if line_text.starts_with('[') {
            return Err(wrong("this is a JSON array, not an object".to_owned()));
        }
        let question: EvalQuestion =
            serde_json::from_str(line_text).map_err(|error| wrong(without_place(&error)))?;
        if question.tables.is_empty() && is_said_wrong(line_text) {
            continue;
        }
        if question.question.trim().is_empty() {
            return Err(wrong("the question is empty".to_owned()));
        }
        questions.push(question);
    }
    if questions.is_empty() {
        return Err(RetrievalError::Questions {
            file: file.to_owned(),
            line: 1,
            reason: "the file holds no question".to_owned(),
            format: QUESTION_LINE,
        });
    }
    Ok(questions)
}

/// serde_json's own "at line 1 column 9" would contradict the file's line number.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// How to measure.
#[derive(Debug, Clone)]
pub struct EvalOptions {
    /// The cut-offs.
    pub k: Vec<usize>,
    /// Everything else about a search; its text, k and vector are replaced.
    pub query: Query,
    /// Questions asked at once.
    pub threads: usize,
    /// Embed the questions before the clock starts.
    pub vectors_given: bool,
    /// Counts the questions that have been asked once, for whoever watches.
    pub progress: Arc<AtomicUsize>,
}

impl EvalOptions {
    fn asked(&self) {
        self.progress.fetch_add(1, Ordering::Relaxed);
    }
}

/// Shares of questions at one k, fractions of 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Shares {
    /// At least one gold table.
    pub hit: f64,
    /// Mean share of gold tables.
    pub recall: f64,
    /// All gold tables.
    pub full: f64,
}

/// Milliseconds a question took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Latency {
    /// The median.
    pub p50: f64,
    /// Ninety-nine of a hundred took at most this.
    pub p99: f64,
}

impl Latency {
    /// Of some times, in any order.
    fn of(mut times: Vec<f64>) -> Latency {
        times.sort_unstable_by(f64::total_cmp);
        Latency {
            p50: percentile(&times, 0.50),
            p99: percentile(&times, 0.99),
        }
    }
}

/// What was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Evaluation {
    /// The number of questions.
    pub questions: usize,
    /// How answers are graded; `None` in plain mode, which grades nothing.
    pub grades: Option<Grades>,
    /// Shares by k, of the questions that name tables.
    pub k: BTreeMap<usize, Shares>,
    /// Mean reciprocal rank at the largest k.
    pub mrr: f64,
    /// The same by kind, with intervals, where questions have one.
    pub kinds: BTreeMap<String, KindShares>,
    /// See the module's documentation.
    pub latency_ms: Latency,
    /// Questions answered a second, by all threads together.
    pub questions_per_s: f64,
    /// Gold tables (distinct names) that the index does not hold: these can never be found.
    pub gold_tables_missing: usize,
    /// Their names, sorted.
    pub missing_tables: Vec<String>,
}

/// Asks every question and measures. Also gives what each found at the largest k.
///
/// # Errors
/// The first search that fails.
pub fn evaluate(
    searcher: &Searcher,
    questions: &[EvalQuestion],
    options: &EvalOptions,
) -> Result<(Evaluation, Vec<SavedQuestion>), RetrievalError> {
    let mut cuts = options.k.clone();
    cuts.sort_unstable();
    cuts.dedup();
    let (Some(&largest), true) = (cuts.last(), !questions.is_empty()) else {
        return Err(RetrievalError::Query {
            reason: "there is nothing to measure: give questions and at least one k".to_owned(),
        });
    };
    let timed = cuts.iter().find(|k| **k == TIMED_K);
    let timed = timed.copied().unwrap_or(largest);
    let asking = Asking::new(searcher, questions, &options.query);
    let embed = |at: usize| searcher.embed(&questions[at].question);
    let given: Option<Vec<Vec<f32>>> = options
        .vectors_given
        .then(|| in_parallel(questions.len(), options.threads, embed))
        .transpose()?;
    // The first question pays for pages and dictionaries that are touched for the first time.
    let first = asking.query(0, timed, given.as_ref().map(|given| given[0].clone()));
    searcher.rank(&Query {
        judge: None,
        ..first
    })?;

    let start = Instant::now();
    let asked = in_parallel(questions.len(), options.threads, |at| {
        let began = Instant::now();
        let vector = given.as_ref().map(|given| given[at].clone());
        let (found, graded, vector) = asking.ask(at, timed, vector)?;
        options.asked();
        Ok((began.elapsed().as_secs_f64() * 1e3, vector, (found, graded)))
    })?;
    let seconds = start.elapsed().as_secs_f64();

    let mut by_k = BTreeMap::new();
    let (mut mrr, mut run, mut found_at) = (0.0, Vec::new(), BTreeMap::new());
    for &k in &cuts {
        let found: Vec<Vec<String>> = if k == timed {
            asked.iter().map(|(.., (found, _))| found.clone()).collect()
        } else {
            in_parallel(questions.len(), options.threads, |at| {
                // None where there was nothing to search.
                let vector = Some(asked[at].1.clone()).filter(|it| !it.is_empty());
                Ok(asking.ask(at, k, vector)?.0)
            })?
        };
        by_k.insert(k, shares(questions, &found));
        if k == largest {
            mrr = mean_reciprocal_rank(questions, &found);
            run = saved(questions, k, found.clone());
        }
        found_at.insert(k, found);
    }
    if !questions.iter().any(EvalQuestion::is_answerable) {
        by_k.clear();
    }
    let graded = questions.iter().zip(&asked);
    let graded: Vec<GradedAnswer> = graded
        .map(|(question, (.., (found, graded)))| graded.asked(question, found))
        .collect();
    let missing = missing_tables(searcher, questions);
    let evaluation = Evaluation {
        questions: questions.len(),
        grades: (options.query.mode == Mode::Limn).then(|| Grades::of(&graded)),
        k: by_k,
        mrr,
        kinds: kinds::by_kind(questions, &found_at),
        latency_ms: Latency::of(asked.iter().map(|(time, ..)| *time).collect()),
        questions_per_s: questions.len() as f64 / seconds.max(1e-9),
        gold_tables_missing: missing.len(),
        missing_tables: missing,
    };
    Ok((evaluation, run))
}

/// The names of gold tables that the index does not hold, sorted.
fn missing_tables(searcher: &Searcher, questions: &[EvalQuestion]) -> Vec<String> {
    let gold: HashSet<&str> = questions
        .iter()
        .flat_map(|question| question.tables.iter().map(String::as_str))
        .collect();
    let names = searcher.names();
    let missing = gold.into_iter().filter(|name| !names.contains(name));
    let mut missing: Vec<String> = missing.map(str::to_owned).collect();
    missing.sort_unstable();
    missing
}

/// Runs `work` for 0..count on several threads; results in order, or the first error met.
fn in_parallel<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T, RetrievalError> + Sync,
) -> Result<Vec<T>, RetrievalError> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(count));
    let failed: Mutex<Option<RetrievalError>> = Mutex::new(None);
    let run = || {
        let mut mine = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= count {
                break;
            }
            match work(at) {
                Ok(result) => mine.push((at, result)),
                Err(error) => {
                    // The others stop at their next question.
                    next.store(count, Ordering::Relaxed);
                    if let Ok(mut failed) = failed.lock() {
                        failed.get_or_insert(error);
                    }
                    break;
                }
            }
        }
        if let Ok(mut done) = done.lock() {
            done.append(&mut mine);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, count.max(1)) {
            scope.spawn(run);
        }
        run();
    });
    if let Some(error) = failed.into_inner().unwrap_or_default() {
        return Err(error);
    }
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_unstable_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// The questions that name tables, with what they found.
fn answerable<'q>(
    questions: &'q [EvalQuestion],
    found: &'q [Vec<String>],
) -> impl Iterator<Item = (&'q EvalQuestion, &'q Vec<String>)> {
    let both = questions.iter().zip(found);
    both.filter(|(question, _)| question.is_answerable())
}

fn shares(questions: &[EvalQuestion], found: &[Vec<String>]) -> Shares {
    let mut sum = Shares::default();
    for (question, found) in answerable(questions, found) {
        let gold: HashSet<&String> = question.tables.iter().collect();
        let right = gold.iter().filter(|name| found.contains(name)).count();
        sum.hit += f64::from(u8::from(right > 0));
        sum.recall += right as f64 / gold.len().max(1) as f64;
        sum.full += f64::from(u8::from(right == gold.len()));
    }
    let count = answerable(questions, found).count().max(1) as f64;
    Shares {
        hit: sum.hit / count,
        recall: sum.recall / count,
        full: sum.full / count,
    }
}

fn mean_reciprocal_rank(questions: &[EvalQuestion], found: &[Vec<String>]) -> f64 {
    let sum: f64 = answerable(questions, found)
        .map(|(question, found)| reciprocal_rank(&question.tables, found))
        // The sum of no numbers would be -0.
        .fold(0.0, |sum, share| sum + share);
    sum / answerable(questions, found).count().max(1) as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[test]
    fn questions_are_read_and_errors_name_the_line() {
        let text = "{\"question\": \"a?\", \"tables\": [\"t\"], \"more\": 1}\n\n{\"question\": \"b\", \"tables\": [\"t\", \"u\"]}\n";
        assert_eq!(read_questions(text, "q").unwrap().len(), 2);
        let kinds = "{\"question\": \"a\", \"tables\": [], \"kind\": \"context\"}\n{\"question\": \"a\", \"tables\": [], \"kind\": 5}";
        let kinds = read_questions(kinds, "q").unwrap();
        let kinds: Vec<Option<&str>> = kinds.iter().map(|it| it.kind.as_deref()).collect();
        assert_eq!(kinds, [Some("context"), None]);
        let feedback = text.to_owned()
            + "{\"question\": \"c\", \"tables\": [], \"table\": \"t\", \"verdict\": \"wrong\"}\n";
        assert_eq!(read_questions(&feedback, "q").unwrap().len(), 2);
        let none = read_questions("{\"question\": \"a\", \"tables\": []}", "q").unwrap();
        assert!(!none[0].is_answerable());
        for (text, part) in [
            (
                "{\"question\": \"a\", \"tables\": [\"t\"]}\n{\"question\": 5}",
                "q, line 2: invalid type",
            ),
            ("\n\nnonsense", "q, line 3: expected"),
            (
                "{\"question\": \" \", \"tables\": [\"t\"]}",
                "line 1: the question is empty",
            ),
            ("{\"question\": \"a\"}", "line 1: missing field `tables`;"),
            ("\n", "holds no question"),
        ] {
            let error = read_questions(text, "q").unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert!(!error.contains('\n'));
        }
    }

    #[test]
    fn measures_by_hand() {
        let question = |tables: &[&str]| EvalQuestion {
            question: "?".into(),
            tables: tables.iter().map(|t| (*t).to_owned()).collect(),
            kind: None,
        };
        let names = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let questions = [
            question(&["a", "b"]),
            question(&["c"]),
            question(&["d", "d"]),
        ];
        let questions = [questions.as_slice(), &[question(&[])]].concat();
        let found = [
            names(&["x", "b"]),
            names(&["y", "z"]),
            names(&["d", "x"]),
            names(&["a"]),
        ];
        let shares = shares(&questions, &found);
        assert_eq!(shares.hit, 2.0 / 3.0);
        assert_eq!(shares.recall, (0.5 + 0.0 + 1.0) / 3.0);
        assert_eq!(shares.full, 1.0 / 3.0);
        assert_eq!(
            mean_reciprocal_rank(&questions, &found),
            (0.5 + 0.0 + 1.0) / 3.0
        );
        let nothing = vec![Vec::new(); 4];
        assert!(mean_reciprocal_rank(&questions, &nothing).is_sign_positive());
        assert_eq!(percentile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.0);
        assert_eq!(percentile(&[1.0, 2.0, 3.0, 4.0], 0.99), 4.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }

    #[test]
    fn parallel_work_keeps_order_and_reports_a_failure() {
        let squares = in_parallel(100, 4, |at| Ok(at * at)).unwrap();
        assert_eq!(squares, (0..100).map(|at| at * at).collect::<Vec<_>>());
        let failed = in_parallel(100, 4, |at| {
            if at == 50 {
                Err(RetrievalError::Query {
                    reason: "fifty".into(),
                })
            } else {
                Ok(at)
            }
        });
        assert!(failed.unwrap_err().to_string().contains("fifty"));
        assert!(in_parallel(0, 4, Ok).unwrap().is_empty());
    }
}
