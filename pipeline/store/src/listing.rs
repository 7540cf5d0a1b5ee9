//! Listing a store: whole, by its folders, or one folder.

use std::path::Path;
use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt};
use object_store::{ObjectMeta, ObjectStore};

use crate::counting::LIST_PAGE;
use crate::error::{StoreError, StoreErrorKind};
use crate::local::beneath::Root;
use crate::requests::odd_keys;
use crate::web::listing::Wanted;
use crate::web::{self, Web};
use crate::{ObjectInfo, Store, catalog, fan_out, walk};

/// One level of a store: what lies directly in a folder, by its path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// The objects, in any order.
    pub objects: Vec<String>,
    /// The folders, in the order of their paths.
    pub folders: Vec<String>,
}

impl Level {
    /// That of a folder on a disk; a link counts as what it leads to. None where a name is no text.
    fn of_disk(root: &Path, folder: &str) -> Option<Level> {
        let mut level = Level::default();
        let place = root.join(folder);
        // Where a link leads is for the listing to find out.
        if !folder.is_empty() && std::fs::symlink_metadata(&place).ok()?.is_symlink() {
            return None;
        }
        for entry in std::fs::read_dir(place).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let path = match folder {
                "" => name,
                folder => format!("{folder}/{name}"),
            };
            let kind = entry.file_type().ok()?;
            let is_folder = match kind.is_symlink() {
                // A link that leads nowhere is no folder.
                true => std::fs::metadata(entry.path()).is_ok_and(|it| it.is_dir()),
                false => kind.is_dir(),
            };
            match is_folder {
                true => level.folders.push(path),
                false => level.objects.push(path),
            }
        }
        level.folders.sort();
        Some(level)
    }
}

