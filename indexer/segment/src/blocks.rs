//! Blocks and their texts: what is known of each block, and zstd frames that hold the texts.
//!
//! The `blocks` section is hot and decoded whole at opening: kind, exact token counts, length of
//! the text, and the list of frames. The `texts` section is cold: a frame holds the texts of
//! consecutive blocks, about 16 KiB before compression, so that showing a table's evidence touches
//! one chunk or two.

use std::ops::Range;

use tantivy::directory::OwnedBytes;

use crate::codec::{Cursor, compress, decompress, decompress_frame, put_number};
use crate::directory::SectionFile;
use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::spill::{Numbers, spilled};
use crate::table::{BlockKind, Field, TextHash};

/// A frame is closed when it holds this much text.
const FRAME: usize = 16 << 10;
/// No block's text may be longer: bounds what reading one text allocates.
pub(crate) const MAX_TEXT: usize = 16 << 20;
const TEXT_LEVEL: i32 = 15;
const META_LEVEL: i32 = 19;
/// In a kind's byte: the block has a vector.
const HAS_VECTOR: u8 = 0x80;

/// The bytes of three sections.
pub(crate) struct BlockSections {
    pub(crate) blocks: Vec<u8>,
    pub(crate) texts: Vec<u8>,
    pub(crate) hashes: Vec<u8>,
}

/// Collects blocks in order.
#[derive(Default)]
pub(crate) struct BlockWriter {
    kinds: Vec<u8>,
    lengths: [Vec<u32>; 4],
    text_lengths: Vec<u32>,
    hashes: Vec<u8>,
    open: Vec<u8>,
    open_blocks: u64,
    frames: Vec<(u64, u64)>,
    texts: Vec<u8>,
}

impl BlockWriter {
    pub(crate) fn add(
        &mut self,
        kind: BlockKind,
        has_vector: bool,
        lengths: [u32; 4],
        text: &str,
        hash: TextHash,
    ) -> Result<(), FormatError> {
        if text.len() > MAX_TEXT {
            return Err(FormatError::LongText {
                found: text.len(),
                most: MAX_TEXT,
            });
        }
        if self.open_blocks > 0 && self.open.len() + text.len() > FRAME {
            self.close()?;
        }
        self.kinds
            .push(kind.code() | if has_vector { HAS_VECTOR } else { 0 });
        for (all, length) in self.lengths.iter_mut().zip(lengths) {
            all.push(length);
        }
        self.text_lengths.push(text.len() as u32);
        self.hashes.extend_from_slice(&hash.to_bytes());
        self.open.extend_from_slice(text.as_bytes());
        self.open_blocks += 1;
        Ok(())
    }

    fn close(&mut self) -> Result<(), FormatError> {
        let frame = compress(&self.open, TEXT_LEVEL)?;
        self.frames.push((self.open_blocks, frame.len() as u64));
        self.texts.extend_from_slice(&frame);
        self.open.clear();
        self.open_blocks = 0;
        Ok(())
    }

    /// Number of blocks so far.
    pub(crate) fn count(&self) -> usize {
        self.kinds.len()
    }

    pub(crate) fn finish(mut self) -> Result<BlockSections, FormatError> {
        if self.open_blocks > 0 {
            self.close()?;
        }
        let mut meta = self.kinds;
        for lengths in self.lengths.iter().chain([&self.text_lengths]) {
            for length in lengths {
                put_number(&mut meta, u64::from(*length));
            }
        }
        put_number(&mut meta, self.frames.len() as u64);
        for (blocks, bytes) in &self.frames {
            put_number(&mut meta, *blocks);
            put_number(&mut meta, *bytes);
        }
        Ok(BlockSections {
            blocks: compress(&meta, META_LEVEL)?,
            texts: self.texts,
            hashes: self.hashes,
        })
    }
}

/// A frame: its first block, and where it begins in the section.
struct Frame {
    first_block: u32,
    offset: usize,
}

/// What is known of all blocks, in memory that the system may take back.
pub(crate) struct BlockTable {
    kinds: OwnedBytes,
    lengths: [Numbers; 4],
    text_lengths: Numbers,
    /// With one more at the end, where the last frame ends.
    frames: Vec<Frame>,
}

