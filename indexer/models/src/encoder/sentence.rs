//! What sentence-transformers keeps beside a network: modules, pooling, lengths, prompts; and
//! `limn.json`, in which a person says what those do not.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::config::{Configured, LEAST_WINDOW};
use super::misfit::Misfit;
use super::pooling::Pooling;
use super::read::optional;
use super::tokens::TextTokens;
use super::{Arithmetic, Description, EncoderOverrides, Prefixes, Side};
use crate::ModelError;

const CARD: &str = "limn.json";
const PROMPTS: &str = "config_sentence_transformers.json";
/// The longest prefix, in bytes: an instruction has a sentence or two.
const LONGEST_PREFIX: usize = 2000;

/// `limn.json`: what a person says of a folder. All of it goes before what the other files say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Card {
    /// `int8`, which is the default, or `f32`.
    arithmetic: Option<String>,
    /// `mean` or `cls`.
    pooling: Option<String>,
    /// Numbers of a vector that are kept, for models that were trained for it (Matryoshka).
    dimensions: Option<usize>,
    /// The most tokens of a text that are read.
    window: Option<usize>,
    /// What a question begins with.
    question: Option<String>,
    /// What a passage begins with.
    passage: Option<String>,
}

/// What stands in a folder beside the network: `limn.json` first, and for what it leaves open the
/// training library's files.
pub(super) struct Beside<'a> {
    folder: &'a Path,
    card: Card,
    modules: Modules,
}

impl<'a> Beside<'a> {
    /// Reads `limn.json` and where the parts are; the others are read when they are asked for.
    pub fn read(folder: &'a Path) -> Result<Self, ModelError> {
        let card = optional(&folder.join(CARD), |text| Ok(serde_json::from_str(text)?))?;
        let modules = optional(&folder.join("modules.json"), modules)?;
        Ok(Self {
            folder,
            card: card.unwrap_or_default(),
            modules: modules.unwrap_or_default(),
        })
    }

    /// The folder of the network, its tokenizer and its weights.
    pub fn network(&self) -> PathBuf {
        self.folder.join(&self.modules.network)
    }

    /// With which numbers it computes.
    pub fn arithmetic(&self) -> Result<Arithmetic, ModelError> {
        match self.card.arithmetic.as_deref() {
            None | Some("int8") => Ok(Arithmetic::Int8),
            Some("f32") => Ok(Arithmetic::F32),
            Some(other) => Err(self.on_card(Misfit::Unknown {
                name: "arithmetic",
                found: other.to_owned(),
                expected: "int8 or f32",
            })),
        }
    }

    /// How the network turns a text into a vector.
    pub fn describe(
        &self,
        network: Configured,
        overrides: EncoderOverrides,
    ) -> Result<Description, ModelError> {
        let Configured { shape, longest } = network;
        let (window, lowercases) = self.window(longest)?;
        Ok(Description {
            pooling: self.pooling(shape.hidden)?,
            dimensions: self.dimensions(shape.hidden, overrides)?,
            prefixes: self.prefixes()?,
            window,
            lowercases,
            shape,
        })
    }

    fn pooling(&self, hidden: usize) -> Result<Pooling, ModelError> {
        match self.card.pooling.as_deref() {
            Some("mean") => Ok(Pooling::Mean),
            Some("cls") => Ok(Pooling::First),
            Some(other) => Err(self.on_card(Misfit::Unknown {
                name: "pooling",
                found: other.to_owned(),
                expected: "mean or cls",
            })),
            None => {
                let file = self.folder.join(&self.modules.pooling).join("config.json");
                let written = optional(&file, |text| pooling(text, hidden))?;
                Ok(written.unwrap_or(Pooling::Mean))
            }
        }
    }

