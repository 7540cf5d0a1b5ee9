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

/// Databases that are fetched side by side, at most.
const FETCHED_AT_ONCE: usize = 16;

/// Spreadsheet files as their process answered, and the bytes of databases, so that each is opened
/// or fetched once however many sheets or tables it has. Clones share it. The default keeps nothing.
#[derive(Clone, Debug, Default)]
pub struct OpenContainers(Arc<Inner>);

#[derive(Default)]
struct Inner {
    most: u64,
    here: Option<Work>,
    kept: Mutex<VecDeque<Kept>>,
    hasher: RandomState,
    /// Who fetches a database holds the turn of its name.
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
    Database(Bytes),
}

impl Content {
    fn size(&self) -> u64 {
        match self {
            Content::Book(book) => book.size,
            Content::Database(bytes) => bytes.len() as u64,
        }
    }
}

/// A version of a file, and how much of each part was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) version: Version,
    pub(super) most: u64,
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
            Content::Database(_) => None,
        }
    }

    pub(super) fn keep_book(&self, key: Key, book: &Arc<Book>, room: &Room) {
        self.keep(key, Content::Book(Arc::clone(book)), room);
    }

    /// All bytes of a database: those that are kept, or fetched once for all who ask at the same time. To be called from
    /// a thread outside the runtime.
    ///
    /// # Errors
    /// The store's.
    pub(super) fn database(&self, ranged: &Ranged, room: &Room) -> Result<Bytes, Failure> {
        let size = ranged.size();
        let fits = size <= self.0.most;
        let Some(version) = Version::of(ranged).filter(|_| fits) else {
            return ranged.get(0..size);
        };
        let turn = self.0.hasher.hash_one(&version) % FETCHED_AT_ONCE as u64;
        let _turn = locked(&self.0.turns[turn as usize]);
        let key = Key {
            version,
            most: size,
        };
        if let Some(Content::Database(bytes)) = self.get(&key) {
            return Ok(bytes);
        }
        let bytes = ranged.get(0..size)?;
        self.keep(key, Content::Database(bytes.clone()), room);
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
