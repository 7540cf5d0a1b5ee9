//! Processors with AVX2 and FMA (Intel since 2013, AMD since 2015), but no VNNI.
//!
//! AVX2's own byte product (`maddubs`) saturates at 16 bits. In a group product both factors are
//! ±127 at most, so that a pair of products fits, 2 · 127² < 2¹⁵; elsewhere bytes are widened to 16
//! bits first, and the product of pairs is exact in 32.

// Counted loops over registers, unrolled by the compiler: iterators would hide what is a register.
#![allow(clippy::needless_range_loop)]

use core::arch::x86_64::{
    __m256, __m256i, _mm_loadu_si128, _mm_set1_epi32, _mm256_abs_epi8, _mm256_add_epi32,
    _mm256_cvtepi8_epi16, _mm256_cvtepi32_ps, _mm256_cvtepu8_epi16, _mm256_fmadd_ps,
    _mm256_hadd_epi32, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_mul_ps, _mm256_permute4x64_epi64, _mm256_set1_epi16,
    _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_sign_epi8,
    _mm256_storeu_ps, _mm256_storeu_si256,
};

use super::{
    BLOCK_LINES, GroupBlocks, GroupRows, Kernel, LANES, LINE, Line, PANEL, QUAD, ROW_LINES, ROWS,
    Strided, StridedMut, TILE,
};

/// AVX2 and FMA.
pub(crate) struct Avx2;

/// Outputs in one register of 32-bit sums.
const SUMS: usize = 8;
/// Rows of a group product that are summed at a time: with two sums each, and the weights, they
/// fill the sixteen registers. [`TILE`] is a multiple.
const SUMMED: usize = 4;

