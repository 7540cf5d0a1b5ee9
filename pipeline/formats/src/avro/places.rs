//! Which blocks of an Avro file are read that is not read whole, and which numbers rows have.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::blocks::{Block, Header};
use super::{HEAD, WINDOW};
use crate::ranged::Ranged;
use crate::{Failure, ReadOptions, input};

/// The blocks in ranges that are spread over a file.
pub(super) fn spread(
    object: &Ranged,
    header: &Header,
    sample_path: &str,
    options: &ReadOptions,
) -> Result<Vec<Block>, Failure> {
    let size = object.size();
    let ranges: Vec<Range<u64>> = input::ranges(size, options, sample_path)
        .into_iter()
        // The header is at hand; a marker lies somewhere before each of the others' blocks.
        .map(|range| range.start.max(header.end)..range.end)
        .filter(|range| range.start < range.end)
        .collect();
    let fetched = object.get_all(ranges.clone(), 0)?;
    let mut blocks: Vec<Block> = Vec::new();
    for range in ranges {
        let Some(piece) = fetched.get(&range) else {
            continue;
        };
        let begins = range.start == header.end;
        let found = header.blocks(&piece, range.start, size, begins)?;
        let after = blocks.last().map_or(0, |last| last.offset + last.size());
        blocks.extend(found.into_iter().filter(|block| block.offset >= after));
    }
    if blocks.is_empty() {
        // Not even the first range reached a block: the header took it.
        let range = header.end..(header.end + HEAD).min(size);
        let piece = object.get(range.clone())?;
        blocks = header.blocks(&piece, range.start, size, true)?;
    }
    if blocks.iter().all(|block| block.bytes.is_none()) {
        // Blocks are longer than ranges: one of them, then.
        let fits = |block: &&mut Block| block.length <= options.scan_budget;
        if let Some(block) = blocks.iter_mut().find(fits) {
            let bytes = object.get(block.content..block.content + block.length)?;
            block.bytes = Some(bytes);
        }
    }
    Ok(blocks)
}

/// The numbers that rows have in a file of which all blocks are counted.
#[derive(Default)]
pub(super) struct Numbers {
    /// The first row of blocks, by where the block begins.
    pub(super) first: HashMap<u64, u64>,
    pub(super) rows: u64,
}

impl Numbers {
    pub(super) fn of(blocks: &[Block]) -> Numbers {
        let mut numbers = Numbers::default();
        blocks.iter().for_each(|block| numbers.take(block, true));
        numbers
    }

    fn take(&mut self, block: &Block, is_wanted: bool) {
        if is_wanted {
            self.first.insert(block.offset, self.rows);
        }
        self.rows = self.rows.saturating_add(block.rows);
    }

    /// Those of some blocks of a file that is not at hand: it is read once, window by window.
    pub(super) fn walked(
        object: &Ranged,
        header: &Header,
        blocks: &[Block],
    ) -> Result<Numbers, Failure> {
        let wanted: HashSet<u64> = blocks.iter().map(|block| block.offset).collect();
        let mut numbers = Numbers::default();
        let (mut at, size) = (header.end, object.size());
        while at < size {
            let piece = object.get(at..at.saturating_add(WINDOW).min(size))?;
            for block in header.blocks(&piece, at, size, true)? {
                at = block.offset + block.size();
                numbers.take(&block, wanted.contains(&block.offset));
            }
        }
        Ok(numbers)
    }
}
