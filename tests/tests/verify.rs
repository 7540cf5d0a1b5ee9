//! `limn verify`: what is damaged, missing or does not fit is found, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use limn_tests::{Run, index_hashed, lake, limn, text};
use tempfile::TempDir;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn verify(index: &Path) -> Run {
    limn(&["verify", "--index", text(index), "--json"])
}

#[test]
fn a_flipped_bit_or_a_missing_object_anywhere_is_found() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake::varied(&lake);
    // One shard: the scratch folder's name decides which tables share one of several.
    assert_eq!(index_hashed(&lake, &index, &["--shards", "1"]).code, 0);
    // A second run leaves deleted blocks behind.
    lake::write(&lake, "hr/employees.csv", "name,leave\nAnn,3\n");
    assert_eq!(index_hashed(&lake, &index, &[]).code, 0);
    let whole = verify(&index).ok();
    assert_eq!(whole["problems"], serde_json::json!([]), "{whole}");
    assert!(whole["tables"].as_u64().unwrap() > 3 && whole["blocks"].as_u64().unwrap() > 3);
    assert_eq!(whole["snapshot"], 2);

    let named: Vec<PathBuf> = ["segments", "catalog", "deletes"]
        .iter()
        .flat_map(|folder| files(&index.join(folder)))
        .collect();
    assert!(named.len() >= 5, "{named:?}");
    let mut found = 0;
    for path in &named {
        let good = fs::read(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let is_found = |what: &str| {
            let run = verify(&index);
            let got = run.stdout.contains(name);
            assert!(run.code == 1 || !got, "{what}: {run:?}");
            assert!(run.code < 2, "{what}: {run:?}");
            assert_eq!(run.code == 1, got, "{what}: {run:?}");
            got
        };
        fs::remove_file(path).unwrap();
        // The first snapshot's own delete bitmaps and segments without a live block are not the
        // second's.
        if is_found("missing") {
            found += 1;
            for at in [0, good.len() / 3, good.len() / 2, good.len() - 1] {
                let mut bad = good.clone();
                bad[at] ^= 4;
                fs::write(path, &bad).unwrap();
                assert!(is_found("flipped"), "byte {at} of {name}");
            }
            fs::write(path, &good[..good.len() / 2]).unwrap();
            assert!(is_found("cut short"), "{name}");
        }
        fs::write(path, &good).unwrap();
    }
    assert!(found >= 4, "{found} of {}", named.len());
    let whole = limn(&["verify", "--index", text(&index)]);
    assert!(
        whole.code == 0 && whole.stdout.contains("as it was written"),
        "{whole:?}"
    );
    let first = limn(&["verify", "--index", text(&index), "--snapshot", "1"]);
    assert_eq!(first.code, 0, "{first:?}");
    let none = limn(&["verify", "--index", text(&index), "--snapshot", "9"]);
    assert!(
        none.code == 2 && none.stderr.contains("limn snapshots"),
        "{none:?}"
    );
}

#[test]
fn a_catalog_that_does_not_fit_its_segments_is_found() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake::varied(&lake);
    assert_eq!(index_hashed(&lake, &index, &[]).code, 0);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = limn_segment::IndexStore::open(text(&index)).unwrap();
        let newest = store.require_newest().await.unwrap();
        // A catalog file that a snapshot has lost: its tables' blocks are nobody's.
        let mut next = newest.next();
        let lost = next.catalog.pop().unwrap();
        store.publish(&next).await.unwrap();
        let got = store.verify(&next, &|_| {}).await.unwrap();
        assert!(
            !got.problems.is_empty() && got.problems[0].error.contains("live blocks"),
            "{got:?}"
        );
        // A segment that it has lost: tables whose blocks are nowhere.
        let mut next = next.next();
        next.catalog.push(lost);
        let missing = next.segments.remove(0);
        store.publish(&next).await.unwrap();
        let got = store.verify(&next, &|_| {}).await.unwrap();
        assert!(!got.problems.is_empty(), "{got:?}");
        for problem in &got.problems {
            assert!(problem.error.contains(&missing.path), "{problem:?}");
        }
        // Deleted blocks of a table that is there.
        let mut next = next.next();
        next.segments.insert(0, missing);
        let mut deletes = limn_segment::Deletes::none();
        deletes.delete_table(0, 1);
        next.segments[0].deletes = store.put_deletes(&deletes).await.unwrap();
        store.publish(&next).await.unwrap();
        let got = store.verify(&next, &|_| {}).await.unwrap();
        assert!(
            got.problems[0].error.contains("is its and deleted"),
            "{got:?}"
        );
    });
}

