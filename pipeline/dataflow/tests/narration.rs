//! Narration: what a model is asked, what is published when, and what another run repeats.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::teller::{Teller, told};
use common::{Lab, seen};
use limn_models::HashedWords;
use limn_pipeline::{Narrate, NarrateWith, Report};
use limn_segment::{IndexStore, SegmentReader, TableRecord};
use limn_store::Store;

fn narrated_by(lab: &mut Lab, teller: &Arc<Teller>) {
    lab.options.narrate = Narrate::Auto;
    lab.options.narrator = Some(NarrateWith::new(teller.clone()));
}

async fn records(lab: &Lab) -> BTreeMap<String, TableRecord> {
    let snapshot = lab.index.newest().await.unwrap().unwrap();
    let records = lab.index.tables(&snapshot, None).await.unwrap();
    records
        .into_iter()
        .map(|record| (record.name.clone(), record))
        .collect()
}

/// The narrations of a table's columns.
async fn narrations(lab: &Lab, table: &str) -> Vec<Option<String>> {
    let record = records(lab).await.remove(table).unwrap();
    let columns = record.columns.into_iter();
    columns.map(|column| column.narration).collect()
}

/// The live texts and vectors of every table, and what the catalog says of its columns.
async fn everything(lab: &Lab) -> Vec<String> {
    let snapshot = lab.index.newest().await.unwrap().unwrap();
    let mut readers: HashMap<String, Arc<SegmentReader>> = HashMap::new();
    let mut live = 0;
    let mut all = Vec::new();
    for (name, record) in records(lab).await {
        let columns: Vec<_> = record
            .columns
            .iter()
            .map(|column| (&column.name, &column.narration))
            .collect();
        all.push(format!("{name} {} {columns:?}", record.awaits_narration));
        let entry = snapshot
            .segments
            .iter()
            .find(|segment| segment.path == record.segment)
            .unwrap();
        if !readers.contains_key(&entry.path) {
            let reader = SegmentReader::open(&lab.index.store, entry).await.unwrap();
            readers.insert(entry.path.clone(), reader);
        }
        let reader = &readers[&entry.path];
        let deletes = lab.index.deletes(entry).await.unwrap();
        for block in record.first_block..record.first_block + record.blocks {
            assert!(!deletes.contains(block), "{name} is there");
            live += 1;
            let vector = reader.vector(block).unwrap();
            all.push(format!("{} {vector:?}", &*reader.text(block).unwrap()));
        }
    }
    assert_eq!(snapshot.live_blocks(), live, "and nothing else is");
    all
}

/// How many files hold narrations.
async fn narration_files(lab: &Lab) -> usize {
    use futures::StreamExt;
    let listed = lab.index.store.list("cache/narrations");
    listed
        .filter(|item| futures::future::ready(item.is_ok()))
        .count()
        .await
}

fn narrated(report: &Report) -> u64 {
    report.model.narrated_columns
}

