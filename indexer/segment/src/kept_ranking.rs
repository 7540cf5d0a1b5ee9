//! Keeping an index's own ranking: the newest snapshot is published once more, with it.
//!
//! So readers of older snapshots go on as they are, and whoever publishes next, a run or a
//! compaction, takes it along: a snapshot is built on the one before.

use serde_json::Value;

use crate::error::PublishError;
use crate::index_store::IndexStore;

/// How often the newest snapshot is published again while others are faster.
const ATTEMPTS: usize = 8;

impl IndexStore {
    /// Puts this in the place of what the newest snapshot says of ranking; null takes it out. Gives
    /// the number of the snapshot that has it, which is published unless the newest has it already.
    ///
    /// # Errors
    /// Store errors; no index; [`PublishError::Lost`] if other writers were faster again and again.
    pub async fn put_ranking(&self, ranking: &Value) -> Result<u64, PublishError> {
        let mut attempts = ATTEMPTS;
        loop {
            attempts -= 1;
            let newest = self.require_newest().await?;
            if newest.ranking == *ranking {
                return Ok(newest.number);
            }
            let mut next = newest.next();
            next.ranking = ranking.clone();
            match self.publish(&next).await {
                Err(PublishError::Lost { .. }) if attempts > 0 => {}
                done => return done.map(|()| next.number),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use limn_store::Store;
    use serde_json::json;

    use super::*;
    use crate::snapshot::Snapshot;

    #[tokio::test]
    async fn it_is_kept_by_whoever_publishes_next_and_by_no_older_snapshot() {
        let index = IndexStore::new(Store::in_memory());
        assert!(
            index.put_ranking(&json!({"a": 1})).await.is_err(),
            "no index"
        );
        index.publish(&Snapshot::first("m", 3, 1)).await.unwrap();
        assert_eq!(index.put_ranking(&Value::Null).await.unwrap(), 1);
        assert_eq!(index.put_ranking(&json!({"a": 1})).await.unwrap(), 2);
        // What is there is not written again.
        assert_eq!(index.put_ranking(&json!({"a": 1})).await.unwrap(), 2);
        let newest = index.newest().await.unwrap().unwrap();
        index.publish(&newest.next()).await.unwrap();
        assert_eq!(index.snapshot(3).await.unwrap().ranking, json!({"a": 1}));
        assert_eq!(index.put_ranking(&Value::Null).await.unwrap(), 4);
        assert_eq!(index.snapshot(4).await.unwrap().ranking, Value::Null);
        assert_eq!(index.snapshot(1).await.unwrap().ranking, Value::Null);
        assert_eq!(index.snapshot(2).await.unwrap().ranking, json!({"a": 1}));
    }

    #[tokio::test]
    async fn of_writers_at_the_same_time_none_is_lost() {
        let index = IndexStore::new(Store::in_memory());
        index.publish(&Snapshot::first("m", 3, 1)).await.unwrap();
        let (one, other) = (json!(1), json!(2));
        let both = tokio::join!(index.put_ranking(&one), index.put_ranking(&other));
        let (one, other) = (both.0.unwrap(), both.1.unwrap());
        assert_ne!(one, other);
        let newest = index.newest().await.unwrap().unwrap();
        assert_eq!(newest.number, one.max(other));
    }
}
