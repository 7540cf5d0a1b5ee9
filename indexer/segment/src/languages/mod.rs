//! Terms of other languages than English, beside those of the analyzer.
//!
//! The analyzer stems English. A text in another language has, beside the terms that it has anyway,
//! *marked* terms: `~`, the language's code, `~` and the stem that Snowball makes of a word
//! (`~de~kund`). No word has a `~`, so nobody takes one for the other, and a field's length counts
//! words, not marked terms. A word is stemmed as it is written and without its decorations, and has
//! both stems where they differ: column names are often written without (`commandes_livrees`).
//!
//! Letters of Greek, Russian, Arabic and Tamil say themselves which stemmer is theirs. The language
//! of a text in Latin letters is known by lists of words (`words.txt`, `detect.rs`). Scripts that
//! are written without spaces, and Korean, whose words end in particles, have pairs of neighbouring
//! letters (`~東京`): [`pairs_into`].
//!
//! All of it is a pure function of a table's texts.

mod detect;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use limn_profile::value_key::fold;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

pub(crate) use detect::TableLanguages;

use crate::analyzer::words_into;

/// What marked terms begin with, and words never.
pub const MARK: char = '~';

/// Shorter words, in letters, have no stem of another language.
const SHORTEST: usize = 3;

/// Function words and words of tables, by language.
const LISTS: &str = include_str!("words.txt");

/// A language other than English that has a stemmer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)] // They are called as they are.
pub enum Language {
    Arabic,
    Danish,
    Dutch,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
}

impl Language {
    /// All of them.
    pub const ALL: [Language; 17] = [
        Language::Arabic,
        Language::Danish,
        Language::Dutch,
        Language::Finnish,
        Language::French,
        Language::German,
        Language::Greek,
        Language::Hungarian,
        Language::Italian,
        Language::Norwegian,
        Language::Portuguese,
        Language::Romanian,
        Language::Russian,
        Language::Spanish,
        Language::Swedish,
        Language::Tamil,
        Language::Turkish,
    ];

    /// Its code by ISO 639-1.
    #[must_use]
    pub fn code(self) -> &'static str {
        self.described().0
    }

    fn described(self) -> (&'static str, Algorithm) {
        match self {
            Language::Arabic => ("ar", Algorithm::Arabic),
            Language::Danish => ("da", Algorithm::Danish),
            Language::Dutch => ("nl", Algorithm::Dutch),
            Language::Finnish => ("fi", Algorithm::Finnish),
            Language::French => ("fr", Algorithm::French),
            Language::German => ("de", Algorithm::German),
            Language::Greek => ("el", Algorithm::Greek),
            Language::Hungarian => ("hu", Algorithm::Hungarian),
            Language::Italian => ("it", Algorithm::Italian),
            Language::Norwegian => ("no", Algorithm::Norwegian),
            Language::Portuguese => ("pt", Algorithm::Portuguese),
            Language::Romanian => ("ro", Algorithm::Romanian),
            Language::Russian => ("ru", Algorithm::Russian),
            Language::Spanish => ("es", Algorithm::Spanish),
            Language::Swedish => ("sv", Algorithm::Swedish),
            Language::Tamil => ("ta", Algorithm::Tamil),
            Language::Turkish => ("tr", Algorithm::Turkish),
        }
    }

    /// The language whose stemmer reads a letter's script; `None` for Latin letters and for scripts
    /// without a stemmer.
    fn of_letter(c: char) -> Option<Language> {
        match c {
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Language::Greek),
            '\u{400}'..='\u{52f}' => Some(Language::Russian),
            '\u{600}'..='\u{6ff}' => Some(Language::Arabic),
            '\u{b80}'..='\u{bff}' => Some(Language::Tamil),
            _ => None,
        }
    }

    /// Whether texts in this language are known by their letters alone.
    fn has_script(self) -> bool {
        let own = [
            Language::Greek,
            Language::Russian,
            Language::Arabic,
            Language::Tamil,
        ];
        own.contains(&self)
    }

    /// Whether a word, in small letters and folded, is one of its function words: of these nothing
    /// is to be searched.
    #[must_use]
    pub fn is_function_word(self, word: &str) -> bool {
        let words = &LISTED.function_words[self as usize];
        words.contains(word)
    }
}

