//! Listing a web server's folder: its page, the pages of the folders that it links to, and what the
//! server says of each file.
//!
//! Links only lead deeper ([`super::page`]), so pages form a tree. A server can make one without
//! end all the same (a folder with a link to itself): depth, pages and links are bounded. A folder
//! that cannot be read costs itself only, like one on a disk.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, FuturesUnordered, StreamExt, TryStreamExt};
use object_store::ObjectStoreExt;

use super::Web;
use super::client::{Answer, Asked};
use super::error::WebError;
use super::page::{Links, links};
use crate::error::{StoreError, StoreErrorKind};
use crate::{ObjectInfo, Store};

/// A page's bytes, at most.
const MOST_BYTES: u64 = 16 << 20;
/// Folders within folders.
const MOST_DEEP: usize = 64;
/// Folders of a listing.
const MOST_FOLDERS: usize = 100_000;
/// Files of a listing.
const MOST_FILES: usize = 10_000_000;
/// Answers that the server is too busy, each after several attempts, before a listing is given up.
const MOST_BUSY: usize = 8;
/// Files asked about at a time; requests have a limit of their own.
const AT_ONCE: usize = 32;
/// Pages read ahead at a time.
const PAGES_AT_ONCE: usize = 8;

type Item = Result<ObjectInfo, StoreError>;
/// Which files somebody wants to know the sizes of, by path.
pub(crate) type Wanted = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// A listing under way.
struct Crawl {
    store: Store,
    web: Arc<Web>,
    /// Folders to be read, by path.
    waiting: Vec<String>,
    reading: FuturesUnordered<BoxFuture<'static, (String, Result<Links, WebError>)>>,
    /// Folders that were met.
    folders: usize,
    files: usize,
    busy: Arc<AtomicUsize>,
    /// What pages of other folders have linked to: it comes up again in its own folder's.
    met: HashSet<String>,
}

/// All files below a folder, in any order within it; those of one folder in the order of their
/// names.
pub(crate) fn list(
    store: Store,
    web: Arc<Web>,
    folder: String,
    wanted: Wanted,
) -> BoxStream<'static, Item> {
    let busy = Arc::new(AtomicUsize::new(0));
    if let Some(file) = web.file.clone() {
        let is_meant = folder.is_empty() || folder == file;
        let files = stream::iter(is_meant.then_some(file));
        let found = files.filter_map(move |file| about(store.clone(), file, Arc::clone(&busy)));
        return found.boxed();
    }
    let crawl = Crawl {
        store: store.clone(),
        web,
        waiting: vec![folder],
        reading: FuturesUnordered::new(),
        folders: 1,
        files: 0,
        busy: Arc::clone(&busy),
        met: HashSet::new(),
    };
    let pages = stream::unfold(crawl, |mut crawl| async move {
        let found = crawl.step().await?;
        Some((stream::iter(found), crawl))
    });
    let items = pages.flatten().map(move |found| {
        let (store, busy) = (store.clone(), Arc::clone(&busy));
        let is_wanted = matches!(&found, Ok(path) if wanted(path));
        async move {
            match found {
                Ok(path) if is_wanted => about(store, path, busy).await,
                Ok(path) => Some(Ok(unknown(path))),
                Err(error) => Some(Err(error)),
            }
        }
    });
    items
        .buffered(AT_ONCE)
        .filter_map(futures::future::ready)
        .boxed()
}

/// The files directly in a folder, and the folders in it.
pub(crate) async fn folder(
    store: &Store,
    web: &Arc<Web>,
    folder: &str,
) -> Result<Vec<ObjectInfo>, StoreError> {
    if let Some(file) = &web.file {
        let found = match folder {
            "" => about(store.clone(), file.clone(), Arc::default()).await,
            _ => None,
        };
        return found.into_iter().collect();
    }
    let links = match read(web, folder).await {
        Ok(links) => links,
        Err(WebError::Status(http::StatusCode::NOT_FOUND)) if !folder.is_empty() => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(explained(store, folder, error)),
    };
    store.counters.listed_page();
    let direct = links.files.into_iter().filter(|path| !path.contains('/'));
    let busy = Arc::default();
    let files = direct.map(|path| about(store.clone(), join(folder, &path), Arc::clone(&busy)));
    let found = stream::iter(files).buffered(AT_ONCE);
    // What is wrong with a single file is reported where the folder is listed whole.
    let matters =
        |item: &Item| !matches!(item, Err(error) if error.kind() == StoreErrorKind::Entry);
    let found = found.filter_map(|item| futures::future::ready(item.filter(matters)));
    found.try_collect().await
}

fn join(folder: &str, path: &str) -> String {
    match folder {
        "" => path.to_owned(),
        folder => format!("{folder}/{path}"),
    }
}

fn unknown(path: String) -> ObjectInfo {
    ObjectInfo {
        path,
        etag: None,
        version: None,
        size: 0,
        modified_ms: 0,
    }
}

