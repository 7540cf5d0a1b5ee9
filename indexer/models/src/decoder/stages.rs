//! The steps of a decoder layer, written once for every processor; see [`crate::kernels`] for what
//! keeps their bits the same everywhere.

// Counted loops, which the compiler turns into vector code where iterators would hide the counts.
#![allow(clippy::needless_range_loop)]

use super::matrix::round_row;
use super::shape::Pairs;
use crate::kernels::floats::{exp2, fold};
use crate::kernels::{GroupBlocks, GroupRows, Kernel, LANES, Line, ROWS, Strided, StridedMut};

/// Rows of bytes times blocks of weights.
///
/// # Panics
/// Where `out` has no room.
#[inline(always)]
pub(super) fn multiply_groups<K: Kernel>(
    rows: GroupRows<'_>,
    blocks: GroupBlocks<'_>,
    out: SharedNumbers,
    stride: usize,
) {
    let count = rows.count;
    let width = blocks.scales.len() / rows.groups.max(1) * LANES;
    assert!(count == 0 || (count - 1) * stride + width <= out.length);
    let target = StridedMut {
        start: out.start,
        stride,
    };
    // SAFETY: `ByteRows` and `Matrix` hand out whole tiles and blocks; the room was checked; no
    // other thread has these columns (`SharedNumbers`); the processor has the features of `K`, for
    // this code runs only where `Cpu` detected them.
    unsafe { K::group_product(rows, blocks, target) }
}

/// Numbers that several threads write, each its own columns.
#[derive(Clone, Copy)]
pub(super) struct SharedNumbers {
    pub start: *mut f32,
    pub length: usize,
}

// SAFETY: its maker gives every thread places of its own.
unsafe impl Send for SharedNumbers {}
// SAFETY: as above.
unsafe impl Sync for SharedNumbers {}

impl SharedNumbers {
    pub fn of(numbers: &mut [f32]) -> Self {
        Self {
            start: numbers.as_mut_ptr(),
            length: numbers.len(),
        }
    }

    /// The numbers from `place`.
    pub fn from(self, place: usize) -> Self {
        assert!(place <= self.length);
        Self {
            // SAFETY: within the allocation, as just checked.
            start: unsafe { self.start.add(place) },
            length: self.length - place,
        }
    }
}

/// Rounds and packs the rows of one block of weights.
#[inline(always)]
pub(super) fn pack_block<K: Kernel>(
    rows: &[f32],
    inputs: usize,
    block: (&mut [Line], &mut [[f32; LANES]], &mut [[i32; LANES]]),
) {
    super::matrix::pack_block(rows, inputs, block);
}

/// Rows of one tile: which numbers, and where their bytes go.
pub(super) struct TileRows<'a> {
    /// Up to 16 rows of `from` numbers.
    pub numbers: &'a [f32],
    pub from: usize,
    /// Lines of the whole tile.
    pub lines: &'a mut [Line],
    /// Scales of the whole tile.
    pub scales: &'a mut [f32],
    /// Room for one row.
    pub space: &'a mut Vec<f32>,
}

// The loops over rows are written out in each stage: what a closure holds might not be compiled for
// the processor that the stage is.

/// Divides each row by its root mean square, scales it, and rounds it to bytes.
#[inline(always)]
pub(super) fn normalize_to_bytes<K: Kernel>(rows: TileRows<'_>, weight: &[f32], epsilon: f32) {
    let width = rows.from;
    rows.space.resize(width, 0.0);
    let space = &mut rows.space[..width];
    let count = rows.numbers.len() / width;
    for r in 0..count {
        let row = &rows.numbers[r * width..][..width];
        let mut squares = [0.0_f32; LANES];
        let (vectors, rest) = row.as_chunks::<LANES>();
        for vector in vectors {
            for lane in 0..LANES {
                squares[lane] = vector[lane].mul_add(vector[lane], squares[lane]);
            }
        }
        for (square, number) in squares.iter_mut().zip(rest) {
            *square = number.mul_add(*number, *square);
        }
        let inverse = 1.0 / (fold(squares) / width as f32 + epsilon).sqrt();
        for ((normal, number), weight) in space.iter_mut().zip(row).zip(weight) {
            *normal = number * inverse * weight;
        }
        round_row(space, r, rows.lines, rows.scales);
    }
}

