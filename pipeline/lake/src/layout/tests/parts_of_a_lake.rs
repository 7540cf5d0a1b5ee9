//! What a layout of a part of a lake says of it.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::select;

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
