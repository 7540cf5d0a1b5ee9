//! What searches read of a segment: postings, values and vectors.

use std::ops::Range;

use half::f16;

use super::SegmentReader;
use crate::deletes::Deletes;
use crate::error::SegmentError;
use crate::near::Near;
use crate::short::ShortTerms;
use crate::table::Field;
use crate::values::TableValues;

impl SegmentReader {
    /// Calls `visit` with each term of a field, and for each block that has it how often, as
    /// `(term, block, times)`: terms in order, blocks of a term in order.
    pub(crate) fn all_postings(
        &self,
        field: Field,
        visit: &mut dyn FnMut(&str, u32, u32),
    ) -> Result<(), SegmentError> {
        self.lexical.all_postings(field, visit)
    }

    /// As [`all_postings`](Self::all_postings), of [whole terms](crate::whole).
    pub(crate) fn all_whole(&self, visit: &mut dyn FnMut(&str, u32)) -> Result<(), SegmentError> {
        self.lexical.all_whole(visit)
    }

    /// Calls `visit` with each block that has the (analyzed) term in the field and how often, in
    /// block order; deleted blocks included.
    ///
    /// # Errors
    /// Those of reading the segment; some blocks may have been visited by then.
    pub fn postings(
        &self,
        field: Field,
        term: &str,
        visit: &mut dyn FnMut(u32, u32),
    ) -> Result<(), SegmentError> {
        self.posting_runs(field, term, &mut |blocks, times| {
            for (block, times) in blocks.iter().zip(times) {
                visit(*block, *times);
            }
        })
    }

    /// As [`SegmentReader::postings`], many at a time: `visit` is called with blocks and, in a
    /// slice as long, how often each has the term.
    ///
    /// # Errors
    /// As [`SegmentReader::postings`].
    pub fn posting_runs(
        &self,
        field: Field,
        term: &str,
        visit: &mut dyn FnMut(&[u32], &[u32]),
    ) -> Result<(), SegmentError> {
        self.lexical.postings(field, term, visit)
    }

    /// Calls `visit` with blocks that have one of some [whole terms](crate::whole), and with the
    /// place of the term among them: the blocks of a term in order, term by term. Segments of
    /// format 1 have none.
    ///
    /// # Errors
    /// As [`SegmentReader::postings`].
    pub fn whole(
        &self,
        terms: &[String],
        visit: &mut dyn FnMut(usize, &[u32]),
    ) -> Result<(), SegmentError> {
        self.lexical.whole(terms, visit)
    }

    /// Calls `visit` with each table, by its number, and column that hold a value with this
    /// [hash](limn_profile::value_key::hash), of those whose hashes are kept, in order.
    ///
    /// # Errors
    /// Those of reading the segment.
    pub fn holding_value(
        &self,
        hash: u64,
        visit: &mut dyn FnMut(u32, u32),
    ) -> Result<(), SegmentError> {
        let values = self.values.as_ref();
        let mut visit = |_, table, column| visit(table, column);
        values.map_or(Ok(()), |values| values.holding(&[hash], &mut visit))
    }

    /// As [`SegmentReader::holding_value`], of many hashes in ascending order, with the hash that
    /// is held: each part of the segment is read once at most.
    ///
    /// # Errors
    /// As [`SegmentReader::holding_value`].
    pub fn holding_values(
        &self,
        hashes: &[u64],
        visit: &mut dyn FnMut(u64, u32, u32),
    ) -> Result<(), SegmentError> {
        let values = self.values.as_ref();
        values.map_or(Ok(()), |values| values.holding(hashes, visit))
    }

    /// The name of a column that [`SegmentReader::holding_value`] gave.
    ///
    /// # Errors
    /// As [`SegmentReader::holding_value`].
    pub fn value_column(&self, table: u32, column: u32) -> Result<Option<String>, SegmentError> {
        let values = self.values.as_ref();
        values.map_or(Ok(None), |values| values.column_name(table, column))
    }

    /// The hashes of the values of the table of this number.
    ///
    /// # Errors
    /// As [`SegmentReader::holding_value`].
    pub fn table_values(&self, table: u32) -> Result<TableValues, SegmentError> {
        let values = self.values.as_ref();
        values.map_or(Ok(TableValues::default()), |values| values.of_table(table))
    }

    /// Calls `visit` with each term of a field that is [near](Near) a word, in order: of deleted
    /// blocks, too.
    ///
    /// # Errors
    /// As [`SegmentReader::postings`].
    pub fn near(
        &self,
        field: Field,
        near: &Near,
        visit: &mut dyn FnMut(&str),
    ) -> Result<(), SegmentError> {
        self.lexical.near(field, near, visit)
    }

    /// Calls `visit` with each term of a field that a word is [written short](ShortTerms) as, in
    /// order: of deleted blocks, too.
    ///
    /// # Errors
    /// As [`SegmentReader::postings`].
    pub fn short(
        &self,
        field: Field,
        short: &ShortTerms,
        visit: &mut dyn FnMut(&str),
    ) -> Result<(), SegmentError> {
        self.lexical.short(field, short, visit)
    }

    /// The `n` live blocks nearest to a unit-length query: blocks and cosines, best first, ties by
    /// block.
    ///
    /// Exact up to [`EXACT_LIMIT`](crate::EXACT_LIMIT) vectors, else by a graph that may miss some.
    /// A score is the inner product of the query and the stored f16 vector, computed in f32 in one
    /// fixed order: the same on every machine and in every segment.
    ///
    /// # Errors
    /// Those of reading the segment; a query of another length.
    pub fn nearest(
        &self,
        query: &[f32],
        n: usize,
        deletes: &Deletes,
    ) -> Result<Vec<(u32, f32)>, SegmentError> {
        self.nearest_above(query, n, f32::NEG_INFINITY, deletes)
    }

    /// As [`SegmentReader::nearest`], for callers that have `n` blocks that score `least` or more
    /// already: blocks below it may be left out.
    ///
    /// # Errors
    /// As [`SegmentReader::nearest`].
    pub fn nearest_above(
        &self,
        query: &[f32],
        n: usize,
        least: f32,
        deletes: &Deletes,
    ) -> Result<Vec<(u32, f32)>, SegmentError> {
        self.vectors.nearest(query, n, least, deletes)
    }

    /// The score that [`SegmentReader::nearest`] gives a block; `None` if it has no vector.
    ///
    /// # Errors
    /// As [`SegmentReader::nearest`].
    pub fn similarity(&self, query: &[f32], block: u32) -> Result<Option<f32>, SegmentError> {
        self.vectors.similarity(query, block)
    }

    /// Calls `visit` with each of some consecutive blocks that has a vector, in their order, and
    /// with its score as [`SegmentReader::similarity`] computes it. One read.
    ///
    /// # Errors
    /// As [`SegmentReader::nearest`].
    pub fn similarities(
        &self,
        query: &[f32],
        blocks: Range<u32>,
        visit: impl FnMut(u32, f32),
    ) -> Result<(), SegmentError> {
        self.vectors.similarities(query, blocks, visit)
    }

    /// The stored vector of a block; `None` if it has none.
    ///
    /// # Errors
    /// Those of reading the segment.
    pub fn vector(&self, block: u32) -> Result<Option<Vec<f16>>, SegmentError> {
        Ok(self.vectors.row(block)?.map(|row| {
            row.chunks_exact(2)
                .map(|b| f16::from_le_bytes([b[0], b[1]]))
                .collect()
        }))
    }
}
