//! Every table of three corpora as limn reads it, held against what DuckDB reads there.
//!
//! The corpora lie beside the repository, where they do; DuckDB's figures are kept in
//! `tests/reference/figures.jsonl` (`expected.py` beside it makes them). What limn says otherwise
//! is known, with its reason, in `tests/reference/disagreements.tsv`: the test fails for any other,
//! and for one that is no more. After a change
//! `LIMN_WRITE_DISAGREEMENTS=1 cargo test --release --workspace --test corpora reference --
//! --ignored --nocapture` writes the list anew. Reasons are kept; what is new comes first, below `#
//! ?`, and fails until a reason is written there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use futures::{StreamExt, TryStreamExt, stream};
use limn_formats::{ObjectRecord, ReadOptions, summarise_file};
use limn_lake::{Contexts, layout};
use limn_profile::FileSummary;
use limn_store::Store;
use serde_json::Value;

/// The least share of columns whose type is the reference's, in every corpus.
const AGREED: f64 = 0.98;
const NO_REASON: &str = "?";

/// What a table holds, as somebody reads it.
#[derive(Debug, PartialEq, Eq)]
struct Table {
    rows: u64,
    /// A class and a number of nulls for each column.
    columns: Vec<(String, u64)>,
}

/// What the two say of one matter: `table, matter, limn, reference`, between tabs.
type Disagreement = String;

fn root() -> PathBuf {
    // Asked of cargo at run time: a target folder shared by several clones keeps the path of one.
    let lake = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs the tests");
    Path::new(&lake).join("../..")
}

fn kept(name: &str) -> PathBuf {
    root().join("tests/reference").join(name)
}

/// `2*text integer` as its three words.
fn repeated(runs: &str) -> Vec<String> {
    runs.split(' ')
        .flat_map(|run| match run.split_once('*') {
            Some((times, word)) => vec![word.to_owned(); times.parse().unwrap()],
            None => vec![run.to_owned()],
        })
        .collect()
}

/// The reference's tables by corpus and name.
fn reference() -> BTreeMap<String, Table> {
    let text = fs::read_to_string(kept("figures.jsonl")).unwrap();
    // The first line is about the run.
    let lines = text.lines().skip(1);
    let table = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let words = |field: &str| repeated(line[field].as_str().unwrap());
        let nulls = words("nulls").into_iter().map(|n| n.parse().unwrap());
        let table = Table {
            rows: line["rows"].as_u64().unwrap(),
            columns: words("types").into_iter().zip(nulls).collect(),
        };
        (line["table"].as_str().unwrap().to_owned(), table)
    };
    lines.map(table).collect()
}

/// A corpus's tables as limn reads them, by corpus and name.
async fn read(corpus: &str) -> Vec<(String, Table)> {
    let folder = root().join("../shared/corpora").join(corpus).join("tables");
    let store = Store::open(folder.to_str().unwrap()).unwrap();
    let listed: Vec<_> = store.list("").try_collect().await.unwrap();
    let objects: limn_formats::Objects = listed.into_iter().map(ObjectRecord::from).collect();
    let found = layout(objects, &Contexts::new(), corpus);
    assert!(found.refused.is_empty(), "{:?}", found.refused);
    let files = found.groups().flat_map(|group| group.files);
    let (store, options) = (&store, &ReadOptions::default());
    let tables = stream::iter(files).map(|file| async move {
        let summary = summarise_file(store, &file.data_file(), options).await;
        let summary = summary.unwrap_or_else(|error| panic!("{corpus} is not read: {error}"));
        (format!("{corpus}/{}", file.table_name), table(&summary))
    });
    tables.buffered(4).collect().await
}

fn table(summary: &FileSummary) -> Table {
    assert!(summary.rows_exact, "the corpora's files fit the budget");
    let columns = summary.columns.iter();
    Table {
        rows: summary.rows,
        columns: columns
            .map(|column| (column.data_type.to_string(), column.profile.nulls))
            .collect(),
    }
}

