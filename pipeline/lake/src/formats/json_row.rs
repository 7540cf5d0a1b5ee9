//! One JSON object to one row, straight from the parser: no tree is built, and an object that turns
//! out to be broken halfway leaves no trace in the columns.

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::infer::{classify, is_null};
use super::{MAX_COLUMNS, ReadOptions, names};
use crate::data_type::DataType;
use crate::profile::{ColumnBuilder, ValueLimits};
use crate::sample::{RowSample, RowSampler};
use crate::summary::ColumnSummary;

/// The columns so far, and the row that is being read.
pub(super) struct Columns {
    by_key: HashMap<Box<str>, usize>,
    keys: Vec<Box<str>>,
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
    /// The text of the row's cells.
    text: String,
}

struct Cell {
    column: usize,
    data_type: DataType,
    /// In `text`; none for null.
    text: Option<Range<usize>>,
}

impl Columns {
    pub(super) fn new(sample_path: &str, options: &ReadOptions) -> Columns {
        Columns {
            by_key: HashMap::new(),
            keys: Vec::new(),
            columns: Vec::new(),
            pushed: Vec::new(),
            places: Vec::new(),
            settled: 0,
            rows: 0,
            sampler: RowSampler::new(options.seed, sample_path, options.sample_rows),
            cells: Vec::new(),
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
    fn begin(&mut self) {
        for cell in self.cells.drain(..) {
            self.places[cell.column] = None;
        }
        self.text.clear();
        for key in self.keys.drain(self.settled..) {
            self.by_key.remove(&key);
        }
        self.columns.truncate(self.settled);
        self.pushed.truncate(self.settled);
        self.places.truncate(self.settled);
    }

    /// The column of a key; a new one beyond the last if it has not been seen. `hint` is where it was
    /// in most rows.
    fn column(&mut self, key: &str, hint: usize) -> usize {
        if self.keys.get(hint).is_some_and(|known| **known == *key) {
            return hint;
        }
        if let Some(&column) = self.by_key.get(key) {
            return column;
        }
        let column = self.keys.len();
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

    fn cell(&mut self, column: usize, data_type: DataType, text: Option<Range<usize>>) {
        let cell = Cell {
            column,
            data_type,
            text,
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

    /// Takes the row that was read as number `row`.
    pub(super) fn commit(&mut self, row: u64) {
        for cell in &self.cells {
            if let Some(text) = cell.text.clone() {
                self.columns[cell.column].push_typed(&cell.data_type, Some(&self.text[text]));
                self.pushed[cell.column] += 1;
            }
        }
        if let Some(priority) = self.sampler.wants(row) {
            let mut values = vec![None; self.keys.len()];
            for cell in &self.cells {
                values[cell.column] = cell.text.clone().map(|text| self.text[text].to_owned());
            }
            self.sampler.keep(priority, row, values);
        }
        self.rows += 1;
        self.settled = self.keys.len();
    }

    pub(super) fn finish(mut self, exact: bool) -> (Vec<ColumnSummary>, RowSample) {
        self.begin();
        let mut sample = self.sampler.finish();
        for row in &mut sample.rows {
            row.values.resize(self.keys.len(), None);
        }
        let names = names::unique(&self.keys);
        let mut columns = Vec::with_capacity(names.len());
        for ((mut column, pushed), name) in self.columns.into_iter().zip(self.pushed).zip(names) {
            column.push_nulls(self.rows - pushed);
            columns.push(ColumnSummary {
                name,
                ..column.finish(exact)
            });
        }
        (columns, sample)
    }
}

/// Reads one object as a row, which the caller commits.
pub(super) struct RowSeed<'a>(pub(super) &'a mut Columns);

impl RowSeed<'_> {
    pub(super) fn read<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.begin();
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for RowSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut hint = 0;
        while let Some(column) = map.next_key_seed(KeySeed {
            columns: &mut *self.0,
            hint,
        })? {
            if column >= MAX_COLUMNS {
                return Err(A::Error::custom("too many different keys"));
            }
            map.next_value_seed(CellSeed {
                columns: &mut *self.0,
                column,
            })?;
            hint = column + 1;
        }
        Ok(())
    }
}

struct KeySeed<'a> {
    columns: &'a mut Columns,
    hint: usize,
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<usize, E> {
        Ok(self.columns.column(key, self.hint))
    }
}

struct CellSeed<'a> {
    columns: &'a mut Columns,
    column: usize,
}

impl CellSeed<'_> {
    fn integer(self, negative: bool, mut value: u64) {
        // By hand: the formatting machinery costs more than the parsing.
        let mut digits = [0; 21];
        let mut start = digits.len();
        loop {
            start -= 1;
            digits[start] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        if negative {
            start -= 1;
            digits[start] = b'-';
        }
        let from = self.columns.text.len();
        self.columns
            .text
            .extend(digits[start..].iter().map(|digit| *digit as char));
        let to = self.columns.text.len();
        self.columns
            .cell(self.column, DataType::Integer, Some(from..to));
    }

    fn write<E: Error>(self, data_type: DataType, value: impl std::fmt::Display) -> Result<(), E> {
        let start = self.columns.text.len();
        write!(self.columns.text, "{value}").map_err(E::custom)?;
        let end = self.columns.text.len();
        self.columns.cell(self.column, data_type, Some(start..end));
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for CellSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for CellSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.columns.cell(self.column, DataType::Unknown, None);
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.write(DataType::Boolean, value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.integer(value < 0, value.unsigned_abs());
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.integer(false, value);
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        // Debug writes 1e300 as such, Display as 301 digits.
        self.write(DataType::Float, format_args!("{value:?}"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        let value = value.trim_ascii();
        if is_null(value) {
            self.columns.cell(self.column, DataType::Unknown, None);
            return Ok(());
        }
        // A number in quotes is a number on purpose not.
        let data_type = match classify(value) {
            dated @ (DataType::Date | DataType::Timestamp) => dated,
            _ => DataType::Text,
        };
        let start = self.columns.text.len();
        self.columns.text.push_str(value);
        let end = self.columns.text.len();
        self.columns.cell(self.column, data_type, Some(start..end));
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let value = Value::deserialize(MapAccessDeserializer::new(map))?;
        self.write(DataType::Other("struct".to_owned()), value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<(), A::Error> {
        let value = Value::deserialize(SeqAccessDeserializer::new(seq))?;
        self.write(DataType::Other("list".to_owned()), value)
    }
}

/// Reads an array's objects as rows and commits each; the result is how many elements are no objects.
pub(super) struct ArraySeed<'a>(pub(super) &'a mut Columns);

impl ArraySeed<'_> {
    pub(super) fn read<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ArraySeed<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u64, A::Error> {
        let mut others = 0;
        while let Some(is_object) = seq.next_element_seed(ElementSeed(&mut *self.0))? {
            if is_object {
                let row = self.0.rows();
                self.0.commit(row);
            } else {
                others += 1;
            }
        }
        Ok(others)
    }
}

/// Any element; whether it is an object.
struct ElementSeed<'a>(&'a mut Columns);

impl<'de> DeserializeSeed<'de> for ElementSeed<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        self.0.begin();
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ElementSeed<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<bool, A::Error> {
        RowSeed(self.0).visit_map(map)?;
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(false)
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }
}
