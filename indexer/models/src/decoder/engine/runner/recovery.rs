//! When the device has no room: what is given back, and who waits again.
//!
//! No sequence is lost, none is computed twice into one answer: a sequence either keeps all that it
//! has, or gives all back and waits as if it had just come.

use std::collections::HashSet;
use std::time::Instant;

use super::{Delivery, Runner};
use crate::ModelError;
use crate::decoder::device::StepError;
use crate::decoder::schedule::{JobId, PrefixKey};

/// Steps in a row without room after which a sequence is given up: more than it takes to shrink any
/// budget to its least.
const MOST_WITHOUT_ROOM: usize = 32;

impl Runner {
    /// There was no memory to begin a sequence: what was reserved of it is given back, and it waits
    /// until others have ended. Alone, with every kept beginning given back, it can never begin.
    /// Says whether everything waits again.
    pub(super) fn no_room(&mut self, id: JobId, detail: String, done: &mut Vec<Delivery>) -> bool {
        self.usage.retries += 1;
        let Some(sequence) = self.sequences.get(&id) else {
            return false;
        };
        let own: Vec<PrefixKey> = sequence.keys.iter().rev().copied().collect();
        let running = self
            .sequences
            .values()
            .filter(|sequence| sequence.running.is_some());
        let in_use: HashSet<PrefixKey> = running
            .clone()
            .flat_map(|sequence| &sequence.keys)
            .copied()
            .collect();
        if running.count() == 0 {
            let nothing_kept = self.prefixes.keys().all(|key| own.contains(key));
            let kept: Vec<PrefixKey> = self.prefixes.keys().copied().collect();
            kept.into_iter().for_each(|key| self.evict(key));
            self.scheduler.put_back();
            if nothing_kept && let Some(sequence) = self.finish(id) {
                done.push((sequence.job.sender, Err(self.out_of_memory(detail))));
            }
            return true;
        }
        let forgotten: Vec<PrefixKey> = own
            .into_iter()
            .filter(|key| !in_use.contains(key))
            .collect();
        forgotten.iter().for_each(|key| self.evict(*key));
        self.scheduler.no_room(id, &forgotten);
        false
    }

    pub(super) fn out_of_memory(&self, detail: String) -> ModelError {
        ModelError::OutOfMemory {
            model: self.model.clone(),
            device: self.device.name(),
            detail,
        }
    }

    /// Gives a beginning back, once nothing kept comes after it.
    pub(super) fn evict(&mut self, key: PrefixKey) {
        let Some(kept) = self.prefixes.get_mut(&key) else {
            return;
        };
        kept.evicted = true;
        if kept.inner > 0 {
            return;
        }
        let (segment, outer) = (kept.segment, kept.outer);
        self.prefixes.remove(&key);
        self.device.release(segment);
        if let Some(outer) = outer
            && let Some(kept) = self.prefixes.get_mut(&outer)
        {
            kept.inner -= 1;
            if kept.evicted {
                self.evict(outer);
            }
        }
    }

    /// After a step that failed: everything the device holds is given back. For want of memory the
    /// sequences wait again; after any other failure they fail.
    pub(super) fn recover(&mut self, error: StepError, done: &mut Vec<Delivery>) {
        for (_, kept) in self.prefixes.drain() {
            self.device.release(kept.segment);
        }
        for sequence in self.sequences.values_mut() {
            if let Some(running) = sequence.running.take() {
                self.device.release(running.segment);
            }
        }
        match error {
            StepError::OutOfMemory { detail } => {
                let put_back = self.scheduler.out_of_memory();
                self.usage.retries += 1;
                tracing::debug!(
                    sequences = put_back.len(),
                    detail,
                    "out of memory; the batch is put back"
                );
                // The budget is as small as it gets, and still there is no room: what a step itself
                // needs is not to be had. One caller after another gets an error, until there is.
                self.without_room += 1;
                if self.without_room >= MOST_WITHOUT_ROOM
                    && let Some(id) = put_back.into_iter().min()
                    && let Some(sequence) = self.finish(id)
                {
                    let error = self.out_of_memory(detail);
                    done.push((sequence.job.sender, Err(error)));
                }
            }
            StepError::Failed(detail) => {
                self.failed = Some(Instant::now());
                for id in self.scheduler.put_back() {
                    if let Some(sequence) = self.finish(id) {
                        let error = ModelError::Compute {
                            model: self.model.clone(),
                            detail: detail.clone(),
                        };
                        done.push((sequence.job.sender, Err(error)));
                    }
                }
            }
        }
    }
}
