//! Encoders in eight-bit integers: the engine limn runs.
//!
//! Nine tenths of the work of a transformer are products of activations with fixed weights. Those
//! are computed here in integers (as LLM.int8(), Dettmers et al., NeurIPS 2022, without its
//! outlier path, which the default model does not need):
//!
//! - a weight matrix is rounded once, each output channel to ±127 steps of a scale of its own;
//! - an activation vector is rounded when it is used, each *token* to 0..=255 between its own
//!   least and greatest value.
//!
//! Sums of products of integers are exact, so every processor gives the same ones. Everything else
//! (attention, softmax, normalisation, GELU) is 32-bit floating point, written so that each number
//! comes from the same operations in the same order on every processor. Scales belong to a token,
//! sequences are packed one after another and nothing is padded: **a text's vector is the same
//! bits alone, in any batch, and with any kernel.**
//!
//! [`Cpu`] picks the kernel for this machine, [`stages`] are the steps of a layer, [`weights`] the
//! packed matrices; this file is the way through the network.

mod attend;
mod on_cpu;
#[cfg(any(feature = "cuda", test))]
mod on_gpu;
mod stages;
#[cfg(test)]
mod tests;
mod weights;

#[cfg(any(feature = "cuda", test))]
use std::sync::Arc;

use super::Description;
use super::pooling::Pooling;
use super::shape::Shape;
use crate::kernels::{Cpu, ROWS};
use crate::{Devices, ModelError, ModelId};
use attend::{Attention, AttentionScratch};
use stages::Quantized;
use weights::Layer;
pub(super) use weights::Weights;

/// Sequences are computed together until they have this many tokens: enough that the weights are
/// read from memory seldom, few enough that the activations stay in the processor's cache.
const GROUP_TOKENS: usize = 256;
/// The same on a GPU: enough that every multiprocessor has blocks to compute.
#[cfg(any(feature = "cuda", test))]
const GPU_GROUP_TOKENS: usize = 32_768;
/// Numbers that pass through the wide inner layer at a time, for the same reason: 96 tokens of the
/// default model.
const INNER_NUMBERS: usize = 96 * 1536;

/// A network whose weights are packed, and where it is computed.
pub(super) struct Network {
    #[cfg(any(feature = "cuda", test))]
    id: ModelId,
    shape: Shape,
    pooling: Pooling,
    dimensions: usize,
    weights: Weights,
    cpu: Cpu,
    /// Tokens that pass through the inner layer at a time.
    inner_tokens: usize,
    /// Where it is computed on GPUs.
    #[cfg(any(feature = "cuda", test))]
    on_gpus: Option<on_gpu::Encoders>,
}

impl Network {
    /// Puts packed weights onto the devices. A GPU computes networks of the default model's sizes;
    /// others are computed by the processor, as [`is_on_gpu`](Self::is_on_gpu) says.
    ///
    /// # Errors
    /// [`ModelError::OutOfMemory`] or [`ModelError::Compute`] where a GPU does not take the
    /// weights.
    pub fn new(
        weights: Weights,
        id: &ModelId,
        description: &Description,
        devices: &Devices,
    ) -> Result<Self, ModelError> {
        let shape = description.shape.clone();
        #[cfg(any(feature = "cuda", test))]
        let on_gpus = match on_gpu::suits(description, &weights) {
            true => on_gpu::Encoders::new(devices.load(id, |gpu| {
                on_gpu::Encoder::new(&weights, description, Arc::clone(gpu))
            })?),
            false => None,
        };
        #[cfg(not(any(feature = "cuda", test)))]
        let _ = (id, devices);
        Ok(Self {
            #[cfg(any(feature = "cuda", test))]
            id: id.clone(),
            inner_tokens: (INNER_NUMBERS / shape.widened()).max(ROWS),
            shape,
            pooling: description.pooling,
            dimensions: description.dimensions,
            weights,
            cpu: Cpu::detect(),
            #[cfg(any(feature = "cuda", test))]
            on_gpus,
        })
    }

    /// Tokens of a batch with which it does its best.
    pub fn batch_tokens(&self) -> usize {
        #[cfg(any(feature = "cuda", test))]
        if self.on_gpus.is_some() {
            return GPU_GROUP_TOKENS;
        }
        crate::embedder::BATCH_TOKENS
    }

    /// Whether GPUs compute it.
    pub fn is_on_gpu(&self) -> bool {
        #[cfg(any(feature = "cuda", test))]
        return self.on_gpus.is_some();
        #[cfg(not(any(feature = "cuda", test)))]
        false
    }

