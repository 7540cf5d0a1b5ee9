//! One Parquet file while it is read: which rows' values are decoded, and what becomes of them.

use std::ops::Range;

use arrow::array::RecordBatch;
use arrow::datatypes::FieldRef;
use limn_profile::FileSummary;
use limn_profile::sample::draw_from;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
    RowSelectionPolicy,
};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

use super::footer::{self, broken};
use super::live::Live;
use super::object::{Chunk, ObjectReader};
use super::plan::{self, Column, Limits};
use super::statistics;
use crate::live::living;
use crate::typed::{Outcome, Purpose, Typed, decoding};
use crate::{Failure, ReadOptions, documented};

/// Ranges at most this far apart are fetched together: a request costs more.
const GAP: u64 = 64 << 10;
/// Likewise between pages of an index, which were kept apart on purpose.
const PAGE_GAP: u64 = 4 << 10;

/// One file while it is read.
pub(super) struct Reading {
    object: ObjectReader,
    arrow: ArrowReaderMetadata,
    typed: Typed,
    /// All columns, and those whose values are read.
    all: Vec<Column>,
    columns: Vec<Column>,
    live: Live,
    /// Bytes that may be held undecoded.
    memory: u64,
    seed: u64,
    page_index: bool,
}

impl Reading {
    pub(super) fn new(
        object: ObjectReader,
        (metadata, live): (ParquetMetaData, Live),
        all: Vec<Column>,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Result<Reading, Failure> {
        let page_index = metadata.offset_index().is_some();
        let arrow = footer::arrow(metadata, &object)?;
        let fields: Vec<FieldRef> = arrow.schema().fields().iter().cloned().collect();
        let drawn = draw_from(
            options.seed,
            sample_path,
            live.ranges(),
            options.sample_rows,
        );
        let mut typed = Typed::new(fields, drawn, options);
        let schema = arrow.schema();
        let names = schema.fields().iter().map(|it| it.name().as_str());
        typed.document(documented::file(schema.metadata(), names));
        Ok(Reading {
            columns: all
                .iter()
                .filter(|column| !typed.is_bytes(column.root))
                .cloned()
                .map(|column| Column {
                    copied: footer::copies(&arrow, &column),
                    ..column
                })
                .collect(),
            typed,
            object,
            arrow,
            all,
            live,
            memory: options.scan_budget,
            seed: options.seed,
            page_index,
        })
    }

    /// Reads every value, each once. False: they are too much text, and not all were read.
    pub(super) fn whole(&mut self) -> Result<bool, Failure> {
        let metadata = self.arrow.metadata().clone();
        let chunks = metadata
            .row_groups()
            .iter()
            .flat_map(|group| self.columns.iter().flat_map(|c| c.chunks(group)));
        let chunks: Vec<_> = chunks.collect();
        self.object
            .prefetch(chunks, GAP)
            .map_err(|error| broken(&error, &self.object))?;
        for group in 0..metadata.num_row_groups() {
            let rows = self.live.in_group(group);
            self.slice(group, &rows, Purpose::Both)?;
        }
        self.object.forget();
        Ok(!self.typed.is_full())
    }

    /// Reads the drawn rows.
    pub(super) fn sample(&mut self) -> Result<(), Failure> {
        let metadata = self.arrow.metadata().clone();
        for (i, group) in metadata.row_groups().iter().enumerate() {
            let first = self.live.first_row(i);
            let rows: Vec<Range<u64>> = self
                .typed
                .drawn()
                .iter()
                .filter(|&&row| (first..first + group.num_rows() as u64).contains(&row))
                .map(|row| row - first..row - first + 1)
                .collect();
            if !rows.is_empty() {
                self.slice(i, &rows, Purpose::Sample)?;
            }
        }
        Ok(())
    }

    /// Reads slices of rows for the profile.
    pub(super) fn profile(&mut self, limits: Limits, sample_path: &str) -> Result<(), Failure> {
        let metadata = self.arrow.metadata().clone();
        let slices = plan::slices(
            &metadata,
            &self.columns,
            limits,
            self.page_index,
            self.seed,
            sample_path,
        );
        let before = self.object.fetched();
        for slice in slices {
            // Pages are read whole, so a plan in rows can only be about right.
            if self.typed.is_full() || self.object.fetched() - before > limits.bytes {
                break;
            }
            let rows = plan::both(&[slice.rows], &self.live.in_group(slice.group));
            self.slice(slice.group, &rows, Purpose::Profile)?;
        }
        Ok(())
    }

    /// Reads these rows of a row group, a few columns at a time.
    fn slice(
        &mut self,
        group: usize,
        rows: &[Range<u64>],
        purpose: Purpose,
    ) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        let metadata = self.arrow.metadata().clone();
        let columns = std::mem::take(&mut self.columns);
        let result = plan::column_groups(&columns, metadata.row_group(group), self.memory)
            .into_iter()
            .try_for_each(|columns| self.columns_of(group, columns, rows, purpose));
        self.columns = columns;
        result
    }

