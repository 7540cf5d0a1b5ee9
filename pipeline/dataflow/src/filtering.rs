//! Filters over rounds: what the index remembers of them, and a listing without what they leave
//! out.
//!
//! Filters are given once and hold for a lake until others are given
//! ([decision 22](../../../docs/decisions/022-filters.md)): a run without any has those of the run
//! before, so `limn update`, `limn watch` and the nightly job agree. They lie beside the settings
//! that texts are made with and are no part of them: other filters describe no table anew.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt};
use limn_lake::filter::{
    Filters, IGNORE_FILE, IgnoreFiles, MOST_IGNORE_BYTES, Selection, is_ignore_file,
};
use limn_lake::reach::{is_within, parent};
use limn_lake::sources::log_folder;
use limn_lake::{DECLARED_FILE, Declared, is_declared_file};
use limn_segment::Snapshot;
use limn_store::{Store, StoreError, StoreErrorKind};

use crate::error::PipelineError;
use crate::listing::Listing;
use crate::report::Failure;
use crate::settings::{self, FILTERS};

/// `.limnignore` and `.limn.yaml` files that are read at once.
const READ_AT_ONCE: usize = 16;

/// The filters that a lake's tables in an index were listed with; the default where there are none.
///
/// # Errors
/// They are of a later limn: to go on without them would index what somebody left out.
pub fn remembered(snapshot: Option<&Snapshot>, lake: &str) -> Result<Filters, PipelineError> {
    let kept = snapshot.map(|snapshot| settings::remembered(snapshot, FILTERS, lake));
    let Some(kept) = kept.transpose()?.flatten() else {
        return Ok(Filters::default());
    };
    serde_json::from_value(kept.clone()).map_err(|error| {
        PipelineError::Settings(format!(
            "the index remembers filters for {lake} that this limn does not understand ({error}): use the limn that wrote them, or say the filters anew"
        ))
    })
}

/// Writes a lake's filters into a snapshot's settings.
pub fn put_into(filters: &Filters, settings: &mut serde_json::Value, lake: &str) {
    if !settings.is_object() {
        *settings = serde_json::json!({});
    }
    if filters.is_empty() {
        let all = settings
            .get_mut(FILTERS)
            .and_then(|all| all.as_object_mut());
        if let Some(all) = all {
            all.remove(lake);
        }
        return;
    }
    if !settings[FILTERS].is_object() {
        settings[FILTERS] = serde_json::json!({});
    }
    settings[FILTERS][lake] = serde_json::json!(filters);
}

/// The filters as this round has them.
///
/// # Errors
/// A glob that is none.
pub fn selection(filters: &Filters) -> Result<Selection, PipelineError> {
    let now = chrono::Utc::now().timestamp_millis();
    let selection = filters.at(now);
    selection.map_err(|error| PipelineError::Settings(error.to_string()))
}

impl Listing {
    /// Leaves out what the lake's `.limnignore` files name, and takes in what `.limn.yaml` files
    /// say. Where one cannot be read or understood, its folder is left as it is in the index (of a
    /// `.limn.yaml`, the folder's own files): it may name what nobody should find.
    ///
    /// # Errors
    /// The store is away.
    pub(crate) async fn heed_folder_files(&mut self, lake: &Store) -> Result<(), PipelineError> {
        if lake.is_catalog() {
            // A catalog has tables and no such files.
            return Ok(());
        }
        let (mut ignored, mut declared) = (IgnoreFiles::default(), Declared::default());
        let mut unread = Vec::new();
        let ignoring = self.ignore_folders(lake.is_read_only()).into_iter();
        let declaring = self.declaring_folders(lake.is_read_only()).into_iter();
        let asked = ignoring
            .map(|folder| (folder, IGNORE_FILE))
            .chain(declaring.map(|folder| (folder, DECLARED_FILE)));
        let asked = asked.map(|(folder, name)| async move {
            let path = join(&folder, name);
            let text = read(lake, &folder, &path).await;
            (folder, name, path, text)
        });
        let mut asked = stream::iter(asked.collect::<Vec<_>>()).buffered(READ_AT_ONCE);
        while let Some((folder, name, path, text)) = asked.next().await {
            let taken = match text {
                Ok(None) => Ok(()),
                Ok(Some(text)) if name == IGNORE_FILE => {
                    let added = ignored.add(&folder, &text);
                    added.map_err(|error| error.to_string())
                }
                // Some web servers answer with a page for whatever is not there.
                Ok(Some(text)) if lake.is_read_only() && text.starts_with('<') => Ok(()),
                Ok(Some(text)) => {
                    let added = declared.add(&folder, &text);
                    added.map_err(|error| error.to_string())
                }
                Err(error) if error.is_retryable() => return Err(error.into()),
                Err(error) => Err(error.cause().to_owned()),
            };
            if let Err(fault) = taken {
                unread.push((folder, name, path, fault));
            }
        }
        drop(asked);
        self.leave_out_ignored(&ignored);
        self.ignore_files = ignored;
        self.declared = declared;
        // Objects that are left out no longer describe anything.
        unread
            .retain(|(_, name, path, _)| *name == IGNORE_FILE || !self.ignore_files.ignores(path));
        for (folder, name, path, fault) in unread {
            self.leave_folder_alone(folder, name);
            let object = lake.object_url(&path);
            self.failures.push(Failure {
                table: String::new(),
                error: format!(
                    "{object}: {fault}; its folder is left as it is in the index: correct the file, or remove it"
                ),
                object,
            });
        }
        Ok(())
    }

