//! The `tables` section: which blocks are whose. Hot, checked whole at opening.

use std::fmt;
use std::ops::Range;

use tantivy::directory::OwnedBytes;

use crate::codec::{Cursor, compress, decompress, put_number, put_text};
use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::layout::Contents;
use crate::spill::spilled;
use crate::table::{KeyRef, TableContent, TableKey};

/// Lake, name and location of one table may not be longer together; bounds decompression.
const MAX_NAMES: usize = 16 << 10;
/// Numbers of one table take no more.
const MAX_NUMBERS: usize = 40;
const LEVEL: i32 = 19;
/// Bytes that identify a table's content: a hash and a time.
const CONTENT: usize = 24;

/// A table in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentTable<'a> {
    /// Its identity.
    pub key: KeyRef<'a>,
    /// URL of its file or directory.
    pub location: &'a str,
    /// Its first block.
    pub first_block: u32,
    /// Number of its blocks.
    pub blocks: u32,
    /// What its copies have in common with it, where that is known.
    pub content: Option<TableContent>,
}

/// The tables of a segment, in the order of their keys and of their blocks.
///
/// Their names stay as they are in the section, in memory that the system may take back; a table
/// takes twelve bytes beside them.
pub struct SegmentTables {
    lakes: Vec<String>,
    /// The decompressed section.
    bytes: OwnedBytes,
    /// Where each table's row begins in it.
    rows: Vec<u64>,
    /// Each table's first block, and at the end the number of blocks.
    first_blocks: Vec<u32>,
    /// [`CONTENT`] bytes a table; none in segments that have none.
    contents: OwnedBytes,
}

/// A table as the section has it, but for its first block.
struct Row<'a> {
    lake: usize,
    name: &'a str,
    location: &'a str,
    blocks: u32,
}

impl<'a> Row<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Result<Row<'a>, FormatError> {
        Ok(Row {
            lake: usize::try_from(cursor.number()?)?,
            name: cursor.text()?,
            location: cursor.text()?,
            blocks: cursor.number_u32()?,
        })
    }
}

impl fmt::Debug for SegmentTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl SegmentTables {
    /// Decodes the section; the footer's counts are bounded by the file's length.
    pub(crate) fn decode(
        bytes: &[u8],
        known: &[u8],
        contents: &Contents,
    ) -> Result<SegmentTables, FormatError> {
        if !known.is_empty() && known.len() != (contents.tables as usize).saturating_mul(CONTENT) {
            return Err("it does not say what each of its tables holds".into());
        }
        let limit = (contents.tables as usize).saturating_mul(MAX_NAMES + MAX_NUMBERS);
        let bytes = spilled(decompress(bytes, limit)?);
        let mut cursor = Cursor::new(&bytes);
        let lake_count = cursor.number()?;
        if lake_count > u64::from(contents.tables) {
            return Err("it has more lakes than tables".into());
        }
        let lakes = (0..lake_count)
            .map(|_| cursor.text().map(str::to_owned))
            .collect::<Result<Vec<String>, FormatError>>()?;
        let count = contents.tables as usize;
        let (mut rows, mut first_blocks) =
            (Vec::with_capacity(count), Vec::with_capacity(count + 1));
        let mut first_block = 0u32;
        let mut before = None;
        for _ in 0..count {
            rows.push((bytes.len() - cursor.left()) as u64);
            first_blocks.push(first_block);
            let row = Row::read(&mut cursor)?;
            let lake = lakes.get(row.lake).ok_or("it has a table of no lake")?;
            let key = KeyRef {
                lake,
                name: row.name,
            };
            if before.is_some_and(|before| before >= key) {
                return Err("its tables are not in order".into());
            }
            before = Some(key);
            first_block = first_block
                .checked_add(row.blocks)
                .filter(|end| row.blocks > 0 && *end <= contents.blocks)
                .ok_or("its tables have more blocks than it has")?;
        }
        first_blocks.push(first_block);
        if first_block != contents.blocks {
            return Err("its tables have fewer blocks than it has".into());
        }
        cursor.end()?;
        Ok(SegmentTables {
            lakes,
            bytes,
            rows,
            first_blocks,
            contents: spilled(known.to_vec()),
        })
    }

    /// What the copies of the table of this number have in common with it, where that is known.
    #[must_use]
    pub fn content(&self, number: usize) -> Option<TableContent> {
        let bytes = self
            .contents
            .get(number * CONTENT..(number + 1) * CONTENT)?;
        let (hash, modified) = bytes.split_first_chunk()?;
        let content = TableContent {
            hash: u128::from_le_bytes(*hash),
            modified_ms: i64::from_le_bytes(modified.try_into().ok()?),
        };
        (content.hash != 0).then_some(content)
    }

