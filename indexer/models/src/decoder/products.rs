//! Products of a step's rows with matrices, and what lies between them, each on all threads of the
//! pool that calls it.

use rayon::prelude::*;

use super::matrix::{ByteRows, Matrix};
use super::stages::{SharedNumbers, TileRows};
use crate::kernels::{Cpu, LANES, ROW_LINES, TILE};

/// A product's activations should stay in a core's cache while the weights go by.
const ROW_BYTES: usize = 512 << 10;
/// Parts of a product for each thread, so that a late thread costs little.
const PARTS: usize = 4;

/// Makes rows of `to` bytes of rows of `from` numbers, a tile at a time.
pub(super) fn each_tile(
    numbers: &[f32],
    (from, to): (usize, usize),
    bytes: &mut ByteRows,
    make: impl Fn(TileRows<'_>) + Sync,
) {
    let (lines, scales, groups) = bytes.resize(numbers.len() / from, to);
    numbers
        .par_chunks(from * TILE)
        .zip(lines.par_chunks_mut(groups * ROW_LINES * TILE))
        .zip(scales.par_chunks_mut(groups * TILE))
        .for_each_init(Vec::new, |space, ((numbers, lines), scales)| {
            make(TileRows {
                numbers,
                from,
                lines,
                scales,
                space,
            });
        });
}

/// `out = rows · matrix + bias`, one row of `matrix.outputs` numbers a row.
pub(super) fn product(cpu: Cpu, rows: &ByteRows, matrix: &Matrix, out: &mut Vec<f32>) {
    let (count, stride) = (rows.count(), matrix.outputs);
    out.resize(count * stride, 0.0);
    let target = SharedNumbers::of(out);
    let at_once = (ROW_BYTES / matrix.inputs.max(1))
        .next_multiple_of(TILE)
        .max(2 * TILE);
    let part = matrix
        .blocks()
        .div_ceil(rayon::current_num_threads() * PARTS)
        .max(1);
    let parts = matrix.blocks().div_ceil(part);
    (0..parts).into_par_iter().for_each(|at| {
        let blocks = at * part..((at + 1) * part).min(matrix.blocks());
        for first in (0..count).step_by(at_once) {
            let rows = rows.part(first..(first + at_once).min(count));
            let target = target.from(first * stride + blocks.start * LANES);
            cpu.multiply_groups(rows, matrix.part(blocks.clone()), target, stride);
        }
    });
    if let Some(bias) = &matrix.bias {
        out.par_chunks_mut(stride).for_each(|row| {
            row.iter_mut()
                .zip(bias)
                .for_each(|(number, bias)| *number += bias);
        });
    }
}

/// Adds rows of a product (which may be wider, for whole blocks) to the states.
pub(super) fn add(states: &mut [f32], hidden: usize, more: &[f32]) {
    let rows = states.len() / hidden;
    let stride = more.len() / rows.max(1);
    let pairs = states
        .par_chunks_mut(hidden)
        .zip(more.par_chunks(stride.max(1)));
    pairs.for_each(|(state, more)| {
        state
            .iter_mut()
            .zip(more)
            .for_each(|(state, more)| *state += more);
    });
}
