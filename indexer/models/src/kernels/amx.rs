//! Processors with a tile unit (Intel servers since 2023): 16,384 products an instruction.
//!
//! The compiler knows no tile instructions yet, so they are written out. A tile of 16 rows and 16
//! outputs is multiplied group by group into 32-bit sums, which are stored, scaled and added to 16
//! registers of totals while the unit works on the next group. Everything else is as with AVX-512.

// Counted loops over registers, unrolled by the compiler: iterators would hide what is a register.
#![allow(clippy::needless_range_loop)]

use core::arch::asm;
use core::arch::x86_64::{
    __m512, __m512i, _mm512_cvtepi32_ps, _mm512_fmadd_ps, _mm512_load_si512, _mm512_loadu_ps,
    _mm512_mul_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
};
use std::sync::OnceLock;

use super::avx512::Avx512;
use super::{
    BLOCK_LINES, GroupBlocks, GroupRows, Kernel, LANES, LINE, PANEL, ROW_LINES, ROWS, Strided,
    StridedMut, TILE,
};

/// AMX-INT8 and all that [`Avx512`] has.
pub(crate) struct Amx;

/// Whether the processor has the tile unit and the operating system lets this process use it.
pub(super) fn is_usable() -> bool {
    static USABLE: OnceLock<bool> = OnceLock::new();
    *USABLE.get_or_init(|| has_tiles() && permitted())
}

fn has_tiles() -> bool {
    const TILES: u32 = 1 << 24;
    const TILES_INT8: u32 = 1 << 25;
    const OS_STATE: u64 = 0b11 << 17;
    if core::arch::x86_64::__cpuid(0).eax < 7 {
        return false;
    }
    let features = core::arch::x86_64::__cpuid_count(7, 0).edx;
    let saves_state = core::arch::x86_64::__cpuid(1).ecx & (1 << 27) != 0;
    if features & TILES == 0 || features & TILES_INT8 == 0 || !saves_state {
        return false;
    }
    let (low, high): (u32, u32);
    // SAFETY: the operating system has enabled XGETBV (OSXSAVE, bit 27 above).
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high, options(nomem, nostack))
    };
    (u64::from(high) << 32 | u64::from(low)) & OS_STATE == OS_STATE
}

/// Asks Linux for the tile registers, which a process gets at its first wish only.
#[cfg(target_os = "linux")]
fn permitted() -> bool {
    const ARCH_PRCTL: u64 = 158;
    const REQUEST_PERMISSION: u64 = 0x1023;
    const TILE_DATA: u64 = 18;
    let result: i64;
    // SAFETY: a system call that touches no memory of this process; an older kernel refuses it.
    unsafe {
        asm!("syscall", inlateout("rax") ARCH_PRCTL => result, in("rdi") REQUEST_PERMISSION,
             in("rsi") TILE_DATA, out("rcx") _, out("r11") _, options(nostack));
    }
    result == 0
}

#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}

/// The shape of every tile: 16 rows of 64 bytes.
#[repr(align(64))]
struct Shapes([u8; 64]);

static SHAPES: Shapes = {
    let mut shapes = [0; 64];
    shapes[0] = 1;
    let mut tile = 0;
    while tile < 8 {
        shapes[16 + 2 * tile] = 64;
        shapes[48 + tile] = 16;
        tile += 1;
    }
    Shapes(shapes)
};

/// The 32-bit sums of a tile.
#[repr(align(64))]
struct Sums([i32; TILE * LANES]);

// SAFETY: the trait's conditions are used for nothing but the accesses they name.
unsafe impl Kernel for Amx {
    #[inline(always)]
    unsafe fn integer_tile<const R: usize>(
        rows: &[u8],
        inputs: usize,
        panel: &[i8],
        out: &mut [[i32; PANEL]; ROWS],
    ) {
        // SAFETY: the caller's conditions are that function's, and the kind's features include its.
        unsafe { Avx512::integer_tile::<R>(rows, inputs, panel, out) }
    }

    #[inline(always)]
    unsafe fn float_tile<const R: usize, const C: usize>(
        rows: Strided,
        columns: Strided,
        depth: usize,
        out: StridedMut,
    ) {
        // SAFETY: the caller's conditions are that function's, and the kind's features include its.
        unsafe { Avx512::float_tile::<R, C>(rows, columns, depth, out) }
    }

    #[inline(always)]
    unsafe fn group_product(rows: GroupRows<'_>, blocks: GroupBlocks<'_>, out: StridedMut) {
        let (groups, count) = (rows.groups, rows.count);
        // SAFETY: every tile lies within what the caller vouches for: rows are padded to whole
        // tiles, a block has its lines for each group. Tile registers are configured here and
        // released before anything else runs on this thread.
        unsafe {
            asm!("ldtilecfg [{}]", in(reg) SHAPES.0.as_ptr(), options(nostack));
            for block in 0..blocks.lines.len() / (groups * BLOCK_LINES) {
                let mut first = 0;
                while first < count {
                    let place = Place {
                        groups,
                        lines: blocks
                            .lines
                            .as_ptr()
                            .add(block * groups * BLOCK_LINES)
                            .cast(),
                        weight_scales: blocks.scales.as_ptr().add(block * groups).cast(),
                        inputs: rows.lines.as_ptr().add(rows.line(first)).cast(),
                        row_scales: rows.scales.as_ptr().add(rows.scale(first)),
                        target: out.start.add(first * out.stride + block * LANES),
                        stride: out.stride,
                        count: count - first,
                    };
                    match place.count {
                        1 => place.product::<1, 1>(),
                        2..=4 => place.product::<1, 4>(),
                        5..=8 => place.product::<1, 8>(),
                        9..=TILE => place.product::<1, TILE>(),
                        _ => place.product::<2, TILE>(),
                    }
                    first += if place.count > TILE { 2 * TILE } else { TILE };
                }
            }
            asm!("tilerelease", options(nostack, nomem));
        }
    }
}

