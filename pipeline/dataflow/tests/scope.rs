//! Runs over a part of a lake: what changed there is found, and nothing else is looked at.

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{Lab, seen};
use limn_models::HashedWords;
use limn_pipeline::{PipelineError, Report, Scope};
use proptest::prelude::*;

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

async fn run(lab: &mut Lab, scope: Scope) -> Result<Report, PipelineError> {
    lab.options.scope = scope;
    let report = lab.try_run(Arc::new(HashedWords)).await;
    lab.options.scope = Scope::Lake;
    report
}

async fn filled() -> Lab {
    let lab = Lab::new();
    for folder in ["north", "north/coast", "south"] {
        for table in ["lakes", "rivers"] {
            let text = format!("{table},depth\nBlue,3\nGreen in {folder},5\n");
            lab.put(&format!("{folder}/{table}.csv"), &text).await;
        }
    }
    lab.run().await;
    lab
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_object_is_looked_for_in_its_folder_only() {
    let mut lab = filled().await;
    for folder in ["north/coast", "south"] {
        lab.put(&format!("{folder}/lakes.csv"), "lakes,depth\nRed,9\n")
            .await;
        lab.remove(&format!("{folder}/rivers.csv")).await;
    }
    let scope = Scope::Objects(set(&["north/coast/lakes.csv", "north/coast/rivers.csv"]));
    let report = run(&mut lab, scope).await.unwrap();
    let tables = report.tables;
    assert_eq!((tables.added, tables.changed, tables.removed), (0, 1, 1));
    assert_eq!((report.objects.listed, report.objects.read), (1, 1));
    lab.expect([
        ("north/coast/lakes", seen(1)),
        ("north/lakes", seen(2)),
        ("north/rivers", seen(2)),
        ("south/lakes", seen(2)),
        ("south/rivers", seen(2)),
    ])
    .await;
    // The whole lake has the rest.
    let tables = lab.run().await.tables;
    assert_eq!((tables.added, tables.changed, tables.removed), (0, 1, 1));
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn named_tables_are_added_changed_and_removed_and_no_others() {
    let mut lab = filled().await;
    for table in ["lakes", "rivers", "wells"] {
        lab.put(&format!("south/{table}.csv"), "name,depth\nRed,9\n")
            .await;
        lab.remove(&format!("north/{table}.csv")).await;
    }
    let scope = Scope::Tables(set(&["south/lakes", "south/wells", "north/lakes"]));
    let tables = run(&mut lab, scope).await.unwrap().tables;
    assert_eq!((tables.added, tables.changed, tables.removed), (1, 1, 1));
    let tables = lab.run().await.tables;
    assert_eq!((tables.added, tables.changed, tables.removed), (0, 1, 1));

    let error = run(&mut lab, Scope::Tables(set(&["south/lake"]))).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no table 'south/lake'"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_is_not_indexed_before_the_whole_nor_with_other_settings() {
    let mut lab = Lab::new();
    lab.put("a/lakes.csv", "lake,depth\nBlue,3\n").await;
    for (sample_rows, differs) in [
        (5, "yet: run"),
        (7, "yet (sample_rows: 5 there, 7 now): run"),
    ] {
        lab.options.sample_rows = sample_rows;
        let error = run(&mut lab, Scope::Tables(set(&["a/lakes"]))).await;
        let error = error.unwrap_err().to_string();
        let says = format!("{differs} limn index with them first");
        assert!(error.contains(&says), "{error}");
        lab.run().await;
    }
    run(&mut lab, Scope::Tables(set(&["a/lakes"])))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lake_that_is_not_there_any_more_loses_no_table_to_a_trigger() {
    let mut lab = filled().await;
    lab.options.allow_empty = false;
    for folder in ["north", "north/coast", "south"] {
        for table in ["lakes", "rivers"] {
            lab.remove(&format!("{folder}/{table}.csv")).await;
        }
    }
    for scope in [
        Scope::Objects(set(&["south/lakes.csv"])),
        Scope::Tables(set(&["south/lakes"])),
    ] {
        let error = run(&mut lab, scope).await.unwrap_err();
        assert!(matches!(error, PipelineError::EmptyLake { .. }), "{error}");
    }
    lab.put("north/lakes.csv", "lake,depth\nBlue,3\n").await;
    let report = run(&mut lab, Scope::Objects(set(&["south/lakes.csv"])));
    assert_eq!(report.await.unwrap().tables.removed, 2);
}

/// Objects that come and go: files alone, alike, partitioned, named like folders, and texts beside
/// them.
fn path() -> impl Strategy<Value = String> {
    let folder = prop::sample::select(vec!["", "a/", "a/b/", "a/b/k=1/", "a/b/c/", "a/k=2/", "d/"]);
    let name = prop::sample::select(vec![
        "a.csv",
        "b.csv",
        "b.tsv",
        "x1.csv",
        "x2.csv",
        "part-00000.csv",
        "b.md",
        "x1.md",
    ]);
    (folder, name).prop_map(|(folder, name)| format!("{folder}{name}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// What triggers announce is brought in wholly: a run over all of the lake finds nothing more
    /// to do.
    #[test]
    fn notified_of_every_change_the_index_is_that_of_the_whole_lake(
        steps in prop::collection::vec(prop::collection::btree_set(path(), 1..5), 1..12),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut lab = Lab::new();
            let mut there = BTreeSet::new();
            lab.run().await;
            for (step, paths) in steps.into_iter().enumerate() {
                for path in &paths {
                    if there.remove(path) {
                        lab.remove(path).await;
                    } else {
                        there.insert(path.clone());
                        lab.put(path, &format!("lake,depth\nBlue,{step}\n")).await;
                    }
                }
                run(&mut lab, Scope::Objects(paths)).await.unwrap();
                lab.run_is_idle().await;
            }
        });
    }
}
