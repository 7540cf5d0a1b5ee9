//! Apache Hudi tables of versions 5, 6, 8 and 9, by their timelines: which file groups there are,
//! and the base file of each that is live. Files of changes of tables that merge on read are
//! counted, and not merged.
//!
//! What is completed shows in the names of the timeline's files, and what a base file is in its own
//! name. So of an unchanged table the properties are read, the newest commit for the schema, and
//! the actions that replaced file groups.

mod commit;
mod properties;
mod schema;
mod slices;
mod timeline;

use std::collections::{BTreeSet, HashSet};

use async_trait::async_trait;
use futures::stream::{self, StreamExt, TryStreamExt};
use limn_formats::{FileError, FileErrorKind, Format, Hasher, ObjectRecord, ObjectVersion};
use limn_profile::text::counted;
use limn_profile::{Constant, Logged, LoggedTable};
use limn_store::{Store, one_line, path_below};

use self::commit::Commit;
use self::properties::{PartitionField, Properties};
use self::schema::{CREATED, OldNames};
pub(super) use self::slices::is_log_file;
use self::slices::{Base, Slices, Unmerged, is_base, partition_of};
use self::timeline::{Completed, Layout, Timeline, is_instant};
use super::{HOODIE, Listed, Opened, Source};
use crate::layout::LogFile;
use crate::layout::is_read;
use crate::place::{join, split_path};

const PROPERTIES: &str = "hoodie.properties";
/// What stands in for them while they are written.
const BACKUP: &str = "hoodie.properties.backup";
const TIMELINE: &str = "timeline";
const SCHEMAS: &str = ".schema";
const SCHEMA_COMMIT: &str = ".schemacommit";

/// Bytes of the properties, and of the history of a schema.
const MOST_BYTES: u64 = 16 << 20;
/// Actions that replaced file groups, and are not archived yet.
const MOST_REPLACING: usize = 10_000;
const MOST_REPLACED: usize = 4_000_000;
/// Commits in which a schema is looked for, from the newest on.
const MOST_WITHOUT_SCHEMA: usize = 32;
const READ_AT_ONCE: usize = 8;

const REPAIR: &str = "repair the table with the engine that writes it";

/// Why a table cannot be read, whichever of its objects shows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Flaw {
    #[error("it has version {0} of Hudi's tables, and versions 5, 6, 8 and 9 are read")]
    Version(String),
    #[error("its properties say no version of Hudi's tables")]
    NoVersion,
    #[error("it is no history of a schema: {0}")]
    NoHistory(String),
    #[error("its schema has given the name {0} from one column to another")]
    NameGivenOn(String),
    #[error("its folder {folder} is none of a table that is partitioned by {fields} fields")]
    Folder { folder: String, fields: usize },
}

pub(super) struct Hudi;

/// Whether an object is what a Hudi table is known by.
pub(super) fn is_properties(path: &str) -> bool {
    let (folder, name) = split_path(path);
    split_path(folder).1 == HOODIE && matches!(name, PROPERTIES | BACKUP)
}

/// The folder of the Hudi table whose properties or timeline an object is a part of.
pub(super) fn table_of(path: &str) -> Option<&str> {
    let (folder, name) = split_path(path);
    let (above, last) = split_path(folder);
    let table = match last {
        HOODIE if is_properties(path) || is_instant(name) => above,
        TIMELINE | SCHEMAS if split_path(above).1 == HOODIE && is_instant(name) => {
            split_path(above).0
        }
        _ => return None,
    };
    // What Hudi keeps about a table is a table itself.
    let is_within = |part| part == HOODIE;
    (!table.split('/').any(is_within)).then_some(table)
}

