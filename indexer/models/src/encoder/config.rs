//! `config.json`: which network a folder holds.

use serde::Deserialize;
use serde_json::Value;

use super::misfit::Misfit;
use super::shape::{Activation, Family, Reach, RotationBases, Shape};

/// Architectures that this limn computes, as `model_type` names them.
pub(super) const KNOWN: &str = "bert, roberta, xlm-roberta, camembert, modernbert";
const ENCODERS: &str = "an encoder: one of bert, roberta, xlm-roberta, camembert, modernbert";
/// The shortest window that a text of a few words fits in.
pub(super) const LEAST_WINDOW: usize = 8;
/// Some that write text: vectors are not what they are for.
const DECODERS: [&str; 12] = [
    "llama", "qwen2", "qwen3", "mistral", "gemma", "gemma2", "gemma3", "phi", "phi3", "gpt2",
    "gpt_neox", "falcon",
];

/// `config.json`, as far as it is needed. What is `null` there counts as missing.
#[derive(Deserialize)]
struct Config {
    model_type: Option<String>,
    hidden_size: Option<usize>,
    num_hidden_layers: Option<usize>,
    num_attention_heads: Option<usize>,
    intermediate_size: Option<usize>,
    vocab_size: Option<usize>,
    max_position_embeddings: Option<usize>,
    type_vocab_size: Option<usize>,
    pad_token_id: Option<usize>,
    hidden_act: Option<String>,
    hidden_activation: Option<String>,
    layer_norm_eps: Option<f32>,
    norm_eps: Option<f32>,
    position_embedding_type: Option<String>,
    is_decoder: Option<bool>,
    add_cross_attention: Option<bool>,
    quantization_config: Option<Value>,
    // Of ModernBERT.
    global_attn_every_n_layers: Option<usize>,
    local_attention: Option<usize>,
    layer_types: Option<Vec<String>>,
    global_rope_theta: Option<f64>,
    /// `Some(None)` where it is null, which is another thing than not there.
    #[serde(default, deserialize_with = "given")]
    local_rope_theta: Option<Option<f64>>,
    rope_parameters: Option<Value>,
}

/// What `config.json` says: the network, and the most tokens that its positions suffice for.
pub(super) struct Configured {
    pub shape: Shape,
    pub longest: usize,
}

/// Reads the text of a `config.json`; an error says what is missing or unknown in it.
pub(super) fn read(text: &str) -> Result<Configured, Misfit> {
    let config: Config = serde_json::from_str(text)?;
    let kind = config.model_type.as_deref();
    let missing = || Misfit::Missing(format!("model_type; expected one of {KNOWN}"));
    let kind = kind.ok_or_else(missing)?;
    let is_decoder = DECODERS.contains(&kind) || config.is_decoder == Some(true);
    if is_decoder || config.add_cross_attention == Some(true) {
        return Err(Misfit::Decoder(kind.to_owned()));
    }
    if config.quantization_config.is_some() {
        return Err(Misfit::Quantised);
    }
    let shape = match kind {
        "bert" => bert(&config, 0),
        "roberta" | "xlm-roberta" | "camembert" => {
            bert(&config, config.pad_token_id.unwrap_or(1).saturating_add(1))
        }
        "modernbert" => modernbert(&config),
        other => Err(Misfit::Unknown {
            name: "model_type",
            found: other.to_owned(),
            expected: ENCODERS,
        }),
    }?;
    shape.check()?;
    let claimed = config.max_position_embeddings.unwrap_or(usize::MAX);
    let longest = shape.longest().min(claimed);
    if longest < LEAST_WINDOW {
        return Err(Misfit::Sizes(format!(
            "max_position_embeddings leaves room for {longest} tokens; expected at least {LEAST_WINDOW}"
        )));
    }
    Ok(Configured { shape, longest })
}

