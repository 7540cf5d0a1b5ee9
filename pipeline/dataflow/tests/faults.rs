//! A stage that fails or panics ends the run with an error, on any number of workers and processes,
//! and leaves the index as it was; what comes after all is published costs itself only.

use crate::common;

use std::sync::Arc;

use limn_models::{Embedder, HashedWords, ModelError, ModelId};
use limn_segment::{Deletes, IndexStore, Policy, Snapshot};
use limn_store::Store;

/// What an embedder does wrong.
#[derive(Clone, Copy)]
enum Fault {
    /// Panics in a dataflow worker, where texts are packed.
    Counting,
    /// Panics in a device thread.
    Embedding,
}

struct Faulty(HashedWords, Fault);

impl Embedder for Faulty {
    fn id(&self) -> &ModelId {
        self.0.id()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn window(&self) -> usize {
        self.0.window()
    }

    fn count_tokens(&self, text: &str) -> usize {
        assert!(!matches!(self.1, Fault::Counting), "injected");
        self.0.count_tokens(text)
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
        assert!(!matches!(self.1, Fault::Embedding), "injected");
        self.0.embed(texts)
    }
}

/// A lab of so many processes.
fn lab(processes: usize) -> common::Lab {
    let mut lab = common::Lab::new();
    lab.processes = processes;
    lab
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_stage_ends_the_run_and_the_next_one_succeeds() {
    for processes in [1, 2] {
        let mut lab = lab(processes);
        lab.options.workers = 3;
        for table in 0..20 {
            let csv = format!("name,height\npeak {table},{}\n", 1000 + table);
            lab.put(&format!("area{table}/peaks.csv"), &csv).await;
        }
        for fault in [Fault::Counting, Fault::Embedding] {
            let failed = lab.try_run(Arc::new(Faulty(HashedWords, fault))).await;
            assert!(failed.is_err(), "{failed:?}");
            assert!(
                lab.index.newest().await.unwrap().is_none(),
                "nothing was published"
            );
        }
        let report = lab.run().await;
        assert_eq!((report.tables.added, report.snapshot), (20, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_epoch_that_is_not_published_none_is() {
    for processes in [1, 2] {
        none_is_published_after(lab(processes)).await;
    }
}

async fn none_is_published_after(mut lab: common::Lab) {
    let client = Arc::new(common::Refusing::default());
    lab.index = IndexStore::new(Store::over(client.clone()));
    // One segment for all; then each table is deleted from it by an epoch of its own.
    lab.options.shards = Some(1);
    let csv = |table: usize, height: usize| format!("name,height\npeak {table},{height}\n");
    for table in 0..20 {
        lab.put(&format!("area{table}/peaks.csv"), &csv(table, 1000))
            .await;
    }
    lab.run().await;
    for table in 0..20 {
        lab.put(&format!("area{table}/peaks.csv"), &csv(table, 2000))
            .await;
    }
    (lab.options.epoch_objects, lab.options.epochs_in_flight) = (1, 8);
    for number in [3, 6, 9] {
        client.refuse_write(&Snapshot::path(number));
        let failed = lab.try_run(Arc::new(HashedWords)).await;
        assert!(failed.is_err(), "{failed:?}");
        let newest = lab.index.require_newest().await.unwrap();
        assert_eq!(newest.number, number - 1);
        let verified = lab.index.verify(&newest, &|_| {}).await.unwrap();
        assert_eq!((verified.tables, verified.problems), (20, Vec::new()));
    }
    lab.run().await;
    let newest = lab.index.require_newest().await.unwrap();
    let verified = lab.index.verify(&newest, &|_| {}).await.unwrap();
    assert_eq!((verified.tables, verified.problems), (20, Vec::new()));
}

/// What a run was for is published, whatever hinders its compaction.
#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_that_fails_is_a_note_that_says_what_to_do() {
    let client = Arc::new(common::Refusing::default());
    let mut lab = common::Lab::new();
    lab.index = IndexStore::new(Store::over(client.clone()));
    lab.options.shards = Some(1);
    let run = async |table: usize| {
        let csv = format!("name,height\npeak {table},1000\n");
        lab.put(&format!("area{table}/peaks.csv"), &csv).await;
        let report = lab.run().await;
        assert_eq!((report.tables.added, report.failures.len()), (1, 0));
        (report, lab.index.require_newest().await.unwrap())
    };
    let mut table = 0;
    let newest = loop {
        let (report, newest) = run(table).await;
        assert_eq!(report.notes, Vec::<String>::new());
        table += 1;
        if newest.segments.len() == 4 {
            break newest;
        }
    };

    client.refuse_write(&Snapshot::path(newest.number + 2));
    let (report, newest) = run(4).await;
    let [note] = &report.notes[..] else {
        panic!("{report:?}");
    };
    assert!(
        note.contains("injected") && note.contains("limn compact"),
        "{note}"
    );
    assert!(report.compacted.is_none() && report.snapshot == newest.number);

    // A table that the catalog has is deleted from its segment.
    let mut damaged = newest.next();
    let mut deletes = Deletes::none();
    deletes.delete_table(0, damaged.segments[0].blocks);
    damaged.segments[0].deletes = lab.index.put_deletes(&deletes).await.unwrap();
    lab.index.publish(&damaged).await.unwrap();
    let (report, newest) = run(5).await;
    let [note] = &report.notes[..] else {
        panic!("{report:?}");
    };
    assert!(
        note.contains("is damaged") && note.contains("limn verify"),
        "{note}"
    );
    let compacted = lab.index.compact(&Policy::default(), &|_| ()).await;
    assert!(compacted.is_err(), "{compacted:?}");

    let mut whole = newest.next();
    whole.segments[0].deletes = None;
    lab.index.publish(&whole).await.unwrap();
    let (report, newest) = run(6).await;
    assert!(
        report.notes.is_empty() && report.compacted.is_some(),
        "{report:?}"
    );
    let verified = lab.index.verify(&newest, &|_| {}).await.unwrap();
    assert_eq!((verified.tables, verified.problems), (7, Vec::new()));
}
