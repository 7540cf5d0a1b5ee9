//! What is served: the newest snapshot, and what each caller sees of it.
//!
//! A [`View`] is one snapshot, opened, as one reach sees it. Requests hold the view that they began
//! with, so a newer snapshot takes its place without disturbing them; what nobody holds any more is
//! closed. A view that is restricted is made at its first use: its searcher and its table list are
//! those of an index that has the allowed tables only, and their values only where the caller may
//! read them. Views are kept as long as there is room; of those that wait for one, one makes it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use limn_models::Embedder;
use limn_retrieval::{JoinGraphs, RetrievalError, Searcher, Values};
use limn_segment::{
    CatalogEntry, ChangeReader, IndexStore, PackedTables, SegmentCache, SegmentError, Snapshot,
    TableKey, TableRecord,
};
use moka::future::Cache;
use tokio::sync::Mutex;

use crate::access::Reach;
use crate::memory;
use crate::problem::Problem;
use crate::table_list::TableList;

/// KiB of restricted views that are kept of a snapshot, reckoned by [`View::kib`]; at least
/// [`LARGE_VIEWS`] are.
const VIEWS_KIB: u32 = 64 << 10;
const LARGE_VIEWS: u32 = 4;
/// What a view takes that has no tables.
const EMPTY_VIEW_KIB: u32 = 16;
/// Bytes that a table takes on a view's list of tables.
const TABLE_IN_LIST: usize = 128;

/// What a caller may see of an index: from it comes a [`View`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Which tables.
    pub reach: Reach,
    /// Whether their values take part in the search.
    pub values: Values,
}

impl Scope {
    fn is_everything(&self) -> bool {
        self.reach == Reach::Everything && self.values == Values::Searched
    }
}

/// A snapshot as one scope sees it.
pub struct View {
    /// Which snapshot.
    pub snapshot: Arc<Snapshot>,
    /// The tables that may be seen.
    pub reach: Reach,
    /// Answers questions.
    pub searcher: Arc<Searcher>,
    /// Its tables.
    pub table_list: Arc<TableList>,
    /// When it was opened.
    pub opened: chrono::DateTime<chrono::Utc>,
    joins: Arc<Joins>,
}

/// The join graphs of a whole snapshot.
#[derive(Default)]
struct Joins(std::sync::Mutex<JoinsState>);

#[derive(Default)]
struct JoinsState {
    /// Once they were asked for: one reading, for which all wait.
    reading: Option<JoinsReading>,
    /// Those of an older snapshot until they are read, of which most files may be the same.
    older: Option<JoinsReading>,
}

type JoinsReading = Shared<BoxFuture<'static, Result<Arc<JoinGraphs>, Problem>>>;

impl Joins {
    /// Those of a snapshot that comes after.
    fn next(&self) -> Joins {
        let state = self.state();
        let older = state.reading.as_ref().or(state.older.as_ref()).cloned();
        Joins(std::sync::Mutex::new(JoinsState {
            reading: None,
            older,
        }))
    }

    /// Reading continues when the waiting request leaves; after a failure they are read anew.
    async fn read(
        &self,
        index: &IndexStore,
        snapshot: &Arc<Snapshot>,
    ) -> Result<Arc<JoinGraphs>, Problem> {
        let graphs = self.reading(index, snapshot).await?;
        self.state().older = None;
        Ok(graphs)
    }

    fn reading(&self, index: &IndexStore, snapshot: &Arc<Snapshot>) -> JoinsReading {
        let mut state = self.state();
        let older = state.older.clone();
        state
            .reading
            .take_if(|it| matches!(it.peek(), Some(Err(_))));
        let begin = || {
            let (index, snapshot) = (index.clone(), Arc::clone(snapshot));
            let read = async move {
                // It goes on from what is still being read of an older one, and reads no file
                // twice.
                let older = match older {
                    Some(older) => older.await.ok(),
                    None => None,
                };
                let graphs = match older {
                    Some(older) => older.read_next(&index, &snapshot).await?,
                    None => JoinGraphs::read(&index, &snapshot).await?,
                };
                Ok(Arc::new(graphs))
            };
            // A panic is one failed reading, of which the next one knows nothing.
            let read = AssertUnwindSafe(read).catch_unwind();
            let read = read.map(|it| it.unwrap_or_else(|_| Err(Problem::internal())));
            let read = read.boxed().shared();
            drop(tokio::spawn(read.clone()));
            read
        };
        state.reading.get_or_insert_with(begin).clone()
    }