/// Rounds rows to bytes.
#[inline(always)]
pub(super) fn to_bytes<K: Kernel>(rows: TileRows<'_>) {
    let width = rows.from;
    for r in 0..rows.numbers.len() / width {
        let row = &rows.numbers[r * width..][..width];
        round_row(row, r, rows.lines, rows.scales);
    }
}

/// `silu(gate) · up`, rounded to bytes; a row holds the gates, then the ups.
#[inline(always)]
pub(super) fn gate_to_bytes<K: Kernel>(rows: TileRows<'_>, inner: usize) {
    let width = rows.from;
    rows.space.resize(inner, 0.0);
    let space = &mut rows.space[..inner];
    for r in 0..rows.numbers.len() / width {
        let row = &rows.numbers[r * width..][..width];
        let (gates, ups) = (&row[..inner], &row[width / 2..][..inner]);
        for i in 0..inner {
            space[i] = silu(gates[i]) * ups[i];
        }
        round_row(space, r, rows.lines, rows.scales);
    }
}

/// x / (1 + e⁻ˣ), by way of e^−|x|.
#[inline(always)]
fn silu(x: f32) -> f32 {
    let magnitude = if x < 0.0 { -x } else { x };
    let e = exp2(-magnitude * std::f32::consts::LOG2_E);
    let share = 1.0 / (1.0 + e);
    x * if x < 0.0 { e * share } else { share }
}

/// Keys and values of some tokens in one layer and head: blocks of 16 keys, a dimension after the
/// other; values, a token after the other.
#[derive(Clone, Copy)]
pub(super) struct Plane {
    pub keys: *const f32,
    pub values: *const f32,
    /// Tokens that are there.
    pub length: usize,
}

impl Plane {
    /// Tokens that there is room for, in whole blocks.
    fn padded(&self) -> usize {
        self.length.next_multiple_of(LANES)
    }
}

/// One head of keys and values of one sequence, and the new tokens' queries on it.
pub(super) struct HeadTask<'a> {
    /// Numbers of a head.
    pub head: usize,
    /// Heads of queries.
    pub group: usize,
    pub pairs: Pairs,
    /// Cosines and sines of the new tokens' positions: `head` numbers a token, cosines first.
    pub turns: &'a [f32],
    /// Rows of the new tokens: queries of all heads, keys, values.
    pub projected: &'a [f32],
    pub row: usize,
    /// Where in a row this task's queries, keys and values begin.
    pub query: usize,
    pub key: usize,
    pub value: usize,
    /// What the tokens before were, oldest first; then, last, the sequence's own.
    pub before: &'a [Plane],
    pub own: Plane,
    /// Where the new keys and values go: the same memory as `own`.
    pub new_keys: *mut f32,
    pub new_values: *mut f32,
    /// Rows of the result: all heads' numbers.
    pub out: SharedNumbers,
    pub out_row: usize,
}

/// What attention needs, kept for the next task.
#[derive(Default)]
pub(super) struct HeadScratch {
    queries: Vec<f32>,
    scores: Vec<f32>,
    mixed: Vec<f32>,
    more: Vec<f32>,
}

/// Attention of one head of keys: turns queries and keys, stores keys and values, and mixes.
#[inline(always)]
pub(super) fn attend_group<K: Kernel>(task: &HeadTask<'_>, scratch: &mut HeadScratch) {
    let HeadTask { head, group, .. } = *task;
    let tokens = task.projected.len() / task.row;
    let HeadScratch {
        queries,
        scores,
        mixed,
        more,
    } = scratch;
    queries.resize(tokens * group * head, 0.0);
    mixed.resize(ROWS * head, 0.0);
    more.resize(ROWS * head, 0.0);
    turn_and_store(task, queries);

    let own = Plane {
        length: task.own.length + tokens,
        ..task.own
    };
    let total: usize = task.before.iter().chain([&own]).map(Plane::padded).sum();
    scores.resize(ROWS * total, 0.0);
    let rows = tokens * group;
    for first in (0..rows).step_by(ROWS) {
        let here = (rows - first).min(ROWS);
        let tile = &queries[first * head..][..here * head];
        score::<K>(task, &own, tile, total, scores);
        let mut sums = [0.0_f32; ROWS];
        weigh(task, first, total, scores, &mut sums[..here]);
        mix::<K>(task, &own, scores, total, here, (mixed, more));
        write_shares(task, first, &sums[..here], mixed);
    }
}

