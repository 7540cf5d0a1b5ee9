//! A question as the lexical side sees it: its terms, without the words that say nothing.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use limn_segment::analyzer::analyze;
use limn_segment::whole::is_code;

use crate::asked::{Asked, is_kind};
use crate::inflected::{Spellings, pairs};
use crate::scoring::Formula;
use crate::spans::quoted;

const LIST: &str = include_str!("stopwords.txt");

/// Stop words as the analyzer leaves them.
static STOP_WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    LIST.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(analyze)
        .collect()
});

/// Whether any stop word, as people write it, is one that fits.
pub(crate) fn is_stop_word(fits: impl Fn(&str) -> bool) -> bool {
    let lines = LIST.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).any(fits)
}

/// Words of how is asked, as people write them.
static ASKING_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    include_str!("asking_words.txt")
        .split_whitespace()
        .collect()
});

/// Asking words that are things in many lakes, and count as others do.
const THINGS: [&str; 3] = ["order", "report", "state"];

/// Whether a word, in small letters, is of how is asked and not of what: "show", "per", "average".
/// They are searched, but count less; stop words are a list of their own.
#[must_use]
pub fn is_asking_word(word: &str) -> bool {
    ASKING_WORDS.contains(word)
}

/// Whether a text is nothing but stop words.
#[must_use]
pub fn says_nothing(text: &str) -> bool {
    let terms = analyze(text);
    !terms.is_empty() && terms.iter().all(|term| STOP_WORDS.contains(term))
}

/// The terms of a question that are looked up: what is worth marking in an answer.
pub fn content_terms(question: &str) -> Vec<String> {
    Question::new(question, false).wanted
}

/// An analyzed question.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// As it was asked.
    pub(crate) text: String,
    /// The distinct terms that are looked up, sorted: sums over them have one order.
    pub(crate) wanted: Vec<String>,
    /// The words of the question, stop words left out.
    pub(crate) words: Vec<Word>,
    /// What it may ask for as a whole.
    pub(crate) asked: Asked,
    /// The words behind its terms.
    pub(crate) spellings: Spellings,
    /// Pairs of neighbouring letters, of scripts without spaces, that are looked up beside terms.
    pub(crate) pairs: Vec<String>,
}

/// A word of a question.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    /// As written.
    pub(crate) written: String,
    pub(crate) terms: Vec<String>,
    /// Its place in the question, from 0: stop words count.
    pub(crate) at: usize,
    /// Whether it is a code that the analyzer takes apart: `A-17`, `3f2b`.
    pub(crate) is_code: bool,
    /// Whether it stands in quotation marks.
    pub(crate) is_quoted: bool,
}

impl Word {
    /// Whether it is a code or a number.
    pub(crate) fn is_exact(&self) -> bool {
        self.written.bytes().any(|byte| byte.is_ascii_digit())
    }
}

/// Leaves out the single letters of a word with longer parts: the `e` of `e-bike` is in every other
/// code.
fn without_initials(terms: &mut Vec<String>) {
    if terms.iter().any(|term| !is_initial(term)) {
        terms.retain(|term| !is_initial(term));
    }
}

fn is_initial(term: &str) -> bool {
    let mut letters = term.chars();
    letters.next().is_some_and(char::is_alphabetic) && term.is_ascii() && letters.next().is_none()
}

impl Question {
    /// Analyzes a question. Stop words are left out unless nothing else is there, or `keep_all`.
    pub(crate) fn new(text: &str, keep_all: bool) -> Question {
        let terms = analyze(text);
        let said = |term: &&String| keep_all || !STOP_WORDS.contains(*term);
        let mut wanted: BTreeSet<String> = terms.iter().filter(said).cloned().collect();
        let only_stop_words = wanted.is_empty();
        if only_stop_words {
            wanted = terms.iter().cloned().collect();
        }
        let quoted: Vec<&str> = quoted(text)
            .into_iter()
            .flat_map(str::split_whitespace)
            .collect();
        let words: Vec<Word> = text
            .split_whitespace()
            .enumerate()
            .map(|(at, word)| {
                let word = word.trim_matches(|c: char| !c.is_alphanumeric());
                let mut terms = analyze(word);
                let is_code = terms.len() > 1 && is_code(word);
                terms.retain(|term| only_stop_words || !STOP_WORDS.contains(term));
                if !keep_all && !is_code {
                    without_initials(&mut terms);
                }
                Word {
                    is_code,
                    is_quoted: quoted.iter().any(|quoted| quoted.contains(word)),
                    written: word.to_owned(),
                    terms,
                    at,
                }
            })
            .filter(|word| !word.terms.is_empty())
            .collect();
        wanted.retain(|term| {
            !is_initial(term) || keep_all || words.iter().any(|word| word.terms.contains(term))
        });
        Question {
            text: text.to_owned(),
            wanted: wanted.into_iter().collect(),
            words,
            // Plain mode knows words only.
            asked: if keep_all {
                Asked::default()
            } else {
                Asked::of(text)
            },
            spellings: if keep_all {
                Spellings::default()
            } else {
                Spellings::of(text)
            },
            pairs: if keep_all { Vec::new() } else { pairs(text) },
        }
    }