    fn state(&self) -> MutexGuard<'_, JoinsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("snapshot", &self.snapshot.number)
            .field("reach", &self.reach)
            .field("tables", &self.table_list.tables().len())
            .finish_non_exhaustive()
    }
}

impl View {
    /// As this one, as far as a scope sees it. Takes time that grows with the number of tables.
    pub fn restricted(&self, scope: &Scope) -> View {
        let reach = &scope.reach;
        View {
            snapshot: Arc::clone(&self.snapshot),
            reach: reach.clone(),
            searcher: Arc::new(
                self.searcher
                    .restricted(|table| reach.allows(table), scope.values),
            ),
            table_list: match reach {
                Reach::Everything => Arc::clone(&self.table_list),
                Reach::Under(_) => Arc::new(self.table_list.restricted(reach)),
            },
            opened: self.opened,
            joins: Arc::clone(&self.joins),
        }
    }

    /// About what a restricted view takes: its searcher, and of each table its number, its columns'
    /// names and the names that suggestions are found by.
    fn kib(&self) -> u32 {
        let table_list = self.table_list.tables().len().saturating_mul(TABLE_IN_LIST);
        let bytes = self.searcher.own_bytes().saturating_add(table_list);
        let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX);
        kib.saturating_add(EMPTY_VIEW_KIB)
            .min(VIEWS_KIB / LARGE_VIEWS)
    }
}

/// A snapshot with the views of it.
struct Served {
    whole: Arc<View>,
    restricted: Cache<Scope, Arc<View>>,
}

/// An index that is followed.
pub struct Live {
    index: IndexStore,
    changes: ChangeReader,
    served: RwLock<Arc<Served>>,
    rows: Mutex<PackedTables>,
    /// When the index was last seen, in milliseconds since 1970.
    seen_ms: AtomicI64,
    /// The newest snapshot, where it is damaged and an older one is served; 0 if none is.
    damaged: AtomicU64,
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").finish_non_exhaustive()
    }
}

impl Live {
    /// Opens the newest snapshot.
    ///
    /// # Errors
    /// Where there is none, or it cannot be opened.
    pub async fn open(
        index: IndexStore,
        snapshot: Snapshot,
        embedder: Arc<dyn Embedder>,
        cache: Option<SegmentCache>,
    ) -> Result<Live, RetrievalError> {
        let mut rows = PackedTables::default();
        let searcher = Searcher::open_with(&index, snapshot.clone(), embedder, cache).await?;
        let joins = Joins::default();
        let whole = view(&index, snapshot, searcher, joins, &mut rows).await?;
        prepare(&whole);
        Ok(Live {
            changes: ChangeReader::new(index.clone()),
            index,
            served: RwLock::new(Arc::new(served(whole))),
            rows: Mutex::new(rows),
            seen_ms: AtomicI64::new(now_ms()),
            damaged: AtomicU64::new(0),
        })
    }

    /// The index.
    pub fn index(&self) -> &IndexStore {
        &self.index
    }

    /// Compares its snapshots.
    pub fn changes(&self) -> &ChangeReader {
        &self.changes
    }

    /// How long ago the index was last seen.
    pub fn unseen(&self) -> Duration {
        let since = now_ms() - self.seen_ms.load(Ordering::Relaxed);
        Duration::from_millis(since.max(0).unsigned_abs())
    }

    /// The whole of the newest snapshot.
    pub fn whole(&self) -> Arc<View> {
        Arc::clone(&self.served().whole)
    }

    /// What a scope sees of the newest snapshot; `make` restricts the whole of it, where that has
    /// not been done yet. A caller that asks meanwhile waits for the one that is being made.
    ///
    /// # Errors
    /// Those of `make`.
    pub async fn view<F>(
        &self,
        scope: Scope,
        make: impl FnOnce(Arc<View>, Scope) -> F,
    ) -> Result<Arc<View>, Problem>
    where
        F: Future<Output = Result<View, Problem>>,
    {
        let served = self.served();
        let whole = Arc::clone(&served.whole);
        if scope.is_everything() {
            return Ok(whole);
        }
        let restricted = &served.restricted;
        let making = async { make(whole, scope.clone()).await.map(Arc::new) };
        let made = restricted.try_get_with(scope.clone(), making).await;
        made.map_err(|problem| Problem::clone(&problem))
    }

    /// The newest snapshot's number.
    pub fn number(&self) -> u64 {
        self.served().whole.snapshot.number
    }

    fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks for a newer snapshot and serves it; returns whether there was one. What is served
    /// stays until the newer one is open. Computes, in a large index for seconds: not for a thread
    /// that answers.
    ///
    /// # Errors
    /// Where the index cannot be read; what was served before still is.
    pub async fn advance(&self) -> Result<bool, RetrievalError> {
        let mut rows = self.rows.lock().await;
        let Some(newest) = self.index.newest_number().await? else {
            // It has vanished: this says so, and what to do.
            self.index.require_newest().await?;
            return Ok(false);
        };
        self.seen_ms.store(now_ms(), Ordering::Relaxed);
        let before = self.served();
        if newest == before.whole.snapshot.number || self.is_still_damaged(newest).await {
            return Ok(false);
        }
        let snapshot = self.index.require_newest().await?;
        if snapshot.number < newest {
            self.damaged.store(newest, Ordering::Relaxed);
        }
        if snapshot.number == before.whole.snapshot.number {
            return Ok(false);
        }
        let older = &before.whole.searcher;
        let searcher = older.open_after(&self.index, snapshot.clone()).await?;
        let joins = before.whole.joins.next();
        let whole = view(&self.index, snapshot, searcher, joins, &mut rows).await?;
        prepare(&whole);
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(served(whole));
        Ok(true)
    }

    /// Whether a snapshot is the damaged one that was logged already; it may be restored.
    async fn is_still_damaged(&self, number: u64) -> bool {
        number == self.damaged.load(Ordering::Relaxed)
            && matches!(self.index.snapshot(number).await, Err(error) if error.is_damage())
    }

    /// The whole row of a table of a view, read from the catalog.
    ///
    /// # Errors
    /// Where the catalog cannot be read, or its file was deleted since, which a newer snapshot
    /// mends.
    pub async fn row(
        &self,
        view: &View,
        key: &TableKey,
    ) -> Result<Option<TableRecord>, SegmentError> {
        match view.table_list.file_of(key) {
            Some(file) => self.index.row(file, key).await,
            None => Ok(None),
        }
    }

    /// The join graphs of a view's snapshot, read when they are asked for first. They hold edges of
    /// tables that the view does not. Reading goes on when nobody waits any more, so that whoever
    /// asks later has them.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub async fn joins(&self, view: &View) -> Result<Arc<JoinGraphs>, Problem> {
        view.joins.read(&self.index, &view.snapshot).await
    }

    /// As [`Live::row`], of several tables: each file of the catalog is read once.
    ///
    /// # Errors
    /// As [`Live::row`].
    pub async fn rows(
        &self,
        view: &View,
        keys: &[TableKey],
    ) -> Result<HashMap<TableKey, TableRecord>, SegmentError> {
        let mut files: BTreeMap<&str, (&CatalogEntry, HashSet<TableKey>)> = BTreeMap::new();
        for key in keys {
            if let Some(file) = view.table_list.file_of(key) {
                let wanted = files.entry(&file.path).or_insert((file, HashSet::new()));
                wanted.1.insert(key.clone());
            }
        }
        let reads = files
            .into_values()
            .map(|(file, keys)| self.index.rows(file, keys));
        let read = futures::future::try_join_all(reads).await?;
        Ok(read.into_iter().flatten().collect())
    }
}

async fn view(
    index: &IndexStore,
    snapshot: Snapshot,
    searcher: Searcher,
    joins: Joins,
    rows: &mut PackedTables,
) -> Result<View, RetrievalError> {
    *rows = rows.advanced(index, &snapshot).await?;
    let view = View {
        snapshot: Arc::new(snapshot),
        reach: Reach::Everything,
        searcher: Arc::new(searcher),
        table_list: Arc::new(TableList::of(rows.clone())),
        opened: chrono::Utc::now(),
        joins: Arc::new(joins),
    };
    memory::give_back();
    Ok(view)
}

/// Makes and brings what requests will need, behind their backs: nobody waits for it.
fn prepare(whole: &View) {
    let (searcher, table_list) = (Arc::clone(&whole.searcher), Arc::clone(&whole.table_list));
    drop(tokio::task::spawn_blocking(move || searcher.bring()));
    drop(tokio::task::spawn_blocking(move || {
        table_list.prepare();
        memory::give_back();
    }));
}

fn served(whole: View) -> Served {
    Served {
        whole: Arc::new(whole),
        restricted: Cache::builder()
            .weigher(|_, view: &Arc<View>| view.kib())
            .max_capacity(VIEWS_KIB.into())
            .build(),
    }
}

fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
