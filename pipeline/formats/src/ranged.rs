//! Ranged reads of one object for a parser on a blocking thread.
//!
//! What is wanted is given as ranges; near ones are fetched together, several at a time. What comes
//! back has the length that was asked for, or there is an error.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use limn_store::Store;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::Failure;
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::object::ObjectRecord;

/// Ranges under way at a time.
const CONCURRENT: usize = 8;

/// One object; clones are the same one.
#[derive(Clone)]
pub(super) struct Ranged(Arc<Inner>);

struct Inner {
    store: Store,
    path: String,
    etag: Option<String>,
    size: u64,
    runtime: Handle,
    fetched: AtomicU64,
    /// Why the last read failed, for decoders that know errors of their own only.
    failure: Mutex<Option<Failure>>,
}

impl Ranged {
    /// An object as it was listed. To be read from a thread outside the runtime.
    pub(super) fn new(store: Store, object: &ObjectRecord, runtime: Handle) -> Self {
        Ranged(Arc::new(Inner {
            store,
            path: object.path.clone(),
            etag: object.etag.clone(),
            size: object.size,
            runtime,
            fetched: AtomicU64::new(0),
            failure: Mutex::default(),
        }))
    }

    /// A data file's object, for a parser that the current runtime starts.
    pub(super) fn of(store: &Store, file: &DataFile) -> Self {
        Ranged::new(store.clone(), &file.object, Handle::current())
    }

    /// The object's size in bytes, as listed.
    pub(super) fn size(&self) -> u64 {
        self.0.size
    }

    /// The lake's URL, the path and the entity tag, where the store gives one.
    pub(super) fn version(&self) -> Option<(String, String, String)> {
        let url = self.0.store.url().to_owned();
        let etag = self.0.etag.clone()?;
        Some((url, self.0.path.clone(), etag))
    }

    /// Keeps what a read failed of, and returns it for a decoder.
    pub(super) fn keep(&self, failure: Failure) -> io::Error {
        let cause = failure.cause();
        *self.failure() = Some(failure);
        io::Error::other(cause)
    }

    /// What is behind a failed read, once.
    pub(super) fn take_failure(&self) -> Option<Failure> {
        self.failure().take()
    }

    fn failure(&self) -> MutexGuard<'_, Option<Failure>> {
        self.0
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes fetched so far.
    pub(super) fn fetched(&self) -> u64 {
        self.0.fetched.load(Ordering::Relaxed)
    }

    /// Fetches one range.
    ///
    /// # Errors
    /// The store's; a range that the file does not have (or no longer has).
    pub(super) fn get(&self, range: Range<u64>) -> Result<Bytes, Failure> {
        self.0.runtime.block_on(self.fetch(range))
    }

    /// Begins to fetch a range, which [`Ranged::wait`] gives.
    pub(super) fn fetch_ahead(&self, range: Range<u64>) -> JoinHandle<Result<Bytes, Failure>> {
        let object = self.clone();
        self.0
            .runtime
            .spawn(async move { object.fetch(range).await })
    }

    /// What is being fetched.
    ///
    /// # Errors
    /// As [`Ranged::get`].
    pub(super) fn wait(&self, fetch: JoinHandle<Result<Bytes, Failure>>) -> Result<Bytes, Failure> {
        let fetched = self.0.runtime.block_on(fetch);
        fetched.unwrap_or_else(|_| {
            let cause = "the runtime is shutting down";
            Err(Failure::new(FileErrorKind::Unreachable, cause))
        })
    }

    /// Fetches ranges, those at most `gap` bytes apart together.
    ///
    /// # Errors
    /// As [`Ranged::get`].
    pub(super) fn get_all(&self, ranges: Vec<Range<u64>>, gap: u64) -> Result<Fetched, Failure> {
        let fetches = stream::iter(joined(ranges, gap)).map(|range| async move {
            let bytes = self.fetch(range.clone()).await?;
            Ok::<_, Failure>((range.start, bytes))
        });
        let fetched: Vec<(u64, Bytes)> = self
            .0
            .runtime
            .block_on(fetches.buffered(CONCURRENT).try_collect())?;
        Ok(Fetched(fetched.into_iter().collect()))
    }

