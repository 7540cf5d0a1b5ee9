//! The tables that a statement's caller may see, as the engine looks them up.
//!
//! Names are looked up on the view's table list, which has them in order. All that the index knows
//! of a table (its files with their summaries) is read from the catalog when a statement names it,
//! on the thread that plans the statement.

use std::sync::Arc;
use std::time::Instant;

use limn_segment::{TableKey, TableRecord};
use limn_sql::{Answer, Catalogue, Engine, Limits, Line, SqlError, Tables};
use tokio::runtime::Handle;

use super::{problems, within};
use crate::answers::Grant;
use crate::node::Node;
use crate::problem::Problem;

/// The tables of a view.
pub(super) struct Seen {
    node: Arc<Node>,
    grant: Grant,
    runtime: Handle,
}

impl Seen {
    /// Those that this caller may see. Must be called on a tokio runtime, which then reads the
    /// index.
    pub(super) fn by(grant: &Grant, node: &Arc<Node>) -> Seen {
        Seen {
            node: Arc::clone(node),
            grant: grant.clone(),
            runtime: Handle::current(),
        }
    }
}

impl Tables for Seen {
    fn called(&self, last_part: &str) -> Vec<TableKey> {
        let found = self.grant.view.table_list.called(last_part);
        found.map(|table| table.key.to_key()).collect()
    }

    fn lines(&self) -> Box<dyn Iterator<Item = Line<'_>> + '_> {
        Box::new(self.grant.view.table_list.tables().map(|table| Line {
            lake: table.key.lake,
            name: table.key.name,
            rows: table.rows,
            columns: table.column_count,
        }))
    }

    fn lakes(&self) -> Vec<&str> {
        self.grant.view.table_list.lakes()
    }

    fn record(&self, key: &TableKey) -> Result<Arc<TableRecord>, SqlError> {
        let read = self.runtime.block_on(self.grant.row(&self.node, key));
        read.map(Arc::new)
            .map_err(|problem| SqlError::Catalogue(Box::new(problem)))
    }
}

/// Begins to run a statement over these tables, with what is left of its time.
pub(super) async fn begun(
    node: &Node,
    catalogue: Catalogue,
    statement: &str,
    limits: &Limits,
    until: Instant,
) -> Result<Answer, Problem> {
    let sql = node.sql.as_ref().ok_or_else(Problem::internal)?;
    let engine = Engine::new(catalogue, within(limits, until)?);
    let statement = statement.to_owned();
    let home = sql.home();
    let answer = home.run(async move { engine.run(&statement).await });
    answer
        .await?
        .map_err(|error| problems::problem(&error, limits))
}
