//! The tables that answer a question.

mod messages;

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use limn_retrieval::{Answer, Hit, Query};
use limn_segment::{BlockKind, TableKey};

use super::filter::Filter;
use super::joins::known_joins;
use super::preview;
use super::sets::{self, SearchMode};
use super::time_or_date::TimeOrDate;
use super::{Grant, TableLine, bounded, short_enough};
use crate::access::Right;
use crate::node::Node;
use crate::problem::Problem;

pub(super) use messages::ColumnLine;
use messages::{Block, Grade, JoinedBy, Modes, Ranking, ScoreShare, SearchResult};
pub use messages::{SearchAnswer, SearchRequest};

/// Bytes of a question.
const QUESTION: usize = 4_000;
/// Bytes of one that is answered in a moment.
const SHORT: usize = 400;
/// Bytes of any other text.
const TEXT: usize = 2_000;
/// Tables of an answer, and candidates a side.
const MOST: usize = 1_000;
/// Candidates a side in all.
const CANDIDATES: usize = 10_000;
/// Tables of an answer that a judge reads for, and that are found in a moment.
const FEW: usize = 50;
/// Texts given of each table.
const BLOCKS: usize = 10;
/// Rows shown of each table.
const PREVIEW_ROWS: usize = 10;
/// Columns given of each table.
const COLUMNS: usize = 12;

/// Answers a question.
///
/// # Errors
/// A request that makes no sense; an index or a model that cannot be used.
pub async fn search(
    node: &Node,
    grant: &Grant,
    request: SearchRequest,
) -> Result<SearchAnswer, Problem> {
    let started = Instant::now();
    grant.require(Right::Search)?;
    let mut query = query(&request)?;
    let filter = filter(&request);
    preview_rows(request.preview_rows)?;
    query.vector = Some(node.questions.vector(&grant.caller, &query.text).await?);
    query.until = Some(grant.until);
    query.grading = node.grading;
    let few = query.k <= FEW;
    if request.judge == Some(true) && !few {
        return Err(Problem::bad(
            format!("k is {} and a judge was asked for", query.k),
            format!("choose at most {FEW}, or judge: false"),
        ));
    }
    if request.mode == Some(SearchMode::Set) {
        return sets::search(node, grant, request, query, started).await;
    }
    let mut notes = Vec::new();
    if request.mode.is_none() {
        let without = "tables are ranked one by one";
        query.joins = Some(known_joins(node, grant, grant.until, without, &mut notes).await);
    }
    let wants_judge = request.judge.unwrap_or(true) && few;
    // What a judge reads of a table holds values.
    query.judge = node
        .judge
        .clone()
        .filter(|_| wants_judge && grant.shows_values);
    let is_judged = query.judge.is_some();
    let view = grant.view.clone();
    // A filter looks at every table, and a long question at many words.
    let is_short = few && request.candidates.is_none() && query.text.len() <= SHORT;
    let is_quick = is_short && filter.is_none() && view.searcher.is_quick();
    let verdicts = is_judged.then(|| node.questions.verdicts(&grant.caller, &query.text));
    let trouble = Arc::clone(&node.trouble);
    let find = move || -> Result<Answer, Problem> {
        if let Some(filter) = filter {
            sets::select(&view, &filter, &mut query)?;
        }
        let Some(verdicts) = verdicts else {
            let answered = view.searcher.search(&query);
            trouble.note(&query.text, &answered);
            return Ok(answered?);
        };
        // One who asks the same again waits for the first and has its verdicts.
        let mut verdicts = verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        let answered = view.searcher.search_knowing(&query, &mut verdicts);
        trouble.note(&query.text, &answered);
        Ok(answered?)
    };
    let mut answer = match is_judged {
        true => node.compute_judged(find).await??,
        false if is_quick => node.compute_here(find).await??,
        false => node.compute(find).await??,
    };
    answer.notes.extend(notes);
    for failure in &answer.failures {
        tracing::warn!(failure, "a model failed");
    }
    if request.judge == Some(true) && !is_judged {
        answer.notes.push(match node.judge {
            Some(_) => {
                "nothing was judged: a judge reads values, which this key may not see".to_owned()
            }
            None => "nothing was judged: this node has no judge (limn serve --judge)".to_owned(),
        });
    }
    written(node, grant, &request, answer, started).await
}

