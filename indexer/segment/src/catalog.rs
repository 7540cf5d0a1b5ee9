//! The catalog: what is known of every table, one nested Parquet row a table.
//!
//! Sharded and log-structured like the segments: an epoch adds small files, and of two rows of one
//! table the later file's holds. Any Parquet tool reads it; limn ignores columns that it does not
//! know, so newer writers may add some.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::sketches::Sketches;
use crate::table::TableKey;

/// Version of the catalog format that this build writes, and the newest it reads.
pub const CATALOG_FORMAT: u32 = 2;
/// The source of a registered context: it stays when its table goes.
pub const REGISTERED: &str = "registered";
pub(crate) const FORMAT_KEY: &str = "limn.catalog.format";
/// Rows encoded or decoded at a time, at most: bounds the memory that a large catalog file takes.
pub(crate) const BATCH_ROWS: usize = 512;
/// Columns and files encoded at a time, unless one row has more: rows of wide tables are large.
pub(crate) const BATCH_PARTS: usize = 16_384;
/// Bytes decoded at a time, about, by what a file says of its row groups.
pub(crate) const BATCH_BYTES: i64 = 8 << 20;

/// What is known of one table. Written as JSON it has no sketches: catalogs have them in binary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableRecord {
    /// Root URL of the lake.
    pub lake: String,
    /// Name of the table.
    pub name: String,
    /// URL of its file or directory.
    pub location: String,
    /// `parquet`, `csv`, `jsonl`…
    pub format: String,
    /// There is no such table: the row hides earlier ones of its group. It may have files: those
    /// were looked at, and make none ([`TableRecord::is_passed_over`]).
    pub removed: bool,
    /// Number of rows, where known.
    pub rows: Option<u64>,
    /// Whether `rows` was counted rather than estimated.
    pub rows_exact: bool,
    /// Columns in order.
    pub columns: Vec<ColumnRecord>,
    /// The columns' sketches, in their order, opaque here: what is known of their values, merged
    /// over all files. None of columns without values, of such that are withheld, and in files of
    /// format 1.
    #[serde(skip)]
    pub sketches: Sketches,
    /// Sampled rows; each holds one value per column, `None` for null.
    pub sample: Vec<Vec<Option<String>>>,
    /// The keys that its file declares.
    pub keys: KeyRecords,
    /// What a reader should know of how it was read: what was left out, guessed, or seen in part.
    pub notes: Vec<String>,
    /// Files it is made of.
    pub files: Vec<FileRecord>,
    /// Text about it.
    pub contexts: Vec<ContextRecord>,
    /// Path of the segment that holds its blocks; empty if none does.
    pub segment: String,
    /// Its first block there.
    pub first_block: u32,
    /// Number of its blocks there.
    pub blocks: u32,
    /// Group of files that it was detected in, opaque here.
    pub group: String,
    /// A hash of what it holds, 32 hexadecimal digits: tables of equal content have the same one.
    /// None where that is not known.
    pub content: Option<String>,
    /// Why its newest version could not be read, if so: then the rest is its last good version.
    pub error: Option<String>,
    /// A column's narration is still wanted: until then the column is described by its name.
    pub awaits_narration: bool,
    /// When it was indexed, milliseconds since 1970.
    pub indexed_ms: i64,
}

/// What logs of tables are called, which are folders.
const LOGS: [&str; 3] = ["_delta_log", "metadata", ".hoodie"];

impl TableRecord {
    /// The files that the table has, without those that hold no table.
    pub fn files_now(&self) -> impl Iterator<Item = &FileRecord> {
        let files = self.files.iter();
        files.filter(|file| file.since_sample != Some(SinceSample::Went) && !file.no_table)
    }

    /// Rows of the files that came or went since the table's profiles and texts were made: these
    /// say nothing of them as yet.
    #[must_use]
    pub fn rows_since_sample(&self) -> u64 {
        let files = self.files.iter().filter(|file| file.since_sample.is_some());
        files.filter_map(|file| file.rows).sum()
    }

    /// Whether a file is the log of the table, which has no rows.
    #[must_use]
    pub fn is_log(&self, path: &str) -> bool {
        let has_log = ["delta", "iceberg", "hudi"].contains(&self.format.as_str());
        let mut logs = LOGS.iter();
        has_log && logs.any(|log| path == *log || path.ends_with(&format!("/{log}")))
    }

