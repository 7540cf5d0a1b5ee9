//! Reads the sections of values: a table's lists, and the columns that hold a value.

use std::ops::Range;

use limn_profile::rice::{BitReader, low_bits};
use limn_profile::value_key::HASH_BITS;
use tantivy::HasLen;

use crate::codec::{Cursor, decompress};
use crate::directory::SectionFile;
use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::values::TableValues;
use crate::values::writer::{BLOCK, source_bits};

/// The index is at most so many times as long as what it is of.
const LONGEST: usize = 64;
/// Read of a table's lists for the names of its columns, at first.
const NAMES: usize = 4 << 10;
/// Blocks of values that are read at a time: about a megabyte.
const READ_TOGETHER: usize = 1 << 10;

/// What is open of a segment's values. Takes about 16 bytes a table and column, and 16 for each 256
/// values.
pub(crate) struct ValueIndex {
    by_file: SectionFile,
    by_value: SectionFile,
    /// Numbers of the tables that have values, and where the lists of each end.
    tables: Vec<(u32, u64)>,
    /// Tables and columns.
    sources: Vec<(u32, u32)>,
    /// The first hash of each block, and where it ends.
    blocks: Vec<(u64, u64)>,
    entries: u64,
}

impl ValueIndex {
    /// Opens the sections of a segment of so many tables.
    pub(crate) fn open(
        bytes: &[u8],
        by_file: SectionFile,
        by_value: SectionFile,
        tables: u32,
    ) -> Result<ValueIndex, FormatError> {
        let limit = by_file.len().saturating_add(by_value.len());
        let bytes = decompress(bytes, limit.saturating_add(1 << 10).saturating_mul(LONGEST))?;
        let mut index = ValueIndex {
            by_file,
            by_value,
            tables: Vec::new(),
            sources: Vec::new(),
            blocks: Vec::new(),
            entries: 0,
        };
        index.decode(&mut Cursor::new(&bytes), tables)?;
        Ok(index)
    }

    fn decode(&mut self, cursor: &mut Cursor<'_>, tables: u32) -> Result<(), FormatError> {
        let number = |before: u32, step: u64| {
            let next = u32::try_from(step).ok()?.checked_add(before)?;
            (next < tables).then_some(next)
        };
        let (mut table, mut end) = (0, 0u64);
        for at in 0..cursor.number()? {
            let step = cursor.number()?;
            table = number(table, step)
                .filter(|_| at == 0 || step > 0)
                .ok_or("it has values of no table")?;
            end = end
                .checked_add(cursor.number()?)
                .ok_or("a table's values end nowhere")?;
            self.tables.push((table, end));
        }
        if end != self.by_file.len() as u64 {
            return Err("the values of its tables have another length".into());
        }
        let mut table = 0;
        for _ in 0..cursor.number()? {
            table = number(table, cursor.number()?).ok_or("it has values of no table")?;
            self.sources.push((table, cursor.number_u32()?));
        }
        self.entries = cursor.number()?;
        let (mut first, mut end) = (0u64, 0u64);
        for _ in 0..self.entries.div_ceil(BLOCK as u64) {
            first = first
                .checked_add(cursor.number()?)
                .filter(|first| *first < 1 << HASH_BITS)
                .ok_or("a hash of a value is too large")?;
            end = end
                .checked_add(cursor.number()?)
                .ok_or("a block of values ends nowhere")?;
            self.blocks.push((first, end));
        }
        if end != self.by_value.len() as u64 {
            return Err("its blocks of values have another length".into());
        }
        cursor.end()
    }

    /// The values of the table of this number.
    pub(crate) fn of_table(&self, table: u32) -> Result<TableValues, SegmentError> {
        match self.place(table) {
            None => Ok(TableValues::default()),
            Some(range) => {
                let bytes = self.by_file.read(range)?;
                TableValues::decode(&bytes)
                    .map_err(|detail| self.by_file.damaged(&detail.to_string()))
            }
        }
    }

