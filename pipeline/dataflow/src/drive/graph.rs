//! Driving the join graph: what a commit asks of it is fed, beside the epochs.

use std::sync::mpsc;

use tokio::sync::oneshot;

use crate::changes::Epoch;
use crate::graph::{EdgeUpdate, MemberUpdate, TableUpdate, ToCompare};
use crate::job::GraphInputs;

/// Tables that are fed to the join graph before the workers go on: their bands are many times as
/// many.
const FED_AT_A_TIME: usize = 256;
/// Members of bands that are.
const MEMBERS_AT_A_TIME: usize = 64 * FED_AT_A_TIME;

/// Feeds the join graph, one change after the other.
pub(super) struct GraphDriver {
    inputs: GraphInputs,
    edges: mpsc::Receiver<EdgeUpdate>,
    asked: Option<mpsc::Receiver<ToCompare>>,
    next: Epoch,
    /// What is still to be fed of the epoch before.
    feeding: Vec<TableUpdate>,
    feeding_members: Vec<MemberUpdate>,
    /// Who waits for what is fed.
    comparing: Option<oneshot::Sender<Vec<EdgeUpdate>>>,
}

impl GraphDriver {
    /// A driver that feeds what is `asked` into `inputs`, and gives back what comes out as `edges`.
    pub(super) fn new(
        inputs: GraphInputs,
        edges: mpsc::Receiver<EdgeUpdate>,
        asked: Option<mpsc::Receiver<ToCompare>>,
    ) -> Self {
        Self {
            inputs,
            edges,
            asked,
            next: 0,
            feeding: Vec::new(),
            feeding_members: Vec::new(),
            comparing: None,
        }
    }

    /// Whether somebody waits for an answer.
    pub(super) fn is_busy(&self) -> bool {
        self.comparing.is_some()
    }

    /// Answers who waits, and feeds what is asked next.
    pub(super) fn go_on(&mut self) {
        let is_done = !self.inputs.done.less_than(&self.next);
        if let Some(waits) = self.comparing.take_if(|_| is_done) {
            let _ = waits.send(self.edges.try_iter().collect());
        }
        let asked = self.asked.as_ref().filter(|_| self.comparing.is_none());
        if let Some(asked) = asked.and_then(|asked| asked.try_recv().ok()) {
            self.feeding = asked.tables;
            self.feeding_members = asked.looked_up;
            self.comparing = Some(asked.done);
            self.next += 1;
        }
        if *self.inputs.tables.time() < self.next {
            self.feed();
        }
    }

    /// Feeds some of what is still to be fed, and ends the epoch with the last of it.
    fn feed(&mut self) {
        let from = |count: usize, most: usize| count.saturating_sub(most)..;
        let tables = from(self.feeding.len(), FED_AT_A_TIME);
        for (table, diff) in self.feeding.drain(tables) {
            self.inputs.tables.update(table, diff);
        }
        let members = from(self.feeding_members.len(), MEMBERS_AT_A_TIME);
        for (member, diff) in self.feeding_members.drain(members) {
            self.inputs.looked_up.update(member, diff);
        }
        if self.feeding.is_empty() && self.feeding_members.is_empty() {
            self.inputs.tables.advance_to(self.next);
            self.inputs.looked_up.advance_to(self.next);
        }
        self.inputs.tables.flush();
        self.inputs.looked_up.flush();
    }
}
