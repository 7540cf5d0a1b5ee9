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

use limn_formats::{FileError, FileErrorKind, Format, ObjectRecord, member, without_compression};

use crate::contexts::{Contexts, SharedKind};
use crate::declared::{Declared, Says, is_declared_file};
use crate::filter::is_ignore_file;
use crate::hidden::is_hidden;
use crate::place;
use crate::table_name::TableName;

mod alike;
mod beside;
mod code;
mod context_source;
mod dated;
mod describing;
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
pub use group::{Group, GroupKey, GroupKind};
use logged::LogTables;
pub(crate) use logged::NamedFiles;
pub use logged::{LogFile, LogTable};
use names::{Addressees, Names};
pub use of_use::{
    Ignored, Others, described_below, describes_beside, is_container, is_data, is_read,
};
use parts::Parts;
pub use table_file::{TableFile, content_fingerprint};

/// A lake's objects, arranged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Groups by path: every data file is in exactly one.
    pub groups: Vec<Group>,
    /// Objects that are neither data nor a context.
    pub ignored: Ignored,
    /// Sidecars (by path) and registered contexts (by table) that name no table.
    pub orphans: Vec<String>,
    /// Data files whose names no table can have, with the reason.
    pub refused: Vec<FileError>,
}

/// Arranges a lake's objects into groups. `registered` are the contexts registered by hand,
/// `root_name` is what a table of the lake's root is called (the last segment of the lake's URL).
///
/// A pure function of the set of objects: their order does not matter, and an object changes only
/// the groups of its own table, its own directory, and those that would share its name.
pub fn layout(objects: Vec<ObjectRecord>, registered: &Contexts, root_name: &str) -> Layout {
    layout_declared(
        objects,
        Vec::new(),
        registered,
        &Declared::default(),
        root_name,
    )
}

/// As [`layout()`], where people say of some files what they make.
pub fn layout_declared(
    objects: Vec<ObjectRecord>,
    logged: Vec<LogTable>,
    registered: &Contexts,
    declared: &Declared,
    root_name: &str,
) -> Layout {
    let mut sorted = Sorted::of(objects, LogTables::of(logged), declared);
    let names = Names::of(&sorted, root_name);
    let parts = std::mem::take(&mut sorted.parts);
    parts.count_strays(&mut sorted.ignored);
    let said = (declared, &parts);
    let mut groups = Vec::new();
    for (directory, files) in std::mem::take(&mut sorted.directories) {
        let name = names.directory(&directory);
        let files = files.into_iter().map(|(object, format)| {
            let name = TableName::of_path(&object.path);
            data_file(object, format, name, false, said)
        });
        groups.push(Group::of_directory(&directory, name, files.collect()));
    }
    for table in std::mem::take(&mut sorted.logged) {
        let name = names.directory(&table.folder);
        groups.push(Group::logged(table, name));
    }
    for ((directory, table), files) in std::mem::take(&mut sorted.declared) {
        let files = files.into_iter().map(|(object, format)| {
            let name = TableName::of_path(&object.path);
            data_file(object, format, name, false, said)
        });
        let name = names.declared(&directory, &table);
        groups.push(Group::declared(&directory, &table, name, files.collect()));
    }
    let mut json_beside = Vec::new();
    groups.extend(sorted.loose_groups(&names, said, &mut json_beside));
    groups.sort_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
    let mut layout = Layout {
        groups,
        ignored: sorted.ignored,
        orphans: Vec::new(),
        refused: sorted.refused,
    };
    let addressees = Addressees::of(&layout.groups);
    let (shared, beside) = addressees.of_shared(sorted.shared);
    sorted.sidecars.extend(beside);
    sorted.sidecars.sort_unstable();
    let sidecars = (sorted.sidecars, &sorted.texts);
    addressees.deliver(registered, sidecars, json_beside, &mut layout);
    shared::deliver(shared, &mut layout);
    layout.groups.iter_mut().for_each(Group::tell_declared);
    // Nobody says anything of what is no table.
    if !sorted.strays.is_empty() {
        let strays = sorted.strays.into_iter().map(|(object, format)| {
            let name = TableName::of_path(&object.path);
            let is_text = format.is_uncertain();
            Group::of_file(data_file(object, format, name, is_text, said))
        });
        layout.groups.extend(strays);
        layout
            .groups
            .sort_by(|a, b| (&a.path, a.kind).cmp(&(&b.path, b.kind)));
    }
    layout
}

