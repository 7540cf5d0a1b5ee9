//! A coarse copy of a segment's vectors, a byte a number, that finds the rows worth an exact look.
//!
//! Rounding moves an inner product by no more than a bound that is known beforehand, so a row whose
//! coarse score lies further than twice that bound below the n-th best cannot be among the best n.
//! Of the rows that remain those that promise most are scored exactly first; then most of the others cannot be
//! among the best any more: the result is the exact scan's, bit for bit, for half the bytes. The copy is made when a segment is asked again, in a temporary
//! file (`spill.rs`).
//!
//! With `v = s·v̂ + e` and `q = t·q̂ + f` (hats are the rounded integers),
//! `|q·v − s·t·q̂·v̂| = |q·e + f·s·v̂| ≤ |q||e| + |f||s·v̂|`.
//!
//! `unsafe` here: calling a function compiled for an instruction set after asking the processor for
//! it, and vector loads from slices whose length was checked.

#![allow(unsafe_code)]

use std::io;

use half::f16;
use half::slice::HalfFloatSliceExt;
use tantivy::directory::OwnedBytes;

use crate::spill::Spill;

/// Numbers of a row are padded with zeros to a multiple of this.
const STEP: usize = 64;
/// What f32 arithmetic itself may add to the bound, relative to the lengths of both vectors: well
/// above the rounding of a few thousand multiply-adds.
const ARITHMETIC: f32 = 1e-3;

/// The rows of a matrix, rounded to bytes with one scale each.
#[derive(Debug)]
pub(crate) struct Coarse {
    /// Bytes of a row.
    width: usize,
    count: usize,
    /// The rows (signed bytes); then the rows' scales (f32); then of each row the sum of its bytes (i32): what
    /// moving the query up by 1 adds to the inner product.
    bytes: OwnedBytes,
    /// The largest `|e|` and the largest `|s·v̂|` of any row.
    error: f32,
    length: f32,
}

/// Largest integer of a rounded row.
const LIMIT: f32 = 127.0;

/// A query that is shorter has no bound.
const SMALLEST: f32 = 1e-15;

/// Added and taken away again, this rounds a small f32 to the nearest whole number.
const TO_WHOLE: f32 = 12_582_912.0;

/// Numbers that are summed side by side.
const LANES: usize = 16;

/// Rounds to integers of at most `limit`; `values` and `out` are of one length, a multiple of
/// [`LANES`]. Returns the scale, `|x − scale·rounded|` and `|scale·rounded|`, the last two rounded
/// up. A vector that is not finite has an infinite error.
fn round(values: &[f32], limit: f32, out: &mut [i8]) -> (f32, f32, f32) {
    let mut largest = [0.0f32; LANES];
    for values in values.chunks_exact(LANES) {
        for (largest, x) in largest.iter_mut().zip(values) {
            *largest = largest.max(x.abs());
        }
    }
    let largest = largest.into_iter().fold(0.0, f32::max);
    if largest < f32::MIN_POSITIVE * limit {
        // Too small to divide by: rounded to nothing.
        let all = (values.len() as f32).sqrt() * largest;
        let error = if values.iter().any(|x| x.is_nan()) {
            f32::INFINITY
        } else {
            all
        };
        return (0.0, error, 0.0);
    }
    let scale = largest / limit;
    let (mut errors, mut squares) = ([0.0f32; LANES], [0.0f32; LANES]);
    for (values, out) in values.chunks_exact(LANES).zip(out.chunks_exact_mut(LANES)) {
        for j in 0..LANES {
            let whole = (values[j] / scale + TO_WHOLE) - TO_WHOLE;
            let stands_for = scale * whole;
            let error = values[j] - stands_for;
            out[j] = whole as i8;
            errors[j] += error * error;
            squares[j] += stands_for * stands_for;
        }
    }
    let length = |squares: [f32; LANES]| squares.iter().sum::<f32>().sqrt() * 1.001;
    let error = length(errors);
    let error = if error.is_nan() { f32::INFINITY } else { error };
    (scale, error, length(squares))
}

