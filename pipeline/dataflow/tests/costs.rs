//! Cost follows change (design, invariant 5), counted in requests, bytes and tokens, never in
//! seconds.
//!
//! The lake's and the index's requests are counted apart: what a change costs on the lake follows
//! the change alone, while a run over any change reads the index's catalog and the text hashes of
//! its segments, whatever the change.
//!
//! The lakes have 10,000 objects. `LIMN_COST_OBJECTS=100000 cargo test --release -p limn-pipeline
//! --test job costs` counts with more.

use crate::common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::Lab;
use common::fake_narrator::FakeNarrator;
use common::narrated::{narrated, narrated_by};
use limn_pipeline::Report;
use limn_store::{RequestCounts, Store};
use tempfile::TempDir;

fn objects() -> usize {
    let set = std::env::var("LIMN_COST_OBJECTS").ok();
    set.and_then(|set| set.parse().ok()).unwrap_or(10_000)
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A lab over a lake in a folder.
fn lab_over(root: &Path) -> Lab {
    std::fs::create_dir_all(root).unwrap();
    let mut lab = Lab::new();
    lab.lake = Store::open(root.to_str().unwrap()).unwrap();
    lab.patience = Duration::from_secs(900);
    lab
}

/// What a run cost: its report, and the requests to the lake and to the index.
struct Cost {
    report: Report,
    lake: RequestCounts,
    index: RequestCounts,
}

async fn run(lab: &Lab) -> Cost {
    let before = (lab.lake.counts(), lab.index.store.counts());
    let started = Instant::now();
    let report = lab.run().await;
    let cost = Cost {
        report,
        lake: lab.lake.counts().since(&before.0),
        index: lab.index.store.counts().since(&before.1),
    };
    println!(
        "{:.1} s, {} listed, {} read\n  lake  {:?}\n  index {:?}\n  {:?}",
        started.elapsed().as_secs_f64(),
        cost.report.objects.listed,
        cost.report.objects.read,
        cost.lake,
        cost.index,
        cost.report.model
    );
    cost
}

/// Checks that a run read no data, asked no model and wrote nothing.
fn expect_nothing(cost: &Cost, objects: usize, snapshot: u64) {
    let lake = &cost.lake;
    assert_eq!(cost.report.objects.listed, objects as u64);
    assert!(lake.list > 0, "{lake:?}");
    assert_eq!(
        (lake.get, lake.head, lake.put, lake.delete),
        (0, 0, 0, 0),
        "{lake:?}"
    );
    assert_eq!((lake.bytes_read, cost.report.objects.read), (0, 0));
    let index = &cost.index;
    assert_eq!(
        (index.put, index.delete, index.bytes_written),
        (0, 0, 0),
        "{index:?}"
    );
    let model = &cost.report.model;
    let tokens = model.embedded_tokens + model.prompt_tokens + model.generated_tokens;
    assert_eq!(
        (model.embedded_blocks, model.narrated_columns, tokens),
        (0, 0, 0)
    );
    assert_eq!(cost.report.snapshot, snapshot, "no new snapshot");
}

/// 200 tables of many small files: half are families, half are partitioned.
fn tables_of_many_files(root: &Path, objects: usize) {
    for object in 0..objects {
        let (table, file) = (object % 200, object / 200);
        let path = if table % 2 == 0 {
            format!("area{table}/part-{file:05}.csv")
        } else {
            format!("area{table}/day={file}/x.csv")
        };
        write(
            root,
            &path,
            &format!("station{table},level\n{file},{}\n", object % 97),
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unchanged_lake_costs_its_listing() {
    let scratch = TempDir::new().unwrap();
    let root = scratch.path().join("lake");
    let objects = objects();
    tables_of_many_files(&root, objects);
    let mut lab = lab_over(&root);
    narrated_by(&mut lab, &FakeNarrator::new().shared());
    let first = run(&lab).await;
    assert_eq!(first.report.tables.added, 200, "{:?}", first.report);
    assert_eq!(first.report.objects.read, objects as u64);
    let second = run(&lab).await;
    expect_nothing(&second, objects, first.report.snapshot);
    // Of the index it reads the newest snapshot and the catalog.
    assert!(second.index.bytes_read < first.index.bytes_written);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_file_in_a_large_table_is_read_alone() {
    let scratch = TempDir::new().unwrap();
    let root = scratch.path().join("lake");
    let objects = objects();
    for file in 0..objects {
        let text = format!("station,level\n{file},{}\n", file % 97);
        write(&root, &format!("levels/day={file}/x.csv"), &text);
    }
    write(&root, "other.csv", "planet,moons\nMars,2\n");
    let lab = lab_over(&root);
    assert_eq!(run(&lab).await.report.tables.added, 2);
    let text = "station,level\n7,1\n";
    write(&root, "levels/day=new/x.csv", text);
    let cost = run(&lab).await;
    let tables = cost.report.tables;
    assert_eq!((tables.added, tables.changed, tables.unchanged), (0, 1, 1));
    assert_eq!(cost.report.objects.read, 1);
    let size = text.len() as u64;
    assert!((1..=2).contains(&cost.lake.get), "{:?}", cost.lake);
    assert!(
        (size..=2 * size).contains(&cost.lake.bytes_read),
        "{:?}",
        cost.lake
    );
    assert_eq!((cost.lake.head, cost.lake.put), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_column_is_narrated_alone() {
    let mut lab = Lab::new();
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
    for table in 0..10 {
        let text = format!("id{table},name{table},height\n1,Tödi,3614\n");
        lab.put(&format!("area{table}/peaks.csv"), &text).await;
    }
    let first = run(&lab).await.report;
    assert_eq!((narrated(&first), first.model.prompt_tokens), (30, 30 * 40));
    fake.take_asked();
    lab.put("area3/peaks.csv", "id3,summit,height\n1,Tödi,3614\n")
        .await;
    let second = run(&lab).await.report;
    assert_eq!(fake.take_asked(), ["summit"]);
    assert_eq!((narrated(&second), second.model.prompt_tokens), (1, 40));
    // Names, rows, the narrations that stayed; then those with the new one.
    assert_eq!(second.model.embedded_blocks, 4, "{second:?}");
}

/// Counted on the lake: objects read, requests for them, bytes. Of the models: tokens embedded,
/// tokens of prompts. 1 % of the tables get other rows and one column another name.
#[tokio::test(flavor = "multi_thread")]
async fn one_percent_changed_costs_one_percent() {
    const TABLES: usize = 2000;
    let scratch = TempDir::new().unwrap();
    let root = scratch.path().join("lake");
    let put = |table: usize, column: &str, salt: usize| {
        let mut text = format!("id{table},{column}{table},level\n");
        for row in 0..20 {
            text += &format!(
                "{row},station {},{}\n",
                (row * 7 + salt) % 31,
                row * 3 + salt % 7
            );
        }
        write(&root, &format!("area{table}/levels.csv"), &text);
    };
    (0..TABLES).for_each(|table| put(table, "name", 0));
    let mut lab = lab_over(&root);
    narrated_by(&mut lab, &FakeNarrator::new().shared());
    lab.options.narrator.as_mut().unwrap().batch_tables = TABLES;
    let full = run(&lab).await;
    assert_eq!(full.report.tables.added, TABLES as u64);
    (0..TABLES)
        .step_by(100)
        .for_each(|table| put(table, "place", 1));
    let change = run(&lab).await;
    assert_eq!(change.report.tables.changed, TABLES as u64 / 100);
    let share = |what: &str, full: u64, change: u64| {
        assert!(change > 0 && full > 0, "{what} is counted");
        let share = change as f64 / full as f64;
        println!("  {what}: {:.2} % of {full}", share * 100.0);
        assert!(share <= 0.015, "{what}: {change} of {full}");
    };
    share(
        "objects read",
        full.report.objects.read,
        change.report.objects.read,
    );
    share("requests to the lake", full.lake.get, change.lake.get);
    share(
        "bytes of the lake",
        full.lake.bytes_read,
        change.lake.bytes_read,
    );
    let (full, change) = (&full.report.model, &change.report.model);
    share(
        "tokens embedded",
        full.embedded_tokens,
        change.embedded_tokens,
    );
    share(
        "tokens of prompts",
        full.prompt_tokens,
        change.prompt_tokens,
    );
}
