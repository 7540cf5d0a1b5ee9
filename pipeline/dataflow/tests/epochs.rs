//! Epochs are cut by what differs, and an epoch of much is written in parts: it is published once
//! all the same.

use crate::common;

use common::Lab;
use common::narrated::{everything, records};

async fn fill(lab: &Lab, tables: usize, word: &str) {
    for table in 0..tables {
        let text = format!("a{table},b\n1,{word}{table}\n2,{word}\n");
        lab.put(&format!("d{table:03}/t.csv"), &text).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_few_changed_files_among_many_are_one_epoch() {
    let mut lab = Lab::new();
    // Each process has room for so many objects.
    lab.processes = 1;
    (lab.options.epoch_objects, lab.options.compact) = (10, false);
    fill(&lab, 100, "x").await;
    assert_eq!(lab.run().await.snapshot, 10);
    for table in (0..100).step_by(10) {
        lab.put(&format!("d{table:03}/t.csv"), "a,b\n3,y\n").await;
    }
    let report = lab.run().await;
    assert_eq!((report.snapshot, report.tables.changed), (11, 10));
    // What goes takes no room beside it.
    lab.remove("d001/t.csv").await;
    lab.put("d002/t.csv", "a,b\n4,z\n").await;
    let report = lab.run().await;
    assert_eq!((report.snapshot, report.tables.removed), (12, 1));
    lab.run_is_idle().await;
}

/// Files of like names are planned together, and count only as far as they differ.
#[tokio::test(flavor = "multi_thread")]
async fn a_few_changed_files_among_like_ones_are_one_epoch() {
    let mut lab = Lab::new();
    (lab.options.epoch_objects, lab.options.compact) = (10, false);
    let path = |folder: usize, file: usize| format!("d{folder}/t{file}.csv");
    for (folder, file) in (0..10).flat_map(|folder| (0..7).map(move |file| (folder, file))) {
        let text = format!("a{file},b{folder}\n1,x\n2,y\n");
        lab.put(&path(folder, file), &text).await;
    }
    let first = lab.run().await;
    assert!(first.snapshot > 5, "{}", first.snapshot);
    for folder in 0..10 {
        let text = format!("a3,b{folder}\n1,x\n3,z\n");
        lab.put(&path(folder, 3), &text).await;
    }
    let report = lab.run().await;
    assert_eq!(report.tables.changed, 10);
    assert_eq!(report.snapshot, first.snapshot + 1);
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_tables_that_go_leave_room_for_a_wide_one() {
    let mut lab = Lab::new();
    lab.options.held_memory = 64 << 10;
    fill(&lab, 100, "x").await;
    lab.run().await;
    for table in 0..90 {
        lab.remove(&format!("d{table:03}/t.csv")).await;
    }
    let columns: Vec<String> = (0..600).map(|at| format!("c{at}")).collect();
    let values = vec!["1"; 600].join(",");
    let wide = format!("{}\n{values}\n", columns.join(","));
    lab.put("d095/t.csv", &wide).await;
    let report = lab.run().await;
    assert_eq!((report.tables.removed, report.tables.changed), (90, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_epoch_of_more_than_memory_holds_is_several_segments_and_one_snapshot() {
    let (mut small, mut large) = (Lab::new(), Lab::new());
    small.options.held_memory = 64 << 10;
    for lab in [&mut small, &mut large] {
        lab.options.compact = false;
        fill(lab, 300, "x").await;
        assert_eq!(lab.run().await.snapshot, 1);
        // Names that pass from a file to another are among the rows of one epoch.
        lab.remove("d000/t.csv").await;
        lab.put("d000/t.jsonl", "{\"a\": 1}\n").await;
        assert_eq!(lab.run().await.snapshot, 2);
        lab.run_is_idle().await;
    }
    let segments = |lab: &Lab| {
        let index = lab.index.clone();
        async move { index.require_newest().await.unwrap().segments.len() }
    };
    assert!(segments(&small).await > 2 * segments(&large).await);
    assert_eq!(everything(&small).await, everything(&large).await);
    let names = |lab: &Lab| {
        let lab = lab.index.clone();
        async move {
            let snapshot = lab.require_newest().await.unwrap();
            let tables = lab.tables(&snapshot, None).await.unwrap();
            tables
                .into_iter()
                .map(|it| (it.name, it.rows))
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(names(&small).await, names(&large).await);
    assert_eq!(records(&small).await.len(), 300);
}
