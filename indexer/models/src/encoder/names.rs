//! What the tensors of an encoder are called in its file, and what they are read as.

use super::shape::{Family, Shape};
use super::tensors::{TensorError, TensorFile};

/// What a model's class puts before its encoder's names.
const ROOTS: [&str; 4] = ["", "bert.", "roberta.", "model."];

/// The tensors of one encoder, by what they are for.
pub(super) struct Tensors<'a> {
    file: &'a mut TensorFile,
    root: &'static str,
    family: Family,
    hidden: usize,
}

/// Scale and shift after a normalisation.
pub(super) struct Norm {
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
}

/// A linear layer: a row of `inputs` weights an output, and what is added.
pub(super) struct Linear {
    pub weights: Vec<f32>,
    pub bias: Vec<f32>,
    pub inputs: usize,
}

/// The tensors of one layer.
pub(super) struct LayerTensors {
    pub query_key_value: Linear,
    pub merge: Linear,
    /// `None`: nothing is normalised, in ModernBERT's first layer.
    pub attention_norm: Option<Norm>,
    pub widen: Linear,
    pub narrow: Linear,
    pub norm: Norm,
}

impl<'a> Tensors<'a> {
    /// Finds where the encoder's names begin; an error says which tensor there should be.
    pub fn of(file: &'a mut TensorFile, shape: &Shape) -> Result<Self, TensorError> {
        let words = words_of(shape.family);
        let root = ROOTS
            .into_iter()
            .find(|root| file.has(&format!("{root}{words}")));
        Ok(Self {
            root: root.ok_or_else(|| TensorError::Missing(words.to_owned()))?,
            file,
            family: shape.family,
            hidden: shape.hidden,
        })
    }

    /// The name of the word matrix.
    pub fn words(&self) -> String {
        format!("{}{}", self.root, words_of(self.family))
    }

    /// The file, for a tensor that stays in it.
    pub fn file(&self) -> &TensorFile {
        self.file
    }

    /// For each of the first `window` places, what is added to a word: the place's vector and that
    /// of the first segment type. Empty where rotations mark places.
    pub fn places(&mut self, shape: &Shape, window: usize) -> Result<Vec<f32>, TensorError> {
        if shape.positions == 0 {
            return Ok(Vec::new());
        }
        let hidden = self.hidden;
        let all = self.read(
            "embeddings.position_embeddings.weight",
            &[shape.positions, hidden],
        )?;
        let rows = all.get(shape.first_position * hidden..).unwrap_or_default();
        let mut places = rows[..rows.len().min(window * hidden)].to_vec();
        let segments = self.read(
            "embeddings.token_type_embeddings.weight",
            &[shape.segments, hidden],
        )?;
        for place in places.chunks_exact_mut(hidden) {
            place
                .iter_mut()
                .zip(&segments)
                .for_each(|(number, segment)| *number += segment);
        }
        Ok(places)
    }

    /// What normalises the sum of a word and its place.
    pub fn first_norm(&mut self) -> Result<Norm, TensorError> {
        match self.family {
            Family::Bert => self.norm("embeddings.LayerNorm"),
            Family::ModernBert => self.norm("embeddings.norm"),
        }
    }

    /// What normalises the last layer's states, where each half normalises first.
    pub fn last_norm(&mut self) -> Result<Option<Norm>, TensorError> {
        match self.family {
            Family::Bert => Ok(None),
            Family::ModernBert => self.norm("final_norm").map(Some),
        }
    }

    pub fn layer(&mut self, shape: &Shape, n: usize) -> Result<LayerTensors, TensorError> {
        match self.family {
            Family::Bert => self.bert_layer(shape, n),
            Family::ModernBert => self.modernbert_layer(shape, n),
        }
    }

    fn bert_layer(&mut self, shape: &Shape, n: usize) -> Result<LayerTensors, TensorError> {
        let hidden = self.hidden;
        let root = format!("encoder.layer.{n}");
        let attention = format!("{root}.attention");
        let (mut weights, mut bias) = (
            Vec::with_capacity(3 * hidden * hidden),
            Vec::with_capacity(3 * hidden),
        );
        for part in ["query", "key", "value"] {
            let part = format!("{attention}.self.{part}");
            weights.extend(self.read(&format!("{part}.weight"), &[hidden, hidden])?);
            bias.extend(self.read(&format!("{part}.bias"), &[hidden])?);
        }
        Ok(LayerTensors {
            query_key_value: Linear {
                weights,
                bias,
                inputs: hidden,
            },
            merge: self.linear(&format!("{attention}.output.dense"), hidden, hidden)?,
            attention_norm: Some(self.norm(&format!("{attention}.output.LayerNorm"))?),
            widen: self.linear(&format!("{root}.intermediate.dense"), hidden, shape.inner)?,
            narrow: self.linear(&format!("{root}.output.dense"), shape.inner, hidden)?,
            norm: self.norm(&format!("{root}.output.LayerNorm"))?,
        })
    }

    fn modernbert_layer(&mut self, shape: &Shape, n: usize) -> Result<LayerTensors, TensorError> {
        let hidden = self.hidden;
        let root = format!("layers.{n}");
        Ok(LayerTensors {
            query_key_value: self.linear(&format!("{root}.attn.Wqkv"), hidden, 3 * hidden)?,
            merge: self.linear(&format!("{root}.attn.Wo"), hidden, hidden)?,
            attention_norm: match n {
                0 => None,
                _ => Some(self.norm(&format!("{root}.attn_norm"))?),
            },
            widen: self.linear(&format!("{root}.mlp.Wi"), hidden, shape.widened())?,
            narrow: self.linear(&format!("{root}.mlp.Wo"), shape.inner, hidden)?,
            norm: self.norm(&format!("{root}.mlp_norm"))?,
        })
    }

    fn linear(&mut self, name: &str, inputs: usize, outputs: usize) -> Result<Linear, TensorError> {
        Ok(Linear {
            weights: self.read(&format!("{name}.weight"), &[outputs, inputs])?,
            bias: self.addend(&format!("{name}.bias"), outputs)?,
            inputs,
        })
    }

    fn norm(&mut self, name: &str) -> Result<Norm, TensorError> {
        // As models that were converted from TensorFlow have it.
        let older = format!("{name}.gamma");
        if self.file.has(&format!("{}{older}", self.root)) {
            return Ok(Norm {
                scale: self.read(&older, &[self.hidden])?,
                shift: self.read(&format!("{name}.beta"), &[self.hidden])?,
            });
        }
        Ok(Norm {
            scale: self.read(&format!("{name}.weight"), &[self.hidden])?,
            shift: self.addend(&format!("{name}.bias"), self.hidden)?,
        })
    }

    /// What is added to an output; ModernBERT adds nothing.
    fn addend(&mut self, name: &str, outputs: usize) -> Result<Vec<f32>, TensorError> {
        let is_there = self.file.has(&format!("{}{name}", self.root));
        if self.family == Family::ModernBert && !is_there {
            return Ok(vec![0.0; outputs]);
        }
        self.read(name, &[outputs])
    }

    fn read(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, TensorError> {
        self.file.floats(&format!("{}{name}", self.root), shape)
    }
}

fn words_of(family: Family) -> &'static str {
    match family {
        Family::Bert => "embeddings.word_embeddings.weight",
        Family::ModernBert => "embeddings.tok_embeddings.weight",
    }
}