    /// Leaves out what `.limnignore` files name.
    fn leave_out_ignored(&mut self, ignored: &IgnoreFiles) {
        if !ignored.is_empty() {
            // A log says which files are a table's, and goes only with its folder.
            let ignores = |path: &str| match log_folder(path) {
                Some(folder) => ignored.ignores(&format!("{folder}/")),
                None => ignored.ignores(path),
            };
            self.objects.retain(|object| {
                let is_kept = !ignores(object.path);
                if !is_kept {
                    self.left_out.push(object.path.to_owned());
                }
                is_kept
            });
            self.boundary.retain(|object| !ignored.ignores(object.path));
        }
    }

    /// Leaves a folder as it is in the index, whose file of this name cannot be understood.
    fn leave_folder_alone(&mut self, folder: String, name: &str) {
        if name == IGNORE_FILE {
            let is_there = |path: &str| is_within(path, &folder);
            self.objects.retain(|object| !is_there(object.path));
            self.boundary.retain(|object| !is_there(object.path));
            self.unlisted.push(folder);
        } else {
            // It speaks of the files of its folder alone.
            self.objects.retain(|object| {
                let is_held = parent(object.path) == folder;
                if is_held {
                    self.unlisted.push(object.path.to_owned());
                }
                !is_held
            });
        }
    }

    /// Folders that have a `.limn.yaml`, and where such names are not listed those that may have
    /// one.
    fn declaring_folders(&self, is_unlisted: bool) -> BTreeSet<String> {
        let listed = self.objects.iter().chain(self.boundary.iter());
        let may = listed.filter(|object| is_unlisted || is_declared_file(object.path));
        may.map(|object| parent(object.path).to_owned()).collect()
    }

    /// Folders that have such a file or may have one unlisted: above the part of the lake that was
    /// listed, and on a store that does not list such names.
    fn ignore_folders(&self, is_unlisted: bool) -> BTreeSet<String> {
        let listed = self.objects.iter().chain(self.boundary.iter());
        let named = listed.filter(|object| is_ignore_file(object.path));
        let mut folders: BTreeSet<String> =
            named.map(|object| parent(object.path).to_owned()).collect();
        // Web servers list no names that begin with a point.
        let below: Vec<&str> = match is_unlisted {
            true => self.objects.iter().map(|it| it.path).collect(),
            false => self.part.folders.iter().map(String::as_str).collect(),
        };
        for folder in below {
            let mut above = folder;
            while !above.is_empty() {
                above = parent(above);
                folders.insert(above.to_owned());
            }
        }
        folders
    }
}

