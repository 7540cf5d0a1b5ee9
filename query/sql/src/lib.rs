//! SQL over the tables of a lake, read-only and within limits.
//!
//! [`Engine::run`] takes one statement and gives an [`Answer`], a stream of Arrow batches. The
//! tables are those of a
//! [`Catalogue`]: the records of one snapshot that the caller may see. A statement goes this way:
//!
//! 1. `statement`, `dialect`, `size`, `check`: it is parsed, and refused if it does not read, or is
//!    too large.
//! 2. `relations`, `scope`, `names`: what its names mean. The tables that it names are opened
//!    (`rows`), no others. Columns of a grouped SELECT that it does not group by stand for one row
//!    of each group (`groups`).
//! 3. DataFusion plans it over those tables (`provider`, `types`, `pushdown`, `statistics`) and
//!    runs it within [`Limits`], of which the time is looked at wherever it computes (`watch`).
//! 4. Each table is read by limn's own scan ([`limn_lake::scan`]); what that met is said in the
//!    answer's notes.
//!
//! DataFusion has no file format, object store, catalog or table function here: there is nothing
//! else that it could read.
//!
//! # Guarantees
//! - A statement only reads, and only tables of its catalogue. Errors and suggestions name no other
//!   table.
//! - A column that the index withholds is no part of its table: its values are in no answer,
//!   filter, statistic or note.
//! - A statement ends: with all rows, or those that a limit allows, or an error that names the
//!   limit. However deep it is, it ends in an error and not in a stack overflow. An answer that is
//!   dropped reads nothing more.
//! - Rows are those of the files that the index knows. A file that has changed since is an error
//!   (`stale`); where the index alone has the answer no file is looked at, and a note says so.
//!
//! # Non-guarantees
//! - A function of one value (`levenshtein` of two texts of a million letters) is computed to its
//!   end, also after the statement's time. The answer ends in time; a thread is free again when the
//!   value is there.
//! - Without ORDER BY, rows come in any order; which ones a limit leaves may differ from run to
//!   run.
//! - [`Limits::memory_bytes`] is for what sorts, groups and joins hold. What a batch of rows takes,
//!   and what a function makes of its values (within bounds of their own: `functions`), is besides
//!   it. The larger side of a join is read as it comes; the smaller one must fit.
//! - A statement whose time is over while it is planned is answered at once; its thread ends when
//!   the planner comes to a step between two of its own.
//!
//! # Recovery
//! Nothing is kept: run again. [`SqlError::is_retryable`] says whether that alone can help.
//! Temporary files go with the query; those of a killed process are in the system's folder for
//! such.

mod answer;
mod behind;
mod blame;
mod catalogue;
pub mod cells;
mod check;
mod columns;
mod describe;
mod dialect;
mod engine;
mod error;
mod failure;
mod fan_out;
mod functions;
mod groups;
mod inputs;
mod limits;
mod names;
mod near;
mod notes;
mod pasted;
mod provider;
mod pushdown;
mod relations;
mod rows;
mod scan;
mod scope;
mod shape;
mod size;
mod stale;
mod statement;
mod statistics;
pub mod syntax;
mod table;
#[cfg(test)]
mod tests;
mod ties;
mod types;
mod watch;
mod why;
pub mod written;

pub use answer::{Answer, ReadCounts};
pub use behind::Behind;
pub use catalogue::{Catalogue, Lake, Line, Tables};
pub use engine::Engine;
pub use error::SqlError;
pub use inputs::{Input, Inputs};
pub use limits::Limits;
pub use rows::files_of;
pub use stale::Stale;
pub use ties::Tie;
pub use why::why_of;
