//! What the kernels of `cuda/kernels/decoder.cu` are given: its structs, and the arguments of each
//! kernel.

use crate::cuda::gpu::{Address, Plain, arguments};

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Lines {
    pub lines: Address,
    pub scales: Address,
    pub groups: u64,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct GpuPiece {
    pub row: u32,
    pub old: u32,
    pub first_plane: u32,
    pub plane_count: u32,
}

// SAFETY: four numbers.
unsafe impl Plain for GpuPiece {}

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct GpuPlane {
    pub numbers: Address,
    pub length: u32,
    pub capacity: u32,
}

// SAFETY: an address and two numbers, without padding.
unsafe impl Plain for GpuPlane {}

arguments!(pub(super) LookUp as "look_up" in 128 {
    lines: Address, scales: Address, tokens: Address, states: Address, hidden: u32, groups: u32,
});
arguments!(pub(super) NormalizeRows as "normalize_rows" in 128 {
    states: Address, rows: Address, weight: Address, out: Lines, epsilon: f32, width: u32,
});
arguments!(pub(super) RoundRows as "round_rows" in 128 { numbers: Address, out: Lines, width: u32 });
arguments!(pub(super) GateRows as "gate_rows" in 128 { wide: Address, out: Lines, width: u32, inner: u32 });
arguments!(pub(super) ProductOfMany as "product_of_many" in 256 { of: Product });
arguments!(pub(super) ProductOfTile as "product_of_tile" in 256 { of: Product });
arguments!(pub(super) ProductOfFew as "product_of_few" in 128 { of: Product });
arguments!(pub(super) TurnAndStore as "turn_and_store" in 128 { of: Attention });
arguments!(pub(super) Attend as "attend" in 128 { of: Attention });
arguments!(pub(super) Likeliest as "likeliest" in 256 { logits: Address, tokens: Address, stride: u32, vocabulary: u32 });

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Product {
    pub rows: Address,
    pub row_scales: Address,
    pub weights: Address,
    pub weight_scales: Address,
    pub bias: Address,
    pub out: Address,
    pub count: u32,
    pub stride: u32,
    pub width: u32,
    pub groups: u32,
    pub blocks: u32,
    pub add: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Attention {
    pub projected: Address,
    pub out: Address,
    pub turns: Address,
    pub pieces: Address,
    pub planes: Address,
    pub piece_of: Address,
    pub position_of: Address,
    pub row: u32,
    pub heads: u32,
    pub kv_heads: u32,
    pub head: u32,
    pub layer: u32,
    pub neighbours: u32,
    pub queries: u32,
    pub columns: u32,
    pub factor: f32,
}
