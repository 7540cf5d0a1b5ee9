//! What a judge said of the tables of one question, to be used again.
//!
//! A verdict is about a text: it is kept by the hash of what the judge read of the table
//! ([`TableText`]). So it holds for as long as the table is described by these words, in any
//! snapshot and in any restricted searcher, and for another table of the very same text; and a
//! table whose text changed is judged anew. What the caller must keep apart are questions (to the
//! letter) and judges (model, prompt version, threshold).

use std::collections::HashMap;

use super::prompt::TableText;
use super::walk::Verdict;

/// Hash of what a judge reads of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextHash(pub u128);

impl TextHash {
    /// The hash (xxh3-128) of the parts, each after its length.
    #[must_use]
    pub fn of(text: &TableText) -> TextHash {
        let TableText {
            schema,
            rows,
            context,
        } = text;
        let (s, r, c) = (schema.len(), rows.len(), context.len());
        TextHash(limn_segment::TextHash::of(&format!("{s},{r},{c}:{schema}{rows}{context}")).0)
    }
}

/// The verdicts of one judge on one question, by the texts that were judged.
///
/// A node may keep them beside the question and give them to the next search that asks the same
/// ([`Searcher::search_knowing`](crate::Searcher::search_knowing)). Failures are not among them: a
/// table that a model failed on is asked about again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdicts {
    by_text: HashMap<TextHash, Verdict>,
    keeps_unknown: bool,
}

impl Verdicts {
    /// Nothing is known.
    #[must_use]
    pub fn new() -> Verdicts {
        Verdicts::default()
    }

    /// Nothing is known, and a table that a model fails on will not be asked about again: for
    /// measuring, where one question is one question at any k.
    pub(crate) fn of_one_measurement() -> Verdicts {
        Verdicts {
            keeps_unknown: true,
            ..Verdicts::default()
        }
    }

    /// The verdict on a text.
    #[must_use]
    pub fn get(&self, text: TextHash) -> Option<Verdict> {
        self.by_text.get(&text).copied()
    }

    /// Keeps a verdict; [`Verdict::Unknown`] is none.
    pub fn insert(&mut self, text: TextHash, verdict: Verdict) {
        if verdict != Verdict::Unknown || self.keeps_unknown {
            self.by_text.insert(text, verdict);
        }
    }

    /// All verdicts, in no particular order: what to store.
    pub fn iter(&self) -> impl Iterator<Item = (TextHash, Verdict)> {
        self.by_text.iter().map(|(text, verdict)| (*text, *verdict))
    }

    /// The number of verdicts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.by_text.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }
}

impl Extend<(TextHash, Verdict)> for Verdicts {
    fn extend<T: IntoIterator<Item = (TextHash, Verdict)>>(&mut self, verdicts: T) {
        for (text, verdict) in verdicts {
            self.insert(text, verdict);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_distinguishes_the_parts() {
        let text = |schema: &str, rows: &str, context: &str| TableText {
            schema: schema.into(),
            rows: rows.into(),
            context: context.into(),
        };
        let hashes = [
            text("ab", "", ""),
            text("a", "b", ""),
            text("", "ab", ""),
            text("", "", "ab"),
            text("a", "", "b"),
        ]
        .map(|text| TextHash::of(&text));
        for (at, hash) in hashes.iter().enumerate() {
            assert!(!hashes[at + 1..].contains(hash), "{at}");
        }
    }

    #[test]
    fn failures_are_not_kept() {
        let mut verdicts = Verdicts::new();
        verdicts.extend([
            (TextHash(1), Verdict::Stands),
            (TextHash(2), Verdict::Unknown),
        ]);
        assert_eq!((verdicts.len(), verdicts.is_empty()), (1, false));
        assert_eq!(verdicts.get(TextHash(1)), Some(Verdict::Stands));
        assert_eq!(verdicts.get(TextHash(2)), None);
    }
}
