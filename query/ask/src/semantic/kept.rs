//! Answers of a model, kept by what was asked, so that nothing is asked twice.
//!
//! A question is known by two hashes: the [`Scope`], of all that a stage's prompts have in common
//! (the model's id, the prompts' version, the instructions, the form of the answer), and the
//! [`Key`], of the rest of the prompt. Failures are not kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use limn_segment::IndexStore;
use serde::{Deserialize, Serialize};

use super::error::KeptError;

/// What a stage's questions have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(pub u128);

/// One question of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub u128);

/// Answers by their questions.
pub type Answers = HashMap<Key, Answer>;

/// What a model answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Answer {
    /// One of the words that it was given.
    #[serde(rename = "c")]
    Chosen {
        /// The place of the word.
        #[serde(rename = "w")]
        word: usize,
        /// The bits of each word's log-probability (32-bit floats); none from a model that gives no
        /// probabilities.
        #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
        log_probabilities: Option<Vec<u32>>,
    },
    /// A text.
    #[serde(rename = "t")]
    Written {
        /// The text.
        #[serde(rename = "t")]
        text: String,
        /// Whether the model came to its end.
        #[serde(rename = "e")]
        is_whole: bool,
    },
}

impl Answer {
    /// The word's place and how probable it is among the words, where the model says so.
    #[must_use]
    pub fn chosen(&self) -> Option<(usize, Option<f32>)> {
        let Answer::Chosen { word, .. } = self else {
            return None;
        };
        Some((*word, self.probability(*word)))
    }

    /// The log-odds of the first of two words, where the model gives probabilities.
    #[must_use]
    pub fn odds(&self) -> Option<f32> {
        match self {
            Answer::Chosen {
                log_probabilities: Some(bits),
                ..
            } if bits.len() == 2 => Some(f32::from_bits(bits[0]) - f32::from_bits(bits[1])),
            _ => None,
        }
    }

    /// How probable a word is, the given words together being certain.
    #[must_use]
    pub fn probability(&self, word: usize) -> Option<f32> {
        let Answer::Chosen {
            log_probabilities: Some(bits),
            ..
        } = self
        else {
            return None;
        };
        let logs: Vec<f64> = bits
            .iter()
            .map(|it| f64::from(f32::from_bits(*it)))
            .collect();
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !most.is_finite() {
            return None;
        }
        let sum: f64 = logs.iter().map(|it| (it - most).exp()).sum();
        logs.get(word).map(|it| ((it - most).exp() / sum) as f32)
    }
}

/// Where answers are kept.
#[async_trait]
pub trait KeptAnswers: Send + Sync {
    /// The answers to these questions, as far as they are kept.
    ///
    /// # Errors
    /// The store's.
    async fn get_many(&self, scope: Scope, keys: &[Key]) -> Result<Answers, KeptError>;

    /// Keeps answers: all new ones of a stage at once.
    ///
    /// # Errors
    /// The store's.
    async fn put_many(&self, scope: Scope, answers: Vec<(Key, Answer)>) -> Result<(), KeptError>;
}

/// Answers in memory, for as long as the process.
#[derive(Debug, Default)]
pub struct AnswersInMemory(Mutex<HashMap<(Scope, Key), Answer>>);

#[async_trait]
impl KeptAnswers for AnswersInMemory {
    async fn get_many(&self, scope: Scope, keys: &[Key]) -> Result<Answers, KeptError> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = keys.iter().filter_map(|key| {
            let answer = all.get(&(scope, *key))?;
            Some((*key, answer.clone()))
        });
        Ok(found.collect())
    }

    async fn put_many(&self, scope: Scope, answers: Vec<(Key, Answer)>) -> Result<(), KeptError> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, answer) in answers {
            all.entry((scope, key)).or_insert(answer);
        }
        Ok(())
    }
}

/// Answers in an index, under `cache/answers`. Each scope is read once.
pub struct AnswersInIndex {
    index: IndexStore,
    writes: bool,
    read: Mutex<HashMap<Scope, Arc<limn_segment::Answers>>>,
}

impl AnswersInIndex {
    /// The answers of an index; new ones are written to it if it `writes`.
    #[must_use]
    pub fn new(index: IndexStore, writes: bool) -> AnswersInIndex {
        AnswersInIndex {
            index,
            writes,
            read: Mutex::default(),
        }
    }

    fn read(&self, scope: Scope) -> Option<Arc<limn_segment::Answers>> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.get(&scope).map(Arc::clone)
    }
}

#[async_trait]
impl KeptAnswers for AnswersInIndex {
    async fn get_many(&self, scope: Scope, keys: &[Key]) -> Result<Answers, KeptError> {
        let answers = match self.read(scope) {
            Some(answers) => answers,
            None => {
                let answers = Arc::new(self.index.kept_answers(scope.0).await?);
                let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
                Arc::clone(read.entry(scope).or_insert(answers))
            }
        };
        // What cannot be understood is of another version: it is asked again.
        let found = keys.iter().filter_map(|key| {
            let answer = serde_json::from_slice(answers.get(&key.0)?).ok()?;
            Some((*key, answer))
        });
        Ok(found.collect())
    }

    async fn put_many(&self, scope: Scope, answers: Vec<(Key, Answer)>) -> Result<(), KeptError> {
        let written = answers.into_iter().filter_map(|(key, answer)| {
            let answer = serde_json::to_vec(&answer).ok()?;
            Some((key.0, answer))
        });
        let written: Vec<(u128, Vec<u8>)> = written.collect();
        if self.writes {
            self.index.keep_answers(scope.0, &written).await?;
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get_mut(&scope) {
            let known = Arc::make_mut(known);
            for (key, answer) in written {
                known.entry(key).or_insert(answer);
            }
        }
        Ok(())
    }
}
