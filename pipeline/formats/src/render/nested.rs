//! Nested values as JSON, as Arrow writes them, with an end: what a few bytes of a hostile file
//! stand for (lists that overlap, keys of one long value, lists of nulls) may be of any length.
//!
//! Arrow's encoder asks this one first for every array within an array. Here the types are encoded
//! that hold others, or text; and those that Arrow's leaves out: unions, maps with keys that are no
//! text, and timestamps of named zones. Beyond [`MOST`] a value is only closed, and so it is after
//! as many steps: a hostile value of few bytes may take any number of those, too.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, ListLikeArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef};
use arrow::error::ArrowError;
use arrow::json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder, make_encoder};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::UTC;

/// Bytes of a value, and steps, after which nothing is added to it. Samples and profiles show its
/// beginning.
const MOST: usize = 256 << 10;

/// Makes encoders of nested values that end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounded {
    steps: Arc<AtomicU64>,
}

impl Bounded {
    /// Begins a value.
    pub(super) fn begin(&self) {
        self.steps.store(0, Ordering::Relaxed);
    }

    /// Steps that the value has taken, given once.
    pub(super) fn steps(&self) -> u64 {
        match self.steps.load(Ordering::Relaxed) {
            // Of a value that is not nested.
            0 => 0,
            _ => self.steps.swap(0, Ordering::Relaxed),
        }
    }

    /// Whether another step may be taken to add to what was written.
    fn goes_on(&self, out: &[u8]) -> bool {
        self.steps.fetch_add(1, Ordering::Relaxed) < MOST as u64 && out.len() <= MOST
    }
}

impl EncoderFactory for Bounded {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        if let Some(encoder) = text(array) {
            return Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())));
        }
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::List(field) => self.list(field, array.as_list::<i32>(), options)?,
            DataType::LargeList(field) => self.list(field, array.as_list::<i64>(), options)?,
            DataType::ListView(field) => self.list(field, array.as_list_view::<i32>(), options)?,
            DataType::LargeListView(field) => {
                self.list(field, array.as_list_view::<i64>(), options)?
            }
            DataType::FixedSizeList(field, _) => {
                self.list(field, array.as_fixed_size_list(), options)?
            }
            DataType::Map(field, _) => {
                let array = array.as_map();
                let keys = make_encoder(field, array.keys(), options)?;
                let values = make_encoder(field, array.values(), options)?;
                Box::new(Map {
                    bounded: self.clone(),
                    offsets: array.value_offsets(),
                    keys,
                    values,
                    key: Vec::new(),
                })
            }
            DataType::Struct(fields) => {
                let array = array.as_struct();
                let encoders = fields.iter().zip(array.columns()).map(|(field, column)| {
                    let name = serde_json::to_string(field.name())
                        .map_err(|error| ArrowError::JsonError(error.to_string()))?;
                    Ok((name, make_encoder(field, column, options)?))
                });
                Box::new(Struct {
                    bounded: self.clone(),
                    fields: encoders.collect::<Result<_, ArrowError>>()?,
                })
            }
            DataType::Union(fields, _) => {
                let array = array.as_union();
                let encoders = fields.iter().map(|(id, field)| {
                    Ok((id, make_encoder(field, array.child(id).as_ref(), options)?))
                });
                let encoders = encoders.collect::<Result<Vec<_>, ArrowError>>()?;
                Box::new(Union {
                    place: Box::new(|i| (array.type_id(i), array.value_offset(i))),
                    encoders,
                })
            }
            DataType::Dictionary(..) => {
                let Some(dictionary) = array.as_any_dictionary_opt() else {
                    return Ok(None);
                };
                if dictionary.values().is_empty() {
                    return Ok(None);
                }
                let keys = Keys {
                    keys: dictionary.normalized_keys(),
                    values: make_encoder(field, dictionary.values(), options)?,
                };
                // Those among its values are nulls, too.
                let nulls = array.logical_nulls();
                return Ok(Some(NullableEncoder::new(Box::new(keys), nulls)));
            }
            DataType::Timestamp(unit, Some(zone)) if **zone != *UTC => {
                let to = DataType::Timestamp(*unit, Some(UTC.into()));
                Box::new(Instant(cast(&array.slice(0, array.len()), &to)?))
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

impl Bounded {
    fn list<'a, A: ListLikeArray>(
        &self,
        field: &'a FieldRef,
        array: &'a A,
        options: &'a EncoderOptions,
    ) -> Result<Box<dyn Encoder + 'a>, ArrowError> {
        Ok(Box::new(List {
            bounded: self.clone(),
            array,
            values: make_encoder(field, array.values().as_ref(), options)?,
        }))
    }
}

/// Text and bytes, which are written as text; none of other types.
fn text<'a>(array: &'a dyn Array) -> Option<Box<dyn Encoder + 'a>> {
    let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
        DataType::Utf8 => {
            let texts = array.as_string::<i32>();
            Box::new(Text(move |i| texts.value(i).into()))
        }
        DataType::LargeUtf8 => {
            let texts = array.as_string::<i64>();
            Box::new(Text(move |i| texts.value(i).into()))
        }
        DataType::Utf8View => {
            let texts = array.as_string_view();
            Box::new(Text(move |i| texts.value(i).into()))
        }
        DataType::Binary => {
            let bytes = array.as_binary::<i32>();
            Box::new(Text(move |i| hex(bytes.value(i))))
        }
        DataType::LargeBinary => {
            let bytes = array.as_binary::<i64>();
            Box::new(Text(move |i| hex(bytes.value(i))))
        }
        DataType::BinaryView => {
            let bytes = array.as_binary_view();
            Box::new(Text(move |i| hex(bytes.value(i))))
        }
        DataType::FixedSizeBinary(_) => {
            let bytes = array.as_fixed_size_binary();
            Box::new(Text(move |i| hex(bytes.value(i))))
        }
        _ => return None,
    };
    Some(encoder)
}

