//! Any processor: plain Rust that the compiler vectorises as it can.

use super::{
    BLOCK_LINES, GroupBlocks, GroupRows, Kernel, LANES, LINE, PANEL, QUAD, ROW_LINES, ROWS,
    Strided, StridedMut, TILE,
};

/// Any processor: plain Rust that the compiler vectorises as it can.
pub(crate) struct Portable;

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

    #[inline(always)]
    unsafe fn group_product(rows: GroupRows<'_>, blocks: GroupBlocks<'_>, out: StridedMut) {
        let groups = rows.groups;
        let block_lines = blocks.lines.chunks_exact(groups * BLOCK_LINES);
        let scales = blocks.scales.chunks_exact(groups);
        for (block, (lines, weight_scales)) in block_lines.zip(scales).enumerate() {
            for r in 0..rows.count {
                let mut totals = [0.0_f32; LANES];
                let row = &rows.lines[rows.line(r)..];
                let row_scales = rows.scales[rows.scale(r)..].iter().step_by(TILE);
                let weights = lines.chunks_exact(BLOCK_LINES).zip(weight_scales);
                for (group, (scale, (lines, weight_scales))) in row_scales.zip(weights).enumerate()
                {
                    let mut sums = [0_i32; LINE];
                    for (quad, line) in lines.iter().enumerate() {
                        let (half, quad) = (quad / (LINE / QUAD), quad % (LINE / QUAD));
                        let inputs = &row[(group * ROW_LINES + half) * TILE].0;
                        let four = &inputs[quad * QUAD..][..QUAD];
                        for lane in 0..LINE {
                            let product = i16::from(four[lane % QUAD]) * i16::from(line.0[lane]);
                            sums[lane] += i32::from(product);
                        }
                    }
                    let sums = sums.as_chunks::<QUAD>().0.iter();
                    for ((total, sums), weight_scale) in
                        totals.iter_mut().zip(sums).zip(weight_scales)
                    {
                        let sum: i32 = sums.iter().sum();
                        *total = (sum as f32).mul_add(scale * weight_scale, *total);
                    }
                }
                // SAFETY: row `r` of the output has 16 numbers a block.
                unsafe {
                    out.start
                        .add(r * out.stride + block * LANES)
                        .cast::<[f32; LANES]>()
                        .write_unaligned(totals);
                }
            }
        }
    }
}
