//! Rows of one table to look at: a page of them, in the files' order or sorted.

use std::collections::HashSet;
use std::sync::Arc;

use limn_segment::TableRecord;
use limn_sql::{Catalogue, Limits};
use serde::Deserialize;
use utoipa::IntoParams;

use super::tables::begun;
use super::{Running, admitted, deadline, started};
use crate::answers::{Grant, bounded};
use crate::node::Node;
use crate::problem::Problem;

/// Rows of a page, if nothing is said and at most.
const PAGE: usize = 50;
const MOST: usize = 1_000;
/// Rows that may be passed over.
const OFFSET: u64 = 1_000_000_000;
/// Columns, besides the sorted one, that decide between rows of one value: pages are of one order.
const TIES: usize = 16;

/// Which rows.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RowsRequest {
    /// The table's name: its path in its lake.
    pub table: String,
    /// The lake's URL, where several lakes have a table of this name.
    #[serde(default)]
    pub lake: Option<String>,
    /// Only these columns, with commas between them; a name that has a comma or a quote in it is
    /// written as in CSV.
    #[serde(default)]
    pub columns: Option<String>,
    /// The column that the rows are sorted by; those without a value come last. Without it they
    /// come as the files have them.
    #[serde(default)]
    pub sort: Option<String>,
    /// Whether the greatest comes first.
    #[serde(default)]
    pub descending: Option<bool>,
    /// How many rows are passed over: 0 if nothing is said.
    #[serde(default)]
    #[param(minimum = 0)]
    pub offset: Option<u64>,
    /// How many rows: 1 to 1000, 50 if nothing is said.
    #[serde(default)]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// Begins to read rows of a table. `truncated` says whether there are more behind them.
///
/// # Errors
/// A caller without the rights, no such table among those that the caller may see, a column that it
/// has not or whose values are withheld, a lake that cannot be read.
pub async fn rows(
    node: &Arc<Node>,
    grant: &Grant,
    asked: &RowsRequest,
) -> Result<Running, Problem> {
    let sql = admitted(node, grant)?;
    let limit = bounded("limit", asked.limit, PAGE, MOST)?;
    let offset = asked.offset.unwrap_or_default();
    if offset > OFFSET {
        return Err(Problem::bad(
            format!("offset is {offset}"),
            format!("choose from 0 to {OFFSET}; POST /v1/sql has conditions"),
        ));
    }
    let columns = asked.columns.as_deref().map(names).transpose()?;
    let facts = grant.table(&asked.table, asked.lake.as_deref())?;
    let limits = Limits {
        max_rows: u64::try_from(limit).ok(),
        ..sql.options.limits(None, None)
    };
    let until = deadline(grant, &limits);
    let turn = sql.turn(&grant.caller).await?;
    let table = grant.row(node, &facts.key.to_key()).await?;
    let statement = statement(&table, columns.as_deref(), asked, offset);
    let lakes = sql.lakes();
    let catalogue = Catalogue::new([table], move |url| lakes.open(url));
    let answer = begun(node, catalogue, &statement, &limits, until).await?;
    let running = started(sql.home(), answer, limits, turn).await?;
    Ok(running.into_page())
}

/// The statement that reads the rows; how many is the limits' affair.
fn statement(
    table: &TableRecord,
    columns: Option<&[String]>,
    asked: &RowsRequest,
    offset: u64,
) -> String {
    let chosen = match columns {
        Some(columns) => listed(columns.iter().map(String::as_str)),
        None => "*".to_owned(),
    };
    let mut sql = format!("SELECT {chosen} FROM {}", quoted(&table.name));
    if let Some(sort) = asked.sort.as_deref().filter(|name| !name.is_empty()) {
        let direction = match asked.descending {
            Some(true) => "DESC",
            _ => "ASC",
        };
        sql.push_str(&format!(
            " ORDER BY {} {direction} NULLS LAST",
            quoted(sort)
        ));
        for name in ties(table, sort) {
            sql.push_str(", ");
            sql.push_str(&quoted(name));
        }
    }
    if offset > 0 {
        sql.push_str(&format!(" OFFSET {offset}"));
    }
    sql
}

/// The columns that decide between rows of one value.
fn ties<'a>(table: &'a TableRecord, sort: &'a str) -> impl Iterator<Item = &'a str> {
    let mut seen = HashSet::from([sort]);
    let columns = table.columns.iter().filter(|column| {
        let has_order = ["integer", "float", "boolean", "date", "timestamp", "text"];
        !column.withheld && has_order.contains(&column.data_type.as_str())
    });
    // A name that repeats is another one in the rows.
    let names = columns.map(|column| column.name.as_str());
    names.filter(move |name| seen.insert(name)).take(TIES)
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(quoted).collect();
    names.join(", ")
}

/// A name as SQL has it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The names of a line of CSV.
fn names(line: &str) -> Result<Vec<String>, Problem> {
    let mut names = Vec::new();
    let mut rest = line;
    loop {
        let (name, after) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => in_quotes(quoted).ok_or_else(|| {
                Problem::bad(
                    "a quote in columns is not closed",
                    "write names as CSV does: a,\"b, c\"",
                )
            })?,
            None => match rest.split_once(',') {
                Some((name, after)) => (name.trim().to_owned(), Some(after)),
                None => (rest.trim().to_owned(), None),
            },
        };
        if name.is_empty() {
            return Err(Problem::bad(
                "columns has an empty name in it",
                "write names with commas between them, or leave it out for all columns",
            ));
        }
        names.push(name);
        match after {
            Some(after) => rest = after,
            None => return Ok(names),
        }
    }
}

/// A name up to its closing quote, and what comes behind the next comma.
fn in_quotes(text: &str) -> Option<(String, Option<&str>)> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => {
                let after = after.trim_start();
                let next = after.strip_prefix(',');
                return (next.is_some() || after.is_empty()).then_some((name, next));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use limn_segment::ColumnRecord;

    use super::*;

    #[test]
    fn equal_names_are_numbered_as_in_csv() {
        assert_eq!(names("a, b c").unwrap(), ["a", "b c"]);
        assert_eq!(
            names("\"a, b\",\"c \"\"d\"\"\" ,e").unwrap(),
            ["a, b", "c \"d\"", "e"]
        );
        for wrong in ["", "a,,b", "a,", "\"a", "\"a\"b"] {
            assert!(names(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_cannot_leave_their_quotes() {
        let column = |name: &str, data_type: &str| ColumnRecord {
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            ..ColumnRecord::default()
        };
        let table = TableRecord {
            name: "a\"; DROP".to_owned(),
            columns: vec![column("x\"y", "text"), column("z", "list")],
            ..TableRecord::default()
        };
        let asked = RowsRequest {
            sort: Some("s\"".to_owned()),
            descending: Some(true),
            ..RowsRequest::default()
        };
        let sql = statement(&table, Some(&["c\"".to_owned()]), &asked, 7);
        assert_eq!(
            sql,
            "SELECT \"c\"\"\" FROM \"a\"\"; DROP\" ORDER BY \"s\"\"\" DESC NULLS LAST, \"x\"\"y\" OFFSET 7"
        );
    }
}
