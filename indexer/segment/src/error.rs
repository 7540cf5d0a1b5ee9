//! What can go wrong with an index, in words that say which object, why, and what to do.

use std::io;

use limn_store::{StoreError, StoreErrorKind};

/// An index, or a part of it, could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The object store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Bytes are not what was written: a flipped bit, a truncation, or something else's file.
    #[error(
        "{object} is damaged: {detail}; restore the object from a copy, or index the lake again into a new place"
    )]
    Damaged {
        /// Which object.
        object: String,
        /// What does not fit.
        detail: String,
    },
    /// A snapshot's bytes are not what was written.
    #[error(
        "{object} is damaged: {detail}; restore the object from a copy, or set it aside with `limn verify --repair`"
    )]
    DamagedSnapshot {
        /// Which object.
        object: String,
        /// What does not fit.
        detail: String,
    },
    /// A catalog file's bytes are not what was written.
    #[error(
        "{object} is damaged: {detail}; restore the object from a copy, or run `limn index` over the lake, which reads its tables again"
    )]
    DamagedCatalog {
        /// Which object.
        object: String,
        /// What does not fit.
        detail: String,
    },
    /// A narration file's bytes are not what was written.
    #[error("{object} is damaged: {detail}; delete it: its columns are narrated again")]
    DamagedNarrations {
        /// Which object.
        object: String,
        /// What does not fit.
        detail: String,
    },
    /// Written by a later limn.
    #[error(
        "{object} has format version {found} and this limn reads up to {supported}: use a newer limn"
    )]
    NewerFormat {
        /// Which object.
        object: String,
        /// Version found.
        found: u32,
        /// Newest version this build reads.
        supported: u32,
    },
    /// There is no index at the place.
    #[error("no index at {location}: {found}; {remedy}")]
    NotAnIndex {
        /// The place.
        location: String,
        /// What is there instead.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// An index was to be created among other things.
    #[error(
        "{location} is no index and not empty (it holds {found}): choose an empty place for --index"
    )]
    Occupied {
        /// The place.
        location: String,
        /// An object found there.
        found: String,
    },
    /// A store that cannot keep an index whole.
    #[error(
        "{location} let several writers create one object at the same time, so two runs could overwrite each other's index: choose another --index (local disks, S3 and stores with atomic conditional writes are safe), or a newer version of that store"
    )]
    TwoWinners {
        /// The place.
        location: String,
    },
    /// A snapshot by number that is not there.
    #[error("{location} has no snapshot {number}: `limn snapshots --index {location}` lists them")]
    NoSuchSnapshot {
        /// The index.
        location: String,
        /// The number asked for.
        number: u64,
    },
    /// A writer was cut off from the store for so long that garbage collection may have taken it
    /// for dead.
    #[error(
        "for {minutes} minutes {location} could not be informed that this run goes on (the machine slept, or the store was away), and garbage collection may have removed what it wrote: nothing is published; run again"
    )]
    Lapsed {
        /// The index.
        location: String,
        /// How long the writer was cut off.
        minutes: u64,
    },
    /// This machine's clock and the store's differ.
    #[error(
        "the clock of this machine is {seconds} seconds {relation} that of {location}: set it right (NTP) and run again, for age decides what is garbage"
    )]
    Skewed {
        /// The index.
        location: String,
        /// By how much they differ.
        seconds: u64,
        /// `ahead of` or `behind`.
        relation: &'static str,
    },
    /// Input that no segment or catalog can hold, or a question of another length.
    #[error("{object} cannot be used: {detail}")]
    Invalid {
        /// What is at fault: a table, mostly.
        object: String,
        /// Why.
        detail: String,
    },
    /// The local disk failed (temporary file, memory map).
    #[error("{object}: {source}")]
    Io {
        /// Path at fault.
        object: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl SegmentError {
    /// Whether the same call may succeed later without anything being changed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            SegmentError::Store(e) => e.is_retryable(),
            SegmentError::Io { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::Interrupted | io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock
            ),
            _ => false,
        }
    }

    /// Whether an object is not there.
    #[must_use]
    pub fn is_absence(&self) -> bool {
        matches!(self, SegmentError::Store(e) if e.kind() == StoreErrorKind::NotFound)
    }

    /// Whether bytes were found to be other than those written.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            SegmentError::Damaged { .. }
                | SegmentError::DamagedSnapshot { .. }
                | SegmentError::DamagedCatalog { .. }
                | SegmentError::DamagedNarrations { .. }
        )
    }

    pub(crate) fn damaged(object: impl Into<String>, detail: impl Into<String>) -> Self {
        SegmentError::Damaged {
            object: object.into(),
            detail: detail.into(),
        }
    }

    /// The same of a catalog file.
    pub(crate) fn of_catalog(self) -> Self {
        match self {
            SegmentError::Damaged { object, detail } => {
                SegmentError::DamagedCatalog { object, detail }
            }
            other => other,
        }
    }

    pub(crate) fn damaged_snapshot(object: impl Into<String>, detail: impl Into<String>) -> Self {
        SegmentError::DamagedSnapshot {
            object: object.into(),
            detail: detail.into(),
        }
    }

    pub(crate) fn invalid(object: impl ToString, detail: impl Into<String>) -> Self {
        SegmentError::Invalid {
            object: object.to_string(),
            detail: detail.into(),
        }
    }

    pub(crate) fn io(object: impl Into<String>, source: io::Error) -> Self {
        SegmentError::Io {
            object: object.into(),
            source,
        }
    }
}

/// A snapshot was not published.
#[derive(Debug, thiserror::Error)]
pub enum PublishError {
    /// Another writer published first, or the number had been used and freed.
    #[error(
        "lost the race for snapshot {number} of {location} (the newest is now {newest}): another run published; run again"
    )]
    Lost {
        /// The index.
        location: String,
        /// The number this writer wanted.
        number: u64,
        /// The highest number now.
        newest: u64,
    },
    /// The store or the bytes failed; whether the snapshot exists may be unknown.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

impl PublishError {
    /// Whether to try again: a lost race after rebasing, a store error where the store says so.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            PublishError::Lost { .. } => true,
            PublishError::Segment(e) => e.is_retryable(),
        }
    }
}

impl From<StoreError> for PublishError {
    fn from(e: StoreError) -> Self {
        PublishError::Segment(e.into())
    }
}
