//! Encoders: networks that read a whole text at once and make one vector of it.
//!
//! Three kinds are one network with a [description](shape::Shape): BERT (learned positions, each
//! half of a layer normalised after it is added), RoBERTa (the same, its positions begin later) and
//! ModernBERT (normalised before each half, positions by rotation, a gated inner layer, most layers
//! attend to a window only). all-MiniLM-L6-v2, the default, is such a description that is built in;
//! [`EncoderFolder`] reads that of any other model from its files.
//!
//! [`Encoder`] has a tokenizer, a description and one of two engines: [`int8`] computes in
//! eight-bit integers on kernels of this crate, [`floats`] in candle's 32-bit floats. The first is
//! what limn runs; the second is the standard it is tested against, and there for models that eight
//! bits do not suit.
//!
//! Sources: BERT (Devlin et al., NAACL 2019); RoBERTa (Liu et al., 2019); ModernBERT (Warner et
//! al., 2024); RoFormer (Su et al., 2021) for rotated positions; MiniLM (Wang et al., NeurIPS 2020)
//! for the default's weights; Sentence-BERT (Reimers and Gurevych, EMNLP 2019) for pooling;
//! Matryoshka representations (Kusupati et al., NeurIPS 2022) for vectors that may be cut.

mod attention;
mod config;
mod floats;
mod folder;
mod int8;
mod misfit;
mod names;
mod pooling;
mod read;
mod sentence;
pub(crate) mod shape;
mod tensors;
pub(crate) mod tokens;

pub use folder::{EncoderFolder, EncoderOverrides, EncoderRecord};

use std::borrow::Cow;
use std::path::Path;

use crate::{Devices, Embedder, ModelError, ModelFiles, ModelId};
use pooling::Pooling;
pub use shape::MOST_HIDDEN;
use shape::Shape;
use tensors::{TensorError, TensorFile};
use tokens::TextTokens;

/// How an engine computes, as the ids of its vectors say.
pub(crate) mod arithmetic {
    pub const INT8: &str = "int8";
    pub const F32: &str = "f32";
}

/// With which numbers an encoder computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Int8,
    F32,
}

impl Arithmetic {
    /// Its word in ids.
    pub fn word(self) -> &'static str {
        match self {
            Self::Int8 => arithmetic::INT8,
            Self::F32 => arithmetic::F32,
        }
    }
}

/// All that turns a text into a vector, but for the weights and the vocabulary.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub shape: Shape,
    pub pooling: Pooling,
    /// The most tokens of a text that are read, the special ones included.
    pub window: usize,
    /// Of a vector's numbers, the first ones that are kept.
    pub dimensions: usize,
    /// What a question and a passage begin with, as the model was trained.
    pub prefixes: Prefixes,
    /// Whether letters are made small before the tokenizer sees them.
    pub lowercases: bool,
}

impl Description {
    /// That of all-MiniLM-L6-v2.
    pub fn minilm() -> Self {
        let shape = Shape::minilm();
        Self {
            dimensions: shape.hidden,
            shape,
            pooling: Pooling::Mean,
            window: 256,
            prefixes: Prefixes::default(),
            lowercases: false,
        }
    }

    /// A text as the tokenizer gets it.
    fn prepared<'a>(&self, side: Side, text: &'a str) -> Cow<'a, str> {
        let prefix = match side {
            Side::Question => &self.prefixes.question,
            Side::Passage => &self.prefixes.passage,
        };
        let whole = match prefix.as_str() {
            "" => Cow::Borrowed(text),
            prefix => Cow::Owned(format!("{prefix}{text}")),
        };
        match self.lowercases {
            true => Cow::Owned(whole.to_lowercase()),
            false => whole,
        }
    }
}

/// What texts begin with before they are read; empty for most models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Prefixes {
    pub question: String,
    pub passage: String,
}

/// What a text is to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Question,
    Passage,
}

impl Side {
    /// Its word in errors.
    fn word(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Passage => "passage",
        }
    }
}

/// An encoder that computes on this machine: the default embedder, or that of a folder.
///
/// In eight-bit arithmetic a text's vector is bit for bit the same in every batch and on every
/// processor, and of all-MiniLM-L6-v2 cosines agree with the 32-bit engine at a rank correlation
/// above 0.99 (a test). In 32-bit arithmetic it is the same in every batch on one machine.
pub struct Encoder {
    id: ModelId,
    tokens: TextTokens,
    description: Description,
    engine: Engine,
    record: Option<EncoderRecord>,
}

