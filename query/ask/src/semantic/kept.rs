//! Answers of a model, kept by what was asked, so that nothing is asked twice.
//!
//! A question is known by two hashes: the [`Scope`], of all that a stage's prompts have in common
//! (the model's id, the prompts' version, the instructions, the form of the answer), and the
//! [`Key`], of the rest of the prompt. Failures are not kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use limn_segment::{AnswerFile, IndexStore};
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

/// Bytes of the files of answers that are held, about.
const MOST_HELD: usize = 64 << 20;

/// Files of an index's answers that were read, by their names, so that a process that answers many
/// requests reads each once.
#[derive(Clone, Debug, Default)]
pub struct AnswerFiles(Arc<Mutex<HeldFiles>>);

#[derive(Debug, Default)]
struct HeldFiles {
    files: HashMap<String, Arc<limn_segment::Answers>>,
    bytes: usize,
}

impl AnswerFiles {
    fn get(&self, path: &str) -> Option<Arc<limn_segment::Answers>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.files.get(path).map(Arc::clone)
    }

    /// Holds files; where there is no room for them, those of before are let go.
    fn hold(&self, files: &[AnswerFile]) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for file in files {
            let bytes = file.bytes();
            if held.files.contains_key(&file.path) || bytes > MOST_HELD {
                continue;
            }
            if held.bytes + bytes > MOST_HELD {
                *held = HeldFiles::default();
            }
            held.bytes += bytes;
            let answers = Arc::clone(&file.answers);
            held.files.insert(file.path.clone(), answers);
        }
    }
}

/// Answers in an index, under `cache/answers`. Each scope is looked up once, each file read once.
pub struct AnswersInIndex {
    index: IndexStore,
    writes: bool,
    files: AnswerFiles,
    read: Mutex<HashMap<Scope, Read>>,
}

/// What a scope has: the first answer to a question counts.
#[derive(Clone, Default)]
struct Read {
    files: Arc<[AnswerFile]>,
    new: HashMap<u128, Vec<u8>>,
}

impl Read {
    fn get(&self, key: &Key) -> Option<&Vec<u8>> {
        let mut files = self.files.iter();
        let kept = files.find_map(|it| it.answers.get(&key.0));
        kept.or_else(|| self.new.get(&key.0))
    }

    /// The answers to these questions. What cannot be understood is of another version: it is asked
    /// again.
    fn answers(&self, keys: &[Key]) -> Answers {
        let found = keys.iter().filter_map(|key| {
            let answer = serde_json::from_slice(self.get(key)?).ok()?;
            Some((*key, answer))
        });
        found.collect()
    }
}

impl AnswersInIndex {
    /// The answers of an index; new ones are written to it if it `writes`.
    #[must_use]
    pub fn new(index: IndexStore, writes: bool) -> AnswersInIndex {
        AnswersInIndex {
            index,
            writes,
            files: AnswerFiles::default(),
            read: Mutex::default(),
        }
    }

    /// It, with files that others of the process have read.
    #[must_use]
    pub fn with_files(self, files: AnswerFiles) -> AnswersInIndex {
        AnswersInIndex { files, ..self }
    }

    fn scopes(&self) -> MutexGuard<'_, HashMap<Scope, Read>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl KeptAnswers for AnswersInIndex {
    async fn get_many(&self, scope: Scope, keys: &[Key]) -> Result<Answers, KeptError> {
        if let Some(read) = self.scopes().get(&scope) {
            return Ok(read.answers(keys));
        }
        let known = |path: &str| self.files.get(path);
        let files = self.index.kept_answers(scope.0, &known).await?;
        self.files.hold(&files);
        let mut scopes = self.scopes();
        let read = scopes.entry(scope).or_insert_with(|| Read {
            files: files.into(),
            new: HashMap::new(),
        });
        Ok(read.answers(keys))
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
        if let Some(read) = self.scopes().get_mut(&scope) {
            for (key, answer) in written {
                read.new.entry(key).or_insert(answer);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn written(text: &str) -> Answer {
        Answer::Written {
            text: text.to_owned(),
            is_whole: true,
        }
    }

    #[tokio::test]
    async fn a_file_of_the_index_is_read_once_by_a_process() {
        let store = limn_store::Store::in_memory();
        let index = IndexStore::new(store.clone());
        let (scope, keys) = (Scope(1), [Key(7), Key(8)]);
        let writer = AnswersInIndex::new(index.clone(), true);
        let keep = async |key: Key, text: &str| {
            let new = vec![(key, written(text))];
            writer.put_many(scope, new).await.unwrap();
        };
        keep(keys[0], "first").await;
        let files = AnswerFiles::default();
        let request = async || {
            let before = store.counts().get;
            let answers = AnswersInIndex::new(index.clone(), false).with_files(files.clone());
            let found = answers.get_many(scope, &keys).await.unwrap();
            (found, store.counts().get - before)
        };
        let first = Answers::from([(keys[0], written("first"))]);
        assert_eq!(request().await, (first.clone(), 1));
        assert_eq!(request().await, (first, 0));
        // A new file is read alone.
        keep(keys[1], "second").await;
        let (both, reads) = request().await;
        assert_eq!((both.len(), reads), (2, 1));
    }
}
