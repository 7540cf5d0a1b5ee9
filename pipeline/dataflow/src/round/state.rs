//! What a round shares: its lake, its index, and what was opened for it.

use std::sync::Arc;
use std::time::Instant;

use crate::cluster::Cluster;
use crate::cluster::terms::Terms;
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
    pub(super) started: Instant,
}