// SAFETY: the trait's conditions are used for nothing but the accesses they name.
unsafe impl Kernel for Avx2 {
    #[inline(always)]
    unsafe fn integer_tile<const R: usize>(
        rows: &[u8],
        inputs: usize,
        panel: &[i8],
        out: &mut [[i32; PANEL]; ROWS],
    ) {
        debug_assert!(rows.len() >= R * inputs && panel.len() >= PANEL * inputs && R <= ROWS);
        for first in (0..PANEL).step_by(SUMS) {
            // SAFETY: as in the trait; of each quad of the panel, the 32 bytes of outputs
            // `first..first + 8` are read, in two loads of 16.
            unsafe {
                // Each output has two sums, of its even and of its odd pairs of inputs.
                let mut sums: [[__m256i; 2]; R] = [[_mm256_setzero_si256(); 2]; R];
                for quad in 0..inputs / QUAD {
                    let weights = panel.as_ptr().add((quad * PANEL + first) * QUAD);
                    let low = _mm256_cvtepi8_epi16(_mm_loadu_si128(weights.cast()));
                    let high = _mm256_cvtepi8_epi16(_mm_loadu_si128(weights.add(16).cast()));
                    for r in 0..R {
                        let four = rows
                            .as_ptr()
                            .add(r * inputs + quad * QUAD)
                            .cast::<i32>()
                            .read_unaligned();
                        let four = _mm256_cvtepu8_epi16(_mm_set1_epi32(four));
                        sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(four, low));
                        sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(four, high));
                    }
                }
                for r in 0..R {
                    // Adds the two sums of each output: outputs 0 1 4 5 | 2 3 6 7, then in order.
                    let pairs = _mm256_hadd_epi32(sums[r][0], sums[r][1]);
                    let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(pairs);
                    _mm256_storeu_si256(out[r].as_mut_ptr().add(first).cast(), ordered);
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
        // SAFETY: the caller's conditions are this function's, and the kind's features include its.
        unsafe { float_tile::<R, C>(rows, columns, depth, out) }
    }

    #[inline(always)]
    unsafe fn group_product(rows: GroupRows<'_>, blocks: GroupBlocks<'_>, out: StridedMut) {
        // SAFETY: the caller's conditions; the sums are of this kind's instructions.
        unsafe { group_product::<Avx2>(rows, blocks, out) }
    }
}

/// How a kind with 256-bit registers sums the products of a group.
///
/// # Safety
/// As [`Kernel`].
pub(super) unsafe trait GroupSums {
    /// The sums of one group for `R` rows (a line after the other) and one block, in two registers.
    ///
    /// # Safety
    /// Each row has its line, the block its 16 lines and 16 weight sums.
    unsafe fn group_sums<const R: usize>(
        inputs: *const Line,
        lines: *const Line,
        weight_sums: *const i32,
    ) -> [[__m256i; 2]; R];
}

// SAFETY: as `Kernel`.
unsafe impl GroupSums for Avx2 {
    #[inline(always)]
    unsafe fn group_sums<const R: usize>(
        inputs: *const Line,
        lines: *const Line,
        _weight_sums: *const i32,
    ) -> [[__m256i; 2]; R] {
        // SAFETY: as the caller vouches.
        unsafe {
            // The sign of a weight goes over to the input: `maddubs` wants one factor unsigned.
            let ones = _mm256_set1_epi16(1);
            let mut sums = [[_mm256_setzero_si256(); 2]; R];
            for quad in 0..BLOCK_LINES {
                let line = lines.add(quad).cast::<i8>();
                let low = _mm256_loadu_si256(line.cast());
                let high = _mm256_loadu_si256(line.add(32).cast());
                let (low_size, high_size) = (_mm256_abs_epi8(low), _mm256_abs_epi8(high));
                for r in 0..R {
                    let four = _mm256_set1_epi32(four_inputs(inputs, r, quad));
                    let low = _mm256_maddubs_epi16(low_size, _mm256_sign_epi8(four, low));
                    let high = _mm256_maddubs_epi16(high_size, _mm256_sign_epi8(four, high));
                    sums[r][0] = _mm256_add_epi32(sums[r][0], _mm256_madd_epi16(low, ones));
                    sums[r][1] = _mm256_add_epi32(sums[r][1], _mm256_madd_epi16(high, ones));
                }
            }
            sums
        }
    }
}

/// The inputs of a quad in row `r`, of a group whose lines begin at `inputs`.
///
/// # Safety
/// The group has its lines, [`TILE`] apart.
#[inline(always)]
pub(super) unsafe fn four_inputs(inputs: *const Line, r: usize, quad: usize) -> i32 {
    const QUADS: usize = LINE / QUAD;
    // SAFETY: as the caller vouches.
    unsafe {
        let line = inputs.add(quad / QUADS * TILE + r);
        line.cast::<i32>().add(quad % QUADS).read()
    }
}

/// [`Kernel::group_product`] with the sums of `S`.
///
/// # Safety
/// As [`Kernel::group_product`]; the processor has the features of `S`, AVX2 and FMA.
#[inline(always)]
pub(super) unsafe fn group_product<S: GroupSums>(
    rows: GroupRows<'_>,
    blocks: GroupBlocks<'_>,
    out: StridedMut,
) {
    let (groups, count) = (rows.groups, rows.count);
    for block in 0..blocks.lines.len() / (groups * BLOCK_LINES) {
        let mut first = 0;
        while first < count {
            // SAFETY: as in the trait, for the rows from `first`.
            unsafe {
                match count - first {
                    1 => group_tile::<S, 1>(rows, blocks, (first, block), out),
                    2 => group_tile::<S, 2>(rows, blocks, (first, block), out),
                    3 => group_tile::<S, 3>(rows, blocks, (first, block), out),
                    _ => group_tile::<S, SUMMED>(rows, blocks, (first, block), out),
                }
            }
            first += SUMMED;
        }
    }
}

/// # Safety
/// As [`group_product`]; `R` rows and one block from `place`.
#[inline(always)]
unsafe fn group_tile<S: GroupSums, const R: usize>(
    rows: GroupRows<'_>,
    blocks: GroupBlocks<'_>,
    (first, block): (usize, usize),
    out: StridedMut,
) {
    let groups = rows.groups;
    // SAFETY: as the caller vouches.
    unsafe {
        let row_scales = rows.scales.as_ptr().add(rows.scale(first));
        let mut totals: [[__m256; 2]; R] = [[_mm256_setzero_ps(); 2]; R];
        for group in 0..groups {
            let place = block * groups + group;
            let sums = S::group_sums::<R>(
                rows.lines
                    .as_ptr()
                    .add(rows.line(first) + group * ROW_LINES * TILE),
                blocks.lines.as_ptr().add(place * BLOCK_LINES),
                blocks.sums.as_ptr().add(place).cast(),
            );
            let scales = blocks.scales.as_ptr().add(place).cast::<f32>();
            for half in 0..2 {
                let weight_scales = _mm256_loadu_ps(scales.add(8 * half));
                for r in 0..R {
                    let scale = _mm256_set1_ps(*row_scales.add(group * TILE + r));
                    let scale = _mm256_mul_ps(scale, weight_scales);
                    let sum = _mm256_cvtepi32_ps(sums[r][half]);
                    totals[r][half] = _mm256_fmadd_ps(sum, scale, totals[r][half]);
                }
            }
        }
        for r in 0..R {
            for half in 0..2 {
                let place = (first + r) * out.stride + block * LANES + 8 * half;
                _mm256_storeu_ps(out.start.add(place), totals[r][half]);
            }
        }
    }
}

/// The floating-point tile in 256-bit registers, 16 columns at a time.
///
/// # Safety
/// As [`Kernel::float_tile`]; the processor has AVX2 and FMA.
#[inline(always)]
pub(super) unsafe fn float_tile<const R: usize, const C: usize>(
    rows: Strided,
    columns: Strided,
    depth: usize,
    out: StridedMut,
) {
    for c in 0..C {
        // SAFETY: number `d` of row `r` and vector `c` of row `d` lie within what the caller
        // vouches for; loads and stores are unaligned ones.
        unsafe {
            let mut sums: [[__m256; 2]; R] = [[_mm256_setzero_ps(); 2]; R];
            for d in 0..depth {
                let column = columns.start.add(d * columns.stride + c * LANES);
                let (low, high) = (_mm256_loadu_ps(column), _mm256_loadu_ps(column.add(8)));
                for r in 0..R {
                    let number = _mm256_set1_ps(*rows.start.add(r * rows.stride + d));
                    sums[r][0] = _mm256_fmadd_ps(number, low, sums[r][0]);
                    sums[r][1] = _mm256_fmadd_ps(number, high, sums[r][1]);
                }
            }
            for r in 0..R {
                let out = out.start.add(r * out.stride + c * LANES);
                _mm256_storeu_ps(out, sums[r][0]);
                _mm256_storeu_ps(out.add(8), sums[r][1]);
            }
        }
    }
}
