//! Builds a segment: tables and their blocks become one immutable bundle.
//!
//! Tables are sorted by key and blocks numbered in that order, so the bytes are a function of the
//! *set* of tables: any number of workers, in any order, build the same segment. A salt, where
//! there is one, gives it a name of its own.

use bytes::Bytes;
use half::f16;

use crate::analyzer::ANALYZER_VERSION;
use crate::blocks::{BlockSections, BlockWriter};
use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::languages::TableLanguages;
use crate::layout::{CHUNK, Contents, Extent, Section, seal, section};
use crate::lexical::{BlockTerms, LexicalWriter};
use crate::snapshot::{SegmentEntry, nonce};
use crate::table::{BlockKind, Shard, TableBlocks, TableContent, TableKey, TextHash};
use crate::tables::TableWriter;
use crate::values::TableValues;
use crate::values::writer::{ValueSections, ValueWriter};
use crate::vectors::VectorWriter;
use crate::whole;

/// Up to so many vectors a segment is searched exactly, which then takes a few milliseconds a core.
pub const EXACT_LIMIT: usize = 100_000;
/// Documents that tantivy can hold in one segment.
const MAX_BLOCKS: usize = 1 << 31;
/// The end of each tantivy file lies among the hot bytes: its footers, which opening reads.
const TANTIVY_TAIL: usize = 1 << 10;
/// Opening reads this one of tantivy's files whole.
const TANTIVY_META: &str = "meta.json";
/// Rows begin on cache lines.
const ROW_ALIGNMENT: usize = 64;

/// How a segment is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentSettings {
    /// Length of every vector.
    pub dimensions: usize,
    /// Shard that the segment belongs to.
    pub shard: Shard,
    /// A segment with more vectors than this gets a graph; others are searched exactly.
    pub graph_above: usize,
    /// Goes into the segment and so into its name; 0 for none.
    pub salt: u64,
}

impl SegmentSettings {
    /// The usual settings: a graph above [`EXACT_LIMIT`] vectors.
    #[must_use]
    pub fn new(dimensions: usize, shard: Shard) -> SegmentSettings {
        SegmentSettings {
            dimensions,
            shard,
            graph_above: EXACT_LIMIT,
            salt: 0,
        }
    }

    /// The same for a segment whose name none had before, whatever it holds: garbage collection may
    /// be about to remove one of the same content.
    #[must_use]
    pub fn unique(self) -> SegmentSettings {
        let salt = u64::from_str_radix(&nonce()[..16], 16);
        SegmentSettings {
            salt: salt.unwrap_or_default(),
            ..self
        }
    }
}

/// Bytes of a segment by purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentStats {
    /// Compressed texts.
    pub texts: u64,
    /// Text hashes.
    pub text_hashes: u64,
    /// The matrix of vectors and, if there is one, the graph.
    pub vectors: u64,
    /// tantivy's files.
    pub lexical: u64,
    /// Hashes of values.
    pub values: u64,
    /// Kinds, lengths, tables, checksums, padding.
    pub other: u64,
}

/// A segment, ready to be written.
#[derive(Clone, Debug)]
pub struct BuiltSegment {
    /// The object's bytes.
    pub bytes: Bytes,
    /// Content hash, also in the path.
    pub id: u128,
    /// Its entry in the next snapshot.
    pub entry: SegmentEntry,
    /// Where each table's blocks are: key, first block, number of blocks; in the order of keys.
    pub tables: Vec<(TableKey, u32, u32)>,
    /// Bytes by purpose.
    pub stats: SegmentStats,
}

/// Builds a segment from tables in any order. CPU work: call it on a thread that may block.
///
/// A table without blocks is left out (and appears in [`BuiltSegment::tables`] with 0 blocks).
///
/// # Errors
/// [`SegmentError::Invalid`] naming the table: a vector of another length or with a value that is
/// not finite, a text above 16 MiB, a table given twice; or no block at all.
pub fn build_segment(
    mut tables: Vec<TableBlocks>,
    settings: &SegmentSettings,
) -> Result<BuiltSegment, SegmentError> {
    tables.sort_by(|a, b| a.table.cmp(&b.table));
    if let Some(pair) = tables
        .windows(2)
        .find(|pair| pair[0].table == pair[1].table)
    {
        return Err(SegmentError::invalid(&pair[0].table, "it was given twice"));
    }
    if tables.iter().map(|t| t.blocks.len()).sum::<usize>() > MAX_BLOCKS {
        return Err(SegmentError::invalid(
            "the segment",
            "too many blocks: use more shards",
        ));
    }

    let mut writer = SegmentWriter::new(settings)?;
    for table in &tables {
        writer.begin_table(&table.table);
        let languages = TableLanguages::of(&table.blocks);
        for (at, block) in table.blocks.iter().enumerate() {
            let mut terms = BlockTerms::analyzed(block, &languages);
            if at == 0 {
                for term in whole::of_table(&table.table, &table.location) {
                    terms.push_whole(&term);
                }
            }
            writer.add(&WrittenBlock {
                kind: block.kind,
                text: &block.text,
                hash: block.text_hash(),
                terms,
                vector: block.vector.as_deref(),
            })?;
        }
        writer.end_table(&table.location, table.content, &table.values)?;
    }
    writer.finish()
}