async fn shop(lab: &Lab) {
    lab.put("orders.csv", "order_id,buyer,total\n1,Ann,9.5\n")
        .await;
    lab.put("people/staff.csv", "name,height\nBea,180\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_run_narrates_nothing_and_writes_nothing() {
    let mut lab = Lab::new();
    shop(&lab).await;
    let teller = Teller::new().shared();
    narrated_by(&mut lab, &teller);
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
        ["order_id", "buyer", "total"].map(|column| Some(told(column)))
    );
    let texts = everything(&lab).await;
    assert!(
        texts
            .iter()
            .any(|text| text.contains("order id: Holds di_redro, buyer: Holds reyub")),
        "{texts:?}"
    );
    assert_eq!(narration_files(&lab).await, 1, "the run's files are merged");
    teller.take_asked();
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
    assert_eq!(teller.take_asked(), [""; 0]);
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
    let teller = Teller::new().shared();
    narrated_by(&mut lab, &teller);
    lab.options.narrator.as_mut().unwrap().batch_tables = 200;
    let report = lab.run().await;
    assert_eq!(
        (narrated(&report), report.tables.added),
        (2, 1000),
        "{:?}",
        report.tables
    );
    assert_eq!(teller.take_asked(), ["day", "sales"]);
    let told = [Some(told("day")), Some(told("sales"))];
    assert_eq!(narrations(&lab, "d777/t777").await, told);
    everything(&lab).await;
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_changed_columns_are_narrated() {
    let mut lab = Lab::new();
    let teller = Teller::new().shared();
    narrated_by(&mut lab, &teller);
    let put = async |header: &str, asked: &[&str]| {
        let cells = header.split(',').map(|_| "1").collect::<Vec<_>>().join(",");
        lab.put("t.csv", &format!("{header}\n{cells}\n")).await;
        let report = lab.run().await;
        assert_eq!(teller.take_asked(), asked, "{header}");
        assert_eq!(narrated(&report), asked.len() as u64, "{header}");
        let expected: Vec<_> = header.split(',').map(|column| Some(told(column))).collect();
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
        let teller = Teller::new().shared();
        narrated_by(&mut lab, &teller);
        lab.run().await;
        for table in 0..8 {
            lab.put(&format!("d{table}/t.csv"), "b,a\n3,1\n").await;
        }
        teller.take_asked();
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
    let mut teller = Teller::new();
    teller.event = Some(Box::new({
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
    let teller = teller.shared();
    narrated_by(&mut lab, &teller);
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
    let mut teller = Teller::new();
    teller.takes = Duration::from_millis(30);
    let teller = teller.shared();
    narrated_by(&mut lab, &teller);
    lab.options.narrator.as_mut().unwrap().batch_after = Duration::ZERO;
    let report = lab.run().await;
    assert!(report.snapshot > 3, "several batches: {report:?}");
    assert_eq!(narrated(&report), 12);
    assert!((2..=4).contains(&teller.at_once.load(Ordering::SeqCst)));
    // Rows and cells keep their vectors: only schema blocks were embedded again.
    assert_eq!(report.model.embedded_blocks, 6 * 2 + 6, "{report:?}");
    everything(&lab).await;
    lab.run_is_idle().await;
}

/// A lake of a dozen small tables, two columns each.
async fn dozen(lab: &Lab) {
    for table in 0..12 {
        lab.put(
            &format!("d{table:02}/t.csv"),
            &format!("a{table},b{table}\n1,2\n"),
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_repeats_only_what_was_not_written() {
    let mut whole = Lab::new();
    dozen(&whole).await;
    narrated_by(&mut whole, &Teller::new().shared());
    whole.run().await;
    let expected = everything(&whole).await;

    for killed_at in [1, 9, 10, 17, 23] {
        let mut lab = Lab::new();
        dozen(&lab).await;
        let killed = Arc::new(tokio::sync::Notify::new());
        let mut teller = Teller::new();
        teller.takes = Duration::from_millis(1);
        teller.event = Some(Box::new({
            let killed = Arc::clone(&killed);
            move |number| {
                if number == killed_at {
                    killed.notify_one();
                }
            }
        }));
        let teller = teller.shared();
        narrated_by(&mut lab, &teller);
        {
            let with = lab.options.narrator.as_mut().unwrap();
            (with.flush_columns, with.batch_tables) = (4, 3);
        }
        let options = lab.options.clone();
        let run = tokio::spawn({
            let (lake, index) = (lab.lake.clone(), lab.index.clone());
            async move {
                let progress = Arc::default();
                limn_pipeline::index_lake(lake, index, Arc::new(HashedWords), options, progress)
                    .await
            }
        });
        killed.notified().await;
        run.abort();
        // Its threads end soon; nothing of it holds the model then, but the test and the options.
        while Arc::strong_count(&teller) > 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let asked_first = teller.take_asked();
        let stored = narration_count(&lab).await;
        let report = lab.run().await;
        assert_eq!(
            narrated(&report),
            24 - stored,
            "killed at {killed_at}: {report:?}"
        );
        assert!(
            stored + 4 + 4 >= asked_first.len() as u64,
            "at most what was not flushed"
        );
        assert_eq!(everything(&lab).await, expected, "killed at {killed_at}");
        lab.run_is_idle().await;
    }
}

/// How many narrations are stored.
async fn narration_count(lab: &Lab) -> u64 {
    let narrator = limn_segment::Narrator {
        model: "teller@1".into(),
        prompt: limn_summary::narration::NARRATION_PROMPT_VERSION,
    };
    let mut count = 0;
    for (path, _) in lab.index.narration_files(&narrator).await.unwrap() {
        let read = lab.index.narrations(&narrator, &path).await.unwrap();
        count += read.map_or(0, |records| records.len() as u64);
    }
    count
}

/// An index elsewhere that shares the narrations of another.
async fn sharing(lab: &Lab) -> IndexStore {
    use futures::StreamExt;
    let index = IndexStore::new(Store::in_memory());
    let mut files = lab.index.store.list("cache/narrations");
    while let Some(file) = files.next().await {
        let path = file.unwrap().path;
        let bytes = lab.index.store.get(&path).await.unwrap();
        index.store.put(&path, bytes).await.unwrap();
    }
    index
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_grown_by_edits_is_that_built_anew_with_the_same_narrations() {
    let mut lab = Lab::new();
    (lab.options.epoch_objects, lab.options.workers) = (2, 4);
    dozen(&lab).await;
    let teller = Teller::new().shared();
    narrated_by(&mut lab, &teller);
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
        teller.take_asked();
        let report = lab.run().await;
        assert_eq!(narrated(&report), 0);
        assert_eq!(everything(&lab).await, grown, "{workers} workers");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_without_a_description_is_told_by_its_name_and_not_asked_again() {
    let mut lab = Lab::new();
    shop(&lab).await;
    let mut teller = Teller::new();
    teller.silent = ["total".to_owned()].into();
    let teller = teller.shared();
    narrated_by(&mut lab, &teller);
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
    teller.take_asked();
    lab.run_is_idle().await;
    // In another schema it is not asked again, either.
    lab.put("orders.csv", "buyer,total,order_id\nAnn,9.5,1\n")
        .await;
    assert_eq!(narrated(&lab.run().await), 0);
    assert_eq!(narrations(&lab, "orders").await[1], None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_fails_is_told_once_and_tried_again() {
    let mut lab = Lab::new();
    shop(&lab).await;
    let teller = Teller::new().shared();
    teller.failing.lock().unwrap().insert("total".into());
    narrated_by(&mut lab, &teller);
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.failures.len()), (4, 0));
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    assert!(report.notes[0].contains("1 column") && report.notes[0].contains("injected"));
    let expected = [Some(told("order_id")), Some(told("buyer")), None];
    assert_eq!(narrations(&lab, "orders").await, expected);
    let waiting = records(&lab).await;
    assert!(waiting["orders"].awaits_narration && !waiting["people/staff"].awaits_narration);
    // It fails again: nothing is published for it.
    teller.take_asked();
    let again = lab.run().await;
    assert_eq!(teller.take_asked(), ["total"]);
    assert_eq!(again.snapshot, report.snapshot, "{again:?}");
    teller.failing.lock().unwrap().clear();
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.objects.read), (1, 0));
    assert_eq!(narrations(&lab, "orders").await[2], Some(told("total")));
    everything(&lab).await;
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_always_fails_is_given_up() {
    let mut lab = Lab::new();
    for table in 0..60 {
        lab.put(
            &format!("d{table}/t.csv"),
            &format!("a{table},b{table}\n1,2\n"),
        )
        .await;
    }
    let teller = Teller::new().shared();
    teller.failing.lock().unwrap().insert("*".into());
    narrated_by(&mut lab, &teller);
    let report = lab.run().await;
    assert_eq!((report.tables.added, report.tables.failed), (60, 0));
    let asked = teller.take_asked().len();
    assert!(asked < 30, "{asked} of 120 were asked");
    assert!(
        report.notes.len() == 1 && report.notes[0].contains("given up"),
        "{:?}",
        report.notes
    );
    teller.failing.lock().unwrap().clear();
    assert_eq!(narrated(&lab.run().await), 120);
    everything(&lab).await;
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_words_read_no_byte_of_the_lake() {
    let mut lab = Lab::new();
    shop(&lab).await;
    lab.put("orders.md", "Orders of the shop, one a row.").await;
    lab.options.narrate = Narrate::Names;
    lab.run().await;
    let by_names = everything(&lab).await;
    let teller = Teller::new().shared();
    let reads = || lab.lake.counts().get;
    let before = reads();
    narrated_by(&mut lab, &teller);
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.objects.read), (5, 0));
    let narrated_texts = everything(&lab).await;
    assert_ne!(narrated_texts, by_names);
    lab.options.narrate = Narrate::Names;
    lab.run().await;
    assert_eq!(everything(&lab).await, by_names);
    teller.take_asked();
    lab.options.narrate = Narrate::Auto;
    assert_eq!(narrated(&lab.run().await), 0, "what was narrated is kept");
    assert_eq!(everything(&lab).await, narrated_texts);
    assert_eq!(lab.lake.counts().get, before, "not one read");
    // Another model does not take over unasked, and narrates all when it is asked.
    let other = Teller::named("other@2").shared();
    narrated_by(&mut lab, &other);
    lab.run_is_idle().await;
    lab.options.narrate = Narrate::Llm;
    assert_eq!(narrated(&lab.run().await), 5);
    lab.options.narrate = Narrate::Auto;
    lab.run_is_idle().await;
    assert_eq!(lab.lake.counts().get, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_model_a_narrated_lake_keeps_its_narrations() {
    let mut lab = Lab::new();
    shop(&lab).await;
    let teller = Teller::new().shared();
    narrated_by(&mut lab, &teller);
    lab.run().await;
    lab.options.narrator = None;
    lab.run_is_idle().await;
    lab.put("orders.csv", "order_id,buyer,total,colour\n1,Ann,9.5,red\n")
        .await;
    lab.put("new.csv", "x,y\n1,2\n").await;
    let report = lab.run().await;
    assert_eq!((report.tables.changed, report.tables.added), (1, 1));
    assert!(
        report.notes.len() == 1 && report.notes[0].contains(": 2;"),
        "{:?}",
        report.notes
    );
    let kept = narrations(&lab, "orders").await;
    assert_eq!(kept[0], Some(told("order_id")));
    assert_eq!(kept[3], None);
    // Waiting tables without a model are no work.
    lab.run_is_idle().await;
    assert_eq!(lab.run().await.notes, report.notes);
    teller.take_asked();
    lab.options.narrate = Narrate::Llm;
    let error = lab.try_run(Arc::new(HashedWords)).await.unwrap_err();
    assert!(error.to_string().contains("--narrate names"), "{error}");
    lab.options.narrate = Narrate::Auto;
    lab.options.narrator = Some(NarrateWith::new(teller.clone()));
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.objects.read), (3, 0));
    assert_eq!(teller.take_asked(), ["colour", "x", "y"]);
    everything(&lab).await;
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_family_that_is_no_table_is_narrated_file_by_file() {
    let mut lab = Lab::new();
    for file in 0..20 {
        let header = if file == 11 { "a,b,c" } else { "a,b" };
        let row = if file == 11 { "1,2,3" } else { "1,2" };
        lab.put(&format!("d/x{file:02}.csv"), &format!("{header}\n{row}\n"))
            .await;
    }
    let teller = Teller::new().shared();
    narrated_by(&mut lab, &teller);
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
        [Some(told("a")), Some(told("b"))]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_change_to_a_model_reads_nothing_again() {
    let mut lab = Lab::new();
    dozen(&lab).await;
    lab.put("d00/t.md", "What the table is about.").await;
    lab.options.narrate = Narrate::Names;
    lab.run().await;
    let reads = lab.lake.counts().get;
    let mut teller = Teller::new();
    teller.event = Some(Box::new(|number| assert!(number < 10, "injected")));
    narrated_by(&mut lab, &teller.shared());
    let died = lab.try_run(Arc::new(HashedWords)).await;
    assert!(died.is_err(), "{died:?}");
    assert_eq!(lab.tables().await.len(), 12, "and the index is whole");
    narrated_by(&mut lab, &Teller::new().shared());
    lab.run().await;
    assert!(
        records(&lab)
            .await
            .values()
            .all(|table| !table.awaits_narration)
    );
    assert_eq!(lab.lake.counts().get, reads);
    lab.run_is_idle().await;
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
        narrated_by(&mut lab, &Teller::new().shared());
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
    let teller = Teller::new().shared();
    narrated_by(&mut lab, &teller);
    assert_eq!(narrated(&lab.run().await), 1500);
    let told: Vec<_> = names.iter().map(|name| Some(told(name))).collect();
    assert_eq!(narrations(&lab, "wide").await, told);
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_narration_file_ends_the_run_with_the_remedy() {
    use futures::StreamExt;
    let mut lab = Lab::new();
    shop(&lab).await;
    narrated_by(&mut lab, &Teller::new().shared());
    lab.run().await;
    let mut files = lab.index.store.list("cache/narrations");
    let path = files.next().await.unwrap().unwrap().path;
    lab.index.store.put(&path, "damaged".into()).await.unwrap();
    // Nothing reads it while nothing changes.
    lab.run_is_idle().await;
    lab.put("orders.csv", "order_id,buyer\n1,Ann\n").await;
    let error = lab.try_run(Arc::new(HashedWords)).await.unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains(&path) && error.contains("delete it"),
        "{error}"
    );
    lab.index.remove_narrations(&path).await.unwrap();
    assert_eq!(narrated(&lab.run().await), 2);
    lab.run_is_idle().await;
}
