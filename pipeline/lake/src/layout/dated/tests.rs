//! Series by example: folders of dates, books of months, dumps of days.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use limn_formats::ObjectRecord;

use crate::contexts::Contexts;
use crate::layout::whole::{Layout, layout, layout_declared};
use crate::layout::{ContextText, Group, GroupKind};
use crate::{Declared, TableName};

fn objects(paths: &[&str]) -> Vec<ObjectRecord> {
    let objects = paths.iter().map(|path| ObjectRecord::unversioned(path, 1));
    objects.collect()
}

fn arrange(paths: &[&str]) -> Layout {
    layout(objects(paths), &Contexts::new(), "lake")
}

/// `kind name: how many files`, in the order of these lines.
fn shown(layout: &Layout) -> Vec<String> {
    let line = |group: &Group| format!("{:?} {}: {}", group.kind, group.name, group.files.len());
    let mut lines: Vec<String> = layout.groups.iter().map(line).collect();
    lines.sort();
    lines
}

fn sorted(lines: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    lines.sort();
    lines
}

#[test]
fn what_comes_each_day_is_together() {
    for (paths, expected) in [
        (
            &[
                "erp/2024/05/20/notes.csv",
                "erp/2024/05/21/notes.csv.gz",
                "erp/2024/05/20/items.csv",
                "erp/2024/05/21/items.csv",
            ][..],
            &["Family erp/*/items: 2", "Family erp/*/notes: 2"][..],
        ),
        (
            &["2022/sales.csv", "2023/sales.csv"],
            &["Family */sales: 2"],
        ),
        // A folder of one date is a folder.
        (
            &["a/2024/sales.csv", "a/x.csv"],
            &["File a/2024/sales: 1", "File a/x: 1"],
        ),
        (&["a/2024/x_1.csv", "a/2024/x_2.csv"], &["Family a/2024: 2"]),
        // Files called by nothing that is a word have their home's name, unless another table has
        // it.
        (
            &[
                "e/2024/05/20/1a.json",
                "e/2024/05/20/7.json",
                "e/2024/05/21/8.json",
            ],
            &["File e/2024/05/20/1a: 1", "Family e: 2"],
        ),
        (
            &["e/2023/1.csv", "e/2024/2.csv", "e/k=1/x.csv"],
            &["Directory e: 1", "Family e/*/*.csv: 2"],
        ),
        (
            &["e/2023/1.csv", "e/2024/2.csv", "e/1.csv", "e/2.csv"],
            &["Family e: 2", "Family e/*/*.csv: 2"],
        ),
        // What is live, and months beside years.
        (
            &[
                "s/orders.csv",
                "s/2023/orders.csv",
                "s/2024/orders.csv",
                "s/2024/05/orders.csv",
            ],
            &[
                "Family s/*/orders: 2",
                "File s/2024/05/orders: 1",
                "File s/orders: 1",
            ],
        ),
        // Numbers that are parts of words.
        (
            &["d/2023/sw04.csv", "d/2023/sw92.csv", "d/2024/sw04.csv"],
            &["Family d/*/sw04: 2", "File d/2023/sw92: 1"],
        ),
        // Two kinds that would share a name.
        (
            &[
                "d/2023/x.csv",
                "d/2024/x.csv",
                "d/2023/05/x.csv",
                "d/2024/05/x.csv",
            ],
            &["Family d/*/*/x.csv: 2", "Family d/*/x.csv: 2"],
        ),
        (
            &["b/2024-05-05/crm/x.csv", "b/2024-05-12/crm/x.csv"],
            &["Family b/*/crm/x: 2"],
        ),
        // JSON may be about what lies beside it.
        (
            &[
                "d/2023/x.csv",
                "d/2024/x.csv",
                "d/2023/x.json",
                "d/2024/x.json",
            ],
            &[
                "Family d/*/x: 2",
                "File d/2023/x.json: 1",
                "File d/2024/x.json: 1",
            ],
        ),
        (
            &["d/2023/n.txt", "d/2024/n.txt", "d/2024/x.csv"],
            &["File d/2023/n: 1", "File d/2024/n: 1", "File d/2024/x: 1"],
        ),
        // Parts and partitions are the table of their directory.
        (
            &["p/2023/k=1/x.csv", "p/2024/k=1/x.csv"],
            &["Directory p/2023: 1", "Directory p/2024: 1"],
        ),
    ] {
        assert_eq!(shown(&arrange(paths)), sorted(expected));
    }
}

