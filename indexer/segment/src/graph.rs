//! The approximate side of large segments: a usearch graph (HNSW) over the stored vectors.
//!
//! The vectors section of a segment *is* a usearch file: rows, bytes per row, the matrix, then (only
//! in segments above the exact limit) usearch's header and graph. Distances while building and
//! searching come from `kernel.rs`, several times faster than usearch's portable code; results are
//! scored again by the caller, so the graph decides only which candidates are looked at.
//!
//! usearch checks sizes but not links, and a link beyond the last node would read foreign memory:
//! [`check`] reads the whole graph once before a view is made.
//!
//! `unsafe` here: the view keeps a pointer into the map, which [`Graph`] therefore owns; and
//! usearch hands our metric pointers to vectors, each of `dimensions` f16, as it was told.

#![allow(unsafe_code)]

use tantivy::directory::OwnedBytes;
use usearch::{Index, IndexOptions, MetricKind, ScalarKind};

use crate::codec::Cursor;
use crate::kernel::pair;

/// Links of a node per level; twice as many on the ground level. Small: 16 % of f16 vectors at 384
/// dimensions.
const CONNECTIVITY: usize = 12;
const EXPANSION_ADD: usize = 128;
/// Candidates kept while searching, at least.
const EXPANSION_SEARCH: usize = 192;
/// Searches at a time; one too many falls back to the exact scan.
const THREADS: usize = 256;
/// Length of the matrix's own header: rows and bytes per row.
pub(crate) const MATRIX_HEADER: usize = 8;
const HEAD: usize = 64;

fn empty(dimensions: usize) -> Result<Index, String> {
    let mut index = Index::new(&IndexOptions {
        dimensions,
        metric: MetricKind::IP,
        quantization: ScalarKind::F16,
        connectivity: CONNECTIVITY,
        expansion_add: EXPANSION_ADD,
        expansion_search: EXPANSION_SEARCH,
        multi: false,
    })
    .map_err(|e| e.to_string())?;
    use_our_metric(&mut index, dimensions);
    Ok(index)
}

fn use_our_metric(index: &mut Index, dimensions: usize) {
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
}

/// A usearch file of the vectors (little-endian f16, one after the other), keys 0, 1, 2, …
pub(crate) fn build(matrix: &[u8], dimensions: usize) -> Result<Vec<u8>, String> {
    let index = empty(dimensions)?;
    let rows = matrix.len() / (dimensions * 2);
    index
        .reserve_capacity_and_threads(rows, 1)
        .map_err(|e| e.to_string())?;
    for (key, row) in matrix.chunks_exact(dimensions * 2).enumerate() {
        index
            .add(key as u64, usearch::f16::from_i16s(&words(row)))
            .map_err(|e| e.to_string())?;
    }
    let mut file = vec![0; index.serialized_length()];
    index.save_to_buffer(&mut file).map_err(|e| e.to_string())?;
    if file.get(MATRIX_HEADER..MATRIX_HEADER + matrix.len()) != Some(matrix) {
        return Err("usearch stored other vectors than it was given".to_owned());
    }
    Ok(file)
}

fn words(row: &[u8]) -> Vec<i16> {
    row.chunks_exact(2)
        .map(|b| i16::from_le_bytes([b[0], b[1]]))
        .collect()
}

/// A graph over mapped bytes.
pub(crate) struct Graph {
    // Dropped before the bytes that it points into.
    index: Index,
    _bytes: OwnedBytes,
}

impl Graph {
    /// Views a usearch file of `rows` vectors.
    pub(crate) fn view(bytes: OwnedBytes, rows: usize, dimensions: usize) -> Result<Graph, String> {
        check(&bytes, rows, dimensions)?;
        let mut index = empty(dimensions)?;
        index
            .reserve_capacity_and_threads(0, THREADS)
            .map_err(|e| e.to_string())?;
        // SAFETY: the bytes live in this struct as long as the index, in place, and never change.
        unsafe { index.view_from_buffer(&bytes) }.map_err(|e| e.to_string())?;
        if index.size() != rows
            || index.dimensions() != dimensions
            || index.scalar_kind() != ScalarKind::F16
            || index.multi()
        {
            return Err("its graph is of another kind than its vectors".to_owned());
        }
        index.change_expansion_search(EXPANSION_SEARCH);
        // Viewing resets the metric to usearch's own.
        use_our_metric(&mut index, dimensions);
        Ok(Graph {
            index,
            _bytes: bytes,
        })
    }

    /// Rows near a query, about `n` of them, of those that `live` admits; unordered candidates.
    pub(crate) fn search(
        &self,
        query: &[u8],
        n: usize,
        live: impl Fn(u32) -> bool,
    ) -> Result<Vec<u32>, String> {
        let found = self
            .index
            .filtered_search(usearch::f16::from_i16s(&words(query)), n, |key| {
                u32::try_from(key).is_ok_and(&live)
            })
            .map_err(|e| e.to_string())?;
        Ok(found
            .keys
            .iter()
            .filter_map(|k| u32::try_from(*k).ok())
            .collect())
    }
}

/// Checks every count and link of a usearch file against its length and number of rows.
fn check(bytes: &[u8], rows: usize, dimensions: usize) -> Result<(), String> {
    let wrong = |what: &str| format!("its graph has a wrong {what}");
    let mut cursor = Cursor::new(bytes);
    cursor.bytes(MATRIX_HEADER + rows * dimensions * 2)?;
    let head = cursor.bytes(HEAD)?;
    if &head[..7] != b"usearch" {
        return Err(wrong("header"));
    }
    let u64_of = |b: &[u8]| b.iter().rev().fold(0u64, |n, &b| n << 8 | u64::from(b));
    if u64_of(&head[33..41]) != dimensions as u64 {
        return Err(wrong("dimension"));
    }
    let mut header = [0u64; 5];
    for number in &mut header {
        *number = u64_of(cursor.bytes(8)?);
    }
    let [size, connectivity, ground, max_level, entry] = header;
    if size != rows as u64 || entry >= size || max_level > 64 {
        return Err(wrong("size"));
    }
    if !(2..=1024).contains(&connectivity) || !(connectivity..=1024).contains(&ground) {
        return Err(wrong("number of links"));
    }
    let levels: Vec<u64> = cursor
        .bytes(rows.checked_mul(2).ok_or_else(|| wrong("size"))?)?
        .chunks_exact(2)
        .map(u64_of)
        .collect();
    if levels
        .get(entry as usize)
        .is_none_or(|level| *level < max_level)
    {
        return Err(wrong("entry"));
    }
    for (key, level) in levels.iter().enumerate() {
        if *level > max_level
            || u64_of(cursor.bytes(8)?) != key as u64
            || u64_of(cursor.bytes(2)?) != *level
        {
            return Err(wrong("node"));
        }
        for at in 0..=*level {
            let room = if at == 0 { ground } else { connectivity };
            let count = u64_of(cursor.bytes(4)?);
            let links = cursor.bytes(room as usize * 4)?;
            if count > room {
                return Err(wrong("number of links"));
            }
            for link in links.chunks_exact(4).take(count as usize) {
                // A link must lead to a node that exists on this level.
                if levels.get(u64_of(link) as usize).is_none_or(|l| *l < at) {
                    return Err(wrong("link"));
                }
            }
        }
    }
    cursor.end()
}
