//! What can go wrong with one object.
//!
//! A [`FileError`] costs its own object only (design, invariant 6): it is cloned into reports, kept
//! in the catalog, and says in one line what failed, on what, why, and what to do.

use limn_store::{StoreError, StoreErrorKind, one_line};
use serde::{Deserialize, Serialize};

/// Why one object could not be read as a table (or as a context).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {cause}; {remedy}", one_line(object))]
pub struct FileError {
    /// The object's path in its lake.
    pub object: String,
    /// The class of the failure.
    pub kind: FileErrorKind,
    /// What is wrong, in lower case and without a full stop.
    pub cause: String,
    /// What a person can do about it.
    pub remedy: String,
}

/// The classes of failure, each with a remedy of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, PartialOrd, Ord)]
#[serde(rename_all = "snake_case")]
pub enum FileErrorKind {
    /// The object has no bytes, or no rows and no header.
    Empty,
    /// The content is of another kind than the name says (a binary file named `.csv`).
    NotItsFormat,
    /// The content breaks off or contradicts itself (a truncated Parquet footer).
    Corrupt,
    /// Too many rows disagree about the number of columns.
    Ragged,
    /// A feature of the format that limn does not read (encryption, an unknown codec).
    Unsupported,
    /// The content is no table, and the name promised none (a letter named `.txt`): nothing is
    /// wrong.
    NoTable,
    /// The object was removed or replaced since it was listed.
    Missing,
    /// The store refused access.
    Denied,
    /// The store could not be reached or broke off.
    Unreachable,
    /// The store failed in a way that trying again does not mend.
    StoreFailed,
    /// The reader itself failed: a bug, caught so that it costs this object only.
    Panicked,
}

/// Why a file that was listed cannot be read, if it was deleted since.
const REMOVED: &str = "it was listed, but no longer exists";

impl FileErrorKind {
    fn remedy(self) -> &'static str {
        match self {
            Self::Empty => "write the file again, or remove it",
            Self::NotItsFormat => "give the file the extension of its content, or remove it",
            Self::Corrupt => "write the file again from its source",
            Self::Ragged => "check the delimiter and the quoting, and write the file again",
            Self::Unsupported => "write the file with a plain codec and without encryption",
            Self::NoTable => "nothing to do: it is passed over",
            Self::Missing => "nothing to do: the next run sees the change",
            Self::Denied => "grant read access to this object",
            Self::Unreachable => "run again when the store can be reached",
            Self::StoreFailed => "look at the store's own logs",
            Self::Panicked => "report this as a bug, with the file if you can share it",
        }
    }
}

impl FileError {
    /// An error of this kind with the kind's usual remedy.
    pub fn new(object: impl Into<String>, kind: FileErrorKind, cause: impl Into<String>) -> Self {
        FileError {
            object: object.into(),
            kind,
            cause: cause.into(),
            remedy: kind.remedy().to_owned(),
        }
    }

    /// The same error with a remedy that knows more.
    #[must_use]
    pub fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// What a store's failure to read `object` means for that object.
    pub fn from_store(object: impl Into<String>, error: &StoreError) -> Self {
        let kind = match error.kind() {
            _ if error.is_retryable() => FileErrorKind::Unreachable,
            StoreErrorKind::Unreachable => FileErrorKind::Unreachable,
            StoreErrorKind::NotFound
            | StoreErrorKind::NoSuchBucket
            | StoreErrorKind::Precondition => FileErrorKind::Missing,
            StoreErrorKind::AccessDenied | StoreErrorKind::Configuration => FileErrorKind::Denied,
            StoreErrorKind::Entry | StoreErrorKind::Other => FileErrorKind::StoreFailed,
        };
        let cause = match error.kind() {
            StoreErrorKind::NotFound => REMOVED,
            _ => error.cause(),
        };
        let file_error = FileError::new(object, kind, cause);
        // "Check the path" is no advice for an object that a listing named.
        if error.remedy().is_empty() || kind == FileErrorKind::Missing {
            return file_error;
        }
        file_error.with_remedy(error.remedy())
    }

    /// Whether the object no longer exists, as far as is known; otherwise it may have been
    /// replaced.
    pub fn is_removed(&self) -> bool {
        self.kind == FileErrorKind::Missing && self.cause == REMOVED
    }

    /// Whether reading the same version of the object again can succeed: the fault is the store's,
    /// the person's rights or the reader's, and not in the bytes.
    pub fn is_retryable(&self) -> bool {
        match self.kind {
            FileErrorKind::Missing
            | FileErrorKind::Denied
            | FileErrorKind::Unreachable
            | FileErrorKind::StoreFailed
            | FileErrorKind::Panicked => true,
            FileErrorKind::Empty
            | FileErrorKind::NotItsFormat
            | FileErrorKind::Corrupt
            | FileErrorKind::Ragged
            | FileErrorKind::Unsupported
            | FileErrorKind::NoTable => false,
        }
    }
}
