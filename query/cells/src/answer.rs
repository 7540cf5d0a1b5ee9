//! What a program is given of tables to answer a question.

mod notes;

use std::sync::Arc;
use std::time::Instant;

use limn_models::ModelError;
use limn_segment::TableKey;
use limn_sets::{Basis, Candidate, Join, KnownJoins, SetSize, Sets, TableColumns};
use limn_store::one_line;
use serde::Serialize;
use utoipa::ToSchema;

use crate::asked::Asked;
use crate::choose::{Chosen, cells, columns};
use crate::distinct::{Distinct, Kept};
use crate::table::Table;
use crate::written::{literal, name_on_a_line};
use notes::{not_compared, notes_of, unjoined};

/// Columns of a table that are looked at: as many as sets compare.
const LOOKED_AT: usize = 200;
/// What to know of an answer that the time was too short for.
const LATE: &str = "the time was over before all values were compared: cells may be missing";

/// What was read of a table.
#[derive(Debug)]
pub struct Read {
    /// Its columns, as the caller may see them.
    pub table: Table,
    /// Their names, as questions are compared with them.
    pub columns: Arc<TableColumns>,
    /// Its values; none where the caller may not read them, or they could not be read.
    pub kept: Option<Arc<Kept>>,
    /// What was found past the budget.
    pub probed: Option<Distinct>,
}

/// How a cell is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = CellMatch)]
pub enum Match {
    /// The question has it as it is spelled.
    Exact,
    /// But for case, accents, spaces and punctuation.
    Normalised,
    /// Nearly: misspelt, or a part of it.
    Fuzzy,
    /// In other words.
    Vector,
}

/// The columns and cells that a program needs to answer a question.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CellsAnswer {
    /// The question.
    pub question: String,
    /// The snapshot that was asked.
    pub snapshot: u64,
    /// The tables, in the order in which they were named or found.
    pub tables: Vec<TableCells>,
    /// How these tables may join: columns that are listed among theirs.
    pub joins: Vec<CellsJoin>,
    /// All of it as a program reads it: names and values spelled as SQL has them.
    pub text: String,
    /// How much there is to read.
    pub tokens: Tokens,
    /// What to know of the answer, one line each.
    pub notes: Vec<String>,
}

/// How much there is to read.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Tokens {
    /// Tokens of `text`.
    pub text: usize,
    /// The model whose tokens are counted.
    pub model: String,
}

/// What is given of a table.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TableCells {
    /// Its name.
    pub table: String,
    /// The URL of its lake.
    pub lake: String,
    /// Its rows, if they are known.
    pub rows: Option<u64>,
    /// Whether they were counted, and not estimated.
    pub rows_exact: bool,
    /// The columns that the question may need, in the table's order.
    pub columns: Vec<TableColumn>,
    /// The names of all its columns of dates, chosen or not.
    #[serde(skip)]
    pub dates: Vec<String>,
    /// The cells that the question may mean, the best first.
    pub cells: Vec<Cell>,
    /// Tokens of its part of the text.
    pub tokens: usize,
}

/// A column.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// Its type in a word.
    #[serde(rename = "type")]
    pub data_type: String,
    /// The least and the greatest value of numbers, dates and times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[String; 2]>,
    /// The most frequent values of texts: all where there are few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequent: Option<Vec<String>>,
    /// Whether `frequent` are all values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// How well it matches the question, 0 to 1.
    pub score: f64,
}

/// A cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Cell {
    /// Its column.
    pub column: String,
    /// Its value, spelled as it is.
    pub value: String,
    /// How it is found.
    #[serde(rename = "match")]
    pub how: Match,
    /// How many rows have it; null where that was not counted.
    pub count: Option<u64>,
}

/// How two tables may join.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CellsJoin {
    /// The column that refers.
    pub left: JoinedColumn,
    /// The column that is referred to.
    pub right: JoinedColumn,
    /// The other columns of a key of several, left and right.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub more: Vec<[String; 2]>,
    /// Rows of the left side to rows of the right: `1:1`, `n:1`, `n:m` or `unknown`.
    pub cardinality: String,
    /// Why they are thought to join.
    pub evidence: String,
}

/// A column of a join.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct JoinedColumn {
    /// The table.
    pub table: String,
    /// The URL of its lake.
    pub lake: String,
    /// The column.
    pub column: String,
}

