//! What a question asks for, as far as rules read it.

mod dated;
mod named;
mod ranked;

use limn_cells::{Cell, Match};
use limn_segment::analyzer::analyze;

use super::times::{self, Times};
use super::words::{Word, Words};
use crate::write::tables::{ColumnAt, Tables};

/// The words of functions; of a superlative also the order that it means.
const FUNCTIONS: [(&str, Function); 24] = [
    ("average", Function::Average),
    ("mean", Function::Average),
    ("avg", Function::Average),
    ("total", Function::Sum),
    ("sum", Function::Sum),
    ("maximum", Function::Most),
    ("max", Function::Most),
    ("highest", Function::Most),
    ("largest", Function::Most),
    ("greatest", Function::Most),
    ("biggest", Function::Most),
    ("longest", Function::Most),
    ("latest", Function::Most),
    ("heaviest", Function::Most),
    ("most", Function::Most),
    ("minimum", Function::Least),
    ("min", Function::Least),
    ("lowest", Function::Least),
    ("smallest", Function::Least),
    ("shortest", Function::Least),
    ("earliest", Function::Least),
    ("lightest", Function::Least),
    ("least", Function::Least),
    ("fewest", Function::Least),
];
const COMPARISONS: [(&str, &str); 16] = [
    ("greater than or equal to", ">="),
    ("less than or equal to", "<="),
    ("at least", ">="),
    ("at most", "<="),
    ("more than", ">"),
    ("greater than", ">"),
    ("larger than", ">"),
    ("higher than", ">"),
    ("over", ">"),
    ("above", ">"),
    ("after", ">"),
    ("less than", "<"),
    ("fewer than", "<"),
    ("lower than", "<"),
    ("below", "<"),
    ("before", "<"),
];
const COUNTS: [&str; 5] = [
    "how many",
    "the number of",
    "number of",
    "count of",
    "count",
];
const GROUPS: [&str; 4] = ["for each", "of each", "in each", "each"];
/// Words that turn what comes after them round: rules read none of that.
const NEGATIONS: [&str; 12] = [
    "not", "no", "without", "never", "except", "neither", "nor", "other", "don", "isn", "both",
    "only",
];
/// Words that an order of rows follows, and words that say its direction.
const ORDERS: [&str; 8] = [
    "sorted by",
    "ordered by",
    "sort by",
    "order by",
    "in order of",
    "in descending order of",
    "in ascending order of",
    "listed by",
];
const DESCENDING: [&str; 5] = [
    "in descending order",
    "descending order",
    "descending",
    "in decreasing order",
    "decreasing",
];
const ASCENDING: [&str; 5] = [
    "in ascending order",
    "ascending order",
    "ascending",
    "in alphabetical order",
    "alphabetically",
];
/// Words that ask for rows, and not for how many there are.
const LISTS: [&str; 6] = ["list", "show", "give", "display", "sort", "sorted"];
/// Words between a column and its comparison, at most.
const BETWEEN: usize = 2;
const DISTINCT: [&str; 3] = ["different", "distinct", "unique"];

/// The words of functions.
pub(in crate::write) fn function_words() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(word, _)| *word)
}

/// What is computed of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Average,
    Sum,
    Most,
    Least,
}

/// A column that the question names.
#[derive(Clone, Debug)]
pub(super) struct Mention {
    pub(super) column: ColumnAt,
    pub(super) at: usize,
    /// What is computed of it.
    pub(super) functions: Vec<Function>,
    pub(super) is_group: bool,
    /// Whether it is what rows are ordered by.
    pub(super) is_order: bool,
    pub(super) is_compared: bool,
}

impl Mention {
    fn of(column: ColumnAt, at: usize) -> Mention {
        Mention {
            column,
            at,
            functions: Vec::new(),
            is_group: false,
            is_order: false,
            is_compared: false,
        }
    }
}

