//! Redaction: values that are not to be kept are nowhere in what is made of a lake, and stay away
//! until somebody says so.

use std::fs;
use std::path::Path;

use limn_segment::{IndexStore, SegmentReader, Sketches, TableRecord};
use limn_tests::{index_hashed, limn, text};
use serde_json::json;
use tempfile::TempDir;

/// Values that nobody may find, in lower case without punctuation that a text may lose. None is
/// so short that a time or a hash of the catalog has its digits by chance.
const SECRETS: &[&str] = &[
    "ada.lovelace",
    "grace.hopper",
    "30 901820",
    "4111 1111",
    "4111111111111111",
    "078-05-1120",
    "hunter2",
    "katherine",
    "desk@lake",
];

fn write(lake: &Path, name: &str, content: &str) {
    let path = lake.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Customers whose columns are described by names, by values, in nested fields and in folders'
/// names.
fn lake(lake: &Path) {
    write(
        lake,
        "customers.csv",
        "id,city,contact,phone,card_number,password\n\
         1,Bern,ada.lovelace@example.org,+49 30 901820,4111 1111 1111 1111,hunter2\n\
         2,Lyon,grace.hopper@example.org,+49 30 901821,4111111111111111,hunter22\n\
         3,Rome,,,,\n\nSource: the desk of katherine\n",
    );
    write(
        lake,
        "visits.csv",
        "day,remark\n\
         2020-01-02,write to <desk@lake.example> please\n\
         2020-01-03,all well; desk@lake.example knows\n",
    );
    write(
        lake,
        "staff.jsonl",
        "{\"number\": 1, \"ssn\": \"078-05-1120\", \"floor\": \"ground\"}\n{\"number\": 2, \"ssn\": \"078-05-1121\", \"floor\": \"upper\"}\n",
    );
    for name in ["katherine.johnson", "ada.lovelace"] {
        write(
            lake,
            &format!("letters/email={name}@example.org/part.csv"),
            "day,words\n2020-01-02,120\n2020-01-03,80\n",
        );
    }
}

/// Everything that the index says of tables: rows of the catalog, texts, and whose vectors there
/// are.
fn everything(index: &Path) -> (Vec<TableRecord>, String) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let index = IndexStore::open(text(index)).unwrap();
        let snapshot = index.require_newest().await.unwrap();
        let tables = index.tables(&snapshot, None).await.unwrap();
        let mut all = serde_json::to_string(&tables).unwrap();
        for table in &tables {
            let files = table.files.iter().map(|file| &file.sketches);
            for sketch in files.chain([&table.sketches]).flat_map(Sketches::list) {
                // The first of a column's values is there as it is.
                all += &String::from_utf8_lossy(&sketch.unwrap_or_default());
            }
        }
        for entry in &snapshot.segments {
            let segment = SegmentReader::open(&index.store, entry).await.unwrap();
            let deletes = index.deletes(entry).await.unwrap();
            for block in (0..segment.block_count()).filter(|block| !deletes.contains(*block)) {
                all.push('\n');
                all.push_str(&segment.text(block).unwrap());
            }
        }
        (tables, all.to_lowercase())
    })
}

/// Which secrets the index has, but for the paths of files, which are what they are.
fn found(index: &Path) -> Vec<&'static str> {
    let (_, mut all) = everything(index);
    for name in ["katherine.johnson", "ada.lovelace"] {
        all = all.replace(&format!("email={name}@example.org"), "");
        all = all.replace(&format!("email={name}%40example.org"), "");
    }
    let secrets = SECRETS.iter().copied();
    secrets.filter(|secret| all.contains(secret)).collect()
}

fn column<'a>(
    tables: &'a [TableRecord],
    table: &str,
    name: &str,
) -> &'a limn_segment::ColumnRecord {
    let table = tables.iter().find(|it| it.name == table).unwrap();
    table.columns.iter().find(|it| it.name == name).unwrap()
}

