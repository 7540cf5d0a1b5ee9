//! Stored narrations: what a language model said of columns, so that it is asked once.
//!
//! Small immutable Parquet files under `cache/narrations/<narrator>/`, named by the hash of their
//! content like everything else in an index. No snapshot names them: a file that is deleted costs
//! narrating its columns again, nothing else. A *narrator* is a model and a version of the prompts;
//! a narration's key within it is the *context* (the ordered column names, see
//! [`narration_context`]) and the column's place, since names may repeat. Specification:
//! `docs/index-format.md`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, StringArray, UInt32Array};
use arrow::datatypes::{DataType, Field, Schema, UInt32Type};
use bytes::Bytes;
use futures::StreamExt;
use limn_store::StoreErrorKind;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_128};

use crate::error::SegmentError;
use crate::index_store::IndexStore;

/// Version of the narration files that this build writes, and the newest it reads.
pub const NARRATIONS_FORMAT: u32 = 1;
const FORMAT_KEY: &str = "limn.narrations.format";
const MODEL_KEY: &str = "limn.narrations.model";
const PROMPT_KEY: &str = "limn.narrations.prompt";
const RUN_KEY: &str = "limn.narrations.run";

/// Who narrated: narrations of one narrator may stand in for each other, those of two may not.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Narrator {
    /// Id of the language model.
    pub model: String,
    /// Version of the prompts.
    pub prompt: u32,
}

impl Narrator {
    /// The folder of its files under the index root.
    #[must_use]
    pub fn folder(&self) -> String {
        let mut bytes = self.model.clone().into_bytes();
        bytes.extend_from_slice(&self.prompt.to_le_bytes());
        format!("cache/narrations/{:016x}", xxh3_64(&bytes))
    }
}

/// What a narrator said of one column.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NarrationRecord {
    /// The context that it was narrated in, [`narration_context`].
    pub context: u128,
    /// The column's place in the context, from 0.
    pub position: u32,
    /// The column's name, for people.
    pub column: String,
    /// The text; `None` if the model gave no description.
    pub narration: Option<String>,
}

/// The context of a narration: the ordered column names and nothing else.
#[must_use]
pub fn narration_context<'a>(names: impl IntoIterator<Item = &'a str>) -> u128 {
    let mut hasher = Xxh3::new();
    for name in names {
        hasher.update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes());
    }
    hasher.digest128()
}

/// A narration file's bytes. `run` distinguishes the files of one run from those of another.
///
/// # Errors
/// [`SegmentError::Invalid`] if the records do not fit the schema, which no valid input does.
pub fn write_narrations(
    narrator: &Narrator,
    run: &str,
    records: &[NarrationRecord],
) -> Result<Bytes, SegmentError> {
    let failed = |detail: String| SegmentError::invalid("a narration file", detail);
    let pair = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(
            ZstdLevel::try_new(6).map_err(|e| failed(e.to_string()))?,
        ))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_created_by("limn".to_owned())
        .set_key_value_metadata(Some(vec![
            pair(FORMAT_KEY, NARRATIONS_FORMAT.to_string()),
            pair(MODEL_KEY, narrator.model.clone()),
            pair(PROMPT_KEY, narrator.prompt.to_string()),
            pair(RUN_KEY, run.to_owned()),
        ]))
        .build();
    let schema = Arc::new(Schema::new(vec![
        Field::new("context", DataType::Utf8, false),
        Field::new("position", DataType::UInt32, false),
        Field::new("column", DataType::Utf8, false),
        Field::new("narration", DataType::Utf8, true),
    ]));
    let contexts = records
        .iter()
        .map(|record| format!("{:032x}", record.context));
    let positions = records.iter().map(|record| record.position);
    let columns = records.iter().map(|record| record.column.as_str());
    let narrations = records.iter().map(|record| record.narration.as_deref());
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        vec![
            Arc::new(StringArray::from_iter_values(contexts)),
            Arc::new(UInt32Array::from_iter_values(positions)),
            Arc::new(StringArray::from_iter_values(columns)),
            Arc::new(StringArray::from_iter(narrations)),
        ],
    )
    .map_err(|e| failed(e.to_string()))?;
    let options = ArrowWriterOptions::new()
        .with_properties(properties)
        .with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), schema, options)
        .map_err(|e| failed(e.to_string()))?;
    writer.write(&batch).map_err(|e| failed(e.to_string()))?;
    let bytes = writer.into_inner().map_err(|e| failed(e.to_string()))?;
    Ok(bytes.into())
}

/// Reads a narration file's bytes; `object` names it in errors.
///
/// # Errors
/// [`SegmentError::DamagedNarrations`] for bytes that are no file of this narrator,
/// [`SegmentError::NewerFormat`].
pub fn read_narrations(
    object: &str,
    narrator: &Narrator,
    bytes: Bytes,
) -> Result<Vec<NarrationRecord>, SegmentError> {
    let damaged = |detail: String| SegmentError::DamagedNarrations {
        object: object.to_owned(),
        detail,
    };
    // Damaged Parquet can panic deep in a decoder; that costs this object, not the process.
    catch_unwind(AssertUnwindSafe(|| read_unguarded(object, narrator, bytes)))
        .unwrap_or_else(|_| Err(damaged("it is no readable Parquet file".to_owned())))
}

