//! The semantic side: vectors as f16, searched exactly while they are few.
//!
//! One section: `rows: u32, bytes per row: u32`, the matrix, and, in large segments, a usearch graph
//! (`graph.rs`). The section begins 8 bytes before a multiple of 64, so that rows of 384 dimensions
//! fill whole cache lines. Row numbers count the blocks that have a vector, in block order.
//!
//! Exact search is one pass over the matrix, bound by memory. A reader that is asked again makes a
//! coarse copy in memory (`coarse.rs`) that halves what a pass reads and changes no result.

use std::cmp::Ordering;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use half::f16;
use tantivy::directory::OwnedBytes;

use crate::coarse::Coarse;
use crate::deletes::{DeadBlocks, Deletes};
use crate::directory::SectionFile;
use crate::error::SegmentError;
use crate::graph::{self, Graph, MATRIX_HEADER};
use crate::kernel::Query;

/// Rows scored at a time: their scores stay in the first cache.
const BATCH: usize = 512;
/// Candidates asked of the graph for each result wanted.
const OVERSAMPLE: usize = 2;
/// Rows for each result wanted, from which a coarse pass pays.
const COARSE_FROM: usize = 8;

/// Collects vectors in block order.
pub(crate) struct VectorWriter {
    dimensions: usize,
    matrix: Vec<u8>,
}

impl VectorWriter {
    pub(crate) fn new(dimensions: usize) -> VectorWriter {
        VectorWriter {
            dimensions,
            matrix: Vec::new(),
        }
    }

    /// Adds a block's vector; an error says what is wrong with it.
    pub(crate) fn add(&mut self, vector: &[f16]) -> Result<(), String> {
        if vector.len() != self.dimensions {
            return Err(format!(
                "a vector has {} dimensions and the index {}",
                vector.len(),
                self.dimensions
            ));
        }
        if !vector.iter().all(|x| x.is_finite()) {
            return Err("a vector holds a number that is not finite".to_owned());
        }
        self.matrix
            .extend(vector.iter().flat_map(|x| x.to_le_bytes()));
        Ok(())
    }

    /// The section's bytes, and whether they hold a graph.
    pub(crate) fn finish(self, graph_above: usize) -> Result<(Vec<u8>, bool), String> {
        let row = self.dimensions * 2;
        let rows = self.matrix.len().checked_div(row).unwrap_or(0);
        if rows > graph_above.max(1) {
            return Ok((graph::build(&self.matrix, self.dimensions)?, true));
        }
        let mut out = Vec::with_capacity(MATRIX_HEADER + self.matrix.len());
        out.extend_from_slice(&(rows as u32).to_le_bytes());
        out.extend_from_slice(&(row as u32).to_le_bytes());
        out.extend_from_slice(&self.matrix);
        Ok((out, false))
    }
}

/// Searches the vectors of a segment.
pub(crate) struct VectorReader {
    object: String,
    section: SectionFile,
    dimensions: usize,
    /// Block of each row.
    blocks: Vec<u32>,
    /// Whether the section goes on with a graph.
    graph: bool,
    /// Whether a pass over the matrix was made before.
    asked: AtomicBool,
    coarse: OnceLock<Coarse>,
}

impl VectorReader {
    /// Touches no byte of the section.
    pub(crate) fn new(
        object: &str,
        section: SectionFile,
        dimensions: usize,
        blocks: Vec<u32>,
        graph: bool,
    ) -> Result<VectorReader, SegmentError> {
        let wrong = || SegmentError::damaged(object, "its vectors do not fill their section");
        let matrix = blocks
            .len()
            .checked_mul(dimensions)
            .and_then(|n| n.checked_mul(2))
            .and_then(|n| n.checked_add(MATRIX_HEADER))
            .ok_or_else(wrong)?;
        let length = tantivy::HasLen::len(&section);
        let empty_rows = dimensions == 0 && !blocks.is_empty();
        if empty_rows || length < matrix || (!graph && length != matrix) {
            return Err(wrong());
        }
        Ok(VectorReader {
            object: object.to_owned(),
            section,
            dimensions,
            blocks,
            graph,
            asked: AtomicBool::new(false),
            coarse: OnceLock::new(),
        })
    }

