//! Which objects make which tables: a pure function of the set of paths.
//!
//! An object's own path decides first: a file below `key=value` components or named
//! `part-00000…` belongs to the table of its directory ([`GroupKind::Directory`]). Of the others, all
//! files of one directory together may be one table if they are named alike
//! ([`GroupKind::Family`]; whether they are shows when their columns are read), else each is its own
//! ([`GroupKind::File`]). Names follow: a file's is its path without extension, a directory's its
//! path, and where two would share a name the files keep their extensions.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::compression::Compression;
use crate::contexts::{About, Contexts, SharedKind};
use crate::error::{FileError, FileErrorKind};
use crate::member::{self, MemberPlace};
use crate::object::{Fingerprint, Format, Hasher, ObjectRecord, TableName};
use crate::place;
use crate::sheets;

mod beside;
mod describing;
mod names;
mod of_use;
mod shared;

use beside::is_uncertain;
pub use beside::{may_be_beside, texts_beside};
pub(crate) use describing::may_describe;
use names::{Addressees, Names};
pub use of_use::{Ignored, is_container, is_data, is_read, reaches_below};

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

/// Identity of a group: a stable hash of its kind and path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GroupKey(pub u128);

/// What a group's files make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    /// One file, one table.
    File,
    /// All data files of one directory, at least two, of one format and named alike but for
    /// numbers, dates and ids: one table if all have the same columns, else a table each. Plain texts, which may be no
    /// data at all, do not count beside others. Of a spreadsheet file those sheets that are named alike but for
    /// years, months, regions and numbers.
    Family,
    /// One table whatever the schemas (their union): Hive partitions or a distributed write's parts.
    Directory,
}

/// Files that are read together because they are, or may be, one table.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Group {
    /// Identity across runs.
    pub key: GroupKey,
    /// The file's path, or the directory's (`""` for the lake's root).
    pub path: String,
    /// What the files make.
    pub kind: GroupKind,
    /// The table's name if the files are one table.
    pub name: TableName,
    /// The files, by path; at least one. One that is a remark of a container ([`crate::member::is_remark`]) is alone.
    pub files: Vec<DataFile>,
    /// Contexts for the group's table or tables, by table; registered ones before sidecars.
    pub contexts: Vec<ContextSource>,
}

/// An object that holds rows.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DataFile {
    /// The object.
    pub object: ObjectRecord,
    /// How to read it.
    pub format: Format,
    /// The table's name if the file is a table of its own (the path, in a
    /// [`GroupKind::Directory`], where it never is).
    pub table_name: TableName,
    /// Whether it lies beside a table and may be about it. JSON of a table's name is a table itself only if it holds rows; plain
    /// text among the files of one table never is.
    pub is_beside: bool,
}

impl DataFile {
    /// Whether its place says that it is no table, whatever it holds.
    pub fn is_stray(&self) -> bool {
        self.is_beside && self.format == Format::Text
    }

    /// Path relative to its table, as far as its own path tells; `""` for a lone file. Rows are
    /// drawn by it, so it changes with nothing else.
    pub fn sample_path(&self) -> &str {
        place::sample_path(&self.object.path)
    }

    /// About how many bytes of it are in memory while it is read within a scan budget.
    pub fn held(&self, scan_budget: u64) -> u64 {
        let most = scan_budget.saturating_mul(2);
        if let Some(place) = MemberPlace::of(&self.object) {
            let size = self.object.size;
            return match place {
                // The container, and what is made of it.
                MemberPlace::Table(_) | MemberPlace::Sheet(_) => {
                    size.saturating_mul(2).saturating_add(most)
                }
                // And what it is unpacked from.
                MemberPlace::Within(..) => size.saturating_mul(4).saturating_add(most),
                MemberPlace::Refused(_) | MemberPlace::LeftOut(..) => 0,
                place if place.is_plain() => size.min(most),
                // Unpacked, and once more as a reader holds it.
                _ => most.saturating_mul(3),
            };
        }
        let held = match Compression::of_path(&self.object.path) {
            // The text may be many times as long.
            Some(_) => most,
            None => self.object.size.min(most),
        };
        // It may be written anew.
        match is_uncertain(self.format) {
            true => held.saturating_mul(2),
            false => held,
        }
    }