fn data_file(
    object: ObjectRecord,
    format: Format,
    table_name: TableName,
    is_beside: bool,
    (declared, parts): (&Declared, &Parts),
) -> TableFile {
    TableFile {
        declared: parts.declare(&object.path, declared.entry(&object.path)),
        object,
        format,
        table_name,
        is_beside,
        is_alone: false,
    }
}

type Objects = Vec<(ObjectRecord, Format)>;

/// Objects by what their paths say.
#[derive(Default)]
struct Sorted {
    directories: BTreeMap<String, Objects>,
    logged: LogTables,
    // Those that people say to be one table, by their own directory and its name.
    declared: BTreeMap<(String, String), Objects>,
    // Other data files, by their own directory.
    loose: BTreeMap<String, Objects>,
    // Which of `loose` may be one table, in one directory and in places of several dates.
    alike: BTreeMap<String, Vec<Alike>>,
    series: Vec<Series>,
    // Of containers: what is to be reported or remembered, and is no table: remarks, and texts
    // among the files of a table.
    strays: Objects,
    // What is read with tables, or passed over beside them.
    parts: Parts,
    sidecars: Vec<ObjectRecord>,
    // Which of `loose` are sidecars, too: plain texts.
    texts: HashSet<String>,
    shared: Vec<(SharedKind, ObjectRecord)>,
    ignored: Ignored,
    refused: Vec<FileError>,
}

impl Sorted {
    fn of(mut objects: Vec<ObjectRecord>, logged: LogTables, declared: &Declared) -> Sorted {
        objects.sort_unstable();
        objects.dedup_by(|a, b| a.path == b.path);
        let beside = texts_beside(objects.iter().map(|object| object.path.as_str()));
        let mut sorted = Sorted {
            logged,
            ..Sorted::default()
        };
        let manifests = objects.iter().map(|object| object.path.as_str());
        let code = CodeFolders::of(manifests);
        for object in objects {
            match code.has(&object.path) {
                true => sorted.ignored.add_other(&object.path),
                false => sorted.take(object, &beside, declared),
            }
        }
        sorted.part_uncertain();
        sorted.part_copies();
        sorted.find_alike(declared);
        sorted
    }

    /// The groups of loose files; `json_beside` takes those of them that may be about others.
    fn loose_groups(
        &mut self,
        names: &Names,
        said: (&Declared, &Parts),
        json_beside: &mut Vec<ObjectRecord>,
    ) -> Vec<Group> {
        let mut groups = Vec::new();
        let series = std::mem::take(&mut self.series);
        let mut of_series: Vec<Vec<TableFile>> = vec![Vec::new(); series.len()];
        let places = series.iter().enumerate();
        let places = places.flat_map(|(at, it)| it.members.iter().map(move |path| (path, at)));
        let places: HashMap<&String, usize> = places.collect();
        for (directory, files) in std::mem::take(&mut self.loose) {
            let beside = describing::of(&files);
            let files = files.into_iter().map(|(object, format)| {
                let name = names.file(&object.path, format);
                let is_json_beside = beside.contains(&object.path);
                if is_json_beside {
                    json_beside.push(object.clone());
                }
                let is_beside = is_json_beside || self.texts.contains(&object.path);
                data_file(object, format, name, is_beside, said)
            });
            let mut alone: Vec<Option<TableFile>> = files.map(Some).collect();
            for alike in self.alike.remove(&directory).unwrap_or_default() {
                let files = alike.members.iter();
                let files = files.filter_map(|at| alone.get_mut(*at)?.take()).collect();
                let name = names.alike(&directory, &alike);
                let path = alike.pattern.map_or(directory.clone(), |it| it.path);
                groups.push(Group::family(path, name, files));
            }
            for file in alone.into_iter().flatten() {
                match places.get(&file.object.path) {
                    Some(at) => of_series[*at].push(file),
                    None => groups.push(Group::of_file(file.alone())),
                }
            }
        }
        for (series, mut files) in series.iter().zip(of_series) {
            files.sort_by(|a, b| a.object.path.cmp(&b.object.path));
            let name = names.series(series);
            groups.push(Group::family(series.path.clone(), name, files));
        }
        groups
    }

