//! Groups in few bytes: which objects of the listing are their files, until somebody asks for one.

use limn_formats::{Format, Objects};

use super::{ContextSource, Group, GroupKey, GroupKind, LogTable, Parts, TableFile};
use crate::declared::Declared;
use crate::table_name::TableName;
use crate::{dates, place};

/// An object of the listing that holds rows, as its path says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry<'a> {
    pub(super) path: &'a str,
    /// Where it is in the listing.
    pub(super) at: u32,
    pub(super) format: Format,
}

/// What a file is called as a table of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Naming {
    /// Its path without extension.
    Stem,
    /// Its path.
    Path,
    /// Its path, with what no other table's name ends in.
    Marked,
}

impl Naming {
    pub(super) fn name(self, path: &str) -> TableName {
        match self {
            Naming::Stem => TableName::of_path(place::without_extension(path)),
            Naming::Path => TableName::of_path(path),
            // No path has a component ".", so no other table is called that.
            Naming::Marked => TableName::of_path(&format!("{path}/.")),
        }
    }
}

/// A file of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileDraft {
    /// Where it is in the listing.
    pub(super) at: u32,
    pub(super) format: Format,
    pub(super) naming: Naming,
    pub(super) is_beside: bool,
    /// No other is like it by its name.
    pub(super) is_lone: bool,
}

impl FileDraft {
    pub(super) fn new(entry: &Entry<'_>, naming: Naming, is_beside: bool) -> FileDraft {
        FileDraft {
            at: entry.at,
            format: entry.format,
            naming,
            is_beside,
            is_lone: false,
        }
    }

    pub(super) fn path(self, objects: &Objects) -> &str {
        objects.path(self.at as usize)
    }
}

/// The files of a group: those of the listing, or what a log says.
#[derive(Clone, Debug)]
enum Files {
    Listed(Box<[FileDraft]>),
    Logged(Vec<TableFile>),
}

/// A group, of whose files is known which they are.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub(super) path: Box<str>,
    pub(super) kind: GroupKind,
    pub(super) name: TableName,
    pub(super) contexts: Vec<ContextSource>,
    /// Nobody says anything of it.
    is_stray: bool,
    files: Files,
}

impl Draft {
    pub(super) fn new(
        kind: GroupKind,
        path: &str,
        name: TableName,
        files: Vec<FileDraft>,
    ) -> Draft {
        Draft {
            path: path.into(),
            kind,
            name,
            contexts: Vec::new(),
            is_stray: false,
            files: Files::Listed(files.into()),
        }
    }

    pub(super) fn of_file(file: FileDraft, path: &str) -> Draft {
        Draft::new(GroupKind::File, path, file.naming.name(path), vec![file])
    }

    pub(super) fn stray(self) -> Draft {
        Draft {
            is_stray: true,
            ..self
        }
    }

    pub(super) fn logged(table: LogTable, name: TableName) -> Draft {
        let files = table.files.into_iter().map(|file| TableFile {
            table_name: TableName::of_path(&file.object.path),
            object: file.object,
            format: file.format,
            is_beside: false,
            is_alone: false,
            declared: Some(file.logged),
        });
        let mut files: Vec<TableFile> = files.collect();
        files.sort_by(|a, b| a.object.path.cmp(&b.object.path));
        Draft {
            files: Files::Logged(files),
            ..Draft::new(GroupKind::Logged, &table.folder, name, Vec::new())
        }
    }

    /// Its files that are of the listing; none of a table that has a log.
    pub(super) fn listed(&self) -> &[FileDraft] {
        match &self.files {
            Files::Listed(files) => files,
            Files::Logged(_) => &[],
        }
    }

    /// Keeps those files of the listing of which it is true; whether any is left.
    pub(super) fn retain(&mut self, is_kept: impl Fn(&FileDraft) -> bool) -> bool {
        match &mut self.files {
            Files::Listed(files) => {
                if !files.iter().all(&is_kept) {
                    *files = files.iter().copied().filter(is_kept).collect();
                }
                !files.is_empty()
            }
            Files::Logged(files) => !files.is_empty(),
        }
    }

    /// The paths and formats of its files, in their order.
    pub(super) fn files<'a>(
        &'a self,
        objects: &'a Objects,
    ) -> impl Iterator<Item = (&'a str, Format)> {
        let logged: &[TableFile] = match &self.files {
            Files::Listed(_) => &[],
            Files::Logged(files) => files,
        };
        let logged = logged.iter();
        let logged = logged.map(|file| (file.object.path.as_str(), file.format));
        let listed = self.listed().iter();
        let listed = listed.map(|file| (file.path(objects), file.format));
        listed.chain(logged)
    }

    /// The directory that its tables lie in, and whether the directory itself is one of them.
    pub(super) fn directory<'a>(&'a self, objects: &'a Objects) -> (&'a str, bool) {
        let path: &str = &self.path;
        let above = place::split_path(path).0;
        match self.kind {
            GroupKind::File | GroupKind::Declared => (above, false),
            GroupKind::Directory | GroupKind::Logged => (path, true),
            GroupKind::Family => {
                let first = self.files(objects).next().map_or("", |it| it.0);
                let (own, home) = (place::split_path(first).0, dates::home(first));
                if path == own || path == home {
                    (path, true)
                } else if above == own {
                    (above, false)
                } else {
                    // All of its places of dates lie there.
                    let length = home.len().min(path.len());
                    (&path[..length], false)
                }
            }
        }
    }

    /// The group itself.
    pub(super) fn group(&self, objects: &Objects, (declared, parts): (&Declared, &Parts)) -> Group {
        let file = |draft: &FileDraft| {
            let object = objects.get(draft.at as usize)?.record();
            let file = TableFile {
                declared: parts.declare(&object.path, declared.entry(&object.path)),
                format: draft.format,
                table_name: draft.naming.name(&object.path),
                is_beside: draft.is_beside,
                is_alone: false,
                object,
            };
            Some(match draft.is_lone {
                true => file.alone(),
                false => file,
            })
        };
        let files = match &self.files {
            Files::Listed(files) => files.iter().filter_map(file).collect(),
            Files::Logged(files) => files.clone(),
        };
        let mut group = Group {
            key: GroupKey::new(self.kind, &self.path),
            path: self.path.to_string(),
            kind: self.kind,
            name: self.name.clone(),
            files,
            contexts: self.contexts.clone(),
        };
        if !self.is_stray {
            group.add_declared_texts();
        }
        group
    }
}
