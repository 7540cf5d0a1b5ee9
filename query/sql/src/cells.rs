//! Values as text: for tables that people read, for CSV, and for JSON.
//!
//! JSON has numbers for integers and floats (NaN and infinities are null), ISO 8601 text for dates
//! and times, text for decimals, hexadecimal text for bytes, and arrays and objects for what is
//! nested.

use std::fmt::Write;

use arrow::array::{
    Array, AsArray, DictionaryArray, FixedSizeListArray, GenericListArray, GenericListViewArray,
    MapArray, OffsetSizeTrait, RunArray, StructArray,
};
use arrow::datatypes::{
    ArrowDictionaryKeyType, ArrowNativeType, DataType, Float16Type, Float32Type, Float64Type,
    Int16Type, Int32Type, Int64Type, RunEndIndexType,
};
use arrow::downcast_dictionary_array;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, DurationFormat, FormatOptions};

/// How values without a form of their own are written.
const FORMAT: FormatOptions<'static> =
    FormatOptions::new().with_duration_format(DurationFormat::ISO8601);

/// A type in a word: `integer`, `float`, `decimal`, `boolean`, `date`, `time`, `timestamp`,
/// `interval`, `text`, `binary`, `list`, `struct`, `map`, `null`.
#[must_use]
pub fn type_word(data_type: &DataType) -> &'static str {
    match data_type {
        it if it.is_integer() => "integer",
        it if it.is_floating() => "float",
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => "decimal",
        DataType::Boolean => "boolean",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Time32(_) | DataType::Time64(_) => "time",
        DataType::Timestamp(..) => "timestamp",
        DataType::Duration(_) | DataType::Interval(_) => "interval",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text",
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => "binary",
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_) => "list",
        DataType::Struct(_) => "struct",
        DataType::Map(..) => "map",
        DataType::Dictionary(_, values) => type_word(values),
        DataType::RunEndEncoded(_, values) => type_word(values.data_type()),
        DataType::Union(..) => "union",
        _ => "null",
    }
}

/// Whether a type is one of numbers, which are aligned at their right.
#[must_use]
pub fn is_number(data_type: &DataType) -> bool {
    matches!(type_word(data_type), "integer" | "float" | "decimal")
}

