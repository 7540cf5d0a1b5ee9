//! Inner products of rows of bytes with a query of bytes: what the processor multiplies fastest.
//!
//! `unsafe` here: calling a function compiled for an instruction set after asking the processor for
//! it, and vector loads from slices whose length was checked.

#![allow(unsafe_code)]

/// Bytes of a row are padded with zeros to a multiple of this.
pub(super) const STEP: usize = 64;

/// How products are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    #[cfg(target_arch = "x86_64")]
    Vnni,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Kernel {
    /// Those that this processor has, the fastest first.
    pub(super) fn all() -> impl Iterator<Item = Kernel> {
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

    pub(super) fn of_this_processor() -> Kernel {
        Kernel::all().next().unwrap_or(Kernel::Portable)
    }

    /// Largest integer of a rounded query. Without VNNI two products are summed in 16 bits: there a
    /// query has a bit less, which makes the bound wider and the pass twice as fast.
    pub(super) fn limit(self) -> i8 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => 63,
            _ => 127,
        }
    }

    /// Inner products of rows of signed bytes, one after the other, with a query of unsigned ones
    /// as long as a row (a multiple of [`STEP`]), none above twice [`Kernel::limit`] and 1.
    pub(super) fn products(self, query: &[u8], rows: &[u8], out: &mut [i32]) {
        assert!(query.len().is_multiple_of(STEP) && rows.len() == out.len() * query.len());
        #[cfg(target_arch = "x86_64")]
        {
            if self == Kernel::Vnni {
                // SAFETY: the processor has the instructions.
                return unsafe { x86::products_vnni(query, rows, out) };
            }
            if self == Kernel::Avx2 {
                // SAFETY: the processor has the instructions.
                return unsafe { x86::products_avx2(query, rows, out) };
            }
        }
        products_portable(query, rows, out);
    }
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

    /// How many times so many rows ahead are fetched, and the bytes that are fetched at once.
    const AHEAD: usize = 2;
    const LINE: usize = 64;

    /// The query's bytes are below 128, so that no sum of two products leaves 16 bits.
    #[target_feature(enable = "avx2")]
    pub(super) fn products_avx2(query: &[u8], rows: &[u8], out: &mut [i32]) {
        let mut together = rows.chunks_exact(ROWS * query.len());
        let mut products = out.chunks_exact_mut(ROWS);
        for (rows, products) in together.by_ref().zip(products.by_ref()) {
            // The processor fetches ahead by itself, but not early enough: a quarter of a pass was
            // waiting.
            let later = rows.as_ptr().wrapping_add(AHEAD * rows.len());
            for line in (0..rows.len()).step_by(LINE) {
                // It touches nothing, wherever the address is.
                _mm_prefetch::<_MM_HINT_T0>(later.wrapping_add(line).cast());
            }
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
        for at in (0..query.len() / LANES * LANES).step_by(LANES) {
            // SAFETY: `at + 32` is at most the query's length, which is that of each row; the loads
            // need no alignment.
            let load = |bytes: &[u8]| unsafe { _mm256_loadu_si256(bytes.as_ptr().add(at).cast()) };
            let q = load(query);
            for (sum, row) in sums.iter_mut().zip(rows) {
                let pairs = _mm256_madd_epi16(_mm256_maddubs_epi16(q, load(row)), ones);
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

    proptest! {
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
}
