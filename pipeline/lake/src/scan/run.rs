//! A scan under way: one file after another, the next few already being read.

use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, StringViewArray, UInt64Array,
    new_null_array,
};
use arrow::compute::BatchCoalescer;
use arrow::datatypes::{DataType as Arrow, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use futures::Stream;
use futures::stream::{self, BoxStream, StreamExt};
use limn_formats::{Bounds, Failure, FileBatch, FileError, FileErrorKind, Side, Wanted};
use limn_profile::{DataType, Order};
use tokio::sync::mpsc::Receiver;

use super::conform::{self, Conformed, Written};
use super::filter::{self, Filter};
use super::schema::{self, Place};
use super::{FILE_COLUMN, Inner, ROW_COLUMN, Report, Request, ScanError, TableRows, cut};
use limn_formats::{BATCH_BYTES, BATCH_ROWS};
use limn_formats::{Format, Held};
use limn_profile::ColumnSummary;

/// Files that are being read before their turn.
const AHEAD: usize = 3;
/// What a file's reader holds at most of its bytes, about.
const READER: u64 = 16 << 20;

/// The rows of a scan: a stream of batches.
pub struct Rows {
    schema: SchemaRef,
    report: Arc<Report>,
    batches: BoxStream<'static, Result<RecordBatch, ScanError>>,
}

impl Rows {
    /// The batches' schema.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// What the scan met so far.
    pub fn report(&self) -> Arc<Report> {
        self.report.clone()
    }
}

impl Stream for Rows {
    type Item = Result<RecordBatch, ScanError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.batches.as_mut().poll_next(context)
    }
}

