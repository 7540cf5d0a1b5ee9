//! Bringing remote segments: many at a time, before questions ask one after the other.
//!
//! A question asks one segment after the other. Where each has to be fetched first, that is a round trip
//! or more for each, one after the other: minutes, with a thousand segments. What a question reads of a segment beside the texts
//! of what is found is known beforehand, though: nearly all of it. No question waits for it: what is not there yet, or cannot be brought, is
//! read by who needs it.

use std::sync::atomic::{AtomicUsize, Ordering};

use limn_segment::{SegmentCache, SegmentReader};

use crate::corpus::Corpus;

/// Segments brought at a time. Who brings waits for the network, not for a processor.
const AT_ONCE: usize = 32;

/// Brings the segments of a corpus, if the cache has room for them all; whether all of them are here now.
pub(crate) fn bring(corpus: &Corpus, cache: Option<&SegmentCache>) -> bool {
    let readers = corpus.segments.iter().map(|segment| &*segment.reader);
    let remote: Vec<&SegmentReader> = readers.filter(|it| it.remote_bytes() > 0).collect();
    let bytes: u64 = remote.iter().map(|reader| reader.remote_bytes()).sum();
    if remote.is_empty() {
        return true;
    }
    if cache.is_none_or(|cache| bytes > cache.limit()) {
        return false;
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(reader) = remote.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = reader.bring()
                && failed.fetch_add(1, Ordering::Relaxed) == 0
            {
                tracing::warn!(%error, segment = reader.path(), "a segment cannot be brought: questions try again");
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..remote.len().min(AT_ONCE) {
            scope.spawn(work);
        }
    });
    failed.into_inner() == 0
}
