//! Weights from a GGUF file, of whatever quantisation candle can read.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use candle_core::Device as CandleDevice;
use candle_core::quantized::gguf_file::{Content, TensorInfo, Value};
use candle_core::quantized::{QStorage, QTensor};

use super::load::{Name, Source};
use super::load_error::LoadError;
use super::safetensors::first_line;
use super::shape::{Pairs, Shape};
use super::tokens::Pieces;

/// An opened GGUF file.
pub(super) struct Gguf {
    path: PathBuf,
    content: Content,
    architecture: String,
}

impl Gguf {
    /// Reads the header.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let file = File::open(path)?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        let length = file.get_ref().metadata()?.len();
        // The reader divides by what the file says.
        let read = catch_unwind(AssertUnwindSafe(|| Content::read(&mut file)));
        let content = read.map_err(|_| "its header cannot be read")?;
        let content = content.map_err(|error| LoadError::Weights(first_line(&error)))?;
        for (name, info) in &content.tensor_infos {
            if end_of(info, content.tensor_data_offset).is_none_or(|end| end > length) {
                return Err(LoadError::CutShort(name.clone()));
            }
        }
        let architecture = match content.metadata.get("general.architecture") {
            Some(Value::String(name)) => name.clone(),
            _ => return Err("it names no architecture".into()),
        };
        if !matches!(architecture.as_str(), "llama" | "qwen2") {
            return Err(LoadError::Architecture(architecture));
        }
        Ok(Self {
            path: path.to_owned(),
            content,
            architecture,
        })
    }

    fn value(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(key)
    }

    fn number(&self, key: &str) -> Result<usize, LoadError> {
        let key = format!("{}.{key}", self.architecture);
        self.value(&key)
            .and_then(integer)
            .ok_or(LoadError::Missing(key))
    }

    fn float(&self, key: &str) -> Option<f64> {
        let key = format!("{}.{key}", self.architecture);
        match self.value(&key)? {
            Value::F32(value) => Some(f64::from(*value)),
            Value::F64(value) => Some(*value),
            _ => None,
        }
    }

    /// The sizes of its model.
    pub fn shape(&self) -> Result<Shape, LoadError> {
        let heads = self.number("attention.head_count")?;
        let hidden = self.number("embedding_length")?;
        let words = self.content.tensor_infos.get("token_embd.weight");
        let words = words.ok_or_else(|| LoadError::Missing("token_embd.weight".to_owned()))?;
        let vocabulary = words.shape.dims().first().copied().unwrap_or_default();
        if let Some(Value::String(kind)) =
            self.value(&format!("{}.rope.scaling.type", self.architecture))
            && kind != "none"
        {
            return Err(LoadError::RopeScaling(kind.clone()));
        }
        let rope_factors = if self.content.tensor_infos.contains_key("rope_freqs.weight") {
            self.read("rope_freqs.weight", 0..1)?
        } else {
            Vec::new()
        };
        Ok(Shape {
            layers: self.number("block_count")?,
            hidden,
            heads,
            kv_heads: self.number("attention.head_count_kv").unwrap_or(heads),
            head: self
                .number("attention.key_length")
                .unwrap_or(hidden / heads.max(1)),
            inner: self.number("feed_forward_length")?,
            vocabulary,
            window: self.number("context_length")?,
            rope_base: self.float("rope.freq_base").unwrap_or(10_000.0),
            rope_factors,
            pairs: if self.architecture == "llama" {
                Pairs::Neighbours
            } else {
                Pairs::Halves
            },
            norm_epsilon: self
                .float("attention.layer_norm_rms_epsilon")
                .unwrap_or(1e-5) as f32,
        })
    }

    /// What its tokenizer is made of.
    pub fn pieces(&self) -> Result<Pieces, LoadError> {
        let kind = match self.value("tokenizer.ggml.model") {
            Some(Value::String(kind)) => kind.as_str(),
            _ => "missing",
        };
        if kind != "gpt2" {
            return Err(LoadError::TokenizerKind(kind.to_owned()));
        }
        let strings = |key: &str| match self.value(key) {
            Some(Value::Array(values)) => values
                .iter()
                .map(|value| {
                    value
                        .to_string()
                        .cloned()
                        .map_err(|_| LoadError::NoText(key.to_owned()))
                })
                .collect::<Result<Vec<String>, LoadError>>(),
            _ => Err(LoadError::Missing(key.to_owned())),
        };
        let token = |key: &str| {
            self.value(key)
                .and_then(integer)
                .and_then(|id| u32::try_from(id).ok())
        };
        Ok(Pieces {
            tokens: strings("tokenizer.ggml.tokens")?,
            merges: strings("tokenizer.ggml.merges")?,
            cut: match self.value("tokenizer.ggml.pre") {
                Some(Value::String(name)) => name.clone(),
                _ => "default".to_owned(),
            },
            ends: token("tokenizer.ggml.eos_token_id").into_iter().collect(),
            begin: token("tokenizer.ggml.bos_token_id"),
        })
    }

    /// Rows of a tensor of that name.
    fn read(&self, name: &str, rows: Range<usize>) -> Result<Vec<f32>, LoadError> {
        let wrong = |problem: String| LoadError::Tensor {
            name: name.to_owned(),
            problem,
        };
        let info = self
            .content
            .tensor_infos
            .get(name)
            .ok_or_else(|| wrong("missing".to_owned()))?;
        let width = info.shape.dims().last().copied().unwrap_or_default();
        let (block, size) = (info.ggml_dtype.block_size(), info.ggml_dtype.type_size());
        if width == 0 || !width.is_multiple_of(block) {
            return Err(wrong(format!(
                "rows of {width} numbers in blocks of {block}"
            )));
        }
        let row = width / block * size;
        let place = (rows.start as u64).checked_mul(row as u64);
        let place = place.and_then(|place| place.checked_add(info.offset));
        let start = place.and_then(|place| place.checked_add(self.content.tensor_data_offset));
        let start = start.ok_or_else(|| wrong("it lies beyond any file".to_owned()))?;
        let mut bytes = vec![0; rows.len() * row];
        let mut file = File::open(&self.path).map_err(|error| wrong(error.to_string()))?;
        file.seek(SeekFrom::Start(start))
            .map_err(|error| wrong(error.to_string()))?;
        file.read_exact(&mut bytes)
            .map_err(|error| wrong(error.to_string()))?;
        let numbers = || {
            let storage =
                QStorage::from_data(Cow::Owned(bytes), &CandleDevice::Cpu, info.ggml_dtype)?;
            let tensor = QTensor::new(storage, (rows.len(), width))?;
            tensor
                .dequantize(&CandleDevice::Cpu)?
                .flatten_all()?
                .to_vec1::<f32>()
        };
        numbers().map_err(|error| wrong(first_line(&error)))
    }
}

