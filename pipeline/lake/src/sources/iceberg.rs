//! Apache Iceberg tables of versions 1 to 3, by the metadata in their folders: the newest metadata
//! file, its current snapshot, the manifests of that, and the files that are live in them.

mod manifests;
mod metadata;

use std::collections::HashSet;
use std::io::Read;

use async_trait::async_trait;
use futures::stream::{self, StreamExt, TryStreamExt};
use limn_formats::{FileError, FileErrorKind, Format, ObjectRecord, ObjectVersion, all_rows};
use limn_profile::{Constant, Logged, LoggedTable};
use limn_store::{Store, one_line, path_below, plain_location};

use self::manifests::{Entry, Files, Manifest, manifests};
use self::metadata::Metadata;
use super::{Listed, METADATA, Opened, Source, bounded, is_metadata};
use crate::layout::{LogFile, LogTable};
use crate::place::{join, split_path};

/// Bytes of a metadata file, and of a manifest or a list of them.
const MOST_BYTES: u64 = 64 << 20;
const MOST_MANIFESTS: usize = 100_000;
const MOST_COLUMNS: usize = 16_384;
/// Times that a file deletes rows of another.
const MOST_DELETES: usize = 1_000_000;
/// Manifests that are read at once.
const READ_AT_ONCE: usize = 8;
/// The newest version of the format that is read.
const NEWEST: u32 = 3;

const HINT: &str = "version-hint.text";
const REPAIR: &str = "repair the table with the engine that writes it";

pub(super) struct Iceberg;

#[async_trait]
impl Source for Iceberg {
    fn log(&self, folder: &str, listed: &Listed<'_>) -> Result<ObjectRecord, FileError> {
        let newest = newest(folder, listed)?;
        Ok(ObjectRecord {
            path: join(folder, METADATA),
            version: Some(ObjectVersion::Named(split_path(&newest.path).1.to_owned())),
            ..newest
        })
    }

    async fn open(
        &self,
        lake: &Store,
        (folder, log): (&str, ObjectRecord),
        listed: &Listed<'_>,
    ) -> Result<Opened, FileError> {
        let newest = newest(folder, listed)?;
        let table = Table {
            lake,
            folder,
            metadata: read_metadata(lake, &newest).await?,
            object: &newest,
            listed,
        };
        let how = known_by(lake, &newest, listed).await?;
        table.open(log, how).await
    }
}

fn wrong(object: &str, kind: FileErrorKind, cause: impl Into<String>, remedy: &str) -> FileError {
    FileError::new(object, kind, cause).with_remedy(remedy)
}

fn corrupt(object: &str, cause: impl Into<String>) -> FileError {
    wrong(object, FileErrorKind::Corrupt, cause, REPAIR)
}

/// The number of a metadata file: `v12.metadata.json`, `00012-uuid.metadata.json`.
fn number(path: &str) -> Option<u64> {
    let name = split_path(path).1;
    let name = name.strip_prefix('v').unwrap_or(name);
    let digits = name.find(|c: char| !c.is_ascii_digit())?;
    name[..digits].parse().ok()
}

/// The newest metadata file: the one with the highest number.
fn newest(folder: &str, listed: &Listed<'_>) -> Result<ObjectRecord, FileError> {
    let log = join(folder, METADATA);
    let files = listed.below(&log).into_iter();
    let files = files.filter(|it| split_path(&it.path).0 == log && is_metadata(&it.path));
    let numbered = files.filter_map(|it| Some((number(&it.path)?, it)));
    let key = |it: &(u64, ObjectRecord)| (it.0, it.1.modified_ms, it.1.path.clone());
    let newest = numbered.max_by_key(key);
    newest.map(|it| it.1).ok_or_else(|| {
        let cause = "no metadata file of the table has a number";
        corrupt(&log, cause)
    })
}

/// How it is known to be the newest.
async fn known_by(
    lake: &Store,
    newest: &ObjectRecord,
    listed: &Listed<'_>,
) -> Result<&'static str, FileError> {
    if lake.is_catalog() {
        return Ok("the one that its catalog names");
    }
    let hint = listed.get(&join(split_path(&newest.path).0, HINT));
    let hinted = match hint {
        Some(hint) => {
            let text = lake.get_range(&hint.path, 0..hint.size.min(64)).await;
            let text = text.map_err(|error| FileError::from_store(&hint.path, &error))?;
            String::from_utf8_lossy(&text).trim().parse::<u64>().ok()
        }
        None => None,
    };
    // The writer of a newer one may not have updated the hint yet.
    Ok(match hinted == number(&newest.path) {
        true => "as its version hint says",
        false => "the one with the highest number, which no version hint confirms",
    })
}

