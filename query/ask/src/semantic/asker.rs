//! Asks the model: questions that are not answered yet, many at once, within a budget.
//!
//! Equal questions are asked once. An answer is remembered as it comes, so that a run that ends
//! early (an error, a budget, a future that is dropped) loses none: [`Asker::keep`] hands them to
//! the keeper, once per stage.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use limn_models::{Embedder, Finish, LanguageModel, Limits, ModelError};
use tokio::time::{Instant, timeout_at};

use super::error::{KeptError, SemanticError};
use super::kept::{Answer, Answers, KeptAnswers, Key, Scope};
use super::question::{Form, Question};

/// Questions whose texts are in memory at a time.
const CHUNK: usize = 2048;
/// Failures in a row after which a model is not asked on, where it has no more under way.
const FAILURES: usize = 16;
/// Tokens that an estimate counts, however small the budget is.
const COUNTED: u64 = 100_000;
/// Words of texts that are made up for a chunk of questions: where many are asked, how long each
/// answer is changes nothing.
const WORDS: usize = 8_192;
/// Texts that are embedded at a time, between which a run can be given up.
const EMBEDDED: usize = 256;

/// What a run may spend; what is not said is not bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Tokens of prompts and answers.
    pub tokens: Option<u64>,
    /// Time since the asker was made.
    pub time: Option<Duration>,
}

/// What a run has spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Questions that the model was asked.
    pub calls: u64,
    /// Answers that were kept from before.
    pub kept: u64,
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the answers.
    pub generated_tokens: u64,
    /// Questions that the model failed on.
    pub failed: u64,
}

/// A language model, and what is known of its answers.
pub struct Asker {
    model: Arc<dyn LanguageModel>,
    embedder: Option<Arc<dyn Embedder>>,
    kept: Arc<dyn KeptAnswers>,
    budget: Budget,
    began: Instant,
    seed: u64,
    estimates: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spent: Spent,
    /// Answers that the keeper does not have yet.
    new: HashMap<Scope, HashMap<Key, Answer>>,
    in_a_row: usize,
    first_failure: Option<ModelError>,
    notes: Vec<String>,
}

impl Asker {
    /// A model whose answers are kept.
    #[must_use]
    pub fn new(model: Arc<dyn LanguageModel>, kept: Arc<dyn KeptAnswers>) -> Asker {
        Asker {
            model,
            embedder: None,
            kept,
            budget: Budget::default(),
            began: Instant::now(),
            seed: 0,
            estimates: false,
            state: Mutex::default(),
        }
    }

    /// With what may be spent; the time counts from now on.
    #[must_use]
    pub fn with_budget(mut self, budget: Budget) -> Asker {
        self.budget = budget;
        self.began = Instant::now();
        self
    }

