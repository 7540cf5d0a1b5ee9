//! The judge (PNEUMA §5.1): a language model says of each candidate whether it is relevant.
//!
//! A candidate is read in two variants, content and context (`prompt.rs`); it stands when either
//! says yes. "Yes" is a matter of degree: the log-odds of *yes* against *no* as the answer's first
//! word, compared with a threshold that is fitted for each model (`calibration.rs`), because small
//! models say yes to nearly everything. The candidates of a question are judged in rank order until
//! enough stand (`walk.rs`), at most [`Judge::depth`] of them.
//!
//! **Guarantees.** The answer is the one that judging all of these candidates would give. A failing
//! call loses nothing: its table keeps its place, unjudged, and a note says so. A table's text is
//! data: it cannot end its delimiters (`limn_models::quote`), and a prompt holds one table.
//!
//! **Non-guarantees.** What the model says. Text made to sound relevant is judged as what it says:
//! how many verdicts such text turns is measured (docs/benchmarks.md).

mod calibration;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod fake;
mod prompt;
mod text;
mod verdicts;
mod walk;

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use limn_models::{LanguageModel, ModelError, ModelId};
use serde::Serialize;
use tokio::runtime::Handle;

pub use calibration::{Calibration, CalibrationError, Judged, Measures, calibrate};
pub use prompt::{PROMPT_VERSION, TableText};
pub(crate) use text::table_text;
pub use verdicts::{TextHash, Verdicts};
pub use walk::Verdict;
pub(crate) use walk::{order, walk};

use crate::error::RetrievalError;

use prompt::{Prompts, Variant, WORDS};

/// Fewest candidates that may be judged, and how many for each table wanted.
const FEWEST: usize = 10;
const PER_TABLE: usize = 2;
/// Log-odds beyond this say nothing more, and infinite ones could not be stored.
const MOST_ODDS: f32 = 50.0;

/// A language model that judges candidates, shared by any number of searches.
pub struct Judge {
    model: Arc<dyn LanguageModel>,
    runtime: Handle,
    threshold: f32,
    depth: Option<usize>,
    standing: AtomicU64,
    rejected: AtomicU64,
    troubles: Mutex<Troubles>,
}

/// What went otherwise than it should.
#[derive(Debug, Default)]
struct Troubles {
    /// Tables that could not be judged.
    failed: u64,
    /// Why the first of them could not.
    first: Option<ModelError>,
    /// Whether the model gave a word without probabilities.
    by_word: bool,
}

impl Troubles {
    fn add(&mut self, other: &Troubles) {
        self.failed += other.failed;
        self.by_word |= other.by_word;
        if self.first.is_none() {
            self.first.clone_from(&other.first);
        }
    }

    /// What there is to know, and what the model said where it failed first.
    fn notes(&self, model: &ModelId) -> (Vec<String>, Option<String>) {
        let mut notes = Vec::new();
        if self.by_word {
            notes.push(format!(
                "{model} gives no probabilities: tables are judged by its word, without calibration"
            ));
        }
        if self.failed > 0 {
            let tables = match self.failed {
                1 => "1 table, which keeps its place".to_owned(),
                failed => format!("{failed} tables, which keep their places"),
            };
            notes.push(format!(
                "the judge failed on {tables} unjudged; a search without a judge does not need it"
            ));
        }
        let failure = self.first.as_ref();
        (notes, failure.map(|error| format!("the judge: {error}")))
    }
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge")
            .field("model", self.model.id())
            .field("threshold", &self.threshold)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

/// What became of the candidates of one search.
pub(crate) struct Walked {
    pub(crate) verdicts: Vec<Option<Verdict>>,
    pub(crate) notes: Vec<String>,
    pub(crate) failure: Option<String>,
}

/// What a judge said so far, over all searches; a table that two searches judged counts twice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Tables that stand.
    pub standing: u64,
    /// Tables rejected.
    pub rejected: u64,
    /// Tables that could not be judged.
    pub failed: u64,
}

/// What the model said of one variant of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Word {
    /// The log-odds of yes against no.
    Odds(f32),
    /// The word alone, from a model that gives no probabilities.
    Said(bool),
}

impl Word {
    fn means_yes(self, threshold: f32) -> bool {
        match self {
            Word::Odds(odds) => odds >= threshold,
            Word::Said(yes) => yes,
        }
    }
}

impl Judge {
    /// A judge that rejects tables whose log-odds are below `threshold`. The model is asked on
    /// `runtime`; searches that judge must not run on one of its asynchronous threads.
    ///
    /// `depth` is the most candidates that are judged for a question.
    pub fn new(
        model: Arc<dyn LanguageModel>,
        runtime: Handle,
        threshold: f32,
        depth: Option<usize>,
    ) -> Judge {
        Judge {
            model,
            runtime,
            threshold,
            depth,
            standing: AtomicU64::new(0),
            rejected: AtomicU64::new(0),
            troubles: Mutex::default(),
        }
    }

    /// The model that judges.
    pub fn model(&self) -> &Arc<dyn LanguageModel> {
        &self.model
    }

