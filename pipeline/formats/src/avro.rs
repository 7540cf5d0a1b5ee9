//! Avro object container files: rows in blocks, decoded by Arrow's reader.
//!
//! A file within the scan budget is read whole. Of others ranges are read that are spread over the
//! file (as of text files), each entered at the marker that stands between blocks; their rows are
//! estimated.
//!
//! The decoder gets no byte that was not looked at: the schema is read, checked and written anew
//! ([`schema`]), blocks are unpacked within bounds, and rows are walked ([`walk`]) before they are
//! decoded, a few thousand at a time.

pub(super) mod batches;
mod blocks;
pub(super) mod columns;
mod decoder;
mod places;
mod schema;
mod walk;

use std::ops::Range;
use std::rc::Rc;

use arrow::array::{ArrayRef, new_null_array};
use bytes::Bytes;
use limn_profile::FileSummary;
use limn_profile::sample::draw_from;
use limn_profile::text::counted;
use limn_store::Store;
use limn_store::one_line;
use roaring::RoaringTreemap;

use self::blocks::{Block, Header, MAGIC, Packing, Unread};
use self::decoder::{arrow_schema, decoder};
use self::places::{Numbers, spread};
use self::schema::Schema;
use self::walk::{Stopped, Walk};
use super::codec::{Codec, Refused};
use super::ranged::Ranged;
use super::typed::{MAX_ROWS, Outcome, Purpose, Typed, Work, decoding, row_at};
use super::{Failure, ReadOptions, deletes, parse, sniff};
use crate::data_file::DataFile;
use crate::error::FileErrorKind;
use crate::live::LiveRows;
use crate::nested::Nested;

/// Of files that are not read whole, this much of the beginning: enough for most headers.
const HEAD: u64 = 64 << 10;
/// Headers up to this size are read whatever the budget. Schemas are no longer: as JSON in memory
/// they take up to forty times their bytes.
const HEADER: u64 = 1 << 20;
/// Budgets of memory that one block takes when it is unpacked.
const BLOCK_BUDGETS: u64 = 2;
/// A block may take this much in memory whatever the budget.
const BLOCK_MEMORY: u64 = 1 << 20;
/// Rows decoded at a time, of however many blocks, and bytes that they take in memory, about.
const BATCH_ROWS: usize = 8192;
const BATCH_BYTES: u64 = 4 << 20;
/// What it costs to begin unpacking a block, and for each type of the schema to begin decoding, in
/// bytes.
const BLOCK: u64 = 1 << 10;
const DECODER: u64 = 1 << 10;
/// Bytes fetched at a time where blocks are only counted.
const WINDOW: u64 = 8 << 20;
const SIMPLER: &str = "write it with a simpler schema, or as Parquet";

pub(super) async fn summarise(
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let object = Ranged::of(store, file);
    let sample_path = file.sample_path.clone();
    let deleted = deletes::of(store, file).await?;
    let options = options.clone();
    parse(move || read(&object, deleted, &sample_path, &options)).await
}

fn read(
    object: &Ranged,
    deleted: Option<RoaringTreemap>,
    sample_path: &str,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let size = object.size();
    let whole = size <= options.scan_budget;
    let beginning = if whole { size } else { HEAD.min(size) };
    let (header, schema, head) = open(object, beginning, options)?;
    let blocks = if whole {
        let first = header.end as usize;
        header.blocks(&head.slice(first..), header.end, size, true)?
    } else {
        spread(object, &header, sample_path, options)?
    };
    drop(head);
    let numbers = match (whole, &deleted) {
        (true, _) => Some(Numbers::of(&blocks)),
        // Which rows these are only all blocks together say.
        (false, Some(_)) => Some(Numbers::walked(object, &header, &blocks)?),
        (false, None) => None,
    };
    let rows = Rows {
        live: LiveRows::new(numbers.as_ref().map_or(u64::MAX, |it| it.rows), deleted),
        numbers,
        blocks,
        whole,
    };
    Reading::new(object, header, schema, rows, sample_path, options)?.read(sample_path, options)
}

