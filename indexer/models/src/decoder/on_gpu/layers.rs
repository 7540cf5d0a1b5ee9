//! The layers of the network as launches of kernels, and the logits of what is asked for.

use std::sync::Arc;

use super::arguments::{
    Attend, Attention, GateRows, Likeliest, Lines, LookUp, NormalizeRows, RoundRows, TurnAndStore,
};
use super::{GpuNetwork, Into};
use crate::cuda::gpu::{Address, GpuError, launch};
use crate::decoder::shape::{Pairs, Shape};

/// Groups of a row that one block rounds where rows are divided among blocks.
const GROUPS_AT_ONCE: usize = 4;

/// Rows of logits that are in memory at a time while likeliest tokens are looked for.
pub(super) const LOGIT_ROWS: usize = 128;

/// Queries that one block of attention takes at most, and its shared memory in numbers.
const QUERIES: usize = 8;

const SHARED_NUMBERS: usize = 11 << 10;

/// What a step is about, on the GPU.
pub(super) struct Step {
    /// Rows: tokens of all pieces.
    pub(super) count: usize,
    /// The most columns that a row of scores can have.
    pub(super) columns: usize,
    pub(super) tokens: Address,
    pub(super) position_of: Address,
    pub(super) piece_of: Address,
    pub(super) pieces: Address,
    pub(super) planes: Address,
}

#[derive(Clone, Copy)]
enum Norm {
    Attention,
    Inner,
    Last,
}

/// The place of the n-th of some 32-bit numbers.
fn after(start: Address, n: usize) -> Address {
    Address(start.0 + (n * size_of::<u32>()) as u64)
}

impl GpuNetwork {
    /// All layers; the states after the last.
    pub(super) fn launch_layers(&mut self, step: &Step) -> Result<Address, GpuError> {
        let gpu = Arc::clone(&self.gpu);
        let (count, hidden, row) = (step.count, self.shape.hidden, self.row());
        let attended_width = self.shape.heads * self.shape.head;
        let wide_width = self.weights.layers.iter().map(|layer| layer.widen.outputs);
        let wide_width = wide_width.max().unwrap_or(0);
        let states = self.scratch.states.place::<f32>(&gpu, count * hidden)?;
        let projected = self.scratch.projected.place::<f32>(&gpu, count * row)?;
        let attended = self
            .scratch
            .attended
            .place::<f32>(&gpu, count * attended_width)?;
        let wide = self.scratch.wide.place::<f32>(&gpu, count * wide_width)?;
        // One place for all rows of bytes, as large as the widest need.
        self.lines(count, hidden.max(attended_width).max(self.shape.inner))?;
        let words = &self.weights.words;
        // SAFETY (all launches here): each buffer has `count` rows of the width named beside it.
        unsafe {
            let look_up = LookUp {
                lines: words.lines.address(),
                scales: words.scales.address(),
                tokens: step.tokens,
                states,
                hidden: hidden as u32,
                groups: words.groups as u32,
            };
            launch(&*gpu, [count, 1, 1], 0, &look_up)?;
        }
        for at in 0..self.weights.layers.len() {
            let bytes = self.lines(count, hidden)?;
            self.normalize(states, Address::NULL, count, at, Norm::Attention, bytes)?;
            let layer = &self.weights.layers[at];
            let out = (projected, row, row);
            self.product(bytes, count, &layer.query_key_value, out, Into::Replacing)?;
            self.attend(step, at, projected, attended)?;
            let bytes = self.lines(count, attended_width)?;
            // SAFETY: as above.
            unsafe {
                let round = RoundRows {
                    numbers: attended,
                    out: bytes,
                    width: attended_width as u32,
                };
                let blocks = (bytes.groups as usize).div_ceil(GROUPS_AT_ONCE);
                launch(&*gpu, [count, blocks, 1], 0, &round)?;
            }
            let layer = &self.weights.layers[at];
            let onto_states = (states, hidden, hidden);
            self.product(bytes, count, &layer.merge, onto_states, Into::Adding)?;
            let bytes = self.lines(count, hidden)?;
            self.normalize(states, Address::NULL, count, at, Norm::Inner, bytes)?;
            let layer = &self.weights.layers[at];
            let width = layer.widen.outputs;
            self.product(
                bytes,
                count,
                &layer.widen,
                (wide, width, width),
                Into::Replacing,
            )?;
            let bytes = self.lines(count, self.shape.inner)?;
            // SAFETY: as above.
            unsafe {
                let gate = GateRows {
                    wide,
                    out: bytes,
                    width: width as u32,
                    inner: self.shape.inner as u32,
                };
                let blocks = (bytes.groups as usize).div_ceil(GROUPS_AT_ONCE);
                launch(&*gpu, [count, blocks, 1], 0, &gate)?;
            }
            let layer = &self.weights.layers[at];
            self.product(bytes, count, &layer.narrow, onto_states, Into::Adding)?;
        }
        Ok(states)
    }

