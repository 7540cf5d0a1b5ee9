//! Books by example, and that what is a table stays one.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use limn_formats::ObjectRecord;
use limn_profile::{ColumnBuilder, FileSummary, RowSampler};
use proptest::prelude::*;

use crate::contexts::Contexts;
use crate::evolution::{Shapes, arrange};
use crate::layout::whole::layout;
use crate::layout::{Group, GroupKind};

fn file(columns: &str) -> FileSummary {
    let columns = columns.split_ascii_whitespace().map(ColumnBuilder::new);
    FileSummary {
        columns: columns.map(|column| column.finish(true)).collect(),
        rows_exact: true,
        sample: RowSampler::new(0, "", 5).finish(),
        ..FileSummary::default()
    }
}

/// The tables of a book of sheets with these columns; without any where a sheet is no table.
fn tables(sheets: &[(&str, &str)]) -> Vec<Group> {
    let objects = sheets
        .iter()
        .map(|(name, _)| ObjectRecord::unversioned(&format!("b.xlsx//{name}"), 1));
    let found = layout(objects.collect(), &Contexts::new(), "lake");
    let mut tables = Vec::new();
    for group in found.groups {
        tables.extend(arranged(group, sheets));
    }
    tables
}

fn arranged(group: Group, sheets: &[(&str, &str)]) -> Vec<Group> {
    let read = sheets.iter().filter(|(_, columns)| !columns.is_empty());
    let read: Vec<(String, FileSummary)> = read
        .map(|(name, columns)| (format!("b.xlsx//{name}"), file(columns)))
        .collect();
    let mut shapes = Shapes::default();
    for (path, summary) in &read {
        if group.files.iter().any(|file| file.object.path == *path) {
            shapes.add(path, summary);
        }
    }
    arrange(group, &shapes)
}

fn shown(sheets: &[(&str, &str)]) -> Vec<String> {
    let line = |group: &Group| format!("{} {}", group.name, group.files.len());
    tables(sheets).iter().map(line).collect()
}

#[test]
fn sheets_with_the_same_columns_are_one_table() {
    for (sheets, expected) in [
        (
            &[
                ("Nord", "a b"),
                ("Süd", "A b"),
                ("West", "a b"),
                ("Iberia", "a b"),
                ("Polska", "a b"),
            ][..],
            &["b.xlsx 5"][..],
        ),
        (
            &[("DK", "a b"), ("DE", "a b"), ("Notes", "")],
            &["b.xlsx 3"],
        ),
        (
            &[("2023", "a b c"), ("2024", "a b c d"), ("Pivot", "x y")],
            &["b.xlsx 2", "b.xlsx//Pivot 1"],
        ),
        (&[("Januar", "a b"), ("März", "a b")], &["b.xlsx 2"]),
        (
            &[("Q1", "a b"), ("Q2", "a b"), ("Total", "a b")],
            &["b.xlsx 2", "b.xlsx//Total 1"],
        ),
        (
            &[("2023", "a b"), ("2024", "a b"), ("2023 (old)", "a b")],
            &["b.xlsx 2", "b.xlsx//2023 (old) 1"],
        ),
        (
            &[
                ("2022 Plan", "a b"),
                ("2023 Plan", "a b"),
                ("2022 Actual", "a b"),
                ("2023 Actual", "a b"),
            ],
            &["b.xlsx 4"],
        ),
        (
            &[("Orders", "a b"), ("Customers", "a c")],
            &["b.xlsx//Customers 1", "b.xlsx//Orders 1"],
        ),
        (
            &[("Orders", "a b"), ("Old", "a b"), ("Customers", "a c")],
            &["b.xlsx//Customers 1", "b.xlsx//Old 1", "b.xlsx//Orders 1"],
        ),
        (
            &[("Cities", "name"), ("Countries", "name")],
            &["b.xlsx//Cities 1", "b.xlsx//Countries 1"],
        ),
        (
            &[("A", "column_1 column_2"), ("B", "column_1 column_2")],
            &["b.xlsx//A 1", "b.xlsx//B 1"],
        ),
        (
            &[("Payroll", "a b"), ("Info", "")],
            &["b.xlsx//Info 1", "b.xlsx//Payroll 1"],
        ),
    ] {
        let mut found = shown(sheets);
        found.sort();
        assert_eq!(found, expected);
    }
}

proptest! {
    #[test]
    fn a_table_arranged_once_more_stays(
        sheets in proptest::collection::btree_map(
            proptest::sample::select(vec!["2022", "2023", "2024", "Jan", "Feb", "West", "Nord", "Süd", "Notes", "2023 (old)", "2024 (old)"]),
            proptest::sample::select(vec!["", "a b", "a b", "A b c", "a b c d", "x y"]),
            2..9,
        )
    ) {
        let sheets: Vec<(&str, &str)> = sheets.into_iter().collect();
        for table in tables(&sheets) {
            if table.kind == GroupKind::Family {
                prop_assert_eq!(arranged(table.clone(), &sheets), vec![table]);
            }
        }
    }
}
