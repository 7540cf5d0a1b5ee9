//! The resampling policy: texts are kept while few rows came or went, and made anew when many did.

use crate::common;

use common::Lab;
use limn_segment::TableRecord;

/// A part of a table: rows of a month.
async fn month(lab: &Lab, month: u32, rows: u32) {
    let mut text = "station,level\n".to_owned();
    for row in 0..rows {
        text += &format!("station {month}-{row},{}\n", month * 100 + row);
    }
    lab.put(&format!("levels/month={month:02}/data.csv"), &text)
        .await;
}

async fn row(lab: &Lab) -> TableRecord {
    let snapshot = lab.index.require_newest().await.unwrap();
    let tables = lab.index.tables(&snapshot, None).await.unwrap();
    let [table] = tables.try_into().unwrap();
    table
}

/// Ten months of ten rows, under a policy.
async fn filled(threshold: f64) -> Lab {
    let mut lab = Lab::new();
    lab.options.resample_threshold = threshold;
    for number in 1..=10 {
        month(&lab, number, 10).await;
    }
    lab.run().await;
    lab
}

#[tokio::test(flavor = "multi_thread")]
async fn few_new_rows_keep_the_texts_and_many_make_them_anew() {
    let mut lab = filled(0.2).await;
    let before = row(&lab).await;
    for (number, rows) in [(11, 110), (12, 120)] {
        month(&lab, number, 10).await;
        let report = lab.run().await;
        assert_eq!((report.objects.read, report.tables.changed), (1, 1));
        assert_eq!(report.model.embedded_blocks, 0);
        let now = row(&lab).await;
        assert_eq!(now.rows, Some(rows));
        assert_eq!(now.sample, before.sample);
        assert_eq!(now.columns, before.columns);
        lab.run_is_idle().await;
    }
    // 30 % in all: the policy counts from the texts, not from the last run.
    month(&lab, 13, 10).await;
    let report = lab.run().await;
    assert_eq!(report.objects.read, 1);
    let now = row(&lab).await;
    assert!(now.files.iter().all(|file| file.since_sample.is_none()));
    let level = |row: &TableRecord| row.columns.iter().find(|c| c.name == "level").cloned();
    assert_ne!(level(&now), level(&before));
    // It is the table that a fresh index has.
    lab.index = limn_segment::IndexStore::new(limn_store::Store::in_memory());
    lab.run().await;
    let fresh = row(&lab).await;
    assert_eq!((now.sample, now.columns), (fresh.sample, fresh.columns));
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_those_of_the_files_as_they_are_now() {
    let lab = filled(0.2).await;
    let remark = "station,level\ns,1\nt,2\n\nSource: the harbour office\n";
    lab.put("levels/month=11/data.csv", remark).await;
    lab.run().await;
    let now = row(&lab).await;
    assert!(now.files.iter().any(|file| file.since_sample.is_some()));
    assert!(now.notes[0].contains("month=11/data.csv"), "{now:?}");
    lab.remove("levels/month=11/data.csv").await;
    lab.run().await;
    assert_eq!(row(&lab).await.notes, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_went_and_came_back_count_as_they_are_now() {
    let lab = filled(0.2).await;
    let before = row(&lab).await;
    lab.remove("levels/month=03/data.csv").await;
    lab.run().await;
    let without = row(&lab).await;
    assert_eq!((without.rows, &without.sample), (Some(90), &before.sample));
    assert_eq!((without.files.len(), without.files_now().count()), (10, 9));
    lab.run_is_idle().await;
    month(&lab, 3, 10).await;
    lab.run().await;
    assert_eq!(row(&lab).await.rows, Some(100));
    // Three months of ten are too many.
    for number in 4..=6 {
        lab.remove(&format!("levels/month={number:02}/data.csv"))
            .await;
    }
    lab.run().await;
    let now = row(&lab).await;
    assert_eq!((now.rows, now.files.len()), (Some(70), 7));
    assert_ne!(now.columns, before.columns);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_columns_and_other_settings_are_described_at_once() {
    let mut lab = filled(0.9).await;
    lab.put("levels/month=11/data.csv", "station,level,note\ns,1,high\n")
        .await;
    lab.run().await;
    let now = row(&lab).await;
    assert!(now.columns.iter().any(|column| column.name == "note"));
    month(&lab, 12, 10).await;
    lab.options.sample_rows = 7;
    lab.run().await;
    let now = row(&lab).await;
    assert_eq!(now.sample.len(), 7);
    assert!(now.files.iter().all(|file| file.since_sample.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_threshold_every_change_is_described() {
    let lab = filled(0.0).await;
    let before = row(&lab).await;
    month(&lab, 11, 1).await;
    lab.run().await;
    assert_ne!(row(&lab).await.columns, before.columns);
}
