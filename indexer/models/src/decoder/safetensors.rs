//! Weights from a folder as training libraries write it: `config.json` and `.safetensors` files.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use candle_core::safetensors::MmapedSafetensors;
use candle_core::{DType, Device as CandleDevice, Tensor};
use serde::Deserialize;

use super::load::{Name, Source};
use super::load_error::LoadError;
use super::shape::{Pairs, Shape};

/// `config.json`, as far as it is needed.
#[derive(Deserialize)]
struct Config {
    model_type: String,
    num_hidden_layers: usize,
    hidden_size: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    intermediate_size: usize,
    vocab_size: usize,
    max_position_embeddings: usize,
    #[serde(default)]
    rope_theta: Option<f64>,
    #[serde(default)]
    rope_scaling: Option<serde_json::Value>,
    rms_norm_eps: f64,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default)]
    use_sliding_window: bool,
    #[serde(default)]
    bos_token_id: Option<serde_json::Value>,
    #[serde(default)]
    eos_token_id: Option<serde_json::Value>,
}

/// An opened folder.
pub(super) struct Folder {
    config: Config,
    tensors: MmapedSafetensors,
}

impl Folder {
    /// Reads `config.json` and the headers of the weights.
    pub fn open(config: &Path, weights: &[PathBuf]) -> Result<Self, LoadError> {
        let text = fs::read_to_string(config)?;
        let config: Config = serde_json::from_str(&text)?;
        if !matches!(config.model_type.as_str(), "llama" | "qwen2") {
            return Err(LoadError::Architecture(config.model_type));
        }
        if config.use_sliding_window {
            return Err("it attends to a sliding window, which this limn does not compute".into());
        }
        // SAFETY: the files are mapped for as long as they are read; a process that changes them
        // meanwhile gives this process other weights or a bus error, as with any mapped file.
        let tensors = unsafe { MmapedSafetensors::multi(weights) }
            .map_err(|error| LoadError::Weights(first_line(&error)))?;
        Ok(Self { config, tensors })
    }

    /// The sizes of its model.
    pub fn shape(&self) -> Result<Shape, LoadError> {
        let config = &self.config;
        let head = config
            .head_dim
            .unwrap_or(config.hidden_size / config.num_attention_heads.max(1));
        if head > MOST_HEAD {
            return Err(LoadError::Head(head));
        }
        let rope_base = config.rope_theta.unwrap_or(10_000.0);
        Ok(Shape {
            layers: config.num_hidden_layers,
            hidden: config.hidden_size,
            heads: config.num_attention_heads,
            kv_heads: config
                .num_key_value_heads
                .unwrap_or(config.num_attention_heads),
            head,
            inner: config.intermediate_size,
            vocabulary: config.vocab_size,
            window: config.max_position_embeddings,
            rope_base,
            rope_factors: rope_factors(config.rope_scaling.as_ref(), rope_base, head)?,
            pairs: Pairs::Halves,
            norm_epsilon: config.rms_norm_eps as f32,
        })
    }

    /// Tokens that end an answer, and the one that every text begins with.
    pub fn special_tokens(&self) -> (Vec<u32>, Option<u32>) {
        let number =
            |value: &serde_json::Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
        let ends = match &self.config.eos_token_id {
            Some(serde_json::Value::Array(ids)) => ids.iter().filter_map(number).collect(),
            Some(id) => number(id).into_iter().collect(),
            None => Vec::new(),
        };
        (ends, self.config.bos_token_id.as_ref().and_then(number))
    }
}

/// No model has heads of more numbers; [`Shape::refusal`] is stricter.
const MOST_HEAD: usize = 1 << 16;

/// What pairs' frequencies are divided by: Llama 3.1's scaling, or none.
fn rope_factors(
    scaling: Option<&serde_json::Value>,
    base: f64,
    head: usize,
) -> Result<Vec<f32>, LoadError> {
    let Some(scaling) = scaling.filter(|scaling| !scaling.is_null()) else {
        return Ok(Vec::new());
    };
    let kind = scaling.get("rope_type").or_else(|| scaling.get("type"));
    let kind = kind.and_then(serde_json::Value::as_str).unwrap_or_default();
    if kind == "default" {
        return Ok(Vec::new());
    }
    let number = |key: &str| scaling.get(key).and_then(serde_json::Value::as_f64);
    let parts = (
        number("factor"),
        number("low_freq_factor"),
        number("high_freq_factor"),
        number("original_max_position_embeddings"),
    );
    let ("llama3", (Some(factor), Some(low), Some(high), Some(window))) = (kind, parts) else {
        return Err(LoadError::RopeScaling(kind.to_string()));
    };
    let of = |pair: usize| {
        let wavelength = std::f64::consts::TAU * base.powf(2.0 * pair as f64 / head as f64);
        let share = (window / wavelength - low) / (high - low);
        1.0 / (share.clamp(0.0, 1.0) + (1.0 - share.clamp(0.0, 1.0)) / factor)
    };
    Ok((0..head / 2).map(|pair| of(pair) as f32).collect())
}

/// A tensor's name in the files.
fn name_of(name: Name) -> String {
    let layer = |layer: usize, rest: &str| format!("model.layers.{layer}.{rest}");
    match name {
        Name::Words => "model.embed_tokens.weight".to_owned(),
        Name::Output => "lm_head.weight".to_owned(),
        Name::Norm => "model.norm.weight".to_owned(),
        Name::AttentionNorm(at) => layer(at, "input_layernorm.weight"),
        Name::InnerNorm(at) => layer(at, "post_attention_layernorm.weight"),
        Name::Query(at) => layer(at, "self_attn.q_proj.weight"),
        Name::Key(at) => layer(at, "self_attn.k_proj.weight"),
        Name::Value(at) => layer(at, "self_attn.v_proj.weight"),
        Name::QueryBias(at) => layer(at, "self_attn.q_proj.bias"),
        Name::KeyBias(at) => layer(at, "self_attn.k_proj.bias"),
        Name::ValueBias(at) => layer(at, "self_attn.v_proj.bias"),
        Name::Merge(at) => layer(at, "self_attn.o_proj.weight"),
        Name::Gate(at) => layer(at, "mlp.gate_proj.weight"),
        Name::Up(at) => layer(at, "mlp.up_proj.weight"),
        Name::Down(at) => layer(at, "mlp.down_proj.weight"),
    }
}

impl Source for Folder {
    fn dims(&self, name: Name) -> Option<Vec<usize>> {
        if matches!(name, Name::Output) && self.config.tie_word_embeddings {
            return None;
        }
        let view = self.tensors.get(&name_of(name)).ok()?;
        Some(view.shape().to_vec())
    }

    fn rows(&self, name: Name, rows: Range<usize>) -> Result<Vec<f32>, LoadError> {
        let name = name_of(name);
        let read = || {
            let view = self.tensors.get(&name)?;
            let width = view.shape().last().copied().unwrap_or_default();
            let dtype: DType = view.dtype().try_into()?;
            let row = width * dtype.size_in_bytes();
            let bytes = view.data().get(rows.start * row..rows.end * row);
            let bytes = bytes.ok_or_else(|| candle_core::Error::msg("rows beyond its end"))?;
            let tensor =
                Tensor::from_raw_buffer(bytes, dtype, &[rows.len() * width], &CandleDevice::Cpu)?;
            tensor.to_dtype(DType::F32)?.to_vec1::<f32>()
        };
        read().map_err(|error| LoadError::Tensor {
            problem: first_line(&error),
            name: name.clone(),
        })
    }
}

/// candle's errors may carry a backtrace.
pub(super) fn first_line(error: &candle_core::Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}
