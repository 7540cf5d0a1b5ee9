//! Text to token numbers and back, and the format of a conversation.
//!
//! The pieces of a prompt are plain text, each split into tokens by itself: what looks like a
//! special token in a text (`<|im_end|>`) is read as the letters it is made of, so that no cell of
//! a table can end a turn. The special tokens of the format are put between by their numbers.

use std::collections::HashMap;
use std::path::Path;

use tokenizers::decoders::byte_level::ByteLevel as ByteDecoder;
use tokenizers::models::bpe::BPE;
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::{SplitDelimiterBehavior, Tokenizer};

use crate::{ModelError, Prompt};

use super::load_error::LoadError;

/// How Qwen2 and Llama 3 cut text before merging; they differ in the digits of a number.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// A model's tokenizer and the format of its conversations.
pub(crate) struct Tokens {
    tokenizer: Tokenizer,
    format: Format,
    ends: Vec<u32>,
    model: String,
}

/// A prompt as token numbers, in the parts that other prompts may share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PromptTokens {
    /// Instructions, the shared beginning; empty ones are left out.
    pub shared: Vec<Vec<u32>>,
    /// The rest; never empty.
    pub own: Vec<u32>,
}

impl PromptTokens {
    /// Tokens in all.
    pub fn count(&self) -> usize {
        self.shared.iter().map(Vec::len).sum::<usize>() + self.own.len()
    }
}

/// The numbers that stand between the parts of a conversation.
struct Format {
    before_system: Vec<u32>,
    before_user: Vec<u32>,
    before_answer: Vec<u32>,
}

/// What a tokenizer is made of, as a GGUF file holds it.
pub(crate) struct Pieces {
    pub tokens: Vec<String>,
    pub merges: Vec<String>,
    /// The name of the way text is cut before merging.
    pub cut: String,
    /// Tokens that end an answer, as far as the file names them.
    pub ends: Vec<u32>,
    /// The token every text begins with, if any.
    pub begin: Option<u32>,
}

impl Tokens {
    /// The tokenizer of a GGUF file's metadata.
    pub fn of_pieces(pieces: Pieces, model: &str) -> Result<Self, LoadError> {
        let special = |name: &str| {
            let place = pieces.tokens.iter().position(|token| token == name)?;
            u32::try_from(place).ok()
        };
        let marks: HashMap<&'static str, u32> = Format::MARKS
            .iter()
            .filter_map(|mark| Some((*mark, special(mark)?)))
            .collect();
        let merges: Option<Vec<(String, String)>> = pieces
            .merges
            .iter()
            .map(|merge| {
                merge
                    .split_once(' ')
                    .map(|(a, b)| (a.to_owned(), b.to_owned()))
            })
            .collect();
        let merges = merges.ok_or("a merge that is not two pieces")?;
        let vocabulary = pieces
            .tokens
            .iter()
            .zip(0..)
            .map(|(token, id)| (token.clone(), id));
        let model_of_text = BPE::builder()
            .vocab_and_merges(
                vocabulary.collect::<tokenizers::models::bpe::Vocab>(),
                merges,
            )
            .build()
            .map_err(LoadError::Tokenizer)?;
        let mut tokenizer = Tokenizer::new(model_of_text);
        tokenizer.with_pre_tokenizer(Some(cutting(&pieces.cut)?));
        tokenizer.with_decoder(Some(ByteDecoder::default()));
        Self::new(tokenizer, &marks, pieces.ends, pieces.begin, model)
    }

    /// The tokenizer of a `tokenizer.json`.
    pub fn of_file(
        path: &Path,
        ends: Vec<u32>,
        begin: Option<u32>,
        model: &str,
    ) -> Result<Self, LoadError> {
        let mut tokenizer = Tokenizer::from_file(path).map_err(LoadError::Tokenizer)?;
        tokenizer.set_encode_special_tokens(true);
        tokenizer.with_post_processor(None::<tokenizers::PostProcessorWrapper>);
        // Fine-tuned models carry those of their training; a prompt is never cut without a word.
        tokenizer
            .with_truncation(None)
            .map_err(LoadError::Tokenizer)?;
        tokenizer.with_padding(None);
        let marks = Format::MARKS
            .iter()
            .filter_map(|mark| Some((*mark, tokenizer.token_to_id(mark)?)));
        let marks = marks.collect();
        Self::new(tokenizer, &marks, ends, begin, model)
    }

    fn new(
        tokenizer: Tokenizer,
        marks: &HashMap<&'static str, u32>,
        mut ends: Vec<u32>,
        begin: Option<u32>,
        model: &str,
    ) -> Result<Self, LoadError> {
        ends.extend(
            ["<|im_end|>", "<|eot_id|>", "<|endoftext|>"]
                .iter()
                .filter_map(|end| marks.get(end)),
        );
        ends.sort_unstable();
        ends.dedup();
        let encode = |text: &str| plain(&tokenizer, text);
        let format = Format::of(marks, begin, &encode)?;
        Ok(Self {
            tokenizer,
            format,
            ends,
            model: model.to_owned(),
        })
    }

