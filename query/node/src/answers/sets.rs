//! The tables that answer a question together, and how they join.
//!
//! Candidates are those of the caller's view: nobody learns of a table, or a join to it, that he
//! may not see. Who may not read values gets joins by names alone: how values overlap would confirm
//! a guess.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use limn_retrieval::Query;
use limn_segment::TableKey;
use limn_sets::{Join, MOST_TABLES, Plan, SetQuery, SetSize, TableColumns};
use moka::sync::Cache;
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::filter::Filter;
use super::joins::known_joins;
use super::search::{SearchAnswer, SearchRequest, filter, written};
use super::{Grant, bounded};
use crate::live::View;
use crate::node::Node;
use crate::problem::Problem;

/// What is done where the index's joins are not known.
pub(super) const WITHOUT_JOINS: &str = "tables join by how alike their columns are";
/// KiB of columns that are kept.
const KEPT_KIB: u64 = 128 << 10;

/// What is wanted of a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchMode {
    /// Tables that answer it, best first.
    #[default]
    Tables,
    /// Tables that answer it together, and how they join.
    Set,
}

/// How the tables of a set join.
#[derive(Debug, Serialize, ToSchema)]
pub struct SetPlan {
    /// What the question was read as.
    pub parts: Vec<String>,
    /// One join for each table but the first, each to a table that is there already.
    pub joins: Vec<SetJoin>,
    /// A statement that joins the tables, for `/v1/sql`; of those that are connected.
    pub sql: String,
    /// Where rows multiply.
    pub warnings: Vec<String>,
    /// Tables of the set that nothing connects to the first.
    pub disconnected: Vec<String>,
    /// How much better another set of this size may be, as a share: 0 unless there was no time to
    /// look at all of them.
    pub gap: f64,
}

/// How two tables of a set join.
#[derive(Debug, Serialize, ToSchema)]
pub struct SetJoin {
    /// The column that refers.
    pub left: SetColumn,
    /// The column that is referred to.
    pub right: SetColumn,
    /// The other columns of a key of several, each left and right.
    pub more: Vec<[String; 2]>,
    /// Rows of the left side to rows of the right: `1:1`, `n:1`, `n:m` or `unknown`.
    pub cardinality: String,
    /// The share of the left column's values that the right one has, at least; null where that is
    /// not known, and for a key that may not see values.
    pub containment: Option<f64>,
    /// Why they are thought to join.
    pub evidence: String,
    /// How well they join, 0 to 1.
    pub score: f64,
}

/// A column of a table of a set.
#[derive(Debug, Serialize, ToSchema)]
pub struct SetColumn {
    /// The table.
    pub table: String,
    /// The URL of its lake.
    pub lake: String,
    /// The column.
    pub column: String,
}

impl SetJoin {
    fn of(join: &Join) -> SetJoin {
        let column = |of: &limn_sets::ColumnOf| SetColumn {
            table: of.table.clone(),
            lake: of.lake.clone(),
            column: of.column.clone(),
        };
        SetJoin {
            left: column(&join.left),
            right: column(&join.right),
            more: join.more.clone(),
            cardinality: join.cardinality.as_str().to_owned(),
            containment: join.containment,
            evidence: join.evidence.clone(),
            score: join.weight,
        }
    }
}

impl SetPlan {
    fn of(plan: &Plan, parts: Vec<String>, gap: f64) -> SetPlan {
        SetPlan {
            parts,
            joins: plan.joins.iter().map(|join| SetJoin::of(join)).collect(),
            sql: plan.sql.clone(),
            warnings: plan.warnings.clone(),
            disconnected: plan.disconnected.clone(),
            gap,
        }
    }
}

/// A table's row in the catalog (its file's path, which no other content has), and whether values
/// may be seen.
type Row = (String, TableKey, bool);

/// Columns of candidates, kept between questions.
pub struct SetColumns {
    kept: Cache<Row, Arc<TableColumns>>,
}

impl std::fmt::Debug for SetColumns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SetColumns").finish_non_exhaustive()
    }
}

