//! What texts, manifests and people say of tables reaches them.

use super::*;

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
    // A file alone in its directory is the same group: the key does not say how it came about.
    let alone = layout(vec![object("f/1.csv")], &Contexts::new(), "lake");
    assert_eq!(alone.groups[0], parts[0]);
}

#[test]
fn a_family_and_its_strays_keep_what_is_said_of_each() {
    let registered = contexts(&[("f", "all"), ("f/1", "first"), ("f/2", "second")]);
    let objects = ["f/1.csv", "f/2.csv", "f/3.csv", "f/README.md"];
    let found = layout(objects.map(object).to_vec(), &registered, "lake");
    let parts = found.groups[0].clone().part(|path| path != "f/2.csv");
    let texts = |group: &Group| -> Vec<String> {
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
        .map(|it| (it.name.as_str(), texts(it)))
        .collect();
    let expected = [
        ("f", vec!["all", "first", "true but [\"f/2.csv\"]"]),
        ("f/2", vec!["second", "true but [\"f\"]"]),
    ];
    let expected =
        expected.map(|(name, texts)| (name, texts.into_iter().map(str::to_owned).collect()));
    assert_eq!(found, expected);
}

/// What reaches a table, as `path` or `path (whole)`, in order.
pub(super) fn reaching(layout: &Layout, table: &str) -> Vec<String> {
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
    // Except for its neighbour it is described like a table that is alone.
    let mut first = split[0].clone();
    if let ContextText::Shared { about, .. } = &mut first.contexts[0].source {
        about.others.clear();
    }
    assert_eq!(first, alone.groups[0]);
}
