//! The tables that a caller may see, and the lakes that they lie in.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use limn_formats::{ReadOptions, Room};
use limn_segment::{TableKey, TableRecord};
use limn_store::Store;

use crate::error::SqlError;
use crate::names;
use crate::table::Table;

/// Bytes of files that the scans of a catalogue's statements fetch ahead, together.
const FETCHED: u64 = 256 << 20;

/// A lake that is open.
#[derive(Clone)]
pub struct Lake {
    /// Where its files are.
    pub store: Store,
    /// How its files are read: by them, views of databases may be.
    pub options: ReadOptions,
}

/// A table in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The lake that it is of, by its URL.
    pub lake: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its rows, if they are known.
    pub rows: Option<u64>,
    /// The number of its columns.
    pub columns: usize,
}

/// Tables to look up: those of one snapshot that a caller may see. A statement looks up the names
/// that are in it.
pub trait Tables: Send + Sync {
    /// The tables whose name, behind its last slash, is this (in lower case) but for case.
    fn called(&self, last_part: &str) -> Vec<TableKey>;

    /// All tables, in any order: for SHOW TABLES, and for suggestions where a name is none.
    fn lines(&self) -> Box<dyn Iterator<Item = Line<'_>> + '_>;

    /// The lakes that they lie in, in order.
    fn lakes(&self) -> Vec<&str>;

    /// All that the index knows of a table. May wait: it is asked on the thread that plans a
    /// statement.
    ///
    /// # Errors
    /// [`SqlError::Catalogue`] if the index cannot be read.
    fn record(&self, key: &TableKey) -> Result<Arc<TableRecord>, SqlError>;
}

/// Records that are at hand, by name and lake.
struct Records(Vec<Arc<TableRecord>>);

impl Tables for Records {
    fn called(&self, last_part: &str) -> Vec<TableKey> {
        let is_called = |table: &&Arc<TableRecord>| {
            let last = table.name.rsplit('/').next().unwrap_or_default();
            last.to_lowercase() == last_part
        };
        let found = self.0.iter().filter(is_called);
        found.map(|table| table.key()).collect()
    }

    fn lines(&self) -> Box<dyn Iterator<Item = Line<'_>> + '_> {
        Box::new(self.0.iter().map(|table| Line {
            lake: &table.lake,
            name: &table.name,
            rows: table.rows,
            columns: table.columns.len(),
        }))
    }

    fn lakes(&self) -> Vec<&str> {
        let mut lakes: Vec<&str> = self.0.iter().map(|table| table.lake.as_str()).collect();
        lakes.sort_unstable();
        lakes.dedup();
        lakes
    }

    fn record(&self, key: &TableKey) -> Result<Arc<TableRecord>, SqlError> {
        let wanted = (key.name.as_str(), key.lake.as_str());
        let place = self
            .0
            .binary_search_by(|it| (it.name.as_str(), it.lake.as_str()).cmp(&wanted));
        match place {
            Ok(place) => Ok(Arc::clone(&self.0[place])),
            Err(_) => Err(SqlError::Internal(format!(
                "'{}' is not in the catalog",
                key.name
            ))),
        }
    }
}

type OpenLake = dyn Fn(&str) -> Result<Lake, SqlError> + Send + Sync;

/// The tables of one snapshot that a caller may see. Names, suggestions and errors are of these
/// only.
pub struct Catalogue {
    tables: Box<dyn Tables>,
    /// The only lake whose tables count, if it is one.
    lake: Option<String>,
    open: Box<OpenLake>,
    lakes: Mutex<HashMap<String, Lake>>,
    /// For what scans hold of files.
    room: Room,
}

impl Catalogue {
    /// These tables, removed ones left out. `open` opens a lake by its URL; it is asked once a
    /// lake, when a query first names one of its tables.
    pub fn new(
        tables: impl IntoIterator<Item = TableRecord>,
        open: impl Fn(&str) -> Result<Lake, SqlError> + Send + Sync + 'static,
    ) -> Catalogue {
        let tables = tables.into_iter().filter(|table| !table.removed);
        let mut tables: Vec<Arc<TableRecord>> = tables.map(Arc::new).collect();
        tables.sort_by(|a, b| (&a.name, &a.lake).cmp(&(&b.name, &b.lake)));
        Catalogue::over(Records(tables), open)
    }

    /// Tables that are looked up; `open` as above.
    pub fn over(
        tables: impl Tables + 'static,
        open: impl Fn(&str) -> Result<Lake, SqlError> + Send + Sync + 'static,
    ) -> Catalogue {
        Catalogue {
            tables: Box::new(tables),
            lake: None,
            open: Box::new(open),
            lakes: Mutex::default(),
            room: Room::of(FETCHED),
        }
    }

    /// Only the tables of this lake.
    ///
    /// # Errors
    /// [`SqlError::UnknownLake`] if there is none.
    pub fn of_lake(mut self, lake: &str) -> Result<Catalogue, SqlError> {
        let known = self.tables.lakes();
        if !known.contains(&lake) {
            return Err(SqlError::UnknownLake {
                lake: lake.to_owned(),
                known: known.into_iter().map(str::to_owned).collect(),
            });
        }
        self.lake = Some(lake.to_owned());
        Ok(self)
    }

    /// The tables, in any order.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let lines = self.tables.lines();
        lines.filter(|line| self.has_lake(line.lake))
    }

    /// Whether its tables are of several lakes.
    pub(crate) fn has_several_lakes(&self) -> bool {
        self.lake.is_none() && self.tables.lakes().len() > 1
    }

    /// The tables that are called so behind their last slash, but for case.
    pub(crate) fn called(&self, last_part: &str) -> impl Iterator<Item = TableKey> {
        let found = self.tables.called(last_part).into_iter();
        found.filter(|key| self.has_lake(&key.lake))
    }

    fn has_lake(&self, lake: &str) -> bool {
        self.lake.as_ref().is_none_or(|only| only == lake)
    }

    /// The record of the table that these parts of a name mean.
    pub(crate) fn record(&self, parts: &[&str]) -> Result<Arc<TableRecord>, SqlError> {
        self.tables.record(&names::resolve(self, parts)?)
    }

    /// The record of the table of this whole name, of a lake or the only one that has it.
    pub(crate) fn record_of(
        &self,
        name: &str,
        lake: Option<&str>,
    ) -> Result<Arc<TableRecord>, SqlError> {
        match lake {
            None => self.record(&[name]),
            Some(lake) => {
                let last = name.rsplit('/').next().unwrap_or_default().to_lowercase();
                let mut found = self.called(&last);
                let key = found.find(|key| key.name == name && key.lake == lake);
                match key {
                    Some(key) => self.tables.record(&key),
                    None => self.record(&[name]).and(Err(SqlError::UnknownTable {
                        name: format!("{name} of {lake}"),
                        near: Vec::new(),
                    })),
                }
            }
        }
    }

    /// The rows of a table. Its files' summaries are parsed here, and of no other table.
    pub(crate) fn table(&self, record: Arc<TableRecord>) -> Result<Table, SqlError> {
        let lake = self.lake(&record.lake)?;
        Table::open(record, lake)
    }

    fn lake(&self, url: &str) -> Result<Lake, SqlError> {
        // A panic elsewhere leaves nothing half-done here.
        let mut lakes = self.lakes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lake) = lakes.get(url) {
            return Ok(lake.clone());
        }
        let mut lake = (self.open)(url)?;
        lake.options.room = self.room.clone();
        lakes.insert(url.to_owned(), lake.clone());
        Ok(lake)
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalogue")
            .field("lake", &self.lake)
            .finish_non_exhaustive()
    }
}
