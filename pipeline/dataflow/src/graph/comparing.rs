//! Pairs of columns to pairs of tables, and these to edges.
//!
//! Each pair of tables is of one worker, which counts their pairs of columns; tables are known to
//! all workers. Where either changes, the edges that came of what was before go and those of what
//! is now come.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use limn_joins::{Compared, Edge, Meeting, Place, Table, TableId, Way, compare};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::Capability;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::vec::Broadcast;

use crate::changes::Epoch;
use crate::graph::meeting::MeetingUpdate;
use crate::graph::updates::GraphWork;

/// Two tables, the lower first.
type Tables = (TableId, TableId);
/// Columns of two tables, and how often they meet.
type Met = ((Place, Place), Times);
/// Those of two tables, in ascending order.
type Meetings = Box<[Met]>;
/// Pairs of columns of two tables that are compared, at most: the first ones by their places.
const MOST_COMPARED: usize = 4_096;

/// How often two columns meet: under bands, and by values that one of them looked up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Times {
    bands: i32,
    one_in_other: i16,
    other_in_one: i16,
}

impl Times {
    fn of(way: Way, times: isize) -> Self {
        let mut of = Self::default();
        match way {
            Way::Band => of.bands = times as i32,
            Way::LowerInHigher => of.one_in_other = times as i16,
            Way::HigherInLower => of.other_in_one = times as i16,
        }
        of
    }

    fn and(self, more: Self) -> Self {
        Self {
            bands: self.bands + more.bands,
            one_in_other: self.one_in_other + more.one_in_other,
            other_in_one: self.other_in_one + more.other_in_one,
        }
    }
}

/// A table or an edge that comes or goes at an epoch.
type Update<T> = (T, Epoch, isize);

/// What comes at an epoch that is not complete.
#[derive(Default)]
struct Coming {
    tables: Vec<(Arc<Table>, isize)>,
    pairs: Vec<MeetingUpdate>,
}

/// The epochs that are not complete.
#[derive(Default)]
struct Epochs(BTreeMap<Epoch, (Option<Capability<Epoch>>, Coming)>);

impl Epochs {
    fn at(&mut self, capability: Option<Capability<Epoch>>) -> Option<&mut Coming> {
        let epoch = *capability.as_ref()?.time();
        let (known, coming) = self.0.entry(epoch).or_default();
        if known.is_none() {
            *known = capability;
        }
        Some(coming)
    }
}

/// What a worker knows.
#[derive(Default)]
struct Known {
    tables: HashMap<TableId, Arc<Table>>,
    met: BTreeMap<Tables, Meetings>,
    /// The same tables the other way round.
    reversed: BTreeSet<Tables>,
    /// What changed in this epoch and is not in `met` yet: fewer than are there.
    recent: HashMap<Tables, Vec<Met>>,
    /// What met before this epoch, where that is another now.
    met_before: HashMap<Tables, Meetings>,
}

/// The edges of tables whose columns meet, as they come and go.
pub fn compared<'scope>(
    tables: Stream<'scope, Epoch, Vec<Update<Arc<Table>>>>,
    pairs: Stream<'scope, Epoch, Vec<MeetingUpdate>>,
    work: &Arc<GraphWork>,
) -> Stream<'scope, Epoch, Vec<Update<Edge>>> {
    let work = Arc::clone(work);
    let of_worker = |(meeting, _): &MeetingUpdate| {
        let (one, other) = meeting.pair.tables();
        one.spread().wrapping_add(other.spread().rotate_left(32))
    };
    tables
        .broadcast()
        .binary_frontier::<_, CapacityContainerBuilder<Vec<Update<Edge>>>, _, _, _, _>(
            pairs,
            Pipeline,
            Exchange::new(of_worker),
            "edges of two tables",
            move |_capability, _info| {
                let (mut known, mut epochs) = (Known::default(), Epochs::default());
                move |(tables, tables_at), (pairs, pairs_at), output| {
                    tables.for_each_stamp(|capability, containers| {
                        let capability = capability.retain_least(output.output_index());
                        if let Some(coming) = epochs.at(capability) {
                            let tables = containers.flat_map(|it| it.drain(..));
                            coming.tables.extend(tables.map(|it| (it.0, it.2)));
                        }
                    });
                    pairs.for_each_stamp(|capability, containers| {
                        let capability = capability.retain_least(output.output_index());
                        if let Some(coming) = epochs.at(capability) {
                            containers.for_each(|pairs| coming.pairs.append(pairs));
                        }
                    });
                    while let Some(mut first) = epochs.0.first_entry() {
                        let epoch = *first.key();
                        if tables_at.less_than(&epoch) || pairs_at.less_than(&epoch) {
                            break;
                        }
                        // Pairs of the first epoch are counted as they come: there are very many.
                        let pairs = std::mem::take(&mut first.get_mut().1.pairs);
                        known.count(pairs, &work);
                        if tables_at.less_equal(&epoch) || pairs_at.less_equal(&epoch) {
                            break;
                        }
                        let (capability, coming) = first.remove();
                        if let Some(capability) = capability {
                            let mut session = output.session(&capability);
                            known.end(coming.tables, &work, |edge, diff| {
                                session.give((edge, epoch, diff));
                            });
                        }
                    }
                }
            },
        )
}

