//! Answers to questions: SQL and semantic operators over tables that were found (TAG, CIDR 2025).
//!
//! A question becomes a [`plan`]: a typed document of stages, which people and models edit and
//! which is the only thing that runs. Its way:
//!
//! 1. `write` makes a plan of a question, from the columns and cells that it needs.
//!    What needs judgement is a statement with semantic functions, which `compile` takes apart.
//! 2. `check` says what is wrong with a plan before anything runs, and the columns of each stage.
//! 3. `run` runs it: SQL by `limn_sql`, semantic stages (`semantic`) by a language model in
//!    batches, whose answers are kept, so that a second run asks nothing twice.
//! 4. `answer` phrases the result, with the rows that prove it.

mod answer;
mod asking;
pub mod check;
pub mod compile;
mod kept_model;
pub mod plan;
pub mod run;
pub mod semantic;
mod words;
pub mod write;

pub use answer::{
    AskAnswer, AskedTable, Citation, Cost, Judged, MOST_ROWS, SpentTokens, StageRows,
};
pub use asking::{AskError, Asking};
pub use kept_model::KeptModel;
pub use words::{is_said, shown};
