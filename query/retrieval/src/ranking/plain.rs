//! Plain mode's ranking: PNEUMA's hybrid, which ranks blocks, and tables by their best one.

use std::collections::HashSet;

use tracing::info_span;

use super::{Outcome, Ranked, Request, combine};
use crate::TRACE;
use crate::corpus::{Corpus, DEAD};
use crate::error::RetrievalError;
use crate::scoring::Formula;
use crate::scratch::Scratch;
use crate::semantic::NearBlock;

/// A block among plain mode's candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    table: u32,
    block: u32,
    segment: usize,
}

/// Ranks tables by their best block, `scratch.scores` holding the blocks' lexical scores; deepens
/// until k distinct tables are found.
pub(crate) fn rank_plain(
    request: &Request,
    scratch: &Scratch,
    near: Vec<NearBlock>,
) -> Result<Outcome, RetrievalError> {
    let _span = info_span!(target: TRACE, "semantic").entered();
    let corpus = request.corpus;
    let mut matches: Vec<(Place, f32)> = Vec::with_capacity(scratch.scores.touched().len());
    for &number in scratch.scores.touched() {
        if let Some(place) = place_of(corpus, number)
            && request.allows(place.table)
        {
            matches.push((place, scratch.scores.get(number)));
        }
    }
    matches.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let mut depth = Formula::PLAIN.depth(request.k, request.candidates);
    let mut first = Some(near);
    loop {
        let near = match first.take() {
            Some(near) => near,
            None => request.nearest(&Formula::PLAIN, depth)?,
        };
        let exhausted = near.len() < depth && matches.len() <= depth;
        let mut union: Vec<Place> = near
            .iter()
            .map(|near| Place {
                table: near.table,
                block: near.block,
                segment: near.segment,
            })
            .chain(matches.iter().take(depth).map(|&(place, _)| place))
            .collect();
        union.sort_unstable();
        union.dedup();
        let mut sides = Vec::with_capacity(union.len());
        for (at, place) in union.iter().enumerate() {
            let segment = &corpus.segments[place.segment];
            let number = (segment.base + place.block as usize) as u32;
            let cosine = segment.reader.similarity(request.vector, place.block)?;
            sides.push((at as u32, scratch.scores.get(number), cosine));
        }
        let mut seen = HashSet::new();
        let mut ranked: Vec<Ranked> = combine(request.alpha, &Formula::PLAIN, &sides)
            .into_iter()
            .filter_map(|block| {
                let table = request.first_of(union[block.table as usize].table);
                seen.insert(table).then_some(Ranked { table, ..block })
            })
            .collect();
        if ranked.len() < request.k && !exhausted {
            depth = depth.saturating_mul(2);
            continue;
        }
        ranked.truncate(request.keep);
        return Ok(Outcome {
            ranked,
            best_cosine: near.first().map(|block| block.cosine),
            any_word: !matches.is_empty(),
        });
    }
}

/// Where a block is, by its number among all blocks; `None` for a dead one.
fn place_of(corpus: &Corpus, number: u32) -> Option<Place> {
    let number = number as usize;
    let segment = corpus
        .segments
        .partition_point(|segment| segment.base <= number)
        .checked_sub(1)?;
    let block = number - corpus.segments[segment].base;
    let table = *corpus.segments[segment].table_of.get(block)?;
    (table != DEAD).then_some(Place {
        table,
        block: block as u32,
        segment,
    })
}
