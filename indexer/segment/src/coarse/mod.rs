//! A coarse copy of a segment's vectors, that finds the rows worth an exact look.
//!
//! Rounding moves an inner product by no more than a bound that is known beforehand (`plane.rs`).
//! So a pass over the copy finds which rows promise most; these are scored exactly; and of the
//! others few can be among the best any more: those are scored exactly, too. The result is the
//! exact scan's, bit for bit, for half the bytes.
//!
//! *Tried and left out (23 November 2026):* half as many bytes still, the rows' numbers along the
//! 192 directions in which they reach farthest (orthogonal iteration) with what these leave of
//! their lengths. Nine of a hundred rows of fetaqa remained to be looked at closer, here and there,
//! and a row here or there costs as much as ten in a row: a search took half as long again.
//!
//! The copy is made when a segment is asked again, behind the questions (`making.rs`), in a
//! temporary file (`spill.rs`).

mod making;
mod plane;
mod products;

use std::io;

use half::f16;
use half::slice::HalfFloatSliceExt;

pub(crate) use self::making::Making;
use self::plane::{Plane, PlaneWriter};
use self::products::Kernel;
use crate::best::Best;

/// Rows that are passed by at a time.
const PASSED_BY: usize = 32;

/// The rows of a matrix, rounded.
#[derive(Debug)]
pub(crate) struct Coarse(Plane);

impl Coarse {
    /// Rounds a matrix of little-endian f16.
    ///
    /// # Errors
    /// Where no temporary file can be written, or a number is not finite.
    pub(crate) fn new(matrix: &[u8], dimensions: usize) -> io::Result<Coarse> {
        let mut writer = PlaneWriter::new(dimensions)?;
        let mut halves = vec![f16::ZERO; dimensions];
        let mut numbers = vec![0.0f32; dimensions];
        for row in matrix.chunks_exact(dimensions * 2) {
            for (half, bytes) in halves.iter_mut().zip(row.chunks_exact(2)) {
                *half = f16::from_le_bytes([bytes[0], bytes[1]]);
            }
            halves.convert_to_f32_slice(&mut numbers);
            writer.add(&numbers)?;
        }
        Ok(Coarse(writer.finish()?))
    }

    /// Offers the rows that `live` admits to the best, but for those that cannot be among them.
    /// False, and nothing is done, where the query is no finite vector, or next to nothing: then
    /// nothing is known about any row.
    pub(crate) fn search(
        &self,
        query: &[f32],
        best: &mut Best,
        live: impl Fn(usize) -> bool,
        exact: &impl Exact,
    ) -> bool {
        self.search_by(Kernel::of_this_processor(), query, best, live, exact)
    }

    fn search_by(
        &self,
        kernel: Kernel,
        query: &[f32],
        best: &mut Best,
        live: impl Fn(usize) -> bool,
        exact: &impl Exact,
    ) -> bool {
        let Some(asked) = self.0.ask(kernel, query) else {
            return false;
        };
        let mut most = self.0.bounds(&asked);
        // Those that promise most come first: few of the others can be among the best then.
        let promising = most_promising(&most, best, &live);
        offer(&promising, &most, best, exact);
        best.settle();
        for row in promising {
            // Above no floor: it is not offered again.
            most[row] = f32::NAN;
        }
        let mut left = Vec::new();
        from(&most, best.floor, |row, _| {
            if live(row) {
                left.push(row);
            }
            best.floor
        });
        offer(&left, &most, best, exact);
        true
    }
}

/// What a coarse copy is a copy of.
pub(crate) trait Exact {
    /// A row's block and exact score.
    fn look(&self, row: usize) -> (u32, f32);

    /// A row is looked at next.
    fn fetch_ahead(&self, _row: usize) {}
}

/// Offers rows, as long as each may score no less than the least of the best.
fn offer(rows: &[usize], most: &[f32], best: &mut Best, exact: &impl Exact) {
    for (at, row) in rows.iter().enumerate() {
        if let Some(next) = rows.get(at + 1) {
            exact.fetch_ahead(*next);
        }
        if most[*row] >= best.floor {
            let (block, score) = exact.look(*row);
            best.offer(score, block, |_| true);
        }
    }
}

/// Calls `visit` with each row whose bound is not below a floor, and with its bound; it says what
/// the floor is from then on. Nearly all rows are below it: several at a time are passed by.
fn from(most: &[f32], mut floor: f32, mut visit: impl FnMut(usize, f32) -> f32) {
    for (at, most) in most.chunks(PASSED_BY).enumerate() {
        if most.iter().fold(false, |any, most| any | (*most >= floor)) {
            for (row, most) in (at * PASSED_BY..).zip(most) {
                if *most >= floor {
                    floor = visit(row, *most);
                }
            }
        }
    }
}