/// The values of a column.
pub struct Cells<'a> {
    array: &'a dyn Array,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// Written as it is in JSON, too.
    Plain(ArrayFormatter<'a>),
    Float(Box<dyn Fn(usize) -> Float + 'a>),
    Text(Box<dyn Fn(usize) -> &'a str + 'a>),
    /// Text in JSON.
    Quoted(ArrayFormatter<'a>),
    /// The values of other rows of another array.
    Within(Box<Cells<'a>>, Box<dyn Fn(usize) -> usize + 'a>),
    List(Box<Cells<'a>>, Box<dyn Fn(usize) -> (usize, usize) + 'a>),
    Struct(Vec<(&'a str, Cells<'a>)>),
    Map {
        keys: Box<Cells<'a>>,
        values: Box<Cells<'a>>,
        entries: Box<dyn Fn(usize) -> (usize, usize) + 'a>,
    },
    Null,
}

enum Float {
    Half(f32),
    Single(f32),
    Double(f64),
}

impl<'a> Cells<'a> {
    /// The values of an array.
    ///
    /// # Errors
    /// There is no way to write its type.
    pub fn of(array: &'a dyn Array) -> Result<Cells<'a>, ArrowError> {
        let kind = match array.data_type() {
            DataType::Null => Kind::Null,
            it if it.is_integer() || *it == DataType::Boolean => {
                Kind::Plain(ArrayFormatter::try_new(array, &FORMAT)?)
            }
            DataType::Float16 => {
                let floats = array.as_primitive::<Float16Type>();
                Kind::Float(Box::new(|row| Float::Half(floats.value(row).to_f32())))
            }
            DataType::Float32 => {
                let floats = array.as_primitive::<Float32Type>();
                Kind::Float(Box::new(|row| Float::Single(floats.value(row))))
            }
            DataType::Float64 => {
                let floats = array.as_primitive::<Float64Type>();
                Kind::Float(Box::new(|row| Float::Double(floats.value(row))))
            }
            DataType::Utf8 => {
                let texts = array.as_string::<i32>();
                Kind::Text(Box::new(|row| texts.value(row)))
            }
            DataType::LargeUtf8 => {
                let texts = array.as_string::<i64>();
                Kind::Text(Box::new(|row| texts.value(row)))
            }
            DataType::Utf8View => {
                let texts = array.as_string_view();
                Kind::Text(Box::new(|row| texts.value(row)))
            }
            DataType::List(_) => list(array.as_list::<i32>())?,
            DataType::LargeList(_) => list(array.as_list::<i64>())?,
            DataType::ListView(_) => list_view(array.as_list_view::<i32>())?,
            DataType::LargeListView(_) => list_view(array.as_list_view::<i64>())?,
            DataType::FixedSizeList(..) => fixed_list(array.as_fixed_size_list())?,
            DataType::Struct(_) => structs(array.as_struct())?,
            DataType::Map(..) => map(array.as_map())?,
            DataType::Dictionary(..) => dictionary(array)?,
            DataType::RunEndEncoded(ends, _) => match ends.data_type() {
                DataType::Int16 => runs::<Int16Type>(array)?,
                DataType::Int32 => runs::<Int32Type>(array)?,
                _ => runs::<Int64Type>(array)?,
            },
            _ => Kind::Quoted(ArrayFormatter::try_new(array, &FORMAT)?),
        };
        Ok(Cells { array, kind })
    }

    /// Whether a row's value is null.
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        match &self.kind {
            Kind::Null => true,
            _ if self.array.is_null(row) => true,
            Kind::Within(cells, place) => cells.is_null(place(row)),
            _ => false,
        }
    }

    /// A row's value as text, `None` for null. What is nested is JSON.
    #[must_use]
    pub fn text(&self, row: usize) -> Option<String> {
        if self.is_null(row) {
            return None;
        }
        let mut out = String::new();
        match &self.kind {
            Kind::Plain(shown) | Kind::Quoted(shown) => put(&mut out, shown.value(row)),
            Kind::Text(text) => out.push_str(text(row)),
            Kind::Float(float) => put_float(&mut out, &float(row)),
            Kind::Within(cells, place) => return cells.text(place(row)),
            _ => self.json(row, &mut out),
        }
        Some(out)
    }

    /// Writes a row's value as JSON.
    pub fn json(&self, row: usize, out: &mut String) {
        if self.is_null(row) {
            out.push_str("null");
            return;
        }
        match &self.kind {
            Kind::Null => out.push_str("null"),
            Kind::Plain(shown) => put(out, shown.value(row)),
            Kind::Float(float) => match float(row) {
                float if !float.is_finite() => out.push_str("null"),
                float => put_float(out, &float),
            },
            Kind::Text(text) => json_text(text(row), out),
            Kind::Quoted(shown) => json_text(&shown.value(row).to_string(), out),
            Kind::Within(cells, place) => cells.json(place(row), out),
            Kind::List(values, range) => {
                let (start, end) = range(row);
                between(out, ('[', ']'), start..end, |at, out| values.json(at, out));
            }
            Kind::Struct(fields) => {
                between(out, ('{', '}'), fields.iter(), |(name, cells), out| {
                    json_text(name, out);
                    out.push(':');
                    cells.json(row, out);
                })
            }
            Kind::Map {
                keys,
                values,
                entries,
            } => {
                let (start, end) = entries(row);
                between(out, ('{', '}'), start..end, |at, out| {
                    json_text(&keys.text(at).unwrap_or_default(), out);
                    out.push(':');
                    values.json(at, out);
                });
            }
        }
    }
}

impl Float {
    fn is_finite(&self) -> bool {
        match self {
            Float::Half(it) | Float::Single(it) => it.is_finite(),
            Float::Double(it) => it.is_finite(),
        }
    }
}

/// Writing to a text does not fail.
fn put(out: &mut String, value: impl std::fmt::Display) {
    let _ = write!(out, "{value}");
}

/// The shortest digits that are the number, in a form that JSON has, too.
fn put_float(out: &mut String, float: &Float) {
    let _ = match float {
        Float::Half(it) | Float::Single(it) => write!(out, "{it:?}"),
        Float::Double(it) => write!(out, "{it:?}"),
    };
}

/// A text in JSON's quotes.
pub fn json_text(text: &str, out: &mut String) {
    match serde_json::to_string(text) {
        Ok(text) => out.push_str(&text),
        // A text is always JSON.
        Err(_) => out.push_str("null"),
    }
}

fn between<T>(
    out: &mut String,
    (open, close): (char, char),
    items: impl Iterator<Item = T>,
    put: impl Fn(T, &mut String),
) {
    out.push(open);
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        put(item, out);
    }
    out.push(close);
}

fn list<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> Result<Kind<'_>, ArrowError> {
    let values = Cells::of(array.values().as_ref())?;
    let range = move |row: usize| {
        let offsets = array.value_offsets();
        (offsets[row].as_usize(), offsets[row + 1].as_usize())
    };
    Ok(Kind::List(Box::new(values), Box::new(range)))
}

