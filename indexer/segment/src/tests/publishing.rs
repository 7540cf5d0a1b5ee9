//! Snapshots in a store: one winner, clear errors, few requests.

use limn_store::Store;

use super::*;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn memory() -> IndexStore {
    IndexStore::new(Store::in_memory())
}

#[test]
fn of_two_publishers_exactly_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        let stores = [
            memory(),
            IndexStore::open(folder.path().to_str().unwrap()).unwrap(),
        ];
        for index in stores {
            let mut newest = Snapshot::first("m", 3, 1);
            for round in 1..=100u64 {
                let (mine, yours) = if round == 1 {
                    (newest.clone(), Snapshot::first("m", 3, 1))
                } else {
                    (newest.next(), newest.next())
                };
                assert_ne!(mine.writer, yours.writer);
                let race = |snapshot: Snapshot| {
                    let index = index.clone();
                    tokio::spawn(async move { (index.publish(&snapshot).await, snapshot) })
                };
                let (a, b) = (race(mine), race(yours));
                let results = [a.await.unwrap(), b.await.unwrap()];
                let winners: Vec<&Snapshot> = results
                    .iter()
                    .filter(|r| r.0.is_ok())
                    .map(|r| &r.1)
                    .collect();
                assert_eq!(winners.len(), 1, "round {round}");
                for (result, _) in &results {
                    if let Err(e) = result {
                        assert!(e.is_retryable());
                        assert!(matches!(e, PublishError::Lost { number, newest, .. }
                            if *number == round && *newest == round));
                    }
                }
                newest = index.require_newest().await.unwrap();
                assert_eq!(&newest, winners[0]);
            }
            let all = index.snapshots().await.unwrap();
            let numbers: Vec<u64> = all.iter().map(|s| s.number).collect();
            assert_eq!(numbers, (1..=100).rev().collect::<Vec<_>>());
        }
    });
}

#[test]
fn an_echo_of_our_own_put_is_a_success_and_an_old_number_is_lost() {
    run(async {
        let index = memory();
        let first = Snapshot::first("m", 3, 1);
        index.publish(&first).await.unwrap();
        // The store says "exists", but what exists is ours.
        index.publish(&first).await.unwrap();
        let second = first.next();
        index.publish(&second).await.unwrap();
        index.publish(&second.next()).await.unwrap();
        // Freed by garbage collection, then used again by a writer that slept.
        index.store.delete(&Snapshot::path(2)).await.unwrap();
        let error = index.publish(&first.next()).await.unwrap_err();
        assert!(
            matches!(
                error,
                PublishError::Lost {
                    number: 2,
                    newest: 3,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(index.require_newest().await.unwrap().number, 3);
    });
}

#[test]
fn the_newest_costs_one_list_and_one_get() {
    run(async {
        let index = memory();
        let mut snapshot = Snapshot::first("m", 3, 1);
        for _ in 0..30 {
            index.publish(&snapshot).await.unwrap();
            snapshot = snapshot.next();
        }
        let before = index.store.counts();
        assert_eq!(index.newest().await.unwrap().unwrap().number, 30);
        let after = index.store.counts();
        assert_eq!((after.list - before.list, after.get - before.get), (1, 1));
    });
}

#[test]
fn places_that_are_no_index_say_so() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| {
            let path = folder.path().join(name);
            IndexStore::open(path.to_str().unwrap()).unwrap()
        };
        for index in [memory(), at("missing")] {
            assert_eq!(index.newest().await.unwrap(), None);
            assert_eq!(index.prepare().await.unwrap(), None);
            let error = index.require_newest().await.unwrap_err();
            assert!(
                error.to_string().contains("limn index LAKE --index"),
                "{error}"
            );
        }
        for index in [memory(), at("other")] {
            index.store.put("orders.csv", "a,b".into()).await.unwrap();
            assert_eq!(index.newest().await.unwrap(), None);
            let error = index.require_newest().await.unwrap_err().to_string();
            assert!(error.contains("orders.csv"), "{error}");
            let error = index.prepare().await.unwrap_err();
            assert!(matches!(error, SegmentError::Occupied { .. }));
            assert!(error.to_string().contains("empty place"), "{error}");
        }
        std::fs::write(folder.path().join("file"), "x").unwrap();
        let index = at("file");
        let error = index.require_newest().await.unwrap_err().to_string();
        assert!(error.contains("a file"), "{error}");
        assert!(index.prepare().await.is_err());
        // What a killed first run leaves is no reason to refuse.
        let index = memory();
        index
            .store
            .put("segments/0000/x.seg", "x".into())
            .await
            .unwrap();
        assert_eq!(index.prepare().await.unwrap(), None);
        let error = index.require_newest().await.unwrap_err().to_string();
        assert!(error.contains("published nothing"), "{error}");
    });
}

