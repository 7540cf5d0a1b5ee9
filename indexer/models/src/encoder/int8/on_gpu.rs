//! The encoder on GPUs: the stages of [`super`] as launches of the kernels in
//! `cuda/kernels/minilm.cu`, with the same bits.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use super::super::Description;
use super::super::names::Norm;
use super::super::pooling::{Pooling, unit};
use super::super::shape::{Activation as Curve, Family};
use super::weights::{Matrix, Weights};
use crate::cuda::gpu::{Address, Buffer, Gpu, GpuError, Plain, Reused, arguments, launch};

/// The sizes that the kernels are written for, the default model's.
const HIDDEN: usize = 384;
const HEADS: usize = 12;
/// log₂(e) / √32, as on the processor.
const ATTENTION_FACTOR: f32 = std::f32::consts::LOG2_E / (4.0 * std::f32::consts::SQRT_2);
/// A longer sequence's scores have no room in a block's shared memory.
const WINDOW: usize = 512;

/// Rows and outputs of a block of `linear`, queries of one of `attend_sequences`.
const ROWS: usize = 128;
const PANEL: usize = 64;
const QUERIES: usize = 16;
const LANES: usize = 16;

/// Whether the kernels compute this network.
pub(super) fn suits(description: &Description, weights: &Weights) -> bool {
    let shape = &description.shape;
    shape.family == Family::Bert
        && (shape.hidden, shape.heads) == (HIDDEN, HEADS)
        && shape.activation == Curve::Gelu
        && description.pooling == Pooling::Mean
        && description.window <= WINDOW
        && weights.words().is_some()
}

/// The encoders of all GPUs; a caller takes one that is free.
pub(super) struct Encoders {
    encoders: Vec<Mutex<Encoder>>,
    /// Which have failed otherwise than for want of memory: a GPU does not recover from that.
    broken: Vec<AtomicBool>,
    /// Which one the next caller waits for where all are busy.
    turn: AtomicUsize,
}

impl Encoders {
    /// `None` of none.
    pub fn new(encoders: Vec<Encoder>) -> Option<Self> {
        (!encoders.is_empty()).then(|| Self {
            broken: encoders.iter().map(|_| AtomicBool::new(false)).collect(),
            encoders: encoders.into_iter().map(Mutex::new).collect(),
            turn: AtomicUsize::new(0),
        })
    }