/// A block as a segment keeps it.
pub(crate) struct WrittenBlock<'a> {
    pub(crate) kind: BlockKind,
    pub(crate) text: &'a str,
    pub(crate) hash: TextHash,
    pub(crate) terms: BlockTerms,
    pub(crate) vector: Option<&'a [f16]>,
}

/// Writes a segment table by table, in the order of keys: of texts that are analyzed now, or of
/// what other segments hold. Both give the same bytes.
pub(crate) struct SegmentWriter {
    settings: SegmentSettings,
    lexical: LexicalWriter,
    vectors: VectorWriter,
    vector_count: u32,
    blocks: BlockWriter,
    directory: TableWriter,
    values: ValueWriter,
    placed: Vec<(TableKey, u32, u32)>,
}

impl SegmentWriter {
    pub(crate) fn new(settings: &SegmentSettings) -> Result<SegmentWriter, SegmentError> {
        Ok(SegmentWriter {
            settings: *settings,
            lexical: LexicalWriter::new()?,
            vectors: VectorWriter::new(settings.dimensions),
            vector_count: 0,
            blocks: BlockWriter::default(),
            directory: TableWriter::default(),
            values: ValueWriter::default(),
            placed: Vec::new(),
        })
    }

    /// Begins the next table.
    pub(crate) fn begin_table(&mut self, table: &TableKey) {
        let first = self.blocks.count() as u32;
        self.placed.push((table.clone(), first, 0));
    }

    /// Adds the table's next block.
    ///
    /// # Errors
    /// [`SegmentError::Invalid`] naming the table.
    pub(crate) fn add(&mut self, block: &WrittenBlock<'_>) -> Result<(), SegmentError> {
        let placed = &self.placed;
        let wrong = |detail: FormatError| {
            let table = placed.last().map(|(table, ..)| table.to_string());
            SegmentError::invalid(table.unwrap_or_default(), detail)
        };
        self.lexical.add(&block.terms)?;
        if let Some(vector) = block.vector {
            self.vectors.add(vector).map_err(wrong)?;
            self.vector_count += 1;
        }
        self.blocks
            .add(
                block.kind,
                block.vector.is_some(),
                block.terms.lengths,
                block.text,
                block.hash,
            )
            .map_err(wrong)
    }

    /// Ends the table; without blocks it is left out.
    pub(crate) fn end_table(
        &mut self,
        location: &str,
        content: Option<TableContent>,
        values: &TableValues,
    ) -> Result<(), SegmentError> {
        let end = self.blocks.count() as u32;
        let Some((table, first, count)) = self.placed.last_mut() else {
            return Ok(());
        };
        *count = end - *first;
        if *count > 0 {
            let added = self.values.add(self.directory.count, values);
            added.map_err(|detail| SegmentError::invalid(table.to_string(), detail))?;
            self.directory.add(table, location, *count, content)?;
        }
        Ok(())
    }

    /// The segment.
    ///
    /// # Errors
    /// [`SegmentError::Invalid`] if it has no block.
    pub(crate) fn finish(self) -> Result<BuiltSegment, SegmentError> {
        let SegmentWriter {
            settings,
            lexical,
            vectors,
            vector_count,
            blocks,
            directory,
            values,
            placed,
        } = self;
        if blocks.count() == 0 {
            return Err(SegmentError::invalid(
                "the segment",
                "it would have no blocks",
            ));
        }

        let failed = |e: FormatError| SegmentError::invalid("the segment", e);
        let block_count = blocks.count() as u32;
        let table_count = directory.count;
        let blocks = blocks.finish().map_err(failed)?;
        let (vectors, graph) = vectors.finish(settings.graph_above).map_err(failed)?;
        let files = lexical.finish()?;
        let values = values.finish().map_err(failed)?;
        let parts = Parts {
            blocks,
            vectors,
            files,
            values,
            directory,
        };
        let mut stats = parts.stats();
        let (out, hot) = parts.lay_out()?;

        let contents = Contents {
            analyzer: ANALYZER_VERSION,
            shard: settings.shard,
            dimensions: u32::try_from(settings.dimensions)
                .map_err(|_| failed("the vectors are too long".into()))?,
            blocks: block_count,
            tables: table_count,
            vectors: vector_count,
            graph,
            salt: match settings.salt {
                0 => String::new(),
                // Of one length, so that segments of the same tables are of one length, too.
                salt => format!("{salt:016x}"),
            },
            hot: hot as u64,
            sections: out.sections,
        };
        let mut bytes = out.bytes;
        let id = seal(&mut bytes, &contents)?;
        bytes.shrink_to_fit();
        let size = bytes.len() as u64;
        let known = [stats.texts, stats.text_hashes, stats.vectors, stats.lexical];
        stats.other = size - known.into_iter().sum::<u64>() - stats.values;
        Ok(BuiltSegment {
            id,
            entry: SegmentEntry {
                shard: settings.shard,
                path: segment_path(settings.shard, id),
                bytes: size,
                // Only whole chunks can be verified.
                hot: size - (hot / CHUNK * CHUNK) as u64,
                blocks: block_count,
                tables: table_count,
                deletes: None,
            },
            bytes: bytes.into(),
            tables: placed,
            stats,
        })
    }
}

