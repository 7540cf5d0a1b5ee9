//! Reads: what is to be read for a group, what is known of it, and what came of it.

use limn_formats::{FileError, FileErrorKind, Fingerprint, Held, ObjectRecord};
use limn_lake::contexts::{About, ContextPart, SharedKind, SharedText};
use limn_lake::{TableFile, TableName};
use limn_profile::FileSummary;
use serde::{Deserialize, Serialize};

use crate::changes::GroupId;
use crate::wire::Wire;

/// Which part of a group a read is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Part {
    /// The file at this index of the group's files.
    File(u32),
    /// The context at this index of the group's contexts.
    Context(u32),
}

/// A read to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadTask {
    /// The group that waits for it.
    pub group: GroupId,
    /// The part of the group.
    pub part: Part,
    /// What is read.
    pub source: Wire<ReadSource>,
    /// The worker that has the group.
    pub owner: u64,
    /// Whether it was read when the run was planned, by the process that has the group.
    pub is_probed: bool,
}

/// What is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ReadSource {
    /// A data file.
    Data(TableFile),
    /// A context beside a table, and the version of it that is wanted.
    Sidecar(ObjectRecord, Fingerprint),
    /// A text about several tables.
    Shared {
        /// The object.
        object: ObjectRecord,
        /// What it is.
        kind: SharedKind,
        /// What of it is wanted.
        wanted: WantedParts,
    },
}

/// Which parts of a text about several tables are wanted. Other processes are sent no more: a text
/// may be large, and groups many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum WantedParts {
    /// That of a table, where no other table can come of the group.
    One {
        /// The table.
        table: TableName,
        /// The version of its part.
        version: Fingerprint,
        /// By what the text may speak of it.
        about: About,
    },
    /// Those about tables at these paths, if the text names tables as databases do; all of any
    /// other.
    Of(Vec<String>),
}

impl ReadTask {
    /// The exchange key: reads are spread by path. What a process has read already stays there.
    pub fn route(&self) -> u64 {
        if self.is_probed {
            return self.owner;
        }
        let path = match &self.source.0 {
            ReadSource::Data(file) => &file.object.path,
            ReadSource::Sidecar(object, _) | ReadSource::Shared { object, .. } => &object.path,
        };
        xxhash_rust::xxh3::xxh3_64(path.as_bytes())
    }
}

/// A read that is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadDone {
    /// The group that waits for it.
    pub group: GroupId,
    /// The worker that has the group.
    pub owner: u64,
    /// The part of the group.
    pub part: Part,
    /// What came of it.
    pub result: Wire<Result<ReadResult, Unread>>,
    /// The memory that it will take as a table, until its group takes it in.
    #[serde(skip)]
    pub held: Held,
}

/// Why a file or sidecar could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Object, cause and remedy in one line.
    pub error: String,
    /// Whether reading the same version again is of no use.
    pub settled: bool,
}

impl From<&FileError> for Unread {
    fn from(error: &FileError) -> Self {
        Self {
            error: error.to_string(),
            settled: !error.is_retryable(),
        }
    }
}

/// What a read gives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ReadResult {
    /// The summary of a data file.
    Summary(Box<FileSummary>),
    /// The summary of a data file is the published one, which is fetched once all of its group has
    /// come: until then it takes no memory.
    AsPublished,
    /// A data file holds no table, and promised none: it takes no part.
    NoTable,
    /// The text of a sidecar, or a table's part of a text about several.
    Text(ContextPart),
    /// A text about several tables.
    Shared(SharedText),
}

pub(super) fn read_result(read: Result<FileSummary, FileError>) -> Result<ReadResult, Unread> {
    match read {
        Ok(summary) => Ok(ReadResult::Summary(Box::new(summary))),
        Err(error) if error.kind == FileErrorKind::NoTable => Ok(ReadResult::NoTable),
        Err(error) => Err(Unread::from(&error)),
    }
}
