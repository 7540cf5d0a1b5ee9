//! Processors with AVX2 and FMA (Intel since 2013, AMD since 2015), but no VNNI.
//!
//! AVX2's own byte product (`maddubs`) saturates at 16 bits and would give other sums than VNNI. So
//! bytes are widened to 16 bits first; then the product of pairs is exact in 32.

// Counted loops over registers, unrolled by the compiler: iterators would hide what is a register.
#![allow(clippy::needless_range_loop)]

use core::arch::x86_64::{
    __m256, __m256i, _mm_loadu_si128, _mm_set1_epi32, _mm256_add_epi32, _mm256_cvtepi8_epi16,
    _mm256_cvtepu8_epi16, _mm256_fmadd_ps, _mm256_hadd_epi32, _mm256_loadu_ps, _mm256_madd_epi16,
    _mm256_permute4x64_epi64, _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256,
    _mm256_storeu_ps, _mm256_storeu_si256,
};

use super::{Kernel, LANES, ROWS, Strided, StridedMut};
use crate::minilm::int8::weights::{PANEL, QUAD};

/// AVX2 and FMA.
pub(in crate::minilm::int8) struct Avx2;

/// Outputs in one register of 32-bit sums.
const SUMS: usize = 8;

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
