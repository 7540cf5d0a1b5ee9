//! The nightly job, from top to bottom as the data flows.
//!
//! [`build`] is the dataflow, with its stages below it in order; each stage's inside is in its own
//! file. [`Stages`] holds what the stages share in one process: the reader, the assembler, the
//! describer, the embedder, the segment writer and the committer. `crate::drive` feeds it epochs:
//! first those of the lake; then, as a language model gets on, those of tables that are published
//! and await its words. The dataflow of a session lives on: each listing is a round, with stages of
//! its own.

use std::sync::{Arc, PoisonError, RwLock, mpsc};

use differential_dataflow::input::InputSession;
use limn_formats::Room;
use limn_joins::{Band, Member, Table};
use limn_segment::TextHash;
use timely::ExchangeData;
use timely::dataflow::channels::pact::{Exchange, ParallelizationContract, Pipeline};
use timely::dataflow::operators::vec::{Broadcast, Map};
use timely::dataflow::operators::{Concat, Exchange as _, Inspect, OkErr, Probe};
use timely::dataflow::{InputHandle, ProbeHandle, Stream};
use timely::worker::Worker;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::assemble::assemble_tables;
use crate::assembler::Assembler;
use crate::async_operator::async_flat_map;
use crate::changes::{Epoch, GroupId, MemberId, MemberUpdate, changed_groups};
use crate::cluster::terms::Terms;
use crate::describe::Describer;
use crate::draft::TableDraft;
use crate::drive::sleep::Sleepers;
use crate::embed::{BlockEmbedder, EmbeddedTable};
use crate::error::{Fatal, PipelineError};
use crate::graph::{EdgeUpdate, GraphWork, Joins, edges};
use crate::kept::KeptVectors;
use crate::narrate::aliases::settle_aliases;
use crate::narrate::asking::Asking;
use crate::narrate::store::NarrationStore;
use crate::plan::{EpochPlan, GroupPlan};
use crate::publish::{Committer, PublishedEpoch, gather_epoch};
use crate::read::{LookedUp, ReadTask, Reader};
use crate::segments::{SegmentWriter, ShardResult, StashLimits, batch_by_shard};
use crate::select::{Home, Work, select_work};
use crate::tasks::read_tasks;
use crate::wire::Wire;

/// What a process's dataflow has from its beginning to its end.
pub struct Job {
    /// The lake's URL.
    pub lake: String,
    /// Number of shards.
    pub shards: u32,
    /// Workers of this process; all processes have as many.
    pub workers: usize,
    /// Where tasks run.
    pub runtime: Handle,
    /// Once it is cancelled, no epoch of the lake begins, and no model is asked.
    pub stop: CancellationToken,
    /// The first error that ends the run.
    pub fatal: Arc<Fatal>,
    /// The join graph of what is published.
    pub joins: Arc<Joins>,
    /// The threads of the workers.
    pub sleepers: Arc<Sleepers>,
    /// What the stages have in the round that is under way, if one is.
    stages: RwLock<Option<Arc<Stages>>>,
}

/// What the stages of a process share in one round: a listing, and all that comes of it.
pub struct Stages {
    /// Reads files within a memory budget.
    pub reader: Arc<Reader>,
    /// Makes tables of groups.
    pub assembler: Arc<Assembler>,
    /// Makes the texts of tables.
    pub describer: Arc<Describer>,
    /// The narrations, where tables are narrated.
    pub narrations: Option<Arc<NarrationStore>>,
    /// Asks a model for missing narrations, where the run has one.
    pub asking: Option<Arc<Asking>>,
    /// Gives blocks their vectors.
    pub embedder: Arc<BlockEmbedder>,
    /// What is embedded and not published yet.
    pub kept: Arc<KeptVectors>,
    /// Builds and uploads bundles.
    pub writer: Arc<SegmentWriter>,
    /// Where tables are counted, from their assembly to their segment.
    pub room: Room,
    /// Bytes of tables that may wait for the end of their epoch on one worker.
    pub most_stashed: u64,
    /// Publishes epochs.
    pub committer: Arc<Committer>,
}

