//! Reads a segment: one ranged read opens it, everything else is fetched and verified on touch.
//!
//! A local segment is memory-mapped in place; a remote one becomes a sparse file, temporary or a
//! cache's, that fills as questions touch it (`remote.rs`). Above the bytes both are the same code,
//! so both give the same answers.

mod search;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use limn_store::{Store, StoreError, StoreErrorKind};
use tantivy::directory::OwnedBytes;

use crate::blocks::{BlockTable, TextFrame};
use crate::cache::SegmentCache;
use crate::chunks::{ChunkedFile, Generation};
use crate::directory::{SectionDirectory, SectionFile};
use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::layout::{self, CHUNK, Contents, Extent, section};
use crate::lexical::LexicalReader;
use crate::map::map;
use crate::remote::{RemoteSegment, check_footer, check_size};
use crate::snapshot::SegmentEntry;
use crate::table::{BlockKind, Field, Shard, TextHash};
use crate::tables::SegmentTables;
use crate::values::index::ValueIndex;
use crate::vectors::VectorReader;

/// How many readers there were in this process.
static OPENED: AtomicU64 = AtomicU64::new(0);

/// What is known of a block without touching its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockMeta {
    /// Number of its table in [`SegmentReader::tables`].
    pub table: u32,
    /// What it is about.
    pub kind: BlockKind,
    /// Exact token count of each field, by [`Field::index`].
    pub lengths: [u32; 4],
}

/// An open segment. Cheap to share; all methods may be called from many threads.
pub struct SegmentReader {
    id: u64,
    path: String,
    file: Arc<ChunkedFile>,
    contents: Contents,
    tables: Arc<SegmentTables>,
    blocks: BlockTable,
    lexical: LexicalReader,
    vectors: VectorReader,
    /// None where no table has values.
    values: Option<ValueIndex>,
    texts: SectionFile,
    hashes: SectionFile,
}

impl std::fmt::Debug for SegmentReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentReader")
            .field("path", &self.path)
            .field("blocks", &self.contents.blocks)
            .finish_non_exhaustive()
    }
}

impl SegmentReader {
    /// Opens a segment that a snapshot names: a memory map if the store is local, else one ranged
    /// read of the tail.
    ///
    /// # Errors
    /// Store errors; [`SegmentError::Damaged`], [`SegmentError::NewerFormat`].
    pub async fn open(store: &Store, entry: &SegmentEntry) -> Result<Arc<Self>, SegmentError> {
        Self::open_with(store, entry, None).await
    }

    /// As [`SegmentReader::open`]; what is read of a remote segment goes to the cache, and is taken
    /// from it.
    ///
    /// # Errors
    /// As [`SegmentReader::open`]. A cache that cannot be written is a warning: then the segment
    /// goes to a temporary file.
    pub async fn open_with(
        store: &Store,
        entry: &SegmentEntry,
        cache: Option<&SegmentCache>,
    ) -> Result<Arc<Self>, SegmentError> {
        match store.open_file(&entry.path) {
            Some(file) => {
                let object = store.object_url(&entry.path);
                let file = file.map_err(|error| match error.is_not_found() {
                    true => not_there(&object),
                    false => error.into(),
                })?;
                let bytes = map(&file).map_err(|e| match e.kind() {
                    std::io::ErrorKind::UnexpectedEof => {
                        SegmentError::damaged(&object, "it is empty")
                    }
                    _ => SegmentError::io(object.clone(), e),
                })?;
                Self::open_whole(object, bytes, entry)
            }
            None => Self::open_remote(store, entry, cache).await,
        }
    }

    /// Opens a segment whose bytes are in memory.
    ///
    /// # Errors
    /// As [`SegmentReader::open`].
    pub fn from_bytes(bytes: Bytes, entry: &SegmentEntry) -> Result<Arc<Self>, SegmentError> {
        Self::open_whole(entry.path.clone(), OwnedBytes::new(bytes.to_vec()), entry)
    }

    fn open_whole(
        object: String,
        bytes: OwnedBytes,
        entry: &SegmentEntry,
    ) -> Result<Arc<Self>, SegmentError> {
        let size = bytes.len() as u64;
        check_size(&object, size, entry)?;
        let footer = layout::open(&object, &bytes, size)?;
        check_footer(&object, &footer, entry)?;
        let file = ChunkedFile::new(
            object,
            footer.body,
            footer.checksums,
            Generation::new(0, bytes, None, false),
            None,
        );
        Self::assemble(&Arc::new(file), footer.contents, entry)
    }

