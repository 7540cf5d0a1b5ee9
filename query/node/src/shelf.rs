//! The shelf: what lists, trees, suggestions and filters need to know of every table, in memory.
//!
//! A table's whole row (its sample, values, files, contexts) is read from the catalog when somebody looks at
//! that table. Schemas are kept once, however many tables share them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use limn_segment::{CatalogEntry, HeldRows, HeldValue, TableKey, TableRecord, is_under};

use crate::access::Reach;

/// What is known of a column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Column {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub data_type: Arc<str>,
    /// What a language model says of it.
    pub narration: Option<Arc<str>>,
}

/// What is known of a table without looking at its row.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Which table.
    pub key: TableKey,
    /// The URL of its file or folder.
    pub location: Arc<str>,
    /// The format of its files.
    pub format: Arc<str>,
    /// Rows, if they are known.
    pub rows: Option<u64>,
    /// Whether they were counted.
    pub rows_exact: bool,
    /// Its columns, in order.
    pub columns: Arc<[Column]>,
    /// When its newest file was written, in milliseconds since 1970.
    pub modified_ms: Option<i64>,
    /// What is wrong with it, if its newest version could not be read.
    pub error: Option<Arc<str>>,
}

impl HeldValue for Facts {
    const COLUMNS: Option<&'static [&'static str]> = Some(&[
        "location",
        "format",
        "rows",
        "rows_exact",
        "columns.list.element.name",
        "columns.list.element.data_type",
        "columns.list.element.narration",
        "files.list.element.modified_ms",
        "files.list.element.since_sample",
        "error",
    ]);

    fn of_row(row: TableRecord) -> Facts {
        let columns = row.columns.iter().map(|column| Column {
            name: column.name.as_str().into(),
            data_type: column.data_type.as_str().into(),
            narration: column.narration.as_deref().map(Into::into),
        });
        let columns = shared(columns.collect());
        Facts {
            location: row.location.as_str().into(),
            format: row.format.as_str().into(),
            rows: row.rows,
            rows_exact: row.rows_exact,
            columns,
            modified_ms: row.files_now().map(|file| file.modified_ms).max(),
            error: row.error.as_deref().map(Into::into),
            key: row.key(),
        }
    }
}

type Schema = Arc<[Column]>;

/// All schemas in use: a thousand tables of one schema hold it once.
static SCHEMAS: LazyLock<Mutex<HashSet<Schema>>> = LazyLock::new(Mutex::default);

fn shared(schema: Schema) -> Schema {
    let mut known = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(&schema) {
        return Arc::clone(known);
    }
    known.insert(Arc::clone(&schema));
    schema
}

/// Lets go of the schemas that no table has any more.
pub fn forget_unused_schemas() {
    let mut known = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|schema| Arc::strong_count(schema) > 1);
}

/// A table on the shelf, and which of the catalog's files holds its row.
#[derive(Clone, Debug)]
pub struct Shelved {
    /// What is known of it.
    pub facts: Arc<Facts>,
    /// The number of the file among those of the [`Shelf`].
    pub file: u32,
}

/// The tables of a snapshot, or those of them that a caller may see, by key.
#[derive(Debug, Default)]
pub struct Shelf {
    tables: Vec<Shelved>,
    /// The files of the catalog that hold rows.
    files: Arc<[CatalogEntry]>,
    columns: u64,
    /// Distinct column names in lower case, with the number of tables that have them.
    names: BTreeMap<Arc<str>, (Arc<str>, u32)>,
}

/// A folder of the tree, and the number of tables below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its path.
    pub path: String,
    /// Tables below it.
    pub tables: u64,
}

impl Shelf {
    /// The shelf of the tables that there are.
    pub fn of(rows: &HeldRows<Facts>) -> Shelf {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut files: Vec<CatalogEntry> = Vec::new();
        let mut tables = Vec::new();
        for (key, facts) in rows.live() {
            let Some(entry) = rows.file_of(key) else {
                continue;
            };
            let file = *numbers.entry(&entry.path).or_insert_with(|| {
                files.push(entry.clone());
                files.len() as u32 - 1
            });
            let facts = Arc::clone(facts);
            tables.push(Shelved { facts, file });
        }
        Shelf::new(tables, files.into())
    }

    /// The shelf of these tables, in the order of their keys.
    fn new(tables: Vec<Shelved>, files: Arc<[CatalogEntry]>) -> Shelf {
        let mut names: BTreeMap<Arc<str>, (Arc<str>, u32)> = BTreeMap::new();
        let mut lower: HashMap<Arc<str>, Arc<str>> = HashMap::new();
        let mut columns = 0;
        for Shelved { facts: table, .. } in &tables {
            columns += table.columns.len() as u64;
            for column in table.columns.iter() {
                let folded = lower.entry(Arc::clone(&column.name));
                let folded = folded.or_insert_with(|| column.name.to_lowercase().into());
                let known = names.entry(Arc::clone(folded));
                known.or_insert_with(|| (Arc::clone(&column.name), 0)).1 += 1;
            }
        }
        Shelf {
            tables,
            files,
            columns,
            names,
        }
    }

    /// The shelf as somebody sees it who may see only this.
    pub fn restricted(&self, reach: &Reach) -> Shelf {
        let seen = self.tables.iter();
        let seen = seen.filter(|table| reach.allows(&table.facts.key));
        Shelf::new(seen.cloned().collect(), Arc::clone(&self.files))
    }

