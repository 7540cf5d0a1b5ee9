//! Two writers of one index at the same moment: they do not disturb each other unless they write
//! the same tables; then the slower says so with exit code 3, and no table is lost.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
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

/// A lake of many tables.
fn many(root: &Path) {
    for table in 0..TABLES {
        lake::write(
            root,
            &format!("folder{table}/readings.csv"),
            &format!("station,level{table}\n1,{table}\n2,5\n"),
        );
    }
}

/// A writer that publishes a lake table by table, is held once it has begun to, and goes on when
/// `meanwhile` is done. How it ended, and how.
fn held_while(lake: &Path, index: &Path, meanwhile: impl FnOnce()) -> Output {
    let first = limn_command(&[
        "index",
        text(lake),
        "--index",
        text(index),
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
    while snapshots(index) == 0 {
        assert!(started.elapsed() < Duration::from_secs(60), "no snapshot");
        std::thread::sleep(Duration::from_millis(1));
    }
    signal(&first, "-STOP");
    let published = snapshots(index);
    meanwhile();
    signal(&first, "-CONT");
    let ended = first.wait_with_output().unwrap();
    assert!(published < TABLES, "the first writer was held too late");
    ended
}

#[test]
fn writers_of_two_lakes_both_publish() {
    let scratch = TempDir::new().unwrap();
    let (slow, quick) = (scratch.path().join("slow"), scratch.path().join("quick"));
    many(&slow);
    lake::write(&quick, "cheeses.csv", "cheese,country\nBrie,France\n");
    let index = scratch.path().join("index.limn");
    let first = held_while(&slow, &index, || {
        let second = index_hashed(&quick, &index, &[]);
        assert_eq!(second.ok()["tables"]["added"], 1);
    });
    let got = String::from_utf8(first.stderr).unwrap();
    assert_eq!(first.status.code(), Some(0), "{got}");
    let tables = limn(&["tables", "--index", text(&index), "--json"]).ok();
    assert_eq!(tables.as_array().unwrap().len(), TABLES + 1);
    assert_eq!(limn(&["verify", "--index", text(&index)]).code, 0);
}

#[test]
fn the_slower_writer_of_the_same_tables_exits_with_3_and_can_run_again() {
    let scratch = TempDir::new().unwrap();
    let slow = scratch.path().join("slow");
    many(&slow);
    let index = scratch.path().join("index.limn");
    let lost = held_while(&slow, &index, || {
        index_hashed(&slow, &index, &[]).ok();
    });
    let got = String::from_utf8(lost.stderr).unwrap();
    assert_eq!(lost.status.code(), Some(3), "{got}");
    assert_eq!(got.lines().count(), 1, "{got}");
    assert!(got.contains("run again"), "{got}");

    // Run again, it finds that the other has done all of it.
    let again = index_hashed(&slow, &index, &[]).ok();
    assert_eq!(again["tables"]["unchanged"], TABLES, "{again}");
    let tables = limn(&["tables", "--index", text(&index), "--json"]).ok();
    assert_eq!(tables.as_array().unwrap().len(), TABLES);
    assert_eq!(limn(&["verify", "--index", text(&index)]).code, 0);
}
