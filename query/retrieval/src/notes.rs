//! What is to be said of a question's words beside the tables.

use crate::answer::RankedTable;
use crate::corpus::Values;
use crate::lexical::Found;
use crate::question::{Question, is_asking_word};
use crate::scratch::TERM_BITS;

/// Words that a note names.
const NAMED: usize = 12;

/// Words that are searched as others, then words that occur nowhere.
pub(crate) fn of_words(found: &Found, values: Values) -> Vec<String> {
    let meant = found.meant.iter();
    let meant = meant.map(|it| format!("searched \"{}\" as \"{}\"", it.written, it.word));
    meant.chain(unknown(&found.unknown, values)).collect()
}

/// What is to be said of words that occur nowhere. The index has all names and contexts, and a part
/// of the values.
fn unknown(words: &[String], values: Values) -> Option<String> {
    let (what, verb) = match words {
        [] => return None,
        [_] => ("this word", "occurs"),
        _ => ("these words", "occur"),
    };
    let words = listed(words);
    let why = match values {
        Values::Searched => {
            "the index holds a sample of each table's values, so a table may have what the index has not: limn sql looks into \
             all rows of the tables that should have it"
        }
        Values::Hidden => "tables' values were not searched: the key that asked may not read them",
    };
    Some(format!(
        "{what} {verb} nowhere in the index: {words} ({why})"
    ))
}

/// Some words, as far as a note has room for them.
#[must_use]
pub fn listed(words: &[String]) -> String {
    let named = words.iter().take(NAMED).map(String::as_str);
    let named = named.collect::<Vec<_>>().join(", ");
    match words.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The words of a question that tables have, but none of these; without those of how it asks.
pub(crate) fn lacked(question: &Question, found: &Found, tables: &[RankedTable]) -> Vec<String> {
    let held = tables.iter().fold(0, |held, it| held | it.held);
    let mut lacked: Vec<String> = Vec::new();
    for word in &question.words {
        let meant = found.meant.iter().find(|it| it.written == word.written);
        let is_its = |term: &String| {
            word.terms.contains(term) || meant.is_some_and(|meant| meant.term == *term)
        };
        let known = found.known.iter().take(TERM_BITS).enumerate();
        let places = known.filter(|(_, (term, _))| is_its(term));
        let of_it = places.fold(0u64, |of_it, (at, _)| of_it | 1 << at);
        let is_asking = is_asking_word(&word.written.to_lowercase());
        if of_it != 0 && of_it & held == 0 && !is_asking && !lacked.contains(&word.written) {
            lacked.push(word.written.clone());
        }
    }
    lacked
}
