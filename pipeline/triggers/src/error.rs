//! What can go wrong with a source of hints, in one line: on what, why, what to do next.
//!
//! A server's own words are not repeated: those about a signature quote the signed headers, a
//! session token among them. Its error code is, which is one word.

use limn_store::one_line;

/// What sort of failure it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TriggerErrorKind {
    /// A setting cannot be understood or must not be used.
    Configuration,
    /// The queue is there and refuses us.
    AccessDenied,
    /// The queue itself is not there.
    NoSuchQueue,
    /// Nobody answers, or answers that it cannot at the moment.
    Unavailable,
    /// The system watches no more folders for us.
    WatchLimit,
    /// Anything else.
    Other,
}

/// A source that cannot be had, or messages that could not be acknowledged. Its text is one line:
/// what, cause, remedy.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}: {cause}{}", if remedy.is_empty() { String::new() } else { format!("; {remedy}") })]
pub struct TriggerError {
    kind: TriggerErrorKind,
    what: String,
    cause: String,
    remedy: String,
}

impl TriggerError {
    /// An error about `what` (a queue, an address, a folder). `remedy` may be empty.
    pub(crate) fn new(
        kind: TriggerErrorKind,
        what: impl AsRef<str>,
        cause: impl AsRef<str>,
        remedy: impl AsRef<str>,
    ) -> Self {
        Self {
            kind,
            what: one_line(what.as_ref()),
            cause: one_line(cause.as_ref()),
            remedy: one_line(remedy.as_ref()),
        }
    }

    /// What sort of failure it was.
    pub fn kind(&self) -> TriggerErrorKind {
        self.kind
    }

    /// Whether the same may succeed later without anybody changing anything.
    pub fn is_retryable(&self) -> bool {
        self.kind == TriggerErrorKind::Unavailable
    }
}
