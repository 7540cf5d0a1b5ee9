//! Repairing an index: snapshots that nobody can read are set aside.
//!
//! A snapshot's number must not come free while it is the highest: one writer may have passed it
//! over and be about to publish the number after it, and another would take the number itself; both
//! would have continued from the same snapshot, and both would win. So the newest whole snapshot is
//! published again first, under a number above all that are damaged.

use limn_store::StoreErrorKind;

use crate::error::{PublishError, SegmentError};
use crate::index_store::IndexStore;
use crate::snapshot::{Snapshot, SnapshotInfo};
use crate::verify::Problem;

/// How often the newest snapshot is published again while others are faster.
const ATTEMPTS: usize = 8;

impl IndexStore {
    /// The snapshots that are damaged, newest first, and what is wrong with them.
    ///
    /// # Errors
    /// Store errors; a newer format.
    pub async fn damaged_snapshots(&self) -> Result<Vec<(SnapshotInfo, Problem)>, SegmentError> {
        let mut damaged = Vec::new();
        for info in self.snapshots().await? {
            match self.snapshot(info.number).await {
                Ok(_) | Err(SegmentError::NoSuchSnapshot { .. }) => {}
                Err(error) if error.is_damage() => {
                    let problem = Problem {
                        object: self.store.object_url(&info.path),
                        error: error.to_string(),
                    };
                    damaged.push((info, problem));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(damaged)
    }

    /// Sets the damaged snapshots aside, each beside where it was with `.damaged` after its name,
    /// and returns their numbers. The index goes on from the newest that is whole, which is
    /// published again where a newer one was damaged.
    ///
    /// # Errors
    /// Store errors; [`PublishError::Lost`] if other writers were faster again and again. The same
    /// call goes on.
    pub async fn set_damaged_aside(&self) -> Result<Vec<u64>, PublishError> {
        let damaged = self.damaged_snapshots().await?;
        if !damaged.is_empty() {
            self.publish_above_damaged().await?;
        }
        let mut numbers = Vec::new();
        for (info, _) in damaged {
            let content = match self.store.get(&info.path).await {
                Ok(content) => content,
                Err(error) if error.kind() == StoreErrorKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            };
            self.store
                .put(&Snapshot::aside(&info.path), content)
                .await?;
            self.store.delete(&info.path).await?;
            numbers.push(info.number);
        }
        Ok(numbers)
    }

    async fn publish_above_damaged(&self) -> Result<(), PublishError> {
        let mut attempts = ATTEMPTS;
        loop {
            attempts -= 1;
            let newest = match self.newest().await {
                Ok(Some(newest)) if newest.passed_over > 0 => newest,
                Ok(_) => return Ok(()),
                // None is whole: nobody can go on from any, and the next run begins anew.
                Err(error) if error.is_damage() => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            match self.publish(&newest.next()).await {
                Err(PublishError::Lost { .. }) if attempts > 0 => {}
                done => return done,
            }
        }
    }
}
