//! What does not fit in bytes of the index format. Whoever reads them names the object
//! ([`SegmentError::Damaged`](crate::SegmentError::Damaged)).

use std::io;
use std::num::TryFromIntError;

use limn_profile::DamagedHashes;
use thiserror::Error;

/// How bytes differ from what the format allows.
#[derive(Debug, Error)]
pub(crate) enum FormatError {
    /// A length goes past what is there.
    #[error("a length points beyond the end")]
    BeyondEnd,
    /// A number does not fit its type.
    #[error("a number is too large")]
    TooLarge,
    /// A text is no UTF-8.
    #[error("a text is not UTF-8")]
    NotUtf8,
    /// More bytes than the format has.
    #[error("{0} bytes are left over")]
    LeftOver(usize),
    /// Compressed bytes are broken, or cannot be made.
    #[error(transparent)]
    Compression(#[from] io::Error),
    /// More comes out of compressed bytes than may.
    #[error("it decompresses to more than {0} bytes")]
    Decompressed(usize),
    /// A frame of another length than its table says.
    #[error("a frame has {found} bytes instead of {expected}")]
    FrameLength {
        /// Bytes that came out.
        found: usize,
        /// Bytes that it should have.
        expected: usize,
    },
    /// A catalog column of another type than the format's.
    #[error("its column {column} {problem}")]
    Column {
        /// Its name.
        column: String,
        /// What it is or holds.
        problem: String,
    },
    /// A section that contradicts the segment.
    #[error("section {section} {problem}")]
    Section {
        /// Its name.
        section: String,
        /// How.
        problem: &'static str,
    },
    /// A kind of block that this limn does not know.
    #[error("it has a block of an unknown kind ({0})")]
    UnknownBlock(u8),
    /// A change of a file that this limn does not know.
    #[error("a file that '{0}'")]
    UnknownChange(String),
    /// One part contradicts another.
    #[error("{0}")]
    Contradiction(&'static str),
    /// A part of the vector graph is wrong.
    #[error("its graph has a wrong {0}")]
    Graph(&'static str),
    /// The library that builds the vector graph failed.
    #[error("the vector graph cannot be built: {0}")]
    GraphLibrary(String),
    /// A vector of another length than the segment's.
    #[error("a vector has {found} dimensions and the index {expected}")]
    Dimensions {
        /// Those of the vector.
        found: usize,
        /// Those of the index.
        expected: usize,
    },
    /// A text that is too long for a block.
    #[error("a block's text has {found} bytes, more than {most}")]
    LongText {
        /// Its bytes.
        found: usize,
        /// How many it may have.
        most: usize,
    },
    /// A list of hashes of values is broken.
    #[error(transparent)]
    Values(#[from] DamagedHashes),
}

impl From<&'static str> for FormatError {
    fn from(contradiction: &'static str) -> Self {
        Self::Contradiction(contradiction)
    }
}

impl From<TryFromIntError> for FormatError {
    fn from(_: TryFromIntError) -> Self {
        Self::TooLarge
    }
}

impl From<FormatError> for String {
    fn from(error: FormatError) -> Self {
        error.to_string()
    }
}
