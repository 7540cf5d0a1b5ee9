//! Records of a dBase table to Arrow arrays of typed values. What is blank is null, and so is what
//! is no value of its column's type, which is counted.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int64Builder,
    StringViewBuilder, TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType as Arrow, TimeUnit};
use chrono::{Datelike, NaiveDate};

use super::encoding::Texts;
use super::header::{Field, Kind, Table};
use crate::Failure;
use crate::typed::decoding;

/// Digits that fit 64 bits.
const DIGITS: usize = 18;
/// Digits of the longest decimal.
const LONG_DIGITS: u8 = 38;
/// 1970-01-01 as a Julian day, and from the common era on.
const EPOCH_JULIAN: i64 = 2_440_588;
const EPOCH_COMMON: i32 = 719_163;
const MILLIS_OF_DAY: i64 = 86_400_000;
/// Days that are some, in about 27,000 years.
const LAST_JULIAN: i64 = 10_000_000;

/// What a column's values are.
pub(super) fn type_of(kind: Kind) -> Arrow {
    match kind {
        Kind::Text | Kind::Unread => Arrow::Utf8View,
        Kind::Number {
            is_whole: true,
            width,
        } if width <= DIGITS => Arrow::Int64,
        Kind::Number {
            is_whole: true,
            width,
        } if width <= usize::from(LONG_DIGITS) => Arrow::Decimal128(LONG_DIGITS, 0),
        Kind::Number { .. } | Kind::Double => Arrow::Float64,
        Kind::Day => Arrow::Date32,
        Kind::Truth => Arrow::Boolean,
        Kind::Int => Arrow::Int64,
        Kind::Currency => Arrow::Decimal128(19, 4),
        Kind::Moment => Arrow::Timestamp(TimeUnit::Microsecond, None),
    }
}

/// What was found out about values on the way.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Values that are none of their column's type, by column.
    pub(super) misfits: Vec<u64>,
    /// Whether a text has letters that are not ASCII's.
    pub(super) has_letters: bool,
}

impl Seen {
    pub(super) fn of(table: &Table) -> Seen {
        Seen {
            misfits: vec![0; table.fields.len()],
            has_letters: false,
        }
    }
}

/// A value: of its type, blank, or neither.
enum Value<T> {
    Some(T),
    Blank,
    Misfit,
}

impl<T> From<Option<T>> for Value<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Misfit, Value::Some)
    }
}

/// The values of a column in records.
///
/// # Errors
/// None in practice; Arrow's of a type that is none.
pub(super) fn column(
    table: &Table,
    at: usize,
    records: &[&[u8]],
    seen: &mut Seen,
) -> Result<ArrayRef, Failure> {
    let Some(field) = table.fields.get(at) else {
        return Err(decoding("a column that it does not have"));
    };
    let cells = Cells {
        table,
        field,
        records,
    };
    let mut misfits = 0;
    let array: ArrayRef = match type_of(field.kind) {
        Arrow::Int64 => {
            let mut to = Int64Builder::with_capacity(records.len());
            cells.each(&mut misfits, integer(field.kind), |value| {
                to.append_option(value)
            });
            Arc::new(to.finish())
        }
        Arrow::Float64 => {
            let mut to = Float64Builder::with_capacity(records.len());
            cells.each(&mut misfits, float(field.kind), |value| {
                to.append_option(value)
            });
            Arc::new(to.finish())
        }
        Arrow::Boolean => {
            let mut to = BooleanBuilder::with_capacity(records.len());
            cells.each(&mut misfits, truth, |value| to.append_option(value));
            Arc::new(to.finish())
        }
        Arrow::Date32 => {
            let mut to = Date32Builder::with_capacity(records.len());
            cells.each(&mut misfits, day, |value| to.append_option(value));
            Arc::new(to.finish())
        }
        Arrow::Timestamp(..) => {
            let mut to = TimestampMicrosecondBuilder::with_capacity(records.len());
            cells.each(&mut misfits, moment, |value| to.append_option(value));
            Arc::new(to.finish())
        }
        Arrow::Decimal128(precision, scale) => {
            let mut to = Decimal128Builder::with_capacity(records.len());
            let read = if scale == 0 { long } else { currency };
            cells.each(&mut misfits, read, |value| to.append_option(value));
            let to = to.with_precision_and_scale(precision, scale);
            Arc::new(to.map_err(|error| decoding(&error.to_string()))?.finish())
        }
        _ => cells.texts(&table.texts, &mut seen.has_letters),
    };
    if let Some(count) = seen.misfits.get_mut(at) {
        *count += misfits;
    }
    Ok(array)
}

/// The cells of a column.
struct Cells<'a> {
    table: &'a Table,
    field: &'a Field,
    records: &'a [&'a [u8]],
}

impl<'a> Cells<'a> {
    /// A record's bytes in the column; none where it is null.
    fn bytes(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let is_null = self.field.null_bit.zip(self.table.null_bits.clone());
        let is_null = is_null.and_then(|(bit, range)| {
            let byte = record.get(range)?.get(bit / 8)?;
            Some(byte >> (bit % 8) & 1 == 1)
        });
        record
            .get(self.field.range.clone())
            .filter(|_| is_null != Some(true))
    }

    fn each<T>(
        &self,
        misfits: &mut u64,
        read: impl Fn(&[u8]) -> Value<T>,
        mut append: impl FnMut(Option<T>),
    ) {
        for record in self.records {
            match self.bytes(record).map_or(Value::Blank, &read) {
                Value::Some(value) => append(Some(value)),
                Value::Blank => append(None),
                Value::Misfit => {
                    *misfits += 1;
                    append(None);
                }
            }
        }
    }