/// Whether a word, in small letters and folded, is a function word of English.
#[must_use]
pub fn is_english_function_word(word: &str) -> bool {
    LISTED.function_words[ENGLISH].contains(word)
}

/// The lists of words, read once.
struct Listed {
    function_words: Vec<HashSet<String>>,
    /// Of each word of Latin letters the languages that have it, a bit each: English is the last.
    languages: HashMap<String, u32>,
}

/// The bit of English.
const ENGLISH: usize = Language::ALL.len();

/// The number of a language that the lists name; none of another code, which a test finds.
fn number_of(code: &str) -> Option<usize> {
    let known = Language::ALL.iter().position(|it| it.code() == code);
    known.or((code == "en").then_some(ENGLISH))
}

static LISTED: LazyLock<Listed> = LazyLock::new(|| {
    let mut listed = Listed {
        function_words: vec![HashSet::new(); ENGLISH + 1],
        languages: HashMap::new(),
    };
    for line in LISTS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let head = words.next().unwrap_or_default();
        let code = head.trim_end_matches(['.', ':']);
        let Some(language) = number_of(code) else {
            continue;
        };
        for word in words {
            let word = fold(word).into_owned();
            if head.ends_with('.') {
                listed.function_words[language].insert(word.clone());
            }
            *listed.languages.entry(word).or_default() |= 1 << language;
        }
    }
    listed
});

/// The stemmers, with a cache: direct-mapped, so bounded.
struct Stems {
    stemmers: Vec<Stemmer>,
    slots: Vec<(Option<Language>, String, String)>,
}

const STEM_SLOTS: usize = 1 << 12;

thread_local! {
    static STEMS: RefCell<Option<Stems>> = const { RefCell::new(None) };
}

impl Stems {
    fn new() -> Stems {
        let stemmers = Language::ALL.iter();
        Stems {
            stemmers: stemmers
                .map(|language| Stemmer::create(language.described().1))
                .collect(),
            slots: vec![(None, String::new(), String::new()); STEM_SLOTS],
        }
    }

    /// The marked term of a word in small letters.
    fn marked(&mut self, language: Language, word: &str) -> &str {
        let hash = xxhash_rust::xxh3::xxh3_64_with_seed(word.as_bytes(), language as u64);
        let slot = &mut self.slots[(hash as usize) & (STEM_SLOTS - 1)];
        if slot.0 != Some(language) || slot.1 != word {
            let stem = self.stemmers[language as usize].stem(word);
            let stem = fold(&stem).to_lowercase();
            // A stemmer may take all of a word for its ending: Greek "ηκααἀ".
            let stem = match stem.is_empty() {
                true => fold(word).to_lowercase(),
                false => stem,
            };
            *slot = (
                Some(language),
                word.to_owned(),
                format!("{MARK}{}{MARK}{stem}", language.code()),
            );
        }
        &slot.2
    }
}

/// A word in its two spellings, in small letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spelled {
    /// As the analyzer reads it: Latin letters without their decorations.
    pub folded: String,
    /// As it is written.
    pub written: String,
}

/// Calls `visit` with each word of a text in its two spellings; words that are cut differently
/// without their decorations are spelled as they are folded.
pub fn spelled(text: &str, visit: &mut impl FnMut(&str, &str)) {
    for token in text.split(|c: char| c.is_ascii_whitespace()) {
        if token.is_ascii() {
            words_into(token, &mut |word| visit(word, word));
            continue;
        }
        let (mut folded, mut written) = (Vec::new(), Vec::new());
        words_into(&fold(token), &mut |word| folded.push(word.to_owned()));
        let composed: String = token.nfkc().collect();
        words_into(&composed, &mut |word| written.push(word.to_owned()));
        let is_same = folded.len() == written.len();
        for (at, word) in folded.iter().enumerate() {
            visit(word, if is_same { &written[at] } else { word });
        }
    }
}

