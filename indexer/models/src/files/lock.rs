//! The lock of a model's folder, which one process at a time fetches into.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use crate::ModelError;

/// Holds the model's lock until the file is dropped. Where another process has it, `waits` is
/// called, and this one waits.
pub(super) fn lock(root: &Path, folder: &str, waits: impl FnOnce()) -> Result<File, ModelError> {
    let path = root.join(format!(".{folder}.lock"));
    let failed = |error: io::Error| cache("lock", &path, &error);
    let file = open_lock(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => waits(),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    file.lock().map_err(failed)?;
    Ok(file)
}

/// Opens the lock file, changing nothing that is there already: a link in its place is refused.
fn open_lock(path: &Path) -> io::Result<File> {
    match File::options().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if !fs::symlink_metadata(path)?.is_file() {
                return Err(io::Error::other("it is no plain file"));
            }
            File::options().write(true).open(path)
        }
        opened => opened,
    }
}

pub(super) fn cache(action: &'static str, path: &Path, error: &io::Error) -> ModelError {
    ModelError::Cache {
        action,
        path: path.to_owned(),
        detail: error.to_string(),
    }
}
