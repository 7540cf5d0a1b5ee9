//! What changed of a lake's tables between two snapshots: the change feed.
//!
//! It is of the lake, not of the index: a table that was only described anew, by other settings or
//! in a model's words, has not changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Serialize;

use crate::catalog::{ColumnRecord, FileRecord, TableRecord};
use crate::table::TableKey;

/// The tables that differ between two snapshots, each list in the order of lake and name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TableChanges {
    /// Tables that are new.
    pub appeared: Vec<TableSize>,
    /// Tables with the same files' contents under another name.
    pub renamed: Vec<TableRenamed>,
    /// Tables that are there in both and differ.
    pub changed: Vec<TableChange>,
    /// Tables that were removed.
    pub vanished: Vec<TableSize>,
}

/// A table that is there in one of the snapshots only.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableSize {
    /// Root URL of the lake.
    pub lake: String,
    /// Its name.
    pub table: String,
    /// Number of rows, where known.
    pub rows: Option<u64>,
    /// Number of columns.
    pub columns: usize,
    /// The names of removed tables whose files it has; see [`TableChanges::between`].
    pub replaces: Vec<String>,
}

/// A table under another name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableRenamed {
    /// Root URL of the lake.
    pub lake: String,
    /// The name it had.
    pub from: String,
    /// The name it has.
    pub to: String,
}

/// How a table differs; what does not is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableChange {
    /// Root URL of the lake.
    pub lake: String,
    /// Its name.
    pub table: String,
    /// Its columns.
    pub schema: Option<SchemaChange>,
    /// Its rows, or the files that hold them.
    pub rows: Option<RowsChange>,
    /// What is said about it.
    pub context: Option<ContextChange>,
    /// Whether it can be read now.
    pub readable: Option<ReadableChange>,
    /// The names of removed tables whose files it has; see [`TableChanges::between`].
    pub replaces: Vec<String>,
}

/// How columns differ.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SchemaChange {
    /// Columns that are new.
    pub added: Vec<String>,
    /// Columns that were dropped.
    pub dropped: Vec<String>,
    /// Columns whose values are those of a dropped column.
    pub renamed: Vec<ColumnRenamed>,
    /// Columns of another type.
    pub retyped: Vec<ColumnRetyped>,
    /// Whether columns that stayed are in another order.
    pub reordered: bool,
}

/// A column under another name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ColumnRenamed {
    /// The name it had.
    pub from: String,
    /// The name it has.
    pub to: String,
}

/// A column of another type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnRetyped {
    /// Its name.
    pub column: String,
    /// The type it had.
    pub from: String,
    /// The type it has.
    pub to: String,
}

/// How rows differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RowsChange {
    /// How many there were, where known.
    pub from: Option<u64>,
    /// How many there are, where known.
    pub to: Option<u64>,
    /// Files that are new…
    pub files_added: usize,
    /// …removed…
    pub files_removed: usize,
    /// …and other than they were.
    pub files_changed: usize,
}

/// How the texts about a table differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextChange {
    /// Texts that are new.
    pub added: Vec<String>,
    /// Texts that were removed.
    pub removed: Vec<String>,
}

/// Whether a table can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReadableChange {
    /// Why its newest version cannot be read; `None` if it can be again.
    pub error: Option<String>,
}

impl TableChanges {
    /// What differs between the tables of an older snapshot and those of a newer one.
    ///
    /// A removed table whose files are all those of one table that is new or changed, or
    /// lie in the folder of one that has a log, has not vanished: the other replaces it.
    #[must_use]
    pub fn between(older: Vec<TableRecord>, newer: Vec<TableRecord>) -> Self {
        let mut removed: BTreeMap<TableKey, TableRecord> = older
            .into_iter()
            .map(|table| (table.key(), table))
            .collect();
        let mut new = Vec::new();
        let mut changes = Self::default();
        for table in &newer {
            match removed.remove(&table.key()) {
                Some(before) => changes.changed.extend(change(&before, table)),
                None => new.push(table),
            }
        }
        let mut names: HashMap<Content<'_>, Vec<&TableKey>> = HashMap::new();
        for (key, table) in &removed {
            if let Some(content) = content(table) {
                names.entry(content).or_default().push(key);
            }
        }
        let mut renamed = BTreeSet::new();
        for table in &new {
            // Copies of one table under several names are nobody's new name.
            let before = content(table).and_then(|content| names.remove(&content));
            match before.as_deref() {
                Some(&[key]) => {
                    renamed.insert(key.clone());
                    changes.renamed.push(TableRenamed {
                        lake: table.lake.clone(),
                        from: key.name.clone(),
                        to: table.name.clone(),
                    });
                }
                _ => changes.appeared.push(size(table)),
            }
        }
        let vanished = removed.iter().filter(|(key, _)| !renamed.contains(*key));
        let successors = Successors::of(&newer);
        for (_, table) in vanished {
            let successor = successors.of_table(table);
            let replaces = successor.and_then(|key| changes.replaces(&key));
            match replaces {
                Some(replaces) => replaces.push(table.name.clone()),
                None => changes.vanished.push(size(table)),
            }
        }
        changes
    }

