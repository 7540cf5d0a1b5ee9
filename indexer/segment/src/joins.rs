//! The join graph in the index: a Parquet file for each lake and shard, one row an edge.
//!
//! A file is written anew when an edge of its tables changes, so that each shard has one at most
//! and nothing has to be merged; equal edges give equal bytes, and stay the file that they are.
//! Specification: `docs/index-format.md`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{AsArray, GenericListArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Float32Type, Schema};
use arrow::json::reader::ReaderBuilder;
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use limn_joins::{Cardinality, EdgeKind, Evidence};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use serde::{Deserialize, Serialize};

use crate::error::SegmentError;
use crate::index_store::{IndexStore, READS_IN_FLIGHT};
use crate::snapshot::{JoinsEntry, Snapshot, nonce};
use crate::table::Shard;

/// Version of the files of the join graph that this build writes, and the newest it reads.
pub const JOINS_FORMAT: u32 = 1;
const FORMAT_KEY: &str = "limn.joins.format";
const LAKE_KEY: &str = "limn.joins.lake";
/// How much time is spent on making them small.
const LEVEL: i32 = 3;
/// Rows encoded or decoded at a time.
const BATCH_ROWS: usize = 8_192;

/// An edge of the join graph: what two tables of one lake have to do with each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JoinRecord {
    /// What kind of edge it is.
    pub kind: EdgeKind,
    /// The table that refers to the other, or is part of it.
    pub left: String,
    /// Its columns, of joins.
    pub left_columns: Vec<String>,
    /// The other table.
    pub right: String,
    /// Its columns, in the same order.
    pub right_columns: Vec<String>,
    /// How many rows go with how many; of joins.
    pub cardinality: Cardinality,
    /// How sure it is, 0 to 1; declared joins are.
    pub score: f32,
    /// The share of the left columns' distinct values that the right ones have, 0 to 1: as it was
    /// seen, …
    pub containment: f32,
    /// … and at least, with 97.5 % confidence.
    pub containment_low: f32,
    /// The shared values as a share of those of both.
    pub jaccard: f32,
    /// Why it is there.
    pub evidence: Evidence,
}

fn schema() -> Schema {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let share = |name: &str| Field::new(name, DataType::Float32, false);
    let texts = |name: &str| {
        let item = Arc::new(Field::new("element", DataType::Utf8, false));
        Field::new(name, DataType::List(item), false)
    };
    Schema::new(vec![
        text("kind"),
        text("left"),
        texts("left_columns"),
        text("right"),
        texts("right_columns"),
        text("cardinality"),
        share("score"),
        share("containment"),
        share("containment_low"),
        share("jaccard"),
        text("evidence"),
    ])
}

/// The bytes of a file of the join graph of the lake at `lake`.
fn write_joins(lake: &str, records: &[JoinRecord]) -> Result<Bytes, SegmentError> {
    let failed = |detail: String| SegmentError::invalid("the join graph", detail);
    let schema = Arc::new(schema());
    let level = ZstdLevel::try_new(LEVEL).map_err(|e| failed(e.to_string()))?;
    let pair = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_created_by("limn".to_owned())
        .set_key_value_metadata(Some(vec![
            pair(FORMAT_KEY, JOINS_FORMAT.to_string()),
            pair(LAKE_KEY, lake.to_owned()),
        ]))
        .build();
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(&schema), options)
        .map_err(|e| failed(e.to_string()))?;
    for rows in records.chunks(BATCH_ROWS) {
        let decoder = ReaderBuilder::new(Arc::clone(&schema)).with_batch_size(BATCH_ROWS);
        let mut decoder = decoder.build_decoder().map_err(|e| failed(e.to_string()))?;
        decoder.serialize(rows).map_err(|e| failed(e.to_string()))?;
        if let Some(batch) = decoder.flush().map_err(|e| failed(e.to_string()))? {
            writer.write(&batch).map_err(|e| failed(e.to_string()))?;
        }
    }
    let bytes = writer.into_inner().map_err(|e| failed(e.to_string()))?;
    Ok(bytes.into())
}

/// Reads a file's bytes, which must hold `edges` rows; `object` names it in errors.
fn read_joins(object: &str, bytes: Bytes, edges: u64) -> Result<Vec<JoinRecord>, SegmentError> {
    // Damaged Parquet can panic deep in a decoder; that costs this object, not the process.
    catch_unwind(AssertUnwindSafe(|| read_unguarded(object, bytes, edges)))
        .unwrap_or_else(|_| Err(SegmentError::damaged(object, "reading it panicked")))
}

