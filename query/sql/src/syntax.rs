//! A query as its syntax, to be taken apart before it runs.
//!
//! Whatever walks a query calls itself once a level, so it is taken apart on a thread whose stack
//! is large enough for the longest text that is parsed (`size.rs`).

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;

pub use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::ast::{ObjectName, Query, Visitor};
use limn_segment::TableRecord;

use crate::error::SqlError;
use crate::statement::Statement;
use crate::{Engine, names, size};

pub mod walk;

use walk::{each_relation_mut, walk};

/// A query that names its tables by one word each, and what these are.
#[derive(Clone, Debug)]
pub struct Named {
    /// The query.
    pub statement: String,
    /// The tables, by the names that it gives them.
    pub tables: BTreeMap<String, Arc<TableRecord>>,
}

impl Engine {
    /// The tables that a query names, as if it were to run. May wait for the index.
    ///
    /// # Errors
    /// It is no query that reads, or names a table that there is not, or not one alone.
    pub fn named(&self, sql: &str) -> Result<Named, SqlError> {
        with_query(sql, |query| self.named_in(query))?
    }

    fn named_in(&self, mut query: Query) -> Result<Named, SqlError> {
        let mut withs = Withs::default();
        let _ = walk(&query, &mut withs);
        let mut tables: BTreeMap<String, Arc<TableRecord>> = BTreeMap::new();
        let failed = each_relation_mut(&mut query, |relation| {
            let written = names::parts(relation);
            let is_with = |name: &str| withs.0.contains(&name.to_lowercase());
            if matches!(written.as_slice(), [one] if is_with(one)) {
                return ControlFlow::Continue(());
            }
            let record = match self.catalogue().record(&written) {
                Ok(record) => record,
                Err(error) => return ControlFlow::Break(error),
            };
            // Columns may be called by the last part.
            let own = written
                .last()
                .map(|it| (*it).to_owned())
                .unwrap_or_default();
            let is_other = |it: &Arc<TableRecord>| it.key() != record.key();
            if tables.get(&own).is_some_and(is_other) {
                return ControlFlow::Break(SqlError::AmbiguousTable {
                    name: own,
                    tables: tables.values().map(|it| it.name.clone()).collect(),
                });
            }
            if let Some(last) = relation.0.pop() {
                *relation = ObjectName(vec![last]);
            }
            tables.insert(own, record);
            ControlFlow::Continue(())
        });
        match failed {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(Named {
                statement: query.to_string(),
                tables,
            }),
        }
    }
}

/// The names of the queries of WITH, in small letters.
#[derive(Default)]
struct Withs(Vec<String>);

impl Visitor for Withs {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let withs = query.with.iter().flat_map(|it| &it.cte_tables);
        self.0
            .extend(withs.map(|it| it.alias.name.value.to_lowercase()));
        ControlFlow::Continue(())
    }
}

/// Parses a query, and gives what `work` makes of it.
///
/// # Errors
/// It is no query that reads, is too large, or there is no thread for it.
pub fn with_query<T: Send>(
    sql: &str,
    work: impl FnOnce(ast::Query) -> T + Send,
) -> Result<T, SqlError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("limn-sql".to_owned())
            .stack_size(size::STACK);
        let running = thread.spawn_scoped(scope, || query(sql).map(work));
        let running = running
            .map_err(|error| SqlError::Execution(format!("a thread cannot be started: {error}")))?;
        running.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// The parsed query, for short texts of one's own; others go through [`with_query`].
///
/// # Errors
/// It is no query that reads, or is too large.
pub fn query(sql: &str) -> Result<ast::Query, SqlError> {
    match Statement::parse(sql)? {
        Statement::Query(query) => Ok(*query),
        _ => Err(SqlError::Unsupported(
            "statement here but SELECT, WITH and VALUES".to_owned(),
        )),
    }
}
