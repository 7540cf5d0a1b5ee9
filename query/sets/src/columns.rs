//! What the index holds of a table's columns, as far as joins and relevance need it.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use limn_profile::{Frequent, SketchError, ValueSet};
use limn_segment::{TableKey, TableRecord};

use crate::names::{last_part, qualified, stems, words};
use crate::vectors::TableVectors;

/// Columns of a table that take part; of wider tables, the first.
const MOST: usize = 200;
/// From this uniqueness on a column is what rows are known by: an estimate may be a little less
/// than 1.
const UNIQUE: f64 = 0.999;

/// From this uniqueness on most values of a column are in one row, and below the other figure the
/// values of a column are kinds of rows.
const MOSTLY_UNIQUE: f64 = 0.5;
const KINDS: f64 = 0.34;
/// Different codes that a list of codes has at most.
const CODES: u64 = 1000;

/// Values that are known of a column, at most.
const VALUES: usize = 128;

/// Kinds of values that may be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Time,
    Text,
    /// Nothing is known of its values.
    Unknown,
    /// Nobody joins by it.
    Other,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    pub(crate) kind: Kind,
    /// Distinct values as a share of all, where that is known: 0 to 1.
    pub(crate) uniqueness: Option<f64>,
    /// Whether it is a declared key by itself; `None` of a table that declares none.
    pub(crate) is_declared: Option<bool>,
    /// Distinct values.
    pub(crate) distinct: u64,
    /// The relative standard error of `distinct`; `None` where it is not of all rows, or a bound.
    pub(crate) distinct_error: Option<f64>,
    /// Its values, as far as they are known.
    pub(crate) values: Option<ValueSet>,
    /// `table: column`, as questions' parts are compared with it.
    pub(crate) text: String,
    /// Its name, with that of its table where it says nothing by itself.
    pub(crate) qualified: String,
    pub(crate) stems: Vec<String>,
}

impl Column {
    /// Whether no two rows have the same value; `None` where that is not known.
    pub(crate) fn is_unique(&self) -> Option<bool> {
        let is_counted = self.uniqueness.map(|uniqueness| uniqueness >= UNIQUE);
        is_counted.or(self.is_declared.filter(|it| *it))
    }
}

/// The columns of a table.
#[derive(Clone, Debug)]
pub struct TableColumns {
    /// Which table.
    pub table: TableKey,
    /// Its columns in order, 200 at most.
    pub columns: Vec<Column>,
    /// Like tables of a folder.
    pub(crate) family: Family,
    /// No other of this process has it.
    pub(crate) id: u64,
    /// Made when they are needed first.
    pub(crate) vectors: OnceLock<TableVectors>,
}

/// What tables of one family have in common: a hash of their folder and their columns' names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Family(u64);

impl Family {
    fn of(row: &TableRecord) -> Family {
        let mut hasher = DefaultHasher::new();
        let folder = &row.name[..row.name.len() - last_part(&row.name).len()];
        (&row.lake, folder).hash(&mut hasher);
        for column in row.columns.iter().take(MOST) {
            column.name.to_lowercase().hash(&mut hasher);
        }
        Family(hasher.finish())
    }
}

static MADE: AtomicU64 = AtomicU64::new(0);

impl TableColumns {
    /// The columns of a catalog row.
    ///
    /// # Errors
    /// [`SketchError`] where another limn has written the sketches.
    pub fn of_row(row: &TableRecord) -> Result<TableColumns, SketchError> {
        let sketches = row.sketches.list();
        let table = words(last_part(&row.name));
        let primary = std::iter::once(&row.keys.primary);
        let keys = primary
            .chain(&row.keys.unique)
            .filter_map(|key| match key.as_slice() {
                [column] => Some(column),
                _ => None,
            });
        let keys: Vec<&String> = keys.collect();
        let columns = row.columns.iter().take(MOST).enumerate();
        let columns = columns.map(|(at, column)| {
            let sketch = sketches.get(at).and_then(Option::as_ref);
            let counted = sketch.map(|it| Frequent::from_sketch(it)).transpose()?;
            let whole = counted
                .as_ref()
                .filter(|it| column.profile_exact && !it.is_withheld());
            let distinct_error = whole.map(Frequent::distinct_error);
            let values = counted.map(|it| ValueSet::of(&it, column.distinct, column.profile_exact));
            let qualified = qualified(&row.name, &column.name);
            Ok(Column {
                name: column.name.clone(),
                kind: kind(&column.data_type),
                uniqueness: column.uniqueness,
                is_declared: (!keys.is_empty()).then(|| keys.contains(&&column.name)),
                distinct: column.distinct,
                distinct_error,
                values,
                text: format!("{table}: {}", words(&column.name)),
                stems: stems(&qualified),
                qualified,
            })
        });
        Ok(TableColumns {
            table: row.key(),
            columns: columns.collect::<Result<_, SketchError>>()?,
            family: Family::of(row),
            id: MADE.fetch_add(1, Ordering::Relaxed),
            vectors: OnceLock::new(),
        })
    }

