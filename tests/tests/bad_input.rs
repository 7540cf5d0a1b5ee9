//! Bad input costs itself only: one clear line naming the object and the remedy, every other table
//! indexed, no panic.

mod denied;

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::rounds::rounds;
use limn_tests::s3::{GUEST, S3Server};
use limn_tests::{
    Run, binary, index_hashed, index_hashed_command, lake, limn, limn_command, measured, run, text,
};
use tempfile::TempDir;

/// One line, no panic, names what it should.
fn is_clear(stderr: &str, wanted: &[&str]) {
    assert_eq!(
        stderr.trim_end().lines().count(),
        1,
        "one line expected: {stderr}"
    );
    assert!(!stderr.contains("panicked"), "{stderr}");
    for part in wanted {
        assert!(
            stderr.to_lowercase().contains(&part.to_lowercase()),
            "'{part}' expected in: {stderr}"
        );
    }
}

#[test]
fn a_missing_lake_or_index_is_one_clear_line() {
    let scratch = TempDir::new().unwrap();
    let index = scratch.path().join("index.limn");
    let missing = limn(&[
        "index",
        "/no/such/lake",
        "--index",
        text(&index),
        "--embedder",
        "hashed-words",
    ]);
    assert_eq!(missing.code, 2, "{missing:?}");
    is_clear(&missing.stderr, &["/no/such/lake"]);

    let no_index = limn(&["search", "anything", "--index", "/no/such/index"]);
    assert_eq!(no_index.code, 2, "{no_index:?}");
    is_clear(&no_index.stderr, &["/no/such/index", "limn index"]);

    lake::write(scratch.path(), "notes/readme.txt", "not an index");
    let foreign = limn(&["tables", "--index", text(&scratch.path().join("notes"))]);
    assert_eq!(foreign.code, 2, "{foreign:?}");
    is_clear(&foreign.stderr, &["notes"]);
    // Nor is somebody's folder made into one.
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    let occupied = index_hashed(&lake, &scratch.path().join("notes"), &[]);
    assert_eq!(occupied.code, 2, "{occupied:?}");
}

#[test]
fn a_file_in_the_place_of_a_lake_is_refused_with_how_to_name_it() {
    let scratch = TempDir::new().unwrap();
    lake::write(scratch.path(), "lake/t.csv", "a,b\n1,2\n");
    let folder = scratch.path().join("lake");
    let file = index_hashed(
        &folder.join("t.csv"),
        &scratch.path().join("index.limn"),
        &[],
    );
    assert_eq!(file.code, 2, "{file:?}");
    let wanted = format!("limn index {} --include 't.csv'", text(&folder));
    is_clear(&file.stderr, &["is a file, not a folder", &wanted]);
}

#[test]
fn a_scheme_or_flag_that_makes_no_sense_is_usage() {
    for arguments in [
        &["index", "ftp://host/lake", "--index", "x.limn"][..],
        &["search", "q", "--index", "x.limn", "--alpha", "7"],
        &["search", "q", "--index", "x.limn", "-k", "0"],
        &["eval", "--index", "x.limn"],
    ] {
        let run = limn(arguments);
        assert_eq!(run.code, 2, "{arguments:?}: {run:?}");
        assert!(
            !run.stderr.is_empty() && !run.stderr.contains("panicked"),
            "{run:?}"
        );
    }
}

#[test]
fn broken_files_are_named_and_every_other_table_is_indexed() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    lake::write_parquet(&lake, "broken/truncated.parquet", 100);
    let parquet = lake.join("broken/truncated.parquet");
    let bytes = fs::read(&parquet).unwrap();
    fs::write(&parquet, &bytes[..bytes.len() - 20]).unwrap();
    lake::write(&lake, "broken/empty.csv", "");
    fs::write(
        lake.join("broken/binary.csv"),
        [0u8, 159, 146, 150, 0, 1, 2, 3].repeat(500),
    )
    .unwrap();
    lake::write(
        &lake,
        "broken/not_json.jsonl",
        "this is\nnot json\nat all\n",
    );
    lake::write(
        &lake,
        "broken/ragged.csv",
        "a,b,c\n1,2,3\n4,5\n6,7,8,9\n10,11,12\n13,14,15\n16,17,18\n19,20,21\n",
    );

    let index = scratch.path().join("index.limn");
    let run = index_hashed(&lake, &index, &[]);
    assert_eq!(run.code, 1, "finished, but some tables failed: {run:?}");
    let report = run.json();
    assert_eq!(report["tables"]["failed"], 4, "{report}");
    // The seven good tables and the slightly ragged one.
    assert_eq!(report["tables"]["added"], 8, "{report}");
    let failures = report["failures"].as_array().unwrap();
    for name in [
        "truncated.parquet",
        "empty.csv",
        "binary.csv",
        "not_json.jsonl",
    ] {
        let failure = failures
            .iter()
            .find(|failure| failure["object"].as_str().unwrap().ends_with(name))
            .unwrap_or_else(|| panic!("{name} is not among the failures: {report}"));
        let line = failure["error"].as_str().unwrap();
        assert!(
            line.contains(name) && !line.contains('\n') && line.contains(';'),
            "object, cause; remedy expected: {line}"
        );
    }
    // The next run reads none of them again, and still reports them.
    let again = index_hashed(&lake, &index, &[]);
    again.code_is(0);
    let report = again.json();
    assert_eq!(report["failed_before"], 4, "{report}");
    assert_eq!(
        (&report["objects"]["read"], &report["tables"]["failed"]),
        (&0.into(), &4.into()),
        "{report}"
    );
    assert_eq!(
        (&report["snapshot"], &report["tables"]["unchanged"]),
        (&1.into(), &8.into()),
        "{report}"
    );
}

