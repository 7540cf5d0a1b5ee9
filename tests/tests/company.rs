//! The made-up company's lake of `tests/bench/company.py`: large and messy enough, the same each
//! time, and its questions name tables that it has. How well limn finds them is measured by the
//! script itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use limn_tests::{repository, text};
use serde_json::Value;
use tempfile::TempDir;

fn make(folder: &Path, seed: &str) -> Value {
    let script = repository().join("tests/bench/company.py");
    let made = Command::new("python3")
        .arg(script)
        .args(["make", text(folder), "--seed", seed])
        // Their writers name files anew each time.
        .arg("--without-lakehouse")
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let got = fs::read_to_string(format!("{}.tables.json", text(folder))).unwrap();
    serde_json::from_str(&got).unwrap()
}

fn files(folder: &Path, below: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{below}/{}", entry.file_name().to_string_lossy());
        match entry.file_type().unwrap().is_dir() {
            true => files(&entry.path(), &path, found),
            false => {
                found.insert(path, fs::read(entry.path()).unwrap());
            }
        }
    }
}

#[test]
fn the_companys_lake_is_messy_and_the_same_each_time() {
    let scratch = TempDir::new().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let got = make(&at("one"), "28");
    make(&at("two"), "28");
    make(&at("other"), "29");
    let [one, two, other] = ["one", "two", "other"].map(|name| {
        let mut found = BTreeMap::new();
        files(&at(name), "", &mut found);
        found
    });
    assert!(one == two, "one seed, one lake");
    assert!(one != other && one.keys().eq(other.keys()));
    assert!(one.len() > 900, "{} files", one.len());
    let tables = got["accepted"].as_object().unwrap();
    assert!(tables.len() >= 150, "{} tables", tables.len());

    let questions = repository().join("tests/bench/company_lake/questions.jsonl");
    let questions = fs::read_to_string(questions).unwrap();
    let questions: Vec<Value> = questions
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(questions.len(), 60);
    for question in &questions {
        let gold = question["tables"].as_array().unwrap();
        let is_known = |table: &Value| tables.contains_key(table.as_str().unwrap());
        assert!(gold.iter().all(is_known), "{question}");
        assert_eq!(gold.is_empty(), question["category"] == "unanswerable");
    }
}