    /// Unit vectors of the sequences. Where a GPU has no room for all of them together, of half of
    /// them at a time.
    ///
    /// # Errors
    /// The GPU's name and what it says; [`GpuError::OutOfMemory`] where one sequence alone has no
    /// room.
    pub fn forward(&self, sequences: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, (String, GpuError)> {
        let (at, computed) = {
            let (at, mut encoder) = self.free();
            let computed = encoder.forward(sequences);
            if matches!(computed, Err(GpuError::OutOfMemory(_))) {
                // What the whole batch needed is in the way of its halves.
                encoder.scratch = Scratch::default();
            }
            (
                at,
                computed.map_err(|error| (encoder.gpu.name().to_owned(), error)),
            )
        };
        match computed {
            Err((gpu, GpuError::Failed(why))) => {
                self.broken[at].store(true, Ordering::Relaxed);
                if self.broken.iter().all(|it| it.load(Ordering::Relaxed)) {
                    return Err((gpu, GpuError::Failed(why)));
                }
                tracing::error!("{gpu} is left out from now on: {why}");
                self.forward(sequences)
            }
            Err((_, GpuError::OutOfMemory(_))) if sequences.len() > 1 => {
                let (first, second) = sequences.split_at(sequences.len() / 2);
                let mut vectors = self.forward(first)?;
                vectors.extend(self.forward(second)?);
                Ok(vectors)
            }
            computed => computed,
        }
    }

    /// An encoder that nobody uses, or else one in turn; a broken one where there is no other.
    fn free(&self) -> (usize, MutexGuard<'_, Encoder>) {
        let whole = |at: &usize| !self.broken[*at].load(Ordering::Relaxed);
        let mut able: Vec<usize> = (0..self.encoders.len()).filter(whole).collect();
        if able.is_empty() {
            able = (0..self.encoders.len()).collect();
        }
        for &at in &able {
            match self.encoders[at].try_lock() {
                Ok(encoder) => return (at, encoder),
                Err(TryLockError::Poisoned(poisoned)) => return (at, poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        let at = able[self.turn.fetch_add(1, Ordering::Relaxed) % able.len()];
        let encoder = self.encoders[at].lock();
        (at, encoder.unwrap_or_else(PoisonError::into_inner))
    }
}

/// The model on one GPU.
pub(super) struct Encoder {
    gpu: Arc<dyn Gpu>,
    words: Buffer,
    positions: Buffer,
    norm: GpuNorm,
    layers: Vec<GpuLayer>,
    inner: usize,
    epsilon: f32,
    /// Of a vector's numbers, the first ones that are kept.
    dimensions: usize,
    scratch: Scratch,
}

struct GpuLayer {
    query_key_value: GpuMatrix,
    merge: GpuMatrix,
    attention_norm: GpuNorm,
    widen: GpuMatrix,
    narrow: GpuMatrix,
    norm: GpuNorm,
}

struct GpuNorm {
    scale: Buffer,
    shift: Buffer,
}

struct GpuMatrix {
    packed: Buffer,
    scales: Buffer,
    sums: Buffer,
    bias: Buffer,
    inputs: usize,
    outputs: usize,
}

impl GpuNorm {
    fn of(gpu: &Arc<dyn Gpu>, norm: &Norm) -> Result<Self, GpuError> {
        Ok(Self {
            scale: Buffer::of(gpu, &norm.scale)?,
            shift: Buffer::of(gpu, &norm.shift)?,
        })
    }
}

impl GpuMatrix {
    fn of(gpu: &Arc<dyn Gpu>, matrix: &Matrix) -> Result<Self, GpuError> {
        Ok(Self {
            packed: Buffer::of(gpu, &matrix.packed)?,
            scales: Buffer::of(gpu, &matrix.scales)?,
            sums: Buffer::of(gpu, &matrix.sums)?,
            bias: Buffer::of(gpu, &matrix.bias)?,
            inputs: matrix.inputs,
            outputs: matrix.outputs,
        })
    }
}

/// The activations of one batch, used again for the next.
#[derive(Default)]
struct Scratch {
    states: Reused,
    projected: Reused,
    attended: Reused,
    wide: Reused,
    bytes: Reused,
    scales: Reused,
    zeros: Reused,
    sums: Reused,
    // What is uploaded for each batch.
    tokens: Reused,
    positions: Reused,
    sequences: Reused,
    sequence_of: Reused,
    query_of: Reused,
}

// The structs of `cuda/kernels/minilm.cu`.

#[derive(Clone, Copy)]
#[repr(C)]
struct Sequence {
    first: u32,
    length: u32,
}

// SAFETY: two numbers.
unsafe impl Plain for Sequence {}

arguments!(EmbedTokens as "embed_tokens" in 128 {
    words: Address, positions: Address, tokens: Address, position_of: Address, states: Address,
});
arguments!(QuantizeRows as "quantize_rows" in 128 {
    numbers: Address, bytes: Address, scales: Address, zeros: Address, width: u32,
});
arguments!(Linear as "linear" in 256 {
    bytes: Address, row_scales: Address, zeros: Address, weights: Address, weight_scales: Address,
    weight_sums: Address, bias: Address, out: Address, count: u32, inputs: u32, outputs: u32, activate: u32,
});
arguments!(NormalizeStates as "normalize_states" in 128 {
    states: Address, more: Address, scale: Address, shift: Address, epsilon: f32,
});
arguments!(AttendSequences as "attend_sequences" in 128 {
    projected: Address, out: Address, sequences: Address, sequence_of: Address, query_of: Address,
    factor: f32, columns: u32,
});
arguments!(PoolSequences as "pool_sequences" in 128 { states: Address, sequences: Address, sums: Address });

/// What a linear layer's numbers go through.
#[derive(Clone, Copy, PartialEq)]
enum Activation {
    None,
    Gelu,
}

/// Sequences laid out for the kernels, one after the other.
struct Batch {
    tokens: Vec<u32>,
    /// By token, its place in its sequence.
    position_of: Vec<u32>,
    places: Vec<Sequence>,
    /// By run of [`QUERIES`] tokens that one block attends to: their sequence, and the first.
    sequence_of: Vec<u32>,
    query_of: Vec<u32>,
    /// Tokens of the longest sequence, at least 1.
    longest: usize,
}

impl Batch {
    fn of(sequences: &[Vec<u32>]) -> Batch {
        let mut batch = Batch {
            tokens: Vec::new(),
            position_of: Vec::new(),
            places: Vec::new(),
            sequence_of: Vec::new(),
            query_of: Vec::new(),
            longest: 1,
        };
        for (at, sequence) in sequences.iter().enumerate() {
            batch.longest = batch.longest.max(sequence.len());
            batch.places.push(Sequence {
                first: batch.tokens.len() as u32,
                length: sequence.len() as u32,
            });
            for query in (0..sequence.len()).step_by(QUERIES) {
                batch.sequence_of.push(at as u32);
                batch.query_of.push(query as u32);
            }
            batch.tokens.extend(sequence);
            batch.position_of.extend(0..sequence.len() as u32);
        }
        batch
    }
}

impl Encoder {
    /// Uploads a network that [`suits`].
    pub fn new(
        weights: &Weights,
        description: &Description,
        gpu: Arc<dyn Gpu>,
    ) -> Result<Self, GpuError> {
        let lacking = || GpuError::Failed("the network does not suit the kernels".to_owned());
        let layers = weights.layers.iter().map(|layer| {
            let attention_norm = layer.attention_norm.as_ref().ok_or_else(lacking)?;
            Ok(GpuLayer {
                query_key_value: GpuMatrix::of(&gpu, &layer.query_key_value)?,
                merge: GpuMatrix::of(&gpu, &layer.merge)?,
                attention_norm: GpuNorm::of(&gpu, attention_norm)?,
                widen: GpuMatrix::of(&gpu, &layer.widen)?,
                narrow: GpuMatrix::of(&gpu, &layer.narrow)?,
                norm: GpuNorm::of(&gpu, &layer.norm)?,
            })
        });
        Ok(Self {
            layers: layers.collect::<Result<_, GpuError>>()?,
            words: Buffer::of(&gpu, weights.words().ok_or_else(lacking)?)?,
            positions: Buffer::of(&gpu, weights.places())?,
            norm: GpuNorm::of(&gpu, &weights.first_norm)?,
            inner: description.shape.inner,
            epsilon: description.shape.norm_epsilon,
            dimensions: description.dimensions,
            scratch: Scratch::default(),
            gpu,
        })
    }

    /// Unit vectors of the sequences, computed together.
    fn forward(&mut self, sequences: &[Vec<u32>]) -> Result<Vec<Vec<f32>>, GpuError> {
        let gpu = Arc::clone(&self.gpu);
        let Batch {
            tokens,
            position_of,
            places,
            sequence_of,
            query_of,
            longest,
        } = Batch::of(sequences);
        let count = tokens.len();
        let scratch = &mut self.scratch;
        let states = scratch.states.place::<f32>(&gpu, count * HIDDEN)?;
        let projected = scratch.projected.place::<f32>(&gpu, count * 3 * HIDDEN)?;
        let attended = scratch.attended.place::<f32>(&gpu, count * HIDDEN)?;
        let wide = scratch
            .wide
            .place::<f32>(&gpu, count * self.inner.max(HIDDEN))?;
        let sums = scratch.sums.place::<f32>(&gpu, sequences.len() * HIDDEN)?;
        let rows = Rows {
            count,
            bytes: scratch
                .bytes
                .place::<u8>(&gpu, count * self.inner.max(HIDDEN))?,
            scales: scratch.scales.place::<f32>(&gpu, count)?,
            zeros: scratch.zeros.place::<i32>(&gpu, count)?,
        };
        let embed = EmbedTokens {
            words: self.words.address(),
            positions: self.positions.address(),
            tokens: scratch.tokens.hold(&gpu, &tokens)?,
            position_of: scratch.positions.hold(&gpu, &position_of)?,
            states,
        };
        let attention = AttendSequences {
            projected,
            out: attended,
            sequences: scratch.sequences.hold(&gpu, &places)?,
            sequence_of: scratch.sequence_of.hold(&gpu, &sequence_of)?,
            query_of: scratch.query_of.hold(&gpu, &query_of)?,
            factor: ATTENTION_FACTOR,
            columns: longest.next_multiple_of(LANES) as u32,
        };
        let scores = QUERIES * attention.columns as usize * size_of::<f32>();
        // SAFETY (all launches): each buffer has room for `count` rows of its width, as just
        // reserved.
        unsafe { launch(&*gpu, [count, 1, 1], 0, &embed)? };
        self.normalize(states, Address::NULL, count, &self.norm)?;
        for layer in &self.layers {
            self.linear(
                &rows,
                states,
                &layer.query_key_value,
                projected,
                Activation::None,
            )?;
            // SAFETY: as above.
            unsafe { launch(&*gpu, [query_of.len(), HEADS, 1], scores, &attention)? };
            self.linear(&rows, attended, &layer.merge, projected, Activation::None)?;
            self.normalize(states, projected, count, &layer.attention_norm)?;
            self.linear(&rows, states, &layer.widen, wide, Activation::Gelu)?;
            self.linear(&rows, wide, &layer.narrow, projected, Activation::None)?;
            self.normalize(states, projected, count, &layer.norm)?;
        }
        let pool = PoolSequences {
            states,
            sequences: attention.sequences,
            sums,
        };
        // SAFETY: as above.
        unsafe { launch(&*gpu, [sequences.len(), 1, 1], 0, &pool)? };
        let mut vectors = vec![0.0_f32; sequences.len() * HIDDEN];
        self.scratch
            .sums
            .room::<f32>(&gpu, vectors.len())?
            .read(&mut vectors)?;
        let vector = |sum: &[f32]| unit(sum[..self.dimensions].to_vec());
        Ok(vectors.chunks_exact(HIDDEN).map(vector).collect())
    }

    /// Rows rounded to bytes, times a matrix.
    fn linear(
        &self,
        rows: &Rows,
        numbers: Address,
        matrix: &GpuMatrix,
        out: Address,
        activation: Activation,
    ) -> Result<(), GpuError> {
        let quantize = QuantizeRows {
            numbers,
            bytes: rows.bytes,
            scales: rows.scales,
            zeros: rows.zeros,
            width: matrix.inputs as u32,
        };
        let linear = Linear {
            bytes: rows.bytes,
            row_scales: rows.scales,
            zeros: rows.zeros,
            weights: matrix.packed.address(),
            weight_scales: matrix.scales.address(),
            weight_sums: matrix.sums.address(),
            bias: matrix.bias.address(),
            out,
            count: rows.count as u32,
            inputs: matrix.inputs as u32,
            outputs: matrix.outputs as u32,
            activate: u32::from(activation == Activation::Gelu),
        };
        let grid = [matrix.outputs / PANEL, rows.count.div_ceil(ROWS), 1];
        // SAFETY: as in `forward`; inputs and outputs are multiples of 64 (`Matrix::pack`, the
        // model's sizes).
        unsafe {
            launch(&*self.gpu, [rows.count, 1, 1], 0, &quantize)?;
            launch(&*self.gpu, grid, 0, &linear)
        }
    }

    fn normalize(
        &self,
        states: Address,
        more: Address,
        count: usize,
        norm: &GpuNorm,
    ) -> Result<(), GpuError> {
        let normalize = NormalizeStates {
            states,
            more,
            scale: norm.scale.address(),
            shift: norm.shift.address(),
            epsilon: self.epsilon,
        };
        // SAFETY: as in `forward`.
        unsafe { launch(&*self.gpu, [count, 1, 1], 0, &normalize) }
    }
}

/// Rows of bytes of one batch.
struct Rows {
    count: usize,
    bytes: Address,
    scales: Address,
    zeros: Address,
}