#[test]
fn a_table_whose_new_version_is_unreadable_keeps_its_last_good_one() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    let index = scratch.path().join("index.limn");
    index_hashed(&lake, &index, &[]).ok();
    fs::write(lake.join("hr/employees.csv"), [0u8, 1, 2, 255].repeat(400)).unwrap();
    let run = index_hashed(&lake, &index, &[]);
    assert_eq!(
        (run.code, &run.json()["tables"]["failed"]),
        (1, &1.into()),
        "{run:?}"
    );
    let answer = limn(&[
        "search",
        "sick leave hours of employees",
        "--index",
        text(&index),
        "--json",
    ])
    .ok();
    assert_eq!(answer["results"][0]["table"], "hr/employees", "{answer}");
}

#[test]
fn a_lake_of_one_corrupt_table_is_not_called_empty() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    fs::create_dir(&lake).unwrap();
    fs::write(lake.join("broken.parquet"), "PAR1 and no more").unwrap();
    let index = |name: &str| {
        let index = scratch.path().join(name);
        limn(&[
            "index",
            text(&lake),
            "--index",
            text(&index),
            "--embedder",
            "hashed-words",
        ])
    };
    let run = index("corrupt.limn");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("failed: "), "{run:?}");
    assert!(!run.stdout.contains("has no tables"), "{run:?}");
    fs::remove_file(lake.join("broken.parquet")).unwrap();
    let run = index("empty.limn");
    assert!(run.stdout.contains("has no tables"), "{run:?}");
}

#[test]
fn an_empty_lake_is_no_error_and_the_index_can_be_asked() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (
        scratch.path().join("lake"),
        scratch.path().join("index.limn"),
    );
    fs::create_dir_all(&lake).unwrap();
    let report = index_hashed(&lake, &index, &[]).ok();
    assert_eq!(
        (&report["snapshot"], &report["tables"]["added"]),
        (&1.into(), &0.into())
    );
    let answer = limn(&["search", "anything", "--index", text(&index), "--json"]).ok();
    assert!(answer["results"].as_array().unwrap().is_empty());
}

#[test]
fn an_index_inside_its_lake_does_not_index_itself() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    let index = lake.join("index.limn");
    index_hashed(&lake, &index, &[]).ok();
    let report = index_hashed(&lake, &index, &[]).ok();
    assert_eq!(
        (&report["tables"]["added"], &report["tables"]["unchanged"]),
        (&0.into(), &7.into()),
        "{report}"
    );
    // Nor another index, which is reported.
    let report = index_hashed(&lake, &scratch.path().join("other.limn"), &[]).ok();
    assert_eq!(report["tables"]["added"], 7, "{report}");
    assert_eq!(
        report["notes"][0], "index.limn is a limn index and was left out",
        "{report}"
    );
}

#[test]
fn an_index_that_cannot_be_written_is_reported_before_the_work() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    // Nobody, not even root, makes a folder below a file.
    let index = scratch.path().join("file/index.limn");
    fs::write(scratch.path().join("file"), "").unwrap();
    let run = index_hashed(&lake, &index, &[]);
    assert_eq!(run.code, 2, "{run:?}");
    is_clear(&run.stderr, &["index.limn", "--index"]);
    assert!(!run.stderr.contains("segments/"), "{run:?}");
}

#[test]
fn a_flipped_bit_in_a_segment_is_detected() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    let index = scratch.path().join("index.limn");
    index_hashed(&lake, &index, &["--shards", "1"]).ok();
    let segments = index.join("segments/0000");
    let segment = fs::read_dir(&segments)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = fs::read(&segment).unwrap();
    // Every byte of a small segment is read by a question: the header, the vectors, the words.
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&segment, bytes).unwrap();
    let run = limn(&[
        "search",
        "water level of the river",
        "--index",
        text(&index),
        "-k",
        "20",
    ]);
    assert_eq!(run.code, 2, "{run:?}");
    is_clear(&run.stderr, &["segments/", "index"]);
}

