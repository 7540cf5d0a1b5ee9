//! From a file's tensors to packed weights.

use rayon::prelude::*;

use super::matrix::Matrix;
use super::network::{Layer, Weights};
use super::shape::Shape;
use crate::kernels::Cpu;

/// The tensors of a model, each by what it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name {
    Words,
    Output,
    Norm,
    AttentionNorm(usize),
    InnerNorm(usize),
    Query(usize),
    Key(usize),
    Value(usize),
    QueryBias(usize),
    KeyBias(usize),
    ValueBias(usize),
    Merge(usize),
    Gate(usize),
    Up(usize),
    Down(usize),
}

/// Numbers, row after row, and their shape.
pub(super) type Tensor = (Vec<f32>, Vec<usize>);

/// A file that holds tensors.
pub(super) trait Source: Sync {
    /// A tensor; `None` where the file has none of this name.
    fn tensor(&self, name: Name) -> Result<Option<Tensor>, String>;
}

/// Reads and packs all weights of a model, layers side by side on the current thread pool.
pub(super) fn weights(source: &dyn Source, shape: &Shape, cpu: Cpu) -> Result<Weights, String> {
    let file = Tensors { source, shape, cpu };
    let hidden = shape.hidden;
    let layers = (0..shape.layers)
        .into_par_iter()
        .map(|layer| file.layer(layer));
    let layers = layers.collect::<Result<Vec<Layer>, String>>()?;
    let words = [shape.vocabulary, hidden];
    let output = file.find(Name::Output, &words)?;
    Ok(Weights {
        words: Matrix::pack(cpu, &file.need(Name::Words, &words)?, hidden, None),
        layers,
        norm: file.need(Name::Norm, &[hidden])?,
        output: output.map(|output| Matrix::pack(cpu, &output, hidden, None)),
    })
}

/// A file's tensors, checked against the sizes they should have.
struct Tensors<'a> {
    source: &'a dyn Source,
    shape: &'a Shape,
    cpu: Cpu,
}

impl Tensors<'_> {
    fn find(&self, name: Name, expected: &[usize]) -> Result<Option<Vec<f32>>, String> {
        let Some((numbers, dims)) = self.source.tensor(name)? else {
            return Ok(None);
        };
        if dims != expected {
            return Err(format!("{name:?} has the shape {dims:?}, not {expected:?}"));
        }
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(format!("{name:?} holds numbers that are not finite"));
        }
        Ok(Some(numbers))
    }

    fn need(&self, name: Name, expected: &[usize]) -> Result<Vec<f32>, String> {
        self.find(name, expected)?
            .ok_or_else(|| format!("it has no {name:?}"))
    }

    fn layer(&self, layer: usize) -> Result<Layer, String> {
        let Shape { hidden, inner, .. } = *self.shape;
        let queries = self.shape.heads * self.shape.head;
        let keys = self.shape.kv_heads * self.shape.head;
        let pack = |rows: &[f32], inputs, bias| Matrix::pack(self.cpu, rows, inputs, bias);
        let mut query_key_value = self.need(Name::Query(layer), &[queries, hidden])?;
        query_key_value.extend(self.need(Name::Key(layer), &[keys, hidden])?);
        query_key_value.extend(self.need(Name::Value(layer), &[keys, hidden])?);
        let parts = [
            (Name::QueryBias(layer), queries),
            (Name::KeyBias(layer), keys),
            (Name::ValueBias(layer), keys),
        ];
        let mut bias = Vec::new();
        for (name, length) in parts {
            bias.extend(self.find(name, &[length])?.unwrap_or_default());
        }
        if !bias.is_empty() && bias.len() != queries + 2 * keys {
            return Err(format!(
                "layer {layer} has a bias on some of queries, keys and values only"
            ));
        }
        let bias = (!bias.is_empty()).then_some(bias);
        let mut widen = self.need(Name::Gate(layer), &[inner, hidden])?;
        widen.extend(self.need(Name::Up(layer), &[inner, hidden])?);
        Ok(Layer {
            attention_norm: self.need(Name::AttentionNorm(layer), &[hidden])?,
            query_key_value: pack(&query_key_value, hidden, bias),
            merge: pack(
                &self.need(Name::Merge(layer), &[hidden, queries])?,
                queries,
                None,
            ),
            inner_norm: self.need(Name::InnerNorm(layer), &[hidden])?,
            widen: pack(&widen, hidden, None),
            narrow: pack(
                &self.need(Name::Down(layer), &[hidden, inner])?,
                inner,
                None,
            ),
        })
    }
}
