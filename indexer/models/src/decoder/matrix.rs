//! Linear layers in signed bytes: weights in groups of 128 inputs, activations in groups of 128
//! numbers.
//!
//! A group has a scale of its own, so an outlier costs the 127 numbers beside it and no others.
//! Both sides are rounded to ±127 steps; the sum over a group is exact (see [`crate::kernels`]).

// Counted loops, which the compiler turns into vector code where iterators would hide the counts.
#![allow(clippy::needless_range_loop)]

use std::ops::Range;

use crate::kernels::floats::ROUND;
use crate::kernels::{
    BLOCK_LINES, Cpu, GROUP, GroupBlocks, GroupRows, LANES, LINE, Line, QUAD, ROW_LINES, TILE,
};

use super::load_error::LoadError;

/// The greatest magnitude in steps of a scale.
pub(super) const STEPS: f32 = 127.0;
/// Blocks of weights that are read at a time.
const BLOCKS_READ: usize = 4;

/// `outputs × inputs` weights, packed for the kernels, with an optional bias.
pub(super) struct Matrix {
    pub inputs: usize,
    /// A multiple of [`LANES`]; what is beyond the model's own has weights of 0.
    pub outputs: usize,
    groups: usize,
    lines: Vec<Line>,
    scales: Vec<[f32; LANES]>,
    sums: Vec<[i32; LANES]>,
    pub bias: Option<Vec<f32>>,
}

impl Matrix {
    /// Rounds and packs `rows` rows of weights, one row an output. `read` gives some of them, one
    /// after another; it is asked for parts side by side, so that no matrix is ever whole in
    /// floats.
    ///
    /// # Errors
    /// The first of `read`.
    pub fn pack(
        cpu: Cpu,
        (rows, inputs): (usize, usize),
        bias: Option<Vec<f32>>,
        read: impl Fn(Range<usize>) -> Result<Vec<f32>, LoadError> + Sync,
    ) -> Result<Self, LoadError> {
        use rayon::prelude::*;
        let groups = inputs.div_ceil(GROUP);
        let blocks = rows.div_ceil(LANES);
        let mut lines = vec![Line([0; LINE]); blocks * groups * BLOCK_LINES];
        let mut scales = vec![[0.0; LANES]; blocks * groups];
        let mut sums = vec![[0; LANES]; blocks * groups];
        let parts = lines
            .par_chunks_mut(groups * BLOCK_LINES * BLOCKS_READ)
            .zip(scales.par_chunks_mut(groups * BLOCKS_READ))
            .zip(sums.par_chunks_mut(groups * BLOCKS_READ));
        parts
            .enumerate()
            .try_for_each(|(part, ((lines, scales), sums))| {
                let first = part * BLOCKS_READ * LANES;
                let weights = read(first..(first + BLOCKS_READ * LANES).min(rows))?;
                let places = scales.chunks_mut(groups).zip(sums.chunks_mut(groups));
                let places = lines.chunks_mut(groups * BLOCK_LINES).zip(places);
                for (rows, (lines, (scales, sums))) in weights.chunks(LANES * inputs).zip(places) {
                    cpu.pack_block(rows, inputs, (lines, scales, sums));
                }
                Ok::<(), LoadError>(())
            })?;
        let outputs = blocks * LANES;
        let bias = bias.map(|mut bias| {
            bias.resize(outputs, 0.0);
            bias
        });
        Ok(Self {
            inputs,
            outputs,
            groups,
            lines,
            scales,
            sums,
            bias,
        })
    }

    /// Groups of inputs.
    #[cfg(any(feature = "cuda", test))]
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// The number of blocks of outputs.
    pub fn blocks(&self) -> usize {
        self.outputs / LANES
    }

    /// Some of the blocks, as the kernels take them.
    pub fn part(&self, blocks: Range<usize>) -> GroupBlocks<'_> {
        let places = blocks.start * self.groups..blocks.end * self.groups;
        GroupBlocks {
            lines: &self.lines[places.start * BLOCK_LINES..places.end * BLOCK_LINES],
            scales: &self.scales[places.clone()],
            sums: &self.sums[places],
        }
    }

    /// One row of weights as floats: what a token's number looks up where the matrix holds the
    /// vocabulary.
    pub fn row(&self, output: usize, out: &mut [f32]) {
        let (block, lane) = (output / LANES, output % LANES);
        for (group, out) in out.chunks_mut(GROUP).enumerate() {
            let place = block * self.groups + group;
            let scale = self.scales[place][lane];
            let lines = &self.lines[place * BLOCK_LINES..][..BLOCK_LINES];
            for (i, out) in out.iter_mut().enumerate() {
                *out = f32::from(lines[i / QUAD].0[lane * QUAD + i % QUAD]) * scale;
            }
        }
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.lines.len() * LINE + self.scales.len() * LANES * 8
    }
}

