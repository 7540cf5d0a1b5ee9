//! The history of one table, over epochs, compactions and collections.

use std::collections::HashSet;
use std::time::Duration;

use super::followed::changes;
use super::*;

/// What the history of a table should be, of all tables of the snapshots, newest first.
type HistoryRow = (u64, Option<u64>, Option<TableRecord>, Option<TableRecord>);

fn steps_of(history: &TableHistory) -> Vec<HistoryRow> {
    let row = |row: &Option<std::sync::Arc<TableRecord>>| row.as_deref().cloned();
    let events = history.events.iter();
    events
        .map(|it| (it.snapshot, it.previous, row(&it.before), row(&it.after)))
        .collect()
}

async fn expected(index: &IndexStore, key: &TableKey, numbers: &[u64]) -> Vec<HistoryRow> {
    let mut rows = Vec::new();
    for number in numbers {
        let snapshot = index.snapshot(*number).await.unwrap();
        let tables = index.tables(&snapshot, None).await.unwrap();
        rows.push((*number, tables.into_iter().find(|row| row.key() == *key)));
    }
    let mut expected = Vec::new();
    for pair in rows.windows(2) {
        let [(number, after), (previous, before)] = pair else {
            unreachable!()
        };
        let is_same = match (before, after) {
            (Some(before), Some(after)) => after.is_same_but_for_place(before),
            (before, after) => before.is_none() && after.is_none(),
        };
        if !is_same {
            expected.push((*number, Some(*previous), before.clone(), after.clone()));
        }
    }
    if let Some((1, row @ Some(_))) = rows.last() {
        expected.push((1, None, None, row.clone()));
    }
    expected
}

/// An index of some epochs, compacted in between.
async fn grown(seed: u64, steps: u64) -> IndexStore {
    let index = memory();
    let first = Snapshot::first("m", DIMENSIONS, 2);
    let mut filled = epoch(&index, &first, &changes(seed, 100)).await;
    (filled.number, filled.parent) = (1, None);
    index.publish(&filled).await.unwrap();
    for step in 0..steps {
        let newest = index.require_newest().await.unwrap();
        if noise(seed + 7, step).is_multiple_of(4) {
            index.compact(&eager(), &quiet).await.unwrap();
        } else {
            let next = epoch(&index, &newest, &changes(seed, step)).await;
            index.publish(&next).await.unwrap();
        }
    }
    index
}

#[test]
fn what_became_of_a_table_is_what_its_rows_were() {
    let (mut events, mut moves) = (0, 0);
    for seed in 0..u64::from(rounds(2)) {
        run(async {
            let index = grown(seed, 20).await;
            let newest = index.require_newest().await.unwrap();
            let mut kept = 0;
            // All snapshots, some of them, and some after the older ones are collected.
            for (limit, collect) in [
                (1000, None),
                (6, None),
                (1, None),
                (1000, Some(5)),
                (3, Some(5)),
            ] {
                if let Some(keep) = collect {
                    let retention = Retention {
                        older_than: Duration::ZERO,
                        keep,
                    };
                    let garbage = index.garbage(retention, i64::MAX).await.unwrap();
                    index.remove_garbage(&garbage, &|| ()).await.unwrap();
                    kept = keep;
                }
                let numbers = index.snapshots().await.unwrap();
                let numbers: Vec<u64> = numbers.iter().map(|it| it.number).take(limit).collect();
                for name in 0..11 {
                    let key = key(name);
                    let before = index.store.counts();
                    let history = index.history(&newest, &key, limit).await.unwrap();
                    let cost = index.store.counts().since(&before);
                    assert_eq!(steps_of(&history), expected(&index, &key, &numbers).await);
                    assert_eq!(Some(&history.oldest), numbers.last());
                    let end = match (limit, kept) {
                        (1000, 0) => HistoryEnd::Beginning,
                        (1000, _) => HistoryEnd::Collected,
                        _ => HistoryEnd::Limit,
                    };
                    assert_eq!(history.end, end);
                    // Each file of the shard once, and each snapshot but the one that is given.
                    let mut files = HashSet::new();
                    for number in &numbers {
                        let snapshot = index.snapshot(*number).await.unwrap();
                        let shard = key.shard(snapshot.shards);
                        let log = snapshot.catalog.into_iter().filter(|it| it.shard == shard);
                        files.extend(log.map(|it| it.path));
                    }
                    assert_eq!(cost.get as usize, files.len() + numbers.len() - 1);
                    assert_eq!(cost.list, 1);
                    events += history.events.len();
                    let described = |it: &&TableEvent| it.changes().is_empty();
                    moves += history.events.iter().filter(described).count();
                }
            }
        });
    }
    assert!(events > 40 && moves > 0, "{events}, {moves}");
}

#[test]
fn a_history_ends_at_what_is_damaged_or_was_never_part_of_it() {
    run(async {
        let index = grown(3, 8).await;
        let newest = index.require_newest().await.unwrap();
        let whole = index.history(&newest, &key(1), 1000).await.unwrap();
        let path = Snapshot::path(4);
        let bytes = index.store.get(&path).await.unwrap();

        index.store.put(&path, bytes.slice(1..)).await.unwrap();
        let history = index.history(&newest, &key(1), 1000).await.unwrap();
        assert!(matches!(&history.end, HistoryEnd::Unreadable(why) if why.contains("damaged")));
        assert_eq!(history.oldest, 5);
        let newer = steps_of(&whole).into_iter().filter(|it| it.0 > 5);
        assert_eq!(steps_of(&history), newer.collect::<Vec<_>>());

        // Another writer's, which nobody has built on.
        let mut stray = index.snapshot(3).await.unwrap().next();
        stray.catalog.clear();
        let stray = stray.to_bytes().unwrap();
        index.store.put(&path, stray.into()).await.unwrap();
        let history = index.history(&newest, &key(1), 1000).await.unwrap();
        assert_eq!((history.oldest, history.end), (5, HistoryEnd::Collected));
        index.store.delete(&path).await.unwrap();
        let history = index.history(&newest, &key(1), 1000).await.unwrap();
        assert_eq!((history.oldest, history.end), (5, HistoryEnd::Collected));

        // One that is asked for must be readable.
        let file = &newest.catalog.iter().find(|it| it.shard == key(1).shard(2));
        index.store.delete(&file.unwrap().path).await.unwrap();
        let error = index.history(&newest, &key(1), 1000).await.unwrap_err();
        assert!(error.is_absence(), "{error}");
    });
}
