//! Odd files: a lake of all of them is indexed at once. Each is a table with the expected columns
//! and rows, or one clear line; whatever one is like, all others are as they should be, within
//! memory and time.

mod archived;
mod databases;
mod delimited;
mod encoded;
mod hostile;
mod json;
mod maps;
mod named;
mod packed;
mod plain;
mod sheets;
mod typed;

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use limn_segment::{IndexStore, TableRecord};
use limn_tests::{index_hashed_command, measured, text};
use tempfile::TempDir;

/// Memory of the run: the model, the dataflow, and 256 MiB of lake data.
const MOST_MEMORY: u64 = 768 << 20;
/// Time of the run.
const MOST_TIME: Duration = Duration::from_secs(300);

/// A file, and what is expected of it.
struct Odd {
    path: String,
    content: Vec<u8>,
    /// What follows the file's path where the expectation is of something within it:
    /// `//member.csv`.
    within: &'static str,
    expected: Expected,
}

enum Expected {
    /// Columns as `id:integer name:text`, and rows; with words of a note of the file, where one is
    /// expected.
    Table {
        columns: String,
        rows: u64,
        note: &'static str,
    },
    /// The words of the one line that says why it cannot be read.
    Refused(&'static str),
    /// No table, and nothing to say.
    Ignored,
}

/// A file that is a table.
fn reads(path: &str, content: impl Into<Vec<u8>>, columns: &str, rows: u64) -> Odd {
    noted(path, content, columns, rows, "")
}

/// A file that is a table, with something to say.
fn noted(
    path: &str,
    content: impl Into<Vec<u8>>,
    columns: &str,
    rows: u64,
    note: &'static str,
) -> Odd {
    Odd {
        path: path.to_owned(),
        content: content.into(),
        within: "",
        expected: Expected::Table {
            columns: columns.to_owned(),
            rows,
            note,
        },
    }
}

/// A file that cannot be read.
fn refuses(path: &str, content: impl Into<Vec<u8>>, why: &'static str) -> Odd {
    Odd {
        path: path.to_owned(),
        content: content.into(),
        within: "",
        expected: Expected::Refused(why),
    }
}

impl Odd {
    /// The same of a member of the file.
    fn within(mut self, member: &'static str) -> Odd {
        self.within = member;
        self
    }
}

/// A file that is nobody's business.
fn ignores(path: &str, content: impl Into<Vec<u8>>) -> Odd {
    Odd {
        path: path.to_owned(),
        content: content.into(),
        within: "",
        expected: Expected::Ignored,
    }
}

/// All of them, each in a folder of its own: neighbours would make families.
fn all() -> BTreeMap<String, Odd> {
    let kinds = [
        archived::files(),
        databases::files(),
        delimited::files(),
        encoded::files(),
        hostile::files(),
        json::files(),
        maps::files(),
        named::files(),
        packed::files(),
        plain::files(),
        sheets::files(),
        typed::files(),
    ];
    let files = kinds.into_iter().flatten().enumerate();
    let placed = files.map(|(number, odd)| (format!("{number:03}/{}", odd.path), odd));
    placed.collect()
}

#[test]
fn every_odd_file_is_read_well_or_reported_in_one_line() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("odd.limn"));
    let odd = all();
    assert!(odd.len() >= 150, "{} files", odd.len());
    for (path, file) in &odd {
        let place = lake.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, &file.content).unwrap();
    }
    let begun = Instant::now();
    let (run, memory) = measured(&index_hashed_command(&lake, &index, &[]));
    let took = begun.elapsed();
    assert_eq!(
        run.code, 1,
        "some cannot be read, none stops the run: {run:?}"
    );
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    assert!(took < MOST_TIME, "took {took:?}");
    assert!(memory < MOST_MEMORY, "took {} MiB", memory >> 20);

    let report = run.json();
    let failures: BTreeMap<&str, &str> = report["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            (
                it["object"].as_str().unwrap(),
                it["error"].as_str().unwrap(),
            )
        })
        .collect();
    let tables = tables(&index);
    let mut amiss = Vec::new();
    for (path, file) in &odd {
        let path = &format!("{path}{}", file.within);
        let table = tables.get(path.as_str());
        // The listing reports names with control characters by their whole path, in a line.
        let shown = path.replace(char::is_control, " ");
        let mut by_place = failures
            .iter()
            .filter(|(object, _)| object.ends_with(&shown));
        let failure = failures
            .get(path.as_str())
            .or(by_place.next().map(|(_, line)| line));
        if let Some(wrong) = what_is_wrong(&file.expected, table, failure) {
            amiss.push(format!("{path}: {wrong}"));
        }
    }
    let refused = odd
        .values()
        .filter(|it| matches!(it.expected, Expected::Refused(_)));
    assert_eq!(
        failures.len(),
        refused.count() + amiss.len(),
        "{failures:#?}\n{amiss:#?}"
    );
    assert!(
        amiss.is_empty(),
        "{} of {}:\n{}",
        amiss.len(),
        odd.len(),
        amiss.join("\n")
    );
    println!("{} files in {took:?}, {} MiB", odd.len(), memory >> 20);
}

fn what_is_wrong(
    expected: &Expected,
    table: Option<&TableRecord>,
    failure: Option<&&str>,
) -> Option<String> {
    match (expected, table.filter(|it| it.error.is_none()), failure) {
        (
            Expected::Table {
                columns,
                rows,
                note,
            },
            Some(table),
            None,
        ) => {
            let found: Vec<String> = table
                .columns
                .iter()
                .map(|column| format!("{}:{}", column.name, column.data_type))
                .collect();
            let found = found.join(" ");
            let notes = table.files[0].summary.as_deref().unwrap_or_default();
            let wrong = found != *columns || table.rows != Some(*rows) || !notes.contains(note);
            let file = notes.chars().rev().take(300).collect::<Vec<_>>();
            let file: String = file.into_iter().rev().collect();
            wrong.then(|| {
                format!(
                    "{columns}, {rows} rows, '{note}' expected; is {found}, {:?} rows: …{file}",
                    table.rows
                )
            })
        }
        (Expected::Refused(why), None, Some(failure)) => {
            let is_clear = failure.contains(why)
                && failure.contains("; ")
                && failure.lines().count() == 1
                && failure.len() < 600;
            (!is_clear).then(|| format!("'{why}' expected in: {failure}"))
        }
        (Expected::Ignored, None, None) => None,
        (_, table, failure) => {
            let name = table.map(|table| &table.name);
            Some(format!("is table {name:?} with failure {failure:?}"))
        }
    }
}

/// The tables by the path of their one file.
fn tables(index: &std::path::Path) -> BTreeMap<String, TableRecord> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let index = IndexStore::open(text(index)).unwrap();
        let snapshot = index.require_newest().await.unwrap();
        let tables = index.tables(&snapshot, None).await.unwrap();
        let by_path = tables.into_iter().filter_map(|table| {
            let path = table.files.first()?.path.clone();
            Some((path, table))
        });
        by_path.collect()
    })
}
