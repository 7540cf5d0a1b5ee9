//! Files of the same content, hence of the same path, in one snapshot.

use super::*;

fn change(name: usize, version: u64) -> Change {
    Change {
        name,
        version,
        group: 0,
        what: What::Describe,
    }
}

/// An index whose second and fourth catalog file are the same, around another version of one of its
/// tables.
async fn with_copies(index: &IndexStore) -> Snapshot {
    let first = Snapshot::first("m", DIMENSIONS, 1);
    let first = epoch(index, &first, &[change(1, 1)]).await;
    let second = epoch(index, &first, &[change(2, 1), change(3, 1)]).await;
    let third = epoch(index, &second, &[change(2, 2)]).await;
    let mut fourth = third.next();
    // What replaces the second version of table 2 is the first one again.
    fourth.segments.truncate(2);
    fourth.segments[1].deletes = None;
    fourth.catalog.push(third.catalog[1].clone());
    assert_whole(index, &fourth).await;
    fourth
}

#[test]
fn one_of_two_catalog_files_of_one_path_is_merged_and_the_other_stays() {
    run(async {
        let index = memory();
        let newest = with_copies(&index).await;
        index.publish(&newest).await.unwrap();
        let expected = resolved(&index, &newest).await;
        index.compact(&eager(), &quiet).await.unwrap().unwrap();
        let newest = index.require_newest().await.unwrap();
        assert_whole(&index, &newest).await;
        assert_eq!(resolved(&index, &newest).await, expected);
    });
}

fn merge_of(snapshot: &Snapshot, places: &[usize]) -> Merge {
    let catalog = places.iter().map(|at| &snapshot.catalog[*at]);
    let catalog: Vec<&CatalogEntry> = catalog.collect();
    // A segment is merged with the last file that its rows are in.
    let owns = |place: usize, path: &str| {
        let mut later = snapshot.catalog[place + 1..].iter();
        later.all(|it| it.segment.as_deref() != Some(path))
    };
    let segments = places.iter().filter_map(|at| {
        let path = snapshot.catalog[*at].segment.clone()?;
        let count = snapshot.segments.iter().filter(|it| it.path == path);
        let count = if owns(*at, &path) { count.count() } else { 0 };
        Some(std::iter::repeat_n(path, count))
    });
    Merge {
        shard: Shard(0),
        catalog: catalog.iter().map(|it| it.path.clone()).collect(),
        places: places.to_vec(),
        segments: segments.flatten().collect(),
        live: 0,
        dead: 0,
    }
}

/// Carries merges out and publishes them on `newest`, which has to be what `later` says.
async fn assert_merged(index: &IndexStore, base: &Snapshot, newest: &Snapshot, merges: &[Merge]) {
    let expected = resolved(index, newest).await;
    let shards = index.carry_out(base, merges, &quiet).await.unwrap();
    let (next, applied) = index.apply(&shards, newest).await.unwrap().unwrap();
    assert_eq!(applied, merges);
    let merged: usize = merges.iter().map(|it| it.places.len()).sum();
    assert!(next.catalog.len() <= newest.catalog.len() - merged + merges.len());
    assert_whole(index, &next).await;
    assert_eq!(resolved(index, &next).await, expected, "{merges:?}");
    assert_eq!(next.live_blocks(), live_blocks_once(index, newest).await);
    assert!(!is_applied(&applied, newest, &next, newest));
    let mut followed = HeldRows::of(None);
    followed.advance(index, newest).await.unwrap();
    followed.advance(index, &next).await.unwrap();
    let followed: Vec<TableRecord> = followed.iter().map(|row| (**row).clone()).collect();
    let rows = index.tables_with_removed(&next, None).await.unwrap();
    assert_eq!(followed, rows, "{merges:?}");
    // A place of which nobody can know is planned for again.
    let is_known = !newest.catalog.starts_with(&next.catalog);
    assert_eq!(is_applied(&applied, newest, &next, &next.next()), is_known);
}

