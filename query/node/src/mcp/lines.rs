//! Answers cut to what an agent needs first.

use limn_ask::AskAnswer;
use limn_cells::CellsAnswer;
use serde_json::{Value, json};

use crate::answers::{
    Diff, JoinPartner, JoinsAnswer, ListedTable, Listing, SearchAnswer, SetPlan, TableDetail,
};
use crate::problem::{Problem, shortened};

/// Columns named of each table found, and described of a table, unless more is asked for.
const COLUMNS_FOUND: usize = 8;
const COLUMNS_DESCRIBED: usize = 30;
/// Characters of a text that says why a table was found, and of a context.
const WHY: usize = 240;
const CONTEXT: usize = 400;
/// Rows that prove an answer.
const CITED: usize = 5;
/// Cells of each table whose matches are explained.
const CELLS: usize = 10;
/// Bytes of the text of columns and cells.
const TEXT: usize = 48 << 10;
/// Characters of a cell.
pub(super) const CELL: usize = 200;

pub(super) fn found(answer: &SearchAnswer, is_long: bool) -> Value {
    let tables: Vec<Value> = answer
        .results
        .iter()
        .map(|result| {
            let names: Vec<&str> = result
                .columns
                .iter()
                .map(|column| column.name.as_str())
                .collect();
            let best = result
                .blocks
                .first()
                .map(|block| shortened(&block.text, WHY));
            let mut line = json!({
                "table": result.line.table,
                "lake": result.line.lake,
                "rows": result.line.rows,
                "columns": names.iter().take(COLUMNS_FOUND).collect::<Vec<_>>(),
                "column_count": result.line.column_count,
                "score": rounded(result.score),
                "grade": result.grade,
                "why": best,
            });
            if let Some(judged) = result.judged {
                line["judged_relevant"] = judged.into();
            }
            if !result.exact.is_empty() {
                line["exact"] = json!(result.exact);
            }
            if let Some(joined) = &result.joined {
                let theirs = (joined.partner.as_str(), joined.partner_columns.as_slice());
                line["joined"] = on((&result.line.table, &joined.columns), theirs).into();
            }
            if !result.copies.is_empty() {
                line["copies"] = json!(result.copies);
            }
            if is_long {
                line["format"] = result.line.format.as_str().into();
                line["location"] = result.line.location.as_str().into();
                line["modified"] = json!(result.line.modified);
                line["columns"] = json!(result.columns);
                line["words_score"] = rounded(result.lexical);
                line["meaning_score"] = rounded(result.semantic);
                line["name_match"] = rounded(result.name_match);
                line["context_match"] = rounded(result.context_match);
                line["why"] = json!(result.blocks);
            }
            line
        })
        .collect();
    let mut found = json!({
        "tables": tables,
        "ranking": answer.ranking,
        "grade": answer.grade,
        "retrieval": answer.modes,
        "tables_searched": answer.tables_searched,
        "notes": answer.notes,
        "snapshot": answer.snapshot,
    });
    if let Some(plan) = &answer.plan {
        found["plan"] = planned(plan);
    }
    found
}

/// A plan, a line a join.
fn planned(plan: &SetPlan) -> Value {
    let joins = plan.joins.iter().map(|join| {
        let pair = |left: &str, right: &str| {
            let (left_table, right_table) = (quoted(&join.left.table), quoted(&join.right.table));
            format!(
                "{left_table}.{} = {right_table}.{}",
                quoted(left),
                quoted(right)
            )
        };
        let first = pair(&join.left.column, &join.right.column);
        let more = join.more.iter().map(|[left, right]| pair(left, right));
        let on: Vec<String> = std::iter::once(first).chain(more).collect();
        json!({
            "on": on.join(" AND "),
            "cardinality": join.cardinality,
            "why": join.evidence,
        })
    });
    json!({
        "joins": joins.collect::<Vec<_>>(),
        "sql": plan.sql,
        "warnings": plan.warnings,
        "disconnected": plan.disconnected,
    })
}

