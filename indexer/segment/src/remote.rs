//! Opens the file of a remote segment: one that a cache has, or one that is filled from the store.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use bytes::Bytes;
use limn_store::Store;

use crate::builder::segment_path;
use crate::cache::Place;
use crate::cache_folder::Unnamed;
use crate::chunks::{ChunkedFile, Generation, Remote, in_temporary_file};
use crate::error::SegmentError;
use crate::layout::{self, Contents, Footer};
use crate::map::map;
use crate::snapshot::SegmentEntry;

/// A segment in a store.
pub(crate) struct RemoteSegment<'a> {
    pub(crate) store: &'a Store,
    pub(crate) entry: &'a SegmentEntry,
    pub(crate) object: String,
    /// Where the hot part begins.
    pub(crate) start: u64,
}

/// A file that is ready to be read, and its own metadata.
pub(crate) type OpenFile = (Arc<ChunkedFile>, Contents);

impl RemoteSegment<'_> {
    /// The segment as a cache has it, without a request. `None` if the cache does not have it, or
    /// not whole: it is fetched.
    pub(crate) fn kept(&self, place: Place) -> Option<OpenFile> {
        if let Some(file) = place.opened() {
            let tail = file
                .tail(self.entry.bytes)
                .filter(|tail| tail.len() as u64 == self.entry.hot)?;
            return Some((file, self.footer(&tail).ok()?.contents));
        }
        let file = place.existing(self.entry.bytes)?;
        let hot = usize::try_from(self.entry.hot).ok()?;
        let mut tail = vec![0; hot];
        file.read_exact_at(&mut tail, self.start).ok()?;
        let footer = self.footer(&tail).ok()?;
        self.in_cache(footer, &tail, file, None, place).ok()?.ok()
    }

    /// The segment whose tail was fetched: in the cache, or in a temporary file. A cache that
    /// cannot be written keeps nothing.
    pub(crate) fn fetched(
        &self,
        tail: Bytes,
        place: Option<Place>,
    ) -> Result<OpenFile, SegmentError> {
        check_size(&self.object, self.start + tail.len() as u64, self.entry)?;
        let footer = self.footer(&tail)?;
        if let Some(place) = place {
            let fresh = place.fresh(self.entry.bytes, self.start, &tail);
            let made = fresh.and_then(|fresh| Ok((fresh.file.try_clone()?, fresh)));
            let opened = made.and_then(|(file, fresh)| {
                self.in_cache(footer.clone(), &tail, file, Some(fresh), place.clone())
            });
            return match opened {
                Ok(opened) => opened,
                Err(error) => {
                    place.failed(&error);
                    let generation = Generation::in_memory(&tail, self.start as usize);
                    let (file, contents) = self.file(footer, &tail, generation, Some(place))?;
                    Ok((owned(file), contents))
                }
            };
        }
        let file = tempfile::tempfile().map_err(in_temporary_file)?;
        file.set_len(self.entry.bytes).map_err(in_temporary_file)?;
        file.write_all_at(&tail, self.start)
            .map_err(in_temporary_file)?;
        let bytes = map(&file).map_err(in_temporary_file)?;
        let generation = Generation::new(0, bytes, Some(file), false);
        let (file, contents) = self.file(footer, &tail, generation, None)?;
        Ok((Arc::new(file), contents))
    }

    /// A file of the cache, new or not, with everybody who has the segment open. The outer error is
    /// the cache's, the inner one the segment's.
    fn in_cache(
        &self,
        footer: Footer,
        tail: &[u8],
        file: File,
        fresh: Option<Unnamed>,
        place: Place,
    ) -> io::Result<Result<OpenFile, SegmentError>> {
        let bytes = map(&file)?;
        let number = place.next_generation();
        let generation = Generation::new(number, bytes, Some(file), fresh.is_none());
        let (file, contents) = match self.file(footer, tail, generation, Some(place)) {
            Ok(opened) => opened,
            Err(error) => return Ok(Err(error)),
        };
        let file = owned(file);
        let entered = file.enter(number, self.entry.hot, fresh)?;
        Ok(Ok((entered, contents)))
    }

    fn file(
        &self,
        footer: Footer,
        tail: &[u8],
        generation: Generation,
        place: Option<Place>,
    ) -> Result<(ChunkedFile, Contents), SegmentError> {
        let start = self.start as usize;
        let remote = Remote {
            store: self.store.clone(),
            path: self.entry.path.clone(),
            tail: start,
            place,
        };
        let file = ChunkedFile::new(
            self.object.clone(),
            footer.body,
            footer.checksums,
            generation,
            Some(remote),
        );
        file.accept(start, tail)?;
        Ok((file, footer.contents))
    }

    fn footer(&self, tail: &[u8]) -> Result<Footer, SegmentError> {
        let footer = layout::open(&self.object, tail, self.entry.bytes)?;
        check_footer(&self.object, &footer, self.entry)?;
        Ok(footer)
    }
}

/// A file that can enter itself in a cache.
fn owned(file: ChunkedFile) -> Arc<ChunkedFile> {
    let file = Arc::new(file);
    // It is fresh, and so is its cell.
    let _ = file.own.set(Arc::downgrade(&file));
    file
}

/// Whether an object has the size that the snapshot gives it.
pub(crate) fn check_size(
    object: &str,
    size: u64,
    entry: &SegmentEntry,
) -> Result<(), SegmentError> {
    if size == entry.bytes {
        return Ok(());
    }
    Err(SegmentError::damaged(
        object,
        format!("it has {size} bytes and the snapshot says {}", entry.bytes),
    ))
}

/// Whether a segment is the one that the snapshot names.
pub(crate) fn check_footer(
    object: &str,
    footer: &Footer,
    entry: &SegmentEntry,
) -> Result<(), SegmentError> {
    let Footer { contents, id, .. } = footer;
    if entry.path != segment_path(contents.shard, *id) {
        return Err(SegmentError::damaged(
            object,
            "its content does not have the hash that is its name",
        ));
    }
    if contents.blocks != entry.blocks || contents.tables != entry.tables {
        return Err(SegmentError::damaged(
            object,
            "its counts are not the snapshot's",
        ));
    }
    Ok(())
}
