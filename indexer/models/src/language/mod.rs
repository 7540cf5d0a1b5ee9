//! What a language model is to limn: it writes a short text, or chooses one of a few words.
//!
//! The trait is asynchronous because everything behind it batches: the embedded engine fills one
//! forward pass with the prompts of all callers, an endpoint answers many requests at once. So a
//! caller hands over one prompt and waits; it keeps [`LanguageModel::concurrency`] prompts under
//! way and has nothing else to know of batches.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::{ModelError, ModelId};

mod quote;

pub use quote::{quote, quote_tokens};

/// How the embedded engine computes, as the ids of its answers say: 8-bit integers with one scale
/// for each 128 numbers (decision 7).
pub const DECODER_ARITHMETIC: &str = "q8g128";

/// A prompt in three parts, in the order in which a model reads them.
///
/// Prompts whose `system` and `shared` are equal are computed together as far as they are equal:
/// all columns of a table share its schema, all candidates of a question share the question. The
/// parts are text, never instructions to the machinery: a token that ends a turn cannot be written
/// in them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prompt {
    /// The instructions.
    pub system: Arc<str>,
    /// The beginning of the request, which other prompts have too; may be empty.
    pub shared: Arc<str>,
    /// The rest of the request.
    pub own: String,
}

/// When an answer ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most tokens of an answer; at least 1.
    pub max_tokens: usize,
    /// The answer ends before the first of these texts; they are not part of it.
    pub stop: Vec<String>,
}

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model ended it, or a stop text came.
    Stopped,
    /// [`Limits::max_tokens`] were written.
    Length,
}

/// What a model wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The answer, without what ended it.
    pub text: String,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of the prompt, those shared with other prompts included.
    pub prompt_tokens: usize,
    /// Tokens of the answer.
    pub generated_tokens: usize,
}

/// Which of a few words a model would begin its answer with.
#[derive(Clone, Debug, PartialEq)]
pub struct Classified {
    /// The place of the likeliest word in the words that were given.
    pub choice: usize,
    /// The log-probability of each word as the beginning of the answer (at most 0, natural
    /// logarithm), its spellings with a capital and after a space included. `None` from a model
    /// that gives no probabilities: then `choice` is the word it wrote, and nothing can be
    /// calibrated.
    pub log_probabilities: Option<Vec<f32>>,
    /// Tokens of the prompt, those shared with other prompts included.
    pub prompt_tokens: usize,
}

/// What a model has done since it was loaded, over all callers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Prompts answered.
    pub prompts: u64,
    /// Tokens of their prompts, as a bill counts them.
    pub prompt_tokens: u64,
    /// Prompt tokens that were really computed: a shared beginning once. What an endpoint computes
    /// is its own affair; there this is what it reports as not cached.
    pub computed_prompt_tokens: u64,
    /// Tokens written.
    pub generated_tokens: u64,
    /// Requests that were sent again after a failure that passes, or batches after one that did not
    /// fit in memory.
    pub retries: u64,
    /// Time during which at least one prompt was being computed or waited for.
    pub busy: Duration,
    /// What the tokens cost, where prices are known, in the currency of the prices.
    pub cost: Option<f64>,
}

/// Writes short texts and chooses among words, greedily: the likeliest token each time.
#[async_trait]
pub trait LanguageModel: Send + Sync {
    /// Which function this is: an answer may be stored under it and used again.
    fn id(&self) -> &ModelId;

    /// How many tokens a text has, as a part of a prompt; an estimate where the tokenizer is not
    /// here.
    fn count_tokens(&self, text: &str) -> usize;

    /// How many tokens a prompt has with what the model's format puts around it: those that an
    /// answer will say, or an estimate where the tokenizer is not here.
    fn count_prompt(&self, prompt: &Prompt) -> usize {
        let parts = [&*prompt.system, &*prompt.shared, &prompt.own];
        parts.map(|part| self.count_tokens(part)).iter().sum()
    }

    /// The most tokens that a prompt, what the model's format puts around it, and the answer may
    /// have together.
    fn window(&self) -> usize;

    /// How many prompts should be under way to keep the model busy.
    fn concurrency(&self) -> usize;

    /// Writes an answer.
    ///
    /// The answer depends on the prompt and the limits alone, not on what else is under way, where
    /// the implementation computes it itself. Dropping the future gives the prompt up.
    ///
    /// # Errors
    /// [`ModelError::TooLong`] for a prompt that the window has no room for, and any other
    /// [`ModelError`]; it concerns this prompt alone.
    async fn generate(&self, prompt: &Prompt, limits: &Limits) -> Result<Generated, ModelError>;

    /// Which of the words (at least two; lower case, no spaces) the answer would begin with.
    ///
    /// # Errors
    /// As [`generate`](Self::generate), and [`ModelError::NoChoice`] where an answer that gives no
    /// probabilities begins with none of the words.
    async fn classify(&self, prompt: &Prompt, words: &[&str]) -> Result<Classified, ModelError>;

    /// What has been done so far.
    fn usage(&self) -> Usage;
}