#[async_trait]
impl Source for Hudi {
    fn log(&self, folder: &str, listed: &Listed<'_>) -> Result<ObjectRecord, FileError> {
        let log = join(folder, HOODIE);
        let below = listed.below(&log);
        let own = below.iter().filter(|it| table_of(&it.path) == Some(folder));
        // Any file of the timeline may say something else of those before, and files may be listed
        // later than it.
        let mut all = Hasher::new("timeline");
        own.for_each(|it| it.feed(&mut all));
        let objects = listed.paths_in(folder);
        let left_out = Listed::paths_below(listed.left_out, folder);
        let too_new = Listed::paths_below(listed.too_new, folder);
        let others = left_out.into_iter().chain(too_new);
        objects.chain(others).for_each(|path| all.text(path));
        let newest = [
            (&log, Layout::First),
            (&join(&log, TIMELINE), Layout::Second),
        ];
        let newest = newest.map(|(folder, layout)| {
            let below = listed.below(folder);
            let files = below.iter().filter(|it| split_path(&it.path).0 == folder);
            let (time, modified_ms) = Timeline::of(files, layout).newest()?;
            Some((time.to_owned(), modified_ms))
        });
        let newest = newest.into_iter().flatten().max();
        let (instant, modified_ms) = newest.unwrap_or_else(|| ("none".to_owned(), 0));
        Ok(ObjectRecord {
            path: log,
            etag: Some(all.finish().to_string()),
            version: Some(ObjectVersion::Named(format!("instant {instant}"))),
            size: 0,
            modified_ms,
        })
    }

    async fn open(
        &self,
        lake: &Store,
        (folder, object): (&str, ObjectRecord),
        listed: &Listed<'_>,
    ) -> Result<Opened, FileError> {
        let log = object.path.clone();
        let properties = properties(lake, &log, listed).await?;
        let layout = properties.layout().map_err(|flaw| {
            let remedy = "upgrade or downgrade the table, or limn once it reads that version";
            unsupported(&log, flaw.to_string(), remedy)
        })?;
        check(&properties, &log)?;
        let own = match layout {
            Layout::First => log.clone(),
            Layout::Second => join(&log, TIMELINE),
        };
        let below = listed.below(&own);
        let files = below.iter().filter(|it| split_path(&it.path).0 == own);
        let table = Table {
            lake,
            folder,
            log,
            listed,
            properties,
            layout,
            timeline: Timeline::of(files, layout),
        };
        table.open(object).await
    }
}

fn unsupported(object: &str, cause: impl Into<String>, remedy: &str) -> FileError {
    FileError::new(object, FileErrorKind::Unsupported, cause).with_remedy(remedy)
}

fn corrupt(object: &str, cause: impl Into<String>) -> FileError {
    FileError::new(object, FileErrorKind::Corrupt, cause).with_remedy(REPAIR)
}

async fn bytes(lake: &Store, object: &ObjectRecord) -> Result<Vec<u8>, FileError> {
    let path = &object.path;
    if object.size > MOST_BYTES {
        let cause = format!("it has {} bytes, more than {MOST_BYTES}", object.size);
        return Err(unsupported(path, cause, REPAIR));
    }
    let etag = object.etag.as_deref();
    let bytes = lake.get_range_of(path, etag, 0..object.size).await;
    let bytes = bytes.map_err(|error| FileError::from_store(path, &error))?;
    Ok(bytes.to_vec())
}

async fn properties(lake: &Store, log: &str, listed: &Listed<'_>) -> Result<Properties, FileError> {
    let object = [PROPERTIES, BACKUP].into_iter();
    let object = object.filter_map(|name| listed.get(&join(log, name)));
    // One of both is why the table is known.
    let mut written = object.filter(|object| object.size > 0);
    let object = written
        .next()
        .ok_or_else(|| corrupt(log, "its properties are empty"))?;
    let text = bytes(lake, &object).await?;
    Ok(Properties::parse(&String::from_utf8_lossy(&text)))
}

/// Refuses a table whose files are not read.
fn check(properties: &Properties, log: &str) -> Result<(), FileError> {
    let format = properties.get("hoodie.table.base.file.format");
    let is_read = |format: &str| {
        ["PARQUET", "ORC"]
            .iter()
            .any(|it| format.eq_ignore_ascii_case(it))
    };
    if let Some(format) = format.filter(|it| !is_read(it)) {
        let format = one_line(format);
        let cause = format!("its base files are {format}, and Parquet and ORC are read alone");
        return Err(unsupported(log, cause, "rewrite the table as Parquet"));
    }
    let folder = properties.get("hoodie.timeline.path");
    if let Some(folder) = folder.filter(|it| *it != TIMELINE) {
        let cause = format!("its timeline is in the folder {}", one_line(folder));
        let remedy = "move it to the folder timeline";
        return Err(unsupported(log, cause, remedy));
    }
    Ok(())
}

/// A table while its timeline is read.
struct Table<'a> {
    lake: &'a Store,
    folder: &'a str,
    /// The folder of the timeline.
    log: String,
    listed: &'a Listed<'a>,
    properties: Properties,
    layout: Layout,
    timeline: Timeline<'a>,
}

