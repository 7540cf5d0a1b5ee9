//! Pinned hashes: a model file is used only if its bytes are the expected ones.
//!
//! Hashing 90 MB takes longer than answering a question, so a file that was verified leaves a
//! stamp (size, times, number) beside it, and is hashed again only when these change.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::cards::CardFile;
use crate::ModelError;

const STAMPS: &str = ".verified.json";

/// What was verified: how the file was then, and the hash it had. What unpacks a file may set its
/// modification time, but neither its number nor when that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    bytes: u64,
    modified_ns: u128,
    /// The file's number and the time of its last change of any kind, where the system has them.
    #[serde(default)]
    inode: (u64, i64, i64),
    sha256: String,
}

impl Stamp {
    fn unhashed(metadata: &fs::Metadata, modified: Duration) -> Self {
        #[cfg(unix)]
        let inode = {
            use std::os::unix::fs::MetadataExt;
            (metadata.ino(), metadata.ctime(), metadata.ctime_nsec())
        };
        #[cfg(not(unix))]
        let inode = Default::default();
        Self {
            bytes: metadata.len(),
            modified_ns: modified.as_nanos(),
            inode,
            sha256: String::new(),
        }
    }

    fn is_of_same_file(&self, other: &Self) -> bool {
        (self.bytes, self.modified_ns, self.inode) == (other.bytes, other.modified_ns, other.inode)
    }
}

/// Whether `folder` holds all `files`; an error where one is there but is not the pinned one.
pub(crate) fn present(folder: &Path, files: &[CardFile]) -> Result<bool, ModelError> {
    let stamps_file = folder.join(STAMPS);
    let stamps: BTreeMap<String, Stamp> = fs::read(&stamps_file)
        .ok()
        .and_then(|json| serde_json::from_slice(&json).ok())
        .unwrap_or_default();
    let mut fresh = BTreeMap::new();
    for file in files {
        let path = folder.join(file.name);
        let Some(mut stamp) = stamp(&path, file)? else {
            return Ok(false);
        };
        stamp.sha256 = file.sha256.to_owned();
        if stamps.get(file.name) != Some(&stamp) {
            matches_pin(&path, file)?;
        }
        fresh.insert(file.name.to_owned(), stamp);
    }
    if fresh != stamps {
        // A folder that cannot be written is verified every time: slower, not wrong.
        if let Ok(json) = serde_json::to_vec(&fresh) {
            let _ = fs::write(&stamps_file, json);
        }
    }
    Ok(true)
}

/// Hashes the file; an error where it is not the pinned one.
pub(crate) fn matches_pin(path: &Path, file: &CardFile) -> Result<(), ModelError> {
    let found = sha256(path).map_err(|error| unreadable(path, &error))?;
    if found == file.sha256 {
        Ok(())
    } else {
        Err(ModelError::WrongHash {
            path: path.to_owned(),
            expected: file.sha256.to_owned(),
            found,
        })
    }
}

fn stamp(path: &Path, file: &CardFile) -> Result<Option<Stamp>, ModelError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    if metadata.len() != file.bytes {
        let found = format!("of {} bytes instead of {}", metadata.len(), file.bytes);
        return Err(ModelError::WrongHash {
            path: path.to_owned(),
            expected: file.sha256.to_owned(),
            found,
        });
    }
    let modified = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(Some(Stamp::unhashed(
        &metadata,
        modified.unwrap_or_default(),
    )))
}

pub(crate) fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; 1 << 18];
    loop {
        match file.read(&mut chunk)? {
            0 => break,
            n => hash.update(&chunk[..n]),
        }
    }
    Ok(hex(&hash.finalize()))
}

