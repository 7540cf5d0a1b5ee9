//! Summaries and sketches as the catalog has them.
//!
//! A file's summary is kept with the sketches of its columns, a table's row with those of all its
//! files together. Join discovery reads the latter: [`column_sketches`], of rows of which
//! [`SketchedColumns`] reads no more than it takes.

use limn_joins::{
    Column, ColumnFacts, Kind, Place, Reference, Table, TableId, lookups, name_hash, value_counts,
};
use limn_profile::{
    FileSummary, Frequent, SketchError, SummaryError, TableSummary, ValueSet, join_key,
};
use limn_segment::{
    ColumnRecord, FileRecord, HeldValue, ReferenceRecord, Sketches, TableKey, TableRecord,
};

/// Texts of more words than this, on average, are prose.
const WORDS: usize = 5;

/// Keeps what is known of a file in its entry.
pub fn keep(file: &mut FileRecord, summary: &FileSummary) {
    let stored = summary.to_stored().ok();
    (file.summary, file.sketches) = match stored {
        Some(stored) => (Some(stored.json), stored.sketches.into_iter().collect()),
        None => (None, Sketches::default()),
    };
}

/// What is known of a file; `None` where nothing is kept.
///
/// # Errors
/// [`SummaryError`]: another limn has written it, and the file has to be read again.
pub fn kept(file: &FileRecord) -> Result<Option<FileSummary>, SummaryError> {
    let Some(json) = file.summary.as_deref() else {
        return Ok(None);
    };
    let mut summary = FileSummary::from_stored(json, file.sketches.list())?;
    if summary.size == 0 && file.error.is_none() {
        // An older limn did not keep it: that of a file that could be read is its version's.
        summary.size = file.size;
    }
    Ok(Some(summary))
}

/// The sketches of a table's columns.
pub fn of_table(summary: &TableSummary) -> Sketches {
    let columns = summary.columns.iter();
    columns
        .map(|column| column.profile.frequent.to_sketch())
        .collect()
}

/// What joins are found by: a column and its values, over all files of its table.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSketch {
    /// The table.
    pub table: TableKey,
    /// The column's place in it, from 0; names may repeat.
    pub place: usize,
    /// The column's name.
    pub column: String,
    /// Its type, as the catalog has it: `integer`, `text`…
    pub data_type: String,
    /// Rows of the table.
    pub rows: u64,
    /// Of these, how many have no value.
    pub nulls: u64,
    /// Distinct values, as they are spelt.
    pub distinct: u64,
    /// Whether `distinct` is a count.
    pub distinct_exact: bool,
    /// Distinct values as a share of those that were looked at, 0 to 1.
    pub uniqueness: f64,
    /// The least and the greatest value, as text.
    pub range: Option<(String, String)>,
    /// The values of lowest hash, and what more is known of them.
    pub frequent: Frequent,
    /// The values by join keys, as far as they are known.
    pub values: ValueSet,
}

/// The columns of a table that have sketches: no others can be compared. Columns without values and
/// such that are withheld have none, nor has any in a row that limn wrote before catalogs had
/// format 2.
///
/// # Errors
/// [`SketchError`].
pub fn column_sketches(row: &TableRecord) -> Result<Vec<ColumnSketch>, SketchError> {
    let rows = row.rows.unwrap_or_default();
    let columns = row.columns.iter().zip(row.sketches.list()).enumerate();
    let sketched = columns.filter_map(|(place, (column, sketch))| Some((place, column, sketch?)));
    let read = sketched.map(|(place, column, sketch)| {
        let frequent = Frequent::from_sketch(&sketch)?;
        Ok(ColumnSketch {
            table: row.key(),
            place,
            column: column.name.clone(),
            data_type: column.data_type.clone(),
            rows,
            nulls: (column.null_share * rows as f64).round() as u64,
            distinct: column.distinct,
            distinct_exact: column.distinct_exact,
            uniqueness: column.uniqueness.unwrap_or_default(),
            range: column.min.clone().zip(column.max.clone()),
            values: ValueSet::of(&frequent, column.distinct, column.profile_exact),
            frequent,
        })
    });
    read.collect()
}