impl CellsJoin {
    fn of(join: &Join) -> CellsJoin {
        let column = |of: &limn_sets::ColumnOf| JoinedColumn {
            table: of.table.clone(),
            lake: of.lake.clone(),
            column: of.column.clone(),
        };
        CellsJoin {
            left: column(&join.left),
            right: column(&join.right),
            more: join.more.clone(),
            cardinality: join.cardinality.as_str().to_owned(),
            evidence: one_line(&join.evidence),
        }
    }
}

impl CellsJoin {
    /// Its columns of a table.
    fn columns_of<'a>(&'a self, table: &'a TableKey) -> impl Iterator<Item = &'a str> {
        let sides = [(&self.left, 0), (&self.right, 1)].into_iter();
        let own = sides.filter(|(of, _)| of.table == table.name && of.lake == table.lake);
        own.flat_map(|(of, side)| {
            let more = self.more.iter().map(move |pair| pair[side].as_str());
            more.chain([of.column.as_str()])
        })
    }

    /// A line: `join "a"."x" = "b"."y"  -- n:1; names agree`.
    fn written(&self) -> String {
        let (left, right) = (&self.left, &self.right);
        let first = (left.column.as_str(), right.column.as_str());
        let more = self
            .more
            .iter()
            .map(|[left, right]| (left.as_str(), right.as_str()));
        let pairs = [first].into_iter().chain(more).map(|(own, other)| {
            let of = |table: &JoinedColumn, column: &str| {
                format!(
                    "{}.{}",
                    name_on_a_line(&table.table),
                    name_on_a_line(column)
                )
            };
            format!("{} = {}", of(left, own), of(right, other))
        });
        let pairs: Vec<String> = pairs.collect();
        let rows = match self.cardinality.as_str() {
            "unknown" => "cardinality unknown",
            known => known,
        };
        format!(
            "join {}  -- {rows}; {}\n",
            pairs.join(" and "),
            self.evidence
        )
    }
}

/// Chooses `k` columns for each part of a question, and `k` cells for each of its spans, of each
/// table; cells, as far as they are found in time. `notes` are what is known by now.
///
/// # Errors
/// Where the embedder fails.
pub fn answer(
    (sets, known): (&Sets, &KnownJoins),
    asked: &Asked,
    k: usize,
    snapshot: u64,
    reads: &[Read],
    until: Instant,
    mut notes: Vec<String>,
) -> Result<CellsAnswer, ModelError> {
    let joins = joins(sets, known, asked, reads)?;
    let scores = columns(sets, asked, k, reads)?;
    let embedder = sets.embedder();
    let mut tables = Vec::with_capacity(reads.len());
    let mut text = String::new();
    let found = cells(embedder.as_ref(), asked, k, reads, until)?;
    let is_open = found.is_open;
    if found.is_late {
        notes.push(LATE.to_owned());
    }
    for ((read, mut scored), found) in reads.iter().zip(scores).zip(found.tables) {
        for join in &joins {
            let columns = join.columns_of(&read.table.key);
            columns.for_each(|column| scored.choose(column));
        }
        found.iter().for_each(|cell| scored.choose(&cell.column));
        let mut table = of_table(read, &scored, found);
        let own = written(&table);
        table.tokens = embedder.count_tokens(&own);
        text.push_str(&own);
        notes.extend(notes_of(&read.table));
        notes.extend(not_compared(read).filter(|_| is_open));
        tables.push(table);
    }
    for join in &joins {
        text.push_str(&join.written());
    }
    notes.extend(unjoined(reads, &joins, known));
    Ok(CellsAnswer {
        question: asked.question.clone(),
        snapshot,
        tables,
        joins,
        tokens: Tokens {
            text: embedder.count_tokens(&text),
            model: embedder.id().to_string(),
        },
        text,
        notes,
    })
}

/// How the tables join, by columns that may be seen. Where a graph has compared them, likeness adds
/// nothing: two counts have values in common, too.
fn joins(
    sets: &Sets,
    known: &KnownJoins,
    asked: &Asked,
    reads: &[Read],
) -> Result<Vec<CellsJoin>, ModelError> {
    if reads.len() < 2 {
        return Ok(Vec::new());
    }
    let candidates = reads.iter().map(|read| Candidate {
        score: 1.0,
        columns: Arc::clone(&read.columns),
    });
    let candidates: Vec<Candidate> = candidates.collect();
    let size = SetSize::Given(reads.len());
    let found = sets.find(&candidates, &asked.parts, size, known)?;
    let joins = found.plan.joins.iter();
    let is_known = |join: &Join| {
        let has_values = join.containment.is_some();
        let has_compared = || known.has_compared(&join.left.lake, &join.right.lake);
        join.basis == Basis::Graph || !has_values || !has_compared()
    };
    let joins = joins.filter(|join| is_known(join));
    let joins = joins.map(|join| CellsJoin::of(join));
    let is_seen = |join: &CellsJoin| {
        reads.iter().all(|read| {
            let table = &read.table;
            let mut columns = join.columns_of(&table.key);
            columns.all(|name| table.columns.iter().any(|column| column.name == name))
        })
    };
    Ok(joins.filter(is_seen).collect())
}

