//! Words that were looked for and that no table has: the next question with one does not look for
//! it again.
//!
//! Where a corpus leaves tables out, the time that a question takes shall not reveal, however often
//! it is measured, whether another table has its words. Of any corpus this saves the look-ups of
//! words in other languages, most of which are in no table.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use limn_segment::TextHash;

/// Words that are remembered of a whole corpus; then all are forgotten.
const MOST: usize = 1 << 16;
/// Of one that leaves tables out, of which a node may hold hundreds.
const MOST_OF_A_VIEW: usize = 1 << 10;

/// What a word was looked up as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum LookUp {
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
    /// As an abbreviation, for the word that it stands for.
    SpelledOut,
    /// As a word that columns may be called by a short form of.
    Short,
    /// As such a short form.
    ShortForm,
}

/// Words that no table has.
pub(crate) struct AbsentWords {
    words: Mutex<HashSet<(LookUp, TextHash)>>,
    most: usize,
}

impl AbsentWords {
    /// None, of a whole corpus.
    pub(crate) fn of_all() -> AbsentWords {
        AbsentWords {
            words: Mutex::default(),
            most: MOST,
        }
    }

    /// None, of a corpus that leaves tables out.
    pub(crate) fn of_a_view() -> AbsentWords {
        AbsentWords {
            most: MOST_OF_A_VIEW,
            ..AbsentWords::of_all()
        }
    }

    /// What the words take at most.
    pub(crate) fn bytes(&self) -> usize {
        // A set has up to twice as many places as words, each with a byte of its own.
        2 * self.most * (size_of::<(LookUp, TextHash)>() + 1)
    }

    /// Whether a word was looked for in vain.
    pub(crate) fn has(&self, word: &str, look_up: LookUp) -> bool {
        self.words().contains(&(look_up, TextHash::of(word)))
    }

    /// Remembers a word.
    pub(crate) fn add(&self, word: &str, look_up: LookUp) {
        let mut words = self.words();
        if words.len() >= self.most {
            words.clear();
        }
        words.insert((look_up, TextHash::of(word)));
    }

    fn words(&self) -> MutexGuard<'_, HashSet<(LookUp, TextHash)>> {
        // A poisoned lock guards a set to which words are added whole.
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