/// What joins are found by in a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JoinColumns {
    columns: Box<[JoinColumn]>,
    sketches: Sketches,
}

/// A column as far as joins go, but for its values.
#[derive(Clone, Debug, PartialEq)]
struct JoinColumn {
    name: Box<str>,
    range: Option<(i64, i64)>,
    distinct: u64,
    uniqueness: f64,
    written: Written,
    profile_exact: bool,
}

/// What types columns have, as far as joins go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Whole,
    Number,
    Time,
    Text,
    Other,
}

impl JoinColumns {
    /// Those of a row, none of a tombstone; and which of its files has the same sketches.
    pub fn of(row: &TableRecord) -> (Self, Option<usize>) {
        if row.removed {
            return (Self::default(), None);
        }
        let columns = Self {
            columns: row.columns.iter().map(JoinColumn::of).collect(),
            sketches: row.sketches.clone(),
        };
        let mut files = row.files.iter();
        (columns, files.position(|it| it.sketches == row.sketches))
    }

    /// The columns in few bytes, and their sketches.
    pub fn pack(&self) -> (Vec<u8>, &Sketches) {
        let mut out = Vec::new();
        for column in &self.columns {
            let name = column.name.as_bytes();
            let range = column
                .range
                .map_or([None; 2], |(least, most)| [Some(least), Some(most)]);
            out.extend((name.len() as u32).to_le_bytes());
            out.extend(name);
            out.extend([column.written as u8, u8::from(column.profile_exact)]);
            out.push(u8::from(column.range.is_some()));
            out.extend(range.into_iter().flatten().flat_map(i64::to_le_bytes));
            out.extend(column.distinct.to_le_bytes());
            out.extend(column.uniqueness.to_le_bytes());
        }
        (out, &self.sketches)
    }

    /// What [`pack`](Self::pack) gave; `None` for anything else.
    pub fn unpack(mut packed: &[u8], sketches: Sketches) -> Option<Self> {
        let mut columns = Vec::new();
        while !packed.is_empty() {
            columns.push(JoinColumn::unpack(&mut packed)?);
        }
        Some(Self {
            columns: columns.into(),
            sketches,
        })
    }

    /// Their names in order.
    pub fn names(&self) -> Box<[Box<str>]> {
        self.columns.iter().map(|it| it.name.clone()).collect()
    }
}

/// Bytes of a packed column, from the first on.
fn take<const N: usize>(packed: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = packed.split_first_chunk()?;
    *packed = rest;
    Some(*taken)
}

impl JoinColumn {
    fn unpack(packed: &mut &[u8]) -> Option<Self> {
        let length = u32::from_le_bytes(take(packed)?) as usize;
        let (name, rest) = packed.split_at_checked(length)?;
        *packed = rest;
        let [written, profile_exact, has_range] = take(packed)?;
        let range = match has_range {
            0 => None,
            _ => Some((
                i64::from_le_bytes(take(packed)?),
                i64::from_le_bytes(take(packed)?),
            )),
        };
        let all = [
            Written::Whole,
            Written::Number,
            Written::Time,
            Written::Text,
            Written::Other,
        ];
        Some(Self {
            name: std::str::from_utf8(name).ok()?.into(),
            range,
            distinct: u64::from_le_bytes(take(packed)?),
            uniqueness: f64::from_le_bytes(take(packed)?),
            written: *all.iter().find(|it| **it as u8 == written)?,
            profile_exact: profile_exact != 0,
        })
    }

    fn of(column: &ColumnRecord) -> Self {
        let number = |text: &String| text.parse::<f64>().ok().map(|it| it as i64);
        let range = column.min.as_ref().zip(column.max.as_ref());
        Self {
            name: column.name.as_str().into(),
            range: range.and_then(|(least, most)| Some((number(least)?, number(most)?))),
            distinct: column.distinct,
            uniqueness: column.uniqueness.unwrap_or_default(),
            written: match column.data_type.as_str() {
                "integer" => Written::Whole,
                "float" => Written::Number,
                "date" | "timestamp" => Written::Time,
                "text" => Written::Text,
                _ => Written::Other,
            },
            profile_exact: column.profile_exact,
        }
    }

