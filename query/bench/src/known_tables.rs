//! The tables of a snapshot, and which of them answer a statement: found by executing it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use futures::TryStreamExt;
use limn_retrieval::content_terms;
use limn_segment::{TableKey, TableRecord};
use limn_sql::{Catalogue, Engine, Lake, Limits, SqlError};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::passages::passages;
use crate::statement::Statement;
use crate::{COLUMNS, STATEMENTS};

/// The tables of a snapshot, by name and lake.
pub struct KnownTables {
    pub(crate) entries: Vec<Entry>,
    /// By a column's name in small letters, the tables that have it, in order.
    by_column: HashMap<String, Vec<usize>>,
    /// By lake: a statement cannot say which lake it means.
    engines: BTreeMap<String, Engine>,
    /// What runs on the engines at a time: each statement may take all the memory of its limits.
    permits: Semaphore,
    /// The words of what is known of each table, once they are needed.
    words: OnceLock<Vec<HashSet<String>>>,
    /// By a passage of what is recorded, the tables that have it, in order; once they are needed.
    passages: OnceLock<HashMap<String, Vec<usize>>>,
}

/// What is known of a table before it is read.
pub(crate) struct Entry {
    pub(crate) key: TableKey,
    /// The names of its columns.
    pub(crate) names: Vec<String>,
    /// What the index has recorded about it: where each text is from, and the text.
    pub(crate) contexts: Vec<(String, String)>,
    /// Its name, and its columns with what is said of them; without those that may not be shown.
    described: String,
    /// A hash of what it holds, if known.
    content: Option<String>,
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
            contexts: record
                .contexts
                .iter()
                .filter(|it| !it.text.trim().is_empty())
                .map(|it| (it.source.clone(), it.text.clone()))
                .collect(),
            described: described(record),
            content: record.content.clone(),
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

    /// What is known of it beside its rows: what was recorded, else its description.
    pub(crate) fn known(&self) -> String {
        let recorded = self.contexts.iter().map(|(_, text)| text.as_str());
        let recorded: Vec<&str> = recorded.collect();
        match recorded.is_empty() {
            true => self.described.clone(),
            false => recorded.join("\n"),
        }
    }

    /// Whether statements may name a column.
    pub(crate) fn shows(&self, column: &str) -> bool {
        self.shown.contains(column)
    }
}

/// A table's name, and its columns with what is said of them.
fn described(record: &TableRecord) -> String {
    let shown = record.columns.iter();
    let shown = shown.filter(|it| !it.withheld && it.sensitive.is_none());
    let said = shown.take(COLUMNS).map(|it| {
        let said = it.description.as_ref().or(it.narration.as_ref());
        said.map_or_else(|| it.name.clone(), |said| format!("{} ({said})", it.name))
    });
    let said: Vec<String> = said.collect();
    format!("{}: {}", record.name, said.join(", "))
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

impl KnownTables {
    /// The tables of a snapshot. `open` opens a lake by its URL; each statement is held to the
    /// limits.
    pub fn new(
        records: Vec<TableRecord>,
        open: impl Fn(&str) -> Result<Lake, SqlError> + Send + Sync + 'static,
        limits: &Limits,
    ) -> KnownTables {
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
        KnownTables {
            engines: engines.collect(),
            permits: Semaphore::new(STATEMENTS),
            entries,
            by_column,
            words: OnceLock::new(),
            passages: OnceLock::new(),
        }
    }

    /// Whether two tables hold the same.
    pub(crate) fn is_copy(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.entries[one], &self.entries[other]);
        one.content.is_some() && one.content == other.content
    }

    /// The tables about which a passage is recorded, in order.
    pub(crate) fn with_passage(&self, passage: &str) -> &[usize] {
        let known = self.passages.get_or_init(|| {
            let mut known: HashMap<String, Vec<usize>> = HashMap::new();
            for (at, entry) in self.entries.iter().enumerate() {
                let recorded = entry.contexts.iter();
                for passage in recorded.flat_map(|(_, text)| passages(text)) {
                    let tables = known.entry(passage).or_default();
                    if tables.last() != Some(&at) {
                        tables.push(at);
                    }
                }
            }
            known
        });
        known.get(passage).map_or(&[], Vec::as_slice)
    }

    /// The other tables by how much of a text is known of them, most first: each word counts for
    /// the more the fewer tables have it. None that have no word of it.
    pub(crate) fn alike(&self, at: usize, text: &str) -> Vec<usize> {
        let words = self.words.get_or_init(|| {
            let known = self.entries.iter().map(|it| content_terms(&it.known()));
            known.map(|it| it.into_iter().collect()).collect()
        });
        let mut worth = vec![0.0; words.len()];
        for term in content_terms(text) {
            let having = (0..words.len()).filter(|it| words[*it].contains(&term));
            let having: Vec<usize> = having.collect();
            for table in &having {
                worth[*table] += 1.0 / having.len() as f64;
            }
        }
        let others = (0..words.len()).filter(|it| *it != at && worth[*it] > 0.0);
        let mut others: Vec<usize> = others.collect();
        others.sort_by(|a, b| worth[*b].total_cmp(&worth[*a]).then(a.cmp(b)));
        others
    }

    /// The engine of a table's lake.
    pub(crate) fn engine(&self, at: usize) -> Option<&Engine> {
        self.engines.get(&self.entries[at].key.lake)
    }

    /// Waits until there is room on the engines: as many statements run at a time as a visit has,
    /// however many visits are under way.
    pub(crate) async fn permit(&self) -> Option<SemaphorePermit<'_>> {
        // Nothing closes the semaphore.
        self.permits.acquire().await.ok()
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
        let _permit = self.permit().await;
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
pub(crate) mod tests {
    use std::time::Duration;

    use limn_segment::ColumnRecord;

    use super::*;

    /// A table of this name with these columns.
    pub(crate) fn entry(name: &str, columns: &[&str]) -> Entry {
        Entry::of(&record(name, columns))
    }

    fn record(name: &str, columns: &[&str]) -> TableRecord {
        let column = |name: &&str| ColumnRecord {
            name: (*name).to_owned(),
            ..ColumnRecord::default()
        };
        TableRecord {
            name: name.to_owned(),
            columns: columns.iter().map(column).collect(),
            ..TableRecord::default()
        }
    }

    #[test]
    fn rare_words_make_tables_alike() {
        let mut secret = record("d", &["harbour"]);
        secret.columns[0].withheld = true;
        let records = vec![
            record("a", &["ship", "name"]),
            record("b", &["port", "name"]),
            record("c", &["harbour", "ship"]),
            secret,
        ];
        let none = |url: &str| Err(SqlError::Internal(url.to_owned()));
        let known_tables = KnownTables::new(records, none, &Limits::default());
        assert_eq!(
            known_tables.alike(0, "the names of ships in a harbour"),
            [2, 1]
        );
        assert!(known_tables.alike(0, "nothing of the kind").is_empty());
        assert!(!known_tables.is_copy(0, 1), "neither content is known");
    }

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