/// The SHA-256 of a file: as it is remembered in the file of stamps where the file is the same as
/// then, else computed, and remembered if that can be written.
pub(crate) fn sha256_known(path: &Path, stamps_file: Option<&Path>) -> io::Result<String> {
    let (Some(stamps_file), Some(mut stamp)) = (stamps_file, unhashed(path)?) else {
        return sha256(path);
    };
    let mut stamps = stamps_of(stamps_file);
    if let Some(known) = remembered(&stamps, path, &stamp) {
        return Ok(known.sha256.clone());
    }
    let key = path.to_string_lossy().into_owned();
    stamp.sha256 = sha256(path)?;
    let hash = stamp.sha256.clone();
    // Files that no longer exist are forgotten.
    stamps.retain(|path, _| Path::new(path).exists());
    stamps.insert(key, stamp);
    // Another process may write at the same time: it is whole in any case.
    if let (Some(folder), Ok(json)) = (stamps_file.parent(), serde_json::to_vec(&stamps)) {
        let written = fs::create_dir_all(folder)
            .and_then(|()| tempfile::NamedTempFile::new_in(folder))
            .and_then(|file| {
                fs::write(file.path(), json)?;
                file.persist(stamps_file).map_err(|error| error.error)?;
                Ok(())
            });
        if let Err(error) = written {
            tracing::debug!(%error, "hashes of an encoder's files are not remembered");
        }
    }
    Ok(hash)
}

/// Whether [`sha256_known`] remembers the file's SHA-256, and so need not read it.
pub(crate) fn is_known(path: &Path, stamps_file: Option<&Path>) -> bool {
    let (Some(stamps_file), Ok(Some(stamp))) = (stamps_file, unhashed(path)) else {
        return false;
    };
    remembered(&stamps_of(stamps_file), path, &stamp).is_some()
}

/// The stamp of a file without its hash; `None` where its time is not to be had.
fn unhashed(path: &Path) -> io::Result<Option<Stamp>> {
    let metadata = fs::metadata(path)?;
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(modified.map(|modified| Stamp::unhashed(&metadata, modified)))
}

/// What a file of stamps holds; nothing where it cannot be read.
fn stamps_of(file: &Path) -> BTreeMap<String, Stamp> {
    let json = fs::read(file).ok();
    json.and_then(|json| serde_json::from_slice(&json).ok())
        .unwrap_or_default()
}

/// The stamp of a file that is as it was then.
fn remembered<'a>(
    stamps: &'a BTreeMap<String, Stamp>,
    path: &Path,
    now: &Stamp,
) -> Option<&'a Stamp> {
    let known = stamps.get(&*path.to_string_lossy())?;
    known.is_of_same_file(now).then_some(known)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unreadable(path: &Path, error: &io::Error) -> ModelError {
    ModelError::Cache {
        action: "read",
        path: path.to_owned(),
        detail: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ABC: CardFile = CardFile {
        name: "abc",
        bytes: 3,
        sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    };

    #[test]
    fn a_file_is_accepted_missing_or_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!present(folder.path(), &[ABC]).unwrap());
        fs::write(folder.path().join("abc"), "abc").unwrap();
        assert!(present(folder.path(), &[ABC]).unwrap());
        for wrong in ["abd", "abcd"] {
            fs::write(folder.path().join("abc"), wrong).unwrap();
            // A coarse file system clock may give the new file the stamp's time.
            fs::remove_file(folder.path().join(STAMPS)).unwrap_or_default();
            assert!(
                matches!(
                    present(folder.path(), &[ABC]),
                    Err(ModelError::WrongHash { .. })
                ),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_stamp_is_worth_nothing_after_the_file_changed_or_for_another_pin() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        fs::write(&path, "abc").unwrap();
        assert!(present(folder.path(), &[ABC]).unwrap());
        fs::write(&path, "xyz").unwrap();
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(UNIX_EPOCH)
            .unwrap();
        assert!(present(folder.path(), &[ABC]).is_err());
        fs::write(&path, "abc").unwrap();
        assert!(present(folder.path(), &[ABC]).unwrap());
        let newer = CardFile {
            sha256: "00",
            ..ABC
        };
        assert!(present(folder.path(), &[newer]).is_err());
    }
}