    fn columns_of(
        &mut self,
        group: usize,
        columns: &[Column],
        rows: &[Range<u64>],
        purpose: Purpose,
    ) -> Result<(), Failure> {
        let metadata = self.arrow.metadata().clone();
        let row_group = metadata.row_group(group);
        let all_rows = row_group.num_rows() as u64;
        let widened;
        let rows = match columns {
            [column] if column.repeated => {
                widened = plan::whole_pages(&metadata, group, column, rows);
                &widened
            }
            _ => rows,
        };
        let selection = plan::selection(rows, all_rows);
        self.expect(columns, row_group);
        if purpose != Purpose::Both {
            self.ahead(group, columns, rows, &selection, purpose)?;
        }
        let batches = self.batches(group, columns, selection)?;
        let expected: u64 = rows.iter().map(|range| range.end - range.start).sum();
        let mut decoded = rows.iter().cloned().flatten();
        let mut done = 0;
        for batch in batches {
            let batch = batch.map_err(|error| broken(&error.into(), &self.object))?;
            let numbers: Vec<u64> = decoded.by_ref().take(batch.num_rows()).collect();
            self.take(group, columns, (&batch, &numbers), purpose)?;
            done += batch.num_rows();
            if purpose != Purpose::Sample && self.typed.is_full() {
                break;
            }
        }
        let stopped = purpose != Purpose::Sample && self.typed.is_full();
        if purpose != Purpose::Both {
            self.object.forget();
        }
        if !stopped && done as u64 != expected {
            return Err(footer::corrupt(format!(
                "a row group has {done} rows where {expected} are promised"
            )));
        }
        Ok(())
    }

    /// Says to the object what of it will be read, and in which order.
    fn expect(&self, columns: &[Column], row_group: &RowGroupMetaData) {
        let leaves: u64 = columns
            .iter()
            .map(|column| column.leaves.len() as u64)
            .sum();
        let window = (self.memory / (2 * leaves.max(1))).clamp(64 << 10, 1 << 20);
        let chunks = columns.iter().flat_map(|column| {
            let copied = column.copied;
            let of = move |bytes: Range<u64>| {
                (
                    bytes.start,
                    Chunk {
                        end: bytes.end,
                        copied,
                    },
                )
            };
            column.chunks(row_group).map(of)
        });
        self.object.expect(chunks, window, self.page_index);
    }

