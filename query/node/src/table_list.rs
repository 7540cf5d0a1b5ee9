//! The table list: what lists, trees, suggestions and filters need to know of every table.
//!
//! It lies in a file ([`PackedTables`]); in memory is what is looked at. A table's whole row (its
//! sample, values, files, contexts) is read from the catalog when somebody looks at that table.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use limn_segment::{CatalogEntry, KeyRef, PackedTables, TableKey, is_under};

use crate::access::Reach;
use crate::families::{Families, FamilyId};
use crate::names::{Names, last_part};

pub use limn_segment::{ColumnFacts as Column, TableFacts as Facts};

/// Tables that are named of a folder.
const FIRST: usize = 4;
/// Tables among which near names are looked for.
const NEAR_AMONG: usize = 20_000;

/// The tables of a snapshot, or those of them that a caller may see, by key.
#[derive(Debug, Default)]
pub struct TableList {
    rows: PackedTables,
    /// The numbers of the rows that are shown, in order; `None` where all are.
    shown: Option<Vec<u32>>,
    columns: u64,
    /// Distinct column names: in lower case, as one of them is written, and the number of tables
    /// that have them.
    names: BTreeMap<String, (String, u32)>,
    /// Made when something is suggested first.
    table_names: OnceLock<Names>,
    /// Made when tables are listed first.
    families: OnceLock<Families>,
}

/// A folder of the tree, and the number of tables below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// Its path.
    pub path: String,
    /// Tables below it.
    pub tables: u64,
    /// What the text of the folder itself (its README) says first.
    pub brief: Option<String>,
    /// The names of the first tables below it.
    pub first: Vec<String>,
    /// When its newest file was written, in milliseconds since 1970.
    pub modified_ms: Option<i64>,
}

impl Folder {
    fn at(path: &str) -> Folder {
        Folder {
            path: path.to_owned(),
            tables: 0,
            brief: None,
            first: Vec::new(),
            modified_ms: None,
        }
    }

    fn add(&mut self, table: &Facts<'_>) {
        self.tables += 1;
        self.modified_ms = self.modified_ms.max(table.modified_ms);
        if self.first.len() < FIRST {
            self.first.push(table.key.name.to_owned());
        }
        if self.brief.is_none() {
            let own = table
                .texts()
                .find(|text| is_readme(text.source, &self.path));
            self.brief = own.map(|text| text.brief.to_owned());
        }
    }
}

/// Whether a text is the README of this folder.
fn is_readme(source: &str, folder: &str) -> bool {
    let file = source
        .strip_prefix(folder)
        .and_then(|rest| rest.strip_prefix('/'));
    file.is_some_and(is_called_readme)
}

fn is_called_readme(file: &str) -> bool {
    file.get(..6)
        .is_some_and(|start| start.eq_ignore_ascii_case("readme"))
        && !file.contains('/')
}

/// What a table is, in a line: what people registered for it comes first, then texts that lie
/// beside it. What a README says is about its folder, and of a table only where the folder is the
/// table.
pub fn description<'a>(table: &Facts<'a>) -> Option<&'a str> {
    let is_of_folder =
        |source: &str| is_called_readme(last_part(source)) && !is_readme(source, table.key.name);
    let own = table.texts().filter(|text| !is_of_folder(text.source));
    let best = own.min_by_key(|text| text.source != limn_segment::REGISTERED);
    best.map(|text| text.brief)
}

impl TableList {
    /// The list of all tables.
    pub fn of(rows: PackedTables) -> TableList {
        let live = (0..rows.len()).filter(|number| rows.table(*number).is_some());
        let shown: Vec<u32> = live.map(|number| number as u32).collect();
        TableList::showing(rows, shown)
    }