    /// A prompt's tokens, with those of the format around them.
    ///
    /// # Errors
    /// [`ModelError::Tokenizer`].
    pub fn prompt(&self, prompt: &Prompt) -> Result<PromptTokens, ModelError> {
        let mut system = self.format.before_system.clone();
        system.extend(self.encode(&prompt.system)?);
        system.extend(&self.format.before_user);
        let common = self.encode(&prompt.shared)?;
        let mut own = self.encode(&prompt.own)?;
        own.extend(&self.format.before_answer);
        let shared = [system, common].into_iter().filter(|part| !part.is_empty());
        Ok(PromptTokens {
            shared: shared.collect(),
            own,
        })
    }

    /// The tokens of a text, as a part of a prompt.
    ///
    /// # Errors
    /// [`ModelError::Tokenizer`].
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, ModelError> {
        plain(&self.tokenizer, text).map_err(|error| ModelError::Tokenizer {
            model: self.model.clone(),
            detail: error.to_string(),
        })
    }

    /// The text of some tokens; bytes that are no UTF-8 (a character's first part) become U+FFFD.
    pub fn decode(&self, tokens: &[u32]) -> String {
        self.tokenizer.decode(tokens, true).unwrap_or_default()
    }

    /// Whether a token ends an answer.
    pub fn is_end(&self, token: u32) -> bool {
        self.ends.contains(&token)
    }

    /// The first tokens of the ways to write a word at the beginning of an answer: as it is, with a
    /// capital, and both after a space.
    ///
    /// # Errors
    /// [`ModelError::Tokenizer`].
    pub fn beginnings(&self, word: &str) -> Result<Vec<u32>, ModelError> {
        let mut capital = word.to_owned();
        if let Some(first) = capital.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        let mut tokens = Vec::new();
        for form in [word, &capital, &format!(" {word}"), &format!(" {capital}")] {
            tokens.extend(self.encode(form)?.first());
        }
        tokens.sort_unstable();
        tokens.dedup();
        Ok(tokens)
    }
}

fn plain(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>, LoadError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let encoding = tokenizer
        .encode_fast(text, false)
        .map_err(LoadError::Tokenizer)?;
    Ok(encoding.get_ids().to_vec())
}

/// How text is cut before merging, by the name that GGUF files give it.
fn cutting(name: &str) -> Result<PreTokenizerWrapper, LoadError> {
    let split = |pattern: &str, behavior| {
        Split::new(SplitPattern::Regex(pattern.to_owned()), behavior, false)
            .map(PreTokenizerWrapper::from)
            .map_err(LoadError::Tokenizer)
    };
    let bytes = |with_regex| PreTokenizerWrapper::from(ByteLevel::new(false, true, with_regex));
    let steps = match name {
        "qwen2" => vec![
            split(QWEN2, SplitDelimiterBehavior::Isolated)?,
            bytes(false),
        ],
        "llama-bpe" | "llama3" => vec![
            split(LLAMA3, SplitDelimiterBehavior::Isolated)?,
            bytes(false),
        ],
        // Each digit by itself, then as GPT-2.
        "smollm" | "refact" | "starcoder" => {
            vec![
                split(r"\p{N}", SplitDelimiterBehavior::Isolated)?,
                bytes(true),
            ]
        }
        "gpt-2" | "default" => vec![bytes(true)],
        other => {
            return Err(LoadError::Cut(other.to_owned()));
        }
    };
    Ok(PreTokenizerWrapper::from(Sequence::new(steps)))
}

impl Format {
    /// Special tokens by which the formats are known.
    const MARKS: [&'static str; 6] = [
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eot_id|>",
    ];

    /// The format that a vocabulary's special tokens belong to.
    fn of(
        marks: &HashMap<&'static str, u32>,
        begin: Option<u32>,
        encode: &dyn Fn(&str) -> Result<Vec<u32>, LoadError>,
    ) -> Result<Self, LoadError> {
        let part = |pieces: &[Result<&u32, &str>]| -> Result<Vec<u32>, LoadError> {
            let mut tokens = Vec::new();
            for piece in pieces {
                match piece {
                    Ok(mark) => tokens.push(**mark),
                    Err(text) => tokens.extend(encode(text)?),
                }
            }
            Ok(tokens)
        };
        if let (Some(start), Some(end)) = (marks.get("<|im_start|>"), marks.get("<|im_end|>")) {
            return Ok(Self {
                before_system: part(&[Ok(start), Err("system\n")])?,
                before_user: part(&[Ok(end), Err("\n"), Ok(start), Err("user\n")])?,
                before_answer: part(&[Ok(end), Err("\n"), Ok(start), Err("assistant\n")])?,
            });
        }
        let header = (
            marks.get("<|start_header_id|>"),
            marks.get("<|end_header_id|>"),
            marks.get("<|eot_id|>"),
        );
        if let (Some(start), Some(end), Some(turn)) = header {
            let mut before_system: Vec<u32> = begin.into_iter().collect();
            before_system.extend(part(&[Ok(start), Err("system"), Ok(end), Err("\n\n")])?);
            return Ok(Self {
                before_system,
                before_user: part(&[Ok(turn), Ok(start), Err("user"), Ok(end), Err("\n\n")])?,
                before_answer: part(&[
                    Ok(turn),
                    Ok(start),
                    Err("assistant"),
                    Ok(end),
                    Err("\n\n"),
                ])?,
            });
        }
        Err("its vocabulary has neither ChatML's nor Llama 3's marks of a conversation".into())
    }
}
