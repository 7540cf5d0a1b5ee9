//! What the files of the lake hold: columns of a few types under names that tables share, and cells
//! made of few words, so that a question matches many tables.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Csv,
    Jsonl,
    Parquet,
}

impl Format {
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
        }
    }
}

pub fn format() -> impl Strategy<Value = Format> {
    prop_oneof![
        Just(Format::Csv),
        Just(Format::Jsonl),
        Just(Format::Parquet)
    ]
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Integer,
    Float,
    Text,
    Date,
}

impl Type {
    pub fn of(number: usize) -> Self {
        [Self::Integer, Self::Float, Self::Text, Self::Date][number % 4]
    }
}

/// A column: its name and what it holds.
pub type Column = (String, Type);

const COLUMNS: [&str; 14] = [
    "station_id",
    "WaterLevel",
    "river",
    "order_date",
    "customer",
    "unit price",
    "qty",
    "country_code",
    "employeeName",
    "notes",
    "started",
    "ended",
    "score",
    "album",
];

const WORDS: [&str; 32] = [
    "Aare", "Reuss", "Limmat", "heron", "granite", "harvest", "tram", "library", "violin",
    "Nakamura", "Okafor", "glacier", "copper", "saffron", "ferry", "orchard", "comet", "lantern",
    "marble", "otter", "pepper", "quartz", "ridge", "sonata", "tulip", "umbra", "velvet", "willow",
    "xenon", "yarrow", "zinc", "amber",
];

/// Words that are in cells, column names and contexts.
pub fn word(number: usize) -> &'static str {
    WORDS[number % WORDS.len()]
}

/// A column's name.
pub fn column_name(number: usize) -> String {
    COLUMNS[number % COLUMNS.len()].to_owned()
}

/// Two to five columns of different names.
pub fn columns(seed: usize) -> Vec<Column> {
    let count = 2 + seed % 4;
    (0..count)
        .map(|at| (column_name(seed * 3 + at), Type::of(seed / 2 + at)))
        .collect()
}

/// Rows of a file whose texts are more than a profile keeps whole.
const MANY: usize = 300;

/// A number that depends on all three.
fn mixed(seed: usize, row: usize, column: usize) -> usize {
    let bytes = [seed, row, column].map(usize::to_le_bytes).concat();
    (xxhash_rust::xxh3::xxh3_64(&bytes) >> 8) as usize
}

/// A file's bytes. Some files have more rows, so that there are columns of many values.
pub fn write(format: Format, columns: &[Column], seed: usize, rows: usize) -> Vec<u8> {
    let rows = match seed % 5 {
        0 => rows + MANY,
        _ => rows,
    };
    match format {
        Format::Csv => write_csv(columns, seed, rows),
        Format::Jsonl => write_jsonl(columns, seed, rows.max(1)),
        Format::Parquet => write_parquet(columns, seed, rows),
    }
}

fn cell(kind: Type, number: usize) -> String {
    match kind {
        Type::Integer => (number % 500).to_string(),
        Type::Float => format!("{}.25", number % 90),
        Type::Text => format!("{} {}", word(number), word(number / 64)),
        Type::Date => format!("2024-{:02}-{:02}", 1 + number % 12, 1 + number / 16 % 28),
    }
}

fn write_csv(columns: &[Column], seed: usize, rows: usize) -> Vec<u8> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..rows {
        let cells = columns.iter().enumerate();
        let cells: Vec<String> = cells
            .map(|(at, (_, kind))| cell(*kind, mixed(seed, row, at)))
            .collect();
        text += &(cells.join(",") + "\n");
    }
    text.into_bytes()
}

fn write_jsonl(columns: &[Column], seed: usize, rows: usize) -> Vec<u8> {
    let mut text = String::new();
    for row in 0..rows {
        let mut object = serde_json::Map::new();
        for (at, (name, kind)) in columns.iter().enumerate() {
            let number = mixed(seed, row, at);
            let value = match kind {
                Type::Integer => serde_json::json!(number % 500),
                Type::Float => serde_json::json!((number % 90) as f64 + 0.25),
                Type::Text | Type::Date => serde_json::json!(cell(*kind, number)),
            };
            object.insert(name.clone(), value);
        }
        text += &(serde_json::Value::Object(object).to_string() + "\n");
    }
    text.into_bytes()
}

fn write_parquet(columns: &[Column], seed: usize, rows: usize) -> Vec<u8> {
    let arrays = columns.iter().enumerate().map(|(at, (name, kind))| {
        let numbers = (0..rows).map(|row| mixed(seed, row, at));
        let array: ArrayRef = match kind {
            Type::Integer => Arc::new(Int64Array::from_iter_values(
                numbers.map(|number| (number % 500) as i64),
            )),
            Type::Float => Arc::new(Float64Array::from_iter_values(
                numbers.map(|number| (number % 90) as f64 + 0.25),
            )),
            Type::Text => Arc::new(StringArray::from_iter_values(
                numbers.map(|number| cell(Type::Text, number)),
            )),
            Type::Date => Arc::new(Date32Array::from_iter_values(
                numbers.map(|number| 19_000 + (number % 900) as i32),
            )),
        };
        (name, array)
    });
    let batch = RecordBatch::try_from_iter(arrays).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}