/// Calls `visit` with the marked terms of a word in a language, one or two: none of a short word, a
/// number, a function word or one in letters of another script.
pub fn marked(language: Language, folded: &str, written: &str, visit: &mut impl FnMut(&str)) {
    let is_short = folded.chars().nth(SHORTEST - 1).is_none();
    let own = folded.chars().next().and_then(Language::of_letter);
    let is_other = match language.has_script() {
        true => own != Some(language),
        false => !folded.bytes().all(|byte| byte.is_ascii_lowercase()),
    };
    if is_short || is_other || language.is_function_word(folded) {
        return;
    }
    let mut stems = STEMS.take().unwrap_or_else(Stems::new);
    let first = stems.marked(language, written).to_owned();
    visit(&first);
    if folded != written {
        let second = stems.marked(language, folded);
        if second != first {
            visit(second);
        }
    }
    STEMS.set(Some(stems));
}

/// Calls `visit` with each language that has a script of its own and the marked terms that a text
/// has of it; and with those of `language`, if the text is in one.
pub(crate) fn marked_into(
    text: &str,
    language: Option<Language>,
    visit: &mut impl FnMut(Language, &str),
) {
    if text.is_ascii() && language.is_none() {
        return;
    }
    spelled(text, &mut |folded, written| {
        let own = folded.chars().next().and_then(Language::of_letter);
        if let Some(language) = own.or(language) {
            marked(language, folded, written, &mut |term| visit(language, term));
        }
    });
}

/// Whether a letter is of a script that is written without spaces, or of Korean.
fn is_paired(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3134f}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{e00}'..='\u{e4f}' | '\u{e80}'..='\u{ecf}'
        | '\u{1000}'..='\u{103f}' | '\u{1780}'..='\u{17d3}')
}