/// A question that has been read.
#[derive(Debug)]
pub(super) struct Reading {
    words: Words,
    /// Whether rows, or groups, are counted.
    pub(super) counts: bool,
    pub(super) is_distinct: bool,
    pub(super) mentions: Vec<Mention>,
    /// The tables that are named.
    pub(super) tables: Vec<usize>,
    /// Values that columns have.
    pub(super) filters: Vec<(ColumnAt, Vec<String>)>,
    /// Columns compared with numbers.
    pub(super) comparisons: Vec<(ColumnAt, &'static str, String)>,
    /// A superlative that names no column: the most rows, or the least.
    pub(super) by_count: Option<Function>,
    /// What rows are ordered by of which the first are wanted, and from which end.
    pub(super) ranked: Option<(ColumnAt, Function)>,
    /// How many are wanted, where a number says it.
    pub(super) top: Option<u64>,
    /// Whether rows in an order come the greatest first.
    pub(super) is_descending: bool,
    /// Whether it asks which or who.
    pub(super) asks_which: bool,
    /// Times, and the column that has them.
    pub(super) times: Times,
    pub(super) dated: Option<ColumnAt>,
    /// Columns of dates, with their tables: where there are several, of which one is meant.
    pub(super) dates: Vec<String>,
    is_unclear: bool,
}

impl Reading {
    pub(super) fn of(question: &str, tables: &Tables<'_>) -> Reading {
        let mut reading = Reading {
            words: Words::of(question),
            counts: false,
            is_distinct: false,
            mentions: Vec::new(),
            tables: Vec::new(),
            filters: Vec::new(),
            comparisons: Vec::new(),
            by_count: None,
            ranked: None,
            top: None,
            is_descending: false,
            asks_which: false,
            times: Times::default(),
            dated: None,
            dates: Vec::new(),
            is_unclear: false,
        };
        let which = ["which", "who", "whose"];
        let mut words = reading.words.0.iter();
        reading.asks_which = words.any(|it| which.contains(&it.written.as_str()));
        reading.is_unclear = reading
            .words
            .0
            .iter()
            .any(|it| NEGATIONS.contains(&it.written.as_str()) || it.written.ends_with("n't"));
        reading.read_filters(tables);
        reading.times = Times::read(&mut reading.words, tables);
        // "x and y" may be rows with both.
        let has_or = reading.words.0.iter().any(|it| it.written == "or");
        reading.is_unclear |= !has_or && reading.filters.iter().any(|it| it.1.len() > 1);
        let order = ORDERS.iter().find_map(|it| {
            let is_down = it.contains("descending");
            reading.words.phrase(it).map(|at| (at, is_down))
        });
        let downs = DESCENDING.iter().filter_map(|it| reading.words.phrase(it));
        reading.is_descending = downs.count() > 0 || order.is_some_and(|it| it.1);
        let ups = ASCENDING.iter().filter_map(|it| reading.words.phrase(it));
        let has_direction = ups.count() > 0 || reading.is_descending;
        let comparisons = reading.read_comparisons();
        let first_count = COUNTS.iter().find_map(|it| reading.words.phrase(it));
        reading.counts = first_count.is_some();
        let distinct = DISTINCT.iter().filter_map(|it| reading.words.phrase(it));
        reading.is_distinct = distinct.count() > 0;
        let group = GROUPS.iter().find_map(|it| reading.words.phrase(it));
        reading.read_mentions(tables);
        reading.read_tables(tables);
        reading.read_dated(tables);
        reading.read_ranked(tables);
        reading.read_functions();
        let is_number = |it: &Mention| is_number(tables, it.column);
        let of_text = reading
            .mentions
            .iter()
            .any(|it| !it.functions.is_empty() && !is_number(it));
        reading.is_unclear |= of_text;
        reading.add_group(group);
        reading.add_order(order.map(|it| it.0), has_direction);
        reading.add_comparisons(tables, comparisons);
        // Of conditions on several columns it is not read which "or" is between.
        let conditions = reading.filters.len() + reading.comparisons.len();
        let has_times = !reading.times.is_none();
        let is_between = conditions > 1 || !reading.comparisons.is_empty() || has_times;
        reading.is_unclear |= has_or && is_between;
        reading
    }

    /// All words.
    pub(super) fn words(&self) -> &[Word] {
        &self.words.0
    }

    /// Words that say something, and that no rule reads.
    pub(super) fn unread(&self) -> Vec<String> {
        self.words.unread()
    }

    /// Whether what is read does not fit together.
    pub(super) fn is_unclear(&self) -> bool {
        self.is_unclear
    }

    /// Cells that the question has as they are spelled, the longest first.
    fn read_filters(&mut self, tables: &Tables<'_>) {
        let mut cells: Vec<(Vec<String>, ColumnAt, &Cell)> = Vec::new();
        for (table, (_, of)) in tables.list.iter().enumerate() {
            for cell in &of.cells {
                let is_found = matches!(cell.how, Match::Exact | Match::Normalised);
                let column = of.columns.iter().position(|it| it.name == cell.column);
                if let (true, Some(column)) = (is_found, column) {
                    let at = ColumnAt { table, column };
                    cells.push((analyze(&cell.value), at, cell));
                }
            }
        }
        cells.sort_by_key(|(terms, ..)| std::cmp::Reverse(terms.len()));
        for (terms, column, cell) in cells {
            let Some(at) = self.words.find(&terms, 0) else {
                continue;
            };
            // "Shipped in 2024" is said of a column of dates that is called so.
            let is_of_time = times::names_date(&self.words, tables, &terms, at + terms.len());
            if is_of_time || !self.words.take(at, terms.len()) {
                continue;
            }
            match self.filters.iter_mut().find(|(it, _)| *it == column) {
                Some((_, values)) => values.push(cell.value.clone()),
                None => self.filters.push((column, vec![cell.value.clone()])),
            }
        }
    }

