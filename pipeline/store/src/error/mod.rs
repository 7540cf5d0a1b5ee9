//! What can go wrong with a store, in one line: on what, why, what to do next.
//!
//! The client library's errors quote whole requests over several lines. [`translate()`] searches
//! the chain of causes for the facts a person needs (which bucket, refused or denied) and drops the
//! rest: an error keeps no request, no header and no signature, so it can hold no secret.

pub(crate) mod place;
mod translate;

use crate::text::one_line;

pub(crate) use translate::{translate, why_unanswered};

/// What sort of failure it was; decides the remedy and whether to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StoreErrorKind {
    /// The object, or the local folder, is not there.
    NotFound,
    /// The store is there and refuses us.
    AccessDenied,
    /// The bucket itself is not there.
    NoSuchBucket,
    /// Nobody answers at the endpoint.
    Unreachable,
    /// The location or a setting cannot be understood.
    Configuration,
    /// A conditional request lost, or the object changed while it was read.
    Precondition,
    /// One entry of a listing (an unreadable folder, a name that is not UTF-8, a link that leaves
    /// the root, an S3 key with empty parts). The listing goes on after it.
    Entry,
    /// Anything else.
    Other,
}

/// A failed request to a store. Its text is one line: object, cause, remedy.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{object}: {cause}{}", if remedy.is_empty() { String::new() } else { format!("; {remedy}") })]
pub struct StoreError {
    kind: StoreErrorKind,
    object: String,
    cause: String,
    remedy: String,
    retryable: bool,
    path: Option<String>,
}

impl StoreError {
    /// An error of this crate's own making. `remedy` may be empty.
    pub fn new(
        kind: StoreErrorKind,
        object: impl Into<String>,
        cause: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        StoreError {
            kind,
            object: one_line(&object.into()),
            cause: one_line(&cause.into()),
            remedy: one_line(&remedy.into()),
            retryable: kind == StoreErrorKind::Unreachable,
            path: None,
        }
    }

    /// The same error, about what lies at this path below the store's root.
    #[must_use]
    pub(crate) fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The path below the store's root, where it cannot be read off [`StoreError::object`].
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// The same error, which the same request may not meet later.
    #[must_use]
    pub(crate) fn that_may_pass(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// The same error, which costs one entry of a listing only.
    #[must_use]
    pub(crate) fn of_an_entry(mut self) -> Self {
        self.kind = StoreErrorKind::Entry;
        self
    }

    /// What sort of failure it was.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// The object, folder or bucket that failed, as a full location.
    pub fn object(&self) -> &str {
        &self.object
    }

    /// Why, without the object and the remedy.
    pub fn cause(&self) -> &str {
        &self.cause
    }

    /// What to do about it; may be empty.
    pub fn remedy(&self) -> &str {
        &self.remedy
    }

    /// Whether the same request may succeed later without anybody changing anything.
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// Whether the object is simply not there.
    pub fn is_not_found(&self) -> bool {
        self.kind == StoreErrorKind::NotFound
    }
}

/// Translates an operating system's error about a local object.
pub(crate) fn from_io(object: String, error: &std::io::Error) -> StoreError {
    use std::io::ErrorKind as Io;
    let (kind, cause, remedy) = match error.kind() {
        Io::NotFound => (
            StoreErrorKind::NotFound,
            "does not exist".to_owned(),
            "check the path",
        ),
        Io::PermissionDenied => (
            StoreErrorKind::AccessDenied,
            "permission denied".to_owned(),
            "give this user access to it",
        ),
        Io::NotADirectory => (
            StoreErrorKind::NotFound,
            "a part of the path is a file, not a folder".to_owned(),
            "check the path",
        ),
        Io::StorageFull | Io::QuotaExceeded => (
            StoreErrorKind::Other,
            "the disk is full".to_owned(),
            "free some space",
        ),
        Io::ReadOnlyFilesystem => (
            StoreErrorKind::AccessDenied,
            "the file system is read-only".to_owned(),
            "choose another folder",
        ),
        _ => (StoreErrorKind::Other, error.to_string(), ""),
    };
    StoreError::new(kind, object, cause, remedy)
}
