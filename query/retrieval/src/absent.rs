//! Words that were looked for and that no table has: the next question with one does not look for
//! it again.
//!
//! Where a corpus leaves tables out, the time that a question takes shall not reveal, however often
//! it is measured, whether another table has its words. Of any corpus this saves the look-ups of
//! words in other languages, most of which are in no table.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use limn_segment::TextHash;

/// Words that are remembered; then all are forgotten.
const MOST: usize = 1 << 16;

/// As what a word was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Looked {
    /// As a term.
    Term,
    /// As a form of a word in another language.
    Form,
    /// As a term of plain mode, which leaves cells aside.
    Plain,
    /// As a whole name or value.
    Whole,
    /// As one of the values that a column has many of.
    Value,
    /// As a misspelt word.
    Spelling,
    /// As a word that columns may be called by a short form of.
    Short,
    /// As such a short form.
    ShortForm,
}

/// The words.
#[derive(Default)]
pub(crate) struct Absent(Mutex<HashSet<(Looked, TextHash)>>);

impl Absent {
    /// Whether a word was looked for in vain.
    pub(crate) fn has(&self, word: &str, looked: Looked) -> bool {
        self.words().contains(&(looked, TextHash::of(word)))
    }

    /// Remembers a word.
    pub(crate) fn add(&self, word: &str, looked: Looked) {
        let mut words = self.words();
        if words.len() >= MOST {
            words.clear();
        }
        words.insert((looked, TextHash::of(word)));
    }

    fn words(&self) -> MutexGuard<'_, HashSet<(Looked, TextHash)>> {
        // A poisoned lock guards a set to which words are added whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
