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
use crate::changes::{Epoch, MemberUpdate};
use crate::job::{Inputs, Job, Stages};
use crate::narrate::awaiting::Answered;
use crate::plan::{EpochPlan, Epochs};
use crate::progress::Progress;
use crate::publish::PublishedEpoch;
use crate::select::Work;

/// Differences that are remembered to be settled. Where more were fed, a new dataflow costs less.
const SETTLED_MOST: usize = 1 << 20;

/// What came of the epochs.
#[derive(Debug, Default)]
pub struct Driven {
    /// Those that were published.
    pub published: Vec<PublishedEpoch>,
    /// How many of the lake's were never begun, because the run was stopped.
    pub left: usize,
    /// So much differed that another dataflow is made for the next round.
    pub is_spent: bool,
}

/// Epochs to drive, and who receives what came of them.
pub(super) struct ToDrive {
    pub(super) epochs: Epochs,
    pub(super) progress: Arc<Progress>,
    pub(super) done: oneshot::Sender<Driven>,
}

/// Feeds epochs on worker 0 and follows them until they are published.
pub(super) struct Driver {
    inputs: Inputs,
    job: Arc<Job>,
    epochs_in_flight: u64,
    next: Epoch,
    /// The differences between the lake and what was published that the last round was fed:
    /// published by now, which the dataflow has not been fed. None if there are too many.
    unsettled: Option<Vec<MemberUpdate>>,
    graph: GraphDriver,
}

/// A round that is driven.
struct Driving {
    stages: Arc<Stages>,
    epochs: Epochs,
    /// Its first epoch.
    first: Epoch,
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

impl Driver {
    /// A driver of these inputs. Epochs are fed while fewer than `epochs_in_flight` are under way.
    pub(super) fn new(
        inputs: Inputs,
        job: Arc<Job>,
        epochs_in_flight: u64,
        graph: GraphDriver,
    ) -> Self {
        Self {
            inputs,
            job,
            epochs_in_flight,
            next: 0,
            unsettled: Some(Vec::new()),
            graph,
        }
    }

    /// Drives rounds until no more can come.
    pub(super) fn drive(
        mut self,
        worker: &mut Worker,
        rounds: &mpsc::Receiver<ToDrive>,
        published: &mpsc::Receiver<PublishedEpoch>,
    ) {
        while !self.job.fatal.is_set() {
            self.graph.go_on();
            match rounds.try_recv() {
                // Nobody waits for what was given up.
                Ok(round) => {
                    self.settle();
                    let driven = self.carry_out(worker, round.epochs, published, &round.progress);
                    let _ = round.done.send(driven);
                }
                Err(TryRecvError::Empty) => {
                    step(worker, self.graph.is_busy() || self.job.is_in_round());
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
    }

    /// The published side has caught up with the lake: no group differs.
    fn settle(&mut self) {
        let unsettled = self.unsettled.get_or_insert_default();
        if unsettled.is_empty() {
            return;
        }
        for (member, diff) in unsettled.drain(..) {
            self.inputs.published.update(member, diff);
        }
        self.next += 1;
        self.inputs.advance_to(self.next);
    }

    fn carry_out(
        &mut self,
        worker: &mut Worker,
        epochs: Epochs,
        published: &mpsc::Receiver<PublishedEpoch>,
        progress: &Progress,
    ) -> Driven {
        let Some(stages) = self.job.stages_or_end() else {
            return Driven::default();
        };
        let mut round = Driving {
            stages,
            epochs,
            first: self.next,
            narrating: None,
            driven: Driven::default(),
        };
        loop {
            self.graph.go_on();
            if self.job.stop.is_cancelled() {
                round.driven.left += round.epochs.left();
                round.epochs = Epochs::default();
            }
            while self.under_way() < self.epochs_in_flight && !self.job.fatal.is_set() {
                match round.epochs.next() {
                    Some(epoch) => self.feed(epoch),
                    None => break,
                }
            }
            let lake_is_published = round.epochs.left() == 0 && self.under_way() == 0;
            // Whatever is published was reported before the frontier passed it.
            round.take_in(published);
            if lake_is_published && round.narrating.is_none() {
                round.narrating = Some(self.start_narrating(&round.stages));
            }
            self.feed_narrated(&mut round, progress);
            let done = self.next.saturating_sub(round.first + self.under_way());
            progress.epochs_done.store(done, Ordering::Relaxed);
            if self.job.fatal.is_set() || (round.narrating_is_over() && self.under_way() == 0) {
                break;
            }
            step(worker, true);
        }
        round.take_in(published);
        round.driven.is_spent = self.unsettled.is_none();
        round.driven
    }

    /// The lake is published: the snapshot may say so, and the model is asked for what is wanted.
    fn start_narrating(&self, stages: &Stages) -> Narrating {
        let asking = stages.asking.as_ref();
        let asking = asking.filter(|asking| {
            asking.is_wanted() && !self.job.fatal.is_set() && !self.job.stop.is_cancelled()
        });
        Narrating {
            answered: asking.map(|asking| {
                let (committer, job) = (Arc::clone(&stages.committer), Arc::clone(&self.job));
                self.job.runtime.spawn(async move {
                    if let Err(error) = committer.finish(None, &job.joins).await {
                        job.fatal.set(error);
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
    fn feed_narrated(&mut self, round: &mut Driving, progress: &Progress) {
        let under_way = self.under_way();
        let (Some(narrating), Some(asking)) = (&mut round.narrating, &round.stages.asking) else {
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
        if narrating.ready.is_empty() || !due || under_way >= self.epochs_in_flight {
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

    fn feed(&mut self, epoch: EpochPlan) {
        let differences = self.inputs.feed(self.next, epoch);
        if let Some(unsettled) = &mut self.unsettled {
            unsettled.extend(differences);
            if unsettled.len() > SETTLED_MOST {
                self.unsettled = None;
            }
        }
        self.next += 1;
    }
}

impl Driving {
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