fn list_view<O: OffsetSizeTrait>(array: &GenericListViewArray<O>) -> Result<Kind<'_>, ArrowError> {
    let values = Cells::of(array.values().as_ref())?;
    let range = move |row: usize| {
        let start = array.value_offset(row).as_usize();
        (start, start + array.value_size(row).as_usize())
    };
    Ok(Kind::List(Box::new(values), Box::new(range)))
}

fn fixed_list(array: &FixedSizeListArray) -> Result<Kind<'_>, ArrowError> {
    let values = Cells::of(array.values().as_ref())?;
    let length = array.value_length().as_usize();
    let range = move |row: usize| {
        let start = array.value_offset(row).as_usize();
        (start, start + length)
    };
    Ok(Kind::List(Box::new(values), Box::new(range)))
}

fn structs(array: &StructArray) -> Result<Kind<'_>, ArrowError> {
    let fields = array.fields().iter().zip(array.columns());
    let fields =
        fields.map(|(field, column)| Ok((field.name().as_str(), Cells::of(column.as_ref())?)));
    Ok(Kind::Struct(fields.collect::<Result<_, ArrowError>>()?))
}

fn map(array: &MapArray) -> Result<Kind<'_>, ArrowError> {
    let entries = move |row: usize| {
        let offsets = array.value_offsets();
        (offsets[row].as_usize(), offsets[row + 1].as_usize())
    };
    Ok(Kind::Map {
        keys: Box::new(Cells::of(array.keys().as_ref())?),
        values: Box::new(Cells::of(array.values().as_ref())?),
        entries: Box::new(entries),
    })
}

fn dictionary(array: &dyn Array) -> Result<Kind<'_>, ArrowError> {
    fn of<K: ArrowDictionaryKeyType>(array: &DictionaryArray<K>) -> Result<Kind<'_>, ArrowError> {
        let values = Cells::of(array.values().as_ref())?;
        let place = move |row: usize| array.keys().value(row).as_usize();
        Ok(Kind::Within(Box::new(values), Box::new(place)))
    }
    downcast_dictionary_array!(
        array => of(array),
        other => Err(ArrowError::InvalidArgumentError(format!("{other} is no dictionary"))),
    )
}

