//! What a lake holds: which objects make which tables, and what each file and table looks like.
//!
//! A *lake* is a root URL with objects below it ([`limn_store::Store`]). This crate turns its
//! listing into tables in three steps, each a pure function of what it is given or of one file:
//!
//! 1. [`layout()`] sorts the listed objects into [`Group`]s: files that are, or may be, one table.
//!    Only paths are looked at.
//! 2. [`summarise_file`] reads one file, within a budget, into a [`FileSummary`]: its columns with
//!    types and profiles, its row count, and a row sample that merges.
//! 3. [`evolution::arrange`] says which files of a group are one table, and [`assemble::merge_files`] merges the summaries of a table's files into a [`TableSummary`].
//!
//! The unit of incremental work is the file: while its fingerprint
//! ([`ObjectRecord::fingerprint`]) stays, its summary holds, whatever its neighbours do.
//!
//! ```
//! use limn_lake::{ObjectRecord, contexts::Contexts, layout::layout};
//! let object = |path: &str| ObjectRecord {
//!     path: path.into(), etag: None, version: None, size: 1, modified_ms: 0,
//! };
//! let found = layout(
//!     vec![object("hr/people.csv"), object("hr/people.md"), object("sales/year=2024/1.parquet")],
//!     &Contexts::new(),
//!     "lake",
//! );
//! let names: Vec<_> = found.groups.iter().map(|group| group.name.as_str()).collect();
//! assert_eq!(names, ["hr/people", "sales"]);
//! assert_eq!(found.groups[0].contexts.len(), 1);
//! ```
//!
//! # Guarantees
//! - The same set of objects gives the same groups, names and tables in any order, on any machine,
//!   with any number of workers; fingerprints, samples and sketches hash the same in every build.
//! - No two tables of a lake share a name.
//! - A table's row sample is uniform over all its rows and does not depend on how they are cut into
//!   reads; a renamed or copied table draws the same rows. Counts of values are exact while a column
//!   has fewer than 128 distinct values and every row was looked at; what is estimated beyond is marked, and has
//!   error bounds ([`keys`], [`value_set`], [`patterns`]).
//! - A file that cannot be read is a [`FileError`] that names the object, the cause and the remedy;
//!   it costs itself only. Reading never panics and never holds more than a few scan budgets.
//!
//! # Non-guarantees
//! - Files above the scan budget are sampled: their row counts and profiles are marked as estimates,
//!   and rows are drawn from the parts that were read.
//! - Which files of one directory are one table is a judgement from names and columns; Delta and
//!   Iceberg logs are not read.
//! - Types are inferred to describe a table, not to parse it.
//!
//! # Recovery
//! Nothing here keeps state: run again. [`FileError::is_retryable`] says whether reading the same
//! version of an object again can help.

pub mod assemble;
mod compression;
mod confined;
mod content;
pub mod contexts;
mod data_type;
mod declared;
mod error;
pub mod evolution;
pub mod filter;
pub mod formats;
pub mod keys;
pub mod layout;
pub mod member;
mod merge;
pub mod notation;
mod object;
pub mod patterns;
mod place;
pub mod privacy;
pub mod profile;
pub mod reach;
mod reading;
pub mod room;
pub mod sample;
pub mod scan;
mod sheets;
mod summary;
pub mod value_set;
mod values;
pub mod why;

pub use confined::{Confined, NO_LIMITS};
pub use content::content;
pub use contexts::Contexts;
pub use data_type::DataType;
pub use declared::{DECLARED_FILE, Declared, DeclaredError, is_declared_file};
pub use error::{FileError, FileErrorKind, LakeError};
pub use filter::{FilterError, Filters};
pub use formats::{ReadOptions, open_container, summarise_file};
pub use layout::{
    ContextSource, ContextText, DataFile, Group, GroupKey, GroupKind, Ignored, Layout, layout,
};
pub use member::Listed;
pub use merge::{FilePart, InFiles};
pub use notation::Notation;
pub use object::{Fingerprint, Format, ObjectRecord, TableName};
pub use patterns::Pattern;
pub use privacy::{Redact, Sensitive};
pub use profile::{ColumnProfile, Frequent};
pub use reading::{Declaration, DeclaredReading, HeaderLine, Quoting, TextReading};
pub use room::{Held, Room};
pub use sample::{RowSample, SampledRow};
pub use summary::{
    ColumnSummary, DeclaredKeys, FileSummary, Reference, SUMMARY_VERSION, TableSummary,
};
pub use value_set::{Overlap, ValueSet};