    async fn open_remote(
        store: &Store,
        entry: &SegmentEntry,
        cache: Option<&SegmentCache>,
    ) -> Result<Arc<Self>, SegmentError> {
        let object = store.object_url(&entry.path);
        let start = entry
            .bytes
            .checked_sub(entry.hot)
            .filter(|s| s % CHUNK as u64 == 0);
        let Some(start) = start else {
            return Err(SegmentError::damaged(
                object,
                "the snapshot gives it an impossible hot part",
            ));
        };
        let remote = RemoteSegment {
            store,
            entry,
            object,
            start,
        };
        if let Some(place) = cache.and_then(|cache| cache.place(&entry.path))
            && let Some((file, contents)) = remote.kept(place)
        {
            return Self::assemble(&file, contents, entry);
        }
        let tail = store.get_range(&entry.path, start..entry.bytes).await?;
        let (file, contents) =
            remote.fetched(tail, cache.and_then(|cache| cache.place(&entry.path)))?;
        Self::assemble(&file, contents, entry)
    }

    fn assemble(
        file: &Arc<ChunkedFile>,
        contents: Contents,
        entry: &SegmentEntry,
    ) -> Result<Arc<Self>, SegmentError> {
        let object = file.object().to_owned();
        let damaged = |detail: String| SegmentError::damaged(&object, detail);
        let unfit = |detail: FormatError| SegmentError::damaged(&object, detail);
        let section = |name: &str| {
            contents
                .section(name)
                .map(|s| SectionFile::new(file, &s.extents))
                .ok_or_else(|| damaged(format!("it has no section {name}")))
        };
        let texts = section(section::TEXTS)?;
        let hashes = section(section::TEXT_HASHES)?;
        let meta = section(section::BLOCKS)?.read_all()?;
        let blocks = BlockTable::decode(&meta, contents.blocks, tantivy::HasLen::len(&texts))
            .map_err(unfit)?;
        let with_vectors = blocks.with_vectors();
        if with_vectors.len() != contents.vectors as usize {
            return Err(damaged(
                "its vectors are not as many as its footer says".to_owned(),
            ));
        }
        let tables = section(section::TABLES)?.read_all()?;
        // Segments of older versions have none.
        let known = match contents.section(section::TABLE_CONTENTS) {
            Some(known) => SectionFile::new(file, &known.extents).read_all()?,
            None => OwnedBytes::empty(),
        };
        let tables = SegmentTables::decode(&tables, &known, &contents).map_err(unfit)?;
        let lexical = LexicalReader::open(
            file,
            SectionDirectory::new(file, &contents),
            contents.blocks,
        )?;
        let vectors = VectorReader::new(
            &object,
            section(section::VECTORS)?,
            contents.dimensions as usize,
            with_vectors,
            contents.graph,
        )?;
        let values = match contents.section(section::VALUE_INDEX) {
            Some(_) => {
                let index = section(section::VALUE_INDEX)?.read_all()?;
                let by_file = section(section::FILE_VALUES)?;
                let by_value = section(section::VALUES)?;
                let opened = ValueIndex::open(&index, by_file, by_value, contents.tables);
                Some(opened.map_err(unfit)?)
            }
            None => None,
        };
        Ok(Arc::new(SegmentReader {
            id: OPENED.fetch_add(1, Ordering::Relaxed),
            path: entry.path.clone(),
            file: Arc::clone(file),
            tables: Arc::new(tables),
            blocks,
            lexical,
            vectors,
            values,
            texts,
            hashes,
            contents,
        }))
    }

    /// No other reader of this process has it.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Reads all of the segment and checks it against its checksums.
    pub(crate) fn verify_bytes(&self) -> Result<(), SegmentError> {
        self.file.verify()
    }

    /// Brings what questions read of every segment (words, values, vectors and the texts' hashes),
    /// in as few requests as can be, and verifies it. Of a local segment it is read from the disk.
    ///
    /// # Errors
    /// Those of reading the segment.
    pub fn bring(&self) -> Result<(), SegmentError> {
        let wanted = |name: &str| {
            [section::TEXT_HASHES, section::VALUES, section::VECTORS].contains(&name)
                || name.starts_with(section::TANTIVY)
        };
        let sections = self.contents.sections.iter();
        let extents = sections
            .filter(|it| wanted(&it.name))
            .flat_map(|it| &it.extents);
        let ends =
            extents.map(|Extent(start, length)| (*start as usize, (start + length) as usize));
        // They lie side by side.
        let range = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        range.map_or(Ok(()), |(start, end)| self.file.bring(start..end))
    }

    /// Bytes that [`SegmentReader::bring`] may take in a cache; 0 of a local segment.
    #[must_use]
    pub fn remote_bytes(&self) -> u64 {
        if self.file.is_remote() {
            self.file.length() as u64
        } else {
            0
        }
    }

    /// Path under the index root.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its shard.
    #[must_use]
    pub fn shard(&self) -> Shard {
        self.contents.shard
    }

