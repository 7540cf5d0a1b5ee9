//! What sentence-transformers keeps beside a network: modules, pooling, lengths, prompts; and
//! `limn.json`, in which a person says what those do not.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use super::pooling::Pooling;
use super::{Arithmetic, Prefixes};

/// The longest prefix, in bytes: an instruction has a sentence or two.
const LONGEST_PREFIX: usize = 2000;

/// `limn.json`: what a person says of a folder. All of it goes before what the other files say.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Card {
    /// `int8`, which is the default, or `f32`.
    pub arithmetic: Option<String>,
    /// `mean` or `cls`.
    pub pooling: Option<String>,
    /// Numbers of a vector that are kept, for models that were trained for it (Matryoshka).
    pub dimensions: Option<usize>,
    /// The most tokens of a text that are read.
    pub window: Option<usize>,
    /// What a question begins with.
    pub question: Option<String>,
    /// What a passage begins with.
    pub passage: Option<String>,
}

impl Card {
    pub fn arithmetic(&self) -> Result<Arithmetic, String> {
        match self.arithmetic.as_deref() {
            None | Some("int8") => Ok(Arithmetic::Int8),
            Some("f32") => Ok(Arithmetic::F32),
            Some(other) => Err(format!("its arithmetic is '{other}'; expected int8 or f32")),
        }
    }

    pub fn pooling(&self) -> Result<Option<Pooling>, String> {
        match self.pooling.as_deref() {
            None => Ok(None),
            Some("mean") => Ok(Some(Pooling::Mean)),
            Some("cls") => Ok(Some(Pooling::First)),
            Some(other) => Err(format!("its pooling is '{other}'; expected mean or cls")),
        }
    }
}

/// Where the parts of a model are, relative to its folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Modules {
    pub network: PathBuf,
    pub pooling: PathBuf,
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
pub(super) fn modules(text: &str) -> Result<Modules, String> {
    #[derive(Deserialize)]
    struct Module {
        path: String,
        #[serde(rename = "type")]
        kind: String,
    }
    let modules: Vec<Module> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let (mut network, mut pooling) = (None, None);
    for module in modules {
        let class = module.kind.rsplit('.').next().unwrap_or_default();
        let path = PathBuf::from(&module.path);
        let is_within = |it: Component<'_>| matches!(it, Component::Normal(_));
        if !path.components().all(is_within) {
            return Err(format!(
                "its module path '{}' leads out of the folder; expected a folder within",
                module.path
            ));
        }
        match class {
            "Transformer" if network.is_none() => network = Some(path),
            "Pooling" if network.is_some() && pooling.is_none() => pooling = Some(path),
            // Vectors are of length one in any case.
            "Normalize" if pooling.is_some() => {}
            other => {
                return Err(format!(
                    "its module '{other}' is not computed by this limn; expected Transformer, Pooling and perhaps Normalize, in this order"
                ));
            }
        }
    }
    let default = Modules::default();
    Ok(Modules {
        network: network.ok_or("it has no module Transformer; expected one")?,
        pooling: pooling.unwrap_or(default.pooling),
    })
}

/// Reads the pooling's `config.json` for vectors of `hidden` numbers.
pub(super) fn pooling(text: &str, hidden: usize) -> Result<Pooling, String> {
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
    let config: Config = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let width = config
        .word_embedding_dimension
        .or(config.embedding_dimension);
    if let Some(width) = width.filter(|width| *width != hidden) {
        return Err(format!(
            "it pools {width} numbers; expected the network's {hidden}"
        ));
    }
    if config.include_prompt == Some(false) {
        return Err("it leaves prompts out of the mean; expected include_prompt true".to_owned());
    }
    let is_on = |value: &serde_json::Value| value.as_bool() == Some(true);
    let on = config.others.iter().filter(|(_, value)| is_on(value));
    let on = on.filter_map(|(key, _)| key.strip_prefix(BEGINS));
    let mut modes: Vec<&str> = on.chain(config.pooling_mode.as_deref()).collect();
    modes.sort_unstable();
    match modes[..] {
        ["mean_tokens" | "mean"] => Ok(Pooling::Mean),
        ["cls_token" | "cls"] => Ok(Pooling::First),
        _ => Err(format!(
            "its pooling is '{}'; expected mean_tokens or cls_token",
            modes.join(" and ")
        )),
    }
}

/// Reads `sentence_bert_config.json`: the most tokens of a text, and whether letters are made small
/// before the tokenizer sees them.
pub(super) fn lengths(text: &str) -> Result<(Option<usize>, bool), String> {
    #[derive(Deserialize)]
    struct Config {
        max_seq_length: Option<usize>,
        do_lower_case: Option<bool>,
    }
    let config: Config = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok((config.max_seq_length, config.do_lower_case == Some(true)))
}

/// Reads `tokenizer_config.json`: the most tokens of a text. Where it is not known, libraries write
/// 10³⁰.
pub(super) fn longest(text: &str) -> Result<Option<usize>, String> {
    #[derive(Deserialize)]
    struct Config {
        model_max_length: Option<f64>,
    }
    let config: Config = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let length = config.model_max_length;
    let length = length.filter(|length| (1.0..1e6).contains(length));
    Ok(length.map(|length| length as usize))
}

/// Reads `config_sentence_transformers.json`: what questions and passages begin with.
pub(super) fn prompts(text: &str) -> Result<Prefixes, String> {
    #[derive(Deserialize)]
    struct Config {
        prompts: Option<HashMap<String, Option<String>>>,
        default_prompt_name: Option<String>,
    }
    let config: Config = serde_json::from_str(text).map_err(|error| error.to_string())?;
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

/// Why prefixes are of no use, if so.
pub(super) fn too_long(prefixes: &Prefixes) -> Option<String> {
    let longest = prefixes.question.len().max(prefixes.passage.len());
    (longest > LONGEST_PREFIX)
        .then(|| format!("a prompt has {longest} bytes; expected {LONGEST_PREFIX} at most"))
}

/// Files whose weights run code when they are loaded, which limn therefore never reads.
pub(super) fn pickled(folder: &Path) -> Option<&'static str> {
    let names = ["pytorch_model.bin", "model.bin", "model.pt"];
    names.into_iter().find(|name| folder.join(name).is_file())
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
            assert!(of(&wrong).unwrap_err().contains(named), "{named}");
        }
    }

    #[test]
    fn poolings_are_read_in_both_ways_of_writing() {
        let of = |value: serde_json::Value| pooling(&value.to_string(), 64);
        let mean = serde_json::json!({"word_embedding_dimension": 64,
            "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
            "pooling_mode_max_tokens": false});
        assert_eq!(of(mean), Ok(Pooling::Mean));
        assert_eq!(
            of(serde_json::json!({"pooling_mode": "cls"})),
            Ok(Pooling::First)
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
            assert!(of(wrong).unwrap_err().contains(named), "{named}");
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
            longest(r#"{"model_max_length":1000000000000000019884624838656}"#),
            Ok(None)
        );
        assert_eq!(longest(r#"{"model_max_length":512}"#), Ok(Some(512)));
        let both = lengths(r#"{"max_seq_length":128,"do_lower_case":true}"#);
        assert_eq!(both, Ok((Some(128), true)));
        assert!(serde_json::from_str::<Card>(r#"{"arithmetics":"f32"}"#).is_err());
    }
}