    /// What a file's summary depends on besides the reading options: the version, the
    /// `sample_path` (which follows from the path), and whether it has to be more than a description.
    pub fn content_fingerprint(&self) -> Fingerprint {
        content_fingerprint(&self.object, self.is_beside)
    }
}

/// What [`DataFile::content_fingerprint`] is of an object that lies beside a table of its name, or does not.
pub fn content_fingerprint(object: &ObjectRecord, is_beside: bool) -> Fingerprint {
    if !is_beside {
        return object.fingerprint();
    }
    let mut hasher = Hasher::new("object beside a table");
    object.feed(&mut hasher);
    hasher.finish()
}

/// Text about a table, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContextSource {
    /// The table that it is about.
    pub table: TableName,
    /// Where the text is.
    pub source: ContextText,
}

/// Where a context's text is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextText {
    /// Registered by a person (a contexts file, `limn context add`).
    Registered {
        /// The name that it was registered for: the table's, or one that means it now.
        name: TableName,
        /// The text.
        text: String,
    },
    /// In an object beside the data; see [`crate::contexts::read_sidecar`].
    Sidecar {
        /// The object.
        object: ObjectRecord,
    },
    /// In an object that is about several tables; see [`crate::contexts::read_shared`].
    Shared {
        /// The object.
        object: ObjectRecord,
        /// What it is.
        kind: SharedKind,
        /// By what it may speak of the table.
        about: About,
        /// What a reader of an index knows it by there, if another version said the same of the table. Not part of its identity.
        known: Option<Fingerprint>,
    },
}

impl ContextText {
    /// The object that has the text.
    pub fn object(&self) -> Option<&ObjectRecord> {
        match self {
            ContextText::Registered { .. } => None,
            ContextText::Sidecar { object } | ContextText::Shared { object, .. } => Some(object),
        }
    }
}

impl ContextSource {
    /// Identity of the text (or its object's version), the table it is for and the name that it was
    /// registered for.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Hasher::new("context");
        hasher.text(self.table.as_str());
        match &self.source {
            ContextText::Registered { name, text } => {
                hasher.text(text);
                if *name != self.table {
                    hasher.text(name.as_str());
                }
            }
            ContextText::Sidecar { object } => {
                hasher.optional(None);
                object.feed(&mut hasher);
            }
            ContextText::Shared {
                object,
                kind,
                about,
                known: _,
            } => {
                hasher.optional(None);
                hasher.bytes(&[*kind as u8, u8::from(about.whole)]);
                object.feed(&mut hasher);
                for paths in [&about.paths, &about.folders, &about.others] {
                    hasher.bytes(&(paths.len() as u64).to_le_bytes());
                    paths.iter().for_each(|path| hasher.text(path));
                }
            }
        }
        hasher.finish()
    }
}

impl GroupKey {
    fn new(kind: GroupKind, path: &str) -> Self {
        let mut hasher = Hasher::new(match kind {
            GroupKind::File => "file",
            GroupKind::Family => "family",
            GroupKind::Directory => "directory",
        });
        hasher.text(path);
        GroupKey(hasher.finish().0)
    }
}

