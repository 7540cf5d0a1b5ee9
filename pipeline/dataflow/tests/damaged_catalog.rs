//! A catalog file that is damaged or gone: its tables are read again, the others not, and the index
//! is one made from scratch.

use crate::common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::narrated::everything;
use common::{Lab, Refusing};
use limn_lake::TableName;
use limn_models::HashedWords;
use limn_pipeline::{Report, Scope, Session};
use limn_segment::{CatalogEntry, HeldRows, IndexStore, Snapshot};
use limn_store::Store;

const TABLES: usize = 24;

async fn put(lab: &Lab, table: usize, version: usize) {
    let text = format!("name{table},depth\nBlue {version},3\nGreen {table},{version}\n");
    lab.put(&format!("d{table:02}/t.csv"), &text).await;
}

/// An index of a few shards with two files each and more: tables were changed, removed and added.
async fn grown(lab: &mut Lab) {
    lab.options.shards = Some(3);
    lab.options.compact = false;
    for table in 0..TABLES {
        put(lab, table, 0).await;
    }
    lab.run().await;
    edit(lab, 1).await;
}

/// Changes, removes and adds tables, and runs.
async fn edit(lab: &Lab, version: usize) {
    for table in 0..TABLES {
        let path = format!("d{table:02}/t.csv");
        match (table + version) % 6 {
            0 | 1 => put(lab, table, version).await,
            2 if lab.lake.head(&path).await.is_ok() => lab.remove(&path).await,
            _ => {}
        }
    }
    lab.run().await;
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Flipped,
    Cut,
    Gone,
}

async fn damage(index: &IndexStore, path: &str, way: Way) {
    let good = index.store.get(path).await.unwrap();
    match way {
        Way::Flipped => {
            let mut bad = good.to_vec();
            bad[good.len() / 3] ^= 8;
            index.store.put(path, bad.into()).await.unwrap();
        }
        Way::Cut => {
            let cut = good.slice(..good.len() / 2);
            index.store.put(path, cut).await.unwrap();
        }
        Way::Gone => index.store.delete(path).await.unwrap(),
    }
}

/// The files of the lake whose tables' rows hold in a catalog file.
async fn files_of(lab: &Lab, snapshot: &Snapshot, file: &CatalogEntry) -> BTreeSet<String> {
    let mut held = HeldRows::of(None);
    held.advance(&lab.index, snapshot).await.unwrap();
    let of_file = |key| held.file_of(key).is_some_and(|it| it.path == file.path);
    let rows = held.live().filter(|(key, _)| of_file(key));
    rows.flat_map(|(_, row)| row.files.iter().map(|file| file.path.clone()))
        .collect()
}

async fn is_as_from_scratch(lab: &Lab) {
    let newest = lab.index.require_newest().await.unwrap();
    let verified = lab.index.verify(&newest, &|_| ()).await.unwrap();
    assert_eq!(verified.problems, []);
    let mut anew = Lab::new();
    anew.lake = lab.lake.clone();
    anew.options = lab.options.clone();
    anew.run().await;
    assert_eq!(everything(lab).await, everything(&anew).await);
    let joins = async |lab: &Lab| {
        let newest = lab.index.require_newest().await.unwrap();
        let mut joins = Vec::new();
        for entry in newest.join_files() {
            joins.extend(lab.index.joins_of(entry).await.unwrap());
        }
        format!("{joins:?}")
    };
    assert_eq!(joins(lab).await, joins(&anew).await);
    lab.run_is_idle().await;
}

