//! What a process keeps of its lake's catalog: the rows as far as a writer needs them, and where
//! each group, table, file and context is among them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use limn_formats::Fingerprint;
use limn_lake::{Contexts, TableName};
use limn_segment::{
    ColumnRecord, HeldRows, HeldValue, REGISTERED, Sketches, Snapshot, TableKey, TableRecord,
};

use super::rows::{content_of, group_of};
use crate::changes::{GroupId, MemberId};
use crate::graph::size::{GraphSize, MostTables};
use crate::share::Share;
use crate::sketches::JoinColumns;

/// The catalog of one lake in the newest snapshot that was looked at.
#[derive(Debug, Default)]
pub struct Published {
    state: RwLock<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// The snapshot, if the index has one.
    pub(super) snapshot: Option<Snapshot>,
    pub(super) held: HeldRows<WriterRow>,
    /// The rows of tables that there are and of files that are passed over, in the order of their
    /// names.
    pub(super) groups: HashMap<GroupId, Vec<Arc<TableRecord>>>,
    /// The same by the hash of their name.
    pub(super) by_name: HashMap<u128, Arc<TableRecord>>,
    /// Files in this very version.
    pub(super) by_content: HashMap<Fingerprint, Place>,
    /// Files that have a summary, of whatever version, by the hash of their path.
    pub(super) by_path: HashMap<u128, Place>,
    /// Whether a file may be in two rows.
    pub(super) is_doubled: bool,
    /// Contexts beside the data, by the hash of their path.
    pub(super) contexts: HashMap<u128, Place>,
    /// Those that have a text, of whatever version, by the hash of their path.
    pub(super) texts: HashMap<u128, Place>,
    pub(super) registered: Contexts,
    /// The settings of all the lake's tables, if their file summaries may be used again.
    pub(super) reuse: Option<MemberId>,
    pub(super) narrates: bool,
    /// Whether rows may lack what joins are found by.
    pub(super) are_counted: bool,
    /// The part of the lake whose tables are known.
    pub(super) share: Share,
    /// Whether the index has the lake, of which another share may have all tables.
    pub(super) is_known: bool,
    /// How large the tables of the other shares are.
    pub(super) size_of_others: GraphSize,
}

/// What a writer keeps of a row: all that it goes on from. What the catalog has of columns and
/// sampled rows follows from the files' summaries; it is kept only where the row itself is to be
/// written again, with narrations, and as far as joins are found by it.
#[derive(Debug)]
pub(super) struct WriterRow(pub(super) Arc<TableRecord>, pub(super) JoinColumns);

impl HeldValue for WriterRow {
    const COLUMNS: Option<&'static [&'static str]> = None;

    fn of_row(mut row: TableRecord) -> Self {
        let joining = JoinColumns::of(&row);
        if !row.awaits_narration {
            row.sample = Vec::new();
            row.sketches = Sketches::default();
            // Columns without a narration have none to carry over into another schema.
            if row.columns.iter().any(|column| column.narration.is_some()) {
                row.columns = row.columns.into_iter().map(words_of).collect();
            } else {
                row.columns = Vec::new();
            }
        }
        Self(Arc::new(row), joining)
    }
}

/// The words of a column: its name and its narration.
fn words_of(column: ColumnRecord) -> ColumnRecord {
    ColumnRecord {
        name: column.name,
        narration: column.narration,
        ..ColumnRecord::default()
    }
}

/// Where the catalog has a file or context: the table, and the place in the table.
pub(super) type Place = (Arc<TableRecord>, u32);

pub(super) fn hash_of(path: &str) -> u128 {
    xxhash_rust::xxh3::xxh3_128(path.as_bytes())
}

impl Published {
    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes what points into this very row.
fn unpoint<K: Eq + std::hash::Hash>(map: &mut HashMap<K, Place>, key: &K, row: &Arc<TableRecord>) {
    if map
        .get(key)
        .is_some_and(|(known, _)| Arc::ptr_eq(known, row))
    {
        map.remove(key);
    }
}

/// A table whose row is another now, and what was kept of the one before.
type ChangedRow = (TableKey, Option<Arc<WriterRow>>);

impl State {
    pub(super) fn graph_size(&self) -> GraphSize {
        let own = self
            .held
            .live()
            .filter(|(_, row)| self.share.has_row(&row.0));
        GraphSize::of(own.map(|(_, row)| row.1.len()))
    }