/// An answer as callers get it, with rows where they are asked for.
///
/// # Errors
/// The rows cannot be read.
pub(super) async fn written(
    node: &Node,
    grant: &Grant,
    request: &SearchRequest,
    answer: Answer,
    started: Instant,
) -> Result<SearchAnswer, Problem> {
    let results = answer.results.into_iter();
    let mut results: Vec<SearchResult> = results.filter_map(|hit| result(grant, hit)).collect();
    let rows = preview_rows(request.preview_rows)?;
    if rows > 0 {
        add_previews(node, grant, &request.q, &mut results, rows).await?;
    }
    Ok(SearchAnswer {
        question: answer.question,
        snapshot: answer.snapshot,
        ranking: Ranking::of(answer.ranking),
        grade: answer.grade.map(Grade::of),
        modes: Modes {
            lexical: true,
            semantic: true,
            judge: results.iter().any(|result| result.judged.is_some()),
        },
        results,
        plan: None,
        tables_searched: grant.view.searcher.table_count(),
        tables: grant.view.table_list.tables().len(),
        notes: answer.notes,
        took_ms: (started.elapsed().as_secs_f64() * 1e6).round() / 1e3,
    })
}

fn query(request: &SearchRequest) -> Result<Query, Problem> {
    let mut query = Query::new(short_enough("the question", &request.q, QUESTION)?);
    if query.text.trim().is_empty() {
        return Err(Problem::bad("the question is empty", "ask in plain words"));
    }
    query.k = bounded("k", request.k, 5, MOST)?;
    query.evidence = blocks(request.blocks)?;
    if let Some(alpha) = request.alpha {
        if !(0.0..=1.0).contains(&alpha) {
            return Err(Problem::bad(
                format!("alpha is {alpha}"),
                "choose from 0 (meaning alone) to 1 (words alone)",
            ));
        }
        query.alpha = alpha;
    }
    if let Some(asked) = request.candidates {
        let most = (CANDIDATES / query.k).min(MOST);
        if asked > most && asked <= MOST {
            return Err(Problem::bad(
                format!("candidates is {asked} and k is {}", query.k),
                format!("choose both so that their product is at most {CANDIDATES}"),
            ));
        }
        query.candidates = Some(bounded("candidates", Some(asked), 1, most)?);
    }
    if let Some(prefix) = &request.prefix {
        query.prefix = Some(short_enough("prefix", prefix, TEXT)?.to_owned());
    }
    Ok(query)
}

fn blocks(asked: Option<usize>) -> Result<usize, Problem> {
    let asked = asked.unwrap_or(Query::EVIDENCE);
    if asked <= BLOCKS {
        return Ok(asked);
    }
    Err(Problem::bad(
        format!("blocks is {asked}"),
        format!("choose from 0 to {BLOCKS}"),
    ))
}

