//! Tables that have a log, which says what their rows are: Delta Lake, Apache Iceberg, Apache Hudi.
//!
//! A [`Source`] knows such a table by what lies in its folder, and opens it: its version, its
//! columns, and the files that are live in it, each with what the log says of it
//! ([`limn_profile::Logged`]). What else lies in the folder is none of the table's. Everything
//! after that is as with any table: files are summarised, once a version; summaries are merged;
//! rows are scanned. In a catalog nothing is listed but each table's metadata file of now: its
//! files are what its manifests say.

#[cfg(feature = "delta")]
mod delta;
mod hudi;
mod iceberg;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use async_trait::async_trait;
use futures::stream::{self, StreamExt};
use limn_formats::{FileError, FileErrorKind, ObjectRecord, ObjectVersion, Objects, member};
use limn_profile::text::counted;
use limn_profile::{NestedNames, SharedNames};
use limn_store::{Store, one_line};

use crate::layout::{LogFile, LogTable, NamedFiles};
use crate::place::{join, split_path};

/// What logs of tables are called: folders.
pub const LOGS: [&str; 3] = [DELTA_LOG, METADATA, HOODIE];
/// The folder of a Delta table's log.
const DELTA_LOG: &str = "_delta_log";
/// The folder of an Iceberg table's metadata.
const METADATA: &str = "metadata";
/// The folder of a Hudi table's properties and timeline.
const HOODIE: &str = ".hoodie";

/// Names of fields within columns that are said of a table's files, at most.
const MOST_NESTED: usize = 512;

/// Names of fields within columns, if they are not too many to be looked up in each file; a note
/// where they are.
fn bounded(nested: NestedNames, notes: &mut Vec<String>) -> Option<SharedNames> {
    if nested.fields.len() <= MOST_NESTED {
        return SharedNames::of(nested);
    }
    notes.push(format!(
        "more than {MOST_NESTED} fields within columns have other names in files, or may have: they keep those"
    ));
    None
}

/// A kind of table that has a log.
#[async_trait]
trait Source: Send + Sync {
    /// The log of the table in a folder, as an object with a version: a table whose log is as it
    /// was has the files that it had. It follows from the listing alone.
    ///
    /// # Errors
    /// Nothing of the log has a version.
    fn log(&self, folder: &str, listed: &Listed<'_>) -> Result<ObjectRecord, FileError>;

    /// Reads the log of the table in a folder of what was listed.
    ///
    /// # Errors
    /// What is wrong with the log, or the store: the table stays as it is in the index.
    async fn open(
        &self,
        lake: &Store,
        (folder, log): (&str, ObjectRecord),
        listed: &Listed<'_>,
    ) -> Result<Opened, FileError>;
}

/// What was listed of a lake.
#[derive(Clone, Copy)]
pub struct Listed<'a> {
    /// The objects, by path.
    pub objects: &'a Objects,
    /// Paths that filters leave out.
    pub left_out: &'a BTreeSet<&'a str>,
    /// Paths that are to be read later, since they are too new.
    pub too_new: &'a BTreeSet<&'a str>,
    /// Whether an object is listed elsewhere, by another process.
    pub is_elsewhere: &'a (dyn Fn(&str) -> bool + Send + Sync),
    /// Whether filters leave an object in, by its path, size and time.
    pub is_chosen: &'a (dyn Fn(&str, u64, i64) -> bool + Send + Sync),
}

/// What becomes of a table that has a log.
#[derive(Debug)]
pub enum Opened {
    /// It is this one.
    Table(LogTable),
    /// Nothing: filters leave out all its files, or none has been written yet.
    LeftOut,
    /// It stays as it is in the index, for now: some of its files are too new.
    HeldBack,
    /// There is none yet: nothing is committed. Files that lie there already are no table's.
    Uncommitted(FileError),
}

/// Files that were not listed are asked for up to so many.
const MOST_ASKED: usize = 1_000;
const ASKED_AT_ONCE: usize = 16;

impl<'a> Listed<'a> {
    /// The objects in a folder, at whatever depth.
    fn below(&self, folder: &str) -> Vec<ObjectRecord> {
        self.objects.records(self.objects.below(folder))
    }

