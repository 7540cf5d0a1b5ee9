//! A threshold for each model, fitted on questions whose tables are known, and what it is worth.
//!
//! **Objective.** The threshold is not fitted to separate relevant tables from irrelevant ones (it
//! could do that well and still push a gold table off the first place) but to what the judge is
//! for: the mean of hit@1 and hit@5 after re-ranking. The candidates of each question are judged
//! once, then all thresholds are tried on what the model said; among equals the lowest wins, which
//! rejects least. One of them rejects nothing, and it is taken unless the best one gains more than
//! a standard error over it, question by question (after the one-standard-error rule of Breiman et
//! al., CART, 1984): a few lucky questions buy no threshold.
//!
//! **Honesty.** For that reason the fitted figures are optimistic, and whether a judge *helps* is
//! decided on others: the questions are cut into five runs of consecutive ones (neighbours are
//! often about the same tables), each judged at the threshold fitted on the other four. The 95 %
//! interval of that difference to no judge must lie above 0.
//!
//! A record is kept beside the models, one file for each model id, and holds for one version of the
//! prompt only.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use limn_models::ModelId;
use serde::{Deserialize, Serialize};

use super::PROMPT_VERSION;
use crate::eval::{Interval, paired_bootstrap};

/// Parts of the questions, each judged at a threshold of the others.
const FOLDS: usize = 5;
/// Thresholds tried at most.
const THRESHOLDS: usize = 400;
/// How far below the lowest log-odds the threshold lies that rejects nothing.
const MARGIN: f32 = 1.0;

/// The candidates of a question in rank order, as the judge saw them.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// How many tables answer the question.
    pub gold: usize,
    /// For each candidate: whether it is one of them, and the higher log-odds of its two variants.
    pub candidates: Vec<(bool, f32)>,
}

/// Shares of questions, fractions of 1, over the judged candidates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    /// A gold table first.
    pub hit_at_1: f64,
    /// A gold table among the first five.
    pub hit_at_5: f64,
    /// All gold tables among the first five.
    pub full_at_5: f64,
    /// The mean reciprocal rank of the first gold table.
    pub mrr: f64,
}

/// What is known of a model as a judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The model's id.
    pub model: ModelId,
    /// The prompt it was asked with: [`PROMPT_VERSION`].
    pub prompt_version: u32,
    /// Tables with lower log-odds are rejected.
    pub threshold: f32,
    /// Questions it was fitted on.
    pub questions: usize,
    /// Candidates judged for each question at most.
    pub depth: usize,
    /// Without a judge.
    pub without: Measures,
    /// Judged at the threshold, on the questions that it was fitted on.
    pub fitted: Measures,
    /// Judged at thresholds fitted on other questions.
    pub held_out: Measures,
    /// How much the mean of hit@1 and hit@5 differs, held out less without, with its 95 % interval.
    pub difference: Interval,
    /// When, in UTC (RFC 3339).
    pub date: String,
}

/// A record could not be read, written or made.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The file could not be read or written.
    #[error("cannot {action} the calibration {}: {source}; check its permissions, or calibrate again with limn eval --calibrate", .path.display())]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is too little to fit on.
    #[error("cannot calibrate: {0}")]
    Nothing(String),
}

impl Calibration {
    /// Whether the judge is known to help, by the prompt of this version.
    pub fn helps(&self) -> bool {
        self.is_current() && self.difference.low > 0.0
    }

    /// Whether it was made with the prompt of this version.
    pub fn is_current(&self) -> bool {
        self.prompt_version == PROMPT_VERSION
    }

    /// The record of a model in a folder; `None` where there is none.
    ///
    /// # Errors
    /// Where the file is there and cannot be read, or holds something else.
    pub fn load(folder: &Path, model: &ModelId) -> Result<Option<Calibration>, CalibrationError> {
        let path = file(folder, model);
        let failed = |source| CalibrationError::File {
            action: "read",
            path: path.clone(),
            source,
        };
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let record: Calibration =
            serde_json::from_slice(&text).map_err(|error| failed(error.into()))?;
        Ok((record.model == *model).then_some(record))
    }

