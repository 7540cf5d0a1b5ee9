//! Tables that are like a given one.
//!
//! A table's side of a kind (schema, rows, context) is the mean of its blocks' vectors of that
//! kind, of unit length. Another table is as near to it, in that kind, as the best of its own
//! blocks' cosines. What columns there are and what they mean says most, so the schema comes first
//! and the other kinds second, with the weight that agreement of a second kind has everywhere
//! (`scoring.rs`):
//!
//! `similarity = (schema + w·max(rows, context)) / (1 + w)`, w = 0.3
//!
//! Kinds that either of the two lacks do not take part: where only the schema or only the others
//! can be compared, that is the similarity. So a copy has 1, and tables that merely share a README
//! come after those that share their columns. From A to B it may differ a little from B to A.
//!
//! Candidates are the tables of the blocks that are nearest to each of the sides, in all segments,
//! as many as for a question; the formula is computed exactly for each.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use limn_segment::{BlockKind, SegmentError, TableKey};
use serde::Serialize;

use crate::corpus::{Corpus, Table};
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::scoring::Formula;
use crate::searcher::Searcher;
use crate::selection::{Filter, Selection};
use crate::semantic::nearest;

/// The kinds with vectors; the first one leads.
const KINDS: [BlockKind; 3] = [BlockKind::Schema, BlockKind::Rows, BlockKind::Context];

/// A table that is like another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Similar {
    /// Which table it is.
    pub key: TableKey,
    /// The URL of its file or folder.
    pub location: String,
    /// How like it is, by the formula of [`Searcher::similar`]: 1 for a copy, about 0 for a table
    /// that has nothing to do with it, never outside -1 to 1.
    pub similarity: f32,
    /// Whether it is a copy: a table of equal content.
    pub copy: bool,
    /// The names of further copies in its lake, which it stands for.
    pub copies: Vec<String>,
}

impl Searcher {
    /// The `k` tables most similar to a table, its copies first, then best first, ties in the order
    /// of keys; never the table itself. Tables of equal content are one. Fewer where there are no
    /// more with vectors of a common kind. A selection restricts the candidates as it does for
    /// questions, and need not hold the table.
    ///
    /// `similarity = (schema + 0.3·max(rows, context)) / 1.3`, each the best cosine of the other
    /// table's blocks of that kind to the mean of the table's own; a kind that one of them lacks
    /// does not take part.
    ///
    /// # Errors
    /// Where there is no such table, k is 0, the selection is another searcher's, a segment cannot
    /// be read, or the time `until` which an answer is wanted is up.
    pub fn similar(
        &self,
        table: &TableKey,
        k: usize,
        selection: Option<&Selection>,
        until: Option<Instant>,
    ) -> Result<Vec<Similar>, RetrievalError> {
        if k == 0 {
            return Err(RetrievalError::Query {
                reason: "k must be at least 1".to_owned(),
            });
        }
        let corpus = self.corpus();
        let Some(own) = corpus.number_of(table) else {
            return Err(RetrievalError::NoSuchTable {
                table: table.clone(),
            });
        };
        let filter = Filter::new(corpus, selection, None)?;
        let sides = sides(corpus, &corpus.tables[own as usize])?;
        let allows = |table| table != own && filter.as_ref().is_none_or(|it| it.allows(table));
        let copy = corpus.copies.first_of(own, allows);
        let mut scored: BTreeMap<u32, f32> = BTreeMap::new();
        for candidate in candidates(corpus, own, &sides, k, filter.as_ref(), Deadline(until))? {
            if let Some(similarity) = similarity(corpus, &sides, candidate)? {
                let first = corpus.copies.first_of(candidate, allows);
                let best = scored.entry(first).or_insert(similarity);
                *best = best.max(similarity);
            }
        }
        let mut scored: Vec<(u32, f32)> = scored.into_iter().collect();
        scored.sort_unstable_by(|a, b| {
            let later = (a.0 != copy).cmp(&(b.0 != copy));
            later.then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0))
        });
        let best = scored.into_iter().take(k).map(|(number, similarity)| {
            let table = &corpus.tables[number as usize];
            Similar {
                key: corpus.key(table).to_key(),
                location: corpus.location(table).to_owned(),
                // Stored vectors have unit length up to the rounding of their 16 bits.
                similarity: similarity.clamp(-1.0, 1.0),
                copy: number == copy,
                copies: self.copies(number, allows),
            }
        });
        Ok(best.collect())
    }
}

