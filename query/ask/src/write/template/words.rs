//! A question as words, and what has been read of them.

use limn_retrieval::says_nothing;
use limn_segment::analyzer::analyze;

/// Words of a question that are read.
const WORDS: usize = 200;
/// Words that say nothing to a rule, beside those that say nothing to a search.
const FILLERS: [&str; 21] = [
    "answer",
    "available",
    "database",
    "every",
    "exist",
    "find",
    "give",
    "information",
    "kind",
    "list",
    "please",
    "record",
    "return",
    "row",
    "show",
    "table",
    "tell",
    "want",
    "know",
    "present",
    "display",
];

/// A word.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) term: String,
    /// As it was written, in small letters.
    pub(super) written: String,
    pub(super) number: Option<f64>,
    pub(super) is_read: bool,
}

impl Word {
    /// Whether it says something.
    pub(super) fn says(&self) -> bool {
        let mut fillers = FILLERS.iter();
        let is_filler = fillers.any(|filler| analyze(filler).contains(&self.term));
        !is_filler && !says_nothing(&self.written)
    }
}

/// The words of a question, in order.
#[derive(Clone, Debug)]
pub(super) struct Words(pub(super) Vec<Word>);

impl Words {
    pub(super) fn of(question: &str) -> Words {
        let mut words = Vec::new();
        for piece in question.split_whitespace() {
            let piece = piece.trim_matches(|it: char| !it.is_alphanumeric());
            let written = piece.to_lowercase();
            let number: Option<f64> = written.replace(',', "").parse().ok();
            match number.filter(|it| it.is_finite()) {
                Some(number) => words.push(Word {
                    term: written.clone(),
                    written,
                    number: Some(number),
                    is_read: false,
                }),
                None => words.extend(analyze(piece).into_iter().map(|term| Word {
                    term,
                    written: written.clone(),
                    number: None,
                    is_read: false,
                })),
            }
        }
        words.truncate(WORDS);
        Words(words)
    }

    /// Where these terms stand in a row, at or after a place.
    pub(super) fn find(&self, terms: &[String], from: usize) -> Option<usize> {
        let fits = |at: &usize| {
            let here = self.0[*at..].iter().take(terms.len());
            here.map(|it| &it.term).eq(terms)
        };
        let last = self.0.len().checked_sub(terms.len())?;
        (from..=last).find(fits).filter(|_| !terms.is_empty())
    }

    /// Marks words as read, if none is yet.
    pub(super) fn take(&mut self, at: usize, count: usize) -> bool {
        let Some(words) = self.0.get_mut(at..at + count) else {
            return false;
        };
        let is_free = words.iter().all(|it| !it.is_read);
        if is_free {
            words.iter_mut().for_each(|it| it.is_read = true);
        }
        is_free
    }

    /// Reads a phrase, if the question has it: the place of its first word.
    pub(super) fn phrase(&mut self, phrase: &str) -> Option<usize> {
        let parts: Vec<&str> = phrase.split(' ').collect();
        let fits = |at: &usize| {
            let mut here = self.0[*at..].iter().zip(&parts);
            here.all(|(word, part)| word.written == **part && !word.is_read)
        };
        let last = self.0.len().checked_sub(parts.len())?;
        let at = (0..=last).find(fits)?;
        self.take(at, parts.len());
        Some(at)
    }

    /// Words that say something, and are not read.
    pub(super) fn unread(&self) -> Vec<String> {
        let unread = self.0.iter().filter(|it| !it.is_read);
        unread
            .filter(|it| it.says())
            .map(|it| it.written.clone())
            .collect()
    }
}
