//! Files in folders of dates, and in books, databases and archives called by dates: what may be one
//! table though it lies in several places.
//!
//! Files with one home ([`crate::dates`]) are alike if their paths below it differ only in dates,
//! and in what varies in their names apart from words, in places of at least two dates. They are
//! called by what their paths share, with a star for the dates: `landing/*/orders` of
//! `landing/2024/05/20/orders.csv`. Where names say nothing (`events/2024/05/20/7f3c.json`) they
//! are the home's table and have its name, unless another table there has it.

use std::collections::BTreeMap;

use super::alike::{parted, star_names, starred};
use super::by_mask::{ByMask, Like, Masked};
use super::in_parallel::{FOLDERS, in_parallel};
use super::{Entries, Entry, describing};
use crate::dates::{Dated, dated};
use crate::place;

/// Files in places of several dates that may be one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Series {
    /// The folder above all dates.
    pub(super) home: String,
    /// The home, or what the files' paths share, with stars.
    pub(super) path: String,
    /// Where the files are in the listing.
    pub(super) members: Vec<u32>,
}

impl Series {
    /// Whether it has the name of its home.
    pub(super) fn is_directory(&self) -> bool {
        self.path == self.home
    }
}

/// Series before they have names.
pub(super) struct Found(Vec<Set>);

struct Set {
    home: String,
    mask: String,
    extension: String,
    is_copy: bool,
    members: Vec<u32>,
}

impl Set {
    /// Whether its files' names say nothing.
    fn is_nameless(&self) -> bool {
        starred(&self.mask) == "*"
    }
}

/// The series among files by their directories; `is_free` says which files nobody has said anything
/// of.
pub(super) fn among(
    loose: &BTreeMap<&str, Entries<'_>>,
    is_free: impl Fn(&str) -> bool + Send + Sync,
) -> Found {
    let mut alike = ByMask::default();
    in_parallel(
        loose.values(),
        FOLDERS,
        |files| (files, runs(files, &is_free)),
        |(files, runs)| {
            for run in runs {
                for file in run.places.iter().filter_map(|at| files.get(*at as usize)) {
                    let at = file.at as usize;
                    alike.add(run.home, &run.mask, Like { at, file: *file });
                }
            }
        },
    );
    let mut found = Vec::new();
    for Masked {
        folder: home,
        mask,
        mut files,
    } in alike.into_sets()
    {
        // Objects are in the order of their paths.
        files.sort_by_key(|it| it.at);
        let paths: Vec<(usize, &str)> = files.iter().map(|it| (it.at, it.file.path)).collect();
        let path = |at: &usize| {
            let place = paths.binary_search_by_key(at, |it| it.0).ok()?;
            paths.get(place).map(|it| it.1)
        };
        for part in parted(files) {
            if are_of_several_dates(part.members.iter().filter_map(path)) {
                found.push(Set {
                    home: home.to_owned(),
                    mask: mask.clone(),
                    extension: part.extension,
                    is_copy: part.is_copy,
                    members: part.members.iter().map(|at| *at as u32).collect(),
                });
            }
        }
    }
    Found(found)
}

/// Neighbours in a folder with one home and one mask.
struct Run<'a> {
    home: &'a str,
    mask: String,
    /// Where they are among the folder's files.
    places: Vec<u32>,
}

/// The files of a folder that have dates and may be parts of a series.
fn runs<'a>(files: &[Entry<'a>], is_free: &impl Fn(&str) -> bool) -> Vec<Run<'a>> {
    let are_uncertain = files.iter().all(|it| it.format.is_uncertain());
    let mut beside = None;
    let mut dates = FolderDates::default();
    let mut runs: Vec<Run<'a>> = Vec::new();
    for (at, file) in (0..).zip(files) {
        let Some(dated) = dates.of(file) else {
            continue;
        };
        let beside = beside.get_or_insert_with(|| describing::of(files));
        let takes_part = are_uncertain || !file.format.is_uncertain();
        if !takes_part || beside.contains(file.path) || !is_free(file.path) {
            continue;
        }
        let mask = dated.mask();
        // A star stands for what varies.
        if mask.contains('*') {
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.home == dated.home && run.mask == mask => run.places.push(at),
            _ => runs.push(Run {
                home: dated.home,
                mask,
                places: vec![at],
            }),
        }
    }
    runs
}

/// The dates of the folder that the last file lay in: the next one mostly lies there, too.
#[derive(Default)]
struct FolderDates<'a> {
    folder: Option<&'a str>,
    dated: Option<Dated<'a>>,
}

impl<'a> FolderDates<'a> {
    /// A file's path with its dates; `None` if it has none.
    fn of(&mut self, file: &Entry<'a>) -> Option<&Dated<'a>> {
        let folder = Some(file.folder());
        if self.folder != folder {
            self.folder = folder;
            self.dated = dated(file.path);
        }
        let dated = self.dated.as_mut()?;
        dated.go_on_to(file.path);
        Some(dated)
    }
}

/// Whether files at these paths, all of which have dates, do not all have the same.
fn are_of_several_dates<'a>(paths: impl Iterator<Item = &'a str>) -> bool {
    let mut last = None;
    // Files of one folder have one date.
    let paths = paths.filter(|path| {
        let folder = path.rsplit_once('/').map(|(folder, _)| folder);
        last.replace(folder) != Some(folder)
    });
    let mut dates = paths.filter_map(dated).map(|it| it.date());
    let first = dates.next();
    dates.any(|it| Some(it) != first)
}

impl Found {
    /// Says whether a file of a listing of so many objects is in one of the series.
    pub(super) fn is_member(&self, objects: usize) -> impl Fn(u32) -> bool + use<> {
        let mut is_member = vec![false; if self.0.is_empty() { 0 } else { objects }];
        for at in self.0.iter().flat_map(|it| &it.members) {
            if let Some(it) = is_member.get_mut(*at as usize) {
                *it = true;
            }
        }
        move |at| is_member.get(at as usize).copied().unwrap_or(false)
    }

    /// The series with their names; `has_table` says of a folder whether it is called like another
    /// table.
    pub(super) fn named(self, has_table: impl Fn(&str) -> bool) -> Vec<Series> {
        let mut by_home: BTreeMap<String, Vec<Set>> = BTreeMap::new();
        for set in self.0 {
            by_home.entry(set.home.clone()).or_default().push(set);
        }
        let mut series = Vec::new();
        for (home, sets) in by_home {
            let is_nameless = |set: &&Set| !set.is_copy && set.is_nameless();
            let is_directory = sets.iter().filter(is_nameless).count() == 1 && !has_table(&home);
            let shapes = sets.iter().map(|set| {
                // A single star would be a pattern of the home's own files.
                let is_long = set.is_copy || set.is_nameless();
                (set.mask.as_str(), set.extension.as_str(), is_long)
            });
            let names = star_names(&shapes.collect::<Vec<_>>());
            for (set, name) in sets.into_iter().zip(names) {
                let path = match is_directory && is_nameless(&&set) {
                    true => home.clone(),
                    false => place::join(&home, &name),
                };
                series.push(Series {
                    home: home.clone(),
                    path,
                    members: set.members,
                });
            }
        }
        series
    }
}

#[cfg(test)]
mod tests;
