//! What a lake holds: which objects make which tables, which texts describe them, and the rows of a
//! table.
//!
//! A *lake* is a root URL with objects below it ([`limn_store::Store`]). This crate turns its
//! listing into tables in three steps, each a pure function of what it is given or of one file:
//!
//! 1. [`layout()`] sorts the listed objects into [`Group`]s: files that are, or may be, one table.
//!    It looks only at paths. Archives, databases and spreadsheet files are opened before
//!    ([`open_container`]).
//! 2. [`limn_formats::summarise_file`] reads one file, within a budget, into a
//!    [`limn_profile::FileSummary`]: its columns with types and profiles, its row count, and a row
//!    sample that merges.
//! 3. [`evolution::arrange`] says which files of a group are one table, and
//!    [`assemble::merge_files`] merges the summaries of a table's files into a
//!    [`limn_profile::TableSummary`]. Where one file leaves open how it is to be read, all files
//!    decide together.
//!
//! A [`scan`] reads the rows of a table. [`contexts`] finds the texts about it; [`filter`] excludes
//! what people do not want indexed.
//!
//! The unit of incremental work is the file: while its fingerprint
//! ([`limn_formats::ObjectRecord::fingerprint`]) stays the same, its summary stays valid, whatever
//! happens to its neighbours.
//!
//! ```
//! use limn_formats::ObjectRecord;
//! use limn_lake::{contexts::Contexts, layout::layout};
//! let object = |path: &str| ObjectRecord {
//!     path: path.into(), etag: None, version: None, size: 1, modified_ms: 0,
//! };
//! let found = layout(
//!     vec![object("hr/people.csv"), object("hr/people.md"), object("sales/year=2024/1.parquet")],
//!     &Contexts::new(),
//!     "lake",
//! );
//! let groups: Vec<_> = found.groups().collect();
//! let names: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
//! assert_eq!(names, ["hr/people", "sales"]);
//! assert_eq!(groups[0].contexts.len(), 1);
//! ```
//!
//! # Guarantees
//! - The same set of objects gives the same groups, names and tables in any order, on any machine,
//!   with any number of workers; fingerprints hash the same in every build.
//! - No two tables of a lake share a name.
//! - A renamed or copied table draws the same rows.
//! - A scan yields every row of the given file versions once, in one order and in bounded memory,
//!   or says which file it could not read.
//!
//! # Non-guarantees
//! - Without a log, names and columns decide which files of a directory are one table: a judgement.
//!
//! # Recovery
//! This crate keeps no state: run again.

pub mod assemble;
mod container;
mod content;
pub mod contexts;
mod dates;
mod declared;
mod error;
pub mod evolution;
pub mod filter;
mod hidden;
pub mod layout;
mod months;
mod place;
pub mod reach;
pub mod scan;
mod settled;
mod sheets;
pub mod sources;
mod table_name;
pub mod why;

pub use container::open_container;
pub use content::content;
pub use contexts::Contexts;
pub use declared::{DECLARED_FILE, Declared, DeclaredError, is_declared_file};
pub use error::LakeError;
pub use filter::{FilterError, Filters};
pub use layout::{
    ContextSource, ContextText, Group, GroupKey, GroupKind, Ignored, Layout, LogFile, LogTable,
    Others, Outline, TableFile, layout,
};
pub use table_name::TableName;
