//! Whether a store lets two writers create one object.
//!
//! Publishing rests on conditional creation, and a store may accept the condition without keeping
//! it. A single writer cannot see that: its second attempt is refused either way. So a few creators
//! race for one name, several times over. The probe is probabilistic: a store that fails seldom may
//! pass it.

use bytes::Bytes;
use futures::future::join_all;
use limn_store::{PutOutcome, StoreError};

use crate::error::SegmentError;
use crate::index_store::IndexStore;
use crate::snapshot::nonce;

/// Where they race.
pub(crate) const FOLDER: &str = "cache/probe";
/// Creators that race for one name.
const CREATORS: usize = 8;
/// Names that they race for, one after the other.
const ROUNDS: usize = 6;

impl IndexStore {
    /// Lets creators race for names below `cache/probe/`, which are deleted again. Meant for the
    /// moment before an index's first snapshot: [`CREATORS`] × [`ROUNDS`] small PUTs.
    ///
    /// # Errors
    /// [`SegmentError::TwoWinners`] if two creators of one name were told that they made it, or the
    /// object is not the winner's. Store errors, where they leave no race decided.
    pub async fn probe_creation(&self) -> Result<(), SegmentError> {
        let run = nonce();
        let mut undecided = None;
        let mut decided = 0;
        for round in 0..ROUNDS {
            let path = format!("{FOLDER}/{run}-{round}");
            let raced = self.race(&path).await;
            if let Err(error) = self.store.delete(&path).await {
                tracing::warn!(%error, "a probe's object stays");
            }
            match raced? {
                None => decided += 1,
                Some(error) => undecided = Some(error),
            }
        }
        match undecided {
            Some(error) if decided == 0 => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// One race; an error that passes if nobody is known to have won it.
    async fn race(&self, path: &str) -> Result<Option<StoreError>, SegmentError> {
        let creators = (0..CREATORS).map(|creator| async move {
            let content = Bytes::from(format!("creator {creator}"));
            let put = self.store.put_if_absent(path, content.clone()).await;
            (put, content)
        });
        let (mut winners, mut failed) = (Vec::new(), None);
        for (outcome, content) in join_all(creators).await {
            match outcome {
                Ok(PutOutcome::Created) => winners.push(content),
                Ok(PutOutcome::Exists) => {}
                // Whether it won is not known.
                Err(error) if error.is_retryable() => failed = Some(error),
                Err(error) => return Err(error.into()),
            }
        }
        // None: an answer was lost, or the store's client tried again and met its own object.
        let Some(winner) = winners.first() else {
            return Ok(failed);
        };
        if winners.len() > 1 || self.store.get(path).await? != *winner {
            return Err(SegmentError::TwoWinners {
                location: self.store.url().to_owned(),
            });
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::fmt;
    use std::sync::Arc;

    use async_trait::async_trait;
    use futures::stream::BoxStream;
    use limn_store::Store;
    use object_store::memory::InMemory;
    use object_store::path::Path;
    use object_store::{
        CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
        ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload,
        PutResult, Result,
    };

    use super::*;

    /// Keeps the condition of a creation as many servers do: it looks first, and writes then.
    #[derive(Debug, Default)]
    struct LooksThenWrites(InMemory);

    impl fmt::Display for LooksThenWrites {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.fmt(f)
        }
    }

    #[async_trait]
    impl ObjectStore for LooksThenWrites {
        async fn put_opts(
            &self,
            at: &Path,
            load: PutPayload,
            opts: PutOptions,
        ) -> Result<PutResult> {
            if opts.mode == PutMode::Create && self.0.head(at).await.is_ok() {
                return Err(Error::AlreadyExists {
                    path: at.to_string(),
                    source: "it is there".into(),
                });
            }
            tokio::task::yield_now().await;
            self.0.put(at, load).await
        }

        async fn put_multipart_opts(
            &self,
            at: &Path,
            opts: PutMultipartOptions,
        ) -> Result<Box<dyn MultipartUpload>> {
            self.0.put_multipart_opts(at, opts).await
        }

        async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
            self.0.get_opts(at, options).await
        }

        fn delete_stream(
            &self,
            paths: BoxStream<'static, Result<Path>>,
        ) -> BoxStream<'static, Result<Path>> {
            self.0.delete_stream(paths)
        }

        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
            self.0.list(prefix)
        }

        async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
            self.0.list_with_delimiter(prefix).await
        }

        async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
            self.0.copy_opts(from, to, options).await
        }
    }

    #[tokio::test]
    async fn a_store_that_lets_two_win_is_refused_though_a_single_writer_sees_nothing() {
        let store = Store::over(Arc::new(LooksThenWrites::default()));
        let put = |text: &str| store.put_if_absent("one", text.to_owned().into());
        assert_eq!(put("a").await.unwrap(), PutOutcome::Created);
        assert_eq!(put("b").await.unwrap(), PutOutcome::Exists);
        let index = IndexStore::new(store);
        let error = index.probe_creation().await.unwrap_err();
        assert!(matches!(error, SegmentError::TwoWinners { .. }), "{error}");
        assert!(error.to_string().contains("another --index"), "{error}");
    }

    #[tokio::test]
    async fn stores_that_keep_the_condition_pass_and_nothing_is_left_there() {
        let folder = tempfile::tempdir().unwrap();
        let on_disk = IndexStore::open(folder.path().to_str().unwrap()).unwrap();
        for index in [IndexStore::new(Store::in_memory()), on_disk] {
            index.probe_creation().await.unwrap();
            let mut listing = index.store.list("cache");
            let left = futures::StreamExt::next(&mut listing).await;
            assert!(!matches!(left, Some(Ok(_))), "{left:?}");
        }
    }
}