    /// The reader of selected rows of a group.
    fn batches(
        &self,
        group: usize,
        columns: &[Column],
        selection: RowSelection,
    ) -> Result<ParquetRecordBatchReader, Failure> {
        let row_group = self.arrow.metadata().row_group(group);
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.object.clone(), self.arrow.clone())
            .with_projection(ProjectionMask::roots(
                self.arrow.parquet_schema(),
                columns.iter().map(|column| column.root),
            ))
            .with_row_groups(vec![group])
            .with_row_selection(selection)
            // The other policy decodes what it skips.
            .with_row_selection_policy(RowSelectionPolicy::Selectors)
            .with_batch_size(plan::batch_rows(columns, row_group))
            .build()
            .map_err(|error| broken(&error, &self.object))
    }

    /// Takes the rows with these numbers that are live.
    fn take(
        &mut self,
        group: usize,
        columns: &[Column],
        (batch, numbers): (&RecordBatch, &[u64]),
        purpose: Purpose,
    ) -> Result<(), Failure> {
        let first = self.live.first_row(group);
        let mask = self.live.mask(group, numbers.iter().copied());
        // Where among the live rows the drawn ones are, which all are live.
        let place = |row: u64| {
            let at = numbers.binary_search(&row.checked_sub(first)?).ok()?;
            Some(match &mask {
                Some(mask) => mask.slice(0, at).true_count(),
                None => at,
            })
        };
        let drawn = self.typed.drawn().iter().enumerate();
        let picks: Vec<(usize, usize)> = drawn
            .filter_map(|(drawn, row)| Some((place(*row)?, drawn)))
            .collect();
        for (column, array) in columns.iter().zip(batch.columns()) {
            let array = living(array, mask.as_ref());
            let array = array.map_err(|error| decoding(&error.to_string()))?;
            let array = self.typed.named(column.root, &array)?;
            self.typed.take(column.root, &array, &picks, purpose);
        }
        Ok(())
    }

    /// Fetches ahead what a slice is known to need.
    fn ahead(
        &self,
        group: usize,
        columns: &[Column],
        rows: &[Range<u64>],
        selection: &RowSelection,
        purpose: Purpose,
    ) -> Result<(), Failure> {
        let metadata = self.arrow.metadata();
        let row_group = metadata.row_group(group);
        let pages = plan::page_ranges(metadata, group, columns, selection);
        let (ranges, gap) = if let Some(ranges) = pages {
            (ranges, PAGE_GAP)
        } else {
            // A slice at the row group's beginning needs about that share of each chunk; a drawn
            // row may be anywhere.
            let last = rows.last().map_or(0, |range| range.end);
            let share = last as f64 / row_group.num_rows().max(1) as f64;
            let part = |chunk: Range<u64>| {
                let length = chunk.end - chunk.start;
                let wanted = (length as f64 * share) as u64 + GAP;
                chunk.start
                    ..chunk.start
                        + if purpose == Purpose::Profile {
                            wanted.min(length)
                        } else {
                            length
                        }
            };
            (
                columns
                    .iter()
                    .flat_map(|column| column.chunks(row_group))
                    .map(part)
                    .collect(),
                GAP,
            )
        };
        let bytes: u64 = ranges
            .iter()
            .map(|range| range.end.saturating_sub(range.start))
            .sum();
        // Beyond that, windows: more requests, but flat memory.
        if bytes <= self.memory {
            self.object
                .prefetch(ranges, gap)
                .map_err(|error| broken(&error, &self.object))?;
        }
        Ok(())
    }

    pub(super) fn finish(
        mut self,
        complete: bool,
        sample_path: &str,
        options: &ReadOptions,
    ) -> FileSummary {
        let metadata = self.arrow.metadata().clone();
        let rows = self.live.rows();
        for column in &self.all {
            let is_bytes = self.typed.is_bytes(column.root);
            if (complete && !is_bytes) || column.leaves.len() != 1 {
                continue;
            }
            let field = &self.typed.fields()[column.root];
            // What the footer says is of deleted rows, too.
            let known = if field.data_type().is_nested() || !self.live.are_all() {
                statistics::Known::default()
            } else {
                statistics::known(&metadata, column.leaves.start, field)
            };
            let values = known.nulls.map(|nulls| rows.saturating_sub(nulls));
            self.typed.known(
                column.root,
                (known.min.as_deref(), known.max.as_deref()),
                known.nulls,
                values.or(is_bytes.then_some(rows)),
            );
        }
        let outcome = Outcome {
            rows,
            rows_exact: true,
            complete,
            notes: Vec::new(),
        };
        self.typed.finish(outcome, sample_path, options)
    }
}
