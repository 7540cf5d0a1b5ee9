#![allow(clippy::unwrap_used, clippy::expect_used)]
use limn_formats::{ObjectRecord, Objects};
use limn_lake::Contexts;
use limn_lake::layout::layout;
use limn_segment::FileRecord;
use proptest::prelude::*;

use super::*;

async fn lake(paths: &[&str]) -> Store {
    let lake = Store::in_memory();
    for path in paths {
        lake.put(path, "a,b\n1,2\n".into()).await.unwrap();
    }
    lake
}

/// The processes of these paths, of four.
async fn processes_of(paths: &[&str]) -> Vec<usize> {
    let assignment = Assignment::of(&lake(paths).await, 4).await;
    paths
        .iter()
        .map(|path| assignment.process_of(path))
        .collect()
}

#[tokio::test]
async fn a_lake_is_assigned_by_its_folders() {
    let paths: Vec<String> = (0..64).map(|it| format!("d{it}/x.csv")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let processes = processes_of(&paths).await;
    for process in 0..4 {
        let own = processes.iter().filter(|it| **it == process).count();
        assert!((8..=24).contains(&own), "{own} of 64");
    }
}

#[tokio::test]
async fn what_may_be_one_table_is_of_one_process() {
    for (paths, why) in [
        (
            ["2023/a.csv", "2024/a.csv", "2025/a.csv"],
            "folders of dates",
        ),
        (["k=1/a.csv", "k=2/a.csv", "k=3/a.csv"], "partitions"),
        (["a.csv", "b.csv", "c.csv"], "files of one folder"),
        (
            [
                "t/_delta_log/00000000000000000000.json",
                "t/p/a.parquet",
                "t/q/b.parquet",
            ],
            "a table with a log",
        ),
        (
            [".limn.yaml", "a/x.csv", "b/x.csv"],
            "what people say of it",
        ),
        (
            ["sales.csv", "sales/x.csv", "y.csv"],
            "a folder called like a file",
        ),
        (
            [
                "p/target/manifest.json",
                "p/target/run/x.csv",
                "p/target/compiled/y.csv",
            ],
            "a project of dbt",
        ),
        (
            [
                "ix/snapshots/1.json",
                "ix/catalog/a.parquet",
                "ix/segments/b",
            ],
            "an index",
        ),
        (
            ["a/2024/x.csv", "a/2025/x.csv", "a/x.csv"],
            "dates further down",
        ),
    ] {
        let processes = processes_of(&paths).await;
        assert!(
            processes.iter().all(|it| *it == processes[0]),
            "{why}: {processes:?}"
        );
    }
}

#[tokio::test]
async fn one_process_has_all_and_others_nothing_of_a_lake_that_is_not_cut() {
    let lake = lake(&["a/x.csv", "b/x.csv"]).await;
    let assignment = Assignment::of(&lake, 1).await;
    assert!(!Share::new(&assignment, 0).is_partial());
    let flat = Assignment::of(&lake_of_files().await, 3).await;
    assert!(Share::new(&flat, 0).has("a.csv") && !Share::new(&flat, 2).has("a.csv"));
}

async fn lake_of_files() -> Store {
    lake(&["a.csv", "b.csv"]).await
}

#[tokio::test]
async fn a_disk_is_shared_out_like_a_store() {
    let paths = [
        "a/x.csv",
        "b/c/x.csv",
        "b/d.csv",
        "2024/x.csv",
        "e.csv",
        "e/x.csv",
    ];
    let folder = tempfile::TempDir::new().unwrap();
    for path in paths {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "a\n1\n").unwrap();
    }
    let disk = Store::open(folder.path().to_str().unwrap()).unwrap();
    let memory = lake(&paths).await;
    assert_eq!(
        Assignment::of(&disk, 3).await,
        Assignment::of(&memory, 3).await
    );
}

#[tokio::test]
async fn a_row_is_where_its_log_is_whatever_files_that_names() {
    let paths: Vec<String> = (0..64).map(|it| format!("d{it:02}/x.csv")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let assignment = Assignment::of(&lake(&paths).await, 4).await;
    let file = |path: &str| FileRecord {
        path: path.to_owned(),
        ..FileRecord::default()
    };
    for clone in 1..64 {
        let row = TableRecord {
            name: format!("d{clone:02}"),
            format: "delta".to_owned(),
            files: vec![
                file("d00/p.parquet"),
                file(&format!("d{clone:02}/_delta_log")),
            ],
            ..TableRecord::default()
        };
        let process = assignment.process_of(&format!("d{clone:02}/x.csv"));
        assert!(Share::new(&assignment, process).has_row(&row), "{clone}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_object_and_every_name_has_a_process(
        paths in proptest::collection::btree_set("([abc]|2024|k=[12]|target|d\\.csv)(/[abct])?(/[abc])?/[xy]\\.(csv|md)", 1..20),
        processes in 2..5_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let assignment = runtime.block_on(async { Assignment::of(&lake(&paths).await, processes).await });
        let shares: Vec<Share> = (0..processes).map(|it| Share::new(&assignment, it)).collect();
        for path in &paths {
            prop_assert_eq!(shares.iter().filter(|share| share.has(path)).count(), 1, "{}", path);
            let process = assignment.process_of(path);
            // Whoever has a file has the tables that may be called after it, or after its folder.
            for name in [path.rsplit_once('.').unwrap().0, path.rsplit_once('/').unwrap().0, path] {
                prop_assert!(shares[process].may_have(name), "{} of {}", name, path);
            }
        }
        // Whatever the whole lake is laid out as, no table is of two.
        let objects: Objects = paths.iter().map(|path| ObjectRecord::unversioned(path, 1)).collect();
        for group in layout(objects, &Contexts::new(), "lake").groups() {
            let files = group.files.iter().map(|file| assignment.process_of(&file.object.path));
            let of: BTreeSet<usize> = files.collect();
            prop_assert_eq!(of.len(), 1, "{:?}", group);
            let names = group.files.iter().map(|file| file.table_name.as_str());
            for name in names.chain([group.name.as_str()]) {
                prop_assert!(of.iter().all(|it| shares[*it].may_have(name)), "{} of {:?}", name, group);
            }
        }
    }
}
