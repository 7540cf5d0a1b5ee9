//! When a search is to end, done or not.

use std::time::Instant;

use crate::error::RetrievalError;

/// The time until which an answer is wanted, if there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(pub(crate) Option<Instant>);

impl Deadline {
    /// Asked before each piece of work that may take milliseconds.
    ///
    /// # Errors
    /// [`RetrievalError::TooLate`].
    pub(crate) fn check(self) -> Result<(), RetrievalError> {
        match self.0 {
            Some(end) if Instant::now() >= end => Err(RetrievalError::TooLate),
            _ => Ok(()),
        }
    }
}
