//! Narrated labs: how they are set up, and what can be seen of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use limn_pipeline::{Narrate, NarrateWith, Report};
use limn_segment::{IndexStore, SegmentReader, TableRecord};
use limn_store::Store;

use super::Lab;
use super::fake_narrator::FakeNarrator;

pub fn narrated_by(lab: &mut Lab, fake: &Arc<FakeNarrator>) {
    lab.options.narrate = Narrate::Auto;
    lab.options.narrator = Some(NarrateWith::new(fake.clone()));
}

/// As [`narrated_by`], with a model of one process alone: others ask theirs for their parts.
pub fn narrated_by_one(lab: &mut Lab, fake: &Arc<FakeNarrator>) {
    narrated_by(lab, fake);
    lab.narrators = vec![None; lab.processes];
}

pub async fn records(lab: &Lab) -> BTreeMap<String, TableRecord> {
    let snapshot = lab.index.newest().await.unwrap().unwrap();
    let records = lab.index.tables(&snapshot, None).await.unwrap();
    records
        .into_iter()
        .map(|record| (record.name.clone(), record))
        .collect()
}

/// The narrations of a table's columns.
pub async fn narrations(lab: &Lab, table: &str) -> Vec<Option<String>> {
    let record = records(lab).await.remove(table).unwrap();
    let columns = record.columns.into_iter();
    columns.map(|column| column.narration).collect()
}

/// The live texts and vectors of every table, and its columns in the catalog.
pub async fn everything(lab: &Lab) -> Vec<String> {
    let snapshot = lab.index.newest().await.unwrap().unwrap();
    let mut readers: HashMap<String, Arc<SegmentReader>> = HashMap::new();
    let mut live = 0;
    let mut all = Vec::new();
    for (name, record) in records(lab).await {
        let columns: Vec<_> = record
            .columns
            .iter()
            .map(|column| (&column.name, &column.narration))
            .collect();
        all.push(format!("{name} {} {columns:?}", record.awaits_narration));
        let entry = snapshot
            .segments
            .iter()
            .find(|segment| segment.path == record.segment)
            .unwrap();
        if !readers.contains_key(&entry.path) {
            let reader = SegmentReader::open(&lab.index.store, entry).await.unwrap();
            readers.insert(entry.path.clone(), reader);
        }
        let reader = &readers[&entry.path];
        let deletes = lab.index.deletes(entry).await.unwrap();
        for block in record.first_block..record.first_block + record.blocks {
            assert!(!deletes.contains(block), "{name} is there");
            live += 1;
            let vector = reader.vector(block).unwrap();
            all.push(format!("{} {vector:?}", &*reader.text(block).unwrap()));
        }
    }
    assert_eq!(snapshot.live_blocks(), live, "and nothing else is");
    all
}

/// How many files hold narrations.
pub async fn narration_files(lab: &Lab) -> usize {
    use futures::StreamExt;
    let listed = lab.index.store.list("cache/narrations");
    listed
        .filter(|item| futures::future::ready(item.is_ok()))
        .count()
        .await
}

pub fn narrated(report: &Report) -> u64 {
    report.model.narrated_columns
}

pub async fn shop(lab: &Lab) {
    lab.put("orders.csv", "order_id,buyer,total\n1,Ann,9.5\n")
        .await;
    lab.put("people/staff.csv", "name,height\nBea,180\n").await;
}

/// A lake of a dozen small tables, two columns each.
pub async fn dozen(lab: &Lab) {
    for table in 0..12 {
        lab.put(
            &format!("d{table:02}/t.csv"),
            &format!("a{table},b{table}\n1,2\n"),
        )
        .await;
    }
}

/// How many narrations are stored.
pub async fn narration_count(lab: &Lab) -> u64 {
    let narrator = limn_segment::Narrator {
        model: "teller@1".into(),
        prompt: limn_summary::narration::NARRATION_PROMPT_VERSION,
    };
    let mut count = 0;
    for (path, _) in lab.index.narration_files(&narrator).await.unwrap() {
        let read = lab.index.narrations(&narrator, &path).await.unwrap();
        count += read.map_or(0, |records| records.len() as u64);
    }
    count
}

/// An index elsewhere that shares the narrations of another.
pub async fn sharing(lab: &Lab) -> IndexStore {
    use futures::StreamExt;
    let index = IndexStore::new(Store::in_memory());
    let mut files = lab.index.store.list("cache/narrations");
    while let Some(file) = files.next().await {
        let path = file.unwrap().path;
        let bytes = lab.index.store.get(&path).await.unwrap();
        index.store.put(&path, bytes).await.unwrap();
    }
    index
}
