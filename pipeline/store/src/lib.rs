//! Object stores by URL: counted requests, errors that say what to do.
//!
//! Everything limn reads or writes outside memory goes through a [`Store`]: a root (a local folder,
//! a prefix of S3, Google's or Azure's storage, a folder or file of a web server, the tables of an
//! Iceberg catalog, or memory in tests) under which objects have relative paths.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use limn_store::{PutOutcome, Store};
//! let store = Store::in_memory();
//! store.put("a b/ü.txt", "hello".into()).await?;
//! assert_eq!(store.get("a b/ü.txt").await?, "hello");
//! assert_eq!(store.put_if_absent("a b/ü.txt", "no".into()).await?, PutOutcome::Exists);
//! assert_eq!((store.counts().put, store.counts().get), (2, 1));
//! # Ok::<(), limn_store::StoreError>(()) }).unwrap();
//! ```
//!
//! A relative path is the object's real name below the root, decoded and '/'-separated: what a
//! person sees in a file manager or an S3 console, whatever spaces, '%' or letters it holds.
//!
//! **Guarantees.** Every request is counted ([`Store::counts`]). [`Store::put_if_absent`] has at
//! most one winner among concurrent writers (a hard link locally, `If-None-Match: *` on S3 and
//! Azure, a generation of 0 on Google's storage). A write is seen whole or not at all.
//! [`Store::list`] yields objects in the order of their full keys (in the clouds themselves, on
//! local disks and in memory; some compatible servers order by folder, and of a web server only
//! each folder has that order), as a stream of bounded memory (local: one folder's names at a time;
//! web: one page's links for each page under way); [`Store::list_unordered`] yields the same ones
//! in any order, and asks for large folders at once. An object that cannot be read, or whose name
//! cannot be a path (an S3 key `a//b`), is an item of kind [`StoreErrorKind::Entry`], and the
//! listing continues; any other error ends it. A local listing stays within its root: a symbolic
//! link that leaves it is such an item. A listing of a web server stays below its root, too: it
//! follows only links that lead deeper on the same host, up to a depth and a number. [`Access`]
//! bounds the number of concurrent requests. A dead endpoint fails within about fifteen seconds,
//! and a request that makes no progress after about a minute, a retry included. No error or debug
//! output holds a secret.
//!
//! On a local disk a successful write survives a power cut, and nothing outside the root is read or
//! written, even if symbolic links are swapped in meanwhile.
//!
//! **Non-guarantees.** After a power cut, objects deleted from a local disk may reappear.
//! `put_if_absent` may report [`PutOutcome::Exists`] to a writer whose own first attempt succeeded
//! before its connection broke; a caller that must know reads the object back. A server that calls
//! itself S3-compatible may let two writers win; only a probe shows it. A web server can only be
//! read.
//!
//! **Recovery.** [`StoreError::is_retryable`] says whether the same request may succeed later. A
//! killed local write leaves a `name#N` file that no listing shows: [`Store::leftovers`] does.

mod access;
mod catalog;
mod counting;
mod error;
mod failpoint;
mod fan_out;
mod leftovers;
mod listing;
mod local;
mod location;
mod named;
mod objects;
mod requests;
mod text;
mod view;
mod walk;
mod web;

use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::path::Path;

pub use access::Access;
pub use counting::RequestCounts;
pub use error::{StoreError, StoreErrorKind};
pub use listing::Level;
pub use named::{path_below, plain_location};
pub use text::{is_steering, one_line};
pub use view::Stretch;

use access::Variables;
use catalog::Catalog;
use counting::{Counters, CountingStore};
use error::place::Place;
use error::{from_io, translate};
use failpoint::{FailingStore, Failpoint};
use local::LocalFolder;
use web::Web;

