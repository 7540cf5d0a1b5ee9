//! API keys: a file of records that hold no key, only hashes of keys.
//!
//! A key is `limn_<id>_<secret>`: the id (8 hexadecimal digits) finds the record, the secret (64,
//! from the system's random generator) proves it. With 256 random bits there is nothing to guess,
//! so one SHA-256 of the key is kept and no slow hash is needed. The file has one JSON object a
//! line; it is read again when it changes, so that a key that is taken out is refused within
//! seconds.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use rand::TryRngCore;
use rand::rngs::OsRng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::{Caller, Reach, Right};

/// What a key begins with.
pub(super) const MARK: &str = "limn_";

/// How often the file is looked at for a change.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What is kept of a key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRecord {
    /// Finds the record; part of the key, and no secret.
    pub id: String,
    /// What it is for, in a person's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// SHA-256 of the whole key, in hexadecimal digits.
    pub sha256: String,
    /// The paths it may see; without the field, everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefixes: Option<Vec<String>>,
    /// What it may do.
    pub rights: Vec<Right>,
    /// When it ends to be valid, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<chrono::DateTime<chrono::Utc>>,
    /// Requests a minute; without the field, the node's rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_minute: Option<u32>,
}

/// A key that was just made: the only time that it is seen.
#[derive(Debug)]
pub struct NewKey {
    /// What its holder shows.
    pub key: String,
    /// What is kept of it.
    pub record: KeyRecord,
}

/// A key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It cannot be read or written.
    #[error("{path}: {source}; limn keys add --keys {path} makes one")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// It cannot be changed.
    #[error("{path} cannot be changed: {source}")]
    Change {
        /// The file.
        path: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A line of it is no record.
    #[error("{path}, line {line}: {detail}; write it by limn keys add")]
    Line {
        /// The file.
        path: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        detail: String,
    },
    /// No key has this id.
    #[error("{path} has no key {id}; limn keys list shows them")]
    NoSuchKey {
        /// The file.
        path: String,
        /// The id.
        id: String,
    },
    /// The system's random generator failed.
    #[error("the system gives no random bytes: {0}")]
    Random(String),
}

impl KeyRecord {
    /// Makes a key with these rights.
    ///
    /// # Errors
    /// [`KeyError::Random`].
    pub fn make(
        name: &str,
        prefixes: Option<Vec<String>>,
        rights: Vec<Right>,
    ) -> Result<NewKey, KeyError> {
        let mut bytes = [0u8; 36];
        let random = OsRng.try_fill_bytes(&mut bytes);
        random.map_err(|error| KeyError::Random(error.to_string()))?;
        let (id, secret) = (hex(&bytes[..4]), hex(&bytes[4..]));
        let key = format!("{MARK}{id}_{secret}");
        let record = KeyRecord {
            id,
            name: name.to_owned(),
            sha256: hex(&Sha256::digest(&key)),
            prefixes,
            rights,
            expires: None,
            per_minute: None,
        };
        Ok(NewKey { key, record })
    }

    fn is_shown(&self, key: &str) -> bool {
        let shown = hex(&Sha256::digest(key));
        bool::from(shown.as_bytes().ct_eq(self.sha256.as_bytes()))
    }

    fn caller(&self) -> Caller {
        Caller {
            id: self.id.as_str().into(),
            reach: match &self.prefixes {
                Some(prefixes) => Reach::under(prefixes.iter().cloned()),
                None => Reach::Everything,
            },
            rights: self.rights.as_slice().into(),
            per_minute: self.per_minute,
        }
    }
}

/// The keys of a file, as it is now.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    keys: RwLock<HashMap<String, KeyRecord>>,
    looked: Mutex<(Instant, Option<(SystemTime, u64)>)>,
}

impl KeyFile {
    /// Reads a file of keys.
    ///
    /// # Errors
    /// [`KeyError::Io`] and [`KeyError::Line`].
    pub fn open(path: impl Into<PathBuf>) -> Result<KeyFile, KeyError> {
        let path = path.into();
        let seen = version(&path);
        let keys = by_id(read_records(&path)?);
        Ok(KeyFile {
            path,
            keys: RwLock::new(keys),
            looked: Mutex::new((Instant::now(), seen)),
        })
    }

    /// Whether there is no key in it.
    pub fn is_empty(&self) -> bool {
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        keys.is_empty()
    }

