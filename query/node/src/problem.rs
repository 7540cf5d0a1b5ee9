//! The answer to a request that cannot be served: what failed, on what, why, what to do.
//!
//! Errors of the store and of the index go to the log in full, with the request's id. A caller
//! learns the kind of the trouble only: paths, addresses and names in them are the operator's
//! business.

use std::time::Duration;

use limn_retrieval::RetrievalError;
use limn_segment::SegmentError;
use serde::Serialize;
use utoipa::ToSchema;

/// Kinds of problems, by who can do something about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The request makes no sense.
    BadRequest,
    /// No key and no token, or none that is good.
    Unauthorized,
    /// The key or token has not the right.
    Forbidden,
    /// There is no such thing among what the caller may see.
    NotFound,
    /// The method is not one of this address.
    MethodNotAllowed,
    /// No form of the answer is one that the request takes.
    NotAcceptable,
    /// The request took too long to come.
    RequestTimeout,
    /// The body is too large.
    TooLarge,
    /// The body is of another type than JSON.
    UnsupportedMediaType,
    /// More requests than the caller may send.
    TooManyRequests,
    /// The node has more to do than it can.
    Busy,
    /// The answer took too long.
    Timeout,
    /// The index or a model cannot be used now.
    Unavailable,
    /// A mistake in limn.
    Internal,
}

impl Code {
    /// The HTTP status.
    pub fn status(self) -> u16 {
        match self {
            Code::BadRequest => 400,
            Code::Unauthorized => 401,
            Code::Forbidden => 403,
            Code::NotFound => 404,
            Code::MethodNotAllowed => 405,
            Code::NotAcceptable => 406,
            Code::RequestTimeout => 408,
            Code::TooLarge => 413,
            Code::UnsupportedMediaType => 415,
            Code::TooManyRequests => 429,
            Code::Busy | Code::Timeout | Code::Unavailable => 503,
            Code::Internal => 500,
        }
    }
}

/// What went wrong, as a caller sees it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ErrorDetail {
    /// Its kind.
    pub code: Code,
    /// What failed, on what, why.
    pub message: String,
    /// What to do next.
    pub remedy: String,
}

impl From<Problem> for ErrorDetail {
    fn from(problem: Problem) -> ErrorDetail {
        ErrorDetail {
            code: problem.code,
            message: problem.message,
            remedy: problem.remedy,
        }
    }
}

/// A request that cannot be answered.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}; {remedy}")]
pub struct Problem {
    /// Its kind.
    pub code: Code,
    /// What failed, on what, why.
    pub message: String,
    /// What to do next.
    pub remedy: String,
    /// When asking again makes sense.
    pub retry_after: Option<Duration>,
}

impl Problem {
    /// A problem that asking again does not mend.
    pub fn new(code: Code, message: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem {
            code,
            message: message.into(),
            remedy: remedy.into(),
            retry_after: None,
        }
    }

    /// With the time after which asking again makes sense.
    #[must_use]
    pub fn after(mut self, time: Duration) -> Problem {
        self.retry_after = Some(time);
        self
    }

    /// A request that makes no sense.
    pub fn bad(message: impl Into<String>, remedy: impl Into<String>) -> Problem {
        Problem::new(Code::BadRequest, message, remedy)
    }

    /// A table that there is not, or that the caller may not see: the same words for both. No table
    /// has an empty name.
    pub fn no_table(name: &str) -> Problem {
        if name.trim().is_empty() {
            return Problem::bad(
                "the table's name is empty",
                "name one; a search and a list of tables give their names",
            );
        }
        let name = shortened(name, 200);
        Problem::new(
            Code::NotFound,
            format!("there is no table '{name}'"),
            "look for its name by a search or in a list of tables",
        )
    }

    /// Something that the node needs and cannot use now.
    pub(crate) fn unavailable(what: &str, remedy: &str) -> Problem {
        Problem::new(Code::Unavailable, what, remedy).after(Duration::from_secs(5))
    }

    /// An answer that took longer than it may.
    pub fn late() -> Problem {
        Problem::new(
            Code::Timeout,
            "the answer took longer than it may",
            "ask again; ask for less, or without a judge",
        )
        .after(Duration::from_secs(5))
    }

    /// A mistake in limn; what it was is in the log.
    pub fn internal() -> Problem {
        Problem::new(
            Code::Internal,
            "the node made a mistake",
            "tell its operator the request's id, which is in the log with the reason",
        )
    }
}

/// A text cut to so many characters.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

impl From<SegmentError> for Problem {
    fn from(error: SegmentError) -> Problem {
        if let SegmentError::NoSuchSnapshot { number, .. } = error {
            return Problem::new(
                Code::NotFound,
                format!("there is no snapshot {number}"),
                "choose one that there is: old ones go with garbage collection",
            );
        }
        tracing::error!(%error, "the index cannot be read");
        if error.is_retryable() || error.is_absence() {
            return Problem::unavailable(
                "the index cannot be read now",
                "ask again soon; if it stays so, the node's log says why",
            );
        }
        Problem::unavailable(
            "a part of the index is damaged or missing",
            "the operator learns from limn verify what to do",
        )
    }
}

impl From<RetrievalError> for Problem {
    fn from(error: RetrievalError) -> Problem {
        match error {
            RetrievalError::Query { reason } => {
                Problem::bad(reason, "mend the question and ask again")
            }
            RetrievalError::TooLate => Problem::late(),
            RetrievalError::Segment(error) => error.into(),
            RetrievalError::Model(error) => {
                tracing::error!(%error, "a model failed");
                Problem::unavailable(
                    "the model that reads questions failed",
                    "ask again soon; if it stays so, the node's log says why",
                )
            }
            error => {
                tracing::error!(%error, "a request failed");
                Problem::internal()
            }
        }
    }
}
