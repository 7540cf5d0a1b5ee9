//! One JSON object to one row, straight from the parser: no tree is built, and an object that turns
//! out to be broken halfway leaves no trace in the columns ([`super::columns`]).
//!
//! Objects within objects are columns by their path (`address.city`), and so are the elements of
//! lists (`tags[]`, `items[].sku`: see [`super::list`]), a few levels deep. What has no column, for
//! its depth or because there are too many, stays together as the text of its object or list.

use std::fmt::Write;

use limn_profile::DataType;
use limn_profile::infer::is_null;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::columns::Columns;
use crate::MAX_COLUMNS;

/// Levels of objects and lists that become columns; deeper ones are texts.
const LEVELS: usize = 8;

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
        while let Some(key) = map.next_key_seed(KeySeed {
            columns: &mut *self.0,
            within: None,
        })? {
            // A row's own keys are all columns.
            let Key::Column(column) = key else { continue };
            let column = checked(column)?;
            map.next_value_seed(CellSeed::of_row(&mut *self.0, column))?;
        }
        Ok(())
    }
}

pub(super) fn checked<E: Error>(column: usize) -> Result<usize, E> {
    if column >= MAX_COLUMNS {
        return Err(E::custom("too many different keys"));
    }
    Ok(column)
}

/// What a key leads to.
enum Key {
    Column(usize),
    /// Its object has too many of them.
    Text(String),
}

struct KeySeed<'a> {
    columns: &'a mut Columns,
    within: Option<usize>,
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = Key;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
        let column = self.columns.column(key, self.within);
        Ok(column.map_or_else(|| Key::Text(key.to_owned()), Key::Column))
    }
}

pub(super) struct CellSeed<'a> {
    columns: &'a mut Columns,
    column: usize,
    /// Objects and lists around it, the row among them.
    level: usize,
    /// Whether one of them is a list.
    in_list: bool,
}

impl<'a> CellSeed<'a> {
    /// A cell of the row itself.
    pub(super) fn of_row(columns: &'a mut Columns, column: usize) -> CellSeed<'a> {
        CellSeed {
            columns,
            column,
            level: 1,
            in_list: false,
        }
    }
}

impl CellSeed<'_> {
    /// Takes what is at the end of the row's text, from byte `from` on.
    #[inline]
    fn take(self, data_type: DataType, from: usize) {
        let text = from..self.columns.text.len();
        match self.in_list {
            false => self.columns.cell(self.column, data_type, Some(text)),
            true => self.columns.element(self.column, data_type, text),
        }
    }

    fn null(self) {
        if !self.in_list {
            self.columns.cell(self.column, DataType::Unknown, None);
        }
    }

    fn integer(self, value: impl itoa::Integer) {
        let from = self.columns.text.len();
        self.columns
            .text
            .push_str(itoa::Buffer::new().format(value));
        self.take(DataType::Integer, from);
    }

    fn write<E: Error>(self, data_type: DataType, value: impl std::fmt::Display) -> Result<(), E> {
        let start = self.columns.text.len();
        write!(self.columns.text, "{value}").map_err(E::custom)?;
        self.take(data_type, start);
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
        self.null();
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.write(DataType::Boolean, value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.integer(value);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.integer(value);
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        // Debug writes 1e300 as such, Display as 301 digits.
        self.write(DataType::Float, format_args!("{value:?}"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        let value = value.trim_ascii();
        let is_null = match self.columns.has_own_nulls() {
            true => is_null(value),
            false => value.is_empty(),
        };
        if is_null {
            self.null();
            return Ok(());
        }
        let start = self.columns.text.len();
        self.columns.text.push_str(value);
        self.take(DataType::Text, start);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let structure = DataType::Other("struct".to_owned());
        if self.level >= LEVELS {
            let value = Value::deserialize(MapAccessDeserializer::new(map))?;
            return self.write(structure, value);
        }
        let (column, level, in_list) = (self.column, self.level + 1, self.in_list);
        // As where it is null, if there is nothing in it.
        if !in_list {
            self.columns.cell(column, DataType::Unknown, None);
        }
        let mut rest = serde_json::Map::new();
        while let Some(key) = map.next_key_seed(KeySeed {
            columns: &mut *self.columns,
            within: Some(column),
        })? {
            match key {
                Key::Column(column) => map.next_value_seed(CellSeed {
                    columns: &mut *self.columns,
                    column: checked(column)?,
                    level,
                    in_list,
                })?,
                Key::Text(key) => {
                    rest.insert(key, map.next_value()?);
                }
            }
        }
        if rest.is_empty() {
            return Ok(());
        }
        self.write(structure, Value::Object(rest))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let elements = match self.level < LEVELS {
            true => self.columns.column_of_elements(self.column),
            false => None,
        };
        let Some(elements) = elements else {
            let value = Value::deserialize(SeqAccessDeserializer::new(seq))?;
            return self.write(DataType::Other("list".to_owned()), value);
        };
        let elements = checked(elements)?;
        // As where it is null, if there is nothing in it.
        if !self.in_list {
            self.columns.cell(self.column, DataType::Unknown, None);
        }
        let level = self.level + 1;
        while seq
            .next_element_seed(CellSeed {
                columns: &mut *self.columns,
                column: elements,
                level,
                in_list: true,
            })?
            .is_some()
        {}
        Ok(())
    }
}
