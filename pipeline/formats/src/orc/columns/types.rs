//! ORC's types in Arrow's terms.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit, UnionFields, UnionMode};

use crate::orc::proto::TypeInfo;
use crate::orc::tail::kind;
use crate::typed::with_id;

/// Digits of a decimal of which no precision is given.
const DIGITS: u8 = 38;

/// Arrow's name for a column's type.
pub(in crate::orc) fn data_type(types: &[TypeInfo], column: usize) -> DataType {
    let of = &types[column];
    let part = |i: usize| of.parts[i] as usize;
    if let Some(meant) = meant(of) {
        return meant;
    }
    match of.kind {
        kind::BOOLEAN => DataType::Boolean,
        kind::BYTE | kind::SHORT | kind::INT | kind::LONG => DataType::Int64,
        kind::FLOAT => DataType::Float32,
        kind::DOUBLE => DataType::Float64,
        kind::BINARY => DataType::Binary,
        kind::DATE => DataType::Date32,
        kind::TIMESTAMP => DataType::Timestamp(TimeUnit::Nanosecond, None),
        kind::INSTANT => DataType::Timestamp(TimeUnit::Nanosecond, Some("+00:00".into())),
        kind::DECIMAL => {
            let (precision, scale) = digits(of);
            DataType::Decimal128(precision, scale)
        }
        kind::LIST => {
            let items = data_type(types, part(0));
            DataType::List(Arc::new(Field::new_list_field(items, true)))
        }
        kind::MAP => DataType::Map(entries(types, of), false),
        kind::STRUCT => DataType::Struct(fields(types, of)),
        kind::UNION => DataType::Union(branches(types, of), UnionMode::Dense),
        _ => DataType::Utf8,
    }
}

/// What Iceberg's writers mean by a type where ORC has none of its own, or one that is wider.
pub(super) fn meant(of: &TypeInfo) -> Option<DataType> {
    of.iceberg.id?;
    let zone = (of.kind == kind::INSTANT).then(|| "+00:00".into());
    match of.kind {
        kind::LONG if of.iceberg.is_time => Some(DataType::Time64(TimeUnit::Microsecond)),
        kind::TIMESTAMP | kind::INSTANT if !of.iceberg.is_nanoseconds => {
            Some(DataType::Timestamp(TimeUnit::Microsecond, zone))
        }
        _ => None,
    }
}

pub(super) fn digits(of: &TypeInfo) -> (u8, i8) {
    let precision = u8::try_from(of.precision).unwrap_or(DIGITS);
    let scale = i8::try_from(of.scale).unwrap_or(0);
    // Early writers gave none.
    (if precision == 0 { DIGITS } else { precision }, scale)
}

/// The fields of a struct, whose names are made up where they are missing.
pub(in crate::orc) fn fields(types: &[TypeInfo], of: &TypeInfo) -> Fields {
    let parts = of.names.iter().zip(&of.parts);
    parts
        .map(|(name, part)| {
            let part = *part as usize;
            let field = Field::new(name, data_type(types, part), true);
            with_id(field, types[part].iceberg.id)
        })
        .collect()
}

pub(super) fn entries(types: &[TypeInfo], of: &TypeInfo) -> FieldRef {
    let pair = Fields::from(vec![
        Field::new("key", data_type(types, of.parts[0] as usize), false),
        Field::new("value", data_type(types, of.parts[1] as usize), true),
    ]);
    Arc::new(Field::new("entries", DataType::Struct(pair), false))
}

/// The kinds of a union, and one more of nulls.
pub(super) fn branches(types: &[TypeInfo], of: &TypeInfo) -> UnionFields {
    let kinds = of.parts.iter().map(|part| data_type(types, *part as usize));
    let kinds = kinds.chain(std::iter::once(DataType::Null));
    let fields = kinds.map(|kind| Field::new("", kind, true));
    UnionFields::from_fields(fields)
}
