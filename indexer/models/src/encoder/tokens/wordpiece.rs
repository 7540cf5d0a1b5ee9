//! WordPiece as BERT has it, fast where text is plain ASCII.
//!
//! A table's text is counted when blocks are packed, counted again when batches are, and read once
//! more by the model, so this is worth being quick about. The steps are those of BERT's original
//! `tokenization.py`: drop control characters, lower-case, cut at white space and around each
//! punctuation mark, then take the longest piece of the vocabulary from each word's front, and so
//! on with the rest. White space separates the work exactly, so each stretch without any goes its
//! own way: ASCII ones through the loop here, others (accents, CJK…) through the `tokenizers`
//! library, which is also what a property test compares all this with.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;

use serde::Deserialize;
use serde_json::Value;

use super::super::misfit::Misfit;

/// Words of more characters are unknown as a whole.
const LONGEST_WORD: usize = 100;
/// What a piece that continues a word begins with in the vocabulary.
const CONTINUES: &str = "##";

/// The pieces words are made of.
pub(super) struct WordPiece {
    begins: HashMap<Box<[u8]>, u32>,
    continues: HashMap<Box<[u8]>, u32>,
    /// The longest piece, in bytes.
    longest: usize,
    lowercases: bool,
    unknown: u32,
    pub start: u32,
    pub end: u32,
}

/// The part of `tokenizer.json` that is needed here.
#[derive(Deserialize)]
struct TokenizerFile<'a> {
    #[serde(borrow)]
    model: Model<'a>,
    normalizer: Option<Value>,
    pre_tokenizer: Option<Value>,
    post_processor: Option<Value>,
    #[serde(default)]
    added_tokens: Vec<Added>,
}

#[derive(Deserialize)]
struct Model<'a> {
    /// Missing in files of old versions of the library.
    #[serde(rename = "type")]
    kind: Option<String>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    max_input_chars_per_word: Option<usize>,
    /// A list in other models' files.
    #[serde(borrow, default, deserialize_with = "pieces")]
    vocab: HashMap<Cow<'a, str>, u32>,
}

#[derive(Deserialize)]
struct Added {
    special: bool,
}

/// A vocabulary as WordPiece has it; none of what other models have.
fn pieces<'de: 'a, 'a, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<HashMap<Cow<'a, str>, u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Vocabulary<'a> {
        Pieces(#[serde(borrow)] HashMap<Cow<'a, str>, u32>),
        Other(serde::de::IgnoredAny),
    }
    Ok(match Vocabulary::deserialize(deserializer)? {
        Vocabulary::Pieces(pieces) => pieces,
        Vocabulary::Other(_) => HashMap::new(),
    })
}

impl TokenizerFile<'_> {
    /// Whether ASCII text is read as by BERT's own tokenizer, and if so, whether letters are made
    /// small.
    fn is_berts(&self) -> Option<bool> {
        let kind = |part: &Option<Value>| Some(part.as_ref()?.get("type")?.as_str()?.to_owned());
        let model = &self.model;
        let is_plain = matches!(model.kind.as_deref(), Some("WordPiece"))
            && model.unk_token.as_deref() == Some("[UNK]")
            && model.continuing_subword_prefix.as_deref() == Some(CONTINUES)
            && model.max_input_chars_per_word == Some(LONGEST_WORD)
            && kind(&self.pre_tokenizer).as_deref() == Some("BertPreTokenizer")
            && kind(&self.normalizer).as_deref() == Some("BertNormalizer")
            // Others are looked for in the text before it is cut.
            && self.added_tokens.iter().all(|token| token.special)
            && self.puts_around();
        let normalizer = self.normalizer.as_ref()?;
        let cleans = normalizer.get("clean_text")?.as_bool()?;
        let lowercases = normalizer.get("lowercase")?.as_bool()?;
        (is_plain && cleans).then_some(lowercases)
    }

    /// Whether `[CLS]` is put before a text and `[SEP]` after it, and nothing else.
    fn puts_around(&self) -> bool {
        let Some(post) = &self.post_processor else {
            return false;
        };
        let named = |name: &str, token: &str| post[name][0].as_str() == Some(token);
        match post["type"].as_str() {
            Some("BertProcessing") => named("cls", "[CLS]") && named("sep", "[SEP]"),
            Some("TemplateProcessing") => {
                let steps = post["single"].as_array().map_or(&[][..], Vec::as_slice);
                let special = |step: &Value| step["SpecialToken"]["id"].as_str() == Some("[CLS]");
                let last = |step: &Value| step["SpecialToken"]["id"].as_str() == Some("[SEP]");
                match steps {
                    [start, text, end] => {
                        special(start) && last(end) && text["Sequence"]["id"].as_str() == Some("A")
                    }
                    _ => false,
                }
            }
            _ => false,
        }
    }
}

