//! Two writers of one index at the same moment: one wins, the other says so with exit code 3, and no
//! table is lost.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use limn_tests::{index_hashed, lake, limn, limn_command, text};
use tempfile::TempDir;

const TABLES: usize = 400;

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([name, &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

fn snapshots(index: &Path) -> usize {
    fs::read_dir(index.join("snapshots")).map_or(0, Iterator::count)
}

#[test]
fn the_writer_that_comes_second_exits_with_3_and_can_run_again() {
    let scratch = TempDir::new().unwrap();
    let (slow, quick) = (scratch.path().join("slow"), scratch.path().join("quick"));
    for table in 0..TABLES {
        lake::write(
            &slow,
            &format!("folder{table}/readings.csv"),
            &format!("station,level{table}\n1,{table}\n2,5\n"),
        );
    }
    lake::write(&quick, "cheeses.csv", "cheese,country\nBrie,France\n");
    let index = scratch.path().join("index.limn");

    // The first writer publishes table by table, and is held once it has begun to.
    let first = limn_command(&[
        "index",
        text(&slow),
        "--index",
        text(&index),
        "--embedder",
        "hashed-words",
        "--epoch-objects",
        "1",
    ])
    .stdout(Stdio::null())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let started = Instant::now();
    while snapshots(&index) == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "no snapshot");
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&first, "-STOP");
    let published = snapshots(&index);

    // Another publishes meanwhile.
    let second = index_hashed(&quick, &index, &[]);
    signal(&first, "-CONT");
    let lost = first.wait_with_output().unwrap();
    assert!(published < TABLES, "the first writer was held too late");
    assert_eq!(second.ok()["tables"]["added"], 1);
    let told = String::from_utf8(lost.stderr).unwrap();
    assert_eq!(lost.status.code(), Some(3), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains("run again"), "{told}");

    // Run again, it finishes its work beside the other's.
    let again = index_hashed(&slow, &index, &[]).ok();
    let added = again["tables"]["added"].as_u64().unwrap();
    let unchanged = again["tables"]["unchanged"].as_u64().unwrap();
    assert_eq!(added + unchanged, TABLES as u64, "{again}");
    assert!(added > 0, "{again}");
    let tables = limn(&["tables", "--index", text(&index), "--json"]).ok();
    assert_eq!(tables.as_array().unwrap().len(), TABLES + 1);
}
