#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn written(json: &str) -> String {
    Schema::parse(json.as_bytes()).unwrap().json
}

fn refused(json: &str) -> String {
    let failure = Schema::parse(json.as_bytes()).err().unwrap();
    failure.about("x.avro").to_string()
}

#[test]
fn names_are_replaced_by_what_they_stand_for() {
    let json = r#"{"type": "record", "name": "row", "namespace": "a.b", "fields": [
        {"name": "x", "type": {"type": "enum", "name": "colour", "symbols": ["red"], "doc": "!"}},
        {"name": "y", "type": ["null", "colour"], "default": null},
        {"name": "z", "type": {"type": "array", "items": "a.b.colour"}}]}"#;
    let colour = |n| format!(r#"{{"type":"enum","name":"enum{n}","symbols":["red"]}}"#);
    assert_eq!(
        written(json),
        format!(
            r#"{{"type":"record","name":"record1","fields":[{{"name":"x","type":{}}},{{"name":"y","type":["null",{}]}},{{"name":"z","type":{{"type":"array","items":{}}}}}]}}"#,
            colour(2),
            colour(3),
            colour(4)
        )
    );
}

#[test]
fn logical_types_that_are_not_in_order_are_ignored() {
    let of = |kind: &str| {
        let json =
            format!(r#"{{"type":"record","name":"r","fields":[{{"name":"x","type":{kind}}}]}}"#);
        let written = written(&json);
        let fields = written.split_once(r#""name":"x","type":"#).unwrap().1;
        fields.strip_suffix("}]}").unwrap().to_owned()
    };
    assert_eq!(
        of(r#"{"type":"int","logicalType":"date"}"#),
        r#"{"type":"int","logicalType":"date"}"#
    );
    assert_eq!(
        of(r#"{"type":"long","logicalType":"date"}"#),
        r#"{"type":"long"}"#
    );
    assert_eq!(
        of(r#"{"type":"string","logicalType":"uuid"}"#),
        r#""string""#
    );
    assert_eq!(
        of(r#"{"type":"bytes","logicalType":"decimal"}"#),
        r#"{"type":"bytes"}"#
    );
    assert_eq!(
        of(r#"{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}"#),
        r#"{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}"#
    );
    assert_eq!(
        of(r#"{"type":"fixed","name":"f","size":2,"logicalType":"decimal","precision":9}"#),
        r#"{"type":"fixed","name":"fixed2","size":2}"#
    );
    assert_eq!(of(r#"{"type":{"type":"string"}}"#), r#""string""#);
}

#[test]
fn schemas_without_end_are_refused() {
    let list =
        r#"{"type":"record","name":"list","fields":[{"name":"next","type":["null","list"]}]}"#;
    assert!(refused(list).contains("its type list contains itself"));
    // Each type twice in the next: 2^40 columns.
    let mut kind =
        r#"{"type":"record","name":"t0","fields":[{"name":"x","type":"int"}]}"#.to_owned();
    for i in 1..40 {
        let before = i - 1;
        kind = format!(
            r#"{{"type":"record","name":"t{i}","fields":[{{"name":"a","type":{kind}}},{{"name":"b","type":"t{before}"}}]}}"#
        );
    }
    assert!(refused(&kind).contains("more than 8192 types"));
    let deep = format!(
        r#"{{"type":"record","name":"r","fields":[{{"name":"x","type":{}"int"{}}}]}}"#,
        r#"{"type":"array","items":"#.repeat(70),
        "}".repeat(70)
    );
    assert!(refused(&deep).contains("more than 64 levels deep"));
    let deeper = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refused(&deeper).contains("it is no JSON"));
}

#[test]
fn schemas_of_no_table_are_refused() {
    assert!(refused(r#""string""#).contains("no records"));
    assert!(refused(r#"{"type":"record","name":"r","fields":[]}"#).contains("no columns"));
    for json in [
        "{}",
        "7",
        r#"{"type":"record","name":"r"}"#,
        r#"{"type":"record","fields":[]}"#,
        r#"{"type":"record","name":"r","fields":[{"name":"x","type":"nothing"}]}"#,
        r#"{"type":"enum","name":"r","symbols":[1]}"#,
    ] {
        assert!(refused(json).contains("its schema is broken"), "{json}");
    }
}

#[test]
fn records_that_refer_to_deep_ones_are_deep() {
    // Each forty levels, the last of which is the record before.
    let record = |name: &str, inner: &str| {
        let (open, close) = (r#"{"type":"array","items":"#.repeat(38), "}".repeat(38));
        format!(
            r#"{{"type":"record","name":"{name}","fields":[{{"name":"x","type":{open}{inner}{close}}}]}}"#
        )
    };
    let fields = [
        ("a", record("a", r#""int""#)),
        ("b", record("b", r#""a""#)),
        ("c", record("c", r#""b""#)),
    ];
    let rows = |count: usize| {
        let fields = fields[..count].iter();
        let fields: Vec<String> = fields
            .map(|(name, kind)| format!(r#"{{"name":"{name}","type":{kind}}}"#))
            .collect();
        format!(
            r#"{{"type":"record","name":"r","fields":[{}]}}"#,
            fields.join(",")
        )
    };
    assert!(Schema::parse(rows(1).as_bytes()).is_ok());
    for count in [2, 3] {
        let error = refused(&rows(count));
        assert!(error.contains("more than 64 levels deep"), "{error}");
    }
}

#[test]
fn records_without_fields_are_left_out_or_refused() {
    let none = r#"{"type":"record","name":"e","fields":[]}"#;
    let rows = |kind: &str| {
        format!(
            r#"{{"type":"record","name":"r","fields":[{{"name":"x","type":{kind}}},{{"name":"y","type":"int"}}]}}"#
        )
    };
    // As Iceberg's manifests of tables without partitions have them.
    let schema = Schema::parse(rows(none).as_bytes()).unwrap();
    assert_eq!(schema.columns.len(), 1);
    assert_eq!(schema.documented.columns, [None]);
    for holds in [
        format!(r#"{{"type":"array","items":{none}}}"#),
        format!(r#"["null",{none}]"#),
    ] {
        let error = refused(&rows(&holds));
        assert!(
            error.contains("a record without fields; write it"),
            "{error}"
        );
    }
    assert!(refused(none).contains("no columns"));
}

/// Iceberg writes maps as lists of pairs, and says so.
#[test]
fn pairs_that_are_a_map_are_one() {
    let of = |logical: &str, key: &str| {
        let json = format!(
            r#"{{"type": "record", "name": "r", "fields": [{{"name": "x", "field-id": 1, "type":
            {{"type": "array"{logical}, "items": {{"type": "record", "name": "p", "fields": [
            {{"name": "key", "field-id": 2, "type": "{key}"}}, {{"name": "value", "field-id": 3, "type":
            {{"type": "record", "name": "v", "fields": [{{"name": "a", "field-id": 4, "type": "int"}}]}}}}]}}}}}}]}}"#
        );
        Schema::parse(json.as_bytes()).unwrap()
    };
    let path = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    let map = of(r#", "logicalType": "map""#, "string");
    assert!(map.json.contains(r#""type":"map""#), "{}", map.json);
    assert_eq!(map.fields_within(), [(path(&["x", "value", "a"]), Some(4))]);
    let list = of("", "string");
    assert_eq!(list.fields_within().len(), 3);
    let pairs = of(r#", "logicalType": "map""#, "int");
    let a = (path(&["x", "element", "value", "a"]), Some(4));
    assert_eq!(pairs.fields_within(), [a]);
    for list in [list, pairs] {
        assert!(list.json.contains(r#""type":"array""#), "{}", list.json);
    }
}
