//! Whether a store lets two writers create one object.
//!
//! Publishing rests on conditional creation, and a store may accept the condition without keeping
//! it. A single writer cannot see that: its second attempt is refused either way. So a few creators
//! race for one name, several times over. The probe is probabilistic: a store that fails seldom may
//! pass it.
//!
//! A race is decided when one creator gets the answer that it won and others that they lost.
//! Creators whose requests fail count for nothing, and those that are late are waited for only as
//! long again as the others took, so that a store that fails some requests is not probed for
//! minutes.

use std::time::Duration;

use bytes::Bytes;
use futures::future::join_all;
use futures::stream::{self, FuturesUnordered, StreamExt};
use limn_store::{PutOutcome, StoreError, StoreErrorKind};
use tokio::time::{Instant, timeout, timeout_at};

use crate::error::SegmentError;
use crate::index_store::IndexStore;
use crate::snapshot::nonce;

/// Where they race.
pub(crate) const FOLDER: &str = "cache/probe";
/// Creators that race for one name.
const CREATORS: usize = 8;
/// Names that they race for…
const ROUNDS: usize = 6;
/// …so many at the same time. With all at once every race would be one of connections that are
/// being opened, which takes them apart; so the second half has open ones.
const ROUNDS_AT_ONCE: usize = 3;
/// Answers after which late creators are waited for only so long…
const ENOUGH: usize = CREATORS / 2;
/// …at least, where the winner is known…
const LEAST_WAIT: Duration = Duration::from_millis(100);
/// …and where it is not.
const LONG_WAIT: Duration = Duration::from_secs(5);
/// The races take no longer, and removing their objects neither.
const LIMIT: Duration = Duration::from_secs(20);

/// How a race ended.
#[derive(Debug)]
enum Race {
    /// One has won, others have lost.
    Decided,
    /// It is not known who has won, or nobody is known to have lost; with an error of the store, if
    /// there was any.
    Undecided(Option<StoreError>),
}

impl IndexStore {
    /// Lets creators race for names below `cache/probe/`, which are deleted again. Meant for the
    /// moment before an index's first snapshot: [`CREATORS`] × [`ROUNDS`] small PUTs.
    ///
    /// # Errors
    /// [`SegmentError::TwoWinners`] if two creators of one name got the answer that they made it,
    /// or the object is not the winner's. Store errors, where they leave no race decided.
    pub async fn probe_creation(&self) -> Result<(), SegmentError> {
        let run = nonce();
        let paths = (0..ROUNDS).map(|round| format!("{FOLDER}/{run}-{round}"));
        let paths: Vec<String> = paths.collect();
        let raced = self.race_for_all(&paths).await;
        let deletes = join_all(paths.iter().map(|path| self.store.delete(path)));
        match timeout(LIMIT, deletes).await {
            Ok(deleted) => {
                for error in deleted.into_iter().filter_map(Result::err) {
                    tracing::warn!(%error, "a probe's object stays until limn gc");
                }
            }
            Err(_) => tracing::warn!("a probe's objects stay until limn gc"),
        }
        raced
    }

    async fn race_for_all(&self, paths: &[String]) -> Result<(), SegmentError> {
        let races: Vec<_> = paths.iter().map(|path| self.race(path)).collect();
        let mut races = stream::iter(races).buffer_unordered(ROUNDS_AT_ONCE);
        let until = Instant::now() + LIMIT;
        let (mut decided, mut failed) = (0, None);
        loop {
            match timeout_at(until, races.next()).await {
                Ok(Some(Ok(Race::Decided))) => decided += 1,
                Ok(Some(Ok(Race::Undecided(error)))) => failed = error.or(failed),
                Ok(Some(Err(error))) => return Err(error),
                Ok(None) => break,
                Err(_) => {
                    let slow = || {
                        StoreError::new(
                            StoreErrorKind::Unreachable,
                            self.store.url(),
                            format!("small objects could not be created in {LIMIT:?}"),
                            "check the network and the store, and run again",
                        )
                    };
                    failed = failed.or_else(|| Some(slow()));
                    break;
                }
            }
        }
        match failed {
            Some(error) if decided == 0 => Err(error.into()),
            _ => Ok(()),
        }
    }

