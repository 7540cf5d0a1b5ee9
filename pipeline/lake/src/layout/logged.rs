//! Tables whose logs say which files they have: whatever else lies in their folders is none of
//! theirs.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use limn_formats::{Declaration, Format, ObjectRecord};
use limn_profile::{DeclaredReading, Deletes, Logged};

use crate::place::upwards;
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
    /// A table as a catalog has it: each file with what was declared of it. None where the catalog
    /// lacks the log, or how to read a file.
    pub fn of_catalog(
        folder: &str,
        files: impl IntoIterator<Item = (ObjectRecord, Arc<Declaration>)>,
        log: Format,
    ) -> Option<LogTable> {
        let files: Vec<_> = files.into_iter().collect();
        let said = |logged: &Arc<Declaration>| logged.reading.logged.as_ref()?.table.clone();
        let table = files.iter().find_map(|(_, logged)| said(logged));
        let of_record = |(object, mut logged): (ObjectRecord, Arc<Declaration>)| {
            if !Declaration::complete(&mut logged, table.as_ref()) {
                return None;
            }
            let said = logged.reading.logged.as_ref()?;
            let format = match said.table {
                Some(_) => log,
                // What a name does not show the log says.
                None => Format::of_path(&object.path).filter(|it| !it.is_uncertain())?,
            };
            Some(LogFile {
                object,
                format,
                logged,
            })
        };
        let files: Option<Vec<LogFile>> = files.into_iter().map(of_record).collect();
        let mut files = files?;
        files.sort_by_key(|it| !it.format.is_log());
        let has_log = files.first().is_some_and(|it| it.format.is_log());
        has_log.then(|| LogTable {
            folder: folder.to_owned(),
            files,
        })
    }

    /// Whether it is the table of this log, in this version. Some listings have no times.
    pub(crate) fn has_log(&self, log: &ObjectRecord) -> bool {
        let own = self.files.first().map(|it| &it.object);
        own.is_some_and(|own| {
            let modified_ms = match log.modified_ms {
                0 => own.modified_ms,
                modified_ms => modified_ms,
            };
            *own == ObjectRecord {
                modified_ms,
                ..log.clone()
            }
        })
    }

    /// The log, and what it says of files; none of a table that lacks either.
    pub(crate) fn parts(self) -> Option<(LogFile, NamedFiles)> {
        let mut files = self.files.into_iter();
        let log = files.next()?;
        let said = |file: LogFile| {
            let logged = file.logged.reading.logged.as_deref().cloned()?;
            Some((file.object.path, file.format, logged))
        };
        Some((log, files.map(said).collect::<Option<_>>()?))
    }
}

/// Files as a log names them: their paths in the lake, how they are read, and what the log says of
/// them.
pub(crate) type NamedFiles = Vec<(String, Format, Logged)>;

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

    /// Whether a folder is that of such a table, or lies in it.
    pub(super) fn has_folder(&self, folder: &str) -> bool {
        !self.tables.is_empty() && upwards(folder).any(|it| self.tables.contains_key(it))
    }

    /// Whether an object is read for such a table and lies elsewhere than in its folder.
    pub(super) fn is_elsewhere(&self, path: &str) -> bool {
        self.elsewhere.contains(path)
    }
}

impl IntoIterator for LogTables {
    type Item = LogTable;
    type IntoIter = std::collections::btree_map::IntoValues<String, LogTable>;

    fn into_iter(self) -> Self::IntoIter {
        self.tables.into_values()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use limn_profile::{Constant, LoggedTable, NestedName, NestedNames, SharedNames};

    use super::*;

    fn names(fields: usize) -> Option<SharedNames> {
        let name = |at: usize| NestedName {
            path: vec!["col-5a1c0a5e".to_owned(), format!("col-{at:08x}")],
            name: Some(format!("name of field {at}")),
            ..NestedName::default()
        };
        SharedNames::of(NestedNames {
            fields: (0..fields).map(name).collect(),
            only: true,
        })
    }

    fn file(path: String, format: Format, logged: Logged) -> LogFile {
        let object = ObjectRecord {
            path,
            etag: None,
            version: None,
            size: 1,
            modified_ms: 0,
        };
        LogFile::new(object, format, logged)
    }

    /// A table of so many files, with so many fields within columns.
    fn table(files: usize, fields: usize) -> LogTable {
        let nested = names(fields);
        let of_table = LoggedTable {
            nested: nested.clone(),
            ..LoggedTable::default()
        };
        let log = Logged {
            table: Some(of_table),
            ..Logged::default()
        };
        let log = file("t/_delta_log".to_owned(), Format::Delta, log);
        let data = (0..files).map(|at| {
            let constant = Constant {
                value: Some(at.to_string()),
                ..Constant::default()
            };
            let logged = Logged {
                constants: vec![constant],
                nested: nested.clone(),
                ..Logged::default()
            };
            file(format!("t/{at}.parquet"), Format::Parquet, logged)
        });
        LogTable {
            folder: "t".to_owned(),
            files: std::iter::once(log).chain(data).collect(),
        }
    }

    fn texts(table: &LogTable) -> Vec<String> {
        let files = table.files.iter();
        files.map(|it| it.logged.to_json().unwrap()).collect()
    }

    fn of_texts(table: &LogTable, texts: &[String]) -> Option<LogTable> {
        let files = table.files.iter().zip(texts);
        let files = files.map(|(file, text)| {
            let declared = Declaration::from_json(text).unwrap();
            (file.object.clone(), declared)
        });
        LogTable::of_catalog("t", files, Format::Delta)
    }

    #[test]
    fn names_of_fields_within_columns_are_in_a_catalog_once_a_table() {
        let table = table(1_000, 100);
        let texts = texts(&table);
        let size = |texts: &[String]| texts.iter().map(String::len).sum::<usize>();
        assert!(size(&texts[..1]) > 5_000, "{}", texts[0]);
        assert!(size(&texts[1..]) < 1_000 * 300, "{}", texts[1]);
        let read = of_texts(&table, &texts).unwrap();
        assert_eq!(read, table);
        let said = |file: &LogFile| file.logged.reading.logged.as_ref()?.nested.clone();
        let names = |file: &LogFile| std::ptr::from_ref(said(file).unwrap().names().unwrap());
        assert_eq!(names(&read.files[1]), names(&read.files[1_000]));
        // Of a table that lacks them nothing is said.
        let plain = self::texts(&self::table(1, 0));
        assert!(plain.iter().all(|it| !it.contains("\"f\"")), "{plain:?}");
        // Files of other names than their log has are to be read by a log that is read anew.
        let other = self::texts(&self::table(0, 99)).remove(0);
        let mut torn = texts.clone();
        torn[0] = other;
        assert_eq!(of_texts(&table, &torn), None);
    }
}
