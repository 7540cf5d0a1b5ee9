//! The one similarity: inner products of stored f16 vectors with an f32 query.
//!
//! A score must not depend on the segment, the machine or the neighbours in a batch, so the order
//! of the arithmetic is fixed: sixteen lanes, lane `j` accumulating elements `j`, `j + 16`, … by
//! fused multiply-add in f32; then lanes are added pairwise at distances 8, 4, 2, 1. Every kernel
//! below gives the same bits. f16 to f32 is exact.
//!
//! `unsafe` here is of three kinds only: calling a function compiled for an instruction set after
//! asking the processor for it, unaligned vector loads from slices whose length was checked, and
//! fetching ahead.

#![allow(unsafe_code)]

use std::borrow::Cow;

use half::f16;

/// Elements that are handled together; a vector's tail is padded with zeros.
const LANES: usize = 16;

/// A query, padded for the kernels.
pub(crate) struct Query<'a> {
    padded: Cow<'a, [f32]>,
    dimensions: usize,
}

impl Query<'_> {
    pub(crate) fn new(query: &[f32]) -> Query<'_> {
        let mut padded = Cow::from(query);
        if !query.len().is_multiple_of(LANES) {
            let length = query.len().next_multiple_of(LANES);
            padded.to_mut().resize(length, 0.0);
        }
        Query {
            padded,
            dimensions: query.len(),
        }
    }

    /// Bytes of one stored vector.
    pub(crate) fn row_bytes(&self) -> usize {
        self.dimensions * 2
    }

    /// Inner products with the first `out.len()` rows of a matrix of little-endian f16.
    ///
    /// # Panics
    /// If the matrix has fewer rows.
    pub(crate) fn scores(&self, matrix: &[u8], out: &mut [f32]) {
        let row = self.row_bytes();
        assert!(matrix.len() >= out.len() * row, "fewer rows than scores");
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                // SAFETY: the processor has the instructions.
                return unsafe { x86::scores_avx512(&self.padded, self.dimensions, matrix, out) };
            }
            if is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("f16c")
            {
                // SAFETY: the processor has the instructions.
                return unsafe { x86::scores_avx2(&self.padded, self.dimensions, matrix, out) };
            }
        }
        self.scores_portable(matrix, out);
    }

    /// Inner product with one row.
    pub(crate) fn score(&self, row: &[u8]) -> f32 {
        let mut out = [0.0];
        self.scores(row, &mut out);
        out[0]
    }

    fn scores_portable(&self, matrix: &[u8], out: &mut [f32]) {
        let row_bytes = self.row_bytes();
        for (i, score) in out.iter_mut().enumerate() {
            let row = &matrix[i * row_bytes..(i + 1) * row_bytes];
            let mut lanes = [0.0f32; LANES];
            for (q, v) in self.padded.chunks_exact(LANES).zip(row.chunks(2 * LANES)) {
                for (j, lane) in lanes.iter_mut().enumerate() {
                    *lane = q[j].mul_add(element(v, j), *lane);
                }
            }
            *score = add_lanes(lanes);
        }
    }
}

/// Element `j` of a row of little-endian f16; 0 beyond its end.
fn element(row: &[u8], j: usize) -> f32 {
    match row.get(2 * j..2 * j + 2) {
        Some(b) => f16::from_le_bytes([b[0], b[1]]).to_f32(),
        None => 0.0,
    }
}

/// Lanes added pairwise at distances 8, 4, 2, 1.
fn add_lanes(mut lanes: [f32; LANES]) -> f32 {
    for distance in [8, 4, 2, 1] {
        for j in 0..distance {
            lanes[j] += lanes[j + distance];
        }
    }
    lanes[0]
}

