//! Driving: epochs are fed into the dataflow and followed until they are published.
//!
//! The first worker drives; in a cluster that is one of the leader's. It feeds an epoch when fewer
//! than `epochs_in_flight` are under way, which bounds what is in memory at once: first the epochs
//! of the lake's plan; when those are published, the model is asked for what tables await, and
//! groups whose narrations have come are fed as further epochs, in batches. That is a round. The
//! dataflow lives on after it: a session feeds the next listing into the same one.

mod graph;
pub mod sleep;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use graph::GraphDriver;
use sleep::{Waking, step};
use timely::execute::execute_from;
use timely::worker::Worker;
use timely::{CommunicationConfig, WorkerConfig};
use tokio::sync::oneshot;

use crate::changes::{Epoch, GroupId, MemberUpdate};
use crate::cluster::{Allocators, Cluster};
use crate::error::{Fatal, PipelineError};
use crate::job::{Inputs, Job, Stages, build, build_graph};
use crate::plan::{EpochPlan, Epochs};
use crate::progress::Progress;
use crate::publish::PublishedEpoch;
use crate::select::Work;
use crate::wire::Wire;

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
struct ToDrive {
    epochs: Epochs,
    progress: Arc<Progress>,
    done: oneshot::Sender<Driven>,
}

/// What the driver is given: rounds, as long as there are any to come.
struct Lead {
    rounds: mpsc::Receiver<ToDrive>,
    epochs_in_flight: u64,
}

/// The dataflow of a process that leads, alive until it is [ended](Self::end) or dropped.
pub struct Dataflow {
    job: Arc<Job>,
    rounds: mpsc::Sender<ToDrive>,
    /// After the sender: the driver learns that no round can come any more.
    waking: Waking,
    is_spent: bool,
    ended: oneshot::Receiver<Result<(), PipelineError>>,
}

/// Ends the job when a round is dropped before its end: the dataflow's threads would go on.
struct GivenUp(Option<Arc<Fatal>>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        if let Some(fatal) = self.0.take() {
            fatal.set(PipelineError::Dataflow("the run was given up".into()));
        }
    }
}

impl Dataflow {
    /// Starts this process's workers. In a cluster the dataflow is that of all processes, and this
    /// one leads.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn start(
        job: Arc<Job>,
        cluster: Option<&Cluster>,
        epochs_in_flight: u64,
    ) -> Result<Self, PipelineError> {
        let (send, rounds) = mpsc::channel();
        let lead = Lead {
            rounds,
            epochs_in_flight,
        };
        let ended = start_workers(&job, cluster, Some(lead))?;
        Ok(Self {
            waking: Waking(Arc::clone(&job)),
            job,
            rounds: send,
            is_spent: false,
            ended,
        })
    }

    /// What the dataflow was made for.
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// Whether the dataflow serves another round.
    pub fn serves_on(&self) -> bool {
        !self.is_spent && !self.job.joins.are_spent()
    }

    /// Runs epochs through these stages, to the end of the last one, or of those under way when the
    /// run is stopped.
    ///
    /// # Errors
    /// The first error of any stage. The dataflow is then dropped on all workers; what was
    /// published stays.
    pub async fn round(
        &mut self,
        stages: Arc<Stages>,
        epochs: Epochs,
        progress: &Arc<Progress>,
    ) -> Result<Driven, PipelineError> {
        let mut given_up = GivenUp(Some(Arc::clone(&self.job.fatal)));
        let (done, driven) = oneshot::channel();
        self.job.begin(stages);
        let round = ToDrive {
            epochs,
            progress: Arc::clone(progress),
            done,
        };
        let driven = match self.rounds.send(round) {
            Ok(()) => {
                self.job.sleepers.wake();
                driven.await.ok()
            }
            Err(_) => None,
        };
        given_up.0 = None;
        match driven {
            Some(driven) if !self.job.fatal.is_set() => {
                self.job.end_round();
                self.is_spent = driven.is_spent;
                Ok(driven)
            }
            // The driver has ended, or is about to.
            _ => Err(match wait_for_end(&self.job, &mut self.ended).await {
                Err(error) => error,
                Ok(()) => PipelineError::Dataflow("the driver ended before the round".into()),
            }),
        }
    }

    /// Ends the dataflow, on all processes.
    ///
    /// # Errors
    /// As [`round`](Self::round).
    pub async fn end(self) -> Result<(), PipelineError> {
        let Self {
            job,
            rounds,
            waking,
            mut ended,
            ..
        } = self;
        drop(rounds);
        drop(waking);
        wait_for_end(&job, &mut ended).await
    }
}

/// Takes this process's share of the epochs that another process drives, to the end of the last
/// one.
///
/// # Errors
/// The first error of any stage in this process.
pub async fn serve_epochs(job: &Arc<Job>, cluster: &Cluster) -> Result<(), PipelineError> {
    let mut ended = start_workers(job, Some(cluster), None)?;
    wait_for_end(job, &mut ended).await
}

