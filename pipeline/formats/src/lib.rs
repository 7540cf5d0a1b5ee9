//! Reads one file: its rows, and the summary that limn keeps of it. Formats: Parquet, Arrow, Avro,
//! ORC, delimited and plain text, JSON lines, dBase tables and shapefiles, spreadsheets, SQLite
//! databases, and any of these within an archive.
//!
//! There are three entry points. [`summarise_file`] reads a file, within a budget, into a
//! [`FileSummary`](limn_profile::FileSummary). [`rows`] reads all rows of a file that was
//! summarised, as Arrow record batches ([`FileBatch`]). [`open_container`] lists what is in an
//! archive, database or spreadsheet file ([`member`]).
//!
//! Bytes are fetched on the caller's runtime. Parsing runs on a blocking thread, so it delays no
//! operator or request. A parser that panics costs only its own file: the panic becomes a
//! [`FileError`] like any other (design, invariant 6).
//!
//! [`ReadOptions::scan_budget`] bounds what a summary reads. Files within the budget are read
//! whole. Of larger files a stable hash chooses ranges, row groups, batches or stripes, so the same
//! file is read in the same places on any machine and with any number of workers. Peak memory stays
//! below about eight budgets; the worst case is an Arrow file within the budget with its
//! dictionaries (three) and one column (three). A child process ([`Confined`]) does what a library
//! does not bound; a [`Room`] bounds the memory of all files together.
//!
//! ```
//! use limn_formats::{DataFile, Format, ObjectRecord, ReadOptions, summarise_file};
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let store = limn_store::Store::in_memory();
//! store.put("people.csv", "id,name\n1,ada\n2,bob\n".into()).await.unwrap();
//! let file = DataFile {
//!     object: ObjectRecord::from(store.head("people.csv").await.unwrap()),
//!     format: Format::of_path("people.csv").unwrap(),
//!     sample_path: String::new(),
//!     is_beside: false,
//!     is_alone: false,
//!     declared: None,
//! };
//! let summary = summarise_file(&store, &file, &ReadOptions::default()).await.unwrap();
//! assert_eq!(summary.rows, 2);
//! # });
//! ```
//!
//! # Guarantees
//! - A summary is a function of the file's bytes, its `sample_path` and the options; the rows are
//!   those of the version that was summarised, in the order of the file.
//! - A file that cannot be read is a [`FileError`] that names the object, the cause and the remedy;
//!   it costs only itself. A file's claims are checked before memory, time or stack is spent on
//!   them. Reading never panics.
//!
//! # Non-guarantees
//! - Files above the scan budget are sampled for their summaries: row counts and profiles are
//!   marked as estimates, and sampled rows come from the parts that were read.
//! - Types of text are inferred to describe a table, not to parse it.
//!
//! # Recovery
//! This crate keeps no state: read again. [`FileError::is_retryable`] says whether reading the same
//! version of an object again can help.

mod arrow_ipc;
mod arrow_type;
mod avro;
mod batches;
mod codec;
mod compression;
mod confined;
mod containers;
mod data_file;
mod dbf;
pub mod declaration;
mod deletes;
mod dialect;
mod documented;
mod error;
mod extent;
mod failure;
pub mod fitting;
mod footer;
mod format;
mod header;
mod input;
mod json;
mod live;
pub mod member;
pub mod names;
mod nested;
mod object;
mod objects;
mod options;
mod orc;
mod parquet;
pub mod parts;
mod plain;
mod ranged;
pub mod render;
mod room;
mod rows;
mod scanned;
mod sniff;
mod summarise;
mod test;
mod text;
mod typed;
mod unnamed;
mod windows;

pub use arrow_type::{arrow_type, column_type};
pub use avro::columns::{AvroColumn, avro_columns};
pub use batches::{BATCH_BYTES, BATCH_ROWS, FileBatch, Wanted};
pub use compression::without_compression;
pub use confined::{Confined, Ended, NO_LIMITS};
pub use containers::book::answer::answer_book;
pub use containers::sqlite::view::answer_view;
pub use containers::{IS_DUCKDB, OpenContainers};
pub use containers::{MemberNames, open_container};
pub use data_file::DataFile;
pub use declaration::Declaration;
pub use documented::DESCRIPTION_CHARS;
pub use error::{FileError, FileErrorKind};
pub use failure::Failure;
pub use format::{Container, Format};
pub use json::artifact::{Artifact, is_named_openlineage};
pub use json::holds::{Holds, SIDECAR_BYTES, holds};
pub use member::Listed;
pub use object::{Fingerprint, Hasher, ObjectRecord, ObjectVersion};
pub use objects::{ObjectRef, Objects};
use options::MAX_COLUMNS;
pub use options::ReadOptions;
pub use plain::text_holds_rows;
pub use room::{Held, Room};
pub use scanned::all_rows;
pub use scanned::rows;
use summarise::parse;
pub use summarise::summarise_file;
pub use test::{Bounds, Comparison, Side, Test};

#[cfg(test)]
mod tests;
