//! What is left out of a lake: filters that the index remembers, `.limnignore` files, and what is
//! no data; and that it is reported.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use limn_tests::{Run, index_hashed, lake, limn, text};
use serde_json::{Value, json};
use tempfile::TempDir;

struct Ground {
    scratch: TempDir,
}

impl Ground {
    fn new() -> Self {
        let ground = Ground {
            scratch: TempDir::new().unwrap(),
        };
        let lake = ground.lake();
        for (path, rows) in [
            ("a.csv", 1),
            ("sales/b.csv", 1),
            ("sales/2024/c.csv", 200),
            ("archive/d.csv", 1),
        ] {
            let rows = "1,2\n".repeat(rows);
            lake::write(&lake, path, &format!("{}_x,y\n{rows}", path.len()));
        }
        lake::write(&lake, "sales/b.md", "What was sold.");
        ground
    }

    fn lake(&self) -> PathBuf {
        self.scratch.path().join("lake")
    }

    fn index(&self) -> PathBuf {
        self.scratch.path().join("index.limn")
    }

    fn run(&self, more: &[&str]) -> Run {
        index_hashed(&self.lake(), &self.index(), more)
    }

    fn tables(&self) -> Vec<String> {
        let tables = limn(&["tables", "--index", text(&self.index()), "--json"]).ok();
        let names = tables
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["table"].as_str().unwrap().to_owned());
        names.collect()
    }
}

fn age(path: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(then).unwrap();
}

#[test]
fn filters_hold_until_others_are_said() {
    let ground = Ground::new();
    let first = ground
        .run(&["--exclude", "archive", "--max-size", "400"])
        .ok();
    assert_eq!(ground.tables(), ["a", "sales/b"]);
    assert_eq!(
        (
            &first["objects"]["listed"],
            &first["objects"]["filtered"],
            &first["tables"]["added"]
        ),
        (&5.into(), &2.into(), &2.into()),
        "{first}"
    );
    // The same again, said or not, is nothing new.
    for more in [&[][..], &["--max-size", "400B", "--exclude", "archive"]] {
        let again = ground.run(more).ok();
        assert_eq!(again["snapshot"], first["snapshot"], "{again}");
        assert_eq!(again["objects"]["filtered"], 2, "{again}");
    }
    // A part of the lake is under them too, and under no others.
    lake::write(&ground.lake(), "archive/e.csv", "e,f\n1,2\n");
    let (lake, index) = (ground.lake(), ground.index());
    let update = [
        "update",
        "a",
        "--lake",
        text(&lake),
        "--index",
        text(&index),
    ];
    let update = [&update[..], &["--embedder", "hashed-words", "--json"]].concat();
    limn(&update).ok();
    assert_eq!(ground.tables(), ["a", "sales/b"]);
    let other = limn(&[&update[..], &["--exclude", "b.csv"]].concat());
    assert!(
        other.code == 2 && other.stderr.contains("run limn index"),
        "{other:?}"
    );

    // Others take their place, and tables go as if their files were removed.
    let others = ground.run(&["--include", "sales"]).ok();
    assert_eq!(ground.tables(), ["sales/2024/c", "sales/b"]);
    assert_eq!(
        others["tables"],
        json!({"added": 1, "changed": 0, "removed": 1, "unchanged": 1, "failed": 0}),
        "other filters describe nothing anew"
    );
    // Changing nothing but filters is kept, too.
    let same = ground
        .run(&["--include", "sales", "--exclude", "nothing"])
        .ok();
    assert!(
        same["snapshot"].as_u64() > others["snapshot"].as_u64(),
        "{same}"
    );
    let all = ground.run(&["--no-filters"]).ok();
    assert_eq!(
        (&all["objects"]["filtered"], &all["tables"]["added"]),
        (&0.into(), &3.into()),
        "{all}"
    );
    assert_eq!(ground.run(&[]).ok()["snapshot"], all["snapshot"]);
}

