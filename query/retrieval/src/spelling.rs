//! What a word that occurs nowhere may be meant to be: a word of the index that is spelled nearly
//! alike.
//!
//! In words of five letters and more one may be missing, too many or swapped with its neighbour,
//! from seven letters on also wrong, and from eight on there may be two such. The first letter is
//! right; names in the middle of a question have one missing, too many or swapped. Codes, numbers,
//! words of other scripts, words in quotation marks and those of the embedder's vocabulary are left
//! as they are. A common abbreviation of one meaning ("dept") is the word that it stands for, if
//! some table has that. Only words of live tables count: what hidden tables have does not exist.

use std::cmp::Reverse;

use limn_models::Embedder;
use limn_segment::analyzer::analyze;
use limn_segment::{Field, Near, SegmentError, distance};
use limn_summary::expand_abbreviations;

use crate::absent_words::LookUp;
use crate::corpus::{Corpus, DEAD};
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::question::{Word, is_stop_word};
use crate::sought::Sought;
use crate::words::matching_words;

/// Terms of which is looked up how they are spelled.
const SPELLED: usize = 8;
/// Texts that are looked into for that.
const TEXTS: usize = 3;
/// Letters of an abbreviation at least: two mean too many things.
const SHORTEST: usize = 3;

/// A word as it is searched instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Meant {
    /// As the question has it.
    pub(crate) written: String,
    /// As the index has it.
    pub(crate) word: String,
    pub(crate) term: String,
}

/// A term that is near, the number of live tables that have it, and a few of their blocks.
struct Candidate {
    term: String,
    distance: u8,
    /// By table, segment and block; sorted.
    blocks: Vec<(u32, usize, u32)>,
    tables: usize,
}

/// Letters in an order that no language has: an embedder cuts them into pieces, if it cuts words at
/// all.
const NO_WORD: &str = "qxzvkwjqx";

/// Whether an embedder has a word in its vocabulary: no mistake then, but a word that the index has
/// not (`many`). Embedders without one know no words.
fn knows(embedder: &dyn Embedder, word: &str) -> bool {
    embedder.pieces(word) <= 1 && embedder.pieces(NO_WORD) > 1
}

/// A question with its misspelt words as they are meant; `None` without any.
pub(crate) fn corrected(text: &str, meant: &[Meant]) -> Option<String> {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let replaced = |text: String, it: &Meant| {
        let mut whole = String::with_capacity(text.len());
        let mut end = 0;
        for (at, written) in text.match_indices(&it.written) {
            let after = at + written.len();
            let is_part = is_letter(text[..at].chars().next_back())
                || is_letter(text[after..].chars().next());
            if !is_part {
                whole.push_str(&text[end..at]);
                whole.push_str(&it.word);
                end = after;
            }
        }
        whole + &text[end..]
    };
    (!meant.is_empty()).then(|| meant.iter().fold(text.to_owned(), replaced))
}

/// What an unknown word was meant to be, if that can be known.
pub(crate) fn meant(
    corpus: &Corpus,
    word: &Word,
    embedder: &dyn Embedder,
    deadline: Deadline,
) -> Result<Option<Meant>, RetrievalError> {
    let lower = word.written.to_lowercase();
    if !word.is_quoted
        && let Some(meant) = spelled_out(corpus, word, &lower)?
    {
        return Ok(Some(meant));
    }
    let is_name = word.at > 0 && word.written.starts_with(char::is_uppercase);
    let Some(near) = Near::misspelt(&lower, is_name).filter(|_| !word.is_quoted) else {
        return Ok(None);
    };
    // Of "whitch" nothing is to be searched.
    if knows(embedder, &lower) || is_stop_word(|stop| distance(&lower, stop, 1).is_some()) {
        return Ok(None);
    }
    let looked_for = format!("{is_name} {}", word.written);
    if corpus.is_absent(&looked_for, LookUp::Spelling) {
        return Ok(None);
    }
    // The nearest word, of equals the one that most tables have.
    let mut best: Option<((u8, Reverse<usize>), Meant)> = None;
    for candidate in candidates(corpus, &near, deadline)? {
        let tables = Reverse(candidate.tables);
        let is_beaten = |distance| {
            let best = best.as_ref();
            best.is_some_and(|(rank, _)| *rank <= (distance, tables))
        };
        // A word is at least as far as its stem.
        if is_beaten(candidate.distance) {
            continue;
        }
        let Some((distance, spelled)) = spelled(corpus, &candidate, &near.to_the_end())? else {
            continue;
        };
        if is_beaten(distance) {
            continue;
        }
        let meant = Meant {
            written: word.written.clone(),
            word: spelled,
            term: candidate.term,
        };
        best = Some(((distance, tables), meant));
    }
    if best.is_none() {
        corpus.found_absent(&looked_for, LookUp::Spelling);
    }
    Ok(best.map(|(_, meant)| meant))
}

