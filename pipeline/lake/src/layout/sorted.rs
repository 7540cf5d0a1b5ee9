//! The objects of a lake by what their paths say, and which of them may be one table.

use std::collections::{BTreeMap, HashMap, HashSet};

use limn_formats::{FileError, FileErrorKind, ObjectRecord, Objects, member, without_compression};

use super::alike::{self, Alike};
use super::class::{Class, Classes, Home};
use super::dated::{self, Series};
use super::in_parallel::{FOLDERS, in_parallel, in_ranges};
use super::{
    Draft, Entries, Entry, FileDraft, GroupKind, Ignored, LogTables, Names, Parts, describing,
    may_be_beside,
};
use crate::contexts::SharedKind;
use crate::declared::{Declared, Says};

/// Objects by what their paths say.
#[derive(Default)]
pub(super) struct Sorted<'a> {
    pub(super) directories: BTreeMap<&'a str, Entries<'a>>,
    pub(super) logged: LogTables,
    // Those that people say to be one table, by their own directory and its name.
    pub(super) declared: BTreeMap<(String, String), Entries<'a>>,
    // Other data files, by their own directory.
    pub(super) loose: BTreeMap<&'a str, Entries<'a>>,
    // Which of `loose` may be one table, in one directory and in places of several dates.
    pub(super) alike: BTreeMap<&'a str, Vec<Alike>>,
    pub(super) series: Vec<Series>,
    // Of containers: what is to be reported or remembered, and is no table: remarks, and texts
    // among the files of a table.
    pub(super) strays: Entries<'a>,
    // What is read with tables, or passed over beside them.
    pub(super) parts: Parts,
    pub(super) sidecars: Vec<&'a str>,
    // Which of `loose` are sidecars, too: plain texts.
    pub(super) texts: HashSet<&'a str>,
    pub(super) shared: Vec<(SharedKind, ObjectRecord)>,
    pub(super) ignored: Ignored,
    pub(super) refused: Vec<FileError>,
}

/// Files by their directories, while they come: those of one directory mostly come together.
#[derive(Default)]
struct Folders<'a> {
    files: BTreeMap<&'a str, Entries<'a>>,
    /// Where the last ones lie.
    directory: &'a str,
    last: Entries<'a>,
}

impl<'a> Folders<'a> {
    fn push(&mut self, directory: &'a str, file: Entry<'a>) {
        if directory != self.directory {
            self.close();
            self.directory = directory;
        }
        self.last.push(file);
    }

    /// Files the last ones, in no more memory than they need.
    fn close(&mut self) {
        if self.last.is_empty() {
            return;
        }
        let files = self.files.entry(self.directory).or_default();
        match files.is_empty() {
            true => *files = self.last.as_slice().to_vec(),
            false => files.extend_from_slice(&self.last),
        }
        self.last.clear();
    }

    fn into_files(mut self) -> BTreeMap<&'a str, Entries<'a>> {
        self.close();
        self.files
    }
}

/// Objects while they are sorted.
#[derive(Default)]
struct Sorting<'a> {
    sorted: Sorted<'a>,
    directories: Folders<'a>,
    loose: Folders<'a>,
}

impl<'a> Sorting<'a> {
    fn take(&mut self, class: Class<'a>, objects: &Objects) {
        let sorted = &mut self.sorted;
        let record = |at: usize| objects.get(at).map(|it| it.record());
        match class {
            Class::Passed => {}
            Class::Remark(file) => sorted.strays.push(file),
            Class::Hidden => sorted.ignored.hidden += 1,
            Class::Shared { at, kind } => {
                sorted.shared.extend(record(at).map(|it| (kind, it)));
            }
            Class::Data { file, kind, home } => {
                sorted.parts.see(file.path);
                if let Some(kind) = kind {
                    let object = record(file.at as usize);
                    sorted.shared.extend(object.map(|it| (kind, it)));
                }
                self.take_data(file, home);
            }
            Class::Sidecar(path) => sorted.sidecars.push(path),
            Class::Part { at, part, stem } => {
                if let Some(object) = record(at) {
                    sorted.parts.take(object, part, stem);
                }
            }
            Class::Other(path) => sorted.ignored.add_other(path),
        }
    }

    /// Takes an object that holds rows, as its path says.
    fn take_data(&mut self, file: Entry<'a>, home: Home<'a>) {
        let sorted = &mut self.sorted;
        match home {
            Home::Refused => {
                let cause = "its name has control characters, so no table can be called after it";
                let shown = file.path.escape_debug().to_string();
                let error = FileError::new(shown, FileErrorKind::Unsupported, cause);
                sorted.refused.push(error.with_remedy("rename it"));
            }
            Home::Directory(length) => self.directories.push(&file.path[..length], file),
            Home::Declared(table) => {
                let key = (table.0.to_owned(), table.1.to_owned());
                sorted.declared.entry(key).or_default().push(file);
            }
            Home::Loose { is_text } => {
                if is_text {
                    sorted.texts.insert(file.path);
                    sorted.sidecars.push(file.path);
                }
                self.loose.push(file.directory(), file);
            }
        }
    }