/// What computes the states of the last layer and pools them.
enum Engine {
    Integers(Box<int8::Network>),
    Floats(Box<floats::Network>),
}

impl Encoder {
    /// Loads all-MiniLM-L6-v2 from verified files onto the devices.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(crate) fn minilm(
        files: &ModelFiles,
        arithmetic: Arithmetic,
        devices: &Devices,
    ) -> Result<Self, ModelError> {
        let description = Description::minilm();
        let (rows, window) = (description.shape.vocabulary, description.window);
        let tokenizer = files.separate_tokenizer()?;
        let parts = Parts {
            id: files.id(arithmetic.word()),
            weights: &files.weights,
            tokens: TextTokens::load(tokenizer, &files.name, rows, window)?,
            arithmetic,
            description,
            record: None,
        };
        Self::load(parts, devices)
    }

    /// Loads an encoder onto the devices.
    ///
    /// # Errors
    /// [`ModelError::Cache`] where a file cannot be read, [`ModelError::InvalidModel`] where it
    /// holds another model; [`ModelError::OutOfMemory`] or [`ModelError::Compute`] where a GPU does
    /// not take the weights.
    fn load(parts: Parts<'_>, devices: &Devices) -> Result<Self, ModelError> {
        let Parts {
            id,
            weights,
            tokens,
            arithmetic,
            description,
            record,
        } = parts;
        let invalid = |error: TensorError| misfit::invalid(weights, error.to_string());
        let mut file = TensorFile::open(weights).map_err(invalid)?;
        let engine = match arithmetic {
            Arithmetic::Int8 => {
                let packed = int8::Weights::load(&mut file, &description).map_err(invalid)?;
                let network = int8::Network::new(packed, &id, &description, devices)?;
                Engine::Integers(Box::new(network))
            }
            Arithmetic::F32 => {
                let network = floats::Network::load(&mut file, &description).map_err(invalid)?;
                Engine::Floats(Box::new(network))
            }
        };
        Ok(Self {
            id,
            tokens,
            description,
            engine,
            record,
        })
    }

    /// Whether GPUs compute it.
    pub fn is_on_gpu(&self) -> bool {
        match &self.engine {
            Engine::Integers(network) => network.is_on_gpu(),
            Engine::Floats(_) => false,
        }
    }

    /// The vectors of texts, perhaps on the threads of a pool.
    fn vectors(
        &self,
        side: Side,
        texts: &[&str],
        pool: Option<&rayon::ThreadPool>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let sequences = texts
            .iter()
            .map(|text| self.tokens.window(&self.description.prepared(side, text)));
        let sequences = sequences.collect::<Result<Vec<_>, _>>()?;
        match &self.engine {
            Engine::Integers(network) => network.forward(&sequences, pool),
            Engine::Floats(network) => {
                network
                    .forward(&sequences)
                    .map_err(|error| ModelError::Compute {
                        model: self.id.to_string(),
                        detail: error.to_string(),
                    })
            }
        }
    }
}

/// What an encoder is loaded from.
struct Parts<'a> {
    id: ModelId,
    weights: &'a Path,
    tokens: TextTokens,
    arithmetic: Arithmetic,
    description: Description,
    record: Option<EncoderRecord>,
}

impl Embedder for Encoder {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.description.dimensions
    }

    fn window(&self) -> usize {
        self.description.window
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.tokens
            .count(&self.description.prepared(Side::Passage, text))
    }

    fn pieces(&self, word: &str) -> usize {
        // The end of a prefix may be a token of its own, or part of the word's first one.
        let nothing = self.tokens.count("");
        self.tokens.count(word).saturating_sub(nothing)
    }

    fn batch_tokens(&self) -> usize {
        match &self.engine {
            Engine::Integers(network) => network.batch_tokens(),
            Engine::Floats(_) => crate::embedder::BATCH_TOKENS,
        }
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        self.vectors(Side::Passage, texts, None)
    }

    fn embed_together(
        &self,
        texts: &[&str],
        pool: &rayon::ThreadPool,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        self.vectors(Side::Passage, texts, Some(pool))
    }

    fn embed_questions(
        &self,
        texts: &[&str],
        pool: Option<&rayon::ThreadPool>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        self.vectors(Side::Question, texts, pool)
    }

    fn record(&self) -> Option<&EncoderRecord> {
        self.record.as_ref()
    }
}