/// What the newest commit says.
struct Newest {
    /// The schema of the table, and what it comes from.
    schema: Option<(String, String)>,
    /// The base files that the commit wrote, by their paths in the lake.
    files: Vec<String>,
    /// Whether columns may have been renamed.
    may_rename: bool,
}

impl<'a> Table<'a> {
    async fn open(self, log: ObjectRecord) -> Result<Opened, FileError> {
        let paths = self.paths();
        // Of a folder that could not be listed nobody knows what is in it.
        if paths.is_none() {
            return Ok(Opened::HeldBack);
        }
        self.check_sizes()?;
        let newest = self.newest().await?;
        let Some((schema, object)) = &newest.schema else {
            return match self.timeline.completed().next() {
                // It was made, and nothing written yet.
                None => Ok(Opened::LeftOut),
                Some(_) => Err(schema::missing(&self.log)),
            };
        };
        let old_names = match newest.may_rename {
            true => self.old_names().await?,
            false => OldNames::default(),
        };
        let table = schema::table((schema, object), &old_names, &self.properties).await?;
        let replaced = self.replaced().await?;
        let mut slices = Slices::default();
        let written = newest.files.iter().map(String::as_str);
        for path in paths.into_iter().flatten().chain(written) {
            slices.take(path, self.folder, &self.timeline);
        }
        let (live, unmerged) = slices.live(&replaced, &self.timeline, self.layout);
        let fields = self.properties.partition();
        let named: Result<Vec<_>, FileError> =
            live.iter().map(|it| self.file(it, &fields)).collect();
        let log = as_file(log, table, unmerged);
        let table = self.listed.table(self.lake, (log, self.folder), named?);
        table.await
    }

