//! The rules of naming and grouping by example, then the invariants over random sets of paths.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use limn_formats::Fingerprint;

fn object(path: &str) -> ObjectRecord {
    ObjectRecord {
        path: path.into(),
        etag: None,
        version: None,
        size: 1,
        modified_ms: 0,
    }
}

fn arrange(paths: &[&str]) -> Layout {
    layout(
        paths.iter().map(|path| object(path)).collect(),
        &Contexts::new(),
        "lake",
    )
}

fn contexts(pairs: &[(&str, &str)]) -> Contexts {
    let mut contexts = Contexts::new();
    for (table, text) in pairs {
        contexts
            .entry(TableName::parse(table).unwrap())
            .or_default()
            .push((*text).to_owned());
    }
    contexts
}

/// `kind name: file names`, by path.
fn shown(layout: &Layout) -> Vec<String> {
    let line = |group: &Group| {
        let names: Vec<&str> = group
            .files
            .iter()
            .map(|file| file.table_name.as_str())
            .collect();
        format!("{:?} {}: {}", group.kind, group.name, names.join(" "))
    };
    layout.groups.iter().map(line).collect()
}

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
fn a_directory_of_like_named_files_is_a_family_and_of_unlike_ones_is_not() {
    let layout = arrange(&[
        "logs/2024-01-01.csv",
        "logs/2024-01-02.csv",
        "logs/deep/other.csv",
    ]);
    assert_eq!(
        shown(&layout),
        [
            "Family logs: logs/2024-01-01 logs/2024-01-02",
            "File logs/deep/other: logs/deep/other"
        ]
    );
    for unlike in [
        &["d/x1.csv", "d/x2.parquet"][..],
        &["d/x1.csv", "d/y2.csv"],
        &["d/x1.csv"],
        &["d/x1.csv", "d/x1.tsv"],
        &["d/x.csv", "d/x.tsv"],
    ] {
        assert!(
            arrange(unlike)
                .groups
                .iter()
                .all(|group| group.kind == GroupKind::File),
            "{unlike:?}"
        );
    }
}

#[test]
fn strays_and_other_families_beside_a_family_do_not_matter() {
    for (paths, expected) in [
        // Most files of the directory are the table's: it has the directory's name.
        (
            &["d/x1.csv", "d/x2.csv", "d/notes.csv"][..],
            &["Family d: d/x1 d/x2", "File d/notes: d/notes"][..],
        ),
        (
            &[
                "d/x_1.csv",
                "d/x_2.csv",
                "d/x_3.csv",
                "d/a.csv",
                "d/b.csv",
                "d/c.parquet",
            ],
            &[
                "File d/a: d/a",
                "File d/b: d/b",
                "File d/c: d/c",
                "Family d/x_*: d/x_1 d/x_2 d/x_3",
            ],
        ),
        // Numbers that are parts of words, and two files that no dates tell apart.
        (
            &[
                "d/cps1.csv",
                "d/cps2.csv",
                "d/cps3.csv",
                "d/a_1.csv",
                "d/a_2.csv",
                "d/b.csv",
            ],
            &[
                "File d/a_1: d/a_1",
                "File d/a_2: d/a_2",
                "File d/b: d/b",
                "File d/cps1: d/cps1",
                "File d/cps2: d/cps2",
                "File d/cps3: d/cps3",
            ],
        ),
        (
            &[
                "d/orders_2024-01.csv",
                "d/orders_2024-02.csv.gz",
                "d/customers_1.csv",
                "d/customers_2.csv",
                "d/customers_3.csv",
                "d/orders_2024-01.json",
            ],
            &[
                "Family d/customers_*: d/customers_1 d/customers_2 d/customers_3",
                "Family d/orders_*: d/orders_2024-01.csv d/orders_2024-02",
                "File d/orders_2024-01.json: d/orders_2024-01.json",
            ],
        ),
        // The same thing twice.
        (
            &[
                "d/2021.csv",
                "d/2021.tsv",
                "d/2022.csv",
                "d/2022.tsv",
                "d/2023.csv",
            ],
            &[
                "Family d/*.csv: d/2021.csv d/2022.csv d/2023",
                "Family d/*.tsv: d/2021.tsv d/2022.tsv",
            ],
        ),
        // Years and months.
        (
            &["d/2021.csv", "d/2022.csv", "d/2021-1.csv", "d/2021-2.csv"],
            &[
                "Family d/*-*.csv: d/2021-1 d/2021-2",
                "Family d/*.csv: d/2021 d/2022",
            ],
        ),
        // One set is most of the directory.
        (
            &[
                "d/log1.csv",
                "d/log2.csv",
                "d/log3.csv",
                "d/err1.csv",
                "d/err2.csv",
            ],
            &[
                "Family d: d/log1 d/log2 d/log3",
                "File d/err1: d/err1",
                "File d/err2: d/err2",
            ],
        ),
        // Of one name, whatever their extensions look like.
        (
            &[
                "d/x_2021.csv",
                "d/x_2022.csv",
                "d/x_2021.json",
                "d/x_2022.json",
                "d/x_2021.csv.parquet",
                "d/x_2022.csv.parquet",
            ],
            &[
                "Family d/x_*: d/x_2021.csv d/x_2022.csv",
                "Family d/x_*.csv: d/x_2021.csv.parquet d/x_2022.csv.parquet",
                // They may be about the tables beside them.
                "File d/x_2021.json: d/x_2021.json",
                "File d/x_2022.json: d/x_2022.json",
            ],
        ),
        // A star of one's own.
        (
            &["d/x_*.csv", "d/x_2021.csv", "d/x_2022.csv", "d/y.csv"],
            &[
                "Family ./d/x_*: d/x_2021 d/x_2022",
                "File d/x_*: d/x_*",
                "File d/y: d/y",
            ],
        ),
        // Tables of a database are called what they are on purpose.
        (
            &["b.db//x1", "b.db//x2", "b.db//y"],
            &[
                "File b.db//x1: b.db//x1",
                "File b.db//x2: b.db//x2",
                "File b.db//y: b.db//y",
            ],
        ),
    ] {
        assert_eq!(shown(&arrange(paths)), expected);
    }
    // What is told of the shared name is told of them.
    let registered = contexts(&[("d/x", "words"), ("d/x_*", "pattern"), ("d/x_2021", "one")]);
    let objects = [
        "d/a.csv",
        "d/b.csv",
        "d/x_2021.csv",
        "d/x_2022.csv",
        "d/x.md",
        "d/README.md",
    ];
    let found = layout(objects.map(object).to_vec(), &registered, "lake");
    assert_eq!(found.orphans, [""; 0]);
    let family = found.groups.iter().find(|it| it.kind == GroupKind::Family);
    let tables = family.unwrap().contexts.iter().map(|it| it.table.as_str());
    let tables: Vec<&str> = tables.collect();
    assert_eq!(tables, ["d/x_*", "d/x_*", "d/x_*", "d/x_2021", "d/x_*"]);
}

