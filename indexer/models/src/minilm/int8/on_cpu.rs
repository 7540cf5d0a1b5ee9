//! Each stage of the encoder, compiled once for each kind of processor.

use super::stages::{self, AttentionScratch, Quantized};
use super::weights::{Matrix, Norm};
use crate::kernels::cpu::stage;

stage!(stages:
    /// Rounds each row of `width` numbers to bytes with a scale and zero point of its own.
    quantize(rows: &[f32], width: usize, out: &mut Quantized)
);
stage!(stages:
    /// `out = rows · matrix + bias`, one row of `matrix.outputs` numbers a quantized row.
    multiply(rows: &Quantized, matrix: &Matrix, out: &mut [f32])
);
stage!(stages:
    /// Self-attention within each sequence, from queries, keys and values side by side.
    attend(projected: &[f32], lengths: &[usize], scratch: &mut AttentionScratch, out: &mut [f32])
);
stage!(stages:
    /// Adds `more` to the states, then normalises each row to mean 0 and variance 1, scaled and
    /// shifted.
    normalize(states: &mut [f32], more: Option<&mut [f32]>, norm: &Norm)
);
stage!(stages:
    /// The activation function x·Φ(x), in place.
    gelu(numbers: &mut [f32])
);
