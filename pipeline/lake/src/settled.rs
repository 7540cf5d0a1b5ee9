//! One reading for all files of a table: what a file by itself leaves open, all of them decide.
//!
//! A file's summary is a function of the file alone, so where its own values do not show how it is
//! to be read it keeps what each reading makes of it: a column of `1/2/2020` as it is with the
//! month first and with the day first ([`ColumnSummary::otherwise`]), a first row that may be the
//! header or one of data apart from the others ([`FirstRow`](limn_lake::FirstRow)). [`settle`]
//! chooses, for profiles and scans alike:
//!
//! - of dates the order that values of any file prove for the column, between the same separators;
//! - of numbers the decimal mark that values of any file prove for the column;
//! - of nothing but signs such as `-` nulls, if all other files have numbers or dates there;
//! - of first rows what `first_rows.rs` says;
//! - of delimiters that cut a small file evenly ([`FileSummary::otherwise`]) the one that gives it
//!   the names of another file.
//!
//! Where nothing is proven, or different things are, each file is read as it would be by itself.
//! The result is a function of the set of files: a file that comes or goes may change how others
//! are read, without reading them. See decision 38.

mod first_rows;
mod logged;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;

use limn_profile::infer::is_marker;
use limn_profile::merge::{Source, Union};
use limn_profile::names::spelt;
use limn_profile::notation::{self, DateOrder, Proof};
use limn_profile::text::counted;
use limn_profile::{ColumnSummary, DataType, FilePart, FileSummary, Notation, Order};

pub(crate) use self::first_rows::typed;
use self::first_rows::{add_first_row, data_row};
pub(crate) use self::logged::{constants, table};

/// The summaries of a table's files, given in path order, each read as all of them show: borrowed
/// where that is as the file is read by itself. Nothing is open in them any more but first rows
/// that stay headers, which count nowhere.
pub(crate) fn settle<'a>(files: &[FilePart<'a>]) -> Vec<Cow<'a, FileSummary>> {
    if let Some(table) = table(files.iter().map(|file| file.summary)) {
        return logged::named(files, table);
    }
    let mut settled = cut(files);
    first_rows::decide(&mut settled);
    let is_open = |summary: &Cow<'_, FileSummary>| {
        let mut columns = summary.columns.iter();
        data_row(summary).is_some() || columns.any(|column| !column.otherwise.is_empty())
    };
    if !settled.iter().any(is_open) {
        return settled;
    }
    for choice in choices(files, &settled) {
        let summary = settled[choice.file].to_mut();
        choice.reading.apply(summary, choice.column);
    }
    for summary in &mut settled {
        if data_row(summary).is_some() {
            add_first_row(summary.to_mut());
        }
    }
    settled
}

/// The summaries as the delimiters make them that give files the same names.
fn cut<'a>(files: &[FilePart<'a>]) -> Vec<Cow<'a, FileSummary>> {
    fn names(summary: &FileSummary) -> Vec<String> {
        let mut names: Vec<String> = summary.column_names().map(spelt).collect();
        names.sort_unstable();
        names
    }
    let all = || files.iter().map(|file| file.summary);
    let clear: HashSet<Vec<String>> = match all().any(|it| !it.otherwise.is_empty()) {
        true => all()
            .filter(|it| it.otherwise.is_empty())
            .map(names)
            .collect(),
        false => HashSet::new(),
    };
    let chosen = |summary: &'a FileSummary| {
        let mut otherwise = summary.otherwise.iter();
        let is_clear = |it: &&FileSummary| clear.contains(&names(it));
        match otherwise.find(is_clear) {
            Some(other) if !is_clear(&summary) => Cow::Owned(FileSummary {
                size: summary.size,
                ..other.clone()
            }),
            _ => Cow::Borrowed(summary),
        }
    };
    all().map(chosen).collect()
}

/// How a column of a file is read.
struct Choice {
    file: usize,
    column: usize,
    reading: Reading,
}

#[derive(Debug, PartialEq, Eq)]
enum Reading {
    /// In its own notation, which is proven now.
    Own,
    /// In another one of those that fit.
    Other(usize),
    /// In this one, which its first row alone has values for.
    Of(Notation),
}

/// What all files show of each column, and which columns are read by it.
fn choices(files: &[FilePart<'_>], settled: &[Cow<'_, FileSummary>]) -> Vec<Choice> {
    let parts = files.iter().zip(settled);
    let parts: Vec<FilePart<'_>> = parts
        .map(|(file, summary)| FilePart {
            path: file.path,
            summary,
            partition: &[],
        })
        .collect();
    let mut choices = Vec::new();
    for column in &Union::of(&parts).columns {
        let sources = column.sources.iter().filter_map(|(file, source)| {
            let Source::Column(at) = *source else {
                return None;
            };
            let summary = parts[*file].summary;
            let first = data_row(summary).and_then(|row| row.values.get(at)?.as_deref());
            Some((*file, at, &summary.columns[at], first))
        });
        let is_open = |(_, _, column, first): &(_, _, &ColumnSummary, Option<&str>)| {
            !column.otherwise.is_empty() || first.is_some()
        };
        if !sources.clone().any(|it| is_open(&it)) {
            continue;
        }
        let mut shown = Shown::default();
        for (_, _, column, first) in sources.clone() {
            shown.column(column);
            first.into_iter().for_each(|value| shown.value(value));
        }
        choices.extend(sources.filter_map(|(file, at, column, first)| {
            Some(Choice {
                file,
                column: at,
                reading: shown.reading(column, first)?,
            })
        }));
    }
    choices
}

