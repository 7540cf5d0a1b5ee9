//! Profiles: what the values of a column, a file or a table look like.
//!
//! Values become a [`ColumnProfile`] ([`ColumnBuilder`]), rows a [`RowSample`] ([`sample`]), both
//! together a [`FileSummary`]; the summaries of a table's files merge into a [`TableSummary`].
//! Types are inferred from text ([`infer`]), and so is the notation of numbers and dates
//! ([`notation`]). A profile gives keys ([`keys`]), forms of values ([`patterns`]) and the overlap
//! of two columns ([`value_set`]). This crate also decides which values are not kept ([`privacy`]).
//!
//! This crate knows nothing of files, their formats or stores.
//!
//! ```
//! use limn_profile::{ColumnBuilder, DataType};
//! let mut column = ColumnBuilder::new("price");
//! for value in [Some("1"), Some("2.5"), None, Some("1")] {
//!     column.push(value);
//! }
//! let summary = column.finish(true);
//! assert_eq!(summary.data_type, DataType::Float);
//! assert_eq!((summary.profile.values, summary.profile.nulls, summary.profile.distinct()), (3, 1, 2));
//! ```
//!
//! # Guarantees
//! - A table's row sample is uniform over all its rows and does not depend on how they are cut into
//!   reads. Counts of values are exact while a column has fewer than 128 distinct values and every
//!   row was looked at; what is estimated beyond is marked, and has error bounds ([`keys`],
//!   [`value_set`], [`patterns`]).
//! - A merge is a function of the set of files, which are given in path order; samples and sketches
//!   hash the same in every build.
//! - The memory of a column is bounded, whatever its values are.
//!
//! # Non-guarantees
//! - Types are inferred to describe a table, not to parse it.
//! - Privacy goes by names of columns and forms of values. Names of persons, addresses and
//!   birthdays have no such form.
//!
//! # Recovery
//! This crate keeps no state and cannot fail. Redacted values cannot be restored: read the files
//! again.

mod bounds;
mod builder;
mod data_type;
mod declared_keys;
mod in_files;
pub mod infer;
pub mod keys;
mod logged;
pub mod merge;
pub mod names;
pub mod notation;
mod order;
pub mod patterns;
pub mod privacy;
mod profile;
mod reading;
pub mod rice;
pub mod sample;
mod sensitive;
mod summary;
pub mod text;
mod value_hashes;
pub mod value_key;
pub mod value_set;
mod values;

pub use builder::ColumnBuilder;
pub use data_type::DataType;
pub use declared_keys::{DeclaredKeys, Reference};
pub use in_files::InFiles;
pub use logged::{
    Constant, Deletes, Logged, LoggedColumn, LoggedColumns, LoggedTable, NestedName, NestedNames,
    SharedNames,
};
pub use merge::FilePart;
pub use notation::Notation;
pub use order::Order;
pub use patterns::Pattern;
pub use privacy::{Redact, UnknownRedact};
pub use profile::{ColumnProfile, short};
pub use reading::{
    DeclaredReading, FirstRow, HeaderLine, NO_HEADER, NOTHING_DECLARED, Quoting, TextReading,
};
pub use sample::{RowSample, RowSampler, SampledRow};
pub use sensitive::Sensitive;
pub use summary::{
    ColumnSummary, FileSummary, NARROW, SUMMARY_VERSION, StoredSummary, SummaryError, TableSummary,
};
pub use value_hashes::{
    DamagedHashes, FileHashes, FileValues, KeptValues, ValueHashes, file_id, looked_up_by,
};
pub use value_set::{Overlap, ValueSet};
pub use values::{Frequent, HyperLogLog, SketchError, ValueLimits, first_placed, join_key};
