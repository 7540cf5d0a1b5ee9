//! What statements about a table are drawn over: some of its columns, and rows of it, read by
//! `limn-sql`, which knows what is withheld.

use futures::TryStreamExt;
use limn_profile::privacy::is_private;
use limn_sql::written::cells_of;
use limn_sql::{Engine, SqlError};
use limn_store::is_steering;

use crate::known_tables::Entry;
use crate::random::Draws;
use crate::statement::name;
use crate::{COLUMNS, ROWS};

/// Characters of a name or value that a question can hold.
pub(crate) const LONGEST: usize = 100;

/// Columns and rows of a table.
pub(crate) struct Sample {
    pub(crate) columns: Vec<SampleColumn>,
    /// Of each row a value per column; none of one that is null, or that no question can hold.
    pub(crate) rows: Vec<Vec<Option<String>>>,
}

/// A column that has a value in one of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampleColumn {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
}

/// What a statement may do with a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// Compare it with a text, group by it.
    Text,
    /// Compare it with a number, order by it, add it up.
    Number,
    /// Select it: days, times, yes and no.
    Other,
}

/// Why no statement can be drawn of a table.
#[derive(Debug)]
pub(crate) enum Unusable {
    /// It has no rows.
    Empty,
    /// It has no column that may be shown and that a question could name.
    NoColumns,
    /// It cannot be read.
    Unreadable(SqlError),
    /// An earlier visit found that it gives none: it is not read again.
    Before,
}

impl From<SqlError> for Unusable {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::AllWithheld { .. } => Unusable::NoColumns,
            error => Unusable::Unreadable(error),
        }
    }
}

/// Reads a sample of a table: the draws decide which columns and rows.
pub(crate) async fn read(
    engine: &Engine,
    entry: &Entry,
    draws: &mut Draws,
) -> Result<Sample, Unusable> {
    let table = name(&entry.key.name);
    let described = rows(engine, &format!("DESCRIBE {table}")).await?;
    let mut columns: Vec<SampleColumn> = described
        .iter()
        .filter_map(|row| usable(entry, row))
        .collect();
    draws.keep(COLUMNS, &mut columns);
    if columns.is_empty() {
        return Err(Unusable::NoColumns);
    }
    let counted = rows(engine, &format!("SELECT count(*) FROM {table}")).await?;
    let counted = counted.first().and_then(|row| row.first().cloned());
    let count: usize = counted
        .flatten()
        .and_then(|it| it.parse().ok())
        .unwrap_or(0);
    if count == 0 {
        return Err(Unusable::Empty);
    }
    let names: Vec<String> = columns.iter().map(|it| name(&it.name)).collect();
    let numbers = draws.distinct(ROWS, count).into_iter();
    let numbers: Vec<String> = numbers.map(|it| (it + 1).to_string()).collect();
    let (names, numbers) = (names.join(", "), numbers.join(", "));
    // Each table is read in one part, in the order of its files.
    let statement = format!(
        "SELECT {names} FROM (SELECT {names}, row_number() OVER () AS \"row of limn\" FROM {table}) AS numbered \
         WHERE \"row of limn\" IN ({numbers}) ORDER BY \"row of limn\""
    );
    let rows = rows(engine, &statement).await?;
    Ok(Sample::of(columns, rows))
}

/// A column of DESCRIBE, if statements may name it.
fn usable(entry: &Entry, row: &[Option<String>]) -> Option<SampleColumn> {
    // A column that is withheld has no type.
    let [Some(name), Some(data_type), ..] = row else {
        return None;
    };
    let kind = match data_type.as_str() {
        "text" => ColumnKind::Text,
        "integer" | "float" | "decimal" => ColumnKind::Number,
        "boolean" | "date" | "time" | "timestamp" => ColumnKind::Other,
        _ => return None,
    };
    let is_usable = entry.shows(name) && is_sayable(name);
    is_usable.then(|| SampleColumn {
        name: name.clone(),
        kind,
    })
}

/// Whether a question can hold a text as it is.
fn is_sayable(text: &str) -> bool {
    let is_short = text.chars().take(LONGEST + 1).count() <= LONGEST;
    let is_on_a_line = !text.contains(|c| is_steering(c) || matches!(c, '\u{2028}' | '\u{2029}'));
    is_short && is_on_a_line && text.trim() == text && text.contains(char::is_alphanumeric)
}