#[test]
fn json_beside_each_file_of_a_family_is_about_it() {
    let paths = ["1", "2", "3"].map(|n| [format!("d/city_{n}.csv"), format!("d/city_{n}.json")]);
    let paths: Vec<String> = paths.into_iter().flatten().collect();
    let found = arrange(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(found.orphans, [""; 0]);
    let family = &found.groups[0];
    assert_eq!((family.kind, family.contexts.len()), (GroupKind::Family, 3));
    let alone = family.clone().part(|_| false);
    assert!(alone.iter().all(|group| group.contexts.len() == 1));
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
fn people_say_how_files_are_read_and_what_they_are() {
    let arrange = |text: &str, paths: &[&str]| {
        let mut declared = Declared::default();
        declared.add("d", text).unwrap();
        let objects = paths.iter().map(|path| object(path)).collect();
        layout_declared(objects, Vec::new(), &Contexts::new(), &declared, "lake")
    };
    let paths = [
        "d/x_1.csv",
        "d/x_2.csv",
        "d/x_3.csv",
        "d/x.md",
        "d/z.csv",
        "e/x_1.csv",
    ];
    let of = |text: &str| arrange(text, &paths);
    let plain = of("tables: []");
    let told = of("tables: [{files: 'x_[12].csv', header: none, description: About x}]");
    // What is one table is as ever.
    assert_eq!(shown(&told), shown(&plain));
    let family = |layout: &Layout| layout.groups[0].clone();
    assert_eq!(reaching(&told, "d"), ["About x"]);
    let declared = |group: &Group| {
        let files = group.files.iter();
        files.filter(|it| it.declared.is_some()).count()
    };
    assert_eq!(declared(&family(&told)), 2);
    // A file that is a table of its own keeps what is said of it, and no other has it.
    let parts = family(&told).part(|path| path == "d/x_3.csv");
    let texts: Vec<usize> = parts.iter().map(|it| it.contexts.len()).collect();
    assert_eq!((parts.len(), texts), (3, vec![0, 1, 1]));
    // Other words change no file, other readings change those that they are of.
    let contents = |layout: &Layout| -> Vec<Fingerprint> {
        let files = layout.groups.iter().flat_map(|group| &group.files);
        files.map(TableFile::content_fingerprint).collect()
    };
    let differ = |a: &Layout, b: &Layout| {
        let same = contents(a).into_iter().zip(contents(b));
        same.filter(|(a, b)| a != b).count()
    };
    let members = |layout: &Layout| -> Vec<Fingerprint> {
        layout.groups.iter().flat_map(Group::fingerprints).collect()
    };
    let words = of("tables: [{files: 'x_[12].csv', header: none, description: More of x}]");
    let other = of("tables: [{files: 'x_[12].csv', header: 1, description: About x}]");
    assert_eq!(
        (
            differ(&told, &plain),
            differ(&told, &words),
            differ(&told, &other)
        ),
        (2, 0, 2)
    );
    assert_ne!(members(&told), members(&words));
    // Of parts and of what is in a container, too.
    let paths = ["d/part-00000.csv", "d/book.xlsx//2024", "d/day=1/x_1.csv"];
    let found = arrange(
        "tables: [{files: '*', separate: true, header: none}]",
        &paths,
    );
    let said: Vec<(&str, usize)> = found
        .groups
        .iter()
        .map(|it| (it.files[0].object.path.as_str(), declared(it)))
        .collect();
    assert_eq!(said, [("d/day=1/x_1.csv", 1), ("d/book.xlsx//2024", 1),]);
}

#[test]
fn people_say_what_is_one_table() {
    let mut declared = Declared::default();
    let text = "tables:\n- {files: 'x_2*', name: all}\n- {files: 'y_*', separate: true}\n- {files: '*.json', name: x_1}\n";
    declared.add("d", text).unwrap();
    let paths = [
        "d/all/part-00000.csv",
        "d/all.md",
        "d/x_1.csv",
        "d/x_20.csv",
        "d/x_21.parquet",
        "d/y_1.csv",
        "d/y_2.csv",
        "d/y_3.csv",
        "d/z.json",
        "e/x_20.csv",
    ];
    let arrange = |paths: &[&str]| {
        let objects = paths.iter().map(|path| object(path)).collect();
        layout_declared(objects, Vec::new(), &Contexts::new(), &declared, "lake")
    };
    let found = arrange(&paths);
    let expected = [
        "Directory d/all: d/all/part-00000.csv",
        "Declared ./d/all: d/x_20.csv d/x_21.parquet",
        "Declared d/x_1: d/z.json",
        "File d/x_1.csv: d/x_1.csv",
        "File d/y_1: d/y_1",
        "File d/y_2: d/y_2",
        "File d/y_3: d/y_3",
        "File e/x_20: e/x_20",
    ];
    assert_eq!(shown(&found), expected);
    // Without a folder of the name it is the table's.
    let found = arrange(&paths[1..]);
    assert_eq!(
        shown(&found)[0],
        "Declared d/all: d/x_20.csv d/x_21.parquet"
    );
    assert_eq!(reaching(&found, "d/all"), ["d/all.md"]);
}

#[test]
fn plain_texts_may_be_about_what_is_called_like_them_and_may_be_tables() {
    let layout = arrange(&[
        "a.csv",
        "a.txt",
        "b.txt",
        "c.csv",
        "c.dat",
        "d.txt",
        "d/notes.txt",
        "d/x1.csv",
        "d/x2.csv",
        "e.csv",
        "e.csv.txt",
        "f/1.dat",
        "f/2.dat",
        "license.txt",
        "t/k=1/notes.txt",
        "t/k=1/x.dat",
        "t/k=1/y.csv",
        "z.zip//a.csv",
        "z.zip//a.txt",
    ]);
    let expected = [
        "File a: a",
        // What may be no table takes no other's name.
        "File a.txt: a.txt",
        "File b: b",
        "File c: c",
        "File c.dat: c.dat",
        "Family d: d/x1 d/x2",
        "File d.txt: d.txt",
        "File d/notes: d/notes",
        "File e: e",
        "File e.csv.txt: e.csv.txt",
        "Family f: f/1 f/2",
        "Directory t: t/k=1/y.csv",
        "File z.zip//a: z.zip//a",
        "File z.zip//a.txt: z.zip//a.txt",
    ];
    assert_eq!(shown(&layout), expected);
    for (table, text) in [("a", "a.txt"), ("d", "d.txt"), ("e", "e.csv.txt")] {
        assert_eq!(reaching(&layout, table), [text]);
        assert!(reaching(&layout, text).is_empty(), "{text}");
    }
    let files = layout.groups.iter().flat_map(|group| &group.files);
    let beside = files.filter(|file| file.is_beside);
    let beside: Vec<&str> = beside.map(|file| file.object.path.as_str()).collect();
    assert_eq!(beside, ["a.txt", "d.txt", "e.csv.txt"]);
    assert_eq!(layout.orphans, ["t/k=1/notes.txt"]);
    let ignored: Vec<&str> = layout.ignored.others.keys().map(String::as_str).collect();
    assert_eq!(ignored, ["dat", "txt"]);
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
fn partitions_and_parts_are_one_table_of_their_directory() {
    let layout = arrange(&[
        "t/y=1/m=2/a.csv",
        "t/y=2/b.parquet",
        "t/part-00000.csv",
        "t/x1.csv",
        "t/x2.csv",
        "y=1/a.csv",
    ]);
    let groups = shown(&layout);
    assert_eq!(
        groups,
        [
            "Directory lake: y=1/a.csv",
            "Directory t: t/part-00000.csv t/y=1/m=2/a.csv t/y=2/b.parquet",
            // The directory's name is taken, and theirs say too little.
            "File t/x1: t/x1",
            "File t/x2: t/x2",
        ]
    );
    let partition = place::partition(&layout.groups[1].files[1].object.path);
    assert_eq!(
        partition,
        [
            ("y".to_owned(), Some("1".to_owned())),
            ("m".to_owned(), Some("2".to_owned()))
        ]
    );
}

#[test]
fn spark_writes_directories_called_like_files() {
    let layout = arrange(&["out.csv", "out.csv/part-00000.csv", "out.csv/_SUCCESS"]);
    assert_eq!(
        shown(&layout),
        [
            "File out: out",
            "Directory out.csv/: out.csv/part-00000.csv"
        ]
    );
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
fn contexts_reach_the_tables_they_name() {
    let objects = [
        "a.csv",
        "a.parquet",
        "a.md",
        "b/1.csv",
        "b/2.csv",
        "b.txt",
        "b/1.md",
        "c/k=1/x.csv",
        "c.md",
        "c/k=1/x.md",
        "nothing.md",
        "README.md",
        "d.csv",
        "d.csv.md",
    ];
    let registered = contexts(&[
        ("a", "both"),
        ("b", "family"),
        ("b/2", "second"),
        ("c", "one"),
        ("c", "two"),
        ("d.csv", "by path"),
        ("e", "lost"),
        ("e", "lost too"),
    ]);
    let layout = layout(
        objects.iter().map(|path| object(path)).collect(),
        &registered,
        "lake",
    );
    let mut found: Vec<String> = Vec::new();
    for group in &layout.groups {
        for context in &group.contexts {
            let text = match &context.source {
                ContextText::Registered { text, .. } | ContextText::Declared { text, .. } => {
                    text.clone()
                }
                ContextText::Sidecar { object } | ContextText::Shared { object, .. } => {
                    object.path.clone()
                }
            };
            found.push(format!("{} ← {text}", context.table));
        }
    }
    let expected = [
        "a.csv ← both",
        "a.csv ← a.md",
        "a.csv ← README.md",
        "a.parquet ← both",
        "a.parquet ← a.md",
        "a.parquet ← README.md",
        "b ← family",
        "b ← b.txt",
        "b/1 ← b/1.md",
        "b/2 ← second",
        "b ← README.md",
        "b.txt ← README.md",
        "c ← one",
        "c ← two",
        "c ← c.md",
        "c ← README.md",
        "d ← by path",
        "d ← d.csv.md",
        "d ← README.md",
    ];
    assert_eq!(found, expected);
    assert_eq!(layout.orphans, ["e", "c/k=1/x.md", "nothing.md"]);
    assert_eq!(layout.ignored.count(), 0);
}

#[test]
fn a_split_family_is_what_its_files_would_be_alone() {
    let registered = contexts(&[("f", "all"), ("f/2", "second")]);
    let found = layout(
        vec![object("f/1.csv"), object("f/2.csv")],
        &registered,
        "lake",
    );
    let [family] = &found.groups[..] else {
        panic!("{found:?}")
    };
    let parts = family.clone().part(|_| false);
    let names: Vec<&str> = parts.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["f/1", "f/2"]);
    assert!(
        parts
            .iter()
            .all(|group| group.kind == GroupKind::File && group.files.len() == 1)
    );
    let texts: Vec<usize> = parts.iter().map(|group| group.contexts.len()).collect();
    assert_eq!(texts, [0, 1]);
    // A file alone in its directory is the same group: the key does not tell how it came about.
    let alone = layout(vec![object("f/1.csv")], &Contexts::new(), "lake");
    assert_eq!(alone.groups[0], parts[0]);
}

#[test]
fn a_family_and_its_strays_keep_what_is_said_of_each() {
    let registered = contexts(&[("f", "all"), ("f/1", "first"), ("f/2", "second")]);
    let objects = ["f/1.csv", "f/2.csv", "f/3.csv", "f/README.md"];
    let found = layout(objects.map(object).to_vec(), &registered, "lake");
    let parts = found.groups[0].clone().part(|path| path != "f/2.csv");
    let told = |group: &Group| -> Vec<String> {
        let context = |it: &ContextSource| match &it.source {
            ContextText::Registered { text, .. } | ContextText::Declared { text, .. } => {
                text.clone()
            }
            ContextText::Shared { about, .. } => format!("{} but {:?}", about.whole, about.others),
            ContextText::Sidecar { object } => object.path.clone(),
        };
        group.contexts.iter().map(context).collect()
    };
    let found: Vec<_> = parts
        .iter()
        .map(|it| (it.name.as_str(), told(it)))
        .collect();
    let expected = [
        ("f", vec!["all", "first", "true but [\"f/2.csv\"]"]),
        ("f/2", vec!["second", "true but [\"f\"]"]),
    ];
    let expected =
        expected.map(|(name, texts)| (name, texts.into_iter().map(str::to_owned).collect()));
    assert_eq!(found, expected);
}

#[test]
fn fingerprints_tell_a_file_that_must_keep_its_extension() {
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

/// Paths of few components, so that names clash often.
fn some_path() -> impl Strategy<Value = String> {
    let directory = select(vec![
        "a",
        "b",
        "a.csv",
        "sales",
        "k=1",
        "k=2",
        "j=x%20y",
        "_tmp",
        "_k=1",
        "lake",
        "2023",
        "2024",
        "05",
        "2024-05-01",
        "d_2023.zip/",
        "d_2024.zip/",
    ]);
    let stem = select(vec![
        "a",
        "b",
        "a.csv",
        "lake",
        "sales",
        "x1",
        "x2",
        "x10",
        "part-00000",
        "part-00001",
        "x_0001",
        "x_0002",
        "readme",
    ]);
    let extension = select(vec![
        ".csv", ".csv.gz", ".tsv", ".parquet", ".jsonl", ".md", ".txt", ".dat", ".csv.txt",
        ".csv.md", ".bin", "", ".gz",
    ]);
    (prop::collection::vec(directory, 0..3), stem, extension).prop_map(
        |(directories, stem, extension)| {
            let mut path = String::new();
            for directory in directories {
                path.push_str(directory);
                path.push('/');
            }
            path + stem + extension
        },
    )
}

fn some_objects() -> impl Strategy<Value = Vec<ObjectRecord>> {
    prop::collection::btree_set(some_path(), 0..30)
        .prop_map(|paths| paths.iter().map(|path| object(path)).collect())
}

fn some_contexts() -> impl Strategy<Value = Contexts> {
    prop::collection::vec((some_path(), "[xy]"), 0..4).prop_map(|pairs| {
        let pairs: Vec<(&str, &str)> = pairs
            .iter()
            .map(|(table, text)| (table.as_str(), text.as_str()))
            .collect();
        contexts(&pairs)
    })
}

fn some_root() -> impl Strategy<Value = &'static str> {
    select(vec!["lake", "a", "a.csv", "sales", "", "a/"])
}

fn by_key(layout: &Layout) -> BTreeMap<GroupKey, &Group> {
    layout
        .groups
        .iter()
        .map(|group| (group.key, group))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn the_order_of_objects_does_not_matter(
        (objects, shuffled) in some_objects().prop_flat_map(|o| (Just(o.clone()), Just(o).prop_shuffle())),
        registered in some_contexts(), root in some_root(),
    ) {
        prop_assert_eq!(layout(objects, &registered, root), layout(shuffled, &registered, root));
    }

    #[test]
    fn no_two_tables_share_a_name(objects in some_objects(), root in some_root()) {
        let layout = layout(objects, &Contexts::new(), root);
        let mut names = BTreeSet::new();
        let mut keys = BTreeSet::new();
        for group in &layout.groups {
            prop_assert!(keys.insert(group.key));
            prop_assert!(names.insert(group.name.clone()), "{} in {:?}", group.name, shown(&layout));
            if group.kind == GroupKind::Family {
                for file in &group.files {
                    prop_assert!(names.insert(file.table_name.clone()), "{} in {:?}", file.table_name, shown(&layout));
                }
            }
        }
    }

    #[test]
    fn every_object_is_in_one_place(objects in some_objects()) {
        let layout = layout(objects.clone(), &Contexts::new(), "lake");
        let mut placed: BTreeMap<&str, usize> = BTreeMap::new();
        let mut sidecars = BTreeSet::new();
        for group in &layout.groups {
            prop_assert!(!group.files.is_empty());
            prop_assert!(group.kind != GroupKind::File || group.files.len() == 1);
            prop_assert!(group.kind != GroupKind::Family || group.files.len() > 1);
            prop_assert!(group.files.is_sorted_by_key(|file| &file.object.path));
            for file in &group.files {
                *placed.entry(&file.object.path).or_default() += 1;
            }
            for context in &group.contexts {
                if let Some(object) = context.source.object() {
                    sidecars.insert(object.path.as_str());
                }
            }
        }
        prop_assert!(placed.values().all(|times| *times == 1));
        // A plain text may be either.
        sidecars.retain(|path| !(may_be_beside(path) && placed.contains_key(path)));
        prop_assert_eq!(placed.len() + sidecars.len() + layout.orphans.len() + layout.ignored.count(), objects.len());
    }

    #[test]
    fn an_unrelated_object_changes_no_other_group(
        objects in some_objects(), registered in some_contexts(), root in some_root(), path in some_path(),
    ) {
        let before = layout(objects.clone(), &registered, root);
        let mut more = objects;
        more.push(object(&format!("elsewhere/{path}")));
        let after = layout(more, &registered, root);
        let after = by_key(&after);
        for group in &before.groups {
            prop_assert_eq!(after.get(&group.key).copied(), Some(group));
        }
    }

    #[test]
    fn fingerprints_are_equal_exactly_if_groups_are(
        (all, some) in some_objects().prop_flat_map(|o| (Just(o.clone()), subsequence(o.clone(), 0..=o.len()))),
        registered in some_contexts(),
    ) {
        let before = layout(all, &registered, "lake");
        let after = layout(some, &registered, "lake");
        let after = by_key(&after);
        for group in &before.groups {
            if let Some(other) = after.get(&group.key) {
                prop_assert_eq!(group == *other, group.fingerprints() == other.fingerprints());
            }
        }
    }

    #[test]
    fn no_two_files_of_a_table_draw_by_the_same_path(objects in some_objects()) {
        let together = layout(objects, &Contexts::new(), "lake");
        // Within a table, no two files draw by the same path.
        for group in together.groups.iter().filter(|group| group.kind != GroupKind::File) {
            let paths: BTreeSet<&str> = group.files.iter().map(|file| file.sample_path()).collect();
            prop_assert_eq!(paths.len(), group.files.len());
        }
    }
}

mod parts_of_a_lake {
    use super::*;
    use crate::reach::{is_within, parent, reach, shares_name};

    fn arranged(paths: &BTreeSet<String>) -> Vec<Group> {
        let objects = paths.iter().map(|path| object(path)).collect();
        layout(objects, &Contexts::new(), "lake").groups
    }

    /// The folder that a change of `path` reaches in a lake of these objects.
    fn reached<'a>(path: &'a str, paths: &BTreeSet<String>) -> &'a str {
        let mut folder = reach(path);
        while !folder.is_empty()
            && paths
                .iter()
                .any(|beside| parent(beside) == parent(folder) && shares_name(beside, folder))
        {
            folder = parent(folder);
        }
        folder
    }

    fn paths() -> impl Strategy<Value = BTreeSet<String>> {
        let folder = select(vec![
            "",
            "a/",
            "a/b/",
            "a/b/k=1/",
            "a/b/c/",
            "a/k=2/",
            "b/",
            "2023/",
            "2024/",
            "2024/b/",
            "a/2023/",
            "a/2024/",
            "a/2024/05/",
            "a/2023/05/",
            "a/2024/k=1/",
            "a/2024/b/",
            "a/2023/b/",
            "a/target/",
            "a/target/run/",
        ]);
        let name = select(vec![
            "a.csv",
            "b.csv",
            "b.parquet",
            "c.csv",
            "x1.csv",
            "x2.csv",
            "part-00000.csv",
            "b.md",
            "x1.md",
            "a.md",
            "README.md",
            "codebook.txt",
            "a.txt",
            "b.txt",
            "x1.txt",
            "x2.dat",
            "datapackage.json",
            "schema.yml",
            "manifest.json",
            "openlineage1.jsonl",
            "openlineage2.jsonl",
        ]);
        let path = (folder, name).prop_map(|(folder, name)| format!("{folder}{name}"));
        prop::collection::btree_set(path, 0..20)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// What one object changes lies in the folder that it reaches, and that folder is laid out the
        /// same from its own objects and the files beside it alone.
        #[test]
        fn a_change_stays_within_its_reach(before in paths(), path in paths()) {
            let Some(path) = path.first() else { return Ok(()) };
            let mut after = before.clone();
            if !after.remove(path) {
                after.insert(path.clone());
            }
            let both: BTreeSet<String> = before.union(&after).cloned().collect();
            let folder = reached(path, &both);
            let (old, new) = (arranged(&before), arranged(&after));
            for group in old.iter().filter(|group| !new.contains(group)) {
                prop_assert!(is_within(&group.path, folder), "{group:?} {folder}");
            }
            for group in new.iter().filter(|group| !old.contains(group)) {
                prop_assert!(is_within(&group.path, folder), "{group:?} {folder}");
            }
            let part: BTreeSet<String> = after
                .iter()
                .filter(|path| {
                    is_within(path, folder)
                        || parent(path) == parent(folder)
                        || described_below(path).is_some_and(|it| is_within(folder, it))
                })
                .cloned()
                .collect();
            let within = |groups: Vec<Group>| {
                let within = groups.into_iter().filter(|group| is_within(&group.path, folder));
                within.collect::<Vec<Group>>()
            };
            prop_assert_eq!(within(arranged(&part)), within(new));
        }
    }
}

#[test]
fn what_holds_nothing_for_an_index_is_counted_by_extension() {
    let paths = [
        "a.pdf",
        "x/b.PDF",
        "c.docx",
        "Makefile",
        "v1.2",
        "x/README.md",
        "odd.what is this",
        ".hidden.csv",
        "_SUCCESS",
        "a.csv",
        "a.md",
    ];
    let objects = paths.map(object).to_vec();
    let ignored = layout(objects, &Contexts::new(), "lake").ignored;
    assert_eq!((ignored.hidden, ignored.count()), (2, 8));
    let counted = ignored.others.iter().map(|(it, n)| (&**it, n.objects));
    let counted: Vec<(&str, usize)> = counted.collect();
    assert_eq!(counted, [("", 3), ("docx", 1), ("md", 1), ("pdf", 1)]);
}

#[test]
fn extensions_without_end_take_no_memory_without_end() {
    let objects = (0..5000).map(|i| object(&format!("a.x{i}")));
    let ignored = layout(objects.collect(), &Contexts::new(), "lake").ignored;
    assert_eq!(ignored.count(), 5000);
    assert!(ignored.others.len() <= 501, "{}", ignored.others.len());
}

#[test]
fn what_is_read_is_what_the_layout_places() {
    for (path, data, read) in [
        ("a.csv", true, true),
        ("a.md", false, true),
        ("readme.md", false, true),
        ("datapackage.json", false, true),
        ("x/orders.csv-metadata.json", false, true),
        ("orders-metadata.json", true, true),
        ("data_dictionary.json", false, true),
        ("dictionary.json", true, true),
        ("data_dictionary.csv", true, true),
        ("a.jsonld", false, true),
        // They may be either, as their content says.
        ("target/manifest.json", true, true),
        ("openlineage-1.jsonl", true, true),
        ("stg_schema.yml", false, true),
        ("_models.yml", false, true),
        ("_orders.yml", false, false),
        ("README.pdf", false, true),
        ("codebook.pdf", false, true),
        ("license.md", false, false),
        ("a.txt", true, true),
        ("a.dat.gz", true, true),
        ("readme.txt", false, true),
        ("Licence.txt", false, false),
        ("notice.dat", false, false),
        ("a.pdf", false, true),
        ("a.DBF", true, true),
        ("a.shp", false, true),
        ("a.cpg", false, true),
        ("a.prj", false, false),
        ("_tmp/a.shp", false, false),
        ("a.geojson", true, true),
        ("_tmp/a.csv", false, false),
        ("b.xlsx//schema.yml", true, true),
        ("b.xlsx//(left out)//", false, true),
        ("x.tar//../out.csv//", false, false),
        (".a.md", false, false),
    ] {
        assert_eq!((is_data(path), is_read(path)), (data, read), "{path}");
    }
}

/// What reaches a table, as `path` or `path (whole)`, in order.
fn reaching(layout: &Layout, table: &str) -> Vec<String> {
    let groups = layout.groups.iter();
    let contexts = groups.flat_map(|group| &group.contexts);
    let its = contexts.filter(|context| context.table.as_str() == table);
    its.map(|context| match &context.source {
        ContextText::Registered { text, .. } | ContextText::Declared { text, .. } => text.clone(),
        ContextText::Sidecar { object } => object.path.clone(),
        ContextText::Shared { object, about, .. } if about.whole => {
            format!("{} (whole)", object.path)
        }
        ContextText::Shared { object, .. } => object.path.clone(),
    })
    .collect()
}

#[test]
fn shared_texts_reach_the_tables_of_their_directory_and_manifests_those_below() {
    let paths = [
        "datapackage.json",
        "README.md",
        "top.csv",
        "schema.csv",
        "schema.yml",
        "a/README.md",
        "a/codebook.md",
        "a/orders.csv",
        "a/orders.md",
        "a/models.yml",
        "a/b/people.csv",
        "a/hive/k=1/x.csv",
        "ab/other.csv",
        "nothing/README.md",
        "nothing/croissant.json",
    ];
    let found = layout(paths.map(object).to_vec(), &Contexts::new(), "lake");
    let all = |table| reaching(&found, table);
    assert_eq!(all("top"), ["datapackage.json", "README.md (whole)"]);
    assert_eq!(
        all("a/orders"),
        [
            "a/orders.md",
            "a/models.yml",
            "a/codebook.md (whole)",
            "a/README.md (whole)",
            "datapackage.json",
            "README.md"
        ]
    );
    assert_eq!(
        all("a/b/people"),
        [
            "a/models.yml",
            "a/README.md",
            "datapackage.json",
            "README.md"
        ]
    );
    assert_eq!(
        all("a/hive"),
        [
            "a/models.yml",
            "a/codebook.md",
            "a/README.md",
            "datapackage.json",
            "README.md"
        ]
    );
    assert_eq!(all("ab/other"), ["datapackage.json", "README.md"]);
    // Each knows which others of its folder the text may name, and in which folders it lies.
    let about = |table: &str| {
        let contexts = found.groups.iter().flat_map(|group| &group.contexts);
        let mut about = contexts.filter_map(|context| match &context.source {
            ContextText::Shared { object, about, .. } if object.path == "README.md" => {
                (context.table.as_str() == table).then_some(about)
            }
            _ => None,
        });
        about.next().unwrap()
    };
    assert_eq!(about("top").others, ["schema.csv"]);
    assert_eq!(about("a/b/people").folders, ["a/b", "a"]);
    assert!(about("top").folders.is_empty() && about("a/b/people").others.is_empty());
    // Beside a table of its name it is a sidecar.
    assert_eq!(
        all("schema"),
        ["schema.yml", "datapackage.json", "README.md (whole)"]
    );
    assert_eq!(found.ignored.count(), 2);
    assert!(found.orphans.is_empty());
    let many = (0..21).map(|i| object(&format!("t{}.csv", "x".repeat(i + 1))));
    let many = many.chain([object("README.md")]).collect();
    assert_eq!(
        reaching(&layout(many, &Contexts::new(), "lake"), "tx"),
        ["README.md"]
    );
}

#[test]
fn what_programs_write_reaches_what_lies_beside_its_folder() {
    let objects = [
        "shop/README.md",
        "shop/orders.csv",
        // Code, whatever it is called.
        "shop/dbt/target/run/shop/seeds/people.csv",
        "shop/dbt/target/compiled/shop/people.md",
        "shop/manifest.json",
        "shop/dbt/target/manifest.json",
        "shop/dbt/target/catalog.json",
        "shop/dbt/seeds/people.csv",
        "shop/lineage/x.openlineage.json",
        "other/orders.csv",
        "deep/a/b/manifest.json",
        "runs/run=1/manifest.json",
        "x.zip//manifest.json",
        "other/target/run/x.csv",
    ];
    let found = layout(objects.map(object).to_vec(), &Contexts::new(), "lake");
    let of_project = [
        "shop/dbt/target/manifest.json",
        "shop/dbt/target/catalog.json",
    ];
    let of_events = "shop/lineage/x.openlineage.json";
    // The README is whole of the only table there: what may be a manifest counts as none.
    let of_shop = [
        &of_project[..],
        &[of_events, "shop/manifest.json", "shop/README.md (whole)"],
    ];
    assert_eq!(reaching(&found, "shop/orders"), of_shop.concat());
    let of_seeds = [
        &of_project[..],
        &[of_events, "shop/manifest.json", "shop/README.md"],
    ];
    assert_eq!(reaching(&found, "shop/dbt/seeds/people"), of_seeds.concat());
    // That of the shop lies in the lake's root, as the shop does.
    assert_eq!(reaching(&found, "other/orders"), ["shop/manifest.json"]);
    for table in ["deep/a/b/manifest", "shop/dbt/target/manifest"] {
        assert!(reaching(&found, table).is_empty(), "{table}");
    }
    let runs = found.groups.iter().find(|it| it.path == "runs").unwrap();
    assert_eq!(runs.kind, GroupKind::Directory);
    assert_eq!(found.groups.len(), 11);
    assert_eq!((found.ignored.count(), found.orphans.len()), (2, 0));
}

#[test]
fn json_beside_another_format_is_data_and_a_sidecar() {
    let paths = [
        "a/orders.csv",
        "a/orders.md",
        "a/orders.json",
        "a/orders.csv.json",
        "a/people.json",
        "a/people.jsonl",
        "b/x.json",
        "b/x/k=1/part.csv",
        "c.zip//t.csv",
        "c.zip//t.json",
    ];
    let found = layout(paths.map(object).to_vec(), &Contexts::new(), "lake");
    let files = found.groups.iter().flat_map(|group| &group.files);
    let beside = files.filter(|file| file.is_beside);
    let beside: Vec<&str> = beside.map(|file| file.table_name.as_str()).collect();
    assert_eq!(beside, ["a/orders.csv.json", "a/orders.json"]);
    assert_eq!(
        reaching(&found, "a/orders.csv"),
        ["a/orders.md", "a/orders.csv.json", "a/orders.json"]
    );
    assert_eq!(reaching(&found, "a/orders.json"), ["a/orders.md"]);
    for other in [
        "a/orders.csv.json",
        "a/people.json",
        "a/people.jsonl",
        "b/x",
    ] {
        assert!(reaching(&found, other).is_empty(), "{other}");
    }
    assert!(found.orphans.is_empty());
    // What it is depends on what lies beside it, and so does what is known of it.
    let alone = layout(vec![object("a/orders.json")], &Contexts::new(), "lake");
    let with = |group: &Group| group.files[0].content_fingerprint();
    let same = found.groups.iter().find(|it| it.path == "a/orders.json");
    assert_ne!(with(&alone.groups[0]), with(same.unwrap()));
}

#[test]
fn a_family_hands_its_shared_texts_on() {
    let paths = ["d/x1.csv", "d/x2.csv", "d/README.md", "datapackage.json"];
    let found = layout(paths.map(object).to_vec(), &Contexts::new(), "lake");
    assert_eq!(
        reaching(&found, "d"),
        ["d/README.md (whole)", "datapackage.json"]
    );
    let family = found.groups[0].clone();
    assert_eq!(family.unclaimed_contexts().count(), 0);
    let (split, alone) = (
        family.part(|_| false),
        layout(
            ["d/x1.csv", "d/README.md", "datapackage.json"]
                .map(object)
                .to_vec(),
            &Contexts::new(),
            "lake",
        ),
    );
    assert_eq!(split.len(), 2);
    let others = |group: &Group| match &group.contexts[0].source {
        ContextText::Shared { about, .. } => about.others.clone(),
        _ => Vec::new(),
    };
    assert_eq!(others(&split[0]), ["d/x2.csv"]);
    // But for its neighbour it is told as one that is alone.
    let mut first = split[0].clone();
    if let ContextText::Shared { about, .. } = &mut first.contexts[0].source {
        about.others.clear();
    }
    assert_eq!(first, alone.groups[0]);
}

#[test]
fn a_shapefile_is_one_file_with_its_parts() {
    let layout = arrange(&[
        "d/Roads.DBF",
        "d/Roads.cpg",
        "d/Roads.SHP",
        "d/Roads.shp",
        "d/Roads.prj",
        "d/roads.shp",
        "d/roads.shp.xml",
        "e/lone.shp",
        "e/plain.dbf",
        "e/plain.dbt",
    ]);
    assert_eq!(
        shown(&layout),
        ["File d/Roads: d/Roads", "File e/plain: e/plain"]
    );
    let parts = |at: usize| -> Vec<&str> {
        let declared = layout.groups[at].files[0].declared.iter();
        declared
            .flat_map(|it| &it.parts)
            .map(|it| it.path.as_str())
            .collect()
    };
    assert_eq!(parts(0), ["d/Roads.SHP", "d/Roads.cpg"]);
    assert_eq!(parts(1), [""; 0]);
    let ignored: Vec<(&str, usize)> = layout
        .ignored
        .others
        .iter()
        .map(|(it, n)| (it.as_str(), n.objects))
        .collect();
    assert_eq!(ignored, [("shp", 2), ("xml", 1)]);
    // Another version of a part is another file.
    let fingerprint = |size: u64| {
        let mut objects = vec![object("r.dbf"), object("r.shp")];
        objects[1].size = size;
        let layout = super::layout(objects, &Contexts::new(), "lake");
        let file = &layout.groups[0].files[0];
        (file.content_fingerprint(), file.object.fingerprint())
    };
    assert_eq!(fingerprint(1), fingerprint(1));
    assert_ne!(fingerprint(1).0, fingerprint(2).0);
    assert_eq!(fingerprint(1).1, fingerprint(2).1);
}
