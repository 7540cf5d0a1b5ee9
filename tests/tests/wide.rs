//! Memory follows what is held, not how many bytes files have: tables of very many columns, and
//! very many tables.

use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::path::Path;

use limn_tests::{Run, index_hashed_command, measured};
use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// What a run may take, whatever lies in the lake.
const MOST_MEMORY: u64 = 1536 << 20;
/// The most columns that a table can have.
const WIDEST: usize = 16_384;

/// A table of one row, whose columns are named by a stem.
fn wide(stem: &str, columns: usize) -> String {
    let mut text = String::new();
    for column in 0..columns {
        let comma = if column == 0 { "" } else { "," };
        write!(text, "{comma}{stem}{column}").unwrap();
    }
    text.push('\n');
    for column in 0..columns {
        let comma = if column == 0 { "" } else { "," };
        write!(text, "{comma}{}", column % 10).unwrap();
    }
    text.push('\n');
    text
}

fn zip(path: &Path, members: usize, text: impl Fn(usize) -> (String, String)) {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for member in 0..members {
        let (name, text) = text(member);
        writer
            .start_file(name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    fs::write(path, writer.finish().unwrap().into_inner()).unwrap();
}

/// A run that must stay within memory.
fn indexed(what: &str, lake: &Path, index: &Path, more: &[&str]) -> Run {
    let (run, most) = measured(&index_hashed_command(lake, index, more));
    println!("{what}: {} MiB", most >> 20);
    assert!(most < MOST_MEMORY, "{what}: {} MiB", most >> 20);
    run
}

#[test]
fn a_small_archive_of_very_wide_tables_ends_no_run() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    fs::create_dir_all(&lake).unwrap();
    fs::write(lake.join("rivers.csv"), "river,length\nAare,288\n").unwrap();
    let text = wide("c", WIDEST);
    zip(&lake.join("bomb.zip"), 300, |i| {
        (format!("m{i:03}.csv"), text.clone())
    });
    let run = indexed("300 like members of a zip", &lake, &index, &[]);
    run.code_is(1);
    let report = run.json();
    assert_eq!(report["tables"]["added"], 2, "{report}");
    let failures = report["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 236, "{report}");
    let first = failures[0]["error"].as_str().unwrap();
    assert!(
        first.starts_with("bomb.zip//m064.csv: it has 16384 columns") && first.contains("; "),
        "{first}"
    );
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("bomb.zip//m000.csv with 16384 columns"),
        "{notes}"
    );
    // The next night.
    indexed("the same again", &lake, &index, &[]).code_is(0);
}

#[test]
fn very_wide_files_of_other_columns_are_tables_in_little_memory() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    fs::create_dir_all(&lake).unwrap();
    for file in 0..60 {
        let text = wide(&format!("f{file}c"), WIDEST);
        fs::write(lake.join(format!("t{file}x.csv")), text).unwrap();
    }
    let run = indexed("60 wide files", &lake, &index, &[]);
    let report = run.ok();
    assert_eq!(report["tables"]["added"], 60, "{report}");
    let again = indexed("the same again", &lake, &index, &[]).ok();
    assert_eq!(again["tables"]["unchanged"], 60, "{again}");
}

#[test]
fn many_tables_of_some_hundred_columns_are_few_epochs_in_little_memory() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    for table in 0..3000 {
        let folder = lake.join(format!("d{table:04}"));
        fs::create_dir_all(&folder).unwrap();
        let columns = 100 + table % 200;
        fs::write(folder.join("t.csv"), wide(&format!("n{table}x"), columns)).unwrap();
    }
    let report = indexed(
        "3,000 tables of 200 columns",
        &lake,
        &index,
        &["--no-compact"],
    )
    .ok();
    assert_eq!(report["tables"]["added"], 3000, "{report}");
    // Of 1,024 objects, then of all others.
    assert_eq!(report["snapshot"], 2, "{report}");
}
