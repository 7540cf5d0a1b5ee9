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
    let summary = file.summary.as_deref();
    summary
        .map(|json| FileSummary::from_stored(json, file.sketches.list()))
        .transpose()
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

/// What joins are found by in a row, small: a writer keeps it of its whole lake.
#[derive(Clone, Debug, Default)]
pub struct JoinColumns {
    count: usize,
    columns: Box<[JoinColumn]>,
    sketches: Sketches,
}

/// A column as far as joins go, but for its values.
#[derive(Clone, Debug)]
struct JoinColumn {
    name: Box<str>,
    range: Option<(i64, i64)>,
    distinct: u64,
    uniqueness: f64,
    written: Written,
    profile_exact: bool,
}

/// What types columns have, as far as joins go.
#[derive(Clone, Copy, Debug)]
enum Written {
    Whole,
    Number,
    Time,
    Text,
    Other,
}

impl JoinColumns {
    /// Those of a row; none of a tombstone.
    pub fn of(row: &TableRecord) -> Self {
        if row.removed {
            return Self::default();
        }
        // Most tables have one file, whose sketches are kept in any case.
        let same = row.files.iter().find(|it| it.sketches == row.sketches);
        Self {
            count: row.columns.len(),
            columns: row.columns.iter().map(JoinColumn::of).collect(),
            sketches: same.map_or(&row.sketches, |it| &it.sketches).clone(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many there are and nothing else, where no joins are looked for.
    pub fn counted(&self) -> Self {
        Self {
            count: self.count,
            ..Self::default()
        }
    }

    /// Their names in order.
    pub fn names(&self) -> Box<[Box<str>]> {
        self.columns.iter().map(|it| it.name.clone()).collect()
    }
}

impl JoinColumn {
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

    fn of_row(row: TableRecord) -> Self {
        Self(row)
    }
}