fn read_unguarded(object: &str, bytes: Bytes, edges: u64) -> Result<Vec<JoinRecord>, SegmentError> {
    let damaged = |detail: String| {
        SegmentError::damaged(object, format!("it is no file of a join graph ({detail})"))
    };
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|e| damaged(e.to_string()))?;
    let pairs = builder.metadata().file_metadata().key_value_metadata();
    let format = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == FORMAT_KEY));
    let format = format.and_then(|pair| pair.value.as_ref()?.parse::<u32>().ok());
    let format = format.ok_or_else(|| damaged(format!("{FORMAT_KEY} is missing")))?;
    if format > JOINS_FORMAT {
        return Err(SegmentError::NewerFormat {
            object: object.to_owned(),
            found: format,
            supported: JOINS_FORMAT,
        });
    }
    // A few bytes can stand for any number of equal rows.
    let rows = builder.metadata().file_metadata().num_rows();
    if u64::try_from(rows) != Ok(edges) {
        return Err(damaged(format!("it has {rows} edges and not {edges}")));
    }
    let reader = builder.with_batch_size(BATCH_ROWS).build();
    let mut records = Vec::new();
    for batch in reader.map_err(|e| damaged(e.to_string()))? {
        let batch = batch.map_err(|e| damaged(e.to_string()))?;
        records.extend(records_of(&batch).ok_or_else(|| damaged("its columns".to_owned()))?);
    }
    Ok(records)
}

fn records_of(batch: &RecordBatch) -> Option<Vec<JoinRecord>> {
    let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let texts = |name: &str| batch.column_by_name(name)?.as_list_opt::<i32>();
    let share = |name: &str| {
        batch
            .column_by_name(name)?
            .as_primitive_opt::<Float32Type>()
    };
    let (kind, cardinality, evidence) = (text("kind")?, text("cardinality")?, text("evidence")?);
    let (left, right) = (text("left")?, text("right")?);
    let (left_columns, right_columns) = (texts("left_columns")?, texts("right_columns")?);
    let (score, containment) = (share("score")?, share("containment")?);
    let (containment_low, jaccard) = (share("containment_low")?, share("jaccard")?);
    let rows = (0..batch.num_rows()).map(|row| {
        Some(JoinRecord {
            kind: EdgeKind::of_name(kind.value(row))?,
            left: left.value(row).to_owned(),
            left_columns: texts_of(left_columns, row)?,
            right: right.value(row).to_owned(),
            right_columns: texts_of(right_columns, row)?,
            cardinality: Cardinality::of_name(cardinality.value(row))?,
            score: score.value(row),
            containment: containment.value(row),
            containment_low: containment_low.value(row),
            jaccard: jaccard.value(row),
            evidence: Evidence::of_name(evidence.value(row))?,
        })
    });
    rows.collect()
}

fn texts_of(lists: &GenericListArray<i32>, row: usize) -> Option<Vec<String>> {
    let list = lists.value(row);
    let texts: &StringArray = list.as_string_opt()?;
    Some(texts.iter().flatten().map(str::to_owned).collect())
}

impl IndexStore {
    /// Writes the edges of a lake's tables of one shard, unless `before` is a file of the same.
    ///
    /// # Errors
    /// Store errors.
    pub async fn put_joins(
        &self,
        lake: &str,
        shard: Shard,
        records: Vec<JoinRecord>,
        before: Option<&JoinsEntry>,
    ) -> Result<JoinsEntry, SegmentError> {
        let (lake, edges) = (lake.to_owned(), records.len() as u64);
        let written = tokio::task::spawn_blocking(move || write_joins(&lake, &records)).await;
        let bytes = written.unwrap_or_else(|_| {
            let detail = "writing it panicked".to_owned();
            Err(SegmentError::invalid("the join graph", detail))
        })?;
        let path = format!(
            "joins/{shard}/{:032x}.",
            xxhash_rust::xxh3::xxh3_128(&bytes)
        );
        if let Some(before) = before.filter(|it| it.path.starts_with(&path)) {
            return Ok(before.clone());
        }
        let entry = JoinsEntry {
            shard,
            path: format!("{path}{}.parquet", nonce()),
            edges,
            bytes: bytes.len() as u64,
        };
        self.store.put(&entry.path, bytes).await?;
        Ok(entry)
    }

    /// The edges of one file.
    ///
    /// # Errors
    /// Store errors; a damaged or newer file.
    pub async fn joins_of(&self, entry: &JoinsEntry) -> Result<Vec<JoinRecord>, SegmentError> {
        let bytes = self.get_by_hash(&entry.path).await?;
        let (object, edges) = (self.store.object_url(&entry.path), entry.edges);
        let at = object.clone();
        let read = tokio::task::spawn_blocking(move || read_joins(&at, bytes, edges)).await;
        read.unwrap_or_else(|_| Err(SegmentError::damaged(object, "reading it panicked")))
    }

