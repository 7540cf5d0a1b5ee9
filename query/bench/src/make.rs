//! The making: rounds over the tables, until there are as many questions as are wanted or a limit
//! is reached.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt;
use limn_models::LanguageModel;
use limn_segment::is_under;
use serde::Serialize;
use thiserror::Error;

use crate::asking::Rejected;
use crate::known_tables::KnownTables;
use crate::question::{Earlier, Origin, Question};
use crate::sample::Unusable;
use crate::visits::{self, Outcome, PLACES, REPEATED, SoFar, Visit, Visits};

/// Visits without a new question after which there are no more, where those to all tables are
/// fewer.
const BARREN: usize = 10;
/// Tables that cannot be read, before any that can, after which the lake counts as unreachable.
const UNREADABLE: usize = 20;

/// What to make.
#[derive(Clone)]
pub struct Settings {
    /// What decides the questions.
    pub origin: Origin,
    /// What puts statements in English where [`Mode::Model`](crate::Mode::Model) is asked for.
    pub model: Option<Arc<dyn LanguageModel>>,
    /// How many questions.
    pub questions: usize,
    /// Visits to tables, at most, those of earlier runs included.
    pub visits: usize,
    /// How long this run may take.
    pub time: Duration,
    /// Counts the questions so far, for a progress display.
    pub progress: Arc<AtomicUsize>,
    /// Set where the run is to end.
    pub stop: Arc<AtomicBool>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// There are as many questions as were wanted.
    Complete,
    /// All visits are made.
    Visits,
    /// The time is over.
    Time,
    /// All tables were visited, and none gave a new question.
    Exhausted,
    /// It was to end.
    Stopped,
}

/// What a run has made.
#[derive(Clone, Debug, Serialize)]
pub struct Made {
    /// How it ended.
    pub ended: Ended,
    /// All questions that there are.
    pub questions: usize,
    /// Those of earlier runs.
    pub earlier: usize,
    /// Statements and contexts that this run drew.
    pub drawn: usize,
    /// The share of them that became questions, 0 to 1.
    pub share: f64,
    /// The others, by why they did not.
    pub rejected: BTreeMap<&'static str, usize>,
    /// Visits that this run made.
    pub visits: usize,
    /// Tables that gave no statement, by why not.
    pub passed_over: BTreeMap<&'static str, usize>,
    /// What was wrong with the first of what could not be read, if any.
    pub failure: Option<String>,
    /// Seconds that this run took.
    pub seconds: f64,
}

/// Why nothing can be made.
#[derive(Debug, Error)]
pub enum MakeError {
    /// There is no table.
    #[error(
        "the index has no table{}: limn tables lists what there is",
        .below.as_ref().map(|it| format!(" below '{it}'")).unwrap_or_default()
    )]
    NoTables {
        /// The path that was asked for.
        below: Option<String>,
    },
    /// No table that was tried can be read.
    #[error("none of {tried} tables can be read, so is the lake still there? The first: {first}")]
    Unreadable {
        /// Tables that were tried.
        tried: usize,
        /// What is wrong with one.
        first: String,
    },
    /// No table that was tried has rows and columns to ask about.
    #[error("no table can be asked about: of {tried} that were tried, {}", .why)]
    Unusable {
        /// Tables that were tried.
        tried: usize,
        /// Why they cannot.
        why: Unasked,
    },
    /// A question cannot be kept.
    #[error("a question cannot be written: {0}")]
    Kept(#[from] io::Error),
}

/// Why tables cannot be asked about: how many for which reason.
#[derive(Debug)]
pub struct Unasked {
    /// Those without rows.
    pub empty: usize,
    /// Those none of whose columns may be shown.
    pub without_columns: usize,
    /// Those that cannot be read.
    pub unreadable: usize,
    /// What is wrong with the first of those, if any.
    pub first: Option<String>,
}

impl fmt::Display for Unasked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = |count, one, many| if count == 1 { one } else { many };
        let reasons = [
            (self.empty, verb(self.empty, "has", "have"), "no rows"),
            (
                self.without_columns,
                verb(self.without_columns, "has", "have"),
                "no columns that may be shown",
            ),
            (self.unreadable, "cannot", "be read"),
        ];
        let reasons = reasons.iter().filter(|(count, ..)| *count > 0);
        let reasons: Vec<String> = reasons
            .map(|(count, verb, what)| format!("{count} {verb} {what}"))
            .collect();
        f.write_str(&reasons.join(", "))?;
        match &self.first {
            Some(first) => write!(f, "; the first that cannot be read: {first}"),
            None => Ok(()),
        }
    }
}

