//! The folder of an encoder: `config.json`, `tokenizer.json` and `model.safetensors`, as training
//! libraries write them, and what sentence-transformers keeps beside them.
//!
//! Nothing of these files runs code, and none may be longer than such files are: they may come from
//! anywhere.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::pooling::Pooling;
use super::shape::Family;
use super::{Arithmetic, Description, Encoder, Parts, Prefixes, config, sentence};
use crate::files::verify::{hex, sha256_known};
use crate::{Devices, ModelError, ModelId};

/// How the ids of such encoders begin.
const ID_BEGINS: &str = "encoder:";
const CONFIG: &str = "config.json";
const TOKENIZER: &str = "tokenizer.json";
const WEIGHTS: &str = "model.safetensors";
const CARD: &str = "limn.json";
/// What a folder has to hold, as errors say it.
const EXPECTED: &str =
    "expected an encoder's folder with config.json, tokenizer.json and model.safetensors";

/// Bytes of a small file, of a tokenizer and of weights, at most. The largest encoders of 1,024
/// dimensions have a few GB.
const MOST_JSON: u64 = 1 << 20;
const MOST_TOKENIZER: u64 = 64 << 20;
const MOST_WEIGHTS: u64 = 16 << 30;
/// The shortest window that a text of a few words fits in.
const LEAST_WINDOW: usize = 8;

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
    tokenizer: PathBuf,
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
        let text = read(&folder.join(CONFIG), MOST_JSON);
        text.is_ok_and(|text| text.is_some_and(|text| config::read(&text).is_ok()))
    }

    /// Reads what is in a folder, but for the weights, which are hashed. `stamps` names a file in
    /// which hashes are remembered by path, size and time of change.
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
            return Err(invalid(
                folder,
                format!("there is no such folder; {EXPECTED}"),
            ));
        }
        let folder = fs::canonicalize(folder).map_err(|error| unreadable(folder, &error))?;
        let card = optional(&folder.join(CARD), |text| {
            serde_json::from_str::<sentence::Card>(text).map_err(|error| error.to_string())
        })?
        .unwrap_or_default();
        let modules = optional(&folder.join("modules.json"), sentence::modules)?;
        let modules = modules.unwrap_or_default();
        let network = folder.join(&modules.network);
        let config_file = network.join(CONFIG);
        let configured = parsed(&config_file, &needed(&config_file)?, config::read)?;
        let (tokenizer, weights) = (network.join(TOKENIZER), network.join(WEIGHTS));
        bounded(&tokenizer, MOST_TOKENIZER)?;
        bounded(&weights, MOST_WEIGHTS)?;

        let card_says = |error: String| invalid(&folder.join(CARD), error);
        let arithmetic = card.arithmetic().map_err(card_says)?;
        let shape = configured.shape;
        if let (Arithmetic::Int8, Some(refusal)) = (arithmetic, shape.integer_refusal()) {
            return Err(invalid(&config_file, refusal));
        }
        let pooling_file = folder.join(&modules.pooling).join(CONFIG);
        let pooling = match card.pooling().map_err(card_says)? {
            Some(pooling) => pooling,
            None => optional(&pooling_file, |text| sentence::pooling(text, shape.hidden))?
                .unwrap_or(Pooling::Mean),
        };
        let lengths = optional(
            &network.join("sentence_bert_config.json"),
            sentence::lengths,
        )?;
        let (max_seq_length, lowercases) = lengths.unwrap_or_default();
        let longest =
            optional(&network.join("tokenizer_config.json"), sentence::longest)?.flatten();
        let window = card.window.or(max_seq_length).or(longest);
        let window = window.unwrap_or(configured.longest).min(configured.longest);
        if window < LEAST_WINDOW {
            return Err(card_says(format!(
                "its window is {window} tokens; expected at least {LEAST_WINDOW}"
            )));
        }
        let dimensions = overrides.dimensions.or(card.dimensions);
        let dimensions = dimensions.unwrap_or(shape.hidden);
        if dimensions == 0 || dimensions > shape.hidden {
            return Err(invalid(
                &config_file,
                format!(
                    "its vectors have {} numbers, of which {dimensions} are asked for; expected 1 to {}",
                    shape.hidden, shape.hidden
                ),
            ));
        }
        let description = Description {
            prefixes: prefixes(&folder, &card)?,
            shape,
            pooling,
            window,
            dimensions,
            lowercases,
        };
        let hash =
            |path: &Path| sha256_known(path, stamps).map_err(|error| unreadable(path, &error));
        let hashes = [hash(&config_file)?, hash(&tokenizer)?, hash(&weights)?];
        Ok(Self {
            id: id_of(&description, arithmetic, &hashes),
            record: EncoderRecord {
                folder: folder.to_string_lossy().into_owned(),
                dimensions,
                window,
                question: description.prefixes.question.clone(),
                passage: description.prefixes.passage.clone(),
            },
            weights,
            tokenizer,
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
        let name = self.record.folder.clone();
        Encoder::load(
            Parts {
                id: self.id,
                name: &name,
                weights: &self.weights,
                tokenizer: &self.tokenizer,
                arithmetic: self.arithmetic,
                description: self.description,
                record: Some(self.record),
            },
            devices,
        )
    }
}

