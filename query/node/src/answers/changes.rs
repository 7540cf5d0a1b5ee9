//! What changed between two snapshots.

use limn_segment::diff::TableChanges;
use limn_segment::{Snapshot, Within, is_under};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{Grant, bounded};
use crate::access::Right;
use crate::node::Node;
use crate::problem::Problem;

/// Tables of one list in an answer, at most.
const TABLES_LISTED: usize = 10_000;

/// Which snapshots are compared.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DiffRequest {
    /// The older snapshot's number; 0 for what there was before the first: nothing. The last of 32
    /// that differs from the newer one if nothing is said.
    #[serde(default)]
    pub from: Option<u64>,
    /// Instead of a number: what there was so long ago, such as `1d` or `12h`.
    #[serde(default)]
    pub since: Option<String>,
    /// The newer snapshot's number; the newest if nothing is said.
    #[serde(default)]
    pub to: Option<u64>,
    /// Only tables at this path or below it.
    #[serde(default)]
    pub prefix: Option<String>,
    /// How many tables of each list are given: 1 to 10000, 1000 if nothing is said.
    #[serde(default)]
    #[param(minimum = 1, maximum = 10000)]
    pub limit: Option<usize>,
}

/// What differs between two snapshots, among the tables that the caller may see.
#[derive(Debug, Serialize, ToSchema)]
pub struct Diff {
    /// The older snapshot.
    pub from: u64,
    /// The newer snapshot.
    pub to: u64,
    /// How many there are of each kind; the lists hold the first of them.
    pub counts: Counts,
    /// Tables that are new.
    pub appeared: Vec<TableDiff>,
    /// Tables of which only the name changed.
    pub renamed: Vec<TableRename>,
    /// Tables that are other than they were.
    pub changed: Vec<TableDiff>,
    /// Tables that were removed.
    pub vanished: Vec<TableDiff>,
}

/// How many tables differ, by what became of them.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub struct Counts {
    /// New ones.
    pub appeared: usize,
    /// Those with another name.
    pub renamed: usize,
    /// Those that are other than they were.
    pub changed: usize,
    /// Those that were removed.
    pub vanished: usize,
}

/// A table that differs.
#[derive(Debug, Serialize, ToSchema)]
pub struct TableDiff {
    /// Its name.
    pub table: String,
    /// Its lake.
    pub lake: String,
    /// Rows before, if they are known.
    pub rows_before: Option<u64>,
    /// Rows after, if they are known.
    pub rows_after: Option<u64>,
    /// What became of its columns.
    pub columns: Vec<ColumnChange>,
    /// Texts about it that are new.
    pub contexts_added: usize,
    /// Texts about it that were removed.
    pub contexts_removed: usize,
    /// Why it cannot be read since; empty where it can be again.
    pub unreadable: Option<String>,
    /// The names of removed tables whose files it has.
    pub replaces: Vec<String>,
}

/// A column that differs.
#[derive(Debug, Serialize, ToSchema)]
pub struct ColumnChange {
    /// Its name; the new one, where it was renamed.
    pub column: String,
    /// `added`, `dropped`, `renamed` or `retyped`.
    pub change: String,
    /// Name or type before.
    pub before: Option<String>,
    /// Name or type after.
    pub after: Option<String>,
}

/// A table that has another name.
#[derive(Debug, Serialize, ToSchema)]
pub struct TableRename {
    /// The name before.
    pub from: String,
    /// The name now.
    pub to: String,
    /// The lake.
    pub lake: String,
}

/// Compares two snapshots.
///
/// # Errors
/// Snapshots that there are not; an index that cannot be read.
pub async fn diff(node: &Node, grant: &Grant, request: &DiffRequest) -> Result<Diff, Problem> {
    grant.require(Right::Search)?;
    let limit = bounded("limit", request.limit, 1_000, TABLES_LISTED)?;
    let index = node.live.index();
    let to = match request.to {
        Some(number) if number != grant.view.snapshot.number => index.snapshot(number).await?,
        _ => Snapshot::clone(&grant.view.snapshot),
    };
    let older = older(node, request, &to).await?;
    let _turn = node.heavy_turn(&grant.caller).await?;
    let prefix = request.prefix.as_deref().unwrap_or_default();
    let reach = &grant.view.reach;
    let within = Within {
        paths: &|lake| reach.paths_in(lake),
        allows: &|key| reach.allows(key) && is_under(&key.name, prefix),
    };
    let changes = node.live.changes();
    let found = changes.since_last(&older, &to, &within).await?;
    let (from, changes) = found.ok_or_else(Problem::internal)?;
    let mut diff = to_diff(from.number, to.number, changes, limit);
    for table in &mut diff.changed {
        hide_failure(grant, table);
    }
    Ok(diff)
}

