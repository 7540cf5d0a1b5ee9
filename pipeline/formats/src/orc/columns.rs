//! A stripe's columns as Arrow arrays, some rows at a time (ORC specification v1, "Column
//! Encodings").
//!
//! A part of a column has values only where what it is part of is not null: arrays are made of
//! those first, and then spread over all rows. Lengths are added up before what they are the
//! lengths of is read, so that no few bytes take much memory.

mod types;
mod values;

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, DictionaryArray, Float32Array,
    Float64Array, Int64Array, UInt32Array, new_empty_array, new_null_array,
};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, FieldRef, Fields, UInt32Type, UnionFields};

pub(super) use self::types::fields;
use self::types::{branches, data_type, digits, entries, meant};
use self::values::{
    decimals, decoding, lengthy, lists, maps, spread_union, structs, texts, times, unions,
};
use super::corrupt;
use super::proto::{Encoding, StripeFooter, TypeInfo};
use super::rle::{Bits, Bytes, Numbers, Version};
use super::stream::{File, Stream};
use super::tail::kind;
use crate::ranged::Fetched;
use crate::typed::Stopped;

/// Kinds of streams, by number.
const PRESENT: u64 = 0;
const DATA: u64 = 1;
const LENGTH: u64 = 2;
pub(super) const DICTIONARY_DATA: u64 = 3;
const SECONDARY: u64 = 5;
/// Kinds of encodings, by number; the second version of numbers has two more.
const DICTIONARY: u64 = 1;
const SECOND_VERSION: u64 = 2;
/// What it costs to make an array or a reader of a type besides its values, in bytes.
const ARRAY: u64 = 128;

/// A stripe whose columns are read one after another.
pub(super) struct Stripe<'a> {
    pub(super) types: &'a [TypeInfo],
    pub(super) footer: &'a StripeFooter,
    pub(super) file: Rc<File>,
    /// Where each stream lies in the file.
    pub(super) streams: &'a HashMap<(u64, u64), Range<u64>>,
    pub(super) ahead: &'a Fetched,
    /// How many types each consists of, itself included.
    pub(super) nodes: &'a [u64],
}

impl Stripe<'_> {
    fn stream(&self, column: usize, kind: u64) -> Option<Stream> {
        let range = self.streams.get(&(column as u64, kind))?;
        Some(Stream::new(&self.file, range.clone(), self.ahead))
    }

    /// A reader of a column's values.
    pub(super) fn column(&self, column: usize) -> Result<Column, Stopped> {
        let of = &self.types[column];
        let nodes = self.nodes[column];
        self.file.worked(ARRAY * nodes);
        let encoding = self
            .footer
            .encodings
            .get(column)
            .copied()
            .unwrap_or_default();
        let version = match encoding.kind / SECOND_VERSION {
            0 => Version::One,
            1 => Version::Two,
            _ => return Err(corrupt("a column is encoded in no known way").into()),
        };
        let values = self.values(column, encoding, version)?;
        Ok(Column {
            present: self.stream(column, PRESENT).map(Bits::new),
            values,
            data_type: data_type(self.types, column),
            meant: meant(of),
            nodes,
            file: self.file.clone(),
        })
    }

    /// Readers of what a column's values are made of.
    fn values(
        &self,
        column: usize,
        encoding: Encoding,
        version: Version,
    ) -> Result<Values, Stopped> {
        let of = &self.types[column];
        let is_dictionary = encoding.kind % SECOND_VERSION == DICTIONARY;
        let stream = |kind| self.stream(column, kind).unwrap_or_else(Stream::none);
        let numbers = |kind, is_signed| Numbers::new(stream(kind), version, is_signed);
        let part = |i: usize| self.column(of.parts[i] as usize).map(Box::new);
        Ok(match of.kind {
            kind::BOOLEAN => Values::Booleans(Bits::new(stream(DATA))),
            kind::BYTE => Values::Bytes(Bytes::new(stream(DATA))),
            kind::SHORT | kind::INT | kind::LONG => Values::Numbers(numbers(DATA, true)),
            kind::DATE => Values::Days(numbers(DATA, true)),
            kind::FLOAT => Values::Floats(stream(DATA)),
            kind::DOUBLE => Values::Doubles(stream(DATA)),
            kind::STRING | kind::VARCHAR | kind::CHAR if is_dictionary => Values::Words {
                words: self.words(encoding.dictionary, numbers(LENGTH, false), column)?,
                places: numbers(DATA, false),
            },
            kind::STRING | kind::VARCHAR | kind::CHAR => Values::Texts {
                lengths: numbers(LENGTH, false),
                bytes: stream(DATA),
            },
            kind::BINARY => Values::Blobs {
                lengths: numbers(LENGTH, false),
                bytes: stream(DATA),
            },
            kind::TIMESTAMP | kind::INSTANT => Values::Times {
                seconds: numbers(DATA, true),
                nanoseconds: numbers(SECONDARY, false),
                is_instant: of.kind == kind::INSTANT,
            },
            kind::DECIMAL => Values::Decimals {
                unscaled: stream(DATA),
                scales: numbers(SECONDARY, true),
                digits: digits(of),
            },
            kind::LIST => Values::Lists {
                lengths: numbers(LENGTH, false),
                items: part(0)?,
            },
            kind::MAP => Values::Maps {
                lengths: numbers(LENGTH, false),
                keys: part(0)?,
                values: part(1)?,
                entries: entries(self.types, of),
            },
            kind::STRUCT => {
                let parts = (0..of.parts.len()).map(|i| self.column(of.parts[i] as usize));
                Values::Structs {
                    fields: fields(self.types, of),
                    parts: parts.collect::<Result<_, _>>()?,
                }
            }
            kind::UNION => {
                let parts = (0..of.parts.len()).map(|i| self.column(of.parts[i] as usize));
                Values::Unions {
                    tags: Bytes::new(stream(DATA)),
                    fields: branches(self.types, of),
                    parts: parts.collect::<Result<_, _>>()?,
                }
            }
            _ => return Err(corrupt("a column has no known type").into()),
        })
    }

    fn words(&self, count: u64, lengths: Numbers, column: usize) -> Result<ArrayRef, Stopped> {
        let bytes = self.stream(column, DICTIONARY_DATA);
        let mut bytes = bytes.unwrap_or_else(Stream::none);
        let mut lengths = lengths;
        texts(count, &mut lengths, &mut bytes, &self.file)
    }
}

