//! What can go wrong between a question and its tables.

use limn_models::ModelError;
use limn_segment::{SegmentError, TableKey};

use crate::judge::CalibrationError;

/// A question could not be answered, or an index not opened for questions.
#[derive(Debug, thiserror::Error)]
pub enum RetrievalError {
    /// The index could not be read.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The question could not be embedded.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The vectors of the index were made by another model than the one at hand.
    #[error(
        "the index was made with embedder '{index}' and the questions would be embedded by '{given}'; use the index's embedder, or index the lake again"
    )]
    OtherEmbedder {
        /// The embedder the snapshot names.
        index: String,
        /// The one that was given.
        given: String,
    },
    /// The words of the index were made by another analyzer: none of the question's would match.
    #[error(
        "{object} was made with analyzer {found} and this limn has {supported}; use the limn that made it, or index the lake anew into another --index"
    )]
    OtherAnalyzer {
        /// The snapshot or the segment.
        object: String,
        /// Its analyzer's version.
        found: u32,
        /// The version that questions are analyzed by.
        supported: u32,
    },
    /// The question itself makes no sense.
    #[error("cannot search: {reason}")]
    Query {
        /// What is wrong, and what would be right.
        reason: String,
    },
    /// The time at which the answer was wanted has passed ([`Query::until`](crate::Query::until)).
    #[error("the search took too long and was ended")]
    TooLate,
    /// There is no such table, or the searcher does not see it.
    #[error("there is no table '{}' of {} in the index; limn tables lists them", table.name, table.lake)]
    NoSuchTable {
        /// Which table was named.
        table: TableKey,
    },
    /// A selection's numbers are those of another searcher's tables.
    #[error(
        "the selection was made by another searcher, where its numbers mean other tables; select from the one that is asked"
    )]
    OtherSelection,
    /// A judge's calibration could not be made, read or written.
    #[error(transparent)]
    Calibration(#[from] CalibrationError),
    /// A model failed at judging while it was calibrated.
    #[error("cannot calibrate {model}: {reason}; limn models check tries the model")]
    Uncalibrated {
        /// The model.
        model: String,
        /// Why.
        reason: String,
    },
    /// A saved run cannot be read, or is of other questions.
    #[error(
        "{file}, line {line}: {reason}; save a run over the same questions with limn eval --save"
    )]
    Saved {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// Weights cannot be fitted to these questions.
    #[error("cannot tune: {reason}")]
    Tuning {
        /// Why, and what to do.
        reason: String,
    },
    /// The weights that a snapshot has of its own cannot be used.
    #[error(
        "the index's own weights of the ranking (snapshot {snapshot}) cannot be used: {reason}; limn tune --reset takes them out"
    )]
    Tuned {
        /// The snapshot.
        snapshot: u64,
        /// What is wrong with them.
        reason: String,
    },
    /// A line of a questions file cannot be read.
    #[error("{file}, line {line}: {reason}; write one {format} a line")]
    Questions {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
        /// How a line is written.
        format: &'static str,
    },
}

impl RetrievalError {
    /// Whether the same call may succeed later without anything being changed.
    pub fn is_retryable(&self) -> bool {
        match self {
            RetrievalError::Segment(error) => error.is_retryable(),
            RetrievalError::Model(error) => error.is_retryable(),
            _ => false,
        }
    }
}
