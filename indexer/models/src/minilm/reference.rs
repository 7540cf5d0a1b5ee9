//! all-MiniLM-L6-v2 in candle, 32-bit floats: short, plain, and the standard for the fast engine.

use std::collections::BTreeMap;

use candle_core::{DType, Device, Module, Result as CandleResult, Tensor};
use candle_nn::{Embedding, LayerNorm, Linear, VarBuilder, embedding, layer_norm, linear, ops};

use super::arithmetic;
use super::shape::{
    HEAD, HEADS, HIDDEN, INNER, LAYERS, NORM_EPSILON, POSITIONS, VOCABULARY, WINDOW,
};
use super::tokens::TextTokens;
use crate::{Embedder, ModelError, ModelFiles, ModelId};

/// all-MiniLM-L6-v2 as published: candle, 32-bit floats, about 8 times slower than
/// [`MiniLm`](crate::MiniLm).
///
/// A text's vector agrees within 1e-5 whatever its batch (matrix products of other shapes round
/// otherwise). Texts of equal length are computed together, so nothing is ever padded.
pub struct MiniLmReference {
    id: ModelId,
    tokens: TextTokens,
    words: Embedding,
    positions: Embedding,
    /// The row of the first (here: only) segment type.
    segment: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    merge: Linear,
    attention_norm: LayerNorm,
    widen: Linear,
    narrow: Linear,
    norm: LayerNorm,
}

impl MiniLmReference {
    /// Loads the model from verified files.
    ///
    /// # Errors
    /// [`ModelError::Cache`] where a file cannot be read, [`ModelError::InvalidModel`] where it
    /// holds another model.
    pub fn load(files: &ModelFiles) -> Result<Self, ModelError> {
        let tokens = TextTokens::load(files.separate_tokenizer()?, &files.name)?;
        let bytes = files.read_weights()?;
        Self::build(files, tokens, bytes).map_err(|error| ModelError::InvalidModel {
            path: files.weights.clone(),
            detail: error.to_string(),
        })
    }

    fn build(files: &ModelFiles, tokens: TextTokens, weights: Vec<u8>) -> CandleResult<Self> {
        let root = VarBuilder::from_buffered_safetensors(weights, DType::F32, &Device::Cpu)?;
        let embeddings = root.pp("embeddings");
        let layers = root.pp("encoder.layer");
        Ok(Self {
            id: files.id(arithmetic::F32),
            tokens,
            words: embedding(VOCABULARY, HIDDEN, embeddings.pp("word_embeddings"))?,
            positions: embedding(POSITIONS, HIDDEN, embeddings.pp("position_embeddings"))?,
            segment: embeddings
                .pp("token_type_embeddings")
                .get((2, HIDDEN), "weight")?
                .get(0)?,
            norm: layer_norm(HIDDEN, NORM_EPSILON, embeddings.pp("LayerNorm"))?,
            layers: (0..LAYERS)
                .map(|n| Layer::load(&layers.pp(n)))
                .collect::<CandleResult<_>>()?,
        })
    }

    /// Unit vectors, one a row, of token sequences that all have the same length.
    fn forward(&self, sequences: &[&[u32]]) -> CandleResult<Vec<Vec<f32>>> {
        let (texts, length) = (sequences.len(), sequences[0].len());
        let ids = Tensor::from_vec(sequences.concat(), (texts, length), &Device::Cpu)?;
        let positions = Tensor::arange(0, length as u32, &Device::Cpu)?;
        let mut states = self
            .words
            .forward(&ids)?
            .broadcast_add(&self.positions.forward(&positions)?)?
            .broadcast_add(&self.segment)?
            .apply(&self.norm)?;
        for layer in &self.layers {
            states = layer.forward(&states)?;
        }
        let pooled = states.mean(1)?;
        let lengths = pooled.sqr()?.sum_keepdim(1)?.sqrt()?;
        pooled.broadcast_div(&lengths)?.to_vec2()
    }
}

impl Layer {
    fn load(vars: &VarBuilder) -> CandleResult<Self> {
        let attention = vars.pp("attention");
        Ok(Self {
            query: linear(HIDDEN, HIDDEN, attention.pp("self.query"))?,
            key: linear(HIDDEN, HIDDEN, attention.pp("self.key"))?,
            value: linear(HIDDEN, HIDDEN, attention.pp("self.value"))?,
            merge: linear(HIDDEN, HIDDEN, attention.pp("output.dense"))?,
            attention_norm: layer_norm(HIDDEN, NORM_EPSILON, attention.pp("output.LayerNorm"))?,
            widen: linear(HIDDEN, INNER, vars.pp("intermediate.dense"))?,
            narrow: linear(INNER, HIDDEN, vars.pp("output.dense"))?,
            norm: layer_norm(HIDDEN, NORM_EPSILON, vars.pp("output.LayerNorm"))?,
        })
    }

    fn forward(&self, states: &Tensor) -> CandleResult<Tensor> {
        let (texts, length, _) = states.dims3()?;
        let heads = |projected: Tensor| {
            projected
                .reshape((texts, length, HEADS, HEAD))?
                .transpose(1, 2)?
                .contiguous()
        };
        let query = heads(self.query.forward(states)?)?;
        let key = heads(self.key.forward(states)?)?;
        let value = heads(self.value.forward(states)?)?;
        let scores = (query.matmul(&key.t()?)? / (HEAD as f64).sqrt())?;
        let attended = ops::softmax_last_dim(&scores)?.matmul(&value)?;
        let attended = attended.transpose(1, 2)?.reshape((texts, length, HIDDEN))?;
        let states = (attended.apply(&self.merge)? + states)?.apply(&self.attention_norm)?;
        let inner = states.apply(&self.widen)?.gelu_erf()?;
        (inner.apply(&self.narrow)? + states)?.apply(&self.norm)
    }
}

impl Embedder for MiniLmReference {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn dimensions(&self) -> usize {
        HIDDEN
    }

    fn window(&self) -> usize {
        WINDOW
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.tokens.count(text)
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        let sequences = texts
            .iter()
            .map(|text| self.tokens.window(text))
            .collect::<Result<Vec<_>, _>>()?;
        let mut by_length: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (place, sequence) in sequences.iter().enumerate() {
            by_length.entry(sequence.len()).or_default().push(place);
        }
        let mut vectors = vec![Vec::new(); texts.len()];
        for places in by_length.values() {
            let batch: Vec<&[u32]> = places
                .iter()
                .map(|&place| sequences[place].as_slice())
                .collect();
            let embedded = self.forward(&batch).map_err(|error| ModelError::Compute {
                model: self.id.to_string(),
                detail: error.to_string(),
            })?;
            for (&place, vector) in places.iter().zip(embedded) {
                vectors[place] = vector;
            }
        }
        Ok(vectors)
    }
}
