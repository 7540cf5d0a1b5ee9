//! Narration: what a model is asked, and what is published when.

use crate::common;

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::fake_narrator::{FakeNarrator, narration_of};
use common::narrated::{
    dozen, everything, narrated, narrated_by, narrated_by_one, narration_files, narrations,
    records, sharing, shop,
};
use common::{Lab, seen};

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_narrates_nothing_and_writes_nothing() {
    let mut lab = Lab::new();
    shop(&lab).await;
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
    let report = lab.run().await;
    assert_eq!(
        (narrated(&report), report.tables.added),
        (5, 2),
        "{report:?}"
    );
    assert_eq!(
        (report.model.prompt_tokens, report.model.generated_tokens),
        (200, 25)
    );
    assert!(
        report.seconds.narrate > 0.0 && report.notes.is_empty(),
        "{report:?}"
    );
    assert_eq!(
        narrations(&lab, "orders").await,
        ["order_id", "buyer", "total"].map(|column| Some(narration_of(column)))
    );
    let texts = everything(&lab).await;
    assert!(
        texts
            .iter()
            .any(|text| text.contains("order id: Holds di_redro. buyer: Holds reyub.")),
        "{texts:?}"
    );
    let files = narration_files(&lab).await;
    assert!(
        (1..=lab.processes).contains(&files),
        "a process's files are merged"
    );
    fake.take_asked();
    lab.run_is_idle().await;
    // A new table of a known schema, and rows that change, ask for nothing.
    lab.put("old/orders.csv", "order_id,buyer,total\n2,Bob,3\n")
        .await;
    lab.put("people/staff.csv", "name,height\nBea,181\nCy,170\n")
        .await;
    let report = lab.run().await;
    assert_eq!(
        (
            narrated(&report),
            report.tables.added,
            report.tables.changed
        ),
        (0, 1, 1)
    );
    assert_eq!(fake.take_asked(), [""; 0]);
    assert!(
        records(&lab)
            .await
            .values()
            .all(|table| !table.awaits_narration)
    );
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_tables_of_one_schema_are_narrated_once() {
    let mut lab = Lab::new();
    lab.options.epoch_objects = 300;
    for table in 0..1000 {
        lab.put(
            &format!("d{table}/t{table}.csv"),
            &format!("day,sales\n{table},1\n"),
        )
        .await;
    }
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
    lab.options.narrator.as_mut().unwrap().batch_tables = 200;
    let report = lab.run().await;
    assert_eq!(
        (narrated(&report), report.tables.added),
        (2, 1000),
        "{:?}",
        report.tables
    );
    assert_eq!(fake.take_asked(), ["day", "sales"]);
    let expected = [Some(narration_of("day")), Some(narration_of("sales"))];
    assert_eq!(narrations(&lab, "d777/t777").await, expected);
    everything(&lab).await;
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_changed_columns_are_narrated() {
    let mut lab = Lab::new();
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
    let put = async |header: &str, asked: &[&str]| {
        let cells = header.split(',').map(|_| "1").collect::<Vec<_>>().join(",");
        lab.put("t.csv", &format!("{header}\n{cells}\n")).await;
        let report = lab.run().await;
        assert_eq!(fake.take_asked(), asked, "{header}");
        assert_eq!(narrated(&report), asked.len() as u64, "{header}");
        let expected: Vec<_> = header
            .split(',')
            .map(|column| Some(narration_of(column)))
            .collect();
        assert_eq!(narrations(&lab, "t").await, expected, "{header}");
        everything(&lab).await;
        lab.run_is_idle().await;
    };
    put("a,b,c", &["a", "b", "c"]).await;
    put("a,beta,c", &["beta"]).await;
    put("c,a,beta", &[]).await;
    put("c,new,a,beta", &["new"]).await;
    put("beta,c", &[]).await;
    // Back to a known schema.
    put("a,b,c", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_schemas_that_become_one_agree_whatever_the_workers() {
    let mut found = Vec::new();
    for workers in [1, 4, 1, 4] {
        let mut lab = Lab::new();
        lab.options.workers = workers;
        for table in 0..8 {
            lab.put(
                &format!("d{table}/t.csv"),
                &format!("a,only{table},b\n1,2,3\n"),
            )
            .await;
        }
        let fake = FakeNarrator::new().shared();
        narrated_by(&mut lab, &fake);
        lab.run().await;
        for table in 0..8 {
            lab.put(&format!("d{table}/t.csv"), "b,a\n3,1\n").await;
        }
        fake.take_asked();
        let report = lab.run().await;
        assert_eq!((narrated(&report), report.tables.changed), (0, 8));
        found.push(everything(&lab).await);
    }
    assert!(found.iter().all(|other| *other == found[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_searchable_before_they_are_narrated() {
    let mut lab = Lab::new();
    shop(&lab).await;
    let index = lab.index.clone();
    let seen_at_first = Arc::new(Mutex::new(None));
    let mut fake = FakeNarrator::new();
    fake.event = Some(Box::new({
        let seen = Arc::clone(&seen_at_first);
        move |number| {
            if number == 0 {
                let (index, seen) = (index.clone(), Arc::clone(&seen));
                let look = std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build();
                    runtime.unwrap().block_on(async {
                        let snapshot = index.newest().await.unwrap().unwrap();
                        *seen.lock().unwrap() = Some(index.tables(&snapshot, None).await.unwrap());
                    });
                });
                look.join().unwrap();
            }
        }
    }));
    let fake = fake.shared();
    narrated_by(&mut lab, &fake);
    lab.run().await;
    let first = seen_at_first.lock().unwrap().take().unwrap();
    assert_eq!(first.len(), 2);
    for table in first {
        assert!(table.blocks > 0 && table.awaits_narration);
        assert!(
            table
                .columns
                .iter()
                .all(|column| column.narration.is_none())
        );
    }
    assert!(
        records(&lab)
            .await
            .values()
            .all(|table| !table.awaits_narration)
    );
    lab.expect([("orders", seen(1)), ("people/staff", seen(1))])
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn narrated_tables_are_published_while_others_wait() {
    let mut lab = Lab::new();
    for table in 0..6 {
        lab.put(
            &format!("d{table}/t.csv"),
            &format!("a{table},b{table}\n1,2\n"),
        )
        .await;
    }
    let mut fake = FakeNarrator::new();
    fake.takes = Duration::from_millis(30);
    let fake = fake.shared();
    narrated_by_one(&mut lab, &fake);
    lab.options.narrator.as_mut().unwrap().batch_after = Duration::ZERO;
    let report = lab.run().await;
    assert!(report.snapshot > 3, "several batches: {report:?}");
    assert_eq!(narrated(&report), 12);
    assert!((2..=4).contains(&fake.at_once.load(Ordering::SeqCst)));
    // Rows and cells keep their vectors: only schema blocks were embedded again.
    assert_eq!(report.model.embedded_blocks, 6 * 2 + 6, "{report:?}");
    everything(&lab).await;
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_grown_by_edits_is_that_built_anew_with_the_same_narrations() {
    let mut lab = Lab::new();
    (lab.options.epoch_objects, lab.options.workers) = (2, 4);
    dozen(&lab).await;
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
    lab.run().await;
    lab.put("d03/t.csv", "b3,a3,more\n1,2,3\n").await;
    lab.put("d04/t.csv", "b3,a3,more\n4,5,6\n").await;
    lab.remove("d05/t.csv").await;
    lab.put("d06/u.csv", "a6,b6\n3,4\n").await;
    lab.run().await;
    lab.put("d03/t.csv", "more\n3\n").await;
    lab.run().await;
    let grown = everything(&lab).await;
    for workers in [1, 4] {
        lab.index = sharing(&lab).await;
        lab.options.workers = workers;
        fake.take_asked();
        let report = lab.run().await;
        assert_eq!(narrated(&report), 0);
        assert_eq!(everything(&lab).await, grown, "{workers} workers");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_without_a_description_is_described_by_its_name_and_not_asked_again() {
    let mut lab = Lab::new();
    shop(&lab).await;
    let mut fake = FakeNarrator::new();
    fake.silent = ["total".to_owned()].into();
    let fake = fake.shared();
    narrated_by(&mut lab, &fake);
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.notes.len()), (5, 0));
    assert_eq!(narrations(&lab, "orders").await[2], None);
    let texts = everything(&lab).await;
    assert!(
        texts.iter().any(|text| text.contains("total (float, 9.5)")),
        "{texts:?}"
    );
    assert!(
        records(&lab)
            .await
            .values()
            .all(|table| !table.awaits_narration)
    );
    fake.take_asked();
    lab.run_is_idle().await;
    // In another schema it is not asked again, either.
    lab.put("orders.csv", "buyer,total,order_id\nAnn,9.5,1\n")
        .await;
    assert_eq!(narrated(&lab.run().await), 0);
    assert_eq!(narrations(&lab, "orders").await[1], None);
}

/// Whatever the order in which schemas are asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_the_model_refuses_costs_itself_only() {
    let mut lab = Lab::new();
    dozen(&lab).await;
    let refused: Vec<String> = (0..60).map(|column| format!("refused{column}")).collect();
    lab.put("wide.csv", &format!("{}\n", refused.join(",")))
        .await;
    let fake = FakeNarrator::new().shared();
    fake.failing.lock().unwrap().extend(refused);
    narrated_by(&mut lab, &fake);
    let report = lab.run().await;
    let is_noted = report.notes.iter().any(|note| note.contains("60"));
    assert!(narrated(&report) >= 24 && is_noted, "{report:?}");
    let waiting = records(&lab).await;
    let waiting = waiting.iter().filter(|(_, table)| table.awaits_narration);
    let waiting: Vec<&str> = waiting.map(|(name, _)| name.as_str()).collect();
    assert_eq!(waiting, ["wide"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_family_that_is_no_table_is_narrated_file_by_file() {
    let mut lab = Lab::new();
    for file in 0..20 {
        let text = if file % 2 == 0 {
            "c,d,e\n1,2,3\n"
        } else {
            "a,b\n1,2\n"
        };
        lab.put(&format!("d/x{file:02}.csv"), text).await;
    }
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
    let report = lab.run().await;
    assert_eq!((report.tables.added, narrated(&report)), (20, 5));
    everything(&lab).await;
    lab.run_is_idle().await;
    // An unreadable file keeps its last good version, narrated.
    lab.corrupt("d/x03.csv").await;
    let report = lab.run().await;
    assert_eq!((report.tables.failed, narrated(&report)), (1, 0));
    assert_eq!(
        narrations(&lab, "d/x03").await,
        [Some(narration_of("a")), Some(narration_of("b"))]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_and_shards_do_not_change_narrated_texts() {
    let mut found = Vec::new();
    for (workers, shards, epoch_objects) in [(1, 1, 100), (4, 3, 1), (4, 1, 5)] {
        let mut lab = Lab::new();
        lab.options.workers = workers;
        lab.options.shards = Some(shards);
        lab.options.epoch_objects = epoch_objects;
        dozen(&lab).await;
        shop(&lab).await;
        narrated_by(&mut lab, &FakeNarrator::new().shared());
        lab.options.narrator.as_mut().unwrap().batch_tables = epoch_objects;
        assert_eq!(narrated(&lab.run().await), 29);
        found.push(everything(&lab).await);
    }
    assert!(found.iter().all(|other| *other == found[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_very_wide_table_is_narrated_within_the_models_window() {
    let mut lab = Lab::new();
    let names: Vec<String> = (0..1500).map(|column| format!("measure{column}")).collect();
    let cells = vec!["1"; names.len()].join(",");
    lab.put("wide.csv", &format!("{}\n{cells}\n", names.join(",")))
        .await;
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
    assert_eq!(narrated(&lab.run().await), 1500);
    let expected: Vec<_> = names.iter().map(|name| Some(narration_of(name))).collect();
    assert_eq!(narrations(&lab, "wide").await, expected);
    lab.run_is_idle().await;
}
