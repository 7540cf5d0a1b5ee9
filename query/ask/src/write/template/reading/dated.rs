//! Which column has the times that a question names.

use limn_segment::analyzer::analyze;

use super::{FUNCTIONS, Reading};
use crate::write::tables::{ColumnAt, Tables};
use crate::write::template::times;

impl Reading {
    /// The column that has the times which the question names.
    pub(super) fn read_dated(&mut self, tables: &Tables<'_>) {
        if self.times.is_none() {
            return;
        }
        let Some(dated) = self.choose_dated(tables) else {
            if self.dates.is_empty() {
                self.times.unread(&mut self.words);
            }
            return;
        };
        self.take_date(tables, dated);
        self.dated = Some(dated);
        self.is_unclear |= self.times.is_unclear;
        let computes = self.mentions.iter().any(|it| !it.functions.is_empty());
        // "Orders by month" counts them.
        let is_bare = self.mentions.is_empty() && !computes;
        self.counts |= self.times.part.is_some() && is_bare && !self.has_function();
    }

    /// Of all columns of dates that the tables have which the question is about the only one; or
    /// the one that it names; or the one that is called as its table.
    pub(super) fn choose_dated(&mut self, tables: &Tables<'_>) -> Option<ColumnAt> {
        let mentioned = self.mentions.iter().map(|it| it.column.table);
        let filtered = self.filters.iter().map(|it| it.0.table);
        let mut about: Vec<usize> = mentioned.chain(filtered).collect();
        about.extend(&self.tables);
        let is_about = |it: usize| about.is_empty() || about.contains(&it);
        let columns = times::columns(tables, is_about);
        let others = times::not_chosen(tables, is_about);
        if columns.is_empty() {
            return None;
        }
        let only = |is_so: &dyn Fn(&ColumnAt) -> bool| {
            let mut so = columns.iter().copied().filter(is_so);
            so.next().filter(|_| so.next().is_none())
        };
        let dated = only(&|_| others.is_empty())
            .or_else(|| only(&|it| self.names_date(tables, *it)))
            .or_else(|| only(&|it| is_of_table(tables, *it)));
        if columns.len() + others.len() > 1 {
            let chosen = columns
                .iter()
                .map(|it| (it.table, column_name(tables, *it)));
            let all = chosen.chain(others);
            let named = all.map(|(table, name)| format!("{name} of {}", tables.list[table].0));
            self.dates = named.collect();
        }
        self.is_unclear |= dated.is_none();
        dated
    }

    /// Whether a word asks for what is computed.
    pub(super) fn has_function(&self) -> bool {
        let is_function = |word: &str| FUNCTIONS.iter().any(|(it, _)| *it == word);
        let mut words = self.words.0.iter();
        words.any(|it| !it.is_read && is_function(&it.written))
    }

    /// Whether a column of dates is named, as a whole or by the word before a time: "shipped in
    /// 2024" names the column `shipped_date`.
    fn names_date(&self, tables: &Tables<'_>, column: ColumnAt) -> bool {
        let is_mentioned = self.mentions.iter().any(|it| it.column == column);
        is_mentioned || self.before_time(tables, column).is_some()
    }

    /// Where the words before a time stand that a column of dates is called by, and how many.
    fn before_time(&self, tables: &Tables<'_>, column: ColumnAt) -> Option<(usize, usize)> {
        let terms = times::own_terms(&column_name(tables, column));
        let mut phrases = self.times.phrases();
        phrases.find_map(|(at, _)| {
            let from = at.checked_sub(terms.len())?;
            let is_there = self.words.find(&terms, from) == Some(from);
            is_there.then_some((from, terms.len()))
        })
    }

    /// Reads the words that name the column of times: those before one, and those behind "by month
    /// of", which are not asked for.
    fn take_date(&mut self, tables: &Tables<'_>, column: ColumnAt) {
        if let Some((at, count)) = self.before_time(tables, column) {
            self.words.take(at, count);
        }
        let ends: Vec<usize> = self.times.phrases().map(|it| it.1).collect();
        let words = &self.words.0;
        self.mentions.retain(|it| {
            let of_time = ends.iter().any(|end| {
                let between = words.get(*end..it.at).unwrap_or_default();
                it.at > *end
                    && between.first().is_some_and(|it| it.written == "of")
                    && between[1..].iter().all(|it| it.written == "the")
            });
            it.column != column || !of_time
        });
    }
}

/// Whether a column of dates is called as its table: `order_date` of orders.
fn is_of_table(tables: &Tables<'_>, column: ColumnAt) -> bool {
    let terms = times::own_terms(&column_name(tables, column));
    terms == analyze(&tables.list[column.table].0)
}

fn column_name(tables: &Tables<'_>, column: ColumnAt) -> String {
    tables.list[column.table].1.columns[column.column]
        .name
        .clone()
}