fn join(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

/// The text of an ignore file, if it is there.
async fn read(lake: &Store, folder: &str, path: &str) -> Result<Option<String>, StoreError> {
    let wrong =
        |cause: &str| StoreError::new(StoreErrorKind::Other, lake.object_url(path), cause, "");
    let read = match lake.get_range(path, 0..MOST_IGNORE_BYTES + 1).await {
        Err(error) if error.is_not_found() => return Ok(None),
        // A caller who may not list everything is denied what is not there; and some web servers
        // deny such names.
        Err(error) if error.kind() == StoreErrorKind::AccessDenied => {
            let there = lake.list_folder(folder).await?;
            return match there.iter().any(|object| object.path == path) {
                true => Err(error),
                false => Ok(None),
            };
        }
        // S3 has no range of an empty object.
        Err(error) => match lake.head(path).await {
            Ok(info) if info.size == 0 => return Ok(None),
            _ => return Err(error),
        },
        Ok(read) => read,
    };
    if read.len() as u64 > MOST_IGNORE_BYTES {
        return Err(wrong("it is larger than 256 KiB"));
    }
    let text = String::from_utf8(read.into());
    text.map(Some).map_err(|_| wrong("it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use limn_formats::ObjectRecord;

    use super::*;
    use crate::scope::Part;

    fn object(path: &str) -> ObjectRecord {
        ObjectRecord {
            path: path.into(),
            etag: None,
            version: None,
            size: 1,
            modified_ms: 0,
        }
    }

    fn listing(paths: &[&str]) -> Listing {
        Listing {
            part: Part::whole(),
            objects: paths.iter().map(|path| object(path)).collect(),
            ..Listing::default()
        }
    }

    fn paths(listing: &Listing) -> Vec<&str> {
        listing.objects.iter().map(|it| it.path).collect()
    }

    #[tokio::test]
    async fn what_ignore_files_name_is_left_out() {
        let lake = Store::in_memory();
        lake.put(".limnignore", "*.json\n".into()).await.unwrap();
        lake.put("hr/.limnignore", "secret*\n".into())
            .await
            .unwrap();
        lake.put("empty/.limnignore", "".into()).await.unwrap();
        let all = [
            ".limnignore",
            "hr/.limnignore",
            "empty/.limnignore",
            "my.limnignore",
            "a.csv",
            "a.json",
            "hr/secret.csv",
            "hr/b.csv",
            "secret.csv",
        ];
        let mut whole = listing(&all);
        whole.heed_folder_files(&lake).await.unwrap();
        assert_eq!(
            paths(&whole)[3..],
            ["my.limnignore", "a.csv", "hr/b.csv", "secret.csv"]
        );
        assert_eq!((whole.left_out.len(), whole.failures.len()), (2, 0));
        // A part of the lake is under the same files.
        let mut part = listing(&["hr/deep/x.json", "hr/deep/secrets.csv", "hr/deep/x.csv"]);
        part.part.folders = vec!["hr/deep".to_owned()];
        part.heed_folder_files(&lake).await.unwrap();
        assert_eq!(paths(&part), ["hr/deep/x.csv"]);
    }

    #[tokio::test]
    async fn a_folder_whose_ignore_file_cannot_be_understood_is_left_alone() {
        let lake = Store::in_memory();
        lake.put("hr/.limnignore", "a[\n".into()).await.unwrap();
        lake.put("shop/.limnignore", vec![255, 254].into())
            .await
            .unwrap();
        let large = vec![b'#'; 300_000];
        lake.put("x/.limnignore", large.into()).await.unwrap();
        let all = [
            "hr/.limnignore",
            "shop/.limnignore",
            "x/.limnignore",
            "a.csv",
            "hr/b.csv",
            "shop/c/d.csv",
            "x/e.csv",
        ];
        let mut listing = listing(&all);
        listing.heed_folder_files(&lake).await.unwrap();
        assert_eq!(paths(&listing), ["a.csv"]);
        assert_eq!(listing.unlisted, ["hr", "shop", "x"]);
        let errors: Vec<&str> = listing
            .failures
            .iter()
            .map(|it| it.error.as_str())
            .collect();
        for (line, part) in errors.iter().zip(["line 1", "not UTF-8", "256 KiB"]) {
            assert!(line.contains(part) && line.contains("; "), "{line}");
        }
    }

    #[test]
    fn filters_are_remembered_by_lake_and_forgotten_when_there_are_none() {
        let mut snapshot = Snapshot::first("e", 4, 1);
        let filters = Filters {
            exclude: vec!["tmp".into()],
            ..Filters::default()
        };
        put_into(&filters, &mut snapshot.settings, "s3://lake");
        assert_eq!(remembered(Some(&snapshot), "s3://lake").unwrap(), filters);
        assert!(
            remembered(Some(&snapshot), "s3://other")
                .unwrap()
                .is_empty()
        );
        assert!(remembered(None, "s3://lake").unwrap().is_empty());
        snapshot.settings["filters"]["s3://lake"]["moon"] = "full".into();
        let error = remembered(Some(&snapshot), "s3://lake").unwrap_err();
        assert!(error.to_string().contains("moon"), "{error}");
        put_into(&Filters::default(), &mut snapshot.settings, "s3://lake");
        assert!(remembered(Some(&snapshot), "s3://lake").unwrap().is_empty());
    }
}
