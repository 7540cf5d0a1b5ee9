//! A lake in memory whose reads can be made to fail, an index in memory, and runs over them.

pub mod fake_narrator;
pub mod narrated;

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use limn_models::{Embedder, HashedWords, ModelError, ModelId};
use limn_pipeline::{
    CancellationToken, Cluster, ClusterKey, ClusterOptions, NarrateWith, PipelineError, Progress,
    Report, RunOptions, Trust, follow, index_lake,
};
use limn_segment::IndexStore;
use limn_store::Store;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// A store in memory that refuses to read some objects, and once to write some, and may stop a run.
#[derive(Debug, Default)]
pub struct Refusing {
    inner: Arc<InMemory>,
    refused: Mutex<HashSet<String>>,
    unwritable: Mutex<HashSet<String>>,
    took: Mutex<BTreeSet<String>>,
    stop_at_deletes: Mutex<Option<CancellationToken>>,
    pages: Mutex<Option<Pages>>,
    vanishing: Mutex<HashSet<String>>,
}

/// An object that comes to have this text, or goes.
pub type Change = (String, Option<String>);

/// A listing by pages of so many objects. What happens behind each page has its turn once.
#[derive(Clone, Debug)]
struct Pages {
    size: usize,
    changes: Arc<Mutex<VecDeque<Vec<Change>>>>,
}

impl Pages {
    fn list(
        self,
        inner: Arc<InMemory>,
        prefix: Option<Path>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let pages = stream::unfold(Some(Path::default()), move |after| {
            let (pages, inner, prefix) = (self.clone(), Arc::clone(&inner), prefix.clone());
            async move {
                let page = pages.turn(&inner, prefix.as_ref(), &after?).await;
                let last = page.last().map(|it| it.location.clone());
                Some((stream::iter(page.into_iter().map(Ok)), last))
            }
        });
        pages.flatten().boxed()
    }

    /// The objects of the page behind this one, after which the lake changes.
    async fn turn(&self, lake: &InMemory, prefix: Option<&Path>, after: &Path) -> Vec<ObjectMeta> {
        let rest = lake.list_with_offset(prefix, after).take(self.size);
        let page = rest.try_collect().await.unwrap();
        let changes = self.changes.lock().unwrap().pop_front();
        for (path, text) in changes.into_iter().flatten() {
            let path = Path::from(path);
            match text {
                Some(text) => drop(lake.put(&path, text.into()).await.unwrap()),
                None => lake.delete(&path).await.unwrap(),
            }
        }
        page
    }
}

impl Refusing {
    /// The next object that is deleted stops this run.
    pub fn stop_at_deletes(&self, run: CancellationToken) {
        *self.stop_at_deletes.lock().unwrap() = Some(run);
    }

    /// From now on reads of this object fail, or succeed again.
    pub fn refuse(&self, path: &str, refused: bool) {
        let mut paths = self.refused.lock().unwrap();
        if refused {
            paths.insert(path.to_owned());
        } else {
            paths.remove(path);
        }
    }

    /// The next write of this object fails, after a while.
    pub fn refuse_write(&self, path: &str) {
        self.unwritable.lock().unwrap().insert(path.to_owned());
    }
}

