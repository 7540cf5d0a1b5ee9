//! The timely dataflow: a lake's changes in, published segments out.
//!
//! A round lists a lake, lays its objects out into groups, and feeds them, epoch by epoch, into one
//! timely dataflow ([`job`] reads from top to bottom like the picture). A run is a [`session`] of
//! one round:
//!
//! ```text
//! listing ─ layout ─► (group, member) ─┬─► what changed ─► work ─► reads ─► tables ─► words ─► vectors ─► segments ─► publish
//! catalog of the last snapshot ────────┘                    ▲                                          (by shard)  (by epoch)
//!                                         narrations, later ┘
//! ```
//!
//! The lake's state and the published state are differential collections of fingerprints
//! ([`changes`]); only their differences travel on. Operators never block: reads, models and
//! uploads are tasks on a tokio runtime whose completions wake the operator ([`async_operator`]).
//!
//! # Guarantees
//! - An epoch is published when its frontier has passed: all of it or nothing.
//! - A table is never split over two epochs, and a run touches only its own lake's tables.
//! - The documents and vectors do not depend on the number of workers, shards or epochs.
//! - A file that cannot be read costs only itself, and takes part with its last good version where
//!   it had one; what cannot be listed stays as it is.
//! - Text that is already in the index is not embedded again.
//! - Searchable first, narrated later ([`narrate`]): no table waits for a language model to be
//!   published, and no column is narrated twice.
//!
//! # Non-guarantees
//! - The number of segments grows with every epoch that changes something, until compaction.
//! - A listing is taken as the truth at the time of its pages; a file that changes while it is read
//!   is described as whatever was read, and found changed by the next run.
//!
//! # Recovery
//! Timely does not survive a lost worker. A task that fails or dies ends the run; the index stays
//! at its last snapshot, and the next run starts from there: epochs that were published are not
//! repeated.

pub mod assemble;
pub mod async_operator;
pub mod changes;
pub mod cluster;
mod containers;
pub mod describe;
pub mod documents;
pub mod drive;
pub mod embed;
pub mod error;
pub mod filtering;
pub mod graph;
pub mod held_back;
pub mod job;
pub mod kept;
pub mod known_failures;
pub mod listing;
mod logs;
pub mod narrate;
pub mod open;
pub mod options;
pub mod parts;
mod pending;
pub mod plan;
pub mod progress;
pub mod publish;
pub mod published;
pub mod published_vectors;
pub mod read;
pub mod rebase;
pub mod report;
pub mod resample;
pub mod round;
pub mod scope;
pub mod segments;
pub mod select;
pub mod session;
pub mod sketches;
mod values;
mod weight;
pub mod wire;

pub use cluster::follow::{Followed, follow};
pub use cluster::key::{ClusterKey, KeyError};
pub use cluster::{Cluster, ClusterOptions, Trust};
pub use error::PipelineError;
pub use options::{Narrate, NarrateWith, RunOptions};
pub use progress::Progress;
pub use publish::encoder_of;
pub use report::{Failure, Report};
pub use scope::Scope;
pub use session::{Session, index_lake};
pub use tokio_util::sync::CancellationToken;
