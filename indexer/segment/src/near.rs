//! Terms that are spelled nearly like a word: an automaton that walks a dictionary of terms.
//!
//! The distance is that of Damerau and Levenshtein, each place edited once (optimal string
//! alignment): letters that are wrong, missing, too many, or swapped with their neighbour. A state
//! is the last two rows of its table, so that whole branches of a dictionary are left out as soon
//! as no term in them can be near.

use tantivy_fst::Automaton;

/// Letters of the longest word.
const LETTERS: usize = 24;
/// Letters of the shortest: fewer have too many neighbours.
const SHORTEST: usize = 5;
/// Misspelt words of so many letters may have a wrong one, and two mistakes.
const WRONG: usize = 7;
const LONG: usize = 8;

/// A word of small ASCII letters, to which terms may be near.
///
/// Terms are stems, so up to three letters at the end of the word may be an ending that the stem
/// does not have, and a `y` may have become an `i`. Terms begin as the word does.
#[derive(Debug, Clone)]
pub struct Near {
    word: Vec<u8>,
    edits: u8,
    /// What a wrong letter costs: 1, or 2 where it is none.
    wrong: u8,
    /// Letters at the end that may be left out.
    ending: usize,
}

/// Distances of what was read to each beginning of the word, now and a letter before.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    now: [u8; LETTERS + 1],
    before: [u8; LETTERS + 1],
    last: u8,
    is_begun: bool,
    is_lost: bool,
}

impl Near {
    /// `None` where the word is too short or too long, or has other characters than small ASCII
    /// letters.
    #[must_use]
    pub fn new(word: &str, edits: u8) -> Option<Near> {
        let is_word = word.bytes().all(|byte| byte.is_ascii_lowercase());
        (is_word && (SHORTEST..=LETTERS).contains(&word.len())).then(|| Near {
            word: word.as_bytes().to_vec(),
            edits,
            wrong: 1,
            ending: (word.len() / 3).min(3),
        })
    }

    /// What a word may be that somebody misspelt: with one letter missing, too many or swapped with
    /// its neighbour; in longer words also wrong, and twice. Names are not changed as much. `None`
    /// as of [`Near::new`].
    #[must_use]
    pub fn misspelt(word: &str, is_name: bool) -> Option<Near> {
        let edits = if word.len() < LONG || is_name { 1 } else { 2 };
        let near = Near::new(word, edits)?;
        Some(match word.len() < WRONG || is_name {
            true => near.without_wrong_letters(),
            false => near,
        })
    }

    /// The same, where one letter in the place of another is two edits: one too many, and one
    /// missing. Most short words that differ so are other words (`list` and `last`).
    fn without_wrong_letters(self) -> Near {
        Near { wrong: 2, ..self }
    }

    /// The same, where the word's ending counts, too: for words, not stems.
    #[must_use]
    pub fn to_the_end(&self) -> Near {
        Near {
            ending: 0,
            ..self.clone()
        }
    }

    /// How far a term is from the word, its ending left out where that is nearer; `None` where it
    /// is farther than allowed.
    #[must_use]
    pub fn distance(&self, term: &str) -> Option<u8> {
        let rows = term
            .bytes()
            .fold(self.start(), |rows, byte| self.accept(&rows, byte));
        self.is_match(&rows).then(|| self.best(&rows))
    }

    fn best(&self, rows: &Rows) -> u8 {
        let ends = self.word.len() - self.ending..=self.word.len();
        rows.now[ends].iter().copied().min().unwrap_or(u8::MAX)
    }

    fn is_same(&self, at: usize, byte: u8) -> bool {
        let letter = self.word[at];
        letter == byte || (letter == b'y' && byte == b'i' && at + 2 >= self.word.len())
    }
}

impl Automaton for Near {
    type State = Rows;

    fn start(&self) -> Rows {
        let mut now = [u8::MAX; LETTERS + 1];
        for (at, distance) in now[..=self.word.len()].iter_mut().enumerate() {
            // At most 24.
            *distance = at as u8;
        }
        Rows {
            now,
            before: [u8::MAX; LETTERS + 1],
            last: 0,
            is_begun: false,
            is_lost: false,
        }
    }

    fn is_match(&self, rows: &Rows) -> bool {
        !rows.is_lost && rows.is_begun && self.best(rows) <= self.edits
    }

