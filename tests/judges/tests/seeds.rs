//! The seeds of files, containers, logs and deletes, read once: what a target would find at its
//! first input, every build finds.

#![allow(clippy::expect_used, reason = "a test")]

use std::fs;
use std::path::Path;

use limn_fuzz::{read, read_container, read_deleted, read_log, watch_panics};

/// The seeds of a target.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/seeds")
        .join(target);
    let files = fs::read_dir(folder).expect("a target has seeds");
    let seed = |file: Result<fs::DirEntry, std::io::Error>| {
        let file = file.expect("a seed is listed");
        fs::read(file.path()).expect("a seed is read")
    };
    let seeds: Vec<_> = files.map(seed).collect();
    assert!(!seeds.is_empty(), "{target}");
    seeds
}

#[test]
fn every_seed_of_a_file_is_read() {
    watch_panics();
    let files = [
        ("arrow", "t.arrow"),
        ("avro", "t.avro"),
        ("dbf", "t.dbf"),
        ("delimited", "t.csv"),
        ("json", "t.json"),
        ("orc", "t.orc"),
        ("parquet", "t.parquet"),
    ];
    for (target, name) in files {
        for content in seeds(target) {
            read(name, &content);
        }
    }
}

#[test]
fn every_seed_of_a_container_is_listed() {
    for content in seeds("sqlite") {
        read_container("t.sqlite", &content);
    }
    for content in seeds("containers") {
        let Some((first, content)) = content.split_first() else {
            continue;
        };
        let names = ["t.zip", "t.tar", "t.tar.gz", "t.tar"];
        read_container(names[usize::from(first % 4)], content);
    }
}

#[test]
fn every_seed_of_a_log_is_opened() {
    let logs = [
        ("delta", "_delta_log"),
        ("hudi", ".hoodie"),
        ("iceberg", "metadata"),
    ];
    for (target, folder) in logs {
        for content in seeds(target) {
            read_log(folder, &content);
        }
    }
    for content in seeds("deletes") {
        if let Some((first, content)) = content.split_first() {
            read_deleted(*first, content);
        }
    }
}
