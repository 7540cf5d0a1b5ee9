//! Which tables a shared text reaches.
//!
//! A manifest reaches the tables of its directory and of all below; a dictionary those of its
//! directory: its files, the directory as a table, and, by name only, tables that are folders
//! there. A README does both: the tables of its directory may get the whole of it, and those below
//! get what names them or their folder. So a part of a lake can still be laid out from its own
//! objects, the files beside it and what reaches down from above it. What programs write (dbt,
//! OpenLineage) may be data as well, as far as its path shows; it reaches what lies beside its
//! folder, and counts as no table where a README's are counted.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use limn_formats::{ObjectRecord, Objects};

use super::{ContextSource, ContextText, Draft, Group, GroupKind, Layout};
use crate::contexts::{About, SharedKind};
use crate::place::split_path;
use crate::reach::is_within;

/// Up to so many tables of a directory each get the whole README; more get parts of it.
pub(super) const MOST_TABLES: usize = 20;
/// Texts of programs that speak of a table's folder, at most: the nearest.
const MOST_OF_PROGRAMS: usize = 16;
/// Files of a table by whose paths a text may name it.
const MOST_PATHS: usize = 64;

/// Gives each table in reach the texts, after its other contexts: nearest first, manifests before
/// prose.
pub(super) fn deliver(
    mut shared: Vec<(SharedKind, ObjectRecord)>,
    objects: &Objects,
    layout: &mut Layout,
) {
    let depth = |object: &ObjectRecord| object.path.matches('/').count();
    shared
        .sort_by_cached_key(|(kind, object)| (Reverse(depth(object)), *kind, object.path.clone()));
    if shared.is_empty() {
        return;
    }
    let tables = Tables::of(&layout.groups, objects);
    let paths = &tables.paths;
    let mut of_programs = vec![0; layout.groups.len()];
    for (kind, object) in shared {
        let directory = split_path(&object.path).0;
        let reached = tables.reached(kind, &object.path);
        if reached.is_empty() && !kind.may_hold_rows() {
            layout.unreached.push(object.path.clone());
        }
        let own = reached.iter().filter(|(_, is_own)| *is_own).count();
        let most = match kind {
            SharedKind::Readme => MOST_TABLES,
            // It is about columns: of one table, if no other is there.
            SharedKind::Dictionary => 1,
            _ => 0,
        };
        // Of many tables none gets the whole.
        let own_paths: Vec<String> = match own <= most {
            true => {
                let own = reached.iter().filter(|(_, is_own)| *is_own);
                own.map(|(at, _)| paths[*at].clone()).collect()
            }
            false => Vec::new(),
        };
        for (at, is_own) in reached {
            if kind.may_hold_rows() {
                of_programs[at] += 1;
                if of_programs[at] > MOST_OF_PROGRAMS {
                    continue;
                }
            }
            let group = &mut layout.groups[at];
            let whole = is_own && own <= most;
            let about = About {
                paths: paths_of(group.kind, &group.path, group.files(objects).map(|it| it.0)),
                folders: folders_between(directory, &group.path, kind),
                whole,
                others: others(&own_paths, &group.path, whole),
            };
            let source = ContextText::Shared {
                object: object.clone(),
                kind,
                about,
                known: None,
            };
            group.contexts.push(ContextSource {
                table: group.name.clone(),
                source,
            });
        }
    }
}

/// The groups that texts may be about, by where they lie.
struct Tables {
    /// Groups are in the order of their paths: those below a directory are neighbours.
    paths: Vec<String>,
    /// Groups by their directory, and whether they are its tables; otherwise they are folders in
    /// it.
    near: HashMap<String, Vec<(usize, bool)>>,
    /// What may turn out to be no table.
    artifacts: HashSet<usize>,
}

