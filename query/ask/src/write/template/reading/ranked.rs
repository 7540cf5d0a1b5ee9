//! The first rows in an order: "top 3 orders by amount", "the 5 largest orders by amount", "latest
//! order".

use limn_segment::analyzer::analyze;

use super::{FUNCTIONS, Function, Reading, is_number};
use crate::write::tables::{ColumnAt, Tables};
use crate::write::template::is_date;

impl Reading {
    /// Reads which rows come first, and how many: in the order of the numbers or dates that stand
    /// behind "by"; the latest and the earliest in that of the dates which times are of.
    pub(super) fn read_ranked(&mut self, tables: &Tables<'_>) {
        if let Some(at) = self.words.phrase("top") {
            self.top = self.number_at(at + 1);
            self.is_unclear |= self.top.is_none();
            if !self.counts && !self.has_function() && self.is_table(at + 2, tables) {
                let column = self.take_order(tables);
                self.ranked = column.map(|it| (it, Function::Most));
            }
        }
        for (word, function) in FUNCTIONS {
            let is_word = |it: &&super::Word| !it.is_read && it.written == word;
            let mut words = self.words.0.iter().enumerate();
            if let Some((at, _)) = words.find(|(_, it)| is_word(it)) {
                self.read_superlative(at, word, function, tables);
            }
        }
    }

    /// A superlative right before a table; with a number beside it, or of dates.
    fn read_superlative(&mut self, at: usize, word: &str, function: Function, tables: &Tables<'_>) {
        let is_number = |at: usize| {
            let word = self.words.0.get(at);
            word.is_some_and(|it| it.number.is_some() && !it.is_read)
        };
        let before = at.checked_sub(1).filter(|it| is_number(*it));
        let number = before.or(Some(at + 1).filter(|it| is_number(*it)));
        let behind = at + 1 + usize::from(number == Some(at + 1));
        let of_dates = matches!(word, "latest" | "earliest");
        if !self.is_table(behind, tables) || (number.is_none() && !of_dates) {
            return;
        }
        // How many "the latest orders" are is not said.
        let is_one = |it: &super::Word| !it.written.ends_with('s');
        self.is_unclear |= number.is_none() && !self.words.0.get(behind).is_some_and(is_one);
        let column = match of_dates {
            true => {
                // It is not said whether these are groups, or an order that is no date's.
                self.is_unclear |= self.mentions.iter().any(|it| self.behind_by(it.at));
                self.dated = self.dated.or_else(|| self.choose_dated(tables));
                self.dated
            }
            false => self.take_order(tables),
        };
        self.words.take(at, 1);
        self.top = number.map_or(Some(1), |it| self.number_at(it));
        self.is_unclear |= self.ranked.is_some() || column.is_none() || self.top.is_none();
        self.ranked = column.map(|it| (it, function));
    }

    /// Whether a table of the question stands at a place.
    fn is_table(&self, at: usize, tables: &Tables<'_>) -> bool {
        let mut own = self.tables.iter();
        own.any(|table| {
            let terms = analyze(&tables.list[*table].0);
            self.words.find(&terms, at) == Some(at)
        })
    }

    /// The numbers or dates behind "by", which are no group then.
    fn take_order(&mut self, tables: &Tables<'_>) -> Option<ColumnAt> {
        let place = self.mentions.iter().position(|it| {
            let table = tables.list[it.column.table].1;
            let is_date = is_date(&table.columns[it.column.column].data_type);
            self.behind_by(it.at) && !it.is_group && (is_date || is_number(tables, it.column))
        })?;
        let mention = &mut self.mentions[place];
        mention.is_order = true;
        Some(mention.column)
    }
}
