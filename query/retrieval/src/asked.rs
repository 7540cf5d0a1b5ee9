//! What a question asks for by its whole name or value.
//!
//! **Names.** A question that is a name (`promo_code`, `column promo_code`), and what it quotes or
//! writes as an identifier (`customers."promo code"`, `sales/orders`, `CustomerID`), may be the
//! name of a table, a file or a column. Plain words in a longer question are none: "which customers
//! used a promo code" asks for no column.
//!
//! **Values.** Two to four words in a row, what is quoted, a code or another word that the analyzer
//! takes apart, and the whole question may be a value.
//!
//! **Values among many.** What columns of many values hold is looked up one by one, so of the
//! question's values up to 16 are: what is quoted, codes, numbers of four digits and more that are
//! no years, words that begin with capitals or digits, and the whole of a short question.

use std::ops::Range;

use limn_segment::analyzer::analyze;
use limn_segment::whole::{Whole, is_code, key};

use crate::question::says_nothing;
use crate::spans::{WORDS, quoted, visit};

/// Values that are looked up among many.
const AMONG_MANY: usize = 16;
/// A question of more words is no value as a whole.
const SHORT: usize = 8;
/// Capitals of a title, but for the first.
const TITLE: usize = 3;
/// Digits of a number that is looked up among many.
const DIGITS: usize = 4;

const TABLE: &[Whole] = &[Whole::Table, Whole::File];
const COLUMN: &[Whole] = &[Whole::Column];
const FILE: &[Whole] = &[Whole::File];
const ANY: &[Whole] = &[Whole::Table, Whole::File, Whole::Column];

/// What may be a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AskedName {
    /// As the question has it.
    pub(crate) written: String,
    pub(crate) key: String,
    /// What it may be the name of.
    pub(crate) of: &'static [Whole],
    /// Whether it is a part of another (`orders.customer_id`): a name where there is no other.
    pub(crate) is_part: bool,
}

/// What may be a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AskedValue {
    /// As the question has it.
    pub(crate) written: String,
    pub(crate) key: String,
    /// Whether it is a code, and so may be a column's name, too (`Q1`).
    pub(crate) is_code: bool,
    /// Which of the question's words, from 0: what stands between white space.
    pub(crate) words: Range<usize>,
    /// Whether it is looked up among the values that a column has many of.
    pub(crate) is_among_many: bool,
}

/// A word that may be a value, and is a term as it is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AskedWord {
    /// As the question has it.
    pub(crate) written: String,
    pub(crate) key: String,
    pub(crate) term: String,
}

/// What a question may ask for as a whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// Each once.
    pub(crate) names: Vec<AskedName>,
    /// Longest first.
    pub(crate) values: Vec<AskedValue>,
    /// Words that are looked up among the values that a column has many of.
    pub(crate) among_many: Vec<AskedWord>,
    /// How many words the question has.
    pub(crate) words: usize,
}

impl Asked {
    pub(crate) fn of(question: &str) -> Asked {
        let mut asked = Asked::default();
        asked.add_names(question);
        asked.add_values(question);
        asked.choose_among_many(question);
        asked
    }

    fn add_names(&mut self, question: &str) {
        self.add_name(question, ANY, false);
        let (rest, of) = without_kind(question);
        self.add_name(rest, of, false);
        for quoted in quoted(question) {
            self.add_name(quoted, ANY, false);
        }
        for word in question.split_whitespace().take(WORDS) {
            let word = trimmed(word);
            if !is_identifier(word) {
                continue;
            }
            self.add_name(word, ANY, false);
            // `orders.customer_id`
            let parts = word.split('.').filter(|part| part.len() < word.len());
            if parts.clone().any(is_identifier) {
                parts.for_each(|part| self.add_name(part, ANY, true));
            }
        }
    }

    fn add_name(&mut self, written: &str, of: &'static [Whole], is_part: bool) {
        let Some(key) = key(written) else {
            return;
        };
        if let Some(known) = self.names.iter_mut().find(|name| name.key == key) {
            known.is_part &= is_part;
            return;
        }
        self.names.push(AskedName {
            written: trimmed(written).to_owned(),
            key,
            of,
            is_part,
        });
    }

    fn add_values(&mut self, question: &str) {
        self.words = question.split_whitespace().count();
        visit(question, &mut |written, words, _| {
            self.add_value(written, words)
        });
    }

    fn add_value(&mut self, written: &str, words: Range<usize>) {
        let written = trimmed(written);
        let Some(key) = key(written) else {
            return;
        };
        // A plain word is a term.
        let is_whole = words.len() > 1 || is_compound(written);
        if is_whole && !self.values.iter().any(|value| value.key == key) {
            self.values.push(AskedValue {
                written: written.to_owned(),
                key,
                is_code: words.len() == 1 && is_code(written),
                words,
                is_among_many: false,
            });
        }
    }

