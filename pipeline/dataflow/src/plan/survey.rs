//! The survey: which groups of a layout differ from what is published. Of the others nothing is
//! kept, and of those that are as they were laid out only their places.

use std::collections::{BTreeSet, HashMap, HashSet};

use limn_lake::reach::is_within;
use limn_lake::{Group, GroupKind, Outline};

use super::arranged::Arranged;
use super::cuts::{Changed, Cuts};
use super::names::Names;
use super::planner::Planner;
use super::sides::Differ;
use crate::changes::GroupId;
use crate::error::PipelineError;
use crate::held_back::HeldBack;
use crate::scope::Part;

/// A group that has something to do.
pub(super) enum Found {
    /// As it was laid out at this place.
    LaidOut(usize),
    /// Another.
    Made(Box<Group>),
}

/// A group with something to do, and the published groups that it takes over.
pub(super) struct ToDo {
    pub(super) group: Found,
    pub(super) takes_over: Box<[GroupId]>,
    /// Whether an epoch begins with it that is not the first.
    pub(super) begins: bool,
}

/// What a survey has found.
#[derive(Default)]
pub(super) struct Surveyed {
    pub(super) to_do: Vec<ToDo>,
    /// Published groups that the listing lacks: they were removed.
    pub(super) removed: HashSet<GroupId>,
    /// Published groups that are restated, because this run's settings cannot reach their files.
    pub(super) restated: Vec<GroupId>,
    /// Names of the tables that are looked at, where only some are.
    pub(super) tables: BTreeSet<String>,
    /// Files of groups that differ.
    pub(super) files_wanted: usize,
    /// Groups that await a narration.
    pub(super) awaiting: usize,
    /// Tables that are one by their log now, and how many the index has had of the files there.
    pub(super) joined: Vec<(String, usize)>,
}

/// A survey under way.
pub(super) struct Survey<'a> {
    planner: &'a Planner,
    part: &'a Part,
    held: HeldBack,
    /// What of each group to do differs.
    changed: Vec<Changed>,
    /// Which groups take names of others.
    names: Names,
    /// Tables that have a log and are not published yet, and their folders.
    logged: Vec<(String, String)>,
    found: Surveyed,
}

