//! A ranking read by a judge: what it reads of each table, and what its verdicts change.

use tracing::info_span;

use super::{Candidates, Searcher, best_grade};
use crate::TRACE;
use crate::answer::{Query, RankedTable, Ranking};
use crate::deadline::Deadline;
use crate::error::RetrievalError;
use crate::grade::Grade;
use crate::judge::{TableText, Verdict, Verdicts, order, table_text};

impl Searcher {
    /// What a judge reads of the first candidates, in the order of the ranking without a judge;
    /// with the names of each and its copies.
    pub(crate) fn candidate_texts(
        &self,
        query: &Query,
        depth: usize,
    ) -> Result<Vec<(Vec<String>, TableText)>, RetrievalError> {
        let Candidates {
            ranking,
            vector,
            found,
            ..
        } = self.candidates(query, depth)?;
        let sought = found.sought();
        let texts = ranking.tables.into_iter().map(|ranked| {
            let table = &self.corpus.tables[ranked.table as usize];
            let text = table_text(&self.corpus, &self.texts, table, &vector, &sought)?;
            let mut names = ranked.copies;
            names.push(ranked.key.name);
            Ok((names, text))
        });
        texts.collect()
    }

    /// The ranking and what it was made with, with verdicts of the same question that are known
    /// already; those of this search are added.
    pub(crate) fn rank_with(
        &self,
        query: &Query,
        verdicts: &mut Verdicts,
    ) -> Result<Candidates, RetrievalError> {
        let depth = query.judge.as_ref().map_or(0, |judge| judge.depth(query.k));
        let mut candidates = self.candidates(query, depth)?;
        let Candidates {
            ranking,
            vector,
            found,
            place,
            ..
        } = &mut candidates;
        if let Some(judge) = &query.judge {
            let _span = info_span!(target: TRACE, "judge").entered();
            let sought = found.sought();
            let text = |table: u32| {
                Deadline(query.until).check()?;
                let table = &self.corpus.tables[table as usize];
                Ok(table_text(
                    &self.corpus,
                    &self.texts,
                    table,
                    vector,
                    &sought,
                )?)
            };
            let judged = ranking.tables.len().min(depth);
            let tables: Vec<u32> = ranking.tables.iter().map(|ranked| ranked.table).collect();
            let walked = judge.walk(&query.text, &tables[..judged], query.k, verdicts, text)?;
            rearrange(ranking, &walked.verdicts);
            ranking.notes.extend(walked.notes);
            ranking.failures.extend(walked.failure);
        }
        ranking.tables.truncate(query.k);
        forget_joins(&mut ranking.tables);
        if best_grade(&ranking.tables) == Some(Grade::Unlikely) {
            ranking.notes.push(format!(
                "no table{place} is likely to answer this: these are the nearest"
            ));
        }
        Ok(candidates)
    }
}

/// Takes back that a table comes behind one that a judge has moved behind it, or out of the answer.
fn forget_joins(tables: &mut [RankedTable]) {
    for at in 0..tables.len() {
        let (before, behind) = tables.split_at_mut(at);
        let Some(table) = behind.first_mut() else {
            return;
        };
        let is_there = |partner: &str| {
            let mut before = before.iter();
            before.any(|it| it.key.name == partner && it.key.lake == table.key.lake)
        };
        let is_behind = table
            .joined
            .as_ref()
            .is_some_and(|it| is_there(&it.partner));
        if !is_behind {
            table.joined = None;
        }
    }
}

/// Moves rejected tables behind the others, and marks each with the judge's word.
fn rearrange(ranking: &mut Ranking, verdicts: &[Option<Verdict>]) {
    for (ranked, verdict) in ranking.tables.iter_mut().zip(verdicts) {
        ranked.judged = match verdict {
            Some(Verdict::Stands) => Some(true),
            Some(Verdict::Rejected) => Some(false),
            Some(Verdict::Unknown) | None => None,
        };
    }
    let order = order(verdicts)
        .into_iter()
        .map(|at| ranking.tables[at].clone());
    let mut tables: Vec<RankedTable> = order.collect();
    tables.extend_from_slice(&ranking.tables[verdicts.len()..]);
    ranking.tables = tables;
    let rejects = |verdict: &Option<Verdict>| *verdict == Some(Verdict::Rejected);
    if !verdicts.is_empty() && verdicts.iter().all(rejects) {
        ranking.notes.push(format!(
            "the judge found none of the {} tables it read relevant",
            verdicts.len()
        ));
    }
}