async fn read_metadata(lake: &Store, object: &ObjectRecord) -> Result<Metadata, FileError> {
    let path = &object.path;
    let not_too_long = |size: u64| match size > MOST_BYTES {
        true => Err(wrong(
            path,
            FileErrorKind::Unsupported,
            format!("it has {size} bytes or more, and {MOST_BYTES} are read"),
            "expire old snapshots of the table",
        )),
        false => Ok(()),
    };
    not_too_long(object.size)?;
    // A catalog does not say how long it is.
    let size = match lake.is_catalog() {
        true => MOST_BYTES + 1,
        false => object.size,
    };
    let bytes = lake
        .get_range_of(path, object.etag.as_deref(), 0..size)
        .await;
    let mut bytes = bytes
        .map_err(|error| FileError::from_store(path, &error))?
        .to_vec();
    not_too_long(bytes.len() as u64)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut text = Vec::new();
        let unpacked = flate2::read::GzDecoder::new(&bytes[..]).take(MOST_BYTES);
        let read = std::io::BufReader::new(unpacked).read_to_end(&mut text);
        read.map_err(|_| corrupt(path, "it cannot be unpacked"))?;
        bytes = text;
    }
    let metadata: Metadata = serde_json::from_slice(&bytes).map_err(|error| {
        let error = one_line(&error.to_string());
        corrupt(
            path,
            format!("it is no metadata of an Iceberg table: {error}"),
        )
    })?;
    if metadata.format_version > NEWEST {
        let cause = format!(
            "it has version {} of Iceberg's format",
            metadata.format_version
        );
        let remedy = "limn update once this limn reads that version";
        return Err(wrong(path, FileErrorKind::Unsupported, cause, remedy));
    }
    Ok(metadata)
}

/// A data file as its manifest has it: it is never changed (specification, "File System
/// Operations"), so its version is where it lies.
fn as_stated(path: String, file: &Entry) -> ObjectRecord {
    let location = plain_location(&file.path);
    let location = match location.starts_with('/') {
        true => format!("file://{location}"),
        false => location,
    };
    ObjectRecord {
        version: Some(ObjectVersion::Place(location)),
        ..ObjectRecord::unversioned(&path, file.size)
    }
}

/// A table while its manifests are read.
struct Table<'a> {
    lake: &'a Store,
    folder: &'a str,
    metadata: Metadata,
    object: &'a ObjectRecord,
    listed: &'a Listed<'a>,
}