/// What questions and passages begin with: as the card says, or else as the training library's
/// file.
fn prefixes(folder: &Path, card: &sentence::Card) -> Result<Prefixes, ModelError> {
    let file = folder.join("config_sentence_transformers.json");
    let written = optional(&file, sentence::prompts)?.unwrap_or_default();
    let prefixes = Prefixes {
        question: card.question.clone().unwrap_or(written.question),
        passage: card.passage.clone().unwrap_or(written.passage),
    };
    match sentence::too_long(&prefixes) {
        Some(refusal) => Err(invalid(&file, refusal)),
        None => Ok(prefixes),
    }
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

/// The text of a file, `None` where there is none; an error where it is longer than such files are,
/// or no file.
fn read(path: &Path, most: u64) -> Result<Option<String>, ModelError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    fits(path, &metadata, most)?;
    let mut text = String::new();
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let outcome = file.take(most).read_to_string(&mut text);
    match outcome {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(invalid(path, "it is no text; expected JSON".to_owned()))
        }
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// Refuses what is no plain file, and what is too long.
fn fits(path: &Path, metadata: &fs::Metadata, most: u64) -> Result<(), ModelError> {
    if !metadata.is_file() {
        return Err(invalid(path, "it is no file; expected one".to_owned()));
    }
    match metadata.len() {
        length if length <= most => Ok(()),
        length => Err(invalid(
            path,
            format!("it has {length} bytes; expected {most} at most"),
        )),
    }
}

/// Makes sure that a file is there and not too long.
fn bounded(path: &Path, most: u64) -> Result<(), ModelError> {
    match fs::metadata(path) {
        Ok(metadata) => fits(path, &metadata, most),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(path)),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn needed(path: &Path) -> Result<String, ModelError> {
    read(path, MOST_JSON)?.ok_or_else(|| missing(path))
}

fn missing(path: &Path) -> ModelError {
    let pickled = path.parent().and_then(sentence::pickled);
    let detail = match pickled.filter(|_| path.ends_with(WEIGHTS)) {
        Some(other) => format!(
            "there is no such file; {EXPECTED}. {other} may run code when it is read, so limn does not read it: save the model as safetensors"
        ),
        None => format!("there is no such file; {EXPECTED}"),
    };
    invalid(path, detail)
}

/// What a file says, if it is there.
fn optional<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Option<T>, ModelError> {
    let text = read(path, MOST_JSON)?;
    text.map(|text| parsed(path, &text, parse)).transpose()
}

fn parsed<T>(
    path: &Path,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, ModelError> {
    parse(text).map_err(|detail| invalid(path, detail))
}

fn invalid(path: &Path, detail: String) -> ModelError {
    ModelError::InvalidModel {
        path: path.to_owned(),
        detail,
    }
}

fn unreadable(path: &Path, error: &io::Error) -> ModelError {
    ModelError::Cache {
        action: "read",
        path: path.to_owned(),
        detail: error.to_string(),
    }
}
