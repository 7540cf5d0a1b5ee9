//! The files of a language model: one that limn knows by name, or one of a user's own by path.
//!
//! A path is a GGUF file, or a folder as training libraries write it: `config.json`,
//! `tokenizer.json` and one or more `.safetensors` files. No hash is pinned for these; the id of
//! such a model is made of the bytes themselves, so an answer stored under it belongs to them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::cards::{ModelKind, TOKENIZER, model_id};
use super::store::{ModelStore, Progress};
use super::verify;
use crate::language::DECODER_ARITHMETIC;
use crate::{ModelError, ModelId};

const CONFIG: &str = "config.json";
/// Files of a folder that change answers where they are there: the chat template, the tokens that
/// end an answer.
const OPTIONAL: [&str; 4] = [
    "tokenizer_config.json",
    "generation_config.json",
    "special_tokens_map.json",
    "chat_template.jinja",
];
const GGUF_MAGIC: &[u8; 4] = b"GGUF";

/// The files of one language model, there to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LanguageModelFiles {
    /// One file with the weights, the tokenizer and the settings.
    Gguf {
        /// The file.
        path: PathBuf,
        /// The id of what the embedded engine answers with it.
        id: ModelId,
    },
    /// A folder of several files.
    Safetensors {
        /// The folder.
        folder: PathBuf,
        /// The weights, in the order of their names; at least one.
        weights: Vec<PathBuf>,
        /// The shape of the network: `config.json`.
        config: PathBuf,
        /// The tokenizer, in the format of the `tokenizers` library: `tokenizer.json`.
        tokenizer: PathBuf,
        /// The id of what the embedded engine answers with them.
        id: ModelId,
    },
}

impl LanguageModelFiles {
    /// The id of what the embedded engine answers with these files: the model's name, the first
    /// eight hex digits of their SHA-256, and [`DECODER_ARITHMETIC`].
    pub fn id(&self) -> &ModelId {
        match self {
            Self::Gguf { id, .. } | Self::Safetensors { id, .. } => id,
        }
    }

    /// The file or folder, for errors.
    pub fn path(&self) -> &Path {
        match self {
            Self::Gguf { path, .. } => path,
            Self::Safetensors { folder, .. } => folder,
        }
    }
}

impl ModelStore {
    /// The files of a language model: of a name, fetched at first use, or of a user's own at a
    /// path.
    ///
    /// A name that limn knows is meant before a file of that name; `./NAME` means the file. A
    /// user's files are read once to make their id (about a second a gigabyte).
    ///
    /// # Errors
    /// As [`pull`](Self::pull); [`ModelError::WrongKind`] for an embedder;
    /// [`ModelError::InvalidModel`] where the path holds no model, [`ModelError::Cache`] where it
    /// cannot be read, [`ModelError::UnknownModel`] where it is neither a name nor a path.
    pub fn language_model_files(
        &self,
        name_or_path: &str,
        progress: &dyn Fn(Progress),
    ) -> Result<LanguageModelFiles, ModelError> {
        let known = || Self::names_of(ModelKind::LanguageModel);
        let card = Self::cards().iter().find(|card| card.name == name_or_path);
        if let Some(card) = card {
            if card.kind != ModelKind::LanguageModel {
                return Err(ModelError::WrongKind {
                    name: card.name.to_owned(),
                    kind: card.kind,
                    wanted: ModelKind::LanguageModel,
                    known: known(),
                });
            }
            let files = self.pull(card.name, progress)?;
            return Ok(LanguageModelFiles::Gguf {
                path: files.weights,
                id: card.id(),
            });
        }
        let path = Path::new(name_or_path);
        match fs::metadata(path) {
            Ok(it) if it.is_dir() => folder(path),
            Ok(_) => gguf(path),
            // A name has no folder before it.
            Err(error) if path.components().count() > 1 => Err(unreadable(path, &error)),
            Err(_) => Err(ModelError::UnknownModel {
                name: name_or_path.to_owned(),
                known: format!(
                    "{}, the path of a GGUF file, or of a folder with {CONFIG}, {TOKENIZER} and .safetensors files",
                    known()
                ),
            }),
        }
    }

    /// Whether a language model can be used without fetching anything: it is here and verified, or
    /// there is something at the path.
    ///
    /// # Errors
    /// As [`find`](Self::find); an unknown name is no error but not here.
    pub fn has_language_model(&self, name_or_path: &str) -> Result<bool, ModelError> {
        match Self::cards().iter().find(|card| card.name == name_or_path) {
            Some(card) if card.kind == ModelKind::LanguageModel => self.is_ready(card.name),
            Some(_) => Ok(false),
            None => Ok(Path::new(name_or_path).exists()),
        }
    }
}

fn gguf(path: &Path) -> Result<LanguageModelFiles, ModelError> {
    let mut magic = [0; GGUF_MAGIC.len()];
    let begun = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    match begun {
        Ok(()) if magic == *GGUF_MAGIC => {}
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => {
            return Err(unreadable(path, &error));
        }
        _ => {
            return Err(invalid(
                path,
                "it is no GGUF file; limn loads GGUF files, and folders with config.json, tokenizer.json and .safetensors files",
            ));
        }
    }
    let sha256 = verify::sha256(path).map_err(|error| unreadable(path, &error))?;
    Ok(LanguageModelFiles::Gguf {
        path: path.to_owned(),
        id: model_id(&stem(path), &sha256, DECODER_ARITHMETIC),
    })
}