    /// With an embedder, for candidates of joins and for cascades.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Arc<dyn Embedder>) -> Asker {
        self.embedder = Some(embedder);
        self
    }

    /// With another seed of pivots and samples; it is 0 unless said.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Asker {
        self.seed = seed;
        self
    }

    /// What has been spent so far.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.state().spent
    }

    /// Hands the answers that are new to where they are kept. [`run`](super::run) does so at its
    /// end; call it where a run was dropped.
    ///
    /// # Errors
    /// The keeper's; the answers stay new then.
    pub async fn keep(&self) -> Result<(), KeptError> {
        let new = std::mem::take(&mut self.state().new);
        let mut scopes: Vec<(Scope, HashMap<Key, Answer>)> = new.into_iter().collect();
        scopes.sort_by_key(|(scope, _)| *scope);
        let mut failure = None;
        for (scope, answers) in scopes {
            let mut sorted: Vec<(Key, Answer)> = answers.clone().into_iter().collect();
            sorted.sort_by_key(|(key, _)| *key);
            if let Err(error) = self.kept.put_many(scope, sorted).await {
                self.state().new.entry(scope).or_default().extend(answers);
                failure = Some(error);
            }
        }
        failure.map_or(Ok(()), Err)
    }

    pub(super) fn model(&self) -> &dyn LanguageModel {
        self.model.as_ref()
    }

    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    /// The same, asking no model: answers that are not kept are made up, and counted as asked.
    pub(super) fn estimating(&self) -> Asker {
        Asker {
            model: Arc::clone(&self.model),
            embedder: self.embedder.clone(),
            kept: Arc::clone(&self.kept),
            // Its caller bounds its time. Beyond the budget it counts on for a while, so
            // that it can say what is needed.
            budget: Budget {
                tokens: self
                    .budget
                    .tokens
                    .map(|it| it.saturating_mul(4).max(COUNTED)),
                time: None,
            },
            began: Instant::now(),
            seed: self.seed,
            estimates: true,
            state: Mutex::default(),
        }
    }

    /// What a person should know, once.
    pub(super) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.state().notes)
    }

    /// The answers to `count` questions, in order; `None` where the model failed. `own` writes the
    /// part of a prompt that is not the question's.
    ///
    /// # Errors
    /// The budget is spent, or the model fails every time.
    pub(super) async fn ask<F>(
        &self,
        question: &Question,
        count: usize,
        own: F,
    ) -> Result<Vec<Option<Answer>>, SemanticError>
    where
        F: Fn(usize) -> String + Send + Sync,
    {
        let mut answers = Vec::with_capacity(count);
        for start in (0..count).step_by(CHUNK) {
            let chunk = start..count.min(start + CHUNK);
            answers.extend(self.ask_chunk(question, chunk, &own).await?);
            if self.estimates {
                if let Some(error) = self.exhausted() {
                    return Err(error);
                }
                // Nothing else here waits: a caller that gives the run up is heard.
                tokio::task::yield_now().await;
            }
        }
        Ok(answers)
    }

    async fn ask_chunk<F>(
        &self,
        question: &Question,
        chunk: Range<usize>,
        own: &F,
    ) -> Result<Vec<Option<Answer>>, SemanticError>
    where
        F: Fn(usize) -> String + Send + Sync,
    {
        let texts: Vec<String> = chunk.map(own).collect();
        let keys: Vec<Key> = texts.iter().map(|own| question.key(own)).collect();
        let mut known = self.known(question.scope(), &keys).await;
        let mut wanted: HashMap<Key, usize> = HashMap::new();
        let mut missing = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            if !known.contains_key(key) && wanted.insert(*key, at).is_none() {
                missing.push(at);
            }
        }
        if self.estimates {
            for at in missing {
                known.insert(
                    keys[at],
                    self.made_up(question, keys[at], &texts[at], keys.len()),
                );
            }
        } else {
            let place = |at: usize| (keys[at], texts[at].as_str());
            let questions = missing.into_iter().map(place);
            known.extend(self.ask_missing(question, questions).await?);
        }
        Ok(keys.iter().map(|key| known.get(key).cloned()).collect())
    }

    /// What is known without the model.
    async fn known(&self, scope: Scope, keys: &[Key]) -> Answers {
        let mut known = match self.kept.get_many(scope, keys).await {
            Ok(known) => known,
            Err(error) => {
                tracing::warn!(%error, "kept answers cannot be read");
                let note = "kept answers could not be read, and were asked again".to_owned();
                let notes = &mut self.state().notes;
                if !notes.contains(&note) {
                    notes.push(note);
                }
                Answers::new()
            }
        };
        let mut state = self.state();
        state.spent.kept += known.len() as u64;
        if let Some(new) = state.new.get(&scope) {
            for key in keys {
                if let Some(answer) = new.get(key) {
                    known.insert(*key, answer.clone());
                }
            }
        }
        known
    }

    /// Keeps as many questions under way as the model likes.
    async fn ask_missing<'a>(
        &'a self,
        question: &'a Question,
        mut questions: impl Iterator<Item = (Key, &'a str)> + Send,
    ) -> Result<Answers, SemanticError> {
        let concurrency = self.model.concurrency().max(1);
        let mut answers = Answers::new();
        let mut under_way = FuturesUnordered::new();
        let mut end = None;
        loop {
            while end.is_none() && under_way.len() < concurrency {
                let Some((key, own)) = questions.next() else {
                    break;
                };
                match self.exhausted() {
                    Some(error) => end = Some(error),
                    None => under_way.push(self.ask_one(question, key, own)),
                }
            }
            let next = under_way.next();
            let answer = match self.deadline() {
                None => next.await,
                Some(deadline) => match timeout_at(deadline, next).await {
                    Ok(answer) => answer,
                    Err(_) => return Err(self.time_spent()),
                },
            };
            let Some((key, answer)) = answer else { break };
            if let Some(answer) = answer {
                answers.insert(key, answer);
            }
            if let Some(error) = self.failing(concurrency) {
                return Err(error);
            }
        }
        end.map_or(Ok(answers), Err)
    }

    async fn ask_one(&self, question: &Question, key: Key, own: &str) -> (Key, Option<Answer>) {
        let asked = self.answer(question, own).await;
        let mut state = self.state();
        state.spent.calls += 1;
        match asked {
            Ok((answer, prompt_tokens, generated_tokens)) => {
                state.spent.prompt_tokens += prompt_tokens as u64;
                state.spent.generated_tokens += generated_tokens as u64;
                state.in_a_row = 0;
                let scope = question.scope();
                state
                    .new
                    .entry(scope)
                    .or_default()
                    .insert(key, answer.clone());
                (key, Some(answer))
            }
            Err(error) => {
                match &error {
                    // What it answered is of a row.
                    ModelError::NoChoice { .. } => {
                        tracing::warn!("a model chose none of the words");
                    }
                    error => tracing::warn!(%error, "a question about rows has no answer"),
                }
                state.spent.failed += 1;
                // These concern one prompt, and say nothing of the next.
                if !matches!(
                    error,
                    ModelError::TooLong { .. } | ModelError::NoChoice { .. }
                ) {
                    state.in_a_row += 1;
                    state.first_failure.get_or_insert(error);
                }
                (key, None)
            }
        }
    }

    async fn answer(
        &self,
        question: &Question,
        own: &str,
    ) -> Result<(Answer, usize, usize), ModelError> {
        let prompt = question.prompt(own);
        match question.form() {
            Form::Choose(words) => {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let chosen = self.model.classify(&prompt, &words).await?;
                let logs = chosen.log_probabilities;
                if logs.as_ref().is_some_and(|it| !says_something(it)) {
                    return Err(ModelError::NoChoice {
                        model: self.model.id().to_string(),
                        answer: "something else with certainty".to_owned(),
                        words: words.join(", "),
                    });
                }
                let bits = |logs: Vec<f32>| logs.into_iter().map(f32::to_bits).collect();
                let answer = Answer::Chosen {
                    word: chosen.choice,
                    log_probabilities: logs.map(bits),
                };
                Ok((answer, chosen.prompt_tokens, 1))
            }
            Form::Write {
                max_tokens, stop, ..
            } => {
                let limits = Limits {
                    max_tokens: *max_tokens,
                    stop: stop.clone(),
                };
                let written = self.model.generate(&prompt, &limits).await?;
                let answer = Answer::Written {
                    text: written.text,
                    is_whole: written.finish == Finish::Stopped,
                };
                Ok((answer, written.prompt_tokens, written.generated_tokens))
            }
        }
    }

    /// An answer of the right form that nobody gave: words by chance, texts as long as they are as
    /// a rule.
    fn made_up(&self, question: &Question, key: Key, own: &str, of: usize) -> Answer {
        let mut state = self.state();
        state.spent.calls += 1;
        state.spent.prompt_tokens += question.tokens(self.model(), own) as u64;
        match question.form() {
            Form::Choose(words) => {
                state.spent.generated_tokens += 1;
                Answer::Chosen {
                    word: (key.0 % words.len().max(1) as u128) as usize,
                    log_probabilities: None,
                }
            }
            Form::Write { likely, .. } => {
                state.spent.generated_tokens += *likely as u64;
                Answer::Written {
                    text: "word ".repeat((*likely).min(WORDS / of.max(1)).max(1)),
                    is_whole: true,
                }
            }
        }
    }

    /// The unit vectors of texts, in order. Between batches the run can be
    /// given up.
    ///
    /// # Errors
    /// There is no embedder, or it fails.
    pub(super) async fn embed(
        &self,
        what: &'static str,
        texts: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, SemanticError> {
        let embedder = self.embedder.as_ref();
        let embedder = embedder.ok_or(SemanticError::NoEmbedder(what))?;
        let mut vectors = Vec::with_capacity(texts.len());
        let mut texts = texts.into_iter();
        loop {
            let batch: Vec<String> = texts.by_ref().take(EMBEDDED).collect();
            if batch.is_empty() {
                return Ok(vectors);
            }
            if let Some(error) = self.exhausted() {
                return Err(error);
            }
            let embedder = Arc::clone(embedder);
            let embed = move || {
                let texts: Vec<&str> = batch.iter().map(String::as_str).collect();
                embedder.embed(&texts)
            };
            let embedded = tokio::task::spawn_blocking(embed).await;
            let embedded = embedded.map_err(|_| SemanticError::EmbedderDied)?;
            vectors.extend(embedded.map_err(SemanticError::Embedder)?);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deadline(&self) -> Option<Instant> {
        self.budget
            .time
            .and_then(|time| self.began.checked_add(time))
    }

    fn time_spent(&self) -> SemanticError {
        SemanticError::TimeSpent(self.budget.time.unwrap_or_default())
    }

    /// Why nothing more may be asked.
    fn exhausted(&self) -> Option<SemanticError> {
        let spent = self.spent();
        let tokens = spent.prompt_tokens + spent.generated_tokens;
        match self.budget.tokens {
            Some(most) if tokens >= most => Some(SemanticError::TokensSpent(most)),
            _ if self.deadline().is_some_and(|it| Instant::now() >= it) => Some(self.time_spent()),
            _ => None,
        }
    }

    /// The model failed so often in a row that it is not asked on.
    fn failing(&self, concurrency: usize) -> Option<SemanticError> {
        let state = self.state();
        if state.in_a_row < FAILURES.max(concurrency) {
            return None;
        }
        Some(SemanticError::ModelFailed {
            model: self.model.id().to_string(),
            failures: state.in_a_row,
            cause: state.first_failure.clone()?,
        })
    }
}

/// Whether log-probabilities favour any word.
fn says_something(logs: &[f32]) -> bool {
    let most = logs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    most.is_finite() && !logs.iter().any(|it| it.is_nan())
}
