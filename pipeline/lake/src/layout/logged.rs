//! Tables whose logs say which files they have: whatever else lies in their folders is none of theirs.

use std::collections::BTreeMap;
use std::sync::Arc;

use limn_formats::{Declaration, Format, ObjectRecord};

use crate::place::split_path;

/// A table as its log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTable {
    /// The folder that it is in; `""` for the lake's root.
    pub folder: String,
    /// The log, then the files that are live.
    pub files: Vec<LogFile>,
}

/// A file of such a table, or its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// The object. Of the log: its folder, with its version as tag.
    pub object: ObjectRecord,
    /// How to read it.
    pub format: Format,
    /// What the log says of it.
    pub logged: Arc<Declaration>,
}

/// The tables of a lake that have logs, by their folders.
#[derive(Clone, Debug, Default)]
pub(super) struct LogTables(BTreeMap<String, LogTable>);

impl LogTables {
    pub(super) fn of(tables: Vec<LogTable>) -> LogTables {
        let tables = tables
            .into_iter()
            .map(|table| (table.folder.clone(), table));
        LogTables(tables.collect())
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// Whether an object lies in the folder of such a table.
    pub(super) fn has(&self, path: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let mut folder = path;
        while !folder.is_empty() {
            folder = split_path(folder).0;
            if self.0.contains_key(folder) {
                return true;
            }
        }
        false
    }
}

impl IntoIterator for LogTables {
    type Item = LogTable;
    type IntoIter = std::collections::btree_map::IntoValues<String, LogTable>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_values()
    }
}