/// A column, or a part of one, of a stripe.
pub(super) struct Column {
    present: Option<Bits>,
    values: Values,
    data_type: DataType,
    /// The type that its values are of, where ORC has another for them.
    meant: Option<DataType>,
    nodes: u64,
    file: Rc<File>,
}

enum Values {
    Booleans(Bits),
    Bytes(Bytes),
    Numbers(Numbers),
    Days(Numbers),
    Floats(Stream),
    Doubles(Stream),
    Texts {
        lengths: Numbers,
        bytes: Stream,
    },
    Words {
        words: ArrayRef,
        places: Numbers,
    },
    Blobs {
        lengths: Numbers,
        bytes: Stream,
    },
    Times {
        seconds: Numbers,
        nanoseconds: Numbers,
        is_instant: bool,
    },
    Decimals {
        unscaled: Stream,
        scales: Numbers,
        digits: (u8, i8),
    },
    Lists {
        lengths: Numbers,
        items: Box<Column>,
    },
    Maps {
        lengths: Numbers,
        keys: Box<Column>,
        values: Box<Column>,
        entries: FieldRef,
    },
    Structs {
        fields: Fields,
        parts: Vec<Column>,
    },
    Unions {
        tags: Bytes,
        fields: UnionFields,
        parts: Vec<Column>,
    },
}

impl Column {
    /// The next `rows` values, nulls included. What they take in memory is held of the file's.
    pub(super) fn next(&mut self, rows: usize) -> Result<ArrayRef, Stopped> {
        let values = self.stored(rows)?;
        match &self.meant {
            Some(meant) => Ok(cast(&values, meant).map_err(decoding)?),
            None => Ok(values),
        }
    }

