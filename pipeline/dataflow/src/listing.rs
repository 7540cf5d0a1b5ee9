//! The listing: what lies in a lake, without what limn put there.

use std::collections::BTreeSet;

use futures::stream::{self, StreamExt};
use limn_formats::{ObjectRecord, ObjectRef, Objects};
use limn_lake::filter::{IgnoreFiles, Selection, is_ignore_file};
use limn_lake::layout::{
    described_below, describes_beside, is_data, is_dictionary, is_read, may_be_beside, texts_beside,
};
use limn_lake::reach::{is_within, parent, shares_name};
use limn_lake::sources::is_of_log;
use limn_lake::{Declared, LogTable, is_declared_file};
use limn_segment::{FOLDERS, IndexStore};
use limn_store::{ObjectInfo, Store, StoreError, StoreErrorKind};
use serde::{Deserialize, Serialize};

use crate::error::PipelineError;
use crate::progress::Progress;
use crate::report::Failure;
use crate::scope::{Part, Scope, outermost, root_name};
use crate::share::Share;

/// Folders that are listed at once.
const LISTED_AT_ONCE: usize = 16;

/// A listing of a lake or a part of it, without the objects of indexes that lie inside the lake.
#[derive(Default)]
pub struct Listing {
    /// What was listed.
    pub part: Part,
    /// Whose objects these are: those of the other shares are not here.
    pub share: Share,
    /// The objects of that part.
    pub objects: Objects,
    /// Objects beside the part's folders, which its tables may share a name with.
    pub beside: Objects,
    /// Paths in the lake that could not be listed, with all that lies below them.
    pub unlisted: Vec<String>,
    /// The same for people.
    pub failures: Vec<Failure>,
    /// Indexes other than the run's own that were left out.
    pub notes: Vec<String>,
    /// Paths that filters and `.limnignore` files leave out.
    pub left_out: Vec<String>,
    /// Members of containers that they leave out.
    pub members_left_out: usize,
    /// The `.limnignore` files that were read, until containers are opened.
    pub ignore_files: IgnoreFiles,
    /// Texts that are about others, and that filters do not choose as data.
    pub only_about_others: BTreeSet<String>,
    /// The tables that have logs, as these have them.
    pub logged: Vec<LogTable>,
    /// What the `.limn.yaml` files say.
    pub declared: Declared,
    /// The indexes in the part, whatever filters leave out of them.
    pub indexes: BTreeSet<String>,
}

/// What the other shares of a lake have to know of one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ForOthers {
    /// Objects that may be about their tables.
    pub texts: Vec<ObjectRecord>,
    /// Files of tables that lie beside these in folders that were cut.
    pub beside_texts: Vec<ObjectRecord>,
    /// Paths of theirs that are files of a table of this share, by its log.
    pub claimed: Vec<String>,
}

impl ForOthers {
    /// Adds what is to be known of another share.
    pub fn add(&mut self, other: ForOthers) {
        self.texts.extend(other.texts);
        self.beside_texts.extend(other.beside_texts);
        self.claimed.extend(other.claimed);
    }
}