    fn end(self) -> Sorted<'a> {
        Sorted {
            directories: self.directories.into_files(),
            loose: self.loose.into_files(),
            ..self.sorted
        }
    }
}

/// The loose files of a directory, and which of them may be one table.
struct LooseFiles<'s, 'a> {
    directory: &'a str,
    files: &'s [Entry<'a>],
    alike: Vec<Alike>,
}

/// The groups of a directory's loose files.
#[derive(Default)]
struct LooseGroups<'a> {
    groups: Vec<Draft>,
    /// Files of series, with the places of these.
    of_series: Vec<(usize, FileDraft)>,
    /// JSON that may be about others.
    json_beside: Vec<&'a str>,
}

impl<'a> LooseFiles<'_, 'a> {
    /// The groups. `texts` are those that may be about others, `series` says of objects in which
    /// series they are.
    fn groups(
        self,
        names: &Names<'_, 'a>,
        texts: &HashSet<&'a str>,
        series: &HashMap<u32, usize>,
    ) -> LooseGroups<'a> {
        let LooseFiles {
            directory,
            files,
            alike,
        } = self;
        let beside = describing::of(files);
        let own = names.within(directory);
        let json_beside = files.iter().map(|it| it.path);
        let mut made = LooseGroups {
            json_beside: json_beside.filter(|it| beside.contains(it)).collect(),
            ..LooseGroups::default()
        };
        let drafts = files.iter().enumerate().map(|(at, file)| {
            let is_beside = beside.contains(file.path) || texts.contains(file.path);
            FileDraft::new(file, own.file(at, file), is_beside)
        });
        let mut alone: Vec<Option<FileDraft>> = drafts.map(Some).collect();
        for alike in alike {
            let files = alike.members.iter();
            let files = files.filter_map(|at| alone.get_mut(*at)?.take()).collect();
            let name = names.alike(directory, &alike);
            let path = alike.pattern.map_or(directory.to_owned(), |it| it.path);
            let group = Draft::new(GroupKind::Family, &path, name, files);
            made.groups.push(group);
        }
        for (draft, file) in alone.into_iter().zip(files) {
            let Some(draft) = draft else {
                continue;
            };
            match series.get(&draft.at) {
                Some(at) => made.of_series.push((*at, draft)),
                None => {
                    let is_lone = true;
                    let draft = FileDraft { is_lone, ..draft };
                    made.groups.push(Draft::of_file(draft, file.path));
                }
            }
        }
        made
    }
}

impl<'a> Sorted<'a> {
    pub(super) fn of(
        objects: &'a Objects,
        logged: LogTables,
        declared: &'a Declared,
    ) -> Sorted<'a> {
        let mut sorting = Sorting::default();
        let classes = Classes::of(objects, &logged, declared);
        in_ranges(
            objects.len(),
            |places| classes.in_range(places),
            |some| some.into_iter().for_each(|it| sorting.take(it, objects)),
        );
        drop(classes);
        let mut sorted = sorting.end();
        sorted.logged = logged;
        sorted.part_uncertain();
        sorted.part_copies();
        sorted.find_alike(objects.len(), declared);
        sorted
    }

    /// The groups of loose files; `json_beside` takes those of them that may be about others.
    pub(super) fn loose_groups(
        &mut self,
        loose: &BTreeMap<&'a str, Entries<'a>>,
        names: &Names<'_, 'a>,
        json_beside: &mut Vec<&'a str>,
    ) -> Vec<Draft> {
        let mut groups = Vec::new();
        let series = std::mem::take(&mut self.series);
        let mut of_series: Vec<Vec<FileDraft>> = vec![Vec::new(); series.len()];
        let places = series.iter().enumerate();
        let places = places.flat_map(|(at, it)| it.members.iter().map(move |file| (*file, at)));
        let places: HashMap<u32, usize> = places.collect();
        let mut alike = std::mem::take(&mut self.alike);
        let folders = loose.iter().map(|(directory, files)| LooseFiles {
            directory,
            files,
            alike: alike.remove(directory).unwrap_or_default(),
        });
        in_parallel(
            folders,
            FOLDERS,
            |folder| folder.groups(names, &self.texts, &places),
            |made| {
                groups.extend(made.groups);
                json_beside.extend(made.json_beside);
                for (at, file) in made.of_series {
                    of_series[at].push(file);
                }
            },
        );
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
        let mut alike = BTreeMap::new();
        in_parallel(
            &self.loose,
            FOLDERS,
            |(directory, files)| {
                let has_table = self.directories.contains_key(directory);
                let is_free = |file: &Entry<'_>| is_free(file.path) && !is_member(file.at);
                (*directory, alike::among(files, has_table, is_free))
            },
            |(directory, found)| {
                if !found.is_empty() {
                    alike.insert(directory, found);
                }
            },
        );
        self.alike = alike;
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
}
