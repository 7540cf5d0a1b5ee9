//! The tables that answer a question.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use limn_retrieval::{Answer, Evidence, Hit, Query, ScoredBy, Share};
use limn_segment::{BlockKind, TableKey};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::filter::Filter;
use super::joins::known_joins;
use super::preview::{self, Matching};
use super::sets::{self, SearchMode, SetPlan};
use super::time_or_date::TimeOrDate;
use super::{Grant, TableLine, bounded, short_enough};
use crate::access::Right;
use crate::node::Node;
use crate::problem::Problem;
use crate::table_list::Column;

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

/// A question.
#[derive(Clone, Debug, Default, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchRequest {
    /// The question in plain words.
    pub q: String,
    /// What is wanted: `tables` that each answer it, ranked one by one, or the `set` of tables that
    /// do together. If nothing is said, tables, and behind the first one those that join it and have
    /// words of the question that it lacks.
    #[serde(default)]
    #[param(inline)]
    #[schema(inline)]
    pub mode: Option<SearchMode>,
    /// How many tables are wanted: 1 to 1000, 5 if nothing is said. Of a set 1 to 20, as many as
    /// are worth it if nothing is said.
    #[serde(default)]
    #[param(minimum = 1, maximum = 1000)]
    #[schema(minimum = 1, maximum = 1000)]
    pub k: Option<usize>,
    /// The share of the words' side in the score, 0 to 1.
    #[serde(default)]
    #[param(minimum = 0.0, maximum = 1.0)]
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub alpha: Option<f32>,
    /// Candidates that each side gives for each table wanted: 1 to 1000.
    #[serde(default)]
    #[param(minimum = 1, maximum = 1000)]
    #[schema(minimum = 1, maximum = 1000)]
    pub candidates: Option<usize>,
    /// How many texts are given of each table: 0 to 10, 3 if nothing is said. With 0 there is the
    /// ranking alone, sooner.
    #[serde(default)]
    #[param(minimum = 0, maximum = 10)]
    #[schema(minimum = 0, maximum = 10)]
    pub blocks: Option<usize>,
    /// How many rows are shown of each table, with the columns that match: 0 to 10, 0 if nothing is
    /// said.
    #[serde(default)]
    #[param(minimum = 0, maximum = 10)]
    #[schema(minimum = 0, maximum = 10)]
    pub preview_rows: Option<usize>,
    /// Whether a language model judges the first tables, where the node has one. Takes seconds.
    #[serde(default)]
    pub judge: Option<bool>,
    /// Only tables at this path or below it.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Only tables of this format: `arrow`, `avro`, `csv`, `dbf`, `delta`, `hudi`, `iceberg`,
    /// `jsonlines`, `orc`, `parquet`, `sheet`, `sqlite` or `text`.
    #[serde(default)]
    pub format: Option<String>,
    /// Only tables with a column of this type: `binary`, `boolean`, `date`, `float`, `integer`,
    /// `text`, `timestamp`, `unknown`, or another that the lake has, such as `list`.
    #[serde(default)]
    pub column_type: Option<String>,
    /// Only tables with at least so many rows.
    #[serde(default)]
    pub min_rows: Option<u64>,
    /// Only tables with at most so many rows.
    #[serde(default)]
    pub max_rows: Option<u64>,
    /// Only tables that were changed at this time or later: RFC 3339, or a date, which means its
    /// midnight in UTC.
    #[serde(default)]
    #[param(inline)]
    #[schema(inline)]
    pub modified_after: Option<TimeOrDate>,
    /// Only tables that were changed before this time: RFC 3339, or a date, which means its
    /// midnight in UTC.
    #[serde(default)]
    #[param(inline)]
    #[schema(inline)]
    pub modified_before: Option<TimeOrDate>,
}

/// The tables found, best first.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchAnswer {
    /// The question as asked.
    pub question: String,
    /// The snapshot that was searched.
    pub snapshot: u64,
    /// What its tables are scored by.
    pub ranking: Ranking,
    /// The best grade of its tables; null without any.
    pub grade: Option<Grade>,
    /// The tables, best first; of a set in the order of its plan.
    pub results: Vec<SearchResult>,
    /// How the tables of a set join; null where no set was asked for.
    pub plan: Option<SetPlan>,
    /// What took part.
    pub modes: Modes,
    /// The number of tables among which was searched.
    pub tables_searched: usize,
    /// The number of tables that there are. More than were searched where some could never be read:
    /// nothing but their names is known.
    pub tables: usize,
    /// What there is to know besides: words that occur nowhere, why nothing was found.
    pub notes: Vec<String>,
    /// How long it took, in milliseconds.
    pub took_ms: f64,
}

/// What scores tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ranking {
    /// limn's formula, and features of tables by limn's own weights.
    Learned,
    /// The formula, and features by the index's own weights, which `limn tune` has fitted.
    Tuned,
    /// The formula alone, as where `alpha` is 0 or 1.
    Formula,
}

impl Ranking {
    fn of(scored_by: ScoredBy) -> Ranking {
        match scored_by {
            ScoredBy::Learned => Ranking::Learned,
            // The only other weights that a node has.
            ScoredBy::Tuned | ScoredBy::Given => Ranking::Tuned,
            ScoredBy::Formula | ScoredBy::Plain => Ranking::Formula,
        }
    }
}

