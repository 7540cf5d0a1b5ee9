//! Tables are found by values that a column has many of.

use std::path::Path;

use limn_segment::{IndexStore, SegmentReader, TableValues};
use limn_tests::{index_hashed, lake, limn, text};
use serde_json::Value;
use tempfile::TempDir;

fn lines(header: &str, rows: std::ops::Range<usize>, row: impl Fn(usize) -> String) -> String {
    let rows: String = rows.map(|at| row(at) + "\n").collect();
    format!("{header}\n{rows}")
}

/// Codes that have letters and digits, in no order.
fn code(at: usize) -> String {
    format!("ACME-{:05}", at * 7919 % 100_000)
}

/// A day's export: too few values for a list of their own.
fn write_export(root: &Path, day: usize) {
    let rows = lines("parcel,carrier,weight", day * 30..(day + 1) * 30, |at| {
        let carrier = ["Cargo Nord", "Post", "Rabe"][at % 3];
        format!("PX{:06}-K,{carrier},{}.5", at * 7919 % 1_000_000, at % 40)
    });
    lake::write(
        root,
        &format!("exports/parcels/2025-01-{:02}.csv", day + 1),
        &rows,
    );
}

fn parcel(day: usize, row: usize) -> String {
    format!("PX{:06}-K", (day * 30 + row) * 7919 % 1_000_000)
}

/// A lake of customers in two files, of daily exports, and of tables whose codes look alike.
fn write_lake(root: &Path) {
    let customers = |part: usize| {
        let rows = part * 2000..(part + 1) * 2000;
        lines("customer_code,name,balance", rows, |at| {
            let letters = ["Ba", "Do", "Fi", "Gu", "Ke", "La", "Mo", "Ne"];
            let syllable = |by: usize| letters[at / by % 8].to_lowercase();
            let name = format!("{}{}{}sen", letters[at % 8], syllable(8), syllable(64));
            format!("{},Anna {name}{},{}.5", code(at), syllable(512), at)
        })
    };
    lake::write(root, "crm/customers/2024.csv", &customers(0));
    lake::write(root, "crm/customers/2025.csv", &customers(1));
    (0..20).for_each(|day| write_export(root, day));
    for other in 0..6 {
        let rows = lines("code,amount,note", 0..300, |at| {
            format!("ACME-{other}-{at},{at},acme note {at}")
        });
        lake::write(root, &format!("sales/orders_{other}.csv"), &rows);
    }
}

fn ask(index: &Path, question: &str) -> Value {
    limn(&["search", "--index", text(index), "--json", question]).ok()
}

fn first(answer: &Value) -> (&str, Vec<&str>) {
    let hit = &answer["results"][0];
    let exact = hit["exact"].as_array().into_iter().flatten();
    (
        hit["table"].as_str().unwrap_or_default(),
        exact.filter_map(Value::as_str).collect(),
    )
}

/// The hashes of all tables, in the order of their names.
fn values(index: &Path) -> Vec<(String, TableValues)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let index = IndexStore::open(text(index)).unwrap();
        let snapshot = index.require_newest().await.unwrap();
        let mut all = Vec::new();
        for entry in &snapshot.segments {
            let reader = SegmentReader::open(&index.store, entry).await.unwrap();
            let deletes = index.deletes(entry).await.unwrap();
            for (at, table) in (0..).zip(reader.tables().iter()) {
                if !deletes.contains(table.first_block) {
                    all.push((table.key.name.to_owned(), reader.table_values(at).unwrap()));
                }
            }
        }
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all
    })
}

#[test]
fn a_value_among_thousands_finds_its_table_and_names_its_column() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    write_lake(&lake);
    index_hashed(&lake, &index, &[]).code_is(0);
    for at in [1, 1999, 2000, 3777] {
        let written = code(at);
        for question in [
            format!("which table has customer {written}"),
            written.to_lowercase().replace('-', " "),
            written.clone(),
        ] {
            let answer = ask(&index, &question);
            let (table, exact) = first(&answer);
            assert_eq!(table, "crm/customers", "{question}");
            let is_shown = |it: &&str| it.ends_with("in customer_code");
            assert!(exact.iter().any(is_shown), "{question}: {exact:?}");
        }
    }
    for (day, row) in (0..20).map(|day| (day, day * 11 % 30)) {
        let value = parcel(day, row);
        let answer = ask(&index, &format!("where is {value}"));
        let found = (first(&answer).0, first(&answer).1.join(", "));
        assert_eq!(
            found,
            ("exports/parcels", format!("code {value} in parcel"))
        );
    }
    let answer = ask(&index, "balance of Anna Badofisenba");
    assert_eq!(
        first(&answer),
        ("crm/customers", vec!["value Anna Badofisenba in name"])
    );
    // Nobody has it.
    let answer = ask(&index, "which table has customer ACME-99999X");
    let notes = answer["notes"].to_string();
    assert!(notes.contains("ACME-99999X"), "{notes}");

    let without = scratch.path().join("without");
    index_hashed(&lake, &without, &["--values", "off"]).code_is(0);
    assert!(values(&without).iter().all(|(_, it)| it.is_empty()));
    let answer = ask(
        &without,
        &format!("which table has customer {}", code(1999)),
    );
    assert_eq!(first(&answer).1, [""; 0]);
}