#[test]
fn values_of_sensitive_columns_are_nowhere_until_somebody_says_so() {
    let folder = TempDir::new().unwrap();
    let (lake_path, index) = (folder.path().join("lake"), folder.path().join("index"));
    lake(&lake_path);
    let first = index_hashed(&lake_path, &index, &["--redact", "marked"]).ok();
    assert_eq!(
        first["notes"],
        json!([]),
        "nothing is kept that one could keep out"
    );
    assert_eq!(found(&index), [""; 0]);
    let (tables, all) = everything(&index);
    for (table, name, kind, distinct) in [
        ("customers", "contact", "e-mail", 2),
        ("customers", "phone", "phone", 2),
        ("customers", "card_number", "payment card", 2),
        ("customers", "password", "secret", 2),
        ("staff", "ssn", "national id", 2),
        ("visits", "remark", "e-mail", 2),
    ] {
        let column = column(&tables, table, name);
        assert_eq!(column.sensitive.as_deref(), Some(kind), "{table}.{name}");
        assert!(column.withheld && column.frequent.is_empty() && column.min.is_none());
        assert_eq!((column.distinct, column.distinct_exact), (distinct, true));
    }
    assert!(column(&tables, "letters", "email").withheld);
    // The others are as they were.
    for value in ["bern", "lyon", "ground", "upper"] {
        assert!(all.contains(value), "{value}");
    }
    let city = column(&tables, "customers", "city");
    assert!(!city.withheld && city.sensitive.is_none() && city.frequent.len() == 3);
    // What a person and a program are shown.
    let index_text = text(&index);
    let shown = limn(&["show", "customers", "--index", index_text]);
    assert!(
        shown.stdout.contains("sensitive (e-mail), withheld"),
        "{shown:?}"
    );
    assert!(
        !SECRETS.iter().any(|it| shown.stdout.contains(it)),
        "{shown:?}"
    );
    let answer = limn(&[
        "search",
        "hunter2 ada.lovelace",
        "--index",
        index_text,
        "--json",
    ]);
    // Its notes repeat the question's own words.
    let said = answer.json()["results"].to_string();
    assert!(!said.contains("hunter2"), "{answer:?}");

    // A run without the option changes nothing, and one after a change of the lake keeps to it.
    let again = index_hashed(&lake_path, &index, &[]).ok();
    assert_eq!(
        again["tables"]["changed"].as_u64().unwrap_or(0),
        0,
        "{again}"
    );
    write(
        &lake_path,
        "staff.jsonl",
        "{\"number\": 3, \"ssn\": \"078-05-1120\", \"floor\": \"third\"}\n",
    );
    index_hashed(&lake_path, &index, &[]).code_is(0);
    assert_eq!(found(&index), [""; 0]);
    assert!(everything(&index).1.contains("third"));

    // With it they come back; and go again, also those of a file that cannot be read any more.
    let got = index_hashed(&lake_path, &index, &["--redact", "off"]).ok();
    assert_eq!(found(&index), SECRETS);
    assert_eq!(
        got["notes"],
        json!([
            "values of sensitive columns are in the index: 7 columns of 4 tables (3 e-mail, 1 national id, 1 payment card, 1 phone, 1 secret; customers, letters, staff, …); --redact marked keeps them out, and limn show TABLE names the columns"
        ])
    );
    // Once: what an index has and has reported is not reported again.
    let unchanged = index_hashed(&lake_path, &index, &[]).ok();
    assert_eq!(unchanged["notes"], json!([]));
    // People read it in one line.
    let shown = limn(&[
        "index",
        text(&lake_path),
        "--index",
        text(&folder.path().join("shown")),
        "--embedder",
        "hashed-words",
    ]);
    let lines = shown.stdout.lines();
    let notes: Vec<&str> = lines.filter(|line| line.starts_with("note: ")).collect();
    assert_eq!(notes.len(), 1, "{shown:?}");
    assert!(
        notes[0].contains("7 columns of 4 tables") && notes[0].contains("--redact marked"),
        "{notes:?}"
    );
    let contact = everything(&index).0;
    let contact = column(&contact, "customers", "contact");
    assert!(contact.sensitive.as_deref() == Some("e-mail") && !contact.withheld);
    write(&lake_path, "customers.csv", "\0\0\0 not a table \0");
    index_hashed(&lake_path, &index, &["--redact", "marked"]).code_is(1);
    assert_eq!(found(&index), [""; 0]);
    assert!(
        everything(&index).1.contains("lyon"),
        "its last good version"
    );
}