#[test]
fn a_damaged_newest_snapshot_stops_nobody_and_is_set_aside() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake::write(&lake, "a.csv", "city,rain\nBonn,1\n");
    assert_eq!(index_hashed(&lake, &index, &["--no-compact"]).code, 0);
    lake::write(&lake, "b.csv", "river,length\nRhine,1233\n");
    assert_eq!(index_hashed(&lake, &index, &["--no-compact"]).code, 0);
    let newest = index.join(limn_segment::Snapshot::path(2));
    let good = fs::read(&newest).unwrap();
    let numbers = || {
        let got = limn(&["snapshots", "--index", text(&index), "--json"]).ok();
        let numbers = got.as_array().unwrap().iter().map(|it| &it["snapshot"]);
        numbers.map(|it| it.as_u64().unwrap()).collect::<Vec<u64>>()
    };
    for bad in [&[][..], &good[..good.len() / 2]] {
        fs::write(&newest, bad).unwrap();
        // What there was before is answered from, and a line says so.
        for command in [
            vec!["search", "rain in a city", "--index", text(&index)],
            vec!["tables", "--index", text(&index)],
            vec!["snapshots", "--index", text(&index)],
        ] {
            let run = limn(&command);
            assert_eq!(run.code, 0, "{run:?}");
            assert!(run.stderr.contains("damaged"), "{run:?}");
            assert!(!run.stdout.contains("river"), "{run:?}");
        }
        let found = verify(&index);
        assert_eq!(found.code, 1, "{found:?}");
        assert!(
            found.stdout.contains("18446744073709551613.json"),
            "{found:?}"
        );
        // What it names is not known, so nothing may go.
        let refused = limn(&["gc", "--index", text(&index)]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(
            refused.stderr.contains("limn verify --repair"),
            "{refused:?}"
        );
    }
    // The next run goes on from the first, and publishes what the second did, and its number stays
    // taken.
    assert_eq!(index_hashed(&lake, &index, &["--no-compact"]).code, 0);
    assert_eq!(numbers(), [3, 1]);
    let run = limn(&[
        "search",
        "length of a river",
        "--index",
        text(&index),
        "--json",
    ]);
    assert_eq!(run.ok()["results"][0]["table"], "b", "{run:?}");
    let repaired = limn(&["verify", "--index", text(&index), "--repair", "--json"]).ok();
    assert_eq!(repaired["set_aside"], serde_json::json!([2]), "{repaired}");
    assert_eq!(repaired["problems"], serde_json::json!([]), "{repaired}");
    assert!(!newest.exists() && newest.with_extension("json.damaged").exists());
    assert_eq!(limn(&["gc", "--index", text(&index)]).code, 0);
    let whole = limn(&["verify", "--index", text(&index)]);
    assert_eq!(whole.code, 0, "{whole:?}");
    assert!(!whole.stderr.contains("damaged"), "{whole:?}");
    let both = limn(&[
        "verify",
        "--index",
        text(&index),
        "--repair",
        "--snapshot",
        "1",
    ]);
    assert_eq!(both.code, 2, "{both:?}");
}

/// The next run reads the tables of a damaged catalog file again, and `--repair` leaves it out.
#[test]
fn a_damaged_catalog_file_costs_the_next_run_its_tables_alone() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake::write(&lake, "a.csv", "city,rain\nBonn,1\n");
    let options = ["--no-compact", "--shards", "1"];
    assert_eq!(index_hashed(&lake, &index, &options).code, 0);
    for (version, repairs) in [(1, false), (2, true)] {
        let river = format!("river,length\nRhine,{version}\nKwai,{version}\n");
        lake::write(&lake, "b.csv", &river);
        assert_eq!(index_hashed(&lake, &index, &options).code, 0);
        // Their names count down.
        let newest = fs::read(&files(&index.join("snapshots"))[0]).unwrap();
        let snapshot: serde_json::Value = serde_json::from_slice(&newest).unwrap();
        let file = snapshot["catalog"].as_array().unwrap().last().unwrap();
        let file = file["path"].as_str().unwrap();
        let good = fs::read(index.join(file)).unwrap();
        fs::write(index.join(file), &good[..good.len() / 2]).unwrap();
        let search = ["search", "length of a river", "--index", text(&index)];
        let refused = limn(&["show", "b", "--index", text(&index)]);
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains("`limn index`"), "{refused:?}");
        assert_eq!(verify(&index).code, 1);

        if repairs {
            let repaired = limn(&["verify", "--index", text(&index), "--repair", "--json"]);
            let said = &repaired.stderr;
            assert!(said.contains(file) && said.contains(text(&lake)), "{said}");
            let json = repaired.ok();
            assert_eq!(json["left_out"].as_array().unwrap().len(), 1, "{json}");
            assert_eq!(json["problems"], serde_json::json!([]), "{json}");
            assert!(!limn(&search).stdout.contains("Kwai"));
        }
        let run = index_hashed(&lake, &index, &options);
        let run = run.ok();
        assert_eq!(run["objects"]["read"], 1, "{run}");
        let notes = run["notes"].as_array().unwrap().iter();
        let notes = notes.filter_map(|note| note.as_str());
        let notes: Vec<&str> = notes.filter(|it| it.contains("is damaged")).collect();
        assert_eq!(notes.len(), usize::from(!repairs), "{run}");
        assert!(notes.iter().all(|it| it.contains(file)), "{run}");
        assert_eq!(verify(&index).code, 0);
        let found = limn(&[&search[..], &["--json"]].concat()).ok();
        assert_eq!(found["results"][0]["table"], "b", "{found}");
    }
}

/// A snapshot that somebody made names a file elsewhere: it is damaged, and that file is not read.
#[test]
fn a_snapshot_with_a_path_out_of_the_index_is_refused() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    lake::write(&lake, "a.csv", "city,rain\nBonn,1\n");
    assert_eq!(index_hashed(&lake, &index, &[]).code, 0);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let store = limn_segment::IndexStore::open(text(&index)).unwrap();
        let newest = store.require_newest().await.unwrap();
        // The same segment, whole, but outside.
        let outside = scratch.path().join("outside.seg");
        fs::copy(index.join(&newest.segments[0].path), &outside).unwrap();
        let mut entry = newest.segments[0].clone();
        for path in [text(&outside), "segments/../../outside.seg"] {
            entry.path = path.to_owned();
            let opened = limn_segment::SegmentReader::open(&store.store, &entry).await;
            let error = opened.unwrap_err().to_string();
            assert!(error.contains("outside the folder"), "{error}");
        }
        let mut hostile = newest.next();
        hostile.segments[0].path = text(&outside).to_owned();
        store.publish(&hostile).await.unwrap();
    });
    let run = limn(&["search", "rain", "--index", text(&index)]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.contains("damaged"), "{run:?}");
}
