//! The way through the network on a GPU: [`network`](super::network) again, stage by stage, as
//! launches of the kernels in `cuda/kernels/decoder.cu`, with the same bits.
//!
//! Weights are those packed for the processor, uploaded as they are. [`start`](Device::start)
//! launches a whole step and returns; [`finish`](Device::finish) waits for it.

mod arguments;
mod layers;
mod weights;

use std::sync::Arc;

use rayon::iter::{IndexedParallelIterator, ParallelIterator};
use rayon::slice::ParallelSlice;

use self::arguments::{
    GpuPiece, GpuPlane, Lines, Product, ProductOfFew, ProductOfMany, ProductOfTile,
};
use self::layers::{LOGIT_ROWS, Step};
use self::weights::{GpuMatrix, OnGpu};
use super::cache::{Cache, SegmentId};
use super::device::{Device, Piece, Scores, StepError, Wanted};
use super::network::Weights;
use super::shape::Shape;
use crate::cuda::gpu::{Address, Buffer, Gpu, GpuError, Reused, launch};
use crate::kernels::{LANES, TILE};

/// Tokens of a step: enough to keep every multiprocessor of a large card busy.
const STEP_TOKENS: usize = 4096;
/// Rows from which the product of large tiles wins, and up to which that of a tile a block does.
const MANY: usize = 192;
const VERY_FEW: usize = 64;

/// A network on one GPU, with its keys and values.
pub(super) struct GpuNetwork {
    shape: Shape,
    gpu: Arc<dyn Gpu>,
    weights: OnGpu,
    cache: Cache<Buffer>,
    /// Cosines and sines of all positions that there may be.
    turns: Buffer,
    scratch: Scratch,
    /// Logits of the rows that are classified, kept for their room.
    logits: Vec<f32>,
    started: Option<Started>,
}

/// The activations of one step, used again for the next.
#[derive(Default)]
struct Scratch {
    states: Reused,
    projected: Reused,
    attended: Reused,
    wide: Reused,
    lines: Reused,
    scales: Reused,
    logits: Reused,
    likeliest: Reused,
    classified: Reused,
    // What is uploaded for each step.
    tokens: Reused,
    positions: Reused,
    piece_of: Reused,
    pieces: Reused,
    planes: Reused,
    asked: Reused,
}

/// A step under way.
struct Started {
    wanted: Vec<Wanted>,
    segments: Vec<(SegmentId, usize)>,
    /// How many likeliest tokens were asked for, and how many rows of logits.
    next: usize,
    classified: usize,
}

/// What a product does with what is there.
#[derive(Clone, Copy, PartialEq)]
enum Into {
    Replacing,
    Adding,
}

impl GpuNetwork {
    /// Uploads a network that was packed for the processor, for positions below `window`.
    pub fn new(
        shape: Shape,
        weights: &Weights,
        window: usize,
        gpu: Arc<dyn Gpu>,
    ) -> Result<Self, GpuError> {
        Ok(Self {
            turns: Buffer::of(&gpu, &shape.turns(0..window))?,
            cache: Cache::new(&shape),
            weights: OnGpu::of(&gpu, weights)?,
            scratch: Scratch::default(),
            logits: Vec::new(),
            started: None,
            shape,
            gpu,
        })
    }

    /// Bytes that keys and values may take: nine tenths of what is free, less the largest step's
    /// own.
    pub fn cache_bytes(&self) -> Result<usize, GpuError> {
        let Shape { hidden, inner, .. } = self.shape;
        let row = self.row();
        // States, projections, attention, the wide layer and bytes; buffers grow to powers of two.
        let numbers = hidden + row + self.shape.heads * self.shape.head + 2 * inner + inner / 2;
        let step = 2 * STEP_TOKENS * numbers * size_of::<f32>();
        let logits = 2 * LOGIT_ROWS * self.output().outputs * size_of::<f32>();
        Ok((self.gpu.free_bytes()? / 10 * 9).saturating_sub(step + logits))
    }

    fn output(&self) -> &GpuMatrix {
        self.weights.output.as_ref().unwrap_or(&self.weights.words)
    }

    /// Numbers of a row of queries, keys and values, as the products write it.
    fn row(&self) -> usize {
        let first = self.weights.layers.first();
        first.map_or(0, |layer| layer.query_key_value.outputs)
    }

