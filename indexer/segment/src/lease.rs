//! Leases: how a writer that takes long keeps garbage collection from what it has written.
//!
//! What no snapshot names yet looks like garbage, and differs from it by its age alone. Garbage is
//! an hour old at least, so a writer that publishes sooner needs nothing. One that takes longer
//! writes a small object every few minutes that says how long it has been writing; a collection
//! keeps whatever is younger than that. Where the object has not been written for half an hour its
//! writer is dead, or cut off: then it must not publish any more, and [`Lease::check`] says so.
//!
//! All times that are compared are the store's own: the object has a date, and holds a length of
//! time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures::StreamExt;
use limn_store::{Store, StoreErrorKind};
use serde::{Deserialize, Serialize};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::error::SegmentError;
use crate::index_store::IndexStore;
use crate::snapshot::nonce;

/// Where leases are.
pub(crate) const FOLDER: &str = "cache/leases";
/// A writer that has been at it for so long says so…
const QUIET: Duration = Duration::from_secs(15 * 60);
/// …and again whenever so much time has passed.
const RENEWED: Duration = Duration::from_secs(5 * 60);
/// A lease that was not renewed for so long holds no more…
const HOLDS: Duration = Duration::from_secs(30 * 60);
/// …and its writer stops a while before, as publishing takes time and clocks differ.
const MARGIN: Duration = Duration::from_secs(5 * 60);
/// Nothing that is younger is garbage.
const LEAST_AGE: Duration = Duration::from_secs(60 * 60);

/// What a lease says.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    /// How long its writer had been writing when it wrote this.
    age_ms: u64,
}

/// A moment by both clocks: one does not run while the machine sleeps, the other may be set.
#[derive(Clone, Copy, Debug)]
struct Moment(Instant, SystemTime);

impl Moment {
    fn now() -> Moment {
        Moment(Instant::now(), SystemTime::now())
    }

    fn elapsed(&self) -> Duration {
        let by_wall = self.1.elapsed().unwrap_or_default();
        self.0.elapsed().max(by_wall)
    }
}

/// A writer's lease. It ends when it is dropped, or when its half hour is over.
#[derive(Debug)]
pub(crate) struct Lease {
    held: Arc<Held>,
    renewing: AbortHandle,
}

#[derive(Debug)]
struct Held {
    store: Store,
    path: String,
    began: Moment,
    /// When collections last knew of it.
    known: Mutex<Moment>,
    is_written: AtomicBool,
}

impl Held {
    async fn renew(&self) {
        let moment = Moment::now();
        let age_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let content = format!("{{\"age_ms\": {age_ms}}}\n");
        self.is_written.store(true, Ordering::Relaxed);
        match self.store.put(&self.path, content.into()).await {
            Ok(()) => *self.known.lock().unwrap_or_else(PoisonError::into_inner) = moment,
            Err(error) => tracing::warn!(%error, "garbage collection is not informed of this run"),
        }
    }
}

impl Lease {
    fn take(store: &Store) -> Lease {
        let now = Moment::now();
        let held = Arc::new(Held {
            store: store.clone(),
            path: format!("{FOLDER}/{}.json", nonce()),
            began: now,
            known: Mutex::new(now),
            is_written: AtomicBool::new(false),
        });
        let renewed = Arc::clone(&held);
        let renewing = tokio::spawn(async move {
            tokio::time::sleep(QUIET).await;
            loop {
                renewed.renew().await;
                tokio::time::sleep(RENEWED).await;
            }
        });
        Lease {
            held,
            renewing: renewing.abort_handle(),
        }
    }

    /// Whether what was written under this lease is still there.
    ///
    /// # Errors
    /// [`SegmentError::Lapsed`] if a collection may have removed some of it.
    pub(crate) fn check(&self) -> Result<(), SegmentError> {
        let known = *self
            .held
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (age, silent) = (self.held.began.elapsed(), known.elapsed());
        if age + MARGIN < LEAST_AGE || silent + MARGIN < HOLDS {
            return Ok(());
        }
        Err(SegmentError::Lapsed {
            location: self.held.store.url().to_owned(),
            minutes: silent.as_secs() / 60,
        })
    }

    async fn end(&self) {
        self.renewing.abort();
        if self.held.is_written.load(Ordering::Relaxed)
            && let Err(error) = self.held.store.delete(&self.held.path).await
        {
            tracing::warn!(%error, "garbage collection takes this run for one that goes on, for half an hour");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

impl IndexStore {
    /// The same index for one run of a writer: what is written to it is no garbage while the run
    /// goes on. Nothing is written for that in the first quarter of an hour. Needs a tokio runtime.
    #[must_use]
    pub fn leased(&self) -> IndexStore {
        IndexStore {
            store: self.store.clone(),
            lease: Some(Arc::new(Lease::take(&self.store))),
        }
    }

    /// Ends the run that [`IndexStore::leased`] began.
    pub async fn end_lease(&self) {
        if let Some(lease) = &self.lease {
            lease.end().await;
        }
    }

    /// Since when, by the store's clock, some writer has been writing that has not ended; `None` if
    /// there is none. `now_ms` is the time by that clock.
    ///
    /// # Errors
    /// Store errors.
    pub(crate) async fn writing_since(&self, now_ms: i64) -> Result<Option<i64>, SegmentError> {
        let millis = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        let mut since: Option<i64> = None;
        let mut listing = self.store.list(FOLDER);
        while let Some(item) = listing.next().await {
            let info = match item {
                Ok(info) => info,
                Err(error) if error.kind() == StoreErrorKind::NotFound => break,
                Err(error) => return Err(error.into()),
            };
            if info.modified_ms.saturating_add(millis(HOLDS)) < now_ms {
                continue;
            }
            let content = match self.store.get(&info.path).await {
                Ok(content) => content,
                Err(error) if error.kind() == StoreErrorKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            };
            // One that cannot be read keeps all there is.
            let content = serde_json::from_slice(&content).unwrap_or(Content { age_ms: u64::MAX });
            let age = millis(Duration::from_millis(content.age_ms)).saturating_add(millis(MARGIN));
            let began = info.modified_ms.saturating_sub(age);
            since = Some(since.map_or(began, |since| since.min(began)));
        }
        Ok(since)
    }
}
