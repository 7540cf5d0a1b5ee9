//! Texts that may be about data beside them: `orders.txt` beside `orders.csv`.
//!
//! A `.txt` may be about what is called like it, a data file of another name or extension or a
//! folder with data in it; or be a table itself. Paths do not say which, so it is both: a data
//! file that is a table if it clearly is one, and a sidecar that says something if it is not
//! ([`crate::contexts::read_sidecar`]). Archives, and what lies in them, do not count: whether one
//! holds data its name does not show.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use limn_formats::{Objects, member};

use super::in_parallel::in_ranges;
use super::is_data;
use crate::contexts::may_be_rows;
use crate::place::{split_path, table_directory, without_extension};

/// Whether a file may be either: as its path says, a `.txt` that is not compressed and in no
/// archive.
pub fn may_be_beside(path: &str) -> bool {
    may_be_rows(path) && is_data(path)
}

/// Those of `paths` that may be about others of them, and [may be data](may_be_beside), too.
pub fn texts_beside<'a>(paths: impl Iterator<Item = &'a str> + Clone) -> HashSet<&'a str> {
    let asked = Asked::of(paths.clone());
    let mut met = HashSet::new();
    if !asked.0.is_empty() {
        paths.for_each(|path| asked.meet(path, &mut met));
    }
    asked.texts(&met)
}

/// The same of a listing.
pub(super) fn texts_beside_in(objects: &Objects) -> HashSet<&str> {
    let asked = Asked::of(objects.paths());
    let mut met = HashSet::new();
    if !asked.0.is_empty() {
        let make = |places: Range<usize>| {
            let mut met = HashSet::new();
            places.for_each(|at| asked.meet(objects.path(at), &mut met));
            met
        };
        in_ranges(objects.len(), make, |some| met.extend(some));
    }
    asked.texts(&met)
}

/// Texts by what they may be about: by their paths without extension.
struct Asked<'a>(HashMap<&'a str, Vec<&'a str>>);

impl<'a> Asked<'a> {
    fn of(paths: impl Iterator<Item = &'a str>) -> Asked<'a> {
        let mut asked: HashMap<&str, Vec<&str>> = HashMap::new();
        for path in paths.filter(|path| may_be_beside(path)) {
            asked.entry(without_extension(path)).or_default().push(path);
        }
        Asked(asked)
    }

    /// Notes the names by which texts may be about an object.
    fn meet<'p>(&self, path: &'p str, met: &mut HashSet<&'p str>) {
        let directory = table_directory(path).unwrap_or_else(|| split_path(path).0);
        let names = [path, without_extension(path), directory];
        let names = names.into_iter().filter(|name| self.0.contains_key(*name));
        let names: Vec<&str> = names.collect();
        // Most objects are what no text is about, which is soon known.
        let is_one = !names.is_empty()
            && is_data(path)
            && member::split(path).is_none()
            && !may_be_beside(path);
        if is_one {
            met.extend(names);
        }
    }

    /// The texts about what has these names.
    fn texts(mut self, met: &HashSet<&str>) -> HashSet<&'a str> {
        let texts = met.iter().filter_map(|name| self.0.remove(*name));
        texts.flatten().collect()
    }
}
