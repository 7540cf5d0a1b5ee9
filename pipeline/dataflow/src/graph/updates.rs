//! What goes into the join graph and comes out of it, and what it costs.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use limn_joins::{Band, Edge, Member, Table};

/// A table that comes (1) or goes (-1).
pub type TableUpdate = (Arc<Table>, isize);
/// An edge that comes or goes.
pub type EdgeUpdate = (Edge, isize);
/// A member that comes to a band or leaves it.
pub type MemberUpdate = ((Band, Member), isize);

/// What the graph has cost.
#[derive(Debug, Default)]
pub struct GraphWork {
    /// Pairs of columns that met, or parted.
    pub met: AtomicU64,
    /// Pairs of tables that were compared; one that changes twice, as it was and as it is.
    pub compared: AtomicU64,
}