    fn showing(rows: PackedTables, shown: Vec<u32>) -> TableList {
        let mut table_list = TableList {
            shown: (shown.len() < rows.len()).then_some(shown),
            rows,
            ..TableList::default()
        };
        let mut columns = 0;
        // How often each is written so, and which of them comes first.
        let mut written: HashMap<&str, (u32, u64)> = HashMap::new();
        for table in table_list.tables() {
            for column in table.columns() {
                columns += 1;
                written.entry(column.name).or_insert((0, columns)).0 += 1;
            }
        }
        let mut written: Vec<(&str, (u32, u64))> = written.into_iter().collect();
        written.sort_unstable_by_key(|(_, (_, first))| *first);
        let mut names: BTreeMap<String, (String, u32)> = BTreeMap::new();
        for (name, (times, _)) in written {
            let known = names.entry(name.to_lowercase());
            known.or_insert_with(|| (name.to_owned(), 0)).1 += times;
        }
        (table_list.columns, table_list.names) = (columns, names);
        table_list
    }

    /// The list as a caller sees it whose reach is this.
    pub fn restricted(&self, reach: &Reach) -> TableList {
        let mut key = TableKey {
            lake: String::new(),
            name: String::new(),
        };
        let mut is_seen = |number: &u32| {
            let table = self.rows.table(*number as usize);
            table.is_some_and(|table| {
                table.key.write_to(&mut key);
                reach.allows(&key)
            })
        };
        let seen = self.numbers().filter(&mut is_seen).collect();
        TableList::showing(self.rows.clone(), seen)
    }

    /// The numbers of the rows that are shown.
    fn numbers(&self) -> impl ExactSizeIterator<Item = u32> + Clone {
        let count = self.shown.as_ref().map_or(self.rows.len(), Vec::len);
        (0..count).map(|at| self.number(at))
    }

    fn number(&self, at: usize) -> u32 {
        match &self.shown {
            Some(shown) => shown[at],
            None => at as u32,
        }
    }

