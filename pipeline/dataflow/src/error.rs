//! What can end a run. A table that cannot be read never does: it is a [`crate::report::Failure`].

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// The run was stopped while it listed and planned.
    #[error("stopped before anything was read: the index is as it was")]
    Stopped,
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
            Self::Overtaken { .. } => true,
            Self::Settings(_)
            | Self::EmptyLake { .. }
            | Self::Stopped
            | Self::TaskDied { .. }
            | Self::Dataflow(_) => false,
        }
    }
}

/// The first error that ends the run, shared by all stages and workers of a process.
#[derive(Debug, Default)]
pub struct Fatal {
    raised: AtomicBool,
    error: Mutex<Option<PipelineError>>,
}

impl Fatal {
    /// Keeps `error` if it is the first one.
    pub fn set(&self, error: PipelineError) {
        let mut slot = self
            .error
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if slot.is_none() && !self.raised.load(Ordering::Acquire) {
            tracing::debug!(%error, "fatal error");
            *slot = Some(error);
            self.raised.store(true, Ordering::Release);
        }
    }

    /// Whether an error was raised.
    pub fn is_set(&self) -> bool {
        self.raised.load(Ordering::Acquire)
    }

    /// Takes the error out.
    pub fn take(&self) -> Option<PipelineError> {
        self.error
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .take()
    }
}
