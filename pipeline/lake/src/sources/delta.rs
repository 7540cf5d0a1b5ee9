//! Delta Lake tables, by their transaction log.
//!
//! The log is replayed by `delta_kernel`: commits, checkpoints of every kind, column mapping,
//! deletion vectors, and whether a table asks for what it does not support. Rows are read by limn's
//! own scan, so no handler of the library reads data files.

mod of_log;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, StructArray};
use arrow::datatypes::{DataType as Arrow, Int32Type, Int64Type};
use arrow::error::ArrowError;
use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use delta_kernel::actions::deletion_vector::{DeletionVectorDescriptor, DeletionVectorStorageType};
use delta_kernel::engine::arrow_conversion::TryIntoArrow;
use delta_kernel::engine::arrow_data::ArrowEngineData;
use delta_kernel::scan::StatsOptions;
use delta_kernel::schema::{ColumnMetadataKey, DataType, MetadataValue, StructField};
use delta_kernel::snapshot::{Snapshot, SnapshotRef};
use delta_kernel::table_features::ColumnMappingMode;
use delta_kernel::{KernelError, KernelResult};
use delta_kernel_default_engine::DefaultEngine;
use delta_kernel_default_engine::executor::tokio::TokioMultiThreadExecutor;
use limn_formats::{FileError, FileErrorKind, Format, ObjectRecord, ObjectVersion};
use limn_profile::{Constant, Deletes, Logged, LoggedColumn, LoggedTable, NestedName, NestedNames};
use limn_store::{Store, one_line, path_below};
use object_store::path::Path;
use tokio::runtime::Handle;
use url::Url;

use self::of_log::OfLog;
use super::{DELTA_LOG, Listed, Opened, Source, bounded as bounded_names, is_commit};
use crate::layout::LogFile;
use crate::place::{join, split_path};

/// Bytes of the log's files that are read at once: those from the last checkpoint on.
const MOST_LOG_BYTES: u64 = 512 << 20;
/// More columns are no table's.
const MOST_COLUMNS: usize = 16_384;

/// Where a table's objects are for the library: it knows nothing of the store.
const ROOT: &str = "lake:///";

pub(super) struct Delta;

#[async_trait]
impl Source for Delta {
    fn log(&self, folder: &str, listed: &Listed<'_>) -> Result<ObjectRecord, FileError> {
        let log = join(folder, DELTA_LOG);
        let below = listed.below(&log);
        let own = below.iter();
        let own = own.filter(|it| split_path(&it.path).0 == log);
        let versions = own.filter_map(|it| Some((version(split_path(&it.path).1)?, it)));
        // A checkpoint says what its commit has said.
        let newest = versions.max_by_key(|(version, it)| (*version, is_commit(&it.path)));
        let Some((version, newest)) = newest else {
            let cause = "it has no commit";
            return Err(FileError::new(log, FileErrorKind::Corrupt, cause).with_remedy(REPAIR));
        };
        Ok(ObjectRecord {
            path: log,
            version: Some(ObjectVersion::Named(format!("version {version}"))),
            ..newest.clone()
        })
    }

    async fn open(
        &self,
        lake: &Store,
        (folder, object): (&str, ObjectRecord),
        listed: &Listed<'_>,
    ) -> Result<Opened, FileError> {
        let log = object.path.clone();
        let of_log = listed.below(&log);
        let wrong = |wrong: Wrong| match wrong {
            Wrong::Store(error) => FileError::from_store(&log, &lake.explain(&log, &error)),
            Wrong::Content {
                kind,
                cause,
                remedy,
            } => FileError::new(&log, kind, cause).with_remedy(remedy),
        };
        bounded(&log, &of_log).map_err(wrong)?;
        let table = Table {
            store: Arc::new(OfLog::new(lake, &of_log)),
            lake: lake.clone(),
            folder: folder.to_owned(),
            runtime: Handle::current(),
        };
        let read = tokio::task::spawn_blocking(move || {
            catch_unwind(AssertUnwindSafe(|| table.read())).unwrap_or_else(|_| {
                let cause = "reading its log failed";
                Err(Wrong::new(FileErrorKind::Panicked, cause, REPAIR))
            })
        });
        let read = read.await.unwrap_or_else(|_| {
            let cause = "the runtime is shutting down";
            Err(Wrong::new(FileErrorKind::Unreachable, cause, "run again"))
        });
        let found = read.map_err(wrong)?;
        let said = Logged {
            table: Some(found.table),
            ..Logged::default()
        };
        let own = LogFile::new(object, Format::Delta, said);
        listed.table(lake, (own, folder), found.files).await
    }
}