impl Store {
    /// The objects below `prefix` (a folder; "" for all), in the order of their keys.
    ///
    /// Errors are items: see the module's guarantees for which of them end the listing. A local
    /// store needs a tokio runtime (it reads folders on the blocking threads) and reports a missing
    /// root as [`StoreErrorKind::NotFound`]; a missing `prefix` lists nothing.
    pub fn list(&self, prefix: &str) -> BoxStream<'static, Result<ObjectInfo, StoreError>> {
        let prefix = prefix.trim_matches('/');
        if let Some(web) = &self.web {
            return self.list_web(web, prefix, Arc::new(|_| true));
        }
        if let Some(catalog) = &self.catalog {
            return catalog::listing::list(
                Arc::clone(catalog),
                prefix.to_owned(),
                Arc::new(|_| true),
            );
        }
        if let Some(local) = &self.local {
            let listing = self.list_local(Arc::clone(local.root()), prefix.to_owned());
            return match &self.failpoint {
                None => listing,
                Some(point) => point.listing(self.key(prefix).as_ref(), listing),
            };
        }
        let below = self.key(prefix);
        let below = (!below.as_ref().is_empty()).then_some(below);
        let store = self.clone();
        let prefix = prefix.to_owned();
        self.client
            .list(below.as_ref())
            .map(move |item| match item {
                Ok(meta) => store.listed(meta),
                Err(error) => Err(store.explain(&prefix, &error)),
            })
            .boxed()
    }

    /// As [`Store::list`], in any order: large folders of a remote store are listed by their
    /// sub-folders, several at once, where that takes few requests more.
    pub fn list_unordered(
        &self,
        prefix: &str,
    ) -> BoxStream<'static, Result<ObjectInfo, StoreError>> {
        self.list_wanted(prefix, |_| true)
    }

    /// As [`Store::list_unordered`]. Of objects whose path is not `wanted` nothing but the path may
    /// be given: a web server or a catalog is not asked about them.
    pub fn list_wanted(
        &self,
        prefix: &str,
        wanted: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> BoxStream<'static, Result<ObjectInfo, StoreError>> {
        if let Some(web) = &self.web {
            return self.list_web(web, prefix.trim_matches('/'), Arc::new(wanted));
        }
        if let Some(catalog) = &self.catalog {
            let folder = prefix.trim_matches('/').to_owned();
            return catalog::listing::list(Arc::clone(catalog), folder, Arc::new(wanted));
        }
        if self.local.is_some() {
            return self.list(prefix);
        }
        let folder = prefix.trim_matches('/');
        fan_out::list(self.clone(), folder, fan_out::Limits::default())
    }

    fn list_web(
        &self,
        web: &Arc<Web>,
        folder: &str,
        wanted: Wanted,
    ) -> BoxStream<'static, Result<ObjectInfo, StoreError>> {
        web::listing::list(self.clone(), Arc::clone(web), folder.to_owned(), wanted)
    }

    fn listed(&self, meta: ObjectMeta) -> Result<ObjectInfo, StoreError> {
        match odd_keys::original(meta.location.as_ref()) {
            None => Ok(self.info(meta, "")),
            Some(key) => Err(self.odd_key(&key)),
        }
    }

    /// What lies directly in a folder of a remote store, and the folders in it. None where that
    /// cannot be listed: the store refuses, or a folder has a name that no path can have; and of
    /// other stores.
    pub async fn entries(
        &self,
        folder: &str,
    ) -> Option<(Vec<Result<ObjectInfo, StoreError>>, Vec<String>)> {
        if self.is_read_only() || self.local.is_some() {
            return None;
        }
        let key = self.key(folder);
        let below = (!key.as_ref().is_empty()).then_some(&key);
        let found = self.client.list_with_delimiter(below).await.ok()?;
        let folders = found.common_prefixes.iter().map(|key| {
            let path = self.relative(key)?;
            // The client takes keys that begin with '/' for ones in the folder itself.
            let is_below = path.len() > folder.len() && path.starts_with(folder);
            is_below.then_some(path)
        });
        let folders = folders.collect::<Option<_>>()?;
        let objects = found.objects.into_iter().map(|meta| self.listed(meta));
        Some((objects.collect(), folders))
    }

    /// The paths of what lies directly in a folder, and of the folders in it. None where that
    /// cannot be listed, and for web servers and catalogs, which have no such folders.
    pub async fn level(&self, folder: &str) -> Option<Level> {
        if self.is_read_only() {
            return None;
        }
        if let Some(root) = self.local_root() {
            let folder = folder.to_owned();
            let read = tokio::task::spawn_blocking(move || Level::of_disk(&root, &folder));
            return read.await.ok()?;
        }
        let (objects, mut folders) = self.entries(folder).await?;
        let objects = objects.into_iter().map(|it| Some(it.ok()?.path));
        folders.sort();
        Some(Level {
            objects: objects.collect::<Option<_>>()?,
            folders,
        })
    }

    /// The objects directly in a folder, those in folders below it left out. Not for local stores,
    /// whose folders are cheap to list whole.
    ///
    /// # Errors
    /// Access, network.
    pub async fn list_folder(&self, folder: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        let folder = folder.trim_matches('/');
        if let Some(web) = &self.web {
            return web::listing::folder(self, web, folder).await;
        }
        if self.is_catalog() {
            // Tables lie in folders of their own.
            return Ok(Vec::new());
        }
        let key = self.key(folder);
        let below = (!key.as_ref().is_empty()).then_some(&key);
        let listed = self.client.list_with_delimiter(below).await;
        let listed = listed.map_err(|error| self.explain(folder, &error))?;
        // Keys that no path can have are reported where they are listed whole.
        let objects = listed.objects.into_iter();
        let plain = objects.filter(|meta| odd_keys::original(meta.location.as_ref()).is_none());
        Ok(plain.map(|meta| self.info(meta, "")).collect())
    }

    fn odd_key(&self, key: &str) -> StoreError {
        StoreError::new(
            StoreErrorKind::Entry,
            format!("{}/{key}", self.place.root),
            odd_keys::fault(key),
            "give the object a plain key",
        )
    }

    /// The listing of a local folder, a page at a time on a blocking thread.
    fn list_local(
        &self,
        root: Arc<Root>,
        prefix: String,
    ) -> BoxStream<'static, Result<ObjectInfo, StoreError>> {
        enum State {
            Start(Arc<Root>, String),
            Going(std::iter::Peekable<walk::Walk>),
            Done,
        }
        let counters = Arc::clone(&self.counters);
        let url = self.url.to_string();
        stream::unfold(State::Start(root, prefix), move |state| {
            let counters = Arc::clone(&counters);
            let url = url.clone();
            async move {
                if matches!(state, State::Done) {
                    return None;
                }
                counters.listed_page();
                let read = tokio::task::spawn_blocking(move || {
                    let mut walk = match state {
                        State::Start(root, prefix) => match walk::Walk::new(root, &prefix) {
                            Ok(walk) => walk.peekable(),
                            Err(error) => return (vec![Err(error)], State::Done),
                        },
                        State::Going(walk) => walk,
                        State::Done => return (Vec::new(), State::Done),
                    };
                    let page: Vec<_> = walk.by_ref().take(LIST_PAGE as usize).collect();
                    let more = walk.peek().is_some();
                    (
                        page,
                        if more {
                            State::Going(walk)
                        } else {
                            State::Done
                        },
                    )
                });
                let (page, next) = read.await.unwrap_or_else(|error| {
                    let error = StoreError::new(
                        StoreErrorKind::Other,
                        url,
                        format!("the listing broke off: {error}"),
                        "run again",
                    );
                    (vec![Err(error)], State::Done)
                });
                Some((stream::iter(page), next))
            }
        })
        .flatten()
        .boxed()
    }
}
