//! The way through the network: pieces of many sequences, one layer after the other.
//!
//! Tokens of all pieces are rows of the same products, packed one after another; nothing is padded
//! but whole tiles. A row's numbers depend on its own sequence alone, so **a sequence's logits are
//! the same bits alone, in any batch, however its prompt is cut, on any number of threads, with any
//! kernel.**

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use super::cache::{Cache, SegmentId};
use super::device::{Device, Piece, Scores, StepError, Wanted};
use super::load_error::LoadError;
use super::matrix::{ByteRows, Matrix};
use super::products::{add, each_tile, product};
use super::shape::Shape;
use super::stages::{HeadScratch, HeadTask, Plane, SharedNumbers};
use crate::kernels::Cpu;
use crate::kernels::floats::exp2;

/// Tokens of a step: more together win nothing.
const STEP_TOKENS: usize = 512;

/// One decoder layer.
pub(super) struct Layer {
    pub attention_norm: Vec<f32>,
    pub query_key_value: Matrix,
    pub merge: Matrix,
    pub inner_norm: Vec<f32>,
    /// Gates, then ups.
    pub widen: Matrix,
    pub narrow: Matrix,
}

/// All weights.
pub(super) struct Weights {
    /// What a token's number looks up.
    pub words: Matrix,
    pub layers: Vec<Layer>,
    pub norm: Vec<f32>,
    /// `None` where the words serve for the output too.
    pub output: Option<Matrix>,
}

impl Weights {
    /// Bytes of the weights in memory.
    pub fn bytes(&self) -> usize {
        let layers = self.layers.iter().map(|layer| {
            let matrices = [
                &layer.query_key_value,
                &layer.merge,
                &layer.widen,
                &layer.narrow,
            ];
            matrices.map(Matrix::bytes).iter().sum::<usize>()
        });
        let output = self.output.as_ref().map_or(0, Matrix::bytes);
        layers.sum::<usize>() + self.words.bytes() + output
    }
}

/// A network on this machine's processor, with its cache.
pub(super) struct Network {
    shape: Shape,
    weights: Weights,
    cache: Cache<Vec<f32>>,
    cpu: Cpu,
    pool: Arc<rayon::ThreadPool>,
    /// Cosines and sines of every position seen so far: `head` numbers each.
    turns: Vec<f32>,
    scratch: Scratch,
    /// Of the step that was started last.
    scores: Vec<Scores>,
}

/// The activations of one step, used again for the next.
#[derive(Default)]
struct Scratch {
    states: Vec<f32>,
    projected: Vec<f32>,
    attended: Vec<f32>,
    merged: Vec<f32>,
    wide: Vec<f32>,
    logits: Vec<f32>,
    bytes: ByteRows,
}