/// A file's header and schema, and so many bytes of its beginning, or more.
fn open(
    object: &Ranged,
    beginning: u64,
    options: &ReadOptions,
) -> Result<(Header, Schema, Bytes), Failure> {
    let size = object.size();
    if size == 0 {
        return Err(Failure::new(FileErrorKind::Empty, "the file has no bytes"));
    }
    let mut head = object.get(0..beginning)?;
    if !head.starts_with(MAGIC) {
        return Err(sniff::not_its_format(&head, "Avro"));
    }
    let header = loop {
        match blocks::header(&head) {
            Ok(header) => break header,
            Err(Unread::Failed(failure)) => return Err(failure),
            Err(Unread::Cut) if head.len() as u64 == size => {
                return Err(corrupt("its header does not end: it is cut off"));
            }
            Err(Unread::Cut) if head.len() as u64 >= options.scan_budget.max(HEADER) => {
                let cause = format!("its header has more than {} bytes", head.len());
                return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(SIMPLER));
            }
            Err(Unread::Cut) => head = object.get(0..(4 * head.len() as u64).min(size))?,
        }
    };
    if header.schema.len() as u64 > HEADER {
        let cause = format!("its schema has {} bytes", header.schema.len());
        return Err(Failure::new(FileErrorKind::Unsupported, cause).with_remedy(SIMPLER));
    }
    let schema = Schema::parse(&header.schema)?;
    Ok((header, schema, head))
}

/// The rows of a file, as far as they are at hand.
struct Rows {
    blocks: Vec<Block>,
    /// None where they are only estimated.
    numbers: Option<Numbers>,
    live: LiveRows,
    /// Whether all blocks are at hand.
    whole: bool,
}

/// Rows that are decoded together.
#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    count: usize,
    /// Their numbers in the file.
    numbers: Vec<Range<u64>>,
    /// What they take in memory, in bytes.
    memory: u64,
}

impl Pending {
    fn push(&mut self, row: &[u8], number: u64, memory: u64) {
        self.bytes.extend_from_slice(row);
        self.count += 1;
        self.memory += memory;
        match self.numbers.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => self.numbers.push(number..number + 1),
        }
    }

    fn is_enough(&self) -> bool {
        let bytes = self.memory.max(self.bytes.len() as u64);
        self.count >= BATCH_ROWS || bytes >= BATCH_BYTES
    }
}

/// One file while it is read.
struct Reading {
    size: u64,
    header: Header,
    schema: Rc<Schema>,
    blocks: Vec<Block>,
    /// How many rows there are before any is deleted, where all are known.
    known_rows: Option<u64>,
    live: LiveRows,
    /// The rows taken of each block, as they are numbered.
    taken: Vec<Range<u64>>,
    typed: Typed,
    pending: Pending,
    /// Whether all rows are taken.
    complete: bool,
    /// Rows that were left out because they take too much memory.
    too_large: u64,
    /// What a block and a row may take in memory, in bytes.
    memory: u64,
}

