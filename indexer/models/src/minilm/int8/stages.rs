//! The steps of an encoder layer, written once for every processor.
//!
//! Each is inlined into functions compiled for each kind of processor (see [`cpu`](super::cpu)), so
//! the plain loops here become vector code. For the same bits everywhere they keep three rules:
//! sums run in [`LANES`] interleaved lanes, folded in a fixed order; a multiplication is fused with
//! an addition exactly where `mul_add` is written; rounding to integers is by adding [`ROUND`].

use super::weights::{Matrix, Norm};
use crate::kernels::floats::{ROUND, exp2, fold};
use crate::kernels::{Kernel, LANES, PANEL, ROWS, Strided, StridedMut};
use crate::minilm::shape::{HEAD, HEADS, HIDDEN, NORM_EPSILON};

/// The greatest value of a quantized activation.
const BYTE: f32 = 255.0;

/// log₂(e) / √32: attention's scores are powers of two.
pub(super) const ATTENTION_FACTOR: f32 =
    std::f32::consts::LOG2_E / (4.0 * std::f32::consts::SQRT_2);

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

/// What attention needs for one head of one sequence.
#[derive(Default)]
pub(super) struct AttentionScratch {
    /// Queries, a row a token, rows padded to whole tiles.
    queries: Vec<f32>,
    /// Keys, a row a *dimension*, columns padded to whole vectors.
    keys: Vec<f32>,
    /// Values, a row a token.
    values: Vec<f32>,
    /// Scores, then weights, of one tile of queries.
    scores: Vec<f32>,
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
pub(super) fn attend<K: Kernel>(
    projected: &[f32],
    lengths: &[usize],
    scratch: &mut AttentionScratch,
    out: &mut [f32],
) {
    let mut first = 0;
    for &length in lengths {
        let projected = &projected[first * 3 * HIDDEN..][..length * 3 * HIDDEN];
        let out = &mut out[first * HIDDEN..][..length * HIDDEN];
        for head in 0..HEADS {
            attend_head::<K>(projected, head * HEAD, scratch, out);
        }
        first += length;
    }
}

/// One head, whose numbers begin at `place` in each of a row's three parts.
#[inline(always)]
fn attend_head<K: Kernel>(
    projected: &[f32],
    place: usize,
    scratch: &mut AttentionScratch,
    out: &mut [f32],
) {
    let length = projected.len() / (3 * HIDDEN);
    let (padded_rows, padded) = (
        length.next_multiple_of(ROWS),
        length.next_multiple_of(LANES),
    );
    let AttentionScratch {
        queries,
        keys,
        values,
        scores,
    } = scratch;
    queries.resize(padded_rows * HEAD, 0.0);
    keys.resize(HEAD * padded, 0.0);
    values.resize(length * HEAD, 0.0);
    scores.resize(ROWS * padded, 0.0);
    for (token, row) in projected.chunks_exact(3 * HIDDEN).enumerate() {
        queries[token * HEAD..][..HEAD].copy_from_slice(&row[place..][..HEAD]);
        values[token * HEAD..][..HEAD].copy_from_slice(&row[2 * HIDDEN + place..][..HEAD]);
        for (dimension, key) in row[HIDDEN + place..][..HEAD].iter().enumerate() {
            keys[dimension * padded + token] = *key;
        }
    }
    for (tile, queries) in queries.chunks_exact(ROWS * HEAD).enumerate() {
        let rows = Strided {
            start: queries.as_ptr(),
            stride: HEAD,
        };
        let mut column = 0;
        while column < padded {
            let columns = Strided {
                start: keys[column..].as_ptr(),
                stride: padded,
            };
            let target = StridedMut {
                start: scores[column..].as_mut_ptr(),
                stride: padded,
            };
            // SAFETY: a tile holds 6 rows of `HEAD`; from `column` on, each of the `HEAD` rows of
            // keys and the 6 rows of scores has `padded − column` numbers, as many as each arm
            // needs; features as in `multiply`.
            unsafe {
                match (padded - column) / LANES {
                    1 => K::float_tile::<ROWS, 1>(rows, columns, HEAD, target),
                    2 => K::float_tile::<ROWS, 2>(rows, columns, HEAD, target),
                    3 => K::float_tile::<ROWS, 3>(rows, columns, HEAD, target),
                    _ => K::float_tile::<ROWS, 4>(rows, columns, HEAD, target),
                }
            }
            column += 4 * LANES;
        }
        let mut sums = [0.0; ROWS];
        for (scores, sum) in scores.chunks_exact_mut(padded).zip(&mut sums) {
            *sum = exponentials(scores, length);
        }
        let mut mixed = [[0.0_f32; HEAD]; ROWS];
        let rows = Strided {
            start: scores.as_ptr(),
            stride: padded,
        };
        let columns = Strided {
            start: values.as_ptr(),
            stride: HEAD,
        };
        let target = StridedMut {
            start: mixed.as_mut_ptr().cast(),
            stride: HEAD,
        };
        // SAFETY: 6 rows of `padded ≥ length` weights, `length` rows of `HEAD = 32` values, 6 rows
        // of 32 to write; features as in `multiply`.
        unsafe { K::float_tile::<ROWS, { HEAD / LANES }>(rows, columns, length, target) };
        for (token, (mixed, sum)) in (tile * ROWS..length).zip(mixed.iter().zip(sums)) {
            let inverse = 1.0 / sum;
            for (out, mixed) in out[token * HIDDEN + place..][..HEAD].iter_mut().zip(mixed) {
                *out = mixed * inverse;
            }
        }
    }
}

/// Replaces the first `length` scores by `exp((score − greatest) / √HEAD)`; returns their sum.
///
/// The padding after them becomes (next to) nothing. Relative error of each below 3e-7.
#[inline(always)]
fn exponentials(scores: &mut [f32], length: usize) -> f32 {
    scores[length..].fill(f32::MIN);
    let vectors = scores.as_chunks_mut::<LANES>().0;
    let mut greatest = [f32::MIN; LANES];
    for vector in vectors.iter() {
        for (greatest, &score) in greatest.iter_mut().zip(vector) {
            *greatest = if score > *greatest { score } else { *greatest };
        }
    }
    let greatest = greatest.iter().fold(
        f32::MIN,
        |most, &score| if score > most { score } else { most },
    );
    let mut sums = [0.0_f32; LANES];
    for vector in vectors {
        for (sum, score) in sums.iter_mut().zip(vector) {
            *score = exp2((*score - greatest) * ATTENTION_FACTOR);
            *sum += *score;
        }
    }
    fold(sums)
}

#[inline(always)]
pub(super) fn normalize<K: Kernel>(states: &mut [f32], more: Option<&mut [f32]>, norm: &Norm) {
    const WIDTH: f32 = HIDDEN as f32;
    if let Some(more) = more {
        for (state, more) in states.iter_mut().zip(more) {
            *state += *more;
        }
    }
    for state in states.as_chunks_mut::<HIDDEN>().0 {
        let mut sums = [0.0_f32; LANES];
        for vector in state.as_chunks::<LANES>().0 {
            for (sum, number) in sums.iter_mut().zip(vector) {
                *sum += number;
            }
        }
        let mean = fold(sums) / WIDTH;
        let mut squares = [0.0_f32; LANES];
        for vector in state.as_chunks::<LANES>().0 {
            for (square, number) in squares.iter_mut().zip(vector) {
                let off = number - mean;
                *square = off.mul_add(off, *square);
            }
        }
        let inverse = 1.0 / (fold(squares) / WIDTH + NORM_EPSILON as f32).sqrt();
        for ((number, scale), shift) in state.iter_mut().zip(&norm.scale).zip(&norm.shift) {
            *number = ((*number - mean) * inverse).mul_add(*scale, *shift);
        }
    }
}

#[inline(always)]
pub(super) fn gelu<K: Kernel>(numbers: &mut [f32]) {
    for number in numbers {
        *number = gelu_of(*number);
    }
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

/// The mean of a sequence's rows, scaled to length one.
pub(super) fn pool(states: &[f32]) -> Vec<f32> {
    let mut vector = vec![0.0_f32; HIDDEN];
    for state in states.chunks_exact(HIDDEN) {
        vector
            .iter_mut()
            .zip(state)
            .for_each(|(sum, number)| *sum += number);
    }
    unit(vector)
}

/// The vector scaled to length one.
pub(super) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|x| *x /= length);
    }
    vector
}
