//! What tables are called.

use super::*;

#[test]
fn a_file_is_a_table_named_by_its_path() {
    let layout = arrange(&[
        "sales/2024/orders.csv",
        "sales/2024/people.PARQUET",
        "x.jsonl",
        "x.bin",
        "_SUCCESS",
    ]);
    let expected = [
        "File sales/2024/orders: sales/2024/orders",
        "File sales/2024/people: sales/2024/people",
        "File x: x",
    ];
    assert_eq!(shown(&layout), expected);
    assert_eq!(layout.ignored.count(), 2);
}

#[test]
fn files_that_would_share_a_name_keep_their_extensions() {
    let layout = arrange(&[
        "a.csv",
        "a.parquet",
        "b.csv",
        "c.csv",
        "c.csv.csv",
        "d.csv",
        "d/part-00000.csv",
    ]);
    let expected = [
        "File a.csv: a.csv",
        "File a.parquet: a.parquet",
        "File b: b",
        "File c: c",
        // "c.csv" is an object's path: not a name for another.
        "File c.csv.csv: c.csv.csv",
        "Directory d: d/part-00000.csv",
        "File d.csv: d.csv",
    ];
    assert_eq!(shown(&layout), expected);
}

#[test]
fn no_two_tables_are_called_like_the_root() {
    let mut declared = Declared::default();
    declared
        .add("", "tables: [{files: 'y*', name: lake}]")
        .unwrap();
    let paths = ["1.csv", "2.csv", "3.csv", "lake/part-00000.csv", "y.csv"];
    let objects = paths.map(object).to_vec();
    let found = layout_declared(objects, Vec::new(), &Contexts::new(), &declared, "lake");
    let names: BTreeSet<&str> = found.groups.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, BTreeSet::from(["./lake", "././lake", "lake"]));
}

#[test]
fn files_without_an_extension_may_be_tables_and_take_no_names() {
    let layout = arrange(&[
        "a/x_0001",
        "a/x_0001.csv",
        "b/0000_part_00.gz",
        "b/0001_part_00.gz",
        "b/manifest",
        "c/000000_0",
        "c/000001_0",
        "d/README",
        "e/k=1/000000_0",
        "e/k=2/000000_0",
        "f/2024",
        "f/2024/x.csv",
        "f/2024/y.csv",
        "g/part-00000",
        "g/part-00001",
    ]);
    let expected = [
        "File a/x_0001/.: a/x_0001/.",
        "File a/x_0001: a/x_0001",
        "Family b: b/0000_part_00 b/0001_part_00",
        "Family c: c/000000_0 c/000001_0",
        "Directory e: e/k=1/000000_0 e/k=2/000000_0",
        "File f/2024: f/2024",
        "File f/2024/x: f/2024/x",
        "File f/2024/y: f/2024/y",
        "Directory g: g/part-00000 g/part-00001",
    ];
    assert_eq!(shown(&layout), expected);
    let bare = &layout.ignored.others[""];
    let first: Vec<&str> = bare.first.iter().map(String::as_str).collect();
    assert_eq!((bare.objects, first), (2, vec!["b/manifest", "d/README"]));
}

#[test]
fn the_root_is_named_after_the_lake_unless_that_is_taken() {
    assert_eq!(shown(&arrange(&["1.csv", "2.csv"])), ["Family lake: 1 2"]);
    assert_eq!(
        shown(&arrange(&["part-00000.csv", "lake.csv"])),
        ["Directory ./lake: part-00000.csv", "File lake: lake"]
    );
    let unnamed = layout(vec![object("part-00000.csv")], &Contexts::new(), "");
    assert_eq!(unnamed.groups[0].name.as_str(), "lake");
}

#[test]
fn names_with_control_characters_are_refused_with_a_reason() {
    let layout = arrange(&["a\nb.csv", "c.csv"]);
    assert_eq!(shown(&layout), ["File c: c"]);
    assert_eq!(layout.refused.len(), 1);
    let message = layout.refused[0].to_string();
    assert!(
        message.contains("a\\nb.csv") && message.contains("rename") && message.lines().count() == 1,
        "{message}"
    );
}

#[test]
fn fingerprints_show_a_file_that_must_keep_its_extension() {
    let before = arrange(&["a.csv"]);
    let after = arrange(&["a.csv", "a.parquet"]);
    assert_eq!(before.groups[0].key, after.groups[0].key);
    assert_ne!(
        before.groups[0].fingerprints(),
        after.groups[0].fingerprints()
    );
    assert_eq!(
        before.groups[0].files[0].content_fingerprint(),
        after.groups[0].files[0].content_fingerprint()
    );
}
