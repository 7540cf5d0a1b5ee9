//! The nightly job, from top to bottom as the data flows.
//!
//! [`build`] is the dataflow of a round, which is one listing and all that comes of it, with its
//! stages below it in order; each stage's inside is in its own file. [`Stages`] holds what the
//! stages share in one process: the reader, the assembler, the describer, the known vectors, the
//! embedder, the segment writer and the committer. `crate::drive` feeds it epochs: first those of
//! the lake; then, as a language model gets on, those of tables that are published and await its
//! words. What a session keeps from round to round is in [`Job`], and in the dataflow of the join
//! graph ([`build_graph`]).
//!
//! Each line is a step, with the worker that its input goes to, if not the same as before, and what
//! it waits for:
//!
//! ```text
//! lake, published      → the group's worker in the process that planned it
//!   what differs         of the groups that the survey has found to differ
//! + plans              → the same; waits for the epoch
//! + late               → the same
//!   files looked up      in what is published, a group at a time; the others are read
//!     read             → path's hash, and back to the group's worker
//!   assembled            waits for all parts of the group
//!   tables             → group's hash, in a cluster; but those made of their published row stay
//!   described            those with a narration of an older schema go to the hash of the schema,
//!                        and wait for the epoch
//!   vectors asked for  → the process that the text's hash names, and back; waits for all answers
//!   embedded             in batches of the process
//!   batched            → shard's number, spread over processes first; waits for the epoch, or until
//!                        there are too many
//!   segments written     a bundle and a catalog file
//!     tables that await  → the process that asks a model for the words of their schema; fed late
//!   published          → the first worker, which publishes; waits for the epoch
//! ```

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, mpsc};

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

use crate::assemble::complete_groups;
use crate::assembler::Assembler;
use crate::async_operator::async_flat_map;
use crate::changes::{Epoch, changed_groups};
use crate::cluster::terms::Terms;
use crate::describe::{Describer, TableChange};
use crate::draft::TableDraft;
use crate::drive::sleep::Sleepers;
use crate::embed::{BlockEmbedder, EmbeddedTable};
use crate::error::{Fatal, PipelineError};
use crate::graph::{EdgeUpdate, GraphWork, Joins, edges};
use crate::inputs::{Input, Inputs};
use crate::kept::KeptVectors;
use crate::known_vectors::{AnsweredTable, Asked, KnownVectors, Question, await_answers};
use crate::narrate::aliases::settle_aliases;
use crate::narrate::asking::Asking;
use crate::narrate::awaiting::{Askers, AwaitingTable};
use crate::narrate::store::NarrationStore;
use crate::plan::GroupPlan;
use crate::publish::{Committer, PublishedEpoch, gather_epoch};
use crate::read::{ReadTask, Reader};
use crate::segments::{
    BufferLimits, SegmentWriter, ShardResult, ShardWorkers, Written, batch_by_shard,
};
use crate::select::{GroupOwners, Work, select_work};
use crate::tasks::{LookedUp, Rest, look_up};
use crate::wire::Wire;

/// What all rounds of a session share in a process.
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
    /// The vectors of texts that need not be embedded, as far as this process knows them.
    pub known_vectors: Arc<KnownVectors>,
    /// Gives blocks their vectors.
    pub embedder: Arc<BlockEmbedder>,
    /// What is embedded and not published yet.
    pub kept: Arc<KeptVectors>,
    /// Builds and uploads bundles.
    pub writer: Arc<SegmentWriter>,
    /// Where tables are counted, from the reading of their files to their segment.
    pub room: Room,
    /// Bytes of tables that may wait for the end of their epoch on one worker.
    pub most_buffered: u64,
    /// Publishes epochs.
    pub committer: Arc<Committer>,
}

impl Stages {
    /// What tables may take that wait for the end of their epoch.
    fn buffer_limits(&self) -> BufferLimits {
        BufferLimits {
            room: self.room.clone(),
            most_buffered: self.most_buffered,
        }
    }
}

impl Job {
    /// A session's job on the terms of a run.
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
        }
    }
}

