//! Tables whose logs say which files they have: whatever else lies in their folders is none of theirs.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use limn_formats::{Declaration, Format, ObjectRecord};
use limn_profile::{DeclaredReading, Deletes, Logged};

use crate::place::split_path;
use crate::reach::is_within;

/// A table as its log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTable {
    /// The folder that it is in; `""` for the lake's root.
    pub folder: String,
    /// The log, then the files that are live.
    pub files: Vec<LogFile>,
}

impl LogTable {
    /// A table in a catalog's folder as an index has it: each file with what was said of it, and whether it is the log.
    pub fn known(folder: &str, files: Vec<(ObjectRecord, Arc<Declaration>, bool)>) -> LogTable {
        let files = files.into_iter().map(|(object, logged, is_log)| LogFile {
            object,
            format: match is_log {
                true => Format::Iceberg,
                false => Format::Parquet,
            },
            logged,
        });
        LogTable {
            folder: folder.to_owned(),
            files: files.collect(),
        }
    }
}

/// A file of such a table, or its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// The object. Of the log: its folder, with its version.
    pub object: ObjectRecord,
    /// How to read it.
    pub format: Format,
    /// What the log says of it.
    pub logged: Arc<Declaration>,
}

impl LogFile {
    /// A file of which a log says this.
    pub(crate) fn new(object: ObjectRecord, format: Format, logged: Logged) -> LogFile {
        let reading = DeclaredReading {
            logged: Some(Box::new(logged)),
            ..DeclaredReading::default()
        };
        LogFile {
            object,
            format,
            logged: Arc::new(Declaration {
                reading,
                ..Declaration::default()
            }),
        }
    }

    /// The objects that it is read from.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let logged = self.logged.reading.logged.iter();
        let deletes = logged.flat_map(|it| &it.deletes).filter_map(Deletes::path);
        deletes.chain([self.object.path.as_str()])
    }
}

/// The tables of a lake that have logs.
#[derive(Clone, Debug, Default)]
pub(super) struct LogTables {
    /// By their folders.
    tables: BTreeMap<String, LogTable>,
    /// What they are read from in other folders than their own.
    elsewhere: HashSet<String>,
}

impl LogTables {
    pub(super) fn of(tables: Vec<LogTable>) -> LogTables {
        let mut elsewhere = HashSet::new();
        for table in &tables {
            let paths = table.files.iter().flat_map(LogFile::paths);
            let others = paths.filter(|path| !is_within(path, &table.folder));
            elsewhere.extend(others.map(str::to_owned));
        }
        let tables = tables.into_iter();
        LogTables {
            tables: tables.map(|it| (it.folder.clone(), it)).collect(),
            elsewhere,
        }
    }

    pub(super) fn folders(&self) -> impl Iterator<Item = &String> {
        self.tables.keys()
    }

    /// Whether an object lies in the folder of such a table, or is read for one.
    pub(super) fn has(&self, path: &str) -> bool {
        if self.tables.is_empty() {
            return false;
        }
        if self.elsewhere.contains(path) {
            return true;
        }
        let mut folder = path;
        while !folder.is_empty() {
            folder = split_path(folder).0;
            if self.tables.contains_key(folder) {
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
        self.tables.into_values()
    }
}
