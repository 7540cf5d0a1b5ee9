//! What a listing and its plan cost in memory, and what a later run knows of the index. A process
//! of its own: its memory is measured.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

#[path = "../examples/listings/lake.rs"]
mod lake;
#[path = "../examples/listings/planned.rs"]
mod planned;

use limn_formats::Objects;
use limn_models::{Embedder, HashedWords};
use limn_pipeline::stages::Published;
use limn_pipeline::{IndexSettings, RunOptions};
use limn_segment::{ColumnRecord, FileRecord, IndexStore, Shard, Snapshot, TableRecord};
use limn_store::Store;

use self::lake::objects;
use self::planned::{memory, plan, share};

/// Enough that what the process has besides does not count.
const OBJECTS: u64 = 400_000;
/// What design/README.md, section 7, allows an object.
const MOST_BYTES: u64 = 200;
/// What it allows a table, in all processes together.
const MOST_BYTES_OF_A_TABLE: u64 = 2_000;
/// Rows of a catalog file.
const ROWS: u64 = 1_000;

#[test]
fn an_object_costs_200_bytes_and_a_table_of_the_index_2_kb() {
    // What is made once, whatever the lake.
    let all = share(0, 1);
    plan(objects(1_000).collect(), &all);
    let before = memory("VmRSS");
    let listed: Objects = objects(OBJECTS).collect();
    let (groups, epochs) = plan(listed, &all);
    let bytes = (memory("VmHWM") - before) / OBJECTS;
    assert!(groups > OBJECTS / 20 && epochs > 5, "{groups}, {epochs}");
    assert!(bytes <= MOST_BYTES, "{bytes} bytes an object");

    // Both are read as many files at a time as any.
    let (few, many) = (known(40), known(120));
    let bytes = (many - few) / (80 * ROWS);
    println!("{bytes} bytes a table");
    assert!(bytes <= MOST_BYTES_OF_A_TABLE, "{bytes} bytes a table");
}

/// The peak of memory while the catalog of an index with so many catalog files becomes known.
fn known(files: u64) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let index = IndexStore::new(Store::open(folder.path().to_str().unwrap()).unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let settings = IndexSettings::of_run(&RunOptions::default(), &HashedWords, None);
    let mut snapshot = Snapshot::first(&settings.embedder, HashedWords.dimensions(), 1);
    for file in 0..files {
        let rows: Vec<TableRecord> = (0..ROWS).map(|row| row_of(file * ROWS + row)).collect();
        let entry = runtime.block_on(index.put_catalog(Shard(0), &rows));
        snapshot.catalog.push(entry.unwrap());
    }
    // The peak is that of what comes.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let published = Published::default();
    let advanced = published.advance(&index, Some(snapshot), "s3://lake", &settings, false);
    runtime.block_on(advanced).unwrap();
    assert_eq!(published.groups().len() as u64, files * ROWS);
    memory("VmHWM")
}

/// A table of one file and four columns of 50 values.
fn row_of(number: u64) -> TableRecord {
    let name = format!(
        "department-{}/source-system-{number}/daily_export_of_{number}",
        number % 97
    );
    let sketch: Vec<u8> = (0..50 * 9)
        .map(|it| (number * it * it % 251) as u8)
        .collect();
    let column = |at: u64| ColumnRecord {
        name: format!("column_{at}_{number}"),
        data_type: "integer".to_owned(),
        ..ColumnRecord::default()
    };
    let file = FileRecord {
        path: format!("{name}.csv"),
        etag: Some(format!("{:032x}", u128::from(number) << 64)),
        fingerprint: format!("{:032x}", u128::from(number) << 32),
        summary: Some(format!("{{\"n\":\"{number}{}\"}}", "x".repeat(1_000))),
        sketches: (0..4).map(|_| Some(&sketch)).collect(),
        rows: Some(50),
        ..FileRecord::default()
    };
    TableRecord {
        lake: "s3://lake".to_owned(),
        location: format!("s3://lake/{name}.csv"),
        format: "csv".to_owned(),
        rows: Some(50),
        columns: (0..4).map(column).collect(),
        sketches: file.sketches.clone(),
        files: vec![file],
        group: format!("{:032x}", u128::from(number) + 1),
        segment: format!("segments/0/{:032x}.limn", number / ROWS),
        blocks: 4,
        name,
        ..TableRecord::default()
    }
}
