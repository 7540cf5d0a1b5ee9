//! The rows of a dBase table as typed batches, with the kinds and extents of their shapes where
//! these are wanted.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use limn_store::Store;

use super::beside::Beside;
use super::header::Table;
use super::shapes::{Shape, Shapes};
use super::values::{Seen, column};
use super::{chunk, fields, geometry_column, live, place};
use crate::batches::{Sink, Stop, Wanted};
use crate::ranged::Ranged;
use crate::typed::decoding;
use crate::{Failure, ReadOptions};

/// Bytes read at a time.
const WINDOW: u64 = 4 << 20;

/// Reads all rows. `lake` has the files beside the table.
pub(crate) fn read(
    lake: &Store,
    object: &Ranged,
    wanted: &Wanted,
    options: &ReadOptions,
    sink: &mut Sink,
) -> Result<(), Stop> {
    let beside = Beside::open(lake, options)?;
    let table = Table::open(object, beside.encoding.as_deref())?;
    let fields = fields(&table, beside.shapes.is_some());
    let own = table.fields.len();
    let schema = wanted.columns.iter().map(|at| fields.get(*at).cloned());
    let schema: Option<Vec<_>> = schema.collect();
    let Some(schema) = schema else {
        let cause = "it has fewer columns than when it was indexed";
        return Err(decoding(cause).into());
    };
    let is_geometry = wanted.columns.iter().any(|at| *at >= own);
    let mut rows = Rows {
        schema: Arc::new(Schema::new(schema)),
        shapes: beside.shapes.filter(|_| is_geometry),
        seen: Seen::of(&table),
        table,
        wanted,
    };
    let of_a_window = (WINDOW / rows.table.record as u64).max(1);
    let mut at = 0;
    while at < rows.table.records {
        sink.check()?;
        let records = at..(at + of_a_window).min(rows.table.records);
        at = records.end;
        let bytes = object.get(place(&rows.table, &records))?;
        for bytes in bytes.chunks(chunk(&rows.table) * rows.table.record) {
            sink.give(rows.batch(bytes)?)?;
        }
    }
    Ok(())
}

struct Rows<'a> {
    table: Table,
    schema: Arc<Schema>,
    shapes: Option<Shapes>,
    seen: Seen,
    wanted: &'a Wanted,
}

impl Rows<'_> {
    fn batch(&mut self, bytes: &[u8]) -> Result<RecordBatch, Failure> {
        let (places, records): (Vec<usize>, Vec<&[u8]>) = live(&self.table, bytes).unzip();
        let shapes = self.shapes(bytes.len() / self.table.record, &places)?;
        let own = self.table.fields.len();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.wanted.columns.len());
        for at in &self.wanted.columns {
            arrays.push(match at.checked_sub(own) {
                Some(at) => geometry_column(at, &shapes),
                None => column(&self.table, *at, &records, &mut self.seen)?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(records.len()));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options);
        batch.map_err(|error| decoding(&error.to_string()))
    }

    /// The shapes of those of the next records that are at these places.
    fn shapes(&mut self, records: usize, places: &[usize]) -> Result<Vec<Shape>, Failure> {
        let Some(source) = &mut self.shapes else {
            return Ok(Vec::new());
        };
        let mut all = Vec::with_capacity(records);
        for _ in 0..records {
            all.push(source.next()?.unwrap_or_default());
        }
        let shape = |at: &usize| all.get(*at).copied().unwrap_or_default();
        Ok(places.iter().map(shape).collect())
    }
}
