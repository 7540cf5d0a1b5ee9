//! Summaries: what limn knows of one file, and of a table merged from its files' summaries.
//!
//! A [`FileSummary`] is the unit of incremental work (design, section 6): a function of the file's
//! bytes, its `sample_path` and the reading options, stored in the catalog as a [`StoredSummary`].
//! A [`TableSummary`] is a merge of summaries and never stored.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Cursor};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::data_type::DataType;
use crate::declared_keys::DeclaredKeys;
use crate::in_files::InFiles;
use crate::logged::{Logged, LoggedTable};
use crate::notation::Notation;
use crate::profile::ColumnProfile;
use crate::reading::{FirstRow, TextReading};
use crate::sample::{RowSample, SampledRow};
use crate::sensitive::Sensitive;
use crate::value_hashes::{self, DamagedHashes, FileHashes};
use crate::values::{Frequent, SketchError};

/// Version of what is read of a lake: files into summaries, and contexts. Raise it with every
/// change after which the same bytes give another summary (types, nulls, headers, sketches), or is
/// an error no more: files are then read again, once, those that could not be read, too.
pub const SUMMARY_VERSION: u32 = 17;

/// Columns that a file may have and be an ordinary one. Wider ones are packed in the catalog, and
/// read in turns.
pub const NARROW: usize = 512;
/// What a packed summary begins with; no JSON does.
const PACKED: &str = "zstd:";
/// How hard it is packed.
const LEVEL: i32 = 3;
/// What an allocation takes besides what is in it, about.
const WORD: usize = 16;

/// One column: its name, type and profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnSummary {
    /// Name as the file gives it. Names may repeat within a file.
    #[serde(rename = "n")]
    pub name: String,
    /// Declared or inferred type.
    #[serde(rename = "t")]
    pub data_type: DataType,
    /// What the values look like.
    #[serde(rename = "p")]
    pub profile: ColumnProfile,
    /// A hash of the values that were looked at, in their order; 0 where there is none, where they
    /// are withheld, and in a table's.
    #[serde(rename = "h", default, skip_serializing_if = "is_zero")]
    pub digest: u64,
    /// What it holds, where its values are withheld for that: nothing else shows it afterwards.
    /// Others are asked by [`ColumnSummary::sensitive`].
    #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<Sensitive>,
    /// How the values are written in the file, where that is not the plain way; the profile is of
    /// plain values, the sample of what is written. In a table: of all files that have values, if
    /// they agree.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub notation: Option<Notation>,
    /// What the column is if its values are written in another way that fits them as well: the
    /// table decides (decision 38). Without a name; none in a table.
    #[serde(rename = "o", default, skip_serializing_if = "<[_]>::is_empty")]
    pub otherwise: Box<[ColumnSummary]>,
    /// In a table: which of its files have the column, where not all do.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub in_files: Option<InFiles>,
    /// The description in the file's own metadata. In a table: the first one that there is.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The Arrow type of its values as Arrow writes it, where the file has one that does not follow
    /// from `data_type`.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub arrow_type: Option<String>,
    /// The id that the file gives it.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub field_id: Option<i32>,
    /// Hashes of its values beyond those that the profile keeps whole: in a file's summary at most
    /// one list, in a table's one a file. The catalog has none.
    #[serde(rename = "v", default, skip_serializing_if = "Vec::is_empty")]
    pub hashes: Vec<FileHashes>,
    /// Whether it is no column of the table, as the table's log says: decided for each merge.
    #[serde(skip)]
    pub left_out: bool,
}

/// What the catalog keeps of a [`FileSummary`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSummary {
    /// All but the sketches: compact JSON; of a wide file that JSON packed (`zstd:`, then base64 of
    /// zstd), a tenth as long.
    pub json: String,
    /// The columns' sketches ([`Frequent::to_sketch`]), in their order.
    pub sketches: Vec<Option<Vec<u8>>>,
}

