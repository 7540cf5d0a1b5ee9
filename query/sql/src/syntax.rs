//! A query as its syntax, for who takes it apart before it runs.
//!
//! Whatever walks a query calls itself once a level, so it is taken apart on a thread whose stack is
//! large enough for the longest text that is parsed (`size.rs`).

use std::panic::resume_unwind;

pub use datafusion::sql::sqlparser::ast;

use crate::error::SqlError;
use crate::size;
use crate::statement::Statement;

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
