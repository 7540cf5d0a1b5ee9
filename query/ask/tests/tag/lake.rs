//! The tables of `tests/tag/tables` as an index has them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use limn_formats::{Format, ObjectRecord, ReadOptions, summarise_file};
use limn_lake::assemble::merge_files;
use limn_lake::{TableFile, TableName};
use limn_profile::{FileSummary, Redact};
use limn_segment::{ColumnRecord, FileRecord, TableRecord};
use limn_sql::{Catalogue, Engine, Lake, Limits};
use limn_store::Store;

/// A table's columns, in order, each with its type.
pub(crate) type Columns = Vec<(String, String)>;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tag")
}

pub(crate) fn text(file: &str) -> String {
    let path = folder().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub(crate) fn schemas() -> BTreeMap<String, Columns> {
    serde_json::from_str(&text("schemas.json")).unwrap()
}

/// An engine over all tables.
pub(crate) async fn engine() -> Engine {
    let store = Store::in_memory();
    let mut tables = Vec::new();
    for name in schemas().keys() {
        let text = text(&format!("tables/{name}.csv"));
        tables.push(table(&store, name, text).await);
    }
    let open = move |_: &str| {
        Ok(Lake {
            store: store.clone(),
            options: ReadOptions::default(),
        })
    };
    Engine::new(Catalogue::new(tables, open), Limits::default())
}

async fn table(store: &Store, name: &str, text: String) -> TableRecord {
    let path = format!("{name}.csv");
    store.put(&path, Bytes::from(text)).await.unwrap();
    let file = TableFile {
        object: ObjectRecord::from(store.head(&path).await.unwrap()),
        format: Format::of_path(&path).unwrap(),
        table_name: TableName::parse(name).unwrap(),
        is_beside: false,
        is_alone: false,
        declared: None,
    };
    let options = ReadOptions::default();
    let read = summarise_file(store, &file.data_file(), &options).await;
    let mut summary: FileSummary = read.unwrap();
    summary.redact(Redact::Off);
    record(name, &file, &summary)
}

fn record(name: &str, file: &TableFile, summary: &FileSummary) -> TableRecord {
    let path = file.object.path.as_str();
    let merged = merge_files(&[(path, summary)], &[path]).unwrap();
    let columns = merged.columns.iter().map(|column| ColumnRecord {
        name: column.name.clone(),
        data_type: column.data_type.to_string(),
        ..ColumnRecord::default()
    });
    let file = FileRecord {
        path: path.to_owned(),
        etag: file.object.etag.clone(),
        version: file.object.version.clone().map(String::from),
        size: file.object.size,
        modified_ms: file.object.modified_ms,
        rows: Some(summary.rows),
        summary: Some(summary.to_stored().unwrap().json),
        ..FileRecord::default()
    };
    TableRecord {
        lake: "/lake".to_owned(),
        name: name.to_owned(),
        format: "csv".to_owned(),
        rows: Some(merged.rows),
        rows_exact: merged.rows_exact,
        columns: columns.collect(),
        files: vec![file],
        ..TableRecord::default()
    }
}