#[test]
fn snapshots_by_number() {
    run(async {
        let index = memory();
        index.publish(&Snapshot::first("m", 3, 1)).await.unwrap();
        assert_eq!(index.snapshot(1).await.unwrap().number, 1);
        let error = index.snapshot(7).await.unwrap_err();
        assert!(matches!(
            error,
            SegmentError::NoSuchSnapshot { number: 7, .. }
        ));
        // A copy under another number is noticed; strangers among the snapshots are passed over.
        let bytes = index.store.get(&Snapshot::path(1)).await.unwrap();
        index.store.put(&Snapshot::path(2), bytes).await.unwrap();
        assert!(index.snapshot(2).await.unwrap_err().is_damage());
        index
            .store
            .put("snapshots/.DS_Store", "x".into())
            .await
            .unwrap();
        index
            .store
            .put("snapshots/00000000000000000000.json.tmp", "x".into())
            .await
            .unwrap();
        assert_eq!(index.snapshots().await.unwrap().len(), 2);
        let newest = index.require_newest().await.unwrap();
        assert_eq!((newest.number, newest.passed_over), (1, 1));
    });
}

#[test]
fn the_snapshot_before_a_time_is_found_in_few_reads() {
    run(async {
        let index = memory();
        assert!(index.snapshot_before(9, 0).await.unwrap().is_none());
        for number in 1..=40 {
            let snapshot = Snapshot {
                number,
                created_ms: i64::try_from(number).unwrap() * 100,
                ..Snapshot::first("m", 3, 1)
            };
            index.publish(&snapshot).await.unwrap();
        }
        let before = async |to, time| {
            let found = index.snapshot_before(to, time).await.unwrap();
            found.map(|snapshot| snapshot.number)
        };
        for (to, time, number) in [
            (40, 3_950, Some(39)),
            (40, 3_900, Some(39)),
            (40, 3_899, Some(38)),
            (40, 100, Some(1)),
            (40, 150, Some(1)),
            // Then there was nothing yet.
            (40, 99, Some(0)),
            (17, i64::MAX, Some(17)),
            (17, 1_649, Some(16)),
            (17, 1_599, Some(15)),
            (1, i64::MAX, Some(1)),
            (1, 99, Some(0)),
        ] {
            assert_eq!(before(to, time).await, number, "{to} {time}");
        }
    });
}

#[test]
fn deletes_are_stored_and_checked() {
    run(async {
        let index = memory();
        let segment = built(20);
        let mut entry = index.put_segment(&segment).await.unwrap();
        assert!(index.deletes(&entry).await.unwrap().is_empty());
        let mut deletes = Deletes::none();
        assert_eq!(index.put_deletes(&deletes).await.unwrap(), None);
        deletes.delete_table(3, 4);
        entry.deletes = index.put_deletes(&deletes).await.unwrap();
        assert_eq!(index.deletes(&entry).await.unwrap(), deletes);
        let path = entry.deletes.clone().unwrap().path;
        let bytes = index.store.get(&path).await.unwrap();
        for i in 0..bytes.len() {
            let mut flipped = bytes.to_vec();
            flipped[i] ^= 2;
            index.store.put(&path, flipped.into()).await.unwrap();
            assert!(index.deletes(&entry).await.unwrap_err().is_damage());
        }
    });
}
