//! Several writers of one index at the same time: nobody's tables are lost.

use crate::common;
use crate::rounds::rounds;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::{Lab, Watched, seen as seen_rows};
use limn_models::HashedWords;
use limn_pipeline::{PipelineError, Progress, Report, RunOptions, index_lake};
use limn_segment::{IndexStore, Policy, PublishError};
use limn_store::Store;
use tempfile::TempDir;

/// Tables of a lake; each run publishes epochs of two.
const TABLES: usize = 6;

/// A lake on disk, and how many rows its tables are to have.
struct Lake {
    folder: TempDir,
    rows: BTreeMap<String, u64>,
}

impl Lake {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            rows: BTreeMap::new(),
        }
    }

    /// Writes table `number` with so many rows, or removes it.
    fn write(&mut self, number: usize, rows: u64) {
        let name = format!("folder{number}/readings");
        let path = self.folder.path().join(format!("{name}.csv"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if rows == 0 {
            let _ = std::fs::remove_file(path);
            self.rows.remove(&name);
            return;
        }
        let mut text = format!("station,level{number}\n");
        for row in 0..rows {
            text += &format!("{row},{}\n", row * 7 + number as u64);
        }
        std::fs::write(path, text).unwrap();
        self.rows.insert(name, rows);
    }

    /// Changes about half of the tables.
    fn edit(&mut self, round: usize) {
        for table in 0..TABLES {
            if (round + table).is_multiple_of(2) {
                self.write(table, ((round * 5 + table * 3) % 4) as u64);
            }
        }
    }

    fn run(
        &self,
        index: &IndexStore,
    ) -> tokio::task::JoinHandle<std::result::Result<Report, PipelineError>> {
        let lake = Store::open(self.folder.path().to_str().unwrap()).unwrap();
        let options = RunOptions {
            workers: 1,
            epoch_objects: 2,
            allow_empty: true,
            ..RunOptions::default()
        };
        tokio::spawn(index_lake(
            lake,
            index.clone(),
            Arc::new(HashedWords),
            options,
            Arc::new(Progress::default()),
        ))
    }
}

/// The rows of every table, once it is sure that the index is whole and that every table is found
/// exactly once.
async fn tables(index: &IndexStore) -> BTreeMap<String, u64> {
    let snapshot = index.require_newest().await.unwrap();
    let verified = index.verify(&snapshot, &|_| ()).await.unwrap();
    assert_eq!(verified.problems, [], "{:?}", snapshot.number);
    let tables = index.tables(&snapshot, None).await.unwrap();
    let live: u64 = tables.iter().map(|table| u64::from(table.blocks)).sum();
    assert_eq!(snapshot.live_blocks(), live);
    let rows = tables.into_iter().map(|table| {
        (
            format!("{}/{}", table.lake, table.name),
            table.rows.unwrap(),
        )
    });
    rows.collect()
}

fn expected(lakes: &[&Lake]) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for lake in lakes {
        let url = Store::open(lake.folder.path().to_str().unwrap()).unwrap();
        for (name, rows) in &lake.rows {
            all.insert(format!("{}/{name}", url.url()), *rows);
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn two_indexers_of_two_lakes_both_publish_all_they_have() {
    let index = IndexStore::new(Store::in_memory());
    let (mut left, mut right) = (Lake::new(), Lake::new());
    // Not the only first writer.
    left.write(0, 1);
    right.write(1, 1);
    for round in 0..rounds(12) as usize {
        left.edit(round);
        right.edit(round + 1);
        let (one, two) = tokio::join!(left.run(&index), right.run(&index));
        one.unwrap().unwrap();
        two.unwrap().unwrap();
        assert_eq!(tables(&index).await, expected(&[&left, &right]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_indexers_of_one_lake_the_slower_says_so_and_loses_nothing() {
    let index = IndexStore::new(Store::in_memory());
    let mut lake = Lake::new();
    let mut overtaken = 0;
    for round in 0..rounds(12) as usize {
        lake.edit(round);
        let (one, two) = tokio::join!(lake.run(&index), lake.run(&index));
        let mut done = 0;
        for ended in [one.unwrap(), two.unwrap()] {
            match ended {
                Ok(_) => done += 1,
                Err(
                    PipelineError::Overtaken { .. }
                    | PipelineError::Publish(PublishError::Lost { .. }),
                ) => overtaken += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(done > 0, "both gave way");
        lake.run(&index).await.unwrap().unwrap();
        assert_eq!(tables(&index).await, expected(&[&lake]));
    }
    assert!(overtaken > 0, "the runs never met");
}

/// A compaction moves a table's blocks while a run describes the table in the very same words
/// again, so that its new segment has the name of the one that was merged away.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_described_again_in_the_same_words_while_it_is_moved_is_there_once() {
    let mut lab = Lab::new();
    lab.options.compact = false;
    lab.options.shards = Some(1);
    (lab.options.epoch_objects, lab.options.epochs_in_flight) = (1, 1);
    for name in ["a", "c"] {
        lab.put(&format!("{name}/lakes.csv"), "lake,depth\nBlue,3\n")
            .await;
        lab.run().await;
    }
    lab.put("b/rivers.csv", "river,length\nRed,9\n").await;
    lab.put("c/lakes.csv", "lake,depth\nBlue,3\n").await;
    let index = lab.index.clone();
    let compacted = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&compacted);
    // Only the new table is embedded, in the epoch before the other's.
    let embedder = Watched(move |_: &[&str]| {
        if !seen.swap(true, Ordering::SeqCst) {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let full = Policy::full();
            let compacting = index.compact(&full, &|_| ());
            assert!(runtime.unwrap().block_on(compacting).unwrap().is_some());
        }
    });
    lab.try_run(Arc::new(embedder)).await.unwrap();
    assert!(compacted.load(Ordering::SeqCst));
    lab.expect([
        ("a/lakes", seen_rows(1)),
        ("b/rivers", seen_rows(1)),
        ("c/lakes", seen_rows(1)),
    ])
    .await;
    assert_eq!(tables(&lab.index).await.len(), 3);
    lab.run_is_idle().await;
}
