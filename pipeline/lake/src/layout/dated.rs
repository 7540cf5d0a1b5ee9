//! Files in folders of dates, and in books, databases and archives called by dates: what may be one
//! table though it lies in several places.
//!
//! Files with one home ([`crate::dates`]) are alike if their paths below it differ only in dates,
//! and in what varies in their names apart from words, in places of at least two dates. They are
//! called by what their paths share, with a star for the dates: `landing/*/orders` of
//! `landing/2024/05/20/orders.csv`. Where names say nothing (`events/2024/05/20/7f3c.json`) they
//! are the home's table and have its name, unless another table there has it.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::alike::{Like, parted, star_names, starred};
use super::{Entries, Entry, describing};
use crate::dates::dated;
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
pub(super) fn among(loose: &BTreeMap<&str, Entries<'_>>, is_free: impl Fn(&str) -> bool) -> Found {
    let mut alike: BTreeMap<(&str, String), (String, Vec<Like<'_>>)> = BTreeMap::new();
    for files in loose.values() {
        let beside = describing::of(files);
        let are_uncertain = files.iter().all(|it| it.format.is_uncertain());
        for Entry { path, at, format } in files {
            let takes_part = are_uncertain || !format.is_uncertain();
            let dated = dated(path).filter(|_| takes_part && !beside.contains(path));
            let Some(dated) = dated.filter(|_| is_free(path)) else {
                continue;
            };
            let mask = dated.mask();
            // A star stands for what varies.
            if !mask.contains('*') {
                let key = (dated.home, mask.to_lowercase());
                let (_, like) = alike.entry(key).or_insert_with(|| (mask, Vec::new()));
                like.push(Like {
                    at: *at as usize,
                    path,
                    format: *format,
                });
            }
        }
    }
    let mut found = Vec::new();
    for ((home, _), (mask, mut files)) in alike {
        files.sort_by_key(|file| file.path);
        let paths: HashMap<usize, &str> = files.iter().map(|it| (it.at, it.path)).collect();
        for part in parted(files) {
            let members = part.members.iter().filter_map(|at| paths.get(at).copied());
            let dates = members.filter_map(dated);
            let dates: HashSet<Vec<&str>> = dates.map(|it| it.date()).collect();
            if dates.len() > 1 {
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
