//! The tables of a question as a statement names them, and as a model reads them.
//!
//! What lakes call tables is long and full of signs; a small model writes short plain words. So
//! each table gets a name of its own here, which the plan's inputs resolve. What comes from tables
//! stands between two lines, in names and literals that SQL reads, one column a line: a value that
//! could end its line, its literal or the block is not shown.

use std::collections::{BTreeMap, HashSet};

use limn_cells::{CellsAnswer, JoinedColumn, TableCells, TableColumn};
use limn_models::LanguageModel;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::lexer::{is_reserved, name};
use super::try_out::Refusal;
use crate::compile::Table;
use crate::plan::Source;

/// Letters of a value that is shown, at most.
const SHOWN: usize = 80;
/// Frequent values of a column that are shown, at most: all of columns that have few.
const FREQUENT: usize = 3;
const ALL: usize = 8;
/// Letters of the name that a table gets.
const NAME: usize = 40;
/// Tables that are shown, and columns of all of them, at most.
const TABLES: usize = 10;
const COLUMNS: usize = 400;

/// A column of a table, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ColumnAt {
    pub(super) table: usize,
    pub(super) column: usize,
}

/// The tables, by the names that statements give them.
#[derive(Debug)]
pub(super) struct Tables<'a> {
    pub(super) list: Vec<(String, &'a TableCells)>,
    pub(super) cells: &'a CellsAnswer,
}

