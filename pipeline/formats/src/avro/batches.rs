//! The rows of an Avro file: block by block, each walked before it is decoded, as when it was read
//! first.

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::SchemaRef;
use roaring::RoaringTreemap;

use super::blocks::{Block, Header};
use super::decoder::{arrow_schema, decoder};
use super::schema::Schema;
use super::walk::{Stopped, Walk};
use super::{HEAD, Pending, WINDOW, corrupt, open, unpacked};
use crate::batches::{Sink, Stop, Wanted};
use crate::error::FileErrorKind;
use crate::live::LiveRows;
use crate::nested::Nested;
use crate::ranged::Ranged;
use crate::scanned::Choice;
use crate::typed::decoding;
use crate::{Failure, ReadOptions, names};

/// What a block, and a row, may take in memory, in bytes.
const MEMORY: u64 = 256 << 20;

/// Reads rows, on a thread outside the runtime.
pub(crate) fn read(
    object: &Ranged,
    deleted: Option<RoaringTreemap>,
    wanted: &Wanted,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let (header, schema, _) = open(object, HEAD.min(object.size()), options)?;
    let arrow = arrow_schema(&schema)?;
    let names = names::unique(arrow.fields().iter().map(|field| field.name()));
    if !wanted.are_of(&names, options.declared()) {
        return Err(corrupt("it has other columns than when it was indexed").into());
    }
    let live = LiveRows::new(u64::MAX, deleted);
    let nested = Nested::of(options.declared());
    let nested = nested.map(|nested| nested.by_paths(schema.fields_within().into_iter()));
    sink.names(nested);
    rows_of(object, header, (schema, arrow), (wanted, live), sink)
}

/// As [`read`], of columns that are chosen by the file's schema.
pub(crate) fn chosen(
    object: &Ranged,
    choice: &Choice,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let (header, schema, _) = open(object, HEAD.min(object.size()), options)?;
    let arrow = arrow_schema(&schema)?;
    let wanted = Wanted::all_rows(choice(&arrow), Vec::new());
    let live = LiveRows::new(u64::MAX, None);
    rows_of(object, header, (schema, arrow), (&wanted, live), sink)
}

fn rows_of(
    object: &Ranged,
    header: Header,
    (schema, arrow): (Schema, SchemaRef),
    (wanted, live): (&Wanted, LiveRows),
    sink: &mut Sink,
) -> Result<(), Stop> {
    let size = object.size();
    let mut rows = Rows {
        schema,
        arrow,
        wanted,
        live,
        next: 0,
        pending: Pending::default(),
    };
    let (mut at, mut window) = (header.end, WINDOW);
    while at < size {
        let piece = object.get(at..at.saturating_add(window).min(size))?;
        window = WINDOW;
        for block in header.blocks(&piece, at, size, true)? {
            match &block.bytes {
                Some(bytes) => {
                    let bytes = unpacked(header.packing, bytes.clone(), MEMORY)?;
                    rows.block(&block, &bytes.ok_or_else(too_much)?, sink)?;
                    at = block.offset + block.size();
                }
                // The window ends within it.
                None if block.size() > MEMORY => return Err(too_much().into()),
                None => window = block.size().max(WINDOW),
            }
        }
    }
    rows.decode(sink)
}

struct Rows<'a> {
    schema: Schema,
    arrow: SchemaRef,
    wanted: &'a Wanted,
    live: LiveRows,
    /// The number of the next row in the file.
    next: u64,
    pending: Pending,
}

impl Rows<'_> {
    fn block(&mut self, block: &Block, bytes: &[u8], sink: &mut Sink) -> Result<(), Stop> {
        let mut at = 0;
        for _ in 0..block.rows {
            let mut walk = Walk::new(&self.schema, &bytes[at..]);
            let memory = walk.row(MEMORY).map_err(|stopped| match stopped {
                Stopped::Broken => corrupt(format!(
                    "a row of the block at byte {} is broken",
                    block.offset
                )),
                Stopped::TooMuch => too_much(),
            })?;
            let end = at + walk.at();
            if self.live.has(self.next) {
                self.pending.push(&bytes[at..end], self.next, memory);
            }
            self.next += 1;
            at = end;
            if self.pending.is_enough() {
                self.decode(sink)?;
            }
        }
        Ok(())
    }

    /// Gives the rows that wait.
    fn decode(&mut self, sink: &mut Sink) -> Result<(), Stop> {
        let Pending {
            bytes,
            count,
            numbers,
            ..
        } = std::mem::take(&mut self.pending);
        let nulls = |column: &usize| new_null_array(self.arrow.field(*column).data_type(), count);
        let arrays: Vec<ArrayRef> = match (count, bytes.is_empty()) {
            (0, _) => return Ok(()),
            // Rows of nulls alone: the decoder takes a block of no bytes for one of no rows.
            (_, true) => self.wanted.columns.iter().map(nulls).collect(),
            (_, false) => {
                let mut batches = decoder(&self.schema, &bytes, count)?;
                let batch = batches
                    .next()
                    .unwrap_or_else(|| Ok(RecordBatch::new_empty(self.arrow.clone())));
                let batch = batch.map_err(|error| decoding(&error.to_string()))?;
                if batch.num_rows() != count {
                    let cause = "a block has another number of rows than it claims";
                    return Err(corrupt(cause).into());
                }
                let columns = self.wanted.columns.iter();
                columns
                    .map(|column| batch.column(*column).clone())
                    .collect()
            }
        };
        let schema = self.arrow.project(&self.wanted.columns);
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = schema
            .and_then(|schema| RecordBatch::try_new_with_options(schema.into(), arrays, &options));
        let batch = batch.map_err(|error| decoding(&error.to_string()))?;
        let first = numbers.first().map_or(0, |rows| rows.start);
        if !self.wanted.numbered {
            return sink.give_at(first, batch);
        }
        let mut at = 0;
        for rows in numbers {
            let length = (rows.end - rows.start) as usize;
            sink.give_at(rows.start, batch.slice(at, length))?;
            at += length;
        }
        Ok(())
    }
}

fn too_much() -> Failure {
    let cause = format!("some rows of it take more than {MEMORY} bytes of memory");
    Failure::new(FileErrorKind::Unsupported, cause)
}
