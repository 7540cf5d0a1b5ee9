//! Driving: epochs are fed into the dataflow and followed until they are published.
//!
//! The first worker drives; in a cluster that is one of the leader's. It feeds an epoch when fewer than `epochs_in_flight` are under way,
//! which bounds what is in memory at once: first the epochs of the lake's plan; when those are
//! published, the model is asked for what tables await, and groups whose narrations have come are fed
//! as further epochs, in batches.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use timely::execute::execute_from;
use timely::worker::Worker;
use timely::{CommunicationConfig, WorkerConfig};
use tokio::sync::oneshot;

use crate::changes::{Epoch, GroupId};
use crate::cluster::{Allocators, Cluster};
use crate::error::{Fatal, PipelineError};
use crate::job::{Inputs, Job, build};
use crate::plan::EpochPlan;
use crate::progress::Progress;
use crate::publish::PublishedEpoch;
use crate::select::Work;
use crate::wire::Wire;

/// How long a parked worker sleeps at most before it looks at the job's state again.
const PARK: Duration = Duration::from_millis(20);

/// What came of the epochs.
#[derive(Debug, Default)]
pub struct Driven {
    /// Those that were published.
    pub published: Vec<PublishedEpoch>,
    /// How many of the lake's were never begun, because the run was stopped.
    pub left: usize,
}

/// What the driver is given.
struct Lead {
    epochs: VecDeque<EpochPlan>,
    epochs_in_flight: u64,
    progress: Arc<Progress>,
}

/// Runs epochs through one dataflow, to the end of the last one, or of those under way when the run is
/// stopped. In a cluster the dataflow is that of all processes, and this one leads.
///
/// # Errors
/// The first error of any stage. The dataflow is then dropped on all workers; what was published
/// stays.
pub async fn run_epochs(
    job: &Arc<Job>,
    epochs: VecDeque<EpochPlan>,
    cluster: Option<&Cluster>,
    epochs_in_flight: u64,
    progress: &Arc<Progress>,
) -> Result<Driven, PipelineError> {
    let lead = Lead {
        epochs,
        epochs_in_flight,
        progress: Arc::clone(progress),
    };
    run_workers(job, cluster, Some(lead)).await
}

/// Takes this process's share of the epochs that another process drives, to the end of the last one.
///
/// # Errors
/// The first error of any stage in this process.
pub async fn serve_epochs(job: &Arc<Job>, cluster: &Cluster) -> Result<(), PipelineError> {
    run_workers(job, Some(cluster), None).await.map(|_| ())
}

/// Runs this process's workers until the dataflow is complete.
async fn run_workers(
    job: &Arc<Job>,
    cluster: Option<&Cluster>,
    lead: Option<Lead>,
) -> Result<Driven, PipelineError> {
    let allocators = match (cluster, job.workers) {
        (Some(cluster), workers) => cluster.allocators(workers)?,
        (None, 1) => try_build(CommunicationConfig::Thread)?,
        (None, workers) => try_build(CommunicationConfig::Process(workers))?,
    };
    // A thread that nobody waits for: where a process of the cluster is lost, it may never end.
    let (send, ran) = oneshot::channel();
    let started = std::thread::Builder::new().name("limn:drive".into());
    let thread = started.spawn({
        let job = Arc::clone(job);
        move || send.send(work(job, allocators, lead))
    });
    let died = |_| PipelineError::Dataflow("the driver died".into());
    thread.map_err(|error| PipelineError::Dataflow(format!("no thread to drive: {error}")))?;
    let driven = ran.await.map_err(died)??;
    match job.fatal.take() {
        Some(error) => Err(error),
        None => Ok(driven),
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
) -> Result<Driven, PipelineError> {
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
            Driven::default()
        })
    })
    .map_err(PipelineError::Dataflow)?;
    let mut driven = Driven::default();
    for result in guards.join() {
        let Driven { published, left } = result.map_err(PipelineError::Dataflow)?;
        driven.published.extend(published);
        driven.left += left;
    }
    Ok(driven)
}

