//! Parquet files of every kind, read whole.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    Float64Array, Int64Array, ListArray, RecordBatch, StringArray, TimestampMicrosecondArray,
    UInt32Array,
};
use arrow::datatypes::{Int8Type, Int32Type, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use super::*;

pub(super) fn write(batch: &RecordBatch, properties: WriterProperties) -> Bytes {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap().into()
}

fn plain(columns: Vec<(&str, ArrayRef)>) -> Bytes {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true)))
            .unwrap();
    write(&batch, WriterProperties::builder().build())
}

#[test]
fn every_type_has_a_text() {
    let words: DictionaryArray<Int8Type> =
        vec![Some("red"), None, Some("red")].into_iter().collect();
    let summary = read(
        "x.parquet",
        plain(vec![
            ("id", Arc::new(Int64Array::from(vec![3, 1, 2]))),
            (
                "n",
                Arc::new(UInt32Array::from(vec![Some(u32::MAX), None, None])),
            ),
            (
                "price",
                Arc::new(Float64Array::from(vec![1.5, 2.0, f64::NAN])),
            ),
            (
                "cost",
                Arc::new(
                    Decimal128Array::from(vec![150, 5, 0])
                        .with_precision_and_scale(9, 2)
                        .unwrap(),
                ),
            ),
            ("ok", Arc::new(BooleanArray::from(vec![true, false, true]))),
            ("day", Arc::new(Date32Array::from(vec![19_782, 0, 1]))),
            (
                "at",
                Arc::new(
                    TimestampMicrosecondArray::from(vec![0, 1_000_000, 5])
                        .with_timezone("Europe/Rome"),
                ),
            ),
            (
                "name",
                Arc::new(StringArray::from(vec![Some("é"), Some(""), None])),
            ),
            ("colour", Arc::new(words)),
            (
                "list",
                Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![
                    Some(vec![Some(1)]),
                    None,
                    None,
                ])),
            ),
            (
                "raw",
                Arc::new(BinaryArray::from(vec![
                    Some(&b"\xff\0"[..]),
                    None,
                    Some(b"x"),
                ])),
            ),
        ]),
    );
    assert_eq!(
        schema(&summary),
        "id:integer n:integer price:float cost:float ok:boolean day:date at:timestamp name:text colour:text list:list raw:binary"
    );
    assert_eq!(
        sample(&summary),
        [
            "3|4294967295|1.5|1.50|true|2024-02-29|1970-01-01T00:00:00Z|é|red|[1]|-",
            "1|-|2.0|0.05|false|1970-01-01|1970-01-01T00:00:01Z||-|-|-",
            "2|-|-|0.00|true|1970-01-02|1970-01-01T00:00:00.000005Z|-|red|-|-"
        ]
    );
    assert_eq!(
        (summary.rows, summary.rows_exact, summary.approximate),
        (3, true, false)
    );
    assert_eq!(range(&summary, "id"), (Some("1".into()), Some("3".into())));
    let colour = &column(&summary, "colour").profile;
    assert_eq!(
        (colour.values, colour.nulls, colour.distinct(), colour.exact),
        (2, 1, 1, true)
    );
    let raw = &column(&summary, "raw").profile;
    assert_eq!((raw.values, raw.nulls, raw.exact), (2, 1, false));
    assert_eq!(summary.notes, ["values of 1 column of bytes not read"]);
}

#[test]
fn column_names_are_made_presentable() {
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let long = "x".repeat(100_000);
    let names = ["\u{1b}]0;x\u{7}id", "", "\u{202e}a", "a", &long];
    let columns = names.iter().map(|name| (*name, one.clone())).collect();
    let summary = read("x.parquet", plain(columns));
    let names: Vec<&str> = summary.column_names().collect();
    assert_eq!(names[..4], ["]0;x id", "column_2", "a", "a_2"]);
    assert_eq!(names[4].len(), 200);
}

#[test]
fn a_file_without_rows_has_its_types() {
    let schema_of = RecordBatch::new_empty(Arc::new(Schema::new(vec![
        arrow::datatypes::Field::new("id", arrow::datatypes::DataType::Int64, true),
        arrow::datatypes::Field::new("name", arrow::datatypes::DataType::Utf8, true),
    ])));
    let summary = read(
        "x.parquet",
        write(&schema_of, WriterProperties::builder().build()),
    );
    assert_eq!(schema(&summary), "id:integer name:text");
    assert_eq!(
        (summary.rows, summary.rows_exact, summary.approximate),
        (0, true, false)
    );
}

#[test]
fn all_codecs_are_read() {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1000));
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4_RAW,
        Compression::ZSTD(Default::default()),
    ] {
        let summary = read(
            "x.parquet",
            write(
                &batch,
                WriterProperties::builder().set_compression(codec).build(),
            ),
        );
        assert_eq!(summary.rows, 1000, "{codec:?}");
        assert_eq!(
            range(&summary, "id"),
            (Some("0".into()), Some("999".into())),
            "{codec:?}"
        );
    }
}

#[test]
fn the_same_rows_are_drawn_from_csv_and_parquet() {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5000));
    let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(700))
        .build();
    let summary = read("x.parquet", write(&batch, properties));
    let text: String = (0..5000).map(|i| format!("{i}\n")).collect();
    let csv = read("x.csv", format!("id\n{text}"));
    assert_eq!(summary.sample, csv.sample);
    assert_eq!(column(&summary, "id").profile, column(&csv, "id").profile);
}

#[test]
fn small_files_take_one_request() {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5000));
    let (result, counts) = read_with(
        "x.parquet",
        plain(vec![("id", ids)]),
        &ReadOptions::default(),
    );
    result.unwrap();
    assert_eq!((counts.get, counts.head, counts.list), (1, 0, 0));
}
