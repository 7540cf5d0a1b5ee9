//! Files that hold no table and promised none: no table, no failure, and remembered.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use limn_formats::ObjectRecord;
use limn_lake::{Contexts, Ignored, layout};
use limn_models::{Embedder, HashedWords};
use limn_profile::RowSample;
use limn_segment::{IndexStore, Shard, Snapshot};

use super::*;
use crate::options::RunOptions;
use crate::published::{KnownFile, passed_over};
use crate::read::{Part, ReadResult, Unread};
use crate::settings::IndexSettings;

fn object(path: &str, size: u64) -> ObjectRecord {
    ObjectRecord {
        path: path.to_owned(),
        etag: Some(format!("e{size}")),
        version: None,
        size,
        modified_ms: 1,
    }
}

fn summary() -> FileSummary {
    FileSummary {
        columns: Vec::new(),
        rows: 3,
        rows_exact: true,
        sample: RowSample {
            limit: 0,
            rows: Vec::new(),
        },
        ..FileSummary::default()
    }
}

/// The one group of these files.
fn plan(objects: Vec<ObjectRecord>) -> GroupPlan {
    let layout = layout(objects, &Contexts::new(), "lake");
    let mut groups: Vec<_> = layout.groups().collect();
    assert_eq!(groups.len(), 1, "{groups:?}");
    let group = groups.remove(0);
    GroupPlan {
        id: group.key.into(),
        group,
        names_of_others: Vec::new(),
        takes_over: Vec::new(),
        probed: Vec::new(),
    }
}

fn parts<const N: usize>(read: [Result<ReadResult, Unread>; N]) -> Parts {
    let parts = (0..).map(Part::File);
    parts.zip(read).collect()
}

/// A lake's assembler over an index that has these rows.
async fn assembler(rows: &[TableRecord]) -> (Assembler, IndexStore, Snapshot) {
    let (lake, index) = (Store::in_memory(), IndexStore::new(Store::in_memory()));
    let settings = IndexSettings::of_run(&RunOptions::default(), &HashedWords, None);
    let mut snapshot = Snapshot::first(&settings.embedder, HashedWords.dimensions(), 1);
    settings.put_into(&mut snapshot.settings, lake.url(), true);
    let entry = index.put_catalog(Shard(0), rows).await.unwrap();
    snapshot.catalog.push(entry);
    let published = Published::default();
    let known = Some(snapshot.clone());
    let advanced = published.advance(&index, known, lake.url(), &settings, false);
    advanced.await.unwrap();
    let assembler = Assembler {
        lake,
        published: Arc::new(published),
        settings: settings.fingerprint(),
        narrates: false,
        resample_threshold: 0.0,
        forget: Contexts::new(),
        redact: Redact::Off,
        values: 1_000,
        room: Room::default(),
    };
    (assembler, index, snapshot)
}

