//! Changes of the lake and of the settings, interrupted or not: what is published afterwards.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::narrated::records;
use common::{Lab, Watched, seen};
use limn_lake::{Contexts, TableName};
use limn_models::{Embedder, HashedWords};
use limn_pipeline::{Narrate, Progress, index_lake};

/// Fails after so many texts.
fn limited(texts: usize) -> Arc<dyn Embedder> {
    let left = AtomicUsize::new(texts);
    Arc::new(Watched(move |texts: &[&str]| {
        let now = left.load(Ordering::SeqCst);
        assert!(now >= texts.len(), "injected");
        left.store(now - texts.len(), Ordering::SeqCst);
    }))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_declare_of_files_reads_those_again_and_no_others() {
    let lab = Lab::new();
    for (path, text) in [
        ("d/a.csv", "day,n\n1/2/2024,1\n"),
        ("d/b.csv", "day,n\n3/4/2024,2\n"),
        ("d/c.csv", "city,m\nBern,3\n"),
        ("e/a.csv", "day,n\n5/6/2024,4\n"),
    ] {
        lab.put(path, text).await;
    }
    lab.run().await;
    let days = async || -> Vec<Option<String>> {
        let rows = records(&lab).await;
        let rows = rows.into_values().filter(|row| row.name != "d/c");
        rows.map(|row| row.columns[0].min.clone()).collect()
    };
    let iso = |days: &[&str]| -> Vec<Option<String>> {
        days.iter().map(|day| Some((*day).to_owned())).collect()
    };
    assert_eq!(
        days().await,
        iso(&["2024-01-02", "2024-03-04", "2024-05-06"])
    );
    for (said, read, changed, first) in [
        ("{files: a.csv, date-order: day-first}", 1, 1, "2024-02-01"),
        (
            "{files: a.csv, date-order: day-first}, {files: 'x*', header: none}",
            0,
            0,
            "2024-02-01",
        ),
        // Other words, or another pattern, read nothing.
        (
            "{files: a.csv, date-order: day-first, owner: Ada}",
            0,
            1,
            "2024-02-01",
        ),
        (
            "{files: 'a*', date-order: day-first, owner: Ada}",
            0,
            1,
            "2024-02-01",
        ),
        ("{files: 'a*', owner: Ada}", 1, 1, "2024-01-02"),
        ("{files: x, owner: Ada}", 0, 1, "2024-01-02"),
    ] {
        lab.put("d/.limn.yaml", &format!("tables: [{said}]")).await;
        let report = lab.run().await;
        let found = (report.objects.read, report.tables.changed);
        assert_eq!(found, (read, changed), "{said}");
        assert_eq!(
            days().await,
            iso(&[first, "2024-03-04", "2024-05-06"]),
            "{said}"
        );
        lab.run_is_idle().await;
    }
    lab.put("d/.limn.yaml", "tables: [{files: '*', header: none}]")
        .await;
    assert_eq!(lab.run().await.objects.read, 3);
    lab.remove("d/.limn.yaml").await;
    assert_eq!(lab.run().await.objects.read, 3);
    assert_eq!(
        days().await,
        iso(&["2024-01-02", "2024-03-04", "2024-05-06"])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_change_reach_every_table_even_if_a_run_dies() {
    let filled = |narrate| async move {
        let mut lab = Lab::new();
        // One table an epoch, one epoch at a time.
        (lab.options.epoch_objects, lab.options.epochs_in_flight) = (1, 1);
        lab.options.narrate = narrate;
        for table in 0..8 {
            let text = format!("name,height\npeak {table},{}\n", 1000 + table);
            lab.put(&format!("area{table}/peaks.csv"), &text).await;
        }
        lab.run().await;
        lab
    };
    let reference = texts(&filled(Narrate::Off).await).await;
    let mut lab = filled(Narrate::Names).await;
    assert_ne!(texts(&lab).await, reference);
    lab.options.narrate = Narrate::Off;
    let before = lab.index.newest().await.unwrap().unwrap().number;
    let died = lab.try_run(limited(7)).await;
    assert!(died.is_err());
    let after = lab.index.newest().await.unwrap().unwrap().number;
    assert!(after > before, "some epochs were published");
    assert_ne!(texts(&lab).await, reference, "and some were not");
    let report = lab.run().await;
    assert!(
        (1..8).contains(&report.tables.changed),
        "only what was left: {report:?}"
    );
    assert_eq!(texts(&lab).await, reference);
    lab.run_is_idle().await;
}

/// Hashes of the live tables' texts, by table.
async fn texts(lab: &Lab) -> Vec<(String, Vec<String>)> {
    let snapshot = lab.index.newest().await.unwrap().unwrap();
    let mut all = Vec::new();
    for record in lab.index.tables(&snapshot, None).await.unwrap() {
        let entry = snapshot
            .segments
            .iter()
            .find(|segment| segment.path == record.segment)
            .unwrap();
        let reader = limn_segment::SegmentReader::open(&lab.index.store, entry)
            .await
            .unwrap();
        let blocks = (record.first_block..record.first_block + record.blocks)
            .map(|block| reader.text(block).unwrap().to_string())
            .collect();
        all.push((record.name, blocks));
    }
    all.sort();
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_moves_to_other_files_is_there_once() {
    let mut lab = Lab::new();
    (lab.options.epoch_objects, lab.options.epochs_in_flight) = (1, 4);
    for other in 0..6 {
        lab.put(&format!("o{other}/t.csv"), "z\n1\n").await;
    }
    lab.put("t.csv", "a\n1\n").await;
    lab.run().await;
    for round in 0..3 {
        lab.remove("t.csv").await;
        lab.put("t/part-00000.csv", "a\n1\n2\n").await;
        let report = lab.run().await;
        let tables = &report.tables;
        assert_eq!(
            (tables.added, tables.changed, tables.removed),
            (0, 1, 0),
            "round {round}: {report:?}"
        );
        assert_eq!(lab.tables().await["t"], seen(2));
        lab.run_is_idle().await;
        lab.remove("t/part-00000.csv").await;
        lab.put("t.csv", "a\n1\n").await;
        lab.run().await;
        assert_eq!(lab.tables().await["t"], seen(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_odd_file_that_no_probe_saw_is_arranged_once() {
    let lab = Lab::new();
    for file in 0..20 {
        let text = if file == 11 {
            "x,y\n1,2\n"
        } else {
            "a,b\n1,2\n"
        };
        lab.put(&format!("d/x{file:02}.csv"), text).await;
    }
    assert_eq!(lab.run().await.tables.added, 2);
    lab.expect([("d", seen(19)), ("d/x11", seen(1))]).await;
    lab.run_is_idle().await;
    lab.remove("d/x11.csv").await;
    let report = lab.run().await;
    assert_eq!((report.tables.changed, report.tables.removed), (0, 1));
    lab.expect([("d", seen(19))]).await;
    lab.run_is_idle().await;
    // Others come that are new, among them one that is odd.
    for file in 20..40 {
        let text = if file == 31 { "q\n1\n" } else { "a,b\n1,2\n" };
        lab.put(&format!("d/x{file:02}.csv"), text).await;
    }
    let report = lab.run().await;
    assert_eq!((report.tables.added, report.tables.changed), (1, 1));
    lab.expect([("d", seen(38)), ("d/x31", seen(1))]).await;
    lab.run_is_idle().await;
    // Very many are: then nothing is one table.
    for file in 40..80 {
        lab.put(&format!("d/x{file:02}.csv"), "q\n1\n").await;
    }
    let report = lab.run().await;
    assert_eq!((report.tables.added, report.tables.removed), (78, 1));
    assert!(lab.tables().await.values().all(|table| *table == seen(1)));
    lab.run_is_idle().await;
    for file in 41..80 {
        lab.remove(&format!("d/x{file:02}.csv")).await;
    }
    lab.remove("d/x40.csv").await;
    let report = lab.run().await;
    assert_eq!((report.tables.added, report.tables.removed), (1, 78));
    lab.run_is_idle().await;
    lab.remove("d/x31.csv").await;
    lab.put("d/x40.csv", "q\n1\n").await;
    let report = lab.run().await;
    assert_eq!((report.tables.added, report.tables.removed), (1, 1));
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_small_parquet_files_are_read() {
    let scratch = tempfile::TempDir::new().unwrap();
    let root = scratch.path().join("lake");
    let bytes = limn_segment::write_catalog(&[]).unwrap();
    for day in 0..1500 {
        let folder = root.join(format!("events/day={day}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("part.parquet"), &bytes).unwrap();
    }
    let mut lab = Lab::new();
    lab.lake = limn_store::Store::open(root.to_str().unwrap()).unwrap();
    let report = lab.run().await;
    assert_eq!((report.objects.read, report.tables.added), (1500, 1));
}

/// A context that was registered for a file is still that file's when the file becomes part of a
/// table of another name: it is not registered for that table as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_context_stays_registered_for_the_name_it_was_given_for() {
    let mut lab = Lab::new();
    lab.put("d/x1.csv", "a,b\n1,2\n").await;
    let name = TableName::parse("d/x1").unwrap();
    lab.options.contexts = Contexts::from([(name, vec!["Heights of peaks.".to_owned()])]);
    lab.run().await;
    lab.options.contexts.clear();
    for round in 0..2 {
        for (becomes, table) in [("two files", "d"), ("one file", "d/x1")] {
            if table == "d" {
                lab.put("d/x2.csv", "a,b\n3,4\n").await;
            } else {
                lab.remove("d/x2.csv").await;
            }
            lab.run().await;
            let texts = records(&lab).await.remove(table).unwrap().contexts;
            let texts: Vec<String> = texts.into_iter().map(|context| context.text).collect();
            assert_eq!(texts, ["Heights of peaks."], "{becomes}, round {round}");
            lab.run_is_idle().await;
        }
    }
}

/// Only what is read counts for the bytes of an epoch: a lake of large files that stay is one
/// epoch.
#[tokio::test(flavor = "multi_thread")]
async fn unchanged_tables_cut_no_epochs_by_their_bytes() {
    let mut lab = Lab::new();
    lab.options.epoch_bytes = 1;
    for table in 0..8 {
        let text = format!("name,height\npeak {table},{}\n", 1000 + table);
        lab.put(&format!("area{table}/peaks.csv"), &text).await;
    }
    for epochs in [8, 1] {
        let progress = Arc::new(Progress::default());
        let (lake, index) = (lab.lake.clone(), lab.index.clone());
        let options = lab.options.clone();
        let run = index_lake(
            lake,
            index,
            Arc::new(HashedWords),
            options,
            progress.clone(),
        );
        run.await.unwrap();
        assert_eq!(progress.epochs_planned.load(Ordering::Relaxed), epochs);
    }
}
