//! Self-attention, written once for every processor by the rules of [`stages`](super::stages): each
//! sequence alone, head by head, a tile of queries at a time.

use std::ops::Range;

use super::super::attention::Rotation;
use super::super::shape::Reach;
use crate::kernels::floats::{exp2, fold};
use crate::kernels::{Kernel, LANES, ROWS, Strided, StridedMut};

/// How a layer attends.
#[derive(Clone, Copy)]
pub(super) struct Attention<'a> {
    pub heads: usize,
    /// Numbers of a head, a multiple of [`LANES`].
    pub head: usize,
    pub reach: Reach,
    /// Which marks places; `None` where they were added to the words.
    pub rotation: Option<&'a Rotation>,
}

impl Attention<'_> {
    /// log₂(e) / √head: attention's scores are powers of two.
    #[inline(always)]
    pub fn factor(&self) -> f32 {
        std::f32::consts::LOG2_E / (self.head as f32).sqrt()
    }

    /// Numbers of a row of the states.
    #[inline(always)]
    fn hidden(&self) -> usize {
        self.heads * self.head
    }
}

/// What attention needs for one head of one sequence.
#[derive(Default)]
pub(super) struct AttentionScratch {
    /// Queries, a row a token, rows padded to whole tiles.
    queries: Vec<f32>,
    /// Keys, a row a *dimension*, columns padded to whole vectors.
    keys: Vec<f32>,
    /// Values, a row a token.
    values: Vec<f32>,
    /// Scores, then weights, of one tile of queries.
    scores: Vec<f32>,
}

#[inline(always)]
pub(super) fn attend<K: Kernel>(
    projected: &[f32],
    lengths: &[usize],
    attention: &Attention<'_>,
    scratch: &mut AttentionScratch,
    out: &mut [f32],
) {
    // The usual sizes of heads are known to the compiler, and all that the default model has: in
    // short texts taking heads out of the rows is a good part of the work.
    let attention = *attention;
    match attention.head {
        32 if attention.heads == 12 && attention.rotation.is_none() => attend_all::<K>(
            projected,
            lengths,
            Attention {
                heads: 12,
                head: 32,
                reach: attention.reach,
                rotation: None,
            },
            scratch,
            out,
        ),
        32 => attend_all::<K>(
            projected,
            lengths,
            Attention {
                head: 32,
                ..attention
            },
            scratch,
            out,
        ),
        64 => attend_all::<K>(
            projected,
            lengths,
            Attention {
                head: 64,
                ..attention
            },
            scratch,
            out,
        ),
        _ => attend_all::<K>(projected, lengths, attention, scratch, out),
    }
}

#[inline(always)]
fn attend_all<K: Kernel>(
    projected: &[f32],
    lengths: &[usize],
    attention: Attention<'_>,
    scratch: &mut AttentionScratch,
    out: &mut [f32],
) {
    let hidden = attention.hidden();
    let mut first = 0;
    for &length in lengths {
        let projected = &projected[first * 3 * hidden..][..length * 3 * hidden];
        let out = &mut out[first * hidden..][..length * hidden];
        for head in 0..attention.heads {
            attend_head::<K>(projected, head * attention.head, attention, scratch, out);
        }
        first += length;
    }
}

