//! Processors with AVX-VNNI but no AVX-512 (most laptops and desktops since 2021).

// Counted loops over registers, unrolled by the compiler: iterators would hide what is a register.
#![allow(clippy::needless_range_loop)]

use core::arch::x86_64::{
    __m256i, _mm256_dpbusd_avx_epi32, _mm256_loadu_si256, _mm256_set1_epi32, _mm256_setzero_si256,
    _mm256_storeu_si256, _mm256_sub_epi32, _mm256_xor_si256,
};

use super::{
    BLOCK_LINES, GroupBlocks, GroupRows, Kernel, Line, PANEL, QUAD, ROWS, Strided, StridedMut, avx2,
};

/// AVX-VNNI, AVX2 and FMA.
pub(crate) struct AvxVnni;

/// Outputs computed at a time: two registers of eight 32-bit sums.
const OUTPUTS: usize = 16;

// SAFETY: the trait's conditions are used for nothing but the accesses they name.
unsafe impl Kernel for AvxVnni {
    #[inline(always)]
    unsafe fn integer_tile<const R: usize>(
        rows: &[u8],
        inputs: usize,
        panel: &[i8],
        out: &mut [[i32; PANEL]; ROWS],
    ) {
        debug_assert!(rows.len() >= R * inputs && panel.len() >= PANEL * inputs && R <= ROWS);
        for first in (0..PANEL).step_by(OUTPUTS) {
            // SAFETY: as in the trait; of each quad of the panel, the 64 bytes of outputs
            // `first..first + 16` are read, in two loads of 32.
            unsafe {
                let mut sums: [[__m256i; 2]; R] = [[_mm256_setzero_si256(); 2]; R];
                for quad in 0..inputs / QUAD {
                    let weights = panel.as_ptr().add((quad * PANEL + first) * QUAD);
                    let low = _mm256_loadu_si256(weights.cast());
                    let high = _mm256_loadu_si256(weights.add(32).cast());
                    for r in 0..R {
                        let four = rows
                            .as_ptr()
                            .add(r * inputs + quad * QUAD)
                            .cast::<i32>()
                            .read_unaligned();
                        let four = _mm256_set1_epi32(four);
                        sums[r][0] = _mm256_dpbusd_avx_epi32(sums[r][0], four, low);
                        sums[r][1] = _mm256_dpbusd_avx_epi32(sums[r][1], four, high);
                    }
                }
                for r in 0..R {
                    let out = out[r].as_mut_ptr().add(first);
                    _mm256_storeu_si256(out.cast(), sums[r][0]);
                    _mm256_storeu_si256(out.add(8).cast(), sums[r][1]);
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
        // SAFETY: the caller's conditions are that function's, and the kind's features include its.
        unsafe { avx2::float_tile::<R, C>(rows, columns, depth, out) }
    }

    #[inline(always)]
    unsafe fn group_product(rows: GroupRows<'_>, blocks: GroupBlocks<'_>, out: StridedMut) {
        // SAFETY: the caller's conditions; the sums are of this kind's instruction.
        unsafe { avx2::group_product::<AvxVnni>(rows, blocks, out) }
    }
}

// SAFETY: as `Kernel`.
unsafe impl avx2::GroupSums for AvxVnni {
    #[inline(always)]
    unsafe fn group_sums<const R: usize>(
        inputs: *const Line,
        lines: *const Line,
        weight_sums: *const i32,
    ) -> [[__m256i; 2]; R] {
        // SAFETY: as the caller vouches. The instruction wants one factor unsigned: 128 is added to
        // the inputs, and the sums begin at −128 · (the sum of the weights).
        unsafe {
            let unsigned = _mm256_set1_epi32(0x8080_8080_u32 as i32);
            let zero = _mm256_setzero_si256();
            let low = _mm256_sub_epi32(zero, _mm256_loadu_si256(weight_sums.cast()));
            let high = _mm256_sub_epi32(zero, _mm256_loadu_si256(weight_sums.add(8).cast()));
            let mut sums = [[low, high]; R];
            for quad in 0..BLOCK_LINES {
                let line = lines.add(quad).cast::<i8>();
                let low = _mm256_loadu_si256(line.cast());
                let high = _mm256_loadu_si256(line.add(32).cast());
                for r in 0..R {
                    let four = avx2::four_inputs(inputs, r, quad);
                    let four = _mm256_xor_si256(_mm256_set1_epi32(four), unsigned);
                    sums[r][0] = _mm256_dpbusd_avx_epi32(sums[r][0], four, low);
                    sums[r][1] = _mm256_dpbusd_avx_epi32(sums[r][1], four, high);
                }
            }
            sums
        }
    }
}