    /// Chooses what is looked up among the values that a column has many of.
    fn choose_among_many(&mut self, question: &str) {
        let words: Vec<&str> = question.split_whitespace().map(trimmed).collect();
        let quoted: Vec<&str> = quoted(question).into_iter().map(trimmed).collect();
        // The first word begins with a capital anyway, and in a title all do.
        let is_title = is_title(&words);
        let is_marked = |at: usize, of: usize| {
            let word = words.get(at).copied().unwrap_or_default();
            let is_first = at == 0 && of == 1 && words.len() > 1;
            let is_name = is_name(word) && !is_first && !is_title;
            let is_figure = word.starts_with(|c: char| c.is_ascii_digit()) && !is_year(word);
            (is_name || is_figure) && !is_stop(word)
        };
        let mut left = AMONG_MANY;
        for value in &mut self.values {
            let Range { start, end } = value.words.clone();
            let is_whole = end - start == words.len() && words.len() <= SHORT;
            let has_ends =
                is_marked(start, end - start) && is_marked(end.saturating_sub(1), end - start);
            let is_sought =
                is_whole || value.is_code || has_ends || quoted.contains(&value.written.as_str());
            value.is_among_many = is_sought && left > 0;
            left -= usize::from(value.is_among_many);
        }
        for (at, word) in words.iter().enumerate().take(WORDS) {
            let is_quoted = quoted.iter().any(|it| it == word);
            let is_number = is_number(word) && !is_year(word);
            let is_plain = !is_compound(word);
            let is_alone = words.len() == 1;
            if !is_plain
                || !(is_quoted || is_number || is_alone || is_name(word) && is_marked(at, 1))
            {
                continue;
            }
            let terms = analyze(word);
            if let ([term], Some(key), true) = (&terms[..], key(word), left > 0) {
                left -= 1;
                self.among_many.push(AskedWord {
                    written: (*word).to_owned(),
                    key,
                    term: term.clone(),
                });
            }
        }
        self.among_many.dedup_by(|a, b| a.key == b.key);
    }
}

/// Whether a question is written as titles are: after the first word there are several capitals,
/// and no small letters but in stop words.
fn is_title(words: &[&str]) -> bool {
    let rest = words.iter().skip(1).filter(|word| !is_stop(word));
    let (names, others): (Vec<&str>, Vec<&str>) = rest.partition(|word| is_name(word));
    names.len() >= TITLE && others.is_empty()
}

/// Whether a word is a number of some digits.
fn is_number(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits >= DIGITS && !word.contains(char::is_alphabetic)
}

/// Whether a number may be a year, which sets nothing apart.
fn is_year(word: &str) -> bool {
    word.len() == 4 && (word.starts_with("19") || word.starts_with("20"))
}

/// Whether a word is a stop word, or has no letter or digit.
fn is_stop(word: &str) -> bool {
    key(word).is_none() || says_nothing(word)
}

/// Whether a word begins as names do.
fn is_name(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
}

/// Without "the table", "column" and the like at either end, which say what it is the name of.
fn without_kind(question: &str) -> (&str, &'static [Whole]) {
    let mut rest = question.trim();
    let mut of = ANY;
    let mut is_kind = |word: &str| {
        let lower = trimmed(word).to_lowercase();
        match kind(&lower) {
            Some(kind) => of = kind,
            None => return matches!(lower.as_str(), "the" | "a" | "named" | "called"),
        }
        true
    };
    while let Some((first, others)) = rest.split_once(char::is_whitespace)
        && is_kind(first)
    {
        rest = others.trim_start();
    }
    while let Some((others, last)) = rest.rsplit_once(char::is_whitespace)
        && is_kind(last)
    {
        rest = others.trim_end();
    }
    (rest, of)
}

/// What a word says that a name is of.
fn kind(word: &str) -> Option<&'static [Whole]> {
    match word {
        "table" | "tables" | "dataset" => Some(TABLE),
        "column" | "columns" | "field" => Some(COLUMN),
        "file" | "files" => Some(FILE),
        _ => None,
    }
}

/// Whether a word, in small letters, says that a table, a column or a file is sought, and not
/// which.
pub(crate) fn is_kind(word: &str) -> bool {
    kind(word).is_some()
}

/// Without what stands around it.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| !c.is_alphanumeric())
}

/// Whether the analyzer may take a word apart: a code, an e-mail address, `McDonald`.
fn is_compound(word: &str) -> bool {
    is_code(word) || has_hump(word) || word.chars().any(|c| !c.is_alphanumeric())
}

/// Whether a capital comes after a small letter.
fn has_hump(word: &str) -> bool {
    let mut before = ' ';
    word.chars().any(|c| {
        let is_hump = before.is_lowercase() && c.is_uppercase();
        before = c;
        is_hump
    })
}