impl<'a> Tables<'a> {
    pub(super) fn of(cells: &'a CellsAnswer) -> Tables<'a> {
        let mut taken = HashSet::new();
        let list = cells.tables.iter().take(TABLES).map(|table| {
            let name = own_name(&table.table, &mut taken);
            (name, table)
        });
        Tables {
            list: list.collect(),
            cells,
        }
    }

    /// What the names mean.
    pub(super) fn inputs(&self) -> BTreeMap<String, Source> {
        let inputs = self.list.iter();
        let inputs = inputs.map(|(name, table)| (name.clone(), source(table)));
        inputs.collect()
    }

    /// What the names mean, with the columns that a model may read of: it can mean no others.
    pub(super) fn known(&self) -> BTreeMap<String, Table> {
        let known = self.list.iter().map(|(name, table)| {
            let columns = table.columns.iter().map(|it| it.name.clone());
            let table = Table {
                source: source(table),
                columns: columns.collect(),
            };
            (name.clone(), table)
        });
        known.collect()
    }

    /// The name of a table of a lake.
    pub(super) fn name_of(&self, table: &str, lake: &str) -> Option<&str> {
        let mut list = self.list.iter();
        let found = list.find(|(_, it)| it.table == table && it.lake == lake);
        found.map(|(name, _)| name.as_str())
    }

    /// The column of one of these tables that refers to another table, if there is one alone.
    pub(super) fn referring(&self, to: usize, from: &[usize]) -> Option<ColumnAt> {
        let is = |side: &JoinedColumn, table: usize| {
            let it = self.list[table].1;
            side.table == it.table && side.lake == it.lake
        };
        let mut found = self.cells.joins.iter().filter_map(|join| {
            let table = from.iter().find(|it| is(&join.left, **it))?;
            let refers = is(&join.right, to) && matches!(join.cardinality.as_str(), "n:1" | "1:1");
            let mut columns = self.list[*table].1.columns.iter();
            let column = columns.position(|it| it.name == join.left.column)?;
            let table = *table;
            (refers && join.more.is_empty()).then_some(ColumnAt { table, column })
        });
        found.next().filter(|_| found.next().is_none())
    }

    /// The tables that have a column of this name, but for case.
    pub(super) fn having(&self, column: &str) -> Vec<&str> {
        let has = |table: &TableCells| {
            let mut columns = table.columns.iter();
            columns.any(|it| it.name.to_lowercase() == column.to_lowercase())
        };
        let having = self.list.iter().filter(|(_, table)| has(table));
        having.map(|(name, _)| name.as_str()).collect()
    }

    /// What the engine says of a statement, in the statement's own names of tables, and where a
    /// column is that it looked for elsewhere.
    pub(super) fn said(&self, refusal: &Refusal) -> String {
        let mut line = refusal.line.clone();
        for (name, table) in &self.list {
            line = line.replace(&format!("'{}'", table.table), name);
        }
        if let Some(column) = &refusal.column {
            let having = self.having(column);
            if !having.is_empty() {
                line.push_str(&format!(
                    "; {column} is a column of {}",
                    having.join(" and of ")
                ));
            }
        }
        line
    }

    /// What a model reads of them, in so many tokens: the columns that match the question least are
    /// left out first.
    pub(super) fn text(&self, values: bool, model: &dyn LanguageModel, most: usize) -> String {
        let heads = self.list.iter().map(|(name, _)| head(name));
        let frame: String = heads.chain([self.joins()]).collect();
        let mut left = most.saturating_sub(model.count_tokens(&frame));
        let mut lines: Vec<(usize, usize, String)> = Vec::new();
        for (at, place) in self.ranked() {
            let table = self.list[at].1;
            let line = line(table, &table.columns[place], values);
            let tokens = model.count_tokens(&line) + 1;
            if tokens > left {
                break;
            }
            left -= tokens;
            lines.push((at, place, line));
        }
        lines.sort_by_key(|(at, place, _)| (*at, *place));
        let mut tables: Vec<String> = Vec::with_capacity(self.list.len());
        for (at, (name, _)) in self.list.iter().enumerate() {
            let own = lines.iter().filter(|(of, ..)| *of == at);
            let own: String = own.map(|(.., line)| line.as_str()).collect();
            tables.push(format!("{}{own});\n", head(name)));
        }
        format!("<tables>\n{}{}</tables>\n", tables.concat(), self.joins())
    }

    /// The columns that can be shown, by the places of their tables and their own, those first that
    /// are needed most.
    fn ranked(&self) -> Vec<(usize, usize)> {
        let mut ranked: Vec<(Rank, usize, usize)> = Vec::new();
        for (at, (_, table)) in self.list.iter().enumerate() {
            let columns = table.columns.iter().enumerate();
            let shown = columns.filter(|(_, it)| is_shown(&it.name));
            ranked.extend(shown.map(|(place, it)| (self.rank(table, it), at, place)));
        }
        ranked.sort_by(|a, b| b.0.compare(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let ranked = ranked.into_iter().take(COLUMNS);
        ranked.map(|(_, at, place)| (at, place)).collect()
    }

    fn rank(&self, table: &TableCells, column: &TableColumn) -> Rank {
        let joins = self.cells.joins.iter();
        let mut sides = joins.flat_map(|join| [&join.left, &join.right]);
        let is_of = |name: &str| name == column.name;
        Rank {
            has_cell: table.cells.iter().any(|cell| is_of(&cell.column)),
            joins: sides.any(|it| it.table == table.table && is_of(&it.column)),
            score: column.score,
        }
    }

    /// A line a join.
    fn joins(&self) -> String {
        let line = |join: &limn_cells::CellsJoin| {
            let (left, right) = (&join.left, &join.right);
            let own = self.name_of(&left.table, &left.lake)?;
            let other = self.name_of(&right.table, &right.lake)?;
            let first = [left.column.clone(), right.column.clone()];
            let pairs = [&first].into_iter().chain(&join.more);
            let pairs = pairs.map(|[a, b]| format!("{own}.{} = {other}.{}", name(a), name(b)));
            let pairs: Vec<String> = pairs.collect();
            is_shown(&pairs.concat()).then(|| format!("-- {}\n", pairs.join(" AND ")))
        };
        self.cells.joins.iter().filter_map(line).collect()
    }
}

fn source(table: &TableCells) -> Source {
    Source::Table {
        name: table.table.clone(),
        lake: Some(table.lake.clone()),
    }
}

/// How much a column is needed.
struct Rank {
    has_cell: bool,
    joins: bool,
    score: f64,
}

impl Rank {
    fn compare(&self, other: &Rank) -> std::cmp::Ordering {
        let own = (self.joins, self.has_cell);
        let flags = own.cmp(&(other.joins, other.has_cell));
        flags.then(self.score.total_cmp(&other.score))
    }
}

fn head(name: &str) -> String {
    format!("CREATE TABLE {name} (\n")
}

/// A column's line: its name and type, and in a comment what it holds.
fn line(table: &TableCells, column: &TableColumn, values: bool) -> String {
    let mut said: Vec<String> = Vec::new();
    if values {
        let own = table.cells.iter().filter(|it| it.column == column.name);
        let own: Vec<&str> = own
            .map(|it| it.value.as_str())
            .filter(|it| is_value(it))
            .collect();
        let most = if column.all == Some(true) {
            ALL
        } else {
            FREQUENT
        };
        let others = column.frequent.iter().flatten().map(String::as_str);
        let others = others.filter(|it| is_value(it) && !own.contains(it));
        let values = own.iter().copied().chain(others.take(most));
        let values: Vec<String> = values.map(limn_cells::literal).collect();
        if !values.is_empty() {
            said.push(values.join(", "));
        }
        if let Some([least, greatest]) = &column.range
            && is_value(least)
            && is_value(greatest)
        {
            said.push(format!("{least} to {greatest}"));
        }
    }
    let comment = if said.is_empty() { "" } else { " -- " };
    format!(
        "  {} {},{comment}{}\n",
        name(&column.name),
        column.data_type,
        said.join("; ")
    )
}

/// Whether a name can stand on a line of the block.
pub(super) fn is_shown(text: &str) -> bool {
    !text
        .chars()
        .any(|it| limn_store::is_steering(it) || matches!(it, '\u{2028}' | '\u{2029}'))
        && !text.contains(['<', '>'])
        && !text.contains("```")
}

/// Whether a value can.
fn is_value(text: &str) -> bool {
    is_shown(text) && text.chars().nth(SHOWN).is_none()
}

/// A short name in plain letters, which no other table has: the last part of its path.
fn own_name(table: &str, taken: &mut HashSet<String>) -> String {
    let last = table.rsplit('/').next().unwrap_or_default();
    let last = last.rsplit("__").next().unwrap_or_default();
    // Letters without their accents.
    let letters = last.nfkd().filter(|it| !is_combining_mark(*it));
    let plain = letters
        .take(NAME)
        .map(|it| match it.is_ascii_alphanumeric() {
            true => it.to_ascii_lowercase(),
            false => '_',
        });
    let plain: String = plain.collect();
    let plain = plain.trim_matches('_');
    let is_word = plain.starts_with(|it: char| it.is_ascii_alphabetic());
    let base = match plain {
        "" => "t".to_owned(),
        plain if !is_word => format!("t_{plain}"),
        plain if is_reserved(plain) => format!("{plain}_t"),
        plain => plain.to_owned(),
    };
    let numbered = (2..).map(|at| format!("{base}_{at}"));
    let mut names = [base.clone()].into_iter().chain(numbered);
    let own = names.find(|it| !taken.contains(it)).unwrap_or(base);
    taken.insert(own.clone());
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_get_short_plain_names_of_their_own() {
        let mut taken = HashSet::new();
        let mut of = |table| own_name(table, &mut taken);
        assert_eq!(of("concert_singer__singer"), "singer");
        assert_eq!(of("other/singer"), "singer_2");
        assert_eq!(of("a/Order"), "order_t");
        assert_eq!(of("2024 \"sales\""), "t_2024__sales");
        assert_eq!(of("価格"), "t");
        assert_eq!(of("météo/Élèves inscrits"), "eleves_inscrits");
    }
}
