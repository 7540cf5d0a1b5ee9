//! Tables that have logs, written by their own reference writers (`tests/lakehouse`): after every step of random histories limn has
//! the rows that these writers read, nothing of rows that are deleted, and what an index made from scratch has.

use std::env::home_dir;
use std::fs;
use std::path::Path;
use std::process::Command;

use limn_tests::answers::everything;
use limn_tests::{index_hashed, limn, repository, text};
use serde_json::Value;
use tempfile::TempDir;

/// Takes the tables of a lake a step further; what their writer reads of them.
fn step(writer: &str, lake: &Path, seed: u64, number: u64) -> Value {
    let tools = home_dir().unwrap().join(".cache/limn/python");
    let done = Command::new("python3")
        .arg(repository().join("tests/lakehouse").join(writer))
        .arg(lake)
        .args([seed.to_string(), number.to_string()])
        .env("PYTHONPATH", tools)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{writer}: {errors}");
    serde_json::from_slice(&done.stdout).unwrap()
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
fn assert_rows(index: &Path, table: &str, expected: &Value) {
    let columns = expected["columns"].as_object().unwrap();
    for (name, expected) in columns {
        let check = match expected[0].as_str().unwrap() {
            "number" => format!("sum(\"{name}\")"),
            "time" => format!("sum(CAST(date_part('epoch', \"{name}\") AS BIGINT))"),
            _ => format!("min(\"{name}\") || '..' || max(\"{name}\")"),
        };
        let statement = format!("SELECT count(*), count(\"{name}\"), {check} FROM \"{table}\"");
        let row = sql(index, &statement);
        let told = format!("{table}.{name}: {row:?}, and {expected} by its writer");
        assert_eq!(row[1], expected[1], "{told}");
        match (expected[0].as_str(), expected[1].as_u64()) {
            (_, Some(0)) => {}
            (Some("text"), _) => assert_eq!(row[2], expected[2], "{told}"),
            _ => {
                let (ours, theirs) = (number(&row[2]), number(&expected[2]));
                let is_near = (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0);
                assert!(is_near, "{told}");
            }
        }
    }
    let rows = sql(index, &format!("SELECT count(*) FROM \"{table}\""));
    assert_eq!(rows[0], expected["rows"], "{table}");
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
    for word in expected["gone"].as_array().unwrap() {
        let word = word.as_str().unwrap();
        assert!(
            !shown.contains(word),
            "{table} shows {word}, which is deleted"
        );
    }
    if let Some(word) = expected["gone"][0].as_str() {
        let found = limn(&["search", word, "--index", text(index), "--json"]).ok();
        let mut results = found["results"].as_array().unwrap().iter();
        let own = results.find(|it| it["table"] == table).map(Value::to_string);
        assert!(
            !own.as_ref().is_some_and(|own| own.contains(word)),
            "{word} is deleted, and found: {own:?}"
        );
    }
}

/// A history of tables, followed step by step.
fn followed(writer: &str, seed: u64, steps: u64) {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    fs::create_dir(&lake).unwrap();
    for number in 0..=steps {
        let expected = step(writer, &lake, seed, number);
        let report = index_hashed(&lake, &index, &[]).ok();
        assert_eq!(report["failures"], serde_json::json!([]), "{report}");
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
        let again = index_hashed(&lake, &index, &[]).ok();
        assert_eq!(again["objects"]["read"], 0, "nothing has changed: {again}");
    }
    let scratch = folder.path().join("scratch");
    index_hashed(&lake, &scratch, &[]).code_is(0);
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