impl Reading {
    fn new(
        object: &Ranged,
        header: Header,
        mut schema: Schema,
        rows: Rows,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Result<Reading, Failure> {
        let Rows {
            blocks,
            numbers,
            live,
            whole,
        } = rows;
        let rows = blocks
            .iter()
            .fold(0, |all: u64, block| all.saturating_add(block.rows));
        if rows.max(numbers.as_ref().map_or(0, |it| it.rows)) > MAX_ROWS {
            return Err(corrupt("its blocks claim more rows than any file has"));
        }
        let at_hand = blocks.iter().filter(|block| block.bytes.is_some());
        let rows_at_hand: u64 = at_hand.map(|block| block.rows).sum();
        // A cell takes two bytes at least in a text file: the budget means the same amount of work
        // here.
        let cells = options.scan_budget / 2;
        let most_rows = (cells / schema.columns.len() as u64).max(1);
        let complete = whole && rows <= most_rows;
        let mut taken = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let number = match &numbers {
                // A block that a walk did not come by is none.
                Some(numbers) => *numbers.first.get(&block.offset).ok_or_else(|| {
                    corrupt(format!("the block at byte {} is broken", block.offset))
                })?,
                None => row_at(block.offset),
            };
            let share = if block.bytes.is_none() {
                0
            } else if rows_at_hand <= most_rows {
                block.rows
            } else {
                // Of each block the same share.
                let share = u128::from(block.rows) * u128::from(most_rows);
                share.div_ceil(u128::from(rows_at_hand)) as u64
            };
            taken.push(number..number + share);
        }
        let drawn = draw_from(
            options.seed,
            sample_path,
            taken.iter().flat_map(|rows| live.among(rows.clone())),
            options.sample_rows,
        );
        let fields = arrow_schema(&schema)?.fields().iter().cloned().collect();
        let nested = Nested::of(options.declared());
        let nested = nested.map(|nested| nested.by_paths(schema.fields_within().into_iter()));
        let mut typed = Typed::naming(fields, drawn, nested, options);
        typed.document(std::mem::take(&mut schema.documented));
        Ok(Reading {
            size: object.size(),
            typed,
            pending: Pending::default(),
            header,
            schema: Rc::new(schema),
            blocks,
            known_rows: numbers.map(|it| it.rows),
            live,
            taken,
            complete,
            too_large: 0,
            memory: options
                .scan_budget
                .saturating_mul(BLOCK_BUDGETS)
                .max(BLOCK_MEMORY),
        })
    }

    fn read(mut self, sample_path: &str, options: &ReadOptions) -> Result<FileSummary, Failure> {
        for i in 0..self.blocks.len() {
            // Bytes that were taken are given back.
            let Some(bytes) = self.blocks[i].bytes.take() else {
                continue;
            };
            let rows = self.taken[i].clone();
            if rows.is_empty() || self.is_done(&rows) {
                continue;
            }
            match unpacked(self.header.packing, bytes, self.memory)? {
                Some(bytes) => {
                    self.typed.charge(bytes.len() as u64 + BLOCK);
                    self.block(i, &bytes, rows)?;
                }
                None => {
                    self.typed.charge(self.memory);
                    self.too_large += self.live_of(&rows);
                }
            }
        }
        self.decode()?;
        let rows = if self.known_rows.is_some() {
            self.live.count()
        } else {
            let seen: u64 = self.blocks.iter().map(|block| block.rows).sum();
            let bytes: u64 = self.blocks.iter().map(Block::size).sum();
            let share = (self.size - self.header.end) as f64 / bytes.max(1) as f64;
            (seen as f64 * share).round() as u64
        };
        let mut notes = Vec::new();
        if !self.complete {
            let read = self.taken.iter().map(|rows| self.live_of(rows));
            let read: u64 = read.sum();
            let about = if self.known_rows.is_some() {
                ""
            } else {
                "about "
            };
            let read = read - self.too_large;
            notes.push(format!("{read} of {about}{} read", counted(rows, "row")));
        }
        if self.too_large > 0 {
            notes.push(format!(
                "{} not read that take too much at once",
                counted(self.too_large, "row")
            ));
        }
        let outcome = Outcome {
            rows,
            rows_exact: self.known_rows.is_some(),
            complete: self.complete && self.too_large == 0,
            notes,
        };
        Ok(self.typed.finish(outcome, sample_path, options))
    }

    /// How many of these rows are live.
    fn live_of(&self, rows: &Range<u64>) -> u64 {
        let live = self.live.among(rows.clone()).into_iter();
        live.map(|rows| rows.end - rows.start).sum()
    }

    /// Whether nothing more is decoded of these rows.
    fn is_done(&self, rows: &Range<u64>) -> bool {
        self.typed.is_done(&self.typed.picks(rows))
    }