#[test]
fn filters_that_leave_nothing_are_taken_for_a_mistake() {
    let ground = Ground::new();
    ground.run(&[]).ok();
    let wrong = ground.run(&["--include", "*.parqet"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(
        wrong.stderr.contains("--include") && wrong.stderr.contains("--allow-empty"),
        "{wrong:?}"
    );
    assert_eq!(ground.tables().len(), 4);
    ground.run(&["--include", "*.parqet", "--allow-empty"]).ok();
    assert!(ground.tables().is_empty());
    for (option, value, part) in [
        ("--include", "a[", "no pattern"),
        ("--exclude", "", "matches nothing"),
        ("--min-size", "big", "no size"),
        ("--newer-than", "yesterday", "no time"),
    ] {
        let wrong = ground.run(&[option, value]);
        assert!(wrong.code == 2 && wrong.stderr.contains(part), "{wrong:?}");
    }
}

#[test]
fn files_are_chosen_by_their_age_and_texts_beside_them_are_not() {
    let ground = Ground::new();
    age(&ground.lake().join("archive/d.csv"), 100);
    age(&ground.lake().join("sales/b.md"), 100);
    age(&ground.lake().join("a.csv"), 2);
    ground
        .run(&["--newer-than", "30d", "--older-than", "1d"])
        .ok();
    assert_eq!(ground.tables(), ["a"]);
    ground.run(&["--modified-after", "30d"]).ok();
    assert_eq!(ground.tables(), ["a", "sales/2024/c", "sales/b"]);
    let shown = limn(&[
        "show",
        "sales/b",
        "--index",
        text(&ground.index()),
        "--json",
    ]);
    assert!(shown.stdout.contains("What was sold."), "{shown:?}");
}

#[test]
fn the_owners_of_folders_say_what_is_left_out() {
    let ground = Ground::new();
    lake::write(
        &ground.lake(),
        ".limnignore",
        "# not for everybody\narchive/\n",
    );
    lake::write(&ground.lake(), "sales/.limnignore", "/2024/*\n");
    let report = ground.run(&[]).ok();
    assert_eq!(ground.tables(), ["a", "sales/b"]);
    assert_eq!(report["objects"]["filtered"], 2, "{report}");
    lake::write(&ground.lake(), "sales/2024/e.csv", "e,f\n1,2\n");
    let (lake, index) = (ground.lake(), ground.index());
    let update = [
        "update",
        "sales/2024/e",
        "--lake",
        text(&lake),
        "--index",
        text(&index),
    ];
    let update = limn(&[&update[..], &["--embedder", "hashed-words", "--json"]].concat());
    assert!(
        update.code == 2 && update.stderr.contains("no table 'sales/2024/e'"),
        "{update:?}"
    );

    // One that is not understood changes nothing in its folder.
    lake::write(&ground.lake(), "sales/.limnignore", "/2024/*\n[\n");
    lake::write(&ground.lake(), "sales/b.csv", "q,r\n1,2\n");
    let report = ground.run(&[]);
    assert_eq!(report.code, 1, "{report:?}");
    let report: Value = report.json();
    let got = report["failures"][0]["error"].as_str().unwrap();
    assert!(got.contains("sales/.limnignore: line 2"), "{got}");
    assert_eq!(ground.tables(), ["a", "sales/b"]);
    assert_eq!(report["tables"]["changed"], 0, "{report}");
}

#[test]
fn no_filter_hides_an_index_in_the_lake_or_an_ignore_file() {
    let ground = Ground::new();
    lake::write_parquet(&ground.lake(), "rivers.parquet", 10);
    lake::write(&ground.lake(), ".limnignore", "archive\n");
    let inside = ground.lake().join("old.limn");
    index_hashed(&ground.lake(), &inside, &[]).ok();
    // Its snapshots are no Parquet files, and its catalog is.
    let report = ground
        .run(&["--include", "*.parquet", "--exclude", ".*"])
        .ok();
    assert_eq!(ground.tables(), ["rivers"], "{report}");
    assert_eq!(
        report["notes"][0], "old.limn is a limn index and was left out",
        "{report}"
    );
    let all = ground.run(&["--exclude", ".*"]).ok();
    assert_eq!(
        ground.tables(),
        ["a", "rivers", "sales/2024/c", "sales/b"],
        "{all}"
    );
}

#[test]
fn what_is_skipped_is_listed() {
    let ground = Ground::new();
    for path in [
        "x/1.pdf",
        "x/2.PDF",
        "x/3.docx",
        "x/Makefile",
        "_SUCCESS",
        "x/.DS_Store",
        "a.csv.tmp",
    ] {
        lake::write(&ground.lake(), path, "x");
    }
    let report = ground.run(&["--exclude", "archive"]).ok();
    assert_eq!(
        report["objects"],
        json!({"listed": 12, "read": 3, "filtered": 1, "hidden": 3, "skipped": [
            {"extension": "pdf", "objects": 2, "paths": ["x/1.pdf", "x/2.PDF"]},
            {"extension": "", "objects": 1, "paths": ["x/Makefile"]},
            {"extension": "docx", "objects": 1, "paths": ["x/3.docx"]},
        ]}),
        "{report}"
    );
    let (lake, index) = (ground.lake(), ground.index());
    let arguments = ["index", text(&lake), "--index", text(&index)];
    let shown = limn(&[&arguments[..], &["--embedder", "hashed-words"]].concat());
    let line = "skipped: 3 documents (.pdf, .docx), 1 without an extension (not read); 3 hidden or temporary; 1 by filters";
    assert!(shown.stdout.contains(line), "{shown:?}");
}

/// A container that nobody asked for and that cannot be opened is no reason to fail, nor to believe
/// that something is left.
#[test]
fn a_broken_container_outside_of_what_is_included_is_left_out() {
    let scratch = TempDir::new().unwrap();
    let (root, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake::write(&root, "a/x.csv", "lake,depth\nBlue,3\n");
    lake::write(&root, "b/bad.zip", "PKnope");
    index_hashed(&root, &index, &[]).code_is(1);
    let mistyped = index_hashed(&root, &index, &["--include", "sales"]);
    mistyped.code_is(2);
    assert!(mistyped.stderr.contains("leave out all"), "{mistyped:?}");
    let fresh = scratch.path().join("fresh");
    let run = index_hashed(&root, &fresh, &["--include", "a"]).ok();
    assert_eq!(run["tables"]["added"], 1, "{run}");
    // One that is asked for is reported.
    index_hashed(&root, &fresh, &["--include", "bad.zip", "--include", "a"]).code_is(1);
}
