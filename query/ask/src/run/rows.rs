//! The rows of a statement as one batch, in an order that depends on them alone.

use arrow::array::{RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};
use futures::TryStreamExt;
use limn_sql::written::{as_plain, plain};
use limn_sql::{Answer, SqlError};

/// All rows of an answer; `None` if they are more than so many bytes.
pub(super) async fn collected(
    answer: &mut Answer,
    most_bytes: usize,
) -> Result<Option<RecordBatch>, SqlError> {
    let schema = plain(&answer.schema());
    let mut batches = Vec::new();
    let mut bytes = 0_usize;
    while let Some(batch) = answer.try_next().await? {
        let batch = as_plain(&batch, &schema).map_err(|error| defect(&error))?;
        bytes = bytes.saturating_add(batch.get_array_memory_size());
        if bytes > most_bytes {
            return Ok(None);
        }
        batches.push(batch);
    }
    let all = concat_batches(&schema, &batches).map_err(|error| defect(&error))?;
    match answer.is_ordered() {
        true => Ok(Some(all)),
        false => sorted(&all).map(Some).map_err(|error| defect(&error)),
    }
}

/// The rows by their values, column by column; as they are where values have no order.
fn sorted(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let fields = batch.schema();
    let fields = fields.fields().iter();
    let fields: Vec<SortField> = fields
        .map(|field| SortField::new(field.data_type().clone()))
        .collect();
    if batch.num_rows() < 2 || !RowConverter::supports_fields(&fields) {
        return Ok(batch.clone());
    }
    let rows = RowConverter::new(fields)?.convert_columns(batch.columns())?;
    let mut order: Vec<u32> = (0..).take(batch.num_rows()).collect();
    order.sort_by(|a, b| rows.row(*a as usize).cmp(&rows.row(*b as usize)));
    take_record_batch(batch, &UInt32Array::from(order))
}

fn defect(error: &ArrowError) -> SqlError {
    SqlError::Internal(error.to_string())
}