/// Waits until this process's workers have ended.
async fn wait_for_end(
    job: &Job,
    ended: &mut oneshot::Receiver<Result<(), PipelineError>>,
) -> Result<(), PipelineError> {
    let died = |_| PipelineError::Dataflow("the driver died".into());
    ended.await.map_err(died)??;
    match job.fatal.take() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Starts this process's workers, which run until the dataflow is complete.
fn start_workers(
    job: &Arc<Job>,
    cluster: Option<&Cluster>,
    lead: Option<Lead>,
) -> Result<oneshot::Receiver<Result<(), PipelineError>>, PipelineError> {
    let allocators = match (cluster, job.workers) {
        (Some(cluster), workers) => cluster.allocators(workers)?,
        (None, 1) => try_build(CommunicationConfig::Thread)?,
        (None, workers) => try_build(CommunicationConfig::Process(workers))?,
    };
    // A thread that nobody waits for: where a process of the cluster is lost, it may never end.
    let (send, ended) = oneshot::channel();
    let (alive, over) = oneshot::channel::<()>();
    job.runtime.spawn(wake_at_error(Arc::clone(job), over));
    let thread = std::thread::Builder::new().name("limn:drive".into());
    let thread = thread.spawn({
        let job = Arc::clone(job);
        move || {
            let ended = send.send(work(job, allocators, lead));
            drop(alive);
            ended
        }
    });
    thread.map_err(|error| PipelineError::Dataflow(format!("no thread to drive: {error}")))?;
    Ok(ended)
}

/// Workers that sleep learn of an error, until they have ended.
async fn wake_at_error(job: Arc<Job>, over: oneshot::Receiver<()>) {
    tokio::select! {
        () = job.fatal.raised() => job.sleepers.wake(),
        _ = over => {}
    }
}

fn try_build(config: CommunicationConfig) -> Result<Allocators, PipelineError> {
    config.try_build().map_err(PipelineError::Dataflow)
}

/// The threads of the workers, from their start to their end.
fn work(
    job: Arc<Job>,
    (builders, held): Allocators,
    lead: Option<Lead>,
) -> Result<(), PipelineError> {
    let lead = Mutex::new(lead);
    let guards = execute_from(builders, held, WorkerConfig::default(), move |worker| {
        let ran = catch_unwind(AssertUnwindSafe(|| run_worker(worker, &job, &lead)));
        // Timely leaves the other workers waiting for a dead one for ever; the error ends them.
        ran.unwrap_or_else(|_| {
            job.fatal.set(PipelineError::TaskDied {
                stage: "dataflow worker",
            });
            if catch_unwind(AssertUnwindSafe(|| drop_dataflows(worker, &job.fatal))).is_err() {
                tracing::error!("a dead worker cannot be taken down; the process ends");
                std::process::abort();
            }
        });
    })
    .map_err(PipelineError::Dataflow)?;
    for result in guards.join() {
        result.map_err(PipelineError::Dataflow)?;
    }
    Ok(())
}

/// One worker's part of [`work`]; the first of all workers drives.
fn run_worker(worker: &mut Worker, job: &Arc<Job>, lead: &Mutex<Option<Lead>>) {
    job.sleepers.join();
    let (send, published) = mpsc::channel();
    let inputs = build(worker, job, send);
    let (send_edges, edges) = mpsc::channel();
    let graph = build_graph(worker, send_edges);
    let lead = (worker.index() == 0).then(|| {
        let mut lead = lead.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        lead.take()
    });
    match lead.flatten() {
        None => drop((inputs, graph)),
        Some(lead) => {
            let driver = Driver {
                inputs,
                job: Arc::clone(job),
                epochs_in_flight: lead.epochs_in_flight,
                next: 0,
                unsettled: Some(Vec::new()),
                graph: GraphDriver::new(graph, edges, job.joins.drive()),
            };
            driver.drive(worker, &lead.rounds, &published);
        }
    }
    // The dataflow is complete when its inputs are gone and all workers have done their part.
    while worker.has_dataflows() && !job.fatal.is_set() {
        step(worker, job, false);
    }
    drop_dataflows(worker, &job.fatal);
}

/// After an error the epochs under way will never end: the dataflow is dropped instead.
fn drop_dataflows(worker: &mut Worker, fatal: &Fatal) {
    if fatal.is_set() {
        for dataflow in worker.installed_dataflows() {
            worker.drop_dataflow(dataflow);
        }
    }
}

/// Feeds epochs on worker 0 and follows them until they are published.
struct Driver {
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
    answered: Option<mpsc::Receiver<GroupId>>,
    /// Those that are not fed yet, and how many tables they have.
    ready: Vec<GroupId>,
    tables: usize,
    last_fed: Instant,
}

impl Driver {
    /// Drives rounds until no more can come.
    fn drive(
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
                    step(worker, &self.job, self.graph.is_busy());
                }
                Err(TryRecvError::Disconnected) => break,
            }
        }
    }

    /// What is published has caught up with the lake: no group differs any more.
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
            while self.under_way() < self.epochs_in_flight {
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
            step(worker, &self.job, true);
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
                    narrating.tables += asking.awaiting().tables(group);
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
        for group in narrating.ready.drain(..) {
            self.inputs.published_again.send(Work::Narrate {
                group,
                published: Vec::new(),
            });
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
        for (update, diff) in epoch.published {
            self.inputs.published.update(update, diff);
        }
        for (update, diff) in epoch.lake {
            self.inputs.lake.update(update, diff);
        }
        for plan in epoch.groups {
            self.inputs.plans.send(Wire(plan));
        }
        for group in epoch.restated {
            self.inputs.published_again.send(Work::Restate(group));
        }
        if let Some(unsettled) = &mut self.unsettled {
            unsettled.extend(epoch.differences);
            if unsettled.len() > SETTLED_MOST {
                self.unsettled = None;
            }
        }
        self.next += 1;
        self.inputs.advance_to(self.next);
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
                // Nobody is asked for them any more in this run: they are only counted.
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
