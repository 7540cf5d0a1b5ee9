//! The feeder: feeds what a following process has of each epoch once the driver has begun it.

use timely::worker::Worker;

use super::sleep::step;
use crate::changes::Epoch;
use crate::error::Fatal;
use crate::job::Inputs;
use crate::plan::Epochs;

/// Feeds a process's part of the epochs on its first worker.
pub(super) struct Feeder {
    inputs: Inputs,
    epochs: Epochs,
    next: Epoch,
}

impl Feeder {
    /// A feeder of these epochs.
    pub(super) fn new(mut inputs: Inputs, epochs: Epochs) -> Self {
        inputs.clock = None;
        Self {
            inputs,
            epochs,
            next: 0,
        }
    }

    /// Feeds epochs as long as the driver begins any that this process has something of. An epoch
    /// that it has begun is not published before this process has fed its part, so none is missed.
    pub(super) fn feed(mut self, worker: &mut Worker, fatal: &Fatal) {
        while self.epochs.left() > 0 && !fatal.is_set() {
            let begun = self.inputs.begun.with_frontier(|it| it.first().copied());
            // The driver ends no epoch before all have fed theirs: there are no more.
            let Some(begun) = begun else {
                return;
            };
            while self.next < begun {
                let Some(epoch) = self.epochs.next() else {
                    return;
                };
                self.inputs.feed(self.next, epoch);
                self.next += 1;
            }
            step(worker, true);
        }
    }
}
