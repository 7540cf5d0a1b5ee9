//! What an embedder is: texts in, unit vectors out.
//!
//! The trait is small on purpose: everything about queues, threads and batches lives in
//! [`EmbeddingService`](crate::EmbeddingService), everything about files in
//! [`ModelStore`](crate::ModelStore). What an implementation must keep is written down as a
//! conformance suite, [`crate::conformance::embedder_violations`], that every implementation's
//! tests run.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{EncoderRecord, ModelError};

/// Names the function that turns a text into a vector, or a prompt into an answer.
///
/// Two vectors may be compared, and a cached vector or answer may be reused, exactly when their ids
/// are equal. It holds the model's name, the first eight hex digits of its weights' SHA-256 and the
/// arithmetic, such as `all-MiniLM-L6-v2@53aa5117-int8`, and changes whenever vectors (answers)
/// may.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelId(String);

impl ModelId {
    /// Wraps a name; the caller vouches that it changes whenever vectors may.
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as text, as it is stored in snapshots and caches.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Tokens of a batch on a processor.
///
/// Enough that the weights are read once for many texts, little enough that a batch is over soon
/// (about 0.2 s) and that several threads share a small job evenly.
pub(crate) const BATCH_TOKENS: usize = 2048;

/// Turns texts into vectors whose dot product says how alike they are in meaning.
///
/// Implementations compute on the calling thread (but for [`embed_together`](Self::embed_together))
/// and take as long as that takes: callers on an async runtime go through
/// [`EmbeddingService`](crate::EmbeddingService).
pub trait Embedder: Send + Sync {
    /// Which function this is; equal ids promise comparable vectors.
    fn id(&self) -> &ModelId;

    /// The length of every vector.
    fn dimensions(&self) -> usize;

    /// The most tokens of a text that are read, special tokens included; what follows is ignored.
    fn window(&self) -> usize;

    /// How many tokens the text has, special tokens included and not cut at the window: a text
    /// fits exactly when this is at most [`window`](Self::window).
    fn count_tokens(&self, text: &str) -> usize;

    /// How many pieces a word is cut into where it stands alone: one, if the vocabulary has it.
    fn pieces(&self, word: &str) -> usize {
        let nothing = self.count_tokens("");
        self.count_tokens(word).saturating_sub(nothing)
    }

    /// Tokens of a batch with which the embedder does its best.
    fn batch_tokens(&self) -> usize {
        BATCH_TOKENS
    }

    /// One vector a text, in order, each of length one.
    ///
    /// The vector of a text depends on that text alone, not on its batch: bit for bit where the
    /// implementation says so, within 1e-5 otherwise.
    ///
    /// # Errors
    /// A [`ModelError`] where the model cannot compute; then no vector of the batch is returned.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError>;

    /// As [`embed`](Self::embed), perhaps on the threads of a pool: for a short text while there is
    /// nothing else to do. Of many texts, each thread had better compute its own.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    fn embed_together(
        &self,
        texts: &[&str],
        pool: &rayon::ThreadPool,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let _ = pool;
        self.embed(texts)
    }

    /// As [`embed`](Self::embed), of texts that ask, perhaps on the threads of a pool: some models
    /// were trained to read questions otherwise than passages.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    fn embed_questions(
        &self,
        texts: &[&str],
        pool: Option<&rayon::ThreadPool>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        match pool {
            Some(pool) => self.embed_together(texts, pool),
            None => self.embed(texts),
        }
    }

    /// What an index has to remember, beside the id, to find this embedder again; `None` where the
    /// id is enough.
    fn record(&self) -> Option<&EncoderRecord> {
        None
    }

    /// The vector of one text that asks.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    fn embed_question(&self, text: &str) -> Result<Vec<f32>, ModelError> {
        only(self.id(), self.embed_questions(&[text], None)?)
    }

    /// The vector of one text.
    ///
    /// # Errors
    /// As [`embed`](Self::embed).
    fn embed_one(&self, text: &str) -> Result<Vec<f32>, ModelError> {
        only(self.id(), self.embed(&[text])?)
    }
}

fn only(id: &ModelId, mut vectors: Vec<Vec<f32>>) -> Result<Vec<f32>, ModelError> {
    vectors.pop().ok_or_else(|| ModelError::Compute {
        model: id.to_string(),
        detail: "no vector came back for a text".to_owned(),
    })
}

/// An embedder all of whose texts ask: before a service that is given questions only.
pub struct AsQuestions(pub Arc<dyn Embedder>);

impl Embedder for AsQuestions {
    fn id(&self) -> &ModelId {
        self.0.id()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn window(&self) -> usize {
        self.0.window()
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.0.count_tokens(text)
    }

    fn pieces(&self, word: &str) -> usize {
        self.0.pieces(word)
    }

    fn batch_tokens(&self) -> usize {
        self.0.batch_tokens()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        self.0.embed_questions(texts, None)
    }

    fn embed_together(
        &self,
        texts: &[&str],
        pool: &rayon::ThreadPool,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        self.0.embed_questions(texts, Some(pool))
    }
}
