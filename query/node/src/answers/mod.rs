//! What is answered, whatever the way it was asked: HTTP, the page and MCP give the same.
//!
//! Every answer is made from a [`Grant`]: what one caller sees of one snapshot. Nothing here can
//! reach a table that the caller may not see.

mod ask;
mod cells;
mod changes;
mod describing;
mod examples;
mod feedback;
mod filter;
mod history;
mod joins;
mod kinds;
mod listing;
mod lists;
mod preview;
mod search;
mod sets;
mod snapshots;
pub(crate) mod sql;
mod status;
mod table;
mod time_or_date;
mod why;

use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, SecondsFormat, Utc};
use limn_segment::{TableKey, TableRecord};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::{Caller, Right};
use crate::live::View;
use crate::node::Node;
use crate::problem::{Code, Problem, shortened};
use crate::table_list::{Facts, description};

pub use ask::{AskOptions, AskRequest, ask};
pub(crate) use ask::{NodeAnswers, may_ask};
pub use cells::{CellsRequest, KeptCells, cells};
pub use changes::{Diff, DiffRequest, TableDiff, diff};
pub use describing::{
    Change, DescribeError, Described, Describer, Describing, Description, may_describe,
    set_description,
};
pub use examples::{Examples, examples};
pub use feedback::{Feedback, FeedbackFile, keep};
pub use history::{History, HistoryRequest, history};
pub use joins::{JoinPartner, JoinsAnswer, JoinsRequest, joins};
pub use listing::{ListRequest, ListedTable, Listing, list};
pub use lists::{Suggest, Suggestions, Tree, TreeRequest, suggest, tree};
pub use search::{SearchAnswer, SearchRequest, search};
pub use sets::{SearchMode, SetColumns, SetPlan};
pub use snapshots::{Snapshots, snapshots};
pub use sql::{Form, RowsRequest, SqlAnswer, SqlOptions, SqlRequest, may_read_rows, rows, sql};
pub use status::{Status, status};
pub use table::{SimilarAnswer, SimilarRequest, TableDetail, TableRequest, describe, similar};

/// What one caller sees of one snapshot.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Who asks.
    pub caller: Caller,
    /// The snapshot, with the tables that this caller may see.
    pub view: Arc<View>,
    /// Whether values of rows are shown.
    pub shows_values: bool,
    /// When nobody waits for the answer.
    pub until: Instant,
}

impl Grant {
    /// The right to ask at all.
    ///
    /// # Errors
    /// [`Code::Forbidden`] without it.
    pub fn require(&self, right: Right) -> Result<(), Problem> {
        if self.caller.may(right) {
            return Ok(());
        }
        Err(Problem::new(
            Code::Forbidden,
            format!("the key or token has not the right '{right}'"),
            format!("ask the operator for one with it (limn keys add --right {right})"),
        ))
    }

    /// The one table of this name; of a name that several lakes have, that of the lake.
    fn table(&self, name: &str, lake: Option<&str>) -> Result<Facts<'_>, Problem> {
        let found = self.view.table_list.named(name, lake);
        match found.as_slice() {
            [] => Err(self.no_table(name, lake)),
            [table] => Ok(*table),
            several => {
                let lakes: Vec<&str> = several.iter().map(|table| table.key.lake).collect();
                Err(Problem::bad(
                    format!("several lakes have a table '{name}'"),
                    format!("name the lake, too: {}", lakes.join(", ")),
                ))
            }
        }
    }

    /// That there is no such table, and which may be meant.
    fn no_table(&self, name: &str, lake: Option<&str>) -> Problem {
        let mut problem = Problem::no_table(name);
        let elsewhere = self.view.table_list.named(name, None);
        if let (Some(lake), false) = (lake, elsewhere.is_empty()) {
            let lakes: Vec<&str> = elsewhere.iter().map(|table| table.key.lake).collect();
            problem.message = format!("{} in the lake '{}'", problem.message, shortened(lake, 200));
            problem.remedy = format!("there is one in {}", lakes.join(", "));
            return problem;
        }
        let near = self.view.table_list.near(name);
        if !near.is_empty() && problem.code == Code::NotFound {
            problem.remedy = format!("did you mean {}? Else {}", near.join(", "), problem.remedy);
        }
        problem
    }

    /// A table in a list.
    fn line(&self, table: &Facts<'_>) -> TableLine {
        TableLine {
            error: table.error.map(|error| self.failure(error)),
            ..TableLine::of(table)
        }
    }

    /// What a caller learns of a failure: it names files, and the paths of partitions hold values.
    fn failure(&self, error: &str) -> String {
        match self.shows_values {
            true => error.to_owned(),
            false => "its newest version could not be read".to_owned(),
        }
    }

    /// A table's row in the catalog.
    async fn row(&self, node: &Node, key: &TableKey) -> Result<TableRecord, Problem> {
        let _turn = node.row_turn().await?;
        let row = node.live.row(&self.view, key).await?;
        row.ok_or_else(|| Problem::no_table(&key.name))
    }
}

/// A table in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct TableLine {
    /// Its name: its path in its lake.
    pub table: String,
    /// The lake's URL.
    pub lake: String,
    /// The URL of its file or folder.
    pub location: String,
    /// The format of its files.
    pub format: String,
    /// Its rows, if they are known.
    pub rows: Option<u64>,
    /// Whether they were counted, and not estimated.
    pub rows_exact: bool,
    /// The number of its columns.
    pub column_count: usize,
    /// When its newest file was written.
    pub modified: Option<String>,
    /// What it is, in a line: the first sentence of a text about it; null where there is none.
    pub description: Option<String>,
    /// Why its newest version could not be read: then this is the last that could.
    pub error: Option<String>,
}

impl TableLine {
    fn of(table: &Facts<'_>) -> TableLine {
        TableLine {
            table: table.key.name.to_owned(),
            lake: table.key.lake.to_owned(),
            location: table.location.to_owned(),
            format: table.format.to_owned(),
            rows: table.rows,
            rows_exact: table.rows_exact,
            column_count: table.column_count,
            modified: table.modified_ms.and_then(time),
            description: description(table).map(str::to_owned),
            error: table.error.map(str::to_owned),
        }
    }
}

/// A time as answers have it: RFC 3339, in UTC.
fn time(ms: i64) -> Option<String> {
    let time = DateTime::<Utc>::from_timestamp_millis(ms)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

/// A number that was asked for, from 1 to `most`.
fn bounded(
    what: &str,
    asked: Option<usize>,
    default: usize,
    most: usize,
) -> Result<usize, Problem> {
    let asked = asked.unwrap_or(default);
    if (1..=most).contains(&asked) {
        return Ok(asked);
    }
    Err(Problem::bad(
        format!("{what} is {asked}"),
        format!("choose from 1 to {most}"),
    ))
}

/// A text that was given, if it is not too long.
fn short_enough<'a>(what: &str, text: &'a str, most: usize) -> Result<&'a str, Problem> {
    if text.len() <= most {
        return Ok(text);
    }
    Err(Problem::bad(
        format!("{what} has {} bytes", text.len()),
        format!("at most {most} are read"),
    ))
}
