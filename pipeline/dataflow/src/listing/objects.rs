//! The objects of a part of a lake, asked of its store: which of them count, and what could not be
//! listed.

use futures::stream::{self, StreamExt};
use limn_lake::filter::{Selection, is_ignore_file};
use limn_lake::is_declared_file;
use limn_lake::layout::is_read;
use limn_lake::reach::parent;
use limn_lake::sources::is_of_log;
use limn_store::{ObjectInfo, Store, StoreError, StoreErrorKind};

use super::indexes::index_of_snapshot;
use super::state::Listing;
use crate::error::PipelineError;
use crate::progress::Progress;
use crate::report::Failure;
use crate::scope::root_name;

/// Folders that are listed at once.
const LISTED_AT_ONCE: usize = 16;

impl Listing {
    pub(super) async fn list(
        &mut self,
        lake: &Store,
        folder: &str,
        selection: &Selection,
        progress: &Progress,
    ) -> Result<(), PipelineError> {
        // Of a catalog each object is a table, chosen by its name alone.
        let is_catalog = lake.is_catalog();
        let by_path = selection.clone();
        let is_wanted = move |path: &str| match is_catalog {
            true => by_path.has_path(path),
            false => is_its_folder_file(&by_path, path) || is_read(path) && by_path.has_path(path),
        };
        let mut objects = lake.list_wanted(folder, is_wanted);
        while let Some(object) = objects.next().await {
            self.take(object, lake, selection, progress)?;
        }
        Ok(())
    }

    /// Lists what lies in folders of the share; where they cannot be listed by themselves, the
    /// whole lake, of which it keeps the share.
    pub(super) async fn list_share(
        &mut self,
        lake: &Store,
        selection: &Selection,
        progress: &Progress,
    ) -> Result<(), PipelineError> {
        let share = self.share.clone();
        if lake.local_root().is_some() {
            // A folder costs no request, and which link it is reached by shows in the whole.
            return self.list(lake, "", selection, progress).await;
        }
        let levels = share.cut().map(|folder| async move {
            let entries = lake.entries(folder).await;
            (folder, entries)
        });
        let mut levels = stream::iter(levels.collect::<Vec<_>>()).buffered(LISTED_AT_ONCE);
        let (mut own, mut at_levels) = (Vec::new(), Vec::new());
        while let Some((folder, level)) = levels.next().await {
            let Some((objects, folders)) = level else {
                tracing::info!(folder, "it cannot be listed by itself: the whole lake is");
                drop(levels);
                return self.list(lake, "", selection, progress).await;
            };
            let concerns = |it: &Result<ObjectInfo, StoreError>| match it {
                Ok(it) => share.has(&it.path) || is_ignore_file(&it.path),
                Err(_) => true,
            };
            at_levels.extend(objects.into_iter().filter(concerns));
            own.extend(
                folders
                    .into_iter()
                    .filter(|it| !share.is_cut(it) && share.has_folder(it)),
            );
        }
        drop(levels);
        for object in at_levels {
            self.take(object, lake, selection, progress)?;
        }
        let mut listings = Vec::with_capacity(own.len());
        for folder in own {
            listings.push(lake.list_unordered(&folder));
        }
        let mut objects = stream::iter(listings).flatten_unordered(LISTED_AT_ONCE);
        while let Some(object) = objects.next().await {
            self.take(object, lake, selection, progress)?;
        }
        Ok(())
    }

    /// Takes in an object that was listed, or why there is none.
    fn take(
        &mut self,
        object: Result<ObjectInfo, StoreError>,
        lake: &Store,
        selection: &Selection,
        progress: &Progress,
    ) -> Result<(), PipelineError> {
        let is_chosen = |it: &ObjectInfo| match lake.is_catalog() {
            true => selection.has_path(&it.path),
            false => {
                is_its_folder_file(selection, &it.path)
                    || selection.has(&it.path, it.size, it.modified_ms)
            }
        };
        match object {
            Ok(object) if self.share.is_partial() && !self.share.has(&object.path) => {
                // It may leave out what lies below it.
                if is_ignore_file(&object.path) && self.share.is_cut(parent(&object.path)) {
                    self.boundary.push(&object.into());
                }
            }
            Ok(object) => {
                Progress::add(&progress.objects_listed, 1);
                self.indexes.extend(index_of_snapshot(&object.path));
                if is_chosen(&object) {
                    self.objects.push(&object.into());
                } else if selection.is_too_new(&object.path, object.size, object.modified_ms) {
                    // It may be the next version of what the index has: that one stays until this
                    // has settled.
                    self.unlisted.push(object.path);
                } else {
                    self.left_out.push(object.path);
                }
            }
            Err(error) if error.kind() == StoreErrorKind::Entry => {
                // Nothing is taken as removed if it is unknown what was not listed.
                let below = error.object().strip_prefix(lake.url());
                let path = below.map_or("", |path| path.strip_prefix('/').unwrap_or(path));
                let path = error.path().unwrap_or(path);
                let is_left_out = |path: &str| !selection.has_path(path);
                let is_own = !self.share.is_partial() || self.share.has(path);
                if !path.is_empty() && (is_left_out(path) || is_left_out(&format!("{path}/"))) {
                    if is_own {
                        self.left_out.push(path.to_owned());
                    }
                    return Ok(());
                }
                if is_own && self.part.concerns(path, root_name(lake.url())) {
                    self.failures.push(Failure {
                        table: String::new(),
                        object: error.object().to_owned(),
                        error: error.to_string(),
                    });
                }
                self.unlisted.push(path.to_owned());
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Whether this is the `.limnignore` or the `.limn.yaml` of a folder that counts, or a part of the
/// log of a table in one.
fn is_its_folder_file(selection: &Selection, path: &str) -> bool {
    (is_ignore_file(path) || is_declared_file(path) || is_of_log(path))
        && selection.has_path(&format!("{}/", parent(path)))
}
