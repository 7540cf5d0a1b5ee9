//! The log of a catalog as it was last seen: its files, with numbers that stay while a file does.
//!
//! A row that is kept names its file by such a number: four bytes, where a path has dozens. What
//! the next snapshot's log has anew gets new numbers.

use std::collections::{HashMap, HashSet};

use crate::snapshot::{CatalogEntry, Snapshot};

/// A file of the log: its path, and which it is of how many of this path. Files of the same content
/// have the same one; where their number changes nobody can know which was dropped, and all are
/// read again.
type FileId = (String, u32, u32);

/// The log as it was last seen: which number each of its files has here.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    files: HashMap<FileId, u32>,
    /// The files by their numbers.
    entries: HashMap<u32, CatalogEntry>,
    next_file: u32,
}

/// A file of a snapshot's log.
pub(crate) struct LogFile<'a> {
    id: FileId,
    pub(super) number: u32,
    pub(super) entry: &'a CatalogEntry,
}

impl Log {
    /// The file of this number.
    pub(crate) fn entry(&self, file: u32) -> Option<&CatalogEntry> {
        self.entries.get(&file)
    }

    /// The numbers of its files.
    pub(super) fn numbers(&self) -> HashSet<u32> {
        self.files.values().copied().collect()
    }

    /// The files of a snapshot's catalog in order, with the numbers that they have or get here.
    pub(crate) fn of<'a>(&self, snapshot: &'a Snapshot) -> Vec<LogFile<'a>> {
        let mut times: HashMap<&str, (u32, u32)> = HashMap::new();
        for entry in &snapshot.catalog {
            times.entry(entry.path.as_str()).or_default().1 += 1;
        }
        let mut next = self.next_file;
        let mut log = Vec::with_capacity(snapshot.catalog.len());
        for entry in &snapshot.catalog {
            let (time, of) = times.entry(entry.path.as_str()).or_default();
            let id = (entry.path.clone(), *time, *of);
            *time += 1;
            let number = self.files.get(&id).copied().unwrap_or_else(|| {
                next += 1;
                next - 1
            });
            log.push(LogFile { id, number, entry });
        }
        log
    }

    /// Goes on to a log that [`Log::of`] gave.
    pub(crate) fn go_on(&mut self, log: Vec<LogFile<'_>>) {
        let next = log.iter().map(|file| file.number + 1).max();
        self.next_file = next.unwrap_or(0).max(self.next_file);
        let entries = log.iter().map(|file| (file.number, file.entry.clone()));
        self.entries = entries.collect();
        self.files = log.into_iter().map(|file| (file.id, file.number)).collect();
    }
}
