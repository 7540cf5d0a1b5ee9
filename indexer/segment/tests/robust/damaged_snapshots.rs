//! A newest snapshot that nobody can read: everybody goes on from the one before, and still one
//! writer wins.

use bytes::Bytes;
use limn_segment::{IndexStore, PublishError, SegmentError, Snapshot};
use limn_store::Store;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// An index of snapshots 1 to 3, of which these are damaged in one way or another.
async fn damaged(index: &IndexStore, numbers: &[u64]) -> Vec<Snapshot> {
    let mut snapshots = vec![Snapshot::first("m", 3, 1)];
    index.publish(&snapshots[0]).await.unwrap();
    for _ in 0..2 {
        let next = snapshots.last().unwrap().next();
        index.publish(&next).await.unwrap();
        snapshots.push(next);
    }
    for (way, number) in numbers.iter().enumerate() {
        let path = Snapshot::path(*number);
        let good = index.store.get(&path).await.unwrap();
        let bad = match way % 3 {
            0 => Bytes::new(),
            1 => good.slice(..good.len() / 2),
            _ => Bytes::from(vec![0; good.len()]),
        };
        index.store.put(&path, bad).await.unwrap();
    }
    snapshots
}

fn places(folder: &tempfile::TempDir) -> [IndexStore; 2] {
    let on_disk = IndexStore::open(folder.path().to_str().unwrap()).unwrap();
    [IndexStore::new(Store::in_memory()), on_disk]
}

#[test]
fn readers_and_writers_go_on_from_the_newest_whole_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        for index in places(&folder) {
            let snapshots = damaged(&index, &[3, 2]).await;
            let newest = index.require_newest().await.unwrap();
            assert_eq!((newest.number, newest.passed_over), (1, 2));
            assert_eq!(newest.writer, snapshots[0].writer);
            assert!(index.snapshot(3).await.unwrap_err().is_damage());
            // The numbers that are taken stay taken.
            let next = newest.next();
            assert_eq!((next.number, next.passed_over), (4, 0));
            index.publish(&next).await.unwrap();
            assert_eq!(index.require_newest().await.unwrap(), next);
            // Looking back passes them over.
            let before = index.snapshot_before(3, i64::MAX).await.unwrap();
            assert_eq!(before.unwrap().number, 1);
        }
    });
}

#[test]
fn of_two_writers_that_pass_over_a_damaged_snapshot_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        for index in places(&folder) {
            damaged(&index, &[3]).await;
            for _ in 0..50 {
                let newest = index.require_newest().await.unwrap();
                let race = |snapshot: Snapshot| {
                    let index = index.clone();
                    tokio::spawn(async move { index.publish(&snapshot).await })
                };
                let (a, b) = (race(newest.next()), race(newest.next()));
                let won = [a.await.unwrap(), b.await.unwrap()].map(|it| it.is_ok());
                assert!(won[0] != won[1], "{won:?}");
                // The winner's is damaged in turn.
                let path = Snapshot::path(newest.next().number);
                index.store.put(&path, Bytes::new()).await.unwrap();
            }
            let newest = index.require_newest().await.unwrap();
            assert_eq!((newest.number, newest.passed_over), (2, 51));
        }
    });
}

/// A writer that slept and takes the number of a snapshot that was set aside does not win beside
/// one that passed it over.
#[test]
fn the_number_of_a_snapshot_that_was_set_aside_wins_nothing() {
    run(async {
        let index = IndexStore::new(Store::in_memory());
        let snapshots = damaged(&index, &[3]).await;
        let passing = index.require_newest().await.unwrap().next();
        let sleeping = snapshots[1].next();
        assert_eq!((passing.number, sleeping.number), (4, 3));
        assert_eq!(index.set_damaged_aside().await.unwrap(), [3]);
        for late in [sleeping, passing] {
            let error = index.publish(&late).await.unwrap_err();
            assert!(matches!(error, PublishError::Lost { .. }), "{error}");
        }
        let newest = index.require_newest().await.unwrap();
        assert_eq!((newest.number, newest.passed_over), (4, 0));
        assert_eq!(newest.parent.as_ref(), Some(&snapshots[1].writer));
        index.publish(&newest.next()).await.unwrap();
    });
}

/// A writer whose own snapshot is whole has won, though somebody's after it is damaged.
#[test]
fn a_damaged_snapshot_above_ones_own_takes_nothing_away() {
    run(async {
        let index = IndexStore::new(Store::in_memory());
        let snapshots = damaged(&index, &[]).await;
        let ours = snapshots[2].next();
        index
            .store
            .put(&Snapshot::path(5), Bytes::new())
            .await
            .unwrap();
        index.publish(&ours).await.unwrap();
        assert_eq!(index.require_newest().await.unwrap().number, 4);
        // An old number that was freed wins nothing either.
        index.store.delete(&Snapshot::path(2)).await.unwrap();
        let error = index.publish(&snapshots[0].next()).await.unwrap_err();
        assert!(
            matches!(error, PublishError::Lost { newest: 5, .. }),
            "{error}"
        );
    });
}

#[test]
fn what_is_damaged_is_set_aside_once_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        for index in places(&folder) {
            damaged(&index, &[3, 1]).await;
            let numbers: Vec<u64> = index
                .damaged_snapshots()
                .await
                .unwrap()
                .iter()
                .map(|(info, _)| info.number)
                .collect();
            assert_eq!(numbers, [3, 1]);
            assert_eq!(index.set_damaged_aside().await.unwrap(), [3, 1]);
            assert!(index.damaged_snapshots().await.unwrap().is_empty());
            assert!(index.set_damaged_aside().await.unwrap().is_empty());
            let left = index.snapshots().await.unwrap();
            let left: Vec<u64> = left.iter().map(|info| info.number).collect();
            assert_eq!(left, [4, 2]);
            let aside = format!("{}.damaged", Snapshot::path(3));
            assert_eq!(index.store.get(&aside).await.unwrap(), "");
        }
    });
}

#[test]
fn an_index_without_a_whole_snapshot_says_what_to_do() {
    run(async {
        let index = IndexStore::new(Store::in_memory());
        damaged(&index, &[1, 2, 3]).await;
        for error in [
            index.require_newest().await.unwrap_err(),
            index.prepare().await.unwrap_err(),
        ] {
            assert!(error.is_damage(), "{error}");
            assert!(
                error.to_string().contains("limn verify --repair"),
                "{error}"
            );
        }
        assert_eq!(index.set_damaged_aside().await.unwrap(), [3, 2, 1]);
        assert!(index.prepare().await.unwrap().is_none());
        let error = index.require_newest().await.unwrap_err();
        assert!(matches!(error, SegmentError::NotAnIndex { .. }), "{error}");
    });
}
