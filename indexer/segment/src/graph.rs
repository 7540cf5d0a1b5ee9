//! The approximate side of large segments: a graph of neighbours (HNSW: Malkov and Yashunin, TPAMI
//! 2020) over the stored vectors.
//!
//! The vectors section of a segment *is* a usearch file: rows, bytes per row, the matrix, then
//! (only in segments above the exact limit) usearch's header and graph. usearch builds it, with
//! distances from `kernel.rs`, several times faster than its portable code. The walk is our own,
//! over the bytes as they lie in the file: a reader then keeps four bytes a node in memory, less
//! than usearch's view, the scores it goes by are the ones that are given back, and a link is a
//! checked index and no pointer. Since the graph decides only which rows are looked at, it changes
//! no score.
//!
//! A link beyond the last node is damage: [`Graph::open`] reads the whole graph once, and refuses
//! it.
//!
//! `unsafe` here: while building, usearch hands our metric pointers to vectors, each of
//! `dimensions` f16, as it was configured.

#![allow(unsafe_code)]

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use crate::codec::Cursor;
use crate::format_error::FormatError;
use crate::kernel::{Query, pair};

/// Links of a node per level; twice as many on the ground level. Small: 16 % of f16 vectors at 384
/// dimensions.
const CONNECTIVITY: usize = 12;
const EXPANSION_ADD: usize = 128;
/// Candidates kept while searching, at least.
const EXPANSION_SEARCH: usize = 192;
/// Length of the matrix's own header: rows and bytes per row.
pub(crate) const MATRIX_HEADER: usize = 8;
const HEAD: usize = 64;

fn library(error: impl std::fmt::Display) -> FormatError {
    FormatError::GraphLibrary(error.to_string())
}

fn empty(dimensions: usize) -> Result<Index, FormatError> {
    let mut index = Index::new(&IndexOptions {
        dimensions,
        metric: MetricKind::IP,
        quantization: ScalarKind::F16,
        connectivity: CONNECTIVITY,
        expansion_add: EXPANSION_ADD,
        expansion_search: EXPANSION_SEARCH,
        multi: false,
    })
    .map_err(library)?;
    index.change_metric::<usearch::f16>(Box::new(move |a, b| {
        // SAFETY: usearch calls with pointers to two vectors of the index's dimensions, valid for
        // the duration of the call; bytes need no alignment.
        let (a, b) = unsafe {
            (
                std::slice::from_raw_parts(a.cast::<u8>(), dimensions * 2),
                std::slice::from_raw_parts(b.cast::<u8>(), dimensions * 2),
            )
        };
        1.0 - pair(a, b)
    }));
    Ok(index)
}

/// A usearch file of the vectors (little-endian f16, one after the other), keys 0, 1, 2, …
pub(crate) fn build(matrix: &[u8], dimensions: usize) -> Result<Vec<u8>, FormatError> {
    let index = empty(dimensions)?;
    let rows = matrix.len() / (dimensions * 2);
    index
        .reserve_capacity_and_threads(rows, 1)
        .map_err(library)?;
    for (key, row) in matrix.chunks_exact(dimensions * 2).enumerate() {
        index
            .add(key as u64, usearch::f16::from_i16s(&words(row)))
            .map_err(library)?;
    }
    let mut file = vec![0; index.serialized_length()];
    index.save_to_buffer(&mut file).map_err(library)?;
    if file.get(MATRIX_HEADER..MATRIX_HEADER + matrix.len()) != Some(matrix) {
        return Err("usearch stored other vectors than it was given".into());
    }
    Ok(file)
}

fn words(row: &[u8]) -> Vec<i16> {
    row.chunks_exact(2)
        .map(|b| i16::from_le_bytes([b[0], b[1]]))
        .collect()
}

/// A row of the matrix, nearer ones being greater; ties by row, so that a walk is one whatever the
/// order in which links are kept.
#[derive(Clone, Copy, PartialEq)]
struct Near {
    score: f32,
    row: u32,
}

impl Eq for Near {}

impl Ord for Near {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then(other.row.cmp(&self.row))
    }
}

