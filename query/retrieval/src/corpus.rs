//! The live tables of a snapshot, over all its segments, and their exact statistics.
//!
//! Tables are numbered in the order of their keys, whatever segment they lie in: a table's number is
//! its place in every tie. Lengths are sums of the exact token counts that segments store, over live
//! blocks only; averages are taken over the live tables that have the field. Nothing here depends on how tables are spread
//! over shards.

use std::collections::HashMap;
use std::sync::Arc;

use limn_segment::{Deletes, Field, SegmentReader, TableKey};

use crate::scoring::{FIELDS, Formula};

/// Marks a block that belongs to no live table.
pub(crate) const DEAD: u32 = u32::MAX;

/// A live table.
pub(crate) struct Table {
    pub(crate) key: TableKey,
    pub(crate) location: String,
    pub(crate) segment: usize,
    pub(crate) first_block: u32,
    pub(crate) blocks: u32,
    /// What one occurrence of a term counts, by field.
    pub(crate) norms: [f32; FIELDS],
}

/// A segment with what the scorer needs of it.
pub(crate) struct Segment {
    pub(crate) reader: Arc<SegmentReader>,
    pub(crate) deletes: Deletes,
    /// The number of each block's table, or [`DEAD`].
    pub(crate) table_of: Vec<u32>,
    /// The number of the segment's first block among the blocks of all segments.
    pub(crate) base: usize,
    /// What one occurrence counts in each block, in plain mode; 0 for blocks that do not take part.
    pub(crate) plain_norms: Vec<f32>,
}

/// All live tables.
pub(crate) struct Corpus {
    pub(crate) tables: Vec<Table>,
    pub(crate) segments: Vec<Segment>,
    /// Blocks of all segments, dead ones included.
    pub(crate) blocks: usize,
    /// Blocks that take part in plain mode.
    pub(crate) plain_blocks: u64,
}

impl Corpus {
    pub(crate) fn new(opened: Vec<(Arc<SegmentReader>, Deletes)>) -> Corpus {
        let mut tables = live_tables(&opened);
        tables.sort_by(|a, b| a.key.cmp(&b.key));

        let mut segments: Vec<Segment> = Vec::with_capacity(opened.len());
        let mut base = 0;
        for (reader, deletes) in opened {
            let blocks = reader.block_count() as usize;
            segments.push(Segment {
                table_of: vec![DEAD; blocks],
                plain_norms: vec![0.0; blocks],
                base,
                reader,
                deletes,
            });
            base += blocks;
        }
        let mut lengths = vec![[0u64; FIELDS]; tables.len()];
        for (number, table) in tables.iter().enumerate() {
            let segment = &mut segments[table.segment];
            for block in table.first_block..table.first_block + table.blocks {
                if segment.deletes.contains(block) {
                    continue;
                }
                segment.table_of[block as usize] = number as u32;
                let meta = segment.reader.block(block);
                for (sum, length) in lengths[number].iter_mut().zip(meta.lengths) {
                    *sum += u64::from(length);
                }
            }
        }
        let mut averages = [0.0f64; FIELDS];
        for (field, average) in averages.iter_mut().enumerate() {
            let sum: u64 = lengths.iter().map(|lengths| lengths[field]).sum();
            let filled = lengths.iter().filter(|lengths| lengths[field] > 0).count();
            *average = sum as f64 / filled.max(1) as f64;
        }
        for (table, lengths) in tables.iter_mut().zip(&lengths) {
            for field in Field::ALL {
                let at = field.index();
                table.norms[at] = Formula::LIMN.norm(field, lengths[at], averages[at]);
            }
        }
        let plain_blocks = plain_norms(&mut segments);
        Corpus {
            tables,
            segments,
            blocks: base,
            plain_blocks,
        }
    }

    /// The live blocks of a table, with their numbers in its segment.
    pub(crate) fn blocks_of(&self, table: &Table) -> impl Iterator<Item = u32> + use<'_> {
        let segment = &self.segments[table.segment];
        let range = table.first_block..table.first_block + table.blocks;
        range.filter(move |&block| segment.table_of[block as usize] != DEAD)
    }
}

/// Every table with a live block. Where a key is live in several segments (a writer's mistake), the
/// last segment's stands, as with catalog rows.
fn live_tables(opened: &[(Arc<SegmentReader>, Deletes)]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let mut by_key: HashMap<TableKey, usize> = HashMap::new();
    for (segment, (reader, deletes)) in opened.iter().enumerate() {
        for table in reader.tables() {
            let mut blocks = table.first_block..table.first_block + table.blocks;
            if blocks.all(|block| deletes.contains(block)) {
                continue;
            }
            let live = Table {
                key: table.key.clone(),
                location: table.location.clone(),
                segment,
                first_block: table.first_block,
                blocks: table.blocks,
                norms: [0.0; FIELDS],
            };
            match by_key.get(&table.key) {
                Some(&at) => {
                    tracing::warn!(table = %table.key, "live in two segments: the later one is used");
                    tables[at] = live;
                }
                None => {
                    by_key.insert(table.key.clone(), tables.len());
                    tables.push(live);
                }
            }
        }
    }
    tables
}

/// Plain mode's statistics: every live block with a word outside the cells is a document of one field.
/// Returns their number.
fn plain_norms(segments: &mut [Segment]) -> u64 {
    let counted = |field: Field| Formula::PLAIN.weights[field.index()] > 0.0;
    let length_of = |segment: &Segment, block: usize| -> u64 {
        if segment.table_of[block] == DEAD {
            return 0;
        }
        let meta = segment.reader.block(block as u32);
        let fields = Field::ALL.into_iter().filter(|&field| counted(field));
        fields
            .map(|field| u64::from(meta.lengths[field.index()]))
            .sum()
    };
    let (mut count, mut sum) = (0u64, 0u64);
    for segment in segments.iter() {
        for block in 0..segment.table_of.len() {
            let length = length_of(segment, block);
            count += u64::from(length > 0);
            sum += length;
        }
    }
    let average = sum as f64 / count.max(1) as f64;
    for segment in segments {
        for block in 0..segment.table_of.len() {
            let length = length_of(segment, block);
            // Any counted field gives the same norm: their constants are equal.
            segment.plain_norms[block] = Formula::PLAIN.norm(Field::Names, length, average);
        }
    }
    count
}
