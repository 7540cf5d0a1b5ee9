//! First rows that may be a header as well as data.
//!
//! Names are compared however they are spelt ([`spelt`]). They are *known* if they stand in a
//! header for sure, or above two files at least. A file whose first row was taken for a header has
//! one of data there if names are known for as many columns, as many of them of numbers or dates,
//! and it has none of these names; one without a header has one if all cells of its first row are
//! known names, in their order. Other files stay as they are by themselves.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use limn_formats::names;
use limn_profile::infer::{classify, is_marker};
use limn_profile::names::spelt;
use limn_profile::notation;
use limn_profile::{
    ColumnProfile, ColumnSummary, DataType, FileSummary, FirstRow, NO_HEADER, Order, SampledRow,
    first_placed,
};

/// What is said of a file whose first row became one of data.
const IS_DATA: &str = "no header found, as other files have: the first row is one of data";

/// A first row that is to be counted.
pub(super) fn data_row(summary: &FileSummary) -> Option<&SampledRow> {
    let first = summary.first_row().filter(|first| first.is_data)?;
    Some(&first.row)
}

/// Names that are surely a header's.
#[derive(Default)]
struct Known {
    headers: HashSet<Vec<String>>,
    /// All names of headers of so many columns, of which so many are of numbers or dates.
    names: HashMap<(usize, usize), HashSet<String>>,
}

/// How many columns of a file are of numbers or dates; without rows, how many cells of its first
/// row.
pub(crate) fn typed(summary: &FileSummary) -> usize {
    let is_ordered = |data_type: &DataType| data_type.order() != Order::Text;
    match summary.first_row() {
        Some(first) if summary.rows == 0 => {
            let cells = first.row.values.iter().flatten();
            let is_value = |cell: &&String| {
                is_ordered(&classify(cell)) || notation::of_value(cell).own.is_some()
            };
            cells.filter(is_value).count()
        }
        _ => {
            let columns = summary.columns.iter();
            columns.filter(|it| is_ordered(&it.data_type)).count()
        }
    }
}

/// What a file's first row is after all.
#[derive(Clone, Copy)]
enum Turn {
    Header,
    Data,
}

impl Known {
    fn of(summaries: &[Cow<'_, FileSummary>]) -> Known {
        let mut known = Known::default();
        let mut presumed: HashMap<Vec<String>, Vec<usize>> = HashMap::new();
        for summary in summaries {
            let names = || summary.column_names().map(spelt).collect::<Vec<String>>();
            match summary.first_row() {
                _ if summary.columns.is_empty() || summary.is_nameless() => {}
                Some(first) if !first.is_data => {
                    presumed.entry(names()).or_default().push(typed(summary));
                }
                None if !summary.presumed_names => known.add(names(), &[typed(summary)]),
                _ => {}
            }
        }
        let repeated = presumed.into_iter().filter(|(_, files)| files.len() > 1);
        repeated.for_each(|(names, files)| known.add(names, &files));
        known
    }

    fn add(&mut self, names: Vec<String>, typed: &[usize]) {
        for typed in typed {
            let alike = self.names.entry((names.len(), *typed)).or_default();
            alike.extend(names.iter().cloned());
        }
        self.headers.insert(names);
    }

    /// What becomes of a file; none if it stays as it is.
    fn turn(&self, summary: &FileSummary) -> Option<Turn> {
        let first = summary.first_row()?;
        let cells = &first.row.values;
        // What is withheld cannot be compared.
        if cells.iter().flatten().any(String::is_empty) {
            return None;
        }
        if first.is_data {
            let is_full = cells.iter().all(Option::is_some);
            let names = header_names(first);
            let names: Vec<String> = names.iter().map(|name| spelt(name)).collect();
            return (is_full && self.headers.contains(&names)).then_some(Turn::Header);
        }
        let alike = self.names.get(&(cells.len(), typed(summary)))?;
        let mut names = summary.column_names();
        (!names.any(|name| alike.contains(&spelt(name)))).then_some(Turn::Data)
    }
}

/// The names that a first row gives if it is a header.
fn header_names(first: &FirstRow) -> Vec<String> {
    let cells = first.row.values.iter();
    names::unique(cells.map(|cell| cell.as_deref().unwrap_or_default()))
}

/// Decides of every file of a table whether its first row is its header or one of data.
pub(super) fn decide(summaries: &mut [Cow<'_, FileSummary>]) {
    if !summaries.iter().any(|it| it.first_row().is_some()) {
        return;
    }
    let known = Known::of(summaries);
    let turns: Vec<Option<Turn>> = summaries.iter().map(|it| known.turn(it)).collect();
    for (summary, turn) in summaries.iter_mut().zip(turns) {
        match turn {
            None => {}
            Some(Turn::Header) => as_header(summary.to_mut()),
            Some(Turn::Data) => as_data(summary.to_mut()),
        }
    }
}

fn as_header(summary: &mut FileSummary) {
    let Some(reading) = summary.reading.as_mut() else {
        return;
    };
    let Some(first) = reading.first.take() else {
        return;
    };
    reading.skip += 1;
    for (column, name) in summary.columns.iter_mut().zip(header_names(&first)) {
        column.name = name;
    }
    summary.notes.retain(|note| !note.starts_with(NO_HEADER));
}

fn as_data(summary: &mut FileSummary) {
    let Some(reading) = summary.reading.as_mut() else {
        return;
    };
    reading.skip = reading.skip.saturating_sub(1);
    if let Some(first) = &mut reading.first {
        first.is_data = true;
    }
    for (column, place) in summary.columns.iter_mut().zip(1..) {
        column.name = format!("column_{place}");
    }
    summary.presumed_names = false;
    summary.notes.push(IS_DATA.to_owned());
}

/// Counts a first row as one of data.
pub(super) fn add_first_row(summary: &mut FileSummary) {
    let reading = summary.reading.as_mut();
    let Some(mut first) = reading.and_then(|reading| reading.first.take()) else {
        return;
    };
    let cells = summary.columns.iter_mut().zip(&mut first.row.values);
    cells.for_each(|(column, cell)| add(column, cell));
    summary.rows += 1;
    summary.sample.add(first.row);
}

/// Counts a cell in its column. What the sample shows of it is left.
fn add(column: &mut ColumnSummary, cell: &mut Option<String>) {
    let is_typed = column.data_type.order() != Order::Text;
    cell.take_if(|text| is_typed && is_marker(text));
    let Some(text) = cell.as_deref() else {
        column.profile.nulls += 1;
        return;
    };
    if text.is_empty() {
        // It is withheld.
        column.profile.values += 1;
        column.profile.uncounted += 1;
        column.profile.exact = false;
        *cell = None;
        return;
    }
    let mut plain = String::new();
    let value = match &column.notation {
        Some(notation) if notation.plain(text, &mut plain) => &plain,
        _ => text,
    };
    let (class, profile) = (classify(value), ColumnProfile::constant(value, 1));
    let parts = [(&column.data_type, &column.profile), (&class, &profile)];
    (column.data_type, column.profile) = ColumnProfile::merge(&parts);
    column.digest = column.digest.wrapping_add(first_placed(value));
}
