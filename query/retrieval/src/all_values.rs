//! How much of a question are values that tables have.

use crate::lexical::{Found, UNKNOWN};
use crate::question::{Question, Word};
use crate::scoring::idf;
use crate::wholes::HeldValue;

impl Found {
    /// Whether the question is nothing but values that tables have: one as a whole, or codes and
    /// numbers.
    pub(crate) fn is_all_values(&self, question: &Question) -> bool {
        let is_whole = |value: &HeldValue| value.words == (0..question.asked.words);
        let is_known = |word: &Word| {
            let mut known = self.known.iter();
            self.holds(word) || known.any(|(term, _)| word.terms.contains(term))
        };
        let is_word = question.asked.words == 1 && !self.wholes.words.is_empty();
        self.wholes.values.iter().any(is_whole)
            || is_word
            || (question.words.iter().all(Word::is_exact) && question.words.iter().any(is_known))
    }

    /// The share of the question, by what its words are worth, that are values which tables have:
    /// codes, numbers, names and what is quoted. 1 where it is nothing else.
    pub(crate) fn share_of_values(&self, question: &Question, tables: usize) -> f32 {
        if self.is_all_values(question) {
            return 1.0;
        }
        let values = self.wholes.values.iter().filter(|value| value.is_distinct);
        let is_within = |word: &Word| values.clone().any(|it| it.words.contains(&word.at));
        let mut worth: f32 = values.clone().map(|value| value.idf).sum();
        let mut others = 0.0;
        for word in question.words.iter().filter(|word| !is_within(word)) {
            // It asks for nothing.
            if word.terms.iter().all(|term| self.idle.contains(term)) {
                continue;
            }
            let mut known = self.known.iter();
            let of_word = known.find(|(term, _)| word.terms.contains(term));
            let unknown = || question.share_of(word) * UNKNOWN * idf(tables as u64, 0);
            let of_word = of_word.map_or_else(unknown, |(_, worth)| *worth);
            let mut held = self.wholes.words.iter();
            match held.any(|held| word.terms.contains(&held.term)) {
                true => worth += of_word,
                false => others += of_word,
            }
        }
        match worth > 0.0 {
            true => worth / (worth + others),
            false => 0.0,
        }
    }
}
