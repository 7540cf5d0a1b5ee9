//! Narration that does not go to its end, or goes on: killed runs, failing models, other words.

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::fake_narrator::{FakeNarrator, narration_of};
use common::narrated::{
    dozen, everything, narrated, narrated_by, narrated_by_one, narration_count, narrations,
    records, shop,
};
use common::{Lab, Refusing, Watched};
use limn_models::{Embedder, HashedWords};
use limn_pipeline::{Narrate, NarrateWith, PipelineError};
use limn_segment::IndexStore;
use limn_store::Store;
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_run_repeats_only_what_was_not_written() {
    let mut whole = Lab::new();
    dozen(&whole).await;
    narrated_by(&mut whole, &FakeNarrator::new().shared());
    whole.run().await;
    let expected = everything(&whole).await;

    for killed_at in [1, 9, 10, 17, 23] {
        let mut lab = Lab::new();
        dozen(&lab).await;
        let killed = Arc::new(tokio::sync::Notify::new());
        let mut fake = FakeNarrator::new();
        fake.takes = Duration::from_millis(1);
        fake.event = Some(Box::new({
            let killed = Arc::clone(&killed);
            move |number| {
                if number == killed_at {
                    killed.notify_one();
                }
            }
        }));
        let fake = fake.shared();
        narrated_by(&mut lab, &fake);
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
        while Arc::strong_count(&fake) > 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let asked_first = fake.take_asked();
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

#[tokio::test(flavor = "multi_thread")]
async fn a_column_that_fails_is_reported_once_and_tried_again() {
    let mut lab = Lab::new();
    shop(&lab).await;
    let fake = FakeNarrator::new().shared();
    fake.failing.lock().unwrap().insert("total".into());
    narrated_by(&mut lab, &fake);
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.failures.len()), (4, 0));
    assert_eq!(report.model.failed_columns, 1);
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    assert!(report.notes[0].contains("1 column") && report.notes[0].contains("injected"));
    let expected = [
        Some(narration_of("order_id")),
        Some(narration_of("buyer")),
        None,
    ];
    assert_eq!(narrations(&lab, "orders").await, expected);
    let waiting = records(&lab).await;
    assert!(waiting["orders"].awaits_narration && !waiting["people/staff"].awaits_narration);
    // It fails again: nothing is published for it.
    fake.take_asked();
    let again = lab.run().await;
    assert_eq!(fake.take_asked(), ["total"]);
    assert_eq!(again.snapshot, report.snapshot, "{again:?}");
    fake.failing.lock().unwrap().clear();
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.objects.read), (1, 0));
    assert_eq!(
        narrations(&lab, "orders").await[2],
        Some(narration_of("total"))
    );
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
    let fake = FakeNarrator::new().shared();
    fake.failing.lock().unwrap().insert("*".into());
    narrated_by_one(&mut lab, &fake);
    let report = lab.run().await;
    assert_eq!((report.tables.added, report.tables.failed), (60, 0));
    let asked = fake.take_asked().len();
    assert!(asked < 30, "{asked} of 120 were asked");
    assert_eq!(report.model.failed_columns, 120);
    assert!(
        report.notes.len() == 1 && report.notes[0].contains("given up"),
        "{:?}",
        report.notes
    );
    fake.failing.lock().unwrap().clear();
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
    let fake = FakeNarrator::new().shared();
    let reads = || lab.lake.counts().get;
    let before = reads();
    narrated_by(&mut lab, &fake);
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.objects.read), (5, 0));
    let narrated_texts = everything(&lab).await;
    assert_ne!(narrated_texts, by_names);
    lab.options.narrate = Narrate::Names;
    lab.run().await;
    assert_eq!(everything(&lab).await, by_names);
    fake.take_asked();
    lab.options.narrate = Narrate::Auto;
    assert_eq!(narrated(&lab.run().await), 0, "what was narrated is kept");
    assert_eq!(everything(&lab).await, narrated_texts);
    assert_eq!(lab.lake.counts().get, before, "not one read");
    // Another model does not take over unasked, and narrates all when it is asked.
    let other = FakeNarrator::named("other@2").shared();
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
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
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
    assert_eq!(kept[0], Some(narration_of("order_id")));
    assert_eq!(kept[3], None);
    // Waiting tables without a model are no work.
    lab.run_is_idle().await;
    assert_eq!(lab.run().await.notes, report.notes);
    fake.take_asked();
    lab.options.narrate = Narrate::Llm;
    let error = lab.try_run(Arc::new(HashedWords)).await.unwrap_err();
    assert!(error.to_string().contains("--narrate names"), "{error}");
    lab.options.narrate = Narrate::Auto;
    lab.options.narrator = Some(NarrateWith::new(fake.clone()));
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.objects.read), (3, 0));
    assert_eq!(fake.take_asked(), ["colour", "x", "y"]);
    everything(&lab).await;
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_change_to_a_model_reads_nothing_again() {
    let mut lab = Lab::new();
    dozen(&lab).await;
    lab.put("d00/t.md", "What the table is about.").await;
    lab.options.narrate = Narrate::Names;
    lab.run().await;
    let reads = lab.lake.counts().get;
    let mut fake = FakeNarrator::new();
    fake.event = Some(Box::new(|number| assert!(number < 10, "injected")));
    narrated_by(&mut lab, &fake.shared());
    let died = lab.try_run(Arc::new(HashedWords)).await;
    assert!(died.is_err(), "{died:?}");
    assert_eq!(lab.tables().await.len(), 12, "and the index is whole");
    narrated_by(&mut lab, &FakeNarrator::new().shared());
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
async fn a_damaged_narration_file_ends_the_run_with_the_remedy() {
    use futures::StreamExt;
    let mut lab = Lab::new();
    shop(&lab).await;
    narrated_by_one(&mut lab, &FakeNarrator::new().shared());
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

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_run_keeps_what_was_narrated_and_is_resumed() {
    let mut whole = Lab::new();
    dozen(&whole).await;
    narrated_by(&mut whole, &FakeNarrator::new().shared());
    whole.run().await;
    let expected = everything(&whole).await;

    for stopped_at in [0, 1, 10, 19] {
        let mut lab = Lab::new();
        dozen(&lab).await;
        let mut fake = FakeNarrator::new();
        // Longer than a stopped run waits for answers, so those of that time are not asked for in
        // vain.
        fake.takes = Duration::from_millis(200);
        fake.event = Some(Box::new({
            let stop = lab.options.stop.clone();
            move |number| {
                if number == stopped_at {
                    stop.cancel();
                }
            }
        }));
        let fake = fake.shared();
        narrated_by_one(&mut lab, &fake);
        let report = lab.run().await;
        let asked = fake.take_asked().len() as u64;
        let first = narrated(&report);
        // All that was answered before the stop, and nothing that was not.
        assert!(report.stopped, "{report:?}");
        assert!(asked <= stopped_at as u64 + 4, "{asked} asked");
        assert!(first + 4 >= asked && first <= asked, "{first} of {asked}");
        assert_eq!(first, narration_count(&lab).await, "and it is kept");
        assert_eq!((report.tables.added, report.model.failed_columns), (12, 0));
        assert!(
            report.notes.len() == 1
                && report.notes[0].contains(&format!("of 24 columns to be narrated, {first} are")),
            "{:?}",
            report.notes
        );
        lab.options.stop = CancellationToken::new();
        let report = lab.run().await;
        assert_eq!((narrated(&report), report.stopped), (24 - first, false));
        assert_eq!(everything(&lab).await, expected, "stopped at {stopped_at}");
        lab.run_is_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_stopped_while_it_reads_publishes_what_is_under_way() {
    let mut lab = Lab::new();
    lab.options.stop.cancel();
    dozen(&lab).await;
    let error = lab.try_run(Arc::new(HashedWords)).await.unwrap_err();
    assert!(matches!(error, PipelineError::Stopped), "{error}");
    assert!(lab.index.newest().await.unwrap().is_none());

    // Stopped when all is planned: the index's store was just probed, and objects of that deleted.
    let client = Arc::new(Refusing::default());
    lab.index = IndexStore::new(Store::over(client.clone()));
    lab.options.stop = CancellationToken::new();
    client.stop_at_deletes(lab.options.stop.clone());
    let error = lab.try_run(Arc::new(HashedWords)).await.unwrap_err();
    assert!(matches!(error, PipelineError::Stopped), "{error}");
    assert!(lab.options.stop.is_cancelled());
    assert!(lab.index.newest().await.unwrap().is_none());

    // Stopped when the first texts are embedded: of the epochs, in each of which a process has one
    // table, at most those under way are published.
    lab.options.stop = CancellationToken::new();
    (lab.options.epoch_objects, lab.options.epochs_in_flight) = (1, 2);
    narrated_by(&mut lab, &FakeNarrator::new().shared());
    let report = lab.try_run(stopping(&lab)).await.unwrap();
    assert!(report.stopped && narrated(&report) == 0, "{report:?}");
    let most = 4 * lab.processes as u64;
    assert!((1..=most).contains(&report.tables.added), "{report:?}");
    assert!(report.notes[0].contains("goes on"), "{:?}", report.notes);

    lab.options.stop = CancellationToken::new();
    let rest = lab.run().await;
    assert_eq!(rest.tables.added, 12 - report.tables.added, "{rest:?}");
    assert_eq!((narrated(&rest), rest.stopped), (24, false));
    everything(&lab).await;
    lab.run_is_idle().await;
}

/// An embedder that stops the run when it is asked first.
fn stopping(lab: &Lab) -> Arc<dyn Embedder> {
    let stop = lab.options.stop.clone();
    Arc::new(Watched(move |_: &[&str]| stop.cancel()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_does_not_answer_takes_no_words_away() {
    let mut lab = Lab::new();
    shop(&lab).await;
    narrated_by(&mut lab, &FakeNarrator::new().shared());
    lab.run().await;
    let before = everything(&lab).await;
    let snapshot = lab.index.newest().await.unwrap().unwrap().number;

    let dead = FakeNarrator::named("dead@1").shared();
    dead.failing.lock().unwrap().insert("*".into());
    narrated_by(&mut lab, &dead);
    lab.options.narrate = Narrate::Llm;
    let error = lab.try_run(Arc::new(HashedWords)).await.unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("dead@1 is to narrate") && error.contains("injected"),
        "{error}"
    );
    assert_eq!(everything(&lab).await, before);
    assert_eq!(lab.index.newest().await.unwrap().unwrap().number, snapshot);
    // It wakes up, is stopped after some tables, and dies: the rest keep their words.
    dead.failing.lock().unwrap().clear();
    lab.put("a.csv", "x,y\n1,2\n").await;
    (lab.options.epoch_objects, lab.options.epochs_in_flight) = (1, 1);
    let report = lab.try_run(stopping(&lab)).await.unwrap();
    assert!(report.stopped, "{report:?}");
    assert_eq!((report.tables.added, report.tables.changed), (1, 0));
    let between = everything(&lab).await;
    lab.options.stop = CancellationToken::new();
    dead.failing.lock().unwrap().insert("*".into());
    let error = lab.try_run(Arc::new(HashedWords)).await.unwrap_err();
    assert!(error.to_string().contains("run again"), "{error}");
    assert_eq!(everything(&lab).await, between);
    dead.failing.lock().unwrap().clear();
    assert_eq!(narrated(&lab.run().await), 7);
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_older_prompts_stay_until_the_model_answers_the_new_ones() {
    let mut lab = Lab::new();
    shop(&lab).await;
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
    // As an older limn would.
    lab.options.narrator.as_mut().unwrap().prompt = 0;
    lab.run().await;
    narrated_by(&mut lab, &fake);
    let before = everything(&lab).await;

    fake.failing.lock().unwrap().insert("*".into());
    lab.put("new.csv", "x,y\n1,2\n").await;
    let report = lab.run().await;
    assert_eq!((report.tables.added, report.tables.changed), (1, 0));
    assert!(report.notes[0].contains("does not answer"), "{report:?}");
    let after = everything(&lab).await;
    assert!(before.iter().all(|text| after.contains(text)), "{after:?}");
    fake.failing.lock().unwrap().clear();
    let report = lab.run().await;
    assert_eq!(
        (narrated(&report), report.notes.len()),
        (7, 0),
        "{report:?}"
    );
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_model_that_is_not_asked_is_noted() {
    let mut lab = Lab::new();
    shop(&lab).await;
    narrated_by(&mut lab, &FakeNarrator::new().shared());
    lab.run().await;
    narrated_by(&mut lab, &FakeNarrator::named("other@2").shared());
    assert_eq!(lab.run().await.notes, [""; 0]);
    lab.options.narrator.as_mut().unwrap().named = true;
    let notes = lab.run().await.notes;
    assert!(
        notes.len() == 1 && notes[0].contains("other@2 was not asked; --narrate llm"),
        "{notes:?}"
    );
}