    /// What a word counts: less, if it says how the question is asked and others say what.
    pub(crate) fn share_of(&self, word: &Word) -> f32 {
        let is_thing = THINGS.contains(&word.written.to_lowercase().as_str());
        match self.is_of_asking(word) && !is_thing {
            true => Formula::LIMN.asking,
            false => 1.0,
        }
    }

    /// Whether it is of no interest that a word occurs nowhere: it is of how is asked, or says that
    /// a table is sought, and other words say which.
    pub(crate) fn is_of_asking(&self, word: &Word) -> bool {
        let is_of_asking = |word: &Word| {
            let lower = word.written.to_lowercase();
            !word.is_quoted && (is_asking_word(&lower) || is_kind(&lower))
        };
        is_of_asking(word) && !self.words.iter().all(is_of_asking)
    }

    /// The words none of whose terms is `known`, in order, each once, but for those that tables
    /// have in a whole value (`held`); a code is known if it has two parts and both are known.
    pub(crate) fn unknown_words(
        &self,
        known: impl Fn(&str) -> bool,
        held: impl Fn(&Word) -> bool,
    ) -> Vec<&Word> {
        let mut unknown: Vec<&Word> = Vec::new();
        for word in &self.words {
            let is_known = match word.is_code {
                true => {
                    held(word) || (word.terms.len() <= 2 && word.terms.iter().all(|it| known(it)))
                }
                false => held(word) || word.terms.iter().any(|term| known(term)),
            };
            if !is_known && !unknown.iter().any(|known| known.written == word.written) {
                unknown.push(word);
            }
        }
        unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_words_go_unless_they_are_all_there_is() {
        let question = Question::new("What are the names of the singers?", false);
        assert_eq!(question.wanted, ["name", "singer"]);
        assert_eq!(Question::new("The Who", false).wanted, ["the", "who"]);
        assert!(
            Question::new("the singers", true)
                .wanted
                .contains(&"the".to_owned())
        );
        assert!(Question::new("?!", false).wanted.is_empty());
    }

    #[test]
    fn a_letter_within_a_word_is_no_word() {
        let question = Question::new("e-bike orders", false);
        assert_eq!(question.wanted, ["bike", "order"]);
        let unknown = question.unknown_words(|term| term == "e" || term == "order", |_| false);
        assert_eq!(unknown[0].written, "e-bike");
        for (text, wanted) in [
            ("vitamin d", &["d", "vitamin"][..]),
            ("x-y", &["x", "y"]),
            ("E-54", &["54", "e"]),
        ] {
            assert_eq!(Question::new(text, false).wanted, wanted, "{text}");
        }
        assert!(
            Question::new("e-bike", true)
                .wanted
                .contains(&"e".to_owned())
        );
    }

    #[test]
    fn words_of_how_is_asked_are_of_no_interest() {
        let named = |text: &str| -> Vec<String> {
            let question = Question::new(text, false);
            let words = question.words.iter();
            let words = words.filter(|it| !question.is_of_asking(it));
            words.map(|it| it.written.clone()).collect()
        };
        let text = "Show the table called flurbs per zone, each \"average\"";
        assert_eq!(named(text), ["flurbs", "zone", "average"]);
        assert_eq!(named("which table"), ["table"], "nothing else is asked");
    }

    #[test]
    fn asking_words_count_less_beside_others() {
        let shares = |text: &str| -> Vec<f32> {
            let question = Question::new(text, false);
            let words = question.words.iter();
            words.map(|word| question.share_of(word)).collect()
        };
        assert_eq!(shares("highest water level"), [0.5, 1.0, 1.0]);
        assert_eq!(shares("\"highest\" level"), [1.0, 1.0]);
        assert_eq!(shares("level order"), [1.0, 1.0], "orders are things");
        assert_eq!(shares("highest"), [1.0], "nothing else is asked");
    }

    #[test]
    fn unknown_words_are_named_as_written() {
        let question = Question::new("Which flurbs have a Zyx-score, and flurbs?", false);
        let known = |term: &str| term == "score";
        let unknown_words = |question: &Question, held: bool| -> Vec<String> {
            let unknown = question.unknown_words(known, |_| held);
            unknown.iter().map(|word| word.written.clone()).collect()
        };
        assert_eq!(unknown_words(&question, false), ["flurbs"]);
        assert!(unknown_words(&question, true).is_empty());
        let codes = Question::new("score of A-17, 3f2b and score-score", false);
        assert_eq!(unknown_words(&codes, false), ["A-17", "3f2b"]);
        assert!(unknown_words(&codes, true).is_empty());
    }
}
