//! The folder of an encoder: `config.json`, `tokenizer.json` and `model.safetensors`, as training
//! libraries write them, and what sentence-transformers keeps beside them.
//!
//! Nothing of these files runs code, and none may be longer than such files are: they may come from
//! anywhere.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::misfit::invalid;
use super::names::Tensors;
use super::read::{EXPECTED, WEIGHTS, bounded, needed, unreadable};
use super::sentence::Beside;
use super::shape::{Family, Shape};
use super::tensors::{TensorError, TensorFile};
use super::tokens::TextTokens;
use super::{Arithmetic, Description, Encoder, Parts, config};
use crate::files::verify::{hex, is_known, sha256_known};
use crate::{Devices, ModelError, ModelId};

/// How the ids of such encoders begin.
const ID_BEGINS: &str = "encoder:";
const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
/// Bytes of a tokenizer and of weights, at most. The largest encoders of 1,024 dimensions have a
/// few GB.
const MOST_TOKENIZER: u64 = 64 << 20;
const MOST_WEIGHTS: u64 = 16 << 30;

/// What is asked of a folder's encoder, whatever its files say.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncoderOverrides {
    /// Numbers of a vector that are kept.
    pub dimensions: Option<usize>,
}

/// What an index remembers of the folder that made its vectors: where it was, and what a person
/// may want to know. Which encoder it is, the id says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncoderRecord {
    /// The folder, as an absolute path on the machine that indexed: a hint.
    pub folder: String,
    /// Numbers of a vector.
    pub dimensions: usize,
    /// The most tokens of a text that are read.
    pub window: usize,
    /// What a question begins with.
    #[serde(default)]
    pub question: String,
    /// What a passage begins with.
    #[serde(default)]
    pub passage: String,
}

/// A folder that holds an encoder: read, checked and fingerprinted, its weights not loaded.
#[derive(Debug)]
pub struct EncoderFolder {
    id: ModelId,
    weights: PathBuf,
    tokens: TextTokens,
    arithmetic: Arithmetic,
    description: Description,
    record: EncoderRecord,
}

impl EncoderFolder {
    /// Whether vectors of this id are from a folder.
    pub fn made(id: &str) -> bool {
        id.starts_with(ID_BEGINS)
    }

    /// Whether the folder's `config.json` names an architecture that is read here.
    pub fn is_one(folder: &Path) -> bool {
        needed(&folder.join(CONFIG), config::read).is_ok()
    }

    /// Reads what is in a folder, but for the weights, which are only hashed, and their word matrix
    /// looked through. `stamps` names a file in which hashes are remembered by path, size and time
    /// of change.
    ///
    /// # Errors
    /// [`ModelError::InvalidModel`] names the file that is missing or does not fit and what was
    /// expected; [`ModelError::Cache`] names one that cannot be read.
    pub fn open(
        folder: &Path,
        overrides: EncoderOverrides,
        stamps: Option<&Path>,
    ) -> Result<Self, ModelError> {
        if !folder.is_dir() {
            let what = match folder.exists() {
                true => "it is a file",
                false => "there is no such folder",
            };
            let detail = format!("{what}; {EXPECTED}");
            return Err(invalid(folder, detail));
        }
        let folder = fs::canonicalize(folder).map_err(|error| unreadable(folder, &error))?;
        let beside = Beside::read(&folder)?;
        let network = beside.network();
        let config = network.join(CONFIG);
        let (tokenizer, weights) = (network.join(TOKENIZER), network.join(WEIGHTS));
        let configured = needed(&config, config::read)?;
        bounded(&tokenizer, MOST_TOKENIZER)?;
        bounded(&weights, MOST_WEIGHTS)?;
        let arithmetic = beside.arithmetic()?;
        if arithmetic == Arithmetic::Int8 {
            let checked = configured.shape.check_for_integers();
            checked.map_err(|misfit| misfit.of(&config))?;
        }
        let description = beside.describe(configured, overrides)?;
        let name = folder.to_string_lossy().into_owned();
        let (rows, window) = (description.shape.vocabulary, description.window);
        let tokens = TextTokens::load(&tokenizer, &name, rows, window)?;
        beside.check_prefixes(&description, &tokens)?;
        // Once, when all of the file is read in any case.
        if !is_known(&weights, stamps) {
            check_words(&weights, &description.shape)?;
        }
        let hash =
            |path: &Path| sha256_known(path, stamps).map_err(|error| unreadable(path, &error));
        let hashes = [hash(&config)?, hash(&tokenizer)?, hash(&weights)?];
        Ok(Self {
            id: id_of(&description, arithmetic, &hashes),
            record: EncoderRecord {
                folder: name,
                dimensions: description.dimensions,
                window,
                question: description.prefixes.question.clone(),
                passage: description.prefixes.passage.clone(),
            },
            weights,
            tokens,
            arithmetic,
            description,
        })
    }

    /// The id of its vectors: it says which files, which sizes, prefixes and arithmetic, and not
    /// where the folder is.
    pub fn id(&self) -> &ModelId {
        &self.id
    }

    /// What an index remembers of it.
    pub fn record(&self) -> &EncoderRecord {
        &self.record
    }

    /// Loads the encoder onto the devices.
    ///
    /// # Errors
    /// [`ModelError::InvalidModel`] names the file that does not fit and what was expected of it,
    /// such as a tensor's shape; [`ModelError::OutOfMemory`] or [`ModelError::Compute`] where a GPU
    /// does not take the weights.
    pub fn load(self, devices: &Devices) -> Result<Encoder, ModelError> {
        Encoder::load(
            Parts {
                id: self.id,
                weights: &self.weights,
                tokens: self.tokens,
                arithmetic: self.arithmetic,
                description: self.description,
                record: Some(self.record),
            },
            devices,
        )
    }
}

/// Refuses a word matrix with a number that is not finite. Loading leaves it in the file, and looks
/// at the other tensors only.
fn check_words(weights: &Path, shape: &Shape) -> Result<(), ModelError> {
    let misfit = |error: TensorError| invalid(weights, error.to_string());
    let mut file = TensorFile::open(weights).map_err(misfit)?;
    let words = Tensors::of(&mut file, shape).map_err(misfit)?.words();
    let checked = file.check_finite(&words, shape.vocabulary, shape.hidden);
    checked.map_err(misfit)
}

/// An id that changes whenever vectors may.
fn id_of(description: &Description, arithmetic: Arithmetic, hashes: &[String]) -> ModelId {
    let Description {
        shape,
        pooling,
        window,
        dimensions,
        prefixes,
        lowercases,
    } = description;
    let settings = serde_json::json!({
        "pooling": pooling.word(), "window": window, "dimensions": dimensions,
        "question": prefixes.question, "passage": prefixes.passage, "lowercases": lowercases,
    });
    let mut hash = Sha256::new();
    for part in hashes.iter().chain([&settings.to_string()]) {
        hash.update(part);
        hash.update([0]);
    }
    let hash = hex(&hash.finalize());
    let family = match shape.family {
        Family::Bert if shape.first_position > 0 => "roberta",
        Family::Bert => "bert",
        Family::ModernBert => "modernbert",
    };
    let (layers, version, word) = (shape.reaches.len(), &hash[..16], arithmetic.word());
    ModelId::new(format!(
        "{ID_BEGINS}{family}-{layers}x{dimensions}@{version}-{word}"
    ))
}