impl Coarse {
    /// Rounds a matrix of little-endian f16.
    ///
    /// # Errors
    /// Where no temporary file can be written.
    pub(crate) fn new(matrix: &[u8], dimensions: usize) -> io::Result<Coarse> {
        let width = dimensions.next_multiple_of(STEP);
        let count = matrix.len() / (dimensions * 2);
        let (mut scales, mut sums) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let (mut largest_error, mut largest_length) = (0.0f32, 0.0f32);
        let mut rows = Spill::new()?;
        let mut values = vec![0.0f32; width];
        let mut halves = vec![f16::ZERO; dimensions];
        let mut rounded = vec![0i8; width];
        let mut bytes = vec![0u8; width];
        for row in matrix.chunks_exact(dimensions * 2) {
            for (half, bytes) in halves.iter_mut().zip(row.chunks_exact(2)) {
                *half = f16::from_le_bytes([bytes[0], bytes[1]]);
            }
            halves.convert_to_f32_slice(&mut values[..dimensions]);
            rounded.fill(0);
            let (scale, error, length) = round(&values, LIMIT, &mut rounded);
            let sum: i32 = rounded.iter().map(|x| i32::from(*x)).sum();
            for (byte, x) in bytes.iter_mut().zip(&rounded) {
                *byte = *x as u8;
            }
            rows.add(&bytes)?;
            scales.push(scale);
            sums.push(sum);
            largest_error = largest_error.max(error);
            largest_length = largest_length.max(length);
        }
        for scale in scales {
            rows.add(&scale.to_ne_bytes())?;
        }
        for sum in sums {
            rows.add(&sum.to_ne_bytes())?;
        }
        Ok(Coarse {
            width,
            count,
            bytes: rows.finish()?,
            error: largest_error,
            length: largest_length,
        })
    }

    fn rows(&self) -> &[u8] {
        &self.bytes[..self.count * self.width]
    }

    /// The scale of each row, and the sum of its bytes.
    fn corrections(&self) -> impl Iterator<Item = (f32, i32)> {
        let (scales, sums) = self.bytes[self.count * self.width..].split_at(self.count * 4);
        let number = |bytes: &[u8]| [bytes[0], bytes[1], bytes[2], bytes[3]];
        let scales = scales
            .chunks_exact(4)
            .map(move |b| f32::from_ne_bytes(number(b)));
        let sums = sums
            .chunks_exact(4)
            .map(move |b| i32::from_ne_bytes(number(b)));
        scales.zip(sums)
    }

    /// Rows in rising order, each with a score that it does not exceed; among them the best `n` of those that `live` admits and
    /// that score `least` or more. `None` where the query is no finite vector, or next to nothing: then nothing is known about any row.
    pub(crate) fn candidates(
        &self,
        query: &[f32],
        n: usize,
        least: f32,
        live: impl Fn(usize) -> bool,
    ) -> Option<Vec<(usize, f32)>> {
        self.candidates_by(Kernel::of_this_processor(), query, n, least, live)
    }

