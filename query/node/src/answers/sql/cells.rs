//! Values of tables for a question: counted by statements, with their rights, limits and turn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use limn_cells::{Asked, Kept, Reading};
use limn_profile::Redact;
use limn_segment::TableRecord;
use limn_sql::{Catalogue, Engine, Limits};

use super::problems::problem;
use super::{admitted, deadline};
use crate::answers::Grant;
use crate::node::Node;
use crate::problem::Problem;

/// A table that is to be read, whose values the index keeps out, and what is kept of them.
pub(in crate::answers) type Wanted = (TableRecord, Redact, Option<Arc<Kept>>);

/// When an answer has to be there.
pub(in crate::answers) fn until(node: &Node, grant: &Grant, timeout_s: Option<u64>) -> Instant {
    let sql = node.sql.as_ref();
    let limits = sql.map(|sql| sql.options.limits(None, timeout_s));
    limits.map_or(grant.until, |limits| deadline(grant, &limits))
}

/// Reads tables for a question, one after the other, in one turn of the caller's. Each has a note
/// of what could not be read.
///
/// # Errors
/// A caller without the rights; as many statements are running as may.
pub(in crate::answers) async fn read(
    node: &Node,
    grant: &Grant,
    tables: Vec<Wanted>,
    asked: Arc<Asked>,
    (timeout_s, until): (Option<u64>, Instant),
) -> Result<Vec<(Reading, Option<String>)>, Problem> {
    let sql = admitted(node, grant)?;
    let limits = Limits {
        // The statements have limits of their own.
        max_rows: None,
        ..sql.options.limits(None, timeout_s)
    };
    let turn = sql.turn(&grant.caller).await?;
    // An answer is made of what is there when four fifths of the time that is left are over.
    let left = until.saturating_duration_since(Instant::now());
    let until = Instant::now() + left * 4 / 5;
    let lakes = sql.lakes();
    let reading = async move {
        let _turn = turn;
        let mut read = Vec::with_capacity(tables.len());
        for (record, redact, kept) in tables {
            let lakes = Arc::clone(&lakes);
            let catalogue = Catalogue::new([record.clone()], move |url| lakes.open(url));
            let catalogue = Arc::new(catalogue);
            let engine = || {
                let left = until.saturating_duration_since(Instant::now());
                let limits = Limits {
                    timeout: left.max(Duration::from_millis(1)),
                    ..limits.clone()
                };
                Engine::new(Arc::clone(&catalogue), limits)
            };
            let reading = limn_cells::read(&engine, (&record, redact), kept, &asked).await;
            let failure = reading.failure.as_ref();
            let note = failure.map(|error| reading.note(&problem(error, &limits).message));
            read.push((reading, note));
        }
        read
    };
    sql.home().run(reading).await
}
