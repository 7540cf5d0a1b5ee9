//! dBase tables, alone or as those of shapefiles: records of one length, some of them deleted.
//!
//! A table within the scan budget is read whole. Of a longer one ranges are read that are spread
//! over the file (as of text files); with shapes beside it, which have no length in common, the
//! beginning of both. Shapes give a kind and an extent ([`crate::extent`]), and stand in the order
//! of the records.

pub(super) mod batches;
mod beside;
mod encoding;
mod header;
mod shapes;
mod values;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, StringViewArray};
use arrow::datatypes::{DataType as Arrow, Field as ArrowField, FieldRef};
use limn_profile::FileSummary;
use limn_profile::sample::draw_from;
use limn_profile::text::counted;
use limn_store::Store;

use self::beside::Beside;
use self::header::Table;
use self::shapes::Shape;
use self::values::{Seen, column, type_of};
use super::ranged::Ranged;
use super::typed::{Outcome, Purpose, Typed, Work};
use super::{Failure, ReadOptions, input, parse};
use crate::data_file::DataFile;
use crate::extent::{BOUNDS, column_names};

/// Records whose values are taken at a time, and bytes of them, about.
const CHUNK_RECORDS: usize = 8192;
const CHUNK_BYTES: usize = 1 << 20;
/// How a record begins that is deleted.
const DELETED: u8 = b'*';
/// Budgets of bytes of shapes that are read for a summary, which passes most of them.
const SHAPE_BUDGETS: u64 = 4;
/// Bytes of the budget for each shape that is kept: it takes more in memory.
const OF_A_SHAPE: u64 = 16;
/// Letters of column names that a note quotes.
const QUOTED: usize = 120;

/// Reads what is kept of a table. `lake` has the files beside it, `store` the table itself, which
/// may be a member's view.
pub(super) async fn summarise(
    lake: &Store,
    store: &Store,
    file: &DataFile,
    options: &ReadOptions,
) -> Result<FileSummary, Failure> {
    let object = Ranged::of(store, file);
    let (lake, options) = (lake.clone(), options.clone());
    let sample_path = file.sample_path.clone();
    parse(move || {
        let beside = Beside::open(&lake, &options)?;
        let table = Table::open(&object, beside.encoding.as_deref())?;
        Reading::new(&object, table, beside, &sample_path, &options)?.read(&sample_path, &options)
    })
    .await
}

/// The columns of a table, with those of its geometry.
fn fields(table: &Table, has_shapes: bool) -> Vec<FieldRef> {
    let own = table.fields.iter();
    let own = own.map(|field| ArrowField::new(field.name.as_str(), type_of(field.kind), true));
    let geometry = column_names().enumerate().map(|(at, name)| {
        let data_type = if at == 0 {
            Arrow::Utf8View
        } else {
            Arrow::Float64
        };
        ArrowField::new(name, data_type, true)
    });
    let geometry = geometry.filter(|_| has_shapes);
    own.chain(geometry).map(Arc::new).collect()
}

/// The geometry's column at this place, of these shapes.
fn geometry_column(at: usize, shapes: &[Shape]) -> ArrayRef {
    let bound = |shape: &Shape| shape.extent.bounds()?.get(at.checked_sub(1)?).copied();
    match at {
        0 => Arc::new(StringViewArray::from_iter(
            shapes.iter().map(|shape| shape.kind),
        )),
        _ => Arc::new(Float64Array::from_iter(shapes.iter().map(bound))),
    }
}

/// The records that are not deleted, and their places among all.
fn live<'b>(table: &Table, bytes: &'b [u8]) -> impl Iterator<Item = (usize, &'b [u8])> {
    let records = bytes.chunks_exact(table.record).enumerate();
    records.filter(|(_, record)| record.first() != Some(&DELETED))
}

/// How many records are taken at a time.
fn chunk(table: &Table) -> usize {
    (CHUNK_BYTES / table.record).clamp(1, CHUNK_RECORDS)
}

/// Where records stand in the file.
fn place(table: &Table, records: &Range<u64>) -> Range<u64> {
    let at = |record: u64| table.start + record * table.record as u64;
    at(records.start)..at(records.end)
}

/// Records that stand together.
struct Piece {
    first: u64,
    bytes: bytes::Bytes,
    /// The numbers that those have which are not deleted.
    numbers: Range<u64>,
}

/// What is read of a table.
struct Chosen {
    records: Vec<Range<u64>>,
    /// Shapes from the first on, as many as are read.
    shapes: Option<Vec<Shape>>,
    /// What is wrong with the shapes.
    note: Option<String>,
}

