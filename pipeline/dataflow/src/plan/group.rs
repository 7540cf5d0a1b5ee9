//! The plan of a group, and what stands for it in the `lake` collection.

use limn_lake::{ContextText, Group};
use serde::{Deserialize, Serialize};

use crate::changes::{GroupId, MemberId};

/// A group of the lake with everything a worker needs to make tables of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupPlan {
    /// The group's stable fingerprint.
    pub id: GroupId,
    /// Its objects and registered contexts.
    pub group: Group,
    /// Other groups whose published tables this plan decides about: a family's files that were
    /// tables of their own.
    pub takes_over: Vec<GroupId>,
    /// Names of its tables under which the index has tables of files that are still there, and that
    /// were renamed.
    pub names_of_others: Vec<String>,
    /// Its files that planning has read.
    pub probed: Vec<u32>,
}

/// What stands for a group's files and contexts (in this order) in the `lake` collection: their
/// versions, and the settings their texts are made with.
pub fn members(group: &Group, settings: MemberId) -> Vec<MemberId> {
    let versions = group.fingerprints().into_iter();
    let mut members: Vec<MemberId> = versions
        .map(|version| MemberId::of_version(version, settings))
        .collect();
    let contexts = members.iter_mut().skip(group.files.len());
    for (member, context) in contexts.zip(&group.contexts) {
        if let ContextText::Shared {
            known: Some(known), ..
        } = context.source
        {
            *member = MemberId(known.0);
        }
    }
    members
}
