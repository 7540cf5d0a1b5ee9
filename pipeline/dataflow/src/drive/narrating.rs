//! Narrating: once the lake is published, each process that has a language model asks it for what
//! falls to it, and feeds the tables whose narrations have come.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

use tokio::runtime::Handle;

use crate::inputs::Inputs;
use crate::narrate::asking::Asking;
use crate::narrate::awaiting::AwaitingTable;
use crate::select::Work;

/// What a process feeds of tables that were narrated, on its first worker.
pub(super) struct Narrating {
    asking: Arc<Asking>,
    /// Tables all of whose narrations have come; none once no more come.
    answered: Option<Receiver<AwaitingTable>>,
    /// How many were fed in this epoch.
    fed: usize,
    /// Whether the run was stopped.
    is_stopped: bool,
}

impl Narrating {
    /// Starts asking.
    pub(super) fn start(asking: &Arc<Asking>, runtime: &Handle) -> Self {
        Self {
            answered: Some(asking.start(runtime)),
            asking: Arc::clone(asking),
            fed: 0,
            is_stopped: false,
        }
    }

    /// Feeds what has come, as many tables as an epoch has room for. Where the run was stopped the
    /// others are for the next one, which finds their narrations.
    pub(super) fn feed(&mut self, inputs: &mut Inputs) {
        let room = self.asking.cuts().batch_tables.max(1);
        while let Some(answered) = &self.answered
            && (self.fed < room || self.is_stopped)
        {
            match answered.try_recv() {
                Ok(table) if self.fed < room => {
                    inputs.feed_late(Work::Answered(Box::new(table)));
                    self.fed += 1;
                }
                Ok(_) => {}
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => self.answered = None,
            }
        }
        inputs.flush_late();
    }

    /// An epoch begins: it has room for as many again.
    pub(super) fn next_epoch(&mut self) {
        self.fed = 0;
    }

    /// Whether everything was asked for and fed.
    pub(super) fn is_over(&self) -> bool {
        self.answered.is_none()
    }

    /// Asks for no more: the run was stopped.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        self.asking.stop();
    }
}
