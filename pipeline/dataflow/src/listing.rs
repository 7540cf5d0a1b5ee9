//! The listing: what lies in a lake, without what limn put there.

mod folders;
mod indexes;
mod objects;
mod shares;
mod state;
mod texts;

use limn_formats::ObjectRef;
use limn_lake::filter::Selection;
use limn_lake::layout::is_read;
use limn_lake::reach::is_within;
use limn_segment::IndexStore;
use limn_store::Store;

pub use self::shares::ForOthers;
pub use self::state::{KnownPlaces, Listing};
use crate::error::PipelineError;
use crate::progress::Progress;
use crate::scope::{Part, Scope, outermost};
use crate::share::Share;

impl Listing {
    /// Lists the part of a lake that a scope reaches, or a share of the whole, without what a
    /// selection leaves out.
    ///
    /// # Errors
    /// The store refused, or broke off.
    pub async fn of(
        lake: &Store,
        index: &IndexStore,
        (scope, known): (&Scope, &KnownPlaces),
        share: &Share,
        selection: &Selection,
        progress: &Progress,
    ) -> Result<Self, PipelineError> {
        let mut listing = Self {
            share: share.clone(),
            ..Self::default()
        };
        if scope.is_partial() && share.follows() {
            // The leader lists a part of a lake.
            listing.part = Part::whole();
            return Ok(listing);
        }
        // A local folder costs no request, and which link a folder is reached by shows in the
        // whole.
        listing.part.folders = match scope {
            Scope::Lake => vec![String::new()],
            _ if lake.local_root().is_some() => vec![String::new()],
            _ => {
                // A file of a table that has a log is nothing without that.
                let folder = |folder: String| {
                    let mut logs = known.logs.iter();
                    let log = logs.find(|log| is_within(&folder, log));
                    log.map_or(folder, String::clone)
                };
                let folders = scope.folders().into_iter().map(folder);
                let closed = listing.closed(lake, outermost(folders)).await?;
                listing.list_describing(lake, &closed, known).await?;
                closed
            }
        };
        if let Scope::Tables(tables) = scope {
            listing.part.tables = Some(tables.clone());
        }
        if share.is_partial() {
            listing.list_share(lake, selection, progress).await?;
        } else {
            for folder in listing.part.folders.clone() {
                listing.list(lake, &folder, selection, progress).await?;
            }
        }
        let counts = |it: ObjectRef<'_>| selection.has(it.path, it.size, it.modified_ms);
        listing.boundary.retain(counts);
        listing.leave_out_indexes();
        if let Some(own) = index.store.url().strip_prefix(lake.url()) {
            let own = own.trim_start_matches('/');
            let is_other = |path: &str| own.is_empty() || !is_within(path, own);
            listing.objects.retain(|object| is_other(object.path));
            listing.left_out.retain(|path| is_other(path));
        }
        listing.heed_folder_files(lake).await?;
        // Only what is left says what they are about.
        listing.leave_out_texts(selection);
        listing.note_unversioned();
        Ok(listing)
    }

    /// Of an object without a tag and a time, a change that keeps its size goes unnoticed.
    fn note_unversioned(&mut self) {
        let is_unversioned = |object: &ObjectRef<'_>| {
            !object.has_etag() && object.modified_ms == 0 && is_read(object.path)
        };
        let unversioned = self.objects.iter().filter(is_unversioned).count();
        if unversioned > 0 {
            self.notes.push(format!(
                "the server gives neither a tag nor a time of {unversioned} objects: a change of theirs is noticed only if their size changes"
            ));
        }
    }
}
