//! The join graph of every snapshot: before one is published, the graph is brought to its catalog.
//!
//! So a snapshot's joins are those of its own tables, whoever published what meanwhile, and a run
//! that is killed leaves none that are out of date. A snapshot without them says that they are to
//! be made.

use std::sync::{Arc, OnceLock, PoisonError, mpsc};
use std::thread::Thread;

use limn_segment::{IndexStore, Snapshot};
use tokio::sync::{Mutex, oneshot};

use crate::error::PipelineError;
use crate::graph::keeping::Graph;
use crate::graph::size::{GraphSize, MostTables};
use crate::graph::updates::{EdgeUpdate, MemberUpdate, TableUpdate};
use crate::published::Published;

/// Tables that come and go, and the receiver of the edges that do.
pub struct ToCompare {
    /// The tables.
    pub tables: Vec<TableUpdate>,
    /// Columns that come to bands, or leave them, by what was looked up.
    pub looked_up: Vec<MemberUpdate>,
    /// Whoever asked.
    pub done: oneshot::Sender<Vec<EdgeUpdate>>,
}

/// What is known of the graph.
enum State {
    /// The dataflow was fed nothing.
    Nothing,
    /// It is kept.
    Kept(Box<Graph>),
    /// It became too large for this dataflow.
    TooLarge(GraphSize),
}

/// The join graph of a dataflow's lake.
pub struct Joins {
    lake: String,
    state: Mutex<State>,
    ask: mpsc::Sender<ToCompare>,
    /// Taken by the driver.
    asked: std::sync::Mutex<Option<mpsc::Receiver<ToCompare>>>,
    driver: OnceLock<Thread>,
}

impl Joins {
    /// Those of the lake at `lake`.
    pub fn of(lake: &str) -> Self {
        let (ask, asked) = mpsc::channel();
        Self {
            lake: lake.to_owned(),
            state: Mutex::new(State::Nothing),
            ask,
            asked: std::sync::Mutex::new(Some(asked)),
            driver: OnceLock::new(),
        }
    }

    /// What this thread, which drives the dataflow, is asked; none where another does.
    pub fn drive(&self) -> Option<mpsc::Receiver<ToCompare>> {
        let _ = self.driver.set(std::thread::current());
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.take()
    }

    /// Whether the dataflow can no longer compute joins. Asked between two rounds.
    pub fn are_spent(&self) -> bool {
        let state = self.state.try_lock();
        state.is_ok_and(|state| matches!(*state, State::TooLarge(_)))
    }

    /// How large the graph is, or would be.
    pub async fn size(&self, published: &Published) -> GraphSize {
        match &*self.state.lock().await {
            State::Nothing => published.graph_size(),
            State::Kept(graph) => graph.size(),
            State::TooLarge(size) => *size,
        }
    }

    /// Gives `next` the joins of its catalog; none where its lake is too large. `published` is what
    /// was known of the lake when the round began.
    ///
    /// # Errors
    /// Store errors; the dataflow has ended.
    pub async fn put_into(
        &self,
        next: &mut Snapshot,
        index: &IndexStore,
        published: &Arc<Published>,
        most: MostTables,
    ) -> Result<(), PipelineError> {
        let mut state = self.state.lock().await;
        let is_allowed = match *state {
            State::Nothing => most.allows(published.graph_size()),
            State::Kept(_) => true,
            State::TooLarge(_) => false,
        };
        // 0 is none, even of no tables.
        if !is_allowed || most == MostTables(0) {
            next.joins.remove(&self.lake);
            return Ok(());
        }
        let mut graph = match std::mem::replace(&mut *state, State::Nothing) {
            State::Kept(graph) => graph,
            State::Nothing | State::TooLarge(_) => Box::new(self.begin(published).await?),
        };
        let changed = graph.advance(index, next).await?;
        let size = graph.size();
        if !most.allows(size) {
            *state = State::TooLarge(size);
            next.joins.remove(&self.lake);
            return Ok(());
        }
        let tables = graph.updates(changed);
        let looked_up = graph.look_up(index, next).await?;
        let edges = match tables.is_empty() && looked_up.is_empty() {
            true => Vec::new(),
            false => self.compare(tables, looked_up).await?,
        };
        graph.take_in(edges, next.shards);
        let before = next.joins.remove(&self.lake).unwrap_or_default();
        let files = graph.store(index, &before, next.shards).await?;
        next.joins.insert(self.lake.clone(), files);
        *state = State::Kept(graph);
        Ok(())
    }

    /// The graph of what is published; nothing of the index is read for it.
    async fn begin(&self, published: &Arc<Published>) -> Result<Graph, PipelineError> {
        let (published, lake) = (Arc::clone(published), self.lake.clone());
        let make = move || Ok(Graph::of(&lake, published.graph_rows()?));
        let made = tokio::task::spawn_blocking(make).await;
        made.map_err(|_| PipelineError::TaskDied {
            stage: "join graph",
        })?
    }

    /// The edges that come and go with these tables.
    async fn compare(
        &self,
        tables: Vec<TableUpdate>,
        looked_up: Vec<MemberUpdate>,
    ) -> Result<Vec<EdgeUpdate>, PipelineError> {
        let ended = || PipelineError::Dataflow("the driver ended before the join graph".into());
        let (done, edges) = oneshot::channel();
        let count = tables.len();
        let asked = self.ask.send(ToCompare {
            tables,
            looked_up,
            done,
        });
        asked.map_err(|_| ended())?;
        if let Some(driver) = self.driver.get() {
            driver.unpark();
        }
        let edges = edges.await.map_err(|_| ended())?;
        tracing::debug!(tables = count, edges = edges.len(), "join graph");
        Ok(edges)
    }
}
