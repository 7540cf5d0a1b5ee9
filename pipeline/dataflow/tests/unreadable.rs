//! What cannot be read or listed costs itself only, for as long as it cannot.

use crate::common;

use std::sync::Arc;

use common::{Lab, Seen, seen};
use limn_models::HashedWords;
use limn_pipeline::{Progress, RunOptions, index_lake};
use limn_segment::{IndexStore, TableRecord};
use limn_store::Store;

const BROKEN: fn(u64) -> Seen = |rows| Seen {
    broken: true,
    ..seen(rows)
};

async fn only_row(lab: &Lab) -> TableRecord {
    let snapshot = lab.index.require_newest().await.unwrap();
    let rows = lab.index.tables(&snapshot, None).await.unwrap();
    let [row] = rows.try_into().unwrap();
    row
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_says_which_of_its_files_could_never_be_read() {
    let lab = Lab::new();
    lab.put("t/day=1/x.csv", "a\n1\n").await;
    lab.corrupt("t/day=2/x.csv").await;
    lab.corrupt("t/day=3/x.csv").await;
    lab.run().await;
    let table = only_row(&lab).await;
    assert_eq!(table.rows, Some(1));
    assert_eq!(
        table.notes,
        ["2 of 3 files left out that could not be read: t/day=2/x.csv and 1 more"]
    );
    lab.run_is_idle().await;
    for day in [2, 3] {
        lab.put(&format!("t/day={day}/x.csv"), "a\n2\n").await;
    }
    lab.run().await;
    let table = only_row(&lab).await;
    assert_eq!(table.rows, Some(3));
    assert_eq!(table.notes, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_could_never_be_read_is_added_once_it_can() {
    let lab = Lab::new();
    lab.corrupt("bad.csv").await;
    lab.put("good.csv", "a\n1\n").await;
    lab.run().await;
    lab.run_is_idle().await;
    lab.put("bad.csv", "a,b\n1,2\n").await;
    let report = lab.run().await;
    let tables = &report.tables;
    assert_eq!((tables.added, tables.changed, tables.unchanged), (1, 0, 1));
    lab.expect([("bad", seen(1)), ("good", seen(1))]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_store_refuses_is_tried_again() {
    let lab = Lab::new();
    lab.put("t.csv", "a\n1\n").await;
    lab.refuse("t.csv", true);
    assert_eq!(lab.run().await.tables.failed, 1);
    // Nothing about the object changes, and yet:
    lab.refuse("t.csv", false);
    assert_eq!(lab.run().await.tables.added, 1);
    lab.expect([("t", seen(1))]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_does_not_rearrange_its_neighbours() {
    let lab = Lab::new();
    // Named alike and of different columns: a table each.
    lab.put("d/x1.csv", "a,b\n1,2\n").await;
    lab.put("d/x2.csv", "c,d\n1,2\n3,4\n").await;
    // Of the same columns: one table.
    lab.put("e/x1.csv", "a,b\n1,2\n").await;
    lab.put("e/x2.csv", "a,b\n1,2\n3,4\n").await;
    lab.run().await;
    let (x2, e) = (("d/x2", seen(2)), ("e", seen(3)));
    lab.expect([("d/x1", seen(1)), x2.clone(), e.clone()]).await;
    lab.corrupt("d/x1.csv").await;
    lab.corrupt("e/x1.csv").await;
    lab.run().await;
    lab.expect([("d/x1", BROKEN(1)), x2, e]).await;
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_under_another_name_keeps_the_table() {
    let lab = Lab::new();
    lab.put("t.csv", "a\n1\n2\n").await;
    lab.run().await;
    lab.remove("t.csv").await;
    lab.corrupt("t.parquet").await;
    lab.run().await;
    lab.expect([("t", BROKEN(2))]).await;
    lab.run_is_idle().await;
    lab.remove("t.parquet").await;
    lab.run().await;
    lab.expect([]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_file_that_was_removed_is_not_reported_any_more() {
    let lab = Lab::new();
    lab.corrupt("t.csv").await;
    assert_eq!(lab.run().await.tables.failed, 1);
    lab.remove("t.csv").await;
    let report = lab.run().await;
    assert_eq!((report.tables.failed, report.tables.removed), (0, 0));
    assert!(report.failures.is_empty(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_that_cannot_be_read_leaves_its_last_text() {
    let lab = Lab::new();
    lab.put("t.csv", "a\n1\n").await;
    lab.put("t.md", "Heights of mountain peaks").await;
    lab.run().await;
    let text = || async {
        let snapshot = lab.index.newest().await.unwrap().unwrap();
        let tables = lab.index.tables(&snapshot, None).await.unwrap();
        tables[0].contexts[0].text.clone()
    };
    assert_eq!(text().await, "Heights of mountain peaks");
    lab.corrupt("t.md").await;
    let report = lab.run().await;
    assert_eq!(report.failures.len(), 1, "{report:?}");
    assert_eq!(text().await, "Heights of mountain peaks");
    lab.run_is_idle().await;
    lab.put("t.md", "Heights of peaks, metres").await;
    lab.refuse("t.md", true);
    let report = lab.run().await;
    assert_eq!(report.failures.len(), 1, "{report:?}");
    assert_eq!(text().await, "Heights of mountain peaks");
    lab.refuse("t.md", false);
    lab.run().await;
    assert_eq!(text().await, "Heights of peaks, metres");
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_below_a_folder_that_cannot_be_listed_stay() {
    let scratch = tempfile::TempDir::new().unwrap();
    let root = scratch.path().join("lake");
    for (path, text) in [
        ("sales/orders.csv", "a\n1\n"),
        ("sales/items.csv", "b\n1\n"),
        ("hr/people.csv", "c\n1\n"),
        ("removed.csv", "d\n1\n"),
    ] {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
    }
    let lake = Store::open(root.to_str().unwrap()).unwrap();
    let index = IndexStore::new(Store::in_memory());
    let run = || async {
        let embedder = Arc::new(HashedWords);
        let (options, progress) = (RunOptions::default(), Arc::new(Progress::default()));
        index_lake(lake.clone(), index.clone(), embedder, options, progress)
            .await
            .unwrap()
    };
    assert_eq!(run().await.tables.added, 4);
    // A link to a folder that contains it cannot be listed, whoever asks.
    std::fs::rename(root.join("sales"), scratch.path().join("elsewhere")).unwrap();
    std::os::unix::fs::symlink(&root, root.join("sales")).unwrap();
    std::fs::remove_file(root.join("removed.csv")).unwrap();
    let report = run().await;
    let tables = &report.tables;
    assert_eq!((tables.removed, tables.unchanged), (1, 3), "{report:?}");
    assert_eq!(report.failures.len(), 1);
    std::fs::remove_file(root.join("sales")).unwrap();
    assert_eq!(run().await.tables.removed, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lake_that_lists_nothing_does_not_empty_the_index_unasked() {
    let mut lab = Lab::new();
    lab.put("t.csv", "a\n1\n").await;
    lab.run().await;
    lab.remove("t.csv").await;
    lab.options.allow_empty = false;
    let refused = lab.try_run(Arc::new(HashedWords)).await.unwrap_err();
    assert!(refused.to_string().contains("--allow-empty"), "{refused}");
    lab.expect([("t", seen(1))]).await;
    lab.options.allow_empty = true;
    assert_eq!(lab.run().await.tables.removed, 1);
    lab.expect([]).await;
}
