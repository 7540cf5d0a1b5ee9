//! Comparing snapshots gives what comparing whole catalogs gives, and costs what may be seen.
#![allow(clippy::unwrap_used)]

use futures::future::join_all;
use limn_store::Store;
use proptest::prelude::*;

use super::*;
use crate::catalog::{ColumnRecord, ContextRecord, FileRecord};
use crate::table::is_under;

const LAKES: [&str; 2] = ["s3://lake", "s3://other"];
const FOLDERS: [&str; 4] = ["hr", "hr/pay", "hr-old", "sales"];

/// One of few tables, in one of few versions.
fn table(number: u8, version: u8) -> TableRecord {
    let folder = FOLDERS[usize::from(number) % 4];
    let name = format!("{folder}/t{}", number / 8);
    TableRecord {
        lake: LAKES[usize::from(number) / 4 % 2].to_owned(),
        rows: Some(10 + u64::from(version % 2)),
        columns: vec![ColumnRecord {
            name: format!("c{}", version / 2 % 2),
            data_type: "text".to_owned(),
            distinct: 3,
            ..ColumnRecord::default()
        }],
        files: vec![FileRecord {
            path: format!("{name}.csv"),
            // Some tables have the same content as others: renamed, if one comes as another goes.
            etag: Some(format!("tag {} {version}", number % 16)),
            ..FileRecord::default()
        }],
        contexts: match version / 4 % 2 {
            0 => Vec::new(),
            _ => vec![ContextRecord {
                text: "about it".to_owned(),
                ..ContextRecord::default()
            }],
        },
        name,
        ..TableRecord::default()
    }
}

/// The next snapshot, after some tables came or changed (`Some`) or went.
async fn after(index: &IndexStore, before: &Snapshot, edits: &[(u8, Option<u8>)]) -> Snapshot {
    let mut next = before.next();
    for shard in (0..next.shards).map(Shard) {
        let rows = edits.iter().map(|(number, version)| TableRecord {
            removed: version.is_none(),
            ..table(*number, version.unwrap_or_default())
        });
        let rows: Vec<TableRecord> = rows.filter(|row| row.key().shard(2) == shard).collect();
        if !rows.is_empty() {
            let entry = index.put_catalog(shard, &rows).await.unwrap();
            next.catalog.push(entry);
        }
    }
    next
}

/// The next snapshot, after all files became one a shard and all blocks moved.
async fn compacted(index: &IndexStore, before: &Snapshot) -> Snapshot {
    let mut next = before.next();
    next.catalog.clear();
    let rows = index.tables(before, None).await.unwrap();
    for shard in (0..next.shards).map(Shard) {
        let rows = rows.iter().filter(|row| row.key().shard(2) == shard);
        let rows = rows.map(|row| TableRecord {
            first_block: 7,
            ..row.clone()
        });
        let rows: Vec<TableRecord> = rows.collect();
        let entry = index.put_catalog(shard, &rows).await.unwrap();
        next.catalog.push(entry);
    }
    next
}

fn history() -> impl Strategy<Value = Vec<Vec<(u8, Option<u8>)>>> {
    let edit = (0u8..32, prop::option::weighted(0.7, 0u8..8));
    prop::collection::vec(prop::collection::vec(edit, 0..6), 1..7)
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_cheap_comparison_is_the_whole_one(history in history(), path in 0usize..6) {
        let path = ["", "hr", "hr/pay", "sales", "hr/pay/t1", "none"][path];
        run(async {
            let index = IndexStore::new(Store::in_memory());
            let mut snapshots = vec![Snapshot::first("m", 3, 2)];
            for (at, edits) in history.iter().enumerate() {
                let last = snapshots.last().unwrap();
                snapshots.push(match edits.is_empty() && at > 0 {
                    true => compacted(&index, last).await,
                    false => after(&index, last, edits).await,
                });
            }
            let reader = ChangeReader::new(index.clone());
            let of_lake = |lake: &str| lake == LAKES[0] || path.is_empty();
            let within = Within {
                paths: &|lake| of_lake(lake).then(|| path.to_owned()).into_iter().collect(),
                allows: &|_| true,
            };
            let mut seen = Vec::new();
            for snapshot in &snapshots {
                let mut tables = index.tables(snapshot, None).await.unwrap();
                tables.retain(|it| of_lake(&it.lake) && is_under(&it.name, path));
                seen.push((snapshot, tables));
            }
            for (newer, after) in &seen {
                for (older, before) in &seen {
                    let cheap = reader.between(older, newer, &within).await.unwrap();
                    let whole = TableChanges::between(before.clone(), after.clone());
                    assert_eq!(cheap, whole);
                }
            }
        });
    }
}

