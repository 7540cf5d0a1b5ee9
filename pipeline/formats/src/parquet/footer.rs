//! A Parquet file's footer: read with as few requests as possible, and not believed before it has
//! been checked, since everything after relies on its numbers.

use std::sync::Arc;

use arrow::datatypes::{DataType as Arrow, Field, Schema};
use limn_store::one_line;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as Physical;
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnDescriptor;

use super::object::ObjectReader;
use super::plan::Column;
use super::thrift::footer_depth;
use crate::error::FileErrorKind;
use crate::{Failure, MAX_COLUMNS, sniff};

/// Files up to this size are fetched at once.
const AT_ONCE: u64 = 1 << 20;
/// Of larger files, this much of the end: enough for most footers.
const TAIL: u64 = 64 << 10;
/// Of a file without the magic number, this much of the beginning shows what it is.
const HEAD: u64 = 1 << 10;
/// Length of the footer and magic number.
const TRAILER: u64 = 8;
/// More rows than any file has; numbers above come from broken footers. Drawing looks at every row
/// number, a nanosecond or two each.
const MAX_ROWS: u64 = 1 << 33;
/// More bytes than any file unpacks to; sums of numbers below stay far from the end of their range.
const MAX_BYTES: u64 = 1 << 50;
/// Values of fixed length are no longer than this where they are nested: decoding writes as many
/// bytes for a null.
const MAX_FIXED: i32 = 64 << 10;
/// Levels of groups in a schema; the decoder recurses over them.
const MAX_DEPTH: usize = 128;

/// Reads the footer.
pub(super) fn read(object: &ObjectReader, scan_budget: u64) -> Result<ParquetMetaData, Failure> {
    let size = object.len();
    if size == 0 {
        return Err(Failure::new(FileErrorKind::Empty, "the file has no bytes"));
    }
    if size < TRAILER + 4 {
        return Err(corrupt(format!(
            "{size} bytes are too few for a Parquet file"
        )));
    }
    let fail = |error: ParquetError| broken(&error, object);
    let tail = if size <= AT_ONCE { size } else { TAIL };
    object
        .prefetch(std::iter::once(size - tail..size).collect(), 0)
        .map_err(fail)?;
    let trailer = object
        .get_bytes(size - TRAILER, TRAILER as usize)
        .map_err(fail)?;
    let (length, magic) = trailer.split_at(4);
    match magic {
        b"PAR1" => {}
        b"PARE" => {
            return Err(Failure::new(
                FileErrorKind::Unsupported,
                "its footer is encrypted",
            ));
        }
        _ => {
            let beginning = object.get_bytes(0, HEAD.min(size) as usize).map_err(fail)?;
            return Err(if beginning.starts_with(b"PAR") {
                corrupt("it begins as a Parquet file but has no footer: it is cut off")
            } else {
                sniff::not_its_format(&beginning, "Parquet")
            });
        }
    }
    let length = length
        .iter()
        .rev()
        .fold(0, |n, byte| n << 8 | u64::from(*byte));
    if length + TRAILER > size {
        return Err(corrupt(format!(
            "its footer claims {length} bytes of a file of {size}"
        )));
    }
    if length > scan_budget.max(AT_ONCE) {
        return Err(Failure::new(
            FileErrorKind::Unsupported,
            format!("its footer alone has {length} bytes"),
        )
        .with_remedy("write the file with fewer columns or larger row groups"));
    }
    object
        .prefetch(std::iter::once(size - TRAILER - length..size).collect(), 0)
        .map_err(fail)?;
    let bytes = object
        .get_bytes(size - TRAILER - length, length as usize)
        .map_err(fail)?;
    match footer_depth(&bytes) {
        Ok(depth) if depth > MAX_DEPTH => {
            return Err(corrupt(format!(
                "its schema nests more than {MAX_DEPTH} levels deep"
            )));
        }
        Ok(_) => {}
        Err(_) => return Err(corrupt("its footer is broken")),
    }
    let metadata = ParquetMetaDataReader::decode_metadata(&bytes).map_err(fail)?;
    check(&metadata, size)?;
    Ok(metadata)
}

