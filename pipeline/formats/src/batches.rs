//! Rows on their way from a reader to the scan of a table: record batches of a file's own
//! columns.
//!
//! Readers run on threads of their own and wait here while nobody takes their batches, so that a
//! scan holds a few of them; and stop where nobody will.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use limn_profile::DeclaredReading;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use super::Failure;
use super::nested::Nested;
use super::typed::decoding;
use crate::test::Test;

/// Rows of a batch, at most.
pub const BATCH_ROWS: usize = 8192;
/// Bytes of a batch of texts, about.
pub const BATCH_BYTES: usize = 4 << 20;
/// Batches that wait to be taken.
const WAITING: usize = 2;

/// What is wanted of a file.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Columns of its summary, in the order in which batches have them.
    pub columns: Vec<usize>,
    /// What the summary calls them.
    pub names: Vec<String>,
    /// Tests of columns by their places in `columns`, each with the type that the table gives the
    /// column: what does not pass all of them may be left out.
    pub tests: Vec<(usize, DataType, Test)>,
    /// No more rows than this are wanted.
    pub limit: u64,
    /// Row groups that begin in these bytes; of other files all rows are wanted.
    pub bytes: Range<u64>,
    /// Whether it matters which rows of the file batches are of: then each holds rows without gaps.
    pub numbered: bool,
}

impl Wanted {
    /// Whether a file has the columns that are wanted. Of a table with a log they have the log's
    /// names.
    pub(crate) fn are_of(&self, names: &[String], reading: &DeclaredReading) -> bool {
        let is_logged = reading.logged.is_some();
        let mut asked = self.columns.iter().zip(&self.names);
        asked.all(|(column, asked)| {
            let own = names.get(*column);
            own.is_some_and(|own| is_logged || own == asked)
        })
    }

    /// All rows of these columns.
    pub fn all_rows(columns: Vec<usize>, names: Vec<String>) -> Wanted {
        Wanted {
            columns,
            names,
            tests: Vec::new(),
            limit: u64::MAX,
            bytes: 0..u64::MAX,
            numbered: false,
        }
    }
}

/// Rows of a file.
#[derive(Debug)]
pub struct FileBatch {
    /// The number of the first of them in the file.
    pub first_row: u64,
    /// The wanted columns, in that order.
    pub rows: RecordBatch,
}

/// Why a reader stops before a file's end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The receiver of its batches was dropped.
    Dropped,
    Failed(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Stop::Failed(failure)
    }
}

/// Takes a reader's batches.
pub(crate) struct Sink {
    to: mpsc::Sender<Result<FileBatch, Failure>>,
    rows: u64,
    /// Names of fields within columns.
    nested: Option<Nested>,
}

/// A sink, and where its batches come out.
pub(crate) fn channel() -> (Sink, mpsc::Receiver<Result<FileBatch, Failure>>) {
    let (to, from) = mpsc::channel(WAITING);
    let sink = Sink {
        to,
        rows: 0,
        nested: None,
    };
    (sink, from)
}

impl Sink {
    /// Has fields within columns called so.
    pub(crate) fn names(&mut self, nested: Option<Nested>) {
        self.nested = nested;
    }

    /// Whether anybody still takes rows. For readers that may read long without giving any.
    ///
    /// # Errors
    /// Nobody does.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        match self.to.is_closed() {
            true => Err(Stop::Dropped),
            false => Ok(()),
        }
    }

    /// Waits for something on a reader's thread, for as long as anybody takes rows.
    ///
    /// # Errors
    /// Those of the work; the receiver of rows was dropped.
    pub(crate) fn wait<T>(
        &self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Stop> {
        Handle::current().block_on(async {
            tokio::select! {
                biased;
                () = self.to.closed() => Err(Stop::Dropped),
                done = work => done.map_err(Stop::from),
            }
        })
    }

    /// Gives the next rows; waits until they may be taken.
    ///
    /// # Errors
    /// Nobody will.
    pub(crate) fn give(&mut self, rows: RecordBatch) -> Result<(), Stop> {
        self.give_at(self.rows, rows)
    }

    /// As [`Sink::give`], of rows after others that were left out.
    pub(crate) fn give_at(&mut self, first_row: u64, rows: RecordBatch) -> Result<(), Stop> {
        self.rows = first_row + rows.num_rows() as u64;
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let rows = self.named(rows)?;
        let given = self.to.blocking_send(Ok(FileBatch { first_row, rows }));
        given.map_err(|_| Stop::Dropped)
    }

    /// Rows with the names that fields within columns have today.
    fn named(&self, rows: RecordBatch) -> Result<RecordBatch, Failure> {
        let is_nested = |field: &Field| field.data_type().is_nested();
        let schema = rows.schema();
        let Some(nested) = &self.nested else {
            return Ok(rows);
        };
        if !schema.fields().iter().any(|field| is_nested(field)) {
            return Ok(rows);
        }
        let failed = |error: ArrowError| decoding(&error.to_string());
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for (field, column) in schema.fields().iter().zip(rows.columns()) {
            let column = match is_nested(field) {
                true => nested.values(field.name(), column).map_err(failed)?,
                false => column.clone(),
            };
            fields.push(Field::clone(field).with_data_type(column.data_type().clone()));
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let schema = Arc::new(Schema::new(fields));
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(failed)
    }

    /// Another way to say why nothing will be read, where the sink itself is lost.
    pub(crate) fn refusal(&self) -> impl FnOnce(Failure) + use<> {
        let to = self.to.clone();
        // There is room for it, as nothing was given.
        move |failure| drop(to.try_send(Err(failure)))
    }

    /// Says how reading ended.
    pub(crate) fn end(self, read: Result<(), Stop>) {
        if let Err(Stop::Failed(failure)) = read {
            // The receiver may have been dropped.
            let _ = self.to.blocking_send(Err(failure));
        }
    }
}

/// Texts, row by row, which become batches.
pub(crate) struct Texts {
    schema: Arc<Schema>,
    builders: Vec<StringViewBuilder>,
    rows: usize,
    bytes: usize,
}

impl Texts {
    pub(crate) fn new(wanted: &Wanted) -> Texts {
        let fields = wanted.names.iter();
        let fields = fields.map(|name| Field::new(name, DataType::Utf8View, true));
        Texts {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            builders: wanted
                .names
                .iter()
                .map(|_| StringViewBuilder::new())
                .collect(),
            rows: 0,
            bytes: 0,
        }
    }

    /// How many columns there are.
    pub(crate) fn width(&self) -> usize {
        self.builders.len()
    }

    /// Takes the row's next cell: of the column at this place.
    #[inline]
    pub(crate) fn cell(&mut self, place: usize, text: Option<&str>) {
        let builder = &mut self.builders[place];
        match text {
            Some(text) => {
                self.bytes += text.len();
                builder.append_value(text);
            }
            None => builder.append_null(),
        }
    }

    /// Ends a row of which every cell was taken; whether the batch should be taken now.
    #[inline]
    pub(crate) fn end_row(&mut self) -> bool {
        self.rows += 1;
        self.rows >= BATCH_ROWS || self.bytes >= BATCH_BYTES
    }

    /// The rows so far.
    ///
    /// # Errors
    /// Cells that were not taken.
    pub(crate) fn take(&mut self) -> Result<RecordBatch, Failure> {
        let columns = self.builders.iter_mut();
        let columns = columns.map(|builder| Arc::new(builder.finish()) as ArrayRef);
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let columns = columns.collect();
        (self.rows, self.bytes) = (0, 0);
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|error| decoding(&error.to_string()))
    }
}
