//! Compaction: nights of edits leave few files, and every answer as it was.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use limn_tests::{index_hashed, lake, limn, text};
use serde_json::Value;
use tempfile::TempDir;

/// A lake in which every night other tables change, come and go.
fn night(lake: &Path, night: usize) {
    for name in [0, 1 + night % 7, 8 + night] {
        lake::write(
            lake,
            &format!("sales/t{name}.csv"),
            &format!("item{name},price,night{night}\nriver,{night},a\nlake,{name},b\n"),
        );
    }
    if night >= 6 {
        let removed = lake.join(format!("sales/t{}.csv", 8 + night - 6));
        fs::remove_file(removed).unwrap();
    }
}

fn answers(index: &Path) -> Vec<Value> {
    let questions = [
        "what does the river cost?",
        "item3 price",
        "night11",
        "lake",
    ];
    let questions = questions.iter().map(|question| {
        limn(&[
            "search",
            question,
            "-k",
            "30",
            "--index",
            text(index),
            "--json",
        ])
        .ok()["results"]
            .clone()
    });
    questions.collect()
}

fn files(folder: &Path, suffix: &str) -> usize {
    let mut count = 0;
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            count += files(&path, suffix);
        } else if text(&path).ends_with(suffix) {
            count += 1;
        }
    }
    count
}

/// Every file of the index is ten days old.
fn age(folder: &Path) {
    let then = SystemTime::now() - Duration::from_secs(10 * 86_400);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path);
        } else {
            let file = File::options().write(true).open(&path).unwrap();
            file.set_modified(then).unwrap();
        }
    }
}

#[test]
fn nights_of_edits_become_few_files_with_the_same_answers() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake::varied(&lake);
    for at in 0..12 {
        night(&lake, at);
        let report = index_hashed(&lake, &index, &["--no-compact"]).ok();
        assert_eq!(report["compacted"], Value::Null);
    }
    let before = answers(&index);
    let compact = |more: &[&str]| limn(&[&["compact", "--index", text(&index)], more].concat());
    let dry = compact(&["--json", "--dry-run"]).ok();
    assert_eq!(
        (&dry["snapshot"], &dry["after"]),
        (&12.into(), &Value::Null)
    );
    assert!(!dry["merges"].as_array().unwrap().is_empty(), "{dry}");
    assert_eq!(files(&index.join("snapshots"), ".json"), 12);

    let got = compact(&["--json"]).ok();
    assert_eq!(got["snapshot"], 13, "{got}");
    assert_eq!(got["merges"], dry["merges"]);
    assert_eq!(got["before"], dry["before"]);
    let size = |of: &str, what: &str| got[of][what].as_u64().unwrap();
    assert!(size("before", "catalog_files") > 12, "{got}");
    // Two shards of little: each becomes one file.
    assert_eq!(size("after", "catalog_files"), 2, "{got}");
    assert_eq!(size("after", "segments"), 2, "{got}");
    assert_eq!(size("after", "deleted_blocks"), 0, "{got}");
    assert!(
        size("after", "bytes") < size("before", "bytes") / 2,
        "{got}"
    );
    assert_eq!(answers(&index), before);
    assert_eq!(limn(&["verify", "--index", text(&index)]).code, 0);
    let diff = limn(&["diff", "12", "13", "--index", text(&index)]);
    assert!(diff.stdout.contains("no table differs"), "{diff:?}");
    assert!(compact(&[]).stdout.contains("nothing to merge"));
    assert!(compact(&["--full"]).stdout.contains("nothing to merge"));

    // It is what a fresh build names, but for its past.
    let anew = scratch.path().join("anew");
    assert_eq!(index_hashed(&lake, &anew, &[]).code, 0);
    assert_eq!(answers(&anew), before);
    let fresh = limn(&["compact", "--index", text(&anew), "--json"]).ok();
    let fresh = fresh["before"]["bytes"].as_u64().unwrap() as f64;
    let ratio = size("after", "bytes") as f64 / fresh;
    assert!(ratio < 1.1, "{ratio} times the bytes of a fresh build");

    // What was merged goes, and nothing else.
    let segments = files(&index, ".seg");
    age(&index);
    assert_eq!(limn(&["gc", "--index", text(&index)]).code, 0);
    let catalog = files(&index.join("catalog"), ".parquet");
    let joins = files(&index.join("joins"), ".parquet");
    assert_eq!((files(&index, ".seg"), catalog, joins), (2, 2, 2));
    assert!(segments > 12, "{segments} segments before");
    assert_eq!(answers(&index), before);
    assert_eq!(limn(&["verify", "--index", text(&index)]).code, 0);

    // The next night goes on from there.
    night(&lake, 12);
    let report = index_hashed(&lake, &index, &[]).ok();
    assert_eq!(
        (&report["tables"]["added"], &report["tables"]["removed"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn nightly_runs_compact_by_themselves() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake::varied(&lake);
    let mut compactions = 0;
    for at in 0..25 {
        night(&lake, at);
        let report = index_hashed(&lake, &index, &[]).ok();
        if !report["compacted"].is_null() {
            compactions += 1;
        }
        let snapshots = limn(&["snapshots", "--index", text(&index), "--json"]).ok();
        assert_eq!(snapshots[0]["snapshot"], report["snapshot"], "{report}");
        let again = index_hashed(&lake, &index, &[]).ok();
        assert_eq!(
            (
                &again["snapshot"],
                &again["requests"]["put"],
                &again["compacted"]
            ),
            (&report["snapshot"], &0.into(), &Value::Null),
            "{again}"
        );
    }
    assert!((3..13).contains(&compactions), "{compactions} compactions");
    let dry = limn(&["compact", "--dry-run", "--json", "--index", text(&index)]).ok();
    assert_eq!(dry["merges"], serde_json::json!([]), "{dry}");
    assert!(dry["before"]["segments"].as_u64().unwrap() <= 10, "{dry}");
    assert_eq!(limn(&["verify", "--index", text(&index)]).code, 0);
    let anew = scratch.path().join("anew");
    assert_eq!(index_hashed(&lake, &anew, &[]).code, 0);
    assert_eq!(answers(&index), answers(&anew));
}

#[test]
fn where_there_is_no_index_it_says_so() {
    let scratch = TempDir::new().unwrap();
    let nowhere = scratch.path().join("nowhere");
    for more in [&["--dry-run"][..], &[]] {
        let run = limn(&[&["compact", "--index", text(&nowhere)], more].concat());
        assert!(run.code == 2 && run.stderr.contains("no index"), "{run:?}");
    }
}