/// What two tables join on, each by its name and columns, as SQL has it.
fn on(
    (table, columns): (&str, &[String]),
    (partner, partner_columns): (&str, &[String]),
) -> String {
    let pair = |(ours, theirs): (&String, &String)| {
        let (table, partner) = (quoted(table), quoted(partner));
        format!("{table}.{} = {partner}.{}", quoted(ours), quoted(theirs))
    };
    let pairs: Vec<String> = columns.iter().zip(partner_columns).map(pair).collect();
    pairs.join(" AND ")
}

/// A name as SQL has it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Partners, a line each, or the steps of a way.
pub(super) fn joined(answer: &JoinsAnswer, limit: usize) -> Value {
    let line = |it: &JoinPartner| {
        let on = on((&it.table, &it.columns), (&it.partner, &it.partner_columns));
        json!({
            "kind": it.kind,
            "partner": it.partner,
            "on": (!on.is_empty()).then_some(on),
            "direction": it.direction,
            "cardinality": it.cardinality,
            "score": it.score,
            "why": it.evidence,
        })
    };
    let mut joined = json!({"table": answer.table, "notes": answer.notes});
    if let Some(partners) = &answer.partners {
        let lines: Vec<Value> = partners.iter().take(limit).map(line).collect();
        joined["partners"] = json!(lines);
        joined["more_partners"] = json!(partners.len().saturating_sub(limit));
    }
    if let Some(path) = &answer.path {
        let steps = path.as_ref().map(|path| path.iter().map(line));
        joined["path"] = json!(steps.map(Iterator::collect::<Vec<_>>));
    }
    joined
}

pub(super) fn described(table: &TableDetail, is_long: bool, only: Option<&[String]>) -> Value {
    let is_wanted = |name: &str| only.is_none_or(|only| only.iter().any(|wanted| wanted == name));
    let wanted: Vec<&_> = table
        .columns
        .iter()
        .filter(|it| is_wanted(&it.column.name))
        .collect();
    let most = if is_long || only.is_some() {
        usize::MAX
    } else {
        COLUMNS_DESCRIBED
    };
    let values = if is_long { usize::MAX } else { 3 };
    let columns: Vec<Value> = wanted
        .iter()
        .take(most)
        .map(|it| {
            let frequent = it
                .frequent
                .iter()
                .take(values)
                .map(|it| shortened(&it.value, CELL));
            json!({
                "name": it.column.name,
                "type": it.column.data_type,
                "meaning": it.description.as_ref().or(it.column.narration.as_ref()),
                "null_share": (it.null_share * 1e4).round() / 1e4,
                "distinct": it.distinct,
                "likely_key": it.likely_key,
                "looks_like": it.patterns.first().map(|it| &it.pattern),
                "written_as": it.notation,
                "in_files": it.in_files,
                "sensitive": it.sensitive,
                "withheld": it.withheld,
                "min": it.min.as_deref().map(|text| shortened(text, CELL)),
                "max": it.max.as_deref().map(|text| shortened(text, CELL)),
                "frequent": frequent.collect::<Vec<_>>(),
            })
        })
        .collect();
    let text = |text: &str| match is_long {
        true => text.to_owned(),
        false => shortened(text, CONTEXT),
    };
    let contexts: Vec<Value> = table
        .contexts
        .iter()
        .filter(|it| !it.text.is_empty())
        .map(|it| json!({ "source": it.source, "text": text(&it.text) }))
        .collect();
    let mut answer = json!({
        "table": table.line.table,
        "lake": table.line.lake,
        "location": table.line.location,
        "format": table.line.format,
        "rows": table.line.rows,
        "modified": table.line.modified,
        "columns": columns,
        "columns_left_out": wanted.len().saturating_sub(most),
        "about": contexts,
        "values_shown": table.previews,
        "snapshot": table.snapshot,
    });
    if let Some(error) = &table.line.error {
        answer["newest_version_unreadable"] = error.as_str().into();
    }
    if is_long {
        answer["files"] = json!(table.files);
        answer["file_count"] = table.file_count.into();
        answer["why"] = json!(table.why);
    }
    answer
}

/// An answer that is not more than an agent can read.
pub(super) fn bounded(answer: CellsAnswer) -> Result<CellsAnswer, Problem> {
    match answer.text.len() {
        ..=TEXT => Ok(answer),
        long => Err(Problem::bad(
            format!("the answer has {long} bytes, which are much to read"),
            "name fewer tables, or a smaller k",
        )),
    }
}