    /// Unit vectors of sequences, perhaps on the threads of a pool.
    ///
    /// # Errors
    /// Where a GPU fails.
    pub fn forward(
        &self,
        sequences: &[Vec<u32>],
        pool: Option<&rayon::ThreadPool>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        #[cfg(any(feature = "cuda", test))]
        if let Some(encoders) = &self.on_gpus {
            let mut vectors = Vec::with_capacity(sequences.len());
            for group in groups(sequences, GPU_GROUP_TOKENS) {
                let computed = encoders.forward(group);
                vectors.extend(
                    computed
                        .map_err(|(gpu, error)| crate::devices::failed(&self.id, &gpu, error))?,
                );
            }
            return Ok(vectors);
        }
        Ok(match pool {
            Some(pool) => pool.install(|| self.forward_on_cpu(sequences, true)),
            None => self.forward_on_cpu(sequences, false),
        })
    }

    /// The vectors of sequences; of each group of them `split` over two threads.
    fn forward_on_cpu(&self, sequences: &[Vec<u32>], split: bool) -> Vec<Vec<f32>> {
        let mut vectors = Vec::with_capacity(sequences.len());
        let mut scratch = Scratch::default();
        for group in groups(sequences, GROUP_TOKENS) {
            self.forward_group(group, split, &mut scratch, &mut vectors);
        }
        vectors
    }

    /// Unit vectors of the sequences, computed together; `split` over two threads.
    fn forward_group(
        &self,
        sequences: &[Vec<u32>],
        split: bool,
        scratch: &mut Scratch,
        vectors: &mut Vec<Vec<f32>>,
    ) {
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        let epsilon = self.shape.norm_epsilon;
        self.resize(scratch, lengths.iter().sum(), split);
        self.weights.look_up(sequences, &mut scratch.states);
        self.cpu
            .normalize(&mut scratch.states, None, &self.weights.first_norm, epsilon);
        for layer in &self.weights.layers {
            self.layer(layer, &lengths, scratch);
        }
        if let Some(norm) = &self.weights.last_norm {
            self.cpu.normalize(&mut scratch.states, None, norm, epsilon);
        }
        let mut rest = scratch.states.as_slice();
        for length in lengths {
            let (sequence, after) = rest.split_at(length * self.shape.hidden);
            rest = after;
            let vector = self
                .pooling
                .pool(sequence, self.shape.hidden, self.dimensions);
            vectors.push(vector);
        }
    }

    /// One encoder layer, in place on `scratch.states`. Rows see each other in attention only:
    /// before and after it, one thread may have the first ones and another the rest.
    fn layer(&self, layer: &Layer, lengths: &[usize], scratch: &mut Scratch) {
        let Scratch {
            states,
            projected,
            attended,
            attention,
            first,
            threads: [one, other],
        } = scratch;
        let hidden = self.shape.hidden;
        let (first, is_split) = (*first, *first * hidden < states.len());
        let (states, more_states) = states.split_at_mut(first * hidden);
        {
            let (projected, more_projected) = projected.split_at_mut(first * 3 * hidden);
            both(
                is_split,
                || self.project(layer, states, projected, one),
                || self.project(layer, more_states, more_projected, other),
            );
        }
        let how = Attention {
            heads: self.shape.heads,
            head: self.shape.head(),
            reach: layer.reach,
            rotation: self.weights.rotations.of(layer.reach),
        };
        self.cpu
            .attend(projected, lengths, &how, attention, attended);
        let (attended, more_attended) = attended.split_at_mut(first * hidden);
        both(
            is_split,
            || self.take_in(layer, states, attended, one),
            || self.take_in(layer, more_states, more_attended, other),
        );
    }

    /// Queries, keys and values of some rows.
    fn project(
        &self,
        layer: &Layer,
        states: &[f32],
        projected: &mut [f32],
        own: &mut ThreadScratch,
    ) {
        let ThreadScratch {
            ready, quantized, ..
        } = own;
        let states = match (self.shape.normalises_first(), &layer.attention_norm) {
            (true, Some(norm)) => self.normalized(states, norm, ready),
            _ => states,
        };
        self.cpu.quantize(states, self.shape.hidden, quantized);
        self.cpu
            .multiply(quantized, &layer.query_key_value, projected);
    }