    /// The number of tables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table of this number.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<SegmentTable<'_>> {
        let start = usize::try_from(*self.rows.get(number)?).ok()?;
        // It was read when the segment was opened.
        let row = Row::read(&mut Cursor::new(self.bytes.get(start..)?)).ok()?;
        Some(SegmentTable {
            key: KeyRef {
                lake: self.lakes.get(row.lake)?,
                name: row.name,
            },
            location: row.location,
            first_block: self.first_blocks[number],
            blocks: row.blocks,
            content: self.content(number),
        })
    }

    /// How the table of this number is called, without reading the rest of its row.
    #[must_use]
    pub fn name(&self, number: usize) -> Option<&str> {
        let start = usize::try_from(*self.rows.get(number)?).ok()?;
        let mut cursor = Cursor::new(self.bytes.get(start..)?);
        cursor.number().ok()?;
        cursor.text().ok()
    }

    /// The table of this number.
    ///
    /// # Panics
    /// Like indexing a slice, if there is none.
    #[must_use]
    pub fn at(&self, number: usize) -> SegmentTable<'_> {
        assert!(number < self.len(), "no table {number} of {}", self.len());
        // There is one, so the empty one never comes.
        self.get(number).unwrap_or(SegmentTable {
            key: KeyRef { lake: "", name: "" },
            location: "",
            first_block: 0,
            blocks: 0,
            content: None,
        })
    }

    /// The blocks of the table of this number.
    ///
    /// # Panics
    /// As [`SegmentTables::at`].
    #[must_use]
    pub fn blocks(&self, number: usize) -> Range<u32> {
        self.first_blocks[number]..self.first_blocks[number + 1]
    }

    /// The number of the table that has this block.
    #[must_use]
    pub fn of_block(&self, block: u32) -> u32 {
        // Tables cover the blocks in order, the first from block 0 on.
        let after = self.first_blocks[..self.len()].partition_point(|first| *first <= block);
        (after as u32).saturating_sub(1)
    }

    /// All tables.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = SegmentTable<'_>> {
        (0..self.len()).map(|number| self.at(number))
    }
}

/// The `tables` section: lakes once, then name, location and number of blocks of each table.
#[derive(Default)]
pub(crate) struct TableWriter {
    lakes: Vec<String>,
    rows: Vec<u8>,
    contents: Vec<u8>,
    /// Number of tables so far.
    pub(crate) count: u32,
}

impl TableWriter {
    /// Adds the next table, in the order of keys.
    pub(crate) fn add(
        &mut self,
        table: &TableKey,
        location: &str,
        blocks: u32,
        content: Option<TableContent>,
    ) -> Result<(), SegmentError> {
        let TableKey { lake, name } = table;
        if lake.len() + name.len() + location.len() > MAX_NAMES {
            let start: String = name.chars().take(80).collect();
            return Err(SegmentError::invalid(start, "its name is too long"));
        }
        // Tables are sorted by lake, so a lake seen before is the last one.
        if self.lakes.last() != Some(lake) {
            self.lakes.push(lake.clone());
        }
        put_number(&mut self.rows, self.lakes.len() as u64 - 1);
        put_text(&mut self.rows, name);
        put_text(&mut self.rows, location);
        put_number(&mut self.rows, u64::from(blocks));
        let (hash, modified_ms) = content.map_or((0, 0), |it| (it.hash, it.modified_ms));
        self.contents.extend_from_slice(&hash.to_le_bytes());
        self.contents.extend_from_slice(&modified_ms.to_le_bytes());
        self.count += 1;
        Ok(())
    }

    /// The `table-contents` section: a hash and a time each table, 0 where nothing is known; none
    /// where it is of no table.
    pub(crate) fn contents(&self) -> Option<&[u8]> {
        let is_known = self.contents.iter().any(|byte| *byte != 0);
        is_known.then_some(&self.contents[..])
    }

    pub(crate) fn finish(self) -> Result<Vec<u8>, SegmentError> {
        let mut bytes = Vec::new();
        put_number(&mut bytes, self.lakes.len() as u64);
        for lake in &self.lakes {
            put_text(&mut bytes, lake);
        }
        bytes.extend_from_slice(&self.rows);
        compress(&bytes, LEVEL).map_err(|e| SegmentError::invalid("the segment", e))
    }
}