impl WordPiece {
    /// Reads the JSON of a `tokenizer.json`; `None` where it is not BERT's kind, and the library
    /// has to do it.
    pub fn parse(json: &[u8], vocabulary: usize) -> Result<Option<Self>, Misfit> {
        let file: TokenizerFile<'_> = serde_json::from_slice(json)?;
        let Some(lowercases) = file.is_berts() else {
            return Ok(None);
        };
        let vocab = file.model.vocab;
        // The numbers are row numbers of the word matrix.
        if let Some((token, id)) = vocab.iter().find(|&(_, &id)| id as usize >= vocabulary) {
            return Err(super::beyond_rows(token, *id, vocabulary));
        }
        let special = |name: &str| vocab.get(name).copied();
        let (Some(unknown), Some(start), Some(end)) =
            (special("[UNK]"), special("[CLS]"), special("[SEP]"))
        else {
            return Ok(None);
        };
        let longest = vocab.keys().map(|token| token.len()).max().unwrap_or(0);
        let (mut begins, mut continues) = (HashMap::with_capacity(vocab.len()), HashMap::new());
        for (token, &id) in &vocab {
            match token.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => continues.insert(rest.as_bytes().into(), id),
                _ => begins.insert(token.as_bytes().into(), id),
            };
        }
        Ok(Some(Self {
            begins,
            continues,
            longest,
            lowercases,
            unknown,
            start,
            end,
        }))
    }

    /// The tokens of ASCII text without white space.
    pub fn ascii(
        &self,
        text: &[u8],
        visit: &mut impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut word = [0; LONGEST_WORD];
        let mut length = 0;
        for &byte in text {
            if byte.is_ascii_control() {
                continue;
            }
            if byte.is_ascii_punctuation() {
                self.word(&word, length, visit)?;
                self.word(&[byte], 1, visit)?;
                length = 0;
                continue;
            }
            if let Some(place) = word.get_mut(length) {
                *place = match self.lowercases {
                    true => byte.to_ascii_lowercase(),
                    false => byte,
                };
            }
            length += 1;
        }
        self.word(&word, length, visit)
    }

    /// The tokens of one word of `length` bytes, of which `word` holds as many as fit.
    fn word(
        &self,
        word: &[u8],
        length: usize,
        visit: &mut impl FnMut(u32) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(mut rest) = word.get(..length) else {
            return visit(self.unknown);
        };
        let mut pieces = [0; LONGEST_WORD];
        let mut count = 0;
        while !rest.is_empty() {
            let table = if count == 0 {
                &self.begins
            } else {
                &self.continues
            };
            let longest = rest.len().min(self.longest);
            let piece = (1..=longest)
                .rev()
                .find_map(|length| Some((*table.get(&rest[..length])?, length)));
            let Some((id, length)) = piece else {
                return visit(self.unknown);
            };
            pieces[count] = id;
            count += 1;
            rest = &rest[length..];
        }
        pieces[..count].iter().try_for_each(|&id| visit(id))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use tokenizers::Tokenizer;

    use super::super::{TextTokens, Way, open};
    use crate::{ALL_MINILM, ModelStore};

    const WINDOW: usize = 256;

    static BOTH: LazyLock<(TextTokens, Tokenizer)> = LazyLock::new(|| {
        let files = ModelStore::from_env().pull(ALL_MINILM, &|_| {}).unwrap();
        let file = files.separate_tokenizer().unwrap();
        let ours = TextTokens::load(file, "test", 30522, WINDOW).unwrap();
        assert!(
            matches!(ours.way, Way::WordPiece { .. }),
            "not the fast way"
        );
        let json = std::fs::read(file).unwrap();
        (ours, open(file, &json).unwrap())
    });

    fn check(text: &str) {
        let (ours, library) = &*BOTH;
        let right = library.encode_fast(text, true).unwrap().get_ids().to_vec();
        assert_eq!(ours.count(text), right.len(), "{text:?}");
        let mut cut = right.clone();
        if cut.len() > WINDOW {
            cut.truncate(WINDOW - 1);
            cut.push(right[right.len() - 1]);
        }
        assert_eq!(ours.window(text).unwrap(), cut, "{text:?}");
    }

    #[test]
    fn odd_texts_are_cut_as_the_library_cuts_them() {
        for text in [
            "",
            "   ",
            "a\0b\u{b}c\u{c}d\u{7f}e",
            "[CLS] x [SEP] [MASK] ##ing # ##",
            "song_name|SongName|ORDER-ID's \"x\"",
            "naïve café\u{301} e\u{301} 数据 湖 Ωμέγα \u{200b}x\u{a0}y\u{3000}z\u{85}w",
            "a\u{301} \u{301}b ½ ﬁ İ ß \u{fffd} 🦆",
        ] {
            check(text);
        }
        for length in [99, 100, 101, 5000] {
            check(&"x".repeat(length));
            check(&format!("{}!{}", "x".repeat(length), "é".repeat(length)));
        }
        check(&"unbelievable antidisestablishmentarianism ".repeat(200));
    }

    proptest! {
        #[test]
        fn any_text_is_cut_as_the_library_cuts_it(
            text in prop_oneof![
                "[ -~\\t\\n\\r\\x00-\\x1f]{0,80}",
                "([a-zA-Z]{1,12}[ _.,|:-]{0,2}){0,40}",
                "\\PC{0,60}",
                "([a-zé0-9ßñ数]{1,6}[ \\u{301}\\u{a0}'-]?){0,40}",
            ]
        ) {
            check(&text);
        }
    }
}
