//! Texts that may be about data beside them: `orders.txt` beside `orders.csv`.
//!
//! A `.txt` may be about what is called like it, a data file of another name or extension or a
//! folder with data in it; or be a table itself. Paths do not say which, so it is both: a data
//! file that is a table if it clearly is one, and a sidecar that says something if it is not
//! ([`crate::contexts::read_sidecar`]). Archives, and what lies in them, do not count: whether one
//! holds data its name does not show.

use std::collections::{HashMap, HashSet};

use limn_formats::member;

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
    let mut asked: HashMap<&str, Vec<&str>> = HashMap::new();
    for path in paths.clone().filter(|path| may_be_beside(path)) {
        asked.entry(without_extension(path)).or_default().push(path);
    }
    let mut found = HashSet::new();
    if asked.is_empty() {
        return found;
    }
    for path in paths {
        if !is_data(path) || member::split(path).is_some() || may_be_beside(path) {
            continue;
        }
        let directory = table_directory(path).unwrap_or_else(|| split_path(path).0);
        for name in [path, without_extension(path), directory] {
            // Each is found once.
            let texts = asked.remove(name).unwrap_or_default();
            found.extend(texts);
        }
    }
    found
}