fn read_unguarded(
    object: &str,
    narrator: &Narrator,
    bytes: Bytes,
) -> Result<Vec<NarrationRecord>, SegmentError> {
    let damaged = |detail: String| SegmentError::DamagedNarrations {
        object: object.to_owned(),
        detail: format!("it is no narration file ({detail})"),
    };
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(bytes).map_err(|e| damaged(e.to_string()))?;
    let pairs = builder.metadata().file_metadata().key_value_metadata();
    let value = |key: &str| {
        let pair = pairs.and_then(|pairs| pairs.iter().find(|pair| pair.key == key));
        pair.and_then(|pair| pair.value.clone())
    };
    let format = value(FORMAT_KEY)
        .and_then(|format| format.parse::<u32>().ok())
        .ok_or_else(|| damaged(format!("{FORMAT_KEY} is missing")))?;
    if format > NARRATIONS_FORMAT {
        return Err(SegmentError::NewerFormat {
            object: object.to_owned(),
            found: format,
            supported: NARRATIONS_FORMAT,
        });
    }
    let of = (value(MODEL_KEY), value(PROMPT_KEY));
    if of
        != (
            Some(narrator.model.clone()),
            Some(narrator.prompt.to_string()),
        )
    {
        return Err(damaged("it is of another model".to_owned()));
    }
    let reader = builder.build().map_err(|e| damaged(e.to_string()))?;
    let mut records = Vec::new();
    for batch in reader {
        let batch = batch.map_err(|e| damaged(e.to_string()))?;
        records.extend(records_of(&batch).ok_or_else(|| damaged("its columns".to_owned()))?);
    }
    Ok(records)
}

fn records_of(batch: &RecordBatch) -> Option<Vec<NarrationRecord>> {
    let text = |name: &str| batch.column_by_name(name)?.as_string_opt::<i32>();
    let (contexts, columns) = (text("context")?, text("column")?);
    let narrations = text("narration")?;
    let positions = batch
        .column_by_name("position")?
        .as_primitive_opt::<UInt32Type>()?;
    let rows = (0..batch.num_rows()).map(|row| {
        Some(NarrationRecord {
            context: u128::from_str_radix(contexts.value(row), 16).ok()?,
            position: positions.value(row),
            column: columns.value(row).to_owned(),
            narration: narrations
                .is_valid(row)
                .then(|| narrations.value(row).to_owned()),
        })
    });
    rows.collect()
}

impl IndexStore {
    /// Writes narrations; the path of their file.
    ///
    /// # Errors
    /// Store errors.
    pub async fn put_narrations(
        &self,
        narrator: &Narrator,
        run: &str,
        records: &[NarrationRecord],
    ) -> Result<String, SegmentError> {
        let bytes = write_narrations(narrator, run, records)?;
        let path = format!("{}/{:032x}.parquet", narrator.folder(), xxh3_128(&bytes));
        self.store.put(&path, bytes).await?;
        Ok(path)
    }

    /// The narrator's files: paths and lengths, in the order of their names.
    ///
    /// # Errors
    /// Store errors.
    pub async fn narration_files(
        &self,
        narrator: &Narrator,
    ) -> Result<Vec<(String, u64)>, SegmentError> {
        let mut files = Vec::new();
        let mut listing = self.store.list(&narrator.folder());
        while let Some(item) = listing.next().await {
            match item {
                Ok(info) if info.path.ends_with(".parquet") => files.push((info.path, info.size)),
                Ok(_) => {}
                // A folder that does not exist yet holds nothing.
                Err(e) if e.kind() == StoreErrorKind::NotFound => break,
                Err(e) => return Err(e.into()),
            }
        }
        Ok(files)
    }

    /// The narrations of one file; `None` if it was deleted, merged into another by a run that goes
    /// on at the same time.
    ///
    /// # Errors
    /// Store errors; a damaged or newer file.
    pub async fn narrations(
        &self,
        narrator: &Narrator,
        path: &str,
    ) -> Result<Option<Vec<NarrationRecord>>, SegmentError> {
        let bytes = match self.store.get(path).await {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == StoreErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let object = self.store.object_url(path);
        let hash = format!("{:032x}", xxh3_128(&bytes));
        let name = path.rsplit('/').next().unwrap_or(path);
        if name.split('.').next() != Some(hash.as_str()) {
            return Err(SegmentError::DamagedNarrations {
                object,
                detail: "its content does not have the hash that is its name".to_owned(),
            });
        }
        read_narrations(&object, narrator, bytes).map(Some)
    }

    /// Deletes a narration file that was merged into another.
    ///
    /// # Errors
    /// Store errors.
    pub async fn remove_narrations(&self, path: &str) -> Result<(), SegmentError> {
        Ok(self.store.delete(path).await?)
    }
}
