//! The feeder: feeds what a following process has of each epoch once the driver has begun it, and
//! the tables that this process has had narrated.

use timely::worker::Worker;

use super::narrating::Narrating;
use super::sleep::step;
use crate::changes::Epoch;
use crate::inputs::Inputs;
use crate::job::{Job, Stages};
use crate::plan::Epochs;

/// Feeds a process's part of the epochs on its first worker.
pub(super) struct Feeder<'a> {
    inputs: Inputs,
    job: &'a Job,
    stages: &'a Stages,
    epochs: Epochs,
    next: Epoch,
    narrating: Option<Narrating>,
}

impl<'a> Feeder<'a> {
    /// A feeder of these epochs.
    pub(super) fn new(
        mut inputs: Inputs,
        job: &'a Job,
        stages: &'a Stages,
        epochs: Epochs,
    ) -> Self {
        inputs.clock = None;
        Self {
            inputs,
            job,
            stages,
            epochs,
            next: 0,
            narrating: None,
        }
    }

    /// Feeds epochs as long as the driver begins any that this process has something of. An epoch
    /// that it has begun is not published before this process has fed its part, so none is missed.
    pub(super) fn feed(mut self, worker: &mut Worker) {
        while !self.job.fatal.is_set() {
            let begun = self.inputs.begun.with_frontier(|it| it.first().copied());
            match (begun, &mut self.narrating) {
                (Some(begun), _) => self.go_on_to(begun),
                // The driver ends no epoch of the lake before all have fed theirs: there are no
                // more. Models are asked no further: the run was stopped.
                (None, Some(narrating)) => narrating.stop(),
                (None, None) => return,
            }
            if self.inputs.may_narrate.get() && self.narrating.is_none() {
                let asking = self.stages.asking.as_ref();
                self.narrating = asking.map(|it| Narrating::start(it, &self.job.runtime));
            }
            if let Some(narrating) = &mut self.narrating {
                narrating.feed(&mut self.inputs);
            }
            let narrates = match &self.narrating {
                Some(narrating) => !narrating.is_over(),
                None => self.stages.asking.is_some(),
            };
            if self.epochs.left() == 0 && !narrates {
                return;
            }
            step(worker, true);
        }
    }

    /// Feeds this process's part of the epochs before this one.
    fn go_on_to(&mut self, begun: Epoch) {
        while self.next < begun {
            match self.epochs.next() {
                Some(epoch) => self.inputs.feed(self.next, epoch),
                None => self.inputs.advance_to(self.next + 1),
            }
            self.next += 1;
            if let Some(narrating) = &mut self.narrating {
                narrating.next_epoch();
            }
        }
    }
}
