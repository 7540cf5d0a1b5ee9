//! Columns that share a band: how often each pair comes more or less with a change.
//!
//! What is under a band is kept by the worker that the band is of, in 32 bytes for each band of one
//! column, which most are. (An arrangement and the output of a `reduce` would be several times
//! that.)

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use differential_dataflow::VecCollection;
use limn_joins::{Band, ColumnId, Meeting, Member, Table, bands, changed_candidates};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Stream;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::vec::Map;
use timely::dataflow::operators::{Capability, Concat};

use crate::changes::Epoch;

/// Pairs that are let go of at a time: whoever counts them takes them in between.
const PAIRS_AT_A_TIME: usize = 1 << 16;

/// A pair that meets, and how often it does more.
pub type MeetingUpdate = (Meeting, isize);

/// One that comes to a band, or leaves it.
type Change = (Band, Member, i8);

/// The members of a band in ascending order.
enum Members {
    One(Member),
    Many(Box<[Member]>),
}

impl Members {
    fn as_slice(&self) -> &[Member] {
        match self {
            Members::One(member) => std::slice::from_ref(member),
            Members::Many(members) => members,
        }
    }

    fn of(members: Vec<Member>) -> Option<Self> {
        match members.as_slice() {
            [] => None,
            [only] => Some(Members::One(*only)),
            _ => Some(Members::Many(members.into())),
        }
    }
}

/// The changes of an epoch that is complete, in the order of their bands.
struct Complete {
    capability: Capability<Epoch>,
    changes: Vec<Change>,
    done: usize,
}

/// The pairs of columns that share a band, as they come and go. A table says itself under which its
/// columns are, but for those of `looked_up`.
pub fn pairs<'scope>(
    tables: VecCollection<'scope, Epoch, Arc<Table>, isize>,
    looked_up: VecCollection<'scope, Epoch, (Band, Member), isize>,
) -> Stream<'scope, Epoch, Vec<MeetingUpdate>> {
    let changes = tables.inner.flat_map(|(table, _, diff)| {
        let bands = bands(&table).into_iter();
        bands.map(move |(band, member)| (band, member, diff.signum() as i8))
    });
    let looked_up = looked_up.inner;
    let looked_up = looked_up.map(|((band, member), _, diff)| (band, member, diff.signum() as i8));
    let changes = changes.concat(looked_up);
    let scope = changes.scope();
    changes.unary_frontier::<CapacityContainerBuilder<Vec<MeetingUpdate>>, _, _, _>(
        Exchange::new(|(band, ..): &Change| band.0),
        "columns of a band",
        move |_capability, info| {
            let activator = scope.activator_for(info.address);
            let mut known: HashMap<Band, Members> = HashMap::new();
            let mut coming: BTreeMap<Epoch, (Capability<Epoch>, Vec<Change>)> = BTreeMap::new();
            let mut complete: Option<Complete> = None;
            move |(input, frontier), output| {
                input.for_each_stamp(|capability, containers| {
                    let Some(capability) = capability.retain_least(output.output_index()) else {
                        return;
                    };
                    let epoch = *capability.time();
                    let (_, changes) = coming
                        .entry(epoch)
                        .or_insert_with(|| (capability, Vec::new()));
                    containers.for_each(|container| changes.append(container));
                });
                if complete.is_none()
                    && let Some(first) = coming.first_entry()
                    && !frontier.less_equal(first.key())
                {
                    let (capability, mut changes) = first.remove();
                    changes.sort_unstable();
                    complete = Some(Complete {
                        capability,
                        changes,
                        done: 0,
                    });
                }
                let Some(epoch) = &mut complete else {
                    return;
                };
                let mut session = output.session(&epoch.capability);
                let mut given = 0;
                while let Some(rest) = epoch.changes.get(epoch.done..).filter(|it| !it.is_empty())
                    && given < PAIRS_AT_A_TIME
                {
                    let of_band = rest.partition_point(|it| it.0 == rest[0].0);
                    change(&mut known, &rest[..of_band], |meeting, times| {
                        session.give((meeting, times));
                        given += 1;
                    });
                    epoch.done += of_band;
                }
                drop(session);
                if epoch.done == epoch.changes.len() {
                    complete = None;
                }
                if complete.is_some() || !coming.is_empty() {
                    activator.activate();
                }
            }
        },
    )
}

/// Takes in the changes of one band.
fn change(
    known: &mut HashMap<Band, Members>,
    changes: &[Change],
    meet: impl FnMut(Meeting, isize),
) {
    let Some((band, ..)) = changes.first() else {
        return;
    };
    let before = known.get(band).map_or(&[][..], Members::as_slice);
    let mut after = before.to_vec();
    let mut changed: Vec<ColumnId> = Vec::new();
    for of_member in changes.chunk_by(|a, b| a.1 == b.1) {
        let times: i32 = of_member.iter().map(|it| i32::from(it.2)).sum();
        let member = of_member[0].1;
        match after.binary_search(&member) {
            Err(at) if times > 0 => after.insert(at, member),
            Ok(at) if times < 0 => drop(after.remove(at)),
            _ => continue,
        }
        changed.push(member.column);
    }
    if changed.is_empty() {
        return;
    }
    changed_candidates(before, &after, &changed, meet);
    match Members::of(after) {
        Some(after) => drop(known.insert(*band, after)),
        None => drop(known.remove(band)),
    }
}
