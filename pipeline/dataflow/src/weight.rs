//! Weight: about how many bytes of memory a table takes on its way from its files to its segment.
//!
//! An epoch may be of any number of tables; what is in memory of it is bounded all the same. What
//! comes of a read is counted in the reader's [`Room`](limn_formats::Room), and no file is read
//! while too much is counted. Files that wait for others of their group are not: the group would
//! wait for itself. What waits for the end of its epoch leaves in parts, as a segment each
//! (`crate::segments`).

use limn_profile::FileSummary;
use limn_segment::{Block, ColumnRecord, TableRecord, TableValues};

use crate::draft::TableDraft;

/// What a table takes besides what is counted.
const FIXED: usize = 2 << 10;
/// Sixteen bytes a value, of about three packed ones.
const UNPACKED: u64 = 6;
/// What an allocation takes besides what is in it, about.
const WORD: usize = 16;

/// What a file's summary will take as a table: a worker makes tables of all that has been read
/// before anything else goes on.
pub fn of_table_to_be(summary: &FileSummary) -> u64 {
    FIXED as u64 + 4 * summary.held() + 2 * summary.held_hashes()
}

/// A table before it is described: its summary, the row that says the same, and the texts to
/// come.
pub fn of_draft(draft: &TableDraft) -> u64 {
    let summary = draft.summary.as_ref().map_or(0, |summary| summary.held());
    let row = draft.row.as_ref().map_or(0, |row| of_row(&row.0));
    2 * summary + row + draft.values.0.held()
}

/// A table's catalog row.
pub fn of_row(row: &TableRecord) -> u64 {
    let columns: usize = row.columns.iter().map(of_column).sum();
    let cells = row.sample.iter().flatten();
    let cells: usize = cells
        .map(|cell| size_of::<Option<String>>() + cell.as_ref().map_or(0, |it| it.len() + WORD))
        .sum();
    let files = row.files.iter();
    let files =
        files.map(|it| 256 + it.summary.as_ref().map_or(0, String::len) + it.sketches.held());
    let files: usize = files.sum();
    let contexts: usize = row.contexts.iter().map(|it| 128 + it.text.len()).sum();
    (FIXED + columns + row.sketches.held() + cells + files + contexts) as u64
}

fn of_column(column: &ColumnRecord) -> usize {
    let texts = [
        &column.min,
        &column.max,
        &column.narration,
        &column.description,
        &column.notation,
        &column.sensitive,
    ];
    let texts = texts.into_iter().flatten().map(|it| it.len() + WORD);
    let values = column.frequent.iter().map(|it| 32 + it.value.len() + WORD);
    let patterns = column.patterns.len() * 64;
    let names = column.name.len() + column.data_type.len() + 2 * WORD;
    size_of::<ColumnRecord>() + names + patterns + texts.chain(values).sum::<usize>()
}

/// Hashes of values: a segment that is built has them unpacked.
pub fn of_values(values: &TableValues) -> u64 {
    UNPACKED * values.held()
}

/// Texts with their vectors.
pub fn of_blocks(blocks: &[Block]) -> u64 {
    let block = |block: &Block| {
        let fields: usize = block
            .fields
            .iter()
            .map(|(_, text)| text.len() + 2 * WORD)
            .sum();
        let vector = block.vector.as_ref().map_or(0, |vector| 2 * vector.len());
        size_of::<Block>() + block.text.len() + fields + vector
    };
    blocks.iter().map(block).sum::<usize>() as u64
}
