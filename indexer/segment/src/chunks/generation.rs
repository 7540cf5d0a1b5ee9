//! Where the bytes of a segment are: in a file of this machine, a temporary one or a cache's.

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use limn_store::Store;
use tantivy::directory::OwnedBytes;

use crate::cache::Place;
use crate::layout::CHUNK;
use crate::lexical::OpenLexical;

/// Where missing chunks come from and go to.
pub(crate) struct Remote {
    pub(crate) store: Store,
    pub(crate) path: String,
    /// Where the tail begins that opening needs.
    pub(crate) tail: usize,
    /// `None` for a temporary file.
    pub(crate) place: Option<Place>,
}

/// The file of now.
pub(crate) struct Generation {
    pub(super) number: u64,
    /// The file from `base` on; only ready chunks may be looked at.
    pub(super) bytes: OwnedBytes,
    /// 0, but for a tail in memory.
    pub(super) base: usize,
    /// Where chunks are written; `None` if all are there, or there is no room for them.
    pub(super) file: Option<File>,
    /// Whether chunks may be there that an earlier process wrote.
    pub(super) is_adopted: bool,
    pub(super) ready: Vec<AtomicU64>,
    /// Held while fetching, so that no chunk is fetched or written twice.
    pub(super) fetching: Mutex<()>,
    pub(crate) opened: Opened,
}

impl Generation {
    /// A file with all its chunks, or (where there is one to be written) with some.
    pub(crate) fn new(
        number: u64,
        bytes: OwnedBytes,
        file: Option<File>,
        is_adopted: bool,
    ) -> Generation {
        let words = bytes.len().div_ceil(CHUNK).div_ceil(64);
        Generation {
            number,
            bytes,
            base: 0,
            file,
            is_adopted,
            ready: (0..words).map(|_| AtomicU64::new(0)).collect(),
            fetching: Mutex::new(()),
            opened: Opened::default(),
        }
    }

    /// No file at all: the tail in memory, which begins at `base`. All else is read past it.
    pub(crate) fn in_memory(tail: &[u8], base: usize) -> Generation {
        let size = base + tail.len();
        let words = size.div_ceil(CHUNK).div_ceil(64);
        Generation {
            base,
            ready: (0..words).map(|_| AtomicU64::new(0)).collect(),
            ..Generation::new(0, OwnedBytes::new(tail.to_vec()), None, false)
        }
    }

    /// Bytes of the whole file.
    pub(super) fn size(&self) -> usize {
        self.base + self.bytes.len()
    }

    /// A range of the file that is there.
    pub(super) fn part(&self, range: Range<usize>) -> OwnedBytes {
        self.bytes
            .slice(range.start - self.base..range.end - self.base)
    }

    pub(super) fn is_ready(&self, chunk: usize) -> bool {
        self.ready
            .get(chunk / 64)
            .is_some_and(|word| word.load(Ordering::Acquire) >> (chunk % 64) & 1 == 1)
    }

    pub(super) fn set_ready(&self, chunk: usize) {
        if let Some(word) = self.ready.get(chunk / 64) {
            word.fetch_or(1 << (chunk % 64), Ordering::Release);
        }
    }
}

/// What was made of a file's bytes, holds slices of it and goes with it.
#[derive(Default)]
pub(crate) struct Opened {
    pub(crate) lexical: OnceLock<OpenLexical>,
}
