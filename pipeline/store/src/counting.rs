//! A wrapper around any object store that counts requests and bytes.
//!
//! What a run costs is measured here, at the one place every request passes, and nowhere else. The
//! wrapper forwards everything to the store inside. It deliberately does not forward
//! [`ObjectStore::get_ranges`], [`ObjectStore::list_with_offset`] on stores that emulate it, or
//! renames that are a copy and a delete: their default bodies call back into this wrapper, so each
//! request they make is seen.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, UploadPart,
};

/// Objects in one page of an S3 listing: what one list request returns at most.
pub(crate) const LIST_PAGE: u64 = 1000;

/// Requests and bytes since a store was opened.
///
/// Retries inside the store's client are not seen. A list request is one page of up to 1,000
/// objects, counted the same way for every kind of store so that local runs predict remote cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Listing pages.
    pub list: u64,
    /// Reads of objects or ranges of them.
    pub get: u64,
    /// Writes, including parts of large ones and copies.
    pub put: u64,
    /// Reads of an object's metadata alone.
    pub head: u64,
    /// Deleted objects.
    pub delete: u64,
    /// Bytes of object content read. From a local file: the bytes of the ranges that were opened.
    pub bytes_read: u64,
    /// Bytes of object content sent.
    pub bytes_written: u64,
}

