//! Sets of tables that join: which tables answer a question together, and how.
//!
//! A ranking judges tables one by one, and half of real questions need several that join. As in JAR
//! (ACL 2024), a question is taken apart ([`parts()`], or [`ask_for_parts`] by a model), each part
//! is compared with the columns of the ranking's first tables, pairs of tables are judged by how
//! well they join ([`Joins`]), and the best set is an exact optimum of all of it ([`optimise`]).
//! What comes out is a [`TableSet`] with a [`Plan`], which is SQL, too.
//!
//! **Guarantees.** The same candidates and parts have the same set, unless a search is ended by its
//! deadline; then the gap is stated. Nothing is chosen or said but of the candidates that were
//! given: who may see them is decided before.
//!
//! **Non-guarantees.** Joins are found by likeness of values and names, not by declarations; a plan
//! is a proposal. Scores of different questions are not comparable.
//!
//! **Recovery.** What is kept (vectors, joins) only saves time.

mod answer;
mod asked;
mod columns;
mod disjoint;
mod eval;
mod join;
mod likeness;
mod names;
pub mod optimise;
mod parts;
mod plan;
mod set;
mod vectors;

pub use answer::{Ranked, SetAnswer, SetQuery};
pub use asked::ask_for_parts;
pub use columns::{Column, TableColumns};
pub use eval::SetShares;
pub use join::{Basis, Cardinality, ColumnOf, Join};
pub use limn_retrieval::KnownJoins;
pub use parts::{Part, parts};
pub use plan::Plan;
pub use set::{Candidate, MOST_TABLES, SetSize, Sets, TableSet};
