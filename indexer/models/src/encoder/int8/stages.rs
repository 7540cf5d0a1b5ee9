//! The steps of an encoder layer, written once for every processor.
//!
//! Each is inlined into functions compiled for each kind of processor (see [`cpu`](super::cpu)), so
//! the plain loops here become vector code. For the same bits everywhere they keep three rules:
//! sums run in [`LANES`] interleaved lanes, folded in a fixed order; a multiplication is fused with
//! an addition exactly where `mul_add` is written; rounding to integers is by adding [`ROUND`].

use super::super::names::Norm;
use super::super::shape::Activation;
use super::weights::Matrix;
use crate::kernels::floats::{ROUND, exp2, fold};
use crate::kernels::{Kernel, LANES, PANEL, ROWS};

/// The greatest value of a quantized activation.
const BYTE: f32 = 255.0;

/// Rows of activations in bytes: `number = (byte − zero) · scale`.
#[derive(Default)]
pub(super) struct Quantized {
    pub width: usize,
    pub bytes: Vec<u8>,
    /// One a row.
    pub scales: Vec<f32>,
    /// One a row: the byte that means 0.
    pub zeros: Vec<i32>,
}

#[inline(always)]
pub(super) fn quantize<K: Kernel>(rows: &[f32], width: usize, out: &mut Quantized) {
    let count = rows.len() / width;
    out.width = width;
    out.bytes.resize(count * width, 0);
    out.scales.resize(count, 0.0);
    out.zeros.resize(count, 0);
    let places = out.scales.iter_mut().zip(&mut out.zeros);
    for ((row, bytes), (scale, zero)) in rows
        .chunks_exact(width)
        .zip(out.bytes.chunks_exact_mut(width))
        .zip(places)
    {
        // Zero is always within the range, so that it is represented exactly.
        let (mut low, mut high) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        for numbers in row.as_chunks::<LANES>().0 {
            for ((low, high), &number) in low.iter_mut().zip(&mut high).zip(numbers) {
                *low = if number < *low { number } else { *low };
                *high = if number > *high { number } else { *high };
            }
        }
        let low = low.iter().fold(
            0.0_f32,
            |least, &number| if number < least { number } else { least },
        );
        let high = high.iter().fold(
            0.0_f32,
            |most, &number| if number > most { number } else { most },
        );
        let range = if high > low { high - low } else { 1.0 };
        let inverse = BYTE / range;
        let shift = -low * inverse + ROUND - ROUND;
        *scale = range / BYTE;
        *zero = shift as i32;
        for (byte, &number) in bytes.iter_mut().zip(row) {
            let step = number.mul_add(inverse, shift);
            let step = if step > BYTE { BYTE } else { step };
            let step = if step < 0.0 { 0.0 } else { step };
            *byte = (step + ROUND).to_bits() as u8;
        }
    }
}

#[inline(always)]
pub(super) fn multiply<K: Kernel>(rows: &Quantized, matrix: &Matrix, out: &mut [f32]) {
    let (inputs, outputs) = (matrix.inputs, matrix.outputs);
    let count = rows.scales.len();
    assert!(rows.width == inputs && out.len() == count * outputs);
    let mut sums = [[0_i32; PANEL]; ROWS];
    for (place, panel) in matrix.packed.chunks_exact(PANEL * inputs).enumerate() {
        let first = place * PANEL;
        let weights = matrix.scales[first..][..PANEL].as_chunks::<PANEL>().0;
        let weight_sums = matrix.sums[first..][..PANEL].as_chunks::<PANEL>().0;
        let bias = matrix.bias[first..][..PANEL].as_chunks::<PANEL>().0;
        for (tile, bytes) in rows.bytes.chunks(ROWS * inputs).enumerate() {
            // SAFETY: `bytes` holds as many rows of `inputs` bytes as each arm's kernel reads, the
            // panel has 64 columns of `inputs`, a multiple of 4 (`Matrix::pack`); the processor has
            // the features of `K`, for this code runs only where `Cpu` detected them.
            unsafe {
                match bytes.len() / inputs {
                    1 => K::integer_tile::<1>(bytes, inputs, panel, &mut sums),
                    2 => K::integer_tile::<2>(bytes, inputs, panel, &mut sums),
                    3 => K::integer_tile::<3>(bytes, inputs, panel, &mut sums),
                    4 => K::integer_tile::<4>(bytes, inputs, panel, &mut sums),
                    5 => K::integer_tile::<5>(bytes, inputs, panel, &mut sums),
                    _ => K::integer_tile::<ROWS>(bytes, inputs, panel, &mut sums),
                }
            }
            for (row, sums) in (tile * ROWS..count).zip(&sums) {
                let (scale, zero) = (rows.scales[row], rows.zeros[row]);
                let out = &mut out[row * outputs + first..][..PANEL];
                for c in 0..PANEL {
                    let sum = sums[c].wrapping_sub(zero.wrapping_mul(weight_sums[0][c]));
                    out[c] = (sum as f32).mul_add(scale * weights[0][c], bias[0][c]);
                }
            }
        }
    }
}

