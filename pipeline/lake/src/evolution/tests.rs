//! Tables that evolve, strays among their files, and what is never one table.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use limn_formats::ObjectRecord;
use limn_profile::{ColumnBuilder, RowSampler};
use proptest::prelude::*;

use super::*;
use crate::contexts::Contexts;
use crate::layout::whole::layout;

fn family(extension: &str, count: usize) -> Group {
    let object = |n: usize| ObjectRecord::unversioned(&format!("d/x-{n:03}.{extension}"), 1);
    let mut found = layout((0..count).map(object).collect(), &Contexts::new(), "lake");
    found.groups.remove(0)
}

/// A file with these columns, by a blank between.
fn file(columns: &str) -> FileSummary {
    let columns = columns.split_ascii_whitespace().map(ColumnBuilder::new);
    FileSummary {
        columns: columns.map(|column| column.finish(true)).collect(),
        rows: 0,
        rows_exact: true,
        sample: RowSampler::new(0, "", 5).finish(),
        ..FileSummary::default()
    }
}

/// The tables of a family of files with these columns; none for a file that could not be read.
fn arranged(extension: &str, files: &[Option<&str>]) -> Vec<String> {
    let family = family(extension, files.len());
    let mut shapes = Shapes::default();
    for (it, columns) in family.files.iter().zip(files) {
        if let Some(columns) = columns {
            shapes.add(&it.object.path, &file(columns));
        }
    }
    let show = |group: &Group| format!("{}: {}", group.name, group.files.len());
    arrange(family.clone(), &shapes).iter().map(show).collect()
}

fn csv(files: &[&str]) -> Vec<String> {
    let files: Vec<Option<&str>> = files.iter().copied().map(Some).collect();
    arranged("csv", &files)
}

#[test]
fn columns_come_go_move_and_are_renamed() {
    let mut daily = vec!["day sku qty price"; 90];
    daily.extend(["day sku qty price channel"; 10]);
    assert_eq!(csv(&daily), ["d: 100"]);
    for evolved in [
        &["a b c", "a b c d"][..],
        &["a b c", "a c"],
        &["a b c", "c a b"],
        &["a b c", "a b x"],
        &["a", "a b"],
        // Over years everything may change.
        &["a b c d", "a b c e", "a b f e", "a g f e", "h g f e"],
        // An empty file, and one without a header.
        &["a b c", "a b c", ""],
        &["a b c", "column_1 column_2 column_3"],
        &["column_1 column_2", "column_1 column_2"],
    ] {
        assert_eq!(
            csv(evolved),
            [format!("d: {}", evolved.len())],
            "{evolved:?}"
        );
    }
}

#[test]
fn strays_stay_themselves_and_unlike_files_are_no_table() {
    let with_stray = ["a b c", "a b c", "x y", "a b c d"];
    assert_eq!(csv(&with_stray), ["d: 3", "d/x-002: 1"]);
    // Two sets are as large, and share the files without names: the one with the first paths.
    let tied = ["column_1 column_2", "column_1 column_2", "a b", "x y"];
    for _ in 0..20 {
        assert_eq!(csv(&tied), ["d: 3", "d/x-003: 1"]);
    }
    let wide = ["a b c", "a b c", "a b c", "column_1 column_2"];
    assert_eq!(csv(&wide), ["d: 3", "d/x-003: 1"]);
    for unlike in [
        &["a b", "a c"][..],
        &["a b", "x y"],
        &["a b c", "x y", "a b c"],
        &["a b", "a b", "x y", "x y"],
        &["id a b", "id c d", "id e f", "id g h"],
    ] {
        assert_eq!(csv(unlike).len(), unlike.len(), "{unlike:?}");
    }
    // Many lists of columns with something in common, as a folder of downloads has.
    let many: Vec<String> = (0..200)
        .map(|n| format!("year title c{} d{}", n % 20, n % 7))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(csv(&many).len(), 200);
    // Each follows from the next, and at the end nothing is left of the beginning.
    let drift: Vec<String> = (0..26)
        .map(|n| format!("c{n} c{} c{}", n + 1, n + 2))
        .collect();
    let drift: Vec<&str> = drift.iter().map(String::as_str).collect();
    assert_eq!(csv(&drift).len(), 26);
}

#[test]
fn files_that_cannot_be_read_belong_to_the_table_if_there_is_one() {
    let some = |files: &[Option<&str>]| arranged("csv", files);
    assert_eq!(some(&[None, None]), ["d: 2"]);
    assert_eq!(some(&[Some("a b"), None]), ["d: 2"]);
    assert_eq!(
        some(&[Some("a b"), None, Some("a b"), Some("a b"), Some("x")]),
        ["d: 4", "d/x-004: 1"]
    );
    assert_eq!(some(&[Some("a b"), None, Some("x y")]).len(), 3);
}

#[test]
fn files_of_json_are_alike_by_the_keys_of_their_rows() {
    for (other, tables) in [
        ("id tags at", 1),
        ("id tags tags[] at.w", 1),
        ("at.x id tags[]", 1),
        ("id tags[] at.x more", 1),
        ("id tags[]", 1),
        ("id x y", 2),
    ] {
        let files = [Some("id tags[] at.x at.y[].z"), Some(other)];
        assert_eq!(arranged("jsonl", &files).len(), tables, "{other}");
    }
}

#[test]
fn comparing_is_bounded() {
    let wide = |n: usize| -> String { (0..2_000).map(|c| format!("c{n}x{c} ")).collect() };
    let files: Vec<String> = (0..300).map(wide).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let started = std::time::Instant::now();
    assert_eq!(csv(&files).len(), 300);
    assert!(started.elapsed().as_secs() < 20);
}

proptest! {
    #[test]
    fn tables_are_a_function_of_the_set_of_files(
        (files, order) in prop::collection::vec(prop::option::of("[abc]( [abcd])?( [de])?|column_1( column_2)?|x y"), 2..14).prop_flat_map(|files| {
            let order: Vec<usize> = (0..files.len()).collect();
            (Just(files), Just(order).prop_shuffle())
        }),
    ) {
        let family = family("csv", files.len());
        let mut found = Vec::new();
        for order in [&(0..files.len()).collect::<Vec<_>>(), &order] {
            let mut shapes = Shapes::default();
            for at in order {
                if let Some(columns) = &files[*at] {
                    shapes.add(&family.files[*at].object.path, &file(columns));
                }
            }
            let groups = arrange(family.clone(), &shapes);
            let placed: usize = groups.iter().map(|it| it.files.len()).sum();
            prop_assert_eq!(placed, files.len());
            // Arranging what is arranged changes nothing: the planner may have done it.
            for group in &groups {
                prop_assert_eq!(&arrange(group.clone(), &shapes)[..], std::slice::from_ref(group));
            }
            found.push(groups);
        }
        prop_assert_eq!(&found[0], &found[1]);
    }
}
