//! What tables are called: names that no two tables share, and which table a context's name means.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::{Bound, Range};

use limn_formats::{Format, ObjectRecord, Objects};

use super::alike::{self, Alike, Pattern};
use super::dated::Series;
use super::in_parallel::in_ranges;
use super::{
    ContextSource, ContextText, Draft, Entries, Entry, FileDraft, GroupKind, Layout, Naming,
    Sorted, describing, sidecar_stem,
};
use crate::contexts::{Contexts, SharedKind};
use crate::place;
use crate::table_name::TableName;

/// Names that no two tables of a lake share.
pub(super) struct Names<'s, 'a> {
    loose: &'s BTreeMap<&'a str, Entries<'a>>,
    directories: BTreeSet<Cow<'a, str>>,
    // Paths of tables that people declare.
    declared: BTreeSet<String>,
    root: String,
}

impl<'s, 'a> Names<'s, 'a> {
    pub(super) fn of(
        sorted: &Sorted<'a>,
        loose: &'s BTreeMap<&'a str, Entries<'a>>,
        root_name: &str,
    ) -> Names<'s, 'a> {
        let of_alike = sorted.alike.iter().filter(|(_, alike)| {
            let mut alike = alike.iter();
            alike.any(|it| it.pattern.is_none())
        });
        let of_alike = of_alike.map(|(directory, _)| *directory);
        let directories = sorted.directories.keys().copied().chain(of_alike);
        let of_series = sorted.series.iter().filter(|it| it.is_directory());
        let others = of_series.map(|it| &it.home).chain(sorted.logged.folders());
        let others = others.map(|it| -> Cow<'a, str> { Cow::Owned(it.clone()) });
        let directories = directories.map(Cow::Borrowed).chain(others);
        let directories: BTreeSet<Cow<'a, str>> = directories
            .filter(|directory| !directory.is_empty())
            .collect();
        let root: String = root_name
            .trim_matches('/')
            .chars()
            .filter(|c| !c.is_control())
            .collect();
        let root = if root.is_empty() {
            "lake".to_owned()
        } else {
            root
        };
        let declared = sorted.declared.keys();
        let declared: BTreeSet<String> = declared
            .map(|(directory, table)| place::join(directory, table))
            .collect();
        let mut names = Names {
            loose,
            directories,
            declared,
            root: String::new(),
        };
        let taken = names.declared.contains(&root)
            || names.is_stem(&root)
            || names.is_loose(&root)
            || names.directories.contains(root.as_str());
        // No path has a component ".", so no other table is called that.
        names.root = if taken { format!("./{root}") } else { root };
        names
    }

    fn loose_in(&self, directory: &str) -> &'s [Entry<'a>] {
        let files = self.loose.get(directory);
        files.map_or(&[][..], Vec::as_slice)
    }

    /// Loose files whose paths begin so, in the directory that this is a path in.
    fn beginning(&self, path: &str) -> impl Iterator<Item = &'s Entry<'a>> {
        let files = self.loose_in(place::split_path(path).0);
        let (_, files) = files.split_at(files.partition_point(|it| it.path < path));
        files.iter().take_while(move |it| it.path.starts_with(path))
    }

    /// Whether a loose file has this path.
    fn is_loose(&self, path: &str) -> bool {
        let first = self.beginning(path).next();
        first.is_some_and(|it| it.path == path && takes_its_path(it))
    }

    /// Whether a loose file has this path without its extension.
    fn is_stem(&self, path: &str) -> bool {
        let mut files = self.beginning(path);
        files.any(|it| it.stem() == path)
    }

    /// The names of one directory's loose files.
    pub(super) fn within<'n>(&'n self, directory: &'a str) -> Within<'n, 's, 'a> {
        let files = self.loose_in(directory);
        let mut stems: HashMap<&str, (usize, usize)> = HashMap::new();
        // Where they are in order, none is that of two files.
        if !files.is_sorted_by(|a, b| a.stem() < b.stem()) {
            for file in files {
                let of_stem = stems.entry(file.stem()).or_default();
                match file.format.is_uncertain() {
                    false => of_stem.0 += 1,
                    true => of_stem.1 += 1,
                }
            }
        }
        Within {
            names: self,
            directory,
            files,
            stems,
            has_tables: self.has_tables_below(directory),
        }
    }