/// Turns the new tokens' queries and keys, and stores their keys and values.
#[inline(always)]
fn turn_and_store(task: &HeadTask<'_>, queries: &mut [f32]) {
    let HeadTask { head, group, .. } = *task;
    let mut turned = vec![0.0_f32; head];
    for (token, row) in task.projected.chunks_exact(task.row).enumerate() {
        let turns = &task.turns[token * head..][..head];
        for (numbers, out) in row[task.query..][..group * head]
            .chunks_exact(head)
            .zip(queries[token * group * head..].chunks_exact_mut(head))
        {
            turn(numbers, turns, task.pairs, out);
        }
        turn(&row[task.key..][..head], turns, task.pairs, &mut turned);
        let place = task.own.length + token;
        let block = place / LANES * LANES * head + place % LANES;
        // SAFETY: the segment has room for its new tokens in whole blocks of 16, and this task
        // alone has its layer and head (`Cache::plane`).
        unsafe {
            for (dimension, number) in turned.iter().enumerate() {
                task.new_keys.add(block + dimension * LANES).write(*number);
            }
            let values = task.new_values.add(place * head);
            std::ptr::copy_nonoverlapping(row[task.value..].as_ptr(), values, head);
        }
    }
}

/// The products of some queries, at most [`ROWS`], with all keys: `total` numbers a query.
#[inline(always)]
fn score<K: Kernel>(
    task: &HeadTask<'_>,
    own: &Plane,
    queries: &[f32],
    total: usize,
    scores: &mut [f32],
) {
    let head = task.head;
    let tile = Strided {
        start: queries.as_ptr(),
        stride: head,
    };
    let mut column = 0;
    for plane in task.before.iter().chain([own]) {
        for block in 0..plane.padded() / LANES {
            let target = StridedMut {
                start: scores[column..].as_mut_ptr(),
                stride: total,
            };
            // SAFETY: rows of `head` numbers; a block of keys is `head` rows of 16; a row of scores
            // has 16 numbers from `column` on.
            unsafe {
                let keys = Strided {
                    start: plane.keys.add(block * LANES * head),
                    stride: LANES,
                };
                tile_of::<K>(queries.len() / head, tile, keys, head, target);
            }
            column += LANES;
        }
    }
}

/// Scores to weights, for as many queries from `first` on as there are sums of weights to write.
#[inline(always)]
fn weigh(task: &HeadTask<'_>, first: usize, total: usize, scores: &mut [f32], sums: &mut [f32]) {
    let factor = std::f32::consts::LOG2_E / (task.head as f32).sqrt();
    for (r, sum) in sums.iter_mut().enumerate() {
        let row = &mut scores[r * total..][..total];
        // A token sees its own place and those before it.
        let seen = task.own.length + (first + r) / task.group + 1;
        let mut column = 0;
        for plane in task.before {
            row[column + plane.length..column + plane.padded()].fill(f32::MIN);
            column += plane.padded();
        }
        row[column + seen..].fill(f32::MIN);
        *sum = exponentials(row, factor);
    }
}

/// Writes what was mixed for the queries from `first` on, each divided by its sum of weights.
#[inline(always)]
fn write_shares(task: &HeadTask<'_>, first: usize, sums: &[f32], mixed: &[f32]) {
    let HeadTask { head, group, .. } = *task;
    for (r, sum) in sums.iter().enumerate() {
        let (token, query) = ((first + r) / group, (first + r) % group);
        let inverse = 1.0 / sum;
        let out = task
            .out
            .from(token * task.out_row + task.query + query * head);
        assert!(head <= out.length);
        for (dimension, number) in mixed[r * head..][..head].iter().enumerate() {
            // SAFETY: checked just above; this task alone writes its heads' columns.
            unsafe { out.start.add(dimension).write(number * inverse) };
        }
    }
}