/// Values of a dictionary.
struct Keys<'a> {
    keys: Vec<usize>,
    values: NullableEncoder<'a>,
}

impl Encoder for Keys<'_> {
    fn encode(&mut self, i: usize, out: &mut Vec<u8>) {
        match self.keys.get(i) {
            Some(key) => value(&mut self.values, *key, out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

/// Text, given by its place.
struct Text<F>(F);

impl<'a, F: Fn(usize) -> Cow<'a, str>> Encoder for Text<F> {
    fn encode(&mut self, i: usize, out: &mut Vec<u8>) {
        let text = (self.0)(i);
        let mut end = text.len().min(MOST);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let length = out.len();
        // Writing to a vector cannot fail.
        if out.len() > MOST || serde_json::to_writer(&mut *out, &text[..end]).is_err() {
            out.truncate(length);
            out.extend_from_slice(b"null");
        }
    }
}

fn hex(bytes: &[u8]) -> Cow<'static, str> {
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
    let bytes = bytes.iter().take(MOST);
    bytes.flat_map(digits).flatten().collect::<String>().into()
}

struct List<'a, A> {
    bounded: Bounded,
    array: &'a A,
    values: NullableEncoder<'a>,
}

impl<A: ListLikeArray> Encoder for List<'_, A> {
    fn encode(&mut self, i: usize, out: &mut Vec<u8>) {
        out.push(b'[');
        for (n, i) in self.array.element_range(i).enumerate() {
            if !self.bounded.goes_on(out) {
                break;
            }
            if n > 0 {
                out.push(b',');
            }
            value(&mut self.values, i, out);
        }
        out.push(b']');
    }
}

fn value(encoder: &mut NullableEncoder<'_>, i: usize, out: &mut Vec<u8>) {
    if encoder.is_null(i) {
        out.extend_from_slice(b"null");
    } else {
        encoder.encode(i, out);
    }
}

struct Map<'a> {
    bounded: Bounded,
    offsets: &'a [i32],
    keys: NullableEncoder<'a>,
    values: NullableEncoder<'a>,
    /// A key that is being written.
    key: Vec<u8>,
}

impl Encoder for Map<'_> {
    fn encode(&mut self, i: usize, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut is_first = true;
        let (start, end) = (self.offsets[i].max(0), self.offsets[i + 1].max(0));
        for i in start as usize..end as usize {
            if !self.bounded.goes_on(out) {
                break;
            }
            if self.values.is_null(i) {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            self.key.clear();
            value(&mut self.keys, i, &mut self.key);
            if self.key.first() == Some(&b'"') {
                out.extend_from_slice(&self.key);
            } else {
                let key = String::from_utf8_lossy(&self.key);
                // Writing to a vector cannot fail.
                let _ = serde_json::to_writer(&mut *out, key.as_ref());
            }
            out.push(b':');
            self.values.encode(i, out);
        }
        out.push(b'}');
    }
}

/// Fields with their names as JSON; those of null are left out.
struct Struct<'a> {
    bounded: Bounded,
    fields: Vec<(String, NullableEncoder<'a>)>,
}

impl Encoder for Struct<'_> {
    fn encode(&mut self, i: usize, out: &mut Vec<u8>) {
        out.push(b'{');
        let mut is_first = true;
        for (name, field) in &mut self.fields {
            if !self.bounded.goes_on(out) {
                break;
            }
            if field.is_null(i) {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            out.extend_from_slice(name.as_bytes());
            out.push(b':');
            field.encode(i, out);
        }
        out.push(b'}');
    }
}

struct Union<'a> {
    place: Box<dyn Fn(usize) -> (i8, usize) + 'a>,
    encoders: Vec<(i8, NullableEncoder<'a>)>,
}

impl Encoder for Union<'_> {
    fn encode(&mut self, i: usize, out: &mut Vec<u8>) {
        let (id, i) = (self.place)(i);
        match self.encoders.iter_mut().find(|(of, _)| *of == id) {
            Some((_, encoder)) => value(encoder, i, out),
            None => out.extend_from_slice(b"null"),
        }
    }
}

/// Timestamps whose zone is UTC.
struct Instant(ArrayRef);

impl Encoder for Instant {
    fn encode(&mut self, i: usize, out: &mut Vec<u8>) {
        let options = FormatOptions::new();
        let mut text = String::new();
        let written = ArrayFormatter::try_new(&self.0, &options)
            .is_ok_and(|formatter| formatter.value(i).write(&mut text).is_ok());
        if written {
            out.push(b'"');
            out.extend_from_slice(text.as_bytes());
            out.push(b'"');
        } else {
            out.extend_from_slice(b"null");
        }
    }
}
