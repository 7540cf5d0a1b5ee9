//! Encoders in candle, 32-bit floats: short, plain, and the standard for the fast engine.

use candle_core::{D, DType, Device, Result as CandleResult, Tensor};
use candle_nn::ops;

use super::Description;
use super::attention::{Rotation, Rotations};
use super::names::{LayerTensors, Linear, Norm, Tensors};
use super::pooling::Pooling;
use super::shape::{Activation, Reach, Shape};
use super::tensors::{Mapped, TensorError, TensorFile};

/// Queries of a sequence whose scores are in memory at a time.
const QUERIES: usize = 256;

/// A network in 32-bit floats, about 8 times slower than in 8-bit integers.
///
/// Each sequence is computed alone, so a text's vector is the same in every batch; on another
/// machine it agrees within 1e-5 (matrix products of other libraries round otherwise).
pub(super) struct Network {
    shape: Shape,
    pooling: Pooling,
    dimensions: usize,
    /// The word matrix, left in the file.
    words: Mapped,
    /// What is added to a word at each place; empty where rotations mark places.
    places: Vec<f32>,
    global: Option<Turn>,
    local: Option<Turn>,
    first_norm: FloatNorm,
    layers: Vec<Layer>,
    last_norm: Option<FloatNorm>,
}

struct Layer {
    reach: Reach,
    query_key_value: FloatLinear,
    merge: FloatLinear,
    attention_norm: Option<FloatNorm>,
    widen: FloatLinear,
    narrow: FloatLinear,
    norm: FloatNorm,
}

struct FloatLinear {
    /// A column an output.
    weights: Tensor,
    bias: Tensor,
}

struct FloatNorm {
    scale: Tensor,
    shift: Tensor,
    epsilon: f64,
}

/// Cosines and sines of every place, a row each.
struct Turn {
    cosines: Tensor,
    sines: Tensor,
}

impl Network {
    /// Reads the tensors; an error says which one does not fit.
    pub fn load(file: &mut TensorFile, description: &Description) -> Result<Self, TensorError> {
        let (shape, window) = (&description.shape, description.window);
        let mut tensors = Tensors::of(file, shape)?;
        let words = tensors.words();
        let norm = |norm| FloatNorm::new(norm, shape.norm_epsilon).map_err(in_words);
        let rotations = Rotations::new(shape, window);
        let turn = |reach| {
            let rotation = rotations.of(reach);
            rotation.map(Turn::new).transpose().map_err(in_words)
        };
        Ok(Self {
            words: tensors
                .file()
                .mapped(&words, shape.vocabulary, shape.hidden)?,
            places: tensors.places(shape, window)?,
            global: turn(Reach::All)?,
            local: turn(Reach::Around(0))?,
            first_norm: norm(tensors.first_norm()?)?,
            layers: (shape.reaches.iter().enumerate())
                .map(|(n, &reach)| {
                    let layer = tensors.layer(shape, n)?;
                    Layer::new(layer, reach, shape.norm_epsilon).map_err(in_words)
                })
                .collect::<Result<_, TensorError>>()?,
            last_norm: tensors.last_norm()?.map(norm).transpose()?,
            shape: shape.clone(),
            pooling: description.pooling,
            dimensions: description.dimensions,
        })
    }

    /// Unit vectors of sequences; of one without a token all zeros.
    pub fn forward(&self, sequences: &[Vec<u32>]) -> CandleResult<Vec<Vec<f32>>> {
        let vector = |sequence: &Vec<u32>| {
            // An empty text has no token where the tokenizer puts none around it.
            if sequence.is_empty() {
                return Ok(vec![0.0; self.dimensions]);
            }
            let states = self.states(sequence)?.flatten_all()?.to_vec1::<f32>()?;
            Ok(self
                .pooling
                .pool(&states, self.shape.hidden, self.dimensions))
        };
        sequences.iter().map(vector).collect()
    }

