//! Writers and compactions at the same time: each finds in the end what all have written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::*;

/// Publishes changes of its own tables, each time from the newest snapshot, until all are in and a
/// compaction is `done` beside it.
async fn write(
    index: IndexStore,
    writer: usize,
    writers: usize,
    rounds: u64,
    done: Arc<AtomicUsize>,
) -> Vec<Change> {
    let mut last: BTreeMap<usize, Change> = BTreeMap::new();
    for round in 0..rounds * 20 {
        if round >= rounds && done.load(Ordering::Relaxed) > 0 {
            break;
        }
        let pick = |i: u64| noise(writer as u64 * 1000 + round, i);
        let changes: BTreeMap<usize, Change> = (0..1 + pick(0) % 3)
            .map(|i| {
                let name = pick(i * 2 + 1) as usize % 8 * writers + writer;
                let what = match pick(i * 2 + 2) % 8 {
                    0 => What::Remove,
                    1 => What::RemoveRegistered,
                    _ => What::Describe,
                };
                let change = Change {
                    name,
                    // The same segments come again.
                    version: 1 + round % 5,
                    group: pick(i) % 2,
                    what,
                };
                (name, change)
            })
            .collect();
        let mut changes: Vec<Change> = changes.into_values().collect();
        for change in &mut changes {
            // A table goes from the group that it is in.
            if let (Some(before), true) = (last.get(&change.name), change.what != What::Describe) {
                change.group = before.group;
            }
        }
        loop {
            let newest = index.require_newest().await.unwrap();
            let next = epoch(&index, &newest, &changes).await;
            match index.publish(&next).await {
                Ok(()) => break,
                Err(PublishError::Lost { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        for change in changes {
            last.insert(change.name, change);
        }
        // Nobody publishes without a pause.
        tokio::time::sleep(Duration::from_millis(noise(round, 7) % 5)).await;
    }
    last.into_values().collect()
}

fn race(index: &IndexStore, writers: usize, rounds: u64, policies: &[Policy]) {
    run(async {
        let first = Snapshot::first("m", DIMENSIONS, 2);
        index.publish(&first).await.unwrap();
        let over = Arc::new(AtomicBool::new(false));
        let done = Arc::new(AtomicUsize::new(0));
        let compactions: Vec<_> = policies
            .iter()
            .map(|policy| {
                let (index, over, policy) = (index.clone(), Arc::clone(&over), *policy);
                let done = Arc::clone(&done);
                tokio::spawn(async move {
                    while !over.load(Ordering::Acquire) {
                        match index.compact(&policy, &quiet).await {
                            Ok(Some(_)) => {
                                done.fetch_add(1, Ordering::Relaxed);
                            }
                            Ok(None) => tokio::task::yield_now().await,
                            Err(PublishError::Lost { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            })
            .collect();
        let tasks: Vec<_> = (0..writers)
            .map(|writer| {
                let (index, done) = (index.clone(), Arc::clone(&done));
                tokio::spawn(write(index, writer, writers, rounds, done))
            })
            .collect();
        let mut expected: BTreeMap<TableKey, Change> = BTreeMap::new();
        for task in tasks {
            let changes = task.await.unwrap();
            expected.extend(changes.into_iter().map(|change| (key(change.name), change)));
        }
        over.store(true, Ordering::Release);
        for compaction in compactions {
            compaction.await.unwrap();
        }
        assert!(
            done.load(Ordering::Relaxed) > 0,
            "no compaction got through"
        );
        let newest = index.require_newest().await.unwrap();
        assert_whole(index, &newest).await;
        let rows = index.tables_with_removed(&newest, None).await.unwrap();
        let mut rows: BTreeMap<TableKey, TableRecord> =
            rows.into_iter().map(|row| (row.key(), row)).collect();
        for (key, change) in &expected {
            let row = rows.remove(key);
            if change.what == What::Remove {
                assert!(row.is_none_or(|row| row.removed), "{key}");
                continue;
            }
            let row = row.expect("no update is lost");
            assert_eq!(
                (row.removed, row.rows),
                (change.what != What::Describe, Some(change.version))
            );
            if !row.removed {
                let entry = newest.segments.iter().find(|it| it.path == row.segment);
                let reader = SegmentReader::open(&index.store, entry.unwrap())
                    .await
                    .unwrap();
                for (at, block) in (row.first_block..).zip(blocks(change.name, change.version)) {
                    assert_eq!(reader.text(at).unwrap(), block.text);
                }
            }
        }
        assert!(rows.is_empty());
        println!(
            "{} snapshots, {} of them compactions, {} catalog files left",
            newest.number,
            done.load(Ordering::Relaxed),
            newest.catalog.len()
        );
    });
}

#[test]
fn writers_beside_a_compaction_lose_nothing() {
    race(&memory(), 2, u64::from(rounds(25)), &[eager()]);
}

#[test]
fn compactions_beside_each_other_lose_nothing() {
    race(
        &memory(),
        1,
        u64::from(rounds(15)),
        &[eager(), Policy::full()],
    );
    let folder = tempfile::tempdir().unwrap();
    let local = IndexStore::open(folder.path().to_str().unwrap()).unwrap();
    race(&local, 2, u64::from(rounds(10)), &[eager(), Policy::full()]);
}