    /// Comparisons with a number: where they stand.
    fn read_comparisons(&mut self) -> Vec<(usize, &'static str, String)> {
        let mut found = Vec::new();
        for (phrase, sign) in COMPARISONS {
            let length = phrase.split(' ').count();
            while let Some(at) = self.words.phrase(phrase) {
                let number = self.words.0.get(at + length);
                let number = number.filter(|it| it.number.is_some() && !it.is_read);
                match number.map(|it| it.written.replace(',', "")) {
                    Some(number) => {
                        self.words.take(at + length, 1);
                        found.push((at, sign, number));
                    }
                    None => self.is_unclear = true,
                }
            }
        }
        found
    }

    /// Functions, each of the next column that is named.
    fn read_functions(&mut self) {
        let common = ["most common", "most frequent"]
            .iter()
            .find_map(|it| self.words.phrase(it));
        self.by_count = common.map(|_| Function::Most);
        for (word, function) in FUNCTIONS {
            while let Some(at) = self.words.phrase(word) {
                let next = self.mentions.iter_mut().filter(|it| it.at > at);
                match next.min_by_key(|it| it.at) {
                    Some(mention) => mention.functions.push(function),
                    None if matches!(word, "most" | "least" | "fewest") => {
                        self.by_count = Some(function);
                    }
                    None => self.is_unclear = true,
                }
            }
        }
    }

    fn number_at(&mut self, at: usize) -> Option<u64> {
        let number = self.words.0.get(at)?.number?;
        let whole = number.fract() == 0.0 && (1.0..=10_000.0).contains(&number);
        (whole && self.words.take(at, 1)).then_some(number as u64)
    }

    fn add_group(&mut self, group: Option<usize>) {
        let Some(group) = group else {
            return self.add_group_by();
        };
        let next = self.mentions.iter_mut().filter(|it| it.at > group);
        match next.min_by_key(|it| it.at) {
            Some(mention) => mention.is_group = true,
            None => self.is_unclear = true,
        }
    }

    /// Columns right behind "by" or "per" are groups of what is counted or computed.
    fn add_group_by(&mut self) {
        if self.ranked.is_some() {
            return;
        }
        let computes = self.mentions.iter().any(|it| !it.functions.is_empty());
        if !self.counts && !computes {
            // "Customers by city" counts them.
            let behind_by = |it: &Mention| self.behind_by(it.at);
            let is_count = !self.tables.is_empty() && self.mentions.iter().all(behind_by);
            let lists = self.words.0.iter();
            let lists = lists.clone().any(|it| LISTS.contains(&it.written.as_str()));
            let is_by = self.mentions.iter().any(behind_by);
            self.is_unclear |= is_by && (lists || !is_count);
            if !is_by || self.is_unclear {
                return;
            }
            self.counts = true;
        }
        let words = &mut self.words.0;
        for mention in &mut self.mentions {
            let before = mention.at.checked_sub(1).and_then(|at| words.get_mut(at));
            let by = before.filter(|it| matches!(it.written.as_str(), "by" | "per"));
            if let (Some(by), true) = (by, mention.functions.is_empty()) {
                by.is_read = true;
                mention.is_group = true;
            }
        }
    }

    fn behind_by(&self, at: usize) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.words.0.get(at));
        before.is_some_and(|it| !it.is_read && matches!(it.written.as_str(), "by" | "per"))
    }

    fn is_behind(&self, at: usize, word: &str) -> bool {
        let before = at.checked_sub(1).and_then(|at| self.words.0.get(at));
        before.is_some_and(|it| it.written == word)
    }

    /// What rows are ordered by: the column behind the words that say so; where a direction alone
    /// is said, nothing that a rule reads.
    fn add_order(&mut self, order: Option<usize>, has_direction: bool) {
        let Some(order) = order else {
            self.is_unclear |= has_direction;
            return;
        };
        let next = self.mentions.iter_mut().filter(|it| it.at > order);
        match next.min_by_key(|it| it.at) {
            Some(mention) => mention.is_order = true,
            None => self.is_unclear = true,
        }
    }

    /// A comparison is of the column that was named shortly before it, of numbers.
    fn add_comparisons(
        &mut self,
        tables: &Tables<'_>,
        comparisons: Vec<(usize, &'static str, String)>,
    ) {
        for (at, sign, number) in comparisons {
            let is_near = |it: &&mut Mention| {
                it.at < at && at - it.at <= BETWEEN + 1 && is_number(tables, it.column)
            };
            let before = self.mentions.iter_mut().rev().find(is_near);
            match before {
                Some(mention) => {
                    mention.is_compared = true;
                    self.comparisons.push((mention.column, sign, number));
                }
                None => self.is_unclear = true,
            }
        }
    }
}

fn is_numeric(data_type: &str) -> bool {
    matches!(data_type, "integer" | "float" | "decimal")
}

fn is_number(tables: &Tables<'_>, column: ColumnAt) -> bool {
    is_numeric(&tables.list[column.table].1.columns[column.column].data_type)
}