    /// Lets go of what joins are found by, if the lake is too large for them.
    pub(super) fn keep_for_joins(&mut self, most: MostTables, changed: &[ChangedRow]) {
        let counted = |row: &Arc<WriterRow>| WriterRow(Arc::clone(&row.0), row.1.counted());
        if self.are_counted {
            self.held.replace(changed.iter().map(|it| &it.0), counted);
        } else if self.share.is_partial()
            || most == MostTables(0)
            || !most.allows(self.graph_size())
        {
            self.are_counted = true;
            let all: Vec<TableKey> = self.held.live().map(|it| it.0.clone()).collect();
            self.held.replace(all.iter(), counted);
        }
    }

    /// Takes in the rows of these tables, as they are held now; with them are the rows of before.
    pub(super) fn take_in(&mut self, changed: Vec<ChangedRow>) {
        let mut touched: HashSet<GroupId> = HashSet::new();
        let (mut contexts_differ, mut registered_differ) = (false, false);
        let mut look_at = |row: &TableRecord| {
            for context in &row.contexts {
                match context.source == REGISTERED {
                    true => registered_differ = true,
                    false => contexts_differ = true,
                }
            }
        };
        let mut new = Vec::with_capacity(changed.len());
        for (key, before) in changed {
            let held = self.held.get(&key).map(|held| Arc::clone(&held.0));
            for row in before.iter().map(|held| &held.0).chain(&held) {
                look_at(row);
            }
            if let Some(old) = self.by_name.remove(&hash_of(&key.name)) {
                for file in &old.files {
                    unpoint(&mut self.by_content, &content_of(file), &old);
                    unpoint(&mut self.by_path, &hash_of(&file.path), &old);
                }
                if let Some(group) = group_of(&old)
                    && let Some(tables) = self.groups.get_mut(&group)
                {
                    tables.retain(|table| !Arc::ptr_eq(table, &old));
                    touched.insert(group);
                }
            }
            let is_known = |row: &Arc<TableRecord>| {
                (!row.removed || row.is_passed_over()) && self.share.has_row(row)
            };
            new.extend(held.filter(is_known));
        }
        for row in new {
            let Some(group) = group_of(&row) else {
                continue;
            };
            self.by_name.insert(hash_of(&row.name), Arc::clone(&row));
            self.is_doubled |= self.point_at_files(&row);
            self.groups.entry(group).or_default().push(row);
            touched.insert(group);
        }
        for group in touched {
            if let Some(tables) = self.groups.get_mut(&group) {
                if tables.is_empty() {
                    self.groups.remove(&group);
                } else {
                    tables.sort_unstable_by(|a, b| a.name.cmp(&b.name));
                }
            }
        }
        // The other row of a file has to be found when the one that was found is removed.
        // This is rare.
        if self.is_doubled {
            self.by_content.clear();
            self.by_path.clear();
            let tables: Vec<Arc<TableRecord>> = self.by_name.values().cloned().collect();
            let doubled = tables.iter().map(|table| self.point_at_files(table));
            self.is_doubled = doubled.fold(false, |doubled, it| doubled | it);
        }
        // One text may be of several tables: these are few, and no row distinguishes them.
        if contexts_differ {
            self.point_at_contexts();
        }
        if registered_differ {
            self.take_in_registered();
        }
    }

    /// Whether another row has one of the same files.
    fn point_at_files(&mut self, row: &Arc<TableRecord>) -> bool {
        let mut is_doubled = false;
        for (at, file) in (0u32..).zip(&row.files) {
            let place = || (Arc::clone(row), at);
            let known = [
                self.by_content.insert(content_of(file), place()),
                match file.summary {
                    Some(_) => self.by_path.insert(hash_of(&file.path), place()),
                    None => None,
                },
            ];
            let mut known = known.iter().flatten();
            is_doubled |= known.any(|(known, _)| !Arc::ptr_eq(known, row));
        }
        is_doubled
    }

    fn point_at_contexts(&mut self) {
        self.contexts.clear();
        self.texts.clear();
        for table in self.groups.values().flatten() {
            for (at, known) in (0u32..).zip(&table.contexts) {
                if known.source != REGISTERED {
                    let place = || (Arc::clone(table), at);
                    self.contexts.insert(hash_of(&known.source), place());
                    if !known.text.is_empty() {
                        self.texts.insert(hash_of(&known.source), place());
                    }
                }
            }
        }
    }

    /// A context may be in the rows of several tables, those that its name meant one after the
    /// other.
    fn take_in_registered(&mut self) {
        self.registered.clear();
        for WriterRow(record, _) in self.held.iter().map(AsRef::as_ref) {
            let contexts = record.contexts.iter();
            for context in contexts.filter(|context| context.source == REGISTERED) {
                let name = context.registered_for.as_ref().unwrap_or(&record.name);
                if let Ok(name) = TableName::parse(name) {
                    let texts = self.registered.entry(name).or_default();
                    if !texts.contains(&context.text) {
                        texts.push(context.text.clone());
                    }
                }
            }
        }
    }
}
