//! Garbage collection beside writers: whose clock, whose leases, and names that come again.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{TimeDelta, Utc};
use futures::StreamExt;
use futures::stream::BoxStream;
use limn_segment::{
    Block, BlockKind, BuiltSegment, Deletes, Field, IndexStore, PublishError, Retention,
    SegmentError, SegmentReader, SegmentSettings, Shard, Snapshot, TableBlocks, TableKey,
    TableValues, build_segment,
};
use limn_store::Store;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

const MINUTE: Duration = Duration::from_secs(60);
const MINUTE_MS: i64 = 60_000;

/// A store in memory with a clock of its own.
#[derive(Debug, Default)]
struct Clocked {
    store: InMemory,
    /// How far its clock is ahead.
    ahead_ms: AtomicI64,
    /// Whether leases cannot be written.
    is_away: AtomicBool,
}

impl fmt::Display for Clocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Clocked {
    async fn put_opts(&self, at: &Path, load: PutPayload, opts: PutOptions) -> Result<PutResult> {
        if self.is_away.load(Ordering::Relaxed) && at.as_ref().contains("leases") {
            return Err(Error::Generic {
                store: "clocked",
                source: "away".into(),
            });
        }
        self.store.put_opts(at, load, opts).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.store.put_multipart_opts(at, opts).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        let mut result = self.store.get_opts(at, options).await?;
        let ahead = TimeDelta::milliseconds(self.ahead_ms.load(Ordering::Relaxed));
        result.meta.last_modified += ahead;
        Ok(result)
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.store.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.store.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store.copy_opts(from, to, options).await
    }
}

fn lab() -> (Arc<Clocked>, IndexStore) {
    let client = Arc::new(Clocked::default());
    let index = IndexStore::new(Store::over(client.clone()));
    (client, index)
}

/// A segment of so many tables.
fn built(tables: u32, settings: &SegmentSettings) -> BuiltSegment {
    let table = |number: u32| TableBlocks {
        table: TableKey {
            lake: "memory://".to_owned(),
            name: format!("table{number}"),
        },
        location: format!("memory://table{number}.csv"),
        content: None,
        values: TableValues::default(),
        blocks: vec![Block {
            kind: BlockKind::Schema,
            text: format!("table{number}: city, rain"),
            fields: vec![(Field::Names, "city rain".to_owned())],
            vector: None,
        }],
    };
    build_segment((0..tables).map(table).collect(), settings).unwrap()
}

fn plain() -> SegmentSettings {
    SegmentSettings::new(3, Shard(0))
}

fn now() -> i64 {
    Utc::now().timestamp_millis()
}

