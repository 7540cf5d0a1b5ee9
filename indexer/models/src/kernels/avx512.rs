//! Processors with AVX-512 VNNI (Intel since 2019, AMD since 2022): 64 products an instruction.
//!
//! A tile of 6 rows × 64 outputs keeps 24 of the 32 registers as sums, so that each load of weights
//! serves six instructions and the multipliers never wait.

// Counted loops over registers, unrolled by the compiler: iterators would hide what is a register.
#![allow(clippy::needless_range_loop)]

use core::arch::x86_64::{
    __m512, __m512i, _mm512_cvtepi32_ps, _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_loadu_ps,
    _mm512_loadu_si512, _mm512_mul_ps, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_setzero_si512, _mm512_storeu_ps, _mm512_storeu_si512, _mm512_sub_epi32,
    _mm512_xor_si512,
};

use super::{
    BLOCK_LINES, GroupBlocks, GroupRows, Kernel, LANES, LINE, Line, PANEL, QUAD, ROW_LINES, ROWS,
    Strided, StridedMut, TILE,
};

/// AVX-512 F, BW, DQ, VL and VNNI.
pub(crate) struct Avx512;

const VECTORS: usize = PANEL / LANES;

// SAFETY: the trait's conditions are used for nothing but the accesses they name.
unsafe impl Kernel for Avx512 {
    #[inline(always)]
    unsafe fn integer_tile<const R: usize>(
        rows: &[u8],
        inputs: usize,
        panel: &[i8],
        out: &mut [[i32; PANEL]; ROWS],
    ) {
        debug_assert!(rows.len() >= R * inputs && panel.len() >= PANEL * inputs && R <= ROWS);
        // SAFETY: quad `q` of row `r` and vector `c` of quad `q` of the panel lie within what the
        // caller vouches for; loads and stores are unaligned ones; the processor has the features.
        unsafe {
            let mut sums: [[__m512i; VECTORS]; R] = [[_mm512_setzero_si512(); VECTORS]; R];
            for quad in 0..inputs / QUAD {
                let weights = panel.as_ptr().add(quad * PANEL * QUAD);
                let weights: [__m512i; VECTORS] = [
                    _mm512_loadu_si512(weights.cast()),
                    _mm512_loadu_si512(weights.add(64).cast()),
                    _mm512_loadu_si512(weights.add(128).cast()),
                    _mm512_loadu_si512(weights.add(192).cast()),
                ];
                for r in 0..R {
                    let four = rows
                        .as_ptr()
                        .add(r * inputs + quad * QUAD)
                        .cast::<i32>()
                        .read_unaligned();
                    let four = _mm512_set1_epi32(four);
                    for c in 0..VECTORS {
                        sums[r][c] = _mm512_dpbusd_epi32(sums[r][c], four, weights[c]);
                    }
                }
            }
            for r in 0..R {
                for c in 0..VECTORS {
                    _mm512_storeu_si512(out[r].as_mut_ptr().add(c * LANES).cast(), sums[r][c]);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn float_tile<const R: usize, const C: usize>(
        rows: Strided,
        columns: Strided,
        depth: usize,
        out: StridedMut,
    ) {
        // SAFETY: number `d` of row `r` and vector `c` of row `d` lie within what the caller
        // vouches for; loads and stores are unaligned ones; the processor has the features.
        unsafe {
            let mut sums: [[__m512; C]; R] = [[_mm512_setzero_ps(); C]; R];
            for d in 0..depth {
                let column = columns.start.add(d * columns.stride);
                let mut vectors: [__m512; C] = [_mm512_setzero_ps(); C];
                for c in 0..C {
                    vectors[c] = _mm512_loadu_ps(column.add(c * LANES));
                }
                for r in 0..R {
                    let number = _mm512_set1_ps(*rows.start.add(r * rows.stride + d));
                    for c in 0..C {
                        sums[r][c] = _mm512_fmadd_ps(number, vectors[c], sums[r][c]);
                    }
                }
            }
            for r in 0..R {
                for c in 0..C {
                    _mm512_storeu_ps(out.start.add(r * out.stride + c * LANES), sums[r][c]);
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn group_product(rows: GroupRows<'_>, blocks: GroupBlocks<'_>, out: StridedMut) {
        let (groups, count) = (rows.groups, rows.count);
        let block_count = blocks.lines.len() / (groups * BLOCK_LINES);
        let mut block = 0;
        while block < block_count {
            let width = (block_count - block).min(BLOCKS);
            let mut first = 0;
            while first < count {
                // SAFETY: as in the trait, for `here` rows from `first` and `width` blocks from
                // `block`.
                unsafe {
                    let tile = GroupTile {
                        rows,
                        blocks,
                        first,
                        block,
                        out,
                    };
                    match ((count - first).min(4), width) {
                        (1, 1) => tile.product::<1, 1>(),
                        (1, _) => tile.product::<1, BLOCKS>(),
                        (2, 1) => tile.product::<2, 1>(),
                        (2, _) => tile.product::<2, BLOCKS>(),
                        (3, 1) => tile.product::<3, 1>(),
                        (3, _) => tile.product::<3, BLOCKS>(),
                        (_, 1) => tile.product::<4, 1>(),
                        (_, _) => tile.product::<4, BLOCKS>(),
                    }
                }
                first += 4;
            }
            block += width;
        }
    }
}

/// Quads of a line.
const QUADS: usize = LINE / QUAD;
/// Blocks of outputs that a tile of a group product has at most.
const BLOCKS: usize = 2;

struct GroupTile<'a> {
    rows: GroupRows<'a>,
    blocks: GroupBlocks<'a>,
    first: usize,
    block: usize,
    out: StridedMut,
}

impl GroupTile<'_> {
    /// `R` rows and `C` blocks: `R · C` registers of sums and as many of totals.
    ///
    /// The instruction wants one factor unsigned: 128 is added to the inputs, and the sums begin at
    /// −128 · (the sum of the weights).
    ///
    /// # Safety
    /// As [`Kernel::group_product`]; the tile lies within its rows and blocks.
    #[inline(always)]
    unsafe fn product<const R: usize, const C: usize>(&self) {
        let groups = self.rows.groups;
        // SAFETY: as the caller vouches.
        unsafe {
            let inputs: *const Line = self.rows.lines.as_ptr().add(self.rows.line(self.first));
            let row_scales = self.rows.scales.as_ptr().add(self.rows.scale(self.first));
            let lines = self
                .blocks
                .lines
                .as_ptr()
                .add(self.block * groups * BLOCK_LINES);
            let scales = self.blocks.scales.as_ptr().add(self.block * groups);
            let weight_sums = self.blocks.sums.as_ptr().add(self.block * groups);
            let unsigned = _mm512_set1_epi32(0x8080_8080_u32 as i32);
            let mut totals: [[__m512; C]; R] = [[_mm512_setzero_ps(); C]; R];
            for group in 0..groups {
                let mut sums: [[__m512i; C]; R] = [[_mm512_setzero_si512(); C]; R];
                for c in 0..C {
                    let start = _mm512_loadu_si512(weight_sums.add(c * groups + group).cast());
                    for r in 0..R {
                        sums[r][c] = _mm512_sub_epi32(_mm512_setzero_si512(), start);
                    }
                }
                for quad in 0..BLOCK_LINES {
                    let mut weights: [__m512i; C] = [_mm512_setzero_si512(); C];
                    for c in 0..C {
                        let line = lines.add((c * groups + group) * BLOCK_LINES + quad);
                        weights[c] = _mm512_loadu_si512(line.cast());
                    }
                    for r in 0..R {
                        let line = inputs.add((group * ROW_LINES + quad / QUADS) * TILE + r);
                        let four = line.cast::<i32>().add(quad % QUADS).read();
                        let four = _mm512_set1_epi32(four);
                        let four = _mm512_xor_si512(four, unsigned);
                        for c in 0..C {
                            sums[r][c] = _mm512_dpbusd_epi32(sums[r][c], four, weights[c]);
                        }
                    }
                }
                for c in 0..C {
                    let weight_scales = _mm512_loadu_ps(scales.add(c * groups + group).cast());
                    for r in 0..R {
                        let scale = _mm512_set1_ps(*row_scales.add(group * TILE + r));
                        let scale = _mm512_mul_ps(scale, weight_scales);
                        let sum = _mm512_cvtepi32_ps(sums[r][c]);
                        totals[r][c] = _mm512_fmadd_ps(sum, scale, totals[r][c]);
                    }
                }
            }
            for r in 0..R {
                for c in 0..C {
                    let place = (self.first + r) * self.out.stride + (self.block + c) * LANES;
                    _mm512_storeu_ps(self.out.start.add(place), totals[r][c]);
                }
            }
        }
    }
}
