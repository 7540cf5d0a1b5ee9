//! The columns and cells of tables that a program needs to answer a question.
//!
//! Tables are those of the caller's view, looked up or found before anything is read of them. Who
//! may not read values gets columns alone. What was counted of a table is kept in this process, by
//! the version of its files: a caller that gets it has passed the access check before.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use limn_cells::{
    Asked, CellsAnswer, Distinct, K, Kept, MOST, MOST_TABLES, Read, TABLES, Table, answer, key,
    redact_of,
};
use limn_retrieval::RetrievalError;
use limn_segment::{TableKey, TableRecord};
use limn_store::one_line;
use moka::sync::Cache;
use serde::Deserialize;
use utoipa::ToSchema;

use super::joins::known_joins;
use super::search::{SearchRequest, search};
use super::sets::{SearchMode, WITHOUT_JOINS};
use super::sql::{cells_until, may_read_rows, read_cells};
use super::{Grant, bounded, short_enough};
use crate::access::Right;
use crate::node::Node;
use crate::problem::Problem;

/// Bytes of a question, and of a name.
const QUESTION: usize = 4_000;
const NAME: usize = 4_000;
/// KiB of values that are kept.
const KEPT_KIB: u64 = 128 << 10;
/// KiB of the vectors of a table's values, at most.
const VECTORS_KIB: usize = 320;

/// A question, and the tables that are to answer it.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CellsRequest {
    /// The question in plain words.
    pub q: String,
    /// The names of the tables, at most 10; the first 5 that a search finds if nothing is said.
    #[serde(default)]
    pub tables: Option<Vec<String>>,
    /// Their lake's URL, where several lakes have tables of these names.
    #[serde(default)]
    pub lake: Option<String>,
    /// `set`: of the tables that answer the question together, if none are named.
    #[serde(default)]
    pub mode: Option<SearchMode>,
    /// Only tables at this path or below it, if none are named.
    #[serde(default)]
    pub prefix: Option<String>,
    /// Columns for each part of the question, and cells for each run of its words: 1 to 50, 5 if
    /// nothing is said.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 50)]
    pub k: Option<usize>,
    /// Seconds that reading the tables may take, at most; the node's own limit if nothing is said.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub timeout_s: Option<u64>,
}

/// Values of tables, by what they depend on.
pub struct KeptCells {
    kept: Cache<u128, Arc<Kept>>,
}

impl std::fmt::Debug for KeptCells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeptCells").finish_non_exhaustive()
    }
}

impl Default for KeptCells {
    fn default() -> KeptCells {
        let kib = |_: &u128, kept: &Arc<Kept>| {
            let kib = (kept.bytes() >> 10) + VECTORS_KIB;
            u32::try_from(kib).unwrap_or(u32::MAX)
        };
        KeptCells {
            kept: Cache::builder().weigher(kib).max_capacity(KEPT_KIB).build(),
        }
    }
}

impl KeptCells {
    /// What is known of a table's values: in this process, or in the index, where `limn cells` has
    /// put it. An index that cannot give it costs time, nothing else.
    async fn get(&self, node: &Node, key: u128) -> Option<Arc<Kept>> {
        if let Some(kept) = self.kept.get(&key) {
            return Some(kept);
        }
        let bytes = match node.live.index().kept_cells(key).await {
            Ok(bytes) => bytes?,
            Err(error) => {
                tracing::warn!(%error, "kept cells cannot be read");
                return None;
            }
        };
        let kept = Arc::new(Kept::from(Distinct::from_bytes(&bytes)?));
        self.kept.insert(key, Arc::clone(&kept));
        Some(kept)
    }
}

