//! The columns of JSON rows by the path of their keys, and the row that is being read: it is taken as a whole, or leaves no trace.
//!
//! Where keys are data (an object by user) and one place would have hundreds of columns, what comes later has none.

use std::collections::HashMap;
use std::ops::Range;

use super::list::{Element, Elements};
use crate::data_type::DataType;
use crate::formats::{ReadOptions, names};
use crate::profile::{ColumnBuilder, ValueLimits};
use crate::sample::{RowSample, RowSampler};
use crate::summary::ColumnSummary;

/// Keys of an object within an object that become columns: what has more is not made of columns.
const KEYS_WITHIN: usize = 256;
/// Bytes of a path: what is within longer ones has no columns of its own, as each would be as long again.
const LONGEST_PATH: usize = 1 << 10;
/// Columns within objects, in all.
const MOST_WITHIN: usize = 1024;

/// The columns so far, and the row that is being read.
pub(super) struct Columns {
    by_key: HashMap<Box<str>, usize>,
    /// Paths of keys: `address.city`.
    keys: Vec<Box<str>>,
    /// The column of the object that each key is in, if it is not the row, and how many columns are in each.
    within: Vec<Option<usize>>,
    holds: Vec<usize>,
    /// Columns within objects.
    inner: usize,
    /// Where the next key was in most rows.
    hint: usize,
    path: String,
    columns: Vec<ColumnBuilder>,
    /// Values pushed to each column; the rest of the rows are null there.
    pushed: Vec<u64>,
    /// Where each column's cell of the row being read is in `cells`, if it has been seen in it.
    places: Vec<Option<usize>>,
    /// Columns of rows that were taken: later ones came with a row that was not.
    settled: usize,
    rows: u64,
    sampler: RowSampler,
    cells: Vec<Cell>,
    /// Elements of the row's lists.
    elements: Elements,
    /// The text of the row's cells.
    pub(super) text: String,
}

struct Cell {
    column: usize,
    /// Of a date it is text until it is taken.
    data_type: DataType,
    /// In `text`; none for null, and for elements of a list.
    text: Option<Range<usize>>,
    /// How many elements of a list it is; nulls do not count.
    elements: u64,
}

