//! Tables and columns that come, go, change and are renamed.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::catalog::{ContextRecord, ValueCount};

fn column(name: &str, data_type: &str, most_frequent: &str) -> ColumnRecord {
    ColumnRecord {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        distinct: 3,
        frequent: vec![ValueCount {
            value: most_frequent.to_owned(),
            count: 2,
        }],
        ..ColumnRecord::default()
    }
}

fn table(name: &str, columns: Vec<ColumnRecord>) -> TableRecord {
    TableRecord {
        lake: "file:///lake".to_owned(),
        name: name.to_owned(),
        rows: Some(10),
        columns,
        files: vec![FileRecord {
            path: format!("{name}.csv"),
            etag: Some(format!("tag of {name}")),
            size: 100,
            ..FileRecord::default()
        }],
        ..TableRecord::default()
    }
}

fn schema(before: Vec<ColumnRecord>, after: Vec<ColumnRecord>) -> Option<SchemaChange> {
    let changes = TableChanges::between(vec![table("t", before)], vec![table("t", after)]);
    changes.changed.into_iter().next().and_then(|it| it.schema)
}

#[test]
fn tables_appear_vanish_and_are_renamed() {
    let abc = || vec![column("a", "text", "x")];
    let mut moved = table("old", abc());
    moved.name = "new/place".to_owned();
    moved.files[0].path = "new/place.csv".to_owned();
    let older = vec![
        table("removed", abc()),
        table("old", abc()),
        table("same", abc()),
    ];
    let newer = vec![table("came", abc()), moved, table("same", abc())];
    let changes = TableChanges::between(older, newer);
    let names = |tables: &[TableSize]| -> Vec<String> {
        tables.iter().map(|it| it.table.clone()).collect()
    };
    assert_eq!(names(&changes.appeared), ["came"]);
    assert_eq!(names(&changes.vanished), ["removed"]);
    assert_eq!(changes.changed, []);
    let renamed = &changes.renamed;
    assert_eq!(
        (renamed.len(), &*renamed[0].from, &*renamed[0].to),
        (1, "old", "new/place")
    );
}

#[test]
fn a_table_replaces_those_whose_files_it_has() {
    let abc = || vec![column("a", "text", "x")];
    let file = |path: &str| FileRecord {
        path: path.to_owned(),
        etag: Some(path.to_owned()),
        ..FileRecord::default()
    };
    let of = |name: &str, format: &str, paths: &[&str]| TableRecord {
        format: format.to_owned(),
        files: paths.iter().map(|path| file(path)).collect(),
        ..table(name, abc())
    };
    let older = vec![
        of("daily/1", "csv", &["daily/1.csv"]),
        of("daily/2", "csv", &["daily/2.csv"]),
        of("t/data", "parquet", &["t/data/a.parquet"]),
        of("t/metadata/x", "avro", &["t/metadata/x.avro"]),
        of("mixed", "csv", &["daily/3.csv", "elsewhere.csv"]),
        of("tt/data", "parquet", &["tt/data/a.parquet"]),
    ];
    let newer = vec![
        of(
            "daily",
            "csv",
            &["daily/1.csv", "daily/2.csv", "daily/3.csv"],
        ),
        of("t", "iceberg", &["t/metadata", "t/data/b.parquet"]),
    ];
    let changes = TableChanges::between(older, newer);
    let replaces = changes.appeared.iter();
    let replaces: Vec<Vec<String>> = replaces.map(|it| it.replaces.clone()).collect();
    assert_eq!(
        replaces,
        [["daily/1", "daily/2"], ["t/data", "t/metadata/x"]]
    );
    let vanished: Vec<&str> = changes.vanished.iter().map(|it| &*it.table).collect();
    assert_eq!(vanished, ["mixed", "tt/data"]);
}

