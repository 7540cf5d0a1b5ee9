//! Each stage of the decoder, compiled once for each kind of processor.

use super::stages::{self, HeadScratch, HeadTask, SharedNumbers, TileRows};
use crate::kernels::cpu::stage;
use crate::kernels::{GroupBlocks, GroupRows, LANES, Line};

stage!(stages:
    /// Rows of bytes times blocks of weights, into columns of `out`.
    multiply_groups(rows: GroupRows<'_>, blocks: GroupBlocks<'_>, out: SharedNumbers, stride: usize)
);
stage!(stages:
    /// Divides each row by its root mean square, scales it, and rounds it to bytes.
    normalize_to_bytes(rows: TileRows<'_>, weight: &[f32], epsilon: f32)
);
stage!(stages:
    /// Rounds and packs the rows of one block of weights.
    pack_block(rows: &[f32], inputs: usize, block: (&mut [Line], &mut [[f32; LANES]], &mut [[i32; LANES]]))
);
stage!(stages:
    /// Rounds rows to bytes.
    to_bytes(rows: TileRows<'_>)
);
stage!(stages:
    /// `silu(gate) · up`, rounded to bytes.
    gate_to_bytes(rows: TileRows<'_>, inner: usize)
);
stage!(stages:
    /// Attention of one head of keys of one sequence.
    attend_group(task: &HeadTask<'_>, scratch: &mut HeadScratch)
);
