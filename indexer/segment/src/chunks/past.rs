//! Reading past a cache whose disk cannot be written, and going back to it.

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::sync::{Arc, PoisonError, Weak};

use tantivy::directory::OwnedBytes;

use super::ChunkedFile;
use super::generation::{Generation, Remote};
use crate::error::SegmentError;
use crate::fetch;
use crate::layout::CHUNK;

impl ChunkedFile {
    /// Gives a segment that has no file one, if its cache has room again; whether it has.
    pub(super) fn recover(&self, remote: &Remote, generation: &Generation) -> bool {
        let Some(place) = remote.place.as_ref().filter(|place| !place.is_paused()) else {
            return false;
        };
        let _guard = generation
            .fetching
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if self.current().file.is_some() {
            return true;
        }
        if place.opened().is_some() {
            // Another reader of this segment has the file.
            return false;
        }
        let number = place.next_generation();
        let made = self.renewed(remote, place, generation, number);
        let entered = made.and_then(|(next, fresh)| {
            let own = self.own.get().and_then(Weak::upgrade);
            let own = own.ok_or(io::ErrorKind::NotFound)?;
            let hot = generation.bytes.len() as u64;
            let entered = place.enter(Arc::clone(&own), number, hot, Some(fresh))?;
            Ok(Arc::ptr_eq(&own, &entered).then_some(next))
        });
        match entered {
            Ok(Some(next)) => {
                let current = self.current.write();
                let mut current = current.unwrap_or_else(PoisonError::into_inner);
                if current.number < number {
                    *current = Arc::new(next);
                }
                true
            }
            Ok(None) => false,
            Err(error) => {
                place.failed(&error);
                false
            }
        }
    }

    /// A range of the body for which there is no room on disk: fetched, verified and not kept.
    pub(super) fn read_past(&self, range: Range<usize>) -> Result<OwnedBytes, SegmentError> {
        let Some(remote) = &self.remote else {
            return Err(self.damaged("it has no bytes there"));
        };
        let generation = self.current();
        let chunks = range.start / CHUNK..range.end.div_ceil(CHUNK);
        let base = chunks.start * CHUNK;
        let mut bytes = vec![0; self.chunk_range(chunks.end - 1).end - base];
        let mut missing: BTreeSet<usize> = chunks.collect();
        for chunk in missing.clone() {
            if generation.is_ready(chunk) {
                let at = self.chunk_range(chunk);
                bytes[at.start - base..at.end - base].copy_from_slice(&generation.part(at));
                missing.remove(&chunk);
            }
        }
        let wanted = self.ranges(missing.iter().copied());
        for piece in fetch::start(&remote.store, &remote.path, &wanted)? {
            let (start, piece) = piece?;
            for (i, piece) in piece.chunks(CHUNK).enumerate() {
                let chunk = start as usize / CHUNK + i;
                let at = self.chunk_range(chunk);
                if piece.len() == at.len() && missing.remove(&chunk) {
                    self.check(chunk, piece)?;
                    bytes[at.start - base..at.end - base].copy_from_slice(piece);
                }
            }
        }
        match missing.first() {
            Some(chunk) => Err(self.too_short(*chunk)),
            None => Ok(OwnedBytes::new(bytes).slice(range.start - base..range.end - base)),
        }
    }
}
