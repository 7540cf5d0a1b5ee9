//! Killed at the requests of the commit protocol, before, in the middle of and after it: readers
//! see the last published snapshot, and the next run ends like one that was never disturbed.
//!
//! The requests are those that an undisturbed run makes; see `LIMN_FAILPOINT` in
//! `pipeline/store/src/failpoint.rs`.

use std::collections::{BTreeMap, BTreeSet};

use crate::rounds::rounds;
use limn_tests::ground::Ground;
use limn_tests::kill::{COMPACT, Findings, GC, INDEX, Job, Killing, each};
use tempfile::TempDir;

/// Commands under test.
const JOBS: [Job; 3] = [INDEX, COMPACT, GC];
/// Folders of an index; what else is requested belongs to the lake.
const FOLDERS: [&str; 5] = ["snapshots/", "segments/", "catalog/", "deletes/", "cache/"];

/// Every moment of every request that a job makes of its index, as failpoints.
fn points(killing: &Killing, job: Job) -> Vec<String> {
    let scratch = TempDir::new().unwrap();
    let record = scratch.path().join("record");
    let recorded = format!("record {}", record.display());
    killing.begin(job, "recorded");
    let run = killing.run(job, "recorded", &[("LIMN_FAILPOINT", &recorded)]);
    assert_eq!(run.code, 0, "{run:?}");
    killing.ground.remove(&killing.ground.at("recorded"));
    let mut counts: BTreeMap<(String, &str), usize> = BTreeMap::new();
    for line in std::fs::read_to_string(record).unwrap().lines() {
        let (operation, path) = line.split_once(' ').unwrap();
        if let Some(folder) = FOLDERS.iter().find(|folder| path.starts_with(**folder)) {
            *counts.entry((operation.to_owned(), folder)).or_default() += 1;
        }
    }
    let mut points = Vec::new();
    for ((operation, folder), count) in counts {
        for number in numbers(count) {
            let during = operation.starts_with("put") && killing.ground.is_local();
            let moments = [Some("before"), during.then_some("during"), Some("after")];
            for moment in moments.into_iter().flatten() {
                points.push(format!("{operation} {folder} {number} {moment}"));
            }
        }
    }
    points
}

/// Which of so many requests of a kind: the first, the middle one and the last, and all of them in
/// the long form (tests/nightly).
fn numbers(count: usize) -> BTreeSet<usize> {
    if rounds(1) > 1 {
        return (1..=count).collect();
    }
    BTreeSet::from([1, count.div_ceil(2), count])
}

fn every_point(killing: &Killing, job: Job) {
    let points = points(killing, job);
    let kinds: BTreeSet<&str> = points
        .iter()
        .filter_map(|point| point.split_once(' '))
        .map(|(operation, _)| operation)
        .collect();
    println!("{}: {} points, {kinds:?}", job.name, points.len());
    let found = each(&points, 2, |at, point| {
        let name = format!("{}{at}", job.name);
        killing.begin(job, &name);
        let killed = killing.run(job, &name, &[("LIMN_FAILPOINT", point)]);
        if killed.code != -1 {
            return Findings {
                failed: 1,
                texts: vec![format!("{point} never came: {killed:?}")],
                ..Findings::default()
            };
        }
        killing.check(job, &name, point, false).1
    });
    assert!(found.texts.is_empty(), "{:#?}", found.texts);
}

#[test]
fn on_local_disk() {
    let killing = Killing::prepare(Ground::local());
    assert!(killing.last > killing.first + 2, "several epochs");
    for job in JOBS {
        every_point(&killing, job);
    }
}

#[test]
fn on_s3() {
    let killing = Killing::prepare(Ground::s3());
    for job in JOBS.iter().filter(|job| !job.is_old) {
        every_point(&killing, *job);
    }
}