impl Chosen {
    fn of(
        size: u64,
        table: &Table,
        beside: Beside,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Result<Chosen, Failure> {
        let most = (options.scan_budget / table.record as u64).max(1);
        let first = |records: u64| std::iter::once(0..records.min(most)).collect();
        let Some(mut source) = beside.shapes else {
            return Ok(Chosen {
                records: match table.records > most {
                    true => spread(size, table, sample_path, options),
                    false => first(table.records),
                },
                shapes: None,
                note: None,
            });
        };
        let most_shapes = (options.scan_budget / OF_A_SHAPE).max(1);
        let most_shapes = most_shapes.min(most).min(table.records);
        let most_bytes = options.scan_budget.saturating_mul(SHAPE_BUDGETS);
        let (mut shapes, mut records) = (Vec::new(), table.records);
        loop {
            // Those of records beyond are not known.
            if shapes.len() as u64 >= most_shapes || source.passed() > most_bytes {
                records = shapes.len() as u64;
                break;
            }
            match source.next()? {
                Some(shape) => shapes.push(shape),
                None => break,
            }
        }
        Ok(Chosen {
            records: first(records),
            note: source.note(),
            shapes: Some(shapes),
        })
    }
}

/// One table while it is read.
struct Reading {
    table: Table,
    typed: Typed,
    pieces: Vec<Piece>,
    /// Shapes from the first on, as many as were read.
    shapes: Option<Vec<Shape>>,
    seen: Seen,
    /// Whether all records are here, and the shapes of all of them.
    whole: bool,
    notes: Vec<String>,
}

impl Reading {
    fn new(
        object: &Ranged,
        table: Table,
        beside: Beside,
        sample_path: &str,
        options: &ReadOptions,
    ) -> Result<Reading, Failure> {
        let chosen = Chosen::of(object.size(), &table, beside, sample_path, options)?;
        let (ranges, shapes) = (chosen.records, chosen.shapes);
        let notes = table.notes.iter().cloned().chain(chosen.note).collect();
        let places: Vec<Range<u64>> = ranges.iter().map(|it| place(&table, it)).collect();
        let fetched = object.get_all(places.clone(), 0)?;
        let mut pieces = Vec::with_capacity(ranges.len());
        for (records, place) in ranges.iter().zip(&places) {
            let bytes = fetched.get(place).unwrap_or_default();
            let live = live(&table, &bytes).count() as u64;
            pieces.push(Piece {
                first: records.start,
                numbers: records.start..records.start + live,
                bytes,
            });
        }
        let numbers = pieces.iter().map(|piece| piece.numbers.clone());
        let drawn = draw_from(options.seed, sample_path, numbers, options.sample_rows);
        let read: u64 = ranges.iter().map(|it| it.end - it.start).sum();
        Ok(Reading {
            typed: Typed::new(fields(&table, shapes.is_some()), drawn, options),
            seen: Seen::of(&table),
            whole: read == table.records,
            table,
            pieces,
            shapes,
            notes,
        })
    }

    fn read(mut self, sample_path: &str, options: &ReadOptions) -> Result<FileSummary, Failure> {
        let (mut rows, mut records) = (0, 0);
        for piece in std::mem::take(&mut self.pieces) {
            rows += piece.numbers.end - piece.numbers.start;
            records += (piece.bytes.len() / self.table.record) as u64;
            self.piece(&piece)?;
        }
        let mut all = rows;
        if !self.whole {
            let share = self.table.records as f64 / records.max(1) as f64;
            all = (rows as f64 * share).round() as u64;
            self.notes
                .push(format!("{rows} of about {} read", counted(all, "row")));
        }
        self.notes.extend(self.misfits());
        self.notes
            .extend(self.table.texts.note().filter(|_| self.seen.has_letters));
        let outcome = Outcome {
            rows: all,
            rows_exact: self.whole,
            complete: self.whole,
            notes: self.notes,
        };
        Ok(self.typed.finish(outcome, sample_path, options))
    }

    fn piece(&mut self, piece: &Piece) -> Result<(), Failure> {
        let (own, mut number) = (self.table.fields.len(), piece.numbers.start);
        let mut record = piece.first;
        for bytes in piece.bytes.chunks(chunk(&self.table) * self.table.record) {
            let (places, records): (Vec<usize>, Vec<&[u8]>) = live(&self.table, bytes).unzip();
            let picks = self.typed.picks(&(number..number + records.len() as u64));
            if self.typed.is_done(&picks) {
                return Ok(());
            }
            self.typed.charge(bytes.len() as u64);
            for at in 0..own {
                let values = column(&self.table, at, &records, &mut self.seen)?;
                self.typed.take(at, &values, &picks, Purpose::Both);
            }
            if let Some(shapes) = &self.shapes {
                let shape = |place: &usize| shapes.get(record as usize + place).copied();
                let shapes: Vec<Shape> = places
                    .iter()
                    .map(|it| shape(it).unwrap_or_default())
                    .collect();
                for at in 0..=BOUNDS.len() {
                    let values = geometry_column(at, &shapes);
                    self.typed.take(own + at, &values, &picks, Purpose::Both);
                }
            }
            number += records.len() as u64;
            record += (bytes.len() / self.table.record) as u64;
        }
        Ok(())
    }

    /// The note on values that are none of their column's type.
    fn misfits(&self) -> Option<String> {
        let misfits = self.seen.misfits.iter().zip(&self.table.fields);
        let misfits = misfits.filter(|(count, _)| **count > 0);
        let count: u64 = misfits.clone().map(|(count, _)| count).sum();
        let names: Vec<&str> = misfits.map(|(_, field)| field.name.as_str()).collect();
        let names: String = names.join(", ").chars().take(QUOTED).collect();
        let cells = counted(count, "cell");
        (count > 0).then(|| format!("{cells} not of the column's type read as null: {names}"))
    }
}

/// The records within ranges that are spread over a file.
fn spread(size: u64, table: &Table, sample_path: &str, options: &ReadOptions) -> Vec<Range<u64>> {
    let record = table.record as u64;
    let within = |range: Range<u64>| {
        let first = range.start.saturating_sub(table.start).div_ceil(record);
        let end = range.end.saturating_sub(table.start) / record;
        first..end.min(table.records)
    };
    let ranges = input::ranges(size, options, sample_path)
        .into_iter()
        .map(within);
    let ranges: Vec<Range<u64>> = ranges.filter(|it| it.start < it.end).collect();
    match ranges.is_empty() {
        // Records are longer than ranges: the first, then.
        true => std::iter::once(0..1).collect(),
        false => ranges,
    }
}