    /// The files that a person would count, by path, each with an entry of it: the sheets of a
    /// spreadsheet, and the tables of a database, lie in one. The log of a table that has one is
    /// none.
    #[must_use]
    pub fn whole_files(&self) -> BTreeMap<&str, &FileRecord> {
        let is_part = ["sheet", "sqlite"].contains(&self.format.as_str());
        let files = self
            .files_now()
            .filter(|file| !self.is_log(&file.path))
            .map(|file| match file.path.rsplit_once("//") {
                Some((holder, _)) if is_part => (holder, file),
                _ => (file.path.as_str(), file),
            });
        files.collect()
    }

    /// Whether the row is of no table, and remembers files that were looked at, so that they are
    /// not read again.
    #[must_use]
    pub fn is_passed_over(&self) -> bool {
        self.removed && !self.files.is_empty()
    }

    /// The columns that are likely keys, the likeliest first.
    #[must_use]
    pub fn likely_keys(&self) -> Vec<&ColumnRecord> {
        let columns = self.columns.iter();
        let mut keys: Vec<&ColumnRecord> = columns.filter(|it| it.key_rank.is_some()).collect();
        keys.sort_by_key(|column| column.key_rank);
        keys
    }

    /// The table's identity.
    #[must_use]
    pub fn key(&self) -> TableKey {
        TableKey {
            lake: self.lake.clone(),
            name: self.name.clone(),
        }
    }

    /// Whether the row is `other`, but for the place of its blocks: compaction moves blocks and
    /// changes nothing else.
    #[must_use]
    pub fn is_same_but_for_place(&self, other: &TableRecord) -> bool {
        let moved = TableRecord {
            segment: self.segment.clone(),
            first_block: self.first_block,
            ..other.clone()
        };
        *self == moved
    }

    /// Whether this row holds from where it stands in the log on, after the row of the same table
    /// that held until then.
    ///
    /// A table may move to another group of files (a lone file becomes a directory): that the old
    /// group was removed says nothing about it.
    pub(crate) fn holds_after(&self, before: Option<&TableRecord>) -> bool {
        holds_after(
            self.removed_and_group(),
            before.map(TableRecord::removed_and_group),
        )
    }

    fn removed_and_group(&self) -> (bool, &str) {
        (self.removed, &self.group)
    }
}

/// As [`TableRecord::holds_after`], of rows of which only `(removed, group)` is known.
pub(crate) fn holds_after<G: PartialEq>(
    (removed, group): (bool, G),
    before: Option<(bool, G)>,
) -> bool {
    !removed || before.is_none_or(|(was_removed, of)| was_removed || of == group)
}

/// The segment that the rows of a catalog file point into; `None` if no row has blocks.
///
/// # Errors
/// The paths of two, where the rows do not agree: a file belongs to one segment.
pub(crate) fn segment_of(records: &[TableRecord]) -> Result<Option<&str>, (&str, &str)> {
    let mut with_blocks = records
        .iter()
        .filter(|record| record.blocks > 0 && !record.segment.is_empty())
        .map(|record| record.segment.as_str());
    let Some(first) = with_blocks.next() else {
        return Ok(None);
    };
    match with_blocks.find(|other| *other != first) {
        Some(other) => Err((first, other)),
        None => Ok(Some(first)),
    }
}

/// The keys that a file declares of its table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeyRecords {
    /// The columns of the primary key.
    pub primary: Vec<String>,
    /// The columns of each other unique key.
    pub unique: Vec<Vec<String>>,
    /// Columns whose values are those of another table's.
    pub references: Vec<ReferenceRecord>,
}

impl KeyRecords {
    /// Whether none is declared.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A foreign key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReferenceRecord {
    /// The columns here.
    pub columns: Vec<String>,
    /// The name of the other table, of the same lake.
    pub table: String,
    /// Its columns, in the same order; empty where they are its primary key.
    pub to: Vec<String>,
}