fn of_table(read: &Read, scored: &Chosen, cells: Vec<Cell>) -> TableCells {
    let distinct = read.kept.as_ref().map(|kept| &kept.distinct);
    let columns = read.table.columns.iter().zip(&scored.columns);
    let chosen = columns.filter(|(_, (_, is_chosen))| *is_chosen);
    let columns = chosen.map(|(column, (score, _))| {
        let counted = distinct.and_then(|distinct| distinct.of(&column.name));
        let (frequent, all) = column.shown(counted).unzip();
        TableColumn {
            name: column.name.clone(),
            data_type: column.data_type.clone(),
            range: column
                .range
                .clone()
                .map(|(least, greatest)| [least, greatest]),
            frequent,
            all,
            score: (score * 1e3).round() / 1e3,
        }
    });
    let is_date =
        |it: &&crate::table::Column| matches!(it.data_type.as_str(), "date" | "timestamp");
    let dates = read.table.columns.iter().filter(is_date);
    TableCells {
        table: read.table.key.name.clone(),
        lake: read.table.key.lake.clone(),
        rows: read.table.rows,
        rows_exact: read.table.rows_exact,
        columns: columns.collect(),
        dates: dates.map(|it| it.name.clone()).collect(),
        cells,
        tokens: 0,
    }
}

/// A table on a line, and a line a column: its type, the cells that the question may mean, and what
/// else it holds.
fn written(table: &TableCells) -> String {
    let mut text = name_on_a_line(&table.table);
    match table.rows {
        Some(1) => text.push_str(" (1 row)\n"),
        Some(rows) => {
            let about = if table.rows_exact { "" } else { "about " };
            text.push_str(&format!(" ({about}{rows} rows)\n"));
        }
        None => text.push('\n'),
    }
    for column in &table.columns {
        let cells = table.cells.iter().filter(|cell| cell.column == column.name);
        let cells: Vec<&str> = cells.map(|cell| cell.value.as_str()).collect();
        let others = column.frequent.iter().flatten().map(String::as_str);
        let others: Vec<String> = others
            .filter(|it| !cells.contains(it))
            .map(literal)
            .collect();
        let cells: Vec<String> = cells.into_iter().map(literal).collect();
        let mut said: Vec<String> = Vec::new();
        if !cells.is_empty() {
            said.push(format!("match {}", cells.join(", ")));
        }
        if !others.is_empty() {
            let more = if column.all == Some(true) {
                ""
            } else {
                ", …"
            };
            said.push(format!("{}{more}", others.join(", ")));
        }
        if let Some([least, greatest]) = &column.range {
            said.push(format!(
                "{} to {}",
                number_or_literal(least),
                number_or_literal(greatest)
            ));
        }
        let colon = if said.is_empty() { "" } else { ": " };
        text.push_str(&format!(
            "  {} {}{colon}{}\n",
            name_on_a_line(&column.name),
            column.data_type,
            said.join("; ")
        ));
    }
    text
}

fn number_or_literal(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(number) if number.is_finite() => value.to_owned(),
        _ => literal(value),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use limn_segment::{ColumnRecord, TableRecord};

    use super::*;

    #[test]
    fn what_was_not_compared_is_one_line_whatever_names_are() {
        let record = TableRecord {
            name: "shop\norders".to_owned(),
            columns: vec![ColumnRecord {
                name: "code\nof it".to_owned(),
                data_type: "text".to_owned(),
                distinct: 264_292,
                ..ColumnRecord::default()
            }],
            ..TableRecord::default()
        };
        let mut read = Read {
            table: Table::of_record(&record, true),
            columns: Arc::new(TableColumns::of_row(&record).unwrap()),
            kept: Some(Arc::new(Distinct::default().into())),
            probed: None,
        };
        let note = "only 0 of about 264292 values of 'code of it' in 'shop orders' were compared; \
                    quote a value to look for it";
        assert_eq!(not_compared(&read).as_deref(), Some(note));
        read.kept = None;
        assert_eq!(not_compared(&read), None);
    }
}