    fn can_match(&self, rows: &Rows) -> bool {
        let mut now = rows.now[..=self.word.len()].iter();
        !rows.is_lost && now.any(|distance| *distance <= self.edits)
    }

    fn accept(&self, rows: &Rows, byte: u8) -> Rows {
        let is_lost = !byte.is_ascii_lowercase() || (!rows.is_begun && byte != self.word[0]);
        let mut now = [u8::MAX; LETTERS + 1];
        now[0] = rows.now[0].saturating_add(1);
        for at in 0..self.word.len() {
            let changed = rows.now[at].saturating_add(if self.is_same(at, byte) {
                0
            } else {
                self.wrong
            });
            let longer = rows.now[at + 1].saturating_add(1);
            let shorter = now[at].saturating_add(1);
            let mut best = changed.min(longer).min(shorter);
            if at > 0 && self.word[at] == rows.last && self.word[at - 1] == byte {
                best = best.min(rows.before[at - 1].saturating_add(1));
            }
            now[at + 1] = best;
        }
        Rows {
            now,
            before: rows.now,
            last: byte,
            is_begun: true,
            is_lost: rows.is_lost || is_lost,
        }
    }
}

/// The distance of two words, letter by letter; `None` where one has other characters than small
/// ASCII letters, or they are farther apart than `edits`.
#[must_use]
pub fn distance(word: &str, other: &str, edits: u8) -> Option<u8> {
    Near::new(word, edits)?.to_the_end().distance(other)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn stems_of_what_was_meant_are_near() {
        for (word, stem) in [
            ("custommer", "custom"),
            ("custmer", "custom"),
            ("adress", "address"),
            ("recieve", "receiv"),
            ("goverment", "govern"),
            ("contry", "countri"),
            ("tabel", "tabl"),
            ("lattitude", "latitud"),
        ] {
            let edits = if word.len() < 8 { 1 } else { 2 };
            let near = Near::new(word, edits).unwrap();
            assert!(near.distance(stem).is_some(), "{word} {stem}");
        }
        let near = Near::new("custommer", 2).unwrap();
        for far in ["mustard", "cus", "cus2om", "accustom", ""] {
            assert_eq!(near.distance(far), None, "{far}");
        }
        assert!(Near::new("list", 1).is_none());
        let spend = Near::new("spend", 1).unwrap();
        assert!(spend.distance("speed").is_some());
        let spend = spend.without_wrong_letters();
        assert_eq!(spend.distance("speed"), None);
        assert_eq!(spend.distance("spned"), Some(1));
        assert_eq!(spend.distance("spends"), Some(1));
        assert!(Near::new("A17x", 1).is_none());
    }

    #[test]
    fn swapped_letters_are_one_edit() {
        assert_eq!(distance("recieve", "receive", 2), Some(1));
        assert_eq!(distance("custommer", "customer", 2), Some(1));
        assert_eq!(distance("kessler", "keller", 1), None);
        assert_eq!(distance("table", "table", 1), Some(0));
    }

    /// The table by the book.
    fn slow(a: &[u8], b: &[u8]) -> u8 {
        let mut table = vec![vec![0u8; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                table[i][j] = if i == 0 || j == 0 {
                    (i + j) as u8
                } else {
                    let changed = table[i - 1][j - 1] + u8::from(a[i - 1] != b[j - 1]);
                    let mut best = changed.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
                    if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                        best = best.min(table[i - 2][j - 2] + 1);
                    }
                    best
                };
            }
        }
        table[a.len()][b.len()]
    }

    proptest::proptest! {
        #[test]
        fn the_distance_is_that_of_the_table(word in "a[abc]{4,7}", other in "a[abc]{0,8}", edits in 0u8..4) {
            let expected = Some(slow(word.as_bytes(), other.as_bytes())).filter(|it| *it <= edits);
            proptest::prop_assert_eq!(distance(&word, &other, edits), expected);
            // No branch is left that leads to a term which is near.
            let near = Near::new(&word, edits).unwrap().to_the_end();
            if expected.is_some() {
                let mut rows = near.start();
                for byte in other.bytes() {
                    rows = near.accept(&rows, byte);
                    proptest::prop_assert!(near.can_match(&rows));
                }
            }
        }
    }
}