    /// The most candidates that are judged where `k` tables are wanted: what was given, else 2 for
    /// each and at least 10.
    pub fn depth(&self, k: usize) -> usize {
        self.depth
            .unwrap_or(k.saturating_mul(PER_TABLE).max(FEWEST))
    }

    /// What has been said so far.
    pub fn tally(&self) -> Tally {
        Tally {
            standing: self.standing.load(Ordering::Relaxed),
            rejected: self.rejected.load(Ordering::Relaxed),
            failed: self.troubles().failed,
        }
    }

    /// What went otherwise than it should, over all searches, as notes: that the model gives no
    /// probabilities, on how many tables it failed. And what it said the first time that it failed.
    pub fn notes(&self) -> (Vec<String>, Option<String>) {
        self.troubles().notes(self.model.id())
    }

    fn troubles(&self) -> MutexGuard<'_, Troubles> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The model's answers on a table, both variants; `None` for one that the table has no text of.
    ///
    /// # Errors
    /// The model's.
    pub async fn read(
        &self,
        question: &str,
        table: &TableText,
    ) -> Result<[Option<Word>; 2], ModelError> {
        let prompts = Prompts::new(self.model.as_ref(), question);
        futures::try_join!(
            self.word(&prompts, table, Variant::Content),
            self.word(&prompts, table, Variant::Context)
        )
        .map(|(content, context)| [content, context])
    }

    async fn word(
        &self,
        prompts: &Prompts,
        table: &TableText,
        variant: Variant,
    ) -> Result<Option<Word>, ModelError> {
        let Some(prompt) = prompts.of(self.model.as_ref(), table, variant) else {
            return Ok(None);
        };
        let classified = self.model.classify(&prompt, &WORDS).await?;
        let word = match classified.log_probabilities.as_deref() {
            Some(&[yes, no]) => {
                let odds = yes - no;
                if odds.is_nan() {
                    return Err(ModelError::NoChoice {
                        model: self.model.id().to_string(),
                        answer: "something else with certainty".to_owned(),
                        words: WORDS.join(", "),
                    });
                }
                Word::Odds(odds.clamp(-MOST_ODDS, MOST_ODDS))
            }
            _ => Word::Said(classified.choice == 0),
        };
        Ok(Some(word))
    }

    /// Whether the table stands. The context is read only where the content does not decide.
    async fn verdict(
        &self,
        prompts: &Prompts,
        table: &TableText,
        troubles: &RefCell<Troubles>,
    ) -> Verdict {
        let mut failure = None;
        let mut read = false;
        for variant in [Variant::Content, Variant::Context] {
            let word = self.word(prompts, table, variant).await;
            read |= !matches!(word, Ok(None));
            if let Ok(Some(Word::Said(_))) = word {
                troubles.borrow_mut().by_word = true;
            }
            match word {
                Ok(Some(word)) if word.means_yes(self.threshold) => {
                    self.standing.fetch_add(1, Ordering::Relaxed);
                    return Verdict::Stands;
                }
                Ok(_) => {}
                Err(error) => failure = Some(error),
            }
        }
        // Nothing speaks against a table without a text.
        if !read {
            return Verdict::Unknown;
        }
        let Some(error) = failure else {
            self.rejected.fetch_add(1, Ordering::Relaxed);
            return Verdict::Rejected;
        };
        tracing::warn!(%error, "a table could not be judged");
        let mut troubles = troubles.borrow_mut();
        troubles.failed += 1;
        troubles.first.get_or_insert(error);
        Verdict::Unknown
    }

    /// Judges candidates in rank order until `k` are kept; `None` for those that were not judged.
    /// Texts that `known` holds a verdict on are not asked about again. Also gives notes for this
    /// search, and what the model said if it failed.
    ///
    /// Blocks the calling thread while the model answers.
    ///
    /// # Errors
    /// Those of `text`; never for a failure of the model. What was judged by then is `known`.
    pub(crate) fn walk(
        &self,
        question: &str,
        tables: &[u32],
        k: usize,
        known: &mut Verdicts,
        text: impl Fn(u32) -> Result<TableText, RetrievalError>,
    ) -> Result<Walked, RetrievalError> {
        let prompts = Prompts::new(self.model.as_ref(), question);
        let troubles = RefCell::new(Troubles::default());
        let before = &*known;
        let read = RefCell::new(Vec::new());
        let judge = |at: usize| {
            let (prompts, text, troubles, read) = (&prompts, &text, &troubles, &read);
            async move {
                let table = text(tables[at])?;
                let hash = TextHash::of(&table);
                if let Some(verdict) = before.get(hash) {
                    return Ok::<Verdict, RetrievalError>(verdict);
                }
                let verdict = self.verdict(prompts, &table, troubles).await;
                read.borrow_mut().push((hash, verdict));
                Ok(verdict)
            }
        };
        let walked = self.runtime.block_on(walk(tables.len(), k, judge));
        known.extend(read.into_inner());
        let troubles = troubles.into_inner();
        self.troubles().add(&troubles);
        let (notes, failure) = troubles.notes(self.model.id());
        Ok(Walked {
            verdicts: walked?,
            notes,
            failure,
        })
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}
