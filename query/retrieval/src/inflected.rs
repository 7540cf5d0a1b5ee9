//! A question's words in the languages that an index has.
//!
//! In which language a short question is cannot be known, so nothing hangs on it: a word is looked
//! up as its English stem, as ever, and as its marked stem of each language that live tables have
//! ([`limn_segment::languages`]). All of these are one word: a table has it as often as it has the
//! form that it has most often, and as many tables have it as have any form. Not the rarest form's
//! number: a spelling that one table alone has would make the word a rare one everywhere.
//!
//! Function words of these languages say nothing, unless nothing else is asked or the question has
//! as many of English. An index of English texts has no language, and none of this costs it a
//! look-up.

use std::collections::{BTreeMap, BTreeSet};

use limn_segment::analyzer::analyze;
use limn_segment::languages::{
    Language, Spelled, is_english_function_word, marked, pairs_into, spelled,
};
use limn_segment::whole::language_term;

use crate::corpus::Corpus;
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::question::Question;
use crate::wholes::tables_with;

/// Function words of a language that a question in it has, at least.
const LEAST: usize = 2;

/// The words behind a question's terms.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spellings(BTreeMap<String, Vec<Spelled>>);

impl Spellings {
    pub(crate) fn of(question: &str) -> Spellings {
        let mut words: BTreeMap<String, Vec<Spelled>> = BTreeMap::new();
        spelled(question, &mut |folded, written| {
            let word = Spelled {
                folded: folded.to_owned(),
                written: written.to_owned(),
            };
            for term in analyze(folded) {
                let words = words.entry(term).or_default();
                if !words.contains(&word) {
                    words.push(word.clone());
                }
            }
        });
        Spellings(words)
    }

    /// The marked terms that a term is looked up as in some languages, each once.
    fn marked(&self, term: &str, languages: &[Language]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for word in self.0.get(term).into_iter().flatten() {
            for language in languages {
                marked(*language, &word.folded, &word.written, &mut |marked| {
                    found.insert(marked.to_owned());
                });
            }
        }
        found
    }

    /// Whether a term is nothing but function words of these languages.
    pub(crate) fn is_function_word(&self, term: &str, languages: &[Language]) -> bool {
        let is_one = |word: &Spelled| {
            let mut languages = languages.iter();
            languages.any(|language| language.is_function_word(&word.folded))
        };
        self.0
            .get(term)
            .is_some_and(|words| words.iter().all(is_one))
    }

    /// The question's terms that are function words in a language of which it has two or more, and
    /// more than of English: in "routes of LA" and "cat breeds", `la` and `cat` are none. None
    /// where no other term is `wanted`.
    pub(crate) fn function_words(&self, wanted: &[String], languages: &[Language]) -> Vec<String> {
        let words = || self.0.values().flatten().map(|word| word.folded.as_str());
        let english = words().filter(|it| is_english_function_word(it)).count();
        let spoken = languages.iter().filter(|language| {
            let own = words().filter(|word| language.is_function_word(word));
            let own = own.count();
            own >= LEAST && own > english
        });
        let spoken: Vec<&Language> = spoken.collect();
        let is_function_word = |word: &Spelled| {
            let mut spoken = spoken.iter();
            spoken.any(|language| language.is_function_word(&word.folded))
        };
        let is_idle = |term: &&String| {
            let words = self.0.get(*term);
            words.is_some_and(|words| words.iter().all(is_function_word))
        };
        let found: Vec<String> = wanted.iter().filter(is_idle).cloned().collect();
        if found.len() == wanted.len() {
            return Vec::new();
        }
        found
    }
}

/// The pairs of neighbouring letters of a question that are looked up, sorted.
pub(crate) fn pairs(question: &str) -> Vec<String> {
    let mut found = BTreeSet::new();
    pairs_into(question, &mut |pair| {
        found.insert(pair.to_owned());
    });
    found.into_iter().collect()
}

/// The marked terms that a term of a question is looked up as, beside itself, in the languages of
/// an index.
pub(crate) fn forms(
    corpus: &Corpus,
    question: &Question,
    term: &str,
    deadline: Deadline,
) -> Result<BTreeSet<String>, RetrievalError> {
    let languages = languages(corpus, deadline)?;
    Ok(question.spellings.marked(term, languages))
}

/// The languages of which live tables have marked terms; looked up once.
pub(crate) fn languages(
    corpus: &Corpus,
    deadline: Deadline,
) -> Result<&[Language], RetrievalError> {
    if let Some(known) = corpus.languages.get() {
        return Ok(known);
    }
    let terms: Vec<String> = Language::ALL.iter().map(|it| language_term(*it)).collect();
    let tables = tables_with(corpus, &terms, deadline)?;
    let languages = Language::ALL.iter().zip(tables);
    let languages = languages.filter(|(_, tables)| !tables.is_empty());
    Ok(corpus
        .languages
        .get_or_init(|| languages.map(|(language, _)| *language).collect()))
}

impl Question {
    /// Whether most pairs of a word are known: what a word of Korean or Thai is known by.
    pub(crate) fn has_pairs(word: &str, known: impl Fn(&str) -> bool) -> bool {
        let (mut all, mut found) = (0, 0);
        pairs_into(word, &mut |pair| {
            all += 1;
            found += usize::from(known(pair));
        });
        all > 0 && 2 * found >= all
    }
}
