//! A question, as columns and cells are looked for by it.

use std::collections::BTreeSet;

use limn_retrieval::{Span, says_nothing, spans};
use limn_segment::analyzer::analyze;
use limn_sets::{Part, parts};

/// A question that has been read, by rules.
#[derive(Clone, Debug)]
pub struct Asked {
    /// As it was asked.
    pub question: String,
    /// What asks for columns.
    pub(crate) parts: Vec<Part>,
    /// What may be values.
    pub(crate) spans: Vec<Span>,
    stems: BTreeSet<String>,
}

impl Asked {
    /// Reads a question.
    #[must_use]
    pub fn of(question: &str) -> Asked {
        Asked {
            question: question.to_owned(),
            parts: parts(question),
            spans: spans(question),
            stems: analyze(question).into_iter().collect(),
        }
    }

    /// The texts that columns are compared with: the parts, and the whole question.
    pub(crate) fn column_texts(&self) -> Vec<String> {
        let parts = self.parts.iter().map(Part::to_string);
        parts.chain([self.question.clone()]).collect()
    }

    /// Whether the question has every word of a name.
    pub(crate) fn names(&self, name: &str) -> bool {
        let stems = analyze(name);
        !stems.is_empty() && stems.iter().all(|stem| self.stems.contains(stem))
    }

    /// Whether a span is worth a scan of a table: what is quoted, and names and codes, whose words
    /// all have a capital or a digit, but for those that say nothing. The capital that begins the
    /// question makes no name of a word alone, unless that is the question.
    pub(crate) fn is_probed(&self, span: &Span) -> bool {
        let is_one = span.words.len() == 1 && self.question.split_whitespace().nth(1).is_some();
        let is_name = |word: &str| {
            let has_capital = word.contains(char::is_uppercase);
            let begins = is_one && span.words.start == 0;
            (has_capital && !begins)
                || word.bytes().any(|byte| byte.is_ascii_digit())
                || says_nothing(word)
        };
        span.says && (span.is_quoted || span.written.split_whitespace().all(is_name))
    }

    /// The spans that are worth a scan of a table.
    pub(crate) fn probed(&self) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(|span| self.is_probed(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_codes_and_quotes_are_worth_a_scan() {
        let asked = Asked::of("Which towns did Anna Kessler order 'red wine' and A-17 for?");
        let probed: Vec<&str> = asked.probed().map(|span| span.key.as_str()).collect();
        for key in ["annakessler", "anna", "kessler", "redwine", "a17"] {
            assert!(probed.contains(&key), "{key}: {probed:?}");
        }
        for key in ["which", "towns", "order", "wine", "redwineanda17"] {
            assert!(!probed.contains(&key), "{key}: {probed:?}");
        }
        let asked_of = Asked::of("orders of Bank of America");
        let probed: Vec<&str> = asked_of.probed().map(|it| it.key.as_str()).collect();
        assert_eq!(probed, ["bankofamerica", "bank", "america"]);
        assert!(
            Asked::of("which town has most orders?")
                .probed()
                .next()
                .is_none()
        );
        let asked_of = Asked::of("Muster Maschinenbau AG");
        let probed: Vec<&str> = asked_of.probed().map(|it| it.key.as_str()).collect();
        assert_eq!(probed[0], "mustermaschinenbauag");
        assert!(!probed.contains(&"muster"));
        assert_eq!(Asked::of("Muster").probed().count(), 1);
        assert!(asked.names("TownOrders") && !asked.names("town_budget"));
    }
}
