//! A store of one object that is made of stretches: of another object's bytes, and of bytes at
//! hand.
//!
//! So a member of an archive is read like any object, in ranges, by readers that know nothing of
//! archives.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};

use crate::Store;
use crate::counting::{Counters, CountingStore};

/// A part of a view, in its order.
#[derive(Clone, Debug)]
pub enum Stretch {
    /// These bytes.
    Bytes(Bytes),
    /// That range of the object below.
    Object(Range<u64>),
    /// So many bytes that nobody asks for: a read of them fails.
    Absent(u64),
}

impl Stretch {
    fn length(&self) -> u64 {
        match self {
            Stretch::Bytes(bytes) => bytes.len() as u64,
            Stretch::Object(range) => range.end.saturating_sub(range.start),
            Stretch::Absent(length) => *length,
        }
    }
}

impl Store {
    /// A store whose one object, under whatever path, is made of these stretches of the object at
    /// `path`, in the version that has this entity tag where one is known
    /// ([`Store::get_range_of`]). What is read through it counts with this store's requests.
    pub fn view(&self, path: &str, etag: Option<&str>, stretches: Vec<Stretch>) -> Store {
        let size = stretches
            .iter()
            .fold(0u64, |size, it| size.saturating_add(it.length()));
        let view = View {
            below: self.object_store(),
            key: self.key(path),
            etag: self.strong(etag),
            stretches,
            size,
        };
        let counters = Arc::new(Counters::default());
        Store {
            client: Arc::new(CountingStore::new(Arc::new(view), Arc::clone(&counters))),
            counters,
            prefix: Path::default(),
            url: Arc::clone(&self.url),
            local: None,
            web: None,
            catalog: None,
            place: Arc::clone(&self.place),
            failpoint: None,
        }
    }
}

#[derive(Debug)]
struct View {
    below: Arc<dyn ObjectStore>,
    key: Path,
    etag: Option<String>,
    stretches: Vec<Stretch>,
    size: u64,
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a view of {}", self.key)
    }
}

fn failed(cause: &'static str) -> Error {
    Error::Generic {
        store: "view",
        source: cause.into(),
    }
}

impl View {
    async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let mut found: Vec<Bytes> = Vec::new();
        let mut at = 0u64;
        for stretch in &self.stretches {
            let end = at.saturating_add(stretch.length());
            let (from, to) = (range.start.max(at), range.end.min(end));
            if from < to {
                let (from, to) = (from - at, to - at);
                found.push(match stretch {
                    Stretch::Bytes(bytes) => bytes.slice(from as usize..to as usize),
                    Stretch::Object(below) => {
                        let wanted = below.start + from..below.start + to;
                        let options = GetOptions {
                            range: Some(GetRange::Bounded(wanted)),
                            if_match: self.etag.clone(),
                            ..GetOptions::default()
                        };
                        let result = self.below.get_opts(&self.key, options).await?;
                        result.bytes().await?
                    }
                    Stretch::Absent(_) => {
                        return Err(failed("bytes that were not kept are read"));
                    }
                });
            }
            at = end;
        }
        if let [one] = &mut found[..] {
            return Ok(std::mem::take(one));
        }
        let mut all = BytesMut::new();
        for bytes in found {
            all.extend_from_slice(&bytes);
        }
        Ok(all.freeze())
    }
}

#[async_trait]
impl ObjectStore for View {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let range = match &options.range {
            Some(range) => range
                .as_range(self.size)
                .map_err(|_| failed("a range is read that the object does not have"))?,
            None => 0..self.size,
        };
        let bytes = match options.head {
            true => Bytes::new(),
            false => self.read(range.clone()).await?,
        };
        let meta = ObjectMeta {
            location: location.clone(),
            last_modified: chrono::DateTime::UNIX_EPOCH,
            size: self.size,
            e_tag: None,
            version: None,
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream::iter([Ok(bytes)]).boxed()),
            meta,
            range,
            attributes: Attributes::default(),
        })
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(Error::NotImplemented {
            operation: "put".into(),
            implementer: self.to_string(),
        })
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(Error::NotImplemented {
            operation: "put".into(),
            implementer: self.to_string(),
        })
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        paths
            .map(|_| Err(failed("a view cannot be written")))
            .boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::empty().boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(failed("a view has no listing"))
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(failed("a view cannot be written"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[tokio::test]
    async fn a_view_reads_like_an_object() {
        let store = Store::in_memory();
        store.put("a/b", "0123456789".into()).await.unwrap();
        let view = store.view(
            "a/b",
            None,
            vec![
                Stretch::Bytes("<<".into()),
                Stretch::Object(3..7),
                Stretch::Bytes(">>".into()),
                Stretch::Absent(5),
            ],
        );
        assert_eq!(view.get_range("x", 0..8).await.unwrap(), "<<3456>>");
        assert_eq!(view.get_range("x", 3..5).await.unwrap(), "45");
        assert_eq!(view.head("x").await.unwrap().size, 13);
        assert!(view.get_range("x", 7..9).await.is_err());
        assert!(view.put("x", "y".into()).await.is_err());
        assert_eq!(store.counts().get, 2);
    }
}
