//! An answer: batches of rows as they come, and what to know of them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::common::Result as DataFusionResult;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, Stream, StreamExt};
use limn_store::one_line;
use tokio::time::{Instant, Sleep};

use crate::behind::Behind;
use crate::error::SqlError;
use crate::failure;
use crate::limits::Limits;
use crate::notes::Notes;
use crate::table::Table;
use crate::ties::{Cut, Tie};

/// The rows that a statement asks for: a stream of batches of [`Answer::schema`]. A batch is read
/// ahead of those that are taken, and nothing more once it is dropped. Must be polled on a tokio
/// runtime.
pub struct Answer {
    /// Of columns that have names of their own each.
    schema: SchemaRef,
    batches: BoxStream<'static, DataFusionResult<RecordBatch>>,
    limits: Limits,
    /// The rows that may still come.
    left: Option<u64>,
    deadline: Pin<Box<Sleep>>,
    is_truncated: bool,
    has_ended: bool,
    has_failed: bool,
    about: About,
}

/// What goes with an answer's rows.
#[derive(Debug, Default)]
pub(crate) struct About {
    pub(crate) notes: Arc<Notes>,
    /// The tables that are read for them.
    pub(crate) tables: Vec<Arc<Table>>,
    /// Whether they are a plan.
    pub(crate) is_plan: bool,
    /// Whether the statement says in what order they come.
    pub(crate) is_ordered: bool,
    /// The statement of the rows that they are made of, where each is made of several.
    pub(crate) behind: Option<Behind>,
    /// What rows have to meet, as it is written.
    pub(crate) condition: Option<String>,
    /// The statement by whole names of tables, where it reads nothing else.
    pub(crate) pasted: Option<String>,
    /// Where a LIMIT cuts the order of the rows.
    pub(crate) cut: Option<Cut>,
}

/// What a statement has read of its lakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// Requests to their stores.
    pub requests: u64,
    /// Bytes of objects.
    pub bytes: u64,
}

impl Answer {
    pub(crate) fn new(
        schema: SchemaRef,
        batches: BoxStream<'static, DataFusionResult<RecordBatch>>,
        limits: Limits,
        deadline: Instant,
        about: About,
    ) -> Answer {
        Answer {
            schema: with_own_names(schema),
            batches: AssertUnwindSafe(batches)
                .catch_unwind()
                .map(|polled| polled.unwrap_or_else(|panic| Err(panicked(panic.as_ref()))))
                .boxed(),
            left: limits.max_rows,
            limits,
            deadline: Box::pin(tokio::time::sleep_until(deadline)),
            is_truncated: false,
            has_ended: false,
            has_failed: false,
            about,
        }
    }

    /// An answer that is known already.
    pub(crate) fn of(batch: RecordBatch, limits: Limits, deadline: Instant) -> Answer {
        let schema = batch.schema();
        let batches = stream::iter([Ok(batch)]).boxed();
        Answer::new(schema, batches, limits, deadline, About::default())
    }

    /// The columns with their types.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Whether there are more rows than [`Limits::max_rows`], and those were left out. Known at the
    /// stream's end.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Whether rows are missing since files could not be read; the notes name them. Known at the
    /// stream's end.
    pub fn is_partial(&self) -> bool {
        self.about.notes.is_partial()
    }

    /// Whether the rows are a plan, whose texts have lines: the answer to EXPLAIN.
    pub fn is_plan(&self) -> bool {
        self.about.is_plan
    }

    /// Whether the statement says in what order the rows come.
    pub fn is_ordered(&self) -> bool {
        self.about.is_ordered
    }

    /// The statement that gives the rows which this one counts, sums or groups; none where its rows
    /// are such rows themselves.
    pub fn behind(&self) -> Option<&Behind> {
        self.about.behind.as_ref()
    }

    /// What rows have to meet to be in the answer, as the statement says it.
    pub fn condition(&self) -> Option<&str> {
        self.about.condition.as_deref()
    }

    /// The statement as `limn sql` takes it, of one over inputs that are tables.
    pub fn pasted(&self) -> Option<&str> {
        self.about.pasted.as_deref()
    }

    /// The rows that tie where a LIMIT cuts them, of a statement of a plan
    /// ([`Engine::for_plans`](crate::Engine::for_plans)). Known at the stream's end.
    pub fn tie(&self) -> Option<Tie> {
        self.about.cut.as_ref()?.tie()
    }

