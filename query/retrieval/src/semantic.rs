//! The semantic side: nearest blocks over all segments, and a table's cosine.

use std::cmp::Ordering;

use limn_segment::{BlockKind, Field, SegmentError, SegmentReader};
use rayon::prelude::*;

use crate::corpus::{Corpus, DEAD};
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::scoring::{Formula, combine_kinds};
use crate::selection::Filter;
use crate::shared::{Shared, long_texts};

/// A block found by its vector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NearBlock {
    pub(crate) table: u32,
    pub(crate) segment: usize,
    pub(crate) block: u32,
    pub(crate) cosine: f32,
}

/// Where a filter leaves this small a share of a segment's vectors, each is scored by itself: the
/// others cost nothing then, and no list of what is hidden is made.
const FEW: usize = 16;

/// The `n` blocks nearest to `vector` (of unit length), best first, ties by table and block; those
/// of texts that many tables have are left out.
pub(crate) fn nearest(
    (corpus, shared): (&Corpus, Option<&Shared>),
    vector: &[f32],
    n: usize,
    filter: Option<&Filter>,
    deadline: Deadline,
) -> Result<Vec<NearBlock>, RetrievalError> {
    let mut found = Vec::new();
    // Of `n` blocks that were found, the least: what is below it is not among the nearest.
    let mut least = f32::NEG_INFINITY;
    // The largest first: after it the small ones that nights leave cost little.
    let mut order: Vec<usize> = (0..corpus.segments.len()).collect();
    order.sort_by_key(|number| std::cmp::Reverse(corpus.segments[*number].table_of.len()));
    let mut rest = order.as_slice();
    while let Some((number, others)) = rest.split_first() {
        deadline.check()?;
        let near = search_segment((corpus, shared), *number, vector, n, least, filter)?;
        least = keep_nearest(&mut found, near, n).unwrap_or(least);
        rest = others;
        let left: usize = others
            .iter()
            .map(|it| corpus.segments[*it].table_of.len())
            .sum();
        if others.len() > 1 && corpus.is_shared(left) {
            break;
        }
    }
    // Of the others each begins with what the largest has found.
    let searched = rest.par_iter().map(|number| {
        deadline.check()?;
        Ok(search_segment(
            (corpus, shared),
            *number,
            vector,
            n,
            least,
            filter,
        )?)
    });
    for near in searched.collect::<Result<Vec<_>, RetrievalError>>()? {
        keep_nearest(&mut found, near, n);
    }
    found.sort_unstable_by(nearer);
    Ok(found)
}

/// Adds blocks to the `n` nearest; the cosine below which nothing is among them any more, if there
/// is one.
fn keep_nearest(found: &mut Vec<NearBlock>, near: Vec<NearBlock>, n: usize) -> Option<f32> {
    found.extend(near);
    if n == 0 || found.len() < n {
        return None;
    }
    found.select_nth_unstable_by(n - 1, nearer);
    found.truncate(n);
    Some(found[n - 1].cosine)
}

/// The `n` blocks of a segment that are nearest, those below `least` perhaps left out.
fn search_segment(
    (corpus, shared): (&Corpus, Option<&Shared>),
    number: usize,
    vector: &[f32],
    n: usize,
    least: f32,
    filter: Option<&Filter>,
) -> Result<Vec<NearBlock>, SegmentError> {
    let segment = &corpus.segments[number];
    let mut found = Vec::new();
    let mut add = |block: u32, cosine: f32| {
        let table = segment.table_of[block as usize];
        if table != DEAD {
            found.push(NearBlock {
                table,
                segment: number,
                block,
                cosine,
            });
        }
    };
    let Some(filter) = filter else {
        let hidden = shared.map_or(&*segment.hidden, |it| it.hidden(number));
        let near = segment.reader.nearest_above(vector, n, least, hidden)?;
        near.into_iter()
            .for_each(|(block, cosine)| add(block, cosine));
        return Ok(found);
    };
    let shown = filter.blocks(number);
    let count: usize = shown.iter().map(ExactSizeIterator::len).sum();
    if count <= segment.reader.vector_count() / FEW {
        for block in shown.iter().cloned().flatten() {
            let is_shared = shared.is_some_and(|it| it.has(number, block));
            if !is_shared
                && let Some(cosine) = segment.reader.similarity(vector, block)?
                && cosine >= least
            {
                add(block, cosine);
            }
        }
        return Ok(found);
    }
    let mut hidden = filter.hidden(number, &shown);
    if let Some(shared) = shared.filter(|it| it.is_any_in(number)) {
        hidden.to_mut().0 |= &shared.hidden(number).0;
    }
    let near = segment.reader.nearest_above(vector, n, least, &hidden)?;
    near.into_iter()
        .for_each(|(block, cosine)| add(block, cosine));
    Ok(found)
}

/// Nearer first; ties by table and block.
fn nearer(a: &NearBlock, b: &NearBlock) -> Ordering {
    b.cosine
        .total_cmp(&a.cosine)
        .then(a.table.cmp(&b.table))
        .then(a.block.cmp(&b.block))
}

/// A table's semantic score: its kinds' best cosines, combined, without those of texts that many
/// tables have. `None` where it has no vectors.
pub(crate) fn table_score(
    (corpus, shared): (&Corpus, Option<&Shared>),
    vector: &[f32],
    table: u32,
) -> Result<Option<f32>, SegmentError> {
    let kinds = kind_cosines((corpus, shared), vector, table)?;
    Ok(combine_kinds(&kinds, Formula::LIMN.second_kind))
}

/// The best cosine of each kind of a table's blocks, in the order of [`BlockKind::ALL`]; `None` of
/// kinds that it has no vector of.
pub(crate) fn kind_cosines(
    (corpus, shared): (&Corpus, Option<&Shared>),
    vector: &[f32],
    table: u32,
) -> Result<[Option<f32>; BlockKind::ALL.len()], SegmentError> {
    let mut kinds = [None::<f32>; BlockKind::ALL.len()];
    let is_long = long_texts(corpus, shared).get(table as usize) == Some(&true);
    let table = &corpus.tables[table as usize];
    let segment = corpus.segment_of(table);
    let number = corpus.segment_number(table);
    let (reader, blocks) = (&segment.reader, corpus.range_of(table));
    let is_shared = |block| shared.is_some_and(|it| it.has(number, block));
    reader.similarities(vector, blocks, |block, cosine| {
        let kind = reader.kind(block);
        let is_counted = kind != BlockKind::Cells && segment.table_of[block as usize] != DEAD;
        if is_counted && !is_shared(block) {
            let counts_less = || is_of_folder(reader, block) || is_long;
            let cosine = match kind == BlockKind::Context && counts_less() {
                true => cosine * Formula::LIMN.folder,
                false => cosine,
            };
            let best = &mut kinds[kind as usize];
            *best = Some(best.map_or(cosine, |best| best.max(cosine)));
        }
    })?;
    Ok(kinds)
}

/// Whether a context is about a folder of tables: its words are in no field of texts about the
/// table.
fn is_of_folder(reader: &SegmentReader, block: u32) -> bool {
    reader.field_lengths(block)[Field::Contexts.index()] == 0
}