impl Network {
    pub fn new(
        shape: Shape,
        weights: Weights,
        threads: usize,
        cpu: Cpu,
    ) -> Result<Self, LoadError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .thread_name(|thread| format!("limn-decoder-{thread}"))
            .build()?;
        Ok(Self {
            cache: Cache::new(&shape),
            shape,
            weights,
            cpu,
            pool: Arc::new(pool),
            turns: Vec::new(),
            scratch: Scratch::default(),
            scores: Vec::new(),
        })
    }

    #[cfg(test)]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Computes cosines and sines up to a position, exclusive.
    fn prepare_turns(&mut self, end: usize) {
        let known = self.turns.len() / self.shape.head;
        self.turns.extend(self.shape.turns(known..end));
    }

    /// The position of each piece's first token, if the piece has tokens and its segment room.
    fn starts(&self, pieces: &[Piece]) -> Result<Vec<usize>, StepError> {
        let mut starts = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let (position, room) = self.cache.end(piece.segment).ok_or_else(released)?;
            if piece.tokens.len() > room || piece.tokens.is_empty() {
                return Err(StepError::Failed(format!(
                    "{} tokens for a segment with room for {room}",
                    piece.tokens.len()
                )));
            }
            starts.push(position);
        }
        Ok(starts)
    }

    /// The step of [`Device::step`], on the pool's threads.
    fn forward(&mut self, pieces: &[Piece]) -> Result<Vec<Scores>, StepError> {
        let starts = self.starts(pieces)?;
        let end = pieces
            .iter()
            .zip(&starts)
            .map(|(piece, start)| start + piece.tokens.len());
        self.prepare_turns(end.max().unwrap_or(0));
        let Self {
            shape,
            weights,
            cache,
            cpu,
            turns,
            scratch,
            ..
        } = self;
        let cpu = *cpu;
        let hidden = shape.hidden;
        let count: usize = pieces.iter().map(|piece| piece.tokens.len()).sum();
        scratch.states.resize(count * hidden, 0.0);
        let tokens = pieces.iter().flat_map(|piece| piece.tokens.iter());
        for (token, state) in tokens.zip(scratch.states.chunks_exact_mut(hidden)) {
            if *token as usize >= shape.vocabulary {
                return Err(StepError::Failed(format!(
                    "token {token} is not in the vocabulary"
                )));
            }
            weights.words.row(*token as usize, state);
        }
        let rows = Rows::of(pieces, &starts);
        for (at, layer) in weights.layers.iter().enumerate() {
            let Scratch {
                states,
                projected,
                attended,
                merged,
                wide,
                bytes,
                ..
            } = scratch;
            let epsilon = shape.norm_epsilon;
            each_tile(states, (hidden, hidden), bytes, |rows| {
                cpu.normalize_to_bytes(rows, &layer.attention_norm, epsilon);
            });
            product(cpu, bytes, &layer.query_key_value, projected);
            attend(
                cpu,
                shape,
                turns,
                cache,
                (pieces, &rows, at),
                projected,
                attended,
            )
            .ok_or_else(released)?;
            let attended_width = shape.heads * shape.head;
            each_tile(attended, (attended_width, attended_width), bytes, |rows| {
                cpu.to_bytes(rows)
            });
            product(cpu, bytes, &layer.merge, merged);
            add(states, hidden, merged);
            each_tile(states, (hidden, hidden), bytes, |rows| {
                cpu.normalize_to_bytes(rows, &layer.inner_norm, epsilon);
            });
            product(cpu, bytes, &layer.widen, wide);
            let inner = shape.inner;
            each_tile(wide, (layer.widen.outputs, inner), bytes, |rows| {
                cpu.gate_to_bytes(rows, inner)
            });
            product(cpu, bytes, &layer.narrow, merged);
            add(states, hidden, merged);
        }
        for piece in pieces {
            cache.grow(piece.segment, piece.tokens.len());
        }
        Ok(self.scores(pieces, &rows))
    }

    /// What was asked of the last tokens of the pieces.
    fn scores(&mut self, pieces: &[Piece], rows: &Rows) -> Vec<Scores> {
        let Self {
            shape,
            weights,
            cpu,
            scratch,
            ..
        } = self;
        let hidden = shape.hidden;
        let asked = pieces
            .iter()
            .zip(&rows.ranges)
            .filter(|(piece, _)| piece.wanted != Wanted::Nothing);
        let asked: Vec<(&Piece, usize)> =
            asked.map(|(piece, range)| (piece, range.end - 1)).collect();
        let last: Vec<f32> = asked
            .iter()
            .flat_map(|(_, row)| &scratch.states[row * hidden..][..hidden])
            .copied()
            .collect();
        let output = weights.output.as_ref().unwrap_or(&weights.words);
        each_tile(&last, (hidden, hidden), &mut scratch.bytes, |rows| {
            cpu.normalize_to_bytes(rows, &weights.norm, shape.norm_epsilon);
        });
        product(*cpu, &scratch.bytes, output, &mut scratch.logits);
        let logits = scratch.logits.par_chunks_exact(output.outputs);
        let mut found: Vec<Scores> = logits
            .zip(&asked)
            .map(|(logits, (piece, _))| piece.wanted.of(&logits[..shape.vocabulary]))
            .collect();
        found.reverse();
        let next = |piece: &Piece| match piece.wanted {
            Wanted::Nothing => Scores::Nothing,
            _ => found.pop().unwrap_or(Scores::Nothing),
        };
        pieces.iter().map(next).collect()
    }
}

impl Device for Network {
    fn reserve(
        &mut self,
        parent: Option<SegmentId>,
        tokens: usize,
    ) -> Result<SegmentId, StepError> {
        self.cache.reserve(parent, tokens, |count| {
            let mut numbers = Vec::new();
            match numbers.try_reserve_exact(count) {
                Ok(()) => {
                    numbers.resize(count, 0.0);
                    Ok(numbers)
                }
                Err(_) => Err(StepError::no_room_for_keys(count * 4, tokens)),
            }
        })
    }

    fn release(&mut self, segment: SegmentId) {
        self.cache.release(segment);
    }

