//! What an action of a Hudi table's timeline did (`HoodieCommitMetadata`,
//! `HoodieReplaceCommitMetadata`): JSON before Hudi 1.0, Avro since.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, MapArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType as Arrow;
use limn_formats::{FileError, FileErrorKind, Format, ObjectRecord, all_rows};
use limn_store::{Store, one_line};
use serde::Deserialize;

use super::corrupt;
use super::timeline::Layout;

/// Bytes of what says what an action did.
const MOST_BYTES: u64 = 64 << 20;

/// What an action did, as far as it matters which rows there are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Commit {
    /// The files that it wrote, by their paths in the table.
    pub(super) files: Vec<String>,
    /// What it says besides, such as the table's schema.
    extra: HashMap<String, String>,
    /// The file groups that are no longer live, by partition and file id.
    pub(super) replaced: Vec<(String, String)>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Json {
    partition_to_write_stats: Option<HashMap<String, Vec<WriteStat>>>,
    extra_metadata: Option<HashMap<String, Option<String>>>,
    partition_to_replace_file_ids: Option<HashMap<String, Vec<String>>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WriteStat {
    path: Option<String>,
}

impl Commit {
    /// Something that it says besides.
    pub(super) fn extra(&self, key: &str) -> Option<&str> {
        let text = self.extra.get(key).map(String::as_str);
        text.filter(|text| !text.trim().is_empty())
    }

    /// Reads what an action did.
    ///
    /// # Errors
    /// The store's; it is empty, broken or longer than 64 MiB.
    pub(super) async fn read(
        lake: &Store,
        object: &ObjectRecord,
        layout: Layout,
    ) -> Result<Commit, FileError> {
        let path = &object.path;
        let broken = |cause: &str| corrupt(path, format!("it is no action of a timeline: {cause}"));
        if layout == Layout::Second {
            let batches = all_rows(lake, object.clone(), Format::Avro, MOST_BYTES).await?;
            let commit = batches.first().map(Commit::of_row);
            return commit.flatten().ok_or_else(|| broken("its row is broken"));
        }
        if object.size > MOST_BYTES {
            let cause = format!("it has {} bytes, more than {MOST_BYTES}", object.size);
            return Err(FileError::new(path, FileErrorKind::Unsupported, cause)
                .with_remedy("archive the table's timeline"));
        }
        let etag = object.etag.as_deref();
        let bytes = lake.get_range_of(path, etag, 0..object.size).await;
        let bytes = bytes.map_err(|error| FileError::from_store(path, &error))?;
        Commit::of_json(&bytes).map_err(|error| broken(&one_line(&error.to_string())))
    }

    fn of_json(bytes: &[u8]) -> serde_json::Result<Commit> {
        let json: Json = serde_json::from_slice(bytes)?;
        let stats = json.partition_to_write_stats.unwrap_or_default();
        let stats = stats.into_values().flatten();
        let extra = json.extra_metadata.unwrap_or_default().into_iter();
        let replaced = json.partition_to_replace_file_ids.unwrap_or_default();
        let replaced = replaced.into_iter().flat_map(|(partition, ids)| {
            let of_partition = move |id| (partition.clone(), id);
            ids.into_iter().map(of_partition)
        });
        Ok(Commit {
            files: stats.filter_map(|it| it.path).collect(),
            extra: extra.filter_map(|(key, text)| Some((key, text?))).collect(),
            replaced: replaced.collect(),
        }
        .in_order())
    }

    /// The one row of an Avro file.
    fn of_row(batch: &RecordBatch) -> Option<Commit> {
        if batch.num_rows() != 1 {
            return None;
        }
        let mut commit = Commit::default();
        for (key, values) in entries(batch, "extraMetadata")? {
            commit
                .extra
                .extend(values.into_iter().map(|it| (key.clone(), it)));
        }
        for (partition, ids) in entries(batch, "partitionToReplaceFileIds")? {
            let ids = ids.into_iter().map(|id| (partition.clone(), id));
            commit.replaced.extend(ids);
        }
        let files = entries(batch, "partitionToWriteStats")?.into_iter();
        commit.files = files.flat_map(|(_, paths)| paths).collect();
        Some(commit.in_order())
    }

    fn in_order(mut self) -> Commit {
        self.files.sort();
        self.replaced.sort();
        self
    }
}

/// The entries of a map in a batch of one row: of each key its texts, one or many, or those that
/// its records call `path`. None where it is of another kind.
fn entries(batch: &RecordBatch, name: &str) -> Option<Vec<(String, Vec<String>)>> {
    let Some(column) = batch.column_by_name(name) else {
        return Some(Vec::new());
    };
    let map: &MapArray = column.as_map_opt()?;
    if map.is_null(0) {
        return Some(Vec::new());
    }
    let entries = map.value(0);
    let keys = texts(entries.column(0))?;
    let values = entries.column(1);
    let mut found = Vec::with_capacity(keys.len());
    for row in 0..keys.len() {
        let values = match values.as_list_opt::<i32>() {
            Some(lists) if lists.is_null(row) => continue,
            Some(lists) => lists.value(row),
            None => values.slice(row, 1),
        };
        let values = match values.as_struct_opt() {
            Some(records) => records.column_by_name("path")?.clone(),
            None => values,
        };
        let values = texts(&values)?;
        let values = values.iter().flatten().map(str::to_owned).collect();
        found.push((keys.value(row).to_owned(), values));
    }
    Some(found)
}

fn texts(column: &ArrayRef) -> Option<StringArray> {
    let column = cast(column, &Arrow::Utf8).ok()?;
    Some(column.as_string_opt::<i32>()?.clone())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    #[test]
    fn what_json_says_is_read_and_nothing_more() {
        let json = r#"{"partitionToWriteStats": {"b": [{"path": "b/2", "fileId": "x", "numWrites": 3}, {"path": null}], "a": [{"path": "a/1"}]},
            "compacted": false, "extraMetadata": {"schema": "{}", "other": null}, "operationType": "CLUSTER",
            "partitionToReplaceFileIds": {"a": ["g2", "g1"]}}"#;
        let commit = Commit::of_json(json.as_bytes()).unwrap();
        assert_eq!(commit.files, ["a/1", "b/2"]);
        assert_eq!(commit.extra("schema"), Some("{}"));
        assert_eq!(commit.extra("other"), None);
        let group = |id: &str| ("a".to_owned(), id.to_owned());
        assert_eq!(commit.replaced, [group("g1"), group("g2")]);
        assert_eq!(Commit::of_json(b"{}").unwrap(), Commit::default());
        for broken in ["", "{", "[1]", r#"{"partitionToWriteStats": 1}"#, "\0\0"] {
            assert!(Commit::of_json(broken.as_bytes()).is_err(), "{broken}");
        }
    }
}
