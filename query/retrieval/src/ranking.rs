//! From both sides' scores to one ranking: candidates, cross-scoring, min-max, α (PNEUMA §5.1).
//!
//! Every cut is by a total order, score first, then the table's number, then the block, so a
//! ranking is one whatever the shards.

mod plain;

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, HashSet};

use tracing::info_span;

pub(crate) use self::plain::rank_plain;
use crate::TRACE;
use crate::corpus::Corpus;
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::learned::{Features, Weights};
use crate::lexical::Found;
use crate::scoring::{Formula, fuse, min_max};
use crate::scratch::Scratch;
use crate::selection::Filter;
use crate::semantic::{NearBlock, nearest, table_score};
use crate::shared::{Shared, shared};
use crate::shares::Terms;
use crate::wholes::Fit;

/// A table in rank order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) table: u32,
    pub(crate) score: f32,
    pub(crate) lexical: f32,
    pub(crate) semantic: f32,
    /// As [`Hit::cosine`](crate::Hit::cosine).
    pub(crate) cosine: Option<f32>,
    pub(crate) features: Features,
    /// Whether its score is 1 because the question names it.
    pub(crate) is_named: bool,
}

/// What both ways of ranking are given.
pub(crate) struct Request<'a> {
    pub(crate) corpus: &'a Corpus,
    pub(crate) vector: &'a [f32],
    pub(crate) filter: Option<&'a Filter<'a>>,
    pub(crate) k: usize,
    /// The most tables to return, at least `k`: what a judge may need. Nothing else depends on it.
    pub(crate) keep: usize,
    /// Candidates a side per table wanted, where the question says.
    pub(crate) candidates: Option<usize>,
    pub(crate) alpha: f32,
    /// What features count beside the formula.
    pub(crate) weights: Weights,
    /// Tables that the question names, with how well they fit.
    pub(crate) named: Vec<(u32, Fit)>,
    pub(crate) deadline: Deadline,
}

impl Request<'_> {
    /// What makes the scores of whole tables.
    pub(crate) fn terms(&self) -> Terms {
        let both = self.alpha > 0.0 && self.alpha < 1.0;
        Terms {
            alpha: self.alpha,
            weights: if both { self.weights } else { Weights::FORMULA },
        }
    }

    fn allows(&self, table: u32) -> bool {
        self.filter.is_none_or(|filter| filter.allows(table))
    }

    /// Of the tables that the question names, and that may be found, those that fit it best, at
    /// most `size`: by the scores of their words where they fit equally well.
    fn named(&self, size: usize, scratch: &Scratch) -> BTreeMap<u32, Fit> {
        let named = self.named.iter().filter(|(table, _)| self.allows(*table));
        let mut named: Vec<(u32, Fit)> = named.copied().collect();
        named.sort_unstable_by(|a, b| {
            let score = |table| scratch.scores.get(table);
            let by_words = score(b.0).total_cmp(&score(a.0));
            b.1.cmp(&a.1).then(by_words).then(a.0.cmp(&b.0))
        });
        named.truncate(size);
        named.into_iter().collect()
    }

    /// The table that stands in the answer for this one.
    fn first_of(&self, table: u32) -> u32 {
        let copies = &self.corpus.copies;
        copies.first_of(table, |copy| self.allows(copy))
    }

    /// The nearest blocks that a ranking by this formula looks at first.
    pub(crate) fn first_nearest(
        &self,
        formula: &Formula,
    ) -> Result<Vec<NearBlock>, RetrievalError> {
        self.nearest(formula, formula.depth(self.k, self.candidates))
    }

    /// The texts that many tables have; plain mode knows none.
    fn shared(&self, formula: &Formula) -> Result<Option<&Shared>, RetrievalError> {
        match formula.folder < 1.0 {
            true => shared(self.corpus),
            false => Ok(None),
        }
    }

    /// The nearest blocks among which a formula looks for so many candidates.
    fn nearest(&self, formula: &Formula, size: usize) -> Result<Vec<NearBlock>, RetrievalError> {
        let _span = info_span!(target: TRACE, "nearest").entered();
        let wanted = size.saturating_mul(formula.blocks_per_table);
        let searched = (self.corpus, self.shared(formula)?);
        nearest(searched, self.vector, wanted, self.filter, self.deadline)
    }
}