    /// The caller that shows this key.
    pub(super) fn caller(&self, key: &str) -> Option<Caller> {
        self.look_again();
        let id = key
            .strip_prefix(MARK)
            .and_then(|rest| rest.split('_').next());
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        // An id is no secret: the time that this takes may reveal whether it is known.
        let record = keys.get(id?)?;
        let is_over = record.expires.is_some_and(|end| end <= chrono::Utc::now());
        (record.is_shown(key) && !is_over).then(|| record.caller())
    }

    /// Reads the file again if it has changed. One that cannot be read leaves the keys as they are,
    /// and says so.
    fn look_again(&self) {
        let Ok(mut looked) = self.looked.try_lock() else {
            return;
        };
        if looked.0.elapsed() < LOOK_EVERY {
            return;
        }
        looked.0 = Instant::now();
        let seen = version(&self.path);
        if seen.is_some() && seen == looked.1 {
            return;
        }
        let read = read_records(&self.path);
        let is_missing = matches!(&read, Err(KeyError::Io { source, .. }) if source.kind() == ErrorKind::NotFound);
        match read {
            Ok(records) => {
                tracing::info!(keys = records.len(), "the file of keys has changed");
                looked.1 = seen;
                self.set(by_id(records));
            }
            Err(error) if is_missing => {
                tracing::error!(%error, "the file of keys does not exist: no key is valid");
                looked.1 = None;
                self.set(HashMap::new());
            }
            // Read again at the next look, until it can be.
            Err(error) => {
                tracing::error!(%error, "the file of keys cannot be read again: those known before hold");
            }
        }
    }

    fn set(&self, keys: HashMap<String, KeyRecord>) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }
}

/// The records of a file.
///
/// # Errors
/// [`KeyError::Io`] and [`KeyError::Line`].
pub fn read_records(path: &Path) -> Result<Vec<KeyRecord>, KeyError> {
    let text = fs::read_to_string(path).map_err(|source| io_error(path, source))?;
    let lines = (1..).zip(text.lines());
    let lines = lines.filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(number, line)| {
            serde_json::from_str(line).map_err(|error| KeyError::Line {
                path: path.display().to_string(),
                line: number,
                // serde's own words may repeat what it found; columns suffice.
                detail: format!("no record of a key (column {})", error.column()),
            })
        })
        .collect()
}

pub(super) fn io_error(path: &Path, source: std::io::Error) -> KeyError {
    KeyError::Io {
        path: path.display().to_string(),
        source,
    }
}

fn by_id(records: Vec<KeyRecord>) -> HashMap<String, KeyRecord> {
    let records = records.into_iter();
    records.map(|record| (record.id.clone(), record)).collect()
}

fn version(path: &Path) -> Option<(SystemTime, u64)> {
    let about = fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::super::edit_records;
    use super::*;

    #[test]
    fn a_key_is_known_by_all_of_itself_and_the_file_does_not_hold_it() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("keys");
        let rights = vec![Right::Search];
        let one = KeyRecord::make("one", Some(vec!["hr".into()]), rights.clone()).unwrap();
        let mut over = KeyRecord::make("over", None, rights).unwrap();
        over.record.expires = Some(chrono::Utc::now() - chrono::Duration::seconds(1));
        let write = |records: &mut Vec<KeyRecord>| {
            records.extend([one.record.clone(), over.record.clone()]);
            Ok(())
        };
        edit_records(&path, true, write).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&one.key) && !text.contains(&one.key[14..]));
        let keys = KeyFile::open(&path).unwrap();
        let caller = keys.caller(&one.key).unwrap();
        assert!(caller.may(Right::Search) && !caller.may(Right::Rows));
        assert_eq!(caller.reach, Reach::under(["hr".to_owned()]));
        for wrong in [
            "",
            "limn_",
            "limn_00000000_00",
            &one.key[..one.key.len() - 1],
            &over.key,
        ] {
            assert!(keys.caller(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_line_that_is_no_record_is_named_and_its_content_is_not() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("keys");
        fs::write(&path, "\n{\"id\": \"s3cret\"}\n").unwrap();
        let error = KeyFile::open(&path).unwrap_err().to_string();
        assert!(
            error.contains("line 2") && !error.contains("s3cret"),
            "{error}"
        );
    }
}
