//! The rows of an ORC file: stripe by stripe, of the wanted columns only.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Fields, Schema};
use roaring::RoaringTreemap;

use super::columns::{Column, Stripe, fields};
use super::proto::StripeInfo;
use super::stream::File;
use super::tail::{self, Tail};
use super::{GAP, corrupt, streams};
use crate::batches::{Sink, Stop, Wanted};
use crate::error::FileErrorKind;
use crate::live::LiveRows;
use crate::ranged::{Fetched, Ranged};
use crate::scanned::Choice;
use crate::typed::{Stopped, decoding};
use crate::{Failure, ReadOptions, names};

/// Rows of a batch.
const ROWS: u64 = 2048;
/// Bytes of a stripe that are fetched at once; of a larger one windows of each column.
const AHEAD: u64 = 64 << 20;
/// What dictionaries and the rows of a batch may take in memory, in bytes.
const MEMORY: u64 = 256 << 20;

/// Reads rows, on a thread outside the runtime.
pub(crate) fn read(
    object: Ranged,
    deleted: Option<RoaringTreemap>,
    wanted: &Wanted,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let (tail, all) = open(&object, options)?;
    let names = names::unique(all.iter().map(|field| field.name()));
    if !wanted.are_of(&names, options.declared()) {
        return Err(corrupt("it has other columns than when it was indexed").into());
    }
    rows_of(object, (&tail, &all), deleted, wanted, sink)
}

/// As [`read`], of columns that are chosen by the file's schema.
pub(crate) fn chosen(
    object: Ranged,
    choice: &Choice,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let (tail, all) = open(&object, options)?;
    let columns = choice(&Schema::new(all.clone()));
    let wanted = Wanted::all_rows(columns, Vec::new());
    rows_of(object, (&tail, &all), None, &wanted, sink)
}

/// A file's end, and its columns.
fn open(object: &Ranged, options: &ReadOptions) -> Result<(Tail, Fields), Failure> {
    if object.size() == 0 {
        return Err(Failure::new(FileErrorKind::Empty, "the file has no bytes"));
    }
    let tail = tail::read(object, &mut Fetched::default(), options.scan_budget)?;
    let types = &tail.footer.types;
    let all = fields(types, &types[0]);
    Ok((tail, all))
}

fn rows_of(
    object: Ranged,
    (tail, all): (&Tail, &Fields),
    deleted: Option<RoaringTreemap>,
    wanted: &Wanted,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let rows = Rows {
        file: Rc::new(File::new(object, tail.packing, u64::MAX)),
        live: LiveRows::new(tail.rows, deleted),
        tail,
        all,
        wanted,
    };
    let mut first = 0;
    for info in &tail.footer.stripes {
        rows.stripe(info, first, sink)?;
        first += info.rows;
    }
    Ok(())
}

struct Rows<'a> {
    file: Rc<File>,
    live: LiveRows,
    tail: &'a Tail,
    /// All columns of the file.
    all: &'a Fields,
    wanted: &'a Wanted,
}

impl Rows<'_> {
    /// Gives the rows of a stripe, the first of which has this number in the file.
    fn stripe(&self, info: &StripeInfo, first: u64, sink: &mut Sink) -> Result<(), Stop> {
        let get = |range| self.file.object.get(range);
        let footer = tail::stripe(&tail::footer_of(self.tail.packing, info, get)?)?;
        let streams = streams(info, &footer)?;
        let types = &self.tail.footer.types;
        let roots = self.wanted.columns.iter();
        let roots: Vec<usize> = roots
            .map(|column| types[0].parts[*column] as usize)
            .collect();
        let mut is_read = vec![false; types.len()];
        for root in &roots {
            is_read[*root] = true;
        }
        for at in 1..types.len() {
            for part in &types[at].parts {
                is_read[*part as usize] |= is_read[at];
            }
        }
        let wanted = streams.iter().filter_map(|((column, _), range)| {
            let is_read = is_read.get(*column as usize).copied().unwrap_or(false);
            is_read.then(|| range.clone())
        });
        let wanted: Vec<Range<u64>> = wanted.collect();
        let bytes: u64 = wanted.iter().map(|range| range.end - range.start).sum();
        let ahead = match bytes <= AHEAD {
            true => self.file.object.get_all(wanted, GAP)?,
            false => Fetched::default(),
        };
        let stripe = Stripe {
            types,
            footer: &footer,
            file: self.file.clone(),
            streams: &streams,
            ahead: &ahead,
            nodes: &self.tail.nodes,
        };
        self.file.set_memory(MEMORY);
        let columns = roots.iter().map(|root| stripe.column(*root));
        let mut columns: Vec<Column> = columns.collect::<Result<_, _>>().map_err(too_much)?;
        // Dictionaries are held until the last row.
        let memory = self.file.memory();
        let mut left = info.rows;
        while left > 0 {
            let rows = left.min(ROWS);
            self.file.set_memory(memory);
            let values = columns.iter_mut().map(|column| column.next(rows as usize));
            let values: Vec<ArrayRef> = values.collect::<Result<_, _>>().map_err(too_much)?;
            let number = first + info.rows - left;
            self.give(values, number..number + rows, sink)?;
            left -= rows;
        }
        Ok(())
    }

    /// Gives the live ones of these rows of the file.
    fn give(&self, values: Vec<ArrayRef>, rows: Range<u64>, sink: &mut Sink) -> Result<(), Stop> {
        let count = (rows.end - rows.start) as usize;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        // Words of a dictionary have a type of their own.
        let fields = self.wanted.columns.iter().zip(&values).map(|(column, it)| {
            let field = self.all[*column].as_ref().clone();
            field.with_data_type(it.data_type().clone())
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let failed = |error: arrow::error::ArrowError| decoding(&error.to_string());
        let batch = RecordBatch::try_new_with_options(schema, values, &options);
        let batch = batch.map_err(failed)?;
        if self.wanted.numbered {
            for run in self.live.among(rows.clone()) {
                let (at, length) = (run.start - rows.start, run.end - run.start);
                sink.give_at(run.start, batch.slice(at as usize, length as usize))?;
            }
            return Ok(());
        }
        let live = match self.live.mask(rows.clone()) {
            Some(mask) => filter_record_batch(&batch, &mask).map_err(failed)?,
            None => batch,
        };
        sink.give_at(rows.start, live)
    }
}

fn too_much(stopped: Stopped) -> Failure {
    match stopped {
        Stopped::Failed(failure) => failure,
        Stopped::TooMuch => {
            let cause = format!("some rows of it take more than {MEMORY} bytes of memory");
            Failure::new(FileErrorKind::Unsupported, cause)
        }
    }
}