    /// What comes after attention, of some rows.
    fn take_in(
        &self,
        layer: &Layer,
        states: &mut [f32],
        attended: &mut [f32],
        own: &mut ThreadScratch,
    ) {
        let (cpu, hidden) = (self.cpu, self.shape.hidden);
        let (first, epsilon) = (self.shape.normalises_first(), self.shape.norm_epsilon);
        cpu.quantize(attended, hidden, &mut own.quantized);
        cpu.multiply(&own.quantized, &layer.merge, attended);
        match &layer.attention_norm {
            Some(norm) if !first => cpu.normalize(states, Some(attended), norm, epsilon),
            _ => cpu.add(states, attended),
        }
        for (states, narrow) in states
            .chunks_mut(self.inner_tokens * hidden)
            .zip(attended.chunks_mut(self.inner_tokens * hidden))
        {
            self.inner(layer, states, narrow, own);
            match first {
                false => cpu.normalize(states, Some(narrow), &layer.norm, epsilon),
                true => cpu.add(states, narrow),
            }
        }
    }

    /// The inner layer of some rows, into `narrow`.
    fn inner(&self, layer: &Layer, states: &[f32], narrow: &mut [f32], own: &mut ThreadScratch) {
        let ThreadScratch {
            ready,
            wide,
            gated,
            quantized,
        } = own;
        let (cpu, shape) = (self.cpu, &self.shape);
        let tokens = states.len() / shape.hidden;
        let states = match shape.normalises_first() {
            true => self.normalized(states, &layer.norm, ready),
            false => states,
        };
        let wide = &mut wide[..tokens * shape.widened()];
        cpu.quantize(states, shape.hidden, quantized);
        cpu.multiply(quantized, &layer.widen, wide);
        if shape.widened() == shape.inner {
            cpu.activate(wide, shape.activation);
            cpu.quantize(wide, shape.inner, quantized);
        } else {
            gated.resize(tokens * shape.inner, 0.0);
            cpu.gate(wide, shape.inner, shape.activation, gated);
            cpu.quantize(gated, shape.inner, quantized);
        }
        cpu.multiply(quantized, &layer.narrow, narrow);
    }

    /// The states normalised, where they themselves stay as they are.
    fn normalized<'a>(
        &self,
        states: &[f32],
        norm: &super::names::Norm,
        out: &'a mut Vec<f32>,
    ) -> &'a [f32] {
        out.clear();
        out.extend_from_slice(states);
        self.cpu.normalize(out, None, norm, self.shape.norm_epsilon);
        out
    }

    fn resize(&self, scratch: &mut Scratch, tokens: usize, split: bool) {
        let hidden = self.shape.hidden;
        scratch.states.resize(tokens * hidden, 0.0);
        scratch.projected.resize(tokens * 3 * hidden, 0.0);
        scratch.attended.resize(tokens * hidden, 0.0);
        // Whole tiles, so that both together compute as many as one would.
        scratch.first = match split {
            true => tokens.min((tokens / 2).next_multiple_of(ROWS)),
            false => tokens,
        };
        let parts = [scratch.first, tokens - scratch.first];
        for (own, tokens) in scratch.threads.iter_mut().zip(parts) {
            let tokens = tokens.min(self.inner_tokens);
            own.wide.resize(tokens * self.shape.widened(), 0.0);
        }
    }
}

/// Sequences that follow each other, as many at a time as have that many tokens together at most.
fn groups(sequences: &[Vec<u32>], tokens: usize) -> impl Iterator<Item = &[Vec<u32>]> {
    let mut rest = sequences;
    std::iter::from_fn(move || {
        let mut sum = 0;
        let fitting = rest.iter().take_while(|sequence| {
            sum += sequence.len();
            sum <= tokens
        });
        let count = fitting.count().max(1).min(rest.len());
        let (group, after) = rest.split_at(count);
        rest = after;
        (!group.is_empty()).then_some(group)
    })
}

/// Does one thing, and another at the same time if there is another.
fn both(is_split: bool, one: impl FnOnce() + Send, other: impl FnOnce() + Send) {
    if is_split {
        rayon::join(one, other);
    } else {
        one();
    }
}

/// The activations of one group of sequences, used again for the next.
#[derive(Default)]
struct Scratch {
    /// One row of numbers a token: what flows from layer to layer.
    states: Vec<f32>,
    /// Queries, keys and values side by side.
    projected: Vec<f32>,
    /// What attention, and later the narrow layer, adds to the states.
    attended: Vec<f32>,
    attention: AttentionScratch,
    /// How many rows are the first thread's.
    first: usize,
    /// What each thread has for itself.
    threads: [ThreadScratch; 2],
}

/// What one thread computes in.
#[derive(Default)]
struct ThreadScratch {
    /// States normalised, where they themselves stay.
    ready: Vec<f32>,
    /// The inner layer of a few tokens.
    wide: Vec<f32>,
    /// The same once its gates are applied.
    gated: Vec<f32>,
    quantized: Quantized,
}
