//! Where the blocks of a published table are.

use limn_segment::TableRecord;
use serde::{Deserialize, Serialize};

/// Where a published table's blocks are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The segment's path in the index.
    pub segment: String,
    /// Its first block.
    pub first_block: u32,
    /// Its number of blocks.
    pub blocks: u32,
}

impl Position {
    /// Where a row says that its table's blocks are.
    pub fn of(record: &TableRecord) -> Option<Self> {
        (record.blocks > 0).then(|| Self {
            segment: record.segment.clone(),
            first_block: record.first_block,
            blocks: record.blocks,
        })
    }
}
