//! Tables that have logs, written by their own reference writers, and of Hudi by its specification
//! (`tests/lakehouse`): after every step of random histories limn has the rows that these writers
//! read, nothing of rows that are deleted, and what an index made from scratch has.

mod damaged;

use std::env::home_dir;
use std::fs;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use limn_tests::answers::everything;
use limn_tests::catalog::CatalogServer;
use limn_tests::{index_hashed, limn, repository, text};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::lakehouse_files::assert_nested;

/// A writer of a lake's tables, which keeps on for many steps.
pub(crate) struct Writer {
    script: String,
    child: Child,
    steps: ChildStdin,
    tables: Lines<BufReader<ChildStdout>>,
}

impl Writer {
    /// Starts a script of `tests/lakehouse`.
    pub(crate) fn start(script: &str, lake: &Path, seed: u64) -> Writer {
        Writer::start_with(script, lake, seed, &[])
    }

    fn start_with(script: &str, lake: &Path, seed: u64, environment: &[(&str, &str)]) -> Writer {
        let tools = home_dir().unwrap().join(".cache/limn/python");
        let mut child = Command::new("python3")
            .arg(repository().join("tests/lakehouse").join(script))
            .arg(lake)
            .arg(seed.to_string())
            .env("PYTHONPATH", tools)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TZ", "UTC")
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let steps = child.stdin.take().unwrap();
        let tables = BufReader::new(child.stdout.take().unwrap()).lines();
        Writer {
            script: script.to_owned(),
            child,
            steps,
            tables,
        }
    }

