//! What reaches a terminal: nothing of a lake steers it, and a reader that goes away is no error.

use std::fs;

use limn_tests::{Run, index_hashed, lake, limn, limn_command, run, text};
use tempfile::TempDir;

/// A character of a lake that would steer a terminal or the direction of a line.
fn steers(c: char) -> bool {
    (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c)
}

fn is_tame(run: &Run) {
    for output in [&run.stdout, &run.stderr] {
        assert!(!output.chars().any(steers), "{output:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_whose_name_has_a_control_character_is_a_failure_that_steers_no_terminal() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    fs::write(lake.join("evil\u{1b}[31m.csv"), "a,b\n1,2\n3,4\n").unwrap();
    let index = scratch.path().join("index.limn");
    let got = index_hashed(&lake, &index, &[]);
    assert_eq!(got.code, 1, "{got:?}");
    let report = got.json();
    assert_eq!(report["tables"]["failed"], 1, "{report}");
    assert_eq!(
        report["tables"]["added"], 7,
        "the others are indexed: {report}"
    );
    let failure = &report["failures"][0];
    assert!(
        failure["object"].as_str().unwrap().contains("evil"),
        "{failure}"
    );
    assert!(
        failure["error"]
            .as_str()
            .unwrap()
            .contains("control characters"),
        "{failure}"
    );
    let shown = limn(&[
        "index",
        text(&lake),
        "--index",
        text(&index),
        "--embedder",
        "hashed-words",
        "--strict",
    ]);
    assert_eq!(shown.code, 1, "{shown:?}");
    assert!(shown.stdout.contains("failed: "), "{shown:?}");
    is_tame(&shown);
}

#[cfg(unix)]
#[test]
fn names_and_places_of_a_lake_steer_no_terminal() {
    let scratch = TempDir::new().unwrap();
    // A right-to-left override makes `gnp.csv` look like `vsc.png`.
    let lake = scratch.path().join("lake\u{202e}");
    lake::write(
        &lake,
        "fish\u{202e}gnp.csv",
        "species\u{202e},depth\nperch\u{202e},3\npike,4\n",
    );
    lake::write(&lake, "broken\u{202e}.csv", "");
    let index = scratch.path().join("index.limn");
    let common = ["--index", text(&index)];
    let indexed = limn(
        &[
            &["index", text(&lake), "--embedder", "hashed-words"][..],
            &common,
        ]
        .concat(),
    );
    assert_eq!(indexed.code, 1, "{indexed:?}");
    is_tame(&indexed);
    let names = limn(&[&["tables", "--json"][..], &common].concat()).ok();
    let name = names
        .as_array()
        .unwrap()
        .iter()
        .map(|table| table["table"].as_str().unwrap())
        .find(|name| name.starts_with("fish"))
        .unwrap();
    assert!(name.contains('\u{202e}'), "JSON has the name as it is");
    for arguments in [
        &["search", "fish species perch \u{202e}zzyzx"][..],
        &["tables"],
        &["show", name],
        &["snapshots"],
    ] {
        let shown = limn(&[arguments, &common].concat());
        assert_eq!(shown.code, 0, "{shown:?}");
        assert!(!shown.stdout.is_empty());
        is_tame(&shown);
    }
    let unknown = limn(&[&["show", "fis"][..], &common].concat());
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("did you mean fish"), "{unknown:?}");
    is_tame(&unknown);
}

/// `limn tables --index X --json | head -1`
#[test]
fn a_reader_that_went_away_is_no_error() {
    let scratch = TempDir::new().unwrap();
    let lake = scratch.path().join("lake");
    lake::varied(&lake);
    let index = scratch.path().join("index.limn");
    index_hashed(&lake, &index, &[]).ok();
    let index = text(&index);
    for arguments in [
        &["tables", "--index", index, "--json"][..],
        &["tables", "--index", index],
        &["show", "hr/employees", "--index", index, "--json"],
        &["search", "cheese", "--index", index, "--json"],
        &["search", "cheese", "--index", index],
        &["snapshots", "--index", index, "--json"],
        &["models", "list", "--json"],
        &["models", "list"],
        &["models", "pull", "hashed-words"],
        &["models", "pull", "hashed-words", "--json"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let run = run(limn_command(arguments).stdout(writer));
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{arguments:?}");
    }
}