fn folder(path: &Path) -> Result<LanguageModelFiles, ModelError> {
    let entries = fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
    let mut weights = Vec::new();
    for entry in entries {
        let file = entry.map_err(|error| unreadable(path, &error))?.path();
        if file.extension().is_some_and(|it| it == "safetensors") && file.is_file() {
            weights.push(file);
        }
    }
    weights.sort();
    let (config, tokenizer) = (path.join(CONFIG), path.join(TOKENIZER));
    let missing = [(&config, CONFIG), (&tokenizer, TOKENIZER)]
        .into_iter()
        .filter_map(|(file, name)| (!file.is_file()).then_some(name))
        .chain(weights.is_empty().then_some(".safetensors file"))
        .collect::<Vec<_>>();
    if !missing.is_empty() {
        let detail = format!("the folder has no {}", missing.join(" and no "));
        return Err(invalid(path, &detail));
    }
    // One hash over what each file is called and holds.
    let mut hash = Sha256::new();
    let optional = OPTIONAL.map(|name| path.join(name));
    let optional = optional.iter().filter(|file| file.is_file());
    for file in [&config, &tokenizer]
        .into_iter()
        .chain(optional)
        .chain(&weights)
    {
        let sha256 = verify::sha256(file).map_err(|error| unreadable(file, &error))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        hash.update(format!("{name} {sha256}\n"));
    }
    let sha256 = verify::hex(&hash.finalize());
    Ok(LanguageModelFiles::Safetensors {
        folder: path.to_owned(),
        weights,
        config,
        tokenizer,
        id: model_id(&stem(path), &sha256, DECODER_ARITHMETIC),
    })
}

/// The name of a user's model: that of its file or folder.
fn stem(path: &Path) -> String {
    // A path such as `.` has a name only when it is resolved.
    let resolved = path.canonicalize();
    let path = resolved.as_deref().unwrap_or(path);
    let name = if path.is_dir() {
        path.file_name()
    } else {
        path.file_stem()
    };
    name.unwrap_or_default().to_string_lossy().into_owned()
}

fn invalid(path: &Path, detail: &str) -> ModelError {
    ModelError::InvalidModel {
        path: path.to_owned(),
        detail: detail.to_owned(),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> ModelError {
    invalid(path, &format!("it cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn files(path: &Path) -> Result<LanguageModelFiles, ModelError> {
        ModelStore::at("nowhere").language_model_files(path.to_str().unwrap(), &|_| {})
    }

    #[test]
    fn a_gguf_file_is_named_for_its_bytes() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("my model.Q4.gguf");
        fs::write(&path, "GGUF and so on").unwrap();
        let found = files(&path).unwrap();
        assert_eq!(found.path(), path);
        let store = ModelStore::at(scratch.path());
        let has = |name: &str| store.has_language_model(name).unwrap();
        assert!(has(path.to_str().unwrap()));
        assert!(!has("smollm2-135m") && !has("nonsense") && !has("hashed-words"));
        let id = found.id().to_string();
        assert!(
            id.starts_with("my model.Q4@") && id.ends_with("-q8g128"),
            "{id}"
        );
        fs::write(&path, "GGUF and so forth").unwrap();
        assert_ne!(files(&path).unwrap().id().to_string(), id);
    }

    #[test]
    fn a_folder_is_named_for_all_that_changes_answers() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("mine");
        fs::create_dir(&folder).unwrap();
        let names = ["config.json", "tokenizer.json", "b.safetensors"];
        for name in names {
            let error = files(&folder).unwrap_err().to_string();
            assert!(error.contains("the folder has no"), "{error}");
            fs::write(folder.join(name), name).unwrap();
        }
        let mut ids = vec![files(&folder).unwrap().id().to_string()];
        assert!(ids[0].starts_with("mine@"), "{}", ids[0]);
        for name in ["a.safetensors", "tokenizer_config.json", "config.json"] {
            fs::write(folder.join(name), "other").unwrap();
            ids.push(files(&folder).unwrap().id().to_string());
        }
        fs::write(folder.join("README.md"), "changes nothing").unwrap();
        assert_eq!(files(&folder).unwrap().id().as_str(), ids[3]);
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 4);
        let LanguageModelFiles::Safetensors { weights, .. } = files(&folder).unwrap() else {
            panic!("a folder is no GGUF file");
        };
        let expected = ["a.safetensors", "b.safetensors"].map(|name| folder.join(name));
        assert_eq!(weights, expected);
    }

    #[test]
    fn what_is_no_model_is_distinguished() {
        let scratch = tempfile::tempdir().unwrap();
        let text = scratch.path().join("notes.txt");
        for content in ["", "GG", "no model at all"] {
            fs::write(&text, content).unwrap();
            let error = files(&text).unwrap_err().to_string();
            assert!(error.contains("no GGUF file"), "{content:?}: {error}");
        }
        let error = files(&scratch.path().join("absent.gguf")).unwrap_err();
        assert!(matches!(error, ModelError::InvalidModel { .. }), "{error}");
        let error = files(Path::new("nonsense")).unwrap_err().to_string();
        for part in ["nonsense", "smollm2-135m", "GGUF"] {
            assert!(error.contains(part), "{error}");
        }
        let error = files(Path::new("all-MiniLM-L6-v2"))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("does not serve as language model"),
            "{error}"
        );
    }
}
