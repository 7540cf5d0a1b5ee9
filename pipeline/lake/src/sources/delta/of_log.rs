//! A table's log as a store of its own: its listing is the lake's, so that nothing is listed twice,
//! and nothing is ever written.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::DateTime;
use futures::stream::{self, BoxStream, StreamExt};
use limn_formats::ObjectRecord;
use limn_store::Store;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// The objects of a log.
#[derive(Debug)]
pub(super) struct OfLog {
    below: Arc<dyn ObjectStore>,
    /// By their keys.
    objects: Vec<ObjectMeta>,
}

impl OfLog {
    pub(super) fn new(lake: &Store, objects: &[ObjectRecord]) -> OfLog {
        let meta = |object: &ObjectRecord| ObjectMeta {
            location: lake.key(&object.path),
            last_modified: DateTime::from_timestamp_millis(object.modified_ms).unwrap_or_default(),
            size: object.size,
            e_tag: object.etag.clone(),
            version: object.version.as_ref().map(ToString::to_string),
        };
        let mut objects: Vec<ObjectMeta> = objects.iter().map(meta).collect();
        objects.sort_by(|a, b| a.location.cmp(&b.location));
        OfLog {
            below: lake.object_store(),
            objects,
        }
    }
}

impl fmt::Display for OfLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, as it was listed", self.below)
    }
}

fn read_only(operation: &str) -> Error {
    Error::NotImplemented {
        operation: operation.to_owned(),
        implementer: "a lake, which is never written".to_owned(),
    }
}

#[async_trait]
impl ObjectStore for OfLog {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let found = self
            .objects
            .binary_search_by(|it| it.location.cmp(location));
        // The log may name what is none of it.
        if found.is_err() {
            return Err(Error::NotFound {
                path: location.to_string(),
                source: "it is no part of the log".into(),
            });
        }
        self.below.get_opts(location, options).await
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let objects = self.objects.iter();
        let within =
            objects.filter(|it| prefix.is_none_or(|it_is| it.location.prefix_matches(it_is)));
        let found: Vec<Result<ObjectMeta>> = within.cloned().map(Ok).collect();
        stream::iter(found).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(read_only("list with delimiter"))
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(read_only("put"))
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(read_only("put"))
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        paths.map(|_| Err(read_only("delete"))).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(read_only("copy"))
    }
}
