//! What changed: the lake as it is, against the lake as it was published.
//!
//! Both sides are differential collections of `(group, member)` fingerprints: 16 bytes for the
//! group (the objects that may form tables together), 16 for each member (an object's path and
//! version, or a registered context). A group whose two sides are equal emits nothing; one that
//! differs emits a single [`Change`] that names the state of the lake it was computed from, so a
//! second change before the first one is published is a new difference and not a lost one.
//! Publishing feeds the `published` side, which retracts the change. (Design, section 7.)

use differential_dataflow::VecCollection;
use serde::{Deserialize, Serialize};

/// An epoch: a batch of changes that is published together. The timely timestamp of the dataflow.
pub type Epoch = u64;

/// The stable fingerprint of a group: the objects that may form tables together.
pub type GroupId = u128;

/// The stable fingerprint of a group's member: an object's identity, or a registered context.
pub type MemberId = u128;

/// The member that the published side has beside a group's own while a table of the group awaits a
/// narration and the run can give one. No object's fingerprint is it.
pub const AWAITS_NARRATION: MemberId = MemberId::MAX;

/// An update of one of the two collections: a member that comes (1) or goes (-1).
pub type MemberUpdate = ((GroupId, MemberId), isize);

/// How a group of the lake differs from what is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Change {
    /// The lake has members; nothing of the group is published.
    Added {
        /// Fingerprint of the members in the lake.
        state: u128,
    },
    /// Both sides have members, and they differ.
    Changed {
        /// Fingerprint of the members in the lake.
        state: u128,
    },
    /// The lake has no member of the group any more.
    Removed,
    /// Both sides are equal, but for tables that await a narration.
    Awaiting,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum Side {
    Lake,
    Published,
}

