//! Text to token numbers: by the rules of a folder's `tokenizer.json`.
//!
//! The `tokenizers` library does it; of BERT's own tokenizer, which most encoders have, ASCII text
//! goes a faster way ([`wordpiece`]). What looks like a special token in a text (`[SEP]`) is read
//! as plain text: a cell is data.

mod wordpiece;

use std::fmt;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tokenizers::Tokenizer;

use super::misfit::{Misfit, invalid};
use crate::ModelError;
use wordpiece::WordPiece;

/// The tokenizer of an encoder.
pub(crate) struct TextTokens {
    model: String,
    window: usize,
    way: Way,
}

impl fmt::Debug for TextTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextTokens")
            .field("model", &self.model)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

enum Way {
    /// BERT's, with its file's place and text: the library reads it when there is text beyond
    /// ASCII.
    WordPiece {
        words: Box<WordPiece>,
        file: PathBuf,
        json: Vec<u8>,
        library: Box<OnceLock<Result<Tokenizer, ModelError>>>,
    },
    /// Any other.
    Library(Box<AnyTokens>),
}

/// The library's tokenizer, and what it puts around a text.
struct AnyTokens {
    library: Tokenizer,
    before: Vec<u32>,
    after: Vec<u32>,
}

impl TextTokens {
    /// Reads `tokenizer.json`; `model` is the name that errors carry, `vocabulary` the number of
    /// rows of the word matrix.
    ///
    /// # Errors
    /// [`ModelError::Cache`] where the file cannot be read, [`ModelError::InvalidModel`] where it
    /// is another model's.
    pub fn load(
        file: &Path,
        model: &str,
        vocabulary: usize,
        window: usize,
    ) -> Result<Self, ModelError> {
        let json = fs::read(file).map_err(|error| ModelError::Cache {
            action: "read",
            path: file.to_owned(),
            detail: error.to_string(),
        })?;
        let words = WordPiece::parse(&json, vocabulary).map_err(|misfit| misfit.of(file))?;
        let way = match words {
            Some(words) => Way::WordPiece {
                words: Box::new(words),
                file: file.to_owned(),
                json,
                library: Box::default(),
            },
            None => Way::Library(Box::new(AnyTokens::load(file, &json, vocabulary)?)),
        };
        let tokens = Self {
            model: model.to_owned(),
            window,
            way,
        };
        if tokens.around() >= window {
            return Err(invalid(
                file,
                format!(
                    "it puts {} special tokens around a text; expected fewer than the window of {window}",
                    tokens.around()
                ),
            ));
        }
        Ok(tokens)
    }

    /// How many special tokens are put around a text.
    fn around(&self) -> usize {
        match &self.way {
            Way::WordPiece { .. } => 2,
            Way::Library(any) => any.before.len() + any.after.len(),
        }
    }

    /// How many tokens the whole text has, the special ones included.
    ///
    /// A text that the tokenizer refuses counts as longer than any window; embedding it reports
    /// why.
    pub fn count(&self, text: &str) -> usize {
        let mut count = self.around();
        let outcome = self.pieces(text, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        if outcome.is_ok() { count } else { usize::MAX }
    }

    /// The token numbers the model reads: the text's first ones between the special tokens.
    ///
    /// # Errors
    /// [`ModelError::Tokenizer`] where the tokenizer refuses the text.
    pub fn window(&self, text: &str) -> Result<Vec<u32>, ModelError> {
        let (before, after) = match &self.way {
            Way::WordPiece { words, .. } => (vec![words.start], vec![words.end]),
            Way::Library(any) => (any.before.clone(), any.after.clone()),
        };
        let most = self.window - after.len();
        let mut ids = before;
        self.pieces(text, &mut |id| {
            ids.push(id);
            if ids.len() < most {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })?;
        ids.extend(after);
        Ok(ids)
    }

    /// Calls `visit` with each token of the text until it breaks.
    fn pieces(
        &self,
        text: &str,
        visit: &mut impl FnMut(u32) -> ControlFlow<()>,
    ) -> Result<(), ModelError> {
        let (words, library) = match &self.way {
            Way::WordPiece {
                words,
                file,
                json,
                library,
            } => (words, || library.get_or_init(|| open(file, json)).as_ref()),
            Way::Library(any) => {
                let ids = self.plain(&any.library, text)?;
                let _ = ids.into_iter().try_for_each(visit);
                return Ok(());
            }
        };
        for stretch in text.split([' ', '\t', '\n', '\r']) {
            let flow = if stretch.is_ascii() {
                words.ascii(stretch.as_bytes(), visit)
            } else {
                let library = library().map_err(ModelError::clone)?;
                let ids = self.plain(library, stretch)?;
                ids.into_iter().try_for_each(&mut *visit)
            };
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The tokens of a text without the special ones.
    fn plain(&self, library: &Tokenizer, text: &str) -> Result<Vec<u32>, ModelError> {
        let encoding = library
            .encode_fast(text, false)
            .map_err(|error| ModelError::Tokenizer {
                model: self.model.clone(),
                detail: error.to_string(),
            })?;
        Ok(encoding.get_ids().to_vec())
    }
}

impl AnyTokens {
    fn load(file: &Path, json: &[u8], vocabulary: usize) -> Result<Self, ModelError> {
        let library = open(file, json)?;
        // The numbers are row numbers of the word matrix.
        let beyond = library.get_vocab(true).into_iter();
        let beyond = beyond.max_by_key(|(_, id)| *id);
        if let Some((token, id)) = beyond.filter(|(_, id)| *id as usize >= vocabulary) {
            return Err(beyond_rows(&token, id, vocabulary).of(file));
        }
        let refused = |error: tokenizers::Error| invalid(file, error.to_string());
        let (with, without) = (
            library.encode("a", true).map_err(refused)?,
            library.encode("a", false).map_err(refused)?,
        );
        let (with, without) = (with.get_ids(), without.get_ids());
        // Those around a text need not be of the vocabulary.
        if let Some(id) = with.iter().find(|id| **id as usize >= vocabulary) {
            return Err(beyond_rows("around a text", *id, vocabulary).of(file));
        }
        // Special tokens are put before and after the text, the text's own stay together.
        let at = (0..=with.len().saturating_sub(without.len()))
            .find(|at| with[*at..].starts_with(without));
        let at = at.filter(|_| !without.is_empty()).ok_or_else(|| {
            invalid(
                file,
                "it changes a text beside putting special tokens around it".to_owned(),
            )
        })?;
        Ok(Self {
            before: with[..at].to_vec(),
            after: with[at + without.len()..].to_vec(),
            library,
        })
    }
}

/// What is wrong with a token whose number is no row of the word matrix.
fn beyond_rows(token: &str, id: u32, rows: usize) -> Misfit {
    let token = token.chars().take(40).collect();
    Misfit::BeyondRows { token, id, rows }
}

/// The library's tokenizer of a file's text, which neither cuts nor pads.
fn open(file: &Path, json: &[u8]) -> Result<Tokenizer, ModelError> {
    let mut tokenizer =
        Tokenizer::from_bytes(json).map_err(|error| invalid(file, error.to_string()))?;
    tokenizer
        .with_truncation(None)
        .map_err(|error| invalid(file, error.to_string()))?;
    tokenizer.with_padding(None);
    tokenizer.set_encode_special_tokens(true);
    Ok(tokenizer)
}