    /// What a table that is new or changed replaces.
    fn replaces(&mut self, key: &TableKey) -> Option<&mut Vec<String>> {
        let is = |lake: &str, table: &str| lake == key.lake && table == key.name;
        let mut appeared = self.appeared.iter_mut();
        let mut changed = self.changed.iter_mut();
        let appeared = appeared.find(|it| is(&it.lake, &it.table));
        let appeared = appeared.map(|it| &mut it.replaces);
        appeared.or_else(|| {
            let changed = changed.find(|it| is(&it.lake, &it.table));
            changed.map(|it| &mut it.replaces)
        })
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.appeared.is_empty()
            && self.renamed.is_empty()
            && self.changed.is_empty()
            && self.vanished.is_empty()
    }
}

/// Which tables have which files now.
struct Successors<'a> {
    /// By lake and path.
    by_file: HashMap<(&'a str, &'a str), &'a TableRecord>,
    /// Tables that have a log, by lake and folder: all that lies there is theirs, or nobody's.
    by_folder: HashMap<(&'a str, &'a str), &'a TableRecord>,
}

impl<'a> Successors<'a> {
    fn of(tables: &'a [TableRecord]) -> Successors<'a> {
        let (mut by_file, mut by_folder) = (HashMap::new(), HashMap::new());
        for table in tables {
            let lake = table.lake.as_str();
            for file in table.files_now() {
                match table.is_log(&file.path) {
                    true => by_folder.insert((lake, folder_of(&file.path)), table),
                    false => by_file.insert((lake, file.path.as_str()), table),
                };
            }
        }
        Successors { by_file, by_folder }
    }

    /// The one table that has all files of a table now.
    fn of_table(&self, table: &TableRecord) -> Option<TableKey> {
        let lake = table.lake.as_str();
        let mut found: Option<&TableRecord> = None;
        for file in table.files_now() {
            let by_file = self.by_file.get(&(lake, file.path.as_str()));
            let mut folders = std::iter::successors(Some(file.path.as_str()), |path| {
                (!path.is_empty()).then(|| folder_of(path))
            });
            let by_folder = || folders.find_map(|folder| self.by_folder.get(&(lake, folder)));
            let own = *by_file.or_else(by_folder)?;
            if found.is_some_and(|found| found.key() != own.key()) {
                return None;
            }
            found = Some(own);
        }
        found.map(TableRecord::key)
    }
}

/// The folder of a path, `""` for the lake's root.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// What two tables of the same files under different names have in common: lake, columns, and tag
/// and length of each file.
type Content<'a> = (&'a str, Vec<&'a str>, Vec<(&'a str, u64)>);

/// `None` where a store has no tags, or there is no file: nothing shows that it is the same then.
fn content(table: &TableRecord) -> Option<Content<'_>> {
    let files = table.files_now();
    let files: Option<Vec<_>> = files
        .map(|file| Some((file.etag.as_deref()?, file.size)))
        .collect();
    let mut files = files.filter(|files| !files.is_empty())?;
    files.sort_unstable();
    let columns = table.columns.iter().map(|column| column.name.as_str());
    Some((&table.lake, columns.collect(), files))
}

fn size(table: &TableRecord) -> TableSize {
    TableSize {
        lake: table.lake.clone(),
        table: table.name.clone(),
        rows: table.rows,
        columns: table.columns.len(),
        replaces: Vec::new(),
    }
}

fn change(before: &TableRecord, after: &TableRecord) -> Option<TableChange> {
    let change = TableChange {
        lake: after.lake.clone(),
        table: after.name.clone(),
        schema: schema_change(&before.columns, &after.columns),
        rows: rows_change(before, after),
        context: context_change(before, after),
        readable: (before.error.is_some() != after.error.is_some()).then(|| ReadableChange {
            error: after.error.clone(),
        }),
        replaces: Vec::new(),
    };
    let differs = change.schema.is_some()
        || change.rows.is_some()
        || change.context.is_some()
        || change.readable.is_some();
    differs.then_some(change)
}

