//! The columns and tables that a question names.

use limn_cells::TableColumn;
use limn_segment::analyzer::analyze;

use super::{FUNCTIONS, Mention, Reading, is_numeric};
use crate::write::tables::{ColumnAt, Tables, is_shown};

/// Units at the end of names.
const UNITS: [&str; 22] = [
    "eur", "usd", "gbp", "chf", "jpy", "km", "cm", "mm", "mi", "ft", "kg", "mg", "lb", "oz", "ml",
    "kw", "mw", "kwh", "gb", "mb", "kb", "ms",
];

impl Reading {
    /// Columns that the question names, those of more words first.
    pub(super) fn read_mentions(&mut self, tables: &Tables<'_>) {
        let is_function = |word: &str| FUNCTIONS.iter().any(|(it, _)| *it == word);
        let words = self.words.0.iter();
        let computes = self.counts || words.map(|it| it.written.as_str()).any(is_function);
        let mut columns: Vec<(Vec<String>, ColumnAt, f64)> = Vec::new();
        for (table, (name, of)) in tables.list.iter().enumerate() {
            for (column, it) in of
                .columns
                .iter()
                .enumerate()
                .filter(|(_, it)| is_shown(&it.name))
            {
                let (terms, own) = (analyze(&it.name), analyze(name));
                // Of a table of visits with a column `visit`, visits are counted.
                if computes && terms == own {
                    continue;
                }
                let place = ColumnAt { table, column };
                // `breed_name` of a table of breeds is its name.
                if let Some(rest) = terms
                    .strip_prefix(own.as_slice())
                    .filter(|it| !it.is_empty())
                {
                    columns.push((rest.to_vec(), place, it.score));
                }
                if let Some(rest) = without_unit(&it.name, &it.data_type, &of.columns) {
                    columns.push((rest, place, it.score));
                }
                columns.push((terms, place, it.score));
            }
        }
        let best = |a: &(Vec<String>, ColumnAt, f64), b: &(Vec<String>, ColumnAt, f64)| {
            b.0.len().cmp(&a.0.len()).then(b.2.total_cmp(&a.2))
        };
        columns.sort_by(best);
        for (terms, column, _) in columns {
            let mut from = 0;
            while let Some(at) = self.words.find(&terms, from) {
                from = at + 1;
                if self.words.take(at, terms.len()) {
                    self.mentions.push(Mention::of(column, at));
                }
            }
        }
        self.mentions.sort_by_key(|it| it.at);
    }

    /// Tables that the question names. One behind "by" or "per" is a group: the column of another
    /// that refers to it.
    pub(super) fn read_tables(&mut self, tables: &Tables<'_>) {
        let mut groups: Vec<(usize, usize)> = Vec::new();
        for (table, (name, _)) in tables.list.iter().enumerate() {
            let terms = analyze(name);
            let mut from = 0;
            while let Some(at) = self.words.find(&terms, from) {
                from = at + 1;
                if !self.words.take(at, terms.len()) {
                    continue;
                }
                let is_behind = self.behind_by(at) || self.is_behind(at, "each");
                // "Each singer name" groups by the name.
                let names = self.mentions.iter().any(|it| it.at == at + terms.len());
                match is_behind && !names {
                    true => groups.push((at, table)),
                    false if !self.tables.contains(&table) => self.tables.push(table),
                    false => {}
                }
            }
        }
        for (at, table) in groups {
            let computed = self.mentions.iter().map(|it| it.column.table);
            let named: Vec<usize> = self.tables.iter().copied().chain(computed).collect();
            match tables.referring(table, &named) {
                Some(column) => self.mentions.push(Mention {
                    is_group: true,
                    ..Mention::of(column, at)
                }),
                None => self.is_unclear = true,
            }
        }
        self.mentions.sort_by_key(|it| it.at);
    }
}

/// The terms of a number's name without the unit at its end, where no other column has them.
fn without_unit(name: &str, data_type: &str, all: &[TableColumn]) -> Option<Vec<String>> {
    let mut terms = analyze(name);
    let unit = terms.pop()?;
    let is_unit = UNITS.contains(&unit.as_str());
    let is_other = |it: &&TableColumn| it.name != name;
    let mut others = all.iter().filter(is_other);
    let is_own = others.all(|it| !analyze(&it.name).starts_with(&terms));
    (is_numeric(data_type) && is_unit && is_own && !terms.is_empty()).then_some(terms)
}
