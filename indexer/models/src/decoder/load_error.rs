//! Why the files of a language model make no model. The caller names the files
//! ([`ModelError::InvalidModel`](crate::ModelError::InvalidModel)).

use std::io;

use thiserror::Error;

/// What does not fit in the files of a language model.
#[derive(Debug, Error)]
pub(super) enum LoadError {
    /// A file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// No threads to load with.
    #[error(transparent)]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The tokenizer's library refuses its file.
    #[error("{0}")]
    Tokenizer(tokenizers::Error),
    /// `config.json` is not what it should be.
    #[error("config.json: {0}")]
    Config(#[from] serde_json::Error),
    /// The library that reads weights refuses a file: the first line of what it says.
    #[error("{0}")]
    Weights(String),
    /// A value or tensor is missing.
    #[error("it has no {0}")]
    Missing(String),
    /// A value of another type.
    #[error("{0} holds no text")]
    NoText(String),
    /// A tensor cannot be read.
    #[error("tensor {name}: {problem}")]
    Tensor {
        /// Its name in the file.
        name: String,
        /// Why.
        problem: String,
    },
    /// A tensor goes past the end of the file.
    #[error("tensor {0} lies beyond the file's end: the file is cut short, fetch it again")]
    CutShort(String),
    /// A tensor has other dimensions than the model needs.
    #[error("{name} has the shape {found:?}, not {expected:?}")]
    Dimensions {
        /// Which one.
        name: String,
        /// Its dimensions.
        found: Vec<usize>,
        /// Those it should have.
        expected: Vec<usize>,
    },
    /// A tensor holds infinities or no numbers.
    #[error("{0} holds numbers that are not finite")]
    NotFinite(String),
    /// A layer has only some of its biases.
    #[error("layer {0} has a bias on some of queries, keys and values only")]
    PartialBias(usize),
    /// Another network than this limn computes.
    #[error("its architecture is '{0}'; this limn computes llama and qwen2")]
    Architecture(String),
    /// Positions are scaled in an unknown way.
    #[error("its rope scaling '{0}' is not known to this limn")]
    RopeScaling(String),
    /// Another kind of tokenizer.
    #[error("its tokenizer is '{0}'; this limn knows byte-level BPE ('gpt2')")]
    TokenizerKind(String),
    /// Text is cut into words in an unknown way.
    #[error("text is cut in the way '{0}', which this limn does not know")]
    Cut(String),
    /// Heads that are too large.
    #[error("a head of {0} numbers is too large")]
    Head(usize),
    /// A network that this limn does not compute.
    #[error("{0}")]
    Refused(String),
    /// Anything else that is wrong.
    #[error("{0}")]
    Wrong(&'static str),
}

impl From<&'static str> for LoadError {
    fn from(problem: &'static str) -> Self {
        Self::Wrong(problem)
    }
}