fn schema_change(before: &[ColumnRecord], after: &[ColumnRecord]) -> Option<SchemaChange> {
    let names = |columns: &[ColumnRecord]| -> Vec<String> {
        columns.iter().map(|column| column.name.clone()).collect()
    };
    let only = |columns: &[ColumnRecord], others: &[ColumnRecord]| -> Vec<usize> {
        let others: BTreeSet<String> = names(others).into_iter().collect();
        (0..columns.len())
            .filter(|at| !others.contains(&columns[*at].name))
            .collect()
    };
    let (mut dropped, mut new) = (only(before, after), only(after, before));
    let mut change = SchemaChange::default();
    // By values first, wherever the column is; then by the columns around it, then by its number.
    let (gaps_before, gaps_after) = (gaps(before, &dropped), gaps(after, &new));
    let is_typed = |old: usize, new: usize| before[old].data_type == after[new].data_type;
    let same_values = |old: usize, new: usize| has_values_of(&before[old], &after[new]);
    let same_gap =
        |old: usize, new: usize| is_typed(old, new) && gaps_before[old] == gaps_after[new];
    let same_place =
        |old: usize, new: usize| is_typed(old, new) && old == new && before.len() == after.len();
    let ways: [&dyn Fn(usize, usize) -> bool; 3] = [&same_values, &same_gap, &same_place];
    for is_renamed in ways {
        for old in dropped.clone() {
            let candidates: Vec<usize> = new
                .iter()
                .copied()
                .filter(|at| is_renamed(old, *at))
                .collect();
            let &[at] = candidates.as_slice() else {
                continue;
            };
            if dropped.iter().filter(|old| is_renamed(**old, at)).count() != 1 {
                continue;
            }
            dropped.retain(|it| *it != old);
            new.retain(|it| *it != at);
            change.renamed.push(ColumnRenamed {
                from: before[old].name.clone(),
                to: after[at].name.clone(),
            });
        }
    }
    change.renamed.sort();
    change.dropped = dropped.iter().map(|at| before[*at].name.clone()).collect();
    change.added = new.iter().map(|at| after[*at].name.clone()).collect();
    for column in after {
        let known = before.iter().find(|known| known.name == column.name);
        let known = known.filter(|known| known.data_type != column.data_type);
        change.retyped.extend(known.map(|known| ColumnRetyped {
            column: column.name.clone(),
            from: known.data_type.clone(),
            to: column.data_type.clone(),
        }));
    }
    let stayed = |columns: &[ColumnRecord], others: &[ColumnRecord]| -> Vec<String> {
        let lonely = only(columns, others);
        let names = names(columns).into_iter().enumerate();
        names
            .filter(|(at, _)| lonely.binary_search(at).is_err())
            .map(|(_, name)| name)
            .collect()
    };
    change.reordered = stayed(before, after) != stayed(after, before);
    (change != SchemaChange::default()).then_some(change)
}

/// For each column the nearest ones before and after it that are not among `lonely`, which is
/// sorted.
fn gaps<'a>(
    columns: &'a [ColumnRecord],
    lonely: &[usize],
) -> Vec<(Option<&'a str>, Option<&'a str>)> {
    let mut gaps = vec![(None, None); columns.len()];
    let stays = |at: usize| lonely.binary_search(&at).is_err();
    let mut nearest = None;
    for (at, column) in columns.iter().enumerate() {
        gaps[at].0 = nearest;
        if stays(at) {
            nearest = Some(column.name.as_str());
        }
    }
    nearest = None;
    for (at, column) in columns.iter().enumerate().rev() {
        gaps[at].1 = nearest;
        if stays(at) {
            nearest = Some(column.name.as_str());
        }
    }
    gaps
}

/// Whether a column has the values of another, as far as profiles show. A profile without a value
/// shows nothing.
fn has_values_of(before: &ColumnRecord, after: &ColumnRecord) -> bool {
    fn values(column: &ColumnRecord) -> impl PartialEq + '_ {
        (
            &column.data_type,
            column.null_share.to_bits(),
            column.distinct,
            &column.min,
            &column.max,
            &column.frequent,
        )
    }
    after.distinct > 0 && values(before) == values(after)
}

fn rows_change(before: &TableRecord, after: &TableRecord) -> Option<RowsChange> {
    let mut known = before.whole_files();
    let (mut files_added, mut files_changed) = (0, 0);
    for (path, file) in after.whole_files() {
        match known.remove(path) {
            None => files_added += 1,
            Some(before) if is_same_version(before, file) => {}
            Some(_) => files_changed += 1,
        }
    }
    let change = RowsChange {
        from: before.rows,
        to: after.rows,
        files_added,
        files_removed: known.len(),
        files_changed,
    };
    let files = change.files_added + change.files_removed + change.files_changed;
    (files > 0 || change.from != change.to).then_some(change)
}

/// Whether a file is as it was. One that was written again with the same content is, where the
/// store shows it by a tag.
fn is_same_version(before: &FileRecord, after: &FileRecord) -> bool {
    let is_same = match (&before.etag, &after.etag) {
        (Some(before), Some(after)) => before == after,
        _ => before.version == after.version && before.modified_ms == after.modified_ms,
    };
    is_same && before.size == after.size
}

fn context_change(before: &TableRecord, after: &TableRecord) -> Option<ContextChange> {
    let texts = |table: &TableRecord| -> BTreeSet<String> {
        let contexts = table.contexts.iter();
        let texts = contexts.map(|context| context.text.clone());
        texts.filter(|text| !text.is_empty()).collect()
    };
    let (before, after) = (texts(before), texts(after));
    let less = |these: &BTreeSet<String>, those: &BTreeSet<String>| -> Vec<String> {
        these.difference(those).cloned().collect()
    };
    (before != after).then(|| ContextChange {
        added: less(&after, &before),
        removed: less(&before, &after),
    })
}

#[cfg(test)]
mod tests;