impl fmt::Display for Refusing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Refusing {
    async fn put_opts(&self, at: &Path, load: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let is_refused = self.unwritable.lock().unwrap().remove(at.as_ref());
        if is_refused {
            tokio::time::sleep(Duration::from_millis(300)).await;
            return Err(object_store::Error::PermissionDenied {
                path: at.to_string(),
                source: "injected".into(),
            });
        }
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
        if self.refused.lock().unwrap().contains(at.as_ref()) {
            return Err(object_store::Error::PermissionDenied {
                path: at.to_string(),
                source: "injected".into(),
            });
        }
        let vanishes = self.vanishing.lock().unwrap().remove(at.as_ref());
        if vanishes {
            self.inner.delete(at).await?;
        }
        if !options.head {
            self.took.lock().unwrap().insert(at.to_string());
        }
        self.inner.get_opts(at, options).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        if let Some(run) = self.stop_at_deletes.lock().unwrap().take() {
            run.cancel();
        }
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.pages.lock().unwrap().clone() {
            Some(pages) => pages.list(Arc::clone(&self.inner), prefix.cloned()),
            None => self.inner.list(prefix),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

/// Hashed words, with something that happens before texts are embedded.
pub struct Watched<F>(pub F);

impl<F: Fn(&[&str]) + Send + Sync> Embedder for Watched<F> {
    fn id(&self) -> &ModelId {
        HashedWords.id()
    }

    fn dimensions(&self) -> usize {
        HashedWords.dimensions()
    }

    fn window(&self) -> usize {
        HashedWords.window()
    }

    fn count_tokens(&self, text: &str) -> usize {
        HashedWords.count_tokens(text)
    }

    fn embed(&self, texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, ModelError> {
        (self.0)(texts);
        HashedWords.embed(texts)
    }
}

/// A plain tar archive of these files.
pub fn tar(members: &[(&str, &str)]) -> String {
    tar_of('0', members)
}

/// The same of members of a kind: sparse ones (`S`) are refused.
pub fn tar_of(kind: char, members: &[(&str, &str)]) -> String {
    let mut archive = String::new();
    for (name, text) in members {
        let field = |text: &str, length: usize| format!("{text:\0<length$}");
        let head = [
            field(name, 100),
            field("0000644", 8),
            field("0000000", 8),
            field("0000000", 8),
            field(&format!("{:011o}", text.len()), 12),
            field("00000000000", 12),
        ]
        .concat();
        let tail = format!("{kind}{}", "\0".repeat(355));
        let sum: u32 = format!("{head}        {tail}").bytes().map(u32::from).sum();
        archive += &format!("{head}{sum:06o}\0 {tail}{text}");
        archive += &"\0".repeat((512 - text.len() % 512) % 512);
    }
    archive + &"\0".repeat(1024)
}

/// The places of so many processes on this machine; none if one is alone.
pub fn places(processes: usize) -> Vec<ClusterOptions> {
    if processes < 2 {
        return Vec::new();
    }
    let free: Vec<_> = (0..processes)
        .map(|_| std::net::TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    let hosts: Vec<String> = free
        .iter()
        .map(|listener| listener.local_addr().unwrap().to_string())
        .collect();
    let place = |process| ClusterOptions {
        hosts: hosts.clone(),
        process,
        silence: Duration::from_secs(30),
        trust: trust(),
    };
    (0..processes).map(place).collect()
}

/// Whom processes on this machine trust: with `LIMN_LAB_KEY` those that have the key in this file.
fn trust() -> Trust {
    match std::env::var_os("LIMN_LAB_KEY") {
        Some(file) => Trust::Key(ClusterKey::read(file.as_ref()).unwrap()),
        None => Trust::Machine,
    }
}

/// A lake, its index, and how they are run.
pub struct Lab {
    client: Arc<Refusing>,
    pub lake: Store,
    pub index: IndexStore,
    pub options: RunOptions,
    /// How long a run may take before it counts as hanging.
    pub patience: Duration,
    /// Processes that share a run; here they are tasks that know of each other only through their
    /// connections. `LIMN_LAB_PROCESSES` sets it for all tests that do not.
    pub processes: usize,
    /// The language models of followers that do not have that of the options, by their numbers.
    pub narrators: Vec<Option<NarrateWith>>,
    /// Asks the followers to stop, which ask the leader; the token of the options asks the leader
    /// alone.
    pub stop_followers: CancellationToken,
}

/// What can be said of a table in one line: rows, and whether its newest version is unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub rows: Option<u64>,
    pub broken: bool,
    /// Whether its blocks are live in a segment of the snapshot.
    pub found: bool,
}

pub fn seen(rows: u64) -> Seen {
    Seen {
        rows: Some(rows),
        broken: false,
        found: true,
    }
}

impl Lab {
    pub fn new() -> Lab {
        let client = Arc::new(Refusing::default());
        Lab {
            lake: Store::over(client.clone()),
            client,
            index: IndexStore::new(Store::in_memory()),
            options: RunOptions {
                workers: 2,
                allow_empty: true,
                ..RunOptions::default()
            },
            patience: Duration::from_secs(60),
            processes: std::env::var("LIMN_LAB_PROCESSES")
                .map_or(1, |number| number.parse().unwrap()),
            narrators: Vec::new(),
            stop_followers: CancellationToken::new(),
        }
    }

    pub async fn put(&self, path: &str, text: &str) {
        let bytes = text.to_owned().into_bytes();
        self.lake.put(path, bytes.into()).await.unwrap();
    }

    /// Bytes that are no table in any format.
    pub async fn corrupt(&self, path: &str) {
        let bytes = [0u8, 159, 146, 150, 0, 1, 2, 3].repeat(200);
        self.lake.put(path, bytes.into()).await.unwrap();
    }

    pub async fn remove(&self, path: &str) {
        self.client.inner.delete(&Path::from(path)).await.unwrap();
    }

    /// From now on the store refuses to read this object, or lets it be read again.
    pub fn refuse(&self, path: &str, refused: bool) {
        self.client.refuse(path, refused);
    }

    /// This object goes when it is to be read.
    pub fn vanish(&self, path: &str) {
        self.client
            .vanishing
            .lock()
            .unwrap()
            .insert(path.to_owned());
    }

    /// From now on the lake is listed in pages of so many objects, behind each of which some of
    /// these changes happen: the last ones when all is listed.
    pub fn change_while_listed(&self, size: usize, changes: Vec<Vec<Change>>) {
        let changes = Arc::new(Mutex::new(changes.into()));
        *self.client.pages.lock().unwrap() = Some(Pages { size, changes });
    }

    /// The objects of the lake of which bytes were read since this was asked last.
    pub fn took(&self) -> BTreeSet<String> {
        std::mem::take(&mut *self.client.took.lock().unwrap())
    }

    pub async fn try_run(&self, embedder: Arc<dyn Embedder>) -> Result<Report, PipelineError> {
        // It is large for the stack of a test.
        Box::pin(self.try_run_over(&self.index, embedder)).await
    }

    async fn try_run_over(
        &self,
        index: &IndexStore,
        embedder: Arc<dyn Embedder>,
    ) -> Result<Report, PipelineError> {
        let options = self.options.clone();
        let mut places = places(self.processes).into_iter();
        let leader = places.next();
        let followers: Vec<_> = places
            .map(|place| {
                let mut options = options.clone();
                options.stop = self.stop_followers.clone();
                if let Some(narrator) = self.narrators.get(place.process) {
                    options.narrator.clone_from(narrator);
                }
                let (lake, index) = (self.lake.clone(), index.clone());
                let (embedder, progress) = (Arc::clone(&embedder), Arc::default());
                tokio::spawn(async move {
                    let cluster = Cluster::join(&place, &options.stop).await?;
                    follow(lake, index, embedder, options, cluster, progress).await
                })
            })
            .collect();
        let cluster = match leader {
            Some(place) => Some(Cluster::join(&place, &options.stop).await?),
            None => None,
        };
        let run = index_lake(
            self.lake.clone(),
            index.clone(),
            embedder,
            RunOptions { cluster, ..options },
            Arc::new(Progress::default()),
        );
        let ended = tokio::time::timeout(self.patience, run).await;
        let ended = ended.expect("a run must end");
        for follower in followers {
            let followed = tokio::time::timeout(self.patience, follower).await;
            let followed = followed.expect("a follower must end").unwrap();
            // A leader that was stopped before its first epoch has nothing to report.
            let are_stopped = matches!(ended, Err(PipelineError::Stopped))
                && followed.as_ref().is_ok_and(|it| it.stopped);
            let are_alike = ended.is_ok() == followed.is_ok() || are_stopped;
            assert!(are_alike, "{ended:?}, {followed:?}");
        }
        ended
    }

    pub async fn run(&self) -> Report {
        self.try_run(Arc::new(HashedWords)).await.unwrap()
    }

    /// Runs again and checks that there was nothing to do. What it asks of the index is counted by
    /// itself: a task of a round that was given up may still be writing what nobody will publish.
    pub async fn run_is_idle(&self) {
        let before = self.index.newest().await.unwrap().unwrap().number;
        let index = IndexStore::new(Store::over(self.index.store.object_store()));
        let report = Box::pin(self.try_run_over(&index, Arc::new(HashedWords))).await;
        let report = report.unwrap();
        assert_eq!(
            (report.snapshot, report.objects.read, report.requests.put),
            (before, 0, 0),
            "a run over an unchanged lake reads and writes nothing: {report:?}"
        );
    }

    /// The tables of the newest snapshot.
    pub async fn tables(&self) -> BTreeMap<String, Seen> {
        let snapshot = self.index.newest().await.unwrap().unwrap();
        let mut tables = BTreeMap::new();
        for record in self.index.tables(&snapshot, None).await.unwrap() {
            let segment = snapshot.segments.iter().find(|s| s.path == record.segment);
            let found = match segment {
                Some(segment) if record.blocks > 0 => {
                    let deletes = self.index.deletes(segment).await.unwrap();
                    (record.first_block..record.first_block + record.blocks)
                        .all(|block| !deletes.contains(block))
                }
                _ => false,
            };
            let seen = Seen {
                rows: record.rows,
                broken: record.error.is_some(),
                found,
            };
            tables.insert(record.name, seen);
        }
        tables
    }

    /// Checks the tables of the newest snapshot.
    pub async fn expect<const N: usize>(&self, expected: [(&str, Seen); N]) {
        let expected: BTreeMap<String, Seen> = expected
            .into_iter()
            .map(|(name, seen)| (name.to_owned(), seen))
            .collect();
        assert_eq!(self.tables().await, expected);
    }
}