    /// What kind of values these are, as far as joins go.
    fn kind(&self, values: &Frequent) -> Kind {
        let sample = || values.sample().map(|(value, _)| value);
        let is_whole = |value: &str| {
            let key = join_key(value);
            let digits = key.strip_prefix('-').unwrap_or(&key);
            digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        match self.written {
            Written::Whole => Kind::Whole,
            // Whole numbers become floats where some are missing.
            Written::Number if sample().all(is_whole) => Kind::Whole,
            Written::Number => Kind::Fraction,
            Written::Time => Kind::Time,
            Written::Text => {
                let words: usize = sample().map(|it| it.split_whitespace().count()).sum();
                match words > WORDS * sample().len() {
                    true => Kind::Prose,
                    false => Kind::Text,
                }
            }
            Written::Other => Kind::Other,
        }
    }

    /// What joins are found by; `None` beyond the 65,535 first columns of a table.
    fn to_column(&self, place: usize, values: &Frequent) -> Option<Column> {
        Some(Column::new(ColumnFacts {
            place: u16::try_from(place)
                .ok()
                .filter(|it| *it < u16::MAX)
                .map(Place)?,
            name: &self.name,
            kind: self.kind(values),
            uniqueness: self.uniqueness,
            range: self.range,
            values: ValueSet::of(values, self.distinct, self.profile_exact),
            counts: match self.profile_exact && values.is_complete() {
                true => value_counts(values.sample()),
                false => Vec::new(),
            },
            lookups: lookups(values.sample().map(|it| it.0)),
        }))
    }
}

/// A table as the join graph knows it: of its row, which may lack columns and sketches, and
/// what was kept of these.
///
/// # Errors
/// [`SketchError`].
pub fn graph_table(row: &TableRecord, kept: &JoinColumns) -> Result<Table, SketchError> {
    let columns = kept.columns.iter().zip(kept.sketches.list()).enumerate();
    let sketched = columns.filter_map(|(place, (column, sketch))| Some((place, column, sketch?)));
    let columns = sketched.map(|(place, column, sketch)| {
        let values = Frequent::from_sketch(&sketch)?;
        Ok(column.to_column(place, &values))
    });
    let columns: Vec<Option<Column>> = columns.collect::<Result<_, SketchError>>()?;
    let names: Vec<&str> = kept.columns.iter().map(|it| &*it.name).collect();
    let id = TableId::of(&row.lake, &row.name);
    let rows = row.rows.unwrap_or_default();
    let columns = columns.into_iter().flatten().collect();
    let mut table = Table::new(id, &row.name, rows, &names, columns);
    let places = |names: &[String]| -> Option<Vec<Place>> {
        names.iter().map(|it| table.place(name_hash(it))).collect()
    };
    let reference = |it: &ReferenceRecord| {
        Some(Reference {
            columns: places(&it.columns)?,
            table: TableId::of(&row.lake, &it.table),
            to: it.to.iter().map(|it| name_hash(it)).collect(),
        })
    };
    let references = row.keys.references.iter().filter_map(reference).collect();
    table.primary = places(&row.keys.primary).unwrap_or_default();
    table.references = references;
    Ok(table)
}

/// A catalog row of which nothing is read but what [`column_sketches`] and [`graph_table`] need.
#[derive(Clone, Debug)]
pub struct SketchedColumns(pub TableRecord);

impl HeldValue for SketchedColumns {
    const COLUMNS: Option<&'static [&'static str]> = Some(&[
        "rows",
        "keys",
        "segment",
        "first_block",
        "content",
        "columns.list.element.name",
        "columns.list.element.data_type",
        "columns.list.element.null_share",
        "columns.list.element.distinct",
        "columns.list.element.distinct_exact",
        "columns.list.element.uniqueness",
        "columns.list.element.min",
        "columns.list.element.max",
        "columns.list.element.profile_exact",
        "columns.list.element.sketch",
    ]);

    type With = ();

    fn of_row(row: TableRecord, _: &()) -> Self {
        Self(row)
    }
}