fn says_so(report: &Report, path: &str) {
    let [note] = &report.notes[..] else {
        panic!("one line: {:?}", report.notes);
    };
    assert!(note.contains(path) && note.contains("read again"), "{note}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tables_of_a_damaged_file_are_read_again_and_the_others_not() {
    for processes in [1, 2] {
        let mut lab = Lab::new();
        lab.processes = processes;
        grown(&mut lab).await;
        let mut version = 1;
        for way in [Way::Flipped, Way::Cut, Way::Gone] {
            // An old file, some of whose rows later ones replace, and a new one, which replaces
            // some.
            for is_new in [false, true] {
                let newest = lab.index.require_newest().await.unwrap();
                let mut files = Vec::new();
                for file in &newest.catalog {
                    let of_file = files_of(&lab, &newest, file).await;
                    files.extend((!of_file.is_empty()).then_some((file, of_file)));
                }
                assert!(files.len() > 1, "other files have tables, too");
                let at = if is_new { files.len() - 1 } else { 0 };
                let (file, expected) = files.swap_remove(at);
                lab.took();
                damage(&lab.index, &file.path, way).await;
                let report = lab.run().await;
                let what = format!("{processes}, {way:?}, {is_new}");
                assert_eq!(lab.took(), expected, "{what}");
                assert_eq!(report.objects.read, expected.len() as u64, "{what}");
                assert_eq!(report.model.embedded_blocks, 0, "{what}");
                says_so(&report, &file.path);
                let after = lab.index.require_newest().await.unwrap();
                assert!(after.catalog.iter().all(|it| it.path != file.path));
                is_as_from_scratch(&lab).await;
                version += 1;
                edit(&lab, version).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_damaged_files_are_repaired_at_once() {
    let mut lab = Lab::new();
    grown(&mut lab).await;
    let newest = lab.index.require_newest().await.unwrap();
    for (file, way) in newest.catalog.iter().zip([Way::Gone, Way::Cut]) {
        damage(&lab.index, &file.path, way).await;
    }
    let report = lab.run().await;
    assert_eq!(report.notes.len(), 2, "{:?}", report.notes);
    is_as_from_scratch(&lab).await;
    // All of them: everything is read again.
    let newest = lab.index.require_newest().await.unwrap();
    for file in &newest.catalog {
        damage(&lab.index, &file.path, Way::Gone).await;
    }
    let report = lab.run().await;
    assert_eq!(report.objects.read, report.objects.listed);
    is_as_from_scratch(&lab).await;
}

/// What was lost may not be there any more, so that there is nothing to publish but that.
#[tokio::test(flavor = "multi_thread")]
async fn tables_that_are_lost_and_gone_from_the_lake_do_not_come_back() {
    let mut lab = Lab::new();
    grown(&mut lab).await;
    let newest = lab.index.require_newest().await.unwrap();
    let file = &newest.catalog[0];
    for path in files_of(&lab, &newest, file).await {
        lab.remove(&path).await;
    }
    damage(&lab.index, &file.path, Way::Cut).await;
    let report = lab.run().await;
    assert_eq!(report.objects.read, 0);
    says_so(&report, &file.path);
    is_as_from_scratch(&lab).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_refuses_a_file_ends_the_run() {
    let client = Arc::new(Refusing::default());
    let mut lab = Lab::new();
    lab.index = IndexStore::new(Store::over(client.clone()));
    grown(&mut lab).await;
    let newest = lab.index.require_newest().await.unwrap();
    client.refuse(&newest.catalog[0].path, true);
    let error = lab.try_run(Arc::new(HashedWords)).await.unwrap_err();
    assert!(error.to_string().contains("injected"), "{error}");
    client.refuse(&newest.catalog[0].path, false);
    assert_eq!(lab.index.require_newest().await.unwrap(), newest);
    lab.run_is_idle().await;
}

/// A round over a part of the lake would not find all that was lost: the session looks at all of
/// it, and a run over the part says what to do.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_looks_at_all_of_the_lake_where_what_others_wrote_is_damaged() {
    let mut lab = Lab::new();
    grown(&mut lab).await;
    let options = lab.options.clone();
    let (lake, index) = (lab.lake.clone(), lab.index.clone());
    let mut session = Session::new(lake, index, Arc::new(HashedWords), options);
    session.look(Scope::Lake, Arc::default()).await.unwrap();
    edit(&lab, 2).await;
    let newest = lab.index.require_newest().await.unwrap();
    let file = newest.catalog.last().unwrap();
    let expected = files_of(&lab, &newest, file).await;
    damage(&lab.index, &file.path, Way::Flipped).await;
    let part = Scope::Objects(["d00/t.csv".to_owned()].into());
    lab.options.scope = part.clone();
    let error = lab.try_run(Arc::new(HashedWords)).await.unwrap_err();
    assert!(error.to_string().contains("`limn index`"), "{error}");
    lab.options.scope = Scope::Lake;
    let report = session.look(part, Arc::default()).await.unwrap();
    assert_eq!(report.objects.read, expected.len() as u64);
    says_so(&report, &file.path);
    session.end().await.unwrap();
    is_as_from_scratch(&lab).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registered_context_stays_where_an_older_row_has_it() {
    let mut lab = Lab::new();
    let name = TableName::parse("d00/t").unwrap();
    lab.options.contexts = [(name, vec!["Soundings of the survey.".to_owned()])].into();
    lab.options.shards = Some(1);
    lab.options.compact = false;
    put(&lab, 0, 0).await;
    put(&lab, 1, 0).await;
    lab.run().await;
    lab.options.contexts.clear();
    put(&lab, 0, 1).await;
    lab.run().await;
    let registered = async || {
        let newest = lab.index.require_newest().await.unwrap();
        let tables = lab.index.tables(&newest, None).await.unwrap();
        let texts = tables[0].contexts.iter().map(|it| it.text.clone());
        texts.collect::<Vec<_>>()
    };
    let newest = lab.index.require_newest().await.unwrap();
    damage(&lab.index, &newest.catalog[1].path, Way::Gone).await;
    assert_eq!(lab.run().await.objects.read, 1);
    assert_eq!(registered().await, ["Soundings of the survey."]);
    lab.run_is_idle().await;
    // No other file has it.
    let newest = lab.index.require_newest().await.unwrap();
    for file in &newest.catalog {
        damage(&lab.index, &file.path, Way::Gone).await;
    }
    assert_eq!(lab.run().await.objects.read, 2);
    assert_eq!(registered().await, Vec::<String>::new());
    lab.run_is_idle().await;
}