/// Calls `visit` with each two neighbouring letters of scripts that are written without spaces, and
/// of Korean, marked: `~東京`.
pub fn pairs_into(text: &str, visit: &mut impl FnMut(&str)) {
    if text.is_ascii() {
        return;
    }
    let mut before = None;
    let mut pair = String::new();
    for c in text.nfkc() {
        if let Some(before) = before.filter(|_| is_paired(c)) {
            pair.clear();
            pair.extend([MARK, before, c]);
            visit(&pair);
        }
        before = is_paired(c).then_some(c);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn terms(text: &str, language: Option<Language>) -> Vec<String> {
        let mut terms = Vec::new();
        marked_into(text, language, &mut |_, term| terms.push(term.to_owned()));
        terms
    }

    fn pairs(text: &str) -> Vec<String> {
        let mut pairs = Vec::new();
        pairs_into(text, &mut |pair| pairs.push(pair.to_owned()));
        pairs
    }

    #[test]
    fn inflections_meet_with_and_without_decorations() {
        let german = |text| terms(text, Some(Language::German));
        assert_eq!(german("Kunde"), german("Kunden"));
        assert_eq!(german("Bücher"), german("buch"));
        assert_eq!(german("der Tag 2024 AB"), ["~de~tag"]);
        let french = terms("commandes_livrees", Some(Language::French));
        let found = terms("livrées", Some(Language::French));
        assert!(found.iter().any(|term| french.contains(term)), "{found:?}");
    }

    #[test]
    fn letters_say_their_language() {
        assert_eq!(terms("Клиенты", None), terms("клиентов", None));
        assert_eq!(terms("customers in Zürich", None), [""; 0]);
        assert!(terms("πελάτες", None)[0].starts_with("~el~"));
    }

    #[test]
    fn neighbours_are_pairs() {
        assert_eq!(pairs("東京都, 京"), ["~東京", "~京都"]);
        assert_eq!(pairs("고객들 A東B"), ["~고객", "~객들"]);
        assert_eq!(pairs("Tokyo Zürich"), [""; 0]);
    }

    #[test]
    fn all_lists_are_of_known_languages() {
        for line in LISTS.lines().filter(|line| !line.starts_with('#')) {
            let head = line.split_whitespace().next().unwrap_or("en");
            let code = head.trim_end_matches(['.', ':']);
            assert!(number_of(code).is_some(), "{line}");
        }
    }

    #[test]
    fn short_words_that_english_has_are_of_no_other_language() {
        for (word, languages) in &LISTED.languages {
            let is_both = languages >> ENGLISH & 1 == 1 && languages.count_ones() > 1;
            // Short names of things that several languages share say nothing.
            assert!(!is_both || word.len() > 2, "{word}");
        }
    }

    #[test]
    fn a_word_that_is_all_ending_is_its_own_stem() {
        assert_eq!(terms("ΗΚΑΑἀ", Some(Language::Greek)), ["~el~ηκα"]);
    }

    /// A language, and words in its letters: in large and small ones, with marks and decorations.
    fn in_own_letters() -> impl Strategy<Value = (Language, Vec<String>)> {
        (0..Language::ALL.len()).prop_flat_map(|at| {
            let language = Language::ALL[at];
            let word = match language {
                Language::Greek => "[Α-Ωα-ωάέήίόύώϊϋΐΰ\u{1f00}-\u{1f07}]{1,12}(ς|ων|ους|ατα)?",
                Language::Russian => "[А-Яа-яёЁ\u{450}-\u{45f}]{1,12}(ами|ов|ость|ться)?",
                Language::Arabic => {
                    "(ال|و|ب)?[\u{621}-\u{64a}\u{64b}-\u{652}\u{670}-\u{6d3}]{1,12}(ات|ين|ها)?"
                }
                Language::Tamil => {
                    "[\u{b85}-\u{b95}\u{ba8}-\u{bb9}\u{bbe}-\u{bc8}\u{bcd}]{1,12}(கள்|இல்)?"
                }
                Language::Turkish => "[a-zA-ZçğıöşüÇĞİÖŞÜ]{1,12}(lar|ların|'da)?",
                _ => "[a-zA-ZäöüßåæøéèêàçñõãâîșțőűÄÉ]{1,12}(en|ene|es|ção|ités|jaan)?",
            };
            (Just(language), proptest::collection::vec(word, 1..6))
        })
    }

    proptest::proptest! {
        #[test]
        fn words_in_a_languages_own_letters_have_its_marked_stems((language, words) in in_own_letters()) {
            let (mark, mut of_each) = (format!("{MARK}{}{MARK}", language.code()), Vec::new());
            for text in &words {
                let found = terms(text, Some(language));
                let mut expected = 0;
                spelled(text, &mut |folded, _| {
                    let own = folded.chars().next().and_then(Language::of_letter);
                    let is_own = match language.has_script() {
                        true => own == Some(language),
                        false => folded.bytes().all(|byte| byte.is_ascii_lowercase()),
                    };
                    let is_long = folded.chars().count() >= SHORTEST;
                    expected += usize::from(is_own && is_long && !language.is_function_word(folded));
                });
                prop_assert!((expected..=2 * expected).contains(&found.len()), "{text}: {found:?}");
                for term in &found {
                    let stem = term.strip_prefix(&mark).unwrap_or_default();
                    prop_assert!(!stem.is_empty(), "{text}: {found:?}");
                    prop_assert_eq!(stem, stem.to_lowercase());
                    prop_assert!(!stem.contains(char::is_whitespace) && !stem.contains(MARK));
                }
                of_each.extend(found);
            }
            // Each word by itself, whatever was stemmed before it.
            prop_assert_eq!(terms(&words.join(" "), Some(language)), of_each);
        }

        #[test]
        fn english_letters_have_no_marked_term(text in "[ -~]{0,80}") {
            proptest::prop_assert_eq!(terms(&text, None), Vec::<String>::new());
            proptest::prop_assert_eq!(pairs(&text), Vec::<String>::new());
        }

        #[test]
        fn marked_terms_are_no_words_and_the_same_each_time(text in "\\PC{0,60}", at in 0usize..17) {
            let language = Some(Language::ALL[at]);
            let found = terms(&text, language);
            proptest::prop_assert_eq!(&found, &terms(&text, language));
            for term in found.iter().chain(&pairs(&text)) {
                proptest::prop_assert!(term.starts_with(MARK) && !term.contains(char::is_whitespace));
                proptest::prop_assert!(!crate::analyzer::analyze(&text).contains(term));
            }
        }
    }
}
