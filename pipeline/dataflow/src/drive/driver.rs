//! The driver: feeds the epochs of a round on the first worker and follows them until they are
//! published, those of the lake first, then those of tables whose narrations have come.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Instant;

use timely::worker::Worker;
use tokio::sync::oneshot;

use super::graph::GraphDriver;
use super::narrating::Narrating;
use super::sleep::step;
use crate::changes::Epoch;
use crate::inputs::Inputs;
use crate::job::{Job, Stages};
use crate::plan::Epochs;
use crate::progress::Progress;
use crate::publish::PublishedEpoch;

/// What came of the epochs.
#[derive(Debug, Default)]
pub struct Driven {
    /// Those that were published.
    pub published: Vec<PublishedEpoch>,
    /// How many of the lake's were never begun, because the run was stopped.
    pub left: usize,
}

/// Epochs to drive, and who receives what came of them.
pub(super) struct ToDrive {
    pub(super) epochs: Epochs,
    /// Epochs are fed while fewer are under way.
    pub(super) epochs_in_flight: u64,
    pub(super) progress: Arc<Progress>,
    pub(super) done: oneshot::Sender<Driven>,
}

/// Feeds the epochs of a round on worker 0 and follows them until they are published.
pub(super) struct Driver<'a> {
    inputs: Inputs,
    job: &'a Job,
    stages: &'a Stages,
    graph: &'a mut GraphDriver,
    next: Epoch,
    /// Tables that await a narration.
    awaiting: usize,
    /// Set when the lake's own epochs are published.
    late: Option<Late>,
    driven: Driven,
}

/// The second part of a round: models are asked, and the tables that they have narrated are fed, by
/// this process and others.
struct Late {
    /// What this process feeds, if it asks a model.
    narrating: Option<Narrating>,
    /// When the last epoch of such tables began.
    begun: Instant,
}

impl<'a> Driver<'a> {
    /// A driver of these inputs.
    pub(super) fn new(
        inputs: Inputs,
        job: &'a Job,
        stages: &'a Stages,
        graph: &'a mut GraphDriver,
    ) -> Self {
        Self {
            inputs,
            job,
            stages,
            graph,
            next: 0,
            awaiting: 0,
            late: None,
            driven: Driven::default(),
        }
    }

    /// Drives the epochs of a round to the end of the last one. Gives what came of them, and who
    /// waits for it.
    pub(super) fn drive(
        mut self,
        worker: &mut Worker,
        mut round: ToDrive,
        published: &mpsc::Receiver<PublishedEpoch>,
    ) -> (Driven, oneshot::Sender<Driven>) {
        let (in_flight, progress) = (round.epochs_in_flight, &round.progress);
        loop {
            self.graph.go_on();
            if self.job.stop.is_cancelled() {
                self.driven.left += round.epochs.left();
                round.epochs = Epochs::default();
            }
            while self.under_way() < in_flight && !self.job.fatal.is_set() {
                match round.epochs.next() {
                    Some(epoch) => {
                        self.inputs.feed(self.next, epoch);
                        self.next += 1;
                    }
                    None => break,
                }
            }
            let lake_is_published = round.epochs.left() == 0 && self.under_way() == 0;
            // Whatever is published was reported before the frontier passed it.
            self.take_in(published);
            if lake_is_published && self.late.is_none() {
                self.late = Some(self.begin_narrating());
            }
            self.feed_narrated(in_flight, progress);
            let done = self.next.saturating_sub(self.under_way());
            progress.epochs_done.store(done, Ordering::Relaxed);
            if self.job.fatal.is_set() || (self.narrating_is_over() && self.under_way() == 0) {
                break;
            }
            step(worker, true);
        }
        self.take_in(published);
        (self.driven, round.done)
    }

    /// The lake is published: the snapshot may say so, and models are asked for what is wanted.
    fn begin_narrating(&mut self) -> Late {
        let is_wanted = self.awaiting > 0 && self.stages.asking.is_some();
        let mut narrating = None;
        if is_wanted && !self.job.fatal.is_set() && !self.job.stop.is_cancelled() {
            let committer = Arc::clone(&self.stages.committer);
            let (joins, fatal) = (Arc::clone(&self.job.joins), Arc::clone(&self.job.fatal));
            self.job.runtime.spawn(async move {
                if let Err(error) = committer.finish(None, &joins).await {
                    fatal.set(error);
                }
            });
            self.inputs.begin_narrating();
            let asking = self.stages.asking.as_ref();
            narrating = asking.map(|it| Narrating::start(it, &self.job.runtime));
        } else {
            self.inputs.clock = None;
        }
        self.inputs.late_fed.set(0);
        Late {
            narrating,
            begun: Instant::now(),
        }
    }

    /// Feeds the tables whose narrations have come, and begins an epoch of them when processes have
    /// fed enough or it has been long enough.
    fn feed_narrated(&mut self, in_flight: u64, progress: &Progress) {
        let is_stopped = self.job.stop.is_cancelled();
        let has_room = self.under_way() < in_flight;
        let Some(late) = &mut self.late else {
            return;
        };
        if is_stopped {
            // So all learn of it.
            self.inputs.clock = None;
        }
        if let Some(narrating) = &mut late.narrating {
            if is_stopped {
                narrating.stop();
            }
            narrating.feed(&mut self.inputs);
        }
        if late.narrating.as_ref().is_none_or(Narrating::is_over) {
            self.inputs.late = None;
        }
        // Where this process asks no model, no other does.
        let Some(cuts) = self.stages.asking.as_ref().map(|it| it.cuts()) else {
            return;
        };
        let fed = self.inputs.late_fed.get();
        let is_enough = fed >= cuts.batch_tables || late.begun.elapsed() >= cuts.batch_after;
        if fed == 0 || !has_room || !(is_enough || self.inputs.late_done.done()) {
            return;
        }
        self.inputs.late_fed.set(0);
        late.begun = Instant::now();
        if let Some(narrating) = &mut late.narrating {
            narrating.next_epoch();
        }
        Progress::add(&progress.epochs_planned, 1);
        self.next += 1;
        self.inputs.advance_to(self.next);
    }

    /// Epochs fed and not yet published.
    fn under_way(&self) -> u64 {
        self.inputs.done.with_frontier(|frontier| {
            frontier
                .first()
                .map_or(0, |oldest| self.next.saturating_sub(*oldest))
        })
    }

    /// Keeps what was published.
    fn take_in(&mut self, published: &mpsc::Receiver<PublishedEpoch>) {
        for epoch in published.try_iter() {
            self.awaiting += epoch.awaiting;
            self.driven.published.push(epoch);
        }
    }

    /// Whether no process feeds any more.
    fn narrating_is_over(&self) -> bool {
        self.late.is_some() && self.inputs.late_done.done() && self.inputs.late_fed.get() == 0
    }
}
