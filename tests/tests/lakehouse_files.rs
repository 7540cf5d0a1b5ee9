//! What is in the files of tables that have logs: Iceberg's data and deletes in ORC and Avro beside
//! Parquet, and fields within columns, which have the names that the log gives them today.

use std::fs;
use std::path::Path;

use limn_tests::{index_hashed, limn, text};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::logs::{Writer, actions, assert_rows, commit, commits, follow, make};

/// A nested value without the fields that are null, whether it is one or JSON that says it.
fn value_of(cell: &Value) -> Value {
    match cell {
        Value::String(text) => serde_json::from_str(text).map_or(cell.clone(), |it| value_of(&it)),
        Value::Array(values) => values.iter().map(value_of).collect(),
        Value::Object(fields) => {
            let known = fields.iter().filter(|(_, value)| !value.is_null());
            let known = known.map(|(name, value)| (name.clone(), value_of(value)));
            Value::Object(known.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// Holds all values of a nested column against what the table's writer reads.
pub(crate) fn assert_nested(index: &Path, (table, column): (&str, &str), expected: &Value) {
    let statement = format!("SELECT \"{column}\" FROM \"{table}\" WHERE \"{column}\" IS NOT NULL");
    let answer = limn(&["sql", &statement, "--index", text(index), "--json"]).ok();
    let rows = answer["rows"].as_array().unwrap().iter();
    let mut found: Vec<Value> = rows.map(|row| value_of(&row[0])).collect();
    let expected = expected[2].as_array().unwrap();
    assert_eq!(found.len(), expected.len(), "{table}.{column}");
    for value in expected {
        let at = found.iter().position(|it| it == value);
        let at = at.unwrap_or_else(|| panic!("{table}.{column}: no {value} of {found:?}"));
        found.swap_remove(at);
    }
}

/// Histories with files of three formats, deletes by position in each, and nested fields that are
/// renamed, dropped and added; at last rows are deleted by their values.
#[test]
fn iceberg_tables_have_files_of_every_format() {
    for seed in [1, 2] {
        let folder = TempDir::new().unwrap();
        let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
        fs::create_dir(&lake).unwrap();
        let mut writer = Writer::start("mixed_tables.py", &lake, seed);
        follow(&lake, folder.path(), 8, &mut writer);
        let expected = writer.step(100);
        index_hashed(&lake, &index, &[]).ok();
        for (table, expected) in expected.as_object().unwrap() {
            assert_rows(&index, table, expected);
        }
    }
}

/// The names of fields of a Delta table whose columns are mapped, also within a list; of one that
/// was dropped nothing is left, in no row, profile or text.
#[test]
fn fields_within_mapped_columns_have_the_names_of_today() {
    let folder = TempDir::new().unwrap();
    let (lake, index) = (folder.path().join("lake"), folder.path().join("index"));
    fs::create_dir(&lake).unwrap();
    make("nested_tables.py", &lake, 1);
    index_hashed(&lake, &index, &[]).ok();
    let (table, sql) = (lake.join("people"), |statement: &str| {
        limn(&["sql", statement, "--index", text(&index), "--json"]).ok()
    });
    let shown = |index: &Path| limn(&["show", "people", "--index", text(index), "--json"]).ok();
    assert!(shown(&index).to_string().contains("harbour"));
    let first = commits(&table).pop().unwrap();
    let mut metadata = actions(&first, "metaData").remove(0);
    let schema = metadata["schemaString"].as_str().unwrap();
    let mut schema: Value = serde_json::from_str(schema).unwrap();
    let mut id = 0;
    mapped(&mut schema, &mut id);
    let protocol = json!({"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}});
    metadata["configuration"] = json!({"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": id.to_string()});
    metadata["schemaString"] = json!(schema.to_string());
    commit(&table, 1, &[protocol, json!({"metaData": metadata})]);
    let report = index_hashed(&lake, &index, &[]).ok();
    assert_eq!(report["failures"], json!([]), "{report}");
    let again = index_hashed(&lake, &index, &[]).ok();
    assert_eq!(again["objects"]["read"], 0, "{again}");
    let rows = sql("SELECT contact, parts FROM people ORDER BY id");
    let rows: Vec<Value> = rows["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(value_of)
        .collect();
    let expected = [
        json!([{"road": "harbour 1", "place": {"zone": "north"}}, [{"label": "a", "zip": 7}]]),
        json!([{"road": "harbour 2", "place": {"zone": "south"}}, []]),
    ];
    assert_eq!(rows, expected);
    let shown = shown(&index).to_string();
    for dropped in ["street", "geo", "forgotten", "code"] {
        assert!(!shown.contains(dropped), "{dropped}: {shown}");
    }
    let found = limn(&["search", "forgotten", "--index", text(&index), "--json"]).ok();
    assert!(!found.to_string().contains("forgotten 1"), "{found}");
}

/// Maps the columns of a schema, under other names: `secret` is dropped.
fn mapped(schema: &mut Value, id: &mut u64) {
    for part in ["type", "elementType"] {
        if schema[part].is_object() {
            mapped(&mut schema[part], id);
        }
    }
    let Some(fields) = schema.get_mut("fields").and_then(Value::as_array_mut) else {
        return;
    };
    fields.retain(|field| field["name"] != "secret");
    for field in fields {
        *id += 1;
        let stored = field["name"].clone();
        field["metadata"] =
            json!({"delta.columnMapping.id": *id, "delta.columnMapping.physicalName": stored});
        let today = match stored.as_str().unwrap() {
            "street" => "road",
            "geo" => "place",
            "code" => "label",
            "count" => "zip",
            other => other,
        };
        field["name"] = json!(today);
        mapped(field, id);
    }
}