    /// A column by which a list of codes tells apart the rows of one code, as `type` does in a list
    /// of the codes of several types: of few texts, where most codes are in one row, and the other
    /// side has half of them at most. The one of the fewest.
    pub(crate) fn kind_of_codes(&self, code: &str, other: &Column) -> Option<&Column> {
        let codes = self.columns.iter().find(|it| it.name == code)?;
        let is_mostly_unique = (MOSTLY_UNIQUE..UNIQUE).contains(&codes.uniqueness?);
        let is_list = codes.distinct <= CODES && 2 * other.distinct <= codes.distinct;
        let kinds = self.columns.iter().filter(|it| {
            let is_few = it.uniqueness.is_some_and(|share| share <= KINDS);
            it.kind == Kind::Text && it.distinct > 1 && is_few
        });
        kinds
            .min_by_key(|it| it.distinct)
            .filter(|_| is_mostly_unique && is_list)
    }

    /// The same, without anything that depends on values: for callers who may not read them.
    #[must_use]
    pub fn without_values(&self) -> TableColumns {
        let mut columns = self.columns.clone();
        for column in &mut columns {
            (column.values, column.uniqueness) = (None, None);
        }
        TableColumns {
            table: self.table.clone(),
            columns,
            family: self.family,
            id: MADE.fetch_add(1, Ordering::Relaxed),
            vectors: self.vectors.clone(),
        }
    }

    /// About how many bytes they take, with vectors of so many dimensions.
    #[must_use]
    pub fn bytes(&self, dimensions: usize) -> usize {
        let of = |column: &Column| {
            let texts = column.name.len() + column.text.len() + 2 * column.qualified.len();
            let values = column
                .values
                .as_ref()
                .map_or(0, |_| VALUES * size_of::<u64>());
            texts + values + 2 * dimensions * size_of::<f32>() + size_of::<Column>()
        };
        self.columns.iter().map(of).sum()
    }
}

fn kind(data_type: &str) -> Kind {
    match data_type {
        "integer" | "float" => Kind::Number,
        "date" | "timestamp" => Kind::Time,
        "text" => Kind::Text,
        "unknown" | "" => Kind::Unknown,
        _ => Kind::Other,
    }
}

/// Tables for tests.
#[cfg(test)]
pub(crate) mod drafts {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use limn_profile::ColumnBuilder;
    use limn_segment::{ColumnRecord, TableRecord};

    use super::TableColumns;

    /// A table with values by column, as the index has it; without values where there are none.
    pub(crate) fn table(name: &str, columns: &[(&str, Vec<String>)]) -> Arc<TableColumns> {
        let (mut records, mut sketches) = (Vec::new(), Vec::new());
        for (column, values) in columns {
            let mut builder = ColumnBuilder::new(*column);
            values.iter().for_each(|value| builder.push(Some(value)));
            let summary = builder.finish(true);
            records.push(ColumnRecord {
                name: (*column).to_owned(),
                data_type: summary.data_type.to_string(),
                distinct: summary.profile.distinct(),
                distinct_exact: summary.profile.distinct_exact(),
                uniqueness: (!values.is_empty()).then(|| summary.profile.uniqueness()),
                profile_exact: summary.profile.exact,
                ..ColumnRecord::default()
            });
            sketches.push(summary.profile.frequent.to_sketch());
        }
        let row = TableRecord {
            lake: "/lake".to_owned(),
            name: name.to_owned(),
            columns: records,
            sketches: sketches.into_iter().collect(),
            ..TableRecord::default()
        };
        Arc::new(TableColumns::of_row(&row).unwrap())
    }

    pub(crate) fn values(count: usize, value: impl Fn(usize) -> String) -> Vec<String> {
        (0..count).map(value).collect()
    }
}
