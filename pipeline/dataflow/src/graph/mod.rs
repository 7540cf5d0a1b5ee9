//! The join graph in the dataflow: tables to bands, to pairs of columns, to edges.
//!
//! Columns come together by band (`meeting.rs`), pairs by their tables (`comparing.rs`). Which
//! large keys have the values of small columns is looked up in the segments before
//! (`looked_up.rs`). A table that changes leaves its bands and comes to new ones; what its
//! neighbours share without it stays, so that only its own pairs are compared again, and those of
//! its neighbours where more share a band than are all compared ([`limn_joins::candidates`]).

mod comparing;
mod joins;
pub mod keeping;
mod looked_up;
mod meeting;
pub mod size;
#[cfg(test)]
mod tests;
pub mod updates;

use std::sync::Arc;

use differential_dataflow::{AsCollection, VecCollection};
use limn_joins::{Band, Edge, Meeting, Member, Table, Way, declared};
use timely::dataflow::operators::Concat;
use timely::dataflow::operators::vec::Map;

use crate::changes::Epoch;
use comparing::compared;
use meeting::pairs;

pub use joins::{Joins, ToCompare};
pub use looked_up::{LookedUp, Looking, segment_hash};
pub use size::MostTables;
pub use updates::{EdgeUpdate, GraphWork, MemberUpdate, TableUpdate};

/// The edges between tables, of which some columns are under bands that a [look-up](LookedUp) gave.
pub fn edges<'scope>(
    tables: VecCollection<'scope, Epoch, Arc<Table>, isize>,
    looked_up: VecCollection<'scope, Epoch, (Band, Member), isize>,
    work: &Arc<GraphWork>,
) -> VecCollection<'scope, Epoch, Edge, isize> {
    // Columns that share a hash may belong together; what is declared does.
    let declared = tables.clone().inner.flat_map(|(table, _, diff)| {
        let way = Way::Band;
        let pairs = declared(&table).map(move |pair| (Meeting { pair, way }, diff));
        pairs.collect::<Vec<_>>()
    });
    let pairs = pairs(tables.clone(), looked_up).concat(declared);
    compared(tables.inner, pairs, work).as_collection()
}
