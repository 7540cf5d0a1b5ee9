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
    /// By which places are told; `None` where they were added to the words.
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
    /// Sums of values by these weights, of one tile of queries.
    mixed: Vec<f32>,
}

#[inline(always)]
pub(super) fn attend<K: Kernel>(
    projected: &[f32],
    lengths: &[usize],
    attention: &Attention<'_>,
    scratch: &mut AttentionScratch,
    out: &mut [f32],
) {
    // The usual sizes of heads are known to the compiler.
    let attention = *attention;
    match attention.head {
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
        mixed,
    } = scratch;
    scores.resize(ROWS * padded, 0.0);
    mixed.resize(ROWS * size, 0.0);
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
        let depth = seen.to - seen.from;
        mix::<K>(
            scores,
            width,
            &values[seen.from * size..][..depth * size],
            mixed,
            size,
        );
        let queries = (tile * ROWS..length).zip(mixed.chunks_exact(size).zip(sums));
        for (token, (mixed, sum)) in queries {
            let inverse = 1.0 / sum;
            for (out, mixed) in out[token * hidden + place..][..size].iter_mut().zip(mixed) {
                *out = mixed * inverse;
            }
        }
    }
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
    for (token, row) in projected.chunks_exact(3 * hidden).enumerate() {
        let query = &row[place..][..size];
        let key = &row[hidden + place..][..size];
        values[token * size..][..size].copy_from_slice(&row[2 * hidden + place..][..size]);
        let queries = &mut queries[token * size..][..size];
        let Some(rotation) = attention.rotation else {
            queries.copy_from_slice(query);
            for (dimension, key) in key.iter().enumerate() {
                keys[dimension * padded + token] = *key;
            }
            continue;
        };
        let half = rotation.half;
        let cosines = &rotation.cosines[token * half..][..half];
        let sines = &rotation.sines[token * half..][..half];
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

/// Sums of values by a tile's weights.
#[inline(always)]
fn mix<K: Kernel>(weights: &[f32], width: usize, values: &[f32], mixed: &mut [f32], size: usize) {
    let depth = values.len() / size;
    assert!(weights.len() >= ROWS * width && width >= depth && mixed.len() == ROWS * size);
    let rows = Strided {
        start: weights.as_ptr(),
        stride: width,
    };
    let mut column = 0;
    while column < size {
        let columns = Strided {
            start: values[column..].as_ptr(),
            stride: size,
        };
        let target = StridedMut {
            start: mixed[column..].as_mut_ptr(),
            stride: size,
        };
        // SAFETY: 6 rows of `width ≥ depth` weights, `depth` rows of `size − column` values and
        // more, 6 rows of as many to write, as each arm needs; features as in `multiply`.
        unsafe {
            match (size - column) / LANES {
                1 => K::float_tile::<ROWS, 1>(rows, columns, depth, target),
                2 => K::float_tile::<ROWS, 2>(rows, columns, depth, target),
                3 => K::float_tile::<ROWS, 3>(rows, columns, depth, target),
                _ => K::float_tile::<ROWS, 4>(rows, columns, depth, target),
            }
        }
        column += 4 * LANES;
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