    /// `out = rows · matrix + bias`, or adds it to what is there; `width` numbers of each row.
    fn product(
        &self,
        rows: Lines,
        count: usize,
        matrix: &GpuMatrix,
        (out, stride, width): (Address, usize, usize),
        into: Into,
    ) -> Result<(), GpuError> {
        let bias = matrix.bias.as_ref();
        let blocks = matrix.outputs / LANES;
        let of = Product {
            rows: rows.lines,
            row_scales: rows.scales,
            weights: matrix.lines.address(),
            weight_scales: matrix.scales.address(),
            bias: bias.map_or(Address::NULL, Buffer::address),
            out,
            count: count as u32,
            stride: stride as u32,
            width: width as u32,
            groups: matrix.groups as u32,
            blocks: blocks as u32,
            add: u32::from(into == Into::Adding),
        };
        let tiles = count.div_ceil(TILE);
        // SAFETY: rows and weights have as many groups; `out` has `count` rows of `stride` numbers.
        unsafe {
            if count <= VERY_FEW {
                launch(&*self.gpu, [blocks, tiles, 1], 0, &ProductOfTile { of })
            } else if count >= MANY {
                let grid = [blocks.div_ceil(8), tiles.div_ceil(8), 1];
                launch(&*self.gpu, grid, 0, &ProductOfMany { of })
            } else {
                let grid = [blocks.div_ceil(2), tiles.div_ceil(4), 1];
                launch(&*self.gpu, grid, 0, &ProductOfFew { of })
            }
        }
    }

    /// Room for rows of bytes.
    fn lines(&mut self, count: usize, width: usize) -> Result<Lines, GpuError> {
        let groups = width.div_ceil(crate::kernels::GROUP);
        let places = count.div_ceil(TILE) * groups;
        let gpu = &self.gpu;
        Ok(Lines {
            lines: self.scratch.lines.place::<u32>(gpu, places * 512)?,
            scales: self.scratch.scales.place::<f32>(gpu, places * TILE)?,
            groups: groups as u64,
        })
    }

    /// Uploads what the step is about, and launches it.
    fn launch_step(&mut self, pieces: &[Piece]) -> Result<Started, StepError> {
        let lost = || StepError::Failed("a segment was released while it was in use".to_owned());
        let positions = self.turns.bytes() / (self.shape.head * size_of::<f32>());
        let (mut tokens, mut position_of, mut piece_of) =
            (Vec::<u32>::new(), Vec::<u32>::new(), Vec::<u32>::new());
        let (mut gpu_pieces, mut planes) = (Vec::new(), Vec::<GpuPlane>::new());
        let mut columns = LANES;
        for (place, piece) in pieces.iter().enumerate() {
            let chain = self.cache.chain(piece.segment).ok_or_else(lost)?;
            let (start, room) = self.cache.end(piece.segment).ok_or_else(lost)?;
            let (row, count) = (tokens.len(), piece.tokens.len());
            if count == 0 || count > room || start + count > positions {
                return Err(StepError::Failed(format!(
                    "{count} tokens at {start} for a segment with room for {room}"
                )));
            }
            let unknown = |token: &&u32| **token as usize >= self.shape.vocabulary;
            if let Some(token) = piece.tokens.iter().find(unknown) {
                return Err(StepError::Failed(format!(
                    "token {token} is not in the vocabulary"
                )));
            }
            tokens.extend(&piece.tokens);
            position_of.extend((start..start + count).map(|position| position as u32));
            piece_of.extend((0..count).map(|_| place as u32));
            let old = chain.last().map_or(0, |own| own.length);
            gpu_pieces.push(GpuPiece {
                row: row as u32,
                old: old as u32,
                first_plane: planes.len() as u32,
                plane_count: chain.len() as u32,
            });
            let padded: usize = chain
                .iter()
                .map(|segment| segment.length.next_multiple_of(LANES))
                .sum();
            columns = columns.max(padded + count.next_multiple_of(LANES));
            planes.extend(chain.iter().map(|segment| GpuPlane {
                numbers: segment.numbers.address(),
                length: segment.length as u32,
                capacity: segment.capacity as u32,
            }));
        }
        let rows_of = |wanted: fn(&Wanted) -> bool| {
            let asked = pieces.iter().zip(&gpu_pieces);
            let asked = asked.filter(move |(piece, _)| wanted(&piece.wanted));
            asked.map(|(piece, at)| at.row + piece.tokens.len() as u32 - 1)
        };
        let mut asked: Vec<u32> = rows_of(|wanted| matches!(wanted, Wanted::Next)).collect();
        let next = asked.len();
        asked.extend(rows_of(|wanted| {
            matches!(wanted, Wanted::LogProbabilities(_))
        }));
        let gpu = Arc::clone(&self.gpu);
        let scratch = &mut self.scratch;
        let step = Step {
            count: tokens.len(),
            columns,
            tokens: scratch.tokens.hold(&gpu, &tokens)?,
            position_of: scratch.positions.hold(&gpu, &position_of)?,
            piece_of: scratch.piece_of.hold(&gpu, &piece_of)?,
            pieces: scratch.pieces.hold(&gpu, &gpu_pieces)?,
            planes: scratch.planes.hold(&gpu, &planes)?,
        };
        let asked_at = scratch.asked.hold(&gpu, &asked)?;
        let states = self.launch_layers(&step)?;
        self.launch_likeliest(states, asked_at, next)?;
        self.launch_classified(states, asked_at, next..asked.len())?;
        Ok(Started {
            wanted: pieces.iter().map(|piece| piece.wanted.clone()).collect(),
            segments: pieces
                .iter()
                .map(|piece| (piece.segment, piece.tokens.len()))
                .collect(),
            next,
            classified: asked.len() - next,
        })
    }

