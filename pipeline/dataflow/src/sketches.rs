//! Summaries and sketches as the catalog has them.
//!
//! A file's summary is kept with the sketches of its columns, a table's row with those of all its files together. Join
//! discovery reads the latter: [`column_sketches`], of rows of which [`SketchedColumns`] reads no more than it takes.

use limn_joins::{Column, ColumnFacts, Kind, Place, Reference, Table, TableId, name_hash};
use limn_profile::{
    FileSummary, Frequent, SketchError, SummaryError, TableSummary, ValueSet, join_key,
};
use limn_segment::{FileRecord, HeldValue, ReferenceRecord, Sketches, TableKey, TableRecord};

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

/// The columns of a table that have sketches: no others can be compared. Columns without values and such that are withheld have none,
/// nor has any in a row that limn wrote before catalogs had format 2.
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

impl ColumnSketch {
    /// What kind of values these are, as far as joins go.
    fn kind(&self) -> Kind {
        let sample = || self.frequent.sample().map(|(value, _)| value);
        let is_whole = |value: &str| {
            let key = join_key(value);
            let digits = key.strip_prefix('-').unwrap_or(&key);
            digits.bytes().all(|byte| byte.is_ascii_digit())
        };
        match self.data_type.as_str() {
            "integer" => Kind::Whole,
            // Whole numbers become floats where some are missing.
            "float" if sample().all(is_whole) => Kind::Whole,
            "float" => Kind::Fraction,
            "date" | "timestamp" => Kind::Time,
            "text" => {
                let words: usize = sample().map(|it| it.split_whitespace().count()).sum();
                match words > WORDS * sample().len() {
                    true => Kind::Prose,
                    false => Kind::Text,
                }
            }
            _ => Kind::Other,
        }
    }

    /// What joins are found by; `None` beyond the 65,535 first columns of a table.
    fn to_column(&self) -> Option<Column> {
        let number = |text: &str| text.parse::<f64>().ok().map(|it| it as i64);
        let range = self.range.as_ref();
        Some(Column::new(ColumnFacts {
            place: u16::try_from(self.place)
                .ok()
                .filter(|it| *it < u16::MAX)
                .map(Place)?,
            name: &self.column,
            kind: self.kind(),
            uniqueness: self.uniqueness,
            range: range.and_then(|(least, most)| Some((number(least)?, number(most)?))),
            values: self.values.clone(),
        }))
    }
}

/// A table as the join graph knows it.
///
/// # Errors
/// [`SketchError`].
pub fn graph_table(row: &TableRecord) -> Result<Table, SketchError> {
    let columns = column_sketches(row)?;
    let columns = columns.iter().filter_map(ColumnSketch::to_column);
    let names: Vec<&str> = row.columns.iter().map(|it| it.name.as_str()).collect();
    let id = TableId::of(&row.lake, &row.name);
    let rows = row.rows.unwrap_or_default();
    let mut table = Table::new(id, &row.name, rows, &names, columns.collect());
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
