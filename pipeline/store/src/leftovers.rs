//! What killed processes have left of their writes on a local disk: files that no listing shows.

use std::sync::Arc;

use crate::error::{StoreError, StoreErrorKind, from_io};
use crate::walk::{Walk, is_staged};
use crate::{ObjectInfo, Store};

impl Store {
    /// What killed processes have left of their writes below `prefix`, and writes in progress:
    /// files of a local store that are no objects. A remote store lists no parts of large writes,
    /// until the bucket's rules remove them.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub async fn leftovers(&self, prefix: &str) -> Result<Vec<ObjectInfo>, StoreError> {
        let Some(local) = &self.local else {
            return Ok(Vec::new());
        };
        let root = Arc::clone(local.root());
        let prefix = prefix.trim_matches('/').to_owned();
        let walk = move || Walk::of_staged(root, &prefix)?.collect();
        let walked = tokio::task::spawn_blocking(walk).await;
        walked.unwrap_or_else(|error| {
            let cause = format!("the listing broke off: {error}");
            let kind = StoreErrorKind::Other;
            Err(StoreError::new(kind, self.url(), cause, "run again"))
        })
    }

    /// Whether a path can only be one of [`Store::leftovers`].
    pub fn is_leftover(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.local.is_some() && is_staged(name)
    }

    /// Deletes one of [`Store::leftovers`]; one that is not there is no error.
    ///
    /// # Errors
    /// Access; a path that is none.
    pub async fn delete_leftover(&self, path: &str) -> Result<(), StoreError> {
        let object = self.object_url(path);
        let Some(local) = self.local.clone().filter(|_| self.is_leftover(path)) else {
            let kind = StoreErrorKind::Configuration;
            return Err(StoreError::new(kind, object, "is no unfinished write", ""));
        };
        let path = path.to_owned();
        let removed = tokio::task::spawn_blocking(move || local.remove(&path)).await;
        match removed.map_err(std::io::Error::other) {
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Ok(Err(error)) | Err(error) => Err(from_io(object, &error)),
            Ok(Ok(())) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;

    #[tokio::test]
    async fn what_is_left_is_found_and_goes_and_objects_stay() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().to_str().unwrap()).unwrap();
        store.put("a/x", "1".into()).await.unwrap();
        std::fs::write(folder.path().join("a/x#12"), "half").unwrap();
        std::fs::write(folder.path().join("a/x#y"), "an object").unwrap();
        let left = store.leftovers("a").await.unwrap();
        assert_eq!((left.len(), left[0].path.as_str()), (1, "a/x#12"));
        assert!(store.is_leftover("a/x#12") && !store.is_leftover("a/x#y"));
        assert!(store.delete_leftover("a/x").await.is_err());
        store.delete_leftover("a/x#12").await.unwrap();
        store.delete_leftover("a/x#12").await.unwrap();
        assert_eq!(store.leftovers("").await.unwrap(), []);
        assert_eq!(store.get("a/x").await.unwrap(), "1");
        assert_eq!(Store::in_memory().leftovers("").await.unwrap(), []);
    }
}
