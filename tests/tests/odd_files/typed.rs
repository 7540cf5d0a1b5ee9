//! Formats that say what they hold.

use super::{Odd, reads, refuses};

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
};
use parquet::arrow::ArrowWriter;

pub fn files() -> Vec<Odd> {
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        (
            "name",
            Arc::new(StringArray::from(vec![Some("ada"), None, Some("cyd")])),
        ),
        (
            "share",
            Arc::new(Float64Array::from(vec![0.5, f64::NAN, -1.0])),
        ),
        ("born", Arc::new(Date32Array::from(vec![0, 1, 19_000]))),
        (
            "is_in",
            Arc::new(BooleanArray::from(vec![true, false, true])),
        ),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let whole = parquet(&batch);
    let schema = "id:integer name:text share:float born:date is_in:boolean";
    vec![
        reads("people.parquet", whole.clone(), schema, 3),
        reads("PEOPLE.PQ", whole.clone(), schema, 3),
        reads("no_rows.parquet", parquet(&batch.slice(0, 0)), schema, 0),
        refuses(
            "no_tail.parquet",
            whole[..whole.len() - 9].to_vec(),
            "Parquet",
        ),
        refuses("no_head.parquet", whole[9..].to_vec(), "cannot be decoded"),
    ]
}

fn parquet(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}
