//! Rows that are followed from snapshot to snapshot, over epochs and compactions.

use std::sync::Arc;

use super::*;

/// What a light node may keep of a row.
#[derive(Debug, PartialEq)]
struct Brief {
    rows: Option<u64>,
    contexts: usize,
    removed: bool,
}

impl HeldValue for Brief {
    const COLUMNS: Option<&'static [&'static str]> =
        Some(&["rows", "contexts.list.element.source"]);

    type With = ();

    fn of_row(row: TableRecord, _: &()) -> Self {
        // What was not asked for was not decoded.
        assert!(row.segment.is_empty() && row.indexed_ms == 0 && row.error.is_none());
        assert!(row.contexts.iter().all(|it| it.text.is_empty()));
        Brief::of(&row)
    }
}

impl Brief {
    fn of(row: &TableRecord) -> Brief {
        Brief {
            rows: row.rows,
            contexts: row.contexts.len(),
            removed: row.removed,
        }
    }
}

/// Random changes to a few tables.
pub(super) fn changes(seed: u64, step: u64) -> Vec<Change> {
    let pick = |i: u64| noise(seed * 1000 + step, i);
    let changes: BTreeMap<usize, Change> = (0..1 + pick(0) % 4)
        .map(|i| {
            let what = match pick(i * 3 + 2) % 6 {
                0 | 1 => What::Remove,
                2 => What::RemoveRegistered,
                3 => What::Unreadable,
                _ => What::Describe,
            };
            let change = Change {
                name: pick(i * 3 + 1) as usize % 10,
                version: 1 + pick(i) % 5,
                group: pick(i * 3 + 3) % 2,
                what,
            };
            (change.name, change)
        })
        .collect();
    changes.into_values().collect()
}

#[test]
fn rows_that_are_followed_are_those_of_the_newest_snapshot() {
    let (mut compactions, mut moved_on) = (0, 0);
    for seed in 0..u64::from(rounds(2)) {
        run(async {
            let index = memory();
            index
                .publish(&Snapshot::first("m", DIMENSIONS, 2))
                .await
                .unwrap();
            // One sees every snapshot, one some of them, one a lake only.
            let mut followers = [
                HeldRows::of(None),
                HeldRows::of(None),
                HeldRows::of(Some("s3://lake-1")),
            ];
            let mut briefs: HeldRows<Brief> = HeldRows::keeping(None);
            let mut tables = PackedTables::default();
            for step in 0..24 {
                let newest = index.require_newest().await.unwrap();
                if noise(seed, step).is_multiple_of(4) {
                    let compacted = index.compact(&eager(), &quiet).await.unwrap();
                    compactions += usize::from(compacted.is_some());
                } else {
                    let next = epoch(&index, &newest, &changes(seed, step)).await;
                    index.publish(&next).await.unwrap();
                }
                let newest = index.require_newest().await.unwrap();
                if !noise(seed + 200, step).is_multiple_of(3) {
                    briefs.advance(&index, &newest).await.unwrap();
                    let expected = index.tables_with_removed(&newest, None).await.unwrap();
                    assert_kept(&index, &briefs, &expected).await;
                    tables = tables.advanced(&index, &newest).await.unwrap();
                    assert_packed(&index, &tables, &expected).await;
                }
                for (which, (held, lake)) in followers
                    .iter_mut()
                    .zip([None, None, Some("s3://lake-1")])
                    .enumerate()
                {
                    if which == 1 && !noise(seed + 100, step).is_multiple_of(3) {
                        continue;
                    }
                    let before: BTreeMap<TableKey, TableRecord> = held
                        .iter()
                        .map(|row| (row.key(), (**row).clone()))
                        .collect();
                    let changed = held.advance(&index, &newest).await.unwrap();
                    for (key, row) in &changed {
                        assert_eq!(row.as_deref(), before.get(key));
                    }
                    let now: Vec<TableRecord> = held.iter().map(|row| (**row).clone()).collect();
                    let expected = index.tables_with_removed(&newest, lake).await.unwrap();
                    assert_eq!(now, expected, "seed {seed}, step {step}");
                    for row in &now {
                        assert!(
                            changed.iter().any(|(key, _)| *key == row.key())
                                || before.get(&row.key()) == Some(row)
                        );
                    }
                    moved_on += 1;
                }
            }
        });
    }
    assert!(
        compactions > 1 && moved_on > 100,
        "{compactions}, {moved_on}"
    );
}

