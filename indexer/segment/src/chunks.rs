//! A segment's bytes, verified chunk by chunk when they are first touched.
//!
//! A bitmap says which 64 KiB chunks are *ready*: present and with the right checksum. A local file
//! has all chunks present, and a first touch hashes; a remote segment is a sparse file of
//! the same size, and a first touch fetches the chunks that are missing, verifies them, writes them
//! and sets their bits. Slices are handed out over ready chunks only.
//!
//! The sparse file is a temporary one, or belongs to a cache ([`crate::SegmentCache`]). In a cache
//! it may have come from an earlier process: then a chunk that has its checksum is present. And it
//! may get a successor, when the cache needs its room: the file of now is a *generation*. Whoever
//! has a slice keeps the generation that it is of.

mod generation;
mod past;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, Weak};

use tantivy::directory::OwnedBytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::cache::Place;
use crate::cache_folder::Unnamed;
use crate::error::SegmentError;
use crate::fetch;
use crate::layout::CHUNK;
use crate::map::{map, read_ahead};

pub(crate) use generation::{Generation, Remote};

/// Remote reads are rounded to windows of so many chunks (1 MiB): a request's latency costs more
/// than its neighbours' bytes.
const WINDOW: usize = 16;
/// Chunks of a local file that are read ahead where many are verified one after the other (4 MiB).
const AHEAD: usize = 64;
/// Bytes that are read past a file at a time, where all of it is verified.
const PAST: usize = 8 << 20;
/// Times that a read lets its own file give its bytes back to make room for it; after that the
/// limit is passed.
const EVICTIONS_OF_ITSELF: usize = 3;

/// A verified file.
pub(crate) struct ChunkedFile {
    object: String,
    /// Length of the part that the checksums cover.
    body: usize,
    checksums: Vec<u64>,
    remote: Option<Remote>,
    current: RwLock<Arc<Generation>>,
    /// This file itself, as a cache enters it.
    pub(crate) own: OnceLock<Weak<ChunkedFile>>,
}

