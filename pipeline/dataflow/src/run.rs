//! A run: list the lake, plan it, feed the dataflow epoch by epoch, and report.
//!
//! Worker 0 of the process drives: it feeds an epoch when fewer than `epochs_in_flight` are under
//! way, which bounds what is in memory at once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use limn_lake::ReadOptions;
use limn_models::Embedder;
use limn_segment::IndexStore;
use limn_store::{RequestCounts, Store};
use limn_summary::TokenCounter;
use timely::worker::Worker;

use crate::assemble::Assembler;
use crate::changes::Epoch;
use crate::embed::BlockEmbedder;
use crate::error::{Fatal, PipelineError};
use crate::job::{Inputs, Job, build};
use crate::listing::Listing;
use crate::options::{IndexSettings, RunOptions, shards};
use crate::plan::{EpochPlan, Planner};
use crate::progress::Progress;
use crate::publish::{Committer, PublishedEpoch};
use crate::published::Published;
use crate::read::Reader;
use crate::report::{
    ByteTotals, Failure, ModelTotals, ObjectCounts, Report, RequestTotals, Seconds, TableCounts,
};
use crate::segments::{Outcome, SegmentWriter};
use crate::wire::Wire;

/// How long a parked worker sleeps at most before it looks at the job's state again.
const PARK: Duration = Duration::from_millis(20);

/// Indexes one lake once: lists it, describes what changed, publishes, and reports.
///
/// # Errors
/// The lake cannot be listed, the index cannot be read or written, the embedder fails, or another
/// writer published first. Tables that cannot be read are no errors but [`Report::failures`].
pub async fn index_lake(
    lake: Store,
    index: IndexStore,
    embedder: Arc<dyn Embedder>,
    options: RunOptions,
    progress: Arc<Progress>,
) -> Result<Report, PipelineError> {
    let run = Run::open(lake, index, embedder, options, progress).await?;
    run.carry_out().await
}

/// A lake and its index, with everything a run shares.
struct Run {
    lake: Store,
    index: IndexStore,
    options: RunOptions,
    progress: Arc<Progress>,
    published: Arc<Published>,
    planner: Planner,
    job: Arc<Job>,
    started: Instant,
    counts: (RequestCounts, RequestCounts),
}

struct WindowCounter(Arc<dyn Embedder>);

impl TokenCounter for WindowCounter {
    fn count(&self, text: &str) -> usize {
        self.0.count_tokens(text)
    }

    fn window(&self) -> usize {
        self.0.window()
    }
}

impl Run {
    /// Opens the index and reads what it has of this lake.
    async fn open(
        lake: Store,
        index: IndexStore,
        embedder: Arc<dyn Embedder>,
        options: RunOptions,
        progress: Arc<Progress>,
    ) -> Result<Self, PipelineError> {
        let started = Instant::now();
        let counts = (lake.counts(), index.store.counts());
        let settings = IndexSettings::of_run(&options, embedder.as_ref());
        let published = Arc::new(Published::load(&index, lake.url(), &settings).await?);
        let shards = shards(&options, published.snapshot.as_ref())?;
        let reader = Arc::new(Reader::new(
            lake.clone(),
            Arc::clone(&published),
            ReadOptions {
                sample_rows: options.sample_rows,
                scan_budget: options.scan_budget,
                seed: options.seed,
            },
            options.read_memory,
            Arc::clone(&progress),
        ));
        let planner = Planner::new(
            lake.url(),
            Arc::clone(&reader),
            Arc::clone(&published),
            settings.fingerprint(),
            &options,
        );
        let job = Arc::new(Job {
            reader,
            assembler: Arc::new(Assembler {
                lake: lake.clone(),
                published: Arc::clone(&published),
                counter: Arc::new(WindowCounter(Arc::clone(&embedder))),
                narrate: options.narrate,
                settings: settings.fingerprint(),
                progress: Arc::clone(&progress),
            }),
            embedder: Arc::new(BlockEmbedder::new(
                Arc::clone(&embedder),
                options.embed_threads,
                index.clone(),
                published.snapshot.clone(),
                Arc::clone(&progress),
            )),
            writer: Arc::new(SegmentWriter::new(
                index.clone(),
                settings.dimensions,
                Arc::clone(&progress),
            )),
            committer: Committer::new(
                index.clone(),
                lake.url().to_owned(),
                settings,
                shards,
                &published,
            ),
            lake: lake.url().to_owned(),
            shards,
            runtime: tokio::runtime::Handle::current(),
            fatal: Arc::new(Fatal::default()),
        });
        Ok(Self {
            lake,
            index,
            options,
            progress,
            published,
            planner,
            job,
            started,
            counts,
        })
    }

