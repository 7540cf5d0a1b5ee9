//! Logs that cannot be read, and what is read of them again.

use super::*;

/// Writes over a file so that nothing but its content shows it.
fn overwrite(path: &Path, byte: u8) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let mut file = fs::File::options().write(true).open(path).unwrap();
    let size = file.metadata().unwrap().len();
    file.write_all(&vec![byte; size as usize]).unwrap();
    file.set_modified(modified).unwrap();
}

/// The log of a table that is as it was is not read again, and a commit more has it read.
#[test]
fn a_log_that_is_as_it_was_is_not_read() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    fs::create_dir(&lake).unwrap();
    make("delta_tables.py", &lake, 4);
    index_hashed(&lake, &index, &[]).ok();
    let first = commits(&lake.join("plain")).pop().unwrap();
    overwrite(&first, b'?');
    let again = index_hashed(&lake, &index, &[]).ok();
    assert_eq!(again["failures"], json!([]), "{again}");
    assert_eq!(again["objects"]["read"], 0, "{again}");
    commit(&lake.join("plain"), 1, &[json!({"commitInfo": {}})]);
    let read = index_hashed(&lake, &index, &[]);
    read.code_is(1);
    assert!(read.stdout.contains("plain/_delta_log"), "{read:?}");
}

/// What filters leave out of a table comes back once they do not, though its log is as it was.
#[test]
fn other_filters_have_a_log_read_again() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    fs::create_dir(&lake).unwrap();
    let expected = make("delta_tables.py", &lake, 5);
    let north = ["--exclude", "sales/parted/region=north/**"];
    index_hashed(&lake, &index, &north).ok();
    let rows = || number(&sql(&index, "SELECT count(*) FROM \"sales/parted\"")[0]);
    let all = number(&expected["sales/parted"]["rows"]);
    assert!(rows() < all);
    index_hashed(&lake, &index, &["--no-filters"]).ok();
    assert_rows(&index, "sales/parted", &expected["sales/parted"]);
    index_hashed(&lake, &index, &north).ok();
    assert!(rows() < all);
}

/// Where an index has the files of a table as tables, as limn had them before it read logs, the
/// table takes their place: with the contexts registered for them, a line in the run's notes, and
/// one line in the diff.
#[test]
fn a_table_takes_the_place_of_its_files() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    let contexts = folder.path().join("contexts.jsonl");
    fs::create_dir(&lake).unwrap();
    make("iceberg_tables.py", &lake, 4);
    // Without its metadata it is a heap of files.
    let (metadata, aside) = (lake.join("plain/metadata"), folder.path().join("metadata"));
    fs::rename(&metadata, &aside).unwrap();
    let mut data = fs::read_dir(lake.join("plain/data")).unwrap();
    let data = data.next().unwrap().unwrap().file_name();
    let data = data.to_str().unwrap().trim_end_matches(".parquet");
    let data = format!("plain/data/{data}");
    let context = json!({"table": data, "context": "The ledger of zanzibar"});
    fs::write(&contexts, context.to_string()).unwrap();
    index_hashed(&lake, &index, &["--contexts", text(&contexts)]).ok();
    let known = limn(&["show", &data, "--index", text(&index), "--json"]).ok();
    assert!(known.to_string().contains("zanzibar"), "{known}");

    fs::rename(&aside, &metadata).unwrap();
    let joined = index_hashed(&lake, &index, &[]).ok();
    let notes = joined["notes"].as_array().unwrap();
    let note = notes[0].as_str().unwrap();
    assert!(
        note.contains("such as 'plain', in place of 1 table"),
        "{note}"
    );
    let shown = limn(&["show", "plain", "--index", text(&index), "--json"]).ok();
    assert!(shown.to_string().contains("zanzibar"), "{shown}");
    let diff = limn(&["diff", "--index", text(&index), "--json"]).ok();
    assert_eq!(diff["vanished"], json!([]), "{diff}");
    let appeared = diff["appeared"].as_array().unwrap();
    assert_eq!(appeared.len(), 1, "{diff}");
    assert_eq!(appeared[0]["table"], json!("plain"), "{diff}");
    assert_eq!(appeared[0]["replaces"], json!([data]), "{diff}");
}

/// What is wrong with one table costs that table nothing but what is new, and others nothing.
#[test]
fn a_log_that_cannot_be_read_leaves_its_table_as_it_was() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    fs::create_dir(&lake).unwrap();
    let expected = make("delta_tables.py", &lake, 3);
    index_hashed(&lake, &index, &[]).ok();
    let plain = lake.join("plain");
    let first = commits(&plain).pop().unwrap();
    let add = actions(&first, "add").remove(0);
    let with = |changes: &[(&str, Value)]| {
        let mut add = add.clone();
        changes
            .iter()
            .for_each(|(name, value)| add[*name] = value.clone());
        json!({"add": add})
    };
    let future = json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7,
        "readerFeatures": ["timeMachine"], "writerFeatures": ["timeMachine"]}});
    for (number, action, words) in [
        (1, future, "timeMachine"),
        (
            1,
            with(&[("path", json!("gone.parquet"))]),
            "is not there, such as plain/gone.parquet",
        ),
        (
            1,
            with(&[("path", json!("file:///etc/passwd"))]),
            "outside of the lake",
        ),
        (1, json!("half of a commi"), "log is broken"),
        (7, with(&[("path", json!("x.parquet"))]), "_delta_log"),
    ] {
        let bad = commit(&plain, number, &[action]);
        let run = index_hashed(&lake, &index, &[]);
        run.code_is(1);
        let report = run.json();
        let failures = report["failures"].as_array().unwrap();
        assert_eq!(failures.len(), 1, "{report}");
        let error = failures[0]["error"].as_str().unwrap();
        assert!(
            error.contains(words) && error.contains("plain/_delta_log"),
            "{error}"
        );
        for (table, expected) in expected.as_object().unwrap() {
            let rows = limn(&["show", table, "--index", text(&index), "--json"]).ok();
            assert_eq!(rows[0]["rows"], expected["rows"], "{table}: {error}");
        }
        fs::remove_file(bad).unwrap();
    }
    index_hashed(&lake, &index, &[]).ok();
    assert_rows(&index, "plain", &expected["plain"]);
}
