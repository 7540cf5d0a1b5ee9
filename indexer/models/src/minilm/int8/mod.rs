//! all-MiniLM-L6-v2 in eight-bit integers: the engine limn runs.
//!
//! Nine tenths of the work of a transformer are products of activations with fixed weights. Those
//! are computed here in integers (as LLM.int8(), Dettmers et al., NeurIPS 2022, without its
//! outlier path, which this model does not need):
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

mod on_cpu;
#[cfg(any(feature = "cuda", test))]
mod on_gpu;
mod stages;
mod tensors;
#[cfg(test)]
mod tests;
mod weights;

#[cfg(any(feature = "cuda", test))]
use std::sync::Arc;

use super::arithmetic;
use super::shape::{HIDDEN, INNER, WINDOW};
use super::tokens::TextTokens;
use crate::kernels::{Cpu, ROWS};
use crate::{Devices, Embedder, ModelError, ModelFiles, ModelId};
use stages::Quantized;
use weights::{Layer, Weights};

/// Sequences are computed together until they have this many tokens: enough that the weights are
/// read from memory seldom, few enough that the activations stay in the processor's cache.
const GROUP_TOKENS: usize = 256;
/// The same on a GPU: enough that every multiprocessor has blocks to compute.
#[cfg(any(feature = "cuda", test))]
const GPU_GROUP_TOKENS: usize = 32_768;
/// Tokens that pass through the wide inner layer at a time, for the same reason.
const INNER_TOKENS: usize = 96;

/// all-MiniLM-L6-v2 in 8-bit arithmetic: the default embedder.
///
/// 384 dimensions, 256 tokens. A text's vector is bit for bit the same in every batch and on every
/// processor; cosines agree with the 32-bit reference at a rank correlation above 0.99 (a test).
/// Uses AVX-512 VNNI, AVX-VNNI or AVX2 where the processor has them.
pub struct MiniLm {
    id: ModelId,
    tokens: TextTokens,
    weights: Weights,
    cpu: Cpu,
    /// Where it is computed on GPUs.
    #[cfg(any(feature = "cuda", test))]
    on_gpus: Option<on_gpu::Encoders>,
}

impl MiniLm {
    /// Loads verified files and packs the weights.
    ///
    /// # Errors
    /// [`ModelError::Cache`] where a file cannot be read, [`ModelError::InvalidModel`] where it
    /// holds another model.
    pub fn load(files: &ModelFiles) -> Result<Self, ModelError> {
        Self::load_onto(files, &Devices::default())
    }

    /// Loads verified files onto the devices.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`ModelError::OutOfMemory`] or [`ModelError::Compute`] where a
    /// GPU does not take the weights.
    pub fn load_onto(files: &ModelFiles, devices: &Devices) -> Result<Self, ModelError> {
        let tokens = TextTokens::load(files.separate_tokenizer()?, &files.name)?;
        let weights = Weights::load(&files.weights).map_err(|detail| ModelError::InvalidModel {
            path: files.weights.clone(),
            detail,
        })?;
        let id = files.id(arithmetic::INT8);
        #[cfg(any(feature = "cuda", test))]
        let on_gpus = on_gpu::Encoders::new(
            devices.load(&id, |gpu| on_gpu::Encoder::new(&weights, Arc::clone(gpu)))?,
        );
        #[cfg(not(any(feature = "cuda", test)))]
        let _ = devices;
        Ok(Self {
            id,
            tokens,
            weights,
            cpu: Cpu::detect(),
            #[cfg(any(feature = "cuda", test))]
            on_gpus,
        })
    }

    /// Unit vectors of the texts, computed on GPUs; tokens of the next texts are cut on this thread
    /// while another caller's are computed.
    #[cfg(any(feature = "cuda", test))]
    fn embed_on(
        &self,
        encoders: &on_gpu::Encoders,
        texts: &[&str],
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts.iter().peekable();
        while rest.peek().is_some() {
            let (mut group, mut tokens) = (Vec::new(), 0);
            while tokens < GPU_GROUP_TOKENS
                && let Some(text) = rest.next()
            {
                let sequence = self.tokens.window(text)?;
                tokens += sequence.len();
                group.push(sequence);
            }
            let computed = encoders.forward(&group);
            vectors.extend(
                computed.map_err(|(gpu, error)| crate::devices::failed(&self.id, &gpu, error))?,
            );
        }
        Ok(vectors)
    }

    /// Unit vectors of the sequences, computed together; `split` over two threads.
    fn forward(
        &self,
        sequences: &[Vec<u32>],
        split: bool,
        scratch: &mut Scratch,
        vectors: &mut Vec<Vec<f32>>,
    ) {
        let lengths: Vec<usize> = sequences.iter().map(Vec::len).collect();
        scratch.resize(lengths.iter().sum(), split);
        self.weights.look_up(sequences, &mut scratch.states);
        self.cpu
            .normalize(&mut scratch.states, None, &self.weights.norm);
        for layer in &self.weights.layers {
            self.layer(layer, &lengths, scratch);
        }
        let mut rest = scratch.states.as_slice();
        for length in lengths {
            let (sequence, after) = rest.split_at(length * HIDDEN);
            rest = after;
            vectors.push(stages::pool(sequence));
        }
    }

