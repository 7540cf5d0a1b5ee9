//! From a file's tensors to packed weights.

use super::matrix::Matrix;
use super::network::{Layer, Weights};
use super::shape::Shape;

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

/// A file that holds tensors.
pub(super) trait Source {
    /// A tensor's numbers, row after row, and its shape; `None` where the file has none of this name.
    fn tensor(&mut self, name: Name) -> Result<Option<(Vec<f32>, Vec<usize>)>, String>;
}

/// Reads and packs all weights of a model.
pub(super) fn weights(source: &mut dyn Source, shape: &Shape) -> Result<Weights, String> {
    let Shape { hidden, inner, .. } = *shape;
    let (queries, keys) = (shape.heads * shape.head, shape.kv_heads * shape.head);
    let mut tensor = |name: Name, expected: &[usize]| -> Result<Option<Vec<f32>>, String> {
        let Some((numbers, dims)) = source.tensor(name)? else {
            return Ok(None);
        };
        if dims != expected {
            return Err(format!("{name:?} has the shape {dims:?}, not {expected:?}"));
        }
        match numbers.iter().all(|number| number.is_finite()) {
            true => Ok(Some(numbers)),
            false => Err(format!("{name:?} holds numbers that are not finite")),
        }
    };
    let mut needed = |name: Name, expected: &[usize]| {
        tensor(name, expected)?.ok_or_else(|| format!("it has no {name:?}"))
    };
    let words = Matrix::pack(
        &needed(Name::Words, &[shape.vocabulary, hidden])?,
        hidden,
        None,
    );
    let norm = needed(Name::Norm, &[hidden])?;
    let mut layers = Vec::with_capacity(shape.layers);
    for layer in 0..shape.layers {
        let mut query_key_value = needed(Name::Query(layer), &[queries, hidden])?;
        query_key_value.extend(needed(Name::Key(layer), &[keys, hidden])?);
        query_key_value.extend(needed(Name::Value(layer), &[keys, hidden])?);
        let mut widen = needed(Name::Gate(layer), &[inner, hidden])?;
        widen.extend(needed(Name::Up(layer), &[inner, hidden])?);
        layers.push(Layer {
            attention_norm: needed(Name::AttentionNorm(layer), &[hidden])?,
            query_key_value: Matrix::pack(&query_key_value, hidden, None),
            merge: Matrix::pack(
                &needed(Name::Merge(layer), &[hidden, queries])?,
                queries,
                None,
            ),
            inner_norm: needed(Name::InnerNorm(layer), &[hidden])?,
            widen: Matrix::pack(&widen, hidden, None),
            narrow: Matrix::pack(&needed(Name::Down(layer), &[hidden, inner])?, inner, None),
        });
    }
    for (layer, place) in layers.iter_mut().zip(0..) {
        let parts = [
            (Name::QueryBias(place), queries),
            (Name::KeyBias(place), keys),
            (Name::ValueBias(place), keys),
        ];
        let mut bias = Vec::new();
        for (name, length) in parts {
            bias.extend(tensor(name, &[length])?.unwrap_or_default());
        }
        if bias.len() == queries + 2 * keys {
            layer.query_key_value.bias = Some(bias);
        } else if !bias.is_empty() {
            return Err(format!(
                "layer {place} has a bias on some of queries, keys and values only"
            ));
        }
    }
    let output = tensor(Name::Output, &[shape.vocabulary, hidden])?;
    Ok(Weights {
        words,
        layers,
        norm,
        output: output.map(|output| Matrix::pack(&output, hidden, None)),
    })
}