/// Makes questions about tables, and gives each to `keep` once it is whole.
///
/// # Errors
/// There is no table to ask about, or a question cannot be kept.
pub async fn make(
    known_tables: &KnownTables,
    settings: &Settings,
    earlier: Earlier,
    keep: impl FnMut(&Question) -> io::Result<()>,
) -> Result<Made, MakeError> {
    let at_once = visits::at_once(settings);
    make_at_once(known_tables, settings, earlier, at_once, keep).await
}

/// As [`make`], with so many places of visits under way at the same time.
async fn make_at_once(
    known_tables: &KnownTables,
    settings: &Settings,
    earlier: Earlier,
    at_once: usize,
    keep: impl FnMut(&Question) -> io::Result<()>,
) -> Result<Made, MakeError> {
    let prefix = &settings.origin.prefix;
    let is_wanted = |at: &usize| {
        let name = &known_tables.entries[*at].key.name;
        prefix.as_ref().is_none_or(|prefix| is_under(name, prefix))
    };
    let tables: Vec<usize> = (0..known_tables.entries.len()).filter(is_wanted).collect();
    if tables.is_empty() {
        return Err(MakeError::NoTables {
            below: prefix.clone(),
        });
    }
    let made = Made::after(&earlier);
    let so_far = Mutex::new(SoFar {
        there: earlier,
        shares: settings.origin.kinds.shares(settings.questions),
        unusable: HashSet::new(),
        has_sample: false,
    });
    let making = Making {
        visits: Visits {
            known_tables,
            settings,
            tables: &tables,
            so_far: &so_far,
        },
        made,
        wanted: [false; 2],
        start: Instant::now(),
        keep,
    };
    making.run(at_once).await
}

impl Made {
    fn after(earlier: &Earlier) -> Made {
        Made {
            ended: Ended::Complete,
            questions: earlier.questions,
            earlier: earlier.questions,
            drawn: 0,
            share: 0.0,
            rejected: BTreeMap::new(),
            visits: 0,
            passed_over: BTreeMap::new(),
            failure: None,
            seconds: 0.0,
        }
    }
}

/// A run on its way.
struct Making<'a, K> {
    visits: Visits<'a>,
    made: Made,
    /// By kind, whether the visit whose turn it is may make more questions.
    wanted: [bool; 2],
    start: Instant,
    keep: K,
}

