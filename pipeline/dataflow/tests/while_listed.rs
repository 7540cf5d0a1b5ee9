//! A lake that changes while a run lists and reads it: the run ends well, what it did not see the
//! next one does, and what vanished costs itself alone.

use crate::common;
use crate::edit_scripts::compare::{contents, difference};
use crate::rounds::rounds;

use std::collections::BTreeSet;

use common::{Change, Lab, seen};
use limn_segment::IndexStore;
use limn_store::Store;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};

/// Tables of a file each, in folders of their own.
const TABLES: usize = 9;
/// Files of one table.
const DAYS: usize = 6;
/// The text about one of them.
const README: usize = TABLES + DAYS;
/// Objects of a page.
const PAGE: usize = 3;

/// An object of the lake by its number, in which every third is not there at first.
fn path(number: usize) -> String {
    match number {
        0..TABLES => format!("d{number}/t.csv"),
        day if day < README => format!("days/2024-01-{:02}.csv", day - TABLES + 1),
        _ => "d1/README.md".to_owned(),
    }
}

/// What it says in a version, which is how many rows a file of a table has.
fn text(number: usize, version: usize) -> String {
    let path = path(number);
    if path.ends_with(".md") {
        return format!("# Depths\n\nMeasured {version} times.\n");
    }
    let column = path.split('/').next().unwrap_or_default();
    let rows = (0..version).map(|row| format!("{number} {row},{row}{version}\n"));
    format!("place,depth_{column}\n{}", rows.collect::<String>())
}

async fn lab(processes: usize) -> Lab {
    let mut lab = Lab::new();
    lab.processes = processes;
    for number in (0..=README).filter(|number| number % 3 > 0) {
        lab.put(&path(number), &text(number, 1)).await;
    }
    lab
}

/// Takes the lake in as it is, and compares with an index from scratch.
async fn check_next_run(lab: &Lab) -> Result<(), String> {
    let report = lab.run().await;
    if !report.failures.is_empty() {
        return Err(format!("{:?}", report.failures));
    }
    let mut anew = Lab::new();
    (anew.lake, anew.index) = (lab.lake.clone(), IndexStore::new(Store::in_memory()));
    anew.run().await;
    let (grown, anew) = (contents(&lab.index).await, contents(&anew.index).await);
    difference(&grown, &anew, &BTreeSet::new())?;
    lab.run_is_idle().await;
    Ok(())
}

/// A listing in which these objects come, go and change between its pages.
async fn changes(
    processes: usize,
    is_indexed: bool,
    changes: &[Vec<(usize, usize)>],
) -> Result<(), String> {
    let lab = lab(processes).await;
    if is_indexed {
        lab.run().await;
    }
    let change = |(number, version): &(usize, usize)| -> Change {
        let text = (*version > 0).then(|| text(*number, *version));
        (path(*number), text)
    };
    let turned = changes.iter().map(|it| it.iter().map(change).collect());
    lab.change_while_listed(PAGE, turned.collect());
    let report = lab.run().await;
    // Those whose page did not come.
    lab.change_while_listed(PAGE, Vec::new());
    let touched: BTreeSet<String> = changes.iter().flatten().map(|it| path(it.0)).collect();
    let is_touched = |object: &String| touched.contains(object);
    if let Some(failure) = report.failures.iter().find(|it| !is_touched(&it.object)) {
        return Err(format!("{failure:?}, of {touched:?}"));
    }
    let tables = lab.tables().await;
    for number in (0..TABLES).filter(|it| it % 3 > 0 && !is_touched(&path(*it))) {
        let name = format!("d{number}/t");
        if tables.get(&name) != Some(&seen(1)) {
            return Err(format!("{name}: {:?}", tables.get(&name)));
        }
    }
    check_next_run(&lab).await
}

#[test]
fn what_comes_goes_or_changes_between_two_pages_is_as_it_is_after_the_next_run() {
    let mut runner = TestRunner::new(ProptestConfig {
        cases: rounds(24),
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let pages = vec(vec((0..=README, 0..4usize), 0..4), 6);
    let cases = (1..3usize, any::<bool>(), pages);
    let ended = runner.run(&cases, |(processes, is_indexed, pages)| {
        let ended = runtime.block_on(changes(processes, is_indexed, &pages));
        ended.map_err(TestCaseError::fail)
    });
    ended.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_vanishes_between_its_listing_and_its_reading_costs_itself_alone() {
    for processes in [1, 2] {
        for is_indexed in [false, true] {
            let lab = lab(processes).await;
            lab.put(&path(README), &text(README, 1)).await;
            if is_indexed {
                lab.run().await;
                for number in [1, 4, 10, README] {
                    lab.put(&path(number), &text(number, 2)).await;
                }
            }
            for number in [4, 10, README] {
                lab.vanish(&path(number));
            }
            let report = lab.run().await;
            let failed: Vec<&str> = report.failures.iter().map(|it| &*it.object).collect();
            let expected = ["d1/README.md", "d4/t.csv", "days/2024-01-02.csv"];
            assert_eq!(failed, expected, "{report:?}");
            let tables = lab.tables().await;
            assert_eq!(
                tables["d1/t"],
                seen(1 + u64::from(is_indexed)),
                "{tables:?}"
            );
            assert_eq!(tables["d2/t"], seen(1));
            // The last good version, where there was one, is in the place of what is gone.
            assert_eq!(tables.contains_key("d4/t"), is_indexed, "{tables:?}");
            assert_eq!(tables["days"].rows, Some(3 + u64::from(is_indexed)));
            check_next_run(&lab).await.unwrap();
            assert!(!lab.tables().await.contains_key("d4/t"));
        }
    }
}