    /// Waits, and takes in what was asked for.
    fn scores(&mut self, started: &Started) -> Result<Vec<Scores>, GpuError> {
        let mut next = vec![0_u32; started.next];
        let outputs = self.output().outputs;
        let mut logits = std::mem::take(&mut self.logits);
        logits.resize(started.classified * outputs, 0.0);
        let gpu = Arc::clone(&self.gpu);
        // Also where nothing is asked for: a step that failed must not go unnoticed.
        self.scratch
            .likeliest
            .room::<u32>(&gpu, next.len())?
            .read(&mut next)?;
        if !logits.is_empty() {
            let from = self.scratch.classified.room::<f32>(&gpu, logits.len())?;
            from.read(&mut logits)?;
        }
        let classifying = |wanted: &&Wanted| matches!(wanted, Wanted::LogProbabilities(_));
        let asked: Vec<&Wanted> = started.wanted.iter().filter(classifying).collect();
        // A row is a hundred thousand exponentials: too long for one thread while the GPU waits.
        let rows = logits.par_chunks_exact(outputs).zip(asked);
        let classified = rows.map(|(row, wanted)| wanted.of(&row[..self.shape.vocabulary]));
        let mut classified = classified.collect::<Vec<_>>().into_iter();
        let mut next = next.into_iter().map(Scores::Next);
        let scores = started.wanted.iter().map(|wanted| {
            let score = match wanted {
                Wanted::Nothing => None,
                Wanted::Next => next.next(),
                Wanted::LogProbabilities(_) => classified.next(),
            };
            score.unwrap_or(Scores::Nothing)
        });
        let scores = scores.collect();
        self.logits = logits;
        Ok(scores)
    }
}

impl From<GpuError> for StepError {
    fn from(error: GpuError) -> Self {
        match error {
            GpuError::OutOfMemory(bytes) => Self::OutOfMemory {
                detail: format!("{} MiB", bytes >> 20),
            },
            GpuError::Failed(detail) => Self::Failed(detail),
        }
    }
}

impl Device for GpuNetwork {
    fn reserve(
        &mut self,
        parent: Option<SegmentId>,
        tokens: usize,
    ) -> Result<SegmentId, StepError> {
        let gpu = &self.gpu;
        self.cache.reserve(parent, tokens, |count| {
            Buffer::new::<f32>(gpu, count).map_err(|error| match error {
                GpuError::OutOfMemory(bytes) => StepError::no_room_for_keys(bytes, tokens),
                failed @ GpuError::Failed(_) => failed.into(),
            })
        })
    }

    fn release(&mut self, segment: SegmentId) {
        self.cache.release(segment);
    }

    fn start(&mut self, pieces: &[Piece]) -> Result<(), StepError> {
        self.started = Some(self.launch_step(pieces)?);
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<Scores>, StepError> {
        let started = self
            .started
            .take()
            .ok_or_else(|| StepError::Failed("no step was started".to_owned()))?;
        let scores = self.scores(&started)?;
        for (segment, tokens) in started.segments {
            self.cache.grow(segment, tokens);
        }
        Ok(scores)
    }

    fn step_tokens(&self) -> usize {
        STEP_TOKENS
    }

    fn name(&self) -> String {
        self.gpu.name().to_owned()
    }

    fn bytes_per_token(&self) -> usize {
        self.shape.bytes_per_token()
    }
}
