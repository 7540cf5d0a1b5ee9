//! SQL over the tables that a caller may see: one statement, within the node's limits.
//!
//! The order is that of every answer: rights first, then a view that has the allowed tables only,
//! then the statement. What the engine knows is made of that view (`tables.rs`), so that no name,
//! suggestion or error is of another table. A statement has a turn of its caller's from before it
//! is planned until its last row is sent, and runs on threads apart (`threads.rs`).

mod cells;
mod engine;
mod limits;
mod problems;
mod rows;
mod tables;
mod threads;
mod written;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::StreamExt;
use limn_sql::{Catalogue, Limits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Grant, short_enough};
use crate::access::{Right, Turn};
use crate::node::Node;
use crate::problem::{Code, ErrorDetail, Problem};

pub(in crate::answers) use cells::{read as read_cells, until as cells_until};
pub(in crate::answers) use engine::{Several, of_plan, of_statement};
pub(crate) use limits::Sql;
pub use limits::SqlOptions;
pub use rows::{RowsRequest, rows};
use tables::{Seen, begun};
use threads::Home;
pub use written::Form;
pub(crate) use written::{columns, json_rows, stream};

/// Bytes of a statement.
const STATEMENT: usize = 32 << 10;

/// A statement, and what it may take: no more than the node allows.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SqlRequest {
    /// One statement that reads: SELECT, WITH, VALUES, EXPLAIN, DESCRIBE, SHOW TABLES or SHOW
    /// COLUMNS. A table is called by its name in double quotes, or by the end of it where no other
    /// ends so.
    pub sql: String,
    /// Only tables of the lake of this URL, where several lakes have a table of one name.
    #[serde(default)]
    pub lake: Option<String>,
    /// Rows of the answer, at most; the node's own limit if nothing is said.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub max_rows: Option<u64>,
    /// Seconds that it may take, at most; the node's own limit if nothing is said.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub timeout_s: Option<u64>,
}

/// The answer to a statement, as JSON. It is sent as it comes: what ends it early is its last
/// member.
#[derive(Debug, Serialize, ToSchema)]
pub struct SqlAnswer {
    /// The columns, in order.
    pub columns: Vec<SqlColumn>,
    /// The rows: a value a column. Integers and floats are numbers, dates and times ISO 8601 texts,
    /// decimals texts, bytes hexadecimal texts; NaN and infinities are null.
    pub rows: Vec<Vec<serde_json::Value>>,
    /// Whether there are more rows, which a limit left out.
    pub truncated: bool,
    /// What to know of the answer, one line each: rows that are missing, cells that did not fit.
    pub notes: Vec<String>,
    /// What was read of the lakes.
    pub read: SqlRead,
    /// Why the rows end before their end, if they do: those above are a part of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorDetail>,
}

/// What a statement has read of the lakes.
#[derive(Debug, Serialize, ToSchema)]
pub struct SqlRead {
    /// Requests to their stores.
    pub requests: u64,
    /// Bytes of objects.
    pub bytes: u64,
}

/// A column of an answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct SqlColumn {
    /// Its name.
    pub name: String,
    /// Its type in a word: integer, float, decimal, boolean, date, time, timestamp, interval, text,
    /// binary, list, struct, map or null.
    #[serde(rename = "type")]
    pub data_type: String,
}

/// A statement that runs: its rows, as they come.
pub struct Running {
    answer: limn_sql::Answer,
    first: Option<RecordBatch>,
    limits: Limits,
    /// Whether it is a page of rows: that there are more goes without saying.
    is_page: bool,
    home: Home,
    _turn: Turn,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

impl Running {
    /// Where it runs: nobody else is to ask for its rows.
    pub(crate) fn home(&self) -> Home {
        self.home.clone()
    }

    /// The columns.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.answer.schema()
    }