    /// The most tokens of a text that are read, and whether letters are made small before.
    fn window(&self, longest: usize) -> Result<(usize, bool), ModelError> {
        let network = self.network();
        let [of_text, of_tokenizer] = ["sentence_bert_config.json", "tokenizer_config.json"];
        let [of_text, of_tokenizer] = [of_text, of_tokenizer].map(|it| network.join(it));
        let written = optional(&of_text, lengths)?;
        let (most, lowercases) = written.unwrap_or_default();
        let own = optional(&of_tokenizer, longest_of)?.flatten();
        let said = [
            (self.card.window, self.folder.join(CARD)),
            (most, of_text),
            (own, of_tokenizer),
        ];
        let mut said = said.into_iter();
        let said = said.find_map(|(window, file)| Some((window?.min(longest), file)));
        match said {
            Some((window, file)) if window < LEAST_WINDOW => Err(Misfit::Sizes(format!(
                "its window is {window} tokens; expected at least {LEAST_WINDOW}"
            ))
            .of(&file)),
            Some((window, _)) => Ok((window, lowercases)),
            None => Ok((longest, lowercases)),
        }
    }

    fn dimensions(&self, hidden: usize, asked: EncoderOverrides) -> Result<usize, ModelError> {
        let dimensions = asked.dimensions.or(self.card.dimensions);
        let dimensions = dimensions.unwrap_or(hidden);
        if (1..=hidden).contains(&dimensions) {
            return Ok(dimensions);
        }
        let misfit = Misfit::Sizes(format!(
            "its vectors have {hidden} numbers, of which {dimensions} are asked for; expected 1 to {hidden}"
        ));
        Err(misfit.of(&self.network().join("config.json")))
    }

    fn prefixes(&self) -> Result<Prefixes, ModelError> {
        let written = optional(&self.folder.join(PROMPTS), prompts)?.unwrap_or_default();
        let card = &self.card;
        let prefixes = Prefixes {
            question: card.question.clone().unwrap_or(written.question),
            passage: card.passage.clone().unwrap_or(written.passage),
        };
        for (side, prefix) in [
            (Side::Question, &prefixes.question),
            (Side::Passage, &prefixes.passage),
        ] {
            if prefix.len() > LONGEST_PREFIX {
                let misfit = Misfit::Sizes(format!(
                    "a prompt has {} bytes; expected {LONGEST_PREFIX} at most",
                    prefix.len()
                ));
                return Err(misfit.of(&self.prefix_file(side)));
            }
        }
        Ok(prefixes)
    }

    /// Refuses a prefix behind which no text fits in the window.
    pub fn check_prefixes(
        &self,
        description: &Description,
        tokens: &TextTokens,
    ) -> Result<(), ModelError> {
        for side in [Side::Question, Side::Passage] {
            let bare = description.prepared(side, "");
            if tokens.window(&bare)?.len() >= description.window {
                let misfit = Misfit::PrefixFills {
                    side: side.word(),
                    tokens: tokens.count(&bare),
                    window: description.window,
                };
                return Err(misfit.of(&self.prefix_file(side)));
            }
        }
        Ok(())
    }

    /// The file that says what texts of a side begin with.
    fn prefix_file(&self, side: Side) -> PathBuf {
        let own = match side {
            Side::Question => &self.card.question,
            Side::Passage => &self.card.passage,
        };
        self.folder.join(if own.is_some() { CARD } else { PROMPTS })
    }

    fn on_card(&self, misfit: Misfit) -> ModelError {
        misfit.of(&self.folder.join(CARD))
    }
}

/// Where the parts of a model are, relative to its folder.
#[derive(Debug, PartialEq, Eq)]
struct Modules {
    network: PathBuf,
    pooling: PathBuf,
}

impl Default for Modules {
    fn default() -> Self {
        Self {
            network: PathBuf::new(),
            pooling: PathBuf::from("1_Pooling"),
        }
    }
}