    fn candidates_by(
        &self,
        kernel: Kernel,
        query: &[f32],
        n: usize,
        least: f32,
        live: impl Fn(usize) -> bool,
    ) -> Option<Vec<(usize, f32)>> {
        let mut padded = query.to_vec();
        padded.resize(self.width, 0.0);
        let mut rounded = vec![0i8; self.width];
        let (scale, error, length) = round(&padded, kernel.limit().into(), &mut rounded);
        let whole = length + error;
        let bound = whole * self.error
            + error * self.length
            + ARITHMETIC * whole * (self.length + self.error);
        // The squares of very small numbers are nothing, and the bound would be.
        if !bound.is_finite() || whole < SMALLEST || n == 0 {
            return None;
        }
        // The processor multiplies unsigned by signed bytes: the query is moved up.
        let up = i32::from(kernel.limit()) + 1;
        let query: Vec<u8> = rounded.iter().map(|x| (i32::from(*x) + up) as u8).collect();
        let mut products = vec![0i32; self.count];
        self.products(kernel, &query, &mut products);
        let scores: Vec<f32> = products
            .iter()
            .zip(self.corrections())
            .map(|(product, (s, sum))| (product - sum * up) as f32 * (s * scale))
            .collect();

        let mut best: Vec<f32> = Vec::with_capacity(2 * n.min(scores.len()));
        // What scores `least` has no lower coarse score than this.
        let mut floor = least - 2.0 * bound;
        for (row, score) in scores.iter().enumerate() {
            if *score > floor && live(row) {
                best.push(*score);
                if best.len() >= 2 * n {
                    floor = cut(&mut best, n);
                }
            }
        }
        if best.len() >= n {
            floor = cut(&mut best, n);
        }
        let enough = (floor - 2.0 * bound).max(least - 2.0 * bound);
        let near = scores.iter().enumerate();
        Some(
            near.filter(|(row, score)| **score >= enough && live(*row))
                .map(|(row, score)| (row, score + bound))
                .collect(),
        )
    }

    /// Inner products of every row with a query of [`STEP`]-padded bytes.
    fn products(&self, kernel: Kernel, query: &[u8], out: &mut [i32]) {
        let rows = self.rows();
        assert!(query.len() == self.width && rows.len() == out.len() * self.width);
        #[cfg(target_arch = "x86_64")]
        {
            if kernel == Kernel::Vnni {
                // SAFETY: the processor has the instructions.
                return unsafe { x86::products_vnni(query, rows, out) };
            }
            if kernel == Kernel::Avx2 {
                // SAFETY: the processor has the instructions.
                return unsafe { x86::products_avx2(query, rows, out) };
            }
        }
        products_portable(query, rows, out);
    }
}

/// How products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Kernel {
    /// Those that this processor has, the fastest first.
    fn all() -> impl Iterator<Item = Kernel> {
        let all = [
            #[cfg(target_arch = "x86_64")]
            (
                Kernel::Vnni,
                is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni"),
            ),
            #[cfg(target_arch = "x86_64")]
            (Kernel::Avx2, is_x86_feature_detected!("avx2")),
            (Kernel::Portable, true),
        ];
        let there = all.into_iter().filter(|(_, is_there)| *is_there);
        there.map(|(kernel, _)| kernel)
    }

    fn of_this_processor() -> Kernel {
        Kernel::all().next().unwrap_or(Kernel::Portable)
    }

    /// Largest integer of a rounded query. Without VNNI two products are summed in 16 bits: there a query has a bit
    /// less, which makes the bound wider and the pass twice as fast.
    fn limit(self) -> i8 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => 63,
            _ => 127,
        }
    }
}

/// Keeps the `n` best; returns the least of them.
fn cut(best: &mut Vec<f32>, n: usize) -> f32 {
    best.select_nth_unstable_by(n - 1, |a, b| b.total_cmp(a));
    best.truncate(n);
    best[n - 1]
}