    fn start(&mut self, pieces: &[Piece]) -> Result<(), StepError> {
        let pool = Arc::clone(&self.pool);
        self.scores = pool.install(|| self.forward(pieces))?;
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<Scores>, StepError> {
        Ok(std::mem::take(&mut self.scores))
    }

    fn step_tokens(&self) -> usize {
        STEP_TOKENS
    }

    fn name(&self) -> String {
        format!("this machine's processor ({})", self.cpu.name())
    }

    fn bytes_per_token(&self) -> usize {
        self.shape.bytes_per_token()
    }
}

impl Wanted {
    /// What is wanted of one row of logits.
    pub(super) fn of(&self, logits: &[f32]) -> Scores {
        match self {
            Self::Nothing => Scores::Nothing,
            Self::Next => {
                let mut best = (0, f32::MIN);
                for (token, &logit) in logits.iter().enumerate() {
                    // Of equals the first: the same on every device.
                    if logit > best.1 {
                        best = (token, logit);
                    }
                }
                Scores::Next(best.0 as u32)
            }
            Self::LogProbabilities(tokens) => {
                let greatest = logits.iter().copied().fold(f32::MIN, f32::max);
                let sum: f64 = logits
                    .iter()
                    .map(|logit| f64::from(exp2((logit - greatest) * std::f32::consts::LOG2_E)))
                    .sum();
                let total = f64::from(greatest) + sum.ln();
                let of = |token: &u32| {
                    logits
                        .get(*token as usize)
                        .map_or(f32::NEG_INFINITY, |logit| {
                            (f64::from(*logit) - total) as f32
                        })
                };
                Scores::LogProbabilities(tokens.iter().map(of).collect())
            }
        }
    }
}

/// Which rows are a piece's, and at which position each begins.
struct Rows {
    ranges: Vec<Range<usize>>,
    starts: Vec<usize>,
}

impl Rows {
    fn of(pieces: &[Piece], starts: &[usize]) -> Self {
        let mut first = 0;
        let ranges = pieces.iter().map(|piece| {
            let range = first..first + piece.tokens.len();
            first = range.end;
            range
        });
        Self {
            ranges: ranges.collect(),
            starts: starts.to_vec(),
        }
    }
}

/// Why a step cannot go on.
fn released() -> StepError {
    StepError::Failed("a segment was released while it was in use".to_owned())
}

/// Attention of all pieces in one layer. `None` where a segment was dropped.
fn attend(
    cpu: Cpu,
    shape: &Shape,
    turns: &[f32],
    cache: &mut Cache<Vec<f32>>,
    (pieces, rows, layer): (&[Piece], &Rows, usize),
    projected: &[f32],
    attended: &mut Vec<f32>,
) -> Option<()> {
    let (head, group) = (shape.head, shape.group());
    let width = shape.heads * head;
    let count = rows.ranges.last().map_or(0, |range| range.end);
    attended.resize(count * width, 0.0);
    let stride = projected.len() / count.max(1);
    let out = SharedNumbers::of(attended);
    let mut tasks = Vec::with_capacity(pieces.len() * shape.kv_heads);
    for (piece, (range, start)) in pieces.iter().zip(rows.ranges.iter().zip(&rows.starts)) {
        for kv_head in 0..shape.kv_heads {
            let mut before = Vec::new();
            let planes = cache.planes(piece.segment, layer, kv_head, &mut before)?;
            tasks.push(Task {
                before,
                planes,
                kv_head,
                range: range.clone(),
                start: *start,
            });
        }
    }
    tasks
        .par_iter()
        .for_each_init(HeadScratch::default, |scratch, task| {
            let (own, new_keys, new_values) = task.planes;
            let query = task.kv_head * group * head;
            let key = width + task.kv_head * head;
            cpu.attend_group(
                &HeadTask {
                    head,
                    group,
                    pairs: shape.pairs,
                    turns: &turns[task.start * head..],
                    projected: &projected[task.range.start * stride..task.range.end * stride],
                    row: stride,
                    query,
                    key,
                    value: key + shape.kv_heads * head,
                    before: &task.before,
                    own,
                    new_keys,
                    new_values,
                    out: out.from(task.range.start * width),
                    out_row: width,
                },
                scratch,
            );
        });
    Some(())
}

/// One head of keys of one piece.
struct Task {
    before: Vec<Plane>,
    planes: (Plane, *mut f32, *mut f32),
    kv_head: usize,
    range: Range<usize>,
    start: usize,
}

// SAFETY: each task has a layer and head of a segment to itself; pieces of a step have different
// segments, which the engine sees to, and what lies before them is only read.
unsafe impl Send for Task {}
// SAFETY: as above.
unsafe impl Sync for Task {}