/// One head, whose numbers begin at `place` in each of a row's three parts.
#[inline(always)]
fn attend_head<K: Kernel>(
    projected: &[f32],
    place: usize,
    attention: Attention<'_>,
    scratch: &mut AttentionScratch,
    out: &mut [f32],
) {
    let (hidden, size) = (attention.hidden(), attention.head);
    let length = projected.len() / (3 * hidden);
    let padded = length.next_multiple_of(LANES);
    spread(projected, place, attention, scratch);
    let AttentionScratch {
        queries,
        keys,
        values,
        scores,
    } = scratch;
    scores.resize(ROWS * padded, 0.0);
    for (tile, queries) in queries.chunks_exact(ROWS * size).enumerate() {
        let seen = Seen::by(tile * ROWS, length, attention.reach);
        let rows = Strided {
            start: queries.as_ptr(),
            stride: size,
        };
        let width = seen.columns();
        let mut column = 0;
        while column < width {
            let columns = Strided {
                start: keys[seen.from + column..].as_ptr(),
                stride: padded,
            };
            let target = StridedMut {
                start: scores[column..].as_mut_ptr(),
                stride: width,
            };
            // SAFETY: a tile holds 6 rows of `size`; from `from + column` on, each of the `size`
            // rows of keys has at least `width − column` numbers, and so have the 6 rows of scores
            // from `column` on, as many as each arm needs; features as in `multiply`.
            unsafe {
                match (width - column) / LANES {
                    1 => K::float_tile::<ROWS, 1>(rows, columns, size, target),
                    2 => K::float_tile::<ROWS, 2>(rows, columns, size, target),
                    3 => K::float_tile::<ROWS, 3>(rows, columns, size, target),
                    _ => K::float_tile::<ROWS, 4>(rows, columns, size, target),
                }
            }
            column += 4 * LANES;
        }
        let mut sums = [0.0; ROWS];
        for (row, (scores, sum)) in scores.chunks_exact_mut(width).zip(&mut sums).enumerate() {
            let seen = seen.of_row(tile * ROWS + row, length, attention.reach);
            *sum = exponentials(scores, seen, attention.factor());
        }
        let weights = Weights {
            scores,
            width,
            sums,
        };
        let values = &values[seen.from * size..seen.to * size];
        let rows = (ROWS.min(length - tile * ROWS), hidden);
        let out = &mut out[tile * ROWS * hidden + place..];
        let mut column = 0;
        while column < size {
            match (size - column) / LANES {
                1 => mix::<K, 1>(&weights, values, size, column, rows, out),
                2 => mix::<K, 2>(&weights, values, size, column, rows, out),
                3 => mix::<K, 3>(&weights, values, size, column, rows, out),
                _ => mix::<K, 4>(&weights, values, size, column, rows, out),
            }
            column += 4 * LANES;
        }
    }
}

/// What a tile of queries makes of the values: weights that are not divided by their sums yet.
struct Weights<'a> {
    /// Rows of `width` weights.
    scores: &'a [f32],
    width: usize,
    sums: [f32; ROWS],
}

/// Which keys a tile of queries looks at: from a whole vector on, up to one that need not be whole.
#[derive(Clone, Copy)]
struct Seen {
    from: usize,
    to: usize,
}

impl Seen {
    #[inline(always)]
    fn by(first: usize, length: usize, reach: Reach) -> Self {
        match reach {
            Reach::All => Self {
                from: 0,
                to: length,
            },
            Reach::Around(away) => Self {
                from: first.saturating_sub(away) / LANES * LANES,
                to: (first + ROWS + away).min(length),
            },
        }
    }

    /// Scores of a row, padded to whole vectors.
    #[inline(always)]
    fn columns(&self) -> usize {
        (self.to - self.from).next_multiple_of(LANES)
    }

    /// Of those, the ones that one query looks at; a row of padding looks at the last query's.
    #[inline(always)]
    fn of_row(&self, token: usize, length: usize, reach: Reach) -> Range<usize> {
        match reach {
            Reach::All => 0..length,
            Reach::Around(away) => {
                let token = token.min(length - 1);
                let from = token.saturating_sub(away).max(self.from);
                from - self.from..(token + away + 1).min(self.to) - self.from
            }
        }
    }
}

