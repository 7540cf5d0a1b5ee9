//! Groups in few bytes: which objects of the listing are their files, until somebody asks for one.

use limn_formats::{Format, Objects, without_compression};

use super::{ContextSource, Group, GroupKey, GroupKind, LogTable, Outline, Parts, TableFile};
use crate::declared::Declared;
use crate::table_name::TableName;
use crate::{dates, place};

/// An object of the listing that holds rows, as its path says. Where its name and its extension
/// are is found out once.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) path: &'a str,
    /// Where it is in the listing.
    pub(super) at: u32,
    pub(super) format: Format,
    /// Bytes of the path after the stem, and of the name. What is longer is found out each time.
    after_stem: u8,
    name: u16,
}

impl<'a> Entry<'a> {
    pub(super) fn new(path: &'a str, at: u32, format: Format) -> Entry<'a> {
        let after_stem = path.len() - place::stem(path, format).len();
        let name = place::split_path(path).1.len();
        Entry {
            path,
            at,
            format,
            after_stem: u8::try_from(after_stem).unwrap_or(u8::MAX),
            name: u16::try_from(name).unwrap_or(u16::MAX),
        }
    }

    /// The file's name.
    pub(super) fn name(self) -> &'a str {
        match self.name {
            u16::MAX => place::split_path(self.path).1,
            length => &self.path[self.path.len() - usize::from(length)..],
        }
    }

    /// The path up to the name.
    pub(super) fn folder(self) -> &'a str {
        &self.path[..self.path.len() - self.name().len()]
    }

    /// The directory that it lies in, as [`place::split_path`] has it.
    pub(super) fn directory(self) -> &'a str {
        self.folder().trim_end_matches('/')
    }

    /// The path without extension, as [`place::without_extension`] has it.
    pub(super) fn stem(self) -> &'a str {
        match self.after_stem {
            u8::MAX => place::stem(self.path, self.format),
            length => &self.path[..self.path.len() - usize::from(length)],
        }
    }

    /// The name without what looks like an extension.
    pub(super) fn bare_name(self) -> &'a str {
        match self.format {
            // The path of a table that is no file has none.
            Format::Sqlite | Format::Sheet => place::without_extension(self.name()),
            _ => self.stem().get(self.folder().len()..).unwrap_or_default(),
        }
    }

    /// The extension with its dot, and of compressed data both.
    pub(super) fn extension(self) -> &'a str {
        &self.path[self.stem().len()..]
    }

    /// The extension with its dot, but for that of compressed data.
    pub(super) fn own_extension(self) -> &'a str {
        let unpacked = without_compression(self.path);
        unpacked.get(self.stem().len()..).unwrap_or_default()
    }
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
    fn name(self, path: &str, format: Format) -> TableName {
        match self {
            Naming::Stem => TableName::of_path(place::stem(path, format)),
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

    /// What the file at this path is called as a table of its own.
    pub(super) fn table_name(self, path: &str) -> TableName {
        self.naming.name(path, self.format)
    }

    /// The file itself.
    fn table_file(self, objects: &Objects, (declared, parts): Said<'_>) -> Option<TableFile> {
        let object = objects.get(self.at as usize)?.record();
        let file = TableFile {
            declared: parts.declare(&object.path, declared.entry(&object.path)),
            format: self.format,
            table_name: self.table_name(&object.path),
            is_beside: self.is_beside,
            is_alone: false,
            object,
        };
        Some(match self.is_lone {
            true => file.alone(),
            false => file,
        })
    }
}

/// What is said of files, and what is read with them.
type Said<'a> = (&'a Declared, &'a Parts);

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
        Draft::new(GroupKind::File, path, file.table_name(path), vec![file])
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

    fn logged_files(&self) -> &[TableFile] {
        match &self.files {
            Files::Listed(_) => &[],
            Files::Logged(files) => files,
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
        let logged = self.logged_files().iter();
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

    /// What is known of the group before its files are made.
    pub(super) fn outline<'a>(&'a self, objects: &Objects) -> Outline<'a> {
        let size = |file: &FileDraft| objects.get(file.at as usize).map_or(0, |it| it.size);
        let listed = self.listed().iter().map(|it| (size(it), it.format));
        let logged = self.logged_files().iter();
        let logged = logged.map(|it| (it.object.size, it.format));
        let mut outline = Outline {
            kind: self.kind,
            path: &self.path,
            name: &self.name,
            files: 0,
            logs: 0,
            bytes: 0,
        };
        for (size, format) in listed.chain(logged) {
            outline.files += 1;
            outline.logs += usize::from(format.is_log());
            outline.bytes = outline.bytes.saturating_add(size);
        }
        outline
    }

    /// The group itself.
    pub(super) fn group(&self, objects: &Objects, said: Said<'_>) -> Group {
        let listed = self.listed().iter();
        let listed = listed.filter_map(|it| it.table_file(objects, said));
        self.group_of(listed.chain(self.logged_files().iter().cloned()).collect())
    }

    /// The group with those of its files of the listing alone that are at these places among them.
    pub(super) fn with_files(&self, at: &[usize], objects: &Objects, said: Said<'_>) -> Group {
        let some = at.iter().filter_map(|at| self.listed().get(*at));
        let some = some.filter_map(|it| it.table_file(objects, said));
        self.group_of(some.collect())
    }

    fn group_of(&self, files: Vec<TableFile>) -> Group {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    fn check(path: &str) -> Result<(), TestCaseError> {
        let format = Format::of_path(path).unwrap_or(Format::Archive);
        let entry = Entry::new(path, 0, format);
        let found = (entry.directory(), entry.name());
        prop_assert_eq!(found, place::split_path(path));
        prop_assert_eq!(entry.folder().len() + entry.name().len(), path.len());
        prop_assert_eq!(entry.stem(), place::without_extension(path));
        prop_assert_eq!(entry.stem().len() + entry.extension().len(), path.len());
        if format != Format::Archive {
            let unpacked = without_compression(path);
            let stem = place::without_extension(unpacked);
            prop_assert_eq!(entry.own_extension(), &unpacked[stem.len()..]);
            let bare = place::without_extension(entry.name());
            prop_assert_eq!(entry.bare_name(), bare);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn an_entry_knows_the_parts_of_its_path(
            folders in "(/{0,2}(a|é|k=1|\\.|b\\.zip/|c\\.xlsx/|d\\.db/)/){0,3}",
            name in "/?(\\.|[x0-9é]){0,6}",
            extension in "(\\.(csv|gz|parquet|zst|txt|tar|json)){0,3}/{0,2}",
        ) {
            check(&format!("{folders}{name}{extension}"))?;
        }
    }

    #[test]
    fn parts_of_a_path_may_be_long() {
        assert_eq!(size_of::<Entry<'_>>(), 24);
        for length in [253, 254, 255, 256, 65_534, 65_535, 65_536] {
            let long = "x".repeat(length);
            for path in [format!("a/{long}.csv.gz"), format!("a/x.{long}")] {
                check(&path).unwrap();
            }
        }
    }
}
