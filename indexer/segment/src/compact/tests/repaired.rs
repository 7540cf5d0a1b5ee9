//! Catalogs of random histories that lose a file: what other files describe stays, nothing of the
//! lost rows can be found, and nothing that they had replaced or removed comes back.

use super::followed::changes;
use super::*;

/// An index of some epochs, compacted now and then, and its newest snapshot.
async fn grown(seed: u64) -> (IndexStore, Snapshot) {
    let index = memory();
    let mut newest = Snapshot::first("m", DIMENSIONS, 2);
    index.publish(&newest).await.unwrap();
    for step in 0..8 {
        newest = epoch(&index, &newest, &changes(seed, step)).await;
        index.publish(&newest).await.unwrap();
        if noise(seed, step).is_multiple_of(4) {
            index.compact(&eager(), &quiet).await.unwrap();
            newest = index.require_newest().await.unwrap();
        }
    }
    (index, newest)
}

async fn damage(index: &IndexStore, path: &str, way: u64) {
    let good = index.store.get(path).await.unwrap();
    let mut flipped = good.to_vec();
    flipped[good.len() / 2] ^= 1;
    match way % 3 {
        0 => index.store.put(path, flipped.into()).await.unwrap(),
        1 => {
            let cut = good.slice(..good.len() / 2);
            index.store.put(path, cut).await.unwrap();
        }
        _ => index.store.delete(path).await.unwrap(),
    }
}

/// Where the blocks of a row's table are.
fn place(row: &TableRecord) -> (&str, u32, u32) {
    (&row.segment, row.first_block, row.blocks)
}

#[test]
fn what_a_lost_file_had_can_not_be_found_and_all_else_stays() {
    run(async {
        let (mut files_lost, mut tables_lost) = (0, 0);
        for seed in 0..rounds(120).into() {
            let (index, newest) = grown(seed).await;
            let mut followed = HeldRows::of(None);
            followed.advance(&index, &newest).await.unwrap();
            let Some(file) = newest
                .catalog
                .get(noise(seed, 99) as usize % newest.catalog.len())
            else {
                continue;
            };
            let live = followed.live().map(|(key, row)| {
                let is_lost = followed.file_of(key).is_some_and(|it| it.path == file.path);
                (key.clone(), (is_lost, (**row).clone()))
            });
            let live: BTreeMap<TableKey, (bool, TableRecord)> = live.collect();
            damage(&index, &file.path, seed).await;
            let error = index.tables(&newest, None).await.unwrap_err();
            assert!(Problem::of_catalog(&error).is_some(), "{error}");

            let repaired = index.repair_catalog().await.unwrap();
            let snapshot = &repaired.snapshot;
            assert_eq!(*snapshot, index.require_newest().await.unwrap());
            let object = index.store.object_url(&file.path);
            assert!(repaired.left_out.iter().all(|it| it.object == object));
            assert!(!repaired.left_out.is_empty());
            assert!(snapshot.catalog.iter().all(|it| it.path != file.path));
            // Other shards are as they were.
            let of_others = |snapshot: &Snapshot| -> Vec<String> {
                let files = snapshot.catalog.iter().filter(|it| it.shard != file.shard);
                files.map(|it| it.path.clone()).collect()
            };
            assert_eq!(of_others(snapshot), of_others(&newest));
            // Every live block is that of a row, and the other way round.
            assert_whole(&index, snapshot).await;

            let now = index.tables(snapshot, None).await.unwrap();
            let now: BTreeMap<TableKey, TableRecord> =
                now.into_iter().map(|row| (row.key(), row)).collect();
            for (key, (is_lost, row)) in &live {
                if !is_lost {
                    assert_eq!(now.get(key), Some(row), "seed {seed}");
                } else if row.blocks > 0 {
                    tables_lost += 1;
                    // Unless an older row had the same words at the same place.
                    let is_there = now.get(key).is_some_and(|it| place(it) == place(row));
                    assert!(is_there || repaired.lost.contains(key), "seed {seed}");
                }
            }
            for (key, row) in &now {
                let was = live.get(key).map(|(_, row)| place(row));
                assert!(row.blocks == 0 || was == Some(place(row)), "seed {seed}");
            }
            // Who followed the index has the rows of who begins here.
            followed.advance(&index, snapshot).await.unwrap();
            let all = index.tables_with_removed(snapshot, None).await.unwrap();
            let followed: Vec<TableRecord> = followed.iter().map(|row| (**row).clone()).collect();
            assert_eq!(followed, all);
            // There is nothing to repair any more.
            let again = index.repair_catalog().await.unwrap();
            assert_eq!((&again.snapshot, again.left_out.len()), (snapshot, 0));
            files_lost += repaired.left_out.len();
        }
        assert!(
            files_lost > 50 && tables_lost > 50,
            "{files_lost} {tables_lost}"
        );
    });
}

#[test]
fn registered_contexts_of_older_rows_stay_and_what_was_replaced_does_not() {
    run(async {
        let index = memory();
        let change = |version, what| Change {
            name: 0,
            version,
            group: 0,
            what,
        };
        let first = Snapshot::first("m", DIMENSIONS, 1);
        index.publish(&first).await.unwrap();
        let mut newest = epoch(&index, &first, &[change(1, What::Describe)]).await;
        index.publish(&newest).await.unwrap();
        let with_first = newest.clone();
        for what in [What::Describe, What::Remove] {
            newest = epoch(&index, &with_first, &[change(2, what)]).await;
            newest.number = index.require_newest().await.unwrap().number + 1;
            index.publish(&newest).await.unwrap();
            damage(&index, &newest.catalog[1].path, 0).await;
            let repaired = index.repair_catalog().await.unwrap().snapshot;
            assert_eq!((repaired.catalog.len(), repaired.live_blocks()), (1, 0));
            let [row] = &index.catalog(&repaired.catalog[0]).await.unwrap()[..] else {
                panic!("one row");
            };
            assert!(row.removed && row.files.is_empty());
            assert_eq!(row.contexts[0].text, "registered 1");
        }
    });
}

#[test]
fn what_may_pass_is_no_damage() {
    run(async {
        let (index, newest) = grown(1).await;
        let error = SegmentError::NewerFormat {
            object: newest.catalog[0].path.clone(),
            found: 9,
            supported: 2,
        };
        assert!(Problem::of_catalog(&error).is_none());
        let error = limn_store::StoreError::new(
            limn_store::StoreErrorKind::AccessDenied,
            index.store.url(),
            "injected",
            "",
        );
        assert!(Problem::of_catalog(&error.into()).is_none());
    });
}

#[test]
fn of_two_that_mend_at_once_both_go_on_from_one_snapshot() {
    run(async {
        for seed in 0..rounds(20).into() {
            let (index, newest) = grown(seed).await;
            damage(&index, &newest.catalog[0].path, seed).await;
            let repair = || {
                let index = index.clone();
                tokio::spawn(async move { index.repair_catalog().await.unwrap() })
            };
            let (one, other) = (repair(), repair());
            let (one, other) = (one.await.unwrap(), other.await.unwrap());
            assert_eq!(one.snapshot, other.snapshot);
            assert_eq!(one.snapshot.number, newest.number + 1);
            assert!(one.left_out.is_empty() != other.left_out.is_empty());
            assert_whole(&index, &one.snapshot).await;
        }
    });
}