#[test]
fn a_directory_of_many_small_files_is_a_table() {
    let many = rounds(10_000) as usize;
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (
        scratch.path().join("lake"),
        scratch.path().join("index.limn"),
    );
    lake::write(&lake, "rivers.csv", "river,length\nAare,288\nReuss,164\n");
    let folder = lake.join("readings");
    fs::create_dir_all(&folder).unwrap();
    let row = |file: usize| {
        format!(
            "station,taken,level\ns{},2026-01-{:02},{file}\n",
            file % 50,
            file % 28 + 1
        )
    };
    for file in 0..many {
        fs::write(folder.join(format!("r{file:06}.csv")), row(file)).unwrap();
    }
    fs::write(folder.join("r000077.csv"), [0u8, 159, 146, 150].repeat(50)).unwrap();
    let first = index_hashed(&lake, &index, &[]);
    first.code_is(1);
    let report = first.json();
    assert_eq!(report["tables"]["added"], 2, "{report}");
    assert_eq!(report["failures"].as_array().unwrap().len(), 1, "{report}");
    let shown = limn(&["show", "readings", "--index", text(&index), "--json"]).ok();
    let shown = shown.as_array().map_or(&shown, |tables| &tables[0]);
    assert_eq!(shown["rows"], many - 1, "{shown}");

    // What one file more costs is one file.
    fs::write(folder.join(format!("r{many:06}.csv")), row(many)).unwrap();
    let second = index_hashed(&lake, &index, &[]).json();
    assert_eq!(second["objects"]["read"], 1, "{second}");
    assert_eq!(second["tables"]["changed"], 1, "{second}");
}

#[test]
fn a_line_of_two_gigabytes_costs_itself_and_little_memory() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (
        scratch.path().join("lake"),
        scratch.path().join("index.limn"),
    );
    lake::write(&lake, "rivers.csv", "river,length\nAare,288\nReuss,164\n");
    for (name, piece) in [
        ("cells.csv", "one,two,three,"),
        ("words.csv", "wordwordword"),
    ] {
        let piece = piece.repeat(1 << 16);
        let mut file = fs::File::create(lake.join(name)).unwrap();
        for _ in 0..(2u64 << 30) / piece.len() as u64 {
            file.write_all(piece.as_bytes()).unwrap();
        }
    }
    let begun = Instant::now();
    let (run, memory) = measured(&index_hashed_command(&lake, &index, &[]));
    run.code_is(1);
    let report = run.json();
    assert_eq!(report["tables"]["added"], 1, "{report}");
    let failures = report["failures"].as_array().unwrap();
    let objects: Vec<&str> = failures
        .iter()
        .map(|it| it["object"].as_str().unwrap())
        .collect();
    assert_eq!(objects, ["cells.csv", "words.csv"], "{report}");
    assert!(
        report["bytes"]["read"].as_u64().unwrap() < 64 << 20,
        "{report}"
    );
    assert!(
        begun.elapsed() < Duration::from_secs(60),
        "{:?}",
        begun.elapsed()
    );
    assert!(memory < 768 << 20, "{} MiB", memory >> 20);
}

#[test]
fn tables_of_two_lakes_with_equal_names_are_two() {
    let scratch = TempDir::new().unwrap();
    let index = scratch.path().join("index.limn");
    let (shop, town) = (scratch.path().join("shop"), scratch.path().join("town"));
    lake::write(&shop, "people.csv", "id,name\n1,Ada\n2,Grace\n");
    lake::write(&town, "people.csv", "id,district\n1,harbour\n2,castle\n");
    lake::write(&town, "streets.csv", "street,length\nLong,900\nShort,20\n");
    for lake in [&shop, &town] {
        index_hashed(lake, &index, &[]).code_is(0);
    }
    let lakes_of = |name: &str| -> Vec<String> {
        let tables = limn(&["tables", "--index", text(&index), "--json"]).ok();
        let tables = tables.as_array().unwrap().iter();
        let named = tables.filter(|table| table["table"] == name);
        named
            .map(|table| table["lake"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(lakes_of("people").len(), 2);
    // For people, too.
    let listed = limn(&["tables", "--index", text(&index)]).stdout;
    for lake in [&shop, &town] {
        let of_lake = |line: &&str| line.starts_with("people") && line.ends_with(text(lake));
        assert_eq!(listed.lines().filter(of_lake).count(), 1, "{listed}");
    }
    let found = limn(&[
        "search",
        "harbour district",
        "--index",
        text(&index),
        "--json",
    ])
    .ok();
    assert_eq!(found["results"][0]["lake"], text(&town), "{found}");

    // What happens to one happens to it alone.
    fs::remove_file(town.join("people.csv")).unwrap();
    let again = index_hashed(&town, &index, &[]).ok();
    assert_eq!(again["tables"]["removed"], 1, "{again}");
    assert_eq!(lakes_of("people"), [text(&shop)]);
    let left = limn(&[
        "search",
        "people name Grace",
        "--index",
        text(&index),
        "--json",
    ])
    .ok();
    assert_eq!(left["results"][0]["lake"], text(&shop), "{left}");
    assert_eq!(
        index_hashed(&shop, &index, &[]).ok()["tables"]["unchanged"],
        1
    );
}