/// One or two tiles of outputs: up to 16 rows each, one block.
struct Place {
    groups: usize,
    lines: *const i8,
    weight_scales: *const f32,
    inputs: *const i8,
    row_scales: *const f32,
    target: *mut f32,
    stride: usize,
    /// Rows that are there.
    count: usize,
}

impl Place {
    /// Computes `T` tiles of `R` rows each. The sums of a group are scaled while the unit works on
    /// the next one.
    ///
    /// # Safety
    /// As [`Kernel::group_product`], with tiles configured; at least one row of the last tile is
    /// there.
    #[inline(always)]
    unsafe fn product<const T: usize, const R: usize>(&self) {
        let mut sums = [const { [const { Sums([0; TILE * LANES]) }; 2] }; 2];
        // SAFETY: as the caller vouches; rows beyond those that are there are the padding's.
        unsafe {
            let mut totals: [[__m512; R]; T] = [[_mm512_setzero_ps(); R]; T];
            self.sums_of::<T>(0, &mut sums[0]);
            for group in 0..self.groups {
                if group + 1 < self.groups {
                    self.sums_of::<T>(group + 1, &mut sums[(group + 1) % 2]);
                }
                let weight_scales = _mm512_loadu_ps(self.weight_scales.add(group * LANES));
                for t in 0..T {
                    let here = sums[group % 2][t].0.as_ptr();
                    let row_scales = self.row_scales.add((t * self.groups + group) * TILE);
                    for r in 0..R {
                        let sum: __m512i = _mm512_load_si512(here.add(r * LANES).cast());
                        let scale = _mm512_set1_ps(*row_scales.add(r));
                        let scale = _mm512_mul_ps(scale, weight_scales);
                        totals[t][r] =
                            _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, totals[t][r]);
                    }
                }
            }
            for t in 0..T {
                for r in 0..R {
                    if t * TILE + r < self.count {
                        let row = self.target.add((t * TILE + r) * self.stride);
                        _mm512_storeu_ps(row, totals[t][r]);
                    }
                }
            }
        }
    }

    /// The sums of products of one group, of one tile or two.
    ///
    /// # Safety
    /// As [`product`](Self::product).
    #[inline(always)]
    unsafe fn sums_of<const T: usize>(&self, group: usize, sums: &mut [Sums; 2]) {
        const HALF: usize = TILE * LINE;
        // SAFETY: a group has two half tiles of inputs (16 lines each, one after the other) and of
        // weights; the second tile's inputs come after all groups of the first's; 1,024 bytes of
        // sums.
        unsafe {
            let inputs = self.inputs.add(group * ROW_LINES * HALF);
            let weights = self.lines.add(group * BLOCK_LINES * LINE);
            if T == 1 {
                asm!(
                    "tilezero tmm0",
                    "tileloadd tmm1, [{inputs} + {line} * 1]",
                    "tileloadd tmm2, [{weights} + {line} * 1]",
                    "tdpbssd tmm0, tmm1, tmm2",
                    "tileloadd tmm3, [{inputs} + {line} * 1 + 1024]",
                    "tileloadd tmm4, [{weights} + {line} * 1 + 1024]",
                    "tdpbssd tmm0, tmm3, tmm4",
                    "tilestored [{sums} + {line} * 1], tmm0",
                    inputs = in(reg) inputs,
                    weights = in(reg) weights,
                    line = in(reg) LINE,
                    sums = in(reg) sums[0].0.as_mut_ptr(),
                    options(nostack),
                );
            } else {
                asm!(
                    "tilezero tmm0",
                    "tilezero tmm5",
                    "tileloadd tmm2, [{weights} + {line} * 1]",
                    "tileloadd tmm1, [{inputs} + {line} * 1]",
                    "tdpbssd tmm0, tmm1, tmm2",
                    "tileloadd tmm3, [{second} + {line} * 1]",
                    "tdpbssd tmm5, tmm3, tmm2",
                    "tileloadd tmm4, [{weights} + {line} * 1 + 1024]",
                    "tileloadd tmm6, [{inputs} + {line} * 1 + 1024]",
                    "tdpbssd tmm0, tmm6, tmm4",
                    "tileloadd tmm7, [{second} + {line} * 1 + 1024]",
                    "tdpbssd tmm5, tmm7, tmm4",
                    "tilestored [{sums} + {line} * 1], tmm0",
                    "tilestored [{more} + {line} * 1], tmm5",
                    inputs = in(reg) inputs,
                    second = in(reg) inputs.add(self.groups * ROW_LINES * HALF),
                    weights = in(reg) weights,
                    line = in(reg) LINE,
                    sums = in(reg) sums[0].0.as_mut_ptr(),
                    more = in(reg) sums[1].0.as_mut_ptr(),
                    options(nostack),
                );
            }
        }
    }
}