/// The ways in which a question was answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct Modes {
    /// By its words.
    pub lexical: bool,
    /// By its meaning.
    pub semantic: bool,
    /// By a language model's verdicts.
    pub judge: bool,
}

/// A table that was found.
#[derive(Debug, Serialize, ToSchema)]
pub struct SearchResult {
    /// Which table.
    #[serde(flatten)]
    pub line: TableLine,
    /// Its first columns.
    pub columns: Vec<ColumnLine>,
    /// `α·lexical + (1−α)·semantic`, with what its name and contexts add; 1 where the question
    /// names the table.
    pub score: f32,
    /// How likely it answers the question, whatever else was found: grades of different questions
    /// compare, scores do not.
    pub grade: Option<Grade>,
    /// The share of the question's words that it has, by how rare they are: 0 to 1.
    pub covered: f32,
    /// How close it is to the question in meaning, from -1 to 1; null where it has no vectors, and
    /// for a key that may not see values.
    pub cosine: Option<f32>,
    /// The words' side: 0 to 1 among this question's candidates.
    pub lexical: f32,
    /// The meaning's side, likewise.
    pub semantic: f32,
    /// The share of the words of the table's own name that the question has: 0 to 1; of a table
    /// with copies that of the one that fits best.
    pub name_match: f32,
    /// The share of the question's words that texts about the table have, likewise.
    pub context_match: f32,
    /// What the score is the sum of; nothing of a table that a set needs and the question does not
    /// find.
    pub shares: Vec<ScoreShare>,
    /// The judge's word; null where there was none.
    pub judged: Option<bool>,
    /// What the table has of the question as a whole: `table orders`, `file orders.csv`, `column
    /// promo_code`, `code A-17`. Tables that have a name of it come first.
    pub exact: Vec<String>,
    /// The names of its copies in its lake: tables of equal content, which it stands for.
    pub copies: Vec<String>,
    /// The join by which it comes right behind the first table, though others may score more; null
    /// of all others.
    pub joined: Option<JoinedBy>,
    /// The texts that made it match, best first.
    pub blocks: Vec<Block>,
    /// Columns and rows that match, where rows were asked for.
    pub preview: Option<Matching>,
    /// The family that it belongs to, if it does: tables of one folder with the same columns.
    pub family: Option<String>,
}

/// One term of a score: the contributions of all of them sum to it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ScoreShare {
    /// What it is of: `formula_words` and `formula_meaning` are the formula's two sides; `meaning`,
    /// `covered`, `name` and `contexts` are features; `named` is what is missing to 1 where the
    /// question names the table.
    pub name: String,
    /// The side's or the feature's value: 0 to 1.
    pub value: f32,
    /// What the value counts.
    pub weight: f32,
    /// The product of both.
    pub contribution: f32,
}

impl ScoreShare {
    fn of(share: Share) -> Self {
        Self {
            name: share.name.to_owned(),
            value: share.value,
            weight: share.weight,
            contribution: share.contribution,
        }
    }
}

/// A join that brings a table behind another.
#[derive(Debug, Serialize, ToSchema)]
pub struct JoinedBy {
    /// The table before it.
    pub partner: String,
    /// Its own columns by which they join.
    pub columns: Vec<String>,
    /// The partner's, in the same order.
    pub partner_columns: Vec<String>,
    /// What its place counts more than its score: 0.1, and the share of the question's words that
    /// it has and those before it lack.
    pub bonus: f32,
}

/// How likely a table answers its question.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It has what was asked for, in words or in meaning.
    Strong,
    /// It has a part of what was asked for.
    Weak,
    /// It is among the nearest, no more.
    Unlikely,
}

impl Grade {
    pub(super) fn of(grade: limn_retrieval::Grade) -> Self {
        match grade {
            limn_retrieval::Grade::Strong => Self::Strong,
            limn_retrieval::Grade::Weak => Self::Weak,
            limn_retrieval::Grade::Unlikely => Self::Unlikely,
        }
    }
}

/// A column in a search result.
#[derive(Debug, Serialize, ToSchema)]
pub struct ColumnLine {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: String,
    /// A language model's description of it.
    pub narration: Option<String>,
}

/// A text that made a table match.
#[derive(Debug, Serialize, ToSchema)]
pub struct Block {
    /// What it is made of: `schema`, `rows`, `context` or `cells`.
    pub kind: String,
    /// The text.
    pub text: String,
    /// The question's words as they stand in it.
    pub words: Vec<String>,
    /// How well it matches, for the order of the texts.
    pub score: f32,
}

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
        // Who may not read values gets few texts, or none: then a name matches by the question's
        // own words.
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

impl Block {
    fn of(evidence: Evidence) -> Block {
        Block {
            kind: evidence.kind.to_string(),
            text: evidence.text,
            words: evidence.words,
            score: evidence.score,
        }
    }
}

impl ColumnLine {
    pub(super) fn of(column: Column<'_>) -> ColumnLine {
        ColumnLine {
            name: column.name.to_owned(),
            data_type: column.data_type.to_owned(),
            narration: column.narration.map(str::to_owned),
        }
    }
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
