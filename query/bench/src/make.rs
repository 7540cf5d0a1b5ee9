//! The making: rounds over the tables, until there are as many questions as are wanted or a limit
//! is reached.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use limn_models::LanguageModel;
use limn_segment::is_under;
use serde::Serialize;
use thiserror::Error;

use crate::asking::{Asking, Drawn, Rejected};
use crate::known_tables::KnownTables;
use crate::question::{Earlier, Origin, Question};
use crate::random::Draws;
use crate::sample::{self, Sample, Unusable};
use crate::{CONTEXTS, STATEMENTS};

/// What the draws of a round are for, beside its statements.
const ORDER: u64 = 1;
const SAMPLE: u64 = 2;
/// Visits without a new question after which there are no more, where those to all tables are
/// fewer.
const BARREN: usize = 10;
/// Statements that are asked at the same time; with a model all of a visit, so that it has batches.
const AT_ONCE: usize = 4;
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
    let making = Making {
        known_tables,
        settings,
        tables,
        made: Made::after(&earlier),
        there: earlier,
        unusable: HashMap::new(),
        has_sample: false,
        start: Instant::now(),
        keep,
    };
    making.run().await
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
    known_tables: &'a KnownTables,
    settings: &'a Settings,
    /// The tables that statements are drawn from.
    tables: Vec<usize>,
    there: Earlier,
    made: Made,
    /// The tables that gave no sample, with why.
    unusable: HashMap<usize, &'static str>,
    /// Whether any gave one.
    has_sample: bool,
    start: Instant,
    keep: K,
}