    /// All tables, in the order of their keys.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = Facts<'_>> + Clone {
        self.numbers().map(|number| self.table(number))
    }

    fn table(&self, number: u32) -> Facts<'_> {
        // Only rows of tables are shown, so that it is there.
        let table = self.rows.table(number as usize);
        table.unwrap_or_else(|| Facts::unknown(KeyRef { lake: "", name: "" }))
    }

    /// Columns of all tables.
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// The table of this key.
    pub fn get(&self, key: &TableKey) -> Option<Facts<'_>> {
        self.rows.table(self.find(key)?)
    }

    fn find(&self, key: &TableKey) -> Option<usize> {
        let number = self.rows.find(key.borrowed())?;
        let is_shown = |shown: &Vec<u32>| shown.binary_search(&(number as u32)).is_ok();
        self.shown.as_ref().is_none_or(is_shown).then_some(number)
    }

    /// The catalog's file that holds a table's row.
    pub fn file_of(&self, key: &TableKey) -> Option<&CatalogEntry> {
        self.rows.file_of(self.find(key)?)
    }

    /// The tables of this name, of all lakes or of one.
    pub fn named(&self, name: &str, lake: Option<&str>) -> Vec<Facts<'_>> {
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

    /// The names of tables that may be meant by one that none has: without slashes around it or an
    /// extension, in other case, or the last part alone. At most three; none where there are so
    /// many tables that looking takes its time.
    pub fn near(&self, name: &str) -> Vec<&str> {
        if self.tables().len() > NEAR_AMONG {
            return Vec::new();
        }
        let wanted = name.trim_matches('/').to_lowercase();
        let (folder, last) = match wanted.rsplit_once('/') {
            Some((folder, last)) => (folder, last),
            None => ("", wanted.as_str()),
        };
        let stem = last.split('.').next().unwrap_or(last);
        let is_near = |table: &Facts<'_>| {
            let name = table.key.name.to_lowercase();
            let in_folder = folder.ends_with(name.rsplit_once('/').map_or("", |it| it.0));
            let last_part = last_part(&name);
            last_part == last
                || last_part == stem
                || (in_folder && strsim::levenshtein(last_part, stem) <= 2)
        };
        let near = self.tables().filter(is_near).map(|table| table.key.name);
        near.take(3).collect()
    }

    /// The lakes, in order.
    pub fn lakes(&self) -> Vec<&str> {
        let count = self.numbers().len();
        let lake_of = |at: usize| self.table(self.number(at)).key.lake;
        let mut lakes: Vec<&str> = Vec::new();
        let mut at = 0;
        while at < count {
            let lake = lake_of(at);
            lakes.push(lake);
            let (mut low, mut high) = (at, count);
            while low < high {
                let middle = low + (high - low) / 2;
                if lake_of(middle) == lake {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            at = low;
        }
        lakes
    }

    /// The tables at a path or below it.
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = Facts<'a>> {
        let tables = self.tables();
        tables.filter(move |table| is_under(table.key.name, prefix))
    }

    /// What lies directly in a folder: folders with the number of tables below them, and tables.
    pub fn folder<'a>(&'a self, prefix: &'a str) -> (Vec<Folder>, Vec<Facts<'a>>) {
        let prefix = prefix.trim_matches('/');
        let depth = if prefix.is_empty() {
            0
        } else {
            prefix.len() + 1
        };
        let mut folders: BTreeMap<&str, Folder> = BTreeMap::new();
        let mut tables = Vec::new();
        for table in self.under(prefix) {
            let Some(rest) = table.key.name.get(depth..) else {
                // The table has the folder's own name.
                tables.push(table);
                continue;
            };
            // Below a container there are two slashes.
            let start = table.key.name.len() - rest.trim_start_matches('/').len();
            match table.key.name[start..].find('/') {
                Some(end) => {
                    let path = &table.key.name[..start + end];
                    let folder = folders.entry(path);
                    folder.or_insert_with(|| Folder::at(path)).add(&table);
                }
                None => tables.push(table),
            }
        }
        (folders.into_values().collect(), tables)
    }

    /// Makes what the first suggestion and the first list would wait for.
    pub fn prepare(&self) {
        self.names();
        self.families();
    }

    /// The families among the tables, by their places in [`TableList::tables`].
    pub fn families(&self) -> &Families {
        self.families.get_or_init(|| Families::among(self.tables()))
    }

    /// The family of a table.
    pub fn family(&self, key: &TableKey) -> Option<FamilyId> {
        let number = self.find(key)?;
        let place = match &self.shown {
            Some(shown) => shown.binary_search(&(number as u32)).ok()?,
            None => number,
        };
        self.families().of(place)
    }

    fn names(&self) -> &Names {
        let names = || Names::of(self.tables().map(|table| table.key.name));
        self.table_names.get_or_init(names)
    }

    /// The tables whose name, behind its last slash, is this (in lower case) but for case.
    pub fn called(&self, last_part: &str) -> impl Iterator<Item = Facts<'_>> {
        let found = self.names().called(last_part);
        found.map(|at| self.table(self.number(at as usize)))
    }

    /// Up to `limit` tables for somebody who has typed `word` (in lower case): first those of which
    /// the name or its last part begins so, then those that have it anywhere.
    pub fn suggested(&self, word: &str, limit: usize) -> impl Iterator<Item = Facts<'_>> {
        let found = self.names().find(word, limit).into_iter();
        found.map(|at| self.table(self.number(at as usize)))
    }

    /// Column names that begin with this text, in whatever case, with the number of tables that
    /// have them.
    pub fn column_names<'a>(&'a self, start: &'a str) -> impl Iterator<Item = (&'a str, u32)> {
        let names = self.names.range(start.to_owned()..);
        names
            .take_while(move |(folded, _)| folded.starts_with(start))
            .map(|(_, (name, tables))| (name.as_str(), *tables))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use limn_segment::{ColumnRecord, IndexStore, Shard, Snapshot, TableRecord};

    use super::*;

    fn row(name: &str, columns: &[&str]) -> TableRecord {
        let columns = columns.iter().map(|name| ColumnRecord {
            name: (*name).to_owned(),
            data_type: "text".to_owned(),
            ..ColumnRecord::default()
        });
        TableRecord {
            lake: "/lake".to_owned(),
            name: name.to_owned(),
            location: name.to_owned(),
            format: "csv".to_owned(),
            rows: Some(1),
            columns: columns.collect(),
            ..TableRecord::default()
        }
    }

    async fn table_list(rows: &[TableRecord]) -> TableList {
        let folder = tempfile::tempdir().unwrap();
        let index = IndexStore::open(folder.path().to_str().unwrap()).unwrap();
        let mut snapshot = Snapshot::first("m", 1, 1);
        let entry = index.put_catalog(Shard(0), rows).await.unwrap();
        snapshot.catalog.push(entry);
        let rows = PackedTables::default().advanced(&index, &snapshot).await;
        TableList::of(rows.unwrap())
    }

    #[tokio::test]
    async fn containers_are_folders() {
        let table_list = table_list(&[
            row("a/x.zip//book.xlsx//2024", &["b"]),
            row("a/x.zip//orders", &["a"]),
        ])
        .await;
        let mut at = String::new();
        for (path, tables) in [("a", 0), ("a/x.zip", 0), ("a/x.zip//book.xlsx", 1)] {
            let (folders, here) = table_list.folder(&at);
            assert_eq!(here.len(), tables, "{at}");
            assert_eq!(folders.len(), 1, "{folders:?}");
            assert_eq!(folders[0].path, path);
            at = folders[0].path.clone();
        }
        let (folders, here) = table_list.folder(&at);
        assert_eq!((folders.len(), here.len()), (0, 1));
        assert_eq!(here[0].key.name, "a/x.zip//book.xlsx//2024");
    }

    #[tokio::test]
    async fn folders_are_counted_and_a_restricted_list_knows_nothing_else() {
        let removed = TableRecord {
            removed: true,
            ..row("sales/2023/orders", &["gone"])
        };
        let table_list = table_list(&[
            row("hr", &["Salary"]),
            row("sales", &["x"]),
            removed,
            row("sales/2024/orders", &["Day", "amount"]),
            row("sales/2025/orders", &["day"]),
        ])
        .await;
        assert_eq!((table_list.tables().len(), table_list.columns()), (4, 5));
        let (folders, tables) = table_list.folder("");
        let names = |tables: &[Facts]| -> Vec<String> {
            let names = tables.iter().map(|table| table.key.name.to_owned());
            names.collect()
        };
        assert_eq!(folders.len(), 1);
        assert_eq!((folders[0].path.as_str(), folders[0].tables), ("sales", 2));
        assert_eq!(names(&tables), ["hr", "sales"]);
        let (folders, tables) = table_list.folder("sales/");
        assert_eq!(folders.len(), 2);
        assert_eq!(names(&tables), ["sales"]);
        let days: Vec<_> = table_list.column_names("da").collect();
        assert_eq!(days, [("Day", 2)]);
        let suggested: Vec<Facts> = table_list.suggested("o", 9).collect();
        assert_eq!(
            names(&suggested),
            ["sales/2024/orders", "sales/2025/orders"]
        );

        let seen = table_list.restricted(&Reach::under(["sales".to_owned()]));
        assert_eq!((seen.tables().len(), seen.columns()), (3, 4));
        assert_eq!(seen.column_names("sal").count(), 0);
        assert_eq!(seen.suggested("r", 9).count(), 2);
        assert!(seen.named("hr", None).is_empty());
        assert_eq!(table_list.named("hr", Some("/lake")).len(), 1);
        assert!(table_list.named("hr", Some("/other")).is_empty());
        assert_eq!(table_list.lakes(), ["/lake"]);
        let key = |name: &str| TableKey {
            lake: "/lake".to_owned(),
            name: name.to_owned(),
        };
        assert!(table_list.get(&key("sales/2023/orders")).is_none());
        assert!(seen.get(&key("hr")).is_none() && seen.file_of(&key("hr")).is_none());
        assert!(seen.get(&key("sales")).is_some() && seen.file_of(&key("sales")).is_some());
    }
}
