//! Driving: epochs are fed into the dataflow and followed until they are published.
//!
//! The first worker drives; in a cluster that is one of the leader's, and the first worker of each
//! other process feeds what that has of the same epoch (`feeder`). The driver begins an epoch when
//! fewer than `epochs_in_flight` are under way, which bounds what is in memory at once: first the
//! epochs of the lake's plan; when those are published, models are asked for what tables await, by
//! each process for its part (`narrating`), and tables whose narrations have come are fed as
//! further epochs, in batches. That is a round.
//! Each has a dataflow of its own, which is complete when the round ends; the workers, and the
//! dataflow of the join graph, live on for the next one.

mod driver;
mod feeder;
mod graph;
mod narrating;
pub mod sleep;

use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};

pub use driver::Driven;
use driver::{Driver, ToDrive};
use feeder::Feeder;
use graph::GraphDriver;
use sleep::{Waking, step};
use timely::execute::execute_from;
use timely::worker::Worker;
use timely::{CommunicationConfig, WorkerConfig};
use tokio::sync::oneshot;

use crate::cluster::{Allocators, Cluster};
use crate::error::{Fatal, PipelineError};
use crate::job::{Job, Stages, build, build_graph};
use crate::narrate::awaiting::Askers;
use crate::plan::Epochs;
use crate::progress::Progress;

/// A round, as one worker gets it.
struct Turn {
    stages: Arc<Stages>,
    askers: Askers,
    part: Part,
    /// Closed when all workers of the process have let go of the stages.
    under_way: UnderWay,
}

type UnderWay = tokio::sync::mpsc::Sender<Infallible>;

/// What a worker does in a round beside its work.
enum Part {
    /// The first worker of the process that leads: it drives the round.
    Lead(Box<ToDrive>),
    /// The first of another process: it feeds what this process has of the epochs.
    Follow(Box<Epochs>),
    /// Nothing.
    Work,
}

/// The workers of a process that leads, alive until they are [ended](Self::end) or dropped.
pub struct Workers {
    job: Arc<Job>,
    /// The first worker's first.
    turns: Vec<mpsc::Sender<Turn>>,
    epochs_in_flight: u64,
    /// Dropped after the senders: the workers learn that no round follows.
    waking: Waking,
    ended: oneshot::Receiver<Result<(), PipelineError>>,
}

/// Ends the job when a round is dropped before its end: the workers would go on.
struct GivenUp(Option<Arc<Fatal>>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        if let Some(fatal) = self.0.take() {
            fatal.set(PipelineError::Dataflow("the run was given up".into()));
        }
    }
}

impl Workers {
    /// Starts this process's workers. In a cluster they are some of all processes', and this one
    /// leads.
    ///
    /// # Errors
    /// Threads cannot be started.
    pub fn start(
        job: Arc<Job>,
        cluster: Option<&Cluster>,
        epochs_in_flight: u64,
    ) -> Result<Self, PipelineError> {
        let (turns, ended) = start_workers(&job, cluster)?;
        Ok(Self {
            waking: Waking(Arc::clone(&job.sleepers)),
            job,
            turns,
            epochs_in_flight,
            ended,
        })
    }

    /// What the workers were started for.
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }

    /// Whether the workers serve another round.
    pub fn serves_on(&self) -> bool {
        !self.job.joins.are_spent()
    }

    /// Runs epochs through these stages, to the end of the last one, or of those under way when the
    /// run is stopped. These processes ask a model for what tables await.
    ///
    /// # Errors
    /// The first error of any stage. The workers then end; what was published stays.
    pub async fn round(
        &mut self,
        stages: Arc<Stages>,
        epochs: Epochs,
        askers: Askers,
        progress: &Arc<Progress>,
    ) -> Result<Driven, PipelineError> {
        let mut given_up = GivenUp(Some(Arc::clone(&self.job.fatal)));
        let (done, driven) = oneshot::channel();
        let lead = Part::Lead(Box::new(ToDrive {
            epochs,
            epochs_in_flight: self.epochs_in_flight,
            progress: Arc::clone(progress),
            done,
        }));
        let (under_way, mut over) = tokio::sync::mpsc::channel(1);
        begin(&self.turns, (&stages, askers, under_way), lead, &self.job);
        let driven = driven.await.ok();
        given_up.0 = None;
        match driven {
            Some(driven) if !self.job.fatal.is_set() => {
                // What only this round needed, a language model for example, is let go of.
                over.recv().await;
                Ok(driven)
            }
            // The workers have ended, or are about to.
            _ => Err(match wait_for_end(&self.job, &mut self.ended).await {
                Err(error) => error,
                Ok(()) => PipelineError::Dataflow("the driver ended before the round".into()),
            }),
        }
    }

    /// Ends the workers, on all processes.
    ///
    /// # Errors
    /// As [`round`](Self::round).
    pub async fn end(self) -> Result<(), PipelineError> {
        let Self {
            job,
            turns,
            waking,
            mut ended,
            ..
        } = self;
        drop(turns);
        drop(waking);
        wait_for_end(&job, &mut ended).await
    }
}

/// Takes part in the epochs that another process drives, to the end of the last one; `epochs` are
/// what this process has of them, `askers` the processes that ask a model.
///
/// # Errors
/// The first error of any stage in this process.
pub async fn serve_epochs(
    job: &Arc<Job>,
    cluster: &Cluster,
    stages: &Arc<Stages>,
    epochs: Epochs,
    askers: Askers,
) -> Result<(), PipelineError> {
    let (turns, mut ended) = start_workers(job, Some(cluster))?;
    let (under_way, _) = tokio::sync::mpsc::channel(1);
    let follow = Part::Follow(Box::new(epochs));
    begin(&turns, (stages, askers, under_way), follow, job);
    drop(turns);
    job.sleepers.wake();
    wait_for_end(job, &mut ended).await
}