/// The server's facts about a file; none of one that was removed since its folder was read.
async fn about(store: Store, path: String, busy: Arc<AtomicUsize>) -> Option<Item> {
    match store.client.head(&store.key(&path)).await {
        Ok(meta) => Some(Ok(store.info(meta, &path))),
        Err(object_store::Error::NotFound { .. }) => None,
        Err(error) => Some(Err(entry(store.explain(&path, &error), &path, &busy))),
    }
}

/// An error that costs what lies at this path only, unless the server is away, or has been too busy
/// too often: then a listing would take the longest time to find nothing.
fn entry(error: StoreError, path: &str, busy: &AtomicUsize) -> StoreError {
    let is_away = error.kind() == StoreErrorKind::Unreachable;
    if is_away || error.is_retryable() && busy.fetch_add(1, Ordering::Relaxed) >= MOST_BUSY {
        return error;
    }
    error.of_an_entry().at(path)
}

fn explained(store: &Store, folder: &str, error: WebError) -> StoreError {
    error.to_store_error(&store.place, store.object_url(folder))
}

/// The links of a folder's page.
async fn read(web: &Web, folder: &str) -> Result<Links, WebError> {
    let asked = web.at(folder, true);
    let answer = web.client.ask(&asked, Asked::Whole(MOST_BYTES)).await?;
    let Answer {
        url,
        content_type,
        content,
        ..
    } = answer;
    // Links are taken relative to where the page is: those of a folder above are not this one's.
    let end = url.path().rfind('/').map_or(0, |at| at + 1);
    let (asked, folder) = (asked.path(), &url.path()[..end]);
    if url.path() != asked && asked.starts_with(folder) && folder.len() < asked.len() {
        return Err(WebError::Nonsense("it redirects to a folder above"));
    }
    match content_type.as_deref() {
        None | Some("text/html" | "application/xhtml+xml") => {}
        Some(other) => return Err(WebError::NoPage(crate::one_line(other))),
    }
    let parsed = tokio::task::spawn_blocking(move || links(&content, &url)).await;
    parsed.map_err(|_| WebError::Nonsense("its page cannot be read"))
}

impl Crawl {
    /// Paths of files, and what cannot be listed.
    async fn step(&mut self) -> Option<Vec<Result<String, StoreError>>> {
        while self.reading.len() < PAGES_AT_ONCE
            && let Some(folder) = self.waiting.pop()
        {
            let web = Arc::clone(&self.web);
            let reading = async move {
                let links = read(&web, &folder).await;
                (folder, links)
            };
            self.reading.push(reading.boxed());
        }
        let (folder, links) = self.reading.next().await?;
        self.store.counters.listed_page();
        match links {
            Ok(links) => Some(self.take(&folder, links)),
            Err(error) => {
                let error = explained(&self.store, &folder, error);
                let error = match folder.as_str() {
                    "" => error,
                    folder => entry(error, folder, &self.busy),
                };
                if error.kind() != StoreErrorKind::Entry {
                    self.end();
                }
                Some(vec![Err(error)])
            }
        }
    }

    fn take(&mut self, folder: &str, links: Links) -> Vec<Result<String, StoreError>> {
        let mut found = Vec::with_capacity(links.files.len());
        for (link, fault) in links.odd {
            let at = format!("{}/{link}", self.store.object_url(folder));
            let error = StoreError::new(StoreErrorKind::Entry, at, fault, "rename it");
            found.push(Err(error.at(join(folder, &link))));
        }
        for path in links.files {
            let path = self.met_once(folder, &path);
            found.extend(path.map(Ok));
        }
        self.files += found.len();
        // The first is read first.
        for path in links.folders.into_iter().rev() {
            let Some(path) = self.met_once(folder, &path) else {
                continue;
            };
            if path.split('/').count() > MOST_DEEP {
                let error = StoreError::new(
                    StoreErrorKind::Entry,
                    self.store.object_url(&path),
                    format!("lies more than {MOST_DEEP} folders deep"),
                    "look whether a folder there contains itself through a link",
                );
                found.push(Err(error.at(path)));
                continue;
            }
            self.folders += 1;
            self.waiting.push(path);
        }
        if self.folders > MOST_FOLDERS || self.files > MOST_FILES {
            self.end();
            let cause = format!("has more than {MOST_FOLDERS} folders or {MOST_FILES} files");
            let kind = StoreErrorKind::Other;
            let remedy = "name a folder further down";
            found.push(Err(StoreError::new(kind, self.store.url(), cause, remedy)));
        }
        found
    }

    /// The path of what a folder's page links to, unless another page has.
    fn met_once(&mut self, folder: &str, below: &str) -> Option<String> {
        let path = join(folder, below);
        let is_direct = !below.contains('/');
        let is_new = if is_direct {
            !self.met.contains(&path)
        } else {
            self.met.insert(path.clone())
        };
        is_new.then_some(path)
    }

    fn end(&mut self) {
        self.waiting.clear();
        self.reading.clear();
    }
}