    /// The last layer's states, a row a token.
    fn states(&self, sequence: &[u32]) -> CandleResult<Tensor> {
        let hidden = self.shape.hidden;
        let mut states = vec![0.0_f32; sequence.len() * hidden];
        for (&word, state) in sequence.iter().zip(states.chunks_exact_mut(hidden)) {
            self.words.row(word as usize, state);
        }
        let placed = states.iter_mut().zip(&self.places);
        placed.for_each(|(state, place)| *state += place);
        let states = Tensor::from_vec(states, (sequence.len(), hidden), &Device::Cpu)?;
        let mut states = self.first_norm.forward(&states)?;
        for layer in &self.layers {
            states = self.layer(layer, &states)?;
        }
        match &self.last_norm {
            Some(norm) => norm.forward(&states),
            None => Ok(states),
        }
    }

    fn layer(&self, layer: &Layer, states: &Tensor) -> CandleResult<Tensor> {
        if !self.shape.normalises_first() {
            let attended = layer.merge.forward(&self.attend(layer, states)?)?;
            let mut states = (attended + states)?;
            if let Some(norm) = &layer.attention_norm {
                states = norm.forward(&states)?;
            }
            let narrow = self.inner(layer, &states)?;
            return layer.norm.forward(&(narrow + states)?);
        }
        let ready = match &layer.attention_norm {
            Some(norm) => norm.forward(states)?,
            None => states.clone(),
        };
        let attended = layer.merge.forward(&self.attend(layer, &ready)?)?;
        let states = (attended + states)?;
        self.inner(layer, &layer.norm.forward(&states)?)? + states
    }

    fn inner(&self, layer: &Layer, states: &Tensor) -> CandleResult<Tensor> {
        let wide = layer.widen.forward(states)?;
        let inner = self.shape.inner;
        let activated = match self.shape.widened() == inner {
            true => self.activate(&wide)?,
            false => {
                let numbers = self.activate(&wide.narrow(1, 0, inner)?.contiguous()?)?;
                (numbers * wide.narrow(1, inner, inner)?)?
            }
        };
        layer.narrow.forward(&activated)
    }

    fn activate(&self, numbers: &Tensor) -> CandleResult<Tensor> {
        match self.shape.activation {
            Activation::Gelu => numbers.gelu_erf(),
            Activation::GeluTanh => numbers.gelu(),
            Activation::Relu => numbers.relu(),
        }
    }

    /// Attention over one sequence, its heads side by side.
    fn attend(&self, layer: &Layer, states: &Tensor) -> CandleResult<Tensor> {
        let (heads, head) = (self.shape.heads, self.shape.head());
        let length = states.dim(0)?;
        let projected = layer.query_key_value.forward(states)?;
        let part = |part: usize| {
            projected
                .narrow(1, part * self.shape.hidden, self.shape.hidden)?
                .reshape((length, heads, head))?
                .transpose(0, 1)?
                .contiguous()
        };
        let (mut query, mut key, value) = (part(0)?, part(1)?, part(2)?);
        let turn = match layer.reach {
            Reach::All => &self.global,
            Reach::Around(_) => &self.local,
        };
        if let Some(turn) = turn {
            (query, key) = (turn.forward(&query)?, turn.forward(&key)?);
        }
        let key = key.t()?.contiguous()?;
        let mut attended = Vec::new();
        for first in (0..length).step_by(QUERIES) {
            let count = QUERIES.min(length - first);
            let query = query.narrow(1, first, count)?.contiguous()?;
            let mut scores = (query.matmul(&key)? / (head as f64).sqrt())?;
            if let Reach::Around(away) = layer.reach {
                scores = scores.broadcast_add(&unseen(first, count, length, away)?)?;
            }
            attended.push(ops::softmax_last_dim(&scores)?.matmul(&value)?);
        }
        Tensor::cat(&attended, 1)?
            .transpose(0, 1)?
            .reshape((length, self.shape.hidden))
    }
}

