//! Texts about several tables: each table has its part, and a change of one part is a change of its
//! table alone.

use crate::common;

use std::collections::BTreeSet;

use common::Lab;
use common::narrated::records;
use limn_lake::TableName;
use limn_pipeline::Scope;

/// A package of two described tables, as their columns' descriptions say.
fn package(orders: &str, people: &str) -> String {
    let resource = |path: &str, text: &str| {
        format!(
            r#"{{"path": "{path}", "schema": {{"fields": [{{"name": "id", "description": "{text}"}}]}}}}"#
        )
    };
    let (orders, people) = (
        resource("orders.csv", orders),
        resource("deep/people.csv", people),
    );
    format!(r#"{{"resources": [{orders}, {people}]}}"#)
}

async fn descriptions(lab: &Lab) -> Vec<(String, Option<String>)> {
    let records = records(lab).await.into_iter();
    let described = records.map(|(name, row)| (name, row.columns[0].description.clone()));
    described.collect()
}

fn owned(all: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    let all = all.iter();
    all.map(|(name, text)| ((*name).to_owned(), text.map(str::to_owned)))
        .collect()
}

async fn filled() -> Lab {
    let lab = Lab::new();
    lab.put("d/orders.csv", "id,day\n1,2024-01-02\n").await;
    lab.put("d/deep/people.csv", "id,name\n1,ada\n").await;
    lab.put("d/other.csv", "id,x\n1,2\n").await;
    lab.put("d/datapackage.json", &package("The number", "Who"))
        .await;
    lab
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_of_a_package_that_changes_is_a_change_of_its_table_alone() {
    let mut lab = filled().await;
    let report = lab.run().await;
    assert_eq!(
        (report.tables.added, report.failures.len()),
        (3, 0),
        "{report:?}"
    );
    let first = [
        ("d/deep/people", Some("Who")),
        ("d/orders", Some("The number")),
        ("d/other", None),
    ];
    assert_eq!(descriptions(&lab).await, owned(&first));
    lab.run_is_idle().await;

    let before = records(&lab).await;
    lab.put("d/datapackage.json", &package("The order's number", "Who"))
        .await;
    let report = lab.run().await;
    let tables = &report.tables;
    assert_eq!(
        (tables.added, tables.changed, tables.removed),
        (0, 1, 0),
        "{report:?}"
    );
    let second = [
        ("d/deep/people", Some("Who")),
        ("d/orders", Some("The order's number")),
        ("d/other", None),
    ];
    assert_eq!(descriptions(&lab).await, owned(&second));
    let after = records(&lab).await;
    for (table, stays) in [
        ("d/deep/people", true),
        ("d/other", true),
        ("d/orders", false),
    ] {
        let place = |row: &limn_segment::TableRecord| (row.segment.clone(), row.first_block);
        assert_eq!(
            place(&before[table]) == place(&after[table]),
            stays,
            "{table}"
        );
    }
    let all = lab.tables().await;
    assert!(
        all.values().all(|table| table.found && !table.broken),
        "{all:?}"
    );
    lab.run_is_idle().await;

    // A run that looks at a part of the lake says the same of it.
    let people = BTreeSet::from(["d/deep/people.csv".to_owned()]);
    lab.options.scope = Scope::Objects(people);
    let report = lab.run().await;
    assert_eq!(
        (report.tables.changed, report.objects.read),
        (0, 0),
        "{report:?}"
    );
    lab.options.scope = Scope::Lake;

    // New rows: the package is not read again for a table whose part is known.
    lab.put("d/other.csv", "id,x\n1,2\n3,4\n").await;
    assert_eq!(lab.run().await.tables.changed, 1);
    assert_eq!(descriptions(&lab).await, owned(&second));

    // One that cannot be read is reported, and nothing is forgotten.
    lab.put("d/datapackage.json", "{").await;
    let report = lab.run().await;
    let is_reported = |report: &limn_pipeline::Report| {
        let mut failures = report.failures.iter();
        failures.any(|it| it.error.contains("not JSON"))
    };
    assert!(is_reported(&report), "{report:?}");
    assert_eq!(descriptions(&lab).await, owned(&second));
    lab.remove("d/datapackage.json").await;
    assert!(!is_reported(&lab.run().await));
    let none = [
        ("d/deep/people", None),
        ("d/orders", None),
        ("d/other", None),
    ];
    assert_eq!(descriptions(&lab).await, owned(&none));
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_family_that_is_many_tables_hands_its_readme_to_each() {
    let lab = Lab::new();
    lab.put("d/x1.csv", "id,day\n1,2024-01-02\n").await;
    lab.put("d/x2.csv", "id,name\n1,ada\n").await;
    lab.put("d/README.md", "- id: The number\n").await;
    lab.run().await;
    let of_each = [("d/x1", Some("The number")), ("d/x2", Some("The number"))];
    assert_eq!(descriptions(&lab).await, owned(&of_each));
    lab.run_is_idle().await;
    lab.put("d/x2.csv", "id,day\n1,2024-01-03\n").await;
    lab.run().await;
    assert_eq!(
        descriptions(&lab).await,
        owned(&[("d", Some("The number"))])
    );
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_given_for_no_table_is_reported_as_not_kept() {
    let mut lab = Lab::new();
    lab.put("here.csv", "a\n1\n").await;
    for name in ["here", "later"] {
        let name = TableName::parse(name).unwrap();
        lab.options.contexts.insert(name, vec!["words".to_owned()]);
    }
    let note = "context of 'later' names no table of the lake, and is not kept: give it again when the table is there";
    assert_eq!(lab.run().await.notes, [note]);
    // One that was registered is kept while its table is removed.
    lab.options.contexts.clear();
    lab.put("there.csv", "b\n2\n").await;
    lab.remove("here.csv").await;
    let note = "the text registered for 'here' waits: no table of the lake has that name; if it was renamed, register the text again (limn context)";
    assert_eq!(lab.run().await.notes, [note]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_cannot_be_read_is_read_once_for_all_tables() {
    let lab = Lab::new();
    for i in 0..40 {
        // No family: each is a table.
        lab.put(
            &format!("d/{}.csv", char::from_u32(0x4e00 + i).unwrap()),
            "a\n1\n",
        )
        .await;
    }
    lab.corrupt("d/codebook.md").await;
    let before = lab.lake.counts();
    let report = lab.run().await;
    assert_eq!(lab.tables().await.len(), 40);
    assert!(report.failures.len() >= 40, "{}", report.failures.len());
    let read = lab.lake.counts().since(&before).get;
    assert!(read <= 42, "{read} reads");
}
