//! The rows of a Parquet file: of the wanted columns only, without the row groups and pages that no wanted row is in.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::Schema;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReaderBuilder, RowSelectionPolicy,
};
use parquet::file::metadata::ParquetMetaData;

use super::columns;
use super::footer::{self, broken};
use super::object::{Chunk, ObjectReader};
use super::plan::{self, Column};
use crate::ReadOptions;
use crate::batches::{Sink, Stop, Wanted};
use crate::ranged::Ranged;
use crate::test::{Bounds, Test};
use crate::typed::decoding;

/// Ranges at most this far apart are fetched together.
const GAP: u64 = 64 << 10;
/// Bytes of a row group that are fetched ahead; of a larger one windows of each column.
const AHEAD: u64 = 64 << 20;
const WINDOW: u64 = 1 << 20;

/// Reads rows, on a thread outside the runtime.
pub(crate) fn read(
    object: Ranged,
    wanted: &Wanted,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let object = ObjectReader::new(object, options.scan_budget);
    let metadata = footer::read(&object, options.scan_budget)?;
    let all = columns(&metadata);
    let metadata = match wanted.tests.is_empty() || wanted.numbered {
        true => metadata,
        false => footer::with_indexes(metadata, &object, options.scan_budget),
    };
    let arrow = footer::arrow(metadata, &object)?;
    Rows::new(object, arrow, all, wanted).read(sink)
}

/// One file while its rows are read.
struct Rows<'a> {
    object: ObjectReader,
    arrow: ArrowReaderMetadata,
    /// The wanted columns in file order, and of each wanted one its place there.
    columns: Vec<Column>,
    order: Vec<usize>,
    wanted: &'a Wanted,
}