    /// The join graph of the lake at `lake`, in no order; `None` if none was ever made of it.
    ///
    /// # Errors
    /// Those of [`IndexStore::joins_of`].
    pub async fn joins(
        &self,
        snapshot: &Snapshot,
        lake: &str,
    ) -> Result<Option<Vec<JoinRecord>>, SegmentError> {
        let Some(files) = snapshot.joins.get(lake) else {
            return Ok(None);
        };
        let reads: Vec<_> = files.iter().map(|entry| self.joins_of(entry)).collect();
        let reads = stream::iter(reads).buffered(READS_IN_FLIGHT);
        let edges: Vec<Vec<JoinRecord>> = reads.try_collect().await?;
        Ok(Some(edges.concat()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use limn_store::Store;

    fn edge(left: &str, columns: &[&str]) -> JoinRecord {
        let columns = || columns.iter().map(|it| (*it).to_owned()).collect();
        JoinRecord {
            kind: EdgeKind::Join,
            left: left.to_owned(),
            left_columns: columns(),
            right: "customers".to_owned(),
            right_columns: columns(),
            cardinality: Cardinality::ManyToOne,
            score: 0.9,
            containment: 1.0,
            containment_low: 0.97,
            jaccard: 0.5,
            evidence: Evidence::ValuesAndNames,
        }
    }

    #[tokio::test]
    async fn edges_are_read_as_they_were_written_and_equal_ones_are_one_file() {
        let index = IndexStore::new(Store::in_memory());
        let edges = vec![
            edge("orders", &["id"]),
            edge("returns", &[]),
            edge("a", &["b", "c"]),
        ];
        let entry = index
            .put_joins("lake", Shard(3), edges.clone(), None)
            .await
            .unwrap();
        let again = index
            .put_joins("lake", Shard(3), edges.clone(), Some(&entry))
            .await
            .unwrap();
        assert_eq!(entry, again);
        let mut snapshot = Snapshot::first("m", 3, 4);
        assert_eq!(index.joins(&snapshot, "lake").await.unwrap(), None);
        let graph = snapshot.joins.entry("lake".to_owned()).or_default();
        graph.push(entry.clone());
        assert_eq!(
            index.joins(&snapshot, "lake").await.unwrap(),
            Some(edges.clone())
        );
        let bytes = snapshot.to_bytes().unwrap();
        assert_eq!(Snapshot::from_bytes("s", &bytes).unwrap(), snapshot);
        assert_eq!(index.joins(&snapshot, "other").await.unwrap(), None);

        let other = index
            .put_joins("lake", Shard(3), edges[1..].to_vec(), Some(&entry))
            .await
            .unwrap();
        assert_ne!(entry.path, other.path);
        let wrong = JoinsEntry { edges: 7, ..other };
        assert!(index.joins_of(&wrong).await.unwrap_err().is_damage());
        index
            .store
            .put(&entry.path, Bytes::from_static(b"PAR1"))
            .await
            .unwrap();
        assert!(index.joins_of(&entry).await.unwrap_err().is_damage());
    }

    #[tokio::test]
    async fn what_a_snapshot_names_is_no_garbage_and_is_verified() {
        let index = IndexStore::new(Store::in_memory());
        let put = async |left| {
            let edges = vec![edge(left, &["id"])];
            index
                .put_joins("lake", Shard(0), edges, None)
                .await
                .unwrap()
        };
        let (named, orphan) = (put("orders").await, put("returns").await);
        let mut snapshot = Snapshot::first("m", 3, 1);
        snapshot
            .joins
            .insert("lake".to_owned(), vec![named.clone()]);
        index.publish(&snapshot).await.unwrap();
        let retention = crate::Retention {
            older_than: std::time::Duration::ZERO,
            keep: 1,
        };
        let later = chrono::Utc::now().timestamp_millis() + 10_000;
        let garbage = index.garbage(retention, later).await.unwrap();
        let found: Vec<&str> = garbage.objects.iter().map(|it| it.path.as_str()).collect();
        assert_eq!(found, [orphan.path.as_str()]);
        let problems = async || index.verify(&snapshot, &|_| ()).await.unwrap().problems;
        assert_eq!(problems().await, []);
        index.store.delete(&named.path).await.unwrap();
        assert_eq!(problems().await.len(), 1);
    }

    #[test]
    fn hostile_files_are_damage() {
        for bytes in [&b""[..], b"PAR1", b"PAR1garbagePAR1"] {
            let read = read_joins("o", Bytes::copy_from_slice(bytes), 0);
            assert!(read.unwrap_err().is_damage());
        }
    }
}