impl Columns {
    pub(super) fn new(sample_path: &str, options: &ReadOptions) -> Columns {
        Columns {
            by_key: HashMap::new(),
            keys: Vec::new(),
            within: Vec::new(),
            holds: Vec::new(),
            inner: 0,
            hint: 0,
            path: String::new(),
            columns: Vec::new(),
            pushed: Vec::new(),
            places: Vec::new(),
            settled: 0,
            rows: 0,
            sampler: RowSampler::new(options.seed, sample_path, options.sample_rows),
            cells: Vec::new(),
            elements: Elements::default(),
            text: String::new(),
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// Makes ready for a row; drops the last one where it was not taken.
    pub(super) fn begin(&mut self) {
        for cell in self.cells.drain(..) {
            self.places[cell.column] = None;
        }
        self.elements.begin();
        self.text.clear();
        self.hint = 0;
        for outer in self.within.drain(self.settled..).flatten() {
            self.holds[outer] -= 1;
            self.inner -= 1;
        }
        self.holds.truncate(self.settled);
        for key in self.keys.drain(self.settled..) {
            self.by_key.remove(&key);
        }
        self.columns.truncate(self.settled);
        self.pushed.truncate(self.settled);
        self.places.truncate(self.settled);
    }

    /// The column of a key in the object that is column `within`, or in the row; a new one beyond the last if it has not been
    /// seen. `None` where that would be too many.
    pub(super) fn column(&mut self, key: &str, within: Option<usize>) -> Option<usize> {
        match within {
            None => Some(self.column_of(key, None)),
            Some(outer) => self.column_within(outer, &[".", key]),
        }
    }

    /// The column of the elements of lists in column `outer`, likewise.
    pub(super) fn column_of_elements(&mut self, outer: usize) -> Option<usize> {
        self.column_within(outer, &["[]"])
    }

    fn column_within(&mut self, outer: usize, steps: &[&str]) -> Option<usize> {
        if self.keys[outer].len() > LONGEST_PATH {
            return None;
        }
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.push_str(&self.keys[outer]);
        path.extend(steps.iter().copied());
        let is_room = self.holds[outer] < KEYS_WITHIN && self.inner < MOST_WITHIN;
        let is_known = is_room || self.by_key.contains_key(path.as_str());
        let column = is_known.then(|| self.column_of(&path, Some(outer)));
        self.path = path;
        column
    }

    /// The column of a key by its path.
    pub(super) fn column_of(&mut self, key: &str, within: Option<usize>) -> usize {
        let known = self.keys.get(self.hint).filter(|known| ***known == *key);
        let column = match known {
            Some(_) => self.hint,
            None => match self.by_key.get(key) {
                Some(&column) => column,
                None => self.add(key, within),
            },
        };
        self.hint = column + 1;
        column
    }

    fn add(&mut self, key: &str, within: Option<usize>) -> usize {
        let column = self.keys.len();
        if let Some(outer) = within {
            self.holds[outer] += 1;
            self.inner += 1;
        }
        self.within.push(within);
        self.holds.push(0);
        self.by_key.insert(key.into(), column);
        self.keys.push(key.into());
        self.columns.push(ColumnBuilder::with_limits(
            key,
            ValueLimits::for_columns(column + 1),
        ));
        self.pushed.push(0);
        self.places.push(None);
        column
    }

    /// Takes a cell of the row: where its text is, none for null.
    #[inline]
    pub(super) fn cell(&mut self, column: usize, data_type: DataType, text: Option<Range<usize>>) {
        let cell = Cell {
            column,
            data_type,
            text,
            elements: 0,
        };
        match self.places[column] {
            // A key that an object repeats: the last one holds.
            Some(place) => self.cells[place] = cell,
            None => {
                self.places[column] = Some(self.cells.len());
                self.cells.push(cell);
            }
        }
    }

    /// Takes an element of a list of the row; nulls are none.
    pub(super) fn element(&mut self, column: usize, data_type: DataType, text: Range<usize>) {
        if self.places[column].is_none() {
            self.cell(column, DataType::Unknown, None);
        }
        let Some(cell) = self.places[column].and_then(|place| self.cells.get_mut(place)) else {
            return;
        };
        cell.text = None;
        cell.elements += 1;
        let start = text.start;
        let is_kept = self.elements.take(Element {
            column,
            data_type,
            text,
        });
        if !is_kept {
            self.text.truncate(start);
        }
    }

    /// Takes the row that was read as number `row`.
    pub(super) fn commit(&mut self, row: u64) {
        let text = std::mem::take(&mut self.text);
        self.commit_parts(row, &text);
        self.text = text;
    }

    /// Takes the row whose cells are parts of `text`.
    pub(super) fn commit_parts(&mut self, row: u64, text: &str) {
        for cell in &self.cells {
            if let Some(part) = cell.text.clone() {
                push(&mut self.columns[cell.column], &cell.data_type, &text[part]);
                self.pushed[cell.column] += 1;
            }
        }
        if !self.elements.is_empty() {
            self.commit_elements(text);
        }
        if let Some(priority) = self.sampler.wants(row) {
            let mut values = vec![None; self.keys.len()];
            for cell in &self.cells {
                values[cell.column] = cell.text.clone().map(|part| text[part].to_owned());
            }
            let lists = self.cells.iter().filter(|cell| cell.elements > 0);
            let lists = lists.map(|cell| (cell.column, cell.elements));
            self.elements.show(lists, text, &mut values);
            self.sampler.keep(priority, row, values);
        }
        self.rows += 1;
        self.settled = self.keys.len();
    }

    /// Each list counts once among its column's rows, each of its elements in the column's profile.
    fn commit_elements(&mut self, text: &str) {
        for cell in self.cells.iter().filter(|cell| cell.elements > 0) {
            self.pushed[cell.column] += 1;
            self.elements.in_column(cell.column, cell.elements);
        }
        for element in self.elements.iter() {
            let is_list = |place: usize| self.cells.get(place).is_some_and(|it| it.elements > 0);
            // Not where a later value of the same key has taken its place.
            if self.places[element.column].is_some_and(is_list) {
                let part = &text[element.text.clone()];
                push(&mut self.columns[element.column], &element.data_type, part);
            }
        }
    }

    pub(super) fn finish(mut self, exact: bool) -> (Vec<ColumnSummary>, RowSample) {
        self.begin();
        let mut sample = self.sampler.finish();
        for row in &mut sample.rows {
            row.values.resize(self.keys.len(), None);
        }
        // What only ever was an object is its columns.
        let is_column: Vec<bool> = self
            .holds
            .iter()
            .zip(&self.pushed)
            .map(|(holds, pushed)| *holds == 0 || *pushed > 0)
            .collect();
        for row in &mut sample.rows {
            let mut is_column = is_column.iter();
            row.values.retain(|_| is_column.next().is_none_or(|it| *it));
        }
        let keys = self.keys.iter().zip(&is_column).filter(|(_, is)| **is);
        let names = names::unique(keys.map(|(key, _)| key));
        let mut columns = Vec::with_capacity(names.len());
        let all = self.columns.into_iter().zip(self.pushed).enumerate();
        let kept = all.zip(&is_column).filter(|(_, is)| **is);
        for (((at, (mut column, pushed)), _), name) in kept.zip(names) {
            column.push_nulls(self.rows - pushed);
            let summary = match self.elements.of_column(at) {
                None => column.finish(exact),
                Some(elements) => column.finish_list(pushed, elements, exact),
            };
            columns.push(ColumnSummary { name, ..summary });
        }
        (columns, sample)
    }
}

fn push(column: &mut ColumnBuilder, data_type: &DataType, text: &str) {
    match data_type {
        DataType::Text => column.push_text(text),
        data_type => column.push_typed(data_type, Some(text)),
    }
}