/// A ranking, and the best cosine of any block that may be found.
pub(crate) struct Outcome {
    pub(crate) ranked: Vec<Ranked>,
    pub(crate) best_cosine: Option<f32>,
    /// Whether any table that may be found has a word of the question.
    pub(crate) any_word: bool,
}

/// Where no table has a word of the question, the nearest are shown if the nearest text is at least
/// this close to it in meaning, and this many standard deviations (1/√dimensions) above what
/// unrelated directions have. all-MiniLM-L6-v2 gives texts that have nothing to do with each other
/// about 0 ± 0.1.
const NEAR: f32 = 0.28;
const NEAR_DEVIATIONS: f32 = 4.0;

impl Outcome {
    /// Whether either side found anything at all. `is_known`: a word of the question occurs
    /// somewhere; one that occurs in tables which a filter leaves out makes the question one for
    /// this lake.
    pub(crate) fn is_worth_showing(&self, dimensions: usize, is_known: bool) -> bool {
        let chance = 1.0 / (dimensions.max(1) as f32).sqrt();
        let enough = NEAR.max(NEAR_DEVIATIONS * chance);
        let is_close = self.best_cosine.is_some_and(|cosine| cosine >= enough);
        self.any_word || !self.ranked.is_empty() && (is_known || is_close)
    }
}

/// Ranks whole tables, `scratch.scores` holding their lexical scores; `near` are the blocks of
/// [`Request::first_nearest`].
pub(crate) fn rank_tables(
    request: &Request,
    (found, scratch): (&Found, &Scratch),
    near: Vec<NearBlock>,
) -> Result<Outcome, RetrievalError> {
    let _span = info_span!(target: TRACE, "semantic").entered();
    let formula = &Formula::LIMN;
    let matches = || {
        let touched = scratch.scores.touched().iter().copied();
        touched
            .filter(|table| request.allows(*table))
            .map(|table| (table, scratch.scores.get(table)))
    };
    let mut cosines: BTreeMap<u32, Option<f32>> = BTreeMap::new();
    let mut size = formula.depth(request.k, request.candidates);
    let mut first = Some(near);
    loop {
        let near = match first.take() {
            Some(near) => near,
            None => request.nearest(formula, size)?,
        };
        let mut close = Vec::new();
        let mut seen = HashSet::new();
        for block in &near {
            if seen.insert(block.table) {
                close.push((block.table, cosine_of(request, &mut cosines, block.table)?));
            }
        }
        let mut close: Vec<(u32, f32)> = close
            .into_iter()
            .filter_map(|(table, cosine)| Some((table, cosine?)))
            .collect();
        best(&mut close, size);
        let mut union: Vec<u32> = close.iter().map(|&(table, _)| table).collect();
        let (matching, match_count) = top(matches(), size);
        union.extend(matching.iter().map(|&(table, _)| table));
        let named = request.named(size, scratch);
        union.extend(named.keys());
        union.sort_unstable();
        union.dedup();

        let exhausted =
            near.len() < size.saturating_mul(formula.blocks_per_table) && match_count <= size;
        if !exhausted && request.corpus.copies.count(union.iter().copied()) < request.k {
            size = size.saturating_mul(4);
            continue;
        }
        let mut sides = Vec::with_capacity(union.len());
        for table in union {
            let cosine = cosine_of(request, &mut cosines, table)?;
            sides.push((table, scratch.scores.get(table), cosine));
        }
        let mut ranked = combine(request.alpha, formula, &sides);
        add_features(request, (found, scratch), &named, &mut ranked);
        put_first(&mut ranked, &named);
        fold(request, &mut ranked);
        ranked.truncate(request.keep);
        return Ok(Outcome {
            ranked,
            best_cosine: near.first().map(|block| block.cosine),
            any_word: match_count > 0 || !named.is_empty(),
        });
    }
}

/// Leaves of each table and its copies the first one's place, for the one that stands for them.
fn fold(request: &Request, ranked: &mut Vec<Ranked>) {
    let mut seen = HashSet::new();
    ranked.retain_mut(|one| {
        one.table = request.first_of(one.table);
        seen.insert(one.table)
    });
}

