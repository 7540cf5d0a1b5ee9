//! A segment's bytes, verified chunk by chunk when they are first touched.
//!
//! A bitmap says which 64 KiB chunks are *ready*: present and with the right checksum. A local file
//! has all chunks present, and a first touch hashes; a remote segment is a sparse temporary file of
//! the same size, and a first touch fetches the chunks that are missing, verifies them, writes them
//! and sets their bits. Slices are handed out over ready chunks only.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use limn_store::Store;
use tantivy::directory::OwnedBytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::SegmentError;
use crate::fetch;
use crate::layout::CHUNK;

/// Remote reads are rounded to windows of so many chunks (1 MiB): a request's latency costs more
/// than its neighbours' bytes.
const WINDOW: usize = 16;

/// A verified file.
pub(crate) struct ChunkedFile {
    object: String,
    /// The whole file; only ready chunks may be looked at.
    bytes: OwnedBytes,
    /// Length of the part that the checksums cover.
    body: usize,
    checksums: Vec<u64>,
    ready: Vec<AtomicU64>,
    remote: Option<Remote>,
}

/// Where missing chunks come from and go to.
pub(crate) struct Remote {
    pub(crate) store: Store,
    pub(crate) path: String,
    pub(crate) file: File,
    /// Held while fetching, so that no chunk is fetched or written twice.
    pub(crate) fetching: Mutex<()>,
}

impl std::fmt::Debug for ChunkedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkedFile")
            .field("object", &self.object)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

impl ChunkedFile {
    pub(crate) fn new(
        object: String,
        bytes: OwnedBytes,
        body: usize,
        checksums: Vec<u64>,
        remote: Option<Remote>,
    ) -> ChunkedFile {
        let ready = (0..checksums.len().div_ceil(64))
            .map(|_| AtomicU64::new(0))
            .collect();
        ChunkedFile {
            object,
            bytes,
            body,
            checksums,
            ready,
            remote,
        }
    }

    pub(crate) fn damaged(&self, detail: impl Into<String>) -> SegmentError {
        SegmentError::damaged(&self.object, detail)
    }

    /// The bytes of a range of the body, verified.
    pub(crate) fn slice(&self, range: Range<usize>) -> Result<OwnedBytes, SegmentError> {
        self.ensure(range.clone())?;
        Ok(self.bytes.slice(range))
    }

    /// Reads and verifies the whole body.
    pub(crate) fn verify(&self) -> Result<(), SegmentError> {
        self.ensure(0..self.body)
    }

    /// Makes a range of the body ready.
    fn ensure(&self, range: Range<usize>) -> Result<(), SegmentError> {
        if range.start > range.end || range.end > self.body {
            return Err(self.damaged("a length in it points beyond its end"));
        }
        let chunks = range.start / CHUNK..range.end.div_ceil(CHUNK);
        if range.is_empty() || chunks.clone().all(|c| self.is_ready(c)) {
            return Ok(());
        }
        match &self.remote {
            None => self.verify_local(chunks),
            Some(remote) => self.fetch(remote, chunks),
        }
    }

    /// Takes over bytes that were read already (the tail), from chunk boundary `start` on.
    pub(crate) fn accept(&self, start: usize, bytes: &[u8]) -> Result<(), SegmentError> {
        let Some(remote) = &self.remote else {
            return Ok(());
        };
        if !start.is_multiple_of(CHUNK) {
            return Err(self.damaged("its hot part does not begin at a chunk"));
        }
        for (i, chunk) in bytes.chunks(CHUNK).enumerate() {
            self.store_chunk(remote, start / CHUNK + i, chunk)?;
        }
        Ok(())
    }

    fn is_ready(&self, chunk: usize) -> bool {
        self.ready
            .get(chunk / 64)
            .is_some_and(|word| word.load(Ordering::Acquire) >> (chunk % 64) & 1 == 1)
    }

    fn set_ready(&self, chunk: usize) {
        if let Some(word) = self.ready.get(chunk / 64) {
            word.fetch_or(1 << (chunk % 64), Ordering::Release);
        }
    }

    fn chunk_range(&self, chunk: usize) -> Range<usize> {
        chunk * CHUNK..((chunk + 1) * CHUNK).min(self.body)
    }

    fn check(&self, chunk: usize, bytes: &[u8]) -> Result<(), SegmentError> {
        if self.checksums.get(chunk) == Some(&xxh3_64(bytes)) {
            return Ok(());
        }
        let range = self.chunk_range(chunk);
        Err(self.damaged(format!(
            "the checksum of bytes {} to {} does not match",
            range.start, range.end
        )))
    }

    fn verify_local(&self, chunks: Range<usize>) -> Result<(), SegmentError> {
        for chunk in chunks.filter(|c| !self.is_ready(*c)) {
            self.check(chunk, &self.bytes[self.chunk_range(chunk)])?;
            self.set_ready(chunk);
        }
        Ok(())
    }

    fn fetch(&self, remote: &Remote, chunks: Range<usize>) -> Result<(), SegmentError> {
        // A poisoned lock guards no data: the bitmap is right at every moment.
        let _guard = remote
            .fetching
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let windows = chunks.start / WINDOW * WINDOW
            ..chunks
                .end
                .next_multiple_of(WINDOW)
                .min(self.checksums.len());
        let mut missing: Vec<Range<u64>> = Vec::new();
        for chunk in windows.filter(|c| !self.is_ready(*c)) {
            let range = self.chunk_range(chunk);
            let (start, end) = (range.start as u64, range.end as u64);
            match missing.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => missing.push(start..end),
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        for piece in fetch::start(&remote.store, &remote.path, &missing)? {
            let (start, bytes) = piece?;
            for (i, chunk) in bytes.chunks(CHUNK).enumerate() {
                self.store_chunk(remote, start as usize / CHUNK + i, chunk)?;
            }
        }
        match chunks.clone().find(|c| !self.is_ready(*c)) {
            None => Ok(()),
            // The store sent less than was asked for.
            Some(chunk) => Err(self.damaged(format!(
                "bytes {:?} could not be read: is it being replaced?",
                self.chunk_range(chunk)
            ))),
        }
    }

    /// Verifies a chunk, writes it to the temporary file and marks it.
    fn store_chunk(&self, remote: &Remote, chunk: usize, bytes: &[u8]) -> Result<(), SegmentError> {
        let range = self.chunk_range(chunk);
        if self.is_ready(chunk) || bytes.len() != range.len() {
            return Ok(());
        }
        self.check(chunk, bytes)?;
        remote
            .file
            .write_all_at(bytes, range.start as u64)
            .map_err(|e| SegmentError::io("the temporary copy of a segment (see TMPDIR)", e))?;
        self.set_ready(chunk);
        Ok(())
    }
}
