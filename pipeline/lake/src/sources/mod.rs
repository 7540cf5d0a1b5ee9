//! Tables that have a log, which says what their rows are: Delta Lake, Apache Iceberg.
//!
//! A [`Source`] knows such a table by what lies in its folder, and opens it: its version, its columns, and the files that are
//! live in it, each with what the log says of it ([`limn_profile::Logged`]). What else lies in the folder is none of the table's.
//! Everything after that is as with any table: files are summarised, once a version; summaries are merged; rows are scanned.

#[cfg(feature = "delta")]
mod delta;
mod iceberg;

use std::collections::BTreeMap;

use async_trait::async_trait;
use limn_formats::{FileError, ObjectRecord};
use limn_store::Store;

use crate::layout::LogTable;
use crate::place::split_path;

/// The folder of a Delta table's log.
const DELTA_LOG: &str = "_delta_log";
/// The folder of an Iceberg table's metadata.
const METADATA: &str = "metadata";

/// A kind of table that has a log.
#[async_trait]
trait Source: Send + Sync {
    /// Opens the table in a folder. `objects` are those of the lake, by path.
    ///
    /// # Errors
    /// What is wrong with the log, or the store: the table stays as it is in the index.
    async fn open(
        &self,
        lake: &Store,
        folder: &str,
        objects: &[ObjectRecord],
    ) -> Result<LogTable, FileError>;
}

/// A folder that holds a table with a log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Logged {
    /// The folder, `""` for the lake's root.
    pub folder: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Delta,
    Iceberg,
}

/// Whether an object is a part of a table's log, as its path says: it is listed, though its name is hidden.
pub fn is_of_log(path: &str) -> bool {
    log_of(path).is_some()
}

/// The folder of the table whose log an object may be a part of.
pub(crate) fn log_of(path: &str) -> Option<&str> {
    let (folder, name) = split_path(path);
    if is_of_metadata(path) {
        return Some(split_path(folder).0);
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
pub fn logged(objects: &[ObjectRecord]) -> Vec<Logged> {
    let mut folders: BTreeMap<&str, Kind> = BTreeMap::new();
    for object in objects {
        let Some(folder) = log_of(&object.path) else {
            continue;
        };
        if is_commit(&object.path) {
            folders.insert(folder, Kind::Delta);
        } else if is_metadata(&object.path) {
            // A table that is both (UniForm) is written as a Delta table.
            folders.entry(folder).or_insert(Kind::Iceberg);
        }
    }
    let found = folders.into_iter().map(|(folder, kind)| Logged {
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

/// Whether this is a metadata file of an Iceberg table: `metadata/00001-5a1c….metadata.json`, `metadata/v1.metadata.json`.
fn is_metadata(path: &str) -> bool {
    let (folder, name) = split_path(path);
    let is_json = [".metadata.json", ".metadata.json.gz"]
        .iter()
        .any(|end| name.ends_with(end));
    let digits = name.strip_prefix('v').unwrap_or(name);
    split_path(folder).1 == METADATA && is_json && digits.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether this is one, or a manifest, or what says which of them is the newest.
fn is_of_metadata(path: &str) -> bool {
    let (folder, name) = split_path(path);
    let is_manifest =
        || name.ends_with(".avro") && (name.starts_with("snap-") || name.contains("-m"));
    split_path(folder).1 == METADATA
        && (is_metadata(path) || is_manifest() || name == "version-hint.text")
}

/// The path below `root` of what a log names by a URL or a path; none of what lies elsewhere.
fn below(named: &str, root: &str) -> Option<String> {
    let (named, root) = (bare(named), bare(root));
    let below = named.strip_prefix(root.trim_end_matches('/'))?;
    let below = below.strip_prefix('/')?;
    // Nobody climbs out of it.
    let is_within = !below.split('/').any(|part| matches!(part, "" | "." | ".."));
    is_within.then(|| below.to_owned())
}

/// A location in one of the ways in which engines write it: `s3a://b/k` is `s3://b/k`, `file:///d` is `/d`.
fn bare(location: &str) -> String {
    for scheme in ["s3a://", "s3n://"] {
        if let Some(rest) = location.strip_prefix(scheme) {
            return format!("s3://{rest}");
        }
    }
    match location.strip_prefix("file:") {
        Some(path) => format!("/{}", path.trim_start_matches('/')),
        None => location.to_owned(),
    }
}

/// Opens the table of a folder. `objects` are those of the lake, by path.
///
/// Must be called on a tokio runtime.
///
/// # Errors
/// A [`FileError`] that names the log: it is damaged, needs what is not supported, names files that are not there or outside of
/// the lake; the store's.
pub async fn open(
    lake: &Store,
    logged: &Logged,
    objects: &[ObjectRecord],
) -> Result<LogTable, FileError> {
    match logged.kind {
        Kind::Iceberg => iceberg::Iceberg.open(lake, &logged.folder, objects).await,
        #[cfg(feature = "delta")]
        Kind::Delta => delta::Delta.open(lake, &logged.folder, objects).await,
        #[cfg(not(feature = "delta"))]
        Kind::Delta => {
            use limn_formats::FileErrorKind;
            let log = crate::place::join(&logged.folder, DELTA_LOG);
            let cause = "this limn was built without Delta Lake";
            Err(FileError::new(log, FileErrorKind::Unsupported, cause)
                .with_remedy("build it with the feature delta"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::join;

    fn object(path: &str) -> ObjectRecord {
        ObjectRecord::unversioned(path, 1)
    }

    #[test]
    fn nothing_outside_of_a_root_is_below_it() {
        for (named, root, expected) in [
            (
                "s3a://b/t/data/x.parquet",
                "s3://b/t",
                Some("data/x.parquet"),
            ),
            ("file:///d/t/x", "/d/t/", Some("x")),
            ("file:/d/t/x", "file:///d/t", Some("x")),
            ("/d/t/x", "/d/t", Some("x")),
            ("/d/tx/x", "/d/t", None),
            ("/d/t/../x", "/d/t", None),
            ("/d/t//x", "/d/t", None),
            ("s3://c/t/x", "s3://b/t", None),
            ("/d/t", "/d/t", None),
        ] {
            assert_eq!(below(named, root).as_deref(), expected, "{named} {root}");
        }
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
        ];
        let folders: Vec<String> = logged(&objects).into_iter().map(|it| it.folder).collect();
        assert_eq!(folders, ["", "a/b"]);
        for path in [
            "a/_delta_log/00000000000000000001.json",
            "a/_delta_log/_last_checkpoint",
            "a/_delta_log/_sidecars/x.parquet",
        ] {
            assert_eq!(log_of(path), Some("a"), "{path}");
        }
        assert_eq!(log_of("_delta_log/x"), Some(""));
        assert_eq!(log_of("a/_delta_logs/x"), None);
        assert_eq!(log_of("a/b/x.parquet"), None);
    }
}