/// The word that a common abbreviation of one meaning stands for, if a live table has it.
fn spelled_out(corpus: &Corpus, word: &Word, lower: &str) -> Result<Option<Meant>, RetrievalError> {
    let ([meaning], true) = (expand_abbreviations(lower), lower.len() >= SHORTEST) else {
        return Ok(None);
    };
    let [term] = &analyze(meaning)[..] else {
        return Ok(None);
    };
    if corpus.is_absent(lower, LookUp::SpelledOut) {
        return Ok(None);
    }
    if blocks_with(corpus, term)?.is_empty() {
        corpus.found_absent(lower, LookUp::SpelledOut);
        return Ok(None);
    }
    Ok(Some(Meant {
        written: word.written.clone(),
        word: (*meaning).to_owned(),
        term: term.clone(),
    }))
}

/// The nearest terms of live tables: of equally near ones those that more tables have.
fn candidates(
    corpus: &Corpus,
    near: &Near,
    deadline: Deadline,
) -> Result<Vec<Candidate>, RetrievalError> {
    let mut terms: Vec<String> = Vec::new();
    for segment in &corpus.segments {
        for field in Field::ALL {
            deadline.check()?;
            segment
                .reader
                .near(field, near, &mut |term| terms.push(term.to_owned()))?;
        }
    }
    terms.sort_unstable();
    terms.dedup();
    let mut candidates = Vec::new();
    for term in terms {
        deadline.check()?;
        let mut blocks = blocks_with(corpus, &term)?;
        let mut tables: Vec<u32> = blocks.iter().map(|(table, ..)| *table).collect();
        tables.dedup();
        let Some(distance) = near.distance(&term).filter(|_| !tables.is_empty()) else {
            continue;
        };
        blocks.truncate(TEXTS);
        candidates.push(Candidate {
            term,
            distance,
            blocks,
            tables: tables.len(),
        });
    }
    // Stable: then in the order of their letters.
    candidates.sort_by(|a, b| a.distance.cmp(&b.distance).then(b.tables.cmp(&a.tables)));
    candidates.truncate(SPELLED);
    Ok(candidates)
}

/// The live blocks that have a term, with their tables and segments, in the order of tables.
fn blocks_with(corpus: &Corpus, term: &str) -> Result<Vec<(u32, usize, u32)>, SegmentError> {
    let mut found = Vec::new();
    for (number, segment) in corpus.segments.iter().enumerate() {
        for field in Field::ALL {
            segment.reader.postings(field, term, &mut |block, _| {
                let table = segment.table_of[block as usize];
                if table != DEAD {
                    found.push((table, number, block));
                }
            })?;
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The spelling of a term that is nearest to a word, and how near it is, in the first texts that
/// have it; a term is a stem.
fn spelled(
    corpus: &Corpus,
    candidate: &Candidate,
    near: &Near,
) -> Result<Option<(u8, String)>, SegmentError> {
    let sought = Sought::of(vec![(candidate.term.as_str(), 1.0)]);
    let mut best: Option<(u8, String)> = None;
    for (_, segment, block) in &candidate.blocks {
        let text = corpus.segments[*segment].reader.text(*block)?;
        for word in matching_words(&text, &sought) {
            let word = word.to_lowercase();
            let Some(distance) = near.distance(&word) else {
                continue;
            };
            if best.as_ref().is_none_or(|(least, _)| distance < *least) {
                best = Some((distance, word));
            }
        }
    }
    Ok(best)
}
