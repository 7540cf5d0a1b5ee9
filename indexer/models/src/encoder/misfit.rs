//! Why a file of an encoder is of no use: what it says, and what was expected of it.

use std::path::Path;

use super::config::KNOWN;
use crate::ModelError;

/// What does not fit in a file of JSON: a configuration, a tokenizer, or what sentence-transformers
/// keeps beside them. The file's name is added by [`Misfit::of`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum Misfit {
    /// It is no JSON, or other JSON than is expected.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Something is not there.
    #[error("it has no {0}")]
    Missing(String),
    /// A value that limn does not compute with.
    #[error("its {name} is '{found}'; expected {expected}")]
    Unknown {
        /// What the value is called.
        name: &'static str,
        /// The value.
        found: String,
        /// Those that are known.
        expected: &'static str,
    },
    /// A number out of its range.
    #[error("{name} is {found}; expected {expected}")]
    Range {
        /// What the number is called.
        name: &'static str,
        /// The number.
        found: usize,
        /// Its range.
        expected: String,
    },
    /// Another kind of network.
    #[error(
        "its model_type '{0}' is a decoder, which writes text; expected an encoder: one of {KNOWN}"
    )]
    Decoder(String),
    /// Weights that were rounded before.
    #[error(
        "its weights are quantised; expected weights in F32, F16 or BF16, which limn rounds itself"
    )]
    Quantised,
    /// Numbers that do not go together.
    #[error("{0}")]
    Sizes(String),
    /// A module that limn does not compute.
    #[error(
        "its module '{0}' is not computed by this limn; expected Transformer, Pooling and perhaps Normalize, in this order"
    )]
    Module(String),
    /// A module's folder is not within that of the encoder.
    #[error("its module path '{0}' leads out of the folder; expected a folder within")]
    Outside(String),
    /// Prompts are no part of the vector.
    #[error("it leaves prompts out of the mean; expected include_prompt true")]
    PromptLeftOut,
    /// What a text begins with leaves no room for the text.
    #[error(
        "its {side} prefix has {tokens} tokens, with those that are around every text; expected fewer than the window of {window}, so that a text fits behind it"
    )]
    PrefixFills {
        /// `question` or `passage`.
        side: &'static str,
        /// Tokens of an empty text with the prefix.
        tokens: usize,
        /// The most tokens that are read.
        window: usize,
    },
    /// A token's number is no row of the word matrix.
    #[error("its token '{token}' has the number {id}; expected less than vocab_size, {rows}")]
    BeyondRows {
        /// The token.
        token: String,
        /// Its number.
        id: u32,
        /// Rows of the word matrix.
        rows: usize,
    },
}

impl Misfit {
    /// The error about this file.
    pub fn of(self, path: &Path) -> ModelError {
        invalid(path, self.to_string())
    }
}

/// The error that a file does not fit.
pub(super) fn invalid(path: &Path, detail: String) -> ModelError {
    ModelError::InvalidModel {
        path: path.to_owned(),
        detail,
    }
}
