//! The weights, rounded to eight bits and laid out for the kernels.
//!
//! A kernel multiplies four neighbouring inputs at a time into [`PANEL`] outputs, so a matrix of
//! `inputs × outputs` is cut into panels of 64 outputs; in a panel the four weights of output 0 for
//! inputs 0..4 come first, then those of output 1, … of output 63, then inputs 4..8, and so on.

use super::super::Description;
use super::super::attention::Rotations;
use super::super::names::{LayerTensors, Linear, Norm, Tensors};
use super::super::shape::Reach;
use super::super::tensors::{Mapped, TensorError, TensorFile};
use crate::kernels::floats::ROUND;
use crate::kernels::{PANEL, QUAD};

/// The greatest magnitude of a weight in steps of its scale.
const STEPS: f32 = 127.0;

/// The whole model.
pub(in super::super) struct Weights {
    hidden: usize,
    /// The word matrix: half of all bytes, of which a text uses a few rows. It is left in the file.
    words: Mapped,
    /// The position's vector plus the one segment type's, a row a place; empty where
    /// rotations mark places.
    places: Vec<f32>,
    pub rotations: Rotations,
    pub first_norm: Norm,
    pub(super) layers: Vec<Layer>,
    /// Of the last layer's states, where each half of a layer normalises before it computes.
    pub last_norm: Option<Norm>,
}

pub(super) struct Layer {
    pub reach: Reach,
    pub query_key_value: Matrix,
    pub merge: Matrix,
    /// `None`: nothing is normalised.
    pub attention_norm: Option<Norm>,
    pub widen: Matrix,
    pub narrow: Matrix,
    pub norm: Norm,
}

/// A linear layer in integers: `output = scale · (integer sum) + bias`.
pub(super) struct Matrix {
    pub inputs: usize,
    pub outputs: usize,
    /// In the order the module's first lines describe.
    pub packed: Vec<i8>,
    /// One an output: what a step of its weights is worth.
    pub scales: Vec<f32>,
    /// One an output: the sum of its weights, to take the inputs' zero point out of a product.
    pub sums: Vec<i32>,
    pub bias: Vec<f32>,
}

impl Matrix {
    /// Rounds rows of weights (one an output) and lays them out.
    pub fn pack(weights: &[f32], bias: Vec<f32>, inputs: usize) -> Self {
        let outputs = bias.len();
        assert!(
            inputs.is_multiple_of(QUAD)
                && outputs.is_multiple_of(PANEL)
                && weights.len() == inputs * outputs
        );
        let mut matrix = Self {
            inputs,
            outputs,
            packed: vec![0; inputs * outputs],
            scales: Vec::with_capacity(outputs),
            sums: Vec::with_capacity(outputs),
            bias,
        };
        let mut steps = vec![0_i8; inputs];
        for (output, row) in weights.chunks_exact(inputs).enumerate() {
            let greatest = row
                .iter()
                .fold(0.0_f32, |greatest, weight| greatest.max(weight.abs()));
            let scale = if greatest > 0.0 {
                greatest / STEPS
            } else {
                1.0
            };
            let inverse = 1.0 / scale;
            for (step, weight) in steps.iter_mut().zip(row) {
                *step = (weight * inverse + ROUND).to_bits() as i8;
            }
            let panel = &mut matrix.packed[output / PANEL * PANEL * inputs..][..PANEL * inputs];
            let places = panel
                .as_chunks_mut::<QUAD>()
                .0
                .iter_mut()
                .skip(output % PANEL)
                .step_by(PANEL);
            for (place, four) in places.zip(steps.as_chunks::<QUAD>().0) {
                *place = *four;
            }
            matrix
                .sums
                .push(steps.iter().map(|&step| i32::from(step)).sum());
            matrix.scales.push(scale);
        }
        matrix
    }
}

impl Weights {
    /// Reads and packs the tensors; an error says which one does not fit.
    pub fn load(file: &mut TensorFile, description: &Description) -> Result<Self, TensorError> {
        let shape = &description.shape;
        let mut tensors = Tensors::of(file, shape)?;
        let words = tensors.words();
        Ok(Self {
            hidden: shape.hidden,
            words: tensors
                .file()
                .mapped(&words, shape.vocabulary, shape.hidden)?,
            places: tensors.places(shape, description.window)?,
            rotations: Rotations::new(shape, description.window),
            first_norm: tensors.first_norm()?,
            layers: (shape.reaches.iter().enumerate())
                .map(|(n, &reach)| Ok(Layer::pack(tensors.layer(shape, n)?, reach)))
                .collect::<Result<_, TensorError>>()?,
            last_norm: tensors.last_norm()?,
        })
    }

    /// The word matrix, a row a word; `None` where its numbers are no 32-bit floats.
    #[cfg(any(feature = "cuda", test))]
    pub fn words(&self) -> Option<&[u8]> {
        self.words.as_f32_bytes()
    }

    /// The places' vectors, a row a place.
    #[cfg(any(feature = "cuda", test))]
    pub fn places(&self) -> &[f32] {
        &self.places
    }

    /// The sum of each token's word and place vectors, one row a token.
    pub fn look_up(&self, sequences: &[Vec<u32>], states: &mut [f32]) {
        let mut rows = states.chunks_exact_mut(self.hidden);
        for sequence in sequences {
            let mut places = self.places.chunks_exact(self.hidden);
            for (&word, state) in sequence.iter().zip(&mut rows) {
                self.words.row(word as usize, state);
                if let Some(place) = places.next() {
                    let numbers = state.iter_mut().zip(place);
                    numbers.for_each(|(state, place)| *state += place);
                }
            }
        }
    }
}

impl Layer {
    fn pack(tensors: LayerTensors, reach: Reach) -> Self {
        let pack = |linear: Linear| Matrix::pack(&linear.weights, linear.bias, linear.inputs);
        Self {
            reach,
            query_key_value: pack(tensors.query_key_value),
            merge: pack(tensors.merge),
            attention_norm: tensors.attention_norm,
            widen: pack(tensors.widen),
            narrow: pack(tensors.narrow),
            norm: tensors.norm,
        }
    }
}