#[test]
fn containers_called_by_dates_are_together() {
    for (paths, expected) in [
        (
            &[
                "hr/pay_2024-01.xlsx//Pay",
                "hr/pay_2024-01.xlsx//Info",
                "hr/pay_2024-02.xlsx//Pay",
            ][..],
            &[
                "File hr/pay_2024-01.xlsx//Info: 1",
                "Family hr/pay_*.xlsx//Pay: 2",
            ][..],
        ),
        (
            &["a_2023.xlsx//Jan", "a_2023.xlsx//Feb", "a_2024.xlsx//Jan"],
            &["Family a_*.xlsx//*: 3"],
        ),
        (
            &[
                "d_2023.xlsx//Sheet1",
                "d_2024.xlsx//Sheet1",
                "d_2024.xlsx//Sheet2",
            ],
            &["Family d_*.xlsx//Sheet1: 2", "File d_2024.xlsx//Sheet2: 1"],
        ),
        (
            &[
                "w_20240501.db//t1",
                "w_20240501.db//t2",
                "w_20240502.db//t1",
            ],
            &["Family w_*.db//t1: 2", "File w_20240501.db//t2: 1"],
        ),
        (
            &["e_jan.zip//o/x.csv", "e_feb.zip//o/x.csv"],
            &["Family e_*.zip//o/x: 2"],
        ),
        // Others than dates say nothing.
        (
            &["s_1.xlsx//A", "s_2.xlsx//A"],
            &["File s_1.xlsx//A: 1", "File s_2.xlsx//A: 1"],
        ),
    ] {
        assert_eq!(shown(&arrange(paths)), sorted(expected));
    }
}

#[test]
fn people_say_what_lies_in_folders_of_dates() {
    let mut declared = Declared::default();
    let text = "tables: [{files: '*/notes.csv', separate: true}, {files: '2024/*', name: all}, {files: 'b_*.xlsx', separate: true}]";
    declared.add("erp", text).unwrap();
    let paths = [
        "erp/2023/notes.csv",
        "erp/2024/notes.csv",
        "erp/2024/x.csv",
        "erp/2024/y.csv",
        "erp/b_2023.xlsx//S",
        "erp/b_2024.xlsx//S",
    ];
    let found = layout_declared(
        objects(&paths),
        Vec::new(),
        &Contexts::new(),
        &declared,
        "lake",
    );
    let expected = [
        "File erp/2023/notes: 1",
        "File erp/2024/notes: 1",
        "Declared erp/all: 2",
        "File erp/b_2023.xlsx//S: 1",
        "File erp/b_2024.xlsx//S: 1",
    ];
    assert_eq!(shown(&found), sorted(&expected));
}

#[test]
fn texts_beside_and_above_reach_a_series() {
    let mut registered = Contexts::new();
    registered.insert(
        TableName::parse("erp/*/notes").unwrap(),
        vec!["words".to_owned()],
    );
    let paths = [
        "erp/2023/notes.csv",
        "erp/2024/notes.csv",
        "erp/notes.md",
        "erp/2024/notes.md",
        "erp/README.md",
        "datapackage.json",
    ];
    let found = layout(objects(&paths), &registered, "lake");
    let [family] = found.groups.as_slice() else {
        panic!("one group expected: {:?}", shown(&found));
    };
    assert_eq!(
        (family.kind, family.path.as_str()),
        (GroupKind::Family, "erp/*/notes")
    );
    assert!(found.orphans.is_empty());
    let texts = family.contexts.iter().map(|it| match &it.source {
        ContextText::Shared { object, about, .. } => format!("{} {}", object.path, about.whole),
        source => source
            .object()
            .map_or("words".to_owned(), |it| it.path.clone()),
    });
    let texts: Vec<String> = texts.collect();
    assert_eq!(
        texts,
        [
            "words",
            "erp/notes.md",
            "erp/2024/notes.md",
            "erp/README.md true",
            "datapackage.json false"
        ]
    );
}

#[test]
fn formats_take_over_and_copies_count_apart() {
    for (paths, expected) in [
        (
            &["d/x_1.csv", "d/x_2.csv", "d/x_3.parquet", "d/x_4.parquet"][..],
            &["Family d: 4"][..],
        ),
        (
            &["d/x_1.csv", "d/x_2.parquet"],
            &["File d/x_1: 1", "File d/x_2: 1"],
        ),
        (&["d/DAY_1.CSV", "d/day_2.csv"], &["Family d: 2"]),
        (
            &["d/x_1.csv", "d/x_1.csv.gz", "d/x_2.csv", "d/x_2.csv.gz"],
            &["Family d: 2", "Family d/x_*.csv.gz: 2"],
        ),
        (
            &["d/x_1.csv", "d/x_2.csv", "d/x_2.csv.gz", "d/x_3.csv.gz"],
            &["Family d: 3", "File d/x_2.csv.gz: 1"],
        ),
        (
            &["d/Sales Jan 2024.csv", "d/Sales Feb 2024.csv"],
            &["Family d: 2"],
        ),
        (
            &["d/january.csv", "d/märz.csv", "d/x.csv"],
            &["Family d: 2", "File d/x: 1"],
        ),
    ] {
        assert_eq!(shown(&arrange(paths)), sorted(expected));
    }
}
