//! Whether a word is a short form of another: the one rule for it, by which names of columns refer
//! to keys ([`Name`](crate::Name)) and words of questions find names (`limn-segment` walks a
//! dictionary of terms by it, `limn-retrieval` asks).
//!
//! A short form is the word cut off (`temp` of "temperature"), or cut off and then without its
//! vowels and whatever else (`dept` of "department", `qty` of "quantity"): it begins as the word
//! does, and its letters come in the word's order. It has three letters or more, of two there are
//! too many; and at least two fewer than the word, of one less it is another form of the word. A
//! search asks for three fewer (`limn-segment`): `dec` is none of "decay".
//!
//! A column that is said to refer to a key needs more than a word that is searched for, which
//! counts half in any case: a *sure* one has no vowel after its first letter, or has half of the
//! word's letters at most and ends in a consonant. `book` and `age` are short forms of "booking"
//! and "agency", and not sure ones. If a search asked for sure ones, a point of rdatasets'
//! questions would be lost (hit@5 67.0, then 66.1).

/// Letters of the shortest short form.
const LEAST: usize = 3;
/// How many letters it has less than the word, at least.
const FEWER: usize = 2;
/// Letters of the longest word.
const LETTERS: usize = 64;

/// A word that others may be short forms of.
#[derive(Debug, Clone)]
pub struct Short {
    word: Vec<char>,
}

/// How much of a possible short form was read, and how much of the word that is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Way {
    /// Letters of the short form.
    letters: usize,
    /// Letters of the word, up to the last of these.
    at: usize,
    /// Whether something was left out.
    is_left_out: bool,
    /// Whether it has a vowel after its first letter.
    has_vowel: bool,
    /// Whether it ends in one.
    ends_in_vowel: bool,
}

impl Short {
    /// Of a word in small letters; `None` where it is too short to have short forms, or longer
    /// than words are.
    #[must_use]
    pub fn of(word: &str) -> Option<Short> {
        let word: Vec<char> = word.chars().take(LETTERS + 1).collect();
        (LEAST + FEWER..=LETTERS)
            .contains(&word.len())
            .then_some(Short { word })
    }

    /// Whether a text is a short form of the word.
    #[must_use]
    pub fn is_of(&self, text: &str) -> bool {
        self.way(text).is_some_and(Way::is_whole)
    }

    /// Whether it is a sure one.
    #[must_use]
    pub fn is_surely_of(&self, text: &str) -> bool {
        let way = self.way(text);
        way.is_some_and(|way| way.is_whole() && self.is_sure(way))
    }

    /// How many letters what was read has less than the word.
    #[must_use]
    pub fn fewer(&self, way: Way) -> usize {
        self.word.len().saturating_sub(way.letters)
    }

    fn is_sure(&self, way: Way) -> bool {
        let is_half = 2 * way.letters <= self.word.len();
        !way.has_vowel || is_half && !way.ends_in_vowel
    }

    fn way(&self, text: &str) -> Option<Way> {
        let mut letters = text.chars();
        letters.try_fold(Way::default(), |way, letter| self.read(way, letter))
    }

    /// What was read, and one letter more; `None` if nothing that begins so is a short form.
    #[must_use]
    pub fn read(&self, way: Way, letter: char) -> Option<Way> {
        let letters = way.letters + 1;
        if letters + FEWER > self.word.len() {
            return None;
        }
        let rest = self.word.get(way.at..)?;
        let is_cut = !way.is_left_out && rest.first() == Some(&letter);
        let meant = if is_cut { letter } else { self.meant(letter) };
        let is_vowel = matches!(meant, 'a' | 'e' | 'i' | 'o' | 'u');
        let skipped = match is_cut {
            true => 0,
            false if way.letters == 0 || is_vowel => return None,
            false => rest.iter().position(|it| *it == meant)?,
        };
        Some(Way {
            letters,
            at: way.at + skipped + 1,
            is_left_out: !is_cut,
            has_vowel: way.has_vowel || is_vowel && way.letters > 0,
            ends_in_vowel: is_vowel,
        })
    }

    /// The letter that a letter stands for: the terms of an index are stems, which end in `i` where
    /// words end in `y`.
    fn meant(&self, letter: char) -> char {
        match letter {
            'i' if self.word.last() == Some(&'y') => 'y',
            _ => letter,
        }
    }
}

impl Way {
    /// Whether what was read is a short form.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.letters >= LEAST
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn short_forms_are_cut_off_or_without_vowels() {
        for (word, short, is_sure) in [
            ("temperature", "temp", true),
            ("temperature", "temper", false),
            ("population", "pop", true),
            ("experience", "exper", true),
            ("information", "info", false),
            ("department", "dept", true),
            ("customer", "cust", true),
            ("customer", "cstmr", true),
            ("driver", "drv", true),
            ("product", "prd", true),
            ("order", "ord", true),
            ("employee", "emp", true),
            ("quantity", "qty", true),
            // As the analyzer leaves it.
            ("quantity", "qti", true),
            ("account", "acct", true),
            ("address", "addr", true),
            ("percentage", "pct", true),
            ("government", "govt", true),
            ("agency", "age", false),
            ("booking", "book", false),
            ("größe", "grß", true),
        ] {
            let it = Short::of(word).unwrap();
            assert!(it.is_of(short), "{word} {short}");
            assert_eq!(it.is_surely_of(short), is_sure, "{word} {short}");
        }
        for (word, other) in [
            ("temperature", "te"),
            ("temperature", "tempo"),
            ("temperature", "rature"),
            ("temperature", "emp"),
            ("department", "depot"),
            ("department", "dtp"),
            ("orders", "order"),
            ("quantity", "qit"),
            ("quantity", ""),
            ("customer", "stm"),
            ("customer", "cs"),
            ("customer", "customer"),
            ("customer", "customers"),
        ] {
            let it = Short::of(word).unwrap();
            assert!(
                !it.is_of(other) && !it.is_surely_of(other),
                "{word} {other}"
            );
        }
        assert!(Short::of("road").is_none());
        assert!(Short::of(&"a".repeat(65)).is_none());
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
            let expected = (3..=word.len() - 2).contains(&other.len())
                && word[0] == other[0]
                && is_left(word, other, true);
            let text = std::str::from_utf8(other).unwrap();
            proptest::prop_assert_eq!(short.is_of(text), expected);
            let vowels: Vec<bool> = other.iter().map(|it| b"aeiou".contains(it)).collect();
            let is_bare = !vowels.iter().skip(1).any(|it| *it);
            let is_half = 2 * other.len() <= word.len() && vowels.last() == Some(&false);
            let is_sure = expected && (is_bare || is_half);
            proptest::prop_assert_eq!(short.is_surely_of(text), is_sure);
        }
    }
}
