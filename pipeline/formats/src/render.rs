//! Arrow values as the text that people read and that profiles count: numbers plain, dates and
//! timestamps in ISO 8601, nested values as compact JSON. Bytes that are no text are not rendered.
//! Shared by all formats whose decoders give Arrow arrays.

mod decimals;
mod moments;
mod nested;

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, GenericStringArray,
    Int32Array, Int64Array, StringViewArray, StringViewBuilder, UnionArray, downcast_run_array,
};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType as Arrow, Date32Type, Decimal128Type, Field, FieldRef, Float64Type, Int32Type,
    Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow::json::writer::{EncoderOptions, NullableEncoder, make_encoder};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use limn_profile::DataType;

use self::decimals::Decimals;
use self::moments::Moment;
use self::nested::Bounded;

/// limn's name for an Arrow type.
pub(super) fn data_type(arrow: &Arrow) -> DataType {
    let other = |name: &str| DataType::Other(name.to_owned());
    match arrow {
        Arrow::Null => DataType::Unknown,
        Arrow::Boolean => DataType::Boolean,
        Arrow::Decimal32(_, 0)
        | Arrow::Decimal64(_, 0)
        | Arrow::Decimal128(_, 0)
        | Arrow::Decimal256(_, 0) => DataType::Integer,
        t if t.is_integer() => DataType::Integer,
        t if t.is_numeric() => DataType::Float,
        Arrow::Date32 | Arrow::Date64 => DataType::Date,
        Arrow::Timestamp(..) => DataType::Timestamp,
        Arrow::Utf8 | Arrow::LargeUtf8 | Arrow::Utf8View => DataType::Text,
        Arrow::Binary | Arrow::LargeBinary | Arrow::FixedSizeBinary(_) | Arrow::BinaryView => {
            DataType::Binary
        }
        Arrow::Dictionary(_, values) => data_type(values),
        Arrow::RunEndEncoded(_, values) => data_type(values.data_type()),
        Arrow::Time32(_) | Arrow::Time64(_) => other("time"),
        Arrow::Duration(_) => other("duration"),
        Arrow::Interval(_) => other("interval"),
        Arrow::Struct(_) => other("struct"),
        Arrow::Map(..) => other("map"),
        Arrow::Union(..) => other("union"),
        _ => other("list"),
    }
}

/// An array in a form that [`Renderer`] reads without looking at its type again. Dictionaries and
/// runs stay what they are: a short key may stand for a long value. Only of a dictionary with more
/// values than the array has, which many arrays may share, those are looked up that are used, if
/// they are short.
pub(super) fn prepare(array: &ArrayRef) -> ArrayRef {
    let to = match array.data_type() {
        Arrow::Dictionary(_, of) => {
            let Some(dictionary) = array.as_any_dictionary_opt() else {
                return array.clone();
            };
            if of.is_primitive() && dictionary.values().len() > array.len() {
                return cast(array, of).map_or_else(|_| array.clone(), |array| prepare(&array));
            }
            return dictionary.with_values(prepare(dictionary.values()));
        }
        Arrow::RunEndEncoded(..) => return prepare_runs(array.as_ref()),
        Arrow::Union(..) => return prepare_union(array),
        // A day, which Arrow would write with its midnight.
        Arrow::Date64 => Arrow::Date32,
        // Zones by name need a table of zones; the instant is what counts.
        Arrow::Timestamp(unit, Some(_)) => Arrow::Timestamp(*unit, Some(UTC.into())),
        Arrow::Int8 | Arrow::Int16 | Arrow::UInt8 | Arrow::UInt16 => Arrow::Int32,
        _ => return array.clone(),
    };
    cast(array, &to).unwrap_or_else(|_| array.clone())
}

fn prepare_runs(array: &dyn Array) -> ArrayRef {
    downcast_run_array! {
        array => Arc::new(array.with_values(prepare(array.values()))),
        _ => arrow::array::make_array(array.to_data()),
    }
}