    /// Writes the record in place of the model's last one; returns the file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn save(&self, folder: &Path) -> Result<PathBuf, CalibrationError> {
        let path = file(folder, &self.model);
        let write = || {
            fs::create_dir_all(folder)?;
            let mut text = serde_json::to_vec_pretty(self)?;
            text.push(b'\n');
            // Renamed into place: a reader sees the last record or this one.
            let half = path.with_extension(format!("json.{}", std::process::id()));
            fs::write(&half, text)?;
            fs::rename(&half, &path)
        };
        write().map_err(|source| CalibrationError::File {
            action: "write",
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }
}

/// A model's file: its id, with what file names do not take as %XX.
fn file(folder: &Path, model: &ModelId) -> PathBuf {
    let mut name = String::new();
    for byte in model.as_str().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'@' | b'+' => {
                name.push(char::from(byte));
            }
            _ => name += &format!("%{byte:02X}"),
        }
    }
    folder.join(format!("{name}.json"))
}

/// Fits a threshold on judged questions and measures what it is worth. `date` is kept as given.
///
/// # Errors
/// [`CalibrationError::Nothing`] with fewer than two questions, or none with a candidate.
pub fn calibrate(
    model: &ModelId,
    judged: &[Judged],
    depth: usize,
    date: String,
) -> Result<Calibration, CalibrationError> {
    let nothing = |what: &str| Err(CalibrationError::Nothing(what.to_owned()));
    if judged.len() < 2 {
        return nothing("it takes two questions at least, and a hundred to say anything");
    }
    let thresholds = thresholds(judged);
    let Some(&threshold) = best(&thresholds, judged.iter().collect()) else {
        return nothing("no question has a candidate; is it the index of another lake?");
    };
    let without: Vec<Outcome> = judged.iter().map(|it| it.at(f32::NEG_INFINITY)).collect();
    let fitted: Vec<Outcome> = judged.iter().map(|it| it.at(threshold)).collect();
    let mut held_out = Vec::with_capacity(judged.len());
    let part = |at: usize| at * FOLDS / judged.len();
    for (at, question) in judged.iter().enumerate() {
        // The threshold of a part is fitted when its first question comes.
        let threshold = match held_out.last() {
            Some(&(last, threshold, _)) if last == part(at) => threshold,
            _ => {
                let others = judged.iter().enumerate();
                let others = others.filter(|(other, _)| part(*other) != part(at));
                best(&thresholds, others.map(|(_, it)| it).collect()).map_or(threshold, |&it| it)
            }
        };
        held_out.push((part(at), threshold, question.at(threshold)));
    }
    let held_out: Vec<Outcome> = held_out.into_iter().map(|(.., outcome)| outcome).collect();
    let differences = held_out
        .iter()
        .zip(&without)
        .map(|(held_out, without)| {
            (f64::from(held_out.points()) - f64::from(without.points())) / 2.0
        })
        .collect();
    Ok(Calibration {
        model: model.clone(),
        prompt_version: PROMPT_VERSION,
        threshold,
        questions: judged.len(),
        depth,
        without: measures(&without),
        fitted: measures(&fitted),
        held_out: measures(&held_out),
        difference: paired_bootstrap(&[differences])[0],
        date,
    })
}

/// What a question found at a threshold.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    /// The rank of the first gold table, from 1.
    first: Option<usize>,
    /// Whether all gold tables are among the first five.
    full: bool,
}

impl Outcome {
    fn hit(&self, k: usize) -> bool {
        self.first.is_some_and(|rank| rank <= k)
    }

    /// Twice the objective.
    fn points(&self) -> u32 {
        u32::from(self.hit(1)) + u32::from(self.hit(5))
    }
}

impl Judged {
    /// The order at a threshold: what stands, then what is rejected.
    fn at(&self, threshold: f32) -> Outcome {
        let stands = |&&(_, odds): &&(bool, f32)| odds >= threshold;
        let standing = self.candidates.iter().filter(stands);
        let rejected = self.candidates.iter().filter(|it| !stands(it));
        let (mut first, mut found) = (None, 0);
        for (at, &(gold, _)) in standing.chain(rejected).enumerate() {
            if gold {
                first.get_or_insert(at + 1);
                found += usize::from(at < 5);
            }
        }
        Outcome {
            first,
            full: self.gold > 0 && found >= self.gold,
        }
    }
}