impl Group {
    /// One fingerprint per member: files first, then contexts, in their order. A file's covers its
    /// path, its version and its role (what the table, or the file alone, would be called);
    /// a context's its table and its text or version. Two groups of one key are equal exactly if
    /// these are.
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        let files = self.files.iter().map(|file| {
            let mut hasher = Hasher::new("member");
            hasher.bytes(&self.key.0.to_le_bytes());
            hasher.text(self.name.as_str());
            hasher.text(file.table_name.as_str());
            file.object.feed(&mut hasher);
            if file.is_beside {
                hasher.text("beside");
            }
            hasher.finish()
        });
        files
            .chain(self.contexts.iter().map(ContextSource::fingerprint))
            .collect()
    }

    /// Contexts that name no table once a family is a table a file ([`Group::split`]): those that
    /// name its directory.
    pub fn unclaimed_contexts(&self) -> impl Iterator<Item = &ContextSource> {
        let own = self.contexts.iter();
        let own = own.filter(|context| !matches!(context.source, ContextText::Shared { .. }));
        own.filter(|context| {
            self.files
                .iter()
                .all(|file| file.table_name != context.table)
        })
    }

    /// A family whose files turned out unlike, as a [`GroupKind::File`] group per file. Contexts go
    /// to the file they name, shared texts to each; the [`Group::unclaimed_contexts`] are dropped. Other groups stay whole.
    #[must_use]
    pub fn split(self) -> Vec<Group> {
        if self.kind != GroupKind::Family {
            return vec![self];
        }
        let mut contexts: HashMap<TableName, Vec<ContextSource>> = HashMap::new();
        let is_small = self.files.len() <= shared::MOST_TABLES;
        let paths: Vec<String> = self.files.iter().map(|it| it.object.path.clone()).collect();
        let (common, own): (Vec<_>, Vec<_>) = self
            .contexts
            .into_iter()
            .partition(|context| matches!(context.source, ContextText::Shared { .. }));
        for context in own {
            contexts
                .entry(context.table.clone())
                .or_default()
                .push(context);
        }
        let alone = |file: DataFile| {
            let mut contexts = contexts.remove(&file.table_name).unwrap_or_default();
            let mut group = Group::of_file(file);
            let common = common
                .iter()
                .map(|it| shared::handed_on(it, &group, &paths, is_small));
            contexts.extend(common);
            group.contexts = contexts;
            group
        };
        self.files.into_iter().map(alone).collect()
    }

    fn of_file(file: DataFile) -> Group {
        Group {
            key: GroupKey::new(GroupKind::File, &file.object.path),
            path: file.object.path.clone(),
            kind: GroupKind::File,
            name: file.table_name.clone(),
            files: vec![file],
            contexts: Vec::new(),
        }
    }

    fn of_directory(
        kind: GroupKind,
        directory: &str,
        name: TableName,
        files: Vec<DataFile>,
    ) -> Group {
        let key = GroupKey::new(kind, directory);
        Group {
            key,
            path: directory.to_owned(),
            kind,
            name,
            files,
            contexts: Vec::new(),
        }
    }
}

