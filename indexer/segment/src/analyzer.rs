//! The one analyzer: how documents and questions become terms.
//!
//! Text is NFKC-normalised, folded to ASCII where a letter is a decorated Latin one, and split at
//! everything that is not a letter or digit, at camelCase humps, and between letters and digits;
//! terms are lower-cased and stemmed (Snowball English). So `SickLeaveHours`, `sick_leave_hours`
//! and "sick leave hours" are the same terms: a tokenizer that keeps identifiers whole costs 15
//! points of hit@1 on database schemas (docs/decisions). Ideographs and kana, which are written
//! without spaces, are one term each. What texts in other languages have beside these terms is
//! `languages`' matter.
//!
//! Any change of the terms that come out is a new [`ANALYZER_VERSION`]: segments record theirs, and
//! a question must be analyzed like the segments it is put to.

use std::cell::RefCell;

use limn_profile::value_key::fold;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::char::is_combining_mark;

/// Version of the rules in this file; recorded in segments and snapshots.
pub const ANALYZER_VERSION: u32 = 1;

/// Longer runs (encoded blobs, hashes) are cut to this many bytes.
const MAX_TERM_BYTES: usize = 64;

/// The terms of a text, in order, repetitions kept.
#[must_use]
pub fn analyze(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    analyze_into(text, &mut |term: &str| terms.push(term.to_owned()));
    terms
}

/// Calls `visit` with each term of a text, in order. Allocates nothing per term.
pub fn analyze_into(text: &str, visit: &mut impl FnMut(&str)) {
    analyze_beginning(text, |_| true, visit);
}

/// As [`analyze_into`], of the terms that begin with a byte that is `wanted`, perhaps with others:
/// what looks for a few terms need not stem all words. A stem begins as its word does.
pub fn analyze_beginning(text: &str, wanted: impl Fn(u8) -> bool, visit: &mut impl FnMut(&str)) {
    // Taken out while in use: a visitor that analyzes another text gets a cache of its own.
    let mut stems = STEMS.take().unwrap_or_else(Stems::new);
    let mut splitter = Splitter::default();
    let mut word_came = |word: &str| {
        if word.as_bytes().first().is_some_and(|first| wanted(*first)) {
            stems.visit(word, visit);
        }
    };
    // Word by word, so that one foreign letter does not slow a whole text down.
    for word in text.split(|c: char| c.is_ascii_whitespace()) {
        for c in fold(word).chars() {
            splitter.push(c, &mut word_came);
        }
        splitter.end(&mut word_came);
    }
    STEMS.set(Some(stems));
}

/// Calls `visit` with each word of a text that is folded already, or is to stay as it is: in small
/// letters, not stemmed.
pub(crate) fn words_into(text: &str, visit: &mut impl FnMut(&str)) {
    let mut splitter = Splitter::default();
    for c in text.chars() {
        splitter.push(c, visit);
    }
    splitter.end(visit);
}

/// What kind of character comes before a possible boundary.
#[derive(Clone, Copy, Default, PartialEq)]
enum Class {
    #[default]
    Other,
    Lower,
    Upper,
    Digit,
    Ideograph,
}

fn class(c: char) -> Class {
    if c.is_ascii() {
        return match c {
            'a'..='z' => Class::Lower,
            'A'..='Z' => Class::Upper,
            '0'..='9' => Class::Digit,
            _ => Class::Other,
        };
    }
    match c {
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3134f}' => {
            Class::Ideograph
        }
        c if c.is_uppercase() => Class::Upper,
        c if c.is_numeric() => Class::Digit,
        // Combining marks belong to the letter before them.
        c if c.is_alphabetic() || is_combining_mark(c) => Class::Lower,
        _ => Class::Other,
    }
}

/// Splits a stream of characters into lower-case words.
#[derive(Default)]
struct Splitter {
    word: String,
    last: Class,
    /// Where the last character begins in `word`: "HTTPServer" is cut before its S only when the
    /// following e is seen.
    last_start: usize,
    upper_run: bool,
}

impl Splitter {
    fn push(&mut self, c: char, visit: &mut impl FnMut(&str)) {
        // "women's" is one word, and stems to "women".
        if c == '\'' {
            return;
        }
        let class = class(c);
        match (self.last, class) {
            (_, Class::Other) => {
                self.end(visit);
                return;
            }
            (Class::Upper, Class::Upper) => self.upper_run = true,
            (Class::Upper, Class::Lower) => {
                if self.upper_run {
                    let hump = self.word.split_off(self.last_start);
                    self.end(visit);
                    self.word = hump;
                }
            }
            (Class::Lower, Class::Lower) | (Class::Digit, Class::Digit) | (Class::Other, _) => {}
            // Lower to upper, letter to digit, digit to letter, ideographs.
            _ => self.end(visit),
        }
        self.last = class;
        self.last_start = self.word.len();
        if class == Class::Upper {
            self.word.extend(c.to_lowercase());
        } else {
            self.word.push(c);
        }
    }

