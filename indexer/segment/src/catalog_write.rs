//! Writes catalog files.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use arrow::json::reader::ReaderBuilder;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::catalog::{BATCH_PARTS, BATCH_ROWS, CATALOG_FORMAT, FORMAT_KEY, TableRecord};
use crate::error::SegmentError;
use crate::sketches::{field_of_column, field_of_file, with_sketches};

/// Columns whose values hardly ever repeat: a number for each in a dictionary would be more than it
/// saves.
const OF_MANY_VALUES: [&str; 19] = [
    "name",
    "location",
    "group",
    "content",
    "indexed_ms",
    "first_block",
    "sample.list.element.list.element",
    "columns.list.element.name",
    "columns.list.element.min",
    "columns.list.element.max",
    "columns.list.element.frequent.list.element.value",
    "columns.list.element.sketch",
    "files.list.element.path",
    "files.list.element.etag",
    "files.list.element.size",
    "files.list.element.fingerprint",
    "files.list.element.summary",
    "files.list.element.sketches.list.element",
    "contexts.list.element.text",
];

/// A catalog file's bytes (Parquet, zstd). The same records give the same bytes.
///
/// # Errors
/// [`SegmentError::Invalid`] if the records do not fit the schema, which no valid input does.
pub fn write_catalog(records: &[TableRecord]) -> Result<Bytes, SegmentError> {
    let failed = |detail: String| SegmentError::invalid("the catalog", detail);
    let schema = Arc::new(schema());
    let level = ZstdLevel::try_new(12).map_err(|e| failed(e.to_string()))?;
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        // Small files are mostly metadata: only what a foreign reader may filter by.
        .set_statistics_enabled(EnabledStatistics::None)
        .set_column_statistics_enabled(ColumnPath::from("lake"), EnabledStatistics::Chunk)
        .set_column_statistics_enabled(ColumnPath::from("name"), EnabledStatistics::Chunk)
        // Small enough that a reader of some tables unpacks few others.
        .set_max_row_group_row_count(Some(BATCH_ROWS))
        .set_created_by("limn".to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new(
            FORMAT_KEY.to_owned(),
            CATALOG_FORMAT.to_string(),
        )]));
    for path in OF_MANY_VALUES {
        let parts = path.split('.').map(str::to_owned);
        properties =
            properties.set_column_dictionary_enabled(ColumnPath::new(parts.collect()), false);
    }
    let options = ArrowWriterOptions::new()
        .with_properties(properties.build())
        .with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(&schema), options)
        .map_err(|e| failed(e.to_string()))?;
    for rows in batches(records) {
        let mut decoder = ReaderBuilder::new(Arc::clone(&schema))
            .build_decoder()
            .map_err(|e| failed(e.to_string()))?;
        decoder.serialize(rows).map_err(|e| failed(e.to_string()))?;
        if let Some(batch) = decoder.flush().map_err(|e| failed(e.to_string()))? {
            let batch = with_sketches(batch, rows).map_err(|e| failed(e.to_string()))?;
            writer.write(&batch).map_err(|e| failed(e.to_string()))?;
        }
    }
    Ok(writer
        .into_inner()
        .map_err(|e| failed(e.to_string()))?
        .into())
}

/// The records in batches of a bounded size, in order.
fn batches(records: &[TableRecord]) -> impl Iterator<Item = &[TableRecord]> {
    let parts = |record: &TableRecord| record.columns.len() + record.files.len();
    let mut left = records;
    std::iter::from_fn(move || {
        let first = parts(left.first()?);
        let others = left.iter().skip(1).take(BATCH_ROWS - 1);
        let rows = 1 + others
            .scan(first, |taken, record| {
                *taken += parts(record);
                (*taken <= BATCH_PARTS).then_some(())
            })
            .count();
        let (batch, rest) = left.split_at(rows);
        left = rest;
        Some(batch)
    })
}

fn schema() -> Schema {
    let sample_row = DataType::List(Arc::new(Field::new("element", DataType::Utf8, true)));
    Schema::new(vec![
        text("lake"),
        text("name"),
        text("location"),
        text("format"),
        of("removed", DataType::Boolean),
        Field::new("rows", DataType::UInt64, true),
        of("rows_exact", DataType::Boolean),
        list("columns", column()),
        list("sample", sample_row),
        of("keys", keys()),
        texts("notes"),
        list("files", file()),
        list("contexts", context()),
        text("segment"),
        of("first_block", DataType::UInt32),
        of("blocks", DataType::UInt32),
        text("group"),
        maybe("content"),
        maybe("error"),
        of("awaits_narration", DataType::Boolean),
        of("indexed_ms", DataType::Int64),
    ])
}

/// A column of a table.
fn column() -> DataType {
    let value_count = DataType::Struct(vec![text("value"), of("count", DataType::UInt64)].into());
    let pattern = DataType::Struct(vec![text("pattern"), of("share", DataType::Float64)].into());
    DataType::Struct(
        vec![
            text("name"),
            text("data_type"),
            of("null_share", DataType::Float64),
            of("distinct", DataType::UInt64),
            of("distinct_exact", DataType::Boolean),
            Field::new("uniqueness", DataType::Float64, true),
            Field::new("key_rank", DataType::UInt32, true),
            list("patterns", pattern),
            maybe("min"),
            maybe("max"),
            list("frequent", value_count),
            of("profile_exact", DataType::Boolean),
            maybe("narration"),
            maybe("description"),
            maybe("notation"),
            maybe("in_files"),
            maybe("sensitive"),
            of("withheld", DataType::Boolean),
            field_of_column(),
        ]
        .into(),
    )
}

/// A file of a table.
fn file() -> DataType {
    DataType::Struct(
        vec![
            text("path"),
            maybe("etag"),
            maybe("version"),
            of("size", DataType::UInt64),
            of("modified_ms", DataType::Int64),
            text("fingerprint"),
            Field::new("rows", DataType::UInt64, true),
            maybe("summary"),
            field_of_file(),
            maybe("error"),
            maybe("since_sample"),
            of("no_table", DataType::Boolean),
            of("beside", DataType::Boolean),
            of("alone", DataType::Boolean),
            maybe("declared"),
        ]
        .into(),
    )
}

/// The keys of a table.
fn keys() -> DataType {
    let unique = {
        let item: FieldRef = Arc::new(Field::new("element", DataType::Utf8, false));
        list("unique", DataType::List(item))
    };
    let reference = DataType::Struct(vec![texts("columns"), text("table"), texts("to")].into());
    DataType::Struct(vec![texts("primary"), unique, list("references", reference)].into())
}

/// A text about a table.
fn context() -> DataType {
    DataType::Struct(
        vec![
            text("source"),
            maybe("registered_for"),
            text("text"),
            of("of_folder", DataType::Boolean),
            text("fingerprint"),
            maybe("error"),
        ]
        .into(),
    )
}

fn of(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, false)
}

fn text(name: &str) -> Field {
    of(name, DataType::Utf8)
}

fn maybe(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

fn list(name: &str, item: DataType) -> Field {
    let item: FieldRef = Arc::new(of("element", item));
    of(name, DataType::List(item))
}

fn texts(name: &str) -> Field {
    list(name, DataType::Utf8)
}