    /// Whether a directory, or a table that people declare, is called like something in this
    /// directory.
    fn has_tables_below(&self, directory: &str) -> bool {
        if !self.declared.is_empty() || directory.is_empty() {
            return true;
        }
        let from = format!("{directory}/");
        let from = from.as_str();
        let below: (Bound<&str>, Bound<&str>) = (Bound::Included(from), Bound::Unbounded);
        let mut below = self.directories.range::<str, _>(below);
        below.next().is_some_and(|it| it.starts_with(from))
    }

    /// As people call it, unless a directory or an object is called that.
    pub(super) fn declared(&self, directory: &str, table: &str) -> TableName {
        let path = place::join(directory, table);
        let is_taken = self.is_loose(&path) || self.directories.contains(path.as_str());
        let path = match is_taken {
            true => format!("./{path}"),
            false => path,
        };
        // A table of the lake's root may be called so for the same reason.
        TableName::of_path(&match path == self.root {
            true => format!("./{path}"),
            false => path,
        })
    }

    /// Of files that are named alike: their directory's, or what their names share.
    pub(super) fn alike(&self, directory: &str, alike: &Alike) -> TableName {
        match &alike.pattern {
            Some(Pattern { path }) => self.pattern(path),
            None => self.directory(directory),
        }
    }

    /// Of files in places of several dates: their home's, or what their paths share.
    pub(super) fn series(&self, series: &Series) -> TableName {
        match series.is_directory() {
            true => self.directory(&series.home),
            false => self.pattern(&series.path),
        }
    }

    fn pattern(&self, path: &str) -> TableName {
        // Objects may have stars in their names.
        let is_taken = self.is_stem(path) || self.is_loose(path) || self.directories.contains(path);
        TableName::of_path(&match is_taken {
            true => format!("./{path}"),
            false => path.to_owned(),
        })
    }

    /// The directory; object stores can hold a file of the same path beside it, then with a slash.
    pub(super) fn directory(&self, directory: &str) -> TableName {
        if directory.is_empty() {
            TableName::of_path(&self.root)
        } else if self.is_loose(directory) {
            TableName::of_path(&format!("{directory}/"))
        } else {
            TableName::of_path(directory)
        }
    }
}

/// What the loose files of a directory are called.
pub(super) struct Within<'n, 's, 'a> {
    names: &'n Names<'s, 'a>,
    directory: &'a str,
    files: &'s [Entry<'a>],
    // How many have this path without extension: surely data, and plain texts. Empty where all
    // paths without extension differ.
    stems: HashMap<&'a str, (usize, usize)>,
    has_tables: bool,
}

impl Within<'_, '_, '_> {
    /// The stem, unless another file has the same, or a directory or an object is called that. A
    /// plain text, which may be no table, takes no other file's name.
    pub(super) fn file(&self, at: usize, file: &Entry<'_>) -> Naming {
        let stem = file.stem();
        let is_shared = |(data, texts): &(usize, usize)| match file.format.is_uncertain() {
            false => *data > 1,
            true => data + texts > 1,
        };
        let shared = self.stems.get(stem).is_some_and(is_shared) || self.is_taken(at, stem);
        match shared {
            false => Naming::Stem,
            true if takes_its_path(file) => Naming::Path,
            true => Naming::Marked,
        }
    }

    /// Whether a directory, a table that people declare or an object is called like the stem of the
    /// file at a place.
    fn is_taken(&self, at: usize, stem: &str) -> bool {
        // Of a name that ends with a slash the stem lies elsewhere.
        let is_here = stem.len() > self.directory.len();
        if (self.has_tables || !is_here)
            && (self.names.directories.contains(stem) || self.names.declared.contains(stem))
        {
            return true;
        }
        if !is_here {
            return self.names.is_loose(stem);
        }
        // They are in the order of their paths, a stem before what it is the stem of.
        let before = self.files.get(..=at).unwrap_or(self.files);
        let place = before.partition_point(|it| it.path < stem);
        let found = before.get(place);
        found.is_some_and(|it| it.path == stem && takes_its_path(it))
    }
}

/// Whether no other table has a file's path for its name: what has no extension may be no table,
/// and takes no other's name.
fn takes_its_path(file: &Entry<'_>) -> bool {
    !(file.format == Format::Unnamed && file.extension().is_empty())
}