impl<K: FnMut(&Question) -> io::Result<()>> Making<'_, K> {
    async fn run(mut self, at_once: usize) -> Result<Made, MakeError> {
        let (mut round, mut at) = match self.visits.so_far().there.last {
            None => (0, 0),
            Some((round, statement)) => (round, statement.saturating_add(1).min(PLACES)),
        };
        let mut arrivals = self.visits.arrivals((round, at), at_once);
        let (mut had, mut barren) = (self.questions(), 0);
        let mut begun = None;
        self.made.ended = loop {
            if at == PLACES {
                let has = self.questions();
                barren = match has > had {
                    true => 0,
                    false => barren + 1,
                };
                (round, at, had) = (round.saturating_add(1), 0, has);
            }
            if let Some(ended) = self.is_over(round, barren) {
                break ended;
            }
            // Nobody waits longer than there is time: a model may take long.
            let settings = self.visits.settings;
            let left = settings.time.saturating_sub(self.start.elapsed());
            let Ok(Some(arrival)) = tokio::time::timeout(left, arrivals.next()).await else {
                continue;
            };
            if begun != Some(round) {
                begun = Some(round);
                self.begin(&arrival.visit)?;
            }
            if let Some(outcome) = arrival.outcome {
                self.take(round, outcome)?;
            }
            at += 1;
        };
        self.has_asked()?;
        Ok(self.report())
    }

    /// All questions that there are.
    fn questions(&self) -> usize {
        self.visits.so_far().there.questions
    }

    fn is_over(&self, round: usize, barren: usize) -> Option<Ended> {
        let settings = self.visits.settings;
        // Each pass has an order of its own: so many visits in a row are to all tables.
        let all_visited = 2 * self.visits.tables.len() - 1;
        let is_over = [
            (self.questions() >= settings.questions, Ended::Complete),
            (settings.stop.load(Ordering::Relaxed), Ended::Stopped),
            (self.start.elapsed() >= settings.time, Ended::Time),
            (round >= settings.visits, Ended::Visits),
            (barren >= all_visited.max(BARREN), Ended::Exhausted),
        ];
        is_over
            .into_iter()
            .find_map(|(is, ended)| is.then_some(ended))
    }

    /// Counts a visit whose turn has come.
    fn begin(&mut self, visit: &Visit<'_>) -> Result<(), MakeError> {
        self.made.visits += 1;
        self.wanted = match self.is_usable(visit) {
            true => self.visits.so_far().wants(),
            false => [false; 2],
        };
        self.is_readable()
    }

    /// Whether a visit has a sample. A table that gave none to an earlier one is left alone, even
    /// if it was read ahead before that was known.
    fn is_usable(&mut self, visit: &Visit<'_>) -> bool {
        let is_known = self.visits.so_far().unusable.contains(&visit.table);
        let why = match visit.unusable() {
            Some(Unusable::Before) => return false,
            _ if is_known => return false,
            None => return true,
            Some(Unusable::Empty) => "empty",
            Some(Unusable::NoColumns) => "no_columns",
            Some(Unusable::Unreadable(error)) => {
                self.failed(visit.table, &error.to_string());
                "unreadable"
            }
        };
        self.visits.so_far().unusable.insert(visit.table);
        *self.made.passed_over.entry(why).or_default() += 1;
        false
    }

    /// Takes what a place of a visit came to, at its turn, and keeps it if it is a question.
    fn take(&mut self, round: usize, outcome: Outcome) -> Result<(), MakeError> {
        let Outcome { kind, asks, became } = outcome;
        if !self.wanted[kind] {
            return Ok(());
        }
        let (is_repeated, is_wanted) = {
            let so_far = self.visits.so_far();
            let has_before = |asks: &String| so_far.there.has_before(round, asks);
            (asks.as_ref().is_some_and(has_before), so_far.wants()[kind])
        };
        // What an earlier visit asked may not have been known when this was drawn.
        let became = match is_repeated {
            true => Err(REPEATED.into()),
            false => became,
        };
        // There are enough of its kind since the visit began.
        if became.is_ok() && !is_wanted {
            return Ok(());
        }
        self.made.drawn += 1;
        match became {
            Ok(question) if self.visits.so_far().there.has(&question) => self.reject(REPEATED),
            Ok(question) => self.add(&question)?,
            Err(Rejected { why, failure }) => {
                self.reject(why);
                if let Some((table, error)) = failure {
                    self.failed(table, &error);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, question: &Question) -> io::Result<()> {
        (self.keep)(question)?;
        let mut so_far = self.visits.so_far();
        so_far.there.add(question);
        let progress = &self.visits.settings.progress;
        progress.store(so_far.there.questions, Ordering::Relaxed);
        Ok(())
    }

    fn failed(&mut self, table: usize, error: &str) {
        let name = &self.visits.known_tables.entries[table].key.name;
        let message = || match error.contains(name.as_str()) {
            true => error.to_owned(),
            false => format!("'{name}': {error}"),
        };
        self.made.failure.get_or_insert_with(message);
    }

    fn reject(&mut self, why: &'static str) {
        *self.made.rejected.entry(why).or_default() += 1;
    }

    /// Fails where nothing can be asked about: an unreachable lake takes long to notice, table by
    /// table.
    fn is_readable(&self) -> Result<(), MakeError> {
        let (tried, tables) = (self.tried(), self.visits.tables.len());
        let is_first = self.made.visits == tried;
        let of = |why: &str| self.made.passed_over.get(why).copied().unwrap_or_default();
        match is_first {
            true if tried >= tables.min(UNREADABLE) && of("unreadable") == tried => {
                Err(MakeError::Unreadable {
                    tried,
                    first: self.made.failure.clone().unwrap_or_default(),
                })
            }
            true if tried == tables || of("unreadable") >= UNREADABLE => Err(self.unusable()),
            _ => Ok(()),
        }
    }

    /// Fails where the run ends and none of its visits could ask about a table, as some cannot be
    /// read: what it lacks is not more visits or time.
    fn has_asked(&self) -> Result<(), MakeError> {
        let wants_more = !matches!(self.made.ended, Ended::Complete | Ended::Stopped);
        let has_sample = self.visits.so_far().has_sample;
        let is_unreadable = self.made.passed_over.contains_key("unreadable");
        match wants_more && !has_sample && is_unreadable {
            true => Err(self.unusable()),
            false => Ok(()),
        }
    }

    /// Tables that gave no sample.
    fn tried(&self) -> usize {
        self.visits.so_far().unusable.len()
    }

    fn unusable(&self) -> MakeError {
        let of = |why: &str| self.made.passed_over.get(why).copied().unwrap_or_default();
        MakeError::Unusable {
            tried: self.tried(),
            why: Unasked {
                empty: of("empty"),
                without_columns: of("no_columns"),
                unreadable: of("unreadable"),
                first: self.made.failure.clone(),
            },
        }
    }

    /// What the run has made, at its end.
    fn report(mut self) -> Made {
        let questions = self.questions();
        let made = &mut self.made;
        made.questions = questions;
        let new = made.questions - made.earlier;
        made.share = new as f64 / made.drawn.max(1) as f64;
        made.seconds = self.start.elapsed().as_secs_f64();
        self.made
    }
}