const REPAIR: &str = "repair the table with the engine that writes it";

/// What is wrong with a table.
enum Wrong {
    Store(object_store::Error),
    Content {
        kind: FileErrorKind,
        cause: String,
        remedy: &'static str,
    },
}

impl Wrong {
    fn new(kind: FileErrorKind, cause: impl Into<String>, remedy: &'static str) -> Wrong {
        Wrong::Content {
            kind,
            cause: cause.into(),
            remedy,
        }
    }
}

impl From<KernelError> for Wrong {
    fn from(error: KernelError) -> Wrong {
        let cause = one_line(&error.to_string());
        match error {
            KernelError::Unsupported(_) => {
                let remedy =
                    "limn update once this limn supports it, or rewrite the table without it";
                Wrong::new(FileErrorKind::Unsupported, cause, remedy)
            }
            KernelError::ObjectStore(error) => Wrong::Store(error),
            KernelError::FileNotFound(_) => {
                let cause = "a part of its log is not there";
                Wrong::new(FileErrorKind::Unreachable, cause, "run again")
            }
            _ => {
                let cause = format!("its log is broken: {cause}");
                Wrong::new(FileErrorKind::Corrupt, cause, REPAIR)
            }
        }
    }
}

impl From<ArrowError> for Wrong {
    fn from(error: ArrowError) -> Wrong {
        KernelError::from(error).into()
    }
}

/// The version that a file of the log is of: `00000000000000000012.json`, `….checkpoint.parquet`.
fn version(name: &str) -> Option<u64> {
    let (number, rest) = name.split_at_checked(20)?;
    let is_own = rest == ".json" || rest.starts_with(".checkpoint.");
    is_own.then(|| number.parse().ok()).flatten()
}

/// Refuses a log that would take too much memory to be read.
fn bounded(log: &str, objects: &[ObjectRecord]) -> Result<(), Wrong> {
    let (own, sidecars): (Vec<&ObjectRecord>, Vec<&ObjectRecord>) =
        objects.iter().partition(|it| split_path(&it.path).0 == log);
    let own = own.iter().map(|it| (split_path(&it.path).1, it.size));
    let checkpoints = own
        .clone()
        .filter(|(name, _)| name.contains(".checkpoint."));
    let last = checkpoints.filter_map(|(name, _)| version(name)).max();
    let since = own.filter(|(name, _)| version(name) >= last && version(name).is_some());
    // Those of older checkpoints are cleaned up.
    let sidecars: u64 = sidecars.iter().map(|it| it.size).sum();
    let bytes = since.map(|(_, size)| size).sum::<u64>() + sidecars;
    if bytes <= MOST_LOG_BYTES {
        return Ok(());
    }
    let cause =
        format!("its log since the last checkpoint has {bytes} bytes, more than {MOST_LOG_BYTES}");
    let remedy = "write a checkpoint of the table, and clean its log up";
    Err(Wrong::new(FileErrorKind::Unsupported, cause, remedy))
}

/// A table while its log is read, on a thread outside the runtime.
struct Table {
    lake: Store,
    store: Arc<OfLog>,
    folder: String,
    runtime: Handle,
}

/// What a log says.
struct Found {
    table: LoggedTable,
    /// Those that are live: their paths in the lake, and what is said of them.
    files: Vec<(String, Format, Logged)>,
}

impl Table {
    /// The table's folder as the library knows it.
    fn root(&self) -> Result<Url, Wrong> {
        let outside = || {
            Wrong::new(
                FileErrorKind::Unsupported,
                "its path is no URL",
                "rename it",
            )
        };
        let mut root = Url::parse(ROOT).map_err(|_| outside())?;
        let key = self.lake.key(&self.folder);
        root.path_segments_mut()
            .map_err(|()| outside())?
            .clear()
            .extend(key.parts().map(|part| part.as_ref().to_owned()))
            .push("");
        Ok(root)
    }

    fn read(&self) -> Result<Found, Wrong> {
        let executor = TokioMultiThreadExecutor::new(self.runtime.clone());
        let engine = DefaultEngine::builder(self.store.clone())
            .with_task_executor(Arc::new(executor))
            .build();
        let root = self.root()?;
        let snapshot = Snapshot::builder_for(root.as_str()).build(&engine)?;
        let table = schema(&snapshot)?;
        let scan = snapshot
            .scan_builder()
            .without_row_transforms()
            .with_stats(StatsOptions::none())
            .build()?;
        let mut files = Vec::new();
        for found in scan.scan_metadata(&engine)? {
            let batch = found?.scan_files.apply_selection_vector()?;
            let batch = ArrowEngineData::try_from_engine_data(batch)?;
            let known = files.len();
            self.files(batch.record_batch(), &root, &mut files)?;
            for (_, _, logged) in &mut files[known..] {
                logged.nested.clone_from(&table.nested);
            }
        }
        Ok(Found { table, files })
    }