/// Where a tensor's bytes end in its file.
fn end_of(info: &TensorInfo, data: u64) -> Option<u64> {
    let mut numbers = 1_u64;
    for size in info.shape.dims() {
        numbers = numbers.checked_mul(u64::try_from(*size).ok()?)?;
    }
    let block = u64::try_from(info.ggml_dtype.block_size()).ok()?;
    let bytes = u64::try_from(info.ggml_dtype.type_size()).ok()?;
    let size = numbers.div_ceil(block).checked_mul(bytes)?;
    data.checked_add(info.offset)?.checked_add(size)
}

/// A tensor's name in the file.
fn name_of(name: Name) -> String {
    match name {
        Name::Words => "token_embd.weight".to_owned(),
        Name::Output => "output.weight".to_owned(),
        Name::Norm => "output_norm.weight".to_owned(),
        Name::AttentionNorm(layer) => format!("blk.{layer}.attn_norm.weight"),
        Name::InnerNorm(layer) => format!("blk.{layer}.ffn_norm.weight"),
        Name::Query(layer) => format!("blk.{layer}.attn_q.weight"),
        Name::Key(layer) => format!("blk.{layer}.attn_k.weight"),
        Name::Value(layer) => format!("blk.{layer}.attn_v.weight"),
        Name::QueryBias(layer) => format!("blk.{layer}.attn_q.bias"),
        Name::KeyBias(layer) => format!("blk.{layer}.attn_k.bias"),
        Name::ValueBias(layer) => format!("blk.{layer}.attn_v.bias"),
        Name::Merge(layer) => format!("blk.{layer}.attn_output.weight"),
        Name::Gate(layer) => format!("blk.{layer}.ffn_gate.weight"),
        Name::Up(layer) => format!("blk.{layer}.ffn_up.weight"),
        Name::Down(layer) => format!("blk.{layer}.ffn_down.weight"),
    }
}

impl Source for Gguf {
    fn dims(&self, name: Name) -> Option<Vec<usize>> {
        let info = self.content.tensor_infos.get(&name_of(name))?;
        Some(info.shape.dims().to_vec())
    }

    fn rows(&self, name: Name, rows: Range<usize>) -> Result<Vec<f32>, LoadError> {
        self.read(&name_of(name), rows)
    }
}

fn integer(value: &Value) -> Option<usize> {
    match value {
        Value::U8(value) => Some(usize::from(*value)),
        Value::U16(value) => Some(usize::from(*value)),
        Value::U32(value) => usize::try_from(*value).ok(),
        Value::U64(value) => usize::try_from(*value).ok(),
        Value::I32(value) => usize::try_from(*value).ok(),
        Value::I64(value) => usize::try_from(*value).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write;

    use super::*;

    /// A GGUF file with one tensor of these sizes, and no data.
    fn file(alignment: u32, tensor: &str, sizes: &[u64]) -> tempfile::NamedTempFile {
        fn text(out: &mut Vec<u8>, text: &str) {
            out.extend((text.len() as u64).to_le_bytes());
            out.extend(text.as_bytes());
        }
        let mut out = b"GGUF".to_vec();
        out.extend(3_u32.to_le_bytes());
        out.extend(1_u64.to_le_bytes());
        out.extend(2_u64.to_le_bytes());
        text(&mut out, "general.architecture");
        out.extend(8_u32.to_le_bytes());
        text(&mut out, "llama");
        text(&mut out, "general.alignment");
        out.extend(4_u32.to_le_bytes());
        out.extend(alignment.to_le_bytes());
        text(&mut out, tensor);
        out.extend((sizes.len() as u32).to_le_bytes());
        sizes.iter().for_each(|size| out.extend(size.to_le_bytes()));
        out.extend(0_u32.to_le_bytes());
        out.extend(0_u64.to_le_bytes());
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&out).unwrap();
        file
    }

    #[test]
    fn a_header_that_claims_more_than_the_file_holds_is_refused() {
        for (alignment, sizes) in [
            (32, &[1 << 40][..]),
            (32, &[u64::MAX, u64::MAX]),
            (32, &[65_536, 1 << 21]),
            (0, &[4]),
        ] {
            for tensor in ["rope_freqs.weight", "token_embd.weight"] {
                let refused = Gguf::open(file(alignment, tensor, sizes).path());
                assert!(refused.is_err(), "{alignment} {tensor} {sizes:?}");
            }
        }
    }
}