    /// Takes the tables a step further; what their writer reads of them.
    pub(crate) fn step(&mut self, number: u64) -> Value {
        writeln!(self.steps, "{number}").unwrap();
        let Some(line) = self.tables.next() else {
            let ended = self.child.wait();
            panic!("{} ended at step {number}: {ended:?}", self.script);
        };
        serde_json::from_str(&line.unwrap()).unwrap()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes the tables of a lake, as the first step of a history; what their writer reads of them.
pub(crate) fn make(script: &str, lake: &Path, seed: u64) -> Value {
    Writer::start(script, lake, seed).step(0)
}

fn sql(index: &Path, statement: &str) -> Vec<Value> {
    let answer = limn(&["sql", statement, "--index", text(index), "--json"]).ok();
    answer["rows"][0].as_array().unwrap().clone()
}

fn number(value: &Value) -> f64 {
    match value {
        Value::String(text) => text.parse().unwrap(),
        other => other.as_f64().unwrap_or_default(),
    }
}

/// Holds the rows of a table against what its writer reads.
pub(crate) fn assert_rows(index: &Path, table: &str, expected: &Value) {
    let columns = expected["columns"].as_object().unwrap();
    let is_nested = |it: &(&String, &Value)| it.1[0] == "nested";
    let (nested, plain): (Vec<_>, Vec<_>) = columns.iter().partition(is_nested);
    for (name, expected) in nested {
        assert_nested(index, (table, name), expected);
    }
    let checks = plain.iter().map(|(name, expected)| {
        let check = match expected[0].as_str().unwrap() {
            "number" => format!("sum(\"{name}\")"),
            "time" => format!("sum(CAST(date_part('epoch', \"{name}\") AS BIGINT))"),
            _ => format!("min(\"{name}\") || '..' || max(\"{name}\")"),
        };
        format!(", count(\"{name}\"), {check}")
    });
    let checks: String = checks.collect();
    // All in one statement: each is a process of its own.
    let row = sql(index, &format!("SELECT count(*){checks} FROM \"{table}\""));
    assert_eq!(row[0], expected["rows"], "{table}");
    for ((name, expected), found) in plain.iter().zip(row[1..].chunks(2)) {
        let message = format!("{table}.{name}: {found:?}, and {expected} by its writer");
        assert_eq!(found[0], expected[1], "{message}");
        match (expected[0].as_str(), expected[1].as_u64()) {
            (_, Some(0)) => {}
            (Some("text"), _) => assert_eq!(found[1], expected[2], "{message}"),
            _ => {
                let (ours, theirs) = (number(&found[1]), number(&expected[2]));
                let is_near = (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0);
                assert!(is_near, "{message}");
            }
        }
    }
    let shown = limn(&["show", table, "--index", text(index), "--json"]).ok();
    assert_eq!(shown[0]["rows"], expected["rows"], "{table}");
    let names = shown[0]["columns"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|it| it["name"].as_str().unwrap()).collect();
    let mut wanted: Vec<&String> = columns.keys().collect();
    wanted.sort();
    let mut found = names;
    found.sort_unstable();
    assert_eq!(found, wanted, "{table}");
    let shown = shown.to_string();
    for word in expected["deleted"].as_array().unwrap() {
        let word = word.as_str().unwrap();
        assert!(
            !shown.contains(word),
            "{table} shows {word}, which is deleted"
        );
    }
    if let Some(word) = expected["deleted"][0].as_str() {
        let found = limn(&["search", word, "--index", text(index), "--json"]).ok();
        let mut results = found["results"].as_array().unwrap().iter();
        let own = results
            .find(|it| it["table"] == table)
            .map(Value::to_string);
        assert!(
            !own.as_ref().is_some_and(|own| own.contains(word)),
            "{word} is deleted, and found: {own:?}"
        );
    }
}

/// A history of tables, followed step by step.
fn followed(script: &str, seed: u64, steps: u64) {
    let folder = TempDir::new().unwrap();
    let lake = folder.path().join("lake");
    fs::create_dir(&lake).unwrap();
    let mut writer = Writer::start(script, &lake, seed);
    follow(&lake, folder.path(), steps, &mut writer);
}

pub(crate) fn follow(lake: &Path, folder: &Path, steps: u64, writer: &mut Writer) {
    let index = folder.join("index");
    for number in 0..=steps {
        let expected = writer.step(number);
        let report = index_hashed(lake, &index, &[]).ok();
        assert_eq!(report["failures"], json!([]), "{report}");
        let listed = limn(&["tables", "--index", text(&index), "--json"]).ok();
        let listed = listed
            .as_array()
            .or(listed["tables"].as_array())
            .unwrap()
            .clone();
        let names: Vec<&str> = listed
            .iter()
            .map(|it| it["table"].as_str().unwrap())
            .collect();
        let tables = expected.as_object().unwrap();
        assert_eq!(names, tables.keys().map(String::as_str).collect::<Vec<_>>());
        for (table, expected) in tables {
            assert_rows(&index, table, expected);
        }
        let again = index_hashed(lake, &index, &[]).ok();
        assert_eq!(again["objects"]["read"], 0, "nothing has changed: {again}");
    }
    let scratch = folder.join("scratch");
    index_hashed(lake, &scratch, &[]).code_is(0);
    assert_eq!(everything(&index), everything(&scratch));
}

#[test]
fn delta_tables_are_what_their_log_says() {
    for seed in [1, 2] {
        followed("delta_tables.py", seed, 8);
    }
}

#[test]
fn iceberg_tables_are_what_their_metadata_says() {
    for seed in [1, 2] {
        followed("iceberg_tables.py", seed, 8);
    }
}

#[test]
fn hudi_tables_are_what_their_timeline_says() {
    for seed in [1, 2, 3] {
        followed("hudi_tables.py", seed, 8);
    }
}

/// What waits in files of changes is said of the table, and merged nowhere.
#[test]
fn changes_that_hudi_has_not_compacted_are_counted() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    fs::create_dir(&lake).unwrap();
    make("hudi_tables.py", &lake, 1);
    let merged = lake.join("merged6");
    let base = fs::read_dir(&merged).unwrap();
    let base = base.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let base = base.max().unwrap();
    let parts: Vec<&str> = base.trim_end_matches(".parquet").split('_').collect();
    for changes in [
        format!(".{}_{}.log.1_0-1-0", parts[0], parts[2]),
        format!(".other-0_{}.log.1_0-1-0", parts[2]),
    ] {
        fs::write(merged.join(changes), "#HUDI#").unwrap();
    }
    index_hashed(&lake, &index, &[]).ok();
    let shown = limn(&["show", "merged6", "--index", text(&index), "--json"]).ok();
    let notes = shown[0]["notes"].to_string();
    for words in [
        "2 files of changes (.log) are not merged",
        "of 1 file group there is no base file yet",
        "_hoodie_commit_time and the like",
    ] {
        assert!(notes.contains(words), "{words}: {notes}");
    }
    assert_eq!(shown[0]["format"], "hudi", "{shown}");
}

/// A version that limn does not know leaves the table as it was.
#[test]
fn a_hudi_table_of_an_unknown_version_stays_as_it_was() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    fs::create_dir(&lake).unwrap();
    let expected = make("hudi_tables.py", &lake, 2);
    index_hashed(&lake, &index, &[]).ok();
    let properties = lake.join("plain/.hoodie/hoodie.properties");
    let written = fs::read_to_string(&properties).unwrap();
    let newer = written.replace("hoodie.table.version=6", "hoodie.table.version=10");
    fs::write(&properties, newer).unwrap();
    let run = index_hashed(&lake, &index, &[]);
    run.code_is(1);
    let failures = run.json()["failures"].to_string();
    assert!(failures.contains("version 10 of Hudi"), "{failures}");
    assert_rows(&index, "plain", &expected["plain"]);
}

#[test]
fn iceberg_tables_of_a_catalog_are_what_it_says() {
    for seed in [1, 2] {
        let server = CatalogServer::start();
        let tables = server.folder.path().join("tables");
        fs::create_dir(&tables).unwrap();
        let environment = [("CATALOG_URI", server.endpoint())];
        let lake = server.location();
        let mut writer = Writer::start_with("iceberg_tables.py", &tables, seed, &environment);
        follow(Path::new(&lake), server.folder.path(), 8, &mut writer);
    }
}

/// The commits of a table, in order.
pub(crate) fn commits(table: &Path) -> Vec<std::path::PathBuf> {
    let found = fs::read_dir(table.join("_delta_log")).unwrap();
    let found = found.map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = found
        .filter(|it| it.extension().is_some_and(|it| it == "json"))
        .collect();
    found.sort();
    found
}