/// Arranges a lake's objects into groups. `registered` are the contexts registered by hand,
/// `root_name` is what a table of the lake's root is called (the last segment of the lake's URL).
///
/// A pure function of the set of objects: their order does not matter, and an object changes only
/// the groups of its own table, its own directory, and those that would share its name.
pub fn layout(objects: Vec<ObjectRecord>, registered: &Contexts, root_name: &str) -> Layout {
    let mut sorted = Sorted::of(objects);
    let names = Names::of(&sorted, root_name);
    let mut groups = Vec::new();
    for (directory, files) in std::mem::take(&mut sorted.directories) {
        let name = names.directory(&directory);
        let files = files.into_iter().map(|(object, format)| {
            let name = TableName::of_path(&object.path);
            data_file(object, format, name, false)
        });
        groups.push(Group::of_directory(
            GroupKind::Directory,
            &directory,
            name,
            files.collect(),
        ));
    }
    let mut json_beside = Vec::new();
    for (directory, files) in std::mem::take(&mut sorted.loose) {
        let beside = describing::of(&files);
        let files = files.into_iter().map(|(object, format)| {
            let name = names.file(&object.path, format);
            let is_beside = beside.contains(&object.path);
            if is_beside {
                json_beside.push(object.clone());
            }
            data_file(object, format, name, is_beside)
        });
        if sorted.families.contains(&directory) {
            let name = names.directory(&directory);
            let files: Vec<DataFile> = files.collect();
            let paths = files.iter().map(|file| file.object.path.as_str());
            let sheets = sheets::common_form(paths);
            let (mut family, mut others): (Vec<_>, Vec<_>) =
                files.into_iter().partition(|file| match &sheets {
                    Some(common) => sheets::form(&file.object.path).as_ref() == Some(common),
                    None => !is_uncertain(file.format),
                });
            if family.is_empty() {
                std::mem::swap(&mut family, &mut others);
            }
            groups.push(Group::of_directory(
                GroupKind::Family,
                &directory,
                name,
                family,
            ));
            groups.extend(others.into_iter().map(Group::of_file));
        } else {
            groups.extend(files.map(Group::of_file));
        }
    }
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
    addressees.deliver(registered, sorted.sidecars, json_beside, &mut layout);
    shared::deliver(shared, &mut layout);
    // Nobody says anything of what is no table.
    if !sorted.strays.is_empty() {
        let strays = sorted.strays.into_iter().map(|(object, format)| {
            let name = TableName::of_path(&object.path);
            let is_text = is_uncertain(format);
            Group::of_file(data_file(object, format, name, is_text))
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
) -> DataFile {
    DataFile {
        object,
        format,
        table_name,
        is_beside,
    }
}

type Objects = Vec<(ObjectRecord, Format)>;

/// Objects by what their paths say.
#[derive(Default)]
struct Sorted {
    directories: BTreeMap<String, Objects>,
    // Other data files, by their own directory.
    loose: BTreeMap<String, Objects>,
    // Those of `loose` whose files may be one table.
    families: BTreeSet<String>,
    // Of containers: what is to be told or remembered, and is no table: remarks, and texts among the files of a table.
    strays: Objects,
    sidecars: Vec<ObjectRecord>,
    shared: Vec<(SharedKind, ObjectRecord)>,
    ignored: Ignored,
    refused: Vec<FileError>,
}

impl Sorted {
    fn of(mut objects: Vec<ObjectRecord>) -> Sorted {
        objects.sort_unstable();
        objects.dedup_by(|a, b| a.path == b.path);
        let beside = texts_beside(objects.iter().map(|object| object.path.as_str()));
        let mut sorted = Sorted::default();
        for object in objects {
            sorted.take(object, &beside);
        }
        sorted.part_uncertain();
        let families = sorted.loose.iter().filter(|(directory, files)| {
            !sorted.directories.contains_key(*directory) && are_alike(files)
        });
        sorted.families = families.map(|(directory, _)| directory.clone()).collect();
        sorted
    }

    /// Of a directory that is one table, plain texts take part only if all its files are such.
    fn part_uncertain(&mut self) {
        for files in self.directories.values_mut() {
            if files.iter().all(|(_, format)| is_uncertain(*format)) {
                continue;
            }
            for (object, format) in files.extract_if(.., |(_, format)| is_uncertain(*format)) {
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

    fn take(&mut self, object: ObjectRecord, beside: &HashSet<String>) {
        let format = Format::of_path(&object.path)
            .filter(|_| !of_use::is_common(&object.path) && !beside.contains(&object.path));
        if member::is_remark(&object.path) {
            self.strays.push((object, Format::Archive));
        } else if place::is_hidden(&object.path) {
            self.ignored.hidden += 1;
        } else if let Some(kind) = SharedKind::of_path(&object.path) {
            self.shared.push((kind, object));
        } else if let Some(format) = format {
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
            } else {
                let (directory, _) = place::split_path(&object.path);
                self.loose
                    .entry(directory.to_owned())
                    .or_default()
                    .push((object, format));
            }
        } else if sidecar_stem(&object.path).is_some() {
            self.sidecars.push(object);
        } else {
            self.ignored.add_other(&object.path);
        }
    }
}

fn are_alike(files: &[(ObjectRecord, Format)]) -> bool {
    if files.iter().any(|(_, format)| *format == Format::Sheet) {
        let paths = files.iter().map(|(object, _)| object.path.as_str());
        return sheets::common_form(paths).is_some();
    }
    let are_uncertain = files.iter().all(|(_, format)| is_uncertain(*format));
    let mut counting = files
        .iter()
        .filter(|(_, format)| are_uncertain || !is_uncertain(*format));
    let Some((first, format)) = counting.next() else {
        return false;
    };
    let stem = |object: &ObjectRecord| {
        let (_, name) = place::split_path(&object.path);
        place::without_extension(name).to_owned()
    };
    let pattern = place::mask(&stem(first));
    // `x1.csv` beside `x1.tsv` is the same thing twice, not two parts of one.
    let mut stems = BTreeSet::from([stem(first)]);
    let are_alike = counting.all(|(object, f)| {
        let stem = stem(object);
        f == format && place::mask(&stem) == pattern && stems.insert(stem)
    });
    are_alike && stems.len() > 1
}

/// What a sidecar is a sidecar of: its path without `.md`, `.txt`, `.yaml`, `.html` or `.pdf`. Texts that come with any
/// folder (a readme, a licence) are none.
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