fn result(grant: &Grant, hit: Hit) -> Option<SearchResult> {
    let key = TableKey {
        lake: hit.lake,
        name: hit.table,
    };
    let table = grant.view.table_list.get(&key)?;
    let blocks = hit.blocks.into_iter();
    let blocks = blocks.filter(|block| grant.shows_values || block.kind == BlockKind::Context);
    Some(SearchResult {
        line: grant.line(&table),
        columns: table.columns().take(COLUMNS).map(ColumnLine::of).collect(),
        score: hit.score,
        grade: hit.grade.map(Grade::of),
        covered: hit.covered,
        // Texts about the columns hold values, and how close they are would confirm a guess.
        cosine: hit.cosine.filter(|_| grant.shows_values),
        lexical: hit.lexical,
        semantic: hit.semantic,
        name_match: hit.name_match,
        context_match: hit.context_match,
        shares: hit.shares.into_iter().map(ScoreShare::of).collect(),
        judged: hit.judged,
        exact: hit.exact,
        copies: hit.copies,
        joined: hit.joined.map(|it| JoinedBy {
            partner: it.partner,
            columns: it.columns,
            partner_columns: it.partner_columns,
            bonus: it.bonus,
        }),
        blocks: blocks.map(Block::of).collect(),
        preview: None,
        family: grant.view.table_list.family(&key).map(|id| id.to_string()),
    })
}

fn preview_rows(asked: Option<usize>) -> Result<usize, Problem> {
    let asked = asked.unwrap_or(0);
    if asked <= PREVIEW_ROWS {
        return Ok(asked);
    }
    Err(Problem::bad(
        format!("preview_rows is {asked}"),
        format!("choose from 0 to {PREVIEW_ROWS}"),
    ))
}

/// Adds the columns and rows that match. A table whose row was removed since, with its snapshot,
/// has none.
async fn add_previews(
    node: &Node,
    grant: &Grant,
    question: &str,
    results: &mut [SearchResult],
    rows: usize,
) -> Result<(), Problem> {
    let key = |line: &TableLine| TableKey {
        lake: line.lake.clone(),
        name: line.table.clone(),
    };
    let keys: Vec<TableKey> = results.iter().map(|it| key(&it.line)).collect();
    let records = {
        let _turn = node.row_turn().await?;
        node.live.rows(&grant.view, &keys).await?
    };
    for (result, key) in results.iter_mut().zip(&keys) {
        let words = result.blocks.iter().flat_map(|block| &block.words);
        // A caller who may not read values gets few texts, or none: then a name matches by the
        // question's own words.
        let own = question.split(|sign: char| !sign.is_alphanumeric());
        let own = own.filter(|word| !grant.shows_values && word.len() > 2);
        let words = preview::folded(words.map(String::as_str).chain(own));
        let record = records.get(key);
        result.preview = record.map(|row| preview::of(row, &words, rows, grant.shows_values));
    }
    Ok(())
}

/// What is asked of tables beside the question; none, where nothing is.
pub(super) fn filter(request: &SearchRequest) -> Option<Filter> {
    let ms = |time: Option<TimeOrDate>| time.map(|time| time.0.timestamp_millis());
    let filter = Filter {
        format: request.format.clone(),
        column_type: request.column_type.clone(),
        rows: (request.min_rows, request.max_rows),
        modified_ms: (ms(request.modified_after), ms(request.modified_before)),
        // The searcher itself asks for the prefix.
        ..Filter::default()
    };
    (!filter.is_prefix_alone()).then_some(filter)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn a_date_is_its_midnight() {
        let read = |text: &str| {
            let asked = serde_json::json!({"q": "x", "modified_after": text});
            let asked = serde_json::from_value::<SearchRequest>(asked);
            asked.map(|asked| asked.modified_after.unwrap().0.to_rfc3339())
        };
        let midnight = "2026-01-31T00:00:00+00:00";
        assert_eq!(read("2026-01-31").unwrap(), midnight);
        assert_eq!(read("2026-01-31T01:00:00+01:00").unwrap(), midnight);
        for wrong in ["yesterday", "", "2026-02-30", "31.1.2026", "2026-01-31T"] {
            let message = read(wrong).unwrap_err().to_string();
            assert!(
                message.contains("2026-01-31T12:00:00Z"),
                "{wrong}: {message}"
            );
        }
        let nothing = serde_json::json!({"q": "x", "modified_after": null});
        let asked: SearchRequest = serde_json::from_value(nothing).unwrap();
        assert!(asked.modified_after.is_none());
    }
}