fn prepare_union(array: &ArrayRef) -> ArrayRef {
    let union = array.as_union();
    let Arrow::Union(fields, _) = union.data_type() else {
        return array.clone();
    };
    let children: Vec<ArrayRef> = fields
        .iter()
        .map(|(id, _)| prepare(union.child(id)))
        .collect();
    let fields = fields.iter().zip(&children).map(|((id, field), child)| {
        let field = field.as_ref().clone();
        let field = field.with_data_type(child.data_type().clone());
        (id, Arc::new(field.with_nullable(true)))
    });
    let (ids, offsets) = (union.type_ids().clone(), union.offsets().cloned());
    UnionArray::try_new(fields.collect(), ids, offsets, children)
        .map_or_else(|_| array.clone(), |union| Arc::new(union))
}

/// All values of an array as texts.
pub fn texts(values: &ArrayRef) -> ArrayRef {
    let field: FieldRef = Arc::new(Field::new("", values.data_type().clone(), true));
    let styles = Styles::default();
    let prepared = prepare(values);
    let mut renderer = Renderer::new(&field, &prepared, &styles);
    let mut builder = StringViewBuilder::with_capacity(values.len());
    let mut buffer = String::new();
    for at in 0..values.len() {
        builder.append_option(renderer.text(at, &mut buffer));
    }
    Arc::new(builder.finish())
}

/// What stands for a zone, whichever it is.
const UTC: &str = "+00:00";

