//! Garbage collection: snapshots that nobody wants any more, and objects that no snapshot names.
//!
//! Nothing is removed that a retained snapshot names. What no snapshot names may still be named by
//! the next one, of a job that is running: so only what was written long ago is removed, and a
//! writer that takes longer says so ([`crate::lease`]). A job that goes on from a snapshot that is
//! not the newest any more cannot publish, so what the next snapshot names is what the newest
//! names, and what is young. What is written has a name that none had before, so what is found to
//! be garbage stays garbage.
//!
//! The store's clock alone decides how old something is: that of the machine may be days off.
//!
//! Snapshots go first and their objects after them, so a reader never finds a snapshot whose
//! objects are deleted; a collection that dies in between leaves orphans to the next one.
//! Narrations are no garbage: they are words that were paid for. Writes that a killed process has
//! left unfinished on a local disk are.

use std::collections::HashSet;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use limn_store::StoreErrorKind;
use serde::Serialize;

use crate::error::SegmentError;
use crate::index_store::{FOLDERS, IndexStore};
use crate::snapshot::{Snapshot, SnapshotInfo, nonce};

/// Folders whose objects are garbage unless a snapshot names them.
const COLLECTED: [&str; 9] = [
    "segments",
    "catalog",
    "joins",
    "deletes",
    crate::kept_answers::FOLDER,
    crate::kept_cells::FOLDER,
    crate::kept_vectors::FOLDER,
    crate::probe::FOLDER,
    crate::lease::FOLDER,
];
/// Objects removed at a time.
const REMOVALS_IN_FLIGHT: usize = 8;
/// By how much the store's clock and this machine's may differ.
const SKEW_MS: i64 = 60_000;

/// Which snapshots are retained, and how old garbage has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Snapshots and objects that are younger stay.
    pub older_than: Duration,
    /// So many of the newest snapshots stay, however old; one at least does.
    pub keep: usize,
}

/// What nobody needs any more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Garbage {
    /// Numbers of the snapshots that stay, newest first.
    pub retained: Vec<u64>,
    /// Snapshots to be removed, oldest first.
    pub snapshots: Vec<SnapshotInfo>,
    /// Objects that no retained snapshot names, and unfinished writes, in the order of their paths.
    pub objects: Vec<GarbageObject>,
}

/// An object to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GarbageObject {
    /// Path under the index root.
    pub path: String,
    /// Length.
    pub bytes: u64,
    /// When it was written, milliseconds since 1970.
    pub modified_ms: i64,
}

impl Garbage {
    /// Bytes of all that is to be removed.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let snapshots = self.snapshots.iter().map(|it| it.bytes);
        let objects = self.objects.iter().map(|it| it.bytes);
        snapshots.chain(objects).fold(0, u64::saturating_add)
    }
}

impl IndexStore {
    /// What time it is to the store, in milliseconds since 1970: the date of a small object that is
    /// written and removed again. `own` is this machine's clock.
    ///
    /// # Errors
    /// [`SegmentError::Skewed`] if the two differ by more than a minute; store errors.
    pub async fn time(&self, own: impl Fn() -> i64) -> Result<i64, SegmentError> {
        let path = format!("{}/time-{}", crate::probe::FOLDER, nonce());
        let before = own();
        self.store.put(&path, Default::default()).await?;
        let after = own();
        let head = self.store.head(&path).await;
        if let Err(error) = self.store.delete(&path).await {
            tracing::warn!(%error, "a probe's object stays until limn gc");
        }
        let time = head?.modified_ms;
        let (behind, ahead) = (time.saturating_sub(after), before.saturating_sub(time));
        let skew = behind.max(ahead);
        if skew > SKEW_MS {
            return Err(SegmentError::Skewed {
                location: self.store.url().to_owned(),
                seconds: skew.unsigned_abs() / 1000,
                relation: if ahead > behind { "ahead of" } else { "behind" },
            });
        }
        Ok(time)
    }