/// What is added to scores: 0 where a query looks, and less than any score elsewhere.
fn unseen(first: usize, count: usize, length: usize, away: usize) -> CandleResult<Tensor> {
    let of = |query: usize| (0..length).map(move |key| (query, key));
    let numbers = (first..first + count).flat_map(of);
    let numbers = numbers.map(|(query, key)| match query.abs_diff(key) <= away {
        true => 0.0,
        false => f32::NEG_INFINITY,
    });
    Tensor::from_vec(numbers.collect::<Vec<f32>>(), (count, length), &Device::Cpu)
}

impl Layer {
    fn new(tensors: LayerTensors, reach: Reach, epsilon: f32) -> CandleResult<Self> {
        let norm = |norm| FloatNorm::new(norm, epsilon);
        Ok(Self {
            reach,
            query_key_value: FloatLinear::new(tensors.query_key_value)?,
            merge: FloatLinear::new(tensors.merge)?,
            attention_norm: tensors.attention_norm.map(norm).transpose()?,
            widen: FloatLinear::new(tensors.widen)?,
            narrow: FloatLinear::new(tensors.narrow)?,
            norm: norm(tensors.norm)?,
        })
    }
}

impl FloatLinear {
    fn new(linear: Linear) -> CandleResult<Self> {
        let outputs = linear.bias.len();
        let weights = Tensor::from_vec(linear.weights, (outputs, linear.inputs), &Device::Cpu)?;
        Ok(Self {
            weights: weights.t()?,
            bias: Tensor::from_vec(linear.bias, outputs, &Device::Cpu)?,
        })
    }

    fn forward(&self, states: &Tensor) -> CandleResult<Tensor> {
        states.matmul(&self.weights)?.broadcast_add(&self.bias)
    }
}

impl FloatNorm {
    fn new(norm: Norm, epsilon: f32) -> CandleResult<Self> {
        let width = norm.scale.len();
        Ok(Self {
            scale: Tensor::from_vec(norm.scale, width, &Device::Cpu)?,
            shift: Tensor::from_vec(norm.shift, width, &Device::Cpu)?,
            epsilon: f64::from(epsilon),
        })
    }

    fn forward(&self, states: &Tensor) -> CandleResult<Tensor> {
        let off = states.broadcast_sub(&states.mean_keepdim(D::Minus1)?)?;
        let variance = off.sqr()?.mean_keepdim(D::Minus1)?;
        off.broadcast_div(&(variance + self.epsilon)?.sqrt()?)?
            .broadcast_mul(&self.scale)?
            .broadcast_add(&self.shift)
    }
}

impl Turn {
    fn new(rotation: &Rotation) -> CandleResult<Self> {
        let half = rotation.half.max(1);
        let table = |numbers: &[f32]| {
            let shape = (numbers.len() / half, half);
            Tensor::from_slice(numbers, shape, &Device::Cpu)?.to_dtype(DType::F32)
        };
        Ok(Self {
            cosines: table(&rotation.cosines)?,
            sines: table(&rotation.sines)?,
        })
    }

    /// Queries or keys, heads × places × numbers, rotated by their places.
    fn forward(&self, numbers: &Tensor) -> CandleResult<Tensor> {
        let (_, length, size) = numbers.dims3()?;
        let half = size / 2;
        let (one, other) = (
            numbers.narrow(2, 0, half)?,
            numbers.narrow(2, half, size - half)?,
        );
        let (cosines, sines) = (
            self.cosines.narrow(0, 0, length)?,
            self.sines.narrow(0, 0, length)?,
        );
        let turned = (
            (one.broadcast_mul(&cosines)? - other.broadcast_mul(&sines)?)?,
            (other.broadcast_mul(&cosines)? + one.broadcast_mul(&sines)?)?,
        );
        Tensor::cat(&[turned.0, turned.1], 2)?.contiguous()
    }
}

/// candle's errors may carry a backtrace.
fn in_words(error: candle_core::Error) -> TensorError {
    let text = error.to_string();
    TensorError::Engine(text.lines().next().unwrap_or_default().to_owned())
}
