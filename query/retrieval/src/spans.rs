//! The runs of a question's words that may be a value: the whole of it, what it quotes, up to four
//! words in a row, codes.

use std::ops::Range;

use limn_segment::whole::{codes, key};

use crate::asked::trimmed;
use crate::question::says_nothing;

/// Words of a question that are looked at for names and values.
pub(crate) const WORDS: usize = 48;
/// Words of a value in a longer question.
const IN_A_ROW: usize = 4;

/// A run of a question's words that may be a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// As the question has it, without what stands around it.
    pub written: String,
    /// Its letters and digits, folded: [`limn_segment::whole::key`].
    pub key: String,
    /// Which of the question's words, from 0: what stands between white space.
    pub words: Range<usize>,
    /// Whether the question quotes it.
    pub is_quoted: bool,
    /// Whether its first and its last word say something: neither is "the", "of" and the like.
    pub says: bool,
}

/// The runs of a question that may be values, each once: the whole question, what it quotes, the
/// longest first, codes last. Of the first 48 words.
#[must_use]
pub fn spans(question: &str) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    visit(question, &mut |written, words, is_quoted| {
        let written = match is_quoted {
            true => written,
            false => trimmed(written),
        };
        let Some(key) = key(written) else { return };
        if let Some(known) = spans.iter_mut().find(|span| span.key == key) {
            known.is_quoted |= is_quoted;
            return;
        }
        let mut ends = written.split_whitespace();
        let (first, last) = (ends.next(), ends.next_back());
        let says = |word: Option<&str>| word.is_none_or(|word| !says_nothing(word));
        spans.push(Span {
            says: is_quoted || says(first) && says(last),
            written: written.to_owned(),
            key,
            words,
            is_quoted,
        });
    });
    spans
}

/// Calls `visit` with each run, the words that it is made of, and whether it is quoted.
pub(crate) fn visit(question: &str, visit: &mut impl FnMut(&str, Range<usize>, bool)) {
    let words: Vec<&str> = question.split_whitespace().collect();
    visit(question, 0..words.len(), false);
    for quoted in quoted(question) {
        // The mark before it is at the beginning of its first word.
        let at = quoted.as_ptr() as usize - question.as_ptr() as usize;
        let first = question[..at].split_whitespace().count().saturating_sub(1);
        let count = quoted.split_whitespace().count();
        visit(quoted, first..first + count, true);
    }
    let looked_at = words.len().min(WORDS);
    for count in (2..=IN_A_ROW).rev() {
        for first in 0..(looked_at + 1).saturating_sub(count) {
            let range = first..first + count;
            visit(&words[range.clone()].join(" "), range, false);
        }
    }
    for (at, word) in words.into_iter().take(WORDS).enumerate() {
        visit(word, at..at + 1, false);
        codes(word, &mut |code| visit(code, at..at + 1, false));
    }
}

/// What stands between quotation marks.
pub(crate) fn quoted(question: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = question;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let closing = match c {
            '"' => Some('"'),
            '`' => Some('`'),
            '\u{201c}' | '\u{201e}' => Some('\u{201d}'),
            '\u{ab}' => Some('\u{bb}'),
            // Not an apostrophe.
            '\'' if !before.is_alphanumeric() => Some('\''),
            _ => None,
        };
        let end = closing.and_then(|closing| {
            after.match_indices(closing).map(|(at, _)| at).find(|end| {
                let next = after[end + closing.len_utf8()..].chars().next();
                closing != '\'' || !next.is_some_and(char::is_alphanumeric)
            })
        });
        match end {
            Some(end) if end > 0 => {
                found.push(&after[..end]);
                rest = &after[end..];
                // The closing mark opens nothing.
                rest = rest.chars().next().map_or("", |c| &rest[c.len_utf8()..]);
                before = ' ';
            }
            _ => {
                rest = after;
                before = c;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_listed_once_and_know_whether_they_say_something() {
        let found = spans("flights from 'New  York' to the Hague");
        let of = |key: &str| found.iter().find(|span| span.key == key);
        let quoted = of("newyork").map(|span| (span.written.as_str(), span.is_quoted, span.says));
        assert_eq!(quoted, Some(("New  York", true, true)));
        assert_eq!(of("newyork").map(|span| span.words.clone()), Some(2..4));
        assert_eq!(of("thehague").map(|span| span.says), Some(false));
        assert_eq!(of("hague").map(|span| span.says), Some(true));
        assert_eq!(of("to").map(|span| span.says), Some(false));
        let long = "word ".repeat(5000);
        assert!(spans(&long).len() < 10);
        let many: Vec<String> = (0..5000).map(|at| format!("w{at}")).collect();
        assert!(spans(&many.join(" ")).len() < 4 * WORDS + 1);
    }
}
