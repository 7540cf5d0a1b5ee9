//! Words that tables have in a short form only: a question says "quantity", and a column is called
//! `qty`.
//!
//! A word of a question is looked up in the names of tables and columns as its
//! [short forms](ShortTerms), too. A table that lacks the word and has one of them counts
//! [`SHORTENED`] of what it would count with a word that is as common: as many tables have it as
//! have the word or a short form.
//!
//! Nothing is guessed where people say what is meant. A table whose texts (README, dictionary,
//! comments) have the word has the word; one whose texts have the short form has it explained, and
//! for it the short form is none. Words of how is asked ("average") and words in quotation marks
//! have none. What the list of common abbreviations spells out as another word is no short form:
//! `dest` is "destination", and none of "destruction". Those of several meanings stay open: the
//! list has not all of them.

use std::collections::HashMap;
use std::sync::LazyLock;

use limn_segment::analyzer::analyze;
use limn_segment::{BlockKind, Field, ShortTerms};

use crate::absent_words::LookUp;
use crate::answer::Hit;
use crate::corpus::{Corpus, DEAD};
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::lexical::{Found, KnownTerms};
use crate::question::{Question, Word, is_asking_word};
use crate::scoring::{Formula, idf};
use crate::scratch::Scratch;
use crate::shared::Shared;
use crate::sums::Sums;

/// What a short form counts, of what the word counts.
const SHORTENED: f32 = 0.5;
/// Short forms of a word that are looked up, of those that tables have: the first by their letters.
const FORMS: usize = 32;

/// The terms of what common abbreviations of one meaning are spelled out as, by theirs.
static SPELLED_OUT: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut all: HashMap<String, Vec<&str>> = HashMap::new();
    for (short, meanings) in limn_summary::abbreviations() {
        // Several may have one stem.
        if let [term] = &analyze(short)[..] {
            all.entry(term.clone()).or_default().extend(meanings);
        }
    }
    let one = all
        .into_iter()
        .filter_map(|(term, meanings)| match meanings[..] {
            [meaning] => Some((term, analyze(meaning))),
            _ => None,
        });
    one.collect()
});

/// Whether a term is a common abbreviation, and not of a word.
fn is_another(term: &str, of: &str) -> bool {
    let terms = SPELLED_OUT.get(term);
    terms.is_some_and(|terms| !terms.iter().any(|it| it == of))
}

/// A short form of a question's word that some table has which lacks the word.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ShortForm {
    /// The word as the question has it.
    pub(crate) written: String,
    /// The word's term.
    pub(crate) of: String,
    /// The short form's.
    pub(crate) term: String,
    /// The tables with texts that explain it, sorted.
    explained: Vec<u32>,
}

impl ShortForm {
    /// Whether it is one of a table of this number, if this has it at all: no text explains it.
    pub(crate) fn is_guessed(&self, table: u32) -> bool {
        self.explained.binary_search(&table).is_err()
    }

    /// As people write it, who end no short form in `i` where the word ends in `y`.
    pub(crate) fn shown(&self) -> String {
        match self.term.strip_suffix('i') {
            Some(begun) if self.written.to_lowercase().ends_with('y') => format!("{begun}y"),
            _ => self.term.clone(),
        }
    }
}

impl Found {
    /// What a text that shows why is searched for: terms, and short forms of them, which are marked
    /// and worth nothing: how much of a question a text has follows from its words.
    pub(crate) fn sought(&self) -> KnownTerms {
        let short = self.short.iter();
        let short = short.map(|it| (it.term.clone(), 0.0));
        self.known.iter().cloned().chain(short).collect()
    }

    /// Whether a term is a short form of a question's word, as a table has it.
    pub(crate) fn is_short(&self, term: &str, table: u32) -> bool {
        let mut short = self.short.iter();
        short.any(|it| it.term == term && it.is_guessed(table))
    }
}

impl Question {
    /// The word that a term is all of, if short forms of it are searched: asking words have none.
    pub(crate) fn word_of(&self, term: &str) -> Option<&Word> {
        let mut words = self.words.iter();
        words.find(|word| word.terms == [term] && !self.is_of_asking(word))
    }
}