/// Two snapshots of many hidden tables and one at `seen`, that all changed between the two; so many
/// compactions come after.
async fn mostly_hidden(index: &IndexStore) -> (Snapshot, Snapshot) {
    let rows = |version: u8| -> Vec<TableRecord> {
        let hidden = (0..1_500).map(|number| TableRecord {
            name: format!("hidden/t{number:04}"),
            ..table(0, version)
        });
        let seen = TableRecord {
            name: "seen/it".to_owned(),
            ..table(0, version)
        };
        hidden.chain([seen]).collect()
    };
    let mut older = Snapshot::first("m", 3, 1);
    older
        .catalog
        .push(index.put_catalog(Shard(0), &rows(0)).await.unwrap());
    let mut newer = older.next();
    newer
        .catalog
        .push(index.put_catalog(Shard(0), &rows(1)).await.unwrap());
    (older, newer)
}

fn at(path: &'static str) -> impl Fn(&str) -> Vec<String> + Sync {
    move |_| vec![path.to_owned()]
}

#[test]
fn who_sees_no_table_of_a_file_reads_it_once_for_its_keys() {
    run(async {
        let index = IndexStore::new(Store::in_memory());
        let (older, newer) = mostly_hidden(&index).await;
        let reader = ChangeReader::new(index.clone());
        let compare = async |path: &'static str| {
            let paths = at(path);
            let within = Within {
                paths: &paths,
                allows: &|_| true,
            };
            let before = index.store.counts();
            let found = reader.between(&older, &newer, &within).await.unwrap();
            (found.changed.len(), index.store.counts().since(&before).get)
        };
        // The file that both have is not looked at.
        assert_eq!(compare("nowhere").await, (0, 1));
        assert_eq!(compare("nowhere").await, (0, 0), "whatever changed");
        // The other file's keys, digests of both rows, both rows.
        assert_eq!(compare("seen").await, (1, 5));
        assert_eq!(compare("seen/it").await, (1, 2));
        assert_eq!(compare("hidden").await.0, 1_500);
    });
}

#[test]
fn who_compares_at_the_same_time_reads_each_file_once() {
    run(async {
        let index = IndexStore::new(Store::in_memory());
        let (older, newer) = mostly_hidden(&index).await;
        let reader = ChangeReader::new(index.clone());
        let paths = at("nowhere");
        let within = Within {
            paths: &paths,
            allows: &|_| true,
        };
        let before = index.store.counts();
        let all = (0..20).map(|_| reader.between(&older, &newer, &within));
        for found in join_all(all).await {
            assert!(found.unwrap().is_empty());
        }
        assert_eq!(index.store.counts().since(&before).get, 1);
    });
}

#[test]
fn keys_that_nobody_asked_for_lately_are_forgotten() {
    run(async {
        let index = IndexStore::new(Store::in_memory());
        let (_, newer) = mostly_hidden(&index).await;
        let kept = KeptKeys::new(300 << 10);
        let reads = CatalogReads::new(index.clone());
        let read = async |at: usize| {
            let before = index.store.counts();
            let keys = kept.of(&reads, &newer.catalog[at]).await.unwrap();
            assert_eq!(keys.rows().len(), 1_501);
            index.store.counts().since(&before).get
        };
        // There is room for one.
        assert_eq!((read(0).await, read(0).await), (1, 0));
        assert_eq!((read(1).await, read(1).await), (1, 0));
        assert_eq!(read(0).await, 1);
    });
}
