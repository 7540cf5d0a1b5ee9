//! A session: rounds over one lake, each over a listing of it or of a part, on the same workers.
//!
//! What is known of the index is kept from round to round, and before each only what is new of it
//! is read. So a round costs what it looks at and what has changed there, whatever the size of the
//! lake. A round that fails ends the workers; the next one starts others, from the last snapshot.

use std::sync::Arc;

use limn_models::Embedder;
use limn_segment::{IndexStore, Problem};
use limn_store::Store;

use crate::cluster::Cluster;
use crate::drive::Workers;
use crate::error::{Fatal, PipelineError};
use crate::open::{Known, Opening};
use crate::options::RunOptions;
use crate::progress::Progress;
use crate::report::Report;
use crate::round::Round;
use crate::scope::Scope;

/// Indexes one lake once: lists it, describes what changed, publishes, and reports. In a cluster
/// this is the leader's part.
///
/// # Errors
/// The lake cannot be listed, the index cannot be read or written, the embedder fails, or another
/// writer published first; a process of the cluster is lost. Tables that cannot be read are no
/// errors but [`Report::failures`].
pub async fn index_lake(
    lake: Store,
    index: IndexStore,
    embedder: Arc<dyn Embedder>,
    options: RunOptions,
    progress: Arc<Progress>,
) -> Result<Report, PipelineError> {
    let (cluster, scope) = (options.cluster.clone(), options.scope.clone());
    let mut session = Session::new(lake, index, embedder, options);
    let part = async {
        let report = session.carry_out(scope, progress).await?;
        session.end().await?;
        Ok(report)
    };
    let report = match cluster {
        Some(cluster) => cluster.run(part, |report: &Report| report.stopped).await,
        None => part.await,
    };
    unless_nothing(report?)
}

/// A report, unless the run was stopped before anything was read and there is no index.
fn unless_nothing(report: Report) -> Result<Report, PipelineError> {
    let is_read = report.objects.read > 0 || !report.failures.is_empty();
    match report.stopped && report.snapshot == 0 && !is_read {
        true => Err(PipelineError::Stopped),
        false => Ok(report),
    }
}

/// How a follower's part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Whether the run was stopped before its end.
    pub stopped: bool,
}

/// Takes this process's share of a run that process 0 leads, to its end. The report is the
/// leader's.
///
/// # Errors
/// Those of [`index_lake`] in this process or another; other options than the leader's.
pub async fn follow(
    lake: Store,
    index: IndexStore,
    embedder: Arc<dyn Embedder>,
    mut options: RunOptions,
    cluster: Arc<Cluster>,
    progress: Arc<Progress>,
) -> Result<Followed, PipelineError> {
    let fatal = Arc::clone(cluster.fatal());
    let stop = options.stop.clone();
    options.cluster = Some(Arc::clone(&cluster));
    let known = Known::nothing(&index, &options);
    let opening = Opening::new(lake, index, embedder, options, progress, fatal, known);
    let part = async {
        let round = async { Round::join(opening, &cluster).await?.follow(&cluster).await };
        tokio::select! {
            stopped = round => Ok(Followed { stopped: stopped? }),
            never = cluster.pass_on(&stop) => match never {},
        }
    };
    cluster.run(part, |followed| followed.stopped).await
}

/// A lake that is looked at again and again.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use limn_models::HashedWords;
/// use limn_pipeline::{RunOptions, Scope, Session};
/// use limn_segment::IndexStore;
/// use limn_store::Store;
///
/// let (lake, index) = (Store::in_memory(), IndexStore::new(Store::in_memory()));
/// lake.put("rivers.csv", "river,length\nRhine,1233\n".into()).await?;
/// let options = RunOptions::default();
/// let mut session = Session::new(lake.clone(), index, Arc::new(HashedWords), options);
/// assert_eq!(session.look(Scope::Lake, Arc::default()).await?.tables.added, 1);
///
/// lake.put("lakes.csv", "lake,depth\nBaikal,1642\n".into()).await?;
/// let changed = Scope::Objects(["lakes.csv".to_owned()].into());
/// assert_eq!(session.look(changed, Arc::default()).await?.tables.added, 1);
/// session.end().await?;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct Session {
    lake: Store,
    index: IndexStore,
    embedder: Arc<dyn Embedder>,
    options: RunOptions,
    known: Known,
    /// That of the last round, unless it failed.
    workers: Option<Workers>,
    has_looked: bool,
}

impl Session {
    /// A session over `lake` and its index. The scope of `options` is given round by round instead.
    pub fn new(
        lake: Store,
        index: IndexStore,
        embedder: Arc<dyn Embedder>,
        options: RunOptions,
    ) -> Self {
        Self {
            known: Known::nothing(&index, &options),
            lake,
            index,
            embedder,
            options,
            workers: None,
            has_looked: false,
        }
    }

    /// One round: lists what `scope` reaches, describes what changed, publishes, and reports. Where
    /// the catalog is damaged, tables may be lost anywhere: all of the lake is looked at.
    ///
    /// # Errors
    /// Those of [`index_lake`]; a second round in a cluster. The session can go on after each.
    pub async fn look(
        &mut self,
        scope: Scope,
        progress: Arc<Progress>,
    ) -> Result<Report, PipelineError> {
        let is_partial = scope.is_partial();
        let report = match self.carry_out(scope, Arc::clone(&progress)).await {
            Err(PipelineError::Segment(error))
                if is_partial && Problem::of_catalog(&error).is_some() =>
            {
                self.carry_out(Scope::Lake, progress).await?
            }
            report => report?,
        };
        unless_nothing(report)
    }

    async fn carry_out(
        &mut self,
        scope: Scope,
        progress: Arc<Progress>,
    ) -> Result<Report, PipelineError> {
        if std::mem::replace(&mut self.has_looked, true) && self.options.cluster.is_some() {
            return Err(PipelineError::Settings(
                "in a cluster a session has one round".into(),
            ));
        }
        let mut workers = self.workers.take();
        let fatal = match (&workers, &self.options.cluster) {
            (Some(workers), _) => Arc::clone(&workers.job().fatal),
            (None, Some(cluster)) => Arc::clone(cluster.fatal()),
            (None, None) => Arc::new(Fatal::default()),
        };
        let index = self.index.leased();
        let opening = Opening::new(
            self.lake.clone(),
            index.clone(),
            Arc::clone(&self.embedder),
            RunOptions {
                scope,
                ..self.options.clone()
            },
            progress,
            fatal,
            self.known.clone(),
        );
        let round = async { Round::open(opening).await?.carry_out(&mut workers).await };
        let report = round.await;
        index.end_lease().await;
        let report = report?;
        self.workers = workers;
        Ok(report)
    }

    /// Ends the workers. (Dropped, a session ends it by and by.)
    ///
    /// # Errors
    /// A stage failed after the last round.
    pub async fn end(self) -> Result<(), PipelineError> {
        match self.workers {
            Some(workers) => workers.end().await,
            None => Ok(()),
        }
    }
}
