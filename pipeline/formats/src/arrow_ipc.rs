//! Arrow IPC, as a file or as a stream: where the record batches are first, then as many of their
//! rows as the budget allows (Arrow columnar format, "Serialization and Interprocess
//! Communication").
//!
//! A file within the scan budget is read whole. Of others the row counts come from the metadata of
//! the batches, and rows from batches that a hash draws, spread over the file. A batch that is
//! larger than what may be read gives the first rows of its columns; a column of it that is packed
//! as a whole and too large gives none, and a note says so. Columns of bytes are never read.

mod arrays;
pub(super) mod batches;
mod buffers;
mod dictionaries;
mod messages;
mod plan;
mod schema;

use std::cell::Cell;
use std::rc::Rc;

use arrow::datatypes::{DataType, Field};
use arrow::ipc;
use limn_profile::FileSummary;
use limn_profile::sample::draw_from;
use limn_profile::text::counted;
use limn_store::Store;

use self::arrays::Batch;
use self::buffers::Source;
use self::dictionaries::Dictionaries;
use self::messages::{Block, Content, MAGIC, Messages, parse};
use self::plan::{Headers, Plan, Slice};
use super::ranged::{Fetched, Ranged};
use super::typed::{MAX_ROWS, Outcome, Purpose, Stopped, Typed, Work, row_at};
use super::{Failure, ReadOptions, documented, parse as on_thread, sniff};
use crate::data_file::DataFile;
use crate::error::FileErrorKind;

/// Of files that are not read whole, this much of the beginning shows what they are.
const HEAD: u64 = 8 << 10;
/// Footers up to this size are read whatever the budget, and messages' metadata.
const FOOTER: u64 = 1 << 20;
/// Budgets of memory that one column takes, and all dictionaries.
const COLUMN_BUDGETS: u64 = 3;
/// A column may take this much in memory whatever the budget.
const COLUMN_MEMORY: u64 = 1 << 20;

pub(super) async fn summarise(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let object = Ranged::of(store, file);
    let sample_path = file.sample_path.clone();
    let options = options.clone();
    on_thread(move || read(object, &sample_path, &options)).await
}

fn read(object: Ranged, sample_path: &str, options: &ReadOptions) -> Result<FileSummary, Failure> {
    let size = object.size();
    if size == 0 {
        return Err(Failure::new(FileErrorKind::Empty, "the file has no bytes"));
    }
    let whole = size <= options.scan_budget;
    let head = object.get(0..if whole { size } else { HEAD.min(size) })?;
    let mut content = Content {
        object,
        fetched: Fetched::whole(head.clone()),
    };
    let most = options.scan_budget.max(FOOTER);
    let messages = if head.starts_with(MAGIC) {
        messages::of_file(&mut content, most)?
    } else if head.starts_with(b"FEA1") {
        let cause = "it is a Feather file of version 1";
        return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(sniff::FEATHER_2));
    } else if messages::is_stream(&head) {
        messages::of_stream(&mut content, most, messages::MOST_STEPS)?
    } else {
        return Err(sniff::not_its_format(&head, "Arrow"));
    };
    let is_stream = !head.starts_with(MAGIC);
    drop(head);
    let headers = Headers::read(&content, &messages, whole, sample_path, options)?;
    let plan = Plan::new(&messages, &headers, whole, sample_path, options);
    Reading::new(content, messages, is_stream, plan, options).read(&headers, sample_path, options)
}

/// How much of a column was read where it was to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    All,
    Part,
    None,
}

/// One file while it is read.
struct Reading {
    content: Content,
    messages: Messages,
    is_stream: bool,
    plan: Plan,
    dictionaries: Dictionaries,
    /// What a column may take in memory.
    memory: u64,
    requests: Rc<Cell<u64>>,
}

impl Reading {
    fn new(
        content: Content,
        messages: Messages,
        is_stream: bool,
        plan: Plan,
        options: &ReadOptions,
    ) -> Self {
        let memory = options
            .scan_budget
            .saturating_mul(COLUMN_BUDGETS)
            .max(COLUMN_MEMORY);
        Reading {
            dictionaries: Dictionaries::new(&messages.schema, memory, options.scan_budget),
            content,
            messages,
            is_stream,
            plan,
            memory,
            requests: Rc::default(),
        }
    }

