//! Epochs of a plan, one after the other as they are asked for; and the two sides of a group that
//! say whether it is part of one.

use std::collections::HashSet;
use std::iter::Peekable;
use std::sync::Arc;

use limn_lake::{Group, Layout};

use super::group::GroupPlan;
use super::survey::{Found, Surveyed, ToDo};
use super::{Planner, forgetful_group};
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
    /// What the one has more than the other, of groups that differ: what publishing the epoch adds
    /// to the `published` collection.
    pub differences: Vec<MemberUpdate>,
    /// Published groups that the run leaves alone and whose tables other settings made: they are
    /// restated from their rows.
    pub restated: Vec<GroupId>,
}

impl EpochPlan {
    /// Has a tombstone written anew, without contexts that are to be forgotten.
    pub(super) fn forget(&mut self, group: GroupId) {
        let (member, diff) = memberless(group);
        self.published.push((member, diff));
        self.differences.push((member, -diff));
    }
}

/// The epochs of a plan. Each is made when it is asked for: so only those under way are in memory.
/// What is published is known as of the plan until the last one is made.
#[derive(Default)]
pub struct Epochs(Option<Making>);

/// Epochs while there are more to come.
struct Making {
    planner: Arc<Planner>,
    layout: Layout,
    to_do: Peekable<std::vec::IntoIter<ToDo>>,
    gone: HashSet<GroupId>,
    /// Groups that are gone and were told of.
    told: HashSet<GroupId>,
    /// Those that the first epoch restates.
    restated: Vec<GroupId>,
    left: usize,
}

/// A group with what it takes over, and its sides.
struct Compared {
    group: Group,
    takes_over: Vec<GroupId>,
    sides: Sides,
}

impl Epochs {
    pub(super) fn new(
        planner: Arc<Planner>,
        layout: Layout,
        surveyed: Surveyed,
        restated: &[GroupId],
    ) -> Self {
        Epochs(Some(Making {
            left: 1 + surveyed.to_do.iter().filter(|it| it.begins).count(),
            planner,
            layout,
            to_do: surveyed.to_do.into_iter().peekable(),
            gone: surveyed.gone,
            told: HashSet::new(),
            restated: restated.to_vec(),
        }))
    }

    /// How many are still to come.
    pub fn left(&self) -> usize {
        self.0.as_ref().map_or(0, |making| making.left)
    }
}

impl std::fmt::Debug for Epochs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Epochs").field(&self.left()).finish()
    }
}

impl Iterator for Epochs {
    type Item = EpochPlan;

    fn next(&mut self) -> Option<EpochPlan> {
        let making = self.0.as_mut()?;
        let mut epoch = making.epoch();
        making.left -= 1;
        if making.left == 0 {
            making.tell_of_gone(&mut epoch);
            self.0 = None;
        }
        Some(epoch)
    }
}

impl Making {
    fn epoch(&mut self) -> EpochPlan {
        let mut epoch = EpochPlan {
            // First of all: what the settings forbid is to be gone at once.
            restated: std::mem::take(&mut self.restated),
            ..EpochPlan::default()
        };
        let mut next = self.to_do.next();
        while let Some(to_do) = next {
            if let Some(compared) = self.compared(to_do) {
                self.add(compared, &mut epoch);
            }
            next = self.to_do.next_if(|it| !it.begins);
        }
        epoch
    }

    fn compared(&self, to_do: ToDo) -> Option<Compared> {
        let group = match to_do.group {
            Found::LaidOut(at) => self.layout.group(at)?,
            Found::Made(group) => *group,
        };
        let takes_over = to_do.takes_over.into_vec();
        let (group, sides) = self.planner.compared(group, &takes_over);
        Some(Compared {
            group,
            takes_over,
            sides,
        })
    }

    fn add(&mut self, compared: Compared, epoch: &mut EpochPlan) {
        let Compared {
            group,
            takes_over,
            sides,
        } = compared;
        let is_described = matches!(sides.differ(), Differ::Members);
        sides.feed(epoch, group.key.into());
        let names_of_others = match is_described {
            true => {
                let (gone, told) = (&mut self.gone, &mut self.told);
                self.planner
                    .names_of_others(&group, &takes_over, gone, told, epoch)
            }
            // One that stays as it is takes no name.
            false => Vec::new(),
        };
        let files = (0u32..).zip(&group.files);
        let probed = files.filter(|(_, file)| self.planner.reader.is_probed(file));
        epoch.groups.push(GroupPlan {
            id: group.key.into(),
            probed: probed.map(|(index, _)| index).collect(),
            group,
            takes_over,
            names_of_others,
        });
    }

    fn tell_of_gone(&mut self, epoch: &mut EpochPlan) {
        let mut gone: Vec<GroupId> = self.gone.drain().collect();
        gone.sort_unstable();
        for id in gone {
            let sides = self.planner.sides(id, &[], Vec::new());
            sides.feed(epoch, id);
        }
        let planner = &self.planner;
        for row in planner.published.gone_with(&planner.forget) {
            epoch.forget(forgetful_group(&row));
        }
    }
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
        let is_gone_or_new = self.is_published == self.lake.is_empty();
        match (self.published != self.lake || is_gone_or_new, self.awaits) {
            (true, _) => Differ::Members,
            (false, true) => Differ::Awaits,
            (false, false) => Differ::Not,
        }
    }

    /// Puts them into an epoch.
    pub(super) fn feed(self, epoch: &mut EpochPlan, id: GroupId) {
        let differ = self.differ();
        let (from_lake, from_published) = (epoch.lake.len(), epoch.published.len());
        if self.awaits {
            epoch.published.push(((id, AWAITS_NARRATION), 1));
        }
        if self.is_published && self.published.is_empty() {
            epoch.published.push(memberless(id));
        }
        epoch.published.extend(side(id, self.published, 1));
        epoch.lake.extend(side(id, self.lake, 1));
        if !matches!(differ, Differ::Not) {
            epoch.differences.extend(&epoch.lake[from_lake..]);
            let published = epoch.published[from_published..].iter();
            let less = published.map(|(member, diff)| (*member, -diff));
            epoch.differences.extend(less);
        }
    }
}
