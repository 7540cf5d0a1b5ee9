//! Shares: which process of a cluster plans which part of a lake, and keeps what the index has of
//! it.
//!
//! A lake is cut at folders whose changes stay below them ([`limn_lake::reach`]): each folder in
//! one that was cut is of one process, by the hash of its path, and so is all that lies below it.
//! What lies directly in a folder that was cut is of the process that has the folder. So every
//! object has one process, every process knows which, and no table is of two.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, StreamExt};
use limn_formats::member::outside;
use limn_lake::is_declared_file;
use limn_lake::reach::{is_within, reach};
use limn_lake::sources::LOGS;
use limn_segment::TableRecord;
use limn_store::{Level, Store};
use serde::{Deserialize, Serialize};

use crate::scope::root_name;

/// Folders a process, at least, before no more are cut: then none has much more than its share.
const FOLDERS_A_PROCESS: usize = 16;
/// Levels of folders that are cut at most.
const DEEPEST: usize = 4;
/// Folders that are looked into at once.
const AT_ONCE: usize = 16;

/// The folder of what dbt makes of a project: its parts belong together, as do those of an index.
const TARGET: &str = "target";
const SNAPSHOTS: &str = "snapshots";

/// Which process of a cluster has which folders of a lake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    processes: usize,
    /// The folders that are cut, and which folders in each stay with it.
    cut: BTreeMap<String, BTreeSet<String>>,
}

impl Assignment {
    /// Assigns the folders of a lake. One that nobody can cut, because its folders cannot be listed
    /// or are one table, is all of process 0.
    pub async fn of(lake: &Store, processes: usize) -> Assignment {
        let mut assignment = Assignment {
            processes,
            cut: BTreeMap::new(),
        };
        if processes < 2 {
            return assignment;
        }
        let root = root_name(lake.url());
        let mut folders = vec![String::new()];
        for _ in 0..DEEPEST {
            if folders.len() >= FOLDERS_A_PROCESS * processes {
                break;
            }
            let looked_into = folders.into_iter().map(|folder| async move {
                let level = lake.level(&folder).await;
                (folder, level)
            });
            let mut looked_into = stream::iter(looked_into).buffered(AT_ONCE);
            let mut next = Vec::new();
            while let Some((folder, level)) = looked_into.next().await {
                let level = level.filter(|level| may_be_cut(&folder, level));
                let kept = level.map(|level| (kept_in(&level, root), level));
                let Some((kept, level)) = kept else {
                    continue;
                };
                let folders = level.folders.into_iter();
                let assigned = folders.filter(|it| !stays(it) && !kept.contains(it));
                let before = next.len();
                next.extend(assigned);
                // One without such folders is whole as it is.
                if next.len() > before {
                    assignment.cut.insert(folder, kept);
                }
            }
            folders = next;
        }
        assignment
    }

    /// The process that has an object, by its path.
    pub fn process_of(&self, path: &str) -> usize {
        self.holder(path, false)
    }

    /// The processes that may have a table of this name, whose files lie beside the name or below
    /// it, or a text at this path.
    pub fn processes_of_table(&self, name: &str) -> [usize; 2] {
        let path = outside(name.trim_start_matches("./"));
        [self.holder(path, false), self.holder(path, true)]
    }

    /// The process that has a path, which may be that of a folder.
    fn holder(&self, path: &str, is_folder: bool) -> usize {
        let mut process = 0;
        let (mut folder, mut rest) = ("", path);
        while let Some(kept) = self.cut.get(folder) {
            let end = match rest.find('/') {
                Some(end) => end,
                None if is_folder && !rest.is_empty() => rest.len(),
                None => break,
            };
            let start = path.len() - rest.len();
            let below = &path[..start + end];
            if stays(below) || kept.contains(below) {
                break;
            }
            process =
                (xxhash_rust::xxh3::xxh3_64(below.as_bytes()) % self.processes as u64) as usize;
            (folder, rest) = (below, rest.get(end + 1..).unwrap_or_default());
        }
        process
    }
}

/// Whether a folder can be cut: what lies in its folders is not all of one table, project or index,
/// and no `.limn.yaml` speaks of it.
fn may_be_cut(folder: &str, level: &Level) -> bool {
    let is_of_one = |path: &String| {
        let name = name_of(path);
        LOGS.contains(&name) || name == SNAPSHOTS
    };
    name_of(folder) != TARGET
        && !level.objects.iter().any(|path| is_declared_file(path))
        && !level.folders.iter().any(is_of_one)
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The folders of a level that share a name with a file there, which may be a table or about one,
/// or with the table of the root.
fn kept_in(level: &Level, root: &str) -> BTreeSet<String> {
    let stems = level.objects.iter().flat_map(|object| {
        let name = object.len() - name_of(object).len();
        let points = object[name..]
            .match_indices('.')
            .map(move |(at, _)| name + at);
        points.map(|at| &object[..at])
    });
    let stems: BTreeSet<&str> = stems.collect();
    let is_kept = |folder: &&String| folder.as_str() == root || stems.contains(folder.as_str());
    level.folders.iter().filter(is_kept).cloned().collect()
}

/// Whether what lies in a folder may be of one table with what lies beside it.
fn stays(folder: &str) -> bool {
    !is_within(reach(&format!("{folder}/x")), folder)
}

/// The part of a lake that one process plans.
#[derive(Clone, Debug, Default)]
pub struct Share {
    assignment: Arc<Assignment>,
    process: usize,
}

impl Share {
    /// That of a process.
    pub fn new(assignment: &Assignment, process: usize) -> Share {
        Share {
            assignment: Arc::new(assignment.clone()),
            process,
        }
    }

    /// Whether it is less than the lake.
    pub fn is_partial(&self) -> bool {
        self.process > 0 || !self.assignment.cut.is_empty()
    }

    /// Whether it is that of a process that follows: the leader has what is not assigned.
    pub fn follows(&self) -> bool {
        self.process > 0
    }

    /// Whether an object is of this share, by its path.
    pub fn has(&self, path: &str) -> bool {
        self.assignment.process_of(outside(path)) == self.process
    }

    /// Whether a folder is, with what lies directly in it.
    pub fn has_folder(&self, folder: &str) -> bool {
        self.assignment.holder(folder, true) == self.process
    }

    /// Whether a table of this name may be.
    pub fn may_have(&self, name: &str) -> bool {
        !self.is_partial()
            || self
                .assignment
                .processes_of_table(name)
                .contains(&self.process)
    }

    /// Whether a row of the catalog is of this share: its files are, or its name where it has none.
    pub fn has_row(&self, row: &TableRecord) -> bool {
        !self.is_partial()
            || self.has(match row.files.iter().find(|it| row.is_log(&it.path)) {
                // A log may name files that lie elsewhere.
                Some(log) => &log.path,
                None => match row.files.first() {
                    Some(file) => &file.path,
                    None => row.name.trim_start_matches("./"),
                },
            })
    }

    /// The folders that were cut, whosever they are, those further up before those below.
    pub fn cut(&self) -> impl Iterator<Item = &str> {
        self.assignment.cut.keys().map(String::as_str)
    }

    /// Whether a folder was cut.
    pub fn is_cut(&self, folder: &str) -> bool {
        self.assignment.cut.contains_key(folder)
    }

    /// Whether something of another share may lie below a folder.
    pub fn is_shared(&self, folder: &str) -> bool {
        self.is_partial()
            && (!self.has_folder(folder) || self.cut().any(|it| is_within(it, folder)))
    }
}

#[cfg(test)]
mod tests;