    /// Length of its vectors.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.vectors.dimensions()
    }

    /// Version of the analyzer that made its terms.
    #[must_use]
    pub fn analyzer(&self) -> u32 {
        self.contents.analyzer
    }

    /// Number of blocks, deleted ones included.
    #[must_use]
    pub fn block_count(&self) -> u32 {
        self.contents.blocks
    }

    /// Number of blocks that have a vector.
    #[must_use]
    pub fn vector_count(&self) -> usize {
        self.vectors.count()
    }

    /// What is known of a block.
    ///
    /// # Panics
    /// Like indexing a slice, if `block` is not below [`SegmentReader::block_count`].
    #[must_use]
    pub fn block(&self, block: u32) -> BlockMeta {
        BlockMeta {
            table: self.table_of(block),
            kind: self.blocks.kind(block),
            lengths: self.field_lengths(block),
        }
    }

    /// Exact token count of each field of a block, by [`Field::index`]. Panics like
    /// [`SegmentReader::block`].
    #[must_use]
    pub fn field_lengths(&self, block: u32) -> [u32; 4] {
        Field::ALL.map(|field| self.blocks.length(field, block))
    }

    /// Number of a block's table in [`SegmentReader::tables`].
    #[must_use]
    pub fn table_of(&self, block: u32) -> u32 {
        self.tables.of_block(block)
    }

    /// What a block is about. Panics like [`SegmentReader::block`].
    #[must_use]
    pub fn kind(&self, block: u32) -> BlockKind {
        self.blocks.kind(block)
    }

    /// The tables, in the order of their keys and of their blocks.
    #[must_use]
    pub fn tables(&self) -> &SegmentTables {
        &self.tables
    }

    /// The same, for callers that need them longer than the segment.
    pub(crate) fn shared_tables(&self) -> Arc<SegmentTables> {
        Arc::clone(&self.tables)
    }

    /// The text of a block.
    ///
    /// # Errors
    /// Those of reading the segment; a block that does not exist.
    pub fn text(&self, block: u32) -> Result<String, SegmentError> {
        self.check_block(block)?;
        let mut frame = None;
        self.text_in(&mut frame, block).map(str::to_owned)
    }

    /// The number of the frame that a block's text is in: what [`SegmentReader::frame`] reads.
    #[must_use]
    pub fn frame_of(&self, block: u32) -> usize {
        self.blocks.frame_of(block)
    }

    /// Reads the texts of consecutive blocks together.
    ///
    /// # Errors
    /// As [`SegmentReader::text`].
    pub fn frame(&self, number: usize) -> Result<TextFrame, SegmentError> {
        self.blocks.frame(number, &self.texts, &self.path)
    }

    /// As [`SegmentReader::text`], for blocks that are read in order: their frame is kept.
    pub(crate) fn text_in<'f>(
        &self,
        kept: &'f mut Option<TextFrame>,
        block: u32,
    ) -> Result<&'f str, SegmentError> {
        self.check_block(block)?;
        if kept
            .as_ref()
            .is_none_or(|frame| frame.text(block).is_none())
        {
            *kept = Some(self.frame(self.frame_of(block))?);
        }
        match kept {
            Some(frame) => self.text_of(frame, block),
            None => Err(self.no_text()),
        }
    }

    /// The text of a block in [its frame](SegmentReader::frame_of).
    ///
    /// # Errors
    /// [`SegmentError::Damaged`] where it is not there.
    pub fn text_of<'f>(&self, frame: &'f TextFrame, block: u32) -> Result<&'f str, SegmentError> {
        frame.text(block).ok_or_else(|| self.no_text())
    }

    fn no_text(&self) -> SegmentError {
        SegmentError::damaged(&self.path, "a block has no text")
    }

    /// xxh3-128 of a block's text.
    ///
    /// # Errors
    /// As [`SegmentReader::text`].
    pub fn text_hash(&self, block: u32) -> Result<TextHash, SegmentError> {
        self.check_block(block)?;
        let start = block as usize * 16;
        let bytes = self.hashes.read(start..start + 16)?;
        match bytes.as_slice().try_into() {
            Ok(bytes) => Ok(TextHash::from_bytes(bytes)),
            Err(_) => Err(SegmentError::damaged(&self.path, "a text hash is cut off")),
        }
    }

    fn check_block(&self, block: u32) -> Result<(), SegmentError> {
        if block < self.contents.blocks {
            return Ok(());
        }
        Err(SegmentError::damaged(
            &self.path,
            format!(
                "it has {} blocks and no block {block}",
                self.contents.blocks
            ),
        ))
    }
}

fn not_there(object: &str) -> SegmentError {
    SegmentError::Store(StoreError::new(
        StoreErrorKind::NotFound,
        object,
        "does not exist, though the snapshot names it",
        "open the index again (garbage collection may have run), or restore the object",
    ))
}