    /// Lists the lake and indexes what changed.
    async fn carry_out(self) -> Result<Report, PipelineError> {
        let listing = Listing::of(&self.lake, &self.index, &self.progress).await?;
        let known = self.published.table_count();
        // An unmounted disk and a mistyped prefix look like a lake from which all is gone.
        let is_suspicious = known > 0 || self.lake.local_root().is_none();
        if listing.is_empty() && is_suspicious && !self.options.allow_empty {
            return Err(PipelineError::EmptyLake {
                lake: self.lake.url().to_owned(),
                tables: known,
            });
        }
        let listed = listing.objects.len();
        let plan = self.planner.plan(listing.objects, &listing.unlisted).await;
        if plan.files_wanted > 0 {
            self.index.check_writable()?;
        }
        // A name that no table can have is told like any other failure.
        let refused = plan.refused.iter().map(|error| Failure {
            table: error.object.clone(),
            object: error.object.clone(),
            error: error.to_string(),
        });
        let mut failures = listing.failures;
        failures.extend(refused);
        let orphans = plan.orphans.iter();
        let orphans =
            orphans.map(|orphan| format!("context of '{orphan}' names no table of the lake"));
        let mut notes = listing.notes;
        notes.extend(orphans);
        Progress::add(&self.progress.files_wanted, plan.files_wanted);
        Progress::add(&self.progress.epochs_planned, plan.epochs.len());

        let job = Arc::clone(&self.job);
        let workers = self.options.workers.max(1);
        let in_flight = self.options.epochs_in_flight.max(1);
        let progress = Arc::clone(&self.progress);
        let epochs = tokio::task::spawn_blocking(move || {
            run_epochs(&job, plan.epochs, workers, in_flight, &progress)
        })
        .await
        .map_err(|_| PipelineError::Dataflow("the driver died".into()))??;
        self.job.committer.finish().await?;
        Ok(self.report(listed, epochs, failures, notes).await)
    }

    async fn report(
        &self,
        listed: usize,
        epochs: Vec<PublishedEpoch>,
        mut failures: Vec<Failure>,
        notes: Vec<String>,
    ) -> Report {
        let mut outcomes: HashMap<String, Outcome> = HashMap::new();
        for epoch in epochs {
            for (name, outcome) in epoch.outcomes {
                let known = outcomes.entry(name).or_insert(outcome);
                // Gone from one group of files and there in another: the table has changed.
                *known = match (*known, outcome) {
                    (Outcome::Removed, Outcome::Added) | (Outcome::Added, Outcome::Removed) => {
                        Outcome::Changed
                    }
                    (Outcome::Removed | Outcome::Forgotten, other)
                    | (other, Outcome::Removed | Outcome::Forgotten) => other,
                    (_, latest) => latest,
                };
            }
            failures.extend(epoch.failures);
        }
        let count = |wanted| outcomes.values().filter(|o| **o == wanted).count() as u64;
        let mut tables = TableCounts {
            added: count(Outcome::Added),
            changed: count(Outcome::Changed),
            removed: count(Outcome::Removed),
            ..TableCounts::default()
        };
        // What was unreadable before and has not changed is still worth telling.
        failures.extend(
            self.published
                .failures()
                .filter(|failure| !outcomes.contains_key(&failure.table)),
        );
        failures.sort();
        failures.dedup();
        tables.failed = failures
            .iter()
            .map(|failure| failure.table.as_str())
            .collect::<HashSet<_>>()
            .len() as u64;
        tables.unchanged = self
            .published
            .table_count()
            .saturating_sub(tables.changed + tables.removed);

        let lake = self.lake.counts().since(&self.counts.0);
        let index = self.index.store.counts().since(&self.counts.1);
        let embed = self.job.embedder.stats();
        Report {
            snapshot: self.job.committer.snapshot_number().await,
            tables,
            objects: ObjectCounts {
                listed: listed as u64,
                read: self.job.reader.files_read(),
            },
            requests: RequestTotals {
                list: lake.list + index.list,
                get: lake.get + index.get,
                put: lake.put + index.put,
                head: lake.head + index.head,
            },
            bytes: ByteTotals {
                read: lake.bytes_read + index.bytes_read,
                written: lake.bytes_written + index.bytes_written,
            },
            model: ModelTotals {
                embedded_blocks: self.progress.blocks_embedded_anew.load(Ordering::Relaxed),
                embedded_tokens: embed.tokens,
                ..ModelTotals::default()
            },
            seconds: Seconds {
                total: self.started.elapsed().as_secs_f64(),
                read: self.progress.read_seconds(),
                narrate: 0.0,
                embed: embed.busy.as_secs_f64(),
                embed_span: embed.span().as_secs_f64(),
                write: self.progress.write_seconds(),
            },
            failures,
            notes,
        }
    }
}