/// Rounds and packs the rows (at most [`LANES`]) of one block.
#[inline(always)]
pub(super) fn pack_block(
    rows: &[f32],
    inputs: usize,
    (lines, scales, sums): (&mut [Line], &mut [[f32; LANES]], &mut [[i32; LANES]]),
) {
    for (output, row) in rows.chunks_exact(inputs).enumerate() {
        for (group, scales) in scales.iter_mut().enumerate() {
            let (bytes, scale) = round_group(&row[group * GROUP..]);
            scales[output] = scale;
            let mut sum = 0;
            for byte in bytes {
                sum += i32::from(byte);
            }
            sums[group][output] = 128 * sum;
            let lines = &mut lines[group * BLOCK_LINES..][..BLOCK_LINES];
            for (line, four) in lines.iter_mut().zip(bytes.as_chunks::<QUAD>().0) {
                line.0[output * QUAD..][..QUAD].copy_from_slice(four);
            }
        }
    }
}

/// Rows of activations in signed bytes, in tiles of 16 rows; see [`GroupRows`].
#[derive(Default)]
pub(super) struct ByteRows {
    groups: usize,
    lines: Vec<Line>,
    scales: Vec<f32>,
    count: usize,
}

impl ByteRows {
    /// Makes room for `count` rows of `width` numbers; gives lines and scales, to be cut into tiles
    /// of [`TILE`] rows.
    pub fn resize(&mut self, count: usize, width: usize) -> (&mut [Line], &mut [f32], usize) {
        let groups = width.div_ceil(GROUP);
        let padded = count.next_multiple_of(TILE) * groups * ROW_LINES;
        self.groups = groups;
        self.lines.resize(padded, Line([0; LINE]));
        // What an earlier, longer use left behind the rows must not be taken for padding.
        let last = padded.saturating_sub(TILE * groups * ROW_LINES);
        self.lines[last..].fill(Line([0; LINE]));
        self.scales.resize(padded / ROW_LINES, 0.0);
        self.count = count;
        (&mut self.lines, &mut self.scales, groups)
    }

    /// The number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Rows from a multiple of [`TILE`], as the kernels take them.
    pub fn part(&self, rows: Range<usize>) -> GroupRows<'_> {
        let end = rows.end.min(self.count);
        let padded = end.next_multiple_of(TILE);
        let width = self.groups * ROW_LINES;
        GroupRows {
            groups: self.groups,
            lines: &self.lines[rows.start * width..padded * width],
            scales: &self.scales[rows.start * self.groups..padded * self.groups],
            count: end - rows.start,
        }
    }
}

/// Rounds a row of numbers to the lines of row `r` of a tile.
#[inline(always)]
pub(super) fn round_row(row: &[f32], r: usize, tile: &mut [Line], scales: &mut [f32]) {
    for group in 0..scales.len() / TILE {
        let (bytes, scale) = round_group(&row[group * GROUP..]);
        scales[group * TILE + r] = scale;
        for (half, bytes) in bytes.as_chunks::<LINE>().0.iter().enumerate() {
            tile[(group * ROW_LINES + half) * TILE + r].0 = *bytes;
        }
    }
}

/// The first group of some numbers (what is missing is 0) in signed bytes, and the scale.
#[inline(always)]
fn round_group(numbers: &[f32]) -> ([i8; GROUP], f32) {
    let mut group = [0.0_f32; GROUP];
    match numbers.first_chunk::<GROUP>() {
        Some(whole) => group = *whole,
        None => group[..numbers.len()].copy_from_slice(numbers),
    }
    let mut most = [0.0_f32; LANES];
    for vector in group.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            let number = vector[lane].abs();
            most[lane] = if number > most[lane] {
                number
            } else {
                most[lane]
            };
        }
    }
    let most = greatest(most);
    let inverse = if most > 0.0 { STEPS / most } else { 0.0 };
    let mut bytes = [0_i8; GROUP];
    for place in 0..GROUP {
        bytes[place] = group[place].mul_add(inverse, ROUND).to_bits() as i8;
    }
    (bytes, most / STEPS)
}

/// The greatest of the lanes, halves against halves.
#[inline(always)]
fn greatest(mut lanes: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            let other = lanes[lane + half];
            lanes[lane] = if other > lanes[lane] {
                other
            } else {
                lanes[lane]
            };
        }
        half /= 2;
    }
    lanes[0]
}
