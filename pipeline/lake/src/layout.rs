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

use std::collections::{BTreeMap, HashMap, HashSet};

use limn_formats::{
    FileError, FileErrorKind, Format, ObjectRecord, ObjectRef, Objects, member, without_compression,
};

use crate::contexts::{Contexts, SharedKind};
use crate::declared::{Declared, Says, is_declared_file};
use crate::filter::is_ignore_file;
use crate::hidden::is_hidden;
use crate::place;
use crate::table_name::has_control;

mod alike;
mod beside;
mod by_mask;
mod code;
mod context_source;
mod dated;
mod describing;
mod draft;
mod group;
mod logged;
mod names;
mod of_use;
mod parts;
mod shared;
mod table_file;

use alike::Alike;
pub use beside::{may_be_beside, texts_beside};
use code::CodeFolders;
pub use context_source::{ContextSource, ContextText};
use dated::Series;
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
use parts::Parts;
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
    groups.extend(sorted.loose_groups(&loose, &names, objects, &mut json_beside));
    drop(names);
    drop(loose);
    groups.sort_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
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

/// Objects by what their paths say.
#[derive(Default)]
struct Sorted<'a> {
    directories: BTreeMap<&'a str, Entries<'a>>,
    logged: LogTables,
    // Those that people say to be one table, by their own directory and its name.
    declared: BTreeMap<(String, String), Entries<'a>>,
    // Other data files, by their own directory.
    loose: BTreeMap<&'a str, Entries<'a>>,
    // Which of `loose` may be one table, in one directory and in places of several dates.
    alike: BTreeMap<&'a str, Vec<Alike>>,
    series: Vec<Series>,
    // Of containers: what is to be reported or remembered, and is no table: remarks, and texts
    // among the files of a table.
    strays: Entries<'a>,
    // What is read with tables, or passed over beside them.
    parts: Parts,
    sidecars: Vec<&'a str>,
    // Which of `loose` are sidecars, too: plain texts.
    texts: HashSet<&'a str>,
    shared: Vec<(SharedKind, ObjectRecord)>,
    ignored: Ignored,
    refused: Vec<FileError>,
}