#[test]
fn an_index_without_any_values_finds_tables_by_their_names() {
    let folder = TempDir::new().unwrap();
    let (lake_path, index) = (folder.path().join("lake"), folder.path().join("index"));
    lake(&lake_path);
    write(&lake_path, "staff.md", "Who works on which floor.\n");
    index_hashed(&lake_path, &index, &["--redact", "all-values"]).code_is(0);
    let (tables, all) = everything(&index);
    assert!(
        tables
            .iter()
            .all(|table| table.columns.iter().all(|column| column.withheld))
    );
    for value in ["bern", "lyon", "ground", "upper", "hunter2", "2020-01-02"] {
        assert!(!all.contains(value), "{value}");
    }
    let floor = limn(&[
        "search",
        "works on which floor",
        "--index",
        text(&index),
        "--json",
    ]);
    let floor = floor.ok();
    assert!(floor.to_string().contains("\"staff\""), "{floor}");
    // The same index, however it came to be.
    let anew = folder.path().join("anew");
    index_hashed(&lake_path, &anew, &["--redact", "off"]).code_is(0);
    index_hashed(&lake_path, &anew, &["--redact", "all-values"]).code_is(0);
    let sorted = |index: &Path| {
        let (tables, _) = everything(index);
        let columns = tables
            .into_iter()
            .map(|table| (table.name, table.columns, table.sample));
        let mut columns: Vec<_> = columns.collect();
        columns.sort_by(|a, b| a.0.cmp(&b.0));
        columns
    };
    assert_eq!(sorted(&index), sorted(&anew));
}

#[test]
fn values_of_a_table_that_is_held_back_are_removed_as_well() {
    let folder = TempDir::new().unwrap();
    let (lake_path, index) = (folder.path().join("lake"), folder.path().join("index"));
    lake(&lake_path);
    write(&lake_path, "old.csv", "day,words\n2020-01-02,120\n");
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 3600);
    let old = fs::File::options();
    let old = old.clone().append(true).open(lake_path.join("old.csv"));
    old.unwrap().set_modified(hours_ago).unwrap();
    index_hashed(&lake_path, &index, &["--redact", "off"]).code_is(0);
    assert_eq!(found(&index), SECRETS);
    let run = index_hashed(
        &lake_path,
        &index,
        &["--redact", "marked", "--older-than", "1h"],
    );
    let report = run.ok();
    assert_eq!(found(&index), [""; 0], "{report}");
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("do not reach") && notes.contains("--redact marked withholds"),
        "{notes}"
    );
    let (tables, _) = everything(&index);
    let contact = column(&tables, "customers", "contact");
    assert!(contact.withheld && contact.distinct == 2);
}