impl Tables {
    fn of(groups: &[Draft], objects: &Objects) -> Tables {
        let mut tables = Tables {
            paths: groups.iter().map(|it| it.path.to_string()).collect(),
            near: HashMap::new(),
            artifacts: HashSet::new(),
        };
        for (at, group) in groups.iter().enumerate() {
            if may_be_artifact(group, objects) {
                tables.artifacts.insert(at);
                continue;
            }
            let (directory, is_directory) = group.directory(objects);
            let near = tables.near.entry(directory.to_owned()).or_default();
            near.push((at, true));
            if is_directory && !directory.is_empty() {
                let parent = split_path(directory).0;
                let near = tables.near.entry(parent.to_owned()).or_default();
                near.push((at, false));
            }
        }
        tables
    }

    /// The groups that a text at a path may be about, and whether they are tables of its directory,
    /// which may have it whole.
    fn reached(&self, kind: SharedKind, path: &str) -> Vec<(usize, bool)> {
        let near = self.near.get(split_path(path).0);
        let near = near.map_or(&[][..], Vec::as_slice);
        let Some(folder) = kind.reach(path) else {
            return near.to_vec();
        };
        let first = match folder {
            "" => 0,
            _ => self.paths.partition_point(|path| path.as_str() < folder),
        };
        let from = (first..).zip(&self.paths[first..]);
        // Between a directory and what is below it come names that go on with other letters.
        let candidates = from.take_while(|(_, path)| path.starts_with(folder));
        let within =
            candidates.filter(|(at, path)| is_within(path, folder) && !self.artifacts.contains(at));
        // A manifest is whole of none.
        let own = near.iter().filter(|it| it.1 && kind == SharedKind::Readme);
        let own: HashSet<usize> = own.map(|it| it.0).collect();
        within.map(|(at, _)| (at, own.contains(&at))).collect()
    }
}

/// Whether a group may turn out to be what a program wrote about tables.
fn may_be_artifact(group: &Draft, objects: &Objects) -> bool {
    let is_one = |path: &str| SharedKind::of_path(path).is_some_and(SharedKind::may_hold_rows);
    let mut files = group.files(objects).map(|it| it.0).peekable();
    files.peek().is_some() && files.all(is_one)
}

fn paths_of<'a>(kind: GroupKind, path: &str, files: impl Iterator<Item = &'a str>) -> Vec<String> {
    let files = files.map(str::to_owned);
    match kind {
        GroupKind::File => files.collect(),
        GroupKind::Directory | GroupKind::Logged => vec![path.to_owned()],
        GroupKind::Family | GroupKind::Declared => {
            let all = std::iter::once(path.to_owned()).chain(files.take(MOST_PATHS));
            all.collect()
        }
    }
}

/// The other tables of a directory, where one of them gets the whole of a text.
fn others(all: &[String], own: &str, whole: bool) -> Vec<String> {
    let others = all.iter().filter(|path| whole && *path != own);
    others.cloned().collect()
}

/// The folders below `directory` in which a table lies, whose sections of a README are about it,
/// too.
fn folders_between(directory: &str, path: &str, kind: SharedKind) -> Vec<String> {
    let mut folders = Vec::new();
    let mut folder = split_path(path).0;
    while kind == SharedKind::Readme && folder.len() > directory.len() {
        folders.push(folder.to_owned());
        folder = split_path(folder).0;
    }
    folders
}

/// A family's shared text as that of one of the tables (all at `paths`) that it turned out to be.
pub(super) fn handed_on(
    context: &ContextSource,
    table: &Group,
    paths: &[String],
    are_few: bool,
) -> ContextSource {
    let mut source = context.source.clone();
    if let ContextText::Shared { about, known, .. } = &mut source {
        about.whole &= are_few;
        let mut all = std::mem::take(&mut about.others);
        if about.whole {
            all.extend_from_slice(paths);
            all.sort_unstable();
        }
        about.others = others(&all, &table.path, about.whole);
        let files = table.files.iter().map(|file| file.object.path.as_str());
        about.paths = paths_of(table.kind, &table.path, files);
        *known = None;
    }
    ContextSource {
        table: table.name.clone(),
        source,
    }
}