/// How many of the rows behind an answer are given: of those that its text cites, all.
fn cited_rows(citation: &limn_ask::Citation) -> usize {
    match citation.kind.as_str() {
        "cited" => citation.rows.len(),
        _ => CITED,
    }
}

/// The answer with its plan, so that it can be edited and asked again.
pub(super) fn asked(answer: &AskAnswer, rows: usize) -> Value {
    let first = |rows: &[Vec<Value>], most: usize| -> Vec<Vec<Value>> {
        rows.iter().take(most).cloned().collect()
    };
    let names = |columns: &[limn_ask::plan::Column]| -> Vec<String> {
        columns.iter().map(|it| it.name.clone()).collect()
    };
    let cited = answer.citations.iter().map(|it| {
        json!({
            "stage": it.stage,
            "kind": it.kind,
            "columns": names(&it.columns),
            "numbers": it.rows.iter().take(cited_rows(it)).collect::<Vec<_>>(),
            "rows": first(&it.values, cited_rows(it)),
        })
    });
    json!({
        "answer": answer.answer,
        "columns": names(&answer.columns),
        "rows": first(&answer.rows, rows),
        "truncated": answer.truncated || answer.rows.len() > rows,
        "plan": answer.plan,
        "tables": answer.tables,
        "citations": cited.collect::<Vec<_>>(),
        "model_judged": answer.model_judged,
        "cost": answer.cost,
        "notes": answer.notes,
    })
}

/// The text, which names each column and cell once, and how each cell was found.
pub(super) fn of_cells(answer: &CellsAnswer) -> Value {
    let cells = answer.tables.iter().flat_map(|table| {
        table.cells.iter().take(CELLS).map(|cell| {
            json!({
                "table": table.table,
                "column": cell.column,
                "value": cell.value,
                "match": cell.how,
                "rows": cell.count,
            })
        })
    });
    json!({
        "text": answer.text,
        "cells": cells.collect::<Vec<_>>(),
        "notes": answer.notes,
        "snapshot": answer.snapshot,
    })
}

pub(super) fn sampled(table: &TableDetail, limit: usize) -> Value {
    let names: Vec<&str> = table
        .columns
        .iter()
        .map(|it| it.column.name.as_str())
        .collect();
    let rows: Vec<Vec<Option<String>>> = table
        .sample
        .iter()
        .take(limit)
        .map(|row| {
            row.iter()
                .map(|cell| cell.as_deref().map(|text| shortened(text, CELL)))
                .collect()
        })
        .collect();
    let mut answer = json!({
        "table": table.line.table,
        "columns": names,
        "rows": rows,
        "rows_of_the_table": table.line.rows,
        "rows_kept": table.sample.len(),
    });
    if !table.previews {
        answer["note"] = "values of rows are not shown to this caller".into();
    }
    answer
}

pub(super) fn listed(listing: &Listing) -> Value {
    let tables: Vec<Value> = listing
        .tables
        .iter()
        .map(|ListedTable { line: it, .. }| {
            json!({
                "table": it.table,
                "lake": it.lake,
                "format": it.format,
                "rows": it.rows,
                "column_count": it.column_count,
            })
        })
        .collect();
    json!({ "tables": tables, "next": listing.next, "count": listing.count })
}

pub(super) fn changed(diff: &Diff, limit: usize) -> Value {
    let names = |tables: &[crate::answers::TableDiff]| -> Vec<String> {
        tables
            .iter()
            .take(limit)
            .map(|it| it.table.clone())
            .collect()
    };
    let changed: Vec<_> = diff.changed.iter().take(limit).collect();
    let renamed: Vec<_> = diff.renamed.iter().take(limit).collect();
    json!({
        "from_snapshot": diff.from,
        "to_snapshot": diff.to,
        "counts": diff.counts,
        "appeared": names(&diff.appeared),
        "renamed": renamed,
        "changed": changed,
        "vanished": names(&diff.vanished),
    })
}

fn rounded(score: f32) -> Value {
    json!((f64::from(score) * 1e3).round() / 1e3)
}
