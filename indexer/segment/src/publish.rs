//! Publishing: a conditional PUT that carries the writer's nonce, then a fresh listing.

use bytes::Bytes;
use futures::StreamExt;
use limn_store::PutOutcome;

use crate::error::{PublishError, SegmentError};
use crate::index_store::{IndexStore, is_absent};
use crate::snapshot::Snapshot;

/// How often a snapshot's creation is asked for while the store's answers leave open what came of
/// it.
const PUBLISHING_ATTEMPTS: usize = 3;

impl IndexStore {
    /// Publishes a snapshot: from then on it is the newest. Everything it names must be written.
    ///
    /// The creation is conditional. After an unclear answer, and after "exists" (which may be the
    /// echo of our own first attempt), the object is read back and the writer's nonce decides. Then
    /// a fresh listing must show the number as the highest of those that are whole: a low number
    /// may have been used before and freed by garbage collection. If it is not, the parent of the
    /// one after it shows whether another writer has already built on this one.
    ///
    /// # Errors
    /// [`PublishError::Lost`] if another writer was first: rebase on the newest and publish again.
    /// [`SegmentError::Lapsed`] if what this run wrote may have been collected.
    pub async fn publish(&self, snapshot: &Snapshot) -> Result<(), PublishError> {
        if let Some(lease) = &self.lease {
            lease.check()?;
        }
        let path = Snapshot::path(snapshot.number);
        let bytes = Bytes::from(snapshot.to_bytes()?);
        let mut attempts = PUBLISHING_ATTEMPTS;
        let ours = loop {
            attempts -= 1;
            match self.store.put_if_absent(&path, bytes.clone()).await {
                Ok(PutOutcome::Created) => break true,
                Ok(PutOutcome::Exists) => break self.is_ours_at(&path, snapshot).await?,
                Err(put_error) => match self.is_ours_at(&path, snapshot).await {
                    Ok(true) => break true,
                    // It has had no effect so far; whether it will, the next one finds out.
                    Ok(false) if put_error.is_retryable() && attempts > 0 => {}
                    Ok(false) | Err(_) => return Err(put_error.into()),
                },
            }
        };
        let listed = self.numbers_from(snapshot.number).await?;
        let newest = listed.first().copied().unwrap_or(0);
        if ours && self.is_newest(snapshot, &listed).await? {
            tracing::info!(
                snapshot = snapshot.number,
                index = self.store.url(),
                "published"
            );
            return Ok(());
        }
        Err(PublishError::Lost {
            location: self.store.url().to_owned(),
            number: snapshot.number,
            newest: newest.max(if ours { 0 } else { snapshot.number }),
        })
    }

    /// The numbers of the snapshots from this one on, newest first.
    async fn numbers_from(&self, number: u64) -> Result<Vec<u64>, SegmentError> {
        let mut found = Vec::new();
        let mut listing = self.store.list("snapshots");
        while let Some(item) = listing.next().await {
            match item.map(|info| Snapshot::number_of(&info.path)) {
                Ok(Some(listed)) if listed >= number => found.push(listed),
                Ok(Some(_)) => break,
                Ok(None) => {}
                Err(e) if is_absent(&e) => break,
                Err(e) => return Err(e.into()),
            }
        }
        Ok(found)
    }

    /// Whether of these numbers, newest first, that of a snapshot is the highest that is whole, or
    /// the next one that is was built on it.
    async fn is_newest(&self, snapshot: &Snapshot, listed: &[u64]) -> Result<bool, SegmentError> {
        let Some((own, above)) = listed.split_last() else {
            return Ok(false);
        };
        if *own != snapshot.number {
            return Ok(false);
        }
        for number in above.iter().rev() {
            match self.snapshot(*number).await {
                Ok(child) => return Ok(child.parent.as_ref() == Some(&snapshot.writer)),
                Err(SegmentError::NoSuchSnapshot { .. }) => return Ok(false),
                // Nobody goes on from it.
                Err(error) if error.is_damage() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Whether the object at a snapshot's path is the one that this writer made.
    async fn is_ours_at(&self, path: &str, snapshot: &Snapshot) -> Result<bool, SegmentError> {
        match self.store.get(path).await {
            Ok(bytes) => Ok(Snapshot::from_bytes(path, &bytes)
                .is_ok_and(|found| found.writer == snapshot.writer)),
            Err(e) if is_absent(&e) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }
}