fn bert(config: &Config, first_position: usize) -> Result<Shape, Misfit> {
    let kind = config.position_embedding_type.as_deref();
    if let Some(other) = kind.filter(|kind| *kind != "absolute") {
        return Err(Misfit::Unknown {
            name: "position_embedding_type",
            found: other.to_owned(),
            expected: "'absolute'",
        });
    }
    let layers = needed(config.num_hidden_layers, "num_hidden_layers")?;
    Ok(Shape {
        family: Family::Bert,
        hidden: needed(config.hidden_size, "hidden_size")?,
        heads: needed(config.num_attention_heads, "num_attention_heads")?,
        inner: needed(config.intermediate_size, "intermediate_size")?,
        vocabulary: needed(config.vocab_size, "vocab_size")?,
        positions: needed(config.max_position_embeddings, "max_position_embeddings")?,
        first_position,
        segments: config.type_vocab_size.unwrap_or(2).clamp(1, 64),
        rotation: None,
        activation: activation(config.hidden_act.as_deref())?,
        norm_epsilon: config.layer_norm_eps.unwrap_or(1e-12),
        reaches: vec![Reach::All; bounded(layers)],
    })
}

fn modernbert(config: &Config) -> Result<Shape, Misfit> {
    let layers = bounded(needed(config.num_hidden_layers, "num_hidden_layers")?);
    // Of an odd width the middle token is the one that looks.
    let around = Reach::Around(config.local_attention.unwrap_or(128) / 2);
    let reaches: Vec<Reach> = match &config.layer_types {
        Some(types) => {
            let reach = |kind: &String| match kind.as_str() {
                "full_attention" => Ok(Reach::All),
                "sliding_attention" => Ok(around),
                other => Err(Misfit::Unknown {
                    name: "layer type",
                    found: other.to_owned(),
                    expected: "full_attention or sliding_attention",
                }),
            };
            types
                .iter()
                .take(layers)
                .map(reach)
                .collect::<Result<_, _>>()?
        }
        None => {
            let every = config.global_attn_every_n_layers.unwrap_or(3).max(1);
            let reach = |layer: usize| match layer % every {
                0 => Reach::All,
                _ => around,
            };
            (0..layers).map(reach).collect()
        }
    };
    if reaches.len() != layers {
        return Err(Misfit::Sizes(format!(
            "its layer_types names {} layers; expected num_hidden_layers, {layers}",
            reaches.len()
        )));
    }
    Ok(Shape {
        family: Family::ModernBert,
        hidden: needed(config.hidden_size, "hidden_size")?,
        heads: needed(config.num_attention_heads, "num_attention_heads")?,
        inner: needed(config.intermediate_size, "intermediate_size")?,
        vocabulary: needed(config.vocab_size, "vocab_size")?,
        positions: 0,
        first_position: 0,
        segments: 0,
        rotation: Some(rotation(config)?),
        activation: activation(config.hidden_activation.as_deref())?,
        norm_epsilon: config.norm_eps.unwrap_or(1e-5),
        reaches,
    })
}

/// The bases of ModernBERT's rotations, in either of the ways in which they are written.
fn rotation(config: &Config) -> Result<RotationBases, Misfit> {
    let of = |kind: &str, older: Option<f64>, default: f64| {
        let given = config.rope_parameters.as_ref();
        let given = given.and_then(|given| given.get(kind));
        let scaling = given.and_then(|given| given.get("rope_type")?.as_str());
        if let Some(scaling) = scaling.filter(|scaling| *scaling != "default") {
            return Err(Misfit::Unknown {
                name: "rope_type",
                found: scaling.to_owned(),
                expected: "'default', without scaling",
            });
        }
        let base = given.and_then(|given| given.get("rope_theta")?.as_f64());
        Ok(base.or(older).unwrap_or(default))
    };
    let global = of("full_attention", config.global_rope_theta, 160_000.0)?;
    // Where it is null, the local layers have the global one's.
    let local = config.local_rope_theta.map(|it| it.unwrap_or(global));
    let local = of("sliding_attention", local, 10_000.0)?;
    Ok(RotationBases { global, local })
}

/// A value that is there, perhaps null.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Option<f64>>, D::Error> {
    serde::Deserialize::deserialize(value).map(Some)
}

fn activation(name: Option<&str>) -> Result<Activation, Misfit> {
    match name.unwrap_or("gelu") {
        "gelu" => Ok(Activation::Gelu),
        "gelu_new" | "gelu_pytorch_tanh" | "gelu_fast" => Ok(Activation::GeluTanh),
        "relu" => Ok(Activation::Relu),
        other => Err(Misfit::Unknown {
            name: "activation",
            found: other.to_owned(),
            expected: "gelu, gelu_new, gelu_pytorch_tanh or relu",
        }),
    }
}