impl Known {
    /// Counts pairs that meet and part. A list is written anew when as many have come as it has.
    fn count(&mut self, mut pairs: Vec<MeetingUpdate>, work: &GraphWork) {
        pairs.sort_unstable();
        for of_tables in pairs.chunk_by(|a, b| a.0.pair.tables() == b.0.pair.tables()) {
            let tables = of_tables[0].0.pair.tables();
            let recent = self.recent.entry(tables).or_default();
            let met = |(Meeting { pair, way }, times): &MeetingUpdate| {
                let places = (pair.0.place(), pair.1.place());
                (places, Times::of(*way, *times))
            };
            recent.extend(of_tables.iter().map(met));
            if recent.len() >= self.met.get(&tables).map_or(0, |met| met.len()) {
                let recent = self.recent.remove(&tables).unwrap_or_default();
                self.take_in(tables, recent, work);
            }
        }
    }

    /// Takes changes of two tables into their list.
    fn take_in(&mut self, tables: Tables, mut changes: Vec<Met>, work: &GraphWork) {
        let before = self.met.remove(&tables).unwrap_or_default();
        let mut all = [&before[..], &changes[..]].concat();
        all.sort_by_key(|it| it.0);
        let sums = all.chunk_by(|a, b| a.0 == b.0);
        let sum = |same: &[Met]| {
            same.iter()
                .map(|it| it.1)
                .fold(Times::default(), Times::and)
        };
        let sums = sums.map(|same| (same[0].0, sum(same)));
        let now: Meetings = sums.filter(|it| it.1 != Times::default()).collect();
        changes.sort_unstable_by_key(|it| it.0);
        changes.dedup_by_key(|it| it.0);
        let has = |met: &Meetings, places| met.binary_search_by_key(&places, |it| it.0).is_ok();
        let is_changed = |it: &&Met| has(&before, it.0) != has(&now, it.0);
        let changed = changes.iter().filter(is_changed).count();
        work.met.fetch_add(changed as u64, Ordering::Relaxed);
        if now.is_empty() {
            self.reversed.remove(&(tables.1, tables.0));
        } else {
            self.reversed.insert((tables.1, tables.0));
            self.met.insert(tables, now);
        }
        self.met_before.entry(tables).or_insert(before);
    }

