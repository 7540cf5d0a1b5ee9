//! Arrow IPC, as a file or as a stream: where the record batches are first, then as many of their rows
//! as the budget allows (Arrow columnar format, "Serialization and Interprocess Communication").
//!
//! A file within the scan budget is read whole. Of others the row counts come from the metadata of the
//! batches, and rows from batches that a hash draws, spread over the file. A batch that is larger than
//! what may be read gives the first rows of its columns; a column of it that is packed as a whole and
//! too large gives none, and a note says so. Columns of bytes are never read.

mod arrays;
mod dictionaries;
mod messages;
mod plan;
mod schema;

use std::cell::Cell;
use std::rc::Rc;

use arrow::ipc;
use limn_store::Store;

use self::arrays::{Batch, Source};
use self::dictionaries::Dictionaries;
use self::messages::{Block, Content, MAGIC, Messages, parse};
use self::plan::{Headers, Plan, Slice};
use super::ranged::{Fetched, Ranged};
use super::typed::{Outcome, Purpose, Stopped, Typed, row_at};
use super::{Failure, ReadOptions, counted, parse as on_thread, sniff};
use crate::error::FileErrorKind;
use crate::layout::DataFile;
use crate::sample::draw_from;
use crate::summary::FileSummary;

/// Of files that are not read whole, this much of the beginning tells what they are.
const HEAD: u64 = 8 << 10;
/// Footers up to this size are read whatever the budget, and as much of the batches' metadata.
const FOOTER: u64 = 1 << 20;
/// More rows than any file has; numbers above come from broken files.
const MAX_ROWS: u64 = 1 << 33;
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
    let sample_path = file.sample_path().to_owned();
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
    let messages = if head.starts_with(MAGIC) {
        messages::of_file(&mut content, options.scan_budget.max(FOOTER))?
    } else if head.starts_with(b"FEA1") {
        let cause = "it is a Feather file of version 1";
        return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(sniff::FEATHER_2));
    } else if messages::is_stream(&head) {
        messages::of_stream(&mut content)?
    } else {
        return Err(sniff::not_its_format(&head, "Arrow"));
    };
    let is_stream = !head.starts_with(MAGIC);
    drop(head);
    let headers = Headers::read(&content, &messages, whole, sample_path, options)?;
    let plan = Plan::new(&messages, &headers, whole, sample_path, options);
    Reading::new(content, messages, is_stream, plan, options).read(&headers, sample_path, options)
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
            // Where rows are not counted, a batch's place in the file tells them apart.
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
        let mut too_large = vec![false; self.messages.schema.fields().len()];
        for slice in &slices {
            let picks = typed.picks(&in_file(slice));
            self.slice(slice, &picks, &mut typed, &mut too_large)?;
            if typed.is_full() {
                break;
            }
        }

        let (rows, note) = self.rows(headers, &slices);
        let complete = self.plan.complete;
        let mut unread = 0;
        for (column, too_large) in too_large.iter().enumerate() {
            if *too_large {
                unread += 1;
                typed.leave_out(column);
            }
            if numbered && (!complete || *too_large || typed.is_bytes(column)) {
                let nulls = headers.nulls[column];
                typed.known(
                    column,
                    (None, None),
                    Some(nulls),
                    Some(rows.saturating_sub(nulls)),
                );
            }
        }
        let mut notes: Vec<String> = note.into_iter().collect();
        if unread > 0 {
            notes.push(format!(
                "values of {} not read that take too much at once",
                counted(unread, "column")
            ));
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

    /// Takes the rows of a slice.
    fn slice(
        &mut self,
        slice: &Slice,
        picks: &[(usize, usize)],
        typed: &mut Typed,
        too_large: &mut [bool],
    ) -> Result<(), Failure> {
        let block = self.messages.batches[slice.batch].clone();
        // A file's dictionaries stand anywhere, a stream's before the batches that they are for.
        let end = if self.is_stream {
            block.offset
        } else {
            u64::MAX
        };
        self.dictionaries
            .take_until(end, &self.messages.dictionaries, &self.content)?;
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
            let unread = typed.is_bytes(i) || too_large[i] || typed.is_full();
            if unread || self.dictionaries.lack(field) {
                too_large[i] |= self.dictionaries.lack(field);
                columns.skip(field)?;
                continue;
            }
            typed.charge(columns.spent() - charged);
            charged = columns.spent();
            match columns.column(field, slice.rows.end, self.memory, &mut fetch) {
                Ok(array) => {
                    let (start, end) = (slice.rows.start as usize, slice.rows.end as usize);
                    typed.take(i, &array.slice(start, end - start), picks, Purpose::Both);
                }
                Err(Stopped::TooMuch) => too_large[i] = true,
                Err(Stopped::Failed(failure)) => return Err(failure),
            }
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

/// What Arrow's error means; only the innermost of several says anything.
fn decoding(message: &str) -> Failure {
    let outer = [
        "Invalid argument error: ",
        "Ipc error: ",
        "Parser error: ",
        "Io error: ",
        "External error: ",
    ];
    let mut message = message;
    while let Some(rest) = outer.iter().find_map(|prefix| message.strip_prefix(prefix)) {
        message = rest;
    }
    corrupt(format!("its content cannot be decoded: {message}"))
}
