//! Who is called what: names that no two tables share, and which table a context's name means.

use std::collections::{BTreeSet, HashMap, HashSet};

use limn_formats::{Format, ObjectRecord};

use super::alike::{self, Alike, Pattern};
use super::dated::Series;
use super::{
    ContextSource, ContextText, Group, GroupKind, Layout, Sorted, describing, sidecar_stem,
};
use crate::contexts::{Contexts, SharedKind};
use crate::place;
use crate::table_name::TableName;

/// Names that no two tables of a lake share.
pub(super) struct Names {
    // How many loose files have this path without extension: surely data, and plain texts.
    stems: HashMap<String, (usize, usize)>,
    loose: HashSet<String>,
    directories: BTreeSet<String>,
    // Paths of tables that people declare.
    declared: BTreeSet<String>,
    root: String,
}

impl Names {
    pub(super) fn of(sorted: &Sorted, root_name: &str) -> Names {
        let mut stems: HashMap<String, (usize, usize)> = HashMap::new();
        let mut loose = HashSet::new();
        for (object, format) in sorted.loose.values().flatten() {
            let stem = place::without_extension(&object.path).to_owned();
            let files = stems.entry(stem).or_default();
            match format.is_uncertain() {
                false => files.0 += 1,
                true => files.1 += 1,
            }
            // What has no extension may be no table, and takes no other's name.
            if !(*format == Format::Unnamed && is_bare(&object.path)) {
                loose.insert(object.path.clone());
            }
        }
        let of_alike = sorted.alike.iter().filter(|(_, alike)| {
            let mut alike = alike.iter();
            alike.any(|it| it.pattern.is_none())
        });
        let of_alike = of_alike.map(|(directory, _)| directory);
        let directories = sorted.directories.keys().chain(of_alike);
        let of_series = sorted.series.iter().filter(|it| it.is_directory());
        let directories = directories.chain(of_series.map(|it| &it.home));
        let directories = directories.chain(sorted.logged.folders());
        let directories: BTreeSet<String> = directories
            .filter(|directory| !directory.is_empty())
            .cloned()
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
        let taken = declared.contains(&root)
            || stems.contains_key(&root)
            || loose.contains(&root)
            || directories.contains(&root);
        // No path has a component ".", so no other table is called that.
        let root = if taken { format!("./{root}") } else { root };
        Names {
            stems,
            loose,
            directories,
            declared,
            root,
        }
    }

    /// The stem, unless another file has the same, or a directory or an object is called that. A
    /// plain text, which may be no table, takes no other file's name.
    pub(super) fn file(&self, path: &str, format: Format) -> TableName {
        let stem = place::without_extension(path);
        let is_shared = |(data, texts): &(usize, usize)| match format.is_uncertain() {
            false => *data > 1,
            true => data + texts > 1,
        };
        let shared = self.stems.get(stem).is_some_and(is_shared)
            || self.directories.contains(stem)
            || self.declared.contains(stem)
            || self.loose.contains(stem);
        match shared {
            false => TableName::of_path(stem),
            // No path has a component ".", so no other table is called that.
            true if format == Format::Unnamed && is_bare(path) => {
                TableName::of_path(&format!("{path}/."))
            }
            true => TableName::of_path(path),
        }
    }

    /// As people call it, unless a directory or an object is called that.
    pub(super) fn declared(&self, directory: &str, table: &str) -> TableName {
        let path = place::join(directory, table);
        let is_taken = self.loose.contains(&path) || self.directories.contains(&path);
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
        let is_taken = self.stems.contains_key(path)
            || self.loose.contains(path)
            || self.directories.contains(path);
        TableName::of_path(&match is_taken {
            true => format!("./{path}"),
            false => path.to_owned(),
        })
    }

    /// The directory; object stores can hold a file of the same path beside it, then with a slash.
    pub(super) fn directory(&self, directory: &str) -> TableName {
        if directory.is_empty() {
            TableName::of_path(&self.root)
        } else if self.loose.contains(directory) {
            TableName::of_path(&format!("{directory}/"))
        } else {
            TableName::of_path(directory)
        }
    }
}

/// Whether a file's name has no extension at all.
fn is_bare(path: &str) -> bool {
    place::without_extension(path).len() == path.len()
}

/// Which table (group, name) a context means by a name.
#[derive(Default)]
pub(super) struct Addressees {
    by_name: HashMap<String, (usize, TableName)>,
    by_path: HashMap<String, (usize, TableName)>,
    by_stem: HashMap<String, Vec<(usize, TableName)>>,
    /// Tables that have logs, by their folders.
    by_log: HashMap<String, (usize, TableName)>,
}

impl Addressees {
    pub(super) fn of(groups: &[Group]) -> Addressees {
        let mut addressees = Addressees::default();
        for (g, group) in groups.iter().enumerate() {
            let table = (g, group.name.clone());
            addressees
                .by_name
                .insert(group.name.to_string(), table.clone());
            if group.kind == GroupKind::Logged {
                addressees.by_log.insert(group.path.clone(), table.clone());
            }
            let stem = match group.kind {
                GroupKind::File => None,
                GroupKind::Directory | GroupKind::Declared | GroupKind::Logged => {
                    Some(group.path.clone())
                }
                GroupKind::Family => match group.directory() {
                    (directory, true) => Some(directory.to_owned()),
                    (..) => alike::words(&group.path),
                },
            };
            if let Some(stem) = stem.filter(|stem| !stem.is_empty()) {
                addressees.by_stem.entry(stem).or_default().push(table);
            }
            if !matches!(group.kind, GroupKind::File | GroupKind::Family) {
                continue;
            }
            for file in &group.files {
                let table = (g, file.table_name.clone());
                let path = &file.object.path;
                addressees
                    .by_name
                    .insert(file.table_name.to_string(), table.clone());
                addressees.by_path.insert(path.clone(), table.clone());
                let stem = place::without_extension(path).to_owned();
                addressees.by_stem.entry(stem).or_default().push(table);
            }
        }
        addressees
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
        (sidecars, texts): (Vec<ObjectRecord>, &HashSet<String>),
        json: Vec<ObjectRecord>,
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
        for object in sidecars {
            let path = object.path.clone();
            let mut tables = self.beside(place::without_extension(&path));
            if texts.contains(&path) {
                tables.retain(|(g, _)| describing::is_told_of_in_text(&layout.groups[*g]));
                // Nothing is called like it but other texts: then it is a table, or nothing.
                if tables.is_empty() {
                    continue;
                }
            }
            // Beside no table, YAML is somebody's settings, and HTML and PDF are pages.
            if tables.is_empty() && !is_prose(&path) {
                layout.ignored.add_other(&path);
                continue;
            }
            send(layout, tables, ContextText::Sidecar { object }, &path);
        }
        // People write beside the data; what programs write there comes after.
        for object in json {
            let path = object.path.clone();
            let mut tables = self.beside(place::without_extension(&path));
            tables.retain(|(g, _)| describing::is_described(&layout.groups[*g]));
            send(layout, tables, ContextText::Sidecar { object }, &path);
        }
        layout.orphans.dedup();
        for group in &mut layout.groups {
            // Stable: within a table, registered contexts stay in their given order.
            group.contexts.sort_by(|a, b| a.table.cmp(&b.table));
        }
    }
}

/// Whether a sidecar is a text, and not a form that other programs use, too.
fn is_prose(path: &str) -> bool {
    [".md", ".txt"]
        .iter()
        .any(|end| path.to_ascii_lowercase().ends_with(end))
}
