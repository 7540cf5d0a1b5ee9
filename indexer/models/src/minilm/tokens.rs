//! Text to token numbers: WordPiece as BERT has it, fast where text is plain ASCII.
//!
//! A table's text is counted when blocks are packed, counted again when batches are, and read once
//! more by the model, so this is worth being quick about. The steps are those of BERT's original
//! `tokenization.py`: drop control characters, lower-case, cut at white space and around each
//! punctuation mark, then take the longest piece of the vocabulary from each word's front, and so
//! on with the rest. White space separates the work exactly, so each stretch without any goes its
//! own way: ASCII ones through the loop here, others (accents, CJK…) through the `tokenizers`
//! library, which is also what a property test compares all this with.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::Deserialize;
use tokenizers::Tokenizer;

use super::shape::{VOCABULARY, WINDOW};
use crate::ModelError;

/// Words of more characters are unknown as a whole.
const LONGEST_WORD: usize = 100;
/// What a piece that continues a word begins with in the vocabulary.
const CONTINUES: &str = "##";

/// The tokenizer of all-MiniLM-L6-v2.
///
/// What looks like a special token in a text (`[SEP]`) is read as plain text: a cell is data.
pub(crate) struct TextTokens {
    model: String,
    file: PathBuf,
    vocabulary: Vocabulary,
    /// For text beyond ASCII; loaded when there is some.
    library: OnceLock<Result<Tokenizer, ModelError>>,
}

/// The pieces words are made of.
struct Vocabulary {
    begins: HashMap<Box<[u8]>, u32>,
    continues: HashMap<Box<[u8]>, u32>,
    /// The longest piece, in bytes.
    longest: usize,
    unknown: u32,
    start: u32,
    end: u32,
}

/// The part of `tokenizer.json` that is needed here.
#[derive(Deserialize)]
struct TokenizerFile<'a> {
    #[serde(borrow)]
    model: WordPieceModel<'a>,
}

#[derive(Deserialize)]
struct WordPieceModel<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    vocab: HashMap<std::borrow::Cow<'a, str>, u32>,
}

impl TextTokens {
    /// Reads `tokenizer.json`; `model` is the name that errors carry.
    pub fn load(file: &Path, model: &str) -> Result<Self, ModelError> {
        let json = fs::read(file).map_err(|error| ModelError::Cache {
            action: "read",
            path: file.to_owned(),
            detail: error.to_string(),
        })?;
        let vocabulary = Vocabulary::parse(&json).map_err(|detail| invalid(file, detail))?;
        Ok(Self {
            model: model.to_owned(),
            file: file.to_owned(),
            vocabulary,
            library: OnceLock::new(),
        })
    }

    /// How many tokens the whole text has, the two special ones included.
    ///
    /// A text that the tokenizer refuses counts as longer than any window; embedding it reports
    /// why.
    pub fn count(&self, text: &str) -> usize {
        let mut count = 2;
        let outcome = self.pieces(text, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        if outcome.is_ok() { count } else { usize::MAX }
    }

    /// The token numbers the model reads: the text's first ones between the two special tokens.
    pub fn window(&self, text: &str) -> Result<Vec<u32>, ModelError> {
        let mut ids = vec![self.vocabulary.start];
        self.pieces(text, &mut |id| {
            ids.push(id);
            if ids.len() < WINDOW - 1 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        ids.push(self.vocabulary.end);
        Ok(ids)
    }

    /// Calls `visit` with each token of the text until it breaks.
    fn pieces(
        &self,
        text: &str,
        visit: &mut impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        for stretch in text.split([' ', '\t', '\n', '\r']) {
            let flow = if stretch.is_ascii() {
                self.vocabulary.ascii(stretch.as_bytes(), visit)
            } else {
                self.beyond_ascii(stretch)?
                    .into_iter()
                    .try_for_each(&mut *visit)
            };
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn beyond_ascii(&self, text: &str) -> Result<Vec<u32>, ModelError> {
        let library = self
            .library
            .get_or_init(|| library(&self.file))
            .as_ref()
            .map_err(ModelError::clone)?;
        let refused = |detail: String| ModelError::Tokenizer {
            model: self.model.clone(),
            detail,
        };
        let encoding = library
            .encode_fast(text, false)
            .map_err(|error| refused(error.to_string()))?;
        Ok(encoding.get_ids().to_vec())
    }
}

impl Vocabulary {
    fn parse(json: &[u8]) -> Result<Self, String> {
        let file: TokenizerFile<'_> =
            serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let vocab = file.model.vocab;
        if file.model.kind != "WordPiece" || vocab.len() != VOCABULARY {
            return Err(format!(
                "a {} of {} tokens, not a WordPiece of {VOCABULARY}",
                file.model.kind,
                vocab.len()
            ));
        }
        // The numbers are row numbers of the word matrix, which has `VOCABULARY` rows.
        if let Some((token, id)) = vocab.iter().find(|&(_, &id)| id as usize >= VOCABULARY) {
            return Err(format!(
                "token {token} has the number {id}, beyond the vocabulary"
            ));
        }
        let special = |name: &str| {
            vocab
                .get(name)
                .copied()
                .ok_or_else(|| format!("there is no token {name}"))
        };
        let (unknown, start, end) = (special("[UNK]")?, special("[CLS]")?, special("[SEP]")?);
        let longest = vocab.keys().map(|token| token.len()).max().unwrap_or(0);
        let (mut begins, mut continues) = (HashMap::with_capacity(VOCABULARY), HashMap::new());
        for (token, &id) in &vocab {
            match token.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => continues.insert(rest.as_bytes().into(), id),
                _ => begins.insert(token.as_bytes().into(), id),
            };
        }
        Ok(Self {
            begins,
            continues,
            longest,
            unknown,
            start,
            end,
        })
    }

    /// The tokens of ASCII text without white space.
    fn ascii(
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
                *place = byte.to_ascii_lowercase();
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

fn library(file: &Path) -> Result<Tokenizer, ModelError> {
    let mut tokenizer =
        Tokenizer::from_file(file).map_err(|error| invalid(file, error.to_string()))?;
    tokenizer
        .with_truncation(None)
        .map_err(|error| invalid(file, error.to_string()))?;
    tokenizer.with_padding(None);
    tokenizer.set_encode_special_tokens(true);
    Ok(tokenizer)
}

fn invalid(file: &Path, detail: String) -> ModelError {
    ModelError::InvalidModel {
        path: file.to_owned(),
        detail,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::{ALL_MINILM, ModelStore};

    static BOTH: LazyLock<(TextTokens, Tokenizer)> = LazyLock::new(|| {
        let files = ModelStore::from_env().pull(ALL_MINILM, &|_| {}).unwrap();
        (
            TextTokens::load(files.separate_tokenizer().unwrap(), "test").unwrap(),
            library(files.separate_tokenizer().unwrap()).unwrap(),
        )
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
