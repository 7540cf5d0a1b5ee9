//! What a round shares: its lake, its index, and what was opened for it.

use std::future::Future;
use std::sync::Arc;

use crate::cluster::Cluster;
use crate::cluster::terms::Terms;
use crate::error::PipelineError;
use crate::open::{Opened, Opening};
use crate::plan::Planner;

/// A lake and its index, with everything a round shares.
pub struct Round {
    pub(super) opening: Opening,
    pub(super) opened: Opened,
    pub(super) terms: Terms,
    pub(super) planner: Arc<Planner>,
    /// The other processes, if there are any.
    pub(super) cluster: Option<Arc<Cluster>>,
    /// Remarks from the opening.
    pub(super) notes: Vec<String>,
}

impl Round {
    /// What this comes to, unless the run is stopped meanwhile.
    pub(super) async fn unless_stopped<T>(
        &self,
        of: impl Future<Output = T>,
    ) -> Result<T, PipelineError> {
        let stop = &self.opening.options.stop;
        match &self.cluster {
            // The leader is asked to stop, and ends the run of all.
            Some(cluster) if !cluster.leads() => Ok(of.await),
            _ => stop
                .run_until_cancelled(of)
                .await
                .ok_or(PipelineError::Stopped),
        }
    }
}
