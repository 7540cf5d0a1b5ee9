//! Whole files through [`summarise_file`], from a store in memory.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod arrow_files;
mod arrow_parts;
mod arrow_work;
mod avro_files;
mod dbf_files;
mod delimited;
mod documented;
mod encodings;
mod hostile;
mod json;
mod json_lists;
mod live_rows;
mod nested_names;
mod orc_work;
mod packed;
mod parquet_files;
mod parquet_reads;
mod speed;
mod typed_files;
mod typed_hostile;
mod written_elsewhere;

use bytes::Bytes;
use limn_profile::{ColumnSummary, FileSummary};
use limn_store::Store;

use super::{ReadOptions, summarise_file};
use crate::data_file::DataFile;
use crate::error::{FileError, FileErrorKind};
use crate::format::Format;
use crate::object::ObjectRecord;

/// The data file at `path`, of `size` bytes.
pub(super) fn data_file(path: &str, size: usize) -> DataFile {
    DataFile {
        object: ObjectRecord {
            path: path.into(),
            etag: None,
            version: None,
            size: size as u64,
            modified_ms: 0,
        },
        format: Format::of_path(path).unwrap(),
        sample_path: String::new(),
        is_beside: false,
        is_alone: false,
        declared: None,
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error_and_tried_again() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let folder = tempfile::TempDir::new().unwrap();
        let store = Store::open(folder.path().to_str().unwrap()).unwrap();
        for path in [
            "t.csv",
            "t.json",
            "t.parquet",
            "t.arrow",
            "t.orc",
            "t.avro",
            "t.dbf",
        ] {
            store
                .put(path, "{\"a\":1}\n".repeat(40).into())
                .await
                .unwrap();
            let listed = store.head(path).await.unwrap();
            let mut file = data_file(path, listed.size as usize);
            file.object.etag = listed.etag;
            store
                .put(path, "{\"b\":2}\n".repeat(40).into())
                .await
                .unwrap();
            let options = ReadOptions::default();
            let read = summarise_file(&store, &file, &options).await;
            let error = read.unwrap_err();
            assert_eq!(error.kind, FileErrorKind::Missing, "{error}");
            assert!(
                error.is_retryable() && error.cause.contains("changed"),
                "{error}"
            );
        }
    });
}

#[test]
fn a_text_among_the_files_of_a_table_is_not_looked_at() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut file = data_file("x.tar.gz//day=1/notes.txt", 40);
    file.is_beside = true;
    // Nothing is there.
    let (store, options) = (Store::in_memory(), ReadOptions::default());
    let read = runtime.block_on(summarise_file(&store, &file, &options));
    let error = read.unwrap_err();
    assert_eq!(error.kind, FileErrorKind::NoTable, "{error}");
}

/// Reads `content` as a file called `path`; also what was requested for it.
pub(super) fn read_with(
    path: &str,
    content: impl Into<Bytes>,
    options: &ReadOptions,
) -> (Result<FileSummary, FileError>, limn_store::RequestCounts) {
    let content = content.into();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::in_memory();
        let file = data_file(path, content.len());
        store.put(path, content).await.unwrap();
        let before = store.counts();
        let result = summarise_file(&store, &file, options).await;
        (result, store.counts().since(&before))
    })
}

pub(super) fn read(path: &str, content: impl Into<Bytes>) -> FileSummary {
    read_with(path, content, &ReadOptions::default()).0.unwrap()
}

fn failure(path: &str, content: impl Into<Bytes>) -> FileError {
    let error = read_with(path, content, &ReadOptions::default())
        .0
        .unwrap_err();
    assert_eq!(error.object, path);
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

/// Names and types, as `id:integer name:text`.
fn schema(summary: &FileSummary) -> String {
    let columns: Vec<String> = summary
        .columns
        .iter()
        .map(|c| format!("{}:{}", c.name, c.data_type))
        .collect();
    columns.join(" ")
}

fn column<'a>(summary: &'a FileSummary, name: &str) -> &'a ColumnSummary {
    summary
        .columns
        .iter()
        .find(|column| column.name == name)
        .unwrap()
}

/// The sampled rows in file order, nulls as `-`.
fn sample(summary: &FileSummary) -> Vec<String> {
    let mut rows: Vec<_> = summary.sample.rows.iter().collect();
    rows.sort_by_key(|row| row.row);
    let cells = |row: &limn_profile::SampledRow| -> String {
        row.values
            .iter()
            .map(|value| value.as_deref().unwrap_or("-"))
            .collect::<Vec<_>>()
            .join("|")
    };
    rows.into_iter().map(cells).collect()
}

fn range(summary: &FileSummary, name: &str) -> (Option<String>, Option<String>) {
    let profile = &column(summary, name).profile;
    (profile.min.clone(), profile.max.clone())
}

fn budget(scan_budget: u64) -> ReadOptions {
    ReadOptions {
        scan_budget,
        ..ReadOptions::default()
    }
}