/// Texts without a header, JSON whose keys are addresses, numbers that are secrets, and an address
/// among other values.
fn lake_of_people(lake: &Path) {
    write(
        lake,
        "members.csv",
        "ada.lovelace@example.org,Lovelace\ngrace.hopper@example.org,Hopper\nemmy@example.org,Noether\n",
    );
    write(
        lake,
        "seats.jsonl",
        "{\"grace.hopper@example.org\": {\"row\": 3}, \"row\": 1}\n{\"ada.lovelace@example.org\": {\"row\": 4}, \"row\": 2}\n",
    );
    write(
        lake,
        "devices.csv",
        "id,password,api_key,pin,has_pin\n1,4111,901820,4111,1\n2,90182055,41112,9018,0\n",
    );
    let desks: String = (10..40).map(|at| format!("desk {at},{at}\n")).collect();
    write(
        lake,
        "contacts/day_1.csv",
        "contact,n\nada.lovelace@example.org,1\ngrace.hopper@example.org,2\n",
    );
    write(
        lake,
        "contacts/day_2.csv",
        &format!("contact,n\n{desks}ada.lovelace@example.org,1\n"),
    );
    write(
        lake,
        "surnames.csv",
        "Katherine,Johnson\nDorothy,Vaughan\nMary,Jackson\n",
    );
}

#[test]
fn values_in_the_place_of_names_and_bounds_are_nowhere() {
    let folder = TempDir::new().unwrap();
    let (lake_path, index) = (folder.path().join("lake"), folder.path().join("index"));
    lake_of_people(&lake_path);
    index_hashed(&lake_path, &index, &["--redact", "marked"]).code_is(0);
    // Names of persons have no form: `marked` does not look for them.
    assert_eq!(found(&index), ["katherine"]);
    let (tables, all) = everything(&index);
    for name in ["password", "api_key", "pin"] {
        let column = column(&tables, "devices", name);
        let got = (column.sensitive.as_deref(), column.withheld);
        assert_eq!(got, (Some("secret"), true), "{name}");
    }
    assert!(!column(&tables, "devices", "has_pin").withheld);
    assert!(column(&tables, "members", "column_1").withheld);
    assert_eq!(
        tables.iter().find(|it| it.name == "members").unwrap().rows,
        Some(3)
    );
    assert!(column(&tables, "contacts", "contact").withheld);
    for kept in ["noether", "desk 17"] {
        assert!(all.contains(kept), "{kept}");
    }

    index_hashed(&lake_path, &index, &["--redact", "all-values"]).code_is(0);
    assert_eq!(found(&index), [""; 0]);
    let (tables, all) = everything(&index);
    for name in ["johnson", "noether", "desk 17"] {
        assert!(!all.contains(name), "{name}");
    }
    // What is surely a name, and what says nothing of anybody, stays.
    for (table, name) in [
        ("devices", "api_key"),
        ("contacts", "contact"),
        ("surnames", "column_2"),
    ] {
        assert!(column(&tables, table, name).withheld, "{table}.{name}");
    }
}

#[test]
fn a_setting_that_is_not_known_is_refused() {
    let folder = TempDir::new().unwrap();
    let (lake_path, index) = (folder.path().join("lake"), folder.path().join("index"));
    lake(&lake_path);
    index_hashed(&lake_path, &index, &["--redact", "marked"]).code_is(0);
    let publish = |name: &str, value: &str| {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let index = IndexStore::open(text(&index)).unwrap();
            let mut next = index.require_newest().await.unwrap().next();
            let lakes = next.settings["lakes"].as_object_mut().unwrap();
            lakes.values_mut().next().unwrap()[name] = value.into();
            index.publish(&next).await.unwrap();
        });
    };
    for (name, value) in [("redact", "strict"), ("keep_out", "birthdays")] {
        // The last good value again, then another setting that is not known.
        if name != "redact" {
            publish("redact", "marked");
        }
        publish(name, value);
        for got in [&[][..], &["--redact", "off"]] {
            let run = index_hashed(&lake_path, &index, got);
            run.code_is(2);
            let expected = if name == "redact" { value } else { name };
            assert!(
                run.stderr.contains(expected) && run.stderr.contains("does not understand"),
                "{run:?}"
            );
        }
        assert_eq!(found(&index), [""; 0]);
        // Questions are answered as before.
        let answer = limn(&[
            "search",
            "customers in Bern",
            "--index",
            text(&index),
            "--json",
        ]);
        assert!(answer.ok().to_string().contains("customers"));
    }
}