impl<K: FnMut(&Question) -> io::Result<()>> Making<'_, K> {
    async fn run(mut self) -> Result<Made, MakeError> {
        let (mut round, mut first) = match self.there.last {
            None => (0, 0),
            Some((round, statement)) => (round, statement + 1),
        };
        let (mut order, mut order_of) = (Vec::new(), None);
        let mut barren = 0;
        self.made.ended = loop {
            if let Some(ended) = self.is_over(round, barren) {
                break ended;
            }
            let pass = round / self.tables.len();
            if order_of != Some(pass) {
                order.clone_from(&self.tables);
                let mut draws = Draws::of(&[self.settings.origin.seed, ORDER, pass as u64]);
                draws.keep(self.tables.len(), &mut order);
                order_of = Some(pass);
            }
            let had = self.there.questions;
            if let Some(sample) = self.sample(order[round % self.tables.len()], round).await {
                let table = order[round % self.tables.len()];
                self.visit((table, &sample), round, first).await?;
            }
            self.is_readable()?;
            barren = match self.there.questions > had {
                true => 0,
                false => barren + 1,
            };
            (round, first) = (round + 1, 0);
        };
        self.has_asked()?;
        Ok(self.report())
    }

    /// Whether there are to be more questions of a kind, by its place in [`Kinds::shares`].
    ///
    /// [`Kinds::shares`]: crate::Kinds::shares
    fn wants(&self, place: usize) -> bool {
        let settings = self.settings;
        self.there.of_kind[place] < settings.origin.kinds.shares(settings.questions)[place]
    }

    fn is_over(&self, round: usize, barren: usize) -> Option<Ended> {
        let settings = self.settings;
        // Each pass has an order of its own: so many visits in a row are to all tables.
        let all_visited = 2 * self.tables.len() - 1;
        let is_over = [
            (self.there.questions >= settings.questions, Ended::Complete),
            (settings.stop.load(Ordering::Relaxed), Ended::Stopped),
            (self.start.elapsed() >= settings.time, Ended::Time),
            (round >= settings.visits, Ended::Visits),
            (barren >= all_visited.max(BARREN), Ended::Exhausted),
        ];
        is_over
            .into_iter()
            .find_map(|(is, ended)| is.then_some(ended))
    }

    /// The sample of a table for a round; none if the table gives none.
    async fn sample(&mut self, table: usize, round: usize) -> Option<Sample> {
        self.made.visits += 1;
        if self.unusable.contains_key(&table) {
            return None;
        }
        let entry = &self.known_tables.entries[table];
        let mut draws = Draws::of(&[self.settings.origin.seed, SAMPLE, round as u64]);
        let read = match self.known_tables.engine(table) {
            Some(engine) if !entry.is_empty => sample::read(engine, entry, &mut draws).await,
            _ => Err(Unusable::Empty),
        };
        let why = match read {
            Ok(sample) => {
                self.has_sample = true;
                return Some(sample);
            }
            Err(Unusable::Empty) => "empty",
            Err(Unusable::NoColumns) => "no_columns",
            Err(Unusable::Unreadable(error)) => {
                self.failed(table, &error.to_string());
                "unreadable"
            }
        };
        self.unusable.insert(table, why);
        *self.made.passed_over.entry(why).or_default() += 1;
        None
    }

    fn failed(&mut self, table: usize, error: &str) {
        let name = &self.known_tables.entries[table].key.name;
        let message = || match error.contains(name.as_str()) {
            true => error.to_owned(),
            false => format!("'{name}': {error}"),
        };
        self.made.failure.get_or_insert_with(message);
    }

    /// Draws the statements of a visit, from one on, and keeps those that become questions.
    async fn visit(
        &mut self,
        (table, sample): (usize, &Sample),
        round: usize,
        first: usize,
    ) -> Result<(), MakeError> {
        let asking = Asking {
            known_tables: self.known_tables,
            origin: &self.settings.origin,
            model: self.settings.model.as_deref(),
            table,
            sample,
            round,
        };
        let seen = &self.there.seen;
        let mut drawn: Vec<Drawn> = Vec::new();
        if self.wants(0) {
            drawn.extend((0..STATEMENTS).map(|at| asking.draw(at, seen)));
        }
        if self.wants(1) {
            drawn.extend(asking.contexts(seen));
        }
        drawn.retain(|it| it.at >= first);
        // In their order, some at a time.
        let mut asked = stream::iter(drawn).map(|drawn| asking.ask(drawn)).buffered(
            match self.settings.model {
                None => AT_ONCE,
                Some(_) => STATEMENTS + CONTEXTS,
            },
        );
        // Nobody waits longer than there is time: a model may take long.
        while self.is_over(round, 0).is_none() {
            let left = self.settings.time.saturating_sub(self.start.elapsed());
            let Ok(Some(asked)) = tokio::time::timeout(left, asked.next()).await else {
                break;
            };
            // There are enough of its kind since it was drawn.
            if asked.as_ref().is_ok_and(|it| !self.wants(it.kind.place())) {
                continue;
            }
            self.made.drawn += 1;
            let has = |text: &str| self.there.seen.contains(text);
            match asked {
                Ok(question) if has(&question.question) || has(&question.asked()) => {
                    self.reject("repeated");
                }
                Ok(question) => {
                    (self.keep)(&question)?;
                    self.there.add(&question);
                    let count = self.there.questions;
                    self.settings.progress.store(count, Ordering::Relaxed);
                }
                Err(Rejected { why, failure }) => {
                    self.reject(why);
                    if let Some((table, error)) = failure {
                        self.failed(table, &error);
                    }
                }
            }
        }
        Ok(())
    }

    fn reject(&mut self, why: &'static str) {
        *self.made.rejected.entry(why).or_default() += 1;
    }

    /// Fails where nothing can be asked about: an unreachable lake takes long to notice, table by
    /// table.
    fn is_readable(&self) -> Result<(), MakeError> {
        let tried = self.unusable.len();
        let is_first = self.made.visits == tried;
        let of = |why: &str| self.made.passed_over.get(why).copied().unwrap_or_default();
        match is_first {
            true if tried >= self.tables.len().min(UNREADABLE) && of("unreadable") == tried => {
                Err(MakeError::Unreadable {
                    tried,
                    first: self.made.failure.clone().unwrap_or_default(),
                })
            }
            true if tried == self.tables.len() || of("unreadable") >= UNREADABLE => {
                Err(self.unusable())
            }
            _ => Ok(()),
        }
    }

    /// Fails where the run ends and none of its visits could ask about a table, as some cannot be
    /// read: what it lacks is not more visits or time.
    fn has_asked(&self) -> Result<(), MakeError> {
        let wants_more = !matches!(self.made.ended, Ended::Complete | Ended::Stopped);
        let is_unreadable = self.made.passed_over.contains_key("unreadable");
        match wants_more && !self.has_sample && is_unreadable {
            true => Err(self.unusable()),
            false => Ok(()),
        }
    }

    fn unusable(&self) -> MakeError {
        let of = |why: &str| self.made.passed_over.get(why).copied().unwrap_or_default();
        MakeError::Unusable {
            tried: self.unusable.len(),
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
        let made = &mut self.made;
        made.questions = self.there.questions;
        let new = made.questions - made.earlier;
        made.share = new as f64 / made.drawn.max(1) as f64;
        made.seconds = self.start.elapsed().as_secs_f64();
        self.made
    }
}