/// Which table (group, name) a context means by a name: of the names that contexts have.
#[derive(Default)]
pub(super) struct Addressees {
    by_name: HashMap<String, (usize, TableName)>,
    by_path: HashMap<String, (usize, TableName)>,
    by_stem: HashMap<String, Vec<(usize, TableName)>>,
    /// Tables that have logs, by their folders.
    by_log: HashMap<String, (usize, TableName)>,
}

impl Addressees {
    /// What registered contexts, texts beside the data (by path) and shared texts may mean.
    pub(super) fn of(
        (groups, objects): (&[Draft], &Objects),
        registered: &Contexts,
        (beside, shared): (&[&str], &[(SharedKind, ObjectRecord)]),
    ) -> Addressees {
        let mut addressees = Addressees::default();
        let asked = registered.keys().map(TableName::as_str);
        let asked = asked.chain(beside.iter().map(|path| place::without_extension(path)));
        let shared = shared.iter().filter_map(|(_, it)| sidecar_stem(&it.path));
        let asked: HashSet<&str> = asked.chain(shared).collect();
        if asked.is_empty() {
            return addressees;
        }
        // Most groups are meant by nothing, which all cores find out.
        let meant = |places: Range<usize>| -> Vec<usize> {
            let is_meant = |g: &usize| is_meant(&groups[*g], objects, &asked);
            places.filter(is_meant).collect()
        };
        in_ranges(groups.len(), meant, |meant| {
            for g in meant {
                addressees.add((g, &groups[g]), objects, &asked);
            }
        });
        addressees
    }

    fn add(&mut self, (g, group): (usize, &Draft), objects: &Objects, asked: &HashSet<&str>) {
        let table = (g, group.name.clone());
        if asked.contains(group.name.as_str()) {
            self.by_name.insert(group.name.to_string(), table.clone());
        }
        if group.kind == GroupKind::Logged {
            self.by_log.insert(group.path.to_string(), table.clone());
        }
        if let Some(stem) = stem_of(group, objects).filter(|it| asked.contains(&**it)) {
            let tables = self.by_stem.entry(stem.into_owned()).or_default();
            tables.push(table);
        }
        if !matches!(group.kind, GroupKind::File | GroupKind::Family) {
            return;
        }
        for file in group.listed() {
            let path = file.path(objects);
            let stem = place::stem(path, file.format);
            let name = || file.table_name(path);
            // Its name is its path, its stem, or its path with a mark.
            let (of_stem, of_path) = (asked.contains(stem), asked.contains(path));
            if file.naming == Naming::Marked || of_stem || of_path {
                let name = name();
                if asked.contains(name.as_str()) {
                    self.by_name.insert(name.to_string(), (g, name));
                }
            }
            if of_path {
                self.by_path.insert(path.to_owned(), (g, name()));
            }
            if of_stem {
                let tables = self.by_stem.entry(stem.to_owned()).or_default();
                tables.push((g, name()));
            }
        }
    }

    /// A registered context means the table of exactly that name; else the file of that path; else
    /// whatever the name without extension fits, as it did before a second file came along; else
    /// the table with a log in whose folder something was called so.
    fn registered(&self, name: &str) -> Vec<(usize, TableName)> {
        if let Some(table) = self.by_name.get(name).or_else(|| self.by_path.get(name)) {
            return vec![table.clone()];
        }
        if let Some(tables) = self.by_stem.get(name) {
            return tables.clone();
        }
        let mut folders = std::iter::successors(Some(name), |path| {
            path.rsplit_once('/').map(|(folder, _)| folder)
        });
        let own = folders.find_map(|folder| self.by_log.get(folder));
        own.cloned().into_iter().collect()
    }

    /// A sidecar `NAME.md` means everything called NAME: files (with or without extension) and a
    /// directory.
    fn beside(&self, stem: &str) -> Vec<(usize, TableName)> {
        let mut tables = self.by_stem.get(stem).cloned().unwrap_or_default();
        tables.extend(self.by_path.get(stem).cloned());
        tables
    }

