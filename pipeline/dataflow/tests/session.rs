//! Sessions: rounds on the same workers, beside runs of others.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::fake_narrator::FakeNarrator;
use common::narrated::{everything, narrated, narrated_by};
use common::{Lab, Watched, seen};
use futures::TryStreamExt;
use limn_lake::TableName;
use limn_models::{Embedder, HashedWords};
use limn_pipeline::{PipelineError, Report, RunOptions, Scope, Session};

fn session(lab: &Lab, embedder: Arc<dyn Embedder>) -> Session {
    let options = lab.options.clone();
    Session::new(lab.lake.clone(), lab.index.clone(), embedder, options)
}

fn table(words: usize) -> String {
    format!("lake,depth\nBlue {words},3\nRed {words},4\n")
}

async fn look(session: &mut Session, paths: &[&str]) -> Result<Report, PipelineError> {
    let scope = if paths.is_empty() {
        Scope::Lake
    } else {
        Scope::Objects(paths.iter().map(|path| (*path).to_owned()).collect())
    };
    session.look(scope, Arc::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_reads_of_the_index_what_is_new_in_it() {
    let mut lab = Lab::new();
    lab.options.compact = false;
    lab.options.epoch_objects = 1;
    for number in 0..60 {
        lab.put(&format!("t{number}/data.csv"), &table(number))
            .await;
    }
    let mut session = session(&lab, Arc::new(HashedWords));
    assert_eq!(look(&mut session, &[]).await.unwrap().tables.added, 60);
    // What the first round has published is read once…
    lab.put("t7/data.csv", &table(1007)).await;
    look(&mut session, &["t7/data.csv"]).await.unwrap();
    for number in 8..12 {
        // …and from then on only what the round before has.
        let path = format!("t{number}/data.csv");
        lab.put(&path, &table(1000 + number)).await;
        let before = lab.index.store.counts();
        let report = look(&mut session, &[&path]).await.unwrap();
        let counts = lab.index.store.counts().since(&before);
        assert_eq!((report.tables.changed, report.objects.read), (1, 1));
        assert!(counts.get <= 8, "{counts:?}");
    }
    // A run that begins anew reads all of it.
    let before = lab.index.store.counts();
    lab.put("t20/data.csv", &table(1020)).await;
    lab.options.scope = Scope::Objects(["t20/data.csv".to_owned()].into());
    lab.run().await;
    let counts = lab.index.store.counts().since(&before);
    assert!(counts.get > 100, "{counts:?}");
    // The session finds what the run has done, and has nothing to do.
    lab.options.scope = Scope::Lake;
    let report = look(&mut session, &[]).await.unwrap();
    assert_eq!((report.objects.read, report.requests.put), (0, 0));
    assert_eq!(report.tables.unchanged, 60);
    session.end().await.unwrap();
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_after_a_round_that_failed() {
    let lab = Lab::new();
    let breaks = Arc::new(AtomicBool::new(false));
    let seen_breaks = Arc::clone(&breaks);
    let embedder = Watched(move |_: &[&str]| {
        assert!(!seen_breaks.load(Ordering::SeqCst), "injected");
    });
    let mut session = session(&lab, Arc::new(embedder));
    lab.put("a.csv", &table(1)).await;
    look(&mut session, &[]).await.unwrap();
    lab.put("b.csv", &table(2)).await;
    breaks.store(true, Ordering::SeqCst);
    look(&mut session, &[]).await.unwrap_err();
    look(&mut session, &["b.csv"]).await.unwrap_err();
    lab.expect([("a", seen(2))]).await;
    breaks.store(false, Ordering::SeqCst);
    let report = look(&mut session, &["b.csv"]).await.unwrap();
    assert_eq!(report.tables.added, 1);
    lab.expect([("a", seen(2)), ("b", seen(2))]).await;
    session.end().await.unwrap();
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_that_is_dropped_ends_its_dataflow_and_the_next_one_begins_anew() {
    let lab = Lab::new();
    let mut session = session(&lab, Arc::new(HashedWords));
    lab.put("a.csv", &table(1)).await;
    look(&mut session, &[]).await.unwrap();
    for number in 0..20 {
        lab.put("a.csv", &table(10 + number)).await;
        let wait = std::time::Duration::from_micros(300 * number as u64);
        let _ = tokio::time::timeout(wait, look(&mut session, &[])).await;
    }
    lab.put("a.csv", &table(3)).await;
    look(&mut session, &[]).await.unwrap();
    lab.expect([("a", seen(2))]).await;
    session.end().await.unwrap();
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_read_is_tried_again_in_each_round() {
    let lab = Lab::new();
    let mut session = session(&lab, Arc::new(HashedWords));
    lab.put("a.csv", &table(1)).await;
    lab.put("b.csv", &table(2)).await;
    lab.refuse("a.csv", true);
    for _ in 0..3 {
        let report = look(&mut session, &[]).await.unwrap();
        assert_eq!((report.failures.len(), report.objects.read > 0), (1, true));
    }
    lab.refuse("a.csv", false);
    let report = look(&mut session, &[]).await.unwrap();
    assert_eq!((report.tables.added, report.failures.len()), (1, 0));
    let broken = |rows| common::Seen {
        broken: true,
        ..seen(rows)
    };
    lab.put("a.csv", &table(9)).await;
    lab.refuse("a.csv", true);
    look(&mut session, &[]).await.unwrap();
    lab.expect([("a", broken(2)), ("b", seen(2))]).await;
    // It is removed before it could be read again.
    lab.remove("a.csv").await;
    let report = look(&mut session, &[]).await.unwrap();
    assert_eq!(report.tables.removed, 1);
    lab.expect([("b", seen(2))]).await;
    session.end().await.unwrap();
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_finds_what_others_have_published_and_compacted() {
    let mut lab = Lab::new();
    let mut session = session(&lab, Arc::new(HashedWords));
    lab.put("a.csv", &table(1)).await;
    look(&mut session, &[]).await.unwrap();
    // Others add, change and remove, and compact.
    for number in 0..6 {
        let name = |number: usize| format!("b{}.csv", &"abcdef"[number..=number]);
        lab.put(&name(number), &table(number)).await;
        lab.put("a.csv", &table(20 + number)).await;
        lab.options.workers = 1 + number % 3;
        lab.run().await;
        if number % 2 == 1 {
            lab.index
                .compact(&limn_segment::Policy::full(), &|_| ())
                .await
                .unwrap();
        }
        lab.remove(&name(number / 2)).await;
        let report = look(&mut session, &[]).await.unwrap();
        assert_eq!(report.tables.added + report.tables.changed, 0, "{report:?}");
    }
    session.end().await.unwrap();
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_made_anew_meanwhile_is_read_anew() {
    let mut lab = Lab::new();
    lab.options.epoch_objects = 1;
    for number in 0..5 {
        lab.put(&format!("t{number}/data.csv"), &table(number))
            .await;
    }
    let name = TableName::parse("t0/data").unwrap();
    lab.options.contexts = [(name, vec!["of the north".to_owned()])].into();
    lab.run().await;
    lab.options.contexts.clear();
    lab.remove("t0/data.csv").await;
    let mut session = session(&lab, Arc::new(HashedWords));
    look(&mut session, &[]).await.unwrap();
    // Its table comes again, in an index that was never notified of it.
    lab.put("t0/data.csv", &table(0)).await;
    lab.put("t9/data.csv", &table(9)).await;
    let store = &lab.index.store;
    let objects: Vec<_> = store.list("").try_collect().await.unwrap();
    for object in objects {
        store.delete(&object.path).await.unwrap();
    }
    lab.options.shards = Some(3);
    lab.run().await;
    let expected = everything(&lab).await;
    lab.put("t3/data.csv", &table(33)).await;
    look(&mut session, &[]).await.unwrap();
    lab.put("t3/data.csv", &table(3)).await;
    let report = look(&mut session, &[]).await.unwrap();
    assert_eq!((report.tables.changed, report.tables.unchanged), (1, 5));
    assert_eq!(everything(&lab).await, expected);
    session.end().await.unwrap();
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_keeps_its_vector_as_long_as_a_segment_has_it() {
    let mut lab = Lab::new();
    (lab.options.compact, lab.options.shards) = (false, Some(1));
    let mut session = session(&lab, Arc::new(HashedWords));
    // One segment has both tables, with the words of the first one's columns; another one, its new
    // rows with the same words of its columns.
    lab.put("a/lakes.csv", &table(1)).await;
    lab.put("b/rivers.csv", "river\nRhine\n").await;
    look(&mut session, &[]).await.unwrap();
    lab.put("a/lakes.csv", &table(2)).await;
    look(&mut session, &[]).await.unwrap();
    lab.put("c/towns.csv", "town\nBonn\n").await;
    look(&mut session, &[]).await.unwrap();
    // The second segment leaves with its table, which then comes again as it was at first.
    lab.remove("a/lakes.csv").await;
    look(&mut session, &[]).await.unwrap();
    lab.put("a/lakes.csv", &table(1)).await;
    let report = look(&mut session, &[]).await.unwrap();
    assert_eq!((report.tables.added, report.model.embedded_blocks), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_over_a_lake_that_is_away_costs_no_reading_of_the_index() {
    let mut lab = Lab::new();
    (lab.options.compact, lab.options.allow_empty) = (false, false);
    lab.options.epoch_objects = 1;
    for number in 0..30 {
        lab.put(&format!("t{number}/data.csv"), &table(number))
            .await;
    }
    let mut session = session(&lab, Arc::new(HashedWords));
    look(&mut session, &[]).await.unwrap();
    look(&mut session, &[]).await.unwrap();
    for number in 0..30 {
        lab.remove(&format!("t{number}/data.csv")).await;
    }
    let before = lab.index.store.counts();
    for _ in 0..3 {
        let away = look(&mut session, &[]).await.unwrap_err();
        assert!(matches!(away, PipelineError::EmptyLake { .. }), "{away}");
    }
    let counts = lab.index.store.counts().since(&before);
    assert!(counts.get <= 3, "{counts:?}");
    lab.put("t7/data.csv", &table(7)).await;
    let report = look(&mut session, &[]).await.unwrap();
    assert_eq!(report.tables.removed, 29);
}

/// Narrations are read once, and the model is let go of between two rounds.
#[tokio::test(flavor = "multi_thread")]
async fn a_round_of_a_narrated_lake_reads_new_narrations_only() {
    let mut lab = Lab::new();
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
    let session_of = |lab: &Lab| {
        Session::new(
            lab.lake.clone(),
            lab.index.clone(),
            Arc::new(HashedWords),
            RunOptions {
                compact: false,
                ..lab.options.clone()
            },
        )
    };
    let mut session = session_of(&lab);
    let mut other = session_of(&lab);
    let header = |number: usize| format!("lake,depth of {number}\nBlue,3\n");
    for number in 0..12 {
        // Two writers take turns, and each leaves its file of narrations.
        let path = format!("t{number}/data.csv");
        lab.put(&path, &header(number)).await;
        let session = if number % 2 == 0 {
            &mut session
        } else {
            &mut other
        };
        assert_eq!(narrated(&look(session, &[]).await.unwrap()), 2);
        assert_eq!(Arc::strong_count(&fake), 2, "the model is let go of");
    }
    look(&mut session, &[]).await.unwrap();
    look(&mut other, &[]).await.unwrap();
    fake.take_asked();
    for number in 0..4 {
        let text = format!("{}Red,{number}\n", header(number));
        lab.put(&format!("t{number}/data.csv"), &text).await;
        look(&mut session, &[]).await.unwrap();
    }
    let reads = async |session: &mut Session, number: usize| {
        let text = format!("{}Grey,{number}\n", header(number));
        lab.put(&format!("t{number}/data.csv"), &text).await;
        let before = lab.index.store.counts();
        let report = look(session, &[]).await.unwrap();
        assert_eq!(narrated(&report), 0, "{report:?}");
        lab.index.store.counts().since(&before).get
    };
    let kept = reads(&mut session, 5).await;
    let anew = reads(&mut session_of(&lab), 6).await;
    assert!(kept <= 8 && anew > kept + 12, "{kept}, {anew}");
    assert!(fake.take_asked().is_empty());
}
