//! What changed in the life of one table.

use limn_segment::{HistoryEnd, TableEvent, TableHistory, TableKey};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::changes::{ColumnChange, TableDiff, changed, hide_failure};
use super::{Grant, bounded, short_enough, time};
use crate::access::Right;
use crate::node::Node;
use crate::problem::{Code, Problem};

/// Bytes of a table's name.
const NAME: usize = 4_000;

/// How often it is looked whether a table that appeared had another name before.
const RENAMINGS: usize = 8;

/// Whose history is asked for.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryRequest {
    /// The table's name: its path in its lake.
    pub table: String,
    /// The lake's URL, where several lakes have a table of this name.
    #[serde(default)]
    pub lake: Option<String>,
    /// Of how many snapshots the changes are given, the newest first: 1 to 200, 20 if nothing is
    /// said.
    #[serde(default)]
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<usize>,
}

/// What became of a table, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct History {
    /// The table.
    pub table: String,
    /// Its lake.
    pub lake: String,
    /// The snapshots that changed it.
    pub history: Vec<Moment>,
    /// The oldest snapshot that was looked at.
    pub back_to: u64,
    /// Whether that is the index's first.
    pub is_whole: bool,
}

/// A snapshot that changed a table.
#[derive(Debug, Serialize, ToSchema)]
pub struct Moment {
    /// The snapshot.
    pub snapshot: u64,
    /// When it was published.
    pub published: Option<String>,
    /// `appeared`, `renamed`, `changed`, `described_anew` or `vanished`.
    pub change: String,
    /// What differs, where it changed or was renamed, in words.
    pub detail: Vec<String>,
}

/// The history of a table, under the names that it had before, too.
///
/// # Errors
/// No such table, now or in the snapshots looked at, among those that the caller may see; an index
/// that cannot be read.
pub async fn history(
    node: &Node,
    grant: &Grant,
    request: &HistoryRequest,
) -> Result<History, Problem> {
    grant.require(Right::Search)?;
    let limit = bounded("limit", request.limit, 20, 200)?;
    let _turn = node.heavy_turn(&grant.caller).await?;
    let index = node.live.index();
    let from = (grant.view.snapshot.number + 1).saturating_sub(limit as u64);
    // What changed in a snapshot is known from the one before it.
    let (key, mut found) = life(node, grant, request, limit + 1).await?;
    let mut moments: Vec<Moment> = Vec::new();
    let mut looks = RENAMINGS;
    loop {
        let mut older = None;
        for (at, event) in found.events.iter().enumerate() {
            let mut moment = moment(grant, event);
            if event.before.is_none() && event.snapshot >= from && looks > 0 {
                looks -= 1;
                let seen = |key: &TableKey| grant.view.reach.allows(key);
                if let Some((newest, old)) = index.before_renaming(event, seen).await? {
                    moment.change = "renamed".to_owned();
                    moment.detail = vec![format!("it was {} before", old.name)];
                    // Before that the table was there, or it was not.
                    if at + 1 == found.events.len() {
                        older = Some((newest, old));
                    }
                }
            }
            moments.push(moment);
        }
        let Some((newest, old)) = older else {
            break;
        };
        let left = (newest.number + 2).saturating_sub(from);
        found = index.history(&newest, &old, left as usize).await?;
    }
    moments.retain(|moment| moment.snapshot >= from);
    Ok(History {
        history: moments,
        back_to: found.oldest.max(from),
        is_whole: found.end == HistoryEnd::Beginning && from <= 1,
        table: key.name,
        lake: key.lake,
    })
}

/// Which table is meant, and what became of it: one that exists, or one that is in the snapshots
/// that are looked at.
async fn life(
    node: &Node,
    grant: &Grant,
    request: &HistoryRequest,
    snapshots: usize,
) -> Result<(TableKey, TableHistory), Problem> {
    let (index, newest) = (node.live.index(), &grant.view.snapshot);
    let name = short_enough("the table's name", &request.table, NAME)?;
    let missing = match grant.table(name, request.lake.as_deref()) {
        Ok(table) => {
            let key = table.key.to_key();
            let found = index.history(newest, &key, snapshots).await?;
            return Ok((key, found));
        }
        Err(missing) if missing.code == Code::NotFound => missing,
        Err(problem) => return Err(problem),
    };
    // Of the whole index: all of the caller's tables of a lake may have been removed.
    let whole = node.live.whole();
    let lakes = match &request.lake {
        Some(lake) => vec![lake.as_str()],
        None => whole.table_list.lakes(),
    };
    for lake in lakes {
        let key = TableKey {
            lake: lake.to_owned(),
            name: name.to_owned(),
        };
        if !grant.view.reach.allows(&key) {
            continue;
        }
        let found = index.history(newest, &key, snapshots).await?;
        if !found.events.is_empty() {
            return Ok((key, found));
        }
    }
    Err(missing)
}

fn moment(grant: &Grant, event: &TableEvent) -> Moment {
    let mut detail = event.changes().changed.into_iter().next().map(changed);
    if let Some(detail) = &mut detail {
        hide_failure(grant, detail);
    }
    let change = match (&event.before, &event.after, &detail) {
        (None, _, _) => "appeared",
        (_, None, _) => "vanished",
        (_, _, Some(_)) => "changed",
        (_, _, None) => "described_anew",
    };
    Moment {
        snapshot: event.snapshot,
        published: time(event.created_ms),
        change: change.to_owned(),
        detail: match change {
            "changed" => detail.as_ref().map(lines).unwrap_or_default(),
            _ => Vec::new(),
        },
    }
}

/// What differs of a table, in words.
fn lines(diff: &TableDiff) -> Vec<String> {
    let mut lines: Vec<String> = diff.columns.iter().map(column_line).collect();
    let rows = |rows: Option<u64>| rows.map_or_else(|| "?".to_owned(), |rows| rows.to_string());
    if diff.rows_before != diff.rows_after {
        lines.push(format!(
            "rows: {} to {}",
            rows(diff.rows_before),
            rows(diff.rows_after)
        ));
    } else if diff.rows_after.is_some() {
        lines.push("its files changed, the number of rows did not".to_owned());
    }
    if diff.contexts_added + diff.contexts_removed > 0 {
        lines.push(format!(
            "texts about it: {} new, {} removed",
            diff.contexts_added, diff.contexts_removed
        ));
    }
    match diff.unreadable.as_deref() {
        None => {}
        Some("") => lines.push("can be read again".to_owned()),
        Some(error) => lines.push(format!("its newest version cannot be read: {error}")),
    }
    lines
}

fn column_line(column: &ColumnChange) -> String {
    let ColumnChange {
        column: name,
        change,
        before,
        after,
    } = column;
    match (change.as_str(), before, after) {
        ("renamed", Some(before), _) => format!("column {before} is now {name}"),
        ("retyped", Some(before), Some(after)) => format!("column {name} is {after}, was {before}"),
        (change, ..) => format!("column {name} {change}"),
    }
}