impl Stages {
    /// What tables may take that wait for the end of their epoch.
    fn stash_limits(&self) -> StashLimits {
        StashLimits {
            room: self.room.clone(),
            most_stashed: self.most_stashed,
        }
    }
}

impl Job {
    /// A dataflow's job on the terms of a run.
    pub fn new(terms: &Terms, stop: CancellationToken, fatal: Arc<Fatal>) -> Self {
        Self {
            lake: terms.lake.clone(),
            shards: terms.shards,
            workers: terms.workers,
            runtime: Handle::current(),
            stop,
            fatal,
            joins: Arc::new(Joins::of(&terms.lake)),
            sleepers: Arc::default(),
            stages: RwLock::new(None),
        }
    }

    /// What the stages have in this round.
    ///
    /// # Errors
    /// No round is under way: a defect.
    pub fn stages(&self) -> Result<Arc<Stages>, PipelineError> {
        let stages = self.stages.read().unwrap_or_else(PoisonError::into_inner);
        let between = || PipelineError::Dataflow("there is work between two rounds".into());
        stages.clone().ok_or_else(between)
    }

    /// As [`stages`](Self::stages), for operators: an error ends the job.
    pub fn stages_or_end(&self) -> Option<Arc<Stages>> {
        self.stages().map_err(|error| self.fatal.set(error)).ok()
    }

    /// Whether a round is under way.
    pub fn is_in_round(&self) -> bool {
        let stages = self.stages.read().unwrap_or_else(PoisonError::into_inner);
        stages.is_some()
    }

    /// Begins a round: nothing of an earlier one is under way.
    pub fn begin(&self, stages: Arc<Stages>) {
        *self.stages.write().unwrap_or_else(PoisonError::into_inner) = Some(stages);
    }