/// Thresholds between the log-odds that were seen, lowest first; the first rejects nothing.
fn thresholds(judged: &[Judged]) -> Vec<f32> {
    let mut odds: Vec<f32> = judged
        .iter()
        .flat_map(|question| question.candidates.iter().map(|(_, odds)| *odds))
        .collect();
    odds.sort_unstable_by(f32::total_cmp);
    odds.dedup();
    let Some(&lowest) = odds.first() else {
        return Vec::new();
    };
    let between: Vec<f32> = odds
        .windows(2)
        .map(|pair| (pair[0] + pair[1]) / 2.0)
        .collect();
    let step = between.len().div_ceil(THRESHOLDS).max(1);
    let mut thresholds = vec![lowest - MARGIN];
    thresholds.extend(between.into_iter().step_by(step));
    thresholds
}

/// The lowest threshold with the most points, where it gains more than chance over the first, which
/// rejects nothing; else that. `None` of none.
fn best<'a>(thresholds: &'a [f32], judged: Vec<&Judged>) -> Option<&'a f32> {
    let points = |threshold: f32| -> Vec<f64> {
        let points = judged
            .iter()
            .map(|question| f64::from(question.at(threshold).points()));
        points.collect()
    };
    let (nothing, others) = thresholds.split_first()?;
    let without = points(*nothing);
    let (mut best, mut most) = (nothing, without.clone());
    for threshold in others {
        let points = points(*threshold);
        if points.iter().sum::<f64>() > most.iter().sum() {
            (best, most) = (threshold, points);
        }
    }
    Some(if is_clear(&without, &most) {
        best
    } else {
        nothing
    })
}

/// Whether `more` is more than `points` by more than a standard error of the mean difference.
fn is_clear(points: &[f64], more: &[f64]) -> bool {
    let count = points.len() as f64;
    let differences = || points.iter().zip(more).map(|(points, more)| more - points);
    let mean = differences().sum::<f64>() / count.max(1.0);
    let squares: f64 = differences().map(|it| (it - mean).powi(2)).sum();
    let error = (squares / (count - 1.0).max(1.0) / count.max(1.0)).sqrt();
    // One question alone moves the mean by exactly one standard error, but for rounding.
    mean > error * (1.0 + 1e-9)
}

