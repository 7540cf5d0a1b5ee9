//! What is served: the newest snapshot, and what each caller sees of it.
//!
//! A [`View`] is one snapshot, opened, as one reach sees it. Requests hold the view that they began with, so a
//! newer snapshot takes its place without disturbing them; what nobody holds any more is closed. A view
//! that is restricted is made at its first use: its searcher and its shelf are those of an index that has
//! the allowed tables only.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use limn_models::Embedder;
use limn_retrieval::{RetrievalError, Searcher};
use limn_segment::{
    IndexStore, SegmentCache, SegmentError, ShelfRows, Snapshot, TableKey, TableRecord,
};
use moka::sync::Cache;
use tokio::sync::Mutex;

use crate::access::Reach;
use crate::shelf::Shelf;

/// Restricted views that are kept of a snapshot.
const VIEWS: u64 = 64;

/// A snapshot as one reach sees it.
pub struct View {
    /// Which snapshot.
    pub snapshot: Arc<Snapshot>,
    /// What this reach may see.
    pub reach: Reach,
    /// Answers questions.
    pub searcher: Arc<Searcher>,
    /// Its tables.
    pub shelf: Shelf,
    /// When it was opened.
    pub opened: chrono::DateTime<chrono::Utc>,
}

impl std::fmt::Debug for View {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("snapshot", &self.snapshot.number)
            .field("reach", &self.reach)
            .field("tables", &self.shelf.tables().len())
            .finish_non_exhaustive()
    }
}

/// A snapshot with the views of it.
struct Served {
    whole: Arc<View>,
    restricted: Cache<Reach, Arc<View>>,
}

/// An index that is followed.
pub struct Live {
    index: IndexStore,
    served: RwLock<Arc<Served>>,
    rows: Mutex<ShelfRows>,
    /// When the index was last seen, in milliseconds since 1970.
    seen_ms: AtomicI64,
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
        let mut rows = ShelfRows::default();
        let searcher = Searcher::open_with(&index, snapshot.clone(), embedder, cache).await?;
        let whole = view(&index, snapshot, searcher, &mut rows).await?;
        Ok(Live {
            index,
            served: RwLock::new(Arc::new(served(whole))),
            rows: Mutex::new(rows),
            seen_ms: AtomicI64::new(now_ms()),
        })
    }

    /// The index.
    pub fn index(&self) -> &IndexStore {
        &self.index
    }

    /// How long ago the index was last seen.
    pub fn unseen(&self) -> Duration {
        let since = now_ms() - self.seen_ms.load(Ordering::Relaxed);
        Duration::from_millis(since.max(0).unsigned_abs())
    }

    /// As [`view`](Self::view), if it is made already.
    pub fn known_view(&self, reach: &Reach) -> Option<Arc<View>> {
        let served = self.served();
        match reach {
            Reach::Everything => Some(Arc::clone(&served.whole)),
            Reach::Under(_) => served.restricted.get(reach),
        }
    }

    /// What this reach sees of the newest snapshot. The first of a reach takes time that grows with the
    /// number of tables: not for a thread of the runtime, unless the reach is everything.
    pub fn view(&self, reach: &Reach) -> Arc<View> {
        let served = self.served();
        if *reach == Reach::Everything {
            return Arc::clone(&served.whole);
        }
        served.restricted.get_with(reach.clone(), || {
            let whole = &served.whole;
            Arc::new(View {
                snapshot: Arc::clone(&whole.snapshot),
                reach: reach.clone(),
                searcher: Arc::new(whole.searcher.restricted(|table| reach.allows(table))),
                shelf: whole.shelf.restricted(reach),
                opened: whole.opened,
            })
        })
    }

    /// The newest snapshot's number.
    pub fn number(&self) -> u64 {
        self.served().whole.snapshot.number
    }

    fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Looks for a newer snapshot and serves it; tells whether there was one. What is served stays until
    /// the newer one is open.
    ///
    /// # Errors
    /// Where the index cannot be read; what was served before still is.
    pub async fn advance(&self) -> Result<bool, RetrievalError> {
        let mut rows = self.rows.lock().await;
        let newest = self.index.newest_number().await?;
        self.seen_ms.store(now_ms(), Ordering::Relaxed);
        let before = self.served();
        let Some(newest) = newest.filter(|number| *number != before.whole.snapshot.number) else {
            return Ok(false);
        };
        let snapshot = self.index.snapshot(newest).await?;
        let older = &before.whole.searcher;
        let searcher = older.open_after(&self.index, snapshot.clone()).await?;
        let whole = view(&self.index, snapshot, searcher, &mut rows).await?;
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(served(whole));
        Ok(true)
    }

    /// The whole row of a table of a view, read from the catalog.
    ///
    /// # Errors
    /// Where the catalog cannot be read, or its file is gone since, which a newer snapshot mends.
    pub async fn row(
        &self,
        view: &View,
        key: &TableKey,
    ) -> Result<Option<TableRecord>, SegmentError> {
        match view.shelf.file_of(key) {
            Some(file) => self.index.row(file, key).await,
            None => Ok(None),
        }
    }
}

async fn view(
    index: &IndexStore,
    snapshot: Snapshot,
    searcher: Searcher,
    rows: &mut ShelfRows,
) -> Result<View, RetrievalError> {
    *rows = rows.advanced(index, &snapshot).await?;
    Ok(View {
        snapshot: Arc::new(snapshot),
        reach: Reach::Everything,
        searcher: Arc::new(searcher),
        shelf: Shelf::of(rows.clone()),
        opened: chrono::Utc::now(),
    })
}

fn served(whole: View) -> Served {
    Served {
        whole: Arc::new(whole),
        restricted: Cache::new(VIEWS),
    }
}

fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