fn runs<R: RunEndIndexType>(array: &dyn Array) -> Result<Kind<'_>, ArrowError> {
    let Some(runs) = array.as_any().downcast_ref::<RunArray<R>>() else {
        let problem = format!("{} is no array of runs", array.data_type());
        return Err(ArrowError::InvalidArgumentError(problem));
    };
    let values = Cells::of(runs.values().as_ref())?;
    let place = move |row: usize| runs.get_physical_index(row);
    Ok(Kind::Within(Box::new(values), Box::new(place)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
        Float32Array, Float64Array, Int64Array, ListArray, MapBuilder, NullArray, StringArray,
        StringBuilder, TimestampMicrosecondArray, UInt64Array,
    };
    use arrow::datatypes::{Field, Int8Type};

    use super::*;

    fn shown(array: &dyn Array) -> Vec<String> {
        let cells = Cells::of(array).unwrap();
        let texts = (0..array.len()).map(|row| {
            let mut json = String::new();
            cells.json(row, &mut json);
            assert!(
                serde_json::from_str::<serde_json::Value>(&json).is_ok(),
                "{json}"
            );
            format!(
                "{} | {json}",
                cells.text(row).unwrap_or_else(|| "-".to_owned())
            )
        });
        texts.collect()
    }

    #[test]
    fn values_are_shown_as_text_and_as_json() {
        let arrays: Vec<(ArrayRef, &[&str])> = vec![
            (
                Arc::new(Int64Array::from(vec![Some(i64::MIN), None])),
                &["-9223372036854775808 | -9223372036854775808", "- | null"],
            ),
            (
                Arc::new(UInt64Array::from(vec![u64::MAX])),
                &["18446744073709551615 | 18446744073709551615"],
            ),
            (
                Arc::new(Float64Array::from(vec![
                    1.0,
                    0.1,
                    1e300,
                    f64::NAN,
                    f64::INFINITY,
                ])),
                &[
                    "1.0 | 1.0",
                    "0.1 | 0.1",
                    "1e300 | 1e300",
                    "NaN | null",
                    "inf | null",
                ],
            ),
            (Arc::new(Float32Array::from(vec![0.1])), &["0.1 | 0.1"]),
            (Arc::new(BooleanArray::from(vec![true])), &["true | true"]),
            (
                Arc::new(StringArray::from(vec!["a \"b\"\n", ""])),
                &["a \"b\"\n | \"a \\\"b\\\"\\n\"", " | \"\""],
            ),
            (
                Arc::new(Date32Array::from(vec![19_782])),
                &["2024-02-29 | \"2024-02-29\""],
            ),
            (
                Arc::new(TimestampMicrosecondArray::from(vec![1_709_208_000_000_000])),
                &["2024-02-29T12:00:00 | \"2024-02-29T12:00:00\""],
            ),
            (
                Arc::new(
                    TimestampMicrosecondArray::from(vec![1_709_208_000_500_000])
                        .with_timezone("+00:00"),
                ),
                &["2024-02-29T12:00:00.500Z | \"2024-02-29T12:00:00.500Z\""],
            ),
            (
                Arc::new(
                    Decimal128Array::from(vec![12_345])
                        .with_precision_and_scale(10, 2)
                        .unwrap(),
                ),
                &["123.45 | \"123.45\""],
            ),
            (
                Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..]])),
                &["00ff | \"00ff\""],
            ),
            (Arc::new(NullArray::new(1)), &["- | null"]),
        ];
        for (array, wanted) in arrays {
            assert_eq!(shown(array.as_ref()), wanted, "{}", array.data_type());
        }
    }

    #[test]
    fn what_is_nested_is_json() {
        let list = ListArray::from_iter_primitive::<arrow::datatypes::Int32Type, _, _>(vec![
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
        ]);
        assert_eq!(shown(&list), ["[1,null] | [1,null]", "- | null", "[] | []"]);
        assert_eq!(shown(&list.slice(2, 1)), ["[] | []"]);
        let fields: Vec<(Arc<Field>, ArrayRef)> = vec![
            (
                Arc::new(Field::new("a", DataType::Int64, true)),
                Arc::new(Int64Array::from(vec![1])),
            ),
            (
                Arc::new(Field::new("b", DataType::Utf8, true)),
                Arc::new(StringArray::from(vec!["x"])),
            ),
        ];
        let json = "{\"a\":1,\"b\":\"x\"}";
        assert_eq!(
            shown(&StructArray::from(fields)),
            [format!("{json} | {json}")]
        );
        let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
        map.keys().append_value("k");
        map.values().append_value("v");
        map.append(true).unwrap();
        let json = "{\"k\":\"v\"}";
        assert_eq!(shown(&map.finish()), [format!("{json} | {json}")]);
        let words: DictionaryArray<Int8Type> =
            vec![Some("a"), None, Some("a")].into_iter().collect();
        assert_eq!(shown(&words), ["a | \"a\"", "- | null", "a | \"a\""]);
        let ends = arrow::array::Int32Array::from(vec![2, 3]);
        let values = StringArray::from(vec![Some("a"), None]);
        let runs = RunArray::<Int32Type>::try_new(&ends, &values).unwrap();
        assert_eq!(shown(&runs), ["a | \"a\"", "a | \"a\"", "- | null"]);
    }

    #[test]
    fn types_are_words() {
        assert_eq!(type_word(&DataType::UInt8), "integer");
        assert_eq!(type_word(&DataType::Utf8View), "text");
        assert_eq!(
            type_word(&DataType::new_list(DataType::Int64, true)),
            "list"
        );
        assert!(is_number(&DataType::Decimal128(10, 2)) && !is_number(&DataType::Date32));
    }
}
