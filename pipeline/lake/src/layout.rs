//! Which objects make which tables: a pure function of the set of paths.
//!
//! A table that has a log is what that says ([`LogTable`]). Of other objects the own path decides
//! first: a file below `key=value` components or named `part-00000…` belongs to the table of its
//! directory ([`GroupKind::Directory`]). Of the others, those of one directory that are named alike
//! may be one table ([`GroupKind::Family`], `alike.rs`), and so may those in folders of dates, or
//! in books, databases and archives called by dates, whose paths are alike (`dated.rs`); which of
//! them are shows when their columns are read. Else each is its own ([`GroupKind::File`]). Names
//! follow: a file's is its path without extension, a directory's its path, a family's its
//! directory's or what its files' paths share (`exports/orders_*`, `landing/*/orders`), and where
//! two would share a name the files keep their extensions.
//!
//! All cores look at a large listing (`in_parallel.rs`), and what they find is taken in one order.

use limn_formats::{FileError, Objects};
use rayon::slice::ParallelSliceMut;

use crate::contexts::Contexts;
use crate::declared::Declared;
use crate::place;

mod alike;
mod beside;
mod by_mask;
mod class;
mod code;
mod context_source;
mod dated;
mod describing;
mod draft;
mod group;
mod in_parallel;
mod logged;
mod names;
mod of_use;
mod outline;
mod parts;
mod shared;
mod sorted;
mod table_file;

pub use beside::{may_be_beside, texts_beside};
pub use context_source::{ContextSource, ContextText};
use draft::{Draft, Entry, FileDraft, Naming};
pub use group::{Group, GroupKey, GroupKind};
use logged::LogTables;
pub(crate) use logged::NamedFiles;
pub use logged::{LogFile, LogTable};
use names::{Addressees, Names};
pub use of_use::{
    Ignored, Others, described_below, describes_beside, is_container, is_data, is_dictionary,
    is_read,
};
pub use outline::Outline;
use parts::Parts;
use sorted::Sorted;
pub use table_file::{TableFile, content_fingerprint};

/// A lake's objects, arranged: which of them are the files of which group. A group itself is made
/// when it is asked for, so that a large lake's take little room.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    objects: Objects,
    // By path: every data file is in exactly one.
    groups: Vec<Draft>,
    declared: Declared,
    parts: Parts,
    /// Objects that are neither data nor a context.
    pub ignored: Ignored,
    /// Texts about folders that reach no table, by path: they are not among the ignored.
    pub unreached: Vec<String>,
    /// Sidecars (by path) and registered contexts (by table) that name no table.
    pub orphans: Vec<String>,
    /// Data files whose names no table can have, with the reason.
    pub refused: Vec<FileError>,
}

impl Layout {
    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The group at a place, in the order of their paths.
    pub fn group(&self, at: usize) -> Option<Group> {
        let draft = self.groups.get(at)?;
        Some(draft.group(&self.objects, (&self.declared, &self.parts)))
    }

    /// What is known of the group at a place before its files are made.
    pub fn outline(&self, at: usize) -> Option<Outline<'_>> {
        Some(self.groups.get(at)?.outline(&self.objects))
    }

    /// The paths of the files of the listing that the group at a place has, in their order.
    pub fn paths(&self, at: usize) -> impl Iterator<Item = &str> {
        let files = self.groups.get(at).map_or(&[][..], Draft::listed);
        files.iter().map(|it| it.path(&self.objects))
    }

    /// The group at a place with those of these files alone that are at such places among them.
    pub fn group_with(&self, at: usize, files: &[usize]) -> Option<Group> {
        let draft = self.groups.get(at)?;
        Some(draft.with_files(files, &self.objects, (&self.declared, &self.parts)))
    }

    /// The groups, by path: every data file is in exactly one.
    pub fn groups(&self) -> impl Iterator<Item = Group> {
        (0..self.len()).filter_map(|at| self.group(at))
    }

    /// Keeps the groups whose paths are wanted.
    pub fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) {
        self.groups.retain(|it| is_wanted(&it.path));
    }

    /// Keeps the files whose paths are wanted, and the groups that have any.
    pub fn retain_files(&mut self, is_wanted: impl Fn(&str) -> bool) {
        let objects = &self.objects;
        self.groups
            .retain_mut(|it| it.retain(|file| is_wanted(file.path(objects))));
    }
}