    /// Finds what nobody needs at the time `now_ms`, which is the store's ([`IndexStore::time`]),
    /// and removes nothing.
    ///
    /// # Errors
    /// Store errors; a retained snapshot that is damaged: what it names is not known then.
    pub async fn garbage(
        &self,
        retention: Retention,
        now_ms: i64,
    ) -> Result<Garbage, SegmentError> {
        let age = i64::try_from(retention.older_than.as_millis()).unwrap_or(i64::MAX);
        let since = self.writing_since(now_ms).await?;
        let limit = now_ms.saturating_sub(age).min(since.unwrap_or(i64::MAX));
        let mut garbage = Garbage::default();
        let mut named = HashSet::new();
        for (at, info) in self.snapshots().await?.into_iter().enumerate() {
            if at >= retention.keep.max(1) && info.modified_ms < limit {
                garbage.snapshots.push(info);
            } else {
                named.extend(names(self.snapshot(info.number).await?));
                garbage.retained.push(info.number);
            }
        }
        garbage.snapshots.reverse();
        if garbage.retained.is_empty() {
            // A first run may be under way, or it is no index at all.
            return Ok(Garbage::default());
        }
        for folder in COLLECTED {
            let mut listing = self.store.list(folder);
            while let Some(item) = listing.next().await {
                let info = match item {
                    Ok(info) => info,
                    // A folder that does not exist yet holds nothing.
                    Err(error) if error.kind() == StoreErrorKind::NotFound => break,
                    Err(error) => return Err(error.into()),
                };
                if info.modified_ms < limit && !named.contains(&info.path) {
                    garbage.objects.push(GarbageObject {
                        path: info.path,
                        bytes: info.size,
                        modified_ms: info.modified_ms,
                    });
                }
            }
        }
        for folder in FOLDERS {
            let unfinished = match self.store.leftovers(folder).await {
                Ok(unfinished) => unfinished,
                Err(error) if error.kind() == StoreErrorKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            };
            let old = unfinished.into_iter().filter(|it| it.modified_ms < limit);
            garbage.objects.extend(old.map(|info| GarbageObject {
                path: info.path,
                bytes: info.size,
                modified_ms: info.modified_ms,
            }));
        }
        garbage.objects.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(garbage)
    }

    /// Removes garbage. `removed` is called for each deleted object.
    ///
    /// # Errors
    /// Store errors; what was removed by then stays removed, and the rest is found again.
    pub async fn remove_garbage(
        &self,
        garbage: &Garbage,
        removed: &(dyn Fn() + Sync),
    ) -> Result<(), SegmentError> {
        for snapshot in &garbage.snapshots {
            self.remove(&snapshot.path).await?;
            removed();
        }
        stream::iter(&garbage.objects)
            .map(|object| async move {
                match self.store.is_leftover(&object.path) {
                    true => self.store.delete_leftover(&object.path).await?,
                    false => self.remove(&object.path).await?,
                }
                removed();
                Ok(())
            })
            .buffer_unordered(REMOVALS_IN_FLIGHT)
            .try_collect()
            .await
    }

    async fn remove(&self, path: &str) -> Result<(), SegmentError> {
        match self.store.delete(path).await {
            Ok(()) => Ok(()),
            // Another collection was faster.
            Err(error) if error.kind() == StoreErrorKind::NotFound => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The paths that a snapshot names.
fn names(snapshot: Snapshot) -> impl Iterator<Item = String> {
    let catalog = snapshot.catalog.into_iter().map(|entry| entry.path);
    let segments = snapshot.segments.into_iter().flat_map(|entry| {
        let deletes = entry.deletes.map(|deletes| deletes.path);
        deletes.into_iter().chain([entry.path])
    });
    let joins = snapshot.joins.into_values().flatten();
    let joins = joins.map(|file| file.path);
    catalog.chain(segments).chain(joins)
}