    /// As [`Column::next`], in ORC's own type.
    fn stored(&mut self, rows: usize) -> Result<ArrayRef, Stopped> {
        if rows == 0 {
            // Not even its parts are asked, of which there may be very many.
            self.file.worked(ARRAY * self.nodes);
            return Ok(new_empty_array(&self.data_type));
        }
        let (work, memory) = (rows as u64 * 8 + ARRAY, rows as u64 * 16);
        self.file.worked(work);
        self.file.hold(memory)?;
        let Some(present) = &mut self.present else {
            return self.values.next(rows, &self.file);
        };
        let mut there = Vec::with_capacity(rows);
        for _ in 0..rows {
            there.push(present.next()?);
        }
        let count = there.iter().filter(|there| **there).count();
        if count == rows {
            return self.values.next(rows, &self.file);
        }
        // A null is one of every part, too.
        self.file.worked(work.saturating_mul(self.nodes));
        self.file.hold(memory.saturating_mul(self.nodes))?;
        if count == 0 {
            return Ok(new_null_array(&self.data_type, rows));
        }
        let values = self.values.next(count, &self.file)?;
        if let DataType::Union(..) = values.data_type() {
            return spread_union(&values, &there);
        }
        let mut place = 0u32;
        let places = there.iter().map(|there| {
            there.then(|| {
                place += 1;
                place - 1
            })
        });
        let places = UInt32Array::from_iter(places);
        Ok(take(&values, &places, None).map_err(decoding)?)
    }
}

impl Values {
    /// The next `count` values, of which none is null.
    fn next(&mut self, count: usize, file: &File) -> Result<ArrayRef, Stopped> {
        Ok(match self {
            Values::Booleans(bits) => {
                let values = (0..count).map(|_| bits.next());
                let values = values.collect::<Result<Vec<bool>, _>>()?;
                Arc::new(BooleanArray::from(values))
            }
            Values::Bytes(bytes) => {
                let values = (0..count).map(|_| Ok(i64::from(bytes.next()? as i8)));
                let values = values.collect::<Result<Vec<i64>, Stopped>>()?;
                Arc::new(Int64Array::from(values))
            }
            Values::Numbers(numbers) => {
                let values = (0..count).map(|_| numbers.next());
                let values = values.collect::<Result<Vec<i64>, _>>()?;
                Arc::new(Int64Array::from(values))
            }
            Values::Days(numbers) => {
                let day = |day: i64| {
                    i32::try_from(day).map_err(|_| corrupt("a day lies outside all calendars"))
                };
                let values = (0..count).map(|_| Ok(day(numbers.next()?)?));
                let values = values.collect::<Result<Vec<i32>, Stopped>>()?;
                Arc::new(Date32Array::from(values))
            }
            Values::Floats(stream) => {
                let bytes = stream.take(count as u64 * 4)?;
                let values = bytes.as_chunks::<4>().0.iter();
                Arc::new(Float32Array::from_iter_values(
                    values.map(|bytes| f32::from_le_bytes(*bytes)),
                ))
            }
            Values::Doubles(stream) => {
                let bytes = stream.take(count as u64 * 8)?;
                let values = bytes.as_chunks::<8>().0.iter();
                Arc::new(Float64Array::from_iter_values(
                    values.map(|bytes| f64::from_le_bytes(*bytes)),
                ))
            }
            Values::Texts { lengths, bytes } => texts(count as u64, lengths, bytes, file)?,
            Values::Blobs { lengths, bytes } => {
                let (offsets, bytes) = lengthy(count as u64, lengths, bytes, file)?;
                Arc::new(BinaryArray::try_new(offsets, bytes, None).map_err(decoding)?)
            }
            Values::Words { words, places } => {
                let place = |place: u64| {
                    u32::try_from(place).map_err(|_| corrupt("a word is not in its dictionary"))
                };
                let keys = (0..count).map(|_| Ok(place(places.length()?)?));
                let keys = keys.collect::<Result<Vec<u32>, Stopped>>()?;
                let words = DictionaryArray::<UInt32Type>::try_new(keys.into(), words.clone());
                Arc::new(words.map_err(decoding)?)
            }
            Values::Times {
                seconds,
                nanoseconds,
                is_instant,
            } => times(count, seconds, nanoseconds, *is_instant)?,
            Values::Decimals {
                unscaled,
                scales,
                digits,
            } => decimals(count, unscaled, scales, *digits)?,
            Values::Lists { lengths, items } => lists(count, lengths, items, file)?,
            Values::Maps {
                lengths,
                keys,
                values,
                entries,
            } => maps(count, lengths, (keys, values), entries, file)?,
            Values::Structs { fields, parts } => structs(count, fields, parts)?,
            Values::Unions {
                tags,
                fields,
                parts,
            } => unions(count, tags, fields, parts)?,
        })
    }
}
