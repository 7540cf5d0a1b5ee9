//! Books that were opened, kept for a while: a file is listed first, and then each of its sheets is
//! read.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::Book;
use crate::room::{Held, Room};

/// What does the work of the process apart: a request to an answer.
type Work = fn(&[u8]) -> Option<Vec<u8>>;

/// What was said of spreadsheet files, so that each is opened once however many sheets it has.
/// Clones share it. The default keeps nothing.
#[derive(Clone, Debug, Default)]
pub struct Books(Arc<Inner>);

#[derive(Default)]
struct Inner {
    most: u64,
    here: Option<Work>,
    kept: Mutex<VecDeque<Kept>>,
}

struct Kept {
    key: Key,
    book: Arc<Book>,
    _held: Held,
}

/// A version of a file, and how much of each sheet was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) version: Version,
    pub(super) most: u64,
}

/// What names a file's bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Version {
    /// The lake, the path, the entity tag and the size.
    Stored(String, String, String, u64),
    /// A hash of the bytes.
    Content(u128),
}

impl Books {
    /// Keeps up to `most` bytes of answers, those that came last.
    #[must_use]
    pub fn keeping(most: u64) -> Books {
        Books(Arc::new(Inner {
            most,
            ..Inner::default()
        }))
    }

    /// Books are opened in this process by `work`, as by [`super::answer::answer_book`], and
    /// without its limits: for tests.
    #[must_use]
    pub fn opened_here(most: u64, work: fn(&[u8]) -> Option<Vec<u8>>) -> Books {
        Books(Arc::new(Inner {
            most,
            here: Some(work),
            ..Inner::default()
        }))
    }

    pub(super) fn here(&self) -> Option<Work> {
        self.0.here
    }

    pub(super) fn get(&self, key: &Key) -> Option<Arc<Book>> {
        let kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|kept| kept.key == *key);
        found.map(|kept| Arc::clone(&kept.book))
    }

    /// Keeps a book in the place of the oldest ones, if there is room.
    pub(super) fn keep(&self, key: Key, book: &Arc<Book>, room: &Room) {
        if book.size > self.0.most {
            return;
        }
        let mut kept = self.0.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back(Kept {
            key,
            book: Arc::clone(book),
            _held: room.hold(book.size),
        });
        while kept.iter().map(|kept| kept.book.size).sum::<u64>() > self.0.most {
            kept.pop_front();
        }
    }
}

/// How files are read does not depend on it.
impl PartialEq for Books {
    fn eq(&self, _: &Books) -> bool {
        true
    }
}

impl Eq for Books {}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Books").field("most", &self.most).finish()
    }
}
