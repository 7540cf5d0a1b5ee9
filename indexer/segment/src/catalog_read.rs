//! Reads catalog files: their rows whole or some columns of them, all of them or one table's.
//!
//! A file is read by the names of its columns, those of [`TableRecord`]; of what it does not have, the
//! record's default stands. What a caller does not ask for is not decoded, and rows come a batch at a
//! time: who keeps little of each needs little memory, however large the file.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};

use crate::catalog::{BATCH_ROWS, CATALOG_FORMAT, FORMAT_KEY, TableRecord};
use crate::catalog_rows::records;
use crate::error::SegmentError;
use crate::table::TableKey;

/// Reads a catalog file's bytes, which must hold `rows` rows (a few bytes can stand for any number
/// of equal ones); `object` names it in errors. Unknown columns are ignored, missing ones read as
/// empty.
///
/// # Errors
/// [`SegmentError::Damaged`] for bytes that are no such catalog, [`SegmentError::NewerFormat`].
pub fn read_catalog(
    object: &str,
    bytes: Bytes,
    rows: u64,
) -> Result<Vec<TableRecord>, SegmentError> {
    let mut records = Vec::new();
    visit_catalog(object, bytes, rows, None, &mut |row| records.push(row))?;
    Ok(records)
}

/// As [`read_catalog`], of some columns only (`a.list.element.b` is one): the others come as if they were
/// missing.
pub(crate) fn read_catalog_columns(
    object: &str,
    bytes: Bytes,
    rows: u64,
    columns: &[&str],
) -> Result<Vec<TableRecord>, SegmentError> {
    let mut records = Vec::new();
    visit_catalog(object, bytes, rows, Some(columns), &mut |row| {
        records.push(row);
    })?;
    Ok(records)
}

/// As [`read_catalog`], row by row, of some columns or (`None`) all. After an error some rows may have been
/// visited.
pub(crate) fn visit_catalog(
    object: &str,
    bytes: Bytes,
    rows: u64,
    columns: Option<&[&str]>,
    visit: &mut dyn FnMut(TableRecord),
) -> Result<(), SegmentError> {
    let what = Wanted {
        columns,
        selection: None,
        rows,
    };
    visit_guarded(object, bytes, what, visit)
}

/// The rows of some tables, in order: of one there are two or more where files were merged.
///
/// Looks for the key first; the other columns of other tables are not decoded.
pub(crate) fn read_rows_of(
    object: &str,
    bytes: Bytes,
    rows: u64,
    tables: &HashSet<TableKey>,
) -> Result<Vec<TableRecord>, SegmentError> {
    let (mut selectors, mut found, mut from, mut at) = (Vec::new(), 0, 0, 0);
    let keys = Some(["lake", "name"].as_slice());
    visit_catalog(object, bytes.clone(), rows, keys, &mut |row| {
        if tables.contains(&row.key()) {
            selectors.extend([RowSelector::skip(at - from), RowSelector::select(1)]);
            from = at + 1;
            found += 1;
        }
        at += 1;
    })?;
    let mut records = Vec::new();
    if found > 0 {
        let what = Wanted {
            columns: None,
            selection: Some(RowSelection::from(selectors)),
            rows: found,
        };
        visit_guarded(object, bytes, what, &mut |row| records.push(row))?;
    }
    Ok(records)
}

/// What is read of a file.
struct Wanted<'a> {
    columns: Option<&'a [&'a str]>,
    selection: Option<RowSelection>,
    /// As many rows have to come.
    rows: u64,
}

fn visit_guarded(
    object: &str,
    bytes: Bytes,
    what: Wanted<'_>,
    visit: &mut dyn FnMut(TableRecord),
) -> Result<(), SegmentError> {
    // Damaged Parquet can panic deep in a decoder; that costs this object, not the process.
    let read = || visit_unguarded(object, bytes, what, visit);
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        Err(SegmentError::damaged(
            object,
            "it is no readable Parquet file",
        ))
    })
}

fn visit_unguarded(
    object: &str,
    bytes: Bytes,
    what: Wanted<'_>,
    visit: &mut dyn FnMut(TableRecord),
) -> Result<(), SegmentError> {
    let damaged = |e: String| SegmentError::damaged(object, format!("it is no catalog file ({e})"));
    let mut builder =
        ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|e| damaged(e.to_string()))?;
    let format = builder
        .metadata()
        .file_metadata()
        .key_value_metadata()
        .and_then(|pairs| pairs.iter().find(|p| p.key == FORMAT_KEY))
        .and_then(|p| p.value.as_deref())
        .and_then(|v| v.parse::<u32>().ok())
        .ok_or_else(|| damaged(format!("{FORMAT_KEY} is missing")))?;
    if format > CATALOG_FORMAT {
        return Err(SegmentError::NewerFormat {
            object: object.to_owned(),
            found: format,
            supported: CATALOG_FORMAT,
        });
    }
    if let Some(columns) = what.columns {
        let schema = builder.parquet_schema();
        let mask = ProjectionMask::columns(schema, columns.iter().copied());
        builder = builder.with_projection(mask);
    }
    if let Some(selection) = what.selection {
        builder = builder.with_row_selection(selection);
    }
    let reader = builder
        .with_batch_size(BATCH_ROWS)
        .build()
        .map_err(|e| damaged(e.to_string()))?;
    let rows = what.rows;
    let wrong = || SegmentError::damaged(object, format!("it has not the {rows} rows it should"));
    let mut seen = 0;
    for batch in reader {
        let batch = batch.map_err(|e| damaged(e.to_string()))?;
        // Checked as they come: what the file says of itself proves nothing.
        seen += batch.num_rows() as u64;
        if seen > rows {
            return Err(wrong());
        }
        records(&batch)
            .map_err(damaged)?
            .into_iter()
            .for_each(&mut *visit);
    }
    if seen < rows {
        return Err(wrong());
    }
    Ok(())
}