/// Reads `modules.json`: a network, its pooling, and perhaps a normalisation.
fn modules(text: &str) -> Result<Modules, Misfit> {
    #[derive(Deserialize)]
    struct Module {
        path: String,
        #[serde(rename = "type")]
        kind: String,
    }
    let modules: Vec<Module> = serde_json::from_str(text)?;
    let (mut network, mut pooling) = (None, None);
    for module in modules {
        let class = module.kind.rsplit('.').next().unwrap_or_default();
        let path = PathBuf::from(&module.path);
        let is_within = |it: Component<'_>| matches!(it, Component::Normal(_));
        if !path.components().all(is_within) {
            return Err(Misfit::Outside(module.path));
        }
        match class {
            "Transformer" if network.is_none() => network = Some(path),
            "Pooling" if network.is_some() && pooling.is_none() => pooling = Some(path),
            // Vectors are of length one in any case.
            "Normalize" if pooling.is_some() => {}
            other => return Err(Misfit::Module(other.to_owned())),
        }
    }
    let default = Modules::default();
    Ok(Modules {
        network: network.ok_or_else(|| {
            let missing = "module Transformer; expected one";
            Misfit::Missing(missing.to_owned())
        })?,
        pooling: pooling.unwrap_or(default.pooling),
    })
}

/// Reads the pooling's `config.json` for vectors of `hidden` numbers.
fn pooling(text: &str, hidden: usize) -> Result<Pooling, Misfit> {
    #[derive(Deserialize)]
    struct Config {
        word_embedding_dimension: Option<usize>,
        embedding_dimension: Option<usize>,
        include_prompt: Option<bool>,
        pooling_mode: Option<String>,
        #[serde(flatten)]
        others: HashMap<String, serde_json::Value>,
    }
    const BEGINS: &str = "pooling_mode_";
    let config: Config = serde_json::from_str(text)?;
    let width = config
        .word_embedding_dimension
        .or(config.embedding_dimension);
    if let Some(width) = width.filter(|width| *width != hidden) {
        return Err(Misfit::Sizes(format!(
            "it pools {width} numbers; expected the network's {hidden}"
        )));
    }
    if config.include_prompt == Some(false) {
        return Err(Misfit::PromptLeftOut);
    }
    let is_on = |value: &serde_json::Value| value.as_bool() == Some(true);
    let on = config.others.iter().filter(|(_, value)| is_on(value));
    let on = on.filter_map(|(key, _)| key.strip_prefix(BEGINS));
    let mut modes: Vec<&str> = on.chain(config.pooling_mode.as_deref()).collect();
    modes.sort_unstable();
    match modes[..] {
        ["mean_tokens" | "mean"] => Ok(Pooling::Mean),
        ["cls_token" | "cls"] => Ok(Pooling::First),
        _ => Err(Misfit::Unknown {
            name: "pooling",
            found: modes.join(" and "),
            expected: "mean_tokens or cls_token",
        }),
    }
}

/// Reads `sentence_bert_config.json`: the most tokens of a text, and whether letters are made small
/// before the tokenizer sees them.
fn lengths(text: &str) -> Result<(Option<usize>, bool), Misfit> {
    #[derive(Deserialize)]
    struct Config {
        max_seq_length: Option<usize>,
        do_lower_case: Option<bool>,
    }
    let config: Config = serde_json::from_str(text)?;
    Ok((config.max_seq_length, config.do_lower_case == Some(true)))
}

/// Reads `tokenizer_config.json`: the most tokens of a text. Where it is not known, libraries write
/// 10³⁰.
fn longest_of(text: &str) -> Result<Option<usize>, Misfit> {
    #[derive(Deserialize)]
    struct Config {
        model_max_length: Option<f64>,
    }
    let config: Config = serde_json::from_str(text)?;
    let length = config.model_max_length;
    let length = length.filter(|length| (1.0..1e6).contains(length));
    Ok(length.map(|length| length as usize))
}

