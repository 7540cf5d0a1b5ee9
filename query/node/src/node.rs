//! What requests share: the index, the models, and turns at the processors.

use std::num::NonZeroU32;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use limn_models::Embedder;
use limn_retrieval::Grading;
use limn_retrieval::judge::Judge;
use limn_retrieval::{RetrievalError, TRACE, Values};
use limn_segment::{IndexStore, SegmentCache, Snapshot};
use limn_sets::Sets;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span, info_span};

use crate::access::{Access, Caller, Rates, Right, Shares, Turn, Turns};
use crate::answers::sql::Sql;
use crate::answers::{AskOptions, Describer, FeedbackFile, Grant, NodeAnswers, SqlOptions};
use crate::answers::{KeptCells, SetColumns};
use crate::events::EventsTo;
use crate::live::{Live, Scope, View};
use crate::metrics::Metrics;
use crate::problem::{Code, Problem};
use crate::questions::Questions;
use crate::trouble::Trouble;

/// Comparisons of snapshots at a time; one of several callers has one of them.
const HEAVY: usize = 2;
/// Rows read from the catalog at a time: each reads the whole file that holds it.
const ROWS: usize = 4;
/// Questions that a judge reads for at a time.
const JUDGED: usize = 2;

/// How a node serves.
#[derive(Debug)]
pub struct NodeOptions {
    /// How callers are known.
    pub access: Access,
    /// Requests a minute for each caller, where it has no rate of its own.
    pub per_minute: Option<NonZeroU32>,
    /// Whether values of rows are shown at all.
    pub previews: bool,
    /// How often the index is looked at for a newer snapshot.
    pub follow: Duration,
    /// Where bytes of remote segments are kept.
    pub cache: Option<SegmentCache>,
    /// Who judges.
    pub judge: Option<Arc<Judge>>,
    /// How tables are graded.
    pub grading: Grading,
    /// Where feedback is kept.
    pub feedback: Option<FeedbackFile>,
    /// Where events are handed to.
    pub events: Option<EventsTo>,
    /// Who writes descriptions of tables.
    pub describer: Option<Arc<dyn Describer>>,
    /// What statements of SQL may take; none are answered without it, and no rows of the lake.
    pub sql: Option<SqlOptions>,
    /// How questions are answered by plans; none are without it, nor without `sql`.
    pub ask: Option<AskOptions>,
    /// How long an answer may take.
    pub patience: Duration,
    /// Requests that are answered at a time; one of several callers has half of them at most.
    pub concurrency: usize,
    /// Threads that embed and search.
    pub threads: usize,
    /// Whether vectors of questions are remembered.
    pub remembers: bool,
    /// Sites, besides its own, whose pages may ask as agents: `https://agents.example`.
    pub origins: Vec<String>,
}

impl NodeOptions {
    /// The defaults, for callers known like this.
    pub fn new(access: Access) -> NodeOptions {
        NodeOptions {
            access,
            per_minute: None,
            previews: true,
            follow: Duration::from_secs(10),
            cache: None,
            judge: None,
            grading: Grading::DEFAULT,
            feedback: None,
            events: None,
            describer: None,
            sql: Some(SqlOptions::default()),
            ask: Some(AskOptions::default()),
            patience: Duration::from_secs(30),
            concurrency: 256,
            threads: std::thread::available_parallelism().map_or(2, Into::into),
            remembers: true,
            origins: Vec::new(),
        }
    }
}

/// A node: an index that is followed, ready to answer.
#[derive(Debug)]
pub struct Node {
    pub(crate) live: Live,
    pub(crate) questions: Questions,
    pub(crate) sets: Arc<Sets>,
    pub(crate) columns: SetColumns,
    pub(crate) cells: KeptCells,
    pub(crate) judge: Option<Arc<Judge>>,
    pub(crate) grading: Grading,
    pub(crate) feedback: Option<FeedbackFile>,
    pub(crate) events: Option<EventsTo>,
    pub(crate) describer: Option<Arc<dyn Describer>>,
    pub(crate) sql: Option<Sql>,
    pub(crate) ask: Option<AskOptions>,
    pub(crate) answers: NodeAnswers,
    pub(crate) access: Access,
    pub(crate) rates: Rates,
    pub(crate) shares: Arc<Shares>,
    pub(crate) metrics: Metrics,
    pub(crate) trouble: Arc<Trouble>,
    pub(crate) started: Instant,
    pub(crate) patience: Duration,
    pub(crate) concurrency: Arc<Semaphore>,
    pub(crate) origins: Vec<String>,
    previews: bool,
    follow: Duration,
    processors: Arc<Semaphore>,
    judged: Arc<Semaphore>,
    heavy: Turns,
    rows: Arc<Semaphore>,
}