#[tokio::test]
async fn a_file_that_is_no_table_is_remembered_and_hidden() {
    let (empty, ..) = assembler(&[]).await;
    let lake_plan = plan(vec![object("notes.csv", 7)]);
    let drafts = empty
        .describe(&lake_plan, parts([Ok(ReadResult::NoTable)]))
        .unwrap();
    let [draft] = &drafts[..] else {
        panic!("{drafts:?}");
    };
    let row = &draft.row.as_ref().unwrap().0;
    assert!(row.is_passed_over() && row.error.is_none() && row.files[0].no_table);
    assert!(!draft.known && draft.failures.is_empty() && draft.summary.is_none());

    let (knowing, index, snapshot) = assembler(std::slice::from_ref(row)).await;
    let published = &knowing.published;
    // Nobody else sees it.
    assert!(index.tables(&snapshot, None).await.unwrap().is_empty());
    let standing = published.standing();
    assert_eq!(standing.tables, 0);
    assert!(standing.failures.is_empty());
    let counted = |found: Ignored| {
        let others = found.others.into_iter();
        others.map(|(of, it)| (of, it.objects)).collect::<Vec<_>>()
    };
    let [(_, all)] = &standing.passed_over[..] else {
        panic!("{standing:?}");
    };
    assert_eq!(counted(all.clone()), [("csv".to_owned(), 1)]);
    assert_eq!(counted(passed_over(row)), [("csv".to_owned(), 1)]);
    // The next run finds nothing to do, and would not read it if there was.
    let file = &lake_plan.group.files[0];
    let known = published.file(file.content_fingerprint()).unwrap();
    assert_eq!(known, Some(KnownFile::NoTable));
    let members = members(&lake_plan.group, knowing.settings);
    assert_eq!(published.members(lake_plan.id), members);
    assert!(published.groups().contains(&lake_plan.id));
    let again = knowing
        .describe(&lake_plan, parts([Ok(ReadResult::NoTable)]))
        .unwrap();
    assert!(again.is_empty(), "{again:?}");
    // In another version it is a table, and new.
    let changed = plan(vec![object("notes.csv", 8)]);
    let table = knowing
        .describe(
            &changed,
            parts([Ok(ReadResult::Summary(Box::new(summary())))]),
        )
        .unwrap();
    let row = &table[0].row.as_ref().unwrap().0;
    assert!(!row.removed && !table[0].known && row.files_now().count() == 1);
    // It is removed, and so is the row with its files.
    let removed = knowing.remove(lake_plan.id).unwrap();
    let row = &removed[0].row.as_ref().unwrap().0;
    assert!(row.removed && !row.is_passed_over() && !removed[0].known);
}

#[tokio::test]
async fn a_table_whose_file_is_none_any_more_goes() {
    let (empty, ..) = assembler(&[]).await;
    let before = plan(vec![object("t.csv", 7)]);
    let table = empty
        .describe(
            &before,
            parts([Ok(ReadResult::Summary(Box::new(summary())))]),
        )
        .unwrap();
    let mut row = table[0].row.as_ref().unwrap().0.clone();
    (row.segment, row.blocks) = ("segments/0000/x.seg".to_owned(), 2);
    let (knowing, ..) = assembler(std::slice::from_ref(&row)).await;
    let now = plan(vec![object("t.csv", 8)]);
    let drafts = knowing
        .describe(&now, parts([Ok(ReadResult::NoTable)]))
        .unwrap();
    let [draft] = &drafts[..] else {
        panic!("{drafts:?}");
    };
    assert!(draft.known && draft.replaces == Position::of(&row));
    let passed_over = &draft.row.as_ref().unwrap().0;
    assert!(passed_over.is_passed_over() && passed_over.files[0].summary.is_none());
    // One that cannot be read keeps what it was.
    let unread = Unread {
        error: "t.csv: cut; write it again".to_owned(),
        settled: true,
    };
    let drafts = knowing.describe(&now, parts([Err(unread)])).unwrap();
    let kept = &drafts[0].row.as_ref().unwrap().0;
    assert!(!kept.removed && kept.error.is_some() && kept.rows == Some(3));
}

#[tokio::test]
async fn in_a_directory_such_a_file_takes_no_part() {
    let (empty, ..) = assembler(&[]).await;
    let parts_of = |second: u64| {
        plan(vec![
            object("t/part-00000.csv", 7),
            object("t/part-00001.csv", second),
        ])
    };
    let read = [
        Ok(ReadResult::Summary(Box::new(summary()))),
        Ok(ReadResult::NoTable),
    ];
    let drafts = empty.describe(&parts_of(8), parts(read)).unwrap();
    let row = &drafts[0].row.as_ref().unwrap().0;
    assert!(!row.removed && row.error.is_none() && row.rows == Some(3));
    assert_eq!((row.files.len(), row.files_now().count()), (2, 1));
    assert!(drafts[0].failures.is_empty());
    // Nothing but files that are none, and one that cannot be read: no table, and a failure.
    let unread = Unread {
        error: "t/part-00000.csv: cut; write it again".to_owned(),
        settled: true,
    };
    let drafts = empty
        .describe(&parts_of(8), parts([Err(unread), Ok(ReadResult::NoTable)]))
        .unwrap();
    let row = &drafts[0].row.as_ref().unwrap().0;
    assert!(row.error.is_some() && !row.is_passed_over());
    assert_eq!(drafts[0].failures.len(), 1);
}
