//! The rows of a Parquet file: of the wanted columns only, without the row groups and pages that no
//! wanted row is in. Columns of a filter are read first where the others have more bytes, and those
//! then only of rows that pass.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::{SlicesIterator, and, cast, prep_null_mask_filter};
use arrow::datatypes::{DataType as Arrow, Schema};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
    RowSelectionPolicy,
};
use parquet::file::metadata::ParquetMetaData;
use roaring::RoaringTreemap;

use super::columns;
use super::footer::{self, broken};
use super::live::Live;
use super::object::{Chunk, ObjectReader};
use super::plan::{self, Column};
use crate::batches::{BATCH_ROWS, Sink, Stop, Wanted};
use crate::ranged::Ranged;
use crate::room::{Held, Room};
use crate::scanned::Choice;
use crate::test::Side;
use crate::test::{Bounds, Test};
use crate::typed::decoding;
use crate::{Failure, ReadOptions};

/// Ranges at most this far apart are fetched together.
const GAP: u64 = 64 << 10;
/// Bytes of a row group that are fetched ahead; of a larger one windows of each column.
const AHEAD: u64 = 64 << 20;
const WINDOW: u64 = 1 << 20;

/// Reads rows, on a thread outside the runtime.
pub(crate) fn read(
    object: Ranged,
    deleted: Option<RoaringTreemap>,
    wanted: &Wanted,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let object = ObjectReader::new(object, options.scan_budget);
    let metadata = footer::read(&object, options.scan_budget)?;
    let (all, live) = (columns(&metadata), Live::new(&metadata, deleted));
    let metadata = match wanted.tests.is_empty() || wanted.numbered {
        true => metadata,
        false => footer::with_indexes(metadata, &object, options.scan_budget),
    };
    let arrow = footer::arrow(metadata, &object)?;
    Rows::new(object, (arrow, live), all, wanted, options.room.clone()).read(sink)
}

/// As [`read`], of columns that are chosen by the file's schema.
pub(crate) fn chosen(
    object: Ranged,
    choice: &Choice,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let object = ObjectReader::new(object, options.scan_budget);
    let metadata = footer::read(&object, options.scan_budget)?;
    let (all, live) = (columns(&metadata), Live::new(&metadata, None));
    let arrow = footer::arrow(metadata, &object)?;
    let columns = choice(arrow.schema());
    let names = columns
        .iter()
        .map(|column| arrow.schema().field(*column).name().clone());
    let names = names.collect();
    let wanted = Wanted::all_rows(columns, names);
    Rows::new(object, (arrow, live), all, &wanted, options.room.clone()).read(sink)
}

/// One file while its rows are read.
struct Rows<'a> {
    object: ObjectReader,
    arrow: ArrowReaderMetadata,
    live: Live,
    /// The wanted columns in file order, and of each wanted one its place there.
    columns: Vec<Column>,
    order: Vec<usize>,
    wanted: &'a Wanted,
    room: Room,
}

/// Rows of a group on their way, and which rows of it they are.
struct Decoded {
    batches: ParquetRecordBatchReader,
    ranges: Vec<Range<u64>>,
}

