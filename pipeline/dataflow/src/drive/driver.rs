//! The driver: feeds the epochs of a round on the first worker and follows them until they are
//! published, those of the lake first, then those of tables whose narrations have come.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, TryRecvError};
use std::time::Instant;

use timely::worker::Worker;
use tokio::sync::oneshot;

use super::graph::GraphDriver;
use super::sleep::step;
use crate::changes::Epoch;
use crate::job::{Inputs, Job, Stages};
use crate::narrate::awaiting::Answered;
use crate::plan::Epochs;
use crate::progress::Progress;
use crate::publish::PublishedEpoch;
use crate::select::Work;

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
    /// Set when the lake's own epochs are published.
    narrating: Option<Narrating>,
    driven: Driven,
}

/// The second part of a round: the model is asked, and what it has answered is fed.
struct Narrating {
    /// Groups all of whose narrations have come.
    answered: Option<mpsc::Receiver<Answered>>,
    /// Those that are not fed yet, and how many tables they have.
    ready: Vec<Answered>,
    tables: usize,
    last_fed: Instant,
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
            narrating: None,
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
            if lake_is_published && self.narrating.is_none() {
                self.narrating = Some(self.start_narrating());
            }
            if self.under_way() < in_flight {
                self.feed_narrated(progress);
            }
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

    /// The lake is published: the snapshot may say so, and the model is asked for what is wanted.
    fn start_narrating(&self) -> Narrating {
        let asking = self.stages.asking.as_ref();
        let asking = asking.filter(|asking| {
            asking.is_wanted() && !self.job.fatal.is_set() && !self.job.stop.is_cancelled()
        });
        Narrating {
            answered: asking.map(|asking| {
                let committer = Arc::clone(&self.stages.committer);
                let (joins, fatal) = (Arc::clone(&self.job.joins), Arc::clone(&self.job.fatal));
                self.job.runtime.spawn(async move {
                    if let Err(error) = committer.finish(None, &joins).await {
                        fatal.set(error);
                    }
                });
                asking.start(&self.job.runtime)
            }),
            ready: Vec::new(),
            tables: 0,
            last_fed: Instant::now(),
        }
    }

    /// Feeds the groups whose narrations have come, when there are enough or it has been long
    /// enough.
    fn feed_narrated(&mut self, progress: &Progress) {
        let (Some(narrating), Some(asking)) = (&mut self.narrating, &self.stages.asking) else {
            return;
        };
        while let Some(answered) = &narrating.answered {
            match answered.try_recv() {
                Ok(group) => {
                    narrating.tables += group.tables.len();
                    narrating.ready.push(group);
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => narrating.answered = None,
            }
        }
        let cuts = asking.cuts();
        let due = narrating.answered.is_none()
            || narrating.tables >= cuts.batch_tables
            || narrating.last_fed.elapsed() >= cuts.batch_after;
        if narrating.ready.is_empty() || !due {
            return;
        }
        for Answered { group, tables } in narrating.ready.drain(..) {
            self.inputs.late.send(Work::Answered { group, tables });
        }
        (narrating.tables, narrating.last_fed) = (0, Instant::now());
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

    /// Keeps what was published; tables of the lake's epochs that await a narration are wanted.
    fn take_in(&mut self, published: &mpsc::Receiver<PublishedEpoch>) {
        for mut epoch in published.try_iter() {
            match (&self.stages.asking, &self.narrating) {
                (Some(asking), None) => {
                    for table in epoch.awaiting.drain(..) {
                        asking.want(table);
                    }
                }
                // This run asks no model for them: they are only counted.
                _ => {
                    for table in &mut epoch.awaiting {
                        (table.row, table.segment) = (None, None);
                    }
                }
            }
            self.driven.published.push(epoch);
        }
    }

    fn narrating_is_over(&self) -> bool {
        self.narrating
            .as_ref()
            .is_some_and(|narrating| narrating.answered.is_none() && narrating.ready.is_empty())
    }
}