    /// Takes rows of a block, as many as `numbers`, which they have in the file.
    fn block(&mut self, block: usize, bytes: &[u8], numbers: Range<u64>) -> Result<(), Failure> {
        let at = self.blocks[block].offset;
        let schema = self.schema.clone();
        let mut walk = Walk::new(&schema, bytes);
        for number in numbers.clone() {
            let start = walk.at();
            match walk.row(self.memory) {
                Ok(memory) if self.live.has(number) => {
                    self.pending.push(&bytes[start..walk.at()], number, memory);
                }
                Ok(_) => {}
                Err(Stopped::Broken) => {
                    let cause = format!("a row of the block at byte {at} is broken");
                    return Err(corrupt(cause));
                }
                Err(Stopped::TooMuch) => {
                    // Where it ends is not known.
                    self.typed.charge(self.memory);
                    self.too_large += self.live_of(&(number..numbers.end));
                    return Ok(());
                }
            }
            if self.pending.is_enough() {
                self.decode()?;
                if self.is_done(&(number + 1..numbers.end)) {
                    return Ok(());
                }
            }
        }
        let all = numbers.end - numbers.start == self.blocks[block].rows;
        if all && walk.at() < bytes.len() {
            let cause = format!("the block at byte {at} has more in it than its rows");
            return Err(corrupt(cause));
        }
        Ok(())
    }

    /// Takes the rows that wait.
    fn decode(&mut self) -> Result<(), Failure> {
        let pending = std::mem::take(&mut self.pending);
        let mut picks: Vec<(usize, usize)> = Vec::new();
        let mut before = 0;
        for numbers in &pending.numbers {
            let of_these = self.typed.picks(numbers).into_iter();
            picks.extend(of_these.map(|(place, drawn)| (before + place, drawn)));
            before += (numbers.end - numbers.start) as usize;
        }
        // Where the work was done by unpacking, this much is decoded of it still.
        let is_done = self.typed.is_done(&picks) && !self.typed.has_no_work();
        if pending.count == 0 || is_done {
            return Ok(());
        }
        let count = pending.count;
        self.typed
            .charge(pending.memory + self.schema.types * DECODER);
        if pending.bytes.is_empty() {
            // Rows of nulls alone: the decoder takes a block of no bytes for one of no rows.
            for column in 0..self.typed.fields().len() {
                let kind = self.typed.fields()[column].data_type().clone();
                let nulls = new_null_array(&kind, count);
                self.typed.take(column, &nulls, &picks, Purpose::Both);
            }
            return Ok(());
        }
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for batch in decoder(&self.schema, &pending.bytes, count)? {
            let batch = batch.map_err(|error| decoding(&error.to_string()))?;
            if !arrays.is_empty() || batch.num_rows() != count {
                return Err(corrupt("a block has another number of rows than it claims"));
            }
            arrays = batch.columns().to_vec();
        }
        for (column, array) in arrays.iter().enumerate() {
            if !self.typed.is_bytes(column) {
                let array = self.typed.named(column, array)?;
                self.typed.take(column, &array, &picks, Purpose::Both);
            } else {
                self.typed.take_bytes(column, array);
            }
        }
        Ok(())
    }
}

/// A block's content, unless it takes too much memory.
fn unpacked(packing: Packing, bytes: Bytes, memory: u64) -> Result<Option<Bytes>, Failure> {
    let (codec, packed, checksum) = match packing {
        Packing::Plain => return Ok(Some(bytes)),
        Packing::Packed(codec) => (codec, &bytes[..], None),
        Packing::Snappy => match bytes.split_last_chunk::<4>() {
            Some((packed, checksum)) => (Codec::Snappy, packed, Some(*checksum)),
            None => return Err(corrupt("a block has no checksum")),
        },
    };
    let unpacked = match codec.unpack(packed, memory) {
        Ok(unpacked) => unpacked,
        Err(Refused::TooMuch) => return Ok(None),
        Err(Refused::Broken(error)) => {
            let error = one_line(&error.to_string());
            return Err(corrupt(format!("a block cannot be unpacked: {error}")));
        }
    };
    if let Some(checksum) = checksum {
        let mut sum = flate2::Crc::new();
        sum.update(&unpacked);
        if sum.sum() != u32::from_be_bytes(checksum) {
            return Err(corrupt("a block's checksum is not that of its content"));
        }
    }
    Ok(Some(unpacked.into()))
}

fn corrupt(cause: impl Into<String>) -> Failure {
    Failure::new(FileErrorKind::Corrupt, cause)
}