/// Lets the processor fetch bytes that are looked at soon.
#[inline]
pub(crate) fn fetch_ahead(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: fetching ahead touches nothing; every such processor has the instruction.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// Inner product of two rows of little-endian f16 of one length, for the graph's own comparisons.
pub(crate) fn pair(a: &[u8], b: &[u8]) -> f32 {
    assert_eq!(a.len(), b.len());
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
    {
        // SAFETY: the processor has the instructions.
        return unsafe { x86::pair_avx2(a, b) };
    }
    pair_portable(a, b)
}

fn pair_portable(a: &[u8], b: &[u8]) -> f32 {
    let mut lanes = [0.0f32; LANES];
    for (a, b) in a.chunks(2 * LANES).zip(b.chunks(2 * LANES)) {
        for (j, lane) in lanes.iter_mut().enumerate() {
            *lane = element(a, j).mul_add(element(b, j), *lane);
        }
    }
    add_lanes(lanes)
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::LANES;

    /// Rows handled at once: enough independent sums to hide the latency of multiply-add.
    const ROWS: usize = 4;

    /// The tail of a row, padded with zeros.
    fn tail(row: &[u8], from: usize) -> [u8; 2 * LANES] {
        let mut padded = [0; 2 * LANES];
        padded[..row.len() - from].copy_from_slice(&row[from..]);
        padded
    }

    #[target_feature(enable = "avx512f")]
    pub(super) fn scores_avx512(query: &[f32], dimensions: usize, matrix: &[u8], out: &mut [f32]) {
        let row = dimensions * 2;
        let whole = dimensions / LANES;
        let mut done = 0;
        while done + ROWS <= out.len() {
            let rows = &matrix[done * row..(done + ROWS) * row];
            let mut sums = [_mm512_setzero_ps(); ROWS];
            for step in 0..whole {
                // SAFETY: `step < dimensions / 16`, so sixteen floats of the query and 32 bytes of
                // each row lie inside their slices; the loads need no alignment.
                unsafe {
                    let q = _mm512_loadu_ps(query.as_ptr().add(step * LANES));
                    for (r, sum) in sums.iter_mut().enumerate() {
                        let at = rows.as_ptr().add(r * row + step * 2 * LANES);
                        let v = _mm512_cvtph_ps(_mm256_loadu_si256(at.cast()));
                        *sum = _mm512_fmadd_ps(q, v, *sum);
                    }
                }
            }
            for (r, sum) in sums.into_iter().enumerate() {
                let rest = &rows[r * row..(r + 1) * row];
                out[done + r] = finish_avx512(query, rest, whole, sum);
            }
            done += ROWS;
        }
        for i in done..out.len() {
            let rest = &matrix[i * row..(i + 1) * row];
            let mut sum = _mm512_setzero_ps();
            for step in 0..whole {
                // SAFETY: as above.
                unsafe {
                    let q = _mm512_loadu_ps(query.as_ptr().add(step * LANES));
                    let at = rest.as_ptr().add(step * 2 * LANES);
                    let v = _mm512_cvtph_ps(_mm256_loadu_si256(at.cast()));
                    sum = _mm512_fmadd_ps(q, v, sum);
                }
            }
            out[i] = finish_avx512(query, rest, whole, sum);
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn finish_avx512(query: &[f32], row: &[u8], whole: usize, mut sum: __m512) -> f32 {
        if row.len() > whole * 2 * LANES {
            let padded = tail(row, whole * 2 * LANES);
            // SAFETY: the query is padded to a multiple of sixteen, `padded` has 32 bytes.
            unsafe {
                let q = _mm512_loadu_ps(query.as_ptr().add(whole * LANES));
                let v = _mm512_cvtph_ps(_mm256_loadu_si256(padded.as_ptr().cast()));
                sum = _mm512_fmadd_ps(q, v, sum);
            }
        }
        let low = _mm512_castps512_ps256(sum);
        let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(sum)));
        add_lanes(_mm256_add_ps(low, high))
    }

    /// Lanes at distances 4, 2, 1.
    #[target_feature(enable = "avx")]
    #[inline]
    fn add_lanes(eight: __m256) -> f32 {
        let four = _mm_add_ps(
            _mm256_castps256_ps128(eight),
            _mm256_extractf128_ps::<1>(eight),
        );
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn scores_avx2(query: &[f32], dimensions: usize, matrix: &[u8], out: &mut [f32]) {
        let row = dimensions * 2;
        let whole = dimensions / LANES;
        let mut done = 0;
        while done + ROWS <= out.len() {
            let rows = &matrix[done * row..(done + ROWS) * row];
            let mut sums = [(_mm256_setzero_ps(), _mm256_setzero_ps()); ROWS];
            for step in 0..whole {
                for (r, sum) in sums.iter_mut().enumerate() {
                    let at = r * row + step * 2 * LANES;
                    step_avx2(&query[step * LANES..], &rows[at..at + 2 * LANES], sum);
                }
            }
            for (r, sum) in sums.into_iter().enumerate() {
                out[done + r] = finish_avx2(query, &rows[r * row..(r + 1) * row], whole, sum);
            }
            done += ROWS;
        }
        for i in done..out.len() {
            let rest = &matrix[i * row..(i + 1) * row];
            let mut sum = (_mm256_setzero_ps(), _mm256_setzero_ps());
            for step in 0..whole {
                let at = step * 2 * LANES;
                step_avx2(&query[step * LANES..], &rest[at..at + 2 * LANES], &mut sum);
            }
            out[i] = finish_avx2(query, rest, whole, sum);
        }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn pair_avx2(a: &[u8], b: &[u8]) -> f32 {
        let mut sums = [_mm256_setzero_ps(); 2];
        let whole = a.len() / (2 * LANES);
        let mut step = |a: &[u8], b: &[u8]| {
            assert!(a.len() >= 2 * LANES && b.len() >= 2 * LANES);
            for (half, sum) in sums.iter_mut().enumerate() {
                // SAFETY: both slices have 32 bytes; the loads need no alignment.
                let (a, b) = unsafe {
                    (
                        _mm_loadu_si128(a.as_ptr().add(half * LANES).cast()),
                        _mm_loadu_si128(b.as_ptr().add(half * LANES).cast()),
                    )
                };
                *sum = _mm256_fmadd_ps(_mm256_cvtph_ps(a), _mm256_cvtph_ps(b), *sum);
            }
        };
        for at in (0..whole * 2 * LANES).step_by(2 * LANES) {
            step(&a[at..], &b[at..]);
        }
        if a.len() > whole * 2 * LANES {
            step(&tail(a, whole * 2 * LANES), &tail(b, whole * 2 * LANES));
        }
        add_lanes(_mm256_add_ps(sums[0], sums[1]))
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn step_avx2(query: &[f32], row: &[u8], sum: &mut (__m256, __m256)) {
        assert!(query.len() >= LANES && row.len() >= 2 * LANES);
        // SAFETY: the lengths were just checked; the loads need no alignment.
        unsafe {
            let v = _mm256_cvtph_ps(_mm_loadu_si128(row.as_ptr().cast()));
            sum.0 = _mm256_fmadd_ps(_mm256_loadu_ps(query.as_ptr()), v, sum.0);
            let v = _mm256_cvtph_ps(_mm_loadu_si128(row.as_ptr().add(LANES).cast()));
            sum.1 = _mm256_fmadd_ps(_mm256_loadu_ps(query.as_ptr().add(8)), v, sum.1);
        }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    #[inline]
    fn finish_avx2(query: &[f32], row: &[u8], whole: usize, mut sum: (__m256, __m256)) -> f32 {
        if row.len() > whole * 2 * LANES {
            let padded = tail(row, whole * 2 * LANES);
            step_avx2(&query[whole * LANES..], &padded, &mut sum);
        }
        add_lanes(_mm256_add_ps(sum.0, sum.1))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn noise(n: usize, seed: u64) -> Vec<f32> {
        (0..n as u64)
            .map(|i| {
                let h = xxhash_rust::xxh3::xxh3_64_with_seed(&i.to_le_bytes(), seed);
                (h >> 40) as f32 / (1 << 24) as f32 - 0.5
            })
            .collect()
    }

    fn matrix(rows: usize, dimensions: usize) -> Vec<u8> {
        noise(rows * dimensions, 7)
            .into_iter()
            .flat_map(|x| f16::from_f32(x).to_le_bytes())
            .collect()
    }

    #[test]
    fn every_kernel_gives_the_same_bits() {
        for dimensions in [1, 2, 15, 16, 17, 31, 64, 100, 384, 385] {
            let rows = 11;
            let matrix = matrix(rows, dimensions);
            let numbers = noise(dimensions, 3);
            let query = Query::new(&numbers);
            let mut expected = vec![0.0; rows];
            query.scores_portable(&matrix, &mut expected);
            let check = |name: &str, scores: &dyn Fn(&mut [f32])| {
                let mut out = vec![f32::NAN; rows];
                scores(&mut out);
                for (a, b) in out.iter().zip(&expected) {
                    assert_eq!(a.to_bits(), b.to_bits(), "{name}, {dimensions} dimensions");
                }
            };
            check("chosen", &|out| query.scores(&matrix, out));
            #[cfg(target_arch = "x86_64")]
            {
                if is_x86_feature_detected!("avx512f") {
                    // SAFETY: asked above.
                    check("avx512", &|out| unsafe {
                        x86::scores_avx512(&query.padded, dimensions, &matrix, out);
                    });
                }
                if is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                {
                    // SAFETY: asked above.
                    check("avx2", &|out| unsafe {
                        x86::scores_avx2(&query.padded, dimensions, &matrix, out);
                    });
                }
            }
            // One row alone scores as it does among others.
            for (i, e) in expected.iter().enumerate() {
                let row = &matrix[i * dimensions * 2..(i + 1) * dimensions * 2];
                assert_eq!(query.score(row).to_bits(), e.to_bits());
            }
        }
    }

    #[test]
    fn pairs_score_as_queries_do() {
        for dimensions in [1, 15, 16, 17, 64, 100, 384, 385] {
            let rows = matrix(2, dimensions);
            let (a, b) = rows.split_at(dimensions * 2);
            let a_f32: Vec<f32> = a
                .chunks_exact(2)
                .map(|x| f16::from_le_bytes([x[0], x[1]]).to_f32())
                .collect();
            let query = Query::new(&a_f32);
            let expected = query.score(b).to_bits();
            assert_eq!(pair(a, b).to_bits(), expected, "{dimensions} dimensions");
            assert_eq!(
                pair_portable(a, b).to_bits(),
                expected,
                "{dimensions} dimensions"
            );
        }
    }

    #[test]
    fn it_is_the_inner_product() {
        let (rows, dimensions) = (9, 100);
        let matrix = matrix(rows, dimensions);
        let q = noise(dimensions, 5);
        let mut out = vec![0.0; rows];
        Query::new(&q).scores(&matrix, &mut out);
        for (r, score) in out.iter().enumerate() {
            let exact: f64 = (0..dimensions)
                .map(|i| {
                    let at = (r * dimensions + i) * 2;
                    f64::from(q[i]) * f16::from_le_bytes([matrix[at], matrix[at + 1]]).to_f64()
                })
                .sum();
            assert!((exact - f64::from(*score)).abs() < 1e-5);
        }
    }
}
