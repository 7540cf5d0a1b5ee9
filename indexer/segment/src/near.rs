//! Terms that are spelled nearly like a word: an automaton that walks a dictionary of terms.
//!
//! The distance is that of Damerau and Levenshtein, each place edited once (optimal string
//! alignment): letters that are wrong, missing, too many, or swapped with their neighbour. A state
//! is the last two rows of its table, so that whole branches of a dictionary are left out as soon
//! as no term in them can be near; of a row only what is near the table's diagonal, because the
//! rest is farther than any edits that are allowed. A walk copies a state at each letter.

use tantivy_fst::Automaton;

/// Letters of the longest word.
const LETTERS: usize = 24;
/// Letters of the shortest: fewer have too many neighbours.
const SHORTEST: usize = 5;
/// Edits that are allowed at most, and what of a row is so near the diagonal.
const EDITS: usize = 3;
const BAND: usize = 2 * EDITS + 1;
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

/// Distances of what was read to beginnings of the word, now and a letter before: those at
/// [`EDITS`] letters more or fewer than were read, and what is between.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    now: [u8; BAND],
    before: [u8; BAND],
    /// Letters that were read.
    read: u8,
    last: u8,
    is_lost: bool,
}

impl Rows {
    /// The distance to a beginning of so many letters.
    fn distance(&self, letters: usize) -> u8 {
        let place = (letters + EDITS).checked_sub(usize::from(self.read));
        let distance = place.and_then(|place| self.now.get(place));
        distance.copied().unwrap_or(u8::MAX)
    }
}

impl Near {
    /// `None` where the word is too short or too long, or has other characters than small ASCII
    /// letters, or where more than three edits are allowed.
    #[must_use]
    pub fn new(word: &str, edits: u8) -> Option<Near> {
        let is_word = word.bytes().all(|byte| byte.is_ascii_lowercase());
        let is_bounded = (SHORTEST..=LETTERS).contains(&word.len()) && usize::from(edits) <= EDITS;
        (is_word && is_bounded).then(|| Near {
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
        let distances = ends.map(|end| rows.distance(end));
        distances.min().unwrap_or(u8::MAX)
    }

    fn is_same(&self, at: usize, byte: u8) -> bool {
        let letter = self.word[at];
        letter == byte || (letter == b'y' && byte == b'i' && at + 2 >= self.word.len())
    }
}

impl Automaton for Near {
    type State = Rows;

    fn start(&self) -> Rows {
        let mut now = [u8::MAX; BAND];
        for (distance, place) in (0..).zip(EDITS..BAND) {
            now[place] = distance;
        }
        Rows {
            now,
            before: [u8::MAX; BAND],
            read: 0,
            last: 0,
            is_lost: false,
        }
    }

    fn is_match(&self, rows: &Rows) -> bool {
        !rows.is_lost && rows.read > 0 && self.best(rows) <= self.edits
    }

    fn can_match(&self, rows: &Rows) -> bool {
        // Beginnings that the word does not have are not near: see `accept`.
        !rows.is_lost && rows.now.iter().any(|distance| *distance <= self.edits)
    }

    fn accept(&self, rows: &Rows, byte: u8) -> Rows {
        let is_lost =
            rows.is_lost || !byte.is_ascii_lowercase() || (rows.read == 0 && byte != self.word[0]);
        // Nothing that is as long is near: no word has more than 24 letters.
        let read = rows.read.saturating_add(1);
        let mut now = [u8::MAX; BAND];
        for place in 0..BAND {
            let Some(letters) = (usize::from(read) + place).checked_sub(EDITS) else {
                continue;
            };
            if letters > self.word.len() {
                break;
            }
            let longer = rows
                .now
                .get(place + 1)
                .map_or(u8::MAX, |it| it.saturating_add(1));
            now[place] = longer;
            if letters == 0 {
                continue;
            }
            let wrong = if self.is_same(letters - 1, byte) {
                0
            } else {
                self.wrong
            };
            let changed = rows.now[place].saturating_add(wrong);
            let shorter = place
                .checked_sub(1)
                .map_or(u8::MAX, |it| now[it].saturating_add(1));
            let mut best = changed.min(longer).min(shorter);
            if letters > 1 && self.word[letters - 1] == rows.last && self.word[letters - 2] == byte
            {
                best = best.min(rows.before[place].saturating_add(1));
            }
            now[place] = best;
        }
        Rows {
            now,
            before: rows.now,
            read,
            last: byte,
            is_lost,
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