fn needed(value: Option<usize>, name: &str) -> Result<usize, Misfit> {
    value.ok_or_else(|| Misfit::Missing(name.to_owned()))
}

/// A number of layers that a list may be made for; [`Shape::check`] says no to more.
fn bounded(layers: usize) -> usize {
    layers.min(1000)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const SMALL: &str = r#"{"model_type":"bert","hidden_size":64,"num_hidden_layers":2,
        "num_attention_heads":2,"intermediate_size":128,"vocab_size":500,
        "max_position_embeddings":64}"#;

    fn with(changes: Value) -> Result<Configured, Misfit> {
        let mut config: Value = serde_json::from_str(SMALL).unwrap();
        for (key, value) in changes.as_object().unwrap() {
            config[key] = value.clone();
        }
        read(&config.to_string())
    }

    #[test]
    fn what_is_no_encoder_is_named() {
        for (changes, named) in [
            (serde_json::json!({"model_type": "llama"}), "decoder"),
            (serde_json::json!({"is_decoder": true}), "decoder"),
            (serde_json::json!({"model_type": "t5"}), "'t5'"),
            (serde_json::json!({"model_type": null}), "no model_type"),
            (serde_json::json!({"hidden_size": null}), "no hidden_size"),
            (
                serde_json::json!({"hidden_size": 2048}),
                "hidden_size is 2048",
            ),
            (
                serde_json::json!({"num_hidden_layers": 100_000}),
                "num_hidden_layers is 1000",
            ),
            (
                serde_json::json!({"vocab_size": 4_000_000_000_u64}),
                "vocab_size is 4000000000",
            ),
            (serde_json::json!({"num_attention_heads": 3}), "heads"),
            (serde_json::json!({"hidden_act": "swish"}), "'swish'"),
            (
                serde_json::json!({"position_embedding_type": "relative_key"}),
                "relative_key",
            ),
            (serde_json::json!({"layer_norm_eps": 0.0}), "epsilon"),
            (
                serde_json::json!({"max_position_embeddings": 2}),
                "room for 2",
            ),
            (
                serde_json::json!({"max_position_embeddings": 1_000_000}),
                "max_position_embeddings",
            ),
            (
                serde_json::json!({"quantization_config": {"bits": 4}}),
                "quantised",
            ),
        ] {
            let error = with(changes.clone()).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains(named), "{changes}: {error}");
        }
        assert!(read("[]").is_err() && read("").is_err());
    }

    #[test]
    fn robertas_positions_begin_after_that_of_padding() {
        let roberta = with(serde_json::json!({
            "model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1,
        }));
        let roberta = roberta.unwrap();
        assert_eq!((roberta.shape.first_position, roberta.longest), (2, 512));
    }

    #[test]
    fn modernberts_layers_look_far_or_around() {
        let modern = |more: Value| {
            let mut changes = serde_json::json!({
                "model_type": "modernbert", "num_hidden_layers": 4, "local_attention": 16,
            });
            for (key, value) in more.as_object().unwrap() {
                changes[key] = value.clone();
            }
            with(changes).map(|it| it.shape)
        };
        let around = Reach::Around(8);
        let bases = |local: Value| {
            let more =
                serde_json::json!({"global_rope_theta": 80_000.0, "local_rope_theta": local});
            format!("{:?}", modern(more).unwrap())
        };
        assert_eq!(bases(Value::Null), bases(80_000.0.into()));
        assert_ne!(bases(Value::Null), bases(10_000.0.into()));
        let older = modern(serde_json::json!({
            "global_attn_every_n_layers": 2, "global_rope_theta": 80_000.0,
            "local_rope_theta": 5000.0,
        }));
        let newer = modern(serde_json::json!({
            "layer_types": ["full_attention", "sliding_attention", "full_attention",
                "sliding_attention"],
            "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 80_000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 5000.0}},
        }));
        let older = older.unwrap();
        assert_eq!(older.reaches, [Reach::All, around, Reach::All, around]);
        assert_eq!(older, newer.unwrap());
        let few = modern(serde_json::json!({"layer_types": ["full_attention"]}));
        assert!(few.unwrap_err().to_string().contains("names 1 layers"));
    }
}
