//! A question as the lexical side sees it: its terms, without the words that say nothing.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use limn_segment::analyzer::analyze;

const LIST: &str = include_str!("stopwords.txt");

/// Stop words as the analyzer leaves them.
static STOP_WORDS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    LIST.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(analyze)
        .collect()
});

/// The terms of a question that are looked up: what is worth marking in an answer.
pub fn content_terms(question: &str) -> Vec<String> {
    Question::new(question, false).wanted
}

/// An analyzed question.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The distinct terms that are looked up, sorted: sums over them have one order.
    pub(crate) wanted: Vec<String>,
    /// The words of the question as written, each with its terms, stop words left out.
    pub(crate) words: Vec<(String, Vec<String>)>,
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
        let words = text
            .split_whitespace()
            .map(|word| {
                let word = word.trim_matches(|c: char| !c.is_alphanumeric());
                let mut terms = analyze(word);
                terms.retain(|term| only_stop_words || !STOP_WORDS.contains(term));
                (word.to_owned(), terms)
            })
            .filter(|(_, terms)| !terms.is_empty())
            .collect();
        Question {
            wanted: wanted.into_iter().collect(),
            words,
        }
    }

    /// The words none of whose terms is `known`, as written, in order, each once.
    pub(crate) fn unknown_words(&self, known: impl Fn(&str) -> bool) -> Vec<String> {
        let mut unknown: Vec<String> = Vec::new();
        for (word, terms) in &self.words {
            if !terms.iter().any(|term| known(term)) && !unknown.contains(word) {
                unknown.push(word.clone());
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
    fn unknown_words_are_told_as_written() {
        let question = Question::new("Which flurbs have a Zyx-score, and flurbs?", false);
        let known = |term: &str| term == "score";
        assert_eq!(question.unknown_words(known), ["flurbs"]);
    }
}
