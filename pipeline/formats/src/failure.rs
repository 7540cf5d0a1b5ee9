//! What is wrong with a file, as its reader sees it.

use std::any::Any;

use limn_store::{StoreError, one_line};

use crate::error::{FileError, FileErrorKind};
use crate::options::MAX_COLUMNS;

/// A [`FileError`] that does not know its object yet.
#[derive(Debug)]
pub enum Failure {
    /// The content is not as it should be.
    Content {
        /// The class of the failure.
        kind: FileErrorKind,
        /// What is wrong.
        cause: String,
        /// What can be done about it, where that is not what the class says.
        remedy: Option<String>,
    },
    /// The store failed.
    Store(StoreError),
}

impl Failure {
    pub(crate) fn new(kind: FileErrorKind, cause: impl Into<String>) -> Self {
        Failure::Content {
            kind,
            cause: cause.into(),
            remedy: None,
        }
    }

    pub(crate) fn with_remedy(self, advice: impl Into<String>) -> Self {
        match self {
            Failure::Content { kind, cause, .. } => Failure::Content {
                kind,
                cause,
                remedy: Some(advice.into()),
            },
            Failure::Store(_) => self,
        }
    }

    /// What is wrong, in one line.
    pub(crate) fn cause(&self) -> String {
        match self {
            Failure::Content { cause, .. } => cause.clone(),
            Failure::Store(error) => one_line(&error.to_string()),
        }
    }

    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let message = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        Failure::new(
            FileErrorKind::Panicked,
            format!("the reader panicked: {}", one_line(message)),
        )
        .with_remedy(
            "write the file again from its source; if that does not help, report this as a bug",
        )
    }

    pub(crate) fn too_many_columns(count: usize) -> Self {
        Failure::new(
            FileErrorKind::Unsupported,
            format!("it has {count} columns, more than {MAX_COLUMNS}"),
        )
        .with_remedy("store it with a row per value, or in several files")
    }

    /// The error of the object at this path.
    pub fn about(self, path: &str) -> FileError {
        match self {
            Failure::Store(error) => FileError::from_store(path, &error),
            Failure::Content {
                kind,
                cause,
                remedy,
            } => {
                let error = FileError::new(path, kind, cause);
                match remedy {
                    Some(remedy) => error.with_remedy(remedy),
                    None => error,
                }
            }
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Store(error)
    }
}
