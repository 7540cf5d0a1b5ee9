//! A question's terms, as texts are searched for them.

use limn_segment::analyzer::analyze_beginning;
use limn_segment::languages::MARK;

use crate::lexical::KnownTerms;
use crate::texts::Terms;

/// The terms that are looked for, with what each is worth.
pub(crate) struct Sought<'a> {
    /// Sorted by term.
    terms: Vec<(&'a str, f32)>,
    /// What texts' terms are compared with.
    hashes: Vec<u64>,
    /// The bytes that a term begins with, a bit each: most words of a text need no look at all.
    firsts: [u64; 4],
}

impl<'a> Sought<'a> {
    pub(crate) fn new(known: &'a KnownTerms) -> Sought<'a> {
        // Texts are searched for words.
        let words = known.iter().filter(|(term, _)| !term.starts_with(MARK));
        let terms = words.map(|(term, weight)| (term.as_str(), *weight));
        Sought::of(terms.collect())
    }

    pub(crate) fn of(mut terms: Vec<(&'a str, f32)>) -> Sought<'a> {
        terms.sort_by(|a, b| a.0.cmp(b.0));
        terms.dedup_by_key(|term| term.0);
        let mut firsts = [0; 4];
        for first in terms.iter().filter_map(|(term, _)| term.bytes().next()) {
            firsts[usize::from(first / 64)] |= 1 << (first % 64);
        }
        let hashes = terms.iter().map(|(term, _)| Terms::hash(term)).collect();
        Sought {
            terms,
            hashes,
            firsts,
        }
    }

    /// The terms, sorted.
    pub(crate) fn terms(&self) -> &[(&'a str, f32)] {
        &self.terms
    }

    /// What all of them are worth.
    pub(crate) fn total(&self) -> f32 {
        self.terms.iter().map(|(_, weight)| weight).sum()
    }

    /// Whether a term begins with this byte.
    fn begins(&self, byte: u8) -> bool {
        self.firsts[usize::from(byte / 64)] >> (byte % 64) & 1 == 1
    }

    /// False where the letters alone show that no term is in a text: none begins where the analyzer
    /// may begin a word.
    fn may_be_in(&self, text: &str) -> bool {
        if !text.is_ascii() {
            return true;
        }
        let mut before = b' ';
        for byte in text.bytes() {
            // An apostrophe neither ends a word nor begins one.
            if byte == b'\'' {
                continue;
            }
            let goes_on = (byte.is_ascii_lowercase() && before.is_ascii_alphabetic())
                || (byte.is_ascii_digit() && before.is_ascii_digit());
            if !goes_on && self.begins(byte.to_ascii_lowercase()) {
                return true;
            }
            before = byte;
        }
        false
    }

    /// Calls `visit` with the place among the terms of each that a text has, in the order of the
    /// text.
    pub(crate) fn find(&self, text: &str, mut visit: impl FnMut(usize)) {
        if !self.may_be_in(text) {
            return;
        }
        analyze_beginning(text, |byte| self.begins(byte), &mut |found: &str| {
            if let Ok(at) = self.terms.binary_search_by(|(term, _)| (*term).cmp(found)) {
                visit(at);
            }
        });
    }

    /// What those of a text's terms are worth that are sought; summed in the order of the terms.
    pub(crate) fn worth_of(&self, text: &Terms) -> f32 {
        let terms = self.terms.iter().zip(&self.hashes);
        let found = terms.filter(|(_, hash)| text.has(**hash));
        found.map(|((_, weight), _)| weight).sum()
    }

    /// As [`worth_of`](Self::worth_of), for a text that is looked at once.
    pub(crate) fn worth(&self, text: &str) -> f32 {
        if !self.may_be_in(text) {
            return 0.0;
        }
        let mut has = vec![false; self.terms.len()];
        self.find(text, |at| has[at] = true);
        let terms = self.terms.iter().zip(has);
        terms.filter(|(_, has)| *has).map(|(term, _)| term.1).sum()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use limn_segment::analyzer::analyze;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn all_terms_of_a_text_are_found(
            text in "[abyAB12é' _.-]{0,24}",
            wanted in prop::collection::btree_set("[abiy12é]{1,3}", 1..6),
        ) {
            let sought = Sought::of(wanted.iter().map(|term| (term.as_str(), 1.0)).collect());
            let mut found = Vec::new();
            sought.find(&text, |at| found.push(sought.terms()[at].0.to_owned()));
            let mut held = analyze(&text);
            held.retain(|term| wanted.contains(term));
            prop_assert_eq!(&found, &held);
            let distinct: std::collections::BTreeSet<String> = held.into_iter().collect();
            prop_assert_eq!(sought.worth(&text), distinct.len() as f32);
        }
    }
}