/// The groups that differ, from the two collections of `(group, member)`.
pub fn changed_groups<'scope>(
    lake: VecCollection<'scope, Epoch, (GroupId, MemberId), isize>,
    published: VecCollection<'scope, Epoch, (GroupId, MemberId), isize>,
) -> VecCollection<'scope, Epoch, (GroupId, Change), isize> {
    let lake = lake.map(|(group, member)| (group, (member, Side::Lake)));
    let published = published.map(|(group, member)| (group, (member, Side::Published)));
    lake.concat(published)
        .reduce_named("what changed", |_group, members, changes| {
            // Members arrive sorted, so equal members of the two sides are neighbours.
            let mut in_lake = Vec::new();
            let mut in_published = Vec::new();
            let mut awaits = false;
            for ((member, side), count) in members {
                if *count > 0 {
                    match side {
                        Side::Lake => in_lake.push(*member),
                        Side::Published if *member == AWAITS_NARRATION => awaits = true,
                        Side::Published => in_published.push(*member),
                    }
                }
            }
            if in_lake == in_published {
                if awaits && !in_lake.is_empty() {
                    changes.push((Change::Awaiting, 1));
                }
                return;
            }
            let change = if in_lake.is_empty() {
                Change::Removed
            } else {
                let bytes: Vec<u8> = in_lake.iter().flat_map(|m| m.to_le_bytes()).collect();
                let state = xxhash_rust::xxh3::xxh3_128(&bytes);
                if in_published.is_empty() {
                    Change::Added { state }
                } else {
                    Change::Changed { state }
                }
            };
            changes.push((change, 1));
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use differential_dataflow::input::Input;
    use std::sync::mpsc;

    type Emitted = (GroupId, Change, Epoch, isize);

    /// Updates (group, member, diff).
    type Updates = Vec<(u128, u128, isize)>;

    /// Steps: each updates (lake, published); what is emitted at each step.
    fn run(steps: Vec<(Updates, Updates)>) -> Vec<Emitted> {
        let (send, receive) = mpsc::channel();
        timely::execute_directly(move |worker| {
            let (mut lake, mut published, probe) = worker.dataflow::<Epoch, _, _>(|scope| {
                let (lake_input, lake) = scope.new_collection();
                let (published_input, published) = scope.new_collection();
                let (probe, _) = changed_groups(lake, published)
                    .inspect(move |((group, change), time, diff)| {
                        send.send((*group, *change, *time, *diff)).unwrap();
                    })
                    .probe();
                (lake_input, published_input, probe)
            });
            for (epoch, (lake_updates, published_updates)) in steps.into_iter().enumerate() {
                for (group, member, diff) in lake_updates {
                    lake.update((group, member), diff);
                }
                for (group, member, diff) in published_updates {
                    published.update((group, member), diff);
                }
                let next = epoch as Epoch + 1;
                lake.advance_to(next);
                published.advance_to(next);
                lake.flush();
                published.flush();
                while probe.less_than(&next) {
                    worker.step();
                }
            }
        });
        receive.iter().collect()
    }

    /// A lake of 1,000 groups of three objects, all published.
    fn lake_of_a_thousand() -> Updates {
        (0..3000u128)
            .map(|object| (object % 1000, object, 1))
            .collect()
    }

    #[test]
    fn an_unchanged_lake_emits_nothing() {
        assert!(run(vec![(lake_of_a_thousand(), lake_of_a_thousand())]).is_empty());
    }

    #[test]
    fn one_changed_object_emits_one_changed_group_and_nothing_else() {
        let emitted = run(vec![
            (lake_of_a_thousand(), lake_of_a_thousand()),
            (vec![(7, 7, -1), (7, 9007, 1)], vec![]),
        ]);
        assert_eq!(emitted.len(), 1, "{emitted:?}");
        let (group, change, epoch, diff) = emitted[0];
        assert_eq!((group, epoch, diff), (7, 1, 1));
        assert!(matches!(change, Change::Changed { .. }));
    }

    #[test]
    fn a_second_change_before_publishing_is_not_lost() {
        let emitted = run(vec![
            (lake_of_a_thousand(), lake_of_a_thousand()),
            (vec![(7, 7, -1), (7, 9007, 1)], vec![]),
            (vec![(7, 9007, -1), (7, 9107, 1)], vec![]),
            // Publishing the newest state retracts the change.
            (vec![], vec![(7, 7, -1), (7, 9107, 1)]),
        ]);
        let at = |epoch: Epoch, diff: isize| {
            emitted
                .iter()
                .filter(|e| e.2 == epoch && e.3 == diff)
                .count()
        };
        assert_eq!(
            (at(1, 1), at(2, 1), at(2, -1), at(3, -1)),
            (1, 1, 1, 1),
            "{emitted:?}"
        );
        assert_eq!(emitted.len(), 4);
    }

    #[test]
    fn what_awaits_a_narration_is_told_apart_from_what_changed() {
        let mut published = lake_of_a_thousand();
        published.extend([(7, AWAITS_NARRATION, 1), (9, AWAITS_NARRATION, 1)]);
        let mut lake = lake_of_a_thousand();
        lake.push((9, 9009, 1));
        let emitted = run(vec![
            (lake, published),
            (vec![], vec![(7, AWAITS_NARRATION, -1)]),
        ]);
        let mut found: Vec<_> = emitted.iter().map(|e| (e.0, e.2, e.3)).collect();
        found.sort_unstable();
        assert_eq!(found, [(7, 0, 1), (7, 1, -1), (9, 0, 1)]);
        for (group, change, ..) in emitted {
            assert_eq!(change == Change::Awaiting, group == 7);
        }
    }

    #[test]
    fn additions_and_removals_are_told_apart() {
        let emitted = run(vec![(vec![(1, 10, 1)], vec![(2, 20, 1)])]);
        let mut changes: Vec<_> = emitted.iter().map(|e| (e.0, e.1)).collect();
        changes.sort();
        assert!(matches!(changes[0], (1, Change::Added { .. })));
        assert_eq!(changes[1], (2, Change::Removed));
        assert_eq!(changes.len(), 2);
    }
}