    async fn race(&self, path: &str) -> Result<Race, SegmentError> {
        let two_winners = || SegmentError::TwoWinners {
            location: self.store.url().to_owned(),
        };
        let creators = (0..CREATORS).map(|creator| async move {
            let content = Bytes::from(format!("creator {creator}"));
            let put = self.store.put_if_absent(path, content.clone()).await;
            (put, content)
        });
        let mut creators: FuturesUnordered<_> = creators.collect();
        let started = Instant::now();
        let mut until: Option<Instant> = None;
        let mut answers = 0;
        let (mut winner, mut losers, mut failed) = (None, 0, None);
        loop {
            let next = match until {
                None => creators.next().await,
                // Late ones go on, or not, for themselves.
                Some(until) => timeout_at(until, creators.next()).await.unwrap_or(None),
            };
            let Some((outcome, content)) = next else {
                break;
            };
            match outcome {
                Ok(PutOutcome::Created) if winner.is_some() => return Err(two_winners()),
                Ok(PutOutcome::Created) => winner = Some(content),
                Ok(PutOutcome::Exists) => losers += 1,
                // Whether it won is not known.
                Err(error) if error.is_retryable() => failed = Some(error),
                Err(error) => return Err(error.into()),
            }
            answers += 1;
            let wait = match &winner {
                Some(_) if losers + 1 >= ENOUGH => LEAST_WAIT,
                _ if answers >= ENOUGH => LONG_WAIT,
                _ => continue,
            };
            let end = Instant::now() + started.elapsed().max(wait);
            until = Some(until.map_or(end, |until| until.min(end)));
        }
        // None: an answer was lost, or the store's client tried again and met its own object.
        let (Some(winner), true) = (winner, losers > 0) else {
            return Ok(Race::Undecided(failed));
        };
        match self.store.get(path).await {
            Ok(content) if content == winner => Ok(Race::Decided),
            Ok(_) => Err(two_winners()),
            Err(error) if error.is_retryable() => Ok(Race::Undecided(Some(error))),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use std::fmt;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

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

    /// A store in memory that behaves as some servers do.
    #[derive(Debug, Default)]
    struct SimulatedStore {
        store: InMemory,
        /// Keeps the condition of a creation as many servers do: it looks first, and writes then.
        looks_then_writes: bool,
        /// Time that an answer takes.
        latency: Duration,
        /// Requests of a thousand whose answer never comes.
        silent: u64,
        requests: AtomicU64,
    }

    impl SimulatedStore {
        async fn answer(&self) {
            let number = self.requests.fetch_add(1, Ordering::Relaxed);
            if crate::tests::noise(number, 1) % 1000 < self.silent {
                std::future::pending::<()>().await;
            }
            tokio::time::sleep(self.latency).await;
        }
    }

    impl fmt::Display for SimulatedStore {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.store.fmt(f)
        }
    }

    #[async_trait]
    impl ObjectStore for SimulatedStore {
        async fn put_opts(
            &self,
            at: &Path,
            load: PutPayload,
            opts: PutOptions,
        ) -> Result<PutResult> {
            if !self.looks_then_writes {
                let put = self.store.put_opts(at, load, opts).await;
                self.answer().await;
                return put;
            }
            if opts.mode == PutMode::Create && self.store.head(at).await.is_ok() {
                return Err(Error::AlreadyExists {
                    path: at.to_string(),
                    source: "it is there".into(),
                });
            }
            tokio::task::yield_now().await;
            let put = self.store.put(at, load).await;
            self.answer().await;
            put
        }

        async fn put_multipart_opts(
            &self,
            at: &Path,
            opts: PutMultipartOptions,
        ) -> Result<Box<dyn MultipartUpload>> {
            self.store.put_multipart_opts(at, opts).await
        }

        async fn get_opts(&self, at: &Path, options: GetOptions) -> Result<GetResult> {
            self.answer().await;
            self.store.get_opts(at, options).await
        }

        fn delete_stream(
            &self,
            paths: BoxStream<'static, Result<Path>>,
        ) -> BoxStream<'static, Result<Path>> {
            self.store.delete_stream(paths)
        }

        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
            self.store.list(prefix)
        }

        async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
            self.store.list_with_delimiter(prefix).await
        }

        async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
            self.store.copy_opts(from, to, options).await
        }
    }

    #[tokio::test]
    async fn a_store_that_lets_two_win_is_refused_though_a_single_writer_sees_nothing() {
        let store = Store::over(Arc::new(SimulatedStore {
            looks_then_writes: true,
            ..SimulatedStore::default()
        }));
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

    async fn probed(store: SimulatedStore) -> (Result<(), SegmentError>, Duration) {
        let index = IndexStore::new(Store::over(Arc::new(store)));
        let started = Instant::now();
        let probed = index.probe_creation().await;
        (probed, started.elapsed())
    }

    /// Creators whose answers never come are not waited for, and hide nothing.
    #[tokio::test(start_paused = true)]
    async fn a_store_that_is_silent_now_and_then_is_probed_in_good_time() {
        for silent in [0, 100, 300] {
            let latency = Duration::from_millis(50);
            let (probed, took) = probed(SimulatedStore {
                latency,
                silent,
                ..SimulatedStore::default()
            })
            .await;
            probed.unwrap();
            assert!(silent > 0 || took < latency * 5, "{took:?}");
            assert!(took <= 2 * LIMIT, "{took:?}");
            let (refused, _) = self::probed(SimulatedStore {
                latency,
                silent,
                looks_then_writes: true,
                ..SimulatedStore::default()
            })
            .await;
            assert!(
                matches!(refused, Err(SegmentError::TwoWinners { .. })),
                "{refused:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_decides_no_race_is_given_up_with_one_clear_line() {
        let (probed, took) = probed(SimulatedStore {
            silent: 1000,
            ..SimulatedStore::default()
        })
        .await;
        let error = probed.unwrap_err();
        assert!(error.is_retryable(), "{error}");
        assert!(
            error.to_string().contains("could not be created in 20s"),
            "{error}"
        );
        assert!(took <= 2 * LIMIT, "{took:?}");
    }
}