    /// The name of one of a table's columns.
    pub(crate) fn column_name(
        &self,
        table: u32,
        column: u32,
    ) -> Result<Option<String>, SegmentError> {
        let Some(range) = self.place(table) else {
            return Ok(None);
        };
        let end = range.end.min(range.start.saturating_add(NAMES));
        let first = self.by_file.read(range.start..end)?;
        if let Ok(name) = TableValues::column_name(&first, column) {
            return Ok(name);
        }
        let all = self.by_file.read(range)?;
        TableValues::column_name(&all, column)
            .map_err(|detail| self.by_file.damaged(&detail.to_string()))
    }

    fn place(&self, table: u32) -> Option<Range<usize>> {
        let at = self
            .tables
            .binary_search_by_key(&table, |(table, _)| *table);
        let at = at.ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.tables[before].1);
        Some(usize::try_from(start).ok()?..usize::try_from(self.tables[at].1).ok()?)
    }

    /// Calls `visit` with each of these hashes, which ascend, and each table and column that hold a
    /// value of it, in order.
    pub(crate) fn holding(
        &self,
        hashes: &[u64],
        visit: &mut dyn FnMut(u64, u32, u32),
    ) -> Result<(), SegmentError> {
        let blocks = self.blocks_of(hashes);
        let mut left = hashes;
        let mut rest = blocks.as_slice();
        while let [first, ..] = rest {
            // Blocks that lie side by side are read together.
            let together = rest.iter().zip(*first..).take(READ_TOGETHER);
            let count = together
                .take_while(|(block, next)| **block == *next)
                .count();
            let (run, after) = rest.split_at(count);
            rest = after;
            let start = self.ends_before(*first)?;
            let end = self.ends_before(first + count)?;
            let bytes = self.by_value.read(start..end)?;
            for block in run {
                let of_block =
                    self.ends_before(*block)? - start..self.ends_before(block + 1)? - start;
                let bytes = bytes.get(of_block).ok_or_else(|| self.breaks_off())?;
                left = self.look_through(*block, bytes, left, visit)?;
            }
        }
        Ok(())
    }

    /// The blocks that may hold these hashes, in order.
    fn blocks_of(&self, hashes: &[u64]) -> Vec<usize> {
        let mut wanted: Vec<usize> = Vec::new();
        for hash in hashes {
            // The last block that begins below it may end with it.
            let below = self.blocks.partition_point(|(first, _)| first < hash);
            let from = below.saturating_sub(1);
            let from = wanted.last().map_or(from, |last| from.max(last + 1));
            let blocks = (from..).zip(self.blocks.get(from..).unwrap_or_default());
            let holding = blocks.take_while(|(_, (first, _))| first <= hash);
            wanted.extend(holding.map(|it| it.0));
        }
        wanted
    }

    /// Where the block before this one ends.
    fn ends_before(&self, block: usize) -> Result<usize, SegmentError> {
        let end = block.checked_sub(1).map_or(0, |it| self.blocks[it].1);
        usize::try_from(end).map_err(|_| self.breaks_off())
    }

    fn breaks_off(&self) -> SegmentError {
        self.by_value.damaged("a block of its values breaks off")
    }

    /// Looks for hashes in a block; the rest, which may be in the blocks after it.
    fn look_through<'h>(
        &self,
        block: usize,
        bytes: &[u8],
        mut wanted: &'h [u64],
        visit: &mut dyn FnMut(u64, u32, u32),
    ) -> Result<&'h [u64], SegmentError> {
        let damaged = || self.breaks_off();
        let low = low_bits(1 << HASH_BITS, self.entries as usize);
        let bits = source_bits(self.sources.len());
        let left = self.entries - (block * BLOCK) as u64;
        let mut reader = BitReader::new(bytes);
        let mut hash = self.blocks[block].0;
        for _ in 0..left.min(BLOCK as u64) {
            let step = reader.get_rice(low).ok_or_else(damaged)?;
            hash = hash.checked_add(step).ok_or_else(damaged)?;
            let source = reader.get(bits).ok_or_else(damaged)?;
            while let [first, rest @ ..] = wanted
                && *first < hash
            {
                wanted = rest;
            }
            match wanted.first() {
                None => break,
                Some(first) if *first == hash => {
                    let source = self.sources.get(source as usize).ok_or_else(damaged)?;
                    visit(hash, source.0, source.1);
                }
                Some(_) => {}
            }
        }
        Ok(wanted)
    }
}