fn measures(outcomes: &[Outcome]) -> Measures {
    let share = |of: &dyn Fn(&Outcome) -> f64| {
        outcomes.iter().map(of).fold(0.0, |sum, it| sum + it) / outcomes.len().max(1) as f64
    };
    Measures {
        hit_at_1: share(&|it| f64::from(u8::from(it.hit(1)))),
        hit_at_5: share(&|it| f64::from(u8::from(it.hit(5)))),
        full_at_5: share(&|it| f64::from(u8::from(it.full))),
        mrr: share(&|it| it.first.map_or(0.0, |rank| 1.0 / rank as f64)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    fn model() -> ModelId {
        ModelId::new("endpoint:a/b@host:1/v1")
    }

    /// Questions with their gold table second; the model is sure of it with `sure` in ten.
    fn questions(count: usize, sure: usize) -> Vec<Judged> {
        (0..count)
            .map(|at| {
                let right = at % 10 < sure;
                Judged {
                    gold: 1,
                    candidates: vec![
                        (false, if right { 2.0 } else { 3.0 }),
                        (true, if right { 3.0 } else { 2.0 }),
                        (false, 2.0),
                    ],
                }
            })
            .collect()
    }

    #[test]
    fn a_model_biased_to_yes_is_useful_at_its_threshold() {
        let record = calibrate(&model(), &questions(100, 8), 10, "today".into()).unwrap();
        assert!((2.0..3.0).contains(&record.threshold), "{record:?}");
        assert_eq!(record.without.hit_at_1, 0.0);
        assert_eq!((record.fitted.hit_at_1, record.fitted.hit_at_5), (0.8, 1.0));
        assert_eq!(record.held_out, record.fitted);
        assert!((record.difference.mean - 0.4).abs() < 1e-9);
        assert!(record.helps());
        let other_prompt = Calibration {
            prompt_version: PROMPT_VERSION + 1,
            ..record
        };
        assert!(!other_prompt.helps());
    }

    #[test]
    fn a_model_that_cannot_judge_rejects_nothing_and_does_not_help() {
        let record = calibrate(&model(), &questions(100, 0), 10, "today".into()).unwrap();
        assert!(record.threshold < 2.0, "{record:?}");
        assert_eq!(record.fitted, record.without);
        assert!(!record.helps());
        assert!(calibrate(&model(), &[], 10, String::new()).is_err());
    }

    #[test]
    fn a_lucky_question_buys_no_threshold() {
        // What the model says moves nothing here.
        let unmoved = Judged {
            gold: 1,
            candidates: vec![(true, 3.0), (false, 2.0), (false, 1.0)],
        };
        let lucky = Judged {
            gold: 1,
            candidates: vec![(false, 1.0), (true, 2.0), (false, 2.0)],
        };
        let of = |luck: usize| {
            let judged: Vec<Judged> = (0..100)
                .map(|at| if at % 10 < luck { &lucky } else { &unmoved }.clone())
                .collect();
            judged
        };
        let fit = |judged: &[Judged]| calibrate(&model(), judged, 3, String::new()).unwrap();
        let one = [vec![lucky.clone()], of(0)].concat();
        assert_eq!(fit(&one).threshold, 1.0 - MARGIN);
        assert_eq!(fit(&one).held_out, fit(&one).without);
        // What moves many questions up and down is no better for it: the best one is compared with
        // none.
        let noisy = [
            (4, vec![(false, 7.0), (true, 9.0)]),
            (12, vec![(false, 2.0), (true, 4.0)]),
            (13, vec![(true, 2.0), (false, 4.0)]),
            (171, vec![(true, 0.0), (false, 0.0)]),
        ];
        let noisy = noisy.map(|(count, candidates)| {
            let judged = Judged {
                gold: 1,
                candidates,
            };
            vec![judged; count]
        });
        assert_eq!(fit(&noisy.concat()).threshold, 8.0);
        // One in ten is evidence.
        let record = fit(&of(1));
        assert_eq!(record.threshold, 1.5);
        assert!(record.held_out.hit_at_1 > record.without.hit_at_1);
    }

    #[test]
    fn luck_does_not_count_as_help() {
        // Odds that have nothing to do with what is right: some threshold always looks good.
        let judged: Vec<Judged> = (0..60u32)
            .map(|question| {
                let odds = |at: u32| ((question * 7919 + at * 104_729) % 101) as f32;
                let candidates = (0..6).map(|at| (at == question % 4, odds(at))).collect();
                Judged {
                    gold: 1,
                    candidates,
                }
            })
            .collect();
        let record = calibrate(&model(), &judged, 6, String::new()).unwrap();
        assert!(record.held_out.hit_at_1 <= record.fitted.hit_at_1);
        assert!(!record.helps(), "{record:?}");
    }

    #[test]
    fn ranks_after_a_threshold() {
        let judged = Judged {
            gold: 2,
            candidates: vec![(false, 0.0), (true, 1.0), (false, 2.0), (true, -1.0)],
        };
        let at = |threshold| {
            let outcome = judged.at(threshold);
            (outcome.first, outcome.full)
        };
        assert_eq!(at(-5.0), (Some(2), true));
        assert_eq!(at(0.5), (Some(1), true));
        assert_eq!(at(1.5), (Some(3), true));
    }

    #[test]
    fn records_are_kept_by_model() {
        let folder = tempfile::tempdir().unwrap();
        let record = calibrate(&model(), &questions(20, 5), 10, "today".into()).unwrap();
        assert_eq!(Calibration::load(folder.path(), &model()).unwrap(), None);
        let path = record.save(folder.path()).unwrap();
        assert_eq!(
            path.file_name().unwrap().to_str().unwrap(),
            "endpoint%3Aa%2Fb@host%3A1%2Fv1.json"
        );
        assert_eq!(
            Calibration::load(folder.path(), &model()).unwrap(),
            Some(record)
        );
        std::fs::write(&path, "{}").unwrap();
        let error = Calibration::load(folder.path(), &model()).unwrap_err();
        assert!(
            error.to_string().contains("limn eval --calibrate"),
            "{error}"
        );
    }
}