/// Builds the dataflow of a round on one worker. Published epochs go to `report`, on the first one.
pub fn build(
    worker: &mut Worker,
    job: &Job,
    stages: &Stages,
    askers: &Askers,
    report: mpsc::Sender<PublishedEpoch>,
) -> Inputs {
    let mut lake = InputSession::new();
    let mut published = InputSession::new();
    let mut plans = InputHandle::new();
    let mut late = InputHandle::new();
    let mut clock: Input<()> = InputHandle::new();
    let (begun, done, late_done) = (ProbeHandle::new(), ProbeHandle::new(), ProbeHandle::new());
    let (may_narrate, late_fed) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
    let worker_count = worker.peers();
    let worker_index = worker.index();
    let owners = GroupOwners::of(worker_index, job.workers);
    let here = worker_index as u64;
    worker.dataflow::<Epoch, _, _>(|scope| {
        let lake = lake.to_collection(scope);
        let published = published.to_collection(scope);
        let plans = plans.to_stream(scope);
        let late = late.to_stream(scope);
        let clock = clock.to_stream(scope).probe_with(&begun);
        let narrating = Rc::clone(&may_narrate);
        clock.broadcast().inspect(move |()| narrating.set(true));
        let (late, each) = late.flat_map(|work| [Ok(work), Err(())]).ok_err(|it| it);
        count_late(each, &late_fed).probe_with(&late_done);

        // From what changed comes work; what comes late is work as well. It stays with the process
        // that fed it: the one that planned the group and knows what is published of it, or one
        // that has asked a model, whose late work brings that along.
        let changes = changed_groups(lake, published, move |group| owners.owner(group));
        let plans = plans.exchange(move |plan: &Wire<GroupPlan>| owners.owner(plan.0.id));
        let late = late.exchange(move |work: &Work| owners.owner(work.group()));
        let work = select_work(changes.inner, plans).concat(late);

        let mut tables = read_and_assemble(work, job, stages, owners);
        // From here on any process can go on with them, but those made of their published row.
        if worker_count > job.workers {
            tables = tables.exchange(move |table: &TableDraft| table.route(here));
        }
        let described = describe_tables(tables, job, stages);
        let answered = ask_for_vectors(described, job, stages, here);
        let embedded = embed_blocks(answered, job, stages);
        let written = write_segments(embedded, job, stages, worker_count);
        let (shards, awaiting) = written.ok_err(|written| match written {
            Written::Shard(shard) => Ok(*shard),
            awaiting => Err(awaiting),
        });
        await_narrations(awaiting, job, stages, askers).probe_with(&done);
        if worker_count > job.workers {
            // An epoch is done when this is, too.
            forget_kept(shards.clone(), stages).probe_with(&done);
        }
        publish(shards, job, stages)
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
        late: Some(late),
        late_fed,
        late_done,
        clock: Some(clock),
        begun,
        may_narrate,
        done,
    }
}

/// Counts work that comes late on the first worker, which drives.
fn count_late<'scope>(
    late: Stream<'scope, Epoch, Vec<()>>,
    fed: &Rc<Cell<usize>>,
) -> Stream<'scope, Epoch, Vec<()>> {
    let fed = Rc::clone(fed);
    let late = late.exchange(|()| 0);
    late.inspect(move |()| fed.set(fed.get() + 1))
}

/// What the catalog knows of a group's files is not read again. The others are read by the workers
/// that the hashes of their paths name; tables come together where their group's work is.
fn read_and_assemble<'scope>(
    work: Stream<'scope, Epoch, Vec<Work>>,
    job: &Job,
    stages: &Stages,
    owners: GroupOwners,
) -> Stream<'scope, Epoch, Vec<TableDraft>> {
    let look = Stage::of("look files up", job, &stages.reader);
    let looked_up = look.run(work, Pipeline, move |reader, work| async move {
        look_up(&reader, work, owners).await
    });
    let (known, rest): (_, Stream<'scope, Epoch, Vec<Rest>>) =
        looked_up.ok_err(|found| match found {
            LookedUp::Part(part) => Ok(*part),
            LookedUp::Rest(rest) => Err(rest),
        });
    let (unknown, at_once) = rest.ok_err(|rest| match rest {
        Rest::Read(task) => Ok(*task),
        Rest::AtOnce(work) => Err(work),
    });
    let read = Stage::of("read files", job, &stages.reader);
    let by_path = Exchange::new(ReadTask::route);
    let reads = read.run(unknown, by_path, |reader, task| async move {
        reader.read(task).await
    });
    let groups = complete_groups(known, reads);
    let assemble = Stage::of("assemble tables", job, &stages.assembler);
    let of_parts = assemble.run(groups, Pipeline, |assembler, group| async move {
        assembler.of_parts(group)
    });
    let assemble = Stage::of("assemble tables at once", job, &stages.assembler);
    let at_once = assemble.run(at_once, Pipeline, |assembler, work| async move {
        assembler.at_once(*work)
    });
    of_parts.concat(at_once)
}

/// Tables are described, with the narrations of their columns that there are.
fn describe_tables<'scope>(
    tables: Stream<'scope, Epoch, Vec<TableDraft>>,
    job: &Job,
    stages: &Stages,
) -> Stream<'scope, Epoch, Vec<TableChange>> {
    let narrate = Stage::of("look up narrations", job, &stages.describer);
    let narrated = narrate.run(tables, Pipeline, |describer, table| async move {
        describer.look_up(table).await
    });
    let narrated = settle_aliases(narrated, stages.narrations.clone());
    let describe = Stage::of("describe tables", job, &stages.describer);
    describe.run(narrated, Pipeline, |describer, table| async move {
        describer.describe(table).await
    })
}

/// The processes that may know vectors of a table's texts are asked for them. The table waits on
/// its worker, which is `here`, until they have answered.
fn ask_for_vectors<'scope>(
    described: Stream<'scope, Epoch, Vec<TableChange>>,
    job: &Job,
    stages: &Stages,
    here: u64,
) -> Stream<'scope, Epoch, Vec<AnsweredTable>> {
    let ask = Stage::of("ask for vectors", job, &stages.embedder);
    let asked = ask.run(described, Pipeline, move |embedder, table| async move {
        embedder.ask(table, here).await
    });
    let (tables, questions) = asked.ok_err(|asked| match asked {
        Asked::Table(table) => Ok(*table),
        Asked::Question(question) => Err(question),
    });
    let look_up = Stage::of("look vectors up", job, &stages.known_vectors);
    let workers = job.workers as u64;
    let to_holder = Exchange::new(move |question: &Question| question.route(workers));
    let answers = look_up.run(questions, to_holder, |known, question| async move {
        known.answer(question).await
    });
    await_answers(tables, answers)
}

