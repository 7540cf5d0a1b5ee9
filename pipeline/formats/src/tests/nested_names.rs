//! Fields within columns of files whose table's log says names by ids, of all that are left: others
//! were dropped. What lists and maps consist of has ids, too, and is no field.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, FixedSizeListArray, Int32Array, ListArray, MapArray, StringArray, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use limn_profile::{Logged, NestedName, NestedNames, SharedNames};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use super::*;

/// The first row of a file whose fields within columns are `label`, of id 9, and none else.
fn first_row(path: &str, content: Vec<u8>) -> Vec<String> {
    let label = NestedName {
        id: Some(9),
        name: Some("label".to_owned()),
        ..NestedName::default()
    };
    let names = NestedNames {
        fields: vec![label],
        only: true,
    };
    let logged = Logged {
        nested: SharedNames::of(names),
        ..Logged::default()
    };
    let summary = live_rows::read_logged(path, content, logged, 16 << 20);
    let values = summary.sample.rows[0].values.iter();
    values.map(|value| value.clone().unwrap()).collect()
}

#[test]
fn keys_and_values_of_maps_are_no_fields() {
    let pairs = |key: &str| {
        format!(
            r#"{{"type":"array","logicalType":"map","items":{{"type":"record","name":"{key}s","fields":[
            {{"name":"key","field-id":2,"type":"{key}"}},{{"name":"value","field-id":3,"type":
            {{"type":"record","name":"v{key}","fields":[{{"name":"old","field-id":9,"type":"string"}},
            {{"name":"gone","field-id":4,"type":"string"}}]}}}}]}}}}"#
        )
    };
    let fields = ["int", "string"].map(|key| {
        let kind = pairs(key);
        format!(r#"{{"name":"of_{key}","field-id":1,"type":{kind}}}"#)
    });
    // A pair of 1 and ("a", "b"), and one of "k" and ("a", "b").
    let row = b"\x02\x02\x02a\x02b\0\x02\x02k\x02a\x02b\0";
    let content = avro_files::written_of(&fields.join(","), "null", &[(1, row)]);
    let pair = r#"[{"key":1,"value":{"label":"a"}}]"#;
    let expected = [pair, r#"{"k":{"label":"a"}}"#];
    assert_eq!(first_row("x.avro", content), expected);
}

/// A field with an id, as Iceberg's writers note it.
fn field(name: &str, kind: &DataType, id: i32) -> Field {
    let id = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())]);
    Field::new(name, kind.clone(), false).with_metadata(id)
}

#[test]
fn elements_of_lists_and_maps_are_no_fields() {
    let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    let structs: ArrayRef = Arc::new(StructArray::from(vec![
        (Arc::new(field("old", &DataType::Utf8, 9)), text("a")),
        (Arc::new(field("gone", &DataType::Utf8, 4)), text("b")),
    ]));
    let one = || OffsetBuffer::from_lengths([1]);
    let element = Arc::new(field("element", structs.data_type(), 5));
    let list = ListArray::new(element.clone(), one(), structs.clone(), None);
    let fixed = FixedSizeListArray::new(element, 1, structs.clone(), None);
    let pair = StructArray::from(vec![
        (
            Arc::new(field("key", &DataType::Int32, 2)),
            Arc::new(Int32Array::from(vec![1])) as ArrayRef,
        ),
        (Arc::new(field("value", structs.data_type(), 3)), structs),
    ]);
    let entries = Field::new(
        "key_value",
        arrow::array::Array::data_type(&pair).clone(),
        false,
    );
    let map = MapArray::new(Arc::new(entries), one(), pair, None, false);
    let columns: [ArrayRef; 3] = [Arc::new(list), Arc::new(fixed), Arc::new(map)];
    let fields = ["list", "fixed", "map"].iter().zip(&columns).zip(6..);
    let fields = fields.map(|((name, column), id)| field(name, column.data_type(), id));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let batch = arrow::array::RecordBatch::try_new(Arc::new(schema), columns.into());
    let content = parquet_files::write(&batch.unwrap(), Default::default());
    let items = r#"[{"label":"a"}]"#;
    let expected = [items, items, r#"{"1":{"label":"a"}}"#];
    assert_eq!(first_row("x.parquet", content.into()), expected);
}
