//! The semantic side: vectors as f16, searched exactly while they are few.
//!
//! One section: `rows: u32, bytes per row: u32`, the matrix, and, in large segments, a usearch
//! graph (`graph.rs`). The section begins 8 bytes before a multiple of 64, so that rows of 384
//! dimensions fill whole cache lines. Row numbers count the blocks that have a vector, in block
//! order.
//!
//! Exact search is one pass over the matrix, bound by memory. A reader that is asked again makes a
//! coarse copy (`coarse/`) that halves what a pass reads and changes no result.

use std::ops::Range;
use std::sync::OnceLock;

use half::f16;
use tantivy::directory::OwnedBytes;

use crate::best::Best;
use crate::coarse::{Coarse, Exact, Making};
use crate::deletes::{DeadBlocks, Deletes};
use crate::directory::SectionFile;
use crate::error::SegmentError;
use crate::format_error::FormatError;
use crate::graph::{self, Graph, LINKS_A_STEP, MATRIX_HEADER};
use crate::kernel::{Query, fetch_ahead};
use crate::spill::Numbers;

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
    pub(crate) fn add(&mut self, vector: &[f16]) -> Result<(), FormatError> {
        if vector.len() != self.dimensions {
            return Err(FormatError::Dimensions {
                found: vector.len(),
                expected: self.dimensions,
            });
        }
        if !vector.iter().all(|x| x.is_finite()) {
            return Err("a vector holds a number that is not finite".into());
        }
        self.matrix
            .extend(vector.iter().flat_map(|x| x.to_le_bytes()));
        Ok(())
    }

    /// The section's bytes, and whether they hold a graph.
    pub(crate) fn finish(self, graph_above: usize) -> Result<(Vec<u8>, bool), FormatError> {
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

/// Rows by which it is estimated how many live.
const SAMPLED: usize = 1024;

/// Searches the vectors of a segment.
pub(crate) struct VectorReader {
    object: String,
    section: SectionFile,
    dimensions: usize,
    /// Block of each row.
    blocks: Numbers,
    /// Whether the section goes on with a graph.
    has_graph: bool,
    graph: OnceLock<Graph>,
    making: Making,
}

impl VectorReader {
    /// Touches no byte of the section.
    pub(crate) fn new(
        object: &str,
        section: SectionFile,
        dimensions: usize,
        blocks: Vec<u32>,
        has_graph: bool,
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
        if empty_rows || length < matrix || (!has_graph && length != matrix) {
            return Err(wrong());
        }
        Ok(VectorReader {
            object: object.to_owned(),
            section,
            dimensions,
            blocks: Numbers::of(&blocks),
            has_graph,
            graph: OnceLock::new(),
            making: Making::default(),
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
        let row = self.blocks.first_from(block);
        if self.blocks.get(row) != Some(block) {
            return Ok(None);
        }
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

    /// Gives the score of each of some consecutive blocks that has a vector, in their order. One
    /// read.
    pub(crate) fn similarities(
        &self,
        query: &[f32],
        blocks: Range<u32>,
        mut visit: impl FnMut(u32, f32),
    ) -> Result<(), SegmentError> {
        self.check_query(query)?;
        let first = self.blocks.first_from(blocks.start);
        let most = blocks.len().min(self.blocks.len() - first);
        let with_vector = self.blocks.iter(first..first + most);
        let with_vector = with_vector.take_while(|block| *block < blocks.end);
        let (exact, start) = (
            Query::new(query),
            MATRIX_HEADER + first * self.dimensions * 2,
        );
        let length = with_vector.clone().count() * exact.row_bytes();
        let rows = self.section.read(start..start + length)?;
        for (block, row) in with_vector.zip(rows.chunks_exact(exact.row_bytes().max(1))) {
            visit(block, exact.score(row));
        }
        Ok(())
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
        let dead = DeadBlocks::of(deletes);
        let live = |block| !dead.contains(block);
        if self.has_graph
            && let Some(found) = self.search_graph(&section, &exact, n, &dead)?
        {
            return Ok(found);
        }
        let mut best = Best::new(n, least);
        if let Some(coarse) = self.coarse(&section, n) {
            let is_live = |at: usize| live(self.blocks.at(at));
            let rows = Rows {
                matrix,
                query: &exact,
                blocks: &self.blocks,
            };
            if coarse.search(query, &mut best, is_live, &rows) {
                return Ok(best.sorted());
            }
        }
        let mut scores = [0.0f32; BATCH];
        for start in (0..self.blocks.len()).step_by(BATCH) {
            let blocks = self
                .blocks
                .iter(start..self.blocks.len().min(start + BATCH));
            let scores = &mut scores[..blocks.len()];
            exact.scores(&matrix[start * row..], scores);
            for (score, block) in scores.iter().zip(blocks) {
                best.offer(*score, block, live);
            }
        }
        Ok(best.sorted())
    }

    /// The coarse copy, where it pays and is there.
    fn coarse(&self, section: &OwnedBytes, n: usize) -> Option<&Coarse> {
        let rows = self.blocks.len();
        if rows / COARSE_FROM < n {
            return None;
        }
        let matrix = || section.slice(MATRIX_HEADER..MATRIX_HEADER + rows * self.dimensions * 2);
        self.making.get(matrix, self.dimensions)
    }

    /// `None` if the graph finds too few, or a walk would meet hardly anything that lives: then the
    /// exact scan answers.
    fn search_graph(
        &self,
        section: &[u8],
        query: &Query<'_>,
        n: usize,
        dead: &DeadBlocks,
    ) -> Result<Option<Vec<(u32, f32)>>, SegmentError> {
        let rows = self.blocks.len();
        let live = |row: u32| {
            let block = self.blocks.get(row as usize);
            block.is_some_and(|block| !dead.contains(block))
        };
        let wanted = n.saturating_mul(OVERSAMPLE).min(rows);
        // A walk looks at about so many rows for each that lives and is wanted. How many live is
        // estimated by some of them.
        let some = (0..rows as u32).step_by((rows / SAMPLED).max(1));
        let living = some.clone().filter(|row| live(*row)).count();
        let dead_beside = some.count() / living.max(1) - 1;
        let looked_at = wanted
            .saturating_mul(LINKS_A_STEP)
            .saturating_mul(dead_beside);
        if looked_at >= rows {
            return Ok(None);
        }
        let graph = match self.graph.get() {
            Some(graph) => graph,
            None => {
                let opened = Graph::open(section, rows, self.dimensions);
                let opened = opened.map_err(|e| self.damaged(e))?;
                self.graph.get_or_init(|| opened)
            }
        };
        let found = graph.search(section, query, wanted, live);
        if found.len() < n {
            return Ok(None);
        }
        let mut best = Best::new(n, f32::NEG_INFINITY);
        for (row, score) in found {
            if let Some(block) = self.blocks.get(row as usize) {
                best.offer(score, block, |_| true);
            }
        }
        Ok(Some(best.sorted()))
    }
}

/// The rows themselves, beside their coarse copy.
struct Rows<'a> {
    matrix: &'a [u8],
    query: &'a Query<'a>,
    blocks: &'a Numbers,
}

impl Rows<'_> {
    fn bytes(&self, row: usize) -> &[u8] {
        let size = self.query.row_bytes();
        &self.matrix[row * size..(row + 1) * size]
    }
}

impl Exact for Rows<'_> {
    fn look(&self, row: usize) -> (u32, f32) {
        (self.blocks.at(row), self.query.score(self.bytes(row)))
    }

    fn fetch_ahead(&self, row: usize) {
        fetch_ahead(self.bytes(row));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn bad_vectors_are_refused() {
        let mut writer = VectorWriter::new(2);
        assert!(writer.add(&[f16::ONE]).is_err());
        assert!(writer.add(&[f16::ONE, f16::NAN]).is_err());
        assert!(writer.add(&[f16::ONE, f16::ZERO]).is_ok());
    }
}
