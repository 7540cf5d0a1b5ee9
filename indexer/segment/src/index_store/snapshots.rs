//! The snapshots of an index, by number and by time.

use futures::StreamExt;
use limn_store::StoreErrorKind;

use super::{IndexStore, is_absent};
use crate::error::SegmentError;
use crate::snapshot::{Snapshot, SnapshotInfo};

/// Snapshots that are looked through for one that differs.
const LOOKED_BACK: usize = 32;

impl IndexStore {
    /// A snapshot by number.
    ///
    /// # Errors
    /// [`SegmentError::NoSuchSnapshot`], and those of [`IndexStore::newest`].
    pub async fn snapshot(&self, number: u64) -> Result<Snapshot, SegmentError> {
        let path = Snapshot::path(number);
        let bytes = match self.store.get(&path).await {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == StoreErrorKind::NotFound => {
                return Err(SegmentError::NoSuchSnapshot {
                    location: self.store.url().to_owned(),
                    number,
                });
            }
            Err(e) => return Err(e.into()),
        };
        let object = self.store.object_url(&path);
        let snapshot = Snapshot::from_bytes(&object, &bytes)?;
        if snapshot.number != number {
            let detail = format!("it says that it is snapshot {}", snapshot.number);
            return Err(SegmentError::damaged_snapshot(object, detail));
        }
        Ok(snapshot)
    }

    /// As [`IndexStore::snapshot`], where 0 is what there was before the first: nothing.
    ///
    /// # Errors
    /// As [`IndexStore::snapshot`]; of 0, where the first was collected.
    pub async fn snapshot_or_nothing(&self, number: u64) -> Result<Snapshot, SegmentError> {
        if number > 0 {
            return self.snapshot(number).await;
        }
        let first = self.snapshot(1).await.map_err(|error| match error {
            SegmentError::NoSuchSnapshot { location, .. } => {
                SegmentError::NoSuchSnapshot { location, number }
            }
            error => error,
        });
        Ok(first?.before_all())
    }

    /// All snapshots that still exist, newest first.
    ///
    /// # Errors
    /// Store errors.
    pub async fn snapshots(&self) -> Result<Vec<SnapshotInfo>, SegmentError> {
        let mut found = Vec::new();
        let mut listing = self.store.list("snapshots");
        while let Some(item) = listing.next().await {
            let info = match item {
                Ok(info) => info,
                Err(e) if is_absent(&e) => break,
                Err(e) => return Err(e.into()),
            };
            if let Some(number) = Snapshot::number_of(&info.path) {
                found.push(SnapshotInfo {
                    number,
                    path: info.path,
                    bytes: info.size,
                    modified_ms: info.modified_ms,
                });
            }
        }
        found.sort_by_key(|s| std::cmp::Reverse(s.number));
        Ok(found)
    }

    /// What the snapshot `to` is compared with where nothing is named: the numbers of those before
    /// it, newest first, at most 32, so that one of them is found that differs from it in a table;
    /// before the first there was number 0, nothing. None where the older ones were collected.
    ///
    /// # Errors
    /// As [`IndexStore::snapshots`].
    pub async fn snapshots_before(&self, to: u64) -> Result<Vec<u64>, SegmentError> {
        if to == 1 {
            return Ok(vec![0]);
        }
        let listed = self.snapshots().await?.into_iter();
        let older = listed.map(|info| info.number).filter(|number| *number < to);
        Ok(older.take(LOOKED_BACK).collect())
    }

    /// Of the snapshot `to` and those before it, the newest that was made at `before_ms`
    /// (milliseconds since 1970) or earlier: what there was then; where none was, the oldest that
    /// there is, or number 0, without any table, where that is the index's first. `None` if there
    /// is none at all.
    ///
    /// One listing, and a read for each halving of the snapshots that there are.
    ///
    /// # Errors
    /// As [`IndexStore::snapshot`].
    pub async fn snapshot_before(
        &self,
        to: u64,
        before_ms: i64,
    ) -> Result<Option<Snapshot>, SegmentError> {
        let listed = self.snapshots().await?.into_iter();
        let older = listed
            .map(|info| info.number)
            .filter(|number| *number <= to);
        let mut older: Vec<u64> = older.collect();
        let (mut young, mut found) = (0, None);
        while young < older.len() {
            // The oldest is looked at first: often there is none that is old enough.
            let middle = match found {
                None => older.len() - 1,
                Some(_) => young + (older.len() - young) / 2,
            };
            match self.snapshot(older[middle]).await {
                Ok(snapshot) if snapshot.created_ms <= before_ms => {
                    older.truncate(middle);
                    found = Some(snapshot);
                }
                Ok(snapshot) => {
                    young = middle + 1;
                    found.get_or_insert(snapshot);
                }
                // Collected meanwhile, and so are those before it.
                Err(SegmentError::NoSuchSnapshot { .. }) => older.truncate(middle),
                Err(error) if error.is_damage() => drop(older.remove(middle)),
                Err(error) => return Err(error),
            }
        }
        // Of an index that is younger, all is new since.
        Ok(found.map(
            |found| match found.number == 1 && found.created_ms > before_ms {
                true => found.before_all(),
                false => found,
            },
        ))
    }

    /// The number of the newest snapshot, if there is one: one list page.
    ///
    /// # Errors
    /// Store errors.
    pub async fn newest_number(&self) -> Result<Option<u64>, SegmentError> {
        // Listings come in the order of names, and names count down.
        self.first_in("snapshots", Snapshot::number_of).await
    }
}