/// A table's mean vectors by kind, in the order of [`KINDS`].
type Sides = [Option<Vec<f32>>; KINDS.len()];

fn sides(corpus: &Corpus, table: &Table) -> Result<Sides, SegmentError> {
    let reader = &corpus.segment_of(table).reader;
    let mut sides = Sides::default();
    for (side, kind) in sides.iter_mut().zip(KINDS) {
        let mut sum = vec![0.0f32; reader.dimensions()];
        for block in corpus.blocks_of(table) {
            if reader.kind(block) != kind {
                continue;
            }
            for (sum, x) in sum
                .iter_mut()
                .zip(reader.vector(block)?.unwrap_or_default())
            {
                *sum += x.to_f32();
            }
        }
        let length = sum.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 0.0 && length.is_finite() {
            *side = Some(sum.into_iter().map(|x| x / length).collect());
        }
    }
    Ok(sides)
}

/// The tables of the blocks nearest to any side, in order, without the table itself; more are drawn
/// until there are `k`.
fn candidates(
    corpus: &Corpus,
    own: u32,
    sides: &Sides,
    k: usize,
    filter: Option<&Filter>,
    deadline: Deadline,
) -> Result<BTreeSet<u32>, RetrievalError> {
    let own_blocks = corpus.range_of(&corpus.tables[own as usize]).len();
    let mut size = Formula::LIMN.depth(k, None);
    loop {
        let wanted = size.saturating_mul(Formula::LIMN.blocks_per_table);
        let wanted = wanted.saturating_add(own_blocks);
        let mut found = BTreeSet::new();
        let mut exhausted = true;
        for side in sides.iter().flatten() {
            let near = nearest((corpus, None), side, wanted, filter, deadline)?;
            exhausted &= near.len() < wanted;
            found.extend(near.iter().map(|block| block.table));
        }
        found.remove(&own);
        if exhausted || corpus.copies.count(found.iter().copied()) >= k {
            return Ok(found);
        }
        size = size.saturating_mul(4);
    }
}

/// The module's formula; `None` where the tables have no kind in common.
fn similarity(corpus: &Corpus, sides: &Sides, number: u32) -> Result<Option<f32>, SegmentError> {
    let table = &corpus.tables[number as usize];
    let reader = &corpus.segment_of(table).reader;
    let mut kinds = [None::<f32>; KINDS.len()];
    for block in corpus.blocks_of(table) {
        let kind = reader.kind(block);
        let Some(at) = KINDS.iter().position(|known| *known == kind) else {
            continue;
        };
        if let Some(side) = &sides[at]
            && let Some(cosine) = reader.similarity(side, block)?
        {
            kinds[at] = Some(kinds[at].map_or(cosine, |best| best.max(cosine)));
        }
    }
    Ok(combine(kinds))
}

fn combine([schema, rows, context]: [Option<f32>; KINDS.len()]) -> Option<f32> {
    let weight = Formula::LIMN.second_kind;
    let other = match (rows, context) {
        (Some(rows), Some(context)) => Some(rows.max(context)),
        (rows, context) => rows.or(context),
    };
    match (schema, other) {
        (Some(schema), Some(other)) => Some((schema + weight * other) / (1.0 + weight)),
        (schema, other) => schema.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_leads_and_what_is_missing_takes_no_part() {
        assert_eq!(combine([Some(0.5), None, None]), Some(0.5));
        assert_eq!(combine([None, Some(0.5), Some(0.25)]), Some(0.5));
        assert_eq!(combine([None, None, None]), None);
        let like = |kinds| combine(kinds).unwrap_or_default();
        assert!((like([Some(0.9), Some(0.1), Some(0.4)]) - (0.9 + 0.3 * 0.4) / 1.3).abs() < 1e-6);
        assert!(like([Some(0.9), Some(0.1), None]) > like([Some(0.5), Some(1.0), None]));
    }
}
