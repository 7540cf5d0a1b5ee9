//! What an object is, as its path says, and what is declared of it.

use std::collections::HashSet;
use std::ops::Range;

use limn_formats::parts::{self, Part};
use limn_formats::{Format, Objects, member};

use super::beside::texts_beside_in;
use super::code::CodeFolders;
use super::{Entry, LogTables, of_use, sidecar_stem};
use crate::contexts::SharedKind;
use crate::declared::{Declared, Says, is_declared_file};
use crate::filter::is_ignore_file;
use crate::hidden::{is_hidden_name, is_in_hidden};
use crate::place::{above_partitions, is_part};
use crate::table_name::has_control;

/// What an object is.
pub(super) enum Class<'a> {
    /// What is read with the log of a table, or heeded: it counts as nothing that is left out.
    Passed,
    Remark(Entry<'a>),
    Hidden,
    /// A text about several tables.
    Shared {
        at: usize,
        kind: SharedKind,
    },
    /// It holds rows. Its content decides whether it says something of tables instead.
    Data {
        file: Entry<'a>,
        kind: Option<SharedKind>,
        home: Home<'a>,
    },
    Sidecar(&'a str),
    /// It is read with a table, or passed over beside it.
    Part {
        at: usize,
        part: Part,
        stem: &'a str,
    },
    Other(&'a str),
}

/// Which table an object with rows is of. Many of them are in memory at once, so they are small.
pub(super) enum Home<'a> {
    /// None: no table can have its name.
    Refused,
    /// That of the directory that so many bytes of its path are.
    Directory(usize),
    /// One that people declare, by their folder and its name.
    Declared(Box<(&'a str, &'a str)>),
    /// Its own, or one of like files. A text may be about others, too.
    Loose { is_text: bool },
}

/// What classes of objects depend on.
pub(super) struct Classes<'s, 'a> {
    objects: &'a Objects,
    declared: &'a Declared,
    logged: &'s LogTables,
    code: CodeFolders,
    beside: HashSet<&'a str>,
}

/// What a folder says of the objects in it.
struct Folder<'a> {
    /// The path up to the objects' names.
    path: &'a str,
    directory: &'a str,
    /// The directory of the table whose partitions it is among.
    table: Option<&'a str>,
    is_code: bool,
    is_logged: bool,
    is_hidden: bool,
    is_in_container: bool,
}

impl<'s, 'a> Classes<'s, 'a> {
    pub(super) fn of(
        objects: &'a Objects,
        logged: &'s LogTables,
        declared: &'a Declared,
    ) -> Classes<'s, 'a> {
        Classes {
            objects,
            declared,
            logged,
            code: CodeFolders::of(objects.paths()),
            beside: texts_beside_in(objects),
        }
    }

    /// The classes of the objects at these places. Neighbours mostly lie in one folder, which is
    /// looked at once.
    pub(super) fn in_range(&self, places: Range<usize>) -> Vec<Class<'a>> {
        let objects: &'a Objects = self.objects;
        let mut folder = self.folder("");
        let class = |at: usize| {
            let path = objects.path(at);
            let (own, name) = path.split_at(path.rfind('/').map_or(0, |slash| slash + 1));
            if own != folder.path {
                folder = self.folder(own);
            }
            self.class((at, path, name), &folder)
        };
        places.map(class).collect()
    }

    fn folder(&self, path: &'a str) -> Folder<'a> {
        let directory = path.trim_end_matches('/');
        Folder {
            path,
            directory,
            table: above_partitions(directory),
            is_code: self.code.has_folder(directory),
            is_logged: self.logged.has_folder(directory),
            is_hidden: is_in_hidden(directory),
            is_in_container: member::split(path).is_some(),
        }
    }

    fn class(&self, (at, path, name): (usize, &'a str, &'a str), folder: &Folder<'a>) -> Class<'a> {
        if folder.is_code {
            return Class::Other(path);
        }
        // Outside of containers the name says it all.
        let telling = match folder.is_in_container || name.is_empty() {
            true => path,
            false => name,
        };
        let format = Format::of_path(telling);
        let format = format.filter(|format| !of_use::is_common(telling, *format));
        let kind = SharedKind::of_path(path);
        let is_hidden = folder.is_hidden || is_hidden_name(name);
        let is_logged = folder.is_logged || self.logged.is_elsewhere(path);
        let is_heeded = || is_ignore_file(path) || is_declared_file(path);
        if is_logged && (format.is_some() || is_hidden) {
            // The log says which of them are the table's.
            Class::Passed
        } else if member::is_remark(path) {
            Class::Remark(Entry::new(path, at as u32, Format::Archive))
        } else if is_heeded() {
            Class::Passed
        } else if is_hidden {
            Class::Hidden
        } else if let Some(kind) = kind.filter(|kind| !kind.may_hold_rows()) {
            Class::Shared { at, kind }
        } else if let Some(format) = format {
            let file = Entry::new(path, at as u32, format);
            let home = self.home(&file, name, folder);
            Class::Data { file, kind, home }
        } else if sidecar_stem(path).is_some() {
            Class::Sidecar(path)
        } else if let Some((part, stem)) = parts::of_path(path) {
            Class::Part { at, part, stem }
        } else {
            Class::Other(path)
        }
    }

    fn home(&self, file: &Entry<'a>, name: &str, folder: &Folder<'a>) -> Home<'a> {
        let path = file.path;
        let own = || is_part(name).then_some(folder.directory);
        if has_control(path) {
            Home::Refused
        } else if let Some(directory) = folder.table.or_else(own) {
            Home::Directory(directory.len())
        } else if let Some(Says::Of { folder, table }) = self.declared.says(path) {
            Home::Declared(Box::new((folder, table)))
        } else {
            let is_text = self.beside.contains(path) && !self.declared.cuts(path);
            Home::Loose { is_text }
        }
    }
}