/// What a segment is made of.
struct Parts {
    blocks: BlockSections,
    vectors: Vec<u8>,
    /// tantivy's, by name.
    files: Vec<(String, Vec<u8>)>,
    values: Option<ValueSections>,
    directory: TableWriter,
}

impl Parts {
    /// Their bytes by purpose, without what else is in a segment.
    fn stats(&self) -> SegmentStats {
        let files = self.files.iter();
        SegmentStats {
            texts: self.blocks.texts.len() as u64,
            text_hashes: self.blocks.hashes.len() as u64,
            vectors: self.vectors.len() as u64,
            lexical: files.map(|(_, bytes)| bytes.len() as u64).sum(),
            values: self.values.as_ref().map_or(0, ValueSections::bytes),
            other: 0,
        }
    }

    /// The body, and the length of what comes before its hot bytes.
    fn lay_out(self) -> Result<(Layout, usize), SegmentError> {
        let Parts {
            blocks,
            vectors,
            files,
            values,
            directory,
        } = self;
        let BlockSections {
            blocks: meta,
            texts,
            hashes,
        } = blocks;
        let mut out = Layout::default();
        out.add(section::TEXTS, &texts);
        drop(texts);
        if let Some(values) = &values {
            out.add(section::FILE_VALUES, &values.by_file);
        }
        // From here on what is brought before questions come, side by side.
        out.add(section::TEXT_HASHES, &hashes);
        drop(hashes);
        if let Some(values) = &values {
            out.add(section::VALUES, &values.by_value);
        }
        // The matrix begins after its header of 8 bytes.
        out.pad_to(ROW_ALIGNMENT, ROW_ALIGNMENT - crate::graph::MATRIX_HEADER);
        out.add(section::VECTORS, &vectors);
        drop(vectors);
        let cold = |name: &str, bytes: &[u8]| match name {
            TANTIVY_META => 0,
            _ => bytes.len().saturating_sub(TANTIVY_TAIL),
        };
        for (name, bytes) in &files {
            let body = cold(name, bytes);
            out.add(&format!("{}{name}", section::TANTIVY), &bytes[..body]);
        }
        let hot = out.bytes.len();
        for (name, bytes) in &files {
            let body = cold(name, bytes);
            out.add(&format!("{}{name}", section::TANTIVY), &bytes[body..]);
        }
        out.add(section::BLOCKS, &meta);
        if let Some(known) = directory.contents() {
            out.add(section::TABLE_CONTENTS, known);
        }
        out.add(section::TABLES, &directory.finish()?);
        if let Some(values) = &values {
            out.add(section::VALUE_INDEX, &values.index);
        }
        Ok((out, hot))
    }
}

/// Path of a segment under the index root.
pub(crate) fn segment_path(shard: Shard, id: u128) -> String {
    format!("segments/{shard}/{id:032x}.seg")
}

/// The body as it grows.
#[derive(Default)]
struct Layout {
    bytes: Vec<u8>,
    sections: Vec<Section>,
}

impl Layout {
    /// Appends content to the section of this name.
    fn add(&mut self, name: &str, content: &[u8]) {
        let extent = Extent(self.bytes.len() as u64, content.len() as u64);
        self.bytes.extend_from_slice(content);
        match self.sections.iter_mut().find(|s| s.name == name) {
            Some(section) => section.extents.push(extent),
            None => self.sections.push(Section {
                name: name.to_owned(),
                extents: vec![extent],
            }),
        }
    }

    /// Pads with zeros until the length is `rest` modulo `alignment`.
    fn pad_to(&mut self, alignment: usize, rest: usize) {
        while self.bytes.len() % alignment != rest {
            self.bytes.push(0);
        }
    }
}
