//! Containers that were opened, kept for a while: a file is listed first, and then each of its
//! sheets or tables is read.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::book::Book;
use crate::Failure;
use crate::ranged::Ranged;
use crate::room::{Held, Room};

/// What does the work of the process apart: a request to an answer.
type Work = fn(&[u8]) -> Option<Vec<u8>>;

/// Bytes that anything that is kept counts as, at least.
const LEAST: u64 = 1 << 10;
/// Files that are fetched or unpacked side by side, at most.
const FETCHED_AT_ONCE: usize = 16;

/// Spreadsheet files as their process answered, the bytes of databases, and what archives unpack
/// to, so that each is opened, fetched or unpacked once however many sheets, tables or members it
/// has. Clones share it. The default keeps nothing.
#[derive(Clone, Debug, Default)]
pub struct OpenContainers(Arc<Inner>);

#[derive(Default)]
struct Inner {
    most: u64,
    here: Option<Work>,
    kept: Mutex<VecDeque<Kept>>,
    hasher: RandomState,
    /// A reader that fetches or unpacks a file holds the turn of its name.
    turns: [Mutex<()>; FETCHED_AT_ONCE],
}

struct Kept {
    key: Key,
    content: Content,
    _held: Held,
}

#[derive(Clone)]
enum Content {
    Book(Arc<Book>),
    /// None of what is too long to be kept.
    Bytes(Option<Bytes>),
}

impl Content {
    fn size(&self) -> u64 {
        match self {
            Content::Book(book) => book.size,
            Content::Bytes(bytes) => bytes.as_ref().map_or(0, |it| it.len() as u64).max(LEAST),
        }
    }
}

/// A version of a file, and what is kept of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) version: Version,
    pub(super) part: Part,
}

/// What is kept of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A book's sheets, of each so many bytes of text.
    Sheets(u64),
    /// All of it, as it is.
    Whole,
    /// All of it, unpacked.
    Unpacked,
    /// The member of a zip archive whose header is at this byte, unpacked.
    Member(u64),
}

/// What names a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Version {
    /// The lake, the path, the entity tag and the size.
    Stored(String, String, String, u64),
    /// A hash of the bytes.
    Content(u128),
}

impl Version {
    /// That of an object, where its store names versions.
    pub(super) fn of(ranged: &Ranged) -> Option<Version> {
        let (lake, path, etag) = ranged.version()?;
        Some(Version::Stored(lake, path, etag, ranged.size()))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenContainers {
    /// Keeps up to `most` bytes, of those that came last.
    #[must_use]
    pub fn keeping(most: u64) -> OpenContainers {
        OpenContainers(Arc::new(Inner {
            most,
            ..Inner::default()
        }))
    }

    /// Books are opened in this process by `work`, as by [`super::book::answer::answer_book`], and
    /// without its limits: for tests.
    #[must_use]
    pub fn opened_here(most: u64, work: fn(&[u8]) -> Option<Vec<u8>>) -> OpenContainers {
        OpenContainers(Arc::new(Inner {
            most,
            here: Some(work),
            ..Inner::default()
        }))
    }

    pub(super) fn here(&self) -> Option<Work> {
        self.0.here
    }

    /// A book that is kept.
    pub(super) fn book(&self, key: &Key) -> Option<Arc<Book>> {
        match self.get(key)? {
            Content::Book(book) => Some(book),
            Content::Bytes(_) => None,
        }
    }

    pub(super) fn keep_book(&self, key: Key, book: &Arc<Book>, room: &Room) {
        self.keep(key, Content::Book(Arc::clone(book)), room);
    }

    /// The bytes of a part of a file: those that are kept, or made once for all who ask at the same
    /// time. None if they are more than is kept, which is remembered, and of a file whose store
    /// names no version. To be called from a thread outside the runtime.
    ///
    /// # Errors
    /// Those of `make`.
    pub(super) fn bytes(
        &self,
        (ranged, part): (&Ranged, Part),
        room: &Room,
        make: impl FnOnce(u64) -> Result<Option<Bytes>, Failure>,
    ) -> Result<Option<Bytes>, Failure> {
        let most = self.0.most;
        let Some(version) = Version::of(ranged).filter(|_| most > 0) else {
            return Ok(None);
        };
        let turn = self.0.hasher.hash_one(&version) % FETCHED_AT_ONCE as u64;
        let _turn = locked(&self.0.turns[turn as usize]);
        let key = Key { version, part };
        if let Some(Content::Bytes(bytes)) = self.get(&key) {
            return Ok(bytes);
        }
        let bytes = make(most)?.filter(|it| it.len() as u64 <= most);
        self.keep(key, Content::Bytes(bytes.clone()), room);
        Ok(bytes)
    }

    fn get(&self, key: &Key) -> Option<Content> {
        let kept = locked(&self.0.kept);
        let found = kept.iter().find(|kept| kept.key == *key);
        found.map(|kept| kept.content.clone())
    }

    /// Keeps a container in the place of the oldest ones, if there is room.
    fn keep(&self, key: Key, content: Content, room: &Room) {
        let size = content.size();
        if size > self.0.most {
            return;
        }
        let mut kept = locked(&self.0.kept);
        kept.push_back(Kept {
            key,
            content,
            _held: room.hold(size),
        });
        while kept.iter().map(|kept| kept.content.size()).sum::<u64>() > self.0.most {
            kept.pop_front();
        }
    }
}

/// How files are read does not depend on it.
impl PartialEq for OpenContainers {
    fn eq(&self, _: &OpenContainers) -> bool {
        true
    }
}

impl Eq for OpenContainers {}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenContainers")
            .field("most", &self.most)
            .finish()
    }
}
