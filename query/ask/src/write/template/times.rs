//! Times that a question names: "by month", "in March 2024", "since 2020". They are of the one
//! column of dates that the tables have, or the one that the question names.

use limn_segment::analyzer::analyze;

use super::words::{Word, Words};
use crate::write::tables::{ColumnAt, Tables, is_shown};

/// Words of columns of dates that say no more than that.
const PLAIN: [&str; 9] = [
    "date",
    "time",
    "at",
    "on",
    "day",
    "timestamp",
    "datetime",
    "dt",
    "ts",
];
pub(in crate::write) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// What times are cut into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Year,
    Quarter,
    Month,
    Week,
    Day,
}

impl Part {
    pub(super) fn word(self) -> &'static str {
        match self {
            Part::Year => "year",
            Part::Quarter => "quarter",
            Part::Month => "month",
            Part::Week => "week",
            Part::Day => "day",
        }
    }

    fn of(word: &str) -> Option<Part> {
        let parts = [
            Part::Year,
            Part::Quarter,
            Part::Month,
            Part::Week,
            Part::Day,
        ];
        let plural = word.strip_suffix('s').unwrap_or(word);
        parts.into_iter().find(|it| it.word() == plural)
    }

    fn of_adverb(word: &str) -> Option<Part> {
        match word {
            "yearly" | "annually" => Some(Part::Year),
            "quarterly" => Some(Part::Quarter),
            "monthly" => Some(Part::Month),
            "weekly" => Some(Part::Week),
            "daily" => Some(Part::Day),
            _ => None,
        }
    }
}

/// The first day of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Begin {
    year: u16,
    month: u16,
}

impl std::fmt::Display for Begin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}-01", self.year, self.month)
    }
}

/// Times that a question names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Times {
    /// What rows are grouped by.
    pub(super) part: Option<Part>,
    /// The first day that is meant, and the first that is not meant any more.
    pub(super) from: Option<Begin>,
    pub(super) until: Option<Begin>,
    /// The words that say so: where each phrase begins, and how many words it has.
    phrases: Vec<(usize, usize)>,
    /// Whether two phrases say the same thing.
    pub(super) is_unclear: bool,
}

/// A year, or a month of one.
struct Span {
    begin: Begin,
    end: Begin,
    length: usize,
}

impl Times {
    /// Reads times of a question over tables with dates, where no column besides has years and
    /// months of its own.
    pub(super) fn read(words: &mut Words, tables: &Tables<'_>) -> Times {
        let mut times = Times::default();
        if columns(tables, |_| true).is_empty() {
            return times;
        }
        for at in 0..words.0.len() {
            if words.0[at].is_read {
                continue;
            }
            let length = times.part_at(words, at, tables).or_else(|| {
                let is_free = !has_own(tables, "year");
                is_free.then(|| times.range_at(words, at)).flatten()
            });
            if let Some(length) = length.filter(|it| words.take(at, *it)) {
                times.phrases.push((at, length));
            }
        }
        let ends = times.from.zip(times.until);
        times.is_unclear |= ends.is_some_and(|(from, until)| from >= until);
        times
    }

    /// Whether there are any.
    pub(super) fn is_none(&self) -> bool {
        self.phrases.is_empty()
    }

    /// The phrases: where each begins, and the word behind it.
    pub(super) fn phrases(&self) -> impl Iterator<Item = (usize, usize)> {
        self.phrases.iter().map(|(at, length)| (*at, at + length))
    }

    /// Gives the words back: no column has these times.
    pub(super) fn unread(&self, words: &mut Words) {
        for (at, length) in &self.phrases {
            let phrase = words.0[*at..at + length].iter_mut();
            phrase.for_each(|it| it.is_read = false);
        }
    }

    fn part_at(&mut self, words: &Words, at: usize, tables: &Tables<'_>) -> Option<usize> {
        let written = |at: usize| words.0.get(at).map(|it| it.written.as_str());
        let (part, length) = match written(at)? {
            "by" | "per" | "each" | "every" => (Part::of(written(at + 1)?)?, 2),
            word => (Part::of_adverb(word)?, 1),
        };
        if has_own(tables, part.word()) {
            return None;
        }
        self.is_unclear |= self.part.is_some();
        self.part = Some(part);
        Some(length)
    }

