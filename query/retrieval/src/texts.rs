//! Texts that were read lately, as they were stored, and which terms they have: taking a text out
//! of a segment and analyzing it costs more than looking at it.

use std::sync::{Arc, OnceLock};

use limn_segment::analyzer::analyze_into;
use limn_segment::{SegmentError, SegmentReader, TextFrame};
use moka::sync::Cache;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of texts and terms that are kept.
const KEPT: u64 = 48 << 20;
/// Bytes of texts for which there is a term of eight bytes, about.
const TEXT_OF_TERM: usize = 16;

/// Frames of texts by reader and number; what was not looked at for longest goes first.
pub(crate) struct Texts(Cache<(u64, usize), Arc<Kept>>);

struct Kept {
    frame: TextFrame,
    /// Of each block's text, once it was looked through.
    terms: Vec<OnceLock<Terms>>,
}

/// The distinct terms of a text, as their hashes.
pub(crate) struct Terms(Box<[u64]>);

impl Terms {
    /// Those of a text.
    pub(crate) fn of(text: &str) -> Terms {
        let mut hashes = Vec::new();
        analyze_into(text, &mut |term: &str| hashes.push(Terms::hash(term)));
        hashes.sort_unstable();
        hashes.dedup();
        Terms(hashes.into())
    }

    /// What a term is known by. Two terms of one hash are taken for one: by chance that does not
    /// happen, and whoever makes it happen has his own text shown as if it had a word.
    pub(crate) fn hash(term: &str) -> u64 {
        xxh3_64(term.as_bytes())
    }

    /// Whether the term of this hash is among them.
    pub(crate) fn has(&self, hash: u64) -> bool {
        self.0.binary_search(&hash).is_ok()
    }
}

impl Default for Texts {
    fn default() -> Texts {
        let size = |_: &(u64, usize), kept: &Arc<Kept>| {
            let blocks = kept.terms.len() * size_of::<OnceLock<Terms>>();
            let bytes = kept.frame.size() * (TEXT_OF_TERM + 8) / TEXT_OF_TERM + blocks;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        Texts(Cache::builder().weigher(size).max_capacity(KEPT).build())
    }
}

impl Texts {
    /// Calls `visit` with the texts of some blocks of a segment and their terms; consecutive ones
    /// are looked up together.
    ///
    /// # Errors
    /// Those of [`SegmentReader::frame`] and of `visit`; some texts may have been visited by then.
    pub(crate) fn visit(
        &self,
        reader: &SegmentReader,
        blocks: impl IntoIterator<Item = u32>,
        mut visit: impl FnMut(u32, &str, &Terms) -> Result<(), SegmentError>,
    ) -> Result<(), SegmentError> {
        let mut now: Option<Arc<Kept>> = None;
        for block in blocks {
            let is_in = |kept: &Arc<Kept>| kept.frame.blocks().contains(&block);
            let kept = match now.take().filter(is_in) {
                Some(kept) => kept,
                None => self.kept(reader, reader.frame_of(block))?,
            };
            let text = reader.text_of(&kept.frame, block)?;
            let terms = &kept.terms[(block - kept.frame.blocks().start) as usize];
            visit(block, text, terms.get_or_init(|| Terms::of(text)))?;
            now = Some(kept);
        }
        Ok(())
    }

    /// A block's text.
    ///
    /// # Errors
    /// Those of [`SegmentReader::frame`].
    pub(crate) fn text(&self, reader: &SegmentReader, block: u32) -> Result<String, SegmentError> {
        let kept = self.kept(reader, reader.frame_of(block))?;
        reader.text_of(&kept.frame, block).map(str::to_owned)
    }

    fn kept(&self, reader: &SegmentReader, number: usize) -> Result<Arc<Kept>, SegmentError> {
        let key = (reader.id(), number);
        if let Some(kept) = self.0.get(&key) {
            return Ok(kept);
        }
        let frame = reader.frame(number)?;
        let terms = frame.blocks().map(|_| OnceLock::new()).collect();
        let kept = Arc::new(Kept { frame, terms });
        self.0.insert(key, Arc::clone(&kept));
        Ok(kept)
    }
}