/// A table's semantic score, computed once a question.
fn cosine_of(
    request: &Request,
    known: &mut BTreeMap<u32, Option<f32>>,
    table: u32,
) -> Result<Option<f32>, RetrievalError> {
    if let Some(cosine) = known.get(&table) {
        return Ok(*cosine);
    }
    let corpus = request.corpus;
    let searched = (corpus, request.shared(&Formula::LIMN)?);
    let cosine = table_score(searched, request.vector, table)?;
    known.insert(table, cosine);
    Ok(cosine)
}

/// By score, then number.
fn order(a: &(u32, f32), b: &(u32, f32)) -> Ordering {
    b.1.total_cmp(&a.1).then(a.0.cmp(&b.0))
}

/// The first `n` of any number by score, then number, in this order; and how many there are in all.
/// Once the first have come, most of the others cost one comparison.
fn top(scored: impl Iterator<Item = (u32, f32)>, n: usize) -> (Vec<(u32, f32)>, usize) {
    let (n, mut count) = (n.max(1), 0);
    let mut kept: Vec<(u32, f32)> = Vec::new();
    let mut last = None;
    for one in scored {
        count += 1;
        if last.is_some_and(|last| order(&one, &last).is_gt()) {
            continue;
        }
        kept.push(one);
        if kept.len() >= n.saturating_mul(2) {
            best(&mut kept, n);
            kept.truncate(n);
            last = kept.last().copied();
        }
    }
    best(&mut kept, n);
    kept.truncate(n);
    (kept, count)
}

/// The first `n` by score, then number, in this order, moved to the front; returns them.
fn best(scored: &mut [(u32, f32)], n: usize) -> &[(u32, f32)] {
    if scored.len() > n && n > 0 {
        scored.select_nth_unstable_by(n - 1, order);
    }
    let n = n.min(scored.len());
    scored[..n].sort_unstable_by(order);
    &scored[..n]
}

/// Min-max over the candidates, α, and the final order. A candidate without a vector counts as the
/// farthest; where no candidate has a word of the question, the lexical side is 0 for all.
fn combine(alpha: f32, formula: &Formula, sides: &[(u32, f32, Option<f32>)]) -> Vec<Ranked> {
    let mut lexical: Vec<f32> = sides.iter().map(|side| side.1).collect();
    if lexical.iter().any(|&score| score > 0.0) {
        min_max(&mut lexical);
    }
    let farthest = sides
        .iter()
        .filter_map(|side| side.2)
        .fold(f32::INFINITY, f32::min);
    let mut semantic: Vec<f32> = if farthest.is_finite() {
        sides
            .iter()
            .map(|side| side.2.unwrap_or(farthest))
            .collect()
    } else {
        vec![0.0; sides.len()]
    };
    if farthest.is_finite() {
        min_max(&mut semantic);
    }
    let mut ranked: Vec<Ranked> = sides
        .iter()
        .zip(lexical.into_iter().zip(semantic))
        .map(|(&(table, _, cosine), (lexical, semantic))| Ranked {
            table,
            score: fuse(alpha, lexical, semantic),
            lexical,
            semantic,
            cosine: cosine.map(|sum| sum / (1.0 + formula.second_kind)),
            features: Features::default(),
            is_named: false,
        })
        .collect();
    sort(&mut ranked);
    ranked
}

/// By score, then number.
fn sort(ranked: &mut [Ranked]) {
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.table.cmp(&b.table)));
}

/// Adds the features of tables to their scores, and the order that they make; they count nothing
/// where words alone or meaning alone are asked for. How a table is called is looked up only where
/// it may be among those that are kept by it.
fn add_features(
    request: &Request,
    (found, scratch): (&Found, &Scratch),
    named: &BTreeMap<u32, Fit>,
    ranked: &mut [Ranked],
) {
    let weights = request.terms().weights;
    let mut without_name = Vec::with_capacity(ranked.len());
    for one in ranked.iter_mut() {
        one.features = Features {
            meaning: one.semantic,
            ..Features::without_name(found, scratch, one.table)
        };
        let score = weights.score(one.score, &one.features);
        without_name.push((score, request.first_of(one.table)));
    }
    let last_kept = last_kept(without_name, request.keep);
    for one in ranked.iter_mut() {
        let at_best = Features {
            name: 1.0,
            ..one.features
        };
        let may_be_kept = weights.score(one.score, &at_best) >= last_kept;
        if may_be_kept || named.contains_key(&one.table) {
            let table = &request.corpus.tables[one.table as usize];
            let name = || request.corpus.name(table);
            one.features.name = found.share_of_name(scratch, one.table, name);
        }
        one.score = weights.score(one.score, &one.features);
    }
    sort(ranked);
}