    /// Texts that their names say to be about several tables, apart from those beside a table
    /// called like them: these are its sidecars.
    pub(super) fn of_shared(
        &self,
        shared: Vec<(SharedKind, ObjectRecord)>,
    ) -> (Vec<(SharedKind, ObjectRecord)>, Vec<ObjectRecord>) {
        let (beside, shared): (Vec<_>, Vec<_>) = shared.into_iter().partition(|(_, object)| {
            sidecar_stem(&object.path).is_some_and(|stem| !self.beside(stem).is_empty())
        });
        let beside = beside.into_iter().map(|(_, object)| object);
        (shared, beside.collect())
    }

    /// Gives the groups of a layout their contexts. `texts` are the sidecars that are data files,
    /// too.
    pub(super) fn deliver(
        &self,
        registered: &Contexts,
        (sidecars, texts): (Vec<&str>, &HashSet<&str>),
        json: Vec<&str>,
        objects: &Objects,
        layout: &mut Layout,
    ) {
        let send = |layout: &mut Layout,
                    tables: Vec<(usize, TableName)>,
                    source: ContextText,
                    label: &str| {
            if tables.is_empty() {
                layout.orphans.push(label.to_owned());
            }
            for (g, table) in tables {
                layout.groups[g].contexts.push(ContextSource {
                    table,
                    source: source.clone(),
                });
            }
        };
        for (name, texts) in registered {
            for text in texts {
                send(
                    layout,
                    self.registered(name.as_str()),
                    ContextText::Registered {
                        name: name.clone(),
                        text: text.clone(),
                    },
                    name.as_str(),
                );
            }
        }
        let sidecar = |path: &str| {
            let object = objects.get(objects.find(path)?)?.record();
            Some(ContextText::Sidecar { object })
        };
        for path in sidecars {
            let mut tables = self.beside(place::without_extension(path));
            if texts.contains(path) {
                tables.retain(|(g, _)| {
                    describing::may_be_described_in_text(&layout.groups[*g], objects)
                });
                // Nothing is called like it but other texts: then it is a table, or nothing.
                if tables.is_empty() {
                    continue;
                }
            }
            // Beside no table, YAML is somebody's settings, and HTML and PDF are pages.
            if tables.is_empty() && !is_prose(path) {
                layout.ignored.add_other(path);
                continue;
            }
            if let Some(sidecar) = sidecar(path) {
                send(layout, tables, sidecar, path);
            }
        }
        // People write beside the data; what programs write there comes after.
        for path in json {
            let mut tables = self.beside(place::without_extension(path));
            tables.retain(|(g, _)| describing::is_described(&layout.groups[*g], objects));
            if let Some(sidecar) = sidecar(path) {
                send(layout, tables, sidecar, path);
            }
        }
        layout.orphans.dedup();
        for group in &mut layout.groups {
            // Stable: within a table, registered contexts stay in their given order.
            group.contexts.sort_by(|a, b| a.table.cmp(&b.table));
        }
    }
}

/// What a group is called by that is a table of several files, or of those of a folder.
fn stem_of<'g>(group: &'g Draft, objects: &'g Objects) -> Option<Cow<'g, str>> {
    let stem = match group.kind {
        GroupKind::File => return None,
        GroupKind::Directory | GroupKind::Declared | GroupKind::Logged => {
            Cow::Borrowed(&*group.path)
        }
        GroupKind::Family => match group.directory(objects) {
            (directory, true) => Cow::Borrowed(directory),
            (..) => Cow::Owned(alike::words(&group.path)?),
        },
    };
    (!stem.is_empty()).then_some(stem)
}

/// Whether a context may mean a group or one of its files, or is to know of it.
fn is_meant(group: &Draft, objects: &Objects, asked: &HashSet<&str>) -> bool {
    let is_asked = |file: &FileDraft| {
        let path = file.path(objects);
        let stem = place::stem(path, file.format);
        file.naming == Naming::Marked || asked.contains(path) || asked.contains(stem)
    };
    asked.contains(group.name.as_str())
        || group.kind == GroupKind::Logged
        || stem_of(group, objects).is_some_and(|it| asked.contains(&*it))
        || matches!(group.kind, GroupKind::File | GroupKind::Family)
            && group.listed().iter().any(is_asked)
}

/// Whether a sidecar is a text, and not a form that other programs use, too.
fn is_prose(path: &str) -> bool {
    [".md", ".txt"].iter().any(|end| place::ends_in(path, end))
}