#[test]
fn a_copy_is_no_new_name() {
    let abc = || vec![column("a", "text", "x")];
    let copy = |name: &str| {
        let mut copy = table(name, abc());
        copy.files[0].etag = Some("tag of old".to_owned());
        copy
    };
    let changes = TableChanges::between(
        vec![table("old", abc())],
        vec![table("old", abc()), copy("copy")],
    );
    assert_eq!((changes.appeared.len(), changes.renamed.len()), (1, 0));
    // One of two copies is the new name, the other is new.
    let changes = TableChanges::between(vec![table("old", abc())], vec![copy("b"), copy("c")]);
    assert_eq!((changes.appeared.len(), changes.renamed.len()), (1, 1));
    // Two that were alike and were removed: nobody knows which is which.
    let changes = TableChanges::between(vec![copy("b"), copy("c")], vec![table("old", abc())]);
    assert_eq!(
        (
            changes.appeared.len(),
            changes.renamed.len(),
            changes.vanished.len()
        ),
        (1, 0, 2)
    );
    // Without tags nothing is known.
    let untagged = |name: &str| {
        let mut table = copy(name);
        table.files[0].etag = None;
        table
    };
    let changes = TableChanges::between(vec![untagged("b")], vec![untagged("c")]);
    assert_eq!((changes.appeared.len(), changes.renamed.len()), (1, 0));
}

#[test]
fn columns_are_added_dropped_renamed_retyped_and_reordered() {
    let before = || {
        vec![
            column("id", "integer", "1"),
            column("name", "text", "Ann"),
            column("price", "integer", "5"),
        ]
    };
    assert_eq!(schema(before(), before()), None);

    let mut after = before();
    after.insert(1, column("colour", "text", "red"));
    let change = schema(before(), after).unwrap();
    assert_eq!(change.added, ["colour"]);
    assert!(change.dropped.is_empty() && change.renamed.is_empty() && !change.reordered);

    let mut after = before();
    after.remove(1);
    assert_eq!(schema(before(), after).unwrap().dropped, ["name"]);

    // By its values, though it has moved.
    let mut after = before();
    after[1].name = "buyer".to_owned();
    after.rotate_left(1);
    let change = schema(before(), after).unwrap();
    assert_eq!(
        (&*change.renamed[0].from, &*change.renamed[0].to),
        ("name", "buyer")
    );
    assert!(change.added.is_empty() && change.dropped.is_empty() && change.reordered);

    // By its place, though its values are others.
    let mut after = before();
    after[1] = column("buyer", "text", "Bob");
    assert_eq!(schema(before(), after).unwrap().renamed.len(), 1);

    // Another type at another place is another column.
    let mut after = before();
    after[1] = column("height", "float", "1.8");
    let change = schema(before(), after).unwrap();
    assert_eq!(
        (
            change.added.len(),
            change.dropped.len(),
            change.renamed.len()
        ),
        (1, 1, 0)
    );

    let mut after = before();
    after[2].data_type = "float".to_owned();
    let change = schema(before(), after).unwrap();
    assert_eq!(
        (
            &*change.retyped[0].column,
            &*change.retyped[0].from,
            &*change.retyped[0].to
        ),
        ("price", "integer", "float")
    );

    let mut after = before();
    after.swap(0, 1);
    let change = schema(before(), after).unwrap();
    assert_eq!(
        change,
        SchemaChange {
            reordered: true,
            ..SchemaChange::default()
        }
    );
}

#[test]
fn a_very_wide_table_takes_no_time() {
    let wide = |prefix: &str| -> Vec<ColumnRecord> {
        let columns = 0..3000;
        columns
            .map(|at| column(&format!("{prefix}{at}"), "text", &at.to_string()))
            .collect()
    };
    let started = std::time::Instant::now();
    assert_eq!(schema(wide("a"), wide("b")).unwrap().renamed.len(), 3000);
    assert!(started.elapsed().as_secs() < 10, "{:?}", started.elapsed());
}