/// Reads `config_sentence_transformers.json`: what questions and passages begin with.
fn prompts(text: &str) -> Result<Prefixes, Misfit> {
    #[derive(Deserialize)]
    struct Config {
        prompts: Option<HashMap<String, Option<String>>>,
        default_prompt_name: Option<String>,
    }
    let config: Config = serde_json::from_str(text)?;
    let prompts = config.prompts.unwrap_or_default();
    let named = |name: &str| prompts.get(name).cloned().flatten();
    let default = config.default_prompt_name.as_deref().and_then(named);
    let first = |names: &[&str]| {
        let found = names.iter().find_map(|name| named(name));
        found.or_else(|| default.clone()).unwrap_or_default()
    };
    Ok(Prefixes {
        question: first(&["query", "question"]),
        passage: first(&["document", "passage", "corpus"]),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn module(kind: &str, path: &str) -> serde_json::Value {
        serde_json::json!({"idx": 0, "name": "0", "path": path, "type": format!("sentence_transformers.models.{kind}")})
    }

    #[test]
    fn modules_are_a_network_a_pooling_and_perhaps_a_norm() {
        let of = |all: &[serde_json::Value]| modules(&serde_json::json!(all).to_string());
        let (network, pool) = (module("Transformer", ""), module("Pooling", "1_Pooling"));
        let norm = module("Normalize", "2_Normalize");
        let whole = of(&[network.clone(), pool.clone(), norm.clone()]);
        assert_eq!(whole.unwrap(), Modules::default());
        let older = of(&[module("Transformer", "0_BERT"), pool.clone()]);
        assert_eq!(older.unwrap().network, PathBuf::from("0_BERT"));
        for (wrong, named) in [
            (
                vec![network.clone(), pool.clone(), module("Dense", "2_Dense")],
                "Dense",
            ),
            (vec![pool.clone()], "Pooling"),
            (vec![], "Transformer"),
            (vec![module("Transformer", "../x")], "leads out"),
            (vec![module("Transformer", "/etc")], "leads out"),
        ] {
            assert!(
                of(&wrong).unwrap_err().to_string().contains(named),
                "{named}"
            );
        }
    }

    #[test]
    fn poolings_are_read_in_both_ways_of_writing() {
        let of = |value: serde_json::Value| pooling(&value.to_string(), 64);
        let mean = serde_json::json!({"word_embedding_dimension": 64,
            "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
            "pooling_mode_max_tokens": false});
        assert_eq!(of(mean).unwrap(), Pooling::Mean);
        assert_eq!(
            of(serde_json::json!({"pooling_mode": "cls"})).unwrap(),
            Pooling::First
        );
        for (wrong, named) in [
            (
                serde_json::json!({"pooling_mode_max_tokens": true}),
                "max_tokens",
            ),
            (
                serde_json::json!({"pooling_mode_lasttoken": true}),
                "lasttoken",
            ),
            (
                serde_json::json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}),
                "cls_token and mean_tokens",
            ),
            (serde_json::json!({}), "''"),
            (
                serde_json::json!({"word_embedding_dimension": 32, "pooling_mode": "mean"}),
                "32",
            ),
            (
                serde_json::json!({"pooling_mode": "mean", "include_prompt": false}),
                "include_prompt",
            ),
        ] {
            assert!(
                of(wrong).unwrap_err().to_string().contains(named),
                "{named}"
            );
        }
    }

    #[test]
    fn prompts_and_lengths_are_read() {
        let text =
            r#"{"prompts":{"query":"query: ","document":"text: "},"default_prompt_name":null}"#;
        let both = prompts(text).unwrap();
        assert_eq!((&*both.question, &*both.passage), ("query: ", "text: "));
        let default = prompts(r#"{"prompts":{"all":"x: "},"default_prompt_name":"all"}"#).unwrap();
        assert_eq!((&*default.question, &*default.passage), ("x: ", "x: "));
        assert_eq!(prompts("{}").unwrap(), Prefixes::default());
        assert_eq!(
            longest_of(r#"{"model_max_length":1000000000000000019884624838656}"#).unwrap(),
            None
        );
        let short = longest_of(r#"{"model_max_length":512}"#);
        assert_eq!(short.unwrap(), Some(512));
        let both = lengths(r#"{"max_seq_length":128,"do_lower_case":true}"#);
        assert_eq!(both.unwrap(), (Some(128), true));
        assert!(serde_json::from_str::<Card>(r#"{"arithmetics":"f32"}"#).is_err());
    }
}