impl RequestCounts {
    /// What was added since `earlier`, a snapshot of the same store.
    pub fn since(&self, earlier: &RequestCounts) -> RequestCounts {
        RequestCounts {
            list: self.list.saturating_sub(earlier.list),
            get: self.get.saturating_sub(earlier.get),
            put: self.put.saturating_sub(earlier.put),
            head: self.head.saturating_sub(earlier.head),
            delete: self.delete.saturating_sub(earlier.delete),
            bytes_read: self.bytes_read.saturating_sub(earlier.bytes_read),
            bytes_written: self.bytes_written.saturating_sub(earlier.bytes_written),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    list: AtomicU64,
    get: AtomicU64,
    put: AtomicU64,
    head: AtomicU64,
    delete: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

impl Counters {
    pub(crate) fn snapshot(&self) -> RequestCounts {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        RequestCounts {
            list: load(&self.list),
            get: load(&self.get),
            put: load(&self.put),
            head: load(&self.head),
            delete: load(&self.delete),
            bytes_read: load(&self.bytes_read),
            bytes_written: load(&self.bytes_written),
        }
    }

    pub(crate) fn listed_page(&self) {
        add(&self.list, 1);
    }
}

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct CountingStore {
    inner: Arc<dyn ObjectStore>,
    counters: Arc<Counters>,
}

impl CountingStore {
    pub(crate) fn new(inner: Arc<dyn ObjectStore>, counters: Arc<Counters>) -> Self {
        CountingStore { inner, counters }
    }

    fn counted_pages(
        &self,
        listing: BoxStream<'static, Result<ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.counters.listed_page();
        let counters = Arc::clone(&self.counters);
        let mut seen = 0u64;
        listing
            .inspect(move |item| {
                if item.is_ok() {
                    if seen > 0 && seen.is_multiple_of(LIST_PAGE) {
                        counters.listed_page();
                    }
                    seen += 1;
                }
            })
            .boxed()
    }
}

impl fmt::Display for CountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for CountingStore {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        add(&self.counters.put, 1);
        add(
            &self.counters.bytes_written,
            payload.content_length() as u64,
        );
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        opts: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        add(&self.counters.put, 1);
        let inner = self.inner.put_multipart_opts(location, opts).await?;
        Ok(Box::new(CountingUpload {
            inner,
            counters: Arc::clone(&self.counters),
        }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let head = options.head;
        add(
            if head {
                &self.counters.head
            } else {
                &self.counters.get
            },
            1,
        );
        let mut result = self.inner.get_opts(location, options).await?;
        if head {
            return Ok(result);
        }
        result.payload = match result.payload {
            GetResultPayload::Stream(bytes) => {
                let counters = Arc::clone(&self.counters);
                GetResultPayload::Stream(
                    bytes
                        .inspect(move |chunk| {
                            if let Ok(chunk) = chunk {
                                add(&counters.bytes_read, chunk.len() as u64);
                            }
                        })
                        .boxed(),
                )
            }
            file => {
                let range = &result.range;
                add(
                    &self.counters.bytes_read,
                    range.end.saturating_sub(range.start),
                );
                file
            }
        };
        Ok(result)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let counters = Arc::clone(&self.counters);
        self.inner.delete_stream(
            locations
                .inspect(move |location| {
                    if location.is_ok() {
                        add(&counters.delete, 1);
                    }
                })
                .boxed(),
        )
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.counted_pages(self.inner.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.counted_pages(self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let listed = self.inner.list_with_delimiter(prefix).await?;
        let entries = (listed.objects.len() + listed.common_prefixes.len()) as u64;
        add(&self.counters.list, entries.div_ceil(LIST_PAGE).max(1));
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        add(&self.counters.put, 1);
        self.inner.copy_opts(from, to, options).await
    }
}

/// A large write in parts, each part a request.
#[derive(Debug)]
struct CountingUpload {
    inner: Box<dyn MultipartUpload>,
    counters: Arc<Counters>,
}

#[async_trait]
impl MultipartUpload for CountingUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        add(&self.counters.put, 1);
        add(&self.counters.bytes_written, data.content_length() as u64);
        self.inner.put_part(data)
    }

    async fn complete(&mut self) -> Result<PutResult> {
        add(&self.counters.put, 1);
        self.inner.complete().await
    }

    async fn abort(&mut self) -> Result<()> {
        add(&self.counters.delete, 1);
        self.inner.abort().await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use futures::TryStreamExt;
    use object_store::{ObjectStoreExt, memory::InMemory};

    use super::*;

    fn counted() -> (CountingStore, Arc<Counters>) {
        let counters = Arc::new(Counters::default());
        let store = CountingStore::new(Arc::new(InMemory::new()), Arc::clone(&counters));
        (store, counters)
    }

    #[tokio::test]
    async fn every_kind_of_request_is_counted() {
        let (store, counters) = counted();
        let (a, b) = (Path::from("a"), Path::from("b"));
        store
            .put(&a, PutPayload::from_static(b"0123456789"))
            .await
            .unwrap();
        assert_eq!(counters.snapshot().put, 1);
        assert_eq!(counters.snapshot().bytes_written, 10);
        store.get(&a).await.unwrap().bytes().await.unwrap();
        store.get_range(&a, 2..5).await.unwrap();
        assert_eq!(counters.snapshot().get, 2);
        assert_eq!(counters.snapshot().bytes_read, 13);
        // Two ranges that lie near each other are fetched as one.
        store.get_ranges(&a, &[0..2, 4..6]).await.unwrap();
        assert_eq!(counters.snapshot().get, 3);
        store.head(&a).await.unwrap();
        assert_eq!(counters.snapshot().head, 1);
        assert_eq!(
            counters.snapshot().get,
            3,
            "a head request is no get request"
        );
        store.copy(&a, &b).await.unwrap();
        assert_eq!(counters.snapshot().put, 2);
        store.rename(&b, &a).await.unwrap();
        assert_eq!(
            (counters.snapshot().put, counters.snapshot().delete),
            (3, 1)
        );
        let mut upload = store.put_multipart(&b).await.unwrap();
        upload
            .put_part(PutPayload::from_static(b"abc"))
            .await
            .unwrap();
        upload.complete().await.unwrap();
        assert_eq!(counters.snapshot().put, 6);
        assert_eq!(counters.snapshot().bytes_written, 13);
        store.delete(&a).await.unwrap();
        assert_eq!(counters.snapshot().delete, 2);
    }

    #[tokio::test]
    async fn a_listing_counts_its_pages() {
        let (store, counters) = counted();
        for i in 0..2001 {
            store
                .put(&Path::from(format!("{i:05}")), PutPayload::new())
                .await
                .unwrap();
        }
        let all: Vec<_> = store.list(None).try_collect().await.unwrap();
        assert_eq!(all.len(), 2001);
        assert_eq!(counters.snapshot().list, 3);
        store.list_with_delimiter(None).await.unwrap();
        assert_eq!(counters.snapshot().list, 6);
    }
}