/// Arranges a lake's objects into groups. `registered` are the contexts registered by hand,
/// `root_name` is what a table of the lake's root is called (the last segment of the lake's URL).
///
/// A pure function of the set of objects: their order does not matter, and an object changes only
/// the groups of its own table, its own directory, and those that would share its name.
pub fn layout(objects: impl Into<Objects>, registered: &Contexts, root_name: &str) -> Layout {
    let mut layout = layout_declared(
        objects.into(),
        Vec::new(),
        registered,
        Declared::default(),
        root_name,
    );
    for path in std::mem::take(&mut layout.unreached) {
        layout.ignored.add_other(&path);
    }
    layout
}

/// As [`layout()`], where people say of some files what they make.
pub fn layout_declared(
    mut objects: Objects,
    logged: Vec<LogTable>,
    registered: &Contexts,
    declared: Declared,
    root_name: &str,
) -> Layout {
    objects.sort();
    let mut layout = arrange(&objects, logged, registered, &declared, root_name);
    (layout.objects, layout.declared) = (objects, declared);
    layout
}

/// The layout without the objects, which are sorted.
fn arrange(
    objects: &Objects,
    logged: Vec<LogTable>,
    registered: &Contexts,
    declared: &Declared,
    root_name: &str,
) -> Layout {
    let mut sorted = Sorted::of(objects, LogTables::of(logged), declared);
    let loose = std::mem::take(&mut sorted.loose);
    let names = Names::of(&sorted, &loose, root_name);
    let parts = std::mem::take(&mut sorted.parts);
    parts.count_strays(&mut sorted.ignored);
    let mut groups = Vec::new();
    let by_path = |it: Entry<'_>| FileDraft::new(&it, Naming::Path, false);
    for (directory, files) in std::mem::take(&mut sorted.directories) {
        let name = names.directory(directory);
        let files = files.into_iter().map(by_path).collect();
        groups.push(Draft::new(GroupKind::Directory, directory, name, files));
    }
    for table in std::mem::take(&mut sorted.logged) {
        let name = names.directory(&table.folder);
        groups.push(Draft::logged(table, name));
    }
    for ((directory, table), files) in std::mem::take(&mut sorted.declared) {
        let files = files.into_iter().map(by_path).collect();
        let name = names.declared(&directory, &table);
        let path = place::join(&directory, &table);
        groups.push(Draft::new(GroupKind::Declared, &path, name, files));
    }
    let mut json_beside = Vec::new();
    groups.extend(sorted.loose_groups(&loose, &names, &mut json_beside));
    drop(names);
    drop(loose);
    groups.par_sort_unstable_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
    groups.shrink_to_fit();
    let mut layout = Layout {
        groups,
        parts,
        ignored: sorted.ignored,
        refused: sorted.refused,
        ..Layout::default()
    };
    let texts: Vec<&str> = sorted
        .sidecars
        .iter()
        .chain(&json_beside)
        .copied()
        .collect();
    let addressees = Addressees::of(
        (&layout.groups, objects),
        registered,
        (&texts, &sorted.shared),
    );
    let (shared, beside) = addressees.of_shared(sorted.shared);
    let beside = beside.iter().filter_map(|it| objects.find(&it.path));
    sorted.sidecars.extend(beside.map(|at| objects.path(at)));
    sorted.sidecars.sort_unstable();
    let sidecars = (sorted.sidecars, &sorted.texts);
    addressees.deliver(registered, sidecars, json_beside, objects, &mut layout);
    shared::deliver(shared, objects, &mut layout);
    // Nobody says anything of what is no table.
    if !sorted.strays.is_empty() {
        let strays = sorted.strays.iter().map(|it| {
            let is_text = it.format.is_uncertain();
            Draft::of_file(FileDraft::new(it, Naming::Path, is_text), it.path).stray()
        });
        layout.groups.extend(strays);
        layout
            .groups
            .sort_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
    }
    layout
}

type Entries<'a> = Vec<Entry<'a>>;

/// What a sidecar is a sidecar of: its path without `.md`, `.txt`, `.yaml`, `.html` or `.pdf`.
/// Texts that come with any folder (a readme, a licence) are none.
fn sidecar_stem(path: &str) -> Option<&str> {
    let stem = place::without_extension(path);
    let extension = path.get(stem.len() + 1..)?;
    let is_text = ["md", "txt", "yaml", "yml", "html", "htm", "pdf"]
        .iter()
        .any(|it| extension.eq_ignore_ascii_case(it));
    (is_text && !of_use::has_common_name(stem)).then_some(stem)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod whole;
