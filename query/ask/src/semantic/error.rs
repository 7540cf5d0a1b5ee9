//! What can go wrong with a semantic stage: one line that says what, and what to do.

use std::time::Duration;

use arrow::error::ArrowError;
use limn_models::ModelError;
use limn_segment::SegmentError;
use thiserror::Error;

/// Why a semantic stage has no rows.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SemanticError {
    /// The stage is SQL.
    #[error("a stage of {0} asks no model: the engine runs it")]
    NotSemantic(&'static str),
    /// The rows of another number of stages were given than the stage reads.
    #[error("{stage} reads the rows of {expected} stages, and got those of {found}")]
    Inputs {
        /// The operation.
        stage: &'static str,
        /// How many it reads.
        expected: usize,
        /// How many it got.
        found: usize,
    },
    /// No input has this column.
    #[error("no column '{name}'; {}", suggestion(.near, .known))]
    UnknownColumn {
        /// The column as it was written.
        name: String,
        /// The names that are most like it.
        near: Vec<String>,
        /// The columns that there are.
        known: Vec<String>,
    },
    /// Both sides of a join have this column.
    #[error("both sides have a column '{0}': write {{left.{0}}} or {{right.{0}}}")]
    AmbiguousColumn(String),
    /// The instruction names no column, so that all rows would get one answer.
    #[error("'{0}' names no column: write those that the model is to read in braces")]
    NoColumns(String),
    /// A pair is judged by a sentence that names columns of one side alone.
    #[error("'{0}' names no column of the {1} side: a join's sentence has columns of both")]
    OneSide(String, &'static str),
    /// The new column has the name of another.
    #[error("there is a column '{0}' already: name the new one otherwise")]
    ColumnTaken(String),
    /// A stage that writes columns names none.
    #[error("sem_extract has no outputs: name the columns that are to be drawn out")]
    NoOutputs,
    /// The pattern of a column is no regular expression.
    #[error("the pattern of column '{column}' is wrong: {cause}")]
    Pattern {
        /// The column.
        column: String,
        /// What is wrong.
        cause: String,
    },
    /// A value that somebody has written is none of the column's.
    #[error("'{value}' is no value of column '{column}', which holds {wanted}")]
    Value {
        /// The value.
        value: String,
        /// The column.
        column: String,
        /// What it holds.
        wanted: String,
    },
    /// A number is out of its bounds.
    #[error("{what} is {found}: it has to be {wanted}")]
    OutOfBounds {
        /// The number's name.
        what: &'static str,
        /// The number.
        found: String,
        /// What it may be.
        wanted: &'static str,
    },
    /// The instruction leaves no room for a row in the model's window.
    #[error(
        "the instruction takes too much of the {window} tokens that {model} reads: shorten it, or use a model with a larger window"
    )]
    InstructionTooLong {
        /// The model.
        model: String,
        /// Its window.
        window: usize,
    },
    /// The stage needs likenesses, and there is no embedder.
    #[error("{0} needs an embedder")]
    NoEmbedder(&'static str),
    /// There is more than the stage takes.
    #[error("{found} {what} are too many, {most} are allowed: let SQL leave out more before")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How much.
        found: u64,
        /// How much there may be.
        most: u64,
    },
    /// The tokens that may be spent are spent.
    #[error(
        "the budget of {0} tokens is spent; the answers so far are kept, and the same plan goes on from them"
    )]
    TokensSpent(u64),
    /// The time that may be spent is spent.
    #[error(
        "the budget of {} s is spent; the answers so far are kept, and the same plan goes on from them", .0.as_secs_f64()
    )]
    TimeSpent(Duration),
    /// The model failed every time for a while.
    #[error(
        "{model} failed {failures} times in a row ({cause}); the answers before are kept, and the same plan goes on from them"
    )]
    ModelFailed {
        /// The model.
        model: String,
        /// How often.
        failures: usize,
        /// What it said first.
        #[source]
        cause: ModelError,
    },
    /// The embedder failed.
    #[error(transparent)]
    Embedder(ModelError),
    /// The embedder's thread died.
    #[error("the embedder's thread died: this is a bug, please report it")]
    EmbedderDied,
    /// Rows cannot be put together.
    #[error("the rows of a semantic stage cannot be made: {0}")]
    Arrow(#[from] ArrowError),
}

/// Why answers could not be kept, or kept ones not read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeptError {
    /// The index.
    #[error(transparent)]
    Index(#[from] SegmentError),
}

fn suggestion(near: &[String], known: &[String]) -> String {
    const LISTED: usize = 12;
    if !near.is_empty() {
        return format!("did you mean {}?", near.join(" or "));
    }
    let mut listed = known
        .iter()
        .take(LISTED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if known.len() > LISTED {
        listed.push_str(", …");
    }
    format!("there are {listed}")
}