    fn range_at(&mut self, words: &Words, at: usize) -> Option<usize> {
        let word = words.0[at].written.as_str();
        let span = span(words, at + 1)?;
        let (from, until, length) = match word {
            "from" | "between" => {
                let to = at + 1 + span.length;
                let is_to = words.0.get(to).map(|it| it.written.as_str());
                let joins = if word == "from" { "to" } else { "and" };
                let last = span_after(words, to, is_to == Some(joins));
                match (word, last) {
                    (_, Some(last)) => (
                        Some(span.begin),
                        Some(last.end),
                        2 + span.length + last.length,
                    ),
                    ("from", None) => (Some(span.begin), Some(span.end), 1 + span.length),
                    _ => return None,
                }
            }
            "in" | "during" | "of" | "for" => (Some(span.begin), Some(span.end), 1 + span.length),
            "since" => (Some(span.begin), None, 1 + span.length),
            "after" => (Some(span.end), None, 1 + span.length),
            "before" => (None, Some(span.begin), 1 + span.length),
            "until" => (None, Some(span.end), 1 + span.length),
            _ => return None,
        };
        self.is_unclear |= from.is_some() && self.from.is_some();
        self.is_unclear |= until.is_some() && self.until.is_some();
        self.from = from.or(self.from);
        self.until = until.or(self.until);
        Some(length)
    }
}

/// Whether a time follows at a place, and a column of dates is called by these terms.
pub(super) fn names_date(words: &Words, tables: &Tables<'_>, terms: &[String], at: usize) -> bool {
    const BEFORE: [&str; 8] = [
        "in", "during", "since", "after", "before", "until", "from", "between",
    ];
    let is_before = |it: &Word| BEFORE.contains(&it.written.as_str());
    let follows = words.0.get(at).is_some_and(is_before) && span(words, at + 1).is_some();
    let is_called = |it: &ColumnAt| {
        let column = &tables.list[it.table].1.columns[it.column];
        own_terms(&column.name) == terms
    };
    follows && columns(tables, |_| true).iter().any(is_called)
}

fn span_after(words: &Words, at: usize, is_joined: bool) -> Option<Span> {
    is_joined.then(|| span(words, at + 1)).flatten()
}

/// A year, or a month and its year.
fn span(words: &Words, at: usize) -> Option<Span> {
    let first = words.0.get(at).filter(|it| !it.is_read)?;
    if let Some(year) = year(words, at) {
        return Some(Span {
            begin: Begin { year, month: 1 },
            end: Begin {
                year: year + 1,
                month: 1,
            },
            length: 1,
        });
    }
    let is_month = |it: &str| it == first.written || it[..3] == first.written;
    let month = MONTHS.iter().position(|it| is_month(it))?;
    let month = u16::try_from(month).ok()? + 1;
    let has_of = words.0.get(at + 1).is_some_and(|it| it.written == "of");
    let length = if has_of { 3 } else { 2 };
    let year = year(words, at + length - 1)?;
    let (next, of) = if month == 12 {
        (1, year + 1)
    } else {
        (month + 1, year)
    };
    Some(Span {
        begin: Begin { year, month },
        end: Begin {
            year: of,
            month: next,
        },
        length,
    })
}

fn year(words: &Words, at: usize) -> Option<u16> {
    let word = words.0.get(at).filter(|it| !it.is_read)?;
    let is_year = word.written.len() == 4 && word.written.bytes().all(|it| it.is_ascii_digit());
    let year = is_year.then(|| word.written.parse().ok()).flatten();
    year.filter(|it| (1000..3000).contains(it))
}

/// The columns of dates of some tables.
pub(super) fn columns(tables: &Tables<'_>, is_of: impl Fn(usize) -> bool) -> Vec<ColumnAt> {
    let mut columns = Vec::new();
    for (table, (_, of)) in tables.list.iter().enumerate().filter(|it| is_of(it.0)) {
        let dates = of.columns.iter().enumerate();
        let dates = dates.filter(|(_, it)| is_date(&it.data_type) && is_shown(&it.name));
        columns.extend(dates.map(|(column, _)| ColumnAt { table, column }));
    }
    columns
}

/// The columns of dates that are not among the chosen, each with its table.
pub(super) fn not_chosen(
    tables: &Tables<'_>,
    is_of: impl Fn(usize) -> bool,
) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    for (table, (_, of)) in tables.list.iter().enumerate().filter(|it| is_of(it.0)) {
        let is_chosen = |name: &String| of.columns.iter().any(|it| it.name == *name);
        let others = of.dates.iter().filter(|it| !is_chosen(it));
        names.extend(others.map(|it| (table, it.clone())));
    }
    names
}

/// Whether a column of no dates is called so: then that is meant.
fn has_own(tables: &Tables<'_>, word: &str) -> bool {
    let terms = analyze(word);
    let mut columns = tables.list.iter().flat_map(|(_, it)| &it.columns);
    columns.any(|it| {
        !is_date(&it.data_type) && terms.iter().all(|term| analyze(&it.name).contains(term))
    })
}

/// Whether a type is one of dates, as the index calls them.
pub(in crate::write) fn is_date(data_type: &str) -> bool {
    matches!(data_type, "date" | "timestamp")
}

/// The terms of a column's name that say more than that it has dates.
pub(super) fn own_terms(name: &str) -> Vec<String> {
    let plain: Vec<String> = PLAIN.iter().flat_map(|it| analyze(it)).collect();
    let terms = analyze(name).into_iter();
    terms.filter(|it| !plain.contains(it)).collect()
}
