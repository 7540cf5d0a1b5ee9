//! Epochs of a plan, one after the other as they are asked for.

use std::collections::HashSet;
use std::iter::Peekable;
use std::sync::Arc;
use std::time::Instant;

use limn_lake::{Group, Layout};

use super::group::GroupPlan;
use super::planner::Planner;
use super::sides::{Differ, EpochPlan, Sides, tombstone_group};
use super::survey::{Found, Surveyed, ToDo};
use crate::changes::GroupId;
use crate::error::PipelineError;
use crate::progress::Phase;

/// The epochs of a plan. Each is made when it is asked for: so only those under way are in memory.
/// What is published is known as of the plan until the last one is made.
#[derive(Default)]
pub struct Epochs {
    making: Option<Making>,
    /// Epochs after these, which only others have something of.
    others: usize,
}

/// Epochs while there are more to come.
struct Making {
    planner: Arc<Planner>,
    layout: Layout,
    to_do: Peekable<std::vec::IntoIter<ToDo>>,
    /// Removed groups whose tombstones no epoch has yet.
    removed: HashSet<GroupId>,
    /// Those whose tombstones an epoch has.
    tombstoned: HashSet<GroupId>,
    /// Those that the first epoch restates.
    restated: Vec<GroupId>,
    /// Tombstones that lose contexts, for the last epoch.
    rewritten: Vec<GroupId>,
    left: usize,
}

/// A group with what it takes over, and its sides.
struct Compared {
    group: Group,
    takes_over: Vec<GroupId>,
    sides: Sides,
}

impl Epochs {
    /// Those of a layout that was looked at.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn new(
        planner: Arc<Planner>,
        layout: Layout,
        surveyed: Surveyed,
    ) -> Result<Self, PipelineError> {
        let rewritten = planner.published.tombstones_with(&planner.forget)?;
        let making = Making {
            left: 1 + surveyed.to_do.iter().filter(|it| it.begins).count(),
            planner,
            layout,
            to_do: surveyed.to_do.into_iter().peekable(),
            removed: surveyed.removed,
            tombstoned: HashSet::new(),
            restated: surveyed.restated,
            rewritten: rewritten.iter().map(tombstone_group).collect(),
        };
        Ok(Epochs {
            making: Some(making),
            others: 0,
        })
    }

    /// Makes them so many, or as many as there are if these are more: another process has as many.
    pub fn at_least(&mut self, many: usize) {
        self.others = many.saturating_sub(self.left()).max(self.others);
    }

    /// How many are still to come.
    pub fn left(&self) -> usize {
        self.making.as_ref().map_or(0, |making| making.left) + self.others
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
        let Some(making) = &mut self.making else {
            self.others = self.others.checked_sub(1)?;
            return Some(EpochPlan::default());
        };
        let begun = Instant::now();
        let mut epoch = making.epoch();
        making.left -= 1;
        if making.left == 0 {
            making.add_tombstones(&mut epoch);
        }
        making.planner.reader.progress().spend(Phase::Plan, begun);
        if making.left == 0 {
            self.making = None;
        }
        Some(epoch)
    }
}

impl Making {
    fn epoch(&mut self) -> EpochPlan {
        let mut epoch = EpochPlan {
            // First of all: what the settings forbid is to be removed at once.
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
                let (removed, tombstoned) = (&mut self.removed, &mut self.tombstoned);
                self.planner
                    .names_of_others(&group, &takes_over, removed, tombstoned, epoch)
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

    /// Adds the tombstones that no epoch has yet, and those that lose contexts.
    fn add_tombstones(&mut self, epoch: &mut EpochPlan) {
        let mut removed: Vec<GroupId> = self.removed.drain().collect();
        removed.sort_unstable();
        for id in removed {
            let sides = self.planner.sides(id, &[], Vec::new());
            sides.feed(epoch, id);
        }
        for group in self.rewritten.drain(..) {
            epoch.rewrite_tombstone(group);
        }
    }
}
