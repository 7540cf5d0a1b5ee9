//! The `tables` section: which blocks are whose. Hot, decoded whole at opening.

use crate::codec::{Cursor, compress, decompress, put_number, put_text};
use crate::error::SegmentError;
use crate::layout::Contents;
use crate::table::TableKey;

/// Lake, name and location of one table may not be longer together; bounds decompression.
const MAX_NAMES: usize = 16 << 10;
/// Numbers of one table take no more.
const MAX_NUMBERS: usize = 40;
const LEVEL: i32 = 19;

/// A table in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentTable {
    /// Its identity.
    pub key: TableKey,
    /// URL of its file or directory.
    pub location: String,
    /// Its first block.
    pub first_block: u32,
    /// Number of its blocks.
    pub blocks: u32,
}

/// The `tables` section: lakes once, then name, location and number of blocks of each table.
#[derive(Default)]
pub(crate) struct TableWriter {
    lakes: Vec<String>,
    rows: Vec<u8>,
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
        self.count += 1;
        Ok(())
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

/// Decodes the section; the footer's counts are bounded by the file's length.
pub(crate) fn decode_tables(
    bytes: &[u8],
    contents: &Contents,
) -> Result<Vec<SegmentTable>, String> {
    let limit = (contents.tables as usize).saturating_mul(MAX_NAMES + MAX_NUMBERS);
    let bytes = decompress(bytes, limit)?;
    let mut cursor = Cursor::new(&bytes);
    let lake_count = cursor.number()?;
    if lake_count > u64::from(contents.tables) {
        return Err("it has more lakes than tables".to_owned());
    }
    let lakes = (0..lake_count)
        .map(|_| cursor.text())
        .collect::<Result<Vec<&str>, String>>()?;
    let mut tables: Vec<SegmentTable> = Vec::with_capacity(contents.tables as usize);
    let mut first_block = 0u32;
    for _ in 0..contents.tables {
        let lake = usize::try_from(cursor.number()?)
            .ok()
            .and_then(|i| lakes.get(i));
        let lake = lake.ok_or("it has a table of no lake")?;
        let table = SegmentTable {
            key: TableKey {
                lake: (*lake).to_owned(),
                name: cursor.text()?.to_owned(),
            },
            location: cursor.text()?.to_owned(),
            first_block,
            blocks: cursor.number_u32()?,
        };
        first_block = first_block
            .checked_add(table.blocks)
            .filter(|end| table.blocks > 0 && *end <= contents.blocks)
            .ok_or("its tables have more blocks than it has")?;
        tables.push(table);
    }
    if first_block != contents.blocks {
        return Err("its tables have fewer blocks than it has".to_owned());
    }
    cursor.end()?;
    Ok(tables)
}
