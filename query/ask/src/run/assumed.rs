//! Rows that stand for those of a semantic stage before it has run, to estimate what comes after it
//! costs.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::SchemaRef;

use crate::plan::Operation;

/// Rows of a stage as they may come out: half of what a filter reads, the first rows of a ranking,
/// one right row for each left row of a join; what a model writes is null.
pub(super) fn rows(
    operation: &Operation,
    inputs: &[RecordBatch],
    schema: &SchemaRef,
) -> RecordBatch {
    let read = inputs.first().map_or(0, RecordBatch::num_rows);
    let rows = match operation {
        Operation::SemFilter(_) => read.div_ceil(2),
        Operation::SemTopK(top) if top.group_by.is_empty() => {
            read.min(usize::try_from(top.k).unwrap_or(usize::MAX))
        }
        Operation::SemAgg(_) | Operation::SemFact(_) => 1,
        _ => read,
    };
    let columns = schema.fields().iter().enumerate().map(|(at, field)| {
        // What is kept of the rows comes before what is written.
        let known = inputs.first().and_then(|input| input.columns().get(at));
        let known = known.filter(|it| it.data_type() == field.data_type() && rows <= it.len());
        let is_kept = !matches!(operation, Operation::SemAgg(_) | Operation::SemFact(_));
        match known.filter(|_| is_kept) {
            Some(column) => column.slice(0, rows),
            None => new_null_array(field.data_type(), rows),
        }
    });
    let columns: Vec<ArrayRef> = columns.collect();
    let fields = schema.fields().iter();
    let fields: Vec<_> = fields
        .map(|it| it.as_ref().clone().with_nullable(true))
        .collect();
    let schema = Arc::new(arrow::datatypes::Schema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)
        .unwrap_or_else(|_| RecordBatch::new_empty(schema))
}
