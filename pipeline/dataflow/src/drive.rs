//! Driving: epochs are fed into the dataflow and followed until they are published.
//!
//! The first worker drives; in a cluster that is one of the leader's, and the first worker of each
//! other process feeds what that has of the same epoch (`feeder`). The driver begins an epoch when
//! fewer than `epochs_in_flight` are under way, which bounds what is in memory at once: first the
//! epochs of the lake's plan; when those are published, the model is asked for what tables await,
//! and groups whose narrations have come are fed as further epochs, in batches. That is a round.
//! The dataflow lives on after it: a session feeds the next listing into the same one.

mod driver;
mod feeder;
mod graph;
pub mod sleep;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

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
use crate::plan::Epochs;
use crate::progress::Progress;

/// What the first worker of a process does beside its work.
enum Part {
    /// It drives rounds, as long as there are any to come.
    Lead {
        rounds: mpsc::Receiver<ToDrive>,
        epochs_in_flight: u64,
    },
    /// It feeds what this process has of the epochs.
    Follow(Box<Epochs>),
}

/// The dataflow of a process that leads, alive until it is [ended](Self::end) or dropped.
pub struct Dataflow {
    job: Arc<Job>,
    rounds: mpsc::Sender<ToDrive>,
    /// Dropped after the sender: the driver learns that no round follows.
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
        let part = Part::Lead {
            rounds,
            epochs_in_flight,
        };
        let ended = start_workers(&job, cluster, part)?;
        Ok(Self {
            waking: Waking(Arc::clone(&job.sleepers)),
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

/// Takes part in the epochs that another process drives, to the end of the last one; `epochs` are
/// what this process has of them.
///
/// # Errors
/// The first error of any stage in this process.
pub async fn serve_epochs(
    job: &Arc<Job>,
    cluster: &Cluster,
    epochs: Epochs,
) -> Result<(), PipelineError> {
    let mut ended = start_workers(job, Some(cluster), Part::Follow(Box::new(epochs)))?;
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
    part: Part,
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
            let ended = send.send(work(job, allocators, part));
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
fn work(job: Arc<Job>, (builders, held): Allocators, part: Part) -> Result<(), PipelineError> {
    let part = Mutex::new(Some(part));
    let guards = execute_from(builders, held, WorkerConfig::default(), move |worker| {
        let ran = catch_unwind(AssertUnwindSafe(|| run_worker(worker, &job, &part)));
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

/// One worker's part of [`work`]; the first of the process has more to do.
fn run_worker(worker: &mut Worker, job: &Arc<Job>, part: &Mutex<Option<Part>>) {
    job.sleepers.join();
    let (send, published) = mpsc::channel();
    let inputs = build(worker, job, send);
    let (send_edges, edges) = mpsc::channel();
    let graph = build_graph(worker, send_edges);
    let is_first = worker.index().is_multiple_of(job.workers.max(1));
    let part = is_first.then(|| {
        let mut part = part.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        part.take()
    });
    match part.flatten() {
        None => drop((inputs, graph)),
        Some(Part::Follow(epochs)) => {
            drop(graph);
            Feeder::new(inputs, *epochs).feed(worker, &job.fatal);
        }
        Some(Part::Lead {
            rounds,
            epochs_in_flight,
        }) => {
            let graph = GraphDriver::new(graph, edges, job.joins.drive());
            let driver = Driver::new(inputs, Arc::clone(job), epochs_in_flight, graph);
            driver.drive(worker, &rounds, &published);
        }
    }
    // The dataflow is complete when its inputs are dropped and all workers have done their part.
    while worker.has_dataflows() && !job.fatal.is_set() {
        step(worker, job.is_in_round());
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
