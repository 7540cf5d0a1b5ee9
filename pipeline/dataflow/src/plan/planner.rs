//! How the groups of a lake differ from what is published.

use std::collections::HashSet;
use std::sync::Arc;

use limn_lake::{ContextText, Contexts, Group, GroupKind};
use limn_profile::Redact;

use super::cuts::{Changed, Room};
use super::group::members;
use super::names::Exchanged;
use super::sides::{Differ, EpochPlan, Sides};
use crate::changes::{GroupId, MemberId};
use crate::error::PipelineError;
use crate::held_back::HeldBack;
use crate::options::RunOptions;
use crate::published::Published;
use crate::read::Reader;
use crate::scope::{Part, root_name};
use crate::share::Share;

/// What planning knows: the index, the contexts, and how a run goes.
pub struct Planner {
    pub(super) reader: Arc<Reader>,
    pub(super) root_name: String,
    pub(super) published: Arc<Published>,
    pub(super) settings: MemberId,
    pub(super) redact: Redact,
    pub(super) is_uniform: bool,
    /// The registered contexts of tables that this process may have.
    pub(crate) contexts: Contexts,
    pub(super) forget: Contexts,
    epoch_objects: usize,
    epoch_bytes: u64,
}

impl Planner {
    /// A planner for the lake at `url`. `settings` takes part in every member, what it withholds of
    /// values in what files are compared by; `is_uniform` says whether all published tables were
    /// made with them.
    pub fn new(
        url: &str,
        reader: Arc<Reader>,
        published: Arc<Published>,
        (settings, redact): (MemberId, Redact),
        is_uniform: bool,
        options: &RunOptions,
        share: &Share,
    ) -> Self {
        let mut contexts = published.registered();
        for (table, texts) in &options.forget {
            if let Some(registered) = contexts.get_mut(table) {
                registered.retain(|text| !texts.contains(text));
            }
        }
        contexts.retain(|_, texts| !texts.is_empty());
        for (table, texts) in &options.contexts {
            let registered = contexts.entry(table.clone()).or_default();
            for text in texts {
                if !registered.contains(text) {
                    registered.push(text.clone());
                }
            }
        }
        contexts.retain(|table, _| share.may_have(table.as_str()));
        Self {
            reader,
            root_name: root_name(url).to_owned(),
            published,
            settings,
            redact,
            is_uniform,
            contexts,
            forget: options.forget.clone(),
            epoch_objects: options.epoch_objects.max(1),
            epoch_bytes: options.epoch_bytes.max(1),
        }
    }

    /// What an epoch has room for.
    pub(super) fn room(&self) -> Room {
        Room {
            most_objects: self.epoch_objects,
            most_bytes: self.epoch_bytes,
            is_first_run: self.published.is_empty(),
        }
    }

