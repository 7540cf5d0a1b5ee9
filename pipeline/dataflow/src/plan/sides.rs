//! The two sides of a group that say whether it is part of an epoch, and what an epoch is fed.

use limn_segment::TableRecord;

use super::group::GroupPlan;
use crate::changes::{AWAITS_NARRATION, GroupId, MemberId, MemberUpdate, memberless, side};

/// What one epoch feeds into the dataflow.
#[derive(Debug, Default)]
pub struct EpochPlan {
    /// Groups that may have changed.
    pub groups: Vec<GroupPlan>,
    /// Updates of the `lake` collection.
    pub lake: Vec<MemberUpdate>,
    /// Updates of the `published` collection.
    pub published: Vec<MemberUpdate>,
    /// Published groups that the run leaves alone and whose tables other settings made: they are
    /// restated from their rows.
    pub restated: Vec<GroupId>,
}

impl EpochPlan {
    /// Has a tombstone written anew, without contexts that are to be forgotten.
    pub(super) fn rewrite_tombstone(&mut self, group: GroupId) {
        self.published.push(memberless(group));
    }
}

/// What stands for a tombstone, if contexts are to be taken from it: no group of a lake.
pub fn tombstone_group(tombstone: &TableRecord) -> GroupId {
    let (lake, name) = (&tombstone.lake, &tombstone.name);
    let name = ["context of what is gone", lake, name].join("\0");
    GroupId(xxhash_rust::xxh3::xxh3_128(name.as_bytes()))
}

/// A group's members in the lake and those that are published, each sorted, once.
pub(super) struct Sides {
    pub(super) lake: Vec<MemberId>,
    pub(super) published: Vec<MemberId>,
    /// The group has published tables, whether a member of them is known or not.
    pub(super) is_published: bool,
    /// One of them awaits a narration that the run can give.
    pub(super) awaits: bool,
}

/// How the sides of a group differ.
#[derive(Clone, Copy)]
pub(super) enum Differ {
    Members,
    Awaits,
    Not,
}

impl Sides {
    pub(super) fn differ(&self) -> Differ {
        // Removed, or new.
        let is_one_sided = self.is_published == self.lake.is_empty();
        match (self.published != self.lake || is_one_sided, self.awaits) {
            (true, _) => Differ::Members,
            (false, true) => Differ::Awaits,
            (false, false) => Differ::Not,
        }
    }

    /// Puts them into an epoch.
    pub(super) fn feed(self, epoch: &mut EpochPlan, id: GroupId) {
        if self.awaits {
            epoch.published.push(((id, AWAITS_NARRATION), 1));
        }
        if self.is_published && self.published.is_empty() {
            epoch.published.push(memberless(id));
        }
        epoch.published.extend(side(id, self.published, 1));
        epoch.lake.extend(side(id, self.lake, 1));
    }
}
