//! A table as SQL sees it: the columns that are not withheld, and where they are in its rows.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use limn_lake::scan::TableRows;
use limn_segment::{ColumnRecord, TableRecord};
use limn_store::Store;

use crate::catalogue::Lake;
use crate::error::SqlError;
use crate::rows::{WithheldByFiles, left_out, rows_of};

/// A table that a statement names.
pub(crate) struct Table {
    pub(crate) record: Arc<TableRecord>,
    pub(crate) rows: TableRows,
    /// The columns that are not withheld.
    pub(crate) schema: SchemaRef,
    /// Of each, its place in `rows`.
    pub(crate) places: Vec<usize>,
    /// The columns that are.
    pub(crate) withheld: Vec<Withheld>,
    /// Files whose rows are missing.
    pub(crate) left_out: usize,
    /// Its lake, which counts what is read of it for one statement.
    pub(crate) store: Store,
}

/// A column whose values nobody sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Withheld {
    pub(crate) name: String,
    /// What it holds, if that is why.
    pub(crate) sensitive: Option<String>,
}

impl Table {
    pub(crate) fn open(record: Arc<TableRecord>, lake: Lake) -> Result<Table, SqlError> {
        let store = lake.store.counted();
        let (rows, by_files) = rows_of(&record, store.clone(), lake.options)?;
        let left_out = left_out(&record);
        let all = rows.schema();
        let known: Vec<Known<'_>> = (0..all.fields().len())
            .map(|place| known(&record.columns, &by_files, &all, place))
            .collect();
        let mut withheld = Vec::new();
        for (field, known) in all.fields().iter().zip(&known) {
            if let Known::Withheld(sensitive) = known {
                withheld.push(Withheld {
                    name: field.name().clone(),
                    sensitive: sensitive.map(str::to_owned),
                });
            }
        }
        let is_open = |place: &usize| matches!(known[*place], Known::Open);
        let places: Vec<usize> = (0..known.len()).filter(is_open).collect();
        let fields = places.iter().map(|place| Arc::clone(&all.fields()[*place]));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Table {
            rows,
            schema,
            places,
            withheld,
            left_out,
            store,
            record,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.record.name
    }

    /// What the index knows of a column that is not withheld.
    pub(crate) fn column(&self, name: &str) -> Option<&ColumnRecord> {
        self.record.columns.iter().find(|it| it.name == name)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.record.name)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

/// Whether a column's values may be seen.
enum Known<'a> {
    Open,
    /// What it holds, if that is why.
    Withheld(Option<&'a str>),
}

/// What the index says of the column at a place: the table's record may be of older files than
/// those that it has, so that what any file withholds is withheld. Whatever it does not say of a
/// table of which something is withheld is withheld, too: a name that repeats has a number behind
/// it in the rows, and files may have come since.
fn known<'a>(
    columns: &'a [ColumnRecord],
    by_files: &'a WithheldByFiles,
    all: &Schema,
    place: usize,
) -> Known<'a> {
    let name = all.field(place).name();
    let is_called = |it: &str| name.strip_prefix(it).is_some_and(is_number_behind);
    if let Some((_, sensitive)) = by_files.iter().find(|(it, _)| is_called(it)) {
        return Known::Withheld(sensitive.as_deref());
    }
    let of_place = columns
        .get(place)
        .filter(|it| columns.len() == all.fields().len() && name.starts_with(it.name.as_str()));
    let mut of_name = columns.iter().filter(|it| it.name == *name);
    let is_said = of_place.is_some() || of_name.clone().next().is_some();
    let withheld = of_place.filter(|it| it.withheld);
    match withheld.or_else(|| of_name.find(|it| it.withheld)) {
        Some(column) => Known::Withheld(column.sensitive.as_deref()),
        None if !is_said && columns.iter().any(|it| it.withheld) => Known::Withheld(None),
        None => Known::Open,
    }
}

/// Whether a column's name in the rows may go on so behind its name in a file: not at all, or with
/// a number.
fn is_number_behind(rest: &str) -> bool {
    let number = rest.strip_prefix('_');
    rest.is_empty() || number.is_some_and(|it| it.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field};

    use super::*;

    fn open(columns: &[(&str, bool)], fields: &[&str]) -> Vec<bool> {
        let columns: Vec<ColumnRecord> = columns
            .iter()
            .map(|(name, withheld)| ColumnRecord {
                name: (*name).to_owned(),
                withheld: *withheld,
                ..ColumnRecord::default()
            })
            .collect();
        let fields = fields
            .iter()
            .map(|it| Field::new(*it, DataType::Utf8, true));
        let all = Schema::new(fields.collect::<Vec<_>>());
        (0..all.fields().len())
            .map(|place| {
                matches!(
                    known(&columns, &WithheldByFiles::new(), &all, place),
                    Known::Open
                )
            })
            .collect()
    }

    #[test]
    fn a_withheld_column_is_hidden_by_whatever_name_it_has() {
        let columns = [("id", false), ("email", true), ("amount", false)];
        assert_eq!(
            open(&columns, &["id", "email", "amount"]),
            [true, false, true]
        );
        // A column went.
        assert_eq!(open(&columns, &["amount", "email"]), [true, false]);
        // One came that the index does not know.
        assert_eq!(
            open(&columns, &["id", "email", "amount", "new"]),
            [true, false, true, false]
        );
        // Two of one name.
        let twice = [("email", false), ("email", true)];
        assert_eq!(open(&twice, &["email", "email_2"]), [false, false]);
        // Nothing is withheld.
        assert_eq!(open(&[("id", false)], &["id", "new"]), [true, true]);
    }
}
