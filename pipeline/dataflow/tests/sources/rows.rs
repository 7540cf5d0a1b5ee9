//! The rows that every kind of table is written with, in the formats that kinds need.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow_avro::writer::AvroWriter;
use parquet::arrow::{ArrowWriter, PARQUET_FIELD_ID_META_KEY};

/// A row: a number, what it is called, if anything, and a day, which follows from the number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    pub id: i64,
    pub name: Option<String>,
}

/// The columns of a row with their types.
pub const COLUMNS: [(&str, &str); 3] = [("id", "integer"), ("name", "text"), ("day", "date")];

/// 2024-01-01, in days since 1970.
const FIRST_DAY: i32 = 19_723;

impl Row {
    /// Some of them have no name.
    pub fn new(id: i64) -> Row {
        const WORDS: [&str; 5] = ["Ada", "Ben", "Cleo", "Dora", "Emil"];
        let word = WORDS[id.unsigned_abs() as usize % WORDS.len()];
        Row {
            id,
            name: (id % 4 != 3).then(|| format!("{word} {id}")),
        }
    }

    pub fn called(id: i64, name: &str) -> Row {
        Row {
            id,
            name: Some(name.to_owned()),
        }
    }

    pub fn day(&self) -> String {
        format!("2024-01-{:02}", self.id % 28 + 1)
    }

    fn days(&self) -> i32 {
        FIRST_DAY + (self.id % 28) as i32
    }

    pub fn cells(&self) -> [String; 3] {
        let name = self.name.clone().unwrap_or_default();
        [self.id.to_string(), name, self.day()]
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::json!({"id": self.id, "name": self.name, "day": self.day()})
    }
}

pub fn csv(rows: &[Row]) -> Vec<u8> {
    let rows = rows.iter().map(|row| row.cells().join(",") + "\n");
    ("id,name,day\n".to_owned() + &rows.collect::<String>()).into_bytes()
}

pub fn json_lines(rows: &[Row]) -> Vec<u8> {
    let rows = rows.iter().map(|row| row.json().to_string() + "\n");
    rows.collect::<String>().into_bytes()
}

/// Rows as columns, which have the ids 1, 2 and 3.
pub fn batch(rows: &[Row]) -> RecordBatch {
    let ids = Int64Array::from_iter_values(rows.iter().map(|row| row.id));
    let names: StringArray = rows.iter().map(|row| row.name.as_deref()).collect();
    let days = Date32Array::from_iter_values(rows.iter().map(Row::days));
    let columns: [ArrayRef; 3] = [Arc::new(ids), Arc::new(names), Arc::new(days)];
    let named = COLUMNS.iter().zip(1..).zip(columns);
    batch_of(named.map(|(((name, _), id), array)| (*name, id, array)))
}

/// Columns with their names and ids.
pub fn batch_of<'a>(columns: impl Iterator<Item = (&'a str, i32, ArrayRef)>) -> RecordBatch {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .map(|(name, id, array)| {
            let id = (PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string());
            let field = Field::new(name, array.data_type().clone(), true);
            (field.with_metadata([id].into()), array)
        })
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
}

pub fn parquet_of(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

pub fn avro_of(batch: &RecordBatch) -> Vec<u8> {
    let schema = batch.schema().as_ref().clone();
    let mut writer = AvroWriter::new(Vec::new(), schema).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner()
}

/// Whether a column has the type of its place in [`COLUMNS`].
pub fn has_type(own: &str, found: &DataType) -> bool {
    match own {
        "integer" => found.is_integer(),
        "date" => *found == DataType::Date32,
        _ => matches!(found, DataType::Utf8 | DataType::Utf8View),
    }
}
