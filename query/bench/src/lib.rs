//! Questions whose answering tables are known, made from one's own lake: PNEUMA's benchmark
//! generator (SIGMOD 2025, section 6.1) with every statement executed.
//!
//! [`make`] visits tables in a seeded order, with ten statements per visit, until it has the
//! requested number of questions. `visits` lets visits overlap where a model is asked. Of a visit:
//!
//! 1. `sample` reads at most fifty columns and ten rows of a table, by `limn-sql`.
//! 2. `draw` draws a `Statement` over them.
//! 3. [`KnownTables`] executes it: first on its own table, where an answer without a row is
//!    rejected, then on every table that has all of its columns. The tables that give an answer
//!    are the question's tables.
//! 4. `words` puts it in English, from templates; or `by_model` lets a language model do so, and
//!    checks that the question comes to the same `clauses` again.
//! 5. `by_context` lets a language model ask for a table by what its rows do not show: what the
//!    index has recorded about it, or else an invented answer to a question of the `datasheet`. The
//!    request may contain no `keywords` of the table.
//! 6. [`Question`] is the line that `limn eval` reads; [`Earlier`] is what an interrupted run has
//!    left.
//!
//! # Guarantees
//! - Each table of a content question answers its statement, and no other table of the snapshot
//!   that has the columns does. If this cannot be decided, the question is rejected.
//! - No statement uses columns that the index withholds or that hold personal data, or values of a
//!   private form.
//! - Seed, snapshot, mode, model, kinds and prefix determine the questions; with both kinds, their
//!   number does, too. A run that continues after an interruption makes the questions that it would
//!   have made. Only a statement that has time and memory enough in one run and not in another can
//!   differ.
//! - Nothing is written to the index or the lake: invented contexts are only in the file of
//!   questions.
//!
//! # Non-guarantees
//! Questions from templates name columns and values almost as the tables do. They are easier than
//! people's questions, and compare settings of one lake rather than lakes. A table with the same
//! content under other column names is not found. Whether a context answers a request is a model's
//! judgement: a less similar table may answer it, too.
//!
//! # Recovery
//! A question whose line is incomplete is made again.

mod asking;
mod by_context;
mod by_model;
mod clauses;
mod datasheet;
mod draw;
mod keywords;
mod known_tables;
mod make;
mod passages;
mod question;
mod random;
mod sample;
mod statement;
mod visits;
mod words;

pub use known_tables::KnownTables;
pub use make::{Ended, Made, MakeError, Settings, Unasked, make};
pub use question::{Context, Earlier, Kind, Kinds, Mode, Origin, Question, ResumeError};

/// Statements drawn on one visit to a table.
pub(crate) const STATEMENTS: usize = 10;
/// Contexts drawn on one visit, where questions about contexts are made.
pub(crate) const CONTEXTS: usize = 4;
/// Other tables, the most alike first, that a model is asked about a request of a context.
pub(crate) const ALIKE: usize = 8;
/// Columns of a table that statements are drawn over, at most, and rows that are sampled.
pub(crate) const COLUMNS: usize = 50;
/// See [`COLUMNS`].
pub(crate) const ROWS: usize = 10;
/// Tables that a statement is executed on, at most: one whose columns more have is rejected.
pub(crate) const MOST_ANSWERING: usize = 256;