/// Rows are of signed bytes, the query of unsigned ones.
fn products_portable(query: &[u8], rows: &[u8], out: &mut [i32]) {
    for (row, product) in rows.chunks_exact(query.len()).zip(out) {
        *product = row
            .iter()
            .zip(query)
            .map(|(v, q)| i32::from(*v as i8) * i32::from(*q))
            .sum();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::STEP;

    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) fn products_vnni(query: &[u8], rows: &[u8], out: &mut [i32]) {
        for (row, product) in rows.chunks_exact(query.len()).zip(out) {
            let mut sums = [_mm512_setzero_si512(); 2];
            let steps = query.chunks_exact(STEP).zip(row.chunks_exact(STEP));
            for (at, (q, v)) in steps.enumerate() {
                // SAFETY: both chunks have 64 bytes; the loads need no alignment.
                let (q, v) = unsafe {
                    (
                        _mm512_loadu_si512(q.as_ptr().cast()),
                        _mm512_loadu_si512(v.as_ptr().cast()),
                    )
                };
                sums[at % 2] = _mm512_dpbusd_epi32(sums[at % 2], q, v);
            }
            *product = _mm512_reduce_add_epi32(_mm512_add_epi32(sums[0], sums[1]));
        }
    }

    /// Rows that are multiplied side by side: the query is loaded once for all of them.
    const ROWS: usize = 4;

    /// The query's bytes are below 128, so that no sum of two products leaves 16 bits.
    #[target_feature(enable = "avx2")]
    pub(super) fn products_avx2(query: &[u8], rows: &[u8], out: &mut [i32]) {
        let mut together = rows.chunks_exact(ROWS * query.len());
        let mut products = out.chunks_exact_mut(ROWS);
        for (rows, products) in together.by_ref().zip(products.by_ref()) {
            let mut rows = rows.chunks_exact(query.len());
            let rows = [(); ROWS].map(|()| rows.next().unwrap_or_default());
            products.copy_from_slice(&products_of(query, rows));
        }
        let left = together.remainder().chunks_exact(query.len());
        for (row, product) in left.zip(products.into_remainder()) {
            [*product] = products_of(query, [row]);
        }
    }

    /// Inner products of some rows, each as long as the query.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn products_of<const N: usize>(query: &[u8], rows: [&[u8]; N]) -> [i32; N] {
        const LANES: usize = 32;
        assert!(rows.iter().all(|row| row.len() == query.len()));
        let ones = _mm256_set1_epi16(1);
        let mut sums = [_mm256_setzero_si256(); N];
        for (at, q) in query.chunks_exact(LANES).enumerate() {
            // SAFETY: the chunk has 32 bytes; the load needs no alignment.
            let q = unsafe { _mm256_loadu_si256(q.as_ptr().cast()) };
            for (sum, row) in sums.iter_mut().zip(rows) {
                let v = &row[at * LANES..(at + 1) * LANES];
                // SAFETY: the slice has 32 bytes; the load needs no alignment.
                let v = unsafe { _mm256_loadu_si256(v.as_ptr().cast()) };
                let pairs = _mm256_madd_epi16(_mm256_maddubs_epi16(q, v), ones);
                *sum = _mm256_add_epi32(*sum, pairs);
            }
        }
        sums.map(|sum| {
            let half = _mm_add_epi32(
                _mm256_castsi256_si128(sum),
                _mm256_extracti128_si256::<1>(sum),
            );
            let quarter = _mm_add_epi32(half, _mm_shuffle_epi32::<0b01_00_11_10>(half));
            let one = _mm_add_epi32(quarter, _mm_shuffle_epi32::<0b10_11_00_01>(quarter));
            _mm_cvtsi128_si32(one)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::Query;

    /// Nothing is known of what others score.
    const NONE: f32 = f32::NEG_INFINITY;

    fn bytes(rows: &[Vec<f32>]) -> Vec<u8> {
        rows.iter()
            .flatten()
            .flat_map(|x| f16::from_f32(*x).to_le_bytes())
            .collect()
    }

    /// Vectors of several sizes, with equal ones and zeros among them.
    fn vectors(dimensions: usize) -> impl Strategy<Value = Vec<Vec<f32>>> {
        let number = prop_oneof![
            4 => -1.0f32..1.0,
            1 => Just(0.0f32),
            1 => -6e4f32..6e4,
            1 => -1e-6f32..1e-6,
        ];
        let row = prop_oneof![
            3 => prop::collection::vec(number, dimensions),
            1 => Just(vec![0.5; dimensions]),
            1 => Just(vec![0.0; dimensions]),
        ];
        prop::collection::vec(row, 1..60)
    }

    proptest! {
        #[test]
        fn no_row_of_the_best_is_missed(
            (rows, query) in prop_oneof![Just(1usize), Just(7), Just(64), Just(70), Just(384)]
                .prop_flat_map(|d| (vectors(d), prop::collection::vec(-1.0f32..1.0, d))),
            n in 1usize..8,
            known in 0usize..20,
        ) {
            let matrix = bytes(&rows);
            let mut exact = vec![0.0; rows.len()];
            Query::new(&query).scores(&matrix, &mut exact);
            let live = |row: usize| row % 5 != 3;
            let mut order: Vec<usize> = (0..rows.len()).filter(|row| live(*row)).collect();
            order.sort_by(|a, b| exact[*b].total_cmp(&exact[*a]).then(a.cmp(b)));
            let coarse = Coarse::new(&matrix, query.len()).unwrap();
            let known = order.get(known).map_or(NONE, |row| exact[*row]);
            let all = Kernel::all().flat_map(|kernel| [(kernel, NONE), (kernel, known)]);
            for (kernel, least) in all {
                let Some(found) = coarse.candidates_by(kernel, &query, n, least, live) else {
                    prop_assert!(query.iter().all(|x| x.abs() < SMALLEST));
                    continue;
                };
                prop_assert!(found.is_sorted_by_key(|(row, _)| *row));
                for (row, most) in &found {
                    prop_assert!(live(*row) && exact[*row] <= *most, "{} above {most}", exact[*row]);
                }
                for row in order.iter().take(n).filter(|row| exact[**row] >= least) {
                    let is_found = found.iter().any(|(found, _)| found == row);
                    prop_assert!(is_found, "row {row} scores {}", exact[*row]);
                }
            }
        }

        #[test]
        fn every_kernel_gives_the_same_products(
            width in (1usize..7).prop_map(|steps| steps * STEP),
            seed in any::<u64>(),
        ) {
            let byte = |i: usize| xxhash_rust::xxh3::xxh3_64_with_seed(&i.to_le_bytes(), seed) as u8;
            let query: Vec<u8> = (0..width).map(|i| byte(i) & 0x7f).collect();
            let rows: Vec<u8> = (width..width * 6).map(byte).collect();
            let mut expected = vec![0; 5];
            products_portable(&query, &rows, &mut expected);
            #[cfg(target_arch = "x86_64")]
            {
                let mut out = vec![0; 5];
                if is_x86_feature_detected!("avx2") {
                    // SAFETY: asked above.
                    unsafe { x86::products_avx2(&query, &rows, &mut out) };
                    prop_assert_eq!(&out, &expected);
                }
                if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vnni") {
                    out.fill(0);
                    // SAFETY: asked above.
                    unsafe { x86::products_vnni(&query, &rows, &mut out) };
                    prop_assert_eq!(&out, &expected);
                }
            }
        }
    }

    #[test]
    fn few_rows_beyond_the_best_are_looked_at() {
        let (rows, dimensions, n) = (4000, 384, 100);
        let noise = |i: usize| {
            let hash = xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes());
            (hash >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        let matrix: Vec<Vec<f32>> = (0..rows)
            .map(|row| {
                (0..dimensions)
                    .map(|i| noise(row * dimensions + i))
                    .collect()
            })
            .collect();
        let query: Vec<f32> = (0..dimensions).map(|i| noise(usize::MAX - i)).collect();
        let coarse = Coarse::new(&bytes(&matrix), dimensions).unwrap();
        let found = coarse.candidates(&query, n, NONE, |_| true).unwrap();
        assert!((n..4 * n).contains(&found.len()), "{}", found.len());
    }

    #[test]
    fn a_query_that_is_no_number_is_left_to_the_exact_scan() {
        let coarse = Coarse::new(&bytes(&[vec![1.0, 2.0]]), 2).unwrap();
        assert!(
            coarse
                .candidates(&[1e-25, 1e-26], 1, NONE, |_| true)
                .is_none()
        );
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            assert!(coarse.candidates(&[bad, 1.0], 1, NONE, |_| true).is_none());
            assert!(coarse.candidates(&[bad, 0.0], 1, NONE, |_| true).is_none());
        }
    }
}