impl<'a> Sorted<'a> {
    fn of(objects: &'a Objects, logged: LogTables, declared: &Declared) -> Sorted<'a> {
        let beside = texts_beside(objects.paths());
        let mut sorted = Sorted {
            logged,
            ..Sorted::default()
        };
        let code = CodeFolders::of(objects.paths());
        for (at, object) in (0..).zip(objects.iter()) {
            match code.has(object.path) {
                true => sorted.ignored.add_other(object.path),
                false => sorted.take((at, object), &beside, declared),
            }
        }
        sorted.part_uncertain();
        sorted.part_copies();
        sorted.find_alike(objects.len(), declared);
        sorted
    }

    /// The groups of loose files; `json_beside` takes those of them that may be about others.
    fn loose_groups(
        &mut self,
        loose: &BTreeMap<&'a str, Entries<'a>>,
        names: &Names<'_, '_>,
        objects: &'a Objects,
        json_beside: &mut Vec<&'a str>,
    ) -> Vec<Draft> {
        let mut groups = Vec::new();
        let series = std::mem::take(&mut self.series);
        let mut of_series: Vec<Vec<FileDraft>> = vec![Vec::new(); series.len()];
        let places = series.iter().enumerate();
        let places = places.flat_map(|(at, it)| it.members.iter().map(move |file| (*file, at)));
        let places: HashMap<u32, usize> = places.collect();
        for (directory, files) in loose {
            let beside = describing::of(files);
            let own = names.within(directory);
            let files = files.iter().enumerate().map(|(at, file)| {
                let is_json_beside = beside.contains(file.path);
                if is_json_beside {
                    json_beside.push(file.path);
                }
                let is_beside = is_json_beside || self.texts.contains(file.path);
                FileDraft::new(file, own.file(at, file), is_beside)
            });
            let mut alone: Vec<Option<FileDraft>> = files.map(Some).collect();
            for alike in self.alike.remove(directory).unwrap_or_default() {
                let files = alike.members.iter();
                let files = files.filter_map(|at| alone.get_mut(*at)?.take()).collect();
                let name = names.alike(directory, &alike);
                let path = alike.pattern.map_or((*directory).to_owned(), |it| it.path);
                groups.push(Draft::new(GroupKind::Family, &path, name, files));
            }
            for file in alone.into_iter().flatten() {
                match places.get(&file.at) {
                    Some(at) => of_series[*at].push(file),
                    None => {
                        let is_lone = true;
                        let file = FileDraft { is_lone, ..file };
                        groups.push(Draft::of_file(file, file.path(objects)));
                    }
                }
            }
        }
        for (series, mut files) in series.iter().zip(of_series) {
            // Objects are in the order of their paths.
            files.sort_by_key(|file| file.at);
            let name = names.series(series);
            groups.push(Draft::new(GroupKind::Family, &series.path, name, files));
        }
        groups
    }

    /// Finds out which of the loose files may be one table.
    fn find_alike(&mut self, objects: usize, declared: &Declared) {
        let is_free = |path: &str| declared.says(path).is_none();
        // A book that people call a table of its own is none of several.
        let may_be_dated =
            |path: &str| is_free(path) && declared.says(member::outside(path)) != Some(Says::Alone);
        let found = dated::among(&self.loose, may_be_dated);
        let is_member = found.is_member(objects);
        for (directory, files) in &self.loose {
            let has_table = self.directories.contains_key(directory);
            let is_free = |file: &Entry<'_>| is_free(file.path) && !is_member(file.at);
            let alike = alike::among(files, has_table, is_free);
            if !alike.is_empty() {
                self.alike.insert(directory, alike);
            }
        }
        let is_alike = |folder: &str| {
            let alike = self.alike.get(folder).into_iter().flatten();
            alike.into_iter().any(|it| it.pattern.is_none())
        };
        self.series = found.named(|folder| {
            self.directories.contains_key(folder)
                || self.logged.folders().any(|it| it == folder)
                || is_alike(folder)
        });
    }

    /// Of a directory that is one table, plain texts take part only if all its files are such.
    fn part_uncertain(&mut self) {
        for files in self.directories.values_mut() {
            if files.iter().all(|it| it.format.is_uncertain()) {
                continue;
            }
            for file in files.extract_if(.., |it| it.format.is_uncertain()) {
                if member::split(file.path).is_some() {
                    // An archive is known by all its members.
                    self.strays.push(file);
                } else if may_be_beside(file.path) {
                    self.sidecars.push(file.path);
                } else {
                    self.ignored.add_other(file.path);
                }
            }
        }
        self.sidecars.sort_unstable();
    }

    /// Of a directory that is one table, a file that is there without compression, too, is a copy
    /// and stands for itself.
    fn part_copies(&mut self) {
        for files in self.directories.values_mut() {
            let is_packed = |it: &Entry<'_>| without_compression(it.path) != it.path;
            if !files.iter().any(is_packed) {
                continue;
            }
            let paths: HashSet<&str> = files.iter().map(|it| it.path).collect();
            let is_copy =
                |it: &Entry<'_>| is_packed(it) && paths.contains(without_compression(it.path));
            for file in files.extract_if(.., |it| is_copy(it)) {
                self.loose.entry(file.directory()).or_default().push(file);
            }
        }
        // Objects are in the order of their paths.
        let loose = self.loose.values_mut();
        loose.for_each(|files| files.sort_unstable_by_key(|it| it.at));
    }

    fn take(
        &mut self,
        (at, object): (u32, ObjectRef<'a>),
        beside: &HashSet<&str>,
        declared: &Declared,
    ) {
        let path = object.path;
        let format = Format::of_path(path).filter(|_| !of_use::is_common(path));
        let entry = |format| Entry::new(path, at, format);
        let is_logged = self.logged.has(path);
        let kind = SharedKind::of_path(path);
        if is_logged && (format.is_some() || is_hidden(path)) {
            // The log says which of them are the table's.
        } else if member::is_remark(path) {
            self.strays.push(entry(Format::Archive));
        } else if is_ignore_file(path) || is_declared_file(path) {
            // They are heeded, and count as nothing that is left out.
        } else if is_hidden(path) {
            self.ignored.hidden += 1;
        } else if let Some(kind) = kind.filter(|kind| !kind.may_hold_rows()) {
            self.shared.push((kind, object.record()));
        } else if let Some(format) = format {
            self.parts.see(path);
            // Its content decides whether it holds rows, or says something of tables.
            if let Some(kind) = kind {
                self.shared.push((kind, object.record()));
            }
            self.take_data(entry(format), beside, declared);
        } else if sidecar_stem(path).is_some() {
            self.sidecars.push(path);
        } else if let Some((part, stem)) = limn_formats::parts::of_path(path) {
            self.parts.take(object.record(), part, stem);
        } else {
            self.ignored.add_other(path);
        }
    }

    /// Takes an object that holds rows, as its path says.
    fn take_data(&mut self, file: Entry<'a>, beside: &HashSet<&str>, declared: &Declared) {
        let path = file.path;
        if has_control(path) {
            let cause = "its name has control characters, so no table can be called after it";
            let shown = path.escape_debug().to_string();
            let error = FileError::new(shown, FileErrorKind::Unsupported, cause);
            self.refused.push(error.with_remedy("rename it"));
        } else if let Some(directory) = place::table_directory(path) {
            self.directories.entry(directory).or_default().push(file);
        } else if let Some(Says::Of { folder, table }) = declared.says(path) {
            self.declared
                .entry((folder.to_owned(), table.to_owned()))
                .or_default()
                .push(file);
        } else {
            if beside.contains(path) && !declared.cuts(path) {
                self.texts.insert(path);
                self.sidecars.push(path);
            }
            self.loose.entry(file.directory()).or_default().push(file);
        }
    }
}

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
