//! The tables of a snapshot, and which of them answer a statement: found by executing it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use futures::TryStreamExt;
use limn_segment::{TableKey, TableRecord};
use limn_sql::{Catalogue, Engine, Lake, Limits, SqlError};

use crate::statement::Statement;

/// The tables of a snapshot, by name and lake.
pub struct Shelf {
    pub(crate) entries: Vec<Entry>,
    /// By a column's name in small letters, the tables that have it, in order.
    by_column: HashMap<String, Vec<usize>>,
    /// By lake: a statement cannot say which lake it means.
    engines: BTreeMap<String, Engine>,
}

/// What is known of a table before it is read.
pub(crate) struct Entry {
    pub(crate) key: TableKey,
    /// The names of its columns.
    names: Vec<String>,
    /// Those that may be shown.
    shown: HashSet<String>,
    /// Whether the index knows that it has no rows.
    pub(crate) is_empty: bool,
}

impl Entry {
    fn of(record: &TableRecord) -> Entry {
        let hidden = record.columns.iter();
        let hidden = hidden.filter(|it| it.withheld || it.sensitive.is_some());
        let hidden: HashSet<&str> = hidden.map(|it| it.name.as_str()).collect();
        let names = record.columns.iter().map(|it| it.name.clone());
        let names: Vec<String> = names.collect();
        Entry {
            key: record.key(),
            shown: names
                .iter()
                .filter(|it| !hidden.contains(it.as_str()))
                .cloned()
                .collect(),
            names,
            is_empty: record.rows == Some(0) && record.rows_exact,
        }
    }

    /// What the table calls a column: as it is written, or but for case.
    fn own_name(&self, column: &str) -> String {
        let exact = self.names.iter().find(|it| *it == column);
        let small = column.to_lowercase();
        let like = || self.names.iter().find(|it| it.to_lowercase() == small);
        exact.or_else(like).map_or(column, |it| it).to_owned()
    }

    /// Whether statements may name a column.
    pub(crate) fn shows(&self, column: &str) -> bool {
        self.shown.contains(column)
    }
}

/// Whether a table answers a statement.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It gives a row without a NULL.
    Answers,
    /// It gives none.
    DoesNot,
    /// It cannot be asked so: a column has another type, or is withheld.
    Cannot(SqlError),
    /// That could not be found out: it failed by an accident, or took too long.
    Unknown(SqlError),
}

impl Verdict {
    fn of(asked: Result<bool, SqlError>) -> Verdict {
        match asked {
            Ok(true) => Verdict::Answers,
            Ok(false) => Verdict::DoesNot,
            Err(error) => match error {
                error @ (SqlError::Plan(_)
                | SqlError::Value(_)
                | SqlError::UnknownColumn { .. }
                | SqlError::AmbiguousColumn { .. }
                | SqlError::Withheld { .. }
                | SqlError::AllWithheld { .. }) => Verdict::Cannot(error),
                error => Verdict::Unknown(error),
            },
        }
    }
}

impl Shelf {
    /// The tables of a snapshot. `open` opens a lake by its URL; each statement is held to the
    /// limits.
    pub fn new(
        records: Vec<TableRecord>,
        open: impl Fn(&str) -> Result<Lake, SqlError> + Send + Sync + 'static,
        limits: &Limits,
    ) -> Shelf {
        let mut records: Vec<TableRecord> = records.into_iter().filter(|it| !it.removed).collect();
        records.sort_by(|a, b| (&a.name, &a.lake).cmp(&(&b.name, &b.lake)));
        let entries: Vec<Entry> = records.iter().map(Entry::of).collect();
        let mut by_column: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, record) in records.iter().enumerate() {
            for column in &record.columns {
                let tables = by_column.entry(column.name.to_lowercase()).or_default();
                if tables.last() != Some(&at) {
                    tables.push(at);
                }
            }
        }
        let mut by_lake: BTreeMap<String, Vec<TableRecord>> = BTreeMap::new();
        for record in records {
            by_lake.entry(record.lake.clone()).or_default().push(record);
        }
        let open = Arc::new(open);
        let engines = by_lake.into_iter().map(|(lake, records)| {
            let open = Arc::clone(&open);
            let catalogue = Catalogue::new(records, move |url| open(url));
            // As plans have it: the same rows in the same order each time.
            (lake, Engine::new(catalogue, limits.clone()).for_plans())
        });
        Shelf {
            engines: engines.collect(),
            entries,
            by_column,
        }
    }

    /// The engine of a table's lake.
    pub(crate) fn engine(&self, at: usize) -> Option<&Engine> {
        self.engines.get(&self.entries[at].key.lake)
    }

    /// The tables that have all these columns, in order.
    pub(crate) fn having(&self, columns: &[&str]) -> Vec<usize> {
        let tables = columns
            .iter()
            .map(|it| self.by_column.get(&it.to_lowercase()));
        let Some(mut tables) = tables.collect::<Option<Vec<_>>>() else {
            return Vec::new();
        };
        tables.sort_unstable_by_key(|it| it.len());
        let Some((first, others)) = tables.split_first() else {
            return Vec::new();
        };
        let in_all = |at: &&usize| others.iter().all(|it| it.binary_search(at).is_ok());
        first.iter().filter(in_all).copied().collect()
    }

    /// Executes a statement on a table, whose columns may be written in another case.
    pub(crate) async fn ask(&self, at: usize, statement: &Statement) -> Verdict {
        let Some(engine) = self.engine(at) else {
            return Verdict::DoesNot;
        };
        let entry = &self.entries[at];
        let own = statement.renamed(|column| entry.own_name(column));
        let sql = own.sql(&entry.key.name);
        Verdict::of(has_whole_row(engine, &sql).await)
    }
}

/// Whether a statement gives a row without a NULL. Reads no further than that.
async fn has_whole_row(engine: &Engine, sql: &str) -> Result<bool, SqlError> {
    let mut answer = engine.run(sql).await?;
    while let Some(batch) = answer.try_next().await? {
        let columns = batch.columns();
        let is_whole = |row: usize| columns.iter().all(|column| !column.is_null(row));
        if (0..batch.num_rows()).any(is_whole) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_table_whose_query_fails_by_accident_may_answer() {
        let accidents = [
            SqlError::Execution("spilling: no room (os error 28)".to_owned()),
            SqlError::Timeout(Duration::from_secs(1)),
            SqlError::Internal("x".to_owned()),
        ];
        for error in accidents {
            let verdict = Verdict::of(Err(error));
            assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}");
        }
        let misfits = [
            SqlError::Value("cannot cast 'x' to a number".to_owned()),
            SqlError::Plan("a text is no number".to_owned()),
        ];
        for error in misfits {
            let verdict = Verdict::of(Err(error));
            assert!(matches!(verdict, Verdict::Cannot(_)), "{verdict:?}");
        }
        assert!(matches!(Verdict::of(Ok(true)), Verdict::Answers));
        assert!(matches!(Verdict::of(Ok(false)), Verdict::DoesNot));
    }
}
