//! Bringing segments: many at a time, before questions ask one after the other.
//!
//! A question asks one segment after the other. Where each has to be fetched first, that is a round
//! trip or more for each, one after the other: minutes, with a thousand segments. What a question
//! reads of a segment beside the texts of what is found is known beforehand, though: nearly all of
//! it. No question waits for it: what is not there yet, or cannot be brought, is read by the search
//! that needs it. Local segments are read and verified in the same way, two at a time: the first
//! question does not wait for all of a large index to come from the disk.

use std::sync::atomic::{AtomicUsize, Ordering};

use limn_segment::{SegmentCache, SegmentReader};

use crate::corpus::Corpus;

/// Segments brought at a time. Bringing waits for the network, not for a processor.
const AT_ONCE: usize = 32;
/// As many local ones.
const LOCAL_AT_ONCE: usize = 2;

/// Brings the segments of a corpus, if the cache has room for them all; whether all of them are
/// here now.
pub(crate) fn bring(corpus: &Corpus, cache: Option<&SegmentCache>) -> bool {
    let readers: Vec<&SegmentReader> = corpus.segments.iter().map(|it| &*it.reader).collect();
    let bytes: u64 = readers.iter().map(|reader| reader.remote_bytes()).sum();
    let at_once = match bytes {
        0 => LOCAL_AT_ONCE,
        _ => AT_ONCE,
    };
    if bytes > 0 && cache.is_none_or(|cache| bytes > cache.limit()) {
        return false;
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        while let Some(reader) = readers.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = reader.bring()
                && failed.fetch_add(1, Ordering::Relaxed) == 0
            {
                tracing::warn!(%error, segment = reader.path(), "a segment cannot be brought: questions try again");
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..readers.len().min(at_once) {
            scope.spawn(work);
        }
    });
    failed.into_inner() == 0
}
