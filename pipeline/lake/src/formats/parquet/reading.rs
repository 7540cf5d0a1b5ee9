//! One Parquet file while it is read: which rows' values are decoded, and what becomes of them.

use std::ops::Range;

use arrow::array::RecordBatch;
use arrow::datatypes::FieldRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReaderBuilder, RowSelection, RowSelectionPolicy,
};
use parquet::file::metadata::ParquetMetaData;

use super::footer::{self, broken};
use super::object::{Chunk, ObjectReader};
use super::plan::{self, Column, Limits};
use super::render::{Renderer, Styles, data_type, prepare};
use super::{rows, statistics};
use crate::data_type::DataType;
use crate::formats::{Failure, ReadOptions, counted, names};
use crate::profile::{ColumnBuilder, ValueLimits};
use crate::sample::{CELL_CHARS, RowSampler, draw, prefix};
use crate::summary::FileSummary;

/// Ranges at most this far apart are fetched together: a request costs more.
const GAP: u64 = 64 << 10;
/// Likewise between pages of an index, which were told apart on purpose.
const PAGE_GAP: u64 = 4 << 10;
/// Budgets of text that a profile takes: a dictionary of few bytes may unpack to any number.
const TEXT_BUDGETS: u64 = 16;

/// One file while it is read.
pub(super) struct Reading {
    object: ObjectReader,
    arrow: ArrowReaderMetadata,
    fields: Vec<FieldRef>,
    kinds: Vec<DataType>,
    /// All columns, and those whose values are read.
    all: Vec<Column>,
    columns: Vec<Column>,
    builders: Vec<ColumnBuilder>,
    /// The first row of each row group.
    first_rows: Vec<u64>,
    /// The rows of the sample, ascending, and their cells.
    drawn: Vec<u64>,
    cells: Vec<Vec<Option<String>>>,
    /// Bytes that may be held undecoded.
    memory: u64,
    /// Bytes of text that the profile took, and may take.
    profiled: u64,
    most_profiled: u64,
    seed: u64,
    page_index: bool,
}

/// What a pass is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Profile,
    Sample,
    Both,
}

