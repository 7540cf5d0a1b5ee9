//! Which language a table's texts are in, by words that only such texts have.
//!
//! Three texts are looked at: names, contexts and values (rows and cells), of each the first
//! [`BYTES`]. A text is *clearly* in the language most of whose listed words it has: two of them at
//! least and a fifth of its distinct words where it is of names, four and a twelfth elsewhere, and
//! more than it has English ones. Names and contexts that are not clear are in the language of
//! both: that of the first that is clearly in another one than English, else that of both together.
//! Values say nothing of it: who may not see values would see by it what they are in. Values that
//! are not clear are in the language of the other two, else that of all three together.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::{ENGLISH, LISTED, Language};
use crate::analyzer::words_into;
use crate::table::{Block, Field};

/// Of each text so many bytes are looked at, about.
const BYTES: usize = 1 << 14;

/// What a text must have of a language.
struct Least {
    /// Distinct listed words.
    words: usize,
    /// Of the distinct words every how manieth is a listed one.
    one_in: usize,
}

const OF_NAMES: Least = Least {
    words: 2,
    one_in: 5,
};
const OF_TEXTS: Least = Least {
    words: 4,
    one_in: 12,
};

/// The distinct words of a text with the languages they are of, and how many are of each language;
/// English is the last.
#[derive(Default)]
struct Counted {
    seen: HashMap<u64, u32>,
    listed: [usize; ENGLISH + 1],
    bytes: usize,
}

/// What a text is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Decided {
    English,
    Other(Language),
    Unclear,
}

impl Counted {
    fn add(&mut self, text: &str) {
        let mut end = text.len().min(BYTES.saturating_sub(self.bytes));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.bytes += end;
        let known: &HashMap<String, u32> = &LISTED.languages;
        let text = limn_profile::value_key::fold(&text[..end]);
        words_into(&text, &mut |word| {
            let is_word = word.len() > 1 && !word.as_bytes()[0].is_ascii_digit();
            if is_word {
                let languages = known.get(word).copied().unwrap_or(0);
                self.see(xxh3_64(word.as_bytes()), languages);
            }
        });
    }

    /// Counts a word, unless it was seen before.
    fn see(&mut self, hash: u64, languages: u32) {
        if self.seen.insert(hash, languages).is_none() {
            for (at, count) in self.listed.iter_mut().enumerate() {
                *count += (languages >> at & 1) as usize;
            }
        }
    }

    fn join(&mut self, other: &Counted) {
        for (hash, languages) in &other.seen {
            self.see(*hash, *languages);
        }
    }

    fn decided(&self, least: &Least) -> Decided {
        let latin = Language::ALL.iter().filter(|it| !it.has_script());
        let counts = latin.map(|language| (self.listed[*language as usize], *language));
        // Of equal ones the first.
        let best = counts.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let (count, language) = best.unwrap_or((0, Language::German));
        let english = self.listed[ENGLISH];
        let is_enough =
            |count: usize| count >= least.words && count * least.one_in >= self.seen.len();
        if count > english && is_enough(count) {
            Decided::Other(language)
        } else if is_enough(english) {
            Decided::English
        } else {
            Decided::Unclear
        }
    }
}

/// The languages of a table's fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TableLanguages {
    names: Option<Language>,
    contexts: Option<Language>,
    values: Option<Language>,
}

impl TableLanguages {
    /// Those of the table that has these blocks.
    pub(crate) fn of(blocks: &[Block]) -> TableLanguages {
        let [mut names, mut contexts, mut values] = <[Counted; 3]>::default();
        for (field, text) in blocks.iter().flat_map(|block| &block.fields) {
            match field {
                Field::Names => names.add(text),
                Field::Contexts => contexts.add(text),
                Field::Rows | Field::Cells => values.add(text),
            }
        }
        let decided = [
            names.decided(&OF_NAMES),
            contexts.decided(&OF_TEXTS),
            values.decided(&OF_TEXTS),
        ];
        let other = |decided: &Decided| match decided {
            Decided::Other(language) => Some(*language),
            Decided::English | Decided::Unclear => None,
        };
        let clear = decided[..2].iter().find_map(other);
        names.join(&contexts);
        let of_both = clear.or_else(|| other(&names.decided(&OF_TEXTS)));
        let of_values = of_both.or_else(|| {
            names.join(&values);
            other(&names.decided(&OF_TEXTS))
        });
        let of_field = |decided: &Decided, of_table| match decided {
            Decided::English => None,
            Decided::Other(language) => Some(*language),
            Decided::Unclear => of_table,
        };
        TableLanguages {
            names: of_field(&decided[0], of_both),
            contexts: of_field(&decided[1], of_both),
            values: of_field(&decided[2], of_values),
        }
    }

    /// That of a field; `None` for English, and where it is not clear.
    pub(crate) fn of_field(&self, field: Field) -> Option<Language> {
        match field {
            Field::Names => self.names,
            Field::Contexts => self.contexts,
            Field::Rows | Field::Cells => self.values,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::BlockKind;

    fn of(texts: &[(Field, &str)]) -> TableLanguages {
        let fields = texts
            .iter()
            .map(|(field, text)| (*field, (*text).to_owned()));
        TableLanguages::of(&[Block {
            kind: BlockKind::Schema,
            text: String::new(),
            fields: fields.collect(),
            vector: None,
        }])
    }

    fn names(names: &str) -> Option<Language> {
        of(&[(Field::Names, names)]).names
    }

    #[test]
    fn column_names_say_their_language() {
        assert_eq!(
            names("kunden\nkunde_id\nVorname\nPLZ\nOrt"),
            Some(Language::German)
        );
        assert_eq!(
            names("commandes\nnumero\nmontant\ndate"),
            Some(Language::French)
        );
        assert_eq!(
            names("pedidos\nfecha\nimporte\ncliente"),
            Some(Language::Spanish)
        );
        assert_eq!(
            names("siparişler\nmüşteri_adı\ntutar"),
            Some(Language::Turkish)
        );
        assert_eq!(names("customers\ncustomer_id\nname\ncity\nphone"), None);
        assert_eq!(names("a\nb\nc"), None);
        assert_eq!(names("die_casting\ndie_id\npressure"), None);
    }

    #[test]
    fn a_word_that_several_texts_have_counts_once() {
        let two_of_eleven = "ort menge qa qb qc qd qe qf qg qh qi";
        assert_eq!(names(two_of_eleven), None);
        let both = of(&[
            (Field::Names, two_of_eleven),
            (Field::Contexts, "Ort Menge qj"),
        ]);
        assert_eq!(both.names, None);
    }

    #[test]
    fn what_is_unclear_is_in_the_tables_language_and_english_is_not() {
        let found = of(&[
            (Field::Names, "kunden\nvorname\nstrasse\nort"),
            (
                Field::Cells,
                "Meier Schulz Becker Zimmermann Aachen Ulm Rheine Jena offen",
            ),
            (
                Field::Contexts,
                "The customers of the shop with their address and city",
            ),
        ]);
        assert_eq!(
            (found.names, found.values),
            (Some(Language::German), Some(Language::German))
        );
        assert_eq!(found.contexts, None);
    }
}