#[tokio::test]
async fn the_time_is_the_stores_and_a_clock_that_differs_is_refused() {
    let (client, index) = lab();
    for (ahead, differs) in [(0, false), (50_000, false), (-50_000, false)] {
        client.ahead_ms.store(ahead, Ordering::Relaxed);
        let time = index.time(now).await.unwrap();
        assert!((time - now() - ahead).abs() < 5_000 && !differs);
    }
    let eight_days = 8 * 24 * 60 * MINUTE_MS;
    for (ahead, words) in [(-eight_days, "ahead of"), (eight_days, "behind")] {
        client.ahead_ms.store(ahead, Ordering::Relaxed);
        let error = index.time(now).await.unwrap_err();
        let SegmentError::Skewed { seconds, .. } = &error else {
            panic!("{error}");
        };
        assert!((691_190..=691_210).contains(seconds), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
    // Nothing of it stays.
    let listed: Vec<_> = index.store.list("").collect().await;
    assert!(listed.is_empty(), "{listed:?}");
}

/// What garbage there is after so many minutes by the store's clock, of what is ten minutes old.
async fn garbage_after(index: &IndexStore, minutes: i64) -> Vec<String> {
    let retention = Retention {
        older_than: 10 * MINUTE,
        keep: 1,
    };
    let garbage = index.garbage(retention, now() + minutes * MINUTE_MS).await;
    let objects = garbage.unwrap().objects.into_iter();
    objects.map(|object| object.path).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_running_writer_has_written_is_no_garbage() {
    let (_, index) = lab();
    index.publish(&Snapshot::first("m", 3, 1)).await.unwrap();
    let writer = index.leased();
    let orphan = writer.put_segment(&built(3, &plain())).await.unwrap().path;
    // A run of a few minutes writes nothing for this, and garbage is older.
    tokio::time::sleep(14 * MINUTE).await;
    assert!(index.store.list("cache").next().await.is_none());
    assert_eq!(
        garbage_after(&index, 11).await,
        std::slice::from_ref(&orphan)
    );
    tokio::time::sleep(2 * MINUTE).await;
    assert!(garbage_after(&index, 11).await.is_empty());
    assert!(garbage_after(&index, 29).await.is_empty());
    // A writer that is dead holds nothing for ever; its lease is garbage, too.
    let left = garbage_after(&index, 31).await;
    assert_eq!(left.len(), 2, "{left:?}");
    // What was written before it began is not held.
    let longer = writer.put_segment(&built(4, &plain())).await.unwrap().path;
    assert!(garbage_after(&index, 29).await.is_empty());
    writer.end_lease().await;
    let mut orphans = vec![orphan, longer];
    orphans.sort();
    assert_eq!(garbage_after(&index, 11).await, orphans);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_cannot_be_read_keeps_everything() {
    let (_, index) = lab();
    index.publish(&Snapshot::first("m", 3, 1)).await.unwrap();
    index.put_segment(&built(3, &plain())).await.unwrap();
    assert_eq!(garbage_after(&index, 20).await.len(), 1);
    let path = "cache/leases/odd.json";
    index.store.put(path, "half".into()).await.unwrap();
    assert!(garbage_after(&index, 20).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_writer_that_was_cut_off_publishes_nothing() {
    let (client, index) = lab();
    let first = Snapshot::first("m", 3, 1);
    let writer = index.leased();
    writer.publish(&first).await.unwrap();
    client.is_away.store(true, Ordering::Relaxed);
    // Garbage is an hour old: until then nothing can have been deleted.
    tokio::time::sleep(50 * MINUTE).await;
    writer.publish(&first.next()).await.unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    let newest = index.require_newest().await.unwrap();
    let error = writer.publish(&newest.next()).await.unwrap_err();
    assert!(
        matches!(error, PublishError::Segment(SegmentError::Lapsed { .. })),
        "{error}"
    );
    assert!(error.to_string().contains("run again"), "{error}");
    // One that is heard goes on for days.
    client.is_away.store(false, Ordering::Relaxed);
    let writer = index.leased();
    tokio::time::sleep(3 * 24 * 60 * MINUTE).await;
    writer.publish(&newest.next()).await.unwrap();
}

/// Garbage that was found may be removed at any later time, whatever is written meanwhile.
#[tokio::test]
async fn what_is_written_again_has_another_name() {
    let (_, index) = lab();
    let mut snapshot = Snapshot::first("m", 3, 1);
    index.publish(&snapshot).await.unwrap();
    let mut written = Vec::new();
    for _ in 0..2 {
        let segment = built(20, &plain().unique());
        let mut entry = index.put_segment(&segment).await.unwrap();
        let mut deletes = Deletes::none();
        deletes.delete_table(1, 2);
        entry.deletes = index.put_deletes(&deletes).await.unwrap();
        let catalog = index.put_catalog(entry.shard, &[]).await.unwrap();
        written.push((entry, catalog));
    }
    let (entry, catalog) = written.pop().unwrap();
    // The first of each is what a killed run left, and the second what this one publishes.
    let orphans: Vec<String> = {
        let (entry, catalog) = written.pop().unwrap();
        let deletes = entry.deletes.unwrap().path;
        vec![entry.path, deletes, catalog.path]
    };
    let deletes = entry.deletes.clone().unwrap().path;
    for path in [&entry.path, &deletes, &catalog.path] {
        assert!(!orphans.contains(path), "{path}");
    }
    snapshot = snapshot.next();
    snapshot.segments.push(entry.clone());
    snapshot.catalog.push(catalog.clone());
    index.publish(&snapshot).await.unwrap();
    for path in orphans {
        index.store.delete(&path).await.unwrap();
    }
    assert_eq!(index.deletes(&entry).await.unwrap().count(), 2);
    index.catalog(&catalog).await.unwrap();
    SegmentReader::open(&index.store, &entry).await.unwrap();
}