    /// Ends the round: what only it needed, a language model for example, goes with it.
    pub fn end_round(&self) {
        *self.stages.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

type Input<D> = InputHandle<Epoch, timely::container::CapacityContainerBuilder<Vec<D>>>;

/// The inputs of the dataflow on one worker, and how far it has come.
pub struct Inputs {
    /// The lake as it is: `(group, member)`.
    pub lake: InputSession<Epoch, (GroupId, MemberId), isize>,
    /// The lake as it was published.
    pub published: InputSession<Epoch, (GroupId, MemberId), isize>,
    /// The plans of groups that may have changed.
    pub plans: Input<Wire<GroupPlan>>,
    /// Work that comes late, with all that it needs: tables whose narrations have come, at the epoch
    /// that it is then, and groups that settings cannot reach. They are described again from their
    /// published rows, without a look at the lake.
    pub late: Input<Work>,
    /// Says which epoch begins next; the driver's alone.
    pub clock: Option<Input<()>>,
    /// Epochs before its frontier have begun.
    pub begun: ProbeHandle<Epoch>,
    /// Epochs before its frontier are published.
    pub done: ProbeHandle<Epoch>,
}

impl Inputs {
    /// Feeds an epoch, or what this process has of it, and ends it. Gives the differences between
    /// the lake and what is published that were fed.
    pub fn feed(&mut self, number: Epoch, epoch: EpochPlan) -> Vec<MemberUpdate> {
        for (update, diff) in epoch.published {
            self.published.update(update, diff);
        }
        for (update, diff) in epoch.lake {
            self.lake.update(update, diff);
        }
        for plan in epoch.groups {
            self.plans.send(Wire(plan));
        }
        for group in epoch.restated {
            self.late.send(Work::Restate(group));
        }
        self.advance_to(number + 1);
        epoch.differences
    }

    /// Moves all inputs to the next epoch.
    pub fn advance_to(&mut self, epoch: Epoch) {
        if let Some(clock) = &mut self.clock {
            clock.advance_to(epoch);
            clock.flush();
        }
        self.lake.advance_to(epoch);
        self.published.advance_to(epoch);
        self.plans.advance_to(epoch);
        self.late.advance_to(epoch);
        self.lake.flush();
        self.published.flush();
        self.plans.flush();
        self.late.flush();
    }
}

/// Builds the dataflow on one worker. Published epochs go to `report`.
pub fn build(worker: &mut Worker, job: &Arc<Job>, report: mpsc::Sender<PublishedEpoch>) -> Inputs {
    let mut lake = InputSession::new();
    let mut published = InputSession::new();
    let mut plans = InputHandle::new();
    let mut late = InputHandle::new();
    let mut clock: Input<()> = InputHandle::new();
    let (begun, done) = (ProbeHandle::new(), ProbeHandle::new());
    let worker_count = worker.peers();
    let worker_index = worker.index();
    let home = Home::of(worker_index, job.workers);
    worker.dataflow::<Epoch, _, _>(|scope| {
        let lake = lake.to_collection(scope);
        let published = published.to_collection(scope);
        let plans = plans.to_stream(scope);
        let late = late.to_stream(scope);
        clock.to_stream(scope).probe_with(&begun);

        // What changed, and the work that makes of it; what comes late is work as well. It stays
        // with the process that planned it, which knows what is published of the group.
        let changes = changed_groups(lake, published, move |group| home.of_group(group));
        let plans = plans.exchange(move |plan: &Wire<GroupPlan>| home.of_group(plan.0.id));
        let late = late.exchange(move |work: &Work| home.of_group(work.group()));
        let work = select_work(changes.inner, plans).concat(late);

        let mut tables = read_and_assemble(work, job, home);
        // From here on any process can go on with them.
        if worker_count > job.workers {
            let here = worker_index as u64;
            tables = tables.exchange(move |table: &TableDraft| table.route(here));
        }
        let embedded = describe_and_embed(tables, job);
        let shards = write_segments(embedded, job);
        if worker_count > job.workers {
            forget_kept(shards.clone(), job).probe_with(&done);
        }
        publish(shards, job)
            .inspect(move |epoch| {
                // Nobody listens only when the run is being given up.
                let _ = report.send(epoch.clone());
            })
            .probe_with(&done);
    });
    Inputs {
        lake,
        published,
        plans,
        late,
        clock: Some(clock),
        begun,
        done,
    }
}

/// What the catalog knows of a group's files is not read again. The others are read wherever a
/// worker is free; tables come together where their group lives.
fn read_and_assemble<'scope>(
    work: Stream<'scope, Epoch, Vec<Work>>,
    job: &Arc<Job>,
    home: Home,
) -> Stream<'scope, Epoch, Vec<TableDraft>> {
    let tasks = work.clone().flat_map(move |work| read_tasks(work, home));
    let looked_up = run_tasks(tasks, Pipeline, "look files up", job, {
        let job = Arc::clone(job);
        move |task| {
            let stages = job.stages();
            async move { Ok(vec![stages?.reader.look_up(task)]) }
        }
    });
    let (unknown, known) = looked_up.ok_err(|found| match found {
        LookedUp::Unknown(task) => Ok(task),
        LookedUp::Known(done) => Err(done),
    });
    let by_path = Exchange::new(ReadTask::route);
    let reads = run_tasks(unknown, by_path, "read files", job, {
        let job = Arc::clone(job);
        move |task| {
            let stages = job.stages();
            async move { stages?.reader.read(task).await }
        }
    });
    assemble_tables(work, known.concat(reads), {
        let job = Arc::clone(job);
        move || Some(Arc::clone(&job.stages_or_end()?.assembler))
    })
}

/// Tables are described, with the narrations of their columns that there are. Texts become vectors,
/// in batches over all workers.
fn describe_and_embed<'scope>(
    tables: Stream<'scope, Epoch, Vec<TableDraft>>,
    job: &Arc<Job>,
) -> Stream<'scope, Epoch, Vec<EmbeddedTable>> {
    let narrated = run_tasks(tables, Pipeline, "look up narrations", job, {
        let job = Arc::clone(job);
        move |table| {
            let stages = job.stages();
            async move { stages?.describer.look_up(table).await }
        }
    });
    let narrated = settle_aliases(narrated, {
        let job = Arc::clone(job);
        move || job.stages_or_end()?.narrations.clone()
    });
    let described = run_tasks(narrated, Pipeline, "describe tables", job, {
        let job = Arc::clone(job);
        move |table| {
            let stages = job.stages();
            async move { stages?.describer.describe(table).await }
        }
    });
    run_tasks(described, Pipeline, "embed blocks", job, {
        let job = Arc::clone(job);
        move |table| {
            let stages = job.stages();
            async move { stages?.embedder.embed(table).await }
        }
    })
}

