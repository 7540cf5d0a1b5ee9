//! The weights, rounded to eight bits and laid out for the kernels.
//!
//! A kernel multiplies four neighbouring inputs at a time into [`PANEL`] outputs, so a matrix of
//! `inputs × outputs` is cut into panels of 64 outputs; in a panel the four weights of output 0 for
//! inputs 0..4 come first, then those of output 1, … of output 63, then inputs 4..8, and so on.

use std::path::Path;

use super::tensors::{Mapped, TensorFile};
use crate::kernels::floats::ROUND;
use crate::kernels::{PANEL, QUAD};
use crate::minilm::shape::{HIDDEN, INNER, LAYERS, POSITIONS, VOCABULARY, WINDOW};

/// The greatest magnitude of a weight in steps of its scale.
const STEPS: f32 = 127.0;

/// The whole model.
pub(super) struct Weights {
    /// The word matrix, little-endian floats: half of all bytes, of which a text uses a few rows.
    /// It is left in the file.
    words: Mapped,
    /// The position's vector plus the one segment type's.
    positions: Vec<f32>,
    pub norm: Norm,
    pub layers: Vec<Layer>,
}

pub(super) struct Layer {
    pub query_key_value: Matrix,
    pub merge: Matrix,
    pub attention_norm: Norm,
    pub widen: Matrix,
    pub narrow: Matrix,
    pub norm: Norm,
}

/// Scale and shift after a normalisation.
pub(super) struct Norm {
    pub scale: Vec<f32>,
    pub shift: Vec<f32>,
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
    /// Reads and packs a safetensors file; an error says which tensor does not fit.
    pub fn load(file: &Path) -> Result<Self, String> {
        let mut file = TensorFile::open(file)?;
        let mut positions = file.floats(
            "embeddings.position_embeddings.weight",
            &[POSITIONS, HIDDEN],
        )?;
        positions.truncate(WINDOW * HIDDEN);
        let segments = file.floats("embeddings.token_type_embeddings.weight", &[2, HIDDEN])?;
        for position in positions.chunks_exact_mut(HIDDEN) {
            position
                .iter_mut()
                .zip(&segments)
                .for_each(|(number, segment)| *number += segment);
        }
        Ok(Self {
            words: file.mapped("embeddings.word_embeddings.weight", &[VOCABULARY, HIDDEN])?,
            positions,
            norm: norm(&mut file, "embeddings.LayerNorm")?,
            layers: (0..LAYERS)
                .map(|n| layer(&mut file, n))
                .collect::<Result<_, _>>()?,
        })
    }

    /// The word matrix, a row a word.
    #[cfg(any(feature = "cuda", test))]
    pub fn words(&self) -> &[u8] {
        &self.words
    }

    /// The positions' vectors, a row a position.
    #[cfg(any(feature = "cuda", test))]
    pub fn positions(&self) -> &[f32] {
        &self.positions
    }

    /// The sum of each token's word and position vectors, one row a token.
    pub fn look_up(&self, sequences: &[Vec<u32>], states: &mut [f32]) {
        let words = self.words.as_chunks::<{ 4 * HIDDEN }>().0;
        let tokens = sequences
            .iter()
            .flat_map(|sequence| sequence.iter().zip(self.positions.chunks_exact(HIDDEN)));
        for ((&word, position), state) in tokens.zip(states.chunks_exact_mut(HIDDEN)) {
            let word = words[word as usize].as_chunks::<4>().0;
            for ((state, word), position) in state.iter_mut().zip(word).zip(position) {
                *state = f32::from_le_bytes(*word) + position;
            }
        }
    }
}

fn layer(file: &mut TensorFile, n: usize) -> Result<Layer, String> {
    let root = format!("encoder.layer.{n}");
    let attention = format!("{root}.attention");
    let (mut weights, mut bias) = (
        Vec::with_capacity(3 * HIDDEN * HIDDEN),
        Vec::with_capacity(3 * HIDDEN),
    );
    for part in ["query", "key", "value"] {
        weights.extend(file.floats(
            &format!("{attention}.self.{part}.weight"),
            &[HIDDEN, HIDDEN],
        )?);
        bias.extend(file.floats(&format!("{attention}.self.{part}.bias"), &[HIDDEN])?);
    }
    Ok(Layer {
        query_key_value: Matrix::pack(&weights, bias, HIDDEN),
        merge: matrix(file, &format!("{attention}.output.dense"), HIDDEN, HIDDEN)?,
        attention_norm: norm(file, &format!("{attention}.output.LayerNorm"))?,
        widen: matrix(file, &format!("{root}.intermediate.dense"), HIDDEN, INNER)?,
        narrow: matrix(file, &format!("{root}.output.dense"), INNER, HIDDEN)?,
        norm: norm(file, &format!("{root}.output.LayerNorm"))?,
    })
}

fn matrix(
    file: &mut TensorFile,
    name: &str,
    inputs: usize,
    outputs: usize,
) -> Result<Matrix, String> {
    let weights = file.floats(&format!("{name}.weight"), &[outputs, inputs])?;
    Ok(Matrix::pack(
        &weights,
        file.floats(&format!("{name}.bias"), &[outputs])?,
        inputs,
    ))
}

fn norm(file: &mut TensorFile, name: &str) -> Result<Norm, String> {
    let mut read = |part| file.floats(&format!("{name}.{part}"), &[HIDDEN]);
    Ok(Norm {
        scale: read("weight")?,
        shift: read("bias")?,
    })
}
