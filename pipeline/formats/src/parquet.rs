//! Parquet: the footer first, then as little of the values as a summary needs.
//!
//! A file whose values fit the scan budget is read whole. Of others the row numbers of the sample
//! are drawn before anything is read, and only those rows' pages are fetched (with a page index;
//! without one their column chunks, in windows); the profile comes from slices of rows spread over
//! the file ([`plan`]), and null counts, minima and maxima from the footer ([`statistics`]).
//!
//! Decoding is synchronous and runs on a blocking thread; [`object`] fetches for it. Columns of
//! bytes are never read.

pub(super) mod batches;
mod footer;
mod live;
mod object;
mod plan;
mod reading;
mod statistics;
mod thrift;

use limn_profile::FileSummary;
use limn_store::Store;
use parquet::file::metadata::ParquetMetaData;
use roaring::RoaringTreemap;

use self::live::Live;
use self::object::ObjectReader;
use self::plan::{Column, Limits};
use self::reading::Reading;
#[cfg(test)]
pub(crate) use self::thrift::{deep_footer, file_of, varint_of};
use super::ranged::Ranged;
use super::{Failure, ReadOptions, deletes, parse};
use crate::data_file::DataFile;

pub(super) async fn summarise(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let object = ObjectReader::new(Ranged::of(store, file), options.scan_budget);
    let sample_path = file.sample_path.clone();
    let deleted = deletes::of(store, file).await?;
    let options = options.clone();
    parse(move || read(object, deleted, &sample_path, &options)).await
}

fn read(
    object: ObjectReader,
    deleted: Option<RoaringTreemap>,
    sample_path: &str,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let metadata = footer::read(&object, options.scan_budget)?;
    let columns = columns(&metadata);
    // A cell takes two bytes at least in a text file: the budget means the same amount of work
    // here.
    let limits = Limits {
        bytes: options.scan_budget,
        cells: options.scan_budget / 2,
    };
    let rows = rows(&metadata);
    let complete = plan::packed(&metadata, &columns) <= limits.bytes
        && rows.saturating_mul(columns.len() as u64) <= limits.cells;
    let metadata = if complete {
        metadata
    } else {
        footer::with_page_index(metadata, &object, limits.bytes)
    };
    let live = Live::new(&metadata, deleted);
    let mut reading = Reading::new(object, (metadata, live), columns, sample_path, options)?;
    let complete = complete && reading.whole()?;
    if !complete {
        reading.sample()?;
        reading.profile(limits, sample_path)?;
    }
    Ok(reading.finish(complete, sample_path, options))
}

fn rows(metadata: &ParquetMetaData) -> u64 {
    metadata
        .row_groups()
        .iter()
        .map(|group| group.num_rows() as u64)
        .sum()
}

/// The table's columns whose values are read: all but those of bytes.
fn columns(metadata: &ParquetMetaData) -> Vec<Column> {
    let schema = metadata.file_metadata().schema_descr();
    let mut columns: Vec<Column> = Vec::new();
    for leaf in 0..schema.num_columns() {
        let root = schema.get_column_root_idx(leaf);
        let repeated = schema.column(leaf).max_rep_level() > 0;
        match columns.last_mut() {
            Some(column) if column.root == root => {
                column.leaves.end = leaf + 1;
                column.repeated |= repeated;
            }
            _ => columns.push(Column {
                root,
                leaves: leaf..leaf + 1,
                repeated,
                copied: false,
            }),
        }
    }
    columns
}
