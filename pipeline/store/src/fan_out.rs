//! Listing a large folder of a remote store, its sub-folders at once.
//!
//! A listing is pages of 1,000 keys, one after the other, and each takes its time on the way. So a
//! folder that a few pages do not end, and whose first pages are filled by few of its sub-folders,
//! is listed by them: one listing with a delimiter shows what lies directly in it, and each
//! sub-folder is listed on its own, in the same way, several at once. A small folder, one of many
//! objects and one of many small folders are listed in one go: nothing takes fewer requests. The
//! first pages may deceive: small folders that come after a large one cost a request each. What is
//! found never depends on the order of the keys, since compatible servers have orders of their own.

use std::collections::HashSet;
use std::mem;

use futures::future::{BoxFuture, FutureExt};
use futures::stream::{self, BoxStream, FuturesUnordered, StreamExt};

use crate::counting::LIST_PAGE;
use crate::error::{StoreError, StoreErrorKind};
use crate::{ObjectInfo, Store};

type Item = Result<ObjectInfo, StoreError>;

/// When a folder is listed by its sub-folders, and how.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Objects that one request brings.
    page: usize,
    /// Objects of a folder that are looked at before.
    looked_at: usize,
    /// Sub-folders that it may have.
    most_folders: usize,
    /// Folders that are listed at once.
    at_once: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let page = LIST_PAGE as usize;
        Self {
            page,
            looked_at: 4 * page,
            most_folders: page,
            at_once: 16,
        }
    }
}

/// What a listing has come to.
struct FanOut {
    store: Store,
    limits: Limits,
    waiting: Vec<String>,
    running: FuturesUnordered<BoxFuture<'static, Step>>,
}

/// A folder that is being listed in one go, as far as it is known.
struct Folder {
    path: String,
    items: BoxStream<'static, Item>,
    /// What was listed, as long as it may be listed again by sub-folders.
    seen: Option<Vec<Item>>,
}

/// One step of listing a folder.
enum Step {
    /// Some of what lies in it, and the folder if there may be more.
    Listed(Vec<Item>, Option<Folder>),
    /// What lies directly in it, and the folders in it.
    Split(Vec<Item>, Vec<String>),
}

/// All objects below a folder of a remote store, in any order.
pub(crate) fn list(store: Store, folder: &str, limits: Limits) -> BoxStream<'static, Item> {
    let start = FanOut {
        store,
        limits,
        waiting: vec![folder.to_owned()],
        running: FuturesUnordered::new(),
    };
    let steps = stream::unfold(start, |mut all| async move {
        let items = all.step().await?;
        Some((stream::iter(items), all))
    });
    steps.flatten().boxed()
}

/// Whether a listing goes on after this item.
fn goes_on(item: &Item) -> bool {
    !matches!(item, Err(error) if error.kind() != StoreErrorKind::Entry)
}

impl FanOut {
    async fn step(&mut self) -> Option<Vec<Item>> {
        while self.running.len() < self.limits.at_once
            && let Some(path) = self.waiting.pop()
        {
            let folder = Folder {
                items: self.store.list(&path),
                seen: Some(Vec::new()),
                path,
            };
            self.go_on(folder);
        }
        let items = match self.running.next().await? {
            Step::Listed(items, None) => items,
            Step::Listed(items, Some(folder)) => {
                self.go_on(folder);
                items
            }
            Step::Split(items, folders) => {
                self.waiting.extend(folders);
                items
            }
        };
        if !items.iter().all(goes_on) {
            self.waiting.clear();
            self.running.clear();
        }
        Some(items)
    }

    fn go_on(&self, folder: Folder) {
        let step = folder.step(self.store.clone(), self.limits);
        self.running.push(step.boxed());
    }
}

impl Folder {
    async fn step(mut self, store: Store, limits: Limits) -> Step {
        let page: Vec<Item> = self.items.by_ref().take(limits.page).collect().await;
        let is_over = page.len() < limits.page || !page.iter().all(goes_on);
        let Some(seen) = &mut self.seen else {
            return Step::Listed(page, (!is_over).then_some(self));
        };
        seen.extend(page);
        if is_over {
            return Step::Listed(mem::take(seen), None);
        }
        if seen.len() < limits.looked_at {
            return Step::Listed(Vec::new(), Some(self));
        }
        let seen = mem::take(seen);
        self.seen = None;
        if has_few_folders(&self.path, &seen, limits.page)
            && let Some((direct, folders)) = store.entries(&self.path).await
            && folders.len() <= limits.most_folders
        {
            return Step::Split(direct, folders);
        }
        Step::Listed(seen, Some(self))
    }
}

/// Whether what was listed of a folder lies in sub-folders that fill a page each, on average.
fn has_few_folders(folder: &str, seen: &[Item], page: usize) -> bool {
    let mut folders = HashSet::new();
    let mut below = 0;
    for object in seen.iter().flatten() {
        let path = object.path.strip_prefix(folder).unwrap_or(&object.path);
        if let Some((folder, _)) = path.trim_start_matches('/').split_once('/') {
            folders.insert(folder);
            below += 1;
        }
    }
    !folders.is_empty() && below >= folders.len() * page
}

#[cfg(test)]
mod tests;
