//! Reading the files of an encoder's folder: they may come from anywhere, so none may be longer
//! than such files are.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use super::misfit::{Misfit, invalid};
use crate::ModelError;

pub(super) const WEIGHTS: &str = "model.safetensors";
/// What a folder has to hold, as errors say it.
pub(super) const EXPECTED: &str =
    "expected an encoder's folder with config.json, tokenizer.json and model.safetensors";
/// Bytes of a small file, at most.
const MOST_JSON: u64 = 1 << 20;

/// The text of a small file, `None` where there is none; an error where it is longer than such
/// files are, or no file.
pub(super) fn text(path: &Path) -> Result<Option<String>, ModelError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    fits(path, &metadata, MOST_JSON)?;
    let mut text = String::new();
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let outcome = file.take(MOST_JSON).read_to_string(&mut text);
    match outcome {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(invalid(path, "it is no text; expected JSON".to_owned()))
        }
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// What a file says that has to be there.
pub(super) fn needed<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, Misfit>,
) -> Result<T, ModelError> {
    optional(path, parse)?.ok_or_else(|| missing(path))
}

/// What a file says, if it is there.
pub(super) fn optional<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, Misfit>,
) -> Result<Option<T>, ModelError> {
    let parsed = text(path)?.map(|text| parse(&text));
    parsed.transpose().map_err(|misfit| misfit.of(path))
}

/// Makes sure that a file is there and not too long.
pub(super) fn bounded(path: &Path, most: u64) -> Result<(), ModelError> {
    match fs::metadata(path) {
        Ok(metadata) => fits(path, &metadata, most),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(path)),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// Refuses what is no plain file, and what is too long.
fn fits(path: &Path, metadata: &Metadata, most: u64) -> Result<(), ModelError> {
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

fn missing(path: &Path) -> ModelError {
    let pickled = path.parent().and_then(pickled);
    let detail = match pickled.filter(|_| path.ends_with(WEIGHTS)) {
        Some(other) => format!(
            "there is no such file; {EXPECTED}. {other} may run code when it is read, so limn does not read it: save the model as safetensors"
        ),
        None => format!("there is no such file; {EXPECTED}"),
    };
    invalid(path, detail)
}

/// Files whose weights run code when they are loaded, which limn therefore never reads.
fn pickled(folder: &Path) -> Option<&'static str> {
    let names = ["pytorch_model.bin", "model.bin", "model.pt"];
    names.into_iter().find(|name| folder.join(name).is_file())
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> ModelError {
    ModelError::Cache {
        action: "read",
        path: path.to_owned(),
        detail: error.to_string(),
    }
}