    pub(crate) fn count(&self) -> usize {
        self.blocks.len()
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn damaged(&self, detail: impl Into<String>) -> SegmentError {
        SegmentError::damaged(&self.object, detail)
    }

    /// The stored bytes of a block's vector.
    pub(crate) fn row(&self, block: u32) -> Result<Option<OwnedBytes>, SegmentError> {
        let Ok(row) = self.blocks.binary_search(&block) else {
            return Ok(None);
        };
        let start = MATRIX_HEADER + row * self.dimensions * 2;
        self.section
            .read(start..start + self.dimensions * 2)
            .map(Some)
    }

    fn check_query(&self, query: &[f32]) -> Result<(), SegmentError> {
        if query.len() == self.dimensions {
            return Ok(());
        }
        Err(SegmentError::invalid(
            "the question",
            format!(
                "its vector has {} dimensions and the index {}: use the embedder the index was built with",
                query.len(),
                self.dimensions
            ),
        ))
    }

    /// Score of one block.
    pub(crate) fn similarity(
        &self,
        query: &[f32],
        block: u32,
    ) -> Result<Option<f32>, SegmentError> {
        self.check_query(query)?;
        Ok(self.row(block)?.map(|row| Query::new(query).score(&row)))
    }

    /// The best `n` live blocks, best first, ties by block; those below `least` may be left out.
    pub(crate) fn nearest(
        &self,
        query: &[f32],
        n: usize,
        least: f32,
        deletes: &Deletes,
    ) -> Result<Vec<(u32, f32)>, SegmentError> {
        self.check_query(query)?;
        let n = n.min(self.blocks.len());
        if n == 0 {
            return Ok(Vec::new());
        }
        let exact = Query::new(query);
        let section = self.section.read_all()?;
        let (header, matrix) = section.as_slice().split_at(MATRIX_HEADER);
        let row = self.dimensions * 2;
        if header[..4] != (self.blocks.len() as u32).to_le_bytes()
            || header[4..] != (row as u32).to_le_bytes()
        {
            return Err(self.damaged("its matrix has another size than its blocks need"));
        }
        if self.graph
            && let Some(found) = self.search_graph(&section, &exact, n, deletes)?
        {
            return Ok(found);
        }
        let dead = DeadBlocks::of(deletes);
        let live = |block| !dead.contains(block);
        let mut best = Best::new(n);
        best.floor = least;
        if let Some(rows) = self.coarse_rows(matrix, query, n, least, &dead) {
            for at in rows {
                let score = exact.score(&matrix[at * row..(at + 1) * row]);
                best.offer(score, self.blocks[at], live);
            }
            return Ok(best.sorted());
        }
        let mut scores = [0.0f32; BATCH];
        for (batch, blocks) in self.blocks.chunks(BATCH).enumerate() {
            let scores = &mut scores[..blocks.len()];
            exact.scores(&matrix[batch * BATCH * row..], scores);
            for (score, block) in scores.iter().zip(blocks) {
                best.offer(*score, *block, live);
            }
        }
        Ok(best.sorted())
    }

    /// The rows worth an exact look, where there are many rows and this is not the first question.
    fn coarse_rows(
        &self,
        matrix: &[u8],
        query: &[f32],
        n: usize,
        least: f32,
        dead: &DeadBlocks,
    ) -> Option<Vec<usize>> {
        if self.blocks.len() / COARSE_FROM < n || !self.asked.swap(true, Relaxed) {
            return None;
        }
        let matrix = &matrix[..self.blocks.len() * self.dimensions * 2];
        self.coarse
            .get_or_init(|| Coarse::new(matrix, self.dimensions))
            .candidates(query, n, least, |row| !dead.contains(self.blocks[row]))
    }

    /// `None` if the graph finds too few: then the exact scan answers.
    fn search_graph(
        &self,
        section: &OwnedBytes,
        query: &Query,
        n: usize,
        deletes: &Deletes,
    ) -> Result<Option<Vec<(u32, f32)>>, SegmentError> {
        // The view goes with the file that it is of.
        let generation = self.section.current();
        let slot = &generation.opened.graph;
        let graph = match slot.get() {
            Some(graph) => graph,
            None => {
                let graph = Graph::view(section.clone(), self.blocks.len(), self.dimensions)
                    .map_err(|e| self.damaged(e))?;
                slot.get_or_init(|| graph)
            }
        };
        let live = |row: u32| {
            self.blocks
                .get(row as usize)
                .is_some_and(|block| !deletes.contains(*block))
        };
        let wanted = n.saturating_mul(OVERSAMPLE).min(self.blocks.len());
        let rows = match graph.search(&query.to_row(), wanted, live) {
            Ok(rows) if rows.len() >= n => rows,
            Ok(_) => return Ok(None),
            Err(e) => {
                tracing::debug!(segment = self.object, error = e, "graph search failed");
                return Ok(None);
            }
        };
        let mut best = Best::new(n);
        for row in rows {
            if let Some(block) = self.blocks.get(row as usize)
                && let Some(stored) = self.row(*block)?
            {
                best.offer(query.score(&stored), *block, |b| !deletes.contains(b));
            }
        }
        Ok(Some(best.sorted()))
    }
}

/// The best n of a stream of scores: gathers up to twice as many, then cuts to n, so a score costs
/// one comparison once the floor has risen.
struct Best {
    n: usize,
    kept: Vec<(u32, f32)>,
    /// Scores below cannot be among the best any more.
    floor: f32,
}

/// Better first; ties by block, so that the cut is one whatever the order of arrival.
fn better(a: &(u32, f32), b: &(u32, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

impl Best {
    fn new(n: usize) -> Best {
        Best {
            n,
            kept: Vec::with_capacity(2 * n.min(1024)),
            floor: f32::NEG_INFINITY,
        }
    }

    fn offer(&mut self, score: f32, block: u32, live: impl Fn(u32) -> bool) {
        // Equal scores go on: from the graph, rows come in any order.
        if score < self.floor || score.is_nan() || !live(block) {
            return;
        }
        self.kept.push((block, score));
        if self.kept.len() >= 2 * self.n {
            self.kept.select_nth_unstable_by(self.n - 1, better);
            self.kept.truncate(self.n);
            self.floor = self.kept[self.n - 1].1;
        }
    }

    fn sorted(mut self) -> Vec<(u32, f32)> {
        self.kept.sort_unstable_by(better);
        self.kept.truncate(self.n);
        self.kept
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    proptest::proptest! {
        #[test]
        fn best_is_a_stable_sort(scores in proptest::collection::vec(-3i8..3, 0..60), n in 1usize..10) {
            let mut best = Best::new(n);
            for (block, score) in scores.iter().enumerate().rev() {
                best.offer(f32::from(*score), block as u32, |b| b % 5 != 4);
            }
            let mut expected: Vec<(u32, f32)> = (0u32..)
                .zip(&scores)
                .filter(|(b, _)| b % 5 != 4)
                .map(|(b, s)| (b, f32::from(*s)))
                .collect();
            expected.sort_by(|a, b| b.1.total_cmp(&a.1));
            expected.truncate(n);
            proptest::prop_assert_eq!(best.sorted(), expected);
        }
    }

    #[test]
    fn bad_vectors_are_refused() {
        let mut writer = VectorWriter::new(2);
        assert!(writer.add(&[f16::ONE]).is_err());
        assert!(writer.add(&[f16::ONE, f16::NAN]).is_err());
        assert!(writer.add(&[f16::ONE, f16::ZERO]).is_ok());
    }
}
