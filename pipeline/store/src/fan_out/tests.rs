#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use proptest::prelude::*;

use super::*;

/// A store in memory whose listings take their time, page by page, and may be refused.
#[derive(Debug, Default)]
struct Slow {
    inner: InMemory,
    delay: Duration,
    refuses_delimiter: bool,
    refused: Option<Path>,
    under_way: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl Slow {
    fn refusal(path: &Path) -> object_store::Error {
        object_store::Error::PermissionDenied {
            path: path.to_string(),
            source: "refused".into(),
        }
    }

    async fn request(&self) {
        let now = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(self.delay).await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
    }
}

impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// The store as a client.
#[derive(Debug, Clone)]
struct Client(Arc<Slow>);

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Client {
    async fn put_opts(&self, at: &Path, load: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.0.inner.put_opts(at, load, opts).await
    }

    async fn put_multipart_opts(
        &self,
        at: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.0.inner.put_multipart_opts(at, opts).await
    }

    async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
        self.0.inner.get_opts(at, options).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.0.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        if let (Some(refused), Some(prefix)) = (&self.0.refused, prefix)
            && refused == prefix
        {
            return stream::iter([Err(Slow::refusal(prefix))]).boxed();
        }
        let slow = Arc::clone(&self.0);
        let pages = self.0.inner.list(prefix).chunks(LIST_PAGE as usize);
        let pages = pages.then(move |page| {
            let slow = Arc::clone(&slow);
            async move {
                slow.request().await;
                stream::iter(page)
            }
        });
        pages.flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        if self.0.refuses_delimiter {
            return Err(Slow::refusal(&Path::default()));
        }
        self.0.request().await;
        self.0.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.0.inner.copy_opts(from, to, options).await
    }
}

async fn fill(slow: &Slow, paths: impl IntoIterator<Item = String>) {
    for path in paths {
        let path = Path::parse(path).unwrap();
        slow.inner.put(&path, PutPayload::new()).await.unwrap();
    }
}

fn store(slow: Slow) -> (Store, Arc<Slow>) {
    let slow = Arc::new(slow);
    (Store::over(Arc::new(Client(Arc::clone(&slow)))), slow)
}

/// The paths of a listing, sorted.
async fn sorted(listing: BoxStream<'static, Item>) -> std::result::Result<Vec<String>, StoreError> {
    let mut paths: Vec<String> = listing.map_ok(|object| object.path).try_collect().await?;
    paths.sort_unstable();
    Ok(paths)
}

/// List requests of a listing in one go, and of one that may go by sub-folders; both find the same.
async fn requests(paths: impl Iterator<Item = String>) -> (u64, u64) {
    let slow = Slow::default();
    fill(&slow, paths).await;
    let (store, _) = store(slow);
    let whole = sorted(store.list("")).await.unwrap();
    let plain = store.counts().list;
    let found = sorted(store.list_unordered("")).await.unwrap();
    assert_eq!(found, whole);
    (plain, store.counts().list - plain)
}

/// A lake of folders of so many objects each.
fn folders(folders: usize, objects: usize) -> impl Iterator<Item = String> {
    (0..folders * objects).map(move |object| format!("lake/area{}/{object}.csv", object / objects))
}

#[tokio::test]
async fn what_one_go_lists_best_costs_as_many_requests_as_before() {
    for (what, paths) in [
        (
            "nothing",
            Box::new(std::iter::empty()) as Box<dyn Iterator<Item = _>>,
        ),
        ("few objects", Box::new(folders(3, 1200))),
        (
            "a flat folder",
            Box::new((0..10_000).map(|n| format!("{n}.csv"))),
        ),
        (
            "a deep flat folder",
            Box::new((0..10_000).map(|n| format!("t{n}.csv"))),
        ),
        (
            "many small folders",
            Box::new(folders(2000, 5).map(|path| path.replacen("lake/", "", 1))),
        ),
    ] {
        let (plain, fanned) = requests(paths).await;
        assert_eq!(fanned, plain, "{what}");
    }
}

#[tokio::test]
async fn large_folders_cost_few_requests_more() {
    // Two folders are looked into, with four pages and a delimiter each, before the 20 are listed.
    assert_eq!(requests(folders(20, 2000)).await, (40, 5 + 5 + 40));
    // What lies beside the folders is listed once.
    let mixed = folders(4, 3000).chain((0..5000).map(|n| format!("lake/z{n}.csv")));
    assert_eq!(requests(mixed).await, (17, 5 + 4 + 6 + 12));
}

