//! Objects of a store: read whole or in part, written, deleted, and the facts about one.

use std::ops::Range;

use bytes::Bytes;
use futures::stream::{FuturesUnordered, StreamExt, TryStreamExt};
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};

use crate::{ObjectInfo, PutOutcome, Store, StoreError};

/// Writes above this size go in parts to remote stores.
const MULTIPART_FROM: usize = 32 << 20;
/// The size of one such part; at most [`PARTS_IN_FLIGHT`] are on their way.
const PART: usize = 16 << 20;
const PARTS_IN_FLIGHT: usize = 4;

impl Store {
    /// Reads a whole object.
    ///
    /// # Errors
    /// [`StoreErrorKind::NotFound`] and the rest.
    pub async fn get(&self, path: &str) -> Result<Bytes, StoreError> {
        let explain = |error| self.explain(path, &error);
        let result = self.client.get(&self.key(path)).await.map_err(explain)?;
        result.bytes().await.map_err(explain)
    }

    /// Reads the bytes of `range`, fewer where the object ends earlier.
    ///
    /// # Errors
    /// As [`Store::get`]; also where the range starts beyond the object's end.
    pub async fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        if range.start >= range.end {
            return Ok(Bytes::new());
        }
        self.client
            .get_range(&self.key(path), range)
            .await
            .map_err(|error| self.explain(path, &error))
    }

    /// A tag that a range can be asked for by: a weak one matches nothing (RFC 9110, section
    /// 13.1.1), and listings of Azure have tags without quotes.
    pub(crate) fn strong(&self, etag: Option<&str>) -> Option<String> {
        let strong = etag.filter(|etag| etag.starts_with('"') || self.local_root().is_some());
        strong.map(str::to_owned)
    }

    /// Whether [`Store::get_range_of`] makes sure of the version that has this tag.
    pub fn pins(&self, etag: Option<&str>) -> bool {
        self.strong(etag).is_some()
    }

    /// As [`Store::get_range`], of the version of the object that has this entity tag, where one is
    /// known: so that ranges of two versions are never taken for one file.
    ///
    /// # Errors
    /// As [`Store::get_range`]; [`StoreErrorKind::Precondition`] if the object is another version
    /// by now.
    pub async fn get_range_of(
        &self,
        path: &str,
        etag: Option<&str>,
        range: Range<u64>,
    ) -> Result<Bytes, StoreError> {
        if range.start >= range.end {
            return Ok(Bytes::new());
        }
        let options = GetOptions {
            range: Some(GetRange::Bounded(range)),
            if_match: self.strong(etag),
            ..GetOptions::default()
        };
        let explain = |error| self.explain(path, &error);
        let result = self.client.get_opts(&self.key(path), options).await;
        result.map_err(explain)?.bytes().await.map_err(explain)
    }

    /// Reads the last `bytes` bytes (all, where the object is smaller) and the object's size, in
    /// one request.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub async fn get_tail(&self, path: &str, bytes: u64) -> Result<(Bytes, u64), StoreError> {
        let options = GetOptions {
            range: Some(GetRange::Suffix(bytes)),
            ..GetOptions::default()
        };
        let result = match self.client.get_opts(&self.key(path), options).await {
            Ok(result) => result,
            Err(error) => {
                // S3 has no range of an empty object (status 416).
                if error.to_string().contains("416") && self.head(path).await?.size == 0 {
                    return Ok((Bytes::new(), 0));
                }
                return Err(self.explain(path, &error));
            }
        };
        let size = result.meta.size;
        let tail = result
            .bytes()
            .await
            .map_err(|error| self.explain(path, &error))?;
        Ok((tail, size))
    }

    /// Writes an object, replacing one of that name.
    ///
    /// # Errors
    /// Access, space, network.
    pub async fn put(&self, path: &str, content: Bytes) -> Result<(), StoreError> {
        if self.place.bucket.is_some() && content.len() > MULTIPART_FROM {
            return self.put_in_parts(path, content).await;
        }
        self.client
            .put(&self.key(path), PutPayload::from_bytes(content))
            .await
            .map(|_| ())
            .map_err(|error| self.explain(path, &error))
    }

    async fn put_in_parts(&self, path: &str, content: Bytes) -> Result<(), StoreError> {
        let explain = |error| self.explain(path, &error);
        let mut upload = self
            .client
            .put_multipart(&self.key(path))
            .await
            .map_err(explain)?;
        let mut in_flight = FuturesUnordered::new();
        let mut failed = None;
        for start in (0..content.len()).step_by(PART) {
            let part = content.slice(start..content.len().min(start + PART));
            in_flight.push(upload.put_part(PutPayload::from_bytes(part)));
            if in_flight.len() >= PARTS_IN_FLIGHT
                && let Some(Err(error)) = in_flight.next().await
            {
                failed = Some(error);
                break;
            }
        }
        if failed.is_none() {
            failed = in_flight.try_collect::<Vec<()>>().await.err();
        }
        match failed {
            None => upload.complete().await.map(|_| ()).map_err(explain),
            Some(error) => {
                // The first failure is what matters; parts left behind expire by the bucket's
                // rules.
                let _ = upload.abort().await;
                Err(explain(error))
            }
        }
    }

    /// Writes an object only if none of that name is there. See the module's non-guarantees.
    ///
    /// # Errors
    /// Access, space, network; a store without conditional writes.
    pub async fn put_if_absent(
        &self,
        path: &str,
        content: Bytes,
    ) -> Result<PutOutcome, StoreError> {
        let options = PutOptions {
            mode: PutMode::Create,
            ..PutOptions::default()
        };
        let payload = PutPayload::from_bytes(content);
        match self
            .client
            .put_opts(&self.key(path), payload, options)
            .await
        {
            Ok(_) => Ok(PutOutcome::Created),
            Err(object_store::Error::AlreadyExists { .. }) => Ok(PutOutcome::Exists),
            Err(error) => Err(self.explain(path, &error)),
        }
    }

    /// Deletes an object; one that is not there is no error.
    ///
    /// # Errors
    /// Access, network.
    pub async fn delete(&self, path: &str) -> Result<(), StoreError> {
        match self.client.delete(&self.key(path)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(self.explain(path, &error)),
        }
    }

    /// The store's facts about one object.
    ///
    /// # Errors
    /// [`StoreErrorKind::NotFound`] and the rest.
    pub async fn head(&self, path: &str) -> Result<ObjectInfo, StoreError> {
        let meta = self
            .client
            .head(&self.key(path))
            .await
            .map_err(|error| self.explain(path, &error))?;
        Ok(self.info(meta, path))
    }

    pub(crate) fn info(&self, meta: ObjectMeta, fallback: &str) -> ObjectInfo {
        ObjectInfo {
            path: self
                .relative(&meta.location)
                .unwrap_or_else(|| fallback.to_owned()),
            etag: meta.e_tag,
            version: meta.version,
            size: meta.size,
            modified_ms: meta.last_modified.timestamp_millis(),
        }
    }
}