/// A root below which objects live. Cheap to clone; clones share their counts.
#[derive(Clone)]
pub struct Store {
    client: Arc<dyn ObjectStore>,
    counters: Arc<Counters>,
    prefix: Path,
    url: Arc<str>,
    local: Option<LocalFolder>,
    web: Option<Arc<Web>>,
    catalog: Option<Arc<Catalog>>,
    place: Arc<Place>,
    failpoint: Option<Arc<Failpoint>>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("url", &self.url).finish()
    }
}

/// The facts of a listing about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// The path below the store's root.
    pub path: String,
    /// The entity tag, where the store has them.
    pub etag: Option<String>,
    /// The version, in stores that keep several.
    pub version: Option<String>,
    /// Bytes.
    pub size: u64,
    /// The last change, in milliseconds since 1970 (UTC).
    pub modified_ms: i64,
}

/// What became of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The object was not there and now is.
    Created,
    /// The object was there and stayed as it was.
    Exists,
}

impl Store {
    /// Opens a location: a local path (made absolute; it need not exist), `file://`, `s3://`,
    /// `gs://`, `az://`, `http://`, `https://`, `iceberg+https://`, or `memory://` (a fresh one
    /// each time), with settings from the environment.
    ///
    /// Nothing is requested yet: a wrong bucket or key shows at the first request.
    ///
    /// # Errors
    /// [`StoreErrorKind::Configuration`] where the location or a setting makes no sense.
    pub fn open(location: &str) -> Result<Store, StoreError> {
        Self::open_as(location, &Access::default())
    }

    /// As [`Store::open`], asked as `access` says.
    ///
    /// # Errors
    /// As [`Store::open`]; also where `access` makes no sense for the location.
    pub fn open_as(location: &str, access: &Access) -> Result<Store, StoreError> {
        let variables = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::open_for(location, access, variables)
    }

    /// As [`Store::open`], with the given variables in place of the process's environment.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_with(
        location: &str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Store, StoreError> {
        Self::open_for(location, &Access::default(), variables)
    }

