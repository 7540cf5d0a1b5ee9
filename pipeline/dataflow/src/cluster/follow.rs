//! A follower: a process that takes its share of a run that another process leads.

use std::convert::Infallible;
use std::sync::Arc;

use limn_models::Embedder;
use limn_segment::IndexStore;
use limn_store::Store;
use tokio_util::sync::CancellationToken;

use super::Cluster;
use super::mesh::Message;
use super::terms::Terms;
use crate::drive::serve_epochs;
use crate::error::PipelineError;
use crate::open::{Known, Opening};
use crate::options::RunOptions;
use crate::progress::Progress;

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
/// Those of [`index_lake`](crate::index_lake) in this process or another; other options than the
/// leader's.
pub async fn follow(
    lake: Store,
    index: IndexStore,
    embedder: Arc<dyn Embedder>,
    mut options: RunOptions,
    cluster: Arc<Cluster>,
    progress: Arc<Progress>,
) -> Result<Followed, PipelineError> {
    let fatal = Arc::clone(cluster.fatal());
    options.cluster = Some(Arc::clone(&cluster));
    let known = Known::nothing(&index);
    let opening = Opening::new(lake, index, embedder, options, progress, fatal, known);
    let part = async {
        tokio::select! {
            followed = cluster.follow(&opening) => followed,
            never = cluster.pass_on(&opening.options.stop) => match never {},
        }
    };
    cluster.run(part, |followed| followed.stopped).await
}

impl Cluster {
    async fn follow(&self, opening: &Opening) -> Result<Followed, PipelineError> {
        let terms = self.terms().await;
        opening.check(&terms).await?;
        let snapshot = match terms.snapshot {
            Some(number) => Some(opening.index.snapshot(number).await?),
            None => None,
        };
        let opened = opening.open(&terms, snapshot, None).await?;
        self.send_to_leader(&Message::Agreed);
        let stages = opened.stages;
        let job = opening.job(&terms);
        job.begin(Arc::clone(&stages));
        serve_epochs(&job, self).await?;
        stages.kept.finish().await?;
        if let Some(narrations) = &stages.narrations {
            narrations.finish().await?;
        }
        let totals = opening.totals(&stages);
        // From here on no process takes it for lost.
        self.mesh.send_all(&Message::Totals(totals));
        Ok(self.farewell().await)
    }

    /// The leader stops the run when this process is asked to.
    async fn pass_on(&self, stop: &CancellationToken) -> Infallible {
        stop.cancelled().await;
        self.send_to_leader(&Message::Stop);
        std::future::pending().await
    }

    fn send_to_leader(&self, message: &Message) {
        self.mesh.send(0, message);
    }

    async fn terms(&self) -> Terms {
        let mut inbox = self.inbox.lock().await;
        loop {
            match inbox.recv().await {
                Some((_, Message::Terms(terms))) => return *terms,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    async fn farewell(&self) -> Followed {
        let mut inbox = self.inbox.lock().await;
        loop {
            match inbox.recv().await {
                Some((0, Message::Farewell { stopped })) => return Followed { stopped },
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }
}