/// What became of chunks that were wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetched {
    /// They are there.
    Ready,
    /// The file gave its bytes back to make room: its successor has to be asked.
    Renewed,
    /// There is no room for them.
    NoRoom,
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
        body: usize,
        checksums: Vec<u64>,
        generation: Generation,
        remote: Option<Remote>,
    ) -> ChunkedFile {
        ChunkedFile {
            object,
            body,
            checksums,
            remote,
            current: RwLock::new(Arc::new(generation)),
            own: OnceLock::new(),
        }
    }

    pub(crate) fn damaged(&self, detail: impl Into<String>) -> SegmentError {
        SegmentError::damaged(&self.object, detail)
    }

    /// Whether chunks may have to be fetched.
    pub(crate) fn is_remote(&self) -> bool {
        self.remote.is_some()
    }

    /// Length of the part that the checksums cover.
    pub(crate) fn length(&self) -> usize {
        self.body
    }

    pub(crate) fn object(&self) -> &str {
        &self.object
    }

    /// The file of now.
    pub(crate) fn current(&self) -> Arc<Generation> {
        if let Some(place) = self.remote.as_ref().and_then(|it| it.place.as_ref()) {
            place.touch();
        }
        let current = self.current.read();
        Arc::clone(&current.unwrap_or_else(PoisonError::into_inner))
    }

    /// The tail of a remote segment of `size` bytes, which is always there.
    pub(crate) fn tail(&self, size: u64) -> Option<OwnedBytes> {
        let (from, current) = (self.remote.as_ref()?.tail, self.current());
        let length = current.size();
        (length as u64 == size).then(|| current.part(from..length))
    }

    /// The bytes of a range of the body, verified.
    pub(crate) fn slice(&self, range: Range<usize>) -> Result<OwnedBytes, SegmentError> {
        match self.ensure(range.clone())? {
            _ if range.is_empty() => Ok(OwnedBytes::empty()),
            Some(generation) => Ok(generation.part(range)),
            None => self.read_past(range),
        }
    }

    /// Makes a range of the body ready, where there is room for it.
    pub(crate) fn bring(&self, range: Range<usize>) -> Result<(), SegmentError> {
        self.ensure(range).map(drop)
    }

    /// Reads and verifies the whole body.
    pub(crate) fn verify(&self) -> Result<(), SegmentError> {
        if self.ensure(0..self.body)?.is_some() {
            return Ok(());
        }
        (0..self.body).step_by(PAST).try_for_each(|start| {
            let end = self.body.min(start + PAST);
            self.slice(start..end).map(drop)
        })
    }

    /// Makes a range of the body ready; the file in which it is. `None` if there is no room for it:
    /// it is read past the file.
    fn ensure(&self, range: Range<usize>) -> Result<Option<Arc<Generation>>, SegmentError> {
        if range.start > range.end || range.end > self.body {
            return Err(self.damaged("a length in it points beyond its end"));
        }
        let chunks = range.start / CHUNK..range.end.div_ceil(CHUNK);
        let mut evictions = 0;
        loop {
            let generation = self.current();
            if range.is_empty() || chunks.clone().all(|c| generation.is_ready(c)) {
                return Ok(Some(generation));
            }
            let may_evict_itself = evictions < EVICTIONS_OF_ITSELF;
            let Some(remote) = &self.remote else {
                self.verify_local(&generation, chunks)?;
                return Ok(Some(generation));
            };
            let Some(file) = &generation.file else {
                match self.recover(remote, &generation) {
                    true => continue,
                    false => return Ok(None),
                }
            };
            match self.fetch(remote, &generation, file, chunks.clone(), may_evict_itself)? {
                Fetched::Ready => return Ok(Some(generation)),
                Fetched::Renewed => evictions += 1,
                Fetched::NoRoom => return Ok(None),
            }
        }
    }

    /// Verifies the tail, which was read already and is in the file, from chunk boundary `start`
    /// on.
    pub(crate) fn accept(&self, start: usize, tail: &[u8]) -> Result<(), SegmentError> {
        if !start.is_multiple_of(CHUNK) {
            return Err(self.damaged("its hot part does not begin at a chunk"));
        }
        let generation = self.current();
        let covered = self.body.saturating_sub(start).min(tail.len());
        for (i, bytes) in tail[..covered].chunks(CHUNK).enumerate() {
            let chunk = start / CHUNK + i;
            self.check(chunk, bytes)?;
            generation.set_ready(chunk);
        }
        Ok(())
    }

    /// Enters a file of this generation in its cache; gives the one that was open before, if there
    /// is one.
    pub(crate) fn enter(
        self: Arc<Self>,
        number: u64,
        hot: u64,
        fresh: Option<Unnamed>,
    ) -> io::Result<Arc<ChunkedFile>> {
        let place = self.remote.as_ref().and_then(|it| it.place.as_ref());
        match place {
            Some(place) => place.enter(Arc::clone(&self), number, hot, fresh),
            None => Ok(self),
        }
    }

    /// Puts a file that has the tail alone in the place of the one of now, unless that is as young.
    pub(crate) fn renew(&self, number: u64) -> io::Result<()> {
        let Some((remote, place)) = self
            .remote
            .as_ref()
            .and_then(|remote| Some((remote, remote.place.as_ref()?)))
        else {
            return Ok(());
        };
        let current = self.current.write();
        let mut current = current.unwrap_or_else(PoisonError::into_inner);
        if current.number >= number {
            return Ok(());
        }
        let (next, mut fresh) = self.renewed(remote, place, &current, number)?;
        place.name(&mut fresh)?;
        *current = Arc::new(next);
        Ok(())
    }

    /// A file that has the tail alone, and does not have its name yet.
    fn renewed(
        &self,
        remote: &Remote,
        place: &Place,
        current: &Generation,
        number: u64,
    ) -> io::Result<(Generation, Unnamed)> {
        let size = current.size();
        let tail = current.part(remote.tail..size);
        let fresh = place.fresh(size as u64, remote.tail as u64, &tail)?;
        let file = fresh.file.try_clone()?;
        let next = Generation::new(number, map(&file)?, Some(file), false);
        // The tail was verified when the segment was opened.
        (remote.tail / CHUNK..self.checksums.len()).for_each(|chunk| next.set_ready(chunk));
        Ok((next, fresh))
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

    fn verify_local(
        &self,
        generation: &Generation,
        chunks: Range<usize>,
    ) -> Result<(), SegmentError> {
        let mut ahead = chunks.start;
        for chunk in chunks.clone().filter(|c| !generation.is_ready(*c)) {
            if chunk >= ahead {
                ahead = chunks.end.min(chunk + AHEAD);
                let (start, end) = (
                    self.chunk_range(chunk).start,
                    self.chunk_range(ahead - 1).end,
                );
                read_ahead(&generation.part(start..end));
            }
            self.check(chunk, &generation.part(self.chunk_range(chunk)))?;
            generation.set_ready(chunk);
        }
        Ok(())
    }

    /// Whether a chunk that is not ready is there, from an earlier process.
    fn is_adopted(&self, generation: &Generation, chunk: usize) -> bool {
        let is_there = generation.is_adopted
            && self
                .check(chunk, &generation.part(self.chunk_range(chunk)))
                .is_ok();
        if is_there {
            generation.set_ready(chunk);
        }
        is_there
    }

    /// Fetches chunks into a file.
    fn fetch(
        &self,
        remote: &Remote,
        generation: &Generation,
        file: &File,
        chunks: Range<usize>,
        may_evict_itself: bool,
    ) -> Result<Fetched, SegmentError> {
        // A poisoned lock guards no data: the bitmap is right at every moment.
        let _guard = generation
            .fetching
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let windows = chunks.start / WINDOW * WINDOW
            ..chunks
                .end
                .next_multiple_of(WINDOW)
                .min(self.checksums.len());
        let is_missing = |c: &usize| !generation.is_ready(*c) && !self.is_adopted(generation, *c);
        // What is wanted may all be there; its neighbours are no reason to ask then.
        if chunks.clone().filter(is_missing).count() == 0 {
            return Ok(Fetched::Ready);
        }
        let missing = self.ranges(windows.filter(is_missing));
        let mut unwritten: u64 = missing.iter().map(|range| range.end - range.start).sum();
        if let Some(place) = &remote.place {
            if place.is_paused() {
                return Ok(Fetched::NoRoom);
            }
            if !place.reserve(generation.number, unwritten, may_evict_itself) {
                return Ok(Fetched::Renewed);
            }
        }
        let mut store = || {
            for piece in fetch::start(&remote.store, &remote.path, &missing)? {
                let (start, bytes) = piece?;
                for (i, bytes) in bytes.chunks(CHUNK).enumerate() {
                    let chunk = start as usize / CHUNK + i;
                    match self.store_chunk(remote, generation, file, chunk, bytes)? {
                        Some(written) => unwritten -= written,
                        None => return Ok(Fetched::NoRoom),
                    }
                }
            }
            Ok::<_, SegmentError>(Fetched::Ready)
        };
        let stored = store();
        if let Some(place) = &remote.place
            && unwritten > 0
        {
            place.release(generation.number, unwritten);
        }
        let stored = stored?;
        match chunks.clone().find(|c| !generation.is_ready(*c)) {
            None => Ok(Fetched::Ready),
            Some(_) if stored == Fetched::NoRoom => Ok(stored),
            Some(chunk) => Err(self.too_short(chunk)),
        }
    }

    /// Chunks in ascending order as ranges of bytes, neighbours as one.
    fn ranges(&self, chunks: impl Iterator<Item = usize>) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for chunk in chunks {
            let range = self.chunk_range(chunk);
            let (start, end) = (range.start as u64, range.end as u64);
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => ranges.push(start..end),
            }
        }
        ranges
    }

    /// The store sent less than was asked for.
    fn too_short(&self, chunk: usize) -> SegmentError {
        self.damaged(format!(
            "bytes {:?} could not be read: is it being replaced?",
            self.chunk_range(chunk)
        ))
    }

    /// Verifies a chunk, writes it to the file and marks it; the number of bytes written, `None` if
    /// there is no room for it.
    fn store_chunk(
        &self,
        remote: &Remote,
        generation: &Generation,
        file: &File,
        chunk: usize,
        bytes: &[u8],
    ) -> Result<Option<u64>, SegmentError> {
        let range = self.chunk_range(chunk);
        if generation.is_ready(chunk) || bytes.len() != range.len() {
            return Ok(Some(0));
        }
        self.check(chunk, bytes)?;
        let at = range.start as u64;
        match &remote.place {
            Some(place) => {
                if place.write(file, bytes, at).is_err() {
                    return Ok(None);
                }
            }
            None => file.write_all_at(bytes, at).map_err(in_temporary_file)?,
        }
        generation.set_ready(chunk);
        Ok(Some(bytes.len() as u64))
    }
}

/// What is at fault where a temporary file cannot be written.
pub(crate) fn in_temporary_file(error: io::Error) -> SegmentError {
    SegmentError::io("the temporary copy of a segment (see TMPDIR)", error)
}
