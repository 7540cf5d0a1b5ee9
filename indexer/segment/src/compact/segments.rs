//! Live tables of several segments in one: byte for byte what [`build_segment`] would make of them.
//!
//! Texts, hashes, kinds and vectors are copied. The terms of a block come from the postings, which
//! are turned round: from blocks by term to terms by block. An index keeps neither the order nor
//! the places of a block's terms, so that is all there is to know of it.
//!
//! [`build_segment`]: crate::build_segment

use std::sync::Arc;

use crate::blocks::TextFrame;
use crate::builder::{BuiltSegment, SegmentSettings, SegmentWriter, WrittenBlock};
use crate::deletes::Deletes;
use crate::error::SegmentError;
use crate::languages::MARK;
use crate::lexical::BlockTerms;
use crate::reader::SegmentReader;
use crate::table::{Field, TableKey};

/// A segment that is merged.
pub(crate) struct Source {
    pub(crate) reader: Arc<SegmentReader>,
    pub(crate) deletes: Deletes,
}

/// A live table, and where the catalog says that its blocks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LiveTable {
    pub(crate) key: TableKey,
    /// Which of the sources.
    pub(crate) source: usize,
    pub(crate) first_block: u32,
    pub(crate) blocks: u32,
}

/// One segment of these tables, which are in the order of keys and all that live in the sources.
/// CPU work, which reads; `None` if there are no tables.
///
/// # Errors
/// Those of reading the sources; [`SegmentError::Damaged`] if their live blocks are not those of
/// the tables.
pub(crate) fn merge_segments(
    sources: &[Source],
    tables: &[LiveTable],
    settings: &SegmentSettings,
) -> Result<Option<BuiltSegment>, SegmentError> {
    check(sources, tables)?;
    if tables.is_empty() {
        return Ok(None);
    }
    let mut open = Vec::with_capacity(sources.len());
    for source in sources {
        // In as few requests as can be, rather than chunk by chunk.
        source.reader.verify_bytes()?;
        open.push(Open {
            terms: TermsByBlock::of(source)?,
            frame: None,
        });
    }
    let mut writer = SegmentWriter::new(settings)?;
    for table in tables {
        let (reader, open) = (&sources[table.source].reader, &mut open[table.source]);
        writer.begin_table(&table.key);
        for block in table.first_block..table.first_block + table.blocks {
            let meta = reader.block(block);
            let terms = open.terms.of_block(block, reader)?;
            let vector = reader.vector(block)?;
            writer.add(&WrittenBlock {
                kind: meta.kind,
                hash: reader.text_hash(block)?,
                text: reader.text_in(&mut open.frame, block)?,
                terms,
                vector: vector.as_deref(),
            })?;
        }
        let at = reader.table_of(table.first_block) as usize;
        let there = reader.tables().at(at);
        let values = reader.table_values(at as u32)?;
        writer.end_table(there.location, there.content, &values)?;
    }
    writer.finish().map(Some)
}

/// Whether the tables are where the catalog says, live, and all that is live.
fn check(sources: &[Source], tables: &[LiveTable]) -> Result<(), SegmentError> {
    let mut catalogued = vec![0u64; sources.len()];
    for table in tables {
        let Source { reader, deletes } = &sources[table.source];
        let there = reader
            .tables()
            .get(reader.table_of(table.first_block) as usize);
        let is_there = there.is_some_and(|it| {
            it.key == table.key
                && it.first_block == table.first_block
                && it.blocks == table.blocks
                && (0..it.blocks).all(|block| !deletes.contains(it.first_block + block))
        });
        if !is_there {
            let detail = format!("it does not have {} where the catalog says", table.key);
            return Err(SegmentError::damaged(reader.path(), detail));
        }
        catalogued[table.source] += u64::from(table.blocks);
    }
    for (Source { reader, deletes }, catalogued) in sources.iter().zip(catalogued) {
        let live = u64::from(reader.block_count().saturating_sub(deletes.count()));
        if live != catalogued {
            let detail = format!(
                "it has {live} live blocks and the catalog's tables have {catalogued} in it"
            );
            return Err(SegmentError::damaged(reader.path(), detail));
        }
    }
    Ok(())
}

/// What is held of a source while its blocks are copied in order.
struct Open {
    terms: TermsByBlock,
    frame: Option<TextFrame>,
}

/// The terms of each live block of a segment, by field.
struct TermsByBlock {
    fields: [FieldTerms; 4],
    whole: FieldTerms,
}

#[derive(Default)]
struct FieldTerms {
    terms: Vec<Box<str>>,
    /// (block, term, times), in the order of blocks.
    postings: Vec<(u32, u32, u32)>,
}

impl FieldTerms {
    /// Adds the next block of a term; terms come one after the other.
    fn push(&mut self, term: &str, block: u32, times: u32) {
        if self.terms.last().is_none_or(|last| **last != *term) {
            self.terms.push(term.into());
        }
        self.postings
            .push((block, self.terms.len() as u32 - 1, times));
    }

    /// The postings of a block, once they are sorted.
    fn of_block(&self, block: u32) -> impl Iterator<Item = &(u32, u32, u32)> + Clone {
        let start = self.postings.partition_point(|(at, ..)| *at < block);
        self.postings[start..]
            .iter()
            .take_while(move |(at, ..)| *at == block)
    }
}

impl TermsByBlock {
    fn of(source: &Source) -> Result<TermsByBlock, SegmentError> {
        let mut fields: [FieldTerms; 4] = Default::default();
        for field in Field::ALL {
            source
                .reader
                .all_postings(field, &mut |term, block, times| {
                    if source.deletes.contains(block) {
                        return;
                    }
                    fields[field.index()].push(term, block, times);
                })?;
        }
        let mut whole = FieldTerms::default();
        source.reader.all_whole(&mut |term, block| {
            if !source.deletes.contains(block) {
                whole.push(term, block, 1);
            }
        })?;
        for terms in fields.iter_mut().chain([&mut whole]) {
            terms.postings.sort_by_key(|(block, ..)| *block);
        }
        Ok(TermsByBlock { fields, whole })
    }

    /// The terms of a block, as many as the segment counts.
    fn of_block(&self, block: u32, reader: &SegmentReader) -> Result<BlockTerms, SegmentError> {
        let lengths = reader.block(block).lengths;
        let mut terms = BlockTerms::default();
        for field in Field::ALL {
            let of = &self.fields[field.index()];
            let here = of.of_block(block);
            // Counted first: what they say may be a lot.
            let words = here.clone();
            let words = words.filter(|(_, term, _)| !of.terms[*term as usize].starts_with(MARK));
            let count: u64 = words.map(|(.., times)| u64::from(*times)).sum();
            if count != u64::from(lengths[field.index()]) {
                let detail = format!("its postings do not have the terms of block {block}");
                return Err(SegmentError::damaged(reader.path(), detail));
            }
            for (_, term, times) in here {
                terms.push(field, &of.terms[*term as usize], *times);
            }
        }
        for (_, term, _) in self.whole.of_block(block) {
            terms.push_whole(&self.whole.terms[*term as usize]);
        }
        Ok(terms)
    }
}
