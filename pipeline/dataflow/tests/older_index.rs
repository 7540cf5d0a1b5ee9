//! An index whose catalog has format 1, in which files' summaries have their sketches in JSON: a
//! run goes on from it.

use crate::common;

use std::path::{Path, PathBuf};

use common::Lab;
use limn_pipeline::stages::{column_sketches, kept};
use limn_profile::Redact;
use limn_segment::{IndexStore, TableRecord};

/// The index: made by limn of summary version 12, with `write_the_older_index` below.
fn folder() -> PathBuf {
    // Asked at run time: a target folder shared by several clones keeps the path of one of them.
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    Path::new(&root).join("tests/data/catalog_format_1")
}

/// Orders of a month: 200 of as many customers.
fn orders(month: usize) -> String {
    let first = 200 * month;
    let line = |at: usize| {
        format!(
            "{},c{:03},city {}\n",
            first + at,
            (at + 100 * month) % 500,
            at % 9
        )
    };
    let lines: String = (0..200).map(line).collect();
    format!("id,customer,city\n{lines}")
}

async fn put_lake(lab: &Lab) {
    lab.put("orders/2024-01.csv", &orders(1)).await;
    lab.put("orders/2024-02.csv", &orders(2)).await;
    let contact = |at: usize| format!("{at},ada{at}@example.org,floor {}\n", at % 3);
    let contacts: String = (1..9).map(contact).collect();
    lab.put("contacts.csv", &format!("id,contact,place\n{contacts}"))
        .await;
    let row = |of: &str| {
        let cells: Vec<String> = (0..520).map(|at| format!("{of}{at}")).collect();
        cells.join(",") + "\n"
    };
    lab.put("wide.csv", &["c", "1", "2"].map(row).concat())
        .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes the index with the limn of its day"]
async fn write_the_older_index() {
    let folder = folder();
    let _ = std::fs::remove_dir_all(&folder);
    let mut lab = Lab::new();
    lab.index = IndexStore::open(folder.to_str().unwrap()).unwrap();
    put_lake(&lab).await;
    lab.run().await;
}

/// A copy of the older index that a run may write to.
fn copied(to: &Path) -> IndexStore {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let (from, to) = (
                entry.as_ref().unwrap().path(),
                to.join(entry.unwrap().file_name()),
            );
            match from.is_dir() {
                true => copy(&from, &to),
                false => drop(std::fs::copy(&from, &to).unwrap()),
            }
        }
    }
    copy(&folder(), to);
    IndexStore::open(to.to_str().unwrap()).unwrap()
}

async fn rows(lab: &Lab) -> Vec<TableRecord> {
    let snapshot = lab.index.require_newest().await.unwrap();
    lab.index.tables(&snapshot, None).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_from_an_index_whose_summaries_have_all_in_json() {
    let scratch = tempfile::tempdir().unwrap();
    let mut lab = Lab::new();
    lab.index = copied(scratch.path());
    lab.options.redact = Some(Redact::Marked);
    let older = rows(&lab).await;
    let names: Vec<&str> = older.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["contacts", "orders", "wide"]);
    for row in &older {
        assert_eq!(column_sketches(row).unwrap(), []);
        for file in &row.files {
            let summary = kept(file).unwrap().unwrap();
            assert!(
                summary
                    .columns
                    .iter()
                    .all(|column| !column.profile.frequent.is_empty())
            );
        }
    }
    // What it is described as from the same files now.
    let mut anew = Lab::new();
    anew.options = lab.options.clone();
    put_lake(&anew).await;
    anew.run().await;
    let expected = rows(&anew).await;

    // All but one file can be read no more: their last good versions are the older limn's.
    put_lake(&lab).await;
    for path in ["contacts.csv", "wide.csv", "orders/2024-01.csv"] {
        lab.corrupt(path).await;
    }
    lab.run().await;
    let newer = rows(&lab).await;
    for (newer, expected) in newer.iter().zip(&expected) {
        assert_eq!(newer.columns, expected.columns);
        assert_eq!(newer.sketches, expected.sketches, "{}", expected.name);
        assert!(newer.files.iter().all(|file| !file.sketches.is_empty()));
    }
    let [contacts, orders, wide] = newer.as_slice() else {
        panic!("{} tables", newer.len());
    };
    let columns = |row: &TableRecord| {
        let sketches = column_sketches(row).unwrap().into_iter();
        sketches.map(|it| it.column).collect::<Vec<_>>()
    };
    assert_eq!(
        columns(contacts),
        ["id", "place"],
        "values that are withheld have none"
    );
    assert_eq!(columns(orders), ["id", "customer", "city"]);
    assert_eq!(columns(wide).len(), 520);
}
