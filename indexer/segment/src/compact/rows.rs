//! The rows of a merged catalog file.
//!
//! Of two rows of one table the later holds, unless it is a tombstone of another
//! group of files than the one that it is in ([`TableRecord::holds_after`]). A merge may take any
//! files of a shard, whether or not they are neighbours in the log. What it writes stands at the
//! place of the last of them, and is chosen so that each table's row that holds after the whole log
//! stays the same:
//!
//! **The table is there.** Its row, *w*, is written if it is in a merged file, and nothing else. A
//! row of a table that is there always holds when its turn comes, whatever is before it; and what
//! came after *w* had no effect (else *w* would not hold in the end), so it was rows that say the
//! table to be removed from other groups. These have no effect after *w* at its new place either,
//! and whichever of them are left out.
//!
//! **The table was removed.** Its row *w* is the last that the log has of it: any row holds after
//! one that is a tombstone. But *w* holds only if the row before it is of its own group, and the
//! row that was may now be left out, which would bring an older one of another group back to life.
//! So what the log comes to without the merged rows is looked at. If that is *w*, or nothing and
//! *w* remembers nothing (no registered context, no files that were looked at), no row is written.
//! Else *w* is written, unless it is in a file that comes later anyway. If it would not hold there,
//! a tombstone comes first, of the group in which it would still be: after that any row holds, and
//! so does *w*, here or in its later file. (What comes between the two, if anything, came before
//! *w* in the log too.)
//!
//! Files that a writer appends meanwhile meet the same row of each table as they would have met, or
//! no row where they would have met a tombstone: then any row holds in both cases.
//! But another merge may leave out rows that were looked at here: after another merge in the shard
//! this one has to be made again.

use std::collections::{HashMap, HashSet};

use crate::catalog::{REGISTERED, TableRecord, holds_after};
use crate::table::TableKey;

/// Columns that say which row holds; what else a row has is read where it is written again.
pub(crate) const KEY_COLUMNS: [&str; 6] = [
    "lake",
    "name",
    "removed",
    "group",
    "contexts.list.element.source",
    "files.list.element.path",
];

/// What of a row says which one holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyRow {
    pub(crate) key: TableKey,
    removed: bool,
    group: String,
    /// Whether it keeps a registered context, or files that hold no table.
    remembers: bool,
}

impl KeyRow {
    pub(crate) fn of(row: &TableRecord) -> KeyRow {
        let mut contexts = row.contexts.iter();
        KeyRow {
            key: row.key(),
            removed: row.removed,
            group: row.group.clone(),
            remembers: row.is_passed_over() || contexts.any(|context| context.source == REGISTERED),
        }
    }

    /// As [`TableRecord::holds_after`].
    fn holds_after(&self, before: Option<&KeyRow>) -> bool {
        holds_after(
            self.removed_and_group(),
            before.map(KeyRow::removed_and_group),
        )
    }

    fn removed_and_group(&self) -> (bool, &str) {
        (self.removed, &self.group)
    }
}

/// Where a row is: file of the log, row of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowPlace {
    pub(crate) file: usize,
    pub(crate) row: usize,
}

/// A row of the merged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// As it is in the log, but for where its blocks are.
    Row(RowPlace),
    /// A tombstone: the table was removed from this group.
    Tombstone { key: TableKey, group: String },
}

/// The rows that a merge of the files of a shard's log that are in `merged` writes, in the order of
/// tables.
pub(crate) fn kept(log: &[Vec<KeyRow>], merged: &HashSet<usize>) -> Vec<Kept> {
    let Some(place) = merged.iter().copied().max() else {
        return Vec::new();
    };
    let mut touched: HashMap<&TableKey, Vec<RowPlace>> = HashMap::new();
    for file in merged {
        for row in &log[*file] {
            touched.entry(&row.key).or_default();
        }
    }
    for (file, rows) in log.iter().enumerate() {
        for (row, of) in rows.iter().enumerate() {
            if let Some(all) = touched.get_mut(&of.key) {
                all.push(RowPlace { file, row });
            }
        }
    }
    let mut tables: Vec<_> = touched.into_iter().collect();
    tables.sort_unstable_by_key(|(key, _)| *key);
    tables
        .into_iter()
        .flat_map(|(_, all)| kept_of_table(log, merged, place, &all))
        .collect()
}

fn kept_of_table(
    log: &[Vec<KeyRow>],
    merged: &HashSet<usize>,
    place: usize,
    all: &[RowPlace],
) -> Vec<Kept> {
    let row = |at: RowPlace| &log[at.file][at.row];
    let holding = |rows: &mut dyn Iterator<Item = RowPlace>, before: Option<RowPlace>| {
        rows.fold(before, |before, at| {
            if row(at).holds_after(before.map(row)) {
                Some(at)
            } else {
                before
            }
        })
    };
    let Some(last) = holding(&mut all.iter().copied(), None) else {
        return Vec::new();
    };
    if !row(last).removed {
        let is_ours = merged.contains(&last.file);
        return is_ours.then_some(Kept::Row(last)).into_iter().collect();
    }
    let others = || all.iter().copied().filter(|at| !merged.contains(&at.file));
    let before = holding(&mut others().filter(|at| at.file < place), None);
    let mut after = others().filter(|at| at.file > place);
    let without = holding(&mut after, before);
    if without == Some(last) || without.is_none() && !row(last).remembers {
        return Vec::new();
    }
    let hidden = before
        .map(row)
        .filter(|_| !row(last).holds_after(before.map(row)));
    let tombstone = hidden.map(|live| Kept::Tombstone {
        key: live.key.clone(),
        group: live.group.clone(),
    });
    let again = (last.file <= place).then_some(Kept::Row(last));
    tombstone.into_iter().chain(again).collect()
}
