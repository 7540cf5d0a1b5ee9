//! The inner loops that want a processor's own instructions, once for each kind of processor.
//!
//! All kinds give the same bits. Integer sums are exact in any order (see each loop for its bound,
//! below where an instruction saturates). Floating-point sums are taken in one order, each step one
//! fused multiply-add, which IEEE 754 rounds in one way only.
//!
//! The crate's `unsafe` is here (vector and tile instructions, unchecked loads), where the stages
//! of the two engines call these loops with sizes they have made sure of, and where [`cpu`] calls
//! functions whose processor features it has detected.

#[cfg(target_arch = "x86_64")]
mod amx;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod avxvnni;
pub(crate) mod cpu;
pub(crate) mod floats;
mod portable;

pub(crate) use cpu::Cpu;

/// Outputs of a panel of [`Kernel::integer_tile`].
pub(crate) const PANEL: usize = 64;
/// Inputs that one instruction sums.
pub(crate) const QUAD: usize = 4;
/// Inputs that share a scale in [`Kernel::group_product`].
pub(crate) const GROUP: usize = 128;
/// Bytes of a [`Line`].
pub(crate) const LINE: usize = 64;
/// Lines of a row of activations for a group.
pub(crate) const ROW_LINES: usize = GROUP / LINE;

/// Rows that a kernel computes at a time.
pub(crate) const ROWS: usize = 6;
/// Floats in a vector register of the widest processor: the unit of widths.
pub(crate) const LANES: usize = 16;

/// A kind of processor.
///
/// # Safety
/// For implementers: read and write only what the caller vouches for. For callers: the running
/// processor has the features of the kind, which [`Cpu`](super::cpu::Cpu) proves.
pub(crate) unsafe trait Kernel {
    /// `out[r][c] = Σ_i rows[r][i] · panel[i][c]` for `R` rows of `inputs` bytes, each right after
    /// the other, and a packed panel of [`PANEL`] outputs.
    ///
    /// # Safety
    /// `rows` has `R · inputs` bytes, `panel` has `PANEL · inputs`, `inputs` is a multiple of 4.
    unsafe fn integer_tile<const R: usize>(
        rows: &[u8],
        inputs: usize,
        panel: &[i8],
        out: &mut [[i32; PANEL]; ROWS],
    );

    /// `out[r][c] = Σ_d rows[r][d] · columns[d][c]` for `R` rows and `16·C` columns.
    ///
    /// # Safety
    /// Each of the `R` rows has `depth` numbers at its place in `rows`, each of `depth` rows of
    /// `columns` and of the `R` rows of `out` has `16·C` numbers at its place.
    unsafe fn float_tile<const R: usize, const C: usize>(
        rows: Strided,
        columns: Strided,
        depth: usize,
        out: StridedMut,
    );

    /// `out[r][o] = Σ_g (Σ_i rows[r][g][i] · weights[o][g][i]) · (row scale · weight scale)`, for
    /// all rows and all outputs of the blocks.
    ///
    /// The inner sums are exact integers (at most 128 · 127² in magnitude); the outer one adds
    /// group after group by one fused multiply-add with the product of the two scales, from 0.
    ///
    /// # Safety
    /// `rows` is padded as its fields say, `blocks` has as many groups as they; each row of `out`
    /// has 16 numbers a block at its place.
    unsafe fn group_product(rows: GroupRows<'_>, blocks: GroupBlocks<'_>, out: StridedMut);
}

/// 64 bytes, where every kind of processor loads them best: half a group of a row of activations,
/// or a quad of weights of a block.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(crate) struct Line(pub [i8; LINE]);

/// Rows of activations in signed bytes, a scale for each group of a row.
#[derive(Clone, Copy)]
pub(crate) struct GroupRows<'a> {
    /// Groups of a row.
    pub groups: usize,
    /// Whole tiles of [`TILE`] rows, rows past the last one zero: of each tile, the first line of
    /// all its rows, then the second, …; [`ROW_LINES`] lines a group.
    pub lines: &'a [Line],
    /// Of each tile, the scales of group 0 of all its rows, then those of group 1, …
    pub scales: &'a [f32],
    /// The number of rows, which is not that of the padded ones.
    pub count: usize,
}

/// Weights in signed bytes, in blocks of [`LANES`] outputs.
#[derive(Clone, Copy)]
pub(crate) struct GroupBlocks<'a> {
    /// For each block, for each group, for each quad of inputs, a line: the four weights of output
    /// 0, of output 1, …
    pub lines: &'a [Line],
    /// For each block, for each group, the scale of each output.
    pub scales: &'a [[f32; LANES]],
    /// For each block, for each group, 128 times the sum of each output's weights.
    pub sums: &'a [[i32; LANES]],
}

/// Lines of weights that a block has for a group: one a quad.
pub(crate) const BLOCK_LINES: usize = GROUP / QUAD;
/// Rows of a tile: activations are padded to whole tiles.
pub(crate) const TILE: usize = 16;

/// Rows of numbers in memory, `stride` numbers apart.
#[derive(Clone, Copy)]
pub(crate) struct Strided {
    pub start: *const f32,
    pub stride: usize,
}

/// Rows of numbers to be written, `stride` numbers apart.
#[derive(Clone, Copy)]
pub(crate) struct StridedMut {
    pub start: *mut f32,
    pub stride: usize,
}

impl GroupRows<'_> {
    /// The place of a row's first line; the next one is [`TILE`] lines on.
    #[inline(always)]
    fn line(&self, row: usize) -> usize {
        row / TILE * TILE * self.groups * ROW_LINES + row % TILE
    }

    /// The place of a row's first scale; the next one is [`TILE`] on.
    #[inline(always)]
    fn scale(&self, row: usize) -> usize {
        row / TILE * TILE * self.groups + row % TILE
    }
}