#[tokio::test]
async fn folders_are_listed_at_once_but_not_too_many() {
    let slow = Slow {
        delay: Duration::from_millis(20),
        ..Slow::default()
    };
    fill(&slow, folders(40, 1500)).await;
    let (store, slow) = store(slow);
    let started = Instant::now();
    let whole = sorted(store.list("")).await.unwrap();
    let (plain, started) = (started.elapsed(), Instant::now());
    let found = sorted(store.list_unordered("")).await.unwrap();
    let fanned = started.elapsed();
    assert_eq!(found, whole);
    assert_eq!(slow.most_at_once.load(Ordering::SeqCst), 16);
    // On a machine that does much else it is not much faster.
    assert!(fanned < plain, "{fanned:?} against {plain:?}");
}

#[tokio::test]
async fn a_listing_that_is_given_up_asks_no_more() {
    let slow = Slow {
        delay: Duration::from_millis(5),
        ..Slow::default()
    };
    fill(&slow, folders(20, 2000)).await;
    let (store, _) = store(slow);
    let mut listing = store.list_unordered("");
    listing.next().await.unwrap().unwrap();
    drop(listing);
    let asked = store.counts().list;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(store.counts().list, asked);
}

#[tokio::test]
async fn a_store_that_refuses_delimiters_is_listed_in_one_go() {
    let slow = Slow {
        refuses_delimiter: true,
        ..Slow::default()
    };
    fill(&slow, folders(20, 2000)).await;
    let (store, _) = store(slow);
    assert_eq!(
        sorted(store.list_unordered("")).await.unwrap().len(),
        40_000
    );
}

#[tokio::test]
async fn an_error_in_a_folder_ends_the_listing() {
    let slow = Slow {
        refused: Some(Path::from("lake/area7")),
        ..Slow::default()
    };
    fill(&slow, folders(20, 2000)).await;
    let (store, _) = store(slow);
    let items: Vec<Item> = store.list_unordered("").collect().await;
    let errors: Vec<_> = items
        .iter()
        .filter_map(|item| item.as_ref().err())
        .collect();
    assert_eq!(errors.len(), 1);
    assert_ne!(errors[0].kind(), StoreErrorKind::Entry);
    let asked = store.counts().list;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(store.counts().list, asked);
}

/// `LIMN_LIST_OBJECTS=1000000 cargo test --release --workspace --lib listings_are_timed -- --ignored --nocapture`
#[tokio::test]
#[ignore = "a measurement"]
async fn listings_are_timed() {
    let objects = std::env::var("LIMN_LIST_OBJECTS").map_or(200_000, |set| set.parse().unwrap());
    let delay = Duration::from_millis(50);
    for folders_of in [5_000, 50_000] {
        let slow = Slow {
            delay,
            ..Slow::default()
        };
        fill(&slow, folders(objects / folders_of, folders_of)).await;
        let (store, _) = store(slow);
        for (what, listing) in [
            ("in one go", store.list("")),
            ("by folders", store.list_unordered("")),
        ] {
            let (before, started) = (store.counts().list, Instant::now());
            let found = listing.try_collect::<Vec<_>>().await.unwrap().len();
            let (took, asked) = (started.elapsed(), store.counts().list - before + 1);
            println!(
                "{found} objects in folders of {folders_of}, {what}: {took:?}, {asked} requests of {delay:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the folders and limits are, the same objects are found.
    #[test]
    fn every_object_is_listed_once(
        paths in prop::collection::btree_set("((a|b|a-b|c d)/){0,3}[a-d](\\.csv|-é)?", 0..80),
        folder in "(a|a/b|b/a/|a-b|)",
        page in 1..6usize,
        pages in 1..4usize,
        most_folders in 0..4usize,
        at_once in 1..4usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = Store::in_memory();
            for path in &paths {
                store.put(path, Bytes::new()).await.unwrap();
            }
            let limits = Limits { page, looked_at: pages * page, most_folders, at_once };
            let folder = folder.trim_matches('/');
            let found = sorted(list(store.clone(), folder, limits)).await.unwrap();
            prop_assert_eq!(found, sorted(store.list(folder)).await.unwrap());
            Ok(())
        })?;
    }
}
