//! The rules of naming and grouping by example; the invariants over random sets of paths are in
//! `properties.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod declared;
mod names;
mod parts_of_a_lake;
mod properties;
mod texts;

use std::collections::{BTreeMap, BTreeSet};

use limn_formats::{Fingerprint, ObjectRecord};

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
