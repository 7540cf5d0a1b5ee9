//! Which row of a table holds does not change, whatever is merged and appended in whatever order.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use crate::catalog::{ContextRecord, FileRecord, REGISTERED, TableRecord};
use crate::compact::rows::{Kept, KeyRow, kept};

/// A file's rows; `indexed_ms` distinguishes them.
type File = Vec<TableRecord>;

fn row() -> impl Strategy<Value = TableRecord> {
    (0..3u8, 0..3u8, any::<bool>(), 0..4u8).prop_map(|(name, group, removed, remembers)| {
        let context = ContextRecord {
            source: REGISTERED.into(),
            ..ContextRecord::default()
        };
        TableRecord {
            name: name.to_string(),
            group: group.to_string(),
            removed,
            contexts: (remembers == 0).then_some(context).into_iter().collect(),
            files: (remembers == 1)
                .then(FileRecord::default)
                .into_iter()
                .collect(),
            ..TableRecord::default()
        }
    })
}

#[derive(Clone, Debug)]
enum Step {
    Append(File),
    /// Files by their place, modulo how many there are.
    Merge(Vec<usize>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        prop::collection::vec(row(), 1..4).prop_map(Step::Append),
        prop::collection::vec(0..40usize, 1..5).prop_map(Step::Merge),
    ]
}

/// The plain rule: the row of each table that holds after all files.
fn holding(log: &[File]) -> HashMap<String, TableRecord> {
    let mut tables: HashMap<String, TableRecord> = HashMap::new();
    for row in log.iter().flatten() {
        if row.holds_after(tables.get(&row.name)) {
            tables.insert(row.name.clone(), row.clone());
        }
    }
    tables
}

fn needed(log: &[File]) -> HashMap<String, TableRecord> {
    let mut tables = holding(log);
    tables.retain(|_, row| !row.removed || !row.contexts.is_empty() || row.is_passed_over());
    tables
}

fn merge(log: &mut Vec<File>, files: &HashSet<usize>) {
    let keys: Vec<Vec<KeyRow>> = log
        .iter()
        .map(|file| file.iter().map(KeyRow::of).collect())
        .collect();
    let rows: File = kept(&keys, files)
        .into_iter()
        .map(|kept| match kept {
            Kept::Row(at) => log[at.file][at.row].clone(),
            Kept::Tombstone { key, group } => TableRecord {
                name: key.name,
                group,
                removed: true,
                ..TableRecord::default()
            },
        })
        .collect();
    let last = files.iter().copied().max().unwrap();
    log[last] = rows;
    let mut at = 0;
    log.retain(|_| {
        at += 1;
        at - 1 == last || !files.contains(&(at - 1))
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_files_may_be_merged(steps in prop::collection::vec(step(), 1..25)) {
        let mut plain: Vec<File> = Vec::new();
        let mut log: Vec<File> = Vec::new();
        let mut count = 0;
        for step in steps {
            match step {
                Step::Append(mut rows) => {
                    for row in &mut rows {
                        count += 1;
                        row.indexed_ms = count;
                    }
                    plain.push(rows.clone());
                    log.push(rows);
                }
                Step::Merge(files) if !log.is_empty() => {
                    let files = files.into_iter().map(|at| at % log.len()).collect();
                    merge(&mut log, &files);
                }
                Step::Merge(_) => {}
            }
            prop_assert_eq!(needed(&log), needed(&plain));
        }
        // Nothing superseded outlives a merge of all.
        let all: HashSet<usize> = (0..log.len()).collect();
        if !all.is_empty() {
            merge(&mut log, &all);
            prop_assert_eq!(log.concat().len(), needed(&plain).len());
        }
    }
}

/// A lone file became a directory, the directory went, and the file's row was never superseded by
/// name.
#[test]
fn a_table_that_moved_and_went_does_not_come_back() {
    let row = |group: &str, removed| TableRecord {
        name: "t".into(),
        group: group.into(),
        removed,
        ..TableRecord::default()
    };
    let log = vec![
        vec![row("file", false)],
        vec![row("folder", false)],
        vec![row("folder", true)],
    ];
    assert_eq!(needed(&log).len(), 0);
    for files in [vec![1], vec![2], vec![1, 2], vec![0, 1], vec![0, 2]] {
        let mut merged = log.clone();
        merge(&mut merged, &files.iter().copied().collect());
        assert_eq!(needed(&merged).len(), 0, "{files:?}: {merged:?}");
    }
}