/// Adds what tables have of the short forms of a word, of those that do not have the word itself
/// in `scratch.term`; and its bit.
pub(crate) fn add_short(
    (corpus, shared): (&Corpus, Option<&Shared>),
    word: &Word,
    (scratch, bit): (&mut Scratch, u64),
    deadline: Deadline,
    found: &mut Vec<ShortForm>,
) -> Result<(), RetrievalError> {
    let ([of], false) = (&word.terms[..], word.is_quoted) else {
        return Ok(());
    };
    let lower = word.written.to_lowercase();
    let Some(short) = ShortTerms::of(without_s(&lower)).filter(|_| !is_asking_word(&lower)) else {
        return Ok(());
    };
    if corpus.is_absent(&lower, LookUp::Short) {
        return Ok(());
    }
    let only_shared = scratch.only_shared();
    let (best, sums) = (&mut scratch.form_folder, &mut scratch.form);
    let mut live = 0;
    for term in terms(corpus, &short, of, deadline)? {
        if corpus.is_absent(&term, LookUp::ShortForm) {
            continue;
        }
        sum_names(corpus, &term, deadline, sums)?;
        if sums.touched().is_empty() {
            corpus.found_absent(&term, LookUp::ShortForm);
            continue;
        }
        live += 1;
        let explained = explained((corpus, shared), &term, sums)?;
        let mut is_new = false;
        for table in sums.touched() {
            let is_guessed = explained.binary_search(table).is_err();
            let lacks = scratch.term.get(*table) <= 0.0 && scratch.shared.get(*table) <= 0.0;
            if is_guessed && lacks {
                is_new = true;
                best.set(*table, best.get(*table).max(sums.get(*table)));
            }
        }
        sums.clear();
        if is_new {
            found.push(ShortForm {
                written: word.written.clone(),
                of: of.clone(),
                term,
                explained,
            });
        }
        if live == FORMS {
            break;
        }
    }
    if live == 0 {
        corpus.found_absent(&lower, LookUp::Short);
    }
    let has_word = scratch.term.touched().len() + only_shared;
    let containing = has_word + best.touched().len();
    let worth = SHORTENED * idf(corpus.tables.len() as u64, containing as u64);
    let (scores, matched) = (&mut scratch.scores, &mut scratch.matched);
    best.drain(|table, sum| {
        scores.add(table, worth * Formula::LIMN.saturate(sum));
        let matched = matched.at(table);
        matched.worth += worth;
        matched.own |= bit;
    });
    Ok(())
}

/// A word without the `s` of its plural.
fn without_s(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(single) if !single.ends_with('s') => single,
        _ => word,
    }
}

/// The terms of names that are short forms of a word, in order, but for its own and abbreviations
/// of others.
fn terms(
    corpus: &Corpus,
    short: &ShortTerms,
    own: &str,
    deadline: Deadline,
) -> Result<Vec<String>, RetrievalError> {
    let mut found = Vec::new();
    for segment in &corpus.segments {
        deadline.check()?;
        segment.reader.short(Field::Names, short, &mut |term| {
            if term != own && !is_another(term, own) {
                found.push(term.to_owned());
            }
        })?;
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Adds how much of a term the names of each table have.
fn sum_names(
    corpus: &Corpus,
    term: &str,
    deadline: Deadline,
    sums: &mut Sums,
) -> Result<(), RetrievalError> {
    let norms = &corpus.norms[Field::Names.index()];
    for segment in &corpus.segments {
        deadline.check()?;
        let mut visit = |blocks: &[u32], frequencies: &[u32]| {
            for (block, frequency) in blocks.iter().zip(frequencies) {
                let table = segment.table_of[*block as usize];
                if table != DEAD {
                    sums.add(table, *frequency as f32 * norms[table as usize]);
                }
            }
        };
        let reader = &segment.reader;
        reader.posting_runs(Field::Names, term, &mut visit)?;
    }
    Ok(())
}

/// The tables, of those that have a term in their names, whose own texts have it, too; sorted.
fn explained(
    (corpus, shared): (&Corpus, Option<&Shared>),
    term: &str,
    names: &Sums,
) -> Result<Vec<u32>, RetrievalError> {
    let mut found = Vec::new();
    for (number, segment) in corpus.segments.iter().enumerate() {
        let is_own = |block: &u32| shared.is_none_or(|it| !it.has(number, *block));
        let mut visit = |blocks: &[u32], _: &[u32]| {
            let blocks = blocks.iter().filter(|block| is_own(block));
            let tables = blocks.map(|it| segment.table_of[*it as usize]);
            found.extend(tables.filter(|table| names.get(*table) > 0.0));
        };
        let reader = &segment.reader;
        reader.posting_runs(Field::Contexts, term, &mut visit)?;
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// What is to be said of words that tables of an answer have in a short form only, as the texts
/// show it that made them match.
pub(crate) fn of_short(found: &Found, results: &[Hit]) -> Vec<String> {
    let mut notes = Vec::new();
    for form in &found.short {
        let shown = results.iter().find_map(|hit| {
            let words = |term: &str| {
                let schemas = hit.blocks.iter();
                let schemas = schemas.filter(|block| block.kind == BlockKind::Schema);
                let mut words = schemas.flat_map(|block| &block.words);
                words.find(|word| analyze(word) == [term]).cloned()
            };
            words(&form.term).filter(|_| words(&form.of).is_none())
        });
        if let Some(shown) = shown {
            let shown = shown.to_lowercase();
            notes.push(format!("searched \"{}\" as \"{shown}\", too", form.written));
        }
    }
    notes
}
