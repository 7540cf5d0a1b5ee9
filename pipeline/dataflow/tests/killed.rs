//! A run that dies inside an epoch, after it has embedded texts that no snapshot names.

use crate::common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use common::narrated::everything;
use common::{Lab, Watched};
use limn_models::{Embedder, HashedWords};

const TABLES: usize = 40;

/// Counts the texts that are embedded, and dies when there were `limit`.
fn counted(limit: usize) -> (Arc<AtomicUsize>, Arc<dyn Embedder>) {
    let count = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&count);
    let embedder = Watched(move |texts: &[&str]| {
        assert!(seen.load(Ordering::SeqCst) + texts.len() <= limit, "killed");
        seen.fetch_add(texts.len(), Ordering::SeqCst);
    });
    (count, Arc::new(embedder))
}

/// How many vectors are kept, and in how many files.
async fn kept(lab: &Lab) -> (usize, usize) {
    let id = limn_models::HashedWords.id().to_string();
    let dimensions = limn_models::HashedWords.dimensions();
    let kept = lab.index.kept_vectors(&id, dimensions, |_| true);
    let kept = kept.await.unwrap();
    let vectors = kept.iter().map(|(_, vectors)| vectors.len()).sum();
    (vectors, kept.len())
}

async fn lab(processes: usize) -> Lab {
    let mut lab = Lab::new();
    lab.processes = processes;
    lab.options.workers = 1;
    lab.options.embed_threads = 1;
    for table in 0..TABLES {
        // Long enough for several batches.
        let columns: Vec<String> = (0..40).map(|c| format!("level{table} of{c}")).collect();
        let values: Vec<String> = (0..40).map(|c| format!("{table} m {c}")).collect();
        let text = format!("{}\n{}\n", columns.join(","), values.join(","));
        lab.put(&format!("f{table}/readings.csv"), &text).await;
    }
    lab
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_run_has_embedded_is_not_embedded_again() {
    for processes in [1, 2] {
        embedded_once(lab(processes).await).await;
    }
}

async fn embedded_once(mut lab: Lab) {
    let (texts, whole) = counted(usize::MAX);
    lab.try_run(whole).await.unwrap();
    let all = texts.load(Ordering::SeqCst);

    lab.index = limn_segment::IndexStore::new(limn_store::Store::in_memory());
    lab.options.keep_vectors_after = Duration::ZERO;
    let (texts, dying) = counted(all / 2);
    lab.try_run(dying).await.unwrap_err();
    assert!(lab.index.newest().await.unwrap().is_none());
    let (vectors, files) = kept(&lab).await;
    assert!(vectors > 0 && files > 0);
    assert!(vectors <= texts.load(Ordering::SeqCst));

    lab.options.keep_vectors_after = Duration::from_secs(30);
    let (texts, second) = counted(usize::MAX);
    let report = lab.try_run(second).await.unwrap();
    assert_eq!(report.tables.added, TABLES as u64);
    let again = texts.load(Ordering::SeqCst);
    // What was in flight when it died is embedded again, and nothing else.
    assert!(again <= all - vectors, "{again} of {all}, {vectors} kept");
    assert_eq!(kept(&lab).await, (0, 0));
    let snapshot = lab.index.require_newest().await.unwrap();
    let verified = lab.index.verify(&snapshot, &|_| ()).await.unwrap();
    assert_eq!(verified.problems, []);
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_run_keeps_nothing() {
    let lab = lab(1).await;
    lab.run().await;
    assert!(lab.index.store.counts().put < 100);
    let mut listing = lab.index.store.list("cache");
    assert!(futures::StreamExt::next(&mut listing).await.is_none());
}

const FILES: [&str; 3] = ["birds", "goods", "lakes"];

/// Files that are tables; epochs hold one object each where nothing keeps more together.
async fn files(processes: usize) -> Lab {
    let mut lab = Lab::new();
    lab.processes = processes;
    lab.options.workers = 1;
    lab.options.embed_threads = 1;
    (lab.options.epoch_objects, lab.options.epochs_in_flight) = (1, 1);
    for file in FILES {
        let text = format!("{file},age{file}\nAnn,3\n");
        lab.put(&format!("{file}.csv"), &text).await;
    }
    lab
}

/// Beside each file comes a folder that takes its name, and the file's table has another from now
/// on.
async fn exchange(lab: &Lab) {
    for file in FILES {
        let text = format!("city of {file},river{file}\nBasel,Rhine\n");
        lab.put(&format!("{file}/part-00000.csv"), &text).await;
        let text = format!("{file},height{file}\nAnn,170\n");
        lab.put(&format!("{file}.csv"), &text).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_killed_while_tables_take_names_of_others_leaves_nothing_that_no_table_has() {
    for processes in [1, 2] {
        killed_while_names_are_taken(processes).await;
    }
}

async fn killed_while_names_are_taken(processes: usize) {
    let whole = files(1).await;
    exchange(&whole).await;
    whole.run().await;
    let expected = everything(&whole).await;

    let exchanged = files(processes).await;
    exchanged.run().await;
    exchange(&exchanged).await;
    let (texts, embedder) = counted(usize::MAX);
    let report = exchanged.try_run(embedder).await.unwrap();
    assert_eq!(
        report.tables.added + report.tables.changed,
        2 * FILES.len() as u64
    );
    assert_eq!(everything(&exchanged).await, expected);
    let of_folder = ["birds false", "city of birds"];
    let has_taken = |text: &String| of_folder.iter().all(|it| text.contains(it));
    assert!(expected.iter().any(has_taken));

    let mut snapshots = std::collections::BTreeSet::new();
    for limit in 0..texts.load(Ordering::SeqCst) {
        let lab = files(processes).await;
        lab.run().await;
        exchange(&lab).await;
        let (_, dying) = counted(limit);
        lab.try_run(dying).await.unwrap_err();
        everything(&lab).await;
        snapshots.insert(lab.index.require_newest().await.unwrap().number);
        lab.try_run(Arc::new(HashedWords)).await.unwrap();
        assert_eq!(everything(&lab).await, expected, "killed at text {limit}");
        lab.run_is_idle().await;
    }
    // Runs died before the first of their epochs, and behind several.
    assert!(snapshots.len() > 2, "{snapshots:?}");
}