    /// All tables, in the order of their keys.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &Facts> {
        self.tables.iter().map(|table| table.facts.as_ref())
    }

    /// Columns of all tables.
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// The table of this key.
    pub fn get(&self, key: &TableKey) -> Option<&Facts> {
        self.shelved(key).map(|table| table.facts.as_ref())
    }

    fn shelved(&self, key: &TableKey) -> Option<&Shelved> {
        let at = self
            .tables
            .binary_search_by(|table| table.facts.key.cmp(key));
        at.ok().map(|at| &self.tables[at])
    }

    /// The catalog's file that holds a table's row.
    pub fn file_of(&self, key: &TableKey) -> Option<&CatalogEntry> {
        self.files.get(self.shelved(key)?.file as usize)
    }

    /// The tables of this name, of all lakes or of one.
    pub fn named(&self, name: &str, lake: Option<&str>) -> Vec<&Facts> {
        let lakes = self.lakes().into_iter();
        let lakes = lakes.filter(|of| lake.is_none_or(|lake| lake == *of));
        lakes
            .filter_map(|lake| {
                self.get(&TableKey {
                    lake: lake.to_owned(),
                    name: name.to_owned(),
                })
            })
            .collect()
    }

    /// The lakes, in order.
    pub fn lakes(&self) -> Vec<&str> {
        let mut lakes: Vec<&str> = Vec::new();
        let mut at = 0;
        while let Some(table) = self.tables.get(at) {
            let lake = table.facts.key.lake.as_str();
            lakes.push(lake);
            at += self.tables[at..].partition_point(|table| table.facts.key.lake == lake);
        }
        lakes
    }

    /// The tables at a path or below it.
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Facts> {
        let tables = self.tables();
        tables.filter(move |table| is_under(&table.key.name, prefix))
    }

    /// What lies directly in a folder: folders with the number of tables below them, and tables.
    pub fn folder<'a>(&'a self, prefix: &'a str) -> (Vec<Folder>, Vec<&'a Facts>) {
        let prefix = prefix.trim_matches('/');
        let depth = if prefix.is_empty() {
            0
        } else {
            prefix.len() + 1
        };
        let mut folders: BTreeMap<&str, u64> = BTreeMap::new();
        let mut tables = Vec::new();
        for table in self.under(prefix) {
            let Some(rest) = table.key.name.get(depth..) else {
                // The table has the folder's own name.
                tables.push(table);
                continue;
            };
            match rest.find('/') {
                Some(end) => *folders.entry(&table.key.name[..depth + end]).or_default() += 1,
                None => tables.push(table),
            }
        }
        let folders = folders.into_iter().map(|(path, tables)| Folder {
            path: path.to_owned(),
            tables,
        });
        (folders.collect(), tables)
    }

    /// Column names that begin with this text, in whatever case, with the number of tables that have them.
    pub fn column_names<'a>(&'a self, start: &'a str) -> impl Iterator<Item = (&'a str, u32)> {
        let from: Arc<str> = start.into();
        let names = self.names.range(from..);
        names
            .take_while(move |(folded, _)| folded.starts_with(start))
            .map(|(_, (name, tables))| (name.as_ref(), *tables))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn facts(name: &str, columns: &[&str]) -> Shelved {
        let columns = columns.iter().map(|name| Column {
            name: (*name).into(),
            data_type: "text".into(),
            narration: None,
        });
        let facts = Facts {
            key: TableKey {
                lake: "/lake".to_owned(),
                name: name.to_owned(),
            },
            location: name.into(),
            format: "csv".into(),
            rows: Some(1),
            rows_exact: true,
            columns: columns.collect(),
            modified_ms: None,
            error: None,
        };
        Shelved {
            facts: Arc::new(facts),
            file: 0,
        }
    }

    #[test]
    fn folders_are_counted_and_a_restricted_shelf_knows_nothing_else() {
        let tables = vec![
            facts("hr", &["Salary"]),
            facts("sales", &["x"]),
            facts("sales/2024/orders", &["Day", "amount"]),
            facts("sales/2025/orders", &["day"]),
        ];
        let shelf = Shelf::new(tables, Arc::default());
        let (folders, tables) = shelf.folder("");
        let names = |tables: &[&Facts]| -> Vec<String> {
            tables.iter().map(|table| table.key.name.clone()).collect()
        };
        assert_eq!(folders.len(), 1);
        assert_eq!((folders[0].path.as_str(), folders[0].tables), ("sales", 2));
        assert_eq!(names(&tables), ["hr", "sales"]);
        let (folders, tables) = shelf.folder("sales/");
        assert_eq!(folders.len(), 2);
        assert_eq!(names(&tables), ["sales"]);
        let days: Vec<_> = shelf.column_names("da").collect();
        assert_eq!(days, [("Day", 2)]);

        let seen = shelf.restricted(&Reach::under(["sales".to_owned()]));
        assert_eq!((seen.tables().len(), seen.columns()), (3, 4));
        assert_eq!(seen.column_names("sal").count(), 0);
        assert!(seen.named("hr", None).is_empty());
        assert_eq!(shelf.named("hr", Some("/lake")).len(), 1);
        assert!(shelf.named("hr", Some("/other")).is_empty());
    }
}