/// The score that the last of `keep` tables has at least, of scores that only grow; copies have the
/// number of one table.
fn last_kept(mut scores: Vec<(f32, u32)>, keep: usize) -> f32 {
    scores.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let mut seen = HashSet::new();
    let mut kept = scores.iter().filter(|(_, table)| seen.insert(*table));
    let last = kept.nth(keep.saturating_sub(1));
    last.map_or(f32::NEG_INFINITY, |(score, _)| *score)
}

/// Puts tables that the question names before the others, those that fit best first.
fn put_first(ranked: &mut [Ranked], named: &BTreeMap<u32, Fit>) {
    if named.is_empty() {
        return;
    }
    for table in ranked.iter_mut() {
        if named.contains_key(&table.table) {
            table.score = 1.0;
            table.is_named = true;
        }
    }
    let fit = |ranked: &Ranked| named.get(&ranked.table).copied().unwrap_or_default();
    // Stable: where they fit equally well, the order is that of their scores.
    ranked.sort_by_key(|ranked| Reverse(fit(ranked)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_are_cut_by_score_and_then_number() {
        let mut scored = vec![(7, 1.0), (3, 2.0), (5, 1.0), (1, 1.0), (9, 0.5)];
        assert_eq!(best(&mut scored, 3), [(3, 2.0), (1, 1.0), (5, 1.0)]);
        assert_eq!(best(&mut scored, 99).len(), 5);
        assert_eq!(best(&mut Vec::new(), 3), []);
    }

    proptest::proptest! {
        #[test]
        fn what_cannot_reach_the_last_that_is_kept_is_not_kept(
            tables in proptest::collection::vec((0_u8..8, 0_u8..5, 0_u32..6), 1..30), keep in 1_usize..8,
        ) {
            let scores = |most: bool| {
                let score = move |(score, name, table): &(u8, u8, u32)| {
                    (f32::from(*score + if most { *name } else { 0 }), *table)
                };
                tables.iter().map(score).collect::<Vec<_>>()
            };
            let least = last_kept(scores(false), keep);
            // A name is worth 4 at most.
            let looked_up = tables.iter().zip(scores(false)).zip(scores(true));
            let pruned: Vec<(f32, u32)> = looked_up
                .map(|((_, without), with)| if without.0 + 4.0 >= least { with } else { without })
                .collect();
            let first = |mut scores: Vec<(f32, u32)>| {
                scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                let mut seen = HashSet::new();
                scores.retain(|(_, table)| seen.insert(*table));
                scores.truncate(keep);
                scores
            };
            proptest::prop_assert_eq!(first(pruned), first(scores(true)));
        }

        #[test]
        fn the_top_of_a_stream_is_that_of_a_list(scores in proptest::collection::vec(0u8..6, 0..60), n in 1usize..12) {
            let scored: Vec<(u32, f32)> = (0..).zip(scores.iter().map(|score| f32::from(*score))).collect();
            let (found, count) = top(scored.iter().rev().copied(), n);
            let mut sorted = scored.clone();
            sorted.sort_by(order);
            sorted.truncate(n);
            proptest::prop_assert_eq!((found, count), (sorted, scored.len()));
        }
    }

    #[test]
    fn one_sided_candidates_take_part() {
        let formula = &Formula::LIMN;
        let ranked = combine(
            0.5,
            formula,
            &[(4, 3.0, Some(0.2)), (2, 0.0, Some(0.8)), (8, 1.5, None)],
        );
        let order: Vec<u32> = ranked.iter().map(|r| r.table).collect();
        // 4: 0.5·1 + 0.5·0; 2: 0.5·0 + 0.5·1, a tie that the number decides; 8: 0.5·0.5 + 0.
        assert_eq!(order, [2, 4, 8]);
        assert_eq!(ranked[2].score, 0.25);
        let nothing_lexical = combine(0.5, formula, &[(1, 0.0, Some(0.5)), (2, 0.0, Some(0.1))]);
        assert_eq!(
            (nothing_lexical[0].lexical, nothing_lexical[0].score),
            (0.0, 0.5)
        );
        assert!(combine(0.5, formula, &[]).is_empty());
    }
}
