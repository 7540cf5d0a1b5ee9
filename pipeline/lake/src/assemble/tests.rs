//! Groups to tables: one or many, partition keys, absent columns, failures, and any order.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;
use crate::contexts::Contexts;
use crate::data_type::DataType;
use crate::error::FileErrorKind;
use crate::layout::layout;
use crate::object::ObjectRecord;
use crate::profile::ColumnBuilder;
use crate::sample::RowSampler;

type Rows<'a> = &'a [&'a [&'a str]];

/// A summary as a reader makes it; empty cells are null.
fn summary(sample_path: &str, header: &[&str], rows: &[Vec<String>]) -> FileSummary {
    let mut columns: Vec<ColumnBuilder> = header
        .iter()
        .map(|name| ColumnBuilder::new(*name))
        .collect();
    let mut sampler = RowSampler::new(0, sample_path, 5);
    for (number, row) in rows.iter().enumerate() {
        let cell = |text: &String| (!text.is_empty()).then(|| text.clone());
        for (column, text) in columns.iter_mut().zip(row) {
            column.push((!text.is_empty()).then_some(text.as_str()));
        }
        if let Some(priority) = sampler.wants(number as u64) {
            sampler.keep(priority, number as u64, row.iter().map(cell).collect());
        }
    }
    FileSummary {
        columns: columns
            .into_iter()
            .map(|column| column.finish(true))
            .collect(),
        rows: rows.len() as u64,
        rows_exact: true,
        sample: sampler.finish(),
        approximate: false,
        notes: Vec::new(),
    }
}

fn owned(rows: Rows<'_>) -> Vec<Vec<String>> {
    rows.iter()
        .map(|row| row.iter().map(|cell| (*cell).to_owned()).collect())
        .collect()
}

fn group(paths: &[&str]) -> Group {
    let object = |path: &&str| ObjectRecord {
        path: (*path).into(),
        etag: None,
        version: None,
        size: 1,
        modified_ms: 0,
    };
    let mut found = layout(paths.iter().map(object).collect(), &Contexts::new(), "lake");
    assert_eq!(found.groups.len(), 1);
    found.groups.remove(0)
}

