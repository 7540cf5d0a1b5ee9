//! Terms that a word is written short as: an automaton that walks a dictionary of terms.
//!
//! Which ones are short forms is said once, by [`limn_joins::Short`].

use limn_joins::{Short, ShortWay};
use tantivy_fst::Automaton;

/// How many letters a term has less than the word, at least: `dec` is guessed for no "decay".
const FEWER: usize = 3;

/// A word of small ASCII letters, which terms may be short forms of.
#[derive(Debug, Clone)]
pub struct ShortTerms(Short);

impl ShortTerms {
    /// `None` where the word has no short forms, or other characters than small ASCII letters.
    #[must_use]
    pub fn of(word: &str) -> Option<ShortTerms> {
        let is_word = word.bytes().all(|byte| byte.is_ascii_lowercase());
        Short::of(word).filter(|_| is_word).map(ShortTerms)
    }
}

impl Automaton for ShortTerms {
    /// `None` once the term can be no short form.
    type State = Option<ShortWay>;

    fn start(&self) -> Self::State {
        Some(ShortWay::default())
    }

    fn is_match(&self, way: &Self::State) -> bool {
        way.is_some_and(|way| way.is_whole() && self.0.fewer(way) >= FEWER)
    }

    fn can_match(&self, way: &Self::State) -> bool {
        way.is_some_and(|way| self.0.fewer(way) >= FEWER)
    }

    /// Bytes of other characters are letters that no such word has.
    fn accept(&self, way: &Self::State, byte: u8) -> Self::State {
        way.and_then(|way| self.0.read(way, char::from(byte)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_of_small_ascii_letters_are_looked_for() {
        assert!(ShortTerms::of("temperature").is_some());
        for none in ["road", "Temperature", "größen", "a17b-c"] {
            assert!(ShortTerms::of(none).is_none(), "{none}");
        }
    }

    fn is_match(word: &str, term: &str) -> bool {
        let terms = ShortTerms::of(word).unwrap_or_else(|| unreachable!());
        let way = term.bytes().try_fold(terms.start(), |way, byte| {
            let way = terms.accept(&way, byte);
            terms.can_match(&way).then_some(way)
        });
        way.is_some_and(|way| terms.is_match(&way))
    }

    #[test]
    fn terms_are_read_by_their_bytes() {
        for short in ["temp", "tmp", "tmprt", "temperat"] {
            assert!(is_match("temperature", short), "{short}");
        }
        for other in ["te", "tempo", "témp", "", "temperatu"] {
            assert!(!is_match("temperature", other), "{other}");
        }
        assert!(!is_match("decay", "dec") && is_match("decade", "dec"));
    }
}