/// The actions of a commit of one kind.
pub(crate) fn actions(commit: &Path, kind: &str) -> Vec<Value> {
    let text = fs::read_to_string(commit).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| line.get(kind).cloned()).collect()
}

pub(crate) fn commit(table: &Path, number: usize, actions: &[Value]) -> std::path::PathBuf {
    let lines: Vec<String> = actions.iter().map(Value::to_string).collect();
    let path = table.join(format!("_delta_log/{number:020}.json"));
    fs::write(&path, lines.join("\n")).unwrap();
    path
}

/// Two numbers as a deletion vector in an object: its length, the vector, and its checksum.
fn vector(rows: &[u16]) -> Vec<u8> {
    let mut bytes = 1_681_511_377_u32.to_le_bytes().to_vec();
    bytes.extend(1_u64.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    // A bitmap of one array: its cookie, its key and length, and where it begins.
    bytes.extend([12_346_u32, 1].map(u32::to_le_bytes).concat());
    bytes.extend([0, rows.len() as u16 - 1].map(u16::to_le_bytes).concat());
    bytes.extend(16_u32.to_le_bytes());
    bytes.extend(rows.iter().flat_map(|row| row.to_le_bytes()));
    let length = (bytes.len() as u32).to_be_bytes();
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&bytes);
    [
        &[1][..],
        &length,
        &bytes,
        &checksum.finalize().to_be_bytes(),
    ]
    .concat()
}

/// What this writer cannot write: columns that have other names in files, and rows that a
/// vector deletes.
#[test]
fn mapped_columns_and_deletion_vectors_are_read() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    fs::create_dir(&lake).unwrap();
    let expected = make("delta_tables.py", &lake, 4);
    index_hashed(&lake, &index, &[]).ok();
    let plain = lake.join("plain");
    let first = commits(&plain).pop().unwrap();
    let (mut metadata, add) = (
        actions(&first, "metaData").remove(0),
        actions(&first, "add").remove(0),
    );
    let mut schema: Value =
        serde_json::from_str(metadata["schemaString"].as_str().unwrap()).unwrap();
    let fields = schema["fields"].as_array_mut().unwrap();
    fields.retain(|field| field["name"] != "rate");
    for (id, field) in (1..).zip(fields.iter_mut()) {
        let stored = field["name"].clone();
        field["metadata"] = json!({"delta.columnMapping.id": id, "delta.columnMapping.physicalName": stored, "comment": "Renamed"});
        if stored == "name" {
            field["name"] = json!("called");
        }
    }
    metadata["schemaString"] = json!(schema.to_string());
    metadata["configuration"] = json!({"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9",
        "delta.enableDeletionVectors": "true"});
    let features = ["columnMapping", "deletionVectors"];
    let protocol = json!({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}});
    let bytes = vector(&[0, 3, 59]);
    fs::write(plain.join("deletes.bin"), &bytes).unwrap();
    let mut deleted = add.clone();
    let place = format!("file://{}", plain.join("deletes.bin").display());
    deleted["deletionVector"] = json!({"storageType": "p", "pathOrInlineDv": place, "offset": 1,
        "sizeInBytes": bytes.len() - 9, "cardinality": 3});
    let remove =
        json!({"remove": {"path": add["path"], "dataChange": true, "deletionTimestamp": 1}});
    commit(
        &plain,
        1,
        &[
            protocol,
            json!({"metaData": metadata}),
            remove,
            json!({"add": deleted}),
        ],
    );
    // However few rows went: a deleted one is in no sample and text.
    let report = index_hashed(&lake, &index, &["--resample-threshold", "0.9"]).ok();
    assert_eq!(report["objects"]["read"], 1, "{report}");
    let rows = sql(
        &index,
        "SELECT count(*), count(called), min(id), max(id), count(DISTINCT id) FROM plain",
    );
    assert_eq!(json!(rows[..1]), json!([57]), "{rows:?}");
    assert_eq!(json!(rows[2..]), json!([1, 58, 57]), "{rows:?}");
    let shown = limn(&["show", "plain", "--index", text(&index), "--json"]).ok();
    let names: Vec<&str> = shown[0]["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["id", "called", "amount", "day", "at", "region", "secret"]
    );
    assert_eq!(shown[0]["rows"], 57);
    assert!(
        !shown.to_string().contains("doomed000003"),
        "row 3 is deleted"
    );
    // Another name of a column has no file read again.
    fs::write(first.with_file_name(format!("{:020}.json", 2)), json!({"metaData": {
        "id": metadata["id"], "format": metadata["format"], "partitionColumns": [], "configuration": metadata["configuration"],
        "schemaString": metadata["schemaString"].as_str().unwrap().replace("called", "known_as")}}).to_string()).unwrap();
    let report = index_hashed(&lake, &index, &[]).ok();
    assert_eq!(report["objects"]["read"], 0, "{report}");
    let rows = sql(&index, "SELECT count(known_as) FROM plain");
    assert!(
        rows[0].as_u64().unwrap() > 40,
        "{rows:?} of {}",
        expected["plain"]["rows"]
    );
}