    fn read(
        mut self,
        headers: &Headers,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Result<FileSummary, Failure> {
        let numbered = headers.all() && self.messages.walked.is_none();
        let mut first_rows = Vec::with_capacity(self.messages.batches.len());
        let mut total = 0;
        for (block, rows) in self.messages.batches.iter().zip(&headers.rows) {
            // Where rows are not counted, a batch's place in the file distinguishes them.
            first_rows.push(if numbered {
                total
            } else {
                row_at(block.offset)
            });
            total += rows.unwrap_or(0);
        }
        let slices = std::mem::take(&mut self.plan.slices);
        let in_file = |slice: &Slice| {
            let first = first_rows[slice.batch];
            first + slice.rows.start..first + slice.rows.end
        };
        let ranges = slices.iter().map(in_file);
        let drawn = draw_from(options.seed, sample_path, ranges, options.sample_rows);
        let fields = self.messages.schema.fields().iter().cloned().collect();
        let mut typed = Typed::new(fields, drawn, options);
        let names = self
            .messages
            .schema
            .fields()
            .iter()
            .map(|it| it.name().as_str());
        typed.document(documented::file(self.messages.schema.metadata(), names));
        let mut read = vec![Read::All; self.messages.schema.fields().len()];
        for slice in &slices {
            let picks = typed.picks(&in_file(slice));
            if !typed.is_done(&picks) {
                self.slice(slice, &picks, &mut typed, &mut read)?;
            }
        }

        let (rows, note) = self.rows(headers, &slices);
        let complete = self.plan.complete;
        let schema = self.messages.schema.clone();
        for (column, (field, read)) in schema.fields().iter().zip(&read).enumerate() {
            if *read != Read::All {
                typed.leave_out(column);
            }
            let all = complete && *read == Read::All && !typed.is_full();
            if numbered && (!all || typed.is_bytes(column)) && self.counts_nulls(field) {
                let nulls = headers.nulls[column];
                let values = rows.saturating_sub(nulls);
                typed.known(column, (None, None), Some(nulls), Some(values));
            }
        }
        let mut notes: Vec<String> = note.into_iter().collect();
        for (how, values) in [(Read::Part, "some values"), (Read::None, "values")] {
            let count = read.iter().filter(|read| **read == how).count() as u64;
            if count > 0 {
                let columns = counted(count, "column");
                notes.push(format!(
                    "{values} of {columns} not read that take too much at once"
                ));
            }
        }
        let outcome = Outcome {
            rows,
            rows_exact: numbered,
            complete,
            notes,
        };
        Ok(typed.finish(outcome, sample_path, options))
    }

    /// The file's rows, counted or estimated, and what of it was read.
    fn rows(&self, headers: &Headers, slices: &[Slice]) -> (u64, Option<String>) {
        let known = headers.known_rows();
        let batches = headers.rows.len() as f64;
        let looked_at = headers.rows.iter().flatten().count().max(1) as f64;
        let walked = self.messages.walked;
        let share = walked.map_or(1.0, |walked| {
            self.content.object.size() as f64 / walked.max(1) as f64
        });
        let rows = if headers.all() && walked.is_none() {
            known
        } else {
            (known as f64 * (batches / looked_at) * share).round() as u64
        };
        let read: u64 = slices
            .iter()
            .map(|slice| slice.rows.end - slice.rows.start)
            .sum();
        let note = (!self.plan.complete).then(|| {
            let about = if rows == known { "" } else { "about " };
            format!("{read} of {about}{} read", counted(rows, "row"))
        });
        (rows, note)
    }

    /// Whether batches count a column's nulls: not those that its values stand for elsewhere.
    fn counts_nulls(&self, field: &Field) -> bool {
        match field.data_type() {
            DataType::RunEndEncoded(..) | DataType::Union(..) => false,
            DataType::Dictionary(..) => !self.dictionaries.have_nulls(field),
            _ => true,
        }
    }

    /// Takes the rows of a slice.
    fn slice(
        &mut self,
        slice: &Slice,
        picks: &[(usize, usize)],
        typed: &mut Typed,
        read: &mut [Read],
    ) -> Result<(), Failure> {
        let block = self.messages.batches[slice.batch].clone();
        // A file's dictionaries stand anywhere, a stream's before the batches that they are for.
        let end = if self.is_stream {
            block.offset
        } else {
            u64::MAX
        };
        self.dictionaries
            .take_until(end, &self.messages.dictionaries, &self.content, typed)?;
        if typed.has_no_work() {
            // Some of them may be missing.
            return Ok(());
        }
        let metadata = self.content.get(block.metadata_range())?;
        let message = parse(&metadata)?;
        let batch = record_batch(&message)?;
        let source = self.source(&block)?;
        let values = self.dictionaries.values();
        let mut columns = Batch::new(batch, message.version(), &source, values)?;
        let mut fetch = self.plan.fetch;
        let schema = self.messages.schema.clone();
        let mut charged = 0;
        for (i, field) in schema.fields().iter().enumerate() {
            if self.dictionaries.lack(field) {
                read[i] = Read::None;
            }
            if typed.is_bytes(i) || read[i] == Read::None || typed.is_done(picks) {
                columns.skip(field)?;
                continue;
            }
            match columns.beginning(field, slice.rows.end, self.memory, &mut fetch) {
                Ok(array) => {
                    if (array.len() as u64) < slice.rows.end {
                        read[i] = Read::Part;
                    }
                    let start = slice.rows.start as usize;
                    if let Some(rows @ 1..) = array.len().checked_sub(start) {
                        typed.take(i, &array.slice(start, rows), picks, Purpose::Both);
                    } else {
                        // Other rows than were chosen: the batch's first.
                        typed.take(i, &array, &[], Purpose::Profile);
                    }
                }
                Err(Stopped::TooMuch) => read[i] = Read::None,
                Err(Stopped::Failed(failure)) => return Err(failure),
            }
            typed.charge(columns.spent() - charged);
            charged = columns.spent();
        }
        Ok(())
    }

    /// A batch's body, fetched if it is not too large.
    fn source(&self, block: &Block) -> Result<Source, Failure> {
        let body = block.body_range();
        if let Some(bytes) = self.content.fetched.get(&body) {
            return Ok(Source::Memory(bytes));
        }
        if block.body <= self.plan.fetch {
            return Ok(Source::Memory(self.content.get(body)?));
        }
        Ok(Source::File {
            object: self.content.object.clone(),
            body,
            requests: self.requests.clone(),
        })
    }
}

fn record_batch<'a>(message: &ipc::Message<'a>) -> Result<ipc::RecordBatch<'a>, Failure> {
    let batch = message.header_as_record_batch();
    batch.ok_or_else(|| corrupt("a batch is none"))
}

fn rows_of(batch: ipc::RecordBatch<'_>) -> Result<u64, Failure> {
    let rows = u64::try_from(batch.length()).ok();
    rows.filter(|rows| *rows <= MAX_ROWS)
        .ok_or_else(|| corrupt(format!("a batch claims {} rows", batch.length())))
}

fn corrupt(cause: impl Into<String>) -> Failure {
    Failure::new(FileErrorKind::Corrupt, cause)
}
