//! Each stage of the encoder, compiled once for each kind of processor.

use super::super::names::Norm;
use super::super::shape::Activation;
use super::attend::{self, Attention, AttentionScratch};
use super::stages::{self, Quantized};
use super::weights::Matrix;
use crate::kernels::cpu::stage;

stage!(stages:
    /// Rounds each row of `width` numbers to bytes with a scale and zero point of its own.
    quantize(rows: &[f32], width: usize, out: &mut Quantized)
);
stage!(stages:
    /// `out = rows · matrix + bias`, one row of `matrix.outputs` numbers a quantized row.
    multiply(rows: &Quantized, matrix: &Matrix, out: &mut [f32])
);
stage!(attend:
    /// Self-attention within each sequence, from queries, keys and values side by side.
    attend(projected: &[f32], lengths: &[usize], attention: &Attention<'_>, scratch: &mut AttentionScratch, out: &mut [f32])
);
stage!(stages:
    /// Adds `more` to the states, then normalises each row of `norm`'s width to mean 0 and variance
    /// 1, scaled and shifted.
    normalize(states: &mut [f32], more: Option<&mut [f32]>, norm: &Norm, epsilon: f32)
);
stage!(stages:
    /// Adds `more` to the states.
    add(states: &mut [f32], more: &[f32])
);
stage!(stages:
    /// The activation function, in place.
    activate(numbers: &mut [f32], activation: Activation)
);
stage!(stages:
    /// Of each row, the activation of its first half times its second half.
    gate(wide: &[f32], inner: usize, activation: Activation, out: &mut [f32])
);