impl BlockTable {
    /// Decodes the section; `blocks` is the footer's count (bounded by the file's length).
    pub(crate) fn decode(
        bytes: &[u8],
        blocks: u32,
        texts: usize,
    ) -> Result<BlockTable, FormatError> {
        let n = blocks as usize;
        // A kind's byte, five numbers of at most five bytes, and a frame of at most twenty.
        let limit = n.saturating_mul(1 + 5 * 5 + 20).saturating_add(16);
        let bytes = decompress(bytes, limit)?;
        let mut cursor = Cursor::new(&bytes);
        let kinds = cursor.bytes(n)?.to_vec();
        if let Some(code) = kinds
            .iter()
            .find(|k| BlockKind::from_code(**k & !HAS_VECTOR).is_none())
        {
            return Err(FormatError::UnknownBlock(*code));
        }
        let mut numbers = || {
            (0..n)
                .map(|_| cursor.number_u32())
                .collect::<Result<Vec<u32>, FormatError>>()
        };
        let lengths = [numbers()?, numbers()?, numbers()?, numbers()?];
        let text_lengths = numbers()?;
        if text_lengths.iter().any(|l| *l as usize > MAX_TEXT) {
            return Err("it has a text that is too long".into());
        }
        let count = cursor.number()?;
        if count > u64::from(blocks) {
            return Err("it has more frames than blocks".into());
        }
        let mut frames = Vec::with_capacity(count as usize + 1);
        let (mut first_block, mut offset) = (0u64, 0u64);
        for _ in 0..count {
            frames.push(Frame {
                first_block: first_block as u32,
                offset: offset as usize,
            });
            let (blocks_here, bytes_here) = (cursor.number()?, cursor.number()?);
            let first = first_block as usize;
            first_block = first_block.saturating_add(blocks_here);
            offset = offset.saturating_add(bytes_here);
            if blocks_here == 0 || first_block > u64::from(blocks) || offset > texts as u64 {
                return Err("its frames do not fit its texts".into());
            }
            // Bounds what reading a text allocates: only a single text may be long.
            let lengths = &text_lengths[first..first_block as usize];
            if blocks_here > 1 && lengths.iter().map(|l| *l as usize).sum::<usize>() > FRAME {
                return Err("it has a frame that is too long".into());
            }
        }
        if first_block != u64::from(blocks) || offset != texts as u64 {
            return Err("its frames do not cover its texts".into());
        }
        frames.push(Frame {
            first_block: blocks,
            offset: texts,
        });
        cursor.end()?;
        Ok(BlockTable {
            kinds: spilled(kinds),
            lengths: lengths.each_ref().map(|lengths| Numbers::of(lengths)),
            text_lengths: Numbers::of(&text_lengths),
            frames,
        })
    }

    pub(crate) fn kind(&self, block: u32) -> BlockKind {
        // The code was checked when it was decoded.
        BlockKind::from_code(self.kinds[block as usize] & !HAS_VECTOR).unwrap_or(BlockKind::Cells)
    }

    /// The blocks that have a vector, in order.
    pub(crate) fn with_vectors(&self) -> Vec<u32> {
        (0u32..)
            .zip(self.kinds.iter())
            .filter(|(_, kind)| *kind & HAS_VECTOR != 0)
            .map(|(block, _)| block)
            .collect()
    }

    /// How many terms a block has in a field.
    pub(crate) fn length(&self, field: Field, block: u32) -> u32 {
        self.lengths[field.index()].at(block as usize)
    }

    /// The frame that a block's text is in.
    pub(crate) fn frame_of(&self, block: u32) -> usize {
        // Frames begin at block 0, so there is one before the point of partition.
        let after = self.frames.partition_point(|f| f.first_block <= block);
        after.saturating_sub(1)
    }

    /// Reads a frame from the `texts` section.
    pub(crate) fn frame(
        &self,
        at: usize,
        texts: &SectionFile,
        object: &str,
    ) -> Result<TextFrame, SegmentError> {
        let damaged = |detail: &str| SegmentError::damaged(object, detail.to_owned());
        let (Some(frame), Some(next)) = (self.frames.get(at), self.frames.get(at + 1)) else {
            return Err(damaged("it has no such frame"));
        };
        let (first_block, end) = (frame.first_block as usize, next.first_block as usize);
        let mut length = 0;
        let lengths = self.text_lengths.iter(first_block..end);
        let ends: Vec<u32> = lengths
            .map(|text| {
                length += text;
                length
            })
            .collect();
        let bytes = texts.read(frame.offset..next.offset)?;
        let bytes =
            decompress_frame(&bytes, length as usize).map_err(|e| damaged(&e.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| damaged("a text is not UTF-8"))?;
        if !ends.iter().all(|end| text.is_char_boundary(*end as usize)) {
            return Err(damaged("a text is not UTF-8"));
        }
        Ok(TextFrame {
            first_block: frame.first_block,
            ends,
            text,
        })
    }
}

/// The texts of consecutive blocks, which are stored and read together: about 16 KiB.
#[derive(Debug)]
pub struct TextFrame {
    first_block: u32,
    /// Where each text ends, in bytes.
    ends: Vec<u32>,
    text: String,
}

impl TextFrame {
    /// A block's text, if it is in this frame.
    #[must_use]
    pub fn text(&self, block: u32) -> Option<&str> {
        let at = block.checked_sub(self.first_block)? as usize;
        let end = *self.ends.get(at)? as usize;
        let start = at.checked_sub(1).map_or(0, |at| self.ends[at] as usize);
        self.text.get(start..end)
    }

    /// The blocks whose texts it has.
    #[must_use]
    pub fn blocks(&self) -> Range<u32> {
        self.first_block..self.first_block + self.ends.len() as u32
    }

    /// Bytes of memory that it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<TextFrame>() + self.ends.len() * size_of::<u32>() + self.text.len()
    }
}
