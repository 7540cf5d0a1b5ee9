//! The two inner loops that want a processor's own instructions, once for each kind of processor.
//!
//! All kinds give the same bits. Integer sums are exact in any order (at most 1536 · 255 · 128 in
//! magnitude, far below 2³¹, and no instruction used here saturates). Floating-point sums are taken
//! in the order of `depth`, each step one fused multiply-add, which IEEE 754 rounds in one way only.
//!
//! The crate's only `unsafe` is here (vector instructions and unchecked loads), where
//! [`stages`](super::stages) calls these loops with sizes it has made sure of, and where
//! [`cpu`](super::cpu) calls functions whose processor features it has detected.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "x86_64")]
pub(super) mod avxvnni;

use super::weights::{PANEL, QUAD};

/// Rows that a kernel computes at a time.
pub(super) const ROWS: usize = 6;
/// Floats in a vector register of the widest processor: the unit of widths.
pub(super) const LANES: usize = 16;

/// A kind of processor.
///
/// # Safety
/// For implementers: read and write only what the caller vouches for. For callers: the running
/// processor has the features of the kind, which [`Cpu`](super::cpu::Cpu) proves.
pub(super) unsafe trait Kernel {
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
}

/// Rows of numbers in memory, `stride` numbers apart.
#[derive(Clone, Copy)]
pub(super) struct Strided {
    pub start: *const f32,
    pub stride: usize,
}

/// Rows of numbers to be written, `stride` numbers apart.
#[derive(Clone, Copy)]
pub(super) struct StridedMut {
    pub start: *mut f32,
    pub stride: usize,
}

/// Any processor: plain Rust that the compiler vectorises as it can.
pub(super) struct Portable;

// SAFETY: the trait's conditions are used for nothing but the accesses they name.
unsafe impl Kernel for Portable {
    #[inline(always)]
    unsafe fn integer_tile<const R: usize>(
        rows: &[u8],
        inputs: usize,
        panel: &[i8],
        out: &mut [[i32; PANEL]; ROWS],
    ) {
        // Each weight of a quad has a sum of its own, so that all is lane by lane, in 16-bit
        // factors that every vector unit can multiply; the four sums of an output meet at the end.
        for (row, out) in rows.chunks_exact(inputs).zip(out.iter_mut()).take(R) {
            let mut sums = [0_i32; PANEL * QUAD];
            let quads = row.as_chunks::<QUAD>().0.iter();
            for (four, weights) in quads.zip(panel.as_chunks::<{ PANEL * QUAD }>().0) {
                let mut inputs = [0_i16; LANES];
                for (lane, input) in inputs.iter_mut().enumerate() {
                    *input = i16::from(four[lane % QUAD]);
                }
                let groups = sums.as_chunks_mut::<LANES>().0.iter_mut();
                for (sums, weights) in groups.zip(weights.as_chunks::<LANES>().0) {
                    for lane in 0..LANES {
                        let product =
                            i32::from(inputs[lane]).wrapping_mul(i32::from(weights[lane]));
                        sums[lane] = sums[lane].wrapping_add(product);
                    }
                }
            }
            for (out, sums) in out.iter_mut().zip(sums.as_chunks::<QUAD>().0) {
                *out = sums.iter().sum();
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
        for r in 0..R {
            for c in 0..C {
                let mut sums = [0.0_f32; LANES];
                for d in 0..depth {
                    // SAFETY: row `r` has `depth` numbers, and row `d` of the columns has 16·C.
                    let (number, column) = unsafe {
                        let column = columns.start.add(d * columns.stride + c * LANES);
                        (
                            *rows.start.add(r * rows.stride + d),
                            &*column.cast::<[f32; LANES]>(),
                        )
                    };
                    for (sum, column) in sums.iter_mut().zip(column) {
                        *sum = number.mul_add(*column, *sum);
                    }
                }
                // SAFETY: row `r` of the output has 16·C numbers.
                unsafe {
                    out.start
                        .add(r * out.stride + c * LANES)
                        .cast::<[f32; LANES]>()
                        .write(sums)
                };
            }
        }
    }
}
