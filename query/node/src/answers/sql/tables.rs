//! What a statement knows of the tables that its caller may see.
//!
//! Names, suggestions and SHOW TABLES need a line of every table, which the shelf has. The rest of a table (its files with their
//! summaries) is read from the catalog where the statement names it: the tables whose names end in a word of the statement
//! are read beforehand, and any other when the engine comes to it and finds the line alone.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use limn_ask::{Answer, AskError, Catalogue, Engine, Limits};
use limn_segment::{ColumnRecord, TableKey, TableRecord};

use super::{told, within};
use crate::answers::Grant;
use crate::live::View;
use crate::node::Node;
use crate::problem::{Problem, shortened};
use crate::shelf::Facts;

/// Tables that are read beforehand, at most.
const AHEAD: usize = 32;
/// Tables of a statement that are read one after another, at most.
const LATER: usize = 64;

/// The tables of a view, of all its lakes or of one.
pub(super) struct Known {
    lake: Option<String>,
    whole: HashMap<TableKey, TableRecord>,
}

impl Known {
    /// The tables that a caller may see, those read that a statement is likely to name.
    pub(super) async fn of(
        node: &Node,
        grant: &Grant,
        sql: &str,
        lake: Option<&str>,
    ) -> Result<Known, Problem> {
        if let Some(lake) = lake.filter(|lake| !grant.view.shelf.lakes().contains(lake)) {
            return Err(Problem::bad(
                format!("there is no table of the lake '{}'", shortened(lake, 200)),
                format!("there are those of {}", grant.view.shelf.lakes().join(", ")),
            ));
        }
        let (view, words) = (Arc::clone(&grant.view), words(sql));
        let of = lake.map(str::to_owned);
        let likely = node
            .compute(move || likely(&view, &words, of.as_deref()))
            .await?;
        let mut known = Known {
            lake: lake.map(str::to_owned),
            whole: HashMap::new(),
        };
        known.read(node, grant, likely).await?;
        Ok(known)
    }

    /// This one table.
    pub(super) fn only(table: TableRecord) -> Catalogued {
        Catalogued(vec![table])
    }

    async fn read(
        &mut self,
        node: &Node,
        grant: &Grant,
        keys: Vec<TableKey>,
    ) -> Result<(), Problem> {
        if keys.is_empty() {
            return Ok(());
        }
        let _turn = node.row_turn().await?;
        let read = node.live.rows(&grant.view, &keys).await?;
        self.whole.extend(read);
        Ok(())
    }

    /// Runs a statement over them, with what is left of its time.
    pub(super) async fn run(
        mut self,
        node: &Node,
        grant: &Grant,
        sql: &str,
        limits: Limits,
        until: Instant,
    ) -> Result<(Answer, Limits), Problem> {
        for _ in 0..LATER {
            let (view, lake, whole) = (
                Arc::clone(&grant.view),
                self.lake.clone(),
                self.whole.clone(),
            );
            let tables = node.compute(move || catalogued(&view, lake.as_deref(), &whole));
            let error = match tables.await?.run(node, sql, &limits, until).await? {
                Ok(answer) => return Ok((answer, limits)),
                Err(error) => error,
            };
            let missed = match &error {
                AskError::Unreadable { table, .. } => self.missed(grant, table),
                _ => Vec::new(),
            };
            if missed.is_empty() {
                return Err(told::problem(&error, &limits));
            }
            self.read(node, grant, missed).await?;
        }
        Err(Problem::bad(
            format!("the statement names more than {LATER} tables"),
            "ask for fewer at a time",
        ))
    }

    /// The tables of a name that were not read yet.
    fn missed(&self, grant: &Grant, name: &str) -> Vec<TableKey> {
        let named = grant.view.shelf.named(name, self.lake.as_deref());
        let keys = named.into_iter().map(|table| table.key.to_key());
        keys.filter(|key| !self.whole.contains_key(key)).collect()
    }
}

/// Tables as the engine takes them.
pub(super) struct Catalogued(Vec<TableRecord>);

impl Catalogued {
    /// Begins to run a statement over them; the error is the statement's own.
    pub(super) async fn run(
        self,
        node: &Node,
        sql: &str,
        limits: &Limits,
        until: Instant,
    ) -> Result<Result<Answer, AskError>, Problem> {
        let known = node.sql.as_ref().ok_or_else(Problem::internal)?;
        let (lakes, sql) = (known.lakes(), sql.to_owned());
        let catalogue = Catalogue::new(self.0, move |url| lakes.open(url));
        let engine = Engine::new(catalogue, within(limits, until)?);
        let home = known.home();
        home.run(async move { engine.run(&sql).await }).await
    }
}

/// All tables of a view, of all lakes or of one: those that were read whole, and a line of each other.
fn catalogued(
    view: &View,
    lake: Option<&str>,
    whole: &HashMap<TableKey, TableRecord>,
) -> Catalogued {
    let tables = view.shelf.tables();
    let tables = tables.filter(|table| lake.is_none_or(|lake| lake == table.key.lake));
    let known = tables.map(|table| match whole.get(&table.key.to_key()) {
        Some(whole) => whole.clone(),
        None => line(&table),
    });
    Catalogued(known.collect())
}

/// What names and lists need of a table.
fn line(table: &Facts<'_>) -> TableRecord {
    TableRecord {
        lake: table.key.lake.to_owned(),
        name: table.key.name.to_owned(),
        format: table.format.to_owned(),
        rows: table.rows,
        rows_exact: table.rows_exact,
        columns: vec![ColumnRecord::default(); table.column_count],
        ..TableRecord::default()
    }
}

/// The tables whose names end in one of these words.
fn likely(view: &View, words: &HashSet<String>, lake: Option<&str>) -> Vec<TableKey> {
    let tables = view.shelf.tables();
    let tables = tables.filter(|table| lake.is_none_or(|lake| lake == table.key.lake));
    let named = tables.filter(|table| {
        let last = table.key.name.rsplit(|sign: char| !sign.is_alphanumeric());
        let mut last = last.filter(|word| !word.is_empty());
        last.next()
            .is_some_and(|word| words.contains(&word.to_lowercase()))
    });
    named.take(AHEAD).map(|table| table.key.to_key()).collect()
}

/// The words of a statement, in lower case.
fn words(sql: &str) -> HashSet<String> {
    let words = sql.split(|sign: char| !sign.is_alphanumeric());
    words.map(str::to_lowercase).collect()
}