impl<'a> Rows<'a> {
    fn new(
        object: ObjectReader,
        arrow: ArrowReaderMetadata,
        all: Vec<Column>,
        wanted: &'a Wanted,
    ) -> Rows<'a> {
        let is_wanted = |column: &Column| wanted.columns.contains(&column.root);
        let chosen = all.into_iter().filter(is_wanted);
        let columns: Vec<Column> = chosen
            .map(|column| Column {
                copied: footer::copies(&arrow, &column),
                ..column
            })
            .collect();
        let place = |root: &usize| columns.iter().position(|column| column.root == *root);
        Rows {
            order: wanted.columns.iter().filter_map(place).collect(),
            object,
            arrow,
            columns,
            wanted,
        }
    }

    fn read(self, sink: &mut Sink) -> Result<(), Stop> {
        if self.order.len() != self.wanted.columns.len() {
            return Err(footer::corrupt("it has other columns than when it was indexed").into());
        }
        let metadata = self.arrow.metadata().clone();
        let mut first_row = 0;
        for (i, group) in metadata.row_groups().iter().enumerate() {
            let rows = group.num_rows() as u64;
            let begins = group
                .columns()
                .iter()
                .map(|chunk| chunk.byte_range().0)
                .min();
            let is_here = begins.is_none_or(|at| self.wanted.bytes.contains(&at));
            if is_here && self.may_pass(&metadata, i) {
                self.group(i, rows, first_row, sink)?;
            }
            first_row += rows;
        }
        Ok(())
    }

    /// The statistics of a tested column, if it has any to go by.
    fn statistics<'m>(
        &'m self,
        metadata: &'m ParquetMetaData,
        place: usize,
    ) -> Option<(StatisticsConverter<'m>, usize)> {
        let column = &self.columns[self.order[place]];
        let field = self.arrow.schema().field(column.root);
        if column.leaves.len() != 1 || field.data_type().is_nested() {
            return None;
        }
        let leaf = column.leaves.start;
        // Old writers ordered text by signed bytes.
        let mut groups = metadata.row_groups().iter();
        let is_sound = groups.all(|group| {
            let known = group.column(leaf).statistics();
            known.is_none_or(|known| !known.is_min_max_deprecated())
        });
        let schema = metadata.file_metadata().schema_descr();
        let converter = StatisticsConverter::from_column_index(leaf, field, schema).ok()?;
        let converter = converter.with_missing_null_counts_as_zero(false);
        is_sound.then_some((converter, leaf))
    }

    /// Whether a row group may have rows that pass all tests.
    fn may_pass(&self, metadata: &ParquetMetaData, group: usize) -> bool {
        let row_group = metadata.row_group(group);
        self.wanted.tests.iter().all(|(place, test)| {
            let bounds = self.statistics(metadata, *place).and_then(|(known, _)| {
                let one = || std::iter::once(row_group);
                let nulls = known.row_group_null_counts(one()).ok()?;
                let counted = nulls.iter().next().flatten();
                bounds(
                    (
                        known.row_group_mins(one()).ok()?,
                        known.row_group_maxes(one()).ok()?,
                    ),
                    test,
                    (counted, row_group.num_rows() as u64),
                )
            });
            bounds.is_none_or(|bounds| test.may_pass(&bounds))
        })
    }

    /// The rows of a group whose pages may have rows that pass all tests.
    fn rows_that_may_pass(&self, group: usize, rows: u64) -> Vec<Range<u64>> {
        let metadata = self.arrow.metadata();
        let mut ranges = std::iter::once(0..rows).collect::<Vec<_>>();
        if self.wanted.numbered {
            return ranges;
        }
        for (place, test) in &self.wanted.tests {
            if let Some(pages) = self.pages(metadata, group, *place, test) {
                ranges = plan::both(&ranges, &pages);
            }
        }
        ranges
    }

    /// The rows of a tested column's pages that may pass.
    fn pages(
        &self,
        metadata: &ParquetMetaData,
        group: usize,
        place: usize,
        test: &Test,
    ) -> Option<Vec<Range<u64>>> {
        let (known, leaf) = self.statistics(metadata, place)?;
        let (index, offsets) = (metadata.column_index()?, metadata.offset_index()?);
        let rows = metadata.row_group(group).num_rows() as u64;
        let pages = offsets.get(group)?.get(leaf)?.page_locations();
        let mins = known.data_page_mins(index, offsets, [&group]).ok()?;
        let maxes = known.data_page_maxes(index, offsets, [&group]).ok()?;
        let nulls = known.data_page_null_counts(index, offsets, [&group]).ok()?;
        if [mins.len(), maxes.len()] != [pages.len(); 2] {
            return None;
        }
        let first = |page: usize| pages.get(page).map(|it| it.first_row_index.max(0) as u64);
        let passing = (0..pages.len()).filter_map(|page| {
            let range = first(page)?..first(page + 1).unwrap_or(rows);
            let counted = nulls.iter().nth(page).flatten();
            let known = (mins.slice(page, 1), maxes.slice(page, 1));
            let bounds = bounds(known, test, (counted, range.end - range.start));
            bounds.is_none_or(|it| test.may_pass(&it)).then_some(range)
        });
        Some(passing.collect())
    }

    /// Reads the rows of a group.
    fn group(&self, group: usize, rows: u64, first_row: u64, sink: &mut Sink) -> Result<(), Stop> {
        let metadata = self.arrow.metadata().clone();
        let row_group = metadata.row_group(group);
        let mut ranges = self.rows_that_may_pass(group, rows);
        if self.columns.is_empty() {
            return self.empty(
                ranges.iter().map(|it| it.end - it.start).sum(),
                first_row,
                sink,
            );
        }
        for column in self.columns.iter().filter(|column| column.repeated) {
            ranges = plan::whole_pages(&metadata, group, column, &ranges);
        }
        let chunks = self.columns.iter().flat_map(|column| {
            let copied = column.copied;
            let chunk = move |bytes: Range<u64>| {
                (
                    bytes.start,
                    Chunk {
                        end: bytes.end,
                        copied,
                    },
                )
            };
            column.chunks(row_group).map(chunk)
        });
        let has_index = metadata.offset_index().is_some();
        self.object.expect(chunks, WINDOW, has_index);
        let selection = plan::selection(&ranges, rows);
        let wanted = plan::page_ranges(&metadata, group, &self.columns, &selection);
        let wanted = wanted.unwrap_or_else(|| {
            let columns = self.columns.iter();
            columns
                .flat_map(|column| column.chunks(row_group))
                .collect()
        });
        let bytes: u64 = wanted
            .iter()
            .map(|it| it.end.saturating_sub(it.start))
            .sum();
        if bytes <= AHEAD {
            let fetched = self.object.prefetch(wanted, GAP);
            fetched.map_err(|error| broken(&error, &self.object))?;
        }
        let roots = self.columns.iter().map(|column| column.root);
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.object.clone(),
            self.arrow.clone(),
        )
        .with_projection(ProjectionMask::roots(self.arrow.parquet_schema(), roots))
        .with_row_groups(vec![group])
        .with_row_selection(selection)
        .with_row_selection_policy(RowSelectionPolicy::Selectors)
        .with_batch_size(plan::batch_rows(&self.columns, row_group))
        .build()
        .map_err(|error| broken(&error, &self.object))?;
        let mut done = 0;
        for batch in batches {
            let batch = batch.map_err(|error| broken(&error.into(), &self.object))?;
            let rows = batch.num_rows() as u64;
            let batch = batch.project(&self.order);
            let batch = batch.map_err(|error| decoding(&error.to_string()))?;
            sink.give_at(first_row + done, batch)?;
            done += rows;
        }
        self.object.forget();
        Ok(())
    }

    /// Rows of which no column is wanted.
    fn empty(&self, rows: u64, first_row: u64, sink: &mut Sink) -> Result<(), Stop> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        let schema = Arc::new(Schema::empty());
        let batch = RecordBatch::try_new_with_options(schema, Vec::new(), &options);
        sink.give_at(
            first_row,
            batch.map_err(|error| decoding(&error.to_string()))?,
        )
    }
}

/// What statistics say of some rows, in the type of a test's values; none where they say nothing.
fn bounds(
    (min, max): (ArrayRef, ArrayRef),
    test: &Test,
    (nulls, rows): (Option<u64>, u64),
) -> Option<Bounds> {
    let to = |array: ArrayRef| match test.data_type() {
        Some(data_type) => cast(&array, data_type).ok(),
        None => Some(array),
    };
    Some(Bounds {
        min: to(min)?,
        max: to(max)?,
        has_nulls: nulls != Some(0),
        has_values: nulls != Some(rows),
    })
}