/// Whether a word is written as programs write names: with an underscore, or with a slash, a point
/// or a capital after a small letter between parts of two characters and more.
fn is_identifier(word: &str) -> bool {
    let is_part = |part: &str| trimmed(part).chars().nth(1).is_some();
    let is_joined = |by: char| word.contains(by) && word.split(by).all(is_part);
    let mut places = word.char_indices().skip(1).map(|(at, _)| at);
    let has_hump = places.any(|at| {
        let (before, after) = word.split_at(at);
        let is_hump = before.ends_with(char::is_lowercase) && after.starts_with(char::is_uppercase);
        is_hump && is_part(before) && is_part(after)
    });
    let has_letter = word.chars().any(char::is_alphabetic);
    has_letter && (has_hump || word.contains('_') || is_joined('/') || is_joined('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(question: &str) -> Vec<(String, usize)> {
        let names = Asked::of(question).names;
        names
            .into_iter()
            .map(|name| (name.key, name.of.len()))
            .collect()
    }

    #[test]
    fn a_question_that_is_a_name_may_say_of_what() {
        assert_eq!(names("promo_code"), [("promocode".to_owned(), 3)]);
        assert_eq!(names("Promo Code?"), [("promocode".to_owned(), 3)]);
        let found = names("the column promo_code");
        assert!(found.contains(&("promocode".to_owned(), 1)), "{found:?}");
        let found = names("orders table");
        assert_eq!(
            found,
            [("orderstable".to_owned(), 3), ("orders".to_owned(), 2)]
        );
    }

    #[test]
    fn quotes_and_identifiers_are_names_in_a_longer_question_and_words_are_not() {
        let found: Vec<String> = names(
            "who used \"Promo Code\" or 'client id' in sales/orders.csv, customers.zipCode and CustomerID of O'Brien's?",
        )
        .into_iter()
        .skip(1)
        .map(|(key, _)| key)
        .collect();
        assert_eq!(
            found,
            [
                "promocode",
                "clientid",
                "salesorderscsv",
                "salesorders",
                "csv",
                "customerszipcode",
                "customers",
                "zipcode",
                "customerid"
            ]
        );
        let plain =
            "Did the U.S. sell well-known cars and/or e.g. 12.5 % of A/B in 3.5 days to others?";
        assert!(names(plain).len() <= 2, "{:?}", names(plain));
    }

    #[test]
    fn values_are_words_in_a_row_and_codes() {
        let asked = Asked::of("orders of Anna Kessler, A-17");
        let values: Vec<(&str, Range<usize>)> = asked
            .values
            .iter()
            .map(|value| (value.written.as_str(), value.words.clone()))
            .collect();
        assert_eq!(
            values,
            [
                ("orders of Anna Kessler, A-17", 0..5),
                ("orders of Anna Kessler", 0..4),
                ("of Anna Kessler, A-17", 1..5),
                ("orders of Anna", 0..3),
                ("of Anna Kessler", 1..4),
                ("Anna Kessler, A-17", 2..5),
                ("orders of", 0..2),
                ("of Anna", 1..3),
                ("Anna Kessler", 2..4),
                ("Kessler, A-17", 3..5),
                ("A-17", 4..5),
            ]
        );
        assert!(Asked::of("Leipzig").values.is_empty());
        assert_eq!(Asked::of("\"red wine\"").values.len(), 1);
    }

    #[test]
    fn what_a_question_sets_apart_is_looked_up_among_many() {
        let sought = |question: &str| {
            let asked = Asked::of(question);
            let values = asked.values.into_iter().filter(|it| it.is_among_many);
            let values: Vec<String> = values.map(|it| it.written).collect();
            let words: Vec<String> = asked.among_many.into_iter().map(|it| it.written).collect();
            (values.join(" | "), words.join(" | "))
        };
        for (question, values, words) in [
            (
                "which of the tables we have names the customer ACME-4711",
                "ACME-4711",
                "",
            ),
            (
                "where in all of our data does Anna Kessler of Leipzig occur",
                "Anna Kessler of Leipzig | Kessler of Leipzig | Anna Kessler",
                "Anna | Kessler | Leipzig",
            ),
            (
                "List all that there is of \"red wine\" and 48213 in 2024, please",
                "red wine",
                "48213",
            ),
            ("Leipzig", "", "Leipzig"),
            ("anna kessler", "anna kessler", ""),
            // A title has capitals everywhere.
            (
                "Growth of the Gross National Product and of Prices in the Thirties",
                "",
                "",
            ),
        ] {
            assert_eq!(
                sought(question),
                (values.to_owned(), words.to_owned()),
                "{question}"
            );
        }
        let many: String = (0..40).map(|at| format!("A-{at} ")).collect();
        assert_eq!(sought(&many).0.split(" | ").count(), AMONG_MANY);
    }
}