    /// One encoder layer, in place on `scratch.states`. Rows meet in attention only: before and
    /// after it, one thread may have the first ones and another the rest.
    fn layer(&self, layer: &Layer, lengths: &[usize], scratch: &mut Scratch) {
        let Scratch {
            states,
            projected,
            attended,
            attention,
            first,
            hands: [one, other],
        } = scratch;
        let (first, is_split) = (*first, *first * HIDDEN < states.len());
        let (states, more_states) = states.split_at_mut(first * HIDDEN);
        {
            let (projected, more_projected) = projected.split_at_mut(first * 3 * HIDDEN);
            both(
                is_split,
                || self.project(layer, states, projected, one),
                || self.project(layer, more_states, more_projected, other),
            );
        }
        self.cpu.attend(projected, lengths, attention, attended);
        let (attended, more_attended) = attended.split_at_mut(first * HIDDEN);
        both(
            is_split,
            || self.take_in(layer, states, attended, one),
            || self.take_in(layer, more_states, more_attended, other),
        );
    }

    /// Queries, keys and values of some rows.
    fn project(&self, layer: &Layer, states: &[f32], projected: &mut [f32], hand: &mut Hand) {
        let cpu = self.cpu;
        cpu.quantize(states, HIDDEN, &mut hand.quantized);
        cpu.multiply(&hand.quantized, &layer.query_key_value, projected);
    }

    /// What comes after attention, of some rows.
    fn take_in(&self, layer: &Layer, states: &mut [f32], attended: &mut [f32], hand: &mut Hand) {
        let Hand { wide, quantized } = hand;
        let cpu = self.cpu;
        cpu.quantize(attended, HIDDEN, quantized);
        cpu.multiply(quantized, &layer.merge, attended);
        cpu.normalize(states, Some(attended), &layer.attention_norm);
        for (states, narrow) in states
            .chunks_mut(INNER_TOKENS * HIDDEN)
            .zip(attended.chunks_mut(INNER_TOKENS * HIDDEN))
        {
            let wide = &mut wide[..states.len() / HIDDEN * INNER];
            cpu.quantize(states, HIDDEN, quantized);
            cpu.multiply(quantized, &layer.widen, wide);
            cpu.gelu(wide);
            cpu.quantize(wide, INNER, quantized);
            cpu.multiply(quantized, &layer.narrow, narrow);
            cpu.normalize(states, Some(narrow), &layer.norm);
        }
    }

    /// The vectors of texts; of each group of them `split` over two threads.
    fn embed_on_cpu(&self, texts: &[&str], split: bool) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut scratch = Scratch::default();
        let mut group: Vec<Vec<u32>> = Vec::new();
        let mut tokens = 0;
        for text in texts {
            let sequence = self.tokens.window(text)?;
            if tokens + sequence.len() > GROUP_TOKENS && !group.is_empty() {
                self.forward(&group, split, &mut scratch, &mut vectors);
                group.clear();
                tokens = 0;
            }
            tokens += sequence.len();
            group.push(sequence);
        }
        self.forward(&group, split, &mut scratch, &mut vectors);
        Ok(vectors)
    }
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
    /// One row of [`HIDDEN`] numbers a token: what flows from layer to layer.
    states: Vec<f32>,
    /// Queries, keys and values side by side.
    projected: Vec<f32>,
    /// What attention, and later the narrow layer, adds to the states.
    attended: Vec<f32>,
    attention: stages::AttentionScratch,
    /// How many rows are the first thread's.
    first: usize,
    /// What each thread has for itself.
    hands: [Hand; 2],
}

#[derive(Default)]
struct Hand {
    /// The inner layer of [`INNER_TOKENS`] tokens.
    wide: Vec<f32>,
    quantized: Quantized,
}

impl Scratch {
    fn resize(&mut self, tokens: usize, split: bool) {
        self.states.resize(tokens * HIDDEN, 0.0);
        self.projected.resize(tokens * 3 * HIDDEN, 0.0);
        self.attended.resize(tokens * HIDDEN, 0.0);
        // Whole tiles, so that both together compute as many as one would.
        self.first = match split {
            true => tokens.min((tokens / 2).next_multiple_of(ROWS)),
            false => tokens,
        };
        for (hand, tokens) in self.hands.iter_mut().zip([self.first, tokens - self.first]) {
            hand.wide.resize(tokens.min(INNER_TOKENS) * INNER, 0.0);
        }
    }
}

impl Embedder for MiniLm {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn dimensions(&self) -> usize {
        HIDDEN
    }

    fn window(&self) -> usize {
        WINDOW
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.tokens.count(text)
    }

    #[cfg(any(feature = "cuda", test))]
    fn batch_tokens(&self) -> usize {
        let on_cpu = crate::embedder::BATCH_TOKENS;
        self.on_gpus.as_ref().map_or(on_cpu, |_| GPU_GROUP_TOKENS)
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        #[cfg(any(feature = "cuda", test))]
        if let Some(encoders) = &self.on_gpus {
            return self.embed_on(encoders, texts);
        }
        self.embed_on_cpu(texts, false)
    }

    fn embed_together(
        &self,
        texts: &[&str],
        pool: &rayon::ThreadPool,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        #[cfg(any(feature = "cuda", test))]
        if let Some(encoders) = &self.on_gpus {
            return self.embed_on(encoders, texts);
        }
        pool.install(|| self.embed_on_cpu(texts, true))
    }
}
