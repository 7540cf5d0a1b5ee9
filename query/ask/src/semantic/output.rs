//! What comes out of a semantic stage beside its rows.

use arrow::array::RecordBatch;

/// The rows of a semantic stage, and what is to be known of them.
#[derive(Clone, Debug)]
pub struct Output {
    /// The rows.
    pub batch: RecordBatch,
    /// What of them a model has judged.
    pub judged: Vec<Judged>,
    /// Answers that are missing or do not fit: NULL, not kept, or undecided.
    pub failed: u64,
    /// For each row, the places of the input rows that its text cites, in order; sem_agg alone. The
    /// text cites the row at place 0 as `[1]`.
    pub cites: Option<Vec<Vec<u64>>>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// A part of the rows that a model has judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// The column that it wrote; `None` where it decided which rows there are, or their order.
    pub column: Option<String>,
    /// How probable it found each row's value, 0 to 1, where it says so; empty where it never does.
    pub sure: Vec<Option<f32>>,
}

impl Judged {
    /// Which rows there are.
    pub(super) fn rows(sure: Vec<Option<f32>>) -> Judged {
        Judged { column: None, sure }
    }

    /// A column.
    pub(super) fn column(name: &str, sure: Vec<Option<f32>>) -> Judged {
        Judged {
            column: Some(name.to_owned()),
            sure,
        }
    }
}

/// What a stage would ask of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Questions that no kept answer answers.
    pub calls: u64,
    /// Questions that kept answers answer.
    pub kept: u64,
    /// Tokens of the prompts.
    pub prompt_tokens: u64,
    /// Tokens of the answers, at most.
    pub generated_tokens: u64,
}