    /// As [`Store::open_as`], with the given variables in place of the process's environment.
    ///
    /// # Errors
    /// As [`Store::open_as`].
    pub fn open_for(
        location: &str,
        access: &Access,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Store, StoreError> {
        let variables = Variables::new(variables);
        let opened = location::open(location, access, &variables)?;
        let Some(text) = variables.given(failpoint::VARIABLE) else {
            return Ok(Self::wrap(opened));
        };
        let root = opened.prefix.clone();
        let folder = opened
            .local
            .as_ref()
            .map(|local| local.root().path().to_owned());
        let point = Arc::new(Failpoint::parse(text, root, folder)?);
        let client = Arc::new(FailingStore {
            inner: opened.client,
            point: Arc::clone(&point),
        });
        let mut store = Self::wrap(location::Opened { client, ..opened });
        store.failpoint = Some(point);
        Ok(store)
    }

    /// A fresh store in memory, for tests.
    pub fn in_memory() -> Store {
        Self::wrap(location::memory())
    }

    /// A store over any other client, its keys as they are; for tests that make requests fail.
    pub fn over(client: Arc<dyn ObjectStore>) -> Store {
        Self::wrap(location::Opened {
            client,
            ..location::memory()
        })
    }

    fn wrap(opened: location::Opened) -> Store {
        let counters = Arc::new(Counters::default());
        if let Some(catalog) = &opened.catalog {
            catalog.count_in(&counters);
        }
        Store {
            client: Arc::new(CountingStore::new(opened.client, Arc::clone(&counters))),
            counters,
            prefix: opened.prefix,
            url: opened.url.into(),
            local: opened.local,
            web: opened.web,
            catalog: opened.catalog,
            place: Arc::new(opened.place),
            failpoint: None,
        }
    }

    /// The root's one canonical name, without credentials or a trailing slash: a lake's identity.
    /// A local root is its absolute path, links resolved.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The full location of an object, for people and for programs that read it.
    pub fn object_url(&self, path: &str) -> String {
        if let Some(web) = self.web.as_ref().filter(|_| !path.is_empty()) {
            web.address(path)
        } else if let Some(catalog) = self.catalog.as_ref().filter(|_| !path.is_empty()) {
            catalog.object_url(path)
        } else if path.is_empty() {
            self.url.to_string()
        } else if self.url.ends_with('/') {
            format!("{}{path}", self.url)
        } else {
            format!("{}/{path}", self.url)
        }
    }

    /// The client behind this store, counted, for libraries that want one. Its paths are full keys:
    /// see [`Store::key`].
    pub fn object_store(&self) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.client)
    }

    /// The full key of a relative path.
    ///
    /// A path that no listing yields (with `..`, empty parts or control characters) is
    /// percent-encoded: it names an object inside the root that does not exist.
    pub fn key(&self, path: &str) -> Path {
        let trimmed = path.trim_matches('/');
        let below = Path::parse(trimmed).unwrap_or_else(|_| Path::from(trimmed));
        if below.as_ref().is_empty() {
            return self.prefix.clone();
        }
        if self.prefix.as_ref().is_empty() {
            return below;
        }
        let full = format!("{}/{below}", self.prefix);
        // Both halves are valid, so the whole is; the fallback can only be reached if that breaks.
        Path::parse(&full).unwrap_or_else(|_| Path::from(full))
    }

    /// The relative path of a full key; `None` for a key outside the root.
    pub fn relative(&self, key: &Path) -> Option<String> {
        let (key, prefix) = (key.as_ref(), self.prefix.as_ref());
        if prefix.is_empty() {
            return Some(key.to_owned());
        }
        let below = key.strip_prefix(prefix)?;
        if below.is_empty() {
            return Some(String::new());
        }
        below.strip_prefix('/').map(str::to_owned)
    }

    /// The folder of a local store, whose files may be memory-mapped in place.
    pub fn local_root(&self) -> Option<PathBuf> {
        let local = self.local.as_ref();
        local.map(|local| local.root().path().to_owned())
    }

    /// Opens an object of a local store as the file that it is; `None` where the store is not
    /// local.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub fn open_file(&self, path: &str) -> Option<Result<File, StoreError>> {
        let opened = self.local.as_ref()?.open(path);
        Some(opened.map_err(|error| from_io(self.object_url(path), &error)))
    }

    /// Makes a folder of a local store, as the first write into it would; elsewhere there is
    /// nothing to make.
    ///
    /// # Errors
    /// The system's own.
    pub fn make_folder(&self, path: &str) -> std::io::Result<()> {
        self.local
            .as_ref()
            .map_or(Ok(()), |local| local.make_folder(path))
    }

    /// Whether nothing can be written here, whatever rights one has: a web server, a catalog.
    pub fn is_read_only(&self) -> bool {
        self.web.is_some() || self.is_catalog()
    }

    /// Whether this is a catalog of tables. What is listed of each is its newest metadata file
    /// alone, under one name and without its size and time; its entity tag is, in quotes, where
    /// that file lies and, behind a `#`, the table's id.
    pub fn is_catalog(&self) -> bool {
        self.catalog.is_some()
    }

    /// Requests and bytes so far.
    pub fn counts(&self) -> RequestCounts {
        self.counters.snapshot()
    }

    /// This store with counts of its own from here on; what they count is counted here, too.
    pub fn counted(&self) -> Store {
        let counters = Arc::<Counters>::default();
        let client = CountingStore::new(Arc::clone(&self.client), Arc::clone(&counters));
        Store {
            client: Arc::new(client),
            counters,
            ..self.clone()
        }
    }

    /// A client's error about an object of this store, in this crate's terms. For callers that use
    /// [`Store::object_store`] themselves.
    pub fn explain(&self, path: &str, error: &object_store::Error) -> StoreError {
        translate(&self.place, self.object_url(path), error)
    }
}

#[cfg(test)]
mod tests;
