//! The columns of JSON rows by the path of their keys, and the row that is being read, which is
//! taken as a whole or leaves no trace. Where keys are data (an object by user), what comes after
//! hundreds of columns of one place has none.

mod node;

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use limn_profile::{
    ColumnBuilder, ColumnSummary, DataType, FileValues, NARROW, RowSample, RowSampler, ValueLimits,
};

use super::batches::RowsTo;
use super::list::{self, Element, Elements, Shown};
use crate::declaration::Declaration;
use crate::fitting::fit;
use crate::room::{Held, Room};
use crate::{Failure, MAX_COLUMNS, ReadOptions, names};
use limn_profile::infer::Nulls;
use limn_profile::text::counted;
use node::Node;

/// Keys of an object within an object that become columns: what has more is not made of columns.
const KEYS_WITHIN: usize = 256;
/// Bytes of a path: what is within longer ones has no columns of its own.
const LONGEST_PATH: usize = 1 << 10;
/// Columns within objects, in all.
const MOST_WITHIN: usize = 1024;
/// Letters of column names that a note quotes.
const QUOTED: usize = 120;

/// The columns so far, and the row that is being read.
pub(super) struct Columns {
    /// The row's keys.
    keys: HashMap<Box<str>, usize>,
    /// Where each column is.
    nodes: Vec<Node>,
    /// Columns within objects and lists.
    inner: usize,
    /// Where the next key was in most rows.
    hint: usize,
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
    /// What is declared of the file.
    declared: Option<Arc<Declaration>>,
    /// The columns' types, where they are declared, and how many values do not fit.
    types: Vec<Option<DataType>>,
    unfit: Vec<u64>,
    values: FileValues,
    /// Where rows go that are not profiled.
    rows_to: Option<RowsTo>,
    room: Room,
    /// Held from where the columns are many on: nobody knows how many there will be.
    turn: Option<Held>,
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
            keys: HashMap::new(),
            nodes: Vec::new(),
            inner: 0,
            hint: 0,
            columns: Vec::new(),
            pushed: Vec::new(),
            places: Vec::new(),
            settled: 0,
            rows: 0,
            sampler: RowSampler::new(options.seed, sample_path, options.sample_rows),
            cells: Vec::new(),
            elements: Elements::default(),
            text: String::new(),
            declared: options.declared.clone(),
            types: Vec::new(),
            unfit: Vec::new(),
            values: FileValues::new(options.values),
            rows_to: None,
            room: options.room.clone(),
            turn: None,
        }
    }

    /// Columns whose rows are handed on.
    pub(super) fn to_rows(options: &ReadOptions, rows_to: RowsTo) -> Columns {
        Columns {
            rows_to: Some(rows_to),
            elements: Elements::of_at_most(list::MOST_IN_ROWS),
            // Nothing is counted, and a reader that takes turns might wait for one that waits for
            // these rows.
            room: Room::default(),
            values: FileValues::default(),
            ..Columns::new("", options)
        }
    }

    /// The batches that are full; all rows where there will be no more.
    pub(super) fn batches(&mut self, is_end: bool) -> Result<Vec<RecordBatch>, Failure> {
        let rows_to = self.rows_to.as_mut();
        rows_to.map_or(Ok(Vec::new()), |rows| rows.batches(is_end))
    }

    /// Where rows go that are not profiled.
    pub(super) fn rows_to(&self) -> Option<&RowsTo> {
        self.rows_to.as_ref()
    }

    /// Of each place, which of these columns of the file's summary is there.
    pub(super) fn places_of(&mut self, columns: &[usize]) -> Vec<Option<usize>> {
        self.begin();
        let mut places = vec![None; self.settled];
        for (at, place) in self.order().into_iter().enumerate() {
            if let Some(found) = places.get_mut(place) {
                *found = columns.iter().position(|column| *column == at);
            }
        }
        places
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Makes ready for a row; drops the last one where it was not taken.
    pub(super) fn begin(&mut self) {
        for cell in self.cells.drain(..) {
            self.places[cell.column] = None;
        }
        self.elements.begin();
        self.text.clear();
        self.hint = 0;
        while self.nodes.len() > self.settled {
            let Some(node) = self.nodes.pop() else { break };
            self.inner -= usize::from(node.outer.is_some());
            match (node.key, node.outer) {
                (Some(key), outer) => drop(self.keys_of(outer).remove(&key)),
                (None, Some(outer)) => self.nodes[outer].elements = None,
                (None, None) => {}
            }
        }
        self.columns.truncate(self.settled);
        self.types.truncate(self.settled);
        self.unfit.truncate(self.settled);
        self.pushed.truncate(self.settled);
        self.places.truncate(self.settled);
    }

    fn keys_of(&mut self, within: Option<usize>) -> &mut HashMap<Box<str>, usize> {
        match within {
            None => &mut self.keys,
            Some(outer) => &mut self.nodes[outer].keys,
        }
    }

    /// The column of a key in the object that is column `within`, or in the row, where it may be
    /// new. `None` where that would be too many: never of the row's own keys.
    pub(super) fn column(&mut self, key: &str, within: Option<usize>) -> Option<usize> {
        let hinted = self.nodes.get(self.hint);
        let is_hinted =
            hinted.is_some_and(|it| it.outer == within && it.key.as_deref() == Some(key));
        let known = match is_hinted {
            true => Some(self.hint),
            false => self.keys_of(within).get(key).copied(),
        };
        let column = match known {
            Some(column) => column,
            None => self.add(Some(key), within)?,
        };
        self.hint = column + 1;
        Some(column)
    }

    /// The column of the elements of lists in column `outer`, likewise.
    pub(super) fn column_of_elements(&mut self, outer: usize) -> Option<usize> {
        let column = match self.nodes[outer].elements {
            Some(column) => column,
            None => self.add(None, Some(outer))?,
        };
        self.hint = column + 1;
        Some(column)
    }

    /// A new column; `None` if there are too many.
    fn add(&mut self, key: Option<&str>, within: Option<usize>) -> Option<usize> {
        let column = self.nodes.len();
        let path: Box<str> = match (within.map(|outer| &self.nodes[outer]), key) {
            (None, key) => key.unwrap_or_default().into(),
            (Some(outer), _)
                if outer.path.len() > LONGEST_PATH
                    || outer.holds() >= KEYS_WITHIN
                    || self.inner >= MOST_WITHIN =>
            {
                return None;
            }
            (Some(outer), Some(key)) => format!("{}.{key}", outer.path).into(),
            (Some(outer), None) => format!("{}[]", outer.path).into(),
        };
        self.inner += usize::from(within.is_some());
        match (key, within) {
            (Some(key), within) => drop(self.keys_of(within).insert(key.into(), column)),
            (None, Some(outer)) => self.nodes[outer].elements = Some(column),
            (None, None) => {}
        }
        if column >= NARROW && self.turn.is_none() {
            self.turn = Some(self.room.columns(MAX_COLUMNS));
        }
        let limits = ValueLimits::for_columns(column + 1);
        let builder = ColumnBuilder::with_limits(&*path, limits);
        let mut builder = builder.hashing(&self.values);
        let declared = Declaration::reading_of(self.declared.as_ref());
        let data_type = declared.types.get(&names::tidy(&path)).cloned();
        if let Some(declared) = &data_type {
            builder.set_type(declared);
        }
        self.columns.push(builder);
        self.types.push(data_type);
        self.unfit.push(0);
        self.nodes.push(Node {
            outer: within,
            key: key.map(Box::from),
            path,
            keys: HashMap::new(),
            elements: None,
        });
        self.pushed.push(0);
        self.places.push(None);
        Some(column)
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

    /// Whether the row has a cell of a column, also a null one.
    pub(super) fn has_cell(&self, column: usize) -> bool {
        self.places.get(column).is_some_and(Option::is_some)
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
        if let Some(mut rows_to) = self.rows_to.take() {
            rows_to.row(self, text);
            self.rows_to = Some(rows_to);
            for cell in &self.cells {
                self.pushed[cell.column] += u64::from(cell.text.is_some() || cell.elements > 0);
            }
            self.rows += 1;
            self.settled = self.nodes.len();
            return;
        }
        let cells = std::mem::take(&mut self.cells);
        for cell in &cells {
            if let Some(part) = self.part(cell, text)
                && self.push(cell.column, &cell.data_type, part)
            {
                self.pushed[cell.column] += 1;
            }
        }
        self.cells = cells;
        if !self.elements.is_empty() {
            self.commit_elements(text);
        }
        if let Some(priority) = self.sampler.wants(row) {
            let mut values = vec![None; self.nodes.len()];
            for cell in &self.cells {
                values[cell.column] = self.part(cell, text).map(str::to_owned);
            }
            self.elements
                .show(self.lists(), text, &Shown::SAMPLE, &mut values);
            self.sampler.keep(priority, row, values);
        }
        self.rows += 1;
        self.settled = self.nodes.len();
    }

    /// Whether limn's own signs stand for missing values.
    pub(super) fn has_own_nulls(&self) -> bool {
        Nulls::of(Declaration::reading_of(self.declared.as_ref())).are_own()
    }

    /// A cell's part of the text; none where it stands for a missing value.
    fn part<'t>(&self, cell: &Cell, text: &'t str) -> Option<&'t str> {
        let part = &text[cell.text.clone()?];
        let nulls = Nulls::of(Declaration::reading_of(self.declared.as_ref()));
        (nulls.are_own() || !nulls.has(part)).then_some(part)
    }

    /// Takes a value of a column; whether it has the declared type.
    fn push(&mut self, column: usize, data_type: &DataType, text: &str) -> bool {
        let builder = &mut self.columns[column];
        match (&self.types[column], data_type) {
            (Some(declared), _) => {
                let mut plain = String::new();
                let fits = fit(text, declared, None, &mut plain);
                if fits {
                    builder.push_typed(declared, Some(&plain));
                }
                self.unfit[column] += u64::from(!fits);
                return fits;
            }
            (None, DataType::Text) => builder.push_text(text),
            (None, data_type) => builder.push_typed(data_type, Some(text)),
        }
        true
    }

    /// The note on values that do not fit the declared types.
    pub(super) fn note(&self) -> Option<String> {
        let unfit = self.unfit.iter().zip(&self.nodes);
        let unfit = unfit.filter(|(count, _)| **count > 0);
        let values: u64 = unfit.clone().map(|(count, _)| count).sum();
        let names: Vec<String> = unfit.map(|(_, node)| names::tidy(&node.path)).collect();
        let names: String = names.join(", ").chars().take(QUOTED).collect();
        let values_of = counted(values, "value");
        (values > 0).then(|| format!("{values_of} not of the declared type read as null: {names}"))
    }

    /// The row's lists: their columns, and how many elements they have.
    fn lists(&self) -> impl Iterator<Item = (usize, u64)> {
        let lists = self.cells.iter().filter(|cell| cell.elements > 0);
        lists.map(|cell| (cell.column, cell.elements))
    }

    /// How many places there are, of columns and of what holds them.
    pub(super) fn places(&self) -> usize {
        self.nodes.len()
    }

    /// What a column is called.
    pub(super) fn path(&self, place: usize) -> &str {
        &self.nodes[place].path
    }

    /// Puts the row's cells at the places of their columns.
    pub(super) fn cells<'t>(&self, text: &'t str, cells: &mut [Option<Cow<'t, str>>]) {
        for cell in &self.cells {
            cells[cell.column] = self.part(cell, text).map(Cow::Borrowed);
        }
        if self.elements.is_empty() {
            return;
        }
        let mut lists = vec![None; cells.len()];
        self.elements
            .show(self.lists(), text, &Shown::ALL, &mut lists);
        for (cell, list) in cells.iter_mut().zip(lists) {
            if let Some(list) = list {
                *cell = Some(Cow::Owned(list));
            }
        }
    }

    /// Each list counts once among its column's rows, each of its elements in the column's profile.
    fn commit_elements(&mut self, text: &str) {
        for cell in self.cells.iter().filter(|cell| cell.elements > 0) {
            self.pushed[cell.column] += 1;
            self.elements.in_column(cell.column, cell.elements);
        }
        let elements = std::mem::take(&mut self.elements);
        for element in elements.iter() {
            let is_list = |place: usize| self.cells.get(place).is_some_and(|it| it.elements > 0);
            // Not where a later value of the same key has taken its place.
            if self.places[element.column].is_some_and(is_list) {
                let part = &text[element.text.clone()];
                self.push(element.column, &element.data_type, part);
            }
        }
        self.elements = elements;
    }

    /// The columns that hold values: what only ever was an object or a list is those within it.
    /// They come in the order in which they were first seen, but what is within a column in its
    /// place.
    fn order(&self) -> Vec<usize> {
        let mut ways: Vec<Vec<usize>> = Vec::with_capacity(self.nodes.len());
        for (column, node) in self.nodes.iter().enumerate() {
            let outer = node.outer.and_then(|outer| ways.get(outer));
            let mut way = outer.cloned().unwrap_or_default();
            way.push(column);
            ways.push(way);
        }
        let is_column = |it: &usize| self.nodes[*it].holds() == 0 || self.pushed[*it] > 0;
        let mut order: Vec<usize> = (0..self.nodes.len()).filter(is_column).collect();
        order.sort_unstable_by(|a, b| ways[*a].cmp(&ways[*b]));
        order
    }

    pub(super) fn finish(mut self, exact: bool) -> (Vec<ColumnSummary>, RowSample) {
        self.begin();
        let order = self.order();
        let mut sample = self.sampler.finish();
        for row in &mut sample.rows {
            let value = |column: &usize| row.values.get_mut(*column).and_then(Option::take);
            row.values = order.iter().map(value).collect();
        }
        let names = names::unique(order.iter().map(|column| &self.nodes[*column].path));
        let mut builders: Vec<Option<ColumnBuilder>> = self.columns.into_iter().map(Some).collect();
        let mut columns = Vec::with_capacity(names.len());
        for (at, name) in order.into_iter().zip(names) {
            let Some(mut column) = builders[at].take() else {
                continue;
            };
            let pushed = self.pushed[at];
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
