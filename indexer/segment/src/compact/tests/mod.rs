//! Compaction over whole indexes: what is found stays, what is dead goes, and no update is lost.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod copies;
mod followed;
mod histories;
mod logs;
mod policy;
mod races;
mod repaired;
mod whole;

use std::collections::BTreeMap;

use limn_store::Store;

use super::*;
use crate::tests::{DIMENSIONS, noise, rounds, sample_tables};
use crate::values::tests::list;
use crate::*;

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn memory() -> IndexStore {
    IndexStore::new(Store::in_memory())
}

/// Merges almost everything there is.
fn eager() -> Policy {
    Policy {
        members: 1,
        dead_percent: 10,
        min_size: 1,
        max_size: 1000,
        full: false,
    }
}

fn key(name: usize) -> TableKey {
    TableKey {
        lake: format!("s3://lake-{}", name % 2),
        name: format!("t{name:04}"),
    }
}

/// A table's blocks; another version has others.
/// What the table's copies would have in common with it; of some it is not known.
fn content(name: usize) -> Option<TableContent> {
    (!name.is_multiple_of(3)).then_some(TableContent {
        hash: name as u128 + 1,
        modified_ms: -(name as i64),
    })
}

/// Hashes of a table's values; some have none.
fn values_of(name: usize, version: u64) -> TableValues {
    let values = |column: u64| {
        let from = noise(name as u64, version + column) % 1000;
        (from..from + 200).map(|it| format!("value {it:05}"))
    };
    let column = |at: u64| ColumnValues {
        name: format!("column{at}"),
        withheld: at == 2,
        lists: vec![list(values(at))],
    };
    TableValues {
        columns: (0..noise(name as u64, version) % 4).map(column).collect(),
    }
}

fn blocks(name: usize, version: u64) -> Vec<Block> {
    let kind = noise(name as u64, version) % 12;
    let mut blocks = sample_tables(kind + 1).remove(kind as usize).blocks;
    blocks[0].text = format!("{name} version {version}");
    let text = format!("version{version} table{name} version{version}");
    blocks[0].fields.push((Field::Rows, text));
    blocks
}

/// What happens to a table in an epoch.
#[derive(Clone, Debug)]
struct Change {
    name: usize,
    version: u64,
    group: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Describe,
    /// A row without blocks.
    Unreadable,
    Remove,
    /// The registered context stays.
    RemoveRegistered,
}

fn row_of(change: &Change) -> TableRecord {
    let key = key(change.name);
    let context = ContextRecord {
        source: REGISTERED.into(),
        text: format!("registered {}", change.version),
        ..ContextRecord::default()
    };
    TableRecord {
        lake: key.lake,
        name: key.name,
        group: format!("{}", change.group),
        removed: matches!(change.what, What::Remove | What::RemoveRegistered),
        contexts: (change.what != What::Remove)
            .then_some(context)
            .into_iter()
            .collect(),
        rows: Some(change.version),
        error: (change.what == What::Unreadable).then(|| "cut off".into()),
        indexed_ms: change.version as i64,
        ..TableRecord::default()
    }
}

/// An epoch as the pipeline writes it: a segment and a catalog file a shard, and what they replace
/// deleted.
async fn epoch(index: &IndexStore, base: &Snapshot, changes: &[Change]) -> Snapshot {
    let known: BTreeMap<TableKey, TableRecord> = index
        .tables(base, None)
        .await
        .unwrap()
        .into_iter()
        .map(|row| (row.key(), row))
        .collect();
    let mut next = base.next();
    let mut shards: BTreeMap<Shard, Vec<&Change>> = BTreeMap::new();
    for change in changes {
        let shard = key(change.name).shard(base.shards);
        shards.entry(shard).or_default().push(change);
    }
    for (shard, changes) in shards {
        let mut rows: Vec<TableRecord> = changes.iter().map(|change| row_of(change)).collect();
        // Segments come again under their names; catalog files do not, since rows have their time.
        for row in &mut rows {
            row.indexed_ms = base.number as i64;
        }
        let tables: Vec<TableBlocks> = changes
            .iter()
            .filter(|change| change.what == What::Describe)
            .map(|change| TableBlocks {
                content: content(change.name),
                values: values_of(change.name, change.version),
                table: key(change.name),
                location: format!("s3://lake/{}.csv", change.name),
                blocks: blocks(change.name, change.version),
            })
            .collect();
        if !tables.is_empty() {
            let built = build_segment(tables, &SegmentSettings::new(DIMENSIONS, shard)).unwrap();
            for (table, first, count) in &built.tables {
                let row = rows.iter_mut().find(|row| row.key() == *table).unwrap();
                row.segment.clone_from(&built.entry.path);
                (row.first_block, row.blocks) = (*first, *count);
            }
            next.segments.push(index.put_segment(&built).await.unwrap());
        }
        next.catalog
            .push(index.put_catalog(shard, &rows).await.unwrap());
    }
    for change in changes {
        let Some(old) = known.get(&key(change.name)) else {
            continue;
        };
        // What goes from another group than the table's leaves it alone.
        if !row_of(change).holds_after(Some(old)) {
            continue;
        }
        let at = next.segments.iter().position(|it| it.path == old.segment);
        if let (Some(at), true) = (at, old.blocks > 0) {
            let entry = &mut next.segments[at];
            let mut bitmap = index.deletes(entry).await.unwrap();
            bitmap.delete_table(old.first_block, old.blocks);
            if bitmap.count() == entry.blocks {
                next.segments.remove(at);
            } else {
                entry.deletes = index.put_deletes(&bitmap).await.unwrap();
            }
        }
    }
    next
}

/// The rows that hold, but for where their blocks are. Rows that a merge may drop are left out.
async fn resolved(index: &IndexStore, snapshot: &Snapshot) -> Vec<TableRecord> {
    let rows = index.tables_with_removed(snapshot, None).await.unwrap();
    rows.into_iter()
        .filter(|row| !row.removed || row.contexts.iter().any(|it| it.source == REGISTERED))
        .map(|row| TableRecord {
            segment: String::new(),
            first_block: 0,
            ..row
        })
        .collect()
}

async fn assert_whole(index: &IndexStore, snapshot: &Snapshot) {
    let verified = index.verify(snapshot, &|_| ()).await.unwrap();
    assert_eq!(verified.problems, []);
}

fn quiet(_: CompactStep) {}