fn summaries(
    group: &Group,
    contents: &[(&[&str], Rows<'_>)],
) -> Vec<Result<FileSummary, FileError>> {
    let read = group.files.iter().zip(contents);
    read.map(|(file, (header, rows))| Ok(summary(&file.sample_path, header, &owned(rows))))
        .collect()
}

fn broken() -> FileError {
    FileError::new("f", FileErrorKind::Corrupt, "it breaks off")
}

fn described(table: &AssembledTable) -> Vec<String> {
    let column = |column: &ColumnSummary| {
        let p = &column.profile;
        format!(
            "{} {} {}+{}",
            column.name, column.data_type, p.values, p.nulls
        )
    };
    table.columns().iter().map(column).collect()
}

#[test]
fn partition_keys_become_typed_columns_after_the_files_own() {
    let group = group(&[
        "t/y=2023/c=a%2Fb/1.csv",
        "t/y=2024/c=__HIVE_DEFAULT_PARTITION__/1.csv",
    ]);
    let read = summaries(
        &group,
        &[
            (&["id"], &[&["1"], &["2"]]),
            (&["id", "extra"], &[&["3", "x"]]),
        ],
    );
    let [table] = &assemble(&group, &read)[..] else {
        panic!()
    };
    assert_eq!((table.name.as_str(), table.location.as_str()), ("t", "t"));
    assert_eq!(
        described(table),
        [
            "id integer 3+0",
            "extra text 1+2",
            "y integer 3+0",
            "c text 2+1"
        ]
    );
    assert_eq!(
        table.columns()[2].profile.frequent.top(9),
        [("2023", 2), ("2024", 1)]
    );
    let summary = table.summary.as_ref().unwrap();
    assert_eq!(
        (summary.rows, summary.rows_exact, summary.files),
        (3, true, 2)
    );
    let mut rows: Vec<Vec<&str>> = summary
        .sample_rows()
        .map(|row| {
            row.iter()
                .map(|cell| cell.as_deref().unwrap_or("-"))
                .collect()
        })
        .collect();
    rows.sort();
    assert_eq!(
        rows,
        [
            ["1", "-", "2023", "a/b"],
            ["2", "-", "2023", "a/b"],
            ["3", "x", "2024", "-"]
        ]
    );
}

/// A file that is read in parts counts in its profile what was read; the rows of another file count
/// in full.
#[test]
fn files_weigh_as_much_as_they_have_rows() {
    let group = group(&["t/k=1/1.csv", "t/k=2/2.csv"]);
    let mut read = summaries(
        &group,
        &[
            (&["a", "b"], &[&["1", "x"][..]; 80]),
            (&["b"], &[&["y"][..]; 100]),
        ],
    );
    let large = read[0].as_mut().unwrap();
    (large.rows, large.rows_exact, large.approximate) = (9_900, false, true);
    for column in &mut large.columns {
        column.profile.exact = false;
    }
    let nulls = &mut large.columns[1].profile;
    (nulls.values, nulls.nulls) = (60, 20);
    let [table] = &assemble(&group, &read)[..] else {
        panic!()
    };
    let [a, b, _] = table.columns() else { panic!() };
    assert_eq!((a.profile.values, a.profile.nulls), (9_900, 100));
    assert_eq!(a.profile.null_share(), 0.01);
    assert_eq!((a.profile.uncounted, a.profile.counted()), (9_820, 80));
    assert_eq!((b.profile.values, b.profile.nulls), (7_425 + 100, 2_475));
    assert!(!a.profile.exact && !b.profile.exact);
}

#[test]
fn a_partition_key_that_is_also_a_column_is_left_to_the_file() {
    let group = group(&["t/y=2023/1.csv"]);
    let read = summaries(&group, &[(&["y", "n"], &[&["23", "1"]])]);
    let [table] = &assemble(&group, &read)[..] else {
        panic!()
    };
    assert_eq!(described(table), ["y integer 1+0", "n integer 1+0"]);
    assert_eq!(table.columns()[0].profile.frequent.top(1), [("23", 1)]);
}

#[test]
fn repeated_column_names_stay_apart() {
    let group = group(&["t/part-00000.csv", "t/part-00001.csv"]);
    let read = summaries(
        &group,
        &[(&["a", "a"], &[&["1", "x"]]), (&["a", "a"], &[&["2", "y"]])],
    );
    let [table] = &assemble(&group, &read)[..] else {
        panic!()
    };
    assert_eq!(described(table), ["a integer 2+0", "a text 2+0"]);
}

#[test]
fn a_family_is_one_table_if_columns_agree_and_a_table_a_file_if_not() {
    let group = group(&["f/1.csv", "f/2.csv", "f/3.csv"]);
    let like = summaries(
        &group,
        &[(&["a"], &[&["1"]]), (&["a"], &[&["x"]]), (&["a"], &[])],
    );
    let [table] = &assemble(&group, &like)[..] else {
        panic!()
    };
    assert_eq!(
        (table.name.as_str(), table.files.as_slice()),
        ("f", &[0, 1, 2][..])
    );
    assert_eq!(described(table), ["a text 2+0"]);

    let mut unlike = summaries(
        &group,
        &[(&["a"], &[&["1"]]), (&["b"], &[&["x"]]), (&["a"], &[])],
    );
    let names = |tables: &[AssembledTable]| {
        tables
            .iter()
            .map(|table| table.name.to_string())
            .collect::<Vec<_>>()
    };
    let tables = assemble(&group, &unlike);
    assert_eq!(names(&tables), ["f/1", "f/2", "f/3"]);
    // Splitting first gives the same tables.
    let split = group.clone().split();
    assert!(are_unlike(
        unlike[0].as_ref().unwrap(),
        unlike[1].as_ref().unwrap()
    ));
    let alone: Vec<AssembledTable> = split
        .iter()
        .zip(&unlike)
        .flat_map(|(part, result)| assemble(part, std::slice::from_ref(result)))
        .collect();
    for (together, alone) in tables.iter().zip(&alone) {
        assert_eq!(
            (&together.name, &together.summary, &together.location),
            (&alone.name, &alone.summary, &alone.location)
        );
    }
    // A file that fails is a table of its own that has nothing but the failure.
    unlike[2] = Err(broken());
    let tables = assemble(&group, &unlike);
    assert_eq!(names(&tables), ["f/1", "f/2", "f/3"]);
    assert_eq!((&tables[2].summary, tables[2].failed.len()), (&None, 1));
}

#[test]
fn a_table_is_made_of_the_files_that_can_be_read() {
    let group = group(&["t/part-00000.csv", "t/part-00001.csv"]);
    let mut read = summaries(&group, &[(&["a"], &[&["1"]]), (&["a"], &[&["2"]])]);
    read[0] = Err(broken());
    let [table] = &assemble(&group, &read)[..] else {
        panic!()
    };
    assert_eq!(
        (table.files.as_slice(), table.failed.as_slice()),
        (&[1][..], &[(0, broken())][..])
    );
    assert_eq!(table.summary.as_ref().unwrap().rows, 1);
    read[1] = Err(broken());
    let [table] = &assemble(&group, &read)[..] else {
        panic!()
    };
    assert_eq!((&table.summary, table.failed.len()), (&None, 2));
    assert!(table.columns().is_empty());
}

#[test]
fn contexts_follow_their_table() {
    let mut registered = Contexts::new();
    for table in ["f", "f/1"] {
        registered.insert(TableName::parse(table).unwrap(), vec!["text".to_owned()]);
    }
    let object = |path: &str| ObjectRecord {
        path: path.into(),
        etag: None,
        version: None,
        size: 1,
        modified_ms: 0,
    };
    let found = layout(
        vec![object("f/1.csv"), object("f/2.csv")],
        &registered,
        "lake",
    );
    let group = &found.groups[0];
    let like = assemble(group, &summaries(group, &[(&["a"], &[]), (&["a"], &[])]));
    assert_eq!(group.unclaimed_contexts(&like).count(), 0);
    let unlike = assemble(group, &summaries(group, &[(&["a"], &[]), (&["b"], &[])]));
    assert_eq!(
        group
            .unclaimed_contexts(&unlike)
            .map(|c| c.table.as_str())
            .collect::<Vec<_>>(),
        ["f"]
    );
}

#[test]
fn a_small_files_summary_is_small() {
    let header = [
        "order_id",
        "customer",
        "city",
        "amount",
        "ordered_at",
        "status",
    ];
    let cities = ["Lisbon", "Porto", "Braga", "Coimbra", "Faro"];
    let row = |i: usize| {
        vec![
            (10_000 + 37 * i).to_string(),
            format!("Customer {}", i * 7 % 23),
            cities[i % 5].to_owned(),
            format!("{}.{:02}", i * 13 % 97, i * 31 % 100),
            format!("2024-{:02}-{:02}", 1 + i % 12, 1 + i % 28),
            if i.is_multiple_of(3) {
                "open"
            } else {
                "shipped"
            }
            .to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = (0..30).map(row).collect();
    let summary = summary("", &header, &rows);
    let text = summary.to_json().unwrap();
    assert!(text.len() < 2048, "{} bytes: {text}", text.len());
    assert_eq!(FileSummary::from_json(&text).unwrap(), summary);
}

#[test]
fn stored_summaries_are_pinned() {
    // A catalog holds this: old texts must stay readable, or be read again with a changelog entry.
    let stored = concat!(
        r#"{"c":[{"n":"a","t":"integer","p":{"v":2,"lo":"1","hi":"20","f":{"l":[[1,",1,20"]]}}},"#,
        r#"{"n":"b","t":"text","p":{"v":1,"z":1,"lo":"x","hi":"x","f":{"l":[[1,",x"]]}}}],"#,
        r#""r":2,"e":true,"s":{"r":5,"s":[[1,1,["20",null]],[9,0,["1","x"]]]}}"#,
    );
    let summary = FileSummary::from_json(stored).unwrap();
    assert_eq!(summary.columns[0].data_type, DataType::Integer);
    assert_eq!(summary.columns[1].profile.null_share(), 0.5);
    assert_eq!(summary.sample.rows[0].values, [Some("20".to_owned()), None]);
    assert!(
        summary.rows_exact && !summary.approximate && summary.columns[0].profile.distinct_exact()
    );
    assert_eq!(
        FileSummary::from_json(&summary.to_json().unwrap()).unwrap(),
        summary
    );
}

#[test]
fn what_workers_exchange_survives_a_format_that_describes_nothing() {
    fn same<T: Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
        let bytes = bincode::serialize(value).unwrap();
        assert_eq!(&bincode::deserialize::<T>(&bytes).unwrap(), value);
    }
    let group = group(&["t/y=2023/1.csv", "t/y=__HIVE_DEFAULT_PARTITION__/1.csv"]);
    let mut read = summaries(&group, &[(&["a"], &[&["1"], &[""]]), (&["a"], &[])]);
    read[1] = Err(broken());
    same(&group);
    same(&group.fingerprints());
    same(&read);
    same(&assemble(&group, &read));
}

fn some_file() -> impl Strategy<Value = (Vec<String>, Vec<Vec<String>>)> {
    let header = prop_oneof![
        Just(vec!["a", "b"]),
        Just(vec!["b", "a"]),
        Just(vec!["a", "b", "c"]),
        Just(vec!["a", "a"])
    ];
    header.prop_flat_map(|header| {
        let cell = prop_oneof![4 => "[0-9]{1,2}", 1 => "[xy]{1,2}", 1 => Just(String::new())];
        let row = prop::collection::vec(cell, header.len());
        let header = header
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<String>>();
        (Just(header), prop::collection::vec(row, 0..60))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn tables_are_a_function_of_the_set_of_files(
        (files, order) in prop::collection::vec(prop::option::weighted(0.9, some_file()), 1..7).prop_flat_map(|files| {
            let order: Vec<usize> = (0..files.len()).collect();
            (Just(files), Just(order).prop_shuffle())
        }),
        family: bool,
    ) {
        let paths: Vec<String> =
            (0..files.len()).map(|f| if family { format!("d/{f}.csv") } else { format!("d/k={}/{f}.csv", f % 3) }).collect();
        let group = group(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        let by_path = |file: &crate::layout::DataFile| paths.iter().position(|path| *path == file.object.path).unwrap();
        let read: Vec<Result<FileSummary, FileError>> = group.files.iter().map(|file| {
            let Some((header, rows)) = &files[by_path(file)] else { return Err(broken()) };
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            Ok(summary(&file.sample_path, &header, rows))
        }).collect();
        let tables = assemble(&group, &read);

        // The same files in another order, their summaries from the catalog.
        let mut shuffled = group.clone();
        shuffled.files = order.iter().map(|f| group.files[*f].clone()).collect();
        let stored: Vec<Result<FileSummary, FileError>> = order.iter().map(|f| {
            read[*f].as_ref().map_err(Clone::clone).map(|s| FileSummary::from_json(&s.to_json().unwrap()).unwrap())
        }).collect();
        let again = assemble(&shuffled, &stored);

        prop_assert_eq!(tables.len(), again.len());
        for (table, other) in tables.iter().zip(&again) {
            prop_assert_eq!((&table.name, &table.location, &table.summary), (&other.name, &other.location, &other.summary));
            let paths = |group: &Group, files: &[usize]| files.iter().map(|f| group.files[*f].object.path.clone()).collect::<Vec<_>>();
            prop_assert_eq!(paths(&group, &table.files), paths(&shuffled, &other.files));
            prop_assert_eq!(table.failed.len(), other.failed.len());
            if let Some(summary) = &table.summary {
                for column in &summary.columns {
                    prop_assert_eq!(column.profile.values + column.profile.nulls, summary.rows);
                }
                prop_assert_eq!(summary.sample.rows.len() as u64, summary.rows.min(5));
            }
        }
        let members: usize = tables.iter().map(|table| table.files.len() + table.failed.len()).sum();
        prop_assert_eq!(members, files.len());
    }
}