/// What the two say differently of a table, and of how many columns they say the same type.
fn compare(name: &str, ours: &Table, theirs: &Table) -> (Vec<Disagreement>, usize) {
    let mut found = Vec::new();
    let mut note = |matter: &str, ours: &dyn ToString, theirs: &dyn ToString| {
        found.push([name, matter, &ours.to_string(), &theirs.to_string()].join("\t"));
    };
    if ours.columns.len() != theirs.columns.len() {
        note("columns", &ours.columns.len(), &theirs.columns.len());
        return (found, 0);
    }
    if ours.rows != theirs.rows {
        note("rows", &ours.rows, &theirs.rows);
    }
    let mut agreed = 0;
    for (i, (ours_of, theirs_of)) in ours.columns.iter().zip(&theirs.columns).enumerate() {
        if ours_of.0 == theirs_of.0 {
            agreed += 1;
        } else {
            note(&format!("type of {}", i + 1), &ours_of.0, &theirs_of.0);
        }
        // Rows that one of them leaves out are noted once.
        if ours.rows == theirs.rows && ours_of.1 != theirs_of.1 {
            note(&format!("nulls of {}", i + 1), &ours_of.1, &theirs_of.1);
        }
    }
    (found, agreed)
}

/// The known disagreements and their reasons: a reason's line begins with `#`, what it is the
/// reason of follows.
fn known() -> BTreeMap<Disagreement, String> {
    let text = fs::read_to_string(kept("disagreements.tsv")).unwrap_or_default();
    let mut reason = NO_REASON;
    let mut known = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("# ") {
            Some(next) => reason = next,
            None => _ = known.insert(line.to_owned(), reason.to_owned()),
        }
    }
    known
}

fn write(found: &BTreeSet<Disagreement>, known: &BTreeMap<Disagreement, String>) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for disagreement in found {
        let reason = known.get(disagreement).map_or(NO_REASON, String::as_str);
        by_reason.entry(reason).or_default().push(disagreement);
    }
    let mut text = String::new();
    // Those without a reason first.
    let first = by_reason.remove_entry(NO_REASON);
    for (reason, lines) in first.into_iter().chain(by_reason) {
        writeln!(text, "# {reason}\n{}\n", lines.join("\n")).unwrap();
    }
    fs::write(kept("disagreements.tsv"), text.trim_end().to_owned() + "\n").unwrap();
}

#[tokio::test]
#[ignore = "needs ../shared/corpora"]
async fn tables_are_read_as_the_reference_reads_them() {
    let reference = reference();
    let mut found = BTreeSet::new();
    let mut read_tables = BTreeSet::new();
    for corpus in ["adventureworks", "public_bi", "rdatasets"] {
        let (mut columns, mut agreed, mut same_rows, mut shares) = (0, 0, 0, Vec::new());
        for (name, ours) in read(corpus).await {
            let theirs = &reference[&name];
            let (new, of_table) = compare(&name, &ours, theirs);
            same_rows += usize::from(ours.rows == theirs.rows);
            columns += theirs.columns.len();
            agreed += of_table;
            shares.push(of_table as f64 / theirs.columns.len() as f64);
            found.extend(new);
            read_tables.insert(name);
        }
        let share = agreed as f64 / columns as f64;
        let tables = shares.len();
        println!(
            "{corpus}: {tables} tables, {same_rows} with the reference's row count; {agreed} of {columns} columns of its type ({:.2} %; {:.2} % of a table's, on average)",
            100.0 * share,
            100.0 * shares.iter().sum::<f64>() / tables as f64,
        );
        assert!(share >= AGREED, "{corpus}: {share} of the columns agree");
    }
    let missing: Vec<_> = reference
        .keys()
        .filter(|it| !read_tables.contains(*it))
        .collect();
    assert!(missing.is_empty(), "not read: {missing:?}");

    if std::env::var_os("LIMN_WRITE_DISAGREEMENTS").is_some() {
        write(&found, &known());
    }
    let known = known();
    let new = found.iter().filter(|it| !known.contains_key(*it));
    let missing = known.keys().filter(|it| !found.contains(*it));
    let unreasoned = known.iter().filter(|(_, reason)| *reason == NO_REASON);
    let mut wrong = String::new();
    for (what, lines) in [
        ("new", new.collect::<Vec<_>>()),
        ("no more", missing.collect()),
        ("without a reason", unreasoned.map(|(it, _)| it).collect()),
    ] {
        for line in lines {
            writeln!(wrong, "{what}: {line}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "see the head of this test\n{wrong}");
}
