//! How the groups of a lake differ from what is published, and which of them are families of
//! several tables.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use futures::future::join_all;
use limn_lake::evolution::{self, Shapes};
use limn_lake::{ContextSource, ContextText, Contexts, Group, GroupKind};
use limn_profile::Redact;

use super::cuts::{Changed, Room};
use super::group::members;
use super::sides::{Differ, EpochPlan, Sides};
use crate::changes::{GroupId, MemberId};
use crate::held_back::HeldBack;
use crate::options::RunOptions;
use crate::published::{KnownFile, Published, group_of};
use crate::read::Reader;
use crate::scope::{Part, root_name};
use crate::share::Share;

/// A group as it is, or one of the groups that a family turned out to be.
pub(super) struct Arranged {
    /// Where the group, or the family, is in the layout.
    pub(super) at: usize,
    /// Whether it is as it was laid out.
    pub(super) is_as_laid_out: bool,
    pub(super) group: Group,
}

/// What planning knows: the index, the contexts, and how a run goes.
pub struct Planner {
    pub(super) reader: Arc<Reader>,
    pub(super) root_name: String,
    pub(super) published: Arc<Published>,
    settings: MemberId,
    redact: Redact,
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
    pub(super) fn removal_candidates(&self, part: &Part, held: &HeldBack) -> HashSet<GroupId> {
        let mut candidates: HashSet<GroupId> = self.published.groups().into_iter().collect();
        candidates.retain(|group| {
            let tables = self.published.tables(*group);
            !held.has(*group)
                && tables.iter().any(|table| part.has_table(&table.name))
                && tables
                    .iter()
                    .flat_map(|table| &table.files)
                    .all(|file| part.has_path(&file.path))
        });
        candidates
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
    /// groups, until it is known to be these again, differs in the files that are not published.
    fn changed(&self, group: &Group, takes_over: &[GroupId], sides: &Sides) -> Changed {
        let nothing = Changed {
            whole: group.files.len(),
            ..Changed::default()
        };
        if !matches!(sides.differ(), Differ::Members) {
            return nothing;
        }
        let members = members(group, self.settings);
        let files = group.files.iter().zip(&members);
        let new = files.filter(|(file, member)| match takes_over {
            [] => sides.published.binary_search(member).is_err(),
            _ => !self.published.has_file(file.content_fingerprint()),
        });
        new.fold(nothing, |sum, (file, _)| Changed {
            objects: sum.objects + 1,
            bytes: sum.bytes.saturating_add(file.object.size),
            ..sum
        })
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
        let names = group.files.iter().map(|file| file.table_name.as_str());
        for name in names.chain([group.name.as_str()]) {
            let before = self.published.table(name).and_then(|row| group_of(&row));
            let is_other =
                |it: &GroupId| *it != GroupId::from(group.key) && !takes_over.contains(it);
            let Some(before) = before.filter(is_other) else {
                continue;
            };
            if removed.remove(&before) {
                self.sides(before, &[], Vec::new()).feed(epoch, before);
                tombstoned.insert(before);
            } else if !tombstoned.contains(&before) {
                names_of_others.push(name.to_owned());
            }
        }
        names_of_others
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
                let tables = self.published.tables(*group);
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

    /// A group as it is, or a family that is certainly not one table as a group a file; and the
    /// contexts that name no table then.
    pub(super) async fn arrange(&self, at: usize, group: Group) -> (Vec<Arranged>, Vec<String>) {
        let kind = group.kind;
        let (groups, orphans) = self.split(group).await;
        let is_split = groups.len() != 1 || groups.iter().any(|it| it.kind != kind);
        let mut arranged = Vec::with_capacity(groups.len());
        for mut group in groups {
            let is_known = self.compare_shared_texts(&mut group).await;
            arranged.push(Arranged {
                at,
                is_as_laid_out: !is_split && !is_known,
                group,
            });
        }
        (arranged, orphans)
    }

    /// A family as its tables, as far as this is certain.
    ///
    /// It looks at what the catalog knows, and reads a few files where that is not enough. While it
    /// does not know all files it leaves the family together, unless its probes decide: the
    /// dataflow arranges it by the same rules when it has seen every file. So this can change how
    /// much one change costs, never what tables there are.
    async fn split(&self, group: Group) -> (Vec<Group>, Vec<String>) {
        if group.kind != GroupKind::Family {
            return (vec![group], Vec::new());
        }
        let mut shapes = Shapes::default();
        let mut unknown: BTreeSet<usize> = BTreeSet::new();
        for (at, file) in group.files.iter().enumerate() {
            let path = file.object.path.as_str();
            match self.published.file(file.content_fingerprint()) {
                Some(KnownFile::Summary(mut summary)) => {
                    summary.redact(self.redact);
                    shapes.add(path, &summary);
                }
                Some(KnownFile::NoTable) => {}
                // It cannot be read: its last good version says what it is like.
                Some(KnownFile::Unread(_)) => {
                    if let Some(mut last) = self.published.last_good(path) {
                        last.redact(self.redact);
                        shapes.add(path, &last);
                    }
                }
                None => drop(unknown.insert(at)),
            }
        }
        let mut is_apart = false;
        // A small family may as well wait until all of it is read.
        if unknown.len() > evolution::PROBES {
            let probes = evolution::probes(&group).into_iter();
            let probes: Vec<usize> = probes.filter(|at| unknown.contains(at)).collect();
            let probes = probes.into_iter().map(|at| &group.files[at]);
            let probed = probes.clone().map(|file| self.reader.probe(file));
            let mut are_read = true;
            for (file, probed) in probes.zip(join_all(probed).await) {
                match probed {
                    Some(mut summary) => {
                        summary.redact(self.redact);
                        shapes.add(&file.object.path, &summary);
                    }
                    // The dataflow finds out why.
                    None => are_read = false,
                }
            }
            is_apart = are_read && evolution::is_apart(&group, &shapes);
        }
        let unclaimed = group.unclaimed_contexts();
        let mut orphans: Vec<String> = unclaimed.map(|it| it.table.to_string()).collect();
        orphans.dedup();
        let groups = match unknown.is_empty() {
            true => evolution::arrange(group.clone(), &shapes),
            false if is_apart => group.clone().part(|_| false),
            false => vec![group.clone()],
        };
        if groups.iter().any(|it| it.kind == GroupKind::Family) {
            orphans.clear();
        }
        (groups, orphans)
    }

    /// Of texts about several tables that the index has in another version: whether they say the
    /// same of the group's table as they did. One that changed is read here, once for all tables,
    /// so that only those are described again whose part changed. Whether there is any.
    async fn compare_shared_texts(&self, group: &mut Group) -> bool {
        if !group.contexts.iter().any(ContextSource::is_shared) {
            return false;
        }
        let mut is_any = false;
        let current = members(group, self.settings);
        let current = current.into_iter().skip(group.files.len());
        for (context, member) in group.contexts.iter_mut().zip(current) {
            let ContextText::Shared {
                object,
                kind,
                about,
                known,
            } = &mut context.source
            else {
                continue;
            };
            let table = context.table.as_str();
            let before = self
                .published
                .part_of_another_version(table, &object.path, member);
            let Some((version, before)) = before else {
                continue;
            };
            // The dataflow reports one that cannot be read.
            if let Some(shared) = self.reader.look_at(object, *kind).await
                && shared.part(about) == before
            {
                *known = Some(version);
                is_any = true;
            }
        }
        is_any
    }

    /// The published groups that a family's files have as tables of their own.
    pub(super) fn taken_over(&self, group: &Group) -> Vec<GroupId> {
        if group.kind != GroupKind::Family {
            return Vec::new();
        }
        group
            .keys_alone()
            .map(GroupId::from)
            .filter(|id| self.published.has(*id))
            .collect()
    }
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