/// Live blocks, those of a table that is there.
async fn live_blocks_once(index: &IndexStore, snapshot: &Snapshot) -> u64 {
    let tables = index.tables(snapshot, None).await.unwrap();
    tables.iter().map(|table| u64::from(table.blocks)).sum()
}

/// Any of the files merged together and in two merges, alone and beside another writer.
#[test]
fn whichever_of_the_copies_are_merged_the_tables_stay() {
    run(async {
        let index = memory();
        let base = with_copies(&index).await;
        let mut later = epoch(&index, &base, &[change(3, 2), change(1, 3)]).await;
        later = epoch(&index, &later, &[change(5, 1)]).await;
        for files in 1..1usize << base.catalog.len() {
            let places: Vec<usize> = (0..base.catalog.len())
                .filter(|at| files >> at & 1 == 1)
                .collect();
            let others: Vec<usize> = (0..base.catalog.len())
                .filter(|at| files >> at & 1 == 0)
                .collect();
            let mut merges = vec![merge_of(&base, &places)];
            assert_merged(&index, &base, &base, &merges).await;
            assert_merged(&index, &base, &later, &merges).await;
            if !others.is_empty() {
                merges.push(merge_of(&base, &others));
                assert_merged(&index, &base, &base, &merges).await;
                assert_merged(&index, &base, &later, &merges).await;
            }
        }
    });
}

/// Each block lives in one of the two.
#[test]
fn a_segment_that_is_named_twice_is_merged_as_one() {
    run(async {
        let index = memory();
        let mut base = with_copies(&index).await;
        let path = base.segments[1].path.clone();
        let mut copy = base.segments[1].clone();
        let reader = SegmentReader::open(&index.store, &copy).await.unwrap();
        for (table, entry) in reader
            .tables()
            .iter()
            .zip([&mut base.segments[1], &mut copy])
        {
            let mut deletes = Deletes::none();
            deletes.delete_table(table.first_block, table.blocks);
            entry.deletes = index.put_deletes(&deletes).await.unwrap();
        }
        base.segments.push(copy);
        let planned = plan(&base, &Policy::full());
        assert_eq!(planned.len(), 1);
        let named = planned[0].segments.iter().filter(|it| **it == path);
        assert_eq!((named.count(), planned[0].sources().len()), (2, 2));
        let blocks = live_blocks_once(&index, &base).await;
        assert_eq!(planned[0].live, blocks + 3);

        let expected = resolved(&index, &base).await;
        index.publish(&base).await.unwrap();
        index
            .compact(&Policy::full(), &quiet)
            .await
            .unwrap()
            .unwrap();
        let newest = index.require_newest().await.unwrap();
        assert_eq!((newest.catalog.len(), newest.segments.len()), (1, 1));
        assert_whole(&index, &newest).await;
        assert_eq!(resolved(&index, &newest).await, expected);
        assert_eq!(newest.live_blocks(), blocks);

        // Another writer deletes a table in the copy in which it lives, beside the merge.
        let shards = index.carry_out(&base, &planned, &quiet).await.unwrap();
        let mut later = base.next();
        let last = later.segments.len() - 1;
        later.segments.remove(last);
        let removed_table = reader.tables().at(0);
        later.catalog.push(
            index
                .put_catalog(Shard(0), &[removed(&removed_table.key.to_key())])
                .await
                .unwrap(),
        );
        let expected = resolved(&index, &later).await;
        let (next, _) = index.apply(&shards, &later).await.unwrap().unwrap();
        assert_whole(&index, &next).await;
        assert_eq!(resolved(&index, &next).await, expected);
    });
}

fn removed(key: &TableKey) -> TableRecord {
    TableRecord {
        lake: key.lake.clone(),
        name: key.name.clone(),
        group: "0".into(),
        removed: true,
        ..TableRecord::default()
    }
}