/// Rows in a file are those that hold, and are found by their keys.
async fn assert_packed(index: &IndexStore, tables: &PackedTables, expected: &[TableRecord]) {
    assert_eq!(
        (tables.len(), tables.is_empty()),
        (expected.len(), expected.is_empty())
    );
    for (number, row) in expected.iter().enumerate() {
        let key = row.key();
        assert_eq!(tables.find(key.borrowed()), Some(number));
        let file = tables.file_of(number).unwrap();
        assert_eq!(index.row(file, &key).await.unwrap().as_ref(), Some(row));
        let Some(table) = tables.table(number) else {
            assert!(row.removed);
            continue;
        };
        assert!(!row.removed && table.key == key);
        assert_eq!(
            (table.location, table.format),
            (&*row.location, &*row.format)
        );
        assert_eq!((table.rows, table.rows_exact), (row.rows, row.rows_exact));
        assert_eq!(table.error, row.error.as_deref());
        let newest = row.files_now().map(|file| file.modified_ms).max();
        assert_eq!(table.modified_ms, newest);
        let columns = row.columns.iter().map(|column| ColumnFacts {
            name: &column.name,
            data_type: &column.data_type,
            narration: column.narration.as_deref(),
        });
        assert_eq!(table.column_count, row.columns.len());
        assert!(table.columns().eq(columns));
    }
    assert_eq!(tables.find(super::key(99).borrowed()), None);
    assert!(tables.table(expected.len()).is_none());
}

/// A small part of each row is kept, and the whole row is where it is said to be.
async fn assert_kept(index: &IndexStore, briefs: &HeldRows<Brief>, expected: &[TableRecord]) {
    let kept: Vec<&Brief> = briefs.iter().map(Arc::as_ref).collect();
    let all: Vec<Brief> = expected.iter().map(Brief::of).collect();
    assert_eq!(kept, all.iter().collect::<Vec<_>>());
    let live: Vec<&TableKey> = briefs.live().map(|(key, _)| key).collect();
    let there = expected.iter().filter(|row| !row.removed);
    let there: Vec<TableKey> = there.map(TableRecord::key).collect();
    assert_eq!(live, there.iter().collect::<Vec<_>>());
    for row in expected {
        let (key, before) = (row.key(), index.store.counts());
        assert_eq!(briefs.get_live(&key).is_some(), !row.removed);
        let file = briefs.file_of(&key).unwrap();
        let read = index.row(file, &key).await.unwrap();
        assert_eq!(read.as_ref(), Some(row));
        assert_eq!(index.store.counts().since(&before).get, 1);
        assert!(index.row(file, &super::key(99)).await.unwrap().is_none());
    }
}

#[test]
fn only_files_that_are_new_are_read() {
    run(async {
        let index = memory();
        index
            .publish(&Snapshot::first("m", DIMENSIONS, 1))
            .await
            .unwrap();
        let mut held = HeldRows::of(None);
        for step in 0..10 {
            let newest = index.require_newest().await.unwrap();
            let next = epoch(&index, &newest, &changes(1, step)).await;
            index.publish(&next).await.unwrap();
            let before = index.store.counts();
            held.advance(&index, &next).await.unwrap();
            held.advance(&index, &next).await.unwrap();
            assert_eq!(index.store.counts().since(&before).get, 1);
        }
    });
}
