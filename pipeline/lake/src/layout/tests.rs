//! The rules of naming and grouping by example; the invariants over random sets of paths are in
//! `properties.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod parts_of_a_lake;
mod properties;
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use limn_formats::Fingerprint;

use self::texts::reaching;

use super::whole::{Layout, layout, layout_declared};
use super::*;
use crate::table_name::TableName;

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
    // What describes the shared name describes them.
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
    let described = of("tables: [{files: 'x_[12].csv', header: none, description: About x}]");
    // What is one table is as ever.
    assert_eq!(shown(&described), shown(&plain));
    let family = |layout: &Layout| layout.groups[0].clone();
    assert_eq!(reaching(&described, "d"), ["About x"]);
    let declared = |group: &Group| {
        let files = group.files.iter();
        files.filter(|it| it.declared.is_some()).count()
    };
    assert_eq!(declared(&family(&described)), 2);
    // A file that is a table of its own keeps what is said of it, and no other has it.
    let parts = family(&described).part(|path| path == "d/x_3.csv");
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
            differ(&described, &plain),
            differ(&described, &words),
            differ(&described, &other)
        ),
        (2, 0, 2)
    );
    assert_ne!(members(&described), members(&words));
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
        let layout = whole::layout(objects, &Contexts::new(), "lake");
        let file = &layout.groups[0].files[0];
        (file.content_fingerprint(), file.object.fingerprint())
    };
    assert_eq!(fingerprint(1), fingerprint(1));
    assert_ne!(fingerprint(1).0, fingerprint(2).0);
    assert_eq!(fingerprint(1).1, fingerprint(2).1);
}