    /// The next rows; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<RecordBatch, Problem>> {
        if let Some(batch) = self.first.take() {
            return Some(Ok(batch));
        }
        let batch = self.answer.next().await?;
        Some(batch.map_err(|error| problems::problem(&error, &self.limits)))
    }

    /// Whether rows were left out. Known at the end.
    pub(crate) fn is_truncated(&self) -> bool {
        self.answer.is_truncated()
    }

    /// What to know of the answer. Complete at the end.
    pub(crate) fn notes(&self) -> Vec<String> {
        let most = self.limits.max_rows.filter(|_| !self.is_page);
        problems::notes(&self.answer, most)
    }

    /// What was read of the lakes so far.
    pub(crate) fn read(&self) -> SqlRead {
        let read = self.answer.read();
        SqlRead {
            requests: read.requests,
            bytes: read.bytes,
        }
    }

    /// As a page of rows.
    fn into_page(self) -> Running {
        Running {
            is_page: true,
            ..self
        }
    }

    /// Rows of the answer, at most.
    pub(crate) fn most(&self) -> Option<u64> {
        self.limits.max_rows
    }
}

/// Whether a caller may have rows, here.
pub fn may_read_rows(node: &Node, grant: &Grant) -> bool {
    node.sql.is_some() && grant.shows_values && grant.caller.may(Right::Search)
}

/// Begins to answer a statement: its first rows are there, or none will come.
///
/// # Errors
/// A caller without the rights, a statement that is refused or cannot be understood, a limit that
/// was reached before the first row, a lake or an index that cannot be read.
pub async fn sql(node: &Arc<Node>, grant: &Grant, asked: &SqlRequest) -> Result<Running, Problem> {
    let sql = admitted(node, grant)?;
    let statement = short_enough("the statement", &asked.sql, STATEMENT)?;
    if statement.trim().is_empty() {
        return Err(Problem::bad(
            "the statement is empty",
            "write one, such as SHOW TABLES",
        ));
    }
    for (what, number) in [("max_rows", asked.max_rows), ("timeout_s", asked.timeout_s)] {
        if number == Some(0) {
            return Err(Problem::bad(format!("{what} is 0"), "choose from 1 on"));
        }
    }
    let limits = sql.options.limits(asked.max_rows, asked.timeout_s);
    let until = deadline(grant, &limits);
    let turn = sql.turn(&grant.caller).await?;
    let lakes = sql.lakes();
    let mut catalogue = Catalogue::over(Seen::by(grant, node), move |url| lakes.open(url));
    if let Some(lake) = &asked.lake {
        let of_lake = catalogue.of_lake(lake);
        catalogue = of_lake.map_err(|error| problems::problem(&error, &limits))?;
    }
    let answer = begun(node, catalogue, statement, &limits, until).await?;
    started(sql.home(), answer, limits, turn).await
}

/// What the node answers statements with, for callers that may ask.
fn admitted<'a>(node: &'a Node, grant: &Grant) -> Result<&'a Sql, Problem> {
    grant.require(Right::Search)?;
    grant.require(Right::Rows)?;
    if !grant.shows_values {
        return Err(Problem::new(
            Code::Forbidden,
            "this node shows no values of rows",
            "its operator may start it without --no-previews",
        ));
    }
    node.sql.as_ref().ok_or_else(|| {
        Problem::new(
            Code::NotFound,
            "this node reads no rows of the lake",
            "its operator may start it without --no-sql",
        )
    })
}

/// When a statement has to be done: in its own time, and while somebody waits.
fn deadline(grant: &Grant, limits: &Limits) -> Instant {
    (Instant::now() + limits.timeout).min(grant.until)
}

/// The limits with the time that is left.
fn within(limits: &Limits, until: Instant) -> Result<Limits, Problem> {
    let left = until.saturating_duration_since(Instant::now());
    if left < Duration::from_millis(1) {
        return Err(problems::late(limits));
    }
    Ok(Limits {
        timeout: left,
        ..limits.clone()
    })
}

/// With its first rows: what fails before them has an answer of its own.
async fn started(
    home: Home,
    mut answer: limn_sql::Answer,
    limits: Limits,
    turn: Turn,
) -> Result<Running, Problem> {
    let begun = home.run(async move { (answer.next().await, answer) });
    let (first, answer) = begun.await?;
    let first = first.transpose();
    Ok(Running {
        first: first.map_err(|error| problems::problem(&error, &limits))?,
        answer,
        limits,
        is_page: false,
        home,
        _turn: turn,
    })
}

#[cfg(test)]
mod tests;