    /// Takes the files of a batch of the log's actions.
    fn files(
        &self,
        batch: &RecordBatch,
        root: &Url,
        files: &mut Vec<(String, Format, Logged)>,
    ) -> Result<(), Wrong> {
        let column = |name: &str| {
            let lacks = || {
                let cause = format!("its log has no {name}");
                Wrong::new(FileErrorKind::Corrupt, cause, REPAIR)
            };
            batch.column_by_name(name).ok_or_else(lacks)
        };
        let paths = arrow::compute::cast(column("path")?, &Arrow::Utf8)?;
        let vectors = column("deletionVector")?.as_struct_opt();
        let constants = column("fileConstantValues")?.as_struct_opt();
        let values = constants.and_then(|it| it.column_by_name("partitionValues"));
        for row in 0..batch.num_rows() {
            let path = paths.as_string::<i32>().value(row);
            let constants = match values {
                Some(values) => partition(values, row)?,
                None => Vec::new(),
            };
            let vector = vectors.filter(|it| it.is_valid(row));
            let vector = vector.map(|vectors| self.vector(vectors, row, root));
            let logged = Logged {
                constants,
                deletes: vector.transpose()?.flatten().into_iter().collect(),
                ..Logged::default()
            };
            let path = self.within(root.join(path).ok(), path)?;
            files.push((path, Format::Parquet, logged));
        }
        Ok(())
    }

    /// The path in the lake of an object that the log names.
    fn within(&self, url: Option<Url>, named: &str) -> Result<String, Wrong> {
        let path = url.as_ref().and_then(|url| {
            if url.as_str().starts_with(ROOT) {
                return self.lake.relative(&Path::from_url_path(url.path()).ok()?);
            }
            let decoded = percent_encoding::percent_decode_str(url.as_str());
            path_below(&decoded.decode_utf8().ok()?, self.lake.url())
        });
        path.ok_or_else(|| {
            let named = one_line(named);
            let cause = format!("its log names {named}, which is outside of the lake");
            let remedy = "index the lake that holds both, or copy the table with its files";
            Wrong::new(FileErrorKind::Unsupported, cause, remedy)
        })
    }

    /// A deletion vector; none that deletes nothing.
    fn vector(
        &self,
        vectors: &StructArray,
        row: usize,
        root: &Url,
    ) -> Result<Option<Deletes>, Wrong> {
        let broken = || {
            Wrong::new(
                FileErrorKind::Corrupt,
                "its log has a broken deletion vector",
                REPAIR,
            )
        };
        let text = |name: &str| {
            let column = vectors.column_by_name(name)?;
            let column = arrow::compute::cast(column, &Arrow::Utf8).ok()?;
            let texts = column.as_string::<i32>();
            texts.is_valid(row).then(|| texts.value(row).to_owned())
        };
        let number = |name: &str| {
            let column = vectors
                .column_by_name(name)?
                .as_primitive_opt::<Int32Type>()?;
            column.is_valid(row).then(|| column.value(row))
        };
        let count = vectors.column_by_name("cardinality");
        let count = count.and_then(|it| it.as_primitive_opt::<Int64Type>());
        if count.is_some_and(|it| it.is_valid(row) && it.value(row) == 0) {
            return Ok(None);
        }
        let kind = text("storageType").ok_or_else(broken)?;
        let place = text("pathOrInlineDv").ok_or_else(broken)?;
        let size = number("sizeInBytes").ok_or_else(broken)?;
        let kind = DeletionVectorStorageType::from_str(&kind).map_err(|_| broken())?;
        if kind == DeletionVectorStorageType::Inline {
            let bytes = z85::decode(&place).map_err(|_| broken())?;
            return Ok(Some(Deletes::Inline(BASE64.encode(bytes))));
        }
        let offset = number("offset");
        let known = DeletionVectorDescriptor::try_new(kind, place, offset, size, 0)?;
        let object = known.absolute_path(root)?;
        let named = object.as_ref().map_or("", Url::as_str).to_owned();
        Ok(Some(Deletes::Vector {
            path: self.within(object, &named)?,
            // One without a place is all of its object, behind the version.
            offset: u64::try_from(offset.unwrap_or(1)).map_err(|_| broken())?,
            size: u64::try_from(size).map_err(|_| broken())?,
        }))
    }
}

