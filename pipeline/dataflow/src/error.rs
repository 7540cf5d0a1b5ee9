//! What can end a run. A table that cannot be read never does: it is a [`crate::report::Failure`].

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// An error that ends the run; the index stays at its last snapshot.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// The lake's or the index's store refused.
    #[error(transparent)]
    Store(#[from] limn_store::StoreError),
    /// The index could not be read or written.
    #[error(transparent)]
    Segment(#[from] limn_segment::SegmentError),
    /// The next snapshot could not be published.
    #[error(transparent)]
    Publish(#[from] limn_segment::PublishError),
    /// The embedder failed.
    #[error(transparent)]
    Model(#[from] limn_models::ModelError),
    /// The index was made with settings that this run cannot keep.
    #[error("{0}")]
    Settings(String),
    /// Another run has written what this one was to write.
    #[error(
        "{reason}; nothing is lost: what this run published stays, and the next run does the rest: run again"
    )]
    Overtaken {
        /// What the other run did.
        reason: String,
    },
    /// What a process keeps of the catalog cannot be kept on the disk.
    #[error(
        "the rows of the index's catalog cannot be kept in the temporary folder {}: {error}; it needs room for all of them (TMPDIR names another folder)",
        folder.display()
    )]
    Scratch {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// The lake lists no object, and that is more likely a mistake than meant.
    #[error(
        "{lake} lists no object at all, and the index has {tables} tables of it: check the path or prefix and that the disk is mounted; --allow-empty takes it as it is"
    )]
    EmptyLake {
        /// The lake's URL.
        lake: String,
        /// Tables of the lake in the index.
        tables: u64,
    },
    /// Filters leave out every table that the index has, and that is more likely a mistake than
    /// meant.
    #[error(
        "the filters leave out all {filtered} objects of {lake} that could be tables, and the index has {tables} tables of it: check --include and the others, and .limnignore files; --allow-empty removes the tables"
    )]
    NothingLeft {
        /// The lake's URL.
        lake: String,
        /// Objects that are left out.
        filtered: u64,
        /// Tables of the lake in the index.
        tables: u64,
    },
    /// The run was stopped while it listed and planned, or before a first epoch was begun.
    #[error("stopped before anything was read: the index is as it was")]
    Stopped,
    /// Processes of the cluster did not come.
    #[error(
        "{processes} did not come within {limit:?}: start all processes at about the same time, and check --hosts{}",
        refused.as_ref().map_or(String::new(), Refused::hint)
    )]
    Missing {
        /// Their numbers and addresses.
        processes: String,
        /// How long was waited for them.
        limit: Duration,
        /// Who called instead.
        refused: Option<Refused>,
    },
    /// A process of the cluster has another key, or only one of the two has one.
    #[error(
        "process {process} at {address} {stranger}: start all processes with the same --cluster-key"
    )]
    OtherKey {
        /// Its number.
        process: usize,
        /// Its address.
        address: String,
        /// What is wrong with it.
        stranger: Stranger,
    },
    /// Processes are on several machines, and nothing protects their connections.
    #[error(
        "{address} in --hosts is not of this machine, and whoever reaches it could join: give all processes the same --cluster-key FILE, or --cluster-plaintext where nobody else reaches their ports"
    )]
    Unprotected {
        /// The address.
        address: String,
    },
    /// A process of the cluster was lost.
    #[error(
        "process {process} at {address} was lost ({how}); what was published stays; start all processes again"
    )]
    Lost {
        /// Its number.
        process: usize,
        /// Its address.
        address: String,
        /// How that was noticed.
        how: String,
    },
    /// Another process of the cluster ended the run with an error.
    #[error("process {process} at {address} ended the run: {error}")]
    Peer {
        /// Its number.
        process: usize,
        /// Its address.
        address: String,
        /// Its error.
        error: String,
    },
    /// A task of the dataflow panicked: a defect of limn.
    #[error(
        "a task of stage '{stage}' died; this is a defect of limn, please report it with the log (-v)"
    )]
    TaskDied {
        /// The dataflow stage.
        stage: &'static str,
    },
    /// The dataflow itself could not be started or a worker died.
    #[error("the dataflow stopped: {0}")]
    Dataflow(String),
}

impl PipelineError {
    /// Whether the same run may succeed when it is simply tried again.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Store(error) => error.is_retryable(),
            Self::Publish(error) => error.is_retryable(),
            Self::Segment(error) => error.is_retryable(),
            Self::Model(error) => error.is_retryable(),
            Self::Overtaken { .. }
            | Self::Lost { .. }
            | Self::Missing { .. }
            | Self::Scratch { .. } => true,
            Self::Settings(_)
            | Self::OtherKey { .. }
            | Self::Unprotected { .. }
            | Self::Peer { .. }
            | Self::EmptyLake { .. }
            | Self::NothingLeft { .. }
            | Self::Stopped
            | Self::TaskDied { .. }
            | Self::Dataflow(_) => false,
        }
    }
}

/// How the key of who calls or answers differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stranger {
    /// Both ends have one, and not the same.
    OtherKey,
    /// This end has one, the other none.
    NoKey,
    /// The other end has one, this none.
    Keyed,
}

impl fmt::Display for Stranger {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::OtherKey => "has another cluster key",
            Self::NoKey => "has no cluster key, and this process has one",
            Self::Keyed => "has a cluster key, and this process has none",
        })
    }
}

/// A call that was refused.
#[derive(Clone, Copy, Debug)]
pub struct Refused {
    /// Where it came from.
    pub from: IpAddr,
    /// Why.
    pub stranger: Stranger,
}

impl Refused {
    fn hint(&self) -> String {
        let Self { from, stranger } = self;
        format!("; a caller from {from} {stranger}: give all processes the same --cluster-key")
    }
}

/// The first error that ends the run, shared by all stages and workers of a process.
#[derive(Debug, Default)]
pub struct Fatal {
    raised: CancellationToken,
    error: Mutex<Option<PipelineError>>,
}

impl Fatal {
    /// Keeps `error` if it is the first one.
    pub fn set(&self, error: PipelineError) {
        let mut slot = self
            .error
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if slot.is_none() && !self.raised.is_cancelled() {
            tracing::debug!(%error, "fatal error");
            *slot = Some(error);
            self.raised.cancel();
        }
    }

    /// Whether an error was raised.
    pub fn is_set(&self) -> bool {
        self.raised.is_cancelled()
    }

    /// Waits until an error is raised.
    pub async fn raised(&self) {
        self.raised.cancelled().await;
    }

    /// Takes the error out.
    pub fn take(&self) -> Option<PipelineError> {
        self.error
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .take()
    }
}