/// Checks what later code computes with.
fn check(metadata: &ParquetMetaData, size: u64) -> Result<(), Failure> {
    let schema = metadata.file_metadata().schema_descr();
    let columns = schema.root_schema().get_fields().len();
    if columns == 0 {
        return Err(Failure::new(FileErrorKind::Empty, "it has no columns"));
    }
    if columns > MAX_COLUMNS {
        return Err(Failure::too_many_columns(columns));
    }
    for column in schema.columns() {
        if is_nested(column) && column.type_length() > MAX_FIXED {
            return Err(Failure::new(
                FileErrorKind::Unsupported,
                format!(
                    "values of column {} have {} bytes each",
                    one_line(&column.path().string()),
                    column.type_length()
                ),
            ));
        }
    }
    let (mut rows, mut bytes) = (0u64, 0u64);
    for group in metadata.row_groups() {
        let in_group = u64::try_from(group.num_rows()).ok();
        rows = in_group
            .and_then(|n| rows.checked_add(n))
            .filter(|n| *n <= MAX_ROWS)
            .ok_or_else(|| {
                corrupt(format!(
                    "its footer claims a row group of {} rows",
                    group.num_rows()
                ))
            })?;
        if group.num_columns() != schema.num_columns() {
            return Err(corrupt(
                "its row groups and its schema disagree about the columns",
            ));
        }
        for (chunk, column) in group.columns().iter().zip(schema.columns()) {
            let start = chunk
                .dictionary_page_offset()
                .unwrap_or(chunk.data_page_offset());
            let end = start.checked_add(chunk.compressed_size());
            let inside = start >= 0
                && chunk.data_page_offset() >= 0
                && chunk.compressed_size() >= 0
                && end.is_some_and(|end| end as u64 <= size);
            if !inside {
                return Err(corrupt(format!(
                    "column {} lies beyond the file's end",
                    one_line(column.name())
                )));
            }
            let unpacked = u64::try_from(chunk.uncompressed_size()).ok();
            bytes = unpacked
                .and_then(|n| bytes.checked_add(n))
                .filter(|n| *n <= MAX_BYTES)
                .ok_or_else(|| {
                    corrupt(format!(
                        "column {} claims {} bytes unpacked",
                        one_line(column.name()),
                        chunk.uncompressed_size()
                    ))
                })?;
            if column.max_rep_level() == 0 && chunk.num_values() != group.num_rows() {
                return Err(corrupt(format!(
                    "column {} has {} values in a row group of {} rows",
                    one_line(column.name()),
                    chunk.num_values(),
                    group.num_rows()
                )));
            }
        }
    }
    Ok(())
}

/// The footer with the offsets of all pages, if the file has them, they can be read, and they are
/// small enough.
pub(super) fn with_page_index(
    metadata: ParquetMetaData,
    object: &ObjectReader,
    budget: u64,
) -> ParquetMetaData {
    indexed(metadata, object, budget, PageIndexPolicy::Skip)
}

/// As [`with_page_index`], and with what pages hold.
pub(super) fn with_indexes(
    metadata: ParquetMetaData,
    object: &ObjectReader,
    budget: u64,
) -> ParquetMetaData {
    indexed(metadata, object, budget, PageIndexPolicy::Optional)
}

fn indexed(
    metadata: ParquetMetaData,
    object: &ObjectReader,
    budget: u64,
    of_values: PageIndexPolicy,
) -> ParquetMetaData {
    let chunks = || {
        metadata
            .row_groups()
            .iter()
            .flat_map(|group| group.columns())
    };
    let lengths =
        chunks().map(|chunk| u64::try_from(chunk.offset_index_length().unwrap_or(0)).unwrap_or(0));
    let length = lengths.fold(0u64, u64::saturating_add);
    let everywhere = chunks().all(|chunk| chunk.offset_index_offset().is_some());
    if length == 0 || length > budget / 4 || !everywhere {
        return metadata;
    }
    let mut reader = ParquetMetaDataReader::new_with_metadata(metadata.clone())
        .with_offset_index_policy(PageIndexPolicy::Optional)
        .with_column_index_policy(of_values);
    match reader
        .read_page_indexes(object)
        .and_then(|()| reader.finish())
    {
        Ok(indexed) if index_is_sound(&indexed) => indexed,
        // An index is a convenience: without it the file is as good as any other without one.
        _ => {
            object.take_failure();
            metadata
        }
    }
}

/// Whether a leaf column lies within another.
pub(super) fn is_nested(column: &ColumnDescriptor) -> bool {
    column.path().parts().len() > 1
}