impl Table<'_> {
    async fn open(self, log: ObjectRecord, how: &str) -> Result<Opened, FileError> {
        let path = &self.object.path;
        let columns = self.metadata.columns();
        let columns = columns.map_err(|flaw| corrupt(path, flaw.to_string()))?;
        if columns.len() > MOST_COLUMNS {
            let cause = format!("it has {} columns, more than {MOST_COLUMNS}", columns.len());
            let remedy = "split the table";
            return Err(wrong(path, FileErrorKind::Unsupported, cause, remedy));
        }
        let none = Files::new(&columns);
        let nested = self.metadata.nested();
        let nested = nested.map_err(|flaw| corrupt(path, flaw.to_string()))?;
        let mut notes = vec![format!("its metadata file is {how}")];
        let nested = bounded(nested, &mut notes);
        let comment = self.metadata.properties.get("comment");
        let table = LoggedTable {
            columns,
            description: comment.map(|it| one_line(it)),
            key: self.metadata.key(),
            notes,
            nested: nested.clone(),
        };
        let said = Logged {
            table: Some(table),
            ..Logged::default()
        };
        let modified_ms = match self.lake.is_catalog() {
            true => self.metadata.last_updated_ms,
            false => log.modified_ms,
        };
        let log = ObjectRecord { modified_ms, ..log };
        let log = LogFile::new(log, Format::Iceberg, said);
        let files = self.files(none).await?;
        let (mut named, mut stated, mut deletes) = (Vec::new(), Vec::new(), 0);
        for file in &files.data {
            let logged = Logged {
                nested: nested.clone(),
                ..self.file(file, &files)?
            };
            deletes += logged.deletes.len();
            if deletes > MOST_DELETES {
                let cause = "too many files delete rows of too many others";
                let remedy = "compact the table";
                return Err(wrong(path, FileErrorKind::Unsupported, cause, remedy));
            }
            let (path, format) = (self.within(&file.path)?, self.format(file)?);
            match self.lake.is_catalog() {
                true => stated.push(LogFile::new(as_stated(path, file), format, logged)),
                false => named.push((path, format, logged)),
            }
        }
        if self.lake.is_catalog() {
            stated.insert(0, log);
            return Ok(Opened::Table(LogTable {
                folder: self.folder.to_owned(),
                files: stated,
            }));
        }
        self.listed
            .table(self.lake, (log, self.folder), named)
            .await
    }

    /// The path in the lake of what the metadata names: below the table's location, wherever the
    /// table is now, or in the lake.
    fn within(&self, named: &str) -> Result<String, FileError> {
        let own = path_below(named, &self.metadata.location);
        let own = own.map(|path| join(self.folder, &path));
        let found = own.or_else(|| path_below(named, self.lake.url()));
        found.ok_or_else(|| {
            let named = one_line(named);
            let (of, remedy) = match self.lake.is_catalog() {
                true => {
                    let location = one_line(&self.metadata.location);
                    let of = format!("the table's location {location}");
                    (of, "rewrite the table's files into its location")
                }
                false => {
                    let remedy = "index the lake that holds all of the table";
                    ("the lake".to_owned(), remedy)
                }
            };
            let cause = format!("it names {named}, which is outside of {of}");
            wrong(&self.object.path, FileErrorKind::Unsupported, cause, remedy)
        })
    }

    /// The path in the lake of what deletes rows. A file of rows is read as its name says.
    fn file_of_deletes(&self, file: &Entry) -> Result<String, FileError> {
        let path = self.within(&file.path)?;
        if file.format == "PUFFIN" {
            return Ok(path);
        }
        let format = self.format(file)?;
        let named = Format::of_path(&path).filter(|it| *it != Format::Unnamed);
        if named.unwrap_or(Format::Parquet) != format {
            let named = one_line(&file.path);
            let cause = format!("it names {named}, which is {format} and not called so");
            let remedy = "compact the table";
            let object = &self.object.path;
            return Err(wrong(object, FileErrorKind::Unsupported, cause, remedy));
        }
        Ok(path)
    }

    /// The rows of a manifest, or of a list of them.
    async fn rows(
        &self,
        named: &str,
        size: Option<u64>,
    ) -> Result<Vec<arrow::array::RecordBatch>, FileError> {
        let path = self.within(named)?;
        let size = size.filter(|_| self.lake.is_catalog());
        let object = match (self.listed.get(&path), size) {
            (Some(object), _) => object.clone(),
            (None, Some(size)) => ObjectRecord::unversioned(&path, size),
            // It may have come since.
            (None, None) => match self.lake.head(&path).await {
                Ok(object) => object.into(),
                Err(error) => return Err(FileError::from_store(path, &error)),
            },
        };
        all_rows(self.lake, object, Format::Avro, MOST_BYTES).await
    }

    fn broken(&self, named: &str) -> FileError {
        let cause = format!("it names {}, which is no manifest", one_line(named));
        corrupt(&self.object.path, cause)
    }

    async fn entries(&self, manifest: Manifest) -> Result<Vec<Entry>, FileError> {
        let rows = self.rows(&manifest.path, manifest.size).await?;
        let entries = manifest.entries(&rows);
        entries.ok_or_else(|| self.broken(&manifest.path))
    }

    /// The live files.
    async fn files(&self, mut files: Files) -> Result<Files, FileError> {
        let path = &self.object.path;
        let snapshot = self.metadata.snapshot();
        let Some(snapshot) = snapshot.map_err(|flaw| corrupt(path, flaw.to_string()))? else {
            return Ok(files);
        };
        let list: Vec<Manifest> = match &snapshot.manifest_list {
            Some(list) => {
                manifests(&self.rows(list, None).await?).ok_or_else(|| self.broken(list))?
            }
            None => snapshot
                .manifests
                .iter()
                .map(|it| Manifest::unlisted(it))
                .collect(),
        };
        let distinct: HashSet<&str> = list.iter().map(|it| it.path.as_str()).collect();
        if list.len() > MOST_MANIFESTS || distinct.len() < list.len() {
            let cause = format!(
                "its snapshot {} has {} manifests, too many or some twice",
                snapshot.snapshot_id,
                list.len()
            );
            return Err(wrong(
                path,
                FileErrorKind::Unsupported,
                cause,
                "rewrite its manifests",
            ));
        }
        let read = list.into_iter().map(|manifest| self.entries(manifest));
        let read: Vec<_> = read.collect();
        let read = stream::iter(read).buffered(READ_AT_ONCE);
        let entries: Vec<Vec<Entry>> = read.try_collect().await?;
        for entry in entries.into_iter().flatten() {
            let is_of_all = self.metadata.is_unpartitioned(entry.spec);
            files.take(entry, is_of_all);
        }
        Ok(files)
    }

    /// How a data file is read.
    fn format(&self, file: &Entry) -> Result<Format, FileError> {
        match file.format.as_str() {
            "PARQUET" => Ok(Format::Parquet),
            "ORC" => Ok(Format::Orc),
            "AVRO" => Ok(Format::Avro),
            other => {
                let other = one_line(other);
                let cause = format!("its data files are {other}, which is not read");
                let remedy = "rewrite them as Parquet, ORC or Avro";
                let path = &self.object.path;
                Err(wrong(path, FileErrorKind::Unsupported, cause, remedy))
            }
        }
    }

    /// What is said of a data file.
    fn file(&self, file: &Entry, files: &Files) -> Result<Logged, FileError> {
        let fields = self.metadata.partition(file.spec).unwrap_or_default();
        let constant = |(field, value): (&metadata::PartitionField, &Option<String>)| Constant {
            id: field.source_id,
            name: String::new(),
            value: value.clone(),
        };
        let constants = fields.iter().zip(&file.partition);
        let constants = constants.filter(|(field, _)| field.is_identity());
        Ok(Logged {
            constants: constants.map(constant).collect(),
            deletes: files.deletes(file, |it| self.file_of_deletes(it))?,
            ..Logged::default()
        })
    }
}
