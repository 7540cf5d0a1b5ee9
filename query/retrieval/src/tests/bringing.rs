//! Bringing what questions will read of remote segments: a store that fails or hangs costs no
//! answer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use limn_models::{Embedder, HashedWords};
use limn_segment::{IndexStore, SegmentCache, SegmentSettings, Shard, Snapshot, build_segment};
use limn_store::Store;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use tokio::sync::watch;

use super::{snapshot, table};
use crate::{Query, Searcher};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Behaviour {
    Serves,
    Fails,
    Hangs,
}

/// A store in memory that can be set to fail reads, or to let them hang until it is set otherwise.
#[derive(Debug)]
struct ControlledStore {
    inner: InMemory,
    behaviour: watch::Sender<Behaviour>,
}

impl fmt::Display for ControlledStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for ControlledStore {
    async fn put_opts(&self, at: &Path, load: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(at, load, opts).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(at, opts).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        let mut behaviour = self.behaviour.subscribe();
        let behaviour = *behaviour
            .wait_for(|behaviour| *behaviour != Behaviour::Hangs)
            .await
            .unwrap();
        if behaviour == Behaviour::Fails {
            return Err(object_store::Error::PermissionDenied {
                path: at.to_string(),
                source: "injected".into(),
            });
        }
        self.inner.get_opts(at, options).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

struct Fixture {
    store: Arc<ControlledStore>,
    index: IndexStore,
    published: Snapshot,
    folder: tempfile::TempDir,
}

impl Fixture {
    /// Three segments, each of which has more than opening reads, and more hashes of texts than a
    /// chunk: questions read them, since all tables have the same contexts.
    async fn new() -> Fixture {
        let store = Arc::new(ControlledStore {
            inner: InMemory::new(),
            behaviour: watch::Sender::new(Behaviour::Serves),
        });
        let index = IndexStore::new(Store::over(store.clone()));
        let mut published = snapshot();
        for part in 0..3 {
            let tables = (0..1500).map(|number| {
                let name = format!("part{part}/table{number}");
                let contexts = ["Of a survey of rivers.", "Kept by the water office."];
                table(
                    &name,
                    &format!("river{number}: depth, fish"),
                    &[],
                    &contexts,
                    "",
                )
            });
            let settings = SegmentSettings::new(HashedWords.dimensions(), Shard(0));
            let built = build_segment(tables.collect(), &settings).unwrap();
            let entry = index.put_segment(&built).await.unwrap();
            assert!(entry.bytes > entry.hot + (64 << 10));
            published.segments.push(entry);
        }
        Fixture {
            store,
            index,
            published,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn set_behaviour(&self, behaviour: Behaviour) {
        self.store.behaviour.send_replace(behaviour);
    }

    async fn open(&self, cache: u64) -> Arc<Searcher> {
        let cache = SegmentCache::open(&self.folder.path().join("cache"), cache).unwrap();
        let embedder = Arc::new(HashedWords);
        let published = self.published.clone();
        let opened = Searcher::open_with(&self.index, published, embedder, Some(cache));
        Arc::new(opened.await.unwrap())
    }
}

async fn on_a_thread<T: Send + 'static>(
    searcher: &Arc<Searcher>,
    work: impl FnOnce(&Searcher) -> T + Send + 'static,
) -> T {
    let searcher = Arc::clone(searcher);
    let done = tokio::task::spawn_blocking(move || work(&searcher));
    let done = tokio::time::timeout(Duration::from_secs(30), done).await;
    done.expect("it must not hang").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_fails_is_asked_again_and_what_is_brought_is_not_asked_for() {
    let fixture = Fixture::new().await;
    let searcher = fixture.open(64 << 20).await;
    let rank = |searcher: &Searcher| searcher.rank(&Query::new("river7 fish"));

    fixture.set_behaviour(Behaviour::Fails);
    on_a_thread(&searcher, Searcher::bring).await;
    assert!(!searcher.corpus().is_shared(usize::MAX));
    let error = on_a_thread(&searcher, rank).await.unwrap_err().to_string();
    assert!(error.contains(".seg"), "{error}");

    fixture.set_behaviour(Behaviour::Serves);
    let first = on_a_thread(&searcher, rank).await.unwrap();
    assert_eq!(first.tables.len(), Query::new("x").k);
    on_a_thread(&searcher, Searcher::bring).await;
    assert!(searcher.corpus().is_shared(usize::MAX));

    fixture.set_behaviour(Behaviour::Fails);
    let again = on_a_thread(&searcher, rank).await.unwrap();
    assert_eq!(super::bits(&again), super::bits(&first));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_what_is_brought() {
    let mut fixture = Fixture::new().await;
    let searcher = fixture.open(64 << 20).await;
    fixture.set_behaviour(Behaviour::Hangs);
    let bringing = tokio::task::spawn_blocking({
        let searcher = Arc::clone(&searcher);
        move || searcher.bring()
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!bringing.is_finished());
    // A snapshot without anything new is opened meanwhile, and says what it has.
    fixture.published.number += 1;
    let next = searcher.open_after(&fixture.index, fixture.published.clone());
    let next = tokio::time::timeout(Duration::from_secs(30), next).await;
    let next = next.expect("it must not wait").unwrap();
    assert_eq!(next.table_count(), 4500);
    assert!(!bringing.is_finished());
    fixture.set_behaviour(Behaviour::Serves);
    let brought = tokio::time::timeout(Duration::from_secs(30), bringing).await;
    brought.expect("it must end").unwrap();
    assert!(searcher.corpus().is_shared(usize::MAX));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_brought_for_which_the_cache_has_no_room() {
    let fixture = Fixture::new().await;
    let searcher = fixture.open(100 << 10).await;
    let before = fixture.index.store.counts();
    on_a_thread(&searcher, Searcher::bring).await;
    assert_eq!(fixture.index.store.counts().since(&before).get, 0);
    assert!(!searcher.corpus().is_shared(usize::MAX));
    let rank = |searcher: &Searcher| searcher.rank(&Query::new("river7 fish"));
    assert!(
        !on_a_thread(&searcher, rank)
            .await
            .unwrap()
            .tables
            .is_empty()
    );
}