/// Whether every column's pages follow one another within its chunk and begin at rising rows.
fn index_is_sound(metadata: &ParquetMetaData) -> bool {
    let Some(index) = metadata.offset_index() else {
        return false;
    };
    index.len() == metadata.num_row_groups()
        && metadata
            .row_groups()
            .iter()
            .zip(index)
            .all(|(group, columns)| {
                let chunks = group.columns().iter().zip(columns);
                columns.len() == group.num_columns()
                    && chunks
                        .map(|(chunk, column)| (chunk.byte_range(), column.page_locations()))
                        .all(|(chunk, pages)| pages_are_sound(pages, chunk, group.num_rows()))
            })
}

fn pages_are_sound(pages: &[PageLocation], (start, length): (u64, u64), rows: i64) -> bool {
    let (mut at, mut row) = (start, -1);
    let follow = pages.iter().all(|page| {
        let (from, size) = (
            u64::try_from(page.offset),
            u64::try_from(page.compressed_page_size),
        );
        let (Ok(from), Ok(size)) = (from, size) else {
            return false;
        };
        let follows = from >= at && page.first_row_index > row && page.first_row_index < rows;
        (at, row) = (from.saturating_add(size), page.first_row_index);
        follows
    });
    let first_row = pages.first().map(|page| page.first_row_index);
    follow && at <= start + length && first_row == (rows > 0).then_some(0)
}

/// The footer in Arrow's terms. Text is decoded as views, which share a dictionary's values instead
/// of copying them.
pub(super) fn arrow(
    metadata: ParquetMetaData,
    object: &ObjectReader,
) -> Result<ArrowReaderMetadata, Failure> {
    let metadata = Arc::new(metadata);
    let load = |options| ArrowReaderMetadata::try_new(metadata.clone(), options);
    // The Arrow schema that some writers add may be broken or of a newer kind.
    let plain = load(ArrowReaderOptions::new())
        .or_else(|_| load(ArrowReaderOptions::new().with_skip_arrow_metadata(true)))
        .map_err(|error| broken(&error, object))?;
    let fields: Vec<Field> = plain
        .schema()
        .fields()
        .iter()
        .map(|field| {
            let field = field.as_ref().clone();
            if is_text(field.data_type()) {
                field.with_data_type(Arrow::Utf8View)
            } else {
                field
            }
        })
        .collect();
    let schema = Schema::new_with_metadata(fields, plain.schema().metadata().clone());
    let roots = plain.parquet_schema().root_schema().get_fields().len();
    if schema.fields().len() != roots {
        return Err(Failure::new(
            FileErrorKind::Unsupported,
            "some of its columns have no Arrow type",
        ));
    }
    Ok(load(ArrowReaderOptions::new().with_schema(Arc::new(schema))).unwrap_or(plain))
}

/// Whether decoding a column copies a dictionary's value to each row that has it: it has values of
/// bytes that are not decoded as views.
pub(super) fn copies(arrow: &ArrowReaderMetadata, column: &Column) -> bool {
    let schema = arrow.parquet_schema();
    let is_view = *arrow.schema().field(column.root).data_type() == Arrow::Utf8View;
    let mut leaves = column.leaves.clone().map(|leaf| schema.column(leaf));
    !is_view
        && leaves.any(|leaf| match leaf.physical_type() {
            Physical::BYTE_ARRAY => true,
            Physical::FIXED_LEN_BYTE_ARRAY => is_nested(&leaf),
            _ => false,
        })
}

fn is_text(arrow: &Arrow) -> bool {
    match arrow {
        Arrow::Utf8 | Arrow::LargeUtf8 => true,
        Arrow::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

pub(super) fn corrupt(cause: impl Into<String>) -> Failure {
    Failure::new(FileErrorKind::Corrupt, cause)
}

/// What the decoder's error means. Behind it may be the store's.
pub(super) fn broken(error: &ParquetError, object: &ObjectReader) -> Failure {
    if let Some(failure) = object.take_failure() {
        return failure;
    }
    let message = one_line(&error.to_string());
    let kind = if matches!(error, ParquetError::NYI(_)) || message.contains("NYI: ") {
        FileErrorKind::Unsupported
    } else {
        FileErrorKind::Corrupt
    };
    // Errors of errors: only the innermost says anything.
    let inner = [
        "Parquet error: ",
        "Arrow: ",
        "Parquet argument error: ",
        "External: ",
        "NYI: ",
        "EOF: ",
    ];
    let mut message = message.as_str();
    while let Some(rest) = inner.iter().find_map(|prefix| message.strip_prefix(prefix)) {
        message = rest;
    }
    Failure::new(kind, format!("its content cannot be decoded: {message}"))
}