/// Writes one array's values as text.
pub(super) enum Renderer<'a> {
    Text(&'a GenericStringArray<i32>),
    LargeText(&'a GenericStringArray<i64>),
    TextView(&'a StringViewArray),
    Int32(&'a Int32Array),
    Int64(&'a Int64Array),
    Float64(&'a Float64Array),
    Boolean(&'a BooleanArray),
    /// Of few digits, and how others are written.
    Decimal(Decimals<'a>, Option<ArrayFormatter<'a>>),
    /// Days and times in the years 0 to 9999, and how others are written.
    Day(&'a Date32Array, Option<ArrayFormatter<'a>>),
    Time(Times<'a>, Option<ArrayFormatter<'a>>),
    Display(&'a dyn Array, ArrayFormatter<'a>),
    Json(&'a dyn Array, NullableEncoder<'a>, Vec<u8>, &'a Bounded),
    /// Values that stand elsewhere: of each, whether and where.
    Elsewhere(Place<'a>, Vec<(i8, Renderer<'a>)>),
    /// Of values that have no text.
    Nothing,
}

/// Times, and whether they are of a zone.
pub(super) struct Times<'a> {
    array: &'a dyn Array,
    values: &'a [i64],
    unit: TimeUnit,
    zone: bool,
}

impl<'a> Times<'a> {
    fn of(array: &'a dyn Array, unit: TimeUnit, zone: bool) -> Times<'a> {
        let values = match unit {
            TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
            TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
            TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
            TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
        };
        Times {
            array,
            values,
            unit,
            zone,
        }
    }

    fn at(&self, i: usize) -> Moment {
        Moment {
            value: self.values[i],
            unit: self.unit,
        }
    }
}

/// Where value `i` stands: in which of several arrays, at which place. None for null.
type Place<'a> = Box<dyn Fn(usize) -> Option<(i8, usize)> + 'a>;

/// How values are written where Arrow's own formatting is used.
pub(super) struct Styles {
    display: FormatOptions<'static>,
    json: EncoderOptions,
    nested: Bounded,
}

impl Default for Styles {
    fn default() -> Self {
        let nested = Bounded::default();
        Styles {
            display: FormatOptions::new().with_display_error(false),
            json: EncoderOptions::default().with_encoder_factory(Arc::new(nested.clone())),
            nested,
        }
    }
}

impl Styles {
    /// What a text has cost to write, in steps like those of writing a byte.
    pub(super) fn cost(&self, text: Option<&str>) -> u64 {
        text.map_or(0, |text| text.len() as u64) + self.nested.steps()
    }
}

impl<'a> Renderer<'a> {
    /// A renderer of a [prepared](prepare) array.
    pub(super) fn new(
        field: &'a FieldRef,
        array: &'a ArrayRef,
        styles: &'a Styles,
    ) -> Renderer<'a> {
        Renderer::of(field, array.as_ref(), styles)
    }

    fn of(field: &'a FieldRef, array: &'a dyn Array, styles: &'a Styles) -> Renderer<'a> {
        match array.data_type() {
            Arrow::Utf8 => Renderer::Text(array.as_string()),
            Arrow::LargeUtf8 => Renderer::LargeText(array.as_string()),
            Arrow::Utf8View => Renderer::TextView(array.as_string_view()),
            Arrow::Int32 => Renderer::Int32(array.as_primitive::<Int32Type>()),
            Arrow::Int64 => Renderer::Int64(array.as_primitive::<Int64Type>()),
            Arrow::Float64 => Renderer::Float64(array.as_primitive::<Float64Type>()),
            Arrow::Decimal128(..) => match Decimals::of(array.as_primitive::<Decimal128Type>()) {
                Some(decimals) => Renderer::Decimal(decimals, formatter(array, styles)),
                None => Renderer::display(array, styles),
            },
            Arrow::Boolean => Renderer::Boolean(array.as_boolean()),
            Arrow::Date32 => {
                Renderer::Day(array.as_primitive::<Date32Type>(), formatter(array, styles))
            }
            Arrow::Timestamp(unit, zone) if zone.as_deref().is_none_or(|zone| zone == UTC) => {
                let times = Times::of(array, *unit, zone.is_some());
                Renderer::Time(times, formatter(array, styles))
            }
            Arrow::Null => Renderer::Nothing,
            Arrow::Dictionary(..) => match array.as_any_dictionary_opt() {
                Some(dictionary) if !dictionary.values().is_empty() => {
                    let keys = dictionary.normalized_keys();
                    let place = move |i: usize| array.is_valid(i).then(|| (0, keys[i]));
                    let values = Renderer::of(field, dictionary.values().as_ref(), styles);
                    Renderer::Elsewhere(Box::new(place), vec![(0, values)])
                }
                _ => Renderer::Nothing,
            },
            Arrow::RunEndEncoded(..) => downcast_run_array! {
                array => {
                    let place = |i: usize| Some((0, array.get_physical_index(i)));
                    let values = Renderer::of(field, array.values().as_ref(), styles);
                    Renderer::Elsewhere(Box::new(place), vec![(0, values)])
                },
                _ => Renderer::Nothing,
            },
            Arrow::Union(fields, _) => {
                let array = array.as_union();
                let place = |i: usize| Some((array.type_id(i), array.value_offset(i)));
                let kinds = fields
                    .iter()
                    .map(|(id, field)| (id, Renderer::of(field, array.child(id).as_ref(), styles)));
                Renderer::Elsewhere(Box::new(place), kinds.collect())
            }
            t if t.is_nested() => match make_encoder(field, array, &styles.json) {
                Ok(encoder) => Renderer::Json(array, encoder, Vec::new(), &styles.nested),
                Err(_) => Renderer::display(array, styles),
            },
            _ => Renderer::display(array, styles),
        }
    }

    fn display(array: &'a dyn Array, styles: &'a Styles) -> Renderer<'a> {
        formatter(array, styles).map_or(Renderer::Nothing, |formatter| {
            Renderer::Display(array, formatter)
        })
    }

    /// What value `i` is ordered by, where that takes no look at its text; anything for null.
    #[inline]
    pub(super) fn key(&self, i: usize) -> Option<f64> {
        match self {
            Renderer::Int32(array) => Some(f64::from(array.value(i))),
            Renderer::Int64(array) => Some(array.value(i) as f64),
            Renderer::Float64(array) => Some(array.value(i)),
            Renderer::Day(array, _) => moments::instant_of_day(i64::from(array.value(i))),
            Renderer::Time(times, _) => times.at(i).instant(),
            _ => None,
        }
    }

    /// The text of value `i`, none for null. `buffer` is where text is written that does not exist
    /// yet.
    pub(super) fn text<'b>(&'b mut self, i: usize, buffer: &'b mut String) -> Option<&'b str> {
        buffer.clear();
        match self {
            Renderer::Text(array) => array.is_valid(i).then(|| array.value(i)),
            Renderer::LargeText(array) => array.is_valid(i).then(|| array.value(i)),
            Renderer::TextView(array) => array.is_valid(i).then(|| array.value(i)),
            Renderer::Boolean(array) => array
                .is_valid(i)
                .then(|| if array.value(i) { "true" } else { "false" }),
            Renderer::Int32(array) => array.is_valid(i).then(|| {
                buffer.push_str(itoa::Buffer::new().format(array.value(i)));
                buffer.as_str()
            }),
            Renderer::Int64(array) => array.is_valid(i).then(|| {
                buffer.push_str(itoa::Buffer::new().format(array.value(i)));
                buffer.as_str()
            }),
            Renderer::Float64(array) => {
                let value = array.value(i);
                // Not a number is what pandas writes for null.
                (array.is_valid(i) && !value.is_nan()).then(|| {
                    buffer.push_str(ryu::Buffer::new().format(value));
                    buffer.as_str()
                })
            }
            Renderer::Decimal(decimals, formatter) => {
                if decimals.array.is_null(i) {
                    return None;
                }
                match decimals.write(i, buffer) {
                    Some(()) => Some(buffer),
                    None => displayed(formatter.as_ref()?, i, buffer),
                }
            }
            Renderer::Day(array, formatter) => {
                if array.is_null(i) {
                    return None;
                }
                match moments::day(i64::from(array.value(i)), buffer) {
                    Some(()) => Some(buffer),
                    None => displayed(formatter.as_ref()?, i, buffer),
                }
            }
            Renderer::Time(times, formatter) => {
                if times.array.is_null(i) {
                    return None;
                }
                match times.at(i).write(times.zone, buffer) {
                    Some(()) => Some(buffer),
                    None => displayed(formatter.as_ref()?, i, buffer),
                }
            }
            Renderer::Display(array, formatter) => {
                if array.is_null(i) {
                    return None;
                }
                displayed(formatter, i, buffer)
            }
            Renderer::Json(array, encoder, bytes, bounded) => {
                bounded.begin();
                if array.is_null(i) {
                    return None;
                }
                bytes.clear();
                encoder.encode(i, bytes);
                match std::str::from_utf8(bytes) {
                    Ok(text) => buffer.push_str(text),
                    Err(_) => buffer.push_str(&String::from_utf8_lossy(bytes)),
                }
                Some(buffer)
            }
            Renderer::Elsewhere(place, arrays) => {
                let (id, i) = place(i)?;
                let (_, array) = arrays.iter_mut().find(|(of, _)| *of == id)?;
                array.text(i, buffer)
            }
            Renderer::Nothing => None,
        }
    }
}

/// Arrow's own way to write an array's values.
fn formatter<'a>(array: &'a dyn Array, styles: &'a Styles) -> Option<ArrayFormatter<'a>> {
    ArrayFormatter::try_new(array, &styles.display).ok()
}

fn displayed<'b>(
    formatter: &ArrayFormatter<'_>,
    i: usize,
    buffer: &'b mut String,
) -> Option<&'b str> {
    formatter.value(i).write(buffer).ok()?;
    // Of a narrower float.
    (buffer != "NaN").then_some(buffer)
}

#[cfg(test)]
mod tests;
