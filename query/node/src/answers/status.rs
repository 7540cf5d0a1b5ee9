//! How the index and the node are.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Grant, may_ask, may_describe, may_read_rows, time};
use crate::access::Right;
use crate::node::Node;
use crate::problem::Problem;

/// Failures of one answer.
const FAILURES: usize = 100;

/// How the index and the node are. Of tables only those count that the caller may see.
#[derive(Debug, Serialize, ToSchema)]
pub struct Status {
    /// The snapshot that is served.
    pub snapshot: u64,
    /// When it was published.
    pub published: Option<String>,
    /// When this node opened it.
    pub opened: Option<String>,
    /// How many seconds ago the index was last looked at.
    pub seen_s: u64,
    /// Its tables.
    pub tables: usize,
    /// Their columns.
    pub columns: u64,
    /// Segments of the index; for callers who see all of it.
    pub segments: Option<usize>,
    /// Bytes of the index; likewise.
    pub index_bytes: Option<u64>,
    /// Tables of which the newest version could not be read, at most 100 of them.
    pub failures: Vec<Failure>,
    /// How many there are.
    pub failure_count: usize,
    /// The embedder of the index.
    pub embedder: String,
    /// Who judges, if anybody does.
    pub judge: Option<Judging>,
    /// limn's version.
    pub version: String,
    /// Seconds since the node was started.
    pub uptime_s: u64,
    /// What the caller may do.
    pub rights: Vec<Right>,
    /// The paths that the caller may see; null for everything.
    pub prefixes: Option<Vec<String>>,
    /// Whether values of rows are shown.
    pub previews: bool,
    /// Whether the caller may write descriptions of tables, here.
    pub descriptions: bool,
    /// Whether the caller may ask for rows of tables, and in SQL, here.
    pub sql: bool,
    /// Whether the caller may have questions answered, here.
    pub ask: bool,
}

/// A table that could not be read.
#[derive(Debug, Serialize, ToSchema)]
pub struct Failure {
    /// The table.
    pub table: String,
    /// Its lake.
    pub lake: String,
    /// What failed, on which object, why and what to do.
    pub error: String,
}

/// The language model that judges.
#[derive(Debug, Serialize, ToSchema)]
pub struct Judging {
    /// Its name.
    pub model: String,
}

/// How the index and the node are.
///
/// # Errors
/// A caller without the right to ask.
pub fn status(node: &Node, grant: &Grant) -> Result<Status, Problem> {
    grant.require(Right::Search)?;
    let view = &grant.view;
    let sees_all = view.reach.paths().is_none();
    let failing = || {
        view.table_list
            .tables()
            .filter_map(|table| Some((table, table.error?)))
    };
    let failures = failing().take(FAILURES).map(|(table, error)| Failure {
        table: table.key.name.to_owned(),
        lake: table.key.lake.to_owned(),
        error: grant.failure(error),
    });
    Ok(Status {
        snapshot: view.snapshot.number,
        published: time(view.snapshot.created_ms),
        opened: time(view.opened.timestamp_millis()),
        seen_s: node.live.unseen().as_secs(),
        tables: view.table_list.tables().len(),
        columns: view.table_list.columns(),
        segments: sees_all.then_some(view.snapshot.segments.len()),
        index_bytes: sees_all.then(|| view.snapshot.bytes()),
        failures: failures.collect(),
        failure_count: failing().count(),
        embedder: view.snapshot.embedder.clone(),
        judge: node.judge.as_ref().map(|judge| Judging {
            model: judge.model().id().to_string(),
        }),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        uptime_s: node.started.elapsed().as_secs(),
        rights: grant.caller.rights.to_vec(),
        prefixes: view.reach.paths().map(<[String]>::to_vec),
        previews: grant.shows_values,
        descriptions: may_describe(node, grant),
        sql: may_read_rows(node, grant),
        ask: may_ask(node, grant),
    })
}
