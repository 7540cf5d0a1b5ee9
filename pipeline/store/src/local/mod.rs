//! A folder of a local disk as an object store: nothing outside of it is reached, and what is
//! written there stays.
//!
//! The client library has such a store. This one differs in two ways that matter: it opens by
//! descriptors below its root ([`beneath`]), so that a symbolic link that is swapped in leads
//! nowhere; and a write that has succeeded survives a power cut ([`durable`]). Listings are
//! [`crate::walk`]'s.

pub(crate) mod beneath;
pub(crate) mod durable;

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path as FsPath, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};
use rustix::fs::{AtFlags, unlinkat};

use crate::walk::is_staged;
use beneath::Root;
use durable::{Disk, Existing, SystemDisk, Writer};

/// How an object is called in the library's errors.
const NAME: &str = "local";

/// A folder of a local disk. Cheap to clone; clones are one store.
#[derive(Clone, Debug)]
pub(crate) struct LocalFolder {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: Arc<Root>,
    /// What full keys begin with.
    prefix: Path,
    writer: Writer,
}

impl LocalFolder {
    /// The folder at an absolute path, which need not exist; full keys begin with `prefix`.
    pub(crate) fn new(path: PathBuf, prefix: Path) -> LocalFolder {
        Self::on(path, prefix, Box::new(SystemDisk))
    }

    fn on(path: PathBuf, prefix: Path, disk: Box<dyn Disk>) -> LocalFolder {
        LocalFolder {
            inner: Arc::new(Inner {
                root: Arc::new(Root::new(path)),
                prefix,
                writer: Writer::new(disk),
            }),
        }
    }

    pub(crate) fn root(&self) -> &Arc<Root> {
        &self.inner.root
    }

    /// Opens a file for reading.
    pub(crate) fn open(&self, path: &str) -> io::Result<File> {
        self.root().file(FsPath::new(path))
    }

    /// Makes a folder, if it is not there, for good.
    pub(crate) fn make_folder(&self, path: &str) -> io::Result<()> {
        let made = self.inner.writer.folder(self.root(), FsPath::new(path));
        made.map(drop)
    }

    /// Removes a file, or a link to one.
    pub(crate) fn remove(&self, path: &str) -> io::Result<()> {
        self.root().within(FsPath::new(path), |folder, name| {
            Ok(unlinkat(folder, name, AtFlags::empty())?)
        })
    }

    fn write(&self, path: &str, payload: &PutPayload, existing: Existing) -> io::Result<Metadata> {
        let content = payload.iter().map(AsRef::as_ref);
        let (writer, path) = (&self.inner.writer, FsPath::new(path));
        writer.write(self.root(), path, content, existing)
    }

    /// The path below the root of an object that is no write in progress.
    fn path(&self, location: &Path) -> Result<String> {
        let parts = location.prefix_match(&self.inner.prefix);
        let parts = parts.map(|parts| parts.map(|it| it.as_ref().to_owned()).collect::<Vec<_>>());
        let path = parts.unwrap_or_default().join("/");
        let name = path.rsplit('/').next().unwrap_or_default();
        if name.is_empty() || is_staged(name) {
            let cause = "is no name of an object";
            return Err(failed(location, io::Error::other(cause)));
        }
        Ok(path)
    }

    /// Does something with an object's path on a thread that may wait for the disk.
    async fn blocking<T: Send + 'static>(
        &self,
        location: &Path,
        work: impl FnOnce(&LocalFolder, &str) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (this, path) = (self.clone(), self.path(location)?);
        let done = match tokio::runtime::Handle::try_current() {
            Err(_) => work(&this, &path),
            Ok(runtime) => runtime.spawn_blocking(move || work(&this, &path)).await?,
        };
        done.map_err(|error| failed(location, error))
    }
}

/// An error of the system about an object, as the client library has it.
fn failed(location: &Path, error: io::Error) -> Error {
    let path = location.to_string();
    match error.kind() {
        io::ErrorKind::NotFound => Error::NotFound {
            path,
            source: error.into(),
        },
        io::ErrorKind::AlreadyExists => Error::AlreadyExists {
            path,
            source: error.into(),
        },
        _ => Error::Generic {
            store: NAME,
            source: error.into(),
        },
    }
}

fn not_supported(operation: &str) -> Error {
    Error::NotImplemented {
        operation: operation.to_owned(),
        implementer: NAME.to_owned(),
    }
}

/// What a file's identity is taken from; the client library's local store has the same.
pub(crate) fn etag(inode: u64, modified_micros: u128, size: u64) -> String {
    format!("{inode:x}-{modified_micros:x}-{size:x}")
}

fn etag_of(metadata: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    let modified = metadata.modified().ok();
    let since = modified.and_then(|it| it.duration_since(std::time::UNIX_EPOCH).ok());
    let micros = since.unwrap_or_default().as_micros();
    etag(metadata.ino(), micros, metadata.len())
}

impl fmt::Display for LocalFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the folder {}", self.root().path().display())
    }
}

#[async_trait]
impl ObjectStore for LocalFolder {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        opts: PutOptions,
    ) -> Result<PutResult> {
        let existing = match opts.mode {
            PutMode::Overwrite => Existing::Replace,
            PutMode::Create => Existing::Keep,
            PutMode::Update(_) => return Err(not_supported("update")),
        };
        let written = self.blocking(location, move |folder, path| {
            folder.write(path, &payload, existing)
        });
        Ok(PutResult {
            e_tag: Some(etag_of(&written.await?)),
            version: None,
        })
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(not_supported("put in parts"))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let opened = self.blocking(location, |folder, path| {
            let file = folder.open(path)?;
            let metadata = file.metadata()?;
            Ok((file, metadata))
        });
        let (file, metadata) = opened.await?;
        let meta = ObjectMeta {
            location: location.clone(),
            last_modified: metadata
                .modified()
                .map_err(|error| failed(location, error))?
                .into(),
            size: metadata.len(),
            e_tag: Some(etag_of(&metadata)),
            version: None,
        };
        options.check_preconditions(&meta)?;
        let range = match &options.range {
            None => Ok(0..meta.size),
            Some(range) => range.as_range(meta.size),
        };
        Ok(GetResult {
            range: range.map_err(|error| Error::Generic {
                store: NAME,
                source: error.into(),
            })?,
            // The path is for error messages: what is read is the open file.
            payload: GetResultPayload::File(file, PathBuf::from(location.as_ref())),
            meta,
            attributes: Attributes::default(),
        })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let this = self.clone();
        locations
            .then(move |location| {
                let this = this.clone();
                async move {
                    let location = location?;
                    this.blocking(&location, |folder, path| folder.remove(path))
                        .await?;
                    Ok(location)
                }
            })
            .boxed()
    }

    fn list(&self, _: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        futures::stream::iter([Err(not_supported("list"))]).boxed()
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(not_supported("list"))
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(not_supported("copy"))
    }
}

#[cfg(test)]
mod tests;