/// The weighted sums of values: per plane in one go, planes added in order.
#[inline(always)]
fn mix<K: Kernel>(
    task: &HeadTask<'_>,
    own: &Plane,
    scores: &[f32],
    total: usize,
    here: usize,
    (mixed, more): (&mut [f32], &mut [f32]),
) {
    let head = task.head;
    let mut column = 0;
    for (at, plane) in task.before.iter().chain([own]).enumerate() {
        let weights = Strided {
            start: scores[column..].as_ptr(),
            stride: total,
        };
        let target = if at == 0 { &mut *mixed } else { &mut *more };
        let mut dimension = 0;
        while dimension < head {
            let columns = ((head - dimension) / LANES).min(4);
            let out = StridedMut {
                start: target[dimension..].as_mut_ptr(),
                stride: head,
            };
            // SAFETY: `here` rows of scores from `column`, `plane.length` rows of `head` values,
            // rows of `head` numbers to write.
            unsafe {
                let values = Strided {
                    start: plane.values.add(dimension),
                    stride: head,
                };
                wide_tile_of::<K>(here, columns, weights, values, plane.length, out);
            }
            dimension += columns * LANES;
        }
        if at > 0 {
            for (sum, more) in mixed.iter_mut().zip(more.iter()) {
                *sum += *more;
            }
        }
        column += plane.padded();
    }
}

/// # Safety
/// As [`Kernel::float_tile`] for `count` rows and 16 columns.
#[inline(always)]
unsafe fn tile_of<K: Kernel>(
    count: usize,
    rows: Strided,
    columns: Strided,
    depth: usize,
    out: StridedMut,
) {
    // SAFETY: as the caller vouches.
    unsafe {
        match count {
            1 => K::float_tile::<1, 1>(rows, columns, depth, out),
            2 => K::float_tile::<2, 1>(rows, columns, depth, out),
            3 => K::float_tile::<3, 1>(rows, columns, depth, out),
            4 => K::float_tile::<4, 1>(rows, columns, depth, out),
            5 => K::float_tile::<5, 1>(rows, columns, depth, out),
            _ => K::float_tile::<ROWS, 1>(rows, columns, depth, out),
        }
    }
}

/// # Safety
/// As [`Kernel::float_tile`] for `count` rows and `16 · width` columns, `width` from 1 to 4.
#[inline(always)]
unsafe fn wide_tile_of<K: Kernel>(
    count: usize,
    width: usize,
    rows: Strided,
    columns: Strided,
    depth: usize,
    out: StridedMut,
) {
    macro_rules! of {
        ($r:expr) => {
            match width {
                1 => K::float_tile::<{ $r }, 1>(rows, columns, depth, out),
                2 => K::float_tile::<{ $r }, 2>(rows, columns, depth, out),
                3 => K::float_tile::<{ $r }, 3>(rows, columns, depth, out),
                _ => K::float_tile::<{ $r }, 4>(rows, columns, depth, out),
            }
        };
    }
    // SAFETY: as the caller vouches.
    unsafe {
        match count {
            1 => of!(1),
            2 => of!(2),
            3 => of!(3),
            4 => of!(4),
            5 => of!(5),
            _ => of!(ROWS),
        }
    }
}

/// Turns each pair of numbers by its angle.
#[inline(always)]
fn turn(numbers: &[f32], turns: &[f32], pairs: Pairs, out: &mut [f32]) {
    let half = numbers.len() / 2;
    let (cosines, sines) = turns.split_at(half);
    for pair in 0..half {
        let (a, b) = match pairs {
            Pairs::Neighbours => (2 * pair, 2 * pair + 1),
            Pairs::Halves => (pair, pair + half),
        };
        let (x, y) = (numbers[a], numbers[b]);
        out[a] = x.mul_add(cosines[pair], -(y * sines[pair]));
        out[b] = x.mul_add(sines[pair], y * cosines[pair]);
    }
}

/// Replaces each score by 2^((score − greatest) · factor); returns their sum.
#[inline(always)]
fn exponentials(scores: &mut [f32], factor: f32) -> f32 {
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
            let power = exp2((*score - greatest) * factor);
            // What must not be seen weighs nothing at all.
            *score = if *score > f32::MIN { power } else { 0.0 };
            *sum += *score;
        }
    }
    fold(sums)
}