#[test]
fn rows_contexts_and_readability() {
    let before = table("t", vec![column("a", "text", "x")]);
    let one = |edit: &dyn Fn(&mut TableRecord)| {
        let mut after = before.clone();
        edit(&mut after);
        TableChanges::between(vec![before.clone()], vec![after]).changed
    };
    let rows = &one(&|it| {
        it.rows = Some(12);
        it.files[0].etag = Some("other".to_owned());
        it.files.push(FileRecord {
            path: "t2.csv".to_owned(),
            ..FileRecord::default()
        });
    })[0];
    let change = rows.rows.as_ref().unwrap();
    assert_eq!((change.from, change.to), (Some(10), Some(12)));
    assert_eq!(
        (
            change.files_added,
            change.files_removed,
            change.files_changed
        ),
        (1, 0, 1)
    );
    assert!(rows.schema.is_none() && rows.context.is_none() && rows.readable.is_none());

    let context = &one(&|it| {
        it.contexts.push(ContextRecord {
            text: "About it.".to_owned(),
            ..ContextRecord::default()
        });
    })[0];
    assert_eq!(context.context.as_ref().unwrap().added, ["About it."]);

    let broken = &one(&|it| it.error = Some("cut short".to_owned()))[0];
    assert_eq!(
        broken.readable.as_ref().unwrap().error.as_deref(),
        Some("cut short")
    );

    // Written again with the same content, as its tag shows.
    assert_eq!(one(&|it| it.files[0].modified_ms += 5), []);
    let untagged = one(&|it| {
        it.files[0].etag = None;
        it.files[0].modified_ms += 5;
    });
    assert_eq!(untagged[0].rows.as_ref().unwrap().files_changed, 1);

    // Described anew: no change of the lake.
    assert_eq!(
        one(&|it| {
            it.columns[0].narration = Some("Words.".to_owned());
            it.indexed_ms += 1;
            it.segment = "elsewhere".to_owned();
            it.files[0].fingerprint = "of other settings".to_owned();
        }),
        []
    );
}

proptest! {
    /// Every column of either schema is listed once: as the same, renamed, added or dropped.
    #[test]
    fn every_column_is_accounted_for(
        before in columns(),
        after in columns(),
    ) {
        let names = |columns: &[ColumnRecord]| -> BTreeSet<String> {
            columns.iter().map(|it| it.name.clone()).collect()
        };
        let (old, new) = (names(&before), names(&after));
        let change = schema_change(&before, &after).unwrap_or_default();
        let from: BTreeSet<String> = change.renamed.iter().map(|it| it.from.clone()).collect();
        let to: BTreeSet<String> = change.renamed.iter().map(|it| it.to.clone()).collect();
        prop_assert_eq!(from.len(), change.renamed.len());
        prop_assert_eq!(to.len(), change.renamed.len());
        let left: BTreeSet<String> = old.difference(&new).cloned().collect();
        let dropped: BTreeSet<String> = change.dropped.iter().cloned().collect();
        prop_assert!(dropped.is_disjoint(&from));
        prop_assert_eq!(&(&dropped | &from), &left);
        let came: BTreeSet<String> = new.difference(&old).cloned().collect();
        let added: BTreeSet<String> = change.added.iter().cloned().collect();
        prop_assert!(added.is_disjoint(&to));
        prop_assert_eq!(&(&added | &to), &came);
        prop_assert_eq!(schema_change(&before, &before), None);
    }
}

fn columns() -> impl Strategy<Value = Vec<ColumnRecord>> {
    let one = ("[a-f]", prop_oneof!["text", "integer"], "[xy]");
    proptest::collection::vec(one, 0..6).prop_map(|columns| {
        let mut seen = BTreeSet::new();
        let columns = columns.into_iter();
        columns
            .filter(|(name, ..)| seen.insert(name.clone()))
            .map(|(name, data_type, value)| column(&name, &data_type, &value))
            .collect()
    })
}
