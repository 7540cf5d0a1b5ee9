//! A statement with semantic functions, as a plan of stages.
//!
//! Five functions stand in SQL for what a language model does with rows: `sem_filter`, `sem_map`,
//! `sem_topk`, `sem_agg` and `sem_fact` (TAG, CIDR 2025; `docs/plan.md`). [`compile`] takes them
//! out of the outermost SELECT. What is left of its FROM and WHERE runs first, as SQL that selects
//! the columns that the rest needs; then come the semantic stages over those rows, and SQL over
//! what they give: groups, orders, limits, the SELECT list.
//!
//! **Guarantees.** The plan gives the rows that the statement would if the functions were functions
//! of SQL: WHERE is split at its ANDs alone, and where a function stands anywhere else the
//! statement is refused with the function and the place. No row reaches a model that other
//! conditions leave out.
//!
//! **Non-guarantees.** That columns exist: planning the stages says so, as for any plan.

mod call;
mod columns;
mod error;
mod maps;
mod outer;
mod place;
mod ranked;
mod scope;
mod select;
mod split;
mod stages;
mod summed;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use call::Function;
pub use error::NotCompiled;
use limn_sql::{Engine, syntax};
pub use place::Place;

use crate::plan::{Operation, Plan, Source, SqlStage, Stage};

/// A table that a statement names.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it is.
    pub source: Source,
    /// The names of its columns: in WHERE they come before the aliases of maps.
    pub columns: Vec<String>,
}

/// The stages of a statement over these tables, the last of which has its rows; `None` for one
/// without semantic functions, which is SQL as it is.
///
/// # Errors
/// It is no query that reads, or has a function where it cannot stand.
pub fn compile(
    statement: &str,
    tables: &BTreeMap<String, Table>,
) -> Result<Option<Vec<Stage>>, NotCompiled> {
    syntax::with_query(statement, |query| select::compiled(query, tables))?
}

/// The plan of a statement that names tables as `limn sql` does, with semantic functions or
/// without.
///
/// # Errors
/// As [`compile`]; a table that there is not.
pub fn plan_of(engine: &Engine, statement: &str, question: String) -> Result<Plan, NotCompiled> {
    let named = engine.named(statement)?;
    let tables = named.tables.iter().map(|(own, record)| {
        let table = Table {
            source: Source::Table {
                name: record.name.clone(),
                lake: Some(record.lake.clone()),
            },
            columns: record.columns.iter().map(|it| it.name.clone()).collect(),
        };
        (own.clone(), table)
    });
    let tables: BTreeMap<String, Table> = tables.collect();
    let stages = compile(&named.statement, &tables)?;
    let stages = stages.unwrap_or_else(|| {
        let inputs = tables.into_iter().map(|(own, it)| (own, it.source));
        let (inputs, statement) = (inputs.collect(), named.statement);
        vec![Stage {
            name: stages::ANSWER.to_owned(),
            operation: Operation::Sql(SqlStage { inputs, statement }),
            columns: None,
        }]
    });
    Ok(Plan::of(question, stages))
}
