//! What holds of any set of objects.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;

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

/// More objects than one core looks at in a row, in more folders.
fn many_objects() -> Vec<ObjectRecord> {
    let folders = ["a", "b/2024", "b/2025", "c/k=1", "c", "d.zip/", "_e", "f"];
    let extensions = [
        "csv", "json", "txt", "md", "csv.gz", "parquet", "bin", "jsonl",
    ];
    let paths = (0..6_000_usize).map(|at| {
        let folder = folders[at / 5 % folders.len()];
        let extension = extensions[at % extensions.len()];
        let name = ["x_", "y", "part-0000", "z_2024-0"][at / 8 % 4];
        format!("{}/{folder}/{name}{}.{extension}", at % 211, at / 900)
    });
    let paths: BTreeSet<String> = paths.collect();
    paths.iter().map(|path| object(path)).collect()
}

#[test]
fn neither_the_order_of_many_objects_nor_the_number_of_threads_matters() {
    let objects = many_objects();
    assert!(objects.len() > 5_000, "{}", objects.len());
    let registered = contexts(&[("1/a/x_0", "words"), ("7/b/*/x_*", "more words")]);
    let all = layout(objects.clone(), &registered, "lake");
    assert!(all.groups.len() > 500, "{}", all.groups.len());
    let mut shuffled = objects;
    shuffled.sort_by_key(|it| it.fingerprint());
    let threads = rayon::ThreadPoolBuilder::new().num_threads(3).build();
    let again = threads.unwrap().install(|| {
        let shuffled = shuffled.clone();
        layout(shuffled, &registered, "lake")
    });
    assert!(again == all);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let again = threads
        .unwrap()
        .install(|| layout(shuffled, &registered, "lake"));
    assert!(again == all);
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
