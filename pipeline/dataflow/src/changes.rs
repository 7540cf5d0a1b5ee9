//! What changed: the lake as it is, less the lake as it was published.
//!
//! Both sides are differential collections of `(group, member)` fingerprints: 16 bytes for the
//! group (the objects that may form tables together), 16 for each member (an object's path and
//! version, or a registered context). The published side is subtracted from the lake's before
//! anything is kept, so that equal members cancel: memory follows the differences, not the lake. A
//! group whose two sides are equal emits nothing; one that differs emits a single [`Change`].
//! What a round publishes the next round finds published: each has collections of its own. (Design,
//! section 7.)
//!
//! A [`Change`] names the differences it was computed from. That suffices to find a second change
//! before the first one is published: against one published side, two states of the lake never have
//! the same differences. Only where a group's two sides made the very same move in one epoch would
//! its differences stay, so the published side may move together with the lake's only to what the
//! lake's was before.

use std::fmt;

use differential_dataflow::VecCollection;
use differential_dataflow::operators::arrange::arrangement::arrange_core;
use differential_dataflow::trace::implementations::{ValBatcher, ValBuilder, ValSpine};
use limn_formats::Fingerprint;
use limn_lake::GroupKey;
use serde::{Deserialize, Serialize};
use timely::dataflow::channels::pact::Exchange;

/// An epoch: a batch of changes that is published together. The timely timestamp of the dataflow.
pub type Epoch = u64;

/// The stable fingerprint of a group: the objects that may form tables together.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct GroupId(pub u128);

/// The stable fingerprint of a group's member: an object's identity, or a registered context.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct MemberId(pub u128);

impl GroupId {
    /// A short hash.
    pub fn hash(self) -> u64 {
        (self.0 as u64) ^ ((self.0 >> 64) as u64)
    }

    /// Reads one as a catalog row writes it.
    pub fn from_hex(hex: &str) -> Option<Self> {
        u128::from_str_radix(hex, 16).ok().map(Self)
    }
}

impl From<GroupKey> for GroupId {
    fn from(key: GroupKey) -> Self {
        Self(key.0)
    }
}

/// As a catalog row writes it.
impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Fingerprint(self.0).fmt(f)
    }
}

impl MemberId {
    /// The member that stands for a version of an object or context, made with these settings.
    pub fn of_version(version: Fingerprint, settings: Self) -> Self {
        let bytes = [version.0.to_le_bytes(), settings.0.to_le_bytes()].concat();
        Self(xxhash_rust::xxh3::xxh3_128(&bytes))
    }

    /// The member that stands for what could not be read at a path, in no version.
    pub fn unread(path: &str) -> Self {
        let of = ["unread", path].join("\0");
        Self(xxhash_rust::xxh3::xxh3_128(of.as_bytes()))
    }

    /// Reads one as a catalog row writes it.
    pub fn from_hex(hex: &str) -> Option<Self> {
        u128::from_str_radix(hex, 16).ok().map(Self)
    }
}

/// The member that the published side has beside a group's own while a table of the group awaits a
/// narration and the run can give one. No object's fingerprint is it.
pub const AWAITS_NARRATION: MemberId = MemberId(u128::MAX);

/// The member that a side has beside a group's own as long as it has any: it distinguishes a group
/// that appears or disappears from one that changes. No object's fingerprint is it.
const PRESENT: MemberId = MemberId(u128::MAX - 1);

/// An update of one of the two collections: a member that comes (1) or goes (-1).
pub type MemberUpdate = ((GroupId, MemberId), isize);

/// The updates by which all members that a side has of a group, each given once, come (1) or go
/// (-1). To change a side, let the old members go and the new ones come: what stays cancels.
pub fn side(
    group: GroupId,
    members: impl IntoIterator<Item = MemberId>,
    diff: isize,
) -> impl Iterator<Item = MemberUpdate> {
    let mut members = members.into_iter().peekable();
    let mark = members.peek().map(|_| PRESENT);
    let members = mark.into_iter().chain(members);
    members.map(move |member| ((group, member), diff))
}

/// The update that says that a side has a group, where none of its members is known: tables
/// are published none of whose parts could be read in its newest version.
pub fn memberless(group: GroupId) -> MemberUpdate {
    ((group, PRESENT), 1)
}

/// How a group of the lake differs from what is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Change {
    /// The lake has members; nothing of the group is published.
    Added {
        /// Fingerprint of the differences.
        state: u128,
    },
    /// Both sides have members, and they differ.
    Changed {
        /// Fingerprint of the differences.
        state: u128,
    },
    /// The lake no longer has a member of the group.
    Removed,
    /// Both sides are equal, but for tables that await a narration.
    Awaiting,
}

/// The groups that differ, from the two collections of `(group, member)`, as [`side`] feeds them.
/// What is kept of a group is kept where `owner` says.
pub fn changed_groups<'scope>(
    lake: VecCollection<'scope, Epoch, (GroupId, MemberId), isize>,
    published: VecCollection<'scope, Epoch, (GroupId, MemberId), isize>,
    owner: impl Fn(GroupId) -> u64 + 'static,
) -> VecCollection<'scope, Epoch, (GroupId, Change), isize> {
    let owner = Exchange::new(move |update: &DifferenceUpdate| owner(update.0.0));
    let differences = lake.concat(published.negate()).inner;
    arrange_core::<_, _, ValBatcher<_, _, _, _>, ValSpine<_, _, _, _>>(
        differences,
        owner,
        "what differs",
        ValBatcher::new,
    )
    .reduce_abelian::<_, ValBuilder<_, _, _, _>, ValSpine<_, _, _, _>, _, _>(
        "what changed",
        |_group, differences, changes| {
            changes.extend(change(differences).map(|change| (change, 1)));
        },
        |updates, group, changes| {
            updates.clear();
            let changes = changes.drain(..);
            updates.extend(changes.map(|(change, time, diff)| ((*group, change), time, diff)));
        },
    )
    .as_collection(|group, change| (*group, *change))
}

/// An update of what differs.
type DifferenceUpdate = ((GroupId, MemberId), Epoch, isize);

/// What a group's differences say: members, sorted, with how many more of each the lake has than
/// what is published.
fn change(differences: &[(&MemberId, isize)]) -> Option<Change> {
    let mut presence = 0;
    let mut awaits = false;
    let mut changed = Vec::with_capacity(differences.len() * 17);
    for (member, more) in differences {
        match **member {
            PRESENT => presence = *more,
            AWAITS_NARRATION => awaits = true,
            member => {
                changed.extend(member.0.to_le_bytes());
                changed.push(u8::from(*more > 0));
            }
        }
    }
    if changed.is_empty() && presence == 0 {
        return awaits.then_some(Change::Awaiting);
    }
    let state = xxhash_rust::xxh3::xxh3_128(&changed);
    Some(match presence {
        1.. => Change::Added { state },
        0 => Change::Changed { state },
        _ => Change::Removed,
    })
}

#[cfg(test)]
mod tests;
