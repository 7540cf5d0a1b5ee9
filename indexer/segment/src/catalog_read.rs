//! Reads catalog files: their rows whole or some columns of them, all of them or one table's.
//!
//! A file is read by the names of its columns, those of [`TableRecord`]; of what it does not have,
//! the record's default stands. What a caller does not ask for is not decoded, and rows come a
//! batch at a time: a reader that keeps little of each needs little memory, however large the file.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReaderBuilder, RowSelection, RowSelector};
use parquet::file::metadata::RowGroupMetaData;

use crate::catalog::{BATCH_BYTES, BATCH_ROWS, CATALOG_FORMAT, FORMAT_KEY, TableRecord};
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

/// As [`read_catalog`], of some columns only (`a.list.element.b` is one): the others come as if
/// they were missing.
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

/// As [`read_catalog`], row by row, of some columns or (`None`) all. After an error some rows may
/// have been visited.
pub(crate) fn visit_catalog(
    object: &str,
    bytes: Bytes,
    rows: u64,
    columns: Option<&[&str]>,
    visit: &mut dyn FnMut(TableRecord),
) -> Result<(), SegmentError> {
    let what = Wanted {
        columns,
        selected: None,
        rows,
    };
    visit_guarded(object, bytes, what, visit)
}

/// As [`visit_catalog`], of the rows of these numbers, which ascend: row groups without one are not
/// unpacked.
pub(crate) fn visit_rows(
    object: &str,
    bytes: Bytes,
    selected: &[u64],
    columns: Option<&[&str]>,
    visit: &mut dyn FnMut(TableRecord),
) -> Result<(), SegmentError> {
    let what = Wanted {
        columns,
        selected: Some(selected),
        rows: selected.len() as u64,
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
    let (mut selected, mut at) = (Vec::new(), 0);
    let keys = Some(["lake", "name"].as_slice());
    visit_catalog(object, bytes.clone(), rows, keys, &mut |row| {
        if tables.contains(&row.key()) {
            selected.push(at);
        }
        at += 1;
    })?;
    let mut records = Vec::new();
    if !selected.is_empty() {
        let keep = &mut |row| records.push(row);
        visit_rows(object, bytes, &selected, None, keep)?;
    }
    Ok(records)
}

/// What is read of a file.
struct Wanted<'a> {
    columns: Option<&'a [&'a str]>,
    /// The numbers of the rows, ascending; `None` for all.
    selected: Option<&'a [u64]>,
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
    if let Some(selected) = what.selected {
        let lengths = builder.metadata().row_groups().iter();
        let lengths: Vec<u64> = lengths
            .map(|group| group.num_rows().max(0) as u64)
            .collect();
        let (groups, selection) = within_groups(&lengths, selected);
        builder = builder
            .with_row_groups(groups)
            .with_row_selection(selection);
    }
    let batch_rows = batch_rows(builder.metadata().row_groups());
    let reader = builder
        .with_batch_size(batch_rows)
        .build()
        .map_err(|e| damaged(e.to_string()))?;
    let rows = what.rows;
    let wrong = || SegmentError::damaged(object, format!("it has not the {rows} rows it should"));
    let mut seen = 0;
    for batch in reader {
        let batch = batch.map_err(|e| damaged(e.to_string()))?;
        // Checked as they come: the file's own metadata proves nothing.
        seen += batch.num_rows() as u64;
        if seen > rows {
            return Err(wrong());
        }
        records(&batch)
            .map_err(|error| damaged(error.into()))?
            .into_iter()
            .for_each(&mut *visit);
    }
    if seen < rows {
        return Err(wrong());
    }
    Ok(())
}

/// How many rows are decoded at a time: fewer of wide tables.
fn batch_rows(groups: &[RowGroupMetaData]) -> usize {
    let widest = groups.iter().map(|group| {
        let rows = group.num_rows().max(1);
        (group.total_byte_size().max(0) / rows).max(1)
    });
    let rows = BATCH_BYTES / widest.max().unwrap_or(1);
    usize::try_from(rows).map_or(1, |rows| rows.clamp(1, BATCH_ROWS))
}

/// The row groups that hold selected rows, and where the rows are in these alone.
fn within_groups(lengths: &[u64], selected: &[u64]) -> (Vec<usize>, RowSelection) {
    let (mut groups, mut selectors) = (Vec::new(), Vec::new());
    let (mut first, mut left) = (0_u64, selected);
    for (number, length) in lengths.iter().enumerate() {
        let end = first.saturating_add(*length);
        let (here, later) = left.split_at(left.partition_point(|row| *row < end));
        if !here.is_empty() {
            groups.push(number);
            let mut from = first;
            for row in here {
                selectors.push(RowSelector::skip((row - from) as usize));
                selectors.push(RowSelector::select(1));
                from = row + 1;
            }
            selectors.push(RowSelector::skip((end - from) as usize));
        }
        (first, left) = (end, later);
    }
    (groups, RowSelection::from(selectors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_row_groups_with_selected_rows_are_read() {
        let (groups, selection) = within_groups(&[10, 10, 10], &[3, 4, 29]);
        assert_eq!(groups, [0, 2]);
        let ends = [(true, 3), (false, 2), (true, 14), (false, 1)];
        let selectors = selection.iter().map(|it| (it.skip, it.row_count));
        assert_eq!(selectors.collect::<Vec<_>>(), ends);
        assert!(within_groups(&[10], &[]).0.is_empty());
    }
}
