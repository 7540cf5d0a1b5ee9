//! Rows as they are written: as JSON, and as Arrow without views of texts and bytes, which are new
//! to Arrow, so that many readers do not have them.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;

use crate::cells::Cells;

/// The columns of a batch.
///
/// # Errors
/// As [`Cells::of`].
pub fn cells_of(batch: &RecordBatch) -> Result<Vec<Cells<'_>>, ArrowError> {
    let columns = batch.columns().iter();
    columns.map(|column| Cells::of(column.as_ref())).collect()
}

/// Writes rows as JSON, an array and a line each, with commas between them and before them if they
/// are not the first.
///
/// # Errors
/// As [`Cells::of`].
pub fn json_rows(batch: &RecordBatch, is_first: bool, out: &mut String) -> Result<(), ArrowError> {
    let cells = cells_of(batch)?;
    for row in 0..batch.num_rows() {
        out.push_str(if is_first && row == 0 { "\n[" } else { ",\n[" });
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                out.push(',');
            }
            cell.json(row, out);
        }
        out.push(']');
    }
    Ok(())
}

/// The columns with plain texts and bytes where they have views, also within lists, structs and
/// maps.
#[must_use]
pub fn plain(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(plain_field);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Rows as columns that [`plain`] gave.
///
/// # Errors
/// None for the columns of the rows.
pub fn as_plain(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns.collect::<Result<_, _>>()?,
        &rows,
    )
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let data_type = plain_type(field.data_type());
    Arc::new(Field::clone(field).with_data_type(data_type))
}

fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(item) => DataType::List(plain_field(item)),
        DataType::LargeList(item) => DataType::LargeList(plain_field(item)),
        DataType::FixedSizeList(item, length) => {
            DataType::FixedSizeList(plain_field(item), *length)
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        DataType::Map(entries, is_sorted) => DataType::Map(plain_field(entries), *is_sorted),
        DataType::Dictionary(keys, values) => {
            DataType::Dictionary(keys.clone(), Box::new(plain_type(values)))
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use arrow::array::{ArrayRef, Int32Array, ListArray, StringViewArray, StructArray};
    use arrow::buffer::OffsetBuffer;

    use super::*;

    #[test]
    fn views_are_plain_at_any_depth() {
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "a text of some length"]));
        let item = Arc::new(Field::new("item", DataType::Utf8View, true));
        let offsets = OffsetBuffer::from_lengths([1, 1]);
        let list: ArrayRef = Arc::new(ListArray::new(item, offsets, Arc::clone(&texts), None));
        let field = |name: &str, of: &ArrayRef| Field::new(name, of.data_type().clone(), true);
        let parts = [(Arc::new(field("inner", &list)), Arc::clone(&list))];
        let parts: ArrayRef = Arc::new(StructArray::from(parts.to_vec()));
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let columns = [("t", texts), ("l", list), ("s", parts), ("n", numbers)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let schema = plain(&batch.schema());
        assert!(!format!("{schema:?}").contains("View"), "{schema:?}");
        let made = as_plain(&batch, &schema).unwrap();
        assert_eq!(made.schema(), schema);
        let text = |batch: &RecordBatch| {
            let mut text = String::new();
            json_rows(batch, true, &mut text).unwrap();
            text
        };
        assert_eq!(text(&made), text(&batch));
    }
}
