//! Groups to tables: one or many, partition keys, absent columns, unread files, and any order.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod stored;

use limn_formats::{FileError, FileErrorKind, ObjectRecord};
use limn_profile::{ColumnBuilder, ColumnSummary, DataType, RowSampler};
use proptest::prelude::*;
use serde::Serialize;

use super::*;
use crate::contexts::Contexts;
use crate::evolution::{Shapes, arrange};
use crate::layout::whole::layout;
use crate::layout::{Group, GroupKind};
use crate::table_name::TableName;

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
        ..FileSummary::default()
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

fn summaries(group: &Group, contents: &[(&[&str], Rows<'_>)]) -> Vec<Option<FileSummary>> {
    let read = group.files.iter().zip(contents);
    read.map(|(file, (header, rows))| Some(summary(file.sample_path(), header, &owned(rows))))
        .collect()
}

/// The tables of a group, as the dataflow makes them.
fn tables(group: &Group, read: &[Option<FileSummary>]) -> Vec<(TableName, Option<TableSummary>)> {
    let by_path: Vec<(&str, Option<&FileSummary>)> = group
        .files
        .iter()
        .map(|file| file.object.path.as_str())
        .zip(read.iter().map(Option::as_ref))
        .collect();
    let mut shapes = Shapes::default();
    for (path, summary) in &by_path {
        if let Some(summary) = summary {
            shapes.add(path, summary);
        }
    }
    let groups = arrange(group.clone(), &shapes);
    let table = |group: Group| {
        let files: Vec<(&str, &FileSummary)> = by_path
            .iter()
            .filter(|(path, _)| group.files.iter().any(|file| file.object.path == *path))
            .filter_map(|(path, summary)| Some((*path, (*summary)?)))
            .collect();
        let paths: Vec<&str> = group
            .files
            .iter()
            .map(|file| file.object.path.as_str())
            .collect();
        (group.name, merge_files(&files, &paths))
    };
    groups.into_iter().map(table).collect()
}

fn only(tables: Vec<(TableName, Option<TableSummary>)>) -> (TableName, TableSummary) {
    let [(name, Some(summary))] = &tables[..] else {
        panic!("one table that was read expected: {tables:?}")
    };
    (name.clone(), summary.clone())
}

fn described(table: &TableSummary) -> Vec<String> {
    let column = |column: &ColumnSummary| {
        let p = &column.profile;
        format!(
            "{} {} {}+{}",
            column.name, column.data_type, p.values, p.nulls
        )
    };
    table.columns.iter().map(column).collect()
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
    let (name, summary) = only(tables(&group, &read));
    assert_eq!((name.as_str(), group.path.as_str()), ("t", "t"));
    assert_eq!(
        described(&summary),
        [
            "id integer 3+0",
            "extra text 1+2",
            "y integer 3+0",
            "c text 2+1"
        ]
    );
    assert_eq!(
        summary.columns[2].profile.frequent.top(9),
        [("2023", 2), ("2024", 1)]
    );
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
    let (_, table) = only(tables(&group, &read));
    let [a, b, _] = table.columns.as_slice() else {
        panic!()
    };
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
    let (_, table) = only(tables(&group, &read));
    assert_eq!(described(&table), ["y integer 1+0", "n integer 1+0"]);
    assert_eq!(table.columns[0].profile.frequent.top(1), [("23", 1)]);
}

#[test]
fn repeated_column_names_stay_apart() {
    let group = group(&["t/part-00000.csv", "t/part-00001.csv"]);
    let read = summaries(
        &group,
        &[(&["a", "a"], &[&["1", "x"]]), (&["a", "a"], &[&["2", "y"]])],
    );
    let (_, table) = only(tables(&group, &read));
    assert_eq!(described(&table), ["a integer 2+0", "a text 2+0"]);
}

#[test]
fn a_family_is_one_table_if_columns_agree_and_a_table_a_file_if_not() {
    let group = group(&["f/1.csv", "f/2.csv", "f/3.csv"]);
    let like = summaries(
        &group,
        &[(&["a"], &[&["1"]]), (&["a"], &[&["x"]]), (&["a"], &[])],
    );
    let (name, table) = only(tables(&group, &like));
    assert_eq!((name.as_str(), table.files), ("f", 3));
    assert_eq!(described(&table), ["a text 2+0"]);

    let mut unlike = summaries(
        &group,
        &[(&["a"], &[&["1"]]), (&["b"], &[&["x"]]), (&["a"], &[])],
    );
    let names = |tables: &[(TableName, Option<TableSummary>)]| {
        tables
            .iter()
            .map(|(name, _)| name.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&tables(&group, &unlike)), ["f/1", "f/2", "f/3"]);
    // A file that cannot be read is a table of its own that has nothing.
    unlike[2] = None;
    let apart = tables(&group, &unlike);
    assert_eq!(names(&apart), ["f/1", "f/2", "f/3"]);
    assert_eq!(apart[2].1, None);
}

#[test]
fn a_table_is_made_of_the_files_that_can_be_read() {
    let group = group(&["t/part-00000.csv", "t/part-00001.csv"]);
    let mut read = summaries(&group, &[(&["a"], &[&["1"]]), (&["a"], &[&["2"]])]);
    read[0] = None;
    let (_, table) = only(tables(&group, &read));
    assert_eq!((table.rows, table.files), (1, 1));
    read[1] = None;
    assert_eq!(tables(&group, &read), [(group.name.clone(), None)]);
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
    assert_eq!(group.contexts.len(), 2);
    assert_eq!(group.unclaimed_contexts().count(), 1);
    let each: Vec<usize> = group
        .clone()
        .part(|_| false)
        .iter()
        .map(|group| group.contexts.len())
        .collect();
    assert_eq!(each, [1, 0]);
    assert_eq!(
        group
            .unclaimed_contexts()
            .map(|c| c.table.as_str())
            .collect::<Vec<_>>(),
        ["f"]
    );
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
        let by_path = |file: &crate::layout::TableFile| paths.iter().position(|path| *path == file.object.path).unwrap();
        let read: Vec<Option<FileSummary>> = group.files.iter().map(|file| {
            let (header, rows) = files[by_path(file)].as_ref()?;
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            Some(summary(file.sample_path(), &header, rows))
        }).collect();
        let found = tables(&group, &read);

        // The same files in another order, their summaries from the catalog.
        let mut shuffled = group.clone();
        shuffled.files = order.iter().map(|f| group.files[*f].clone()).collect();
        let stored: Vec<Option<FileSummary>> = order.iter().map(|f| {
            read[*f].as_ref().map(|s| s.to_stored().unwrap().read().unwrap())
        }).collect();
        let mut again = tables(&shuffled, &stored);
        again.sort_by(|a, b| a.0.cmp(&b.0));
        prop_assert_eq!(&found, &again);

        let merged: u64 = found.iter().filter_map(|(_, summary)| Some(summary.as_ref()?.files)).sum();
        prop_assert_eq!(merged as usize, read.iter().flatten().count());
        for summary in found.iter().filter_map(|(_, summary)| summary.as_ref()) {
            for column in &summary.columns {
                prop_assert_eq!(column.profile.values + column.profile.nulls, summary.rows);
            }
            prop_assert_eq!(summary.sample.rows.len() as u64, summary.rows.min(5));
        }
    }
}

/// A file without names takes those of others, also that of a partition key.
#[test]
fn a_file_without_names_has_each_column_once() {
    let group = group(&["t/day=1/a.csv", "t/day=2/b.csv", "t/day=3/c.csv"]);
    let (named, nameless): (&[&str], &[&str]) = (&["id", "day"], &["column_1", "column_2"]);
    let read = summaries(
        &group,
        &[
            (named, &[&["1", "1"]]),
            (nameless, &[&["2", "2"]]),
            (named, &[&["3", "3"]]),
        ],
    );
    let (_, table) = only(tables(&group, &read));
    assert_eq!(described(&table), ["id integer 3+0", "day integer 3+0"]);
    assert!(table.columns.iter().all(|column| column.in_files.is_none()));
}

#[test]
fn sheets_of_years_are_one_table_that_has_the_year() {
    let group = group(&["b.xlsx//Sales 2023", "b.xlsx//Sales 2024"]);
    assert_eq!(
        (group.kind, group.name.as_str()),
        (GroupKind::Family, "b.xlsx")
    );
    let header: &[&str] = &["region", "amount"];
    let mut read = summaries(
        &group,
        &[
            (header, &[&["north", "1"], &["south", "2"]]),
            (header, &[&["north", "3"]]),
        ],
    );
    let (_, table) = only(tables(&group, &read));
    assert_eq!(
        described(&table),
        ["region text 3+0", "amount integer 3+0", "year integer 3+0"]
    );
    let last = |row: &[Option<String>]| row.last().cloned().flatten();
    let mut years: Vec<_> = table.sample_rows().map(last).collect();
    years.sort();
    assert_eq!(
        years,
        [Some("2023"), Some("2023"), Some("2024")].map(|it| it.map(str::to_owned))
    );
    // A sheet that cannot be read takes nobody's year away.
    read[1] = None;
    let (_, table) = only(tables(&group, &read));
    assert_eq!(described(&table).last().unwrap(), "year integer 2+0");
}

#[test]
fn sheets_of_regions_with_other_columns_stay_tables() {
    let group = group(&["b.xlsx//EMEA", "b.xlsx//North America"]);
    let read = summaries(&group, &[(&["a"], &[&["1"]]), (&["b"], &[&["2"]])]);
    let found = tables(&group, &read);
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["b.xlsx//EMEA", "b.xlsx//North America"]);
    assert_eq!(described(found[0].1.as_ref().unwrap()), ["a integer 1+0"]);
}