    fn end(&mut self, visit: &mut impl FnMut(&str)) {
        if !self.word.is_empty() {
            let mut end = self.word.len().min(MAX_TERM_BYTES);
            while !self.word.is_char_boundary(end) {
                end -= 1;
            }
            visit(&self.word[..end]);
            self.word.clear();
        }
        self.last = Class::Other;
        self.last_start = 0;
        self.upper_run = false;
    }
}

/// The stemmer with a cache: words repeat, and stemming costs a microsecond and an allocation.
/// Direct-mapped, so bounded; a colliding word replaces the one before.
struct Stems {
    stemmer: Stemmer,
    slots: Vec<(String, String)>,
}

const STEM_SLOTS: usize = 1 << 13;

thread_local! {
    static STEMS: RefCell<Option<Stems>> = const { RefCell::new(None) };
}

impl Stems {
    fn new() -> Stems {
        Stems {
            stemmer: Stemmer::create(Algorithm::English),
            slots: vec![(String::new(), String::new()); STEM_SLOTS],
        }
    }

    fn visit(&mut self, word: &str, visit: &mut impl FnMut(&str)) {
        // Short words, numbers and other scripts have no English stem.
        if word.len() < 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
            visit(word);
            return;
        }
        let hash = xxhash_rust::xxh3::xxh3_64(word.as_bytes());
        let slot = &mut self.slots[(hash as usize) & (STEM_SLOTS - 1)];
        if slot.0 != word {
            slot.0.clear();
            slot.0.push_str(word);
            slot.1.clear();
            slot.1.push_str(&self.stemmer.stem(word));
        }
        visit(&slot.1);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(analyze(text), expected, "{text:?}");
    }

    #[test]
    fn identifiers_are_words() {
        for text in [
            "SickLeaveHours",
            "sick_leave_hours",
            "sick leave hours",
            "SICK-LEAVE-HOURS",
        ] {
            check(text, &["sick", "leav", "hour"]);
        }
        check("HTTPServerID", &["http", "server", "id"]);
        check("song_name2", &["song", "name", "2"]);
        check("3rdParty", &["3", "rd", "parti"]);
        check("O'Brien’s women's 'x'", &["o", "brien", "women", "x"]);
        check("A", &["a"]);
        check("AB", &["ab"]);
        check("aB", &["a", "b"]);
        check("ABc", &["a", "bc"]);
        check("", &[]);
        check(" _-/ ", &[]);
    }

    #[test]
    fn inflections_meet() {
        assert_eq!(analyze("cities"), analyze("city"));
        assert_eq!(analyze("Employees"), analyze("employee"));
    }

    #[test]
    fn scripts() {
        check("Café", &["cafe"]);
        check("Cafe\u{301}", &["cafe"]);
        check("Straße ÆON øre Łódź", &["strass", "aeon", "ore", "lodz"]);
        check("ﬁnance ①", &["financ", "1"]);
        check("東京 tower", &["東", "京", "tower"]);
        check("Москва", &["москва"]);
        // Not folded: й is not и.
        check("край", &["край"]);
        check("हिन्दी", &["हिन्दी"]);
        check("𝐀lpha", &["alpha"]);
    }

    #[test]
    fn a_visitor_may_analyze() {
        let mut inner = Vec::new();
        analyze_into("two words", &mut |word| inner.extend(analyze(word)));
        assert_eq!(inner, ["two", "word"]);
    }

    #[test]
    fn blobs_are_cut() {
        let terms = analyze(&"a".repeat(1000));
        assert_eq!(terms.len(), 1);
        assert!(terms[0].len() <= MAX_TERM_BYTES);
        let terms = analyze(&"й".repeat(1000));
        assert!(terms[0].len() <= MAX_TERM_BYTES);
    }

    proptest::proptest! {
        #[test]
        fn any_text_gives_clean_terms(text in "\\PC{0,60}") {
            for term in analyze(&text) {
                proptest::prop_assert!(!term.is_empty() && term.len() <= MAX_TERM_BYTES);
                proptest::prop_assert!(!term.contains(char::is_whitespace), "{:?}", term);
                proptest::prop_assert!(!term.bytes().any(|b| b.is_ascii_uppercase()));
            }
        }

        #[test]
        fn looking_for_terms_by_their_first_byte_misses_none(
            text in "(\\PC{0,20}|[a-z]{1,9}(ied|ying|ies|sses|ly|s)? ?|[A-Z][a-z]{1,6} ){0,9}",
            first in proptest::prelude::any::<u8>(),
        ) {
            let mut found = Vec::new();
            analyze_beginning(&text, |byte| byte == first, &mut |term: &str| found.push(term.to_owned()));
            let mut all = analyze(&text);
            all.retain(|term| term.as_bytes()[0] == first);
            proptest::prop_assert_eq!(found, all);
        }

        #[test]
        fn joining_texts_joins_their_terms(a in "\\PC{0,30}", b in "\\PC{0,30}") {
            let mut both = analyze(&a);
            both.extend(analyze(&b));
            proptest::prop_assert_eq!(analyze(&format!("{a} | {b}")), both);
        }
    }
}