    /// Normalises rows of the states, those that `rows` names or all, and rounds them.
    fn normalize(
        &self,
        states: Address,
        rows: Address,
        count: usize,
        layer: usize,
        norm: Norm,
        out: Lines,
    ) -> Result<(), GpuError> {
        let weight = match norm {
            Norm::Attention => &self.weights.layers[layer].attention_norm,
            Norm::Inner => &self.weights.layers[layer].inner_norm,
            Norm::Last => &self.weights.norm,
        };
        let normalize = NormalizeRows {
            states,
            rows,
            weight: weight.address(),
            out,
            epsilon: self.shape.norm_epsilon,
            width: self.shape.hidden as u32,
        };
        // SAFETY: `out` has room for `count` rows of `hidden` numbers; `rows` names rows of the
        // states.
        unsafe { launch(&*self.gpu, [count, 1, 1], 0, &normalize) }
    }

    /// Attention of all rows in one layer.
    fn attend(
        &self,
        step: &Step,
        layer: usize,
        projected: Address,
        out: Address,
    ) -> Result<(), GpuError> {
        let Shape {
            heads,
            kv_heads,
            head,
            ..
        } = self.shape;
        let group = self.shape.group();
        let queries = (SHARED_NUMBERS / (step.columns + head)).clamp(1, QUERIES.min(group));
        let of = Attention {
            projected,
            out,
            turns: self.turns.address(),
            pieces: step.pieces,
            planes: step.planes,
            piece_of: step.piece_of,
            position_of: step.position_of,
            row: self.row() as u32,
            heads: heads as u32,
            kv_heads: kv_heads as u32,
            head: head as u32,
            layer: layer as u32,
            neighbours: u32::from(self.shape.pairs == Pairs::Neighbours),
            queries: queries as u32,
            columns: step.columns as u32,
            factor: std::f32::consts::LOG2_E / (head as f32).sqrt(),
        };
        let shared = queries * (step.columns + head) * size_of::<f32>();
        // SAFETY: segments have room for their pieces' tokens (`launch_step`); rows as the buffers.
        unsafe {
            launch(&*self.gpu, [step.count, 1, 1], 0, &TurnAndStore { of })?;
            let grid = [step.count, kv_heads, group.div_ceil(queries)];
            launch(&*self.gpu, grid, shared, &Attend { of })
        }
    }

    /// The likeliest next token of the first `count` asked rows.
    pub(super) fn launch_likeliest(
        &mut self,
        states: Address,
        asked: Address,
        count: usize,
    ) -> Result<(), GpuError> {
        let gpu = Arc::clone(&self.gpu);
        let tokens = self.scratch.likeliest.place::<u32>(&gpu, count)?;
        let outputs = self.output().outputs;
        let logits = self
            .scratch
            .logits
            .place::<f32>(&gpu, count.min(LOGIT_ROWS) * outputs)?;
        for first in (0..count).step_by(LOGIT_ROWS) {
            let here = LOGIT_ROWS.min(count - first);
            self.launch_logits(states, after(asked, first), here, logits)?;
            let likeliest = Likeliest {
                logits,
                tokens: after(tokens, first),
                stride: outputs as u32,
                vocabulary: self.shape.vocabulary as u32,
            };
            // SAFETY: `here` rows of logits; room for `count` tokens.
            unsafe { launch(&*gpu, [here, 1, 1], 0, &likeliest)? };
        }
        Ok(())
    }

    /// The logits of some asked rows, kept for `finish`.
    pub(super) fn launch_classified(
        &mut self,
        states: Address,
        asked: Address,
        rows: std::ops::Range<usize>,
    ) -> Result<(), GpuError> {
        let gpu = Arc::clone(&self.gpu);
        let outputs = self.output().outputs;
        let logits = self
            .scratch
            .classified
            .place::<f32>(&gpu, rows.len() * outputs)?;
        self.launch_logits(states, after(asked, rows.start), rows.len(), logits)
    }

    fn launch_logits(
        &mut self,
        states: Address,
        asked: Address,
        count: usize,
        logits: Address,
    ) -> Result<(), GpuError> {
        let bytes = self.lines(count, self.shape.hidden)?;
        self.normalize(states, asked, count, 0, Norm::Last, bytes)?;
        let output = self.output();
        let out = (logits, output.outputs, output.outputs);
        self.product(bytes, count, output, out, Into::Replacing)
    }
}