/// Places of a lake that a part of it depends on, wherever they are, as the index knows them.
#[derive(Debug, Default)]
pub struct KnownPlaces {
    /// The folders of tables that have a log.
    pub logs: BTreeSet<String>,
    /// The objects that programs wrote about tables of other folders.
    pub describing: BTreeSet<String>,
}

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
        listing.beside.retain(counts);
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

    /// Folders such that no table of theirs shares its name with a file beside them; what is beside
    /// them is kept, and what further up is about tables below. Folders of indexes are left out.
    async fn closed(
        &mut self,
        lake: &Store,
        folders: Vec<String>,
    ) -> Result<Vec<String>, PipelineError> {
        let mut closed = Vec::new();
        for mut folder in folders {
            while !folder.is_empty() {
                let beside = lake.list_folder(parent(&folder)).await?;
                let names_tables =
                    |it: &ObjectInfo| shares_name(&it.path, &folder) || is_declared_file(&it.path);
                if !beside.iter().any(names_tables) {
                    self.beside
                        .extend(beside.into_iter().map(ObjectRecord::from));
                    break;
                }
                folder = parent(&folder).to_owned();
            }
            if !is_in_an_index(lake, &folder).await? {
                closed.push(folder);
            }
        }
        let closed = outermost(closed);
        // Parents were listed above.
        let parents: BTreeSet<&str> = closed.iter().map(|folder| parent(folder)).collect();
        let mut above: BTreeSet<&str> = BTreeSet::new();
        for folder in parents.iter().filter(|folder| !folder.is_empty()) {
            let mut folder = parent(folder);
            while above.insert(folder) && !folder.is_empty() {
                folder = parent(folder);
            }
        }
        for folder in above.into_iter().filter(|it| !parents.contains(it)) {
            let there = lake.list_folder(folder).await?;
            let reaches =
                |path: &str| described_below(path).is_some_and(|it| is_within(folder, it));
            let reaching = there.into_iter().filter(|it| reaches(&it.path));
            self.beside.extend(reaching.map(ObjectRecord::from));
        }
        self.beside
            .retain(|object| !closed.iter().any(|folder| is_within(object.path, folder)));
        Ok(closed)
    }

    /// Adds what programs wrote about tables of the closed folders and lies elsewhere, as far as
    /// the index knows it.
    async fn list_describing(
        &mut self,
        lake: &Store,
        closed: &[String],
        known: &KnownPlaces,
    ) -> Result<(), PipelineError> {
        let reaches = |path: &str| {
            let below = described_below(path).filter(|_| describes_beside(path));
            below.is_some_and(|below| closed.iter().any(|folder| is_within(folder, below)))
        };
        let is_listed = |path: &str| closed.iter().any(|folder| is_within(path, folder));
        let wanted = known.describing.iter().map(String::as_str);
        let wanted = wanted.filter(|path| reaches(path) && !is_listed(path));
        let folders: BTreeSet<&str> = wanted.map(parent).collect();
        for folder in folders {
            let there = lake.list_folder(folder).await?;
            let reaching = there.into_iter().filter(|it| reaches(&it.path));
            self.beside.extend(reaching.map(ObjectRecord::from));
        }
        self.beside.sort();
        Ok(())
    }

    async fn list(
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
    async fn list_share(
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
                    self.beside.push(&object.into());
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

    /// What the other shares have to know of this one: the objects that may be about their tables,
    /// and those of their objects that belong to tables of this share by their logs.
    pub fn for_others(&self) -> ForOthers {
        if !self.share.is_partial() {
            return ForOthers::default();
        }
        let is_text = |it: &ObjectRef<'_>| {
            described_below(it.path).is_some_and(|below| self.share.is_shared(below))
                || is_dictionary(it.path) && self.share.is_cut(parent(it.path))
        };
        let texts = self.objects.iter().filter(is_text);
        let folders: BTreeSet<&str> = texts.map(|it| parent(it.path)).collect();
        // What a text says of which table depends on the tables of its own folder.
        let is_beside_text = |it: &ObjectRef<'_>| {
            let folder = parent(it.path);
            is_data(it.path) && self.share.is_cut(folder) && folders.contains(folder)
        };
        let files = self.logged.iter().flat_map(|table| &table.files);
        let claimed = files.map(|file| &file.object.path);
        ForOthers {
            texts: self
                .objects
                .iter()
                .filter(is_text)
                .map(|it| it.record())
                .collect(),
            beside_texts: self
                .objects
                .iter()
                .filter(|it| is_beside_text(it) && !is_text(it))
                .map(|it| it.record())
                .collect(),
            claimed: claimed
                .filter(|path| !self.share.has(path))
                .cloned()
                .collect(),
        }
    }

    /// The texts that more than one process looks at.
    pub fn looked_at_by_several(&self) -> Vec<String> {
        let own = self.for_others().texts.into_iter().map(|it| it.path);
        let others = self.beside.iter().map(|it| it.path.to_owned());
        own.chain(others).collect()
    }

    /// Takes in what this share has to know of the others.
    pub fn know(&mut self, others: ForOthers) {
        let claimed: BTreeSet<&str> = others.claimed.iter().map(String::as_str).collect();
        if !claimed.is_empty() {
            self.objects.retain(|object| !claimed.contains(object.path));
        }
        let texts = others.texts.into_iter().chain(others.beside_texts);
        self.beside
            .extend(texts.filter(|it| !self.share.has(&it.path)));
    }

    /// Leaves out texts that are about no table, and not chosen as data; others that are not chosen
    /// make no tables.
    fn leave_out_texts(&mut self, selection: &Selection) {
        let is_unchosen = |it: &ObjectRef<'_>| {
            may_be_beside(it.path) && !selection.has_rows(it.path, it.size, it.modified_ms)
        };
        let listed = self.objects.iter().chain(self.beside.iter());
        if !listed.clone().any(|it| is_unchosen(&it)) {
            return;
        }
        let about_others = texts_beside(listed.clone().map(|object| object.path));
        let kept = listed.filter(|it| is_unchosen(it) && about_others.contains(it.path));
        let kept: BTreeSet<String> = kept.map(|it| it.path.to_owned()).collect();
        let is_kept = |it: &ObjectRef<'_>| !is_unchosen(it) || kept.contains(it.path);
        self.beside.retain(|object| is_kept(&object));
        self.objects.retain(|object| {
            let is_kept = is_kept(&object);
            if !is_kept {
                let path = object.path.to_owned();
                match selection.is_too_new(object.path, object.size, object.modified_ms) {
                    true => self.unlisted.push(path),
                    false => self.left_out.push(path),
                }
            }
            is_kept
        });
        self.only_about_others = kept;
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.failures.is_empty() && self.left_out.is_empty()
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

    /// An index is known by its snapshots; its catalog would be a lake of tables.
    fn leave_out_indexes(&mut self) {
        for index in &std::mem::take(&mut self.indexes) {
            let folders: Vec<String> = FOLDERS
                .iter()
                .map(|folder| format!("{index}{folder}"))
                .collect();
            let is_other = |path: &str| !folders.iter().any(|folder| path.starts_with(folder));
            self.objects.retain(|object| is_other(object.path));
            self.left_out.retain(|path| is_other(path));
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

/// Whether this is the `.limnignore` or the `.limn.yaml` of a folder that counts, or a part of the
/// log of a table in one.
fn is_its_folder_file(selection: &Selection, path: &str) -> bool {
    (is_ignore_file(path) || is_declared_file(path) || is_of_log(path))
        && selection.has_path(&format!("{}/", parent(path)))
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
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn texts_about_no_table_are_left_out_unless_they_are_chosen() {
        let listing = |include: &[&str]| {
            let filters = limn_lake::filter::Filters {
                include: include.iter().map(|it| (*it).to_owned()).collect(),
                ..Default::default()
            };
            let selection = filters.at(0).unwrap();
            let record = |path: &str| ObjectRecord {
                path: path.to_owned(),
                etag: None,
                version: None,
                size: 1,
                modified_ms: 0,
            };
            let paths = ["a.csv", "a.txt", "b.txt", "d.txt", "d/x.csv", "e.md"];
            let mut listing = Listing {
                objects: paths.map(record).into_iter().collect(),
                ..Listing::default()
            };
            listing.leave_out_texts(&selection);
            let kept = listing.objects.iter().map(|it| it.path.to_owned());
            (kept.collect::<Vec<_>>(), listing.left_out)
        };
        let all = ["a.csv", "a.txt", "b.txt", "d.txt", "d/x.csv", "e.md"];
        assert_eq!(listing(&[]).0, all);
        assert_eq!(listing(&["*.csv", "b*"]).0, all);
        let (kept, left_out) = listing(&["*.csv"]);
        assert_eq!(kept, ["a.csv", "a.txt", "d.txt", "d/x.csv", "e.md"]);
        assert_eq!(left_out, ["b.txt"]);
    }

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