impl Sample {
    /// Of the rows' values those that a statement may hold, of the columns those that have one.
    fn of(columns: Vec<SampleColumn>, mut rows: Vec<Vec<Option<String>>>) -> Sample {
        for row in &mut rows {
            for (column, value) in columns.iter().zip(row) {
                let is_usable = |it: &String| match column.kind {
                    ColumnKind::Number => it.parse().is_ok_and(f64::is_finite),
                    _ => is_sayable(it),
                };
                value.take_if(|it| !is_usable(it) || is_private(it));
            }
        }
        let has_value = |at: usize| rows.iter().any(|row| row[at].is_some());
        let kept: Vec<usize> = (0..columns.len()).filter(|at| has_value(*at)).collect();
        let of_kept = |row: &Vec<Option<String>>| kept.iter().map(|at| row[*at].clone()).collect();
        Sample {
            rows: rows.iter().map(of_kept).collect(),
            columns: kept.iter().map(|at| columns[*at].clone()).collect(),
        }
    }

    pub(crate) fn name(&self, at: usize) -> String {
        self.columns[at].name.clone()
    }

    pub(crate) fn value(&self, row: usize, at: usize) -> Option<&str> {
        self.rows.get(row)?.get(at)?.as_deref()
    }

    /// The columns of a kind.
    pub(crate) fn places(&self, kind: ColumnKind) -> Vec<usize> {
        let places = 0..self.columns.len();
        places.filter(|at| self.columns[*at].kind == kind).collect()
    }

    /// The values of a column of numbers in order, each once.
    pub(crate) fn numbers(&self, at: usize) -> Vec<&str> {
        let values = (0..self.rows.len()).filter_map(|row| self.value(row, at));
        let parsed = values.filter_map(|it| Some((it.parse::<f64>().ok()?, it)));
        let mut values: Vec<(f64, &str)> = parsed.collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        values.dedup_by(|a, b| a.0 == b.0);
        values.into_iter().map(|(_, it)| it).collect()
    }
}

/// The rows of a statement, each value as text.
async fn rows(engine: &Engine, statement: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
    let mut answer = engine.run(statement).await?;
    let mut rows = Vec::new();
    while let Some(batch) = answer.try_next().await? {
        let cells = cells_of(&batch).map_err(|error| SqlError::Internal(error.to_string()))?;
        let row = |at: usize| cells.iter().map(|cell| cell.text(at)).collect();
        rows.extend((0..batch.num_rows()).map(row));
    }
    Ok(rows)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    type Made<'a> = (&'a str, ColumnKind, &'a [&'a str]);

    pub(crate) const LAKES: [Made<'static>; 5] = [
        (
            "lake_name",
            ColumnKind::Text,
            &["Thun", "Zug", "Biel", "Walen"],
        ),
        (
            "canton",
            ColumnKind::Text,
            &["Bern", "Zug", "Bern", "Glarus"],
        ),
        ("depth", ColumnKind::Number, &["217", "198", "74", "145"]),
        (
            "area",
            ColumnKind::Number,
            &["48.3", "38.4", "39.3", "24.2"],
        ),
        (
            "since",
            ColumnKind::Other,
            &["1900", "1901", "1902", "1903"],
        ),
    ];

    /// A sample of these columns, each of its name, kind and values.
    pub(crate) fn sample(of: &[Made<'_>]) -> Sample {
        let columns = of.iter().map(|(name, kind, _)| SampleColumn {
            name: (*name).to_owned(),
            kind: *kind,
        });
        let rows = of.first().map_or(0, |(.., values)| values.len());
        let value = |at: usize, values: &[&str]| values.get(at).map(|it| (*it).to_owned());
        let row = |at: usize| of.iter().map(|(.., values)| value(at, values)).collect();
        Sample::of(columns.collect(), (0..rows).map(row).collect())
    }

    #[test]
    fn values_that_no_question_can_hold_are_left_out() {
        let long = "x".repeat(LONGEST + 1);
        let texts = ["fine", "two\nlines", " ", &long, "desk@lake.example"];
        let numbers = ["1", "NaN", "inf", "", "-2.5e3"];
        let made = sample(&[
            ("a", ColumnKind::Text, &texts),
            ("b", ColumnKind::Number, &numbers),
            ("c", ColumnKind::Text, &["", "", "", "", ""]),
        ]);
        let named: Vec<&str> = made.columns.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(named, ["a", "b"]);
        let of =
            |at: usize| -> Vec<Option<&str>> { (0..5).map(|row| made.value(row, at)).collect() };
        assert_eq!(of(0), [Some("fine"), None, None, None, None]);
        assert_eq!(of(1), [Some("1"), None, None, None, Some("-2.5e3")]);
        assert_eq!(made.numbers(1), ["-2.5e3", "1"]);
    }
}