    fn texts(&self, texts: &Texts, has_letters: &mut bool) -> ArrayRef {
        let mut to = StringViewBuilder::with_capacity(self.records.len());
        for record in self.records {
            let bytes = self.bytes(record).filter(|_| self.field.kind == Kind::Text);
            *has_letters |= bytes.is_some_and(|bytes| !bytes.is_ascii());
            let text = bytes.map(|bytes| texts.decode(bytes));
            to.append_option(text.filter(|text| !text.trim().is_empty()));
        }
        Arc::new(to.finish())
    }
}

/// A number as it is written; none where its place is blank, or full of stars: that is a null of
/// shapefiles, and what did not fit.
fn written(bytes: &[u8]) -> Option<&str> {
    let padding = |byte: &u8| matches!(byte, b' ' | b'\t' | 0);
    let start = bytes.iter().take_while(|byte| padding(byte)).count();
    let bytes = bytes.get(start..)?;
    let end = bytes.iter().rev().take_while(|byte| padding(byte)).count();
    let bytes = bytes.get(..bytes.len() - end)?;
    // What is no text is no number either.
    let is_some = bytes.iter().any(|byte| *byte != b'*');
    is_some.then(|| std::str::from_utf8(bytes).unwrap_or("?"))
}

/// A whole number, also one with a fraction of zeros.
fn whole(text: &str) -> Option<i128> {
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_whole = fraction.bytes().all(|digit| digit == b'0');
    text.parse().ok().filter(|_| is_whole)
}

fn long(bytes: &[u8]) -> Value<i128> {
    let most = 10i128.pow(u32::from(LONG_DIGITS));
    match written(bytes) {
        Some(text) => whole(text).filter(|it| it.abs() < most).into(),
        None => Value::Blank,
    }
}

fn integer(kind: Kind) -> fn(&[u8]) -> Value<i64> {
    match kind {
        Kind::Int => |bytes| {
            bytes
                .try_into()
                .ok()
                .map(|bytes| i64::from(i32::from_le_bytes(bytes)))
                .into()
        },
        _ => |bytes| match written(bytes) {
            Some(text) => whole(text).and_then(|it| it.try_into().ok()).into(),
            None => Value::Blank,
        },
    }
}

fn float(kind: Kind) -> fn(&[u8]) -> Value<f64> {
    match kind {
        Kind::Double => |bytes| {
            let value = bytes.try_into().ok().map(f64::from_le_bytes);
            value.filter(|it| it.is_finite()).into()
        },
        _ => |bytes| match written(bytes) {
            Some(text) => {
                let value: Option<f64> = text.parse().ok();
                value.filter(|it| it.is_finite()).into()
            }
            None => Value::Blank,
        },
    }
}

fn currency(bytes: &[u8]) -> Value<i128> {
    bytes
        .try_into()
        .ok()
        .map(|bytes| i128::from(i64::from_le_bytes(bytes)))
        .into()
}

fn truth(bytes: &[u8]) -> Value<bool> {
    match bytes.first() {
        Some(b'T' | b't' | b'Y' | b'y') => Value::Some(true),
        Some(b'F' | b'f' | b'N' | b'n') => Value::Some(false),
        Some(b' ' | b'?' | 0) | None => Value::Blank,
        Some(_) => Value::Misfit,
    }
}

fn day(bytes: &[u8]) -> Value<i32> {
    let Some(text) = written(bytes).filter(|text| text.bytes().any(|digit| digit != b'0')) else {
        return Value::Blank;
    };
    let part = |range: std::ops::Range<usize>| text.get(range)?.parse::<u32>().ok();
    let date = || {
        let year = i32::try_from(part(0..4)?).ok()?;
        NaiveDate::from_ymd_opt(year, part(4..6)?, part(6..8)?)
    };
    let is_one = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    let date = is_one.then(date).flatten();
    date.map(|date| date.num_days_from_ce() - EPOCH_COMMON)
        .into()
}

fn moment(bytes: &[u8]) -> Value<i64> {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(i64::from(i32::from_le_bytes(bytes)))
    };
    let (Some(day), Some(millis)) = (number(0), number(4)) else {
        return Value::Misfit;
    };
    // A place that was never written.
    if day == 0 || bytes.iter().all(|byte| *byte == b' ') {
        return Value::Blank;
    }
    let is_one = (1..LAST_JULIAN).contains(&day) && (0..=MILLIS_OF_DAY).contains(&millis);
    let moment = || ((day - EPOCH_JULIAN) * MILLIS_OF_DAY + millis) * 1000;
    is_one.then(moment).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_any_bytes_are_some_or_none() {
        let read = |day: i32, millis: i32| {
            let bytes = [day.to_le_bytes(), millis.to_le_bytes()].concat();
            match moment(&bytes) {
                Value::Some(moment) => Some(moment),
                Value::Blank => None,
                Value::Misfit => Some(i64::MIN),
            }
        };
        assert_eq!(read(2_440_588, 1), Some(1000));
        assert_eq!(read(2_440_587, 0), Some(-86_400_000_000));
        assert_eq!(read(0, 7), None);
        for (day, millis) in [
            (i32::MAX, 0),
            (i32::MIN, 0),
            (1, -1),
            (1, i32::MAX),
            (10_000_000, 0),
        ] {
            assert_eq!(read(day, millis), Some(i64::MIN), "{day} {millis}");
        }
        assert!(read(9_999_999, 86_400_000).is_some_and(|it| it > 0));
    }
}