/// The partition values of a file, by the names that columns have in files.
fn partition(values: &Arc<dyn Array>, row: usize) -> Result<Vec<Constant>, Wrong> {
    let Some(map) = values.as_map_opt().filter(|it| it.is_valid(row)) else {
        return Ok(Vec::new());
    };
    let entries = map.value(row);
    let names = arrow::compute::cast(entries.column(0), &Arrow::Utf8)?;
    let values = arrow::compute::cast(entries.column(1), &Arrow::Utf8)?;
    let (names, values) = (names.as_string::<i32>(), values.as_string::<i32>());
    let constant = |at: usize| {
        // An empty text stands for null (protocol, "Partition Value Serialization").
        let value = values.is_valid(at).then(|| values.value(at));
        Constant {
            id: None,
            name: names.value(at).to_owned(),
            value: value.filter(|it| !it.is_empty()).map(str::to_owned),
        }
    };
    let mut constants: Vec<Constant> = (0..entries.len()).map(constant).collect();
    constants.sort();
    Ok(constants)
}

/// The table's columns, what is said of it, and what fields within columns are called.
fn schema(snapshot: &SnapshotRef) -> Result<LoggedTable, Wrong> {
    let schema = snapshot.schema();
    if schema.num_fields() > MOST_COLUMNS {
        let cause = format!(
            "it has {} columns, more than {MOST_COLUMNS}",
            schema.num_fields()
        );
        return Err(Wrong::new(
            FileErrorKind::Unsupported,
            cause,
            "split the table",
        ));
    }
    let mode = snapshot.table_properties().column_mapping_mode;
    let mode = mode.unwrap_or(ColumnMappingMode::None);
    let columns = schema.fields().map(|field| column(field, mode));
    let metadata = snapshot.table_configuration().metadata();
    let mut notes = Vec::new();
    if let Some(name) = metadata.name() {
        notes.push(format!("its log calls it {}", one_line(name)));
    }
    let mut nested = NestedNames::default();
    // Otherwise they have no other names in files.
    if mode != ColumnMappingMode::None {
        for field in schema.fields() {
            fields_within(field, &mut Vec::new(), &mut nested.fields);
        }
        nested.only = true;
    }
    let nested = bounded_names(nested, &mut notes);
    Ok(LoggedTable {
        columns: columns.collect::<KernelResult<_>>()?,
        description: metadata.description().map(one_line),
        key: Vec::new(),
        notes,
        nested,
    })
}

/// Takes the fields within a field whose columns are mapped, by their places in files.
fn fields_within(field: &StructField, path: &mut Vec<String>, found: &mut Vec<NestedName>) {
    path.push(physical_name(field).unwrap_or_else(|| field.name.clone()));
    of_type(field.data_type(), path, found);
    path.pop();
}

fn of_type(of: &DataType, path: &mut Vec<String>, found: &mut Vec<NestedName>) {
    let mut below = |part: &str, of: &DataType| {
        path.push(part.to_owned());
        of_type(of, path, found);
        path.pop();
    };
    match of {
        DataType::Array(list) => below("element", &list.element_type),
        DataType::Map(map) => {
            below("key", &map.key_type);
            below("value", &map.value_type);
        }
        DataType::Struct(fields) => {
            for field in fields.fields() {
                let own = physical_name(field).unwrap_or_else(|| field.name.clone());
                found.push(NestedName {
                    id: None,
                    path: path.iter().cloned().chain([own]).collect(),
                    name: Some(field.name.clone()),
                });
                fields_within(field, path, found);
            }
        }
        _ => {}
    }
}

/// The name that files have for a column.
fn physical_name(field: &StructField) -> Option<String> {
    let key = ColumnMetadataKey::ColumnMappingPhysicalName;
    match field.metadata.get(key.as_ref()) {
        Some(MetadataValue::String(name)) => Some(name.clone()),
        _ => None,
    }
}

/// A column. What was noted of other names and ids counts only in the mode that has them.
fn column(field: &StructField, mode: ColumnMappingMode) -> KernelResult<LoggedColumn> {
    let text = |key: &str| match field.metadata.get(key) {
        Some(MetadataValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let arrow: Arrow = field.data_type().try_into_arrow()?;
    let (data_type, arrow_type) = limn_formats::column_type(&arrow);
    let physical = physical_name(field).filter(|_| mode != ColumnMappingMode::None);
    let id = field.column_mapping_id();
    let id = id.filter(|_| mode == ColumnMappingMode::Id);
    Ok(LoggedColumn {
        name: field.name.clone(),
        id: id.and_then(|id| i32::try_from(id).ok()),
        stored_as: physical.into_iter().collect(),
        data_type,
        arrow_type,
        description: text("comment").map(|it| one_line(&it)),
        missing: None,
    })
}
