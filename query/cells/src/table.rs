//! What is known of a table without its rows, and may be seen of it.

use std::collections::HashMap;

use limn_segment::{ColumnRecord, TableKey, TableRecord};

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Which table.
    pub key: TableKey,
    /// Its rows, if they are known.
    pub rows: Option<u64>,
    /// Whether they were counted, and not estimated.
    pub rows_exact: bool,
    /// The columns that are not withheld, as SQL calls them, in order.
    pub columns: Vec<Column>,
    /// How many columns are withheld.
    pub withheld: usize,
    /// Rows that came or went since ranges and frequent values were counted.
    pub uncounted: u64,
}

/// A column.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type in a word: `integer`, `text`, `date`…
    pub data_type: String,
    /// The least and the greatest value, where it has an order.
    pub range: Option<(String, String)>,
    /// The values that the index knows to be frequent, most frequent first.
    pub frequent: Vec<String>,
    /// About how many distinct values it has, where nearly every row has its own.
    pub(crate) own_values: Option<u64>,
    /// About how many distinct values it has, if that is known.
    pub(crate) distinct: Option<u64>,
}

impl Column {
    pub(crate) fn is_text(&self) -> bool {
        self.data_type == "text"
    }

    /// Whether the index knows some of its values, and they may be seen.
    pub(crate) fn has_values(&self) -> bool {
        !self.frequent.is_empty()
    }

    fn of(
        name: String,
        data_type: String,
        known: Option<&ColumnRecord>,
        rows: Option<u64>,
    ) -> Column {
        let has_range = ["integer", "float", "decimal", "date", "time", "timestamp"];
        let range = known
            .filter(|_| has_range.contains(&data_type.as_str()))
            .and_then(|known| Some((known.min.clone()?, known.max.clone()?)));
        let is_text = data_type == "text";
        let frequent = known.into_iter().filter(|_| is_text);
        let frequent = frequent.flat_map(|known| known.frequent.iter().map(|it| it.value.clone()));
        let own_values = known.and_then(|known| own_values(known, rows));
        Column {
            range,
            frequent: frequent.collect(),
            distinct: own_values.or(known.map(|known| known.distinct)),
            own_values,
            name,
            data_type,
        }
    }
}

/// About how many distinct values a column has, if at least half of its rows have one of their own.
fn own_values(known: &ColumnRecord, rows: Option<u64>) -> Option<u64> {
    let share = known.uniqueness.filter(|share| *share > 0.5)?;
    let of_rows = rows.map_or(0, |rows| (rows as f64 * share) as u64);
    Some(match known.profile_exact {
        true => known.distinct,
        false => known.distinct.max(of_rows),
    })
}

impl Table {
    /// As the index knows it: names and types, and what it knows of values if these may be seen.
    #[must_use]
    pub fn of_record(record: &TableRecord, shows_values: bool) -> Table {
        let shown = record.columns.iter().filter(|column| !column.withheld);
        let columns = shown.map(|column| {
            let known = shows_values.then_some(column);
            let (name, data_type) = (column.name.clone(), column.data_type.clone());
            Column::of(name, data_type, known, record.rows)
        });
        let withheld = record.columns.iter().filter(|column| column.withheld);
        Table {
            key: record.key(),
            rows: record.rows,
            rows_exact: record.rows_exact,
            columns: columns.collect(),
            withheld: withheld.count(),
            uncounted: record.rows_since_sample(),
        }
    }

    /// As SQL has it: the columns (names and types, none of those that
    /// are withheld), with what the index knows of their values.
    #[must_use]
    pub(crate) fn of_sql(
        record: &TableRecord,
        columns: Vec<(String, String)>,
        withheld: usize,
    ) -> Table {
        let mut known: HashMap<&str, &ColumnRecord> = HashMap::new();
        for column in record.columns.iter().filter(|column| !column.withheld) {
            known.entry(&column.name).or_insert(column);
        }
        let of = |(name, data_type): (String, String)| {
            let of_name = known.get(name.as_str()).copied();
            Column::of(name, data_type, of_name, record.rows)
        };
        Table {
            key: record.key(),
            rows: record.rows,
            rows_exact: record.rows_exact,
            columns: columns.into_iter().map(of).collect(),
            withheld,
            uncounted: record.rows_since_sample(),
        }
    }
}
