//! One bad file costs a nightly job one alarm: what failed before in the same way is counted, and
//! what fails anew is reported.

use std::fs;
use std::path::PathBuf;

use limn_tests::{Run, lake, limn, text};
use tempfile::TempDir;

struct Nightly {
    scratch: TempDir,
}

impl Nightly {
    fn new() -> Self {
        let scratch = TempDir::new().unwrap();
        let nightly = Nightly { scratch };
        lake::write(&nightly.lake(), "rivers.csv", "river,length\nAare,288\n");
        // What the catalog remembers, and what only the listing shows.
        lake::write(&nightly.lake(), "broken.parquet", "no parquet");
        std::os::unix::fs::symlink("/etc", nightly.lake().join("outside")).unwrap();
        nightly
    }

    fn lake(&self) -> PathBuf {
        self.scratch.path().join("lake")
    }

    fn index(&self) -> PathBuf {
        self.scratch.path().join("index")
    }

    fn run(&self, more: &[&str]) -> Run {
        let (lake, index) = (self.lake(), self.index());
        let arguments = ["index", text(&lake), "--index", text(&index)];
        limn(&[&arguments, &["--embedder", "hashed-words"][..], more].concat())
    }
}

fn failures(run: &Run) -> Vec<&str> {
    let lines = run.stdout.lines();
    lines.filter(|line| line.starts_with("failed")).collect()
}

#[test]
fn what_failed_before_is_counted_and_what_fails_anew_makes_the_exit_code_1() {
    let nightly = Nightly::new();
    let first = nightly.run(&[]);
    first.code_is(1);
    let lines = failures(&first);
    assert!(
        lines.len() == 2 && lines.iter().all(|line| line.starts_with("failed: ")),
        "{first:?}"
    );
    let snapshot = |run: &Run| run.json()["snapshot"].as_u64().unwrap();
    let second = nightly.run(&["--json"]);
    second.code_is(0);
    let report = second.json();
    assert_eq!(report["failed_before"], 2, "{report}");
    assert_eq!(report["failures"].as_array().unwrap().len(), 2, "{report}");
    let third = nightly.run(&[]);
    third.code_is(0);
    assert_eq!(
        failures(&third),
        ["failed as before: 2 objects; limn index --strict lists them, and ends with 1"]
    );
    assert_eq!(
        snapshot(&nightly.run(&["--json"])),
        snapshot(&second),
        "nothing is written"
    );

    lake::write(&nightly.lake(), "empty.csv", "");
    let fourth = nightly.run(&[]);
    fourth.code_is(1);
    let lines = failures(&fourth);
    assert!(
        lines.len() == 2 && lines[0].contains("empty.csv") && lines[1].contains("before: 2"),
        "{fourth:?}"
    );
    // The same file, broken in another way.
    fs::write(
        nightly.lake().join("empty.csv"),
        [0u8, 159, 146, 150].repeat(50),
    )
    .unwrap();
    nightly.run(&[]).code_is(1);
    nightly.run(&[]).code_is(0);
    let strict = nightly.run(&["--strict"]);
    strict.code_is(1);
    assert_eq!(failures(&strict).len(), 3, "{strict:?}");
    // Mended and broken again: that is news.
    for text in ["a,b\n1,2\n", ""] {
        lake::write(&nightly.lake(), "empty.csv", text);
        let code = i32::from(text.is_empty());
        nightly.run(&[]).code_is(code);
    }
}

#[test]
fn what_is_passed_over_is_listed_by_kind() {
    let nightly = Nightly::new();
    for name in [
        "a.duckdb", "b.shp", "b.shx", "b.pdf", "c.pdf", "d.xyz", "Makefile",
    ] {
        lake::write(&nightly.lake(), name, "bytes");
    }
    let run = nightly.run(&[]);
    let line = run.stdout.lines().find(|line| line.starts_with("skipped"));
    assert_eq!(
        line,
        Some(
            "skipped: 1 database (a.duckdb), 2 map files (.shp, .shx), 2 documents (.pdf), 1 without an extension, 1 other (.xyz) (not read)"
        ),
        "{run:?}"
    );
}