impl<'a> Survey<'a> {
    /// A survey of a part of a lake, of which this could not be listed.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn of(
        planner: &'a Planner,
        part: &'a Part,
        unlisted: &[String],
    ) -> Result<Survey<'a>, PipelineError> {
        let held = HeldBack::of(&planner.published, unlisted)?;
        Ok(Survey {
            planner,
            part,
            found: Surveyed {
                removed: planner.removal_candidates(part, &held)?,
                ..Surveyed::default()
            },
            held,
            changed: Vec::new(),
            names: Names::default(),
            logged: Vec::new(),
        })
    }

    /// Looks at the next group.
    pub(super) fn look_at(&mut self, arranged: Arranged) {
        let group = &arranged.group;
        let id = GroupId::from(group.key);
        let takes_over = self.planner.taken_over(group);
        for published in takes_over.iter().chain([&id]) {
            self.found.removed.remove(published);
        }
        if group.kind == GroupKind::Logged && !self.planner.published.has(id) {
            self.logged
                .push((group.name.to_string(), group.path.clone()));
        }
        if self.held.concerns(group) {
            self.held.keep(takes_over.into_iter().chain([id]));
            return;
        }
        if !self.planner.is_in_scope(self.part, group, &takes_over) {
            return;
        }
        if self.part.tables.is_some() {
            self.found.tables.insert(group.name.to_string());
            let files = group.files.iter();
            self.found
                .tables
                .extend(files.map(|file| file.table_name.to_string()));
        }
        let (differ, changed) = self.planner.difference(group, &takes_over);
        match differ {
            // Sides that are equal have nothing to do.
            Differ::Not => return,
            Differ::Awaits => self.found.awaiting += 1,
            Differ::Members => {
                let files = group.files.iter();
                self.found.files_wanted += files.filter(|file| !file.format.is_log()).count();
            }
        }
        let at = self.changed.len();
        let exchanged = self.planner.exchanged(group, &takes_over);
        self.names.take_in(at, exchanged);
        self.changed.push(changed);
        self.found.to_do.push(ToDo {
            group: match arranged.is_as_laid_out {
                true => Found::LaidOut(arranged.at),
                false => Found::Made(Box::new(arranged.group)),
            },
            takes_over: takes_over.into(),
            begins: false,
        });
    }

    /// Looks at the next group, which is as it was laid out at this place, while nothing is
    /// published and all tables are looked at.
    pub(super) fn look_at_new(&mut self, at: usize, group: &Outline<'_>) {
        if group.kind == GroupKind::Logged {
            self.logged
                .push((group.name.to_string(), group.path.to_owned()));
        }
        self.found.files_wanted += group.files - group.logs;
        self.changed.push(Changed {
            objects: group.files,
            bytes: group.bytes,
            whole: group.files,
        });
        self.found.to_do.push(ToDo {
            group: Found::LaidOut(at),
            takes_over: Box::default(),
            begins: false,
        });
    }

    /// The end of it: all groups were looked at.
    ///
    /// # Errors
    /// The temporary folder cannot be used.
    pub(super) fn end(mut self) -> Result<Surveyed, PipelineError> {
        let logged = std::mem::take(&mut self.logged).into_iter();
        let mut joined: Vec<(String, String, usize)> =
            logged.map(|(name, path)| (name, path, 0)).collect();
        let removed = match joined.is_empty() {
            true => None,
            false => Some(&self.found.removed),
        };
        for id in removed.into_iter().flatten() {
            let tables = self.planner.published.tables(*id)?;
            for (_, path, count) in &mut joined {
                let mut files = tables.iter().flat_map(|it| it.files_now());
                *count += usize::from(files.any(|file| is_within(&file.path, path)));
            }
        }
        let joined = joined.into_iter().filter(|(.., count)| *count > 0);
        let joined = joined.map(|(name, _, count)| (name, count));
        self.found.joined = joined.collect();
        if !self.planner.is_uniform {
            self.found.restated = self.held.into_groups();
        }
        let cuts = Cuts::new(self.planner.room(), &self.changed);
        let first_of = self.names.exchanged();
        match first_of.is_empty() {
            true => cut(cuts, &mut self.found.to_do, self.changed),
            false => {
                let to_do = std::mem::take(&mut self.found.to_do);
                self.found.to_do = cut_together(cuts, to_do, self.changed, &first_of);
            }
        }
        self.found.to_do.shrink_to_fit();
        Ok(self.found)
    }
}

/// Marks where epochs begin.
fn cut(mut cuts: Cuts, to_do: &mut [ToDo], changed: Vec<Changed>) {
    for (to_do, changed) in to_do.iter_mut().zip(changed) {
        to_do.begins = cuts.begins(changed);
    }
}

/// The same where groups exchange names, of which `first_of` says the first: they come together. A
/// reader, and a run after one that was killed between two epochs, must not find a name given away
/// and not yet given up.
fn cut_together(
    mut cuts: Cuts,
    to_do: Vec<ToDo>,
    changed: Vec<Changed>,
    first_of: &HashMap<usize, usize>,
) -> Vec<ToDo> {
    let mut all: Vec<(usize, ToDo, Changed)> = to_do
        .into_iter()
        .zip(changed)
        .enumerate()
        .map(|(at, (to_do, changed))| (first_of.get(&at).copied().unwrap_or(at), to_do, changed))
        .collect();
    all.sort_by_key(|(first, ..)| *first);
    for together in all.chunk_by_mut(|a, b| a.0 == b.0) {
        let changed = together.iter().map(|(.., changed)| *changed);
        let begins = cuts.begins(changed.fold(Changed::default(), Changed::and));
        if let [(_, first, _), ..] = together {
            first.begins = begins;
        }
    }
    all.into_iter().map(|(_, to_do, _)| to_do).collect()
}