    /// The tables that are read: the name and lake of each.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &str)> {
        let tables = self.about.tables.iter();
        tables.map(|it| (it.record.name.as_str(), it.record.lake.as_str()))
    }

    /// The local folders that are lakes of the statement's tables.
    pub fn local_lakes(&self) -> BTreeSet<PathBuf> {
        let tables = self.about.tables.iter();
        tables.filter_map(|it| it.store.local_root()).collect()
    }

    /// What was read of the lakes so far.
    pub fn read(&self) -> ReadCounts {
        let mut read = ReadCounts::default();
        for table in &self.about.tables {
            let counts = table.store.counts();
            read.requests += counts.get + counts.head + counts.list;
            read.bytes += counts.bytes_read;
        }
        read
    }

    /// What a person should know of the answer, one line each. Complete at the stream's end.
    pub fn notes(&self) -> Vec<String> {
        let mut lines = self.about.notes.lines();
        lines.extend(self.unread().map(|table| {
            format!(
                "'{}' was answered from the index: its files were not looked at",
                one_line(table.name())
            )
        }));
        if let (true, Some(most)) = (self.is_truncated, self.limits.max_rows) {
            let rows = if most == 1 { "row" } else { "rows" };
            lines.push(format!(
                "stopped after {most} {rows}, and there are more: --max-rows"
            ));
        }
        lines
    }

    /// The tables of which no file was looked at for the answer, once it is whole: a count may be
    /// known, and a filter may leave no file, as the index knows them.
    fn unread(&self) -> impl Iterator<Item = &Table> {
        let is_whole = self.has_ended && !self.has_failed && !self.about.is_plan;
        let tables = self.about.tables.iter().filter(move |_| is_whole);
        tables.map(Arc::as_ref).filter(|table| {
            let counts = table.store.counts();
            counts.get + counts.head + counts.list == 0
        })
    }

    /// A batch as the schema calls its columns.
    fn named(&self, batch: RecordBatch) -> DataFusionResult<RecordBatch> {
        let (ours, theirs) = (self.schema.fields(), batch.schema_ref().fields());
        if ours.iter().zip(theirs).all(|(a, b)| a.name() == b.name()) {
            return Ok(batch);
        }
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(schema, columns, &rows)?)
    }

    /// No more than the rows that are left of a batch; `None` if that is none of it.
    fn cut(&mut self, batch: RecordBatch) -> Option<RecordBatch> {
        let rows = batch.num_rows() as u64;
        let Some(left) = &mut self.left else {
            return Some(batch);
        };
        if rows <= *left {
            *left -= rows;
            return Some(batch);
        }
        let some = usize::try_from(*left).unwrap_or(usize::MAX);
        self.is_truncated = true;
        self.end();
        (some > 0).then(|| batch.slice(0, some))
    }

    /// Lets go what is being read.
    fn end(&mut self) {
        self.has_ended = true;
        self.batches = stream::empty().boxed();
    }
}

impl Stream for Answer {
    type Item = Result<RecordBatch, SqlError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if this.has_ended {
                return Poll::Ready(None);
            }
            if this.deadline.poll_unpin(context).is_ready() {
                this.end();
                this.has_failed = true;
                return Poll::Ready(Some(Err(SqlError::Timeout(this.limits.timeout))));
            }
            let polled = futures::ready!(this.batches.poll_next_unpin(context));
            match polled.map(|batch| batch.and_then(|batch| this.named(batch))) {
                None => this.end(),
                Some(Err(error)) => {
                    this.end();
                    this.has_failed = true;
                    let error = failure::running(&error, &this.limits);
                    return Poll::Ready(Some(Err(error)));
                }
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                Some(Ok(batch)) => {
                    if let Some(batch) = this.cut(batch) {
                        return Poll::Ready(Some(Ok(batch)));
                    }
                }
            }
        }
    }
}

/// The columns, those whose name came before with a number behind it: `id`, `id_2`.
pub(crate) fn with_own_names(schema: SchemaRef) -> SchemaRef {
    let names = || schema.fields().iter().map(|it| it.name().as_str());
    let written: HashSet<&str> = names().collect();
    if written.len() == schema.fields().len() {
        return schema;
    }
    let mut times: HashMap<&str, usize> = HashMap::new();
    let mut given: HashSet<String> = HashSet::new();
    let fields = schema.fields().iter().map(|field| {
        let times = times.entry(field.name()).or_default();
        loop {
            *times += 1;
            if *times == 1 {
                return Arc::clone(field);
            }
            let name = format!("{}_{times}", field.name());
            if !written.contains(name.as_str()) && given.insert(name.clone()) {
                return Arc::new(Field::clone(field).with_name(name));
            }
        }
    });
    let fields: Vec<Arc<Field>> = fields.collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// What a panic says, as an error of the library that it came from.
fn panicked(panic: &(dyn std::any::Any + Send)) -> datafusion::error::DataFusionError {
    datafusion::error::DataFusionError::Internal(panic_text(panic))
}

/// What a panic says.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", one_line(text.unwrap_or("no message")))
}