    async fn fetch(&self, range: Range<u64>) -> Result<Bytes, Failure> {
        let length = range.end.saturating_sub(range.start);
        if range.end > self.0.size {
            return Err(Failure::new(
                FileErrorKind::Corrupt,
                format!(
                    "{length} bytes expected at {} of a file of {}",
                    range.start, self.0.size
                ),
            ));
        }
        if length == 0 {
            return Ok(Bytes::new());
        }
        let Inner { path, etag, .. } = &*self.0;
        let bytes = self.0.store.get_range_of(path, etag.as_deref(), range);
        let bytes = bytes.await?;
        if bytes.len() as u64 != length {
            return Err(Failure::new(
                FileErrorKind::Corrupt,
                "the file has become shorter",
            ));
        }
        self.0.fetched.fetch_add(length, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// Bytes that are at hand, by where they start.
#[derive(Clone, Default)]
pub(super) struct Fetched(BTreeMap<u64, Bytes>);

impl Fetched {
    /// A whole file.
    pub(super) fn whole(bytes: Bytes) -> Self {
        Fetched(BTreeMap::from([(0, bytes)]))
    }

    /// The bytes of `range`, if all of them are here.
    pub(super) fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        let bytes = self.from(range)?;
        Some(bytes.slice(..length))
    }

    /// The bytes from `range.start` on, as many as stand together, if all of `range` is here.
    pub(super) fn from(&self, range: &Range<u64>) -> Option<Bytes> {
        let (at, bytes) = self.0.range(..=range.start).next_back()?;
        slice(*at, bytes, range)
    }

    /// Takes bytes that stand at `at`.
    pub(super) fn insert(&mut self, at: u64, bytes: Bytes) {
        self.0.insert(at, bytes);
    }

    /// Takes what `other` holds, too.
    pub(super) fn extend(&mut self, other: Fetched) {
        self.0.extend(other.0);
    }

    /// Keeps the pieces that are of interest.
    pub(super) fn retain(&mut self, mut wanted: impl FnMut(&Bytes) -> bool) {
        self.0.retain(|_, bytes| wanted(bytes));
    }
}

/// What `bytes`, which stand at `at`, hold from `range.start` on, if they hold all of `range`.
pub(super) fn slice(at: u64, bytes: &Bytes, range: &Range<u64>) -> Option<Bytes> {
    let from = range.start.checked_sub(at)?;
    (range.end >= range.start && at + bytes.len() as u64 >= range.end)
        .then(|| bytes.slice(from as usize..))
}

/// Ranges in order, those at most `gap` apart made one.
pub(super) fn joined(mut ranges: Vec<Range<u64>>, gap: u64) -> Vec<Range<u64>> {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => {
                last.end = last.end.max(range.end)
            }
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn near_ranges_are_joined() {
        assert_eq!(
            joined(vec![20..30, 0..10, 11..12, 29..40, 5..5], 1),
            [0..12, 20..40]
        );
        assert_eq!(joined(vec![0..10, 2..3, 10..11], 0), vec![0..11]);
    }

    #[tokio::test]
    async fn ranges_are_found_in_what_was_fetched() {
        let store = Store::in_memory();
        let content: Vec<u8> = (0..200u8).collect();
        store.put("x", content.clone().into()).await.unwrap();
        let object = Ranged::new(
            store,
            &ObjectRecord::unversioned("x", 200),
            Handle::current(),
        );
        tokio::task::spawn_blocking(move || {
            let fetched = object.get_all(vec![0..10, 12..20, 100..110], 4).unwrap();
            assert_eq!(object.fetched(), 30);
            assert_eq!(fetched.get(&(11..15)).unwrap(), content[11..15]);
            assert_eq!(fetched.from(&(11..15)).unwrap(), content[11..20]);
            assert_eq!(fetched.get(&(19..21)), None);
            assert_eq!(fetched.get(&(60..60)), None);
            assert_eq!(object.get(7..7).unwrap(), Bytes::new());
            assert!(object.get(190..201).is_err());
        })
        .await
        .unwrap();
    }
}
