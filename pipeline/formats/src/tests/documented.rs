//! What files say of themselves.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::*;

fn metadata(all: &[(&str, &str)]) -> HashMap<String, String> {
    let all = all.iter();
    all.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn batch() -> RecordBatch {
    let fields = vec![
        Field::new("id", DataType::Int64, false).with_metadata(metadata(&[
            ("comment", "The\nnumber"),
            ("PARQUET:field_id", "1"),
        ])),
        Field::new("name", DataType::Utf8, true)
            .with_metadata(metadata(&[("Description", "Who it is")])),
        Field::new("plain", DataType::Utf8, true)
            .with_metadata(metadata(&[("pandas", "{}"), ("comment", " ")])),
    ];
    let about = metadata(&[
        ("description", "What was sold"),
        ("pandas", "{\"columns\": []}"),
    ]);
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let names: ArrayRef = Arc::new(StringArray::from(vec!["ada", "bob"]));
    let schema = Arc::new(Schema::new_with_metadata(fields, about));
    RecordBatch::try_new(schema, vec![ids, names.clone(), names]).unwrap()
}

fn documented(summary: &FileSummary) -> (Option<&str>, Vec<Option<&str>>) {
    let columns = summary.columns.iter();
    (
        summary.description.as_deref(),
        columns.map(|it| it.description.as_deref()).collect(),
    )
}

#[test]
fn metadata_of_fields_and_files_is_kept() {
    let batch = batch();
    let mut parquet = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    parquet.write(&batch).unwrap();
    let mut file = FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    file.write(&batch).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    for (path, content) in [
        ("t.parquet", parquet.into_inner().unwrap()),
        ("t.arrow", file.into_inner().unwrap()),
        ("t.arrows", stream.into_inner().unwrap()),
    ] {
        let summary = read(path, content);
        assert_eq!(
            documented(&summary),
            (
                Some("What was sold"),
                vec![Some("The number"), Some("Who it is"), None]
            ),
            "{path}"
        );
        let kept = summary.to_stored().unwrap().read().unwrap();
        assert_eq!(kept, summary);
    }
}

#[test]
fn comments_of_spark_are_kept() {
    let spark = r#"{"type":"struct","fields":[{"name":"name","type":"string","nullable":true,"metadata":{"comment":"Who"}},
        {"name":"id","type":"long","nullable":true,"metadata":{}}]}"#;
    for (json, columns) in [(spark, [None, Some("Who")]), ("{broken", [None, None])] {
        let key = "org.apache.spark.sql.parquet.row.metadata".to_owned();
        let properties = WriterProperties::builder()
            .set_key_value_metadata(Some(vec![KeyValue::new(key, json.to_owned())]))
            .build();
        let fields = vec![
            Field::new("id", DataType::Int64, false),
            Field::new("name", DataType::Utf8, true),
        ];
        let plain = batch().project(&[0, 1]).unwrap();
        let plain = RecordBatch::try_new(Arc::new(Schema::new(fields)), plain.columns().to_vec());
        let plain = plain.unwrap();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), plain.schema(), Some(properties)).unwrap();
        writer.write(&plain).unwrap();
        let summary = read("t.parquet", writer.into_inner().unwrap());
        assert_eq!(documented(&summary), (None, columns.to_vec()));
    }
}

#[test]
fn docs_of_avro_are_kept() {
    let schema = serde_json::json!({"type": {"type": "record", "name": "r", "doc": "What was sold", "fields": [
        {"name": "id", "type": "long", "doc": "The number"}, {"name": "x", "type": "long"}]}});
    let found = super::super::documented::avro(&schema);
    assert_eq!(found.table.as_deref(), Some("What was sold"));
    assert_eq!(found.columns, [Some("The number".to_owned()), None]);
}
