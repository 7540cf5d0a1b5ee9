//! What callers hand in, and what they get.

use tokio::sync::oneshot;

use crate::decoder::tokens::PromptTokens;
use crate::{Finish, Limits, ModelError};

/// What is asked of a sequence.
pub(in crate::decoder) enum Request {
    Generate(Limits),
    /// Log-probabilities of these tokens.
    Classify(Vec<u32>),
}

/// The answer to a request.
#[derive(Debug)]
pub(in crate::decoder) enum Answer {
    Generated {
        text: String,
        finish: Finish,
        tokens: usize,
    },
    LogProbabilities(Vec<f32>),
}

pub(in crate::decoder) struct Job {
    pub prompt: PromptTokens,
    pub request: Request,
    pub sender: oneshot::Sender<Result<Answer, ModelError>>,
}
