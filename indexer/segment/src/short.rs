//! Terms that a word is written short as: an automaton that walks a dictionary of terms.
//!
//! A short form is the word cut off (`temp` of "temperature"), or cut off and then without its
//! vowels and whatever else (`dept` of "department", `qty` of "quantity"): it begins as the word
//! does, and its letters come in the word's order. It has three letters or more, and at least three
//! fewer than the word: of two letters there are too many, and of a letter or two less it is
//! another form of the word.

use tantivy_fst::Automaton;

/// Letters of the shortest short form.
const LEAST: usize = 3;
/// How many letters it has less than the word, at least.
const FEWER: usize = 3;
/// Letters of the longest word.
const LETTERS: usize = 64;

/// A word of small ASCII letters, which terms may be short forms of.
#[derive(Debug, Clone)]
pub struct Short {
    word: Vec<u8>,
}

/// How much of a term was read, and how much of the word that is.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// Letters of the term.
    letters: usize,
    /// Letters of the word, up to the last of these.
    at: usize,
    is_cut: bool,
    is_lost: bool,
}

impl Short {
    /// `None` where the word is too short or too long, or has other characters than small ASCII
    /// letters.
    #[must_use]
    pub fn of(word: &str) -> Option<Short> {
        let is_word = word.bytes().all(|byte| byte.is_ascii_lowercase());
        (is_word && (LEAST + FEWER..=LETTERS).contains(&word.len())).then(|| Short {
            word: word.as_bytes().to_vec(),
        })
    }

    /// Whether a term is a short form of the word.
    #[must_use]
    pub fn is_of(&self, term: &str) -> bool {
        let mut way = self.start();
        for byte in term.bytes() {
            way = self.accept(&way, byte);
        }
        self.is_match(&way)
    }

    /// The letter that a letter of a term stands for: terms are stems, which end in `i` where words
    /// end in `y`.
    fn meant(&self, byte: u8) -> u8 {
        match byte {
            b'i' if self.word.last() == Some(&b'y') => b'y',
            _ => byte,
        }
    }
}

impl Automaton for Short {
    type State = Way;

    fn start(&self) -> Way {
        Way {
            letters: 0,
            at: 0,
            is_cut: true,
            is_lost: false,
        }
    }

    fn is_match(&self, way: &Way) -> bool {
        !way.is_lost && way.letters >= LEAST
    }

    fn can_match(&self, way: &Way) -> bool {
        !way.is_lost
    }

    fn accept(&self, way: &Way, byte: u8) -> Way {
        let lost = Way {
            is_lost: true,
            ..*way
        };
        let letters = way.letters + 1;
        if way.is_lost || letters + FEWER > self.word.len() {
            return lost;
        }
        let rest = self.word.get(way.at..).unwrap_or_default();
        if way.is_cut && rest.first() == Some(&byte) {
            return Way {
                letters,
                at: way.at + 1,
                ..*way
            };
        }
        let meant = self.meant(byte);
        let is_vowel = matches!(meant, b'a' | b'e' | b'i' | b'o' | b'u');
        let next = rest.iter().position(|letter| *letter == meant);
        match next.filter(|_| way.letters > 0 && !is_vowel) {
            Some(skipped) => Way {
                letters,
                at: way.at + skipped + 1,
                is_cut: false,
                is_lost: false,
            },
            None => lost,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn short_forms_are_cut_off_or_without_vowels() {
        for (word, short) in [
            ("temperature", "temp"),
            ("population", "pop"),
            ("experience", "exper"),
            ("department", "dept"),
            ("quantity", "qty"),
            // As the analyzer leaves it.
            ("quantity", "qti"),
            ("account", "acct"),
            ("address", "addr"),
            ("percentage", "pct"),
            ("government", "govt"),
        ] {
            assert!(Short::of(word).unwrap().is_of(short), "{word} {short}");
        }
        for (word, other) in [
            ("temperature", "te"),
            ("temperature", "tempo"),
            ("temperature", "rature"),
            ("temperature", "emp"),
            ("department", "depot"),
            ("department", "dtp"),
            ("orders", "orde"),
            ("quantity", "qit"),
            ("quantity", ""),
        ] {
            assert!(!Short::of(word).unwrap().is_of(other), "{word} {other}");
        }
        assert!(Short::of("state").is_none());
        assert!(Short::of("Temperature").is_none());
        assert!(Short::of("a17b-c").is_none());
    }

    /// Whether letters are left out of a word to get another; by all ways to leave them out.
    fn is_left(word: &[u8], of: &[u8], is_cut: bool) -> bool {
        let Some((first, rest)) = of.split_first() else {
            return true;
        };
        let is_vowel = b"aeiou".contains(first);
        (0..word.len()).any(|at| {
            let goes_on = is_cut && at == 0;
            word[at] == *first && (goes_on || !is_vowel) && is_left(&word[at + 1..], rest, goes_on)
        })
    }

    proptest::proptest! {
        #[test]
        fn a_short_form_is_what_is_left_of_a_word(word in "[abc][abcdei]{5,8}", other in "[abcdei]{0,7}") {
            let short = Short::of(&word).unwrap();
            let (word, other) = (word.as_bytes(), other.as_bytes());
            let expected = (3..=word.len() - 3).contains(&other.len())
                && word[0] == other[0]
                && is_left(word, other, true);
            let text = std::str::from_utf8(other).unwrap();
            proptest::prop_assert_eq!(short.is_of(text), expected);
        }
    }
}
