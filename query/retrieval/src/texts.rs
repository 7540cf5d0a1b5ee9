//! Texts that were read lately, as they were stored: taking them out of a segment costs more than looking at them.

use std::sync::Arc;

use limn_segment::{SegmentError, SegmentReader, TextFrame};
use moka::sync::Cache;

/// Bytes of texts that are kept.
const KEPT: u64 = 32 << 20;

/// Frames of texts by reader and number; what was not looked at for longest goes first.
pub(crate) struct Texts(Cache<(u64, usize), Arc<TextFrame>>);

impl Default for Texts {
    fn default() -> Texts {
        let size = |_: &(u64, usize), frame: &Arc<TextFrame>| {
            u32::try_from(frame.size()).unwrap_or(u32::MAX)
        };
        Texts(Cache::builder().weigher(size).max_capacity(KEPT).build())
    }
}

impl Texts {
    /// Calls `visit` with the texts of some blocks of a segment; consecutive ones are looked up together.
    ///
    /// # Errors
    /// Those of [`SegmentReader::frame`] and of `visit`; some texts may have been visited by then.
    pub(crate) fn visit(
        &self,
        reader: &SegmentReader,
        blocks: impl IntoIterator<Item = u32>,
        mut visit: impl FnMut(u32, &str) -> Result<(), SegmentError>,
    ) -> Result<(), SegmentError> {
        let mut now: Option<Arc<TextFrame>> = None;
        for block in blocks {
            let text = now.as_ref().and_then(|frame| frame.text(block));
            if let Some(text) = text {
                visit(block, text)?;
                continue;
            }
            let frame = self.frame(reader, reader.frame_of(block))?;
            // Only of a block that does not exist there is none.
            visit(block, frame.text(block).unwrap_or_default())?;
            now = Some(frame);
        }
        Ok(())
    }

    fn frame(&self, reader: &SegmentReader, number: usize) -> Result<Arc<TextFrame>, SegmentError> {
        let key = (reader.id(), number);
        if let Some(frame) = self.0.get(&key) {
            return Ok(frame);
        }
        let frame = Arc::new(reader.frame(number)?);
        self.0.insert(key, Arc::clone(&frame));
        Ok(frame)
    }
}