/// What a column's values in all files show of how they are written.
#[derive(Debug, Default)]
struct Shown {
    /// Orders of dates, with what stands between day and month.
    orders: Vec<(char, DateOrder)>,
    decimals: Vec<char>,
    /// A file has numbers or dates, another one words.
    has_typed: bool,
    has_text: bool,
}

impl Shown {
    fn column(&mut self, column: &ColumnSummary) {
        if column.profile.values == 0 || !column.otherwise.is_empty() {
            return;
        }
        match column.data_type.order() {
            Order::Text => self.has_text = true,
            Order::Number | Order::Instant => self.has_typed = true,
        }
        match &column.notation {
            Some(notation) => self.notation(notation),
            None if column.data_type == DataType::Float => self.decimals.push('.'),
            None => {}
        }
    }

    /// Takes a value that stands by itself.
    fn value(&mut self, value: &str) {
        let readings = notation::of_value(value);
        if let (Some(notation), []) = (&readings.own, &readings.others[..]) {
            self.notation(notation);
        }
    }

    fn notation(&mut self, notation: &Notation) {
        match notation {
            Notation::Date(date) if date.proof == Proof::Values => {
                self.orders.push((date.separator, date.order));
            }
            Notation::Number(number) if number.proof == Proof::Values => {
                self.decimals.extend(number.style.proven_decimal());
            }
            _ => {}
        }
    }

    /// Whether nothing but this notation's order, or decimal mark, is shown.
    fn proves(&self, notation: &Notation) -> bool {
        match notation {
            Notation::Date(date) => {
                let orders = self.orders.iter();
                let mut orders = orders
                    .filter(|(separator, _)| *separator == date.separator)
                    .peekable();
                orders.peek().is_some() && orders.all(|(_, order)| *order == date.order)
            }
            Notation::Number(number) => {
                let mut decimals = self.decimals.iter().peekable();
                decimals.peek().is_some()
                    && decimals.all(|decimal| *decimal == number.style.decimal())
            }
        }
    }

    /// How a column of one file is read, if that is open and shown here; `first` is its value in a
    /// row that is not counted yet.
    fn reading(&self, column: &ColumnSummary, first: Option<&str>) -> Option<Reading> {
        let is_proven = |it: &Option<Notation>| it.as_ref().is_some_and(|it| self.proves(it));
        if !column.otherwise.is_empty() {
            if is_proven(&column.notation) {
                return Some(Reading::Own);
            }
            let is_meant = |other: &ColumnSummary| match &other.notation {
                None => self.has_typed && !self.has_text,
                notation => is_proven(notation),
            };
            return column
                .otherwise
                .iter()
                .position(is_meant)
                .map(Reading::Other);
        }
        if column.profile.values > 0 || column.notation.is_some() {
            return None;
        }
        let readings = notation::of_value(first?);
        let mut all = readings.own.iter().chain(&readings.others);
        let proven = all.find(|notation| self.proves(notation)).cloned();
        proven.or(readings.own).map(Reading::Of)
    }
}

impl Reading {
    fn apply(self, summary: &mut FileSummary, at: usize) {
        let column = &mut summary.columns[at];
        let otherwise = std::mem::take(&mut column.otherwise);
        match self {
            Reading::Own => {}
            Reading::Of(notation) => column.notation = Some(notation),
            Reading::Other(other) => {
                let Some(other) = otherwise.into_vec().into_iter().nth(other) else {
                    return;
                };
                let signs = column.profile.values.saturating_sub(other.profile.values);
                *column = ColumnSummary {
                    name: std::mem::take(&mut column.name),
                    marked: column.marked,
                    description: column.description.take(),
                    hashes: std::mem::take(&mut column.hashes),
                    ..other
                };
                if signs > 0 {
                    let cells = counted(signs, "cell");
                    let note =
                        format!("{cells} with a sign for a missing value (`-`) read as null");
                    summary.notes.push(format!("{note}: {}", column.name));
                    let rows = summary.sample.rows.iter_mut();
                    let cells = rows.filter_map(|row| row.values.get_mut(at));
                    let is_sign =
                        |cell: &&mut Option<String>| cell.as_deref().is_some_and(is_marker);
                    cells.filter(is_sign).for_each(|cell| *cell = None);
                }
            }
        }
        match &mut summary.columns[at].notation {
            Some(Notation::Date(date)) => date.proof = Proof::Values,
            Some(Notation::Number(number)) => number.proof = Proof::Values,
            None => {}
        }
    }
}
