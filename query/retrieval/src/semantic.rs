//! The semantic side: nearest blocks over all segments, and a table's cosine.

use std::cmp::Ordering;

use limn_segment::{BlockKind, Deletes, SegmentError, is_under};

use crate::corpus::{Corpus, DEAD, Table};
use crate::scoring::{Formula, combine_kinds};

/// A block found by its vector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NearBlock {
    pub(crate) table: u32,
    pub(crate) segment: usize,
    pub(crate) block: u32,
    pub(crate) cosine: f32,
}

/// The tables a question may find, where it names a prefix.
pub(crate) struct Filter {
    /// By table number.
    pub(crate) allowed: Vec<bool>,
    /// By segment: blocks that are dead or belong to other tables.
    hidden: Vec<Deletes>,
}

impl Filter {
    /// Only tables whose name is `prefix` or lies below it.
    pub(crate) fn new(corpus: &Corpus, prefix: &str) -> Filter {
        let mut hidden: Vec<Deletes> = corpus
            .segments
            .iter()
            .map(|segment| segment.deletes.clone())
            .collect();
        let allowed = corpus
            .tables
            .iter()
            .map(|table| {
                let allowed = is_under(&table.key.name, prefix);
                if !allowed {
                    hidden[table.segment].delete_table(table.first_block, table.blocks);
                }
                allowed
            })
            .collect();
        Filter { allowed, hidden }
    }

    pub(crate) fn count(&self) -> usize {
        self.allowed.iter().filter(|allowed| **allowed).count()
    }
}

/// The `n` blocks nearest to `vector` (of unit length), best first, ties by table and block.
pub(crate) fn nearest(
    corpus: &Corpus,
    vector: &[f32],
    n: usize,
    filter: Option<&Filter>,
) -> Result<Vec<NearBlock>, SegmentError> {
    let mut found = Vec::new();
    // Of `n` blocks that were found, the least: what is below it is not among the nearest.
    let mut least = f32::NEG_INFINITY;
    // The largest first: after it the small ones that nights leave cost little.
    let mut order: Vec<usize> = (0..corpus.segments.len()).collect();
    order.sort_by_key(|number| std::cmp::Reverse(corpus.segments[*number].table_of.len()));
    for number in order {
        let segment = &corpus.segments[number];
        let hidden = filter.map_or(&segment.deletes, |filter| &filter.hidden[number]);
        for (block, cosine) in segment.reader.nearest_above(vector, n, least, hidden)? {
            let table = segment.table_of[block as usize];
            if table != DEAD {
                found.push(NearBlock {
                    table,
                    segment: number,
                    block,
                    cosine,
                });
            }
        }
        if n > 0 && found.len() >= n {
            found.select_nth_unstable_by(n - 1, nearer);
            found.truncate(n);
            least = found[n - 1].cosine;
        }
    }
    found.sort_unstable_by(nearer);
    Ok(found)
}

/// Nearer first; ties by table and block.
fn nearer(a: &NearBlock, b: &NearBlock) -> Ordering {
    b.cosine
        .total_cmp(&a.cosine)
        .then(a.table.cmp(&b.table))
        .then(a.block.cmp(&b.block))
}

/// A table's semantic score: its kinds' best cosines, combined. `None` where it has no vectors.
pub(crate) fn table_score(
    corpus: &Corpus,
    vector: &[f32],
    table: &Table,
) -> Result<Option<f32>, SegmentError> {
    let mut kinds = [None::<f32>; BlockKind::ALL.len()];
    let reader = &corpus.segments[table.segment].reader;
    for block in corpus.blocks_of(table) {
        let kind = reader.kind(block);
        if kind == BlockKind::Cells {
            continue;
        }
        if let Some(cosine) = reader.similarity(vector, block)? {
            let best = &mut kinds[kind as usize];
            *best = Some(best.map_or(cosine, |best| best.max(cosine)));
        }
    }
    Ok(combine_kinds(&kinds, Formula::LIMN.second_kind))
}