impl PartialOrd for Near {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Where everything of a checked graph is. The bytes stay where they are: a walk brings them.
///
/// Node by node, in the order of rows: key (u64), level (u16), and for each level from the ground
/// up the number of links (u32) and room for as many as there may be (u32 each).
pub(crate) struct Graph {
    rows: usize,
    dimensions: usize,
    /// Room for links on the ground, and on each level above.
    ground: usize,
    above: usize,
    top: usize,
    entry: u32,
    /// Where the first node begins.
    nodes: usize,
    /// The sum of the levels of the nodes before each.
    levels_before: Vec<u32>,
}

/// Rows that a step of a walk looks at, at most: the links of a node on the ground.
pub(crate) const LINKS_A_STEP: usize = 2 * CONNECTIVITY;
/// Bytes of a node before its links.
const NODE_HEAD: usize = 10;
/// Bytes of a number of links, and of a link.
const LINK: usize = 4;

impl Graph {
    /// Checks every count and link of a usearch file against its length and number of rows.
    pub(crate) fn open(bytes: &[u8], rows: usize, dimensions: usize) -> Result<Graph, FormatError> {
        let wrong = FormatError::Graph;
        let mut cursor = Cursor::new(bytes);
        cursor.bytes(MATRIX_HEADER + rows * dimensions * 2)?;
        let head = cursor.bytes(HEAD)?;
        if &head[..7] != b"usearch" {
            return Err(wrong("header"));
        }
        if u64_of(&head[33..41]) != dimensions as u64 {
            return Err(wrong("dimension"));
        }
        let mut header = [0u64; 5];
        for number in &mut header {
            *number = u64_of(cursor.bytes(8)?);
        }
        let [size, connectivity, ground, top, entry] = header;
        if size != rows as u64 || entry >= size || top > 64 {
            return Err(wrong("size"));
        }
        if !(2..=1024).contains(&connectivity) || !(connectivity..=1024).contains(&ground) {
            return Err(wrong("number of links"));
        }
        let levels = cursor.bytes(rows.checked_mul(2).ok_or_else(|| wrong("size"))?)?;
        let level_of = |row: usize| levels.get(row * 2..row * 2 + 2).map(u64_of);
        if level_of(entry as usize).is_none_or(|level| level < top) {
            return Err(wrong("entry"));
        }
        let nodes = bytes.len() - cursor.left();
        let mut levels_before = Vec::with_capacity(rows);
        let mut sum = 0u32;
        for row in 0..rows {
            let level = level_of(row).ok_or_else(|| wrong("node"))?;
            if level > top
                || u64_of(cursor.bytes(8)?) != row as u64
                || u64_of(cursor.bytes(2)?) != level
            {
                return Err(wrong("node"));
            }
            levels_before.push(sum);
            sum = sum
                .checked_add(level as u32)
                .ok_or_else(|| wrong("number of levels"))?;
            for at in 0..=level {
                let room = if at == 0 { ground } else { connectivity } as usize;
                let count = u64_of(cursor.bytes(LINK)?);
                let links = cursor.bytes(room * LINK)?;
                if count > room as u64 {
                    return Err(wrong("number of links"));
                }
                for link in links.chunks_exact(LINK).take(count as usize) {
                    // A link must lead to a node that exists on this level.
                    if level_of(u64_of(link) as usize).is_none_or(|level| level < at) {
                        return Err(wrong("link"));
                    }
                }
            }
        }
        cursor.end()?;
        Ok(Graph {
            rows,
            dimensions,
            ground: ground as usize,
            above: connectivity as usize,
            top: top as usize,
            entry: entry as u32,
            nodes,
            levels_before,
        })
    }

    /// The links of a node on a level that it is on.
    fn links<'b>(
        &self,
        bytes: &'b [u8],
        row: u32,
        level: usize,
    ) -> impl Iterator<Item = u32> + use<'b> {
        let (ground, above) = ((1 + self.ground) * LINK, (1 + self.above) * LINK);
        let row = row as usize;
        let levels_before = self.levels_before[row] as usize;
        let mut at = self.nodes + row * (NODE_HEAD + ground) + levels_before * above + NODE_HEAD;
        let mut room = self.ground;
        if level > 0 {
            at += ground + (level - 1) * above;
            room = self.above;
        }
        let count = number(&bytes[at..at + LINK]) as usize;
        let links = &bytes[at + LINK..at + (1 + count.min(room)) * LINK];
        links.chunks_exact(LINK).map(number)
    }

    /// At least the `n` nearest that a walk finds of the rows that `live` admits, with their
    /// scores, in no order; fewer where it finds fewer. `bytes` are those that were opened.
    pub(crate) fn search(
        &self,
        bytes: &[u8],
        query: &Query<'_>,
        n: usize,
        live: impl Fn(u32) -> bool,
    ) -> Vec<(u32, f32)> {
        let score = |row: u32| {
            let at = MATRIX_HEADER + row as usize * self.dimensions * 2;
            let score = query.score(&bytes[at..at + self.dimensions * 2]);
            Near { score, row }
        };
        let mut nearest = score(self.entry);
        for level in (1..=self.top).rev() {
            loop {
                let links = self.links(bytes, nearest.row, level);
                match links.map(score).max() {
                    Some(next) if next > nearest => nearest = next,
                    _ => break,
                }
            }
        }

        let kept = n.max(EXPANSION_SEARCH);
        let mut seen = vec![0u64; self.rows.div_ceil(64)];
        let mut is_new = |row: u32| {
            let (word, bit) = (&mut seen[row as usize / 64], 1u64 << (row % 64));
            let is_new = *word & bit == 0;
            *word |= bit;
            is_new
        };
        let mut open = BinaryHeap::from([nearest]);
        let mut found: BinaryHeap<Reverse<Near>> = BinaryHeap::with_capacity(kept + 1);
        is_new(nearest.row);
        if live(nearest.row) {
            found.push(Reverse(nearest));
        }
        while let Some(from) = open.pop() {
            let is_full = found.len() >= kept;
            if is_full && found.peek().is_some_and(|Reverse(least)| from < *least) {
                break;
            }
            for row in self.links(bytes, from.row, 0) {
                if !is_new(row) {
                    continue;
                }
                let next = score(row);
                let is_full = found.len() >= kept;
                if is_full && found.peek().is_some_and(|Reverse(least)| next < *least) {
                    continue;
                }
                // What may not be found is walked over all the same: behind it there may be more.
                open.push(next);
                if live(row) {
                    found.push(Reverse(next));
                    if found.len() > kept {
                        found.pop();
                    }
                }
            }
        }
        let found = found.into_iter();
        found.map(|Reverse(near)| (near.row, near.score)).collect()
    }
}

/// Little-endian bytes, at most eight.
fn u64_of(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |n, byte| n << 8 | u64::from(*byte))
}

fn number(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}