    /// The paths of the objects in a folder, at whatever depth.
    fn paths_in(&self, folder: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let objects = self.objects;
        let below = objects.below(folder);
        below.map(move |at| objects.path(at))
    }

    /// The paths in a folder, at whatever depth, of a set.
    fn paths_below(paths: &BTreeSet<&'a str>, folder: &str) -> Vec<&'a str> {
        let from = match folder {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        let paths = paths.range::<str, _>((Bound::Included(from.as_str()), Bound::Unbounded));
        let below = paths.take_while(|path| path.starts_with(&from));
        below.copied().collect()
    }

    fn get(&self, path: &str) -> Option<ObjectRecord> {
        let object = self.objects.get(self.objects.find(path)?)?;
        Some(object.record())
    }

    /// The table of files that a log names: with the objects that they are. One that was not listed
    /// may have come since, or have a name that is not listed.
    async fn table(
        &self,
        lake: &Store,
        (mut log, folder): (LogFile, &str),
        named: NamedFiles,
    ) -> Result<Opened, FileError> {
        let mut files = Vec::new();
        let mut unlisted = Vec::new();
        let (mut is_any_left_out, is_any) = (false, !named.is_empty());
        for (path, format, logged) in named {
            match self.get(&path) {
                Some(object) => files.push(LogFile::new(object, format, logged)),
                None if self.too_new.contains(path.as_str()) => return Ok(Opened::HeldBack),
                None if self.left_out.contains(path.as_str()) => is_any_left_out = true,
                None => unlisted.push((path, format, logged)),
            }
        }
        let missing = |count: usize, first: &str| {
            let are = if count == 1 { "is" } else { "are" };
            let count = counted(count as u64, "file");
            let first = one_line(first);
            let cause = format!("it names {count} that {are} not there, such as {first}");
            FileError::new(&log.object.path, FileErrorKind::Missing, cause)
                .with_remedy("restore them, or repair the table")
        };
        let is_missing = |path: &&str| !(self.is_elsewhere)(path);
        let mut not_there = unlisted.iter().map(|it| it.0.as_str()).filter(is_missing);
        if let Some(first) = not_there.nth(MOST_ASKED) {
            return Err(missing(MOST_ASKED + 1 + not_there.count(), first));
        }
        let asked = unlisted
            .into_iter()
            .map(|(path, format, logged)| async move {
                let object = lake.head(&path).await;
                (path, format, logged, object)
            });
        let asked: Vec<_> = asked.collect();
        let asked: Vec<_> = stream::iter(asked).buffered(ASKED_AT_ONCE).collect().await;
        let mut removed = Vec::new();
        for (path, format, logged, object) in asked {
            match object {
                Ok(it) if !(self.is_chosen)(&it.path, it.size, it.modified_ms) => {
                    is_any_left_out = true;
                }
                Ok(object) => files.push(LogFile::new(object.into(), format, logged)),
                Err(error) if error.is_not_found() => removed.push(path),
                Err(error) => return Err(FileError::from_store(path, &error)),
            }
        }
        if let Some(first) = removed.first() {
            return Err(missing(removed.len(), first));
        }
        if is_any && is_any_left_out && files.is_empty() {
            return Ok(Opened::LeftOut);
        }
        if is_any_left_out {
            // Once filters leave out other files, the log is to be read again.
            let version = log.object.version.map(String::from).unwrap_or_default();
            let version = ObjectVersion::Named(format!("{version}, in part"));
            log.object.version = Some(version);
        }
        files.insert(0, log);
        Ok(Opened::Table(LogTable {
            folder: folder.to_owned(),
            files,
        }))
    }
}

/// A folder that holds a table with a log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The folder, `""` for the lake's root.
    pub folder: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
/// A table that is written as several is read as the first of these.
enum Kind {
    Delta,
    Iceberg,
    Hudi,
    /// A Delta table's log that has no commit.
    Uncommitted,
}

/// Whether an object is a part of a table's log, as its path says: it is listed, though its name is
/// hidden.
pub fn is_of_log(path: &str) -> bool {
    log_folder(path).is_some()
}

/// The folder that an object goes with if it is a part of a table's log: what leaves out that
/// folder leaves out the object.
pub fn log_folder(path: &str) -> Option<&str> {
    let changes = || hudi::is_log_file(path).then(|| split_path(path).0);
    log_of(path).or_else(changes)
}

/// The folder of the table whose log an object may be a part of.
pub(crate) fn log_of(path: &str) -> Option<&str> {
    let (folder, name) = split_path(path);
    if is_of_metadata(path) {
        return Some(split_path(folder).0);
    }
    if let Some(table) = hudi::table_of(path) {
        return Some(table);
    }
    let mut above = folder;
    // Checkpoints may have parts in a folder of their own.
    for _ in 0..2 {
        let (table, last) = split_path(above);
        if last == DELTA_LOG {
            return (!name.is_empty()).then_some(table);
        }
        above = table;
    }
    None
}

/// The folders of a listing that hold tables with logs.
pub fn logged(objects: &Objects) -> Vec<Found> {
    let mut folders: BTreeMap<&str, Kind> = BTreeMap::new();
    // What is in an archive has no log of its own.
    let paths = objects.iter().map(|it| it.path);
    for path in paths.filter(|path| member::split(path).is_none()) {
        let Some(folder) = log_of(path) else {
            continue;
        };
        let kind = if is_commit(path) {
            Kind::Delta
        } else if is_metadata(path) {
            Kind::Iceberg
        } else if hudi::is_properties(path) {
            Kind::Hudi
        } else if path.split('/').any(|part| part == DELTA_LOG) {
            Kind::Uncommitted
        } else {
            continue;
        };
        let known = folders.entry(folder).or_insert(kind);
        *known = kind.min(*known);
    }
    let found = folders.into_iter().map(|(folder, kind)| Found {
        folder: folder.to_owned(),
        kind,
    });
    found.collect()
}

/// Whether this is a commit of a Delta table: `_delta_log/00000000000000000000.json`.
fn is_commit(path: &str) -> bool {
    let (folder, name) = split_path(path);
    let number = name.strip_suffix(".json");
    let is_number = |it: &str| it.len() == 20 && it.bytes().all(|digit| digit.is_ascii_digit());
    split_path(folder).1 == DELTA_LOG && number.is_some_and(is_number)
}

/// Whether this is a metadata file of an Iceberg table: `metadata/v1.metadata.json`, or a number
/// and a UUID, as in `metadata/00001-5a1c….metadata.json`.
fn is_metadata(path: &str) -> bool {
    let (folder, name) = split_path(path);
    let mut ends = [".gz.metadata.json", ".metadata.json.gz", ".metadata.json"].into_iter();
    let stem = ends.find_map(|end| name.strip_suffix(end));
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
    let is_uuid = |it: &str| {
        let is_digit = |byte: u8| byte == b'-' || byte.is_ascii_hexdigit();
        it.len() == 36 && it.bytes().all(is_digit)
    };
    let is_stem = |stem: &str| match (stem.strip_prefix('v'), stem.split_once('-')) {
        (Some(number), _) => is_number(number),
        (None, Some((number, uuid))) => is_number(number) && is_uuid(uuid),
        (None, None) => false,
    };
    split_path(folder).1 == METADATA && stem.is_some_and(is_stem)
}

/// Whether this is one, or a manifest, or what says which of them is the newest.
fn is_of_metadata(path: &str) -> bool {
    let (folder, name) = split_path(path);
    let is_manifest =
        || name.ends_with(".avro") && (name.starts_with("snap-") || name.contains("-m"));
    split_path(folder).1 == METADATA
        && (is_metadata(path) || is_manifest() || name == "version-hint.text")
}

impl Kind {
    /// What reads it; none that this limn was built without.
    fn source(self) -> Option<&'static dyn Source> {
        match self {
            Kind::Iceberg => Some(&iceberg::Iceberg),
            Kind::Hudi => Some(&hudi::Hudi),
            #[cfg(feature = "delta")]
            Kind::Delta => Some(&delta::Delta),
            #[cfg(not(feature = "delta"))]
            Kind::Delta => None,
            Kind::Uncommitted => None,
        }
    }
}

/// Opens the table of a folder. Of a log that is as it was when the index last saw the table
/// (`known`), nothing is read.
///
/// Must be called on a tokio runtime.
///
/// # Errors
/// A [`FileError`] that names the log: it is damaged, needs what is not supported, names files that
/// are not there or outside of the lake; the store's.
pub async fn open(
    lake: &Store,
    found: &Found,
    listed: &Listed<'_>,
    known: Option<LogTable>,
) -> Result<Opened, FileError> {
    let folder = found.folder.as_str();
    if found.kind == Kind::Uncommitted {
        let cause = "it has no commit, so its folder holds no table yet";
        let log = join(folder, DELTA_LOG);
        let error = FileError::new(log, FileErrorKind::Missing, cause);
        let remedy = "finish the write that broke off, or remove the folder";
        return Ok(Opened::Uncommitted(error.with_remedy(remedy)));
    }
    let Some(source) = found.kind.source() else {
        let log = join(folder, DELTA_LOG);
        let cause = "this limn was built without Delta Lake";
        return Err(FileError::new(log, FileErrorKind::Unsupported, cause)
            .with_remedy("build it with the feature delta"));
    };
    let log = source.log(folder, listed)?;
    let known = known.filter(|known| known.has_log(&log));
    match known {
        // Nothing else is listed of it.
        Some(known) if lake.is_catalog() => Ok(Opened::Table(known)),
        known => match known.and_then(LogTable::parts) {
            Some((log, files)) => listed.table(lake, (log, folder), files).await,
            None => source.open(lake, (folder, log), listed).await,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(path: &str) -> ObjectRecord {
        ObjectRecord::unversioned(path, 1)
    }

    #[test]
    fn tables_are_known_by_their_commits() {
        let commit = |folder: &str, number: u64| {
            let log = format!("_delta_log/{number:020}.json");
            object(&join(folder, &log))
        };
        let objects = [
            commit("", 0),
            commit("a/b", 0),
            commit("a/b", 1),
            object("c/_delta_log/_last_checkpoint"),
            object("d/_delta_log/0.json"),
            object("e/x.json"),
            object("f/.hoodie/hoodie.properties"),
            object("f/.hoodie/metadata/.hoodie/hoodie.properties"),
            // Written as both.
            object("a/b/.hoodie/hoodie.properties"),
            object("h/_delta_log/_commit_8f1.json.tmp"),
            object("g/_delta_log/00000000000000000000.json.tmp"),
            object("g/metadata/v1.metadata.json"),
        ];
        let found = logged(&objects.into_iter().collect());
        let kinds: Vec<(&str, Kind)> = found
            .iter()
            .map(|it| (it.folder.as_str(), it.kind))
            .collect();
        let expected = [
            ("", Kind::Delta),
            ("a/b", Kind::Delta),
            ("c", Kind::Uncommitted),
            ("d", Kind::Uncommitted),
            ("f", Kind::Hudi),
            ("g", Kind::Iceberg),
            ("h", Kind::Uncommitted),
        ];
        assert_eq!(kinds, expected);
        for path in [
            "a/_delta_log/00000000000000000001.json",
            "a/_delta_log/_last_checkpoint",
            "a/_delta_log/_sidecars/x.parquet",
        ] {
            assert_eq!(log_of(path), Some("a"), "{path}");
        }
        for path in [
            "a/.hoodie/hoodie.properties",
            "a/.hoodie/hoodie.properties.backup",
            "a/.hoodie/20240101000000000.commit",
            "a/.hoodie/20240101000000000.inflight",
            "a/.hoodie/timeline/20240101000000000_20240101000001000.replacecommit",
            "a/.hoodie/.schema/20240101000000000.schemacommit",
        ] {
            assert_eq!(log_of(path), Some("a"), "{path}");
        }
        for path in [
            "a/.hoodie/metadata/.hoodie/hoodie.properties",
            "a/.hoodie/archived/.commits_.archive.1_1-0-1",
            "a/.hoodie/timeline/history/1_2_0.parquet",
            "a/.hoodie/.temp/20240101000000000/x.marker",
            "a/timeline/20240101000000000.commit",
        ] {
            assert_eq!(log_of(path), None, "{path}");
        }
        let changes = "a/p=1/.5ad1-0_20240101000000000.log.1_0-1-0";
        assert_eq!(
            (log_of(changes), log_folder(changes)),
            (None, Some("a/p=1"))
        );
        assert_eq!(log_of("_delta_log/x"), Some(""));
        assert_eq!(log_of("a/_delta_logs/x"), None);
        assert_eq!(log_of("a/b/x.parquet"), None);
    }
}
