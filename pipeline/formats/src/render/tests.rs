#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::sync::Arc;

use arrow::array::{
    BinaryArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray, Float32Array,
    Float64Array, Int8Array, ListArray, NullArray, StringArray, StructArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt64Array,
};
use arrow::datatypes::{Field, Int16Type, Int32Type};
use limn_profile::infer;

use super::*;

fn texts(array: ArrayRef) -> (DataType, Vec<Option<String>>) {
    let kind = data_type(array.data_type());
    let array = prepare(&array);
    let field: FieldRef = Arc::new(Field::new("x", array.data_type().clone(), true));
    let styles = Styles::default();
    let mut renderer = Renderer::new(&field, &array, &styles);
    let mut buffer = String::new();
    let texts = (0..array.len())
        .map(|i| renderer.text(i, &mut buffer).map(str::to_owned))
        .collect();
    (kind, texts)
}

fn is(array: impl Array + 'static, kind: DataType, expected: &[Option<&str>]) {
    let (is_kind, texts) = texts(Arc::new(array));
    assert_eq!(is_kind, kind);
    assert_eq!(
        texts.iter().map(Option::as_deref).collect::<Vec<_>>(),
        expected
    );
    for text in texts.iter().flatten() {
        match kind {
            DataType::Integer | DataType::Float => {
                assert!(infer::number(text).is_some(), "{text}")
            }
            DataType::Date | DataType::Timestamp => {
                assert!(infer::instant(text).is_some(), "{text}")
            }
            _ => {}
        }
    }
}

#[test]
fn numbers() {
    is(
        Int8Array::from(vec![Some(-1), None]),
        DataType::Integer,
        &[Some("-1"), None],
    );
    is(
        Int64Array::from(vec![i64::MIN]),
        DataType::Integer,
        &[Some("-9223372036854775808")],
    );
    is(
        UInt64Array::from(vec![u64::MAX]),
        DataType::Integer,
        &[Some("18446744073709551615")],
    );
    is(
        Float64Array::from(vec![1.5, 2.0, 1e300, f64::NAN, f64::INFINITY]),
        DataType::Float,
        &[Some("1.5"), Some("2.0"), Some("1e300"), None, Some("inf")],
    );
    is(
        Float32Array::from(vec![0.1]),
        DataType::Float,
        &[Some("0.1")],
    );
    let money = Decimal128Array::from(vec![Some(150), Some(-5)])
        .with_precision_and_scale(10, 2)
        .unwrap();
    is(money, DataType::Float, &[Some("1.50"), Some("-0.05")]);
    let whole = Decimal128Array::from(vec![Some(150)])
        .with_precision_and_scale(38, 0)
        .unwrap();
    is(whole, DataType::Integer, &[Some("150")]);
    is(
        BooleanArray::from(vec![Some(true), None, Some(false)]),
        DataType::Boolean,
        &[Some("true"), None, Some("false")],
    );
}

#[test]
fn dates_and_times() {
    is(
        Date32Array::from(vec![19_782]),
        DataType::Date,
        &[Some("2024-02-29")],
    );
    is(
        Date64Array::from(vec![19_782 * 86_400_000]),
        DataType::Date,
        &[Some("2024-02-29")],
    );
    is(
        TimestampSecondArray::from(vec![1_709_210_096]),
        DataType::Timestamp,
        &[Some("2024-02-29T12:34:56")],
    );
    is(
        TimestampMicrosecondArray::from(vec![1_709_210_096_500_000]).with_timezone("Europe/Berlin"),
        DataType::Timestamp,
        &[Some("2024-02-29T12:34:56.500Z")],
    );
    is(
        TimestampNanosecondArray::from(vec![1]).with_timezone("UTC"),
        DataType::Timestamp,
        &[Some("1970-01-01T00:00:00.000000001Z")],
    );
    is(
        Time64MicrosecondArray::from(vec![3_600_000_000]),
        DataType::Other("time".into()),
        &[Some("01:00:00")],
    );
    // A date that no calendar holds is no value.
    let (_, texts) = texts(Arc::new(TimestampSecondArray::from(vec![i64::MAX])));
    assert_eq!(texts, [None]);
}

#[test]
fn texts_dictionaries_and_nothing() {
    is(
        StringArray::from(vec![Some("a"), None]),
        DataType::Text,
        &[Some("a"), None],
    );
    is(
        StringViewArray::from(vec![Some("a")]),
        DataType::Text,
        &[Some("a")],
    );
    let words: DictionaryArray<Int16Type> = vec![Some("x"), None, Some("x")].into_iter().collect();
    is(words, DataType::Text, &[Some("x"), None, Some("x")]);
    is(NullArray::new(2), DataType::Unknown, &[None, None]);
    assert_eq!(
        data_type(BinaryArray::from(vec![&b"x"[..]]).data_type()),
        DataType::Binary
    );
}

#[test]
fn of_a_dictionary_with_more_values_than_rows_those_are_prepared_that_are_used() {
    let dates = Date64Array::from_iter_values((0..1000).map(|day| day * 86_400_000));
    let keys = arrow::array::Int32Array::from(vec![Some(1), None]);
    let array: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(dates)));
    let prepared = prepare(&array);
    assert_eq!((prepared.len(), prepared.data_type()), (2, &Arrow::Date32));
    is(array, DataType::Date, &[Some("1970-01-02"), None]);
}

#[test]
fn the_kinds_of_a_union_are_written_as_they_are_elsewhere() {
    let kinds = [
        Field::new("day", Arrow::Date64, true),
        Field::new("n", Arrow::Int8, true),
    ];
    let children: Vec<ArrayRef> = vec![
        Arc::new(Date64Array::from(vec![19_782 * 86_400_000])),
        Arc::new(Int8Array::from(vec![7])),
    ];
    let union = UnionArray::try_new(
        arrow::datatypes::UnionFields::from_fields(kinds),
        vec![1, 0].into(),
        Some(vec![0, 0].into()),
        children,
    );
    is(
        union.unwrap(),
        DataType::Other("union".into()),
        &[Some("7"), Some("2024-02-29")],
    );
}

#[test]
fn nested_values_are_compact_json() {
    let list =
        ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1), None]), None]);
    is(
        list,
        DataType::Other("list".into()),
        &[Some("[1,null]"), None],
    );
    let fields = StructArray::from(vec![
        (
            Arc::new(Field::new("a", Arrow::Int32, true)),
            Arc::new(Int32Array::from(vec![Some(1)])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("b", Arrow::Utf8, true)),
            Arc::new(StringArray::from(vec!["é\"x"])) as ArrayRef,
        ),
    ]);
    is(
        fields,
        DataType::Other("struct".into()),
        &[Some(r#"{"a":1,"b":"é\"x"}"#)],
    );
    // The null is among the dictionary's values.
    let words: DictionaryArray<Int16Type> = DictionaryArray::new(
        vec![0i16, 1].into(),
        Arc::new(StringArray::from(vec![None, Some("x")])),
    );
    let field = Arc::new(Field::new("d", words.data_type().clone(), true));
    is(
        StructArray::from(vec![(field, Arc::new(words) as ArrayRef)]),
        DataType::Other("struct".into()),
        &[Some("{}"), Some(r#"{"d":"x"}"#)],
    );
}
