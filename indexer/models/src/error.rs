//! The one error type of this crate: which model or file, what went wrong, what to do next.
//!
//! Errors are `Clone`, because one failed batch answers many waiting callers; causes from other
//! libraries are therefore kept as text.

use std::path::PathBuf;

use crate::ModelKind;

/// Why a model could not be found, fetched, loaded or run.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// No model of this name is known.
    #[error("unknown model {name}: use one of {known}")]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The model is known, but is of another kind than the one asked for.
    #[error("model {name} does not serve as {wanted}, only as {kind}: use one of {known}")]
    WrongKind {
        /// What was asked for.
        name: String,
        /// What it is.
        kind: ModelKind,
        /// What it should be.
        wanted: ModelKind,
        /// The names there are of the wanted kind.
        known: String,
    },
    /// No source could deliver the model's files.
    #[error(
        "cannot fetch model {model}: {attempts}; put its files into a folder {model} and name the folder above it in LIMN_MODELS"
    )]
    Unavailable {
        /// The model's name.
        model: String,
        /// What was tried, and how each attempt failed.
        attempts: String,
    },
    /// A model file does not hold the bytes it should.
    #[error(
        "model file {} is not the one expected (SHA-256 {found}, expected {expected}); `limn models pull NAME` fetches it anew", .path.display()
    )]
    WrongHash {
        /// The file.
        path: PathBuf,
        /// The hash that is pinned.
        expected: String,
        /// The hash that was found.
        found: String,
    },
    /// A file or folder of the model cache could not be read or written.
    #[error("cannot {action} {}: {detail}; check its permissions and free space, or name another folder in LIMN_MODELS", .path.display())]
    Cache {
        /// What was attempted: `read`, `write`, `lock`…
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's word.
        detail: String,
    },
    /// Nothing says where model files are kept.
    #[error(
        "no folder to keep models in: neither LIMN_MODELS nor HOME is set; name one in LIMN_MODELS"
    )]
    NoFolder,
    /// A model file was read, but holds no model this crate can run.
    #[error("cannot load model file {}: {detail}", .path.display())]
    InvalidModel {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        detail: String,
    },
    /// The tokenizer refused a text.
    #[error("cannot split a text into tokens for {model}: {detail}")]
    Tokenizer {
        /// The model's name.
        model: String,
        /// The tokenizer's word.
        detail: String,
    },
    /// The model failed while computing.
    #[error("model {model} failed: {detail}")]
    Compute {
        /// The model's name.
        model: String,
        /// What failed.
        detail: String,
    },
    /// The prompt and the room for its answer exceed the model's window.
    #[error(
        "a prompt of {tokens} tokens with its answer does not fit into the {window} of {model}: shorten it"
    )]
    TooLong {
        /// The model's name.
        model: String,
        /// Tokens of the prompt and the longest answer asked for.
        tokens: usize,
        /// The model's window.
        window: usize,
    },
    /// A GPU was asked for, and there is none to use.
    #[error("no GPU: {reason}; --device cpu computes without one")]
    NoGpu {
        /// Why not.
        reason: String,
    },
    /// The device has no room for the batch; a smaller one may fit.
    #[error("{device} is out of memory for {model}: {detail}")]
    OutOfMemory {
        /// The model's name.
        model: String,
        /// The device.
        device: String,
        /// What could not be had.
        detail: String,
    },
    /// An answer without probabilities begins with none of the words to choose from.
    #[error("{model} answered {answer:?}, which begins with none of {words}")]
    NoChoice {
        /// The model's name.
        model: String,
        /// The beginning of its answer.
        answer: String,
        /// The words there were.
        words: String,
    },
    /// A model endpoint could not be reached, or refused.
    #[error("endpoint {url}: {detail}")]
    Endpoint {
        /// The address, without credentials.
        url: String,
        /// What happened, and what to do.
        detail: String,
        /// Whether the same request may succeed later.
        transient: bool,
    },
    /// The model panicked on a device thread: a bug, contained to the texts of one batch.
    #[error("model {model} panicked: {detail}; this is a bug, please report it")]
    Panicked {
        /// The model's name.
        model: String,
        /// The panic message.
        detail: String,
    },
    /// The model's service was shut down before it came to the text.
    #[error("the model's service has stopped: start it again")]
    Stopped,
}

impl ModelError {
    /// Whether another prompt or text would fail in the same way now.
    pub(crate) fn is_away(&self) -> bool {
        self.is_retryable() && !matches!(self, Self::OutOfMemory { .. })
    }

    /// Whether the same call may succeed later without a person's doing.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. }
                | Self::OutOfMemory { .. }
                | Self::Endpoint {
                    transient: true,
                    ..
                }
        )
    }
}
