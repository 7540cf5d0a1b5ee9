//! What opening costs: requests, bytes, memory; and that what is open is not opened again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use futures::{StreamExt, TryStreamExt, stream};
use limn_store::Store;

use super::*;

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|it| it.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// A follower: opens what a snapshot names and it does not have, and lets go of the rest.
async fn follow(
    store: &Store,
    entries: &[SegmentEntry],
    open: HashMap<String, Arc<SegmentReader>>,
) -> HashMap<String, Arc<SegmentReader>> {
    let open = &open;
    stream::iter(entries)
        .map(|entry| async move {
            let reader = match open.get(&entry.path) {
                Some(reader) => Arc::clone(reader),
                None => SegmentReader::open(store, entry).await?,
            };
            Ok::<_, SegmentError>((entry.path.clone(), reader))
        })
        .buffer_unordered(16)
        .try_collect()
        .await
        .unwrap()
}

#[test]
fn a_segment_is_opened_by_one_read_of_its_hot_part_and_only_once() {
    let (segments, tables) = (300, 20);
    let store = Store::in_memory();
    let all = sample_tables(segments * tables);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let entries: Vec<SegmentEntry> = all
        .chunks(tables as usize)
        .map(|tables| {
            let built = build_segment(tables.to_vec(), &settings()).unwrap();
            runtime
                .block_on(store.put(&built.entry.path, built.bytes.clone()))
                .unwrap();
            built.entry
        })
        .collect();
    let (before, start, memory) = (store.counts(), Instant::now(), resident());
    let open = runtime.block_on(follow(&store, &entries, HashMap::new()));
    let cost = store.counts().since(&before);
    let hot: u64 = entries.iter().map(|it| it.hot).sum();
    assert_eq!((cost.get, cost.head, cost.list), (segments, 0, 0));
    assert_eq!(cost.bytes_read, hot);
    println!(
        "{segments} segments of {tables} tables: {:?}, {} bytes read, {} bytes of memory a segment",
        start.elapsed(),
        cost.bytes_read,
        resident().saturating_sub(memory) / segments
    );

    // The next snapshot has one less, one more, and other deletes.
    let mut next = entries.clone();
    next.remove(7);
    next[0].deletes = Some(DeletesEntry {
        path: "deletes/ab.roar".into(),
        count: 1,
    });
    let new = build_segment(sample_tables(3), &settings()).unwrap();
    runtime
        .block_on(store.put(&new.entry.path, new.bytes.clone()))
        .unwrap();
    next.push(new.entry);
    let (before, dropped) = (store.counts(), Arc::downgrade(&open[&entries[7].path]));
    let kept = Arc::downgrade(&open[&entries[0].path]);
    let open = runtime.block_on(follow(&store, &next, open));
    assert_eq!(store.counts().since(&before).get, 1);
    assert!(dropped.upgrade().is_none());
    assert!(
        kept.upgrade()
            .is_some_and(|it| Arc::ptr_eq(&it, &open[&next[0].path]))
    );
}
