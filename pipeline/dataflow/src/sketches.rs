//! Summaries and sketches as the catalog has them.
//!
//! A file's summary is kept with the sketches of its columns, a table's row with those of all its files together. Join
//! discovery reads the latter: [`column_sketches`], of rows of which [`SketchedColumns`] reads no more than it takes.

use limn_profile::{FileSummary, SketchError, SummaryError, TableSummary, ValueSet};
use limn_segment::{FileRecord, HeldValue, Sketches, TableKey, TableRecord};

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
            values: ValueSet::of_sketch(&sketch, column.distinct, column.profile_exact)?,
        })
    });
    read.collect()
}

/// A catalog row of which nothing is read but what [`column_sketches`] needs.
#[derive(Clone, Debug)]
pub struct SketchedColumns(pub TableRecord);

impl HeldValue for SketchedColumns {
    const COLUMNS: Option<&'static [&'static str]> = Some(&[
        "rows",
        "columns.list.element.name",
        "columns.list.element.data_type",
        "columns.list.element.null_share",
        "columns.list.element.distinct",
        "columns.list.element.distinct_exact",
        "columns.list.element.uniqueness",
        "columns.list.element.profile_exact",
        "columns.list.element.sketch",
    ]);

    fn of_row(row: TableRecord) -> Self {
        Self(row)
    }
}
