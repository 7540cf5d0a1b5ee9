//! The join graph as differential collections: tables to bands, to pairs of columns, to edges.
//!
//! Each collection is exchanged by what it comes together by: columns by band, pairs by their
//! tables. A table that changes takes its bands back and gives new ones; what its neighbours share
//! without it stays, so that only its own pairs are compared again, and those of its neighbours
//! where more share a band than are all compared ([`limn_joins::candidates`]). What is kept of a
//! table is its [`Table`], once a process, and 48 bytes a band and a pair.

mod joins;
mod keeping;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use differential_dataflow::VecCollection;
use limn_joins::{Edge, Member, Pair, Place, Table, TableId, bands, candidates, compare, declared};

use crate::changes::Epoch;

pub use joins::{Joins, MostTables, ToCompare};
pub use keeping::{Graph, GraphRow, GraphSize};

/// A table that comes (1) or goes (-1).
pub type TableUpdate = (Arc<Table>, isize);
/// An edge that comes or goes.
pub type EdgeUpdate = (Edge, isize);

/// What the graph has cost.
#[derive(Debug, Default)]
pub struct GraphWork {
    /// Pairs of columns that met, or parted, by a band.
    pub met: AtomicU64,
    /// Pairs of tables that were compared; one that changes twice, as it was and as it is.
    pub compared: AtomicU64,
}

/// A table's columns that meet another's.
type Meeting = (TableId, (TableId, Vec<(Place, Place)>));

/// The edges between tables.
pub fn edges<'scope>(
    tables: VecCollection<'scope, Epoch, Arc<Table>, isize>,
    work: &Arc<GraphWork>,
) -> VecCollection<'scope, Epoch, Edge, isize> {
    let by_id = tables.clone().map(|table| (table.id, table));
    let by_id = by_id.arrange_by_key_named("tables of the graph");

    // Who shares a hash may belong together; what is declared does.
    let declared = tables
        .clone()
        .flat_map(|table| declared(&table).collect::<Vec<_>>());
    let met = tables.flat_map(|table| bands(&table)).reduce_named(
        "columns of a band",
        |_band, members, pairs| {
            let members: Vec<Member> = members.iter().map(|(member, _)| **member).collect();
            let mut found: Vec<Pair> = Vec::new();
            candidates(&members, |pair| found.push(pair));
            found.sort_unstable();
            found.dedup();
            pairs.extend(found.into_iter().map(|pair| (pair, 1)));
        },
    );
    let met = met.map(|(_band, pair)| pair).inspect({
        let work = Arc::clone(work);
        move |_| {
            work.met.fetch_add(1, Ordering::Relaxed);
        }
    });

    // All that two tables have in common comes together, …
    let meetings = met
        .concat(declared)
        .map(|pair| (pair.tables(), (pair.0.place(), pair.1.place())))
        .reduce_named("columns of two tables", |_tables, columns, meetings| {
            let columns = columns.iter().map(|(columns, _)| **columns);
            meetings.push((columns.collect::<Vec<_>>(), 1));
        })
        .map(|((one, other), columns)| -> Meeting { (one, (other, columns)) });

    // … and is compared.
    let with_one = meetings.join_core(by_id.clone(), |_, (other, columns), one| {
        Some((*other, (Arc::clone(one), columns.clone())))
    });
    let work = Arc::clone(work);
    with_one.join_core(by_id, move |_, (one, columns), other| {
        work.compared.fetch_add(1, Ordering::Relaxed);
        compare(one, other, columns)
    })
}