    /// The paths of the table's files, whether filters leave them out or not: which are live does
    /// not depend on that. None where a folder of the table could not be listed.
    fn paths(&self) -> Option<Vec<&'a str>> {
        let objects = self.listed.paths_in(self.folder);
        let left_out = Listed::paths_below(self.listed.left_out, self.folder);
        let too_new = Listed::paths_below(self.listed.too_new, self.folder);
        if too_new.iter().any(|path| !is_read(path)) {
            return None;
        }
        let all: Vec<&str> = objects.chain(left_out).chain(too_new).collect();
        // Tables within the table.
        let inner = all.iter().filter(|path| is_properties(path));
        let inner: BTreeSet<&str> = inner
            .filter_map(|path| table_of(path))
            .filter(|table| *table != self.folder)
            .collect();
        let is_own = |path: &&str| {
            let mut folder = split_path(path).0;
            while !inner.is_empty() && folder.len() > self.folder.len() {
                if inner.contains(folder) {
                    return false;
                }
                folder = split_path(folder).0;
            }
            !path
                .strip_prefix(&self.log)
                .is_some_and(|it| it.starts_with('/'))
        };
        Some(all.into_iter().filter(is_own).collect())
    }

    /// Refuses a timeline of which a file has nothing: it was not written to its end.
    fn check_sizes(&self) -> Result<(), FileError> {
        let mut completed = self.timeline.completed();
        match completed.find(|(_, it)| it.object.size == 0) {
            Some((_, it)) => Err(corrupt(
                &it.object.path,
                "it is empty: its action was not written to its end",
            )),
            None => Ok(()),
        }
    }

    /// What the newest commits say.
    async fn newest(&self) -> Result<Newest, FileError> {
        let mut newest = Newest {
            schema: None,
            files: Vec::new(),
            may_rename: false,
        };
        let completed = self.timeline.completed().rev().take(MOST_WITHOUT_SCHEMA);
        for (place, (_, completed)) in completed.enumerate() {
            let object = completed.object;
            let commit = Commit::read(self.lake, object, self.layout).await?;
            if place == 0 {
                newest.files = self.written(&commit, object)?;
            }
            if let Some(schema) = commit.extra("schema") {
                newest.schema = Some((schema.to_owned(), object.path.clone()));
                newest.may_rename = commit.extra("latest_schema").is_some();
                break;
            }
        }
        if newest.schema.is_none() {
            let created = self.properties.get(CREATED);
            newest.schema = created.map(|it| (it.to_owned(), self.log.clone()));
        }
        Ok(newest)
    }

    /// The base files that a commit wrote: they may have come since the lake was listed.
    fn written(&self, commit: &Commit, object: &ObjectRecord) -> Result<Vec<String>, FileError> {
        let bases = commit.files.iter().filter(|path| is_base(path));
        let within = bases.map(|path| match path_below(&format!("/{path}"), "/") {
            Some(path) => Ok(join(self.folder, &path)),
            None => {
                let cause = format!("it names {}, which is outside of the table", one_line(path));
                Err(corrupt(&object.path, cause))
            }
        });
        within.collect()
    }

    /// The file groups that are live no more, by partition and file id.
    async fn replaced(&self) -> Result<HashSet<(String, String)>, FileError> {
        let completed = self.timeline.completed();
        let replacing = completed.filter(|(_, it)| it.replaces);
        let replacing: Vec<&Completed<'_>> = replacing.map(|(_, it)| it).collect();
        let too_many = |what: String| {
            let cause = format!("{what}, too many");
            unsupported(&self.log, cause, "archive the table's timeline")
        };
        if replacing.len() > MOST_REPLACING {
            let count = replacing.len();
            return Err(too_many(format!("its timeline has {count} replacements")));
        }
        let read = replacing.into_iter().map(|it| async move {
            let commit = Commit::read(self.lake, it.object, self.layout).await?;
            Ok::<_, FileError>(commit.replaced)
        });
        let read: Vec<_> = read.collect();
        let mut read = stream::iter(read).buffered(READ_AT_ONCE);
        let mut replaced = HashSet::new();
        while let Some(more) = read.try_next().await? {
            replaced.extend(more);
            if replaced.len() > MOST_REPLACED {
                let count = replaced.len();
                return Err(too_many(format!(
                    "its timeline replaces {count} file groups"
                )));
            }
        }
        Ok(replaced)
    }

    /// The names that columns had, by the newest history of the schema.
    async fn old_names(&self) -> Result<OldNames, FileError> {
        let schemas = join(&self.log, SCHEMAS);
        let files = self.listed.below(&schemas).into_iter();
        let histories = files.filter(|it| it.path.ends_with(SCHEMA_COMMIT) && it.size > 0);
        // None was written before a column was changed.
        let Some(newest) = histories.max_by(|a, b| a.path.cmp(&b.path)) else {
            return Ok(OldNames::default());
        };
        let history = bytes(self.lake, &newest).await?;
        OldNames::of(&history).map_err(|flaw| {
            let remedy = "rewrite the table under the names that it has now";
            unsupported(&newest.path, flaw.to_string(), remedy)
        })
    }

    /// What is said of a base file.
    fn file(
        &self,
        base: &Base<'_>,
        fields: &[PartitionField],
    ) -> Result<(String, Format, Logged), FileError> {
        // A skeleton: its rows are in a file of another table.
        if base.time == "00000000000001" {
            let cause = "it was made of other files, which it does not hold (bootstrap)";
            return Err(unsupported(&self.log, cause, "rewrite the table"));
        }
        let folder = partition_of(base.path, self.folder);
        let values = schema::values(folder, fields, &self.properties);
        let values = match values {
            Ok(values) => values,
            // Files have the columns themselves.
            Err(_) if !self.drops_columns() => Vec::new(),
            Err(flaw) => return Err(corrupt(base.path, flaw.to_string())),
        };
        let constants = values.into_iter().map(|(name, value)| Constant {
            id: None,
            name,
            value,
        });
        let logged = Logged {
            constants: constants.collect(),
            ..Logged::default()
        };
        Ok((base.path.to_owned(), base.format, logged))
    }

    fn drops_columns(&self) -> bool {
        self.properties
            .is_set("hoodie.datasource.write.drop.partition.columns")
    }
}

/// The log as a file of the table.
fn as_file(object: ObjectRecord, mut table: LoggedTable, unmerged: Unmerged) -> LogFile {
    if unmerged.files > 0 {
        let files = counted(unmerged.files, "file");
        let mut note = format!(
            "{files} of changes (.log) are not merged: rows are as its base files have them"
        );
        if unmerged.groups > 0 {
            let groups = counted(unmerged.groups, "file group");
            note.push_str(&format!(", and of {groups} there is no base file yet"));
        }
        table.notes.push(note);
    }
    let said = Logged {
        table: Some(table),
        ..Logged::default()
    };
    LogFile::new(object, Format::Hudi, said)
}

#[cfg(test)]
mod tests;
