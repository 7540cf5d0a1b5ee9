//! Processors with AVX-512 VNNI (Intel since 2019, AMD since 2022): 64 products an instruction.
//!
//! A tile of 6 rows × 64 outputs keeps 24 of the 32 registers as sums, so that each load of weights
//! serves six instructions and the multipliers never wait.

// Counted loops over registers, unrolled by the compiler: iterators would hide what is a register.
#![allow(clippy::needless_range_loop)]

use core::arch::x86_64::{
    __m512, __m512i, _mm512_dpbusd_epi32, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_storeu_ps,
    _mm512_storeu_si512,
};

use super::{Kernel, LANES, ROWS, Strided, StridedMut};
use crate::minilm::int8::weights::{PANEL, QUAD};

/// AVX-512 F, BW, DQ, VL and VNNI.
pub(in crate::minilm::int8) struct Avx512;

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
}