/// Takes the head's queries, keys and values out of the rows, rotated by their places if they are
/// to be.
#[inline(always)]
fn spread(
    projected: &[f32],
    place: usize,
    attention: Attention<'_>,
    scratch: &mut AttentionScratch,
) {
    let (hidden, size) = (attention.hidden(), attention.head);
    let length = projected.len() / (3 * hidden);
    let (padded_rows, padded) = (
        length.next_multiple_of(ROWS),
        length.next_multiple_of(LANES),
    );
    let AttentionScratch {
        queries,
        keys,
        values,
        ..
    } = scratch;
    queries.resize(padded_rows * size, 0.0);
    keys.resize(size * padded, 0.0);
    values.resize(length * size, 0.0);
    let rows = projected.chunks_exact(3 * hidden);
    let Some(rotation) = attention.rotation else {
        for (token, row) in rows.enumerate() {
            queries[token * size..][..size].copy_from_slice(&row[place..][..size]);
            values[token * size..][..size].copy_from_slice(&row[2 * hidden + place..][..size]);
            for (dimension, key) in row[hidden + place..][..size].iter().enumerate() {
                keys[dimension * padded + token] = *key;
            }
        }
        return;
    };
    let half = rotation.half;
    let turns = rotation.cosines.chunks_exact(half);
    let turns = turns.zip(rotation.sines.chunks_exact(half));
    for (token, (row, (cosines, sines))) in rows.zip(turns).enumerate() {
        let (query, key) = (&row[place..][..size], &row[hidden + place..][..size]);
        let queries = &mut queries[token * size..][..size];
        values[token * size..][..size].copy_from_slice(&row[2 * hidden + place..][..size]);
        for (pair, (cosine, sine)) in cosines.iter().zip(sines).enumerate() {
            let turn = |numbers: &[f32]| {
                let (one, other) = (numbers[pair], numbers[pair + half]);
                (
                    one.mul_add(*cosine, -(other * sine)),
                    other.mul_add(*cosine, one * sine),
                )
            };
            (queries[pair], queries[pair + half]) = turn(query);
            let (one, other) = turn(key);
            keys[pair * padded + token] = one;
            keys[(pair + half) * padded + token] = other;
        }
    }
}

/// The means of `C` vectors of the values' columns by a tile's weights, into its first `rows.0`
/// rows of `out`, which are `rows.1` numbers apart.
#[inline(always)]
fn mix<K: Kernel, const C: usize>(
    weights: &Weights<'_>,
    values: &[f32],
    size: usize,
    column: usize,
    rows: (usize, usize),
    out: &mut [f32],
) {
    let depth = values.len() / size;
    let mut mixed = [[[0.0_f32; LANES]; C]; ROWS];
    assert!(weights.scores.len() >= ROWS * weights.width && weights.width >= depth);
    let of = Strided {
        start: weights.scores.as_ptr(),
        stride: weights.width,
    };
    let columns = Strided {
        start: values[column..].as_ptr(),
        stride: size,
    };
    let target = StridedMut {
        start: mixed.as_mut_ptr().cast(),
        stride: C * LANES,
    };
    // SAFETY: 6 rows of `width ≥ depth` weights, `depth` rows of at least `C` vectors of values
    // from `column` on, 6 rows of `C` vectors to write; features as in `multiply`.
    unsafe { K::float_tile::<ROWS, C>(of, columns, depth, target) };
    let (count, stride) = rows;
    let all = mixed.iter().zip(weights.sums).take(count).enumerate();
    for (row, (mixed, sum)) in all {
        let inverse = 1.0 / sum;
        let out = &mut out[row * stride + column..][..C * LANES];
        for (out, mixed) in out.iter_mut().zip(mixed.as_flattened()) {
            *out = mixed * inverse;
        }
    }
}

/// Replaces the scores that are seen by `exp((score − greatest) / √head)`; returns their sum.
///
/// Those before and after them become (next to) nothing. Relative error of each below 3e-7.
#[inline(always)]
fn exponentials(scores: &mut [f32], seen: Range<usize>, factor: f32) -> f32 {
    scores[..seen.start].fill(f32::MIN);
    scores[seen.end..].fill(f32::MIN);
    let vectors = scores.as_chunks_mut::<LANES>().0;
    let mut greatest = [f32::MIN; LANES];
    for vector in vectors.iter() {
        for (greatest, &score) in greatest.iter_mut().zip(vector) {
            *greatest = if score > *greatest { score } else { *greatest };
        }
    }
    let greatest = greatest.iter().fold(
        f32::MIN,
        |most, &score| if score > most { score } else { most },
    );
    let mut sums = [0.0_f32; LANES];
    for vector in vectors {
        for (sum, score) in sums.iter_mut().zip(vector) {
            *score = exp2((*score - greatest) * factor);
            *sum += *score;
        }
    }
    fold(sums)
}
