//! The listing: what lies in a lake, without what limn put there.

use std::collections::BTreeSet;

use futures::StreamExt;
use limn_lake::ObjectRecord;
use limn_lake::reach::{is_within, parent, shares_name};
use limn_segment::{FOLDERS, IndexStore};
use limn_store::{ObjectInfo, Store, StoreErrorKind};

use crate::error::PipelineError;
use crate::progress::Progress;
use crate::report::Failure;
use crate::scope::{Part, Scope, outermost};

/// A listing of a lake or a part of it, without the objects of indexes that lie inside the lake.
#[derive(Default)]
pub struct Listing {
    /// What was listed.
    pub part: Part,
    /// The objects of that part.
    pub objects: Vec<ObjectRecord>,
    /// Objects beside the part's folders, which its tables may share a name with.
    pub beside: Vec<ObjectRecord>,
    /// Paths in the lake that could not be listed, with all that lies below them.
    pub unlisted: Vec<String>,
    /// The same for people.
    pub failures: Vec<Failure>,
    /// Indexes other than the run's own that were left out.
    pub notes: Vec<String>,
}

impl Listing {
    /// Lists the part of a lake that a scope reaches.
    ///
    /// # Errors
    /// The store refused, or broke off.
    pub async fn of(
        lake: &Store,
        index: &IndexStore,
        scope: &Scope,
        progress: &Progress,
    ) -> Result<Self, PipelineError> {
        let mut listing = Self::default();
        // A local folder costs no request, and which link a folder is reached by shows in the whole.
        listing.part.folders = match scope {
            Scope::Lake => vec![String::new()],
            _ if lake.local_root().is_some() => vec![String::new()],
            _ => listing.closed(lake, scope.folders()).await?,
        };
        if let Scope::Tables(tables) = scope {
            listing.part.tables = Some(tables.clone());
        }
        for folder in listing.part.folders.clone() {
            listing.list(lake, &folder, progress).await?;
        }
        listing.leave_out_indexes();
        if let Some(own) = index.store.url().strip_prefix(lake.url()) {
            let own = own.trim_start_matches('/');
            let is_other = |object: &ObjectRecord| own.is_empty() || !is_within(&object.path, own);
            listing.objects.retain(is_other);
        }
        Ok(listing)
    }

    /// Folders such that no table of theirs shares its name with a file beside them; what is beside
    /// them is kept. Folders of indexes are left out.
    async fn closed(
        &mut self,
        lake: &Store,
        folders: Vec<String>,
    ) -> Result<Vec<String>, PipelineError> {
        let mut closed = Vec::new();
        for mut folder in folders {
            while !folder.is_empty() {
                let beside = lake.list_folder(parent(&folder)).await?;
                if !beside.iter().any(|it| shares_name(&it.path, &folder)) {
                    self.beside.extend(beside.into_iter().map(record));
                    break;
                }
                folder = parent(&folder).to_owned();
            }
            if !is_in_an_index(lake, &folder).await? {
                closed.push(folder);
            }
        }
        let closed = outermost(closed);
        self.beside
            .retain(|object| !closed.iter().any(|folder| is_within(&object.path, folder)));
        Ok(closed)
    }

    async fn list(
        &mut self,
        lake: &Store,
        folder: &str,
        progress: &Progress,
    ) -> Result<(), PipelineError> {
        let mut objects = lake.list_unordered(folder);
        while let Some(object) = objects.next().await {
            match object {
                Ok(object) => {
                    Progress::add(&progress.objects_listed, 1);
                    self.objects.push(record(object));
                }
                Err(error) if error.kind() == StoreErrorKind::Entry => {
                    // Nothing is taken as gone if it cannot be told what was not listed.
                    let below = error.object().strip_prefix(lake.url());
                    let path = below.map_or("", |path| path.strip_prefix('/').unwrap_or(path));
                    self.unlisted.push(path.to_owned());
                    self.failures.push(Failure {
                        table: String::new(),
                        object: error.object().to_owned(),
                        error: error.to_string(),
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.failures.is_empty()
    }

    /// An index is known by its snapshots; its catalog would be a lake of tables.
    fn leave_out_indexes(&mut self) {
        let paths = self.objects.iter().map(|object| object.path.as_str());
        let indexes: BTreeSet<String> = paths.filter_map(index_of_snapshot).collect();
        for index in &indexes {
            let folders: Vec<String> = FOLDERS
                .iter()
                .map(|folder| format!("{index}{folder}"))
                .collect();
            self.objects
                .retain(|object| !folders.iter().any(|folder| object.path.starts_with(folder)));
            let name = if index.is_empty() {
                "the lake's folder itself"
            } else {
                index.trim_end_matches('/')
            };
            self.notes
                .push(format!("{name} is a limn index and was left out"));
        }
    }
}

fn record(object: ObjectInfo) -> ObjectRecord {
    ObjectRecord {
        path: object.path,
        etag: object.etag,
        version: object.version,
        size: object.size,
        modified_ms: object.modified_ms,
    }
}

/// Whether a folder of the lake is one of an index's own; asked of the store where its name is.
async fn is_in_an_index(lake: &Store, folder: &str) -> Result<bool, PipelineError> {
    let slashed = format!("/{folder}/");
    for own in FOLDERS {
        for (at, _) in slashed.match_indices(&format!("/{own}")) {
            let root = slashed[..at].trim_matches('/');
            let separator = if root.is_empty() { "" } else { "/" };
            let mut snapshots = lake.list(&format!("{root}{separator}snapshots"));
            if let Some(first) = snapshots.next().await
                && index_of_snapshot(&first?.path).is_some()
            {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The index (a path that ends with `/`, or nothing) of which this may be a snapshot:
/// `<index>snapshots/<20 digits>.json`.
fn index_of_snapshot(path: &str) -> Option<String> {
    let stem = path.strip_suffix(".json")?;
    let digits = stem.get(stem.len().checked_sub(20)?..)?;
    let index = stem.strip_suffix(digits)?.strip_suffix("snapshots/")?;
    let is_one = digits.bytes().all(|digit| digit.is_ascii_digit());
    (is_one && (index.is_empty() || index.ends_with('/'))).then(|| index.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_known_by_their_names() {
        let of = index_of_snapshot;
        let number = "18446744073709551614";
        assert_eq!(of(&format!("snapshots/{number}.json")).as_deref(), Some(""));
        assert_eq!(
            of(&format!("a/b.limn/snapshots/{number}.json")).as_deref(),
            Some("a/b.limn/")
        );
        for other in [
            "snapshots/1.json",
            "a/mysnapshots/18446744073709551614.json",
            "snapshots/1844674407370955161x.json",
            "18446744073709551614.json",
            "snapshots/ü844674407370955161.json",
            ".json",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
