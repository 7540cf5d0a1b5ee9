//! Bringing remote segments: before the first question, many at a time.
//!
//! A question asks one segment after the other. Where each has to be fetched first, that is a round trip
//! or more for each, one after the other: minutes, with a thousand segments. What a question reads of a segment beside the texts
//! of what is found is known beforehand, though: nearly all of it.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use limn_segment::{SegmentCache, SegmentError};

use crate::corpus::Corpus;

/// Segments brought at a time. Who brings waits for the network, not for a processor.
const AT_ONCE: usize = 32;

/// Whether the segments of a corpus were brought.
#[derive(Default)]
pub(crate) struct Brought(Mutex<bool>);

impl Brought {
    /// Brings them, if that was not done yet and the cache has room for them all; who comes meanwhile waits.
    pub(crate) fn bring(
        &self,
        corpus: &Corpus,
        cache: Option<&SegmentCache>,
    ) -> Result<(), SegmentError> {
        // A poisoned lock guards a bool.
        let mut is_done = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *is_done {
            return Ok(());
        }
        let remote: Vec<_> = corpus
            .segments
            .iter()
            .map(|segment| &segment.reader)
            .filter(|reader| reader.remote_bytes() > 0)
            .collect();
        let bytes: u64 = remote.iter().map(|reader| reader.remote_bytes()).sum();
        if cache.is_none_or(|cache| bytes <= cache.limit()) {
            let next = AtomicUsize::new(0);
            let threads = remote.len().min(AT_ONCE);
            let bring = || {
                while let Some(reader) = remote.get(next.fetch_add(1, Ordering::Relaxed)) {
                    reader.bring()?;
                }
                Ok(())
            };
            match NonZeroUsize::new(threads) {
                None => {}
                Some(NonZeroUsize::MIN) => bring()?,
                Some(threads) => std::thread::scope(|scope| {
                    let all: Vec<_> = (0..threads.get()).map(|_| scope.spawn(bring)).collect();
                    let ended = all.into_iter().map(|one| match one.join() {
                        Ok(ended) => ended,
                        Err(panic) => std::panic::resume_unwind(panic),
                    });
                    ended.collect::<Result<(), SegmentError>>()
                })?,
            }
        }
        *is_done = true;
        Ok(())
    }
}