/// One worker's part of [`work`]; the first of all workers drives.
fn run_worker(worker: &mut Worker, job: &Arc<Job>, lead: &Mutex<Option<Lead>>) -> Driven {
    let (send, receive) = mpsc::channel();
    let inputs = build(worker, job, send);
    let lead = (worker.index() == 0).then(|| {
        let mut lead = lead.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        lead.take()
    });
    let driven = match lead.flatten() {
        None => {
            drop(inputs);
            Driven::default()
        }
        Some(lead) => {
            let driver = Driver {
                inputs,
                job: Arc::clone(job),
                epochs: lead.epochs,
                epochs_in_flight: lead.epochs_in_flight,
                next: 0,
                narrating: None,
                driven: Driven::default(),
            };
            driver.drive(worker, &receive, &lead.progress)
        }
    };
    // The dataflow is complete when its inputs are gone and all workers have done their part.
    while worker.has_dataflows() && !job.fatal.is_set() {
        worker.step_or_park(Some(PARK));
    }
    drop_dataflows(worker, &job.fatal);
    driven
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
    epochs: VecDeque<EpochPlan>,
    epochs_in_flight: u64,
    next: Epoch,
    /// Set when the lake's own epochs are published.
    narrating: Option<Narrating>,
    driven: Driven,
}

/// The second part of a run: the model is asked, and what it has answered is fed.
struct Narrating {
    /// Groups all of whose narrations have come.
    answered: Option<mpsc::Receiver<GroupId>>,
    /// Those that are not fed yet, and how many tables they have.
    ready: Vec<GroupId>,
    tables: usize,
    last_fed: Instant,
}

impl Driver {
    fn drive(
        mut self,
        worker: &mut Worker,
        receive: &mpsc::Receiver<PublishedEpoch>,
        progress: &Progress,
    ) -> Driven {
        let job = Arc::clone(&self.job);
        loop {
            if job.stop.is_cancelled() {
                self.driven.left += self.epochs.len();
                self.epochs.clear();
            }
            while !self.epochs.is_empty() && self.under_way() < self.epochs_in_flight {
                if let Some(epoch) = self.epochs.pop_front() {
                    self.feed(epoch);
                }
            }
            let lake_is_published = self.epochs.is_empty() && self.under_way() == 0;
            // Whatever is published was told before the frontier passed it.
            self.take_in(receive);
            if lake_is_published && self.narrating.is_none() {
                self.narrating = Some(self.start_narrating());
            }
            self.feed_narrated(progress);
            progress
                .epochs_done
                .store(self.next - self.under_way(), Ordering::Relaxed);
            if job.fatal.is_set() || (self.narrating_is_over() && self.under_way() == 0) {
                break;
            }
            worker.step_or_park(Some(PARK));
        }
        self.take_in(receive);
        self.driven
    }

    /// Keeps what was published; tables of the lake's epochs that await a narration are wanted.
    fn take_in(&mut self, receive: &mpsc::Receiver<PublishedEpoch>) {
        for mut epoch in receive.try_iter() {
            match (&self.job.asking, &self.narrating) {
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

    /// The lake is published: the snapshot may say so, and the model is asked for what is wanted.
    fn start_narrating(&self) -> Narrating {
        let asking = self.job.asking.as_ref();
        let asking = asking.filter(|asking| {
            asking.is_wanted() && !self.job.fatal.is_set() && !self.job.stop.is_cancelled()
        });
        Narrating {
            answered: asking.map(|asking| {
                let (committer, fatal) =
                    (Arc::clone(&self.job.committer), Arc::clone(&self.job.fatal));
                self.job.runtime.spawn(async move {
                    if let Err(error) = committer.finish().await {
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

    fn narrating_is_over(&self) -> bool {
        self.narrating
            .as_ref()
            .is_some_and(|narrating| narrating.answered.is_none() && narrating.ready.is_empty())
    }

    /// Feeds the groups whose narrations have come, when there are enough or it has been long enough.
    fn feed_narrated(&mut self, progress: &Progress) {
        let under_way = self.under_way();
        let (Some(narrating), Some(asking)) = (&mut self.narrating, &self.job.asking) else {
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
            self.inputs.narrated.send(Work::Narrate {
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
        self.next += 1;
        self.inputs.advance_to(self.next);
    }
}