/// Begins a round on all workers; the first has a part of its own.
fn begin(
    turns: &[mpsc::Sender<Turn>],
    (stages, askers, under_way): (&Arc<Stages>, Askers, UnderWay),
    first: Part,
    job: &Job,
) {
    let parts = [first]
        .into_iter()
        .chain(std::iter::repeat_with(|| Part::Work));
    for (worker, part) in turns.iter().zip(parts) {
        // A worker that has ended has left an error.
        let _ = worker.send(Turn {
            stages: Arc::clone(stages),
            askers: askers.clone(),
            part,
            under_way: under_way.clone(),
        });
    }
    job.sleepers.wake();
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

/// Starts this process's workers, which run until no round can come and all is complete.
fn start_workers(job: &Arc<Job>, cluster: Option<&Cluster>) -> Result<Started, PipelineError> {
    let allocators = match (cluster, job.workers) {
        (Some(cluster), workers) => cluster.allocators(workers)?,
        (None, 1) => try_build(CommunicationConfig::Thread)?,
        (None, workers) => try_build(CommunicationConfig::Process(workers))?,
    };
    let (workers, turns): (Vec<_>, Vec<_>) =
        (0..job.workers.max(1)).map(|_| mpsc::channel()).unzip();
    // A thread that nobody waits for: where a process of the cluster is lost, it may never end.
    let (send, ended) = oneshot::channel();
    let (alive, over) = oneshot::channel::<()>();
    job.runtime.spawn(wake_at_error(Arc::clone(job), over));
    let thread = std::thread::Builder::new().name("limn:drive".into());
    let thread = thread.spawn({
        let job = Arc::clone(job);
        move || {
            let ended = send.send(work(job, allocators, turns));
            drop(alive);
            ended
        }
    });
    thread.map_err(|error| PipelineError::Dataflow(format!("no thread to drive: {error}")))?;
    Ok((workers, ended))
}

/// Workers, and how they end.
type Started = (
    Vec<mpsc::Sender<Turn>>,
    oneshot::Receiver<Result<(), PipelineError>>,
);

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
    turns: Vec<mpsc::Receiver<Turn>>,
) -> Result<(), PipelineError> {
    let turns = Mutex::new(turns.into_iter().map(Some).collect::<Vec<_>>());
    let guards = execute_from(builders, held, WorkerConfig::default(), move |worker| {
        let ran = catch_unwind(AssertUnwindSafe(|| {
            let place = worker.index() % job.workers.max(1);
            let mut turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
            let own = turns.get_mut(place).and_then(Option::take);
            drop(turns);
            if let Some(turns) = own {
                run_worker(worker, &job, &turns);
            }
        }));
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

/// One worker's part of [`work`]: rounds, as long as there are any to come.
fn run_worker(worker: &mut Worker, job: &Job, turns: &mpsc::Receiver<Turn>) {
    job.sleepers.join();
    let (send_edges, edges) = mpsc::channel();
    let graph = build_graph(worker, send_edges);
    // The very first worker drives the graph; the others have nothing to feed.
    let mut graph =
        (worker.index() == 0).then(|| GraphDriver::new(graph, edges, job.joins.drive()));
    while !job.fatal.is_set() {
        if let Some(graph) = &mut graph {
            graph.go_on();
        }
        match turns.try_recv() {
            Ok(turn) => take_turn(worker, job, turn, graph.as_mut()),
            Err(TryRecvError::Empty) => {
                step(worker, graph.as_ref().is_some_and(GraphDriver::is_busy));
            }
            Err(TryRecvError::Disconnected) => break,
        }
    }
    drop(graph);
    // The dataflows are complete when their inputs are dropped and all workers have done their
    // part.
    while worker.has_dataflows() && !job.fatal.is_set() {
        step(worker, true);
    }
    drop_dataflows(worker, &job.fatal);
}

/// One worker's part of a round, to its end on all workers.
fn take_turn(worker: &mut Worker, job: &Job, turn: Turn, mut graph: Option<&mut GraphDriver>) {
    let Turn {
        stages,
        askers,
        part,
        under_way,
    } = turn;
    let (send, published) = mpsc::channel();
    let inputs = build(worker, job, &stages, &askers, send);
    let done = inputs.done.clone();
    let mut driven = None;
    match (part, &mut graph) {
        (Part::Lead(round), Some(graph)) => {
            let driver = Driver::new(inputs, job, &stages, graph);
            driven = Some(driver.drive(worker, *round, &published));
        }
        (Part::Follow(epochs), _) => Feeder::new(inputs, job, &stages, *epochs).feed(worker),
        _ => drop(inputs),
    }
    while !done.done() && !job.fatal.is_set() {
        if let Some(graph) = &mut graph {
            graph.go_on();
        }
        step(worker, true);
    }
    if let Some((driven, done)) = driven {
        // Nobody waits for what was given up.
        let _ = done.send(driven);
    }
    drop(stages);
    drop(under_way);
}

/// After an error the epochs under way will never end: the dataflow is dropped instead.
fn drop_dataflows(worker: &mut Worker, fatal: &Fatal) {
    if fatal.is_set() {
        for dataflow in worker.installed_dataflows() {
            worker.drop_dataflow(dataflow);
        }
    }
}
