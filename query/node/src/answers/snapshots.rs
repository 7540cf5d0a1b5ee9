//! The snapshots that there are.

use futures::{StreamExt, stream};
use limn_segment::SegmentError;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Grant, time};
use crate::access::Right;
use crate::node::Node;
use crate::problem::Problem;

/// Snapshots that are read at a time.
const SNAPSHOTS_AT_ONCE: usize = 8;

/// Snapshots that are listed.
const SNAPSHOTS_LISTED: usize = 100;

/// The snapshots that there are, newest first, at most 100.
#[derive(Debug, Serialize, ToSchema)]
pub struct Snapshots {
    /// The snapshots.
    pub snapshots: Vec<SnapshotInfo>,
}

/// A snapshot.
#[derive(Debug, Serialize, ToSchema)]
pub struct SnapshotInfo {
    /// Its number.
    pub snapshot: u64,
    /// When it was published.
    pub published: Option<String>,
}

/// Lists snapshots.
///
/// # Errors
/// An index that cannot be read.
pub async fn snapshots(node: &Node, grant: &Grant) -> Result<Snapshots, Problem> {
    grant.require(Right::Search)?;
    let found = node.live.index().snapshots().await?;
    if found.is_empty() {
        // The index has vanished.
        node.live.index().require_newest().await?;
    }
    // Collected meanwhile is no failure.
    let mut reads = stream::iter(found.into_iter().take(SNAPSHOTS_LISTED))
        .map(|info| node.live.index().snapshot(info.number))
        .buffered(SNAPSHOTS_AT_ONCE);
    let mut snapshots = Vec::new();
    while let Some(read) = reads.next().await {
        match read {
            Ok(snapshot) => snapshots.push(SnapshotInfo {
                snapshot: snapshot.number,
                published: time(snapshot.created_ms),
            }),
            Err(SegmentError::NoSuchSnapshot { .. }) => {}
            // The node has logged it, and serves the one before.
            Err(error) if error.is_damage() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Snapshots { snapshots })
}