/// Runs epochs through one dataflow, to the end of the last one.
///
/// # Errors
/// The first error of any stage. The dataflow is then dropped on all workers; what was published
/// stays.
fn run_epochs(
    job: &Arc<Job>,
    epochs: VecDeque<EpochPlan>,
    workers: usize,
    epochs_in_flight: u64,
    progress: &Arc<Progress>,
) -> Result<Vec<PublishedEpoch>, PipelineError> {
    let source = Arc::new(Mutex::new(Some(epochs)));
    let over = Arc::new(AtomicBool::new(false));
    let config = if workers == 1 {
        timely::Config::thread()
    } else {
        timely::Config::process(workers)
    };
    let guards = timely::execute(config, {
        let job = Arc::clone(job);
        let over = Arc::clone(&over);
        let progress = Arc::clone(progress);
        move |worker| {
            let ran = catch_unwind(AssertUnwindSafe(|| {
                run_worker(worker, &job, &source, &over, epochs_in_flight, &progress)
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
                Vec::new()
            })
        }
    })
    .map_err(PipelineError::Dataflow)?;
    let mut published = Vec::new();
    for result in guards.join() {
        published.extend(result.map_err(PipelineError::Dataflow)?);
    }
    match job.fatal.take() {
        Some(error) => Err(error),
        None => Ok(published),
    }
}

/// One worker's part of [`run_epochs`]; the one that finds the epochs drives.
fn run_worker(
    worker: &mut Worker,
    job: &Arc<Job>,
    source: &Mutex<Option<VecDeque<EpochPlan>>>,
    over: &AtomicBool,
    epochs_in_flight: u64,
    progress: &Progress,
) -> Vec<PublishedEpoch> {
    let (send, receive) = mpsc::channel();
    let inputs = build(worker, job, send);
    let epochs = (worker.index() == 0)
        .then(|| {
            source
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner())
                .take()
        })
        .flatten();
    let Some(epochs) = epochs else {
        drop(inputs);
        while !over.load(Ordering::Acquire) && !job.fatal.is_set() {
            worker.step_or_park(Some(PARK));
        }
        drop_dataflows(worker, &job.fatal);
        return Vec::new();
    };
    let driver = Driver {
        inputs,
        epochs,
        epochs_in_flight,
        next: 0,
        published: Vec::new(),
    };
    let published = driver.drive(worker, &job.fatal, &receive, progress);
    over.store(true, Ordering::Release);
    drop_dataflows(worker, &job.fatal);
    published
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
    epochs: VecDeque<EpochPlan>,
    epochs_in_flight: u64,
    next: Epoch,
    published: Vec<PublishedEpoch>,
}

impl Driver {
    fn drive(
        mut self,
        worker: &mut Worker,
        fatal: &Fatal,
        receive: &mpsc::Receiver<PublishedEpoch>,
        progress: &Progress,
    ) -> Vec<PublishedEpoch> {
        loop {
            while !self.epochs.is_empty() && self.under_way() < self.epochs_in_flight {
                if let Some(epoch) = self.epochs.pop_front() {
                    self.feed(epoch);
                }
            }
            self.published.extend(receive.try_iter());
            progress
                .epochs_done
                .store(self.next - self.under_way(), Ordering::Relaxed);
            if fatal.is_set() || (self.epochs.is_empty() && self.under_way() == 0) {
                break;
            }
            worker.step_or_park(Some(PARK));
        }
        self.published.extend(receive.try_iter());
        self.published
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