/// A complete epoch becomes a bundle per shard…
fn write_segments<'scope>(
    embedded: Stream<'scope, Epoch, Vec<EmbeddedTable>>,
    job: &Arc<Job>,
) -> Stream<'scope, Epoch, Vec<ShardResult>> {
    let batches = batch_by_shard(embedded, job.lake.clone(), job.shards, {
        let job = Arc::clone(job);
        move || Some(job.stages_or_end()?.stash_limits())
    });
    run_tasks(batches, Pipeline, "write segments", job, {
        let job = Arc::clone(job);
        move |(epoch, batch)| {
            let stages = job.stages();
            async move { stages?.writer.write(epoch, batch).await }
        }
    })
}

/// Vectors that are in a segment need not be kept any more by the process that embedded them.
fn forget_kept<'scope>(
    shards: Stream<'scope, Epoch, Vec<ShardResult>>,
    job: &Arc<Job>,
) -> Stream<'scope, Epoch, Vec<TextHash>> {
    let job = Arc::clone(job);
    let texts = shards.flat_map(|shard: ShardResult| shard.texts);
    texts.broadcast().inspect(move |text| {
        if let Some(stages) = job.stages_or_end() {
            stages.kept.forget([*text]);
        }
    })
}

/// …and the bundles become the next snapshot.
fn publish<'scope>(
    shards: Stream<'scope, Epoch, Vec<ShardResult>>,
    job: &Arc<Job>,
) -> Stream<'scope, Epoch, Vec<PublishedEpoch>> {
    let epochs = gather_epoch(shards);
    run_tasks(epochs, Pipeline, "publish", job, {
        let job = Arc::clone(job);
        move |results| {
            // In the order of the epochs, which tasks do not keep.
            let joins = Arc::clone(&job.joins);
            let commit = job
                .stages()
                .map(|stages| Arc::clone(&stages.committer).commit(results, joins));
            async move { commit?.await }
        }
    })
}

/// The inputs of the join graph on one worker, and how far it has come.
pub struct GraphInputs {
    /// Tables that come and go.
    pub tables: InputSession<Epoch, Arc<Table>, isize>,
    /// Columns that come to bands, or leave them, by what was looked up.
    pub looked_up: InputSession<Epoch, (Band, Member), isize>,
    /// Edges of tables before its frontier are made.
    pub done: ProbeHandle<Epoch>,
}

/// Builds the join graph on one worker: a dataflow of its own, since an epoch is under way until it
/// is published, with the joins of its tables. Edges that come and go go to the first worker's
/// `edges`.
pub fn build_graph(worker: &mut Worker, found: mpsc::Sender<EdgeUpdate>) -> GraphInputs {
    let mut tables = InputSession::new();
    let mut looked_up = InputSession::new();
    let done = ProbeHandle::new();
    worker.dataflow::<Epoch, _, _>(|scope| {
        let tables = tables.to_collection(scope);
        let looked_up = looked_up.to_collection(scope);
        edges(tables, looked_up, &Arc::new(GraphWork::default()))
            .inner
            .exchange(|_| 0)
            .inspect(move |(edge, _, diff)| {
                // Nobody listens only when the run is being given up.
                let _ = found.send((edge.clone(), *diff));
            })
            .probe_with(&done);
    });
    GraphInputs {
        tables,
        looked_up,
        done,
    }
}

/// [`async_flat_map`] with what all stages of a job share.
fn run_tasks<'scope, I, O, P, F, Fut>(
    stream: Stream<'scope, Epoch, Vec<I>>,
    pact: P,
    stage: &'static str,
    job: &Job,
    task: F,
) -> Stream<'scope, Epoch, Vec<O>>
where
    I: Send + 'static,
    O: ExchangeData + Send,
    P: ParallelizationContract<Epoch, Vec<I>>,
    F: FnMut(I) -> Fut + 'static,
    Fut: Future<Output = Result<Vec<O>, PipelineError>> + Send + 'static,
{
    async_flat_map(
        stream,
        pact,
        stage,
        job.runtime.clone(),
        Arc::clone(&job.fatal),
        task,
    )
}
