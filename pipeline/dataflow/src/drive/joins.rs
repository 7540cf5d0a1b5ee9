//! Driving the join graph: at the end of a round, tables that came and went are an epoch of their
//! own.

use std::sync::Arc;

use timely::worker::Worker;
use tokio::sync::oneshot;

use super::{Dataflow, Driver, GivenUp, PARK, ToDo, wait_for_end};
use crate::error::PipelineError;
use crate::graph::{EdgeUpdate, Graph, TableUpdate};

/// Tables that come and go, and who receives the edges that do.
pub(super) struct ToCompare {
    pub(super) tables: Vec<TableUpdate>,
    pub(super) done: oneshot::Sender<Vec<EdgeUpdate>>,
}

impl Dataflow {
    /// The join graph of what the dataflow was fed.
    pub fn graph(&mut self) -> &mut Graph {
        &mut self.graph
    }

    /// Feeds tables that come and go to the join graph; the edges that do.
    ///
    /// # Errors
    /// As [`round`](Self::round).
    pub async fn compare(
        &mut self,
        tables: Vec<TableUpdate>,
    ) -> Result<Vec<EdgeUpdate>, PipelineError> {
        let mut given_up = GivenUp(Some(Arc::clone(&self.job.fatal)));
        let (done, edges) = oneshot::channel();
        let edges = match self.rounds.send(ToDo::Tables(ToCompare { tables, done })) {
            Ok(()) => edges.await.ok(),
            Err(_) => None,
        };
        given_up.0 = None;
        match edges {
            Some(edges) if !self.job.fatal.is_set() => Ok(edges),
            _ => Err(match wait_for_end(&self.job, &mut self.ended).await {
                Err(error) => error,
                Ok(()) => PipelineError::Dataflow("the driver ended before the join graph".into()),
            }),
        }
    }
}

impl Driver {
    /// Feeds tables to the join graph as an epoch of its own, to its end.
    pub(super) fn compare(&mut self, worker: &mut Worker, tables: Vec<TableUpdate>) {
        for (table, diff) in tables {
            self.inputs.tables.update(table, diff);
        }
        self.next += 1;
        self.inputs.advance_to(self.next);
        while self.under_way() > 0 && !self.job.fatal.is_set() {
            worker.step_or_park(Some(PARK));
        }
    }
}