/// What is known of one column.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ColumnRecord {
    /// As the file names it.
    pub name: String,
    /// `integer`, `float`, `boolean`, `date`, `timestamp`, `text`…
    pub data_type: String,
    /// Share of nulls, 0 to 1.
    #[serde(deserialize_with = "share_or_null")]
    pub null_share: f64,
    /// Number of distinct values, estimated unless `distinct_exact`.
    pub distinct: u64,
    /// Whether `distinct` was counted.
    pub distinct_exact: bool,
    /// Distinct values as a share of the values that were looked at, 0 to 1; none where none
    /// was looked at, and in older files.
    pub uniqueness: Option<f64>,
    /// 1 for the table's likeliest key, 2 for the next; none for a column that is no likely key.
    pub key_rank: Option<u32>,
    /// The forms that values have (`e-mail`, `AA-9999`), most common first.
    pub patterns: Vec<PatternShare>,
    /// Smallest value, as text.
    pub min: Option<String>,
    /// Largest value, as text.
    pub max: Option<String>,
    /// Most frequent values, most frequent first.
    pub frequent: Vec<ValueCount>,
    /// Whether the profile covers every row.
    pub profile_exact: bool,
    /// What a model said of the column.
    pub narration: Option<String>,
    /// What contexts say of it.
    pub description: Option<String>,
    /// How its values are written in the files, in words, where that is not the plain way; `min`,
    /// `max` and `frequent` are plain.
    pub notation: Option<String>,
    /// Which of the table's files have it, in words, where not all do.
    pub in_files: Option<String>,
    /// What it holds that is somebody's own (`e-mail`, `phone`, …), if anything.
    pub sensitive: Option<String>,
    /// Whether its values are kept out of the index.
    pub withheld: bool,
}

/// What happened to a file since its table's texts were made, where these were kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SinceSample {
    /// The table has it, and the texts are made without it.
    Came,
    /// The texts are made of it, and the table has it no more.
    Went,
}

/// A value and how often it occurs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ValueCount {
    /// As text.
    pub value: String,
    /// Occurrences.
    pub count: u64,
}

/// A form of values and how many have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PatternShare {
    /// Its name, or letters and digits for kinds of characters.
    pub pattern: String,
    /// The share of the distinct values, 0 to 1.
    #[serde(deserialize_with = "share_or_null")]
    pub share: f64,
}

/// One file of a table, with what is needed to know whether it changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileRecord {
    /// Path under the lake.
    pub path: String,
    /// The store's tag of the content.
    pub etag: Option<String>,
    /// The store's version of the object.
    pub version: Option<String>,
    /// Length in bytes.
    pub size: u64,
    /// Milliseconds since 1970.
    pub modified_ms: i64,
    /// What stands for it in change detection, opaque here.
    pub fingerprint: String,
    /// Number of rows, where known.
    pub rows: Option<u64>,
    /// The file's summary as JSON text, opaque here.
    pub summary: Option<String>,
    /// The sketches of the file's columns, in their order; they belong to the summary. None in
    /// files of format 1, whose summaries have all.
    #[serde(skip)]
    pub sketches: Sketches,
    /// Why it could not be read.
    pub error: Option<String>,
    /// What happened to it since the table's texts were made; `None` if these are made of it as it
    /// is.
    pub since_sample: Option<SinceSample>,
    /// It was read, and holds no table, which its name did not promise either: nothing is wrong.
    pub no_table: bool,
    /// It lay beside a table of its name, which it might have described: what was read of it
    /// depends on that.
    pub beside: bool,
    /// It was JSON, and no other file was like it by its name: what was read of it depends on that.
    pub alone: bool,
    /// What people declared of it, as JSON text, opaque here.
    pub declared: Option<String>,
}

/// Text about a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContextRecord {
    /// Where it is from: a path, or [`REGISTERED`].
    pub source: String,
    /// The name that it was registered for, where that is not the table's.
    pub registered_for: Option<String>,
    /// The text.
    pub text: String,
    /// Whether it is about a folder of tables, and names none of them.
    pub of_folder: bool,
    /// What stands for it in change detection, opaque here.
    pub fingerprint: String,
    /// Why its newest version could not be read, if so: then the text is its last one, if any.
    pub error: Option<String>,
}

/// JSON has no NaN: it is written as null.
fn share_or_null<'de, D: serde::Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(d)?.unwrap_or_default())
}