impl StoredSummary {
    /// The summary that it is of.
    ///
    /// # Errors
    /// [`SummaryError`].
    pub fn read(&self) -> Result<FileSummary, SummaryError> {
        FileSummary::from_stored(&self.json, self.sketches.iter().map(Option::as_ref))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
impl StoredSummary {
    /// All of it as text, to look for values.
    pub(crate) fn text(&self) -> String {
        let mut text = self.json.clone();
        for sketch in self.sketches.iter().flatten() {
            let values = Frequent::from_sketch(sketch).unwrap();
            for (value, _) in values.top(usize::MAX) {
                text.push('\n');
                text += value;
            }
        }
        text
    }
}

/// A stored summary that no version of this crate wrote: read the file again.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// Its text.
    #[error("a file's summary is damaged: {0}")]
    Json(#[from] serde_json::Error),
    /// One of its sketches.
    #[error(transparent)]
    Sketch(#[from] SketchError),
}

/// What one file holds.
///
/// Serialises to compact JSON; to formats that are not human-readable (bincode between workers)
/// as that JSON in a string, because left-out fields need a self-describing format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct FileSummary {
    /// Columns in file order; partition keys are not among them.
    #[serde(rename = "c")]
    pub columns: Vec<ColumnSummary>,
    /// Rows in the file.
    #[serde(rename = "r")]
    pub rows: u64,
    /// Whether `rows` is a count and not an estimate.
    #[serde(rename = "e", default, skip_serializing_if = "is_false")]
    pub rows_exact: bool,
    /// Bytes of the object that was read: a later version may have another size, and be unreadable.
    #[serde(rename = "b", default, skip_serializing_if = "is_zero")]
    pub size: u64,
    /// Sampled rows, values in the order of `columns`.
    #[serde(rename = "s")]
    pub sample: RowSample,
    /// Whether the sample or a profile was made from a part of the file.
    #[serde(rename = "a", default, skip_serializing_if = "is_false")]
    pub approximate: bool,
    /// What a person should know about how the file was read (ragged rows, cut cells), one line
    /// each.
    #[serde(rename = "m", default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The table's description in the file's own metadata.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The keys that the file declares.
    #[serde(rename = "k", default, skip_serializing_if = "DeclaredKeys::is_empty")]
    pub keys: DeclaredKeys,
    /// Whether the columns are named by a first row that may as well be one of values: nothing says
    /// that it is no header.
    #[serde(rename = "h", default, skip_serializing_if = "is_false")]
    pub presumed_names: bool,
    /// How the text was read, of delimited and plain text and of sheets.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Box<TextReading>>,
    /// What the file is if another delimiter cuts it, where that is a small text and another one
    /// does so evenly: the table decides (decision 38).
    #[serde(rename = "o", default, skip_serializing_if = "<[_]>::is_empty")]
    pub otherwise: Box<[FileSummary]>,
    /// What its table's log says of the file.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub logged: Option<Box<Logged>>,
    /// The word for the format that the content showed, of a file whose name says none.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Box<str>>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_false(b: &bool) -> bool {
    !*b
}

impl FileSummary {
    /// What the catalog keeps of it.
    ///
    /// # Errors
    /// None in practice; serialisation of plain data.
    pub fn to_stored(&self) -> Result<StoredSummary, serde_json::Error> {
        let mut others = self.clone();
        let sketches = others.columns.iter_mut().map(|column| {
            let frequent = &mut column.profile.frequent;
            let sketch = frequent.to_sketch()?;
            *frequent = Frequent::default();
            Some(sketch)
        });
        let sketches = sketches.collect();
        others.set_hashes(&[]);
        let mut json = serde_json::to_string(&others)?;
        if self.columns.len() > NARROW {
            let packed = zstd::encode_all(json.as_bytes(), LEVEL).map_err(serde_json::Error::io)?;
            json = format!("{PACKED}{}", BASE64.encode(packed));
        }
        Ok(StoredSummary { json, sketches })
    }

    /// Reads what [`FileSummary::to_stored`] gave; `sketches` are those of the first columns, in
    /// order. Columns without one are without values, but in summaries of catalogs of format 1,
    /// which have them in the text.
    ///
    /// # Errors
    /// [`SummaryError`].
    pub fn from_stored(
        json: &str,
        sketches: impl IntoIterator<Item = Option<impl AsRef<[u8]>>>,
    ) -> Result<Self, SummaryError> {
        let mut summary = Self::from_json(json)?;
        for (column, sketch) in summary.columns.iter_mut().zip(sketches) {
            if let Some(sketch) = sketch {
                column.profile.frequent = Frequent::from_sketch(sketch.as_ref())?;
            }
        }
        Ok(summary)
    }

    /// Reads a [`StoredSummary::json`] alone: all but the values that columns have. It is enough
    /// for readers of rows.
    ///
    /// # Errors
    /// [`SummaryError::Json`].
    pub fn from_json(json: &str) -> Result<Self, SummaryError> {
        let Some(packed) = json.strip_prefix(PACKED) else {
            return Ok(serde_json::from_str(json)?);
        };
        let packed = BASE64.decode(packed).map_err(io::Error::other);
        let reader = packed.and_then(|packed| zstd::Decoder::new(Cursor::new(packed)));
        let reader = reader.map_err(serde_json::Error::io)?;
        Ok(serde_json::from_reader(BufReader::new(reader))?)
    }

    /// Says that the index has the hashes of its columns' values.
    pub fn with_published_hashes(mut self) -> Self {
        self.set_hashes(&[FileHashes::default()]);
        self
    }

    fn set_hashes(&mut self, hashes: &[FileHashes]) {
        for column in &mut self.columns {
            column.hashes = hashes.to_vec();
        }
        for other in self.otherwise.iter_mut() {
            other.set_hashes(hashes);
        }
    }

    /// Leaves hashes of at most so many values: of those of lowest hash. Readings of which one
    /// holds are not counted together.
    ///
    /// # Errors
    /// None in practice: the lists are its own.
    pub fn thin_hashes(&mut self, most: u32) -> Result<(), DamagedHashes> {
        for other in self.otherwise.iter_mut() {
            other.thin_hashes(most)?;
        }
        let columns = self.columns.iter_mut();
        let lists = columns.flat_map(|it| &mut it.hashes);
        value_hashes::thin(lists.filter_map(|it| it.hashes.as_mut()).collect(), most)
    }

    /// Bytes that the hashes of its columns' values take.
    pub fn held_hashes(&self) -> u64 {
        let lists = self.columns.iter().flat_map(|it| &it.hashes);
        let others = self.otherwise.iter().map(FileSummary::held_hashes);
        lists.map(FileHashes::held).sum::<u64>() + others.sum::<u64>()
    }

    /// About how many bytes of memory it takes, without hashes of values.
    pub fn held(&self) -> u64 {
        let first = self.first_row().map(|first| &first.row);
        let notes: u64 = self.notes.iter().map(|it| it.len() as u64).sum();
        let otherwise: u64 = self.otherwise.iter().map(FileSummary::held).sum();
        held(&self.columns, &self.sample) + held_cells(first) + notes + otherwise
    }

    /// The first row, where it may be a header as well as one of data.
    pub fn first_row(&self) -> Option<&FirstRow> {
        self.reading.as_ref()?.first.as_ref()
    }

    /// The table's columns, where the file is its log.
    pub fn logged_table(&self) -> Option<&LoggedTable> {
        self.logged.as_ref()?.table.as_ref()
    }

    /// Rows of the file as far as it shows by itself: with the first one, if that is more likely
    /// one of data.
    pub fn own_rows(&self) -> u64 {
        self.rows + u64::from(self.first_row().is_some_and(|first| first.is_data))
    }

    /// Gives columns of a file whose values have types those that people declare. Which values fit
    /// is not known before they are read.
    pub fn declare_types(&mut self, types: &BTreeMap<String, DataType>) {
        for column in &mut self.columns {
            let Some(declared) = types.get(&column.name) else {
                continue;
            };
            column.arrow_type = None;
            if column.data_type != *declared {
                column.data_type = declared.clone();
                column.profile.min = None;
                column.profile.max = None;
                column.profile.exact = false;
            }
        }
    }

    /// Whether the file names none of its columns: they are called by their places.
    pub fn is_nameless(&self) -> bool {
        let names = self.column_names().zip(1..);
        let mut digits = names.map(|(name, place)| Some((name.strip_prefix("column_")?, place)));
        digits.all(|it| it.is_some_and(|(digits, place): (_, usize)| digits == place.to_string()))
    }

    /// The columns' names in order.
    pub fn column_names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }
}

/// What a table holds: its files' summaries merged.
///
/// Serialises like [`FileSummary`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct TableSummary {
    /// Columns in the order in which they first appear in the files (by path), then partition keys.
    /// A column that a file lacks counts as null in that file's rows.
    #[serde(rename = "c")]
    pub columns: Vec<ColumnSummary>,
    /// Rows in all files that could be read.
    #[serde(rename = "r")]
    pub rows: u64,
    /// Whether `rows` is a count and not an estimate.
    #[serde(rename = "e", default, skip_serializing_if = "is_false")]
    pub rows_exact: bool,
    /// A uniform sample of all rows, values in the order of `columns`.
    #[serde(rename = "s")]
    pub sample: RowSample,
    /// Files merged.
    #[serde(rename = "f")]
    pub files: u64,
    /// Whether some file's sample or profile was made from a part of it.
    #[serde(rename = "a", default, skip_serializing_if = "is_false")]
    pub approximate: bool,
    /// The files' notes, with their paths, where they have any.
    #[serde(rename = "m", default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The table's description in the files' own metadata: the first one that there is.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The keys that its files declare: of several files what all refer to. Rows that are unique in
    /// each need not be so together.
    #[serde(rename = "k", default, skip_serializing_if = "DeclaredKeys::is_empty")]
    pub keys: DeclaredKeys,
}