    /// Finds out which of the loose files may be one table.
    fn find_alike(&mut self, declared: &Declared) {
        let is_free = |path: &str| declared.says(path).is_none();
        // A book that people call a table of its own is none of several.
        let may_be_dated =
            |path: &str| is_free(path) && declared.says(member::outside(path)) != Some(Says::Alone);
        let found = dated::among(&self.loose, may_be_dated);
        let members = found.members();
        for (directory, files) in &self.loose {
            let has_table = self.directories.contains_key(directory);
            let is_free = |path: &str| is_free(path) && !members.contains(path);
            let alike = alike::among(files, has_table, is_free);
            if !alike.is_empty() {
                self.alike.insert(directory.clone(), alike);
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
            if files.iter().all(|(_, format)| format.is_uncertain()) {
                continue;
            }
            for (object, format) in files.extract_if(.., |(_, format)| format.is_uncertain()) {
                if member::split(&object.path).is_some() {
                    // An archive is known by all its members.
                    self.strays.push((object, format));
                } else if may_be_beside(&object.path) {
                    self.sidecars.push(object);
                } else {
                    self.ignored.add_other(&object.path);
                }
            }
        }
        self.sidecars.sort_unstable();
    }

    /// Of a directory that is one table, a file that is there without compression, too, is a copy
    /// and stands for itself.
    fn part_copies(&mut self) {
        for files in self.directories.values_mut() {
            let paths = files.iter().map(|(object, _)| object.path.clone());
            let paths: HashSet<String> = paths.collect();
            let is_copy = |path: &str| {
                let whole = without_compression(path);
                whole != path && paths.contains(whole)
            };
            for (object, format) in files.extract_if(.., |(object, _)| is_copy(&object.path)) {
                let (directory, _) = place::split_path(&object.path);
                let loose = self.loose.entry(directory.to_owned()).or_default();
                loose.push((object, format));
            }
        }
        self.loose
            .values_mut()
            .for_each(|files| files.sort_unstable());
    }

    fn take(&mut self, object: ObjectRecord, beside: &HashSet<String>, declared: &Declared) {
        let format = Format::of_path(&object.path).filter(|_| !of_use::is_common(&object.path));
        let is_logged = self.logged.has(&object.path);
        let kind = SharedKind::of_path(&object.path);
        if is_logged && (format.is_some() || is_hidden(&object.path)) {
            // The log says which of them are the table's.
        } else if member::is_remark(&object.path) {
            self.strays.push((object, Format::Archive));
        } else if is_ignore_file(&object.path) || is_declared_file(&object.path) {
            // They are heeded, and count as nothing that is left out.
        } else if is_hidden(&object.path) {
            self.ignored.hidden += 1;
        } else if let Some(kind) = kind.filter(|kind| !kind.may_hold_rows()) {
            self.shared.push((kind, object));
        } else if let Some(format) = format {
            self.parts.see(&object.path);
            // Its content decides whether it holds rows, or says something of tables.
            if let Some(kind) = kind {
                self.shared.push((kind, object.clone()));
            }
            if object.path.chars().any(char::is_control) {
                let cause = "its name has control characters, so no table can be called after it";
                let error = FileError::new(
                    object.path.escape_debug().to_string(),
                    FileErrorKind::Unsupported,
                    cause,
                );
                self.refused.push(error.with_remedy("rename it"));
            } else if let Some(directory) = place::table_directory(&object.path) {
                self.directories
                    .entry(directory.to_owned())
                    .or_default()
                    .push((object, format));
            } else if let Some(Says::Of { folder, table }) = declared.says(&object.path) {
                self.declared
                    .entry((folder.to_owned(), table.to_owned()))
                    .or_default()
                    .push((object, format));
            } else {
                if beside.contains(&object.path) && !declared.cuts(&object.path) {
                    self.texts.insert(object.path.clone());
                    self.sidecars.push(object.clone());
                }
                let (directory, _) = place::split_path(&object.path);
                self.loose
                    .entry(directory.to_owned())
                    .or_default()
                    .push((object, format));
            }
        } else if sidecar_stem(&object.path).is_some() {
            self.sidecars.push(object);
        } else if let Some((part, stem)) = limn_formats::parts::of_path(&object.path.clone()) {
            self.parts.take(object, part, stem);
        } else {
            self.ignored.add_other(&object.path);
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