/// Begins a scan.
pub(super) fn start(table: TableRows, request: Request) -> Rows {
    let run = Run::new(table, request);
    let (schema, report) = (run.schema.clone(), run.report.clone());
    let batches = stream::unfold(Some(run), |run| async move {
        let mut run = run?;
        match run.next().await {
            Ok(Some(batch)) => Some((Ok(batch), Some(run))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    Rows {
        schema,
        report,
        batches: batches.boxed(),
    }
}

struct Run {
    table: TableRows,
    /// The table's columns that are wanted, then those that are only tested.
    columns: Vec<usize>,
    wanted: usize,
    filters: Vec<Filter>,
    row_ids: bool,
    /// Of the wanted columns, and of row ids.
    schema: SchemaRef,
    report: Arc<Report>,
    waiting: VecDeque<(usize, Range<u64>)>,
    open: VecDeque<OpenFile>,
    /// Files that are open at a time: of several parts one of each.
    most_open: usize,
    /// Rows that passed filters, which are few of each batch: they come in batches of their own,
    /// and keep no others' text.
    passed: Option<Passed>,
    /// Rows that may still be given.
    left: u64,
}

/// A file that is being read.
struct OpenFile {
    file: usize,
    /// Of the columns that are read: which of the run's columns it is.
    read: Vec<usize>,
    _held: Held,
    batches: Receiver<Result<FileBatch, Failure>>,
}

impl Run {
    fn new(table: TableRows, request: Request) -> Run {
        let inner = &table.0;
        let all = || (0..inner.columns.schema.fields().len()).collect();
        let mut columns: Vec<usize> = request.columns.unwrap_or_else(all);
        let wanted = columns.len();
        for filter in &request.filters {
            if !columns.contains(&filter.column) {
                columns.push(filter.column);
            }
        }
        let fields = columns[..wanted].iter();
        let mut fields: Vec<Field> = fields
            .map(|column| inner.columns.schema.field(*column).clone())
            .collect();
        if request.row_ids {
            fields.push(Field::new(FILE_COLUMN, Arrow::Utf8View, false));
            fields.push(Field::new(ROW_COLUMN, Arrow::UInt64, false));
        }
        let schema = Arc::new(Schema::new(fields));
        let is_filtered = !request.filters.is_empty() && !schema.fields().is_empty();
        Run {
            waiting: cut::files(&inner.files, request.part).into(),
            most_open: if request.part.of > 1 { 1 } else { AHEAD },
            passed: is_filtered.then(|| Passed::new(&schema)),
            columns,
            wanted,
            filters: request.filters,
            row_ids: request.row_ids,
            schema,
            report: Arc::default(),
            open: VecDeque::new(),
            left: request.limit.unwrap_or(u64::MAX),
            table,
        }
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>, ScanError> {
        loop {
            if self.left == 0 {
                return Ok(None);
            }
            let passed = self.passed.as_mut().map_or(Ok(None), Passed::next);
            if let Some(batch) = passed.map_err(|error| self.wrong(&error))? {
                return Ok(Some(self.given(batch)));
            }
            self.open_files();
            let Some(open) = self.open.front_mut() else {
                return Ok(None);
            };
            match open.batches.recv().await {
                Some(Ok(batch)) => {
                    let batch = self.batch(batch)?;
                    if batch.num_rows() == 0 {
                        continue;
                    }
                    let Some(passed) = self.passed.as_mut() else {
                        return Ok(Some(self.given(batch)));
                    };
                    let taken = passed.take(batch, self.left);
                    taken.map_err(|error| self.wrong(&error))?;
                }
                Some(Err(failure)) => {
                    self.end_file()?;
                    let file = self.open.pop_front().map_or(0, |open| open.file);
                    self.failed(file, failure)?;
                }
                None => {
                    self.end_file()?;
                    self.open.pop_front();
                }
            }
        }
    }

    /// A batch without rows beyond the limit.
    fn given(&mut self, batch: RecordBatch) -> RecordBatch {
        let rows = batch.num_rows().min(self.left.min(1 << 40) as usize);
        self.left -= rows as u64;
        batch.slice(0, rows)
    }

    /// Rows of a file that has come to its end are not kept until there are more.
    fn end_file(&mut self) -> Result<(), ScanError> {
        let ended = self.passed.as_mut().map_or(Ok(()), Passed::end_batch);
        ended.map_err(|error| self.wrong(&error))
    }

    /// What Arrow says of the file whose turn it is.
    fn wrong(&self, error: &ArrowError) -> ScanError {
        let file = self.open.front().map(|open| &self.table.0.files[open.file]);
        ScanError::Store {
            path: file.map_or_else(String::new, |(file, _)| file.object.path.clone()),
            cause: error.to_string(),
        }
    }

    /// Begins to read files before their turn.
    fn open_files(&mut self) {
        // Where few rows are wanted the first file may have them.
        let most = if self.left < 1 << 16 {
            1
        } else {
            self.most_open
        };
        while self.open.len() < most
            && let Some((file, bytes)) = self.waiting.pop_front()
        {
            if !self.may_pass(file) {
                self.report
                    .files_passed_over
                    .fetch_add(1, Ordering::Relaxed);
                continue;
            }
            // The file whose turn it is is read whatever others hold; before its turn one is if
            // there is room.
            let Inner { files, options, .. } = &*self.table.0;
            let needs = files[file].0.object.size.min(READER);
            let held = match self.open.is_empty() {
                true => options.room.hold(needs),
                false => match options.room.try_hold(needs) {
                    Some(held) => held,
                    None => return self.waiting.push_front((file, bytes)),
                },
            };
            self.open.push_back(self.open(file, bytes, held));
        }
    }

    fn open(&self, file: usize, bytes: Range<u64>, held: Held) -> OpenFile {
        let Inner {
            store,
            files,
            columns,
            options,
        } = &*self.table.0;
        let (object, summary) = &files[file];
        let mut read = Vec::new();
        let mut wanted = Wanted {
            bytes,
            numbered: self.row_ids,
            limit: match self.filters.is_empty() {
                true => self.left,
                false => u64::MAX,
            },
            ..Wanted::all_rows(Vec::new(), Vec::new())
        };
        for (at, column) in self.columns.iter().enumerate() {
            let Some(Place::Column(place)) = columns.place(*column, file) else {
                continue;
            };
            // What a file knows of values says nothing of those that do not fit a declared type.
            let name = &summary.columns[*place].name;
            let filters = self.filters.iter();
            let is_asked =
                |it: &&Filter| it.column == *column && !object.reading().types.contains_key(name);
            for filter in filters.filter(is_asked) {
                let to = columns.data_type(*column).clone();
                wanted.tests.push((read.len(), to, filter.test.clone()));
            }
            wanted.columns.push(*place);
            wanted.names.push(summary.columns[*place].name.clone());
            read.push(at);
        }
        let (object, summary) = (object.data_file(), summary.clone());
        let batches = limn_formats::rows(store.clone(), object, summary, wanted, options.clone());
        OpenFile {
            file,
            read,
            _held: held,
            batches,
        }
    }

    /// Whether a file may have rows that pass the filters, by its path and by what is known of its
    /// columns.
    fn may_pass(&self, file: usize) -> bool {
        let inner = &*self.table.0;
        self.filters.iter().all(|filter| {
            let to = inner.columns.data_type(filter.column);
            let bounds = match inner.columns.place(filter.column, file) {
                None => Some(Bounds::nulls(to)),
                Some(Place::Constant(value)) => {
                    let value_of = conform::constant(value.as_deref(), to, 1).values;
                    Some(Bounds {
                        has_nulls: value_of.is_null(0),
                        has_values: value_of.is_valid(0),
                        min: value_of.clone(),
                        max: value_of,
                        has_nan: false,
                    })
                }
                Some(Place::Column(place)) => {
                    let (object, summary) = &inner.files[file];
                    known_bounds(&summary.columns[*place], object.format, to)
                }
            };
            bounds.is_none_or(|bounds| filter.test.may_pass(&bounds))
        })
    }

    /// A file's batch as the table's: conformed, filtered, and without what is not wanted.
    fn batch(&self, batch: FileBatch) -> Result<RecordBatch, ScanError> {
        let Some(open) = self.open.front() else {
            return Ok(RecordBatch::new_empty(self.schema.clone()));
        };
        let made = self.conformed(open, batch);
        made.map_err(|error| self.wrong(&error))
    }

    fn conformed(&self, open: &OpenFile, batch: FileBatch) -> Result<RecordBatch, ArrowError> {
        let inner = &*self.table.0;
        let (object, summary) = &inner.files[open.file];
        let rows = batch.rows.num_rows();
        self.report.rows.fetch_add(rows as u64, Ordering::Relaxed);
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len() + 2);
        let mut fields = Vec::with_capacity(self.columns.len() + 2);
        for (at, column) in self.columns.iter().enumerate() {
            let field = inner.columns.schema.field(*column);
            let to = field.data_type();
            let Conformed { values, misfits } = match inner.columns.place(*column, open.file) {
                Some(Place::Column(place)) => {
                    let read = open
                        .read
                        .iter()
                        .position(|it| *it == at)
                        .unwrap_or(usize::MAX);
                    let values = batch.rows.columns().get(read);
                    let written = Written {
                        notation: summary.columns[*place].notation.as_ref(),
                        is_declared: object.declared.is_some(),
                        has_own_signs: object.reading().nulls.is_some(),
                    };
                    match values {
                        Some(values) if object.format.gives_texts() => {
                            conform::texts(values, written, to)
                        }
                        Some(values) => conform::typed(values, to),
                        None => conform::constant(None, to, rows),
                    }
                }
                Some(Place::Constant(value)) => conform::constant(value.as_deref(), to, rows),
                None => Conformed {
                    values: new_null_array(to, rows),
                    misfits: 0,
                },
            };
            self.report.misfit(field.name(), misfits);
            arrays.push(values);
            fields.push(field.clone());
        }
        if self.row_ids {
            let path = StringViewArray::from(vec![object.object.path.as_str()]);
            let places = arrow::array::UInt32Array::from(vec![0; rows]);
            arrays.push(arrow::compute::take(&path, &places, None)?);
            arrays.push(Arc::new(UInt64Array::from_iter_values(
                batch.first_row..batch.first_row + rows as u64,
            )));
            fields.extend(
                self.schema.fields()[self.wanted..]
                    .iter()
                    .map(|it| it.as_ref().clone()),
            );
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
        let place = |column: usize| self.columns.iter().position(|it| *it == column);
        let tests = self.filters.iter();
        let tests = tests.filter_map(|filter| Some((place(filter.column)?, &filter.test)));
        let passing = filter::passing(batch, tests)?;
        let wanted = (0..self.wanted).chain(self.columns.len()..passing.num_columns());
        let options = RecordBatchOptions::new().with_row_count(Some(passing.num_rows()));
        let arrays = wanted.map(|at| passing.column(at).clone()).collect();
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
    }

    /// What becomes of a scan of which one file could not be read to its end.
    fn failed(&self, file: usize, failure: Failure) -> Result<(), ScanError> {
        let path = &self.table.0.files[file].0.object.path;
        let error: FileError = failure.about(path);
        let path = path.clone();
        match error.kind {
            FileErrorKind::Missing if error.is_removed() => Err(ScanError::Missing { path }),
            FileErrorKind::Missing => Err(ScanError::Changed { path }),
            FileErrorKind::Denied | FileErrorKind::Unreachable | FileErrorKind::StoreFailed => {
                let cause = error.cause;
                Err(ScanError::Store { path, cause })
            }
            _ => {
                self.report.damage(error.to_string());
                Ok(())
            }
        }
    }
}

/// What a profile that every value is in says of numbers and dates.
fn known_bounds(column: &ColumnSummary, format: Format, to: &Arrow) -> Option<Bounds> {
    let ColumnSummary {
        data_type, profile, ..
    } = column;
    if !profile.exact || profile.is_of_lists() {
        return None;
    }
    // Where a file gives types, a profile counts what is not a number as null, and its bounds of
    // floats have another precision.
    let is_typed = !format.gives_texts();
    let is_known = match data_type.order() {
        Order::Number => !is_typed || *data_type == DataType::Integer,
        // Moments of a typed file that no calendar has are among a profile's nulls, and not in its
        // bounds.
        Order::Instant => {
            let is_whole = !is_typed || profile.nulls == 0;
            is_whole && !matches!(to, Arrow::Timestamp(TimeUnit::Nanosecond, _))
        }
        Order::Text => false,
    };
    let bound = |side| {
        let bound = match side {
            Side::Min => profile.min.as_ref(),
            Side::Max => profile.max.as_ref(),
        };
        let bound = bound.filter(|_| is_known)?;
        Some(conform::constant(Some(bound), to, 1).values)
    };
    let has = (profile.nulls > 0, is_typed || profile.values > 0);
    let bounds = Bounds::conformed(&schema::of_file(column), to, has, bound);
    Some(Bounds {
        // In text it is a sign for null.
        has_nan: is_typed && bounds.has_nan,
        ..bounds
    })
}

/// Rows that passed filters, on their way into batches of their own.
struct Passed {
    batches: BatchCoalescer,
    /// Bytes of those in the batch that is being made, about.
    bytes: usize,
}

impl Passed {
    fn new(schema: &SchemaRef) -> Passed {
        Passed {
            batches: BatchCoalescer::new(schema.clone(), BATCH_ROWS),
            bytes: 0,
        }
    }

    /// Takes rows of which no more than `most` are wanted.
    fn take(&mut self, batch: RecordBatch, most: u64) -> Result<(), ArrowError> {
        self.bytes += batch.columns().iter().map(bytes_of).sum::<usize>();
        self.batches.push_batch(batch)?;
        if self.bytes >= BATCH_BYTES || self.batches.get_buffered_rows() as u64 >= most {
            self.end_batch()?;
        }
        Ok(())
    }

    fn end_batch(&mut self) -> Result<(), ArrowError> {
        self.bytes = 0;
        self.batches.finish_buffered_batch()
    }

    /// The next batch, in as much memory as it needs.
    fn next(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let Some(batch) = self.batches.next_completed_batch() else {
            return Ok(None);
        };
        let (schema, mut columns, rows) = batch.into_parts();
        columns.iter_mut().for_each(|column| column.shrink_to_fit());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, columns, &options).map(Some)
    }
}

/// About how many bytes values have, without those of others in the same buffers.
fn bytes_of(values: &ArrayRef) -> usize {
    if let Some(texts) = values.as_string_view_opt() {
        return texts.total_bytes_len() + 16 * texts.len();
    }
    values.get_array_memory_size()
}
