//! `limn gc`: what nobody needs goes, and nothing else.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use limn_tests::{Run, index_hashed, lake, limn, limn_command, run, text};
use serde_json::Value;
use tempfile::TempDir;

/// Every file of the index is so many days old.
fn age(folder: &Path, days: u64) {
    let then = SystemTime::now() - Duration::from_secs(days * 86_400);
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path, days);
        } else {
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(then)
                .unwrap();
        }
    }
}

fn objects(index: &Path) -> usize {
    let mut count = 0;
    for folder in ["segments", "catalog", "deletes", "snapshots"] {
        let mut folders = vec![index.join(folder)];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    count += 1;
                }
            }
        }
    }
    count
}

#[test]
fn old_snapshots_and_orphans_go_and_the_rest_is_whole() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake::varied(&lake);
    let nightly = |night: usize| {
        lake::write(
            &lake,
            "hr/employees.csv",
            &format!("name,leave\nAnn,{night}\nBob,{night}\n"),
        );
        // A compaction would publish snapshots of its own.
        assert_eq!(index_hashed(&lake, &index, &["--no-compact"]).code, 0);
    };
    for night in 0..5 {
        nightly(night);
    }
    let gc = |more: &[&str]| -> Run {
        limn(&[&["gc", "--index", text(&index), "--json"], more].concat())
    };
    let count = |got: &Value, what: &str| got[what].as_array().unwrap().len();
    let search = || {
        let found = limn(&[
            "search",
            "who took leave?",
            "--index",
            text(&index),
            "--json",
        ])
        .ok();
        found["results"].clone()
    };
    let before = search();

    // All of it is young.
    let got = gc(&[]).ok();
    assert_eq!(
        (count(&got, "snapshots"), count(&got, "objects")),
        (0, 0),
        "{got}"
    );
    assert_eq!(count(&got, "retained"), 5);

    // Words that were paid for, and an orphan that a killed run left.
    let words = index.join("cache/narrations/of/words.parquet");
    fs::create_dir_all(words.parent().unwrap()).unwrap();
    fs::write(&words, "paid for").unwrap();
    let orphan = index.join("segments/0000/0123456789abcdef0123456789abcdef.seg");
    // Which shards there are depends on where the lake lies.
    fs::create_dir_all(orphan.parent().unwrap()).unwrap();
    fs::write(&orphan, "of a killed run").unwrap();
    age(&index, 10);
    // What a running job has just written stays, though nothing names it yet.
    let young = index.join("segments/0000/fedcba9876543210fedcba9876543210.seg");
    fs::write(&young, "of a running job").unwrap();

    let all = objects(&index);
    let dry = gc(&["--dry-run"]).ok();
    assert_eq!(
        (&dry["removed"], objects(&index)),
        (&false.into(), all),
        "{dry}"
    );
    let kept = gc(&["--dry-run", "--keep", "3"]).ok();
    assert_eq!(
        (count(&kept, "snapshots"), count(&kept, "retained")),
        (2, 3)
    );
    let older = gc(&["--dry-run", "--older-than", "30d"]).ok();
    assert_eq!(count(&older, "snapshots"), 0);
    assert!(
        count(&kept, "objects") < count(&dry, "objects"),
        "{kept} {dry}"
    );

    let got = gc(&[]).ok();
    assert_eq!(got["snapshots"], dry["snapshots"]);
    assert_eq!(got["objects"], dry["objects"]);
    assert_eq!(count(&got, "snapshots"), 4, "{got}");
    assert_eq!(got["retained"], serde_json::json!([5]));
    assert_eq!(
        objects(&index),
        all - count(&got, "snapshots") - count(&got, "objects")
    );
    assert!(young.exists() && words.exists() && !orphan.exists());
    assert_eq!(limn(&["verify", "--index", text(&index)]).code, 0);
    assert_eq!(search(), before);
    let again = limn(&["gc", "--index", text(&index)]);
    assert!(again.stdout.contains("nothing to remove"), "{again:?}");

    // The next night goes on from there.
    nightly(5);
    assert_eq!(limn(&["verify", "--index", text(&index)]).code, 0);
    let snapshots = limn(&["snapshots", "--index", text(&index), "--json"]).ok();
    assert_eq!(snapshots.as_array().unwrap().len(), 2, "{snapshots}");
}

#[test]
fn what_it_cannot_know_it_does_not_remove() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    let nowhere = limn(&["gc", "--index", text(&index)]);
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    let soon = limn(&["gc", "--index", text(&index), "--older-than", "5m"]);
    assert!(
        soon.code == 2 && soon.stderr.contains("last hour"),
        "{soon:?}"
    );
    lake::write(&lake, "a.csv", "x,y\n1,2\n");
    assert_eq!(index_hashed(&lake, &index, &[]).code, 0);
    lake::write(&lake, "a.csv", "x,y\n1,2\n3,4\n");
    assert_eq!(index_hashed(&lake, &index, &[]).code, 0);
    age(&index, 10);
    // A retained snapshot that is damaged names nobody knows what.
    let older = index.join(limn_segment::Snapshot::path(1));
    let good = fs::read(&older).unwrap();
    fs::write(&older, &good[..good.len() / 2]).unwrap();
    age(&index, 10);
    let all = objects(&index);
    let refused = limn(&["gc", "--index", text(&index), "--keep", "2"]);
    assert!(
        refused.code == 2 && refused.stderr.contains("damaged"),
        "{refused:?}"
    );
    assert_eq!(objects(&index), all);
    // One that is not retained goes like any other.
    assert_eq!(limn(&["gc", "--index", text(&index)]).code, 0);
    assert_eq!(limn(&["verify", "--index", text(&index)]).code, 0);
    assert!(!older.exists());
}

/// What a killed run left and the next one writes again has another name there: garbage that was
/// found beforehand can go at any time.
#[test]
fn what_is_found_to_be_garbage_is_never_wanted_again() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake::varied(&lake);
    assert_eq!(index_hashed(&lake, &index, &[]).code, 0);
    lake::write(&lake, "hr/employees.csv", "name,leave\nAnn,1\nBob,2\n");
    let mut killed = limn_command(&["index", text(&lake), "--index", text(&index)]);
    killed.args(["--embedder", "hashed-words", "--no-compact"]);
    killed.env("LIMN_FAILPOINT", "put-if-absent snapshots/ 1 before");
    assert_ne!(run(&mut killed).code, 0);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = limn_segment::IndexStore::open(text(&index)).unwrap();
    let retention = limn_segment::Retention {
        older_than: Duration::from_secs(3_600),
        keep: 1,
    };
    let later = || chrono::Utc::now().timestamp_millis() + 7_200_000;
    let garbage = runtime.block_on(store.garbage(retention, later())).unwrap();
    let left = garbage.objects.iter();
    let kinds = ["segments/", "catalog/"];
    let is_left = |kind| left.clone().any(|it| it.path.starts_with(kind));
    assert!(kinds.into_iter().all(is_left), "{garbage:?}");
    // The same run again, and only then does that collection remove what it has found.
    assert_eq!(index_hashed(&lake, &index, &["--no-compact"]).code, 0);
    let removed = runtime.block_on(store.remove_garbage(&garbage, &|| {}));
    removed.unwrap();
    let whole = limn(&["verify", "--index", text(&index)]);
    assert_eq!(whole.code, 0, "{whole:?}");
}