impl Reading {
    pub(super) fn new(
        object: ObjectReader,
        metadata: ParquetMetaData,
        all: Vec<Column>,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Result<Reading, Failure> {
        let page_index = metadata.offset_index().is_some();
        let arrow = footer::arrow(metadata, &object)?;
        let fields: Vec<FieldRef> = arrow.schema().fields().iter().cloned().collect();
        let kinds: Vec<DataType> = fields
            .iter()
            .map(|field| data_type(field.data_type()))
            .collect();
        let limits = ValueLimits::for_columns(fields.len());
        let builders = names::unique(fields.iter().map(|field| field.name()))
            .into_iter()
            .zip(&kinds)
            .map(|(name, kind)| {
                let mut builder = ColumnBuilder::with_limits(name, limits);
                builder.set_type(kind);
                builder
            })
            .collect();
        let mut first_rows = Vec::new();
        let mut total = 0;
        for group in arrow.metadata().row_groups() {
            first_rows.push(total);
            total += group.num_rows() as u64;
        }
        let drawn = draw(options.seed, sample_path, total, options.sample_rows);
        Ok(Reading {
            cells: vec![vec![None; fields.len()]; drawn.len()],
            columns: all
                .iter()
                .filter(|column| kinds[column.root] != DataType::Binary)
                .cloned()
                .map(|column| Column {
                    copied: footer::copies(&arrow, &column),
                    ..column
                })
                .collect(),
            object,
            arrow,
            fields,
            kinds,
            all,
            builders,
            first_rows,
            drawn,
            memory: options.scan_budget,
            profiled: 0,
            most_profiled: options
                .scan_budget
                .max(PAGE_GAP)
                .saturating_mul(TEXT_BUDGETS),
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
        for (i, group) in metadata.row_groups().iter().enumerate() {
            let rows = 0..group.num_rows() as u64;
            self.slice(i, std::slice::from_ref(&rows), Purpose::Both)?;
        }
        self.object.forget();
        Ok(!self.is_full())
    }

    /// Whether the profile has taken as much text as it may.
    fn is_full(&self) -> bool {
        self.profiled > self.most_profiled
    }

    /// Reads the drawn rows.
    pub(super) fn sample(&mut self) -> Result<(), Failure> {
        let metadata = self.arrow.metadata().clone();
        for (i, group) in metadata.row_groups().iter().enumerate() {
            let first = self.first_rows[i];
            let rows: Vec<Range<u64>> = self
                .drawn
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
            if self.is_full() || self.object.fetched() - before > limits.bytes {
                break;
            }
            self.slice(
                slice.group,
                std::slice::from_ref(&slice.rows),
                Purpose::Profile,
            )?;
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
        if purpose != Purpose::Both {
            self.ahead(group, columns, rows, &selection, purpose)?;
        }
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.object.clone(),
            self.arrow.clone(),
        )
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
        .map_err(|error| broken(&error, &self.object))?;

        // Where among the rows read the drawn ones are.
        let mut picks: Vec<(usize, usize)> = Vec::new();
        let mut expected = 0;
        for range in rows {
            for (i, row) in self.drawn.iter().enumerate() {
                if let Some(row) = row.checked_sub(self.first_rows[group])
                    && range.contains(&row)
                {
                    picks.push(((expected + row - range.start) as usize, i));
                }
            }
            expected += range.end - range.start;
        }
        let mut done = 0;
        for batch in batches {
            let batch = batch.map_err(|error| broken(&error.into(), &self.object))?;
            self.batch(columns, &batch, done, &picks, purpose);
            done += batch.num_rows();
            if purpose != Purpose::Sample && self.is_full() {
                break;
            }
        }
        let stopped = purpose != Purpose::Sample && self.is_full();
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

    /// Takes a batch's values. `done` rows of the slice came before; `picks` says which of the slice's
    /// rows are drawn.
    fn batch(
        &mut self,
        columns: &[Column],
        batch: &RecordBatch,
        done: usize,
        picks: &[(usize, usize)],
        purpose: Purpose,
    ) {
        let styles = Styles::default();
        let mut buffer = String::new();
        for (column, array) in columns.iter().zip(batch.columns()) {
            let root = column.root;
            let array = prepare(array);
            let mut renderer = Renderer::new(&self.fields[root], &array, &styles);
            if purpose != Purpose::Profile {
                for (place, drawn) in picks {
                    if let Some(i) = place.checked_sub(done).filter(|i| *i < batch.num_rows()) {
                        let text = renderer.text(i, &mut buffer);
                        self.cells[*drawn][root] =
                            text.map(|text| prefix(text, CELL_CHARS).to_owned());
                    }
                }
            }
            if purpose != Purpose::Sample {
                let (builder, kind) = (&mut self.builders[root], &self.kinds[root]);
                for i in 0..batch.num_rows() {
                    if self.profiled > self.most_profiled {
                        break;
                    }
                    let text = renderer.text(i, &mut buffer);
                    self.profiled += text.map_or(0, |text| text.len() as u64);
                    builder.push_typed(kind, text);
                }
            }
        }
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
        let pages = metadata.offset_index().and_then(|index| index.get(group));
        let (ranges, gap) = if let Some(pages) = pages {
            let mut ranges = Vec::new();
            for leaf in columns.iter().flat_map(|column| column.leaves.clone()) {
                let Some(pages) = pages.get(leaf) else {
                    continue;
                };
                let start = row_group.column(leaf).byte_range().0;
                if let Some(first) = pages.page_locations().first() {
                    // What stands before the first page is the dictionary.
                    ranges.push(start..(first.offset.max(0) as u64).max(start));
                }
                ranges.extend(selection.scan_ranges(pages.page_locations()));
            }
            (ranges, PAGE_GAP)
        } else {
            // A slice at the row group's beginning needs about that share of each chunk; a drawn row
            // may be anywhere.
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
    ) -> Result<FileSummary, Failure> {
        let metadata = self.arrow.metadata().clone();
        let rows = rows(&metadata);
        for column in &self.all {
            let is_bytes = self.kinds[column.root] == DataType::Binary;
            if (complete && !is_bytes) || column.leaves.len() != 1 {
                continue;
            }
            let field = &self.fields[column.root];
            let known = if field.data_type().is_nested() {
                statistics::Known::default()
            } else {
                statistics::known(&metadata, column.leaves.start, field)
            };
            let values = known.nulls.map(|nulls| rows.saturating_sub(nulls));
            self.builders[column.root].set_bounds(
                known.min.as_deref(),
                known.max.as_deref(),
                known.nulls,
                values.or(is_bytes.then_some(rows)),
            );
        }
        let mut sampler = RowSampler::new(options.seed, sample_path, options.sample_rows);
        for (row, cells) in self.drawn.iter().zip(self.cells) {
            if let Some(priority) = sampler.wants(*row) {
                sampler.keep(priority, *row, cells);
            }
        }
        let mut notes = Vec::new();
        let unread = self
            .kinds
            .iter()
            .filter(|kind| **kind == DataType::Binary)
            .count();
        if unread > 0 {
            notes.push(format!(
                "values of {} of bytes not read",
                counted(unread as u64, "column")
            ));
        }
        let columns = self.builders.into_iter().zip(&self.kinds);
        Ok(FileSummary {
            columns: columns
                .map(|(column, kind)| column.finish(complete && *kind != DataType::Binary))
                .collect(),
            rows,
            rows_exact: true,
            sample: sampler.finish(),
            approximate: !complete,
            notes,
        })
    }
}
