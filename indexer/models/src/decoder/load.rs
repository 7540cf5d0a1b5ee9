//! From a file's tensors to packed weights.

use std::ops::Range;

use super::load_error::LoadError;
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

/// A file that holds tensors.
pub(super) trait Source: Sync {
    /// A tensor's sizes; `None` where the file has none of this name.
    fn dims(&self, name: Name) -> Option<Vec<usize>>;

    /// Some rows of a tensor that is there, one after another; a vector is one row.
    fn rows(&self, name: Name, rows: Range<usize>) -> Result<Vec<f32>, LoadError>;
}

/// Reads and packs all weights of a model, on the threads of the current pool.
pub(super) fn weights(source: &dyn Source, shape: &Shape, cpu: Cpu) -> Result<Weights, LoadError> {
    let file = Tensors { source, shape, cpu };
    let hidden = shape.hidden;
    let layers = (0..shape.layers).map(|layer| file.layer(layer));
    let has_output = source.dims(Name::Output).is_some();
    let words = |name| file.matrix(&[(name, shape.vocabulary)], hidden, None);
    Ok(Weights {
        layers: layers.collect::<Result<_, _>>()?,
        words: words(Name::Words)?,
        norm: file.vector(Name::Norm, hidden)?,
        output: has_output.then(|| words(Name::Output)).transpose()?,
    })
}

/// A file's tensors, checked against the sizes they should have.
struct Tensors<'a> {
    source: &'a dyn Source,
    shape: &'a Shape,
    cpu: Cpu,
}

impl Tensors<'_> {
    fn check(&self, name: Name, expected: &[usize]) -> Result<(), LoadError> {
        match self.source.dims(name) {
            None => Err(LoadError::Missing(format!("{name:?}"))),
            Some(dims) if dims != expected => Err(LoadError::Dimensions {
                name: format!("{name:?}"),
                found: dims.to_vec(),
                expected: expected.to_vec(),
            }),
            Some(_) => Ok(()),
        }
    }

    fn read(&self, name: Name, rows: Range<usize>) -> Result<Vec<f32>, LoadError> {
        let numbers = self.source.rows(name, rows)?;
        if numbers.iter().all(|number| number.is_finite()) {
            Ok(numbers)
        } else {
            Err(LoadError::NotFinite(format!("{name:?}")))
        }
    }

    fn vector(&self, name: Name, length: usize) -> Result<Vec<f32>, LoadError> {
        self.check(name, &[length])?;
        self.read(name, 0..1)
    }

    /// One matrix of the rows of several tensors.
    fn matrix(
        &self,
        parts: &[(Name, usize)],
        inputs: usize,
        bias: Option<Vec<f32>>,
    ) -> Result<Matrix, LoadError> {
        for (name, rows) in parts {
            self.check(*name, &[*rows, inputs])?;
        }
        let total = parts.iter().map(|(_, rows)| rows).sum();
        Matrix::pack(self.cpu, (total, inputs), bias, |wanted| {
            let (mut first, mut numbers) = (0, Vec::with_capacity(wanted.len() * inputs));
            for (name, rows) in parts {
                let (start, end) = (wanted.start.max(first), wanted.end.min(first + rows));
                if start < end {
                    numbers.extend(self.read(*name, start - first..end - first)?);
                }
                first += rows;
            }
            Ok(numbers)
        })
    }

    fn layer(&self, layer: usize) -> Result<Layer, LoadError> {
        let Shape { hidden, inner, .. } = *self.shape;
        let queries = self.shape.heads * self.shape.head;
        let keys = self.shape.kv_heads * self.shape.head;
        let biases = [
            (Name::QueryBias(layer), queries),
            (Name::KeyBias(layer), keys),
            (Name::ValueBias(layer), keys),
        ];
        let there = biases
            .iter()
            .filter(|(name, _)| self.source.dims(*name).is_some());
        let bias = match there.count() {
            0 => None,
            3 => {
                let mut bias = Vec::new();
                for (name, length) in biases {
                    bias.extend(self.vector(name, length)?);
                }
                Some(bias)
            }
            _ => {
                return Err(LoadError::PartialBias(layer));
            }
        };
        let query_key_value = [
            (Name::Query(layer), queries),
            (Name::Key(layer), keys),
            (Name::Value(layer), keys),
        ];
        let widen = [(Name::Gate(layer), inner), (Name::Up(layer), inner)];
        Ok(Layer {
            attention_norm: self.vector(Name::AttentionNorm(layer), hidden)?,
            query_key_value: self.matrix(&query_key_value, hidden, bias)?,
            merge: self.matrix(&[(Name::Merge(layer), hidden)], queries, None)?,
            inner_norm: self.vector(Name::InnerNorm(layer), hidden)?,
            widen: self.matrix(&widen, hidden, None)?,
            narrow: self.matrix(&[(Name::Down(layer), hidden)], inner, None)?,
        })
    }
}
