//! Writes the sections of values.

use limn_profile::rice::{BitWriter, low_bits};
use limn_profile::value_key::HASH_BITS;

use crate::codec::{compress, put_number};
use crate::format_error::FormatError;
use crate::values::TableValues;

/// Entries of a block: what is read for one value.
pub(crate) const BLOCK: usize = 256;
const LEVEL: i32 = 9;

/// Takes the values of tables, in the order of the tables.
#[derive(Debug, Default)]
pub(crate) struct ValueWriter {
    /// `file-values`.
    by_file: Vec<u8>,
    /// Number and length of each table that has values.
    tables: Vec<(u32, u64)>,
    /// Table and column of each that is found by its values.
    sources: Vec<(u32, u32)>,
    /// A hash and the number of its source.
    entries: Vec<(u64, u32)>,
}

/// The sections.
pub(crate) struct ValueSections {
    pub(crate) by_file: Vec<u8>,
    pub(crate) by_value: Vec<u8>,
    pub(crate) index: Vec<u8>,
}

impl ValueSections {
    /// Bytes of all.
    pub(crate) fn bytes(&self) -> u64 {
        let sections = [&self.by_file, &self.by_value, &self.index];
        sections.into_iter().map(|it| it.len() as u64).sum()
    }
}

impl ValueWriter {
    /// Adds the values of the table of this number.
    pub(crate) fn add(&mut self, table: u32, values: &TableValues) -> Result<(), FormatError> {
        if values.is_empty() {
            return Ok(());
        }
        let bytes = values.encode();
        self.tables.push((table, bytes.len() as u64));
        self.by_file.extend(bytes);
        for (column, values) in (0..).zip(&values.columns) {
            if values.withheld {
                continue;
            }
            let source = u32::try_from(self.sources.len())?;
            self.sources.push((table, column));
            for list in values.lists.iter().filter_map(|it| it.hashes.as_ref()) {
                let hashes = list.read()?;
                self.entries
                    .extend(hashes.into_iter().map(|hash| (hash, source)));
            }
        }
        Ok(())
    }

    /// The sections; `None` where no table has values.
    pub(crate) fn finish(mut self) -> Result<Option<ValueSections>, FormatError> {
        if self.tables.is_empty() {
            return Ok(None);
        }
        self.entries.sort_unstable();
        // Files of one table have values in common.
        self.entries.dedup();
        let mut index = Vec::new();
        put_number(&mut index, self.tables.len() as u64);
        let mut before = 0;
        for (table, length) in &self.tables {
            put_number(&mut index, u64::from(table - before));
            put_number(&mut index, *length);
            before = *table;
        }
        put_number(&mut index, self.sources.len() as u64);
        let mut before = 0;
        for (table, column) in &self.sources {
            put_number(&mut index, u64::from(table - before));
            put_number(&mut index, u64::from(*column));
            before = *table;
        }
        let low = low_bits(1 << HASH_BITS, self.entries.len());
        let bits = source_bits(self.sources.len());
        put_number(&mut index, self.entries.len() as u64);
        let mut by_value = Vec::new();
        let mut before = 0;
        for block in self.entries.chunks(BLOCK) {
            let first = block[0].0;
            put_number(&mut index, first - before);
            before = first;
            let mut writer = BitWriter::default();
            let mut last = first;
            for (hash, source) in block {
                writer.put_rice(hash - last, low);
                writer.put(u64::from(*source), bits);
                last = *hash;
            }
            let bytes = writer.finish();
            put_number(&mut index, bytes.len() as u64);
            by_value.extend(bytes);
        }
        Ok(Some(ValueSections {
            by_file: self.by_file,
            by_value,
            index: compress(&index, LEVEL)?,
        }))
    }
}

/// Bits of the number of one of so many sources.
pub(crate) fn source_bits(sources: usize) -> u32 {
    usize::BITS - sources.saturating_sub(1).leading_zeros()
}
