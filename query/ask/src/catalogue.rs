//! The tables that a caller may see, and the lakes that they lie in.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use limn_lake::{ReadOptions, Room};
use limn_segment::TableRecord;
use limn_store::Store;

use crate::error::AskError;
use crate::names::{self, Named};
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

type OpenLake = dyn Fn(&str) -> Result<Lake, AskError> + Send + Sync;

/// The tables of one snapshot that a caller may see. Names, suggestions and errors are of these only.
pub struct Catalogue {
    tables: Vec<Arc<TableRecord>>,
    open: Box<OpenLake>,
    lakes: Mutex<HashMap<String, Lake>>,
    /// For what scans hold of files.
    room: Room,
}

impl Named for Arc<TableRecord> {
    fn lake(&self) -> &str {
        &self.lake
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Catalogue {
    /// These tables, removed ones left out. `open` opens a lake by its URL; it is asked once a lake, when a query first names
    /// one of its tables.
    pub fn new(
        tables: impl IntoIterator<Item = TableRecord>,
        open: impl Fn(&str) -> Result<Lake, AskError> + Send + Sync + 'static,
    ) -> Catalogue {
        let tables = tables.into_iter().filter(|table| !table.removed);
        let mut tables: Vec<Arc<TableRecord>> = tables.map(Arc::new).collect();
        tables.sort_by(|a, b| (&a.name, &a.lake).cmp(&(&b.name, &b.lake)));
        Catalogue {
            tables,
            open: Box::new(open),
            lakes: Mutex::default(),
            room: Room::of(FETCHED),
        }
    }

    /// Only the tables of this lake.
    ///
    /// # Errors
    /// [`AskError::UnknownLake`] if there is none.
    pub fn of_lake(mut self, lake: &str) -> Result<Catalogue, AskError> {
        if !self.tables.iter().any(|table| table.lake == lake) {
            return Err(AskError::UnknownLake {
                lake: lake.to_owned(),
                known: self.lakes().into_iter().map(str::to_owned).collect(),
            });
        }
        self.tables.retain(|table| table.lake == lake);
        Ok(self)
    }

    /// The tables, by name.
    pub fn tables(&self) -> impl Iterator<Item = &TableRecord> {
        self.tables.iter().map(AsRef::as_ref)
    }

    /// The lakes that the tables lie in.
    pub fn lakes(&self) -> BTreeSet<&str> {
        self.tables
            .iter()
            .map(|table| table.lake.as_str())
            .collect()
    }

    /// The record of the table that these parts of a name mean.
    pub(crate) fn record(&self, parts: &[&str]) -> Result<&Arc<TableRecord>, AskError> {
        names::resolve(&self.tables, parts)
    }

    /// The rows of a table. Its files' summaries are parsed here, and of no other table.
    pub(crate) fn table(&self, record: &Arc<TableRecord>) -> Result<Table, AskError> {
        let lake = self.lake(&record.lake)?;
        Table::open(Arc::clone(record), lake)
    }

    fn lake(&self, url: &str) -> Result<Lake, AskError> {
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
        let tables = self.tables.len();
        f.debug_struct("Catalogue")
            .field("tables", &tables)
            .finish_non_exhaustive()
    }
}