#[test]
fn a_run_that_reads_one_file_keeps_the_values_of_the_others() {
    let scratch = TempDir::new().unwrap();
    let at = |name: &str| scratch.path().join(name);
    let (lake, index) = (at("lake"), at("index"));
    write_lake(&lake);
    index_hashed(&lake, &index, &["--no-compact"]).code_is(0);
    let more = lines("customer_code,name,balance", 0..500, |at| {
        format!("NEW-{at:05},Bert {at},{at}.5")
    });
    lake::write(&lake, "crm/customers/2026.csv", &more);
    std::fs::remove_file(lake.join("sales/orders_3.csv")).unwrap();
    write_export(&lake, 20);
    let update = index_hashed(&lake, &index, &["--no-compact"]).ok();
    assert_eq!(update["objects"]["read"], 2, "{update}");
    for (value, table) in [
        (code(1999), "crm/customers"),
        ("NEW-00321".to_owned(), "crm/customers"),
        (parcel(3, 17), "exports/parcels"),
        (parcel(20, 17), "exports/parcels"),
    ] {
        let answer = ask(&index, &format!("orders of customer {value}"));
        assert_eq!(first(&answer).0, table, "{value}");
    }
    // A build from scratch, by other workers and into other shards, has the same, and so has what
    // compaction makes of it.
    let anew = at("anew");
    let more = ["--workers", "3", "--shards", "3"];
    index_hashed(&lake, &anew, &more).code_is(0);
    assert_eq!(values(&index), values(&anew));
    assert!(values(&anew).iter().any(|(_, it)| !it.is_empty()));
    limn(&["compact", "--index", text(&index), "--full"]).code_is(0);
    assert_eq!(values(&index), values(&anew));
    let asked = format!("orders of customer {}", code(3777));
    let answers = [&index, &anew].map(|index| ask(index, &asked)["results"].clone());
    assert_eq!(answers[0], answers[1]);
    limn(&["verify", "--index", text(&index)]).code_is(0);
}

#[test]
fn values_that_are_withheld_are_in_no_list() {
    let scratch = TempDir::new().unwrap();
    let (lake, index) = (scratch.path().join("lake"), scratch.path().join("index"));
    let people = lines("member_code,email,remark", 0..600, |at| {
        // One remark in twenty holds an address.
        let remark = match at % 20 {
            0 => format!("write to ada{at}@example.org"),
            _ => format!("remark {at:05}"),
        };
        format!("M-{at:05},person{at}@example.org,{remark}")
    });
    lake::write(&lake, "people.csv", &people);
    index_hashed(&lake, &index, &["--redact", "marked"]).code_is(0);
    let (_, held) = values(&index).remove(0);
    let names: Vec<&str> = held.columns.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["member_code", "remark"]);
    let exact = |question: &str| {
        let answer = ask(&index, question);
        first(&answer).1.join(", ")
    };
    assert_eq!(exact("who is M-00441"), "code M-00441 in member_code");
    assert_eq!(exact("\"remark 00441\""), "value remark 00441 in remark");
    assert_eq!(exact("\"person441@example.org\""), "");
    assert_eq!(exact("\"write to ada440@example.org\""), "");

    // Nor are those that stand in paths.
    for at in 0..200 {
        let path = format!("parts/owner=person{at}@example.org/unit=U{at:04}/a.csv");
        lake::write(&lake, &path, "n\n1\n");
    }
    index_hashed(&lake, &index, &["--redact", "marked"]).code_is(0);
    let held = values(&index);
    let (_, held) = held.iter().find(|it| it.0 == "parts").unwrap();
    let names: Vec<&str> = held.columns.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["unit"]);
    assert_eq!(exact("where is U0123"), "code U0123 in unit");

    index_hashed(&lake, &index, &["--redact", "all-values"]).code_is(0);
    assert!(values(&index).iter().all(|(_, it)| it.is_empty()));
}