impl TableSummary {
    /// About how many bytes of memory it takes.
    pub fn held(&self) -> u64 {
        held(&self.columns, &self.sample)
    }

    /// The sampled rows, each with one cell per column (`None` is null).
    pub fn sample_rows(&self) -> impl ExactSizeIterator<Item = &[Option<String>]> {
        self.sample.rows.iter().map(|row| row.values.as_slice())
    }
}

/// About how many bytes of memory columns and a sample take.
fn held(columns: &[ColumnSummary], sample: &RowSample) -> u64 {
    let column = |column: &ColumnSummary| {
        let texts = [
            &column.profile.min,
            &column.profile.max,
            &column.description,
        ];
        let texts: usize = texts
            .into_iter()
            .flatten()
            .map(|text| text.len() + WORD)
            .sum();
        let fixed = size_of::<ColumnSummary>() + column.name.len() + WORD;
        (fixed + texts) as u64 + column.profile.frequent.held()
    };
    let all = columns
        .iter()
        .flat_map(|it| it.otherwise.iter().chain([it]));
    all.map(column).sum::<u64>() + held_cells(&sample.rows)
}

fn held_cells<'a>(rows: impl IntoIterator<Item = &'a SampledRow>) -> u64 {
    let cells = rows.into_iter().flat_map(|row| &row.values);
    let cell = |cell: &Option<String>| {
        size_of::<Option<String>>() + cell.as_ref().map_or(0, |it| it.len() + WORD)
    };
    cells.map(cell).sum::<usize>() as u64
}

impl Serialize for FileSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            // The inherent function that `remote = "Self"` derives.
            return FileSummary::serialize(self, serializer);
        }
        as_text(self, serializer)
    }
}

impl<'de> Deserialize<'de> for FileSummary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return FileSummary::deserialize(deserializer);
        }
        from_text(deserializer)
    }
}

impl Serialize for TableSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return TableSummary::serialize(self, serializer);
        }
        as_text(self, serializer)
    }
}

impl<'de> Deserialize<'de> for TableSummary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            return TableSummary::deserialize(deserializer);
        }
        from_text(deserializer)
    }
}

fn as_text<T: Serialize, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let text = serde_json::to_string(value).map_err(serde::ser::Error::custom)?;
    serializer.serialize_str(&text)
}

fn from_text<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    serde_json::from_str(&text).map_err(serde::de::Error::custom)
}