/// Texts whose vectors nobody knows become vectors, in batches over the workers of a process.
fn embed_blocks<'scope>(
    answered: Stream<'scope, Epoch, Vec<AnsweredTable>>,
    job: &Job,
    stages: &Stages,
) -> Stream<'scope, Epoch, Vec<EmbeddedTable>> {
    let embed = Stage::of("embed blocks", job, &stages.embedder);
    embed.run(answered, Pipeline, |embedder, table| async move {
        embedder.embed(table).await
    })
}

/// A complete epoch becomes a bundle per shard, or several where its tables take too much memory
/// until then…
fn write_segments<'scope>(
    embedded: Stream<'scope, Epoch, Vec<EmbeddedTable>>,
    job: &Job,
    stages: &Stages,
    worker_count: usize,
) -> Stream<'scope, Epoch, Vec<Written>> {
    let limits = stages.buffer_limits();
    let shards = (job.shards, ShardWorkers::of(worker_count, job.workers));
    let batches = batch_by_shard(embedded, job.lake.clone(), shards, limits);
    let write = Stage::of("write segments", job, &stages.writer);
    write.run(batches, Pipeline, |writer, (epoch, batch)| async move {
        writer.write(epoch, batch).await
    })
}

/// Vectors that are in a segment need not be kept any more by the process that embedded them.
/// Nothing says which one it was, so all get the hashes.
fn forget_kept<'scope>(
    shards: Stream<'scope, Epoch, Vec<ShardResult>>,
    stages: &Stages,
) -> Stream<'scope, Epoch, Vec<TextHash>> {
    let kept = Arc::clone(&stages.kept);
    let texts = shards.flat_map(|shard: ShardResult| shard.texts);
    texts.broadcast().inspect(move |text| kept.forget([*text]))
}

/// Tables that await a narration wait with the process that asks for it, if any does, until the
/// lake is published.
fn await_narrations<'scope>(
    awaiting: Stream<'scope, Epoch, Vec<Written>>,
    job: &Job,
    stages: &Stages,
    askers: &Askers,
) -> Stream<'scope, Epoch, Vec<()>> {
    let is_asked = !askers.is_empty();
    let (asking, askers, workers) = (stages.asking.clone(), askers.clone(), job.workers);
    awaiting
        .flat_map(move |written| match written {
            Written::Awaits(table) if is_asked => Some(*table),
            _ => None,
        })
        .exchange(move |table: &AwaitingTable| askers.worker(table, workers))
        .flat_map(move |table| {
            if let Some(asking) = &asking {
                asking.want(table);
            }
            None
        })
}

/// …and the bundles become the next snapshot, in the order of the epochs.
fn publish<'scope>(
    shards: Stream<'scope, Epoch, Vec<ShardResult>>,
    job: &Job,
    stages: &Stages,
) -> Stream<'scope, Epoch, Vec<PublishedEpoch>> {
    let joins = Arc::clone(&job.joins);
    let publish = Stage::of("publish", job, &stages.committer);
    publish.run(gather_epoch(shards), Pipeline, move |committer, results| {
        committer.commit(results, Arc::clone(&joins))
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

/// Builds the join graph on one worker. It is a dataflow of its own, since publishing an epoch
/// waits for the joins of its tables. Edges that come and go are sent to `found`, on the first
/// worker.
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

/// A stage whose work is tasks: what does it, and its name in logs and errors.
struct Stage<S> {
    name: &'static str,
    runtime: Handle,
    fatal: Arc<Fatal>,
    does: Arc<S>,
}

impl<S: 'static> Stage<S> {
    fn of(name: &'static str, job: &Job, does: &Arc<S>) -> Self {
        Self {
            name,
            runtime: job.runtime.clone(),
            fatal: Arc::clone(&job.fatal),
            does: Arc::clone(does),
        }
    }

    /// Runs a task for each record. `task` itself is called in the records' order, what it gives
    /// runs in any.
    fn run<'scope, I, O, P, F, Fut>(
        self,
        stream: Stream<'scope, Epoch, Vec<I>>,
        pact: P,
        task: F,
    ) -> Stream<'scope, Epoch, Vec<O>>
    where
        I: Send + 'static,
        O: ExchangeData + Send,
        P: ParallelizationContract<Epoch, Vec<I>>,
        F: Fn(Arc<S>, I) -> Fut + 'static,
        Fut: Future<Output = Result<Vec<O>, PipelineError>> + Send + 'static,
    {
        let does = self.does;
        let task = move |record| task(Arc::clone(&does), record);
        async_flat_map(stream, pact, self.name, self.runtime, self.fatal, task)
    }
}