#[inline(always)]
pub(super) fn normalize<K: Kernel>(
    states: &mut [f32],
    more: Option<&mut [f32]>,
    norm: &Norm,
    epsilon: f32,
) {
    if let Some(more) = more {
        add::<K>(states, more);
    }
    // The default model's width is known to the compiler.
    match norm.scale.len() {
        384 => normalize_rows(states, 384, norm, epsilon),
        width => normalize_rows(states, width, norm, epsilon),
    }
}

#[inline(always)]
fn normalize_rows(states: &mut [f32], width: usize, norm: &Norm, epsilon: f32) {
    for state in states.chunks_exact_mut(width) {
        let mut sums = [0.0_f32; LANES];
        for vector in state.as_chunks::<LANES>().0 {
            for (sum, number) in sums.iter_mut().zip(vector) {
                *sum += number;
            }
        }
        let mean = fold(sums) / width as f32;
        let mut squares = [0.0_f32; LANES];
        for vector in state.as_chunks::<LANES>().0 {
            for (square, number) in squares.iter_mut().zip(vector) {
                let off = number - mean;
                *square = off.mul_add(off, *square);
            }
        }
        let inverse = 1.0 / (fold(squares) / width as f32 + epsilon).sqrt();
        for ((number, scale), shift) in state.iter_mut().zip(&norm.scale).zip(&norm.shift) {
            *number = ((*number - mean) * inverse).mul_add(*scale, *shift);
        }
    }
}

#[inline(always)]
pub(super) fn add<K: Kernel>(states: &mut [f32], more: &[f32]) {
    for (state, more) in states.iter_mut().zip(more) {
        *state += *more;
    }
}

#[inline(always)]
pub(super) fn activate<K: Kernel>(numbers: &mut [f32], activation: Activation) {
    match activation {
        Activation::Gelu => numbers.iter_mut().for_each(|it| *it = gelu_of(*it)),
        Activation::GeluTanh => numbers.iter_mut().for_each(|it| *it = gelu_tanh_of(*it)),
        Activation::Relu => numbers.iter_mut().for_each(|it| *it = relu_of(*it)),
    }
}

#[inline(always)]
pub(super) fn gate<K: Kernel>(wide: &[f32], inner: usize, activation: Activation, out: &mut [f32]) {
    let rows = wide
        .chunks_exact(2 * inner)
        .zip(out.chunks_exact_mut(inner));
    for (row, out) in rows {
        let (inputs, gates) = row.split_at(inner);
        let numbers = out.iter_mut().zip(inputs.iter().zip(gates));
        match activation {
            Activation::Gelu => numbers.for_each(|(out, (it, gate))| *out = gelu_of(*it) * gate),
            Activation::GeluTanh => {
                numbers.for_each(|(out, (it, gate))| *out = gelu_tanh_of(*it) * gate);
            }
            Activation::Relu => numbers.for_each(|(out, (it, gate))| *out = relu_of(*it) * gate),
        }
    }
}

#[inline(always)]
fn relu_of(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.0 }
}

/// x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))), which is x · σ(2·√(2/π)·(x + 0.044715·x³)).
#[inline(always)]
pub(super) fn gelu_tanh_of(x: f32) -> f32 {
    /// −2·√(2/π)·log₂(e)
    const FACTOR: f32 = -2.302_208_2;
    let z = (0.044_715 * x * x).mul_add(x, x) * FACTOR;
    // A power of two that is at most one, for either sign.
    let power = exp2(if z > 0.0 { -z } else { z });
    let sigma = (if z > 0.0 { power } else { 1.0 }) / (1.0 + power);
    x * sigma
}

/// x·Φ(x), Φ the normal distribution function: Φ(x) − ½ is odd, so it is x times a polynomial in
/// x², fitted on |x| ≤ 4.5 in the variable t = 2x²/4.5² − 1, and constant beyond.
///
/// Absolute error below 3e-5 for |x| ≤ 6, below 1e-6 for |x| ≤ 4.
#[inline(always)]
pub(super) fn gelu_of(x: f32) -> f32 {
    const LIMIT: f32 = 4.5;
    let bounded = if x > LIMIT { LIMIT } else { x };
    let bounded = if bounded < -LIMIT { -LIMIT } else { bounded };
    let t = (bounded * bounded).mul_add(2.0 / (LIMIT * LIMIT), -1.0);
    let slope = (-0.000_269_050_48_f32)
        .mul_add(t, 0.000_904_525_63)
        .mul_add(t, -0.001_553_265_3)
        .mul_add(t, 0.002_879_381_9)
        .mul_add(t, -0.006_081_525)
        .mul_add(t, 0.011_318_834)
        .mul_add(t, -0.018_640_518)
        .mul_add(t, 0.028_319_523)
        .mul_add(t, -0.040_179_946)
        .mul_add(t, 0.054_697_596)
        .mul_add(t, -0.077_190_2)
        .mul_add(t, 0.156_904_98);
    x * bounded.mul_add(slope, 0.5)
}
