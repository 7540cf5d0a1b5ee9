//! The listing: what lies in a lake, without what limn put there.

use std::collections::BTreeSet;

use futures::StreamExt;
use limn_lake::ObjectRecord;
use limn_segment::{FOLDERS, IndexStore};
use limn_store::{Store, StoreErrorKind};

use crate::error::PipelineError;
use crate::progress::Progress;
use crate::report::Failure;

/// A complete listing, without the objects of indexes that lie inside the lake.
#[derive(Default)]
pub struct Listing {
    /// The objects.
    pub objects: Vec<ObjectRecord>,
    /// Paths in the lake that could not be listed, with all that lies below them.
    pub unlisted: Vec<String>,
    /// The same for people.
    pub failures: Vec<Failure>,
    /// Indexes other than the run's own that were left out.
    pub notes: Vec<String>,
}

impl Listing {
    /// Lists a lake.
    ///
    /// # Errors
    /// The store refused, or broke off.
    pub async fn of(
        lake: &Store,
        index: &IndexStore,
        progress: &Progress,
    ) -> Result<Self, PipelineError> {
        let own_index = index
            .store
            .url()
            .strip_prefix(&format!("{}/", lake.url()))
            .map(|path| format!("{path}/"));
        let mut listing = Self::default();
        let mut objects = lake.list("");
        while let Some(object) = objects.next().await {
            match object {
                Ok(object)
                    if own_index
                        .as_ref()
                        .is_some_and(|index| object.path.starts_with(index)) => {}
                Ok(object) => {
                    Progress::add(&progress.objects_listed, 1);
                    listing.objects.push(ObjectRecord {
                        path: object.path,
                        etag: object.etag,
                        version: object.version,
                        size: object.size,
                        modified_ms: object.modified_ms,
                    });
                }
                Err(error) if error.kind() == StoreErrorKind::Entry => {
                    // Nothing is taken as gone if it cannot be told what was not listed.
                    let below = error.object().strip_prefix(lake.url());
                    let path = below.map_or("", |path| path.strip_prefix('/').unwrap_or(path));
                    listing.unlisted.push(path.to_owned());
                    listing.failures.push(Failure {
                        table: String::new(),
                        object: error.object().to_owned(),
                        error: error.to_string(),
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
        listing.leave_out_indexes();
        Ok(listing)
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
