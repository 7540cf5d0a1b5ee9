//! From the values of a file's column to those of the table's: parsed, widened, or rendered as
//! text.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder,
    Float64Builder, Int64Builder, ListBuilder, StringViewArray, StringViewBuilder,
    TimestampMicrosecondBuilder, new_null_array,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType as Arrow, FieldRef, TimeUnit};
use arrow::util::display::FormatOptions;
use limn_formats::fitting::{boolean, day, float, integer, large};
use limn_formats::render;
use limn_profile::{Notation, infer};

/// A column's values in the table's type, and how many of them did not fit, and are null.
pub(super) struct Conformed {
    pub(super) values: ArrayRef,
    pub(super) misfits: u64,
}

/// How the texts of a column are written.
#[derive(Clone, Copy, Default)]
pub(super) struct Written<'a> {
    pub(super) notation: Option<&'a Notation>,
    /// People say how the file is read: what is written otherwise has no value.
    pub(super) is_declared: bool,
    /// People say which signs stand for a missing value: others do not fit.
    pub(super) has_own_signs: bool,
}

/// The values of a column of texts that were read of a text file, as they are written there.
pub(super) fn texts(values: &ArrayRef, written: Written<'_>, to: &Arrow) -> Conformed {
    let Some(texts) = values.as_string_view_opt() else {
        return typed(values, to);
    };
    let mut cells = Cells {
        texts,
        written,
        plain: String::new(),
        misfits: 0,
    };
    let values: ArrayRef = match to {
        Arrow::Utf8View => values.clone(),
        Arrow::Int64 => cells.parsed(
            Int64Builder::with_capacity(texts.len()),
            integer,
            |to, it| {
                to.append_option(it);
            },
        ),
        Arrow::Float64 => {
            let to = Float64Builder::with_capacity(texts.len());
            cells.parsed(to, float, |to, it| to.append_option(it))
        }
        Arrow::Boolean => {
            let to = BooleanBuilder::with_capacity(texts.len());
            cells.parsed(to, boolean, |to, it| to.append_option(it))
        }
        Arrow::Date32 => {
            let to = Date32Builder::with_capacity(texts.len());
            cells.parsed(to, day, |to, it| to.append_option(it))
        }
        Arrow::Timestamp(TimeUnit::Microsecond, None) => {
            let to = TimestampMicrosecondBuilder::with_capacity(texts.len());
            cells.parsed(to, infer::instant, |to, it| to.append_option(it))
        }
        Arrow::Decimal128(precision, 0) => {
            let to = Decimal128Builder::with_capacity(texts.len());
            // The precision is one that Arrow has.
            let to = to.with_data_type(Arrow::Decimal128(*precision, 0));
            cells.parsed(to, large, |to, it| to.append_option(it))
        }
        Arrow::Binary => cells.parsed(BinaryBuilder::new(), bytes, |to, it| to.append_option(it)),
        Arrow::List(element) => return lists(texts, element),
        _ => return typed(values, to),
    };
    Conformed {
        values,
        misfits: cells.misfits,
    }
}

/// The values of a column whose file gives them a type.
pub(super) fn typed(values: &ArrayRef, to: &Arrow) -> Conformed {
    if values.data_type() == to {
        return Conformed {
            values: values.clone(),
            misfits: 0,
        };
    }
    let is_text = |it: &Arrow| matches!(it, Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View);
    let values_are_text = match values.data_type() {
        Arrow::Dictionary(_, of) => is_text(of),
        other => is_text(other),
    };
    if is_text(to) && !values_are_text {
        return Conformed {
            // As people and profiles see them.
            values: render::texts(values),
            misfits: 0,
        };
    }
    let options = CastOptions {
        safe: true,
        format_options: FormatOptions::new(),
    };
    let missing = values.logical_null_count();
    let fit = cast_with_options(values, to, &options);
    let fit = fit.unwrap_or_else(|_| new_null_array(to, values.len()));
    Conformed {
        misfits: (fit.logical_null_count().saturating_sub(missing)) as u64,
        values: fit,
    }
}

/// One value for all rows, as partition keys have.
pub(super) fn constant(value: Option<&str>, to: &Arrow, rows: usize) -> Conformed {
    let one: ArrayRef = Arc::new(StringViewArray::from(vec![value]));
    let one = texts(&one, Written::default(), to);
    let places = arrow::array::UInt32Array::from(vec![0; rows]);
    // All places are in it.
    let values = arrow::compute::take(&one.values, &places, None);
    Conformed {
        values: values.unwrap_or_else(|_| new_null_array(to, rows)),
        misfits: if one.misfits > 0 { rows as u64 } else { 0 },
    }
}

/// Lists that are written as JSON.
fn lists(texts: &StringViewArray, element: &FieldRef) -> Conformed {
    let mut builder = ListBuilder::new(StringViewBuilder::new());
    let mut misfits = 0;
    for text in texts {
        let elements = text.map(serde_json::from_str::<Vec<serde_json::Value>>);
        match elements {
            Some(Ok(elements)) => {
                for element in elements {
                    match element {
                        serde_json::Value::Null => builder.values().append_null(),
                        serde_json::Value::String(text) => builder.values().append_value(text),
                        other => builder.values().append_value(other.to_string()),
                    }
                }
                builder.append(true);
            }
            other => {
                misfits += u64::from(other.is_some());
                builder.append(false);
            }
        }
    }
    let lists = builder.finish();
    let (_, offsets, values, nulls) = lists.into_parts();
    let values = self::texts(&values, Written::default(), element.data_type());
    let list = arrow::array::ListArray::try_new(element.clone(), offsets, values.values, nulls);
    let data_type = Arrow::List(element.clone());
    Conformed {
        values: list.map_or_else(
            |_| new_null_array(&data_type, texts.len()),
            |list| Arc::new(list) as ArrayRef,
        ),
        misfits: misfits + values.misfits,
    }
}

/// A column's texts while they are parsed.
struct Cells<'a> {
    texts: &'a StringViewArray,
    written: Written<'a>,
    plain: String,
    misfits: u64,
}

impl Cells<'_> {
    fn parsed<B: arrow::array::ArrayBuilder, T>(
        &mut self,
        mut to: B,
        parse: impl Fn(&str) -> Option<T>,
        mut append: impl FnMut(&mut B, Option<T>),
    ) -> ArrayRef {
        for text in self.texts {
            let value = text.and_then(|text| self.value(text, &parse));
            append(&mut to, value);
        }
        to.finish()
    }

    fn value<T>(&mut self, text: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let plain = match self.written.notation {
            Some(notation) if notation.plain(text, &mut self.plain) => Some(&*self.plain),
            Some(_) if self.written.is_declared => None,
            _ => Some(text),
        };
        let value = plain.and_then(parse);
        // A sign for a missing value is one.
        if value.is_none() && (self.written.has_own_signs || !infer::is_marker(text)) {
            self.misfits += 1;
        }
        value
    }
}

/// Bytes as SQL writes them: `X'00FF'`.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("X'")?.strip_suffix('\'')?.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(value(*high)? << 4 | value(*low)?).ok(),
        _ => None,
    };
    digits.chunks(2).map(byte).collect()
}