    /// The epoch is complete, with these tables that came and went: gives the edges that do.
    fn end(
        &mut self,
        mut tables: Vec<(Arc<Table>, isize)>,
        work: &GraphWork,
        mut edge: impl FnMut(Edge, isize),
    ) {
        for (tables, changes) in std::mem::take(&mut self.recent) {
            self.take_in(tables, changes, work);
        }
        tables.sort_unstable();
        let mut before: HashMap<TableId, Option<Arc<Table>>> = HashMap::new();
        for of_id in tables.chunk_by(|a, b| a.0.id == b.0.id) {
            let id = of_id[0].0.id;
            before.insert(id, self.tables.get(&id).cloned());
            for same in of_id.chunk_by(|a, b| a.0 == b.0) {
                match same.iter().map(|it| it.1).sum::<isize>() {
                    0 => {}
                    1.. => drop(self.tables.insert(id, Arc::clone(&same[0].0))),
                    _ if self.tables.get(&id) == Some(&same[0].0) => drop(self.tables.remove(&id)),
                    _ => {}
                }
            }
        }
        drop(tables);
        let met_before = std::mem::take(&mut self.met_before);
        let mut touched: Vec<Tables> = met_before.keys().copied().collect();
        for id in before.keys() {
            let from = (*id, TableId::default());
            let others = self.met.range(from..).map(|it| it.0);
            touched.extend(others.take_while(|it| it.0 == *id));
            let others = self.reversed.range(from..).take_while(|it| it.0 == *id);
            touched.extend(others.map(|(one, other)| (*other, *one)));
        }
        touched.sort_unstable();
        touched.dedup();
        for tables in touched {
            let now = self.met.get(&tables);
            let is_of = |id: TableId| self.tables.get(&id);
            let was_of = |id: TableId| match before.get(&id) {
                Some(before) => before.as_ref(),
                None => is_of(id),
            };
            let was = edges(work, tables, met_before.get(&tables).or(now), was_of);
            let is = edges(work, tables, now, is_of);
            let (before, after) = (was.iter(), is.iter());
            before
                .filter(|it| !is.contains(it))
                .for_each(|it| edge(it.clone(), -1));
            after
                .filter(|it| !was.contains(it))
                .for_each(|it| edge(it.clone(), 1));
        }
    }
}

/// The edges of two tables that have met so.
fn edges<'a>(
    work: &GraphWork,
    (one, other): Tables,
    met: Option<&Meetings>,
    table: impl Fn(TableId) -> Option<&'a Arc<Table>>,
) -> Vec<Edge> {
    let compared = |((one, other), times): &Met| Compared {
        one: *one,
        other: *other,
        one_in_other: times.one_in_other.max(0) as u16,
        other_in_one: times.other_in_one.max(0) as u16,
    };
    let met = met.into_iter().flatten().map(compared);
    let columns: Vec<Compared> = met.take(MOST_COMPARED).collect();
    match (table(one), table(other)) {
        (Some(one), Some(other)) if !columns.is_empty() => {
            work.compared.fetch_add(1, Ordering::Relaxed);
            compare(one, other, &columns)
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use limn_joins::Pair;

    use super::*;
    use crate::graph::tests::of_columns;

    /// A table whose columns are unlike all others', but for one.
    fn table(name: &str, alike: usize) -> Arc<Table> {
        let names: Vec<String> = (0..10).map(|at| format!("{name}{at}")).collect();
        let column = |at: usize| {
            let name = if at == alike { "code" } else { &names[at] };
            (name, (0..60).map(|row| format!("{name} {row}")).collect())
        };
        of_columns(name, &(0..10).map(column).collect::<Vec<_>>())
    }

    #[test]
    fn pairs_of_wide_tables_are_counted_once_and_compared_within_bounds() {
        const WIDE: usize = 700;
        let found = |alike: usize| {
            let mut tables = [table("orders", alike), table("returns", alike)];
            tables.sort();
            let [one, other] = &tables;
            let pair = |at: usize| {
                let column = |table: &Table, at: usize| table.id.column(Place(at as u16));
                Meeting {
                    pair: Pair::new(column(one, at / WIDE), column(other, at % WIDE)),
                    way: Way::Band,
                }
            };
            let (mut known, work) = (Known::default(), GraphWork::default());
            for row in (0..WIDE).rev() {
                let row = row * WIDE..(row + 1) * WIDE;
                known.count(row.map(|at| (pair(at), 1)).collect(), &work);
            }
            let mut edges = Vec::new();
            let tables = tables.iter().map(|it| (Arc::clone(it), 1)).collect();
            known.end(tables, &work, |edge, _| edges.push(edge));
            assert_eq!(work.met.into_inner(), (WIDE * WIDE) as u64);
            edges.len()
        };
        let start = Instant::now();
        // Of the left table's columns those up to the sixth are compared with all of the right's.
        assert_eq!((found(2), found(8)), (1, 0));
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
