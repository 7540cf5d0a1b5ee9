//! What is learned of a ranking: how much a few features count beside the formula (`scoring.rs`).
//!
//! A table's score is `(s + Σ wᵢ·fᵢ) / (1 + Σ wᵢ)`, with the formula's score `s` and features from
//! 0 to 1 of which more is never worse. The weights are few, and say what they mean; a script
//! learns them (`tests/bench/ranking.py`, docs/ranking.md): those that help most corpora most and
//! cost none of them anything, by searching a grid. Each corpus is reported by weights that never
//! saw it.
//!
//! An index may have weights of its own, which fit its owner's questions (`tuned.rs`, `limn tune`).
//!
//! A caller who asks for words alone or for meaning alone (α of 1 or 0) gets that, without
//! features.

use limn_segment::analyzer::analyze;
use serde::{Deserialize, Serialize};

use crate::lexical::Found;
use crate::scratch::{Scratch, TERM_BITS};

/// How much the features of a table count beside the formula's score, each 0 or more.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// The meaning's side once more ([`Hit::semantic`](crate::Hit::semantic)).
    pub meaning: f32,
    /// [`Hit::covered`](crate::Hit::covered), of the words that the table itself has.
    pub covered: f32,
    /// [`Hit::name_match`](crate::Hit::name_match).
    pub name: f32,
    /// [`Hit::context_match`](crate::Hit::context_match).
    pub contexts: f32,
}

impl Weights {
    /// The formula alone, as it was set by hand.
    pub const FORMULA: Weights = Weights {
        meaning: 0.0,
        covered: 0.0,
        name: 0.0,
        contexts: 0.0,
    };

    /// What was learned of four corpora (docs/ranking.md).
    pub const LEARNED: Weights = Weights {
        meaning: 0.05,
        covered: 0.05,
        name: 0.12,
        contexts: 0.08,
    };

    /// How many there are.
    pub(crate) const COUNT: usize = 4;

    /// They with the names that they have in what is printed and kept.
    #[must_use]
    pub fn named(&self) -> [(&'static str, f32); Weights::COUNT] {
        [
            ("meaning", self.meaning),
            ("covered", self.covered),
            ("name", self.name),
            ("contexts", self.contexts),
        ]
    }

    /// These with another value at a place, from 0, in the order of [`named`](Weights::named).
    pub(crate) fn with(mut self, at: usize, value: f32) -> Weights {
        let own = [
            &mut self.meaning,
            &mut self.covered,
            &mut self.name,
            &mut self.contexts,
        ];
        if let Some(weight) = own.into_iter().nth(at) {
            *weight = value;
        }
        self
    }

    pub(crate) fn sum(&self) -> f32 {
        self.meaning + self.covered + self.name + self.contexts
    }

    /// A table's score, from the formula's and its features.
    pub(crate) fn score(&self, formula: f32, features: &Features) -> f32 {
        let added = self.meaning * features.meaning
            + self.covered * features.covered
            + self.name * features.name
            + self.contexts * features.contexts;
        (formula + added) / (1.0 + self.sum())
    }
}

/// The features of a table, each from 0 to 1, as [`Weights`] has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Features {
    /// The meaning's side.
    pub meaning: f32,
    /// The share of the question's words, by what they are worth, that the table's own texts have;
    /// a short form of a word counts as the word here.
    pub covered: f32,
    /// The share of the words of its own name that the question has.
    pub name: f32,
    /// The share of the question's words that texts about it have.
    pub contexts: f32,
}

impl Features {
    /// Their values in the order of [`Weights::named`].
    pub(crate) fn named(&self) -> [f32; Weights::COUNT] {
        [self.meaning, self.covered, self.name, self.contexts]
    }

    /// Those of a table of this number that its name and its meaning have no part in.
    pub(crate) fn without_name(found: &Found, scratch: &Scratch, table: u32) -> Features {
        Features {
            covered: found.share_of(found.held(scratch, table)),
            contexts: found.share_of(scratch.matched.get(table).contexts),
            ..Features::default()
        }
    }
}

impl Found {
    /// [`Features::name`] of a table. How it is called is asked for only where it has a word of the
    /// question.
    pub(crate) fn share_of_name<'a>(
        &self,
        scratch: &Scratch,
        table: u32,
        name: impl FnOnce() -> &'a str,
    ) -> f32 {
        // What a table has of a word beyond the last bit, or only in a short form, has no bit.
        let has_more = self.known.len() > TERM_BITS || !self.short.is_empty();
        match has_more || self.held(scratch, table) != 0 {
            true => self.name_match(table, name()),
            false => 0.0,
        }
    }

    /// The share of the words of a table's own name that the question has, perhaps as a word of
    /// which they are a short form: 0 to 1.
    fn name_match(&self, number: u32, table: &str) -> f32 {
        let mut words = analyze(own_name(table));
        words.sort_unstable();
        words.dedup();
        let is_known = |word: &&String| {
            let mut known = self.known.iter();
            known.any(|(term, _)| term == *word) || self.is_short(word, number)
        };
        let known = words.iter().filter(is_known).count();
        known as f32 / words.len().max(1) as f32
    }
}

/// A table's own name: without its folder, and of `shop__orders` what comes last.
pub fn own_name(table: &str) -> &str {
    let name = table.rsplit('/').next().unwrap_or(table);
    name.rsplit("__").next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(known: &[&str]) -> Found {
        Found {
            known: known.iter().map(|it| ((*it).to_owned(), 1.0)).collect(),
            ..Found::default()
        }
    }

    #[test]
    fn a_name_matches_by_the_share_of_its_words() {
        let found = found(&["order", "line", "late"]);
        assert_eq!(found.name_match(0, "sales/order_lines"), 1.0);
        assert_eq!(found.name_match(0, "shop__OrderLines"), 1.0);
        assert_eq!(found.name_match(0, "orders_2024"), 0.5);
        assert_eq!(found.name_match(0, "orders/customers"), 0.0);
        assert_eq!(found.name_match(0, "__"), 0.0);
        // A word that comes twice is one.
        assert_eq!(found.name_match(0, "line_by_line_order"), 2.0 / 3.0);
    }

    proptest::proptest! {
        #[test]
        fn more_of_a_feature_is_never_worse(
            s in 0.0_f32..=1.0, f in proptest::array::uniform4(0.0_f32..=1.0),
            w in proptest::array::uniform4(0.0_f32..=1.0), at in 0_usize..4, more in 0.0_f32..=1.0,
        ) {
            let weights = Weights { meaning: w[0], covered: w[1], name: w[2], contexts: w[3] };
            let of = |f: [f32; 4]| Features { meaning: f[0], covered: f[1], name: f[2], contexts: f[3] };
            let mut better = f;
            better[at] = (f[at] + more).min(1.0);
            let (one, other) = (weights.score(s, &of(f)), weights.score(s, &of(better)));
            proptest::prop_assert!(other >= one);
            proptest::prop_assert!((0.0..=1.0 + 1e-6).contains(&other));
            proptest::prop_assert_eq!(Weights::FORMULA.score(s, &of(f)), s);
        }
    }
}
