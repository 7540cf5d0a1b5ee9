//! The timely dataflow: a lake's changes in, published segments out.
//!
//! A round lists a lake, lays its objects out into groups, and feeds them, epoch by epoch, into one
//! timely dataflow (`job` reads from top to bottom like the picture). A run is a `session` of
//! one round:
//!
//! ```text
//! listing ─ layout ─► (group, member) ─┬─► what changed ─► work ─► reads ─► tables ─► words ─► vectors ─► segments ─► publish
//! catalog of the last snapshot ────────┘                    ▲                                          (by shard)  (by epoch)
//!                                         narrations, later ┘
//! ```
//!
//! Of groups that differ, the lake's state and the published state are differential collections of
//! fingerprints (`changes`); only their differences travel on. Operators never block: reads, models
//! and uploads are tasks on a tokio runtime whose completions wake the operator (`async_operator`).
//!
//! # Guarantees
//! - An epoch is published when its frontier has passed: all of it or nothing.
//! - A table is never split over two epochs, and a run touches only its own lake's tables.
//! - The documents and vectors do not depend on the number of workers, shards or epochs.
//! - A file that cannot be read costs only itself, and takes part with its last good version where
//!   it had one; what cannot be listed stays as it is.
//! - Text that is already in the index is not embedded again.
//! - Searchable first, narrated later (`narrate`): no table waits for a language model to be
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

mod assemble;
mod assembler;
mod async_operator;
mod changes;
mod clock;
mod cluster;
mod containers;
mod describe;
mod documents;
mod draft;
mod drive;
mod embed;
mod epoch_end;
mod error;
mod filtering;
mod graph;
mod held_back;
mod inputs;
mod job;
mod kept;
mod known_failures;
mod known_vectors;
mod listing;
mod logs;
mod narrate;
mod open;
mod options;
mod parts;
mod pending;
mod plan;
mod planned;
mod position;
mod progress;
mod publish;
mod published;
mod published_vectors;
mod read;
mod rebase;
mod repair;
mod report;
mod resample;
mod round;
mod scope;
mod segments;
mod select;
mod session;
mod settings;
mod share;
mod sketches;
mod tasks;
mod text_share;
mod values;
mod weight;
mod when_complete;
mod wire;

pub use cluster::Cluster;
pub use cluster::key::{ClusterKey, KeyError};
pub use cluster::options::{ClusterOptions, Trust};
pub use error::PipelineError;
pub use options::{Narrate, NarrateWith, RunOptions};
pub use progress::Progress;
pub use report::{Failure, ObjectCounts, Report, Skipped};
pub use scope::{Part, Scope};
pub use session::{Followed, Session, follow, index_lake};
pub use settings::IndexSettings;
pub use settings::encoder_of;
pub use tokio_util::sync::CancellationToken;

/// Single stages of the job and what they keep in the index, for this repository's measurements
/// and its tests that look into an index. It is no part of the crate's interface.
#[doc(hidden)]
pub mod stages {
    pub use crate::changes::{Change, Epoch, GroupId, MemberId, changed_groups, side};
    pub use crate::graph::{
        EdgeUpdate, GraphWork, LookedUp, Looking, MemberUpdate, TableUpdate, edges, segment_hash,
    };
    pub use crate::listing::Listing;
    pub use crate::plan::{Planner, members, plan};
    pub use crate::published::Published;
    pub use crate::read::Reader;
    pub use crate::share::{Assignment, Share};
    pub use crate::sketches::{
        ColumnSketch, JoinColumns, SketchedColumns, column_sketches, graph_table, kept,
    };
}
