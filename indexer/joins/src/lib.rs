//! The join graph's arithmetic: which columns are compared, and what comes of it.
//!
//! A [`Table`] is what is known of a table's columns: names, types, and their values as hashes of
//! join keys ([`limn_profile::ValueSet`]). [`bands`] are the hashes under which its columns look
//! for others: columns that share one are a candidate [`Pair`], of which there are no more than
//! [`candidates`] gives, however many columns share it. [`compare`] makes [`Edge`]s of two tables
//! and their candidate pairs.
//!
//! Nothing here reads, waits or keeps state: the pipeline keeps bands and pairs as differential
//! collections (`pipeline/dataflow/src/graph/`), and every function is one of its arguments
//! alone, so that the graph is a function of the set of tables.
//!
//! # Which columns join
//! 1. A join needs a *key* on one side: a column at least 95 % of whose values are distinct
//!    ([`Role::Key`]). Two columns that repeat join (n:m) only if they have the same name, which
//!    says more than `name` or `id`, at least 20 values, and no more than 64 columns of this name
//!    share their values.
//! 2. Columns without values, of one value, booleans, fractions, prose and lists make no edges.
//! 3. The values of *sequences* say nothing, as any other sequence has them: dates; whole numbers
//!    that begin among the first 2,200 and fill a hundredth of their range; columns of two values.
//!    They join only where names agree ([`Name`]), those of another database (another folder,
//!    another beginning up to `__`) only with a key that is called like its table.
//! 4. Keys that a file declares are edges, whatever the values.
//!
//! # Guarantees
//! - A column that seeks has at most [`MOST_PARTNERS`] candidates for each of its bands, of which
//!   it has at most 128 and some names; one that is sought may have as many as seek it.
//! - Candidates and edges depend on no order, number of workers or history.
//!
//! # Non-guarantees
//! - Where a hash is shared by more than [`FEW`] columns, each is compared with its neighbours by
//!   folder and name only: two tables far apart that share nothing but what everybody shares are
//!   not found.
//! - A small column contained in a key of more than 128 times as many values may share none of the
//!   key's sampled values. Lists of the key's values show it ([`look_up_band`]), where there are
//!   any and the column has eight values that are looked up: texts, and numbers of four digits or
//!   more.

mod bands;
mod compare;
mod edge;
mod id;
mod name;
mod relation;
mod short;
mod table;
#[cfg(test)]
mod tests;

pub use bands::{
    Band, FEW, MOST_PARTNERS, Meeting, Member, Pair, Part, Way, bands, candidates,
    changed_candidates, declared, look_up_band,
};
pub use compare::{Compared, compare};
pub use edge::{Cardinality, Edge, EdgeKind, Evidence, Millionths};
pub use id::{ColumnId, Place, TableId};
pub use name::Name;
pub use short::{Short, Way as ShortWay};
pub use table::{
    Column, ColumnFacts, Kind, Reference, Role, Table, lookups, name_hash, value_counts,
};