/// The snapshots that `to` is compared with: the first of them that differs in a table, or else the
/// first. At least one.
async fn older(node: &Node, request: &DiffRequest, to: &Snapshot) -> Result<Vec<u64>, Problem> {
    let index = node.live.index();
    let older = match (request.from, request.since.as_deref()) {
        (Some(_), Some(_)) => {
            return Err(Problem::bad(
                "from and since both say what to compare with",
                "choose one of them",
            ));
        }
        (Some(number), None) => {
            if number > to.number {
                // A table that does not exist is reported as such.
                index.snapshot(number).await?;
                return Err(Problem::bad(
                    format!("from ({number}) is newer than to ({})", to.number),
                    "name the older one first",
                ));
            }
            vec![number]
        }
        (None, Some(since)) => {
            let since = humantime::parse_duration(since).map_err(|_| {
                Problem::bad("since is no length of time", "write it as 1d, 12h or 30min")
            })?;
            let ago = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
            let before = chrono::Utc::now().timestamp_millis().saturating_sub(ago);
            let found = index.snapshot_before(to.number, before).await?;
            found.into_iter().map(|it| it.number).collect()
        }
        (None, None) => index.snapshots_before(to.number).await?,
    };
    if older.is_empty() {
        // The index has vanished, perhaps.
        index.require_newest().await?;
        return Err(Problem::bad(
            format!("there is no snapshot before {}", to.number),
            "older ones were collected; the list of snapshots shows what there is",
        ));
    }
    Ok(older)
}

fn to_diff(from: u64, to: u64, changes: TableChanges, limit: usize) -> Diff {
    let size = |size: limn_segment::diff::TableSize, is_new: bool| TableDiff {
        rows_before: size.rows.filter(|_| !is_new),
        rows_after: size.rows.filter(|_| is_new),
        replaces: size.replaces,
        ..TableDiff::of(size.lake, size.table)
    };
    Diff {
        from,
        to,
        counts: Counts {
            appeared: changes.appeared.len(),
            renamed: changes.renamed.len(),
            changed: changes.changed.len(),
            vanished: changes.vanished.len(),
        },
        appeared: changes
            .appeared
            .into_iter()
            .take(limit)
            .map(|it| size(it, true))
            .collect(),
        renamed: changes
            .renamed
            .into_iter()
            .take(limit)
            .map(|it| TableRename {
                from: it.from,
                to: it.to,
                lake: it.lake,
            })
            .collect(),
        changed: changes
            .changed
            .into_iter()
            .take(limit)
            .map(changed)
            .collect(),
        vanished: changes
            .vanished
            .into_iter()
            .take(limit)
            .map(|it| size(it, false))
            .collect(),
    }
}

impl TableDiff {
    fn of(lake: String, table: String) -> TableDiff {
        TableDiff {
            table,
            lake,
            rows_before: None,
            rows_after: None,
            columns: Vec::new(),
            contexts_added: 0,
            contexts_removed: 0,
            unreadable: None,
            replaces: Vec::new(),
        }
    }
}

pub(super) fn changed(change: limn_segment::diff::TableChange) -> TableDiff {
    let mut diff = TableDiff::of(change.lake, change.table);
    if let Some(schema) = change.schema {
        let column = |column: String, change: &str, before, after| ColumnChange {
            column,
            change: change.to_owned(),
            before,
            after,
        };
        let added = schema.added.into_iter();
        diff.columns
            .extend(added.map(|name| column(name, "added", None, None)));
        let dropped = schema.dropped.into_iter();
        diff.columns
            .extend(dropped.map(|name| column(name, "dropped", None, None)));
        let renamed = schema.renamed.into_iter();
        diff.columns
            .extend(renamed.map(|it| column(it.to.clone(), "renamed", Some(it.from), Some(it.to))));
        let retyped = schema.retyped.into_iter();
        diff.columns
            .extend(retyped.map(|it| column(it.column, "retyped", Some(it.from), Some(it.to))));
    }
    if let Some(rows) = change.rows {
        (diff.rows_before, diff.rows_after) = (rows.from, rows.to);
    }
    if let Some(context) = change.context {
        (diff.contexts_added, diff.contexts_removed) = (context.added.len(), context.removed.len());
    }
    diff.unreadable = change.readable.map(|it| it.error.unwrap_or_default());
    diff.replaces = change.replaces;
    diff
}

/// Leaves of a failure what the caller may know.
pub(super) fn hide_failure(grant: &Grant, diff: &mut TableDiff) {
    if let Some(error) = diff.unreadable.as_mut().filter(|error| !error.is_empty()) {
        *error = grant.failure(error);
    }
}