impl SetColumns {
    /// None yet; each column will have vectors of so many dimensions.
    pub fn new(dimensions: usize) -> SetColumns {
        let kib = move |_: &Row, columns: &Arc<TableColumns>| {
            u32::try_from(columns.bytes(dimensions) >> 10).map_or(u32::MAX, |kib| kib + 1)
        };
        SetColumns {
            kept: Cache::builder().weigher(kib).max_capacity(KEPT_KIB).build(),
        }
    }

    /// The columns of tables; a table whose row was removed since, or that another limn has
    /// written, has none.
    pub(super) async fn of(
        &self,
        node: &Node,
        grant: &Grant,
        keys: impl Iterator<Item = TableKey>,
    ) -> Result<HashMap<TableKey, Arc<TableColumns>>, Problem> {
        let mut found = HashMap::new();
        let mut missing = HashMap::new();
        for key in keys {
            let Some(file) = grant.view.table_list.file_of(&key) else {
                continue;
            };
            let row = (file.path.clone(), key.clone(), grant.shows_values);
            match self.kept.get(&row) {
                Some(columns) => drop(found.insert(key, columns)),
                None => drop(missing.insert(key, row)),
            }
        }
        if missing.is_empty() {
            return Ok(found);
        }
        let wanted: Vec<TableKey> = missing.keys().cloned().collect();
        let records = {
            let _turn = node.row_turn().await?;
            node.live.rows(&grant.view, &wanted).await?
        };
        for (key, record) in records {
            let columns = match TableColumns::of_row(&record) {
                Ok(columns) if grant.shows_values => columns,
                Ok(columns) => columns.without_values(),
                Err(error) => {
                    tracing::warn!(table = %key, %error, "columns cannot be read");
                    continue;
                }
            };
            let columns = Arc::new(columns);
            if let Some(row) = missing.remove(&key) {
                self.kept.insert(row, Arc::clone(&columns));
            }
            found.insert(key, columns);
        }
        Ok(found)
    }
}

/// Restricts a question to the tables that a filter allows.
pub(super) fn select(view: &View, filter: &Filter, query: &mut Query) -> Result<(), Problem> {
    filter.check(&view.table_list)?;
    let facts = |key: &TableKey| view.table_list.get(key);
    let fits = |key: &TableKey| facts(key).is_some_and(|table| filter.allows(&table));
    query.selection = Some(view.searcher.select(fits).into());
    Ok(())
}

/// Answers a question with a set.
///
/// # Errors
/// As `search`.
pub(super) async fn search(
    node: &Node,
    grant: &Grant,
    request: SearchRequest,
    mut query: Query,
    started: Instant,
) -> Result<SearchAnswer, Problem> {
    if request.judge == Some(true) {
        return Err(Problem::bad(
            "a judge was asked for, which judges tables one by one",
            "choose mode: tables, or judge: false",
        ));
    }
    let size = match request.k {
        Some(k) => SetSize::Given(bounded("k of a set", Some(k), 1, MOST_TABLES)?),
        None => SetSize::Auto,
    };
    let mut notes = Vec::new();
    let known = known_joins(node, grant, grant.until, WITHOUT_JOINS, &mut notes).await;
    let (view, filter) = (grant.view.clone(), filter(&request));
    let ours = known.clone();
    let ranking = move || -> Result<_, Problem> {
        if let Some(filter) = filter {
            select(&view, &filter, &mut query)?;
        }
        let asked = SetQuery {
            query,
            size,
            parts: None,
        };
        let ranked = asked.candidates(&view.searcher, &ours)?;
        Ok((asked, ranked))
    };
    let (asked, ranked) = node.compute(ranking).await??;
    let columns = node.columns.of(node, grant, ranked.tables()).await?;
    let (view, sets) = (grant.view.clone(), Arc::clone(&node.sets));
    let choosing = move || asked.answer(&sets, &view.searcher, &known, ranked, &columns);
    let mut found = node.compute(choosing).await??;
    found.answer.notes.extend(notes);
    let plan = SetPlan::of(&found.plan, found.parts, found.gap);
    let answer = written(node, grant, &request, found.answer, started).await?;
    Ok(SearchAnswer {
        plan: Some(plan),
        ..answer
    })
}