/// As many rows as are wanted: those of the highest bounds.
fn most_promising(most: &[f32], best: &Best, live: impl Fn(usize) -> bool) -> Vec<usize> {
    let cut = |rows: &mut Vec<(f32, usize)>| {
        rows.select_nth_unstable_by(best.n - 1, |a, b| b.0.total_cmp(&a.0));
        rows.truncate(best.n);
        rows[best.n - 1].0
    };
    let mut rows: Vec<(f32, usize)> = Vec::with_capacity(2 * best.n.min(most.len()));
    let mut floor = best.floor;
    from(most, floor, |row, most| {
        if live(row) {
            rows.push((most, row));
            if rows.len() >= 2 * best.n {
                floor = floor.max(cut(&mut rows));
            }
        }
        floor
    });
    if rows.len() > best.n {
        cut(&mut rows);
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::plane::SMALLEST;
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
        fn the_best_are_those_of_an_exact_scan(
            (rows, query) in prop_oneof![Just(1usize), Just(7), Just(64), Just(70), Just(384)]
                .prop_flat_map(|d| (vectors(d), prop::collection::vec(-1.0f32..1.0, d))),
            n in 1usize..8,
            known in 0usize..20,
        ) {
            let coarse = Coarse::new(&bytes(&rows), query.len()).unwrap();
            let exact = exact(&rows, &query);
            let known = exact.get(known).map_or(NONE, |(_, score)| *score);
            for kernel in Kernel::all() {
                for least in [NONE, known] {
                    let Some((found, _)) = found(&coarse, kernel, &rows, &query, n, least) else {
                        prop_assert!(query.iter().all(|x| x.abs() < SMALLEST));
                        continue;
                    };
                    let wanted = exact.iter().take(n).filter(|(_, score)| *score >= least);
                    let wanted: Vec<(u32, f32)> = wanted.copied().collect();
                    prop_assert_eq!(bits(&found), bits(&wanted));
                }
            }
        }
    }

    fn bits(found: &[(u32, f32)]) -> Vec<(u32, u32)> {
        found
            .iter()
            .map(|(row, score)| (*row, score.to_bits()))
            .collect()
    }

    /// What an exact scan finds, best first, of the rows that live.
    fn exact(rows: &[Vec<f32>], query: &[f32]) -> Vec<(u32, f32)> {
        let mut scores = vec![0.0; rows.len()];
        Query::new(query).scores(&bytes(rows), &mut scores);
        let mut found: Vec<(u32, f32)> = (0..)
            .zip(scores)
            .filter(|(row, _)| live(*row as usize))
            .collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found
    }

    fn live(row: usize) -> bool {
        row % 5 != 3
    }

    /// What a search finds, and at how many rows it looked.
    fn found(
        coarse: &Coarse,
        kernel: Kernel,
        rows: &[Vec<f32>],
        query: &[f32],
        n: usize,
        least: f32,
    ) -> Option<(Vec<(u32, f32)>, usize)> {
        let mut best = Best::new(n, least);
        let exact = Counted {
            rows,
            query,
            looks: Cell::new(0),
        };
        let is_known = coarse.search_by(kernel, query, &mut best, live, &exact);
        is_known.then(|| (best.sorted(), exact.looks.get()))
    }

    struct Counted<'a> {
        rows: &'a [Vec<f32>],
        query: &'a [f32],
        looks: Cell<usize>,
    }

    impl Exact for Counted<'_> {
        fn look(&self, row: usize) -> (u32, f32) {
            assert!(live(row));
            self.looks.set(self.looks.get() + 1);
            let bytes = bytes(&self.rows[row..=row]);
            (row as u32, Query::new(self.query).score(&bytes))
        }
    }

    fn noise(i: usize) -> f32 {
        let hash = xxhash_rust::xxh3::xxh3_64(&i.to_le_bytes());
        (hash >> 40) as f32 / (1 << 24) as f32 - 0.5
    }

    /// Vectors that lie near a space of so many dimensions, of length 1.
    fn near(count: usize, space: usize, dimensions: usize) -> Vec<Vec<f32>> {
        let directions: Vec<f32> = (0..space * dimensions).map(|i| noise(i << 32)).collect();
        let row = |at: usize| {
            let along: Vec<f32> = (0..space).map(|j| noise(at * space + j)).collect();
            let number = |i: usize| {
                let parts = along.iter().enumerate();
                let sum: f32 = parts.map(|(j, x)| x * directions[j * dimensions + i]).sum();
                sum + 0.05 * noise(usize::MAX - at * dimensions - i)
            };
            let row: Vec<f32> = (0..dimensions).map(number).collect();
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            row.into_iter().map(|x| x / length).collect()
        };
        (0..count).map(row).collect()
    }

    #[test]
    fn few_rows_beyond_the_best_are_looked_at() {
        let (dimensions, n) = (384, 100);
        // Of vectors in all directions, and of such as lie near few.
        for space in [dimensions, 40] {
            let mut rows = near(4020, space, dimensions);
            let queries = rows.split_off(4000);
            let coarse = Coarse::new(&bytes(&rows), dimensions).unwrap();
            for kernel in Kernel::all() {
                let mut looked_at = 0;
                for query in &queries {
                    let wanted = exact(&rows, query);
                    let (found, looks) = found(&coarse, kernel, &rows, query, n, NONE).unwrap();
                    assert_eq!(found, wanted[..n]);
                    looked_at += looks;
                }
                let beyond = looked_at / queries.len();
                assert!(
                    (n..4 * n).contains(&beyond),
                    "{beyond} for {n} by {kernel:?}"
                );
            }
        }
    }

    #[test]
    fn a_query_that_is_no_number_is_left_to_the_exact_scan() {
        let rows = [vec![1.0, 2.0]];
        let coarse = Coarse::new(&bytes(&rows), 2).unwrap();
        let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-25];
        for bad in bad.iter().flat_map(|x| [[*x, 1e-26], [*x, 0.0]]) {
            let kernel = Kernel::of_this_processor();
            assert!(
                found(&coarse, kernel, &rows, &bad, 1, NONE).is_none(),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn rows_that_are_no_numbers_are_refused() {
        for bad in [f32::NAN, f32::INFINITY] {
            assert!(Coarse::new(&bytes(&[vec![1.0, 2.0], vec![bad, 1.0]]), 2).is_err());
        }
    }
}