    /// The published groups of a part of the lake, but for those that are held back: those that
    /// its listing lacks were removed.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn removal_candidates(
        &self,
        part: &Part,
        held: &HeldBack,
    ) -> Result<HashSet<GroupId>, PipelineError> {
        let mut candidates: HashSet<GroupId> = self.published.groups().into_iter().collect();
        candidates.retain(|group| !held.has(*group));
        if !part.is_partial() {
            return Ok(candidates);
        }
        let mut within = HashSet::new();
        for group in candidates {
            let tables = self.published.rows(group);
            let mut is_within = tables.iter().any(|table| part.has_table(&table.name));
            for table in &tables {
                is_within = is_within && table.is_within(part)?;
            }
            within.extend(is_within.then_some(group));
        }
        Ok(within)
    }

    /// A group with its sides. One that is described anyway is so with the texts of now.
    pub(super) fn compared(&self, mut group: Group, takes_over: &[GroupId]) -> (Group, Sides) {
        let found = self.sides_of(&group, takes_over);
        if matches!(found.differ(), Differ::Members) && forget_known(&mut group) {
            let found = self.sides_of(&group, takes_over);
            return (group, found);
        }
        (group, found)
    }

    pub(super) fn sides_of(&self, group: &Group, takes_over: &[GroupId]) -> Sides {
        let members = members(group, self.settings);
        self.sides(group.key.into(), takes_over, members)
    }

    /// How a group differs from what is published, and what of it.
    pub(super) fn difference(&self, group: &Group, takes_over: &[GroupId]) -> (Differ, Changed) {
        let own = GroupId::from(group.key);
        let mut ids = takes_over.iter().chain([&own]);
        if ids.all(|id| !self.published.has(*id)) {
            return (Differ::Members, Changed::all_of(group));
        }
        let sides = self.sides_of(group, takes_over);
        (sides.differ(), self.changed(group, takes_over, &sides))
    }

    /// What of a group differs from what is published of it. A family that takes over its files'
    /// groups, until it is known to be these again, differs in the files that are not published. One
    /// of which no file differs is described again, and counts as one file.
    fn changed(&self, group: &Group, takes_over: &[GroupId], sides: &Sides) -> Changed {
        let nothing = Changed {
            whole: group.files.len(),
            ..Changed::default()
        };
        match sides.differ() {
            Differ::Members => {}
            Differ::Awaits => return nothing.at_least_one(),
            Differ::Not => return nothing,
        }
        let members = members(group, self.settings);
        let files = group.files.iter().zip(&members);
        let new = files.filter(|(file, member)| match takes_over {
            [] => sides.published.binary_search(member).is_err(),
            _ => !self.published.has_file(file.content_fingerprint()),
        });
        let changed = new.fold(nothing, |sum, (file, _)| Changed {
            objects: sum.objects + 1,
            bytes: sum.bytes.saturating_add(file.object.size),
            ..sum
        });
        changed.at_least_one()
    }

    /// The names of a group's tables that tables of other groups have in the index. If such a group
    /// was removed, its tombstones are of the same epoch: the removal of a table, and what is found
    /// now under its name, belong together.
    pub(super) fn names_of_others(
        &self,
        group: &Group,
        takes_over: &[GroupId],
        removed: &mut HashSet<GroupId>,
        tombstoned: &mut HashSet<GroupId>,
        epoch: &mut EpochPlan,
    ) -> Vec<String> {
        let mut names_of_others = Vec::new();
        if !self.published.has_any() {
            return names_of_others;
        }
        let own = with_taken_over(group, takes_over);
        for (name, before) in self.owners(group, &own) {
            if removed.remove(&before) {
                self.sides(before, &[], Vec::new()).feed(epoch, before);
                tombstoned.insert(before);
            } else if !tombstoned.contains(&before) {
                names_of_others.push(name.to_owned());
            }
        }
        names_of_others
    }

    /// The names of a group's tables that tables of others than its `own` groups have in the index,
    /// and whose.
    fn owners<'a>(
        &'a self,
        group: &'a Group,
        own: &'a HashSet<GroupId>,
    ) -> impl Iterator<Item = (&'a str, GroupId)> {
        names(group).filter_map(move |name| {
            let owner = self.published.row(name)?.group?;
            (!own.contains(&owner)).then_some((name, owner))
        })
    }

    /// The names that a group exchanges with others.
    pub(super) fn exchanged(&self, group: &Group, takes_over: &[GroupId]) -> Exchanged {
        if !self.published.has_any() {
            return Exchanged::default();
        }
        let own = with_taken_over(group, takes_over);
        let now: HashSet<&str> = names(group).collect();
        let has_another = |id: &GroupId| {
            let rows = self.published.rows(*id);
            rows.iter().any(|row| !now.contains(&*row.name))
        };
        Exchanged {
            taken_from: self.owners(group, &own).map(|(_, owner)| owner).collect(),
            given_up_by: own.iter().copied().filter(has_another).collect(),
        }
    }

    /// Whether a group, or what it takes over, is of the tables that a run is about.
    pub(super) fn is_in_scope(&self, part: &Part, group: &Group, takes_over: &[GroupId]) -> bool {
        let own = GroupId::from(group.key);
        let mut published = takes_over.iter().chain([&own]);
        part.has_table(group.name.as_str())
            || group
                .files
                .iter()
                .any(|file| part.has_table(file.table_name.as_str()))
            || published.any(|group| {
                let tables = self.published.rows(*group);
                tables.iter().any(|table| part.has_table(&table.name))
            })
    }

    /// A group's members and what is published of it.
    pub(super) fn sides(
        &self,
        id: GroupId,
        takes_over: &[GroupId],
        mut lake: Vec<MemberId>,
    ) -> Sides {
        lake.sort_unstable();
        lake.dedup();
        let mut published = self.published.members(id);
        for group in takes_over {
            published.extend(self.published.members(*group));
        }
        published.sort_unstable();
        published.dedup();
        let groups = || takes_over.iter().chain([&id]);
        Sides {
            lake,
            published,
            is_published: groups().any(|group| self.published.has(*group)),
            awaits: groups().any(|group| self.published.awaits_narration(*group)),
        }
    }

    /// The published groups that a family's files have as tables of their own.
    pub(super) fn taken_over(&self, group: &Group) -> Vec<GroupId> {
        if group.kind != GroupKind::Family || !self.published.has_any() {
            return Vec::new();
        }
        group
            .keys_alone()
            .map(GroupId::from)
            .filter(|id| self.published.has(*id))
            .collect()
    }
}

/// A group with those that it takes over.
fn with_taken_over(group: &Group, takes_over: &[GroupId]) -> HashSet<GroupId> {
    let own = GroupId::from(group.key);
    takes_over.iter().copied().chain([own]).collect()
}

/// The names that a group's tables may have.
fn names(group: &Group) -> impl Iterator<Item = &str> {
    let names = group.files.iter().map(|file| file.table_name.as_str());
    names.chain([group.name.as_str()])
}

/// Makes a group's contexts those of this version alone; whether any was known by another.
fn forget_known(group: &mut Group) -> bool {
    let known = group
        .contexts
        .iter_mut()
        .filter_map(|context| match &mut context.source {
            ContextText::Shared { known, .. } => known.take(),
            ContextText::Registered { .. }
            | ContextText::Declared { .. }
            | ContextText::Sidecar { .. } => None,
        });
    known.count() > 0
}