impl Node {
    /// Opens a snapshot of an index to serve it and those that come.
    ///
    /// # Errors
    /// Where the snapshot cannot be opened.
    pub async fn open(
        index: IndexStore,
        snapshot: Snapshot,
        embedder: Arc<dyn Embedder>,
        options: NodeOptions,
    ) -> Result<Node, RetrievalError> {
        let live = Live::open(index, snapshot, Arc::clone(&embedder), options.cache).await?;
        let threads = options.threads.max(1);
        let concurrency = options.concurrency.max(1);
        let (share, heavy_share) = match options.access.is_open() {
            true => (concurrency, HEAVY),
            false => (concurrency.div_ceil(2), HEAVY.div_ceil(2)),
        };
        Ok(Node {
            live,
            sets: Arc::new(Sets::new(Arc::clone(&embedder))),
            columns: SetColumns::new(embedder.dimensions()),
            cells: KeptCells::default(),
            questions: Questions::new(embedder, threads, options.remembers),
            judge: options.judge,
            grading: options.grading,
            feedback: options.feedback,
            events: options.events,
            describer: options.describer,
            sql: options.sql.map(Sql::new),
            ask: options.ask,
            answers: NodeAnswers::default(),
            shares: Shares::new(share),
            access: options.access,
            rates: Rates::new(options.per_minute),
            metrics: Metrics::new(),
            trouble: Arc::default(),
            started: Instant::now(),
            patience: options.patience,
            concurrency: Arc::new(Semaphore::new(concurrency)),
            origins: options.origins,
            previews: options.previews,
            follow: options.follow,
            processors: Arc::new(Semaphore::new(threads)),
            judged: Arc::new(Semaphore::new(JUDGED)),
            heavy: Turns::new(HEAVY, heavy_share),
            rows: Arc::new(Semaphore::new(ROWS)),
        })
    }

    /// The tables of the snapshot that is served.
    pub fn table_count(&self) -> usize {
        self.live.whole().table_list.tables().len()
    }

    /// The number of the snapshot that is served.
    pub fn snapshot(&self) -> u64 {
        self.live.number()
    }

    /// Follows the index until it is stopped.
    pub async fn follow(self: &Arc<Self>, stop: CancellationToken) {
        let mut is_failing = false;
        while stop
            .run_until_cancelled(tokio::time::sleep(self.follow))
            .await
            .is_some()
        {
            let (node, runtime) = (Arc::clone(self), Handle::current());
            let advance =
                tokio::task::spawn_blocking(move || runtime.block_on(node.live.advance()));
            let Some(advanced) = stop.run_until_cancelled(advance).await else {
                break;
            };
            // A panic was reported where it happened.
            let Ok(advanced) = advanced else {
                self.metrics.missed();
                continue;
            };
            let serving = self.live.number();
            match &advanced {
                Ok(is_another) => {
                    if is_failing {
                        tracing::info!(serving, "the index can be followed again");
                    }
                    if *is_another {
                        self.metrics.switched();
                        tracing::info!(snapshot = serving, "serving another snapshot");
                    }
                }
                Err(error) => {
                    self.metrics.missed();
                    // Logged once, however long it lasts.
                    if !is_failing {
                        tracing::error!(%error, serving, "the index cannot be followed");
                    }
                }
            }
            is_failing = advanced.is_err();
        }
    }

    /// Goes on to the newest snapshot now.
    ///
    /// # Errors
    /// An index that cannot be read.
    pub(crate) async fn advance(self: &Arc<Self>) -> Result<(), Problem> {
        let (node, runtime) = (Arc::clone(self), Handle::current());
        let advance = move || runtime.block_on(node.live.advance());
        let advanced = tokio::task::spawn_blocking(advance).await;
        if advanced.map_err(|_| Problem::internal())?? {
            self.metrics.switched();
        }
        Ok(())
    }

    /// What a caller sees.
    ///
    /// # Errors
    /// A node that is ending.
    pub async fn grant(self: &Arc<Self>, caller: Caller) -> Result<Grant, Problem> {
        let shows_values = self.previews && caller.may(Right::Rows);
        let scope = Scope {
            reach: caller.reach.clone(),
            values: match shows_values {
                true => Values::Searched,
                false => Values::Hidden,
            },
        };
        let make = |whole: Arc<View>, scope| self.compute(move || whole.restricted(&scope));
        Ok(Grant {
            view: self.live.view(scope, make).await?,
            shows_values,
            until: Instant::now() + self.patience,
            caller,
        })
    }

    /// Computes on a thread that may take its time, when a processor is free.
    ///
    /// # Errors
    /// A mistake in the computation.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        run(&self.processors, work).await
    }

    /// As [`compute`](Self::compute), for what takes a millisecond or two: on this thread, which
    /// serves connections, too. To hand it to another thread and back would take a third of the
    /// questions that a node answers.
    ///
    /// # Errors
    /// A mistake in the computation.
    pub(crate) async fn compute_here<T>(&self, work: impl FnOnce() -> T) -> Result<T, Problem> {
        let _turn = turn(&self.processors).await?;
        std::panic::catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
            tracing::error!("a computation ended in a panic");
            Problem::internal()
        })
    }

    /// As [`compute`](Self::compute), for a question that a judge reads for, which mostly waits.
    pub(crate) async fn compute_judged<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        run(&self.judged, work).await
    }

    /// A turn at reading a row.
    pub(crate) async fn row_turn(&self) -> Result<OwnedSemaphorePermit, Problem> {
        turn(&self.rows).await
    }

    /// A caller's turn at comparing snapshots.
    pub(crate) async fn heavy_turn(&self, caller: &Caller) -> Result<Turn, Problem> {
        let waiting = info_span!(target: TRACE, "wait for a turn");
        let turn = self.heavy.take(caller).instrument(waiting).await;
        turn.map_err(|_| ending())
    }
}

async fn turn(turns: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, Problem> {
    let waiting = info_span!(target: TRACE, "wait for a turn");
    let turn = Arc::clone(turns).acquire_owned().instrument(waiting).await;
    turn.map_err(|_| ending())
}

fn ending() -> Problem {
    Problem::new(Code::Unavailable, "the node is ending", "ask another one")
}

/// The turn lasts as long as the work, also when nobody waits for it.
async fn run<T: Send + 'static>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    let turn = turn(turns).await?;
    let span = Span::current();
    let done = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        span.in_scope(work)
    });
    done.await.map_err(|error| {
        tracing::error!(%error, "a computation ended in a panic");
        Problem::internal()
    })
}