impl<'a> Rows<'a> {
    fn new(
        object: ObjectReader,
        (arrow, live): (ArrowReaderMetadata, Live),
        all: Vec<Column>,
        wanted: &'a Wanted,
        room: Room,
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
            live,
            columns,
            wanted,
            room,
        }
    }

    fn read(self, sink: &mut Sink) -> Result<(), Stop> {
        if self.order.len() != self.wanted.columns.len() {
            return Err(footer::corrupt("it has other columns than when it was indexed").into());
        }
        let metadata = self.arrow.metadata().clone();
        let mut left = self.wanted.limit;
        for (i, group) in metadata.row_groups().iter().enumerate() {
            let rows = group.num_rows() as u64;
            let begins = group
                .columns()
                .iter()
                .map(|chunk| chunk.byte_range().0)
                .min();
            let is_here = begins.is_none_or(|at| self.wanted.bytes.contains(&at));
            if left > 0 && is_here && self.may_pass(&metadata, i) {
                let read = self.group(i, rows, left, sink)?;
                left = left.saturating_sub(read);
            }
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

    /// The type that the file gives a wanted column.
    fn type_of(&self, place: usize) -> &Arrow {
        let column = &self.columns[self.order[place]];
        self.arrow.schema().field(column.root).data_type()
    }

    /// Whether a row group may have rows that pass all tests.
    fn may_pass(&self, metadata: &ParquetMetaData, group: usize) -> bool {
        let row_group = metadata.row_group(group);
        self.wanted.tests.iter().all(|(place, to, test)| {
            let bounds = self.statistics(metadata, *place).and_then(|(known, _)| {
                let one = || std::iter::once(row_group);
                let nulls = known.row_group_null_counts(one()).ok()?;
                let counted = nulls.iter().next().flatten();
                let mins = known.row_group_mins(one()).ok()?;
                let maxes = known.row_group_maxes(one()).ok()?;
                let rows = row_group.num_rows() as u64;
                Some(bounds(
                    self.type_of(*place),
                    to,
                    (mins, maxes),
                    (counted, rows),
                ))
            });
            bounds.is_none_or(|bounds| test.may_pass(&bounds))
        })
    }

    /// The live rows of a group whose pages may have rows that pass all tests.
    fn rows_that_may_pass(&self, group: usize) -> Vec<Range<u64>> {
        let metadata = self.arrow.metadata();
        let mut ranges = self.live.in_group(group);
        if self.wanted.numbered {
            return ranges;
        }
        for (place, to, test) in &self.wanted.tests {
            if let Some(pages) = self.pages(metadata, group, *place, (to, test)) {
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
        (to, test): (&Arrow, &Test),
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
            let counts = (counted, range.end - range.start);
            let bounds = bounds(self.type_of(place), to, known, counts);
            test.may_pass(&bounds).then_some(range)
        });
        Some(passing.collect())
    }

    /// Reads rows of a group, as many as are left; how many these are.
    fn group(&self, group: usize, rows: u64, left: u64, sink: &mut Sink) -> Result<u64, Stop> {
        let mut ranges = plan::first(self.rows_that_may_pass(group), left);
        if count(&ranges) == 0 {
            return Ok(0);
        }
        if self.columns.is_empty() {
            return self.empty(group, &ranges, sink).map(|()| count(&ranges));
        }
        let tested = self.tested_first(group);
        // What is read for them is kept for the batches.
        let mut _tested = None;
        if !tested.is_empty() {
            (ranges, _tested) = self.rows_that_pass(group, &tested, ranges)?;
            if ranges.is_empty() {
                self.object.forget();
                return Ok(0);
            }
        }
        let is_all = left >= rows;
        let (decoded, _held) = self.decode(group, &self.columns, &ranges, is_all)?;
        let batches = decoded.batches;
        let mut decoded = decoded.ranges.into_iter().flatten();
        let mut given = 0;
        for batch in batches {
            let batch = batch.map_err(|error| broken(&error.into(), &self.object))?;
            let numbers: Vec<u64> = decoded.by_ref().take(batch.num_rows()).collect();
            let failed = |error: ArrowError| decoding(&error.to_string());
            let batch = batch.project(&self.order).map_err(failed)?;
            given += self.give(group, batch, &numbers, sink)?;
        }
        self.object.forget();
        Ok(given)
    }

    /// Gives the live ones of decoded rows of a group, which have these numbers in it; how many
    /// these are.
    fn give(
        &self,
        group: usize,
        batch: RecordBatch,
        numbers: &[u64],
        sink: &mut Sink,
    ) -> Result<u64, Stop> {
        let first = self.live.first_row(group) + numbers.first().copied().unwrap_or_default();
        let Some(mask) = self.live.mask(group, numbers.iter().copied()) else {
            // Without gaps where it matters which rows they are.
            let runs = numbers.chunk_by(|a, b| !self.wanted.numbered || a + 1 == *b);
            let mut at = 0;
            for run in runs {
                let rows = batch.slice(at, run.len());
                sink.give_at(first + run[0] - numbers[0], rows)?;
                at += run.len();
            }
            return Ok(numbers.len() as u64);
        };
        let mut given = 0;
        for (from, to) in SlicesIterator::new(&mask) {
            given += self.give(
                group,
                batch.slice(from, to - from),
                &numbers[from..to],
                sink,
            )?;
        }
        Ok(given)
    }

    /// Decodes these columns of these rows of a group, and which rows come, as pages of lists are
    /// decoded whole. Of a few rows without a page index the first windows are enough, of all
    /// (`is_all`) everything is fetched ahead.
    fn decode(
        &self,
        group: usize,
        columns: &[Column],
        ranges: &[Range<u64>],
        is_all: bool,
    ) -> Result<(Decoded, Option<Held>), Failure> {
        let metadata = self.arrow.metadata().clone();
        let row_group = metadata.row_group(group);
        let mut ranges = ranges.to_vec();
        for column in columns.iter().filter(|column| column.repeated) {
            ranges = plan::whole_pages(&metadata, group, column, &ranges);
        }
        let chunks = columns.iter().flat_map(|column| {
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
        let selection = plan::selection(&ranges, row_group.num_rows() as u64);
        let wanted = plan::page_ranges(&metadata, group, columns, &selection);
        let wanted = wanted.unwrap_or_else(|| {
            let columns = columns.iter();
            columns
                .flat_map(|column| column.chunks(row_group))
                .collect()
        });
        let held = (has_index || is_all).then(|| self.prefetch(wanted));
        let held = held.transpose()?.flatten();
        let roots = columns.iter().map(|column| column.root);
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.object.clone(),
            self.arrow.clone(),
        )
        .with_projection(ProjectionMask::roots(self.arrow.parquet_schema(), roots))
        .with_row_groups(vec![group])
        .with_row_selection(selection)
        .with_row_selection_policy(RowSelectionPolicy::Selectors)
        .with_batch_size(plan::batch_rows(columns, row_group))
        .build()
        .map_err(|error| broken(&error, &self.object))?;
        Ok((Decoded { batches, ranges }, held))
    }

    /// The tests that are made before other columns are read: those of columns that have the
    /// table's type in the file, if all other columns have more bytes in the group than they.
    fn tested_first(&self, group: usize) -> Vec<(Column, &'a Test)> {
        if self.wanted.numbered {
            return Vec::new();
        }
        let tests = self.wanted.tests.iter();
        let exact = tests.filter(|(place, to, _)| self.type_of(*place) == to);
        let tested = exact.map(|(place, _, test)| (self.columns[self.order[*place]].clone(), test));
        let tested: Vec<(Column, &Test)> = tested.filter(|(it, _)| !it.repeated).collect();
        let is_tested = |column: &Column| tested.iter().any(|(it, _)| it.root == column.root);
        let row_group = self.arrow.metadata().row_group(group);
        let bytes = |is_wanted: &dyn Fn(&Column) -> bool| -> u64 {
            let columns = self.columns.iter().filter(|column| is_wanted(column));
            let chunks = columns.flat_map(|column| column.chunks(row_group));
            chunks.map(|chunk| chunk.end - chunk.start).sum()
        };
        match bytes(&|column| !is_tested(column)) > bytes(&is_tested) {
            true => tested,
            false => Vec::new(),
        }
    }

    /// Those among some rows of a group that pass tests; and what is held for it.
    fn rows_that_pass(
        &self,
        group: usize,
        tests: &[(Column, &Test)],
        ranges: Vec<Range<u64>>,
    ) -> Result<(Vec<Range<u64>>, Option<Held>), Stop> {
        let mut columns: Vec<Column> = tests.iter().map(|(column, _)| column.clone()).collect();
        columns.sort_by_key(|column| column.root);
        columns.dedup_by_key(|column| column.root);
        let (decoded, held) = self.decode(group, &columns, &ranges, true)?;
        let (mut passing, mut done) = (Vec::new(), 0);
        for batch in decoded.batches {
            let batch = batch.map_err(|error| broken(&error.into(), &self.object))?;
            let failed = |error: ArrowError| decoding(&error.to_string());
            let mut all = BooleanArray::from(vec![true; batch.num_rows()]);
            for (column, test) in tests {
                let place = columns.iter().position(|it| it.root == column.root);
                let values = batch.column(place.unwrap_or_default());
                all = and(&all, &test.of(values).map_err(failed)?).map_err(failed)?;
            }
            let all = match all.null_count() {
                0 => all,
                _ => prep_null_mask_filter(&all),
            };
            let rows = SlicesIterator::new(&all)
                .map(|(from, to)| done + from as u64..done + to as u64)
                .collect::<Vec<_>>();
            passing.extend(rows);
            done += batch.num_rows() as u64;
        }
        Ok((plan::among(&ranges, &passing), held))
    }

    /// Fetches ranges ahead if there is room for them; the rest is fetched window by window.
    fn prefetch(&self, ranges: Vec<Range<u64>>) -> Result<Option<Held>, Failure> {
        let bytes = ranges.iter().map(|it| it.end.saturating_sub(it.start));
        let bytes: u64 = bytes.sum();
        let held = match bytes <= AHEAD {
            true => self.room.try_hold(bytes),
            false => None,
        };
        if held.is_some() {
            let fetched = self.object.prefetch(ranges, GAP);
            fetched.map_err(|error| broken(&error, &self.object))?;
        }
        Ok(held)
    }

    /// Rows of which no column is wanted, however many the footer claims: a batch at a time.
    fn empty(&self, group: usize, ranges: &[Range<u64>], sink: &mut Sink) -> Result<(), Stop> {
        let schema = Arc::new(Schema::empty());
        let first_row = self.live.first_row(group);
        // Which rows they are matters only where they are numbered.
        let all = 0..count(ranges);
        let ranges = match self.wanted.numbered {
            true => ranges,
            false => std::slice::from_ref(&all),
        };
        for range in ranges {
            for from in range.clone().step_by(BATCH_ROWS) {
                let length = (range.end - from).min(BATCH_ROWS as u64);
                let options = RecordBatchOptions::new().with_row_count(Some(length as usize));
                let batch = RecordBatch::try_new_with_options(schema.clone(), Vec::new(), &options);
                let batch = batch.map_err(|error| decoding(&error.to_string()))?;
                sink.give_at(first_row + from, batch)?;
            }
        }
        Ok(())
    }
}

/// How many rows these are.
fn count(ranges: &[Range<u64>]) -> u64 {
    ranges.iter().map(|it| it.end - it.start).sum()
}

/// What statistics say of some rows.
fn bounds(
    from: &Arrow,
    to: &Arrow,
    (min, max): (ArrayRef, ArrayRef),
    (nulls, rows): (Option<u64>, u64),
) -> Bounds {
    let has = (nulls != Some(0), nulls != Some(rows));
    Bounds::conformed(from, to, has, |side| {
        let bound = match side {
            Side::Min => &min,
            Side::Max => &max,
        };
        cast(bound, to).ok()
    })
}