/// Gives the columns and cells that a question needs.
///
/// # Errors
/// A request that makes no sense, a table that is none of the caller's, an index or a model that
/// cannot be used.
pub async fn cells(
    node: &Arc<Node>,
    grant: &Grant,
    request: &CellsRequest,
) -> Result<CellsAnswer, Problem> {
    grant.require(Right::Search)?;
    let question = short_enough("the question", &request.q, QUESTION)?;
    if question.trim().is_empty() {
        return Err(Problem::bad("the question is empty", "ask in plain words"));
    }
    if request.timeout_s == Some(0) {
        return Err(Problem::bad("timeout_s is 0", "choose from 1 on"));
    }
    let k = bounded("k", request.k, K, MOST)?;
    let asked = Arc::new(Asked::of(question));
    let timeout_s = request.timeout_s;
    let until = cells_until(node, grant, timeout_s);
    let mut notes = Vec::new();
    let keys = match request.tables.as_deref().unwrap_or_default() {
        [] => found(node, grant, request).await?,
        names => named(grant, names, request)?,
    };
    if keys.is_empty() {
        let prefix = request.prefix.as_deref();
        let empty = prefix.filter(|it| grant.view.table_list.under(it).next().is_none());
        notes.push(empty.map_or_else(
            || "no table was found for the question".to_owned(),
            |prefix| format!("no table lies at '{}' or below it", one_line(prefix)),
        ));
    }
    let mut columns = node.columns.of(node, grant, keys.iter().cloned()).await?;
    let mut records = {
        let _turn = node.row_turn().await?;
        node.live.rows(&grant.view, &keys).await?
    };
    let mut tables = Vec::with_capacity(keys.len());
    for key in keys {
        match (records.remove(&key), columns.remove(&key)) {
            (Some(record), Some(columns)) => tables.push((record, columns)),
            // Its row was removed since, or another limn has written it.
            _ => notes.push(format!("'{}' cannot be read now", one_line(&key.name))),
        }
    }
    let (tables, columns): (Vec<TableRecord>, Vec<_>) = tables.into_iter().unzip();
    let read = read(node, grant, tables, &asked, (timeout_s, until), &mut notes).await?;
    let read = read.into_iter().zip(columns);
    let reads = read.map(|(read, columns)| Read {
        columns,
        table: read.0,
        kept: read.1,
        probed: read.2,
    });
    let reads: Vec<Read> = reads.collect();
    let joins = known_joins(node, grant, until, WITHOUT_JOINS, &mut notes).await;
    let (sets, snapshot) = (Arc::clone(&node.sets), grant.view.snapshot.number);
    let choosing = move || answer((&sets, &joins), &asked, k, snapshot, &reads, until, notes);
    let answered = node.compute(choosing).await?;
    Ok(answered.map_err(RetrievalError::from)?)
}

/// What was read of a table.
type Values = (Table, Option<Arc<Kept>>, Option<Distinct>);

/// Reads tables, as far as the caller may read values, and the node reads rows.
async fn read(
    node: &Node,
    grant: &Grant,
    tables: Vec<TableRecord>,
    asked: &Arc<Asked>,
    (timeout_s, until): (Option<u64>, Instant),
    notes: &mut Vec<String>,
) -> Result<Vec<Values>, Problem> {
    let shows = grant.shows_values;
    if !may_read_rows(node, grant) {
        notes.push(match shows {
            true => "this node reads no rows: cells are those that the index knows".to_owned(),
            false => "values are not shown to this caller: there are columns only".to_owned(),
        });
        let known = |record| (Table::of_record(record, shows), None, None);
        return Ok(tables.iter().map(known).collect());
    }
    let mut wanted = Vec::with_capacity(tables.len());
    let mut keys = Vec::with_capacity(tables.len());
    for record in tables {
        let redact = redact_of(&grant.view.snapshot, &record.lake);
        let key = key(&record, redact);
        let kept = node.cells.get(node, key).await;
        keys.push(key);
        wanted.push((record, redact, kept));
    }
    let readings = read_cells(node, grant, wanted, Arc::clone(asked), (timeout_s, until)).await?;
    let values = readings
        .into_iter()
        .zip(keys)
        .map(|((reading, note), key)| {
            notes.extend(note);
            if let Some(kept) = &reading.kept {
                node.cells.kept.insert(key, Arc::clone(kept));
            }
            (reading.table, reading.kept, reading.probed)
        });
    Ok(values.collect())
}

/// The tables of these names, each once.
fn named(
    grant: &Grant,
    names: &[String],
    request: &CellsRequest,
) -> Result<Vec<TableKey>, Problem> {
    if names.len() > MOST_TABLES {
        return Err(Problem::bad(
            format!("{} tables are named", names.len()),
            format!("name at most {MOST_TABLES}"),
        ));
    }
    if request.prefix.is_some() || request.mode == Some(SearchMode::Set) {
        return Err(Problem::bad(
            "tables are named, and prefix or mode: set is given",
            "name tables, or leave it to a search by prefix and mode",
        ));
    }
    let mut seen = HashSet::new();
    let mut keys = Vec::with_capacity(names.len());
    for name in names {
        let name = short_enough("the name of a table", name, NAME)?;
        let key = grant.table(name, request.lake.as_deref())?.key.to_key();
        if seen.insert(key.clone()) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// The tables that a search finds.
async fn found(
    node: &Node,
    grant: &Grant,
    request: &CellsRequest,
) -> Result<Vec<TableKey>, Problem> {
    if request.lake.is_some() {
        return Err(Problem::bad(
            "a lake is given and no tables",
            "name the tables, too, or leave the lake out",
        ));
    }
    let is_set = request.mode == Some(SearchMode::Set);
    let request = SearchRequest {
        q: request.q.clone(),
        mode: request.mode,
        k: (!is_set).then_some(TABLES),
        prefix: request.prefix.clone(),
        blocks: Some(0),
        judge: Some(false),
        ..SearchRequest::default()
    };
    let found = search(node, grant, request).await?;
    let key = |line: super::TableLine| TableKey {
        lake: line.lake,
        name: line.table,
    };
    Ok(found
        .results
        .into_iter()
        .map(|result| key(result.line))
        .collect())
}
